/* fit.h: the set of one class in double, as training makes it, and distances from it. */
#ifndef LIMN_METHODS_HULL_FIT_H
#define LIMN_METHODS_HULL_FIT_H

#include "methods/hull/hull.h"

/* What all fits of one training run share. */
typedef struct hull_space {
    const float *x; /* rows of d features */
    size_t d;
    const hull_options *options;
} hull_space;

/* Rows of one class, their mean and their principal directions. nsc and nch need no directions:
 * their coordinates are those of the space itself, centred (linear), or there is only gram
 * (kernel). */
typedef struct hull_fit {
    const hull_space *space;
    const uint32_t *rows; /* n, borrowed */
    size_t n;
    size_t rank;      /* directions found, at most as many as were wanted */
    size_t possible;  /* most directions that can exist */
    double trace;     /* sum of all s_j^2 */
    double *mean;     /* linear: d */
    double *basis;    /* linear: rank x d; NULL: the axes */
    double *vectors;  /* kernel: rank x n */
    double *s;        /* rank, descending */
    double *coord;    /* n x rank: the samples */
    double *gram;     /* kernel, nsc and nch: n x n */
    double *diagonal; /* kernel: n: k(x_i, x_i) */
    double *shift;    /* kernel: n: mean over i of k(x_i, .) */
    double constant;  /* kernel: mean of them */
} hull_fit;

/* Memory for a x b doubles, at least one; NULL if out of memory. */
double *hull_doubles(limn_context *ctx, size_t a, size_t b);

/* most: directions wanted. On failure fit is empty. */
limn_status hull_fit_make(limn_context *ctx, const hull_space *space, const uint32_t *rows,
                          size_t n, size_t most, hull_fit *fit);
void hull_fit_free(const limn_allocator *mem, hull_fit *fit);
/* The number of directions that the rule keeps (gap: all that were kept). */
size_t hull_fit_dim(const hull_fit *fit, const hull_options *options);

/* The sphere around the samples in their first p coordinates (nsc, nch: in all of them). */
typedef struct hull_ball {
    size_t p;
    double radius;
    double *weight; /* n: of the centre */
    double *centre; /* p; NULL if there is only gram */
    double square;  /* kernel, nsc and nch: weight' K weight */
} hull_ball;

/* nu 0: hard. */
limn_status hull_ball_make(limn_context *ctx, const hull_fit *fit, size_t p, double nu,
                           hull_ball *ball);
void hull_ball_free(const limn_allocator *mem, hull_ball *ball);

/* k(rows[i], samples of the fit): count x n; self, unless NULL: k(rows[i], rows[i]). */
limn_status hull_kernel_block(limn_context *ctx, const hull_fit *fit, const uint32_t *rows,
                              size_t count, double *out, double *self);

/* Kernel values up to here can be squared; the error message for larger ones. */
#define HULL_KERNEL_MOST 1e150
limn_status hull_refuse_kernel(limn_context *ctx);

/* lambda / rho of nrh. */
double hull_fit_ridge(const hull_fit *fit);

/* The values that distances are computed for. */
typedef struct hull_grid {
    size_t count;     /* 1 or more */
    const double *at; /* dimensions (nah, nhd) or rho (nrh) */
} hull_grid;

/* d2[i * grid->count + g]: squared distance of row rows[i] for each grid point. balls: one per grid
 * point (nhd), or one (nsc), or NULL. */
limn_status hull_fit_measure(limn_context *ctx, const hull_fit *fit, const hull_ball *balls,
                             const hull_grid *grid, const uint32_t *rows, size_t count, double *d2);
/* The same for sample i of the fit itself, with that sample left out (nrh, closed form). */
void hull_fit_leave_one_out(const hull_fit *fit, size_t i, const hull_grid *grid, double *d2);

/* choose.c: everything that training chooses by leaving rows out: dim or rho, beta, and the
 * distance beyond which rows are unknown. fits: one per class, with as many directions as may be
 * needed. */
limn_status hull_choose(limn_context *ctx, const hull_space *space, size_t classes,
                        const hull_fit *fits, hull_options *options, hull_model *m);
/* The most directions that the choice may need; largest: rows of the largest class. */
size_t hull_most_dim(const hull_options *options, size_t d, size_t largest);
/* The same for local methods; m is complete except for these. */
limn_status hull_choose_local(limn_context *ctx, hull_model *m);

#endif
