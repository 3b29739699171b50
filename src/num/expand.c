/* expand.c: calls through the table of the instruction set in use. */
#include "num/expand.h"

#include "num/simd/simd.h"

void lm_expand(const float *k, size_t k_stride, size_t queries, const float *coef, size_t panels,
               size_t width, float *out, size_t out_stride) {
    lm_simd_get()->sums->expand(k, k_stride, queries, coef, panels, width, out, out_stride);
}

void lm_exp2_biased(float *values, const float *bias, size_t n, float start) {
    lm_simd_get()->sums->exp2_biased(values, bias, n, start);
}
