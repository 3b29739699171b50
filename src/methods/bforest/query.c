/* query.c: the forest votes; the end x_i of each tree, at distance d_i, has weight 1/d_i (Shepard).
 *
 * Classify: the class with the largest sum of 1/d_i. Regress: sum(c_i / d_i) / sum(1 / d_i). If any
 * d_i is 0, only those count, equally. In style=forest a stored row that equals the query answers
 * alone. Early stop (classify): after each group of 8 trees, if the lead over the second class is
 * more than alpha times the trees left times the mean weight so far, or on an exact hit.
 *
 * A tree whose descent ends at a signpost votes with the last live point on its path. If no tree
 * has one, the nearest of all live points answers; if there is none, all classes are equally
 * likely. */
#include "base/argmax.h"
#include "methods/bforest/bforest.h"

#include <math.h>

/* Below this number of features computing a distance is cheaper than looking it up. */
enum { CACHE_FROM = 48 };

/* ---- votes ---- */

static double weight_of(const bf_model *m, uint32_t key) {
    double distance = bf_unkey(key);
    return 1 / (m->metric == BF_L2 ? sqrt(distance) : distance);
}

static void vote_for(const bf_model *m, bf_vote *v, uint32_t point, uint32_t key) {
    double weight = 1;
    if (key == 0 && v->abstain)
        return;
    if (key == 0 && !v->exact) { /* earlier votes no longer count */
        v->exact = true;
        v->sum = v->mean = 0;
        if (m->task == LIMN_CLASSIFY)
            memset(v->votes, 0, m->classes * sizeof *v->votes);
    } else if (key != 0) {
        if (v->exact)
            return;
        weight = weight_of(m, key);
    }
    v->voters++;
    v->sum += weight;
    if (m->task == LIMN_CLASSIFY) {
        v->votes[m->store.label[point]] += weight;
    } else {
        double share = weight / v->sum, value = m->store.value[point], step = value - v->mean;
        /* Equal values give exactly that mean; the other form cannot overflow. */
        v->mean = isfinite(step) ? v->mean + share * step : v->mean * (1 - share) + value * share;
    }
}

static bool decided(const bf_model *m, const bf_vote *v, size_t asked) {
    double top = 0, second = 0;
    if (v->exact)
        return true;
    for (size_t c = 0; c < m->classes; c++) {
        double votes = v->votes[c];
        second = votes > top ? top : votes > second ? votes : second;
        top = votes > top ? votes : top;
    }
    return top - second > m->alpha * (double)(m->trees - asked) * v->sum / (double)asked;
}

/* The nearest live point of all. */
static void ask_all(const bf_model *m, bf_probe *p, bf_vote *v) {
    const bf_store *s = &m->store;
    uint32_t best = BF_NONE, best_key = 0;
    for (size_t i = 0; i < s->slots; i++) {
        if (s->state[i] != BF_LIVE)
            continue;
        uint32_t key = bf_distance(m, p, (uint32_t)i);
        if (best == BF_NONE || key < best_key ||
            (key == best_key && bf_preferred(m, m->trees, key, (uint32_t)i, best))) {
            best = (uint32_t)i;
            best_key = key;
        }
    }
    if (best != BF_NONE)
        vote_for(m, v, best, best_key);
}

static void ask_trees(const bf_model *m, bf_probe *p, bf_end *ends, bool *known, bf_vote *v) {
    bool may_stop = m->task == LIMN_CLASSIFY && m->alpha > 0;
    for (size_t from = 0; from < m->trees; from += BF_GROUP) {
        size_t to = m->trees - from < BF_GROUP ? m->trees : from + BF_GROUP;
        bf_end group[BF_GROUP];
        if (known) {
            bf_find_ends(m, p, from, to, NULL, ends, known);
            memcpy(group, ends + from, (to - from) * sizeof *group);
        } else {
            size_t all[BF_GROUP];
            for (size_t t = from; t < to; t++)
                all[t - from] = t;
            bf_descend_some(m, all, to - from, p, group, NULL);
        }
        for (size_t i = 0; i < to - from; i++)
            if (group[i].voter != BF_NONE)
                vote_for(m, v, group[i].voter, group[i].key);
        if (may_stop && to - from == BF_GROUP && decided(m, v, to))
            return;
    }
}

static void clear_votes(const bf_model *m, bf_vote *v) {
    *v = (bf_vote){.votes = v->votes, .abstain = v->abstain};
    if (m->task == LIMN_CLASSIFY)
        memset(v->votes, 0, m->classes * sizeof *v->votes);
}

void bf_ask(const bf_model *m, bf_probe *p, bf_end *ends, bool *known, bf_vote *v) {
    uint32_t same = bf_store_find(&m->store, p->x);
    clear_votes(m, v);
    if (same != BF_NONE) {
        vote_for(m, v, same, 0);
        return;
    }
    ask_trees(m, p, ends, known, v);
    if (!v->voters)
        ask_all(m, p, v);
}

uint64_t bf_measure(const bf_model *m, bf_probe *p, bf_vote *v) {
    uint64_t before = p->comparisons;
    clear_votes(m, v);
    ask_trees(m, p, NULL, NULL, v);
    return p->comparisons - before;
}

int32_t bf_winner(const bf_model *m, const bf_vote *v) {
    return v->voters ? (int32_t)lm_argmax(v->votes, m->classes) : -1;
}

/* ---- queries ---- */

bool bf_keeps_distances(const bf_model *m) {
    return m->metric == BF_CALLER || m->d >= CACHE_FROM;
}

/* Fewer rows than this are asked one by one; the floats of more than the others at once would not
 * stay in the cache. */
enum { MANY = 16, MOST_FLOATS = 1 << 17, MOST_ROWS = 4096 };

size_t bf_batch(const void *opaque) {
    const bf_model *m = opaque;
    size_t rows = MOST_FLOATS / m->store.stride;
    return rows < LM_BATCH ? LM_BATCH : rows < MOST_ROWS ? rows : MOST_ROWS;
}

/* The memory of one row, then of many. */
typedef struct layout {
    bf_vote vote;
    float *x;
    uint8_t *bytes;
    uint64_t *cache;
    lm_touched touched; /* by all rows */
    float *rows;        /* padded */
    uint8_t *row_bytes;
    double *vote_room;
    bf_crowd crowd;
    bf_vote *votes;
    uint32_t *asked; /* the rows whose answer is not yet decided */
} layout;

/* A caller's function costs most; one row at a time, it is called once per stored row. */
static bool asks_together(const bf_model *m, size_t rows) {
    return rows >= MANY && m->metric != BF_CALLER;
}

static void lay_out_crowd(const bf_model *m, size_t rows, lm_cursor *at, layout *l) {
    bf_crowd *c = &l->crowd;
    l->rows = lm_take_cells(at, rows, m->store.stride, sizeof *l->rows);
    l->row_bytes = lm_take_cells(at, rows, m->store.stride, sizeof *l->row_bytes);
    l->vote_room = lm_take_cells(at, rows, m->classes, sizeof *l->vote_room);
    c->probe = lm_take(at, rows, sizeof *c->probe);
    c->walk = lm_take(at, rows, sizeof *c->walk);
    c->order = lm_take(at, rows, sizeof *c->order);
    c->sorted = lm_take(at, rows, sizeof *c->sorted);
    c->alone = lm_take(at, rows, sizeof *c->alone);
    c->choice = lm_take(at, rows, sizeof *c->choice);
    c->pending = lm_take(at, rows, sizeof *c->pending);
    if (m->d <= BF_COLUMNS)
        c->columns = lm_take_cells(at, BF_COLUMNS, BF_CHUNK, sizeof *c->columns);
    l->votes = lm_take(at, rows, sizeof *l->votes);
    l->asked = lm_take(at, rows, sizeof *l->asked);
}

static layout lay_out(const bf_model *m, size_t rows, lm_cursor *at) {
    layout l = {.cache = NULL};
    l.vote.votes = lm_take(at, m->classes, sizeof *l.vote.votes);
    l.x = lm_take(at, m->store.stride, sizeof *l.x);
    l.bytes = lm_take(at, m->store.stride, sizeof *l.bytes);
    if (bf_keeps_distances(m))
        l.cache = lm_take(at, BF_CACHE, sizeof *l.cache);
    if (asks_together(m, rows))
        lay_out_crowd(m, rows, at, &l);
    return l;
}

void bf_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)neighbors;
    (void)lay_out(opaque, rows, at);
}

static layout begin(const bf_model *m, size_t rows, void *scratch) {
    lm_cursor cursor = lm_cursor_at(scratch);
    layout at = lay_out(m, rows, &cursor);
    memset(at.x, 0, m->store.stride * sizeof *at.x);
    return at;
}

static void ask_row(const bf_model *m, layout *at, const float *x) {
    memcpy(at->x, x, m->d * sizeof *x);
    bf_probe p = bf_probe_make(m, at->x, bf_bytes(&m->store, at->x, at->bytes), at->cache);
    bf_ask(m, &p, NULL, NULL, &at->vote);
    double size = (double)m->store.stride * (p.bytes ? 1 : (double)sizeof(float));
    at->touched.vectors += (double)p.comparisons;
    at->touched.bytes += (double)p.comparisons * size;
}

/* Rows that equal a stored one are answered; returns how many are not. */
static size_t begin_many(const bf_model *m, layout *at, const float *x, size_t n) {
    size_t stride = m->store.stride, asked = 0;
    for (size_t i = 0; i < n; i++) {
        float *row = at->rows + i * stride;
        memcpy(row, x + i * m->d, m->d * sizeof *x);
        memset(row + m->d, 0, (stride - m->d) * sizeof *x);
        const uint8_t *bytes = bf_bytes(&m->store, row, at->row_bytes + i * stride);
        at->crowd.probe[i] = bf_probe_make(m, row, bytes, NULL);
        at->votes[i] = (bf_vote){.votes = at->vote_room + i * m->classes};
        clear_votes(m, &at->votes[i]);
        uint32_t same = bf_store_find(&m->store, row);
        if (same != BF_NONE)
            vote_for(m, &at->votes[i], same, 0);
        else
            at->asked[asked++] = (uint32_t)i;
    }
    return asked;
}

/* The undecided rows ask one tree. */
static void ask_tree(const bf_model *m, layout *at, size_t tree, size_t asked) {
    memcpy(at->crowd.order, at->asked, asked * sizeof *at->asked);
    bf_descend_many(m, tree, asked, &at->crowd);
    for (size_t i = 0; i < asked; i++) {
        const bf_end *end = &at->crowd.walk[at->asked[i]].end;
        if (end->voter != BF_NONE)
            vote_for(m, &at->votes[at->asked[i]], end->voter, end->key);
    }
}

/* The same answers as bf_ask's, tree by tree. */
static void ask_many(const bf_model *m, layout *at, const float *x, size_t n) {
    bool may_stop = m->task == LIMN_CLASSIFY && m->alpha > 0;
    size_t asked = begin_many(m, at, x, n);
    for (size_t t = 0; t < m->trees && asked; t++) {
        ask_tree(m, at, t, asked);
        if (!may_stop || (t + 1) % BF_GROUP)
            continue;
        size_t left = 0;
        for (size_t i = 0; i < asked; i++)
            if (!decided(m, &at->votes[at->asked[i]], t + 1))
                at->asked[left++] = at->asked[i];
        asked = left;
    }
    for (size_t i = 0; i < n; i++)
        if (!at->votes[i].voters)
            ask_all(m, &at->crowd.probe[i], &at->votes[i]);
}

/* What to do with the vote about row i. */
typedef void give(const bf_model *m, const bf_vote *v, size_t i, void *out);

static void ask_rows(const bf_model *m, const float *x, size_t n, void *scratch, give *to,
                     void *out) {
    layout at = begin(m, n, scratch);
    if (asks_together(m, n)) {
        ask_many(m, &at, x, n);
        for (size_t i = 0; i < n; i++)
            to(m, &at.votes[i], i, out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        ask_row(m, &at, x + i * m->d);
        to(m, &at.vote, i, out);
    }
}

static void give_class(const bf_model *m, const bf_vote *v, size_t i, void *out) {
    int32_t winner = bf_winner(m, v);
    ((int32_t *)out)[i] = winner < 0 ? 0 : winner;
}

static void give_proba(const bf_model *m, const bf_vote *v, size_t i, void *out) {
    double *proba = (double *)out + i * m->classes;
    for (size_t c = 0; c < m->classes; c++)
        proba[c] = v->voters ? v->votes[c] / v->sum : 1 / (double)m->classes;
}

static void give_value(const bf_model *m, const bf_vote *v, size_t i, void *out) {
    (void)m;
    ((double *)out)[i] = v->mean;
}

void bf_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch) {
    ask_rows(model, x, n, scratch, give_class, classes);
}

void bf_proba(const void *model, const float *x, size_t n, double *proba, void *scratch) {
    ask_rows(model, x, n, scratch, give_proba, proba);
}

void bf_values(const void *model, const float *x, size_t n, double *values, void *scratch) {
    ask_rows(model, x, n, scratch, give_value, values);
}

/* ---- figures ---- */

static lm_touched touched_by(const bf_model *m, double vectors) {
    return (lm_touched){vectors, vectors * (double)m->store.stride *
                                     (m->store.bytes ? 1 : (double)sizeof(float))};
}

void bf_touched(const void *opaque, const float *x, size_t n, lm_touched *sum, void *scratch) {
    const bf_model *m = opaque;
    layout at = begin(m, 1, scratch);
    for (size_t i = 0; i < n; i++)
        ask_row(m, &at, x + i * m->d);
    sum->vectors += at.touched.vectors;
    sum->bytes += at.touched.bytes;
}

void bf_stats(const void *opaque, lm_stats *stats) {
    const bf_model *m = opaque;
    size_t depth = 0, loose = 0, signposts = m->signposts;
    for (size_t t = 0; t < m->trees; t++)
        depth = m->tree[t].depth > depth ? m->tree[t].depth : depth;
    for (size_t i = 0; i < m->store.slots; i++)
        loose += m->store.state[i] == BF_LIVE && m->store.refs[i] == m->store.held[i];
    for (size_t i = 0; i < m->growing.tree.nodes; i++) /* of the tree being refreshed */
        signposts += m->store.state[m->growing.tree.node[i].point] == BF_SIGNPOST;
    double vectors = m->asked ? (double)m->spent / (double)m->asked : 1;
    const char *const names[] = {"trees",
                                 "points",
                                 "nodes",
                                 "depth",
                                 "signposts",
                                 "points in no tree",
                                 "comparisons per query"};
    const double values[] = {(double)m->trees, (double)m->store.live, (double)m->nodes,
                             (double)depth,    (double)signposts,     (double)loose,
                             vectors};
    *stats = (lm_stats){.touched = touched_by(m, vectors), .count = LM_COUNT(values)};
    for (size_t i = 0; i < LM_COUNT(values); i++) {
        stats->list[i].name = names[i];
        stats->list[i].value = values[i];
    }
}
