/* teacher.h: what a method sees of the model that it is drawn from. */
#ifndef LIMN_TEACHER_H
#define LIMN_TEACHER_H

#include "base/base.h"

struct lm_machine; /* svm/machine.h */
struct lm_field;   /* fit/field.h */

/* A model, or a function supplied by the caller, that the new model is drawn from. The method does
 * not know which. Rows are scaled, as the method sees its own. */
typedef struct lm_teacher {
    limn_task task;
    size_t d, classes;
    enum {
        LM_TEACHES_PAIRS,    /* decision values of pairs (0,1), (0,2), ...; above 0: the first */
        LM_TEACHES_PROBA,    /* probabilities of the classes */
        LM_TEACHES_DISTANCE, /* distances of the classes: smaller is nearer */
        LM_TEACHES_VALUE     /* a number; density: as lm_method.values gives it */
    } kind;
    size_t width; /* numbers per answer */
    /* The answers to n rows: n x width. Called from one thread at a time, the one that trains; it
     * spreads many rows over ctx->threads threads itself. */
    limn_status (*answer)(const struct lm_teacher *teacher, limn_context *ctx, const float *x,
                          size_t n, double *out);
    /* The decision between two classes as a field, with gradient; it borrows the teacher. NULL:
     * only the answers are known. fit/field.h makes a field of any teacher. */
    limn_status (*field)(const struct lm_teacher *teacher, limn_context *ctx, size_t first,
                         size_t second, struct lm_field *out);
    const struct lm_machine *machine; /* the packed support vector machine that teaches, or NULL */
    void *user;
} lm_teacher;

/* The place of the pair (first, second), first < second, among those of k classes. */
static inline size_t lm_pair_index(size_t k, size_t first, size_t second) {
    return first * (2 * k - first - 1) / 2 + second - first - 1;
}

#endif
