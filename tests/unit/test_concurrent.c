/* One model, many threads, each with its own context and predictor. Also run under TSan. */
#include "model/model.h"
#include "support.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, QUERIES = 600, ROUNDS = 10 };

typedef struct worker {
    const limn_model *model;
    const float *x;
    int32_t answers[QUERIES];
    limn_status status;
} worker;

static void *work(void *argument) {
    worker *w = argument;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_predictor_options options = {.size = sizeof options, .threads = 2};
    limn_predictor *p = NULL;
    w->status = limn_predictor_new(ctx, w->model, &options, &p);
    for (int round = 0; round < ROUNDS && w->status == LIMN_OK; round += (int)every(4)) {
        if (round % 2)
            w->status = limn_predict(p, w->x, QUERIES, w->answers);
        else
            for (size_t i = 0; i < QUERIES && w->status == LIMN_OK; i++)
                w->status = limn_predict(p, w->x + i * 5, 1, w->answers + i);
    }
    limn_predictor_free(p);
    limn_context_free(ctx);
    return NULL;
}

static void test_threads_sharing_a_model_give_the_answers_of_one(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 300, 4);
    float *x = make_queries(data, QUERIES, 6);
    for (size_t m = 0; lm_method_at(m); m++) {
        limn_train_options options;
        limn_model *model = NULL;
        worker workers[THREADS];
        pthread_t threads[THREADS];
        if (!lm_method_at(m)->predict)
            continue;
        limn_train_options_init(&options);
        options.method = lm_method_at(m)->info.name;
        assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
        for (int t = 0; t < THREADS; t++) {
            workers[t] = (worker){.model = model, .x = x};
            assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
        }
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        worker alone = {.model = model, .x = x};
        work(&alone);
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(workers[t].status, LIMN_OK);
            assert_memory_equal(workers[t].answers, alone.answers, sizeof alone.answers);
        }
        limn_model_free(model);
    }
    free(x);
    limn_data_free(data);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_sharing_a_model_give_the_answers_of_one),
    };
    return cmocka_run_group_tests_name("concurrent", tests, NULL, NULL);
}
