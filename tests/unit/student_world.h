/* student_world.h: what the tests of student share: rows, teachers in closed form that keep what
 * they were asked, and training through the method itself or through limn_train. */
#ifndef LIMN_TESTS_STUDENT_WORLD_H
#define LIMN_TESTS_STUDENT_WORLD_H

#include "methods/student/student.h"
#include "model/model.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const lm_method lm_method_student;

/* ---- rows ---- */

enum { CLASSES_MOST = 6, FEATURES_MOST = 8 };

/* How much class c is for x, whose features are about 1 in size. */
static inline double score_of(size_t c, const double *x, size_t d) {
    double sum = 0.3 * (double)(c % 2);
    for (size_t j = 0; j < d; j++)
        sum += cos(1.7 * (double)(c + 1) * (double)(j + 1)) * x[j] +
               0.5 * sin((double)(c + 2) * x[j] + (double)j);
    return 2 * sum;
}

/* Rows x = offset + scale * u of `classes` classes, or with values; u is drawn from a normal
 * distribution. */
typedef struct rows {
    size_t n, d, classes; /* classes 0: values */
    double offset[FEATURES_MOST], scale[FEATURES_MOST];
    float *x;
    int32_t *label;
    double *target;
} rows;

/* The scores of all classes for a row as it is, or its value. */
static inline void scores_of(const rows *r, const float *x, double *scores) {
    double u[FEATURES_MOST];
    for (size_t j = 0; j < r->d; j++)
        u[j] = ((double)x[j] - r->offset[j]) / r->scale[j];
    for (size_t c = 0; c < r->classes; c++)
        scores[c] = score_of(c, u, r->d);
    if (!r->classes)
        scores[0] = 5 + 3 * sin(u[0]) + u[r->d - 1];
}

static inline size_t best_of_scores(const double *scores, size_t n) {
    size_t best = 0;
    for (size_t c = 1; c < n; c++)
        best = scores[c] > scores[best] ? c : best;
    return best;
}

/* offset and scale are set before. */
static inline void rows_fill(rows *r, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 50, r->n);
    r->x = malloc(r->n * r->d * sizeof *r->x);
    r->label = malloc(r->n * sizeof *r->label);
    r->target = malloc(r->n * sizeof *r->target);
    for (size_t i = 0; i < r->n; i++) {
        double scores[CLASSES_MOST] = {0};
        for (size_t j = 0; j < r->d; j++)
            r->x[i * r->d + j] = (float)(r->offset[j] + r->scale[j] * lm_rng_normal(&rng));
        scores_of(r, r->x + i * r->d, scores);
        r->label[i] = (int32_t)best_of_scores(scores, r->classes ? r->classes : 1);
        if (i % 10 == 0 && r->classes) /* some labels are wrong */
            r->label[i] = (int32_t)(i / 10 % r->classes);
        r->target[i] = scores[0] + 0.1 * lm_rng_normal(&rng);
    }
}

static inline rows rows_make(size_t n, size_t d, size_t classes, uint64_t seed) {
    rows r = {.n = n, .d = d, .classes = classes};
    for (size_t j = 0; j < FEATURES_MOST; j++)
        r.scale[j] = 1;
    rows_fill(&r, seed);
    return r;
}

static inline void rows_free(rows *r) {
    free(r->x);
    free(r->label);
    free(r->target);
}

static inline limn_data *data_of(limn_context *ctx, const rows *r) {
    limn_data *data = NULL;
    double *y = malloc(r->n * sizeof *y);
    for (size_t i = 0; i < r->n; i++)
        y[i] = r->classes ? (double)r->label[i] : r->target[i];
    (void)limn_data_from_values(ctx, r->classes ? LIMN_CLASSIFY : LIMN_REGRESS, r->x, r->n, r->d, y,
                                &data);
    free(y);
    return data;
}

/* ---- a teacher that is known ---- */

typedef struct known {
    lm_teacher teacher;
    const rows *rows;
    size_t asked, room; /* what it was asked, in this order */
    float *x;
    double *answer;
} known;

static inline void known_answer_row(const known *k, const float *x, double *out) {
    size_t n = k->rows->classes, p = 0;
    double scores[CLASSES_MOST], sum = 0;
    scores_of(k->rows, x, scores);
    if (k->teacher.kind == LM_TEACHES_VALUE)
        out[0] = scores[0];
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && k->teacher.kind == LM_TEACHES_PAIRS; j++)
            out[p++] = scores[i] - scores[j];
    for (size_t c = 0; c < n; c++)
        sum += exp(scores[c]);
    for (size_t c = 0; c < n && k->teacher.kind == LM_TEACHES_PROBA; c++)
        out[c] = exp(scores[c]) / sum;
    for (size_t c = 0; c < n && k->teacher.kind == LM_TEACHES_DISTANCE; c++)
        out[c] = 1e3 * exp(-scores[c] / 4);
}

static inline limn_status known_answer(const lm_teacher *teacher, limn_context *ctx, const float *x,
                                       size_t n, double *out) {
    known *k = teacher->user;
    size_t d = teacher->d, width = teacher->width;
    (void)ctx;
    if (k->asked + n > k->room) {
        k->room = 2 * (k->asked + n);
        k->x = realloc(k->x, k->room * d * sizeof *k->x);
        k->answer = realloc(k->answer, k->room * width * sizeof *k->answer);
    }
    memcpy(k->x + k->asked * d, x, n * d * sizeof *x);
    for (size_t i = 0; i < n; i++)
        known_answer_row(k, x + i * d, out + i * width);
    memcpy(k->answer + k->asked * width, out, n * width * sizeof *out);
    k->asked += n;
    return LIMN_OK;
}

/* To be made where it stays. */
static inline void known_make(known *k, const rows *r, unsigned kind) {
    size_t c = r->classes;
    *k = (known){.rows = r};
    k->teacher.task = c ? LIMN_CLASSIFY : LIMN_REGRESS;
    k->teacher.d = r->d;
    k->teacher.classes = c;
    k->teacher.kind = kind;
    k->teacher.width = kind == LM_TEACHES_PAIRS ? c * (c - 1) / 2 : c ? c : 1;
    k->teacher.answer = known_answer;
    k->teacher.user = k;
}

static inline void known_free(known *k) {
    free(k->x);
    free(k->answer);
}

static inline lm_train_set set_of(const rows *r, const lm_teacher *teacher) {
    return (lm_train_set){.task = r->classes ? LIMN_CLASSIFY : LIMN_REGRESS,
                          .n = r->n,
                          .d = r->d,
                          .classes = r->classes,
                          .x = r->x,
                          .label = r->classes ? r->label : NULL,
                          .target = r->classes ? NULL : r->target,
                          .teacher = teacher};
}

/* As st_train takes them from parameters. */
static inline st_options options_with(const limn_context *ctx, const char *size) {
    st_options o = {.max_loss = -1, .stream = lm_stream_of("student")};
    o.nets = st_size_parse(size, o.size);
    o.seed = lm_hash(ctx->seed, o.stream, 100);
    return o;
}

static inline void params_of(limn_context *ctx, const char *text, lm_params *params) {
    const limn_method_info *info = &lm_method_student.info;
    param_list list = {.count = 0};
    add_params(&list, text);
    lm_params_init(info->name, info->params, info->param_count, params);
    for (size_t i = 0; i < list.count; i++)
        assert_int_equal(lm_params_set(ctx, params, list.list[i]), LIMN_OK);
}

/* ---- training ---- */

/* The method alone, on rows as they are. */
static inline st_model *taught(limn_context *ctx, const rows *r, const lm_teacher *teacher,
                               const char *text) {
    lm_train_set set = set_of(r, teacher);
    static lm_params params;
    void *model = NULL;
    params_of(ctx, text, &params);
    if (st_train(ctx, &set, &params, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return model;
}

typedef struct asking {
    const char *params; /* "key=value key=value" */
    const char *teacher_method, *teacher_params;
    const limn_model *teacher;
    limn_teach *teach;
    void *user;
    limn_scale scale;
} asking;

static inline limn_status try_student(limn_context *ctx, const limn_data *data, const asking *a,
                                      limn_model **model) {
    limn_train_options options;
    param_list own = {.count = 0}, theirs = {.count = 0};
    limn_train_options_init(&options);
    add_params(&own, a->params);
    add_params(&theirs, a->teacher_params);
    options.method = "student";
    options.params = own.list;
    options.param_count = own.count;
    options.teacher_method = a->teacher_method;
    options.teacher_params = theirs.list;
    options.teacher_param_count = theirs.count;
    options.teacher = a->teacher;
    options.teach = a->teach;
    options.teach_user = a->user;
    options.scale = a->scale;
    *model = NULL;
    return limn_train(ctx, data, &options, model);
}

static inline limn_model *must(limn_context *ctx, const limn_data *data, const asking *a) {
    limn_model *model = NULL;
    if (try_student(ctx, data, a, &model) != LIMN_OK)
        fail_msg("%s: %s", a->params, limn_error(ctx));
    return model;
}

/* ---- asking a model's networks ---- */

static inline void *scratch_of(limn_context *ctx, const st_model *m) {
    lm_cursor at = lm_cursor_at(NULL);
    st_scratch(m, LM_BATCH, 0, &at);
    return lm_alloc_measured(&ctx->mem, &at);
}

/* The outputs of one network for a row as it is. */
static inline void outputs_of(limn_context *ctx, const st_model *m, size_t net, const float *x,
                              float *z) {
    float in[FEATURES_MOST];
    lm_cursor at = lm_cursor_at(NULL);
    lm_layers_scratch(&m->net[net], 1, &at);
    void *scratch = lm_alloc_measured(&ctx->mem, &at);
    memcpy(in, x, m->d * sizeof *in);
    if (m->shifted)
        lm_layers_shift(x, m->centre, m->unit, m->d, in);
    lm_layers_run(&m->net[net], in, m->d, 1, z, NULL, scratch);
    lm_free_aligned(&ctx->mem, scratch);
}

#endif
