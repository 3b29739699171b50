/* test_scale_map.c: the map of a learned scaling. Gradient outer products (gradients.c) and the
 * maps made of them (maps.c) against references that solve by elimination, sum by plain loops in
 * double and find eigenvectors by Jacobi's rotations; applying, undoing, copying, saving and
 * loading a map (map.c); damaged files; failed allocations. */
#include "reseal.h"
#include "scale_map_slow.h"

#include <float.h>

/* ---- gradients ---- */

/* The second of them is left out altogether. */
static void set_weights(double *weight, size_t d) {
    for (size_t k = 0; k < d; k++)
        weight[k] = k == 1 ? 0 : 0.3 + (double)(k % 4);
}

static void check_trace(const double *m, size_t d, bool diagonal) {
    double trace = 0;
    for (size_t k = 0; k < d; k++)
        trace += m[diagonal ? k : k * (d + 1)];
    assert_true(fabs(trace / (double)d - 1) < 1e-12);
    for (size_t i = 0; i < d * d && !diagonal; i++)
        assert_true(m[i] == m[i % d * d + i / d]);
}

static void check_products(world *w, mix kind, size_t n, size_t d, size_t count) {
    lm_regression r = draw(kind, n, d, count);
    double *m = doubles(d * d), *expected = doubles(d * d), *weight = doubles(d);
    set_weights(weight, d);
    for (int i = 0; i < 4; i++) {
        const double *by = i / 2 ? weight : NULL;
        assert_int_equal(lm_gradients(w->ctx, &r, by, i % 2, m), LIMN_OK);
        slow_products(&r, by, i % 2, expected);
        assert_near(m, expected, i % 2 ? d : d * d, 1e-5);
        check_trace(m, d, i % 2);
    }
    regression_free(&r);
    free(m);
    free(expected);
    free(weight);
}

static void test_gradient_products_equal_plain_loops(void **state) {
    static const size_t sizes[][3] = {/* rows, features, y */
                                      {70, 3, 1}, {45, 7, 3}, {23, 1, 2}, {30, 40, 1},
                                      {5, 2, 2},  {3, 4, 1},  {2, 2, 1}};
    (void)state;
    world w;
    world_open(&w, 2);
    for (mix kind = 0; kind < MIXES; kind++)
        for (size_t i = 0; i < LM_COUNT(sizes); i++)
            if (kind == APART || sizes[i][0] > 4)
                check_products(&w, kind, sizes[i][0], sizes[i][1], sizes[i][2]);
    world_close(&w);
}

/* Of what the reference above sums, at every row: central differences of the regression without the
 * row's own term, which has a kink there. */
static void test_the_gradients_summed_are_those_of_the_regression(void **state) {
    enum { D = 3 };
    const double step = 1e-5, weight[D] = {0.5, 1, 2};
    (void)state;
    lm_regression r = draw(APART, 40, D, 2);
    for (int weighted = 0; weighted < 2; weighted++) {
        slow s = slow_fit(&r, weighted ? weight : NULL);
        for (size_t c = 0; c < s.count; c++)
            for (size_t i = 0; i < s.n; i++) {
                double g[D], expected[D], z[D];
                slow_gradient(&s, c, i, g);
                for (size_t k = 0; k < D; k++) {
                    memcpy(z, s.z + i * D, sizeof z);
                    z[k] = s.z[i * D + k] + step * s.weight[k];
                    expected[k] = slow_value(&s, c, i, z);
                    z[k] = s.z[i * D + k] - step * s.weight[k];
                    expected[k] = (expected[k] - slow_value(&s, c, i, z)) / (2 * step);
                }
                assert_near(g, expected, D, 1e-6);
            }
        slow_free(&s);
    }
    regression_free(&r);
}

static void check_zeros(world *w, const lm_regression *r, const double *weight) {
    double *m = doubles(r->d * r->d);
    for (int diagonal = 0; diagonal < 2; diagonal++) {
        size_t size = diagonal ? r->d : r->d * r->d;
        memset(m, 0x55, size * sizeof *m);
        assert_int_equal(lm_gradients(w->ctx, r, weight, diagonal, m), LIMN_OK);
        for (size_t k = 0; k < size; k++)
            assert_true(m[k] == 0);
    }
    free(m);
}

static void test_equal_rows_and_weights_or_targets_of_0_give_zeros(void **state) {
    enum { N = 21, D = 3 };
    static const double none[D] = {0}, zeros[N] = {0};
    float same[N * D];
    (void)state;
    world w;
    world_open(&w, 1);
    lm_regression r = draw(APART, N, D, 1), flat = r, equal = r, single = r;
    for (size_t i = 0; i < N * D; i++)
        same[i] = 0.1f * (float)(i % D);
    flat.y = zeros;
    equal.x = same;
    single.n = 1;
    check_zeros(&w, &r, none);
    check_zeros(&w, &flat, NULL);
    check_zeros(&w, &equal, NULL);
    check_zeros(&w, &single, NULL);
    regression_free(&r);
    world_close(&w);
}

static void test_gradient_products_do_not_depend_on_threads(void **state) {
    enum { D = 6 };
    (void)state;
    for (size_t n = 2; n < 120; n += 39) {
        double m[4][D * D] = {{0}};
        lm_regression r = draw(APART, n, D, 2);
        for (int threads = 1; threads <= 3; threads++) {
            world w;
            world_open(&w, threads);
            assert_int_equal(lm_gradients(w.ctx, &r, NULL, false, m[threads]), LIMN_OK);
            assert_memory_equal(m[threads], m[1], sizeof m[1]);
            world_close(&w);
        }
        regression_free(&r);
    }
}

/* ---- maps ---- */

static void check_metric(const lm_map *map, const prepared *p, size_t which) {
    size_t d = p->r.d;
    bend e = slow_map(p, which);
    double *r = rows_of(map), *metric = doubles(d * d), *share = doubles(d), *mean = doubles(d);
    double sum = 0;
    assert_int_equal(map->in, d);
    assert_int_equal(map->out, e.out);
    assert_true(fabs(map->variance - e.variance) < 1e-6);
    for (size_t i = 0; i < map->out; i++)
        for (size_t k = 0; k < d * d; k++)
            metric[k] += r[i * d + k / d] * r[i * d + k % d];
    for (size_t k = 0; k < d; k++) {
        mean[k] = (double)map->mean[k];
        share[map->heavy[k].row] = -map->heavy[k].key;
        sum -= map->heavy[k].key;
        assert_true(k == 0 || lm_ranked_before(map->heavy[k - 1], map->heavy[k]));
    }
    assert_near(metric, e.metric, d * d, 1e-5);
    assert_near(share, e.share, d, 1e-5);
    assert_near(mean, p->mean, d, 1e-5);
    assert_true(fabs(sum - 1) < 1e-12);
    bend_free(&e);
    free(r);
    free(metric);
    free(share);
    free(mean);
}

static void test_maps_equal_a_slow_reference(void **state) {
    static const struct {
        size_t d, classes;
        limn_scale kind;
    } cases[] = {{2, 2, LIMN_SCALE_NONE}, {5, 3, LIMN_SCALE_MINMAX},  {5, 0, LIMN_SCALE_ZSCORE},
                 {6, 7, LIMN_SCALE_RANK}, {32, 2, LIMN_SCALE_ZSCORE}, {33, 3, LIMN_SCALE_ZSCORE},
                 {45, 0, LIMN_SCALE_RANK}};
    (void)state;
    world w;
    world_open(&w, 2);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        sample s = sample_make(170, cases[i].d, cases[i].classes, 5);
        fitted f = fit_maps(&w, &s, cases[i].kind, 15);
        prepared p = prepare(&f.scaler, &s);
        for (size_t which = 0; which < LM_MAPS; which++)
            check_metric(f.maps[which], &p, which);
        assert_true(cases[i].d <= 32 || f.maps[LM_MAP_D4F]->out < cases[i].d);
        prepared_free(&p);
        fitted_free(&w, &f);
        sample_free(&s);
    }
    world_close(&w);
}

static void test_mapped_rows_have_a_mean_variance_of_1(void **state) {
    static const limn_scale kinds[] = {LIMN_SCALE_NONE, LIMN_SCALE_MINMAX, LIMN_SCALE_ZSCORE,
                                       LIMN_SCALE_RANK, LIMN_SCALE_GAUSS};
    static const double sizes[] = {1e30, 1, 1e-30};
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t k = 0; k < LM_COUNT(kinds); k++)
        for (size_t i = 0; i < LM_COUNT(sizes); i++) {
            sample s = sample_make(90, i == 1 ? 36 : 4, i + k % 2 ? 3 : 0, sizes[i]);
            fitted f = fit_maps(&w, &s, kinds[k], 15);
            float *x = calloc(s.fit.n * f.scaler.kept, sizeof *x);
            for (size_t r = 0; r < s.fit.n; r++)
                lm_scaler_apply(&f.scaler, s.x + s.row[r] * s.rows.d, 1, x + r * f.scaler.kept,
                                NULL);
            for (size_t which = 0; which < LM_MAPS; which++) {
                float *y = mapped(&w, f.maps[which], x, s.fit.n);
                assert_true(fabs(mean_variance(y, s.fit.n, f.maps[which]->out) - 1) < 1e-4);
                free(y);
            }
            free(x);
            fitted_free(&w, &f);
            sample_free(&s);
        }
    world_close(&w);
}

static void test_each_map_is_the_same_with_any_others_and_any_threads(void **state) {
    (void)state;
    world w;
    world_open(&w, 1);
    sample s = sample_make(120, 34, 3, 1);
    fitted all = fit_maps(&w, &s, LIMN_SCALE_MINMAX, 15);
    for (unsigned wanted = 0; wanted < 16; wanted += every(5)) {
        w.ctx->threads = (int)(1 + wanted % 3);
        fitted f = fit_maps(&w, &s, LIMN_SCALE_MINMAX, wanted);
        for (size_t which = 0; which < LM_MAPS; which++) {
            assert_int_equal(f.maps[which] != NULL, wanted >> which & 1);
            if (f.maps[which])
                assert_same_map(f.maps[which], all.maps[which]);
        }
        fitted_free(&w, &f);
    }
    fitted_free(&w, &all);
    sample_free(&s);
    world_close(&w);
}

static void assert_no_map(world *w, const sample *s, const char *what, double of) {
    fitted f = fit_maps(w, s, LIMN_SCALE_NONE, 15);
    for (size_t which = 0; which < LM_MAPS; which++)
        if (f.maps[which])
            fail_msg("%s, %zu rows of %g: there is map %zu", what, s->fit.n, of, which);
    fitted_free(w, &f);
}

static void test_one_class_or_equal_rows_give_no_map(void **state) {
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t n = 2; n < 60; n += 19) {
        sample s = sample_make(n, 3, 4, 1);
        for (size_t i = 0; i < n; i++)
            s.label[i] = 2;
        assert_no_map(&w, &s, "one class", 2);
        for (size_t i = 0; i < n; i++)
            s.label[i] = (int32_t)(i / 2 % 3);
        for (size_t i = 0; i < n * 3; i++)
            s.x[i] = 0.1f * (float)(i % 3);
        assert_no_map(&w, &s, "equal rows", 0);
        sample_free(&s);
    }
    world_close(&w);
}

static void test_constant_targets_give_no_map(void **state) {
    static const double targets[] = {0, 1, -0.1, 1e300, 5e-324};
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t n = 2; n < 80; n += 11)
        for (size_t t = 0; t < LM_COUNT(targets); t++) {
            sample s = sample_make(n, 3, 0, 1);
            for (size_t i = 0; i < n; i++)
                s.target[i] = targets[t];
            assert_no_map(&w, &s, "constant targets", targets[t]);
            sample_free(&s);
        }
    world_close(&w);
}

/* A power of two rounds nothing here, nor there if units are taken from the data. */
static void test_the_unit_of_the_targets_changes_no_map(void **state) {
    (void)state;
    world w;
    world_open(&w, 1);
    for (int power = -1000; power <= 1000; power += 2000) {
        sample s = sample_make(60, 3, 0, 1), scaled = sample_make(60, 3, 0, 1);
        for (size_t i = 0; i < 60; i++)
            scaled.target[i] = ldexp(s.target[i], power);
        fitted f = fit_maps(&w, &s, LIMN_SCALE_NONE, 15);
        fitted g = fit_maps(&w, &scaled, LIMN_SCALE_NONE, 15);
        for (size_t which = 0; which < LM_MAPS; which++)
            assert_same_map(f.maps[which], g.maps[which]);
        fitted_free(&w, &f);
        fitted_free(&w, &g);
        sample_free(&s);
        sample_free(&scaled);
    }
    world_close(&w);
}

static void test_the_unit_of_the_rows_changes_no_mapped_row(void **state) {
    (void)state;
    world w;
    world_open(&w, 1);
    for (int power = -90; power <= 90; power += 180) {
        sample s = sample_make(100, 4, 3, 1), scaled = sample_make(100, 4, 3, 1);
        for (size_t i = 0; i < 400; i++)
            scaled.x[i] = ldexpf(s.x[i], power);
        fitted f = fit_maps(&w, &s, LIMN_SCALE_NONE, 15);
        fitted g = fit_maps(&w, &scaled, LIMN_SCALE_NONE, 15);
        for (size_t which = 0; which < LM_MAPS; which++) {
            float *y = mapped(&w, f.maps[which], s.x, 100);
            float *z = mapped(&w, g.maps[which], scaled.x, 100);
            assert_memory_equal(y, z, 100 * f.maps[which]->out * sizeof *y);
            free(y);
            free(z);
        }
        fitted_free(&w, &f);
        fitted_free(&w, &g);
        sample_free(&s);
        sample_free(&scaled);
    }
    world_close(&w);
}

/* Columns of very different sizes, of the smallest and of the largest floats. */
static void test_rows_at_the_ends_of_floats_give_finite_maps_or_none(void **state) {
    static const float sizes[][3] = {{3e38f, 3e38f, 3e38f}, {1e-45f, 1e-44f, 1e-45f},
                                     {1e-38f, 1, 3e38f},    {1, 1e-30f, 1e-45f},
                                     {1e30f, 1e-30f, 1},    {1e38f, 1e20f, 1e19f}};
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t i = 0; i < LM_COUNT(sizes); i++)
        for (int kind = LIMN_SCALE_NONE; kind <= LIMN_SCALE_GAUSS; kind++)
            for (size_t classes = 0; classes <= 3; classes += 3) {
                sample s = sample_make(60, 3, classes, 1);
                for (size_t k = 0; k < 180; k++)
                    s.x[k] = sinf(s.x[k]) * sizes[i][k % 3];
                fitted f = fit_maps(&w, &s, (limn_scale)kind, 15);
                float x[180];
                for (size_t r = 0; r < 60; r++)
                    lm_scaler_apply(&f.scaler, s.x + r * 3, 1, x + r * f.scaler.kept, NULL);
                for (size_t which = 0; which < LM_MAPS; which++)
                    if (f.maps[which])
                        check_finite(&w, f.maps[which], x, 60);
                fitted_free(&w, &f);
                sample_free(&s);
            }
    world_close(&w);
}

/* ---- applying ---- */

static float cut(double value) {
    return (float)fmin(fmax(value, -(double)FLT_MAX), (double)FLT_MAX);
}

static void check_applied(world *w, const lm_map *map, const float *x, size_t n) {
    double *r = rows_of(map);
    float *y = mapped(w, map, x, n), *expected = calloc(n * map->out, sizeof *expected);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < map->out; k++) {
            double sum = 0;
            for (size_t j = 0; j < map->in; j++)
                sum += r[k * map->in + j] *
                       (double)cut((double)x[i * map->in + j] - (double)map->mean[j]);
            expected[i * map->out + k] = cut(sum);
            assert_true(isfinite(y[i * map->out + k]));
        }
    assert_memory_equal(y, expected, n * map->out * sizeof *y);
    free(r);
    free(y);
    free(expected);
}

static void test_applying_equals_a_plain_loop_on_every_instruction_set(void **state) {
    static const size_t sizes[][2] = {{1, 1},   {2, 2},   {3, 15},  {7, 16},  {16, 17},
                                      {33, 32}, {40, 33}, {64, 48}, {67, 65}, {130, 129}};
    static const double of[] = {1, 1e30, 1e-30, 3e38};
    static const float ends[] = {FLT_MAX, -FLT_MAX, 1e-45f, -0.0f, 1};
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t isa = 0; lm_isa_at(isa); isa++) {
        assert_true(lm_isa_use(lm_isa_at(isa)));
        for (size_t s = 0; s < LM_COUNT(sizes); s++)
            for (size_t f = 0; f < LM_COUNT(of); f++) {
                enum { N = 12 };
                size_t in = sizes[s][0];
                lm_rng rng = lm_rng_at(s, f, 0);
                lm_map *map = random_map(&w, in, sizes[s][1], 0, of[f]);
                float *x = calloc(N * in, sizeof *x);
                for (size_t i = 0; i < N * in; i++)
                    x[i] = i < 4 * in ? ends[lm_rng_below(&rng, LM_COUNT(ends))]
                                      : (float)(lm_rng_normal(&rng) * of[i % LM_COUNT(of)]);
                for (size_t i = 0; i < N * in; i++)
                    x[i] = cut((double)x[i]);
                check_applied(&w, map, x, N);
                lm_map_free(&w.ctx->mem, map);
                free(x);
            }
    }
    lm_isa_use(lm_isa_at(0));
    world_close(&w);
}

/* ---- undoing ---- */

static void undo(world *w, const lm_map *map, const float *y, size_t n, float *x) {
    double *inverse;
    assert_int_equal(lm_map_invert(w->ctx, map, &inverse), LIMN_OK);
    lm_map_undo(map, inverse, y, n, x);
    lm_free(&w->ctx->mem, inverse);
}

/* The two conditions that only the nearest of the best x fulfils: what is missing from y is at a
 * right angle to what the map can make, and x - mean to what the map cannot see. */
static void check_undone(world *w, const lm_map *map, bool exact) {
    enum { N = 4 };
    size_t in = map->in, out = map->out;
    lm_rng rng = lm_rng_at(in, out, 7);
    double *r = rows_of(map), *v = doubles(in), *off = doubles(out);
    float *x = calloc(N * in, sizeof *x), *y = calloc(N * out, sizeof *y), *again;
    for (size_t i = 0; i < N * out; i++)
        y[i] = (float)(3 * lm_rng_normal(&rng));
    undo(w, map, y, N, x);
    again = mapped(w, map, x, N);
    for (size_t i = 0; i < N; i++) {
        double dot = 0, size = 0;
        for (size_t k = 0; k < out; k++)
            off[k] = (double)again[i * out + k] - (double)y[i * out + k];
        for (size_t k = 0; k < out; k++)
            assert_true(!exact || fabs(off[k]) < 1e-4);
        for (size_t j = 0; j < in; j++) {
            double sum = 0, most = 0;
            for (size_t k = 0; k < out; k++) {
                sum += r[k * in + j] * off[k];
                most += fabs(r[k * in + j]);
            }
            assert_true(fabs(sum) <= 1e-4 * most);
            v[j] = lm_rng_normal(&rng);
        }
        leave_rows(r, out, in, v);
        for (size_t j = 0; j < in; j++) {
            double by = (double)x[i * in + j] - (double)map->mean[j];
            dot += v[j] * by;
            size += by * by;
        }
        assert_true(fabs(dot) <= 1e-5 * (1 + sqrt(size)));
    }
    free(r);
    free(v);
    free(off);
    free(x);
    free(y);
    free(again);
}

static void test_undo_gives_the_row_nearest_to_the_mean(void **state) {
    static const size_t sizes[][3] = {/* features, axes, those that are sums of others */
                                      {1, 1, 0}, {4, 4, 0},   {9, 3, 0},   {30, 17, 0},
                                      {5, 3, 1}, {20, 12, 5}, {40, 40, 20}};
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t i = 0; i < LM_COUNT(sizes); i++) {
        lm_map *map = random_map(&w, sizes[i][0], sizes[i][1], sizes[i][2], 1);
        check_undone(&w, map, !sizes[i][2]);
        lm_map_free(&w.ctx->mem, map);
    }
    lm_map *nothing = random_map(&w, 3, 2, 0, 0);
    float x[3];
    undo(&w, nothing, (const float[]){1, 2}, 1, x);
    assert_memory_equal(x, nothing->mean, sizeof x);
    lm_map_free(&w.ctx->mem, nothing);
    world_close(&w);
}

/* ---- copies and files ---- */

static void assert_same_scaling(world *w, const lm_scaler *a, const lm_scaler *b) {
    enum { N = 50 };
    float x[N * 4], y[N * 2], z[N * 2];
    void *spare, *other;
    lm_rng rng = lm_rng_at(4, 4, 4);
    for (size_t i = 0; i < N * 4; i++)
        x[i] = (float)lm_rng_normal(&rng) * 5;
    assert_int_equal(lm_scaler_spare(w->ctx, a, &spare), LIMN_OK);
    assert_int_equal(lm_scaler_spare(w->ctx, b, &other), LIMN_OK);
    lm_scaler_apply(a, x, N, y, spare);
    for (size_t i = 0; i < N; i++)
        lm_scaler_apply(b, x + i * 4, 1, z + i * 2, other);
    assert_memory_equal(y, z, sizeof y);
    lm_free_aligned(&w->ctx->mem, spare);
    lm_free_aligned(&w->ctx->mem, other);
}

static void test_copies_and_loaded_scalers_are_the_same_and_stand_alone(void **state) {
    (void)state;
    world w;
    world_open(&w, 1);
    lm_scaler s, copy, loaded = {.kind = LIMN_SCALE_NONE}, again;
    make_scaler(&w, &s);
    assert_int_equal(lm_scaler_copy(w.ctx, &s, &copy), LIMN_OK);
    lm_file *file = file_of(&w, saved(&w, &s));
    lm_section section; /* readers that know no maps must refuse it */
    assert_int_equal(lm_file_section(w.ctx, file, "scaler", 1, &section), LIMN_E_MODEL);
    assert_int_equal(lm_scaler_load(w.ctx, file, 4, &loaded), LIMN_OK);
    assert_int_equal(lm_scaler_kind(&loaded), LIMN_SCALE_LEARNED);
    assert_int_equal(loaded.out, 2);
    assert_same_map(loaded.map, s.map);
    assert_same_map(copy.map, s.map);
    assert_same_scaling(&w, &loaded, &s);
    assert_same_scaling(&w, &s, &copy);
    assert_int_equal(lm_scaler_copy(w.ctx, &loaded, &again), LIMN_OK);
    lm_scaler_free(&w.ctx->mem, &loaded);
    lm_scaler_free(&w.ctx->mem, &s);
    lm_file_close(file);
    assert_same_scaling(&w, &again, &copy);
    lm_scaler_free(&w.ctx->mem, &again);
    lm_scaler_free(&w.ctx->mem, &copy);
    world_close(&w);
}

/* What a file says, and how it may lie. */
enum { AXES, VARIANCE, MEANS, SHARES, SHARE, FLOATS, VALUE, PADDING, VERSION, LACKS, PARTS };
enum { NOTHING, NO_AXES, NO_VARIANCE, NO_MEAN, NO_SHARE, NO_SECTION };

static const double sound[PARTS] = {[AXES] = 2,     [VARIANCE] = 0.5,  [MEANS] = 3, [SHARES] = 3,
                                    [SHARE] = 0.25, [FLOATS] = 16 * 3, [VALUE] = 1, [VERSION] = 2};

static const struct {
    int part;
    double value;
    const char *words;
} lies[] = {{AXES, 0, "'axes'"},
            {AXES, -1, "'axes'"},
            {AXES, 4, "'axes'"},
            {VARIANCE, -0.1, "'variance'"},
            {VARIANCE, 1.1, "'variance'"},
            {MEANS, 2, "'mean'"},
            {MEANS, 4, "'mean'"},
            {SHARES, 2, "'share'"},
            {SHARES, 4, "'share'"},
            {SHARE, -1e-9, "the share of feature 2 is not valid"},
            {SHARE, 1.0001, "the share of feature 2 is not valid"},
            {FLOATS, 47, "scaler.map"},
            {FLOATS, 49, "scaler.map"},
            {FLOATS, 96, "scaler.map"},
            {FLOATS, 0, "scaler.map"},
            {VALUE, INFINITY, "is not finite"},
            {VALUE, NAN, "is not finite"},
            {PADDING, -INFINITY, "is not finite"},
            {VERSION, 3, "scaler.map"},
            {LACKS, NO_AXES, "'axes'"},
            {LACKS, NO_VARIANCE, "'variance'"},
            {LACKS, NO_MEAN, "'mean'"},
            {LACKS, NO_SHARE, "'share'"},
            {LACKS, NO_SECTION, "scaler.map"}};

static lm_file *file_that_says(world *w, const double *part, float *rows) {
    double mean[4] = {1, 2, 3, 4}, share[4] = {0.5, part[SHARE], 0.25, 0};
    lm_writer *writer = NULL;
    lm_kv_out *kv = NULL;
    assert_int_equal(lm_writer_new(w->ctx, &writer), LIMN_OK);
    assert_int_equal(lm_kv_begin(writer, "scaler", 2, &kv), LIMN_OK);
    if (part[LACKS] != NO_AXES)
        lm_kv_put_int(kv, "axes", (int64_t)part[AXES]);
    if (part[LACKS] != NO_VARIANCE)
        lm_kv_put_real(kv, "variance", part[VARIANCE]);
    if (part[LACKS] != NO_MEAN)
        lm_kv_put_reals(kv, "mean", mean, (size_t)part[MEANS]);
    if (part[LACKS] != NO_SHARE)
        lm_kv_put_reals(kv, "share", share, (size_t)part[SHARES]);
    assert_int_equal(lm_kv_end(kv), LIMN_OK);
    rows[1] = (float)part[VALUE];
    rows[47] = (float)part[PADDING];
    if (part[LACKS] != NO_SECTION)
        assert_int_equal(lm_writer_section(writer, "scaler.map", (uint32_t)part[VERSION], rows,
                                           (size_t)part[FLOATS] * sizeof *rows),
                         LIMN_OK);
    return file_of(w, writer);
}

static void test_maps_that_lie_are_refused(void **state) {
    (void)state;
    world w;
    world_open(&w, 1);
    for (size_t i = 0; i <= LM_COUNT(lies); i++) {
        double part[PARTS];
        float rows[96] = {0};
        lm_map *map = NULL;
        lm_kv kv;
        memcpy(part, sound, sizeof part);
        if (i < LM_COUNT(lies))
            part[lies[i].part] = lies[i].value;
        lm_file *file = file_that_says(&w, part, rows);
        limn_status status = lm_kv_open(w.ctx, file, "scaler", 2, &kv);
        if (status == LIMN_OK)
            status = lm_map_load(w.ctx, &kv, 3, &map);
        if (status != (i < LM_COUNT(lies) ? LIMN_E_MODEL : LIMN_OK))
            fail_msg("case %zu: status %d, %s", i, (int)status, limn_error(w.ctx));
        assert_int_equal(status == LIMN_OK, map != NULL);
        if (i < LM_COUNT(lies) && !strstr(limn_error(w.ctx), lies[i].words))
            fail_msg("case %zu: '%s' lacks '%s'", i, limn_error(w.ctx), lies[i].words);
        lm_map_free(&w.ctx->mem, map);
        lm_file_close(file);
    }
    world_close(&w);
}

/* Some bytes of a good file change, and its checksums are made right again. */
static void test_random_damage_is_refused_or_harmless(void **state) {
    (void)state;
    world w;
    world_open(&w, 1);
    lm_scaler s;
    make_scaler(&w, &s);
    lm_writer *writer = saved(&w, &s);
    unsigned char *bytes, *copy;
    size_t size, refused = 0, opened = 0;
    assert_int_equal(lm_writer_bytes(writer, &bytes, &size), LIMN_OK);
    copy = malloc(size);
    for (uint64_t round = 0; round < 4000; round += every(4)) {
        lm_rng rng = lm_rng_at(1, 2, round);
        lm_scaler loaded = {.kind = LIMN_SCALE_NONE};
        lm_file *file = NULL;
        memcpy(copy, bytes, size);
        for (uint64_t n = 1 + lm_rng_below(&rng, 3); n; n--)
            copy[64 + lm_rng_below(&rng, size - 64)] = (unsigned char)lm_rng_next(&rng);
        reseal(copy, size);
        limn_status status = lm_file_from_memory(w.ctx, copy, size, "m", &file);
        if (status == LIMN_OK)
            status = lm_scaler_load(w.ctx, file, 4, &loaded);
        assert_true(status == LIMN_OK || status == LIMN_E_MODEL);
        *(status == LIMN_OK ? &opened : &refused) += 1;
        if (status == LIMN_OK && loaded.map)
            check_finite(&w, loaded.map, (const float[]){1, -2, 3, FLT_MAX, -FLT_MAX, 0}, 2);
        lm_scaler_free(&w.ctx->mem, &loaded);
        lm_file_close(file);
    }
    assert_true(opened > 100 && refused > 100);
    free(copy);
    lm_free(&w.ctx->mem, bytes);
    lm_writer_free(writer);
    lm_scaler_free(&w.ctx->mem, &s);
    world_close(&w);
}

/* ---- memory ---- */

static limn_status fit_two(world *w, const sample *s) {
    lm_scaler plain = {.kind = LIMN_SCALE_NONE, .in = 3, .kept = 3, .out = 3};
    lm_map *maps[LM_MAPS];
    limn_status status = lm_maps_fit(w->ctx, &plain, &s->rows, s->fit, 5, maps);
    assert_true(status != LIMN_OK || (maps[0] && !maps[1] && maps[2] && !maps[3]));
    for (size_t i = 0; i < LM_MAPS; i++)
        lm_map_free(&w->ctx->mem, maps[i]);
    return status;
}

static limn_status use(world *w, const lm_scaler *s, const lm_file *file) {
    lm_scaler copy = {.kind = LIMN_SCALE_NONE}, loaded = copy;
    float x[4];
    double *inverse = NULL;
    limn_status status = lm_scaler_copy(w->ctx, s, &copy);
    if (status == LIMN_OK)
        status = lm_scaler_load(w->ctx, file, 4, &loaded);
    if (status == LIMN_OK)
        status = lm_scaler_invert(w->ctx, &loaded, &inverse);
    if (status == LIMN_OK)
        status =
            lm_scaler_undo(w->ctx, &loaded, inverse, (const float[]){1, 2}, 1, (float[4]){0}, x);
    lm_free(&w->ctx->mem, inverse);
    lm_scaler_free(&w->ctx->mem, &copy);
    lm_scaler_free(&w->ctx->mem, &loaded);
    return status;
}

static void test_every_failed_allocation_is_reported(void **state) {
    (void)state;
    sample rows = sample_make(30, 3, 3, 1);
    for (int fit = 0; fit < 2; fit++) {
        limn_status status = LIMN_E_MEMORY;
        for (unsigned at = 1; status != LIMN_OK; at++) {
            world w;
            lm_scaler s;
            world_open(&w, 1 + (int)(at % 2));
            make_scaler(&w, &s);
            lm_file *file = file_of(&w, saved(&w, &s));
            w.count.fail_at = at;
            status = fit ? fit_two(&w, &rows) : use(&w, &s, file);
            assert_int_equal(status, w.count.fail_at ? LIMN_OK : LIMN_E_MEMORY);
            w.count.fail_at = 0;
            lm_file_close(file);
            lm_scaler_free(&w.ctx->mem, &s);
            world_close(&w);
            assert_true(at < 1000);
        }
    }
    sample_free(&rows);
}

static void test_fitting_can_be_cancelled_at_any_report(void **state) {
    (void)state;
    sample s = sample_make(40, 3, 3, 1);
    limn_status status = LIMN_E_CANCELLED;
    for (int at = 1; status != LIMN_OK; at++) {
        world w;
        world_open(&w, 1 + at % 3);
        listener l = {.cancel_at = at};
        w.ctx->progress = hear_progress;
        w.ctx->user = &l;
        status = fit_two(&w, &s);
        assert_int_equal(status, l.heard < at ? LIMN_OK : LIMN_E_CANCELLED);
        assert_true(l.heard <= at && at < 1000);
        world_close(&w);
    }
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_products_equal_plain_loops),
        cmocka_unit_test(test_the_gradients_summed_are_those_of_the_regression),
        cmocka_unit_test(test_equal_rows_and_weights_or_targets_of_0_give_zeros),
        cmocka_unit_test(test_gradient_products_do_not_depend_on_threads),
        cmocka_unit_test(test_maps_equal_a_slow_reference),
        cmocka_unit_test(test_mapped_rows_have_a_mean_variance_of_1),
        cmocka_unit_test(test_each_map_is_the_same_with_any_others_and_any_threads),
        cmocka_unit_test(test_one_class_or_equal_rows_give_no_map),
        cmocka_unit_test(test_constant_targets_give_no_map),
        cmocka_unit_test(test_the_unit_of_the_targets_changes_no_map),
        cmocka_unit_test(test_the_unit_of_the_rows_changes_no_mapped_row),
        cmocka_unit_test(test_rows_at_the_ends_of_floats_give_finite_maps_or_none),
        cmocka_unit_test(test_applying_equals_a_plain_loop_on_every_instruction_set),
        cmocka_unit_test(test_undo_gives_the_row_nearest_to_the_mean),
        cmocka_unit_test(test_copies_and_loaded_scalers_are_the_same_and_stand_alone),
        cmocka_unit_test(test_maps_that_lie_are_refused),
        cmocka_unit_test(test_random_damage_is_refused_or_harmless),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
        cmocka_unit_test(test_fitting_can_be_cancelled_at_any_report),
    };
    return cmocka_run_group_tests_name("scale map", tests, NULL, NULL);
}
