/* test_sized.c: public structs that begin with their size: shorter ones from older programs
 * still work, those that were not initialised are refused. */
#include "base/sized.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_init_sets_the_size_and_the_defaults(void **state) {
    (void)state;
    limn_context_options context;
    limn_predictor_options predictor;
    limn_eval_options eval;
    limn_rows rows;
    memset(&context, 0xff, sizeof context);
    memset(&rows, 0xff, sizeof rows);
    limn_context_options_init(&context);
    limn_predictor_options_init(&predictor);
    limn_eval_options_init(&eval);
    limn_rows_init(&rows);
    assert_int_equal(context.size, sizeof context);
    assert_int_equal(predictor.size, sizeof predictor);
    assert_int_equal(eval.size, sizeof eval);
    assert_int_equal(rows.size, sizeof rows);
    assert_true(context.seed == 1 && !context.progress && predictor.threads == 1);
    assert_true(eval.neighbors == 10 && rows.n == 0 && !rows.x);
}

/* The message of every function for a struct of zeros. */
static void assert_refused(limn_context *ctx, limn_status status, const char *name) {
    char sentence[128];
    snprintf(sentence, sizeof sentence, "limn_%s was not initialised; call limn_%s_init first",
             name, name);
    assert_int_equal(status, LIMN_E_USAGE);
    assert_string_equal(limn_error(ctx), sentence);
}

static void test_a_struct_that_was_not_initialised_is_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1), *none = NULL;
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 30, 1), *read = NULL;
    limn_model *model = NULL;
    limn_predictor *p = NULL;
    limn_reader *reader = NULL;
    limn_context_options context = {0};
    limn_train_options train = {0}, good;
    limn_predictor_options predictor = {0};
    limn_read_options reading = {0};
    limn_write_options writing = {0};
    limn_synth_options synth = {0};
    limn_eval_options eval = {0};
    limn_lesson lesson = {0};
    limn_evaluation e = {.size = sizeof e};
    assert_int_equal(limn_context_new(&context, &none), LIMN_E_USAGE);
    assert_null(none);
    train.method = "bforest";
    assert_refused(ctx, limn_train(ctx, data, &train, &model), "train_options");
    assert_refused(ctx, limn_train_check(ctx, &train, LIMN_CLASSIFY), "train_options");
    limn_train_options_init(&good);
    good.method = "bforest";
    assert_int_equal(limn_train(ctx, data, &good, &model), LIMN_OK);
    assert_refused(ctx, limn_predictor_new(ctx, model, &predictor, &p), "predictor_options");
    assert_refused(ctx, limn_data_read(ctx, "x.csv", &reading, NULL, &read), "read_options");
    assert_refused(ctx, limn_reader_open(ctx, "x.csv", &reading, NULL, &reader), "read_options");
    assert_refused(ctx, limn_convert(ctx, "x.csv", NULL, "y.csv", &writing, NULL), "write_options");
    assert_refused(ctx, limn_synth(ctx, &synth, "x.csv", NULL), "synth_options");
    assert_refused(ctx, limn_evaluate(ctx, model, data, &eval, &e), "eval_options");
    assert_refused(ctx, limn_learn(ctx, model, &lesson, NULL), "lesson");
    e.size = 0;
    assert_refused(ctx, limn_evaluate(ctx, model, data, NULL, &e), "evaluation");
    limn_convert_info info = {0};
    assert_refused(ctx, limn_convert(ctx, "x.csv", NULL, "y.csv", NULL, &info), "convert_info");
    assert_true(!p && !read && !reader);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_a_shorter_struct_takes_what_it_has_room_for(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 30, 1);
    limn_model *model = NULL;
    limn_train_options options;
    /* As in a header whose struct ends after the scaling: the bytes after it are not options. */
    size_t old = offsetof(limn_train_options, teacher);
    limn_train_options *given = malloc(old);
    limn_train_options_init(&options);
    options.method = "lda";
    options.size = old;
    memcpy(given, &options, old);
    assert_int_equal(limn_train(ctx, data, given, &model), LIMN_OK);
    /* The sanitizer checks that nothing is written past their end. */
    size_t ends = offsetof(limn_model_info, classes);
    limn_model_info *info = malloc(ends);
    memcpy(info, &ends, sizeof ends);
    limn_model_describe(model, info);
    assert_int_equal(*(size_t *)info, ends);
    assert_string_equal(info->method, "lda");
    assert_int_equal(info->features, 5);
    free(info);
    free(given);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_a_longer_struct_keeps_what_is_not_known_here(void **state) {
    (void)state;
    struct {
        size_t size;
        int a, b;
    } own = {sizeof own, 1, 2};
    struct {
        size_t size;
        int a, b, newer;
    } given = {sizeof given, 7, 8, 9};
    assert_true(lm_sized_take(&given, &own, sizeof own));
    assert_true(own.size == sizeof own && own.a == 7 && own.b == 8);
    own.a = 5;
    lm_sized_give(&own, &given, sizeof own);
    assert_true(given.size == sizeof given && given.a == 5 && given.b == 8 && given.newer == 9);
    given.size = 0;
    own.a = 6;
    lm_sized_give(&own, &given, sizeof own);
    assert_true(given.a == 5 && !lm_sized_take(&given, &own, sizeof own));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init_sets_the_size_and_the_defaults),
        cmocka_unit_test(test_a_struct_that_was_not_initialised_is_refused),
        cmocka_unit_test(test_a_shorter_struct_takes_what_it_has_room_for),
        cmocka_unit_test(test_a_longer_struct_keeps_what_is_not_known_here),
    };
    return cmocka_run_group_tests_name("sized", tests, NULL, NULL);
}
