/* shrink.h: what drawing a tree from a support vector machine is made of. */
#ifndef LIMN_METHODS_PTREE_SHRINK_H
#define LIMN_METHODS_PTREE_SHRINK_H

#include "methods/ptree/ptree.h"
#include "svm/machine.h"

/* What trees of one teacher share. */
typedef struct pt_shared {
    size_t n;
    size_t *order; /* rows, shuffled */
    double *f;     /* of each of them, by the machine */
} pt_shared;

/* A tree while it is drawn. A place is an index into rows->order. */
typedef struct pt_draft {
    const lm_train_set *set;
    const lm_svm *svm;
    const pt_shared *rows;
    pt_model *m;
    size_t *place; /* leaf by leaf */
    size_t *start; /* of each leaf in place; rows->n + 1 */
    size_t *home;  /* the leaf of each support vector */
} pt_draft;

static inline const float *pt_draft_row(const pt_draft *t, size_t place) {
    return t->set->x + t->rows->order[place] * t->set->d;
}

/* The most vectors of a leaf. */
static inline size_t pt_draft_vectors(const pt_draft *t) {
    return t->m->o.budget < t->svm->n ? t->m->o.budget : t->svm->n;
}

/* ---- branch.c ---- */

/* Grows the tests, the places by leaf, and leaves without vectors. */
limn_status pt_branch(limn_context *ctx, pt_draft *t);

/* ---- omp.c ---- */

/* Chooses at most `most` of m candidates, the values of each over n rows being a row of phi, so
 * that a combination of them and a constant comes near the target. */
limn_status pt_greedy(limn_context *ctx, const double *phi, size_t m, size_t n,
                      const double *target, size_t most, size_t *chosen, size_t *count);

/* The equations of a ridge with a constant that costs nothing: n unknowns. */
typedef struct pt_normal {
    size_t n;
    double *gram;         /* n x n, the lower triangle */
    double *right, *mean; /* n each: sums of row times target, and of rows */
    double rows, sum;     /* how many; of targets */
} pt_normal;

limn_status pt_normal_make(limn_context *ctx, size_t n, pt_normal *e);
void pt_normal_free(const limn_allocator *mem, pt_normal *e);
void pt_normal_add(pt_normal *e, const double *row, double target);
/* room: n x n. False: nothing can be said with this lambda. */
bool pt_normal_solve(const pt_normal *e, double lambda, double *room, double *coef, double *bias);

#endif
