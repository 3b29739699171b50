/* query.c: x - centre, one packed dot product a class, the largest score. */
#include "methods/lda/lda.h"

#include <math.h>

static size_t row_floats(const lda_model *m) {
    return (m->d + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

/* The centred rows, then their scores. */
bool lda_scratch_size(const void *opaque, size_t rows, size_t neighbors, size_t *bytes) {
    (void)neighbors;
    const lda_model *m = opaque;
    size_t floats;
    return lm_add(row_floats(m), m->weights.panels * LM_PANEL, &floats) &&
           lm_mul(rows, floats, &floats) && lm_mul(floats, sizeof(float), bytes);
}

/* n rows of panels * LM_PANEL products behind the centred rows. */
static const float *products(const lda_model *m, const float *x, size_t n, float *scratch) {
    size_t stride = row_floats(m), panels = m->weights.panels;
    float *out = scratch + n * stride;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m->d; j++)
            scratch[i * stride + j] = x[i * m->d + j] - m->centre[j];
    lm_pack_block(&m->weights, LM_DOT, 0, panels, scratch, stride, n, out, panels * LM_PANEL);
    return out;
}

static double score(const lda_model *m, const float *row, size_t c) {
    return (double)row[c] + m->bias[c];
}

static size_t best_class(const lda_model *m, const float *row) {
    size_t best = 0;
    for (size_t c = 1; c < m->classes; c++)
        if (score(m, row, c) > score(m, row, best))
            best = c;
    return best;
}

void lda_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const lda_model *m = opaque;
    const float *out = products(m, x, n, scratch);
    for (size_t i = 0; i < n; i++)
        classes[i] = (int32_t)best_class(m, out + i * m->weights.panels * LM_PANEL);
}

void lda_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const lda_model *m = opaque;
    const float *out = products(m, x, n, scratch);
    for (size_t i = 0; i < n; i++) {
        const float *row = out + i * m->weights.panels * LM_PANEL;
        double *p = proba + i * m->classes, sum = 0;
        size_t best = best_class(m, row);
        double top = score(m, row, best);
        for (size_t c = 0; c < m->classes; c++) {
            /* Scores of a query at the end of float's range may be infinite or undefined. */
            p[c] = c == best ? 1 : isfinite(top) ? exp(score(m, row, c) - top) : 0;
            sum += p[c];
        }
        for (size_t c = 0; c < m->classes; c++)
            p[c] /= sum;
    }
}

void lda_stats(const void *opaque, lm_stats *stats) {
    const lda_model *m = opaque;
    *stats = (lm_stats){.touched_vectors = (double)m->classes,
                        .touched_bytes = (double)m->classes * (double)m->d * (double)sizeof(float),
                        .count = 1};
    stats->list[0].name = "vectors";
    stats->list[0].value = (double)m->classes;
}
