/* store.c: the scaling in a model file: the kind, and what it keeps of each feature. */
#include "scale/scale.h"

#include <math.h>
#include <string.h>

enum { SCALER_VERSION = 1 };

limn_status lm_scaler_save(limn_context *ctx, const lm_scaler *s, lm_writer *writer) {
    double *keep = NULL;
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "scaler", SCALER_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_text(kv, "kind", limn_scale_name(s->kind));
    lm_kv_put_int(kv, "features", (int64_t)s->out);
    if (s->kind != LIMN_SCALE_NONE) {
        keep = lm_alloc(&ctx->mem, s->out, sizeof *keep);
        if (!keep)
            return lm_fail_memory(ctx);
        for (size_t j = 0; j < s->out; j++)
            keep[j] = s->keep[j];
        lm_kv_put_reals(kv, "keep", keep, s->out);
        lm_kv_put_reals(kv, "offset", s->offset, s->out);
        lm_kv_put_reals(kv, "factor", s->factor, s->out);
    }
    if (s->target)
        lm_kv_put_reals(kv, "target", (const double[]){s->target_offset, s->target_factor}, 2);
    lm_free(&ctx->mem, keep);
    return lm_kv_end(kv);
}

/* Only ranges may have a factor of 0. */
static bool is_factor(const lm_scaler *s, double factor) {
    return isfinite(factor) && (factor > 0 || (factor == 0 && s->kind == LIMN_SCALE_RANGES));
}

static limn_status get_target(limn_context *ctx, const lm_kv *kv, lm_scaler *s) {
    double target[2] = {0, 1};
    if (!lm_kv_has(kv, "target"))
        return LIMN_OK;
    limn_status status = lm_kv_reals(kv, "target", 2, target);
    if (status == LIMN_OK && (s->kind != LIMN_SCALE_RANGES || !isfinite(target[0]) ||
                              !isfinite(target[1]) || target[1] < 0))
        status = lm_file_bad(ctx, kv->file, "the scaling of its target is not valid");
    s->target = status == LIMN_OK;
    s->target_offset = target[0];
    s->target_factor = target[1];
    return status;
}

static limn_status get_scaling(limn_context *ctx, const lm_kv *kv, lm_scaler *s) {
    limn_status status;
    /* Three lists of that many doubles must fit in the section before memory is allocated. */
    if (s->out > kv->section.size / (3 * sizeof(double)))
        return lm_file_bad(ctx, kv->file, "the scaling of %zu features is truncated", s->out);
    double *keep = lm_alloc(&ctx->mem, s->out, sizeof *keep);
    if (!lm_scaler_take(&ctx->mem, s->out, s) || !keep)
        status = lm_fail_memory(ctx);
    else
        status = lm_kv_reals(kv, "keep", s->out, keep);
    if (status == LIMN_OK)
        status = lm_kv_reals(kv, "offset", s->out, s->offset);
    if (status == LIMN_OK)
        status = lm_kv_reals(kv, "factor", s->out, s->factor);
    for (size_t j = 0; j < s->out && status == LIMN_OK; j++) {
        bool ascending = j == 0 || keep[j] > keep[j - 1];
        if (!(keep[j] >= 0 && keep[j] < (double)s->in && keep[j] == floor(keep[j]) && ascending))
            status = lm_file_bad(ctx, kv->file, "scaled feature %zu does not exist", j + 1);
        else
            s->keep[j] = (uint32_t)keep[j];
        if (status == LIMN_OK && !is_factor(s, s->factor[j]))
            status = lm_file_bad(ctx, kv->file, "the scaling factor of feature %zu is not positive",
                                 j + 1);
        if (status == LIMN_OK && !isfinite(s->offset[j]))
            status = lm_file_bad(ctx, kv->file, "the scaling offset of feature %zu is not finite",
                                 j + 1);
    }
    lm_free(&ctx->mem, keep);
    return status == LIMN_OK ? get_target(ctx, kv, s) : status;
}

limn_status lm_scaler_load(limn_context *ctx, const lm_file *file, size_t features, lm_scaler *s) {
    static const limn_scale kinds[] = {LIMN_SCALE_NONE, LIMN_SCALE_MINMAX, LIMN_SCALE_ZSCORE,
                                       LIMN_SCALE_RANGES};
    lm_kv kv;
    const char *name = "";
    int64_t out = 0;
    size_t kind = 0;
    limn_status status = lm_kv_open(ctx, file, "scaler", SCALER_VERSION, &kv);
    if (status == LIMN_OK)
        status = lm_kv_text(&kv, "kind", &name);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "features", 1, (int64_t)features, &out);
    if (status != LIMN_OK)
        return status;
    while (kind < LM_COUNT(kinds) && strcmp(limn_scale_name(kinds[kind]), name) != 0)
        kind++;
    s->in = features;
    s->out = (size_t)out;
    if (kind == LM_COUNT(kinds) || (kinds[kind] == LIMN_SCALE_NONE && s->in != s->out))
        return lm_file_bad(ctx, file, "the scaling '%.40s' of %zu features is not valid", name,
                           s->out);
    s->kind = kinds[kind];
    return s->kind == LIMN_SCALE_NONE ? LIMN_OK : get_scaling(ctx, &kv, s);
}
