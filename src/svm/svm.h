/* svm.h: a support vector machine as LIBSVM defines it: vectors, coefficients, thresholds.
 *
 *   f_p(x) = sum over the support vectors s of coef_ps K(s, x) - rho_p
 *
 * C-SVC and nu-SVC of k classes have one f for each pair (i, j), i < j, in the order (0,1), (0,2),
 * ..., (1,2), ...; f > 0 votes for i. The support vectors are grouped by class. Each has k - 1
 * coefficients: in the pair (i, j) a vector of class i uses row j - 1 and one of class j row i.
 * One-class machines (f > 0: inside) and the two regressions (f is the value) have one f and one
 * row. */
#ifndef LIMN_SVM_SVM_H
#define LIMN_SVM_SVM_H

#include "num/kernel.h"

/* In LIBSVM's order. */
typedef enum lm_svm_type {
    LM_C_SVC,
    LM_NU_SVC,
    LM_ONE_CLASS,
    LM_EPSILON_SVR,
    LM_NU_SVR
} lm_svm_type;

typedef struct lm_svm {
    lm_svm_type type;
    lm_kernel kernel;
    size_t classes;        /* k of the two SVCs, 1 or more; 2 for the others, as LIBSVM writes it */
    size_t d, n;           /* features, support vectors; n may be 0 */
    const uint64_t *count; /* SVC: support vectors of each class; NULL for the others */
    const float *sv;       /* n x d */
    const double *coef;    /* (classes - 1) x n */
    const double *rho;     /* lm_svm_functions() of them */
    const double *prob_a;  /* Platt's A per pair (SVC), sigma of the noise (SVR); NULL: none */
    const double *prob_b;  /* Platt's B per pair; NULL for all but SVC */
    const double *marks;   /* one-class: 10 density marks; NULL: none */
    bool owned; /* the arrays are from lm_alloc and freed with it; else they belong to a mapped file
                 */
} lm_svm;

static inline bool lm_svm_is_svc(lm_svm_type type) {
    return type == LM_C_SVC || type == LM_NU_SVC;
}

/* How many f there are: k (k - 1) / 2, or 1. */
static inline size_t lm_svm_functions(const lm_svm *svm) {
    return lm_svm_is_svc(svm->type) ? svm->classes * (svm->classes - 1) / 2 : 1;
}

/* Frees what is owned. */
void lm_svm_free(const limn_allocator *mem, lm_svm *svm);
/* A copy of what f needs: without probabilities and marks. To be freed after a failure too. */
limn_status lm_svm_copy(limn_context *ctx, const lm_svm *from, lm_svm *to);
/* Gives all vectors more features, which are 0; the arrays must be owned. LIMN_E_MODEL if they
 * would need more memory than the context's limit. On failure the machine stays as it was. */
limn_status lm_svm_widen(limn_context *ctx, lm_svm *svm, size_t d);
/* "c_svc", ... as in LIBSVM's files; NULL outside the enumeration. */
const char *lm_svm_type_name(lm_svm_type type);

/* ---- parse.c, write.c: LIBSVM's text models ---- */

enum { LM_SVM_MARKS = 10 };

/* Whether the bytes begin like such a model. */
bool lm_svm_is_text(const void *bytes, size_t size);
/* Parses a whole file (size bytes, name for messages). labels: LIBSVM's numbers of the classes,
 * svm->classes of them (free with lm_free); NULL for all but SVC. LIMN_E_MODEL with file and line
 * when it is not valid; unknown keys get a warning. */
limn_status lm_svm_parse(limn_context *ctx, const char *name, const char *bytes, size_t size,
                         lm_svm *svm, int32_t **labels);
/* Writes the file (atomically, "-" is standard output); labels: as above, NULL: 0, 1, 2, ... */
limn_status lm_svm_write(limn_context *ctx, const lm_svm *svm, const int32_t *labels,
                         const char *path);
/* The same to an open file, which is not committed. keep: the number, from 0, that each feature has
 * in the file, ascending; NULL: its own. path is for messages. */
limn_status lm_svm_put(limn_context *ctx, const lm_svm *svm, const int32_t *labels,
                       const uint32_t *keep, const char *path, limn_output *output);

/* ---- train.c: training by libsvm ---- */

typedef struct lm_svm_problem {
    size_t n, d, classes;
    const float *x;             /* n x d */
    const int32_t *label;       /* SVC: 0..classes-1 */
    const double *target;       /* SVR */
    const double *class_weight; /* SVC: C of class c is C * class_weight[c]; NULL: all 1 */
} lm_svm_problem;

typedef struct lm_svm_options {
    lm_svm_type type;
    lm_kernel kernel;
    double c, nu, epsilon, tolerance;
    double cache_mb;
    bool shrinking;
} lm_svm_options;

/* Deterministic. The calling thread reports progress and checks for cancellation several times per
 * second while others train. */
limn_status lm_svm_train(limn_context *ctx, const lm_svm_problem *problem,
                         const lm_svm_options *options, lm_svm *svm);

/* ---- calibrate.c ---- */

/* Gives the trained SVC its prob_a and prob_b: Platt's sigmoid of decision values of rows that were
 * left out, five stratified folds per pair, seeded by the context. */
limn_status lm_svm_calibrate(limn_context *ctx, const lm_svm_problem *problem,
                             const lm_svm_options *options, lm_svm *svm);

#endif
