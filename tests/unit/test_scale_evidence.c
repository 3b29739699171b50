/* test_scale_evidence.c: samples with each class in its share; the losses of nearest neighbours and
 * the walk from one candidate to the next, against slow ones and by hand. */
#include "data/split.h"
#include "scale_auto_slow.h"

/* ---- samples ---- */

static void some_labels(int32_t *label, size_t n, size_t classes, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 1, 0);
    for (size_t i = 0; i < n; i++) /* uneven; class 2 is empty */
        label[i] = (int32_t)(lm_rng_below(&rng, classes) * lm_rng_below(&rng, classes) / classes);
    for (size_t i = 0; i < n; i++)
        label[i] += label[i] >= 2;
}

static void count_classes(const int32_t *label, const size_t *rows, size_t n, size_t *count) {
    memset(count, 0, 16 * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[label ? label[rows[i]] : 0]++;
}

/* Of each class as many as its share of the rows that were left, or one more or less. */
static void check_parts(const int32_t *label, size_t n, const size_t *count, size_t parts,
                        const size_t *rows) {
    size_t left[16], drawn[16], at = 0;
    bool *seen = calloc(n + 1, sizeof *seen);
    for (size_t i = 0; i < n; i++) {
        assert_true(rows[i] < n && !seen[rows[i]]);
        seen[rows[i]] = true;
    }
    for (size_t p = 0; p < parts; at += count[p++]) {
        count_classes(label, rows + at, n - at, left);
        count_classes(label, rows + at, count[p], drawn);
        for (size_t c = 0; c < 16; c++) {
            double share = n > at ? (double)left[c] * (double)count[p] / (double)(n - at) : 0;
            assert_true(fabs((double)drawn[c] - share) < 1);
        }
    }
    free(seen);
}

static void test_parts_have_every_row_once_and_each_class_in_its_share(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    lm_rng rng = lm_rng_at(5, 5, 5);
    for (size_t round = 0; round < 300; round++) {
        size_t n = (size_t)lm_rng_below(&rng, 300), parts[4], left = n;
        int32_t *label = malloc((n + 1) * sizeof *label);
        size_t *rows = malloc((n + 1) * sizeof *rows);
        some_labels(label, n, 1 + round % 7, round);
        for (size_t p = 0; p < 4; left -= parts[p++])
            parts[p] = p == 3 && round % 3 == 0 ? left : (size_t)lm_rng_below(&rng, left + 1);
        const int32_t *given = round % 5 ? label : NULL;
        rows[n] = 12345; /* past the end */
        assert_int_equal(lm_split_spread(ctx, given, n, parts, round % 5, 7, round, rows), LIMN_OK);
        assert_int_equal(rows[n], 12345);
        check_parts(given, n, parts, round % 5, rows);
        free(label);
        free(rows);
    }
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* The share of all rows, which the first part cannot miss by a row. */
static void test_a_sample_has_each_class_in_its_share(void **state) {
    (void)state;
    enum { N = 997 };
    int32_t label[N];
    size_t rows[N], all[16], drawn[16];
    limn_context *ctx = make_context(NULL, 1, 1);
    some_labels(label, N, 6, 3);
    for (size_t i = 0; i < N; i++)
        rows[i] = i;
    count_classes(label, rows, N, all);
    for (size_t count = 0; count <= N; count += 71) {
        assert_int_equal(lm_split_spread(ctx, label, N, &count, 1, 7, 8, rows), LIMN_OK);
        count_classes(label, rows, count, drawn);
        for (size_t c = 0; c < 16; c++)
            assert_true(fabs((double)drawn[c] - (double)all[c] * (double)count / N) < 1);
    }
    limn_context_free(ctx);
}

static void test_parts_depend_on_the_seed_and_stream_and_on_no_later_part(void **state) {
    (void)state;
    enum { N = 200 };
    const size_t counts[] = {50, 30, 100};
    int32_t label[N];
    size_t first[N], other[N];
    limn_context *ctx = make_context(NULL, 1, 1), *another = make_context(NULL, 3, 99);
    some_labels(label, N, 4, 1);
    assert_int_equal(lm_split_spread(ctx, label, N, counts, 3, 7, 8, first), LIMN_OK);
    assert_int_equal(lm_split_spread(another, label, N, counts, 3, 7, 8, other), LIMN_OK);
    assert_memory_equal(first, other, sizeof first);
    for (size_t parts = 1; parts < 3; parts++) {
        size_t drawn = counts[0] + (parts > 1 ? counts[1] : 0);
        assert_int_equal(lm_split_spread(ctx, label, N, counts, parts, 7, 8, other), LIMN_OK);
        assert_memory_equal(first, other, drawn * sizeof *first);
    }
    assert_int_equal(lm_split_spread(ctx, label, N, counts, 3, 6, 8, other), LIMN_OK);
    assert_memory_not_equal(first, other, counts[0] * sizeof *first);
    assert_int_equal(lm_split_spread(ctx, label, N, counts, 3, 7, 9, other), LIMN_OK);
    assert_memory_not_equal(first, other, counts[0] * sizeof *first);
    limn_context_free(ctx);
    limn_context_free(another);
}

/* Of 20 rows, 10 in 300 draws: 150 times each, within 6 standard deviations. */
static void test_every_row_is_drawn_equally_often(void **state) {
    (void)state;
    enum { N = 20, DRAWS = 300 };
    const size_t half = N / 2;
    size_t rows[N], drawn[N] = {0};
    int32_t label[N];
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < N; i++)
        label[i] = i % 4 == 0;
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        assert_int_equal(lm_split_spread(ctx, label, N, &half, 1, seed, 8, rows), LIMN_OK);
        for (size_t i = 0; i < half; i++)
            drawn[rows[i]]++;
    }
    for (size_t i = 0; i < N; i++)
        assert_in_range(drawn[i], 98, 202);
    limn_context_free(ctx);
}

static void test_a_split_that_fails_leaves_nothing_behind(void **state) {
    (void)state;
    const int32_t label[] = {0, 1, 0, 1}, negative[] = {0, -1, 0, 1};
    const size_t two = 2;
    size_t rows[4];
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    long before = count.live;
    for (unsigned n = 1, done = 0; !done; n++) {
        count.fail_at = n;
        limn_status status = lm_split_spread(ctx, label, 4, &two, 1, 7, 8, rows);
        done = count.fail_at != 0;
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        assert_true(count.live == before && n < 10);
    }
    count.fail_at = 0;
    assert_int_equal(lm_split_spread(ctx, negative, 4, &two, 1, 7, 8, rows), LIMN_E_USAGE);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* ---- losses ---- */

/* Lists in any order: stored is every row from the last to the first, or every third. */
static void check_losses(limn_context *ctx, const table *t, limn_scale kind) {
    lm_scaler_rows rows = rows_of(t);
    size_t n = t->n, *list = malloc(3 * n * sizeof *list), *back = list + n, *third = back + n;
    double *got = malloc(2 * n * JUDGES * sizeof *got), *expected = got + n * JUDGES;
    identity(list, n);
    for (size_t i = 0; i < n; i++) {
        back[i] = n - 1 - i;
        third[i] = i * 3 % n;
    }
    const lm_row_list all = {list, n}, turned = {back, n}, some = {third, (n + 2) / 3};
    const struct {
        lm_row_list stored, asked;
        bool leave_out;
    } cases[] = {{all, all, true},  {turned, turned, true}, {some, some, n > 3},
                 {all, all, false}, {turned, all, false},   {some, all, false},
                 {all, some, false}};
    lm_scaler s = must_fit(ctx, kind, &rows);
    for (size_t c = 0; c < LM_COUNT(cases); c++) {
        lm_row_list stored = cases[c].stored, asked = cases[c].asked;
        if (stored.n < 2)
            continue;
        assert_int_equal(lm_evidence_losses(ctx, &s, &rows, stored, asked, cases[c].leave_out, got),
                         LIMN_OK);
        slow_losses(ctx, &s, &rows, stored, asked, cases[c].leave_out, expected);
        for (size_t i = 0; i < asked.n * JUDGES; i++)
            if (got[i] != expected[i])
                fail_msg("%s, n %zu, case %zu, row %zu, judge %zu: loss %g, not %g",
                         limn_scale_name(kind), n, c, i / JUDGES, i % JUDGES, got[i], expected[i]);
    }
    lm_scaler_free(&ctx->mem, &s);
    free(list);
    free(got);
}

static void test_losses_are_those_of_slow_neighbours(void **state) {
    (void)state;
    static const size_t ns[] = {2, 3, 5, 6, 7, 9, 10, 11, 17, 63, 64, 65, 200};
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    for (size_t a = 0; a < LM_COUNT(ns); a++)
        for (size_t mix = 0; mix < 8; mix++) {
            table t = mixed_table(ns[a], 1 + mix, mix % 4 < 2 ? 3 : 0, mix % 2, mix);
            for (size_t c = 0; c < CANDIDATES; c++)
                check_losses(ctx, &t, kinds[c]);
            table_free(&t);
        }
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_losses_of_huge_tiny_and_equal_rows_are_exact_too(void **state) {
    (void)state;
    static const double sizes[] = {1e37, 1e30, 1e-30, 1e-44, 0};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t a = 0; a < LM_COUNT(sizes); a++) {
        table t = mixed_table(90, 3, a % 2 ? 3 : 0, true, a);
        for (size_t i = 0; i < t.n * t.d; i++)
            t.x[i] = (float)((double)t.x[i] * sizes[a]);
        for (size_t c = 0; c < CANDIDATES; c++)
            check_losses(ctx, &t, kinds[c]);
        table_free(&t);
    }
    limn_context_free(ctx);
}

static void test_losses_are_the_same_for_any_number_of_threads(void **state) {
    (void)state;
    enum { N = 700 };
    size_t row[N];
    double first[N * JUDGES], loss[N * JUDGES];
    counting count = {0};
    table t = mixed_table(N, 5, 0, false, 1);
    lm_scaler_rows rows = rows_of(&t);
    identity(row, N);
    for (int threads = 1; threads <= 3; threads++) {
        limn_context *ctx = make_context(&count, threads, 1);
        lm_scaler s = must_fit(ctx, LIMN_SCALE_RANK, &rows);
        const lm_row_list list = {row, N};
        assert_int_equal(
            lm_evidence_losses(ctx, &s, &rows, list, list, true, threads == 1 ? first : loss),
            LIMN_OK);
        assert_true(threads == 1 || memcmp(first, loss, sizeof loss) == 0);
        lm_scaler_free(&ctx->mem, &s);
        limn_context_free(ctx);
    }
    assert_int_equal(count.live, 0);
    table_free(&t);
}

/* ---- answers by hand ---- */

static const lm_scaler as_it_is = {.kind = LIMN_SCALE_NONE, .in = 1, .kept = 1, .out = 1};

static void must_lose(limn_context *ctx, const lm_scaler_rows *rows, lm_row_list list,
                      const double (*expected)[JUDGES]) {
    double loss[16][JUDGES];
    assert_int_equal(lm_evidence_losses(ctx, &as_it_is, rows, list, list, true, loss[0]), LIMN_OK);
    assert_memory_equal(loss, expected, list.n * sizeof *loss);
}

/* Four rows answer for each, and all four judge for five and nine. */
static void test_ties_go_to_the_first_stored_row_that_is_another_one(void **state) {
    (void)state;
    static const float x[] = {5, 5, 5, 7, 9}; /* row 3 is as near to row 0 as to row 4 */
    static const int32_t label[] = {0, 1, 1, 2, 3};
    static const double target[] = {10, 21, 33, 70, 100};
    static const size_t forward[] = {0, 1, 2, 3, 4}, backward[] = {4, 3, 2, 1, 0}, lone[] = {3};
    static const double
        by_label[][JUDGES] = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
        turned[][JUDGES] = {{1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}},
        by_target[][JUDGES] = {{11, 46, 46},
                               {11, 32.25, 32.25},
                               {23, 17.25, 17.25},
                               {60, 29, 29},
                               {30, 66.5, 66.5}},
        target_turned[][JUDGES] = {
            {30, 66.5, 66.5}, {30, 29, 29}, {12, 17.25, 17.25}, {12, 32.25, 32.25}, {23, 46, 46}};
    lm_scaler_rows rows = {.x = x, .n = 5, .d = 1, .label = label, .classes = 4};
    limn_context *ctx = make_context(NULL, 1, 1);
    const lm_row_list up = {forward, 5}, down = {backward, 5}, one = {lone, 1};
    double loss[JUDGES];
    must_lose(ctx, &rows, up, by_label);
    must_lose(ctx, &rows, down, turned);
    rows.label = NULL;
    rows.target = target;
    must_lose(ctx, &rows, up, by_target);
    must_lose(ctx, &rows, down, target_turned);
    assert_int_equal(lm_evidence_losses(ctx, &as_it_is, &rows, up, one, false, loss), LIMN_OK);
    assert_true(loss[0] == 0); /* itself; and the mean of all five is 46.8 */
    assert_true(fabs(loss[1] - 23.2) < 1e-12 && loss[2] == loss[1]);
    limn_context_free(ctx);
}

enum { ANSWERS = 9, CLASSES = 4 };

/* Rows 1, 2, 3... answer for row 0, the nearest first. */
static void ask_row_0(limn_context *ctx, const int32_t *label, const double *target, size_t n,
                      double *loss) {
    static const size_t row[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const float x[] = {0, 1, -2, 3, -4, 5, -6, 7, -8, 9};
    lm_scaler_rows rows = {
        .x = x, .n = n + 1, .d = 1, .label = label, .classes = CLASSES, .target = target};
    const lm_row_list stored = {row + 1, n}, asked = {row, 1};
    assert_int_equal(lm_evidence_losses(ctx, &as_it_is, &rows, stored, asked, false, loss),
                     LIMN_OK);
}

static void test_the_majority_answers_and_ties_go_to_the_lower_class(void **state) {
    (void)state;
    static const struct {
        size_t n;
        int32_t label[ANSWERS], answer[JUDGES];
    } cases[] = {{9, {3, 1, 1, 0, 0, 2, 2, 2, 2}, {3, 0, 2}},
                 {9, {0, 2, 2, 1, 1, 1, 2, 0, 0}, {0, 1, 0}},
                 {9, {3, 3, 3, 3, 3, 0, 0, 0, 0}, {3, 3, 3}},
                 {9, {3, 2, 1, 0, 3, 2, 1, 0, 2}, {3, 3, 2}},
                 {9, {2, 1, 3, 3, 1, 3, 1, 0, 0}, {2, 1, 1}},
                 {9, {1, 3, 2, 0, 3, 0, 2, 2, 3}, {1, 3, 2}},
                 {9, {2, 3, 3, 3, 0, 0, 0, 1, 1}, {2, 3, 0}},
                 {8, {1, 3, 3, 2, 2, 1, 1, 2}, {1, 2, 1}},
                 {7, {0, 2, 2, 3, 3, 3, 1}, {0, 2, 3}},
                 {6, {3, 2, 2, 0, 0, 2}, {3, 0, 2}},
                 {5, {3, 1, 2, 2, 1}, {3, 1, 1}},
                 {4, {3, 1, 1, 3}, {3, 1, 1}},
                 {4, {3, 2, 1, 0}, {3, 0, 0}},
                 {3, {2, 3, 3}, {2, 3, 3}},
                 {2, {1, 0}, {1, 0, 0}},
                 {2, {2, 2}, {2, 2, 2}}};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        for (int32_t truth = 0; truth < CLASSES; truth++) {
            int32_t label[ANSWERS + 1] = {truth};
            double loss[JUDGES];
            memcpy(label + 1, cases[i].label, sizeof cases[i].label);
            ask_row_0(ctx, label, NULL, cases[i].n, loss);
            for (size_t k = 0; k < JUDGES; k++)
                if (loss[k] != (cases[i].answer[k] != truth))
                    fail_msg("case %zu, class %d, judge %zu: loss %g", i, truth, k, loss[k]);
        }
    limn_context_free(ctx);
}

/* The sum of five or nine of the largest is infinite. */
static void test_targets_are_answered_by_the_mean_which_cannot_overflow(void **state) {
    (void)state;
    static const struct {
        size_t n;
        double target[ANSWERS + 1], loss[JUDGES]; /* that of row 0 first */
    } cases[] = {
        {9, {1, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 4, 6}},
        {8, {-1, 3, 4, 5, 6, 7, -8, -8, -1}, {4, 6, 2}},
        {4, {2, 3, 4, 5, 8}, {1, 3, 3}},
        {2, {2, 3, 4}, {1, 1.5, 1.5}},
        {9,
         {0, 1e308, 1e308, 1e308, 1e308, 1e308, 1e308, 1e308, 1e308, 1e308},
         {1e308, 1e308, 1e308}},
        {9, {0, -1e300, -1e300, -1e300, -1e300, -1e300, 0, 0, 0, 0}, {1e300, 1e300, 5e300 / 9}},
        {5, {7e307, 1.7e308, 1.7e308, 1.7e308, 1.7e308, 1.7e308}, {1e308, 1e308, 1e308}},
        {2, {1e300, 1e308, -1e308}, {1e308 - 1e300, 1e300, 1e300}}};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        double loss[JUDGES];
        ask_row_0(ctx, NULL, cases[i].target, cases[i].n, loss);
        for (size_t k = 0; k < JUDGES; k++)
            if (!(fabs(loss[k] - cases[i].loss[k]) <= 1e-12 * cases[i].loss[k]))
                fail_msg("case %zu, judge %zu: loss %g", i, k, loss[k]);
    }
    limn_context_free(ctx);
}

/* The mean of the first rows of the list that are not the row itself: of 2 to the power of their
 * number, so that it tells which these were. */
static double mean_of_first(size_t n, size_t own) {
    double sum = 0;
    for (size_t i = 0, count = 0; count < n; i++)
        if (i != own) {
            sum += ldexp(1, (int)i);
            count++;
        }
    return sum / (double)n;
}

/* All rows are equal: those at the first ten places find themselves among their ten nearest, later
 * ones do not. Either way the first of the others answer. */
static void test_among_many_duplicates_a_row_does_not_answer_for_itself(void **state) {
    (void)state;
    enum { N = 30, OFF = 7 };
    static const size_t judges[JUDGES] = {1, 5, 9};
    float x[N] = {0};
    double target[N], loss[N * JUDGES];
    size_t row[N];
    lm_scaler_rows rows = {.x = x, .n = N, .d = 1, .target = target};
    const lm_row_list list = {row, N};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < N; i++) {
        row[i] = (i + OFF) % N; /* places are not numbers of rows */
        target[row[i]] = ldexp(1, (int)i);
    }
    assert_int_equal(lm_evidence_losses(ctx, &as_it_is, &rows, list, list, true, loss), LIMN_OK);
    for (size_t i = 0; i < N * JUDGES; i++) {
        size_t own = i / JUDGES;
        double expected = fabs(mean_of_first(judges[i % JUDGES], own) - ldexp(1, (int)own));
        assert_true(fabs(loss[i] - expected) <= 1e-12 * expected);
    }
    limn_context_free(ctx);
}

/* ---- the walk ---- */

static const char *const names[CANDIDATES] = {"minmax", "none", "zscore", "rank", "gauss"};

/* Of targets: whole numbers, so that many are equal, or any; some are infinite. */
static void some_losses(lm_rng *rng, bool targets, bool any, double *loss, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double whole = (double)lm_rng_below(rng, targets ? 9 : 2);
        loss[i] = whole == 8 ? INFINITY : targets && any ? fabs(lm_rng_normal(rng)) : whole;
    }
}

static void test_walks_are_those_of_a_slow_walk(void **state) {
    (void)state;
    enum { MOST = 60 };
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    lm_rng rng = lm_rng_at(6, 6, 6);
    size_t taken[CANDIDATES] = {0};
    for (size_t round = 0; round < 2000; round++) {
        double loss[CANDIDATES * MOST * JUDGES], needed[CANDIDATES];
        int64_t z[CANDIDATES];
        size_t n = 1 + lm_rng_below(&rng, MOST), candidates = 1 + lm_rng_below(&rng, CANDIDATES);
        bool targets = round % 2;
        lm_trials got, expected;
        for (size_t c = 0; c < CANDIDATES; c++)
            needed[c] = (double)(z[c] = (int64_t)lm_rng_below(&rng, 4) * (round % 7 > 0));
        some_losses(&rng, targets, round % 3 == 0, loss, candidates * n * JUDGES);
        size_t choice = slow_walk(names, z, candidates, targets, loss, n, &expected);
        assert_int_equal(lm_evidence_walk(ctx, names, needed, candidates, targets, loss, n, &got),
                         LIMN_OK);
        assert_same_trials(&got, &expected);
        assert_int_equal(lm_trials_choice(&got), choice);
        taken[choice]++;
    }
    for (size_t c = 0; c < CANDIDATES; c++)
        assert_true(taken[c] > 20); /* so walks of every length went by */
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

enum { HAND = 40 /* rows */ };

/* Which answers of a row are wrong with the first candidate and with the second: a bit for each. */
enum { MEND_3, MEND_2, MEND_1, MEND_2_BREAK_1, MEND_1_BREAK_1, BREAK_1, BREAK_3, SORTS };
static const struct {
    unsigned before, after;
    size_t mends, breaks;
} sorts[SORTS + 1] = {{7, 0, 3, 0}, {6, 0, 2, 0}, {3, 1, 1, 0}, {3, 4, 2, 1},
                      {1, 2, 1, 1}, {0, 2, 0, 1}, {0, 7, 0, 3}, {5, 5, 0, 0}};

/* Losses of the two; all rows beyond these keep their answers. */
static void put_rows(const size_t *rows, double *loss) {
    size_t left[SORTS], sort = 0;
    memcpy(left, rows, sizeof left);
    for (size_t i = 0; i < HAND; i++) {
        while (sort < SORTS && left[sort] == 0)
            sort++;
        if (sort < SORTS)
            left[sort]--;
        for (size_t k = 0; k < JUDGES; k++) {
            loss[i * JUDGES + k] = sorts[sort].before >> k & 1;
            loss[(HAND + i) * JUDGES + k] = sorts[sort].after >> k & 1;
        }
    }
}

static bool walk_once(limn_context *ctx, const size_t *rows, double z) {
    const double needed[] = {0, z};
    double loss[2 * HAND * JUDGES], before = 0, after = 0;
    size_t mends = 0, breaks = 0;
    lm_trials t;
    put_rows(rows, loss);
    for (size_t i = 0; i < HAND * JUDGES; i++) {
        before += loss[i];
        after += loss[HAND * JUDGES + i];
    }
    for (size_t i = 0; i < SORTS; i++) {
        mends += rows[i] * sorts[i].mends;
        breaks += rows[i] * sorts[i].breaks;
    }
    assert_int_equal(lm_evidence_walk(ctx, names, needed, 2, false, loss, HAND, &t), LIMN_OK);
    bool taken = t.list[1].taken;
    assert_same_trials(&t, &(lm_trials){HAND,
                                        2,
                                        {{names[0], (uint64_t)before, 0, 0, true},
                                         {names[1], (uint64_t)after, mends, breaks, taken}}});
    assert_int_equal(lm_trials_choice(&t), taken);
    return taken;
}

/* Of a row whose three answers become right together the gain is 3 and its square 9; where one
 * becomes right and another wrong it is 0. */
static void test_a_candidate_at_the_boundary_is_not_taken(void **state) {
    (void)state;
    static const struct {
        size_t rows[SORTS];
        double z;
        bool taken;
    } cases[] = {
        {{0}, 1, false},
        {{0, 0, 1}, 1, false}, /* 1 = sqrt(1) */
        {{0, 0, 2}, 1, true},
        {{1}, 1, false}, /* 3 = sqrt(9) */
        {{2}, 1, true},
        {{0, 1}, 1, false},
        {{0, 2}, 1, true},
        {{0, 0, 3, 0, 0, 1}, 1, false}, /* 2 = sqrt(4) */
        {{0, 0, 4, 0, 0, 1}, 1, true},
        {{3, 0, 0, 0, 0, 0, 1}, 1, false}, /* 6 = sqrt(36) */
        {{3, 0, 1, 0, 0, 0, 1}, 1, true},
        {{0, 2, 0, 0, 0, 1}, 1, false}, /* 3 = sqrt(9) */
        {{0, 3, 0, 0, 0, 1}, 1, true},
        {{0, 5, 0, 0, 0, 5}, 1, false}, /* 5 = sqrt(25) */
        {{0, 0, 10, 0, 0, 6}, 1, false},
        {{0, 0, 11, 0, 0, 6}, 1, true},
        {{0, 0, 6, 0, 0, 10}, 1, false},
        {{0, 0, 4}, 2, false}, /* 4 = 2 sqrt(4) */
        {{0, 0, 5}, 2, true},
        {{0, 4}, 2, false},
        {{0, 5}, 2, true},
        {{4}, 2, false}, /* 12 = 2 sqrt(36), though 12 > 2 sqrt(12) */
        {{5}, 2, true},
        {{0, 0, 0, 4}, 2, false}, /* 4 = 2 sqrt(4) */
        {{0, 0, 0, 5}, 2, true},
        {{0, 0, 4, 0, 20}, 2, false}, /* rows without a gain do not count... */
        {{0, 0, 5, 0, 20}, 2, true},  /* ...though 5 < 2 sqrt(25 + 20) */
        {{0, 0, 12, 0, 0, 4}, 2, false},
        {{0, 0, 13, 0, 0, 4}, 2, true},
        {{12, 0, 0, 0, 0, 0, 4}, 2, false}, /* 24 = 2 sqrt(144) */
        {{13, 0, 0, 0, 0, 0, 4}, 2, true},
        {{0, 0, 0, 0, 30}, 0, false},
        {{1, 0, 0, 0, 0, 0, 1}, 0, false},
        {{0, 0, 3, 0, 0, 0, 1}, 0, false},
        {{0, 0, 1}, 0, true},
        {{0, 0, 0, 0, 0, 0, 20}, 1, false},
    };
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        if (walk_once(ctx, cases[i].rows, cases[i].z) != cases[i].taken)
            fail_msg("case %zu", i);
    limn_context_free(ctx);
}

/* Wrong are, with each candidate, the rows below these by each judge, from the first on that is
 * given. */
static void test_each_candidate_is_compared_with_the_one_in_force(void **state) {
    (void)state;
    static const double needed[] = {0, 1, 3, 1, 2};
    static const struct {
        size_t first, below[JUDGES];
    } wrong[CANDIDATES] = {
        {0, {20, 20, 20}}, {0, {10, 10, 20}}, {5, {10, 10, 25}}, {0, {10, 11, 19}}, {0, {0, 0, 0}}};
    static const lm_trials expected = {HAND,
                                       CANDIDATES,
                                       {{"minmax", 60, 0, 0, true},
                                        {"none", 40, 20, 0, true},    /* 20 > sqrt(40) */
                                        {"zscore", 30, 15, 5, false}, /* 10 < 3 sqrt(50) */
                                        {"rank", 40, 1, 1, false},
                                        {"gauss", 0, 40, 0, true}}};
    double loss[CANDIDATES * HAND * JUDGES];
    lm_trials trials = {.rows = 0};
    assert_int_equal(lm_trials_choice(&trials), 0);
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(loss); i++) {
        size_t c = i / JUDGES / HAND, row = i / JUDGES % HAND;
        loss[i] = row >= wrong[c].first && row < wrong[c].below[i % JUDGES];
    }
    assert_int_equal(lm_evidence_walk(ctx, names, needed, CANDIDATES, false, loss, HAND, &trials),
                     LIMN_OK);
    assert_same_trials(&trials, &expected);
    assert_int_equal(lm_trials_choice(&trials), 4);
    limn_context_free(ctx);
}

/* The fourth of eight losses of each judge: of 0 1 1 1 2 2 8 9 it is 1, of 5 10 20 30 40 50 60 70
 * it is 30, and of .1 and seven times .3 it is .3. */
static void test_targets_count_as_wrong_above_the_median_of_their_judge(void **state) {
    (void)state;
    static const double loss[2 * 4 * JUDGES] = {
        1, 40, .3, 9, 10, .3, 2, 30, .3, 1, 20, .3, /* wrong: 9, 2; 40 */
        0, 50, .3, 2, 60, .3, 1, 70, .3, 8, 5,  .1, /* wrong: 2, 8; 50, 60, 70 */
    };
    static const double needed[] = {0, 0};
    static const lm_trials first = {4, 2, {{"minmax", 3, 0, 0, true}, {"none", 5, 1, 3, false}}},
                           turned = {4, 2, {{"minmax", 5, 0, 0, true}, {"none", 3, 3, 1, true}}};
    double other[2 * 4 * JUDGES];
    lm_trials trials;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    long before = count.live;
    assert_int_equal(lm_evidence_walk(ctx, names, needed, 2, true, loss, 4, &trials), LIMN_OK);
    assert_same_trials(&trials, &first);
    memcpy(other, loss + 4 * JUDGES, sizeof other / 2);
    memcpy(other + 4 * JUDGES, loss, sizeof other / 2);
    assert_int_equal(lm_evidence_walk(ctx, names, needed, 2, true, other, 4, &trials), LIMN_OK);
    assert_same_trials(&trials, &turned);
    for (unsigned n = 1; n <= JUDGES; n++) {
        count.fail_at = n;
        assert_int_equal(lm_evidence_walk(ctx, names, needed, 2, true, loss, 4, &trials),
                         LIMN_E_MEMORY);
        assert_int_equal(count.live, before);
    }
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_every_row_once_and_each_class_in_its_share),
        cmocka_unit_test(test_a_sample_has_each_class_in_its_share),
        cmocka_unit_test(test_parts_depend_on_the_seed_and_stream_and_on_no_later_part),
        cmocka_unit_test(test_every_row_is_drawn_equally_often),
        cmocka_unit_test(test_a_split_that_fails_leaves_nothing_behind),
        cmocka_unit_test(test_losses_are_those_of_slow_neighbours),
        cmocka_unit_test(test_losses_of_huge_tiny_and_equal_rows_are_exact_too),
        cmocka_unit_test(test_losses_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(test_ties_go_to_the_first_stored_row_that_is_another_one),
        cmocka_unit_test(test_the_majority_answers_and_ties_go_to_the_lower_class),
        cmocka_unit_test(test_targets_are_answered_by_the_mean_which_cannot_overflow),
        cmocka_unit_test(test_among_many_duplicates_a_row_does_not_answer_for_itself),
        cmocka_unit_test(test_walks_are_those_of_a_slow_walk),
        cmocka_unit_test(test_a_candidate_at_the_boundary_is_not_taken),
        cmocka_unit_test(test_each_candidate_is_compared_with_the_one_in_force),
        cmocka_unit_test(test_targets_count_as_wrong_above_the_median_of_their_judge),
    };
    return cmocka_run_group_tests_name("evidence for scalings", tests, NULL, NULL);
}
