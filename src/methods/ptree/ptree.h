/* ptree.h: perceptron trees (A. Ukkonen and M. Arias, "Example-dependent basis vector selection for
 * kernel-based classifiers", ECML 2010), and the budgeted kernel perceptrons that they are compared
 * with. docs/methods/ptree.md says what the paper leaves open and what is different here.
 *
 * A kernel perceptron keeps the rows that it was wrong about. When a leaf of the tree has more than
 * B of them it is split: a cheap test sends each row left or right, and each side keeps a part of
 * the vectors. A query pays one test per level and at most B kernels. Online: one row at a time.
 *
 * A perceptron, stoptron, forgetron or projectron is a tree that is never split.
 *
 * Notation: B budget, C vectors that a side keeps, R rows remembered, A coefficients, U their
 * drift, t rows that came to a leaf since its coefficients began (fit/expansion.h). f: the outputs
 * of a leaf; two classes have one output (above 0: class 0), more have one per class.
 *
 * Everything depends only on the rows in their order, the seed and the parameters, not on the
 * number of threads or on how the rows were divided into lessons. */
#ifndef LIMN_METHODS_PTREE_PTREE_H
#define LIMN_METHODS_PTREE_PTREE_H

#include "fit/expansion.h"
#include "method.h"
#include "num/rows.h"

enum { PT_FILE_VERSION = 1, PT_DEPTH_MOST = 64 };

/* ---- options ---- */

typedef enum pt_rule { PT_TREE, PT_PERCEPTRON, PT_STOPTRON, PT_FORGETRON, PT_PROJECTRON } pt_rule;
enum { PT_RULES = PT_PROJECTRON + 1 };
extern const char *const pt_names[PT_RULES]; /* of the methods */
/* In the order of the choices in the parameter tables. */
typedef enum pt_split { PT_WPQ, PT_ZPQ, PT_RNDW, PT_PCA, PT_BAL, PT_ENT } pt_split;
typedef enum pt_select { PT_OPTS, PT_INDS, PT_RNDS } pt_select;

typedef struct pt_options {
    pt_rule rule;
    lm_kernel kernel;
    bool find_gamma;
    pt_split split;
    pt_select select;
    bool paper;       /* rows of length 1 in tests, costs that are not centred, random rounding */
    size_t budget;    /* B; SIZE_MAX: none */
    size_t kept;      /* C */
    size_t reservoir; /* R; SIZE_MAX: all rows */
    size_t depth;     /* of the deepest leaf */
    size_t patience;  /* rows per vector that a leaf sees before it is split */
    bool average, plus;
    double refit, project, margin; /* refit, project 0: no */
    bool finish;
    size_t epochs;
    bool shuffle;
    uint64_t stream; /* of random numbers */
} pt_options;

/* ---- the model ---- */

/* A test. With w: left if w.x > threshold (times |x| in the paper's style). With side: the side of
 * the nearest row of pack. Else: left if K(x, the one row of pack) <= threshold. A child below 0 is
 * leaf -1 - child. */
typedef struct pt_node {
    int32_t child[2]; /* left, right */
    double threshold;
    float *w; /* stride floats */
    lm_pack pack;
    uint8_t *side; /* 0: left */
    bool owned;
} pt_node;

typedef struct pt_leaf {
    lm_expansion e;
    uint32_t level; /* of the root: 0 */
    int32_t parent; /* the node above; -1: none */
    uint64_t seen;  /* rows that the remembered ones are a sample of */
    uint64_t wait;  /* mistakes until a split is tried again */
    /* The rows remembered, while the leaf may still be split. kept_room 0: borrowed. */
    size_t kept, kept_room;
    float *kept_x; /* d each */
    int32_t *kept_label;
    uint64_t *count; /* rows per class */
    int32_t majority;
    double *bias; /* outputs: added to f */
} pt_leaf;

typedef struct pt_model {
    pt_options o;
    size_t d, classes, outputs;
    size_t stride;              /* d, padded */
    size_t nodes, leaves, room; /* room: leaves that there is memory for */
    pt_node *node;
    pt_leaf *leaf;
    size_t width;    /* floats for the values at any node or leaf */
    uint64_t steps;  /* rows learned, once per epoch */
    uint64_t seen;   /* rows that arrived */
    double wrong[2]; /* shares of errors of A and of its mean before each row; old ones fade */
    double *slope;   /* classes: probabilities are exp(slope f); 0: not known yet */
    double *bend;    /* classes: the curvature that the slopes were fitted with */
    double forgot, mistakes; /* forgetron: Q and M */
    uint64_t seed;
    double agreement; /* of a tree drawn from a machine: on rows held out; else -1 */
} pt_model;

/* What random numbers are drawn for. */
enum { PT_ORDER, PT_REMEMBER, PT_SPLIT, PT_SAMPLE };

static inline uint64_t pt_hash(const pt_model *m, uint64_t purpose, uint64_t step) {
    return lm_hash(lm_hash(m->seed, m->o.stream, purpose), step, 0);
}

static inline lm_rng pt_random(const pt_model *m, uint64_t purpose, uint64_t step) {
    return lm_rng_at(lm_hash(m->seed, m->o.stream, purpose), step, 0);
}

/* Whether the mean of the coefficients answers, and not the last ones: on rows in an unlucky order
 * the mean is worse. */
static inline bool pt_averages(const pt_model *m) {
    return m->o.average && m->wrong[1] <= m->wrong[0];
}

/* Whether a leaf of this level may still be split. */
static inline bool pt_may_split(const pt_options *o, uint32_t level) {
    return o->rule == PT_TREE && level < o->depth;
}

/* ---- leaf.c ---- */

void pt_leaf_free(const limn_allocator *mem, pt_leaf *leaf);
/* An empty leaf with room for some vectors and remembered rows. To be freed after a failure too. */
limn_status pt_leaf_make(limn_context *ctx, const pt_model *m, uint32_t level, size_t vectors,
                         size_t rows, pt_leaf *out);
/* A copy in memory of its own with room for one more vector and row. To be freed after a failure
 * too. */
limn_status pt_leaf_copy(limn_context *ctx, const pt_model *m, const pt_leaf *from, pt_leaf *out);
/* Memory of its own for one more remembered row. */
limn_status pt_leaf_reserve_row(limn_context *ctx, const pt_model *m, pt_leaf *leaf);
/* Counts a row and perhaps remembers it, if the leaf may be split; there is room. */
void pt_leaf_remember(const pt_model *m, pt_leaf *leaf, const float *x, int32_t label);
/* After coefficients and biases were fitted: cuts them to what files may hold, and averaging starts
 * anew. */
void pt_leaf_restart(const pt_model *m, pt_leaf *leaf);
void pt_leaf_count(pt_leaf *leaf, int32_t label);
/* Counts it and adds it to the rows remembered. */
void pt_leaf_keep(const pt_model *m, pt_leaf *leaf, const float *x, int32_t label);
/* The kernel rows of the tree; w and side too if they are owned. */
void pt_node_free(const limn_allocator *mem, pt_node *node);

/* ---- split.c, part.c, joint.c ---- */

/* A leaf that was split: a test and two leaves. */
typedef struct pt_fork {
    bool valid; /* false: there was no way to split it */
    pt_node node;
    pt_leaf leaf[2];
} pt_fork;

void pt_fork_free(const limn_allocator *mem, pt_fork *fork);
limn_status pt_split_leaf(limn_context *ctx, const pt_model *m, const pt_leaf *leaf, pt_fork *out);

/* What finding a split works on: n rows, m vectors, k outputs. */
typedef struct pt_cloud {
    size_t n, m, k, d, stride, most;
    bool paper;
    pt_split split;
    pt_select select;
    const lm_kernel *metric; /* the kernel */
    const lm_pack *pack;     /* m vectors */
    const float *x;          /* n x d */
    const int32_t *label;    /* n */
    size_t classes;
    const double *coef; /* m x k: A */
    double *kernel;     /* n x m */
    double *r;          /* n x k: f of each row */
    double *products;   /* m x m: A_i.A_j */
    double *pull;       /* n x m: K_ij A_j.r_i */
    double tolerance;
    lm_rng rng;
    /* The current split. */
    uint8_t *side;     /* n; 0: left */
    double *p[2];      /* m each: what the sides keep, 0..1 */
    uint8_t *keeps[2]; /* m each */
    pt_node node;
    /* Work space. */
    double *q, *w;    /* m x m, m: the program of one side */
    double *gradient; /* m */
    double *score;    /* n */
    double *cost[2];  /* n each */
    double *sum;      /* k + d */
    size_t *order;    /* n + m */
    float *padded;    /* stride, and a row of kernel values */
    uint8_t *trial;   /* n */
} pt_cloud;

limn_status pt_cloud_make(limn_context *ctx, const pt_model *m, const lm_expansion *e,
                          const float *x, const int32_t *label, size_t n, pt_cloud *c);
/* After r was changed. */
void pt_cloud_aim(pt_cloud *c);
void pt_cloud_free(const limn_allocator *mem, pt_cloud *c);
/* Divides n rows by their scores near the middle, between two different ones: those above the
 * threshold are 1 in side, the others 0. False: all are equal. order: n. */
bool pt_cut(const double *score, size_t n, size_t *order, uint8_t *side, double *threshold);
/* Finds the test and the sides, and for opts p; *found false: there is none. */
limn_status pt_partition(limn_context *ctx, pt_cloud *c, bool *found);
limn_status pt_joint(limn_context *ctx, pt_cloud *c, bool *found);
/* A large leaf takes seconds to split, and may be cancelled in the middle. */
static inline limn_status pt_split_progress(limn_context *ctx) {
    return lm_progress(ctx, "splitting a leaf", 0, 0, -1);
}
/* What selections cost each row: |sum_j p_j K_ij A_j - r_i|^2. */
void pt_costs(const pt_cloud *c, const double *p, double *cost);
/* Finds what one side keeps, c->p[s], given c->side, starting from what is there. */
void pt_solve(pt_cloud *c, int s);
/* The same by the way of the options, as c->keeps[s]. */
void pt_choose(pt_cloud *c, int s);
/* C different vectors at random, as numbers 0 and 1. */
void pt_draw(pt_cloud *c, double *p);
/* Sends rows by w.x, with w (d) as sum leaves it in c->sum + k; false: all scores are equal, or w
 * is 0. */
bool pt_cut_linear(pt_cloud *c);
/* The direction in which n rows (d floats each) vary most, of length 1; false: they do not. room:
 * 2 d. */
bool pt_principal(const float *x, size_t n, size_t d, double *direction, double *room);

/* ---- learn.c, rules.c ---- */

/* One row on its way through the model. */
typedef struct pt_row {
    const float *x; /* stride, zero-padded */
    const float *values;
    int32_t label;
    size_t leaf;
    const float *f[2]; /* by A and by its mean */
    float *room;       /* outputs: work space */
    int32_t said[2];   /* the answers */
    double margin;     /* of A */
    lm_step step;
} pt_row;

/* Room for one more leaf and node. */
limn_status pt_reserve_leaf(limn_context *ctx, pt_model *m);
/* Learns from outputs and the class they answered how sure such outputs are. */
void pt_fit_slope(pt_model *m, const float *f, size_t class, size_t label);
limn_status pt_learn(limn_context *ctx, void *model, const lm_lesson *lesson, size_t *learned);
limn_status pt_widen(limn_context *ctx, void *model, size_t classes);
/* Learns count rows of x (in the order given; NULL: as they are). wrong: adds up the errors of A
 * and its mean before each; or NULL. stage: of the progress. */
limn_status pt_pass(limn_context *ctx, pt_model *m, const lm_train_set *set, const size_t *order,
                    size_t count, const char *stage, double wrong[2]);
/* What the budgeted perceptrons do with a row. *changed: whether coefficients are others. */
limn_status pt_step_single(limn_context *ctx, pt_model *m, pt_leaf *leaf, const pt_row *row,
                           bool *changed);

/* ---- query.c ---- */

/* Copies a row, as tests and kernels need it: padded; for chi2 and intersection at least 0. */
void pt_take_row(const pt_model *m, const float *x, float *padded);
/* The leaf of a padded row; read: how many vectors the tests compared it with. values: width
 * floats. */
size_t pt_route(const pt_model *m, const float *x, float *values, size_t *read);
/* The side to which a test sends a padded row of this length (1 outside the paper's style). */
int pt_side(const lm_kernel *kernel, const pt_node *node, const float *x, size_t stride,
            double length, float *values);
/* |x|, or 1 for a row of zeros. */
double pt_length(const float *x, size_t d);
/* f of a leaf, from its kernel values, by A or its mean. */
void pt_outputs(const pt_model *m, const pt_leaf *leaf, bool mean, const float *values, float *f);
int32_t pt_winner(const pt_model *m, const pt_leaf *leaf, const float *f);
/* The floats that values need at a node or leaf, if that is more than *width. */
void pt_fit_width(size_t panels, size_t *width);
void pt_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void pt_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void pt_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
size_t pt_score_count(const void *model);
void pt_scores(const void *model, const float *x, size_t n, double *scores, void *scratch);
void pt_stats(const void *model, lm_stats *stats);
void pt_touched(const void *model, const float *x, size_t n, lm_touched *sum, void *scratch);

/* ---- train.c, gamma.c, finish.c, shrink.c, io.c ---- */

pt_options pt_options_of(const lm_params *params);
limn_status pt_check(limn_context *ctx, limn_task task, const lm_params *params);
limn_scale pt_scaling(const lm_params *params);
/* A model that has learned nothing. */
limn_status pt_new(limn_context *ctx, const pt_options *o, size_t d, size_t classes,
                   pt_model **out);
limn_status pt_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **model);
void pt_destroy(const limn_allocator *mem, void *model);
limn_status pt_find_gamma(limn_context *ctx, const lm_train_set *set, const size_t *order,
                          pt_options *o);
/* Fits the coefficients of all leaves to the labels of the rows that come to them. */
limn_status pt_finish(limn_context *ctx, const lm_train_set *set, pt_model *m);
/* Draws the tree from set->teacher, a machine with two classes. */
limn_status pt_shrink(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      pt_model *m);
void pt_unshare(const limn_allocator *mem, void *shared);
bool pt_candidate(const lm_shape *shape, size_t index, lm_candidate *out);
limn_status pt_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status pt_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **model);

#endif
