/* rows.c: the rows of a race.
 *
 * With data, three fifths are fitted to and the rest judges (stratified, seeded), or all of it is
 * fitted to and other rows judge. New models see the columns and classes of the model given, so
 * rows whose class it does not know, or which have none, are given its answer to be fitted to.
 *
 * Without data, a support vector machine has its vectors, and points are sampled around and between
 * them (fit/pool.h). Vectors lie near the border, the points between two of one class lie inside.
 * Half of the points judge. */
#include "choose/race.h"

#include "data/split.h"
#include "fit/pool.h"
#include "svm/machine.h"

#include <string.h>

enum { FOLDS = 5, FITTED_FOLDS = 3, LEAST_ROWS = 20 };

const lm_svm *lm_race_svm(const limn_model *model) {
    const lm_machine *machine = model->method->machine ? model->method->machine(model->body) : NULL;
    return machine ? machine->svm : NULL;
}

void lm_race_rows_free(const limn_allocator *mem, lm_race_rows *r) {
    limn_data_free(r->fit);
    limn_data_free(r->judge);
    limn_data_free(r->wide);
    lm_free(mem, r->classes);
    lm_free(mem, r->values);
    *r = (lm_race_rows){.fit = NULL};
}

/* ---- what the model answers ---- */

enum { STEP = 4096 };

limn_status lm_race_answer(limn_context *ctx, const limn_model *model, const limn_data *data,
                           int32_t *classes, double *values) {
    size_t width = lm_schema_width(&data->schema);
    limn_predictor *predictor = NULL;
    limn_predictor_options options;
    limn_predictor_options_init(&options);
    options.threads = 0;
    limn_status status = limn_predictor_new(ctx, model, &options, &predictor);
    for (size_t i = 0; i < data->n && status == LIMN_OK; i += STEP) {
        lm_query query = {.x = data->x + i * width,
                          .n = data->n - i < STEP ? data->n - i : STEP,
                          .width = width,
                          .kind = classes ? LM_ASK_CLASSES : LM_ASK_VALUES,
                          .out = classes ? (void *)(classes + i) : (void *)(values + i)};
        status = lm_predictor_run(predictor, &query);
        if (status == LIMN_OK)
            status = lm_progress(ctx, "asking the model", i + query.n, data->n,
                                 (double)(i + query.n) / (double)data->n);
    }
    limn_predictor_free(predictor);
    return status;
}

/* All answers, in *classes or *values, to be freed. */
static limn_status answers_of(limn_context *ctx, const limn_model *model, const limn_data *data,
                              int32_t **classes, double **values) {
    bool regress = model->schema.task == LIMN_REGRESS;
    if (regress)
        *values = lm_alloc(&ctx->mem, data->n, sizeof **values);
    else
        *classes = lm_alloc(&ctx->mem, data->n, sizeof **classes);
    if (!*values && !*classes)
        return lm_fail_memory(ctx);
    return lm_race_answer(ctx, model, data, *classes, *values);
}

/* ---- rows of data ---- */

/* Gives the rows labels that the model knows: its own answers where there are no others. */
static limn_status complete(limn_context *ctx, const limn_model *model, limn_data *data,
                            const int32_t *classes, const double *values) {
    int32_t known = (int32_t)model->schema.labels.count;
    if (values && !data->target) {
        data->target = lm_alloc(&data->mem, data->n, sizeof *data->target);
        if (!data->target)
            return lm_fail_memory(ctx);
        memcpy(data->target, values, data->n * sizeof *values);
    }
    if (classes && !data->label) {
        data->label = lm_alloc(&data->mem, data->n, sizeof *data->label);
        if (!data->label)
            return lm_fail_memory(ctx);
        memcpy(data->label, classes, data->n * sizeof *classes);
    }
    for (size_t i = 0; classes && i < data->n; i++)
        if (data->label[i] >= known)
            data->label[i] = classes[i];
    data->schema.task = model->schema.task;
    lm_labels_free(&data->schema.labels);
    return classes ? lm_labels_copy(ctx, &model->schema.labels, &data->schema.labels) : LIMN_OK;
}

static limn_status copy_whole(limn_context *ctx, const limn_data *data, limn_data **out) {
    size_t *all = lm_alloc(&ctx->mem, data->n, sizeof *all);
    for (size_t i = 0; all && i < data->n; i++)
        all[i] = i;
    limn_status status = all ? lm_data_take(ctx, data, all, data->n, out) : lm_fail_memory(ctx);
    lm_free(&ctx->mem, all);
    return status;
}

/* A copy without weights and without the hidden feature. */
static limn_status copy_narrow(limn_context *ctx, const limn_data *data, limn_data **out) {
    limn_status status = lm_data_narrow(ctx, data, out);
    if (status == LIMN_OK && !*out)
        status = copy_whole(ctx, data, out);
    if (status == LIMN_OK) {
        lm_free(&(*out)->mem, (*out)->weight);
        (*out)->weight = NULL;
    }
    return status;
}

static limn_status make_fit(limn_context *ctx, const limn_model *model, const limn_data *data,
                            lm_race_rows *r) {
    int32_t *classes = NULL;
    double *values = NULL;
    limn_status status = answers_of(ctx, model, data, &classes, &values);
    if (status == LIMN_OK)
        status = copy_narrow(ctx, data, &r->fit);
    if (status == LIMN_OK)
        status = complete(ctx, model, r->fit, classes, values);
    lm_free(&ctx->mem, classes);
    lm_free(&ctx->mem, values);
    return status;
}

static limn_status make_judge(limn_context *ctx, const limn_model *model, const limn_data *data,
                              lm_race_rows *r) {
    limn_status status = copy_narrow(ctx, data, &r->judge);
    if (status == LIMN_OK && data->schema.beyond)
        status = copy_whole(ctx, data, &r->wide);
    r->labelled = model->schema.task == LIMN_REGRESS ? data->target != NULL : data->label != NULL;
    return status == LIMN_OK ? answers_of(ctx, model, data, &r->classes, &r->values) : status;
}

/* The rows of the folds below (or not below) FITTED_FOLDS. */
static limn_status take_folds(limn_context *ctx, const limn_data *data, const uint32_t *fold,
                              bool fitted, limn_data **out) {
    size_t count = 0, *rows = lm_alloc(&ctx->mem, data->n, sizeof *rows);
    if (!rows)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < data->n; i++)
        if ((fold[i] < FITTED_FOLDS) == fitted)
            rows[count++] = i;
    limn_status status = lm_data_take(ctx, data, rows, count, out);
    lm_free(&ctx->mem, rows);
    return status;
}

static limn_status split(limn_context *ctx, const limn_model *model, const limn_data *data,
                         lm_race_rows *r) {
    limn_data *first = NULL, *second = NULL;
    uint32_t *fold = lm_alloc(&ctx->mem, data->n, sizeof *fold);
    limn_status status = fold ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_split_folds(ctx, data->label, data->n, FOLDS, ctx->seed, fold);
    if (status == LIMN_OK)
        status = take_folds(ctx, data, fold, true, &first);
    if (status == LIMN_OK)
        status = take_folds(ctx, data, fold, false, &second);
    if (status == LIMN_OK)
        status = make_fit(ctx, model, first, r);
    if (status == LIMN_OK)
        status = make_judge(ctx, model, second, r);
    limn_data_free(first);
    limn_data_free(second);
    lm_free(&ctx->mem, fold);
    return status;
}

static limn_status count_familiar(limn_context *ctx, const limn_model *model, const limn_data *data,
                                  lm_race_rows *r) {
    const lm_svm *svm = lm_race_svm(model);
    size_t cells, width = lm_schema_width(&data->schema), d = model->scaler.out;
    if (!svm)
        return LIMN_OK;
    if (model->scaler.kind == LIMN_SCALE_NONE)
        return lm_race_familiar(ctx, svm, data->x, width, data->n, &r->found);
    float *scaled = lm_mul(data->n, d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *scaled) : NULL;
    if (!scaled)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < data->n; i++)
        lm_scaler_apply(&model->scaler, data->x + i * width, 1, scaled + i * d);
    limn_status status = lm_race_familiar(ctx, svm, scaled, d, data->n, &r->found);
    lm_free(&ctx->mem, scaled);
    return status;
}

/* ---- without data ---- */

enum { POINTS_PER_VECTOR = 20, POINTS_LEAST = 4000, POINTS_MOST = 40000, CELLS_MOST = 1 << 25 };

static size_t count_points(const lm_svm *svm) {
    size_t points =
        svm->n > POINTS_MOST / POINTS_PER_VECTOR ? POINTS_MOST : svm->n * POINTS_PER_VECTOR;
    size_t most = CELLS_MOST / (svm->d + 1) + 1;
    points = points < POINTS_LEAST ? POINTS_LEAST : points;
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
    if (usual && data->x) {
        data->n = n;
        lm_scaler_undo(&model->scaler, scaled, n, usual, data->x);
    }
    lm_free(&ctx->mem, usual);
    return data->n ? LIMN_OK : lm_fail_memory(ctx);
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

static limn_status make_sampled(limn_context *ctx, const limn_model *model, const lm_svm *svm,
                                const limn_data *test, lm_race_rows *r) {
    limn_data *fit = NULL, *points = NULL, *judge = NULL;
    int32_t *classes = NULL;
    double *values = NULL;
    uint64_t stream = lm_stream_of("accelerate");
    size_t n = count_points(svm) / 2;
    limn_status status = data_of(ctx, model, svm->sv, svm->n, &fit);
    if (status == LIMN_OK)
        status = answers_of(ctx, model, fit, &classes, &values);
    if (status == LIMN_OK)
        status = sample(ctx, model, svm, classes, n, lm_hash(ctx->seed, stream, 1), &points);
    if (status == LIMN_OK)
        status = sample(ctx, model, svm, classes, n, lm_hash(ctx->seed, stream, 2), &judge);
    if (status == LIMN_OK)
        status = join(ctx, fit, points);
    if (status == LIMN_OK)
        status = make_fit(ctx, model, fit, r);
    if (status == LIMN_OK)
        status = make_judge(ctx, model, test ? test : judge, r);
    if (status == LIMN_OK && test)
        status = count_familiar(ctx, model, test, r);
    r->labelled = r->labelled && test;
    r->sampled = true;
    limn_data_free(fit);
    limn_data_free(points);
    limn_data_free(judge);
    lm_free(&ctx->mem, classes);
    lm_free(&ctx->mem, values);
    return status;
}

/* ---- all ---- */

limn_status lm_race_rows_make(limn_context *ctx, const limn_model *model, const limn_data *data,
                              const limn_data *test, lm_race_rows *r) {
    *r = (lm_race_rows){.fit = NULL};
    const lm_svm *svm = lm_race_svm(model);
    if (!data && (!svm || !svm->n))
        return lm_fail(ctx, LIMN_E_USAGE,
                       "%s: the model holds no support vectors to sample points around; give data "
                       "(--data FILE), with or without labels",
                       model->method->info.name);
    if (!data)
        return make_sampled(ctx, model, svm, test, r);
    if (data->n < LEAST_ROWS || (test && test->n == 0))
        return lm_fail(ctx, LIMN_E_DATA,
                       "%zu row%s are too few to fit and to judge by; give at least %d, or none: "
                       "then points around the support vectors serve",
                       data->n, data->n == 1 ? "" : "s", LEAST_ROWS);
    limn_status status = test ? make_fit(ctx, model, data, r) : split(ctx, model, data, r);
    if (status == LIMN_OK && test)
        status = make_judge(ctx, model, test, r);
    return status == LIMN_OK ? count_familiar(ctx, model, test ? test : data, r) : status;
}
