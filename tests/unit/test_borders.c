/* borders: points and normals against closed forms and against the teacher's own field, answers
 * against a slow reference in double, degenerate data, failing teachers. */
#include "base/argmax.h"
#include "borders_world.h"

static limn_model *must_train(limn_context *ctx, const limn_data *data, const char *method,
                              const char *params) {
    limn_train_options options;
    param_list list = {.count = 0};
    limn_model *model = NULL;
    limn_train_options_init(&options);
    options.method = method;
    add_params(&list, params);
    options.params = list.list;
    options.param_count = list.count;
    if (limn_train(ctx, data, &options, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return model;
}

/* ---- where the borders are ---- */

/* The distance of (u, v) from the curve, by Newton's steps on the foot of the perpendicular. */
static double off_curve(double u, double v) {
    double foot = u;
    for (int i = 0; i < 50; i++) {
        double c = curve(foot), slope = 1.5 * cos(1.5 * foot), bend = -2.25 * c;
        double value = foot - u + (c - v) * slope;
        foot -= value / (1 + slope * slope + (c - v) * bend);
    }
    return hypot(foot - u, curve(foot) - v);
}

static void test_borders_of_a_known_function_lie_on_its_border_with_its_normals(void **state) {
    static const limn_scale scales[] = {LIMN_SCALE_NONE, LIMN_SCALE_ZSCORE, LIMN_SCALE_MINMAX};
    (void)state;
    for (size_t s = 0; s < LM_COUNT(scales); s++) {
        limn_context *ctx = make_context(NULL, 2, 3);
        limn_data *data = curve_data(ctx, 600, 5);
        asking a = {
            .params = "borders=200 sampling=random", .teach = teach_curve, .scale = scales[s]};
        limn_model *model = must(ctx, data, &a);
        const bd_model *m = model->body;
        assert_int_equal(m->n, 200);
        for (size_t i = 0; i < m->n; i++) {
            double b[2], u[2];
            border_in_data(model, i, b, u);
            double slope = 1.5 * cos(1.5 * b[0]), length = hypot(slope, 1);
            assert_true(off_curve(b[0], b[1]) < 1e-4);
            assert_true(fabs(u[0] + slope / length) < 1e-3 && fabs(u[1] - 1 / length) < 1e-3);
        }
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

/* The mean slope |grad r| of the same function is 4 |(slope, 1)|, in units of the rows. */
static void test_the_slope_is_that_of_r(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = curve_data(ctx, 600, 5);
    asking a = {
        .params = "borders=100 sampling=random", .teach = teach_curve, .scale = LIMN_SCALE_NONE};
    limn_model *model = must(ctx, data, &a);
    const bd_model *m = model->body;
    for (size_t i = 0; i < m->n; i++) {
        double b[2], u[2];
        border_in_data(model, i, b, u);
        double expected = 4 * hypot(1.5 * cos(1.5 * b[0]), 1);
        assert_true(fabs(m->slope[i] * m->scale / expected - 1) < 1e-3);
    }
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* f = level on every border, and its direction of steepest ascent is the normal: asked of the field
 * of the teaching model, on rows as it sees them. */
static void check_field(const limn_model *teacher, const limn_model *model, double r0,
                        double most) {
    const bd_model *m = model->body;
    limn_context *ctx = make_context(NULL, 1, 1);
    size_t k = m->classes, d = m->d, p = 0;
    float *x = malloc(d * sizeof *x);
    double *b = malloc(d * sizeof *b), *u = malloc(d * sizeof *u), *g = malloc(d * sizeof *g);
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, p++) {
            lm_field field;
            assert_int_equal(teacher->method->field(ctx, teacher->body, i, j, &field), LIMN_OK);
            for (size_t n = m->start[p]; n < m->start[p + 1]; n++) {
                double f, slope, sum = 0, dot = 0;
                border_of(m, n, b, u);
                for (size_t a = 0; a < d; a++)
                    x[a] = (float)b[a];
                assert_int_equal(lm_field_values(ctx, &field, x, 1, &f, g), LIMN_OK);
                if (field.sigmoid.a == 0)
                    field.sigmoid.a = -2;
                assert_true(fabs(lm_field_r(&field, f, &slope) - r0) < most);
                for (size_t a = 0; a < d; a++) {
                    sum += g[a] * g[a];
                    dot += g[a] * u[a];
                }
                assert_true(dot / sqrt(sum) > 1 - 1e-4);
            }
            lm_field_free(&ctx->mem, &field);
        }
    free(x);
    free(b);
    free(u);
    free(g);
    limn_context_free(ctx);
}

static void test_borders_of_models_lie_where_the_teacher_changes_its_mind(void **state) {
    static const char *const methods[] = {"svm", "kde", "agf"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(methods); t++) {
        limn_context *ctx = make_context(NULL, 2, 3);
        limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 200, 3);
        limn_model *teacher = must_train(ctx, data, methods[t], t == 0 ? "C=10" : NULL);
        asking a = {.params = "borders=20 sampling=random", .teacher = teacher};
        limn_model *model = must(ctx, data, &a);
        const bd_model *m = model->body;
        assert_int_equal(m->n, 60);
        check_field(teacher, model, 0, 1e-4);
        limn_model_free(model);
        limn_model_free(teacher);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

static void test_threshold_and_calibrate_move_the_border(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = curve_data(ctx, 300, 5);
    limn_model *teacher = must_train(ctx, data, "svm", "C=10 probability=yes");
    asking a = {.params = "borders=20 form=borders calibrate=yes", .teacher = teacher}, b = a;
    limn_model *even = must(ctx, data, &a), *moved = NULL;
    b.params = "borders=20 form=borders threshold=0.4";
    moved = must(ctx, data, &b);
    check_field(teacher, even, 0, 1e-4);
    check_field(teacher, moved, 0.4, 1e-4);
    limn_data *three = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 60, 3);
    limn_model *none = NULL;
    b.teacher = NULL;
    assert_int_equal(try_borders(ctx, three, &b, &none), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "threshold is for two classes"));
    limn_data_free(three);
    limn_model_free(even);
    limn_model_free(moved);
    limn_model_free(teacher);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- answers ---- */

/* g of pair p in double, from what the model holds; *tie: another vector is as near. */
static double slow_g(const bd_model *m, size_t p, const double *x, bool *tie) {
    double least = INFINITY, second = INFINITY, g = m->constant[p];
    double *b = malloc(m->d * sizeof *b), *u = malloc(m->d * sizeof *u);
    for (size_t i = m->start[p]; i < m->start[p + 1]; i++) {
        double distance = 0, dot = (double)m->normal[i * m->stride + m->d] / m->scale;
        border_of(m, i, b, u);
        for (size_t j = 0; j < m->d; j++) {
            distance += (x[j] - b[j]) * (x[j] - b[j]);
            dot += u[j] * (x[j] - m->centre[j]);
        }
        if (distance < least) {
            second = least;
            least = distance;
            g = m->slope[i] * m->scale * dot;
        } else if (distance < second) {
            second = distance;
        }
    }
    *tie |= second < least * (1 + 1e-4) + 1e-9;
    free(b);
    free(u);
    return g;
}

/* The class that is left when the first and the last are compared again and again; order (k): who
 * went when, the answer last; odds of each to the one that it lost to. */
static size_t slow_walk(const bd_model *m, const double *g, size_t *order, size_t *to,
                        double *odds) {
    size_t low = 0, high = m->classes - 1, gone = 0;
    while (low < high) {
        size_t p = 0;
        for (size_t i = 0; i < m->classes; i++)
            for (size_t j = i + 1; j < m->classes; j++)
                p += i < low || (i == low && j < high);
        bool first = g[p] > 0;
        size_t loser = first ? high : low;
        order[gone++] = loser;
        to[loser] = first ? low : high;
        odds[loser] = fmax(fmin(exp(-fabs(m->steep[p] * g[p])), 1 - 1e-9), 1e-4);
        first ? high-- : low++;
    }
    order[gone] = low;
    return low;
}

/* Probabilities of a decision graph: the chain of odds, then the four most probable classes share
 * theirs as the coupling of all their pairs says, the answer having the largest share. r: of all
 * pairs. */
static void slow_graph(const bd_model *m, const double *g, const double *r, double *proba) {
    size_t k = m->classes, order[8], to[8], few = k < 4 ? k : 4, class[4];
    double odds[8], own[16], share[4], scratch[64], mass = 0, sum = 0;
    bool taken[8] = {false};
    proba[slow_walk(m, g, order, to, odds)] = 1;
    for (size_t i = k - 1; i-- > 0;)
        proba[order[i]] = proba[to[order[i]]] * odds[order[i]];
    for (size_t i = 0; i < few; i++) {
        size_t best = 0;
        while (taken[best])
            best++;
        for (size_t c = 0; c < k; c++)
            best = !taken[c] && proba[c] > proba[best] ? c : best;
        taken[best] = true;
        class[i] = best;
        mass += proba[best];
    }
    for (size_t i = 0; i < few * few; i++)
        own[i] = r[class[i / few] * k + class[i % few]];
    lm_couple(few, own, LM_COUPLE_EXACT, share, scratch);
    size_t best = lm_argmax(share, few);
    double largest = share[best];
    share[best] = share[0];
    share[0] = largest;
    for (size_t i = 0; i < few; i++)
        proba[class[i]] = mass * share[i];
    for (size_t c = 0; c < k; c++)
        sum += proba[c];
    for (size_t c = 0; c < k; c++)
        proba[c] /= sum;
}

static void slow_answer(const bd_model *m, const double *g, int32_t *vote, double *proba) {
    size_t k = m->classes, p = 0;
    double r[64], scratch[256];
    int32_t votes[8] = {0};
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, p++) {
            double one = 1 / (1 + exp(m->steep[p] * g[p]));
            one = fmin(fmax(one, 1e-7), 1 - 1e-7);
            r[i * k + j] = one;
            r[j * k + i] = 1 - one;
            votes[g[p] > 0 ? i : j]++;
        }
    *vote = (int32_t)lm_argmax_int(votes, k);
    if (m->dag)
        slow_graph(m, g, r, proba);
    else
        lm_couple(k, r, LM_COUPLE_EXACT, proba, scratch);
}

static void check_answers(limn_context *ctx, const limn_model *model, const float *x, size_t n) {
    const bd_model *m = model->body;
    limn_predictor *p = NULL, *votes = NULL;
    limn_predictor_options options;
    size_t d = model->schema.features, compared = 0;
    limn_predictor_options_init(&options);
    options.vote = 1;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predictor_new(ctx, model, &options, &votes), LIMN_OK);
    for (size_t q = 0; q < n; q++) {
        float scaled[16];
        double row[16], g[16], scores[16], proba[8], own[8];
        int32_t class = 0, vote = 0, slow_vote;
        bool tie = false;
        lm_scaler_apply(&model->scaler, x + q * d, 1, scaled, NULL);
        for (size_t j = 0; j < m->d; j++)
            row[j] = (double)scaled[j];
        for (size_t pair = 0; pair < m->pairs; pair++)
            g[pair] = slow_g(m, pair, row, &tie);
        if (tie)
            continue;
        compared++;
        slow_answer(m, g, &slow_vote, own);
        assert_int_equal(limn_predict_scores(p, x + q * d, 1, scores), LIMN_OK);
        assert_int_equal(limn_predict_proba(p, x + q * d, 1, proba), LIMN_OK);
        assert_int_equal(limn_predict(p, x + q * d, 1, &class), LIMN_OK);
        assert_int_equal(limn_predict(votes, x + q * d, 1, &vote), LIMN_OK);
        bool close = false;
        for (size_t pair = 0; pair < m->pairs; pair++) {
            close |= fabs(g[pair]) < 1e-4;
            assert_true(fabs(scores[pair] - g[pair]) < 1e-5 + 1e-5 * fabs(g[pair]));
        }
        for (size_t c = 0; c < m->classes; c++)
            assert_true(fabs(proba[c] - own[c]) < 1e-4);
        assert_int_equal(class, lm_argmax(proba, m->classes));
        assert_true(close || vote == slow_vote);
    }
    assert_true(compared > n / 2);
    limn_predictor_free(p);
    limn_predictor_free(votes);
}

static void test_answers_are_those_of_the_nearest_border_of_every_pair(void **state) {
    static const char *const params[] = {
        "borders=1 sampling=random multi=ovo",  "borders=7 sampling=random multi=ovo",
        "borders=60 sampling=random multi=ovo", "borders=auto sampling=random multi=ovo",
        "borders=40 pool=1000 multi=ovo",       "borders=auto pool=1000 multi=dag",
        "borders=40 sampling=random multi=dag", "form=plane pool=1000 multi=ovo",
        "form=plane pool=1000 multi=dag",       "form=cells pool=1000 multi=ovo",
        "form=cells pool=1000 multi=dag",       "form=cells sampling=random pool=1000 borders=3"};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(params); i++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 300, 3);
        asking a = {.params = params[i], .teacher_method = "svm"};
        limn_model *model = must(ctx, data, &a);
        const bd_model *m = model->body;
        assert_int_equal(m->dag, strstr(params[i], "multi=dag") || !strstr(params[i], "multi"));
        float *queries = make_queries(data, 200, 9);
        check_answers(ctx, model, queries, 200);
        free(queries);
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

static void test_probabilities_of_a_known_function_are_close_to_it(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    size_t n = 4000;
    float *x = malloc(2 * n * sizeof *x);
    double *y = malloc(n * sizeof *y), truth[2], worst = 0;
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(1, 2, 3);
    for (size_t i = 0; i < n; i++) {
        x[2 * i] = (float)lm_rng_normal(&rng);
        x[2 * i + 1] = (float)(curve((double)x[2 * i]) + 0.5 * lm_rng_normal(&rng));
        (void)teach_curve(NULL, x + 2 * i, 1, truth);
        y[i] = lm_rng_unit(&rng) < truth[0] ? 0 : 1;
    }
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, 2, y, &data), LIMN_OK);
    asking a = {.params = "borders=100", .teach = teach_curve};
    limn_model *model = must(ctx, data, &a);
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    for (size_t i = 0; i < 500; i++) {
        double proba[2];
        size_t class = (size_t)(int)y[i] == 0 ? 0 : 1; /* classes are numbered as they appear */
        class = y[0] == 0 ? class : 1 - class;
        (void)teach_curve(NULL, x + 2 * i, 1, truth);
        assert_int_equal(limn_predict_proba(p, x + 2 * i, 1, proba), LIMN_OK);
        worst += fabs(proba[class] - truth[(size_t)(int)y[i]]) / 500;
    }
    assert_true(worst < 0.05);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
    free(x);
    free(y);
}

/* ---- lines ---- */

static void test_no_line_is_drawn_twice_and_none_is_left_out(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    for (size_t a = 1; a < 8; a++)
        for (size_t b = 1; b < 8; b++) {
            limn_model *model = NULL;
            float x[32];
            double y[16];
            limn_data *few = NULL;
            for (size_t i = 0; i < a + b; i++) {
                bool first = i < a;
                x[2 * i] = (float)i * 0.37f - 1;
                x[2 * i + 1] = (float)curve((double)x[2 * i]) + (first ? 1.f : -1.f);
                y[i] = first ? 0 : 1;
            }
            assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, a + b, 2, y, &few),
                             LIMN_OK);
            asking ask = {.params = "borders=1000 sampling=random", .teach = teach_curve};
            model = must(ctx, few, &ask);
            const bd_model *m = model->body;
            assert_int_equal(m->n, a * b);
            for (size_t i = 0; i < m->n; i++)
                for (size_t j = 0; j < i; j++) {
                    double p[2], q[2], u[2];
                    border_of(m, i, p, u);
                    border_of(m, j, q, u);
                    assert_true(fabs(p[0] - q[0]) + fabs(p[1] - q[1]) > 1e-9);
                }
            limn_model_free(model);
            limn_data_free(few);
        }
    limn_context_free(ctx);
}

/* ---- degenerate teachers and data ---- */

/* Probabilities that never favour class 1. */
static limn_status teach_one(void *user, const float *x, size_t n, double *answers) {
    size_t k = *(size_t *)user;
    (void)x;
    for (size_t i = 0; i < n * k; i++)
        answers[i] = i % k == 0 ? 0.7 : i % k == 1 ? 0.1 : 0.2 / (double)(k - 2 + (k == 2));
    return LIMN_OK;
}

static limn_status fail_later(void *user, const float *x, size_t n, double *answers) {
    size_t *left = user;
    if (*left < n)
        return LIMN_E_IO;
    *left -= n;
    return teach_curve(NULL, x, n, answers);
}

static void test_a_teacher_that_never_answers_a_class_makes_constant_pairs(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 90, 3);
    size_t classes = 3;
    asking a = {.params = "borders=10", .teach = teach_one, .user = &classes};
    limn_model *model = must(ctx, data, &a);
    const bd_model *m = model->body;
    limn_predictor *p = NULL;
    int32_t answers[90];
    double proba[3];
    assert_int_equal(m->n, 0);
    assert_true(m->constant[0] > 0 && m->constant[1] > 0 && m->constant[2] < 0);
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, limn_data_values(data), 90, answers), LIMN_OK);
    for (size_t i = 0; i < 90; i++)
        assert_int_equal(answers[i], 0);
    assert_int_equal(limn_predict_proba(p, limn_data_values(data), 1, proba), LIMN_OK);
    assert_true(fabs(proba[0] + proba[1] + proba[2] - 1) < 1e-9);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* Rows of one feature, the classes in turn as given. */
static limn_status train_few(limn_context *ctx, const float *x, const double *y, size_t n,
                             const char *teacher, limn_model **model) {
    limn_data *data = NULL;
    asking a = {.params = "borders=5 pool=500", .teacher_method = teacher};
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, 1, y, &data), LIMN_OK);
    limn_status status = try_borders(ctx, data, &a, model);
    limn_data_free(data);
    return status;
}

static void test_few_rows_equal_rows_and_one_class_give_a_model(void **state) {
    static const float x[][9] = {{1, 1},       {0, 1}, {0, 0, 0}, {0, 1, 2, 3, 4, 5, 6, 7, 8},
                                 {0, 1, 0, 1}, {5}};
    static const double y[][9] = {{0, 1},       {0, 1}, {0, 1, 2}, {0, 0, 0, 1, 1, 1, 2, 2, 2},
                                  {0, 1, 1, 0}, {3}};
    static const size_t n[] = {2, 2, 3, 9, 4, 1};
    static const char *const teachers[] = {"svm", "agf", "kde", "knn", "lda"};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(n); i++)
        for (size_t t = 0; t < LM_COUNT(teachers); t++) {
            limn_context *ctx = make_context(NULL, 1, 3);
            limn_model *model = NULL;
            limn_predictor *p = NULL;
            int32_t classes[9];
            if (train_few(ctx, x[i], y[i], n[i], teachers[t], &model) != LIMN_OK)
                fail_msg("%s: %s", teachers[t], limn_error(ctx));
            assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
            assert_int_equal(limn_predict(p, x[i], n[i], classes), LIMN_OK);
            /* knn is undecided, and svm too with three rows per class */
            for (size_t q = 0; q < n[i] && t != 3 && (i == 1 || (i == 3 && t)); q++)
                assert_int_equal(classes[q], (int)y[i][q]);
            limn_predictor_free(p);
            limn_model_free(model);
            limn_context_free(ctx);
        }
}

static void test_a_failing_teacher_ends_training_with_its_status(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = curve_data(ctx, 100, 5);
    bool done = false;
    for (size_t rows = 0; !done; rows += 61) {
        size_t left = rows;
        limn_model *model = NULL;
        asking a = {.params = "borders=10 pool=80", .teach = fail_later, .user = &left};
        limn_status status = try_borders(ctx, data, &a, &model);
        done = status == LIMN_OK;
        assert_true(done || status == LIMN_E_IO);
        assert_int_equal(done, model != NULL);
        assert_true(done || strstr(limn_error(ctx), "the teacher failed"));
        limn_model_free(model);
        assert_true(rows < 100000);
    }
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_every_failed_allocation_with_a_function_is_reported(void **state) {
    (void)state;
    bool done = false;
    for (unsigned at = 1; !done; at += every(5)) {
        counting count = {0};
        limn_context *ctx = make_context(&count, 1, 5);
        limn_data *data = curve_data(ctx, 40, 3);
        limn_model *model = NULL;
        asking a = {.params = "borders=5 pool=60", .teach = teach_curve};
        count.fail_at = at;
        limn_status status = try_borders(ctx, data, &a, &model);
        done = status == LIMN_OK;
        assert_true(done || status == LIMN_E_MEMORY);
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
    }
}

/* ---- models of steps teach too ---- */

static void test_borders_of_trees_and_neighbours_are_useful(void **state) {
    static const char *const teachers[] = {"knn", "vpc", "lda", "nrh"};
    (void)state;
    limn_context *ctx = make_context(NULL, 2, 3);
    limn_data *data = curve_data(ctx, 800, 5), *fresh = curve_data(ctx, 400, 6);
    for (size_t t = 0; t < LM_COUNT(teachers); t++) {
        limn_model *teacher = must_train(ctx, data, teachers[t], NULL);
        asking a = {.params = "borders=200", .teacher = teacher};
        limn_model *model = must(ctx, data, &a);
        int32_t own[400], theirs[400];
        limn_predictor *p = NULL, *q = NULL;
        size_t same = 0;
        assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predictor_new(ctx, teacher, NULL, &q), LIMN_OK);
        assert_int_equal(limn_predict(p, limn_data_values(fresh), 400, own), LIMN_OK);
        assert_int_equal(limn_predict(q, limn_data_values(fresh), 400, theirs), LIMN_OK);
        for (size_t i = 0; i < 400; i++)
            same += own[i] == theirs[i];
        if (same < 368)
            fail_msg("%s: %zu of 400 agree", teachers[t], same);
        limn_predictor_free(p);
        limn_predictor_free(q);
        limn_model_free(model);
        limn_model_free(teacher);
    }
    limn_data_free(data);
    limn_data_free(fresh);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borders_of_a_known_function_lie_on_its_border_with_its_normals),
        cmocka_unit_test(test_the_slope_is_that_of_r),
        cmocka_unit_test(test_borders_of_models_lie_where_the_teacher_changes_its_mind),
        cmocka_unit_test(test_threshold_and_calibrate_move_the_border),
        cmocka_unit_test(test_answers_are_those_of_the_nearest_border_of_every_pair),
        cmocka_unit_test(test_probabilities_of_a_known_function_are_close_to_it),
        cmocka_unit_test(test_no_line_is_drawn_twice_and_none_is_left_out),
        cmocka_unit_test(test_a_teacher_that_never_answers_a_class_makes_constant_pairs),
        cmocka_unit_test(test_few_rows_equal_rows_and_one_class_give_a_model),
        cmocka_unit_test(test_a_failing_teacher_ends_training_with_its_status),
        cmocka_unit_test(test_every_failed_allocation_with_a_function_is_reported),
        cmocka_unit_test(test_borders_of_trees_and_neighbours_are_useful),
    };
    return cmocka_run_group_tests_name("borders", tests, NULL, NULL);
}
