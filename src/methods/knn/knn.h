/* knn.h: k nearest neighbours by an exact scan: the baseline, and the reference of the tests.
 *
 * Answers are exact: the k rows with the smallest distances in double precision, ties go to the
 * lowest row, regardless of the instruction set and the number of queries per call. See
 * num/nearest.h. */
#ifndef LIMN_METHODS_KNN_KNN_H
#define LIMN_METHODS_KNN_KNN_H

#include "fit/field.h"
#include "method.h"
#include "num/nearest.h"

enum { KNN_FILE_VERSION = 1 };

/* In the order of the choices in the parameter table, which is that of lm_nearest_metric. */
typedef enum knn_weights { KNN_UNIFORM, KNN_DISTANCE } knn_weights;

typedef struct knn_model {
    limn_task task;
    size_t classes;
    size_t k; /* at most set.pack.n */
    knn_weights weights;
    lm_nearest_set set;   /* norms NULL for l1 */
    const int32_t *label; /* classify */
    const double *target; /* regress */
    const double *weight; /* of each row's vote; NULL: all 1 */
    bool owned;           /* false: the arrays belong to a mapped file */
} knn_model;

/* Sets what the parameters and norms determine. */
void knn_configure(knn_model *model, const lm_params *params);

limn_scale knn_scaling(const lm_params *params);
limn_status knn_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      void **model);
void knn_destroy(const limn_allocator *mem, void *model);
limn_status knn_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status knn_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                     const lm_params *params, void **model);
void knn_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void knn_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void knn_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
void knn_values(const void *model, const float *x, size_t n, double *values, void *scratch);
void knn_search(const void *model, const float *x, size_t n, size_t k, int64_t *rows,
                double *distances, void *scratch);
void knn_stats(const void *model, lm_stats *stats);
limn_status knn_field(limn_context *ctx, const void *model, size_t first, size_t second,
                      lm_field *out);
void knn_stored(const void *model, size_t first, size_t n, float *x);

#endif
