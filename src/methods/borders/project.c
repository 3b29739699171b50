/* project.c: from points of the pool to the border near them.
 *
 * Where the gradient is known, a point walks down it, x <- x - 1.2 f grad / |grad|^2 in steps of at
 * most a quarter of the mean distance of two points, until f changes its sign; the last step is
 * then a line that crosses the border. Where it is not, asking for it would cost many answers, and
 * the line goes to the nearest point of the pool on the other side. */
#include "methods/borders/borders.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS = 30, PAIRS = 200 };
#define OVER 1.2 /* a step goes this far beyond where f would be 0 if it were linear */

double bd_pool_step(const bd_pool *pool, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 1, 0);
    double sum = 0;
    for (int i = 0; i < PAIRS; i++) {
        const float *a = pool->x + lm_rng_below(&rng, pool->n) * pool->d;
        const float *b = pool->x + lm_rng_below(&rng, pool->n) * pool->d;
        double apart = 0;
        for (size_t j = 0; j < pool->d; j++)
            apart += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
        sum += sqrt(apart) / PAIRS;
    }
    return sum / 4;
}

bd_line bd_nearest_line(const bd_pool *pool, size_t row, float *distance) {
    const float *x = pool->x + row * pool->d, *other = NULL;
    bool above = pool->f[row] > 0;
    float least = INFINITY;
    lm_pack_query(&pool->pack, LM_L2, 0, pool->pack.panels, x, distance);
    for (size_t i = 0; i < pool->n; i++)
        if ((pool->f[i] > 0) != above && (!other || distance[i] < least)) {
            least = distance[i];
            other = pool->x + i * pool->d;
        }
    return (bd_line){.above = above ? x : other, .below = above ? other : x};
}

/* ---- down the gradient ---- */

typedef struct walk {
    size_t count, d;
    float *from, *to; /* count x d: the last step of each */
    float *asked;     /* the points that are still on their way, */
    double *f, *gradient;
    size_t which[BD_PROJECTED]; /* and whose they are */
    bool arrived[BD_PROJECTED], lost[BD_PROJECTED], above[BD_PROJECTED];
} walk;

/* The next step of point i, whose place is to; false: there is no direction. */
static bool step(walk *w, size_t i, double f, const double *gradient, double most) {
    float *from = w->from + i * w->d, *to = w->to + i * w->d;
    double sum = 0, length;
    for (size_t j = 0; j < w->d; j++)
        sum += gradient[j] * gradient[j];
    length = OVER * fabs(f) / sqrt(sum);
    if (!(sum > 0 && length < INFINITY))
        return false;
    length = length < most ? length : most;
    memcpy(from, to, w->d * sizeof *from);
    for (size_t j = 0; j < w->d; j++) {
        double by = (f > 0 ? 1 : -1) * length * gradient[j] / sqrt(sum);
        to[j] = (float)fmax(fmin((double)from[j] - by, (double)FLT_MAX), -(double)FLT_MAX);
    }
    return true;
}

/* One evaluation and one step of the points that are on their way; *moving: how many still are. */
static limn_status advance(limn_context *ctx, const bd_search *s, walk *w, double most,
                           size_t *moving) {
    size_t n = 0;
    for (size_t i = 0; i < w->count; i++)
        if (!w->arrived[i] && !w->lost[i]) {
            memcpy(w->asked + n * w->d, w->to + i * w->d, w->d * sizeof *w->asked);
            w->which[n++] = i;
        }
    limn_status status = lm_field_values(ctx, s->field, w->asked, n, w->f, w->gradient);
    *moving = 0;
    for (size_t k = 0; k < n && status == LIMN_OK; k++) {
        size_t i = w->which[k];
        double f = w->f[k] - s->level;
        w->arrived[i] = (f > 0) != w->above[i];
        if (!w->arrived[i])
            w->lost[i] = !step(w, i, f, w->gradient + k * w->d, most);
        *moving += !w->arrived[i] && !w->lost[i];
    }
    return status == LIMN_OK ? bd_tell(ctx, s->news) : status;
}

static void walk_free(const limn_allocator *mem, walk *w) {
    lm_free(mem, w->from);
    lm_free(mem, w->to);
    lm_free(mem, w->asked);
    lm_free(mem, w->f);
    lm_free(mem, w->gradient);
}

static limn_status walk_new(limn_context *ctx, size_t count, size_t d, walk *w) {
    size_t cells = count * d; /* of rows of the pool, which is larger */
    w->count = count;
    w->d = d;
    w->from = lm_alloc(&ctx->mem, cells, sizeof *w->from);
    w->to = lm_alloc(&ctx->mem, cells, sizeof *w->to);
    w->asked = lm_alloc(&ctx->mem, cells, sizeof *w->asked);
    w->f = lm_alloc(&ctx->mem, count, sizeof *w->f);
    w->gradient = lm_alloc(&ctx->mem, cells, sizeof *w->gradient);
    return w->from && w->to && w->asked && w->f && w->gradient ? LIMN_OK : lm_fail_memory(ctx);
}

/* Lines across the border from count points; *lines of them, line i from point which[i]. */
static limn_status walk_all(limn_context *ctx, const bd_search *s, const bd_pool *pool,
                            const uint32_t *row, double most, walk *w, bd_line *line, size_t *which,
                            size_t *lines) {
    size_t moving = w->count;
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < w->count; i++) {
        memcpy(w->to + i * w->d, pool->x + row[i] * w->d, w->d * sizeof *w->to);
        w->above[i] = pool->f[row[i]] > 0;
    }
    memcpy(w->from, w->to, w->count * w->d * sizeof *w->from);
    for (int k = 0; k < STEPS && moving && status == LIMN_OK; k++)
        status = advance(ctx, s, w, most, &moving);
    *lines = 0;
    for (size_t i = 0; i < w->count; i++)
        if (w->arrived[i]) {
            const float *from = w->from + i * w->d, *to = w->to + i * w->d;
            which[*lines] = i;
            line[(*lines)++] = (bd_line){w->above[i] ? from : to, w->above[i] ? to : from};
        }
    return status;
}

limn_status bd_project(limn_context *ctx, const bd_search *s, const bd_pool *pool,
                       const uint32_t *row, size_t count, double most, float *distance,
                       bd_points *feet, int32_t *foot) {
    bd_line line[BD_PROJECTED] = {{NULL, NULL}};
    size_t which[BD_PROJECTED], lines = 0;
    int32_t place[BD_PROJECTED];
    walk w = {.count = 0};
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < count; i++)
        foot[row[i]] = BD_NO_FOOT;
    if (s->field->smooth) {
        status = walk_new(ctx, count, pool->d, &w);
        if (status == LIMN_OK)
            status = walk_all(ctx, s, pool, row, most, &w, line, which, &lines);
    } else {
        for (; lines < count; lines++) {
            line[lines] = bd_nearest_line(pool, row[lines], distance);
            which[lines] = lines;
        }
    }
    if (status == LIMN_OK)
        status = bd_roots(ctx, s, line, lines, feet, place);
    for (size_t i = 0; i < lines && status == LIMN_OK; i++)
        foot[row[which[i]]] = place[i] < 0 ? BD_NO_FOOT : place[i];
    walk_free(&ctx->mem, &w);
    return status;
}
