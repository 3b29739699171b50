/* learn.c: learning one row after another.
 *
 * Learn(x, c), in each tree that the row is sampled for: v = Descend(x); x becomes a child of v if
 * v's label is not c (regress: is more than eps from c). The point is stored once if any tree took
 * it. In style=forest, if the store already holds x, its label becomes c and it becomes the newest;
 * otherwise, if no tree took x and the forest does not answer c, x is stored and becomes a child in
 * the first tree whose end differs. In style=paper all trees learn x in that case, sampled or not.
 * So the model always answers correctly for the row just learned. If the arrival of a row also
 * rebuilds trees or forgets old points, the forest is asked again and x is relearned if necessary.
 *
 * With store=all every row is stored. Equal rows then stay beside each other; the newest answers.
 *
 * Warm-up and refresh: build.c. */
#include "methods/bforest/bforest.h"

#include <math.h>

/* What learning needs in addition to the model. */
typedef struct work {
    float *x; /* padded */
    uint8_t *room;
    const uint8_t *bytes; /* of x, computed once, in room or in ahead; or NULL */
    uint64_t *cache;
    bf_end *ends;
    bool *known, *takes;
    bf_vote vote;
    bf_ahead ahead;
} work;

typedef struct row {
    int32_t label;
    double value;
    uint64_t id;
} row;

static void work_free(const limn_allocator *mem, work *w) {
    lm_free_aligned(mem, w->x);
    lm_free(mem, w->room);
    lm_free(mem, w->cache);
    lm_free(mem, w->ends);
    lm_free(mem, w->known);
    lm_free(mem, w->takes);
    lm_free(mem, w->vote.votes);
    bf_ahead_free(mem, &w->ahead);
}

static bool work_make(const limn_allocator *mem, const bf_model *m, size_t n, int threads,
                      work *w) {
    w->x = lm_alloc_aligned(mem, m->store.stride, sizeof *w->x);
    if (bf_keeps_distances(m) && !(w->cache = lm_alloc(mem, BF_CACHE, sizeof *w->cache)))
        return false;
    w->room = lm_alloc(mem, m->store.stride, sizeof *w->room);
    w->ends = lm_alloc(mem, m->trees, sizeof *w->ends);
    w->known = lm_alloc(mem, m->trees, sizeof *w->known);
    w->takes = lm_alloc(mem, m->trees, sizeof *w->takes);
    w->vote.votes = lm_alloc(mem, m->classes, sizeof *w->vote.votes);
    if (!w->x || !w->room || !w->ends || !w->known || !w->takes || !w->vote.votes)
        return false;
    memset(w->x, 0, m->store.stride * sizeof *w->x);
    return bf_ahead_make(mem, m, n, threads, &w->ahead);
}

/* ---- one row ---- */

/* The mean of values that are all within eps of the target may, by rounding, be outside it. */
static bool is_right(const bf_model *m, const bf_vote *v, const row *r) {
    if (m->task == LIMN_REGRESS)
        return v->voters && fabs(v->mean - r->value) <= m->eps + 1e-12 * (fabs(r->value) + m->eps);
    return bf_winner(m, v) == r->label;
}

/* The trees that learn the row although they did not sample it, so that the answer is right. */
static void insist(const bf_model *m, bf_probe *p, work *w, const row *r) {
    bool any = false;
    for (size_t t = 0; t < m->trees && !(any && m->style == BF_FOREST); t++) {
        if (!w->known[t])
            bf_find_ends(m, p, t, t + 1, NULL, w->ends, w->known);
        w->takes[t] = bf_differs(m, &w->ends[t], r->label, r->value);
        any = any || w->takes[t];
    }
}

limn_status bf_fail_nodes(limn_context *ctx, const bf_model *m) {
    return lm_fail(ctx, LIMN_E_DATA,
                   "bforest: the trees would have more than %zu nodes; use fewer trees or "
                   "max_points",
                   m->node_limit);
}

/* Reserves memory for what w->takes says, before anything changes. */
static limn_status reserve(limn_context *ctx, bf_model *m, const work *w, bool store) {
    size_t nodes = m->nodes;
    for (size_t t = 0; t < m->trees; t++)
        nodes += w->takes[t];
    if (nodes > m->node_limit)
        return bf_fail_nodes(ctx, m);
    if (!bf_refresh_reserve(&ctx->mem, m) || (store && !bf_store_reserve(&ctx->mem, &m->store)))
        return lm_fail_memory(ctx);
    for (size_t t = 0; t < m->trees; t++)
        if (w->takes[t] && !bf_tree_reserve(&ctx->mem, &m->tree[t], w->ends[t].node))
            return lm_fail_memory(ctx);
    return LIMN_OK;
}

/* point: where the row is already stored, or BF_NONE. */
static limn_status take(limn_context *ctx, bf_model *m, const bf_probe *p, work *w, const row *r,
                        bool store, uint32_t point) {
    bool add = store && point == BF_NONE;
    limn_status status = reserve(ctx, m, w, add);
    if (status == LIMN_OK && (add ? m->store.free_count > 0 : point != BF_NONE))
        status = bf_refresh_catch_up(ctx, m);
    if (status != LIMN_OK)
        return status;
    if (add) {
        point = bf_store_put(&m->store, p->x, p->bytes, p->norm, r->label, r->value, r->id);
        bf_refresh_late(m, point);
    }
    for (size_t t = 0; t < m->trees; t++)
        if (w->takes[t]) {
            bf_tree_append(&m->tree[t], &w->ends[t], point);
            bf_ahead_grew(&w->ahead, t, w->ends[t].node);
            m->store.refs[point]++;
            m->nodes++;
        }
    return LIMN_OK;
}

/* Asks the forest again; if the answer is wrong, the row is learned again. */
static limn_status repair(limn_context *ctx, bf_model *m, work *w, const row *r) {
    /* Once the row is stored, nothing else must be forgotten to make room: two rounds are enough.
     */
    for (int round = 0; round < 4; round++) {
        bool changed = false;
        uint32_t newest = m->store.newest;
        bf_probe p = bf_probe_make(m, w->x, w->bytes, w->cache);
        memset(w->known, 0, m->trees * sizeof *w->known);
        memset(w->takes, 0, m->trees * sizeof *w->takes);
        bf_ask(m, &p, w->ends, w->known, &w->vote);
        if (is_right(m, &w->vote, r))
            return LIMN_OK;
        insist(m, &p, w, r);
        bool stored = newest != BF_NONE && m->store.id[newest] == r->id;
        limn_status status = take(ctx, m, &p, w, r, true, stored ? newest : BF_NONE);
        if (status == LIMN_OK)
            status = bf_trim(ctx, m, &changed);
        if (status != LIMN_OK)
            return status;
    }
    return LIMN_OK;
}

/* Whether this row's query is measured: the first few, then one in 32. */
static bool is_measured(const bf_model *m, uint64_t id) {
    return m->store.live && (id < 64 || bf_hash(m, BF_MEASURE, 0, 0, id) % 32 == 0);
}

static void count_query(bf_model *m, uint64_t comparisons) {
    m->spent += comparisons;
    if (++m->asked == BF_MEASURED) { /* older queries count less */
        m->asked /= 2;
        m->spent /= 2;
    }
}

/* The forest's answer for the row before it is learned. */
static void answer(const bf_model *m, bf_probe *p, work *w, int32_t *class, double *value) {
    bf_ask(m, p, w->ends, w->known, &w->vote);
    if (class)
        *class = bf_winner(m, &w->vote);
    if (value)
        *value = w->vote.voters ? w->vote.mean : (double)NAN;
}

static limn_status learn_row(limn_context *ctx, bf_model *m, work *w, const row *r, int32_t *class,
                             double *value) {
    bf_probe p = bf_probe_make(m, w->x, w->bytes, w->cache);
    bool any = false, buffered = m->seen < m->warmup || m->store.all;
    uint32_t same = m->store.all ? BF_NONE : bf_store_find(&m->store, w->x);
    for (size_t t = 0; t < m->trees; t++)
        w->known[t] = bf_ahead_end(m, &w->ahead, r->id, t, &w->ends[t]);
    bool measured = is_measured(m, r->id);
    uint64_t spent = measured ? bf_measure(m, &p, &w->vote) : 0;
    if (class || value)
        answer(m, &p, w, class, value);
    for (size_t t = 0; t < m->trees; t++)
        w->takes[t] = bf_sampled(m, t, 0, r->id);
    bf_find_ends(m, &p, 0, m->trees, w->takes, w->ends, w->known);
    for (size_t t = 0; t < m->trees; t++) {
        if (!w->takes[t])
            continue;
        /* If x itself is the end, its label is about to be corrected. */
        bool itself = same != BF_NONE && w->ends[t].point == same;
        w->takes[t] = !itself && bf_differs(m, &w->ends[t], r->label, r->value);
        any = any || w->takes[t];
    }
    if (!any && same == BF_NONE && !buffered) {
        bf_ask(m, &p, w->ends, w->known, &w->vote);
        if (!is_right(m, &w->vote, r)) {
            insist(m, &p, w, r);
            any = true;
        }
    }
    limn_status status = take(ctx, m, &p, w, r, any || buffered, same);
    if (status != LIMN_OK)
        return status;
    if (same != BF_NONE) {
        w->ahead.rows = 0; /* with a new id it may win different ties */
        bf_store_renew(&m->store, same, r->id);
        bf_refresh_late(m, same);
        if (m->task == LIMN_REGRESS)
            m->store.value[same] = r->value;
        else
            m->store.label[same] = r->label;
    }
    if (measured)
        count_query(m, spent);
    m->seen++;
    return LIMN_OK;
}

/* Rows from the lesson's i-th on that can be looked up together: no trees are rebuilt in between.
 */
static size_t rows_together(const bf_model *m, const work *w, const lm_lesson *lesson, size_t i) {
    size_t rows = lesson->n - i < w->ahead.most ? lesson->n - i : w->ahead.most;
    if (m->seen < m->warmup)
        return 0;
    if (m->due - m->seen < rows)
        rows = (size_t)(m->due - m->seen);
    return rows >= 4 ? rows : 0; /* fewer are not worth starting threads */
}

static void look_ahead(const bf_model *m, work *w, const lm_lesson *lesson, size_t i) {
    bf_ahead *a = &w->ahead;
    uint64_t id = lesson->first + i;
    if (!a->most || (a->rows && id - a->first < a->rows))
        return;
    size_t rows = rows_together(m, w, lesson, i);
    if (rows)
        bf_ahead_look(m, a, lesson->x + i * m->d, rows, id,
                      lesson->answer_class || lesson->answer_value);
    else
        a->rows = 0;
}

/* The other effects of a row's arrival. */
static limn_status settle(limn_context *ctx, bf_model *m, bool *changed) {
    limn_status status = bf_trim(ctx, m, changed);
    if (status == LIMN_OK)
        status = bf_warm_up(ctx, m, changed);
    if (status == LIMN_OK)
        status = bf_refresh(ctx, m, changed);
    return status;
}

limn_status bf_learn(limn_context *ctx, void *opaque, const lm_lesson *lesson, size_t *learned) {
    bf_model *m = opaque;
    work w = {.x = NULL};
    *learned = 0;
    if (lesson->first != m->seen)
        return lm_fail(
            ctx, LIMN_E_USAGE,
            "bforest: the lesson begins with row %llu, but the next row to learn is %llu",
            (unsigned long long)lesson->first, (unsigned long long)m->seen);
    if (lesson->n > BF_COUNT_LIMIT - m->seen)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "bforest: the forest has seen the largest number of rows that can be "
                       "counted");
    limn_status status = bf_own(ctx, m);
    if (status == LIMN_OK && !work_make(&ctx->mem, m, lesson->n, ctx->threads, &w))
        status = lm_fail_memory(ctx);
    for (size_t i = 0; i < lesson->n && status == LIMN_OK; i++) {
        bool changed = false, unsure = m->style == BF_PAPER && m->rho < 1;
        row r = {.label = lesson->label ? lesson->label[i] : 0,
                 .value = lesson->target ? lesson->target[i] : 0,
                 .id = lesson->first + i};
        if (i % 256 == 0)
            status = lm_progress(ctx, "learning", i, lesson->n, (double)i / (double)lesson->n);
        if (status != LIMN_OK)
            break;
        memcpy(w.x, lesson->x + i * m->d, m->d * sizeof *w.x);
        look_ahead(m, &w, lesson, i);
        if (!bf_ahead_bytes(&w.ahead, r.id, &w.bytes))
            w.bytes = bf_bytes(&m->store, w.x, w.room);
        status = learn_row(ctx, m, &w, &r, lesson->answer_class ? lesson->answer_class + i : NULL,
                           lesson->answer_value ? lesson->answer_value + i : NULL);
        if (status != LIMN_OK)
            break;
        ++*learned;
        status = settle(ctx, m, &changed);
        if (changed)
            w.ahead.rows = 0;
        if (status == LIMN_OK && (changed || unsure))
            status = repair(ctx, m, &w, &r);
    }
    limn_status late = bf_refresh_catch_up(ctx, m);
    status = status == LIMN_OK ? late : status;
    work_free(&ctx->mem, &w);
    return status;
}

limn_status bf_widen(limn_context *ctx, void *opaque, size_t classes) {
    bf_model *m = opaque;
    (void)ctx;
    m->classes = classes;
    return LIMN_OK;
}
