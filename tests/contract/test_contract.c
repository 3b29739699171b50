/* The contract of src/method.h, proved for every registered method, each of its tasks and every
 * degenerate shape of data. A new method is tested here without a change to this file. */
#include "heap_calls.h"
#include "model/model.h"
#include "reseal.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scales.h"

enum { ROWS = 60, QUERIES = 300, NEIGHBORS = 4 };

static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS, LIMN_SEARCH, LIMN_OUTLIER,
                                  LIMN_DENSITY};

/* ---- all answers of a model to the same queries, in one block that can be compared ---- */

typedef struct answers {
    int32_t classes[QUERIES];
    double proba[QUERIES * 8];
    double values[QUERIES];
    double scores[QUERIES * 8];
    int64_t rows[QUERIES * NEIGHBORS];
    double distances[QUERIES * NEIGHBORS];
} answers;

static bool can(const lm_method *method, limn_task task) {
    return lm_method_capabilities(method) & lm_task_capability(task);
}

static limn_task first_task(const lm_method *method) {
    size_t t = 0;
    while (!can(method, tasks[t]))
        t++;
    return tasks[t];
}

static bool gives_values(limn_task task) {
    return task == LIMN_REGRESS || task == LIMN_DENSITY;
}

/* Requests probabilities that a method gives only on request, and switches off stopping early
 * (which may answer with another class than the most probable one). */
static const char *usual_param(const lm_method *method) {
    for (size_t i = 0; i < method->info.param_count; i++) {
        if (strcmp(method->info.params[i].key, "probability") == 0)
            return "probability=yes";
        if (strcmp(method->info.params[i].key, "stop") == 0)
            return "stop=2";
    }
    return NULL;
}

static bool has_proba(const limn_model *model) {
    limn_model_info info = {.size = sizeof info};
    limn_model_describe(model, &info);
    return info.capabilities & LIMN_CAN_PROBA;
}

static limn_status try_train(limn_context *ctx, const lm_method *method, const limn_data *data,
                             limn_scale scale, const char *param, limn_model **model) {
    limn_train_options options;
    param_list all = {.count = 0}, teacher = {.count = 0};
    limn_train_options_init(&options);
    options.method = method->info.name;
    options.scale = scale;
    add_params(&teacher, method->info.default_teacher); /* named, it has its own parameters */
    options.teacher_method = teacher.count ? teacher.list[0] : NULL;
    add_params(&all, method->brief);
    add_params(&all, param ? param : usual_param(method));
    options.params = all.list;
    options.param_count = all.count;
    return limn_train(ctx, data, &options, model);
}

static limn_model *train(limn_context *ctx, const lm_method *method, const limn_data *data,
                         limn_scale scale) {
    limn_model *model = NULL;
    limn_status status = try_train(ctx, method, data, scale, NULL, &model);
    if (status != LIMN_OK)
        fail_msg("%s: %s", method->info.name, limn_error(ctx));
    return model;
}

/* step: rows per call. */
static void ask(limn_context *ctx, const limn_model *model, const float *x, size_t step,
                int threads, answers *out) {
    const lm_method *method = model->method;
    size_t d = model->schema.features, k = model->schema.labels.count;
    limn_predictor_options options = {
        .size = sizeof options, .threads = threads, .neighbors = NEIGHBORS};
    limn_predictor *p = NULL;
    memset(out, 0, sizeof *out);
    assert_int_equal(limn_predictor_new(ctx, model, &options, &p), LIMN_OK);
    for (size_t i = 0; i < QUERIES; i += step) {
        size_t n = QUERIES - i < step ? QUERIES - i : step;
        const float *q = x + i * d;
        if (model->schema.task == LIMN_CLASSIFY || model->schema.task == LIMN_OUTLIER)
            assert_int_equal(limn_predict(p, q, n, out->classes + i), LIMN_OK);
        size_t scores = lm_model_scores(model);
        if (scores)
            assert_int_equal(limn_predict_scores(p, q, n, out->scores + i * scores), LIMN_OK);
        if (model->schema.task == LIMN_CLASSIFY && has_proba(model))
            assert_int_equal(limn_predict_proba(p, q, n, out->proba + i * k), LIMN_OK);
        if (gives_values(model->schema.task))
            assert_int_equal(limn_predict_values(p, q, n, out->values + i), LIMN_OK);
        if (method->searching)
            assert_int_equal(limn_search(p, q, n, NEIGHBORS, out->rows + i * NEIGHBORS,
                                         out->distances + i * NEIGHBORS),
                             LIMN_OK);
    }
    limn_predictor_free(p);
}

typedef struct one_case {
    limn_context *ctx;
    limn_data *data;
    float *queries;
    limn_model *model;
    answers expected;
} one_case;

static one_case *begin(const lm_method *method, limn_task task, shape s, limn_scale scale) {
    one_case *c = calloc(1, sizeof *c);
    c->ctx = make_context(NULL, 1, 7);
    c->data = make_data(c->ctx, task, s, ROWS, 3);
    assert_non_null(c->data);
    c->queries = make_queries(c->data, QUERIES, 5);
    c->model = train(c->ctx, method, c->data, scale);
    ask(c->ctx, c->model, c->queries, QUERIES, 1, &c->expected);
    return c;
}

static void end(one_case *c) {
    limn_model_free(c->model);
    limn_data_free(c->data);
    limn_context_free(c->ctx);
    free(c->queries);
    free(c);
}

typedef void (*case_check)(one_case *c, const lm_method *method);

/* The cases of the method under test, made once: no check changes them. */
static struct {
    const lm_method *method;
    one_case *list[LM_COUNT(tasks) * SHAPE_COUNT * LM_COUNT(scales)];
    size_t count;
} cases;

static void forget_cases(void) {
    for (size_t i = 0; i < cases.count; i++)
        end(cases.list[i]);
    cases.count = 0;
    cases.method = NULL;
}

/* Every scaling of every shape; with LIMN_SAMPLE set, one scaling of each. */
static void make_cases(const lm_method *method) {
    bool sample = every(2) > 1;
    forget_cases();
    cases.method = method;
    for (size_t t = 0; t < LM_COUNT(tasks); t++)
        for (int s = 0; s < SHAPE_COUNT && can(method, tasks[t]); s++)
            for (size_t i = 0; i < LM_COUNT(scales); i++)
                if (goes_with(scales[i], tasks[t]) &&
                    (!sample || (size_t)s % LM_COUNT(scales) == i))
                    cases.list[cases.count++] = begin(method, tasks[t], (shape)s, scales[i]);
}

static void for_each_case(const lm_method *method, case_check check) {
    if (cases.method != method)
        make_cases(method);
    for (size_t i = 0; i < cases.count; i++)
        check(cases.list[i], method);
}

static void assert_same_answers(const answers *a, const answers *b, const char *what) {
    if (memcmp(a->classes, b->classes, sizeof a->classes) != 0)
        fail_msg("classes differ: %s", what);
    if (memcmp(a->proba, b->proba, sizeof a->proba) != 0)
        fail_msg("probabilities differ: %s", what);
    if (memcmp(a->scores, b->scores, sizeof a->scores) != 0)
        fail_msg("decision values differ: %s", what);
    if (memcmp(a, b, sizeof *a) != 0)
        fail_msg("answers differ: %s", what);
}

/* ---- the tests ---- */

static void temporary_path(char *path) {
    strcpy(path, "/tmp/limn-contract-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static void check_save_load(one_case *c, const lm_method *method) {
    (void)method;
    char path[64];
    limn_model *loaded = NULL;
    answers *again = malloc(sizeof *again);
    limn_model_info before = {.size = sizeof before}, after = before;
    temporary_path(path);
    assert_int_equal(limn_model_save(c->ctx, c->model, path), LIMN_OK);
    if (limn_model_open(c->ctx, path, &loaded) != LIMN_OK)
        fail_msg("%s", limn_error(c->ctx));
    ask(c->ctx, loaded, c->queries, QUERIES, 1, again);
    assert_same_answers(&c->expected, again, "after save and load");
    limn_model_describe(c->model, &before);
    limn_model_describe(loaded, &after);
    assert_int_equal(before.bytes, after.bytes);
    assert_true(before.touched_vectors == after.touched_vectors);
    limn_model_free(loaded);
    unlink(path);
    free(again);
}

static void test_save_and_load_change_no_answer(void **state) {
    for_each_case(*state, check_save_load);
}

static void check_single(one_case *c, const lm_method *method) {
    (void)method;
    answers *single = malloc(sizeof *single);
    ask(c->ctx, c->model, c->queries, 1, 1, single);
    assert_same_answers(&c->expected, single, "single calls");
    if (every(2) == 1) {
        ask(c->ctx, c->model, c->queries, 7, 1, single);
        assert_same_answers(&c->expected, single, "calls of 7 rows");
    }
    free(single);
}

static void test_single_calls_equal_batch(void **state) {
    for_each_case(*state, check_single);
}

static void check_threads(one_case *c, const lm_method *method) {
    answers *threaded = malloc(sizeof *threaded);
    unsigned char *a, *b;
    size_t a_size, b_size;
    limn_context *many = make_context(NULL, 4, 7);
    limn_model *model = train(many, method, c->data, c->model->scaler.kind);
    limn_model *first = train(c->ctx, method, c->data, c->model->scaler.kind);
    ask(c->ctx, c->model, c->queries, QUERIES, 3, threaded);
    assert_same_answers(&c->expected, threaded, "three threads");
    assert_int_equal(lm_model_bytes(c->ctx, first, &a, &a_size), LIMN_OK);
    assert_int_equal(lm_model_bytes(many, model, &b, &b_size), LIMN_OK);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    lm_free(&c->ctx->mem, a);
    lm_free(&many->mem, b);
    limn_model_free(model);
    limn_model_free(first);
    limn_context_free(many);
    free(threaded);
}

static void test_threads_and_repetition_change_neither_answers_nor_file(void **state) {
    for_each_case(*state, check_threads);
}

static void check_proba(one_case *c, const lm_method *method) {
    size_t k = c->model->schema.labels.count;
    (void)method;
    if (c->model->schema.task != LIMN_CLASSIFY || !has_proba(c->model))
        return;
    for (size_t i = 0; i < QUERIES; i++) {
        const double *p = c->expected.proba + i * k;
        double sum = 0;
        size_t best = 0;
        for (size_t a = 0; a < k; a++) {
            assert_true(p[a] >= 0 && p[a] <= 1 + 1e-12);
            sum += p[a];
            best = p[a] > p[best] ? a : best;
        }
        assert_true(fabs(sum - 1) < 1e-9);
        assert_int_equal(best, c->expected.classes[i]);
    }
}

static void test_probabilities_sum_to_one_and_agree_with_the_class(void **state) {
    for_each_case(*state, check_proba);
}

static void check_density(one_case *c, const lm_method *method) {
    (void)method;
    for (size_t i = 0; i < QUERIES && c->model->schema.task == LIMN_DENSITY; i++)
        if (!(c->expected.values[i] < (double)INFINITY))
            fail_msg("the log density of query %zu is %g", i, c->expected.values[i]);
}

static void test_log_densities_are_numbers_or_minus_infinity(void **state) {
    for_each_case(*state, check_density);
}

static void check_quiet(one_case *c, const lm_method *method) {
    counting count = {0};
    size_t k = c->model->schema.labels.count;
    limn_context *ctx = make_context(&count, 1, 1);
    limn_predictor_options options = {.size = sizeof options, .threads = 1, .neighbors = NEIGHBORS};
    limn_predictor *p = NULL;
    answers *out = malloc(sizeof *out);
    assert_int_equal(limn_predictor_new(ctx, c->model, &options, &p), LIMN_OK);
    unsigned calls = count.requests;
    long heap = heap_calls;
    if (c->model->schema.task == LIMN_CLASSIFY)
        assert_int_equal(limn_predict(p, c->queries, QUERIES, out->classes), LIMN_OK);
    if (c->model->schema.task == LIMN_CLASSIFY && has_proba(c->model) && k)
        assert_int_equal(limn_predict_proba(p, c->queries, QUERIES, out->proba), LIMN_OK);
    if (gives_values(c->model->schema.task))
        assert_int_equal(limn_predict_values(p, c->queries, QUERIES, out->values), LIMN_OK);
    if (method->searching)
        assert_int_equal(limn_search(p, c->queries, QUERIES, NEIGHBORS, out->rows, out->distances),
                         LIMN_OK);
    assert_int_equal(count.requests, calls);
    assert_int_equal(heap_calls, heap);
    limn_predictor_free(p);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    free(out);
}

static void test_predicting_allocates_nothing(void **state) {
    for_each_case(*state, check_quiet);
}

static void test_nan_and_infinity_are_refused_with_row_and_column(void **state) {
    const lm_method *method = *state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t t = 0; t < LM_COUNT(tasks); t++) {
        if (!can(method, tasks[t]))
            continue;
        one_case *c = begin(method, tasks[t], SHAPE_RANDOM, LIMN_SCALE_AUTO);
        limn_predictor_options options = {
            .size = sizeof options, .threads = 1, .neighbors = NEIGHBORS};
        limn_predictor *p = NULL;
        assert_int_equal(limn_predictor_new(c->ctx, c->model, &options, &p), LIMN_OK);
        for (size_t i = 0; i < LM_COUNT(bad); i++) {
            limn_model *model = NULL;
            int32_t classes[4] = {-7, -7, -7, -7};
            double values[4];
            c->queries[2 * 5 + 3] = bad[i];
            bool classify = tasks[t] == LIMN_CLASSIFY || tasks[t] == LIMN_OUTLIER;
            limn_status status = classify ? limn_predict(p, c->queries, 4, classes)
                                 : gives_values(tasks[t])
                                     ? limn_predict_values(p, c->queries, 4, values)
                                     : limn_search(p, c->queries, 4, 1, (int64_t[4]){0}, values);
            assert_int_equal(status, LIMN_E_DATA);
            assert_non_null(strstr(limn_error(c->ctx), "row 3"));
            assert_int_equal(classes[0], -7);
            c->queries[2 * 5 + 3] = 0;
            float kept = c->data->x[7];
            c->data->x[7] = bad[i];
            assert_int_equal(try_train(c->ctx, method, c->data, LIMN_SCALE_AUTO, NULL, &model),
                             LIMN_E_DATA);
            assert_non_null(strstr(limn_error(c->ctx), "row 2"));
            assert_null(model);
            c->data->x[7] = kept;
        }
        limn_predictor_free(p);
        end(c);
    }
}

/* One life of a model with the i-th allocation failing; true when everything succeeded. */
static bool whole_life(const lm_method *method, limn_task task, counting *count, const char *path,
                       long *failures) {
    limn_context *ctx = NULL;
    limn_context_options options;
    limn_data *data = NULL;
    limn_model *model = NULL, *loaded = NULL;
    limn_predictor *p = NULL;
    limn_status status;
    limn_context_options_init(&options);
    options.allocator = counting_allocator(count);
    options.threads = 1;
    status = limn_context_new(&options, &ctx);
    if (status == LIMN_OK) {
        data = make_data(ctx, task, SHAPE_RANDOM, 20, 3);
        status = data ? LIMN_OK : LIMN_E_MEMORY;
    }
    if (status == LIMN_OK)
        status = try_train(ctx, method, data, LIMN_SCALE_MINMAX, NULL, &model);
    if (status == LIMN_OK)
        status = limn_model_save(ctx, model, path);
    if (status == LIMN_OK)
        status = limn_model_open(ctx, path, &loaded);
    if (status == LIMN_OK)
        status = limn_predictor_new(ctx, loaded, NULL, &p);
    if (status != LIMN_OK) {
        assert_int_equal(status, LIMN_E_MEMORY);
        ++*failures;
    }
    limn_predictor_free(p);
    limn_model_free(loaded);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
    assert_int_equal(count->live, 0);
    return status == LIMN_OK;
}

static void test_a_failure_of_any_allocation_is_reported_and_leaks_nothing(void **state) {
    const lm_method *method = *state;
    char path[64];
    temporary_path(path);
    for (size_t t = 0; t < LM_COUNT(tasks); t++) {
        long failures = 0;
        if (!can(method, tasks[t]))
            continue;
        for (unsigned i = 0;; i += every(5)) {
            counting count = {.fail_at = i + 1};
            if (whole_life(method, tasks[t], &count, path, &failures))
                break;
        }
        assert_true(failures * (long)every(5) > 10);
    }
    unlink(path);
}

static limn_status load_bytes(limn_context *ctx, const unsigned char *bytes, size_t size,
                              limn_model **model) {
    lm_file *file = NULL;
    *model = NULL;
    limn_status status = lm_file_from_memory(ctx, bytes, size, "test.limn", &file);
    return status == LIMN_OK ? lm_model_load(ctx, file, model) : status;
}

static void test_a_file_cut_or_changed_anywhere_is_refused(void **state) {
    const lm_method *method = *state;
    for (size_t t = 0; t < LM_COUNT(tasks); t++) {
        if (!can(method, tasks[t]))
            continue;
        limn_context *ctx = make_context(NULL, 1, 1);
        limn_data *data = make_data(ctx, tasks[t], SHAPE_RANDOM, 20, 3);
        limn_model *model = train(ctx, method, data, LIMN_SCALE_ZSCORE), *loaded = NULL;
        unsigned char *bytes;
        size_t size;
        assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
        assert_int_equal(load_bytes(ctx, bytes, size, &loaded), LIMN_OK);
        limn_model_free(loaded);
        for (size_t i = 0; i < size; i += every(7)) {
            assert_int_equal(load_bytes(ctx, bytes, i, &loaded), LIMN_E_MODEL);
            bytes[i] ^= (unsigned char)(1u << (i % 8));
            assert_int_equal(load_bytes(ctx, bytes, size, &loaded), LIMN_E_MODEL);
            bytes[i] ^= (unsigned char)(1u << (i % 8));
        }
        lm_free(&ctx->mem, bytes);
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

static void ask_damaged(limn_predictor *p, const float *x) {
    const lm_schema *schema = &p->model->schema;
    int32_t classes[8];
    double values[8];
    if (schema->task == LIMN_CLASSIFY) {
        assert_int_equal(limn_predict(p, x, 8, classes), LIMN_OK);
        for (int i = 0; i < 8; i++)
            assert_in_range(classes[i], 0, schema->labels.count - 1);
    } else if (gives_values(schema->task)) {
        assert_int_equal(limn_predict_values(p, x, 8, values), LIMN_OK);
    }
}

/* Random damage with valid checksums must give an error or a model that answers without harm
 * (the sanitizers check). */
static void test_a_hostile_file_with_valid_checksums_does_no_harm(void **state) {
    const lm_method *method = *state;
    size_t loads = 0;
    one_case *c = begin(method, first_task(method), SHAPE_RANDOM, LIMN_SCALE_ZSCORE);
    unsigned char *bytes, *damaged;
    size_t size;
    assert_int_equal(lm_model_bytes(c->ctx, c->model, &bytes, &size), LIMN_OK);
    damaged = malloc(size);
    lm_rng rng = lm_rng_at(11, 12, 13);
    for (unsigned round = 0; round < 3000; round += every(4)) {
        limn_model *loaded = NULL;
        memcpy(damaged, bytes, size);
        for (uint64_t changes = 1 + lm_rng_below(&rng, 4); changes > 0; changes--)
            damaged[lm_rng_below(&rng, size)] = (unsigned char)lm_rng_next(&rng);
        reseal(damaged, size);
        limn_status status = load_bytes(c->ctx, damaged, size, &loaded);
        if (status != LIMN_OK) {
            assert_null(loaded);
            assert_true(status == LIMN_E_MODEL || status == LIMN_E_MEMORY);
            continue;
        }
        loads++;
        limn_predictor *p = NULL;
        limn_predictor_options options = {
            .size = sizeof options, .threads = 1, .neighbors = NEIGHBORS};
        if (loaded->schema.features == 5 &&
            limn_predictor_new(c->ctx, loaded, &options, &p) == LIMN_OK)
            ask_damaged(p, c->queries);
        limn_predictor_free(p);
        limn_model_free(loaded);
    }
    assert_true(loads > 0);
    free(damaged);
    lm_free(&c->ctx->mem, bytes);
    end(c);
}

/* A choice may be valid for only one of the method's tasks. */
static bool trains_for_some_task(limn_context *ctx, const lm_method *method, const char *param) {
    bool trained = false;
    for (size_t t = 0; t < LM_COUNT(tasks); t++) {
        if (!can(method, tasks[t]))
            continue;
        limn_model *model = NULL;
        limn_data *data = make_data(ctx, tasks[t], SHAPE_RANDOM, ROWS, 3);
        trained |= try_train(ctx, method, data, LIMN_SCALE_AUTO, param, &model) == LIMN_OK;
        limn_model_free(model);
        limn_data_free(data);
    }
    return trained;
}

static void test_every_parameter_is_checked_and_every_choice_trains(void **state) {
    const lm_method *method = *state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_task task = first_task(method);
    limn_data *data = make_data(ctx, task, SHAPE_RANDOM, ROWS, 3);
    limn_model *model = NULL;
    char text[128];
    for (size_t i = 0; i < method->info.param_count; i++) {
        const limn_param *param = &method->info.params[i];
        snprintf(text, sizeof text, "%s=%s", param->key, param->default_value);
        assert_int_equal(try_train(ctx, method, data, LIMN_SCALE_AUTO, text, &model), LIMN_OK);
        limn_model_free(model);
        snprintf(text, sizeof text, "%s=nonsense", param->key);
        assert_int_equal(try_train(ctx, method, data, LIMN_SCALE_AUTO, text, &model), LIMN_E_USAGE);
        assert_null(model);
        if (param->type == LIMN_PARAM_CHOICE) {
            for (const char *c = param->choices; *c; c += strcspn(c, "|"), c += *c == '|') {
                snprintf(text, sizeof text, "%s=%.*s", param->key, (int)strcspn(c, "|"), c);
                if (!trains_for_some_task(ctx, method, text))
                    fail_msg("%s: %s", text, limn_error(ctx));
            }
            continue;
        }
        if (param->type == LIMN_PARAM_TEXT)
            continue;
        snprintf(text, sizeof text, "%s=%.17g", param->key, param->max * 2 + 1);
        assert_int_equal(try_train(ctx, method, data, LIMN_SCALE_AUTO, text, &model), LIMN_E_USAGE);
        snprintf(text, sizeof text, "%s=%.17g", param->key, param->min - 1);
        assert_int_equal(try_train(ctx, method, data, LIMN_SCALE_AUTO, text, &model), LIMN_E_USAGE);
    }
    assert_int_equal(try_train(ctx, method, data, LIMN_SCALE_AUTO, "surely_not=1", &model),
                     LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "surely_not"));
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_capabilities_tell_what_the_table_holds(void **state) {
    const lm_method *m = *state;
    unsigned caps = lm_method_capabilities(m), shown = LIMN_CAN_PROBA | LIMN_CAN_SCORES |
                                                       LIMN_CAN_SEARCH | LIMN_CAN_LEARN |
                                                       LIMN_CAN_FORGET | LIMN_CAN_IMPORT;
    assert_int_equal(m->can & shown, 0); /* follows from the functions */
    assert_int_equal(caps, limn_method_capabilities(m->info.name));
    assert_int_equal(!!(caps & LIMN_CAN_PROBA), m->proba != NULL);
    assert_int_equal(!!(caps & LIMN_CAN_SCORES), m->scores != NULL);
    assert_int_equal(!!(caps & LIMN_CAN_IMPORT), m->foreign != NULL);
    assert_int_equal(!!(caps & LIMN_CAN_SEARCH), m->searching != NULL);
    assert_int_equal(m->scores != NULL, m->score_count != NULL);
    assert_int_equal(!!(caps & (LIMN_CAN_CLASSIFY | LIMN_CAN_OUTLIER)), m->predict != NULL);
    assert_int_equal(!!(caps & (LIMN_CAN_REGRESS | LIMN_CAN_DENSITY)), m->values != NULL);
    assert_true(!m->foreign || (m->foreign->recognise && m->foreign->import));
    assert_true(!m->searching || (m->searching->search && m->searching->stored));
    assert_true(m->train && m->destroy && m->save && m->load && m->scratch && m->stats);
    assert_true(m->info.param_count <= LM_PARAMS_MAX);
    assert_true(strlen(m->info.summary) > 0 && strlen(m->info.paper) > 0);
    for (size_t t = 0; t < LM_COUNT(tasks); t++) {
        limn_context *ctx = make_context(NULL, 1, 1);
        limn_data *data = make_data(ctx, tasks[t], SHAPE_RANDOM, ROWS, 3);
        limn_model *model = NULL;
        limn_status status = try_train(ctx, m, data, LIMN_SCALE_AUTO, NULL, &model);
        assert_int_equal(status, can(m, tasks[t]) ? LIMN_OK : LIMN_E_USAGE);
        if (model) {
            limn_model_info info = {.size = sizeof info};
            limn_model_describe(model, &info);
            assert_true(info.touched_vectors > 0 && info.touched_bytes > 0);
            assert_true(info.scale != LIMN_SCALE_AUTO);
        }
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

/* What a batch touches is the sum of what its rows touch alone. */
static void check_touched(one_case *c, const lm_method *method) {
    if (!method->touched)
        return;
    limn_predictor *p = NULL;
    lm_touched all = {0, 0}, one = {0, 0};
    lm_query query = {.x = c->queries,
                      .n = 50,
                      .width = c->model->schema.features,
                      .kind = LM_ASK_TOUCHED,
                      .out = &all};
    assert_int_equal(limn_predictor_new(c->ctx, c->model, NULL, &p), LIMN_OK);
    assert_int_equal(lm_predictor_run(p, &query), LIMN_OK);
    query.out = &one;
    query.n = 1;
    for (size_t i = 0; i < 50; i++, query.x += query.width)
        assert_int_equal(lm_predictor_run(p, &query), LIMN_OK);
    assert_true(all.vectors == one.vectors && all.bytes == one.bytes);
    assert_true(all.vectors >= 0 && all.bytes >= all.vectors);
    limn_predictor_free(p);
}

static void test_what_rows_touch_adds_up(void **state) {
    for_each_case(*state, check_touched);
}

/* Describing a model counts the bytes of its file without writing them. */
static void check_measured(one_case *c, const lm_method *method) {
    unsigned char *bytes;
    size_t size, measured;
    (void)method;
    assert_int_equal(lm_model_bytes(c->ctx, c->model, &bytes, &size), LIMN_OK);
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    size_t before = count.bytes, columns = c->model->schema.features;
    assert_int_equal(lm_model_measure(ctx, c->model, &measured), LIMN_OK);
    assert_int_equal(measured, size);
    assert_true(count.bytes - before < 8192 + 32 * columns); /* no memory for the rows */
    lm_free(&c->ctx->mem, bytes);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_measuring_makes_no_copy(void **state) {
    for_each_case(*state, check_measured);
}

static int cancel(void *user, const limn_progress *progress) {
    (void)user;
    (void)progress;
    return 1;
}

static void test_a_cancelled_training_leaves_nothing(void **state) {
    const lm_method *method = *state;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    limn_task task = first_task(method);
    limn_data *data = make_data(ctx, task, SHAPE_RANDOM, ROWS, 3);
    limn_model *model = NULL;
    ctx->progress = cancel;
    limn_status status = try_train(ctx, method, data, LIMN_SCALE_AUTO, NULL, &model);
    assert_true(status == LIMN_OK || status == LIMN_E_CANCELLED);
    assert_int_equal(model != NULL, status == LIMN_OK);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
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
        TEST(test_what_rows_touch_adds_up),
        TEST(test_measuring_makes_no_copy),
        TEST(test_save_and_load_change_no_answer),
        TEST(test_single_calls_equal_batch),
        TEST(test_threads_and_repetition_change_neither_answers_nor_file),
        TEST(test_probabilities_sum_to_one_and_agree_with_the_class),
        TEST(test_log_densities_are_numbers_or_minus_infinity),
        TEST(test_predicting_allocates_nothing),
        TEST(test_nan_and_infinity_are_refused_with_row_and_column),
        TEST(test_a_failure_of_any_allocation_is_reported_and_leaks_nothing),
        TEST(test_a_file_cut_or_changed_anywhere_is_refused),
        TEST(test_a_hostile_file_with_valid_checksums_does_no_harm),
        TEST(test_every_parameter_is_checked_and_every_choice_trains),
        TEST(test_a_cancelled_training_leaves_nothing),
    };
    size_t methods = limn_method_count(), count = 0;
    struct CMUnitTest *tests = calloc(methods * LM_COUNT(list), sizeof *tests);
    for (size_t m = 0; m < methods; m++)
        for (size_t i = 0; i < LM_COUNT(list); i++) {
            char *name = malloc(160);
            snprintf(name, 160, "%s: %s", lm_method_at(m)->info.name, list[i].name);
            tests[count++] =
                (struct CMUnitTest){.name = name,
                                    .test_func = list[i].function,
                                    .initial_state = (void *)(uintptr_t)lm_method_at(m)};
        }
    int failed = _cmocka_run_group_tests("contract", tests, count, NULL, NULL);
    forget_cases();
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)tests[i].name);
    free(tests);
    return failed;
}
