/* hull.h: each class is a convex set around its samples; a query goes to the nearest set.
 *
 * H. Cevikalp, B. Triggs, R. Polikar, "Nearest hyperdisk methods for high-dimensional
 * classification", ICML 2008. Five methods share this folder:
 *
 *   nah  affine hull      e^2 = |w|^2 - |t|^2
 *   nhd  hyperdisk        e^2 + max(|t - t_c| - r, 0)^2
 *   nch  convex hull      min |x - sum a_i x_i|^2,  sum a = 1,  a >= 0
 *   nsc  sphere's centre  |x - s|^2
 *   nrh  ridge hull       e^2 + sum_j t_j^2 lambda / (s_j^2 + lambda)
 *
 * with w = x - mu, mu the mean of the class's n samples, s_j and the rows q_j of Q the singular
 * values and right vectors of the centred samples, t = Qw, (t_c, r) the sphere around the projected
 * samples and lambda = rho * mean(s_j^2) over the min(n - 1, d) possible directions.
 *
 * Each is linear or in the feature space of a kernel, separately for each class (the paper's Eq.
 * 7); global or local (from the k nearest samples of each class). Which code answers a query:
 *
 *   flat.c    linear, global: nah, nhd, nsc, nrh; the bounds of nch
 *   curved.c  kernel, global: nah, nhd, nsc, nrh
 *   convex.c  nch, global, linear or kernel
 *   local.c   all five from the k nearest samples
 *
 * Ties go to the nearer centre, then to the lowest class number. All decisions are exact to double
 * precision: floats propose, and what they cannot separate is measured again. */
#ifndef LIMN_METHODS_HULL_HULL_H
#define LIMN_METHODS_HULL_HULL_H

#include "method.h"
#include "num/kernel.h"
#include "num/nearest.h"
#include "num/pack.h"
#include "num/pack_double.h"

enum { HULL_FILE_VERSION = 1 };

typedef enum hull_kind { HULL_NAH, HULL_NHD, HULL_NCH, HULL_NSC, HULL_NRH } hull_kind;
typedef enum hull_dim { HULL_DIM_AUTO, HULL_DIM_FULL, HULL_DIM_GAP, HULL_DIM_GIVEN } hull_dim;

/* Distances that differ by less than this share of the largest squared centre distance tie. */
#define HULL_TIE 1e-12
/* The programs of nch stop at a gap of this share of the largest diagonal entry. */
#define HULL_GAP 1e-12
/* The same for soft spheres, whose radius needs less. */
#define HULL_SPHERE_GAP 1e-10
/* Squared distances in feature space below this share of the largest k(x, x) are noise. */
#define HULL_NOISE 1e-15

/* The parameters, and what training chose for those that are auto. */
typedef struct hull_options {
    hull_kind kind;
    uint64_t stream;   /* of random numbers */
    bool kernel_space; /* a kernel other than the linear one */
    lm_kernel kernel;
    bool auto_gamma, auto_rho;
    hull_dim dim_rule;
    size_t dim;       /* GIVEN, and AUTO once chosen; SIZE_MAX: all */
    double cut;       /* directions with s_j up to this share of s_1 are dropped */
    double nu;        /* of soft spheres; 0: hard */
    double rho;       /* of nrh */
    size_t neighbors; /* 0: global */
    double reject; /* share of rows like the training rows that may be answered unknown; 0: none */
    bool prune;
} hull_options;

/* ---- the model ---- */

/* Linear sets: per class a mean and some panels of basis rows, padded with zero rows. Queries are
 * relative to an origin near all data, so that one pass over all panels covers all classes. */
typedef struct hull_flat {
    const uint32_t *start; /* classes + 1: panels of the basis */
    lm_split basis;        /* d wide; nrh: each row is shortened so that only |t|^2 is needed */
    const float *origin;   /* d */
    const double *mean;    /* classes x d */
    lm_pack near_mean;     /* classes x d: means minus the origin */
    const double *offset;  /* per basis row: its product with the mean minus the origin */
    const double *centre;  /* t_c per basis row (0 in the padding); NULL: no spheres */
    const double *radius;  /* classes; with centre, and for nch, whose means are the centres */
    const double
        *slack; /* nch: classes: how far samples lie outside the span of the kept directions */
    /* The head: the coordinates on a few principal axes of all data, where most classes can be
     * ruled out at a fraction of the cost. axes 0: none. */
    size_t axes;
    lm_pack head;       /* axes x d */
    lm_pack head_basis; /* axes wide, panels as in start: orthonormal, spanning the projection */
    lm_pack head_mean;  /* classes x axes */
    const double *head_offset; /* per basis row: its product with the head mean */
    double *mean_norm;         /* classes: |near_mean|, derived on loading */
} hull_flat;

/* Sets in feature space, from the samples of each class (see below). */
typedef struct hull_curved {
    const uint32_t *start;   /* classes + 1: panels of directions of each class */
    const uint64_t *offset;  /* classes + 1: where the class's directions begin, in floats */
    const float *high, *low; /* V' of class c: directions x count[c] */
    const double *scale;     /* per direction: 1 / s_j (nrh: shortened) */
    const double *centre;    /* nhd */
    const double *radius;    /* nhd */
    const double *weight;    /* per sample: 1/n, or that of the sphere's centre (nsc) */
    const double *shift;     /* per sample: sum over i of weight_i k(x_i, .) */
    const double *constant;  /* classes: weight' K weight */
} hull_curved;

/* nch. Bounds come from model->flat (linear) or from the spheres here (kernel). */
typedef struct hull_convex {
    const float *shift;     /* linear: classes x d: what rows are relative to; NULL: kernel */
    const double *diagonal; /* per sample: G_ii */
    const double *weight;   /* kernel: per sample, of the hard sphere's centre */
    const double *constant; /* kernel: classes: weight' K weight */
    const double *radius;   /* kernel: classes: of the hard sphere */
} hull_convex;

typedef struct hull_model {
    hull_options options;
    size_t d, classes;
    double beta;   /* probabilities are softmax(-beta d^2) */
    double limit;  /* squared distances above it are unknown; INFINITY: none */
    double *noise; /* nch: classes: squared distances below it are 0; derived on loading */
    hull_flat flat;
    hull_curved curved;
    hull_convex convex;
    /* The samples of every class, each class starting a new panel: all methods except the flat
     * ones. */
    const uint64_t *count; /* classes: samples; NULL: none are kept */
    const uint32_t *first; /* classes + 1: panels */
    lm_pack samples;
    const float *norms;   /* local: squared, per sample */
    lm_nearest_set *near; /* local: one per class, derived on loading */
    /* kernel, global, derived on loading: |x_i - o|^2 per sample, and o: the mean of all samples
     * for rbf, where only differences matter, 0 for the others */
    double *square, *origin;
    size_t directions;                /* kept, in all classes */
    size_t panels;                    /* of all bases (flat) or directions (curved) */
    size_t sample_panels;             /* of all samples */
    size_t vector_floats;             /* curved: of high, and of low */
    bool owned;                       /* false: the arrays belong to a mapped file */
    size_t most_samples, most_places; /* of any class: samples, basis rows with padding */
} hull_model;

static inline bool hull_is_local(const hull_model *m) {
    return m->options.neighbors > 0;
}

static inline bool hull_has_flat(const hull_model *m) {
    return !hull_is_local(m) && !m->options.kernel_space;
}

static inline bool hull_has_curved(const hull_model *m) {
    return !hull_is_local(m) && m->options.kernel_space && m->options.kind != HULL_NCH;
}

static inline bool hull_has_convex(const hull_model *m) {
    return !hull_is_local(m) && m->options.kind == HULL_NCH;
}

/* An array of the model: its section, its address, its size and type. */
typedef struct hull_part {
    const char *name;
    const void **data;
    size_t count, size;
    enum { HULL_WHOLE, HULL_FLOATS, HULL_DOUBLES } type;
} hull_part;

enum { HULL_PARTS_MAX = 32 };

/* All arrays that a model of these sizes and options has; false on overflow. */
bool hull_list_parts(hull_model *m, hull_part *parts, size_t *count);
/* Allocates all of them, zeroed. */
limn_status hull_take_parts(limn_context *ctx, hull_model *m);

/* ---- answers ---- */

typedef struct hull_found {
    double d2;     /* squared distance from the set */
    double centre; /* squared distance from its centre, for ties */
} hull_found;

/* flat.c */
void hull_flat_scratch(const hull_model *m, size_t rows, lm_cursor *at);
/* found: n x classes, all exact enough to compare and print. */
void hull_flat_measure(const hull_model *m, const float *x, size_t n, hull_found *found,
                       void *scratch);
/* Only the class. Returns what was touched. */
lm_touched hull_flat_predict(const hull_model *m, const float *x, size_t n, int32_t *classes,
                             void *scratch);
/* Lower bounds of the squared distances of x from the sets of all classes; for nch. */
void hull_flat_bounds(const hull_model *m, const float *x, double *bounds, double *centres,
                      void *scratch);
limn_status hull_flat_prepare(limn_context *ctx, hull_model *m);

/* curved.c */
void hull_curved_scratch(const hull_model *m, lm_cursor *at);
void hull_curved_measure(const hull_model *m, const float *x, hull_found *found, void *scratch);
/* wide -= o; returns by how much products of samples with the result are too large. */
double hull_kernel_shift(const hull_model *m, double *wide);
/* Kernel values of x with all samples, and k(x, x). wide: d doubles. */
double hull_kernel_values(const hull_model *m, const float *x, double *values, double *wide);
limn_status hull_curved_prepare(limn_context *ctx, hull_model *m);

/* convex.c */
limn_status hull_convex_prepare(limn_context *ctx, hull_model *m);
void hull_convex_scratch(const hull_model *m, lm_cursor *at);
/* prune: only as exact as needed to name the class; the other classes are at least as far as
 * stated. Returns what was touched. */
lm_touched hull_convex_measure(const hull_model *m, const float *x, bool prune, hull_found *found,
                               void *scratch);

/* local.c */
void hull_local_scratch(const hull_model *m, lm_cursor *at);
void hull_local_measure(const hull_model *m, const float *x, hull_found *found, void *scratch);
limn_status hull_local_prepare(limn_context *ctx, hull_model *m);
/* For choosing: d^2 of x from class c without its sample `exclude` (SIZE_MAX: none), for each of
 * `count` dimensions (nah, nhd) or rho (nrh); one value for the other methods. */
void hull_local_grid(const hull_model *m, const float *x, size_t c, size_t exclude,
                     const double *grid, size_t count, double *d2, void *scratch);

/* fit.c: the position of the largest ratio of a singular value (or of squared ones) to the next,
 * among the first nine tenths of rank. */
size_t hull_gap(const double *s, size_t rank, bool squared);

/* query.c */
/* The nearest class, using the rules for ties. */
size_t hull_nearest(const hull_found *found, size_t classes);

void hull_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void hull_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void hull_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
size_t hull_score_count(const void *model);
void hull_scores(const void *model, const float *x, size_t n, double *scores, void *scratch);
void hull_stats(const void *model, lm_stats *stats);
void hull_touched(const void *model, const float *x, size_t n, lm_touched *sum, void *scratch);
unsigned hull_lacks(const void *model);

/* train.c, io.c */
void hull_configure(const lm_params *params, hull_options *options);
limn_status hull_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                       void **model);
void hull_destroy(const limn_allocator *mem, void *model);
limn_status hull_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status hull_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                      const lm_params *params, void **model);
/* Derives packed sets, largest sizes and norms from the arrays. */
limn_status hull_prepare(limn_context *ctx, hull_model *m);
limn_scale hull_scaling(const lm_params *params);

#endif
