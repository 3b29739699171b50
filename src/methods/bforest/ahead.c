/* ahead.c: several threads descend for upcoming rows in the trees as they are; the rows are then
 * learned one by one. A descent stays valid until a node on its path gets a child. Descents that
 * are no longer valid are repeated, so the model is the same as with a single thread. */
#include "methods/bforest/bforest.h"

#include "base/work.h"

/* The least work in a block of rows that is worth starting threads for: floats times trees. */
enum { LEAST_WORK = 1 << 20, LEAST_ROWS = 16, MOST_ROWS = 256 };

void bf_ahead_free(const limn_allocator *mem, bf_ahead *a) {
    lm_free_aligned(mem, a->x);
    lm_free(mem, a->room);
    lm_free(mem, a->bytes);
    lm_free(mem, a->end);
    lm_free(mem, a->path);
    lm_free(mem, a->known);
    lm_free(mem, a->grown);
    lm_free(mem, a->grown_count);
    for (int t = 0; a->cache && t < a->threads; t++)
        lm_free(mem, a->cache[t]);
    lm_free(mem, a->cache);
}

static bool make_caches(const limn_allocator *mem, const bf_model *m, bf_ahead *a) {
    a->cache = lm_alloc_zero(mem, (size_t)a->threads, sizeof *a->cache);
    if (!a->cache)
        return false;
    for (int t = 0; t < a->threads && bf_keeps_distances(m); t++)
        if (!(a->cache[t] = lm_alloc(mem, BF_CACHE, sizeof **a->cache)))
            return false;
    return true;
}

bool bf_ahead_make(const limn_allocator *mem, const bf_model *m, size_t n, int threads,
                   bf_ahead *a) {
    size_t work = m->trees * m->store.stride, rows = LEAST_WORK / work + 1, cells, floats;
    *a = (bf_ahead){.threads = threads < LM_THREADS_MAX ? threads : LM_THREADS_MAX};
    if (threads < 2 || rows > MOST_ROWS || rows > n || m->max_points)
        return true;
    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows;
    rows = rows < n ? rows : n;
    if (!lm_mul(rows, m->trees, &cells) || !lm_mul(rows, m->store.stride, &floats))
        return false;
    a->x = lm_alloc_aligned(mem, floats, sizeof *a->x);
    a->room = lm_alloc(mem, floats, sizeof *a->room);
    a->bytes = lm_alloc(mem, rows, sizeof *a->bytes);
    a->end = lm_alloc(mem, cells, sizeof *a->end);
    a->path = lm_alloc(mem, cells, sizeof *a->path);
    a->known = lm_alloc(mem, cells, sizeof *a->known);
    a->grown = lm_alloc(mem, cells, sizeof *a->grown);
    a->grown_count = lm_alloc(mem, m->trees, sizeof *a->grown_count);
    if (!a->x || !a->room || !a->bytes || !a->end || !a->path || !a->known || !a->grown ||
        !a->grown_count || !make_caches(mem, m, a))
        return false;
    memset(a->x, 0, floats * sizeof *a->x);
    a->most = rows;
    return true;
}

typedef struct looking {
    const bf_model *m;
    bf_ahead *a;
    bool all;
} looking;

static void look_at_row(void *user, size_t index, int thread) {
    const looking *l = user;
    const bf_model *m = l->m;
    bf_ahead *a = l->a;
    const float *x = a->x + index * m->store.stride;
    a->bytes[index] = bf_bytes(&m->store, x, a->room + index * m->store.stride);
    bf_probe p = bf_probe_make(m, x, a->bytes[index], a->cache[thread]);
    for (size_t t = 0; t < m->trees;) {
        size_t some[BF_GROUP], count = 0, cell = index * m->trees;
        bf_end ends[BF_GROUP];
        bf_path paths[BF_GROUP];
        for (; t < m->trees && count < BF_GROUP; t++) {
            a->known[cell + t] = l->all || bf_sampled(m, t, 0, a->first + index);
            if (a->known[cell + t])
                some[count++] = t;
        }
        bf_descend_some(m, some, count, &p, ends, paths);
        for (size_t i = 0; i < count; i++) {
            a->end[cell + some[i]] = ends[i];
            a->path[cell + some[i]] = paths[i];
        }
    }
}

void bf_ahead_look(const bf_model *m, bf_ahead *a, const float *x, size_t n, uint64_t id,
                   bool all) {
    looking l = {m, a, all};
    for (size_t i = 0; i < n; i++)
        memcpy(a->x + i * m->store.stride, x + i * m->d, m->d * sizeof *x);
    memset(a->grown_count, 0, m->trees * sizeof *a->grown_count);
    a->first = id;
    a->rows = n;
    lm_parallel(a->threads, n, look_at_row, &l);
}

static bool looked_at(const bf_ahead *a, uint64_t id) {
    return id >= a->first && id - a->first < a->rows;
}

bool bf_ahead_bytes(const bf_ahead *a, uint64_t id, const uint8_t **bytes) {
    if (!looked_at(a, id))
        return false;
    *bytes = a->bytes[id - a->first];
    return true;
}

bool bf_ahead_end(const bf_model *m, const bf_ahead *a, uint64_t id, size_t tree, bf_end *end) {
    if (!looked_at(a, id))
        return false;
    size_t cell = (size_t)(id - a->first) * m->trees + tree;
    const bf_path *path = &a->path[cell];
    if (!a->known[cell] || path->count > BF_LEVELS)
        return false;
    const uint32_t *grown = a->grown + tree * a->most;
    for (size_t g = 0; g < a->grown_count[tree]; g++)
        for (size_t k = 0; k < path->count; k++)
            if (grown[g] == path->node[k])
                return false;
    *end = a->end[cell];
    return true;
}

void bf_ahead_grew(bf_ahead *a, size_t tree, uint32_t node) {
    if (!a->rows)
        return;
    if (a->grown_count[tree] == a->most || node == BF_NONE)
        a->rows = 0;
    else
        a->grown[tree * a->most + a->grown_count[tree]++] = node;
}
