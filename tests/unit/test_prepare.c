/* test_prepare.c: scaling and splitting. */
#include "data_world.h"

#include "data/split.h"
#include "scale/scale.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- scaler ---- */

static void test_minmax_maps_the_training_range_to_0_1_and_does_not_clip(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const float x[] = {1, -5, 3, 5, 2, 0};
    lm_scaler s;
    assert_int_equal(lm_scaler_fit(w.ctx, LIMN_SCALE_MINMAX, false,
                                   &(lm_scaler_rows){.x = x, .n = 3, .d = 2}, &s),
                     LIMN_OK);
    assert_int_equal(s.in, 2);
    assert_int_equal(s.out, 2);
    float scaled[6], outside[2];
    lm_scaler_apply(&s, x, 3, scaled, NULL);
    const float expected[] = {0, 0, 1, 1, 0.5f, 0.5f};
    assert_memory_equal(scaled, expected, sizeof expected);
    lm_scaler_apply(&s, (const float[]){5, -10}, 1, outside, NULL);
    assert_true(outside[0] == 2.0f && outside[1] == -0.5f);
    lm_scaler_free(&w.ctx->mem, &s);
    lm_scaler_free(&w.ctx->mem, &s);
    world_close(&w);
}

/* Against long double sums of the deviations from the first value. */
static void test_zscore_equals_a_long_double_reference(void **state) {
    (void)state;
    enum { N = 1000, D = 4 };
    static const double offset[D] = {0, 1e6, -3e37, 1e-30}, width[D] = {1, 1e-1, 2e37, 1e-31};
    static float x[N * D], scaled[N * D];
    world w;
    world_open(&w);
    lm_rng rng = lm_rng_at(1, 2, 3);
    for (size_t i = 0; i < N * D; i++)
        x[i] = (float)(offset[i % D] + width[i % D] * lm_rng_normal(&rng));
    lm_scaler s;
    assert_int_equal(lm_scaler_fit(w.ctx, LIMN_SCALE_ZSCORE, false,
                                   &(lm_scaler_rows){.x = x, .n = N, .d = D}, &s),
                     LIMN_OK);
    assert_int_equal(s.out, D);
    lm_scaler_apply(&s, x, N, scaled, NULL);
    for (size_t j = 0; j < D; j++) {
        long double sum = 0, squares = 0, first = x[j];
        for (size_t i = 0; i < N; i++)
            sum += x[i * D + j] - first;
        long double mean = first + sum / N;
        for (size_t i = 0; i < N; i++)
            squares += (x[i * D + j] - mean) * (x[i * D + j] - mean);
        long double sd = sqrtl(squares / N);
        for (size_t i = 0; i < N; i++) {
            double expected = (double)((x[i * D + j] - mean) / sd);
            assert_true(fabs(scaled[i * D + j] - expected) < 1e-6);
        }
    }
    lm_scaler_free(&w.ctx->mem, &s);
    world_close(&w);
}

static void test_the_largest_floats_do_not_overflow(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const float x[] = {FLT_MAX, -FLT_MAX, FLT_MAX, -FLT_MAX, FLT_MAX, FLT_MAX};
    float scaled[6];
    lm_scaler s;
    for (int kind = LIMN_SCALE_MINMAX; kind <= LIMN_SCALE_ZSCORE; kind++) {
        assert_int_equal(lm_scaler_fit(w.ctx, (limn_scale)kind, false,
                                       &(lm_scaler_rows){.x = x, .n = 6, .d = 1}, &s),
                         LIMN_OK);
        lm_scaler_apply(&s, x, 6, scaled, NULL);
        for (size_t i = 0; i < 6; i++)
            assert_true(fabsf(scaled[i]) < 2);
        assert_true(scaled[0] > scaled[1]);
        lm_scaler_free(&w.ctx->mem, &s);
    }
    world_close(&w);
}

/* 0.1 summed 1000 times is not 100: a computed deviation would not be 0. */
static void test_constant_features_are_dropped_or_kept_with_factor_1(void **state) {
    (void)state;
    enum { N = 1000 };
    static float x[N * 3];
    float scaled[6];
    world w;
    world_open(&w);
    for (size_t i = 0; i < N; i++) {
        x[i * 3] = 0.1f;
        x[i * 3 + 1] = (float)i;
        x[i * 3 + 2] = -7e37f;
    }
    lm_scaler s;
    for (int kind = LIMN_SCALE_MINMAX; kind <= LIMN_SCALE_ZSCORE; kind++) {
        assert_int_equal(lm_scaler_fit(w.ctx, (limn_scale)kind, false,
                                       &(lm_scaler_rows){.x = x, .n = N, .d = 3}, &s),
                         LIMN_OK);
        assert_int_equal(s.in, 3);
        assert_int_equal(s.out, 1);
        assert_int_equal(s.keep[0], 1);
        lm_scaler_apply(&s, x, 2, scaled, NULL);
        assert_true(scaled[1] > scaled[0]);
        lm_scaler_free(&w.ctx->mem, &s);
        assert_int_equal(lm_scaler_fit(w.ctx, (limn_scale)kind, true,
                                       &(lm_scaler_rows){.x = x, .n = N, .d = 3}, &s),
                         LIMN_OK);
        assert_int_equal(s.out, 3);
        assert_true(s.factor[0] == 1.0 && s.factor[2] == 1.0);
        lm_scaler_apply(&s, x, 2, scaled, NULL);
        assert_true(scaled[0] == 0 && scaled[2] == 0 && scaled[3] == 0);
        lm_scaler_free(&w.ctx->mem, &s);
    }
    world_close(&w);
}

static void test_nothing_but_constant_features_are_all_kept(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const float x[] = {4, 5};
    float scaled[2];
    lm_scaler s;
    for (int kind = LIMN_SCALE_MINMAX; kind <= LIMN_SCALE_ZSCORE; kind++) {
        assert_int_equal(lm_scaler_fit(w.ctx, (limn_scale)kind, false,
                                       &(lm_scaler_rows){.x = x, .n = 1, .d = 2}, &s),
                         LIMN_OK);
        assert_int_equal(s.out, 2);
        lm_scaler_apply(&s, (const float[]){5, 5}, 1, scaled, NULL);
        assert_true(scaled[0] == 1 && scaled[1] == 0);
        lm_scaler_free(&w.ctx->mem, &s);
    }
    world_close(&w);
}

static void test_neighbouring_floats_are_not_constant(void **state) {
    (void)state;
    world w;
    world_open(&w);
    float low = 1e-45f, scaled[2];
    lm_scaler s;
    for (int kind = LIMN_SCALE_MINMAX; kind <= LIMN_SCALE_ZSCORE; kind++) {
        const float x[] = {low, 2 * low};
        assert_int_equal(lm_scaler_fit(w.ctx, (limn_scale)kind, false,
                                       &(lm_scaler_rows){.x = x, .n = 2, .d = 1}, &s),
                         LIMN_OK);
        lm_scaler_apply(&s, x, 2, scaled, NULL);
        assert_true(scaled[0] == (kind == LIMN_SCALE_MINMAX ? 0.0f : -1.0f));
        assert_true(scaled[1] == 1.0f);
        lm_scaler_free(&w.ctx->mem, &s);
    }
    world_close(&w);
}

static void test_no_scaling_copies(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const float x[] = {4, 5, 6, 7};
    float scaled[4] = {0};
    lm_scaler s;
    assert_int_equal(
        lm_scaler_fit(w.ctx, LIMN_SCALE_NONE, false, &(lm_scaler_rows){.x = x, .n = 2, .d = 2}, &s),
        LIMN_OK);
    assert_int_equal(s.out, 2);
    assert_null(s.keep);
    lm_scaler_apply(&s, x, 2, scaled, NULL);
    assert_memory_equal(scaled, x, sizeof x);
    lm_scaler_free(&w.ctx->mem, &s);
    assert_int_equal(lm_scaler_fit(w.ctx, LIMN_SCALE_RANGES, false,
                                   &(lm_scaler_rows){.x = x, .n = 2, .d = 2}, &s),
                     LIMN_E_USAGE);
    assert_int_equal(lm_scaler_fit(w.ctx, LIMN_SCALE_ZSCORE, false,
                                   &(lm_scaler_rows){.x = x, .n = 0, .d = 2}, &s),
                     LIMN_E_USAGE);
    world_close(&w);
}

static void test_a_failed_fit_leaves_nothing_behind(void **state) {
    (void)state;
    const float x[] = {4, 5, 6, 7};
    for (unsigned n = 1, done = 0; !done; n++) {
        world w;
        world_open(&w);
        lm_scaler s;
        w.count.fail_at = n;
        limn_status status = lm_scaler_fit(w.ctx, LIMN_SCALE_ZSCORE, false,
                                           &(lm_scaler_rows){.x = x, .n = 2, .d = 2}, &s);
        done = w.count.fail_at != 0;
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        lm_scaler_free(&w.ctx->mem, &s);
        world_close(&w);
        assert_true(n < 100);
    }
}

/* ---- splits ---- */

static void spread(const size_t *count, size_t folds, size_t *low, size_t *high) {
    *low = SIZE_MAX;
    *high = 0;
    for (size_t f = 0; f < folds; f++) {
        *low = count[f] < *low ? count[f] : *low;
        *high = count[f] > *high ? count[f] : *high;
    }
}

static void check_folds(world *w, const int32_t *label, size_t n, size_t classes, size_t folds) {
    uint32_t *fold = malloc(n * sizeof *fold), *again = malloc(n * sizeof *again);
    assert_int_equal(lm_split_folds(w->ctx, label, n, folds, 7, fold), LIMN_OK);
    assert_int_equal(lm_split_folds(w->ctx, label, n, folds, 7, again), LIMN_OK);
    assert_memory_equal(fold, again, n * sizeof *fold);
    size_t *total = calloc(folds, sizeof *total), low, high;
    for (size_t c = 0; c < classes; c++) {
        size_t *count = calloc(folds, sizeof *count);
        for (size_t i = 0; i < n; i++) {
            assert_true(fold[i] < folds);
            if (!label || (size_t)label[i] == c) {
                count[fold[i]]++;
                total[fold[i]]++;
            }
        }
        spread(count, folds, &low, &high);
        assert_true(high - low <= 1);
        free(count);
    }
    spread(total, folds, &low, &high);
    assert_true(high - low <= 1 && low >= 1);
    free(total);
    free(fold);
    free(again);
}

static void test_folds_are_even_over_all_and_within_each_class(void **state) {
    (void)state;
    world w;
    world_open(&w);
    lm_rng rng = lm_rng_at(3, 3, 3);
    int32_t label[500];
    for (int trial = 0; trial < 40; trial++) {
        size_t n = 2 + lm_rng_below(&rng, 499), classes = 1 + lm_rng_below(&rng, 9);
        size_t folds = 2 + lm_rng_below(&rng, n - 1 < 20 ? n - 1 : 20);
        for (size_t i = 0; i < n; i++) /* uneven classes, some empty */
            label[i] =
                (int32_t)(lm_rng_below(&rng, classes) * lm_rng_below(&rng, classes) / classes);
        check_folds(&w, label, n, classes, folds);
        check_folds(&w, NULL, n, 1, folds);
        check_folds(&w, label, n, classes, n);
    }
    world_close(&w);
}

static void test_folds_depend_on_the_seed_and_not_on_other_classes(void **state) {
    (void)state;
    enum { N = 60 };
    world w;
    world_open(&w);
    int32_t label[N];
    uint32_t a[N], b[N];
    for (int i = 0; i < N; i++)
        label[i] = i % 2;
    assert_int_equal(lm_split_folds(w.ctx, label, N, 5, 1, a), LIMN_OK);
    assert_int_equal(lm_split_folds(w.ctx, label, N, 5, 2, b), LIMN_OK);
    assert_memory_not_equal(a, b, sizeof a);
    for (int i = 1; i < N; i += 2) /* class 1 becomes class 2: class 0 keeps its folds */
        label[i] = 2;
    assert_int_equal(lm_split_folds(w.ctx, label, N, 5, 1, b), LIMN_OK);
    for (int i = 0; i < N; i += 2)
        assert_int_equal(a[i], b[i]);
    world_close(&w);
}

static void test_impossible_splits_are_refused(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const int32_t label[] = {0, 1, 0};
    uint32_t fold[3];
    size_t rows[3], count;
    assert_int_equal(lm_split_folds(w.ctx, label, 3, 1, 1, fold), LIMN_E_USAGE);
    assert_int_equal(lm_split_folds(w.ctx, label, 3, 4, 1, fold), LIMN_E_USAGE);
    assert_string_equal(
        limn_error(w.ctx),
        "cannot split 3 rows into 4 folds; use at least 2 folds and at most one per row");
    static const double bad[] = {0, -0.5, 1.0001, NAN, INFINITY};
    for (size_t i = 0; i < LM_COUNT(bad); i++)
        assert_int_equal(lm_split_sample(w.ctx, label, 3, bad[i], 1, rows, &count), LIMN_E_USAGE);
    const int32_t negative[] = {0, -1, 0};
    assert_int_equal(lm_split_folds(w.ctx, negative, 3, 2, 1, fold), LIMN_E_USAGE);
    world_close(&w);
}

static void test_samples_take_the_rounded_share_of_each_class_in_ascending_order(void **state) {
    (void)state;
    enum { N = 300 };
    static const double fractions[] = {0.001, 0.1, 0.5, 0.999, 1.0};
    world w;
    world_open(&w);
    int32_t label[N];
    size_t rows[N], size[4] = {0}, count;
    lm_rng rng = lm_rng_at(4, 4, 4);
    for (size_t i = 0; i < N; i++) {
        label[i] = i == 17 ? 3 : (int32_t)lm_rng_below(&rng, 2) * 2; /* class 1 is empty */
        size[label[i]]++;
    }
    for (size_t f = 0; f < LM_COUNT(fractions); f++) {
        assert_int_equal(lm_split_sample(w.ctx, label, N, fractions[f], 9, rows, &count), LIMN_OK);
        size_t taken[4] = {0};
        for (size_t i = 0; i < count; i++) {
            assert_true(rows[i] < N && (i == 0 || rows[i] > rows[i - 1]));
            taken[label[rows[i]]]++;
        }
        for (size_t c = 0; c < 4; c++) {
            size_t expected = (size_t)lround(fractions[f] * (double)size[c]);
            assert_int_equal(taken[c], size[c] && !expected ? 1 : expected);
        }
    }
    assert_int_equal(lm_split_sample(w.ctx, NULL, N, 0.25, 9, rows, &count), LIMN_OK);
    assert_int_equal(count, 75);
    world_close(&w);
}

/* ---- samples by a power of the class size ---- */

enum { CLASSES = 7, MOST = 6000 };

typedef struct power_case {
    size_t size[CLASSES]; /* 0: an empty class */
    double fraction;
} power_case;

/* The rows of a class and of all classes that the rule keeps with this zeta. */
static double reference_rows(const power_case *p, double zeta, double *row_count) {
    double least = INFINITY, sum = 0;
    for (size_t c = 0; c < CLASSES; c++)
        if (p->size[c])
            least = fmin(least, (double)p->size[c]);
    for (size_t c = 0; c < CLASSES; c++) {
        double n = (double)p->size[c];
        row_count[c] = n > 0 ? exp(zeta * log(least) + (1 - zeta) * log(n)) : 0;
        sum += row_count[c];
    }
    return sum;
}

/* By a scan over zeta; without one that is small enough, equal numbers. */
static void reference_counts(const power_case *p, double total, double *row_count) {
    const int steps = 200000;
    double best = INFINITY, at = 1, classes = 0;
    for (size_t c = 0; c < CLASSES; c++)
        classes += p->size[c] > 0;
    if (reference_rows(p, 1, row_count) >= total) {
        for (size_t c = 0; c < CLASSES; c++)
            row_count[c] = p->size[c] ? fmax(1, total / classes) : 0;
        return;
    }
    for (int i = 0; i <= steps; i++) {
        double zeta = (double)i / steps, miss = fabs(reference_rows(p, zeta, row_count) - total);
        if (miss < best) {
            best = miss;
            at = zeta;
        }
    }
    reference_rows(p, at, row_count);
}

static size_t label_rows(const power_case *p, int32_t *label) {
    size_t n = 0;
    for (size_t c = 0; c < CLASSES; c++)
        for (size_t i = 0; i < p->size[c]; i++)
            label[n++] = (int32_t)c;
    return n;
}

static void sample_power(world *w, const int32_t *label, size_t n, double fraction, size_t *taken) {
    static size_t rows[MOST];
    size_t count;
    assert_int_equal(
        lm_split_sample_by(w->ctx, label, n, fraction, LIMN_SUBSAMPLE_POWER, 5, rows, &count),
        LIMN_OK);
    for (size_t c = 0; c < CLASSES; c++)
        taken[c] = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i] < n && (i == 0 || rows[i] > rows[i - 1]));
        taken[label ? label[rows[i]] : 0]++;
    }
}

/* A larger class keeps no fewer rows, and no larger a share; one row of rounding is allowed. */
static void check_order(const power_case *p, const size_t *taken) {
    for (size_t a = 0; a < CLASSES; a++)
        for (size_t b = 0; b < CLASSES; b++)
            if (p->size[a] > p->size[b] && p->size[b]) {
                assert_true(taken[a] >= taken[b]);
                assert_true(((double)taken[a] - 0.5) / (double)p->size[a] <=
                            ((double)taken[b] + 0.5) / (double)p->size[b]);
            }
}

static void test_power_samples_equal_a_scan_over_the_exponent(void **state) {
    (void)state;
    static const power_case cases[] = {
        {{3411, 4, 13, 675, 246, 2, 2}, 0.15}, /* like shuttle */
        {{3411, 4, 13, 675, 246, 2, 2}, 0.9},
        {{3411, 4, 13, 675, 246, 2, 2}, 0.01},
        {{100, 0, 0, 900, 0, 0, 40}, 0.5},
        {{100, 0, 0, 900, 0, 0, 40}, 0.1}, /* fewer than three times 40 */
        {{500, 400, 0, 0, 0, 0, 1}, 0.3},
        {{1000, 0, 0, 0, 0, 0, 0}, 0.237},            /* one class */
        {{50, 50, 50, 50, 50, 50, 50}, 0.2},          /* equal classes */
        {{500, 400, 300, 200, 100, 90, 80}, 0.00001}, /* one row of each */
    };
    static int32_t label[MOST];
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        size_t n = label_rows(&cases[i], label), taken[CLASSES];
        double expected[CLASSES], sum = 0, total = cases[i].fraction * (double)n;
        sample_power(&w, label, n, cases[i].fraction, taken);
        reference_counts(&cases[i], total, expected);
        double reached = 0;
        for (size_t c = 0; c < CLASSES; c++) {
            assert_true(taken[c] <= cases[i].size[c] && (taken[c] > 0) == (cases[i].size[c] > 0));
            assert_true(fabs((double)taken[c] - expected[c]) <= 0.55); /* the scan has steps */
            sum += (double)taken[c];
            reached += expected[c];
        }
        assert_true(fabs(sum - fmax(total, reached)) <= 0.5 * CLASSES);
        check_order(&cases[i], taken);
    }
    world_close(&w);
}

static void test_power_samples_keep_the_smallest_class_whole_while_they_can(void **state) {
    (void)state;
    static const power_case p = {{3411, 24, 130, 675, 246, 60, 90}, 0};
    static int32_t label[MOST];
    world w;
    world_open(&w);
    size_t n = label_rows(&p, label), taken[CLASSES], before[CLASSES] = {0};
    for (int percent = 1; percent <= 100; percent++) {
        sample_power(&w, label, n, percent / 100.0, taken);
        /* 7 classes of 24 rows are 3.6 % of the rows. */
        assert_true(percent >= 4 ? taken[1] == 24 : taken[1] < 24);
        for (size_t c = 0; c < CLASSES; c++) {
            assert_true(taken[c] >= before[c]);
            before[c] = taken[c];
        }
    }
    for (size_t c = 0; c < CLASSES; c++) /* all rows */
        assert_int_equal(taken[c], p.size[c]);
    world_close(&w);
}

static void test_without_classes_a_power_sample_is_a_share_of_the_rows(void **state) {
    (void)state;
    world w;
    world_open(&w);
    size_t taken[CLASSES], rows[40], again[40], count, same;
    sample_power(&w, NULL, 40, 0.25, taken);
    assert_int_equal(taken[0], 10);
    assert_int_equal(
        lm_split_sample_by(w.ctx, NULL, 40, 0.25, LIMN_SUBSAMPLE_POWER, 5, rows, &count), LIMN_OK);
    assert_int_equal(lm_split_sample(w.ctx, NULL, 40, 0.25, 5, again, &same), LIMN_OK);
    assert_true(same == count);
    assert_memory_equal(rows, again, count * sizeof *rows);
    assert_int_equal(lm_split_sample_by(w.ctx, NULL, 40, 0.5, (limn_subsample)2, 5, rows, &count),
                     LIMN_E_USAGE);
    assert_string_equal(limn_error(w.ctx), "there is no rule 2 for a subsample");
    world_close(&w);
}

/* Each row should be chosen about half of the time: 300 draws, 6 standard deviations. */
static void test_samples_choose_every_row_equally_often(void **state) {
    (void)state;
    enum { N = 20, DRAWS = 300 };
    world w;
    world_open(&w);
    size_t rows[N], count, chosen[N] = {0};
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        assert_int_equal(lm_split_sample(w.ctx, NULL, N, 0.5, seed, rows, &count), LIMN_OK);
        for (size_t i = 0; i < count; i++)
            chosen[rows[i]]++;
    }
    for (size_t i = 0; i < N; i++)
        assert_in_range(chosen[i], 98, 202);
    world_close(&w);
}

/* Every row once, those of a class together; another stream changes the order within classes. */
static void check_classes(const int32_t *label, size_t n, size_t classes) {
    uint32_t row[200], other[200];
    size_t start[8], again[8], seen[200] = {0}, moved = 0;
    lm_split_classes(label, n, classes, 5, 1, row, start);
    assert_int_equal(start[0], 0);
    assert_int_equal(start[classes], n);
    for (size_t c = 0; c < classes; c++) {
        assert_true(start[c] <= start[c + 1]);
        for (size_t i = start[c]; i < start[c + 1]; i++) {
            assert_true(row[i] < n && (!label || label[row[i]] == (int32_t)c));
            seen[row[i]]++;
        }
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(seen[i], 1);
    lm_split_classes(label, n, classes, 5, 1, other, again);
    assert_memory_equal(row, other, n * sizeof *row);
    lm_split_classes(label, n, classes, 5, 2, other, again);
    assert_memory_equal(start, again, (classes + 1) * sizeof *start);
    for (size_t i = 0; i < n; i++)
        moved += row[i] != other[i];
    assert_true(n < 50 || moved > n / 2);
}

static void test_rows_by_class_are_every_row_once(void **state) {
    (void)state;
    int32_t label[200];
    lm_rng rng = lm_rng_at(7, 7, 7);
    for (size_t n = 0; n <= 200; n += n < 10 ? 1 : 47) {
        for (size_t i = 0; i < n; i++)
            label[i] = (int32_t)lm_rng_below(&rng, 3) * 2; /* classes 1, 3 and 5 are empty */
        check_classes(label, n, 6);
        check_classes(NULL, n, 1);
    }
}

/* The order of a class does not depend on the others. */
static void test_the_order_of_a_class_is_its_own(void **state) {
    (void)state;
    int32_t label[60];
    uint32_t alone[30], row[60];
    size_t start[4];
    lm_split_classes(NULL, 30, 1, 5, 1, alone, start);
    for (size_t i = 0; i < 60; i++)
        label[i] = i >= 30;
    lm_split_classes(label, 60, 2, 5, 1, row, start);
    assert_memory_equal(row, alone, sizeof alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minmax_maps_the_training_range_to_0_1_and_does_not_clip),
        cmocka_unit_test(test_zscore_equals_a_long_double_reference),
        cmocka_unit_test(test_the_largest_floats_do_not_overflow),
        cmocka_unit_test(test_constant_features_are_dropped_or_kept_with_factor_1),
        cmocka_unit_test(test_nothing_but_constant_features_are_all_kept),
        cmocka_unit_test(test_neighbouring_floats_are_not_constant),
        cmocka_unit_test(test_no_scaling_copies),
        cmocka_unit_test(test_a_failed_fit_leaves_nothing_behind),
        cmocka_unit_test(test_folds_are_even_over_all_and_within_each_class),
        cmocka_unit_test(test_folds_depend_on_the_seed_and_not_on_other_classes),
        cmocka_unit_test(test_impossible_splits_are_refused),
        cmocka_unit_test(test_samples_take_the_rounded_share_of_each_class_in_ascending_order),
        cmocka_unit_test(test_power_samples_equal_a_scan_over_the_exponent),
        cmocka_unit_test(test_power_samples_keep_the_smallest_class_whole_while_they_can),
        cmocka_unit_test(test_without_classes_a_power_sample_is_a_share_of_the_rows),
        cmocka_unit_test(test_samples_choose_every_row_equally_often),
        cmocka_unit_test(test_rows_by_class_are_every_row_once),
        cmocka_unit_test(test_the_order_of_a_class_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
