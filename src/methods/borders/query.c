/* query.c: one packed scan for the nearest border of every pair, one product with its normal, and
 * classes, votes and probabilities from these; or, in a decision graph, the same for one pair after
 * the other, until one class is left.
 *
 * A decision graph gives probabilities from the pairs that it asks: each class but the answer lost
 * to one that stayed longer, and exp(-a |g|) of that pair are its odds. The few classes that are
 * the most probable then are coupled, which asks the rest of their pairs. */
#include "base/argmax.h"
#include "methods/borders/borders.h"
#include "num/rows.h"

#include <math.h>

enum { TILE = 16, TILE_FLOATS = 1 << 16 };
#define FAR 1e15 /* so that products stay within the range of floats */

typedef struct layout {
    size_t tile;     /* queries at once */
    float *q;        /* tile x stride */
    float *value;    /* tile x places, or those of one pair */
    uint32_t *index; /* pairs: the nearest border */
    double *dot;     /* pairs */
    double *g;       /* rows x pairs */
    double *couple;  /* of lm_couple_values, then p (classes); or votes */
} layout;

/* Whether the nearest vectors have to be searched for: not if no pair has two. */
static bool searches(const bd_model *m) {
    return m->longest > 0;
}

static layout lay_out(const bd_model *m, size_t rows, lm_cursor *at) {
    size_t k = m->classes, places = (m->dag ? m->longest : m->pack.panels) * LM_PANEL;
    layout l;
    l.tile = places && !m->dag ? TILE_FLOATS / places : TILE;
    l.tile = l.tile < TILE ? l.tile : TILE;
    l.tile = l.tile ? l.tile : 1;
    l.tile = l.tile < rows ? l.tile : rows;
    l.q = lm_take_cells(at, l.tile, m->stride, sizeof *l.q);
    l.value = lm_take_cells(at, m->dag ? 1 : l.tile, places, sizeof *l.value);
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

/* g of every pair, the nearest vectors being known; UINT32_MAX: the pair has none. */
static void decide(const bd_model *m, const float *q, layout *l, double *g) {
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

/* The vector nearest to q of a pair that has one; value: room for its places. */
static uint32_t nearest(const bd_model *m, size_t pair, const float *q, float *value) {
    size_t count = bd_count(m, pair), panels = (count + LM_PANEL - 1) / LM_PANEL;
    if (count == 1)
        return m->start[pair];
    lm_pack_query(&m->pack, LM_DOT, m->first[pair] / LM_PANEL, panels, q, value);
    return m->start[pair] + (uint32_t)lm_argmin(value, count);
}

/* One pair after the other: in a decision graph they begin panels. */
static void decide_each(const bd_model *m, const float *x, size_t n, layout *l, double *g) {
    for (size_t i = 0; i < n; i++) {
        take_query(m, x + i * m->d, l->q);
        for (size_t p = 0; p < m->pairs; p++)
            l->index[p] = bd_count(m, p) ? nearest(m, p, l->q, l->value) : UINT32_MAX;
        decide(m, l->q, l, g + i * m->pairs);
    }
}

/* One scan for all pairs. */
static void decide_tile(const bd_model *m, size_t n, layout *l, double *g) {
    const lm_pack *pack = &m->pack;
    size_t places = pack->panels * LM_PANEL;
    if (n == 1)
        lm_pack_query(pack, LM_DOT, 0, pack->panels, l->q, l->value);
    else
        lm_pack_block(pack, LM_DOT, 0, pack->panels, l->q, m->stride, n, l->value, places);
    for (size_t i = 0; i < n; i++) {
        lm_segment_argmin(l->value + i * places, m->start, m->pairs, l->index);
        decide(m, l->q + i * m->stride, l, g + i * m->pairs);
    }
}

static void decide_all(const bd_model *m, const float *x, size_t n, layout *l, double *g) {
    for (size_t i = 0; i < n * m->pairs && !m->n; i++)
        g[i] = m->constant[i % m->pairs];
    if (m->n && (m->dag || !searches(m))) {
        decide_each(m, x, n, l, g);
        return;
    }
    for (size_t done = 0; done < n && m->n; done += l->tile) {
        size_t some = n - done < l->tile ? n - done : l->tile;
        for (size_t q = 0; q < some; q++)
            take_query(m, x + (done + q) * m->d, l->q + q * m->stride);
        decide_tile(m, some, l, g + done * m->pairs);
    }
}

/* ---- the decision graph ---- */

/* Who went, in order: the pair that decided it, who won, and g. */
typedef struct defeat {
    uint32_t loser, winner, pair;
    double g;
} defeat;

/* g of one pair. */
static double decide_pair(const bd_model *m, size_t pair, layout *l) {
    double dot;
    if (bd_count(m, pair) == 0)
        return m->constant[pair];
    uint32_t index = nearest(m, pair, l->q, l->value);
    lm_gather_kernel(LM_DOT)(l->q, m->normal, m->stride, &index, 1, &dot);
    return m->slope[index] * dot;
}

/* The class of x; defeats: classes - 1. */
static size_t find_class(const bd_model *m, const float *x, layout *l, defeat *defeats) {
    bd_descent at = bd_descent_begin(m->classes);
    if (at.low < at.high)
        take_query(m, x, l->q);
    while (at.low < at.high) {
        size_t pair = lm_pair_index(m->classes, at.low, at.high), both = at.low + at.high;
        double g = decide_pair(m, pair, l);
        size_t loser = bd_descend(&at, g);
        *defeats++ = (defeat){(uint32_t)loser, (uint32_t)(both - loser), (uint32_t)pair, g};
    }
    return at.low;
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

static void couple(const bd_model *m, const layout *l, size_t q, double *p) {
    lm_couple_values(m->classes, l->g + q * m->pairs, m->steep, m->shift, LM_COUPLE_EXACT, p,
                     l->couple);
}

enum { COUPLED = 4 };
#define MOST_EVEN (1 - 1e-9) /* so that the class found has the largest probability */
#define LEAST_ODDS 1e-4
#define LEAST_PROBA 1e-7

/* Every class but the answer lost to another: the odds of these pairs give all probabilities, up to
 * a factor. */
static void chain(const bd_model *m, const defeat *defeats, size_t answer, double *p) {
    p[answer] = 1;
    for (size_t i = m->classes - 1; i-- > 0;) {
        const defeat *t = &defeats[i];
        double odds = exp(-fabs(m->steep[t->pair] * t->g));
        odds = odds < MOST_EVEN ? odds : MOST_EVEN;
        p[t->loser] = p[t->winner] * (odds > LEAST_ODDS ? odds : LEAST_ODDS);
    }
}

/* The classes that may be right are coupled by all their pairs, and share anew what the chain gave
 * them. The answer, class[0], keeps the largest share. */
static void refine(const bd_model *m, layout *l, double *p) {
    size_t class[COUPLED], k = lm_largest(p, m->classes, COUPLED, class);
    double r[COUPLED * COUPLED], share[COUPLED], scratch[COUPLED * COUPLED + COUPLED], mass = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) {
            if (class[i] >= class[j])
                continue;
            size_t pair = lm_pair_index(m->classes, class[i], class[j]);
            double one = lm_platt((lm_sigmoid_fit){m->steep[pair], 0}, decide_pair(m, pair, l));
            r[i * k + j] = fmin(fmax(one, LEAST_PROBA), 1 - LEAST_PROBA);
            r[j * k + i] = 1 - r[i * k + j];
        }
    lm_couple(k, r, LM_COUPLE_EXACT, share, scratch);
    size_t best = lm_argmax(share, k);
    double largest = share[best];
    share[best] = share[0];
    share[0] = largest * (1 + 1e-9);
    for (size_t i = 0; i < k; i++)
        mass += p[class[i]];
    for (size_t i = 0; i < k; i++)
        p[class[i]] = mass * share[i];
}

static void normalise(double *p, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p[i];
    for (size_t i = 0; i < n; i++)
        p[i] /= sum;
}

/* In a decision graph: classes, or probabilities. */
static void walk(const bd_model *m, const float *x, size_t n, int32_t *classes, double *proba,
                 void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    defeat *defeats = (defeat *)(void *)l.couple;
    for (size_t i = 0; i < n; i++) {
        size_t answer = find_class(m, x + i * m->d, &l, defeats);
        if (classes) {
            classes[i] = (int32_t)answer;
            continue;
        }
        double *p = proba + i * m->classes;
        chain(m, defeats, answer, p);
        refine(m, &l, p);
        normalise(p, m->classes);
    }
}

void bd_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const bd_model *m = opaque;
    if (m->dag) {
        walk(m, x, n, NULL, proba, scratch);
        return;
    }
    layout l = begin(m, x, n, scratch);
    for (size_t q = 0; q < n; q++)
        couple(m, &l, q, proba + q * m->classes);
}

void bd_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const bd_model *m = opaque;
    if (m->dag) {
        walk(m, x, n, classes, NULL, scratch);
        return;
    }
    layout l = begin(m, x, n, scratch);
    double *p = l.couple + lm_couple_scratch(m->classes);
    for (size_t q = 0; q < n; q++) {
        couple(m, &l, q, p);
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

/* ---- figures ---- */

static double touched_by_all(const bd_model *m) {
    double vectors = 0;
    for (size_t p = 0; p < m->pairs; p++)
        vectors += (double)(searches(m) && bd_count(m, p) ? bd_count(m, p) + 1 : bd_count(m, p));
    return vectors > 0 ? vectors : 1;
}

void bd_touched(const void *opaque, const float *x, size_t n, lm_touched *sum, void *scratch) {
    const bd_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    defeat *defeats = (defeat *)(void *)l.couple;
    double vectors = m->dag ? 0 : touched_by_all(m) * (double)n;
    for (size_t i = 0; i < n && m->dag; i++) {
        (void)find_class(m, x + i * m->d, &l, defeats);
        for (size_t k = 0; k + 1 < m->classes; k++)
            vectors += (double)bd_pair_touched(m, defeats[k].pair);
    }
    sum->vectors += vectors;
    sum->bytes += vectors * (double)(m->d + 1) * (double)sizeof(float);
}

void bd_stats(const void *opaque, lm_stats *stats) {
    const bd_model *m = opaque;
    const struct {
        const char *name;
        double value;
    } list[] = {
        {"border vectors", (double)m->n},
        {"pairs of classes", (double)m->pairs},
        {"pairs decided by borders", (double)m->forms[BD_BORDERS]},
        {"pairs decided by a plane", (double)m->forms[BD_PLANE]},
        {"pairs decided by cells", (double)m->forms[BD_CELLS]},
        {"pairs without a border", (double)m->forms[BD_AUTO]},
        {"pairs asked per query", (double)(m->dag ? m->classes - 1 : m->pairs)},
        {"pairs with a fitted sigmoid", (double)m->fitted},
        {"% agreement with the teacher", 100 * m->agreement},
        {"points asked of the teacher", m->asked},
    };
    double vectors = m->dag ? m->visited : touched_by_all(m);
    *stats = (lm_stats){.touched = {vectors, vectors * (double)(m->d + 1) * (double)sizeof(float)},
                        .count = LM_COUNT(list)};
    for (size_t i = 0; i < LM_COUNT(list); i++) {
        stats->list[i].name = list[i].name;
        stats->list[i].value = list[i].value;
    }
}
