/* Online learning of a real method through the public interface: the resulting file does not
 * depend on how the rows arrive (at once, one by one, with the model saved and opened in between,
 * after a stop). */
#include "model/model.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 600, FIRST = 60, D = 4, CLASSES = 3 };

typedef struct world {
    counting count;
    limn_context *ctx;
    float x[N * D];
    int32_t label[N];
    double y[N]; /* the label as a number, or a target */
    limn_task task;
    limn_scale scale;
    long stop_after; /* calls of progress; -1: never */
} world;

static int on_progress(void *user, const limn_progress *news) {
    world *w = user;
    (void)news;
    return w->stop_after >= 0 && w->stop_after-- == 0;
}

/* A grid with noise: duplicates, some with another label. */
static void open_world(world *w, limn_task task, limn_scale scale, int threads) {
    memset(w, 0, sizeof *w);
    w->task = task;
    w->scale = scale;
    w->stop_after = -1;
    limn_context_options options;
    limn_context_options_init(&options);
    options.allocator = counting_allocator(&w->count);
    options.progress = on_progress;
    options.user = w;
    options.threads = threads;
    options.seed = 11;
    assert_int_equal(limn_context_new(&options, &w->ctx), LIMN_OK);
    lm_rng rng = lm_rng_at(7, 1, 1);
    for (size_t i = 0; i < N; i++) {
        w->label[i] = (int32_t)(i < CLASSES ? i : lm_rng_below(&rng, CLASSES));
        for (size_t j = 0; j < D; j++)
            w->x[i * D + j] =
                (float)round(2 * lm_rng_normal(&rng) + (j == (size_t)w->label[i] ? 2 : 0));
        w->y[i] = task == LIMN_REGRESS ? w->x[i * D] + lm_rng_normal(&rng) : w->label[i];
    }
}

static void close_world(world *w) {
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

static limn_model *train(world *w, size_t n, const char *param) {
    const char *params[] = {"trees=7", "warmup=120", "order=file", param};
    limn_data *data = NULL;
    limn_model *model = NULL;
    limn_train_options options;
    limn_train_options_init(&options);
    options.method = "bforest";
    options.scale = w->scale;
    options.params = params;
    options.param_count = param ? 4 : 3;
    assert_int_equal(limn_data_from_values(w->ctx, w->task, w->x, n, D, w->y, &data), LIMN_OK);
    if (limn_train(w->ctx, data, &options, &model) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    limn_data_free(data);
    return model;
}

static limn_status try_learn(world *w, limn_model *model, size_t first, size_t n, size_t *learned) {
    limn_lesson l;
    limn_lesson_init(&l);
    l.n = n;
    l.x = w->x + first * D;
    l.classes = w->label + first;
    l.targets = w->y + first;
    return limn_learn(w->ctx, model, &l, learned);
}

static void learn(world *w, limn_model *model, size_t first, size_t n) {
    size_t learned = 0;
    if (try_learn(w, model, first, n, &learned) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    assert_int_equal(learned, n);
}

/* The file of the model. */
typedef struct image {
    unsigned char *bytes;
    size_t size;
} image;

static image image_of(world *w, const limn_model *model) {
    image made;
    assert_int_equal(lm_model_bytes(w->ctx, model, &made.bytes, &made.size), LIMN_OK);
    return made;
}

static limn_model *reopen(world *w, limn_model *model) {
    image saved = image_of(w, model);
    lm_file *file = NULL;
    limn_model *opened = NULL;
    limn_model_free(model);
    assert_int_equal(lm_file_from_memory(w->ctx, saved.bytes, saved.size, "memory", &file),
                     LIMN_OK);
    if (lm_model_load(w->ctx, file, &opened) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    lm_free(&w->ctx->mem, saved.bytes);
    return opened;
}

static void assert_same_image(world *w, const limn_model *a, const limn_model *b) {
    image one = image_of(w, a), other = image_of(w, b);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.bytes, other.bytes, one.size);
    lm_free(&w->ctx->mem, one.bytes);
    lm_free(&w->ctx->mem, other.bytes);
}

/* Probabilities or values of all rows. */
static void answers(world *w, const limn_model *model, double *out) {
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(w->ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(w->task == LIMN_REGRESS ? limn_predict_values(p, w->x, N, out)
                                             : limn_predict_proba(p, w->x, N, out),
                     LIMN_OK);
    limn_predictor_free(p);
}

typedef struct variant {
    limn_task task;
    limn_scale scale;
    const char *param;
} variant;

static const variant variants[] = {{LIMN_CLASSIFY, LIMN_SCALE_NONE, NULL},
                                   {LIMN_CLASSIFY, LIMN_SCALE_ZSCORE, "rho=0.5"},
                                   {LIMN_CLASSIFY, LIMN_SCALE_NONE, "style=paper"},
                                   {LIMN_CLASSIFY, LIMN_SCALE_NONE, "max_points=80"},
                                   {LIMN_CLASSIFY, LIMN_SCALE_NONE, "metric=cosine"},
                                   {LIMN_REGRESS, LIMN_SCALE_NONE, NULL},
                                   {LIMN_REGRESS, LIMN_SCALE_MINMAX, "style=paper"}};

static void test_however_rows_come_the_file_is_the_same(void **state) {
    (void)state;
    for (size_t v = 0; v < LM_COUNT(variants); v++) {
        world w, threads;
        open_world(&w, variants[v].task, variants[v].scale, 1);
        open_world(&threads, variants[v].task, variants[v].scale, 3);
        limn_model *whole = train(&w, FIRST, variants[v].param);
        limn_model *single = train(&w, FIRST, variants[v].param);
        limn_model *opened = train(&w, FIRST, variants[v].param);
        limn_model *wide = train(&threads, FIRST, variants[v].param);
        learn(&w, whole, FIRST, N - FIRST);
        learn(&threads, wide, FIRST, N - FIRST);
        for (size_t i = FIRST; i < N; i++)
            learn(&w, single, i, 1);
        for (size_t i = FIRST; i < N;) {
            size_t n = 1 + i * 7 % 40;
            n = n < N - i ? n : N - i;
            opened = reopen(&w, opened);
            learn(&w, opened, i, n);
            i += n;
        }
        assert_same_image(&w, whole, single);
        assert_same_image(&w, whole, opened);
        assert_same_image(&w, whole, wide);
        limn_model_free(whole);
        limn_model_free(single);
        limn_model_free(opened);
        limn_model_free(wide);
        close_world(&threads);
        close_world(&w);
    }
}

static void test_training_and_learning_is_training_on_everything(void **state) {
    (void)state;
    for (size_t v = 0; v < LM_COUNT(variants); v++) {
        if (variants[v].scale != LIMN_SCALE_NONE)
            continue; /* the scaling is that of the training rows */
        world w;
        double *said = malloc(2 * N * CLASSES * sizeof *said);
        open_world(&w, variants[v].task, variants[v].scale, 1);
        limn_model *all = train(&w, N, variants[v].param);
        limn_model *some = train(&w, FIRST, variants[v].param);
        learn(&w, some, FIRST, N - FIRST);
        answers(&w, all, said);
        answers(&w, some, said + N * CLASSES);
        size_t width = w.task == LIMN_REGRESS ? 1 : CLASSES;
        assert_memory_equal(said, said + N * CLASSES, N * width * sizeof *said);
        limn_model_free(all);
        limn_model_free(some);
        free(said);
        close_world(&w);
    }
}

static void test_what_is_stopped_goes_on_to_the_same_file(void **state) {
    (void)state;
    for (size_t v = 0; v < LM_COUNT(variants); v++) {
        world w;
        open_world(&w, variants[v].task, variants[v].scale, 1);
        limn_model *whole = train(&w, FIRST, variants[v].param);
        limn_model *stopped = train(&w, FIRST, variants[v].param);
        learn(&w, whole, FIRST, N - FIRST);
        size_t at = FIRST, stops = 0;
        for (long wait = 0; at < N; wait++) {
            size_t learned = 0;
            w.stop_after = wait;
            limn_status status = try_learn(&w, stopped, at, N - at, &learned);
            assert_true(status == LIMN_E_CANCELLED ? learned < N - at : status == LIMN_OK);
            stops += status == LIMN_E_CANCELLED;
            at += learned;
            assert_int_equal(stopped->rows, at);
            stopped = reopen(&w, stopped);
        }
        w.stop_after = -1;
        assert_true(stops > 0);
        assert_same_image(&w, whole, stopped);
        limn_model_free(whole);
        limn_model_free(stopped);
        close_world(&w);
    }
}

static void test_failing_allocations_leave_a_model_that_can_be_saved(void **state) {
    (void)state;
    for (size_t v = 0; v < LM_COUNT(variants); v++)
        for (unsigned at = 1, step = 1; at < 3000; at += step, step += step / 8 + every(40)) {
            world w;
            size_t learned = 0;
            double *said = malloc(N * CLASSES * sizeof *said);
            uint64_t id = 3;
            open_world(&w, variants[v].task, variants[v].scale, 1);
            limn_model *model = train(&w, FIRST, variants[v].param);
            w.count.fail_at = at;
            limn_status status = try_learn(&w, model, FIRST, 200, &learned);
            assert_true(status == LIMN_OK || status == LIMN_E_MEMORY);
            assert_int_equal(model->rows, FIRST + learned);
            (void)limn_forget(w.ctx, model, &id, 1, NULL);
            (void)limn_compact(w.ctx, model);
            w.count.fail_at = 0;
            model = reopen(&w, model); /* the loader checks everything */
            answers(&w, model, said);
            learn(&w, model, FIRST, 50);
            answers(&w, model, said);
            limn_model_free(model);
            free(said);
            close_world(&w);
        }
}

static void test_a_forgotten_row_is_gone_from_votes_and_bytes(void **state) {
    (void)state;
    world w;
    int32_t ghost = -1, said = -1;
    size_t learned = 0;
    uint64_t forgotten = 0;
    float secret[D] = {3.25f, -7.125f, 11.5f, 0.375f};
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE, 1);
    limn_model *model = train(&w, FIRST, NULL);
    learn(&w, model, FIRST, 300);
    assert_int_equal(limn_model_add_class(w.ctx, model, "ghost", &ghost), LIMN_OK);
    assert_int_equal(ghost, CLASSES);
    limn_lesson l = {.size = sizeof l, .n = 1, .x = secret, .classes = &ghost};
    uint64_t id = model->rows;
    assert_int_equal(limn_learn(w.ctx, model, &l, &learned), LIMN_OK);
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(w.ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, secret, 1, &said), LIMN_OK);
    assert_int_equal(said, ghost);
    image with = image_of(&w, model);
    assert_non_null(memmem(with.bytes, with.size, secret, sizeof secret));
    assert_int_equal(limn_forget(w.ctx, model, &id, 1, &forgotten), LIMN_OK);
    assert_int_equal(forgotten, 1);
    for (int round = 0; round < 3; round++) {
        double proba[CLASSES + 1];
        assert_int_equal(limn_predictor_renew(p), LIMN_OK);
        assert_int_equal(limn_predict(p, secret, 1, &said), LIMN_OK);
        assert_true(said >= 0 && said < ghost);
        assert_int_equal(limn_predict_proba(p, secret, 1, proba), LIMN_OK);
        assert_true(proba[ghost] == 0);
        if (round == 0)
            learn(&w, model, 360, 200);
        if (round == 1)
            assert_int_equal(limn_compact(w.ctx, model), LIMN_OK);
    }
    image without = image_of(&w, model);
    assert_null(memmem(without.bytes, without.size, secret, sizeof secret));
    assert_null(memmem(without.bytes, without.size, secret, 2 * sizeof *secret));
    limn_predictor_free(p);
    lm_free(&w.ctx->mem, with.bytes);
    lm_free(&w.ctx->mem, without.bytes);
    limn_model_free(model);
    close_world(&w);
}

static void test_compacting_again_changes_nothing(void **state) {
    (void)state;
    world w;
    uint64_t ids[20];
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE, 1);
    limn_model *model = train(&w, FIRST, NULL);
    learn(&w, model, FIRST, N - FIRST);
    for (size_t i = 0; i < 20; i++)
        ids[i] = N - 1 - 3 * i;
    assert_int_equal(limn_forget(w.ctx, model, ids, 20, NULL), LIMN_OK);
    assert_int_equal(limn_compact(w.ctx, model), LIMN_OK);
    image once = image_of(&w, model);
    assert_int_equal(limn_compact(w.ctx, model), LIMN_OK);
    image twice = image_of(&w, model);
    assert_int_equal(once.size, twice.size);
    assert_memory_equal(once.bytes, twice.bytes, once.size);
    lm_free(&w.ctx->mem, once.bytes);
    lm_free(&w.ctx->mem, twice.bytes);
    limn_model_free(model);
    close_world(&w);
}

static void test_the_mark_is_kept_in_the_file(void **state) {
    (void)state;
    world w;
    limn_mark mark = {UINT64_C(0x123456789a), 65536, UINT64_C(0xfedcba9876543210)}, read;
    limn_model_info info = {.size = sizeof info};
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE, 1);
    limn_model *model = reopen(&w, train(&w, FIRST, NULL));
    assert_int_equal(limn_model_mark(model, &read), 0);
    learn(&w, model, FIRST, 40);
    limn_model_set_mark(model, &mark);
    model = reopen(&w, model);
    assert_int_equal(limn_model_mark(model, &read), 1);
    assert_memory_equal(&mark, &read, sizeof mark);
    limn_model_describe(model, &info);
    assert_int_equal(info.rows, FIRST + 40);
    assert_int_equal(info.learned, 40);
    limn_model_set_mark(model, NULL);
    model = reopen(&w, model);
    assert_int_equal(limn_model_mark(model, &read), 0);
    limn_model_describe(model, &info);
    assert_int_equal(info.learned, 40);
    limn_model_free(model);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_however_rows_come_the_file_is_the_same),
        cmocka_unit_test(test_training_and_learning_is_training_on_everything),
        cmocka_unit_test(test_what_is_stopped_goes_on_to_the_same_file),
        cmocka_unit_test(test_failing_allocations_leave_a_model_that_can_be_saved),
        cmocka_unit_test(test_a_forgotten_row_is_gone_from_votes_and_bytes),
        cmocka_unit_test(test_compacting_again_changes_nothing),
        cmocka_unit_test(test_the_mark_is_kept_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
