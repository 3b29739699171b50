/* expand.h: weighted sums of kernel values: what a kernel machine does with a query once the packed
 * set has given dot products or distances. */
#ifndef LIMN_NUM_EXPAND_H
#define LIMN_NUM_EXPAND_H

#include "num/pack.h"

/* The most sums that one call makes. */
enum { LM_EXPAND_WIDTH = 12 };

/* For each query q < queries, with its kernel values at k + q * k_stride (panels * LM_PANEL of
 * them): out[q * out_stride + m] = sum over panels and lanes of k[panel * LM_PANEL + lane] *
 * coef[(panel * width + m) * LM_PANEL + lane], m < width, 1 <= width <= LM_EXPAND_WIDTH. The bits
 * of a sum do not depend on the number of queries. */
void lm_expand(const float *k, size_t k_stride, size_t queries, const float *coef, size_t panels,
               size_t width, float *out, size_t out_stride);

/* values[i] <- 2^(values[i] + bias[i] + start): relative error of the power itself at most
 * LM_EXP2_ERROR; 0 where the exponent is below -125; exponents are at most 126. n is a multiple of
 * LM_PANEL. */
#define LM_EXP2_ERROR 1.7e-7
void lm_exp2_biased(float *values, const float *bias, size_t n, float start);

#endif
