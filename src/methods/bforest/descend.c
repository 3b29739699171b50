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
    bf_probe p = {.x = x, .keys = lm_keys_kernel()};
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

/* The keys of measured distances. */
static uint32_t to_keys(const bf_model *m, const bf_probe *p, const uint32_t *points, size_t count,
                        double *distance, uint32_t *keys, uint64_t *which) {
    if (m->metric == BF_COSINE)
        for (size_t i = 0; i < count; i++)
            distance[i] = cosine(distance[i], p->norm, m->store.norm[points[i]]);
    return p->keys(distance, count, keys, which);
}

static uint32_t measure(const bf_model *m, const bf_probe *p, const uint32_t *points, size_t count,
                        uint32_t *keys, uint64_t *which) {
    const bf_store *s = &m->store;
    double out[BF_CHUNK];
    if (m->metric == BF_CALLER)
        for (size_t i = 0; i < count; i++)
            out[i] = from_caller(m, p->x, s->x + (size_t)points[i] * s->stride);
    else if (p->bytes && s->bytes) /* a point that arrived meanwhile may have ended that */
        p->gather_bytes(p->bytes, s->byte, s->stride, points, count, out);
    else
        p->gather(p->x, s->x, s->stride, points, count, out);
    return to_keys(m, p, points, count, out, keys, which);
}

static uint32_t least_of(const uint32_t *keys, size_t count, uint64_t *which) {
    uint32_t least = UINT32_MAX;
    *which = 0;
    for (size_t i = 0; i < count; i++)
        least = keys[i] < least ? keys[i] : least;
    for (size_t i = 0; i < count; i++)
        *which |= (uint64_t)(keys[i] == least) << i;
    return least;
}

/* Trees meet the same points: known keys are not computed again. An entry is a point and its key;
 * entries share slots, and the later one stays. */
static uint32_t measure_cached(const bf_model *m, const bf_probe *p, const uint32_t *points,
                               size_t count, uint32_t *keys, uint64_t *which) {
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
    if (misses)
        (void)measure(m, p, missing, misses, found, which);
    for (size_t i = 0; i < misses; i++) {
        keys[place[i]] = found[i];
        p->cache[missing[i] % BF_CACHE] = (uint64_t)missing[i] << 32 | found[i];
    }
    return least_of(keys, count, which);
}

uint32_t bf_distances(const bf_model *m, bf_probe *p, const uint32_t *points, size_t count,
                      uint32_t *keys, uint64_t *which) {
    p->comparisons += count;
    return p->cache ? measure_cached(m, p, points, count, keys, which)
                    : measure(m, p, points, count, keys, which);
}

uint32_t bf_distance(const bf_model *m, bf_probe *p, uint32_t point) {
    uint32_t key;
    uint64_t which;
    return bf_distances(m, p, &point, 1, &key, &which);
}

/* ---- descending ---- */

bool bf_preferred(const bf_model *m, uint64_t tree, uint32_t key, uint32_t a, uint32_t b) {
    uint64_t a_id = m->store.id[a], b_id = m->store.id[b];
    if (key == 0)
        return a_id > b_id;
    return bf_hash(m, BF_TIES, tree, 0, a_id) < bf_hash(m, BF_TIES, tree, 0, b_id);
}

/* Takes the nearest of a node's children, those in `which`, all at the distance `least`, for the
 * best place so far unless that is nearer; none: there is none yet. Returns the child's number from
 * 1, or 0: no change. */
static size_t take_nearest(const bf_model *m, uint64_t number, const uint32_t *points,
                           const uint32_t *nodes, uint32_t least, uint64_t which, bool none,
                           bf_place *best) {
    size_t taken = 0;
    if (!none && least > best->key)
        return 0;
    for (; which; which &= which - 1) {
        size_t i = (size_t)__builtin_ctzll(which);
        if ((none && !taken) || least < best->key ||
            bf_preferred(m, number, least, points[i], best->point)) {
            *best = (bf_place){nodes[i], points[i], least};
            taken = i + 1;
        }
    }
    return taken;
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
        uint64_t which;
        size_t left = node->children - from, count = left < BF_CHUNK ? left : BF_CHUNK;
        uint32_t least = bf_distances(m, p, points + from, count, keys, &which);
        if (take_nearest(m, number, points + from, nodes + from, least, which, none, &best))
            none = false;
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
    w.v.key = bf_distance(m, p, w.v.point);
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

static void fetch_row(const bf_store *s, uint32_t point, size_t d) {
    const float *x = s->x + (size_t)point * s->stride;
    for (size_t j = 0; j < d; j += 16)
        __builtin_prefetch(x + j);
}

/* How many of the rows that the next step compares are prefetched, and how much of each. */
enum { ROWS_AHEAD = 16, FLOATS_AHEAD = 32 };

static void fetch_rows(const bf_model *m, const bf_walk *w) {
    const bf_node *node = &w->tree->node[w->v.node];
    const bf_store *s = &m->store;
    bool bytes = w->probe->bytes && s->bytes;
    size_t d = s->d < FLOATS_AHEAD ? s->d : FLOATS_AHEAD;
    if (!node->children)
        return;
    const uint32_t *points = w->tree->arena + node->offset;
    for (size_t i = 0; i < node->children && i < ROWS_AHEAD; i++)
        if (bytes)
            __builtin_prefetch(s->byte + (size_t)points[i] * s->stride);
        else
            fetch_row(s, points[i], d);
}

/* Finishes some descents in step. */
static void finish_together(const bf_model *m, bf_walk **on, size_t going) {
    while (going) {
        size_t left = 0;
        for (size_t i = 0; i < going; i++)
            fetch_children(on[i]);
        for (size_t i = 0; i < going; i++)
            fetch_rows(m, on[i]);
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
    uint64_t which;
    size_t going = 0;
    for (size_t i = 0; i < count; i++) {
        walks[i] = begin_walk(&m->tree[trees[i]], trees[i], p, paths ? &paths[i] : NULL);
        if (!m->tree[trees[i]].nodes)
            continue;
        points[going] = m->tree[trees[i]].node[0].point;
        on[going++] = &walks[i];
    }
    if (going)
        bf_distances(m, p, points, going, keys, &which);
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
enum { TOGETHER = 4, IN_STEP = 16 };

static bf_walk *walk_of(const bf_crowd *c, size_t at) {
    return &c->walk[c->order[at]];
}

static void go_alone(const bf_model *m, const bf_crowd *c, size_t count) {
    bf_walk *on[IN_STEP];
    for (size_t from = 0, going; from < count; from += going) {
        for (going = 0; going < IN_STEP && from + going < count; going++)
            on[going] = &c->walk[c->alone[from + going]];
        finish_together(m, on, going);
    }
}

/* Children side by side, for many queries that compare themselves with them. */
typedef struct board {
    const uint32_t *points, *nodes;
    size_t count, lanes, d; /* d: a multiple of 4 */
    const double *columns;  /* NULL: where they are */
    lm_spread *spread;
    bool full; /* the node itself is no candidate */
} board;

/* At least this many queries are worth copying the children; rows of bytes are compared as fast
 * where they are. */
enum { SPREAD_FROM = 8 };

static board lay_board(const bf_model *m, const bf_crowd *c, const bf_walk *w, size_t queries) {
    const bf_store *s = &m->store;
    const bf_node *node = &w->tree->node[w->v.node];
    board b = {.points = w->tree->arena + node->offset, .count = node->children};
    b.nodes = b.points + node->capacity;
    b.lanes = (b.count + LM_LANES - 1) / LM_LANES * LM_LANES;
    b.d = (m->d + 3) / 4 * 4;
    b.full = node->children >= m->children;
    if (!c->columns || queries < SPREAD_FROM || (s->bytes && w->probe->bytes))
        return b;
    b.columns = c->columns;
    b.spread = lm_spread_kernel(m->metric == BF_COSINE ? LM_DOT
                                : m->metric == BF_L1   ? LM_L1
                                                       : LM_L2);
    for (size_t i = 0; i < b.count; i++)
        fetch_row(s, b.points[i], b.d);
    for (size_t i = 0; i < b.lanes; i++) {
        const float *x = s->x + (size_t)b.points[i < b.count ? i : 0] * s->stride;
        for (size_t j = 0; j < b.d; j++)
            c->columns[j * b.lanes + i] = (double)x[j];
    }
    return b;
}

static uint32_t measure_board(const bf_model *m, const board *b, bf_probe *p, uint64_t *which) {
    double x[BF_COLUMNS], out[BF_CHUNK];
    uint32_t keys[BF_CHUNK];
    if (!b->columns)
        return bf_distances(m, p, b->points, b->count, keys, which);
    for (size_t j = 0; j < b->d; j++)
        x[j] = (double)p->x[j];
    b->spread(x, b->d, b->columns, b->lanes, out);
    p->comparisons += b->count;
    return to_keys(m, p, b->points, b->count, out, keys, which);
}

/* Queries from .. to-1 of the order are at one node with at most BF_CHUNK children: each makes its
 * choice, 0 for the node itself. counts: how many made each. */
static void choose(const bf_model *m, const bf_crowd *c, size_t from, size_t to, uint32_t *counts) {
    board b = lay_board(m, c, walk_of(c, from), to - from);
    for (size_t i = from; i < to; i++) {
        bf_walk *w = walk_of(c, i);
        uint64_t which;
        uint32_t least = measure_board(m, &b, w->probe, &which);
        size_t choice = take_nearest(m, w->number, b.points, b.nodes, least, which, b.full, &w->v);
        if (choice)
            arrive(m, w);
        else
            finish(w);
        c->choice[i] = (uint16_t)choice;
        counts[choice]++;
    }
}

/* What is still to be done in a tree. */
typedef struct to_do {
    size_t pending, alone;
} to_do;

static void go_on_alone(const bf_crowd *c, uint32_t from, uint32_t to, to_do *work) {
    for (; from < to; from++) {
        const bf_walk *w = walk_of(c, from);
        __builtin_prefetch(&w->tree->node[w->v.node]);
        c->alone[work->alone++] = c->order[from];
    }
}

/* Queries that are at the same node go on: together or one by one. */
static void go_on(const bf_crowd *c, uint32_t from, uint32_t to, to_do *work) {
    if (to - from >= TOGETHER)
        c->pending[work->pending++] = (bf_span){from, to};
    else
        go_on_alone(c, from, to, work);
}

/* Sorts the queries by their choices. */
static void divide(const bf_crowd *c, size_t from, size_t to, size_t choices,
                   const uint32_t *counts, to_do *work) {
    uint32_t starts[BF_CHUNK + 1], at = (uint32_t)from;
    for (size_t k = 0; k < choices; k++) {
        starts[k] = at;
        at += counts[k];
    }
    for (size_t i = from; i < to; i++)
        c->sorted[starts[c->choice[i]]++] = c->order[i];
    memcpy(c->order + from, c->sorted + from, (to - from) * sizeof *c->order);
    for (size_t k = 1; k < choices; k++)
        go_on(c, starts[k] - counts[k], starts[k], work);
}

static void start_walks(const bf_model *m, size_t tree, size_t count, const bf_crowd *c) {
    uint32_t root = m->tree[tree].node[0].point;
    for (size_t i = 0; i < count; i++) {
        bf_walk *w = walk_of(c, i);
        *w = begin_walk(&m->tree[tree], tree, &c->probe[c->order[i]], NULL);
        w->v.point = root;
        w->v.key = bf_distance(m, w->probe, root);
        arrive(m, w);
    }
}

/* Queries that are at the same node choose, unless it has no children or too many. */
static void choose_together(const bf_model *m, const bf_crowd *c, bf_span s, to_do *work) {
    const bf_walk *w = walk_of(c, s.from);
    uint32_t children = w->tree->node[w->v.node].children, counts[BF_CHUNK + 1];
    if (!children || children > BF_CHUNK) {
        go_on_alone(c, s.from, s.to, work);
        return;
    }
    memset(counts, 0, (children + 1) * sizeof *counts);
    choose(m, c, s.from, s.to, counts);
    divide(c, s.from, s.to, children + 1, counts, work);
}

void bf_descend_many(const bf_model *m, size_t tree, size_t count, const bf_crowd *c) {
    to_do work = {0, 0};
    if (!m->tree[tree].nodes) {
        for (size_t i = 0; i < count; i++)
            *walk_of(c, i) = begin_walk(&m->tree[tree], tree, NULL, NULL);
        return;
    }
    start_walks(m, tree, count, c);
    go_on(c, 0, (uint32_t)count, &work);
    while (work.pending)
        choose_together(m, c, c->pending[--work.pending], &work);
    go_alone(m, c, work.alone);
}
