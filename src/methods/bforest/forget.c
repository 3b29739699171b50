/* forget.c: removing points from the model.
 *
 * A forgotten point has no label and no vote from then on. If it is a node of a tree, the node
 * stays as a signpost (it still guides queries, with its row and its id) until that tree is
 * rebuilt. When more than half of all nodes are signposts, all trees are refreshed, so memory stays
 * bounded however many rows come and go.
 *
 * Compacting makes the forest that offline.c makes of the points: what they are, not how they came
 * to be stored, determines every byte. */
#include "methods/bforest/bforest.h"

void bf_drop(bf_model *m, uint32_t slot) {
    m->signposts += m->store.refs[slot] - m->store.held[slot];
    bf_store_forget(&m->store, slot);
}

limn_status bf_trim(limn_context *ctx, bf_model *m, bool *changed) {
    bool full = m->max_points && m->store.live > m->max_points;
    limn_status status = full ? bf_refresh_catch_up(ctx, m) : LIMN_OK;
    while (status == LIMN_OK && m->max_points && m->store.live > m->max_points) {
        bf_drop(m, m->store.oldest);
        *changed = true;
    }
    if (status != LIMN_OK || m->signposts <= m->nodes / 2)
        return status;
    *changed = true;
    return bf_build_all(ctx, m, m->seen < m->warmup);
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
    if (status == LIMN_OK)
        status = bf_refresh_catch_up(ctx, m);
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
    const bf_store *s = &m->store;
    uint32_t *list = lm_alloc(&ctx->mem, s->live + 1, sizeof *list);
    if (!list)
        return lm_fail_memory(ctx);
    bf_store_order(s, list);
    bf_rows rows = {.x = s->x,
                    .stride = s->stride,
                    .label = s->label,
                    .value = s->value,
                    .id = s->id,
                    .list = list,
                    .count = s->live};
    limn_status status = bf_offline(ctx, m, &rows, true);
    lm_free(&ctx->mem, list);
    return status;
}
