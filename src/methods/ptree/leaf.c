/* leaf.c: leaves: an expansion, and the rows remembered for its split. */
#include "methods/ptree/ptree.h"

#include <math.h>
#include <string.h>

/* A bias and what is added to it are finite as floats. */
#define BIAS_MOST 1e38

void pt_node_free(const limn_allocator *mem, pt_node *node) {
    lm_pack_free(mem, &node->pack);
    if (node->owned) {
        lm_free_aligned(mem, node->w);
        lm_free(mem, node->side);
    }
    *node = (pt_node){.w = NULL};
}

void pt_leaf_free(const limn_allocator *mem, pt_leaf *leaf) {
    lm_expansion_free(mem, &leaf->e);
    if (leaf->kept_room) {
        lm_free(mem, leaf->kept_x);
        lm_free(mem, leaf->kept_label);
    }
    lm_free(mem, leaf->count);
    lm_free(mem, leaf->bias);
    *leaf = (pt_leaf){.level = 0};
}

/* What does not depend on the rows. */
static limn_status begin(limn_context *ctx, const pt_model *m, uint32_t level, pt_leaf *out) {
    const pt_options *o = &m->o;
    *out = (pt_leaf){.level = level, .parent = -1};
    out->e.kernel = o->kernel;
    out->e.outputs = m->outputs;
    out->e.averaged = o->average;
    out->e.factored = o->project > 0;
    out->e.pack.d = m->d;
    out->count = lm_alloc_zero(&ctx->mem, m->classes, sizeof *out->count);
    out->bias = lm_alloc_zero(&ctx->mem, m->outputs, sizeof *out->bias);
    return out->count && out->bias ? LIMN_OK : lm_fail_memory(ctx);
}

/* Memory of its own for the remembered rows and `room` in all. */
static limn_status reserve_rows(limn_context *ctx, const pt_model *m, pt_leaf *leaf, size_t room) {
    size_t cells;
    if (room <= leaf->kept_room)
        return LIMN_OK;
    float *x = lm_mul(room, m->d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *x) : NULL;
    int32_t *label = lm_alloc(&ctx->mem, room, sizeof *label);
    if (!x || !label) {
        lm_free(&ctx->mem, x);
        lm_free(&ctx->mem, label);
        return lm_fail_memory(ctx);
    }
    if (leaf->kept) {
        memcpy(x, leaf->kept_x, leaf->kept * m->d * sizeof *x);
        memcpy(label, leaf->kept_label, leaf->kept * sizeof *label);
    }
    if (leaf->kept_room) {
        lm_free(&ctx->mem, leaf->kept_x);
        lm_free(&ctx->mem, leaf->kept_label);
    }
    leaf->kept_x = x;
    leaf->kept_label = label;
    leaf->kept_room = room;
    return LIMN_OK;
}

limn_status pt_leaf_make(limn_context *ctx, const pt_model *m, uint32_t level, size_t vectors,
                         size_t rows, pt_leaf *out) {
    limn_status status = begin(ctx, m, level, out);
    if (status == LIMN_OK)
        status = lm_expansion_reserve(ctx, &out->e, vectors);
    return status == LIMN_OK ? reserve_rows(ctx, m, out, rows) : status;
}

limn_status pt_leaf_copy(limn_context *ctx, const pt_model *m, const pt_leaf *from, pt_leaf *out) {
    limn_status status = begin(ctx, m, from->level, out);
    if (status == LIMN_OK)
        status = lm_expansion_copy(ctx, &from->e, from->e.pack.n + 1, &out->e);
    if (status != LIMN_OK)
        return status;
    out->parent = from->parent;
    out->seen = from->seen;
    out->wait = from->wait;
    out->majority = from->majority;
    memcpy(out->count, from->count, m->classes * sizeof *out->count);
    memcpy(out->bias, from->bias, m->outputs * sizeof *out->bias);
    pt_leaf view = {.kept = from->kept, .kept_x = from->kept_x, .kept_label = from->kept_label};
    status = reserve_rows(ctx, m, &view, from->kept + 1);
    if (status != LIMN_OK)
        return status;
    out->kept = view.kept;
    out->kept_room = view.kept_room;
    out->kept_x = view.kept_x;
    out->kept_label = view.kept_label;
    return LIMN_OK;
}

limn_status pt_leaf_reserve_row(limn_context *ctx, const pt_model *m, pt_leaf *leaf) {
    size_t more = leaf->kept < m->o.reservoir ? leaf->kept + 1 : leaf->kept;
    if (!pt_may_split(&m->o, leaf->level) || more <= leaf->kept_room)
        return LIMN_OK;
    size_t room = more < 32 ? 32 : more + more / 2;
    return reserve_rows(ctx, m, leaf, room < m->o.reservoir ? room : m->o.reservoir);
}

void pt_leaf_restart(const pt_model *m, pt_leaf *leaf) {
    for (size_t o = 0; o < m->outputs; o++) {
        double bias = leaf->bias[o] == leaf->bias[o] ? leaf->bias[o] : 0;
        leaf->bias[o] = fmax(-BIAS_MOST, fmin(bias, BIAS_MOST));
    }
    lm_expansion_restart(&leaf->e);
}

void pt_leaf_count(pt_leaf *leaf, int32_t label) {
    uint64_t now = ++leaf->count[label], most = leaf->count[leaf->majority];
    if (now > most || (now == most && label < leaf->majority))
        leaf->majority = label;
}

void pt_leaf_keep(const pt_model *m, pt_leaf *leaf, const float *x, int32_t label) {
    memcpy(leaf->kept_x + leaf->kept * m->d, x, m->d * sizeof *x);
    leaf->kept_label[leaf->kept++] = label;
    pt_leaf_count(leaf, label);
}

/* A sample of R rows of all that came, each as likely as any other (Vitter's algorithm R). After a
 * split, which leaves about half of them to each side, it is first filled with the rows that
 * follow. */
void pt_leaf_remember(const pt_model *m, pt_leaf *leaf, const float *x, int32_t label) {
    size_t place = leaf->kept;
    leaf->seen++;
    pt_leaf_count(leaf, label);
    if (!pt_may_split(&m->o, leaf->level))
        return;
    if (leaf->kept < m->o.reservoir)
        leaf->kept++;
    else
        place = (size_t)(pt_hash(m, PT_REMEMBER, m->steps) % leaf->seen);
    if (place >= leaf->kept)
        return;
    memcpy(leaf->kept_x + place * m->d, x, m->d * sizeof *x);
    leaf->kept_label[place] = label;
}
