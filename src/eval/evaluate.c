/* evaluate.c: runs a model over data and gathers every figure that applies. */
#include "eval/evaluate.h"

#include "base/sized.h"
#include "base/work.h"

#include "eval/metrics.h"

#include <math.h>
#include <string.h>

enum {
    STEP_ROWS = 4096,   /* most rows between two looks at the progress callback */
    MOST_CLASSES = 8192 /* a confusion matrix of half a gigabyte */
};

#define BATCH_SECONDS 0.3 /* shorter runs are repeated, the best counts */

typedef struct run {
    limn_context *ctx;
    const limn_model *model;
    const limn_data *data;
    limn_predictor *batch, *single;
    int32_t *classes;
    double *values;
    int64_t *found; /* search: n x k */
    double *distances;
    size_t k;
} run;

void limn_eval_options_init(limn_eval_options *options) {
    LM_SIZED_INIT(options);
    options->measure_speed = 1;
    options->latency_seconds = 2;
    options->threads = 1;
    options->neighbors = 10;
}

void limn_evaluation_init(limn_evaluation *evaluation) {
    LM_SIZED_INIT(evaluation);
}

void limn_evaluation_free(limn_evaluation *evaluation) {
    if (evaluation && evaluation->confusion) {
        lm_free(&evaluation->allocator, evaluation->confusion);
        evaluation->confusion = NULL;
    }
}

/* A query of rows first .. first+n-1. */
static lm_query rows_of(const run *r, size_t first, size_t n) {
    size_t width = lm_schema_width(&r->data->schema);
    return (lm_query){.x = r->data->x + first * width, .n = n, .width = width};
}

static limn_status answer_rows(run *r, limn_predictor *predictor, size_t first, size_t n) {
    lm_query query = rows_of(r, first, n);
    if (r->classes) {
        query.kind = LM_ASK_CLASSES;
        query.out = r->classes + first;
    } else if (r->values) {
        query.kind = LM_ASK_VALUES;
        query.out = r->values + first;
    } else {
        query.kind = LM_ASK_NEIGHBORS;
        query.out = r->found + first * r->k;
        query.distances = r->distances + first * r->k;
        query.k = r->k;
    }
    return lm_predictor_run(predictor, &query);
}

static limn_status single_call(void *user, size_t row) {
    run *r = user;
    return answer_rows(r, r->single, row, 1);
}

/* Fewer where a query is expensive, so that an interrupt takes effect within a second or so. */
static size_t step_rows(const run *r) {
    double fit = 2e9 / (1 + r->model->stats.touched.bytes);
    return fit >= STEP_ROWS ? STEP_ROWS : fit <= LM_BATCH ? LM_BATCH : (size_t)fit;
}

static limn_status tell(run *r, const char *stage, size_t done) {
    size_t n = r->data->n;
    return lm_progress(r->ctx, stage, done, n, (double)done / (double)n);
}

static limn_status answer_all(run *r, double *seconds) {
    double start = lm_clock();
    size_t n = r->data->n, step = step_rows(r);
    for (size_t first = 0; first < n; first += step) {
        size_t count = n - first < step ? n - first : step;
        limn_status status = answer_rows(r, r->batch, first, count);
        if (status == LIMN_OK)
            status = tell(r, "predicting", first + count);
        if (status != LIMN_OK)
            return status;
    }
    *seconds = lm_clock() - start;
    return LIMN_OK;
}

static limn_status measure_speed(run *r, const limn_eval_options *options, double first_pass,
                                 limn_evaluation *out) {
    double best = first_pass, total = first_pass;
    limn_status status = LIMN_OK;
    while (total < BATCH_SECONDS && status == LIMN_OK) {
        double seconds = 0;
        status = answer_all(r, &seconds);
        best = seconds < best ? seconds : best;
        total += seconds > 1e-6 ? seconds : 1e-6;
    }
    lm_timing timing = {(double)NAN, (double)NAN, (double)NAN, 0};
    if (status == LIMN_OK)
        status = lm_latency(r->ctx, r->data->n, options->latency_seconds, single_call, r, &timing);
    out->batch_rows_per_s = (double)r->data->n / (best > 1e-9 ? best : 1e-9);
    out->latency_us_mean = timing.mean_us;
    out->latency_us_p50 = timing.p50_us;
    out->latency_us_p99 = timing.p99_us;
    out->latency_rows = timing.rows;
    return status;
}

static limn_status judge_proba(run *r, limn_evaluation *out) {
    const limn_data *data = r->data;
    size_t classes = r->model->schema.labels.count;
    size_t step = step_rows(r);
    limn_status status = LIMN_OK;
    lm_proba_sums sums = {0};
    double *p = lm_alloc(&r->ctx->mem, step * sizeof *p, classes);
    if (!p)
        return lm_fail_memory(r->ctx);
    for (size_t first = 0; first < data->n && status == LIMN_OK; first += step) {
        size_t n = data->n - first < step ? data->n - first : step;
        lm_query query = rows_of(r, first, n);
        query.kind = LM_ASK_PROBA;
        query.out = p;
        status = lm_predictor_run(r->batch, &query);
        if (status != LIMN_OK)
            break;
        lm_proba_add(&sums, data->label + first, p, n, classes);
        status = tell(r, "judging probabilities", first + n);
    }
    out->log_loss = lm_log_loss(&sums);
    out->brier = lm_brier(&sums);
    out->ece = lm_ece(&sums);
    lm_free(&r->ctx->mem, p);
    return status;
}

/* Rejected rows get the number of the class "unknown", which comes after the others if the data
 * has none. Returns the number of classes, this one included. */
static size_t number_unknown(run *r) {
    const lm_labels *labels = &r->data->schema.labels;
    size_t k = labels->count, unknown = 0, rejected = 0;
    while (unknown < k && strcmp(labels->names[unknown], LIMN_UNKNOWN) != 0)
        unknown++;
    for (size_t i = 0; i < r->data->n; i++)
        if (r->classes[i] < 0) {
            r->classes[i] = (int32_t)unknown;
            rejected++;
        }
    return rejected && unknown == k ? k + 1 : k;
}

static limn_status judge_classes(run *r, limn_evaluation *out) {
    const limn_data *data = r->data;
    size_t k = number_unknown(r), cells;
    if (!lm_mul(k, k, &cells) ||
        !(out->confusion = lm_alloc(&r->ctx->mem, cells, sizeof *out->confusion)))
        return lm_fail_memory(r->ctx);
    out->classes = k;
    lm_confusion(data->label, r->classes, data->n, k, out->confusion);
    out->accuracy = lm_accuracy(out->confusion, k);
    out->error = 1 - out->accuracy;
    out->balanced_accuracy = lm_balanced_accuracy(out->confusion, k);
    out->uncertainty_coefficient = lm_uncertainty_coefficient(out->confusion, k);
    return lm_model_capabilities(r->model) & LIMN_CAN_PROBA ? judge_proba(r, out) : LIMN_OK;
}

static void judge_values(run *r, limn_evaluation *out) {
    const limn_data *data = r->data;
    if (r->model->schema.task == LIMN_DENSITY) {
        out->mean_log_density = lm_mean(r->values, data->n);
        return;
    }
    out->mae = lm_mae(data->target, r->values, data->n);
    out->rmse = lm_rmse(data->target, r->values, data->n);
    out->r2 = lm_r2(data->target, r->values, data->n);
}

/* What a query touches, on average over these rows. */
static limn_status count_touched(run *r, limn_evaluation *out) {
    lm_touched sums[LM_THREADS_MAX] = {{0, 0}}, all = {0, 0};
    size_t n = r->data->n, step = step_rows(r);
    lm_stats stats;
    limn_status status = LIMN_OK;
    lm_model_figures(r->model, &stats, NULL);
    out->touched_vectors = stats.touched.vectors;
    out->touched_bytes = stats.touched.bytes;
    if (!r->model->method->touched)
        return LIMN_OK;
    for (size_t first = 0; first < n && status == LIMN_OK; first += step) {
        lm_query query = rows_of(r, first, n - first < step ? n - first : step);
        query.kind = LM_ASK_TOUCHED;
        query.out = sums;
        status = lm_predictor_run(r->batch, &query);
        if (status == LIMN_OK)
            status = tell(r, "counting", first + query.n);
    }
    for (size_t t = 0; t < LM_COUNT(sums); t++) {
        all.vectors += sums[t].vectors;
        all.bytes += sums[t].bytes;
    }
    out->touched_vectors = all.vectors / (double)n;
    out->touched_bytes = all.bytes / (double)n;
    return status;
}

static limn_status judge_search(run *r, limn_evaluation *out) {
    out->k = r->k;
    return lm_recall(r->ctx, r->model, r->data, r->k, r->distances, &out->recall_at_k);
}

static bool is_matched(const limn_model *model, const limn_data *data) {
    const lm_labels *known = &model->schema.labels, *own = &data->schema.labels;
    bool same = data->schema.features == model->schema.features && own->count >= known->count;
    for (size_t c = 0; c < known->count && same; c++)
        same = strcmp(known->names[c], own->names[c]) == 0;
    return same;
}

static limn_status check(limn_context *ctx, const limn_model *model, const limn_data *data) {
    limn_task task = model->schema.task;
    if (task == LIMN_SEARCH && !model->method->searching->stored)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED, "%s holds no rows to measure its recall by",
                       model->method->info.name);
    if (data->n == 0)
        return lm_fail(ctx, LIMN_E_DATA, "there are no rows to judge the model by");
    if (((task == LIMN_CLASSIFY || task == LIMN_OUTLIER) && !data->label) ||
        (task == LIMN_REGRESS && !data->target))
        return lm_fail(ctx, LIMN_E_DATA,
                       "the data has no labels to judge the answers by; name the label column");
    if (!is_matched(model, data))
        return lm_fail(ctx, LIMN_E_USAGE, "the data was not matched to the model");
    size_t k = data->schema.labels.count;
    if (k > MOST_CLASSES)
        return lm_fail(ctx, LIMN_E_DATA,
                       "%zu different labels, %zu of them unknown to the model, are too many to "
                       "judge; check the label column",
                       k, k - model->schema.labels.count);
    return LIMN_OK;
}

static limn_status prepare(run *r, const limn_eval_options *options) {
    limn_task task = r->model->schema.task;
    if (task == LIMN_SEARCH) {
        size_t k = options->neighbors ? options->neighbors : 1;
        r->k = k < r->model->rows ? k : (size_t)r->model->rows;
    }
    limn_predictor_options many, one;
    limn_predictor_options_init(&many);
    many.threads = options->threads;
    many.neighbors = r->k;
    limn_predictor_options_init(&one);
    one.neighbors = r->k;
    size_t n = r->data->n, cells;
    limn_status status = limn_predictor_new(r->ctx, r->model, &many, &r->batch);
    if (status == LIMN_OK)
        status = limn_predictor_new(r->ctx, r->model, &one, &r->single);
    if (status != LIMN_OK)
        return status;
    if (task == LIMN_CLASSIFY || task == LIMN_OUTLIER) {
        r->classes = lm_alloc(&r->ctx->mem, n, sizeof *r->classes);
    } else if (task == LIMN_SEARCH && lm_mul(n, r->k, &cells)) {
        r->found = lm_alloc(&r->ctx->mem, cells, sizeof *r->found);
        r->distances = lm_alloc(&r->ctx->mem, cells, sizeof *r->distances);
    } else if (task != LIMN_SEARCH) {
        r->values = lm_alloc(&r->ctx->mem, n, sizeof *r->values);
    }
    return r->classes || r->values || (r->found && r->distances) ? LIMN_OK : lm_fail_memory(r->ctx);
}

static limn_evaluation no_figures(limn_context *ctx, size_t n) {
    double none = (double)NAN;
    return (limn_evaluation){.n = n,
                             .accuracy = none,
                             .error = none,
                             .balanced_accuracy = none,
                             .uncertainty_coefficient = none,
                             .log_loss = none,
                             .brier = none,
                             .ece = none,
                             .mae = none,
                             .rmse = none,
                             .r2 = none,
                             .recall_at_k = none,
                             .latency_us_mean = none,
                             .latency_us_p50 = none,
                             .latency_us_p99 = none,
                             .batch_rows_per_s = none,
                             .touched_vectors = none,
                             .touched_bytes = none,
                             .allocator = ctx->mem,
                             .mean_log_density = none};
}

static limn_status judge(run *r, const limn_eval_options *options, limn_evaluation *out) {
    double seconds = 0;
    limn_status status = prepare(r, options);
    if (status == LIMN_OK)
        status = answer_all(r, &seconds);
    if (status == LIMN_OK && r->classes)
        status = judge_classes(r, out);
    else if (status == LIMN_OK && r->found)
        status = judge_search(r, out);
    else if (status == LIMN_OK)
        judge_values(r, out);
    if (status == LIMN_OK)
        status = count_touched(r, out);
    if (status == LIMN_OK && options->measure_speed)
        status = measure_speed(r, options, seconds, out);
    return status;
}

limn_status limn_evaluate(limn_context *context, const limn_model *model, const limn_data *data,
                          const limn_eval_options *options, limn_evaluation *out) {
    limn_eval_options own;
    limn_eval_options_init(&own);
    run r = {.ctx = context, .model = model, .data = data};
    limn_evaluation result = no_figures(context, data->n);
    limn_status status = lm_options_take(context, "eval_options", options, &own, sizeof own);
    if (status == LIMN_OK)
        status = lm_result_check(context, "evaluation", out);
    if (status == LIMN_OK)
        status = check(context, model, data);
    if (status == LIMN_OK)
        status = judge(&r, &own, &result);
    limn_predictor_free(r.batch);
    limn_predictor_free(r.single);
    lm_free(&context->mem, r.classes);
    lm_free(&context->mem, r.values);
    lm_free(&context->mem, r.found);
    lm_free(&context->mem, r.distances);
    if (status != LIMN_OK)
        limn_evaluation_free(&result);
    else
        lm_sized_give(&result, out, sizeof result);
    return status;
}
