/* The contract of learning and forgetting in src/method.h, proved for every registered method:
 * those that can, in each task, scaling and degenerate shape of data; the others refuse with a
 * message. A new method is tested here without a change to this file. */
#include "model/model.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scales.h"

enum { ROWS = 60, FIRST = 20 };

static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS, LIMN_SEARCH, LIMN_OUTLIER,
                                  LIMN_DENSITY};

static limn_model *train(limn_context *ctx, const lm_method *method, const limn_data *data,
                         size_t n, limn_scale scale) {
    limn_train_options options;
    limn_data *part = NULL;
    limn_model *model = NULL;
    size_t rows[ROWS];
    for (size_t i = 0; i < n; i++)
        rows[i] = i;
    param_list all = {.count = 0};
    limn_train_options_init(&options);
    options.method = method->info.name;
    options.scale = scale;
    add_params(&all, method->brief);
    add_params(&all, method->online ? method->online->params : NULL);
    options.params = all.list;
    options.param_count = all.count;
    assert_int_equal(lm_data_take(ctx, data, rows, n, &part), LIMN_OK);
    if (limn_train(ctx, part, &options, &model) != LIMN_OK)
        fail_msg("%s: %s", method->info.name, limn_error(ctx));
    limn_data_free(part);
    return model;
}

static void learn(limn_context *ctx, limn_model *model, const limn_data *data, size_t first,
                  size_t n) {
    size_t learned = 0;
    limn_lesson l;
    limn_lesson_init(&l);
    l.n = n;
    l.x = data->x + first * data->schema.features;
    l.classes = data->label ? data->label + first : NULL;
    l.targets = data->target ? data->target + first : NULL;
    uint64_t before = model->rows;
    if (limn_learn(ctx, model, &l, &learned) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    assert_int_equal(learned, n);
    assert_int_equal(model->rows, before + n);
}

static limn_model *reopen(limn_context *ctx, limn_model *model) {
    unsigned char *bytes;
    size_t size;
    lm_file *file = NULL;
    limn_model *opened = NULL;
    assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
    limn_model_free(model);
    assert_int_equal(lm_file_from_memory(ctx, bytes, size, "memory", &file), LIMN_OK);
    lm_free(&ctx->mem, bytes);
    if (lm_model_load(ctx, file, &opened) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return opened;
}

static void assert_same_file(limn_context *ctx, const limn_model *a, const limn_model *b,
                             const char *what) {
    unsigned char *one, *other;
    size_t size, other_size;
    assert_int_equal(lm_model_bytes(ctx, a, &one, &size), LIMN_OK);
    assert_int_equal(lm_model_bytes(ctx, b, &other, &other_size), LIMN_OK);
    if (size != other_size || memcmp(one, other, size) != 0)
        fail_msg("files differ: %s", what);
    lm_free(&ctx->mem, one);
    lm_free(&ctx->mem, other);
}

/* Classes or values of the rows of data. */
static void answers(limn_context *ctx, const limn_model *model, const limn_data *data,
                    double *out) {
    int32_t classes[ROWS];
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    memset(out, 0, ROWS * sizeof *out);
    if (model->schema.task == LIMN_REGRESS || model->schema.task == LIMN_DENSITY)
        assert_int_equal(limn_predict_values(p, data->x, data->n, out), LIMN_OK);
    if (model->schema.task == LIMN_CLASSIFY) {
        assert_int_equal(limn_predict(p, data->x, data->n, classes), LIMN_OK);
        for (size_t i = 0; i < data->n; i++)
            out[i] = classes[i];
    }
    limn_predictor_free(p);
}

typedef void (*case_check)(limn_context *ctx, const lm_method *method, const limn_data *data,
                           size_t first, limn_scale scale);

static void for_each_case(const lm_method *method, case_check check) {
    for (size_t t = 0; t < LM_COUNT(tasks); t++)
        for (int s = 0;
             s < SHAPE_COUNT && lm_method_capabilities(method) & lm_task_capability(tasks[t]); s++)
            for (size_t i = 0; i < LM_COUNT(scales); i++) {
                if (!goes_with(scales[i], tasks[t]))
                    continue;
                counting count = {0};
                limn_context *ctx = make_context(&count, 1, 7);
                limn_data *data = make_data(ctx, tasks[t], (shape)s, ROWS, 3);
                size_t first = data->n < FIRST ? data->n : FIRST;
                check(ctx, method, data, first, scales[i]);
                limn_data_free(data);
                limn_context_free(ctx);
                assert_int_equal(count.live, 0);
            }
}

/* ---- the tests ---- */

static void check_file(limn_context *ctx, const lm_method *method, const limn_data *data,
                       size_t first, limn_scale scale) {
    limn_model *whole = train(ctx, method, data, first, scale);
    limn_model *single = train(ctx, method, data, first, scale);
    learn(ctx, whole, data, first, data->n - first);
    for (size_t i = first; i < data->n; i++) {
        if (i % 7 == 0)
            single = reopen(ctx, single);
        learn(ctx, single, data, i, 1);
    }
    assert_same_file(ctx, whole, single, "one by one, reopened");
    limn_model_free(whole);
    limn_model_free(single);
}

static void test_however_rows_come_the_file_is_the_same(void **state) {
    const lm_method *method = *state;
    if (method->online)
        for_each_case(method, check_file);
}

static void check_whole(limn_context *ctx, const lm_method *method, const limn_data *data,
                        size_t first, limn_scale scale) {
    double said[ROWS], expected[ROWS];
    if (scale != LIMN_SCALE_NONE)
        return; /* the scaling stays that of the training rows */
    limn_model *all = train(ctx, method, data, data->n, scale);
    limn_model *some = train(ctx, method, data, first, scale);
    learn(ctx, some, data, first, data->n - first);
    answers(ctx, all, data, expected);
    answers(ctx, some, data, said);
    assert_memory_equal(said, expected, sizeof said);
    limn_model_free(all);
    limn_model_free(some);
}

static void test_training_and_learning_is_training_on_everything(void **state) {
    const lm_method *method = *state;
    if (method->online)
        for_each_case(method, check_whole);
}

static void check_forgetting(limn_context *ctx, const lm_method *method, const limn_data *data,
                             size_t first, limn_scale scale) {
    uint64_t ids[ROWS + 2], forgotten = 99;
    double said[ROWS];
    limn_model *model = train(ctx, method, data, first, scale);
    learn(ctx, model, data, first, data->n - first);
    for (size_t i = 0; i < data->n; i++)
        ids[i] = i * 7 % data->n; /* all of them in another order, unless 7 divides n */
    ids[data->n] = data->n;
    ids[data->n + 1] = UINT64_MAX;
    for (size_t done = 0, n; done < data->n + 2; done += n) {
        n = data->n + 2 - done < 9 ? data->n + 2 - done : 9;
        assert_int_equal(limn_forget(ctx, model, ids + done, n, &forgotten), LIMN_OK);
        assert_true(forgotten <= n);
        answers(ctx, model, data, said);
        model = reopen(ctx, model);
    }
    assert_int_equal(limn_forget(ctx, model, ids, data->n, &forgotten), LIMN_OK);
    assert_int_equal(forgotten, 0);
    assert_int_equal(limn_compact(ctx, model), LIMN_OK);
    answers(ctx, model, data, said);
    model = reopen(ctx, model);
    learn(ctx, model, data, 0, data->n);
    answers(ctx, model, data, said);
    limn_model_free(model);
}

static void test_everything_can_be_forgotten_and_learned_anew(void **state) {
    const lm_method *method = *state;
    if (method->online && method->online->forget)
        for_each_case(method, check_forgetting);
}

static void test_new_classes_are_learned(void **state) {
    const lm_method *method = *state;
    if (!method->online || !(lm_method_capabilities(method) & LIMN_CAN_CLASSIFY))
        return;
    limn_context *ctx = make_context(NULL, 1, 7);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, ROWS, 3);
    limn_model *model = train(ctx, method, data, FIRST, LIMN_SCALE_AUTO);
    int32_t fresh = -1;
    double said[ROWS];
    assert_int_equal(limn_model_add_class(ctx, model, "new", &fresh), LIMN_OK);
    assert_int_equal(fresh, limn_data_class_count(data));
    model = reopen(ctx, model); /* a class that no row has yet */
    answers(ctx, model, data, said);
    for (size_t i = 0; i < data->n; i++)
        data->label[i] = fresh;
    for (int pass = 0; pass < 3; pass++)
        learn(ctx, model, data, 0, data->n);
    model = reopen(ctx, model);
    answers(ctx, model, data, said);
    size_t found = 0;
    for (size_t i = 0; i < data->n; i++)
        found += said[i] == fresh;
    assert_true(found > data->n / 2);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_capabilities_tell_what_the_table_holds(void **state) {
    const lm_method *method = *state;
    const lm_online *online = method->online;
    unsigned can = lm_method_capabilities(method);
    assert_int_equal(!!(can & LIMN_CAN_LEARN), online != NULL);
    assert_int_equal(!!(can & LIMN_CAN_FORGET), online && online->forget);
    assert_true(!online || (online->learn && !online->forget == !online->compact));
    assert_true(!online || !(can & LIMN_CAN_CLASSIFY) || online->widen);
}

static void test_who_cannot_learn_or_forget_says_so(void **state) {
    const lm_method *method = *state;
    limn_context *ctx = make_context(NULL, 1, 7);
    limn_task task = LIMN_CLASSIFY;
    for (size_t t = LM_COUNT(tasks); t-- > 0;)
        task = lm_method_capabilities(method) & lm_task_capability(tasks[t]) ? tasks[t] : task;
    limn_data *data = make_data(ctx, task, SHAPE_RANDOM, ROWS, 3);
    limn_model *model = train(ctx, method, data, data->n, LIMN_SCALE_AUTO), *same;
    uint64_t id = 3;
    int32_t index;
    limn_lesson l = {
        .size = sizeof l, .n = 1, .x = data->x, .classes = data->label, .targets = data->target};
    same = train(ctx, method, data, data->n, LIMN_SCALE_AUTO);
    if (!method->online) {
        assert_int_equal(limn_learn(ctx, model, &l, NULL), LIMN_E_UNSUPPORTED);
        assert_non_null(strstr(limn_error(ctx), method->info.name));
        assert_int_equal(limn_model_add_class(ctx, model, "x", &index), LIMN_E_UNSUPPORTED);
    }
    if (!method->online || !method->online->forget) {
        assert_int_equal(limn_forget(ctx, model, &id, 1, NULL), LIMN_E_UNSUPPORTED);
        assert_non_null(strstr(limn_error(ctx), method->info.name));
        assert_int_equal(limn_compact(ctx, model), LIMN_E_UNSUPPORTED);
    }
    assert_same_file(ctx, model, same, "refused");
    limn_model_free(model);
    limn_model_free(same);
    limn_data_free(data);
    limn_context_free(ctx);
}

typedef struct named_test {
    const char *name;
    CMUnitTestFunction function;
} named_test;

#define TEST(function) \
    { #function, function }

int main(void) {
    static const named_test list[] = {
        TEST(test_capabilities_tell_what_the_table_holds),
        TEST(test_who_cannot_learn_or_forget_says_so),
        TEST(test_however_rows_come_the_file_is_the_same),
        TEST(test_training_and_learning_is_training_on_everything),
        TEST(test_everything_can_be_forgotten_and_learned_anew),
        TEST(test_new_classes_are_learned),
    };
    size_t methods = limn_method_count(), count = 0;
    struct CMUnitTest *tests = calloc(methods * LM_COUNT(list), sizeof *tests);
    for (size_t m = 0; m < methods; m++)
        for (size_t i = 0; i < LM_COUNT(list); i++) {
            const lm_method *method = lm_method_at(m);
            if (i >= 2 && !method->online)
                continue; /* nothing to prove */
            char *name = malloc(160);
            snprintf(name, 160, "%s: %s", method->info.name, list[i].name);
            tests[count++] = (struct CMUnitTest){.name = name,
                                                 .test_func = list[i].function,
                                                 .initial_state = (void *)(uintptr_t)method};
        }
    int failed = _cmocka_run_group_tests("learning", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)tests[i].name);
    free(tests);
    return failed;
}
