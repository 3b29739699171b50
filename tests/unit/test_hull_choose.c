/* test_hull_choose.c: what the training of hulls chooses, refuses and warns about: dimensions,
 * rho, the sharpness of probabilities, the distance of unknown rows, hulls that fill the space. */
#include "hull_world.h"

#define ALL .rule = HULL_DIM_FULL, .cut = 1e-6

/* ---- what is said ---- */

typedef struct said {
    int warnings;
    char last[400];
} said;

static void on_log(void *user, limn_log_level level, const char *sentence) {
    said *s = user;
    if (level != LIMN_LOG_WARNING)
        return;
    s->warnings++;
    snprintf(s->last, sizeof s->last, "%s", sentence);
}

static limn_context *listening(said *s) {
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    options.log = on_log;
    options.user = s;
    options.threads = 1;
    assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
    return ctx;
}

/* count[c] normal rows of each class, in d features; shift between classes. */
static limn_data *normal(limn_context *ctx, const size_t *count, size_t classes, size_t d,
                         double shift, uint64_t seed) {
    size_t n = 0, at = 0;
    for (size_t c = 0; c < classes; c++)
        n += count[c];
    float *x = malloc(n * d * sizeof *x);
    double *y = malloc(n * sizeof *y);
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(seed, 51, 0);
    for (size_t c = 0; c < classes; c++)
        for (size_t i = 0; i < count[c]; i++, at++) {
            y[at] = (double)c;
            for (size_t j = 0; j < d; j++)
                x[at * d + j] = (float)(lm_rng_normal(&rng) + (j % classes == c ? shift : 0));
        }
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, d, y, &data), LIMN_OK);
    free(x);
    free(y);
    return data;
}

static void test_hulls_that_fill_the_space_are_refused(void **state) {
    (void)state;
    static const size_t even[] = {20, 20, 20};
    static const slow_set refused[] = {
        {.kind = HULL_NAH, ALL},
        {.kind = HULL_NHD, ALL, .nu = .1},
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 5, .cut = 1e-6},
        {.kind = HULL_NHD, .rule = HULL_DIM_GIVEN, .dim = 100, .cut = 1e-6},
        {.kind = HULL_NAH, ALL, .neighbors = 10},
    };
    static const slow_set taken[] = {
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 4, .cut = 1e-6},
        {.kind = HULL_NHD, .rule = HULL_DIM_AUTO, .cut = 1e-6},
        {.kind = HULL_NAH, ALL, .neighbors = 5},
        {.kind = HULL_NAH, ALL, .curved = true, .kernel = {.type = LM_RBF, .gamma = .1}},
        {.kind = HULL_NCH},
        {.kind = HULL_NRH, .rho = .1},
    };
    said s = {0};
    limn_context *ctx = listening(&s);
    limn_data *data = normal(ctx, even, 3, 5, 2, 1);
    for (size_t i = 0; i < LM_COUNT(refused); i++) {
        limn_model *model = NULL;
        assert_int_equal(hull_train_set(ctx, data, &refused[i], NULL, &model), LIMN_E_DATA);
        assert_null(model);
        static const char *const words[] = {"fill", "5",   "dim=N", "dim=auto",
                                            "nrh",  "nch", "kernel"};
        for (size_t w = 0; w < LM_COUNT(words); w++)
            if (!strstr(limn_error(ctx), words[w]))
                fail_msg("setting %zu: no '%s' in: %s", i, words[w], limn_error(ctx));
    }
    for (size_t i = 0; i < LM_COUNT(taken); i++)
        limn_model_free(hull_trained(ctx, data, &taken[i], NULL));
    assert_int_equal(s.warnings, 0);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_what_is_odd_is_warned_of(void **state) {
    (void)state;
    static const size_t uneven[] = {20, 3, 4}, single[] = {8, 1, 1}, one[] = {8, 1};
    static const slow_set sets[] = {{.kind = HULL_NAH, ALL}, {.kind = HULL_NCH}};
    said s = {0};
    limn_context *ctx = listening(&s);
    limn_data *data = normal(ctx, uneven, 3, 5, 2, 1);
    limn_model_free(hull_trained(ctx, data, &sets[0], NULL));
    assert_int_equal(s.warnings, 1);
    assert_non_null(strstr(s.last, "1 of 3 classes fill all 5 dimensions"));
    assert_non_null(strstr(s.last, "dim="));
    limn_data_free(data);
    for (size_t i = 0; i < 4; i++) {
        data = i < 2 ? normal(ctx, single, 3, 20, 2, 1) : normal(ctx, one, 2, 20, 2, 1);
        s.warnings = 0;
        limn_model_free(hull_trained(ctx, data, &sets[i % 2], NULL));
        assert_int_equal(s.warnings, 1);
        assert_non_null(strstr(s.last, i < 2 ? "2 of 3 classes have only one row"
                                             : "1 of 2 classes has only one row"));
        limn_data_free(data);
    }
    limn_context_free(ctx);
}

static void test_kernel_values_that_overflow_are_refused(void **state) {
    (void)state;
    static const size_t even[] = {20, 20};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = normal(ctx, even, 2, 5, 100, 1);
    for (int kind = 0; kind < 5; kind++)
        for (size_t k = 0; k <= 6; k += 6) {
            slow_set s = {.kind = (hull_kind)kind,
                          ALL,
                          .rho = .1,
                          .neighbors = k,
                          .curved = true,
                          .kernel = {.type = LM_POLYNOMIAL, .gamma = 100, .degree = 100}};
            limn_model *model = NULL;
            if (hull_train_set(ctx, data, &s, NULL, &model) != LIMN_E_DATA)
                fail_msg("%s, neighbors %zu: taken", kind_names[kind], k);
            assert_non_null(strstr(limn_error(ctx), "the kernel values are too large"));
            assert_non_null(strstr(limn_error(ctx), "--scale zscore"));
        }
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- unknown ---- */

static void test_reject_calls_the_share_asked_for_unknown(void **state) {
    (void)state;
    static const size_t count[] = {200, 200, 200}, fresh[] = {400, 400, 400};
    static const slow_set sets[] = {
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 2, .cut = 1e-6},
        {.kind = HULL_NAH, .rule = HULL_DIM_AUTO, .cut = 1e-6},
        {.kind = HULL_NHD, .rule = HULL_DIM_GIVEN, .dim = 3, .cut = 1e-6, .nu = .1},
        {.kind = HULL_NCH},
        {.kind = HULL_NSC, .nu = .1},
        {.kind = HULL_NRH, .rho = .1},
        {.kind = HULL_NRH, .rho = .1, .neighbors = 20},
        {.kind = HULL_NSC, .neighbors = 20},
        {.kind = HULL_NHD,
         .rule = HULL_DIM_AUTO,
         .cut = .03,
         .nu = .1,
         .curved = true,
         .kernel = {.type = LM_RBF, .gamma = .05}},
    };
    static const double shares[] = {.02, .1};
    limn_context *ctx = make_context(NULL, 2, 3);
    limn_data *data = normal(ctx, count, 3, 6, 3, 5), *asked = normal(ctx, fresh, 3, 6, 3, 6);
    int32_t classes[1200];
    float far[20 * 6];
    for (size_t i = 0; i < 20 * 6; i++)
        far[i] = (i / 6 % 2 ? -1.f : 1.f) * (float)(60 + 7 * i);
    for (size_t i = 0; i < LM_COUNT(sets); i++)
        for (size_t r = 0; r < LM_COUNT(shares); r++) {
            char text[40];
            size_t unknown = 0;
            snprintf(text, sizeof text, "reject=%g", shares[r]);
            limn_model *model = hull_trained(ctx, data, &sets[i], text);
            hull_ask(ctx, model, asked->x, 1200, classes, NULL);
            for (size_t k = 0; k < 1200; k++)
                unknown += classes[k] == -1;
            double got = (double)unknown / 1200;
            if (!(got > shares[r] / 4 && got < shares[r] * 2 + .01))
                fail_msg("%s, setting %zu: %g unknown instead of %g", kind_names[sets[i].kind], i,
                         got, shares[r]);
            hull_ask(ctx, model, far, 20, classes, NULL);
            for (size_t k = 0; k < 20; k++)
                if (classes[k] != -1)
                    fail_msg("%s, setting %zu: far row %zu is known", kind_names[sets[i].kind], i,
                             k);
            limn_model_free(model);
        }
    /* without reject nothing is unknown */
    limn_model *model = hull_trained(ctx, data, &sets[0], NULL);
    hull_ask(ctx, model, far, 20, classes, NULL);
    for (size_t k = 0; k < 20; k++)
        assert_in_range(classes[k], 0, 2);
    limn_model_free(model);
    limn_data_free(data);
    limn_data_free(asked);
    limn_context_free(ctx);
}

/* A row answered with unknown does not count as correct. */
static void test_evaluation_counts_what_is_unknown(void **state) {
    (void)state;
    static const size_t count[] = {40, 40};
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *trained = normal(ctx, count, 2, 3, 4, 5), *data = normal(ctx, count, 2, 3, 4, 6);
    slow_set s = {.kind = HULL_NSC};
    limn_model *model = hull_trained(ctx, trained, &s, "reject=0.2");
    int32_t classes[80];
    size_t right = 0;
    limn_eval_options options;
    limn_evaluation e = {.size = sizeof e};
    hull_ask(ctx, model, data->x, 80, classes, NULL);
    for (size_t i = 0; i < 80; i++)
        right += classes[i] == limn_data_classes(data)[i];
    limn_eval_options_init(&options);
    assert_int_equal(limn_evaluate(ctx, model, data, &options, &e), LIMN_OK);
    if (fabs(e.accuracy - (double)right / 80) > 1e-12)
        fail_msg("accuracy %g instead of %zu of 80", e.accuracy, right);
    assert_true(right < 80);
    assert_int_equal(e.classes, 3);
    limn_evaluation_free(&e);
    limn_data_free(trained);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- probabilities ---- */

/* Squared distances of every row from all classes, leaving it out of its own: n x classes. */
static double *left_out(const limn_data *data, const slow_set *s) {
    size_t n = data->n, d = data->schema.features, k = data->schema.labels.count;
    double *d2 = malloc(n * k * sizeof *d2);
    for (size_t c = 0; c < k; c++) {
        size_t rows;
        float *own = class_rows(data, c, &rows), *less = malloc(rows * d * sizeof *less);
        for (size_t i = 0; i < n; i++) {
            const float *x = data->x + i * d;
            size_t kept = 0;
            bool gone = false;
            for (size_t r = 0; r < rows; r++) {
                bool same = !gone && memcmp(own + r * d, x, d * sizeof *x) == 0;
                gone = gone || same;
                if (!same)
                    memcpy(less + kept++ * d, own + r * d, d * sizeof *less);
            }
            assert_true(gone == ((size_t)limn_data_classes(data)[i] == c));
            d2[i * k + c] = slow_distance(s, less, kept, d, x).d2;
        }
        free(own);
        free(less);
    }
    return d2;
}

static double log_loss(const limn_data *data, const double *d2, double beta) {
    size_t n = data->n, k = data->schema.labels.count;
    double sum = 0, little = 1 / ((double)n + 2);
    for (size_t i = 0; i < n; i++) {
        size_t own = (size_t)limn_data_classes(data)[i];
        double all = 0, least = INFINITY;
        for (size_t c = 0; c < k; c++)
            least = fmin(least, d2[i * k + c]);
        for (size_t c = 0; c < k; c++)
            all += exp(-beta * (d2[i * k + c] - least));
        for (size_t c = 0; c < k; c++) {
            double truth = c == own ? 1 - little : little / (double)(k - 1);
            sum += truth * (beta * (d2[i * k + c] - least) + log(all));
        }
    }
    return sum;
}

static void test_beta_is_the_best_for_rows_left_out(void **state) {
    (void)state;
    static const size_t count[] = {14, 11, 9};
    static const slow_set sets[] = {
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 2, .cut = 1e-6},
        {.kind = HULL_NHD, .rule = HULL_DIM_GIVEN, .dim = 2, .cut = 1e-6, .nu = .1},
        {.kind = HULL_NCH},
        {.kind = HULL_NSC},
        {.kind = HULL_NCH, .curved = true, .kernel = {.type = LM_RBF, .gamma = .1}},
        {.kind = HULL_NSC, .neighbors = 5},
        {.kind = HULL_NRH, .cut = 1e-6, .rho = .1, .neighbors = 5},
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 2, .cut = 1e-6, .neighbors = 5},
    };
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = normal(ctx, count, 3, 5, 1.5, 5);
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        limn_model *model = hull_trained(ctx, data, &sets[i], NULL);
        const hull_model *m = model->body;
        double *d2 = left_out(data, &sets[i]), best = log_loss(data, d2, m->beta);
        for (double factor = 1.02; factor < 30; factor *= factor) {
            if (!(best < log_loss(data, d2, m->beta * factor)) ||
                !(best < log_loss(data, d2, m->beta / factor)))
                fail_msg("%s, setting %zu: beta %g is worse than changed by %g",
                         kind_names[sets[i].kind], i, m->beta, factor);
        }
        free(d2);
        limn_model_free(model);
    }
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_probabilities_are_the_softmax_of_squared_distances(void **state) {
    (void)state;
    enum { ASKED = 60 };
    for (int of = 0; of < WORLD_COUNT; of++)
        for (int kind = 0; kind < 5; kind++)
            for (int way = 0; way < 3; way++) {
                limn_context *ctx = make_context(NULL, 1, 5);
                limn_data *data = world_data(ctx, of, 7);
                size_t k = data->schema.labels.count;
                float *x = make_queries(data, ASKED, 3);
                slow_set s = {.kind = (hull_kind)kind,
                              .rule = HULL_DIM_AUTO,
                              .cut = 1e-3,
                              .curved = way == 1,
                              .neighbors = way == 2 ? 4 : 0,
                              .kernel = {.type = LM_RBF, .gamma = .1}};
                limn_model *model = hull_trained(ctx, data, &s, NULL);
                double proba[ASKED * 3], far[ASKED * 3];
                int32_t classes[ASKED];
                limn_predictor *p = NULL;
                const hull_model *m = model->body;
                assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
                assert_int_equal(limn_predict_proba(p, x, ASKED, proba), LIMN_OK);
                hull_ask(ctx, model, x, ASKED, classes, far);
                for (size_t i = 0; i < ASKED; i++) {
                    double sum = 0, all = 0, least = INFINITY;
                    size_t top = 0;
                    for (size_t c = 0; c < k; c++)
                        least = fmin(least, far[i * k + c] * far[i * k + c]);
                    for (size_t c = 0; c < k; c++)
                        all += exp(-m->beta * (far[i * k + c] * far[i * k + c] - least));
                    for (size_t c = 0; c < k; c++) {
                        double over = far[i * k + c] * far[i * k + c] - least;
                        double wrong = fabs(proba[i * k + c] - exp(-m->beta * over) / all);
                        sum += proba[i * k + c];
                        top = proba[i * k + c] > proba[i * k + top] ? c : top;
                        /* distances are given as roots: squaring them loses a digit */
                        if (!(wrong <= 1e-9 + m->beta * 4e-16 * (over + least)))
                            fail_msg("%s, %s: probability %g is wrong by %g", world_name(of),
                                     kind_names[kind], proba[i * k + c], wrong);
                    }
                    if (fabs(sum - 1) > 1e-12 || top != (size_t)classes[i])
                        fail_msg("%s, %s: sum %.17g, most probable %zu, class %d", world_name(of),
                                 kind_names[kind], sum, top, (int)classes[i]);
                }
                limn_predictor_free(p);
                limn_model_free(model);
                free(x);
                limn_data_free(data);
                limn_context_free(ctx);
            }
}

/* Far along the directions of parallel lines distances count as equal, no matter how sharp beta
 * is. */
static void test_probabilities_sum_to_one_where_distances_are_equal(void **state) {
    (void)state;
    static const float x[] = {-1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 1, 0, 0, 1, 0, 1, 1, 0};
    static const double y[] = {0, 0, 0, 1, 1, 1};
    static const slow_set sets[] = {
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 1, .cut = 1e-6},
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 1, .cut = 1e-6, .neighbors = 3}};
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 6, 3, y, &data), LIMN_OK);
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        limn_model *model = hull_trained(ctx, data, &sets[i], NULL);
        limn_predictor *p = NULL;
        assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
        for (float far = 1; far < 1e30f; far *= 10)
            for (int side = 0; side < 2; side++) {
                float query[3] = {far, (float)side, 0};
                double proba[2];
                int32_t c;
                assert_int_equal(limn_predict_proba(p, query, 1, proba), LIMN_OK);
                assert_int_equal(limn_predict(p, query, 1, &c), LIMN_OK);
                if (fabs(proba[0] + proba[1] - 1) > 1e-12 || c != (proba[1] > proba[0]))
                    fail_msg("at %g: %g and %g, class %d", (double)far, proba[0], proba[1], (int)c);
            }
        limn_predictor_free(p);
        limn_model_free(model);
    }
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- dimensions and rho ---- */

/* Classes with `true_dim` directions each in d features, and noise. */
static limn_data *planes(limn_context *ctx, size_t n, size_t d, size_t true_dim, uint64_t seed) {
    enum { K = 4 };
    float *x = malloc(n * d * sizeof *x);
    double *y = malloc(n * sizeof *y), *axes = malloc(K * true_dim * d * sizeof *axes);
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(seed, 52, 0);
    for (size_t i = 0; i < K * true_dim * d; i++)
        axes[i] = lm_rng_normal(&rng);
    for (size_t i = 0; i < n; i++) {
        y[i] = (double)(i % K);
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = (float)(.25 * lm_rng_normal(&rng));
        for (size_t a = 0; a < true_dim; a++) {
            double t = lm_rng_normal(&rng);
            for (size_t j = 0; j < d; j++)
                x[i * d + j] += (float)(t * axes[((i % K) * true_dim + a) * d + j]);
        }
    }
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, d, y, &data), LIMN_OK);
    free(x);
    free(y);
    free(axes);
    return data;
}

static void test_auto_finds_the_dimension_that_is_there(void **state) {
    (void)state;
    static const size_t dims[] = {1, 3, 6};
    for (size_t of = 0; of < LM_COUNT(dims); of += every(2))
        for (int kind = 0; kind < 2; kind += (int)every(2))
            for (size_t k = 0; k <= 30; k += 30) {
                limn_context *ctx = make_context(NULL, 2, 1);
                limn_data *data = planes(ctx, 320, 16, dims[of], 9);
                slow_set s = {.kind = (hull_kind)kind,
                              .rule = HULL_DIM_AUTO,
                              .cut = 1e-6,
                              .nu = .1,
                              .neighbors = k};
                limn_model *model = hull_trained(ctx, data, &s, NULL);
                const hull_model *m = model->body;
                if (m->options.dim < dims[of] || m->options.dim > 2 * dims[of] + 2)
                    fail_msg("%s, neighbors %zu: %zu directions instead of %zu", kind_names[kind],
                             k, m->options.dim, dims[of]);
                limn_model_free(model);
                limn_data_free(data);
                limn_context_free(ctx);
            }
}

static void test_auto_takes_all_directions_of_few_rows(void **state) {
    (void)state;
    static const size_t count[] = {6, 5, 3};
    for (int kind = 0; kind < 2; kind++) {
        limn_context *ctx = make_context(NULL, 1, 1);
        limn_data *data = normal(ctx, count, 3, 48, 1, 4);
        slow_set s = {.kind = (hull_kind)kind, .rule = HULL_DIM_AUTO, .cut = 1e-6, .nu = .1};
        limn_model *model = hull_trained(ctx, data, &s, NULL);
        assert_int_equal(((const hull_model *)model->body)->directions, 5 + 4 + 2);
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

/* Leave-one-out errors, with lambda computed from all rows (global) or from the neighbours. */
static size_t errors_with(const limn_data *data, double rho, size_t neighbors) {
    size_t n = data->n, d = data->schema.features, k = data->schema.labels.count, wrong = 0;
    slow_set s = {.kind = HULL_NRH, .cut = 1e-6, .rho = rho, .neighbors = neighbors};
    if (neighbors) {
        double *d2 = left_out(data, &s);
        for (size_t i = 0; i < n; i++) {
            size_t best = 0;
            for (size_t c = 1; c < k; c++)
                best = d2[i * k + c] < d2[i * k + best] ? c : best;
            wrong += best != (size_t)limn_data_classes(data)[i];
        }
        free(d2);
        return wrong;
    }
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        double least = INFINITY;
        for (size_t c = 0; c < k; c++) {
            size_t rows, at = 0;
            float *own = class_rows(data, c, &rows);
            slow_points all = slow_flat(own, rows, d, data->x + i * d);
            slow_hull h = slow_hull_of(&all);
            double lambda = rho * h.trace / (double)(rows - 1 < d ? rows - 1 : d);
            free(all.at);
            slow_hull_free(&h);
            bool mine = c == (size_t)limn_data_classes(data)[i];
            if (mine) {
                while (memcmp(own + at * d, data->x + i * d, d * sizeof *own) != 0)
                    at++;
                memmove(own + at * d, own + (at + 1) * d, (rows - 1 - at) * d * sizeof *own);
            }
            slow_points p = slow_flat(own, rows - mine, d, data->x + i * d);
            h = slow_hull_of(&p);
            double d2 = h.rest[h.count];
            for (size_t j = 0; j < h.count; j++)
                d2 += h.t[j] * h.t[j] * lambda / (h.s[j] * h.s[j] + lambda);
            if (d2 < least) {
                least = d2;
                best = c;
            }
            free(p.at);
            slow_hull_free(&h);
            free(own);
        }
        wrong += best != (size_t)limn_data_classes(data)[i];
    }
    return wrong;
}

static void test_auto_takes_the_rho_with_the_fewest_errors(void **state) {
    (void)state;
    static const size_t count[] = {20, 16, 12};
    for (size_t k = 0; k <= 6; k += 6)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            limn_context *ctx = make_context(NULL, 1, 1);
            limn_data *data = normal(ctx, count, 3, 10, 1, seed);
            slow_set s = {.kind = HULL_NRH, .neighbors = k};
            limn_model *model = hull_trained(ctx, data, &s, NULL);
            double rho = ((const hull_model *)model->body)->options.rho;
            size_t got = errors_with(data, rho, k), least = SIZE_MAX, most = 0;
            for (double e = -4; e <= 2.01; e += 0.5) {
                size_t wrong = errors_with(data, pow(10, e), k);
                least = wrong < least ? wrong : least;
                most = wrong > most ? wrong : most;
            }
            if (got > least || least == most)
                fail_msg("neighbors %zu: rho %g errs %zu times, others %zu to %zu", k, rho, got,
                         least, most);
            limn_model_free(model);
            limn_data_free(data);
            limn_context_free(ctx);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hulls_that_fill_the_space_are_refused),
        cmocka_unit_test(test_what_is_odd_is_warned_of),
        cmocka_unit_test(test_kernel_values_that_overflow_are_refused),
        cmocka_unit_test(test_reject_calls_the_share_asked_for_unknown),
        cmocka_unit_test(test_evaluation_counts_what_is_unknown),
        cmocka_unit_test(test_beta_is_the_best_for_rows_left_out),
        cmocka_unit_test(test_probabilities_are_the_softmax_of_squared_distances),
        cmocka_unit_test(test_probabilities_sum_to_one_where_distances_are_equal),
        cmocka_unit_test(test_auto_finds_the_dimension_that_is_there),
        cmocka_unit_test(test_auto_takes_all_directions_of_few_rows),
        cmocka_unit_test(test_auto_takes_the_rho_with_the_fewest_errors),
    };
    return cmocka_run_group_tests_name("hull_choose", tests, NULL, NULL);
}
