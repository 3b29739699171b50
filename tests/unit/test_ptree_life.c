/* test_ptree_life.c: perceptron trees from lesson to lesson: files, passes, shares of errors,
 * probabilities, new classes; and what is refused. */
#include "ptree_slow.h"

/* ---- lessons and files ---- */

static const char *const usual[] = {
    "budget=6",
    "budget=5 split=zpq project=0",
    "budget=8 split=bal select=inds reservoir=0",
    "budget=7 split=ent reservoir=25 depth=2",
    "budget=6 style=paper split=rndw",
    "budget=6 kernel=poly coef0=1 average=no split=pca",
    "budget=6 kernel=intersection select=rnds",
    "budget=4 kept=3 margin=0.5 refit=0",
};

#define ONLINE "order=file epochs=1 finish=no gamma=0.25 "

static void check_lessons(const char *usually, size_t classes, int threads) {
    static const size_t cuts[] = {3, 40, 41, 150, 400};
    char text[160];
    bool positive = strstr(usually, "intersection") != NULL;
    rows r = draw_rows(positive ? POSITIVE : GRID, 400, 3, classes, classes);
    limn_context *ctx = make_context(NULL, 1, 3), *other = make_context(NULL, threads, 3);
    (void)snprintf(text, sizeof text, ONLINE "%s", usually);
    pt_model *whole = train(ctx, &r, r.n, text), *m = train(other, &r, cuts[0], text);
    lm_file *file = NULL;
    for (size_t c = 1; c < LM_COUNT(cuts); c++) { /* through a file in between */
        lm_file *last = file;
        pt_model *loaded = reload(other, m, text, &file);
        pt_destroy(&other->mem, m);
        lm_file_close(last);
        m = loaded;
        learn(other, m, &r, cuts[c - 1], cuts[c] - cuts[c - 1], NULL);
    }
    assert_true(whole->leaves > 1);
    assert_same_bytes(ctx, whole, m);
    pt_destroy(&ctx->mem, whole);
    pt_destroy(&other->mem, m);
    lm_file_close(file);
    limn_context_free(ctx);
    limn_context_free(other);
    free_rows(&r);
}

static void test_training_on_all_equals_training_on_some_and_learning_the_rest(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++)
        for (size_t classes = 2; classes <= 4; classes++)
            check_lessons(usual[s], classes, 1 + (int)classes % 2);
}

static void test_saving_and_loading_change_no_answer(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        rows r = draw_rows(POSITIVE, 500, 4, 2 + s % 3, s);
        limn_context *ctx = make_context(NULL, 2, 3);
        lm_file *file = NULL;
        char text[160];
        (void)snprintf(text, sizeof text, "%s gamma=0.5 %s", usual[s], s % 2 ? "" : "finish=no");
        pt_model *m = train(ctx, &r, 400, text), *loaded = reload(ctx, m, text, &file);
        void *scratch[2] = {scratch_for(ctx, m), scratch_for(ctx, loaded)};
        for (size_t i = 0; i < r.n; i++) {
            double a[4], b[4], sum = 0;
            int32_t class = class_of(ctx, m, r.x + i * 4);
            pt_proba(m, r.x + i * 4, 1, a, scratch[0]);
            pt_proba(loaded, r.x + i * 4, 1, b, scratch[1]);
            assert_memory_equal(a, b, r.classes * sizeof *a);
            for (size_t c = 0; c < r.classes; c++) {
                sum += a[c];
                assert_true(a[c] <= a[class]);
            }
            assert_true(fabs(sum - 1) < 1e-9);
        }
        assert_same_bytes(ctx, m, loaded);
        for (size_t i = 0; i < 2; i++)
            lm_free_aligned(&ctx->mem, scratch[i]);
        pt_destroy(&ctx->mem, m);
        pt_destroy(&ctx->mem, loaded);
        lm_file_close(file);
        limn_context_free(ctx);
        free_rows(&r);
    }
}

/* ---- passes ---- */

/* Each pass has a new order, which depends on the seed only. */
static void check_passes(const char *text, bool shuffled) {
    limn_context *ctx = make_context(NULL, 1, 9);
    rows r = draw_rows(CURVED, 200, 3, 2, 1);
    size_t order[200];
    lm_train_set set = set_of(&r, r.n);
    pt_model *m = train(ctx, &r, r.n, text), *slow = new_model(ctx, text, 3, 2);
    for (uint64_t e = 0; e < 3; e++) {
        lm_rng rng = lm_rng_at(lm_hash(9, lm_stream_of("ptree"), PT_ORDER), e, 0);
        for (size_t i = 0; i < r.n; i++)
            order[i] = i;
        if (shuffled)
            lm_rng_shuffle(&rng, order, r.n);
        assert_int_equal(pt_pass(ctx, slow, &set, order, r.n, "learning", NULL), LIMN_OK);
    }
    slow->seen = r.n;
    assert_int_equal(m->steps, 3 * r.n);
    assert_same_bytes(ctx, m, slow);
    pt_destroy(&ctx->mem, m);
    pt_destroy(&ctx->mem, slow);
    free_rows(&r);
    limn_context_free(ctx);
}

/* Fitted numbers far outside the range of floats; files hold biases up to 1e100. */
static void test_models_of_huge_kernels_open_and_their_scores_are_finite(void **state) {
    static const char text[] = "kernel=poly degree=100 gamma=4 coef0=0 budget=20 patience=0";
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    for (size_t classes = 2; classes <= 3; classes++) {
        rows r = draw_rows(CURVED, 600, 2, classes, 3);
        pt_model *m = train(ctx, &r, r.n, text);
        for (int huge = 0; huge < 2; huge++) {
            lm_file *file = NULL;
            for (size_t l = 0; l < m->leaves && huge; l++)
                m->leaf[l].bias[0] = 1e99;
            pt_model *loaded = reload(ctx, m, text, &file);
            for (size_t i = 0; i < r.n; i++) {
                double scores[3];
                scores_of(ctx, loaded, r.x + i * 2, scores);
                for (size_t s = 0; s < pt_score_count(loaded); s++)
                    assert_true(isfinite(scores[s]));
            }
            pt_destroy(&ctx->mem, loaded);
            lm_file_close(file);
        }
        pt_destroy(&ctx->mem, m);
        free_rows(&r);
    }
    limn_context_free(ctx);
}

static void test_each_pass_has_the_rows_in_a_new_order(void **state) {
    (void)state;
    check_passes("gamma=0.5 budget=8 finish=no", true);
    check_passes("gamma=0.5 budget=8 finish=no order=file", false);
    check_passes("style=paper gamma=0.5 budget=8 epochs=3", false);
    check_passes("style=paper gamma=0.5 budget=8 epochs=3 order=shuffle", true);
}

static void test_defaults_are_those_that_the_parameters_promise(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 9);
    pt_options o = options_of(ctx, ""), p = options_of(ctx, "style=paper budget=30");
    assert_true(o.budget == 100 && o.kept == 50 && o.reservoir == 1000 && o.depth == 4);
    assert_true(o.average && o.finish && o.shuffle && o.epochs == 3 && !o.paper);
    assert_true(o.refit == 1e-4 && o.project == 0.1 && o.margin == 0.1 && o.patience == 10);
    assert_true(p.budget == 30 && p.kept == 15 && p.reservoir == SIZE_MAX && p.depth == 64);
    assert_true(!p.average && !p.finish && !p.shuffle && p.epochs == 1 && p.paper);
    assert_true(p.refit == 0 && p.project == 0 && p.margin == 0 && p.patience == 0);
    assert_true(o.find_gamma && !options_of(ctx, "kernel=linear").find_gamma);
    limn_context_free(ctx);
}

/* ---- shares of errors ---- */

/* The mean over the first 2000 rows; from then on a row has a share of 1 / 2000, and all before it
 * the rest. */
static double faded(const uint8_t *off, size_t n) {
    double share = 0, rest = 1;
    size_t last = n < 2000 ? n : 2000;
    for (size_t i = n; i-- > last;) {
        share += rest / 2000 * off[i];
        rest *= 1 - 1.0 / 2000;
    }
    for (size_t i = 0; i < last; i++)
        share += rest / (double)last * off[i];
    return share;
}

static void test_shares_of_errors_are_those_before_each_row_and_fade(void **state) {
    (void)state;
    enum { N = 2600 };
    static uint8_t off[2][N];
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(CURVED, N, 2, 2, 4);
    pt_model *m = new_model(ctx, "gamma=1 budget=10 depth=1", 2, 2);
    lm_train_set set = set_of(&r, N);
    for (size_t i = 0; i < N; i++) {
        double wrong[2] = {0, 0};
        bool mean = m->wrong[1] <= m->wrong[0];
        int32_t said = class_of(ctx, m, r.x + 2 * i);
        assert_int_equal(pt_pass(ctx, m, &set, &i, 1, "learning", wrong), LIMN_OK);
        for (size_t k = 0; k < 2; k++)
            off[k][i] = wrong[k] > 0;
        assert_true(wrong[mean] == (said != r.label[i]));
        if (i % 100 == 99 || i < 10)
            for (size_t k = 0; k < 2; k++)
                assert_true(fabs(m->wrong[k] - faded(off[k], i + 1)) < 1e-9);
    }
    assert_true(m->wrong[0] > m->wrong[1] && m->wrong[1] > 0);
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
}

/* ---- probabilities ---- */

static double log_loss(limn_context *ctx, const pt_model *m, const rows *r, size_t first) {
    void *scratch = scratch_for(ctx, m);
    double sum = 0, p[SLOW_OUTPUTS];
    for (size_t i = first; i < r->n; i++) {
        pt_proba(m, r->x + i * r->d, 1, p, scratch);
        sum -= log(fmax(p[r->label[i]], 1e-9));
    }
    lm_free_aligned(&ctx->mem, scratch);
    return sum;
}

/* p_a / p_b is the exponential of the slope of the answer times the score of the pair. */
static void check_odds(limn_context *ctx, const pt_model *m, const float *x) {
    void *scratch = scratch_for(ctx, m);
    double p[SLOW_OUTPUTS], scores[SLOW_OUTPUTS * SLOW_OUTPUTS], slope;
    size_t at = 0;
    slope = m->slope[class_of(ctx, m, x)];
    pt_proba(m, x, 1, p, scratch);
    scores_of(ctx, m, x, scores);
    for (size_t a = 0; a < m->classes; a++)
        for (size_t b = a + 1; b < m->classes; b++, at++)
            if (p[a] > 1e-9 && p[b] > 1e-9)
                assert_true(fabs(log(p[a] / p[b]) - slope * scores[at]) <= 1e-6);
    lm_free_aligned(&ctx->mem, scratch);
}

/* Probabilities that are twice as sure, or half as sure, explain new rows worse. */
static void test_probabilities_are_as_sure_as_answers_are_right(void **state) {
    static const char *const texts[] = {"gamma=1 budget=20 depth=2 finish=no",
                                        "gamma=1 budget=20 depth=2 epochs=1",
                                        "gamma=1 budget=20 style=paper"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++)
        for (size_t classes = 2; classes <= 3; classes++) {
            limn_context *ctx = make_context(NULL, 1, 1);
            rows r = draw_rows(CURVED, 4000, 2, classes, t);
            pt_model *m = train(ctx, &r, 2500, texts[t]);
            double own = log_loss(ctx, m, &r, 2500);
            for (size_t i = 3900; i < 4000; i++)
                check_odds(ctx, m, r.x + i * 2);
            for (size_t c = 0; c < classes; c++)
                m->slope[c] *= 2;
            assert_true(own < log_loss(ctx, m, &r, 2500));
            for (size_t c = 0; c < classes; c++)
                m->slope[c] /= 4;
            assert_true(own < log_loss(ctx, m, &r, 2500));
            pt_destroy(&ctx->mem, m);
            free_rows(&r);
            limn_context_free(ctx);
        }
}

/* ---- more classes ---- */

static size_t errors_of(limn_context *ctx, const pt_model *m, const rows *r, size_t first) {
    size_t wrong = 0;
    for (size_t i = first; i < r->n; i++)
        wrong += class_of(ctx, m, r->x + i * r->d) != r->label[i];
    return wrong;
}

/* log p_0 / p_1, between -10 and 10. */
static double odds_of(limn_context *ctx, const pt_model *m, const float *x) {
    void *scratch = scratch_for(ctx, m);
    double p[SLOW_OUTPUTS] = {0};
    pt_proba(m, x, 1, p, scratch);
    lm_free_aligned(&ctx->mem, scratch);
    return fmax(-10, fmin(10, m->classes > 1 ? log(p[0]) - log(p[1]) : 0));
}

/* The score of the first two classes: f becomes f and -f, whose difference is 2 f. */
static void check_widening(const char *usually, size_t before, size_t after, uint64_t seed) {
    enum { QUERIES = 100 };
    char text[160];
    limn_context *ctx = make_context(NULL, 1, seed);
    rows r = draw_rows(POSITIVE, 300, 3, before, seed), q = draw_rows(POSITIVE, QUERIES, 3, 2, 99);
    int32_t old[QUERIES];
    double f[QUERIES], odds[QUERIES], scores[SLOW_OUTPUTS * SLOW_OUTPUTS] = {0};
    /* Three outputs of which none is above 0 would give way to that of the new class, which is 0:
     * perceptron steps leave none, but the last fit does. */
    (void)snprintf(text, sizeof text, "gamma=0.5 %s %s", usually, before > 2 ? "finish=no" : "");
    pt_model *m = train(ctx, &r, r.n, text);
    for (size_t i = 0; i < QUERIES; i++) {
        old[i] = class_of(ctx, m, q.x + i * 3);
        scores_of(ctx, m, q.x + i * 3, scores);
        f[i] = scores[0];
        odds[i] = odds_of(ctx, m, q.x + i * 3);
    }
    assert_int_equal(pt_widen(ctx, m, after), LIMN_OK);
    assert_int_equal(m->outputs, after > 2 ? after : 1);
    for (size_t i = 0; i < QUERIES; i++) {
        double by = before == 2 && after > 2 ? 2 : 1;
        assert_int_equal(class_of(ctx, m, q.x + i * 3), old[i]);
        scores_of(ctx, m, q.x + i * 3, scores);
        assert_true(before == 1 || fabs(scores[0] - by * f[i]) <= 1e-6 * fabs(f[i]));
        assert_true(before == 1 || fabs(odds_of(ctx, m, q.x + i * 3) - odds[i]) <= 1e-4);
    }
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    free_rows(&q);
    limn_context_free(ctx);
}

static void test_more_classes_change_no_answer_about_the_first_ones(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        check_widening(usual[s], 1, 2, s);
        check_widening(usual[s], 1, 3, s);
        check_widening(usual[s], 2, 3, s);
        check_widening(usual[s], 2, 5, s);
        check_widening(usual[s], 3, 4, s);
    }
}

/* The same row with both labels: the leaf has tried to split, and waits. */
static void test_more_classes_change_nothing_that_leaves_know(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(NOISE, 400, 2, 2, 1);
    for (size_t j = 0; j < 800; j++)
        r.x[j] = 1;
    pt_model *m = train(ctx, &r, 5, ONLINE "budget=8 kept=7 project=0 margin=100");
    for (size_t i = 5; i < r.n && !m->leaf[0].wait; i++)
        learn(ctx, m, &r, i, 1, NULL);
    pt_leaf before = m->leaf[0];
    uint64_t count[2] = {before.count[0], before.count[1]};
    assert_true(before.wait > 0);
    assert_int_equal(pt_widen(ctx, m, 4), LIMN_OK);
    const pt_leaf *after = &m->leaf[0];
    assert_int_equal(after->wait, before.wait);
    assert_int_equal(after->seen, before.seen);
    assert_int_equal(after->kept, before.kept);
    assert_int_equal(after->majority, before.majority);
    assert_true(after->e.steps == before.e.steps && after->parent == before.parent);
    for (size_t c = 0; c < 4; c++)
        assert_int_equal(after->count[c], c < 2 ? count[c] : 0);
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
}

static void test_classes_that_come_late_are_learned(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        char text[160];
        limn_context *ctx = make_context(NULL, 1, s);
        rows two = draw_rows(FAR, 300, 3, 2, s), four = draw_rows(FAR, 1200, 3, 4, s);
        lm_file *file = NULL;
        (void)snprintf(text, sizeof text, ONLINE "%s reservoir=100", usual[s]);
        if (strstr(text, "reservoir=0") || strstr(text, "reservoir=25"))
            (void)snprintf(text, sizeof text, ONLINE "%s", usual[s]);
        for (size_t j = 0; j < 3 * two.n; j++)
            two.x[j] += 10;
        for (size_t j = 0; j < 3 * four.n; j++)
            four.x[j] += 10;
        pt_model *m = train(ctx, &two, two.n, text);
        assert_int_equal(pt_widen(ctx, m, 4), LIMN_OK);
        learn(ctx, m, &four, 0, 900, NULL);
        size_t wrong = errors_of(ctx, m, &four, 900);
        if (strstr(text, "kernel") == NULL && wrong > 15)
            fail_msg("%s: %zu of 300 wrong", text, wrong);
        pt_model *loaded = reload(ctx, m, text, &file);
        assert_same_bytes(ctx, m, loaded);
        pt_destroy(&ctx->mem, loaded);
        lm_file_close(file);
        pt_destroy(&ctx->mem, m);
        free_rows(&two);
        free_rows(&four);
        limn_context_free(ctx);
    }
}

/* ---- what is refused ---- */

static limn_status try_model(limn_context *ctx, const limn_data *data, const char *text,
                             limn_scale scale, limn_model **model) {
    limn_train_options options;
    param_list list = {.count = 0};
    limn_train_options_init(&options);
    add_params(&list, text);
    options.method = "ptree";
    options.params = list.list;
    options.param_count = list.count;
    options.scale = scale;
    *model = NULL;
    return limn_train(ctx, data, &options, model);
}

static void refused(limn_context *ctx, const limn_data *data, const char *text, limn_scale scale,
                    limn_status status, const char *sentence) {
    limn_model *model;
    assert_int_equal(try_model(ctx, data, text, scale, &model), status);
    if (!strstr(limn_error(ctx), sentence))
        fail_msg("%s: %s", text, limn_error(ctx));
    assert_null(model);
}

static limn_data *data_of(limn_context *ctx, const rows *r) {
    limn_data *data = NULL;
    double *y = malloc(r->n * sizeof *y);
    for (size_t i = 0; i < r->n; i++)
        y[i] = r->label[i];
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, r->x, r->n, r->d, y, &data),
                     LIMN_OK);
    free(y);
    return data;
}

static void test_parameters_that_make_no_sense_are_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(CURVED, 60, 3, 2, 1);
    limn_data *data = data_of(ctx, &r);
    static const char *const texts[] = {"gamma=0",    "gamma=-1",    "budget=1",
                                        "budget=0",   "depth=65",    "split=best",
                                        "select=all", "project=1.5", "kept=0"};
    for (size_t t = 0; t < LM_COUNT(texts); t++) {
        char key[16];
        assert_int_equal(sscanf(texts[t], "%15[a-z]", key), 1);
        refused(ctx, data, texts[t], LIMN_SCALE_AUTO, LIMN_E_USAGE, key);
    }
    static const char *const kept[] = {"budget=5 kept=5", "budget=5 kept=6", "kept=100"};
    for (size_t t = 0; t < LM_COUNT(kept); t++)
        refused(ctx, data, kept[t], LIMN_SCALE_AUTO, LIMN_E_USAGE,
                "ptree: kept must be less than budget, so that a new leaf has room to learn");
    limn_model *model;
    assert_int_equal(try_model(ctx, data, "budget=2 gamma=1", LIMN_SCALE_AUTO, &model), LIMN_OK);
    limn_model_free(model);
    limn_data_free(data);
    free_rows(&r);
    limn_context_free(ctx);
}

static void check_scale(limn_context *ctx, const limn_data *data, const char *text,
                        limn_scale expected) {
    limn_model *model;
    assert_int_equal(try_model(ctx, data, text, LIMN_SCALE_AUTO, &model), LIMN_OK);
    assert_int_equal(model->scaler.kind, expected);
    limn_model_free(model);
}

static void test_kernels_for_numbers_above_0_scale_to_them_or_refuse_others(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(POSITIVE, 60, 3, 2, 1);
    limn_data *above = data_of(ctx, &r);
    r.x[17 * 3 + 1] = -0.25f;
    limn_data *data = data_of(ctx, &r);
    limn_model *model;
    check_scale(ctx, data, "kernel=chi2 gamma=1", LIMN_SCALE_MINMAX);
    check_scale(ctx, data, "kernel=intersection", LIMN_SCALE_MINMAX);
    check_scale(ctx, data, "kernel=chi2 gamma=1 style=paper", LIMN_SCALE_MINMAX);
    check_scale(ctx, data, "gamma=1", LIMN_SCALE_ZSCORE);
    check_scale(ctx, data, "gamma=1 style=paper", LIMN_SCALE_NONE);
    refused(ctx, data, "kernel=chi2 gamma=1", LIMN_SCALE_NONE, LIMN_E_DATA,
            "ptree: kernel=chi2 is for numbers that are 0 or more, but row 18 has one below 0");
    refused(ctx, data, "kernel=intersection", LIMN_SCALE_ZSCORE, LIMN_E_DATA,
            "ptree: kernel=intersection is for numbers that are 0 or more, but row 1 has one");
    assert_int_equal(try_model(ctx, above, "kernel=chi2 gamma=1", LIMN_SCALE_NONE, &model),
                     LIMN_OK);
    limn_model_free(model);
    limn_data_free(above);
    limn_data_free(data);
    free_rows(&r);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_on_all_equals_training_on_some_and_learning_the_rest),
        cmocka_unit_test(test_saving_and_loading_change_no_answer),
        cmocka_unit_test(test_models_of_huge_kernels_open_and_their_scores_are_finite),
        cmocka_unit_test(test_each_pass_has_the_rows_in_a_new_order),
        cmocka_unit_test(test_defaults_are_those_that_the_parameters_promise),
        cmocka_unit_test(test_shares_of_errors_are_those_before_each_row_and_fade),
        cmocka_unit_test(test_probabilities_are_as_sure_as_answers_are_right),
        cmocka_unit_test(test_more_classes_change_no_answer_about_the_first_ones),
        cmocka_unit_test(test_more_classes_change_nothing_that_leaves_know),
        cmocka_unit_test(test_classes_that_come_late_are_learned),
        cmocka_unit_test(test_parameters_that_make_no_sense_are_refused),
        cmocka_unit_test(test_kernels_for_numbers_above_0_scale_to_them_or_refuse_others),
    };
    return cmocka_run_group_tests_name("ptree_life", tests, NULL, NULL);
}
