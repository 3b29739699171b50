/* test_qp_box.c: quadratic programs in a box with a limit on the sum, and sets that approximate
 * their answers, against trying all sets, projected gradients and the conditions of a minimum
 * (Karush-Kuhn-Tucker), all from the definitions. */
#include "num/qp/box.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_MOST = 300, TRIED = 12 };

/* Q = XX' with X n x rank; w = X times a target, plus noise. */
typedef struct program {
    size_t n;
    double *q, *w;
    double top; /* max Q_ii */
} program;

typedef struct kind {
    size_t n, rank;
    double noise; /* of w */
    uint64_t seed;
} kind;

static program make(kind k) {
    program c = {.n = k.n, .q = calloc(k.n * k.n, sizeof(double))};
    double *x = calloc(k.n * k.rank, sizeof *x), *target = calloc(k.rank, sizeof *target);
    lm_rng rng = lm_rng_at(k.seed, 5, k.n * 1000 + k.rank);
    c.w = calloc(k.n, sizeof(double));
    for (size_t i = 0; i < k.n * k.rank; i++)
        x[i] = lm_rng_normal(&rng);
    for (size_t j = 0; j < k.rank; j++)
        target[j] = lm_rng_normal(&rng) * sqrt((double)k.n) / 2;
    for (size_t i = 0; i < k.n; i++) {
        c.w[i] = k.noise * lm_rng_normal(&rng);
        for (size_t r = 0; r < k.rank; r++)
            c.w[i] += x[i * k.rank + r] * target[r];
        for (size_t j = 0; j < k.n; j++)
            for (size_t r = 0; r < k.rank; r++)
                c.q[i * k.n + j] += x[i * k.rank + r] * x[j * k.rank + r];
        c.top = fmax(c.top, c.q[i * k.n + i]);
    }
    free(x);
    free(target);
    return c;
}

static void discard(program *c) {
    free(c->q);
    free(c->w);
}

static lm_box_task task_of(const program *c, double most, double tolerance) {
    return (lm_box_task){c->n, c->q, c->w, most, tolerance, 5000000};
}

/* ---- by definition ---- */

static void gradient_of(const lm_box_task *t, const double *p, long double *g) {
    for (size_t i = 0; i < t->n; i++) {
        g[i] = -(long double)t->w[i];
        for (size_t j = 0; j < t->n; j++)
            g[i] += (long double)t->q[i * t->n + j] * p[j];
    }
}

static double value_of(const lm_box_task *t, const double *p) {
    long double value = 0, g[N_MOST];
    gradient_of(t, p, g);
    for (size_t i = 0; i < t->n; i++)
        value += p[i] * (g[i] - (long double)t->w[i]) / 2;
    return (double)value;
}

static double value_of_set(const lm_box_task *t, const uint8_t *chosen) {
    double p[N_MOST];
    for (size_t i = 0; i < t->n; i++)
        p[i] = chosen[i];
    return value_of(t, p);
}

static size_t size_of(const lm_box_task *t, const uint8_t *chosen) {
    size_t count = 0;
    for (size_t i = 0; i < t->n; i++) {
        assert_true(chosen[i] <= 1);
        count += chosen[i];
    }
    return count;
}

static double sum_of(const double *p, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p[i];
    return sum;
}

/* What rounding may do to values. */
static double unit_of(const lm_box_task *t) {
    double unit = 0;
    for (size_t i = 0; i < t->n; i++)
        unit += t->q[i * t->n + i] + fabs(t->w[i]);
    return unit;
}

static void assert_feasible(const lm_box_task *t, const double *p) {
    for (size_t i = 0; i < t->n; i++)
        assert_true(p[i] >= 0 && p[i] <= 1);
    assert_true(sum_of(p, t->n) <= t->most * (1 + 2e-12));
}

/* With the multiplier of the limit: 0 where the sum is below it, else as large as the items that
 * may grow demand. */
static void assert_minimum(const lm_box_task *t, const double *p) {
    long double g[N_MOST], multiplier = 0, most = t->tolerance + 1e-12 * unit_of(t);
    assert_feasible(t, p);
    gradient_of(t, p, g);
    if (sum_of(p, t->n) >= t->most * (1 - 2e-12))
        for (size_t i = 0; i < t->n; i++)
            if (p[i] < 1)
                multiplier = fmaxl(multiplier, -g[i]);
    for (size_t i = 0; i < t->n; i++) {
        if (p[i] < 1)
            assert_true(g[i] >= -multiplier - most);
        if (p[i] > 0)
            assert_true(g[i] <= -multiplier + most);
    }
}

static size_t solve(const lm_box_task *t, double *p) {
    double gradient[N_MOST], violation;
    long double g[N_MOST];
    size_t steps = lm_box_solve(t, p, gradient, &violation);
    assert_true(violation >= 0 && violation <= t->tolerance);
    assert_true(steps < t->steps);
    gradient_of(t, p, g);
    for (size_t i = 0; i < t->n; i++)
        assert_true(fabsl(g[i] - gradient[i]) <= 1e-13L * unit_of(t));
    assert_minimum(t, p);
    return steps;
}

/* ---- by trying all sets ---- */

static double best_set(const lm_box_task *t) {
    double best = 0;
    for (unsigned members = 1; members < 1u << t->n; members++) {
        uint8_t chosen[TRIED];
        for (size_t i = 0; i < t->n; i++)
            chosen[i] = members >> i & 1;
        if ((double)size_of(t, chosen) <= t->most)
            best = fmin(best, value_of_set(t, chosen));
    }
    return best;
}

/* ---- by projected gradients ---- */

/* The nearest feasible point: p_i = v_i - shift within [0, 1], the shift by halving. */
static void project(double *v, size_t n, double most) {
    double low = 0, high = 0, shift = 0;
    for (size_t i = 0; i < n; i++)
        high = fmax(high, v[i]);
    for (int round = 0; round < 100; round++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += fmin(fmax(v[i] - shift, 0), 1);
        if (sum > most)
            low = shift;
        else
            high = shift;
        if (sum <= most && round == 0)
            break;
        shift = (low + high) / 2;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = fmin(fmax(v[i] - high, 0), 1);
}

/* Accelerated, restarted where it goes uphill. */
static double least_by_gradients(const lm_box_task *t, double *p) {
    double y[TRIED] = {0}, next[TRIED], trace = 0, momentum = 1;
    size_t n = t->n;
    memset(p, 0, n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        trace += t->q[i * n + i];
    for (int round = 0; round < 3000; round++) {
        double uphill = 0;
        for (size_t i = 0; i < n; i++) {
            double g = -t->w[i];
            for (size_t j = 0; j < n; j++)
                g += t->q[i * n + j] * y[j];
            next[i] = y[i] - g / trace;
        }
        project(next, n, t->most);
        for (size_t i = 0; i < n; i++)
            uphill += (y[i] - next[i]) * (next[i] - p[i]);
        double after = uphill > 0 ? 1 : (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        double push = uphill > 0 ? 0 : (momentum - 1) / after;
        for (size_t i = 0; i < n; i++) {
            y[i] = next[i] + push * (next[i] - p[i]);
            p[i] = next[i];
        }
        momentum = after;
    }
    return value_of(t, p);
}

/* ---- the relaxed program ---- */

static void test_small_programs_end_where_projected_gradients_do(void **state) {
    (void)state;
    for (size_t n = 1; n <= TRIED; n++)
        for (size_t rank = 1; rank <= 2 * n; rank = rank * 2 + 1)
            for (double most = 0; most < (double)n + 1; most += 0.75) {
                program c = make((kind){n, rank, 1, n + rank});
                lm_box_task t = task_of(&c, most, 1e-10 * c.top);
                double p[TRIED] = {0}, other[TRIED];
                solve(&t, p);
                double value = value_of(&t, p), least = least_by_gradients(&t, other);
                assert_feasible(&t, other);
                assert_true(fabs(value - least) <= 1e-9 * unit_of(&t));
                discard(&c);
            }
}

static void test_large_programs_end_at_a_minimum(void **state) {
    (void)state;
    static const double mosts[] = {0, 0.5, 1, 7.25, 50, 150.5, 299.5, 300};
    static const size_t ranks[] = {400, 40, 3};
    for (size_t r = 0; r < 3; r++) {
        program c = make((kind){N_MOST, ranks[r], 3, r});
        double p[N_MOST] = {0};
        for (size_t m = 0; m < 16; m++) { /* each starts from the one before it */
            double most = mosts[m < 8 ? m : 15 - m];
            lm_box_task t = task_of(&c, most, 1e-6 * c.top);
            solve(&t, p);
            assert_true(most > 0 || sum_of(p, c.n) == 0);
        }
        discard(&c);
    }
}

static void test_a_solution_as_start_takes_no_step(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        program c = make((kind){40 + seed, 5 + seed, 1, seed});
        lm_box_task t = task_of(&c, (double)seed / 2 + 0.1, 1e-4 * c.top);
        double p[N_MOST] = {0}, again[N_MOST];
        solve(&t, p);
        memcpy(again, p, sizeof p);
        assert_int_equal(solve(&t, again), 0);
        assert_memory_equal(p, again, sizeof p);
        discard(&c);
    }
}

static void test_a_limit_reached_up_to_rounding_is_reached(void **state) {
    (void)state;
    static const double zero[16], w[4] = {2, 2, 1, 1};
    for (int side = -1; side <= 1; side++) {
        double p[4] = {1, 1, 0.3, 0}, sum = sum_of(p, 4), gradient[4], violation;
        lm_box_task t = {4, zero, w, sum * (1 + side * 0x1p-50), 0, 100};
        assert_int_equal(lm_box_solve(&t, p, gradient, &violation), 0);
        assert_true(violation == 0 && p[2] == 0.3 && p[3] == 0);
    }
}

static void test_the_minimum_does_not_depend_on_the_start(void **state) {
    (void)state;
    program c = make((kind){60, 80, 2, 3});
    lm_rng rng = lm_rng_at(1, 2, 3);
    for (double most = 2; most < 64; most += 12.5) {
        lm_box_task t = task_of(&c, most, 1e-8 * c.top);
        double p[60] = {0};
        solve(&t, p);
        double value = value_of(&t, p);
        for (int start = 0; start < 5; start++) { /* outside, inside, at ends */
            for (size_t i = 0; i < c.n; i++)
                p[i] =
                    start < 2 ? lm_rng_normal(&rng) : (double)lm_rng_below(&rng, 9) / (4 << start);
            solve(&t, p);
            assert_true(fabs(value_of(&t, p) - value) <= 1e-9 * unit_of(&t));
        }
    }
    discard(&c);
}

static void test_every_step_improves_and_the_steps_can_run_out(void **state) {
    (void)state;
    program c = make((kind){50, 20, 1, 9});
    lm_box_task t = task_of(&c, 10.5, 1e-6 * c.top);
    double before = 0;
    for (t.steps = 0; t.steps < 60; t.steps++) {
        double p[50] = {0}, gradient[50], violation;
        long double g[50];
        assert_int_equal(lm_box_solve(&t, p, gradient, &violation), t.steps);
        assert_true(violation > t.tolerance);
        assert_feasible(&t, p);
        gradient_of(&t, p, g);
        for (size_t i = 0; i < t.n; i++)
            assert_true(fabsl(g[i] - gradient[i]) <= 1e-14L * unit_of(&t));
        assert_true(t.steps == 0 || value_of(&t, p) < before);
        before = value_of(&t, p);
        assert_int_equal(lm_box_solve(&t, p, gradient, NULL), t.steps);
    }
    discard(&c);
}

static void test_a_tolerance_of_0_ends(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        program c = make((kind){30, 10 + seed, 1, seed});
        lm_box_task t = task_of(&c, 7.5, 0);
        double p[30] = {0}, gradient[30], violation;
        t.steps = 200000;
        lm_box_solve(&t, p, gradient, &violation);
        t.tolerance = 1e-9 * c.top;
        assert_true(violation <= t.tolerance);
        assert_minimum(&t, p);
        discard(&c);
    }
}

/* ---- special programs ---- */

static void test_one_item_has_its_closed_form(void **state) {
    (void)state;
    static const double values[] = {-2, -1e-9, 0, 1e-9, 0.25, 1, 3, 1e9};
    static const double mosts[] = {0, 1e-9, 0.5, 1, 2, INFINITY};
    for (size_t a = 2; a < 8; a++)
        for (size_t b = 0; b < 8; b++)
            for (size_t m = 0; m < 6; m++)
                for (double start = 0; start <= 1; start += 0.5) {
                    double q = values[a], w = values[b], end = fmin(1, mosts[m]);
                    double p = fmin(start, mosts[m]), gradient;
                    double best = q > 0 ? fmin(fmax(w / q, 0), end) : w > 0 ? end : w < 0 ? 0 : p;
                    lm_box_task t = {1, &q, &w, mosts[m], 0, 100};
                    lm_box_solve(&t, &p, &gradient, NULL);
                    assert_true(fabs(p - best) <= 1e-15 * fmax(best, 1e-9));
                    assert_true(fabs(gradient - (q * p - w)) <= 1e-15 * (q + fabs(w)));
                }
}

static void test_a_limit_that_does_not_bind_does_not_matter(void **state) {
    (void)state;
    program c = make((kind){30, 50, 1, 4});
    double first[30] = {0};
    lm_box_task t = task_of(&c, 30, 1e-7 * c.top);
    solve(&t, first);
    static const double mosts[] = {31, 1e9, INFINITY};
    for (size_t m = 0; m < 3; m++) {
        double p[30] = {0};
        t.most = mosts[m];
        solve(&t, p);
        for (size_t i = 0; i < 30; i++)
            assert_true(fabs(p[i] - first[i]) <= 1e-5);
    }
    discard(&c);
}

static void test_items_can_be_equal_or_opposite(void **state) {
    (void)state;
    for (double most = 0.5; most < 24; most *= 2) {
        program c = make((kind){24, 6, 1, 8});
        for (size_t i = 0; i < 24; i++)
            for (size_t j = 0; j < 24; j++) {
                double sign = (i % 6 == 5 && i > 11) == (j % 6 == 5 && j > 11) ? 1 : -1;
                c.q[i * 24 + j] = sign * c.q[(i % 6) * 24 + j % 6];
            }
        for (size_t i = 6; i < 24; i++)
            c.w[i] = i % 6 == 5 && i > 11 ? -c.w[5] : c.w[i % 6];
        lm_box_task t = task_of(&c, most, 1e-9 * c.top);
        double p[24] = {0};
        solve(&t, p);
        discard(&c);
    }
}

static void test_nothing_to_do_is_done_at_once(void **state) {
    (void)state;
    static const double zero[25];
    lm_box_task t = {5, zero, zero, 3, 0, 1000};
    double p[5] = {0.5, 0, 1, 0.25, 0}, gradient[5], violation = 1, before[5];
    uint8_t chosen[5];
    memcpy(before, p, sizeof p);
    assert_int_equal(lm_box_solve(&t, p, gradient, &violation), 0);
    assert_true(violation == 0);
    assert_memory_equal(p, before, sizeof p);
    assert_true(lm_box_round(&t, p, chosen, gradient) == 0);
    t.n = 0;
    assert_int_equal(lm_box_solve(&t, p, gradient, &violation), 0);
    assert_true(lm_box_round(&t, p, chosen, gradient) == 0);
}

static void test_without_curvature_the_largest_gains_are_taken(void **state) {
    (void)state;
    static const double zero[36], w[6] = {1, -1, 5, 3, 0, 4};
    static const double best[6] = {0, 0, 1, 0.5, 0, 1}, all[6] = {1, 0, 1, 1, 0, 1};
    double p[6] = {0}, mixed[6] = {1, 0.5, 0, 0, 0, 1};
    lm_box_task t = {6, zero, w, 2.5, 0, 1000};
    solve(&t, p);
    assert_memory_equal(p, best, sizeof p);
    solve(&t, mixed);
    assert_memory_equal(mixed, best, sizeof p);
    t.most = 6;
    solve(&t, p);
    assert_memory_equal(p, all, sizeof p);
}

/* Rows of 0 among others. */
static void test_items_without_curvature_go_to_the_end_that_pays(void **state) {
    (void)state;
    program c = make((kind){20, 30, 1, 12});
    for (size_t i = 0; i < 20; i += 4)
        for (size_t j = 0; j < 20; j++)
            c.q[i * 20 + j] = c.q[j * 20 + i] = 0;
    c.w[0] = 1e-3;
    c.w[4] = -1e-3;
    c.w[8] = 1e3;
    c.w[12] = -1e3;
    c.w[16] = 0;
    lm_box_task t = task_of(&c, 20, 1e-9 * c.top);
    double p[20] = {0};
    solve(&t, p);
    assert_true(p[0] == 1 && p[4] == 0 && p[8] == 1 && p[12] == 0 && p[16] == 0);
    discard(&c);
}

static void test_where_nothing_pays_the_answer_is_empty(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        program c = make((kind){25, 10, 1, seed});
        lm_box_task t = task_of(&c, 12.5, 1e-6);
        double p[25], gradient[25];
        uint8_t chosen[25];
        for (size_t i = 0; i < 25; i++) {
            c.w[i] = -fabs(c.w[i]) - 1e-3;
            p[i] = 0.5;
        }
        assert_true(lm_box_round(&t, p, chosen, gradient) == 0);
        assert_int_equal(size_of(&t, chosen), 0);
        solve(&t, p);
        assert_true(sum_of(p, 25) == 0);
        discard(&c);
    }
}

/* Powers of two change no digit. */
static void test_results_do_not_depend_on_the_scale(void **state) {
    (void)state;
    static const double factors[] = {0x1p-40, 0x1p40, 0x1p300, 0x1p-300};
    for (size_t f = 0; f < 4; f++) {
        program c = make((kind){40, 25, 1, 6});
        lm_box_task t = task_of(&c, 9.5, 1e-5 * c.top);
        double p[40] = {0}, q[40] = {0}, gradient[40];
        uint8_t chosen[40], other[40];
        size_t steps = solve(&t, p);
        double value = lm_box_round(&t, p, chosen, gradient);
        for (size_t i = 0; i < 40 * 40; i++)
            c.q[i] *= factors[f];
        for (size_t i = 0; i < 40; i++)
            c.w[i] *= factors[f];
        t.tolerance *= factors[f];
        assert_int_equal(solve(&t, q), steps);
        assert_memory_equal(p, q, sizeof p);
        assert_true(lm_box_round(&t, q, other, gradient) == value * factors[f]);
        assert_memory_equal(chosen, other, sizeof other);
        discard(&c);
    }
}

static void test_large_and_small_curvature_for_its_w(void **state) {
    (void)state;
    static const double factors[] = {1e12, 1e-12};
    for (size_t f = 0; f < 2; f++)
        for (double most = 0.5; most < 50; most *= 3) {
            program c = make((kind){40, 60, 1, 7});
            for (size_t i = 0; i < 40 * 40; i++)
                c.q[i] *= factors[f];
            lm_box_task t = task_of(&c, most, 1e-6);
            double p[40] = {0};
            solve(&t, p);
            discard(&c);
        }
}

/* The squares of these are not doubles. */
static void test_curvature_can_be_very_large(void **state) {
    (void)state;
    static const double q[9] = {0, 0, 0, 0, 1e200, 0, 0, 0, 4e200}, w[3] = {-1, 1, 2};
    double p[3] = {0}, gradient[3], violation;
    lm_box_task t = {3, q, w, 2, 1e-9, 100};
    lm_box_solve(&t, p, gradient, &violation);
    assert_true(violation <= t.tolerance && p[0] == 0);
    assert_true(fabs(p[1] * 1e200 - 1) <= 1e-12 && fabs(p[2] * 1e200 - 0.5) <= 1e-12);
}

/* ---- sets ---- */

/* No item that is added, dropped or exchanged lowers the value. */
static void assert_descended(const lm_box_task *t, uint8_t *chosen, double value) {
    double least = value - 1e-11 * unit_of(t);
    size_t count = size_of(t, chosen), n = t->n;
    for (size_t i = 0; i < n; i++) {
        chosen[i] ^= 1;
        if (!chosen[i] || (double)count + 1 <= t->most)
            assert_true(value_of_set(t, chosen) >= least);
        for (size_t j = i + 1; j < n; j++)
            if (chosen[i] == chosen[j]) { /* differed before */
                chosen[j] ^= 1;
                assert_true(value_of_set(t, chosen) >= least);
                chosen[j] ^= 1;
            }
        chosen[i] ^= 1;
    }
}

static void assert_set(const lm_box_task *t, uint8_t *chosen, double value) {
    assert_true((double)size_of(t, chosen) <= t->most);
    assert_true(fabs(value - value_of_set(t, chosen)) <= 1e-13 * unit_of(t));
}

static void test_sets_against_trying_all(void **state) {
    (void)state;
    size_t cases = 0, exact = 0;
    for (uint64_t seed = 0; seed < 160; seed++) {
        size_t n = 3 + seed % (TRIED - 2);
        program c = make((kind){n, 1 + seed % 17, 2, seed});
        lm_box_task t = task_of(&c, (double)(seed % (n + 1)) + (seed % 3 ? 0 : 0.5), 1e-9 * c.top);
        double p[TRIED] = {0}, room[TRIED], best = best_set(&t), unit = unit_of(&t);
        uint8_t chosen[TRIED], drawn[TRIED];
        lm_rng rng = lm_rng_at(seed, 8, 0);
        solve(&t, p);
        assert_true(value_of(&t, p) <= best + 1e-8 * unit);
        double found = lm_box_round(&t, p, chosen, room);
        assert_set(&t, chosen, found);
        assert_true(found >= best - 1e-13 * unit && found <= 0);
        assert_descended(&t, chosen, found);
        double draw = lm_box_draw(&t, p, 20, &rng, drawn, room);
        assert_true((double)size_of(&t, drawn) <= t.most);
        if (draw < INFINITY)
            assert_set(&t, drawn, draw);
        assert_true(draw >= best - 1e-13 * unit);
        cases += 1;
        exact += found <= best + 1e-12 * unit;
        discard(&c);
    }
    assert_true(cases == 160 && exact > cases * 4 / 5);
}

static void test_sets_of_many_items_cannot_be_improved(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        program c = make((kind){45, 2 + 6 * seed, 1, seed});
        lm_box_task t = task_of(&c, 4 * (double)seed + 1.5, 1e-5 * c.top);
        double p[45] = {0}, gradient[45];
        long double g[45];
        uint8_t chosen[45];
        if (seed % 4) /* else from nothing */
            solve(&t, p);
        double value = lm_box_round(&t, p, chosen, gradient);
        assert_set(&t, chosen, value);
        assert_descended(&t, chosen, value);
        for (size_t i = 0; i < 45; i++)
            p[i] = chosen[i];
        gradient_of(&t, p, g);
        for (size_t i = 0; i < 45; i++)
            assert_true(fabsl(g[i] - gradient[i]) <= 1e-14L * unit_of(&t));
        discard(&c);
    }
}

static void test_of_equal_items_the_first_are_chosen(void **state) {
    (void)state;
    static const uint8_t expected[8] = {1, 1, 1, 0, 0, 0, 0, 0};
    double q[64], w[8], p[8], gradient[8];
    uint8_t chosen[8];
    for (size_t i = 0; i < 64; i++)
        q[i] = i % 9 == 0 ? 1 : 0.25;
    for (size_t i = 0; i < 8; i++) {
        w[i] = 10;
        p[i] = 0.375;
    }
    lm_box_task t = {8, q, w, 3.9, 1e-9, 1000};
    lm_box_round(&t, p, chosen, gradient);
    assert_memory_equal(chosen, expected, sizeof chosen);
    memset(p, 0, sizeof p);
    lm_box_round(&t, p, chosen, gradient);
    assert_memory_equal(chosen, expected, sizeof chosen);
}

static void test_draws_that_are_all_too_large_leave_the_largest(void **state) {
    (void)state;
    static const uint8_t expected[6] = {1, 0, 1, 0, 1, 0};
    static const double p[6] = {1, 0.5, 1, 0, 1, 1};
    program c = make((kind){6, 9, 1, 1});
    lm_box_task t = task_of(&c, 3.5, 1e-9);
    lm_rng rng = lm_rng_at(1, 1, 1);
    double room[6];
    uint8_t chosen[6];
    assert_true(lm_box_draw(&t, p, 100, &rng, chosen, room) == INFINITY);
    assert_memory_equal(chosen, expected, sizeof chosen);
    assert_true(lm_box_draw(&t, p, 0, &rng, chosen, room) == INFINITY);
    assert_memory_equal(chosen, expected, sizeof chosen);
    discard(&c);
}

static void test_draws_may_be_as_large_as_the_limit(void **state) {
    (void)state;
    static const double p[6] = {1, 0, 1, 0, 0, 1};
    program c = make((kind){6, 9, 1, 1});
    for (double most = 3; most < 8; most += 0.75) {
        lm_box_task t = task_of(&c, most, 1e-9);
        lm_rng rng = lm_rng_at(1, 1, 2);
        double room[6];
        uint8_t chosen[6];
        assert_set(&t, chosen, lm_box_draw(&t, p, 1, &rng, chosen, room));
        for (size_t i = 0; i < 6; i++)
            assert_true(chosen[i] == p[i]);
    }
    discard(&c);
}

/* Each draw is a set with the probabilities p; a single draw shows it. */
static void test_draws_have_the_probabilities_of_p(void **state) {
    (void)state;
    enum { DRAWS = 20000 };
    static const double p[5] = {0, 0.1, 0.5, 0.8, 1};
    program c = make((kind){5, 9, 1, 2});
    lm_box_task t = task_of(&c, 5, 1e-9);
    lm_rng rng = lm_rng_at(3, 1, 1);
    size_t counts[5] = {0}, both = 0;
    for (size_t draw = 0; draw < DRAWS; draw++) {
        uint8_t chosen[5];
        double room[5];
        assert_set(&t, chosen, lm_box_draw(&t, p, 1, &rng, chosen, room));
        for (size_t i = 0; i < 5; i++)
            counts[i] += chosen[i];
        both += chosen[2] && chosen[3];
    }
    for (size_t i = 0; i < 5; i++)
        assert_true(fabs((double)counts[i] - DRAWS * p[i]) <= 5 * sqrt(DRAWS * p[i] * (1 - p[i])));
    assert_true(fabs((double)both - DRAWS * 0.4) <= 5 * sqrt(DRAWS * 0.24));
    discard(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_programs_end_where_projected_gradients_do),
        cmocka_unit_test(test_large_programs_end_at_a_minimum),
        cmocka_unit_test(test_a_solution_as_start_takes_no_step),
        cmocka_unit_test(test_a_limit_reached_up_to_rounding_is_reached),
        cmocka_unit_test(test_the_minimum_does_not_depend_on_the_start),
        cmocka_unit_test(test_every_step_improves_and_the_steps_can_run_out),
        cmocka_unit_test(test_a_tolerance_of_0_ends),
        cmocka_unit_test(test_one_item_has_its_closed_form),
        cmocka_unit_test(test_a_limit_that_does_not_bind_does_not_matter),
        cmocka_unit_test(test_items_can_be_equal_or_opposite),
        cmocka_unit_test(test_nothing_to_do_is_done_at_once),
        cmocka_unit_test(test_without_curvature_the_largest_gains_are_taken),
        cmocka_unit_test(test_items_without_curvature_go_to_the_end_that_pays),
        cmocka_unit_test(test_where_nothing_pays_the_answer_is_empty),
        cmocka_unit_test(test_results_do_not_depend_on_the_scale),
        cmocka_unit_test(test_large_and_small_curvature_for_its_w),
        cmocka_unit_test(test_curvature_can_be_very_large),
        cmocka_unit_test(test_sets_against_trying_all),
        cmocka_unit_test(test_sets_of_many_items_cannot_be_improved),
        cmocka_unit_test(test_of_equal_items_the_first_are_chosen),
        cmocka_unit_test(test_draws_that_are_all_too_large_leave_the_largest),
        cmocka_unit_test(test_draws_may_be_as_large_as_the_limit),
        cmocka_unit_test(test_draws_have_the_probabilities_of_p),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
