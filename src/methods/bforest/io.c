/* io.c: the sections of bforest.
 *
 * Points are written as they are in memory. Trees are written one after another: nodes in the order
 * in which they were made, child blocks in the order of their nodes, without gaps. A child has a
 * larger number than its parent, so links cannot form a cycle. A tree that is being refreshed comes
 * last. The hash of equal rows is rebuilt when the file is opened. */
#include "methods/bforest/bforest.h"

#include <math.h>

/* The random number stream of files of version 1, which do not store it. */
enum { STREAM_1 = 5 };

/* What the file says about one tree. */
typedef struct tree_record {
    uint64_t nodes, places, epoch, step;
} tree_record;

/* ---- saving ---- */

static limn_status put_about(const bf_model *m, lm_writer *writer) {
    const bf_store *s = &m->store;
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "bforest.about", BF_FILE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_int(kv, "seed", (int64_t)m->seed);
    lm_kv_put_int(kv, "stream", (int64_t)m->stream);
    lm_kv_put_int(kv, "seen", (int64_t)m->seen);
    lm_kv_put_int(kv, "built", (int64_t)m->built);
    lm_kv_put_int(kv, "asked", (int64_t)m->asked);
    lm_kv_put_int(kv, "spent", (int64_t)m->spent);
    lm_kv_put_real(kv, "eps", m->eps);
    lm_kv_put_int(kv, "trees", (int64_t)m->trees);
    lm_kv_put_int(kv, "slots", (int64_t)s->slots);
    lm_kv_put_int(kv, "free", (int64_t)s->free_count);
    const bf_growing *g = &m->growing;
    lm_kv_put_int(kv, "growing", g->on ? (int64_t)g->number : -1);
    if (g->on) {
        lm_kv_put_int(kv, "growing_since", (int64_t)g->start);
        lm_kv_put_int(kv, "growing_quota", (int64_t)g->quota);
        lm_kv_put_int(kv, "growing_slots", (int64_t)g->slots);
        lm_kv_put_int(kv, "growing_late", (int64_t)g->late_count);
        lm_kv_put_int(kv, "growing_done", (int64_t)g->done);
    }
    return lm_kv_end(kv);
}

/* The sections with one entry per point. */
typedef struct part {
    const char *name;
    void **data;
    size_t count, size;
} part;

enum { PARTS = 7 };

static bool list_parts(bf_store *s, part *parts) {
    size_t floats;
    if (!lm_mul(s->slots, s->stride, &floats))
        return false;
    const part all[PARTS] = {
        {"bforest.points", (void **)&s->x, floats, sizeof *s->x},
        {"bforest.labels", (void **)&s->label, s->values ? 0 : s->slots, sizeof *s->label},
        {"bforest.values", (void **)&s->value, s->values ? s->slots : 0, sizeof *s->value},
        {"bforest.ids", (void **)&s->id, s->slots, sizeof *s->id},
        {"bforest.norms", (void **)&s->norm, s->norms ? s->slots : 0, sizeof *s->norm},
        {"bforest.states", (void **)&s->state, s->slots, sizeof *s->state},
        {"bforest.free", (void **)&s->free, s->free_count, sizeof *s->free},
    };
    memcpy(parts, all, sizeof all);
    return true;
}

/* The trees of the model, then the growing one if there is one. */
static size_t tree_count(const bf_model *m) {
    return m->trees + m->growing.on;
}

static const bf_tree *tree_at(const bf_model *m, size_t t) {
    return t < m->trees ? &m->tree[t] : &m->growing.tree;
}

/* Pieces of a section, collected until they are worth putting. */
enum { COLLECTED = 1024 };

typedef struct collector {
    lm_put *put;
    void *to;
    limn_status status;
    size_t count;
    uint32_t words[COLLECTED];
} collector;

static void flush(collector *c) {
    if (c->status == LIMN_OK && c->count)
        c->status = c->put(c->to, c->words, c->count * sizeof *c->words);
    c->count = 0;
}

/* words NULL: zeros. */
static void collect(collector *c, const uint32_t *words, size_t count) {
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done < COLLECTED - c->count ? count - done : COLLECTED - c->count;
        if (words)
            memcpy(c->words + c->count, words + done, n * sizeof *words);
        else
            memset(c->words + c->count, 0, n * sizeof *c->words);
        c->count += n;
        if (c->count == COLLECTED)
            flush(c);
    }
}

/* Offsets as if the child blocks were in node order without gaps. */
static limn_status produce_nodes(const void *user, lm_put *put, void *to) {
    const bf_model *m = user;
    collector c = {.put = put, .to = to};
    for (size_t t = 0; t < tree_count(m) && c.status == LIMN_OK; t++) {
        const bf_tree *tree = tree_at(m, t);
        uint32_t used = 0;
        for (size_t i = 0; i < tree->nodes; i++) {
            const bf_node *n = &tree->node[i];
            const uint32_t words[] = {n->point, n->children, n->capacity, n->capacity ? used : 0};
            collect(&c, words, LM_COUNT(words));
            used += 2 * n->capacity;
        }
    }
    flush(&c);
    return c.status;
}

static limn_status produce_children(const void *user, lm_put *put, void *to) {
    const bf_model *m = user;
    collector c = {.put = put, .to = to};
    for (size_t t = 0; t < tree_count(m) && c.status == LIMN_OK; t++) {
        const bf_tree *tree = tree_at(m, t);
        for (size_t i = 0; i < tree->nodes; i++) {
            const bf_node *n = &tree->node[i];
            for (size_t half = 0; half < 2 && n->capacity; half++) {
                collect(&c, tree->arena + n->offset + half * n->capacity, n->children);
                collect(&c, NULL, n->capacity - n->children);
            }
        }
    }
    flush(&c);
    return c.status;
}

static limn_status put_records(limn_context *ctx, const bf_model *m, lm_writer *writer) {
    size_t bytes = tree_count(m) * sizeof(tree_record);
    tree_record *record = NULL;
    if (!lm_writer_measures(writer)) {
        record = lm_writer_memory(writer, tree_count(m), sizeof *record);
        if (!record)
            return lm_fail_memory(ctx);
        for (size_t t = 0; t < tree_count(m); t++) {
            const bf_tree *tree = tree_at(m, t);
            record[t] = (tree_record){tree->nodes, bf_tree_places(tree), tree->epoch, tree->step};
        }
    }
    return lm_writer_section(writer, "bforest.trees", BF_FILE_VERSION, record, bytes);
}

static limn_status put_trees(limn_context *ctx, const bf_model *m, lm_writer *writer) {
    size_t nodes = 0, places = 0, late = m->growing.late_count;
    for (size_t t = 0; t < tree_count(m); t++) {
        nodes += tree_at(m, t)->nodes;
        places += bf_tree_places(tree_at(m, t));
    }
    limn_status status = put_records(ctx, m, writer);
    if (status == LIMN_OK && nodes)
        status = lm_writer_stream(writer, "bforest.nodes", BF_FILE_VERSION, nodes * sizeof(bf_node),
                                  produce_nodes, m);
    if (status == LIMN_OK && places)
        status = lm_writer_stream(writer, "bforest.children", BF_FILE_VERSION,
                                  places * sizeof(uint32_t), produce_children, m);
    if (status == LIMN_OK && late)
        status = lm_writer_section(writer, "bforest.late", BF_FILE_VERSION, m->growing.late,
                                   late * sizeof *m->growing.late);
    return status;
}

limn_status bf_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    const bf_model *m = opaque;
    bf_store s = m->store;
    part parts[PARTS];
    limn_status status = put_about(m, writer);
    if (status == LIMN_OK && !list_parts(&s, parts))
        status = lm_fail_memory(ctx);
    for (size_t i = 0; i < PARTS && status == LIMN_OK; i++)
        if (parts[i].count)
            status = lm_writer_section(writer, parts[i].name, BF_FILE_VERSION, *parts[i].data,
                                       parts[i].count * parts[i].size);
    return status == LIMN_OK ? put_trees(ctx, m, writer) : status;
}

/* ---- loading: the points ---- */

/* Whole numbers of a list of keys. */
typedef struct number {
    const char *key;
    uint64_t *to;
    int64_t most;
} number;

static limn_status get_numbers(lm_kv *kv, const number *list, size_t count) {
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < count && status == LIMN_OK; i++) {
        int64_t value = 0;
        status = lm_kv_int(kv, list[i].key, 0, list[i].most, &value);
        *list[i].to = (uint64_t)value;
    }
    return status;
}

/* A query is compared with fewer than 2^33 points: nodes and slots. */
#define SPENT_MOST ((int64_t)BF_MEASURED << 33)

/* The tree that is being refreshed, since version 3. */
static limn_status get_growing(lm_kv *kv, bf_model *m) {
    bf_growing *g = &m->growing;
    int64_t growing = -1, slots = (int64_t)m->store.slots, most = (int64_t)BF_COUNT_LIMIT;
    uint64_t in_use, late, done;
    limn_status status = LIMN_OK;
    if (kv->section.version > 2)
        status = lm_kv_int(kv, "growing", -1, (int64_t)m->trees - 1, &growing);
    if (status != LIMN_OK || growing < 0)
        return status;
    const number numbers[] = {{"growing_since", &g->start, (int64_t)m->seen},
                              {"growing_quota", &g->quota, most},
                              {"growing_slots", &in_use, slots},
                              {"growing_late", &late, UINT32_MAX},
                              {"growing_done", &done, slots + UINT32_MAX}};
    status = get_numbers(kv, numbers, LM_COUNT(numbers));
    g->on = true;
    g->number = (size_t)growing;
    g->slots = (size_t)in_use;
    g->late_count = (size_t)late;
    g->done = (size_t)done;
    return status;
}

static limn_status get_about(limn_context *ctx, const lm_file *file, bf_model *m) {
    lm_kv kv;
    int64_t seed = 0, stream = STREAM_1, trees = 0, slots = 0, unused = 0,
            most = (int64_t)BF_COUNT_LIMIT;
    const number counts[] = {{"seen", &m->seen, most},
                             {"built", &m->built, most},
                             {"asked", &m->asked, BF_MEASURED - 1},
                             {"spent", &m->spent, SPENT_MOST}};
    limn_status status = lm_kv_open(ctx, file, "bforest.about", BF_FILE_VERSION, &kv);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "seed", INT64_MIN, INT64_MAX, &seed);
    if (status == LIMN_OK && kv.section.version > 1)
        status = lm_kv_int(&kv, "stream", INT64_MIN, INT64_MAX, &stream);
    if (status == LIMN_OK)
        status = get_numbers(&kv, counts, LM_COUNT(counts));
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "eps", 0, 1e300, &m->eps);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "trees", (int64_t)m->trees, (int64_t)m->trees, &trees);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "slots", 0, UINT32_MAX - 2, &slots);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "free", 0, slots, &unused);
    m->seed = (uint64_t)seed;
    m->stream = (uint64_t)stream;
    m->store.slots = (size_t)slots;
    m->store.free_count = (size_t)unused;
    if (status == LIMN_OK)
        status = get_growing(&kv, m);
    const bf_growing *g = &m->growing;
    if (status == LIMN_OK && (m->built > m->seen || g->done > g->slots + g->late_count))
        status = lm_file_bad(ctx, file, "its counts are invalid");
    return status;
}

static limn_status get_parts(limn_context *ctx, const lm_file *file, bf_store *s) {
    part parts[PARTS];
    limn_status status = LIMN_OK;
    if (!list_parts(s, parts))
        return lm_file_bad(ctx, file, "the number of points, %zu, is invalid", s->slots);
    for (size_t i = 0; i < PARTS && status == LIMN_OK; i++) {
        const void *data = NULL;
        if (parts[i].count)
            status = lm_file_array(ctx, file, parts[i].name, BF_FILE_VERSION, parts[i].count,
                                   parts[i].size, &data);
        *parts[i].data = (void *)(uintptr_t)data; /* not written while it is a view */
    }
    return status;
}

static bool point_fine(const bf_model *m, size_t i) {
    const bf_store *s = &m->store;
    bool live = s->state[i] == BF_LIVE;
    const float *x = s->x + i * s->stride;
    for (size_t j = 0; j < s->stride; j++)
        if (!isfinite(x[j]) || (x[j] != 0 && (j >= s->d || s->state[i] == BF_FREE)))
            return false;
    if (s->state[i] > BF_SIGNPOST || s->id[i] >= m->seen + (s->state[i] == BF_FREE))
        return false;
    if (s->values ? !isfinite(s->value[i]) || (!live && s->value[i] != 0)
        : live    ? s->label[i] < 0 || (size_t)s->label[i] >= m->classes
                  : s->label[i] != -1)
        return false;
    return !s->norms || (s->norm[i] >= 0 && isfinite(s->norm[i]));
}

static limn_status check_points(limn_context *ctx, const lm_file *file, bf_model *m) {
    bf_store *s = &m->store;
    size_t unused = 0;
    for (size_t i = 0; i < s->slots; i++) {
        if (!point_fine(m, i))
            return lm_file_bad(ctx, file, "point %zu is invalid", i);
        s->live += s->state[i] == BF_LIVE;
        s->signposts += s->state[i] == BF_SIGNPOST;
        unused += s->state[i] == BF_FREE;
    }
    if (unused != s->free_count)
        return lm_file_bad(ctx, file,
                           "the number of free slots, %zu, is not the number listed, %zu", unused,
                           s->free_count);
    if (!bf_store_derive(&ctx->mem, s))
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < s->free_count; i++) { /* refs are used as marks */
        if (s->free[i] >= s->slots || s->state[s->free[i]] != BF_FREE || s->refs[s->free[i]]++)
            return lm_file_bad(ctx, file, "the list of free slots is invalid");
    }
    memset(s->refs, 0, s->slots * sizeof *s->refs);
    return LIMN_OK;
}

/* Late points; some may have been forgotten since. */
static limn_status get_late(limn_context *ctx, const lm_file *file, bf_model *m) {
    bf_growing *g = &m->growing;
    const void *data;
    if (!g->late_count)
        return LIMN_OK;
    limn_status status = lm_file_array(ctx, file, "bforest.late", BF_FILE_VERSION, g->late_count,
                                       sizeof *g->late, &data);
    if (status != LIMN_OK)
        return status;
    g->late = lm_alloc(&ctx->mem, g->late_count, sizeof *g->late);
    if (!g->late)
        return lm_fail_memory(ctx);
    memcpy(g->late, data, g->late_count * sizeof *g->late);
    g->late_room = g->late_count;
    for (size_t i = 0; i < g->late_count; i++)
        if (g->late[i].slot >= m->store.slots || g->late[i].unused || g->late[i].id >= m->seen)
            return lm_file_bad(ctx, file, "the points to be refreshed are invalid");
    return LIMN_OK;
}

/* ---- loading: the trees ---- */

/* Checks the child block of node i; depth: per node, 0 while nothing links to it. */
static bool block_fine(const bf_model *m, const bf_tree *tree, size_t i, size_t *used,
                       uint32_t *depth) {
    const bf_node *node = &tree->node[i];
    size_t capacity = node->capacity, places = 2 * capacity;
    bool power = capacity == 0 || (capacity >= 4 && (capacity & (capacity - 1)) == 0);
    bool least = capacity <= 4 || node->children > capacity / 2;
    if (!power || !least || node->children > capacity || (capacity && !node->children) ||
        node->children > m->children || node->offset != (capacity ? *used : 0) ||
        places > tree->used - *used)
        return false;
    if (!capacity)
        return true;
    const uint32_t *points = tree->arena + node->offset, *nodes = points + capacity;
    *used += places;
    for (size_t k = 0; k < node->children; k++) {
        uint32_t child = nodes[k];
        if (child <= i || child >= tree->nodes || depth[child] ||
            points[k] != tree->node[child].point)
            return false;
        depth[child] = depth[i] + 1;
    }
    for (size_t k = node->children; k < capacity; k++)
        if (points[k] || nodes[k])
            return false;
    return true;
}

static bool tree_fine(bf_model *m, bf_tree *tree, uint32_t *depth) {
    bf_store *s = &m->store;
    bool grows = tree == &m->growing.tree;
    size_t used = 0;
    memset(depth, 0, tree->nodes * sizeof *depth);
    for (size_t i = 0; i < tree->nodes; i++) {
        uint32_t point = tree->node[i].point;
        if (i == 0)
            depth[0] = 1;
        if (point >= s->slots || s->state[point] == BF_FREE || !depth[i] ||
            !block_fine(m, tree, i, &used, depth))
            return false;
        if (grows && s->held[point])
            return false;
        s->refs[point]++;
        s->held[point] = grows;
        m->signposts += !grows && s->state[point] == BF_SIGNPOST;
        tree->depth = depth[i] > tree->depth ? depth[i] : tree->depth;
    }
    return used == tree->used;
}

static bf_tree *tree_to(bf_model *m, size_t t) {
    return t < m->trees ? &m->tree[t] : &m->growing.tree;
}

/* 100 * 2^step is less than 2^64. */
enum { STEP_MOST = 56 };

static limn_status check_records(limn_context *ctx, const lm_file *file, const tree_record *r,
                                 size_t count, size_t *nodes, size_t *places) {
    *nodes = *places = 0;
    for (size_t t = 0; t < count; t++) {
        if (r[t].nodes > INT32_MAX || r[t].places > UINT32_MAX - 1 || r[t].epoch > BF_COUNT_LIMIT ||
            r[t].step > STEP_MOST)
            return lm_file_bad(ctx, file, "tree %zu is invalid", t);
        *nodes += (size_t)r[t].nodes;
        *places += (size_t)r[t].places;
    }
    if (*nodes > INT32_MAX)
        return lm_file_bad(ctx, file, "the number of nodes, %zu, is invalid", *nodes);
    return LIMN_OK;
}

static limn_status get_records(limn_context *ctx, const lm_file *file, bf_model *m) {
    const void *data, *node = NULL, *arena = NULL;
    size_t nodes, places;
    limn_status status = lm_file_array(ctx, file, "bforest.trees", BF_FILE_VERSION, tree_count(m),
                                       sizeof(tree_record), &data);
    const tree_record *r = data;
    if (status == LIMN_OK)
        status = check_records(ctx, file, r, tree_count(m), &nodes, &places);
    if (status == LIMN_OK && nodes)
        status = lm_file_array(ctx, file, "bforest.nodes", BF_FILE_VERSION, nodes, sizeof(bf_node),
                               &node);
    if (status == LIMN_OK && places)
        status = lm_file_array(ctx, file, "bforest.children", BF_FILE_VERSION, places,
                               sizeof(uint32_t), &arena);
    nodes = places = 0;
    for (size_t t = 0; status == LIMN_OK && t < tree_count(m); t++) {
        *tree_to(m, t) = (bf_tree){.nodes = (size_t)r[t].nodes,
                                   .used = (size_t)r[t].places,
                                   .epoch = r[t].epoch,
                                   .step = r[t].step,
                                   .node = node ? (bf_node *)(uintptr_t)node + nodes : NULL,
                                   .arena = arena ? (uint32_t *)(uintptr_t)arena + places : NULL};
        nodes += (size_t)r[t].nodes;
        places += (size_t)r[t].places;
        m->nodes = t < m->trees ? nodes : m->nodes;
    }
    return status;
}

static limn_status get_trees(limn_context *ctx, const lm_file *file, bf_model *m) {
    size_t most = 0;
    m->tree = lm_alloc_zero(&ctx->mem, m->trees, sizeof *m->tree);
    if (!m->tree)
        return lm_fail_memory(ctx);
    limn_status status = get_records(ctx, file, m);
    if (status != LIMN_OK)
        return status;
    for (size_t t = 0; t < tree_count(m); t++)
        most = tree_at(m, t)->nodes > most ? tree_at(m, t)->nodes : most;
    uint32_t *depth = lm_alloc(&ctx->mem, most + 1, sizeof *depth);
    if (!depth)
        return lm_fail_memory(ctx);
    for (size_t t = 0; t < tree_count(m) && status == LIMN_OK; t++)
        if (!tree_fine(m, tree_to(m, t), depth))
            status = lm_file_bad(ctx, file, "the links of tree %zu are invalid", t);
    lm_free(&ctx->mem, depth);
    for (size_t i = 0; i < m->store.slots && status == LIMN_OK; i++)
        if (m->store.state[i] == BF_SIGNPOST && !m->store.refs[i])
            status = lm_file_bad(ctx, file, "no tree has signpost %zu", i);
    return status;
}

limn_status bf_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **out) {
    bf_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->task = shape->task;
    m->d = shape->d;
    m->classes = shape->classes;
    limn_status status = bf_configure(ctx, params, m);
    if (status == LIMN_E_USAGE)
        status = lm_fail(ctx, LIMN_E_MODEL, "%s: %s", lm_file_name(file), limn_error(ctx));
    if (status == LIMN_OK)
        status = get_about(ctx, file, m);
    if (status == LIMN_OK && m->seen != shape->rows)
        status = lm_file_bad(ctx, file, "the forest has learned %llu of %llu rows",
                             (unsigned long long)m->seen, (unsigned long long)shape->rows);
    if (status == LIMN_OK)
        status = get_parts(ctx, file, &m->store);
    if (status == LIMN_OK)
        status = check_points(ctx, file, m);
    if (status == LIMN_OK)
        status = get_late(ctx, file, m);
    if (status == LIMN_OK)
        status = get_trees(ctx, file, m);
    if (status == LIMN_OK)
        bf_refresh_plan(m);
    if (status != LIMN_OK)
        bf_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
