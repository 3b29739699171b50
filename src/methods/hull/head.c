/* head.c: the head subspace: principal axes of all data, and the hulls projected onto them. */
#include "methods/hull/build.h"
#include "num/linalg.h"

#include <math.h>
#include <string.h>

enum {
    AXES = 64,
    LEAST_FEATURES = 96,  /* with fewer the hulls themselves are cheap */
    MOST_FEATURES = 1500, /* with more the axes are expensive */
    SAMPLE = 3000         /* rows that the axes are found from */
};

/* Directions of a projected basis no longer than this lie outside the head. */
#define OUTSIDE 1e-9

/* Counts multiply-adds, assuming that one or two classes are left to measure. */
size_t hull_head_axes(const hull_model *m, const uint32_t *start) {
    hull_kind kind = m->options.kind;
    double d = (double)m->d, places = (double)start[m->classes] * LM_PANEL, axes = AXES;
    if ((kind != HULL_NAH && kind != HULL_NHD) || m->d < LEAST_FEATURES || m->d > MOST_FEATURES ||
        m->classes < 3 || places == 0)
        return 0;
    double head = axes * d + places * axes + 2 * places / (double)m->classes * d;
    return head < 0.8 * places * d ? AXES : 0;
}

/* The axes, as the first rows of *axes (free with lm_free). */
static limn_status find_axes(limn_context *ctx, const lm_train_set *set, const hull_model *m,
                             double **axes) {
    size_t d = m->d, count = set->n < SAMPLE ? set->n : SAMPLE;
    *axes = lm_alloc_zero(&ctx->mem, d * d, sizeof **axes);
    double *row = lm_alloc(&ctx->mem, d, sizeof *row);
    double *lambda = lm_alloc(&ctx->mem, d, sizeof *lambda);
    limn_status status = *axes && row && lambda ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < count && status == LIMN_OK; i++) {
        const float *x = set->x + (size_t)((double)i / (double)count * (double)set->n) * d;
        for (size_t j = 0; j < d; j++)
            row[j] = (double)x[j] - (double)m->flat.origin[j];
        lm_add_outer(*axes, d, row, 1);
    }
    if (status == LIMN_OK) {
        lm_mirror(*axes, d);
        status = lm_eigen_top(ctx, *axes, d, m->flat.axes, lambda);
    }
    lm_free(&ctx->mem, row);
    lm_free(&ctx->mem, lambda);
    return status;
}

/* The exact basis row at a position. */
static void basis_row(const hull_model *m, size_t place, double *row) {
    size_t at = place / LM_PANEL * LM_PANEL * m->d + place % LM_PANEL;
    for (size_t j = 0; j < m->d; j++)
        row[j] = (double)m->flat.basis.high.data[at + j * LM_PANEL] +
                 (double)m->flat.basis.low.data[at + j * LM_PANEL];
}

/* Orthonormal rows that span the class's hull in the head; head_mean: the class's mean there. */
static limn_status project_class(limn_context *ctx, hull_model *m, size_t c, const double *axes,
                                 const double *head_mean) {
    size_t first = (size_t)m->flat.start[c] * LM_PANEL, d = m->d, h = m->flat.axes;
    size_t p = (size_t)m->flat.start[c + 1] * LM_PANEL - first, k = p < h ? p : h;
    double *rows = lm_alloc(&ctx->mem, p * d, sizeof *rows);
    double *seen = lm_alloc(&ctx->mem, p * h, sizeof *seen);
    double *s = lm_alloc(&ctx->mem, k, sizeof *s), *left = lm_alloc(&ctx->mem, p * k, sizeof *left);
    double *right = lm_alloc(&ctx->mem, k * h, sizeof *right);
    limn_status status = rows && seen && s && left && right ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        for (size_t j = 0; j < p; j++)
            basis_row(m, first + j, rows + j * d);
        lm_row_products(rows, p, axes, h, d, seen);
        status = lm_singular(ctx, seen, p, h, s, left, right);
    }
    double *offset = (double *)(uintptr_t)m->flat.head_offset;
    for (size_t j = 0; j < k && status == LIMN_OK && s[j] > OUTSIDE; j++) {
        size_t place = first + j, at = place / LM_PANEL * LM_PANEL * h + place % LM_PANEL;
        for (size_t i = 0; i < h; i++) {
            m->flat.head_basis.data[at + i * LM_PANEL] = (float)right[j * h + i];
            offset[place] += right[j * h + i] * head_mean[i];
        }
    }
    lm_free(&ctx->mem, rows);
    lm_free(&ctx->mem, seen);
    lm_free(&ctx->mem, s);
    lm_free(&ctx->mem, left);
    lm_free(&ctx->mem, right);
    return status;
}

limn_status hull_build_head(limn_context *ctx, const lm_train_set *set, hull_model *m) {
    size_t d = m->d, h = m->flat.axes;
    double *axes = NULL, *mean = lm_alloc(&ctx->mem, d + h, sizeof *mean);
    limn_status status = mean ? find_axes(ctx, set, m, &axes) : lm_fail_memory(ctx);
    for (size_t a = 0; a < h && status == LIMN_OK; a++)
        for (size_t j = 0; j < d; j++)
            m->flat.head.data[(a / LM_PANEL * d + j) * LM_PANEL + a % LM_PANEL] =
                (float)axes[a * d + j];
    for (size_t c = 0; c < m->classes && status == LIMN_OK; c++) {
        for (size_t j = 0; j < d; j++)
            mean[j] = m->flat.mean[c * d + j] - (double)m->flat.origin[j];
        lm_row_products(mean, 1, axes, h, d, mean + d);
        for (size_t i = 0; i < h; i++)
            m->flat.head_mean.data[(c / LM_PANEL * h + i) * LM_PANEL + c % LM_PANEL] =
                (float)mean[d + i];
        if (m->flat.start[c + 1] > m->flat.start[c])
            status = project_class(ctx, m, c, axes, mean + d);
    }
    lm_free(&ctx->mem, axes);
    lm_free(&ctx->mem, mean);
    return status;
}
