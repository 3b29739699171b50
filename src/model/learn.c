/* learn.c: showing rows to an online model, and removing them again.
 *
 * A lesson is checked completely before any of it is learned. Rows that need scaling go to the
 * method in pieces, so that memory does not depend on the length of the lesson. The method always
 * works with the model's own memory functions and training seed, whatever context the call uses:
 * the model does not depend on who taught it. */
#include "base/sized.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20 };

void limn_lesson_init(limn_lesson *lesson) {
    LM_SIZED_INIT(lesson);
}

/* The context passed to the method. */
static limn_context own_context(const limn_context *ctx, const limn_model *model) {
    limn_context own = *ctx;
    own.mem = model->mem;
    own.seed = model->seed;
    return own;
}

static limn_status tell(limn_context *ctx, const limn_context *own, limn_status status) {
    memcpy(ctx->error, own->error, sizeof ctx->error);
    return status;
}

void lm_model_figures(const limn_model *model, lm_stats *stats, size_t *bytes) {
    if (bytes)
        *bytes = model->bytes;
    *stats = model->stats;
    if (!model->changes)
        return;
    memset(stats, 0, sizeof *stats);
    model->method->stats(model->body, stats);
    limn_context own = {.mem = model->mem, .threads = 1, .memory_limit = UINT64_MAX};
    if (bytes && lm_model_measure(&own, model, bytes) != LIMN_OK)
        *bytes = 0;
}

/* ---- learning ---- */

static limn_status check_learner(limn_context *ctx, const limn_model *model) {
    if (model->method->online)
        return LIMN_OK;
    return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                   "%s cannot learn row by row: train it again on all rows, or see 'limn methods' "
                   "for methods that can learn",
                   model->method->info.name);
}

static limn_status check_labels(limn_context *ctx, const limn_model *model, const limn_lesson *l) {
    limn_task task = model->schema.task;
    size_t classes = model->schema.labels.count;
    if ((task == LIMN_CLASSIFY && !l->classes) || (task == LIMN_REGRESS && !l->targets))
        return lm_fail(ctx, LIMN_E_DATA,
                       "the rows have no labels to learn; name the label column (--label) or, "
                       "for an array, its file of labels (--label-file)");
    for (size_t i = 0; task == LIMN_CLASSIFY && i < l->n; i++)
        if (l->classes[i] < 0 || (size_t)l->classes[i] >= classes)
            return lm_fail(ctx, LIMN_E_DATA,
                           "row %zu: class %ld is not one of the model's %zu; add a new class "
                           "first (limn_model_add_class)",
                           i + 1, (long)l->classes[i], classes);
    for (size_t i = 0; task == LIMN_REGRESS && i < l->n; i++)
        if (!isfinite(l->targets[i]))
            return lm_fail(ctx, LIMN_E_DATA, "row %zu: the target is not a finite number", i + 1);
    return LIMN_OK;
}

static limn_status check_lesson(limn_context *ctx, const limn_model *model, const limn_lesson *l) {
    limn_status status = check_learner(ctx, model);
    if (status == LIMN_OK && l->n > (uint64_t)INT64_MAX - model->rows)
        status = lm_fail(ctx, LIMN_E_USAGE,
                         "the model has seen the largest number of rows that can be counted");
    if (status == LIMN_OK && l->n)
        status = check_labels(ctx, model, l);
    if (status == LIMN_OK)
        status = lm_check_finite(ctx, &model->schema, l->x, l->n, model->schema.features);
    return status;
}

/* Rows done .. done+n-1 of the lesson; x: the same rows, scaled. */
static limn_status learn_piece(limn_context *own, limn_model *model, const limn_lesson *l,
                               size_t done, size_t n, const float *x, size_t *learned) {
    bool classify = model->schema.task == LIMN_CLASSIFY,
         regress = model->schema.task == LIMN_REGRESS;
    lm_lesson piece = {.first = model->rows, .n = n, .x = x};
    if (classify) {
        piece.label = l->classes + done;
        piece.answer_class = l->answered_classes ? l->answered_classes + done : NULL;
    }
    if (regress) {
        piece.target = l->targets + done;
        piece.answer_value = l->answered_values ? l->answered_values + done : NULL;
    }
    *learned = 0;
    limn_status status = model->method->online->learn(own, model->body, &piece, learned);
    model->rows += *learned;
    model->learned += *learned;
    return status;
}

static limn_status learn_scaled(limn_context *own, limn_model *model, const limn_lesson *l,
                                size_t *learned) {
    size_t d = model->schema.features, out = model->scaler.out;
    size_t most = PIECE_BYTES / sizeof(float) / out;
    most = most < 1 ? 1 : most;
    most = most < l->n ? most : l->n;
    void *spare = NULL;
    float *scaled = lm_alloc(&own->mem, most, out * sizeof *scaled);
    limn_status status =
        scaled ? lm_scaler_spare(own, &model->scaler, &spare) : lm_fail_memory(own);
    while (status == LIMN_OK && *learned < l->n) {
        size_t n = l->n - *learned < most ? l->n - *learned : most, done = 0;
        lm_scaler_apply(&model->scaler, l->x + *learned * d, n, scaled, spare);
        status = learn_piece(own, model, l, *learned, n, scaled, &done);
        *learned += done;
    }
    lm_free(&own->mem, scaled);
    lm_free_aligned(&own->mem, spare);
    return status;
}

limn_status limn_learn(limn_context *context, limn_model *model, const limn_lesson *lesson,
                       size_t *learned) {
    size_t done = 0;
    limn_lesson l;
    limn_lesson_init(&l);
    limn_context own = own_context(context, model);
    limn_status status = lm_options_take(&own, "lesson", lesson, &l, sizeof l);
    if (status == LIMN_OK)
        status = check_lesson(&own, model, &l);
    if (status == LIMN_OK && l.n) {
        model->changes++;
        if (lm_scaler_is_none(&model->scaler))
            status = learn_piece(&own, model, &l, 0, l.n, l.x, &done);
        else
            status = learn_scaled(&own, model, &l, &done);
    }
    if (learned)
        *learned = done;
    return tell(context, &own, status);
}

/* ---- classes ---- */

static limn_status add_class(limn_context *own, limn_model *model, const char *name,
                             int32_t *index) {
    lm_labels *labels = &model->schema.labels;
    size_t before = labels->count;
    int32_t id = 0;
    limn_status status = lm_labels_add(own, labels, name, strlen(name), &id);
    if (status == LIMN_OK && labels->count > before) {
        model->changes++;
        status = model->method->online->widen(own, model->body, labels->count);
        if (status != LIMN_OK)
            lm_labels_pop(labels);
    }
    if (status == LIMN_OK)
        *index = id;
    return status;
}

limn_status limn_model_add_class(limn_context *context, limn_model *model, const char *name,
                                 int32_t *index) {
    limn_context own = own_context(context, model);
    limn_status status = check_learner(&own, model);
    if (status == LIMN_OK && model->schema.task != LIMN_CLASSIFY)
        status = lm_fail(&own, LIMN_E_USAGE, "a model trained for the task %s has no classes",
                         limn_task_name(model->schema.task));
    if (status == LIMN_OK && (!name || !*name))
        status = lm_fail(&own, LIMN_E_USAGE, "the name of a class is empty");
    if (status == LIMN_OK)
        status = add_class(&own, model, name, index);
    return tell(context, &own, status);
}

/* ---- forgetting ---- */

static limn_status check_forget(limn_context *ctx, const limn_model *model) {
    if (model->method->online && model->method->online->forget)
        return LIMN_OK;
    return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                   "%s cannot forget rows: train it again without them, or see 'limn methods' for "
                   "methods that can forget",
                   model->method->info.name);
}

limn_status limn_forget(limn_context *context, limn_model *model, const uint64_t *ids, size_t count,
                        uint64_t *forgotten) {
    uint64_t gone = 0;
    limn_context own = own_context(context, model);
    limn_status status = check_forget(&own, model);
    if (status == LIMN_OK && count) {
        model->changes++;
        status = model->method->online->forget(&own, model->body, ids, count, &gone);
    }
    if (forgotten)
        *forgotten = gone;
    return tell(context, &own, status);
}

limn_status limn_compact(limn_context *context, limn_model *model) {
    limn_context own = own_context(context, model);
    limn_status status = check_forget(&own, model);
    if (status == LIMN_OK) {
        model->changes++;
        status = model->method->online->compact(&own, model->body);
    }
    return tell(context, &own, status);
}
