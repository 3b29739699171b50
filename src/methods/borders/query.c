/* query.c: one packed scan for the nearest border of every pair, one product with its normal, and
 * classes, votes and probabilities from these. */
#include "base/argmax.h"
#include "methods/borders/borders.h"
#include "num/rows.h"

enum { TILE = 16, TILE_FLOATS = 1 << 16 };
#define FAR 1e15 /* so that products stay within the range of floats */

typedef struct layout {
    size_t tile;     /* queries at once */
    float *q;        /* tile x stride */
    float *value;    /* tile x places */
    uint32_t *index; /* pairs: the nearest border */
    double *dot;     /* pairs */
    double *g;       /* rows x pairs */
    double *couple;  /* of lm_couple_values, then p (classes); or votes */
} layout;

static layout lay_out(const bd_model *m, size_t rows, lm_cursor *at) {
    size_t k = m->classes, places = m->pack.panels * LM_PANEL;
    layout l;
    l.tile = places ? TILE_FLOATS / places : TILE;
    l.tile = l.tile < TILE ? l.tile : TILE;
    l.tile = l.tile ? l.tile : 1;
    l.tile = l.tile < rows ? l.tile : rows;
    l.q = lm_take_cells(at, l.tile, m->stride, sizeof *l.q);
    l.value = lm_take_cells(at, l.tile, places, sizeof *l.value);
    l.index = lm_take(at, m->pairs, sizeof *l.index);
    l.dot = lm_take(at, m->pairs, sizeof *l.dot);
    l.couple = lm_take(at, lm_couple_scratch(k) + k, sizeof *l.couple);
    l.g = lm_take_cells(at, rows, m->pairs, sizeof *l.g);
    return l;
}

void bd_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)neighbors;
    (void)lay_out(opaque, rows, at);
}

/* ---- decision values ---- */

static void take_query(const bd_model *m, const float *x, float *q) {
    for (size_t j = 0; j < m->d; j++) {
        double value = ((double)x[j] - m->centre[j]) * m->scale;
        value = value < FAR ? value : FAR;
        q[j] = (float)(value > -FAR ? value : -FAR);
    }
    q[m->d] = 1;
    for (size_t j = m->d + 1; j < m->stride; j++)
        q[j] = 0;
}

/* g of every pair from the products of one query with the packed set. */
static void decide(const bd_model *m, const float *q, const float *value, layout *l, double *g) {
    lm_segment_argmin(value, m->start, m->pairs, l->index);
    bool gaps = false;
    for (size_t p = 0; p < m->pairs; p++) {
        gaps |= l->index[p] == UINT32_MAX;
        l->index[p] = l->index[p] == UINT32_MAX ? 0 : l->index[p];
    }
    lm_gather_kernel(LM_DOT)(q, m->normal, m->stride, l->index, m->pairs, l->dot);
    for (size_t p = 0; p < m->pairs; p++)
        g[p] = m->slope[l->index[p]] * l->dot[p];
    for (size_t p = 0; p < m->pairs && gaps; p++)
        g[p] = m->start[p] == m->start[p + 1] ? m->constant[p] : g[p];
}

static void decide_all(const bd_model *m, const float *x, size_t n, layout *l, double *g) {
    const lm_pack *pack = &m->pack;
    size_t places = pack->panels * LM_PANEL;
    for (size_t i = 0; i < n * m->pairs && !pack->n; i++)
        g[i] = m->constant[i % m->pairs];
    for (size_t done = 0; done < n && pack->n; done += l->tile) {
        size_t some = n - done < l->tile ? n - done : l->tile;
        for (size_t q = 0; q < some; q++)
            take_query(m, x + (done + q) * m->d, l->q + q * m->stride);
        if (some == 1)
            lm_pack_query(pack, LM_DOT, 0, pack->panels, l->q, l->value);
        else
            lm_pack_block(pack, LM_DOT, 0, pack->panels, l->q, m->stride, some, l->value, places);
        for (size_t q = 0; q < some; q++)
            decide(m, l->q + q * m->stride, l->value + q * places, l, g + (done + q) * m->pairs);
    }
}

/* ---- answers ---- */

static layout begin(const bd_model *m, const float *x, size_t n, void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    decide_all(m, x, n, &l, l.g);
    return l;
}

void bd_vote(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const bd_model *m = opaque;
    layout l = begin(m, x, n, scratch);
    for (size_t q = 0; q < n; q++)
        classes[q] = lm_vote_pairs(m->classes, l.g + q * m->pairs, (int32_t *)(void *)l.couple);
}

static void row_proba(const bd_model *m, const layout *l, size_t q, double *p) {
    lm_couple_values(m->classes, l->g + q * m->pairs, m->steep, m->shift, LM_COUPLE_EXACT, p,
                     l->couple);
}

void bd_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const bd_model *m = opaque;
    layout l = begin(m, x, n, scratch);
    for (size_t q = 0; q < n; q++)
        row_proba(m, &l, q, proba + q * m->classes);
}

void bd_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const bd_model *m = opaque;
    layout l = begin(m, x, n, scratch);
    double *p = l.couple + lm_couple_scratch(m->classes);
    for (size_t q = 0; q < n; q++) {
        row_proba(m, &l, q, p);
        classes[q] = (int32_t)lm_argmax(p, m->classes);
    }
}

size_t bd_score_count(const void *opaque) {
    const bd_model *m = opaque;
    return m->pairs;
}

void bd_scores(const void *opaque, const float *x, size_t n, double *scores, void *scratch) {
    const bd_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    decide_all(m, x, n, &l, scores);
}

void bd_stats(const void *opaque, lm_stats *stats) {
    const bd_model *m = opaque;
    size_t none = 0;
    for (size_t p = 0; p < m->pairs; p++)
        none += m->start[p] == m->start[p + 1];
    double vectors = (double)(m->pack.n + m->pairs - none);
    const struct {
        const char *name;
        double value;
    } list[] = {
        {"border vectors", (double)m->pack.n},
        {"pairs of classes", (double)m->pairs},
        {"pairs without a border", (double)none},
        {"pairs with a fitted sigmoid", (double)m->fitted},
        {"% agreement with the teacher", 100 * m->agreement},
        {"points asked of the teacher", m->asked},
    };
    vectors = vectors > 0 ? vectors : 1;
    *stats = (lm_stats){.touched = {vectors, vectors * (double)(m->d + 1) * (double)sizeof(float)},
                        .count = LM_COUNT(list)};
    for (size_t i = 0; i < LM_COUNT(list); i++) {
        stats->list[i].name = list[i].name;
        stats->list[i].value = list[i].value;
    }
}
