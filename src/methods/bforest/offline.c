/* offline.c: the forest of a set of rows, whatever their order: the paper's offline forest.
 *
 * Each tree learns the rows that it samples in an order of its own: those with the smallest
 * hash(seed, tree, id), smallest first, up to the share rho. So neither the order of the rows in a
 * file nor rows that come or go change the order of the others. A row that a tree did not take has
 * left no trace in it, so without such rows the tree is the same: a model that is compacted as soon
 * as it is trained stays as it is.
 *
 * Of equal rows the newest counts, unless all rows are kept.
 *
 * Each tree grows over copies of its own rows, beside each other in memory; so trees are
 * independent, and no more rows are copied than a tree takes. */
#include "methods/bforest/bforest.h"

#include "base/work.h"

enum { PROGRESS_ROWS = 1024, MEASURED_ROWS = 64, FEW = 16 };

typedef struct forest {
    const bf_model *m; /* its parameters */
    const bf_rows *rows;
    bf_tree *tree; /* trees; their points are positions in the list */
} forest;

/* ---- rows ---- */

static uint64_t id_of(const bf_rows *rows, size_t at) {
    return rows->id ? rows->id[rows->list[at]] : rows->list[at];
}

/* A row in padded room, and as bytes if possible. */
typedef struct padded {
    float *x;
    uint8_t *room;
} padded;

static bool padded_make(const limn_allocator *mem, const bf_store *s, padded *p) {
    p->x = lm_alloc_aligned(mem, s->stride, sizeof *p->x);
    p->room = lm_alloc(mem, s->stride, sizeof *p->room);
    if (p->x)
        memset(p->x, 0, s->stride * sizeof *p->x);
    return p->x && p->room;
}

static void padded_free(const limn_allocator *mem, padded *p) {
    lm_free_aligned(mem, p->x);
    lm_free(mem, p->room);
}

static bf_probe probe_of(const bf_model *m, const bf_rows *rows, uint32_t row, padded *p) {
    memcpy(p->x, rows->x + (size_t)row * rows->stride, m->d * sizeof *p->x);
    return bf_probe_make(m, p->x, bf_bytes(&m->store, p->x, p->room), NULL);
}

static uint32_t put(bf_store *s, const bf_rows *rows, size_t at, const bf_probe *p) {
    uint32_t row = rows->list[at];
    return bf_store_put(s, p->x, p->bytes, p->norm, s->values ? 0 : rows->label[row],
                        s->values ? rows->value[row] : 0, id_of(rows, at));
}

/* ---- the order of a tree ---- */

static void insert_sort(uint64_t *key, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t k = key[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--)
            key[j] = key[j - 1];
        key[j] = k;
    }
}

/* Sorts keys that differ from each other, by one bit after the other: no memory is needed, and no
 * order of them makes it slow. */
static void sort_keys(uint64_t *key, size_t count, unsigned bit) {
    while (count > FEW) {
        size_t low = 0, high = count;
        while (low < high)
            if (key[low] >> bit & 1) {
                uint64_t swap = key[low];
                key[low] = key[--high];
                key[high] = swap;
            } else {
                low++;
            }
        if (bit == 0)
            return;
        sort_keys(key + low, count - low, --bit);
        count = low;
    }
    insert_sort(key, count);
}

/* Positions in the list, in the order in which the tree learns them: the upper half of a key is
 * the hash, the lower half the position. If no row is sampled, the closest one is. */
static size_t choose_order(const forest *f, size_t tree, uint64_t *key) {
    uint64_t closest = UINT64_MAX;
    size_t count = 0;
    for (size_t i = 0; i < f->rows->count; i++) {
        uint64_t id = id_of(f->rows, i);
        uint64_t k = (bf_hash(f->m, BF_SAMPLE, tree, 0, id) & ~(uint64_t)UINT32_MAX) | i;
        if (bf_sampled(f->m, tree, 0, id))
            key[count++] = k;
        closest = k < closest ? k : closest;
    }
    if (!count && f->rows->count)
        key[count++] = closest;
    sort_keys(key, count, 63);
    return count;
}

/* ---- one tree ---- */

/* What a tree grows in. */
typedef struct plot {
    bf_model m; /* with a store of its own */
    bf_tree tree;
    padded row;
    uint64_t *key; /* the order; those of the rows taken move to the front */
} plot;

static void plot_free(const limn_allocator *mem, plot *p) {
    bf_store_free(mem, &p->m.store);
    bf_tree_free(mem, &p->tree);
    padded_free(mem, &p->row);
    lm_free(mem, p->key);
}

static bool learn_row(const limn_allocator *mem, const forest *f, size_t tree, size_t index,
                      plot *p) {
    bf_store *s = &p->m.store;
    size_t at = (uint32_t)p->key[index];
    uint32_t row = f->rows->list[at];
    bf_probe probe = probe_of(&p->m, f->rows, row, &p->row);
    bf_end end = bf_descend(&p->m, &p->tree, tree, &probe, NULL);
    if (!bf_differs(&p->m, &end, s->values ? 0 : f->rows->label[row],
                    s->values ? f->rows->value[row] : 0))
        return true;
    if (!bf_store_reserve(mem, s) || !bf_tree_reserve(mem, &p->tree, end.node))
        return false;
    p->key[s->slots] = at;
    bf_tree_append(&p->tree, &end, put(s, f->rows, at, &probe));
    return true;
}

/* Replaces the tree's points. */
static void rename_points(bf_tree *tree, const void *names,
                          uint32_t (*name)(const void *names, uint32_t point)) {
    for (size_t i = 0; i < tree->nodes; i++) {
        bf_node *node = &tree->node[i];
        node->point = name(names, node->point);
        for (size_t k = 0; k < node->children; k++)
            tree->arena[node->offset + k] = name(names, tree->arena[node->offset + k]);
    }
}

static uint32_t position_of(const void *keys, uint32_t point) {
    return (uint32_t)((const uint64_t *)keys)[point];
}

static bf_store empty_store(const bf_model *m) {
    const bf_store *like = &m->store;
    return (bf_store){.d = like->d,
                      .stride = like->stride,
                      .values = like->values,
                      .norms = like->norms,
                      .bytes = bf_may_use_bytes(m),
                      .hashed = like->hashed,
                      .all = like->all,
                      .oldest = BF_NONE,
                      .newest = BF_NONE,
                      .owned = true};
}

static limn_status grow(limn_context *ctx, const forest *f, size_t tree, plot *p) {
    limn_status status = LIMN_OK;
    size_t count = choose_order(f, tree, p->key);
    for (size_t i = 0; i < count && status == LIMN_OK; i++) {
        if (i % PROGRESS_ROWS == 0)
            status = lm_progress(ctx, "training", i, count, (double)i / (double)count);
        if (status == LIMN_OK && !learn_row(&ctx->mem, f, tree, i, p))
            status = lm_fail_memory(ctx);
    }
    return status;
}

static limn_status grow_tree(limn_context *ctx, void *user, size_t tree) {
    const forest *f = user;
    plot p = {.m = *f->m};
    p.m.store = empty_store(f->m);
    p.m.store.hashed = p.m.store.all = false;
    p.key = lm_alloc(&ctx->mem, f->rows->count, sizeof *p.key);
    bool fine = p.key && padded_make(&ctx->mem, &p.m.store, &p.row);
    limn_status status = fine ? grow(ctx, f, tree, &p) : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        rename_points(&p.tree, p.key, position_of);
        if (!bf_tree_assign(&ctx->mem, &p.tree, &f->tree[tree]))
            status = lm_fail_memory(ctx);
    }
    plot_free(&ctx->mem, &p);
    return status;
}

/* ---- the store ---- */

/* Marks the positions to be stored: those in a tree, or all; returns their number. */
static size_t mark_taken(const forest *f, bool keep, uint32_t *slot) {
    size_t count = 0;
    for (size_t i = 0; i < f->rows->count; i++)
        slot[i] = keep ? 0 : BF_NONE;
    for (size_t t = 0; t < f->m->trees; t++)
        for (size_t i = 0; i < f->tree[t].nodes; i++)
            slot[f->tree[t].node[i].point] = 0;
    for (size_t i = 0; i < f->rows->count; i++)
        if (slot[i] != BF_NONE)
            slot[i] = (uint32_t)count++;
    return count;
}

/* Whether all rows that are stored are whole numbers 0..255. */
static bool all_bytes(const bf_model *m, const bf_rows *rows, const uint32_t *slot, padded *p) {
    bool bytes = m->store.bytes;
    for (size_t i = 0; i < rows->count && bytes; i++)
        bytes = slot[i] == BF_NONE || probe_of(m, rows, rows->list[i], p).bytes;
    return bytes;
}

static bool fill_store(const limn_allocator *mem, const bf_model *m, const bf_rows *rows,
                       const uint32_t *slot, size_t count, bf_store *s) {
    bf_model with = *m;
    padded row = {.x = NULL};
    bool fine = padded_make(mem, s, &row);
    with.store = *s;
    s->bytes = with.store.bytes = fine && all_bytes(&with, rows, slot, &row);
    fine = fine && bf_store_make(mem, s, count) && bf_store_make_table(mem, s, count);
    for (size_t i = 0; i < rows->count && fine; i++)
        if (slot[i] != BF_NONE) {
            bf_probe p = probe_of(&with, rows, rows->list[i], &row);
            (void)put(s, rows, i, &p);
        }
    padded_free(mem, &row);
    return fine;
}

static uint32_t slot_of(const void *slots, uint32_t point) {
    return ((const uint32_t *)slots)[point];
}

/* ---- the model ---- */

/* What depends on n alone. */
static void set_counters(bf_model *m) {
    m->built = m->seen;
    for (size_t t = 0; t < m->trees; t++) {
        m->tree[t].step = m->tree[t].epoch = 0;
        bf_refresh_skip(m, t);
    }
    bf_refresh_plan(m);
}

/* What queries compare: those for some stored points, which do not vote for themselves. */
static void measure(bf_model *m, double *votes) {
    bf_vote vote = {.votes = votes, .abstain = true};
    size_t rows = m->store.slots < MEASURED_ROWS ? m->store.slots : MEASURED_ROWS;
    m->asked = rows;
    m->spent = 0;
    for (size_t i = 0; i < rows; i++) {
        bf_probe p = bf_probe_point(m, i * m->store.slots / rows);
        m->spent += bf_measure(m, &p, &vote);
    }
}

/* Puts store and trees in the place of the model's. */
static void replace(const limn_allocator *mem, bf_model *m, bf_store *store, bf_tree *tree) {
    bf_refresh_free(mem, m);
    for (size_t t = 0; t < m->trees && m->owned; t++)
        bf_tree_free(mem, &m->tree[t]);
    bf_store_free(mem, &m->store);
    memcpy(m->tree, tree, m->trees * sizeof *tree);
    m->store = *store;
    m->owned = true;
    m->nodes = m->signposts = 0;
    for (size_t t = 0; t < m->trees; t++)
        bf_count_nodes(m, &m->tree[t], false);
}

static bool assemble(const limn_allocator *mem, const forest *f, bool keep, bf_model *m) {
    bf_store store = empty_store(m);
    uint32_t *slot = lm_alloc(mem, f->rows->count + 1, sizeof *slot);
    double *votes = lm_alloc(mem, m->classes, sizeof *votes);
    size_t count = slot ? mark_taken(f, keep, slot) : 0;
    bool fine = slot && votes && fill_store(mem, m, f->rows, slot, count, &store);
    if (fine) {
        for (size_t t = 0; t < m->trees; t++)
            rename_points(&f->tree[t], slot, slot_of);
        replace(mem, m, &store, f->tree);
        m->eps = f->m->eps;
        set_counters(m);
        measure(m, votes);
    } else {
        bf_store_free(mem, &store);
    }
    lm_free(mem, slot);
    lm_free(mem, votes);
    return fine;
}

static limn_status check_nodes(limn_context *ctx, const forest *f) {
    size_t nodes = 0;
    for (size_t t = 0; t < f->m->trees; t++)
        nodes += f->tree[t].nodes;
    return nodes > f->m->node_limit ? bf_fail_nodes(ctx, f->m) : LIMN_OK;
}

limn_status bf_offline(limn_context *ctx, bf_model *m, const bf_rows *rows, bool keep) {
    bf_model with = *m; /* what the trees grow by */
    forest f = {.m = &with, .rows = rows};
    f.tree = lm_alloc_zero(&ctx->mem, m->trees, sizeof *f.tree);
    if (!f.tree)
        return lm_fail_memory(ctx);
    if (m->task == LIMN_REGRESS && !m->fixed_eps)
        with.eps = bf_usual_eps(rows->value, rows->list, rows->count);
    lm_job job = {.stage = "training", .count = m->trees, .task = grow_tree, .user = &f};
    limn_status status = lm_work(ctx, &job);
    if (status == LIMN_OK)
        status = check_nodes(ctx, &f);
    if (status == LIMN_OK && !assemble(&ctx->mem, &f, keep || m->seen < m->warmup, m))
        status = lm_fail_memory(ctx);
    if (status != LIMN_OK)
        for (size_t t = 0; t < m->trees; t++)
            bf_tree_free(&ctx->mem, &f.tree[t]);
    lm_free(&ctx->mem, f.tree);
    return status;
}

/* ---- training ---- */

/* Lists the rows; the last one of those that are equal. */
static bool list_rows(const limn_allocator *mem, const bf_model *m, const lm_train_set *set,
                      uint32_t *list, size_t *count) {
    size_t size = 2;
    padded row = {.x = NULL};
    while (size / 2 < set->n)
        size *= 2;
    uint32_t *table = lm_alloc(mem, size, sizeof *table);
    bool fine = table && padded_make(mem, &m->store, &row);
    if (fine)
        memset(table, 0xff, size * sizeof *table);
    for (size_t i = 0; fine && i < set->n; i++) {
        const float *x = set->x + i * set->d;
        memcpy(row.x, x, set->d * sizeof *x);
        size_t at = (size_t)bf_hash_row(&m->store, row.x) & (size - 1);
        while (table[at] != BF_NONE &&
               !bf_equal_rows(set->d, x, set->x + (size_t)table[at] * set->d))
            at = (at + 1) & (size - 1);
        if (table[at] != BF_NONE)
            list[table[at]] = BF_NONE;
        table[at] = list[i] = (uint32_t)i;
    }
    *count = 0;
    for (size_t i = 0; fine && i < set->n; i++)
        if (list[i] != BF_NONE)
            list[(*count)++] = list[i];
    padded_free(mem, &row);
    lm_free(mem, table);
    return fine;
}

limn_status bf_train_offline(limn_context *ctx, bf_model *m, const lm_train_set *set) {
    if (set->n >= BF_NONE)
        return lm_fail(ctx, LIMN_E_DATA,
                       "bforest: order=shuffle takes at most %zu rows; train with order=file",
                       (size_t)BF_NONE - 1);
    bool distinct = m->store.hashed && !m->store.all, fine = true;
    bf_rows rows = {.x = set->x, .stride = set->d, .label = set->label, .value = set->target};
    uint32_t *list = lm_alloc(&ctx->mem, set->n + 1, sizeof *list);
    rows.list = list;
    rows.count = set->n;
    for (size_t i = 0; list && !distinct && i < set->n; i++)
        list[i] = (uint32_t)i;
    if (list && distinct)
        fine = list_rows(&ctx->mem, m, set, list, &rows.count);
    m->seen = set->n;
    limn_status status =
        list && fine ? bf_offline(ctx, m, &rows, m->store.all) : lm_fail_memory(ctx);
    lm_free(&ctx->mem, list);
    return status;
}
