/* agf_slow.h: agf and kde by their definitions, in double: all distances, the bandwidth by
 * bisection, plain sums. And models trained through the public functions, to compare. */
#ifndef LIMN_TESTS_AGF_SLOW_H
#define LIMN_TESTS_AGF_SLOW_H

#include "model/model.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLOW_ROWS = 128, SLOW_FEATURES = 8, SLOW_CLASSES = 4 };

typedef struct slow_model {
    size_t n, d;
    bool fixed; /* kde */
    double w, bandwidth;
    size_t k; /* 0: 20 W */
    double x[SLOW_ROWS * SLOW_FEATURES];
    double mean[SLOW_FEATURES], sd[SLOW_FEATURES];
    double weight[SLOW_ROWS];
    const int32_t *label;
    const double *target;
} slow_model;

typedef struct slow_sums {
    double weight[SLOW_ROWS]; /* K of each row */
    double s2, log_sum;
} slow_sums;

/* The rows of data, as a scaling leaves them: floats of mean 0 and deviation 1, or as they are. */
static inline void slow_fit(slow_model *m, const limn_data *data, bool zscore) {
    m->n = data->n;
    m->d = data->schema.features;
    assert_true(m->n <= SLOW_ROWS && m->d <= SLOW_FEATURES);
    m->label = data->label;
    m->target = data->target;
    for (size_t i = 0; i < m->n; i++)
        m->weight[i] = data->weight ? data->weight[i] : 1;
    for (size_t j = 0; j < m->d; j++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < m->n; i++)
            sum += data->x[i * m->d + j];
        m->mean[j] = zscore ? sum / (double)m->n : 0;
        for (size_t i = 0; i < m->n; i++)
            squares += pow(data->x[i * m->d + j] - m->mean[j], 2);
        m->sd[j] = zscore ? sqrt(squares / (double)m->n) : 1;
        for (size_t i = 0; i < m->n; i++)
            m->x[i * m->d + j] = (float)((data->x[i * m->d + j] - m->mean[j]) / m->sd[j]);
    }
}

static inline int slow_ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double slow_sum_at(const double *distance, size_t k, double beta) {
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += exp(-beta * distance[i]);
    return sum;
}

/* s^2 such that the weights of the k nearest add up to w; 0: enough of them are at distance 0. */
static inline double slow_bandwidth(const double *sorted, size_t k, double w) {
    size_t zeros = 0;
    while (zeros < k && sorted[zeros] == 0)
        zeros++;
    if ((double)zeros >= w)
        return 0;
    double low = 0, high = 1 / sorted[k - 1];
    while (slow_sum_at(sorted, k, high) > w)
        high *= 2;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        *(slow_sum_at(sorted, k, middle) > w ? &low : &high) = middle;
    }
    return 1 / (low + high);
}

static inline void slow_adaptive(const slow_model *m, const double *distance, size_t exclude,
                                 slow_sums *out) {
    double sorted[SLOW_ROWS], sum = 0;
    size_t rows = 0;
    for (size_t i = 0; i < m->n; i++)
        if (i != exclude)
            sorted[rows++] = distance[i];
    qsort(sorted, rows, sizeof *sorted, slow_ascending);
    size_t k = m->k ? m->k : (size_t)ceil(20 * m->w);
    k = k < rows ? k : rows;
    double w = fmin(m->w, (double)k / 2);
    out->s2 = slow_bandwidth(sorted, k, w);
    /* of rows at equal distances at the end, the first ones count */
    size_t inside = 0, left = k;
    for (size_t i = 0; i < rows; i++)
        inside += sorted[i] < sorted[k - 1];
    left -= inside;
    for (size_t i = 0; i < m->n; i++) {
        bool counts = i != exclude && (distance[i] < sorted[k - 1] ||
                                       (distance[i] == sorted[k - 1] && left > 0 && left--));
        out->weight[i] = !counts        ? 0
                         : out->s2 == 0 ? distance[i] == 0
                                        : exp(-distance[i] / (2 * out->s2));
        sum += out->weight[i];
    }
    out->log_sum = log(sum);
}

/* K of all rows for a scaled query; row exclude is left out. kde: relative to the largest K. */
static inline void slow_kernel(const slow_model *m, const double *x, size_t exclude,
                               slow_sums *out) {
    double distance[SLOW_ROWS], least = INFINITY, sum = 0;
    for (size_t i = 0; i < m->n; i++) {
        distance[i] = 0;
        for (size_t j = 0; j < m->d; j++)
            distance[i] += (m->x[i * m->d + j] - x[j]) * (m->x[i * m->d + j] - x[j]);
        least = i == exclude ? least : fmin(least, distance[i]);
    }
    if (!m->fixed) {
        slow_adaptive(m, distance, exclude, out);
        return;
    }
    out->s2 = m->bandwidth * m->bandwidth;
    for (size_t i = 0; i < m->n; i++) {
        out->weight[i] = i == exclude ? 0 : exp((least - distance[i]) / (2 * out->s2));
        sum += out->weight[i];
    }
    out->log_sum = log(sum) - least / (2 * out->s2);
}

/* ---- answers ---- */

static inline void slow_proba(const slow_model *m, const slow_sums *s, double *p) {
    double total = 0;
    memset(p, 0, SLOW_CLASSES * sizeof *p);
    for (size_t i = 0; i < m->n; i++) {
        p[m->label[i]] += s->weight[i] * m->weight[i];
        total += s->weight[i] * m->weight[i];
    }
    for (size_t c = 0; c < SLOW_CLASSES; c++)
        p[c] /= total;
}

static inline double slow_target(const slow_model *m, const slow_sums *s) {
    double sum = 0, total = 0;
    for (size_t i = 0; i < m->n; i++) {
        sum += s->weight[i] * m->weight[i] * m->target[i];
        total += s->weight[i] * m->weight[i];
    }
    return sum / total;
}

/* In scaled units, of rows rows. Where the bandwidth would be 0 it is 1e-6 of the spread. */
static inline double slow_log_density(const slow_model *m, const slow_sums *s, size_t rows) {
    double spread = 0, s2 = s->s2, d = (double)m->d;
    for (size_t j = 0; j < m->d; j++) {
        double mean = 0;
        for (size_t i = 0; i < m->n; i++)
            mean += m->x[i * m->d + j] / (double)m->n;
        for (size_t i = 0; i < m->n; i++)
            spread += pow(m->x[i * m->d + j] - mean, 2) / (double)m->n;
    }
    if (!m->fixed)
        s2 = fmax(s2, 1e-12 * (spread > 0 ? spread : 1));
    return s->log_sum - log((double)rows) - d / 2 * log(6.283185307179586 * s2);
}

static inline void slow_scaled(const slow_model *m, const float *x, double *out) {
    for (size_t j = 0; j < m->d; j++)
        out[j] = (float)((x[j] - m->mean[j]) / m->sd[j]);
}

/* ---- models ---- */

static inline limn_status agf_try(limn_context *ctx, const limn_data *data, const char *method,
                                  const char *params, limn_scale scale, limn_model **model) {
    limn_train_options options;
    param_list list = {.count = 0};
    add_params(&list, params);
    limn_train_options_init(&options);
    options.method = method;
    options.params = list.list;
    options.param_count = list.count;
    options.scale = scale;
    return limn_train(ctx, data, &options, model);
}

static inline limn_model *agf_trained(limn_context *ctx, const limn_data *data, const char *method,
                                      const char *params, limn_scale scale) {
    limn_model *model = NULL;
    if (agf_try(ctx, data, method, params, scale, &model) != LIMN_OK)
        fail_msg("%s: %s", method, limn_error(ctx));
    return model;
}

/* Probabilities (n x classes) or values (n). */
static inline void agf_ask(limn_context *ctx, const limn_model *model, const float *x, size_t n,
                           double *out) {
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    limn_status status = model->schema.task == LIMN_CLASSIFY ? limn_predict_proba(p, x, n, out)
                                                             : limn_predict_values(p, x, n, out);
    if (status != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    limn_predictor_free(p);
}

static inline double agf_stat(const limn_model *model, const char *name) {
    const char *found;
    double value = NAN;
    for (size_t i = 0; (found = limn_model_stat(model, i, &value)); i++)
        if (strcmp(found, name) == 0)
            return value;
    fail_msg("no statistic %s", name);
    return value;
}

#endif
