/* test_qp.c: the programs of the hulls against their definitions, against trying all sets of
 * free weights and against projected gradients (qp_world.h); no run allocates from the heap. Also
 * the parts that they are made of. */
#include "base/quickselect.h"
#include "heap_calls.h"
#include "num/cholesky.h"
#include "num/pack.h"
#include "qp_world.h"
#include "sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const double scales[] = {1, 1e150, 1e-150, 1e4};

/* ---- one run ---- */

typedef struct answer {
    lm_qp_result qp;
    lm_qp_ball ball;
    double *a;
} answer;

static lm_qp_goal plain_goal(const program *w) {
    size_t support = w->n < w->p + 2 ? w->n : w->p + 2;
    return (lm_qp_goal){1e-12, INFINITY, w->constant, NULL, support};
}

/* Rounding of a gradient in the units of w. */
static double rounding(const program *w) {
    double most = w->top;
    for (size_t i = 0; i < w->n; i++)
        most = fmax(most, fabs(w->q[i]));
    return 1e-13 * most;
}

/* With lm_qp_simplex, or lm_qp_sphere_run if there is a bound (q is diag(G)/2 there). */
static answer solve(program *w, const lm_qp_goal *goal, bool whole) {
    answer r = {.a = calloc(w->n, sizeof(double))};
    lm_qp_gram gram =
        whole ? lm_qp_of_matrix(&w->matrix, w->diagonal) : lm_qp_of_rows(&w->rows, w->diagonal);
    size_t bytes;
    assert_true(
        (w->bound < 1 ? lm_qp_sphere_scratch : lm_qp_scratch)(w->n, goal->support_max, &bytes));
    void *scratch = malloc(bytes);
    memset(scratch, 0xaa, bytes);
    long before = heap_calls;
    if (w->bound < 1) {
        lm_qp_sphere_run(&gram, w->bound, goal->tolerance, goal->support_max, r.a, &r.ball,
                         scratch);
        r.qp = r.ball.qp;
    } else {
        lm_qp_simplex(&gram, w->q, goal, r.a, &r.qp, scratch);
    }
    assert_int_equal(heap_calls, before);
    free(scratch);
    return r;
}

/* A program that fails is reported by name. */
static void expect(const program *w, const answer *r, bool holds, const char *what) {
    if (!holds)
        fail_msg("%s: cloud %d, aim %d, n %zu, p %zu, bound %g, top %g: value %.17g, gap %g, "
                 "iterations %zu, passes %zu, full %d, converged %d",
                 what, w->shape, w->kind, w->n, w->p, w->bound, w->top, r->qp.value, r->qp.gap,
                 r->qp.iterations, r->qp.passes, r->qp.full, r->qp.converged);
}

/* For any request: a is feasible, and the numbers are those of a. */
static void check_truth(const program *w, const answer *r) {
    long double sum = 0;
    double noise = rounding(w);
    size_t support = 0;
    merit m = merit_of(w, r->a);
    for (size_t i = 0; i < w->n; i++) {
        expect(w, r, r->a[i] >= 0 && r->a[i] <= (w->bound < 1 ? w->bound : 1 + 1e-15), "weights");
        sum += r->a[i];
        support += r->a[i] > 0;
    }
    expect(w, r, fabsl(sum - 1) <= 1e-15L, "sum");
    expect(w, r, fabsl(r->qp.value - m.value) <= noise, "value of a");
    expect(w, r, fabsl(r->qp.gap - m.gap) <= noise, "gap of a");
    expect(w, r, r->qp.lower <= r->qp.value, "lower bound");
    expect(w, r, r->qp.support == support, "support");
}

static void check_solved(const program *w, const answer *r) {
    check_truth(w, r);
    bool plain = !r->qp.abandoned && !r->qp.full && !r->qp.cancelled;
    expect(w, r, r->qp.converged && plain, "convergence");
    expect(w, r, r->qp.gap <= fmax(1e-12 * w->top, rounding(w)), "small gap");
}

static void check_value(const program *w, double least) {
    for (int whole = 0; whole < 2; whole++) {
        lm_qp_goal goal = plain_goal(w);
        program copy = *w;
        answer r = solve(&copy, &goal, whole);
        check_solved(w, &r);
        bool equal = fabs(r.qp.value - least) <= fmax(1e-9 * w->top, rounding(w));
        expect(w, &r, equal, "least value");
        expect(w, &r, r.qp.lower <= least + rounding(w), "bound of the least value");
        free(r.a);
    }
}

/* ---- values ---- */

static void test_value_of_the_simplex_equals_the_least_over_all_supports(void **state) {
    (void)state;
    for (int shape = 0; shape < CLOUD_COUNT; shape++)
        for (int kind = 0; kind < AIM_COUNT; kind++)
            for (size_t s = 0; s < LM_COUNT(scales); s++)
                for (size_t n = 1; n <= TRIED_MAX; n++) {
                    program w = program_make((cloud)shape, (aim)kind, n, 1 + n * 5 % 7, 1,
                                             scales[s], n + s);
                    check_value(&w, least_by_trying(&w));
                    program_free(&w);
                }
}

static void test_value_of_the_soft_sphere_equals_the_least_over_all_splits(void **state) {
    (void)state;
    static const double nu[] = {0.2, 0.35, 0.5, 0.77, 1};
    for (int shape = 0; shape < CLOUD_COUNT; shape++)
        for (size_t v = 0; v < LM_COUNT(nu); v++)
            for (size_t s = 0; s < 3; s++)
                for (size_t n = 2; n <= 6; n++) {
                    double bound = 1 / (nu[v] * (double)n);
                    if (bound >= 1)
                        continue;
                    program w = program_make((cloud)shape, AIM_SPHERE, n, 1 + n * 5 % 7, bound,
                                             scales[s], n + s);
                    check_value(&w, least_by_trying(&w));
                    program_free(&w);
                }
}

static void check_against_gradients(cloud shape, aim kind, size_t n, size_t p, double bound,
                                    uint64_t seed) {
    program w = program_make(shape, kind, n, p, bound, 1, seed);
    double *a = calloc(n, sizeof *a);
    merit m = least_by_gradients(&w, a);
    assert_true(m.gap <= 1e-10L * w.top); /* or there is nothing to compare with */
    check_value(&w, (double)m.value);
    free(a);
    program_free(&w);
}

static void test_values_equal_those_of_projected_gradients(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{20, 40}, {60, 5}, {90, 12}};
    static const cloud shapes[] = {CLOUD_NORMAL, CLOUD_FLAT, CLOUD_DUPLICATES, CLOUD_GRID};
    for (size_t s = 0; s < LM_COUNT(sizes); s++)
        for (size_t c = 0; c < LM_COUNT(shapes); c++) {
            size_t n = sizes[s][0], p = sizes[s][1];
            check_against_gradients(shapes[c], AIM_NEAR, n, p, 1, 5);
            check_against_gradients(shapes[c], AIM_SPHERE, n, p, 1, 6);
            check_against_gradients(shapes[c], AIM_SPHERE, n, p, 1 / (0.1 * (double)n), 7);
            check_against_gradients(shapes[c], AIM_SPHERE, n, p, 1 / (0.437 * (double)n), 8);
        }
}

/* The gap is a proof: it was found by definition in check_solved. */
static void test_larger_programs_of_every_kind_end_with_a_proof(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{300, 3}, {300, 60}, {700, 20}, {150, 60}};
    static const double nu[] = {0, 0.03, 0.1, 0.5, 0.95};
    for (int shape = 0; shape < CLOUD_COUNT; shape++)
        for (size_t s = 0; s < LM_COUNT(sizes); s += every(2)) {
            for (int kind = 0; kind < AIM_COUNT; kind++) {
                program w = program_make((cloud)shape, (aim)kind, sizes[s][0], sizes[s][1], 1,
                                         scales[(size_t)kind % 4], s);
                lm_qp_goal goal = plain_goal(&w);
                answer r = solve(&w, &goal, false);
                check_solved(&w, &r);
                free(r.a);
                program_free(&w);
            }
            for (size_t v = 1; v < LM_COUNT(nu); v++) {
                program w = program_make((cloud)shape, AIM_SPHERE, sizes[s][0], sizes[s][1],
                                         1 / (nu[v] * (double)sizes[s][0]), scales[v % 4], s);
                lm_qp_goal goal = plain_goal(&w);
                answer r = solve(&w, &goal, false);
                check_solved(&w, &r);
                free(r.a);
                program_free(&w);
            }
        }
}

/* q out of all proportion to G: the vertex with the largest q wins, or one that ties with it. */
static void test_q_may_be_of_any_size(void **state) {
    (void)state;
    static const double sizes[] = {1e-300, 1e-20, 1e9, 1e20, 1e300};
    for (size_t s = 0; s < LM_COUNT(sizes); s++)
        for (int shape = 0; shape < CLOUD_COUNT; shape++) {
            program w = program_make((cloud)shape, AIM_ANY, 7, 3, 1, 1, s);
            for (size_t i = 0; i < w.n; i++)
                w.q[i] *= sizes[s];
            check_value(&w, least_by_trying(&w));
            program_free(&w);
        }
}

/* ---- conditions ---- */

static void test_conditions_of_kuhn_and_tucker_hold(void **state) {
    (void)state;
    static const double bounds[] = {1, 0.2, 0.05};
    for (size_t b = 0; b < LM_COUNT(bounds); b++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            program w = program_make(CLOUD_NORMAL, AIM_SPHERE, 60, 8, bounds[b], 3, seed);
            lm_qp_goal goal = plain_goal(&w);
            answer r = solve(&w, &goal, false);
            long double g[60], high = -INFINITY, low = INFINITY;
            gradient_of(&w, r.a, g);
            for (size_t i = 0; i < w.n; i++) {
                if (r.a[i] > 0) /* may fall */
                    high = fmaxl(high, g[i]);
                if (r.a[i] < w.bound) /* may rise */
                    low = fminl(low, g[i]);
            }
            assert_true(high - low <= 1e-11L * w.top);
            free(r.a);
            program_free(&w);
        }
}

/* ---- stopping early ---- */

static void test_a_gap_that_is_left_bounds_the_error(void **state) {
    (void)state;
    static const double tolerances[] = {10, 0.3, 1e-2, 1e-4};
    size_t passes[2] = {0, 0};
    for (uint64_t seed = 0; seed < 40; seed++)
        for (size_t t = 0; t < LM_COUNT(tolerances); t++) {
            program w = program_make(CLOUD_NORMAL, seed % 2 ? AIM_SPHERE : AIM_NEAR, 80, 9,
                                     seed % 4 == 1 ? 0.04 : 1, 1, seed);
            lm_qp_goal goal = plain_goal(&w);
            answer best = solve(&w, &goal, false);
            goal.tolerance = tolerances[t];
            answer r = solve(&w, &goal, false);
            check_truth(&w, &r);
            assert_true(r.qp.converged && r.qp.gap <= tolerances[t] * w.top);
            assert_true(r.qp.value - best.qp.value <= r.qp.gap + rounding(&w));
            assert_true(r.qp.lower <= best.qp.value);
            passes[0] += r.qp.passes;
            passes[1] += best.qp.passes;
            free(best.a);
            free(r.a);
            program_free(&w);
        }
    assert_true(passes[0] < passes[1]);
}

/* Thresholds around the minimum: in units of its height above the plain bound. */
static void test_abandons_only_what_is_above_and_early(void **state) {
    (void)state;
    size_t abandoned = 0, with = 0, without = 0, full = 0;
    static const double shares[] = {-3, -1, -0.1, -1e-6, -1e-9, 1e-9, 1e-6, 0.1, 2};
    for (uint64_t seed = 0; seed < 60; seed++) {
        program w = program_make(CLOUD_NORMAL, seed % 3 ? AIM_NEAR : AIM_FAR, 100, 14, 1, 1, seed);
        lm_qp_goal goal = plain_goal(&w);
        answer best = solve(&w, &goal, false);
        full += best.qp.passes;
        for (size_t s = 0; s < LM_COUNT(shares); s++)
            for (int known = 0; known < 2; known++) {
                goal.constant = known ? w.constant : -1;
                goal.abandon = best.qp.value + shares[s] * (w.constant + best.qp.value);
                answer r = solve(&w, &goal, false);
                check_truth(&w, &r);
                if (shares[s] > 0)
                    assert_false(r.qp.abandoned);
                if (shares[s] <= -1) { /* no distance is so small */
                    assert_true(r.qp.abandoned || !known);
                    *(known ? &with : &without) += r.qp.passes;
                }
                assert_true(r.qp.abandoned ? r.qp.lower > goal.abandon : r.qp.converged);
                assert_true(r.qp.lower <= best.qp.value + rounding(&w));
                abandoned += r.qp.abandoned;
                free(r.a);
            }
        free(best.a);
        program_free(&w);
    }
    assert_true(abandoned > 300);
    assert_true(with <= without && without < 2 * full);
}

static void test_too_little_support_is_told_and_does_no_harm(void **state) {
    (void)state;
    for (size_t support = 0; support < 12; support++) {
        program w = program_make(CLOUD_NORMAL, AIM_SPHERE, 40, 30, 1, 1, support);
        lm_qp_goal goal = plain_goal(&w);
        answer best = solve(&w, &goal, false);
        goal.support_max = support;
        answer r = solve(&w, &goal, false);
        check_truth(&w, &r);
        assert_true(best.qp.support > 4);
        if (support < best.qp.support && support >= 2)
            assert_true(r.qp.full && !r.qp.converged);
        assert_true(r.qp.full != r.qp.converged);
        free(best.a);
        free(r.a);
        program_free(&w);
    }
}

/* ---- starts ---- */

static void check_start(program *w, const double *start, double least) {
    lm_qp_goal goal = plain_goal(w);
    goal.start = start;
    answer r = solve(w, &goal, false);
    check_solved(w, &r);
    assert_true(fabs(r.qp.value - least) <= 1e-11 * w->top);
    free(r.a);
}

static void test_every_start_ends_at_the_same_value(void **state) {
    (void)state;
    for (int shape = 0; shape < CLOUD_COUNT; shape++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            enum { N = 50 };
            program w = program_make((cloud)shape, AIM_NEAR, N, 6, 1, 1, seed);
            lm_rng rng = lm_rng_at(seed, 5, 0);
            double start[6][N] = {{0}};
            lm_qp_goal goal = plain_goal(&w);
            answer best = solve(&w, &goal, false);
            for (size_t i = 0; i < N; i++) {
                start[0][i] = 1; /* all: many more than are independent */
                start[1][i] = lm_rng_unit(&rng) * 1e300;
                start[2][i] = lm_rng_normal(&rng);
                start[3][i] = -1; /* nothing to start from */
                start[4][i] = i % 2 ? NAN : i % 3 ? INFINITY : 0;
                start[5][i] = i == 17;
            }
            for (size_t s = 0; s < LM_COUNT(start); s++)
                check_start(&w, start[s], best.qp.value);
            check_start(&w, best.a, best.qp.value);
            goal.start = best.a; /* nothing is left to do */
            answer again = solve(&w, &goal, false);
            assert_true(again.qp.passes <= 2);
            free(again.a);
            free(best.a);
            program_free(&w);
        }
}

/* ---- sizes ---- */

static void test_sizes_beyond_memory_are_refused(void **state) {
    (void)state;
    size_t bytes;
    assert_false(lm_qp_scratch(SIZE_MAX, 3, &bytes));
    assert_false(lm_qp_scratch(SIZE_MAX / 8, SIZE_MAX, &bytes));
    assert_false(lm_qp_sphere_scratch((size_t)1 << 31, 3, &bytes));
    assert_true(lm_qp_scratch(1, 0, &bytes));
    assert_true(lm_qp_scratch(5000, 5000, &bytes));
}

/* ---- the parts ---- */

static void test_kernels_of_every_instruction_set_equal_sums(void **state) {
    (void)state;
    enum { MOST = 70, ROWS = 7 };
    double x[ROWS * MOST], v[MOST], y[MOST], out[ROWS];
    lm_rng rng = lm_rng_at(3, 3, 3);
    for (size_t isa = 0; lm_isa_at(isa); isa++) {
        assert_true(lm_isa_use(lm_isa_at(isa)));
        const lm_simd_dense *kernels = lm_simd_get()->dense;
        for (size_t p = 0; p <= MOST; p++) {
            for (size_t i = 0; i < ROWS * p; i++)
                x[i] = lm_rng_normal(&rng);
            for (size_t i = 0; i < p; i++)
                y[i] = v[i] = lm_rng_normal(&rng);
            kernels->rows_times(x, ROWS, p, v, out);
            for (size_t i = 0; i < ROWS; i++) {
                long double sum = 0;
                for (size_t j = 0; j < p; j++)
                    sum += (long double)x[i * p + j] * v[j];
                assert_true(fabsl(out[i] - sum) <= 1e-13L);
                assert_true(fabsl(kernels->dot(x + i * p, v, p) - sum) <= 1e-13L);
            }
            kernels->axpy(-1.5, x, y, p);
            for (size_t j = 0; j < p; j++)
                assert_true(fabs(y[j] - (v[j] - 1.5 * x[j])) <= 1e-14);
        }
    }
    lm_isa_use(lm_isa_at(0));
}

enum { FACTORED = 24 };

/* LL' of what is in, and L ones = 1. */
static void check_factor(const lm_cholesky *f, const double *m, const size_t *in) {
    for (size_t i = 0; i < f->size; i++) {
        double ones = 0;
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k <= j; k++)
                sum += f->l[i * FACTORED + k] * f->l[j * FACTORED + k];
            assert_true(fabs(sum - m[in[i] * FACTORED + in[j]]) <= 1e-11);
            ones += f->l[i * FACTORED + j] * f->ones[j];
        }
        assert_true(fabs(ones - 1) <= 1e-11);
    }
}

static void test_the_factor_follows_its_matrix(void **state) {
    (void)state;
    double b[FACTORED * FACTORED], m[FACTORED * FACTORED] = {0}, l[FACTORED * FACTORED];
    double ones[FACTORED], row[FACTORED], x[FACTORED];
    size_t in[FACTORED];
    lm_rng rng = lm_rng_at(9, 9, 9);
    for (size_t i = 0; i < FACTORED * FACTORED; i++)
        b[i] = lm_rng_normal(&rng);
    for (size_t i = 0; i < FACTORED * FACTORED; i++)
        for (size_t k = 0; k < FACTORED; k++)
            m[i] += b[i / FACTORED * FACTORED + k] * b[i % FACTORED * FACTORED + k];
    for (size_t i = 0; i < FACTORED; i++)
        m[i * FACTORED + i] += 1;
    lm_cholesky f = {l, ones, 0, FACTORED, lm_simd_get()->dense};
    bool is_in[FACTORED] = {false};
    for (int step = 0; step < 2000; step++) {
        size_t i = (size_t)lm_rng_below(&rng, FACTORED), k = 0;
        while (k < f.size && in[k] != i)
            k++;
        if (is_in[i]) {
            lm_cholesky_drop(&f, k);
            memmove(in + k, in + k + 1, (f.size - k) * sizeof *in);
        } else {
            for (k = 0; k < f.size; k++)
                row[k] = m[i * FACTORED + in[k]];
            in[f.size] = i;
            lm_cholesky_append(&f, lm_cholesky_try(&f, row, m[i * FACTORED + i]));
        }
        is_in[i] = !is_in[i];
        check_factor(&f, m, in);
    }
    for (size_t i = 0; i < f.size; i++)
        x[i] = 1 + (double)i;
    lm_cholesky_forward(&f, x);
    lm_cholesky_backward(&f, x);
    for (size_t i = 0; i < f.size; i++) {
        double sum = 0;
        for (size_t k = 0; k < f.size; k++)
            sum += m[in[i] * FACTORED + in[k]] * x[k];
        assert_true(fabs(sum - (1 + (double)i)) <= 1e-9);
    }
}

static int by_value(const void *a, const void *b) {
    double u = *(const double *)a, v = *(const double *)b;
    return (u > v) - (u < v);
}

static void test_selection_of_doubles_equals_sorting(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(1, 2, 3);
    for (size_t n = 1; n < 60; n++)
        for (size_t k = 0; k < n; k++) {
            double v[60], sorted[60];
            for (size_t i = 0; i < n; i++)
                v[i] = sorted[i] = k % 2 ? (double)lm_rng_below(&rng, 5) : lm_rng_normal(&rng);
            qsort(sorted, n, sizeof *sorted, by_value);
            lm_select_kth_double(&rng, v, n, k);
            assert_true(v[k] == sorted[k]);
            for (size_t i = 0; i < n; i++)
                assert_true(i < k ? v[i] <= v[k] : v[i] >= v[k]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_of_the_simplex_equals_the_least_over_all_supports),
        cmocka_unit_test(test_value_of_the_soft_sphere_equals_the_least_over_all_splits),
        cmocka_unit_test(test_values_equal_those_of_projected_gradients),
        cmocka_unit_test(test_larger_programs_of_every_kind_end_with_a_proof),
        cmocka_unit_test(test_q_may_be_of_any_size),
        cmocka_unit_test(test_conditions_of_kuhn_and_tucker_hold),
        cmocka_unit_test(test_a_gap_that_is_left_bounds_the_error),
        cmocka_unit_test(test_abandons_only_what_is_above_and_early),
        cmocka_unit_test(test_too_little_support_is_told_and_does_no_harm),
        cmocka_unit_test(test_every_start_ends_at_the_same_value),
        cmocka_unit_test(test_sizes_beyond_memory_are_refused),
        cmocka_unit_test(test_kernels_of_every_instruction_set_equal_sums),
        cmocka_unit_test(test_the_factor_follows_its_matrix),
        cmocka_unit_test(test_selection_of_doubles_equals_sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
