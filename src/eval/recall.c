/* recall.c: how many of the true nearest rows a search finds.
 *
 * The truth is an exact scan (method knn) of the rows that the model holds, in the model's own
 * scaled space and metric. An answer counts when it is no farther than the k-th true neighbour, so
 * that ties, which a method may break in its own way, cost nothing. */
#include "eval/evaluate.h"

#include <stdio.h>

enum { STEP_ROWS = 256 };

/* The exact scan, over a copy of the model's rows. */
typedef struct scan {
    const lm_method *knn;
    void *body;
    void *scratch;
    float *scaled;   /* STEP_ROWS queries */
    int64_t *rows;   /* STEP_ROWS x k */
    double *nearest; /* STEP_ROWS x k */
    size_t k;
} scan;

static void scan_free(const limn_allocator *mem, scan *s) {
    if (s->body)
        s->knn->destroy(mem, s->body);
    lm_free_aligned(mem, s->scratch);
    lm_free(mem, s->scaled);
    lm_free(mem, s->rows);
    lm_free(mem, s->nearest);
}

static limn_status train_scan(limn_context *ctx, const limn_model *model, scan *s) {
    lm_params params;
    lm_train_set set = {.task = LIMN_SEARCH, .n = (size_t)model->rows, .d = model->scaler.out};
    size_t cells;
    char metric[LM_PARAM_TEXT + 8];
    s->knn = lm_method_find("knn");
    lm_params_init(s->knn->info.name, s->knn->info.params, s->knn->info.param_count, &params);
    float *x = lm_mul(set.n, set.d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *x) : NULL;
    if (!x)
        return lm_fail_memory(ctx);
    limn_status status = LIMN_OK;
    if (lm_param_exists(&model->params, "metric")) {
        snprintf(metric, sizeof metric, "metric=%s", lm_param_text(&model->params, "metric"));
        status = lm_params_set(ctx, &params, metric);
    }
    model->method->stored(model->body, 0, set.n, x);
    set.x = x;
    if (status == LIMN_OK)
        status = s->knn->train(ctx, &set, &params, &s->body);
    lm_free(&ctx->mem, x);
    return status;
}

static limn_status prepare(limn_context *ctx, const limn_model *model, scan *s) {
    size_t bytes, answers;
    limn_status status = train_scan(ctx, model, s);
    if (status != LIMN_OK)
        return status;
    if (s->knn->scratch_size(s->body, STEP_ROWS, s->k, &bytes) &&
        lm_mul(STEP_ROWS, s->k, &answers)) {
        s->scratch = lm_alloc_aligned(&ctx->mem, bytes, 1);
        s->scaled = lm_alloc(&ctx->mem, STEP_ROWS * sizeof *s->scaled, model->scaler.out);
        s->rows = lm_alloc(&ctx->mem, answers, sizeof *s->rows);
        s->nearest = lm_alloc(&ctx->mem, answers, sizeof *s->nearest);
    }
    return s->scratch && s->scaled && s->rows && s->nearest ? LIMN_OK : lm_fail_memory(ctx);
}

/* Of n queries, how many of their k answers are among the nearest. */
static size_t count_right(const scan *s, const double *distances, size_t n) {
    size_t right = 0;
    for (size_t q = 0; q < n; q++) {
        double bound = s->nearest[q * s->k + s->k - 1];
        for (size_t i = 0; i < s->k; i++)
            right += distances[q * s->k + i] <= bound;
    }
    return right;
}

limn_status lm_recall(limn_context *ctx, const limn_model *model, const limn_data *data, size_t k,
                      const double *distances, double *recall) {
    scan s = {.k = k};
    double right = 0;
    limn_status status = prepare(ctx, model, &s);
    for (size_t first = 0; first < data->n && status == LIMN_OK; first += STEP_ROWS) {
        size_t n = data->n - first < STEP_ROWS ? data->n - first : STEP_ROWS;
        const float *x = data->x + first * data->schema.features;
        lm_scaler_apply(&model->scaler, x, n, s.scaled);
        s.knn->search(s.body, s.scaled, n, k, s.rows, s.nearest, s.scratch);
        right += (double)count_right(&s, distances + first * k, n);
        status = lm_progress(ctx, "measuring recall", first + n, data->n, -1);
    }
    *recall = right / ((double)data->n * (double)k);
    scan_free(&ctx->mem, &s);
    return status;
}
