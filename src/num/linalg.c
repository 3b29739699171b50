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

static limn_status fail_eigen(limn_context *ctx, size_t d) {
    return lm_fail(ctx, LIMN_E_DATA,
                   "cannot compute the eigenvalues of a %zu x %zu matrix; scale the features", d,
                   d);
}

limn_status lm_eigen(limn_context *ctx, double *a, size_t d, double *lambda) {
    lapack_int n = (lapack_int)d;
    lapack_int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', n, a, n, lambda);
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return lm_fail_memory(ctx);
    return info == 0 ? LIMN_OK : fail_eigen(ctx, d);
}

/* Reverses the eigenvalues and the rows of a. */
static void reverse(double *a, size_t d, size_t count, double *lambda) {
    for (size_t i = 0; i < count / 2; i++) {
        size_t j = count - 1 - i;
        double held = lambda[i];
        lambda[i] = lambda[j];
        lambda[j] = held;
        cblas_dswap((int)d, a + i * d, 1, a + j * d, 1);
    }
}

/* Computing only a few eigenvectors is much cheaper than all of them. */
static limn_status eigen_some(limn_context *ctx, double *a, size_t d, size_t count,
                              double *lambda) {
    lapack_int n = (lapack_int)d, found = 0;
    size_t cells;
    double *z = lm_mul(d, count, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *z) : NULL;
    double *all = lm_alloc(&ctx->mem, d, sizeof *all);
    lapack_int *support = lm_alloc(&ctx->mem, 2 * count, sizeof *support);
    lapack_int info = LAPACK_WORK_MEMORY_ERROR;
    if (z && all && support)
        info = LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'U', n, a, n, 0, 0,
                              n - (lapack_int)count + 1, n, 0, &found, all, z, n, support);
    if (info == 0 && (size_t)found == count) {
        memcpy(lambda, all, count * sizeof *lambda);
        memcpy(a, z, cells * sizeof *a);
    }
    lm_free(&ctx->mem, z);
    lm_free(&ctx->mem, all);
    lm_free(&ctx->mem, support);
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return lm_fail_memory(ctx);
    return info == 0 && (size_t)found == count ? LIMN_OK : fail_eigen(ctx, d);
}

limn_status lm_eigen_top(limn_context *ctx, double *a, size_t d, size_t count, double *lambda) {
    limn_status status = LIMN_OK;
    if (count == 0)
        return LIMN_OK;
    if (count <= d / 4) {
        status = eigen_some(ctx, a, d, count, lambda);
        if (status == LIMN_OK)
            reverse(a, d, count, lambda);
        return status;
    }
    double *all = lm_alloc(&ctx->mem, d, sizeof *all);
    status = all ? lm_eigen(ctx, a, d, all) : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        reverse(a, d, d, all);
        memcpy(lambda, all, count * sizeof *lambda);
    }
    lm_free(&ctx->mem, all);
    return status;
}

limn_status lm_singular(limn_context *ctx, double *a, size_t n, size_t d, double *values,
                        double *left, double *right) {
    /* In column order a is its transpose, so left and right swap. */
    lapack_int rows = (lapack_int)d, columns = (lapack_int)n, k = rows < columns ? rows : columns;
    lapack_int info =
        LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', rows, columns, a, rows, values, right, rows, left, k);
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return lm_fail_memory(ctx);
    if (info != 0)
        return lm_fail(
            ctx, LIMN_E_DATA,
            "cannot compute the singular values of a %zu x %zu matrix; scale the features", n, d);
    return LIMN_OK;
}

void lm_row_products(const double *a, size_t n, const double *b, size_t m, size_t d, double *out) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)m, (int)d, 1, a, (int)d, b,
                (int)d, 0, out, (int)m);
}

/* x_i <- V diag(1/lambda) V' x_i over the eigenvalues that are not 0. */
static limn_status solve_by_eigenvalues(limn_context *ctx, double *a, size_t d, double share,
                                        double *x, size_t count) {
    lapack_int n = (lapack_int)d;
    double *lambda = lm_alloc(&ctx->mem, d, sizeof *lambda);
    double *part = lm_alloc(&ctx->mem, d, sizeof *part);
    limn_status status = lambda && part ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_eigen(ctx, a, d, lambda);
    double least = status == LIMN_OK ? lambda[d - 1] * share : 0;
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
        status = solve_by_eigenvalues(ctx, a, d, (double)d * DBL_EPSILON, x, count);
    }
    lm_free(&ctx->mem, copy);
    return status;
}

static double trace_of(const double *a, size_t d) {
    double trace = 0;
    for (size_t i = 0; i < d; i++)
        trace += a[i * d + i];
    return trace;
}

limn_status lm_solve_dropping(limn_context *ctx, double *a, size_t d, double share, double *x,
                              size_t count) {
    if (d > INT32_MAX)
        return lm_fail_memory(ctx);
    if (!(trace_of(a, d) > 0))
        return LIMN_OK;
    lm_mirror(a, d);
    return solve_by_eigenvalues(ctx, a, d, share, x, count);
}

/* ---- directions ---- */

/* Working memory of lm_unit_directions. */
typedef struct directions {
    double *lambda, *whitened; /* d; k x d: the rows in the coordinates where a is the identity */
    double *between, *values;  /* d x d, d */
    double *v;                 /* one direction */
    double *out;               /* k x d */
} directions;

/* Rows of x times sqrt(count) in whitened coordinates: eigenvector e of a over sqrt(lambda_e). */
static void whiten(const double *a, size_t d, const double *x, const size_t *count, size_t k,
                   directions *w) {
    double least = w->lambda[d - 1] * 1e-10;
    for (size_t c = 0; c < k; c++)
        for (size_t e = 0; e < d; e++) {
            double dot = cblas_ddot((int)d, a + e * d, 1, x + c * d, 1);
            double scale = w->lambda[e] > least ? 1 / sqrt(w->lambda[e]) : 0;
            w->whitened[c * d + e] = dot * scale * sqrt((double)count[c]);
        }
}

/* out += v v' x for the direction v that belongs to the eigenvector q of the whitened scatter. */
static void add_direction(const double *a, size_t d, const double *x, size_t k, const double *q,
                          directions *w) {
    double least = w->lambda[d - 1] * 1e-10;
    memset(w->v, 0, d * sizeof *w->v);
    for (size_t e = 0; e < d; e++)
        if (w->lambda[e] > least)
            cblas_daxpy((int)d, q[e] / sqrt(w->lambda[e]), a + e * d, 1, w->v, 1);
    double length = cblas_dnrm2((int)d, w->v, 1);
    for (size_t c = 0; c < k && length > 0; c++) {
        double dot = cblas_ddot((int)d, w->v, 1, x + c * d, 1) / (length * length);
        cblas_daxpy((int)d, dot, w->v, 1, w->out + c * d, 1);
    }
}

limn_status lm_unit_directions(limn_context *ctx, double *a, size_t d, double *x,
                               const size_t *count, size_t k) {
    size_t square, cells;
    if (d > INT32_MAX || !lm_mul(d, d, &square) || !lm_mul(k, d, &cells))
        return lm_fail_memory(ctx);
    if (!(trace_of(a, d) > 0))
        return LIMN_OK;
    lm_mirror(a, d);
    directions w = {lm_alloc(&ctx->mem, d, sizeof(double)),
                    lm_alloc(&ctx->mem, cells, sizeof(double)),
                    lm_alloc_zero(&ctx->mem, square, sizeof(double)),
                    lm_alloc(&ctx->mem, d, sizeof(double)),
                    lm_alloc(&ctx->mem, d, sizeof(double)),
                    lm_alloc_zero(&ctx->mem, cells, sizeof(double))};
    bool there = w.lambda && w.whitened && w.between && w.values && w.v && w.out;
    limn_status status = there ? lm_eigen(ctx, a, d, w.lambda) : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        whiten(a, d, x, count, k, &w);
        lm_add_outer(w.between, d, w.whitened, k);
        lm_mirror(w.between, d);
        status = lm_eigen(ctx, w.between, d, w.values);
    }
    for (size_t e = d; status == LIMN_OK && e-- > 0 && d - e < k;)
        if (w.values[e] > w.values[d - 1] * 1e-10)
            add_direction(a, d, x, k, w.between + e * d, &w);
    if (status == LIMN_OK)
        memcpy(x, w.out, cells * sizeof *x);
    lm_free(&ctx->mem, w.lambda);
    lm_free(&ctx->mem, w.whitened);
    lm_free(&ctx->mem, w.between);
    lm_free(&ctx->mem, w.values);
    lm_free(&ctx->mem, w.v);
    lm_free(&ctx->mem, w.out);
    return status;
}

void lm_add_products(lm_side a_side, lm_side b_side, size_t m, size_t n, size_t k, const float *a,
                     const float *b, float *out) {
    if (m == 0 || n == 0 || k == 0)
        return;
    cblas_sgemm(CblasRowMajor, a_side == LM_TURNED ? CblasTrans : CblasNoTrans,
                b_side == LM_TURNED ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1, a,
                (int)(a_side == LM_TURNED ? m : k), b, (int)(b_side == LM_TURNED ? k : n), 1, out,
                (int)n);
}
