/* test_density.c: the task density, with a toy method (toy_density.h): its answers against the log
 * density of the Gaussian as computed here from the unscaled rows, in double precision. */
#include "support.h"
#include "toy_density.h"
#include "toy_taught.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 700, D = 3 }; /* more than one batch */

static const limn_scale scales[] = {LIMN_SCALE_NONE, LIMN_SCALE_MINMAX, LIMN_SCALE_ZSCORE};

/* Features of different size and unit; one of them is constant if so wished. */
static void make_rows(float *x, bool constant) {
    static const double stretch[D] = {0.01, 1, 250}, shift[D] = {0.3, -7, 1000};
    lm_rng rng = lm_rng_at(5, 6, 7);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < D; j++)
            x[i * D + j] =
                constant && j == 1 ? 4.5f : (float)(stretch[j] * lm_rng_normal(&rng) + shift[j]);
}

/* The log density of the Gaussian of all rows at row i, of the features that vary. */
static double expected_at(const float *x, size_t i) {
    double log_density = 0;
    for (size_t j = 0; j < D; j++) {
        double mean = 0, variance = 0;
        for (size_t r = 0; r < ROWS; r++)
            mean += x[r * D + j];
        mean /= ROWS;
        for (size_t r = 0; r < ROWS; r++)
            variance += pow(x[r * D + j] - mean, 2) / ROWS;
        if (variance > 0)
            log_density += -0.5 * (pow(x[i * D + j] - mean, 2) / variance +
                                   log(2 * 3.14159265358979 * variance));
    }
    return log_density;
}

static limn_data *data_of(limn_context *ctx, const float *x, size_t n) {
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_DENSITY, x, n, D, NULL, &data), LIMN_OK);
    return data;
}

static limn_model *train(limn_context *ctx, const lm_method *method, const limn_data *data,
                         const limn_model *teacher, limn_scale scale) {
    limn_model *model = NULL;
    lm_params params;
    limn_train_options options;
    limn_train_options_init(&options);
    options.scale = scale;
    options.teacher = teacher;
    lm_params_init(method->info.name, method->info.params, method->info.param_count, &params);
    if (lm_model_train_planned(ctx, data, method, &params, &options, NULL, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return model;
}

typedef struct world {
    limn_context *ctx;
    float x[ROWS * D];
    double values[ROWS];
    limn_data *data;
    limn_model *model;
    limn_predictor *p;
} world;

static world *begin(counting *count, limn_scale scale, bool constant, int threads) {
    world *w = calloc(1, sizeof *w);
    limn_predictor_options options;
    w->ctx = make_context(count, 1, 1);
    make_rows(w->x, constant);
    w->data = data_of(w->ctx, w->x, ROWS);
    w->model = train(w->ctx, &bell_method, w->data, NULL, scale);
    limn_predictor_options_init(&options);
    options.threads = threads;
    assert_int_equal(limn_predictor_new(w->ctx, w->model, &options, &w->p), LIMN_OK);
    return w;
}

static void end(world *w) {
    limn_predictor_free(w->p);
    limn_model_free(w->model);
    limn_data_free(w->data);
    limn_context_free(w->ctx);
    free(w);
}

/* Scaled rows are rounded to float32, which moves the answers by about 1e-5. */
static void assert_near(double got, double wanted, const char *what) {
    if (!(fabs(got - wanted) < 1e-4))
        fail_msg("%s: %.17g is not %.17g", what, got, wanted);
}

static void check_values(bool constant, size_t used) {
    for (size_t s = 0; s < LM_COUNT(scales); s++)
        for (int threads = 1; threads <= 3; threads += 2) {
            world *w = begin(NULL, scales[s], constant, threads);
            limn_model_info info = {.size = sizeof info};
            limn_model_describe(w->model, &info);
            assert_int_equal(info.used_features, scales[s] == LIMN_SCALE_NONE ? D : used);
            assert_int_equal(limn_predict_values(w->p, w->x, ROWS, w->values), LIMN_OK);
            for (size_t i = 0; i < ROWS; i += 31)
                assert_near(w->values[i], expected_at(w->x, i), limn_scale_name(scales[s]));
            end(w);
        }
}

static void test_log_densities_are_in_the_units_of_the_data_whatever_the_scaling(void **state) {
    (void)state;
    check_values(false, D);
}

static void test_features_that_scaling_drops_do_not_count(void **state) {
    (void)state;
    check_values(true, D - 1);
}

static void test_the_volume_of_a_scaling_is_the_product_of_its_factors(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    const float x[] = {0, 5, 10, 4, 5, 30}, flat[] = {1, 2, 1, 2};
    lm_scaler scaler;
    assert_int_equal(lm_scaler_fit(ctx, LIMN_SCALE_MINMAX, false,
                                   &(lm_scaler_rows){.x = x, .n = 2, .d = 3}, &scaler),
                     LIMN_OK);
    assert_near(lm_scaler_log_volume(&scaler), -log(4 * 20), "minmax");
    lm_scaler_free(&ctx->mem, &scaler);
    assert_int_equal(lm_scaler_fit(ctx, LIMN_SCALE_ZSCORE, true,
                                   &(lm_scaler_rows){.x = x, .n = 2, .d = 3}, &scaler),
                     LIMN_OK);
    assert_near(lm_scaler_log_volume(&scaler), -log(2 * 10), "zscore");
    lm_scaler_free(&ctx->mem, &scaler);
    assert_int_equal(lm_scaler_fit(ctx, LIMN_SCALE_ZSCORE, false,
                                   &(lm_scaler_rows){.x = flat, .n = 2, .d = 2}, &scaler),
                     LIMN_OK);
    assert_int_equal(scaler.out, 2); /* nothing else would be left */
    assert_true(lm_scaler_log_volume(&scaler) == 0);
    lm_scaler_free(&ctx->mem, &scaler);
    assert_int_equal(lm_scaler_fit(ctx, LIMN_SCALE_NONE, false,
                                   &(lm_scaler_rows){.x = x, .n = 2, .d = 3}, &scaler),
                     LIMN_OK);
    assert_true(lm_scaler_log_volume(&scaler) == 0);
    limn_context_free(ctx);
}

static void test_a_scaling_without_a_volume_is_not_loaded(void **state) {
    (void)state;
    static const double factors[] = {1, 0, -1};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 30, 2);
    for (size_t i = 0; i < LM_COUNT(factors); i++) {
        limn_train_options options;
        limn_model *model = NULL, *loaded = NULL;
        unsigned char *bytes;
        size_t size;
        lm_file *file = NULL;
        limn_train_options_init(&options);
        options.method = "knn";
        options.scale = LIMN_SCALE_ZSCORE;
        assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
        model->scaler.factor[1] = factors[i];
        assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
        assert_int_equal(lm_file_from_memory(ctx, bytes, size, "test.limn", &file), LIMN_OK);
        assert_int_equal(lm_model_load(ctx, file, &loaded), i ? LIMN_E_MODEL : LIMN_OK);
        assert_true(!i || strstr(limn_error(ctx), "the scaling factor of feature 2"));
        lm_free(&ctx->mem, bytes);
        limn_model_free(loaded);
        limn_model_free(model);
    }
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_single_scaled_and_batch_calls_agree_and_allocate_nothing(void **state) {
    (void)state;
    counting count = {0};
    world *w = begin(&count, LIMN_SCALE_ZSCORE, true, 1);
    static float scaled[ROWS * D];
    static double again[ROWS];
    size_t width = w->model->scaler.out;
    lm_scaler_apply(&w->model->scaler, w->x, ROWS, scaled, NULL);
    lm_query query = {.x = scaled,
                      .n = ROWS,
                      .width = width,
                      .scaled = true,
                      .kind = LM_ASK_VALUES,
                      .out = again};
    unsigned before = count.requests;
    assert_int_equal(limn_predict_values(w->p, w->x, ROWS, w->values), LIMN_OK);
    assert_int_equal(lm_predictor_run(w->p, &query), LIMN_OK);
    assert_memory_equal(again, w->values, sizeof again);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(limn_predict_rows(w->p, LIMN_ANSWER_VALUES, w->x + i * D, 1, D, again + i),
                         LIMN_OK);
    assert_memory_equal(again, w->values, sizeof again);
    assert_int_equal(count.requests, before);
    end(w);
    assert_int_equal(count.live, 0);
}

/* The toy that is taught repeats what it was told, so both must mean the same units. */
static void test_a_taught_model_gives_the_densities_of_its_teacher(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(scales); s++) {
        world *w = begin(NULL, scales[s], false, 1);
        limn_model *student = train(w->ctx, &taught_method, w->data, w->model, LIMN_SCALE_AUTO);
        limn_predictor *p = NULL;
        double values[5];
        assert_int_equal(limn_predictor_new(w->ctx, student, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predict_values(p, w->x, 5, values), LIMN_OK);
        for (size_t i = 0; i < 5; i++)
            assert_near(values[i], expected_at(w->x, i), limn_scale_name(scales[s]));
        limn_predictor_free(p);
        limn_model_free(student);
        end(w);
    }
}

static limn_status say_one(void *user, const float *x, size_t n, double *answers) {
    (void)user, (void)x;
    for (size_t i = 0; i < n; i++)
        answers[i] = 1.25;
    return LIMN_OK;
}

static void test_a_function_teaches_in_the_units_of_the_data(void **state) {
    (void)state;
    world *w = begin(NULL, LIMN_SCALE_ZSCORE, false, 1);
    limn_model *student = NULL;
    limn_predictor *p = NULL;
    lm_params params;
    limn_train_options options;
    limn_train_options_init(&options);
    options.teach = say_one;
    lm_params_init("taught", taught_params, LM_COUNT(taught_params), &params);
    assert_int_equal(
        lm_model_train_planned(w->ctx, w->data, &taught_method, &params, &options, NULL, &student),
        LIMN_OK);
    assert_int_equal(limn_predictor_new(w->ctx, student, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict_values(p, w->x, ROWS, w->values), LIMN_OK);
    for (size_t i = 0; i < ROWS; i++)
        assert_near(w->values[i], 1.25, "taught by a function");
    limn_predictor_free(p);
    limn_model_free(student);
    end(w);
}

static void test_evaluation_gives_the_mean_and_needs_no_labels(void **state) {
    (void)state;
    counting count = {0};
    for (size_t s = 0; s < LM_COUNT(scales); s++) {
        world *w = begin(&count, scales[s], false, 1);
        limn_eval_options options;
        limn_evaluation e = {.size = sizeof e};
        double mean = 0;
        limn_eval_options_init(&options);
        options.latency_seconds = 0.01;
        limn_data *some = data_of(w->ctx, w->x, 40);
        for (size_t i = 0; i < 40; i++)
            mean += expected_at(w->x, i) / 40;
        if (limn_evaluate(w->ctx, w->model, some, &options, &e) != LIMN_OK)
            fail_msg("%s", limn_error(w->ctx));
        assert_int_equal(e.n, 40);
        assert_near(e.mean_log_density, mean, limn_scale_name(scales[s]));
        assert_true(isnan(e.accuracy) && isnan(e.rmse) && isnan(e.recall_at_k) && !e.confusion);
        assert_true(e.latency_us_mean > 0 && e.batch_rows_per_s > 0 && e.touched_vectors == 2);
        some->x[7] = 1e9f; /* out of reach */
        options.measure_speed = 0;
        assert_int_equal(limn_evaluate(w->ctx, w->model, some, &options, &e), LIMN_OK);
        assert_true(isinf(e.mean_log_density) && e.mean_log_density < 0);
        some->n = 0;
        assert_int_equal(limn_evaluate(w->ctx, w->model, some, &options, &e), LIMN_E_DATA);
        assert_non_null(strstr(limn_error(w->ctx), "no rows"));
        some->n = 40;
        limn_data_free(some);
        end(w);
    }
    assert_int_equal(count.live, 0);
}

static void test_the_mean_log_density_belongs_to_density_models(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_REGRESS, SHAPE_RANDOM, 30, 2);
    limn_train_options options;
    limn_eval_options quick;
    limn_model *model = NULL;
    limn_evaluation e = {.size = sizeof e};
    limn_train_options_init(&options);
    options.method = "knn";
    limn_eval_options_init(&quick);
    quick.measure_speed = 0;
    assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
    assert_int_equal(limn_evaluate(ctx, model, data, &quick, &e), LIMN_OK);
    assert_true(isnan(e.mean_log_density) && e.rmse >= 0);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void assert_refused(const world *w, limn_status status, const char *what) {
    char sentence[128];
    snprintf(sentence, sizeof sentence,
             "the model was trained for the task density and gives no %s", what);
    assert_int_equal(status, LIMN_E_USAGE);
    assert_string_equal(limn_error(w->ctx), sentence);
}

/* bell_method has functions for classes and scores, which a density model must not use. */
static void test_a_density_model_gives_values_only(void **state) {
    (void)state;
    world *w = begin(NULL, LIMN_SCALE_ZSCORE, false, 1);
    int32_t class;
    limn_model_info info = {.size = sizeof info};
    assert_refused(w, limn_predict(w->p, w->x, 1, &class), "classes");
    assert_refused(w, limn_predict_proba(w->p, w->x, 1, w->values), "probabilities");
    assert_refused(w, limn_predict_scores(w->p, w->x, 1, w->values), "decision values");
    limn_model_describe(w->model, &info);
    assert_int_equal(info.classes, 0);
    assert_int_equal(info.scores, 0);
    assert_int_equal(info.capabilities, LIMN_CAN_DENSITY);
    end(w);
}

static void test_a_classification_model_gives_no_values(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 30, 2);
    limn_model *model = train(ctx, &bell_method, data, NULL, LIMN_SCALE_AUTO);
    limn_predictor *p = NULL;
    double value;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict_values(p, data->x, 1, &value), LIMN_E_USAGE);
    assert_string_equal(limn_error(ctx),
                        "the model was trained for the task classify and gives no values");
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* Writes text to a file, reads it and returns the data. */
static limn_data *read_text(limn_context *ctx, const char *text, const limn_model *match) {
    char path[] = "/tmp/limn-density-XXXXXX";
    limn_read_options options;
    limn_data *data = NULL;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    limn_read_options_init(&options);
    options.task = LIMN_DENSITY;
    limn_status status = limn_data_read(ctx, path, &options, match, &data);
    unlink(path);
    if (status != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    assert_null(limn_data_classes(data));
    assert_null(limn_data_targets(data));
    return data;
}

static void check_columns(const char *training, const char *later, size_t features) {
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = read_text(ctx, training, NULL);
    assert_int_equal(limn_data_features(data), features);
    limn_model *model = train(ctx, &bell_method, data, NULL, LIMN_SCALE_NONE);
    limn_data *same = read_text(ctx, later, model);
    assert_int_equal(limn_data_features(same), features);
    assert_int_equal(limn_data_rows(same), limn_data_rows(data));
    assert_memory_equal(limn_data_values(same), limn_data_values(data),
                        limn_data_rows(data) * features * sizeof(float));
    limn_data_free(same);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_labels_are_left_out_and_nothing_else_is(void **state) {
    (void)state;
    check_columns("1,2\n3,4\n6,7\n", "1,2\n3,4\n6,7\n", 2);
    check_columns("1,2\n3,4\n6,7\n", "1,2,a\n3,4,b\n6,7,\n", 2); /* a label was added */
    check_columns("u,v\n1,2\n3,4\n", "v,u\n2,1\n4,3\n", 2);
    check_columns("u,class,v\n1,a,2\n3,,4\n", "u,class,v\n1,c,2\n3,d,4\n", 2);
    check_columns("u,class,v\n1,a,2\n3,,4\n", "v,u\n2,1\n4,3\n", 2);
    check_columns("1 1:1 2:2\nx 1:3 2:4\n", "1:1 2:2\n7 1:3 2:4\n", 2); /* LIBSVM */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_densities_are_in_the_units_of_the_data_whatever_the_scaling),
        cmocka_unit_test(test_features_that_scaling_drops_do_not_count),
        cmocka_unit_test(test_the_volume_of_a_scaling_is_the_product_of_its_factors),
        cmocka_unit_test(test_a_scaling_without_a_volume_is_not_loaded),
        cmocka_unit_test(test_single_scaled_and_batch_calls_agree_and_allocate_nothing),
        cmocka_unit_test(test_a_taught_model_gives_the_densities_of_its_teacher),
        cmocka_unit_test(test_a_function_teaches_in_the_units_of_the_data),
        cmocka_unit_test(test_evaluation_gives_the_mean_and_needs_no_labels),
        cmocka_unit_test(test_the_mean_log_density_belongs_to_density_models),
        cmocka_unit_test(test_a_density_model_gives_values_only),
        cmocka_unit_test(test_a_classification_model_gives_no_values),
        cmocka_unit_test(test_labels_are_left_out_and_nothing_else_is),
    };
    return cmocka_run_group_tests_name("density", tests, NULL, NULL);
}
