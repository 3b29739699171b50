/* discriminant.c: means in one pass over the rows, the covariance in a second, in blocks.
 *
 * Ledoit-Wolf (O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional
 * covariance matrices", 2004), for n centred rows of d features with covariance S:
 *
 *   mu = tr S / d, delta = |S - mu I|^2 / d, beta = (mean over rows of |x|^4 - |S|^2) / (n d),
 *   share = min(beta, delta) / delta */
#include "fit/discriminant.h"

#include "num/linalg.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ROWS = 256 };

void lm_moments_free(const limn_allocator *mem, lm_moments *moments) {
    lm_free(mem, moments->count);
    lm_free(mem, moments->mass);
    lm_free(mem, moments->mean);
    memset(moments, 0, sizeof *moments);
}

static double weight_of(const lm_moments *m, size_t row) {
    return m->weight ? m->weight[row] : 1;
}

limn_status lm_moments_fit(limn_context *ctx, const float *x, const int32_t *label,
                           const double *weight, size_t n, size_t d, size_t classes,
                           lm_moments *out) {
    size_t cells;
    *out = (lm_moments){.n = n, .d = d, .classes = classes, .weight = weight};
    if (lm_mul(classes, d, &cells)) {
        out->count = lm_alloc_zero(&ctx->mem, classes, sizeof *out->count);
        out->mass = lm_alloc_zero(&ctx->mem, classes, sizeof *out->mass);
        out->mean = lm_alloc_zero(&ctx->mem, cells, sizeof *out->mean);
    }
    if (!out->count || !out->mass || !out->mean) {
        lm_moments_free(&ctx->mem, out);
        return lm_fail_memory(ctx);
    }
    for (size_t i = 0; i < n; i++) {
        double *mean = out->mean + (size_t)label[i] * d;
        double w = weight_of(out, i);
        out->count[label[i]]++;
        out->mass[label[i]] += w;
        for (size_t j = 0; j < d; j++)
            mean[j] += w * (double)x[i * d + j];
    }
    for (size_t c = 0; c < classes; c++)
        for (size_t j = 0; j < d; j++)
            out->mean[c * d + j] /= out->mass[c];
    return LIMN_OK;
}

limn_status lm_covariance(limn_context *ctx, const float *x, const int32_t *label,
                          const lm_moments *m, const double *share, double *covariance) {
    size_t d = m->d, filled = 0;
    limn_status status = LIMN_OK;
    double *rows = lm_alloc(&ctx->mem, BLOCK_ROWS * sizeof *rows, d);
    if (!rows)
        return lm_fail_memory(ctx);
    memset(covariance, 0, d * d * sizeof *covariance);
    for (size_t i = 0; i < m->n && status == LIMN_OK; i++) {
        const double *mean = m->mean + (size_t)label[i] * d;
        double scale = sqrt(share[label[i]] * weight_of(m, i)), *row = rows + filled * d;
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

/* ---- Ledoit-Wolf, one class at a time ---- */

/* The class that is being added to the covariance. */
typedef struct class_rows {
    double *rows;  /* centred and divided by their standard deviations (1 where that is 0) */
    double *roots; /* of their weights, which sum to 1 */
    double *scale; /* the standard deviations */
    double *one;   /* scratch of d x d */
    size_t n;
} class_rows;

static void standardise(const float *x, const int32_t *label, const lm_moments *m, size_t c,
                        class_rows *of) {
    size_t d = m->d, n = 0;
    double *scale = of->scale;
    memset(scale, 0, d * sizeof *scale);
    for (size_t i = 0; i < m->n; i++) {
        if ((size_t)label[i] != c)
            continue;
        double share = weight_of(m, i) / m->mass[c];
        for (size_t j = 0; j < d; j++) {
            double value = (double)x[i * d + j] - m->mean[c * d + j];
            of->rows[n * d + j] = value;
            scale[j] += share * value * value;
        }
        of->roots[n++] = sqrt(share);
    }
    of->n = n;
    for (size_t j = 0; j < d; j++)
        scale[j] = scale[j] > 0 ? sqrt(scale[j]) : 1;
    for (size_t i = 0; i < n * d; i++)
        of->rows[i] /= scale[i % d];
}

static double ledoit_wolf_share(const class_rows *of, size_t d) {
    double fourth = 0, squares = 0, trace = 0;
    const double *s = of->one;
    for (size_t i = 0; i < of->n; i++) {
        double norm = 0;
        for (size_t j = 0; j < d; j++)
            norm += of->rows[i * d + j] * of->rows[i * d + j];
        fourth += of->roots[i] * of->roots[i] * norm * norm;
    }
    for (size_t i = 0; i < d * d; i++)
        squares += s[i] * s[i];
    for (size_t j = 0; j < d; j++)
        trace += s[j * d + j];
    double size = (double)d, mu = trace / size;
    double beta = (fourth - squares) / (size * (double)of->n);
    double delta = (squares - 2 * mu * trace + size * mu * mu) / size;
    beta = beta < delta ? beta : delta;
    return beta > 0 ? beta / delta : 0;
}

/* total += prior * the shrunk covariance of one class. */
static void add_class(class_rows *of, size_t d, double prior, double *total) {
    double *one = of->one;
    memset(one, 0, d * d * sizeof *one);
    for (size_t i = 0; i < of->n * d; i++)
        of->rows[i] *= of->roots[i / d];
    lm_add_outer(one, d, of->rows, of->n);
    lm_mirror(one, d);
    for (size_t i = 0; i < of->n * d; i++)
        of->rows[i] /= of->roots[i / d];
    if (d > 1)
        lm_shrink(one, d, ledoit_wolf_share(of, d));
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            total[i * d + j] += prior * one[i * d + j] * of->scale[i] * of->scale[j];
}

static void class_rows_free(const limn_allocator *mem, class_rows *of) {
    lm_free(mem, of->rows);
    lm_free(mem, of->roots);
    lm_free(mem, of->scale);
    lm_free(mem, of->one);
}

limn_status lm_covariance_auto(limn_context *ctx, const float *x, const int32_t *label,
                               const lm_moments *m, const double *prior, double *covariance) {
    size_t d = m->d, most = 0, cells;
    limn_status status = LIMN_OK;
    class_rows of = {.n = 0};
    for (size_t c = 0; c < m->classes; c++)
        most = m->count[c] > most ? m->count[c] : most;
    if (lm_mul(most, d, &cells))
        of.rows = lm_alloc(&ctx->mem, cells, sizeof *of.rows);
    if (lm_mul(d, d, &cells))
        of.one = lm_alloc(&ctx->mem, cells, sizeof *of.one);
    of.roots = lm_alloc(&ctx->mem, most, sizeof *of.roots);
    of.scale = lm_alloc(&ctx->mem, d, sizeof *of.scale);
    if (of.rows && of.one && of.roots && of.scale)
        memset(covariance, 0, d * d * sizeof *covariance);
    else
        status = lm_fail_memory(ctx);
    for (size_t c = 0; c < m->classes && status == LIMN_OK; c++) {
        standardise(x, label, m, c, &of);
        add_class(&of, d, prior[c], covariance);
        status = lm_progress(ctx, "training", 0, 0, (double)(c + 1) / (double)m->classes);
    }
    class_rows_free(&ctx->mem, &of);
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
