/* toy_density.h: a density method: a Gaussian with its own mean and variance in each feature, both
 * fitted to the rows. Shifting and stretching features does the same to the fitted Gaussian, so the
 * log density per unit of the data is the same whatever the scaling. Features that do not vary are
 * left out, and the density is 0 beyond TOY_REACH standard deviations in any feature. */
#ifndef LIMN_TESTS_TOY_DENSITY_H
#define LIMN_TESTS_TOY_DENSITY_H

#include "model/model.h"

#include <math.h>

#define TOY_REACH 30.0

typedef struct bell {
    size_t d;
    double *mean, *sd; /* one block */
} bell;

static inline void bell_destroy(const limn_allocator *mem, void *model) {
    bell *b = model;
    lm_free(mem, b->mean);
    lm_free(mem, b);
}

static inline void bell_fit(const lm_train_set *set, bell *b) {
    for (size_t j = 0; j < b->d; j++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < set->n; i++)
            sum += set->x[i * b->d + j];
        b->mean[j] = sum / (double)set->n;
        for (size_t i = 0; i < set->n; i++) {
            double off = set->x[i * b->d + j] - b->mean[j];
            squares += off * off;
        }
        b->sd[j] = sqrt(squares / (double)set->n);
    }
}

static inline limn_status bell_train(limn_context *ctx, const lm_train_set *set,
                                     const lm_params *params, void **model) {
    bell *b = lm_alloc_zero(&ctx->mem, 1, sizeof *b);
    (void)params;
    if (!b)
        return lm_fail_memory(ctx);
    b->d = set->d;
    b->mean = lm_alloc(&ctx->mem, set->d, 2 * sizeof *b->mean);
    if (!b->mean) {
        bell_destroy(&ctx->mem, b);
        return lm_fail_memory(ctx);
    }
    b->sd = b->mean + b->d;
    bell_fit(set, b);
    *model = b;
    return LIMN_OK;
}

static inline double bell_log_density(const bell *b, const float *x) {
    double sum = 0;
    for (size_t j = 0; j < b->d; j++) {
        double z = b->sd[j] > 0 ? (x[j] - b->mean[j]) / b->sd[j] : 0;
        if (fabs(z) > TOY_REACH)
            return -(double)INFINITY;
        if (b->sd[j] > 0)
            sum -= 0.5 * z * z + log(b->sd[j]) + 0.5 * log(2 * acos(-1.0));
    }
    return sum;
}

static inline void bell_values(const void *model, const float *x, size_t n, double *values,
                               void *scratch) {
    const bell *b = model;
    (void)scratch;
    for (size_t i = 0; i < n; i++)
        values[i] = bell_log_density(b, x + i * b->d);
}

/* A method may have these for other tasks; a density model must not be asked for them. */
static inline size_t bell_score_count(const void *model) {
    (void)model;
    return 1;
}

static inline void bell_scores(const void *model, const float *x, size_t n, double *scores,
                               void *scratch) {
    bell_values(model, x, n, scores, scratch);
}

static inline void bell_predict(const void *model, const float *x, size_t n, int32_t *classes,
                                void *scratch) {
    (void)model, (void)x, (void)scratch;
    for (size_t i = 0; i < n; i++)
        classes[i] = 0;
}

static inline limn_status bell_save(limn_context *ctx, const void *model, lm_writer *writer) {
    const bell *b = model;
    (void)ctx;
    return lm_writer_section(writer, "bell.moments", 1, b->mean, 2 * b->d * sizeof *b->mean);
}

static inline void bell_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)model, (void)rows, (void)neighbors;
    (void)lm_take(at, 1, 1);
}

static inline void bell_stats(const void *model, lm_stats *stats) {
    const bell *b = model;
    *stats = (lm_stats){.touched = {2, 2 * (double)b->d * sizeof *b->mean}};
}

static const lm_method bell_method = {.info = {.name = "bell",
                                               .summary = "a Gaussian without correlations",
                                               .default_scale = LIMN_SCALE_ZSCORE},
                                      .can = LIMN_CAN_DENSITY | LIMN_CAN_CLASSIFY,
                                      .train = bell_train,
                                      .destroy = bell_destroy,
                                      .save = bell_save,
                                      .scratch = bell_scratch,
                                      .predict = bell_predict,
                                      .values = bell_values,
                                      .score_count = bell_score_count,
                                      .scores = bell_scores,
                                      .stats = bell_stats};

#endif
