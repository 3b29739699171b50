/* gradients.h: in which directions labels or targets change: the average outer product of the
 * gradients of a kernel ridge regression. */
#ifndef LIMN_SCALE_GRADIENTS_H
#define LIMN_SCALE_GRADIENTS_H

#include "base/base.h"

typedef struct lm_regression {
    const float *x; /* n x d, of mean 0 and mean squared deviation 1 */
    size_t n, d;
    const double *y; /* count rows of n: what is regressed on, each of mean 0 */
    size_t count;
} lm_regression;

/* m (d x d, symmetric, of trace d) <- the average outer product of the gradients of the regression
 * on the rows x L. weight: L is the diagonal matrix of these d numbers; NULL: the identity.
 *
 * diagonal: m has only d numbers, the diagonal of that matrix, with mean 1.
 *
 * All 0 where the rows are all the same or nothing depends on them. */
limn_status lm_gradients(limn_context *ctx, const lm_regression *r, const double *weight,
                         bool diagonal, double *m);

#endif
