/* bforest_world.h: rows of many kinds, and forests trained on them, for the tests of bforest. */
#ifndef LIMN_TESTS_BFOREST_WORLD_H
#define LIMN_TESTS_BFOREST_WORLD_H

#include "methods/bforest/bforest.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const lm_method lm_method_bforest;

/* Settings of all kinds. */
static const char *const usual[] = {"trees=8 warmup=60",
                                    "trees=11 warmup=500",
                                    "style=paper trees=6",
                                    "trees=5 warmup=20 max_points=40",
                                    "trees=4 warmup=30 metric=cosine rho=0.5",
                                    "trees=3 warmup=30 metric=l1 children=0",
                                    "trees=5 warmup=40 store=all"};

/* ---- rows and models ---- */

typedef struct rows {
    limn_task task;
    size_t n, d, classes;
    float *x;
    int32_t *label;
    double *target;
} rows;

typedef enum kind { GRID, NORMAL, NOISE } kind;

/* GRID: whole numbers, many equal rows and distances, some labels changed at random. NOISE: the
 * same with random labels. */
static inline rows draw_rows(limn_task task, kind of, size_t n, size_t d, size_t classes,
                             uint64_t side, uint64_t seed) {
    rows r = {.task = task, .n = n, .d = d, .classes = task == LIMN_CLASSIFY ? classes : 0};
    lm_rng rng = lm_rng_at(seed, 91, (uint64_t)of);
    r.x = malloc(n * d * sizeof *r.x);
    r.label = malloc(n * sizeof *r.label);
    r.target = malloc(n * sizeof *r.target);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < d; j++) {
            double v = of == NORMAL ? lm_rng_normal(&rng) : (double)lm_rng_below(&rng, side);
            r.x[i * d + j] = (float)v;
            sum += v;
        }
        bool wrong = of == NOISE || lm_rng_below(&rng, 8) == 0;
        r.label[i] = (int32_t)(wrong ? lm_rng_below(&rng, classes)
                                     : (uint64_t)fabs(sum) % (uint64_t)classes);
        r.target[i] = wrong ? lm_rng_normal(&rng) * 3 : sum;
    }
    return r;
}

static inline void free_rows(rows *r) {
    free(r->x);
    free(r->label);
    free(r->target);
}

/* Parameters from "key=value key=value ...". Rows are learned in the order given unless the text
 * says otherwise. */
static inline void set_params(limn_context *ctx, const char *text, lm_params *params) {
    const limn_method_info *info = &lm_method_bforest.info;
    char one[64];
    int length;
    lm_params_init(info->name, info->params, info->param_count, params);
    assert_int_equal(lm_params_set(ctx, params, "order=file"), LIMN_OK);
    for (; sscanf(text, "%63s%n", one, &length) == 1; text += length)
        if (lm_params_set(ctx, params, one) != LIMN_OK)
            fail_msg("%s", limn_error(ctx));
}

static inline limn_status try_train(limn_context *ctx, const rows *r, size_t n, const char *text,
                                    bf_model **model) {
    lm_params params;
    void *made = NULL;
    set_params(ctx, text, &params);
    lm_train_set set = {.task = r->task,
                        .n = n,
                        .d = r->d,
                        .classes = r->classes,
                        .x = r->x,
                        .label = r->task == LIMN_CLASSIFY ? r->label : NULL,
                        .target = r->task == LIMN_REGRESS ? r->target : NULL};
    limn_status status = bf_train(ctx, &set, &params, &made);
    *model = made;
    return status;
}

static inline bf_model *train(limn_context *ctx, const rows *r, size_t n, const char *text) {
    bf_model *model = NULL;
    if (try_train(ctx, r, n, text, &model) != LIMN_OK)
        fail_msg("%s: %s", text, limn_error(ctx));
    return model;
}

static inline lm_lesson lesson_of(const rows *r, size_t first, size_t n) {
    return (lm_lesson){.first = first,
                       .n = n,
                       .x = r->x + first * r->d,
                       .label = r->task == LIMN_CLASSIFY ? r->label + first : NULL,
                       .target = r->task == LIMN_REGRESS ? r->target + first : NULL};
}

static inline void learn(limn_context *ctx, bf_model *m, const rows *r, size_t first, size_t n) {
    lm_lesson lesson = lesson_of(r, first, n);
    size_t learned = 0;
    assert_int_equal(bf_learn(ctx, m, &lesson, &learned), LIMN_OK);
    assert_int_equal(learned, n);
}

/* The model as the bytes of its file. */
static inline unsigned char *bytes_of(limn_context *ctx, const bf_model *m, size_t *size) {
    lm_writer *writer = NULL;
    unsigned char *bytes = NULL;
    assert_int_equal(lm_writer_new(ctx, &writer), LIMN_OK);
    assert_int_equal(bf_save(ctx, m, writer), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &bytes, size), LIMN_OK);
    lm_writer_free(writer);
    return bytes;
}

static inline void assert_same_bytes(limn_context *ctx, const bf_model *a, const bf_model *b) {
    size_t a_size, b_size;
    unsigned char *a_bytes = bytes_of(ctx, a, &a_size), *b_bytes = bytes_of(ctx, b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a_bytes, b_bytes, a_size);
    lm_free(&ctx->mem, a_bytes);
    lm_free(&ctx->mem, b_bytes);
}

static inline limn_status try_load(limn_context *ctx, const unsigned char *bytes, size_t size,
                                   const rows *r, uint64_t seen, const char *text, lm_file **file,
                                   bf_model **model) {
    lm_params params;
    void *loaded = NULL;
    *model = NULL;
    set_params(ctx, text, &params);
    limn_status status = lm_file_from_memory(ctx, bytes, size, "test.limn", file);
    lm_shape about = {.task = r->task, .d = r->d, .classes = r->classes, .rows = seen};
    if (status == LIMN_OK)
        status = bf_load(ctx, *file, &about, &params, &loaded);
    *model = loaded;
    return status;
}

/* The model from its file; free file after it. */
static inline bf_model *reload(limn_context *ctx, const bf_model *m, const rows *r,
                               const char *text, lm_file **file) {
    size_t size;
    unsigned char *bytes = bytes_of(ctx, m, &size);
    bf_model *loaded = NULL;
    if (try_load(ctx, bytes, size, r, m->seen, text, file, &loaded) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    lm_free(&ctx->mem, bytes);
    return loaded;
}

static inline void *scratch_for(limn_context *ctx, const bf_model *m) {
    lm_cursor at = lm_cursor_at(NULL);
    bf_scratch(m, 1, 0, &at);
    return lm_alloc_measured(&ctx->mem, &at);
}

static inline int32_t class_of(const bf_model *m, const float *x, void *scratch) {
    int32_t class;
    bf_predict(m, x, 1, &class, scratch);
    return class;
}

static inline double value_of(const bf_model *m, const float *x, void *scratch) {
    double value;
    bf_values(m, x, 1, &value, scratch);
    return value;
}

#endif
