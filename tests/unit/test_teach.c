/* test_teach.c: teachers, with a toy method that repeats what it is told (toy_taught.h): models,
 * methods and functions of the caller, what is copied from them, and what is refused. */
#include "support.h"
#include "toy_taught.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROWS = 60 };

static limn_status teach(limn_context *ctx, const limn_data *data, const limn_train_options *o,
                         limn_model **out) {
    lm_params params;
    *out = NULL;
    lm_params_init(taught_method.info.name, taught_params, LM_COUNT(taught_params), &params);
    return lm_model_train_planned(ctx, data, &taught_method, &params, o, NULL, out);
}

static limn_model *must_train(limn_context *ctx, const limn_data *data, const char *method,
                              const char *param, limn_scale scale) {
    limn_model *model = NULL;
    limn_train_options options;
    limn_train_options_init(&options);
    options.method = method;
    options.params = &param;
    options.param_count = param != NULL;
    options.scale = scale;
    if (limn_train(ctx, data, &options, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return model;
}

/* ---- a model teaches ---- */

static void answers_of(limn_context *ctx, const limn_model *model, const limn_data *data,
                       limn_answer answer, double *out) {
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict_rows(p, answer, data->x, data->n, limn_data_width(data), out),
                     LIMN_OK);
    limn_predictor_free(p);
}

/* What the toy was told about every training row is what the model itself says. */
static void check_model(const char *method, const char *param, limn_task task, limn_answer answer,
                        int kind) {
    limn_context *ctx = make_context(NULL, 3, 5);
    limn_data *data = make_data(ctx, task, SHAPE_CONSTANT, ROWS, 3);
    limn_model *teacher = must_train(ctx, data, method, param, LIMN_SCALE_AUTO), *pupil = NULL;
    limn_train_options options;
    double *own = malloc(ROWS * 8 * sizeof *own);
    limn_train_options_init(&options);
    options.teacher = teacher;
    if (teach(ctx, data, &options, &pupil) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    const taught *t = pupil->body;
    answers_of(ctx, teacher, data, answer, own);
    assert_int_equal(t->teacher.kind, kind);
    assert_int_equal(t->teacher.task, task);
    assert_int_equal(t->teacher.classes, task == LIMN_CLASSIFY ? 3 : 0);
    assert_memory_equal(t->said, own, ROWS * t->teacher.width * sizeof *own);
    assert_int_equal(t->teacher.field != NULL,
                     task == LIMN_CLASSIFY && teacher->method->field != NULL);
    assert_int_equal(t->teacher.machine != NULL, strcmp(method, "svm") == 0);
    /* Its columns, labels and scaling are the teacher's. */
    assert_int_equal(pupil->scaler.kind, teacher->scaler.kind);
    assert_int_equal(pupil->scaler.out, teacher->scaler.out);
    assert_int_equal(pupil->schema.labels.count, teacher->schema.labels.count);
    if (task == LIMN_CLASSIFY && kind != LM_TEACHES_PAIRS) {
        limn_predictor *p = NULL;
        int32_t mine[ROWS];
        assert_int_equal(limn_predictor_new(ctx, pupil, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predict(p, data->x, ROWS, mine), LIMN_OK);
        for (size_t i = 0; i < ROWS; i++)
            assert_int_equal(mine[i], lm_argmax(own + i * 3, 3));
        limn_predictor_free(p);
    }
    free(own);
    limn_model_free(pupil);
    limn_model_free(teacher);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_a_model_teaches_what_it_answers(void **state) {
    (void)state;
    check_model("lda", NULL, LIMN_CLASSIFY, LIMN_ANSWER_PROBA, LM_TEACHES_PROBA);
    check_model("knn", "k=3", LIMN_CLASSIFY, LIMN_ANSWER_PROBA, LM_TEACHES_PROBA);
    check_model("svm", NULL, LIMN_CLASSIFY, LIMN_ANSWER_SCORES, LM_TEACHES_PAIRS);
    check_model("svm", "probability=yes", LIMN_CLASSIFY, LIMN_ANSWER_SCORES, LM_TEACHES_PAIRS);
    check_model("svm", NULL, LIMN_REGRESS, LIMN_ANSWER_VALUES, LM_TEACHES_VALUE);
    check_model("bforest", "trees=9", LIMN_REGRESS, LIMN_ANSWER_VALUES, LM_TEACHES_VALUE);
}

/* A hull without probabilities can teach with its distances. */
static void test_distances_teach_where_there_is_nothing_better(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, ROWS, 3);
    limn_model *teacher = must_train(ctx, data, "nsc", NULL, LIMN_SCALE_AUTO), *pupil = NULL;
    lm_method silent = *teacher->method;
    limn_train_options options;
    double own[ROWS * 3];
    limn_train_options_init(&options);
    options.teacher = teacher;
    silent.proba = NULL;
    const lm_method *whole = teacher->method;
    teacher->method = &silent;
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_OK);
    const taught *t = pupil->body;
    assert_int_equal(t->teacher.kind, LM_TEACHES_DISTANCE);
    answers_of(ctx, teacher, data, LIMN_ANSWER_SCORES, own);
    assert_memory_equal(t->said, own, sizeof own);
    limn_model_free(pupil);
    silent.scores = NULL;
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_UNSUPPORTED);
    assert_non_null(strstr(limn_error(ctx), "nsc gives neither"));
    teacher->method = whole;
    limn_model_free(teacher);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_data_that_the_teacher_does_not_know_is_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, ROWS, 3);
    limn_data *wide = make_data(ctx, LIMN_CLASSIFY, SHAPE_WIDE, ROWS, 3);
    limn_data *one = make_data(ctx, LIMN_CLASSIFY, SHAPE_ONE_CLASS, ROWS, 3);
    limn_data *values = make_data(ctx, LIMN_REGRESS, SHAPE_RANDOM, ROWS, 3);
    limn_model *teacher = must_train(ctx, one, "knn", NULL, LIMN_SCALE_AUTO), *pupil = NULL;
    limn_train_options options;
    limn_train_options_init(&options);
    options.teacher = teacher;
    assert_int_equal(teach(ctx, wide, &options, &pupil), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(ctx), ", but the teacher has 5"));
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(ctx), "the teacher has no class '1'"));
    assert_int_equal(teach(ctx, values, &options, &pupil), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "was trained for the task classify"));
    limn_model *wise = must_train(ctx, data, "lda", NULL, LIMN_SCALE_AUTO);
    options.teacher = wise;
    assert_int_equal(teach(ctx, one, &options, &pupil), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(ctx), "has 1 class, but the teacher has 3"));
    options.scale = LIMN_SCALE_MINMAX;
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "takes over the teacher's scaling"));
    assert_null(pupil);
    limn_model_free(wise);
    limn_model_free(teacher);
    limn_data_free(data);
    limn_data_free(wide);
    limn_data_free(one);
    limn_data_free(values);
    limn_context_free(ctx);
}

static void test_classes_in_another_order_are_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    static const float x[] = {0, 1, 2, 3};
    static const double first[] = {1, 1, 2, 2}, second[] = {2, 2, 3, 3};
    limn_data *data = NULL, *other = NULL;
    limn_model *pupil = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 4, 1, first, &data), LIMN_OK);
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 4, 1, second, &other), LIMN_OK);
    limn_model *teacher = must_train(ctx, data, "lda", NULL, LIMN_SCALE_AUTO);
    limn_train_options options;
    limn_train_options_init(&options);
    options.teacher = teacher;
    assert_int_equal(teach(ctx, other, &options, &pupil), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(ctx), "'2' is not number 0; read the data with match"));
    limn_model_free(teacher);
    limn_data_free(data);
    limn_data_free(other);
    limn_context_free(ctx);
}

/* ---- a method teaches ---- */

static void test_a_method_is_trained_first_and_teaches(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 2, 5);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, ROWS, 3);
    limn_model *teacher = must_train(ctx, data, "knn", "k=7", LIMN_SCALE_MINMAX), *pupil = NULL;
    const char *param = "k=7", *wrong = "k=none";
    double own[ROWS * 3];
    limn_train_options options;
    limn_train_options_init(&options);
    options.teacher_method = "knn";
    options.teacher_params = &param;
    options.teacher_param_count = 1;
    options.scale = LIMN_SCALE_MINMAX;
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_OK);
    answers_of(ctx, teacher, data, LIMN_ANSWER_PROBA, own);
    const taught *t = pupil->body;
    assert_memory_equal(t->said, own, sizeof own);
    assert_int_equal(pupil->scaler.kind, LIMN_SCALE_MINMAX);
    limn_model_free(pupil);
    options.teacher_params = &wrong;
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_USAGE);
    options.teacher_param_count = 0;
    options.teacher_method = "nobody";
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "there is no method 'nobody'"));
    limn_model_free(teacher);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- a function teaches ---- */

typedef struct asked {
    const limn_data *data;
    pthread_t thread;
    size_t rows, fail_from, classes;
    bool strange;
    double worst; /* how far rows were from those of the data */
} asked;

static limn_status say(void *user, const float *x, size_t n, double *answers) {
    asked *a = user;
    size_t d = a->data->schema.features;
    assert_true(pthread_equal(a->thread, pthread_self()));
    if (a->rows >= a->fail_from)
        return LIMN_E_IO;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < d; j++)
            a->worst = fmax(a->worst,
                            fabs((double)x[i * d + j] - (double)a->data->x[(a->rows + i) * d + j]));
        for (size_t c = 0; c < a->classes; c++)
            answers[i * a->classes + c] = a->strange ? NAN : x[i * d] > 0 ? c == 0 : c == 1;
    }
    a->rows += n;
    return LIMN_OK;
}

static void test_a_function_sees_rows_as_the_data_has_them(void **state) {
    (void)state;
    static const limn_scale scales[] = {LIMN_SCALE_NONE, LIMN_SCALE_MINMAX, LIMN_SCALE_ZSCORE};
    for (size_t s = 0; s < LM_COUNT(scales); s++) {
        limn_context *ctx = make_context(NULL, 3, 5);
        limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_CONSTANT, 2500, 3);
        asked a = {.data = data, .thread = pthread_self(), .fail_from = SIZE_MAX, .classes = 3};
        limn_model *pupil = NULL;
        limn_predictor *p = NULL;
        int32_t *mine = malloc(2500 * sizeof *mine);
        limn_train_options options;
        limn_train_options_init(&options);
        options.teach = say;
        options.teach_user = &a;
        options.scale = scales[s];
        if (teach(ctx, data, &options, &pupil) != LIMN_OK)
            fail_msg("%s", limn_error(ctx));
        assert_int_equal(a.rows, 2500);
        assert_true(a.worst < 1e-5); /* the constant feature, which is not scaled, too */
        assert_int_equal(limn_predictor_new(ctx, pupil, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predict(p, data->x, 200, mine), LIMN_OK);
        for (size_t i = 0; i < 200; i++)
            assert_int_equal(mine[i], data->x[i * 5] > 0 ? 0 : 1);
        limn_predictor_free(p);
        free(mine);
        limn_model_free(pupil);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

static void test_a_function_may_fail(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 2500, 3);
    asked a = {.data = data, .thread = pthread_self(), .fail_from = 1024, .classes = 3};
    limn_model *pupil = NULL;
    limn_train_options options;
    limn_train_options_init(&options);
    options.teach = say;
    options.teach_user = &a;
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_IO);
    assert_string_equal(limn_error(ctx), "the teacher failed: input or output failed");
    a = (asked){.data = data,
                .thread = pthread_self(),
                .fail_from = SIZE_MAX,
                .classes = 3,
                .strange = true};
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(ctx), "not a finite number"));
    assert_null(pupil);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- what is refused ---- */

static void test_who_takes_no_teacher_says_so(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, ROWS, 3);
    limn_train_options options;
    for (size_t i = 0; lm_method_at(i); i++) {
        if (lm_method_capabilities(lm_method_at(i)) & LIMN_CAN_BE_TAUGHT)
            continue;
        limn_model *model = NULL;
        limn_train_options_init(&options);
        options.method = lm_method_at(i)->info.name;
        options.teacher_method = "lda";
        assert_int_equal(limn_train_check(ctx, &options, LIMN_CLASSIFY), LIMN_E_USAGE);
        assert_non_null(strstr(limn_error(ctx), "cannot learn from a teacher"));
        assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_E_USAGE);
        assert_null(model);
    }
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_one_teacher_is_enough(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, ROWS, 3);
    limn_model *pupil = NULL;
    const char *param = "k=3";
    limn_train_options options;
    limn_train_options_init(&options);
    options.teacher_method = "lda";
    options.teach = say;
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "only one teacher"));
    limn_train_options_init(&options);
    options.teacher_params = &param;
    options.teacher_param_count = 1;
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "parameters were given for the teacher but no method"));
    limn_train_options_init(&options);
    assert_int_equal(teach(ctx, data, &options, &pupil), LIMN_E_USAGE);
    assert_string_equal(limn_error(ctx), "taught: a teacher is needed");
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_failing_allocations_are_reported_and_leak_nothing(void **state) {
    (void)state;
    bool done = false;
    for (unsigned at = 1; !done; at++) {
        counting count = {0};
        limn_context *ctx = make_context(&count, 1, 5);
        limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, ROWS, 3);
        limn_model *pupil = NULL;
        limn_train_options options;
        limn_train_options_init(&options);
        options.teacher_method = "lda";
        count.fail_at = at;
        limn_status status = teach(ctx, data, &options, &pupil);
        done = status == LIMN_OK;
        assert_true(done || status == LIMN_E_MEMORY);
        assert_true(done == (pupil != NULL));
        limn_model_free(pupil);
        limn_data_free(data);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
        assert_true(at > 10 || !done);
    }
}

/* ---- candidates ---- */

static void test_candidates_are_parameters_of_their_method(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    const lm_shape of = {.task = LIMN_CLASSIFY, .d = 5, .classes = 3, .rows = 100};
    lm_candidate c;
    size_t count = 0;
    for (; taught_method.candidate(&of, count, &c); count++) {
        param_list list = {.count = 0};
        lm_params params;
        add_params(&list, c.params);
        lm_params_init("taught", taught_params, LM_COUNT(taught_params), &params);
        for (size_t i = 0; i < list.count; i++)
            assert_int_equal(lm_params_set(ctx, &params, list.list[i]), LIMN_OK);
        assert_true(c.cost == 500);
    }
    assert_int_equal(count, 3);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_model_teaches_what_it_answers),
        cmocka_unit_test(test_distances_teach_where_there_is_nothing_better),
        cmocka_unit_test(test_data_that_the_teacher_does_not_know_is_refused),
        cmocka_unit_test(test_classes_in_another_order_are_refused),
        cmocka_unit_test(test_a_method_is_trained_first_and_teaches),
        cmocka_unit_test(test_a_function_sees_rows_as_the_data_has_them),
        cmocka_unit_test(test_a_function_may_fail),
        cmocka_unit_test(test_who_takes_no_teacher_says_so),
        cmocka_unit_test(test_one_teacher_is_enough),
        cmocka_unit_test(test_failing_allocations_are_reported_and_leak_nothing),
        cmocka_unit_test(test_candidates_are_parameters_of_their_method),
    };
    return cmocka_run_group_tests_name("teach", tests, NULL, NULL);
}
