/* train.c: parameters, and the flat form of the trees. */
#include "methods/vpc/build.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the flat form ---- */

/* The arrays of the model while they are written. */
typedef struct arrays {
    int32_t *root, *listing;
    double *radius, *mu;
    vpc_node *node;
    float *pivot, *weights, *bias, *centre;
    vpc_leaf *leaf;
} arrays;

typedef struct totals {
    size_t nodes, leaves, panels, listed, depth, widest;
} totals;

static size_t panels_of(size_t classes) {
    return classes > 1 ? (classes + LM_PANEL - 1) / LM_PANEL : 0;
}

/* A node of a grown tree, and where to write its number. */
typedef struct visit {
    const vpc_grown *node;
    int32_t *link;
    size_t depth;
} visit;

typedef struct walk {
    lm_buffer stack;
    totals t;
    bool failed;
} walk;

static void later(walk *w, const vpc_grown *node, int32_t *link, size_t depth) {
    visit v = {node, link, depth};
    w->failed = w->failed || !lm_buffer_append(&w->stack, &v, sizeof v);
}

static bool next(walk *w, visit *v) {
    if (!w->stack.size || w->failed)
        return false;
    w->stack.size -= sizeof *v;
    memcpy(v, w->stack.data + w->stack.size, sizeof *v);
    return true;
}

static void count_tree(walk *w, const vpc_grown *root) {
    visit v;
    for (later(w, root, NULL, 0); next(w, &v);) {
        const vpc_grown *g = v.node;
        w->t.depth = v.depth > w->t.depth ? v.depth : w->t.depth;
        if (g->near) {
            w->t.nodes++;
            later(w, g->far, NULL, v.depth + 1);
            later(w, g->near, NULL, v.depth + 1);
            continue;
        }
        size_t panels = panels_of(g->fit.classes);
        w->t.leaves++;
        w->t.panels += panels;
        w->t.listed += g->fit.classes;
        w->t.widest = panels > w->t.widest ? panels : w->t.widest;
    }
}

static double length_of(const vpc_plan *plan, float distance) {
    return plan->distance == VPC_L2 ? sqrt((double)distance) : (double)distance;
}

static float distance_near(const vpc_plan *plan, double length) {
    double distance = plan->distance == VPC_L2 ? length * length : length;
    return distance < (double)FLT_MAX ? (float)distance : FLT_MAX;
}

/* The largest distance whose length is at most this, and the smallest whose length is at least
 * this, found with the same comparison that defines the visit, so that rounding changes nothing. */
static float largest_within(const vpc_plan *plan, double length) {
    float d = distance_near(plan, length);
    while (d > 0 && length_of(plan, d) > length)
        d = nextafterf(d, 0);
    while (d < FLT_MAX && length_of(plan, nextafterf(d, FLT_MAX)) <= length)
        d = nextafterf(d, FLT_MAX);
    return d;
}

static float smallest_from(const vpc_plan *plan, double length) {
    if (length <= 0)
        return 0;
    float d = distance_near(plan, length);
    while (d < FLT_MAX && length_of(plan, d) < length)
        d = nextafterf(d, FLT_MAX);
    while (d > 0 && length_of(plan, nextafterf(d, 0)) >= length)
        d = nextafterf(d, 0);
    return d;
}

static void put_leaf(const vpc_plan *plan, const vpc_grown *g, arrays *a, totals *at) {
    size_t d = plan->d, panels = panels_of(g->fit.classes);
    vpc_leaf *leaf = &a->leaf[at->leaves];
    *leaf = (vpc_leaf){.panel = panels ? (uint32_t)at->panels : 0,
                       .classes = (uint32_t)g->fit.classes,
                       .first = (uint32_t)at->listed,
                       .n = (uint32_t)g->n};
    memcpy(a->listing + at->listed, g->fit.name, g->fit.classes * sizeof *a->listing);
    for (size_t c = 0; c < panels * LM_PANEL; c++) {
        float *panel = a->weights + (at->panels + c / LM_PANEL) * d * LM_PANEL;
        bool there = c < g->fit.classes;
        a->bias[at->panels * LM_PANEL + c] = there ? g->fit.bias[c] : -FLT_MAX;
        for (size_t j = 0; j < d; j++)
            panel[j * LM_PANEL + c % LM_PANEL] = there ? g->fit.weights[c * d + j] : 0;
    }
    if (a->centre)
        memcpy(a->centre + at->leaves * d, g->centre, d * sizeof *a->centre);
    at->leaves++;
    at->panels += panels;
    at->listed += g->fit.classes;
}

static void put_node(const vpc_plan *plan, const vpc_grown *g, double radius, arrays *a,
                     totals *at) {
    size_t d = plan->d;
    a->node[at->nodes] = (vpc_node){.near_max = largest_within(plan, g->mu + radius),
                                    .far_min = smallest_from(plan, g->mu - radius)};
    a->mu[at->nodes] = g->mu;
    memcpy(a->pivot + at->nodes * d, plan->set->x + g->pivot * d, d * sizeof *a->pivot);
    at->nodes++;
}

/* One tree in preorder. */
static void put_tree(const vpc_plan *plan, const vpc_grown *root, size_t tree, double rho,
                     arrays *a, totals *at, walk *w) {
    visit v;
    a->radius[tree] = root->near ? rho * root->mu : 0;
    for (later(w, root, &a->root[tree], 0); next(w, &v);) {
        if (!v.node->near) {
            *v.link = ~(int32_t)at->leaves;
            put_leaf(plan, v.node, a, at);
            continue;
        }
        *v.link = (int32_t)at->nodes;
        vpc_node *node = &a->node[at->nodes];
        put_node(plan, v.node, a->radius[tree], a, at);
        later(w, v.node->far, &node->far, v.depth + 1);
        later(w, v.node->near, &node->near, v.depth + 1);
    }
}

static limn_status take_arrays(limn_context *ctx, const totals *t, bool centres, vpc_model *m,
                               arrays *a) {
    size_t d = m->d, pivots, weights, means = 0;
    if (t->nodes >= INT32_MAX || t->leaves >= INT32_MAX || t->panels >= UINT32_MAX ||
        t->listed >= UINT32_MAX)
        return lm_fail(ctx, LIMN_E_DATA, "vpc: the trees have too many nodes; use fewer trees");
    if (!lm_mul(t->nodes, d, &pivots) || !lm_mul(t->panels * LM_PANEL, d, &weights) ||
        !lm_mul(t->leaves, d, &means))
        return lm_fail_memory(ctx);
    a->root = lm_alloc_aligned(&ctx->mem, m->trees, sizeof *a->root);
    a->radius = lm_alloc_aligned(&ctx->mem, m->trees, sizeof *a->radius);
    a->node = lm_alloc_aligned(&ctx->mem, t->nodes + 1, sizeof *a->node);
    a->mu = lm_alloc_aligned(&ctx->mem, t->nodes + 1, sizeof *a->mu);
    a->pivot = lm_alloc_aligned(&ctx->mem, pivots + 1, sizeof *a->pivot);
    a->leaf = lm_alloc_aligned(&ctx->mem, t->leaves, sizeof *a->leaf);
    a->listing = lm_alloc_aligned(&ctx->mem, t->listed, sizeof *a->listing);
    a->weights = lm_alloc_aligned(&ctx->mem, weights + 1, sizeof *a->weights);
    a->bias = lm_alloc_aligned(&ctx->mem, t->panels * LM_PANEL + 1, sizeof *a->bias);
    if (centres)
        a->centre = lm_alloc_aligned(&ctx->mem, means, sizeof *a->centre);
    m->root = a->root;
    m->radius = a->radius;
    m->node = a->node;
    m->mu = a->mu;
    m->pivot = a->pivot;
    m->leaf = a->leaf;
    m->listing = a->listing;
    m->weights = a->weights;
    m->bias = a->bias;
    m->centre = a->centre;
    bool there = a->root && a->radius && a->node && a->mu && a->pivot && a->leaf && a->listing &&
                 a->weights && a->bias && (a->centre || !centres);
    return there ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status flatten(limn_context *ctx, const vpc_plan *plan, vpc_grown *const *root,
                           double rho, vpc_model *m) {
    walk w = {.stack.mem = &ctx->mem};
    arrays a = {.root = NULL};
    totals at = {.nodes = 0};
    for (size_t t = 0; t < m->trees; t++)
        count_tree(&w, root[t]);
    limn_status status = w.failed ? lm_fail_memory(ctx) : LIMN_OK;
    if (status == LIMN_OK)
        status = take_arrays(ctx, &w.t, plan->centres, m, &a);
    for (size_t t = 0; t < m->trees && status == LIMN_OK; t++)
        put_tree(plan, root[t], t, rho, &a, &at, &w);
    if (status == LIMN_OK && w.failed)
        status = lm_fail_memory(ctx);
    m->nodes = w.t.nodes;
    m->leaves = w.t.leaves;
    m->panels = w.t.panels;
    m->listed = w.t.listed;
    m->depth = w.t.depth;
    m->widest = w.t.widest;
    lm_buffer_free(&w.stack);
    return status;
}

/* ---- training ---- */

static vpc_plan plan_of(limn_context *ctx, const lm_train_set *set, const lm_params *params) {
    vpc_plan plan = {.set = set,
                     .d = set->d,
                     .seed = ctx->seed,
                     .stream = lm_stream_of(params->owner),
                     .style = (vpc_style)lm_param_choice(params, "style"),
                     .metric = (vpc_metric)lm_param_choice(params, "metric"),
                     .distance = (vpc_distance)lm_param_choice(params, "distance"),
                     .gamma = lm_param_real(params, "gamma")};
    bool paper = plan.style == VPC_PAPER;
    size_t candidates = (size_t)lm_param_int(params, "candidates");
    size_t samples = (size_t)lm_param_int(params, "samples");
    plan.candidates = candidates ? candidates : paper ? 64 : 16;
    plan.samples = samples ? samples : paper ? 1000 : 300;
    plan.centres = paper && lm_param_choice(params, "vote") == VPC_CENTROID;
    plan.pair = lm_pair_kernel(plan.distance == VPC_L1 ? LM_L1 : LM_L2);
    return plan;
}

void vpc_configure(vpc_model *m, const lm_params *params) {
    m->style = (vpc_style)lm_param_choice(params, "style");
    m->vote = (vpc_vote)lm_param_choice(params, "vote");
    m->distance = (vpc_distance)lm_param_choice(params, "distance");
    m->stop = lm_param_real(params, "stop");
}

/* Grows and flattens the whole forest. */
static limn_status build(limn_context *ctx, const vpc_plan *plan, double rho, vpc_model *m) {
    size_t n = plan->set->n;
    vpc_grown **root = NULL;
    uint32_t *rows = lm_alloc(&ctx->mem, n, sizeof *rows);
    limn_status status = rows ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < n && rows; i++)
        rows[i] = (uint32_t)i;
    if (status == LIMN_OK)
        status = vpc_grow(ctx, plan, m->trees, rows, n, &root);
    if (status == LIMN_OK)
        status = flatten(ctx, plan, root, rho, m);
    for (size_t t = 0; root && t < m->trees; t++)
        vpc_grown_free(&ctx->mem, root[t]);
    lm_free(&ctx->mem, root);
    lm_free(&ctx->mem, rows);
    return status;
}

static limn_status fit(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                       vpc_model *m) {
    vpc_plan plan = plan_of(ctx, set, params);
    double rho = lm_param_real(params, "radius");
    bool auto_gamma = lm_param_is_auto(params, "gamma");
    bool auto_radius = lm_param_is_auto(params, "radius");
    limn_status status = LIMN_OK;
    if (auto_gamma || auto_radius) {
        status = vpc_choose(ctx, &plan, m->trees, auto_gamma, auto_radius, &plan.gamma, &rho);
        if (status == LIMN_OK)
            lm_info(ctx, "vpc: chosen by inner validation: gamma=%.6g radius=%.6g", plan.gamma,
                    rho);
    }
    if (status == LIMN_OK)
        status = build(ctx, &plan, rho, m);
    return status == LIMN_OK ? vpc_measure(ctx, m, set->x, set->n) : status;
}

limn_scale vpc_scaling(const lm_params *params) {
    return lm_param_choice(params, "style") == VPC_PAPER ? LIMN_SCALE_MINMAX : LIMN_SCALE_AUTO;
}

limn_status vpc_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      void **out) {
    if (set->n > UINT32_MAX)
        return lm_fail(ctx, LIMN_E_DATA, "vpc: more than 2^32 rows");
    vpc_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->owned = true;
    m->d = set->d;
    m->classes = set->classes;
    vpc_configure(m, params);
    m->trees = m->style == VPC_PAPER ? 1 : (size_t)lm_param_int(params, "trees");
    limn_status status = fit(ctx, set, params, m);
    if (status != LIMN_OK)
        vpc_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}

void vpc_destroy(const limn_allocator *mem, void *opaque) {
    vpc_model *m = opaque;
    if (!m)
        return;
    const void *all[] = {m->root, m->radius,  m->node,    m->mu,   m->pivot,
                         m->leaf, m->listing, m->weights, m->bias, m->centre};
    for (size_t i = 0; m->owned && i < LM_COUNT(all); i++)
        lm_free_aligned(mem, (void *)(uintptr_t)all[i]);
    lm_free(mem, m);
}
