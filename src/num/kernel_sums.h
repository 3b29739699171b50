/* kernel_sums.h: weighted sums of kernel values, which a kernel machine computes from the dot
 * products or distances of a query.
 *
 * The coefficients of the machine's vectors, in panels of sixteen, are blocks of sixteen: one for
 * each panel and sum in which some coefficient is not 0. */
#ifndef LIMN_NUM_KERNEL_SUMS_H
#define LIMN_NUM_KERNEL_SUMS_H

#include "num/pack.h"
#include "num/simd/simd.h"

/* Up to this many sums are "narrow", a faster case whose results may differ in the last bits. */
enum { LM_SUMS_NARROW = 4 };

/* For each query q < queries, with its kernel values at k + q * k_stride: out[q * out_stride + m] =
 * sum over the blocks b of sum m (lists->start[m] .. lists->start[m + 1] - 1), and lanes, of
 * k[panel[b] * LM_PANEL + lane] * coef[b * LM_PANEL + lane], m < width. The result does not depend
 * on the number of queries, bit for bit. */
void lm_kernel_sums(const float *k, size_t k_stride, size_t queries, const lm_sum_lists *lists,
                    size_t width, bool narrow, float *out, size_t out_stride);

/* values[i] <- 2^(values[i] + bias[i] + start): relative error of the power itself at most
 * LM_EXP2_ERROR; 0 where the exponent is below -125; exponents are at most 126. n is a multiple of
 * LM_PANEL. */
#define LM_EXP2_ERROR 2.4e-7
void lm_exp2_biased(float *values, const float *bias, size_t n, float start);
/* lm_pack_query (LM_DOT) and lm_exp2_biased in one pass for one query, bit for bit the same; bias
 * starts at panel first. d is below LM_DOT_EXP2_D. */
enum { LM_DOT_EXP2_D = 48 };
void lm_dot_exp2(const lm_pack *pack, size_t first, size_t count, const float *bias, const float *x,
                 float start, float *out);

#endif
