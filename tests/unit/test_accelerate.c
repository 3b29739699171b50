/* test_accelerate.c: the race of accelerate: figures equal what the chosen model really answers,
 * what is chosen is within its limits, and what cannot be raced is refused. No assertion depends on
 * how fast the machine is: with less time, fewer models take part. */
#include "choose/race.h"
#include "support.h"
#include "svm/machine.h"
#include "svm/peer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 150, TESTS = 80 };

typedef struct world {
    limn_context *ctx;
    limn_data *data, *test;
    limn_model *model;
} world;

static limn_model *must_train(limn_context *ctx, const limn_data *data, const char *method,
                              const char *text) {
    limn_model *model = NULL;
    limn_train_options options;
    param_list params = {.count = 0};
    add_params(&params, text);
    limn_train_options_init(&options);
    options.method = method;
    options.params = params.list;
    options.param_count = params.count;
    if (limn_train(ctx, data, &options, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return model;
}

static world make_world(limn_task task, const char *method, const char *params) {
    world w = {.ctx = make_context(NULL, 2, 7)};
    w.data = make_data(w.ctx, task, SHAPE_RANDOM, ROWS, 3);
    w.test = make_data(w.ctx, task, SHAPE_RANDOM, TESTS, 4);
    w.model = must_train(w.ctx, w.data, method, params);
    assert_int_equal(limn_data_match(w.ctx, w.test, w.model), LIMN_OK);
    return w;
}

static void end_world(world *w) {
    limn_model_free(w->model);
    limn_data_free(w->data);
    limn_data_free(w->test);
    limn_context_free(w->ctx);
}

static limn_accelerate_options brief(const limn_data *test) {
    limn_accelerate_options options;
    limn_accelerate_options_init(&options);
    options.time_limit = 4;
    options.test = test;
    return options;
}

static limn_race *must_race(world *w, const limn_data *data,
                            const limn_accelerate_options *options) {
    limn_race *race = NULL;
    if (limn_accelerate(w->ctx, w->model, data, options, &race) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    return race;
}

static limn_race_info info_of(const limn_race *race) {
    limn_race_info info;
    limn_race_info_init(&info);
    limn_race_describe(race, &info);
    return info;
}

static limn_entry entry_at(const limn_race *race, size_t index) {
    limn_entry entry;
    limn_entry_init(&entry);
    assert_true(limn_race_entry(race, index, &entry));
    return entry;
}

static void ask(world *w, const limn_model *model, const limn_data *data, limn_answer kind,
                void *out) {
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(w->ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict_rows(p, kind, data->x, data->n, limn_data_width(data), out),
                     LIMN_OK);
    limn_predictor_free(p);
}

/* What holds for every race. */
static void check_race(const limn_race *race) {
    limn_race_info info = info_of(race);
    limn_entry exact = entry_at(race, 0), last;
    limn_entry_init(&last);
    assert_false(limn_race_entry(race, info.entries, &last));
    assert_string_equal(exact.params, "");
    assert_true(exact.loss <= 0 && exact.agreement >= 1);
    for (size_t i = 0; i < info.entries; i++) {
        limn_entry e = entry_at(race, i);
        if (e.state != LIMN_ENTRY_RACED) {
            assert_false(e.fits);
            continue;
        }
        assert_true(e.bytes > 0 && e.latency_us_mean > 0 && e.latency_us_p50 > 0);
        assert_true(e.latency_us_p99 >= e.latency_us_p50);
        assert_true(fabs(e.speedup_exact * e.latency_us_mean / exact.latency_us_mean - 1) < 1e-9);
        assert_int_equal(e.within_loss,
                         e.loss <= info.max_loss + 1e-12 &&
                             !(exact.uncertainty_coefficient - e.uncertainty_coefficient >
                               info.max_uc_loss + 1e-12));
        if (e.fits)
            assert_true(entry_at(race, info.chosen).latency_us_mean <= e.latency_us_mean);
    }
    assert_true(info.chosen < info.entries);
    assert_true(entry_at(race, info.chosen).fits);
    assert_true(entry_at(race, info.chosen).latency_us_mean <= exact.latency_us_mean);
}

/* ---- figures ---- */

static void test_figures_are_those_of_the_model_that_was_chosen(void **state) {
    (void)state;
    world w = make_world(LIMN_CLASSIFY, "svm", "C=5 gamma=0.5");
    limn_accelerate_options options = brief(w.test);
    limn_race *race = must_race(&w, w.data, &options);
    int32_t own[TESTS], old[TESTS];
    size_t right = 0, same = 0, before = 0;
    check_race(race);
    limn_entry e = entry_at(race, info_of(race).chosen);
    ask(&w, limn_race_model(race), w.test, LIMN_ANSWER_CLASSES, own);
    ask(&w, w.model, w.test, LIMN_ANSWER_CLASSES, old);
    for (size_t i = 0; i < TESTS; i++) {
        right += own[i] == w.test->label[i];
        before += old[i] == w.test->label[i];
        same += own[i] == old[i];
    }
    assert_true(fabs(e.accuracy - (double)right / TESTS) < 1e-12);
    assert_true(fabs(e.agreement - (double)same / TESTS) < 1e-12);
    assert_true(fabs(e.loss - ((double)before - (double)right) / TESTS) < 1e-12);
    assert_int_equal(info_of(race).judge, LIMN_JUDGE_ACCURACY);
    assert_int_equal(info_of(race).fitted, ROWS);
    assert_int_equal(info_of(race).judged, TESTS);
    assert_true(isfinite(info_of(race).libsvm_us_mean));
    limn_race_free(race);
    end_world(&w);
}

static void test_regression_is_judged_by_the_old_answers(void **state) {
    (void)state;
    world w = make_world(LIMN_REGRESS, "svm", "C=5 gamma=0.1");
    limn_accelerate_options options = brief(w.test);
    limn_race *race = must_race(&w, w.data, &options);
    double own[TESTS], old[TESTS], mean = 0, left = 0, all = 0;
    check_race(race);
    assert_int_equal(info_of(race).judge, LIMN_JUDGE_VALUES);
    limn_entry e = entry_at(race, info_of(race).chosen);
    ask(&w, limn_race_model(race), w.test, LIMN_ANSWER_VALUES, own);
    ask(&w, w.model, w.test, LIMN_ANSWER_VALUES, old);
    for (size_t i = 0; i < TESTS; i++)
        mean += old[i] / TESTS;
    for (size_t i = 0; i < TESTS; i++) {
        left += (own[i] - old[i]) * (own[i] - old[i]);
        all += (old[i] - mean) * (old[i] - mean);
    }
    assert_true(fabs(e.agreement - (1 - left / all)) < 1e-9);
    assert_true(e.loss <= 0.005 + 1e-12);
    limn_race_free(race);
    end_world(&w);
}

static void test_any_model_can_teach_with_data(void **state) {
    (void)state;
    static const char *const methods[] = {"knn", "lda", "vpc"};
    for (size_t i = 0; i < LM_COUNT(methods); i++) {
        world w = make_world(LIMN_CLASSIFY, methods[i], NULL);
        limn_accelerate_options options = brief(NULL);
        options.time_limit = 1;
        limn_race *race = must_race(&w, w.data, &options);
        check_race(race);
        assert_true(isnan(info_of(race).libsvm_us_mean));
        assert_int_equal(info_of(race).fitted + info_of(race).judged, ROWS);
        limn_race_free(race);
        end_world(&w);
    }
}

/* ---- rows ---- */

static void test_without_data_support_vectors_and_points_serve(void **state) {
    (void)state;
    world w = make_world(LIMN_CLASSIFY, "svm", "C=5 gamma=0.5");
    limn_accelerate_options options = brief(NULL);
    limn_race *race = must_race(&w, NULL, &options);
    check_race(race);
    assert_true(info_of(race).sampled);
    assert_int_equal(info_of(race).judge, LIMN_JUDGE_AGREEMENT);
    assert_true(isnan(entry_at(race, 0).accuracy));
    limn_race_free(race);
    end_world(&w);
}

static void test_rows_without_labels_are_judged_by_agreement(void **state) {
    (void)state;
    world w = make_world(LIMN_CLASSIFY, "svm", "C=5 gamma=0.5");
    limn_accelerate_options options = brief(NULL);
    free(w.test->label);
    w.test->label = NULL;
    options.time_limit = 1;
    limn_race *race = must_race(&w, w.test, &options);
    check_race(race);
    assert_int_equal(info_of(race).judge, LIMN_JUDGE_AGREEMENT);
    assert_true(fabs(info_of(race).max_loss - 0.02) < 1e-12);
    limn_race_free(race);
    end_world(&w);
}

static void test_a_slow_model_is_asked_about_part_of_the_rows(void **state) {
    (void)state;
    enum { MANY = 2000 };
    world w = make_world(LIMN_CLASSIFY, "svm", "C=5 gamma=0.5");
    limn_data *many = make_data(w.ctx, LIMN_CLASSIFY, SHAPE_RANDOM, MANY, 5);
    assert_int_equal(limn_data_match(w.ctx, many, w.model), LIMN_OK);
    for (int part = 0; part < 2; part++) {
        lm_race_rows rows;
        double seconds = part ? 0 : 1e9; /* however slow this machine is */
        assert_int_equal(lm_race_rows_make(w.ctx, w.model, many, NULL, seconds, &rows), LIMN_OK);
        size_t used = rows.fit->n + rows.judge->n;
        assert_true(part ? used >= LM_RACE_ASKED_LEAST - 5 && used <= LM_RACE_ASKED_LEAST + 5
                         : used == MANY);
        lm_race_rows_free(&w.ctx->mem, &rows);
    }
    limn_data_free(many);
    end_world(&w);
}

static void test_rows_of_the_training_are_found(void **state) {
    (void)state;
    world w = make_world(LIMN_CLASSIFY, "svm", "C=5 gamma=0.5");
    limn_accelerate_options options = brief(NULL);
    options.time_limit = 1;
    limn_race *race = must_race(&w, w.data, &options);
    limn_race_info info = info_of(race);
    assert_int_equal(info.found, info.vectors);
    assert_int_equal(info.judge, LIMN_JUDGE_AGREEMENT);
    assert_true(fabs(info.max_loss - 0.005) < 1e-12); /* it is surest of these rows */
    limn_race_free(race);
    race = must_race(&w, w.test, &options);
    assert_int_equal(info_of(race).found, 0);
    assert_int_equal(info_of(race).judge, LIMN_JUDGE_ACCURACY);
    limn_race_free(race);
    end_world(&w);
}

static void test_familiar_counts_vectors_among_rows_despite_rounding(void **state) {
    (void)state;
    enum { N = 40, D = 3 };
    limn_context *ctx = make_context(NULL, 1, 1);
    float sv[N * D], rows[2 * N * D];
    lm_rng rng = lm_rng_at(1, 2, 3);
    for (size_t i = 0; i < N * D; i++)
        sv[i] = (float)lm_rng_normal(&rng);
    for (size_t i = 0; i < 2 * N * D; i++)
        rows[i] = (float)lm_rng_normal(&rng);
    for (size_t k = 0; k <= N; k += 8) { /* the first k vectors are rows, nearly */
        lm_familiar seen = {.found = 99};
        for (size_t i = 0; i < k * D; i++)
            rows[i + D] = sv[i] * (1 + 1e-7F);
        lm_svm svm = {.n = N, .d = D, .sv = sv};
        assert_int_equal(lm_race_familiar(ctx, &svm, rows, D, 2 * N, &seen), LIMN_OK);
        assert_true(seen.found <= k && seen.found + 1 >= k); /* one may lie at the edge of a cell */
        assert_int_equal(seen.trained, k > 0);
    }
    limn_context_free(ctx);
}

static lm_familiar meet(limn_context *ctx, const lm_svm *svm, const float *rows, size_t n) {
    lm_familiar seen;
    assert_int_equal(lm_race_familiar(ctx, svm, rows, svm->d, n, &seen), LIMN_OK);
    return seen;
}

/* A row of d whole numbers below `values`. */
static void draw_row(lm_rng *rng, size_t values, size_t d, float *row) {
    for (size_t j = 0; j < d; j++)
        row[j] = (float)lm_rng_below(rng, values);
}

static void test_rows_that_meet_vectors_by_chance_are_not_called_familiar(void **state) {
    (void)state;
    enum { N = 1500, M = 400, D = 4 };
    limn_context *ctx = make_context(NULL, 1, 1);
    float *sv = malloc(M * D * sizeof *sv), *rows = malloc(N * D * sizeof *rows);
    lm_svm svm = {.n = M, .d = D, .sv = sv};
    for (size_t values = 3; values < 12; values++) { /* 81 to 14,641 different rows */
        lm_rng rng = lm_rng_at(1, values, 3);
        for (size_t i = 0; i < M; i++)
            draw_row(&rng, values, D, sv + i * D);
        for (size_t i = 0; i < N; i++)
            draw_row(&rng, values, D, rows + i * D);
        lm_familiar seen = meet(ctx, &svm, rows, N);
        assert_false(seen.trained);
        assert_true(values > 4 || seen.found > M / 2);
    }
    /* Part of the training rows, of which few are vectors. */
    lm_rng rng = lm_rng_at(1, 1, 4);
    for (size_t i = 0; i < N * D; i++)
        rows[i] = (float)lm_rng_normal(&rng);
    for (size_t i = 0; i < M * D; i++)
        sv[i] = i < M / 8 * D ? rows[i] : (float)lm_rng_normal(&rng);
    assert_true(meet(ctx, &svm, rows, N).trained);
    /* A feature that is constant among the vectors still tells rows apart. */
    for (size_t i = 0; i < M; i++)
        memcpy(sv + i * D, (float[]){0, 5, 1, 0}, D * sizeof *sv);
    for (size_t i = 0; i < N; i++)
        memcpy(rows + i * D, (float[]){0, 5.1F, 1, 0}, D * sizeof *rows);
    assert_int_equal(meet(ctx, &svm, rows, N).found, 0);
    free(sv);
    free(rows);
    limn_context_free(ctx);
}

/* ---- LIBSVM ---- */

static void check_peer(const char *params) {
    world w = make_world(LIMN_CLASSIFY, "svm", params);
    const lm_svm *svm = lm_race_svm(w.model);
    size_t k = w.model->schema.labels.count, pairs = k * (k - 1) / 2, d = w.model->scaler.out;
    float *x = malloc(TESTS * d * sizeof *x);
    double *f = malloc(TESTS * pairs * sizeof *f);
    lm_svm_peer *peer = NULL;
    lm_scaler_apply(&w.model->scaler, w.test->x, TESTS, x, NULL);
    assert_int_equal(lm_svm_peer_make(w.ctx, svm, x, d, TESTS, &peer), LIMN_OK);
    ask(&w, w.model, w.test, LIMN_ANSWER_SCORES, f);
    int32_t own[TESTS];
    ask(&w, w.model, w.test, LIMN_ANSWER_CLASSES, own);
    for (size_t i = 0; i < TESTS; i++) {
        double least = INFINITY;
        for (size_t p = 0; p < pairs; p++)
            least = fmin(least, fabs(f[i * pairs + p]));
        if (least > 1e-3)
            assert_int_equal((int32_t)lm_svm_peer_answer(peer, i), own[i]);
    }
    lm_svm_peer_free(peer);
    free(x);
    free(f);
    end_world(&w);
}

static void test_libsvm_gives_the_same_classes(void **state) {
    (void)state;
    check_peer("C=5 gamma=0.5");
    check_peer("kernel=linear");
    check_peer("kernel=poly degree=2 coef0=1 gamma=0.2");
}

static void test_libsvm_gives_the_same_values(void **state) {
    (void)state;
    world w = make_world(LIMN_REGRESS, "svm", "C=5 gamma=0.1");
    size_t d = w.model->scaler.out;
    float *x = malloc(TESTS * d * sizeof *x);
    double own[TESTS];
    lm_svm_peer *peer = NULL;
    lm_scaler_apply(&w.model->scaler, w.test->x, TESTS, x, NULL);
    assert_int_equal(lm_svm_peer_make(w.ctx, lm_race_svm(w.model), x, d, TESTS, &peer), LIMN_OK);
    ask(&w, w.model, w.test, LIMN_ANSWER_VALUES, own);
    for (size_t i = 0; i < TESTS; i++)
        assert_true(fabs(lm_svm_peer_answer(peer, i) - own[i]) < 1e-3 * (1 + fabs(own[i])));
    lm_svm_peer_free(peer);
    free(x);
    end_world(&w);
}

/* ---- sharing ---- */

static void train_shared(world *w, const char *method, const char *text, void **shared,
                         unsigned char **bytes, size_t *size) {
    limn_train_options options;
    param_list params = {.count = 0};
    const lm_method *found;
    lm_params plan;
    limn_model *model = NULL;
    add_params(&params, text);
    limn_train_options_init(&options);
    options.method = method;
    options.params = params.list;
    options.param_count = params.count;
    options.teacher = w->model;
    assert_int_equal(lm_model_plan(w->ctx, &options, LIMN_CLASSIFY, &found, &plan), LIMN_OK);
    if (lm_model_train_planned(w->ctx, w->data, found, &plan, &options, shared, &model) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    assert_int_equal(lm_model_bytes(w->ctx, model, bytes, size), LIMN_OK);
    limn_model_free(model);
}

/* Training `text` after `before` gives the same bytes as training it first; alone: as without
 * sharing too. */
static void check_sharing_of(const char *teacher, const char *params, const char *method,
                             const char *before, const char *text, bool alone) {
    world w = make_world(LIMN_CLASSIFY, teacher, params);
    const lm_method *found = lm_method_find(method);
    void *first = NULL, *second = NULL;
    unsigned char *a, *b, *c;
    size_t na, nb, nc;
    train_shared(&w, method, before, &first, &a, &na);
    lm_free(&w.ctx->mem, a);
    train_shared(&w, method, text, &first, &a, &na);
    train_shared(&w, method, text, alone ? NULL : &second, &b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    train_shared(&w, method, text, &first, &c, &nc);
    assert_int_equal(na, nc);
    assert_memory_equal(a, c, na);
    lm_free(&w.ctx->mem, a);
    lm_free(&w.ctx->mem, b);
    lm_free(&w.ctx->mem, c);
    found->unshare(&w.ctx->mem, first);
    found->unshare(&w.ctx->mem, second);
    end_world(&w);
}

static void check_sharing(const char *method, const char *before, const char *text, bool alone) {
    check_sharing_of("svm", "C=5 gamma=0.5", method, before, text, alone);
}

static void test_what_is_shared_does_not_change_a_student(void **state) {
    (void)state;
    check_sharing("student", "size=16 visits=2000 pool=500", "size=8 visits=2000 pool=500", false);
    check_sharing("student", "size=8 visits=2000 pool=500", "size=8+16 visits=2000 pool=500",
                  false);
    check_sharing("student", "size=8 visits=2000 pool=500",
                  "size=8+16 last=teacher visits=2000 pool=500", false);
    /* Other lessons are made anew. */
    check_sharing("student", "size=8 visits=2000 pool=500", "size=8 visits=1000 pool=400 rate=0.01",
                  true);
}

static void test_what_is_shared_does_not_change_borders(void **state) {
    (void)state;
    check_sharing("borders", "borders=5 pool=300 multi=ovo", "borders=5 pool=300 multi=dag", true);
    check_sharing("borders", "borders=5 pool=300", "borders=3 pool=300", true);
    check_sharing("borders", "borders=5 pool=300", "borders=5 pool=200", true);
    /* A teacher that must be asked, because it has no fields. */
    check_sharing_of("vpc", NULL, "borders", "borders=5 pool=300", "borders=3 pool=300", true);
    check_sharing_of("vpc", NULL, "borders", "form=plane pool=100", "borders=3 pool=300", true);
}

/* ---- limits ---- */

static void test_a_budget_that_nothing_meets_chooses_nothing(void **state) {
    (void)state;
    world w = make_world(LIMN_CLASSIFY, "svm", "C=5 gamma=0.5");
    limn_accelerate_options options = brief(w.test);
    options.budget_us = 1e-5;
    options.time_limit = 0.5;
    limn_race *race = must_race(&w, w.data, &options);
    assert_int_equal(info_of(race).chosen, info_of(race).entries);
    assert_null(limn_race_model(race));
    limn_race_free(race);
    options.budget_us = 1e9; /* everything meets it: the exact model loses nothing */
    race = must_race(&w, w.data, &options);
    limn_entry e = entry_at(race, info_of(race).chosen);
    assert_true(e.loss <= 0);
    assert_true(e.latency_us_mean <= entry_at(race, 0).latency_us_mean);
    assert_true(isinf(info_of(race).max_loss));
    limn_race_free(race);
    end_world(&w);
}

static void test_without_time_the_model_itself_wins(void **state) {
    (void)state;
    world w = make_world(LIMN_CLASSIFY, "svm", "C=5 gamma=0.5");
    limn_accelerate_options options = brief(w.test);
    options.time_limit = 1e-9;
    limn_race *race = must_race(&w, w.data, &options);
    assert_int_equal(info_of(race).chosen, 0);
    assert_ptr_equal(limn_race_model(race), w.model);
    for (size_t i = 1; i < info_of(race).entries; i++)
        assert_true(entry_at(race, i).state == LIMN_ENTRY_NOT_TRIED ||
                    entry_at(race, i).state == LIMN_ENTRY_UNSUPPORTED);
    limn_race_free(race);
    end_world(&w);
}

static void refused(world *w, const limn_data *data, limn_status wanted, const char *words) {
    limn_race *race = NULL;
    limn_accelerate_options options = brief(NULL);
    assert_int_equal(limn_accelerate(w->ctx, w->model, data, &options, &race), wanted);
    assert_null(race);
    if (!strstr(limn_error(w->ctx), words))
        fail_msg("%s", limn_error(w->ctx));
    end_world(w);
}

static void test_what_cannot_be_raced_is_refused(void **state) {
    (void)state;
    world w = make_world(LIMN_SEARCH, "knn", NULL);
    refused(&w, w.data, LIMN_E_UNSUPPORTED, "search");
    w = make_world(LIMN_DENSITY, "kde", NULL);
    refused(&w, w.data, LIMN_E_UNSUPPORTED, "density");
    w = make_world(LIMN_OUTLIER, "svm", NULL);
    refused(&w, w.data, LIMN_E_UNSUPPORTED, "outlier");
    w = make_world(LIMN_CLASSIFY, "nhd", "reject=0.1");
    refused(&w, w.data, LIMN_E_UNSUPPORTED, "rejects");
    w = make_world(LIMN_CLASSIFY, "knn", NULL);
    refused(&w, NULL, LIMN_E_USAGE, "--data");
    w = make_world(LIMN_CLASSIFY, "svm", NULL);
    w.data->n = 5;
    refused(&w, w.data, LIMN_E_DATA, "too few");
}

/* ---- failures ---- */

static int stop_at(void *user, const limn_progress *news) {
    int *left = user;
    (void)news;
    return --*left < 0;
}

static void test_cancelling_ends_the_race(void **state) {
    (void)state;
    world w = make_world(LIMN_CLASSIFY, "svm", "C=5 gamma=0.5");
    limn_accelerate_options options = brief(w.test);
    options.time_limit = 1e6; /* long enough for all of these */
    for (int at = 0; at < 40; at += 3) {
        int left = at;
        limn_race *race = NULL;
        w.ctx->progress = stop_at;
        w.ctx->user = &left;
        assert_int_equal(limn_accelerate(w.ctx, w.model, w.data, &options, &race),
                         LIMN_E_CANCELLED);
        assert_null(race);
    }
    end_world(&w);
}

/* Both ways to make rows, and judging; trainings have tests of their own. */
static void test_failing_allocations_are_reported_and_leak_nothing(void **state) {
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        counting count = {.fail_at = 0};
        limn_context *ctx = make_context(&count, 1, 7);
        limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 60, 3);
        limn_model *model = must_train(ctx, data, "svm", "C=5 gamma=0.5");
        limn_accelerate_options options = brief(NULL);
        options.time_limit = 1e-9;
        long live = count.live;
        limn_status status = LIMN_E_MEMORY;
        for (unsigned at = 1; status != LIMN_OK && at < 5000; at++) {
            limn_race *race = NULL;
            count.fail_at = at;
            status = limn_accelerate(ctx, model, sampled ? NULL : data, &options, &race);
            count.fail_at = 0;
            assert_true(status == LIMN_OK || status == LIMN_E_MEMORY);
            assert_int_equal(race != NULL, status == LIMN_OK);
            limn_race_free(race);
            assert_int_equal(count.live, live);
        }
        assert_int_equal(status, LIMN_OK);
        count.fail_at = 0;
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_those_of_the_model_that_was_chosen),
        cmocka_unit_test(test_regression_is_judged_by_the_old_answers),
        cmocka_unit_test(test_any_model_can_teach_with_data),
        cmocka_unit_test(test_without_data_support_vectors_and_points_serve),
        cmocka_unit_test(test_rows_without_labels_are_judged_by_agreement),
        cmocka_unit_test(test_a_slow_model_is_asked_about_part_of_the_rows),
        cmocka_unit_test(test_rows_of_the_training_are_found),
        cmocka_unit_test(test_familiar_counts_vectors_among_rows_despite_rounding),
        cmocka_unit_test(test_rows_that_meet_vectors_by_chance_are_not_called_familiar),
        cmocka_unit_test(test_libsvm_gives_the_same_classes),
        cmocka_unit_test(test_libsvm_gives_the_same_values),
        cmocka_unit_test(test_what_is_shared_does_not_change_a_student),
        cmocka_unit_test(test_what_is_shared_does_not_change_borders),
        cmocka_unit_test(test_a_budget_that_nothing_meets_chooses_nothing),
        cmocka_unit_test(test_without_time_the_model_itself_wins),
        cmocka_unit_test(test_what_cannot_be_raced_is_refused),
        cmocka_unit_test(test_cancelling_ends_the_race),
        cmocka_unit_test(test_failing_allocations_are_reported_and_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
