/* test_kmeans.c: the cells of a packed set (num/kmeans) against slow statements of what they are:
 * nearest centres in double, means in long double, and the best of all ways to part a few rows. */
#include "num/kmeans.h"
#include "support.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct result {
    const float *x; /* n x d */
    size_t n, d, k, found;
    float *centre;
    uint32_t *cell;
} result;

static const float UNTOUCHED = -12345.5f;

/* The seed of the random numbers is the caller's, and the place past k centres is watched. */
static result cluster(limn_context *ctx, const float *x, size_t n, size_t d, size_t k,
                      uint64_t seed) {
    result r = {.x = x, .n = n, .d = d, .k = k};
    lm_pack pack;
    lm_rng rng = lm_rng_at(seed, 17, 0);
    r.centre = malloc((k + 1) * d * sizeof *r.centre);
    r.cell = malloc(n * sizeof *r.cell);
    for (size_t i = 0; i < (k + 1) * d; i++)
        r.centre[i] = UNTOUCHED;
    assert_int_equal(lm_pack_build(ctx, x, n, d, d, &pack), LIMN_OK);
    assert_int_equal(lm_kmeans(ctx, &pack, k, &rng, r.centre, r.cell, &r.found), LIMN_OK);
    for (size_t j = 0; j < d; j++)
        assert_true(r.centre[k * d + j] == UNTOUCHED);
    lm_pack_free(&ctx->mem, &pack);
    return r;
}

static void result_free(result *r) {
    free(r->centre);
    free(r->cell);
}

static double squared(const float *a, const float *b, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    return sum;
}

static size_t different_rows(const float *x, size_t n, size_t d) {
    size_t different = 0;
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;
        while (before < i && squared(x + before * d, x + i * d, d) > 0)
            before++;
        different += before == i;
    }
    return different;
}

/* Every cell has a row and every row a cell. */
static void check_cells_are_used(const result *r) {
    size_t *count = calloc(r->found, sizeof *count);
    assert_in_range(r->found, 1, r->k);
    for (size_t i = 0; i < r->n; i++) {
        assert_in_range(r->cell[i], 0, r->found - 1);
        count[r->cell[i]]++;
    }
    for (size_t c = 0; c < r->found; c++)
        assert_true(count[c] > 0);
    free(count);
}

/* No centre is nearer than that of the cell, and none before it as near; rounding: how far
 * distances may be off, as a share of them. */
static void check_nearest(const result *r, double rounding) {
    for (size_t i = 0; i < r->n; i++) {
        const float *row = r->x + i * r->d;
        double own = squared(row, r->centre + r->cell[i] * r->d, r->d);
        for (size_t c = 0; c < r->found; c++) {
            double other = squared(row, r->centre + c * r->d, r->d);
            bool fine =
                c < r->cell[i] && rounding == 0 ? other > own : other * (1 + rounding) >= own;
            if (!fine)
                fail_msg("row %zu of %zu (d %zu, k %zu) is in cell %u at %.9g; centre %zu: %.9g", i,
                         r->n, r->d, r->k, r->cell[i], own, c, other);
        }
    }
}

static bool is_mean_of_its_rows(const result *r, size_t c) {
    bool mean = true;
    for (size_t j = 0; j < r->d; j++) {
        long double sum = 0, most = 0;
        size_t count = 0;
        for (size_t i = 0; i < r->n; i++)
            if (r->cell[i] == c) {
                sum += (long double)r->x[i * r->d + j];
                most = fmaxl(most, fabsl((long double)r->x[i * r->d + j]));
                count++;
            }
        long double off = fabsl((long double)r->centre[c * r->d + j] - sum / (long double)count);
        mean &= off <= most * 0x1p-23L;
    }
    return mean;
}

static void check_means(const result *r) {
    for (size_t c = 0; c < r->found; c++)
        if (!is_mean_of_its_rows(r, c))
            fail_msg("centre %zu of %zu (n %zu, d %zu) is not the mean", c, r->found, r->n, r->d);
}

static float *normal_rows(size_t n, size_t d, uint64_t seed) {
    float *x = malloc(n * d * sizeof *x);
    lm_rng rng = lm_rng_at(seed, 18, n * 1000 + d);
    for (size_t i = 0; i < n * d; i++)
        x[i] = (float)lm_rng_normal(&rng);
    return x;
}

/* ---- cells ---- */

static void test_every_row_is_in_the_cell_of_its_nearest_centre_and_every_cell_has_a_row(void **s) {
    (void)s;
    static const size_t ns[] = {1, 2, 3, 15, 16, 17, 100, 500}, ds[] = {1, 2, 7, 16, 33};
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    for (size_t a = 0; a < LM_COUNT(ns); a++)
        for (size_t b = 0; b < LM_COUNT(ds); b++) {
            size_t n = ns[a], ks[] = {1, 2, 3, 10, 40, n, n + 5};
            float *x = normal_rows(n, ds[b], 0);
            for (size_t k = 0; k < LM_COUNT(ks); k++) {
                result r = cluster(ctx, x, n, ds[b], ks[k], k);
                check_cells_are_used(&r);
                check_nearest(&r, (double)(ds[b] + 2) * 0x1p-22);
                result_free(&r);
            }
            free(x);
        }
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* A grid of whole numbers has many equal distances. */
static void test_cells_of_equal_rows_and_equal_distances_have_rows_too(void **state) {
    (void)state;
    enum { N = 200, D = 3 };
    limn_context *ctx = make_context(NULL, 1, 1);
    float x[N * D];
    for (uint64_t seed = 0; seed < 20; seed++) {
        lm_rng rng = lm_rng_at(seed, 19, 0);
        for (size_t i = 0; i < (size_t)N * D; i++)
            x[i] = (float)lm_rng_below(&rng, 3);
        for (size_t k = 1; k <= 27; k += 2) {
            result r = cluster(ctx, x, N, D, k, seed);
            check_cells_are_used(&r);
            check_nearest(&r, 0x1p-19);
            result_free(&r);
        }
    }
    limn_context_free(ctx);
}

/* With centres -1 and 1 the row 0 is as near to one as to the other. */
static void test_ties_go_to_the_lower_number(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    const float x[] = {-2, 0, 1};
    size_t ties = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        result r = cluster(ctx, x, LM_COUNT(x), 1, 2, seed);
        assert_int_equal(r.found, 2);
        check_nearest(&r, 0);
        ties += r.centre[0] == -1 && r.centre[1] == 1 && r.cell[1] == 0;
        /* the other way round the row goes to 1, and the centres move on */
        assert_false(r.centre[0] == 1 && r.centre[1] == -1);
        result_free(&r);
    }
    assert_in_range(ties, 8, 40);
    limn_context_free(ctx);
}

/* From the seeds -15, 0 and 2 the cells are {-15, -8}, {-7, 0, 0} and {2}, their means -11.5, -7/3
 * and 2: -7 is then nearer to the first and 0 to the last. */
static void test_a_cell_that_loses_its_rows_is_closed(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    const float x[] = {-15, -8, -7, 0, 0, 2};
    size_t closed = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        result r = cluster(ctx, x, LM_COUNT(x), 1, 3, seed);
        check_cells_are_used(&r);
        check_nearest(&r, 0);
        check_means(&r);
        if (r.found < 3) {
            assert_int_equal(r.found, 2);
            for (size_t i = 0; i < LM_COUNT(x); i++)
                assert_int_equal(r.cell[i] == r.cell[0], i < 3);
            closed++;
        }
        result_free(&r);
    }
    assert_in_range(closed, 2, 40); /* 2 in 100 */
    limn_context_free(ctx);
}

/* ---- centres ---- */

/* Cluster c has c + 1 rows; rows of different clusters take turns. */
static size_t far_clusters(size_t clusters, size_t d, lm_rng *rng, float *x, size_t *of) {
    size_t n = 0;
    for (size_t turn = 0; turn < clusters; turn++)
        for (size_t c = turn; c < clusters; c++, n++) {
            of[n] = c;
            for (size_t j = 0; j < d; j++)
                x[n * d + j] = (float)((j == c % d ? 1e4 * (double)(1 + c) : 0) +
                                       (double)lm_rng_below(rng, 1000) / 1000);
        }
    return n;
}

static void test_far_clusters_are_found_exactly_and_their_centres_are_means(void **state) {
    (void)state;
    enum { MOST = 20, D_MOST = 20 };
    static float x[MOST * (MOST + 1) / 2 * D_MOST];
    static size_t of[MOST * (MOST + 1) / 2];
    static const size_t counts[] = {1, 2, 3, 5, 8, 16, MOST}, ds[] = {1, 2, D_MOST};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t a = 0; a < LM_COUNT(counts); a++)
        for (size_t b = 0; b < LM_COUNT(ds); b++)
            for (uint64_t seed = 0; seed < 5; seed++) {
                lm_rng rng = lm_rng_at(seed, 20, a);
                size_t cell_of[MOST], n = far_clusters(counts[a], ds[b], &rng, x, of);
                result r = cluster(ctx, x, n, ds[b], counts[a], seed);
                assert_int_equal(r.found, counts[a]);
                check_cells_are_used(&r);
                check_nearest(&r, 0x1p-18);
                check_means(&r);
                for (size_t i = n; i-- > 0;)
                    cell_of[of[i]] = r.cell[i];
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(r.cell[i], cell_of[of[i]]);
                result_free(&r);
            }
    limn_context_free(ctx);
}

static void test_one_centre_is_the_mean(void **state) {
    (void)state;
    static const size_t ns[] = {1, 2, 16, 17, 300};
    static const float offsets[] = {0, 1e6f, -3e-5f};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t a = 0; a < LM_COUNT(ns); a++)
        for (size_t b = 0; b < LM_COUNT(offsets); b++) {
            float *x = normal_rows(ns[a], 5, 3);
            for (size_t i = 0; i < ns[a] * 5; i++)
                x[i] += offsets[b];
            result r = cluster(ctx, x, ns[a], 5, 1, 1);
            assert_int_equal(r.found, 1);
            check_cells_are_used(&r);
            check_means(&r);
            result_free(&r);
            free(x);
        }
    limn_context_free(ctx);
}

/* So few rows settle long before the last round. */
static void test_another_round_would_change_nothing(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (uint64_t seed = 0; seed < 50; seed++) {
        float *x = normal_rows(30, 2, seed);
        result r = cluster(ctx, x, 30, 2, 3, seed);
        check_means(&r);
        check_nearest(&r, 0x1p-20);
        result_free(&r);
        free(x);
    }
    limn_context_free(ctx);
}

/* The sum of squared distances of rows from the means of their cells, of which there are two. */
static double within(const float *x, size_t n, size_t d, unsigned second) {
    double all = 0;
    for (unsigned c = 0; c < 2; c++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0, squares = 0, count = 0;
            for (size_t i = 0; i < n; i++)
                if ((second >> i & 1) == c) {
                    sum += (double)x[i * d + j];
                    squares += (double)x[i * d + j] * (double)x[i * d + j];
                    count++;
                }
            all += count > 0 ? squares - sum * sum / count : 0;
        }
    return all;
}

static void test_the_best_of_a_few_tries_is_the_best_of_all_partitions(void **state) {
    (void)state;
    enum { N = 11, D = 2, TRIES = 20 };
    limn_context *ctx = make_context(NULL, 1, 1);
    for (uint64_t set = 0; set < 10; set++) {
        float *x = normal_rows(N, D, 100 + set);
        double best = INFINITY, least = INFINITY;
        for (unsigned second = 0; second < 1u << (N - 1); second++)
            best = fmin(best, within(x, N, D, second));
        for (uint64_t seed = 0; seed < TRIES; seed++) {
            result r = cluster(ctx, x, N, D, 2, seed);
            unsigned second = 0;
            for (size_t i = 0; i < N; i++)
                second |= r.cell[i] << i;
            least = fmin(least, within(x, N, D, second));
            result_free(&r);
        }
        assert_true(fabs(least - best) <= 1e-9 * best);
        free(x);
    }
    limn_context_free(ctx);
}

/* The first seed is 0, since nearly all rows are; the second is -3 nine times as often as 1. Both
 * settle with that seed in a cell of its own. */
static void test_seeds_are_drawn_in_proportion_to_squared_distances(void **state) {
    (void)state;
    enum { N = 1002, TRIES = 600 };
    static float x[N];
    limn_context *ctx = make_context(NULL, 1, 1);
    size_t far = 0;
    x[200] = 1;
    x[700] = -3;
    for (uint64_t seed = 0; seed < TRIES; seed++) {
        result r = cluster(ctx, x, N, 1, 2, seed);
        assert_int_equal(r.found, 2);
        far += r.cell[200] == r.cell[0];
        result_free(&r);
    }
    assert_in_range(far, TRIES * 86 / 100, TRIES * 94 / 100);
    limn_context_free(ctx);
}

/* ---- few rows, equal rows, extreme values ---- */

/* Their centres are the rows themselves, bit for bit. */
static void test_fewer_different_rows_than_k_give_a_centre_each(void **state) {
    (void)state;
    enum { N = 90, D = 3 };
    limn_context *ctx = make_context(NULL, 1, 1);
    float x[N * D];
    for (size_t different = 1; different <= 30; different++)
        for (size_t more = 0; more < 3; more++)
            for (uint64_t seed = 0; seed < 3; seed++) {
                lm_rng rng = lm_rng_at(seed, 21, different);
                for (size_t i = 0; i < N; i++) {
                    size_t from = i < different ? i : (size_t)lm_rng_below(&rng, different);
                    for (size_t j = 0; j < D; j++)
                        x[i * D + j] = i < different ? (float)lm_rng_normal(&rng) : x[from * D + j];
                }
                assert_int_equal(different_rows(x, N, D), different);
                result r = cluster(ctx, x, N, D, different + more * more * 40, seed);
                assert_int_equal(r.found, different);
                check_cells_are_used(&r);
                for (size_t i = 0; i < N; i++)
                    assert_memory_equal(x + i * D, r.centre + r.cell[i] * D, D * sizeof *x);
                result_free(&r);
            }
    limn_context_free(ctx);
}

static void test_equal_rows_are_one_cell_and_one_row_is_too(void **state) {
    (void)state;
    enum { N = 70, D = 5 };
    limn_context *ctx = make_context(NULL, 1, 1);
    static const float values[] = {0, 0.1f, -7, 1e30f, 1e-30f, FLT_MAX, FLT_MIN};
    for (size_t v = 0; v < LM_COUNT(values); v++)
        for (size_t n = 1; n <= N; n += 23)
            for (size_t k = 1; k <= 50; k += 7) {
                float x[N * D];
                for (size_t i = 0; i < (size_t)N * D; i++)
                    x[i] = values[v] / (float)(1 + i % D);
                result r = cluster(ctx, x, n, D, k, k);
                assert_int_equal(r.found, 1);
                check_cells_are_used(&r);
                assert_memory_equal(r.centre, x, D * sizeof *x);
                result_free(&r);
            }
    limn_context_free(ctx);
}

/* Where squared distances do not fit in a float, centres are still within the range of the rows. */
static void test_huge_and_tiny_values_give_finite_centres_within_the_range(void **state) {
    (void)state;
    enum { N = 100, D = 4 };
    static const double scales[] = {1e30, 3e38, 1e-30, 1e-44, 1e19, 1e-23};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t s = 0; s < LM_COUNT(scales); s++)
        for (size_t k = 1; k <= 2 * N; k = 2 * k + 1) {
            float x[N * D], low = INFINITY, high = -INFINITY;
            lm_rng rng = lm_rng_at(k, 22, s);
            for (size_t i = 0; i < (size_t)N * D; i++) {
                x[i] = (float)(scales[s] * (2 * lm_rng_unit(&rng) - 1));
                low = fminf(low, x[i]);
                high = fmaxf(high, x[i]);
            }
            result r = cluster(ctx, x, N, D, k, s);
            check_cells_are_used(&r);
            for (size_t i = 0; i < r.found * D; i++)
                assert_true(r.centre[i] >= low && r.centre[i] <= high);
            result_free(&r);
        }
    limn_context_free(ctx);
}

/* Lengths between which squares neither over- nor underflow. */
static void test_the_unit_of_the_features_does_not_matter(void **state) {
    (void)state;
    enum { N = 120, D = 3, K = 7 };
    limn_context *ctx = make_context(NULL, 1, 1);
    float *x = normal_rows(N, D, 9), scaled[N * D];
    result plain = cluster(ctx, x, N, D, K, 5);
    for (int power = -40; power <= 40; power += 20) {
        for (size_t i = 0; i < (size_t)N * D; i++)
            scaled[i] = ldexpf(x[i], power);
        result r = cluster(ctx, scaled, N, D, K, 5);
        assert_int_equal(r.found, plain.found);
        assert_memory_equal(r.cell, plain.cell, N * sizeof *r.cell);
        result_free(&r);
    }
    result_free(&plain);
    free(x);
    limn_context_free(ctx);
}

/* ---- random numbers and memory ---- */

static void test_the_random_numbers_decide_the_result_and_nothing_else_does(void **state) {
    (void)state;
    enum { N = 300, D = 4, K = 12 };
    float *x = normal_rows(N, D, 6);
    limn_context *ctx = make_context(NULL, 1, 1), *other = make_context(NULL, 3, 77);
    size_t same = 0;
    result first = cluster(ctx, x, N, D, K, 0);
    for (uint64_t seed = 0; seed < 10; seed++) {
        result one = cluster(ctx, x, N, D, K, seed), again = cluster(other, x, N, D, K, seed);
        assert_int_equal(one.found, again.found);
        assert_memory_equal(one.centre, again.centre, one.found * D * sizeof *one.centre);
        assert_memory_equal(one.cell, again.cell, N * sizeof *one.cell);
        same += memcmp(one.cell, first.cell, N * sizeof *one.cell) == 0;
        result_free(&one);
        result_free(&again);
    }
    assert_in_range(same, 1, 5);
    result_free(&first);
    free(x);
    limn_context_free(ctx);
    limn_context_free(other);
}

static void test_every_failing_allocation_is_reported(void **state) {
    (void)state;
    enum { N = 50, D = 3, K = 6 };
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    float *x = normal_rows(N, D, 2), centre[K * D];
    uint32_t cell[N];
    lm_pack pack;
    bool done = false;
    assert_int_equal(lm_pack_build(ctx, x, N, D, D, &pack), LIMN_OK);
    long live = count.live;
    for (unsigned at = 1; !done; at++) {
        lm_rng rng = lm_rng_at(1, 1, 1);
        size_t found = 99;
        count.fail_at = at;
        limn_status status = lm_kmeans(ctx, &pack, K, &rng, centre, cell, &found);
        done = count.fail_at != 0;
        count.fail_at = 0;
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        assert_int_equal(found, done ? K : 0);
        assert_int_equal(count.live, live);
        assert_true(!done || at > 5);
    }
    /* more than memory can hold: k x d overflows */
    lm_rng rng = lm_rng_at(1, 1, 1);
    size_t found = 99;
    assert_int_equal(lm_kmeans(ctx, &pack, SIZE_MAX / 2, &rng, centre, cell, &found),
                     LIMN_E_MEMORY);
    assert_int_equal(found, 0);
    lm_pack_free(&ctx->mem, &pack);
    free(x);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_every_row_is_in_the_cell_of_its_nearest_centre_and_every_cell_has_a_row),
        cmocka_unit_test(test_cells_of_equal_rows_and_equal_distances_have_rows_too),
        cmocka_unit_test(test_ties_go_to_the_lower_number),
        cmocka_unit_test(test_a_cell_that_loses_its_rows_is_closed),
        cmocka_unit_test(test_far_clusters_are_found_exactly_and_their_centres_are_means),
        cmocka_unit_test(test_one_centre_is_the_mean),
        cmocka_unit_test(test_another_round_would_change_nothing),
        cmocka_unit_test(test_the_best_of_a_few_tries_is_the_best_of_all_partitions),
        cmocka_unit_test(test_seeds_are_drawn_in_proportion_to_squared_distances),
        cmocka_unit_test(test_fewer_different_rows_than_k_give_a_centre_each),
        cmocka_unit_test(test_equal_rows_are_one_cell_and_one_row_is_too),
        cmocka_unit_test(test_huge_and_tiny_values_give_finite_centres_within_the_range),
        cmocka_unit_test(test_the_unit_of_the_features_does_not_matter),
        cmocka_unit_test(test_the_random_numbers_decide_the_result_and_nothing_else_does),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("kmeans", tests, NULL, NULL);
}
