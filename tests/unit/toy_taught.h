/* toy_taught.h: a method that is drawn from a teacher: it keeps what the teacher says about each
 * training row and answers a query as the teacher answered the nearest of them. It records what it
 * was told about the teacher, and names candidates to race. */
#ifndef LIMN_TESTS_TOY_TAUGHT_H
#define LIMN_TESTS_TOY_TAUGHT_H

#include "base/argmax.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

typedef struct taught {
    lm_teacher teacher; /* a copy: it must not be asked any more */
    limn_task task;
    size_t n, d, classes;
    float *x;
    double *said; /* n x teacher.width */
} taught;

static inline void taught_destroy(const limn_allocator *mem, void *model) {
    taught *t = model;
    if (!t)
        return;
    lm_free(mem, t->x);
    lm_free(mem, t->said);
    lm_free(mem, t);
}

static inline limn_status taught_fill(limn_context *ctx, const lm_train_set *set, taught *t) {
    const lm_teacher *teacher = set->teacher;
    size_t cells, answers;
    if (!teacher)
        return lm_fail(ctx, LIMN_E_USAGE, "taught: a teacher is needed");
    t->teacher = *teacher;
    if (teacher->d != set->d || !lm_mul(set->n, set->d, &cells) ||
        !lm_mul(set->n, teacher->width, &answers))
        return lm_fail(ctx, LIMN_E_USAGE, "taught: rows of %zu, a teacher of %zu", set->d,
                       teacher->d);
    t->x = lm_alloc(&ctx->mem, cells, sizeof *t->x);
    t->said = lm_alloc(&ctx->mem, answers, sizeof *t->said);
    if (!t->x || !t->said)
        return lm_fail_memory(ctx);
    memcpy(t->x, set->x, cells * sizeof *t->x);
    return teacher->answer(teacher, ctx, t->x, t->n, t->said);
}

static inline limn_status taught_train(limn_context *ctx, const lm_train_set *set,
                                       const lm_params *params, void **model) {
    taught *t = lm_alloc_zero(&ctx->mem, 1, sizeof *t);
    (void)params;
    if (!t)
        return lm_fail_memory(ctx);
    t->task = set->task;
    t->n = set->n;
    t->d = set->d;
    t->classes = set->classes;
    limn_status status = taught_fill(ctx, set, t);
    if (status != LIMN_OK)
        taught_destroy(&ctx->mem, t);
    else
        *model = t;
    return status;
}

static inline const double *taught_nearest(const taught *t, const float *x) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < t->n; i++) {
        double sum = 0;
        for (size_t j = 0; j < t->d; j++)
            sum += ((double)x[j] - t->x[i * t->d + j]) * ((double)x[j] - t->x[i * t->d + j]);
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    return t->said + best * t->teacher.width;
}

/* By votes of the pairs, the largest probability or the smallest distance. */
static inline int32_t taught_class(const taught *t, const double *said) {
    int32_t votes[32] = {0};
    double nearness[32];
    if (t->teacher.kind == LM_TEACHES_PROBA)
        return (int32_t)lm_argmax(said, t->classes);
    for (size_t i = 0; i < t->classes; i++) {
        nearness[i] = -said[i];
        for (size_t j = i + 1; j < t->classes && t->teacher.kind == LM_TEACHES_PAIRS; j++)
            votes[*said++ > 0 ? i : j]++;
    }
    return (int32_t)(t->teacher.kind == LM_TEACHES_PAIRS ? lm_argmax_int(votes, t->classes)
                                                         : lm_argmax(nearness, t->classes));
}

static inline void taught_predict(const void *model, const float *x, size_t n, int32_t *classes,
                                  void *scratch) {
    const taught *t = model;
    (void)scratch;
    for (size_t i = 0; i < n; i++)
        classes[i] = taught_class(t, taught_nearest(t, x + i * t->d));
}

static inline void taught_values(const void *model, const float *x, size_t n, double *values,
                                 void *scratch) {
    const taught *t = model;
    (void)scratch;
    for (size_t i = 0; i < n; i++)
        values[i] = *taught_nearest(t, x + i * t->d);
}

static inline limn_status taught_save(limn_context *ctx, const void *model, lm_writer *writer) {
    const taught *t = model;
    (void)ctx;
    return lm_writer_section(writer, "taught.said", 1, t->said,
                             t->n * t->teacher.width * sizeof *t->said);
}

static inline void taught_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)model, (void)rows, (void)neighbors;
    (void)lm_take(at, 1, 1);
}

static inline void taught_stats(const void *model, lm_stats *stats) {
    const taught *t = model;
    *stats = (lm_stats){.touched = {(double)t->n, (double)(t->n * t->d) * sizeof(float)}};
}

static inline bool taught_candidate(const lm_shape *of, size_t index, lm_candidate *out) {
    static const char *const params[] = {"", "size=3", "size=9 fast=yes"};
    if (index >= LM_COUNT(params))
        return false;
    *out = (lm_candidate){.params = params[index],
                          .needs = index == 2 ? LM_NEEDS_MACHINE : LM_NEEDS_TEACHER,
                          .cost = (double)of->rows * (double)of->d};
    return true;
}

static const limn_param taught_params[] = {
    {.key = "size", .type = LIMN_PARAM_INT, .default_value = "5", .min = 1, .max = 100},
    {.key = "fast", .type = LIMN_PARAM_CHOICE, .default_value = "no", .choices = "no|yes"}};

static const lm_method taught_method = {.info = {.name = "taught",
                                                 .summary = "repeats its teacher",
                                                 .default_scale = LIMN_SCALE_ZSCORE,
                                                 .params = taught_params,
                                                 .param_count = LM_COUNT(taught_params)},
                                        .can = LIMN_CAN_CLASSIFY | LIMN_CAN_REGRESS |
                                               LIMN_CAN_BE_TAUGHT,
                                        .brief = "size=1",
                                        .train = taught_train,
                                        .destroy = taught_destroy,
                                        .save = taught_save,
                                        .scratch = taught_scratch,
                                        .predict = taught_predict,
                                        .values = taught_values,
                                        .stats = taught_stats,
                                        .candidate = taught_candidate};

#endif
