/* qp.h: the quadratic programs of the hull methods: the nearest point of a convex hull, and the
 * smallest enclosing sphere, hard or soft.
 *
 *   minimise  1/2 a'Ga - q'a   over   sum a = 1,  0 <= a_i <= bound
 *
 * with G symmetric and positive semi-definite, and finite numbers. lm_qp_simplex and
 * lm_qp_sphere_run work in the caller's memory: they allocate nothing, take no lock and call
 * nothing that does, so that queries may use them; each thread has its own scratch. */
#ifndef LIMN_NUM_QP_QP_H
#define LIMN_NUM_QP_QP_H

#include "base/base.h"
#include "base/scratch.h"

/* ---- the matrix ---- */

/* G, by entries on demand, so that no n x n matrix is needed. The functions must not fail, allocate
 * or lock. They are called from the calling thread only. */
typedef struct lm_qp_gram {
    size_t n;               /* at least 1 */
    const double *diagonal; /* G_ii, n */
    /* out[k] = G[i][subset[k]], k < count */
    void (*column)(void *user, size_t i, const size_t *subset, size_t count, double *out);
    /* out[j] = sum over k < count of weight[k] G[j][support[k]], j < n */
    void (*product)(void *user, const size_t *support, const double *weight, size_t count,
                    double *out);
    void *user;
} lm_qp_gram;

/* G as a whole, n x n. */
typedef struct lm_qp_matrix {
    const double *cells;
    size_t n;
} lm_qp_matrix;

/* G = XX', X n rows of p doubles. room: p doubles, written at every use, so one per thread. */
typedef struct lm_qp_rows {
    const double *x;
    size_t n, p;
    double *room;
} lm_qp_rows;

/* diagonal: n doubles, as computed by the functions below. It and the first argument must outlive
 * the result. */
lm_qp_gram lm_qp_of_matrix(lm_qp_matrix *matrix, const double *diagonal);
lm_qp_gram lm_qp_of_rows(lm_qp_rows *rows, const double *diagonal);
void lm_qp_matrix_diagonal(const lm_qp_matrix *matrix, double *diagonal);
void lm_qp_rows_diagonal(const lm_qp_rows *rows, double *diagonal);

/* ---- the simplex: nearest point of a convex hull ---- */

typedef struct lm_qp_goal {
    /* Stop at gap <= tolerance * max G_ii, or when rounding prevents progress. */
    double tolerance;
    /* Stop as soon as the minimum is certainly above this; INFINITY: never. */
    double abandon;
    /* A number h with value + h >= 0 for every a, such as |x|^2/2 where G = XX' and q = Xx: value +
     * h is then half a squared distance, and the lower bound is tighter. Negative: unknown. */
    double constant;
    const double *start; /* n weights to start from, any numbers (made feasible); NULL: none */
    /* How many weights may be positive (soft spheres: neither 0 nor bound) at once, as given to
     * lm_qp_scratch. rank(G) + 2 is always enough: min(n, p + 2) where G = XX'. */
    size_t support_max;
} lm_qp_goal;

typedef struct lm_qp_result {
    double value; /* 1/2 a'Ga - q'a */
    double gap;   /* a'g - min over feasible b of b'g, g = Ga - q computed from a: the minimum is at
                     least value - gap */
    double lower; /* the best lower bound found: lower <= minimum <= value, up to rounding */
    size_t iterations; /* equations solved */
    size_t passes;     /* products with G */
    size_t support;    /* positive weights */
    bool abandoned;    /* lower > abandon: a and value are feasible, but not optimal */
    bool converged;    /* the gap is within the tolerance, or within rounding */
    bool full;         /* stopped early: support_max was too small */
    bool cancelled;    /* of lm_qp_sphere only */
} lm_qp_result;

/* Bytes of scratch (aligned as for double) for n and support_max; false: too many. */
bool lm_qp_scratch(size_t n, size_t support_max, size_t *bytes);
/* The program without bound. a: n weights, always feasible up to rounding. */
void lm_qp_simplex(const lm_qp_gram *gram, const double *q, const lm_qp_goal *goal, double *a,
                   lm_qp_result *result, void *scratch);

/* ---- the smallest enclosing sphere ---- */

typedef struct lm_qp_ball {
    double r2; /* squared radius */
    double s2; /* |centre|^2 = a'Ga, the centre being sum a_i x_i */
    lm_qp_result qp;
} lm_qp_ball;

/* Bytes of the scratch of lm_qp_sphere_run (aligned as for double); false: too many. */
bool lm_qp_sphere_scratch(size_t n, size_t support_max, size_t *bytes);
/* q = diag(G)/2; bound = 1/(nu n), at least 1/n (less is taken as 1/n); 1 or more: the hard sphere,
 * which holds all points. r2 is the mean d^2 of the points with 0 < a_i < bound; if there are none,
 * the midpoint of the largest d^2 over a_i = 0 and the smallest over a_i = bound (just the latter
 * where no a_i is 0). For a hard sphere it is the largest d^2; 0 for n = 1. */
void lm_qp_sphere_run(const lm_qp_gram *gram, double bound, double tolerance, size_t support_max,
                      double *a, lm_qp_ball *ball, void *scratch);
/* The same for training: takes its memory from ctx, finds support_max automatically and reports
 * progress as `stage`. Errors: LIMN_E_MEMORY, LIMN_E_CANCELLED. */
limn_status lm_qp_sphere(limn_context *ctx, const lm_qp_gram *gram, double bound, double tolerance,
                         const char *stage, double *a, lm_qp_ball *ball);

#endif
