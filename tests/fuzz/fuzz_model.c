/* fuzz_model.c: the model loader on hostile bytes: as they are, and with their checksums made
 * valid, so that the fuzzer gets past them. A model that loads must also answer, and learn and
 * forget if its method can, and then answer again and be saved. */
#include "model/model.h"
#include "reseal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Enough that methods answer them together. */
enum { ASKED = 20, NEIGHBORS = 3 };

static void answer(limn_context *ctx, const limn_model *model) {
    limn_predictor_options options = {.size = sizeof options, .threads = 1, .neighbors = NEIGHBORS};
    limn_predictor *p = NULL;
    size_t d = model->schema.features, k = model->schema.labels.count;
    if (d > 4096 || k > 4096 || limn_predictor_new(ctx, model, &options, &p) != LIMN_OK)
        return;
    float *x = calloc(ASKED * d, sizeof *x);
    double *proba = calloc(ASKED * (k + 3), sizeof *proba);
    int64_t rows[ASKED * NEIGHBORS];
    int32_t classes[ASKED];
    for (size_t i = 0; i < ASKED * d; i++)
        x[i] = (float)(i % 7) - 3;
    if (limn_predict(p, x, ASKED, classes) == LIMN_OK)
        for (int i = 0; i < ASKED; i++)
            if (classes[i] < -1 || (classes[i] >= 0 && (size_t)classes[i] >= k))
                abort(); /* -1: unknown */
    (void)limn_predict_proba(p, x, ASKED, proba);
    (void)limn_predict_values(p, x, ASKED, proba);
    if (model->method->scores && model->method->score_count(model->body) <= k + 3)
        (void)limn_predict_scores(p, x, ASKED, proba);
    (void)limn_search(p, x, ASKED, NEIGHBORS, rows, proba);
    limn_predictor_free(p);
    free(x);
    free(proba);
}

/* Scaled rows and back, as for a function that teaches. */
static void undo(limn_context *ctx, const limn_model *model) {
    const lm_scaler *s = &model->scaler;
    double *inverse = NULL;
    if (s->in > 4096 || lm_scaler_invert(ctx, s, &inverse) != LIMN_OK)
        return;
    float *scaled = calloc(2 * s->out, sizeof *scaled), *usual = calloc(s->in, sizeof *usual);
    float *x = calloc(2 * s->in, sizeof *x);
    scaled[0] = 2;
    (void)lm_scaler_undo(ctx, s, inverse, scaled, 2, usual, x);
    lm_free(&ctx->mem, inverse);
    free(scaled);
    free(usual);
    free(x);
}

/* Learns a few rows, some of a new class, then forgets one of these and one that was in the
 * file. */
static void learn(limn_context *ctx, limn_model *model) {
    enum { ROWS = 7 };
    size_t d = model->schema.features, size;
    bool classify = model->schema.task == LIMN_CLASSIFY;
    if (!model->method->online || d > 4096 || model->schema.labels.count > 4096)
        return;
    float *x = calloc(ROWS * d, sizeof *x);
    int32_t label[ROWS] = {0}, said[ROWS], fresh = 0;
    double target[ROWS] = {0}, value[ROWS];
    size_t learned = 0;
    if (classify && limn_model_add_class(ctx, model, "a class that is new", &fresh) != LIMN_OK)
        fresh = 0;
    for (size_t i = 0; i < ROWS * d; i++)
        x[i] = (float)((i * 5) % 11) - 4;
    for (size_t i = 0; i < ROWS; i++) {
        label[i] = i % 2 ? fresh : 0;
        target[i] = (double)i;
    }
    limn_lesson lesson = {.size = sizeof lesson,
                          .n = ROWS,
                          .x = x,
                          .classes = label,
                          .targets = target,
                          .answered_classes = classify ? said : NULL,
                          .answered_values = classify ? NULL : value};
    uint64_t rows = model->rows;
    (void)limn_learn(ctx, model, &lesson, &learned);
    if (model->rows - rows != learned)
        abort();
    for (size_t i = 0; classify && i < learned; i++)
        if (said[i] < -1 || said[i] >= (int32_t)model->schema.labels.count)
            abort();
    uint64_t ids[] = {rows + 1, rows / 2, UINT64_MAX, 0};
    (void)limn_forget(ctx, model, ids, 4, NULL);
    answer(ctx, model);
    (void)limn_compact(ctx, model);
    (void)limn_learn(ctx, model, &lesson, NULL);
    answer(ctx, model);
    (void)lm_model_measure(ctx, model, &size);
    free(x);
}

static void load(limn_context *ctx, const uint8_t *data, size_t size) {
    lm_file *file = NULL;
    limn_model *model = NULL;
    if (lm_file_from_memory(ctx, data, size, "fuzz", &file) != LIMN_OK)
        return;
    if (lm_model_load(ctx, file, &model) == LIMN_OK) {
        undo(ctx, model);
        answer(ctx, model);
        learn(ctx, model);
    }
    limn_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    options.threads = 1;
    options.memory_limit = (uint64_t)64 << 20;
    if (limn_context_new(&options, &ctx) != LIMN_OK)
        abort();
    load(ctx, data, size);
    uint8_t *sealed = malloc(size ? size : 1);
    if (size)
        memcpy(sealed, data, size);
    reseal(sealed, size);
    load(ctx, sealed, size);
    free(sealed);
    limn_context_free(ctx);
    return 0;
}
