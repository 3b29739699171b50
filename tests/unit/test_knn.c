/* knn against a simple reference: all distances in double, sorted by (distance, row). */
#include "model/model.h"
#include "num/pack.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct pair {
    double distance;
    size_t row;
} pair;

static int by_distance(const void *a, const void *b) {
    const pair *p = a, *q = b;
    if (p->distance != q->distance)
        return p->distance < q->distance ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static double slow_distance(const char *metric, const float *x, const float *b, size_t d) {
    double sum = 0, dot = 0, nx = 0, nb = 0;
    for (size_t j = 0; j < d; j++) {
        double u = x[j], v = b[j];
        sum += strcmp(metric, "l1") == 0 ? fabs(u - v) : (u - v) * (u - v);
        dot += u * v;
        nx += u * u;
        nb += v * v;
    }
    if (strcmp(metric, "cosine") != 0)
        return strcmp(metric, "l1") == 0 ? sum : sqrt(sum);
    double distance = nx == 0 || nb == 0 ? 1 : 1 - dot / (sqrt(nb) * sqrt(nx));
    return distance > 0 ? distance : 0;
}

static pair *slow_neighbors(const char *metric, const limn_data *data, const float *x) {
    size_t d = data->schema.features;
    pair *pairs = malloc(data->n * sizeof *pairs);
    for (size_t i = 0; i < data->n; i++)
        pairs[i] = (pair){slow_distance(metric, x, data->x + i * d, d), i};
    qsort(pairs, data->n, sizeof *pairs, by_distance);
    return pairs;
}

static limn_model *train(limn_context *ctx, const limn_data *data, const char *metric,
                         const char *weights, size_t k) {
    char texts[3][48];
    const char *params[3] = {texts[0], texts[1], texts[2]};
    limn_train_options options;
    limn_model *model = NULL;
    snprintf(texts[0], sizeof texts[0], "metric=%s", metric);
    snprintf(texts[1], sizeof texts[1], "weights=%s", weights);
    snprintf(texts[2], sizeof texts[2], "k=%zu", k);
    limn_train_options_init(&options);
    options.method = "knn";
    options.scale = LIMN_SCALE_NONE; /* expected answers are of the rows as they are */
    options.params = params;
    options.param_count = 3;
    if (limn_train(ctx, data, &options, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return model;
}

static const char *const metrics[] = {"l2", "l1", "cosine"};

/* Equal distances give equal sums in both, so rows must agree exactly. */
static void check_search(limn_context *ctx, const limn_data *data, const char *metric, size_t k,
                         size_t step) {
    enum { N = 40 };
    size_t d = data->schema.features;
    limn_model *model = train(ctx, data, metric, "uniform", 1);
    limn_predictor_options options = {.size = sizeof options, .threads = 1, .neighbors = k};
    limn_predictor *p = NULL;
    float *x = make_queries(data, N, 17);
    int64_t *rows = malloc(N * k * sizeof *rows);
    double *distances = malloc(N * k * sizeof *distances);
    assert_int_equal(limn_predictor_new(ctx, model, &options, &p), LIMN_OK);
    for (size_t q = 0; q < N; q += step)
        assert_int_equal(limn_search(p, x + q * d, N - q < step ? N - q : step, k, rows + q * k,
                                     distances + q * k),
                         LIMN_OK);
    for (size_t q = 0; q < N; q++) {
        pair *slow = slow_neighbors(metric, data, x + q * d);
        for (size_t i = 0; i < k; i++) {
            if (i >= data->n) {
                assert_int_equal(rows[q * k + i], -1);
                assert_true(isinf(distances[q * k + i]));
                continue;
            }
            double gap = fabs(distances[q * k + i] - slow[i].distance);
            if (!(gap <= 1e-14 * (slow[i].distance + (strcmp(metric, "cosine") == 0))))
                fail_msg("%s %s query %zu rank %zu: %.17g, not %.17g", metric,
                         step == 1 ? "single" : "batch", q, i, distances[q * k + i],
                         slow[i].distance);
            /* Another row may appear only if its distance ties to rounding. */
            double own = slow_distance(metric, x + q * d, data->x + (size_t)rows[q * k + i] * d, d);
            if ((size_t)rows[q * k + i] != slow[i].row)
                assert_true(fabs(own - slow[i].distance) <= 1e-14 * (own + 1e-300) ||
                            strcmp(metric, "cosine") == 0);
        }
        free(slow);
    }
    limn_predictor_free(p);
    limn_model_free(model);
    free(x);
    free(rows);
    free(distances);
}

static void test_search_equals_sorting_all_distances_on_every_shape_and_isa(void **state) {
    (void)state;
    const char *before = lm_isa_name();
    for (size_t isa = 0; lm_isa_at(isa); isa++) {
        assert_true(lm_isa_use(lm_isa_at(isa)));
        limn_context *ctx = make_context(NULL, 1, 1);
        for (int s = 0; s < SHAPE_COUNT; s++)
            for (size_t m = 0; m < LM_COUNT(metrics); m++) {
                limn_data *data = make_data(ctx, LIMN_SEARCH, (shape)s, 150, (uint64_t)s + 1);
                for (size_t k = 1; k <= 200; k = k * 3 * every(9) + 1) {
                    check_search(ctx, data, metrics[m], k, 1);
                    check_search(ctx, data, metrics[m], k, 40);
                }
                limn_data_free(data);
            }
        limn_context_free(ctx);
    }
    assert_true(lm_isa_use(before));
}

/* Large enough for many blocks and for the bound to change often. */
static void test_search_is_exact_on_thousands_of_rows(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    static const shape shapes[] = {SHAPE_RANDOM, SHAPE_DUPLICATES, SHAPE_OFFSET, SHAPE_EQUAL,
                                   SHAPE_HUGE};
    for (size_t s = 0; s < LM_COUNT(shapes); s++)
        for (size_t m = 0; m < LM_COUNT(metrics); m++) {
            limn_data *data = make_data(ctx, LIMN_SEARCH, shapes[s], 5000, 3);
            check_search(ctx, data, metrics[m], 10, 1);
            check_search(ctx, data, metrics[m], 10, 40);
            limn_data_free(data);
        }
    limn_context_free(ctx);
}

/* A predictor for a large k also works for smaller ones, and for more queries than fit at once. */
static void test_a_large_k_shares_its_scratch_with_small_ones(void **state) {
    (void)state;
    enum { N = 300, MOST = 4000 };
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, MOST, 3);
    limn_model *model = train(ctx, data, "l2", "uniform", 900);
    float *x = make_queries(data, N, 17);
    int64_t *rows = malloc(N * MOST * sizeof *rows);
    double *distances = malloc(N * MOST * sizeof *distances);
    static const size_t ks[] = {MOST, 1, 600, 3000};
    limn_predictor_options options = {.size = sizeof options, .threads = 1, .neighbors = MOST};
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(ctx, model, &options, &p), LIMN_OK);
    for (size_t i = 0; i < LM_COUNT(ks); i++) {
        size_t k = ks[i];
        int32_t classes[N];
        assert_int_equal(limn_search(p, x, N, k, rows, distances), LIMN_OK);
        for (size_t q = 0; q < N; q += 37) {
            pair *slow = slow_neighbors("l2", data, x + q * data->schema.features);
            for (size_t r = 0; r < k; r++)
                assert_int_equal(rows[q * k + r], slow[r].row);
            free(slow);
        }
        assert_int_equal(limn_predict(p, x, N, classes), LIMN_OK);
    }
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
    free(x);
    free(rows);
    free(distances);
}

/* Rows whose squared norm is 0 in float still have a direction. */
static void test_cosine_finds_rows_of_tiny_values(void **state) {
    (void)state;
    static const float tiny[] = {1e-20f, 1e-24f, 1e-38f, 1e-44f};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t t = 0; t < LM_COUNT(tiny); t++) {
        float x[200][2];
        for (int i = 0; i < 200; i++)
            x[i][0] = 1, x[i][1] = (float)(i % 7 + 2);
        x[150][0] = tiny[t];
        x[150][1] = 0;
        limn_data *data = NULL;
        assert_int_equal(limn_data_from_values(ctx, LIMN_SEARCH, &x[0][0], 200, 2, NULL, &data),
                         LIMN_OK);
        check_search(ctx, data, "cosine", 3, 1);
        check_search(ctx, data, "cosine", 3, 40);
        limn_model *model = train(ctx, data, "cosine", "uniform", 1);
        limn_predictor_options options = {.size = sizeof options, .threads = 1, .neighbors = 1};
        limn_predictor *p = NULL;
        const float query[] = {1, 0};
        int64_t row;
        double distance;
        assert_int_equal(limn_predictor_new(ctx, model, &options, &p), LIMN_OK);
        assert_int_equal(limn_search(p, query, 1, 1, &row, &distance), LIMN_OK);
        assert_int_equal(row, 150);
        assert_true(distance == 0);
        limn_predictor_free(p);
        limn_model_free(model);
        limn_data_free(data);
    }
    limn_context_free(ctx);
}

static void test_a_far_query_stays_finite_behind_the_scaler(void **state) {
    (void)state;
    const float x[] = {0, 1, 7e-12f, 2, 3e-12f, 3}, query[] = {1e30f, 0};
    const double y[] = {0, 1, 0};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 3, 2, y, &data), LIMN_OK);
    const char *params[] = {"weights=distance", "k=1"};
    limn_train_options options;
    limn_model *model = NULL;
    limn_predictor *p = NULL;
    double proba[2];
    limn_train_options_init(&options);
    options.method = "knn";
    options.scale = LIMN_SCALE_MINMAX;
    options.params = params;
    options.param_count = 2;
    assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict_proba(p, query, 1, proba), LIMN_OK);
    assert_true(proba[0] >= 0 && proba[1] >= 0 && proba[0] + proba[1] == 1);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_ties_go_to_the_lower_row_and_to_the_smaller_class(void **state) {
    (void)state;
    /* Rows 1..4 are all at distance 1 from the query 0. */
    const float x[] = {5, 1, -1, 1, -1};
    const double y[] = {0, 2, 1, 1, 2};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 5, 1, y, &data), LIMN_OK);
    for (size_t k = 1; k <= 4; k++) {
        limn_model *model = train(ctx, data, "l2", "uniform", k);
        limn_predictor_options options = {.size = sizeof options, .threads = 1, .neighbors = 4};
        limn_predictor *p = NULL;
        float query = 0;
        int32_t class;
        int64_t rows[4];
        double distances[4];
        assert_int_equal(limn_predictor_new(ctx, model, &options, &p), LIMN_OK);
        assert_int_equal(limn_predict(p, &query, 1, &class), LIMN_OK);
        assert_int_equal(class, k == 1 ? 2 : 1);
        assert_int_equal(limn_search(p, &query, 1, 4, rows, distances), LIMN_OK);
        for (int i = 0; i < 4; i++)
            assert_int_equal(rows[i], i + 1);
        limn_predictor_free(p);
        limn_model_free(model);
    }
    limn_data_free(data);
    limn_context_free(ctx);
}

/* Votes by the definition, from the slow neighbours. */
static void slow_votes(const limn_data *data, const char *weights, const pair *near, size_t k,
                       double *votes, double *value) {
    double total = 0, sum = 0;
    memset(votes, 0, 8 * sizeof *votes);
    for (size_t i = 0; i < k; i++) {
        double w = 1;
        if (strcmp(weights, "distance") == 0)
            w = near[0].distance == 0 ? near[i].distance == 0 : 1 / near[i].distance;
        if (data->label)
            votes[data->label[near[i].row]] += w;
        if (data->target)
            sum += w * data->target[near[i].row];
        total += w;
    }
    for (size_t c = 0; c < 8; c++)
        votes[c] /= total;
    *value = sum / total;
}

static void check_answers(limn_context *ctx, limn_task task, const char *metric,
                          const char *weights, size_t k) {
    enum { N = 50 };
    limn_data *data = make_data(ctx, task, SHAPE_DUPLICATES, 90, 9);
    limn_model *model = train(ctx, data, metric, weights, k);
    limn_predictor *p = NULL;
    float *x = make_queries(data, N, 21);
    double proba[N * 8], values[N], votes[8], value;
    size_t classes = data->schema.labels.count, d = data->schema.features;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    if (task == LIMN_CLASSIFY)
        assert_int_equal(limn_predict_proba(p, x, N, proba), LIMN_OK);
    else
        assert_int_equal(limn_predict_values(p, x, N, values), LIMN_OK);
    for (size_t q = 0; q < N; q++) {
        pair *near = slow_neighbors(metric, data, x + q * d);
        slow_votes(data, weights, near, k < data->n ? k : data->n, votes, &value);
        for (size_t c = 0; c < classes; c++)
            assert_true(fabs(votes[c] - proba[q * classes + c]) < 1e-9);
        if (task == LIMN_REGRESS)
            assert_true(fabs(value - values[q]) < 1e-9);
        free(near);
    }
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    free(x);
}

static void test_votes_and_values_follow_their_definition(void **state) {
    (void)state;
    static const char *const weights[] = {"uniform", "distance"};
    static const size_t ks[] = {1, 2, 5, 89, 90, 1000};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t m = 0; m < 2; m++) /* on l2 and l1 the slow and the fast ties agree exactly */
        for (size_t w = 0; w < 2; w++)
            for (size_t k = 0; k < LM_COUNT(ks); k++) {
                check_answers(ctx, LIMN_CLASSIFY, metrics[m], weights[w], ks[k]);
                check_answers(ctx, LIMN_REGRESS, metrics[m], weights[w], ks[k]);
            }
    limn_context_free(ctx);
}

static void test_a_search_for_more_than_the_predictor_was_made_for_is_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_SEARCH, SHAPE_RANDOM, 20, 1);
    limn_model *model = train(ctx, data, "l2", "uniform", 1);
    limn_predictor_options options = {.size = sizeof options, .threads = 1, .neighbors = 3};
    limn_predictor *p = NULL;
    int64_t rows[8];
    double distances[8];
    assert_int_equal(limn_predictor_new(ctx, model, &options, &p), LIMN_OK);
    assert_int_equal(limn_search(p, data->x, 1, 4, rows, distances), LIMN_E_USAGE);
    assert_int_equal(limn_search(p, data->x, 1, 0, rows, distances), LIMN_E_USAGE);
    assert_int_equal(limn_search(p, data->x, 1, 3, rows, distances), LIMN_OK);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search_equals_sorting_all_distances_on_every_shape_and_isa),
        cmocka_unit_test(test_search_is_exact_on_thousands_of_rows),
        cmocka_unit_test(test_a_large_k_shares_its_scratch_with_small_ones),
        cmocka_unit_test(test_cosine_finds_rows_of_tiny_values),
        cmocka_unit_test(test_a_far_query_stays_finite_behind_the_scaler),
        cmocka_unit_test(test_ties_go_to_the_lower_row_and_to_the_smaller_class),
        cmocka_unit_test(test_votes_and_values_follow_their_definition),
        cmocka_unit_test(test_a_search_for_more_than_the_predictor_was_made_for_is_refused),
    };
    return cmocka_run_group_tests_name("knn", tests, NULL, NULL);
}
