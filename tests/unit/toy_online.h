/* toy_online.h: a simple online method: it keeps every row and answers by the nearest one (ties
 * go to the newest). It reports progress before each row, so that a callback can stop it between
 * any two, and allocates memory for each row. */
#ifndef LIMN_TESTS_TOY_ONLINE_H
#define LIMN_TESTS_TOY_ONLINE_H

#include "model/model.h"

#include <math.h>
#include <string.h>

typedef struct toy_row {
    uint64_t id;
    int32_t label;
    double target;
    float *x;
} toy_row;

typedef struct toy {
    size_t d, classes, count, compacted;
    toy_row *rows;
    uint64_t seed; /* from the last lesson */
} toy;

static inline const toy_row *toy_nearest(const toy *t, const float *x) {
    const toy_row *best = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < t->count; i++) {
        double sum = 0;
        for (size_t j = 0; j < t->d; j++)
            sum += ((double)x[j] - t->rows[i].x[j]) * ((double)x[j] - t->rows[i].x[j]);
        if (sum <= least) {
            least = sum;
            best = &t->rows[i];
        }
    }
    return best;
}

static inline limn_status toy_append(limn_context *ctx, toy *t, const lm_lesson *l, size_t i) {
    toy_row *rows = lm_resize(&ctx->mem, t->rows, t->count + 1, sizeof *rows);
    if (!rows)
        return lm_fail_memory(ctx);
    t->rows = rows;
    float *x = lm_alloc(&ctx->mem, t->d, sizeof *x);
    if (!x)
        return lm_fail_memory(ctx);
    memcpy(x, l->x + i * t->d, t->d * sizeof *x);
    t->rows[t->count++] = (toy_row){.id = l->first + i,
                                    .label = l->label ? l->label[i] : -1,
                                    .target = l->target ? l->target[i] : NAN,
                                    .x = x};
    return LIMN_OK;
}

static inline limn_status toy_learn(limn_context *ctx, void *model, const lm_lesson *l,
                                    size_t *learned) {
    toy *t = model;
    limn_status status = LIMN_OK;
    t->seed = ctx->seed;
    for (*learned = 0; *learned < l->n; ++*learned) {
        const toy_row *nearest = toy_nearest(t, l->x + *learned * t->d);
        if (l->answer_class)
            l->answer_class[*learned] = nearest ? nearest->label : -1;
        if (l->answer_value)
            l->answer_value[*learned] = nearest ? nearest->target : NAN;
        status = lm_progress(ctx, "learning", l->first + *learned, 0, -1);
        if (status == LIMN_OK)
            status = toy_append(ctx, t, l, *learned);
        if (status != LIMN_OK)
            return status;
    }
    return LIMN_OK;
}

static inline limn_status toy_widen(limn_context *ctx, void *model, size_t classes) {
    toy *t = model;
    void *proof = lm_alloc(&ctx->mem, classes, 1); /* so that allocations can fail */
    if (!proof)
        return lm_fail_memory(ctx);
    lm_free(&ctx->mem, proof);
    t->classes = classes;
    return LIMN_OK;
}

static inline limn_status toy_forget(limn_context *ctx, void *model, const uint64_t *ids,
                                     size_t count, uint64_t *forgotten) {
    toy *t = model;
    *forgotten = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < t->count; r++)
            if (t->rows[r].id == ids[i]) {
                lm_free(&ctx->mem, t->rows[r].x);
                memmove(t->rows + r, t->rows + r + 1, (t->count - r - 1) * sizeof *t->rows);
                t->count--;
                ++*forgotten;
                break;
            }
    return LIMN_OK;
}

static inline limn_status toy_compact(limn_context *ctx, void *model) {
    (void)ctx;
    ((toy *)model)->compacted++;
    return LIMN_OK;
}

static inline void toy_destroy(const limn_allocator *mem, void *model) {
    toy *t = model;
    for (size_t i = 0; i < t->count; i++)
        lm_free(mem, t->rows[i].x);
    lm_free(mem, t->rows);
    lm_free(mem, t);
}

static inline limn_status toy_save(limn_context *ctx, const void *model, lm_writer *writer) {
    const toy *t = model;
    (void)ctx;
    return lm_writer_section(writer, "toy.rows", 1, t->rows, t->count * sizeof *t->rows);
}

/* More than it needs, and growing with every row. */
static inline unsigned char *toy_lay_out(const toy *t, size_t rows, lm_cursor *at) {
    return lm_take_cells(at, rows, t->count + 1, 64);
}

static inline void toy_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)neighbors;
    (void)toy_lay_out(model, rows, at);
}

static inline void toy_predict(const void *model, const float *x, size_t n, int32_t *classes,
                               void *scratch) {
    const toy *t = model;
    lm_cursor at = lm_cursor_at(scratch);
    memset(toy_lay_out(t, n, &at), 1, n * 64 * (t->count + 1));
    for (size_t i = 0; i < n; i++)
        classes[i] = toy_nearest(t, x + i * t->d)->label;
}

static inline void toy_values(const void *model, const float *x, size_t n, double *values,
                              void *scratch) {
    const toy *t = model;
    (void)scratch;
    for (size_t i = 0; i < n; i++)
        values[i] = toy_nearest(t, x + i * t->d)->target;
}

static inline void toy_stats(const void *model, lm_stats *stats) {
    const toy *t = model;
    *stats = (lm_stats){.touched = {(double)t->count, 0}, .count = 1};
    stats->list[0].name = "kept";
    stats->list[0].value = (double)t->count;
}

static const lm_online toy_online = {
    .learn = toy_learn, .widen = toy_widen, .forget = toy_forget, .compact = toy_compact};

static const lm_method toy_method = {
    .info = {.name = "toy", .summary = "keeps every row", .default_scale = LIMN_SCALE_NONE},
    .can = LIMN_CAN_CLASSIFY | LIMN_CAN_REGRESS,
    .destroy = toy_destroy,
    .save = toy_save,
    .scratch = toy_scratch,
    .predict = toy_predict,
    .values = toy_values,
    .stats = toy_stats,
    .online = &toy_online};

/* A model that has learned nothing: d features, the classes "a", "b" (classify), scaled as the
 * rows of x are. NULL if an allocation fails. */
static inline limn_model *toy_model(limn_context *ctx, limn_task task, size_t d, limn_scale scale,
                                    const float *x, size_t n, uint64_t seed) {
    limn_model *model = NULL;
    int32_t id;
    toy *body;
    if (lm_model_new(ctx, &toy_method, &model) != LIMN_OK)
        return NULL;
    model->seed = seed;
    model->schema.task = task;
    model->schema.columns = model->schema.features = d;
    model->written_by = lm_strdup(&ctx->mem, "test");
    model->body = body = lm_alloc_zero(&ctx->mem, 1, sizeof *body);
    bool ok = model->written_by && body &&
              lm_scaler_fit(ctx, scale, true, &(lm_scaler_rows){.x = x, .n = n, .d = d},
                            &model->scaler) == LIMN_OK;
    if (ok && task == LIMN_CLASSIFY)
        ok = lm_labels_add(ctx, &model->schema.labels, "a", 1, &id) == LIMN_OK &&
             lm_labels_add(ctx, &model->schema.labels, "b", 1, &id) == LIMN_OK;
    if (ok) {
        body->d = model->scaler.out;
        body->classes = model->schema.labels.count;
        return model;
    }
    limn_model_free(model);
    return NULL;
}

#endif
