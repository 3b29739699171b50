/* forget.c: removing points from the model.
 *
 * A forgotten point has no label and no vote from then on. If it is a node of a tree, the node
 * stays as a signpost (it still guides queries, with its row and its id) until that tree is
 * rebuilt. When more than half of all nodes are signposts, all trees are refreshed, so memory stays
 * bounded however many rows come and go. */
#include "methods/bforest/bforest.h"

void bf_drop(bf_model *m, uint32_t slot) {
    m->signposts += m->store.refs[slot];
    bf_store_forget(&m->store, slot);
}

/* Rebuilds all trees from the stored points. */
static limn_status build_all(limn_context *ctx, bf_model *m) {
    return bf_rebuild(ctx, m, 0, m->trees, m->seen < m->warmup);
}

limn_status bf_trim(limn_context *ctx, bf_model *m, bool *changed) {
    while (m->max_points && m->store.live > m->max_points) {
        bf_drop(m, m->store.oldest);
        *changed = true;
    }
    if (m->signposts <= m->nodes / 2)
        return LIMN_OK;
    *changed = true;
    return build_all(ctx, m);
}

typedef struct entry {
    uint64_t id;
    uint32_t slot;
} entry;

/* The live point with this id; entries are sorted by id. */
static uint32_t find_id(const bf_store *s, const entry *entries, size_t count, uint64_t id) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || entries[low].id != id || s->state[entries[low].slot] != BF_LIVE)
        return BF_NONE;
    return entries[low].slot;
}

limn_status bf_forget(limn_context *ctx, void *opaque, const uint64_t *ids, size_t count,
                      uint64_t *forgotten) {
    bf_model *m = opaque;
    bf_store *s = &m->store;
    size_t points = 0;
    bool changed = false;
    *forgotten = 0;
    limn_status status = bf_own(ctx, m);
    if (status != LIMN_OK)
        return status;
    entry *entries = lm_alloc(&ctx->mem, s->live + 1, sizeof *entries);
    if (!entries)
        return lm_fail_memory(ctx);
    for (uint32_t i = s->oldest; i != BF_NONE; i = s->newer[i])
        entries[points++] = (entry){s->id[i], i};
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = find_id(s, entries, points, ids[i]);
        if (slot == BF_NONE)
            continue;
        bf_drop(m, slot);
        ++*forgotten;
    }
    lm_free(&ctx->mem, entries);
    return bf_trim(ctx, m, &changed);
}

limn_status bf_compact(limn_context *ctx, void *opaque) {
    bf_model *m = opaque;
    if (!m->store.signposts && !m->store.free_count)
        return LIMN_OK; /* nothing is left to remove: compacting twice equals compacting once */
    limn_status status = bf_own(ctx, m);
    if (status == LIMN_OK)
        status = build_all(ctx, m);
    if (status != LIMN_OK)
        return status;
    uint32_t *moved = lm_alloc(&ctx->mem, m->store.slots + 1, sizeof *moved);
    if (!moved || !bf_store_pack(&ctx->mem, &m->store, moved)) {
        lm_free(&ctx->mem, moved);
        return lm_fail_memory(ctx);
    }
    for (size_t t = 0; t < m->trees; t++) {
        bf_tree *tree = &m->tree[t];
        for (size_t i = 0; i < tree->nodes; i++) {
            bf_node *node = &tree->node[i];
            node->point = moved[node->point];
            for (size_t k = 0; k < node->children; k++)
                tree->arena[node->offset + k] = moved[tree->arena[node->offset + k]];
        }
    }
    lm_free(&ctx->mem, moved);
    return LIMN_OK;
}
