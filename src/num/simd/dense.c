/* dense.c: sums of products in double, and scaling of rows, compiled once per instruction set. Sums
 * run in four vectors, so that additions do not wait for each other. */
#include "num/simd/simd.h"
#include "num/simd/vec.h"

#include <float.h>

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

typedef double vecd_any __attribute__((vector_size(W * 4), aligned(8), may_alias));
enum { LANES = 4 };

INLINE vecd load(const double *p) {
    return *(const vecd_any *)p;
}

static double dot(const double *a, const double *b, size_t n) {
    vecd sum[LANES] = {{0}};
    size_t i = 0;
    for (; i + LANES * D <= n; i += LANES * D) {
        UNROLL
        for (int l = 0; l < LANES; l++)
            sum[l] += load(a + i + l * D) * load(b + i + l * D);
    }
    for (; i + D <= n; i += D)
        sum[0] += load(a + i) * load(b + i);
    double rest = 0;
    for (; i < n; i++)
        rest += a[i] * b[i];
    return d_total((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

static void axpy(double s, const double *x, double *y, size_t n) {
    size_t i = 0;
    for (; i + D <= n; i += D)
        *(vecd_any *)(y + i) = load(y + i) + s * load(x + i);
    for (; i < n; i++)
        y[i] += s * x[i];
}

static void rows_times(const double *x, size_t n, size_t p, const double *v, double *out) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES, x += LANES * p) {
        vecd sum[LANES] = {{0}};
        double rest[LANES] = {0};
        size_t j = 0;
        for (; j + D <= p; j += D) {
            vecd part = load(v + j);
            UNROLL
            for (int l = 0; l < LANES; l++)
                sum[l] += load(x + (size_t)l * p + j) * part;
        }
        for (; j < p; j++) {
            UNROLL
            for (int l = 0; l < LANES; l++)
                rest[l] += x[(size_t)l * p + j] * v[j];
        }
        UNROLL
        for (int l = 0; l < LANES; l++)
            out[i + (size_t)l] = d_total(sum[l]) + rest[l];
    }
    for (; i < n; i++, x += p)
        out[i] = dot(x, v, p);
}

/* The compiler makes vectors of this. No product is added, so all instruction sets agree. */
static void scale(const float *restrict x, const double *restrict offset,
                  const double *restrict factor, size_t n, float *restrict out) {
    for (size_t i = 0; i < n; i++) {
        double value = ((double)x[i] - offset[i]) * factor[i];
        value = value > (double)FLT_MAX ? (double)FLT_MAX : value;
        out[i] = (float)(value < -(double)FLT_MAX ? -(double)FLT_MAX : value);
    }
}

enum { BLOCK = 16 /* knots */ };

/* How many of sixteen ascending numbers are not above v. */
INLINE uint32_t count_up_to(const float *sixteen, float v) {
    uint32_t bits = 0;
    UNROLL
    for (int i = 0; i < BLOCK / W; i++)
        bits |= v_not_above(v_load(sixteen + i * W), v_set(v)) << i * W;
    return (uint32_t)__builtin_ctz(~bits);
}

/* Two counts, and no branch that depends on a value. The first knot is not above v. */
static void find_knots(const lm_knots *column, size_t n, const float *search, const uint32_t *keep,
                       const float *x, float *v, uint32_t *at) {
    for (size_t j = 0; j < n; j++) {
        const float *blocks = search + column[j].place;
        float value = x[keep[j]], low = blocks[0], high = column[j].high;
        value = value > low ? value : low;
        value = value < high ? value : high;
        uint32_t block = count_up_to(blocks, value);
        v[j] = value;
        at[j] =
            column[j].first + (block - 1) * BLOCK + count_up_to(blocks + block * BLOCK, value) - 1;
    }
}

const lm_simd_dense GLUE(lm_simd_dense_, LM_ISA) = {
    .dot = dot,
    .axpy = axpy,
    .rows_times = rows_times,
    .scale = scale,
    .find_knots = find_knots,
};
