/* test_scale_learned.c: --scale learned: the gate (learned.c) against a slow walk with brute-force
 * neighbours, what the map is worth on data that is known, and the whole way through the public
 * interface: training, saving, predicting, learning, teaching, exporting. */
#include "scale_learned_slow.h"

#include <stdio.h>
#include <unistd.h>

enum { QUERIES = 120 };

/* ---- the gate ---- */

static bool check_gate(world *w, const sample *s, limn_scale kind, size_t most_fit) {
    lm_scaler scaler = learn(w, s, kind), plain;
    lm_trials t;
    assert_int_equal(lm_scaler_fit_columns(w->ctx, scaler.kind, false, &s->rows, &plain), LIMN_OK);
    slow_gate g = {.w = w, .s = s, .plain = &plain, .most_fit = most_fit};
    lm_map *map = choose_slowly(&g, &t);
    assert_same_trials(&scaler.gate, &t);
    assert_int_equal(scaler.map != NULL, map != NULL);
    assert_int_equal(scaler.out, map ? map->out : scaler.kept);
    if (map)
        assert_same_map(scaler.map, map);
    bool taken = map != NULL;
    lm_map_free(&w->ctx->mem, map);
    lm_scaler_free(&w->ctx->mem, &plain);
    lm_scaler_free(&w->ctx->mem, &scaler);
    return taken;
}

static void test_the_gate_is_the_slow_walk_below_1000_rows(void **state) {
    size_t taken = 0, left = 0;
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t n = 30; n < 240; n += n < 60 ? 1 : n < 100 ? 3 : 50 + every(20)) {
        size_t kind = n % 5, d = kind < 3 ? 5 : 3;
        sample s = scene_make(kind < 4 ? GOOD : NOISE, n, d, kind % 2 ? 3 : 0, n);
        if (n % 3 == 0)
            round_rows(&s);
        if (n % 7 == 0)
            single_out(&s, n * 5 / 7);
        *(check_gate(&w, &s, LIMN_SCALE_LEARNED, 2000) ? &taken : &left) += 1;
        sample_free(&s);
    }
    assert_true(taken > 5 && left > 5);
    world_close(&w);
}

/* Which rows a map was fitted to, its mean tells. */
static void test_with_rows_held_out_maps_are_fitted_to_2000_others(void **state) {
    enum { N = 3100, HELD = N / 3, FIT = 2000, D = 4 };
    (void)state;
    world w;
    world_open(&w, 2);
    sample s = scene_make(GOOD, N, D, 2, 1);
    lm_scaler scaler = learn(&w, &s, LIMN_SCALE_ZSCORE), plain;
    float x[D];
    double mean[D] = {0}, own[D];
    assert_int_equal(scaler.gate.rows, HELD);
    assert_non_null(scaler.map);
    assert_int_equal(lm_split_spread(w.ctx, s.label, N, (const size_t[]){HELD, FIT}, 2, w.ctx->seed,
                                     lm_stream_of("scale map"), s.row),
                     LIMN_OK);
    assert_int_equal(lm_scaler_fit_columns(w.ctx, scaler.kind, false, &s.rows, &plain), LIMN_OK);
    for (size_t i = HELD; i < HELD + FIT; i++) {
        lm_scaler_apply(&plain, s.x + s.row[i] * D, 1, x, NULL);
        for (size_t j = 0; j < D; j++)
            mean[j] += (double)x[j] / FIT;
    }
    for (size_t j = 0; j < D; j++)
        own[j] = (double)scaler.map->mean[j];
    assert_near(own, mean, D, 1e-7);
    lm_scaler_free(&w.ctx->mem, &plain);
    lm_scaler_free(&w.ctx->mem, &scaler);
    sample_free(&s);
    world_close(&w);
}

static void test_at_most_4000_rows_are_held_out(void **state) {
    (void)state;
    world w;
    world_open(&w, 2);
    sample s = scene_make(GOOD, 12300, 2, 2, 1);
    s.rows.classes = 2000000; /* so that maps are fitted to few rows */
    lm_scaler scaler = learn(&w, &s, LIMN_SCALE_MINMAX);
    assert_int_equal(scaler.gate.rows, 4000);
    lm_scaler_free(&w.ctx->mem, &scaler);
    sample_free(&s);
    world_close(&w);
}

/* Of one class there is nothing to learn, so that no map is fitted and all are only counted. */
static void test_with_very_many_features_d4f_and_then_d2f_are_left_out(void **state) {
    static const struct {
        size_t features, candidates;
        const char *last;
    } cases[] = {{512, CANDIDATES, "d4f"},
                 {513, CANDIDATES - 1, "d2f"},
                 {1000, CANDIDATES - 1, "d2f"},
                 {1001, CANDIDATES - 2, "d1f"},
                 {1200, CANDIDATES - 2, "d1f"}};
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        sample s = scene_make(GOOD, 30, cases[i].features, 1, 1);
        lm_scaler scaler = learn(&w, &s, LIMN_SCALE_LEARNED);
        assert_int_equal(scaler.gate.rows, 30);
        assert_int_equal(scaler.gate.count, cases[i].candidates);
        assert_string_equal(scaler.gate.list[cases[i].candidates - 1].name, cases[i].last);
        lm_scaler_free(&w.ctx->mem, &scaler);
        sample_free(&s);
    }
    world_close(&w);
}

/* The more classes, there or not, the fewer rows maps are fitted to: sqrt(4e10 / (folds classes
 * features)), at least 200. */
static void test_the_gate_is_the_slow_walk_with_folds_and_with_rows_held_out(void **state) {
    static const struct {
        size_t n, d, classes, fit;
        limn_scale kind;
    } cases[] = {
        {999, 4, 1000000, 200, LIMN_SCALE_LEARNED}, {1000, 3, 1000000, 200, LIMN_SCALE_RANK},
        {2999, 3, 1000000, 200, LIMN_SCALE_ZSCORE}, {3000, 3, 1000000, 200, LIMN_SCALE_NONE},
        {3100, 4, 110000, 301, LIMN_SCALE_GAUSS},   {900, 4, 40000, 223, LIMN_SCALE_LEARNED},
        {1500, 4, 60000, 235, LIMN_SCALE_MINMAX},   {90, 40, 3, 2000, LIMN_SCALE_LEARNED}};
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        sample s = scene_make(GOOD, cases[i].n, cases[i].d, 3, i);
        s.rows.classes = cases[i].classes;
        if (i % 2)
            round_rows(&s);
        check_gate(&w, &s, cases[i].kind, cases[i].fit);
        sample_free(&s);
    }
    world_close(&w);
}

/* ---- what it is worth ---- */

/* The share of wrong classes, or the mean absolute error. */
static double error_of(limn_context *ctx, const limn_model *model, const sample *s) {
    size_t n = s->rows.n;
    double *out = answers(ctx, model, s->x, n, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += s->rows.label ? out[i] != (double)s->label[i] : fabs(out[i] - s->target[i]);
    free(out);
    return sum / (double)n;
}

/* The errors of one neighbour on fresh rows, without a map and with one if there is one. */
static bool compare(scene kind, size_t n, size_t d, size_t classes, double *before, double *after,
                    size_t *heavy) {
    world w;
    world_open(&w, 2);
    sample s = scene_make(kind, n, d, classes, 1), fresh = scene_make(kind, 1000, d, classes, 2);
    asking a = {"knn", "k=1", LIMN_SCALE_AUTO, NULL, NULL, NULL};
    limn_model *plain = train(w.ctx, &s, &a);
    a.scale = LIMN_SCALE_LEARNED;
    limn_model *learned = train(w.ctx, &s, &a);
    *before = error_of(w.ctx, plain, &fresh);
    *after = error_of(w.ctx, learned, &fresh);
    bool there = learned->scaler.map != NULL;
    double share;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(limn_model_heavy_feature(learned, i, &heavy[i], &share), there);
    limn_model_free(plain);
    limn_model_free(learned);
    sample_free(&s);
    sample_free(&fresh);
    world_close(&w);
    return there;
}

static void test_two_good_features_among_twenty_others_are_found(void **state) {
    double before, after;
    size_t heavy[2];
    (void)state;
    for (size_t classes = 0; classes <= 3; classes += 3) {
        assert_true(compare(GOOD, 300, 22, classes, &before, &after, heavy));
        if (!(after < 0.6 * before))
            fail_msg("%zu classes: the error falls from %g to %g", classes, before, after);
        assert_int_equal(heavy[0] + heavy[1], FIRST_GOOD + second_good(22));
        assert_true(heavy[0] == FIRST_GOOD || heavy[1] == FIRST_GOOD);
    }
}

static void test_there_is_no_harm_where_nothing_can_be_gained(void **state) {
    double before, after;
    size_t heavy[2];
    (void)state;
    for (size_t n = 60; n <= 240; n += 90)
        for (size_t classes = 0; classes <= 3; classes += 3) {
            compare(NOISE, n, 6, classes, &before, &after, heavy);
            if (!(after < before + (classes ? 0.05 : 0.08)))
                fail_msg("noise, %zu rows, %zu classes: %g to %g", n, classes, before, after);
        }
    for (size_t n = 60; n <= 240; n += 90) {
        compare(BLOBS, n, 5, 4, &before, &after, heavy);
        assert_true(before == 0 && after == 0);
    }
}

static void hear_warning(void *user, limn_log_level level, const char *sentence) {
    listener *l = user;
    assert_int_equal(level, LIMN_LOG_WARNING);
    l->warnings++;
    snprintf(l->warning, sizeof l->warning, "%s", sentence);
}

static listener assert_no_map(sample s) {
    world w;
    listener l = {0};
    world_open(&w, 1);
    w.ctx->log = hear_warning;
    w.ctx->user = &l;
    lm_scaler scaler = learn(&w, &s, LIMN_SCALE_LEARNED);
    assert_null(scaler.map);
    assert_int_equal(scaler.out, scaler.kept);
    assert_int_equal(lm_scaler_kind(&scaler), LIMN_SCALE_LEARNED);
    for (size_t c = 1; c < scaler.gate.count; c++)
        assert_false(scaler.gate.list[c].taken);
    lm_scaler_free(&w.ctx->mem, &scaler);
    world_close(&w);
    sample_free(&s);
    return l;
}

static void test_where_there_is_nothing_to_learn_there_is_no_map(void **state) {
    static const size_t sizes[] = {30, 34, 49, 200};
    (void)state;
    for (size_t classes = 0; classes <= 2; classes += 2) {
        for (size_t n = 1; n < 30; n += n < 4 ? 1 : 5)
            assert_int_equal(assert_no_map(scene_make(GOOD, n, 3, classes, n)).warnings, 0);
        assert_no_map(scene_make(GOOD, 100, 1, classes, 1));
    }
    for (size_t i = 0; i < LM_COUNT(sizes); i++) {
        sample one = scene_make(GOOD, sizes[i], 4, 3, 1),
               flat = scene_make(GOOD, sizes[i], 4, 0, 1);
        sample equal = scene_make(GOOD, sizes[i], 4, 3, 1),
               two = scene_make(GOOD, sizes[i], 4, 0, 1);
        for (size_t k = 0; k < sizes[i]; k++) {
            one.label[k] = 1;
            flat.target[k] = -0.1;
        }
        for (size_t k = 0; k < 4 * sizes[i]; k++) {
            equal.x[k] = 7;
            two.x[k] = k % 4 == 2 ? two.x[k] : 0.1f; /* one column is not constant */
        }
        assert_no_map(one);
        assert_no_map(flat);
        assert_no_map(equal);
        assert_no_map(two);
    }
}

static void test_more_than_1200_features_are_only_scaled_and_that_is_said(void **state) {
    (void)state;
    listener l = assert_no_map(scene_make(GOOD, 31, 1201, 2, 1));
    assert_int_equal(l.warnings, 1);
    assert_non_null(strstr(l.warning, "at most 1200 features; the 1201 here are only scaled"));
}

static void test_without_labels_it_is_refused(void **state) {
    (void)state;
    world w;
    lm_scaler scaler;
    world_open(&w, 1);
    sample s = scene_make(GOOD, 40, 3, 2, 1);
    s.rows.label = NULL;
    assert_int_equal(lm_scaler_fit(w.ctx, LIMN_SCALE_LEARNED, false, &s.rows, &scaler),
                     LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(w.ctx), "a map is learned from labels or targets"));
    sample_free(&s);
    world_close(&w);
}

/* ---- failures ---- */

/* Three ways to fail: in folds, with a model around it, and with rows held out (there the scaling
 * of the columns is given: it would take most of the time). */
enum { FOLDS, MODEL, HELD_OUT, WAYS };

static limn_status try_fit(world *w, const sample *s, limn_scale kind) {
    lm_scaler scaler;
    limn_status status = try_learn(w, s, kind, &scaler);
    if (status == LIMN_OK)
        lm_scaler_free(&w->ctx->mem, &scaler);
    return status;
}

static limn_status try_knn(world *w, const sample *s) {
    limn_model *model = NULL;
    limn_status status =
        try_train(w->ctx, s, &(asking){.method = "knn", .scale = LIMN_SCALE_LEARNED}, &model);
    assert_int_equal(status == LIMN_OK, model != NULL);
    limn_model_free(model);
    return status;
}

static limn_status try_way(world *w, const sample *s, int way) {
    return way == MODEL ? try_knn(w, s)
                        : try_fit(w, s, way == FOLDS ? LIMN_SCALE_LEARNED : LIMN_SCALE_MINMAX);
}

static sample scene_for_failures(int way) {
    sample s = scene_make(GOOD, way == HELD_OUT ? 3000 : 32, 2, 2, 1);
    if (way == HELD_OUT)
        s.rows.classes = 2000000; /* so that maps are fitted to few rows */
    return s;
}

static void test_every_failed_allocation_is_reported(void **state) {
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        sample s = scene_for_failures(way);
        limn_status status = LIMN_E_MEMORY;
        unsigned step = way == HELD_OUT ? 61 : way == MODEL ? 7 : 5;
        for (unsigned at = 1; status != LIMN_OK; at += step * every(3)) {
            world w;
            world_open(&w, 1);
            w.count.fail_at = at;
            status = try_way(&w, &s, way);
            assert_int_equal(status, w.count.fail_at ? LIMN_OK : LIMN_E_MEMORY);
            world_close(&w);
            assert_true(at < 100000);
        }
        sample_free(&s);
    }
}

static void test_it_can_be_cancelled_at_any_report(void **state) {
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        sample s = scene_for_failures(way);
        limn_status status = LIMN_E_CANCELLED;
        for (int at = 1; status != LIMN_OK; at += way == HELD_OUT ? 40 : 7 * (int)every(3)) {
            world w;
            listener l = {.cancel_at = at};
            world_open(&w, 1 + at % 3);
            w.ctx->progress = hear_progress;
            w.ctx->user = &l;
            status = try_way(&w, &s, way);
            assert_int_equal(status, l.heard < at ? LIMN_OK : LIMN_E_CANCELLED);
            assert_true(l.heard <= at && at < 100000);
            world_close(&w);
        }
        sample_free(&s);
    }
}

/* ---- models ---- */

typedef struct image {
    unsigned char *bytes;
    size_t size;
} image;

static image image_of(limn_context *ctx, const limn_model *model) {
    image made;
    assert_int_equal(lm_model_bytes(ctx, model, &made.bytes, &made.size), LIMN_OK);
    return made;
}

static limn_model *reopen(limn_context *ctx, const limn_model *model) {
    image made = image_of(ctx, model);
    lm_file *file = NULL;
    limn_model *loaded = NULL;
    assert_int_equal(lm_file_from_memory(ctx, made.bytes, made.size, "m", &file), LIMN_OK);
    if (lm_model_load(ctx, file, &loaded) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    lm_free(&ctx->mem, made.bytes);
    return loaded;
}

static const struct {
    asking asking;
    size_t classes;
} methods[] = {{{"knn", "k=3", LIMN_SCALE_LEARNED, NULL, NULL, NULL}, 3},
               {{"knn", "k=3", LIMN_SCALE_LEARNED, NULL, NULL, NULL}, 0},
               {{"bforest", "trees=7 warmup=40", LIMN_SCALE_LEARNED, NULL, NULL, NULL}, 3},
               {{"bforest", "trees=7 warmup=40", LIMN_SCALE_LEARNED, NULL, NULL, NULL}, 0},
               {{"svm", "", LIMN_SCALE_LEARNED, NULL, NULL, NULL}, 3},
               {{"svm", "", LIMN_SCALE_LEARNED, NULL, NULL, NULL}, 0},
               {{"lda", "", LIMN_SCALE_LEARNED, NULL, NULL, NULL}, 3}};

static sample scene_for_models(size_t classes) {
    return scene_make(GOOD, 160, 6, classes, 5);
}

static void test_threads_and_repetition_change_no_byte_of_a_model(void **state) {
    (void)state;
    for (size_t m = 0; m < LM_COUNT(methods); m++) {
        sample s = scene_for_models(methods[m].classes);
        image first = {NULL, 0};
        world w;
        world_open(&w, 1);
        for (int run = 0; run < 3; run++) { /* with 1 thread, and twice with 2 or 3 */
            w.ctx->threads = run ? 2 + (int)m % 2 : 1;
            limn_model *model = train(w.ctx, &s, &methods[m].asking);
            image made = image_of(w.ctx, model);
            assert_non_null(model->scaler.map);
            if (!first.bytes)
                first = made;
            assert_int_equal(made.size, first.size);
            assert_memory_equal(made.bytes, first.bytes, first.size);
            if (run)
                lm_free(&w.ctx->mem, made.bytes);
            limn_model_free(model);
        }
        lm_free(&w.ctx->mem, first.bytes);
        sample_free(&s);
        world_close(&w);
    }
}

static void assert_same_answers(limn_context *ctx, const double *expected, const limn_model *model,
                                const sample *s, size_t step, double tolerance) {
    double *out = answers(ctx, model, s->x, s->rows.n, step);
    for (size_t i = 0; i < s->rows.n; i++)
        if (!(fabs(out[i] - expected[i]) <= tolerance * fabs(expected[i])))
            fail_msg("%s, row %zu: %.17g instead of %.17g", model->method->info.name, i, out[i],
                     expected[i]);
    free(out);
}

/* What depends on the instruction set is only how the values of a regression are rounded. */
static void test_answers_are_the_same_one_by_one_after_saving_and_on_any_machine(void **state) {
    (void)state;
    for (size_t m = 0; m < LM_COUNT(methods); m++) {
        sample s = scene_for_models(methods[m].classes);
        sample fresh = scene_make(GOOD, QUERIES, 6, methods[m].classes, 6);
        world w;
        world_open(&w, 2);
        limn_model *model = train(w.ctx, &s, &methods[m].asking);
        limn_model *loaded = reopen(w.ctx, model);
        double *expected = answers(w.ctx, model, fresh.x, QUERIES, QUERIES);
        assert_same_answers(w.ctx, expected, model, &fresh, 1, 0);
        assert_same_answers(w.ctx, expected, loaded, &fresh, QUERIES, 0);
        assert_same_answers(w.ctx, expected, loaded, &fresh, 5, 0);
        for (size_t isa = 0; lm_isa_at(isa); isa++) {
            assert_true(lm_isa_use(lm_isa_at(isa)));
            assert_same_answers(w.ctx, expected, loaded, &fresh, QUERIES,
                                methods[m].classes ? 0 : 1e-4);
        }
        lm_isa_use(lm_isa_at(0));
        free(expected);
        limn_model_free(loaded);
        limn_model_free(model);
        sample_free(&fresh);
        sample_free(&s);
        world_close(&w);
    }
}

static void check_trials(const limn_model *model, int of_map, const lm_trials *trials) {
    limn_scaling_trial t;
    limn_scaling_trial_init(&t);
    for (size_t i = 0; i < trials->count; i++) {
        const lm_trial *own = &trials->list[i];
        assert_int_equal(limn_model_scaling_trial(model, of_map, i, &t), 1);
        assert_string_equal(t.name, own->name);
        assert_true(t.wrong == own->wrong && t.mends == own->mends && t.breaks == own->breaks);
        assert_int_equal(t.taken, own->taken);
    }
    assert_int_equal(limn_model_scaling_trial(model, of_map, trials->count, &t), 0);
}

static void check_scaling(const limn_model *model) {
    const lm_scaler *s = &model->scaler;
    limn_scaling scaling;
    limn_model_info info;
    size_t feature;
    double share, sum = 0;
    limn_scaling_init(&scaling);
    limn_model_info_init(&info);
    limn_model_scaling(model, &scaling);
    limn_model_describe(model, &info);
    assert_int_equal(scaling.kind, LIMN_SCALE_LEARNED);
    assert_int_equal(info.scale, LIMN_SCALE_LEARNED);
    assert_int_equal(scaling.base, s->kind);
    assert_true(scaling.rows == s->chosen.rows && scaling.trials == s->chosen.count);
    assert_true(scaling.map_rows == s->gate.rows && scaling.map_trials == s->gate.count);
    assert_int_equal(scaling.axes, s->map ? s->map->out : 0);
    assert_true(scaling.variance == (s->map ? s->map->variance : 0));
    check_trials(model, 0, &s->chosen);
    check_trials(model, 1, &s->gate);
    for (size_t i = 0; s->map && i < s->kept; i++) {
        assert_int_equal(limn_model_heavy_feature(model, i, &feature, &share), 1);
        assert_true(share == -s->map->heavy[i].key);
        assert_int_equal(feature,
                         s->keep ? s->keep[s->map->heavy[i].row] : (size_t)s->map->heavy[i].row);
        sum += share;
    }
    assert_true(!s->map || fabs(sum - 1) < 1e-12);
    assert_int_equal(limn_model_heavy_feature(model, s->map ? s->kept : 0, &feature, &share), 0);
}

static void test_a_model_tells_how_it_scales_and_why(void **state) {
    (void)state;
    for (size_t n = 29; n <= 240; n += 211) {
        world w;
        world_open(&w, 1);
        sample s = scene_make(GOOD, n, 8, 3, 5);
        for (size_t i = 0; i < n; i++)
            s.x[i * 8] = 0.5f; /* dropped: later features move up */
        limn_model *model = train(w.ctx, &s, &methods[0].asking);
        limn_model *loaded = reopen(w.ctx, model);
        assert_int_equal(model->scaler.map != NULL, n == 240);
        check_scaling(model);
        check_scaling(loaded);
        limn_model_free(loaded);
        limn_model_free(model);
        sample_free(&s);
        world_close(&w);
    }
}

/* ---- what comes after training ---- */

/* Classes are numbered in the order of their labels, 0 to 2. */
static void teach_later(limn_context *ctx, limn_model *model, const sample *s, size_t first,
                        double *answered) {
    size_t n = s->rows.n, learned;
    int32_t *answer = calloc(n, sizeof *answer);
    limn_lesson lesson;
    limn_lesson_init(&lesson);
    lesson.n = n - first;
    lesson.x = s->x + first * s->rows.d;
    lesson.classes = s->label + first;
    lesson.targets = s->target + first;
    lesson.answered_classes = answer;
    lesson.answered_values = answered;
    assert_int_equal(limn_learn(ctx, model, &lesson, &learned), LIMN_OK);
    assert_int_equal(learned, n - first);
    for (size_t i = 0; i < n - first && s->rows.label; i++)
        answered[i] = answer[i];
    free(answer);
}

/* A forest that learns with a map is one without scaling that learns rows mapped before. */
static void test_rows_learned_later_go_through_the_map(void **state) {
    enum { N = 400, FIRST = 250, D = 6 };
    (void)state;
    for (size_t classes = 0; classes <= 3; classes += 3) {
        world w;
        world_open(&w, 2);
        asking a = {
            .method = "bforest", .params = "trees=7 warmup=40", .scale = LIMN_SCALE_LEARNED};
        sample s = scene_make(GOOD, N, D, classes, 3), part = s, by_hand = s, start;
        part.rows.n = FIRST;
        limn_model *model = train(w.ctx, &part, &a);
        size_t out = model->scaler.out;
        void *spare;
        by_hand.x = calloc(N * out, sizeof *by_hand.x);
        assert_non_null(model->scaler.map);
        assert_int_equal(lm_scaler_spare(w.ctx, &model->scaler, &spare), LIMN_OK);
        lm_scaler_apply(&model->scaler, s.x, N, by_hand.x, spare);
        lm_free_aligned(&w.ctx->mem, spare);
        by_hand.rows.d = out;
        start = by_hand;
        start.rows.n = FIRST;
        a.scale = LIMN_SCALE_NONE;
        limn_model *plain = train(w.ctx, &start, &a);
        double said[N], expected[N];
        teach_later(w.ctx, model, &s, FIRST, said);
        teach_later(w.ctx, plain, &by_hand, FIRST, expected);
        assert_memory_equal(said, expected, (N - FIRST) * sizeof *said);
        double *own = answers(w.ctx, model, s.x, N, N);
        assert_same_answers(w.ctx, own, plain, &by_hand, N, 0);
        free(own);
        free(by_hand.x);
        limn_model_free(plain);
        limn_model_free(model);
        sample_free(&s);
        world_close(&w);
    }
}

/* A teacher that knows the scene and must be asked about rows as they were before scaling. */
typedef struct truth {
    const sample *s;
    size_t asked;
} truth;

static limn_status tell_truth(void *user, const float *x, size_t n, double *answer) {
    truth *t = user;
    size_t d = t->s->rows.d, classes = t->s->rows.classes;
    for (size_t i = 0; i < n; i++) {
        double u = (double)x[i * d + FIRST_GOOD], v = (double)x[i * d + second_good(d)];
        for (size_t j = 0; j < d; j++)
            assert_true(fabsf(x[i * d + j]) < 100); /* where the rows are */
        if (!classes)
            answer[i] = 2 * u + sin(2 * v);
        for (size_t c = 0; c < classes; c++)
            answer[i * classes + c] = 0.05;
        if (classes)
            answer[i * classes + class_of(u, v, classes)] = 0.9;
    }
    t->asked += n;
    return LIMN_OK;
}

static void test_students_and_borders_learn_from_teachers_with_a_map(void **state) {
    static const struct {
        asking asking;
        size_t classes;
        double most;
    } pupils[] = {{{.method = "student", .params = "size=16 pool=800 visits=30000"}, 3, 0.3},
                  {{.method = "student", .params = "size=16 pool=800 visits=30000"}, 0, 1.1},
                  {{.method = "borders", .params = "borders=30 pool=1000"}, 3, 0.3}};
    (void)state;
    for (size_t i = 0; i < 2 * LM_COUNT(pupils); i++) {
        size_t p = i / 2;
        world w;
        world_open(&w, 2);
        sample s = scene_make(GOOD, 300, 8, pupils[p].classes, 3);
        sample fresh = scene_make(GOOD, 500, 8, pupils[p].classes, 4);
        truth t = {&s, 0};
        asking knn = {.method = "knn", .scale = LIMN_SCALE_LEARNED}, a = pupils[p].asking;
        limn_model *teacher = i % 2 ? NULL : train(w.ctx, &s, &knn);
        a.teacher = teacher;
        a.teach = teacher ? NULL : tell_truth;
        a.user = &t;
        a.scale = teacher ? LIMN_SCALE_AUTO : LIMN_SCALE_LEARNED;
        limn_model *model = train(w.ctx, &s, &a);
        double error = error_of(w.ctx, model, &fresh);
        assert_non_null(model->scaler.map);
        assert_int_equal(t.asked > 0, !teacher);
        if (teacher)
            assert_same_map(model->scaler.map, teacher->scaler.map);
        if (!(error < pupils[p].most))
            fail_msg("%s of %s: error %g", a.method, teacher ? "knn" : "a function", error);
        limn_model_free(model);
        limn_model_free(teacher);
        sample_free(&s);
        sample_free(&fresh);
        world_close(&w);
    }
}

/* ---- refusals ---- */

static void assert_scale_refused(const char *method, limn_task task, limn_scale scale,
                                 const char *words) {
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, task, SHAPE_RANDOM, 60, 1);
    limn_train_options options;
    limn_model *model = NULL;
    limn_train_options_init(&options);
    options.method = method;
    options.scale = scale;
    assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_E_USAGE);
    assert_null(model);
    if (!strstr(limn_error(ctx), words) || !strstr(limn_error(ctx), limn_task_name(task)))
        fail_msg("%s: '%s' lacks '%s'", method, limn_error(ctx), words);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_tasks_without_labels_refuse_what_needs_them_or_bends_axes(void **state) {
    static const limn_task tasks[] = {LIMN_SEARCH, LIMN_OUTLIER, LIMN_DENSITY};
    static const unsigned needed[] = {LIMN_CAN_SEARCH, LIMN_CAN_OUTLIER, LIMN_CAN_DENSITY};
    size_t tried[LM_COUNT(tasks)] = {0};
    (void)state;
    for (size_t m = 0; limn_method_at(m); m++)
        for (size_t t = 0; t < LM_COUNT(tasks); t++) {
            const char *name = limn_method_at(m)->name;
            if (!(limn_method_capabilities(name) & needed[t]))
                continue;
            tried[t]++;
            assert_scale_refused(name, tasks[t], LIMN_SCALE_LEARNED,
                                 "--scale learned needs the tasks classify or regress");
            if (tasks[t] != LIMN_DENSITY)
                continue;
            assert_scale_refused(name, tasks[t], LIMN_SCALE_RANK, "--scale rank bends the axes");
            assert_scale_refused(name, tasks[t], LIMN_SCALE_GAUSS, "--scale gauss bends the axes");
        }
    assert_true(tried[0] && tried[1] && tried[2]);
}

static void test_only_scalings_by_lines_are_exported(void **state) {
    static const struct {
        limn_scale scale;
        size_t n;
        const char *words; /* NULL: it is exported */
    } cases[] = {{LIMN_SCALE_MINMAX, 100, NULL},
                 {LIMN_SCALE_RANK, 100, "scales its features by rank, which no range file"},
                 {LIMN_SCALE_GAUSS, 100, "scales its features by gauss, which no range file"},
                 {LIMN_SCALE_LEARNED, 160, "scales its features by learned, which no range file"},
                 {LIMN_SCALE_LEARNED, 29, NULL}}; /* no map, and minmax */
    char folder[] = "/tmp/limn-test-learned-XXXXXX", path[80], range[88];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m", folder);
    snprintf(range, sizeof range, "%s.range", path);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        world w;
        world_open(&w, 1);
        sample s = scene_make(GOOD, cases[i].n, 6, 3, 5);
        limn_model *model = train(w.ctx, &s, &(asking){.method = "svm", .scale = cases[i].scale});
        limn_status status = limn_model_export(w.ctx, model, path);
        assert_int_equal(status, cases[i].words ? LIMN_E_UNSUPPORTED : LIMN_OK);
        assert_int_equal(unlink(path) == 0, !cases[i].words);
        assert_int_equal(unlink(range) == 0, !cases[i].words);
        if (cases[i].words && !strstr(limn_error(w.ctx), cases[i].words))
            fail_msg("'%s' lacks '%s'", limn_error(w.ctx), cases[i].words);
        limn_model_free(model);
        sample_free(&s);
        world_close(&w);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gate_is_the_slow_walk_below_1000_rows),
        cmocka_unit_test(test_with_rows_held_out_maps_are_fitted_to_2000_others),
        cmocka_unit_test(test_at_most_4000_rows_are_held_out),
        cmocka_unit_test(test_with_very_many_features_d4f_and_then_d2f_are_left_out),
        cmocka_unit_test(test_the_gate_is_the_slow_walk_with_folds_and_with_rows_held_out),
        cmocka_unit_test(test_two_good_features_among_twenty_others_are_found),
        cmocka_unit_test(test_there_is_no_harm_where_nothing_can_be_gained),
        cmocka_unit_test(test_where_there_is_nothing_to_learn_there_is_no_map),
        cmocka_unit_test(test_more_than_1200_features_are_only_scaled_and_that_is_said),
        cmocka_unit_test(test_without_labels_it_is_refused),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
        cmocka_unit_test(test_it_can_be_cancelled_at_any_report),
        cmocka_unit_test(test_threads_and_repetition_change_no_byte_of_a_model),
        cmocka_unit_test(test_answers_are_the_same_one_by_one_after_saving_and_on_any_machine),
        cmocka_unit_test(test_a_model_tells_how_it_scales_and_why),
        cmocka_unit_test(test_rows_learned_later_go_through_the_map),
        cmocka_unit_test(test_students_and_borders_learn_from_teachers_with_a_map),
        cmocka_unit_test(test_tasks_without_labels_refuse_what_needs_them_or_bends_axes),
        cmocka_unit_test(test_only_scalings_by_lines_are_exported),
    };
    return cmocka_run_group_tests_name("scale learned", tests, NULL, NULL);
}
