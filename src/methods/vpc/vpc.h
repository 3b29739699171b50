/* vpc.h: vantage-point classification (H. Proenca and J. C. Neves): a tree halves the rows by their
 * distance to a pivot until a linear discriminant separates what is left. A query descends with a
 * tolerance R, and every leaf that it reaches votes.
 *
 * style=paper is the paper's tree, its contradictions resolved as docs/methods/vpc.md says.
 * style=forest (the default) has discriminants shrunk towards the parent's, pivots that spread the
 * distances, soft votes and several trees.
 *
 * Notation: mu the median distance of a node's rows to its pivot; near, far the two halves; R = rho
 * times the root's mu; r of a leaf: the smallest R for which a query reaches it:
 *
 *   r = max over its path of (d - mu on near turns, mu - d on far turns, 0) */
#ifndef LIMN_METHODS_VPC_VPC_H
#define LIMN_METHODS_VPC_VPC_H

#include "method.h"
#include "num/rows.h"

#include <string.h>

enum { VPC_FILE_VERSION = 1 };

/* In the order of the choices in the parameter table. */
typedef enum vpc_style { VPC_FOREST, VPC_PAPER } vpc_style;
typedef enum vpc_vote { VPC_COUNT, VPC_CENTROID } vpc_vote;
typedef enum vpc_metric { VPC_MAHALANOBIS, VPC_UNIT } vpc_metric;
typedef enum vpc_distance { VPC_L2, VPC_L1 } vpc_distance;

/* Nodes are in preorder: a node's children come after it. Distances are compared as the floats that
 * lm_pair_distance gives (squared for l2): near_max is the largest that goes near, far_min the
 * smallest that goes far, including the tolerance. */
typedef struct vpc_node {
    float near_max, far_min;
    int32_t near, far; /* a node, or ~leaf */
} vpc_node;

typedef struct vpc_leaf {
    uint32_t panel;   /* the first one; 0 if there is only one class */
    uint32_t classes; /* at least 1 */
    uint32_t first;   /* index of its first class in the list */
    uint32_t n;       /* rows */
} vpc_leaf;

typedef struct vpc_model {
    vpc_style style;
    vpc_vote vote;
    vpc_distance distance;
    double stop; /* share of the votes by which the leader must lead; above 1: never */
    size_t d, classes;
    size_t trees, nodes, leaves, panels, listed;
    const int32_t *root;    /* trees: a node, or ~leaf */
    const double *radius;   /* trees: R */
    const vpc_node *node;   /* nodes */
    const double *mu;       /* nodes */
    const float *pivot;     /* nodes x d */
    const vpc_leaf *leaf;   /* leaves */
    const int32_t *listing; /* classes of the leaves */
    const float *weights;   /* panels of d x 16 */
    const float *bias;      /* panels x 16 */
    const float *centre;    /* leaves x d: their means; only for vote=centroid */
    size_t depth;           /* nodes on the longest path */
    size_t widest;          /* panels of the largest leaf */
    double mean_pivots, mean_leaves, mean_rows; /* per query, measured on training rows */
    bool owned;
} vpc_model;

/* A distance as nodes compare it: rounded to 20 bits. Rows are floats, so distances that are equal
 * before scaling (of whole numbers, say) differ in their last bits afterwards; they must tie, or
 * the order of rows would be arbitrary. */
static inline float vpc_rounded(double distance) {
    float value = distance < 3.4e38 ? (float)distance : 3.4e38f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 8) & ~(uint32_t)15;
    memcpy(&value, &bits, sizeof value);
    return value;
}

limn_scale vpc_scaling(const lm_params *params);
limn_status vpc_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      void **model);
void vpc_destroy(const limn_allocator *mem, void *model);
limn_status vpc_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status vpc_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                     const lm_params *params, void **model);
void vpc_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void vpc_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void vpc_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
void vpc_stats(const void *model, lm_stats *stats);
void vpc_touched(const void *model, const float *x, size_t n, lm_touched *sum, void *scratch);
/* Sets what the parameters determine. */
void vpc_configure(vpc_model *model, const lm_params *params);
/* Measures the mean cost of a query on some of the rows. */
limn_status vpc_measure(limn_context *ctx, vpc_model *model, const float *x, size_t n);

#endif
