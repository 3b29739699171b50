/* quickselect.h: the k-th smallest of many numbers, without sorting them. */
#ifndef LIMN_BASE_QUICKSELECT_H
#define LIMN_BASE_QUICKSELECT_H

#include "base/base.h"

/* Moves the k-th smallest (from 0) of v[0..n) to v[k], with none larger before it and none smaller
 * after it. Pivots are drawn from rng, so that no input order is slow. No NaN; k < n. */
void lm_select_kth(lm_rng *rng, float *v, size_t n, size_t k);
void lm_select_kth_double(lm_rng *rng, double *v, size_t n, size_t k);

#endif
