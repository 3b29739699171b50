/* tree.c: growing one tree: a point becomes a child of the node where its descent ends. */
#include "methods/bforest/bforest.h"

#include "base/work.h"

#include <math.h>

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
