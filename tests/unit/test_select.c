/* test_select.c: the search for parameters, with made-up judges. Also run under TSan. */
#include "counting.h"
#include "fit/select.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 60, FOLDS = 5, CALLS_MAX = 20000, UNIT = 8 /* fine steps per coarse step */ };

typedef struct call {
    double values[LM_AXES_MAX];
    size_t first_test;
} call;

typedef struct world world;
typedef double loss_of(const world *w, const double *values, const size_t *test);

struct world {
    limn_context *ctx;
    counting count;
    pthread_t thread;
    int reports, cancel_at; /* the number of the report that cancels; 0: none */
    uint64_t done, total;
    double fraction;
    bool wrong, told_wrong; /* what the judges (locked) and the reports found */
    size_t axis_count;
    loss_of *loss;
    double aim[LM_AXES_MAX];
    size_t n;
    limn_status refuse; /* for values[0] above refuse_from */
    double refuse_from;
    bool waits; /* every judge reports progress until it is cancelled */
    uint64_t seed;
    pthread_mutex_t lock;
    size_t call_count;
    call calls[CALLS_MAX];
};

static int take_progress(void *user, const limn_progress *progress) {
    world *w = user;
    w->told_wrong |= !pthread_equal(w->thread, pthread_self()) ||
                     strcmp(progress->stage, "selecting") != 0 || progress->rows < w->done ||
                     progress->rows > progress->rows_total || progress->fraction < w->fraction ||
                     (w->total && w->total != progress->rows_total);
    w->done = progress->rows;
    w->total = progress->rows_total;
    w->fraction = progress->fraction;
    return ++w->reports == w->cancel_at;
}

static double bowl(const world *w, const double *values, const size_t *test) {
    double sum = 0;
    for (size_t a = 0; a < w->axis_count; a++)
        sum += pow(log(values[a] / w->aim[a]), 2) * (double)(1 + (a + test[0]) % 3);
    return sum;
}

/* Arbitrary, but with many equal sums. */
static double noise(const world *w, const double *values, const size_t *test) {
    uint64_t hash = lm_hash(w->seed, test[0], 0);
    for (size_t a = 0; a < w->axis_count; a++) {
        uint64_t bits;
        memcpy(&bits, &values[a], sizeof bits);
        hash = lm_hash(hash, bits, a);
    }
    return (double)(hash % 4);
}

static double flat(const world *w, const double *values, const size_t *test) {
    (void)w, (void)values, (void)test;
    return 0.25;
}

static limn_status judge(limn_context *ctx, void *user, const double *values, const size_t *train,
                         size_t train_count, const size_t *test, size_t test_count, double *loss) {
    world *w = user;
    (void)train;
    pthread_mutex_lock(&w->lock);
    call *c = &w->calls[w->call_count++ % CALLS_MAX];
    memset(c, 0, sizeof *c);
    memcpy(c->values, values, w->axis_count * sizeof *values);
    c->first_test = test[0];
    w->wrong |= ctx == w->ctx || ctx->threads != 1 || ctx->seed != w->ctx->seed ||
                train_count == 0 || test_count == 0;
    pthread_mutex_unlock(&w->lock);
    while (w->waits)
        if (lm_progress(ctx, "training", 0, 0, 0.5) != LIMN_OK)
            return LIMN_E_CANCELLED;
    if (w->refuse != LIMN_OK && values[0] > w->refuse_from) {
        usleep(1000); /* so that others fail at the same time */
        return lm_fail(ctx, w->refuse, "refused %g %g, first row %zu", values[0], values[1],
                       test[0]);
    }
    *loss = w->loss(w, values, test);
    return LIMN_OK;
}

static void world_open(world *w, size_t axis_count, loss_of *loss) {
    memset(w, 0, sizeof *w);
    w->ctx = counting_context(&w->count);
    assert_non_null(w->ctx);
    w->ctx->progress = take_progress;
    w->ctx->user = w;
    w->thread = pthread_self();
    w->axis_count = axis_count;
    w->loss = loss;
    w->n = ROWS;
    pthread_mutex_init(&w->lock, NULL);
}

static void world_close(world *w) {
    assert_false(w->wrong || w->told_wrong);
    pthread_mutex_destroy(&w->lock);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

static limn_status run(world *w, const lm_axis *axes, double *best) {
    w->call_count = 0;
    w->reports = 0;
    w->done = w->total = 0;
    w->fraction = 0;
    return lm_select(w->ctx, axes, w->axis_count, NULL, w->n, FOLDS, 0, judge, w, best);
}

static const lm_axis three[LM_AXES_MAX] = {
    {.low = 0.03125, .high = 32, .step = 4}, /* 6 coarse points */
    {.low = 1e-3, .high = 10, .step = 10},   /* 5 */
    {.low = 1, .high = 50, .step = 3},       /* 4, and high is not one of them */
};

/* ---- slow references ---- */

static double place_value(const lm_axis *axis, int place) {
    return fmin(axis->low * pow(axis->step, (double)place / UNIT), axis->high);
}

static int last_place(const lm_axis *axis) {
    return (int)floor(UNIT * log(axis->high / axis->low) / log(axis->step) + 1e-6);
}

typedef struct candidate {
    int at[LM_AXES_MAX];
    double loss;
} candidate;

/* The sum over all folds, which are identified by their first rows. */
static double whole_loss(const world *w, const lm_axis *axes, const candidate *c,
                         const size_t *firsts) {
    double values[LM_AXES_MAX], sum = 0;
    for (size_t a = 0; a < w->axis_count; a++)
        values[a] = place_value(&axes[a], c->at[a]);
    for (size_t f = 0; f < FOLDS; f++)
        sum += w->loss(w, values, &firsts[f]);
    return sum;
}

/* Compares all points of a box with best. */
static void scan_box(const world *w, const lm_axis *axes, const int *from, const int *to, int step,
                     const size_t *firsts, candidate *best) {
    candidate c;
    for (c.at[0] = from[0]; c.at[0] <= to[0]; c.at[0] += step)
        for (c.at[1] = from[1]; c.at[1] <= to[1]; c.at[1] += step)
            for (c.at[2] = from[2]; c.at[2] <= to[2]; c.at[2] += step) {
                c.loss = whole_loss(w, axes, &c, firsts);
                int order = 0;
                for (size_t a = 0; a < LM_AXES_MAX && order == 0; a++)
                    order = (c.at[a] > best->at[a]) - (c.at[a] < best->at[a]);
                if (c.loss < best->loss || (c.loss == best->loss && order < 0))
                    *best = c;
            }
}

/* The same search without threads, bounds or memory. */
static candidate plain_search(const world *w, const lm_axis *axes, const size_t *firsts) {
    candidate best = {.loss = INFINITY};
    int from[LM_AXES_MAX] = {0}, to[LM_AXES_MAX] = {0}, last[LM_AXES_MAX] = {0};
    for (size_t a = 0; a < w->axis_count; a++)
        to[a] = last[a] = last_place(&axes[a]);
    scan_box(w, axes, from, to, UNIT, firsts, &best);
    for (int step = UNIT / 2; step > 0; step /= 2) {
        for (size_t a = 0; a < LM_AXES_MAX; a++) {
            from[a] = best.at[a] - step < 0 ? best.at[a] : best.at[a] - step;
            to[a] = best.at[a] + step > last[a] ? best.at[a] : best.at[a] + step;
        }
        scan_box(w, axes, from, to, step, firsts, &best);
    }
    return best;
}

/* The first rows of the folds: one thread judges those of a single point in order. */
static void find_firsts(world *w, size_t *firsts) {
    double best[LM_AXES_MAX];
    const lm_axis one = {.low = 1, .high = 1, .step = 2};
    size_t axis_count = w->axis_count;
    int threads = w->ctx->threads;
    w->axis_count = 1;
    w->ctx->threads = 1;
    assert_int_equal(run(w, &one, best), LIMN_OK);
    assert_int_equal(w->call_count, FOLDS);
    for (size_t f = 0; f < FOLDS; f++)
        firsts[f] = w->calls[f].first_test;
    w->axis_count = axis_count;
    w->ctx->threads = threads;
}

/* ---- what is found ---- */

static void test_the_bottom_of_a_bowl_is_found_within_the_fine_step(void **state) {
    (void)state;
    static world w;
    lm_rng rng = lm_rng_at(1, 1, 1);
    for (size_t count = 1; count <= LM_AXES_MAX; count++) {
        world_open(&w, count, bowl);
        for (int trial = 0; trial < 30; trial++) {
            double best[LM_AXES_MAX];
            for (size_t a = 0; a < count; a++)
                w.aim[a] = three[a].low * pow(three[a].high / three[a].low, lm_rng_unit(&rng));
            assert_int_equal(run(&w, three, best), LIMN_OK);
            for (size_t a = 0; a < count; a++)
                assert_true(fabs(log(best[a] / w.aim[a])) <= log(three[a].step) / UNIT);
        }
        world_close(&w);
    }
}

/* Separable bowls have no other valleys: the search must agree with a scan of every fine point. */
static void test_a_bowl_gives_the_same_point_as_a_scan_of_the_whole_fine_grid(void **state) {
    (void)state;
    static world w;
    static const double aims[][LM_AXES_MAX] = {
        {1, 0.1, 9}, {0.7, 0.033, 3.3}, {1e-9, 1e9, 1}, {1e9, 1e-9, 50}};
    size_t firsts[FOLDS];
    for (size_t count = 1; count <= LM_AXES_MAX; count++)
        for (size_t i = 0; i < LM_COUNT(aims); i++) {
            double best[LM_AXES_MAX];
            int from[LM_AXES_MAX] = {0}, to[LM_AXES_MAX] = {0};
            world_open(&w, count, bowl);
            memcpy(w.aim, aims[i], sizeof w.aim);
            find_firsts(&w, firsts);
            candidate expected = {.loss = INFINITY};
            for (size_t a = 0; a < count; a++)
                to[a] = last_place(&three[a]);
            scan_box(&w, three, from, to, 1, firsts, &expected);
            assert_int_equal(run(&w, three, best), LIMN_OK);
            for (size_t a = 0; a < count; a++)
                assert_true(best[a] == place_value(&three[a], expected.at[a]));
            world_close(&w);
        }
}

static void test_dropping_and_threads_do_not_change_the_result(void **state) {
    (void)state;
    static world w;
    size_t firsts[FOLDS];
    for (uint64_t seed = 0; seed < 25; seed++)
        for (size_t count = 1; count <= LM_AXES_MAX; count++) {
            size_t judged = 0;
            world_open(&w, count, noise);
            w.seed = seed;
            find_firsts(&w, firsts);
            candidate expected = plain_search(&w, three, firsts);
            for (int threads = 1; threads <= 4; threads += 3) {
                double best[LM_AXES_MAX];
                w.ctx->threads = threads;
                assert_int_equal(run(&w, three, best), LIMN_OK);
                for (size_t a = 0; a < count; a++)
                    assert_true(best[a] == place_value(&three[a], expected.at[a]));
                assert_true(threads == 1 || w.call_count == judged);
                judged = w.call_count;
            }
            assert_true(judged < w.total); /* some were dropped */
            world_close(&w);
        }
}

static int compare_calls(const void *a, const void *b) {
    return memcmp(a, b, sizeof(call));
}

static void test_no_point_is_judged_twice_on_a_fold(void **state) {
    (void)state;
    static world w;
    double best[LM_AXES_MAX];
    world_open(&w, 3, bowl);
    w.ctx->threads = 4;
    memcpy(w.aim, (double[]){1, 0.1, 9}, sizeof w.aim);
    assert_int_equal(run(&w, three, best), LIMN_OK);
    assert_in_range(w.call_count, 6 * 5 * 4, CALLS_MAX);
    qsort(w.calls, w.call_count, sizeof w.calls[0], compare_calls);
    for (size_t i = 1; i < w.call_count; i++)
        assert_true(compare_calls(&w.calls[i - 1], &w.calls[i]) != 0);
    world_close(&w);
}

static void test_equal_losses_give_the_smallest_values(void **state) {
    (void)state;
    static world w;
    double best[LM_AXES_MAX];
    world_open(&w, 3, flat);
    w.ctx->threads = 4;
    assert_int_equal(run(&w, three, best), LIMN_OK);
    for (size_t a = 0; a < 3; a++)
        assert_true(best[a] == three[a].low);
    world_close(&w);
}

static void test_fixed_axes_stay(void **state) {
    (void)state;
    static world w;
    lm_axis axes[LM_AXES_MAX];
    double best[LM_AXES_MAX];
    world_open(&w, 3, bowl);
    memcpy(w.aim, (double[]){1, 0.1, 9}, sizeof w.aim);
    memcpy(axes, three, sizeof axes);
    axes[1] = (lm_axis){.fixed = true, .value = 0.77};
    assert_int_equal(run(&w, axes, best), LIMN_OK);
    assert_true(best[1] == 0.77);
    assert_true(fabs(log(best[0] / 1)) < 1e-9 && fabs(log(best[2] / 9)) < 1e-9);
    for (size_t i = 0; i < w.call_count; i++)
        assert_true(w.calls[i].values[1] == 0.77);
    axes[0] = (lm_axis){.fixed = true, .value = -3};
    axes[2] = (lm_axis){.fixed = true, .value = 0};
    assert_int_equal(run(&w, axes, best), LIMN_OK);
    assert_int_equal(w.call_count, 0);
    assert_true(best[0] == -3 && best[1] == 0.77 && best[2] == 0);
    world_close(&w);
}

/* ---- rows ---- */

/* Counts, fold by fold, the test rows of each class. */
typedef struct shares {
    const int32_t *label;
    size_t n, folds;
    size_t used[ROWS * 10];
    size_t classes[16][3];
    size_t order; /* of the rows, as a hash */
    bool wrong;
} shares;

static limn_status count_shares(limn_context *ctx, void *user, const double *values,
                                const size_t *train, size_t train_count, const size_t *test,
                                size_t test_count, double *loss) {
    (void)ctx, (void)values;
    shares *s = user;
    unsigned char both[ROWS * 10] = {0};
    for (size_t i = 0; i < train_count; i++)
        both[train[i]]++;
    for (size_t i = 0; i < test_count; i++) {
        both[test[i]]++;
        s->used[test[i]]++;
        s->classes[s->folds % 16][s->label[test[i]]]++;
        s->order = (size_t)lm_hash(s->order, test[i], 0);
    }
    s->folds++;
    size_t covered = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->wrong |= both[i] > 1;
        covered += both[i];
    }
    s->wrong |= covered != train_count + test_count;
    *loss = 1;
    return LIMN_OK;
}

/* One point only, so that each fold is judged once. */
static void take_shares(limn_context *ctx, size_t folds, size_t rows_max, shares *s) {
    const lm_axis one = {.low = 2, .high = 2, .step = 2};
    static int32_t label[ROWS * 10];
    double best = 0;
    memset(s, 0, sizeof *s);
    s->n = ROWS * 10;
    s->label = label;
    for (size_t i = 0; i < s->n; i++) /* 300, 200, 100 rows */
        label[i] = i % 6 < 3 ? 0 : i % 6 < 5 ? 1 : 2;
    assert_int_equal(lm_select(ctx, &one, 1, label, s->n, folds, rows_max, count_shares, s, &best),
                     LIMN_OK);
    assert_true(best == 2);
    assert_false(s->wrong);
    assert_int_equal(s->folds, folds);
}

static void test_folds_share_rows_and_classes_evenly(void **state) {
    (void)state;
    limn_context *ctx = counting_context(&(counting){0});
    shares s;
    take_shares(ctx, 7, 0, &s);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(s.used[i], 1);
    for (size_t f = 0; f < 7; f++)
        for (size_t c = 0; c < 3; c++)
            assert_in_range(s.classes[f][c], (300 - 100 * c) / 7, (300 - 100 * c) / 7 + 1);
    limn_context_free(ctx);
}

static void test_many_rows_are_sampled_by_class(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    shares s;
    take_shares(ctx, 5, 60, &s);
    size_t used = 0;
    for (size_t i = 0; i < s.n; i++) {
        assert_in_range(s.used[i], 0, 1);
        used += s.used[i];
    }
    assert_int_equal(used, 60);
    for (size_t f = 0; f < 5; f++)
        for (size_t c = 0; c < 3; c++)
            assert_int_equal(s.classes[f][c], 6 - 2 * c);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_rows_are_drawn_by_the_seed(void **state) {
    (void)state;
    limn_context *ctx = counting_context(&(counting){0});
    shares first, again, other;
    take_shares(ctx, 5, 60, &first);
    take_shares(ctx, 5, 60, &again);
    assert_true(first.order == again.order);
    ctx->seed++;
    take_shares(ctx, 5, 60, &other);
    assert_true(first.order != other.order);
    limn_context_free(ctx);
}

static void test_few_rows_make_fewer_folds_and_one_row_is_refused(void **state) {
    (void)state;
    static world w;
    double best = -1;
    const lm_axis one = {.low = 2, .high = 2, .step = 2};
    world_open(&w, 1, flat);
    w.n = 3;
    assert_int_equal(run(&w, &one, &best), LIMN_OK);
    assert_int_equal(w.call_count, 3);
    best = -1;
    for (w.n = 0; w.n < 2; w.n++) {
        char sentence[128];
        snprintf(sentence, sizeof sentence,
                 "too few rows (%zu) to choose parameters by validation; set their values yourself",
                 w.n);
        assert_int_equal(run(&w, &one, &best), LIMN_E_DATA);
        assert_string_equal(limn_error(w.ctx), sentence);
    }
    assert_int_equal(lm_select(w.ctx, &one, 1, NULL, ROWS, 1, 0, judge, &w, &best), LIMN_E_USAGE);
    assert_int_equal(w.call_count, 0);
    assert_true(best == -1);
    world_close(&w);
}

/* ---- failures ---- */

static void test_points_that_cannot_be_used_never_win(void **state) {
    (void)state;
    static world w;
    double best[2];
    for (int threads = 1; threads <= 4; threads += 3) {
        world_open(&w, 2, bowl);
        w.ctx->threads = threads;
        w.aim[0] = 30;
        w.aim[1] = 0.1;
        w.refuse = LIMN_E_DATA;
        w.refuse_from = 1;
        assert_int_equal(run(&w, three, best), LIMN_OK);
        assert_true(best[0] > 0.7 && best[0] <= 1);
        assert_true(fabs(log(best[1] / 0.1)) < 1e-9);
        assert_true(w.fraction == 1 && w.done == w.total);
        world_close(&w);
    }
}

static void test_a_judge_that_refuses_everything_gives_its_last_sentence(void **state) {
    (void)state;
    static world w;
    size_t firsts[FOLDS];
    for (int threads = 1; threads <= 4; threads += 3) {
        double best[2] = {-1, -1};
        char sentence[128];
        world_open(&w, 2, bowl);
        find_firsts(&w, firsts);
        w.ctx->threads = threads;
        w.refuse = LIMN_E_DATA;
        assert_int_equal(run(&w, three, best), LIMN_E_DATA);
        assert_int_equal(w.call_count, 6 * 5 + 1); /* the last one again, for its sentence */
        snprintf(sentence, sizeof sentence, "refused 32 10, first row %zu", firsts[0]);
        assert_string_equal(limn_error(w.ctx), sentence);
        assert_true(best[0] == -1 && best[1] == -1);
        world_close(&w);
    }
}

static void test_any_other_failure_ends_the_search(void **state) {
    (void)state;
    static world w;
    static const limn_status statuses[] = {LIMN_E_MEMORY, LIMN_E_UNSUPPORTED, LIMN_E_USAGE,
                                           LIMN_E_CANCELLED};
    size_t firsts[FOLDS];
    for (size_t s = 0; s < LM_COUNT(statuses); s++)
        for (int threads = 1; threads <= 4; threads += 3) {
            double best[2] = {-1, -1};
            char sentence[128];
            world_open(&w, 2, bowl);
            find_firsts(&w, firsts);
            w.ctx->threads = threads;
            w.refuse = statuses[s];
            w.refuse_from = 1;
            assert_int_equal(run(&w, three, best), statuses[s]);
            /* the first of those that fail, regardless of the number of threads */
            snprintf(sentence, sizeof sentence, "refused 2 0.001, first row %zu", firsts[0]);
            assert_string_equal(limn_error(w.ctx), sentence);
            assert_in_range(w.call_count, 3 * 5 + 1, 3 * 5 + (size_t)threads);
            assert_true(best[0] == -1 && best[1] == -1);
            world_close(&w);
        }
}

static double never_a_number(const world *w, const double *values, const size_t *test) {
    return values[0] > 1 ? NAN : 1e300 + bowl(w, values, test);
}

static void test_nan_is_the_worst_loss(void **state) {
    (void)state;
    static world w;
    double best;
    world_open(&w, 1, never_a_number);
    w.aim[0] = 30;
    assert_int_equal(run(&w, three, &best), LIMN_OK);
    assert_true(best <= 1);
    world_close(&w);
}

static void test_cancelling_is_heard_after_every_fold(void **state) {
    (void)state;
    static world w;
    for (int threads = 1; threads <= 4; threads += 3)
        for (int at = 1; at < 60; at += 7) {
            double best[2] = {-1, -1};
            world_open(&w, 2, bowl);
            w.aim[0] = w.aim[1] = 1;
            w.ctx->threads = threads;
            w.cancel_at = at;
            limn_status status = run(&w, three, best);
            /* with several threads the calling one may have too little to do to report that
             * often */
            if (threads == 1 || w.reports >= at) {
                assert_int_equal(status, LIMN_E_CANCELLED);
                assert_string_equal(limn_error(w.ctx), "cancelled while selecting");
                assert_true(best[0] == -1 && best[1] == -1);
                assert_int_equal(w.reports, at);
            }
            /* one report per fold, one at the end of each wave (which has at least one fold),
             * and one at the end of each of the four rounds */
            if (threads == 1)
                assert_true((int)w.call_count <= at && 2 * (int)w.call_count >= at - 4);
            world_close(&w);
        }
}

static void test_judges_hear_cancelling_while_they_work(void **state) {
    (void)state;
    static world w;
    for (int threads = 1; threads <= 2; threads++) {
        double best;
        world_open(&w, 1, bowl);
        w.ctx->threads = threads;
        w.waits = true;
        w.cancel_at = 10;
        /* one point: in a wave of one piece only the calling thread works */
        const lm_axis one = {.low = 2, .high = 2, .step = 2};
        assert_int_equal(run(&w, &one, &best), LIMN_E_CANCELLED);
        assert_int_equal(w.reports, 10);
        assert_int_equal(w.call_count, 1);
        assert_string_equal(limn_error(w.ctx), "cancelled while selecting");
        world_close(&w);
    }
}

static void test_progress_ends_at_the_total(void **state) {
    (void)state;
    static world w;
    double best[3];
    for (int threads = 1; threads <= 4; threads += 3) {
        world_open(&w, 3, bowl);
        w.ctx->threads = threads;
        memcpy(w.aim, (double[]){1, 0.1, 9}, sizeof w.aim);
        assert_int_equal(run(&w, three, best), LIMN_OK);
        assert_int_equal(w.total, FOLDS * (6 * 5 * 4 + 3 * 26));
        assert_int_equal(w.done, w.total);
        assert_true(w.fraction == 1);
        if (threads == 1)
            assert_true((size_t)w.reports >= w.call_count);
        world_close(&w);
    }
}

static void test_wrong_axes_are_refused(void **state) {
    (void)state;
    static world w;
    static const lm_axis wrong[] = {
        {.low = 0, .high = 1, .step = 2},           {.low = -1, .high = 1, .step = 2},
        {.low = 2, .high = 1, .step = 2},           {.low = 1, .high = 2, .step = 1},
        {.low = 1, .high = 2, .step = 0.5},         {.low = NAN, .high = 2, .step = 2},
        {.low = 1, .high = INFINITY, .step = 2},    {.low = 1, .high = NAN, .step = 2},
        {.low = 1, .high = 2, .step = NAN},         {.low = 1, .high = 2, .step = INFINITY},
        {.low = 1, .high = 2, .step = 1.000000001},
    };
    double best = -1;
    world_open(&w, 1, flat);
    for (size_t i = 0; i < LM_COUNT(wrong); i++)
        assert_int_equal(run(&w, &wrong[i], &best), LIMN_E_USAGE);
    assert_int_equal(run(&w, &wrong[2], &best), LIMN_E_USAGE);
    assert_string_equal(limn_error(w.ctx),
                        "axis 1: from 2 to 1 by factors of 2 is not a grid of 1 to 4096 points");
    const lm_axis many[3] = {{.low = 1, .high = 1e9, .step = 2},
                             {.low = 1, .high = 1e9, .step = 2},
                             {.low = 1, .high = 1e9, .step = 2}};
    w.axis_count = 3;
    assert_int_equal(run(&w, many, &best), LIMN_E_USAGE);
    w.axis_count = 0;
    assert_int_equal(run(&w, many, &best), LIMN_E_USAGE);
    w.axis_count = 4;
    assert_int_equal(run(&w, many, &best), LIMN_E_USAGE);
    assert_int_equal(w.call_count, 0);
    assert_true(best == -1);
    world_close(&w);
}

static void test_every_failing_allocation_is_reported(void **state) {
    (void)state;
    static world w;
    static int32_t label[ROWS];
    bool done = false;
    for (size_t i = 0; i < ROWS; i++)
        label[i] = (int32_t)(i % 3);
    world_open(&w, 2, bowl);
    w.aim[0] = w.aim[1] = 1;
    w.ctx->threads = 3;
    for (unsigned at = 1; !done; at++) {
        double best[2] = {-1, -1};
        w.done = 0;
        w.fraction = 0;
        long live = w.count.live;
        w.count.fail_at = at;
        limn_status status =
            lm_select(w.ctx, three, 2, label, ROWS, FOLDS, ROWS / 2, judge, &w, best);
        done = w.count.fail_at != 0;
        w.count.fail_at = 0;
        assert_int_equal(w.count.live, live);
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        assert_true(done || (best[0] == -1 && best[1] == -1));
        if (done)
            assert_true(at > 10);
    }
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bottom_of_a_bowl_is_found_within_the_fine_step),
        cmocka_unit_test(test_a_bowl_gives_the_same_point_as_a_scan_of_the_whole_fine_grid),
        cmocka_unit_test(test_dropping_and_threads_do_not_change_the_result),
        cmocka_unit_test(test_no_point_is_judged_twice_on_a_fold),
        cmocka_unit_test(test_equal_losses_give_the_smallest_values),
        cmocka_unit_test(test_fixed_axes_stay),
        cmocka_unit_test(test_folds_share_rows_and_classes_evenly),
        cmocka_unit_test(test_many_rows_are_sampled_by_class),
        cmocka_unit_test(test_rows_are_drawn_by_the_seed),
        cmocka_unit_test(test_few_rows_make_fewer_folds_and_one_row_is_refused),
        cmocka_unit_test(test_points_that_cannot_be_used_never_win),
        cmocka_unit_test(test_a_judge_that_refuses_everything_gives_its_last_sentence),
        cmocka_unit_test(test_any_other_failure_ends_the_search),
        cmocka_unit_test(test_nan_is_the_worst_loss),
        cmocka_unit_test(test_cancelling_is_heard_after_every_fold),
        cmocka_unit_test(test_judges_hear_cancelling_while_they_work),
        cmocka_unit_test(test_progress_ends_at_the_total),
        cmocka_unit_test(test_wrong_axes_are_refused),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
