/* scale_curves_slow.h: for the tests of rank and gauss: a slow statement of what their curves are,
 * and columns of every sort. After cmocka.h.
 *
 * The slow curve counts: F(v) = (values below v + half of those equal to v) / n, in loops over all
 * values. Its knots are all different values if there are at most 256, else those at the places
 * k (n - 1) / 255 of the sorted column, k = 0..255, with the next value after one that is at two or
 * more of them, and the last before one that is at three or more. It is linear in between and level
 * outside. gauss is the normal quantile of F at the knots, found by bisection of erfc, divided by
 * the standard deviation of the training values on it. */
#ifndef LIMN_TESTS_SCALE_CURVES_SLOW_H
#define LIMN_TESTS_SCALE_CURVES_SLOW_H

#include "scale/scale.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static inline float *sorted_copy(const float *v, size_t n) {
    float *copy = malloc((n + 1) * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = v[i] == 0 ? 0 : v[i]; /* -0 becomes 0 */
    qsort(copy, n, sizeof *copy, by_value);
    return copy;
}

/* ---- the slow curve ---- */

typedef struct slow_curve {
    size_t knots;
    float x[LM_KNOTS_MAX];
    double y[LM_KNOTS_MAX];
} slow_curve;

static inline double slow_share(const float *v, size_t n, float at) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] < at ? 1 : v[i] == at ? 0.5 : 0;
    return sum / (double)n;
}

static inline double slow_quantile(double p) {
    double low = -40, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (0.5 * erfc(-middle / sqrt(2)) < p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static inline double slow_at(const slow_curve *c, double v) {
    size_t last = c->knots - 1, k = 0;
    if (last == 0)
        return fmax(-(double)FLT_MAX, fmin((double)FLT_MAX, v - (double)c->x[0]));
    if (v <= (double)c->x[0])
        return c->y[0];
    if (v >= (double)c->x[last])
        return c->y[last];
    while (v >= (double)c->x[k + 1])
        k++;
    double width = (double)c->x[k + 1] - (double)c->x[k];
    return c->y[k] + (c->y[k + 1] - c->y[k]) * ((v - (double)c->x[k]) / width);
}

static inline void slow_unit_variance(slow_curve *c, const float *v, size_t n) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += slow_at(c, (double)v[i]) / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += pow(slow_at(c, (double)v[i]) - mean, 2) / (double)n;
    for (size_t k = 0; k < c->knots; k++)
        c->y[k] /= sqrt(variance);
}

/* How many of the 256 places have the value of place i of the sorted column. */
static inline size_t slow_places(const float *sorted, size_t n, size_t i) {
    size_t count = 0;
    for (size_t k = 0; k < LM_KNOTS_MAX; k++)
        count += sorted[k * (n - 1) / (LM_KNOTS_MAX - 1)] == sorted[i];
    return count;
}

/* At a place; or the next value after one at two or more, or the last before one at three. */
static inline bool slow_is_knot(const float *sorted, size_t n, size_t i) {
    size_t before = i, after = i;
    while (before > 0 && sorted[before] == sorted[i])
        before--;
    while (after + 1 < n && sorted[after] == sorted[i])
        after++;
    return slow_places(sorted, n, i) > 0 ||
           (sorted[before] < sorted[i] && slow_places(sorted, n, before) > 1) ||
           (sorted[after] > sorted[i] && slow_places(sorted, n, after) > 2);
}

static inline slow_curve slow_fit(const float *v, size_t n, bool gauss) {
    slow_curve c = {.knots = 0};
    float *sorted = sorted_copy(v, n);
    size_t different = 1;
    for (size_t i = 1; i < n; i++)
        different += sorted[i] > sorted[i - 1];
    bool all = different <= LM_KNOTS_MAX;
    for (size_t i = 0; i < n; i++) {
        float at = sorted[i];
        if ((c.knots && at == c.x[c.knots - 1]) || !(all || slow_is_knot(sorted, n, i)))
            continue;
        double share = slow_share(v, n, at);
        c.x[c.knots] = at;
        c.y[c.knots++] = different == 1 ? 0 : gauss ? slow_quantile(share) : share;
    }
    if (gauss && different > 1)
        slow_unit_variance(&c, v, n);
    free(sorted);
    return c;
}

/* ---- columns of every sort ---- */

typedef enum column {
    COLUMN_NORMAL,
    COLUMN_FEW,   /* seven values */
    COLUMN_TWO,   /* two values */
    COLUMN_HEAVY, /* from 1e-11 to 1e11 */
    COLUMN_ZEROS, /* seven of ten are 0 */
    COLUMN_256,   /* that many values, if there are so many rows */
    COLUMN_257,
    COLUMN_DIFFERENT, /* all values are */
    COLUMN_HUGE,      /* up to 1e30 */
    COLUMN_ENDS,      /* up to FLT_MAX */
    COLUMN_TINY,      /* denormal */
    COLUMN_SIGNS,     /* -0, 0, 1 */
    COLUMN_FAR,       /* one value far from all others, which are equal */
    COLUMN_CONSTANT,
    COLUMNS
} column;

static inline float value_in(column which, lm_rng *rng, size_t i, size_t n) {
    static const float signs[] = {-0.0f, 0.0f, 1.0f};
    static const float ends[] = {-FLT_MAX, -1e38f, 0, 1e-45f, FLT_MAX};
    switch (which) {
    case COLUMN_FEW:
        return (float)lm_rng_below(rng, 7) * 0.3f;
    case COLUMN_TWO:
        return lm_rng_below(rng, 3) ? 5 : -3;
    case COLUMN_HEAVY:
        return (float)exp(8 * lm_rng_normal(rng));
    case COLUMN_ZEROS:
        return lm_rng_below(rng, 10) < 7 ? 0 : (float)lm_rng_normal(rng);
    case COLUMN_256:
        return (float)(i * 37 % 256);
    case COLUMN_257:
        return (float)(i * 37 % 257) - 100;
    case COLUMN_DIFFERENT:
        return (float)(n - i) * 0.7f;
    case COLUMN_HUGE:
        return (float)(lm_rng_normal(rng) * 1e30);
    case COLUMN_ENDS:
        return ends[lm_rng_below(rng, LM_COUNT(ends))];
    case COLUMN_TINY:
        return (float)lm_rng_below(rng, 400) * 1e-45f;
    case COLUMN_SIGNS:
        return signs[lm_rng_below(rng, LM_COUNT(signs))];
    case COLUMN_FAR:
        return i == n / 2 ? 1e38f : 4;
    case COLUMN_CONSTANT:
        return 7.25f;
    default:
        return (float)lm_rng_normal(rng);
    }
}

/* n x COLUMNS; free with free(). */
static inline float *make_table(size_t n) {
    float *x = malloc(n * COLUMNS * sizeof *x);
    for (size_t j = 0; j < COLUMNS; j++) {
        lm_rng rng = lm_rng_at(2, j, n);
        for (size_t i = 0; i < n; i++)
            x[i * COLUMNS + j] = value_in((column)j, &rng, i, n);
    }
    return x;
}

static inline void column_of(const float *x, size_t n, size_t d, size_t j, float *v) {
    for (size_t i = 0; i < n; i++)
        v[i] = x[i * d + j];
}

/* ---- scalings ---- */

static const limn_scale kinds[] = {LIMN_SCALE_RANK, LIMN_SCALE_GAUSS};

static inline bool same_bits(const float *a, const float *b, size_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}

static inline lm_scaler must_fit(limn_context *ctx, limn_scale kind, bool keep_constant,
                                 const float *x, size_t n, size_t d) {
    lm_scaler s;
    lm_scaler_rows rows = {.x = x, .n = n, .d = d};
    if (lm_scaler_fit_columns(ctx, kind, keep_constant, &rows, &s) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return s;
}

static inline bool same_curves(const lm_curves *a, const lm_curves *b) {
    size_t knots = a->start[a->columns];
    return a->columns == b->columns &&
           memcmp(a->start, b->start, (a->columns + 1) * sizeof *a->start) == 0 &&
           same_bits(a->x, b->x, knots) && same_bits(a->y, b->y, knots) &&
           memcmp(a->slope, b->slope, knots * sizeof *a->slope) == 0;
}

#endif
