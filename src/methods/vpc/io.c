/* io.c: the sections of vpc. Loading checks that every link leads forward: nodes are in preorder,
 * so a child has a larger number than its parent, and each node and leaf is reached exactly once.
 */
#include "methods/vpc/vpc.h"

#include <math.h>
#include <string.h>

/* ---- saving ---- */

static limn_status put_about(const vpc_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "vpc.about", VPC_FILE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_int(kv, "trees", (int64_t)m->trees);
    lm_kv_put_int(kv, "nodes", (int64_t)m->nodes);
    lm_kv_put_int(kv, "leaves", (int64_t)m->leaves);
    lm_kv_put_int(kv, "panels", (int64_t)m->panels);
    lm_kv_put_int(kv, "listed", (int64_t)m->listed);
    lm_kv_put_real(kv, "mean_pivots", m->mean_pivots);
    lm_kv_put_real(kv, "mean_leaves", m->mean_leaves);
    lm_kv_put_real(kv, "mean_rows", m->mean_rows);
    return lm_kv_end(kv);
}

/* A section of the model: its address, and what it should hold. */
typedef struct part {
    const char *name;
    const void **data;
    size_t count, size;
} part;

enum { PARTS = 10 };

/* All sections; empty ones are not written. False on overflow. */
static bool list_parts(vpc_model *m, part *parts) {
    size_t pivots, weights, means;
    if (!lm_mul(m->nodes, m->d, &pivots) || !lm_mul(m->panels * LM_PANEL, m->d, &weights) ||
        !lm_mul(m->leaves, m->d, &means))
        return false;
    bool centres = m->style == VPC_PAPER && m->vote == VPC_CENTROID;
    const part all[PARTS] = {
        {"vpc.roots", (const void **)&m->root, m->trees, sizeof *m->root},
        {"vpc.radius", (const void **)&m->radius, m->trees, sizeof *m->radius},
        {"vpc.nodes", (const void **)&m->node, m->nodes, sizeof *m->node},
        {"vpc.mu", (const void **)&m->mu, m->nodes, sizeof *m->mu},
        {"vpc.pivots", (const void **)&m->pivot, pivots, sizeof *m->pivot},
        {"vpc.leaves", (const void **)&m->leaf, m->leaves, sizeof *m->leaf},
        {"vpc.classes", (const void **)&m->listing, m->listed, sizeof *m->listing},
        {"vpc.weights", (const void **)&m->weights, weights, sizeof *m->weights},
        {"vpc.bias", (const void **)&m->bias, m->panels * LM_PANEL, sizeof *m->bias},
        {"vpc.centres", (const void **)&m->centre, centres ? means : 0, sizeof *m->centre},
    };
    memcpy(parts, all, sizeof all);
    return true;
}

limn_status vpc_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    vpc_model m = *(const vpc_model *)opaque;
    part parts[PARTS];
    limn_status status = put_about(&m, writer);
    if (status == LIMN_OK && !list_parts(&m, parts))
        status = lm_fail_memory(ctx);
    for (size_t i = 0; i < PARTS && status == LIMN_OK; i++)
        if (parts[i].count)
            status = lm_writer_section(writer, parts[i].name, VPC_FILE_VERSION, *parts[i].data,
                                       parts[i].count * parts[i].size);
    return status;
}

/* ---- loading ---- */

static limn_status get_about(limn_context *ctx, const lm_file *file, vpc_model *m) {
    static const char *const keys[] = {"trees", "nodes", "leaves", "panels", "listed"};
    size_t *const counts[] = {&m->trees, &m->nodes, &m->leaves, &m->panels, &m->listed};
    lm_kv kv;
    limn_status status = lm_kv_open(ctx, file, "vpc.about", VPC_FILE_VERSION, &kv);
    for (size_t i = 0; i < LM_COUNT(keys) && status == LIMN_OK; i++) {
        int64_t value = 0;
        status = lm_kv_int(&kv, keys[i], 0, INT32_MAX, &value);
        *counts[i] = (size_t)value;
    }
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "mean_pivots", 0, 1e18, &m->mean_pivots);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "mean_leaves", 0, 1e18, &m->mean_leaves);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "mean_rows", 0, 1e18, &m->mean_rows);
    if (status == LIMN_OK && (!m->trees || !m->leaves))
        status = lm_file_bad(ctx, file, "there is no tree");
    return status;
}

static limn_status get_parts(limn_context *ctx, const lm_file *file, vpc_model *m) {
    part parts[PARTS];
    limn_status status = LIMN_OK;
    if (!list_parts(m, parts))
        return lm_file_bad(ctx, file, "the number of nodes, %zu, is invalid", m->nodes);
    for (size_t i = 0; i < PARTS && status == LIMN_OK; i++)
        if (parts[i].count)
            status = lm_file_array(ctx, file, parts[i].name, VPC_FILE_VERSION, parts[i].count,
                                   parts[i].size, parts[i].data);
    return status;
}

static limn_status check_leaves(limn_context *ctx, const lm_file *file, vpc_model *m) {
    size_t listed = 0, panels = 0;
    for (size_t i = 0; i < m->leaves; i++) {
        const vpc_leaf *leaf = &m->leaf[i];
        size_t own = leaf->classes > 1 ? ((size_t)leaf->classes + LM_PANEL - 1) / LM_PANEL : 0;
        if (!leaf->classes || !leaf->n || leaf->first != listed ||
            leaf->panel != (own ? panels : 0) || leaf->classes > m->listed - listed ||
            own > m->panels - panels)
            return lm_file_bad(ctx, file, "leaf %zu is invalid", i);
        listed += leaf->classes;
        panels += own;
        m->widest = own > m->widest ? own : m->widest;
    }
    if (listed != m->listed || panels != m->panels)
        return lm_file_bad(ctx, file, "the classes of the leaves are not those listed");
    for (size_t i = 0; i < m->listed; i++)
        if (m->listing[i] < 0 || (size_t)m->listing[i] >= m->classes)
            return lm_file_bad(ctx, file, "a leaf has class %ld, but the number of classes is %zu",
                               (long)m->listing[i], m->classes);
    return LIMN_OK;
}

/* The links in the order in which the tree was written: each must lead to the next node or leaf. */
typedef struct proof {
    size_t nodes, leaves; /* reached so far */
    uint32_t *depth;      /* of each node */
} proof;

static bool leads_on(const vpc_model *m, int32_t link, uint32_t depth, proof *p) {
    if (link < 0) {
        size_t leaf = (size_t)~link;
        p->leaves++;
        return leaf < m->leaves;
    }
    if ((size_t)link >= m->nodes || p->depth[link])
        return false;
    p->depth[link] = depth;
    p->nodes++;
    return true;
}

static limn_status check_links(limn_context *ctx, const lm_file *file, vpc_model *m) {
    proof p = {.depth = lm_alloc_zero(&ctx->mem, m->nodes + 1, sizeof(uint32_t))};
    bool *seen = lm_alloc_zero(&ctx->mem, m->leaves, sizeof *seen);
    bool fine = p.depth && seen;
    if (!fine) {
        lm_free(&ctx->mem, p.depth);
        lm_free(&ctx->mem, seen);
        return lm_fail_memory(ctx);
    }
    for (size_t t = 0; t < m->trees && fine; t++) {
        fine = leads_on(m, m->root[t], 1, &p) && m->radius[t] >= 0 && isfinite(m->radius[t]);
        if (fine && m->root[t] < 0) {
            fine = !seen[~m->root[t]];
            seen[~m->root[t]] = true;
        }
    }
    for (size_t i = 0; i < m->nodes && fine; i++) {
        const int32_t links[] = {m->node[i].near, m->node[i].far};
        fine = p.depth[i] && isfinite(m->mu[i]);
        m->depth = p.depth[i] > m->depth ? p.depth[i] : m->depth;
        for (int k = 0; k < 2 && fine; k++) {
            fine =
                (links[k] < 0 || (size_t)links[k] > i) && leads_on(m, links[k], p.depth[i] + 1, &p);
            if (fine && links[k] < 0) {
                fine = !seen[~links[k]];
                seen[~links[k]] = true;
            }
        }
    }
    fine = fine && p.nodes == m->nodes && p.leaves == m->leaves;
    lm_free(&ctx->mem, p.depth);
    lm_free(&ctx->mem, seen);
    return fine ? LIMN_OK : lm_file_bad(ctx, file, "the links of the trees are invalid");
}

limn_status vpc_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                     const lm_params *params, void **out) {
    vpc_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->d = shape->d;
    m->classes = shape->classes;
    vpc_configure(m, params);
    limn_status status = get_about(ctx, file, m);
    if (status == LIMN_OK)
        status = get_parts(ctx, file, m);
    if (status == LIMN_OK)
        status = check_leaves(ctx, file, m);
    if (status == LIMN_OK)
        status = check_links(ctx, file, m);
    if (status != LIMN_OK)
        vpc_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
