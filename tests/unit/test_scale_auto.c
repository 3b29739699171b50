/* test_scale_auto.c: the choice of --scale auto against a slow walk, on tables whose right answer
 * is known, and when something fails.
 *
 * The slow walk is that of scale_evidence_slow.h. It scales by scale.h, whose own tests are
 * test_prepare.c and test_scale_curves.c. */
#include "data/split.h"
#include "scale_auto_slow.h"

enum { MOST_ROWS = 8000 };

/* ---- the slow choice ---- */

/* none, minmax and zscore of all rows, rank and gauss of the sample. */
static lm_scaler slow_candidate(limn_context *ctx, const lm_scaler_rows *rows, lm_row_list sample,
                                bool keep_constant, limn_scale kind) {
    bool all = kind != LIMN_SCALE_RANK && kind != LIMN_SCALE_GAUSS;
    lm_scaler_rows part = {.n = all ? rows->n : sample.n, .d = rows->d};
    float *x = malloc(part.n * part.d * sizeof *x);
    for (size_t i = 0; i < part.n; i++)
        memcpy(x + i * part.d, rows->x + (all ? i : sample.row[i]) * part.d, part.d * sizeof *x);
    part.x = x;
    lm_scaler s;
    assert_int_equal(lm_scaler_fit_columns(ctx, kind, keep_constant, &part, &s), LIMN_OK);
    free(x);
    return s;
}

static limn_scale slow_choose(limn_context *ctx, const lm_scaler_rows *rows, lm_row_list sample,
                              bool keep_constant, lm_trials *trials) {
    static const int64_t z[CANDIDATES] = {0, 1, 1, 2, 2};
    const char *names[CANDIDATES];
    double *loss = malloc(CANDIDATES * sample.n * JUDGES * sizeof *loss);
    for (size_t c = 0; c < CANDIDATES; c++) {
        lm_scaler s = slow_candidate(ctx, rows, sample, keep_constant, kinds[c]);
        names[c] = limn_scale_name(kinds[c]);
        slow_losses(ctx, &s, rows, sample, sample, true, loss + c * sample.n * JUDGES);
        lm_scaler_free(&ctx->mem, &s);
    }
    size_t choice = slow_walk(names, z, CANDIDATES, !rows->label, loss, sample.n, trials);
    free(loss);
    return kinds[choice];
}

static limn_scale must_choose(limn_context *ctx, const table *t, bool keep, lm_trials *trials) {
    limn_scale kind = LIMN_SCALE_AUTO;
    lm_scaler_rows rows = rows_of(t);
    if (lm_scaler_choose(ctx, keep, &rows, &kind, trials) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return kind;
}

/* The choice, which the slow one confirms; at most 8000 rows. */
static limn_scale checked_choice(const table *t, bool keep, lm_trials *trials) {
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    size_t *row = malloc(t->n * sizeof *row);
    lm_scaler_rows rows = rows_of(t);
    lm_trials expected;
    identity(row, t->n);
    limn_scale kind = must_choose(ctx, t, keep, trials);
    assert_int_equal(kind, slow_choose(ctx, &rows, (lm_row_list){row, t->n}, keep, &expected));
    assert_same_trials(trials, &expected);
    free(row);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    return kind;
}

static void test_the_choice_is_that_of_a_slow_walk(void **state) {
    (void)state;
    static const size_t ns[] = {30, 31, 100, 300};
    lm_trials trials;
    size_t taken[8] = {0}, different = 0;
    for (size_t a = 0; a < LM_COUNT(ns); a++)
        for (uint64_t mix = 0; mix < 24; mix++) {
            table t = mixed_table(ns[a], 1 + mix % 6, mix % 3 ? 3 : 0, mix % 4 == 1, mix);
            taken[checked_choice(&t, mix % 2, &trials)]++;
            table_free(&t);
        }
    for (size_t kind = 0; kind < 8; kind++)
        different += taken[kind] > 0;
    assert_true(different >= 3); /* so the walk went somewhere */
}

/* ---- tables whose right answer is known ---- */

/* Which of two classes: by the sign of the first column; the others are noise in 0..units. */
static table noisy_table(size_t n, size_t d, double units) {
    table t = new_table(n, d, 2);
    lm_rng rng = lm_rng_at(11, n, 0);
    for (size_t i = 0; i < n; i++) {
        double u = lm_rng_normal(&rng);
        t.label[i] = u > 0;
        t.x[i * d] = (float)u;
        for (size_t j = 1; j < d; j++)
            t.x[i * d + j] = (float)(units * lm_rng_unit(&rng));
    }
    return t;
}

static void test_noise_in_huge_units_is_scaled(void **state) {
    (void)state;
    lm_trials trials;
    table t = noisy_table(400, 2, 1e6);
    assert_int_not_equal(checked_choice(&t, false, &trials), LIMN_SCALE_NONE);
    assert_true(trials.list[0].wrong < 80 && trials.list[1].wrong > 450);
    assert_false(trials.list[1].taken);
    table_free(&t);
}

/* The units say which columns matter: those of the noise are small. */
static void test_noise_in_tiny_units_is_left_as_it_is(void **state) {
    (void)state;
    lm_trials trials;
    table t = noisy_table(400, 4, 1e-6);
    assert_int_equal(checked_choice(&t, false, &trials), LIMN_SCALE_NONE);
    assert_true(trials.list[0].wrong > 100 && trials.list[1].wrong < 10);
    table_free(&t);
}

/* One value far out crowds the two clusters together in 0..1, less so by their deviation. Between
 * their ranks there is no gap, and more neighbours are of the other class. */
static void test_a_far_value_spoils_minmax_and_zscore_is_chosen(void **state) {
    (void)state;
    lm_trials trials;
    table t = noisy_table(800, 6, 1e6);
    for (size_t i = 0; i < t.n; i++)
        t.x[i * t.d] += t.label[i] ? 3 : -3;
    t.x[0] = 60;
    assert_int_equal(checked_choice(&t, false, &trials), LIMN_SCALE_ZSCORE);
    assert_true(trials.list[0].wrong > 500 && trials.list[2].wrong < 10);
    assert_true(trials.list[3].wrong > 100);
    table_free(&t);
}

/* Between 1e-17 and 1e17, class by class: by lines, nearly all values are 0. */
static void test_a_heavy_tail_is_ranked(void **state) {
    (void)state;
    lm_trials trials;
    table t = noisy_table(500, 2, 1e9);
    for (size_t i = 0; i < t.n; i++)
        t.x[2 * i] = (float)exp(12 * (double)t.x[2 * i]);
    assert_int_equal(checked_choice(&t, false, &trials), LIMN_SCALE_RANK);
    assert_true(trials.list[0].wrong > 450 && trials.list[3].wrong < 60);
    table_free(&t);
}

/* Every combination of six columns of 0 and 1, twice, is the same table after any of them. */
static void test_where_all_scalings_are_equal_minmax_stays(void **state) {
    (void)state;
    lm_trials trials;
    lm_rng rng = lm_rng_at(12, 0, 0);
    table t = new_table(128, 6, 2);
    for (size_t i = 0; i < t.n; i++) {
        t.label[i] = (int32_t)lm_rng_below(&rng, 2);
        for (size_t j = 0; j < 6; j++)
            t.x[i * 6 + j] = (float)(i >> j & 1);
    }
    assert_int_equal(checked_choice(&t, false, &trials), LIMN_SCALE_MINMAX);
    for (size_t c = 1; c < CANDIDATES; c++) {
        assert_int_equal(trials.list[c].wrong, trials.list[0].wrong);
        assert_true(trials.list[c].mends == 0 && trials.list[c].breaks == 0);
    }
    table_free(&t);
}

static void test_nothing_to_tell_apart_leaves_minmax(void **state) {
    (void)state;
    lm_trials trials;
    table one_class = mixed_table(50, 3, 1, false, 1), flat = mixed_table(50, 3, 0, false, 2);
    table equal = mixed_table(50, 3, 3, false, 3);
    for (size_t i = 0; i < 50; i++)
        flat.target[i] = -7.5;
    for (size_t i = 0; i < 150; i++)
        equal.x[i] = 0.1f * (float)(i % 3);
    table *tables[] = {&one_class, &flat, &equal};
    for (size_t k = 0; k < LM_COUNT(tables); k++) {
        assert_int_equal(checked_choice(tables[k], k % 2, &trials), LIMN_SCALE_MINMAX);
        assert_int_equal(trials.rows, 50);
        for (size_t c = 0; c < CANDIDATES; c++)
            assert_true(trials.list[c].wrong == trials.list[0].wrong &&
                        (k > 1 || !trials.list[c].wrong));
        table_free(tables[k]);
    }
}

static void test_constant_columns_change_no_count(void **state) {
    (void)state;
    lm_trials first, kept, dropped;
    table t = mixed_table(120, 4, 3, false, 5), wide = new_table(120, 6, 3);
    for (size_t i = 0; i < t.n; i++) {
        memcpy(wide.x + i * 6 + 1, t.x + i * 4, 4 * sizeof *t.x);
        wide.x[i * 6] = 1e30f;
        wide.x[i * 6 + 5] = -0.1f;
        wide.label[i] = t.label[i];
    }
    limn_scale kind = checked_choice(&t, false, &first);
    assert_int_equal(checked_choice(&wide, false, &dropped), kind);
    assert_int_equal(checked_choice(&wide, true, &kept), kind);
    assert_same_trials(&dropped, &first);
    assert_same_trials(&kept, &first);
    table_free(&t);
    table_free(&wide);
}

/* ---- few rows, many rows ---- */

static void test_below_30_rows_minmax_is_not_judged(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t n = 1; n <= 30; n++) {
        lm_trials trials;
        lm_scaler s;
        table t = mixed_table(n, 3, n % 2 ? 3 : 0, false, n);
        lm_scaler_rows rows = rows_of(&t);
        limn_scale kind = must_choose(ctx, &t, false, &trials);
        assert_int_equal(trials.rows, n < 30 ? 0 : n);
        assert_int_equal(trials.count, n < 30 ? 0 : CANDIDATES);
        assert_true(n == 30 || kind == LIMN_SCALE_MINMAX);
        assert_int_equal(lm_scaler_fit(ctx, LIMN_SCALE_AUTO, false, &rows, &s), LIMN_OK);
        assert_int_equal(s.kind, kind);
        assert_int_equal(s.chosen.rows, trials.rows);
        lm_scaler_free(&ctx->mem, &s);
        table_free(&t);
    }
    limn_context_free(ctx);
}

static void test_without_labels_and_targets_auto_is_none(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    table t = mixed_table(100, 3, 0, false, 1);
    lm_scaler_rows rows = {.x = t.x, .n = t.n, .d = t.d};
    lm_scaler s;
    for (rows.n = 0; rows.n <= 100; rows.n += 50) {
        assert_int_equal(lm_scaler_fit(ctx, LIMN_SCALE_AUTO, false, &rows, &s), LIMN_OK);
        assert_true(s.kind == LIMN_SCALE_NONE && s.out == 3 && !s.learned && s.chosen.rows == 0);
        lm_scaler_free(&ctx->mem, &s);
    }
    table_free(&t);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* What is fitted is what was chosen, to all rows, and the scaler keeps the counts. */
static void test_auto_fits_the_choice_to_all_rows(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    table t = noisy_table(2300, 2, 1e9);
    for (size_t i = 0; i < t.n; i++)
        t.x[2 * i] = (float)exp(12 * (double)t.x[2 * i]);
    lm_scaler_rows rows = rows_of(&t);
    lm_trials trials;
    lm_scaler s;
    limn_scale kind = must_choose(ctx, &t, false, &trials);
    assert_int_equal(lm_scaler_fit(ctx, LIMN_SCALE_AUTO, false, &rows, &s), LIMN_OK);
    lm_scaler plain = must_fit(ctx, kind, &rows);
    assert_true(kind == LIMN_SCALE_RANK && s.kind == kind && lm_scaler_kind(&s) == kind);
    assert_same_trials(&s.chosen, &trials);
    assert_int_equal(s.gate.rows, 0);
    float *a = scale_all(ctx, &s, &rows), *b = scale_all(ctx, &plain, &rows);
    assert_memory_equal(a, b, t.n * s.out * sizeof *a);
    free(a);
    free(b);
    lm_scaler_free(&ctx->mem, &s);
    lm_scaler_free(&ctx->mem, &plain);
    table_free(&t);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* The sample: 8000 rows of a seeded, stratified shuffle, in the order of the data. */
static limn_scale slow_sampled_choice(limn_context *ctx, const table *t, lm_trials *trials) {
    size_t *row = malloc(t->n * sizeof *row), *sample = malloc(MOST_ROWS * sizeof *row);
    size_t most = MOST_ROWS, count = 0;
    bool *drawn = calloc(t->n, sizeof *drawn);
    lm_scaler_rows rows = rows_of(t);
    assert_int_equal(
        lm_split_spread(ctx, t->label, t->n, &most, 1, ctx->seed, lm_stream_of("scale"), row),
        LIMN_OK);
    for (size_t i = 0; i < MOST_ROWS; i++)
        drawn[row[i]] = true;
    for (size_t i = 0; i < t->n; i++)
        if (drawn[i])
            sample[count++] = i;
    limn_scale kind = slow_choose(ctx, &rows, (lm_row_list){sample, MOST_ROWS}, false, trials);
    free(row);
    free(sample);
    free(drawn);
    return kind;
}

static void test_of_many_rows_a_sample_is_judged_whatever_the_threads(void **state) {
    (void)state;
    counting count = {0};
    for (size_t classes = 0; classes <= 3; classes += 3) {
        table t = mixed_table(8600, 2, classes, false, 9);
        lm_trials expected, trials;
        limn_context *ctx = make_context(&count, 1, 5);
        limn_scale kind = slow_sampled_choice(ctx, &t, &expected);
        limn_context_free(ctx);
        assert_int_equal(expected.rows, MOST_ROWS);
        for (int threads = classes ? 1 : 3; threads <= 3; threads += 2) {
            ctx = make_context(&count, threads, 5);
            assert_int_equal(must_choose(ctx, &t, false, &trials), kind);
            assert_same_trials(&trials, &expected);
            limn_context_free(ctx);
        }
        table_free(&t);
    }
    assert_int_equal(count.live, 0);
}

static void test_another_seed_draws_another_sample_of_many_rows_only(void **state) {
    (void)state;
    for (size_t n = 1000; n <= 8500; n += 7500) {
        table t = mixed_table(n, 2, 3, false, 9);
        lm_trials trials[2];
        size_t different = 0;
        for (size_t k = 0; k < 2; k++) {
            limn_context *ctx = make_context(NULL, 1, k + 1);
            must_choose(ctx, &t, false, &trials[k]);
            assert_int_equal(trials[k].rows, n > MOST_ROWS ? MOST_ROWS : n);
            limn_context_free(ctx);
        }
        for (size_t c = 0; c < CANDIDATES; c++)
            different += trials[0].list[c].wrong != trials[1].list[c].wrong;
        assert_int_equal(different > 0, n > MOST_ROWS);
        table_free(&t);
    }
}

/* m rows of d features cost m m d, at most 4.4e9 per candidate. All columns but one are constant,
 * so only none has to compare them. */
static void test_with_many_features_fewer_rows_are_judged(void **state) {
    (void)state;
    enum { N = 700, D = 9000 };
    lm_trials trials;
    limn_context *ctx = make_context(NULL, 1, 1);
    table t = new_table(N, D, 2);
    for (size_t i = 0; i < N; i++) {
        t.label[i] = i % 2;
        t.x[i * D] = (float)(i * 37 % 100 + i % 2);
    }
    must_choose(ctx, &t, false, &trials);
    assert_int_equal(trials.rows, 699); /* the root of 4.4e9 / 9000 */
    table_free(&t);
    limn_context_free(ctx);
}

/* ---- failures ---- */

static void test_a_choice_that_lacks_memory_leaves_nothing_behind(void **state) {
    (void)state;
    for (size_t classes = 0; classes <= 3; classes += 3) {
        size_t failed = 0;
        counting count = {0};
        limn_context *ctx = make_context(&count, 1, 1);
        table t = mixed_table(40, 2, classes, false, 1);
        lm_scaler_rows rows = rows_of(&t);
        long before = count.live;
        for (unsigned n = 1, done = 0; !done; n++) {
            lm_scaler s;
            count.fail_at = n;
            limn_status status = lm_scaler_fit(ctx, LIMN_SCALE_AUTO, false, &rows, &s);
            done = count.fail_at != 0;
            count.fail_at = 0;
            assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
            lm_scaler_free(&ctx->mem, &s);
            assert_int_equal(count.live, before);
            failed += !done;
        }
        assert_true(failed > 50 && failed < 500);
        table_free(&t);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
    }
}

static int stop(void *user, const limn_progress *progress) {
    int *left = user;
    (void)progress;
    return (*left)-- <= 0;
}

static void test_a_choice_can_be_cancelled_at_any_report(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = make_context(&count, 2, 1);
    table t = mixed_table(200, 3, 3, false, 1);
    lm_scaler_rows rows = rows_of(&t);
    limn_status status = LIMN_E_CANCELLED;
    long before = count.live;
    size_t cancelled = 0;
    ctx->progress = stop;
    for (int reports = 0; status == LIMN_E_CANCELLED; reports++) {
        lm_scaler s;
        int left = reports;
        ctx->user = &left;
        status = lm_scaler_fit(ctx, LIMN_SCALE_AUTO, false, &rows, &s);
        cancelled += status == LIMN_E_CANCELLED;
        lm_scaler_free(&ctx->mem, &s);
        assert_int_equal(count.live, before);
    }
    assert_int_equal(status, LIMN_OK);
    assert_true(cancelled >= CANDIDATES);
    table_free(&t);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_choice_is_that_of_a_slow_walk),
        cmocka_unit_test(test_noise_in_huge_units_is_scaled),
        cmocka_unit_test(test_noise_in_tiny_units_is_left_as_it_is),
        cmocka_unit_test(test_a_far_value_spoils_minmax_and_zscore_is_chosen),
        cmocka_unit_test(test_a_heavy_tail_is_ranked),
        cmocka_unit_test(test_where_all_scalings_are_equal_minmax_stays),
        cmocka_unit_test(test_nothing_to_tell_apart_leaves_minmax),
        cmocka_unit_test(test_constant_columns_change_no_count),
        cmocka_unit_test(test_below_30_rows_minmax_is_not_judged),
        cmocka_unit_test(test_without_labels_and_targets_auto_is_none),
        cmocka_unit_test(test_auto_fits_the_choice_to_all_rows),
        cmocka_unit_test(test_of_many_rows_a_sample_is_judged_whatever_the_threads),
        cmocka_unit_test(test_another_seed_draws_another_sample_of_many_rows_only),
        cmocka_unit_test(test_with_many_features_fewer_rows_are_judged),
        cmocka_unit_test(test_a_choice_that_lacks_memory_leaves_nothing_behind),
        cmocka_unit_test(test_a_choice_can_be_cancelled_at_any_report),
    };
    return cmocka_run_group_tests_name("scaling by evidence", tests, NULL, NULL);
}
