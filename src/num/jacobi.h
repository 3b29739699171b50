/* jacobi.h: eigenvectors of small symmetric matrices in the caller's memory. LAPACK allocates and
 * locks, which the query path must not do; training uses num/linalg instead. */
#ifndef LIMN_NUM_JACOBI_H
#define LIMN_NUM_JACOBI_H

#include <stddef.h>

/* Eigenvalues (descending, n) and eigenvectors (the rows of vectors, n x n, in the same order) of
 * the symmetric n x n matrix a, which is destroyed. Cyclic Jacobi rotations: some 20 n^3
 * operations, errors of a few 2^-53 of the largest eigenvalue. */
void lm_jacobi(double *a, size_t n, double *values, double *vectors);

#endif
