/* agf.h: two classifiers that sum a Gaussian kernel over the training rows: agf, whose bandwidth
 * adapts to each query, and kde, whose bandwidth is fixed.
 *
 * P. Mills, "Accelerating kernel classifiers through borders mapping", 2017, Sec. 2.1. With K_i =
 * exp(-d_i^2 / (2 s^2)), d_i the distance of row i from the query and w_i its weight,
 *
 *   P(c | x) = sum over the rows of class c of w_i K_i / sum over all rows     (Eq. 4 prints
 * argmin) value(x) = sum w_i K_i y_i / sum w_i K_i                                   agf only
 *   density  = sum K_i / (n (2 pi s^2)^(d/2))
 *
 * kde: s is the parameter bandwidth. agf: s is such that sum K_i = W (fit/bandwidth.h), so that it
 * is small where rows are dense; only the k nearest rows count, by default 20 W of them, since the
 * weight of the others is negligible. The bandwidth of agf goes by distances alone, not by the
 * weights of rows. W=auto and bandwidth=auto are chosen by leaving rows out (choose.c).
 *
 * Distances are exact in double (num/nearest), or computed in double from packed products; for kde
 * only the exponential is a float's, so that its K_i are right to 2e-6. */
#ifndef LIMN_METHODS_AGF_AGF_H
#define LIMN_METHODS_AGF_AGF_H

#include "fit/field.h"
#include "method.h"
#include "num/nearest.h"

enum { AGF_FILE_VERSION = 1 };
/* Of W and the bandwidth: neither squares nor kernel values vanish. */
#define AGF_SMALLEST 1e-100
#define AGF_MOST_W 1e6
#define AGF_MOST_BANDWIDTH 1e100 /* of a file; auto goes by the spread, up to that of floats */

typedef struct agf_model {
    bool fixed; /* kde */
    limn_task task;
    size_t classes;
    double w;         /* agf */
    size_t k;         /* agf: at most n */
    double bandwidth; /* kde */
    /* agf: the least squared bandwidth of a density; where many rows are equal it would be infinite
     */
    double least_s2;
    lm_nearest_set set;
    const int32_t *label;        /* classify */
    const double *target;        /* regress */
    const double *weight;        /* NULL: all 1 */
    const double *centre, *norm; /* kde: of lm_pack_centre */
    bool owned;                  /* false: the arrays belong to a mapped file */
} agf_model;

/* Whether the parameters are those of kde. */
bool agf_is_fixed(const lm_params *params);
/* What is left of k=auto and a k beyond n. */
size_t agf_neighbors(const lm_params *params, double w, size_t n);

/* ---- choose.c ---- */

/* Sets w or bandwidth to the value with the least loss of rows that are left out one by one. */
limn_status agf_choose(limn_context *ctx, const lm_params *params, agf_model *model);

/* ---- query.c ---- */

/* log of the density, less what all queries share, from s^2 and the log of the sum of the K_i. */
double agf_log_density(const agf_model *model, double log_sum, double s2, size_t rows);

limn_status agf_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      void **model);
void agf_destroy(const limn_allocator *mem, void *model);
limn_status agf_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status agf_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                     const lm_params *params, void **model);
void agf_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void agf_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void agf_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
void agf_values(const void *model, const float *x, size_t n, double *values, void *scratch);
void agf_stats(const void *model, lm_stats *stats);
limn_status agf_field(limn_context *ctx, const void *model, size_t first, size_t second,
                      lm_field *out);

#endif
