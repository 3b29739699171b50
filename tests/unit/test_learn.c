/* Online learning above the method: checks, scaling, ids, new classes, predictors of a model
 * that has changed, failures in the middle, the mark. The method is a toy that keeps every row, so
 * that the expected contents of the model are known. */
#include "support.h"
#include "toy_online.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 200, D = 3 };

typedef struct world {
    counting count;
    limn_context *ctx;
    limn_model *model;
    float x[N * D];
    int32_t label[N];
    double target[N];
    long stop_after; /* calls of progress; -1: never */
} world;

static int on_progress(void *user, const limn_progress *news) {
    world *w = user;
    (void)news;
    return w->stop_after >= 0 && w->stop_after-- == 0;
}

static limn_context *world_context(world *w, uint64_t seed) {
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    options.allocator = counting_allocator(&w->count);
    options.progress = on_progress;
    options.user = w;
    options.seed = seed;
    options.threads = 1;
    assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
    return ctx;
}

static void open_world(world *w, limn_task task, limn_scale scale) {
    memset(w, 0, sizeof *w);
    w->stop_after = -1;
    w->ctx = world_context(w, 5);
    lm_rng rng = lm_rng_at(3, 1, 1);
    for (size_t i = 0; i < N; i++) {
        w->label[i] = (int32_t)lm_rng_below(&rng, 2);
        w->target[i] = lm_rng_normal(&rng);
        for (size_t j = 0; j < D; j++)
            w->x[i * D + j] = (float)(10 * lm_rng_normal(&rng) + w->label[i]);
    }
    w->model = toy_model(w->ctx, task, D, scale, w->x, N, 5);
    assert_non_null(w->model);
}

static void close_world(world *w) {
    limn_model_free(w->model);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

static limn_lesson lesson_of(world *w, size_t first, size_t n) {
    limn_lesson l;
    limn_lesson_init(&l);
    l.n = n;
    l.x = w->x + first * D;
    l.classes = w->label + first;
    l.targets = w->target + first;
    return l;
}

static const toy *body(const limn_model *model) {
    return model->body;
}

static void assert_same_rows(const toy *a, const toy *b) {
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->rows[i].id, b->rows[i].id);
        assert_int_equal(a->rows[i].label, b->rows[i].label);
        assert_memory_equal(a->rows[i].x, b->rows[i].x, D * sizeof(float));
    }
}

/* ---- rows ---- */

static void test_one_row_or_many_agree_and_ids_count_arrivals(void **state) {
    (void)state;
    static const limn_scale scales[] = {LIMN_SCALE_NONE, LIMN_SCALE_ZSCORE, LIMN_SCALE_MINMAX};
    for (size_t s = 0; s < LM_COUNT(scales); s++) {
        world many, one;
        int32_t said[N], said_one[N];
        size_t learned = 0;
        open_world(&many, LIMN_CLASSIFY, scales[s]);
        open_world(&one, LIMN_CLASSIFY, scales[s]);
        limn_lesson l = lesson_of(&many, 0, N);
        l.answered_classes = said;
        assert_int_equal(limn_learn(many.ctx, many.model, &l, &learned), LIMN_OK);
        assert_int_equal(learned, N);
        for (size_t i = 0; i < N; i++) {
            l = lesson_of(&one, i, 1);
            l.answered_classes = said_one + i;
            assert_int_equal(limn_learn(one.ctx, one.model, &l, NULL), LIMN_OK);
        }
        assert_memory_equal(said, said_one, sizeof said);
        assert_int_equal(said[0], -1);
        assert_same_rows(body(many.model), body(one.model));
        for (size_t i = 0; i < N; i++)
            assert_int_equal(body(many.model)->rows[i].id, i);
        limn_model_info info = {.size = sizeof info};
        limn_model_describe(many.model, &info);
        assert_int_equal(info.rows, N);
        assert_int_equal(info.learned, N);
        close_world(&many);
        close_world(&one);
    }
}

static void test_rows_are_scaled_as_queries_are(void **state) {
    (void)state;
    world w;
    float expected[N * D];
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_ZSCORE);
    limn_lesson l = lesson_of(&w, 0, N);
    assert_int_equal(limn_learn(w.ctx, w.model, &l, NULL), LIMN_OK);
    lm_scaler_apply(&w.model->scaler, w.x, N, expected, NULL);
    for (size_t i = 0; i < N; i++)
        assert_memory_equal(body(w.model)->rows[i].x, expected + i * D, D * sizeof(float));
    close_world(&w);
}

static void test_long_scaled_lessons_are_learned_whole(void **state) {
    (void)state;
    enum { WIDE = 70000, ROWS = 9 }; /* three rows fit into a piece */
    world w;
    int32_t label[ROWS] = {0, 1, 0, 1, 1, 0, 0, 1, 1};
    double unused[ROWS];
    size_t learned = 0;
    memset(unused, 0, sizeof unused);
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE);
    float *x = malloc(ROWS * WIDE * sizeof *x);
    for (size_t i = 0; i < ROWS * WIDE; i++)
        x[i] = (float)(i % 97) + (float)(i / WIDE);
    limn_model *wide = toy_model(w.ctx, LIMN_CLASSIFY, WIDE, LIMN_SCALE_MINMAX, x, ROWS, 1);
    limn_lesson l = {.size = sizeof l, .n = ROWS, .x = x, .classes = label, .targets = unused};
    assert_int_equal(limn_learn(w.ctx, wide, &l, &learned), LIMN_OK);
    assert_int_equal(learned, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(body(wide)->rows[i].id, i);
        assert_int_equal(body(wide)->rows[i].label, label[i]);
    }
    limn_model_free(wide);
    free(x);
    close_world(&w);
}

static void test_regression_answers_before_it_learns(void **state) {
    (void)state;
    world w;
    double said[3];
    open_world(&w, LIMN_REGRESS, LIMN_SCALE_NONE);
    memcpy(w.x + D, w.x, D * sizeof(float)); /* row 1 is row 0 again */
    limn_lesson l = lesson_of(&w, 0, 3);
    l.answered_values = said;
    assert_int_equal(limn_learn(w.ctx, w.model, &l, NULL), LIMN_OK);
    assert_true(isnan(said[0]));
    assert_true(said[1] == w.target[0]);
    assert_true(said[2] == w.target[0] || said[2] == w.target[1]);
    close_world(&w);
}

static void test_the_teacher_does_not_matter(void **state) {
    (void)state;
    world w, other;
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE);
    open_world(&other, LIMN_CLASSIFY, LIMN_SCALE_NONE);
    limn_context *stranger = world_context(&other, 99); /* another seed, another allocator */
    long before = other.count.live;
    limn_lesson l = lesson_of(&w, 0, 10);
    assert_int_equal(limn_learn(stranger, w.model, &l, NULL), LIMN_OK);
    assert_int_equal(body(w.model)->seed, 5);
    assert_int_equal(other.count.live, before);
    l.x = NULL;
    l.n = 0;
    assert_int_equal(limn_learn(stranger, w.model, &l, NULL), LIMN_OK);
    int32_t index;
    assert_int_equal(limn_model_add_class(stranger, w.model, "c", &index), LIMN_OK);
    assert_int_equal(other.count.live, before);
    limn_context_free(stranger);
    close_world(&other);
    close_world(&w);
}

/* ---- what is refused, with nothing learned ---- */

static void assert_refused(world *w, const limn_lesson *l, limn_status status, const char *words) {
    size_t learned = 77, count = body(w->model)->count;
    uint64_t rows = w->model->rows;
    assert_int_equal(limn_learn(w->ctx, w->model, l, &learned), status);
    assert_int_equal(learned, 0);
    assert_int_equal(body(w->model)->count, count);
    assert_int_equal(w->model->rows, rows);
    if (!strstr(limn_error(w->ctx), words))
        fail_msg("'%s' lacks '%s'", limn_error(w->ctx), words);
}

static void test_bad_rows_are_refused_as_a_whole(void **state) {
    (void)state;
    world w;
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE);
    limn_lesson l = lesson_of(&w, 0, 10);
    w.label[7] = 2;
    assert_refused(&w, &l, LIMN_E_DATA, "row 8: class 2 is not one of the model's 2");
    w.label[7] = -1;
    assert_refused(&w, &l, LIMN_E_DATA, "class -1");
    w.label[7] = 1;
    w.x[5 * D + 1] = NAN;
    assert_refused(&w, &l, LIMN_E_DATA, "row 6");
    w.x[5 * D + 1] = INFINITY;
    assert_refused(&w, &l, LIMN_E_DATA, "row 6");
    w.x[5 * D + 1] = 0;
    l.classes = NULL;
    assert_refused(&w, &l, LIMN_E_DATA, "no labels");
    l = lesson_of(&w, 0, 10);
    w.model->rows = (uint64_t)INT64_MAX - 5;
    assert_refused(&w, &l, LIMN_E_USAGE, "the largest number of rows that can be counted");
    w.model->rows = 0;
    close_world(&w);
    open_world(&w, LIMN_REGRESS, LIMN_SCALE_NONE);
    l = lesson_of(&w, 0, 10);
    w.target[3] = INFINITY;
    assert_refused(&w, &l, LIMN_E_DATA, "row 4: the target");
    l.targets = NULL;
    assert_refused(&w, &l, LIMN_E_DATA, "no labels");
    close_world(&w);
}

static void test_methods_that_cannot_learn_say_so(void **state) {
    (void)state;
    world w;
    limn_data *data = NULL;
    limn_model *knn = NULL;
    limn_train_options options;
    uint64_t id = 0, forgotten = 9;
    int32_t index;
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE);
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, w.x, N, D, w.target, &data),
                     LIMN_OK);
    limn_train_options_init(&options);
    options.method = "knn";
    assert_int_equal(limn_train(w.ctx, data, &options, &knn), LIMN_OK);
    limn_lesson l = lesson_of(&w, 0, 1);
    assert_int_equal(limn_learn(w.ctx, knn, &l, NULL), LIMN_E_UNSUPPORTED);
    assert_non_null(strstr(limn_error(w.ctx), "knn cannot learn"));
    assert_int_equal(limn_forget(w.ctx, knn, &id, 1, &forgotten), LIMN_E_UNSUPPORTED);
    assert_non_null(strstr(limn_error(w.ctx), "knn cannot forget"));
    assert_int_equal(forgotten, 0);
    assert_int_equal(limn_compact(w.ctx, knn), LIMN_E_UNSUPPORTED);
    assert_int_equal(limn_model_add_class(w.ctx, knn, "new", &index), LIMN_E_UNSUPPORTED);
    limn_model_free(knn);
    limn_data_free(data);
    close_world(&w);
}

/* ---- stopping in the middle ---- */

static void test_cancelling_leaves_the_rows_before(void **state) {
    (void)state;
    for (long stop = 0; stop < 12; stop++) {
        world w, whole;
        size_t learned = 99;
        open_world(&w, LIMN_CLASSIFY, stop % 2 ? LIMN_SCALE_NONE : LIMN_SCALE_MINMAX);
        open_world(&whole, LIMN_CLASSIFY, stop % 2 ? LIMN_SCALE_NONE : LIMN_SCALE_MINMAX);
        limn_lesson l = lesson_of(&w, 0, N);
        w.stop_after = stop;
        assert_int_equal(limn_learn(w.ctx, w.model, &l, &learned), LIMN_E_CANCELLED);
        assert_int_equal(learned, stop);
        assert_int_equal(w.model->rows, stop);
        w.stop_after = -1;
        l = lesson_of(&w, learned, N - learned); /* and continue from there */
        assert_int_equal(limn_learn(w.ctx, w.model, &l, NULL), LIMN_OK);
        l = lesson_of(&whole, 0, N);
        assert_int_equal(limn_learn(whole.ctx, whole.model, &l, NULL), LIMN_OK);
        assert_same_rows(body(w.model), body(whole.model));
        close_world(&w);
        close_world(&whole);
    }
}

static void test_failing_allocations_leave_a_whole_model(void **state) {
    (void)state;
    bool failed = true;
    for (unsigned at = 1; failed; at++) {
        world w;
        size_t learned = 0;
        int32_t index = 7;
        uint64_t ids[] = {0, 2}, forgotten;
        open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_ZSCORE);
        limn_lesson l = lesson_of(&w, 0, 5);
        w.count.fail_at = at;
        limn_status status = limn_learn(w.ctx, w.model, &l, &learned);
        assert_int_equal(body(w.model)->count, learned);
        assert_int_equal(w.model->rows, learned);
        assert_true(status == LIMN_OK ? learned == 5 : status == LIMN_E_MEMORY && learned < 5);
        size_t classes = w.model->schema.labels.count;
        limn_status added = limn_model_add_class(w.ctx, w.model, "c", &index);
        if (added != LIMN_OK) {
            assert_int_equal(w.model->schema.labels.count, classes);
            assert_int_equal(lm_labels_find(&w.model->schema.labels, "c", 1), -1);
            assert_int_equal(body(w.model)->classes, classes);
            assert_int_equal(index, 7);
        } else {
            assert_int_equal(index, 2);
            assert_int_equal(body(w.model)->classes, 3);
        }
        failed = w.count.fail_at == 0;
        w.count.fail_at = 0;
        assert_int_equal(limn_model_add_class(w.ctx, w.model, "c", &index), LIMN_OK);
        assert_int_equal(index, 2);
        assert_int_equal(limn_forget(w.ctx, w.model, ids, 2, &forgotten), LIMN_OK);
        close_world(&w);
    }
}

/* ---- classes ---- */

static void test_new_classes_are_numbered_behind(void **state) {
    (void)state;
    world w;
    int32_t index = -5;
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE);
    assert_int_equal(limn_model_add_class(w.ctx, w.model, "b", &index), LIMN_OK);
    assert_int_equal(index, 1);
    assert_int_equal(w.model->changes, 0); /* nothing new: predictors stay valid */
    assert_int_equal(limn_model_add_class(w.ctx, w.model, "7", &index), LIMN_OK);
    assert_int_equal(index, 2);
    assert_int_equal(limn_model_add_class(w.ctx, w.model, "7.0", &index), LIMN_OK);
    assert_int_equal(index, 2);
    assert_string_equal(limn_model_class_name(w.model, 2), "7");
    assert_int_equal(limn_model_add_class(w.ctx, w.model, "", &index), LIMN_E_USAGE);
    for (int i = 0; i < 100; i++) { /* past every growth of the table */
        char name[24];
        snprintf(name, sizeof name, "class %d", i);
        assert_int_equal(limn_model_add_class(w.ctx, w.model, name, &index), LIMN_OK);
        assert_int_equal(index, 3 + i);
    }
    assert_int_equal(body(w.model)->classes, 103);
    close_world(&w);
    open_world(&w, LIMN_REGRESS, LIMN_SCALE_NONE);
    assert_int_equal(limn_model_add_class(w.ctx, w.model, "x", &index), LIMN_E_USAGE);
    close_world(&w);
}

static void test_a_class_that_was_taken_back_leaves_no_trace(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    lm_labels labels;
    int32_t id;
    lm_labels_init(&labels, &ctx->mem);
    for (int i = 0; i < 40; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "%d", i * 7);
        assert_int_equal(lm_labels_add(ctx, &labels, "gone", 4, &id), LIMN_OK);
        lm_labels_pop(&labels);
        assert_int_equal(lm_labels_find(&labels, "gone", 4), -1);
        assert_int_equal(lm_labels_add(ctx, &labels, name, (size_t)length, &id), LIMN_OK);
        assert_int_equal(id, i);
    }
    for (int i = 0; i < 40; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "%d", i * 7);
        assert_int_equal(lm_labels_find(&labels, name, (size_t)length), i);
    }
    lm_labels_free(&labels);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* ---- predictors ---- */

static void test_predictors_of_a_changed_model_are_refused_until_renewed(void **state) {
    (void)state;
    world w;
    limn_predictor *p = NULL;
    int32_t said;
    uint64_t id = 0;
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_ZSCORE);
    limn_lesson l = lesson_of(&w, 0, 1);
    assert_int_equal(limn_learn(w.ctx, w.model, &l, NULL), LIMN_OK);
    assert_int_equal(limn_predictor_new(w.ctx, w.model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, w.x, 1, &said), LIMN_OK);
    limn_mark mark = {1, 2, 3};
    limn_model_set_mark(w.model, &mark);
    assert_int_equal(limn_predict(p, w.x, 1, &said), LIMN_OK);
    for (int change = 0; change < 4; change++) {
        int32_t index;
        l = lesson_of(&w, 0, N);
        limn_status status = change == 0   ? limn_learn(w.ctx, w.model, &l, NULL)
                             : change == 1 ? limn_model_add_class(w.ctx, w.model, "c", &index)
                             : change == 2 ? limn_forget(w.ctx, w.model, &id, 1, NULL)
                                           : limn_compact(w.ctx, w.model);
        assert_int_equal(status, LIMN_OK);
        said = -9;
        assert_int_equal(limn_predict(p, w.x, 1, &said), LIMN_E_USAGE);
        assert_int_equal(said, -9);
        assert_non_null(strstr(limn_error(w.ctx), "limn_predictor_renew"));
        w.count.fail_at = change == 0; /* scratch has grown: memory is needed */
        if (w.count.fail_at) {
            assert_int_equal(limn_predictor_renew(p), LIMN_E_MEMORY);
            assert_int_equal(limn_predict(p, w.x, 1, &said), LIMN_E_USAGE);
        }
        assert_int_equal(limn_predictor_renew(p), LIMN_OK);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(limn_predict(p, w.x + i * D, 1, &said), LIMN_OK);
            assert_int_equal(said, w.label[i]);
        }
    }
    limn_predictor_free(p);
    close_world(&w);
}

/* ---- forgetting ---- */

static void test_forgotten_rows_are_gone_and_others_are_no_error(void **state) {
    (void)state;
    world w;
    uint64_t ids[] = {3, 1000, 5, 3}, forgotten = 0;
    limn_model_info info = {.size = sizeof info};
    double kept = 0;
    open_world(&w, LIMN_CLASSIFY, LIMN_SCALE_NONE);
    limn_lesson l = lesson_of(&w, 0, 10);
    assert_int_equal(limn_learn(w.ctx, w.model, &l, NULL), LIMN_OK);
    assert_int_equal(limn_forget(w.ctx, w.model, ids, 4, &forgotten), LIMN_OK);
    assert_int_equal(forgotten, 2);
    assert_int_equal(limn_forget(w.ctx, w.model, NULL, 0, &forgotten), LIMN_OK);
    assert_int_equal(forgotten, 0);
    assert_int_equal(limn_compact(w.ctx, w.model), LIMN_OK);
    assert_int_equal(body(w.model)->compacted, 1);
    limn_model_describe(w.model, &info); /* the figures follow the model */
    assert_int_equal(info.rows, 10);
    assert_true(info.touched_vectors == 8);
    assert_string_equal(limn_model_stat(w.model, 0, &kept), "kept");
    assert_true(kept == 8);
    size_t bytes;
    assert_int_equal(lm_model_measure(w.ctx, w.model, &bytes), LIMN_OK);
    assert_int_equal(info.bytes, bytes);
    l = lesson_of(&w, 10, 1); /* ids are never reused */
    assert_int_equal(limn_learn(w.ctx, w.model, &l, NULL), LIMN_OK);
    assert_int_equal(body(w.model)->rows[8].id, 10);
    close_world(&w);
}

/* ---- marks ---- */

static void write_file(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_a_mark_knows_a_file_by_its_first_bytes(void **state) {
    (void)state;
    enum { SIZE = 70000 };
    char folder[] = "/tmp/limn-mark-XXXXXX", path[64], *bytes = malloc(SIZE);
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_mark small, grown, large, again;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/data", folder);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 31 % 127);
    write_file(path, bytes, 1000);
    assert_int_equal(limn_mark_file(ctx, path, LIMN_MARK_BYTES, &small), LIMN_OK);
    assert_int_equal(small.rows, 0);
    assert_int_equal(small.bytes, 1000);
    write_file(path, bytes, SIZE);
    assert_int_equal(limn_mark_file(ctx, path, small.bytes, &grown), LIMN_OK);
    assert_memory_equal(&small, &grown, sizeof small);
    assert_int_equal(limn_mark_file(ctx, path, LIMN_MARK_BYTES, &large), LIMN_OK);
    assert_int_equal(large.bytes, 65536);
    assert_true(large.hash != small.hash);
    bytes[66000] ^= 1; /* behind them */
    write_file(path, bytes, SIZE);
    assert_int_equal(limn_mark_file(ctx, path, UINT64_MAX, &again), LIMN_OK);
    assert_memory_equal(&large, &again, sizeof large);
    bytes[65535] ^= 1;
    write_file(path, bytes, SIZE);
    assert_int_equal(limn_mark_file(ctx, path, LIMN_MARK_BYTES, &again), LIMN_OK);
    assert_true(large.hash != again.hash);
    assert_int_equal(limn_mark_file(ctx, "-", LIMN_MARK_BYTES, &again), LIMN_OK);
    assert_int_equal(again.bytes, 0);
    assert_int_equal(limn_mark_file(ctx, "/dev/null", LIMN_MARK_BYTES, &again), LIMN_OK);
    assert_int_equal(again.bytes, 0);
    unlink(path);
    assert_int_equal(limn_mark_file(ctx, path, LIMN_MARK_BYTES, &again), LIMN_E_IO);
    assert_non_null(strstr(limn_error(ctx), path));
    rmdir(folder);
    free(bytes);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_row_or_many_agree_and_ids_count_arrivals),
        cmocka_unit_test(test_rows_are_scaled_as_queries_are),
        cmocka_unit_test(test_long_scaled_lessons_are_learned_whole),
        cmocka_unit_test(test_regression_answers_before_it_learns),
        cmocka_unit_test(test_the_teacher_does_not_matter),
        cmocka_unit_test(test_bad_rows_are_refused_as_a_whole),
        cmocka_unit_test(test_methods_that_cannot_learn_say_so),
        cmocka_unit_test(test_cancelling_leaves_the_rows_before),
        cmocka_unit_test(test_failing_allocations_leave_a_whole_model),
        cmocka_unit_test(test_new_classes_are_numbered_behind),
        cmocka_unit_test(test_a_class_that_was_taken_back_leaves_no_trace),
        cmocka_unit_test(test_predictors_of_a_changed_model_are_refused_until_renewed),
        cmocka_unit_test(test_forgotten_rows_are_gone_and_others_are_no_error),
        cmocka_unit_test(test_a_mark_knows_a_file_by_its_first_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
