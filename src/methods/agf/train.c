/* train.c: "training" agf and kde is packing the rows, and choosing W or the bandwidth. */
#include "methods/agf/agf.h"
#include "num/pack_double.h"

#include <math.h>
#include <string.h>

bool agf_is_fixed(const lm_params *params) {
    return lm_param_exists(params, "bandwidth");
}

size_t agf_neighbors(const lm_params *params, double w, size_t n) {
    double k = lm_param_is_auto(params, "k") ? ceil(20 * w) : (double)lm_param_int(params, "k");
    return k < (double)n ? (size_t)k : n;
}

/* A copy of count items; NULL, without an error, if there are none to copy. */
static limn_status copy(limn_context *ctx, const void *from, size_t count, size_t size, void *to) {
    void *block = from ? lm_alloc_aligned(&ctx->mem, count, size) : NULL;
    memcpy(to, &block, sizeof block);
    if (!from)
        return LIMN_OK;
    if (!block)
        return lm_fail_memory(ctx);
    memcpy(block, from, count * size);
    return LIMN_OK;
}

static limn_status keep_labels(limn_context *ctx, const lm_train_set *set, agf_model *m) {
    limn_status status = LIMN_OK;
    if (set->task == LIMN_CLASSIFY)
        status = copy(ctx, set->label, set->n, sizeof *set->label, &m->label);
    if (status == LIMN_OK && set->task == LIMN_REGRESS)
        status = copy(ctx, set->target, set->n, sizeof *set->target, &m->target);
    if (status == LIMN_OK && set->task != LIMN_DENSITY)
        status = copy(ctx, set->weight, set->n, sizeof *set->weight, &m->weight);
    return status;
}

/* What queries need beside the rows. */
static limn_status measure_rows(limn_context *ctx, agf_model *m) {
    const lm_pack *pack = &m->set.pack;
    float *norms = lm_alloc_aligned(&ctx->mem, m->fixed ? 0 : pack->n, sizeof *norms);
    double *centre = lm_alloc_aligned(&ctx->mem, pack->d, sizeof *centre);
    double *norm = lm_alloc_aligned(&ctx->mem, pack->n, sizeof *norm), sum = 0;
    m->set.norms = norms;
    m->centre = centre;
    m->norm = norm;
    if (!norms || !centre || !norm)
        return lm_fail_memory(ctx);
    if (!m->fixed)
        lm_pack_norms(pack, norms);
    lm_pack_centre(pack, centre, norm);
    for (size_t i = 0; i < pack->n; i++)
        sum += norm[i] / (double)pack->n;
    m->least_s2 = sum > 0 ? 1e-12 * sum : 1e-12;
    if (!m->fixed)
        lm_nearest_prepare(&m->set);
    return LIMN_OK;
}

limn_status agf_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      void **out) {
    agf_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->fixed = agf_is_fixed(params);
    m->owned = true;
    m->task = set->task;
    m->classes = set->classes;
    limn_status status = lm_pack_build(ctx, set->x, set->n, set->d, set->d, &m->set.pack);
    if (status == LIMN_OK)
        status = keep_labels(ctx, set, m);
    if (status == LIMN_OK)
        status = measure_rows(ctx, m);
    if (status == LIMN_OK)
        status = agf_choose(ctx, params, m);
    if (status != LIMN_OK) {
        agf_destroy(&ctx->mem, m);
        return status;
    }
    if (!m->fixed)
        m->k = agf_neighbors(params, m->w, set->n);
    *out = m;
    return LIMN_OK;
}

void agf_destroy(const limn_allocator *mem, void *opaque) {
    agf_model *m = opaque;
    if (!m)
        return;
    if (m->owned) {
        lm_pack_free(mem, &m->set.pack);
        lm_free_aligned(mem, (void *)(uintptr_t)m->set.norms);
        lm_free_aligned(mem, (void *)(uintptr_t)m->label);
        lm_free_aligned(mem, (void *)(uintptr_t)m->target);
        lm_free_aligned(mem, (void *)(uintptr_t)m->weight);
        lm_free_aligned(mem, (void *)(uintptr_t)m->centre);
        lm_free_aligned(mem, (void *)(uintptr_t)m->norm);
    }
    lm_free(mem, m);
}
