/* The perceptrons that are never split (perceptron, stoptron, forgetron, projectron) against their
 * definitions (perceptron_slow.h), row by row: the answer to each row before it is learned, vectors
 * and coefficients after it; and at the end outputs, classes and probabilities. */
#include "perceptron_slow.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

extern const lm_method lm_method_perceptron, lm_method_stoptron, lm_method_forgetron,
    lm_method_projectron;

/* In the order of slow_kernels. */
static const char *const kernel_params[] = {
    "kernel=rbf gamma=0.5", "kernel=poly degree=3 gamma=0.5 coef0=1", "kernel=linear",
    "kernel=chi2 gamma=0.25", "kernel=intersection"};

typedef enum kind { NORMAL, GRID, BITS, EQUAL, ZERO, ONE_LABEL, KINDS } kind;
static const char *const kind_names[] = {"normal", "grid", "bits", "equal", "zero", "one label"};

enum { ROWS = 100 };

/* What is learned and how. */
typedef struct plan {
    const lm_method *method;
    const char *params; /* besides those of the kernel */
    size_t kernel;
    kind of;
    size_t classes, late; /* at first there are `late` classes fewer */
    uint64_t seed;
} plan;

typedef struct world {
    plan p;
    counting count;
    limn_context *ctx;
    pt_model *m;
    slow_model s;
    void *scratch;
    size_t d;
    float x[ROWS * SLOW_D];
    int32_t label[ROWS];
    size_t wrong[2]; /* answers by the last coefficients and by their mean */
    size_t open;     /* rows with several ways */
} world;

/* ---- rows ---- */

static float draw_value(kind of, lm_rng *rng, size_t j, size_t label) {
    switch (of) {
    case NORMAL:
    case ONE_LABEL:
        return (float)(0.8 * lm_rng_normal(rng) + (j == label ? 1 : 0));
    case GRID:
        return (float)lm_rng_below(rng, 4) - 1;
    case BITS:
        return (float)lm_rng_below(rng, 2);
    case EQUAL:
        return (float)j - 1;
    default:
        return 0;
    }
}

/* Labels that appear late: each after its share of the rows. */
static void draw_rows(world *w) {
    const plan *p = &w->p;
    lm_rng rng = lm_rng_at(p->seed, 17, p->of * 10 + p->kernel);
    size_t first = p->classes - p->late;
    w->d = 2 + p->seed % (SLOW_D - 1);
    for (size_t i = 0; i < ROWS; i++) {
        size_t known = first + i * (p->late + 1) / ROWS;
        size_t label = p->of == ONE_LABEL ? known - 1 : lm_rng_below(&rng, known);
        w->label[i] = (int32_t)label;
        for (size_t j = 0; j < w->d; j++)
            w->x[i * w->d + j] = draw_value(p->of, &rng, j, label);
    }
}

/* ---- models ---- */

static void set_params(limn_context *ctx, const char *text, lm_params *params) {
    char one[64];
    int length;
    for (; sscanf(text, "%63s%n", one, &length) == 1; text += length)
        if (lm_params_set(ctx, params, one) != LIMN_OK)
            fail_msg("%s", limn_error(ctx));
}

/* Whether all sums are of whole numbers and eighths, which floats hold. */
static bool is_exact(const plan *p) {
    lm_kernel_type type = slow_kernels[p->kernel].type;
    return p->of != NORMAL && p->of != ONE_LABEL && type != LM_RBF && type != LM_CHI2_KERNEL &&
           (p->method == &lm_method_perceptron || p->method == &lm_method_stoptron);
}

static void begin_slow(world *w) {
    const pt_options *o = &w->m->o;
    w->s.rule = o->rule;
    w->s.kernel = slow_kernels[w->p.kernel];
    w->s.d = w->d;
    w->s.classes = w->p.classes - w->p.late;
    w->s.budget = o->budget;
    w->s.eta = o->project;
    w->s.plus = o->plus;
    w->s.rounding = is_exact(&w->p) ? 0 : SLOW_ROUNDING;
}

static void make_params(limn_context *ctx, const plan *p, lm_params *params) {
    const limn_method_info *info = &p->method->info;
    lm_params_init(info->name, info->params, info->param_count, params);
    set_params(ctx, "order=file epochs=1", params);
    set_params(ctx, kernel_params[p->kernel], params);
    set_params(ctx, p->params, params);
}

static void begin(world *w, const plan *p) {
    lm_params params;
    memset(w, 0, sizeof *w);
    w->p = *p;
    w->ctx = make_context(&w->count, 1, 1);
    draw_rows(w);
    make_params(w->ctx, p, &params);
    pt_options o = pt_options_of(&params);
    assert_int_equal(pt_new(w->ctx, &o, w->d, p->classes - p->late, &w->m), LIMN_OK);
    begin_slow(w);
}

static void end(world *w) {
    lm_free_aligned(&w->ctx->mem, w->scratch);
    pt_destroy(&w->ctx->mem, w->m);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

static void fit_scratch(world *w) {
    lm_cursor at = lm_cursor_at(NULL);
    pt_scratch(w->m, 1, 0, &at);
    lm_free_aligned(&w->ctx->mem, w->scratch);
    w->scratch = lm_alloc_measured(&w->ctx->mem, &at);
}

/* ---- learning alongside ---- */

/* Projections depend on rounding, and so does phi, most where Psi only just reaches its bound. */
static double tolerance(const world *w) {
    bool counts = w->s.rule == PT_PERCEPTRON || w->s.rule == PT_STOPTRON;
    return counts ? 0 : 1e-3;
}

static void fail_at(const world *w, size_t row, const char *what) {
    fail_msg("%s %s %s, %s, %zu classes, %zu late, seed %zu: %s at row %zu", w->p.method->info.name,
             w->p.params, kernel_params[w->p.kernel], kind_names[w->p.of], w->p.classes, w->p.late,
             (size_t)w->p.seed, what, row);
}

static void see_labels(world *w, size_t row) {
    size_t known = w->p.classes - w->p.late + row * (w->p.late + 1) / ROWS;
    if (known > w->s.classes) {
        assert_int_equal(pt_widen(w->ctx, w->m, known), LIMN_OK);
        w->s.classes = known;
    }
}

/* Counts the answers that were wrong. Where rounding decides about an answer, the library says
 * which it was. */
static void count_wrong(world *w, const slow_outputs out[2], size_t label, size_t row) {
    for (int k = 0; k < 2; k++) {
        double rows = (double)w->s.rows + 1;
        double by_library = w->m->wrong[k] * rows - (double)w->wrong[k];
        size_t off = by_library > 0.5;
        bool other = false;
        for (size_t c = 0; c < w->s.classes; c++)
            other = other || (c != label && slow_may_say(&w->s, &out[k], c));
        bool fine = off ? other : slow_may_say(&w->s, &out[k], label);
        if (!fine || fabs(by_library - (double)off) > 1e-9 * rows)
            fail_at(w, row, "other errors");
        w->wrong[k] += off;
    }
}

/* The mean answers where it has erred no more often. */
static void compare_said(const world *w, const slow_outputs out[2], int32_t said, size_t row) {
    bool fine = row == 0 && said == -1;
    for (int k = 0; k < 2 && row > 0; k++) {
        bool speaks = w->m->o.average ? w->wrong[k] <= w->wrong[!k] : k == 0;
        fine = fine || (speaks && said >= 0 && slow_may_say(&w->s, &out[k], (size_t)said));
    }
    if (!fine)
        fail_at(w, row, "another answer");
}

static void learn_row(world *w, size_t row) {
    const float *x = w->x + row * w->d;
    int32_t said = -7;
    size_t learned = 0, label = (size_t)w->label[row];
    lm_lesson lesson = {.first = row, .n = 1, .x = x, .label = &w->label[row]};
    float taken[SLOW_D];
    slow_take(&w->s, x, taken);
    slow_outputs out[2] = {slow_ask(&w->s, false, taken), slow_ask(&w->s, w->m->o.average, taken)};
    lesson.answer_class = &said;
    assert_int_equal(pt_learn(w->ctx, w->m, &lesson, &learned), LIMN_OK);
    assert_int_equal(learned, 1);
    compare_said(w, out, said, row);
    count_wrong(w, out, label, row);
    size_t ways = slow_follow(&w->s, w->m, taken, label, tolerance(w));
    if (!ways)
        fail_at(w, row, "other vectors or coefficients");
    w->open += ways > 1;
}

/* ---- queries ---- */

static void compare_scores(world *w, const float *x, const slow_outputs *out, size_t row) {
    double scores[SLOW_CLASSES * SLOW_CLASSES], *at = scores;
    size_t k = w->s.classes;
    assert_int_equal(pt_score_count(w->m), k * (k - 1) / 2);
    pt_scores(w->m, x, 1, scores, w->scratch);
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, at++) {
            double lead = out->f[a] - out->f[b], off = out->off[a] + out->off[b];
            double share = k == 2 ? 0.5 : 1; /* of two classes f itself */
            double drift = tolerance(w) * off / fmax(w->s.rounding, 1e-9);
            if (fabs(*at - share * lead) > off + drift)
                fail_at(w, row, "other scores");
        }
}

/* exp(s_c f_k) / sum, c the class that is answered; where scores are equal, c comes first. */
static void compare_probabilities(world *w, const float *x, int32_t class, size_t row) {
    double scores[SLOW_CLASSES * SLOW_CLASSES], proba[SLOW_CLASSES], sum = 0, expected = 0;
    size_t k = w->s.classes, best = 0, pair = 0;
    double slope = w->m->slope[class];
    pt_proba(w->m, x, 1, proba, w->scratch);
    pt_scores(w->m, x, 1, scores, w->scratch);
    for (size_t a = 0; a < k; a++) {
        sum += proba[a];
        best = proba[a] > proba[best] ? a : best;
        if (!(proba[a] >= 0 && proba[a] <= 1))
            fail_at(w, row, "no probability");
    }
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, pair++)
            if (a == (size_t) class || b == (size_t) class)
                expected += exp(slope * (a == (size_t) class ? -scores[pair] : scores[pair]));
    if (fabs(sum - 1) > 1e-12 || best != (size_t) class ||
        fabs(proba[class] - 1 / (1 + expected)) > 1e-9)
        fail_at(w, row, "other probabilities");
}

static void compare_answers(world *w) {
    fit_scratch(w);
    for (size_t row = 0; row < ROWS; row += 3) {
        const float *x = w->x + row * w->d;
        float taken[SLOW_D];
        int32_t class = -7;
        slow_take(&w->s, x, taken);
        slow_outputs out = slow_ask(&w->s, pt_averages(w->m), taken);
        pt_predict(w->m, x, 1, &class, w->scratch);
        /* Coefficients that are a little off can turn an answer, but then it is a close one. */
        slow_outputs loose = out;
        for (size_t c = 0; c < SLOW_CLASSES; c++)
            loose.off[c] *= 1 + 1e-2 * tolerance(w) / fmax(w->s.rounding, 1e-9);
        if (class < 0 || !slow_may_say(&w->s, &loose, (size_t) class))
            fail_at(w, row, "another class");
        compare_scores(w, x, &out, row);
        compare_probabilities(w, x, class, row);
    }
}

/* Returns how many rows had several ways. */
static size_t follow(const plan *p) {
    world w;
    begin(&w, p);
    for (size_t row = 0; row < ROWS; row++) {
        see_labels(&w, row);
        learn_row(&w, row);
    }
    compare_answers(&w);
    end(&w);
    return w.open;
}

static void follow_all(const lm_method *method, const char *const *params, size_t count) {
    size_t open = 0, rows = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t kernel = 0; kernel < LM_COUNT(slow_kernels); kernel++)
            for (int of = 0; of < KINDS; of++)
                for (size_t classes = 1; classes <= SLOW_CLASSES; classes += classes / 3 + 1) {
                    uint64_t seed = i + classes + 3 * (uint64_t)of + kernel;
                    plan p = {method,   params[i], kernel,
                              (kind)of, classes,   seed % 2 ? classes / 2 : 0,
                              seed};
                    size_t several = follow(&p);
                    open += of == NORMAL ? several : 0;
                    rows += of == NORMAL ? ROWS : 0;
                }
    assert_true(open * 100 < rows);
}

static void test_perceptrons_follow_their_definition(void **state) {
    static const char *const params[] = {"average=no", "average=yes"};
    (void)state;
    follow_all(&lm_method_perceptron, params, LM_COUNT(params));
}

static void test_stoptrons_follow_their_definition(void **state) {
    static const char *const params[] = {"budget=2", "budget=20 average=yes", "budget=33"};
    (void)state;
    follow_all(&lm_method_stoptron, params, LM_COUNT(params));
}

static void test_forgetrons_follow_their_definition(void **state) {
    static const char *const params[] = {"budget=2", "budget=10", "budget=31"};
    (void)state;
    follow_all(&lm_method_forgetron, params, LM_COUNT(params));
}

static void test_projectrons_follow_their_definition(void **state) {
    static const char *const params[] = {"eta=0.1", "eta=0.4 budget=4", "eta=0.02 budget=24",
                                         "eta=0.1 average=yes"};
    (void)state;
    follow_all(&lm_method_projectron, params, LM_COUNT(params));
}

static void test_projectrons_that_learn_from_narrow_margins_follow_their_definition(void **state) {
    static const char *const params[] = {"eta=0.1 plus=1", "eta=0.4 budget=4 plus=1",
                                         "eta=0.2 average=yes plus=1"};
    (void)state;
    follow_all(&lm_method_projectron, params, LM_COUNT(params));
}

/* ---- beyond single rows ---- */

static const plan usual[] = {
    {&lm_method_perceptron, "average=yes", 0, NORMAL, 3, 0, 1},
    {&lm_method_stoptron, "budget=30", 1, GRID, 2, 0, 2},
    {&lm_method_forgetron, "budget=20", 0, NORMAL, 5, 0, 3},
    {&lm_method_projectron, "eta=0.2 average=yes", 3, BITS, 4, 0, 4},
    {&lm_method_projectron, "eta=0.1 plus=1 budget=10", 0, NORMAL, 2, 0, 5},
};

static void assert_same_model(const pt_model *a, const pt_model *b) {
    const lm_expansion *e = &a->leaf[0].e, *other = &b->leaf[0].e;
    size_t cells = e->pack.n * e->outputs;
    assert_true(e->pack.n == other->pack.n && e->outputs == other->outputs);
    assert_memory_equal(e->coef, other->coef, cells * sizeof *e->coef);
    if (e->averaged)
        assert_memory_equal(e->drift, other->drift, cells * sizeof *e->drift);
    assert_true(a->steps == b->steps && a->classes == b->classes && e->steps == other->steps);
    assert_memory_equal(a->wrong, b->wrong, sizeof a->wrong);
    assert_memory_equal(a->slope, b->slope, a->classes * sizeof *a->slope);
    assert_true(a->forgot == b->forgot && a->mistakes == b->mistakes);
}

static void learn_rows(world *w, size_t first, size_t n) {
    size_t learned = 0;
    lm_lesson lesson = {.first = first, .n = n, .x = w->x + first * w->d};
    lesson.label = w->label + first;
    assert_int_equal(pt_learn(w->ctx, w->m, &lesson, &learned), LIMN_OK);
    assert_int_equal(learned, n);
}

static void test_training_is_learning_row_by_row(void **state) {
    (void)state;
    for (size_t i = 0; i < LM_COUNT(usual); i++) {
        world w;
        lm_params params;
        void *trained = NULL;
        begin(&w, &usual[i]);
        for (size_t j = 0; j < ROWS * w.d; j++)
            w.x[j] = fabsf(w.x[j]); /* training refuses others for some kernels */
        make_params(w.ctx, &usual[i], &params);
        lm_train_set set = {.task = LIMN_CLASSIFY, .n = ROWS, .d = w.d, .classes = w.p.classes};
        set.x = w.x;
        set.label = w.label;
        assert_int_equal(w.p.method->train(w.ctx, &set, &params, &trained), LIMN_OK);
        learn_rows(&w, 0, 1);
        learn_rows(&w, 1, ROWS - 1);
        assert_same_model(w.m, trained);
        pt_destroy(&w.ctx->mem, trained);
        end(&w);
    }
}

static void test_a_class_that_appears_leaves_the_odds_of_the_first_two(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        world w;
        plan p = {&lm_method_forgetron, "budget=25", seed % 5, NORMAL, 3, 1, seed};
        double before[2 * ROWS], after[3];
        begin(&w, &p);
        learn_rows(&w, 0, ROWS / 2); /* two classes so far */
        fit_scratch(&w);
        pt_proba(w.m, w.x, ROWS, before, w.scratch);
        assert_int_equal(pt_widen(w.ctx, w.m, 3), LIMN_OK);
        fit_scratch(&w);
        for (size_t row = 0; row < ROWS; row++) {
            pt_proba(w.m, w.x + row * w.d, 1, after, w.scratch);
            double odds = log(before[2 * row] / before[2 * row + 1]);
            assert_true(fabs(log(after[0] / after[1]) - odds) <= 1e-4 * (1 + fabs(odds)));
        }
        end(&w);
    }
}

/* The shares of errors, which decide between the mean and the last coefficients. */
static void test_errors_of_more_than_2000_rows_ago_fade(void **state) {
    (void)state;
    world w;
    plan p = {&lm_method_stoptron, "budget=5", 0, NORMAL, 3, 0, 7};
    double share = 0;
    begin(&w, &p);
    w.label[0] = 2; /* not what is answered at first */
    for (size_t row = 0; row < 40 * ROWS; row++) {
        int32_t said = -7, label = (w.label[row % ROWS] + (row > 20 * ROWS)) % 3;
        size_t learned;
        lm_lesson lesson = {.n = 1, .x = w.x + row % ROWS * w.d, .label = &label};
        lesson.answer_class = &said;
        assert_int_equal(pt_learn(w.ctx, w.m, &lesson, &learned), LIMN_OK);
        share += ((said != label) - share) / fmin((double)row + 1, 2000);
        assert_true(fabs(w.m->wrong[0] - share) < 1e-12);
    }
    end(&w);
}

/* What is left over of a row that the vectors span is rounding; with a tiny eta that must not make
 * it a vector. */
static void test_a_linear_projectron_has_no_more_vectors_than_dimensions(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        world w;
        plan p = {&lm_method_projectron, "eta=1e-12", 2, NORMAL, 2 + seed % 3, 0, seed};
        begin(&w, &p);
        learn_rows(&w, 0, ROWS);
        const lm_expansion *e = &w.m->leaf[0].e;
        assert_true(e->pack.n <= w.d);
        for (size_t i = 0; i < e->pack.n * e->outputs; i++)
            assert_true(fabs(e->coef[i]) < 1e4);
        end(&w);
    }
}

/* The at-th request for memory fails; returns whether it came to that. */
static bool meet_failure(const plan *p, bool widens, unsigned at) {
    world w, other;
    size_t learned = 0;
    begin(&w, p);
    begin(&other, p);
    learn_rows(&w, 0, 50);
    learn_rows(&other, 0, 50);
    lm_lesson lesson = {.n = ROWS - 50, .x = w.x + 50 * w.d, .label = w.label + 50};
    w.count.fail_at = at;
    limn_status status =
        widens ? pt_widen(w.ctx, w.m, p->classes + 1) : pt_learn(w.ctx, w.m, &lesson, &learned);
    bool reached = w.count.fail_at == 0;
    w.count.fail_at = 0;
    assert_int_equal(status, reached ? LIMN_E_MEMORY : LIMN_OK);
    if (reached) { /* the rows that were learned, and no others */
        if (learned)
            learn_rows(&other, 50, learned);
        assert_same_model(w.m, other.m);
    }
    end(&w);
    end(&other);
    return reached;
}

static void test_without_memory_no_class_appears_and_no_row_is_learned(void **state) {
    (void)state;
    for (size_t i = 0; i < LM_COUNT(usual); i++)
        for (int widens = 0; widens < 2; widens++) {
            unsigned at = 1;
            while (meet_failure(&usual[i], widens == 1, at))
                at++;
            assert_true(at > 4);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perceptrons_follow_their_definition),
        cmocka_unit_test(test_stoptrons_follow_their_definition),
        cmocka_unit_test(test_forgetrons_follow_their_definition),
        cmocka_unit_test(test_projectrons_follow_their_definition),
        cmocka_unit_test(test_projectrons_that_learn_from_narrow_margins_follow_their_definition),
        cmocka_unit_test(test_training_is_learning_row_by_row),
        cmocka_unit_test(test_a_class_that_appears_leaves_the_odds_of_the_first_two),
        cmocka_unit_test(test_errors_of_more_than_2000_rows_ago_fade),
        cmocka_unit_test(test_a_linear_projectron_has_no_more_vectors_than_dimensions),
        cmocka_unit_test(test_without_memory_no_class_appears_and_no_row_is_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
