/* tree.c: one tree: the greedy descent, and growing.
 *
 * Descend: v = root; the candidates are the children of v, and v itself if it has fewer than k
 * children; the nearest is taken. If it is v the descent ends, else it continues there. A full node
 * is never an end. Ties at distance 0 go to the newest point, others to the smallest
 * hash(seed, tree, id): as good as a random choice, but always the same one, so that what was
 * learned is found again. */
#include "methods/bforest/bforest.h"

#include "base/work.h"

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

typedef struct place {
    uint32_t node, point, key;
} place;

/* The nearest of the candidates at v; including v itself if it may be the end. */
static place nearest(const bf_model *m, const bf_tree *tree, uint64_t number, bf_probe *p,
                     place v) {
    const bf_node *node = &tree->node[v.node];
    if (!node->children) /* a tree without children has no arena */
        return v;
    const uint32_t *points = tree->arena + node->offset, *nodes = points + node->capacity;
    bool none = node->children >= m->children;
    place best = v;
    for (size_t from = 0; from < node->children; from += BF_CHUNK) {
        uint32_t keys[BF_CHUNK];
        size_t left = node->children - from, count = left < BF_CHUNK ? left : BF_CHUNK;
        bf_distances(m, p, points + from, count, keys);
        for (size_t i = 0; i < count; i++) {
            uint32_t point = points[from + i];
            if (none || keys[i] < best.key ||
                (keys[i] == best.key && bf_preferred(m, number, keys[i], point, best.point)))
                best = (place){nodes[from + i], point, keys[i]};
            none = false;
        }
    }
    return best;
}

/* A descent in progress. */
typedef struct walk {
    const bf_tree *tree;
    uint64_t number;
    place v;
    bf_end end;
    bf_path *path; /* or NULL */
} walk;

static walk begin_walk(const bf_tree *tree, uint64_t number, bf_path *path) {
    walk w = {.tree = tree, .number = number, .path = path};
    w.end = (bf_end){.node = BF_NONE, .point = BF_NONE, .voter = BF_NONE};
    if (path)
        path->count = tree->nodes ? 0 : BF_LEVELS + 1; /* the first node would change everything */
    return w;
}

static void arrive(const bf_model *m, walk *w) {
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

/* One level down; false at the end. */
static bool step(const bf_model *m, bf_probe *p, walk *w) {
    place next = nearest(m, w->tree, w->number, p, w->v);
    if (next.node == w->v.node) {
        w->end.node = w->v.node;
        w->end.point = w->v.point;
        return false;
    }
    w->v = next;
    arrive(m, w);
    return true;
}

bf_end bf_descend(const bf_model *m, const bf_tree *tree, uint64_t number, bf_probe *p,
                  bf_path *path) {
    walk w = begin_walk(tree, number, path);
    if (!tree->nodes)
        return w.end;
    w.v.point = tree->node[0].point;
    bf_distances(m, p, &w.v.point, 1, &w.v.key);
    arrive(m, &w);
    while (step(m, p, &w))
        ;
    return w.end;
}

/* Prefetches the memory of the next step while other trees take theirs. */
static void fetch_children(const walk *w) {
    const bf_node *node = &w->tree->node[w->v.node];
    if (!node->children)
        return;
    const uint32_t *points = w->tree->arena + node->offset;
    for (size_t i = 0; i < node->children && i < BF_CHUNK; i += 16)
        __builtin_prefetch(points + i);
    __builtin_prefetch(points + node->capacity);
}

void bf_descend_some(const bf_model *m, const size_t *trees, size_t count, bf_probe *p,
                     bf_end *ends, bf_path *paths) {
    walk walks[BF_GROUP], *on[BF_GROUP];
    uint32_t points[BF_GROUP], keys[BF_GROUP];
    size_t going = 0;
    for (size_t i = 0; i < count; i++) {
        walks[i] = begin_walk(&m->tree[trees[i]], trees[i], paths ? &paths[i] : NULL);
        if (!m->tree[trees[i]].nodes)
            continue;
        points[going] = m->tree[trees[i]].node[0].point;
        on[going++] = &walks[i];
    }
    if (going)
        bf_distances(m, p, points, going, keys);
    for (size_t i = 0; i < going; i++) {
        on[i]->v = (place){.node = 0, .point = points[i], .key = keys[i]};
        arrive(m, on[i]);
    }
    while (going) {
        size_t left = 0;
        for (size_t i = 0; i < going; i++)
            fetch_children(on[i]);
        for (size_t i = 0; i < going; i++)
            if (step(m, p, on[i])) {
                __builtin_prefetch(&on[i]->tree->node[on[i]->v.node]);
                on[left++] = on[i];
            }
        going = left;
    }
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

bool bf_differs(const bf_model *m, const bf_end *end, int32_t label, double value) {
    if (end->node == BF_NONE || m->store.state[end->point] != BF_LIVE)
        return true;
    if (m->task == LIMN_REGRESS)
        return fabs(m->store.value[end->point] - value) > m->eps;
    return m->store.label[end->point] != label;
}

/* ---- growing ---- */

/* Blocks are given back when a node needs a larger one. Those of one capacity form a list: each
 * begins with the place after the next one's offset, 0 at the end. */

enum { FIRST_ROOM = 48 };

void bf_tree_free(const limn_allocator *mem, bf_tree *tree) {
    lm_free(mem, tree->node);
    lm_free(mem, tree->arena);
}

/* The capacity of the block that a node needs for one more child; 0: it has room. */
static size_t capacity_wanted(const bf_tree *tree, uint32_t parent) {
    if (parent == BF_NONE)
        return 0;
    const bf_node *node = &tree->node[parent];
    if (node->children < node->capacity)
        return 0;
    return node->capacity ? 2 * (size_t)node->capacity : 4;
}

static uint32_t *spare_of(bf_tree *tree, size_t capacity) {
    return &tree->spare[__builtin_ctzll(capacity) - 2];
}

/* Makes room for `wanted` items, keeping those there are. */
static bool grow_array(const limn_allocator *mem, void **array, size_t size, size_t wanted,
                       size_t *capacity) {
    size_t room = *capacity < FIRST_ROOM ? FIRST_ROOM : *capacity;
    if (wanted <= *capacity)
        return true;
    while (room < wanted)
        room += room / 2;
    void *grown = lm_resize(mem, *array, room, size);
    if (!grown)
        return false;
    *array = grown;
    *capacity = room;
    return true;
}

static bool make_room(const limn_allocator *mem, bf_tree *tree, size_t nodes, size_t places) {
    void *node = tree->node, *arena = tree->arena;
    bool fine = grow_array(mem, &node, sizeof *tree->node, nodes, &tree->node_capacity) &&
                grow_array(mem, &arena, sizeof *tree->arena, places, &tree->arena_capacity);
    tree->node = node;
    tree->arena = arena;
    return fine;
}

bool bf_tree_reserve(const limn_allocator *mem, bf_tree *tree, uint32_t parent) {
    size_t capacity = capacity_wanted(tree, parent), places = tree->used;
    if (capacity && !*spare_of(tree, capacity))
        places += 2 * capacity;
    return tree->nodes < INT32_MAX && places <= UINT32_MAX - 1 &&
           make_room(mem, tree, tree->nodes + 1, places);
}

/* A block from the list of given back ones, or a new one. */
static uint32_t take_block(bf_tree *tree, size_t capacity) {
    uint32_t *first = spare_of(tree, capacity), offset = (uint32_t)tree->used;
    if (*first) {
        offset = *first - 1;
        *first = tree->arena[offset];
    } else {
        tree->used += 2 * capacity;
    }
    return offset;
}

static void give_back(bf_tree *tree, size_t capacity, uint32_t offset) {
    uint32_t *first = spare_of(tree, capacity);
    tree->arena[offset] = *first;
    *first = offset + 1;
}

static void enlarge_block(bf_tree *tree, bf_node *node, size_t capacity) {
    uint32_t offset = take_block(tree, capacity);
    uint32_t *block = tree->arena + offset;
    const uint32_t *old = tree->arena + node->offset;
    if (node->children) {
        memcpy(block, old, node->children * sizeof *block);
        memcpy(block + capacity, old + node->capacity, node->children * sizeof *block);
        give_back(tree, node->capacity, node->offset);
    }
    node->offset = offset;
    node->capacity = (uint32_t)capacity;
}

void bf_tree_append(bf_tree *tree, const bf_end *end, uint32_t point) {
    size_t capacity = capacity_wanted(tree, end->node);
    uint32_t number = (uint32_t)tree->nodes++;
    tree->node[number] = (bf_node){.point = point};
    tree->depth = end->level + 1 > tree->depth ? end->level + 1 : tree->depth;
    if (end->node == BF_NONE)
        return;
    bf_node *parent = &tree->node[end->node];
    if (capacity)
        enlarge_block(tree, parent, capacity);
    uint32_t *points = tree->arena + parent->offset;
    points[parent->children] = point;
    points[parent->capacity + parent->children++] = number;
}

/* The tree learns a point whose descent ended at `end`; not one that was forgotten meanwhile. */
static bool learn_point(const limn_allocator *mem, const bf_model *m, uint32_t point,
                        const bf_end *end, bf_tree *tree, bool *grew) {
    const bf_store *s = &m->store;
    *grew = s->state[point] == BF_LIVE &&
            bf_differs(m, end, s->values ? 0 : s->label[point], s->values ? s->value[point] : 0);
    if (!*grew)
        return true;
    if (!bf_tree_reserve(mem, tree, end->node))
        return false;
    bf_tree_append(tree, end, point);
    return true;
}

static bool grow_alone(const limn_allocator *mem, const bf_model *m, uint64_t number,
                       const size_t *points, size_t count, bf_tree *tree) {
    bool fine = true, grew;
    for (size_t i = 0; i < count && fine; i++) {
        bf_probe p = bf_probe_point(m, points[i]);
        bf_end end = bf_descend(m, tree, number, &p, NULL);
        fine = learn_point(mem, m, (uint32_t)points[i], &end, tree, &grew);
    }
    return fine;
}

/* Several threads descend for a block of points in the tree as it is. Then the points are learned
 * one by one; if a node on a point's path has got a child meanwhile, that descent is repeated. So
 * the tree is the same as with a single thread. */
enum { ALONE = 256, BLOCK = 1024, PIECE = 16, LEAST_STRIDE = 64 };

typedef struct together {
    const bf_model *m;
    const bf_tree *tree;
    uint64_t number;
    const size_t *points;
    size_t count; /* of this block */
    bf_end *end;
    bf_path *path;
} together;

static void descend_some(void *user, size_t index, int thread) {
    const together *g = user;
    size_t from = index * PIECE, to = from + PIECE < g->count ? from + PIECE : g->count;
    (void)thread;
    for (size_t i = from; i < to; i++) {
        bf_probe p = bf_probe_point(g->m, g->points[i]);
        g->end[i] = bf_descend(g->m, g->tree, g->number, &p, &g->path[i]);
    }
}

/* grown: per node, the last block in which it got a child. */
static bool learn_block(const limn_allocator *mem, const together *g, bf_tree *tree, uint32_t block,
                        uint32_t *grown) {
    bool fine = true, grew;
    for (size_t i = 0; i < g->count && fine; i++) {
        const bf_path *path = &g->path[i];
        bool valid = path->count <= BF_LEVELS;
        for (size_t k = 0; valid && k < path->count; k++)
            valid = grown[path->node[k]] != block;
        bf_end end = g->end[i];
        if (!valid) {
            bf_probe p = bf_probe_point(g->m, g->points[i]);
            end = bf_descend(g->m, tree, g->number, &p, NULL);
        }
        fine = learn_point(mem, g->m, (uint32_t)g->points[i], &end, tree, &grew);
        if (fine && grew && end.node != BF_NONE)
            grown[end.node] = block;
    }
    return fine;
}

static bool grow_together(const limn_allocator *mem, const bf_model *m, uint64_t number,
                          const size_t *points, size_t count, int threads, bf_tree *tree) {
    together g = {.m = m, .tree = tree, .number = number};
    uint32_t *grown = lm_alloc_zero(mem, tree->nodes + count, sizeof *grown), block = 0;
    g.end = lm_alloc(mem, BLOCK, sizeof *g.end);
    g.path = lm_alloc(mem, BLOCK, sizeof *g.path);
    bool fine = grown && g.end && g.path;
    for (size_t from = 0; from < count && fine; from += g.count) {
        g.points = points + from;
        /* In a small tree a node on most paths would get a child. */
        size_t most = tree->nodes / 8 < BLOCK ? tree->nodes / 8 + 1 : BLOCK;
        g.count = count - from < most ? count - from : most;
        lm_parallel(threads, (g.count + PIECE - 1) / PIECE, descend_some, &g);
        fine = learn_block(mem, &g, tree, ++block, grown);
    }
    lm_free(mem, grown);
    lm_free(mem, g.end);
    lm_free(mem, g.path);
    return fine;
}

bool bf_extend(const limn_allocator *mem, const bf_model *m, uint64_t number, const size_t *points,
               size_t count, int threads, bf_tree *tree) {
    size_t alone = threads < 2 || m->store.stride < LEAST_STRIDE || count < 2 * ALONE ? count
                   : tree->nodes < ALONE                                              ? ALONE
                                                                                      : 0;
    return grow_alone(mem, m, number, points, alone, tree) &&
           (alone == count ||
            grow_together(mem, m, number, points + alone, count - alone, threads, tree));
}

void bf_tree_clear(bf_tree *tree) {
    tree->nodes = tree->used = tree->depth = 0;
    memset(tree->spare, 0, sizeof tree->spare);
}

/* ---- copying ---- */

size_t bf_tree_places(const bf_tree *tree) {
    size_t places = 0;
    for (size_t i = 0; i < tree->nodes; i++)
        places += 2 * (size_t)tree->node[i].capacity;
    return places;
}

/* Copies the nodes, and the child blocks in node order without gaps. */
static void copy_nodes(const bf_tree *tree, bf_node *node, uint32_t *arena) {
    size_t used = 0;
    for (size_t i = 0; i < tree->nodes; i++) {
        const bf_node *from = &tree->node[i];
        node[i] = *from;
        node[i].offset = from->capacity ? (uint32_t)used : 0;
        if (!from->capacity)
            continue;
        const uint32_t *points = tree->arena + from->offset, *nodes = points + from->capacity;
        memcpy(arena + used, points, from->children * sizeof *arena);
        memcpy(arena + used + from->capacity, nodes, from->children * sizeof *arena);
        used += 2 * (size_t)from->capacity;
    }
}

bool bf_tree_assign(const limn_allocator *mem, const bf_tree *from, bf_tree *to) {
    size_t places = bf_tree_places(from);
    bf_node *node = lm_alloc(mem, from->nodes, sizeof *node);
    uint32_t *arena = lm_alloc(mem, places, sizeof *arena);
    if (!node || !arena) {
        lm_free(mem, node);
        lm_free(mem, arena);
        return false;
    }
    copy_nodes(from, node, arena);
    bf_tree_free(mem, to);
    bf_tree_clear(to);
    to->node = node;
    to->arena = arena;
    to->node_capacity = to->nodes = from->nodes;
    to->arena_capacity = to->used = places;
    to->depth = from->depth;
    return true;
}
