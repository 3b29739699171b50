/* What trees compute at nodes and leaves, on every instruction set, against loops in double. */
#include "num/rows.h"
#include "support.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_distances_of_pairs_equal_loops(void **state) {
    (void)state;
    const char *isa;
    lm_rng rng = lm_rng_at(1, 1, 1);
    for (size_t n = 1; n <= 100; n++) {
        float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
        double l2 = 0, l1 = 0;
        for (size_t j = 0; j < n; j++) {
            a[j] = (float)lm_rng_normal(&rng);
            b[j] = (float)lm_rng_normal(&rng);
            l2 += pow((double)a[j] - (double)b[j], 2);
            l1 += fabs((double)a[j] - (double)b[j]);
        }
        for (size_t i = 0; (isa = lm_isa_at(i)); i++) {
            assert_true(lm_isa_use(isa));
            assert_true(fabs(lm_pair_kernel(LM_L2)(a, b, n) - l2) <= 1e-14 * l2 * (double)n);
            assert_true(fabs(lm_pair_kernel(LM_L1)(a, b, n) - l1) <= 1e-14 * l1 * (double)n);
            assert_true(lm_pair_kernel(LM_L2)(a, a, n) == 0);
        }
        free(a);
        free(b);
    }
    lm_isa_use(lm_isa_at(0));
}

/* Sums of whole numbers are not rounded, so equal distances are equal in any order of summation. */
static void test_distances_of_whole_numbers_are_exact(void **state) {
    (void)state;
    const char *isa;
    lm_rng rng = lm_rng_at(2, 1, 1);
    for (size_t i = 0; (isa = lm_isa_at(i)); i++) {
        assert_true(lm_isa_use(isa));
        for (size_t n = 1; n <= 40; n++) {
            float a[40], b[40];
            double sum = 0;
            for (size_t j = 0; j < n; j++) {
                a[j] = (float)lm_rng_below(&rng, 1000);
                b[j] = (float)lm_rng_below(&rng, 1000);
                sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
            }
            assert_true(lm_pair_kernel(LM_L2)(a, b, n) == sum);
        }
    }
    lm_isa_use(lm_isa_at(0));
}

/* Rows at random places, some of them twice, in lists of any length. */
static void test_distances_to_listed_rows_equal_those_of_pairs(void **state) {
    (void)state;
    enum { ROWS = 40 };
    const char *isa;
    lm_rng rng = lm_rng_at(4, 1, 1);
    for (size_t n = LM_PANEL; n <= 5 * LM_PANEL; n += LM_PANEL) {
        float *rows = malloc(ROWS * n * sizeof *rows), *x = malloc(n * sizeof *x);
        uint32_t index[ROWS];
        for (size_t i = 0; i < ROWS * n; i++)
            rows[i] = (float)lm_rng_normal(&rng);
        for (size_t j = 0; j < n; j++)
            x[j] = (float)lm_rng_normal(&rng);
        for (size_t i = 0; i < ROWS; i++)
            index[i] = (uint32_t)lm_rng_below(&rng, ROWS);
        for (size_t k = 0; (isa = lm_isa_at(k)); k++)
            for (size_t count = 0; count <= ROWS; count += 13) {
                double l2[ROWS], l1[ROWS], dot[ROWS];
                assert_true(lm_isa_use(isa));
                lm_gather_kernel(LM_L2)(x, rows, n, index, count, l2);
                lm_gather_kernel(LM_L1)(x, rows, n, index, count, l1);
                lm_gather_kernel(LM_DOT)(x, rows, n, index, count, dot);
                for (size_t i = 0; i < count; i++) {
                    const float *row = rows + index[i] * n;
                    double sum = 0, size = 0;
                    for (size_t j = 0; j < n; j++) {
                        sum += (double)x[j] * (double)row[j];
                        size += fabs((double)x[j] * (double)row[j]);
                    }
                    assert_true(l2[i] == lm_pair_kernel(LM_L2)(x, row, n));
                    assert_true(l1[i] == lm_pair_kernel(LM_L1)(x, row, n));
                    assert_true(fabs(dot[i] - sum) <= 1e-14 * size * (double)n);
                }
            }
        free(rows);
        free(x);
    }
    lm_isa_use(lm_isa_at(0));
}

/* To the last bit, on every instruction set. */
static void test_rows_side_by_side_give_the_same_sums(void **state) {
    (void)state;
    enum { ROWS = 24 };
    static const lm_metric metrics[] = {LM_DOT, LM_L2, LM_L1};
    const char *isa;
    lm_rng rng = lm_rng_at(6, 1, 1);
    for (size_t d = 4; d <= 100; d += 4)
        for (size_t lanes = LM_LANES; lanes <= ROWS; lanes += LM_LANES) {
            size_t n = (d + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
            float *rows = calloc(ROWS * n, sizeof *rows), *x = calloc(n, sizeof *x);
            double *columns = malloc(d * lanes * sizeof *columns), *wide = malloc(d * sizeof *wide);
            uint32_t index[ROWS];
            for (size_t j = 0; j < d; j++)
                wide[j] = (double)(x[j] = (float)lm_rng_normal(&rng));
            for (size_t i = 0; i < lanes; i++) {
                index[i] = (uint32_t)i;
                for (size_t j = 0; j < d; j++)
                    columns[j * lanes + i] = (double)(rows[i * n + j] = (float)lm_rng_normal(&rng));
            }
            for (size_t k = 0; (isa = lm_isa_at(k)); k++)
                for (size_t m = 0; m < LM_COUNT(metrics); m++) {
                    double expected[ROWS], out[ROWS];
                    assert_true(lm_isa_use(isa));
                    lm_gather_kernel(metrics[m])(x, rows, n, index, lanes, expected);
                    lm_spread_kernel(metrics[m])(wide, d, columns, lanes, out);
                    assert_memory_equal(out, expected, lanes * sizeof *out);
                }
            free(rows);
            free(x);
            free(columns);
            free(wide);
        }
    lm_isa_use(lm_isa_at(0));
}

static void test_keys_order_as_rounded_distances_do(void **state) {
    (void)state;
    const char *isa;
    lm_rng rng = lm_rng_at(7, 1, 1);
    for (size_t n = 1; n <= LM_KEYS_MOST; n++)
        for (int kind = 0; kind < 4; kind++) {
            double distance[LM_KEYS_MOST], least = INFINITY;
            uint64_t expected = 0, which;
            for (size_t i = 0; i < n; i++) { /* zeros, whole numbers, huge and nearly equal ones */
                double v = (double)lm_rng_below(&rng, 5);
                distance[i] = kind == 0   ? 0
                              : kind == 1 ? v
                              : kind == 2 ? ldexp(v, 900) + 1e-300
                                          : 3 + v * 1e-9;
                int exponent;
                double part = frexp(distance[i], &exponent);
                double rounded = ldexp(floor(ldexp(part, 22) + 0.5), exponent - 22);
                expected = rounded < least ? 0 : expected;
                least = rounded < least ? rounded : least;
                expected |= (uint64_t)(rounded == least) << i;
            }
            for (size_t k = 0; (isa = lm_isa_at(k)); k++) {
                uint32_t keys[LM_KEYS_MOST];
                assert_true(lm_isa_use(isa));
                assert_int_equal(lm_keys_kernel()(distance, n, keys, &which), lm_key(least));
                assert_true(which == expected);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(keys[i], lm_key(distance[i]));
            }
        }
    lm_isa_use(lm_isa_at(0));
}

static void test_distances_of_bytes_are_exact(void **state) {
    (void)state;
    enum { ROWS = 20 };
    static const size_t sizes[] = {16, 32, 48, 64, 80, 784, 1008, LM_BYTES_MOST};
    const char *isa;
    lm_rng rng = lm_rng_at(5, 1, 1);
    for (size_t s = 0; s < LM_COUNT(sizes); s++) {
        size_t n = sizes[s];
        uint8_t *rows = malloc(ROWS * n), *x = malloc(n);
        uint32_t index[ROWS];
        for (size_t i = 0; i < ROWS * n; i++) /* the last row is as far as can be */
            rows[i] = (uint8_t)(i / n == ROWS - 1 ? 0 : lm_rng_below(&rng, 256));
        for (size_t j = 0; j < n; j++)
            x[j] = (uint8_t)(s % 2 ? 255 : lm_rng_below(&rng, 256));
        for (size_t i = 0; i < ROWS; i++)
            index[i] = (uint32_t)(ROWS - 1 - i);
        for (size_t k = 0; (isa = lm_isa_at(k)); k++) {
            double out[ROWS];
            assert_true(lm_isa_use(isa));
            lm_gather_bytes_kernel()(x, rows, n, index, ROWS, out);
            for (size_t i = 0; i < ROWS; i++) {
                double sum = 0;
                for (size_t j = 0; j < n; j++)
                    sum += pow((double)x[j] - (double)rows[index[i] * n + j], 2);
                assert_true(out[i] == sum);
            }
        }
        free(rows);
        free(x);
    }
    lm_isa_use(lm_isa_at(0));
}

static void test_scores_of_panels_equal_loops(void **state) {
    (void)state;
    const char *isa;
    lm_rng rng = lm_rng_at(3, 1, 1);
    for (size_t d = 1; d <= 40; d += 3)
        for (size_t panels = 1; panels <= 3; panels++) {
            size_t rows = panels * LM_PANEL;
            float *w = malloc(rows * d * sizeof *w), *x = malloc(d * sizeof *x);
            float *bias = malloc(rows * sizeof *bias), *out = malloc(rows * sizeof *out);
            for (size_t i = 0; i < rows * d; i++)
                w[i] = (float)lm_rng_normal(&rng);
            for (size_t j = 0; j < d; j++)
                x[j] = (float)lm_rng_normal(&rng);
            for (size_t i = 0; i < rows; i++)
                bias[i] = i + 1 == rows ? -FLT_MAX : (float)lm_rng_normal(&rng);
            for (size_t k = 0; (isa = lm_isa_at(k)); k++) {
                assert_true(lm_isa_use(isa));
                lm_scores_kernel()(w, bias, d, panels, x, out);
                for (size_t i = 0; i + 1 < rows; i++) {
                    double sum = (double)bias[i], size = fabs(sum);
                    for (size_t j = 0; j < d; j++) {
                        double term = (double)x[j] *
                                      (double)w[(i / LM_PANEL * d + j) * LM_PANEL + i % LM_PANEL];
                        sum += term;
                        size += fabs(term);
                    }
                    assert_true(fabs((double)out[i] - sum) <= size * (double)(d + 2) * 0x1p-24);
                }
                assert_true(out[rows - 1] < -1e38f);
            }
            free(w);
            free(x);
            free(bias);
            free(out);
        }
    lm_isa_use(lm_isa_at(0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances_of_pairs_equal_loops),
        cmocka_unit_test(test_distances_of_whole_numbers_are_exact),
        cmocka_unit_test(test_distances_to_listed_rows_equal_those_of_pairs),
        cmocka_unit_test(test_rows_side_by_side_give_the_same_sums),
        cmocka_unit_test(test_keys_order_as_rounded_distances_do),
        cmocka_unit_test(test_distances_of_bytes_are_exact),
        cmocka_unit_test(test_scores_of_panels_equal_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
