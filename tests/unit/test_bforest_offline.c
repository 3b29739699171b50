/* The forest of a set of rows (order=shuffle, compacting) against its definition (bforest_slow.h),
 * and what it promises: the order of a file does not matter, threads change nothing, and what was
 * forgotten leaves no trace. */
#include "bforest_slow.h"

#include <malloc.h>

/* ---- against the definition ---- */

/* Trees, points in the order of their ids, eps. */
static void compare(const bf_model *m, const slow_forest *f) {
    size_t slot = 0;
    for (size_t t = 0; t < m->trees; t++) {
        slow_compare(m, f, &m->tree[t], &f->tree[t]);
        assert_true(m->tree[t].epoch == f->tree[t].epoch && m->tree[t].step == f->tree[t].step);
    }
    for (int i = 0; i < f->points; i++)
        if (f->point[i].live) {
            assert_true(slot < m->store.slots && m->store.id[slot] == f->point[i].id);
            slot++;
        }
    assert_int_equal(m->store.slots, slot);
    assert_int_equal(m->store.live, slot);
    assert_true(m->built == f->built && m->seen == f->seen);
    assert_true(fabs(m->eps - f->eps) <= 1e-9 * f->eps);
}

static const char *const shuffled[] = {"order=shuffle trees=9 warmup=40",
                                       "order=shuffle trees=4 warmup=500",
                                       "order=shuffle trees=5 rho=0.02 warmup=1",
                                       "order=shuffle trees=6 warmup=40 children=2 metric=l1",
                                       "order=shuffle trees=5 warmup=20 store=all",
                                       "order=shuffle style=paper trees=7",
                                       "order=shuffle style=paper trees=4 store=all refresh=yes",
                                       "order=shuffle trees=5 eps=0.5 refresh=no warmup=10"};

/* Trains, then goes on learning, forgets and compacts, always beside the slow forest. */
static void follow(const rows *r, const char *text, uint64_t seed) {
    limn_context *ctx = make_context(NULL, 1 + (int)(seed % 2), seed);
    size_t first = r->n * 3 / 4;
    bf_model *m = train(ctx, r, first, text);
    slow_forest f = slow_begin(m);
    slow_train(&f, r->x, r->label, r->target, first);
    compare(m, &f);
    for (size_t i = first; i < r->n; i++) {
        uint64_t gone, id = i * 7 % r->n;
        learn(ctx, m, r, i, 1);
        slow_learn(&f, r->x + i * r->d, r->label[i], r->target[i]);
        if (i % 3 == 0) {
            assert_int_equal(bf_forget(ctx, m, &id, 1, &gone), LIMN_OK);
            slow_forget(&f, id);
        }
    }
    assert_int_equal(bf_compact(ctx, m), LIMN_OK);
    for (int i = 1; i < f.points; i++) /* by their ids: renewed ones have moved */
        for (int k = i; k > 0 && f.point[k - 1].id > f.point[k].id; k--) {
            slow_point swap = f.point[k];
            f.point[k] = f.point[k - 1];
            f.point[k - 1] = swap;
        }
    slow_offline(&f, true);
    compare(m, &f);
    slow_end(&f);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
}

static void test_shuffled_training_and_compacting_follow_their_definition(void **state) {
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS};
    (void)state;
    for (size_t s = 0; s < LM_COUNT(shuffled); s++)
        for (uint64_t seed = 1; seed <= 6; seed++)
            for (int task = 0; task < 2; task++) {
                rows r = draw_rows(tasks[task], (kind)(seed % 3), 160, 1 + seed % 3, 2 + seed % 3,
                                   6, seed);
                follow(&r, shuffled[s], seed);
                free_rows(&r);
            }
}

static void test_an_index_is_shuffled_to_each_place_once(void **state) {
    bf_model m = {.seed = 3};
    (void)state;
    for (size_t n = 1; n < 3000; n += n < 80 ? 1 : 397) {
        bool *seen = calloc(n, sizeof *seen);
        for (size_t i = 0; i < n; i++) {
            size_t at = bf_shuffled(&m, n % 7, n % 3, i, n);
            assert_true(at < n && !seen[at]);
            seen[at] = true;
        }
        free(seen);
    }
}

/* ---- promises ---- */

/* Rows of classes that overlap a little. */
static rows draw_classes(size_t n, size_t d, size_t classes, uint64_t seed) {
    rows r = draw_rows(LIMN_CLASSIFY, NORMAL, n, d, classes, 0, seed);
    for (size_t i = 0; i < n; i++) {
        r.label[i] = (int32_t)(i * 7 % n % classes);
        for (size_t j = 0; j < d; j++)
            r.x[i * d + j] += 3 * (float)((size_t)r.label[i] == j % classes);
    }
    return r;
}

static void sort_by_class(rows *r) {
    size_t at = 0;
    float *x = malloc(r->n * r->d * sizeof *x);
    int32_t *label = malloc(r->n * sizeof *label);
    for (size_t c = 0; c < r->classes; c++)
        for (size_t i = 0; i < r->n; i++)
            if (r->label[i] == (int32_t)c) {
                memcpy(x + at * r->d, r->x + i * r->d, r->d * sizeof *x);
                label[at++] = (int32_t)c;
            }
    free(r->x);
    free(r->label);
    r->x = x;
    r->label = label;
}

/* In percent. */
static double error_of(limn_context *ctx, const bf_model *m, const rows *q) {
    void *scratch = scratch_for(ctx, m);
    size_t wrong = 0;
    for (size_t i = 0; i < q->n; i++)
        wrong += class_of(m, q->x + i * q->d, scratch) != q->label[i];
    lm_free_aligned(&ctx->mem, scratch);
    return 100 * (double)wrong / (double)q->n;
}

static void test_a_file_sorted_by_class_is_learned_as_well_as_a_shuffled_one(void **state) {
    rows r = draw_classes(4000, 6, 3, 1), q = draw_classes(3000, 6, 3, 2);
    limn_context *ctx = make_context(NULL, 2, 5);
    double error[3];
    (void)state;
    for (int sorted = 0; sorted < 2; sorted++) {
        bf_model *m = train(ctx, &r, r.n, "order=auto trees=20");
        error[sorted] = error_of(ctx, m, &q);
        bf_destroy(&ctx->mem, m);
        if (!sorted)
            sort_by_class(&r);
    }
    bf_model *m = train(ctx, &r, r.n, "order=file trees=20");
    error[2] = error_of(ctx, m, &q);
    bf_destroy(&ctx->mem, m);
    assert_true(fabs(error[1] - error[0]) < 1);
    assert_true(error[2] > error[1] + 1); /* in the order of the file it is worse */
    limn_context_free(ctx);
    free_rows(&r);
    free_rows(&q);
}

static void test_threads_do_not_change_the_forest(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(shuffled); s++) {
        rows r = draw_rows(LIMN_CLASSIFY, s % 2 ? GRID : NOISE, 500, 3, 3, 9, s);
        limn_context *one = make_context(NULL, 1, 3), *three = make_context(NULL, 3, 3);
        bf_model *a = train(one, &r, r.n, shuffled[s]), *b = train(three, &r, r.n, shuffled[s]);
        assert_same_bytes(one, a, b);
        bf_destroy(&one->mem, a);
        bf_destroy(&three->mem, b);
        limn_context_free(one);
        limn_context_free(three);
        free_rows(&r);
    }
}

/* For regression the default eps depends on all rows, so that it is given here. */
static void test_compacting_a_model_just_trained_changes_nothing(void **state) {
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS};
    limn_context *ctx = make_context(NULL, 2, 4);
    (void)state;
    for (size_t s = 0; s < LM_COUNT(shuffled); s++)
        for (int task = 0; task < 2; task++) {
            char text[160];
            snprintf(text, sizeof text, "eps=0.7 %s", shuffled[s]);
            rows r = draw_rows(tasks[task], s % 2 ? GRID : NORMAL, 400, 3, 3, 9, s);
            bf_model *m = train(ctx, &r, r.n, text), *same = train(ctx, &r, r.n, text);
            assert_int_equal(bf_compact(ctx, m), LIMN_OK);
            assert_same_bytes(ctx, m, same);
            lm_file *file = NULL;
            bf_model *opened = reload(ctx, m, &r, text, &file); /* a view of the file */
            assert_int_equal(bf_compact(ctx, opened), LIMN_OK);
            assert_same_bytes(ctx, opened, same);
            bf_destroy(&ctx->mem, m);
            bf_destroy(&ctx->mem, same);
            bf_destroy(&ctx->mem, opened);
            lm_file_close(file);
            free_rows(&r);
        }
    limn_context_free(ctx);
}

/* What training on the rows except some of them gives, their numbers kept. */
static bf_model *train_without(limn_context *ctx, const rows *r, const char *text,
                               const bool *gone) {
    bf_model *m = train(ctx, r, 0, text);
    uint32_t *list = malloc(r->n * sizeof *list);
    bf_rows some = {.x = r->x,
                    .stride = r->d,
                    .label = r->task == LIMN_CLASSIFY ? r->label : NULL,
                    .value = r->task == LIMN_REGRESS ? r->target : NULL,
                    .list = list};
    for (size_t i = 0; i < r->n; i++)
        if (!gone[i])
            list[some.count++] = (uint32_t)i;
    m->seen = r->n;
    assert_int_equal(bf_offline(ctx, m, &some, true), LIMN_OK);
    free(list);
    return m;
}

/* Rows that come in lessons, in order, shuffled, through a file; forgotten in between. */
static bf_model *live(limn_context *ctx, const rows *r, const char *text, uint64_t seed,
                      const bool *gone) {
    lm_rng rng = lm_rng_at(seed, 94, 0);
    size_t done = lm_rng_below(&rng, r->n);
    bf_model *m = train(ctx, r, done, text);
    while (done < r->n) {
        size_t n = 1 + lm_rng_below(&rng, r->n - done);
        learn(ctx, m, r, done, n);
        done += n;
        for (size_t i = 0; i < done; i++) {
            uint64_t id = i, count;
            if (gone[i] && (done == r->n || lm_rng_below(&rng, 2)))
                assert_int_equal(bf_forget(ctx, m, &id, 1, &count), LIMN_OK);
        }
        if (lm_rng_below(&rng, 4) == 0)
            assert_int_equal(bf_compact(ctx, m), LIMN_OK);
    }
    assert_int_equal(bf_compact(ctx, m), LIMN_OK);
    return m;
}

static void test_with_store_all_forgetting_equals_never_having_seen(void **state) {
    static const char *const settings[] = {"order=shuffle store=all trees=4 warmup=20",
                                           "order=file store=all trees=3 warmup=30",
                                           "order=file store=all style=paper trees=3 refresh=yes",
                                           "order=shuffle store=all trees=3 metric=cosine"};
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS};
    size_t forgotten = 0;
    (void)state;
    for (uint64_t seed = 0; forgotten < 1000; seed++) {
        const char *text = settings[seed % LM_COUNT(settings)];
        rows r = draw_rows(tasks[seed / 4 % 2], (kind)(seed % 3), 150, 2, 3, 7, seed);
        limn_context *ctx = make_context(NULL, 1 + (int)(seed % 3), seed);
        lm_rng rng = lm_rng_at(seed, 95, 0);
        bool gone[150];
        for (size_t i = 0; i < r.n; i++) {
            gone[i] = lm_rng_below(&rng, 4) == 0;
            forgotten += gone[i];
        }
        bf_model *m = live(ctx, &r, text, seed, gone);
        bf_model *never = train_without(ctx, &r, text, gone);
        assert_same_bytes(ctx, m, never);
        bf_destroy(&ctx->mem, m);
        bf_destroy(&ctx->mem, never);
        limn_context_free(ctx);
        free_rows(&r);
    }
}

/* Both hold the same rows in the end: one has seen some of them twice in between, with other
 * labels, and has forgotten others. */
static void test_two_histories_with_the_same_rows_give_the_same_bytes(void **state) {
    limn_context *ctx = make_context(NULL, 2, 8);
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        rows r = draw_rows(LIMN_CLASSIFY, NOISE, 300, 3, 3, 1000, s), other = r;
        other.label = malloc(r.n * sizeof *other.label);
        for (size_t i = 0; i < r.n; i++)
            other.label[i] = i < 200 ? (r.label[i] + 1) % 3 : r.label[i];
        bf_model *a = train(ctx, &r, r.n, usual[s]), *b = train(ctx, &other, r.n, usual[s]);
        bf_model *both[] = {a, b};
        /* Rows 0..199 go; of the others those stay that both have stored. */
        for (int k = 0; k < 2; k++)
            for (uint64_t id = 0; id < r.n; id++) {
                bool held[2] = {false, false};
                uint64_t gone;
                for (int i = 0; i < 2; i++)
                    for (size_t slot = 0; slot < both[i]->store.slots; slot++)
                        held[i] |=
                            both[i]->store.state[slot] == BF_LIVE && both[i]->store.id[slot] == id;
                if (id < 200 || held[0] != held[1])
                    assert_int_equal(bf_forget(ctx, both[k], &id, 1, &gone), LIMN_OK);
            }
        assert_true(a->store.live > 10);
        assert_int_equal(bf_compact(ctx, a), LIMN_OK);
        assert_int_equal(bf_compact(ctx, b), LIMN_OK);
        assert_same_bytes(ctx, a, b);
        bf_destroy(&ctx->mem, a);
        bf_destroy(&ctx->mem, b);
        free(other.label);
        free_rows(&r);
    }
    limn_context_free(ctx);
}

static void test_of_equal_rows_the_last_counts(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, GRID, 600, 2, 3, 5, 1); /* 25 different rows */
    limn_context *ctx = make_context(NULL, 1, 4);
    (void)state;
    for (int all = 0; all < 2; all++) {
        bf_model *m = train(ctx, &r, r.n, all ? "order=shuffle store=all" : "order=shuffle");
        void *scratch = scratch_for(ctx, m);
        assert_int_equal(m->store.live, all ? 600 : 25);
        for (size_t i = 0; i < r.n; i++) {
            bool last = true;
            for (size_t k = i + 1; k < r.n && last; k++)
                last = memcmp(r.x + i * 2, r.x + k * 2, 2 * sizeof *r.x) != 0;
            if (last)
                assert_int_equal(class_of(m, r.x + i * 2, scratch), r.label[i]);
        }
        lm_free_aligned(&ctx->mem, scratch);
        bf_destroy(&ctx->mem, m);
    }
    limn_context_free(ctx);
    free_rows(&r);
}

static void test_max_points_goes_with_the_order_of_the_file(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NORMAL, 100, 2, 3, 7, 1);
    limn_context *ctx = make_context(NULL, 1, 4);
    bf_model *m;
    (void)state;
    assert_int_equal(try_train(ctx, &r, r.n, "order=shuffle max_points=50", &m), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(ctx), "use order=file"));
    m = train(ctx, &r, r.n, "order=auto max_points=50 trees=3");
    assert_true(m->store.live <= 50);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static void test_too_many_nodes_are_refused_and_change_nothing(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 300, 2, 3, 1000, 1);
    limn_context *ctx = make_context(NULL, 1, 9);
    bf_model *m = train(ctx, &r, r.n, "order=shuffle trees=5 store=all"), *same;
    (void)state;
    same = train(ctx, &r, r.n, "order=shuffle trees=5 store=all");
    m->node_limit = m->nodes - 1;
    assert_int_equal(bf_compact(ctx, m), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(ctx), "nodes"));
    assert_same_bytes(ctx, m, same);
    bf_destroy(&ctx->mem, m);
    bf_destroy(&ctx->mem, same);
    limn_context_free(ctx);
    free_rows(&r);
}

static int cancel_at(void *user, const limn_progress *progress) {
    (void)progress;
    return --*(int *)user < 0;
}

static void test_training_can_be_cancelled(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 3000, 2, 3, 1000, 1);
    int calls = 0;
    limn_context_options options;
    limn_context *ctx = NULL;
    bf_model *m = NULL;
    (void)state;
    limn_context_options_init(&options);
    options.threads = 2;
    options.progress = cancel_at;
    options.user = &calls;
    assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
    assert_int_equal(try_train(ctx, &r, r.n, "order=shuffle", &m), LIMN_E_CANCELLED);
    assert_null(m);
    limn_context_free(ctx);
    free_rows(&r);
}

/* ---- memory ---- */

/* What has been allocated, now and at most, in bytes that malloc has set aside. */
typedef struct gauge {
    size_t now, most;
} gauge;

static void gauge_add(gauge *g, void *block, size_t before) {
    g->now += block ? malloc_usable_size(block) - before : 0;
    g->most = g->now > g->most ? g->now : g->most;
}

static void *gauge_allocate(void *user, size_t size) {
    void *block = malloc(size);
    gauge_add(user, block, 0);
    return block;
}

static void *gauge_resize(void *user, void *block, size_t size) {
    size_t before = block ? malloc_usable_size(block) : 0;
    void *moved = realloc(block, size);
    gauge_add(user, moved, before);
    return moved;
}

static void gauge_release(void *user, void *block) {
    ((gauge *)user)->now -= malloc_usable_size(block);
    free(block);
}

/* Random labels: the largest model. */
static void test_training_takes_less_than_twice_the_model_and_the_data(void **state) {
    static const char *const settings[] = {"order=shuffle trees=50", "order=file trees=50"};
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 20000, 20, 2, 1000, 1);
    (void)state;
    for (size_t s = 0; s < LM_COUNT(settings); s++) {
        gauge g = {0};
        limn_context_options options;
        limn_context *ctx = NULL;
        size_t size;
        limn_context_options_init(&options);
        options.threads = 1;
        options.allocator = (limn_allocator){gauge_allocate, gauge_resize, gauge_release, &g};
        assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
        bf_model *m = train(ctx, &r, r.n, settings[s]);
        size_t most = g.most;
        lm_free(&ctx->mem, bytes_of(ctx, m, &size));
        if (most > 2 * size + r.n * r.d * sizeof *r.x)
            fail_msg("%s: %zu bytes for a model of %zu", settings[s], most, size);
        bf_destroy(&ctx->mem, m);
        limn_context_free(ctx);
        assert_int_equal(g.now, 0);
    }
    free_rows(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffled_training_and_compacting_follow_their_definition),
        cmocka_unit_test(test_an_index_is_shuffled_to_each_place_once),
        cmocka_unit_test(test_a_file_sorted_by_class_is_learned_as_well_as_a_shuffled_one),
        cmocka_unit_test(test_threads_do_not_change_the_forest),
        cmocka_unit_test(test_compacting_a_model_just_trained_changes_nothing),
        cmocka_unit_test(test_with_store_all_forgetting_equals_never_having_seen),
        cmocka_unit_test(test_two_histories_with_the_same_rows_give_the_same_bytes),
        cmocka_unit_test(test_of_equal_rows_the_last_counts),
        cmocka_unit_test(test_max_points_goes_with_the_order_of_the_file),
        cmocka_unit_test(test_too_many_nodes_are_refused_and_change_nothing),
        cmocka_unit_test(test_training_can_be_cancelled),
        cmocka_unit_test(test_training_takes_less_than_twice_the_model_and_the_data),
    };
    return cmocka_run_group_tests_name("the forest of a set of rows", tests, NULL, NULL);
}
