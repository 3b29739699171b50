/* linalg.c: Cholesky where the matrix allows it, else eigenvalues: d^3/3 against about 9 d^3
 * operations. */
#include "num/linalg.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Declared by OpenBLAS's own cblas.h, but not by every cblas.h. */
extern void openblas_set_num_threads(int threads);
extern int openblas_get_num_threads(void);

int lm_blas_single(void) {
    int threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
    return threads;
}

void lm_blas_restore(int threads) {
    openblas_set_num_threads(threads);
}

void lm_add_outer(double *a, size_t d, const double *rows, size_t n) {
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)d, (int)n, 1, rows, (int)d, 1, a,
                (int)d);
}

void lm_mirror(double *a, size_t d) {
    for (size_t i = 0; i < d; i++)
        for (size_t j = i + 1; j < d; j++)
            a[i * d + j] = a[j * d + i];
}

/* true when a is safely positive definite; a then holds its Cholesky factor. */
static bool factor(double *a, size_t d) {
    lapack_int n = (lapack_int)d;
    double rcond = 0;
    double norm = LAPACKE_dlansy(LAPACK_ROW_MAJOR, '1', 'L', n, a, n);
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', n, a, n) != 0)
        return false;
    return LAPACKE_dpocon(LAPACK_ROW_MAJOR, 'L', n, a, n, norm, &rcond) == 0 && rcond > 1e-12;
}

/* x_i <- V diag(1/lambda) V' x_i over the eigenvalues that are not 0. */
static limn_status solve_by_eigenvalues(limn_context *ctx, double *a, size_t d, double *x,
                                        size_t count) {
    lapack_int n = (lapack_int)d;
    double *lambda = lm_alloc(&ctx->mem, d, sizeof *lambda);
    double *part = lm_alloc(&ctx->mem, d, sizeof *part);
    limn_status status = lambda && part ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        lapack_int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', n, a, n, lambda);
        if (info == LAPACK_WORK_MEMORY_ERROR)
            status = lm_fail_memory(ctx);
        else if (info != 0)
            status = lm_fail(ctx, LIMN_E_DATA,
                             "the eigenvalues of a %zu x %zu matrix were not "
                             "found; scale the features",
                             d, d);
    }
    double least = status == LIMN_OK ? lambda[d - 1] * (double)d * DBL_EPSILON : 0;
    for (size_t i = 0; i < count && status == LIMN_OK; i++) {
        double *row = x + i * d;
        /* Eigenvector e is the e-th row of a, stored by columns. */
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, 1, a, n, row, 1, 0, part, 1);
        for (size_t e = 0; e < d; e++)
            part[e] = lambda[e] > least ? part[e] / lambda[e] : 0;
        cblas_dgemv(CblasRowMajor, CblasTrans, n, n, 1, a, n, part, 1, 0, row, 1);
    }
    lm_free(&ctx->mem, lambda);
    lm_free(&ctx->mem, part);
    return status;
}

limn_status lm_solve_symmetric(limn_context *ctx, double *a, size_t d, double *x, size_t count) {
    size_t cells;
    double trace = 0;
    if (d > INT32_MAX || !lm_mul(d, d, &cells))
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < d; i++)
        trace += a[i * d + i];
    if (!(trace > 0))
        return LIMN_OK;
    double *copy = lm_alloc(&ctx->mem, cells, sizeof *copy);
    if (!copy)
        return lm_fail_memory(ctx);
    lm_mirror(a, d);
    memcpy(copy, a, cells * sizeof *copy);
    limn_status status = LIMN_OK;
    if (factor(copy, d)) {
        /* The rows of x are the columns of the right-hand side stored by columns; the factor's
         * lower triangle by rows is its upper triangle by columns. */
        LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'U', (lapack_int)d, (lapack_int)count, copy, (lapack_int)d,
                       x, (lapack_int)d);
    } else {
        status = solve_by_eigenvalues(ctx, a, d, x, count);
    }
    lm_free(&ctx->mem, copy);
    return status;
}
