/* lda.h: linear discriminant analysis: one linear score per class; the cheapest query there is.
 *
 * Gaussian classes with one covariance (divisor n: maximum likelihood), as in
 * fit/discriminant. */
#ifndef LIMN_METHODS_LDA_LDA_H
#define LIMN_METHODS_LDA_LDA_H

#include "method.h"
#include "num/pack.h"

enum { LDA_FILE_VERSION = 1 };

typedef struct lda_model {
    size_t d, classes;
    lm_pack weights;     /* classes x d */
    const double *bias;  /* classes */
    const float *centre; /* d; subtracted from a query first */
    bool owned;          /* false: the arrays belong to a mapped file */
} lda_model;

limn_status lda_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      void **model);
void lda_destroy(const limn_allocator *mem, void *model);
limn_status lda_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status lda_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                     const lm_params *params, void **model);
void lda_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void lda_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void lda_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
void lda_stats(const void *model, lm_stats *stats);

#endif
