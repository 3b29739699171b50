/* points.c: the rows of a race without data: a support vector machine has its vectors, and points
 * are sampled around and between them (fit/pool.h). Vectors lie near the border, the points between
 * two of one class lie inside. Half of the points judge. */
#include "choose/race.h"

#include "fit/pool.h"
#include "svm/machine.h"

#include <string.h>

enum { POINTS_PER_VECTOR = 20, POINTS_LEAST = 4000, POINTS_MOST = 40000, CELLS_MOST = 1 << 25 };

static size_t count_points(const lm_svm *svm, size_t affordable) {
    size_t points =
        svm->n > POINTS_MOST / POINTS_PER_VECTOR ? POINTS_MOST : svm->n * POINTS_PER_VECTOR;
    size_t most = CELLS_MOST / (svm->d + 1) + 1;
    points = points < POINTS_LEAST ? POINTS_LEAST : points;
    points = points < affordable ? points : affordable;
    return points < most ? points : most;
}

/* Rows of the model's columns from n scaled ones, answered by the model. */
static limn_status data_of(limn_context *ctx, const limn_model *model, const float *scaled,
                           size_t n, limn_data **out) {
    size_t cells, d = model->schema.features;
    limn_data *data = NULL;
    limn_status status = lm_data_new(ctx, model->schema.task, &data);
    if (status == LIMN_OK)
        status = lm_schema_copy(ctx, &model->schema, &data->schema);
    *out = data;
    if (status != LIMN_OK)
        return status;
    data->schema.beyond = false;
    float *usual = lm_alloc_zero(&ctx->mem, d, sizeof *usual);
    data->x = lm_mul(n, d, &cells) ? lm_alloc(&data->mem, cells, sizeof *data->x) : NULL;
    data->n = usual && data->x ? n : 0;
    double *inverse = NULL;
    status = data->n ? lm_scaler_invert(ctx, &model->scaler, &inverse) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_scaler_undo(ctx, &model->scaler, inverse, scaled, n, usual, data->x);
    lm_free(&ctx->mem, inverse);
    lm_free(&ctx->mem, usual);
    return status;
}

/* n points around the vectors, of which classes are the answers (NULL: regress). */
static limn_status sample(limn_context *ctx, const limn_model *model, const lm_svm *svm,
                          const int32_t *classes, size_t n, uint64_t seed, limn_data **out) {
    lm_pool_features features = {.d = 0};
    lm_pool_rows rows = {.n = 0};
    size_t cells, k = classes ? model->schema.labels.count : 1;
    float *x = lm_mul(n, svm->d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *x) : NULL;
    limn_status status =
        x ? lm_pool_features_find(ctx, svm->sv, svm->n, svm->d, &features) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_pool_rows_take(ctx, &features, svm->sv, classes, svm->n, k, &rows);
    if (status == LIMN_OK) {
        lm_pool_way way = {
            .seed = seed, .noise = 0.1, .compared = svm->n < 2000 ? svm->n / 10 + 1 : 0};
        lm_pool_sample(ctx, &rows, &way, 0, n, x, svm->d, NULL);
        status = data_of(ctx, model, x, n, out);
    }
    lm_pool_rows_free(&ctx->mem, &rows);
    lm_pool_features_free(&ctx->mem, &features);
    lm_free(&ctx->mem, x);
    return status;
}

/* The rows of both, one after the other. */
static limn_status join(limn_context *ctx, limn_data *data, const limn_data *more) {
    size_t d = data->schema.features, cells;
    float *x = lm_mul(data->n + more->n, d, &cells) ? lm_alloc(&data->mem, cells, sizeof *x) : NULL;
    if (!x)
        return lm_fail_memory(ctx);
    memcpy(x, data->x, data->n * d * sizeof *x);
    memcpy(x + data->n * d, more->x, more->n * d * sizeof *x);
    lm_free(&data->mem, data->x);
    data->x = x;
    data->n += more->n;
    return LIMN_OK;
}

/* The vectors and the points that are fitted to, and those that judge. */
static limn_status make_rows(limn_context *ctx, const limn_model *model, const lm_svm *svm,
                             double seconds, limn_data **fit, limn_data **judge) {
    limn_data *points = NULL;
    int32_t *classes = NULL;
    double *values = NULL;
    size_t affordable;
    uint64_t stream = lm_stream_of("accelerate");
    limn_status status = data_of(ctx, model, svm->sv, svm->n, fit);
    if (status == LIMN_OK)
        status = lm_race_affordable(ctx, model, *fit, seconds, &affordable);
    if (status == LIMN_OK)
        status = lm_race_answers(ctx, model, *fit, &classes, &values);
    size_t n = status == LIMN_OK ? count_points(svm, affordable) / 2 : 0;
    if (status == LIMN_OK)
        status = sample(ctx, model, svm, classes, n, lm_hash(ctx->seed, stream, 1), &points);
    if (status == LIMN_OK)
        status = sample(ctx, model, svm, classes, n, lm_hash(ctx->seed, stream, 2), judge);
    if (status == LIMN_OK)
        status = join(ctx, *fit, points);
    limn_data_free(points);
    lm_free(&ctx->mem, classes);
    lm_free(&ctx->mem, values);
    return status;
}

/* The rows of test judge, if there are any. */
static limn_status copy_test(limn_context *ctx, const limn_data *test, limn_data **judge) {
    limn_data_free(*judge);
    *judge = NULL;
    return lm_race_copy(ctx, test, judge);
}

limn_status lm_race_rows_sample(limn_context *ctx, const limn_model *model, const limn_data *test,
                                double seconds, lm_race_rows *r) {
    const lm_svm *svm = lm_race_svm(model);
    limn_data *fit = NULL, *judge = NULL;
    if (!svm || !svm->n)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "%s: the model holds no support vectors to sample points around; give data "
                       "(--data FILE), with or without labels",
                       model->method->info.name);
    limn_status status = make_rows(ctx, model, svm, seconds, &fit, &judge);
    if (status == LIMN_OK && test)
        status = copy_test(ctx, test, &judge);
    if (status == LIMN_OK && test)
        status = lm_race_count_familiar(ctx, model, judge, &r->familiar);
    if (status != LIMN_OK) {
        limn_data_free(fit);
        limn_data_free(judge);
        return status;
    }
    status = lm_race_take(ctx, model, fit, judge, r);
    r->labelled = r->labelled && test;
    r->sampled = true;
    return status;
}
