/* Metrics against figures worked out by hand, and the evaluation of a model as a whole. */
#include "eval/evaluate.h"
#include "eval/metrics.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_near(double a, double b) {
    if (!(fabs(a - b) < 1e-12))
        fail_msg("%.17g is not %.17g", a, b);
}

static void test_confusion_figures_equal_hand_calculation(void **state) {
    (void)state;
    const int32_t truth[] = {0, 0, 0, 1, 1, 2}, answer[] = {0, 0, 1, 1, 1, 0};
    uint64_t c[9];
    lm_confusion(truth, answer, 6, 3, c);
    const uint64_t expected[9] = {2, 1, 0, 0, 2, 0, 1, 0, 0};
    assert_memory_equal(c, expected, sizeof c);
    assert_near(lm_accuracy(c, 3), 4.0 / 6);
    assert_near(lm_balanced_accuracy(c, 3), (2.0 / 3 + 1 + 0) / 3);
    /* H(truth) and H(truth | answer): answers 0 = {2, 0, 1}, 1 = {1, 2, 0} */
    double h = -(3.0 / 6 * log(3.0 / 6) + 2.0 / 6 * log(2.0 / 6) + 1.0 / 6 * log(1.0 / 6));
    double split = -(2.0 / 3 * log(2.0 / 3) + 1.0 / 3 * log(1.0 / 3));
    assert_near(lm_uncertainty_coefficient(c, 3), (h - split) / h);
}

static void test_uncertainty_coefficient_of_perfect_useless_and_constant_truth(void **state) {
    (void)state;
    const uint64_t perfect[4] = {5, 0, 0, 7}, useless[4] = {4, 4, 6, 6}, constant[4] = {3, 2, 0, 0};
    assert_near(lm_uncertainty_coefficient(perfect, 2), 1);
    assert_near(lm_uncertainty_coefficient(useless, 2), 0);
    assert_true(isnan(lm_uncertainty_coefficient(constant, 2)));
    assert_near(lm_balanced_accuracy(constant, 2), 0.6);
}

static void test_probability_figures_equal_hand_calculation(void **state) {
    (void)state;
    const int32_t truth[] = {0, 1, 2}; /* class 2 is unknown to the model */
    const double p[] = {0.7, 0.3, 1.0, 0.0, 0.4, 0.6};
    lm_proba_sums sums = {0};
    lm_proba_add(&sums, truth, p, 1, 2); /* in two blocks */
    lm_proba_add(&sums, truth + 1, p + 2, 2, 2);
    assert_near(lm_log_loss(&sums), -(log(0.7) + 2 * log(1e-15)) / 3);
    double brier = 0.09 + 0.09 + (1 + 1) + (0.16 + 0.36 + 1);
    assert_near(lm_brier(&sums), brier / 3);
    /* Three rows in three bins: right at .7, wrong at 1, wrong at .6. */
    assert_near(lm_ece(&sums), (0.3 + 1.0 + 0.6) / 3);
}

static void test_ece_pools_rows_of_one_bin(void **state) {
    (void)state;
    const int32_t truth[] = {0, 1, 0, 0};
    const double p[] = {0.75, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.25};
    lm_proba_sums sums = {0};
    lm_proba_add(&sums, truth, p, 4, 2);
    assert_near(lm_ece(&sums), 0);
}

static void test_regression_figures_equal_hand_calculation(void **state) {
    (void)state;
    const double truth[] = {1, 2, 3, 6}, answer[] = {1, 3, 2, 4};
    double constant[10];
    for (int i = 0; i < 10; i++)
        constant[i] = 0.1; /* whose mean is not 0.1 */
    assert_near(lm_mae(truth, answer, 4), 1);
    assert_near(lm_rmse(truth, answer, 4), sqrt(6.0 / 4));
    assert_near(lm_r2(truth, answer, 4), 1 - 6.0 / 14);
    assert_true(isnan(lm_r2(constant, constant, 10)));
}

static limn_model *train_knn(limn_context *ctx, const limn_data *data) {
    limn_train_options options;
    limn_model *model = NULL;
    limn_train_options_init(&options);
    options.method = "knn";
    assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
    return model;
}

static void test_evaluation_gives_every_figure_that_applies(void **state) {
    (void)state;
    for (limn_task task = LIMN_CLASSIFY; task <= LIMN_REGRESS; task++) {
        counting count = {0};
        limn_context *ctx = make_context(&count, 1, 1);
        limn_data *data = make_data(ctx, task, SHAPE_RANDOM, 200, 2);
        limn_model *model = train_knn(ctx, data);
        limn_eval_options options;
        limn_evaluation e = {.size = sizeof e};
        limn_eval_options_init(&options);
        options.latency_seconds = 0.01;
        assert_int_equal(limn_evaluate(ctx, model, data, &options, &e), LIMN_OK);
        assert_int_equal(e.n, 200);
        assert_int_equal(isnan(e.accuracy), task == LIMN_REGRESS);
        assert_int_equal(isnan(e.log_loss), task == LIMN_REGRESS);
        assert_int_equal(isnan(e.rmse), task == LIMN_CLASSIFY);
        assert_true(e.latency_rows >= 20 && e.latency_us_p50 > 0 && e.latency_us_mean > 0);
        assert_true(e.latency_us_p99 >= e.latency_us_p50 && e.batch_rows_per_s > 0);
        options.measure_speed = 0;
        limn_evaluation_free(&e);
        assert_int_equal(limn_evaluate(ctx, model, data, &options, &e), LIMN_OK);
        assert_true(isnan(e.latency_us_p50) && isnan(e.latency_us_mean));
        limn_evaluation_free(&e);
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
    }
}

static void test_evaluation_without_labels_is_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 50, 2);
    limn_data *bare = make_data(ctx, LIMN_SEARCH, SHAPE_RANDOM, 50, 2);
    limn_model *model = train_knn(ctx, data);
    limn_evaluation e = {.size = sizeof e};
    assert_int_equal(limn_evaluate(ctx, model, bare, NULL, &e), LIMN_E_DATA);
    limn_model_free(model);
    limn_data_free(data);
    limn_data_free(bare);
    limn_context_free(ctx);
}

static void test_unmatched_classes_are_refused_and_matching_repairs_them(void **state) {
    (void)state;
    const float x[] = {0, 1, 2, 10, 11, 12}, q[] = {10, 11, 0};
    const char *labels[] = {"a", "a", "a", "b", "b", "b"}, *truth[] = {"b", "b", "c"};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = NULL, *test = NULL;
    limn_evaluation e = {.size = sizeof e};
    assert_int_equal(limn_data_from_labels(ctx, x, 6, 1, labels, &data), LIMN_OK);
    assert_int_equal(limn_data_from_labels(ctx, q, 3, 1, truth, &test), LIMN_OK);
    limn_model *model = train_knn(ctx, data);
    assert_int_equal(limn_evaluate(ctx, model, test, NULL, &e), LIMN_E_USAGE);
    assert_int_equal(limn_data_match(ctx, test, model), LIMN_OK);
    limn_eval_options options;
    limn_eval_options_init(&options);
    options.measure_speed = 0;
    assert_int_equal(limn_evaluate(ctx, model, test, &options, &e), LIMN_OK);
    assert_int_equal(e.classes, 3);
    assert_near(e.accuracy, 2.0 / 3);
    limn_evaluation_free(&e);
    limn_model_free(model);
    limn_data_free(data);
    limn_data_free(test);
    limn_context_free(ctx);
}

/* The rows that lm_latency asks for, in order. */
typedef struct asked {
    size_t rows[20 * 60], count;
    size_t fail_at; /* the call that fails, or 0 */
} asked;

static limn_status note_call(void *user, size_t row) {
    asked *a = user;
    assert_true(a->count < LM_COUNT(a->rows));
    a->rows[a->count++] = row;
    return a->count == a->fail_at ? LIMN_E_DATA : LIMN_OK;
}

static asked ask_in_turn(uint64_t seed, size_t n, double seconds, lm_timing *timing) {
    asked a = {.count = 0};
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, seed);
    assert_int_equal(lm_latency(ctx, n, seconds, note_call, &a, timing), LIMN_OK);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    return a;
}

static void check_passes(const asked *a, size_t n, size_t rows, size_t passes) {
    size_t met[60] = {0};
    assert_int_equal(a->count, rows * passes);
    for (size_t i = 0; i < rows; i++) {
        assert_true(a->rows[i] < n);
        assert_int_equal(met[a->rows[i]]++, 0);
    }
    for (size_t i = rows; i < a->count; i++)
        assert_int_equal(a->rows[i], a->rows[i - rows]);
}

static void test_latency_asks_a_shuffled_stream_of_all_rows_pass_after_pass(void **state) {
    (void)state;
    for (size_t n = 1; n < 60; n++) {
        lm_timing timing;
        asked a = ask_in_turn(1, n, 1e9, &timing);
        check_passes(&a, n, n, 20);
        assert_int_equal(timing.rows, n);
        assert_true(timing.p50_us > 0 && timing.p99_us >= timing.p50_us);
        assert_true(timing.mean_us >= timing.p50_us / 2);
    }
}

static void test_latency_without_time_asks_twenty_rows_five_times(void **state) {
    (void)state;
    for (size_t n = 1; n < 60; n++) {
        lm_timing timing;
        size_t rows = n < 20 ? n : 20;
        asked a = ask_in_turn(1, n, 0, &timing);
        check_passes(&a, n, rows, 5);
        assert_int_equal(timing.rows, rows);
    }
}

static void test_latency_shuffles_by_the_seed(void **state) {
    (void)state;
    lm_timing timing;
    asked a = ask_in_turn(1, 59, 0, &timing), b = ask_in_turn(1, 59, 0, &timing),
          c = ask_in_turn(2, 59, 0, &timing);
    size_t in_place = 0;
    assert_memory_equal(a.rows, b.rows, sizeof a.rows);
    assert_memory_not_equal(a.rows, c.rows, sizeof a.rows);
    for (size_t i = 0; i < 20; i++)
        in_place += a.rows[i] == i;
    assert_true(in_place < 10);
}

static void test_latency_passes_on_the_failure_of_a_call(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    for (size_t at = 1; at < 100; at++) {
        asked a = {.fail_at = at};
        lm_timing timing;
        assert_int_equal(lm_latency(ctx, 20, 0, note_call, &a, &timing), LIMN_E_DATA);
        assert_int_equal(a.count, at);
    }
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_recall_counts_answers_within_the_true_distance(void **state) {
    (void)state;
    static const char *const metrics[] = {"metric=l2", "metric=l1", "metric=cosine"};
    for (size_t m = 0; m < LM_COUNT(metrics); m++) {
        enum { ROWS = 300, K = 4 };
        limn_context *ctx = make_context(NULL, 1, 1);
        limn_data *data = make_data(ctx, LIMN_SEARCH, SHAPE_RANDOM, ROWS, 2);
        limn_train_options options;
        limn_model *model = NULL;
        limn_predictor *p = NULL;
        limn_train_options_init(&options);
        options.method = "knn";
        options.scale = LIMN_SCALE_ZSCORE;
        options.params = &metrics[m];
        options.param_count = 1;
        assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
        limn_predictor_options many = {.size = sizeof many, .threads = 1, .neighbors = K};
        assert_int_equal(limn_predictor_new(ctx, model, &many, &p), LIMN_OK);
        static int64_t rows[ROWS * K];
        static double distances[ROWS * K];
        double recall = 0;
        assert_int_equal(limn_search(p, data->x, ROWS, K, rows, distances), LIMN_OK);
        assert_int_equal(lm_recall(ctx, model, data, K, distances, &recall), LIMN_OK);
        assert_true(recall == 1);
        for (size_t q = 0; q < ROWS; q += 2) /* half of the queries miss one of four */
            distances[q * K + K - 1] = distances[q * K + K - 1] * 1.001 + 1e-6;
        for (size_t i = 10 * K; i < 11 * K; i++) /* and one finds nothing */
            distances[i] = (double)INFINITY;
        assert_int_equal(lm_recall(ctx, model, data, K, distances, &recall), LIMN_OK);
        assert_near(recall, 1 - (ROWS / 2 + K - 1.0) / (ROWS * K));
        limn_predictor_free(p);
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recall_counts_answers_within_the_true_distance),
        cmocka_unit_test(test_confusion_figures_equal_hand_calculation),
        cmocka_unit_test(test_uncertainty_coefficient_of_perfect_useless_and_constant_truth),
        cmocka_unit_test(test_probability_figures_equal_hand_calculation),
        cmocka_unit_test(test_ece_pools_rows_of_one_bin),
        cmocka_unit_test(test_regression_figures_equal_hand_calculation),
        cmocka_unit_test(test_evaluation_gives_every_figure_that_applies),
        cmocka_unit_test(test_evaluation_without_labels_is_refused),
        cmocka_unit_test(test_unmatched_classes_are_refused_and_matching_repairs_them),
        cmocka_unit_test(test_latency_asks_a_shuffled_stream_of_all_rows_pass_after_pass),
        cmocka_unit_test(test_latency_without_time_asks_twenty_rows_five_times),
        cmocka_unit_test(test_latency_shuffles_by_the_seed),
        cmocka_unit_test(test_latency_passes_on_the_failure_of_a_call),
    };
    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}
