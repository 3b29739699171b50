/* factor.h: a Cholesky factor that grows and shrinks by one row: LL' = M, M symmetric and positive
 * definite. In the caller's memory; nothing is allocated. */
#ifndef LIMN_NUM_FACTOR_H
#define LIMN_NUM_FACTOR_H

#include "num/simd/simd.h"

typedef struct lm_factor {
    double *l;    /* rows of capacity, the lower triangle */
    double *ones; /* L^-1 (1 .. 1)', capacity */
    size_t size, capacity;
    const lm_simd_dense *kernels;
} lm_factor;

/* Prepares the next row from row = M's entries with those that are in (size), and its own diagonal;
 * gives the square of its pivot, to be judged by the caller. size < capacity. */
double lm_factor_try(lm_factor *f, const double *row, double diagonal);
/* Takes the row that was tried last in, with this square of its pivot (> 0). */
void lm_factor_append(lm_factor *f, double pivot);
/* Takes row k out: rotations bring the rest back into shape. */
void lm_factor_drop(lm_factor *f, size_t k);

/* x <- L^-1 x, x <- L'^-1 x, size numbers. */
void lm_factor_forward(const lm_factor *f, double *x);
void lm_factor_backward(const lm_factor *f, double *x);

#endif
