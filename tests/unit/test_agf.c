/* test_agf.c: agf and kde through the public functions, against their definitions (agf_slow.h). */
#include "agf_slow.h"

enum { QUERIES = 40 };

static limn_data *draw_data(limn_context *ctx, limn_task task, size_t n, size_t d, uint64_t seed) {
    float x[SLOW_ROWS * SLOW_FEATURES];
    double y[SLOW_ROWS];
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(seed, 331, n);
    for (size_t i = 0; i < n; i++) {
        double class = (double)(i * 5 % 3);
        y[i] = task == LIMN_REGRESS ? class + lm_rng_normal(&rng) : class;
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = (float)((double)(j + 1) * (class + lm_rng_normal(&rng)) + 10);
    }
    assert_int_equal(
        limn_data_from_values(ctx, task, x, n, d, task == LIMN_DENSITY ? NULL : y, &data), LIMN_OK);
    return data;
}

/* At rows, between them, and a few rows far away. */
static void draw_queries(const limn_data *data, double far, float *x) {
    float *near = make_queries(data, QUERIES, 3);
    size_t d = data->schema.features;
    memcpy(x, near, QUERIES * d * sizeof *x);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < d; j++)
            x[i * d + j] += (float)(i % 2 ? far : -far) * (j == i % d ? 1 : 0.25f);
    free(near);
}

/* One model, all queries. */
static void check_answers(limn_context *ctx, const limn_data *data, const limn_model *model,
                          const slow_model *slow, double far, double tolerance) {
    float x[QUERIES * SLOW_FEATURES];
    double got[QUERIES * SLOW_CLASSES], log_volume = 0;
    size_t classes = data->schema.labels.count;
    draw_queries(data, far, x);
    agf_ask(ctx, model, x, QUERIES, got);
    for (size_t j = 0; j < slow->d; j++)
        log_volume += log(slow->sd[j]);
    for (size_t q = 0; q < QUERIES; q++) {
        double at[SLOW_FEATURES], p[SLOW_CLASSES], want;
        slow_sums sums;
        slow_scaled(slow, x + q * slow->d, at);
        slow_kernel(slow, at, SIZE_MAX, &sums);
        if (data->label) {
            slow_proba(slow, &sums, p);
            for (size_t c = 0; c < classes; c++)
                if (!(fabs(got[q * classes + c] - p[c]) <= tolerance))
                    fail_msg("query %zu, class %zu: %.9g instead of %.9g", q, c,
                             got[q * classes + c], p[c]);
            continue;
        }
        want = data->target ? slow_target(slow, &sums)
                            : slow_log_density(slow, &sums, slow->n) - log_volume;
        if (!(fabs(got[q] - want) <= tolerance * (1 + fabs(want))))
            fail_msg("query %zu: %.9g instead of %.9g", q, got[q], want);
    }
}

typedef struct setting {
    const char *method, *params;
    double w;
    size_t k;
    double bandwidth;
} setting;

static const setting settings[] = {
    {"agf", "k=1000", 5, 1000, 0},         {"agf", NULL, 5, 0, 0},
    {"agf", "W=1.5 k=1000", 1.5, 1000, 0}, {"agf", "W=2", 2, 0, 0},
    {"agf", "W=1000", 1000, 0, 0},         {"agf", "W=3 k=7", 3, 7, 0},
    {"agf", "W=0.3 k=1", 0.3, 1, 0},       {"kde", "bandwidth=0.2", 0, 0, 0.2},
    {"kde", "bandwidth=1", 0, 0, 1},       {"kde", "bandwidth=30", 0, 0, 30},
};

static void slow_set(slow_model *slow, const setting *s) {
    slow->fixed = s->bandwidth > 0;
    slow->w = s->w;
    slow->k = s->k;
    slow->bandwidth = s->bandwidth;
}

static void check_setting(limn_context *ctx, limn_data *data, const setting *s) {
    static slow_model slow;
    limn_task task = data->schema.task;
    if (s->bandwidth > 0 && task == LIMN_REGRESS)
        return; /* kde is no regression */
    for (int zscore = 0; zscore < 2; zscore++) {
        limn_model *model = agf_trained(ctx, data, s->method, s->params,
                                        zscore ? LIMN_SCALE_ZSCORE : LIMN_SCALE_NONE);
        slow_set(&slow, s);
        slow_fit(&slow, data, zscore);
        /* far from all rows, kde goes by differences of squares; floats have rounded them */
        check_answers(ctx, data, model, &slow, s->bandwidth > 0 ? (zscore ? 3 : 300) : 1e6, 1e-5);
        limn_model_free(model);
    }
}

static void test_answers_equal_the_definition(void **state) {
    (void)state;
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS, LIMN_DENSITY};
    static const size_t dims[] = {1, 2, 5};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t t = 0; t < LM_COUNT(tasks); t++)
        for (size_t of = 0; of < LM_COUNT(dims); of++) {
            limn_data *data = draw_data(ctx, tasks[t], 90, dims[of], of);
            for (size_t s = 0; s < LM_COUNT(settings); s++)
                check_setting(ctx, data, &settings[s]);
            limn_data_free(data);
        }
    limn_context_free(ctx);
}

static void test_sample_weights_multiply_the_kernel(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    lm_rng rng = lm_rng_at(1, 332, 0);
    for (int task = LIMN_CLASSIFY; task <= LIMN_REGRESS; task++) {
        limn_data *data = draw_data(ctx, (limn_task)task, 70, 3, 5);
        double weight[70];
        for (size_t i = 0; i < 70; i++)
            weight[i] = exp(2 * lm_rng_normal(&rng));
        assert_int_equal(limn_data_set_weights(ctx, data, weight), LIMN_OK);
        for (size_t s = 0; s < LM_COUNT(settings); s++)
            check_setting(ctx, data, &settings[s]);
        limn_data_free(data);
    }
    limn_context_free(ctx);
}

static void test_class_weights_multiply_the_kernel(void **state) {
    (void)state;
    static slow_model slow;
    static const char *const params[] = {"class_weight=1:4 ", "class_weight=balanced "};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = draw_data(ctx, LIMN_CLASSIFY, 70, 2, 5);
    for (size_t s = 0; s < LM_COUNT(settings); s++)
        for (size_t how = 0; how < 2; how++) {
            char text[96];
            double of_class[3] = {0};
            snprintf(text, sizeof text, "%s%s", params[how],
                     settings[s].params ? settings[s].params : "");
            limn_model *model = agf_trained(ctx, data, settings[s].method, text, LIMN_SCALE_NONE);
            slow_set(&slow, &settings[s]);
            slow_fit(&slow, data, false);
            for (size_t i = 0; i < data->n; i++)
                of_class[data->label[i]]++;
            for (size_t i = 0; i < data->n; i++) {
                const char *name = data->schema.labels.names[data->label[i]];
                slow.weight[i] = how                      ? 1 / of_class[data->label[i]]
                                 : strcmp(name, "1") == 0 ? 4
                                                          : 1;
            }
            check_answers(ctx, data, model, &slow, 1, 1e-5);
            limn_model_free(model);
        }
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- degenerate data ---- */

static void assert_sound(limn_context *ctx, const limn_model *model, const float *x, size_t n,
                         size_t classes, const char *what) {
    double out[QUERIES * SLOW_CLASSES];
    agf_ask(ctx, model, x, n, out);
    for (size_t q = 0; q < n; q++) {
        double sum = 0;
        for (size_t c = 0; c < classes; c++)
            sum += out[q * classes + c];
        if (classes ? !(fabs(sum - 1) < 1e-9) : isnan(out[q]) || out[q] == INFINITY)
            fail_msg("%s: query %zu: %g", what, q, classes ? sum : out[q]);
    }
}

static void test_equal_rows_give_the_mean_of_their_labels(void **state) {
    (void)state;
    static slow_model slow;
    static const setting some[] = {
        {"agf", "k=1000", 5, 1000, 0}, {"agf", "W=2", 2, 0, 0}, {"kde", "bandwidth=1", 0, 0, 1}};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int task = LIMN_CLASSIFY; task <= LIMN_REGRESS; task++) {
        limn_data *data = make_data(ctx, (limn_task)task, SHAPE_DUPLICATES, 120, 4);
        for (size_t s = 0; s < LM_COUNT(some); s++) {
            if (some[s].bandwidth > 0 && task == LIMN_REGRESS)
                continue;
            limn_model *model =
                agf_trained(ctx, data, some[s].method, some[s].params, LIMN_SCALE_NONE);
            slow_set(&slow, &some[s]);
            slow_fit(&slow, data, false);
            check_answers(ctx, data, model, &slow, 5, 1e-5);
            limn_model_free(model);
        }
        limn_data_free(data);
    }
    limn_context_free(ctx);
}

static void test_few_rows_and_one_class_follow_the_definition(void **state) {
    (void)state;
    static slow_model slow;
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS, LIMN_DENSITY};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t t = 0; t < LM_COUNT(tasks); t++)
        for (size_t n = 1; n <= 4; n++)
            for (size_t s = 0; s < LM_COUNT(settings); s++) {
                limn_data *data = draw_data(ctx, tasks[t], n, 2, 7);
                if (settings[s].bandwidth == 0 || tasks[t] != LIMN_REGRESS) {
                    limn_model *model = agf_trained(ctx, data, settings[s].method,
                                                    settings[s].params, LIMN_SCALE_NONE);
                    slow_set(&slow, &settings[s]);
                    slow_fit(&slow, data, false);
                    check_answers(ctx, data, model, &slow, 50, 1e-5);
                    limn_model_free(model);
                }
                limn_data_free(data);
            }
    limn_context_free(ctx);
}

static void test_every_shape_and_far_query_gives_a_sound_answer(void **state) {
    (void)state;
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS, LIMN_DENSITY};
    static const char *const params[][2] = {{"agf", NULL},
                                            {"agf", "W=auto"},
                                            {"agf", "W=1e-100 k=10"},
                                            {"agf", "W=1e6 k=1e9"},
                                            {"kde", NULL},
                                            {"kde", "bandwidth=1e-100"},
                                            {"kde", "bandwidth=1"},
                                            {"kde", "bandwidth=1e15"}};
    static const float sizes[] = {1e6f, 1e12f, 1e19f, 3e38f, -3e38f, 1e-45f};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int of = 0; of < SHAPE_COUNT; of++)
        for (size_t t = 0; t < LM_COUNT(tasks); t++) {
            limn_data *data = make_data(ctx, tasks[t], (shape)of, 25, 4);
            size_t d = data->schema.features, n = 8 + LM_COUNT(sizes);
            float *near = make_queries(data, 8, 3), *x = malloc(n * d * sizeof *x);
            memcpy(x, near, 8 * d * sizeof *x);
            for (size_t i = 8 * d; i < n * d; i++)
                x[i] = sizes[i / d - 8] * (i % 2 ? 1 : 0.5f);
            for (size_t p = 0; p < LM_COUNT(params); p++) {
                char what[80];
                limn_model *model = NULL;
                if (tasks[t] == LIMN_REGRESS && strcmp(params[p][0], "kde") == 0)
                    continue;
                snprintf(what, sizeof what, "%s, %s %s", shape_name((shape)of), params[p][0],
                         params[p][1] ? params[p][1] : "");
                for (int scale = LIMN_SCALE_NONE; scale <= LIMN_SCALE_ZSCORE; scale += 2) {
                    model = agf_trained(ctx, data, params[p][0], params[p][1], (limn_scale)scale);
                    assert_sound(ctx, model, x, n, data->schema.labels.count, what);
                    limn_model_free(model);
                }
            }
            free(x);
            free(near);
            limn_data_free(data);
        }
    limn_context_free(ctx);
}

/* ---- densities ---- */

/* exp(values) over a grid, times the cell: 1. */
static void test_kde_integrates_to_1_in_the_units_of_the_data(void **state) {
    (void)state;
    enum { SIDE = 200 };
    static const char *const params[] = {NULL, "bandwidth=0.4"};
    static const int scales[] = {LIMN_SCALE_ZSCORE, LIMN_SCALE_NONE};
    limn_context *ctx = make_context(NULL, 1, 1);
    float *x = malloc(2 * SIDE * SIDE * sizeof *x);
    double *values = malloc(SIDE * SIDE * sizeof *values);
    for (size_t d = 1; d <= 2; d++)
        for (size_t p = 0; p < 4; p++) {
            limn_data *data = draw_data(ctx, LIMN_DENSITY, 40, d, 2);
            limn_model *model =
                agf_trained(ctx, data, "kde", params[p % 2], (limn_scale)scales[p / 2]);
            size_t n = d == 1 ? SIDE : SIDE * SIDE;
            double sum = 0, cell = 0.2;
            for (size_t i = 0; i < n; i++) {
                x[i * d] = (float)(11 + cell * ((double)(i % SIDE) - SIDE / 2.0));
                if (d == 2)
                    x[i * d + 1] = (float)(12 + cell * ((double)(i / SIDE) - SIDE / 2.0));
            }
            agf_ask(ctx, model, x, n, values);
            for (size_t i = 0; i < n; i++)
                sum += exp(values[i]) * (d == 1 ? cell : cell * cell);
            if (!(fabs(sum - 1) < 1e-4))
                fail_msg("d %zu, %s: %g", d, params[p % 2] ? params[p % 2] : "auto", sum);
            limn_model_free(model);
            limn_data_free(data);
        }
    free(x);
    free(values);
    limn_context_free(ctx);
}

/* ---- values chosen by leaving rows out ---- */

static double slow_loss(slow_model *m, double value) {
    double loss = 0;
    m->w = m->bandwidth = value;
    for (size_t i = 0; i < m->n; i++) {
        double p[SLOW_CLASSES];
        slow_sums sums;
        slow_kernel(m, m->x + i * m->d, i, &sums);
        if (m->label) {
            slow_proba(m, &sums, p);
            loss -= log(fmax(p[m->label[i]], 1e-15));
        } else if (m->target) {
            loss += pow(slow_target(m, &sums) - m->target[i], 2);
        } else {
            loss -= slow_log_density(m, &sums, m->n - 1);
        }
    }
    return loss;
}

/* W of a list; or bandwidths from 1/16 to 4 of Silverman's, in steps of sqrt 2. */
static size_t slow_grid(const slow_model *m, double *value) {
    static const double ws[] = {1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50};
    double spread = 0, d = (double)m->d, n = (double)m->n;
    for (size_t j = 0; j < m->d; j++) {
        double mean = 0;
        for (size_t i = 0; i < m->n; i++)
            mean += m->x[i * m->d + j] / n;
        for (size_t i = 0; i < m->n; i++)
            spread += pow(m->x[i * m->d + j] - mean, 2) / n / d;
    }
    double h = sqrt(spread) * pow(4 / ((d + 2) * n), 1 / (d + 4));
    for (size_t v = 0; v < 13; v++)
        value[v] = h / 16 * pow(sqrt(2), (double)v);
    if (!m->fixed)
        memcpy(value, ws, sizeof ws);
    return m->fixed ? 13 : LM_COUNT(ws);
}

static void check_choice(limn_context *ctx, limn_task task, const char *method, uint64_t seed) {
    static slow_model slow;
    limn_data *data = draw_data(ctx, task, 60, 2, seed);
    double value[16], best = 0, least = INFINITY, before;
    slow.fixed = strcmp(method, "kde") == 0;
    slow.k = 0;
    limn_model *model =
        agf_trained(ctx, data, method, slow.fixed ? "bandwidth=auto" : "W=auto", LIMN_SCALE_ZSCORE);
    slow_fit(&slow, data, true);
    size_t count = slow_grid(&slow, value);
    for (size_t v = 0; v < count; v++) {
        double loss = slow_loss(&slow, value[v]);
        before = least;
        least = fmin(least, loss);
        best = least < before ? value[v] : best;
    }
    double chosen = agf_stat(model, slow.fixed ? "bandwidth" : "W");
    if (!(fabs(chosen / best - 1) < 1e-5))
        fail_msg("%s, task %d, seed %d: %g instead of %g", method, task, (int)seed, chosen, best);
    limn_model_free(model);
    limn_data_free(data);
}

static void test_auto_picks_the_value_with_the_least_loss_of_rows_left_out(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        check_choice(ctx, LIMN_CLASSIFY, "agf", seed);
        check_choice(ctx, LIMN_REGRESS, "agf", seed);
        check_choice(ctx, LIMN_DENSITY, "agf", seed);
        check_choice(ctx, LIMN_CLASSIFY, "kde", seed);
        check_choice(ctx, LIMN_DENSITY, "kde", seed);
    }
    limn_context_free(ctx);
}

static void test_impossible_parameters_are_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {{"agf", "W=0"},
                                           {"agf", "W=-1"},
                                           {"agf", "W=nan"},
                                           {"agf", "W=1e-320"},
                                           {"agf", "k=0"},
                                           {"kde", "bandwidth=0"},
                                           {"kde", "bandwidth=-1"},
                                           {"kde", "bandwidth=1e16"},
                                           {"kde", "bandwidth=1e-200"}};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = draw_data(ctx, LIMN_CLASSIFY, 20, 2, 1);
    for (size_t i = 0; i < LM_COUNT(wrong); i++) {
        limn_model *model = NULL;
        if (agf_try(ctx, data, wrong[i][0], wrong[i][1], LIMN_SCALE_AUTO, &model) != LIMN_E_USAGE)
            fail_msg("%s is not refused", wrong[i][1]);
    }
    limn_data_free(data);
    data = draw_data(ctx, LIMN_REGRESS, 20, 2, 1);
    limn_model *model = NULL;
    assert_int_equal(agf_try(ctx, data, "kde", NULL, LIMN_SCALE_AUTO, &model), LIMN_E_USAGE);
    limn_data_free(data);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_equal_the_definition),
        cmocka_unit_test(test_sample_weights_multiply_the_kernel),
        cmocka_unit_test(test_class_weights_multiply_the_kernel),
        cmocka_unit_test(test_equal_rows_give_the_mean_of_their_labels),
        cmocka_unit_test(test_few_rows_and_one_class_follow_the_definition),
        cmocka_unit_test(test_every_shape_and_far_query_gives_a_sound_answer),
        cmocka_unit_test(test_kde_integrates_to_1_in_the_units_of_the_data),
        cmocka_unit_test(test_auto_picks_the_value_with_the_least_loss_of_rows_left_out),
        cmocka_unit_test(test_impossible_parameters_are_refused),
    };
    return cmocka_run_group_tests_name("agf", tests, NULL, NULL);
}
