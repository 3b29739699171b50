/* adapt.c: borders where they mend the most mistakes.
 *
 * The paper draws lines between random rows, so that borders crowd where rows are dense. Here each
 * border is the foot on the border (project.c) of a point of the pool on which the borders so far
 * disagree with the teacher: of eight such points, drawn in proportion to their weight, the one
 * that mends the most weight. When there are as many as wanted, further ones are exchanged for
 * those that matter least, as long as that helps; what matters to no point is dropped in the end.
 *
 *   w_i           weight of point i: how sure the teacher is, and a little
 *   near, far     the nearest and the second nearest border of each point, and how far they are
 *   right         whether the teacher agrees with each of the two */
#include "methods/borders/borders.h"
#include "num/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TRIED = 8, FAILURES = 10, STALE = 30 };

typedef struct cover {
    uint32_t *near[2];
    float *far[2];
    bool *right[2];
} cover;

typedef struct bd_adapting {
    limn_context *ctx;
    bd_search *search;
    const bd_pool *pool;
    bd_points *points;
    cover cover;
    float *distance; /* of all points of the pool to something */
    uint32_t *wrong; /* points where the teacher disagrees */
    double *sum;     /* of their weights up to each */
    size_t wrongs;
    double mistakes; /* the sum of all their weights */
    bd_points feet;
    int32_t *foot; /* of each point */
    double *cost;  /* of dropping each border */
    double step;   /* of a projection, at most */
    size_t most;   /* borders, in the end */
    uint64_t round;
} adapting;

void bd_adapt_end(bd_adapting *a) {
    if (!a)
        return;
    const limn_allocator *mem = &a->ctx->mem;
    for (int k = 0; k < 2; k++) {
        lm_free(mem, a->cover.near[k]);
        lm_free(mem, a->cover.far[k]);
        lm_free(mem, a->cover.right[k]);
    }
    lm_free_aligned(mem, a->distance);
    lm_free(mem, a->wrong);
    lm_free(mem, a->sum);
    lm_free(mem, a->foot);
    lm_free(mem, a->cost);
    bd_points_free(mem, &a->feet);
    lm_free(mem, a);
}

limn_status bd_adapt_begin(limn_context *ctx, bd_search *search, const bd_pool *pool, size_t most,
                           bd_points *points, bd_adapting **out) {
    const limn_allocator *mem = &ctx->mem;
    adapting *a = lm_alloc(mem, 1, sizeof *a);
    size_t n = pool->n;
    bool fine = true;
    if (!a)
        return lm_fail_memory(ctx);
    *a = (adapting){.ctx = ctx, .search = search, .pool = pool, .points = points, .most = most};
    *out = a;
    a->step = bd_pool_step(pool, search->seed);
    for (int k = 0; k < 2; k++) {
        a->cover.near[k] = lm_alloc(mem, n, sizeof *a->cover.near[k]);
        a->cover.far[k] = lm_alloc(mem, n, sizeof *a->cover.far[k]);
        a->cover.right[k] = lm_alloc(mem, n, sizeof *a->cover.right[k]);
        fine &= a->cover.near[k] && a->cover.far[k] && a->cover.right[k];
    }
    a->distance = lm_alloc_aligned(mem, pool->pack.panels * LM_PANEL, sizeof *a->distance);
    a->wrong = lm_alloc(mem, n, sizeof *a->wrong);
    a->sum = lm_alloc(mem, n, sizeof *a->sum);
    a->foot = lm_alloc(mem, n, sizeof *a->foot);
    a->cost = lm_alloc(mem, most + 1, sizeof *a->cost);
    fine &= a->distance && a->wrong && a->sum && a->foot && a->cost;
    for (size_t i = 0; i < n && fine; i++)
        a->foot[i] = BD_NOT_TRIED;
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}

/* ---- which border is near, and whether it is right ---- */

static bool is_right(const adapting *a, const bd_points *points, size_t border, size_t i) {
    return (bd_decide(points, a->pool->d, border, a->pool->x + i * a->pool->d) > 0) ==
           (a->pool->f[i] > 0);
}

/* Finite, so that every point has a nearest border, even where squares overflow. */
static float limited(float distance) {
    return distance < FLT_MAX ? distance : FLT_MAX;
}

static void measure(adapting *a, const float *b) {
    lm_pack_query(&a->pool->pack, LM_L2, 0, a->pool->pack.panels, b, a->distance);
    for (size_t i = 0; i < a->pool->n; i++)
        a->distance[i] = limited(a->distance[i]);
}

/* The newest border takes its place among the nearest. */
static void enter(adapting *a) {
    const cover *c = &a->cover;
    uint32_t newest = (uint32_t)a->points->count - 1;
    measure(a, a->points->b + newest * a->pool->d);
    for (size_t i = 0; i < a->pool->n; i++) {
        if (!(a->distance[i] < c->far[1][i]))
            continue;
        int k = a->distance[i] < c->far[0][i] ? 0 : 1;
        if (k == 0) {
            c->near[1][i] = c->near[0][i];
            c->far[1][i] = c->far[0][i];
            c->right[1][i] = c->right[0][i];
        }
        c->near[k][i] = newest;
        c->far[k][i] = a->distance[i];
        c->right[k][i] = is_right(a, a->points, newest, i);
    }
}

/* No border is near yet. */
static void clear(adapting *a) {
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < a->pool->n; i++) {
            a->cover.near[k][i] = UINT32_MAX;
            a->cover.far[k][i] = INFINITY;
            a->cover.right[k][i] = false;
        }
}

/* The second nearest border of point i, from all of them. */
static void find_second(adapting *a, lm_pair_distance *apart, size_t i) {
    const cover *c = &a->cover;
    size_t d = a->pool->d;
    c->near[1][i] = UINT32_MAX;
    c->far[1][i] = INFINITY;
    c->right[1][i] = false;
    for (size_t b = 0; b < a->points->count; b++) {
        float far = limited((float)apart(a->pool->x + i * d, a->points->b + b * d, d));
        if (b != c->near[0][i] && far < c->far[1][i]) {
            c->far[1][i] = far;
            c->near[1][i] = (uint32_t)b;
        }
    }
    if (c->near[1][i] != UINT32_MAX)
        c->right[1][i] = is_right(a, a->points, c->near[1][i], i);
}

/* Drops a border; the last one takes its number. */
static void drop(adapting *a, size_t border) {
    const cover *c = &a->cover;
    lm_pair_distance *apart = lm_pair_kernel(LM_L2);
    uint32_t gone = (uint32_t)border, last = (uint32_t)a->points->count - 1;
    bd_points_drop(a->pool->d, a->points, border);
    for (size_t i = 0; i < a->pool->n; i++) {
        bool first = c->near[0][i] == gone, second = c->near[1][i] == gone;
        if (first) {
            c->near[0][i] = c->near[1][i];
            c->far[0][i] = c->far[1][i];
            c->right[0][i] = c->right[1][i];
        }
        for (int k = 0; k < 2; k++)
            c->near[k][i] = c->near[k][i] == last ? gone : c->near[k][i];
        if (first || second)
            find_second(a, apart, i);
    }
}

/* ---- mistakes ---- */

static void list_wrong(adapting *a) {
    a->wrongs = 0;
    a->mistakes = 0;
    for (size_t i = 0; i < a->pool->n; i++)
        if (!a->cover.right[0][i]) {
            a->mistakes += a->pool->weight[i];
            a->wrong[a->wrongs] = (uint32_t)i;
            a->sum[a->wrongs++] = a->mistakes;
        }
}

/* A point where the teacher disagrees, in proportion to its weight. */
static uint32_t draw_wrong(const adapting *a, lm_rng *rng) {
    double at = lm_rng_unit(rng) * a->mistakes;
    size_t low = 0, high = a->wrongs - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (a->sum[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return a->wrong[low];
}

/* Weight that a foot would mend, less that of new mistakes. */
static double gain_of(adapting *a, size_t foot) {
    const cover *c = &a->cover;
    double gain = 0;
    measure(a, a->feet.b + foot * a->pool->d);
    for (size_t i = 0; i < a->pool->n; i++)
        if (a->distance[i] < c->far[0][i]) {
            bool right = is_right(a, &a->feet, foot, i);
            gain += a->pool->weight[i] * ((double)right - (double)c->right[0][i]);
        }
    return gain;
}

/* The feet of eight of the points with mistakes. */
static limn_status propose(adapting *a, uint32_t *row) {
    lm_rng rng = lm_rng_at(a->search->seed, 2, a->round++);
    uint32_t fresh[TRIED];
    size_t count = 0;
    for (size_t i = 0; i < TRIED; i++) {
        row[i] = draw_wrong(a, &rng);
        if (a->foot[row[i]] == BD_NOT_TRIED) {
            fresh[count++] = row[i];
            a->foot[row[i]] = BD_NO_FOOT;
        }
    }
    return count ? bd_project(a->ctx, a->search, a->pool, fresh, count, a->step, a->distance,
                              &a->feet, a->foot)
                 : LIMN_OK;
}

/* Adds the best of eight feet; *gain is 0 if none mends anything. */
static limn_status add_best(adapting *a, double *gain) {
    uint32_t row[TRIED];
    int32_t best = BD_NO_FOOT;
    size_t d = a->pool->d;
    limn_status status = propose(a, row);
    *gain = 0;
    for (size_t i = 0; i < TRIED && status == LIMN_OK; i++) {
        int32_t foot = a->foot[row[i]];
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= row[k] == row[i];
        double own = foot < 0 || again ? 0 : gain_of(a, (size_t)foot);
        if (own > *gain) {
            *gain = own;
            best = foot;
        }
    }
    if (status != LIMN_OK || best < 0)
        return status;
    status = bd_points_add(a->ctx, d, a->feet.b + (size_t)best * d, a->feet.u + (size_t)best * d,
                           a->feet.slope[best], NULL, a->points);
    if (status == LIMN_OK) {
        enter(a);
        list_wrong(a);
    }
    return status;
}

/* ---- adding and exchanging ---- */

/* Reports progress: so many borders, or a share of the work after that. */
static limn_status tell(adapting *a, double borders) {
    bd_advance(a->search->news, BD_ANSWERED + (1 - BD_ANSWERED) * borders / 2 / (double)a->most);
    return bd_tell(a->ctx, a->search->news);
}

static limn_status grow(adapting *a, size_t wanted) {
    limn_status status = LIMN_OK;
    for (int failed = 0;
         a->points->count < wanted && a->wrongs && failed < FAILURES && status == LIMN_OK;) {
        double gain;
        status = add_best(a, &gain);
        failed = gain > 0 ? 0 : failed + 1;
        if (status == LIMN_OK)
            status = tell(a, (double)a->points->count);
    }
    return status;
}

/* The border whose loss costs the least weight. */
static size_t cheapest(adapting *a, double *cost) {
    const cover *c = &a->cover;
    size_t best = 0;
    memset(a->cost, 0, a->points->count * sizeof *a->cost);
    for (size_t i = 0; i < a->pool->n; i++)
        a->cost[c->near[0][i]] +=
            a->pool->weight[i] * ((double)c->right[0][i] - (double)c->right[1][i]);
    for (size_t b = 1; b < a->points->count; b++)
        best = a->cost[b] < a->cost[best] ? b : best;
    *cost = a->cost[best];
    return best;
}

/* Adds one and drops the one that matters least, which may be the same: it never gets worse. */
static limn_status exchange(adapting *a, size_t rounds) {
    limn_status status = LIMN_OK;
    int stale = 0;
    for (size_t k = 0; k < rounds && stale < STALE && a->wrongs && status == LIMN_OK; k++) {
        double before = a->mistakes, gain, cost;
        status = add_best(a, &gain);
        if (gain > 0 && status == LIMN_OK) {
            drop(a, cheapest(a, &cost));
            list_wrong(a);
        }
        stale = a->mistakes < before - 1e-9 ? 0 : stale + 1;
        if (status == LIMN_OK)
            status = tell(a, (double)a->points->count * (1 + (double)k / (double)rounds));
    }
    return status;
}

/* Drops what no point of the pool misses. */
static void prune(adapting *a) {
    double cost;
    while (a->points->count > 1) {
        size_t border = cheapest(a, &cost);
        if (cost > 0)
            break;
        drop(a, border);
    }
    list_wrong(a);
}

/* The first borders: from lines between random rows and to the nearest points on the other side, in
 * turn. */
static limn_status begin(adapting *a, size_t wanted) {
    lm_rng rng = lm_rng_at(a->search->seed, 3, 0);
    uint64_t lines = bd_line_count(&a->search->ends);
    limn_status status = LIMN_OK;
    bd_line *line = lm_alloc(&a->ctx->mem, wanted, sizeof *line);
    if (!line)
        return lm_fail_memory(a->ctx);
    for (size_t i = 0; i < wanted; i++)
        line[i] = i % 2 == 0 && a->search->drawn < lines
                      ? bd_random_line(a->search, a->search->drawn++)
                      : bd_nearest_line(a->pool, lm_rng_below(&rng, a->pool->n), a->distance);
    status = bd_roots(a->ctx, a->search, line, wanted, &a->feet, NULL);
    clear(a);
    for (size_t i = 0; i < a->feet.count && status == LIMN_OK; i++) {
        size_t d = a->pool->d;
        status = bd_points_add(a->ctx, d, a->feet.b + i * d, a->feet.u + i * d, a->feet.slope[i],
                               NULL, a->points);
        if (status == LIMN_OK)
            enter(a);
    }
    list_wrong(a);
    lm_free(&a->ctx->mem, line);
    return status;
}

limn_status bd_adapt_to(bd_adapting *a, size_t wanted) {
    limn_status status = a->points->count ? LIMN_OK : begin(a, (wanted + 2) / 3);
    if (status != LIMN_OK || a->points->count == 0)
        return status;
    status = grow(a, wanted);
    if (status == LIMN_OK)
        status = exchange(a, 6 * wanted);
    if (status == LIMN_OK)
        prune(a);
    return status;
}
