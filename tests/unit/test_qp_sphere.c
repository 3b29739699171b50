/* test_qp_sphere.c: spheres around points, hard and soft, against their definition (qp_world.h),
 * the training that finds them, and its steps by pairs of weights. */
#include "counting.h"
#include "num/qp/smo.h"
#include "qp_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- spheres ---- */

/* The centre and the radius from a by definition. */
static long double distance_of(const program *w, const double *a, size_t i) {
    long double sum = 0;
    for (size_t j = 0; j < w->p; j++) {
        long double to = w->x[i * w->p + j];
        for (size_t k = 0; k < w->n; k++)
            to -= (long double)a[k] * w->x[k * w->p + j];
        sum += to * to;
    }
    return sum;
}

static lm_qp_ball sphere_within(program *w, double bound, double tolerance, double *a) {
    lm_qp_ball ball;
    size_t bytes, support = w->n < w->p + 2 ? w->n : w->p + 2;
    lm_qp_gram gram = lm_qp_of_rows(&w->rows, w->diagonal);
    assert_true(lm_qp_sphere_scratch(w->n, support, &bytes));
    void *scratch = malloc(bytes);
    lm_qp_sphere_run(&gram, bound, tolerance, support, a, &ball, scratch);
    free(scratch);
    return ball;
}

static lm_qp_ball sphere_of(program *w, double bound, double *a) {
    return sphere_within(w, bound, 1e-12, a);
}

static void test_a_hard_sphere_holds_all_points_and_touches_its_support(void **state) {
    (void)state;
    for (int shape = 0; shape < CLOUD_COUNT; shape++)
        for (size_t n = 1; n < 90; n = n * 3 - 1) {
            program w = program_make((cloud)shape, AIM_SPHERE, n, 4, 1, 1, n);
            double a[90];
            lm_qp_ball ball = sphere_of(&w, 1.5, a);
            long double most = 0;
            for (size_t i = 0; i < n; i++)
                most = fmaxl(most, distance_of(&w, a, i));
            assert_true(fabsl(ball.r2 - most) <= 1e-13L * w.top);
            for (size_t i = 0; i < n; i++)
                if (a[i] > 1e-9)
                    assert_true(fabsl(distance_of(&w, a, i) - ball.r2) <= 1e-9L * w.top);
            /* the minimum is minus half the squared radius */
            assert_true(fabs(ball.r2 + 2 * ball.qp.value) <= 1e-11 * w.top);
            assert_true(n > 1 || ball.r2 == 0);
            assert_true(ball.s2 >= 0);
            program_free(&w);
        }
}

/* Also one that is far from the smallest. */
static void test_a_hard_sphere_holds_all_points_at_any_tolerance(void **state) {
    (void)state;
    enum { N = 150 };
    double looser = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        program w = program_make(CLOUD_NORMAL, AIM_SPHERE, N, 30, 1, 1, seed);
        double a[N];
        lm_qp_ball best = sphere_of(&w, 1, a), ball = sphere_within(&w, 1, 0.05, a);
        long double most = 0;
        for (size_t i = 0; i < N; i++)
            most = fmaxl(most, distance_of(&w, a, i));
        assert_true(fabsl(ball.r2 - most) <= 1e-13L * w.top);
        assert_true(ball.r2 >= best.r2 * (1 - 1e-12));
        looser = fmax(looser, ball.r2 - best.r2);
        program_free(&w);
    }
    assert_true(looser > 0);
}

static void test_a_soft_sphere_has_the_radius_of_its_free_points(void **state) {
    (void)state;
    static const double nu[] = {0.05, 0.1, 0.3};
    for (uint64_t seed = 0; seed < 20; seed++)
        for (size_t v = 0; v < LM_COUNT(nu); v++) {
            enum { N = 97 };
            program w = program_make(CLOUD_NORMAL, AIM_SPHERE, N, 5, 1, 1, seed);
            double a[N], bound = 1 / (nu[v] * N);
            lm_qp_ball ball = sphere_of(&w, bound, a);
            size_t outside = 0, free = 0;
            for (size_t i = 0; i < N; i++) {
                double d2 = (double)distance_of(&w, a, i);
                bool between = a[i] > 0 && a[i] < bound;
                free += between;
                outside += d2 > ball.r2 + 1e-9 * w.top;
                if (between)
                    assert_true(fabs(d2 - ball.r2) <= 1e-9 * w.top);
                if (a[i] == bound)
                    assert_true(d2 >= ball.r2 - 1e-9 * w.top);
                if (a[i] == 0)
                    assert_true(d2 <= ball.r2 + 1e-9 * w.top);
            }
            assert_true(free > 0); /* 1/bound is not a whole number */
            assert_true((double)outside <= nu[v] * N);
            program_free(&w);
        }
}

static lm_qp_ball sphere_on_a_line(const double *x, size_t n, double bound, double *a) {
    double diagonal[8], room;
    program w = {.n = n, .p = 1, .diagonal = diagonal};
    w.rows = (lm_qp_rows){x, n, 1, &room};
    lm_qp_rows_diagonal(&w.rows, diagonal);
    return sphere_of(&w, bound, a);
}

static void test_without_free_points_the_radius_is_in_the_middle(void **state) {
    (void)state;
    double a[8];
    /* two at the bound at distance 2, two at 0 at distance 1: (4 + 1) / 2 */
    lm_qp_ball ball = sphere_on_a_line((const double[]){-2, -1, 1, 2}, 4, 0.5, a);
    assert_true(a[0] == 0.5 && a[1] == 0 && a[2] == 0 && a[3] == 0.5);
    assert_true(fabs(ball.r2 - 2.5) <= 1e-14 && fabs(ball.s2) <= 1e-14);
    /* all at the bound: the smallest distance. Centre 1, distances 1, 1, 0 and 2 */
    ball = sphere_on_a_line((const double[]){0, 2, 1, -1, 3}, 5, 0.2, a);
    assert_true(fabs(ball.r2 - 0) <= 1e-14 && fabs(ball.s2 - 1) <= 1e-14);
    /* a bound below 1/n allows nothing: it is 1/n */
    ball = sphere_on_a_line((const double[]){3, 5}, 2, 0.1, a);
    assert_true(a[0] == 0.5 && a[1] == 0.5 && fabs(ball.r2 - 1) <= 1e-14);
    ball = sphere_on_a_line((const double[]){3, 5}, 2, 1, a);
    assert_true(fabs(ball.r2 - 1) <= 1e-14 && fabs(ball.s2 - 16) <= 1e-13);
    ball = sphere_on_a_line((const double[]){3}, 1, 1, a);
    assert_true(a[0] == 1 && ball.r2 == 0 && fabs(ball.s2 - 9) <= 1e-14);
    ball = sphere_on_a_line((const double[]){3, 3, 3, 3}, 4, 0.3, a);
    assert_true(fabs(ball.r2) <= 1e-14);
}

/* If 1/bound is a whole number there may be no free weight, and rounding must not look like one. */
static void test_the_radius_lies_between_inner_and_outer_points(void **state) {
    (void)state;
    size_t none_free = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        enum { N = 50 };
        program w = program_make(CLOUD_NORMAL, AIM_SPHERE, N, 2, 1, 1, seed);
        double a[N], bound = 1 / (double)(3 + seed % 30), sum = 0;
        lm_qp_ball ball = sphere_of(&w, bound, a);
        double inner = 0, outer = INFINITY;
        size_t free = 0;
        for (size_t i = 0; i < N; i++) {
            double d2 = (double)distance_of(&w, a, i);
            bool between = a[i] > 1e-8 * bound && a[i] < bound * (1 - 1e-8);
            if (a[i] <= 1e-8 * bound)
                inner = fmax(inner, d2);
            else if (!between)
                outer = fmin(outer, d2);
            free += between;
            sum += between ? d2 : 0;
        }
        double expected = free ? sum / (double)free : (inner + outer) / 2;
        assert_true(fabs(ball.r2 - expected) <= 1e-9 * w.top);
        assert_true(inner <= ball.r2 + 1e-9 * w.top && ball.r2 <= outer + 1e-9 * w.top);
        none_free += free == 0;
        program_free(&w);
    }
    assert_true(none_free > 0 && none_free < 60);
}

/* ---- training ---- */

static void test_training_finds_what_a_run_finds(void **state) {
    (void)state;
    static const double bounds[] = {1, 0.03};
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    for (size_t b = 0; b < LM_COUNT(bounds); b++) {
        enum { N = 200 };
        program w = program_make(CLOUD_NORMAL, AIM_SPHERE, N, 9, bounds[b], 1, b);
        double a[N], expected[N];
        lm_qp_ball run = sphere_of(&w, bounds[b], expected), ball;
        lm_qp_gram gram = lm_qp_of_rows(&w.rows, w.diagonal);
        assert_int_equal(lm_qp_sphere(ctx, &gram, bounds[b], 1e-12, "sphere", a, &ball), LIMN_OK);
        assert_true(fabs(run.r2 - ball.r2) <= 1e-11 * w.top);
        program_free(&w);
    }
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* ---- pairs of weights ---- */

/* Starting from equal weights. */
static void check_pairs(cloud shape, size_t n, size_t p, double bound, double scale,
                        uint64_t seed) {
    program w = program_make(shape, AIM_SPHERE, n, p, bound, scale, seed);
    double *a = calloc(n, sizeof *a), *room = calloc(3 * n, sizeof *room), *exact = calloc(n, 8);
    size_t *list = calloc(n, sizeof *list);
    lm_qp_gram gram = lm_qp_of_rows(&w.rows, w.diagonal);
    lm_qp_result result;
    for (size_t i = 0; i < n; i++)
        a[i] = 1 / (double)n;
    lm_smo_task task = {
        .gram = &gram, .q = w.q, .bound = bound, .tolerance = 1e-10, .most = 200000};
    assert_true(lm_smo_run(&task, a, room, room + n, list, &result));
    merit found = merit_of(&w, a), least = least_by_gradients(&w, exact);
    assert_true(least.gap <= 1e-9L * w.top);
    assert_true(fabsl(found.value - least.value) <= 2e-9L * w.top);
    assert_true(fabsl((long double)result.value - found.value) <= 1e-12L * w.top);
    assert_true(fabsl((long double)result.gap - found.gap) <= 1e-11L * w.top);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(a[i] >= 0 && a[i] <= bound);
        sum += a[i];
    }
    assert_true(fabs(sum - 1) <= 1e-10);
    free(a);
    free(exact);
    free(room);
    free(list);
    program_free(&w);
}

static void test_pairs_of_weights_end_at_the_least_value(void **state) {
    (void)state;
    static const cloud shapes[] = {CLOUD_NORMAL, CLOUD_FLAT, CLOUD_DUPLICATES, CLOUD_GRID};
    for (size_t c = 0; c < LM_COUNT(shapes); c++) {
        check_pairs(shapes[c], 1, 3, 1, 1, 1);
        check_pairs(shapes[c], 40, 60, 1 / (0.2 * 40), 1, 2);
        check_pairs(shapes[c], 60, 5, 1 / (0.1 * 60), 1e80, 3);
        check_pairs(shapes[c], 60, 5, 1, 1, 4);
        check_pairs(shapes[c], 90, 12, 1 / (0.437 * 90), 1e-80, 5);
    }
}

static void test_pairs_that_come_to_no_end_say_so(void **state) {
    (void)state;
    enum { N = 60 };
    program w = program_make(CLOUD_NORMAL, AIM_SPHERE, N, 9, 1, 1, 1);
    double a[N] = {1}, room[3 * N];
    size_t list[N];
    lm_qp_gram gram = lm_qp_of_rows(&w.rows, w.diagonal);
    lm_qp_result result;
    lm_smo_task task = {.gram = &gram, .q = w.q, .bound = 1, .tolerance = 1e-12, .most = 3};
    assert_false(lm_smo_run(&task, a, room, room + N, list, &result));
    merit found = merit_of(&w, a);
    assert_true(!result.converged && found.gap > 1e-12L * w.top);
    assert_true(fabsl((long double)result.gap - found.gap) <= 1e-12L * w.top);
    program_free(&w);
}

/* Narrow kernels: nearly all weights are free, for any bound. */
static void test_training_by_pairs_finds_the_sphere_of_a_narrow_kernel(void **state) {
    (void)state;
    enum { N = 500 };
    static const double bounds[] = {1, 1 / (0.4 * N)};
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    double *cells = calloc(N * N, sizeof *cells), diagonal[N], a[N], x[N][2];
    lm_rng rng = lm_rng_at(3, 0, 0);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < 2; j++)
            x[i][j] = lm_rng_normal(&rng);
    for (size_t i = 0; i < N * N; i++) {
        const double *u = x[i / N], *v = x[i % N];
        double d2 = (u[0] - v[0]) * (u[0] - v[0]) + (u[1] - v[1]) * (u[1] - v[1]);
        cells[i] = exp(-300 * d2);
    }
    lm_qp_matrix matrix = {cells, N};
    lm_qp_matrix_diagonal(&matrix, diagonal);
    lm_qp_gram gram = lm_qp_of_matrix(&matrix, diagonal);
    for (size_t b = 0; b < LM_COUNT(bounds); b++) {
        lm_qp_ball ball;
        size_t free_weights = 0;
        assert_int_equal(lm_qp_sphere(ctx, &gram, bounds[b], 1e-10, "sphere", a, &ball), LIMN_OK);
        assert_true(ball.qp.converged && !ball.qp.full && ball.qp.gap <= 1e-10);
        for (size_t i = 0; i < N; i++) { /* d^2 of the free ones is r^2, by definition */
            double dot = 0;
            for (size_t j = 0; j < N; j++)
                dot += cells[i * N + j] * a[j];
            bool is_free = a[i] > 1e-6 * bounds[b] && a[i] < bounds[b] * (1 - 1e-6);
            free_weights += is_free;
            if (is_free)
                assert_true(fabs(1 - 2 * dot + ball.s2 - ball.r2) < 1e-7);
        }
        assert_true(free_weights > 256); /* more than the corral starts with */
    }
    free(cells);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* Points at right angles: all of them carry weight, more than the first memory holds. */
static void test_training_makes_room_for_any_support(void **state) {
    (void)state;
    enum { N = 600 };
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    double *cells = calloc(N * N, sizeof *cells), diagonal[N], a[N];
    for (size_t i = 0; i < N; i++)
        cells[i * N + i] = 1;
    lm_qp_matrix matrix = {cells, N};
    lm_qp_matrix_diagonal(&matrix, diagonal);
    lm_qp_gram gram = lm_qp_of_matrix(&matrix, diagonal);
    lm_qp_ball ball;
    assert_int_equal(lm_qp_sphere(ctx, &gram, 1, 1e-12, "sphere", a, &ball), LIMN_OK);
    assert_true(ball.qp.converged && !ball.qp.full);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(a[i] - 1.0 / N) <= 1e-12);
    assert_true(fabs(ball.r2 - (1 - 1.0 / N)) <= 1e-12);
    free(cells);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_training_survives_every_failing_allocation(void **state) {
    (void)state;
    enum { N = 60 };
    program w = program_make(CLOUD_NORMAL, AIM_SPHERE, N, 9, 1, 1, 1);
    lm_qp_gram gram = lm_qp_of_rows(&w.rows, w.diagonal);
    bool succeeded = false;
    for (unsigned k = 1; !succeeded; k++) {
        counting count = {0};
        limn_context *ctx = counting_context(&count);
        lm_qp_ball ball;
        double a[N];
        count.fail_at = k;
        limn_status status = lm_qp_sphere(ctx, &gram, 0.1, 1e-9, "sphere", a, &ball);
        succeeded = count.fail_at > 0;
        assert_int_equal(status, succeeded ? LIMN_OK : LIMN_E_MEMORY);
        count.fail_at = 0;
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
        assert_true(succeeded || k < 100);
    }
    program_free(&w);
}

static int cancel_later(void *user, const limn_progress *progress) {
    int *left = user;
    assert_string_equal(progress->stage, "sphere");
    return --*left < 0;
}

static void test_training_can_be_cancelled_at_every_report(void **state) {
    (void)state;
    enum { N = 400 };
    program w = program_make(CLOUD_NORMAL, AIM_SPHERE, N, 40, 1, 1, 1);
    lm_qp_gram gram = lm_qp_of_rows(&w.rows, w.diagonal);
    for (int reports = 0; reports < 2; reports++) {
        counting count = {0};
        limn_context_options options;
        limn_context *ctx;
        int left = reports;
        lm_qp_ball ball;
        double a[N];
        limn_context_options_init(&options);
        options.allocator = counting_allocator(&count);
        options.progress = cancel_later;
        options.user = &left;
        assert_int_equal(lm_context_make(&options, &ctx), LIMN_OK);
        assert_int_equal(lm_qp_sphere(ctx, &gram, 1, 1e-12, "sphere", a, &ball), LIMN_E_CANCELLED);
        assert_int_equal(left, -1); /* not asked again */
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
    }
    program_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hard_sphere_holds_all_points_and_touches_its_support),
        cmocka_unit_test(test_a_hard_sphere_holds_all_points_at_any_tolerance),
        cmocka_unit_test(test_a_soft_sphere_has_the_radius_of_its_free_points),
        cmocka_unit_test(test_without_free_points_the_radius_is_in_the_middle),
        cmocka_unit_test(test_the_radius_lies_between_inner_and_outer_points),
        cmocka_unit_test(test_training_finds_what_a_run_finds),
        cmocka_unit_test(test_pairs_of_weights_end_at_the_least_value),
        cmocka_unit_test(test_pairs_that_come_to_no_end_say_so),
        cmocka_unit_test(test_training_by_pairs_finds_the_sphere_of_a_narrow_kernel),
        cmocka_unit_test(test_training_makes_room_for_any_support),
        cmocka_unit_test(test_training_survives_every_failing_allocation),
        cmocka_unit_test(test_training_can_be_cancelled_at_every_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
