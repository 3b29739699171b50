/* linalg.h: the few dense factorisations that training needs: a thin layer over LAPACKE. Matrices
 * are d x d, symmetric, in double; right-hand sides are rows of d doubles. */
#ifndef LIMN_NUM_LINALG_H
#define LIMN_NUM_LINALG_H

#include "base/base.h"

/* Limits BLAS to one thread, so that results do not depend on the number of threads; returns the
 * argument for lm_blas_restore. */
int lm_blas_single(void);
void lm_blas_restore(int threads);

/* a (d x d) += sum over the n rows of rows' rows; only the lower triangle is touched. */
void lm_add_outer(double *a, size_t d, const double *rows, size_t n);
/* Copies the lower triangle to the upper one. */
void lm_mirror(double *a, size_t d);

/* x_i <- the solution of a x_i = x_i for each of count rows, of least norm where a is singular
 * (eigenvalues up to d 2^-52 of the largest count as 0; a = 0 is taken as the identity). Destroys
 * a. a must be positive semi-definite up to rounding. */
limn_status lm_solve_symmetric(limn_context *ctx, double *a, size_t d, double *x, size_t count);
/* The same, always by eigenvalues; those up to share of the largest are taken as 0. */
limn_status lm_solve_dropping(limn_context *ctx, double *a, size_t d, double share, double *x,
                              size_t count);
/* x_c <- V V' x_c for each of k rows, V the directions (of unit length) that best separate the rows
 * relative to the within-class scatter a (destroyed): the eigenvectors of a^-1 sum_c count_c x_c
 * x_c', at most k - 1 of them. */
limn_status lm_unit_directions(limn_context *ctx, double *a, size_t d, double *x,
                               const size_t *count, size_t k);

/* lambda (ascending, d) and the eigenvectors as the rows of a (d x d, symmetric, both triangles).
 */
limn_status lm_eigen(limn_context *ctx, double *a, size_t d, double *lambda);
/* The `count` largest eigenvalues of a (d x d, symmetric, both triangles), descending, and their
 * eigenvectors as the first rows of a. */
limn_status lm_eigen_top(limn_context *ctx, double *a, size_t d, size_t count, double *lambda);
/* The singular values (descending, k = min(n, d)) of the n x d matrix a, which is destroyed, its
 * right singular vectors as the rows of right (k x d) and the left ones as the columns of left (n x
 * k). */
limn_status lm_singular(limn_context *ctx, double *a, size_t n, size_t d, double *values,
                        double *left, double *right);
/* out (n x m) = a (n x d) times the rows of b (m x d): dot products of rows. */
void lm_row_products(const double *a, size_t n, const double *b, size_t m, size_t d, double *out);

typedef enum lm_side { LM_PLAIN, LM_TURNED } lm_side; /* a matrix, or its transpose */
/* out (m x n) += a (m x k) b (k x n), in floats and row by row; a turned matrix is stored as its
 * transpose. Nothing happens where m, n or k is 0. */
void lm_add_products(lm_side a_side, lm_side b_side, size_t m, size_t n, size_t k, const float *a,
                     const float *b, float *out);

#endif
