/* descend.c: distances, and the greedy descent, for one query in one tree, for one query in several
 * trees, and for many queries in one tree.
 *
 * Descend: v = root; the candidates are the children of v, and v itself if it has fewer than k
 * children; the nearest is taken. If it is v the descent ends, else it continues there. A full node
 * is never an end. Ties at distance 0 go to the newest point, others to the smallest
 * hash(seed, tree, id): as good as a random choice, but always the same one, so that what was
 * learned is found again.
 *
 * Many queries go down together: those at a node compare themselves with its children while these
 * are in the cache, then are sorted by the child they chose. Few at a node go on one by one, in
 * step, so that each waits for its memory while the others work. */
#include "methods/bforest/bforest.h"

#include <math.h>

/* ---- distances ---- */

#define FAR 1e300

static bf_probe begin(const bf_model *m, const float *x) {
    bf_probe p = {.x = x};
    if (m->metric == BF_COSINE) {
        const uint32_t self = 0;
        p.gather = lm_gather_kernel(LM_DOT);
        p.gather(x, x, m->store.stride, &self, 1, &p.norm);
    } else if (m->metric != BF_CALLER) {
        p.gather = lm_gather_kernel(m->metric == BF_L1 ? LM_L1 : LM_L2);
        p.gather_bytes = lm_gather_bytes_kernel();
    }
    return p;
}

bf_probe bf_probe_make(const bf_model *m, const float *x, const uint8_t *bytes, uint64_t *cache) {
    bf_probe p = begin(m, x);
    p.bytes =
        m->store.bytes ? bytes : NULL; /* a row that is not all bytes may have arrived since */
    p.cache = cache;
    if (cache)
        memset(cache, 0xff, BF_CACHE * sizeof *cache);
    return p;
}

bf_probe bf_probe_point(const bf_model *m, size_t point) {
    bf_probe p = begin(m, m->store.x + point * m->store.stride);
    if (m->store.bytes)
        p.bytes = m->store.byte + point * m->store.stride;
    return p;
}

/* 1 - cos; rows that are parallel up to rounding are at 0; a zero row is at 1 from all others. */
static double cosine(double dot, double a, double b) {
    if (a == 0 || b == 0)
        return a == b ? 0 : 1;
    double distance = 1 - dot / sqrt(a * b);
    return distance > 1e-14 ? distance : 0;
}

static double from_caller(const bf_model *m, const float *a, const float *b) {
    double distance = m->caller(m->caller_user, a, b, m->d);
    return distance <= 0 ? 0 : distance < FAR ? distance : FAR;
}

static void measure(const bf_model *m, const bf_probe *p, const uint32_t *points, size_t count,
                    uint32_t *keys) {
    const bf_store *s = &m->store;
    double out[BF_CHUNK];
    if (m->metric == BF_CALLER) {
        for (size_t i = 0; i < count; i++)
            keys[i] = bf_key(from_caller(m, p->x, s->x + (size_t)points[i] * s->stride));
        return;
    }
    if (p->bytes && s->bytes) /* a point that arrived meanwhile may have ended that */
        p->gather_bytes(p->bytes, s->byte, s->stride, points, count, out);
    else
        p->gather(p->x, s->x, s->stride, points, count, out);
    if (m->metric == BF_COSINE)
        for (size_t i = 0; i < count; i++)
            out[i] = cosine(out[i], p->norm, s->norm[points[i]]);
    for (size_t i = 0; i < count; i++)
        keys[i] = bf_key(out[i]);
}

/* Trees meet the same points: known keys are not computed again. An entry is a point and its key;
 * entries share slots, and the later one stays. */
static void measure_cached(const bf_model *m, const bf_probe *p, const uint32_t *points,
                           size_t count, uint32_t *keys) {
    uint32_t missing[BF_CHUNK], place[BF_CHUNK], found[BF_CHUNK];
    size_t misses = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t entry = p->cache[points[i] % BF_CACHE];
        keys[i] = (uint32_t)entry;
        if (entry >> 32 != points[i]) {
            place[misses] = (uint32_t)i;
            missing[misses++] = points[i];
        }
    }
    if (!misses)
        return;
    measure(m, p, missing, misses, found);
    for (size_t i = 0; i < misses; i++) {
        keys[place[i]] = found[i];
        p->cache[missing[i] % BF_CACHE] = (uint64_t)missing[i] << 32 | found[i];
    }
}

void bf_distances(const bf_model *m, bf_probe *p, const uint32_t *points, size_t count,
                  uint32_t *keys) {
    p->comparisons += count;
    if (p->cache)
        measure_cached(m, p, points, count, keys);
    else
        measure(m, p, points, count, keys);
}

/* ---- descending ---- */

bool bf_preferred(const bf_model *m, uint64_t tree, uint32_t key, uint32_t a, uint32_t b) {
    uint64_t a_id = m->store.id[a], b_id = m->store.id[b];
    if (key == 0)
        return a_id > b_id;
    return bf_hash(m, BF_TIES, tree, 0, a_id) < bf_hash(m, BF_TIES, tree, 0, b_id);
}

/* The nearest of the candidates at v; including v itself if it may be the end. */
static bf_place nearest(const bf_model *m, const bf_tree *tree, uint64_t number, bf_probe *p,
                        bf_place v) {
    const bf_node *node = &tree->node[v.node];
    if (!node->children) /* a tree without children has no arena */
        return v;
    const uint32_t *points = tree->arena + node->offset, *nodes = points + node->capacity;
    bool none = node->children >= m->children;
    bf_place best = v;
    for (size_t from = 0; from < node->children; from += BF_CHUNK) {
        uint32_t keys[BF_CHUNK];
        size_t left = node->children - from, count = left < BF_CHUNK ? left : BF_CHUNK;
        bf_distances(m, p, points + from, count, keys);
        for (size_t i = 0; i < count; i++) {
            uint32_t point = points[from + i];
            if (none || keys[i] < best.key ||
                (keys[i] == best.key && bf_preferred(m, number, keys[i], point, best.point)))
                best = (bf_place){nodes[from + i], point, keys[i]};
            none = false;
        }
    }
    return best;
}

static bf_walk begin_walk(const bf_tree *tree, uint64_t number, bf_probe *p, bf_path *path) {
    bf_walk w = {.tree = tree, .number = number, .probe = p, .path = path};
    w.end = (bf_end){.node = BF_NONE, .point = BF_NONE, .voter = BF_NONE};
    if (path)
        path->count = tree->nodes ? 0 : BF_LEVELS + 1; /* the first node would change everything */
    return w;
}

static void arrive(const bf_model *m, bf_walk *w) {
    if (w->path && w->path->count < BF_LEVELS)
        w->path->node[w->path->count] = w->v.node;
    if (w->path)
        w->path->count++;
    w->end.level++;
    if (m->store.state[w->v.point] == BF_LIVE) {
        w->end.voter = w->v.point;
        w->end.key = w->v.key;
    }
}

static void finish(bf_walk *w) {
    w->end.node = w->v.node;
    w->end.point = w->v.point;
}

/* One level down; false at the end. */
static bool step(const bf_model *m, bf_walk *w) {
    bf_place next = nearest(m, w->tree, w->number, w->probe, w->v);
    if (next.node == w->v.node) {
        finish(w);
        return false;
    }
    w->v = next;
    arrive(m, w);
    return true;
}

bf_end bf_descend(const bf_model *m, const bf_tree *tree, uint64_t number, bf_probe *p,
                  bf_path *path) {
    bf_walk w = begin_walk(tree, number, p, path);
    if (!tree->nodes)
        return w.end;
    w.v.point = tree->node[0].point;
    bf_distances(m, p, &w.v.point, 1, &w.v.key);
    arrive(m, &w);
    while (step(m, &w))
        ;
    return w.end;
}

/* Prefetches the memory of the next step while other trees take theirs. */
static void fetch_children(const bf_walk *w) {
    const bf_node *node = &w->tree->node[w->v.node];
    if (!node->children)
        return;
    const uint32_t *points = w->tree->arena + node->offset;
    for (size_t i = 0; i < node->children && i < BF_CHUNK; i += 16)
        __builtin_prefetch(points + i);
    __builtin_prefetch(points + node->capacity);
}

/* Finishes up to BF_GROUP descents in step. */
static void finish_together(const bf_model *m, bf_walk **on, size_t going) {
    while (going) {
        size_t left = 0;
        for (size_t i = 0; i < going; i++)
            fetch_children(on[i]);
        for (size_t i = 0; i < going; i++)
            if (step(m, on[i])) {
                __builtin_prefetch(&on[i]->tree->node[on[i]->v.node]);
                on[left++] = on[i];
            }
        going = left;
    }
}

void bf_descend_some(const bf_model *m, const size_t *trees, size_t count, bf_probe *p,
                     bf_end *ends, bf_path *paths) {
    bf_walk walks[BF_GROUP], *on[BF_GROUP];
    uint32_t points[BF_GROUP], keys[BF_GROUP];
    size_t going = 0;
    for (size_t i = 0; i < count; i++) {
        walks[i] = begin_walk(&m->tree[trees[i]], trees[i], p, paths ? &paths[i] : NULL);
        if (!m->tree[trees[i]].nodes)
            continue;
        points[going] = m->tree[trees[i]].node[0].point;
        on[going++] = &walks[i];
    }
    if (going)
        bf_distances(m, p, points, going, keys);
    for (size_t i = 0; i < going; i++) {
        on[i]->v = (bf_place){.node = 0, .point = points[i], .key = keys[i]};
        arrive(m, on[i]);
    }
    finish_together(m, on, going);
    for (size_t i = 0; i < count; i++)
        ends[i] = walks[i].end;
}

void bf_find_ends(const bf_model *m, bf_probe *p, size_t from, size_t to, const bool *wanted,
                  bf_end *ends, bool *known) {
    for (size_t t = from; t < to;) {
        size_t some[BF_GROUP], count = 0;
        bf_end found[BF_GROUP];
        for (; t < to && count < BF_GROUP; t++)
            if (!known[t] && (!wanted || wanted[t]))
                some[count++] = t;
        bf_descend_some(m, some, count, p, found, NULL);
        for (size_t i = 0; i < count; i++) {
            ends[some[i]] = found[i];
            known[some[i]] = true;
        }
    }
}

/* ---- many queries in one tree ---- */

/* Fewer queries at a node than this go on one by one. */
enum { TOGETHER = 4 };

static bf_walk *walk_of(const bf_crowd *c, size_t at) {
    return &c->walk[c->order[at]];
}

static void go_alone(const bf_model *m, const bf_crowd *c, size_t from, size_t to) {
    bf_walk *on[BF_GROUP];
    for (size_t going; from < to; from += going) {
        for (going = 0; going < BF_GROUP && from + going < to; going++)
            on[going] = walk_of(c, from + going);
        finish_together(m, on, going);
    }
}

/* Queries from .. to-1 of the order are at one node with at most BF_CHUNK children: each makes its
 * choice, 0 for the node itself. counts: how many made each. */
static void choose(const bf_model *m, const bf_crowd *c, size_t from, size_t to, uint32_t *counts) {
    const bf_walk *first = walk_of(c, from);
    const bf_node *node = &first->tree->node[first->v.node];
    const uint32_t *nodes = first->tree->arena + node->offset + node->capacity;
    for (size_t i = from; i < to; i++) {
        bf_walk *w = walk_of(c, i);
        bf_place next = nearest(m, w->tree, w->number, w->probe, w->v);
        uint32_t choice = 0;
        if (next.node == w->v.node)
            finish(w);
        else
            while (nodes[choice++] != next.node)
                ;
        c->choice[i] = (uint16_t)choice;
        counts[choice]++;
        if (!choice)
            continue;
        w->v = next;
        arrive(m, w);
    }
}

/* Sorts the queries by their choices; pushes those that go on. */
static void divide(const bf_crowd *c, size_t from, size_t to, size_t choices, uint32_t *counts,
                   size_t *pushed) {
    uint32_t at = (uint32_t)from;
    for (size_t k = 0; k < choices; k++) {
        uint32_t count = counts[k];
        counts[k] = at;
        if (k && count)
            c->pending[(*pushed)++] = (bf_span){at, at + count};
        at += count;
    }
    for (size_t i = from; i < to; i++)
        c->sorted[counts[c->choice[i]]++] = c->order[i];
    memcpy(c->order + from, c->sorted + from, (to - from) * sizeof *c->order);
}

static void start_walks(const bf_model *m, size_t tree, size_t count, const bf_crowd *c) {
    uint32_t root = m->tree[tree].node[0].point;
    for (size_t i = 0; i < count; i++) {
        bf_walk *w = walk_of(c, i);
        *w = begin_walk(&m->tree[tree], tree, &c->probe[c->order[i]], NULL);
        w->v.point = root;
        bf_distances(m, w->probe, &root, 1, &w->v.key);
        arrive(m, w);
    }
}

void bf_descend_many(const bf_model *m, size_t tree, size_t count, const bf_crowd *c) {
    size_t pushed = 0;
    if (!m->tree[tree].nodes) {
        for (size_t i = 0; i < count; i++)
            *walk_of(c, i) = begin_walk(&m->tree[tree], tree, NULL, NULL);
        return;
    }
    start_walks(m, tree, count, c);
    if (count)
        c->pending[pushed++] = (bf_span){0, (uint32_t)count};
    while (pushed) {
        bf_span s = c->pending[--pushed];
        const bf_walk *w = walk_of(c, s.from);
        uint32_t children = w->tree->node[w->v.node].children, counts[BF_CHUNK + 1] = {0};
        if (s.to - s.from < TOGETHER || children > BF_CHUNK) {
            go_alone(m, c, s.from, s.to);
            continue;
        }
        choose(m, c, s.from, s.to, counts);
        divide(c, s.from, s.to, children + 1, counts, &pushed);
    }
}
