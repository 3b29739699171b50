/* query.c: x - centre, one packed dot product per class, the largest score. */
#include "base/argmax.h"
#include "methods/lda/lda.h"

#include <math.h>

static size_t row_floats(const lda_model *m) {
    return (m->d + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

typedef struct layout {
    float *x;        /* rows x row_floats: relative to the centre */
    float *products; /* rows x panels * LM_PANEL */
    double *scores;  /* classes */
} layout;

static layout lay_out(const lda_model *m, size_t rows, lm_cursor *at) {
    layout l;
    l.x = lm_take_cells(at, rows, row_floats(m), sizeof *l.x);
    l.products = lm_take_cells(at, rows, m->weights.panels * LM_PANEL, sizeof *l.products);
    l.scores = lm_take(at, m->classes, sizeof *l.scores);
    return l;
}

void lda_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)neighbors;
    (void)lay_out(opaque, rows, at);
}

/* Multiplies n rows. */
static layout begin(const lda_model *m, const float *x, size_t n, void *scratch) {
    size_t stride = row_floats(m), panels = m->weights.panels;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m->d; j++)
            l.x[i * stride + j] = x[i * m->d + j] - m->centre[j];
    lm_pack_block(&m->weights, LM_DOT, 0, panels, l.x, stride, n, l.products, panels * LM_PANEL);
    return l;
}

/* The scores of row i; returns the class with the largest. */
static size_t best_class(const lda_model *m, const layout *l, size_t i) {
    const float *row = l->products + i * m->weights.panels * LM_PANEL;
    for (size_t c = 0; c < m->classes; c++)
        l->scores[c] = (double)row[c] + m->bias[c];
    return lm_argmax(l->scores, m->classes);
}

void lda_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const lda_model *m = opaque;
    layout l = begin(m, x, n, scratch);
    for (size_t i = 0; i < n; i++)
        classes[i] = (int32_t)best_class(m, &l, i);
}

void lda_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const lda_model *m = opaque;
    layout l = begin(m, x, n, scratch);
    for (size_t i = 0; i < n; i++) {
        double *p = proba + i * m->classes, sum = 0;
        size_t best = best_class(m, &l, i);
        double top = l.scores[best];
        for (size_t c = 0; c < m->classes; c++) {
            /* Scores of a query near the limits of float may be infinite or NaN. */
            p[c] = c == best ? 1 : isfinite(top) ? exp(l.scores[c] - top) : 0;
            sum += p[c];
        }
        for (size_t c = 0; c < m->classes; c++)
            p[c] /= sum;
    }
}

void lda_stats(const void *opaque, lm_stats *stats) {
    const lda_model *m = opaque;
    *stats = (lm_stats){
        .touched = {(double)m->classes, (double)m->classes * (double)m->d * (double)sizeof(float)},
        .count = 1};
    stats->list[0].name = "vectors";
    stats->list[0].value = (double)m->classes;
}
