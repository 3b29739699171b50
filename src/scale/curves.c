/* curves.c: rank and gauss.
 *
 * rank is the mid-rank distribution function of a column,
 *
 *   F(v) = (number of training values below v + half the number equal to v) / n,
 *
 * at its knots: all distinct values if there are at most 256, else those at 256 evenly spaced
 * places of the sorted column, the smallest and the largest among them. A value at several of these
 * places has, instead of repetitions, the values before and after it as knots, because F is steep
 * there. It is linear in between, and off by at most 2 / 255 at a training value. F is rounded to a
 * multiple of 2^-23: the two values of any column of two are then exactly 1/2 apart, so rows that
 * differ in equally many such columns stay equally far from each other.
 *
 * gauss is the normal quantile of F, divided by the standard deviation that the training values
 * then have. A column with one value, kept because an online method may see others later, gets the
 * line x - value.
 *
 * A query finds its knot by counting how many of up to sixteen blocks begin at or below it, and
 * then how many of the sixteen knots of the last of these lie there (num/simd/dense.c). */
#include "scale/curves.h"

#include "base/sort.h"
#include "base/work.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 16 /* knots counted at once, and blocks */ };
_Static_assert((BLOCK) * (BLOCK) == LM_KNOTS_MAX, "two counts find any knot");

/* Floats of lm_curves.search, at most. Columns and knots are below 2^32. */
static size_t most_searched(size_t columns, size_t knots) {
    return columns * (2 * BLOCK) + knots;
}

bool lm_curves_take(const limn_allocator *mem, size_t columns, size_t knots, lm_curves *c) {
    *c = (lm_curves){.columns = columns};
    c->start = lm_alloc(mem, columns + 1, sizeof *c->start);
    c->x = lm_alloc(mem, knots, 2 * sizeof *c->x);
    c->y = c->x ? c->x + knots : NULL;
    c->slope = lm_alloc(mem, knots, sizeof *c->slope);
    c->column = lm_alloc(mem, columns, sizeof *c->column);
    c->search = lm_alloc(mem, most_searched(columns, knots), sizeof *c->search);
    return c->start && c->x && c->slope && c->column && c->search;
}

void lm_curves_free(const limn_allocator *mem, lm_curves *c) {
    lm_free(mem, c->start);
    lm_free(mem, c->x);
    lm_free(mem, c->slope);
    lm_free(mem, c->column);
    lm_free(mem, c->search);
    *c = (lm_curves){.columns = 0};
}

limn_status lm_curves_copy(limn_context *ctx, const lm_curves *from, lm_curves *to) {
    size_t knots = from->start[from->columns];
    if (!lm_curves_take(&ctx->mem, from->columns, knots, to)) {
        lm_curves_free(&ctx->mem, to);
        return lm_fail_memory(ctx);
    }
    memcpy(to->start, from->start, (from->columns + 1) * sizeof *to->start);
    memcpy(to->x, from->x, knots * sizeof *to->x);
    memcpy(to->y, from->y, knots * sizeof *to->y);
    lm_curves_finish(to);
    return LIMN_OK;
}

/* ---- fitting ---- */

#define STEPS 0x1p23 /* of ranks, from 0 to 1 */

typedef struct fitting {
    const float *x; /* n x d */
    size_t n, d;
    bool gauss;
    const uint32_t *keep;
    float *knot_x, *knot_y; /* LM_KNOTS_MAX per column */
    uint32_t *count;        /* of knots per column */
} fitting;

/* The first of v[from..n) that is larger than v[from]. */
static size_t next_value(const float *v, size_t n, size_t from) {
    size_t low = from, high = n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (v[middle] > v[from])
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The first of v[0..at] that equals v[at]. */
static size_t first_equal(const float *v, size_t at) {
    size_t low = 0, high = at;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v[middle] < v[at])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The z with so much of the standard normal distribution below it, 0 < p < 1: the approximation
 * 26.2.22 of Abramowitz and Stegun, made exact by Halley's method. Symmetric about p = 1/2. */
static double normal_quantile(double p) {
    if (p > 0.5)
        return -normal_quantile(1 - p);
    double t = sqrt(-2 * log(p));
    double z = (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)) - t;
    for (int i = 0; i < 4; i++) {
        double off =
            (0.5 * erfc(-z * 0.70710678118654752) - p) * 2.5066282746310002 * exp(0.5 * z * z);
        z -= off / (1 + 0.5 * z * off);
    }
    return z;
}

/* The knot at the value v[at] of the sorted column, unless it would not rise above the one before
 * (which rounding can cause beyond 10^7 rows). */
static void add_knot(const fitting *f, const float *v, size_t at, size_t j) {
    size_t below = first_equal(v, at), equal = next_value(v, f->n, at) - below;
    double share = ((double)below + 0.5 * (double)equal) / (double)f->n;
    if (!f->gauss)
        share = rint(share * STEPS) / STEPS;
    float *x = f->knot_x + j * LM_KNOTS_MAX, *y = f->knot_y + j * LM_KNOTS_MAX;
    uint32_t k = f->count[j];
    x[k] = v[at];
    y[k] = (float)(f->gauss ? normal_quantile(share) : share);
    if (k == 0 || (x[k] > x[k - 1] && y[k] > y[k - 1]))
        f->count[j]++;
}

static size_t count_distinct(const float *v, size_t n, size_t most) {
    size_t count = 0;
    for (size_t at = 0; at < n && count < most; count++)
        at = next_value(v, n, at);
    return count;
}

static size_t place_of(const fitting *f, size_t k) {
    return k * (f->n - 1) / (LM_KNOTS_MAX - 1);
}

/* The knot at place k and, if that value takes up more of the places, its neighbours: beside a
 * value that many rows have, F is steep. Returns how many places it takes up. */
static size_t add_tie(const fitting *f, const float *v, size_t k, size_t j) {
    size_t at = place_of(f, k), below = first_equal(v, at), next = next_value(v, f->n, at);
    size_t places = 1;
    while (k + places < LM_KNOTS_MAX && place_of(f, k + places) < next)
        places++;
    if (places > 2 && below > 0)
        add_knot(f, v, below - 1, j);
    add_knot(f, v, at, j);
    if (places > 1 && next < f->n)
        add_knot(f, v, next, j);
    return places;
}

static void add_knots(const fitting *f, const float *v, size_t j) {
    if (count_distinct(v, f->n, LM_KNOTS_MAX + 1) <= LM_KNOTS_MAX) {
        for (size_t at = 0; at < f->n; at = next_value(v, f->n, at))
            add_knot(f, v, at, j);
        return;
    }
    for (size_t k = 0; k < LM_KNOTS_MAX;)
        k += add_tie(f, v, k, j);
}

/* Dividing may have made neighbours equal. */
static void drop_level_knots(const fitting *f, size_t j) {
    float *x = f->knot_x + j * LM_KNOTS_MAX, *y = f->knot_y + j * LM_KNOTS_MAX;
    uint32_t kept = 1;
    for (uint32_t k = 1; k < f->count[j]; k++)
        if (y[k] > y[kept - 1]) {
            x[kept] = x[k];
            y[kept++] = y[k];
        }
    f->count[j] = kept;
}

/* Divides the knots by the standard deviation of the values on the curve. */
static void to_unit_variance(const fitting *f, const float *v, size_t j) {
    const float *x = f->knot_x + j * LM_KNOTS_MAX;
    float *y = f->knot_y + j * LM_KNOTS_MAX;
    double sum = 0, squares = 0;
    for (size_t i = 0, k = 0; i < f->n; i++) {
        while (k + 2 < f->count[j] && x[k + 1] <= v[i])
            k++;
        double at = ((double)v[i] - (double)x[k]) / ((double)x[k + 1] - (double)x[k]);
        double rise = at * ((double)y[k + 1] - (double)y[k]);
        double value = (double)y[k] + rise;
        sum += value;
        squares += value * value;
    }
    double n = (double)f->n, variance = squares / n - (sum / n) * (sum / n);
    for (uint32_t k = 0; k < f->count[j] && variance > 0; k++)
        y[k] = (float)((double)y[k] / sqrt(variance));
    drop_level_knots(f, j);
}

/* The curve of one column. */
static limn_status fit_column(limn_context *ctx, void *user, size_t j) {
    const fitting *f = user;
    float *v = lm_alloc(&ctx->mem, f->n, 2 * sizeof *v);
    if (!v)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < f->n; i++)
        v[i] = f->x[i * f->d + f->keep[j]];
    lm_sort_floats(v, f->n, v + f->n);
    add_knots(f, v, j);
    if (f->count[j] == 1)
        f->knot_y[j * LM_KNOTS_MAX] = 0;
    else if (f->gauss)
        to_unit_variance(f, v, j);
    lm_free(&ctx->mem, v);
    return LIMN_OK;
}

static limn_status join(limn_context *ctx, const fitting *f, size_t columns, lm_curves *c) {
    size_t knots = 0;
    for (size_t j = 0; j < columns; j++)
        knots += f->count[j];
    if (!lm_curves_take(&ctx->mem, columns, knots, c)) {
        lm_curves_free(&ctx->mem, c);
        return lm_fail_memory(ctx);
    }
    c->start[0] = 0;
    for (size_t j = 0; j < columns; j++) {
        size_t at = c->start[j], bytes = f->count[j] * sizeof *c->x;
        memcpy(c->x + at, f->knot_x + j * LM_KNOTS_MAX, bytes);
        memcpy(c->y + at, f->knot_y + j * LM_KNOTS_MAX, bytes);
        c->start[j + 1] = (uint32_t)at + f->count[j];
    }
    lm_curves_finish(c);
    return LIMN_OK;
}

limn_status lm_curves_fit(limn_context *ctx, bool gauss, const float *x, size_t n, size_t d,
                          const uint32_t *keep, size_t columns, lm_curves *c) {
    size_t cells;
    *c = (lm_curves){.columns = 0};
    if (!lm_mul(columns, LM_KNOTS_MAX, &cells) || cells > UINT32_MAX)
        return lm_fail(ctx, LIMN_E_DATA, "%zu features are too many for this scaling", columns);
    fitting f = {.x = x, .n = n, .d = d, .gauss = gauss, .keep = keep};
    f.knot_x = lm_alloc(&ctx->mem, cells, 2 * sizeof *f.knot_x);
    f.count = lm_alloc_zero(&ctx->mem, columns, sizeof *f.count);
    limn_status status = f.knot_x && f.count ? LIMN_OK : lm_fail_memory(ctx);
    f.knot_y = f.knot_x ? f.knot_x + cells : NULL;
    if (status == LIMN_OK)
        status = lm_work(
            ctx, &(lm_job){.stage = "ranking", .count = columns, .task = fit_column, .user = &f});
    if (status == LIMN_OK)
        status = join(ctx, &f, columns, c);
    lm_free(&ctx->mem, f.knot_x);
    lm_free(&ctx->mem, f.count);
    return status;
}

/* ---- following ---- */

static void make_slopes(lm_curves *c, size_t j) {
    for (size_t k = c->start[j], end = c->start[j + 1]; k < end; k++) {
        size_t at = k + 1 < end || k == c->start[j] ? k : k - 1; /* the last: the line to it */
        double factor = 1;
        if (at + 1 < end)
            factor = ((double)c->y[at + 1] - (double)c->y[at]) /
                     ((double)c->x[at + 1] - (double)c->x[at]);
        c->slope[k] = (lm_slope){c->x[k], c->y[k], factor};
    }
}

/* Returns where the next column begins. */
static size_t make_blocks(lm_curves *c, size_t j, size_t place) {
    size_t first = c->start[j], knots = c->start[j + 1] - first;
    size_t blocks = (knots + BLOCK - 1) / BLOCK;
    float *to = c->search + place;
    for (size_t b = 0; b < BLOCK; b++)
        to[b] = b < blocks ? c->x[first + b * BLOCK] : INFINITY;
    for (size_t k = 0; k < blocks * BLOCK; k++)
        to[BLOCK + k] = k < knots ? c->x[first + k] : INFINITY;
    if (knots == 1)
        to[0] = to[BLOCK] = -INFINITY;
    c->column[j] = (lm_knots){.place = place,
                              .first = (uint32_t)first,
                              .high = knots == 1 ? INFINITY : c->x[first + knots - 1]};
    return place + (1 + blocks) * BLOCK;
}

void lm_curves_finish(lm_curves *c) {
    for (size_t j = 0, place = 0; j < c->columns; j++) {
        make_slopes(c, j);
        place = make_blocks(c, j, place);
    }
}

static inline float cut(double value) {
    return (float)(value > (double)FLT_MAX    ? (double)FLT_MAX
                   : value < -(double)FLT_MAX ? -(double)FLT_MAX
                                              : value);
}

void lm_curves_apply(const lm_curves *c, const uint32_t *keep, const float *x, float *y) {
    enum { SOME = 64 };
    float v[SOME];
    uint32_t at[SOME];
    const lm_simd_dense *simd = lm_simd_get()->dense;
    for (size_t j = 0; j < c->columns; j += SOME) {
        size_t n = c->columns - j < SOME ? c->columns - j : SOME;
        simd->find_knots(c->column + j, n, c->search, keep + j, x, v, at);
        for (size_t i = 0; i < n; i++) {
            lm_slope s = c->slope[at[i]];
            /* Not one expression, which a compiler may round only once: all machines must agree. */
            double step = ((double)v[i] - (double)s.x) * s.factor;
            y[j + i] = cut((double)s.y + step);
        }
    }
}

/* The last of the n knots that is not above y, or the first. */
static size_t last_below(const float *knot, size_t n, float y) {
    size_t at = 0;
    while (n > 1) {
        size_t half = n / 2;
        at += knot[at + half] <= y ? half : 0;
        n -= half;
    }
    return at;
}

float lm_curves_undo(const lm_curves *c, size_t j, float y) {
    size_t first = c->start[j], count = c->start[j + 1] - first;
    const float *knot = c->y + first;
    if (count > 1 && !(y > knot[0]))
        return c->x[first];
    if (count > 1 && !(y < knot[count - 1]))
        return c->x[first + count - 1];
    lm_slope s = c->slope[first + last_below(knot, count, y)];
    return cut((double)s.x + ((double)y - (double)s.y) / s.factor);
}
