/* cholesky.h: Cholesky factors, LL' = M, M symmetric and positive definite: one that grows and
 * shrinks by one row, and one of a whole matrix. In the caller's memory; nothing is allocated. */
#ifndef LIMN_NUM_CHOLESKY_H
#define LIMN_NUM_CHOLESKY_H

#include "num/simd/simd.h"

/* ---- row by row ---- */

typedef struct lm_cholesky {
    double *l;    /* rows of capacity, the lower triangle */
    double *ones; /* L^-1 (1 .. 1)', capacity */
    size_t size, capacity;
    const lm_simd_dense *kernels;
} lm_cholesky;

/* Prepares the next row from M's entries with the rows already in the factor (row, size of them)
 * and its diagonal; returns the square of its pivot, for the caller to judge. size < capacity. */
double lm_cholesky_try(lm_cholesky *f, const double *row, double diagonal);
/* Adds the row that was tried last, with this square of its pivot (> 0). */
void lm_cholesky_append(lm_cholesky *f, double pivot);
/* Removes row k; rotations restore the triangular shape. */
void lm_cholesky_drop(lm_cholesky *f, size_t k);

/* x <- L^-1 x, x <- L'^-1 x, size numbers. */
void lm_cholesky_forward(const lm_cholesky *f, double *x);
void lm_cholesky_backward(const lm_cholesky *f, double *x);

/* ---- a whole matrix at once ---- */

/* a (n x n) <- its factor L in the lower triangle; false where a pivot is not above 0. */
bool lm_cholesky_whole(double *a, size_t n);
/* x_c <- (M + ridge I)^-1 x_c for count rows of n numbers; a (n x n, the lower triangle of M)
 * becomes the factor, for lm_cholesky_forward and _backward. False where a pivot or a result is not
 * finite or a pivot not above 0: nothing can be said. */
bool lm_cholesky_solve(double *a, size_t n, double ridge, double *x, size_t count);
/* x <- L^-1 x. */
void lm_cholesky_whole_forward(const double *l, size_t n, double *x);

#endif
