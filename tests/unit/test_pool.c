/* test_pool.c: points sampled around rows (fit/pool): the features and rows that they are sampled
 * from, what points depend on, and sets that are small or extreme. Also run under TSan. */
#include "pool_world.h"

/* ---- features ---- */

typedef enum column {
    CONSTANT,
    BINARY,
    FIVE,     /* values */
    SIX,      /* values */
    LAST_SIX, /* five values and, in the last row, a sixth */
    ZEROS,    /* 0 and -0 */
    NORMAL,
    OFFSET,
    LARGE,
    COLUMNS
} column;

static float value_of(column of, size_t i, size_t n, lm_rng *rng) {
    switch (of) {
    case CONSTANT:
        return 0.1f;
    case BINARY:
        return (float)(i % 2);
    case FIVE:
        return (float)(i % 5) / 3;
    case SIX:
        return (float)(i % 6) / 3;
    case LAST_SIX:
        return i + 1 < n ? (float)(i % 5) / 3 : -1;
    case ZEROS:
        return i % 3 ? 0.f : -0.f;
    case OFFSET:
        return (float)(1e6 + lm_rng_normal(rng));
    case LARGE:
        return (float)(1e30 * lm_rng_normal(rng));
    default:
        return (float)lm_rng_normal(rng);
    }
}

static void check_feature(const lm_pool_features *f, const float *x, size_t n, size_t d, size_t j) {
    long double mean = 0, squares = 0, size = 0;
    float low = INFINITY, high = -INFINITY;
    size_t different = 0;
    for (size_t i = 0; i < n; i++) {
        float value = x[i * d + j];
        size_t before = 0;
        while (before < i && x[before * d + j] != value)
            before++;
        different += before == i;
        mean += (long double)value / (long double)n;
        low = fminf(low, value);
        high = fmaxf(high, value);
        size = fmaxl(size, fabsl((long double)value));
    }
    for (size_t i = 0; i < n; i++)
        squares += powl((long double)x[i * d + j] - mean, 2);
    long double spread = sqrtl(squares / (long double)n);
    assert_true(f->low[j] == low && f->high[j] == high);
    assert_true(f->category[j] == (different <= 5 && n >= 10 * different));
    assert_true(fabsl((long double)f->spread[j] - spread) <= 1e-12L * spread + 1e-14L * size);
}

static void test_features_are_those_of_plain_loops(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    for (size_t n = 1; n <= 130; n++) {
        float x[130 * COLUMNS];
        lm_rng rng = lm_rng_at(3, 32, n);
        size_t categories = 0;
        lm_pool_features f;
        for (size_t i = 0; i < n * COLUMNS; i++)
            x[i] = value_of((column)(i % COLUMNS), i / COLUMNS, n, &rng);
        assert_int_equal(lm_pool_features_find(ctx, x, n, COLUMNS, &f), LIMN_OK);
        assert_int_equal(f.d, COLUMNS);
        for (size_t j = 0; j < COLUMNS; j++) {
            check_feature(&f, x, n, COLUMNS, j);
            categories += f.category[j];
        }
        assert_int_equal(f.categories, categories);
        lm_pool_features_free(&ctx->mem, &f);
    }
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static bool is_category(column of, size_t n) {
    float x[200];
    limn_context *ctx = make_context(NULL, 1, 1);
    lm_rng rng = lm_rng_at(1, 1, 1);
    lm_pool_features f;
    for (size_t i = 0; i < n; i++)
        x[i] = value_of(of, i, n, &rng);
    assert_int_equal(lm_pool_features_find(ctx, x, n, 1, &f), LIMN_OK);
    bool is = f.category[0];
    lm_pool_features_free(&ctx->mem, &f);
    limn_context_free(ctx);
    return is;
}

static void test_five_values_with_ten_rows_each_are_categories_and_no_more_or_fewer(void **state) {
    (void)state;
    assert_true(is_category(CONSTANT, 10) && !is_category(CONSTANT, 9));
    assert_true(is_category(ZEROS, 10) && !is_category(ZEROS, 9));
    assert_true(is_category(BINARY, 20) && !is_category(BINARY, 19));
    assert_true(is_category(FIVE, 50) && !is_category(FIVE, 49));
    assert_false(is_category(SIX, 60) || is_category(SIX, 200));
    assert_false(is_category(LAST_SIX, 200) || is_category(NORMAL, 200));
}

/* Callers divide by spreads above 0. */
static void test_a_constant_feature_has_a_spread_of_exactly_0(void **state) {
    (void)state;
    static const float values[] = {0.1f, 0, -0.3f, 1e30f, 7e-7f, FLT_MAX, -FLT_MIN, 1e6f / 3};
    enum { D = LM_COUNT(values), N = 200 };
    static float x[N * D];
    for (size_t i = 0; i < (size_t)N * D; i++)
        x[i] = values[i % D];
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t n = 1; n <= N; n++) {
        lm_pool_features f;
        assert_int_equal(lm_pool_features_find(ctx, x, n, D, &f), LIMN_OK);
        for (size_t j = 0; j < D; j++)
            if (f.spread[j] != 0)
                fail_msg("%zu rows of %g: spread %g", n, (double)values[j], f.spread[j]);
        lm_pool_features_free(&ctx->mem, &f);
    }
    limn_context_free(ctx);
}

/* ---- rows ---- */

static void check_taken(const world *w, size_t classes) {
    const lm_pool_rows *r = &w->rows;
    size_t at = 0;
    assert_true(r->n == w->n && r->classes == classes && r->features == &w->f);
    assert_true(r->stride >= w->d && r->stride < w->d + LM_PANEL && r->stride % LM_PANEL == 0);
    for (size_t c = 0; c < classes; c++) {
        assert_int_equal(r->start[c], at);
        for (size_t i = 0; i < w->n; i++)
            if (class_of_row(w, i) == (int32_t)c) {
                const float *row = r->x + at++ * r->stride;
                assert_memory_equal(row, w->x + i * w->d, w->d * sizeof *row);
                for (size_t j = w->d; j < r->stride; j++)
                    assert_true(row[j] == 0);
            }
    }
    assert_int_equal(at, w->n);
    assert_int_equal(r->start[classes], w->n);
}

static void test_rows_are_kept_by_class_in_their_order_and_padded_with_zeros(void **state) {
    (void)state;
    enum { N = 57 };
    static const size_t ds[] = {1, 5, 15, 16, 17, 40};
    for (size_t a = 0; a < LM_COUNT(ds); a++)
        for (size_t classes = 1; classes <= 9; classes += 2)
            for (size_t n = 1; n <= N; n += 28) {
                float *x = normal_rows(n, ds[a], classes);
                int32_t label[N];
                lm_rng rng = lm_rng_at(a, 33, n);
                world w;
                for (size_t i = 0; i < n; i++)
                    label[i] = (int32_t)lm_rng_below(&rng, classes);
                world_open(&w, x, label, n, ds[a], classes);
                check_taken(&w, classes);
                world_close(&w);
                world_open(&w, x, NULL, n, ds[a], classes);
                check_taken(&w, 1);
                world_close(&w);
                free(x);
            }
}

/* ---- what points depend on ---- */

/* The same points in pieces, with gaps between rows, compared with those of w. */
static void check_pieces(const world *w, double noise, size_t piece, size_t gap) {
    size_t stride = w->d + gap, floats = w->points * stride;
    float *out = malloc(floats * sizeof *out), untouched = -4321.25f;
    int32_t *class = malloc(w->points * sizeof *class);
    for (size_t i = 0; i < floats; i++)
        out[i] = untouched;
    for (size_t first = 0; first < w->points; first += piece) {
        size_t count = w->points - first < piece ? w->points - first : piece;
        lm_pool_sample(w->ctx, &w->rows, &(lm_pool_way){.seed = 5, .noise = noise}, first, count,
                       out + first * stride, stride, class + first);
    }
    for (size_t i = 0; i < w->points; i++) {
        assert_memory_equal(out + i * stride, w->point + i * w->d, w->d * sizeof *out);
        for (size_t j = w->d; j < stride; j++)
            assert_true(out[i * stride + j] == untouched);
        assert_int_equal(class[i], w -> class[i]);
    }
    free(out);
    free(class);
}

static void test_threads_pieces_and_strides_do_not_change_the_points(void **state) {
    (void)state;
    enum { N = 60, D = 6, POINTS = 300 };
    static const size_t pieces[] = {1, 63, 64, 65, 100, POINTS};
    float *x = normal_rows(N, D, 11);
    int32_t label[N];
    world w;
    draw_categories(N, D, 4, 2, x, label);
    world_open(&w, x, label, N, D, 2);
    w.ctx->seed = 99; /* that of the context is another */
    for (int noisy = 0; noisy < 2; noisy++) {
        w.ctx->threads = 1;
        sample(&w, POINTS, 0.3 * noisy);
        for (int threads = 1; threads <= 3; threads++)
            for (size_t p = 0; p < LM_COUNT(pieces); p++)
                for (size_t gap = 0; gap <= 3; gap += 3) {
                    w.ctx->threads = threads;
                    w.ctx->seed++;
                    check_pieces(&w, 0.3 * noisy, pieces[p], gap);
                }
    }
    world_close(&w);
    free(x);
}

static void test_seeds_and_numbers_give_different_points(void **state) {
    (void)state;
    enum { N = 30, D = 3, POINTS = 200 };
    float *x = normal_rows(N, D, 12), other[POINTS * D], untouched = 7;
    world w;
    world_open(&w, x, NULL, N, D, 1);
    sample(&w, POINTS, 0);
    lm_pool_sample(w.ctx, &w.rows, &(lm_pool_way){.seed = 6, .noise = 0}, 0, POINTS, other, D,
                   NULL);
    for (size_t i = 0; i < POINTS; i++) {
        assert_memory_not_equal(other + i * D, w.point + i * D, D * sizeof *other);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(w.point + k * D, w.point + i * D, D * sizeof *other);
    }
    lm_pool_sample(w.ctx, &w.rows, &(lm_pool_way){.seed = 6, .noise = 0}, 10, 0, &untouched, D,
                   NULL);
    assert_true(untouched == 7);
    world_close(&w);
    free(x);
}

/* ---- few rows, equal rows, extreme values ---- */

static void test_one_row_or_equal_rows_give_that_row(void **state) {
    (void)state;
    enum { N = 60, D = 3, POINTS = 200 };
    static const size_t ns[] = {1, 2, 3, N};
    float x[N * D];
    int32_t label[N];
    for (size_t i = 0; i < (size_t)N * D; i++)
        x[i] = 0.1f * (float)(i % D) - 0.07f;
    for (size_t i = 0; i < N; i++)
        label[i] = (int32_t)(i % 2);
    for (size_t a = 0; a < LM_COUNT(ns); a++)
        for (int labelled = 0; labelled < 2; labelled++)
            for (int noisy = 0; noisy < 2; noisy++) {
                world w;
                world_open(&w, x, labelled ? label : NULL, ns[a], D, 2);
                sample(&w, POINTS, noisy);
                for (size_t i = 0; i < POINTS; i++) {
                    assert_memory_equal(w.point + i * D, x, D * sizeof *x);
                    assert_in_range(w.class[i], 0, labelled && ns[a] > 1);
                }
                world_close(&w);
            }
}

static void test_labels_that_are_all_the_same_are_no_labels(void **state) {
    (void)state;
    enum { N = 40, D = 4, POINTS = 300 };
    static const int32_t label[N] = {0};
    float *x = normal_rows(N, D, 13);
    world with, without;
    world_open(&with, x, label, N, D, 1);
    world_open(&without, x, NULL, N, D, 5);
    sample(&with, POINTS, 0.1);
    sample(&without, POINTS, 0.1);
    assert_memory_equal(with.point, without.point, POINTS * D * sizeof *x);
    for (size_t i = 0; i < POINTS; i++)
        assert_true(with.class[i] == 0 && without.class[i] == 0);
    world_close(&with);
    world_close(&without);
    free(x);
}

/* The classes that have rows are named by their own numbers. */
static void test_classes_without_rows_are_never_drawn(void **state) {
    (void)state;
    enum { N = 12, D = 3, CLASSES = 9, POINTS = 400 };
    static const int32_t numbers[][2] = {{0, 1}, {0, 8}, {3, 5}, {7, 8}, {2, 2}, {8, 8}, {0, 0}};
    float *x = normal_rows(N, D, 14);
    for (size_t v = 0; v < LM_COUNT(numbers); v++) {
        int32_t label[N];
        size_t drawn[N] = {0}, count[CLASSES] = {0};
        world w;
        for (size_t i = 0; i < N; i++)
            label[i] = numbers[v][i % 3 == 0];
        world_open(&w, x, label, N, D, CLASSES);
        check_taken(&w, CLASSES);
        sample(&w, POINTS, 0);
        for (size_t i = 0; i < POINTS; i++) {
            assert_true(kinds_of(&w, i, drawn) != 0);
            count[w.class[i]]++;
        }
        for (int32_t c = 0; c < CLASSES; c++)
            assert_true((count[c] > POINTS / 6) == (c == numbers[v][0] || c == numbers[v][1]));
        world_close(&w);
    }
    free(x);
}

static void test_huge_and_tiny_values_give_finite_points_between_rows(void **state) {
    (void)state;
    enum { N = 12, D = 3, POINTS = 300 };
    static const double scales[] = {1e30, 3e38, 1e-30, 1e-40};
    static const int32_t label[N] = {0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0};
    for (size_t s = 0; s < LM_COUNT(scales); s++) {
        float x[N * D];
        size_t drawn[N] = {0};
        lm_rng rng = lm_rng_at(s, 35, 0);
        world w;
        for (size_t i = 0; i < (size_t)N * D; i++)
            x[i] = (float)(scales[s] * (2 * lm_rng_unit(&rng) - 1));
        world_open(&w, x, label, N, D, 2);
        sample(&w, POINTS, 0);
        check_range(&w);
        for (size_t i = 0; i < POINTS && scales[s] > 1e-35; i++)
            assert_true(kinds_of(&w, i, drawn) != 0);
        for (double noise = 1e-3; noise < 1e9; noise *= 1000) {
            sample(&w, POINTS, noise);
            check_range(&w); /* which NaN would fail */
        }
        world_close(&w);
    }
}

/* ---- memory ---- */

static void test_every_failing_allocation_is_reported_and_sampling_makes_none(void **state) {
    (void)state;
    enum { N = 50, D = 3 };
    float *x = normal_rows(N, D, 15), out[64 * D];
    counting count = {0};
    limn_context *ctx = make_context(&count, 2, 1);
    long live = count.live;
    bool done = false;
    unsigned failed = 0;
    for (unsigned at = 1; !done; at++) {
        lm_pool_features f;
        lm_pool_rows rows = {.n = 0};
        count.fail_at = at;
        limn_status status = lm_pool_features_find(ctx, x, N, D, &f);
        if (status == LIMN_OK)
            status = lm_pool_rows_take(ctx, &f, x, NULL, N, 1, &rows);
        done = count.fail_at != 0;
        count.fail_at = 0;
        failed += !done;
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        if (done) {
            unsigned requests = count.requests;
            lm_pool_sample(ctx, &rows, &(lm_pool_way){.seed = 1, .noise = 0}, 0, 64, out, D, NULL);
            assert_int_equal(count.requests, requests);
        }
        lm_pool_rows_free(&ctx->mem, &rows);
        lm_pool_features_free(&ctx->mem, &f);
        assert_int_equal(count.live, live);
    }
    assert_int_equal(failed, 7);
    /* more than memory can hold: n x stride overflows */
    lm_pool_features f = {.d = D};
    lm_pool_rows rows;
    assert_int_equal(lm_pool_rows_take(ctx, &f, x, NULL, SIZE_MAX / 8, 1, &rows), LIMN_E_MEMORY);
    lm_pool_rows_free(&ctx->mem, &rows);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features_are_those_of_plain_loops),
        cmocka_unit_test(test_five_values_with_ten_rows_each_are_categories_and_no_more_or_fewer),
        cmocka_unit_test(test_a_constant_feature_has_a_spread_of_exactly_0),
        cmocka_unit_test(test_rows_are_kept_by_class_in_their_order_and_padded_with_zeros),
        cmocka_unit_test(test_threads_pieces_and_strides_do_not_change_the_points),
        cmocka_unit_test(test_seeds_and_numbers_give_different_points),
        cmocka_unit_test(test_one_row_or_equal_rows_give_that_row),
        cmocka_unit_test(test_labels_that_are_all_the_same_are_no_labels),
        cmocka_unit_test(test_classes_without_rows_are_never_drawn),
        cmocka_unit_test(test_huge_and_tiny_values_give_finite_points_between_rows),
        cmocka_unit_test(test_every_failing_allocation_is_reported_and_sampling_makes_none),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
