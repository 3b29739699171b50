/* simd.h: the kernels of one instruction set, as a table. body.c makes one table per set,
 * dispatch.c chooses among them, pack.c calls through the chosen one. */
#ifndef LIMN_NUM_SIMD_SIMD_H
#define LIMN_NUM_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LM_METRICS = 5 }; /* of lm_metric in num/pack.h */

/* Panels of 16 rows of d features, m queries of d floats; out[q * out_stride + row]. more: there
 * are panels after these, which will be needed next. */
typedef void lm_block_kernel(const float *data, size_t d, size_t panels, const float *x,
                             size_t x_stride, size_t m, float *out, size_t out_stride, bool more);

/* The blocks of each sum: start[m] .. start[m + 1] - 1. */
typedef struct lm_sum_lists {
    const uint32_t *start;
    const uint16_t *panel;
    const float *coef; /* sixteen per block */
} lm_sum_lists;

/* Of kernel_sums.c; num/kernel_sums.h says what they do. */
typedef struct lm_simd_sums {
    void (*sum)(const float *k, size_t k_stride, size_t queries, const lm_sum_lists *lists,
                size_t width, bool narrow, float *out, size_t out_stride);
    void (*exp2_biased)(float *values, const float *bias, size_t n, float start);
    void (*dot_exp2)(const float *rows, const float *bias, size_t d, size_t panels, const float *x,
                     float start, float *out);
} lm_simd_sums;

/* Of rows.c; num/rows.h says what they do. */
typedef struct lm_simd_rows {
    double (*pair_l2)(const float *a, const float *b, size_t n);
    double (*pair_l1)(const float *a, const float *b, size_t n);
    void (*gather[3])(const float *x, const float *rows, size_t n, const uint32_t *index,
                      size_t count, double *out); /* by lm_metric: its first three */
    void (*spread[3])(const double *x, size_t d, const double *columns, size_t lanes, double *out);
    uint32_t (*keys)(const double *distance, size_t n, uint32_t *keys, uint64_t *which);
    void (*gather_bytes)(const uint8_t *x, const uint8_t *rows, size_t n, const uint32_t *index,
                         size_t count, double *out);
    void (*panel_scores)(const float *rows, const float *bias, size_t d, size_t panels,
                         const float *x, float *out);
} lm_simd_rows;

/* Of pack_double.c; num/pack_double.h says what they do. */
typedef struct lm_simd_double {
    void (*dots)(const float *rows, size_t d, size_t panels, const double *x, double *out);
    void (*sums)(const float *rows, size_t d, size_t panels, const double *weight, double *out);
} lm_simd_double;

struct lm_layers; /* num/layers.h, which says what these are for */

/* Of layers.c. work: multiply-adds are added to it; or NULL. */
typedef struct lm_simd_layers {
    void (*run)(const struct lm_layers *net, const float *x, size_t x_stride, size_t m, float *out,
                double *work, float *scratch);
    size_t (*largest)(const float *z, size_t n);
    size_t (*two_largest)(const float *z, size_t n, float *gap);
    void (*shift)(const float *x, const float *centre, const float *unit, size_t n, float *out);
    void (*adam)(float *weight, float *mean, float *square, const float *grad, size_t shards,
                 size_t stride, size_t n, float rate, float correction);
} lm_simd_layers;

extern const lm_simd_layers lm_simd_layers_baseline, lm_simd_layers_avx2, lm_simd_layers_avx512,
    lm_simd_layers_neon;
extern const lm_simd_double lm_simd_double_baseline, lm_simd_double_avx2, lm_simd_double_avx512,
    lm_simd_double_neon;
/* How the knots of a column are found among those of all: at search + place there are the first
 * knot of each block of sixteen, up to sixteen blocks, and then the blocks; infinity where there is
 * none. Numbers above high are taken as high. */
typedef struct lm_knots {
    size_t place;
    uint32_t first; /* the number of its first knot */
    float high;
} lm_knots;

/* Of dense.c, in double. */
typedef struct lm_simd_dense {
    double (*dot)(const double *a, const double *b, size_t n);
    void (*axpy)(double s, const double *x, double *y, size_t n); /* y += s x */
    /* out[i] = row i of x . v, for n rows of p */
    void (*rows_times)(const double *x, size_t n, size_t p, const double *v, double *out);
    /* out[i] = (x[i] - offset[i]) factor[i], cut to the range of floats */
    void (*scale)(const float *x, const double *offset, const double *factor, size_t n, float *out);
    /* v[j] = x[keep[j]], which must be finite, moved to the range of the knots of column j; at[j] =
     * the number of the last knot that is not above it */
    void (*find_knots)(const lm_knots *column, size_t n, const float *search, const uint32_t *keep,
                       const float *x, float *v, uint32_t *at);
} lm_simd_dense;

extern const lm_simd_dense lm_simd_dense_baseline, lm_simd_dense_avx2, lm_simd_dense_avx512,
    lm_simd_dense_neon;
extern const lm_simd_rows lm_simd_rows_baseline, lm_simd_rows_avx2, lm_simd_rows_avx512,
    lm_simd_rows_neon;
extern const lm_simd_sums lm_simd_sums_baseline, lm_simd_sums_avx2, lm_simd_sums_avx512,
    lm_simd_sums_neon;

/* The members mean what the functions of pack.h and kernel.h with the same names mean. */
typedef struct lm_simd {
    const char *name;
    lm_block_kernel *block[LM_METRICS]; /* by lm_metric */
    void (*norms)(const float *data, size_t d, size_t n, float *out);
    size_t (*argmin)(const float *values, size_t n);
    size_t (*below)(const float *values, size_t n, float bound, uint32_t *index);
    size_t (*below_expanded)(const float *dots, const float *norms, size_t n, float bound,
                             uint32_t *index);
    void (*segment_argmin)(const float *values, const uint32_t *start, size_t count,
                           uint32_t *index);
    void (*exp)(float *values, size_t n);
    void (*rbf)(float *values, size_t n, float gamma);
    void (*poly)(float *values, size_t n, float gamma, float coef0, unsigned degree);
    void (*sigmoid)(float *values, size_t n, float gamma, float coef0);
    void (*cosine)(float *values, size_t n, const float *norms, float x_norm);
    const lm_simd_sums *sums;
    const lm_simd_rows *rows;
    const lm_simd_double *in_double;
    const lm_simd_dense *dense;
    const lm_simd_layers *layers;
} lm_simd;

extern const lm_simd lm_simd_baseline, lm_simd_avx2, lm_simd_avx512, lm_simd_neon;

/* The table in use. Chosen at the first call; no lock after that. */
const lm_simd *lm_simd_get(void);

#endif
