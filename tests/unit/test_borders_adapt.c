/* Adaptive borders: projections and choices against definitions, planes and cells against normal
 * equations. */
#include "borders_world.h"

/* ---- a field in closed form, and a pool answered by it ---- */

enum { D = 3 };

typedef struct form {
    double w[D], c, bend; /* f = w.x + c + bend x_0^2 */
} form;

static double form_at(const form *t, const float *x, double *gradient) {
    double f = t->c + t->bend * (double)x[0] * (double)x[0];
    for (size_t j = 0; j < D; j++) {
        f += t->w[j] * (double)x[j];
        if (gradient)
            gradient[j] = t->w[j] + (j == 0 ? 2 * t->bend * (double)x[0] : 0);
    }
    return f;
}

static void form_piece(const lm_field *field, const float *x, size_t n, double *f, double *gradient,
                       void *scratch) {
    (void)scratch;
    for (size_t i = 0; i < n; i++)
        f[i] = form_at(field->state, x + i * D, gradient ? gradient + i * D : NULL);
}

static void form_scratch(const lm_field *field, lm_cursor *at) {
    (void)field;
    (void)at;
}

static lm_field form_field(form *t) {
    return (lm_field){.d = D,
                      .sigmoid = {-2, 0},
                      .smooth = true,
                      .piece = form_piece,
                      .scratch = form_scratch,
                      .state = t};
}

typedef struct ground {
    limn_context *ctx;
    form f;
    lm_field field;
    bd_news news;
    bd_search search;
    lm_pool_features features;
    bd_pool pool;
    uint32_t *side;
} ground;

/* n normal points with weights; all are rows, and those with f > 0 are of the first class, but the
 * pool does not know. */
static void begin(ground *w, form f, size_t n, double level) {
    lm_rng rng = lm_rng_at(5, 6, 7);
    *w = (ground){.ctx = make_context(NULL, 1, 3), .f = f};
    w->field = form_field(&w->f);
    w->search = (bd_search){.field = &w->field, .level = level, .seed = 9, .news = &w->news};
    w->pool = (bd_pool){.n = n, .rows = n, .d = D, .features = &w->features};
    bd_pool *pool = &w->pool;
    pool->x = malloc(n * D * sizeof *pool->x);
    pool->f = malloc(n * sizeof *pool->f);
    pool->weight = malloc(n * sizeof *pool->weight);
    for (size_t i = 0; i < n * D; i++)
        pool->x[i] = (float)(lm_rng_normal(&rng) * (i % D == 1 ? 3 : 1) + (i % D == 2 ? 5 : 0));
    for (size_t i = 0; i < n; i++) {
        pool->f[i] = form_at(&w->f, pool->x + i * D, NULL) - level;
        pool->weight[i] = fmin(1, fabs(pool->f[i])) + 0.02;
    }
    assert_int_equal(lm_pack_build(w->ctx, pool->x, n, D, D, &pool->pack), LIMN_OK);
    assert_int_equal(lm_pool_features_find(w->ctx, pool->x, n, D, &w->features), LIMN_OK);
    w->side = malloc(n * sizeof *w->side);
    bd_ends *e = &w->search.ends;
    *e = (bd_ends){.x = pool->x, .d = D};
    uint32_t *at = w->side;
    for (int c = 0; c < 2; c++) {
        e->row[c][c] = at;
        for (size_t i = 0; i < n; i++)
            if ((pool->f[i] > 0) == (c == 0))
                *at++ = (uint32_t)i;
        e->count[c][c] = (size_t)(at - e->row[c][c]);
        e->row[c][1 - c] = at;
    }
}

static void end(ground *w) {
    lm_pack_free(&w->ctx->mem, &w->pool.pack);
    lm_pool_features_free(&w->ctx->mem, &w->features);
    free(w->pool.x);
    free(w->pool.f);
    free(w->pool.weight);
    free(w->side);
    limn_context_free(w->ctx);
}

/* ---- projections ---- */

static void project(ground *w, const uint32_t *row, size_t count, bd_points *feet, int32_t *foot) {
    float *distance = lm_alloc_aligned(&w->ctx->mem, w->pool.pack.panels * 16, sizeof *distance);
    for (size_t i = 0; i < w->pool.n; i++)
        foot[i] = BD_NOT_TRIED;
    double most = bd_pool_step(&w->pool, 1);
    assert_true(most > 0);
    assert_int_equal(
        bd_project(w->ctx, &w->search, &w->pool, row, count, most, distance, feet, foot), LIMN_OK);
    lm_free_aligned(&w->ctx->mem, distance);
}

static void test_points_are_projected_perpendicularly_onto_a_plane(void **state) {
    static const uint32_t row[] = {3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 97, 93, 23, 84, 62, 64};
    (void)state;
    for (int moved = 0; moved < 2; moved++) {
        ground w;
        bd_points feet = {.count = 0};
        int32_t foot[100];
        double level = 0.7 * moved, size = 0;
        begin(&w, (form){{1, -0.5, 2}, -10, 0}, 100, level);
        for (size_t j = 0; j < D; j++)
            size += w.f.w[j] * w.f.w[j];
        project(&w, row, LM_COUNT(row), &feet, foot);
        for (size_t i = 0; i < LM_COUNT(row); i++) {
            const float *x = w.pool.x + row[i] * D;
            assert_true(foot[row[i]] >= 0);
            const float *b = feet.b + (size_t)foot[row[i]] * D;
            for (size_t j = 0; j < D; j++) {
                double expected = (double)x[j] - w.pool.f[row[i]] * w.f.w[j] / size;
                assert_true(fabs((double)b[j] - expected) < 1e-5);
                double u = feet.u[(size_t)foot[row[i]] * D + j];
                assert_true(fabs(u - w.f.w[j] / sqrt(size)) < 1e-9);
            }
        }
        assert_int_equal(foot[0], BD_NOT_TRIED);
        bd_points_free(&w.ctx->mem, &feet);
        end(&w);
    }
}

/* A field without gradients: the foot lies between the point and its nearest on the other side. */
static void test_without_gradients_the_foot_is_on_the_way_to_the_nearest_other_side(void **state) {
    static const uint32_t row[] = {3, 1, 4, 15, 9};
    (void)state;
    ground w;
    bd_points feet = {.count = 0};
    int32_t foot[100];
    begin(&w, (form){{1, -0.5, 2}, -10, 0.5}, 100, 0);
    w.field.smooth = false;
    w.field.spread = w.features.spread;
    project(&w, row, LM_COUNT(row), &feet, foot);
    for (size_t i = 0; i < LM_COUNT(row); i++) {
        const float *x = w.pool.x + row[i] * D, *b = feet.b + (size_t)foot[row[i]] * D;
        double least = INFINITY, along = 0;
        size_t other = 0;
        for (size_t k = 0; k < w.pool.n; k++) {
            double far = 0;
            for (size_t j = 0; j < D; j++)
                far += pow((double)x[j] - (double)w.pool.x[k * D + j], 2);
            if ((w.pool.f[k] > 0) != (w.pool.f[row[i]] > 0) && far < least) {
                least = far;
                other = k;
            }
        }
        for (size_t j = 0; j < D; j++)
            along += ((double)b[j] - (double)x[j]) *
                     ((double)w.pool.x[other * D + j] - (double)x[j]) / least;
        assert_true(along > 0 && along < 1);
        for (size_t j = 0; j < D; j++)
            assert_true(fabs((double)x[j] +
                             along * ((double)w.pool.x[other * D + j] - (double)x[j]) -
                             (double)b[j]) < 1e-5);
        assert_true(fabs(form_at(&w.f, b, NULL)) < 1e-4);
    }
    bd_points_free(&w.ctx->mem, &feet);
    end(&w);
}

static void test_a_flat_field_has_no_feet(void **state) {
    static const uint32_t row[] = {0, 1};
    (void)state;
    ground w;
    bd_points feet = {.count = 0};
    int32_t foot[50];
    begin(&w, (form){{0, 0, 0}, 1, 0}, 50, 0);
    project(&w, row, 2, &feet, foot);
    assert_int_equal(feet.count, 0);
    assert_true(foot[0] == BD_NO_FOOT && foot[1] == BD_NO_FOOT);
    bd_points_free(&w.ctx->mem, &feet);
    end(&w);
}

/* ---- where borders are ---- */

/* The weight of the pool's mistakes, and how often each border is the nearest. */
static double slow_mistakes(const ground *w, const bd_points *p, size_t *used) {
    double sum = 0;
    for (size_t i = 0; i < w->pool.n; i++) {
        const float *x = w->pool.x + i * D;
        size_t best = 0;
        double least = INFINITY;
        for (size_t b = 0; b < p->count; b++) {
            double far = 0;
            for (size_t j = 0; j < D; j++)
                far += pow((double)x[j] - (double)p->b[b * D + j], 2);
            best = far < least ? b : best;
            least = fmin(far, least);
        }
        if (used)
            used[best]++;
        double g = 0;
        for (size_t j = 0; j < D; j++)
            g += p->u[best * D + j] * ((double)x[j] - (double)p->b[best * D + j]);
        sum += (g > 0) != (w->pool.f[i] > 0) ? w->pool.weight[i] : 0;
    }
    return sum;
}

static void test_more_borders_make_no_more_mistakes_and_all_are_used(void **state) {
    (void)state;
    ground w;
    bd_points points = {.count = 0};
    bd_adapting *a = NULL;
    double before = INFINITY;
    begin(&w, (form){{0, 1, 0.3}, -1.5, -1.2}, 2000, 0);
    assert_int_equal(bd_adapt_begin(w.ctx, &w.search, &w.pool, 64, &points, &a), LIMN_OK);
    for (size_t wanted = 1; wanted <= 64; wanted *= 2) {
        size_t used[64] = {0};
        assert_int_equal(bd_adapt_to(a, wanted), LIMN_OK);
        assert_in_range(points.count, 1, wanted);
        double mistakes = slow_mistakes(&w, &points, used);
        assert_true(mistakes <= before + 1e-6);
        before = mistakes;
        for (size_t b = 0; b < points.count; b++) {
            assert_true(used[b] > 0);
            assert_true(fabs(form_at(&w.f, points.b + b * D, NULL)) < 1e-4);
        }
    }
    assert_true(before < 5);
    bd_adapt_end(a);
    bd_points_free(&w.ctx->mem, &points);
    end(&w);
}

static void test_no_border_that_is_left_could_be_dropped_for_nothing(void **state) {
    (void)state;
    ground w;
    bd_points points = {.count = 0};
    bd_adapting *a = NULL;
    begin(&w, (form){{0, 1, 0.3}, -1.5, -1.2}, 800, 0);
    assert_int_equal(bd_adapt_begin(w.ctx, &w.search, &w.pool, 20, &points, &a), LIMN_OK);
    assert_int_equal(bd_adapt_to(a, 20), LIMN_OK);
    double mistakes = slow_mistakes(&w, &points, NULL);
    assert_true(points.count > 1);
    for (size_t b = 0; b < points.count; b++) {
        bd_points fewer = {.count = 0};
        assert_int_equal(bd_points_copy(w.ctx, D, &points, &fewer), LIMN_OK);
        bd_points_drop(D, &fewer, b);
        assert_true(slow_mistakes(&w, &fewer, NULL) > mistakes);
        bd_points_free(&w.ctx->mem, &fewer);
    }
    bd_adapt_end(a);
    bd_points_free(&w.ctx->mem, &points);
    end(&w);
}

/* The share of fresh rows on which model and function disagree. */
static double disagree(limn_context *ctx, const limn_model *model) {
    limn_data *fresh = curve_data(ctx, 2000, 99);
    const float *x = limn_data_values(fresh);
    int32_t *class = malloc(2000 * sizeof *class);
    limn_predictor *p = NULL;
    double wrong = 0;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, x, 2000, class), LIMN_OK);
    for (size_t i = 0; i < 2000; i++) {
        double truth[2];
        (void)teach_curve(NULL, x + 2 * i, 1, truth);
        wrong += (class[i] == 0) != (truth[0] > truth[1]) ? 1.0 / 2000 : 0;
    }
    limn_predictor_free(p);
    free(class);
    limn_data_free(fresh);
    return wrong;
}

static void test_adaptive_borders_follow_a_curve_better_than_as_many_random_ones(void **state) {
    static const char *const random[] = {"borders=6 sampling=random", "borders=12 sampling=random",
                                         "borders=24 sampling=random"};
    static const char *const adaptive[] = {"borders=6 form=borders", "borders=12 form=borders",
                                           "borders=24 form=borders"};
    (void)state;
    double of[2] = {0, 0};
    limn_context *ctx = make_context(NULL, 2, 3);
    limn_data *data = curve_data(ctx, 600, 5);
    for (size_t i = 0; i < LM_COUNT(random); i++) {
        asking a = {.params = random[i], .teach = teach_curve}, b = a;
        b.params = adaptive[i];
        limn_model *r = must(ctx, data, &a), *m = must(ctx, data, &b);
        assert_true(((const bd_model *)m->body)->n <= ((const bd_model *)r->body)->n);
        of[0] += disagree(ctx, r);
        of[1] += disagree(ctx, m);
        limn_model_free(r);
        limn_model_free(m);
    }
    assert_true(of[1] < of[0] / 2);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- planes ---- */

/* Solves a (m x m) y = y by elimination with the largest pivots. */
static void eliminate(double *a, double *y, size_t m) {
    for (size_t k = 0; k < m; k++) {
        size_t pivot = k;
        for (size_t i = k; i < m; i++)
            pivot = fabs(a[i * m + k]) > fabs(a[pivot * m + k]) ? i : pivot;
        for (size_t j = 0; j < m; j++) {
            double kept = a[k * m + j];
            a[k * m + j] = a[pivot * m + j];
            a[pivot * m + j] = kept;
        }
        double kept = y[k];
        y[k] = y[pivot];
        y[pivot] = kept;
        for (size_t i = 0; i < m; i++) {
            double by = i == k ? 0 : a[i * m + k] / a[k * m + k];
            for (size_t j = 0; j < m; j++)
                a[i * m + j] -= by * a[k * m + j];
            y[i] -= by * y[k];
        }
    }
    for (size_t k = 0; k < m; k++)
        y[k] /= a[k * m + k];
}

/* z of a row: standardised by the pool's mean and the features' spread, and 1. */
static void standardise(const ground *w, const double *mean, size_t i, double *z) {
    for (size_t j = 0; j < D; j++)
        z[j] = ((double)w->pool.x[i * D + j] - mean[j]) / w->features.spread[j];
    z[D] = 1;
}

/* p <- the weighted ridge regression of f on the rows of a cell (of all: cell NULL) toward p. */
static void slow_plane(const ground *w, const size_t *cell, size_t own, double ridge,
                       const double *mean, double *p) {
    double a[(D + 1) * (D + 1)] = {0}, y[D + 1] = {0}, z[D + 1];
    for (size_t i = 0; i < w->pool.n; i++) {
        double f = w->pool.f[i], v = 1 / ((1 + f * f) * (1 + f * f)), rest = f;
        if (cell && cell[i] != own)
            continue;
        standardise(w, mean, i, z);
        for (size_t j = 0; j <= D; j++)
            rest -= p[j] * z[j];
        for (size_t j = 0; j <= D; j++) {
            y[j] += v * rest * z[j];
            for (size_t k = 0; k <= D; k++)
                a[j * (D + 1) + k] += v * z[j] * z[k];
        }
    }
    for (size_t j = 0; j <= D; j++)
        a[j * (D + 1) + j] += ridge;
    eliminate(a, y, D + 1);
    for (size_t j = 0; j <= D; j++)
        p[j] += y[j];
}

/* Point i of points is the plane p, in units of r: half of f's where f is 0. */
static void check_plane(const ground *w, const bd_points *points, size_t i, const double *mean,
                        const double *p) {
    for (size_t row = 0; row < w->pool.n; row += 17) {
        double z[D + 1], expected = 0;
        standardise(w, mean, row, z);
        for (size_t j = 0; j <= D; j++)
            expected += p[j] * z[j];
        double g = bd_decide(points, D, i, w->pool.x + row * D);
        assert_true(fabs(g - expected) < 1e-6 * (1 + fabs(expected)));
    }
    double size = 0;
    for (size_t j = 0; j < D; j++)
        size += points->u[i * D + j] * points->u[i * D + j];
    assert_true(fabs(size - 1) < 1e-9);
}

static void mean_of(const ground *w, double *mean) {
    for (size_t j = 0; j < D; j++) {
        mean[j] = 0;
        for (size_t i = 0; i < w->pool.n; i++)
            mean[j] += (double)w->pool.x[i * D + j] / (double)w->pool.n;
    }
}

static void planes(const ground *w, size_t cells, bd_points *points) {
    double plane[D + 1];
    assert_int_equal(bd_plane_fit(w->ctx, &w->search, &w->pool, plane), LIMN_OK);
    assert_int_equal(bd_planes(w->ctx, &w->search, &w->pool, plane, cells, points), LIMN_OK);
}

static void test_the_plane_of_a_pair_is_the_weighted_ridge_regression(void **state) {
    (void)state;
    ground w;
    bd_points points = {.count = 0};
    double mean[D], p[D + 1] = {0};
    begin(&w, (form){{1, -0.5, 2}, -10, 0.8}, 500, 0.3);
    planes(&w, 0, &points);
    assert_int_equal(points.count, 1);
    mean_of(&w, mean);
    slow_plane(&w, NULL, 0, 1, mean, p);
    /* the sigmoid 1 / (1 + exp(-2 f)) at the level 0.3 */
    double r = tanh(0.3), slope = 1 - r * r;
    for (size_t j = 0; j <= D; j++)
        p[j] *= slope;
    check_plane(&w, &points, 0, mean, p);
    bd_points_free(&w.ctx->mem, &points);
    end(&w);
}

static void test_the_planes_of_cells_are_ridge_regressions_toward_that_of_the_pair(void **state) {
    (void)state;
    ground w;
    bd_points points = {.count = 0};
    double mean[D], all[D + 1] = {0};
    size_t cell[600];
    begin(&w, (form){{1, -0.5, 2}, -10, 0.8}, 600, 0);
    planes(&w, 7, &points);
    assert_in_range(points.count, 2, 7);
    for (size_t i = 0; i < w.pool.n; i++) {
        double least = INFINITY;
        for (size_t b = 0; b < points.count; b++) {
            double far = 0;
            for (size_t j = 0; j < D; j++)
                far += pow((double)w.pool.x[i * D + j] - (double)points.b[b * D + j], 2);
            cell[i] = far < least ? b : cell[i];
            least = fmin(far, least);
        }
    }
    mean_of(&w, mean);
    slow_plane(&w, NULL, 0, 1, mean, all);
    for (size_t b = 0; b < points.count; b++) {
        double p[D + 1];
        memcpy(p, all, sizeof p);
        slow_plane(&w, cell, b, 5, mean, p);
        check_plane(&w, &points, b, mean, p);
    }
    bd_points_free(&w.ctx->mem, &points);
    end(&w);
}

static void test_a_field_that_does_not_vary_has_no_plane(void **state) {
    (void)state;
    ground w;
    bd_points points = {.count = 0};
    begin(&w, (form){{0, 0, 0}, 1, 0}, 50, 0);
    planes(&w, 0, &points);
    assert_int_equal(points.count, 0);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_are_projected_perpendicularly_onto_a_plane),
        cmocka_unit_test(test_without_gradients_the_foot_is_on_the_way_to_the_nearest_other_side),
        cmocka_unit_test(test_a_flat_field_has_no_feet),
        cmocka_unit_test(test_more_borders_make_no_more_mistakes_and_all_are_used),
        cmocka_unit_test(test_no_border_that_is_left_could_be_dropped_for_nothing),
        cmocka_unit_test(test_adaptive_borders_follow_a_curve_better_than_as_many_random_ones),
        cmocka_unit_test(test_the_plane_of_a_pair_is_the_weighted_ridge_regression),
        cmocka_unit_test(test_the_planes_of_cells_are_ridge_regressions_toward_that_of_the_pair),
        cmocka_unit_test(test_a_field_that_does_not_vary_has_no_plane),
    };
    return cmocka_run_group_tests_name("borders_adapt", tests, NULL, NULL);
}
