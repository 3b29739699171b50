/* test_bandwidth.c: the weights of the adaptive filter (fit/bandwidth): they add up to W, fall with
 * the distance, and are exp(-d^2 / (2 s^2)) for the s that is returned. */
#include "fit/bandwidth.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

typedef enum spacing {
    RANDOM,     /* distances of normal points */
    CLUSTERED,  /* two sizes that differ by a million */
    WIDE,       /* evenly over 60 orders of magnitude */
    TWO_SIZES,  /* 1e-30 and 1e30 */
    LINES,      /* 1e-30 .. 1e30, most of them at one end */
    NEARLY,     /* equal but for the last bits */
    EQUAL,      /* all 1 */
    DUPLICATES, /* few different distances */
    ZEROS,      /* some are 0 */
    ALL_BUT_ONE,
    SPACINGS
} spacing;

static double distance_of(spacing of, size_t i, size_t n, lm_rng *rng) {
    double unit = lm_rng_unit(rng);
    switch (of) {
    case RANDOM:
        return fabs(lm_rng_normal(rng)) + 1e-3;
    case CLUSTERED:
        return i % 2 ? 1e-3 * (1 + unit) : 1e3 * (1 + unit);
    case WIDE:
        return pow(10, 60 * (double)i / (double)n - 30);
    case TWO_SIZES:
        return i < n / 3 ? 1e-30 : 1e30;
    case LINES:
        return pow(10, 60 * pow(unit, 8) - 30);
    case NEARLY:
        return 1 + 1e-15 * (double)(i % 5);
    case EQUAL:
        return 1;
    case DUPLICATES:
        return 1 + (double)lm_rng_below(rng, 3);
    case ZEROS:
        return i < n / 4 ? 0 : unit;
    default:
        return i + 1 < n ? 0 : 1;
    }
}

static int ascending(const void *a, const void *b) {
    double x = ((const lm_ranked *)a)->key, y = ((const lm_ranked *)b)->key;
    return (x > y) - (x < y);
}

static lm_ranked *draw(spacing of, size_t n, uint64_t seed) {
    lm_ranked *near = malloc(n * sizeof *near);
    lm_rng rng = lm_rng_at(seed, 91, (uint64_t)of);
    for (size_t i = 0; i < n; i++) {
        double distance = distance_of(of, i, n, &rng);
        near[i] = (lm_ranked){distance * distance, i};
    }
    qsort(near, n, sizeof *near, ascending);
    return near;
}

static size_t zeros_of(const lm_ranked *near, size_t n) {
    size_t zeros = 0;
    while (zeros < n && near[zeros].key == 0)
        zeros++;
    return zeros;
}

static void check_weights(const lm_ranked *near, size_t n, double w, int of) {
    double *weight = malloc(n * sizeof *weight), wanted = w < (double)n / 2 ? w : (double)n / 2;
    double s2 = lm_agf_weights(near, n, w, weight);
    long double sum = 0;
    size_t zeros = zeros_of(near, n);
    assert_true(lm_agf_w(w, n) == wanted);
    for (size_t i = 0; i < n; i++) {
        sum += weight[i];
        if (!(weight[i] >= 0 && weight[i] <= 1) || (i && weight[i] > weight[i - 1]))
            fail_msg("spacing %d, n %zu, W %g: weight %zu is %g", of, n, w, i, weight[i]);
        double exact = s2 > 0 ? exp(-near[i].key / (2 * s2)) : i < zeros;
        if (!(fabs(weight[i] - exact) <= 1e-12))
            fail_msg("spacing %d, n %zu, W %g: weight %zu is %g, not %g", of, n, w, i, weight[i],
                     exact);
    }
    if ((double)zeros >= wanted) {
        assert_true(s2 == 0);
        assert_true(sum == (long double)zeros);
    } else if (!(s2 > 0) || !(fabsl(sum - wanted) <= 1e-10L * wanted)) {
        fail_msg("spacing %d, n %zu, W %g: s^2 is %g and the sum %.17Lg", of, n, w, s2, sum);
    }
    free(weight);
}

static const size_t sizes[] = {1, 2, 3, 4, 10, 16, 100, 1000};
static const double ws[] = {1e-9, 0.01, 0.4999, 0.5, 1, 1.000001, 1.5, 2, 5, 25, 50, 499, 1e6};

static void test_weights_add_up_to_w_for_every_spacing(void **state) {
    (void)state;
    for (int of = 0; of < SPACINGS; of++)
        for (size_t s = 0; s < LM_COUNT(sizes); s++)
            for (size_t v = 0; v < LM_COUNT(ws); v++)
                for (uint64_t seed = 0; seed < 3; seed++) {
                    lm_ranked *near = draw((spacing)of, sizes[s], seed);
                    check_weights(near, sizes[s], ws[v], of);
                    free(near);
                }
}

/* W a hair above or below the number of rows at distance 0. */
static void test_w_next_to_the_number_of_equal_rows_is_no_trap(void **state) {
    (void)state;
    enum { N = 40 };
    for (size_t zeros = 1; zeros < N / 2; zeros++)
        for (double by = -1e-9; by <= 1e-9; by += 1e-10) {
            lm_ranked near[N];
            for (size_t i = 0; i < N; i++)
                near[i] = (lm_ranked){i < zeros ? 0 : (double)i, i};
            check_weights(near, N, (double)zeros + by, -1);
        }
}

/* The unit of the distances does not matter. */
static void test_the_bandwidth_scales_with_the_distances(void **state) {
    (void)state;
    enum { N = 64 };
    lm_ranked *near = draw(RANDOM, N, 7);
    double plain[N], scaled[N], s2 = lm_agf_weights(near, N, 5, plain);
    for (int power = -250; power <= 250; power += 50) {
        lm_ranked other[N];
        for (size_t i = 0; i < N; i++)
            other[i] = (lm_ranked){ldexp(near[i].key, power), i};
        double other_s2 = lm_agf_weights(other, N, 5, scaled);
        assert_true(fabs(ldexp(other_s2, -power) / s2 - 1) < 1e-12);
        for (size_t i = 0; i < N; i++)
            assert_true(fabs(plain[i] - scaled[i]) < 1e-12);
    }
    free(near);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_add_up_to_w_for_every_spacing),
        cmocka_unit_test(test_w_next_to_the_number_of_equal_rows_is_no_trap),
        cmocka_unit_test(test_the_bandwidth_scales_with_the_distances),
    };
    return cmocka_run_group_tests_name("bandwidth", tests, NULL, NULL);
}
