/* kernel_sums.c: calls through the table of the instruction set in use. */
#include "num/kernel_sums.h"

void lm_kernel_sums(const float *k, size_t k_stride, size_t queries, const lm_sum_lists *lists,
                    size_t width, bool narrow, float *out, size_t out_stride) {
    lm_simd_get()->sums->sum(k, k_stride, queries, lists, width, narrow, out, out_stride);
}

void lm_exp2_biased(float *values, const float *bias, size_t n, float start) {
    lm_simd_get()->sums->exp2_biased(values, bias, n, start);
}

void lm_dot_exp2(const lm_pack *pack, size_t first, size_t count, const float *bias, const float *x,
                 float start, float *out) {
    lm_simd_get()->sums->dot_exp2(pack->data + first * LM_PANEL * pack->d, bias, pack->d, count, x,
                                  start, out);
}
