/* Sample weights and class weights: how much a row counts. For whole-number weights the
 * reference is repeating each row that often. */
#include "model/model.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 60, D = 3, QUERIES = 40 };

typedef struct world {
    limn_context *ctx;
    counting count;
    limn_data *data;
    double weight[N];
} world;

static void open_world(world *w, uint64_t seed) {
    memset(w, 0, sizeof *w);
    w->ctx = make_context(&w->count, 1, 1);
    float x[N * D];
    double y[N];
    lm_rng rng = lm_rng_at(seed, 1, 1);
    for (size_t i = 0; i < N; i++) {
        y[i] = (double)(i % 3);
        w->weight[i] = (double)(1 + lm_rng_below(&rng, 4));
        for (size_t j = 0; j < D; j++)
            x[i * D + j] = (float)(y[i] * (double)(j == 0) + lm_rng_normal(&rng));
    }
    assert_int_equal(limn_data_from_values(w->ctx, LIMN_CLASSIFY, x, N, D, y, &w->data), LIMN_OK);
}

static void close_world(world *w) {
    limn_data_free(w->data);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

static limn_status try_train(world *w, const limn_data *data, const char *method, const char *param,
                             limn_model **model) {
    limn_train_options options;
    limn_train_options_init(&options);
    options.method = method;
    options.scale = LIMN_SCALE_NONE; /* the mean of the repeated rows differs */
    options.params = &param;
    options.param_count = param ? 1 : 0;
    return limn_train(w->ctx, data, &options, model);
}

static void proba_of(world *w, const limn_data *data, const char *method, const char *param,
                     double *proba) {
    limn_model *model = NULL;
    limn_predictor *p = NULL;
    if (try_train(w, data, method, param, &model) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    assert_int_equal(limn_predictor_new(w->ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict_proba(p, w->data->x, QUERIES, proba), LIMN_OK);
    limn_predictor_free(p);
    limn_model_free(model);
}

/* Every row as often as its weight says. */
static limn_data *repeated(world *w) {
    size_t rows[4 * N], count = 0;
    limn_data *out = NULL;
    for (size_t i = 0; i < N; i++)
        for (int times = 0; times < (int)w->weight[i]; times++)
            rows[count++] = i;
    assert_int_equal(lm_data_take(w->ctx, w->data, rows, count, &out), LIMN_OK);
    return out;
}

static void test_lda_with_weights_equals_lda_on_repeated_rows(void **state) {
    (void)state;
    static const char *const params[] = {NULL, "shrinkage=0.3", "priors=uniform"};
    for (uint64_t seed = 1; seed <= 5; seed++)
        for (size_t i = 0; i < LM_COUNT(params); i++) {
            world w;
            open_world(&w, seed);
            double expected[QUERIES * 3], got[QUERIES * 3], plain[QUERIES * 3], most = 0;
            limn_data *twice = repeated(&w);
            proba_of(&w, twice, "lda", params[i], expected);
            proba_of(&w, w.data, "lda", params[i], plain);
            assert_int_equal(limn_data_set_weights(w.ctx, w.data, w.weight), LIMN_OK);
            proba_of(&w, w.data, "lda", params[i], got);
            for (size_t j = 0; j < QUERIES * 3; j++) {
                assert_true(fabs(got[j] - expected[j]) < 1e-5);
                most = fmax(most, fabs(plain[j] - expected[j]));
            }
            assert_true(most > 1e-3); /* the weights do change something */
            limn_data_free(twice);
            close_world(&w);
        }
}

/* The Ledoit-Wolf shrinkage with equal weights is the one without weights. */
static void test_equal_weights_change_nothing(void **state) {
    (void)state;
    static const char *const methods[][2] = {
        {"lda", "shrinkage=auto"}, {"lda", NULL}, {"knn", NULL}, {"knn", "weights=distance"}};
    for (size_t m = 0; m < LM_COUNT(methods); m++) {
        world w;
        open_world(&w, 3);
        double expected[QUERIES * 3], got[QUERIES * 3];
        proba_of(&w, w.data, methods[m][0], methods[m][1], expected);
        for (size_t i = 0; i < N; i++)
            w.weight[i] = 1e300;
        assert_int_equal(limn_data_set_weights(w.ctx, w.data, w.weight), LIMN_OK);
        proba_of(&w, w.data, methods[m][0], methods[m][1], got);
        for (size_t j = 0; j < QUERIES * 3; j++)
            assert_true(fabs(got[j] - expected[j]) < 1e-9);
        close_world(&w);
    }
}

/* The weighted votes of all rows, straight from the definition. */
static void slow_votes(const world *w, const double *weight, bool distance, const float *q,
                       double *votes) {
    double total = 0;
    votes[0] = votes[1] = votes[2] = 0;
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t j = 0; j < D; j++)
            sum += pow((double)q[j] - (double)w->data->x[i * D + j], 2);
        double vote = weight[i] * (distance ? sum == 0 ? 1e12 : 1 / sqrt(sum) : 1);
        votes[w->data->label[i]] += vote;
        total += vote;
    }
    for (size_t c = 0; c < 3; c++)
        votes[c] /= total;
}

static void test_knn_votes_count_by_weight(void **state) {
    (void)state;
    for (int distance = 0; distance < 2; distance++) {
        world w;
        open_world(&w, 4);
        double got[QUERIES * 3], votes[3];
        limn_model *model = NULL;
        limn_predictor *p = NULL;
        limn_train_options options;
        const char *params[] = {"k=60", distance ? "weights=distance" : "weights=uniform"};
        limn_train_options_init(&options);
        options.method = "knn";
        options.params = params;
        options.param_count = 2;
        assert_int_equal(limn_data_set_weights(w.ctx, w.data, w.weight), LIMN_OK);
        assert_int_equal(limn_train(w.ctx, w.data, &options, &model), LIMN_OK);
        assert_int_equal(limn_predictor_new(w.ctx, model, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predict_proba(p, w.data->x, QUERIES, got), LIMN_OK);
        for (size_t q = 0; q < QUERIES; q++) {
            slow_votes(&w, w.weight, distance, w.data->x + q * D, votes);
            for (size_t c = 0; c < 3; c++)
                assert_true(fabs(got[q * 3 + c] - votes[c]) < 1e-6);
        }
        limn_predictor_free(p);
        limn_model_free(model);
        close_world(&w);
    }
}

static void test_class_weights_are_sample_weights_of_the_class(void **state) {
    (void)state;
    world w;
    open_world(&w, 5);
    limn_data *part = NULL; /* unbalanced: 20, 20 and 5 rows */
    size_t rows[N], count = 0, last = 0;
    for (size_t i = 0; i < N; i++)
        if (i % 3 != 2 || last++ < 5)
            rows[count++] = i;
    assert_int_equal(lm_data_take(w.ctx, w.data, rows, count, &part), LIMN_OK);
    double expected[QUERIES * 3], got[QUERIES * 3], weight[N];
    static const char *const texts[] = {"class_weight=balanced", "class_weight=2:4,0:1"};
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < count; i++)
            weight[i] = part->label[i] == 2 ? 4 : 1;
        assert_int_equal(limn_data_set_weights(w.ctx, part, weight), LIMN_OK);
        proba_of(&w, part, "lda", NULL, expected);
        lm_free(&part->mem, part->weight);
        part->weight = NULL;
        proba_of(&w, part, "lda", texts[t], got);
        for (size_t j = 0; j < QUERIES * 3; j++)
            assert_true(fabs(got[j] - expected[j]) < 1e-9);
    }
    limn_data_free(part);
    close_world(&w);
}

/* Only ratios matter, not the unit. */
static void test_huge_and_tiny_weights_keep_their_ratios(void **state) {
    (void)state;
    static const char *const texts[] = {NULL, "class_weight=balanced",
                                        "class_weight=0:1e20,1:1e19,2:3e19"};
    static const double units[] = {1, 0x1p1020, 0x1p-1000};
    for (size_t t = 0; t < LM_COUNT(texts); t++) {
        double expected[QUERIES * 3], got[QUERIES * 3];
        for (size_t u = 0; u < LM_COUNT(units); u++) {
            world w;
            open_world(&w, 8);
            for (size_t i = 0; i < N; i++)
                w.weight[i] *= units[u];
            assert_int_equal(limn_data_set_weights(w.ctx, w.data, w.weight), LIMN_OK);
            proba_of(&w, w.data, "lda", texts[t], u ? got : expected);
            for (size_t j = 0; u && j < QUERIES * 3; j++)
                assert_true(fabs(got[j] - expected[j]) < 1e-9);
            close_world(&w);
        }
    }
}

static void must_fail(world *w, const char *method, const char *param, limn_status expected,
                      const char *sentence) {
    limn_model *model = NULL;
    limn_status status = try_train(w, w->data, method, param, &model);
    assert_string_equal(limn_error(w->ctx), sentence);
    assert_int_equal(status, expected);
    assert_null(model);
}

static void test_wrong_weights_are_refused(void **state) {
    (void)state;
    world w;
    open_world(&w, 6);
    must_fail(&w, "lda", "class_weight=1:2,7:3", LIMN_E_USAGE,
              "class_weight: '7' is not a class of the data; write label:weight,label:weight");
    must_fail(&w, "lda", "class_weight=1", LIMN_E_USAGE,
              "class_weight: '1' has no weight; write label:weight,label:weight");
    must_fail(&w, "lda", "class_weight=1:0", LIMN_E_USAGE,
              "class_weight: '1:0' has a weight that is not a number above 0; write "
              "label:weight,label:weight");
    w.weight[3] = -1;
    assert_int_equal(limn_data_set_weights(w.ctx, w.data, w.weight), LIMN_E_DATA);
    for (size_t i = 0; i < N; i++)
        w.weight[i] = i % 3 != 1;
    assert_int_equal(limn_data_set_weights(w.ctx, w.data, w.weight), LIMN_OK);
    must_fail(&w, "lda", NULL, LIMN_E_DATA,
              "no row of class '1' has a weight above 0; remove the class or correct the weights");
    memset(w.weight, 0, sizeof w.weight);
    assert_int_equal(limn_data_set_weights(w.ctx, w.data, w.weight), LIMN_OK);
    must_fail(&w, "knn", NULL, LIMN_E_DATA, "no row has a weight above 0; correct the weights");
    close_world(&w);
}

static void test_rows_of_weight_zero_are_left_out(void **state) {
    (void)state;
    world w;
    open_world(&w, 7);
    size_t rows[N], count = 0;
    for (size_t i = 0; i < N; i++) {
        w.weight[i] = i % 4 != 0;
        if (i % 4)
            rows[count++] = i;
    }
    limn_data *part = NULL;
    double expected[QUERIES * 3], got[QUERIES * 3];
    assert_int_equal(lm_data_take(w.ctx, w.data, rows, count, &part), LIMN_OK);
    assert_int_equal(limn_data_set_weights(w.ctx, w.data, w.weight), LIMN_OK);
    proba_of(&w, part, "knn", NULL, expected);
    proba_of(&w, w.data, "knn", NULL, got);
    assert_memory_equal(got, expected, sizeof got);
    limn_data_free(part);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lda_with_weights_equals_lda_on_repeated_rows),
        cmocka_unit_test(test_equal_weights_change_nothing),
        cmocka_unit_test(test_knn_votes_count_by_weight),
        cmocka_unit_test(test_class_weights_are_sample_weights_of_the_class),
        cmocka_unit_test(test_huge_and_tiny_weights_keep_their_ratios),
        cmocka_unit_test(test_wrong_weights_are_refused),
        cmocka_unit_test(test_rows_of_weight_zero_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
