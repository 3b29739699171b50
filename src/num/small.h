/* small.h: factorisations of small symmetric matrices in the caller's memory. LAPACK allocates and
 * locks, which the query path may not; training uses num/linalg instead. */
#ifndef LIMN_NUM_SMALL_H
#define LIMN_NUM_SMALL_H

#include <stdbool.h>
#include <stddef.h>

/* Eigenvalues (descending, n) and eigenvectors (the rows of vectors, n x n, in the same order) of
 * the symmetric n x n matrix a, which is destroyed. Cyclic Jacobi rotations: some 20 n^3
 * operations, errors of a few 2^-53 of the largest eigenvalue. */
void lm_small_eigen(double *a, size_t n, double *values, double *vectors);

/* a <- its Cholesky factor L in the lower triangle; false where a pivot is not above 0. */
bool lm_small_cholesky(double *a, size_t n);
/* x <- L^-1 x. */
void lm_small_forward(const double *factor, size_t n, double *x);

#endif
