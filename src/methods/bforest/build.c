/* build.c: building trees from the stored points: all of them at once, and one after the other.
 *
 * Warm-up: the first M rows are all stored. Whenever n has grown by half a power of two, and at M,
 * all trees are built from them: tree t has point t mod n as its root and then learns the points
 * that it samples in its own shuffled order. At M, points that no tree took are dropped.
 *
 * Refresh: when n passes 100 * 2^(j + t/T), tree t begins to be rebuilt from the stored points that
 * hash(seed, t, epoch, id) samples, in a fresh shuffled order; points that are stored or renewed
 * after that follow, if hash(seed, t, 0, id) samples them. The new tree looks at an equal share of
 * the points after each row, so no row waits long, and takes the place of the old one when the next
 * tree is due. A share is done late if nothing can tell the difference: several threads then do the
 * shares of many rows at once. */
#include "methods/bforest/bforest.h"

#include "base/work.h"

#include <math.h>

/* ---- all trees ---- */

/* The memory that a thread builds in. */
typedef struct bench {
    size_t *order;
    bf_tree tree;
} bench;

typedef struct building {
    const limn_allocator *mem;
    bf_model *m;
    size_t *points; /* live ones, oldest first */
    size_t count;
    bool warmup;
    int inside;     /* threads per tree */
    bench *benches; /* one per thread */
    bool *failed;   /* one per tree */
} building;

/* The tree's own root, then the points that it samples. */
static size_t choose_for_warmup(const building *b, size_t tree, size_t *order) {
    size_t root = tree % b->count, count = 0;
    order[count++] = b->points[root];
    for (size_t i = 0; i < b->count; i++)
        if (i != root && bf_sampled(b->m, tree, 0, b->m->store.id[b->points[i]]))
            order[count++] = b->points[i];
    return count;
}

/* The live point that comes closest to being sampled. */
static uint32_t closest(const bf_model *m, size_t tree, uint64_t epoch) {
    uint32_t best = m->store.oldest;
    uint64_t smallest = UINT64_MAX;
    for (uint32_t i = best; i != BF_NONE; i = m->store.newer[i]) {
        uint64_t hash = bf_hash(m, BF_SAMPLE, tree, epoch, m->store.id[i]);
        if (hash < smallest) {
            smallest = hash;
            best = i;
        }
    }
    return best;
}

/* The points that it samples; if none, the one that is closest to being sampled. */
static size_t choose_for_refresh(const building *b, size_t tree, uint64_t epoch, size_t *order) {
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        if (bf_sampled(b->m, tree, epoch, b->m->store.id[b->points[i]]))
            order[count++] = b->points[i];
    if (!count)
        order[count++] = closest(b->m, tree, epoch);
    return count;
}

/* Which points the tree learns, and in which order; the first is the root. */
static size_t choose_points(const building *b, size_t tree, uint64_t epoch, size_t *order) {
    const bf_model *m = b->m;
    size_t count =
        b->warmup ? choose_for_warmup(b, tree, order) : choose_for_refresh(b, tree, epoch, order);
    lm_rng rng = lm_rng_at(bf_hash(m, b->warmup ? BF_WARMUP : BF_REFRESH, tree, 0, 0), m->stream,
                           b->warmup ? m->seen : epoch);
    lm_rng_shuffle(&rng, order + b->warmup, count - b->warmup);
    return count;
}

/* Each thread changes only its own trees and nothing shared. */
static void build_one(void *user, size_t index, int thread) {
    building *b = user;
    bench *at = &b->benches[thread];
    bf_tree *tree = &b->m->tree[index];
    uint64_t epoch = b->warmup ? tree->epoch : bf_next_epoch(tree->epoch);
    size_t count = b->count ? choose_points(b, index, epoch, at->order) : 0;
    bf_tree_clear(&at->tree);
    b->failed[index] = !bf_extend(b->mem, b->m, index, at->order, count, b->inside, &at->tree) ||
                       !bf_tree_assign(b->mem, &at->tree, tree);
    if (!b->failed[index])
        tree->epoch = epoch;
}

void bf_count_nodes(bf_model *m, const bf_tree *tree, bool back) {
    bf_store *s = &m->store;
    for (size_t i = 0; i < tree->nodes; i++) {
        uint32_t point = tree->node[i].point;
        size_t signpost = s->state[point] == BF_SIGNPOST;
        s->refs[point] += back ? UINT32_MAX : 1;
        m->signposts += back ? (size_t)0 - signpost : signpost;
    }
    m->nodes += back ? (size_t)0 - tree->nodes : tree->nodes;
}

static void building_free(building *b, int threads) {
    for (int t = 0; b->benches && t < threads; t++) {
        lm_free(b->mem, b->benches[t].order);
        bf_tree_free(b->mem, &b->benches[t].tree);
    }
    lm_free(b->mem, b->points);
    lm_free(b->mem, b->benches);
    lm_free(b->mem, b->failed);
}

static bool building_make(building *b, size_t trees, int threads) {
    const bf_store *s = &b->m->store;
    b->points = lm_alloc(b->mem, s->live + 1, sizeof *b->points);
    b->benches = lm_alloc_zero(b->mem, (size_t)threads, sizeof *b->benches);
    b->failed = lm_alloc_zero(b->mem, trees, sizeof *b->failed);
    if (!b->points || !b->benches || !b->failed)
        return false;
    for (uint32_t i = s->oldest; i != BF_NONE; i = s->newer[i])
        b->points[b->count++] = i;
    for (int t = 0; t < threads; t++)
        if (!(b->benches[t].order = lm_alloc(b->mem, b->count + 1, sizeof(size_t))))
            return false;
    return true;
}

limn_status bf_build_all(limn_context *ctx, bf_model *m, bool warmup) {
    building b = {.mem = &ctx->mem, .m = m, .warmup = warmup};
    int most = ctx->threads < LM_THREADS_MAX ? ctx->threads : LM_THREADS_MAX;
    int threads = (size_t)most < m->trees ? most : (int)m->trees;
    b.inside = most / threads;
    bool fine = building_make(&b, m->trees, threads);
    if (fine) {
        bf_refresh_stop(&ctx->mem, m);
        for (size_t t = 0; t < m->trees; t++)
            bf_count_nodes(m, &m->tree[t], true);
        lm_parallel(threads, m->trees, build_one, &b);
        for (size_t t = 0; t < m->trees; t++)
            bf_count_nodes(m, &m->tree[t], false);
        bf_store_sweep(&m->store);
        for (size_t t = 0; t < m->trees; t++)
            fine = fine && !b.failed[t];
    }
    building_free(&b, threads);
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}

/* ---- the warm-up ---- */

/* Increases by one whenever n has grown by half a power of two. */
static unsigned stage_of(uint64_t n) {
    unsigned bits = 0;
    for (double square = (double)n * (double)n; square >= 1; square /= 2)
        bits++;
    return bits;
}

double bf_usual_eps(const double *value, const uint32_t *points, size_t count) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double v = value[points[i]], step = v - mean;
        mean += step / (double)(i + 1);
        squares += step * (v - mean);
    }
    double sd = count ? sqrt(squares / (double)count) : 0;
    return isfinite(sd) ? 0.4 * sd : 0;
}

static bool choose_eps(const limn_allocator *mem, bf_model *m) {
    const bf_store *s = &m->store;
    if (m->task != LIMN_REGRESS || m->fixed_eps)
        return true;
    uint32_t *order = lm_alloc(mem, s->live + 1, sizeof *order);
    if (!order)
        return false;
    bf_store_order(s, order);
    m->eps = bf_usual_eps(s->value, order, s->live);
    lm_free(mem, order);
    return true;
}

static void drop_untaken(bf_model *m) {
    bf_store *s = &m->store;
    for (uint32_t i = s->oldest, next; i != BF_NONE && !s->all; i = next) {
        next = s->newer[i];
        if (!s->refs[i])
            bf_drop(m, i);
    }
}

limn_status bf_warm_up(limn_context *ctx, bf_model *m, bool *changed) {
    if (m->built >= m->warmup || m->built == m->seen ||
        (m->seen < m->warmup && stage_of(m->seen) == stage_of(m->built)))
        return LIMN_OK;
    limn_status status =
        choose_eps(&ctx->mem, m) ? bf_build_all(ctx, m, true) : lm_fail_memory(ctx);
    if (status != LIMN_OK)
        return status;
    *changed = true;
    m->built = m->seen;
    if (m->seen >= m->warmup)
        drop_untaken(m);
    return LIMN_OK;
}

/* ---- the refresh of one tree ---- */

enum { MOST_BITS = 31, ROUNDS = 4 };

/* A Feistel network on an even number of bits, applied until the result is below n. */
size_t bf_shuffled(const bf_model *m, uint64_t tree, uint64_t epoch, size_t i, size_t n) {
    uint64_t key = bf_hash(m, BF_REFRESH, tree, epoch, 0);
    unsigned bits = 1;
    while (bits < MOST_BITS && ((size_t)1 << 2 * bits) < n)
        bits++;
    uint64_t mask = ((uint64_t)1 << bits) - 1, at = i;
    do {
        for (uint64_t round = 0; round < ROUNDS; round++)
            at = (at & mask) << bits | ((at >> bits) ^ (lm_hash(key, round, at & mask) & mask));
    } while (at >= n);
    return (size_t)at;
}

/* n at which the tree is due. */
static uint64_t threshold(const bf_model *m, size_t tree) {
    return (uint64_t)ceil(100 * exp2((double)m->tree[tree].step + (double)tree / (double)m->trees));
}

void bf_refresh_skip(bf_model *m, size_t tree) {
    for (; m->refresh && m->seen >= threshold(m, tree); m->tree[tree].step++)
        m->tree[tree].epoch += threshold(m, tree) > m->warmup;
}

void bf_refresh_plan(bf_model *m) {
    m->due = UINT64_MAX;
    for (size_t t = 0; t < m->trees && m->refresh; t++)
        m->due = threshold(m, t) < m->due ? threshold(m, t) : m->due;
}

/* The index-th point that the growing tree looks at; false: it does not learn it. */
static bool look_at(const bf_model *m, size_t index, uint32_t *point) {
    const bf_growing *g = &m->growing;
    const bf_store *s = &m->store;
    uint64_t epoch = bf_next_epoch(m->tree[g->number].epoch);
    if (index < g->slots) {
        *point = (uint32_t)bf_shuffled(m, g->number, epoch, index, g->slots);
        return s->state[*point] == BF_LIVE && s->id[*point] < g->start &&
               bf_sampled(m, g->number, epoch, s->id[*point]);
    }
    const bf_late *late = &g->late[index - g->slots];
    *point = late->slot;
    return s->state[*point] == BF_LIVE && s->id[*point] == late->id && !s->held[*point] &&
           bf_sampled(m, g->number, 0, late->id);
}

static void hold(bf_store *s, uint32_t point) {
    s->refs[point] += !s->held[point];
    s->held[point] = 1;
}

/* Points looked at but not taken are not held: they may be looked at again when renewed. */
static void hold_from(bf_model *m, size_t first) {
    for (size_t i = first; i < m->growing.tree.nodes; i++)
        hold(&m->store, m->growing.tree.node[i].point);
}

/* Looks at points up to number `to`, none of them twice: those of the slots or a late one. */
static bool look_at_some(limn_context *ctx, bf_model *m, size_t to) {
    bf_growing *g = &m->growing;
    size_t count = 0, first = g->tree.nodes;
    size_t *points = lm_alloc(&ctx->mem, to - g->done, sizeof *points);
    for (size_t i = g->done; points && i < to; i++) {
        uint32_t point;
        if (look_at(m, i, &point))
            points[count++] = point;
    }
    bool fine = points && bf_extend(&ctx->mem, m, g->number, points, count, ctx->threads, &g->tree);
    hold_from(m, first);
    lm_free(&ctx->mem, points);
    if (fine)
        g->done = to;
    return fine;
}

static limn_status look_up_to(limn_context *ctx, bf_model *m, size_t to) {
    const bf_growing *g = &m->growing;
    bool fine = true;
    while (fine && g->done < to)
        fine = look_at_some(ctx, m,
                            g->done >= g->slots ? g->done + 1
                            : to < g->slots     ? to
                                                : g->slots);
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}

limn_status bf_refresh_catch_up(limn_context *ctx, bf_model *m) {
    const bf_growing *g = &m->growing;
    size_t all = g->slots + g->late_count, share;
    if (!g->on)
        return LIMN_OK;
    if (!lm_mul((size_t)g->quota, (size_t)(m->seen - g->start), &share) || share > all)
        share = all;
    return look_up_to(ctx, m, share);
}

bool bf_refresh_reserve(const limn_allocator *mem, bf_model *m) {
    bf_growing *g = &m->growing;
    if (!g->on || g->late_count < g->late_room)
        return true;
    size_t room = g->late_room ? 2 * g->late_room : 16;
    bf_late *late = lm_resize(mem, g->late, room, sizeof *late);
    if (!late)
        return false;
    g->late = late;
    g->late_room = room;
    return true;
}

void bf_refresh_late(bf_model *m, uint32_t slot) {
    if (m->growing.on)
        m->growing.late[m->growing.late_count++] = (bf_late){.id = m->store.id[slot], .slot = slot};
}

void bf_refresh_free(const limn_allocator *mem, bf_model *m) {
    if (m->owned)
        bf_tree_free(mem, &m->growing.tree);
    lm_free(mem, m->growing.late);
    m->growing = (bf_growing){.on = false};
}

void bf_refresh_stop(const limn_allocator *mem, bf_model *m) {
    const bf_tree *tree = &m->growing.tree;
    for (size_t i = 0; i < tree->nodes; i++) {
        uint32_t point = tree->node[i].point;
        if (m->store.held[point]) {
            m->store.held[point] = 0;
            bf_store_release(&m->store, point);
        }
    }
    bf_refresh_free(mem, m);
}

/* A tree that sampled no point takes the one that comes closest. */
static limn_status complete(limn_context *ctx, bf_model *m) {
    bf_growing *g = &m->growing;
    limn_status status = look_up_to(ctx, m, g->slots + g->late_count);
    if (status != LIMN_OK || g->tree.nodes || !m->store.live)
        return status;
    size_t point = closest(m, g->number, bf_next_epoch(m->tree[g->number].epoch));
    if (!bf_extend(&ctx->mem, m, g->number, &point, 1, 1, &g->tree))
        return lm_fail_memory(ctx);
    hold_from(m, 0);
    return LIMN_OK;
}

/* The growing tree takes its place. */
static limn_status replace(limn_context *ctx, bf_model *m) {
    bf_growing *g = &m->growing;
    bf_tree *tree = &m->tree[g->number], old = *tree;
    limn_status status = g->on ? complete(ctx, m) : LIMN_OK;
    if (status != LIMN_OK || !g->on)
        return status;
    *tree = (bf_tree){.epoch = bf_next_epoch(old.epoch), .step = old.step};
    if (!bf_tree_assign(&ctx->mem, &g->tree, tree)) {
        *tree = old;
        return lm_fail_memory(ctx);
    }
    bf_count_nodes(m, tree, false);
    for (size_t i = 0; i < old.nodes; i++) {
        uint32_t point = old.node[i].point;
        m->signposts -= m->store.state[point] == BF_SIGNPOST;
        bf_store_release(&m->store, point);
    }
    m->nodes -= old.nodes;
    bf_tree_free(&ctx->mem, &old);
    bf_refresh_stop(&ctx->mem, m);
    return LIMN_OK;
}

static void begin(bf_model *m, size_t tree) {
    m->growing =
        (bf_growing){.on = true, .number = tree, .start = m->seen, .slots = m->store.slots};
}

limn_status bf_refresh(limn_context *ctx, bf_model *m, bool *changed) {
    limn_status status = LIMN_OK;
    if (m->seen < m->due)
        return LIMN_OK;
    for (size_t t = 0; t < m->trees && status == LIMN_OK; t++) {
        if (m->seen < threshold(m, t))
            continue;
        if (m->growing.on)
            *changed = true;
        status = replace(ctx, m);
        if (status != LIMN_OK)
            break; /* the next row tries again */
        bool due = false;
        for (; m->seen >= threshold(m, t); m->tree[t].step++)
            due = due || threshold(m, t) > m->warmup;
        if (due)
            begin(m, t);
    }
    bf_refresh_plan(m);
    /* One more per row, for points that are stored meanwhile. */
    if (m->growing.on && m->due > m->seen)
        m->growing.quota = m->growing.slots / (m->due - m->growing.start) + 2;
    return status;
}
