/* train.c: means, covariance, one solve. */
#include "fit/discriminant.h"
#include "methods/lda/lda.h"

#include <math.h>
#include <string.h>

/* What training needs in addition to the model. */
typedef struct work {
    lm_moments moments;
    double *prior, *log_prior, *share; /* classes each */
    double *covariance;                /* d x d */
    double *weights;                   /* classes x d */
} work;

static void work_free(const limn_allocator *mem, work *w) {
    lm_moments_free(mem, &w->moments);
    lm_free(mem, w->prior);
    lm_free(mem, w->log_prior);
    lm_free(mem, w->share);
    lm_free(mem, w->covariance);
    lm_free(mem, w->weights);
}

static limn_status work_take(limn_context *ctx, const lm_train_set *set, work *w) {
    size_t square, cells;
    limn_status status = lm_moments_fit(ctx, set->x, set->label, set->weight, set->n, set->d,
                                        set->classes, &w->moments);
    if (status != LIMN_OK)
        return status;
    if (lm_mul(set->d, set->d, &square) && lm_mul(set->classes, set->d, &cells)) {
        w->prior = lm_alloc(&ctx->mem, set->classes, sizeof *w->prior);
        w->log_prior = lm_alloc(&ctx->mem, set->classes, sizeof *w->log_prior);
        w->share = lm_alloc(&ctx->mem, set->classes, sizeof *w->share);
        w->covariance = lm_alloc(&ctx->mem, square, sizeof *w->covariance);
        w->weights = lm_alloc(&ctx->mem, cells, sizeof *w->weights);
    }
    if (!w->prior || !w->log_prior || !w->share || !w->covariance || !w->weights)
        return lm_fail(ctx, LIMN_E_MEMORY, "lda: a covariance of %zu x %zu does not fit in memory",
                       set->d, set->d);
    return LIMN_OK;
}

static void set_priors(const lm_params *params, work *w) {
    const lm_moments *m = &w->moments;
    bool uniform = lm_param_choice(params, "priors") == 1;
    double total = 0;
    for (size_t c = 0; c < m->classes; c++)
        total += m->mass[c];
    for (size_t c = 0; c < m->classes; c++) {
        w->prior[c] = uniform ? 1 / (double)m->classes : m->mass[c] / total;
        w->log_prior[c] = log(w->prior[c]);
        w->share[c] = w->prior[c] / m->mass[c];
    }
}

static limn_status make_covariance(limn_context *ctx, const lm_train_set *set,
                                   const lm_params *params, work *w) {
    if (lm_param_is_auto(params, "shrinkage"))
        return lm_covariance_auto(ctx, set->x, set->label, &w->moments, w->prior, w->covariance);
    limn_status status =
        lm_covariance(ctx, set->x, set->label, &w->moments, w->share, w->covariance);
    if (status == LIMN_OK)
        lm_shrink(w->covariance, set->d, lm_param_real(params, "shrinkage"));
    return status;
}

/* The mean of all rows, rounded. */
static void set_centre(const lm_moments *m, float *centre) {
    for (size_t j = 0; j < m->d; j++) {
        double sum = 0;
        for (size_t c = 0; c < m->classes; c++)
            sum += m->mean[c * m->d + j] * (double)m->count[c] / (double)m->n;
        centre[j] = (float)sum;
    }
}

/* Weights beyond the range of floats mean that the data cannot be separated in floats. */
static limn_status pack_weights(limn_context *ctx, const work *w, lda_model *model) {
    size_t cells = model->classes * model->d;
    float *rows = lm_alloc(&ctx->mem, cells, sizeof *rows);
    if (!rows)
        return lm_fail_memory(ctx);
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < cells && status == LIMN_OK; i++) {
        rows[i] = (float)w->weights[i];
        if (!isfinite(rows[i]))
            status = lm_fail(ctx, LIMN_E_DATA,
                             "lda: the weights overflow; scale the features (--scale zscore)");
    }
    if (status == LIMN_OK)
        status = lm_pack_build(ctx, rows, model->classes, model->d, model->d, &model->weights);
    lm_free(&ctx->mem, rows);
    return status;
}

static limn_status fit(limn_context *ctx, const lm_train_set *set, const lm_params *params, work *w,
                       lda_model *model) {
    float *centre = lm_alloc_aligned(&ctx->mem, set->d, sizeof *centre);
    double *bias = lm_alloc_aligned(&ctx->mem, set->classes, sizeof *bias);
    model->centre = centre;
    model->bias = bias;
    if (!centre || !bias)
        return lm_fail_memory(ctx);
    limn_status status = work_take(ctx, set, w);
    if (status != LIMN_OK)
        return status;
    set_priors(params, w);
    set_centre(&w->moments, centre);
    status = make_covariance(ctx, set, params, w);
    if (status == LIMN_OK)
        status = lm_discriminant(ctx, &w->moments, w->covariance, w->log_prior, centre, w->weights,
                                 bias);
    return status == LIMN_OK ? pack_weights(ctx, w, model) : status;
}

limn_status lda_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      void **out) {
    work w = {.prior = NULL};
    lda_model *model = lm_alloc_zero(&ctx->mem, 1, sizeof *model);
    if (!model)
        return lm_fail_memory(ctx);
    model->owned = true;
    model->d = set->d;
    model->classes = set->classes;
    limn_status status = fit(ctx, set, params, &w, model);
    work_free(&ctx->mem, &w);
    if (status != LIMN_OK)
        lda_destroy(&ctx->mem, model);
    else
        *out = model;
    return status;
}

void lda_destroy(const limn_allocator *mem, void *opaque) {
    lda_model *model = opaque;
    if (!model)
        return;
    if (model->owned) {
        lm_pack_free(mem, &model->weights);
        lm_free_aligned(mem, (void *)(uintptr_t)model->bias);
        lm_free_aligned(mem, (void *)(uintptr_t)model->centre);
    }
    lm_free(mem, model);
}
