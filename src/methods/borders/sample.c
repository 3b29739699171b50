/* sample.c: points on the border, on lines between training rows.
 *
 * A line joins a row of each class that lie on opposite sides of the border (f above and below the
 * level). Lines are numbered, and drawn in the order of a seeded permutation of these numbers, so
 * that none is drawn twice. The root on each line is bracketed and found by T. Chandrupatla's
 * method (1997: inverse quadratic interpolation where it is safe, else bisection); all lines of a
 * draw advance together, so that the field is evaluated in batches. A field that jumps has no root:
 * the bracket then shrinks to the jump. Where the field is flat there is no normal, and another
 * line is drawn instead. */
#include "methods/borders/borders.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 80, TOGETHER = 512, CELLS = 1 << 20, SPARE_DRAWS = 20, LEAST_DRAWS = 200 };
#define NEAR_R 1e-6    /* of r - r0 */
#define NEAR_T 1e-6    /* of the line's parameter between two rounds */
#define NARROW 0x1p-26 /* a bracket of this width is a point */

/* ---- which lines ---- */

static uint64_t lines_of(const bd_ends *e, int side) {
    return (uint64_t)e->count[0][side] * e->count[1][1 - side];
}

bool bd_has_line(const bd_ends *e) {
    return lines_of(e, 0) + lines_of(e, 1) > 0;
}

/* A permutation of 0 .. count-1 by index: a Feistel network on twice `half` bits, walked until it
 * lands inside. */
static uint64_t permuted(uint64_t index, uint64_t count, uint64_t seed) {
    unsigned half = 1;
    while (half < 32 && (uint64_t)1 << 2 * half < count)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = index >> half, right = index & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t kept = right;
            right = left ^ (lm_hash(seed, round, right) & mask);
            left = kept;
        }
        index = left << half | right;
    } while (index >= count);
    return index;
}

/* A line from x(0) = above, where f is above the level, to x(1) = below. */
typedef struct line {
    const float *above, *below;
    double t[3], f[3]; /* of the bracket's newest and other end, and of the one before; f - level */
    double next;
    bool done;
} line;

static line line_at(const bd_ends *e, uint64_t number) {
    int side = number >= lines_of(e, 0);
    number -= side ? lines_of(e, 0) : 0;
    uint64_t others = e->count[1][1 - side];
    const float *first = e->x + e->row[0][side][number / others] * e->d;
    const float *second = e->x + e->row[1][1 - side][number % others] * e->d;
    return (line){.above = side ? second : first, .below = side ? first : second};
}

static void point_at(const line *l, double t, size_t d, float *x) {
    for (size_t j = 0; j < d; j++)
        x[j] = (float)((double)l->above[j] + t * ((double)l->below[j] - (double)l->above[j]));
}

/* ---- the roots ---- */

typedef struct draw {
    limn_context *ctx;
    bd_search *search;
    const lm_field *field;
    double level;
    line *lines;
    size_t count, most, d;
    float *x;
    double *f, *gradient;
    uint32_t *which; /* the lines that x and f belong to */
} draw;

static void draw_free(draw *w) {
    const limn_allocator *mem = &w->ctx->mem;
    lm_free(mem, w->lines);
    lm_free(mem, w->x);
    lm_free(mem, w->f);
    lm_free(mem, w->gradient);
    lm_free(mem, w->which);
}

static limn_status draw_new(limn_context *ctx, bd_search *s, draw *w) {
    size_t cells = 0, d = s->field->d, most = CELLS / d > 16 ? CELLS / d : 16;
    *w = (draw){.ctx = ctx, .search = s, .field = s->field, .level = s->level, .d = d};
    w->most = most < TOGETHER ? most : TOGETHER;
    if (lm_mul(w->most, d, &cells)) {
        w->x = lm_alloc(&ctx->mem, cells, sizeof *w->x);
        w->gradient = lm_alloc(&ctx->mem, cells, sizeof *w->gradient);
    }
    w->lines = lm_alloc(&ctx->mem, w->most, sizeof *w->lines);
    w->f = lm_alloc(&ctx->mem, w->most, sizeof *w->f);
    w->which = lm_alloc(&ctx->mem, w->most, sizeof *w->which);
    return w->x && w->gradient && w->lines && w->f && w->which ? LIMN_OK : lm_fail_memory(ctx);
}

/* f - level at the next point of every line that is not done. */
static limn_status evaluate(draw *w, size_t *some) {
    size_t n = 0;
    for (size_t i = 0; i < w->count; i++)
        if (!w->lines[i].done) {
            point_at(&w->lines[i], w->lines[i].next, w->d, w->x + n * w->d);
            w->which[n++] = (uint32_t)i;
        }
    limn_status status = lm_field_values(w->ctx, w->field, w->x, n, w->f, NULL);
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        w->f[i] -= w->level;
    *some = n;
    return status == LIMN_OK ? lm_progress(w->ctx, "drawing borders", 0, 0, w->search->progress)
                             : status;
}

/* The ends of every line. Those without a change of sign (they were chosen by the same field, but a
 * teacher may answer otherwise in another batch) count as done, with an empty bracket. */
static limn_status bracket(draw *w) {
    limn_status status = LIMN_OK;
    for (int end = 0; end < 2 && status == LIMN_OK; end++) {
        size_t n;
        for (size_t i = 0; i < w->count; i++)
            w->lines[i].next = end;
        status = evaluate(w, &n);
        for (size_t i = 0; i < n && status == LIMN_OK; i++) {
            line *l = &w->lines[w->which[i]];
            l->t[end] = l->t[2] = end;
            l->f[end] = l->f[2] = w->f[i];
        }
    }
    for (size_t i = 0; i < w->count && status == LIMN_OK; i++) {
        line *l = &w->lines[i];
        l->done = !(l->f[0] > 0 && l->f[1] <= 0);
        l->next = l->done ? -1 : l->f[0] / (l->f[0] - l->f[1]);
        l->next = l->next > 0 && l->next < 1 ? l->next : l->done ? -1 : 0.5;
    }
    return status;
}

/* Where the next point is: inverse quadratic interpolation through the three points if they allow
 * it, else the middle. */
static double propose(const line *l) {
    double a = l->t[0], b = l->t[1], c = l->t[2], fa = l->f[0], fb = l->f[1], fc = l->f[2];
    double xi = (a - b) / (c - b), phi = (fa - fb) / (fc - fb), share = 0.5;
    if (phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)
        share =
            fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb);
    double least = NARROW / fabs(b - a);
    share = share > least ? share : least; /* NaN too */
    share = share < 1 - least ? share : 1 - least;
    return a + share * (b - a);
}

/* Takes the value at l->next into the bracket. */
static void advance(const draw *w, line *l, double f) {
    double slope, before = fabs(l->f[0]) < fabs(l->f[1]) ? l->t[0] : l->t[1];
    int same = (f > 0) == (l->f[0] > 0); /* side as the newest end */
    l->t[2] = same ? l->t[0] : l->t[1];
    l->f[2] = same ? l->f[0] : l->f[1];
    if (!same) {
        l->t[1] = l->t[0];
        l->f[1] = l->f[0];
    }
    l->t[0] = l->next;
    l->f[0] = f;
    double off = fabs(f);
    if (w->field->is_r || w->field->sigmoid.a != 0) {
        double r0 = lm_field_r(w->field, w->level, &slope);
        off = fabs(lm_field_r(w->field, w->level + f, &slope) - r0);
    }
    l->done = f == 0 || fabs(l->t[1] - l->t[0]) <= 2 * NARROW ||
              (off <= NEAR_R && fabs(f) <= fabs(l->f[1]) && fabs(l->t[0] - before) <= NEAR_T);
    if (l->done)
        l->next = fabs(l->f[0]) <= fabs(l->f[1]) ? l->t[0] : l->t[1];
    else
        l->next = propose(l);
}

static limn_status find_roots(draw *w) {
    limn_status status = bracket(w);
    size_t n = 1;
    for (int round = 0; round < ROUNDS && n && status == LIMN_OK; round++) {
        status = evaluate(w, &n);
        for (size_t i = 0; i < n && status == LIMN_OK; i++)
            advance(w, &w->lines[w->which[i]], w->f[i]);
    }
    return status;
}

/* ---- the points ---- */

void bd_points_free(const limn_allocator *mem, bd_points *p) {
    lm_free(mem, p->b);
    lm_free(mem, p->u);
    lm_free(mem, p->slope);
    *p = (bd_points){.count = 0};
}

static limn_status make_room(limn_context *ctx, size_t d, bd_points *p) {
    size_t capacity = p->capacity ? 2 * p->capacity : 64, cells;
    if (p->count < p->capacity)
        return LIMN_OK;
    if (!lm_mul(capacity, d, &cells))
        return lm_fail_memory(ctx);
    float *b = lm_resize(&ctx->mem, p->b, cells, sizeof *b);
    p->b = b ? b : p->b;
    double *u = lm_resize(&ctx->mem, p->u, cells, sizeof *u);
    p->u = u ? u : p->u;
    double *slope = lm_resize(&ctx->mem, p->slope, capacity, sizeof *slope);
    p->slope = slope ? slope : p->slope;
    if (!b || !u || !slope)
        return lm_fail_memory(ctx);
    p->capacity = capacity;
    return LIMN_OK;
}

/* Keeps the point unless the field is flat there. */
static limn_status keep(const draw *w, const float *x, const double *gradient, bd_points *p) {
    double largest = 0, sum = 0, steep = 0;
    for (size_t j = 0; j < w->d; j++)
        largest = fmax(largest, fabs(gradient[j]));
    if (!(largest > 0 && largest < INFINITY))
        return LIMN_OK;
    for (size_t j = 0; j < w->d; j++)
        sum += gradient[j] / largest * (gradient[j] / largest);
    limn_status status = make_room(w->ctx, w->d, p);
    if (status != LIMN_OK)
        return status;
    memcpy(p->b + p->count * w->d, x, w->d * sizeof *x);
    for (size_t j = 0; j < w->d; j++)
        p->u[p->count * w->d + j] = gradient[j] / largest / sqrt(sum);
    (void)lm_field_r(w->field, w->level, &steep);
    p->slope[p->count++] = steep * largest * sqrt(sum);
    return LIMN_OK;
}

static limn_status keep_points(draw *w, bd_points *p) {
    size_t n = 0;
    for (size_t i = 0; i < w->count; i++)
        if (w->lines[i].next >= 0)
            point_at(&w->lines[i], w->lines[i].next, w->d, w->x + n++ * w->d);
    limn_status status = lm_field_values(w->ctx, w->field, w->x, n, w->f, w->gradient);
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        status = keep(w, w->x + i * w->d, w->gradient + i * w->d, p);
    return status;
}

limn_status bd_draw(limn_context *ctx, bd_search *s, size_t wanted, bd_points *points) {
    draw w;
    uint64_t all = lines_of(&s->ends, 0) + lines_of(&s->ends, 1);
    uint64_t most = s->drawn + SPARE_DRAWS * (uint64_t)wanted + LEAST_DRAWS;
    limn_status status = draw_new(ctx, s, &w);
    most = most < all ? most : all;
    while (points->count < wanted && s->drawn < most && status == LIMN_OK) {
        size_t missing = wanted - points->count;
        w.count = 0;
        for (; w.count < missing && w.count < w.most && s->drawn < most; s->drawn++)
            w.lines[w.count++] = line_at(&s->ends, permuted(s->drawn, all, s->seed));
        status = find_roots(&w);
        if (status == LIMN_OK)
            status = keep_points(&w, points);
    }
    draw_free(&w);
    return status;
}
