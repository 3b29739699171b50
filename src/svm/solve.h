/* solve.h: many small training problems over the same rows, solved by libsvm on threads. */
#ifndef LIMN_SVM_SOLVE_H
#define LIMN_SVM_SOLVE_H

#include "svm/svm.h"

/* The rows in libsvm's sparse form, shared by all problems. */
typedef struct lm_svm_rows lm_svm_rows;

limn_status lm_svm_rows_new(limn_context *ctx, const float *x, size_t n, size_t d,
                            lm_svm_rows **out);
void lm_svm_rows_free(lm_svm_rows *rows); /* NULL is allowed */

/* One problem: a decision between y = +1 and y = -1 (the rows of +1 first), a regression on y, or
 * the support of all rows. */
typedef struct lm_svm_part {
    const uint32_t *row; /* n of them */
    const double *y;     /* n */
    size_t n;
    double weight[2]; /* of C for y = +1 and y = -1 */
    double *coef;     /* out: n, 0 where a row is not a support vector */
    double rho;       /* out */
} lm_svm_part;

/* Solves them all, on ctx->threads threads. Deterministic. Progress is reported as stage. */
limn_status lm_svm_solve(limn_context *ctx, const lm_svm_rows *rows, const lm_svm_options *options,
                         lm_svm_part *parts, size_t count, const char *stage);

#endif
