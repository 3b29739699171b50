/* lda and the functions it uses, against plain loops: Gaussian elimination, the definition of
 * the scores. */
#include "fit/discriminant.h"
#include "model/model.h"
#include "num/linalg.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 12 };

/* x <- the solution of a x = x by Gaussian elimination with pivoting; a is destroyed. */
static void slow_solve(double *a, size_t d, double *x) {
    for (size_t c = 0; c < d; c++) {
        size_t pivot = c;
        for (size_t r = c + 1; r < d; r++)
            if (fabs(a[r * d + c]) > fabs(a[pivot * d + c]))
                pivot = r;
        for (size_t j = 0; j < d; j++) {
            double kept = a[c * d + j];
            a[c * d + j] = a[pivot * d + j];
            a[pivot * d + j] = kept;
        }
        double kept = x[c];
        x[c] = x[pivot];
        x[pivot] = kept;
        for (size_t r = 0; r < d; r++) {
            double factor = r == c ? 0 : a[r * d + c] / a[c * d + c];
            for (size_t j = c; j < d; j++)
                a[r * d + j] -= factor * a[c * d + j];
            x[r] -= factor * x[c];
        }
    }
    for (size_t c = 0; c < d; c++)
        x[c] /= a[c * d + c];
}

/* A random positive semi-definite matrix of that rank. */
static void draw_matrix(double *a, size_t d, size_t rank, lm_rng *rng) {
    double rows[MOST * MOST];
    for (size_t i = 0; i < rank * d; i++)
        rows[i] = lm_rng_normal(rng);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            a[i * d + j] = 0;
            for (size_t r = 0; r < rank; r++)
                a[i * d + j] += rows[r * d + i] * rows[r * d + j];
        }
}

static void test_solving_equals_elimination_and_least_norm_where_singular(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    lm_rng rng = lm_rng_at(1, 1, 1);
    for (size_t d = 1; d <= MOST; d++)
        for (size_t rank = 1; rank <= d; rank++) {
            double a[MOST * MOST], copy[MOST * MOST], x[2 * MOST], want[MOST];
            draw_matrix(a, d, rank, &rng);
            for (size_t j = 0; j < 2 * d; j++)
                x[j] = lm_rng_normal(&rng);
            /* A right-hand side in the range of a: a times a vector that is itself in the range. */
            for (size_t i = 0; i < d; i++) {
                want[i] = 0;
                for (size_t j = 0; j < d; j++)
                    want[i] += a[i * d + j] * x[j];
            }
            for (size_t i = 0; i < d; i++) {
                x[d + i] = 0;
                for (size_t j = 0; j < d; j++)
                    x[d + i] += a[i * d + j] * want[j];
            }
            memcpy(copy, a, sizeof a);
            assert_int_equal(lm_solve_symmetric(ctx, a, d, x + d, 1), LIMN_OK);
            double scale = 0;
            for (size_t i = 0; i < d; i++)
                scale += fabs(want[i]);
            for (size_t i = 0; i < d; i++)
                assert_true(fabs(x[d + i] - want[i]) <= 1e-6 * scale);
            if (rank == d) {
                memcpy(a, copy, sizeof a);
                memcpy(want, x, sizeof want);
                slow_solve(a, d, want);
                assert_int_equal(lm_solve_symmetric(ctx, copy, d, x, 1), LIMN_OK);
                scale = 0;
                for (size_t i = 0; i < d; i++)
                    scale += fabs(want[i]);
                for (size_t i = 0; i < d; i++)
                    assert_true(fabs(x[i] - want[i]) <= 1e-6 * scale);
            }
        }
    limn_context_free(ctx);
}

/* log prior + log density of a Gaussian, up to the terms that all classes share, straight from
 * the rows. */
static void slow_scores(const limn_data *data, double shrinkage, bool uniform, const float *query,
                        double *score) {
    size_t d = data->schema.features, k = data->schema.labels.count, n = data->n;
    double mean[3 * MOST] = {0}, count[3] = {0}, cov[MOST * MOST] = {0}, trace = 0;
    for (size_t i = 0; i < n; i++)
        count[data->label[i]]++;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            mean[(size_t)data->label[i] * d + j] +=
                (double)data->x[i * d + j] / count[data->label[i]];
    for (size_t i = 0; i < n; i++) {
        size_t c = (size_t)data->label[i];
        double prior = uniform ? 1 / (double)k : count[c] / (double)n;
        for (size_t a = 0; a < d; a++)
            for (size_t b = 0; b < d; b++)
                cov[a * d + b] += prior / count[c] *
                                  ((double)data->x[i * d + a] - mean[c * d + a]) *
                                  ((double)data->x[i * d + b] - mean[c * d + b]);
    }
    for (size_t j = 0; j < d; j++)
        trace += cov[j * d + j];
    for (size_t a = 0; a < d; a++)
        for (size_t b = 0; b < d; b++)
            cov[a * d + b] =
                (1 - shrinkage) * cov[a * d + b] + (a == b ? shrinkage * trace / (double)d : 0);
    for (size_t c = 0; c < k; c++) {
        double away[MOST], solved[MOST], copy[MOST * MOST], distance = 0;
        for (size_t j = 0; j < d; j++)
            solved[j] = away[j] = (double)query[j] - mean[c * d + j];
        memcpy(copy, cov, sizeof copy);
        slow_solve(copy, d, solved);
        for (size_t j = 0; j < d; j++)
            distance += away[j] * solved[j];
        score[c] = log(uniform ? 1 / (double)k : count[c] / (double)n) - distance / 2;
    }
}

static void check_proba(limn_context *ctx, const char *shrinkage, const char *priors) {
    enum { N = 40 };
    char text[2][48];
    const char *params[2] = {text[0], text[1]};
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 80, 5);
    float *x = make_queries(data, N, 6);
    limn_train_options options;
    limn_model *model = NULL;
    limn_predictor *p = NULL;
    double proba[N * 3];
    snprintf(text[0], sizeof text[0], "shrinkage=%s", shrinkage);
    snprintf(text[1], sizeof text[1], "priors=%s", priors);
    limn_train_options_init(&options);
    options.method = "lda";
    options.scale = LIMN_SCALE_NONE;
    options.params = params;
    options.param_count = 2;
    assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict_proba(p, x, N, proba), LIMN_OK);
    for (size_t i = 0; i < N; i++) {
        double score[3], sum = 0;
        slow_scores(data, atof(shrinkage), strcmp(priors, "uniform") == 0, x + i * 5, score);
        for (int c = 0; c < 3; c++)
            sum += exp(score[c] - score[0]);
        for (int c = 0; c < 3; c++)
            assert_true(fabs(proba[i * 3 + (size_t)c] - exp(score[c] - score[0]) / sum) < 1e-5);
    }
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    free(x);
}

static void test_probabilities_equal_those_of_gaussian_classes(void **state) {
    (void)state;
    static const char *const shares[] = {"0", "0.2", "1"}, *const priors[] = {"data", "uniform"};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t s = 0; s < LM_COUNT(shares); s++)
        for (size_t p = 0; p < LM_COUNT(priors); p++)
            check_proba(ctx, shares[s], priors[p]);
    limn_context_free(ctx);
}

/* With one row per class there is no covariance: the nearest mean answers. */
static void test_without_any_scatter_the_nearest_mean_answers(void **state) {
    (void)state;
    const float x[] = {0, 0, 10, 0, 0, 10}, queries[] = {1, 1, 8, 1, 2, 9};
    const double y[] = {0, 1, 2};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = NULL;
    limn_train_options options;
    limn_model *model = NULL;
    limn_predictor *p = NULL;
    int32_t classes[3];
    limn_train_options_init(&options);
    options.method = "lda";
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 3, 2, y, &data), LIMN_OK);
    assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, queries, 3, classes), LIMN_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(classes[i], i);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solving_equals_elimination_and_least_norm_where_singular),
        cmocka_unit_test(test_probabilities_equal_those_of_gaussian_classes),
        cmocka_unit_test(test_without_any_scatter_the_nearest_mean_answers),
    };
    return cmocka_run_group_tests_name("lda", tests, NULL, NULL);
}
