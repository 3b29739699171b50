/* pack_double.c: dot products of packed floats with a vector of doubles, and weighted sums of
 * packed rows, summed in double, compiled once per instruction set. A dot product is one sum in
 * feature order, so its result does not depend on its neighbours; a weighted sum adds places 0, 16,
 * 32, ... of the rows, and 1, 17, ..., and in the end these sixteen. */
#include "num/simd/simd.h"
#include "num/simd/vec.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

/* Panels whose sums are in flight together: eight vectors of doubles. */
enum { PANEL = 16, TOGETHER = 8 / PARTS > 0 ? 8 / PARTS : 1 };

INLINE void sum_panels(int panels, const float *rows, size_t d, const double *x, double *out) {
    vecd sum[TOGETHER * PARTS] = {{0}};
    for (size_t j = 0; j < d; j++) {
        vecd value = x[j] - (vecd){0};
        UNROLL
        for (int g = 0; g < panels; g++) {
            UNROLL
            for (int p = 0; p < PARTS; p++)
                sum[g * PARTS + p] = d_fma(d_load(rows + ((size_t)g * d + j) * PANEL + p * D),
                                           value, sum[g * PARTS + p]);
        }
    }
    memcpy(out, sum, (size_t)panels * PANEL * sizeof *out);
}

static void dots(const float *rows, size_t d, size_t panels, const double *x, double *out) {
    for (; panels >= TOGETHER; panels -= TOGETHER) {
        sum_panels(TOGETHER, rows, d, x, out);
        rows += d * PANEL * TOGETHER;
        out += PANEL * TOGETHER;
    }
    for (; panels > 0; panels--, rows += d * PANEL, out += PANEL)
        sum_panels(1, rows, d, x, out);
}

/* Features whose sums are in flight together: eight vectors of doubles. */
INLINE void sum_rows(int features, const float *rows, size_t d, size_t panels, const double *weight,
                     double *out) {
    vecd sum[TOGETHER * PARTS] = {{0}}, own[PARTS];
    double lane[PANEL];
    for (size_t p = 0; p < panels; p++, rows += d * PANEL, weight += PANEL) {
        memcpy(own, weight, sizeof own);
        UNROLL
        for (int f = 0; f < features; f++) {
            UNROLL
            for (int i = 0; i < PARTS; i++)
                sum[f * PARTS + i] =
                    d_fma(d_load(rows + f * PANEL + i * D), own[i], sum[f * PARTS + i]);
        }
    }
    for (int f = 0; f < features; f++) {
        memcpy(lane, sum + f * PARTS, sizeof lane);
        out[f] = 0;
        for (int i = 0; i < PANEL; i++)
            out[f] += lane[i];
    }
}

static void sums(const float *rows, size_t d, size_t panels, const double *weight, double *out) {
    size_t j = 0;
    for (; j + TOGETHER <= d; j += TOGETHER)
        sum_rows(TOGETHER, rows + j * PANEL, d, panels, weight, out + j);
    for (; j < d; j++)
        sum_rows(1, rows + j * PANEL, d, panels, weight, out + j);
}

const lm_simd_double GLUE(lm_simd_double_, LM_ISA) = {.dots = dots, .sums = sums};
