/* field.h: the decision between two classes as a smooth function: value and gradient.
 *
 * A field has a value f(x), above 0 where the first class is favoured, and
 *
 *   r(x) = P(first | x) - P(second | x), in [-1, 1].
 *
 * f is r itself (neighbours, filters), or a decision value with P = 1 / (1 + exp(a f + b)), so that
 * r = -tanh((a f + b) / 2) and grad r = -(1 - r^2) (a / 2) grad f (support vector machines, kernel
 * densities, log odds). P. Mills, "Accelerating kernel classifiers through borders mapping", 2017;
 * the formula after its Eq. 29 lacks a / 2.
 *
 * Many points are evaluated at once, in pieces on ctx->threads threads; the results do not depend
 * on their number. */
#ifndef LIMN_FIT_FIELD_H
#define LIMN_FIT_FIELD_H

#include "base/scratch.h"
#include "num/nearest.h"
#include "num/platt.h"
#include "svm/machine.h"
#include "teacher.h"

enum { LM_FIELD_ROWS = 16 }; /* points per piece */

typedef struct lm_field {
    size_t d;
    bool is_r;              /* f is r */
    lm_sigmoid_fit sigmoid; /* else; a = 0: not known */
    bool smooth;            /* gradients are known in closed form */
    bool steps;             /* else: jumps are what matters, whatever f does between them */
    /* f, and unless it is NULL the gradient (n x d; only if smooth), of n <= LM_FIELD_ROWS points.
     * Pure. */
    void (*piece)(const struct lm_field *field, const float *x, size_t n, double *f,
                  double *gradient, void *scratch);
    void (*scratch)(const struct lm_field *field, lm_cursor *at);
    /* Instead of piece: f of n points, on the calling thread, which may fail. */
    limn_status (*ask)(const struct lm_field *field, limn_context *ctx, const float *x, size_t n,
                       double *f);
    double *asked; /* NULL, or points evaluated are counted here */
    /* If not smooth: the spread of each feature, for gradients from differences. Borrowed. */
    const double *spread;
    void *state;
    void (*destroy)(const limn_allocator *mem, void *state); /* NULL: nothing to free */
} lm_field;

void lm_field_free(const limn_allocator *mem, lm_field *field);
/* f of n points; gradient (n x d) may be NULL. Where there is no gradient (the field is constant
 * around a point) it is 0. */
limn_status lm_field_values(limn_context *ctx, const lm_field *field, const float *x, size_t n,
                            double *f, double *gradient);
/* r at f, and dr/df. */
double lm_field_r(const lm_field *field, double f, double *slope);
/* The f at which r is r0. */
double lm_field_level(const lm_field *field, double r0);
/* f at r0 = 0 for probabilities, distances or pairs of a row of a teacher's answers. */
double lm_field_of_answer(const lm_teacher *teacher, size_t first, size_t second,
                          const double *answer);

/* ---- the kinds of field ---- */

/* Of one function of a machine, which is borrowed. The sigmoid is the machine's, if it has one. */
limn_status lm_field_machine(limn_context *ctx, const lm_machine *machine, size_t function,
                             lm_field *out);

/* Rows of two classes, those of the first class first. The fields below copy them. */
typedef struct lm_field_set {
    size_t n, first, d; /* rows; rows of the first class; features */
    float *x;           /* n x d */
    double *weight;     /* n; NULL: all 1 */
} lm_field_set;

/* The rows of classes first and second of a labelled pack; weight may be NULL. */
limn_status lm_field_set_take(limn_context *ctx, const lm_pack *pack, const int32_t *label,
                              const double *weight, int32_t first, int32_t second,
                              lm_field_set *out);
void lm_field_set_free(const limn_allocator *mem, lm_field_set *set);

/* An adaptive Gaussian filter over the k nearest rows whose weights add up to w. */
limn_status lm_field_agf(limn_context *ctx, const lm_field_set *set, double w, size_t k,
                         lm_field *out);
/* Kernel densities of fixed bandwidth: f is the log of their ratio. */
limn_status lm_field_kde(limn_context *ctx, const lm_field_set *set, double bandwidth,
                         lm_field *out);
/* The votes of the k nearest rows, of equal weight or by 1/distance. Not smooth; the caller sets
 * spread. */
limn_status lm_field_knn(limn_context *ctx, const lm_field_set *set, size_t k,
                         lm_nearest_metric metric, bool by_distance, lm_field *out);
/* Whatever the teacher is; spread (d) is borrowed. */
limn_status lm_field_teacher(limn_context *ctx, const lm_teacher *teacher, size_t first,
                             size_t second, const double *spread, lm_field *out);

/* ---- gradient.c ---- */

/* The gradients of a field that is not smooth, from differences of its values. */
limn_status lm_field_differences(limn_context *ctx, const lm_field *field, const float *x, size_t n,
                                 double *gradient);

#endif
