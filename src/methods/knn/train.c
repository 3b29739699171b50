/* train.c: "training" knn is packing the rows. */
#include "methods/knn/knn.h"

#include <string.h>

/* Scaling moves the origin, to which angles refer. */
limn_scale knn_scaling(const lm_params *params) {
    return lm_param_choice(params, "metric") == LM_NEAREST_COSINE ? LIMN_SCALE_NONE
                                                                  : LIMN_SCALE_AUTO;
}

void knn_configure(knn_model *model, const lm_params *params) {
    size_t k = (size_t)lm_param_int(params, "k");
    model->k = k < model->set.pack.n ? k : model->set.pack.n;
    model->set.metric = (lm_nearest_metric)lm_param_choice(params, "metric");
    model->weights = (knn_weights)lm_param_choice(params, "weights");
    lm_nearest_prepare(&model->set);
}

/* A copy of count items; NULL, without an error, if there are none to copy. */
static limn_status copy_array(limn_context *ctx, const void *from, size_t count, size_t size,
                              void **to) {
    *to = NULL;
    if (!from)
        return LIMN_OK;
    *to = lm_alloc_aligned(&ctx->mem, count, size);
    if (!*to)
        return lm_fail_memory(ctx);
    memcpy(*to, from, count * size);
    return LIMN_OK;
}

static limn_status make_norms(limn_context *ctx, knn_model *model) {
    float *norms = lm_alloc_aligned(&ctx->mem, model->set.pack.n, sizeof *norms);
    if (!norms)
        return lm_fail_memory(ctx);
    lm_pack_norms(&model->set.pack, norms);
    model->set.norms = norms;
    return LIMN_OK;
}

limn_status knn_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      void **out) {
    limn_status status = LIMN_OK;
    void *label = NULL, *target = NULL, *weight = NULL;
    knn_model *model = lm_alloc_zero(&ctx->mem, 1, sizeof *model);
    if (!model)
        return lm_fail_memory(ctx);
    model->owned = true;
    model->task = set->task;
    model->classes = set->classes;
    status = lm_pack_build(ctx, set->x, set->n, set->d, set->d, &model->set.pack);
    if (status == LIMN_OK && lm_param_choice(params, "metric") != LM_NEAREST_L1)
        status = make_norms(ctx, model);
    if (status == LIMN_OK && set->task == LIMN_CLASSIFY)
        status = copy_array(ctx, set->label, set->n, sizeof *set->label, &label);
    if (status == LIMN_OK && set->task == LIMN_REGRESS)
        status = copy_array(ctx, set->target, set->n, sizeof *set->target, &target);
    if (status == LIMN_OK && set->task != LIMN_SEARCH)
        status = copy_array(ctx, set->weight, set->n, sizeof *set->weight, &weight);
    model->label = label;
    model->weight = weight;
    model->target = target;
    if (status != LIMN_OK) {
        knn_destroy(&ctx->mem, model);
        return status;
    }
    knn_configure(model, params);
    if (set->task != LIMN_SEARCH && (size_t)lm_param_int(params, "k") > set->n)
        lm_warn(ctx, "knn: k=%lld, but there %s only %zu row%s: all rows vote",
                (long long)lm_param_int(params, "k"), set->n == 1 ? "is" : "are", set->n,
                set->n == 1 ? "" : "s");
    *out = model;
    return LIMN_OK;
}

void knn_destroy(const limn_allocator *mem, void *opaque) {
    knn_model *model = opaque;
    if (!model)
        return;
    if (model->owned) {
        lm_pack_free(mem, &model->set.pack);
        lm_free_aligned(mem, (void *)(uintptr_t)model->set.norms);
        lm_free_aligned(mem, (void *)(uintptr_t)model->label);
        lm_free_aligned(mem, (void *)(uintptr_t)model->target);
        lm_free_aligned(mem, (void *)(uintptr_t)model->weight);
    }
    lm_free(mem, model);
}
