/* The boundary forest against its definition (bforest_slow.h), and what must hold for any
 * definition: a row that was just learned is answered correctly; lessons, threads, saving and
 * loading change nothing. */
#include "bforest_slow.h"

/* ---- against the definition ---- */

static void compare_trees(const bf_model *m, const slow_forest *f) {
    for (size_t t = 0; t < m->trees; t++) {
        slow_compare(m, f, &m->tree[t], &f->tree[t]);
        assert_true(m->tree[t].epoch == f->tree[t].epoch && m->tree[t].step == f->tree[t].step);
    }
    slow_compare(m, f, &m->growing.tree, &f->growing.tree);
    assert_true(m->growing.on == f->growing.on && m->growing.done == f->growing.done);
    size_t live = 0;
    for (int i = 0; i < f->points; i++)
        live += f->point[i].live;
    assert_int_equal(m->store.live, live);
    assert_true(fabs(m->eps - f->eps) <= 1e-9 * f->eps);
}

static void compare_answers(const bf_model *m, const slow_forest *f, const float *x,
                            void *scratch) {
    slow_answer a = slow_ask(f, x);
    if (f->regress) {
        double value = value_of(m, x, scratch), expected = a.voters ? a.values / a.sum : 0;
        if (fabs(value - expected) > 1e-9 * (1 + fabs(expected)))
            fail_msg("%.17g instead of %.17g", value, expected);
        return;
    }
    double proba[16], sum = 0;
    int32_t class = slow_class(f, &a);
    bf_proba(m, x, 1, proba, scratch);
    for (size_t c = 0; c < m->classes; c++) {
        double expected = a.voters ? a.votes[c] / a.sum : 1 / (double)m->classes;
        assert_true(fabs(proba[c] - expected) < 1e-12);
        sum += proba[c];
    }
    assert_true(fabs(sum - 1) < 1e-12);
    /* Sums in another order may break ties differently. */
    int32_t got = class_of(m, x, scratch);
    assert_true(got == (class < 0 ? 0 : class) || fabs(a.votes[got] - a.votes[class]) < 1e-12);
}

/* Learns r row by row alongside the slow forest. forget: sometimes a row is forgotten. */
static void follow(const rows *r, const char *text, uint64_t seed, bool forget) {
    limn_context *ctx = make_context(NULL, 1, seed);
    bf_model *m = train(ctx, r, 0, text);
    slow_forest f = slow_begin(m);
    void *scratch = scratch_for(ctx, m);
    lm_rng rng = lm_rng_at(seed, 92, 0);
    for (size_t i = 0; i < r->n; i++) {
        const float *x = r->x + i * r->d;
        lm_lesson lesson = lesson_of(r, i, 1);
        size_t learned;
        slow_answer before = slow_ask(&f, x);
        int32_t class = -7;
        double value = -7;
        *(r->task == LIMN_CLASSIFY ? (void **)&lesson.answer_class
                                   : (void **)&lesson.answer_value) =
            r->task == LIMN_CLASSIFY ? (void *)&class : (void *)&value;
        assert_int_equal(bf_learn(ctx, m, &lesson, &learned), LIMN_OK);
        if (r->task == LIMN_CLASSIFY)
            assert_true(class == slow_class(&f, &before) ||
                        fabs(before.votes[class] - before.votes[slow_class(&f, &before)]) < 1e-12);
        else
            assert_true(before.voters ? fabs(value - before.values / before.sum) < 1e-9
                                      : isnan(value));
        slow_learn(&f, x, r->label[i], r->target[i]);
        if (forget && i % 7 == 3) {
            uint64_t gone, id = lm_rng_below(&rng, i + 2);
            assert_int_equal(bf_forget(ctx, m, &id, 1, &gone), LIMN_OK);
            slow_forget(&f, id);
        }
        if (i % 10 == 0 || i + 1 == r->n)
            compare_trees(m, &f);
        if (i % 20 == 0 || i + 1 == r->n)
            for (size_t k = 0; k < 12; k++) {
                float q[8];
                for (size_t j = 0; j < r->d; j++)
                    q[j] = (float)(lm_rng_below(&rng, 14)) * 0.5f - 1;
                compare_answers(m, &f, k % 2 ? r->x + lm_rng_below(&rng, r->n) * r->d : q, scratch);
            }
    }
    slow_end(&f);
    lm_free_aligned(&ctx->mem, scratch);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
}

static void follow_all(const char *const *settings, size_t count, bool forget) {
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS};
    for (size_t s = 0; s < count; s++)
        for (uint64_t seed = 1; seed <= 6; seed++)
            for (int task = 0; task < 2; task++) {
                kind of = (kind)(seed % 3);
                rows r = draw_rows(tasks[task], of, 260, 1 + seed % 3, 2 + seed % 3, 6, seed);
                follow(&r, settings[s], seed, forget);
                free_rows(&r);
            }
}

static void test_the_papers_forest_has_the_trees_and_answers_of_its_definition(void **state) {
    static const char *const settings[] = {"style=paper trees=5",
                                           "style=paper trees=1",
                                           "style=paper trees=9 children=2",
                                           "style=paper trees=4 metric=l1 children=0",
                                           "style=paper trees=3 eps=0.5 children=5",
                                           "style=paper trees=10 early_stop=0.5"};
    (void)state;
    follow_all(settings, LM_COUNT(settings), false);
}

static void test_the_default_forest_has_the_trees_and_answers_of_its_definition(void **state) {
    static const char *const settings[] = {"trees=9 warmup=40",
                                           "trees=4 warmup=1 rho=0.3",
                                           "trees=17 warmup=100 early_stop=0.2 children=3",
                                           "trees=2 warmup=300 metric=l1",
                                           "trees=5 warmup=60 refresh=no eps=0.3",
                                           "trees=3 warmup=20 max_points=25",
                                           "trees=120 warmup=1 rho=0.2",
                                           "trees=6 warmup=50 store=all",
                                           "trees=5 warmup=10 store=all rho=0.4 refresh=no",
                                           "style=paper trees=3 store=all",
                                           "style=paper trees=4 rho=0.5 refresh=yes",
                                           "style=paper trees=5 max_points=30"};
    (void)state;
    follow_all(settings, LM_COUNT(settings), false);
}

static void test_forgetting_follows_its_definition(void **state) {
    static const char *const settings[] = {"trees=9 warmup=40",
                                           "trees=3 warmup=400",
                                           "style=paper trees=5",
                                           "trees=4 warmup=30 max_points=20",
                                           "trees=6 warmup=20 refresh=no rho=0.4",
                                           "trees=4 warmup=30 store=all"};
    (void)state;
    follow_all(settings, LM_COUNT(settings), true);
}

/* ---- one-shot ---- */

static void assert_learned_at_once(const rows *r, const char *text, uint64_t seed) {
    limn_context *ctx = make_context(NULL, 1, seed);
    bf_model *m = train(ctx, r, 0, text);
    void *scratch = scratch_for(ctx, m);
    for (size_t i = 0; i < r->n; i++) {
        const float *x = r->x + i * r->d;
        learn(ctx, m, r, i, 1);
        if (r->task == LIMN_CLASSIFY ? class_of(m, x, scratch) != r->label[i]
                                     : fabs(value_of(m, x, scratch) - r->target[i]) >
                                           m->eps + 1e-9 * (1 + fabs(r->target[i])))
            fail_msg("%s: row %zu is not answered", text, i);
    }
    lm_free_aligned(&ctx->mem, scratch);
    bf_destroy(&ctx->mem, m);
    limn_context_free(ctx);
}

static void test_a_row_is_answered_as_soon_as_it_is_learned(void **state) {
    static const char *const settings[] = {
        "trees=10 rho=0.5 warmup=50",
        "trees=10 rho=0.1 warmup=50",
        "trees=7 rho=1 warmup=200 children=3",
        "trees=12",
        "trees=3 rho=0.7 warmup=1 refresh=no",
        "trees=5 max_points=40 warmup=10 rho=0.5",
        "trees=6 metric=cosine warmup=64",
        "trees=6 metric=caller warmup=64",
        "style=paper trees=7",
        "style=paper trees=5 rho=0.3",
        "style=paper trees=5 refresh=yes children=4",
        "style=paper trees=4 max_points=50",
        "style=paper trees=4 metric=cosine",
    };
    (void)state;
    for (size_t s = 0; s < LM_COUNT(settings); s += every(4)) {
        rows r = draw_rows(LIMN_CLASSIFY, s % 2 ? NOISE : GRID, 7000, 2, 4, 25, s);
        assert_learned_at_once(&r, settings[s], 5 + s);
        free_rows(&r);
        r = draw_rows(LIMN_REGRESS, s % 3 == 0 ? NORMAL : GRID, 2000, 2, 4, 25, s);
        assert_learned_at_once(&r, settings[s], 50 + s);
        free_rows(&r);
    }
}

/* ---- lessons, threads, files ---- */

static void test_training_on_all_equals_training_on_some_and_learning_the_rest(void **state) {
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS};
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++)
        for (int task = 0; task < 2; task++)
            for (int threads = 1; threads <= 3; threads++) {
                rows r = draw_rows(tasks[task], GRID, 400, 3, 3, 7, s);
                limn_context *ctx = make_context(NULL, 1, 3),
                             *other = make_context(NULL, threads, 3);
                bf_model *whole = train(ctx, &r, r.n, usual[s]);
                static const size_t cuts[] = {1, 37, 200, 400};
                bf_model *m = train(other, &r, cuts[0], usual[s]);
                lm_file *file = NULL;
                for (size_t c = 1; c < LM_COUNT(cuts); c++) { /* through a file in between */
                    lm_file *last = file;
                    bf_model *loaded = reload(other, m, &r, usual[s], &file);
                    bf_destroy(&other->mem, m);
                    lm_file_close(last);
                    m = loaded;
                    learn(other, m, &r, cuts[c - 1], cuts[c] - cuts[c - 1]);
                }
                assert_same_bytes(ctx, whole, m);
                bf_destroy(&ctx->mem, whole);
                bf_destroy(&other->mem, m);
                lm_file_close(file);
                limn_context_free(ctx);
                limn_context_free(other);
                free_rows(&r);
            }
}

/* Enough rows and trees for threads to look ahead, also within trees. */
static void test_threads_change_neither_models_nor_answers(void **state) {
    static const char *const settings[] = {"trees=80 warmup=100 children=6", "style=paper trees=60",
                                           "trees=90 warmup=50 refresh=no rho=0.5"};
    const size_t n = 900 / every(2), begin = 60, d = 80;
    int32_t *said[2] = {malloc(n * sizeof **said), malloc(n * sizeof **said)};
    (void)state;
    for (size_t s = 0; s < 2 * LM_COUNT(settings); s += every(5)) {
        const char *text = settings[s / 2];
        rows r = draw_rows(LIMN_CLASSIFY, s % 2 ? GRID : NORMAL, n, d, 3, 12, s);
        for (size_t i = 0; i < n * d && s % 2; i++) /* many equal rows and distances */
            r.x[i] = i % d < 3 ? r.x[i] : 1;
        for (int wanted = 0; wanted < 2; wanted++) {
            limn_context *ctx[2] = {make_context(NULL, 1, 3), make_context(NULL, 3, 3)};
            bf_model *m[2];
            for (int i = 0; i < 2; i++) {
                size_t learned;
                lm_lesson lesson = lesson_of(&r, begin, n - begin);
                lesson.answer_class = wanted ? said[i] : NULL;
                m[i] = train(ctx[i], &r, begin, text);
                assert_int_equal(bf_learn(ctx[i], m[i], &lesson, &learned), LIMN_OK);
            }
            assert_same_bytes(ctx[0], m[0], m[1]);
            if (wanted)
                assert_memory_equal(said[0], said[1], (n - begin) * sizeof **said);
            for (int i = 0; i < 2; i++) {
                bf_destroy(&ctx[i]->mem, m[i]);
                limn_context_free(ctx[i]);
            }
        }
        free_rows(&r);
    }
    free(said[0]);
    free(said[1]);
}

static void test_saving_and_loading_change_no_answer(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        rows r = draw_rows(LIMN_CLASSIFY, NORMAL, 300, 5, 3, 7, s);
        rows q = draw_rows(LIMN_CLASSIFY, NORMAL, 200, 5, 3, 7, s + 100);
        limn_context *ctx = make_context(NULL, 1, 3);
        bf_model *m = train(ctx, &r, r.n, usual[s]);
        const uint64_t ids[] = {290, 291, 299, 5};
        uint64_t gone;
        assert_int_equal(bf_forget(ctx, m, ids, 4, &gone), LIMN_OK);
        lm_file *file = NULL;
        bf_model *loaded = reload(ctx, m, &r, usual[s], &file);
        void *scratch = scratch_for(ctx, m);
        for (size_t i = 0; i < q.n; i++) {
            double a[3], b[3];
            bf_proba(m, q.x + i * q.d, 1, a, scratch);
            bf_proba(loaded, q.x + i * q.d, 1, b, scratch);
            assert_memory_equal(a, b, sizeof a);
        }
        assert_same_bytes(ctx, m, loaded);
        lm_stats before, after;
        bf_stats(m, &before);
        bf_stats(loaded, &after);
        for (size_t i = 0; i < before.count; i++)
            assert_true(before.list[i].value == after.list[i].value);
        lm_free_aligned(&ctx->mem, scratch);
        bf_destroy(&ctx->mem, m);
        bf_destroy(&ctx->mem, loaded);
        lm_file_close(file);
        limn_context_free(ctx);
        free_rows(&r);
        free_rows(&q);
    }
}

static int cancel_at(void *user, const limn_progress *progress) {
    (void)progress;
    return --*(int *)user < 0;
}

static void test_a_cancelled_lesson_leaves_its_first_rows(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, GRID, 1500, 2, 3, 20, 1);
    int calls = 2;
    limn_context_options options;
    limn_context *ctx = NULL, *plain = make_context(NULL, 1, 1);
    (void)state;
    limn_context_options_init(&options);
    options.threads = 1;
    options.progress = cancel_at;
    options.user = &calls;
    assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
    bf_model *m = train(plain, &r, 100, "trees=5 warmup=50");
    lm_lesson lesson = lesson_of(&r, 100, 1400);
    size_t learned = 0;
    assert_int_equal(bf_learn(ctx, m, &lesson, &learned), LIMN_E_CANCELLED);
    assert_true(learned > 0 && learned < 1400);
    assert_int_equal(m->seen, 100 + learned);
    learn(plain, m, &r, 100 + learned, 1400 - learned);
    bf_model *whole = train(plain, &r, 1500, "trees=5 warmup=50");
    assert_same_bytes(plain, whole, m);
    bf_destroy(&plain->mem, m);
    bf_destroy(&plain->mem, whole);
    limn_context_free(ctx);
    limn_context_free(plain);
    free_rows(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_papers_forest_has_the_trees_and_answers_of_its_definition),
        cmocka_unit_test(test_the_default_forest_has_the_trees_and_answers_of_its_definition),
        cmocka_unit_test(test_forgetting_follows_its_definition),
        cmocka_unit_test(test_a_row_is_answered_as_soon_as_it_is_learned),
        cmocka_unit_test(test_training_on_all_equals_training_on_some_and_learning_the_rest),
        cmocka_unit_test(test_threads_change_neither_models_nor_answers),
        cmocka_unit_test(test_saving_and_loading_change_no_answer),
        cmocka_unit_test(test_a_cancelled_lesson_leaves_its_first_rows),
    };
    return cmocka_run_group_tests_name("bforest", tests, NULL, NULL);
}
