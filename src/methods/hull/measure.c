/* measure.c: spheres, and distances from the fit of a class, in double, for training.
 *
 * Leave-one-out (nrh, lambda held fixed): with G the centred Gram matrix of the n samples and P
 * the centring projector, the distance of sample i from the ridge hull of the others is
 *
 *   d^2 = 1 / h_i - lambda n / (n - 1),   h_i = [(P (G + lambda I) P)^+]_ii
 *       h_i = sum_j v_ij^2 / (s_j^2 + lambda) + (1 - 1/n - sum_j v_ij^2) / lambda
 *
 * with v_j the left singular vectors. The first term of h covers the directions of the samples, the
 * second the rest of the range of P. */
#include "methods/hull/fit.h"
#include "num/linalg.h"
#include "num/qp/qp.h"

#include <math.h>
#include <string.h>

/* ---- spheres ---- */

void hull_ball_free(const limn_allocator *mem, hull_ball *ball) {
    lm_free(mem, ball->weight);
    lm_free(mem, ball->centre);
    *ball = (hull_ball){0};
}

/* The first p coordinates, packed together. */
static limn_status some_coordinates(limn_context *ctx, const hull_fit *fit, size_t p,
                                    double **out) {
    *out = hull_doubles(ctx, fit->n, p);
    if (!*out)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < fit->n; i++)
        memcpy(*out + i * p, fit->coord + i * fit->rank, p * sizeof **out);
    return LIMN_OK;
}

static limn_status ball_of_rows(limn_context *ctx, const hull_fit *fit, double bound,
                                hull_ball *ball) {
    size_t n = fit->n, p = ball->p;
    double *z = NULL, *room = hull_doubles(ctx, p, 1), *diagonal = hull_doubles(ctx, n, 1);
    lm_qp_ball found;
    ball->centre = lm_alloc_zero(&ctx->mem, p ? p : 1, sizeof *ball->centre);
    limn_status status =
        room && diagonal && ball->centre ? some_coordinates(ctx, fit, p, &z) : lm_fail_memory(ctx);
    if (status == LIMN_OK && p) {
        lm_qp_rows rows = {.x = z, .n = n, .p = p, .room = room};
        lm_qp_rows_diagonal(&rows, diagonal);
        lm_qp_gram gram = lm_qp_of_rows(&rows, diagonal);
        status = lm_qp_sphere(ctx, &gram, bound, HULL_SPHERE_GAP, "training", ball->weight, &found);
        ball->radius = status == LIMN_OK ? sqrt(found.r2) : 0;
    } else if (status == LIMN_OK) {
        for (size_t i = 0; i < n; i++)
            ball->weight[i] = 1 / (double)n;
    }
    for (size_t i = 0; i < n && p && status == LIMN_OK; i++)
        for (size_t j = 0; j < p; j++)
            ball->centre[j] += ball->weight[i] * z[i * p + j];
    lm_free(&ctx->mem, z);
    lm_free(&ctx->mem, room);
    lm_free(&ctx->mem, diagonal);
    return status;
}

static limn_status ball_of_gram(limn_context *ctx, const hull_fit *fit, double bound,
                                hull_ball *ball) {
    double *diagonal = hull_doubles(ctx, fit->n, 1);
    lm_qp_ball found;
    if (!diagonal)
        return lm_fail_memory(ctx);
    lm_qp_matrix matrix = {.cells = fit->gram, .n = fit->n};
    lm_qp_matrix_diagonal(&matrix, diagonal);
    lm_qp_gram gram = lm_qp_of_matrix(&matrix, diagonal);
    limn_status status =
        lm_qp_sphere(ctx, &gram, bound, HULL_SPHERE_GAP, "training", ball->weight, &found);
    if (status == LIMN_OK) {
        ball->radius = sqrt(found.r2);
        ball->square = found.s2;
    }
    lm_free(&ctx->mem, diagonal);
    return status;
}

limn_status hull_ball_make(limn_context *ctx, const hull_fit *fit, size_t p, double nu,
                           hull_ball *ball) {
    double bound = nu > 0 ? 1 / (nu * (double)fit->n) : 1;
    *ball = (hull_ball){.p = p < fit->rank ? p : fit->rank};
    ball->weight = hull_doubles(ctx, fit->n, 1);
    limn_status status = !ball->weight ? lm_fail_memory(ctx)
                         : fit->gram   ? ball_of_gram(ctx, fit, bound, ball)
                                       : ball_of_rows(ctx, fit, bound, ball);
    if (status != LIMN_OK)
        hull_ball_free(&ctx->mem, ball);
    return status;
}

/* ---- projections ---- */

/* Rows of a block in the coordinates of the fit. */
typedef struct block {
    size_t count;
    double *t;      /* count x rank */
    double *w2;     /* count: |w|^2 */
    double *kernel; /* kernel: count x n */
    double *self;   /* kernel: count: k(x, x) */
} block;

static void block_free(const limn_allocator *mem, block *b) {
    lm_free(mem, b->t);
    lm_free(mem, b->w2);
    lm_free(mem, b->kernel);
    lm_free(mem, b->self);
}

static double square_of(const double *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sum;
}

static limn_status project_linear(limn_context *ctx, const hull_fit *fit, const uint32_t *rows,
                                  block *b) {
    size_t d = fit->space->d;
    double *w = hull_doubles(ctx, b->count, d);
    if (!w)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < b->count; i++) {
        for (size_t j = 0; j < d; j++)
            w[i * d + j] = (double)fit->space->x[rows[i] * d + j] - fit->mean[j];
        b->w2[i] = square_of(w + i * d, d);
    }
    if (!fit->basis)
        memcpy(b->t, w, b->count * d * sizeof *w);
    else if (fit->rank)
        lm_row_products(w, b->count, fit->basis, fit->rank, d, b->t);
    lm_free(&ctx->mem, w);
    return LIMN_OK;
}

/* Projects one row, from its kernel values. */
static void project_kernel(const hull_fit *fit, double *kernel, double self, double *t,
                           double *w2) {
    size_t n = fit->n;
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += kernel[i] / (double)n;
    *w2 = self - 2 * mean + fit->constant;
    for (size_t i = 0; i < n; i++)
        kernel[i] += fit->constant - fit->shift[i] - mean;
    for (size_t j = 0; j < fit->rank; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += fit->vectors[j * n + i] * kernel[i];
        t[j] = sum / fit->s[j];
    }
}

static limn_status project(limn_context *ctx, const hull_fit *fit, const uint32_t *rows,
                           size_t count, block *b) {
    *b = (block){.count = count};
    b->t = hull_doubles(ctx, count, fit->rank);
    b->w2 = hull_doubles(ctx, count, 1);
    if (!b->t || !b->w2)
        return lm_fail_memory(ctx);
    if (!fit->space->options->kernel_space)
        return project_linear(ctx, fit, rows, b);
    b->kernel = hull_doubles(ctx, count, fit->n);
    b->self = hull_doubles(ctx, count, 1);
    if (!b->kernel || !b->self)
        return lm_fail_memory(ctx);
    limn_status status = hull_kernel_block(ctx, fit, rows, count, b->kernel, b->self);
    for (size_t i = 0; i < count && status == LIMN_OK && !fit->gram; i++)
        project_kernel(fit, b->kernel + i * fit->n, b->self[i], b->t + i * fit->rank, &b->w2[i]);
    return status;
}

/* ---- distances ---- */

static double clipped(double value) {
    return value > 0 ? value : 0;
}

static double affine(double w2, const double *t, size_t p) {
    return clipped(w2 - square_of(t, p));
}

static double disk(double w2, const double *t, const hull_ball *ball) {
    double rho = 0;
    for (size_t j = 0; j < ball->p; j++)
        rho += (t[j] - ball->centre[j]) * (t[j] - ball->centre[j]);
    double over = clipped(sqrt(rho) - ball->radius);
    return affine(w2, t, ball->p) + over * over;
}

static double ridge(const hull_fit *fit, double w2, const double *t, double lambda) {
    double sum = 0;
    for (size_t j = 0; j < fit->rank; j++)
        sum += t[j] * t[j] * fit->s[j] * fit->s[j] / (fit->s[j] * fit->s[j] + lambda);
    return clipped(w2 - sum);
}

static double to_centre(const hull_fit *fit, const block *b, size_t i, const hull_ball *ball) {
    if (!fit->gram) {
        double sum = 0;
        for (size_t j = 0; j < ball->p; j++) {
            double difference = b->t[i * fit->rank + j] - ball->centre[j];
            sum += difference * difference;
        }
        return sum;
    }
    double dot = 0;
    for (size_t k = 0; k < fit->n; k++)
        dot += ball->weight[k] * b->kernel[i * fit->n + k];
    return clipped(b->self[i] - 2 * dot + ball->square);
}

/* nch, for every row of the block. */
static limn_status convex(limn_context *ctx, const hull_fit *fit, const block *b, double *d2) {
    size_t n = fit->n, p = fit->rank, bytes;
    size_t support = n < p + 2 || fit->gram ? n : p + 2;
    double *room = hull_doubles(ctx, p, 1), *diagonal = hull_doubles(ctx, n, 1);
    double *q = hull_doubles(ctx, n, 1), *a = hull_doubles(ctx, n, 1);
    void *scratch =
        lm_qp_scratch(n, support, &bytes) ? lm_alloc_aligned(&ctx->mem, bytes, 1) : NULL;
    limn_status status = room && diagonal && q && a && scratch ? LIMN_OK : lm_fail_memory(ctx);
    lm_qp_rows rows = {.x = fit->coord, .n = n, .p = p, .room = room};
    lm_qp_matrix matrix = {.cells = fit->gram, .n = n};
    lm_qp_gram gram =
        fit->gram ? lm_qp_of_matrix(&matrix, diagonal) : lm_qp_of_rows(&rows, diagonal);
    if (status == LIMN_OK && fit->gram)
        lm_qp_matrix_diagonal(&matrix, diagonal);
    else if (status == LIMN_OK)
        lm_qp_rows_diagonal(&rows, diagonal);
    for (size_t i = 0; i < b->count && status == LIMN_OK; i++) {
        lm_qp_result result;
        double square = fit->gram ? b->self[i] : b->w2[i];
        if (fit->gram)
            memcpy(q, b->kernel + i * n, n * sizeof *q);
        else
            lm_row_products(b->t + i * p, 1, fit->coord, n, p, q);
        lm_qp_goal goal = {.tolerance = HULL_GAP,
                           .abandon = INFINITY,
                           .constant = square / 2,
                           .support_max = support};
        lm_qp_simplex(&gram, q, &goal, a, &result, scratch);
        d2[i] = clipped(square + 2 * result.value);
        status = lm_progress(ctx, "training", 0, 0, -1);
    }
    lm_free(&ctx->mem, room);
    lm_free(&ctx->mem, diagonal);
    lm_free(&ctx->mem, q);
    lm_free(&ctx->mem, a);
    lm_free_aligned(&ctx->mem, scratch);
    return status;
}

static void measure_row(const hull_fit *fit, const hull_ball *balls, const hull_grid *grid,
                        const block *b, size_t i, double *d2) {
    const double *t = b->t + i * fit->rank;
    double unit = hull_fit_ridge(fit);
    for (size_t g = 0; g < grid->count; g++)
        switch (fit->space->options->kind) {
        case HULL_NAH: {
            size_t p = (size_t)grid->at[g];
            d2[g] = affine(b->w2[i], t, p < fit->rank ? p : fit->rank);
            break;
        }
        case HULL_NHD:
            d2[g] = disk(b->w2[i], t, &balls[g]);
            break;
        case HULL_NRH:
            d2[g] = ridge(fit, b->w2[i], t, grid->at[g] * unit);
            break;
        case HULL_NSC:
            d2[g] = to_centre(fit, b, i, balls);
            break;
        case HULL_NCH:
            break;
        }
}

limn_status hull_fit_measure(limn_context *ctx, const hull_fit *fit, const hull_ball *balls,
                             const hull_grid *grid, const uint32_t *rows, size_t count,
                             double *d2) {
    block b;
    limn_status status = count ? project(ctx, fit, rows, count, &b) : LIMN_OK;
    if (!count)
        return LIMN_OK;
    if (status == LIMN_OK && fit->space->options->kind == HULL_NCH)
        status = convex(ctx, fit, &b, d2);
    else
        for (size_t i = 0; i < count && status == LIMN_OK; i++)
            measure_row(fit, balls, grid, &b, i, d2 + i * grid->count);
    block_free(&ctx->mem, &b);
    return status;
}

void hull_fit_leave_one_out(const hull_fit *fit, size_t i, const hull_grid *grid, double *d2) {
    double n = (double)fit->n, unit = hull_fit_ridge(fit);
    for (size_t g = 0; g < grid->count; g++) {
        double lambda = grid->at[g] * unit, own = 0, covered = 0;
        for (size_t j = 0; j < fit->rank; j++) {
            double v = fit->coord[i * fit->rank + j] / fit->s[j];
            own += v * v / (fit->s[j] * fit->s[j] + lambda);
            covered += v * v;
        }
        double h = lambda > 0 ? own + clipped(1 - 1 / n - covered) / lambda : 0;
        d2[g] = h > 0 ? clipped(1 / h - lambda * n / (n - 1)) : 0;
    }
}
