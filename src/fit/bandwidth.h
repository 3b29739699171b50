/* bandwidth.h: the weights of an adaptive Gaussian filter: exp(-d_i^2 / (2 s^2)), with the
 * bandwidth s such that they add up to W. */
#ifndef LIMN_FIT_BANDWIDTH_H
#define LIMN_FIT_BANDWIDTH_H

#include "base/heap.h"

/* near: count > 0 rows in ascending order of their keys, the squared distances. weight (count)
 * receives their weights; returns s^2. W is at most half of count: few rows give little more than
 * their mean if all of them must count. If at least W rows are at distance 0, s^2 is 0, these rows
 * have weight 1 and all others 0. */
double lm_agf_weights(const lm_ranked *near, size_t count, double w, double *weight);
/* The W that lm_agf_weights takes. */
static inline double lm_agf_w(double w, size_t count) {
    return w < (double)count / 2 ? w : (double)count / 2;
}

#endif
