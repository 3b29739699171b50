/* test_scale_evidence.c: samples with each class in its share, the losses of a nearest neighbour
 * against a slow one, and the walk from one candidate to the next, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
/* cmocka.h needs those above, and scale_auto_slow.h cmocka.h */
#include <cmocka.h>

#include "scale_auto_slow.h"

#include "data/split.h"

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
    double *got = malloc(2 * n * sizeof *got), *expected = got + n;
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
        slow_losses(&s, &rows, stored, asked, cases[c].leave_out, expected);
        for (size_t i = 0; i < asked.n; i++)
            if (got[i] != expected[i])
                fail_msg("%s, n %zu, case %zu, row %zu: loss %g, not %g", limn_scale_name(kind), n,
                         c, i, got[i], expected[i]);
    }
    lm_scaler_free(&ctx->mem, &s);
    free(list);
    free(got);
}

static void test_losses_are_those_of_a_slow_nearest_neighbour(void **state) {
    (void)state;
    static const size_t ns[] = {2, 3, 17, 63, 64, 65, 200};
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

static void test_ties_go_to_the_first_stored_row_that_is_another_one(void **state) {
    (void)state;
    float x[] = {5, 5, 5, 7, 9}; /* row 3 is as near to row 0 as to row 4 */
    int32_t label[] = {0, 1, 1, 2, 3};
    const size_t forward[] = {0, 1, 2, 3, 4}, backward[] = {4, 3, 2, 1, 0}, lone[] = {3};
    const double left_out[] = {1, 1, 1, 1, 1}, reversed[] = {1, 1, 0, 0, 1};
    double target[] = {10, 21, 33, 70, 100}, loss[5];
    lm_scaler_rows rows = {.x = x, .n = 5, .d = 1, .label = label, .classes = 4};
    lm_scaler none = {.kind = LIMN_SCALE_NONE, .in = 1, .kept = 1, .out = 1};
    limn_context *ctx = make_context(NULL, 1, 1);
    const lm_row_list up = {forward, 5}, down = {backward, 5}, one = {lone, 1};
    assert_int_equal(lm_evidence_losses(ctx, &none, &rows, up, up, true, loss), LIMN_OK);
    assert_memory_equal(loss, left_out, sizeof loss);
    assert_int_equal(lm_evidence_losses(ctx, &none, &rows, down, down, true, loss), LIMN_OK);
    assert_memory_equal(loss, reversed, sizeof loss);
    rows.label = NULL;
    rows.target = target;
    const double by_target[] = {11, 11, 23, 60, 30}, down_target[] = {30, 30, 12, 12, 23};
    assert_int_equal(lm_evidence_losses(ctx, &none, &rows, up, up, true, loss), LIMN_OK);
    assert_memory_equal(loss, by_target, sizeof loss);
    assert_int_equal(lm_evidence_losses(ctx, &none, &rows, down, down, true, loss), LIMN_OK);
    assert_memory_equal(loss, down_target, sizeof loss);
    assert_int_equal(lm_evidence_losses(ctx, &none, &rows, up, one, false, loss), LIMN_OK);
    assert_true(loss[0] == 0);
    limn_context_free(ctx);
}

static void test_losses_are_the_same_for_any_number_of_threads(void **state) {
    (void)state;
    enum { N = 700 };
    size_t row[N];
    double first[N], loss[N];
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

/* ---- the walk ---- */

enum { HAND = 40 /* rows */ };

/* Losses of the second candidate that mend b rows and break a of those that the first, which is
 * wrong in rows 0..19, gets right. */
static lm_trial walk_once(limn_context *ctx, size_t b, size_t a, double z) {
    const char *const names[] = {"minmax", "none"};
    const double needed[] = {0, z};
    double loss[2 * HAND];
    lm_trials trials;
    for (size_t i = 0; i < HAND; i++) {
        loss[i] = i < 20;
        loss[HAND + i] = i < 20 ? i >= b : i < 20 + a;
    }
    assert_int_equal(lm_evidence_walk(ctx, names, needed, 2, false, loss, HAND, &trials), LIMN_OK);
    assert_int_equal(trials.rows, HAND);
    assert_int_equal(trials.count, 2);
    assert_true(trials.list[0].taken && trials.list[0].wrong == 20);
    assert_true(trials.list[0].mends == 0 && trials.list[0].breaks == 0);
    assert_int_equal(trials.list[1].mends, b);
    assert_int_equal(trials.list[1].breaks, a);
    assert_int_equal(trials.list[1].wrong, 20 - b + a);
    assert_int_equal(lm_trials_choice(&trials), trials.list[1].taken);
    assert_true(trials.list[0].name == names[0] && trials.list[1].name == names[1]);
    return trials.list[1];
}

static void test_a_candidate_at_the_boundary_is_not_taken(void **state) {
    (void)state;
    static const struct {
        size_t b, a;
        double z;
        bool taken;
    } cases[] = {{0, 0, 1, false},  {1, 0, 1, false},  {2, 0, 1, true},   {3, 1, 1, false},
                 {4, 1, 1, true},   {10, 6, 1, false}, {11, 6, 1, true},  {6, 10, 1, false},
                 {4, 0, 2, false},  {5, 0, 2, true},   {12, 4, 2, false}, {13, 4, 2, true},
                 {11, 4, 2, false}, {5, 5, 1, false},  {0, 20, 1, false}, {20, 20, 2, false},
                 {1, 0, 0, true},   {3, 3, 0, false}};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        assert_int_equal(walk_once(ctx, cases[i].b, cases[i].a, cases[i].z).taken, cases[i].taken);
    limn_context_free(ctx);
}

/* Wrong are rows 0..19, 0..9, 5..9, 0..9 and none. Each is compared with what is in force. */
static void test_each_candidate_is_compared_with_the_one_in_force(void **state) {
    (void)state;
    static const char *const names[] = {"minmax", "none", "zscore", "rank", "gauss"};
    static const double needed[] = {0, 1, 3, 1, 2};
    static const size_t wrong[CANDIDATES][2] = {{0, 20}, {0, 10}, {5, 10}, {0, 10}, {0, 0}};
    static const lm_trial expected[CANDIDATES] = {{NULL, 20, 0, 0, true},
                                                  {NULL, 10, 10, 0, true},
                                                  {NULL, 5, 5, 0, false}, /* 5 < 3 sqrt(5) */
                                                  {NULL, 10, 0, 0, false},
                                                  {NULL, 0, 10, 0, true}};
    double loss[CANDIDATES * HAND];
    lm_trials trials = {.rows = 0};
    assert_int_equal(lm_trials_choice(&trials), 0);
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(loss); i++)
        loss[i] = i % HAND >= wrong[i / HAND][0] && i % HAND < wrong[i / HAND][1];
    assert_int_equal(lm_evidence_walk(ctx, names, needed, CANDIDATES, false, loss, HAND, &trials),
                     LIMN_OK);
    for (size_t c = 0; c < CANDIDATES; c++) {
        assert_string_equal(trials.list[c].name, names[c]);
        assert_int_equal(trials.list[c].wrong, expected[c].wrong);
        assert_int_equal(trials.list[c].mends, expected[c].mends);
        assert_int_equal(trials.list[c].breaks, expected[c].breaks);
        assert_int_equal(trials.list[c].taken, expected[c].taken);
    }
    assert_int_equal(lm_trials_choice(&trials), 4);
    limn_context_free(ctx);
}

/* Of the losses 1 1 2 9 and 0 1 2 8, sorted 0 1 1 1 2 2 8 9, the median is the fourth: 1. */
static void test_targets_count_as_wrong_above_the_median_of_all_losses(void **state) {
    (void)state;
    static const char *const names[] = {"minmax", "none"};
    static const double needed[] = {0, 0}, loss[] = {1, 9, 2, 1, 0, 2, 1, 8};
    lm_trials trials;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    long before = count.live;
    assert_int_equal(lm_evidence_walk(ctx, names, needed, 2, true, loss, 4, &trials), LIMN_OK);
    assert_int_equal(trials.list[0].wrong, 2);  /* 9 2 */
    assert_int_equal(trials.list[1].wrong, 2);  /* 2 8 */
    assert_int_equal(trials.list[1].mends, 1);  /* 2 became 1 */
    assert_int_equal(trials.list[1].breaks, 1); /* 1 became 8 */
    assert_false(trials.list[1].taken);
    count.fail_at = 1;
    assert_int_equal(lm_evidence_walk(ctx, names, needed, 2, true, loss, 4, &trials),
                     LIMN_E_MEMORY);
    assert_int_equal(count.live, before);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_every_row_once_and_each_class_in_its_share),
        cmocka_unit_test(test_a_sample_has_each_class_in_its_share),
        cmocka_unit_test(test_parts_depend_on_the_seed_and_stream_and_on_no_later_part),
        cmocka_unit_test(test_every_row_is_drawn_equally_often),
        cmocka_unit_test(test_a_split_that_fails_leaves_nothing_behind),
        cmocka_unit_test(test_losses_are_those_of_a_slow_nearest_neighbour),
        cmocka_unit_test(test_losses_of_huge_tiny_and_equal_rows_are_exact_too),
        cmocka_unit_test(test_ties_go_to_the_first_stored_row_that_is_another_one),
        cmocka_unit_test(test_losses_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(test_a_candidate_at_the_boundary_is_not_taken),
        cmocka_unit_test(test_each_candidate_is_compared_with_the_one_in_force),
        cmocka_unit_test(test_targets_count_as_wrong_above_the_median_of_all_losses),
    };
    return cmocka_run_group_tests_name("evidence for scalings", tests, NULL, NULL);
}
