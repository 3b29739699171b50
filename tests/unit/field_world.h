/* field_world.h: for the tests of fields: rows of two classes, gradients of slow references in long
 * double, and comparisons. */
#ifndef LIMN_TESTS_FIELD_WORLD_H
#define LIMN_TESTS_FIELD_WORLD_H

#include "fit/field.h"
#include "support.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { D_MAX = 16 };

/* A reference: f at a point of long doubles. */
typedef long double slow_value(const void *user, const long double *x);

static inline void slow_gradient(slow_value *f, const void *user, const long double *x, size_t d,
                                 long double step, long double *out) {
    long double at[D_MAX];
    memcpy(at, x, d * sizeof *at);
    for (size_t j = 0; j < d; j++) {
        at[j] = x[j] + step;
        long double up = f(user, at);
        at[j] = x[j] - step;
        out[j] = (up - f(user, at)) / (2 * step);
        at[j] = x[j];
    }
}

static inline void widen(const float *x, size_t d, long double *out) {
    for (size_t j = 0; j < d; j++)
        out[j] = x[j];
}

static inline long double length_of(const long double *x, size_t d) {
    long double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += x[j] * x[j];
    return sqrtl(sum);
}

/* |got - want| <= relative |want| + absolute, as vectors. */
static inline void assert_vector(const double *got, const long double *want, size_t d,
                                 long double relative, long double absolute, const char *what) {
    long double miss[D_MAX];
    for (size_t j = 0; j < d; j++)
        miss[j] = (long double)got[j] - want[j];
    if (!(length_of(miss, d) <= relative * length_of(want, d) + absolute))
        fail_msg("%s: the gradient misses by %Lg of %Lg: %g instead of %Lg", what,
                 length_of(miss, d), length_of(want, d), got[0], want[0]);
}

/* The angle between two vectors in degrees. */
static inline double angle_of(const double *a, const double *b, size_t d) {
    double dot = 0, aa = 0, bb = 0;
    for (size_t j = 0; j < d; j++) {
        dot += a[j] * b[j];
        aa += a[j] * a[j];
        bb += b[j] * b[j];
    }
    return aa > 0 && bb > 0 ? acos(dot / sqrt(aa * bb)) * 180 / 3.14159265358979 : 180;
}

/* n rows, the first ones around offset + 1 in every feature, the others around offset. */
static inline lm_field_set draw_set(size_t n, size_t first, size_t d, double offset, bool weighted,
                                    uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 301, n);
    lm_field_set set = {.n = n, .first = first, .d = d};
    set.x = malloc(n * d * sizeof *set.x);
    set.weight = weighted ? malloc(n * sizeof *set.weight) : NULL;
    for (size_t i = 0; i < n * d; i++)
        set.x[i] = (float)(offset + (i / d < first) + lm_rng_normal(&rng));
    for (size_t i = 0; i < n && weighted; i++)
        set.weight[i] = exp(2 * lm_rng_normal(&rng));
    return set;
}

static inline void release_set(lm_field_set *set) {
    free(set->x);
    free(set->weight);
}

static inline long double weight_at(const lm_field_set *set, size_t i) {
    return set->weight ? set->weight[i] : 1;
}

static inline long double slow_distance(const lm_field_set *set, size_t i, const long double *x) {
    long double sum = 0;
    for (size_t j = 0; j < set->d; j++)
        sum += (set->x[i * set->d + j] - x[j]) * (set->x[i * set->d + j] - x[j]);
    return sum;
}

/* f and gradient of one point. */
static inline double value_at(limn_context *ctx, const lm_field *field, const float *x,
                              double *gradient) {
    double f = NAN;
    for (size_t j = 0; gradient && j < field->d; j++)
        gradient[j] = NAN;
    if (lm_field_values(ctx, field, x, 1, &f, gradient) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return f;
}

#endif
