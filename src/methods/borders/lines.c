/* lines.c: points on the border, on lines that cross it.
 *
 * Each line has its ends on opposite sides of the border (f above and below the level). The root is
 * bracketed and found by T. Chandrupatla's method (1997: inverse quadratic interpolation where it
 * is safe, else bisection); many lines advance together, so that the field is evaluated in batches.
 * A field that jumps has no root: the bracket then shrinks to the jump. Where the field is flat
 * there is no normal, and the line gives no point. */
#include "methods/borders/borders.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 80, TOGETHER = 512, CELLS = 1 << 20 };
#define NEAR_R 1e-6    /* of r - r0 */
#define NEAR_T 1e-6    /* of the line's parameter between two rounds */
#define NARROW 0x1p-26 /* a bracket of this width is a point */

/* ---- points ---- */

void bd_points_free(const limn_allocator *mem, bd_points *p) {
    lm_free(mem, p->b);
    lm_free(mem, p->u);
    lm_free(mem, p->slope);
    lm_free(mem, p->offset);
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
    double *offset = lm_resize(&ctx->mem, p->offset, capacity, sizeof *offset);
    p->offset = offset ? offset : p->offset;
    if (!b || !u || !slope || !offset)
        return lm_fail_memory(ctx);
    p->capacity = capacity;
    return LIMN_OK;
}

limn_status bd_points_add(limn_context *ctx, size_t d, const float *b, const double *direction,
                          double steep, const double *offset, bd_points *p) {
    double largest = 0, sum = 0, at = 0;
    for (size_t j = 0; j < d; j++)
        largest = fmax(largest, fabs(direction[j]));
    if (!(largest > 0 && largest < INFINITY))
        return LIMN_OK;
    for (size_t j = 0; j < d; j++)
        sum += direction[j] / largest * (direction[j] / largest);
    limn_status status = make_room(ctx, d, p);
    if (status != LIMN_OK || !(sum < INFINITY)) /* fmax overlooks NaN */
        return status;
    memcpy(p->b + p->count * d, b, d * sizeof *b);
    for (size_t j = 0; j < d; j++) {
        double u = direction[j] / largest / sqrt(sum);
        p->u[p->count * d + j] = u;
        at -= u * (double)b[j];
    }
    p->offset[p->count] = offset ? *offset / largest / sqrt(sum) : at;
    p->slope[p->count++] = steep * largest * sqrt(sum);
    return LIMN_OK;
}

limn_status bd_points_copy(limn_context *ctx, size_t d, const bd_points *from, bd_points *to) {
    limn_status status = LIMN_OK;
    while (to->capacity < from->count && status == LIMN_OK) {
        to->count = to->capacity;
        status = make_room(ctx, d, to);
    }
    if (status != LIMN_OK)
        return status;
    to->count = from->count;
    if (from->count) {
        memcpy(to->b, from->b, from->count * d * sizeof *to->b);
        memcpy(to->u, from->u, from->count * d * sizeof *to->u);
        memcpy(to->slope, from->slope, from->count * sizeof *to->slope);
        memcpy(to->offset, from->offset, from->count * sizeof *to->offset);
    }
    return LIMN_OK;
}

void bd_points_drop(size_t d, bd_points *p, size_t i) {
    size_t last = --p->count;
    memmove(p->b + i * d, p->b + last * d, d * sizeof *p->b);
    memmove(p->u + i * d, p->u + last * d, d * sizeof *p->u);
    p->slope[i] = p->slope[last];
    p->offset[i] = p->offset[last];
}

/* ---- roots ---- */

/* A line from x(0), where f is above the level, to x(1). */
typedef struct line {
    bd_line ends;
    double t[3], f[3]; /* of the bracket's newest and other end, and of the one before; f - level */
    double next;
    bool done;
} line;

typedef struct draw {
    limn_context *ctx;
    const bd_search *search;
    const lm_field *field;
    line *lines;
    size_t count, most, d;
    float *x;
    double *f, *gradient;
    uint32_t *which; /* the lines that x and f belong to */
} draw;

static void point_at(const line *l, double t, size_t d, float *x) {
    const float *above = l->ends.above, *below = l->ends.below;
    for (size_t j = 0; j < d; j++)
        x[j] = (float)((double)above[j] + t * ((double)below[j] - (double)above[j]));
}

static void draw_free(draw *w) {
    const limn_allocator *mem = &w->ctx->mem;
    lm_free(mem, w->lines);
    lm_free(mem, w->x);
    lm_free(mem, w->f);
    lm_free(mem, w->gradient);
    lm_free(mem, w->which);
}

static limn_status draw_new(limn_context *ctx, const bd_search *s, size_t lines, draw *w) {
    size_t cells = 0, d = s->field->d, most = CELLS / d > 16 ? CELLS / d : 16;
    *w = (draw){.ctx = ctx, .search = s, .field = s->field, .d = d};
    w->most = most < TOGETHER ? most : TOGETHER;
    w->most = lines < w->most ? lines : w->most;
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
        w->f[i] -= w->search->level;
    *some = n;
    return status == LIMN_OK ? bd_tell(w->ctx, w->search->news) : status;
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
        double r0 = lm_field_r(w->field, w->search->level, &slope);
        off = fabs(lm_field_r(w->field, w->search->level + f, &slope) - r0);
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

/* Keeps the points found; place[i], of line i: which one is its own, or -1. */
static limn_status keep_points(draw *w, bd_points *p, int32_t *place) {
    double steep = 0;
    size_t n = 0;
    for (size_t i = 0; i < w->count; i++)
        if (w->lines[i].next >= 0) {
            point_at(&w->lines[i], w->lines[i].next, w->d, w->x + n * w->d);
            w->which[n++] = (uint32_t)i;
        }
    limn_status status = lm_field_values(w->ctx, w->field, w->x, n, w->f, w->gradient);
    (void)lm_field_r(w->field, w->search->level, &steep);
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        size_t before = p->count;
        status =
            bd_points_add(w->ctx, w->d, w->x + i * w->d, w->gradient + i * w->d, steep, NULL, p);
        if (place && p->count > before)
            place[w->which[i]] = (int32_t)before;
    }
    return status;
}

limn_status bd_roots(limn_context *ctx, const bd_search *search, const bd_line *lines, size_t n,
                     bd_points *points, int32_t *place) {
    draw w;
    if (n == 0)
        return LIMN_OK;
    limn_status status = draw_new(ctx, search, n, &w);
    for (size_t first = 0; first < n && status == LIMN_OK; first += w.count) {
        w.count = n - first < w.most ? n - first : w.most;
        for (size_t i = 0; i < w.count; i++) {
            w.lines[i] = (line){.ends = lines[first + i]};
            if (place)
                place[first + i] = -1;
        }
        status = find_roots(&w);
        if (status == LIMN_OK)
            status = keep_points(&w, points, place ? place + first : NULL);
    }
    draw_free(&w);
    return status;
}
