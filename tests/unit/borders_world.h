/* borders_world.h: what the tests of borders share: teachers in closed form, models made from them,
 * and the points and normals of a model in units of the rows. */
#ifndef LIMN_TESTS_BORDERS_WORLD_H
#define LIMN_TESTS_BORDERS_WORLD_H

#include "methods/borders/borders.h"
#include "model/model.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two curved classes in the plane: r = tanh(4 (v - sin(3 u / 2))), border v = sin(3 u / 2). */
static inline double curve(double u) {
    return sin(1.5 * u);
}

static inline limn_status teach_curve(void *user, const float *x, size_t n, double *answers) {
    (void)user;
    for (size_t i = 0; i < n; i++) {
        double gap = 4 * ((double)x[2 * i + 1] - curve((double)x[2 * i]));
        answers[2 * i] = 1 / (1 + exp(-2 * gap));
        answers[2 * i + 1] = 1 / (1 + exp(2 * gap));
    }
    return LIMN_OK;
}

/* n rows of the plane, labelled by which side of the curve they are on, class 0 above. */
static inline limn_data *curve_data(limn_context *ctx, size_t n, uint64_t seed) {
    float *x = malloc(2 * n * sizeof *x);
    double *y = malloc(n * sizeof *y);
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(seed, 77, 0);
    for (size_t i = 0; i < n; i++) {
        x[2 * i] = (float)lm_rng_normal(&rng);
        double off = (i % 2 ? -1 : 1) * fabs(lm_rng_normal(&rng));
        x[2 * i + 1] = (float)(curve((double)x[2 * i]) + off);
        y[i] = (double)(i % 2);
    }
    (void)limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, 2, y, &data);
    free(x);
    free(y);
    return data;
}

typedef struct asking {
    const char *params; /* "key=value key=value" */
    const char *teacher_method, *teacher_params;
    const limn_model *teacher;
    limn_teach *teach;
    void *user;
    limn_scale scale;
} asking;

static inline limn_status try_borders(limn_context *ctx, const limn_data *data, const asking *a,
                                      limn_model **model) {
    limn_train_options options;
    param_list own = {.count = 0}, theirs = {.count = 0};
    limn_train_options_init(&options);
    add_params(&own, a->params);
    add_params(&theirs, a->teacher_params);
    options.method = "borders";
    options.params = own.list;
    options.param_count = own.count;
    options.teacher_method = a->teacher_method;
    options.teacher_params = theirs.list;
    options.teacher_param_count = theirs.count;
    options.teacher = a->teacher;
    options.teach = a->teach;
    options.teach_user = a->user;
    options.scale = a->scale;
    return limn_train(ctx, data, &options, model);
}

static inline limn_model *must(limn_context *ctx, const limn_data *data, const asking *a) {
    limn_model *model = NULL;
    if (try_borders(ctx, data, a, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return model;
}

/* The place in the packed set of vector i of pair p: in a decision graph every pair begins a
 * panel. */
static inline size_t place_of(const bd_model *m, size_t p, size_t i) {
    size_t at = 0;
    for (size_t q = 0; q < p; q++) {
        size_t count = m->start[q + 1] - m->start[q];
        at += m->dag ? (count + 15) / 16 * 16 : count;
    }
    return at + i - m->start[p];
}

static inline size_t pair_of(const bd_model *m, size_t i) {
    size_t p = 0;
    while (i >= m->start[p + 1])
        p++;
    return p;
}

/* Border i of the model in units of the rows that the method sees. */
static inline void border_of(const bd_model *m, size_t i, double *b, double *u) {
    float *vector = malloc((m->d + 1) * sizeof *vector);
    lm_pack_row(&m->pack, place_of(m, pair_of(m, i), i), vector);
    for (size_t j = 0; j < m->d; j++) {
        b[j] = -(double)vector[j] / m->scale + m->centre[j];
        u[j] = (double)m->normal[i * m->stride + j];
    }
    free(vector);
}

/* The same in units of the data. */
static inline void border_in_data(const limn_model *model, size_t i, double *b, double *u) {
    const bd_model *m = model->body;
    const lm_scaler *s = &model->scaler;
    double sum = 0;
    border_of(m, i, b, u);
    for (size_t j = 0; j < m->d && s->kind != LIMN_SCALE_NONE; j++) {
        b[j] = b[j] / s->factor[j] + s->offset[j];
        u[j] *= s->factor[j];
    }
    for (size_t j = 0; j < m->d; j++)
        sum += u[j] * u[j];
    for (size_t j = 0; j < m->d; j++)
        u[j] /= sqrt(sum);
}

#endif
