/* The boundary forest against its definition (bforest_slow.h), and what must hold whatever the
 * definition is: what was just learned is answered; lessons, threads, saving and loading change
 * nothing; forgotten rows are gone; degenerate rows, failing allocations and hostile files do no
 * harm. */
#include "bforest_slow.h"
#include "reseal.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

extern const lm_method lm_method_bforest;

/* ---- rows and models ---- */

typedef struct rows {
    limn_task task;
    size_t n, d, classes;
    float *x;
    int32_t *label;
    double *target;
} rows;

typedef enum kind { GRID, NORMAL, NOISE } kind;

/* GRID: whole numbers, many equal rows and distances, labels that sometimes change. NOISE: the
 * same with labels that mean nothing. */
static rows draw_rows(limn_task task, kind of, size_t n, size_t d, size_t classes, uint64_t side,
                      uint64_t seed) {
    rows r = {.task = task, .n = n, .d = d, .classes = task == LIMN_CLASSIFY ? classes : 0};
    lm_rng rng = lm_rng_at(seed, 91, (uint64_t)of);
    r.x = malloc(n * d * sizeof *r.x);
    r.label = malloc(n * sizeof *r.label);
    r.target = malloc(n * sizeof *r.target);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < d; j++) {
            double v = of == NORMAL ? lm_rng_normal(&rng) : (double)lm_rng_below(&rng, side);
            r.x[i * d + j] = (float)v;
            sum += v;
        }
        bool wrong = of == NOISE || lm_rng_below(&rng, 8) == 0;
        r.label[i] = (int32_t)(wrong ? lm_rng_below(&rng, classes)
                                     : (uint64_t)fabs(sum) % (uint64_t)classes);
        r.target[i] = wrong ? lm_rng_normal(&rng) * 3 : sum;
    }
    return r;
}

static void free_rows(rows *r) {
    free(r->x);
    free(r->label);
    free(r->target);
}

/* Parameters from "key=value key=value ...". */
static void set_params(limn_context *ctx, const char *text, lm_params *params) {
    const limn_method_info *info = &lm_method_bforest.info;
    char one[64];
    int length;
    lm_params_init(info->name, info->params, info->param_count, params);
    for (; sscanf(text, "%63s%n", one, &length) == 1; text += length)
        if (lm_params_set(ctx, params, one) != LIMN_OK)
            fail_msg("%s", limn_error(ctx));
}

static limn_status try_train(limn_context *ctx, const rows *r, size_t n, const char *text,
                             bf_model **model) {
    lm_params params;
    void *made = NULL;
    set_params(ctx, text, &params);
    lm_train_set set = {.task = r->task,
                        .n = n,
                        .d = r->d,
                        .classes = r->classes,
                        .x = r->x,
                        .label = r->task == LIMN_CLASSIFY ? r->label : NULL,
                        .target = r->task == LIMN_REGRESS ? r->target : NULL};
    limn_status status = bf_train(ctx, &set, &params, &made);
    *model = made;
    return status;
}

static bf_model *train(limn_context *ctx, const rows *r, size_t n, const char *text) {
    bf_model *model = NULL;
    if (try_train(ctx, r, n, text, &model) != LIMN_OK)
        fail_msg("%s: %s", text, limn_error(ctx));
    return model;
}

static lm_lesson lesson_of(const rows *r, size_t first, size_t n) {
    return (lm_lesson){.first = first,
                       .n = n,
                       .x = r->x + first * r->d,
                       .label = r->task == LIMN_CLASSIFY ? r->label + first : NULL,
                       .target = r->task == LIMN_REGRESS ? r->target + first : NULL};
}

static void learn(limn_context *ctx, bf_model *m, const rows *r, size_t first, size_t n) {
    lm_lesson lesson = lesson_of(r, first, n);
    size_t learned = 0;
    assert_int_equal(bf_learn(ctx, m, &lesson, &learned), LIMN_OK);
    assert_int_equal(learned, n);
}

/* All that is left of the model in a file. */
static unsigned char *bytes_of(limn_context *ctx, const bf_model *m, size_t *size) {
    lm_writer *writer = NULL;
    unsigned char *bytes = NULL;
    assert_int_equal(lm_writer_new(ctx, &writer), LIMN_OK);
    assert_int_equal(bf_save(ctx, m, writer), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &bytes, size), LIMN_OK);
    lm_writer_free(writer);
    return bytes;
}

static void assert_same_bytes(limn_context *ctx, const bf_model *a, const bf_model *b) {
    size_t a_size, b_size;
    unsigned char *a_bytes = bytes_of(ctx, a, &a_size), *b_bytes = bytes_of(ctx, b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a_bytes, b_bytes, a_size);
    lm_free(&ctx->mem, a_bytes);
    lm_free(&ctx->mem, b_bytes);
}

static limn_status try_load(limn_context *ctx, const unsigned char *bytes, size_t size,
                            const rows *r, uint64_t seen, const char *text, lm_file **file,
                            bf_model **model) {
    lm_params params;
    void *loaded = NULL;
    *model = NULL;
    set_params(ctx, text, &params);
    limn_status status = lm_file_from_memory(ctx, bytes, size, "test.limn", file);
    lm_shape about = {.task = r->task, .d = r->d, .classes = r->classes, .rows = seen};
    if (status == LIMN_OK)
        status = bf_load(ctx, *file, &about, &params, &loaded);
    *model = loaded;
    return status;
}

/* The model from its file; free file behind it. */
static bf_model *reload(limn_context *ctx, const bf_model *m, const rows *r, const char *text,
                        lm_file **file) {
    size_t size;
    unsigned char *bytes = bytes_of(ctx, m, &size);
    bf_model *loaded = NULL;
    if (try_load(ctx, bytes, size, r, m->seen, text, file, &loaded) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    lm_free(&ctx->mem, bytes);
    return loaded;
}

typedef struct asker {
    limn_context *ctx;
    void *scratch;
} asker;

static void *scratch_for(limn_context *ctx, const bf_model *m) {
    size_t bytes;
    assert_true(bf_scratch_size(m, 1, 0, &bytes));
    return lm_alloc_aligned(&ctx->mem, bytes, 1);
}

static int32_t class_of(const bf_model *m, const float *x, void *scratch) {
    int32_t class;
    bf_predict(m, x, 1, &class, scratch);
    return class;
}

static double value_of(const bf_model *m, const float *x, void *scratch) {
    double value;
    bf_values(m, x, 1, &value, scratch);
    return value;
}

/* ---- against the definition ---- */

static void compare_trees(const bf_model *m, const slow_forest *f) {
    for (size_t t = 0; t < m->trees; t++) {
        const bf_tree *tree = &m->tree[t];
        const slow_tree *slow = &f->tree[t];
        assert_int_equal(tree->nodes, slow->count);
        assert_true(tree->epoch == slow->epoch && tree->step == slow->step);
        for (size_t i = 0; i < tree->nodes; i++) {
            const bf_node *node = &tree->node[i];
            const slow_point *p = &f->point[slow->node[i].point];
            assert_true(m->store.id[node->point] == p->id);
            assert_true((m->store.state[node->point] == BF_LIVE) == p->live);
            assert_memory_equal(m->store.x + node->point * m->store.stride, p->x,
                                m->d * sizeof(float));
            assert_int_equal(node->children, slow->node[i].count);
            for (uint32_t k = 0; k < node->children; k++)
                assert_int_equal(tree->arena[node->offset + node->capacity + k],
                                 slow->node[i].child[k]);
        }
    }
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
    /* Sums in another order may tie otherwise. */
    int32_t got = class_of(m, x, scratch);
    assert_true(got == (class < 0 ? 0 : class) || fabs(a.votes[got] - a.votes[class]) < 1e-12);
}

/* Learns r row by row beside the slow forest. forget: now and then a row is forgotten. */
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
                                           "style=paper trees=4 rho=0.5 refresh=yes",
                                           "style=paper trees=5 max_points=30"};
    (void)state;
    follow_all(settings, LM_COUNT(settings), false);
}

static void test_forgetting_follows_its_definition(void **state) {
    static const char *const settings[] = {"trees=9 warmup=40", "trees=3 warmup=400",
                                           "style=paper trees=5", "trees=4 warmup=30 max_points=20",
                                           "trees=6 warmup=20 refresh=no rho=0.4"};
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
    };
    (void)state;
    for (size_t s = 0; s < LM_COUNT(settings); s++) {
        rows r = draw_rows(LIMN_CLASSIFY, s % 2 ? NOISE : GRID, 7000, 2, 4, 25, s);
        assert_learned_at_once(&r, settings[s], 5 + s);
        free_rows(&r);
        r = draw_rows(LIMN_REGRESS, s % 3 == 0 ? NORMAL : GRID, 2000, 2, 4, 25, s);
        assert_learned_at_once(&r, settings[s], 50 + s);
        free_rows(&r);
    }
}

/* ---- lessons, threads, files ---- */

static const char *const usual[] = {"trees=8 warmup=60",
                                    "trees=11 warmup=500",
                                    "style=paper trees=6",
                                    "trees=5 warmup=20 max_points=40",
                                    "trees=4 warmup=30 metric=cosine rho=0.5",
                                    "trees=3 warmup=30 metric=l1 children=0"};

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

/* Rows and trees enough that threads look ahead, within trees too. */
static void test_threads_change_neither_models_nor_answers(void **state) {
    static const char *const settings[] = {"trees=80 warmup=100 children=6", "style=paper trees=60",
                                           "trees=90 warmup=50 refresh=no rho=0.5"};
    static const size_t n = 900, begin = 60, d = 80;
    int32_t *said[2] = {malloc(n * sizeof **said), malloc(n * sizeof **said)};
    (void)state;
    for (size_t s = 0; s < 2 * LM_COUNT(settings); s++) {
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
        ids[40] = 1000000; /* never came */
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
        for (size_t i = 0; i < m->store.slots; i++) /* labels mean nothing: all rows are stored */
            assert_true(m->store.state[i] != BF_LIVE || m->store.id[i] >= r.n - 100);
        bf_destroy(&ctx->mem, m);
    }
    limn_context_free(ctx);
    free_rows(&r);
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
    assert_non_null(strstr(limn_error(ctx), "begins with row 41, but 40 rows were learned"));
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
    options.metric = senseless; /* whatever it says, there is an answer */
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

/* A model's life; *m is freed by the caller, whatever happens. */
static limn_status live(limn_context *ctx, const rows *r, bf_model **m, lm_file **file) {
    static const char text[] = "trees=3 warmup=12 rho=0.8";
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

static void test_a_failing_allocation_leaves_a_valid_model(void **state) {
    rows r = draw_rows(LIMN_CLASSIFY, NOISE, 60, 2, 3, 9, 1);
    size_t failures = 0;
    (void)state;
    for (unsigned at = 1;; at++) {
        counting count = {0};
        limn_context *ctx = counting_context(&count);
        bf_model *m = NULL;
        lm_file *file = NULL;
        count.fail_at = at;
        limn_status status = live(ctx, &r, &m, &file);
        count.fail_at = 0;
        if (m) { /* it answers, learns and can be saved */
            void *scratch = scratch_for(ctx, m);
            class_of(m, r.x, scratch);
            size_t seen = (size_t)m->seen;
            learn(ctx, m, &r, seen, r.n - seen);
            assert_int_equal(class_of(m, r.x + (r.n - 1) * r.d, scratch), r.label[r.n - 1]);
            lm_free_aligned(&ctx->mem, scratch);
            lm_file *again = NULL;
            bf_destroy(&ctx->mem, reload(ctx, m, &r, "trees=3 warmup=12 rho=0.8", &again));
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
        cmocka_unit_test(test_the_papers_forest_has_the_trees_and_answers_of_its_definition),
        cmocka_unit_test(test_the_default_forest_has_the_trees_and_answers_of_its_definition),
        cmocka_unit_test(test_forgetting_follows_its_definition),
        cmocka_unit_test(test_a_row_is_answered_as_soon_as_it_is_learned),
        cmocka_unit_test(test_training_on_all_equals_training_on_some_and_learning_the_rest),
        cmocka_unit_test(test_threads_change_neither_models_nor_answers),
        cmocka_unit_test(test_saving_and_loading_change_no_answer),
        cmocka_unit_test(test_a_cancelled_lesson_leaves_its_first_rows),
        cmocka_unit_test(test_a_forgotten_row_never_comes_back),
        cmocka_unit_test(test_a_model_that_forgot_everything_learns_again),
        cmocka_unit_test(test_max_points_bounds_points_and_nodes),
        cmocka_unit_test(test_new_classes_are_learned),
        cmocka_unit_test(test_a_lesson_must_go_on_where_the_last_one_ended),
        cmocka_unit_test(test_too_many_nodes_are_refused_with_a_sentence),
        cmocka_unit_test(test_a_callers_metric_is_used_and_its_file_needs_one),
        cmocka_unit_test(test_degenerate_rows_are_learned),
        cmocka_unit_test(test_a_failing_allocation_leaves_a_valid_model),
        cmocka_unit_test(test_damaged_files_with_right_checksums_do_no_harm),
    };
    return cmocka_run_group_tests_name("bforest", tests, NULL, NULL);
}
