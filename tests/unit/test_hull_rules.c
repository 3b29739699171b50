/* test_hull_rules.c: what must hold for hulls regardless of their formulas: the order of the
 * sets, invariances, local sets of all samples, leaving one out by its closed form, and that
 * pruning changes no class. */
#include "hull_world.h"
#include "methods/hull/fit.h"

#define RBF(g) .curved = true, .kernel = {.type = LM_RBF, .gamma = (g)}
#define POLY(g, c, e) \
    .curved = true, .kernel = {.type = LM_POLYNOMIAL, .gamma = (g), .coef0 = (c), .degree = (e)}
#define ALL .rule = HULL_DIM_FULL, .cut = 1e-6

enum { D = 30, N = 36, K = 3, ASKED = 60, CELLS = ASKED * K };

/* Three classes of 12 rows in 30 features, in float steps of 2^-10, so that moving them is exact.
 */
typedef struct rows {
    float x[N * D];
    double y[N];
    float query[ASKED * D];
} rows;

static float step_of(double v) {
    return (float)(round(v * 1024) / 1024);
}

static void draw(rows *r, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 31, 0);
    for (size_t i = 0; i < N * D; i++)
        r->x[i] = step_of(lm_rng_normal(&rng) + .4 * (double)(i / D % K));
    for (size_t i = 0; i < N; i++)
        r->y[i] = (double)(i % K);
    for (size_t i = 0; i < ASKED; i++)
        for (size_t j = 0; j < D; j++) {
            const float *near = r->x + (i % N) * D;
            r->query[i * D + j] =
                step_of((double)near[j] + (double)(i % 4) * .5 * lm_rng_normal(&rng));
        }
}

/* Distances of queries from the classes of n rows. */
static void measure(const float *x, const double *y, size_t n, size_t d, const slow_set *s,
                    const float *query, double *distances, int32_t *classes) {
    limn_context *ctx = make_context(NULL, 1, 9);
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, d, y, &data), LIMN_OK);
    limn_model *model = hull_trained(ctx, data, s, NULL);
    hull_ask(ctx, model, query, ASKED, classes, distances);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void measure_rows(const rows *r, const slow_set *s, double *distances) {
    measure(r->x, r->y, N, D, s, r->query, distances, NULL);
}

static void assert_near(const double *a, const double *b, double share, double least,
                        const char *what, const slow_set *s) {
    for (size_t i = 0; i < CELLS; i++)
        if (!(fabs(a[i] * a[i] - b[i] * b[i]) <= share * b[i] * b[i] + least))
            fail_msg("%s: %s query %zu class %zu: %.12g and %.12g", what, kind_names[s->kind],
                     i / K, i % K, a[i], b[i]);
}

static const slow_set linear_sets[] = {{.kind = HULL_NAH, ALL},
                                       {.kind = HULL_NHD, ALL, .nu = 0},
                                       {.kind = HULL_NHD, ALL, .nu = .3},
                                       {.kind = HULL_NCH},
                                       {.kind = HULL_NSC},
                                       {.kind = HULL_NSC, .nu = .3},
                                       {.kind = HULL_NRH, .rho = .1}};

/* ---- order ---- */

static double nearest_row(const rows *r, size_t i, size_t c, const slow_set *s) {
    double least = INFINITY;
    for (size_t k = c; k < N; k += K) {
        double d2 = 0;
        for (size_t j = 0; j < D; j++) {
            double difference = (double)r->query[i * D + j] - (double)r->x[k * D + j];
            d2 += difference * difference;
        }
        if (s->curved)
            d2 = (double)(slow_kernel(&s->kernel, r->query + i * D, r->query + i * D, D) -
                          2 * slow_kernel(&s->kernel, r->query + i * D, r->x + k * D, D) +
                          slow_kernel(&s->kernel, r->x + k * D, r->x + k * D, D));
        least = fmin(least, d2);
    }
    return sqrt(least);
}

static void test_affine_hull_within_disk_within_convex_hull_within_samples(void **state) {
    (void)state;
    static const slow_set spaces[] = {{.curved = false}, {RBF(.02)}, {RBF(.3)}, {POLY(.05, 1, 2)}};
    static const hull_kind order[] = {HULL_NAH, HULL_NHD, HULL_NCH};
    size_t apart = 0;
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (size_t of = 0; of < LM_COUNT(spaces); of++) {
            rows r;
            double d[4][CELLS];
            draw(&r, seed);
            for (size_t o = 0; o < 3; o++) {
                slow_set s = {.kind = order[o],
                              ALL,
                              .curved = spaces[of].curved,
                              .kernel = spaces[of].kernel};
                measure_rows(&r, &s, d[o]);
            }
            for (size_t i = 0; i < CELLS; i++) {
                d[3][i] = nearest_row(&r, i / K, i % K, &spaces[of]);
                for (size_t o = 0; o < 3; o++) {
                    /* linear: floats, to 1e-3 of the square, unless measured again */
                    double slack = spaces[of].curved || o == 2 ? 1e-7 : 6e-4;
                    if (!(d[o][i] <= d[o + 1][i] * (1 + slack) + 1e-5))
                        fail_msg("space %zu, query %zu, class %zu: set %zu at %.12g, the next at "
                                 "%.12g",
                                 of, i / K, i % K, o, d[o][i], d[o + 1][i]);
                    apart += d[o][i] < d[o + 1][i] * .99;
                }
            }
        }
    assert_true(apart > 3 * 4 * CELLS / 2); /* it is an order, not an equality */
}

static void test_a_row_of_the_class_is_in_its_convex_hull(void **state) {
    (void)state;
    static const slow_set sets[] = {{.kind = HULL_NCH},
                                    {.kind = HULL_NCH, .neighbors = 7},
                                    {.kind = HULL_NCH, RBF(.05)},
                                    {.kind = HULL_NCH, POLY(.05, 1, 3)},
                                    {.kind = HULL_NAH, ALL},
                                    {.kind = HULL_NHD, ALL},
                                    {.kind = HULL_NHD, ALL, RBF(.05)}};
    rows r;
    draw(&r, 4);
    memcpy(r.query, r.x, sizeof r.x);
    for (size_t s = 0; s < LM_COUNT(sets); s++) {
        double d[CELLS];
        measure_rows(&r, &sets[s], d);
        for (size_t i = 0; i < N; i++)
            if (!(d[i * K + i % K] <= 2e-6)) /* the root of rounding */
                fail_msg("%s, setting %zu: row %zu is at %g", kind_names[sets[s].kind], s, i,
                         d[i * K + i % K]);
    }
}

/* ---- invariances ---- */

static void test_the_linear_kernel_is_no_kernel(void **state) {
    (void)state;
    rows r;
    draw(&r, 5);
    for (size_t i = 0; i < LM_COUNT(linear_sets); i++)
        for (size_t k = 0; k <= 6; k += 6) {
            double d[2][CELLS];
            slow_set s = linear_sets[i], t = s;
            s.neighbors = t.neighbors = k;
            t.curved = true;
            t.kernel = (lm_kernel){.type = LM_POLYNOMIAL, .gamma = 1, .degree = 1};
            measure_rows(&r, &s, d[0]);
            measure_rows(&r, &t, d[1]);
            assert_near(d[0], d[1], k || s.kind == HULL_NCH ? 1e-6 : 1.1e-3, 1e-9, "linear kernel",
                        &s);
        }
}

/* Linear and rbf sets, global and local, move with the rows. share: tolerance relative to the
 * distances where these are computed in double; a hundredth of it is an absolute tolerance. */
static void check_moved(const rows *r, const rows *moved, double cut, double share) {
    for (size_t i = 0; i < LM_COUNT(linear_sets); i++)
        for (size_t k = 0; k <= 6; k += 6)
            for (int curved = 0; curved < 2; curved++) {
                double d[2][CELLS];
                slow_set s = linear_sets[i];
                s.neighbors = k;
                s.curved = curved;
                s.kernel = (lm_kernel){.type = LM_RBF, .gamma = .03};
                s.cut = curved ? cut : 1e-6;
                measure_rows(r, &s, d[0]);
                measure_rows(moved, &s, d[1]);
                assert_near(d[0], d[1], k || curved || s.kind == HULL_NCH ? share : 1.1e-3,
                            share / 100, curved ? "moved, rbf" : "moved", &s);
            }
}

static void test_moving_everything_changes_nothing(void **state) {
    (void)state;
    rows r, moved;
    draw(&r, 6);
    moved = r;
    for (size_t i = 0; i < N * D; i++)
        moved.x[i] += (float)(4096 - 300 * (int)(i % D));
    for (size_t i = 0; i < ASKED * D; i++)
        moved.query[i] += (float)(4096 - 300 * (int)(i % D));
    check_moved(&r, &moved, 1e-3, 1e-7);
}

/* Even features move a million away, where squares have no digits left for the differences of
 * rows. */
static void go_far(float *x, float *moved, size_t n) {
    for (size_t i = 0; i < n * D; i++) {
        x[i] = i % 2 ? x[i] : roundf(x[i] * 8) / 8;
        moved[i] = i % 2 ? x[i] : x[i] + (float)(1000000 - 300 * (int)(i % D));
    }
}

static void test_moving_everything_far_changes_nothing(void **state) {
    (void)state;
    rows r, moved;
    draw(&r, 12);
    memcpy(r.x + (N - K) * D, r.x, K * D * sizeof *r.x); /* duplicates span nothing */
    moved = r;
    go_far(r.x, moved.x, N);
    go_far(r.query, moved.query, ASKED);
    check_moved(&r, &moved, 1e-4, 1e-6);
}

/* Reflections along random directions, in double. Rows are rounded to floats again. */
static void turn(float *x, size_t n, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 32, 0);
    double *y = malloc(n * D * sizeof *y);
    for (size_t i = 0; i < n * D; i++)
        y[i] = (double)x[i];
    for (int step = 0; step < 20; step++) {
        double v[D], length = 0;
        for (size_t j = 0; j < D; j++) {
            v[j] = lm_rng_normal(&rng);
            length += v[j] * v[j];
        }
        for (size_t i = 0; i < n; i++) {
            double dot = 0;
            for (size_t j = 0; j < D; j++)
                dot += v[j] * y[i * D + j];
            for (size_t j = 0; j < D; j++)
                y[i * D + j] -= 2 * dot / length * v[j];
        }
    }
    for (size_t i = 0; i < n * D; i++)
        x[i] = (float)y[i];
    free(y);
}

static void test_turning_everything_changes_nothing(void **state) {
    (void)state;
    static const lm_kernel kernels[] = {
        {.type = LM_LINEAR},
        {.type = LM_RBF, .gamma = .03},
        {.type = LM_POLYNOMIAL, .gamma = .05, .coef0 = 1, .degree = 2}};
    rows r, turned;
    draw(&r, 7);
    turned = r;
    turn(turned.x, N, 1);
    turn(turned.query, ASKED, 1);
    for (size_t i = 0; i < LM_COUNT(linear_sets); i++)
        for (size_t k = 0; k <= 6; k += 6)
            for (size_t of = 0; of < LM_COUNT(kernels); of++) {
                double d[2][CELLS];
                slow_set s = linear_sets[i];
                s.neighbors = k;
                s.curved = of > 0;
                s.kernel = kernels[of];
                s.cut = of ? 1e-3 : 1e-6;
                measure_rows(&r, &s, d[0]);
                measure_rows(&turned, &s, d[1]);
                assert_near(d[0], d[1], 1.1e-3, 1e-5, "turned", &s);
            }
}

static void test_every_row_twice_changes_nothing(void **state) {
    (void)state;
    static rows r;
    static float x[2 * N * D];
    static double y[2 * N];
    draw(&r, 8);
    for (size_t i = 0; i < 2 * N; i++) {
        memcpy(x + i * D, r.x + i % N * D, D * sizeof *x);
        y[i] = r.y[i % N];
    }
    for (size_t i = 0; i < LM_COUNT(linear_sets); i++)
        for (int curved = 0; curved < 2; curved++) {
            double d[2][CELLS];
            slow_set s = linear_sets[i];
            s.curved = curved;
            s.kernel = (lm_kernel){.type = LM_RBF, .gamma = .03};
            s.cut = curved ? 1e-3 : 1e-6;
            measure_rows(&r, &s, d[0]);
            /* rho is a share of the mean over the n - 1 directions that there can be. */
            s.rho *= 23.0 / 11;
            measure(x, y, 2 * N, D, &s, r.query, d[1], NULL);
            assert_near(d[0], d[1], curved || s.kind == HULL_NCH ? 1e-6 : 1.1e-3, 1e-9, "twice",
                        &s);
        }
}

/* Repeating one row moves means, but neither hulls nor hard spheres. */
static void test_one_row_more_often_moves_no_hull(void **state) {
    (void)state;
    static const slow_set sets[] = {
        {.kind = HULL_NAH, ALL},
        {.kind = HULL_NHD, ALL},
        {.kind = HULL_NCH},
        {.kind = HULL_NSC},
        {.kind = HULL_NCH, RBF(.03)},
        {.kind = HULL_NSC, RBF(.03)},
        {.kind = HULL_NHD, RBF(.03), .rule = HULL_DIM_FULL, .cut = 1e-4}};
    static rows r;
    static float x[(N + 5) * D];
    static double y[N + 5];
    draw(&r, 9);
    memcpy(x, r.x, sizeof r.x);
    memcpy(y, r.y, sizeof r.y);
    for (size_t i = N; i < N + 5; i++) {
        memcpy(x + i * D, r.x + 7 * D, D * sizeof *x);
        y[i] = r.y[7];
    }
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        double d[2][CELLS];
        measure_rows(&r, &sets[i], d[0]);
        measure(x, y, N + 5, D, &sets[i], r.query, d[1], NULL);
        assert_near(d[0], d[1], 1.1e-3, 1e-9, "more often", &sets[i]);
    }
}

/* ---- local sets of all samples ---- */

static void test_local_sets_of_all_samples_are_the_global_ones(void **state) {
    (void)state;
    static const lm_kernel kernels[] = {
        {.type = LM_LINEAR},
        {.type = LM_RBF, .gamma = .03},
        {.type = LM_POLYNOMIAL, .gamma = .05, .coef0 = 1, .degree = 2}};
    static const size_t neighbors[] = {N / K, 1000};
    rows r;
    draw(&r, 10);
    for (size_t i = 0; i < LM_COUNT(linear_sets); i++)
        for (size_t of = 0; of < LM_COUNT(kernels); of++)
            for (size_t k = 0; k < LM_COUNT(neighbors); k++) {
                double d[2][CELLS];
                int32_t classes[2][ASKED];
                slow_set s = linear_sets[i];
                s.curved = of > 0;
                s.kernel = kernels[of];
                s.cut = of ? 1e-3 : 1e-6;
                measure(r.x, r.y, N, D, &s, r.query, d[0], classes[0]);
                s.neighbors = neighbors[k];
                measure(r.x, r.y, N, D, &s, r.query, d[1], classes[1]);
                assert_near(d[0], d[1], of || s.kind == HULL_NCH ? 1e-6 : 1.1e-3, 1e-8, "local",
                            &s);
                assert_memory_equal(classes[0], classes[1], sizeof classes[0]);
            }
}

/* ---- equal distances ---- */

/* The class of one query of two features, given a few rows, in every way to ask for it. */
static void assert_class(const char *what, slow_set s, const float *x, const double *y, size_t n,
                         const float *query, int32_t want) {
    for (int way = 0; way < 4; way++) {
        int32_t got;
        limn_context *ctx = make_context(NULL, 1, 9);
        limn_data *data = NULL;
        slow_set set = s;
        set.neighbors = way & 1 ? n : 0;
        set.curved = way & 2;
        set.kernel = (lm_kernel){.type = LM_POLYNOMIAL, .gamma = 1, .degree = 1};
        assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, 2, y, &data), LIMN_OK);
        limn_model *model = hull_trained(ctx, data, &set, NULL);
        hull_ask(ctx, model, query, 1, &got, NULL);
        if (got != want)
            fail_msg("%s, %s, way %d: class %d instead of %d", what, kind_names[s.kind], way,
                     (int)got, (int)want);
        limn_model_free(model);
        limn_data_free(data);
        limn_context_free(ctx);
    }
}

static void test_equal_distances_go_to_the_nearer_centre_then_the_lower_class(void **state) {
    (void)state;
    static const double two[] = {0, 0, 1, 1}, swapped[] = {1, 1, 0, 0};
    static const double four[] = {0, 0, 0, 0, 1, 1, 1, 1}, back[] = {1, 1, 1, 1, 0, 0, 0, 0};
    const slow_set line = {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 1, .cut = 1e-6};
    /* lines through the query, their means 5 and 8 away */
    static const float cross[] = {-6, 0, -4, 0, 0, 7, 0, 9}, zero[] = {0, 0};
    assert_class("crossing", line, cross, two, 4, zero, 0);
    assert_class("crossing", line, cross, swapped, 4, zero, 1);
    static const float even[] = {-6, 0, -4, 0, 0, 4, 0, 6};
    assert_class("crossing, even", line, even, two, 4, zero, 0);
    assert_class("crossing, even", line, even, swapped, 4, zero, 0);
    /* centres of spheres 2 away, means not */
    static const float spheres[] = {-1, 0, -3, 0, -3, 0, -3, 0, 1, 0, 3, 0, 1, 0, 1, 0};
    assert_class("spheres", (slow_set){.kind = HULL_NSC}, spheres, four, 8, zero, 0);
    assert_class("spheres", (slow_set){.kind = HULL_NSC}, spheres, back, 8, zero, 0);
    /* in both segments, whose spheres have centres at -1 and 1, and means at .5 and -1 */
    static const float segments[] = {-4, 0, 2, 0, 2, 0, 2, 0, -3, 0, 5, 0, -3, 0, -3, 0};
    static const float inside[] = {.25f, 0};
    assert_class("segments", (slow_set){.kind = HULL_NCH}, segments, four, 8, inside, 1);
    assert_class("segments", (slow_set){.kind = HULL_NCH}, segments, back, 8, inside, 0);
}

/* ---- leaving one out ---- */

/* d^2 of row i from the ridge hull of the others with lambda given, from the definition. */
static double without(const float *x, size_t n, size_t d, size_t i, const slow_set *s,
                      double lambda) {
    float *others = malloc(n * d * sizeof *others);
    memcpy(others, x, i * d * sizeof *x);
    memcpy(others + i * d, x + (i + 1) * d, (n - 1 - i) * d * sizeof *x);
    slow_points p = s->curved ? slow_embed(&s->kernel, others, n - 1, d, x + i * d)
                              : slow_flat(others, n - 1, d, x + i * d);
    slow_hull h = slow_hull_of(&p);
    double d2 = h.rest[h.count];
    for (size_t j = 0; j < h.count; j++)
        d2 += h.t[j] * h.t[j] * lambda / (h.s[j] * h.s[j] + lambda);
    slow_hull_free(&h);
    free(p.at);
    free(others);
    return d2;
}

static void test_leaving_one_out_has_a_closed_form(void **state) {
    (void)state;
    static const double rho[] = {1e-4, .01, 1, 100};
    static const size_t sizes[][2] = {{12, 30}, {25, 6}, {2, 4}, {3, 1}, {20, 20}};
    static const slow_set spaces[] = {{.curved = false}, {RBF(.1)}, {POLY(.1, 1, 2)}};
    limn_context *ctx = make_context(NULL, 1, 1);
    lm_rng rng = lm_rng_at(3, 33, 0);
    for (size_t of = 0; of < LM_COUNT(sizes); of++)
        for (size_t space_of = 0; space_of < LM_COUNT(spaces); space_of++) {
            size_t n = sizes[of][0], d = sizes[of][1];
            float x[30 * 30];
            uint32_t index[30];
            for (size_t i = 0; i < n * d; i++)
                x[i] = (float)(lm_rng_normal(&rng) + 3);
            if (n > 10) /* a duplicate */
                memcpy(x + d, x, d * sizeof *x);
            for (size_t i = 0; i < n; i++)
                index[i] = (uint32_t)i;
            slow_set s = spaces[space_of];
            hull_options options = {.kind = HULL_NRH,
                                    .kernel_space = s.curved,
                                    .kernel = s.kernel,
                                    .dim_rule = HULL_DIM_FULL,
                                    .dim = SIZE_MAX,
                                    .cut = 1e-6};
            hull_space space = {x, d, &options};
            hull_grid grid = {LM_COUNT(rho), rho};
            hull_fit fit;
            assert_int_equal(hull_fit_make(ctx, &space, index, n, SIZE_MAX, &fit), LIMN_OK);
            for (size_t i = 0; i < n; i++) {
                double d2[LM_COUNT(rho)];
                hull_fit_leave_one_out(&fit, i, &grid, d2);
                for (size_t g = 0; g < grid.count; g++) {
                    double lambda = rho[g] * hull_fit_ridge(&fit);
                    double slow = without(x, n, d, i, &s, lambda);
                    if (!(fabs(d2[g] - slow) <= 1e-7 * slow + 1e-11 * fit.trace))
                        fail_msg("n %zu, d %zu, space %zu, rho %g, row %zu: %.12g instead of %.12g",
                                 n, d, space_of, rho[g], i, d2[g], slow);
                }
            }
            hull_fit_free(&ctx->mem, &fit);
        }
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affine_hull_within_disk_within_convex_hull_within_samples),
        cmocka_unit_test(test_a_row_of_the_class_is_in_its_convex_hull),
        cmocka_unit_test(test_the_linear_kernel_is_no_kernel),
        cmocka_unit_test(test_moving_everything_changes_nothing),
        cmocka_unit_test(test_moving_everything_far_changes_nothing),
        cmocka_unit_test(test_turning_everything_changes_nothing),
        cmocka_unit_test(test_every_row_twice_changes_nothing),
        cmocka_unit_test(test_one_row_more_often_moves_no_hull),
        cmocka_unit_test(test_local_sets_of_all_samples_are_the_global_ones),
        cmocka_unit_test(test_equal_distances_go_to_the_nearer_centre_then_the_lower_class),
        cmocka_unit_test(test_leaving_one_out_has_a_closed_form),
    };
    return cmocka_run_group_tests_name("hull_rules", tests, NULL, NULL);
}
