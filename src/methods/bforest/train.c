/* train.c: parameters; training is learning from nothing. */
#include "methods/bforest/bforest.h"

#include "num/pack.h"

static bool yes_or_no(const lm_params *params, const char *key, bool otherwise) {
    int choice = lm_param_choice(params, key); /* auto|yes|no */
    return choice == 0 ? otherwise : choice == 1;
}

static double real_or(const lm_params *params, const char *key, double otherwise) {
    return lm_param_is_auto(params, key) ? otherwise : lm_param_real(params, key);
}

static uint64_t count_or(const lm_params *params, const char *key, uint64_t otherwise) {
    return lm_param_is_auto(params, key) ? otherwise : (uint64_t)lm_param_int(params, key);
}

/* Scaling moves the origin, to which angles refer; a caller's function knows its own units. */
limn_scale bf_scaling(const lm_params *params) {
    bf_metric metric = (bf_metric)lm_param_choice(params, "metric");
    bool paper = lm_param_choice(params, "style") == BF_PAPER;
    return paper || metric == BF_COSINE || metric == BF_CALLER ? LIMN_SCALE_NONE : LIMN_SCALE_AUTO;
}

bool bf_may_use_bytes(const bf_model *m) {
    return m->metric == BF_L2 && m->store.stride <= LM_BYTES_MOST;
}

/* Rows that are forgotten in the order in which they came must come in that order. */
static limn_status choose_order(limn_context *ctx, const lm_params *params, bf_model *m) {
    enum { AUTO, SHUFFLE, FILE_ORDER };
    int order = (int)lm_param_choice(params, "order");
    if (order == SHUFFLE && m->max_points)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "bforest: max_points forgets the oldest rows, so rows must be learned in "
                       "their order; use order=file");
    m->in_order = order == FILE_ORDER || m->max_points || (order == AUTO && m->style == BF_PAPER);
    return LIMN_OK;
}

limn_status bf_configure(limn_context *ctx, const lm_params *params, bf_model *m) {
    m->style = (bf_style)lm_param_choice(params, "style");
    m->metric = (bf_metric)lm_param_choice(params, "metric");
    bool paper = m->style == BF_PAPER, fast = lm_param_choice(params, "preset") == 1;
    m->trees = (size_t)count_or(params, "trees", paper || fast ? 50 : 100);
    m->children = (size_t)lm_param_int(params, "children");
    if (m->children == 1)
        return lm_fail(ctx, LIMN_E_USAGE, "bforest: children must be 2 or more, or 0 for no limit");
    if (!m->children)
        m->children = SIZE_MAX;
    m->rho = real_or(params, "rho", paper ? 1 : 0.7);
    m->alpha = real_or(params, "early_stop", paper ? 0 : 0.5);
    m->warmup = count_or(params, "warmup", paper ? m->trees : 1000);
    m->refresh = yes_or_no(params, "refresh", !paper);
    m->fixed_eps = !lm_param_is_auto(params, "eps");
    m->eps = real_or(params, "eps", 0);
    m->max_points = (uint64_t)lm_param_int(params, "max_points");
    m->store.all = lm_param_choice(params, "store") == 1;
    m->node_limit = INT32_MAX;
    m->store.stride = (m->d + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
    m->store.d = m->d;
    m->store.values = m->task == LIMN_REGRESS;
    m->store.norms = m->metric == BF_COSINE;
    m->store.bytes = bf_may_use_bytes(m);
    m->store.hashed = m->style == BF_FOREST;
    m->store.oldest = m->store.newest = BF_NONE;
    m->caller = ctx->metric;
    m->caller_user = ctx->user;
    if (m->metric == BF_CALLER && !m->caller)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "bforest: metric=caller needs a distance function, which only a program "
                       "that uses the library can supply (limn_context_options.metric)");
    return choose_order(ctx, params, m);
}

limn_status bf_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **out) {
    size_t learned;
    bf_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->task = set->task;
    m->d = set->d;
    m->classes = set->classes;
    m->seed = ctx->seed;
    m->stream = lm_stream_of(params->owner);
    m->owned = m->store.owned = true;
    limn_status status = bf_configure(ctx, params, m);
    if (status == LIMN_OK) {
        m->tree = lm_alloc_zero(&ctx->mem, m->trees, sizeof *m->tree);
        status = m->tree ? LIMN_OK : lm_fail_memory(ctx);
    }
    if (status == LIMN_OK)
        bf_refresh_plan(m);
    if (status == LIMN_OK && !m->in_order)
        status = bf_train_offline(ctx, m, set);
    else if (status == LIMN_OK) {
        lm_lesson all = {.n = set->n, .x = set->x, .label = set->label, .target = set->target};
        status = bf_learn(ctx, m, &all, &learned);
    }
    if (status != LIMN_OK)
        bf_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}

void bf_destroy(const limn_allocator *mem, void *opaque) {
    bf_model *m = opaque;
    if (!m)
        return;
    for (size_t t = 0; m->tree && m->owned && t < m->trees; t++)
        bf_tree_free(mem, &m->tree[t]);
    bf_refresh_free(mem, m);
    lm_free(mem, m->tree);
    bf_store_free(mem, &m->store);
    lm_free(mem, m);
}

static bool copy_tree(const limn_allocator *mem, const bf_tree *tree, bf_tree *copy) {
    *copy = *tree;
    copy->node_capacity = copy->nodes + 1;
    copy->arena_capacity = copy->used + 1;
    copy->node = lm_alloc(mem, copy->node_capacity, sizeof *copy->node);
    copy->arena = lm_alloc(mem, copy->arena_capacity, sizeof *copy->arena);
    if (!copy->node || !copy->arena)
        return false;
    if (copy->nodes)
        memcpy(copy->node, tree->node, copy->nodes * sizeof *copy->node);
    if (copy->used)
        memcpy(copy->arena, tree->arena, copy->used * sizeof *copy->arena);
    return true;
}

limn_status bf_own(limn_context *ctx, bf_model *m) {
    if (!bf_store_reserve(&ctx->mem, &m->store))
        return lm_fail_memory(ctx);
    if (m->owned)
        return LIMN_OK;
    /* The last copy is of the growing tree. */
    bf_tree *copies = lm_alloc_zero(&ctx->mem, m->trees + 1, sizeof *copies);
    bool fine =
        copies && (!m->growing.on || copy_tree(&ctx->mem, &m->growing.tree, &copies[m->trees]));
    for (size_t t = 0; fine && t < m->trees; t++)
        fine = copy_tree(&ctx->mem, &m->tree[t], &copies[t]);
    if (fine) {
        memcpy(m->tree, copies, m->trees * sizeof *copies);
        m->growing.tree = copies[m->trees];
        m->owned = true;
    }
    for (size_t t = 0; copies && !fine && t <= m->trees; t++)
        bf_tree_free(&ctx->mem, &copies[t]);
    lm_free(&ctx->mem, copies);
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}
