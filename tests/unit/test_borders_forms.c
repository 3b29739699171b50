/* Borders as a whole: the choice of the form, values of any size, the decision graph, progress,
 * cancelling and threads. */
#include "borders_world.h"

/* ---- the choice of the form ---- */

/* Class 0 where x + y is above 0. */
static limn_status teach_line(void *user, const float *x, size_t n, double *answers) {
    (void)user;
    for (size_t i = 0; i < n; i++) {
        double gap = 2 * ((double)x[2 * i] + (double)x[2 * i + 1]);
        answers[2 * i] = 1 / (1 + exp(-2 * gap));
        answers[2 * i + 1] = 1 / (1 + exp(2 * gap));
    }
    return LIMN_OK;
}

static void test_a_straight_border_takes_one_vector_and_a_curved_one_several_borders(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = curve_data(ctx, 600, 5);
    asking line = {.params = "borders=30", .teach = teach_line},
           bent = {.params = "borders=30", .teach = teach_curve};
    limn_model *a = must(ctx, data, &line), *b = must(ctx, data, &bent);
    const bd_model *m = a->body, *n = b->body;
    assert_int_equal(m->n, 1);
    assert_int_equal(m->forms[BD_PLANE] + m->forms[BD_BORDERS], 1);
    assert_true(n->n > 5);
    assert_int_equal(n->forms[BD_BORDERS], 1);
    limn_model_free(a);
    limn_model_free(b);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* Twenty bits; class 0 where more of the first five are set than of the next five. */
static limn_status teach_bits(void *user, const float *x, size_t n, double *answers) {
    (void)user;
    for (size_t i = 0; i < n; i++) {
        double gap = 0.5;
        for (size_t j = 0; j < 10; j++)
            gap += (j < 5 ? 1 : -1) * (double)x[20 * i + j];
        answers[2 * i] = 1 / (1 + exp(-gap));
        answers[2 * i + 1] = 1 / (1 + exp(gap));
    }
    return LIMN_OK;
}

static void test_bits_are_decided_by_planes(void **state) {
    enum { N = 800, BITS = 20 };
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    float *x = malloc(N * BITS * sizeof *x);
    double *y = malloc(N * sizeof *y), truth[2];
    lm_rng rng = lm_rng_at(3, 2, 1);
    limn_data *data = NULL;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < BITS; j++)
            x[i * BITS + j] = (float)lm_rng_below(&rng, 2);
        (void)teach_bits(NULL, x + i * BITS, 1, truth);
        y[i] = truth[0] > truth[1] ? 0 : 1;
    }
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, N, BITS, y, &data), LIMN_OK);
    asking a = {.params = "borders=40", .teach = teach_bits};
    limn_model *model = must(ctx, data, &a);
    const bd_model *m = model->body;
    assert_int_equal(m->forms[BD_BORDERS], 0);
    assert_true(m->agreement > 0.99);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
    free(x);
    free(y);
}

static void test_a_form_that_is_asked_for_is_used(void **state) {
    static const char *const params[] = {"form=borders borders=9", "form=plane", "form=cells",
                                         "form=cells borders=5", "form=plane sampling=random"};
    static const bd_form forms[] = {BD_BORDERS, BD_PLANE, BD_CELLS, BD_CELLS, BD_PLANE};
    static const size_t most[] = {9, 1, 64, 5, 1};
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = curve_data(ctx, 300, 5);
    for (size_t i = 0; i < LM_COUNT(params); i++) {
        asking a = {.params = params[i], .teach = teach_curve};
        limn_model *model = must(ctx, data, &a);
        const bd_model *m = model->body;
        assert_int_equal(m->forms[forms[i]], 1);
        assert_in_range(m->n, 1, most[i]);
        limn_model_free(model);
    }
    limn_data_free(data);
    limn_context_free(ctx);
}

/* The curve in units of *user. */
static limn_status teach_far(void *user, const float *x, size_t n, double *answers) {
    double unit = *(double *)user;
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        float row[2] = {(float)((double)x[2 * i] / unit), (float)((double)x[2 * i + 1] / unit)};
        status = teach_curve(NULL, row, 1, answers + 2 * i);
    }
    return status;
}

/* Without scaling: squares overflow or vanish, but what is trained can be saved, opened and
 * asked. */
static void test_huge_and_tiny_values_give_a_model_that_opens(void **state) {
    static const double units[] = {1e-30, 1e-18, 1e15, 1e20, 1e30, 1e37};
    static const char *const forms[] = {"borders=20 pool=500", "form=borders pool=500",
                                        "form=plane pool=500", "form=cells pool=500"};
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *usual = curve_data(ctx, 200, 5);
    for (size_t k = 0; k < LM_COUNT(units) * LM_COUNT(forms); k++) {
        double unit = units[k / LM_COUNT(forms)], y[200], proba[2];
        float x[400];
        limn_data *data = NULL;
        unsigned char *bytes = NULL;
        size_t size;
        lm_file *file = NULL;
        limn_model *again = NULL;
        limn_predictor *p = NULL;
        for (size_t i = 0; i < 400; i++)
            x[i] = (float)((double)limn_data_values(usual)[i] * unit);
        for (size_t i = 0; i < 200; i++)
            y[i] = (double)(i % 2);
        assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 200, 2, y, &data), LIMN_OK);
        asking a = {.params = forms[k % LM_COUNT(forms)],
                    .teach = teach_far,
                    .user = &unit,
                    .scale = LIMN_SCALE_NONE};
        limn_model *model = must(ctx, data, &a);
        assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
        assert_int_equal(lm_file_from_memory(ctx, bytes, size, "t.limn", &file), LIMN_OK);
        if (lm_model_load(ctx, file, &again) != LIMN_OK)
            fail_msg("%g, %s: %s", unit, a.params, limn_error(ctx));
        assert_int_equal(limn_predictor_new(ctx, again, NULL, &p), LIMN_OK);
        for (size_t i = 0; i < 200; i++) {
            assert_int_equal(limn_predict_proba(p, x + 2 * i, 1, proba), LIMN_OK);
            assert_true(proba[0] >= 0 && proba[1] >= 0 && fabs(proba[0] + proba[1] - 1) < 1e-9);
        }
        limn_predictor_free(p);
        limn_model_free(again);
        limn_model_free(model);
        lm_free(&ctx->mem, bytes);
        limn_data_free(data);
    }
    limn_data_free(usual);
    limn_context_free(ctx);
}

/* A few rows far away neither crash training nor spoil the answers about the others. */
static void test_rows_far_away_do_not_spoil_the_rest(void **state) {
    enum { N = 800, FAR = 12 };
    static const double far[] = {1e4, 1e6, 1e9, 9.96921e36};
    static const char *const params[] = {"form=borders pool=3000", "form=cells pool=3000",
                                         "sampling=random borders=60"};
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *usual = curve_data(ctx, N, 5);
    for (size_t k = 0; k < LM_COUNT(far) * LM_COUNT(params); k++) {
        float x[2 * (N + FAR)];
        double y[N + FAR], truth[2], agreed = 0;
        limn_data *data = NULL;
        limn_predictor *p = NULL;
        int32_t class[N];
        memcpy(x, limn_data_values(usual), 2 * N * sizeof *x);
        for (size_t i = 0; i < N + FAR; i++) {
            if (i >= N) {
                x[2 * i] = (float)((i % 2 ? -1 : 1) * far[k / LM_COUNT(params)]);
                x[2 * i + 1] = i % 4 < 2 ? 2 : -2;
            }
            (void)teach_curve(NULL, x + 2 * i, 1, truth);
            y[i] = truth[0] > truth[1] ? 0 : 1;
        }
        assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, N + FAR, 2, y, &data),
                         LIMN_OK);
        asking a = {
            .params = params[k % LM_COUNT(params)], .teach = teach_curve, .scale = LIMN_SCALE_NONE};
        limn_model *model = must(ctx, data, &a);
        assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predict(p, x, N, class), LIMN_OK);
        for (size_t i = 0; i < N; i++)
            agreed += (double)((class[i] == 0) == (y[i] == y[0])) / N;
        double said = ((const bd_model *)model->body)->agreement;
        if (agreed < said - 0.03 && far[k / LM_COUNT(params)] < 1e12) /* 1e36: no crash is enough */
            fail_msg("%g, %s: %.3f agreed, %.3f said", far[k / LM_COUNT(params)], a.params, agreed,
                     said);
        limn_predictor_free(p);
        limn_model_free(model);
        limn_data_free(data);
    }
    limn_data_free(usual);
    limn_context_free(ctx);
}

/* ---- the decision graph ---- */

/* How many of 200 rows get the same class from the graph as from the votes of all pairs. */
static size_t count_same(limn_context *ctx, const limn_model *model, const float *x) {
    limn_predictor *p = NULL, *q = NULL;
    limn_predictor_options options;
    int32_t graph[200], votes[200];
    size_t same = 0;
    limn_predictor_options_init(&options);
    options.vote = 1;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predictor_new(ctx, model, &options, &q), LIMN_OK);
    assert_int_equal(limn_predict(p, x, 200, graph), LIMN_OK);
    assert_int_equal(limn_predict(q, x, 200, votes), LIMN_OK);
    for (size_t i = 0; i < 200; i++)
        same += graph[i] == votes[i];
    limn_predictor_free(p);
    limn_predictor_free(q);
    return same;
}

static void test_the_graph_gives_the_class_of_the_votes(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 300, 3);
    asking a = {.params = "borders=20 pool=1000 multi=dag", .teacher_method = "svm"}, b = a;
    b.params = "borders=20 pool=1000 multi=ovo";
    limn_model *graph = must(ctx, data, &a), *all = must(ctx, data, &b);
    const bd_model *m = graph->body, *n = all->body;
    assert_true(m->dag && !n->dag);
    assert_int_equal(m->n, n->n);
    assert_true(count_same(ctx, graph, limn_data_values(data)) > 190);
    limn_model_free(graph);
    limn_model_free(all);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* A row is right where its class is left, and pairs asked are counted, by the definition. */
static void test_what_the_graph_touches_is_counted(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 200, 3);
    asking a = {.params = "borders=20 pool=500 multi=dag",
                .teacher_method = "svm",
                .scale = LIMN_SCALE_NONE};
    limn_model *model = must(ctx, data, &a);
    const bd_model *m = model->body;
    lm_cursor at = lm_cursor_at(NULL);
    bd_scratch(m, 200, 0, &at);
    void *scratch = lm_alloc_measured(&ctx->mem, &at);
    double *g = malloc(200 * m->pairs * sizeof *g), vectors = 0;
    const float *x = limn_data_values(data);
    lm_touched touched = {0, 0};
    bd_scores(m, x, 200, g, scratch);
    bd_touched(m, x, 200, &touched, scratch);
    for (size_t i = 0; i < 200; i++) {
        /* of three classes: the pair (0,2), then (0,1) or (1,2) */
        const double *row = g + 3 * i;
        size_t pair[2] = {1, row[1] > 0 ? 0 : 2};
        for (int k = 0; k < 2; k++) {
            size_t count = m->start[pair[k] + 1] - m->start[pair[k]];
            vectors += (double)(count > 1 ? count + 1 : count);
        }
    }
    assert_true(fabs(touched.vectors - vectors) < 1e-9);
    assert_true(fabs(touched.bytes - vectors * (double)(m->d + 1) * 4) < 1e-6);
    lm_free_aligned(&ctx->mem, scratch);
    free(g);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- progress and threads ---- */

typedef struct told {
    size_t calls, stop, agreement;
    uint64_t pairs_as_rows;
    double fraction;
} told;

static int on_progress(void *user, const limn_progress *news) {
    told *t = user;
    if (strcmp(news->stage, "drawing borders") == 0)
        t->pairs_as_rows += news->rows;
    t->agreement += news->detail && strstr(news->detail, "% agreement") != NULL;
    t->fraction = news->fraction > t->fraction ? news->fraction : t->fraction;
    return ++t->calls == t->stop;
}

static limn_context *telling(told *t, const limn_allocator *mem) {
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    if (mem)
        options.allocator = *mem;
    options.threads = 2;
    options.progress = on_progress;
    options.user = t;
    assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
    return ctx;
}

static void test_progress_says_how_well_the_teacher_is_followed(void **state) {
    static const char *const teachers[] = {"svm", "lda"};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(teachers); i++) {
        told t = {0};
        limn_context *ctx = telling(&t, NULL);
        limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 200, 3);
        asking a = {.params = "borders=10 pool=500", .teacher_method = teachers[i]};
        limn_model_free(must(ctx, data, &a));
        assert_true(t.agreement > 0 && t.fraction <= 1);
        assert_int_equal(t.pairs_as_rows, 0);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

static void test_training_can_be_cancelled_at_any_report(void **state) {
    (void)state;
    bool done = false;
    for (size_t stop = 1; !done; stop += stop < 20 ? 1 : every(17)) {
        told t = {.stop = stop};
        limn_context *ctx = telling(&t, NULL);
        limn_data *data = curve_data(ctx, 100, 5);
        limn_model *model = NULL;
        asking a = {.params = "borders=10 pool=300", .teacher_method = "svm"};
        limn_status status = try_borders(ctx, data, &a, &model);
        done = status == LIMN_OK;
        assert_true(done || (status == LIMN_E_CANCELLED && !model));
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

static void test_threads_do_not_change_the_model(void **state) {
    static const char *const teachers[] = {"svm", "kde", "knn", "lda"};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(teachers); i++) {
        unsigned char *bytes[3];
        size_t size[3];
        for (int t = 0; t < 3; t++) {
            limn_context *ctx = make_context(NULL, t + 1, 3);
            limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 150, 3);
            asking a = {.params = "borders=8 pool=400", .teacher_method = teachers[i]};
            limn_model *model = must(ctx, data, &a);
            unsigned char *own = NULL;
            assert_int_equal(lm_model_bytes(ctx, model, &own, &size[t]), LIMN_OK);
            bytes[t] = malloc(size[t]);
            memcpy(bytes[t], own, size[t]);
            lm_free(&ctx->mem, own);
            limn_model_free(model);
            limn_data_free(data);
            limn_context_free(ctx);
            assert_int_equal(size[t], size[0]);
            assert_memory_equal(bytes[t], bytes[0], size[0]);
        }
        for (int t = 0; t < 3; t++)
            free(bytes[t]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_straight_border_takes_one_vector_and_a_curved_one_several_borders),
        cmocka_unit_test(test_bits_are_decided_by_planes),
        cmocka_unit_test(test_a_form_that_is_asked_for_is_used),
        cmocka_unit_test(test_huge_and_tiny_values_give_a_model_that_opens),
        cmocka_unit_test(test_rows_far_away_do_not_spoil_the_rest),
        cmocka_unit_test(test_the_graph_gives_the_class_of_the_votes),
        cmocka_unit_test(test_what_the_graph_touches_is_counted),
        cmocka_unit_test(test_progress_says_how_well_the_teacher_is_followed),
        cmocka_unit_test(test_training_can_be_cancelled_at_any_report),
        cmocka_unit_test(test_threads_do_not_change_the_model),
    };
    return cmocka_run_group_tests_name("borders_forms", tests, NULL, NULL);
}
