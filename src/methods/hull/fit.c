/* fit.c: mean, principal directions and spheres of one class, in double.
 *
 * Linear: singular values of the centred rows; if there are many more rows than features, from the
 * eigenvalues of their d x d scatter, which is fast and whose errors (2^-53 of s_1^2) stay below
 * the cut. Kernel: eigenvalues of the centred n x n kernel matrix, s_j = sqrt(L_j), coordinates V
 * L^1/2.
 *
 * A direction counts if s_j > max(cut s_1, 1e-8 sqrt(n) max |x_i|): without the second, absolute
 * bound duplicates would span noise. */
#include "methods/hull/fit.h"
#include "num/linalg.h"
#include "num/qp/qp.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FLOOR 1e-8

enum { BLOCK = 256 };

void hull_fit_free(const limn_allocator *mem, hull_fit *fit) {
    double *const owned[] = {fit->mean,  fit->basis, fit->vectors,  fit->s,
                             fit->coord, fit->gram,  fit->diagonal, fit->shift};
    for (size_t i = 0; i < LM_COUNT(owned); i++)
        lm_free(mem, owned[i]);
    *fit = (hull_fit){0};
}

double *hull_doubles(limn_context *ctx, size_t a, size_t b) {
    size_t count;
    return lm_mul(a, b, &count) ? lm_alloc(&ctx->mem, count ? count : 1, sizeof(double)) : NULL;
}

static bool needs_directions(const hull_fit *fit) {
    hull_kind kind = fit->space->options->kind;
    return kind != HULL_NSC && kind != HULL_NCH;
}

/* ---- linear ---- */

static limn_status find_mean(limn_context *ctx, hull_fit *fit) {
    size_t d = fit->space->d;
    fit->mean = lm_alloc_zero(&ctx->mem, d, sizeof *fit->mean);
    if (!fit->mean)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < fit->n; i++)
        for (size_t j = 0; j < d; j++)
            fit->mean[j] += (double)fit->space->x[fit->rows[i] * d + j];
    for (size_t j = 0; j < d; j++)
        fit->mean[j] /= (double)fit->n;
    return LIMN_OK;
}

/* Rows minus the mean. */
static void centre_rows(const hull_fit *fit, const uint32_t *rows, size_t count, double *out) {
    size_t d = fit->space->d;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < d; j++)
            out[i * d + j] = (double)fit->space->x[rows[i] * d + j] - fit->mean[j];
}

static double largest_norm(const hull_fit *fit) {
    size_t d = fit->space->d;
    double largest = 0;
    for (size_t i = 0; i < fit->n; i++) {
        double sum = 0;
        for (size_t j = 0; j < d; j++) {
            double value = (double)fit->space->x[fit->rows[i] * d + j];
            sum += value * value;
        }
        largest = fmax(largest, sum);
    }
    return sqrt(largest);
}

size_t hull_gap(const double *s, size_t rank, bool squared) {
    size_t best = rank;
    double largest = 0;
    for (size_t i = 0; i + 1 < rank && (double)(i + 1) <= 0.9 * (double)rank; i++) {
        double ratio = squared ? sqrt(s[i] / s[i + 1]) : s[i] / s[i + 1];
        if (ratio > largest) {
            largest = ratio;
            best = i + 1;
        }
    }
    return best;
}

/* How many of the descending values s count. */
static size_t rank_of(const hull_fit *fit, const double *s, size_t count, double largest) {
    double least =
        count ? fmax(fit->space->options->cut * s[0], FLOOR * sqrt((double)fit->n) * largest) : 0;
    size_t rank = 0;
    while (rank < count && s[rank] > least)
        rank++;
    if (fit->space->options->dim_rule == HULL_DIM_GAP)
        return hull_gap(s, rank, false);
    return rank;
}

/* Keeps the first rank rows (each `width` numbers) of from. */
static double *keep_rows(limn_context *ctx, const double *from, size_t rank, size_t width) {
    double *kept = hull_doubles(ctx, rank, width);
    if (kept && rank)
        memcpy(kept, from, rank * width * sizeof *kept);
    return kept;
}

static limn_status by_singular_values(limn_context *ctx, hull_fit *fit, size_t most) {
    size_t n = fit->n, d = fit->space->d, k = n < d ? n : d;
    double *y = hull_doubles(ctx, n, d), *s = hull_doubles(ctx, k, 1);
    double *left = hull_doubles(ctx, n, k), *right = hull_doubles(ctx, k, d);
    limn_status status = y && s && left && right ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        centre_rows(fit, fit->rows, n, y);
        status = lm_singular(ctx, y, n, d, s, left, right);
    }
    if (status == LIMN_OK) {
        size_t rank = rank_of(fit, s, k, largest_norm(fit));
        fit->rank = rank < most ? rank : most;
        for (size_t j = 0; j < k; j++)
            fit->trace += s[j] * s[j];
        fit->s = keep_rows(ctx, s, 1, fit->rank);
        fit->basis = keep_rows(ctx, right, fit->rank, d);
        fit->coord = hull_doubles(ctx, n, fit->rank);
        status = fit->s && fit->basis && fit->coord ? LIMN_OK : lm_fail_memory(ctx);
    }
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        for (size_t j = 0; j < fit->rank; j++)
            fit->coord[i * fit->rank + j] = left[i * k + j] * s[j];
    lm_free(&ctx->mem, y);
    lm_free(&ctx->mem, s);
    lm_free(&ctx->mem, left);
    lm_free(&ctx->mem, right);
    return status;
}

/* The d x d scatter, one block of rows at a time. */
static limn_status find_scatter(limn_context *ctx, const hull_fit *fit, double *scatter) {
    size_t d = fit->space->d;
    double *block = hull_doubles(ctx, BLOCK, d);
    limn_status status = block ? LIMN_OK : lm_fail_memory(ctx);
    memset(scatter, 0, d * d * sizeof *scatter);
    for (size_t i = 0; i < fit->n && status == LIMN_OK; i += BLOCK) {
        size_t count = fit->n - i < BLOCK ? fit->n - i : BLOCK;
        centre_rows(fit, fit->rows + i, count, block);
        lm_add_outer(scatter, d, block, count);
        status = lm_progress(ctx, "training", 0, 0, -1);
    }
    lm_mirror(scatter, d);
    lm_free(&ctx->mem, block);
    return status;
}

static limn_status find_coordinates(limn_context *ctx, hull_fit *fit) {
    size_t d = fit->space->d;
    double *block = hull_doubles(ctx, BLOCK, d);
    fit->coord = hull_doubles(ctx, fit->n, fit->rank);
    limn_status status = block && fit->coord ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < fit->n && fit->rank && status == LIMN_OK; i += BLOCK) {
        size_t count = fit->n - i < BLOCK ? fit->n - i : BLOCK;
        centre_rows(fit, fit->rows + i, count, block);
        lm_row_products(block, count, fit->basis, fit->rank, d, fit->coord + i * fit->rank);
    }
    lm_free(&ctx->mem, block);
    return status;
}

static limn_status by_scatter(limn_context *ctx, hull_fit *fit, size_t most) {
    size_t d = fit->space->d;
    double *a = hull_doubles(ctx, d, d), *lambda = hull_doubles(ctx, d, 1),
           *s = hull_doubles(ctx, d, 1);
    limn_status status = a && lambda && s ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = find_scatter(ctx, fit, a);
    for (size_t j = 0; j < d && status == LIMN_OK; j++)
        fit->trace += a[j * d + j];
    size_t wanted = most < d ? most : d;
    if (status == LIMN_OK)
        status = lm_eigen_top(ctx, a, d, wanted, lambda);
    if (status == LIMN_OK) {
        for (size_t j = 0; j < wanted; j++)
            s[j] = lambda[j] > 0 ? sqrt(lambda[j]) : 0;
        fit->rank = rank_of(fit, s, wanted, largest_norm(fit));
        fit->s = keep_rows(ctx, s, 1, fit->rank);
        fit->basis = keep_rows(ctx, a, fit->rank, d);
        status = fit->s && fit->basis ? find_coordinates(ctx, fit) : lm_fail_memory(ctx);
    }
    lm_free(&ctx->mem, a);
    lm_free(&ctx->mem, lambda);
    lm_free(&ctx->mem, s);
    return status;
}

static limn_status fit_linear(limn_context *ctx, hull_fit *fit, size_t most) {
    size_t n = fit->n, d = fit->space->d;
    fit->possible = n - 1 < d ? n - 1 : d;
    limn_status status = find_mean(ctx, fit);
    if (status != LIMN_OK)
        return status;
    if (!needs_directions(fit)) {
        fit->rank = d;
        fit->coord = hull_doubles(ctx, n, d);
        if (!fit->coord)
            return lm_fail_memory(ctx);
        centre_rows(fit, fit->rows, n, fit->coord);
        return LIMN_OK;
    }
    bool many = n > 2 * d && (double)n * (double)d * (double)d > 1e8;
    return many ? by_scatter(ctx, fit, most) : by_singular_values(ctx, fit, most);
}

/* ---- kernel ---- */

/* Rows as doubles, minus origin (unless NULL), followed by their squares. */
static void widen(const hull_space *space, const uint32_t *rows, size_t count, const float *origin,
                  double *out) {
    size_t d = space->d;
    double *square = out + count * d;
    for (size_t i = 0; i < count; i++) {
        square[i] = 0;
        for (size_t j = 0; j < d; j++) {
            double value = (double)space->x[rows[i] * d + j] - (origin ? (double)origin[j] : 0);
            out[i * d + j] = value;
            square[i] += value * value;
        }
    }
}

limn_status hull_kernel_block(limn_context *ctx, const hull_fit *fit, const uint32_t *rows,
                              size_t count, double *out, double *self) {
    size_t n = fit->n, d = fit->space->d;
    const lm_kernel *kernel = &fit->space->options->kernel;
    /* For rbf only differences matter, and those from one of the rows keep the most digits. */
    const float *origin = kernel->type == LM_RBF ? fit->space->x + fit->rows[0] * d : NULL;
    double *a = hull_doubles(ctx, count, d + 1), *b = hull_doubles(ctx, n, d + 1);
    limn_status status = a && b ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        const double *a2 = a + count * d, *b2 = b + n * d;
        widen(fit->space, rows, count, origin, a);
        widen(fit->space, fit->rows, n, origin, b);
        lm_row_products(a, count, b, n, d, out);
        for (size_t i = 0; i < count * n; i++)
            out[i] = lm_kernel_of_dots(kernel, out[i], a2[i / n], b2[i % n]);
        for (size_t i = 0; i < count && self; i++)
            self[i] = lm_kernel_of_dots(kernel, a2[i], a2[i], a2[i]);
    }
    lm_free(&ctx->mem, a);
    lm_free(&ctx->mem, b);
    return status;
}

/* gram <- P gram P, and records what was subtracted. */
static void centre_gram(hull_fit *fit, double *gram) {
    size_t n = fit->n;
    fit->constant = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += gram[i * n + j];
        fit->shift[i] = sum / (double)n;
        fit->constant += fit->shift[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            gram[i * n + j] += fit->constant - fit->shift[i] - fit->shift[j];
}

static limn_status find_vectors(limn_context *ctx, hull_fit *fit, double *gram, size_t most) {
    size_t n = fit->n;
    double *lambda = hull_doubles(ctx, n, 1), *s = hull_doubles(ctx, n, 1), largest = 0;
    limn_status status = lambda && s ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < n; i++) {
        fit->trace += gram[i * n + i];
        largest = fmax(largest, sqrt(fmax(fit->diagonal[i], 0)));
    }
    if (status == LIMN_OK)
        status = lm_eigen_top(ctx, gram, n, n, lambda);
    if (status == LIMN_OK) {
        for (size_t j = 0; j < n; j++)
            s[j] = lambda[j] > 0 ? sqrt(lambda[j]) : 0;
        size_t rank = rank_of(fit, s, n - 1, largest);
        fit->rank = rank < most ? rank : most;
        fit->s = keep_rows(ctx, s, 1, fit->rank);
        fit->vectors = keep_rows(ctx, gram, fit->rank, n);
        fit->coord = hull_doubles(ctx, n, fit->rank);
        status = fit->s && fit->vectors && fit->coord ? LIMN_OK : lm_fail_memory(ctx);
    }
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        for (size_t j = 0; j < fit->rank; j++)
            fit->coord[i * fit->rank + j] = fit->vectors[j * n + i] * fit->s[j];
    lm_free(&ctx->mem, lambda);
    lm_free(&ctx->mem, s);
    return status;
}

limn_status hull_refuse_kernel(limn_context *ctx) {
    return lm_fail(ctx, LIMN_E_DATA,
                   "the kernel values are too large; scale the features (--scale zscore) or "
                   "lower gamma, coef0 or degree");
}

static limn_status fit_kernel(limn_context *ctx, hull_fit *fit, size_t most) {
    size_t n = fit->n;
    double *gram = hull_doubles(ctx, n, n);
    fit->possible = n - 1;
    fit->shift = hull_doubles(ctx, n, 1);
    fit->diagonal = hull_doubles(ctx, n, 1);
    limn_status status = gram && fit->shift && fit->diagonal
                             ? hull_kernel_block(ctx, fit, fit->rows, n, gram, NULL)
                             : lm_fail_memory(ctx);
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        fit->diagonal[i] = gram[i * n + i];
        for (size_t j = 0; j < n && status == LIMN_OK; j++)
            if (!(fabs(gram[i * n + j]) < HULL_KERNEL_MOST))
                status = hull_refuse_kernel(ctx);
    }
    if (status == LIMN_OK && !needs_directions(fit)) {
        fit->gram = gram;
        return LIMN_OK;
    }
    if (status == LIMN_OK) {
        centre_gram(fit, gram);
        status = find_vectors(ctx, fit, gram, most);
    }
    lm_free(&ctx->mem, gram);
    return status;
}

limn_status hull_fit_make(limn_context *ctx, const hull_space *space, const uint32_t *rows,
                          size_t n, size_t most, hull_fit *fit) {
    *fit = (hull_fit){.space = space, .rows = rows, .n = n};
    if (n > INT32_MAX || space->d > INT32_MAX)
        return lm_fail_memory(ctx);
    limn_status status =
        space->options->kernel_space ? fit_kernel(ctx, fit, most) : fit_linear(ctx, fit, most);
    if (status != LIMN_OK)
        hull_fit_free(&ctx->mem, fit);
    return status;
}

size_t hull_fit_dim(const hull_fit *fit, const hull_options *options) {
    return options->dim < fit->rank ? options->dim : fit->rank;
}

double hull_fit_ridge(const hull_fit *fit) {
    return fit->possible ? fit->trace / (double)fit->possible : 0;
}
