/* discriminant.h: linear class scores from class means and a common covariance.
 *
 *   g_c(x) = w_c . (x - centre) + b_c,   w_c = A (m_c - centre),
 *   b_c = -(m_c - centre)' A (m_c - centre) / 2 + log prior_c,   A = inverse of the covariance
 *
 * Up to a term shared by all classes this is the log posterior of Gaussian classes with one common
 * covariance. Any centre gives the same answers; one near the data loses the fewest digits. */
#ifndef LIMN_FIT_DISCRIMINANT_H
#define LIMN_FIT_DISCRIMINANT_H

#include "base/base.h"

/* Rows of class c have label c < classes; every class has at least one row. */
typedef struct lm_moments {
    size_t n, d, classes;
    const double *weight; /* of each row, positive; NULL: all 1. Borrowed. */
    size_t *count;        /* rows per class */
    double *mass;         /* their weight */
    double *mean;         /* classes x d, weighted */
} lm_moments;

limn_status lm_moments_fit(limn_context *ctx, const float *x, const int32_t *label,
                           const double *weight, size_t n, size_t d, size_t classes,
                           lm_moments *out);
void lm_moments_free(const limn_allocator *mem, lm_moments *moments);

/* The within-class covariance (d x d): the sum over classes of share_c times the scatter of class c
 * about its mean. share_c = prior_c / mass_c gives the maximum-likelihood estimate;
 * 1 / (n - classes) for all gives the unbiased one. */
limn_status lm_covariance(limn_context *ctx, const float *x, const int32_t *label,
                          const lm_moments *moments, const double *share, double *covariance);
/* (1 - share) covariance + share * (mean variance) I. */
void lm_shrink(double *covariance, size_t d, double share);
/* Scales each class to unit variances, shrinks it by the share of Ledoit and Wolf (2004), scales it
 * back, and adds it with weight prior_c. */
limn_status lm_covariance_auto(limn_context *ctx, const float *x, const int32_t *label,
                               const lm_moments *moments, const double *prior, double *covariance);

/* weights: classes x d, bias: classes. Destroys covariance. */
limn_status lm_discriminant(limn_context *ctx, const lm_moments *moments, double *covariance,
                            const double *log_prior, const float *centre, double *weights,
                            double *bias);

#endif
