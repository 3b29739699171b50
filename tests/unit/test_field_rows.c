/* test_field_rows.c: fields made of rows (fit/field_rows): adaptive filters, kernel densities and
 * votes of neighbours, against their definitions in long double. Gradients are compared with
 * differences of these definitions. */
#include "field_world.h"

typedef struct slow_rows {
    const lm_field_set *set;
    size_t k;
    double w, bandwidth;
} slow_rows;

/* ---- the filter ---- */

typedef struct slow_near {
    long double distance; /* squared */
    size_t row;
} slow_near;

static int by_distance(const void *a, const void *b) {
    const slow_near *p = a, *q = b;
    if (p->distance != q->distance)
        return p->distance < q->distance ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static long double sum_at(const slow_near *near, size_t k, long double beta) {
    long double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += expl(-beta * near[i].distance);
    return sum;
}

/* 1 / (2 s^2) by bisection. */
static long double slow_bandwidth(const slow_near *near, size_t k, long double w) {
    long double low = 0, high = 1 / near[k - 1].distance;
    while (sum_at(near, k, high) > w)
        high *= 2;
    for (int i = 0; i < 90; i++) {
        long double middle = (low + high) / 2;
        *(sum_at(near, k, middle) > w ? &low : &high) = middle;
    }
    return low;
}

/* r, and the bandwidth. */
static long double slow_filter(const slow_rows *s, const long double *x, long double *width) {
    size_t n = s->set->n, k = s->k < n ? s->k : n;
    slow_near *near = malloc(n * sizeof *near);
    long double w = s->w < (double)k / 2 ? s->w : (long double)k / 2, sum = 0, total = 0;
    for (size_t i = 0; i < n; i++)
        near[i] = (slow_near){slow_distance(s->set, i, x), i};
    qsort(near, n, sizeof *near, by_distance);
    long double beta = slow_bandwidth(near, k, w);
    for (size_t i = 0; i < k; i++) {
        long double share = weight_at(s->set, near[i].row) * expl(-beta * near[i].distance);
        sum += near[i].row < s->set->first ? share : -share;
        total += share;
    }
    free(near);
    *width = sqrtl(0.5L / beta);
    return sum / total;
}

static long double slow_r(const void *user, const long double *x) {
    long double width;
    return slow_filter(user, x, &width);
}

/* Points at rows, between them, and up to far away from all of them. */
static float *draw_points(const lm_field_set *set, size_t n, double far, uint64_t seed) {
    float *x = malloc(n * set->d * sizeof *x);
    lm_rng rng = lm_rng_at(seed, 302, n);
    for (size_t i = 0; i < n; i++) {
        const float *a = set->x + lm_rng_below(&rng, set->n) * set->d;
        double away = i % 3 == 0 ? 0 : i % 3 == 1 ? 0.5 : pow(far, (double)i / (double)n);
        for (size_t j = 0; j < set->d; j++)
            x[i * set->d + j] = (float)((double)a[j] + away * lm_rng_normal(&rng));
    }
    return x;
}

static void check_filter(limn_context *ctx, const lm_field_set *set, double w, size_t k) {
    enum { POINTS = 12 };
    slow_rows slow = {.set = set, .w = w, .k = k};
    lm_field field;
    float *x = draw_points(set, POINTS, 1e6, k);
    assert_int_equal(lm_field_agf(ctx, set, w, k, &field), LIMN_OK);
    assert_true(field.is_r && field.smooth && field.d == set->d);
    for (size_t q = 0; q < POINTS; q++) {
        double gradient[D_MAX], f = value_at(ctx, &field, x + q * set->d, gradient);
        long double at[D_MAX], expected[D_MAX], width;
        widen(x + q * set->d, set->d, at);
        long double want = slow_filter(&slow, at, &width);
        if (!(fabsl(f - want) <= 1e-9L))
            fail_msg("d %zu, W %g, point %zu: %.12g instead of %.12Lg", set->d, w, q, f, want);
        if (k < set->n) /* which rows count changes with x: not smooth */
            continue;
        slow_gradient(slow_r, &slow, at, set->d, 1e-5L * width, expected);
        assert_vector(gradient, expected, set->d, 1e-6L, 1e-9L / width, "agf");
    }
    lm_field_free(&ctx->mem, &field);
    free(x);
}

static void test_the_filter_and_its_gradient_equal_their_definition(void **state) {
    (void)state;
    static const size_t dims[] = {1, 3, 8};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(dims); i++)
        for (int weighted = 0; weighted < 2; weighted++)
            for (int offset = 0; offset < 2; offset++) {
                lm_field_set set = draw_set(50, 20, dims[i], offset ? 1e3 : 0, weighted, i);
                check_filter(ctx, &set, 1.5, 50);
                check_filter(ctx, &set, 5, 50);
                check_filter(ctx, &set, 5, 1000);
                check_filter(ctx, &set, 40, 50); /* more than half of the rows */
                check_filter(ctx, &set, 2, 20);
                check_filter(ctx, &set, 5, 7);
                release_set(&set);
            }
    limn_context_free(ctx);
}

/* Equal rows: the mean of their labels, and no gradient. One row fewer than W: neither. */
static void test_at_w_equal_rows_the_filter_is_their_mean_and_flat(void **state) {
    (void)state;
    enum { N = 40, D = 3 };
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t equal = 1; equal <= 8; equal++)
        for (int weighted = 0; weighted < 2; weighted++) {
            lm_field_set set = draw_set(N, N / 2, D, 0, weighted, equal);
            lm_field field;
            double gradient[D], sum = 0, total = 0;
            for (size_t i = N / 2 - equal / 3; i < N / 2 - equal / 3 + equal; i++) {
                for (size_t j = 0; j < D; j++)
                    set.x[i * D + j] = 0.25f * (float)j;
                sum += (i < N / 2 ? 1 : -1) * (double)weight_at(&set, i);
                total += (double)weight_at(&set, i);
            }
            const float x[D] = {0, 0.25f, 0.5f};
            assert_int_equal(lm_field_agf(ctx, &set, 5, N, &field), LIMN_OK);
            double f = value_at(ctx, &field, x, gradient);
            bool flat = gradient[0] == 0 && gradient[1] == 0 && gradient[2] == 0;
            assert_true(flat == (equal >= 5));
            assert_true(equal < 5 || fabs(f - sum / total) < 1e-14);
            assert_true(isfinite(f) && isfinite(gradient[0]) && fabs(f) <= 1);
            lm_field_free(&ctx->mem, &field);
            release_set(&set);
        }
    limn_context_free(ctx);
}

/* Floats of any size: f stays in [-1, 1], and no gradient is NaN or infinite. */
static void check_extremes(limn_context *ctx, const lm_field *field, bool bounded) {
    static const float sizes[] = {0, 1e-45f, 1e-30f, 1, 1e6f, 1e12f, 1e19f, 1e30f, 3e38f};
    for (size_t i = 0; i < LM_COUNT(sizes); i++)
        for (int sign = 0; sign < 4; sign++) {
            const float x[2] = {sign % 2 ? sizes[i] : -sizes[i], sign / 2 ? sizes[i] : 0};
            double gradient[2], f = value_at(ctx, field, x, gradient);
            if (!isfinite(f) || !isfinite(gradient[0]) || !isfinite(gradient[1]) ||
                (bounded && fabs(f) > 1 + 1e-12))
                fail_msg("size %g: f %g, gradient %g %g", (double)sizes[i], f, gradient[0],
                         gradient[1]);
        }
}

static void test_points_far_from_all_rows_stay_finite(void **state) {
    (void)state;
    static const double scales[] = {1e-40, 1e-20, 1, 1e18, 1e38};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t s = 0; s < LM_COUNT(scales); s++) {
        lm_field_set set = draw_set(30, 11, 2, 0, s % 2, s);
        double spread[2] = {scales[s], scales[s]};
        lm_field field;
        for (size_t i = 0; i < 60; i++)
            set.x[i] = (float)fmin((double)set.x[i] * scales[s], 3e38);
        assert_int_equal(lm_field_agf(ctx, &set, 5, 30, &field), LIMN_OK);
        check_extremes(ctx, &field, true);
        lm_field_free(&ctx->mem, &field);
        assert_int_equal(lm_field_kde(ctx, &set, scales[s], &field), LIMN_OK);
        check_extremes(ctx, &field, false);
        lm_field_free(&ctx->mem, &field);
        assert_int_equal(lm_field_knn(ctx, &set, 5, LM_NEAREST_L2, true, &field), LIMN_OK);
        field.spread = spread;
        check_extremes(ctx, &field, true);
        lm_field_free(&ctx->mem, &field);
        release_set(&set);
    }
    limn_context_free(ctx);
}

/* ---- densities ---- */

/* The log of the sum over rows from .. to - 1, relative to the nearest. */
static long double slow_log_sum(const slow_rows *s, size_t from, size_t to, const long double *x) {
    long double least = INFINITY, sum = 0, h2 = (long double)s->bandwidth * s->bandwidth;
    for (size_t i = from; i < to; i++)
        least = fminl(least, slow_distance(s->set, i, x));
    for (size_t i = from; i < to; i++)
        sum += weight_at(s->set, i) * expl((least - slow_distance(s->set, i, x)) / (2 * h2));
    return logl(sum) - least / (2 * h2);
}

static long double slow_ratio(const void *user, const long double *x) {
    const slow_rows *s = user;
    return slow_log_sum(s, 0, s->set->first, x) - slow_log_sum(s, s->set->first, s->set->n, x);
}

static void check_density(limn_context *ctx, const lm_field_set *set, double bandwidth) {
    enum { POINTS = 30 };
    slow_rows slow = {.set = set, .bandwidth = bandwidth};
    lm_field field;
    float *x = draw_points(set, POINTS, 1e3, 5);
    assert_int_equal(lm_field_kde(ctx, set, bandwidth, &field), LIMN_OK);
    assert_true(!field.is_r && field.smooth && field.sigmoid.a == -1 && field.sigmoid.b == 0);
    for (size_t q = 0; q < POINTS; q++) {
        double gradient[D_MAX], f = value_at(ctx, &field, x + q * set->d, gradient);
        long double at[D_MAX], expected[D_MAX];
        widen(x + q * set->d, set->d, at);
        /* what distances of this size lose in double, as exponents */
        long double lost =
            1e-14L * (slow_distance(set, 0, at) + 1) / (long double)(bandwidth * bandwidth);
        long double want = slow_ratio(&slow, at);
        if (!(fabsl(f - want) <= 1e-9L * (1 + fabsl(want)) + lost))
            fail_msg("d %zu, h %g, point %zu: %.12g, not %.12Lg", set->d, bandwidth, q, f, want);
        slow_gradient(slow_ratio, &slow, at, set->d, 1e-6L * bandwidth, expected);
        assert_vector(gradient, expected, set->d, 1e-7L + lost, 1e-7L / bandwidth, "kde");
    }
    lm_field_free(&ctx->mem, &field);
    free(x);
}

static void test_the_log_ratio_of_densities_and_its_gradient_equal_their_definition(void **state) {
    (void)state;
    static const size_t dims[] = {1, 3, 8};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(dims); i++)
        for (int weighted = 0; weighted < 2; weighted++)
            for (int offset = 0; offset < 2; offset++) {
                lm_field_set set = draw_set(45, 15, dims[i], offset ? 1e3 : 0, weighted, i);
                check_density(ctx, &set, 0.1);
                check_density(ctx, &set, 0.7);
                check_density(ctx, &set, 20);
                release_set(&set);
            }
    limn_context_free(ctx);
}

/* The distances of all others must not suffer from it. */
static void test_one_row_far_away_does_not_blur_the_others(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (double far = 1e2; far < 1e13; far *= 1e3) {
        lm_field_set set = draw_set(45, 15, 2, 0, false, 3);
        enum { POINTS = 20 };
        float *x = draw_points(&set, POINTS, 2, 5);
        slow_rows slow = {.set = &set, .bandwidth = 0.5};
        lm_field field;
        set.x[44 * 2] = (float)far;
        assert_int_equal(lm_field_kde(ctx, &set, 0.5, &field), LIMN_OK);
        for (size_t q = 0; q < POINTS; q++) {
            double gradient[2], f = value_at(ctx, &field, x + q * 2, gradient);
            long double at[2], expected[2], want;
            widen(x + q * 2, 2, at);
            want = slow_ratio(&slow, at);
            if (!(fabsl(f - want) <= 1e-6L * (1 + fabsl(want))))
                fail_msg("with a row at %g: %.12g, not %.12Lg", far, f, want);
            slow_gradient(slow_ratio, &slow, at, 2, 1e-6L, expected);
            assert_vector(gradient, expected, 2, 1e-6L, 1e-6L, "kde with a row far away");
        }
        lm_field_free(&ctx->mem, &field);
        release_set(&set);
        free(x);
    }
    limn_context_free(ctx);
}

/* r is 1 or -1, and f is the log density of the class that there is, with its gradient. */
static void test_a_class_without_rows_has_no_chance(void **state) {
    (void)state;
    enum { N = 20 };
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t first = 0; first <= N; first += N) {
        lm_field_set set = draw_set(N, first, 2, 50, false, 9);
        slow_rows slow = {.set = &set, .bandwidth = 0.5};
        const float x[2] = {50.5f, 49};
        const long double at[2] = {50.5L, 49}, step = 1e-6L;
        lm_field field;
        double gradient[2], slope;
        assert_int_equal(lm_field_kde(ctx, &set, 0.5, &field), LIMN_OK);
        double f = value_at(ctx, &field, x, gradient), sign = first ? 1 : -1;
        assert_true(isfinite(f) && sign * f > 1000);
        assert_true(lm_field_r(&field, f, &slope) == sign);
        for (size_t j = 0; j < 2; j++) {
            long double up[2] = {at[0], at[1]}, down[2] = {at[0], at[1]};
            up[j] += step;
            down[j] -= step;
            long double want = sign *
                               (slow_log_sum(&slow, 0, N, up) - slow_log_sum(&slow, 0, N, down)) /
                               (2 * step);
            assert_true(fabsl(gradient[j] - want) <= 1e-6L * (1 + fabsl(want)));
        }
        lm_field_free(&ctx->mem, &field);
        assert_int_equal(lm_field_agf(ctx, &set, 5, N, &field), LIMN_OK);
        f = value_at(ctx, &field, x, gradient);
        assert_true(f == sign && gradient[0] == 0 && gradient[1] == 0);
        lm_field_free(&ctx->mem, &field);
        release_set(&set);
    }
    limn_context_free(ctx);
}

/* ---- neighbours ---- */

static double slow_key(const lm_field_set *set, size_t row, const float *x,
                       lm_nearest_metric metric) {
    double l2 = 0, l1 = 0, dot = 0, xx = 0, rr = 0;
    for (size_t j = 0; j < set->d; j++) {
        double a = set->x[row * set->d + j], b = x[j];
        l2 += (a - b) * (a - b);
        l1 += fabs(a - b);
        dot += a * b;
        xx += b * b;
        rr += a * a;
    }
    return metric == LM_NEAREST_L2   ? sqrt(l2)
           : metric == LM_NEAREST_L1 ? l1
                                     : 1 - dot / sqrt(xx) / sqrt(rr);
}

static double slow_votes(const lm_field_set *set, const float *x, size_t k,
                         lm_nearest_metric metric, bool weighted) {
    slow_near near[100];
    double sum = 0, total = 0;
    for (size_t i = 0; i < set->n; i++)
        near[i] = (slow_near){slow_key(set, i, x, metric), i};
    qsort(near, set->n, sizeof *near, by_distance);
    for (size_t i = 0; i < k && i < set->n; i++) {
        double distance = (double)near[i].distance, vote = (double)weight_at(set, near[i].row);
        if (weighted)
            vote *= near[0].distance == 0 ? distance == 0 : 1 / distance;
        sum += near[i].row < set->first ? vote : -vote;
        total += vote;
    }
    return sum / total;
}

static void test_votes_equal_those_of_sorted_distances(void **state) {
    (void)state;
    enum { N = 70, POINTS = 60, D = 4 };
    static const size_t ks[] = {1, 3, 10, N, 200};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int metric = LM_NEAREST_L2; metric <= LM_NEAREST_COSINE; metric++)
        for (int weighted = 0; weighted < 4; weighted++)
            for (size_t k = 0; k < LM_COUNT(ks); k++) {
                lm_field_set set = draw_set(N, 30, D, 0, weighted / 2, k);
                float *x = draw_points(&set, POINTS, 5, k);
                double f[POINTS];
                lm_field field;
                assert_int_equal(
                    lm_field_knn(ctx, &set, ks[k], (lm_nearest_metric)metric, weighted % 2, &field),
                    LIMN_OK);
                assert_true(field.is_r && !field.smooth);
                assert_int_equal(lm_field_values(ctx, &field, x, POINTS, f, NULL), LIMN_OK);
                for (size_t q = 0; q < POINTS; q++) {
                    /* at a row, 1 - cosine is rounding error */
                    if (metric == LM_NEAREST_COSINE && weighted % 2 && q % 3 == 0)
                        continue;
                    double want =
                        slow_votes(&set, x + q * D, ks[k], (lm_nearest_metric)metric, weighted % 2);
                    if (!(fabs(f[q] - want) <= 1e-9))
                        fail_msg("metric %d, k %zu, point %zu: %g, not %g", metric, ks[k], q, f[q],
                                 want);
                }
                lm_field_free(&ctx->mem, &field);
                release_set(&set);
                free(x);
            }
    limn_context_free(ctx);
}

/* Rows spread evenly over a square or cube of side 2 stretched by the spreads, divided by a plane
 * through its centre. */
static lm_field_set draw_halves(size_t n, size_t d, const double *normal, const double *spread,
                                uint64_t seed) {
    lm_field_set set = {.n = n, .d = d};
    lm_rng rng = lm_rng_at(seed, 303, d);
    set.x = malloc(n * d * sizeof *set.x);
    for (size_t i = 0, last = n; set.first < last; i++) {
        double row[D_MAX], side = 0;
        for (size_t j = 0; j < d; j++) {
            row[j] = spread[j] * (2 * lm_rng_unit(&rng) - 1);
            side += row[j] * normal[j];
        }
        size_t at = side > 0 ? set.first++ : --last;
        for (size_t j = 0; j < d; j++)
            set.x[at * d + j] = (float)row[j];
    }
    return set;
}

/* The angles in units of the spread, where the ball is round. */
static void check_normals(limn_context *ctx, size_t d, size_t k, bool weighted, uint64_t seed) {
    enum { ROWS = 4000, POINTS = 10 };
    static const double spread[3] = {1, 1, 1};
    lm_rng rng = lm_rng_at(seed, 304, d);
    double normal[3], mean = 0;
    lm_field field;
    for (size_t j = 0; j < d; j++)
        normal[j] = lm_rng_normal(&rng);
    lm_field_set set = draw_halves(ROWS, d, normal, spread, seed);
    assert_int_equal(lm_field_knn(ctx, &set, k, LM_NEAREST_L2, weighted, &field), LIMN_OK);
    field.spread = spread;
    for (size_t q = 0; q < POINTS; q++) {
        double along = 0, length = 0, gradient[3], at[3];
        float x[3];
        for (size_t j = 0; j < d; j++) {
            at[j] = lm_rng_unit(&rng) - 0.5;
            along += at[j] * normal[j];
            length += normal[j] * normal[j];
        }
        for (size_t j = 0; j < d; j++)
            x[j] = (float)(at[j] - along / length * normal[j]);
        value_at(ctx, &field, x, gradient);
        double angle = angle_of(gradient, normal, d);
        if (!(angle < 20))
            fail_msg("d %zu, k %zu, weighted %d: %g degrees off", d, k, weighted, angle);
        mean += angle / POINTS;
    }
    if (!(mean < 12))
        fail_msg("d %zu, k %zu, weighted %d: %g degrees off in the mean", d, k, weighted, mean);
    lm_field_free(&ctx->mem, &field);
    release_set(&set);
}

static void test_the_averaged_gradient_is_the_normal_of_a_straight_border(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (uint64_t seed = 1; seed <= 4; seed += every(3))
        for (size_t d = 2; d <= 3; d++) {
            if (d == 2) /* in 3 features these rows are no denser than the ball */
                check_normals(ctx, d, 1, false, seed);
            check_normals(ctx, d, 11, false, seed);
            check_normals(ctx, d, 11, true, seed);
        }
    limn_context_free(ctx);
}

/* ---- rows of two classes ---- */

static void test_the_rows_of_two_classes_are_taken_in_order(void **state) {
    (void)state;
    enum { N = 37, D = 3 };
    limn_context *ctx = make_context(NULL, 1, 1);
    lm_field_set all = draw_set(N, 0, D, 0, true, 1), two;
    lm_pack pack;
    int32_t label[N];
    for (size_t i = 0; i < N; i++)
        label[i] = (int32_t)(i * 7 % 5);
    assert_int_equal(lm_pack_build(ctx, all.x, N, D, D, &pack), LIMN_OK);
    for (int weighted = 0; weighted < 2; weighted++) {
        assert_int_equal(
            lm_field_set_take(ctx, &pack, label, weighted ? all.weight : NULL, 3, 1, &two),
            LIMN_OK);
        size_t at = 0;
        for (int of = 3; of >= 1; of -= 2)
            for (size_t i = 0; i < N; i++)
                if (label[i] == of) {
                    assert_memory_equal(two.x + at * D, all.x + i * D, D * sizeof(float));
                    assert_true(!weighted || two.weight[at] == all.weight[i]);
                    assert_true((at < two.first) == (of == 3));
                    at++;
                }
        assert_true(two.n == at && two.d == D && !two.weight == !weighted);
        lm_field_set_free(&ctx->mem, &two);
    }
    lm_pack_free(&ctx->mem, &pack);
    release_set(&all);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_filter_and_its_gradient_equal_their_definition),
        cmocka_unit_test(test_at_w_equal_rows_the_filter_is_their_mean_and_flat),
        cmocka_unit_test(test_points_far_from_all_rows_stay_finite),
        cmocka_unit_test(test_the_log_ratio_of_densities_and_its_gradient_equal_their_definition),
        cmocka_unit_test(test_one_row_far_away_does_not_blur_the_others),
        cmocka_unit_test(test_a_class_without_rows_has_no_chance),
        cmocka_unit_test(test_votes_equal_those_of_sorted_distances),
        cmocka_unit_test(test_the_averaged_gradient_is_the_normal_of_a_straight_border),
        cmocka_unit_test(test_the_rows_of_two_classes_are_taken_in_order),
    };
    return cmocka_run_group_tests_name("field_rows", tests, NULL, NULL);
}
