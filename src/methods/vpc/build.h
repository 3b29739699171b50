/* build.h: trees while they are being grown. Private to vpc. */
#ifndef LIMN_METHODS_VPC_BUILD_H
#define LIMN_METHODS_VPC_BUILD_H

#include "methods/vpc/vpc.h"

/* What all nodes of all trees share. */
typedef struct vpc_plan {
    const lm_train_set *set;
    size_t d;
    uint64_t seed, stream;
    vpc_style style;
    vpc_metric metric;
    vpc_distance distance;
    double gamma;               /* a node is a leaf if its error is at most this */
    size_t candidates, samples; /* pivots tried, and rows to judge them by */
    bool keep_all;              /* every node keeps its discriminant */
    bool centres;               /* leaves keep the mean of their rows */
    lm_pair_distance *pair;
} vpc_plan;

/* The discriminant of a node: one score per class that occurs in it. */
typedef struct vpc_fit {
    size_t classes;
    int32_t *name;  /* ascending */
    float *weights; /* classes x d; NULL if there is only one class */
    float *bias;
    double error; /* as a share of the node's rows */
} vpc_fit;

/* What a node passes on to its halves; see fit.c. */
typedef struct vpc_parent {
    double *covariance; /* d x d */
    double *prior;      /* of each class of the set */
} vpc_parent;

typedef struct vpc_grown {
    struct vpc_grown *near, *far; /* both, or neither: a leaf */
    vpc_fit fit;                  /* of a leaf, or of every node if all are kept */
    uint32_t pivot;               /* row */
    double mu;
    size_t n;
    float *centre; /* mean of a leaf's rows; only for vote=centroid */
} vpc_grown;

/* ---- fit.c ---- */

/* Fits the rows (count of them, ascending). parent: NULL at the root. own receives what to pass on
 * (forest only; NULL: not wanted). */
limn_status vpc_fit_node(limn_context *ctx, const vpc_plan *plan, const uint32_t *rows,
                         size_t count, const vpc_parent *parent, vpc_parent *own, vpc_fit *fit);
void vpc_fit_free(const limn_allocator *mem, vpc_fit *fit);
void vpc_parent_free(const limn_allocator *mem, vpc_parent *parent);
/* The best class of x, as an index into fit->name. */
size_t vpc_fit_class(const vpc_fit *fit, size_t d, const float *x);

/* ---- split.c ---- */

/* Chooses the pivot of a node and halves its rows: they are reordered as near (including the
 * pivot), then far; *near rows are near. *near == 0: all rows are at the same point. path: a number
 * unique to the node. */
limn_status vpc_split(limn_context *ctx, const vpc_plan *plan, uint64_t path, uint32_t *rows,
                      size_t count, uint32_t *pivot, double *mu, size_t *near);

/* ---- grow.c ---- */

/* All trees over the given rows (ascending). Free each root and the list, also after a failure. */
limn_status vpc_grow(limn_context *ctx, const vpc_plan *plan, size_t trees, const uint32_t *rows,
                     size_t count, vpc_grown ***roots);
void vpc_grown_free(const limn_allocator *mem, vpc_grown *root);

/* ---- choose.c ---- */

/* Replaces *gamma and *rho, whichever is wanted, with the best values of their grids. */
limn_status vpc_choose(limn_context *ctx, const vpc_plan *plan, size_t trees, bool auto_gamma,
                       bool auto_radius, double *gamma, double *rho);

#endif
