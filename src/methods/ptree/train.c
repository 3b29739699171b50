/* train.c: parameters; training is learning from nothing, in one or more passes. */
#include "methods/ptree/ptree.h"

#include <math.h>
#include <string.h>

#define DEFAULT_REFIT 1e-4
#define DEFAULT_PROJECT 0.1
#define DEFAULT_MARGIN 0.1
enum { DEFAULT_DEPTH = 4, DEFAULT_RESERVOIR = 1000, DEFAULT_EPOCHS = 3, DEFAULT_PATIENCE = 10 };

/* ---- options ---- */

static bool has(const lm_params *params, const char *key) {
    return lm_param_exists(params, key);
}

static double real_or(const lm_params *params, const char *key, double otherwise) {
    return !has(params, key) || lm_param_is_auto(params, key) ? otherwise
                                                              : lm_param_real(params, key);
}

/* 0 means no limit where otherwise is SIZE_MAX. */
static size_t count_or(const lm_params *params, const char *key, size_t otherwise) {
    if (!has(params, key) || lm_param_is_auto(params, key))
        return otherwise;
    int64_t value = lm_param_int(params, key);
    return value > 0 ? (size_t)value : SIZE_MAX;
}

static bool yes_or_no(const lm_params *params, const char *key, bool otherwise) {
    int choice = has(params, key) ? lm_param_choice(params, key) : 0; /* auto|yes|no */
    return choice == 0 ? otherwise : choice == 1;
}

const char *const pt_names[PT_RULES] = {"ptree", "perceptron", "stoptron", "forgetron",
                                        "projectron"};

static pt_rule rule_of(const lm_params *params) {
    for (size_t i = 0; i < PT_RULES; i++)
        if (strcmp(params->owner, pt_names[i]) == 0)
            return (pt_rule)i;
    return PT_TREE;
}

static lm_kernel kernel_of(const lm_params *params) {
    /* In the order of the choices. */
    static const lm_kernel_type types[] = {LM_RBF, LM_POLYNOMIAL, LM_LINEAR, LM_CHI2_KERNEL,
                                           LM_INTERSECTION};
    return (lm_kernel){.type = types[lm_param_choice(params, "kernel")],
                       .degree = (int)lm_param_int(params, "degree"),
                       .gamma = real_or(params, "gamma", 1),
                       .coef0 = lm_param_real(params, "coef0")};
}

pt_options pt_options_of(const lm_params *params) {
    pt_options o = {.rule = rule_of(params), .kernel = kernel_of(params)};
    bool tree = o.rule == PT_TREE, paper = has(params, "style") && lm_param_choice(params, "style");
    lm_kernel_type type = o.kernel.type;
    o.find_gamma =
        lm_param_is_auto(params, "gamma") && type != LM_LINEAR && type != LM_INTERSECTION;
    o.paper = paper;
    if (tree) {
        o.split = (pt_split)lm_param_choice(params, "split");
        o.select = (pt_select)lm_param_choice(params, "select");
    }
    o.budget = count_or(params, "budget", SIZE_MAX);
    size_t half = o.budget == SIZE_MAX ? SIZE_MAX : o.budget / 2;
    o.kept = count_or(params, "kept", half);
    o.kept = o.kept < o.budget ? o.kept : o.budget;
    o.reservoir = count_or(params, "reservoir", paper ? SIZE_MAX : DEFAULT_RESERVOIR);
    o.depth = (size_t)real_or(params, "depth", paper ? PT_DEPTH_MOST : DEFAULT_DEPTH);
    o.patience = (size_t)real_or(params, "patience", paper ? 0 : DEFAULT_PATIENCE);
    o.average = yes_or_no(params, "average", tree && !paper);
    o.refit = tree ? real_or(params, "refit", paper ? 0 : DEFAULT_REFIT) : 0;
    o.project =
        tree ? real_or(params, "project", paper ? 0 : DEFAULT_PROJECT) : real_or(params, "eta", 0);
    o.finish = yes_or_no(params, "finish", tree && !paper);
    o.plus = has(params, "plus") && lm_param_int(params, "plus") == 1;
    o.margin = real_or(params, "margin", tree && !paper ? DEFAULT_MARGIN : 0);
    o.epochs = count_or(params, "epochs", tree && !paper ? DEFAULT_EPOCHS : 1);
    int order = lm_param_choice(params, "order"); /* auto|shuffle|file */
    o.shuffle = order == 0 ? !paper : order == 1;
    o.stream = lm_stream_of(params->owner);
    return o;
}

limn_status pt_check(limn_context *ctx, limn_task task, const lm_params *params) {
    (void)task;
    pt_options o = pt_options_of(params);
    if (o.kept >= o.budget && o.budget != SIZE_MAX && o.rule == PT_TREE)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "%s: kept must be less than budget, so that a new leaf has room to learn",
                       params->owner);
    return LIMN_OK;
}

static bool needs_positive(const lm_kernel *kernel) {
    return kernel->type == LM_CHI2_KERNEL || kernel->type == LM_INTERSECTION;
}

limn_scale pt_scaling(const lm_params *params) {
    lm_kernel kernel = kernel_of(params);
    bool paper = has(params, "style") && lm_param_choice(params, "style");
    return needs_positive(&kernel) ? LIMN_SCALE_MINMAX
           : paper                 ? LIMN_SCALE_NONE
                                   : LIMN_SCALE_ZSCORE;
}

/* ---- the model ---- */

void pt_destroy(const limn_allocator *mem, void *opaque) {
    pt_model *m = opaque;
    if (!m)
        return;
    for (size_t i = 0; i < m->nodes; i++)
        pt_node_free(mem, &m->node[i]);
    for (size_t i = 0; i < m->leaves; i++)
        pt_leaf_free(mem, &m->leaf[i]);
    lm_free(mem, m->node);
    lm_free(mem, m->leaf);
    lm_free(mem, m->slope);
    lm_free(mem, m->bend);
    lm_free(mem, m);
}

limn_status pt_new(limn_context *ctx, const pt_options *o, size_t d, size_t classes,
                   pt_model **out) {
    const limn_allocator *mem = &ctx->mem;
    pt_model *m = lm_alloc_zero(mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->o = *o;
    m->d = d;
    m->classes = classes;
    m->outputs = classes > 2 ? classes : 1;
    m->stride = (d + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
    m->room = 4;
    m->seed = ctx->seed;
    m->agreement = -1;
    m->width = LM_PANEL;
    m->node = lm_alloc_zero(mem, m->room, sizeof *m->node);
    m->leaf = lm_alloc_zero(mem, m->room, sizeof *m->leaf);
    m->slope = lm_alloc_zero(mem, classes, sizeof *m->slope);
    m->bend = lm_alloc_zero(mem, classes, sizeof *m->bend);
    bool fine = m->node && m->leaf && m->slope && m->bend;
    limn_status status = fine ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        m->leaves = 1;
        status = pt_leaf_make(ctx, m, 0, 1, 0, &m->leaf[0]);
    }
    if (status != LIMN_OK)
        pt_destroy(mem, m);
    else
        *out = m;
    return status;
}

/* ---- training ---- */

static limn_status check_positive(limn_context *ctx, const lm_train_set *set,
                                  const lm_params *params) {
    for (size_t i = 0; i < set->n * set->d; i++)
        if (set->x[i] < 0)
            return lm_fail(ctx, LIMN_E_DATA,
                           "%s: kernel=%s is for numbers that are 0 or more, but row %zu has one "
                           "below 0; leave --scale out, or give --scale minmax",
                           params->owner, lm_param_text(params, "kernel"), i / set->d + 1);
    return LIMN_OK;
}

static void put_in_order(const pt_options *o, uint64_t seed, size_t epoch, size_t n,
                         size_t *order) {
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    lm_rng rng = lm_rng_at(lm_hash(seed, o->stream, PT_ORDER), epoch, 0);
    if (o->shuffle)
        lm_rng_shuffle(&rng, order, n);
}

static limn_status learn_all(limn_context *ctx, const lm_train_set *set, pt_options *o,
                             size_t *order, pt_model **out) {
    pt_model *m = NULL;
    limn_status status = LIMN_OK;
    put_in_order(o, ctx->seed, 0, set->n, order);
    if (o->find_gamma)
        status = pt_find_gamma(ctx, set, order, o);
    if (status == LIMN_OK)
        status = pt_new(ctx, o, set->d, set->classes, &m);
    for (size_t e = 0; e < o->epochs && status == LIMN_OK; e++) {
        put_in_order(o, ctx->seed, e, set->n, order);
        status = pt_pass(ctx, m, set, order, set->n, "learning", NULL);
    }
    if (status == LIMN_OK && o->finish)
        status = pt_finish(ctx, set, m);
    if (status != LIMN_OK)
        pt_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}

static limn_status draw(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                        const pt_options *o, pt_model **out) {
    pt_model *m = NULL;
    limn_status status = pt_new(ctx, o, set->d, set->classes, &m);
    if (status == LIMN_OK)
        status = pt_shrink(ctx, set, params, m);
    if (status != LIMN_OK)
        pt_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}

limn_status pt_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **out) {
    pt_options o = pt_options_of(params);
    pt_model *m = NULL;
    limn_status status = LIMN_OK;
    if (set->teacher) {
        status = draw(ctx, set, params, &o, &m);
    } else {
        size_t *order = lm_alloc(&ctx->mem, set->n, sizeof *order);
        status = order ? LIMN_OK : lm_fail_memory(ctx);
        if (status == LIMN_OK && needs_positive(&o.kernel))
            status = check_positive(ctx, set, params);
        if (status == LIMN_OK)
            status = learn_all(ctx, set, &o, order, &m);
        lm_free(&ctx->mem, order);
    }
    if (status == LIMN_OK) {
        m->seen = set->n;
        *out = m;
    }
    return status;
}
