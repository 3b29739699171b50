/* test_pool_points.c: where sampled points lie (fit/pool) against slow statements of it: between
 * rows, across categories, and off both by noise. */
#include "pool_world.h"

/* ---- continuous features ---- */

static void
test_points_lie_between_a_row_and_the_nearest_or_the_nearest_of_another_class(void **s) {
    (void)s;
    enum { N = 12, POINTS = 600 };
    static const int32_t label[N] = {0, 1, 2, 0, 1, 0, 0, 2, 1, 0, 0, 1};
    static const size_t ds[] = {2, 3, 16, 21};
    for (size_t a = 0; a < LM_COUNT(ds); a++)
        for (int labelled = 0; labelled < 2; labelled++) {
            float *x = normal_rows(N, ds[a], 4);
            size_t drawn[N] = {0}, only[4] = {0};
            world w;
            world_open(&w, x, labelled ? label : NULL, N, ds[a], 3);
            assert_int_equal(w.f.categories, 0);
            sample(&w, POINTS, 0);
            check_range(&w);
            for (size_t i = 0; i < POINTS; i++)
                only[kinds_of(&w, i, drawn)]++;
            assert_int_equal(only[0], 0);
            assert_true(labelled ? only[1] > POINTS / 20 && only[2] > POINTS / 20
                                 : only[1] == POINTS);
            for (size_t i = 0; i < N; i++)
                assert_true(drawn[i] > POINTS / N / 2);
            world_close(&w);
            free(x);
        }
}

/* Of more rows than are compared. */
static void test_points_of_many_rows_lie_between_two_of_them(void **state) {
    (void)state;
    enum { N = 300, D = 4, POINTS = 150 };
    float *x = normal_rows(N, D, 5);
    int32_t label[N];
    world w;
    for (size_t i = 0; i < N; i++)
        label[i] = (int32_t)(i % 7 == 0);
    world_open(&w, x, label, N, D, 2);
    sample(&w, POINTS, 0);
    check_range(&w);
    for (size_t i = 0; i < POINTS; i++) {
        bool found = false;
        for (size_t a = 0; a < N; a++)
            for (size_t b = 0; b < N && label[a] == w.class[i] && !found; b++)
                found = b != a && on_segment(&w.f, w.point + i * D, x + a * D, x + b * D);
        assert_true(found);
    }
    world_close(&w);
    free(x);
}

static void test_every_row_is_drawn_as_often(void **state) {
    (void)state;
    enum { N = 100, D = 2, POINTS = 4000 };
    float *x = normal_rows(N, D, 6);
    int32_t label[N];
    size_t count[3] = {0};
    world w;
    for (size_t i = 0; i < N; i++)
        label[i] = i % 10 == 0 ? 0 : i % 10 < 4 ? 1 : 2;
    world_open(&w, x, label, N, D, 3);
    sample(&w, POINTS, 0);
    for (size_t i = 0; i < POINTS; i++)
        count[w.class[i]]++;
    /* 400, 1200 and 2400 are expected; five standard deviations */
    assert_in_range(count[0], 400 - 95, 400 + 95);
    assert_in_range(count[1], 1200 - 145, 1200 + 145);
    assert_in_range(count[2], 2400 - 155, 2400 + 155);
    world_close(&w);
    free(x);
}

/* Of classes far apart, half of the points are between them, evenly; none is without labels. */
static void test_half_of_the_points_lie_between_classes_that_are_far_apart(void **state) {
    (void)state;
    enum { N = 60, D = 3, POINTS = 2000 };
    float *x = normal_rows(N, D, 7);
    int32_t label[N];
    for (size_t i = 0; i < N; i++) {
        label[i] = (int32_t)(i % 3 == 0);
        x[i * D] += label[i] ? 10000.f : 0.f;
    }
    for (int labelled = 0; labelled < 2; labelled++) {
        world w;
        size_t between = 0, quarter[4] = {0};
        world_open(&w, x, labelled ? label : NULL, N, D, 2);
        sample(&w, POINTS, 0);
        for (size_t i = 0; i < POINTS; i++) {
            double along = (double)w.point[i * D] / 10000;
            if (along > 0.001 && along < 0.999) {
                between++;
                quarter[(size_t)(along * 4)]++;
            }
        }
        assert_in_range(between, labelled ? 888 : 0, labelled ? 1112 : 0);
        for (int q = 0; q < 4; q++)
            assert_in_range(quarter[q], labelled ? 180 : 0, labelled ? 320 : 0);
        world_close(&w);
    }
    free(x);
}

/* Rows of class 0 are all at the origin and the M of class 1 around it, each in its own direction
 * and at its own distance: a point of class 0 tells towards which row it was drawn. How many rows
 * are nearer has a known mean: that of the lowest of so many random numbers as rows are compared,
 * or of those of them that are of class 1. */
static void check_nearest_of(size_t compared, double number) {
    enum { M = 1000, N = 2 * M, POINTS = 4000 };
    static float x[N * 2];
    static int32_t label[N];
    world w;
    double sum = 0, squares = 0, expected = 0, at = 0;
    size_t count = 0;
    for (size_t i = 0; i < M; i++) {
        double angle = 6.283185307179586 * (double)(i * 37 % M) / M;
        label[i] = 1;
        x[i * 2] = (float)((double)(M + i) * cos(angle));
        x[i * 2 + 1] = (float)((double)(M + i) * sin(angle));
    }
    world_open(&w, x, label, N, 2, 2);
    w.compared = compared;
    sample(&w, POINTS, 0);
    for (size_t p = 0; p < POINTS; p++) {
        const float *q = w.point + p * 2;
        double turn = atan2((double)q[1], (double)q[0]) / 6.283185307179586;
        size_t place = (size_t)lround((turn < 0 ? turn + 1 : turn) * M) % M, row = 0;
        if (w.class[p] == 1)
            continue;
        while (row * 37 % M != place)
            row++;
        sum += (double)row;
        squares += (double)(row * row);
        at += sqrt(squared(q, (float[]){0, 0}, 2)) / (double)(M + row);
        count++;
    }
    for (size_t r = 1; r < M; r++)
        expected += (pow(1 - (double)r / M, number) + pow(1 - (double)r / N, number)) / 2;
    double mean = sum / (double)count, size = sqrt((double)count);
    double deviation = sqrt(squares / (double)count - mean * mean);
    assert_in_range(count, POINTS / 2 - 160, POINTS / 2 + 160);
    assert_true(fabs(mean - expected) <= 4 * deviation / size);
    assert_true(deviation < 1.5 * expected); /* as the mean, or the check above is worth nothing */
    assert_true(fabs(at / (double)count - 0.5) <= 4 * sqrt(1.0 / 12) / size);
    world_close(&w);
}

static void test_a_row_is_the_nearest_of_two_hundred_or_of_as_many_as_said(void **state) {
    (void)state;
    check_nearest_of(0, 200);
    check_nearest_of(200, 200);
    check_nearest_of(100000, 200);
    check_nearest_of(20, 20);
}

/* ---- categories ---- */

/* Whether each category of p is that of row a or of row b. */
static bool crosses(const world *w, const float *p, size_t a, size_t b) {
    for (size_t j = 0; j < w->d; j++)
        if (w->f.category[j] && p[j] != w->x[a * w->d + j] && p[j] != w->x[b * w->d + j])
            return false;
    return true;
}

static void check_values_of_the_class(const world *w) {
    for (size_t i = 0; i < w->points; i++)
        for (size_t j = 0; j < w->d; j++) {
            bool found = !w->f.category[j];
            for (size_t r = 0; r < w->n && !found; r++)
                found = class_of_row(w, r) == w->class[i] &&
                        w->x[r * w->d + j] == w->point[i * w->d + j];
            assert_true(found);
        }
}

static void test_categories_are_crossed_with_the_nearest_row_of_the_same_class(void **state) {
    (void)state;
    enum { N = 60, D = 9, POINTS = 800 };
    float x[N * D];
    int32_t label[N];
    size_t kept = 0;
    world w;
    draw_categories(N, D, 0, 5, x, label);
    world_open(&w, x, label, N, D, 5);
    assert_int_equal(w.f.categories, D);
    sample(&w, POINTS, 0);
    check_values_of_the_class(&w);
    for (size_t i = 0; i < POINTS; i++) {
        bool found = false, row = false;
        for (size_t a = 0; a < N; a++) {
            double least = least_distance(&w, a, 1);
            for (size_t b = 0; b < N && label[a] == w.class[i] && !found; b++)
                found = label[b] == label[a] && squared(x + a * D, x + b * D, D) == least &&
                        crosses(&w, w.point + i * D, a, b);
            row |= label[a] == w.class[i] && crosses(&w, w.point + i * D, a, a);
        }
        assert_true(found);
        kept += row;
    }
    assert_in_range(kept, POINTS / 10, POINTS * 9 / 10);
    sample(&w, POINTS, 2); /* categories have no noise */
    check_values_of_the_class(&w);
    world_close(&w);
}

/* Nearly all rows are zeros, one is ones: what a point has of the latter is 0..1/2, evenly. */
static void test_categories_are_kept_with_a_probability_of_a_half_to_one(void **state) {
    (void)state;
    enum { N = 40, D = 200, POINTS = 2000 };
    static float x[N * D];
    size_t count = 0, eighth[4] = {0};
    double sum = 0;
    world w;
    for (size_t j = 0; j < D; j++)
        x[17 * D + j] = 1;
    world_open(&w, x, NULL, N, D, 1);
    assert_int_equal(w.f.categories, D);
    sample(&w, POINTS, 0);
    for (size_t i = 0; i < POINTS; i++) {
        double ones = 0;
        for (size_t j = 0; j < D; j++)
            ones += (double)w.point[i * D + j] / D;
        if (ones < 0.62) { /* else the row was the one of ones */
            sum += ones;
            eighth[ones < 0.125 ? 0 : ones < 0.25 ? 1 : ones < 0.375 ? 2 : 3]++;
            count++;
        }
    }
    assert_in_range(count, POINTS * 95 / 100, POINTS * 99 / 100);
    assert_true(sum / (double)count > 0.235 && sum / (double)count < 0.265);
    for (int e = 0; e < 4; e++)
        assert_in_range(eighth[e], POINTS * 20 / 100, POINTS * 30 / 100);
    world_close(&w);
}

/* With nothing to cross it with, a row of categories stays as it is. */
static void test_the_only_row_of_a_class_keeps_its_categories(void **state) {
    (void)state;
    enum { N = 60, D = 5, POINTS = 2000 };
    float x[N * D];
    int32_t label[N];
    size_t alone = 0;
    world w;
    draw_categories(N, D, 0, 2, x, label);
    for (size_t i = 0; i < N; i++)
        label[i] = i == 31;
    world_open(&w, x, label, N, D, 2);
    assert_int_equal(w.f.categories, D);
    sample(&w, POINTS, 0);
    for (size_t i = 0; i < POINTS; i++)
        if (w.class[i] == 1) {
            assert_memory_equal(w.point + i * D, x + 31 * (size_t)D, D * sizeof *x);
            alone++;
        }
    assert_in_range(alone, 10, 70);
    world_close(&w);
}

static void test_mixed_features_are_mixed_and_crossed(void **state) {
    (void)state;
    enum { N = 60, D = 7, FIRST = 3, POINTS = 400 };
    float *x = normal_rows(N, D, 8);
    int32_t label[N];
    world w;
    size_t between = 0;
    draw_categories(N, D, FIRST, 2, x, label);
    for (size_t i = 0; i < N; i++)
        x[i * D] += label[i] ? 100.f : 0.f;
    world_open(&w, x, label, N, D, 2);
    for (size_t j = 0; j < D; j++)
        assert_true(w.f.category[j] == (j >= FIRST));
    sample(&w, POINTS, 0);
    check_range(&w);
    check_values_of_the_class(&w);
    for (size_t i = 0; i < POINTS; i++) {
        const float *p = w.point + i * D;
        bool found = false;
        for (size_t a = 0; a < N && !found; a++) {
            bool mixed = false, crossed = false;
            for (size_t b = 0; b < N && label[a] == w.class[i]; b++) {
                mixed = mixed || (b != a && on_segment(&w.f, p, x + a * D, x + b * D));
                crossed = crossed || (label[b] == label[a] && crosses(&w, p, a, b));
            }
            found = mixed && crossed;
        }
        assert_true(found);
        between += p[0] > 5 && p[0] < 95;
    }
    assert_in_range(between, POINTS * 35 / 100, POINTS * 60 / 100);
    world_close(&w);
    free(x);
}

/* ---- noise ---- */

/* Two rows far away widen the range, so that no noise is cut off; points come from the others. */
static void test_half_of_the_points_have_noise_of_the_given_size(void **state) {
    (void)state;
    enum { N = 50, D = 5, POINTS = 2000 };
    float *x = normal_rows(N, D, 9), *other = malloc(POINTS * D * sizeof *other);
    double noise = 0.02, sum = 0, squares = 0;
    size_t changed = 0;
    world w;
    for (size_t j = 0; j < D; j++) {
        x[j] = 1000 * (float)(j + 1);
        x[D + j] = -1000 * (float)(j + 1);
    }
    world_open(&w, x, NULL, N, D, 1);
    lm_pool_rows_free(&w.ctx->mem, &w.rows);
    assert_int_equal(lm_pool_rows_take(w.ctx, &w.f, x + 2 * D, NULL, N - 2, 1, &w.rows), LIMN_OK);
    sample(&w, POINTS, 0);
    lm_pool_sample(w.ctx, &w.rows, &(lm_pool_way){.seed = 5, .noise = noise}, 0, POINTS, other, D,
                   NULL);
    for (size_t i = 0; i < POINTS; i++) {
        if (memcmp(other + i * D, w.point + i * D, D * sizeof *other) == 0)
            continue;
        changed++;
        for (size_t j = 0; j < D; j++) {
            double by = (double)other[i * D + j] - (double)w.point[i * D + j];
            sum += by / (noise * w.f.spread[j]);
            squares += pow(by / (noise * w.f.spread[j]), 2);
        }
    }
    double values = (double)changed * D;
    assert_in_range(changed, POINTS * 44 / 100, POINTS * 56 / 100);
    assert_true(fabs(sum / values) <= 4 / sqrt(values));
    assert_true(fabs(squares / values - 1) <= 4 * sqrt(2 / values));
    world_close(&w);
    free(other);
    free(x);
}

static void test_noise_never_leaves_the_range_and_no_noise_changes_nothing(void **state) {
    (void)state;
    enum { N = 40, D = 4, POINTS = 1000 };
    static const double noises[] = {0.1, 3, 1e6};
    float *x = normal_rows(N, D, 10), *none = malloc(POINTS * D * sizeof *none);
    world w;
    for (size_t i = 0; i < N; i++)
        x[i * D + 1] = 2.5f; /* constant */
    world_open(&w, x, NULL, N, D, 1);
    sample(&w, POINTS, 0);
    memcpy(none, w.point, POINTS * D * sizeof *none);
    sample(&w, POINTS, -1);
    assert_memory_equal(none, w.point, POINTS * D * sizeof *none);
    for (size_t v = 0; v < LM_COUNT(noises); v++) {
        size_t changed = 0, edge = 0;
        sample(&w, POINTS, noises[v]);
        check_range(&w);
        for (size_t i = 0; i < POINTS; i++) {
            const float *p = w.point + i * D;
            changed += memcmp(p, none + i * D, D * sizeof *p) != 0;
            edge += p[0] == w.f.low[0] || p[0] == w.f.high[0];
            assert_true(p[1] == 2.5f);
        }
        assert_in_range(changed, POINTS * 42 / 100, POINTS * 58 / 100);
        assert_true(noises[v] < 1e6 || edge >= changed * 99 / 100);
    }
    world_close(&w);
    free(none);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_points_lie_between_a_row_and_the_nearest_or_the_nearest_of_another_class),
        cmocka_unit_test(test_points_of_many_rows_lie_between_two_of_them),
        cmocka_unit_test(test_every_row_is_drawn_as_often),
        cmocka_unit_test(test_half_of_the_points_lie_between_classes_that_are_far_apart),
        cmocka_unit_test(test_a_row_is_the_nearest_of_two_hundred_or_of_as_many_as_said),
        cmocka_unit_test(test_categories_are_crossed_with_the_nearest_row_of_the_same_class),
        cmocka_unit_test(test_categories_are_kept_with_a_probability_of_a_half_to_one),
        cmocka_unit_test(test_the_only_row_of_a_class_keeps_its_categories),
        cmocka_unit_test(test_mixed_features_are_mixed_and_crossed),
        cmocka_unit_test(test_half_of_the_points_have_noise_of_the_given_size),
        cmocka_unit_test(test_noise_never_leaves_the_range_and_no_noise_changes_nothing),
    };
    return cmocka_run_group_tests_name("pool_points", tests, NULL, NULL);
}
