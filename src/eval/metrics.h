/* metrics.h: quality measures from answers and true values. Classes are 0..k-1. */
#ifndef LIMN_EVAL_METRICS_H
#define LIMN_EVAL_METRICS_H

#include <stddef.h>
#include <stdint.h>

/* confusion[t * k + a] = number of rows of class t that were answered a. */
void lm_confusion(const int32_t *truth, const int32_t *answer, size_t n, size_t k,
                  uint64_t *confusion);
double lm_accuracy(const uint64_t *confusion, size_t k);
/* Mean recall over the classes that occur among the true ones. */
double lm_balanced_accuracy(const uint64_t *confusion, size_t k);
/* (H(truth) - H(truth | answer)) / H(truth); NaN if the truth has only one class. */
double lm_uncertainty_coefficient(const uint64_t *confusion, size_t k);

/* Sums for the measures of probabilities, over any number of blocks of rows. Start with zeros. */
enum { LM_ECE_BINS = 15 };
typedef struct lm_proba_sums {
    size_t n;
    double log, brier;
    double confidence[LM_ECE_BINS], right[LM_ECE_BINS];
} lm_proba_sums;

/* p is n x model_classes; true classes of model_classes and above are ones that the model does not
 * know. */
void lm_proba_add(lm_proba_sums *sums, const int32_t *truth, const double *p, size_t n,
                  size_t model_classes);
/* Mean of -log p(truth), p clipped below at 1e-15. */
double lm_log_loss(const lm_proba_sums *sums);
/* Mean over rows of the sum over classes of (p - [truth])^2. */
double lm_brier(const lm_proba_sums *sums);
/* Expected calibration error: 15 bins of equal width of the top probability, |accuracy -
 * confidence| weighted by rows. */
double lm_ece(const lm_proba_sums *sums);

/* -INFINITY if any value is, and none is INFINITY or NAN. */
double lm_mean(const double *values, size_t n);
double lm_mae(const double *truth, const double *answer, size_t n);
double lm_rmse(const double *truth, const double *answer, size_t n);
/* 1 - residual / total sum of squares; NaN if the truth is constant. */
double lm_r2(const double *truth, const double *answer, size_t n);

#endif
