/* The later life of a boundary forest: forgotten rows are gone, new classes are learned; limits,
 * metrics, degenerate rows, failing allocations and hostile files do no harm. */
#include "bforest_world.h"
#include "reseal.h"

/* ---- forgetting ---- */

static bool holds(const unsigned char *bytes, size_t size, const void *part, size_t length) {
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(bytes + i, part, length) == 0)
            return true;
    return false;
}

static size_t held_rows(limn_context *ctx, const bf_model *m, const rows *r, size_t first,
                        size_t n) {
    size_t size, found = 0;
    unsigned char *bytes = bytes_of(ctx, m, &size);
    for (size_t i = first; i < first + n; i++)
        found += holds(bytes, size, r->x + i * r->d, r->d * sizeof *r->x);
    lm_free(&ctx->mem, bytes);
    return found;
}

static void test_a_forgotten_row_never_comes_back(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        rows r = draw_rows(LIMN_CLASSIFY, NORMAL, 300, 4, 4, 7, s);
        limn_context *ctx = make_context(NULL, 2, 9);
        for (size_t i = 0; i < r.n; i++) /* class 3: the rows to be forgotten */
            r.label[i] = i >= 240 && i < 280 ? 3 : r.label[i] % 3;
        bf_model *m = train(ctx, &r, 290, usual[s]);
        uint64_t ids[41], gone = 0;
        for (size_t i = 0; i < 40; i++)
            ids[i] = 240 + i;
        ids[40] = 1000000; /* never arrived */
        assert_true(held_rows(ctx, m, &r, 240, 40) > 0);
        size_t live = m->store.live;
        assert_int_equal(bf_forget(ctx, m, ids, 41, &gone), LIMN_OK);
        assert_true(gone > 0 && gone <= 40);
        assert_int_equal(m->store.live, live - gone);
        assert_int_equal(bf_forget(ctx, m, ids, 41, &gone), LIMN_OK);
        assert_int_equal(gone, 0);
        lm_file *file = NULL;
        bf_model *loaded = reload(ctx, m, &r, usual[s], &file);
        learn(ctx, loaded, &r, 290, 10);
        bf_model *both[] = {m, loaded};
        void *scratch = scratch_for(ctx, m);
        for (int b = 0; b < 2; b++)
            for (size_t i = 0; i < r.n; i++) {
                double proba[4];
                bf_proba(both[b], r.x + i * r.d, 1, proba, scratch);
                assert_true(proba[3] == 0);
                assert_int_not_equal(class_of(both[b], r.x + i * r.d, scratch), 3);
            }
        for (int b = 0; b < 2; b++) {
            assert_int_equal(bf_compact(ctx, both[b]), LIMN_OK);
            assert_int_equal(both[b]->signposts, 0);
            assert_int_equal(held_rows(ctx, both[b], &r, 240, 40), 0);
            for (size_t i = 0; i < r.n; i++)
                assert_int_not_equal(class_of(both[b], r.x + i * r.d, scratch), 3);
        }
        lm_free_aligned(&ctx->mem, scratch);
        bf_destroy(&ctx->mem, m);
        bf_destroy(&ctx->mem, loaded);
        lm_file_close(file);
        limn_context_free(ctx);
        free_rows(&r);
    }
}

/* A point that only the growing tree has is forgotten; the file is opened and compacted as it is.
 */
static void test_a_view_with_a_growing_tree_is_compacted(void **state) {
    static const char text[] = "trees=3 warmup=20 rho=0.4";
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 300, 2, 3, 1000, 1);
    limn_context *ctx = make_context(NULL, 1, 9);
    bf_model *m = train(ctx, &r, 150, text);
    (void)state;
    for (size_t i = 150; i < r.n; i++) {
        learn(ctx, m, &r, i, 1);
        uint64_t id = i % 3 ? i - 120 : i, gone;
        assert_int_equal(bf_forget(ctx, m, &id, 1, &gone), LIMN_OK);
        lm_file *file = NULL;
        bf_model *view = reload(ctx, m, &r, text, &file), *same;
        assert_int_equal(bf_compact(ctx, view), LIMN_OK);
        lm_file *again = NULL;
        same = reload(ctx, m, &r, text, &again);
        assert_same_bytes(ctx, m, same);
        bf_destroy(&ctx->mem, same);
        lm_file_close(again);
        same = reload(ctx, view, &r, text, &again);
        assert_same_bytes(ctx, view, same);
        bf_destroy(&ctx->mem, same);
        lm_file_close(again);
        bf_destroy(&ctx->mem, view);
        lm_file_close(file);
    }
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static void test_a_model_that_forgot_everything_learns_again(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NORMAL, 120, 3, 3, 7, 1);
    limn_context *ctx = make_context(NULL, 1, 9);
    uint64_t ids[100], gone;
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        ids[i] = i;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        bf_model *m = train(ctx, &r, 100, usual[s]);
        void *scratch = scratch_for(ctx, m);
        double proba[3];
        int32_t answer = 7;
        size_t learned;
        assert_int_equal(bf_forget(ctx, m, ids, 100, &gone), LIMN_OK);
        assert_int_equal(m->store.live, 0);
        assert_int_equal(class_of(m, r.x, scratch), 0);
        bf_proba(m, r.x, 1, proba, scratch);
        assert_true(fabs(proba[2] - 1. / 3) < 1e-15);
        lm_lesson lesson = lesson_of(&r, 100, 1);
        lesson.answer_class = &answer;
        assert_int_equal(bf_learn(ctx, m, &lesson, &learned), LIMN_OK);
        assert_int_equal(answer, -1);
        assert_int_equal(class_of(m, r.x, scratch), r.label[100]);
        assert_int_equal(bf_compact(ctx, m), LIMN_OK);
        learn(ctx, m, &r, 101, 19);
        assert_int_equal(class_of(m, r.x + 119 * r.d, scratch), r.label[119]);
        lm_free_aligned(&ctx->mem, scratch);
        bf_destroy(&ctx->mem, m);
    }
    limn_context_free(ctx);
    free_rows(&r);
}

static void test_max_points_bounds_points_and_nodes(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 6000, 2, 3, 1000, 1);
    static const char *const settings[] = {"trees=5 max_points=50 warmup=20",
                                           "style=paper trees=5 max_points=50"};
    limn_context *ctx = make_context(NULL, 1, 9);
    (void)state;
    for (size_t s = 0; s < LM_COUNT(settings); s++) {
        bf_model *m = train(ctx, &r, r.n, settings[s]);
        assert_true(m->store.live <= 50);
        assert_true(m->store.slots <= 1000);
        assert_true(m->nodes <= 5 * 50 * 5);
        for (size_t i = 0; i < m->store.slots; i++) /* random labels: all rows are stored */
            assert_true(m->store.state[i] != BF_LIVE || m->store.id[i] >= r.n - 100);
        bf_destroy(&ctx->mem, m);
    }
    limn_context_free(ctx);
    free_rows(&r);
}

/* ---- many rows at once ---- */

/* Enough rows that many are at the same node, and nodes of all kinds: full ones, more children than
 * are compared at once, signposts. */
static void check_batch(limn_context *ctx, const rows *r, const rows *q, const char *text) {
    bf_model *m = train(ctx, r, r->n, text);
    uint64_t ids[60], gone;
    for (uint64_t i = 0; i < 60; i++)
        ids[i] = i * 3;
    assert_int_equal(bf_forget(ctx, m, ids, 60, &gone), LIMN_OK);
    lm_cursor at = lm_cursor_at(NULL);
    size_t most = bf_batch(m), cells = r->task == LIMN_CLASSIFY ? r->classes : 1;
    assert_true(most >= LM_BATCH);
    bf_scratch(m, q->n, 0, &at);
    void *scratch = lm_alloc_measured(&ctx->mem, &at);
    double *one = malloc(q->n * cells * sizeof *one), *all = malloc(q->n * cells * sizeof *all);
    int32_t *class = malloc(q->n * sizeof *class);
    void (*ask)(const void *, const float *, size_t, double *, void *) =
        r->task == LIMN_CLASSIFY ? bf_proba : bf_values;
    for (size_t i = 0; i < q->n; i++)
        ask(m, q->x + i * q->d, 1, one + i * cells, scratch);
    for (size_t n = 15; n <= q->n; n += n < 20 ? 1 : 977) {
        ask(m, q->x, n, all, scratch);
        assert_memory_equal(one, all, n * cells * sizeof *one);
    }
    if (r->task == LIMN_CLASSIFY) {
        bf_predict(m, q->x, q->n, class, scratch);
        for (size_t i = 0; i < q->n; i++)
            assert_int_equal(class[i], class_of(m, q->x + i * q->d, scratch));
    }
    free(one);
    free(all);
    free(class);
    lm_free_aligned(&ctx->mem, scratch);
    bf_destroy(&ctx->mem, m);
}

static void test_many_rows_at_once_get_the_answers_of_single_ones(void **state) {
    static const char *const settings[] = {"trees=12",
                                           "trees=5 children=4 early_stop=0",
                                           "trees=9 children=150 eps=0.01",
                                           "trees=4 children=0 metric=l1",
                                           "trees=9 metric=cosine warmup=100",
                                           "trees=3 metric=caller",
                                           "style=paper trees=9 early_stop=0.2",
                                           "trees=8 order=shuffle store=all"};
    static const size_t widths[] = {1, 7, 20, 64, 70};
    limn_context *ctx = make_context(NULL, 1, 9);
    (void)state;
    for (size_t s = 0; s < LM_COUNT(settings); s++)
        for (size_t w = 0; w < LM_COUNT(widths); w += every(2)) {
            limn_task task = (s + w) % 2 ? LIMN_CLASSIFY : LIMN_REGRESS;
            kind of = (kind)((s + w / 2) % 3);
            rows r = draw_rows(task, of, 900, widths[w], 3, 40, s + w);
            rows q = draw_rows(task, of, 2000, widths[w], 3, 40, s + w + 100);
            check_batch(ctx, &r, &q, settings[s]);
            free_rows(&r);
            free_rows(&q);
        }
    limn_context_free(ctx);
}

/* ---- new classes, limits, metrics ---- */

static void test_new_classes_are_learned(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NORMAL, 200, 3, 6, 7, 1);
    limn_context *ctx = make_context(NULL, 1, 9);
    (void)state;
    for (size_t i = 0; i < 100; i++)
        r.label[i] %= 2;
    r.classes = 2;
    bf_model *m = train(ctx, &r, 100, "trees=5 warmup=50");
    assert_int_equal(bf_widen(ctx, m, 6), LIMN_OK);
    void *scratch = scratch_for(ctx, m);
    for (size_t i = 100; i < 200; i++) {
        learn(ctx, m, &r, i, 1);
        assert_int_equal(class_of(m, r.x + i * r.d, scratch), r.label[i]);
    }
    lm_free_aligned(&ctx->mem, scratch);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static void test_a_lesson_must_go_on_where_the_last_one_ended(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NORMAL, 50, 2, 3, 7, 1);
    limn_context *ctx = make_context(NULL, 1, 9);
    bf_model *m = train(ctx, &r, 40, "trees=3");
    lm_lesson lesson = lesson_of(&r, 41, 5);
    size_t learned = 7;
    (void)state;
    assert_int_equal(bf_learn(ctx, m, &lesson, &learned), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "begins with row 41, but the next row to learn is 40"));
    assert_int_equal(learned, 0);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static void test_too_many_nodes_are_refused_with_a_sentence(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 500, 2, 3, 1000, 1);
    limn_context *ctx = make_context(NULL, 1, 9);
    bf_model *m = train(ctx, &r, 100, "trees=5 warmup=50 refresh=no");
    lm_lesson lesson = lesson_of(&r, 100, 400);
    size_t learned = 0;
    (void)state;
    assert_int_equal(m->node_limit, INT32_MAX);
    m->node_limit = m->nodes + 50;
    assert_int_equal(bf_learn(ctx, m, &lesson, &learned), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(ctx), "nodes"));
    assert_true(learned >= 10 && learned < 400 && m->seen == 100 + learned);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static double manhattan(void *user, const float *a, const float *b, size_t n) {
    double sum = 0;
    ++*(long *)user;
    for (size_t j = 0; j < n; j++)
        sum += fabs((double)a[j] - (double)b[j]);
    return sum;
}

static double senseless(void *user, const float *a, const float *b, size_t n) {
    static const double values[] = {NAN, -1, INFINITY, 1e308, 1, 0};
    (void)user, (void)n;
    return values[(size_t)fabsf(a[0] * 3 + b[0] * 5) % LM_COUNT(values)];
}

static void test_a_callers_metric_is_used_and_its_file_needs_one(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NORMAL, 300, 3, 3, 7, 1);
    long calls = 0;
    limn_context_options options;
    limn_context *ctx = NULL, *without = NULL;
    (void)state;
    limn_context_options_init(&options);
    options.threads = 1;
    assert_int_equal(limn_context_new(&options, &without), LIMN_OK);
    options.metric = manhattan;
    options.user = &calls;
    assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
    bf_model *m = train(ctx, &r, 300, "trees=5 warmup=50 metric=caller"), *none = NULL;
    bf_model *l1 = train(ctx, &r, 300, "trees=5 warmup=50 metric=l1");
    assert_true(calls > 300);
    void *scratch = scratch_for(ctx, m);
    for (size_t i = 0; i < 300; i++) {
        float q[3] = {r.x[i], r.x[299 - i], 0.1f};
        assert_int_equal(class_of(m, q, scratch), class_of(l1, q, scratch));
    }
    assert_int_equal(try_train(without, &r, 300, "metric=caller", &none), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(without), "metric=caller needs a distance function"));
    lm_file *file = NULL;
    bf_model *loaded = reload(ctx, m, &r, "trees=5 warmup=50 metric=caller", &file);
    assert_int_equal(class_of(loaded, r.x, scratch), class_of(m, r.x, scratch));
    bf_destroy(&ctx->mem, loaded);
    lm_file_close(file);
    size_t size;
    unsigned char *bytes = bytes_of(ctx, m, &size);
    assert_int_equal(
        try_load(without, bytes, size, &r, 300, "trees=5 warmup=50 metric=caller", &file, &none),
        LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(without), "metric=caller needs a distance function"));
    lm_file_close(file);
    lm_free(&ctx->mem, bytes);
    lm_free_aligned(&ctx->mem, scratch);
    bf_destroy(&ctx->mem, m);
    bf_destroy(&ctx->mem, l1);
    limn_context_free(ctx);
    options.metric = senseless; /* the model must still answer */
    assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
    m = train(ctx, &r, 300, "trees=5 warmup=50 metric=caller");
    scratch = scratch_for(ctx, m);
    for (size_t i = 0; i < 300; i++) {
        double proba[3];
        bf_proba(m, r.x + i * 3, 1, proba, scratch);
        assert_true(fabs(proba[0] + proba[1] + proba[2] - 1) < 1e-9);
    }
    lm_free_aligned(&ctx->mem, scratch);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    limn_context_free(without);
    free_rows(&r);
}

/* ---- degenerate rows ---- */

static void check_degenerate(limn_context *ctx, const rows *r, const char *text) {
    bf_model *m = train(ctx, r, r->n, text);
    void *scratch = scratch_for(ctx, m);
    for (size_t i = 0; i < r->n; i++) {
        const float *x = r->x + i * r->d;
        if (r->task == LIMN_REGRESS) {
            assert_true(isfinite(value_of(m, x, scratch)));
            continue;
        }
        double proba[8], sum = 0;
        bf_proba(m, x, 1, proba, scratch);
        for (size_t c = 0; c < r->classes; c++)
            sum += proba[c];
        assert_true(fabs(sum - 1) < 1e-9);
    }
    lm_file *file = NULL;
    bf_model *loaded = reload(ctx, m, r, text, &file);
    assert_same_bytes(ctx, m, loaded);
    bf_destroy(&ctx->mem, loaded);
    lm_file_close(file);
    lm_free_aligned(&ctx->mem, scratch);
    bf_destroy(&ctx->mem, m);
}

static void test_degenerate_rows_are_learned(void **state) {
    static const char *const settings[] = {"trees=1 warmup=3 children=2",
                                           "trees=100",
                                           "style=paper",
                                           "style=paper trees=1 children=2",
                                           "metric=cosine trees=3 warmup=10",
                                           "metric=l1 trees=3 warmup=2 rho=0.01"};
    static const double scales[] = {1, 0, 3e38, 1e-38, 1e-45};
    limn_context *ctx = make_context(NULL, 1, 9);
    (void)state;
    for (size_t s = 0; s < LM_COUNT(settings); s++)
        for (size_t n = 1; n <= 41; n += 8)
            for (size_t k = 0; k < LM_COUNT(scales); k++) {
                rows r = draw_rows(n % 16 == 1 ? LIMN_CLASSIFY : LIMN_REGRESS, GRID, n, 1 + s % 2,
                                   k == 0 ? 1 : 3, 3, s);
                for (size_t i = 0; i < n * r.d; i++)
                    r.x[i] = (float)(((double)r.x[i] - 1) * scales[k]);
                for (size_t i = 0; i < n && k == 2; i++)
                    r.target[i] *= 1e307;
                check_degenerate(ctx, &r, settings[s]);
                free_rows(&r);
            }
    limn_context_free(ctx);
}

/* ---- failing allocations, hostile files ---- */

/* A model's life; the caller frees *m in any case. */
static limn_status live(limn_context *ctx, const rows *r, const char *text, bf_model **m,
                        lm_file **file) {
    const uint64_t ids[] = {3, 18, 21, 22};
    uint64_t gone;
    size_t learned = 0, size;
    unsigned char *bytes = NULL;
    lm_writer *writer = NULL;
    limn_status status = try_train(ctx, r, 20, text, m);
    if (status == LIMN_OK)
        status = lm_writer_new(ctx, &writer);
    if (status == LIMN_OK)
        status = bf_save(ctx, *m, writer);
    if (status == LIMN_OK)
        status = lm_writer_bytes(writer, &bytes, &size);
    lm_writer_free(writer);
    bf_destroy(&ctx->mem, *m);
    *m = NULL;
    if (status == LIMN_OK)
        status = try_load(ctx, bytes, size, r, 20, text, file, m);
    lm_free(&ctx->mem, bytes);
    lm_lesson lesson = lesson_of(r, 20, 20);
    if (status == LIMN_OK) {
        status = bf_learn(ctx, *m, &lesson, &learned);
        assert_int_equal((*m)->seen, 20 + learned);
    }
    if (status == LIMN_OK)
        status = bf_forget(ctx, *m, ids, 4, &gone);
    return status == LIMN_OK ? bf_compact(ctx, *m) : status;
}

static void fail_allocations(const char *text) {
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 60, 2, 3, 9, 1);
    size_t failures = 0;
    for (unsigned at = 1;; at++) {
        counting count = {0};
        limn_context *ctx = counting_context(&count);
        bf_model *m = NULL;
        lm_file *file = NULL;
        count.fail_at = at;
        limn_status status = live(ctx, &r, text, &m, &file);
        count.fail_at = 0;
        if (m) { /* it answers, learns and can be saved */
            void *scratch = scratch_for(ctx, m);
            class_of(m, r.x, scratch);
            size_t seen = (size_t)m->seen;
            learn(ctx, m, &r, seen, r.n - seen);
            assert_int_equal(class_of(m, r.x + (r.n - 1) * r.d, scratch), r.label[r.n - 1]);
            lm_free_aligned(&ctx->mem, scratch);
            lm_file *again = NULL;
            bf_destroy(&ctx->mem, reload(ctx, m, &r, text, &again));
            lm_file_close(again);
        }
        bf_destroy(&ctx->mem, m);
        lm_file_close(file);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
        if (status == LIMN_OK)
            break;
        assert_int_equal(status, LIMN_E_MEMORY);
        failures++;
    }
    assert_true(failures > 50);
    free_rows(&r);
}

/* Counters that could overflow are refused; the largest that can be opened can be used. */
static void test_counters_near_the_limit_are_refused(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 300, 2, 3, 30, 1);
    limn_context *ctx = make_context(NULL, 1, 9);
    bf_model *m = train(ctx, &r, 290, "trees=4 warmup=20"), *none;
    assert_true(m->growing.on);
    uint64_t *const counters[] = {&m->seen,          &m->built,         &m->spent,
                                  &m->tree[2].epoch, &m->growing.start, &m->growing.quota};
    static const uint64_t values[] = {BF_COUNT_LIMIT + 1, (uint64_t)INT64_MAX - 1, INT64_MAX};
    (void)state;
    for (size_t c = 0; c < LM_COUNT(counters); c++)
        for (size_t v = 0; v < LM_COUNT(values); v++) {
            uint64_t before = *counters[c];
            size_t size;
            lm_file *file = NULL;
            *counters[c] = values[v];
            unsigned char *bytes = bytes_of(ctx, m, &size);
            assert_int_equal(
                try_load(ctx, bytes, size, &r, m->seen, "trees=4 warmup=20", &file, &none),
                LIMN_E_MODEL);
            lm_file_close(file);
            lm_free(&ctx->mem, bytes);
            *counters[c] = before;
        }
    m->seen = BF_COUNT_LIMIT - 2;
    lm_file *file = NULL;
    bf_model *last = reload(ctx, m, &r, "trees=4 warmup=20", &file);
    lm_lesson lesson = lesson_of(&r, 290, 3);
    size_t learned = 7;
    lesson.first = last->seen;
    assert_int_equal(bf_learn(ctx, last, &lesson, &learned), LIMN_E_USAGE);
    assert_int_equal(learned, 0);
    lesson.n = 2;
    assert_int_equal(bf_learn(ctx, last, &lesson, &learned), LIMN_OK);
    lm_file *again = NULL;
    bf_destroy(&ctx->mem, reload(ctx, last, &r, "trees=4 warmup=20", &again));
    lm_file_close(again);
    bf_destroy(&ctx->mem, last);
    lm_file_close(file);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static void test_a_failing_allocation_leaves_a_valid_model(void **state) {
    (void)state;
    fail_allocations("trees=3 warmup=12 rho=0.8");
    fail_allocations("trees=3 warmup=12 rho=0.8 order=shuffle");
    fail_allocations("trees=2 warmup=12 order=shuffle store=all");
}

/* No forest that learned holds two equal rows without store=all, but a file may. */
static void test_equal_rows_in_a_file_do_no_harm(void **state) {
    static const char text[] = "trees=4 warmup=20";
    rows r = draw_rows(LIMN_CLASSIFY, NORMAL, 100, 2, 3, 30, 1);
    limn_context *ctx = make_context(NULL, 1, 9);
    bf_model *m = train(ctx, &r, 90, text);
    lm_file *file = NULL;
    (void)state;
    for (size_t i = 1; i < 6; i++)
        memcpy(m->store.x + i * m->store.stride, m->store.x, m->store.stride * sizeof(float));
    bf_model *loaded = reload(ctx, m, &r, text, &file);
    for (size_t i = 0; i < 6; i++) {
        uint64_t gone, id = m->store.id[i];
        assert_int_equal(bf_forget(ctx, loaded, &id, 1, &gone), LIMN_OK);
        assert_int_equal(gone, 1);
    }
    learn(ctx, loaded, &r, 90, 10);
    assert_int_equal(bf_compact(ctx, loaded), LIMN_OK);
    bf_destroy(&ctx->mem, loaded);
    lm_file_close(file);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static void test_damaged_files_with_right_checksums_do_no_harm(void **state) {
    static const char *const settings[] = {"trees=4 warmup=20", "style=paper trees=4",
                                           "trees=3 warmup=100 metric=cosine"};
    size_t refused = 0, opened = 0;
    (void)state;
    for (size_t s = 0; s < LM_COUNT(settings); s++) {
        rows r = draw_rows(LIMN_CLASSIFY, NOISE, 60, 2, 3, 30, s);
        limn_context *ctx = make_context(NULL, 1, 9);
        bf_model *m = train(ctx, &r, 50, settings[s]);
        const uint64_t ids[] = {3, 20, 33, 45, 46};
        uint64_t gone;
        size_t size;
        assert_int_equal(bf_forget(ctx, m, ids, 5, &gone), LIMN_OK);
        unsigned char *bytes = bytes_of(ctx, m, &size), *copy = malloc(size);
        lm_rng rng = lm_rng_at(s, 93, 0);
        for (int round = 0; round < 4000; round++) {
            memcpy(copy, bytes, size);
            for (uint64_t n = 1 + lm_rng_below(&rng, 3); n; n--)
                copy[lm_rng_below(&rng, size)] =
                    (unsigned char)(lm_rng_below(&rng, 3) ? lm_rng_below(&rng, 8)
                                                          : lm_rng_next(&rng));
            reseal(copy, size);
            lm_file *file = NULL;
            bf_model *loaded = NULL;
            limn_status status = try_load(ctx, copy, size, &r, 50, settings[s], &file, &loaded);
            assert_true(status == LIMN_OK || status == LIMN_E_MODEL || status == LIMN_E_MEMORY);
            refused += !loaded;
            opened += loaded != NULL;
            if (loaded) { /* it answers and learns */
                void *scratch = scratch_for(ctx, loaded);
                size_t learned;
                lm_lesson lesson = lesson_of(&r, 50, 10);
                lesson.first = loaded->seen;
                assert_in_range(class_of(loaded, r.x, scratch), 0, 2);
                assert_int_equal(bf_learn(ctx, loaded, &lesson, &learned), LIMN_OK);
                lm_free_aligned(&ctx->mem, scratch);
            }
            bf_destroy(&ctx->mem, loaded);
            lm_file_close(file);
        }
        free(copy);
        lm_free(&ctx->mem, bytes);
        bf_destroy(&ctx->mem, m);
        limn_context_free(ctx);
        free_rows(&r);
    }
    assert_true(refused > 1000 && opened > 100); /* both sides were tried */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_forgotten_row_never_comes_back),
        cmocka_unit_test(test_a_view_with_a_growing_tree_is_compacted),
        cmocka_unit_test(test_a_model_that_forgot_everything_learns_again),
        cmocka_unit_test(test_max_points_bounds_points_and_nodes),
        cmocka_unit_test(test_many_rows_at_once_get_the_answers_of_single_ones),
        cmocka_unit_test(test_new_classes_are_learned),
        cmocka_unit_test(test_a_lesson_must_go_on_where_the_last_one_ended),
        cmocka_unit_test(test_too_many_nodes_are_refused_with_a_sentence),
        cmocka_unit_test(test_a_callers_metric_is_used_and_its_file_needs_one),
        cmocka_unit_test(test_degenerate_rows_are_learned),
        cmocka_unit_test(test_a_failing_allocation_leaves_a_valid_model),
        cmocka_unit_test(test_equal_rows_in_a_file_do_no_harm),
        cmocka_unit_test(test_counters_near_the_limit_are_refused),
        cmocka_unit_test(test_damaged_files_with_right_checksums_do_no_harm),
    };
    return cmocka_run_group_tests_name("life of bforest", tests, NULL, NULL);
}
