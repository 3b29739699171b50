/* svm.h: support vector machines, trained by libsvm or read from LIBSVM's text models, and
 * evaluated exactly on packed sets.
 *
 * C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", 2011. Training is
 * libsvm's; evaluation (svm/machine.h), probabilities (num/platt) and the search for C and gamma
 * (fit/select) are limn's own. Departures: probabilities are seeded and stratified; for limn's
 * own models the coupling of pairs is exact, while imported models repeat LIBSVM's iteration;
 * predict gives the most probable class when a model has probabilities, vote gives LIBSVM's rule.
 *
 * Imported models may know fewer features than a data file has (LIBSVM stores no dimension). The
 * squares of features beyond those of the model count in |x - s|^2; their sum is passed as one more
 * feature after the others (shape.beyond). */
#ifndef LIMN_METHODS_SVM_SVM_H
#define LIMN_METHODS_SVM_SVM_H

#include "fit/field.h"
#include "method.h"
#include "svm/machine.h"

enum { SVM_FILE_VERSION = 1 };

/* In the order of the choices in the parameter table; the types after auto are LIBSVM's. */
enum { SVM_TYPE_AUTO };

typedef struct sv_model {
    limn_task task;
    lm_svm svm;
    lm_machine machine;
    bool imported;
    size_t stride;   /* floats per row: one more than the features if it has that sum */
    int32_t *labels; /* imported: LIBSVM's numbers of the classes */
} sv_model;

/* Builds what queries need; the machine borrows model->svm. */
limn_status sv_prepare(limn_context *ctx, sv_model *model);
bool sv_has_proba(const sv_model *model);

limn_status sv_fit(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                   void **model);
void sv_destroy(const limn_allocator *mem, void *model);
limn_status sv_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status sv_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **model);
bool sv_recognise(const void *bytes, size_t size);
limn_status sv_import(limn_context *ctx, const char *name, const char *bytes, size_t size,
                      lm_foreign *about, void **model);
limn_status sv_widen(limn_context *ctx, void *model, size_t features);
limn_status sv_export(limn_context *ctx, const void *model, const int32_t *labels,
                      const uint32_t *keep, const char *path, limn_output *output);
void sv_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
const struct lm_machine *sv_machine(const void *model);
limn_status sv_field(limn_context *ctx, const void *model, size_t first, size_t second,
                     lm_field *out);
void sv_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void sv_vote(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void sv_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
void sv_values(const void *model, const float *x, size_t n, double *values, void *scratch);
size_t sv_score_count(const void *model);
void sv_scores(const void *model, const float *x, size_t n, double *scores, void *scratch);
unsigned sv_lacks(const void *model);
void sv_stats(const void *model, lm_stats *stats);

#endif
