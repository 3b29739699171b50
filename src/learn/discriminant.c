/* discriminant.c: moments by one pass over the rows, covariance by a second in blocks of rows.
 *
 * Ledoit-Wolf (O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional
 * covariance matrices", 2004), for n centred rows of d features with covariance S:
 *
 *   mu = tr S / d, delta = |S - mu I|^2 / d, beta = (mean over rows of |x|^4 - |S|^2) / (n d),
 *   share = min(beta, delta) / delta */
#include "learn/discriminant.h"

#include "num/linalg.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ROWS = 256 };

void lm_moments_free(const limn_allocator *mem, lm_moments *moments) {
    lm_free(mem, moments->count);
    lm_free(mem, moments->mean);
    memset(moments, 0, sizeof *moments);
}

limn_status lm_moments_fit(limn_context *ctx, const float *x, const int32_t *label, size_t n,
                           size_t d, size_t classes, lm_moments *out) {
    size_t cells;
    *out = (lm_moments){.n = n, .d = d, .classes = classes};
    if (lm_mul(classes, d, &cells)) {
        out->count = lm_alloc_zero(&ctx->mem, classes, sizeof *out->count);
        out->mean = lm_alloc_zero(&ctx->mem, cells, sizeof *out->mean);
    }
    if (!out->count || !out->mean) {
        lm_moments_free(&ctx->mem, out);
        return lm_fail_memory(ctx);
    }
    for (size_t i = 0; i < n; i++) {
        double *mean = out->mean + (size_t)label[i] * d;
        out->count[label[i]]++;
        for (size_t j = 0; j < d; j++)
            mean[j] += (double)x[i * d + j];
    }
    for (size_t c = 0; c < classes; c++)
        for (size_t j = 0; j < d; j++)
            out->mean[c * d + j] /= (double)out->count[c];
    return LIMN_OK;
}

limn_status lm_covariance(limn_context *ctx, const float *x, const int32_t *label,
                          const lm_moments *m, const double *weight, double *covariance) {
    size_t d = m->d, filled = 0;
    limn_status status = LIMN_OK;
    double *rows = lm_alloc(&ctx->mem, BLOCK_ROWS * sizeof *rows, d);
    if (!rows)
        return lm_fail_memory(ctx);
    memset(covariance, 0, d * d * sizeof *covariance);
    for (size_t i = 0; i < m->n && status == LIMN_OK; i++) {
        const double *mean = m->mean + (size_t)label[i] * d;
        double scale = sqrt(weight[label[i]]), *row = rows + filled * d;
        for (size_t j = 0; j < d; j++)
            row[j] = ((double)x[i * d + j] - mean[j]) * scale;
        if (++filled == BLOCK_ROWS || i + 1 == m->n) {
            lm_add_outer(covariance, d, rows, filled);
            filled = 0;
            status = lm_progress(ctx, "training", i + 1, m->n, -1);
        }
    }
    lm_mirror(covariance, d);
    lm_free(&ctx->mem, rows);
    return status;
}

void lm_shrink(double *covariance, size_t d, double share) {
    double mean = 0;
    for (size_t j = 0; j < d; j++)
        mean += covariance[j * d + j] / (double)d;
    for (size_t i = 0; i < d * d; i++)
        covariance[i] *= 1 - share;
    for (size_t j = 0; j < d; j++)
        covariance[j * d + j] += share * mean;
}

/* ---- Ledoit-Wolf, a class at a time ---- */

/* The rows of class c, centred and divided by their standard deviations (1 where that is 0). */
static void standardise(const float *x, const int32_t *label, const lm_moments *m, size_t c,
                        double *rows, double *scale) {
    size_t d = m->d, n = 0;
    memset(scale, 0, d * sizeof *scale);
    for (size_t i = 0; i < m->n; i++) {
        if ((size_t)label[i] != c)
            continue;
        for (size_t j = 0; j < d; j++) {
            double value = (double)x[i * d + j] - m->mean[c * d + j];
            rows[n * d + j] = value;
            scale[j] += value * value;
        }
        n++;
    }
    for (size_t j = 0; j < d; j++)
        scale[j] = scale[j] > 0 ? sqrt(scale[j] / (double)n) : 1;
    for (size_t i = 0; i < n * d; i++)
        rows[i] /= scale[i % d];
}

static double ledoit_wolf_share(const double *rows, size_t n, const double *s, size_t d) {
    double fourth = 0, squares = 0, trace = 0;
    for (size_t i = 0; i < n; i++) {
        double norm = 0;
        for (size_t j = 0; j < d; j++)
            norm += rows[i * d + j] * rows[i * d + j];
        fourth += norm * norm / (double)n;
    }
    for (size_t i = 0; i < d * d; i++)
        squares += s[i] * s[i];
    for (size_t j = 0; j < d; j++)
        trace += s[j * d + j];
    double size = (double)d, mu = trace / size;
    double beta = (fourth - squares) / (size * (double)n);
    double delta = (squares - 2 * mu * trace + size * mu * mu) / size;
    beta = beta < delta ? beta : delta;
    return beta > 0 ? beta / delta : 0;
}

/* total += prior times the shrunk covariance of one class; one: scratch of d x d. */
static void add_class(const double *rows, size_t n, const double *scale, size_t d, double prior,
                      double *one, double *total) {
    memset(one, 0, d * d * sizeof *one);
    lm_add_outer(one, d, rows, n);
    lm_mirror(one, d);
    for (size_t i = 0; i < d * d; i++)
        one[i] /= (double)n;
    if (d > 1)
        lm_shrink(one, d, ledoit_wolf_share(rows, n, one, d));
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            total[i * d + j] += prior * one[i * d + j] * scale[i] * scale[j];
}

limn_status lm_covariance_auto(limn_context *ctx, const float *x, const int32_t *label,
                               const lm_moments *m, const double *prior, double *covariance) {
    size_t d = m->d, most = 0, cells;
    limn_status status = LIMN_OK;
    for (size_t c = 0; c < m->classes; c++)
        most = m->count[c] > most ? m->count[c] : most;
    double *rows = lm_mul(most, d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *rows) : NULL;
    double *one = lm_mul(d, d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *one) : NULL;
    double *scale = lm_alloc(&ctx->mem, d, sizeof *scale);
    if (rows && one && scale)
        memset(covariance, 0, d * d * sizeof *covariance);
    else
        status = lm_fail_memory(ctx);
    for (size_t c = 0; c < m->classes && status == LIMN_OK; c++) {
        standardise(x, label, m, c, rows, scale);
        add_class(rows, m->count[c], scale, d, prior[c], one, covariance);
        status = lm_progress(ctx, "training", 0, 0, (double)(c + 1) / (double)m->classes);
    }
    lm_free(&ctx->mem, rows);
    lm_free(&ctx->mem, one);
    lm_free(&ctx->mem, scale);
    return status;
}

/* ---- scores ---- */

limn_status lm_discriminant(limn_context *ctx, const lm_moments *m, double *covariance,
                            const double *log_prior, const float *centre, double *weights,
                            double *bias) {
    size_t d = m->d;
    for (size_t c = 0; c < m->classes; c++)
        for (size_t j = 0; j < d; j++)
            weights[c * d + j] = m->mean[c * d + j] - (double)centre[j];
    limn_status status = lm_solve_symmetric(ctx, covariance, d, weights, m->classes);
    for (size_t c = 0; c < m->classes && status == LIMN_OK; c++) {
        double product = 0;
        for (size_t j = 0; j < d; j++)
            product += weights[c * d + j] * (m->mean[c * d + j] - (double)centre[j]);
        bias[c] = log_prior[c] - product / 2;
    }
    return status;
}
