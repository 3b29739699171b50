/* metrics.h: figures of merit from answers and truth. Classes are 0..k-1; p is n x model_classes
 * (truths of model_classes and above are classes that the model does not know). */
#ifndef LIMN_EVAL_METRICS_H
#define LIMN_EVAL_METRICS_H

#include <stddef.h>
#include <stdint.h>

/* confusion[t * k + a] = rows of truth t answered a. */
void lm_confusion(const int32_t *truth, const int32_t *answer, size_t n, size_t k,
                  uint64_t *confusion);
double lm_accuracy(const uint64_t *confusion, size_t k);
/* Mean recall over the classes that occur in the truth. */
double lm_balanced_accuracy(const uint64_t *confusion, size_t k);
/* (H(truth) - H(truth | answer)) / H(truth); NaN when the truth has one class. */
double lm_uncertainty_coefficient(const uint64_t *confusion, size_t k);

/* Mean of -log p(truth), p clipped below at 1e-15. */
double lm_log_loss(const int32_t *truth, const double *p, size_t n, size_t model_classes);
/* Mean over rows of the sum over classes of (p - [truth])^2. */
double lm_brier(const int32_t *truth, const double *p, size_t n, size_t model_classes);
/* Expected calibration error: 15 equal bins of the top probability, |accuracy - confidence|
 * weighted by rows. */
double lm_ece(const int32_t *truth, const double *p, size_t n, size_t model_classes);

double lm_mae(const double *truth, const double *answer, size_t n);
double lm_rmse(const double *truth, const double *answer, size_t n);
/* 1 - residual / total sum of squares; NaN when the truth is constant. */
double lm_r2(const double *truth, const double *answer, size_t n);

#endif
