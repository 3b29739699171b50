/* query.c: from distances to classes, probabilities and scores. */
#include "base/argmax.h"
#include "methods/hull/hull.h"

#include <math.h>

/* The least squared distance, and by how much ties may differ. */
typedef struct range {
    double least, equal;
} range;

static range find_range(const hull_found *found, size_t classes) {
    double least = INFINITY, scale = 0;
    for (size_t c = 0; c < classes; c++) {
        least = fmin(least, found[c].d2);
        scale = fmax(scale, found[c].centre);
    }
    return (range){least, HULL_TIE * scale};
}

size_t hull_nearest(const hull_found *found, size_t classes) {
    range r = find_range(found, classes);
    size_t best = classes;
    for (size_t c = 0; c < classes; c++) {
        if (!(found[c].d2 <= r.least + r.equal))
            continue;
        if (best == classes || found[c].centre < found[best].centre - r.equal)
            best = c;
    }
    return best < classes ? best : 0;
}

/* ---- the kinds of sets ---- */

static bool is_flat(const hull_model *m) {
    return !m->options.neighbors && !m->options.kernel_space && m->options.kind != HULL_NCH;
}

/* Distances of a batch, then the scratch of the kind of set. */
typedef struct layout {
    hull_found *found;
    void *own;
} layout;

static layout lay_out(const hull_model *m, size_t rows, lm_cursor *at) {
    layout l;
    l.found = lm_take_cells(at, rows, m->classes, sizeof *l.found);
    l.own = lm_here(at);
    return l;
}

void hull_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    const hull_model *m = opaque;
    (void)neighbors;
    (void)lay_out(m, rows, at);
    if (m->options.neighbors)
        hull_local_scratch(m, at);
    else if (m->options.kind == HULL_NCH)
        hull_convex_scratch(m, at);
    else if (m->options.kernel_space)
        hull_curved_scratch(m, at);
    else
        hull_flat_scratch(m, rows, at);
}

/* Distances of n rows from all classes: n x classes. prune: only the nearest matters. */
static void measure(const hull_model *m, const float *x, size_t n, bool prune, hull_found *found,
                    void *own) {
    if (is_flat(m)) {
        hull_flat_measure(m, x, n, found, own);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        hull_found *row = found + i * m->classes;
        if (m->options.neighbors)
            hull_local_measure(m, x + i * m->d, row, own);
        else if (m->options.kind == HULL_NCH)
            (void)hull_convex_measure(m, x + i * m->d, prune, row, own);
        else
            hull_curved_measure(m, x + i * m->d, row, own);
    }
}

/* ---- answers ---- */

void hull_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const hull_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    if (is_flat(m)) {
        (void)hull_flat_predict(m, x, n, classes, l.own);
        return;
    }
    measure(m, x, n, m->options.prune, l.found, l.own);
    for (size_t i = 0; i < n; i++) {
        const hull_found *row = l.found + i * m->classes;
        size_t best = hull_nearest(row, m->classes);
        classes[i] = row[best].d2 > m->limit ? -1 : (int32_t)best;
    }
}

/* Makes the nearest class the most probable one, although ties have equal probabilities. */
static void softmax(const hull_model *m, const hull_found *found, double *p) {
    size_t nearest = hull_nearest(found, m->classes);
    range r = find_range(found, m->classes);
    double sum = 0;
    for (size_t c = 0; c < m->classes; c++) {
        bool equal = c == nearest || found[c].d2 <= r.least + r.equal;
        double over = equal ? 0 : found[c].d2 - r.least;
        p[c] = isfinite(over) ? exp(-m->beta * over) : 0;
        sum += p[c];
    }
    for (size_t c = 0; c < m->classes; c++)
        p[c] /= sum;
    size_t top = lm_argmax(p, m->classes);
    if (top != nearest)
        p[nearest] = nextafter(p[top], 2);
}

void hull_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const hull_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    measure(m, x, n, false, l.found, l.own);
    for (size_t i = 0; i < n; i++)
        softmax(m, l.found + i * m->classes, proba + i * m->classes);
}

size_t hull_score_count(const void *opaque) {
    const hull_model *m = opaque;
    return m->classes;
}

void hull_scores(const void *opaque, const float *x, size_t n, double *scores, void *scratch) {
    const hull_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    measure(m, x, n, false, l.found, l.own);
    for (size_t i = 0; i < n * m->classes; i++)
        scores[i] = sqrt(l.found[i].d2);
}

/* One row at a time, as in single calls: a block of rows multiplies everything. */
void hull_touched(const void *opaque, const float *x, size_t n, lm_touched *sum, void *scratch) {
    const hull_model *m = opaque;
    bool convex = !m->options.neighbors && m->options.kind == HULL_NCH;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    lm_stats usual;
    hull_stats(m, &usual);
    for (size_t i = 0; i < n; i++) {
        const float *row = x + i * m->d;
        int32_t class;
        lm_touched one = is_flat(m) ? hull_flat_predict(m, row, 1, &class, l.own)
                         : convex   ? hull_convex_measure(m, row, m->options.prune, l.found, l.own)
                                    : usual.touched;
        sum->vectors += one.vectors;
        sum->bytes += one.bytes;
    }
}

unsigned hull_lacks(const void *opaque) {
    const hull_model *m = opaque;
    return m->options.reject > 0 ? 0 : LIMN_CAN_REJECT;
}

/* ---- figures ---- */

static void add_stat(lm_stats *stats, const char *name, double value) {
    stats->list[stats->count].name = name;
    stats->list[stats->count++].value = value;
}

void hull_stats(const void *opaque, lm_stats *stats) {
    const hull_model *m = opaque;
    double d = (double)m->d, samples = 0, places = 0;
    for (size_t c = 0; m->count && c < m->classes; c++) {
        samples += (double)m->count[c];
        if (m->curved.start)
            places += (double)(m->curved.start[c + 1] - m->curved.start[c]) * LM_PANEL *
                      (double)m->count[c];
    }
    *stats = (lm_stats){0};
    if (m->flat.start) {
        stats->touched.vectors = (double)m->directions + (double)m->classes;
        stats->touched.bytes = stats->touched.vectors * d * (double)sizeof(float);
    }
    stats->touched.vectors += samples;
    stats->touched.bytes += (samples * d + 2 * places) * (double)sizeof(float);
    add_stat(stats, "directions", (double)m->directions);
    if (m->count)
        add_stat(stats, "samples", samples);
    if (m->flat.axes)
        add_stat(stats, "head axes", (double)m->flat.axes);
    if (m->options.kernel_space)
        add_stat(stats, "gamma", m->options.kernel.gamma);
    if (m->options.kind == HULL_NRH)
        add_stat(stats, "rho", m->options.rho);
    add_stat(stats, "beta", m->beta);
    if (m->limit < INFINITY)
        add_stat(stats, "farthest known", sqrt(m->limit));
}
