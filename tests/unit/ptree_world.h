/* ptree_world.h: what the tests of perceptron trees share: rows, training through the method
 * itself, files, and answers. */
#ifndef LIMN_TESTS_PTREE_WORLD_H
#define LIMN_TESTS_PTREE_WORLD_H

#include "methods/ptree/ptree.h"
#include "model/model.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const lm_method lm_method_ptree;

/* ---- rows ---- */

typedef struct rows {
    size_t n, d, classes;
    float *x;
    int32_t *label;
} rows;

/* CURVED: a curved border, one label in twelve is changed. FAR: classes that lie apart. GRID: whole
 * numbers from 0 to 3, so that many rows and kernel values are equal; labels as for CURVED. NOISE:
 * labels that depend on nothing. POSITIVE: CURVED, with the sizes of all features. */
typedef enum kind { CURVED, FAR, GRID, NOISE, POSITIVE, KINDS } kind;

static inline size_t label_of(const float *x, size_t d, size_t classes) {
    double second = (double)x[d > 1 ? 1 : 0];
    return (size_t)floor(fabs((double)x[0] + second * second - 0.5) * 1.3) % classes;
}

static inline rows draw_rows(kind of, size_t n, size_t d, size_t classes, uint64_t seed) {
    rows r = {.n = n, .d = d, .classes = classes};
    lm_rng rng = lm_rng_at(seed, 191, (uint64_t)of);
    r.x = malloc((n + 1) * d * sizeof *r.x);
    r.label = malloc((n + 1) * sizeof *r.label);
    for (size_t i = 0; i < n; i++) {
        float *x = r.x + i * d;
        size_t any = (size_t)lm_rng_below(&rng, classes);
        for (size_t j = 0; j < d; j++) {
            double v = of == GRID ? (double)lm_rng_below(&rng, 4) : lm_rng_normal(&rng);
            x[j] = (float)(of == POSITIVE ? fabs(v) : v);
            if (of == FAR)
                x[j] = 0.5f * x[j] + (j == any % d ? 6.0f : 0) - (any >= d ? 6.0f : 0);
        }
        bool random = of == FAR || of == NOISE || lm_rng_below(&rng, 12) == 0;
        r.label[i] = (int32_t)(random ? any : label_of(x, d, classes));
    }
    return r;
}

static inline void free_rows(rows *r) {
    free(r->x);
    free(r->label);
}

/* ---- training ---- */

/* Parameters from "key=value key=value ...". */
static inline void set_params(limn_context *ctx, const char *text, lm_params *params) {
    const limn_method_info *info = &lm_method_ptree.info;
    char one[64];
    int length;
    lm_params_init(info->name, info->params, info->param_count, params);
    for (; sscanf(text, "%63s%n", one, &length) == 1; text += length)
        if (lm_params_set(ctx, params, one) != LIMN_OK)
            fail_msg("%s", limn_error(ctx));
}

static inline pt_options options_of(limn_context *ctx, const char *text) {
    static lm_params params;
    set_params(ctx, text, &params);
    return pt_options_of(&params);
}

static inline lm_train_set set_of(const rows *r, size_t n) {
    return (lm_train_set){.task = LIMN_CLASSIFY,
                          .n = n,
                          .d = r->d,
                          .classes = r->classes,
                          .x = r->x,
                          .label = r->label};
}

static inline pt_model *train_set(limn_context *ctx, const lm_train_set *set, const char *text) {
    static lm_params params;
    void *made = NULL;
    set_params(ctx, text, &params);
    if (pt_train(ctx, set, &params, &made) != LIMN_OK)
        fail_msg("%s: %s", text, limn_error(ctx));
    return made;
}

/* The first n rows. */
static inline pt_model *train(limn_context *ctx, const rows *r, size_t n, const char *text) {
    lm_train_set set = set_of(r, n);
    return train_set(ctx, &set, text);
}

/* A model that has learned nothing. */
static inline pt_model *new_model(limn_context *ctx, const char *text, size_t d, size_t classes) {
    pt_options o = options_of(ctx, text);
    pt_model *m = NULL;
    assert_int_equal(pt_new(ctx, &o, d, classes, &m), LIMN_OK);
    return m;
}

static inline void learn(limn_context *ctx, pt_model *m, const rows *r, size_t first, size_t n,
                         int32_t *answer) {
    size_t learned = 0;
    lm_lesson lesson = {.first = first,
                        .n = n,
                        .x = r->x + first * r->d,
                        .label = r->label + first,
                        .answer_class = answer};
    assert_int_equal(pt_learn(ctx, m, &lesson, &learned), LIMN_OK);
    assert_int_equal(learned, n);
}

/* ---- files ---- */

static inline unsigned char *bytes_of(limn_context *ctx, const pt_model *m, size_t *size) {
    lm_writer *writer = NULL;
    unsigned char *bytes = NULL;
    assert_int_equal(lm_writer_new(ctx, &writer), LIMN_OK);
    assert_int_equal(pt_save(ctx, m, writer), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &bytes, size), LIMN_OK);
    lm_writer_free(writer);
    return bytes;
}

static inline void assert_same_bytes(limn_context *ctx, const pt_model *a, const pt_model *b) {
    size_t a_size, b_size;
    unsigned char *a_bytes = bytes_of(ctx, a, &a_size), *b_bytes = bytes_of(ctx, b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a_bytes, b_bytes, a_size);
    lm_free(&ctx->mem, a_bytes);
    lm_free(&ctx->mem, b_bytes);
}

/* The model from its file; close the file after it. */
static inline pt_model *reload(limn_context *ctx, const pt_model *m, const char *text,
                               lm_file **file) {
    static lm_params params;
    size_t size;
    unsigned char *bytes = bytes_of(ctx, m, &size);
    void *loaded = NULL;
    lm_shape about = {.task = LIMN_CLASSIFY, .d = m->d, .classes = m->classes, .rows = m->seen};
    set_params(ctx, text, &params);
    limn_status status = lm_file_from_memory(ctx, bytes, size, "test.limn", file);
    if (status == LIMN_OK)
        status = pt_load(ctx, *file, &about, &params, &loaded);
    if (status != LIMN_OK)
        fail_msg("%s: %s", text, limn_error(ctx));
    lm_free(&ctx->mem, bytes);
    return loaded;
}

/* ---- answers ---- */

static inline void *scratch_for(limn_context *ctx, const pt_model *m) {
    lm_cursor at = lm_cursor_at(NULL);
    pt_scratch(m, 1, 0, &at);
    return lm_alloc_measured(&ctx->mem, &at);
}

static inline int32_t class_of(limn_context *ctx, const pt_model *m, const float *x) {
    void *scratch = scratch_for(ctx, m);
    int32_t class;
    pt_predict(m, x, 1, &class, scratch);
    lm_free_aligned(&ctx->mem, scratch);
    return class;
}

static inline void scores_of(limn_context *ctx, const pt_model *m, const float *x, double *scores) {
    void *scratch = scratch_for(ctx, m);
    pt_scores(m, x, 1, scores, scratch);
    lm_free_aligned(&ctx->mem, scratch);
}

/* The leaf of a row, as the library finds it. */
static inline size_t leaf_of(limn_context *ctx, const pt_model *m, const float *x) {
    float *padded = lm_alloc_aligned(&ctx->mem, m->stride + m->width, sizeof *padded);
    pt_take_row(m, x, padded);
    size_t leaf = pt_route(m, padded, padded + m->stride, NULL);
    lm_free_aligned(&ctx->mem, padded);
    return leaf;
}

#endif
