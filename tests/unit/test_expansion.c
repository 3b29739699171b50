/* Kernel expansions against their definitions in plain double (expansion_world.h, kernel_slow.h):
 * values and sums, the mean of the coefficients over all rows, nearest combinations by elimination;
 * and what changes of memory must leave as it was. */
#include "expansion_world.h"

static const lm_kernel *const rbf = &slow_kernels[0];
static const lm_kernel *const linear = &slow_kernels[2];

static void put_random(world *w, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float x[D_MOST];
        double coef[OUTPUTS_MOST];
        draw_row(w, x);
        draw_coef(w, coef);
        put(w, x, coef);
    }
    lm_expansion_refresh(&w->e);
}

/* ---- values and sums ---- */

static void compare_values(world *w) {
    enum { QUERIES = 5 };
    size_t d = w->e.pack.d;
    for (size_t q = 0; q < QUERIES; q++) {
        float row[D_MOST];
        draw_row(w, row);
        lm_expansion_values(&w->e, row, w->values);
        for (size_t j = 0; j < w->s.n; j++) {
            double value = slow_kernel(&w->e.kernel, w->s.x[j], row, d);
            assert_near((double)w->values[j], value, 1e-5 * (1 + fabs(value)));
        }
        double self = slow_kernel(&w->e.kernel, row, row, d);
        assert_near(lm_expansion_self(&w->e, row), self, 1e-12 * (1 + self));
        compare_sums(w, row);
    }
}

static void test_values_and_sums_are_those_of_the_definition(void **state) {
    static const size_t counts[] = {0, 1, 15, 16, 17, 40}, widths[] = {1, 3, 16, D_MOST};
    (void)state;
    for (size_t k = 0; k < LM_COUNT(slow_kernels); k++)
        for (size_t i = 0; i < LM_COUNT(counts); i++)
            for (size_t outputs = 1; outputs <= OUTPUTS_MOST; outputs += outputs > 1 ? 1 : 2) {
                world w;
                open_world(
                    &w, (kind){&slow_kernels[k], widths[(i + outputs) % 4], outputs, false, false},
                    i);
                put_random(&w, counts[i]);
                compare_values(&w);
                close_world(&w);
            }
}

static void test_an_empty_expansion_answers_0(void **state) {
    (void)state;
    for (size_t outputs = 1; outputs <= OUTPUTS_MOST; outputs += 3) {
        world w;
        float x[D_MOST] = {1, 2, 3}, f[OUTPUTS_MOST];
        memset(f, 1, sizeof f);
        open_world(&w, (kind){rbf, 3, outputs, true, true}, 1);
        lm_expansion_values(&w.e, x, w.values);
        for (int mean = 0; mean < 2; mean++) {
            lm_expansion_sums(&w.e, mean == 1, w.values, f);
            for (size_t o = 0; o < outputs; o++)
                assert_true(f[o] == 0);
        }
        assert_true(lm_expansion_project(&w.e, w.values, 1) == 1);
        close_world(&w);
    }
}

/* ---- large numbers ---- */

static void assert_cut(const lm_kernel *kernel, float first, float second, float expected) {
    world w;
    const float x[2] = {first, second}, vector[2] = {3e38f, 3e38f};
    const double coef[1] = {2};
    open_world(&w, (kind){kernel, 2, 1, true, true}, 1);
    put(&w, vector, coef);
    tick(&w, true);
    lm_expansion_values(&w.e, x, w.values);
    float f;
    if (w.values[0] != expected)
        fail_msg("%g instead of %g", (double)w.values[0], (double)expected);
    lm_expansion_sums(&w.e, false, w.values, &f);
    assert_near((double)f, 2 * (double)expected, 1e24);
    close_world(&w);
}

static void test_kernel_values_that_are_huge_or_no_numbers_are_cut(void **state) {
    static const lm_kernel even = {.type = LM_POLYNOMIAL, .degree = 100, .gamma = 1},
                           odd = {.type = LM_POLYNOMIAL, .degree = 99, .gamma = 1},
                           tiny = {.type = LM_POLYNOMIAL, .degree = 2, .gamma = 1e-60};
    const float most = LM_KERNEL_MOST;
    (void)state;
    assert_cut(linear, 1, 1, most);
    assert_cut(linear, -1, -1, -most);
    assert_cut(linear, 3e38f, 3e38f, most);
    assert_cut(&even, -1, -1, most);
    assert_cut(&odd, -1, -1, -most);
    assert_cut(&tiny, 3e38f, 3e38f, 0);               /* 0 times infinity */
    assert_cut(&slow_kernels[4], 1e37f, 1e37f, most); /* intersection */
    assert_cut(rbf, -3e38f, 3e38f, 0);
    assert_cut(rbf, 3e38f, 3e38f, 1);
    assert_cut(&slow_kernels[3], 3e38f, 3e38f, 1);
}

static void test_large_products_of_both_signs_are_cut_too(void **state) {
    (void)state;
    world w;
    const float x[4] = {3e38f, -3e38f, 3e38f, -3e38f}, vector[4] = {3e38f, 3e38f, 3e38f, 3e38f};
    open_world(&w, (kind){linear, 4, 1, false, false}, 1);
    put(&w, vector, NULL);
    lm_expansion_values(&w.e, x, w.values);
    assert_true(fabsf(w.values[0]) <= LM_KERNEL_MOST); /* which one: depends on the rounding */
    close_world(&w);
}

static void test_similarity_with_itself_is_cut(void **state) {
    static const lm_kernel poly = {.type = LM_POLYNOMIAL, .degree = 100, .gamma = 1e15};
    const float x[2] = {3e38f, 3e38f};
    (void)state;
    const lm_kernel *const kernels[] = {linear, &poly};
    for (size_t k = 0; k < 2; k++) {
        world w;
        open_world(&w, (kind){kernels[k], 2, 1, false, false}, 1);
        assert_true(lm_expansion_self(&w.e, x) == (double)LM_KERNEL_MOST);
        close_world(&w);
    }
}

static void test_sums_and_coefficients_stay_finite(void **state) {
    (void)state;
    world w;
    const float x[1] = {1e30f};
    open_world(&w, (kind){linear, 1, 3, true, false}, 1);
    for (int round = 0; round < 5; round++) {
        lm_step step = {0, 2, round % 2 ? 1e300 : 9e99};
        float f[3];
        add(&w, x, &step);
        tick(&w, true);
        lm_expansion_values(&w.e, x, w.values);
        for (int mean = 0; mean < 2; mean++) {
            lm_expansion_sums(&w.e, mean == 1, w.values, f);
            for (size_t o = 0; o < 3; o++)
                assert_true(isfinite(f[o]));
        }
        double *coef = w.e.coef + 3 * (size_t)round;
        assert_true(coef[0] == (round % 2 ? LM_COEF_MOST : 9e99) && coef[2] == -coef[0]);
    }
    close_world(&w);
}

/* ---- the mean of the coefficients ---- */

static void change_one(world *w, size_t most_outputs) {
    float x[D_MOST];
    double coef[OUTPUTS_MOST];
    lm_step step = draw_step(w);
    uint64_t what = lm_rng_below(&w->rng, 24);
    draw_row(w, x);
    draw_coef(w, coef);
    if (what < 10 && w->s.n < 45)
        add(w, x, &step);
    else if (what < 14 && w->s.n > 0)
        drop(w, what < 12 ? 0 : lm_rng_below(&w->rng, w->s.n));
    else if (what < 17)
        shrink(w, lm_rng_unit(&w->rng));
    else if (what < 19 && w->e.factored) {
        project(w, x);
        move(w, &step);
    } else if (what == 20 && w->s.n < 45)
        put(w, x, w->s.n % 2 ? coef : NULL);
    else if (what == 21 && w->e.outputs < most_outputs && lm_rng_below(&w->rng, 5) == 0)
        widen(w, w->e.outputs == 1 ? 3 : w->e.outputs + 1);
    else if (what == 22 && lm_rng_below(&w->rng, 10) == 0)
        restart(w);
}

static void test_the_mean_is_that_of_the_coefficients_after_each_row(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        world w;
        kind k = {&slow_kernels[seed % 5], 4 + seed % 3 * 8, seed % 2 ? 3 : 1, true, seed % 3 > 0};
        open_world(&w, k, seed);
        for (int row = 0; row < 120; row++) {
            size_t changes = lm_rng_below(&w.rng, 3);
            float x[D_MOST];
            for (size_t i = 0; i < changes; i++)
                change_one(&w, OUTPUTS_MOST);
            tick(&w, changes > 0);
            compare_coefficients(&w);
            draw_row(&w, x);
            compare_sums(&w, x);
        }
        close_world(&w);
    }
}

static void test_without_averaging_the_last_coefficients_are_summed(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        world w;
        open_world(&w, (kind){rbf, 5, seed % 2 ? 4 : 1, false, seed % 3 == 0}, seed);
        for (int row = 0; row < 80; row++) {
            float x[D_MOST];
            change_one(&w, OUTPUTS_MOST);
            tick(&w, true);
            compare_coefficients(&w);
            draw_row(&w, x);
            compare_sums(&w, x);
        }
        close_world(&w);
    }
}

/* A row that changes nothing moves only the mean. */
static void test_the_mean_of_one_change_grows_with_every_row(void **state) {
    (void)state;
    world w;
    const float x[1] = {1};
    const lm_step step = {0, LM_NO_OUTPUT, 1};
    open_world(&w, (kind){linear, 1, 1, true, false}, 1);
    for (int row = 0; row < 4; row++)
        tick(&w, false);
    add(&w, x, &step);
    for (int after = 1; after < 20; after++) {
        float f[2];
        tick(&w, after == 1);
        lm_expansion_values(&w.e, x, w.values);
        lm_expansion_sums(&w.e, false, w.values, &f[0]);
        lm_expansion_sums(&w.e, true, w.values, &f[1]);
        assert_true(f[0] == 1);
        assert_near((double)f[1], after / (4.0 + after), 1e-7);
    }
    close_world(&w);
}

/* ---- projection ---- */

/* What is left over counts from here on. */
#define SPANNED 1e-4

/* K(b_i, b_j): by definition, or as queries see it. */
static void matrix_of(world *w, bool seen, double *matrix) {
    size_t n = w->s.n, d = w->e.pack.d;
    for (size_t i = 0; i < n; i++) {
        lm_expansion_values(&w->e, w->s.x[i], w->values);
        for (size_t j = 0; j < n; j++)
            matrix[i * n + j] = seen && i != j ? (double)w->values[j]
                                               : slow_kernel(&w->e.kernel, w->s.x[i], w->s.x[j], d);
    }
}

/* Leaves both combinations in alpha and w->e.alpha; returns the slow share; *share: the other. */
static double project_both(world *w, const float *x, bool seen, double *alpha, double *share) {
    static double matrix[VECTORS_MOST * VECTORS_MOST], with_x[VECTORS_MOST];
    double self = slow_kernel(&w->e.kernel, x, x, w->e.pack.d);
    matrix_of(w, seen, matrix);
    lm_expansion_values(&w->e, x, w->values);
    for (size_t j = 0; j < w->s.n; j++)
        with_x[j] =
            seen ? (double)w->values[j] : slow_kernel(&w->e.kernel, w->s.x[j], x, w->e.pack.d);
    *share = project(w, x);
    return slow_project(matrix, with_x, self, w->s.n, alpha);
}

static void compare_projection(world *w, const float *x, bool seen, double most) {
    double alpha[VECTORS_MOST], share, expected = project_both(w, x, seen, alpha, &share);
    assert_near(share, expected > SPANNED ? expected : 0, most);
    for (size_t j = 0; j < w->s.n; j++)
        assert_near(w->e.alpha[j], alpha[j], most * (1 + fabs(alpha[j])));
}

static void test_projections_solve_the_normal_equations(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(slow_kernels); k++)
        for (size_t n = 1; n < D_MOST - 4; n += 3) {
            world w;
            open_world(&w, (kind){&slow_kernels[k], D_MOST, 1, false, true}, n);
            put_random(&w, n);
            for (int query = 0; query < 10; query++) {
                float x[D_MOST];
                draw_row(&w, x);
                for (size_t j = 0; j < D_MOST && query % 2; j++) /* near a vector */
                    x[j] = x[j] / 50 + w.s.x[(size_t)query % n][j];
                for (size_t j = 0; j < D_MOST && slow_positive(&w.e.kernel); j++)
                    x[j] = fabsf(x[j]);
                compare_projection(&w, x, true, 1e-9);
                compare_projection(&w, x, false, 1e-3);
            }
            close_world(&w);
        }
}

static void test_a_vector_is_its_own_projection(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(slow_kernels); k++) {
        world w;
        open_world(&w, (kind){&slow_kernels[k], D_MOST, 1, false, true}, 9);
        put_random(&w, 12);
        for (size_t i = 0; i < 12; i++) {
            assert_true(project(&w, w.s.x[i]) < 1e-5);
            for (size_t j = 0; j < 12; j++)
                assert_near(w.e.alpha[j], i == j, 1e-4);
        }
        close_world(&w);
    }
}

/* Combinations of dependent vectors are not unique, but what they are at any row is. */
static void compare_combination(world *w, const float *x) {
    double alpha[VECTORS_MOST], share, expected = project_both(w, x, false, alpha, &share);
    assert_near(share, expected > SPANNED ? expected : 0, 1e-6);
    for (size_t query = 0; query < w->s.n + 5; query++) {
        float at[D_MOST];
        double sum = 0, other = 0, size = 0;
        draw_row(w, at);
        for (size_t j = 0; j < w->s.n; j++) {
            const float *q = query < w->s.n ? w->s.x[query] : at;
            double value = slow_kernel(&w->e.kernel, w->s.x[j], q, w->e.pack.d);
            sum += w->e.alpha[j] * value;
            other += alpha[j] * value;
            size += fabs(alpha[j] * value);
        }
        assert_near(sum, other, 1e-5 * (1 + size));
    }
}

static void draw_whole(world *w, float *x, uint64_t side) {
    for (size_t j = 0; j < w->e.pack.d; j++)
        x[j] = (float)lm_rng_below(&w->rng, side) - (slow_positive(&w->e.kernel) ? 0 : 1);
}

/* Whole numbers: linear kernels are exact, and more vectors than features are dependent; of few
 * different rows many are equal, or zero. */
static void test_projections_onto_dependent_and_equal_vectors(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(slow_kernels); k++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            world w;
            float x[D_MOST];
            bool flat = slow_kernels[k].type == LM_LINEAR;
            open_world(&w, (kind){&slow_kernels[k], flat ? 3 : 2, 1, false, true}, seed);
            for (size_t i = 0; i < 12; i++) {
                draw_whole(&w, x, flat ? 4 : 2);
                put(&w, x, NULL);
            }
            for (int query = 0; query < 5; query++) {
                draw_whole(&w, x, flat ? 5 : 3);
                compare_combination(&w, x);
            }
            close_world(&w);
        }
}

/* |x - sum alpha_j b_j|^2 / K(x, x) */
static double left_over(const world *w, const float *x) {
    const lm_kernel *k = &w->e.kernel;
    size_t n = w->s.n, d = w->e.pack.d;
    double self = slow_kernel(k, x, x, d), sum = self;
    for (size_t i = 0; i < n; i++) {
        sum -= 2 * w->e.alpha[i] * slow_kernel(k, w->s.x[i], x, d);
        for (size_t j = 0; j < n; j++)
            sum += w->e.alpha[i] * w->e.alpha[j] * slow_kernel(k, w->s.x[i], w->s.x[j], d);
    }
    return sum / self;
}

/* Many more vectors than they have dimensions, up to the rounding of kernel values: it must not
 * grow. */
static void test_projections_onto_vectors_that_are_nearly_dependent(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(slow_kernels); k++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            world w;
            open_world(&w, (kind){&slow_kernels[k], 1 + seed, 1, false, true}, seed);
            put_random(&w, 64);
            for (int query = 0; query < 3; query++) {
                float x[D_MOST];
                draw_row(&w, x);
                double share = project(&w, x);
                assert_near(share, left_over(&w, x), 2e-3);
                for (size_t j = 0; j < w.s.n; j++)
                    assert_near(w.e.alpha[j], 0, 1000);
            }
            close_world(&w);
        }
}

static void test_a_row_without_length_is_left_over_by_nobody(void **state) {
    (void)state;
    world w;
    const float zero[2] = {0, 0}, x[2] = {3, 4};
    open_world(&w, (kind){linear, 2, 1, false, true}, 1);
    assert_true(project(&w, zero) == 0);
    put(&w, zero, NULL);
    assert_true(project(&w, x) == 1);
    assert_true(w.e.alpha[0] == 0);
    put(&w, x, NULL);
    assert_near(project(&w, x), 0, 1e-15);
    assert_true(w.e.alpha[0] == 0);
    assert_near(w.e.alpha[1], 1, 1e-15);
    assert_true(project(&w, zero) == 0);
    assert_true(w.e.alpha[0] == 0 && w.e.alpha[1] == 0);
    close_world(&w);
}

/* ---- the factor ---- */

static void assert_same_factor(const lm_expansion *a, const lm_expansion *b) {
    assert_int_equal(a->factor.size, a->pack.n);
    assert_int_equal(b->factor.size, a->pack.n);
    for (size_t i = 0; i < a->pack.n; i++)
        assert_memory_equal(a->factor.l + i * a->factor.capacity,
                            b->factor.l + i * b->factor.capacity, (i + 1) * sizeof *a->factor.l);
    assert_memory_equal(a->factor.ones, b->factor.ones, a->pack.n * sizeof *a->factor.ones);
}

/* However the vectors came to be these, and in whatever memory. */
static void assert_fresh_factor(world *w) {
    lm_expansion fresh = {.kernel = w->e.kernel, .outputs = w->e.outputs, .factored = true};
    fresh.pack.d = w->e.pack.d;
    assert_int_equal(lm_expansion_reserve(w->ctx, &fresh, 2 * w->s.n + 1), LIMN_OK);
    for (size_t j = 0; j < w->s.n; j++)
        lm_expansion_put(&fresh, w->s.x[j], NULL);
    assert_same_factor(&w->e, &fresh);
    lm_expansion_factorise(&fresh);
    assert_same_factor(&w->e, &fresh);
    lm_expansion_free(&w->ctx->mem, &fresh);
}

static void test_the_factor_is_that_of_the_vectors_bit_for_bit(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(slow_kernels); k++) {
        world w;
        open_world(&w, (kind){&slow_kernels[k], 6, 1, true, true}, k);
        for (int round = 0; round < 150; round++) {
            change_one(&w, 4);
            if (round % 10 == 0)
                assert_fresh_factor(&w);
        }
        assert_true(w.s.n > 16); /* it has moved to more memory */
        close_world(&w);
    }
}

/* ---- memory ---- */

static void assert_same(const lm_expansion *a, const lm_expansion *b, const float *x) {
    float values[2][VECTORS_MOST + LM_PANEL], f[2][OUTPUTS_MOST];
    size_t cells = a->pack.n * a->outputs;
    assert_true(a->pack.n == b->pack.n && a->outputs == b->outputs && a->steps == b->steps);
    assert_memory_equal(a->coef, b->coef, cells * sizeof *a->coef);
    if (a->averaged)
        assert_memory_equal(a->drift, b->drift, cells * sizeof *a->drift);
    lm_expansion_values(a, x, values[0]);
    lm_expansion_values(b, x, values[1]);
    assert_memory_equal(values[0], values[1], a->pack.n * sizeof values[0][0]);
    for (int mean = 0; mean <= (int)a->averaged; mean++) {
        lm_expansion_sums(a, mean == 1, values[0], f[0]);
        lm_expansion_sums(b, mean == 1, values[1], f[1]);
        assert_memory_equal(f[0], f[1], a->outputs * sizeof f[0][0]);
    }
}

static void open_used(world *w, uint64_t seed) {
    kind k = {&slow_kernels[seed % 5], 5, seed % 3 == 0 ? 1 : 2 + seed % 3, seed % 2 == 0,
              seed % 3 > 0};
    open_world(w, k, seed);
    for (int row = 0; row < 60; row++) {
        change_one(w, 0);
        tick(w, true);
    }
}

static void test_a_copy_is_equal_and_independent(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        world w;
        float x[D_MOST];
        lm_expansion copy;
        open_used(&w, seed);
        draw_row(&w, x);
        assert_int_equal(lm_expansion_copy(w.ctx, &w.e, seed % 2 ? 0 : 70, &copy), LIMN_OK);
        assert_true(seed % 2 || copy.room >= 70);
        assert_same(&w.e, &copy, x);
        if (w.e.factored)
            assert_same_factor(&w.e, &copy);
        lm_expansion_shrink(&copy, 0);
        lm_expansion_remove(&copy, 0);
        lm_expansion_restart(&copy);
        compare_coefficients(&w);
        compare_sums(&w, x);
        lm_expansion_free(&w.ctx->mem, &copy);
        compare_sums(&w, x);
        close_world(&w);
    }
}

/* As a loaded model has it: vectors and coefficients lie in a file. */
static void test_borrowed_arrays_answer_and_learn_like_their_owner(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        world w;
        float x[D_MOST];
        open_used(&w, seed);
        draw_row(&w, x);
        lm_expansion view = {.kernel = w.e.kernel, .outputs = w.e.outputs};
        view.averaged = w.e.averaged;
        view.factored = w.e.factored;
        view.coef = w.e.coef;
        view.drift = w.e.averaged ? w.e.drift : NULL;
        view.steps = w.e.steps;
        lm_pack_view(w.e.pack.data, w.e.pack.n, w.e.pack.d, &view.pack);
        assert_int_equal(lm_expansion_settle(w.ctx, &view), LIMN_OK);
        assert_same(&w.e, &view, x);
        assert_int_equal(lm_expansion_reserve(w.ctx, &view, w.s.n + 1), LIMN_OK);
        assert_true(view.coef != w.e.coef && view.pack.data != w.e.pack.data);
        assert_same(&w.e, &view, x);
        if (w.e.factored)
            assert_same_factor(&w.e, &view);
        lm_expansion_shrink(&view, 0.5);
        compare_coefficients(&w);
        lm_expansion_free(&w.ctx->mem, &view);
        close_world(&w);
    }
}

static void test_reserving_keeps_everything(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        world w;
        float x[D_MOST];
        lm_expansion copy;
        open_used(&w, seed);
        draw_row(&w, x);
        assert_int_equal(lm_expansion_copy(w.ctx, &w.e, 0, &copy), LIMN_OK);
        assert_int_equal(lm_expansion_reserve(w.ctx, &w.e, 500), LIMN_OK);
        assert_true(w.e.room >= 500);
        assert_same(&w.e, &copy, x);
        if (w.e.factored)
            assert_same_factor(&w.e, &copy);
        size_t room = w.e.room;
        assert_int_equal(lm_expansion_reserve(w.ctx, &w.e, LM_EXPANSION_MOST + 1), LIMN_E_DATA);
        assert_true(w.e.room == room);
        assert_same(&w.e, &copy, x);
        lm_expansion_free(&w.ctx->mem, &copy);
        close_world(&w);
    }
}

static limn_status grow(world *w, lm_expansion *other) {
    (void)other;
    return lm_expansion_reserve(w->ctx, &w->e, w->e.room + 1);
}

static limn_status widen_more(world *w, lm_expansion *other) {
    (void)other;
    return lm_expansion_widen(w->ctx, &w->e, w->e.outputs + 2);
}

static limn_status copy_it(world *w, lm_expansion *other) {
    limn_status status = lm_expansion_copy(w->ctx, &w->e, w->s.n + 1, other);
    lm_expansion_free(&w->ctx->mem, other); /* after a failure too */
    return status;
}

static limn_status settle_it(world *w, lm_expansion *other) {
    *other = (lm_expansion){.kernel = w->e.kernel, .outputs = w->e.outputs, .coef = w->e.coef};
    lm_pack_view(w->e.pack.data, w->e.pack.n, w->e.pack.d, &other->pack);
    limn_status status = lm_expansion_settle(w->ctx, other);
    lm_expansion_free(&w->ctx->mem, other);
    return status;
}

/* Each request for memory fails once. */
static void fail_all(limn_status (*act)(world *, lm_expansion *), uint64_t seed) {
    for (unsigned at = 1;; at++) {
        world w;
        lm_expansion kept, other;
        float x[D_MOST];
        open_used(&w, seed);
        draw_row(&w, x);
        assert_int_equal(lm_expansion_copy(w.ctx, &w.e, 0, &kept), LIMN_OK);
        long live = w.count.live;
        w.count.fail_at = at;
        limn_status status = act(&w, &other);
        bool reached = w.count.fail_at == 0;
        w.count.fail_at = 0;
        assert_int_equal(status, reached ? LIMN_E_MEMORY : LIMN_OK);
        if (reached) {
            assert_int_equal(w.count.live, live);
            assert_same(&w.e, &kept, x);
            compare_coefficients(&w);
            if (w.e.factored)
                assert_fresh_factor(&w);
            make_room(&w); /* and it goes on */
            put_random(&w, 1);
            compare_coefficients(&w);
        }
        lm_expansion_free(&w.ctx->mem, &kept);
        close_world(&w);
        if (!reached) {
            assert_true(at > 4);
            return;
        }
    }
}

static void test_without_memory_everything_stays_as_it_was(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        fail_all(grow, seed);
        fail_all(widen_more, seed);
        fail_all(copy_it, seed);
        fail_all(settle_it, seed);
    }
}

/* ---- one output becomes several ---- */

static void test_widening_keeps_margins_and_answers(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        world w;
        float x[D_MOST], before[2], after[OUTPUTS_MOST];
        open_world(&w, (kind){rbf, 5, 1, true, seed % 2 == 1}, seed);
        for (int row = 0; row < 40; row++) {
            change_one(&w, 0);
            tick(&w, true);
        }
        draw_row(&w, x);
        lm_expansion_values(&w.e, x, w.values);
        lm_expansion_sums(&w.e, false, w.values, &before[0]);
        lm_expansion_sums(&w.e, true, w.values, &before[1]);
        widen(&w, 3 + seed % 5);
        compare_coefficients(&w);
        if (w.e.factored)
            assert_fresh_factor(&w);
        for (int mean = 0; mean < 2; mean++) {
            lm_expansion_sums(&w.e, mean == 1, w.values, after);
            assert_near((double)after[0], (double)before[mean], 1e-5);
            assert_near((double)after[1], -(double)before[mean], 1e-5);
            for (size_t o = 2; o < w.e.outputs; o++)
                assert_true(after[o] == 0);
        }
        close_world(&w);
    }
}

/* ---- margins ---- */

static void test_the_margin_of_one_output_is_y_times_f(void **state) {
    static const float f[] = {-2.5f, 0, 3};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t label = 0; label < 2; label++) {
            lm_step step;
            double y = label ? -1 : 1;
            assert_true(lm_expansion_margin(&f[i], 1, label, &step) == y * (double)f[i]);
            assert_true(step.up == 0 && step.down == LM_NO_OUTPUT && step.by == y);
        }
}

/* Outputs of few different values: there are ties, which go to the lowest class. */
static void test_the_margin_of_several_outputs_is_half_the_lead(void **state) {
    lm_rng rng = lm_rng_at(1, 1, 1);
    (void)state;
    for (int round = 0; round < 3000; round++) {
        size_t k = 2 + lm_rng_below(&rng, 5), label = lm_rng_below(&rng, k);
        float f[6], best = -100;
        lm_step step;
        for (size_t o = 0; o < k; o++) {
            f[o] = (float)lm_rng_below(&rng, 5) - 2;
            best = o != label && f[o] > best ? f[o] : best;
        }
        size_t rival = 0;
        while (rival == label || f[rival] != best)
            rival++;
        assert_true(lm_expansion_margin(f, k, label, &step) == (double)(f[label] - best) / 2);
        assert_true(step.up == label && step.down == rival && step.by == 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_sums_are_those_of_the_definition),
        cmocka_unit_test(test_an_empty_expansion_answers_0),
        cmocka_unit_test(test_kernel_values_that_are_huge_or_no_numbers_are_cut),
        cmocka_unit_test(test_large_products_of_both_signs_are_cut_too),
        cmocka_unit_test(test_similarity_with_itself_is_cut),
        cmocka_unit_test(test_sums_and_coefficients_stay_finite),
        cmocka_unit_test(test_the_mean_is_that_of_the_coefficients_after_each_row),
        cmocka_unit_test(test_without_averaging_the_last_coefficients_are_summed),
        cmocka_unit_test(test_the_mean_of_one_change_grows_with_every_row),
        cmocka_unit_test(test_projections_solve_the_normal_equations),
        cmocka_unit_test(test_a_vector_is_its_own_projection),
        cmocka_unit_test(test_projections_onto_dependent_and_equal_vectors),
        cmocka_unit_test(test_projections_onto_vectors_that_are_nearly_dependent),
        cmocka_unit_test(test_a_row_without_length_is_left_over_by_nobody),
        cmocka_unit_test(test_the_factor_is_that_of_the_vectors_bit_for_bit),
        cmocka_unit_test(test_a_copy_is_equal_and_independent),
        cmocka_unit_test(test_borrowed_arrays_answer_and_learn_like_their_owner),
        cmocka_unit_test(test_reserving_keeps_everything),
        cmocka_unit_test(test_without_memory_everything_stays_as_it_was),
        cmocka_unit_test(test_widening_keeps_margins_and_answers),
        cmocka_unit_test(test_the_margin_of_one_output_is_y_times_f),
        cmocka_unit_test(test_the_margin_of_several_outputs_is_half_the_lead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
