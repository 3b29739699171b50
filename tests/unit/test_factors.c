/* test_factors.c: the factorisations used by queries (num/jacobi, num/cholesky) and by the
 * training of hulls (num/linalg), checked by reconstruction, orthogonality and order. */
#include "num/cholesky.h"
#include "num/jacobi.h"
#include "num/linalg.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 40 };

typedef enum matrix {
    RANDOM,
    POSITIVE,
    REPEATED, /* two eigenvalues only */
    ZERO,
    ONE, /* the identity */
    RANK_ONE,
    DIAGONAL,
    GRADED, /* from 1 to 1e-14 */
    MATRICES
} matrix;

static const double scales[] = {1, 1e150, 1e-150};

/* Orthonormal rows, by reflections of the axes. */
static void draw_basis(lm_rng *rng, size_t n, double *q) {
    for (size_t i = 0; i < n * n; i++)
        q[i] = i % (n + 1) == 0;
    for (size_t step = 0; step < n + 2; step++) {
        double v[MOST], length = 0;
        for (size_t j = 0; j < n; j++) {
            v[j] = lm_rng_normal(rng);
            length += v[j] * v[j];
        }
        for (size_t i = 0; i < n; i++) {
            double dot = 0;
            for (size_t j = 0; j < n; j++)
                dot += q[i * n + j] * v[j];
            for (size_t j = 0; j < n; j++)
                q[i * n + j] -= 2 * dot / length * v[j];
        }
    }
}

static double eigenvalue(matrix of, size_t i, size_t n, lm_rng *rng) {
    switch (of) {
    case RANDOM:
    case DIAGONAL:
        return lm_rng_normal(rng);
    case POSITIVE:
        return .1 + lm_rng_unit(rng);
    case REPEATED:
        return i < n / 2 ? 3 : 1;
    case ONE:
        return 1;
    case RANK_ONE:
        return i == 0 ? 2 : 0;
    case GRADED:
        return pow(10, -14.0 * (double)i / (double)n);
    default:
        return 0;
    }
}

static void draw(matrix of, size_t n, double scale, uint64_t seed, double *a) {
    lm_rng rng = lm_rng_at(seed, 61, (uint64_t)of);
    double *q = malloc(n * n * sizeof *q), lambda[MOST];
    draw_basis(&rng, n, q);
    for (size_t i = 0; i < n * n && of == DIAGONAL; i++)
        q[i] = i % (n + 1) == 0;
    for (size_t i = 0; i < n; i++)
        lambda[i] = eigenvalue(of, i, n, &rng);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += lambda[k] * q[k * n + i] * q[k * n + j];
            a[i * n + j] = a[j * n + i] = sum * scale;
        }
    free(q);
}

/* The first count rows of v are orthonormal eigenvectors of a for the descending values, which
 * are the largest ones (all if count = n). */
static void assert_eigen(const double *a, size_t n, const double *values, const double *v,
                         size_t count, const char *what, int of) {
    double top = 0, trace = 0, sum = 0;
    for (size_t i = 0; i < n * n; i++)
        top = fmax(top, fabs(a[i]));
    for (size_t k = 0; k < count; k++) {
        sum += values[k];
        if (k > 0 && !(values[k] <= values[k - 1]))
            fail_msg("%s, matrix %d: eigenvalue %zu rises", what, of, k);
        for (size_t i = 0; i < n; i++) {
            double row = 0;
            for (size_t j = 0; j < n; j++)
                row += a[i * n + j] * v[k * n + j];
            if (!(fabs(row - values[k] * v[k * n + i]) <= 1e-13 * (double)n * top))
                fail_msg("%s, matrix %d, n %zu: vector %zu is not an eigenvector: %g", what, of, n,
                         k, (row - values[k] * v[k * n + i]) / top);
        }
        for (size_t l = 0; l <= k; l++) {
            double dot = 0;
            for (size_t j = 0; j < n; j++)
                dot += v[k * n + j] * v[l * n + j];
            if (!(fabs(dot - (k == l)) <= 1e-14 * (double)(n + 10)))
                fail_msg("%s, matrix %d: vectors %zu and %zu are not orthonormal", what, of, k, l);
        }
    }
    for (size_t i = 0; i < n; i++)
        trace += a[i * n + i];
    if (count == n)
        assert_true(fabs(sum - trace) <= 1e-13 * (double)n * top);
}

static const size_t sizes[] = {1, 2, 3, 5, 17, MOST};

static void test_small_matrices_equal_their_eigenvectors(void **state) {
    (void)state;
    for (int of = 0; of < MATRICES; of++)
        for (size_t s = 0; s < LM_COUNT(sizes); s++)
            for (size_t c = 0; c < LM_COUNT(scales); c++) {
                size_t n = sizes[s];
                double a[MOST * MOST] = {0}, copy[MOST * MOST], v[MOST * MOST], values[MOST];
                draw((matrix)of, n, scales[c], n, a);
                memcpy(copy, a, sizeof a);
                lm_jacobi(copy, n, values, v);
                assert_eigen(a, n, values, v, n, "small", of);
            }
}

static void test_small_factors_give_their_matrix_again(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(sizes); s++)
        for (size_t c = 0; c < LM_COUNT(scales); c++) {
            size_t n = sizes[s];
            double a[MOST * MOST] = {0}, l[MOST * MOST], x[MOST], b[MOST];
            draw(POSITIVE, n, scales[c], n + 100, a);
            memcpy(l, a, sizeof a);
            assert_true(lm_cholesky_whole(l, n));
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j <= i; j++) {
                    double sum = 0;
                    for (size_t k = 0; k <= j; k++)
                        sum += l[i * n + k] * l[j * n + k];
                    assert_true(fabs(sum - a[i * n + j]) <= 1e-14 * (double)n * scales[c]);
                }
            for (size_t i = 0; i < n; i++)
                x[i] = b[i] = sin((double)i);
            lm_cholesky_whole_forward(l, n, x);
            for (size_t i = 0; i < n; i++) {
                double sum = 0, size = 0;
                for (size_t k = 0; k <= i; k++) {
                    sum += l[i * n + k] * x[k];
                    size += fabs(l[i * n + k] * x[k]);
                }
                assert_true(fabs(sum - b[i]) <= 1e-14 * (double)n * (size + 1));
            }
        }
}

static void test_what_is_not_positive_has_no_factor(void **state) {
    (void)state;
    double zero[4] = {0}, negative[4] = {1, 2, 2, 1}, nan[4] = {1, NAN, NAN, 1}, below[1] = {-1};
    assert_false(lm_cholesky_whole(zero, 2));
    assert_false(lm_cholesky_whole(negative, 2));
    assert_false(lm_cholesky_whole(nan, 2));
    assert_false(lm_cholesky_whole(below, 1));
}

static void test_the_largest_eigenvalues_are_those(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int of = 0; of < MATRICES; of++)
        for (size_t s = 0; s < LM_COUNT(sizes); s++)
            for (size_t count = 0; count <= sizes[s]; count += 1 + sizes[s] / 5) {
                size_t n = sizes[s];
                double a[MOST * MOST] = {0}, copy[MOST * MOST], v[MOST * MOST], all[MOST],
                                values[MOST];
                draw((matrix)of, n, 1, n, a);
                memcpy(copy, a, sizeof a);
                lm_jacobi(copy, n, all, v);
                memcpy(copy, a, sizeof a);
                assert_int_equal(lm_eigen_top(ctx, copy, n, count, values), LIMN_OK);
                assert_eigen(a, n, values, copy, count, "top", of);
                for (size_t k = 0; k < count; k++)
                    assert_true(fabs(values[k] - all[k]) <= 1e-12);
            }
    limn_context_free(ctx);
}

static void test_singular_values_and_vectors_give_their_matrix_again(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {12, 12}, {30, 8}, {8, 30}};
    limn_context *ctx = make_context(NULL, 1, 1);
    lm_rng rng = lm_rng_at(1, 62, 0);
    for (size_t s = 0; s < LM_COUNT(shapes); s++)
        for (int rank = 0; rank < 3; rank++) { /* 0, 1, all */
            size_t n = shapes[s][0], d = shapes[s][1], k = n < d ? n : d;
            double a[240] = {0}, copy[240], values[12], left[240], right[240], top = 0;
            double u[30], w[30];
            for (size_t i = 0; i < 30; i++) {
                u[i] = lm_rng_normal(&rng);
                w[i] = lm_rng_normal(&rng);
            }
            for (size_t i = 0; i < n * d; i++) {
                a[i] = rank == 0 ? 0 : rank == 1 ? u[i / d] * w[i % d] : lm_rng_normal(&rng);
                top = fmax(top, fabs(a[i]));
            }
            memcpy(copy, a, sizeof a);
            assert_int_equal(lm_singular(ctx, copy, n, d, values, left, right), LIMN_OK);
            for (size_t i = 0; i < n * d; i++) {
                double sum = 0;
                for (size_t j = 0; j < k; j++)
                    sum += left[i / d * k + j] * values[j] * right[j * d + i % d];
                assert_true(fabs(sum - a[i]) <= 1e-13 * top);
            }
            for (size_t i = 0; i < k; i++) {
                assert_true(values[i] >= 0 && (i == 0 || values[i] <= values[i - 1]));
                for (size_t j = 0; j <= i; j++) {
                    double r = 0, l = 0;
                    for (size_t e = 0; e < d; e++)
                        r += right[i * d + e] * right[j * d + e];
                    for (size_t e = 0; e < n; e++)
                        l += left[e * k + i] * left[e * k + j];
                    assert_true(fabs(r - (i == j)) <= 1e-13 && fabs(l - (i == j)) <= 1e-13);
                }
            }
        }
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_matrices_equal_their_eigenvectors),
        cmocka_unit_test(test_small_factors_give_their_matrix_again),
        cmocka_unit_test(test_what_is_not_positive_has_no_factor),
        cmocka_unit_test(test_the_largest_eigenvalues_are_those),
        cmocka_unit_test(test_singular_values_and_vectors_give_their_matrix_again),
    };
    return cmocka_run_group_tests_name("small", tests, NULL, NULL);
}
