/* recall.c: how many of the true nearest rows a search finds.
 *
 * The true neighbours come from the exact scan of num/nearest over the rows stored in the model, in
 * the model's own scaled space and metric. An answer counts if it is no farther than the k-th true
 * neighbour, so a method may break ties in its own way. */
#include "eval/evaluate.h"
#include "num/nearest.h"

#include <math.h>
#include <string.h>

enum { STEP_ROWS = 256 };

/* The exact scan, over a copy of the model's rows. */
typedef struct scan {
    lm_nearest_set set;
    float *norms;
    void *scratch;
    float *scaled; /* STEP_ROWS queries */
    void *spare;   /* the scratch of scaling */
} scan;

static void scan_free(const limn_allocator *mem, scan *s) {
    lm_pack_free(mem, &s->set.pack);
    lm_free(mem, s->norms);
    lm_free_aligned(mem, s->scratch);
    lm_free(mem, s->scaled);
    lm_free_aligned(mem, s->spare);
}

/* The model's metric; l2 if it has no such parameter. */
static limn_status find_metric(limn_context *ctx, const limn_model *model, scan *s) {
    static const char *const names[] = {"l2", "l1", "cosine"}; /* as lm_nearest_metric */
    const char *own =
        lm_param_exists(&model->params, "metric") ? lm_param_text(&model->params, "metric") : "l2";
    for (size_t i = 0; i < LM_COUNT(names); i++)
        if (strcmp(names[i], own) == 0) {
            s->set.metric = (lm_nearest_metric)i;
            return LIMN_OK;
        }
    return lm_fail(ctx, LIMN_E_UNSUPPORTED, "recall cannot be measured with metric=%s", own);
}

static limn_status copy_rows(limn_context *ctx, const limn_model *model, scan *s) {
    size_t n = (size_t)model->rows, d = model->scaler.out, cells;
    float *x = lm_mul(n, d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *x) : NULL;
    if (!x)
        return lm_fail_memory(ctx);
    model->method->searching->stored(model->body, 0, n, x);
    limn_status status = lm_pack_build(ctx, x, n, d, d, &s->set.pack);
    lm_free(&ctx->mem, x);
    return status;
}

static limn_status prepare(limn_context *ctx, const limn_model *model, size_t k, scan *s) {
    size_t bytes;
    limn_status status = find_metric(ctx, model, s);
    if (status == LIMN_OK)
        status = copy_rows(ctx, model, s);
    if (status != LIMN_OK)
        return status;
    s->norms = lm_alloc(&ctx->mem, s->set.pack.n, sizeof *s->norms);
    s->scaled = lm_alloc(&ctx->mem, STEP_ROWS * sizeof *s->scaled, model->scaler.out);
    if (lm_nearest_scratch(STEP_ROWS, k, &bytes))
        s->scratch = lm_alloc_aligned(&ctx->mem, bytes, 1);
    if (!s->norms || !s->scaled || !s->scratch)
        return lm_fail_memory(ctx);
    lm_pack_norms(&s->set.pack, s->norms);
    s->set.norms = s->norms;
    lm_nearest_prepare(&s->set);
    return lm_scaler_spare(ctx, &model->scaler, &s->spare);
}

/* How many of the k answers to a query are among the nearest. */
static size_t count_right(const scan *s, const lm_nearest_found *near, const double *distances,
                          size_t k) {
    double key = near->items[near->count - 1].key;
    double bound = s->set.metric == LM_NEAREST_L2 ? sqrt(key) : key;
    size_t right = 0;
    for (size_t i = 0; i < k; i++)
        right += distances[i] <= bound;
    return right;
}

/* Counts the hits for n scaled queries. */
static size_t count_all(const scan *s, const float *x, size_t n, const double *distances,
                        size_t k) {
    const lm_nearest_found *near;
    size_t right = 0;
    for (size_t done = 0, some; done < n; done += some) {
        some = lm_nearest_many(&s->set, x + done * s->set.pack.d, n - done, k, s->scratch, &near);
        for (size_t q = 0; q < some; q++)
            right += count_right(s, &near[q], distances + (done + q) * k, k);
    }
    return right;
}

limn_status lm_recall(limn_context *ctx, const limn_model *model, const limn_data *data, size_t k,
                      const double *distances, double *recall) {
    scan s = {.norms = NULL};
    double right = 0;
    limn_status status = prepare(ctx, model, k, &s);
    for (size_t first = 0; first < data->n && status == LIMN_OK; first += STEP_ROWS) {
        size_t n = data->n - first < STEP_ROWS ? data->n - first : STEP_ROWS;
        lm_scaler_apply(&model->scaler, data->x + first * data->schema.features, n, s.scaled,
                        s.spare);
        right += (double)count_all(&s, s.scaled, n, distances + first * k, k);
        status = lm_progress(ctx, "measuring recall", first + n, data->n, -1);
    }
    *recall = right / ((double)data->n * (double)k);
    scan_free(&ctx->mem, &s);
    return status;
}
