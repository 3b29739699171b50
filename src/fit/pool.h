/* pool.h: points sampled around the rows of a data set and between its classes, for a teacher to
 * answer: as many as wanted, where rows are and where classes meet.
 *
 * A point lies between a row x and x', the nearest of (as a rule) 200 random rows that is not equal
 * to x, half of the time of another class: x + t (x' - x), t uniform in 0..1. Features that hold
 * categories (few different values) are not mixed but crossed: each keeps the value of x with a
 * probability that is itself uniform in 1/2..1, and else has that of a near row of the same class.
 * Noise, if any, is added to a random half of the points, but not to categories. No point leaves
 * the range of the features.
 *
 * Points are numbered, and each depends only on the seed and its number. */
#ifndef LIMN_FIT_POOL_H
#define LIMN_FIT_POOL_H

#include "base/base.h"

/* What the features of a data set are like. To be freed after a failure too, as are rows. */
typedef struct lm_pool_features {
    size_t d;
    double *spread;    /* d: standard deviations, 0 where a feature is constant */
    float *low, *high; /* d */
    bool *category;    /* d: few different values */
    size_t categories; /* how many features are */
} lm_pool_features;

limn_status lm_pool_features_find(limn_context *ctx, const float *x, size_t n, size_t d,
                                  lm_pool_features *out);
void lm_pool_features_free(const limn_allocator *mem, lm_pool_features *features);

/* The rows that points are sampled from. Borrows the features. */
typedef struct lm_pool_rows {
    const lm_pool_features *features;
    size_t n, classes, stride; /* stride: floats of a row, d rounded up to panels */
    float *x;                  /* n x stride, by class; 0 past d */
    size_t *start;             /* classes + 1 */
} lm_pool_rows;

/* Copies n > 0 rows of d floats. label (0..classes-1) may be NULL: one class. */
limn_status lm_pool_rows_take(limn_context *ctx, const lm_pool_features *features, const float *x,
                              const int32_t *label, size_t n, size_t classes, lm_pool_rows *out);
void lm_pool_rows_free(const limn_allocator *mem, lm_pool_rows *rows);

enum { LM_POOL_COMPARED = 200 };

typedef struct lm_pool_way {
    uint64_t seed;
    double noise;    /* its standard deviation, as a share of each feature's */
    size_t compared; /* random rows, of which x' is the nearest: at most LM_POOL_COMPARED, or 0 for
                        that. Fewer make points more different where there are few rows. */
} lm_pool_way;

/* Points first .. first+count-1 into out (count x out_stride floats, of which d are written), on
 * ctx->threads threads. class (count) is the class of x; it may be NULL. */
void lm_pool_sample(limn_context *ctx, const lm_pool_rows *rows, const lm_pool_way *way,
                    size_t first, size_t count, float *out, size_t out_stride, int32_t *class);

#endif
