/* train.c: parameters, the steps of training, and freeing a model. */
#include "base/work.h"
#include "methods/hull/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

static hull_kind kind_of(const char *name) {
    static const char *const names[] = {"nah", "nhd", "nch", "nsc", "nrh"};
    size_t kind = 0;
    while (kind + 1 < LM_COUNT(names) && strcmp(names[kind], name) != 0)
        kind++;
    return (hull_kind)kind;
}

static void set_dim(const lm_params *params, hull_options *o) {
    static const hull_dim words[] = {HULL_DIM_FULL, HULL_DIM_GAP};
    int word = lm_param_word(params, "dim");
    o->dim = SIZE_MAX;
    o->dim_rule = HULL_DIM_FULL;
    if (!lm_param_exists(params, "dim"))
        return;
    if (lm_param_is_auto(params, "dim")) {
        o->dim_rule = HULL_DIM_AUTO;
    } else if (word >= 0) {
        o->dim_rule = words[word];
    } else {
        o->dim_rule = HULL_DIM_GIVEN;
        o->dim = (size_t)lm_param_int(params, "dim");
    }
}

/* The directions of a hull in feature space are cut earlier unless all are requested. */
static double default_cut(const hull_options *o) {
    bool hull = o->kind == HULL_NAH || o->kind == HULL_NHD;
    return o->kernel_space && hull && o->dim_rule == HULL_DIM_AUTO ? 0.03 : 1e-6;
}

/* Whether spheres are valid bounds in the feature space. */
static bool is_euclidean(const hull_options *o) {
    lm_kernel_type type = o->kernel.type;
    return type == LM_LINEAR || type == LM_RBF || (type == LM_POLYNOMIAL && o->kernel.coef0 >= 0);
}

void hull_configure(const lm_params *params, hull_options *o) {
    static const lm_kernel_type kernels[] = {LM_LINEAR, LM_RBF, LM_POLYNOMIAL, LM_SIGMOID};
    *o = (hull_options){.kind = kind_of(params->owner), .stream = lm_stream_of(params->owner)};
    o->kernel.type = kernels[lm_param_choice(params, "kernel")];
    o->kernel_space = o->kernel.type != LM_LINEAR;
    o->kernel.degree = (int)lm_param_int(params, "degree");
    o->kernel.coef0 = lm_param_real(params, "coef0");
    o->auto_gamma = lm_param_is_auto(params, "gamma");
    o->kernel.gamma = lm_param_real(params, "gamma");
    set_dim(params, o);
    bool cuts = lm_param_exists(params, "cut") && !lm_param_is_auto(params, "cut");
    o->cut = cuts ? lm_param_real(params, "cut") : default_cut(o);
    o->nu = lm_param_real(params, "nu");
    o->auto_rho = lm_param_is_auto(params, "rho");
    o->rho = lm_param_real(params, "rho");
    o->neighbors = (size_t)lm_param_int(params, "neighbors");
    o->reject = lm_param_real(params, "reject");
    bool asked = lm_param_exists(params, "prune") && lm_param_choice(params, "prune") == 0;
    o->prune = asked && is_euclidean(o);
}

limn_scale hull_scaling(const lm_params *params) {
    return lm_param_choice(params, "kernel") ? LIMN_SCALE_ZSCORE : LIMN_SCALE_AUTO;
}

/* ---- rows of the classes ---- */

static void groups_free(const limn_allocator *mem, hull_groups *g) {
    lm_free(mem, g->row);
    lm_free(mem, g->start);
}

static limn_status group_rows(limn_context *ctx, const lm_train_set *set, hull_groups *g) {
    if (set->n > UINT32_MAX / 2)
        return lm_fail(ctx, LIMN_E_DATA, "%zu rows are more than hulls can handle", set->n);
    g->row = lm_alloc(&ctx->mem, set->n, sizeof *g->row);
    g->start = lm_alloc_zero(&ctx->mem, set->classes + 2, sizeof *g->start);
    if (!g->row || !g->start)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < set->n; i++)
        g->start[set->label[i] + 2]++;
    for (size_t c = 0; c < set->classes; c++) {
        if (!g->start[c + 2])
            return lm_fail(ctx, LIMN_E_DATA, "class number %zu has no rows", c);
        g->start[c + 2] += g->start[c + 1];
    }
    for (size_t i = 0; i < set->n; i++)
        g->row[g->start[set->label[i] + 1]++] = (uint32_t)i;
    return LIMN_OK;
}

static void warn_of_points(limn_context *ctx, const lm_train_set *set, const hull_groups *g,
                           const char *method) {
    size_t single = 0;
    for (size_t c = 0; c < set->classes; c++)
        single += g->start[c + 1] - g->start[c] == 1;
    if (single)
        lm_warn(
            ctx,
            "%s: %zu of %zu classes %s only one row: the set of such a class is just that point",
            method, single, set->classes, single == 1 ? "has" : "have");
}

/* Eigenvalues of n x n matrices take n^3 steps. */
enum { DEAR_CLASS = 4000 };

static void warn_of_cost(limn_context *ctx, const hull_model *m, size_t largest,
                         const char *method) {
    if (m->options.kernel_space && !m->options.neighbors && largest > DEAR_CLASS)
        lm_warn(ctx,
                "%s: a class has %zu rows, and a kernel needs %.1f GB for them and time that grows "
                "with their cube; use --subsample or -p neighbors=N to make it fast",
                method, largest, (double)largest * (double)largest * 1.6e-8);
}

/* ---- gamma ---- */

enum { PAIRS_MAX = 20000 };

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double pair_distance(const lm_train_set *set, size_t i, size_t k) {
    double sum = 0;
    for (size_t j = 0; j < set->d; j++) {
        double difference = (double)set->x[i * set->d + j] - (double)set->x[k * set->d + j];
        sum += difference * difference;
    }
    return sum;
}

/* 1 / median |x_i - x_j|^2, over all pairs or a seeded sample; if the median is 0, over the pairs
 * that differ. */
static limn_status find_gamma(limn_context *ctx, const lm_train_set *set, hull_options *o) {
    size_t n = set->n, count = 0;
    bool all = n < 200;
    double *d2 = lm_alloc(&ctx->mem, PAIRS_MAX, sizeof *d2);
    lm_rng rng = lm_rng_at(ctx->seed, o->stream, UINT64_MAX);
    if (!d2)
        return lm_fail_memory(ctx);
    if (all)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++)
                d2[count++] = pair_distance(set, i, k);
    while (!all && count < PAIRS_MAX) {
        size_t i = (size_t)lm_rng_below(&rng, n), k = (size_t)lm_rng_below(&rng, n - 1);
        d2[count++] = pair_distance(set, i, k + (k >= i));
    }
    qsort(d2, count, sizeof *d2, ascending);
    size_t middle = count / 2;
    while (middle < count && !(d2[middle] > 0))
        middle++;
    double median = middle < count ? d2[middle] : (double)set->d;
    o->kernel.gamma = fmin(1 / median, 1e300);
    lm_free(&ctx->mem, d2);
    return LIMN_OK;
}

/* ---- hulls that fill the space ---- */

static limn_status refuse_full(limn_context *ctx, const hull_model *m, const char *what) {
    return lm_fail(ctx, LIMN_E_DATA,
                   "%s all %zu dimension%s of the data, so every row would lie in all of them; set "
                   "-p dim=N with N below %zu or dim=auto, or use nrh, nch or a kernel",
                   what, m->d, m->d == 1 ? "" : "s", m->d);
}

static limn_status check_full(limn_context *ctx, const hull_model *m, const hull_fit *fits,
                              const char *method) {
    size_t full = 0;
    if (m->options.kernel_space || (m->options.kind != HULL_NAH && m->options.kind != HULL_NHD))
        return LIMN_OK;
    for (size_t c = 0; c < m->classes; c++)
        full += hull_fit_dim(&fits[c], &m->options) >= m->d;
    if (full == m->classes)
        return refuse_full(ctx, m, "the hulls of all classes fill");
    if (full)
        lm_warn(
            ctx,
            "%s: the hulls of %zu of %zu classes fill all %zu dimension%s, so every row lies in "
            "them; to avoid that, use -p dim=N with N below %zu or dim=auto",
            method, full, m->classes, m->d, m->d == 1 ? "" : "s", m->d);
    return LIMN_OK;
}

static limn_status check_full_local(limn_context *ctx, const hull_model *m) {
    const hull_options *o = &m->options;
    bool affine = o->kind == HULL_NAH || o->kind == HULL_NHD;
    if (!affine || o->kernel_space || o->dim_rule == HULL_DIM_AUTO || o->dim_rule == HULL_DIM_GAP ||
        o->dim < m->d)
        return LIMN_OK;
    for (size_t c = 0; c < m->classes; c++)
        if (m->count[c] <= m->d || o->neighbors <= m->d)
            return LIMN_OK;
    return refuse_full(ctx, m, "hulls of that many neighbors fill");
}

/* ---- training ---- */

typedef struct fitting {
    const hull_space *space;
    const hull_groups *groups;
    size_t most;
    hull_fit *fits;
} fitting;

static limn_status fit_class(limn_context *ctx, void *user, size_t c) {
    const fitting *f = user;
    size_t first = f->groups->start[c], n = f->groups->start[c + 1] - first;
    return hull_fit_make(ctx, f->space, f->groups->row + first, n, f->most, &f->fits[c]);
}

static size_t largest_group(const hull_groups *g, size_t classes) {
    size_t largest = 0;
    for (size_t c = 0; c < classes; c++)
        largest = g->start[c + 1] - g->start[c] > largest ? g->start[c + 1] - g->start[c] : largest;
    return largest;
}

static void count_samples(hull_model *m, const hull_groups *g) {
    for (size_t c = 0; c < m->classes; c++)
        m->sample_panels += (g->start[c + 1] - g->start[c] + LM_PANEL - 1) / LM_PANEL;
}

static limn_status build(limn_context *ctx, const lm_train_set *set, const hull_groups *groups,
                         const hull_fit *fits, hull_model *m) {
    bool keeps = hull_has_curved(m) || hull_has_convex(m);
    if (keeps)
        count_samples(m, groups);
    limn_status status = hull_has_flat(m)     ? hull_build_flat(ctx, set, fits, m)
                         : hull_has_curved(m) ? hull_build_curved(ctx, fits, m)
                                              : hull_take_parts(ctx, m);
    if (status == LIMN_OK && keeps)
        status = hull_pack_samples(ctx, set, groups, m);
    if (status == LIMN_OK && hull_has_convex(m))
        status = hull_build_convex(ctx, fits, m);
    return status;
}

/* nch: distances need no directions, but the bounds do. */
static limn_status fit_bounds(limn_context *ctx, const lm_train_set *set, fitting *f,
                              hull_options *options) {
    size_t largest = largest_group(f->groups, set->classes);
    if (options->kind != HULL_NCH || options->kernel_space || !options->prune || largest > set->d)
        return LIMN_OK;
    for (size_t c = 0; c < set->classes; c++)
        hull_fit_free(&ctx->mem, &f->fits[c]);
    options->kind = HULL_NAH; /* temporarily */
    limn_status status = lm_work(
        ctx, &(lm_job){.stage = "fitting", .count = set->classes, .task = fit_class, .user = f});
    options->kind = HULL_NCH;
    return status;
}

static limn_status train_global(limn_context *ctx, const lm_train_set *set,
                                const hull_groups *groups, const char *method, hull_model *m) {
    hull_options options = m->options;
    hull_space space = {set->x, set->d, &options};
    hull_fit *fits = lm_alloc_zero(&ctx->mem, set->classes, sizeof *fits);
    if (!fits)
        return lm_fail_memory(ctx);
    warn_of_cost(ctx, m, largest_group(groups, set->classes), method);
    fitting f = {&space, groups,
                 hull_most_dim(&options, set->d, largest_group(groups, set->classes)), fits};
    limn_status status = lm_work(
        ctx, &(lm_job){.stage = "fitting", .count = set->classes, .task = fit_class, .user = &f});
    if (status == LIMN_OK)
        status = hull_choose(ctx, &space, set->classes, fits, &options, m);
    m->options = options;
    if (status == LIMN_OK)
        status = check_full(ctx, m, fits, method);
    if (status == LIMN_OK)
        status = fit_bounds(ctx, set, &f, &options);
    if (status == LIMN_OK)
        status = build(ctx, set, groups, fits, m);
    for (size_t c = 0; c < set->classes; c++)
        hull_fit_free(&ctx->mem, &fits[c]);
    lm_free(&ctx->mem, fits);
    return status == LIMN_OK ? hull_prepare(ctx, m) : status;
}

/* No kernel value of two rows exceeds that of the longest row with itself. */
static limn_status check_kernel(limn_context *ctx, const lm_train_set *set, const hull_options *o) {
    double most = 0;
    if (o->kernel.type != LM_POLYNOMIAL)
        return LIMN_OK;
    for (size_t i = 0; i < set->n; i++) {
        double square = 0;
        for (size_t j = 0; j < set->d; j++)
            square += (double)set->x[i * set->d + j] * (double)set->x[i * set->d + j];
        most = fmax(most, square);
    }
    most = pow(o->kernel.gamma * most + fabs(o->kernel.coef0), o->kernel.degree);
    return most < HULL_KERNEL_MOST ? LIMN_OK : hull_refuse_kernel(ctx);
}

static limn_status train_local(limn_context *ctx, const lm_train_set *set,
                               const hull_groups *groups, hull_model *m) {
    count_samples(m, groups);
    limn_status status = check_kernel(ctx, set, &m->options);
    if (status == LIMN_OK)
        status = hull_take_parts(ctx, m);
    if (status == LIMN_OK)
        status = hull_pack_samples(ctx, set, groups, m);
    if (status == LIMN_OK)
        status = hull_prepare(ctx, m);
    if (status == LIMN_OK)
        status = check_full_local(ctx, m);
    return status == LIMN_OK ? hull_choose_local(ctx, m) : status;
}

limn_status hull_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                       void **out) {
    hull_groups groups = {0};
    hull_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->owned = true;
    m->d = set->d;
    m->classes = set->classes;
    m->limit = INFINITY;
    hull_configure(params, &m->options);
    limn_status status = group_rows(ctx, set, &groups);
    if (status == LIMN_OK && m->options.kernel_space && m->options.auto_gamma)
        status = find_gamma(ctx, set, &m->options);
    if (status == LIMN_OK)
        warn_of_points(ctx, set, &groups, params->owner);
    if (status == LIMN_OK)
        status = hull_is_local(m) ? train_local(ctx, set, &groups, m)
                                  : train_global(ctx, set, &groups, params->owner, m);
    groups_free(&ctx->mem, &groups);
    if (status != LIMN_OK) {
        hull_destroy(&ctx->mem, m);
        return status;
    }
    *out = m;
    return LIMN_OK;
}

/* ---- freeing ---- */

limn_status hull_take_parts(limn_context *ctx, hull_model *m) {
    hull_part parts[HULL_PARTS_MAX];
    size_t count;
    if (!hull_list_parts(m, parts, &count))
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        void *data = lm_mul(parts[i].count, parts[i].size, &bytes)
                         ? lm_alloc_aligned(&ctx->mem, bytes ? bytes : 1, 1)
                         : NULL;
        if (!data)
            return lm_fail_memory(ctx);
        memset(data, 0, bytes);
        *parts[i].data = data;
    }
    return LIMN_OK;
}

void hull_destroy(const limn_allocator *mem, void *opaque) {
    hull_model *m = opaque;
    hull_part parts[HULL_PARTS_MAX];
    size_t count = 0;
    if (!m)
        return;
    if (m->owned && hull_list_parts(m, parts, &count))
        for (size_t i = 0; i < count; i++)
            lm_free_aligned(mem, (void *)(uintptr_t)*parts[i].data);
    lm_free(mem, m->flat.mean_norm);
    lm_free(mem, m->near);
    lm_free(mem, m->square);
    lm_free(mem, m->origin);
    lm_free(mem, m->noise);
    lm_free(mem, m);
}
