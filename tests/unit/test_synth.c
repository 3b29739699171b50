/* test_synth.c: every generator against its definition, recomputed here; seeds, prefixes,
 * parameters. */
#include "synth_world.h"

#include <math.h>
#include <stdio.h>

static const double pi = 3.14159265358979323846;

/* ---- rows and their known properties ---- */

static bool same(const made *a, const made *b, size_t n) {
    return a->d == b->d && a->k == b->k && memcmp(a->x, b->x, n * a->d * sizeof *a->x) == 0 &&
           (a->k ? memcmp(a->c, b->c, n * sizeof *a->c) : memcmp(a->y, b->y, n * sizeof *a->y)) ==
               0;
}

static double share_of(const made *m, int32_t label) {
    size_t count = 0;
    for (size_t i = 0; i < m->n; i++)
        count += m->c[i] == label;
    return (double)count / (double)m->n;
}

/* Tolerance of a frequency in n draws: five standard deviations. */
static void assert_share(double found, double expected, size_t n) {
    double room = 5 * sqrt(expected * (1 - expected) / (double)n) + 1e-12;
    if (!(fabs(found - expected) <= room))
        fail_msg("share %g instead of %g +- %g", found, expected, room);
}

static void assert_near(double found, double expected, double room) {
    if (!(fabs(found - expected) <= room))
        fail_msg("%.9g instead of %.9g +- %g", found, expected, room);
}

typedef struct moments {
    double n, sum, sum2;
} moments;

static void moment_add(moments *m, double value) {
    m->n += 1;
    m->sum += value;
    m->sum2 += value * value;
}

/* Mean and standard deviation of values that are roughly normal or have lighter tails. */
static void assert_moments(const moments *m, double mean, double sd) {
    double found = m->sum / m->n;
    assert_near(found, mean, 5 * sd / sqrt(m->n));
    assert_near(sqrt(m->sum2 / m->n - found * found), sd, 5 * sd / sqrt(2 * m->n));
}

static void assert_uniform(const made *m, size_t column) {
    moments found = {0, 0, 0};
    for (size_t i = 0; i < m->n; i++) {
        float value = m->x[i * m->d + column];
        assert_true(value >= 0 && value < 1);
        moment_add(&found, value);
    }
    assert_moments(&found, 0.5, sqrt(1 / 12.0));
}

/* ---- two classes in the square ---- */

static int linear_class(const float *x, double angle) {
    double a = angle / 360 * 2 * pi;
    return cos(a) * x[0] + sin(a) * x[1] > (cos(a) + sin(a)) / 2;
}

static int wave_class(const float *x, double height, double waves) {
    return x[1] - 0.5 > height * sin(waves * 2 * pi * x[0]);
}

/* By checking every disk. */
static int islands_class(const float *x, int m, double radius) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            if (hypot(x[0] - (i + 0.5) / m, x[1] - (j + 0.5) / m) < radius / m)
                return 1;
    return 0;
}

static int checker_class(const float *x, int cells) {
    int column = 0, line = 0;
    while (x[0] >= (column + 1) / (double)cells)
        column++;
    while (x[1] >= (line + 1) / (double)cells)
        line++;
    return column % 2 != line % 2;
}

/* a, b: the two parameters of the shape. */
static int square_class(const char *name, const float *x, double a, double b) {
    if (strcmp(name, "linear") == 0)
        return linear_class(x, a);
    if (strcmp(name, "wave") == 0)
        return wave_class(x, a, b);
    if (strcmp(name, "islands") == 0)
        return islands_class(x, (int)a, b);
    return checker_class(x, (int)a);
}

static const struct {
    const char *name, *params;
    double a, b, area;
} squares[] = {
    {"linear", "", 60, 0, 0.5},
    {"linear", "angle=0", 0, 0, 0.5},
    {"linear", "angle=200", 200, 0, 0.5},
    {"wave", "", 0.3, 2, 0.5},
    {"wave", "height=0.5 waves=0.5", 0.5, 0.5, 0.5 - 1 / 3.14159265358979}, /* mean of sin: 2/pi */
    {"islands", "", 2, 0.4, 3.14159265358979 * 0.16},
    {"islands", "islands=5 radius=0.1", 5, 0.1, 3.14159265358979 * 0.01},
    {"islands", "islands=1 radius=0.5", 1, 0.5, 3.14159265358979 * 0.25},
    {"checker", "", 4, 0, 0.5},
    {"checker", "cells=3", 3, 0, 4 / 9.0},
};

static void test_points_are_uniform_in_the_square_and_lie_on_the_side_of_their_class(void **state) {
    (void)state;
    for (size_t t = 0; t < LM_COUNT(squares); t++) {
        made m = make(t + 1, squares[t].name, squares[t].params, 20000);
        assert_int_equal(m.d, 2);
        assert_int_equal(m.k, 2);
        for (size_t i = 0; i < m.n; i++)
            assert_int_equal(square_class(squares[t].name, m.x + 2 * i, squares[t].a, squares[t].b),
                             m.c[i]);
        assert_uniform(&m, 0);
        assert_uniform(&m, 1);
        assert_share(share_of(&m, 1), squares[t].area, m.n);
        drop(&m);
    }
}

static void test_share_draws_the_class_first_and_keeps_the_sides(void **state) {
    (void)state;
    static const double shares[] = {0, 0.1, 0.8, 1};
    for (size_t t = 0; t < LM_COUNT(squares); t++) {
        for (size_t s = 0; s < LM_COUNT(shares); s++) {
            char params[3 * TEXT];
            snprintf(params, sizeof params, "%s share=%g", squares[t].params, shares[s]);
            made m = make(7, squares[t].name, params, 5000);
            for (size_t i = 0; i < m.n; i++)
                assert_int_equal(
                    square_class(squares[t].name, m.x + 2 * i, squares[t].a, squares[t].b), m.c[i]);
            assert_share(share_of(&m, 1), shares[s], m.n);
            drop(&m);
        }
    }
}

static void test_with_share_the_points_of_a_class_are_uniform_in_its_part(void **state) {
    (void)state;
    size_t cell[16] = {0}, of_class[2] = {0};
    made m = make(3, "checker", "share=0.2", 40000);
    for (size_t i = 0; i < m.n; i++) {
        cell[(size_t)(4 * m.x[2 * i]) * 4 + (size_t)(4 * m.x[2 * i + 1])]++;
        of_class[m.c[i]]++;
    }
    for (size_t i = 0; i < 16; i++) {
        size_t of = of_class[(i / 4 + i % 4) % 2];
        assert_share((double)cell[i] / (double)of, 1 / 8.0, of);
    }
    drop(&m);
}

static void test_noise_replaces_labels_evenly_and_leaves_the_points(void **state) {
    (void)state;
    for (size_t t = 0; t < limn_synth_count(); t++) {
        const limn_synth_info *info = limn_synth_at(t);
        if (info->task != LIMN_CLASSIFY)
            continue;
        made clean = make(5, info->name, "", 4000), noisy = make(5, info->name, "noise=0.3", 4000);
        size_t moved[8] = {0}, changed = 0;
        assert_memory_equal(clean.x, noisy.x, clean.n * clean.d * sizeof *clean.x);
        for (size_t i = 0; i < clean.n; i++) {
            assert_in_range(noisy.c[i], 0, clean.k - 1);
            changed += clean.c[i] != noisy.c[i];
            moved[((size_t)noisy.c[i] + clean.k - (size_t)clean.c[i]) % clean.k]++;
        }
        assert_share((double)changed / (double)clean.n, 0.3, clean.n);
        for (size_t step = 1; step < clean.k; step++)
            assert_share((double)moved[step] / (double)changed, 1 / (double)(clean.k - 1), changed);
        drop(&clean);
        drop(&noisy);
    }
}

/* ---- disks ---- */

static void test_disks_fill_unit_balls_that_are_compressed_in_their_flat_dimensions(void **state) {
    (void)state;
    made m = make(2, "disks", "", 4000);
    moments *column = calloc(m.d, sizeof *column);
    assert_non_null(column);
    assert_int_equal(m.d, 300);
    assert_int_equal(m.k, 4);
    moments filled = {0, 0, 0};
    for (size_t i = 0; i < m.n; i++) {
        const float *x = m.x + i * m.d;
        double r2 = 0;
        assert_int_equal(m.c[i], i % 4);
        for (size_t j = 0; j < m.d; j++) {
            bool flat = j == 1 || j > 100; /* 200 of them */
            double value = x[j] * (flat ? 10.0 : 1.0);
            if (j == 0)
                value -= m.c[i] % 2 ? 0.2 : -0.2;
            if (j == 1)
                value -= m.c[i] >= 2 ? 0.2 : -0.2;
            moment_add(&column[j], value);
            r2 += value * value;
        }
        assert_true(r2 < 1 + 1e-5);
        moment_add(&filled, pow(r2, 150)); /* r^300 is uniform */
    }
    assert_moments(&filled, 0.5, sqrt(1 / 12.0));
    for (size_t j = 0; j < m.d; j++)
        assert_moments(&column[j], 0, 1 / sqrt(302.0)); /* E r^2/d = 1/(d + 2) */
    free(column);
    drop(&m);
}

static void test_disks_of_other_sizes_are_filled_evenly(void **state) {
    (void)state;
    moments filled = {0, 0, 0};
    made m = make(2, "disks", "round=1 flat=1 factor=4 centre=3", 40000);
    assert_int_equal(m.d, 2);
    for (size_t i = 0; i < m.n; i++) {
        double u = m.x[2 * i] - (i & 1 ? 3.0 : -3.0), v = 4.0 * m.x[2 * i + 1] - (i & 2 ? 3 : -3);
        assert_true(u * u + v * v < 1 + 1e-5);
        moment_add(&filled, u * u + v * v); /* a part of the area: uniform */
    }
    assert_moments(&filled, 0.5, sqrt(1 / 12.0));
    drop(&m);
}

/* ---- hypercube, mixture, friedman ---- */

static void test_hypercube_is_uniform_and_cut_by_the_plane_of_its_seed(void **state) {
    (void)state;
    static const uint64_t seeds[] = {1, 99};
    for (size_t t = 0; t < LM_COUNT(seeds); t++) {
        double w[100];
        lm_rng rng = lm_rng_at(seeds[t], LM_STREAM_SYNTH, UINT64_MAX);
        made m = make(seeds[t], "hypercube", "", 5000);
        assert_int_equal(m.d, 100);
        for (size_t j = 0; j < 100; j++)
            w[j] = lm_rng_normal(&rng);
        for (size_t i = 0; i < m.n; i++) {
            double dot = 0, middle = 0;
            for (size_t j = 0; j < 100; j++) {
                dot += w[j] * m.x[i * 100 + j];
                middle += w[j] / 2;
            }
            if (fabs(dot - middle) > 1e-9)
                assert_int_equal(dot > middle, m.c[i]);
        }
        for (size_t j = 0; j < 100; j++)
            assert_uniform(&m, j);
        assert_share(share_of(&m, 1), 0.5, m.n);
        drop(&m);
    }
}

static size_t find_point(const made *m, size_t *first, size_t count, size_t row) {
    for (size_t p = 0; p < count; p++)
        if (memcmp(m->x + first[p] * m->d, m->x + row * m->d, m->d * sizeof *m->x) == 0)
            return p;
    return count;
}

static void test_mixture_has_its_clusters_evenly_and_normal_around_their_centres(void **state) {
    (void)state;
    enum { CLASSES = 4, CLUSTERS = 3, ALL = CLASSES * CLUSTERS };
    made bare = make(8, "mixture", "classes=4 clusters=3 dims=5 spread=0", 20000);
    made wide = make(8, "mixture", "classes=4 clusters=3 dims=5 spread=0.25", 20000);
    size_t first[ALL], count = 0, rows[ALL] = {0};
    moments scatter[5] = {{0, 0, 0}};
    for (size_t i = 0; i < bare.n; i++) {
        size_t p = find_point(&bare, first, count, i);
        assert_true(p < ALL);
        if (p == count)
            first[count++] = i;
        rows[p]++;
        assert_int_equal(bare.c[i], bare.c[first[p]]);
        assert_int_equal(bare.c[i], wide.c[i]);
        for (size_t j = 0; j < 5; j++) {
            assert_true(bare.x[i * 5 + j] >= 0 && bare.x[i * 5 + j] < 1);
            moment_add(&scatter[j], (double)wide.x[i * 5 + j] - (double)bare.x[i * 5 + j]);
        }
    }
    assert_int_equal(count, ALL);
    for (size_t p = 0; p < ALL; p++)
        assert_share((double)rows[p] / (double)bare.n, 1.0 / ALL, bare.n);
    for (int32_t c = 0; c < CLASSES; c++)
        assert_share(share_of(&bare, c), 1.0 / CLASSES, bare.n);
    for (size_t j = 0; j < 5; j++)
        assert_moments(&scatter[j], 0, 0.25);
    drop(&bare);
    drop(&wide);
}

static void test_mixture_centres_are_those_of_the_documented_indices(void **state) {
    (void)state;
    made m = make(8, "mixture", "classes=2 clusters=1 dims=3 spread=0", 50);
    for (size_t i = 0; i < m.n; i++) {
        lm_rng rng = lm_rng_at(8, LM_STREAM_SYNTH, UINT64_MAX - (uint64_t)m.c[i]);
        for (size_t j = 0; j < 3; j++)
            assert_true(m.x[3 * i + j] == lm_synth_unit(&rng));
    }
    drop(&m);
}

static double friedman_value(const float *x) {
    return 10 * sin(pi * x[0] * x[1]) + 20 * pow(x[2] - 0.5, 2) + 10 * x[3] + 5 * x[4];
}

static void test_friedman_is_its_function_and_normal_noise(void **state) {
    (void)state;
    made exact = make(4, "friedman", "noise=0", 5000);
    made noisy = make(4, "friedman", "noise=2.5 dims=7", 5000);
    made usual = make(4, "friedman", "", 5000);
    moments scatter = {0, 0, 0}, one = {0, 0, 0};
    assert_int_equal(exact.k, 0);
    assert_int_equal(exact.d, 10);
    assert_int_equal(noisy.d, 7);
    for (size_t i = 0; i < exact.n; i++) {
        assert_near(exact.y[i], friedman_value(exact.x + 10 * i), 1e-5);
        moment_add(&scatter, noisy.y[i] - friedman_value(noisy.x + 7 * i));
        moment_add(&one, usual.y[i] - exact.y[i]);
    }
    assert_moments(&scatter, 0, 2.5);
    assert_moments(&one, 0, 1);
    for (size_t j = 0; j < 10; j++)
        assert_uniform(&exact, j);
    drop(&exact);
    drop(&noisy);
    drop(&usual);
}

/* ---- curved ---- */

static double curved_probability(const float *x, double overlap, double bend, double share) {
    double v = x[1] - bend * sin(1.5 * x[0]), s2 = 2 * overlap * overlap;
    double one = share * exp(-(v - 1) * (v - 1) / s2);
    double zero = (1 - share) * exp(-(v + 1) * (v + 1) / s2);
    return one / (one + zero);
}

static void test_curved_classes_have_the_documented_probability(void **state) {
    (void)state;
    enum { BINS = 10 };
    static const struct {
        const char *params;
        double overlap, bend, share;
    } cases[] = {{"", 0.7, 1, 0.5}, {"overlap=1.5 bend=2 share=0.25", 1.5, 2, 0.25}};
    for (size_t t = 0; t < LM_COUNT(cases); t++) {
        double rows[BINS] = {0}, ones[BINS] = {0}, expected[BINS] = {0};
        moments u = {0, 0, 0}, v = {0, 0, 0};
        made m = make(6, "curved", cases[t].params, 40000);
        for (size_t i = 0; i < m.n; i++) {
            const float *x = m.x + 2 * i;
            double p = curved_probability(x, cases[t].overlap, cases[t].bend, cases[t].share);
            size_t bin = (size_t)(p * BINS) < BINS ? (size_t)(p * BINS) : BINS - 1;
            rows[bin] += 1;
            ones[bin] += m.c[i];
            expected[bin] += p;
            moment_add(&u, x[0]);
            moment_add(&v, x[1] - cases[t].bend * sin(1.5 * x[0]) - (m.c[i] ? 1 : -1));
        }
        for (size_t b = 0; b < BINS; b++)
            if (rows[b] > 50)
                assert_share(ones[b] / rows[b], expected[b] / rows[b], (size_t)rows[b]);
        assert_moments(&u, 0, 1);
        assert_moments(&v, 0, cases[t].overlap);
        assert_share(share_of(&m, 1), cases[t].share, m.n);
        drop(&m);
    }
}

static void test_curved_classes_without_overlap_lie_on_their_curves(void **state) {
    (void)state;
    made m = make(11, "curved", "overlap=0 bend=3", 2000);
    for (size_t i = 0; i < m.n; i++)
        assert_near(m.x[2 * i + 1], 3 * sin(1.5 * m.x[2 * i]) + 2 * m.c[i] - 1, 1e-5);
    drop(&m);
}

static void test_the_best_error_on_curved_classes_is_as_documented(void **state) {
    (void)state;
    size_t wrong = 0;
    made m = make(11, "curved", "overlap=0.9", 40000);
    for (size_t i = 0; i < m.n; i++)
        wrong += (m.x[2 * i + 1] > sin(1.5 * m.x[2 * i])) != (m.c[i] == 1);
    assert_share((double)wrong / (double)m.n, erfc(1 / 0.9 / sqrt(2)) / 2, m.n);
    drop(&m);
}

/* ---- drift ---- */

static void check_drift(const char *params, size_t k, size_t period, bool abrupt, double spread) {
    moments scatter = {0, 0, 0};
    made m = make(9, "drift", params, 20000);
    assert_int_equal(m.k, k);
    for (size_t i = 0; i < m.n; i++) {
        double turn = (double)i / (double)period;
        if (abrupt)
            turn = floor((double)(4 * i / period)) / 4;
        double angle = 2 * pi * (turn + m.c[i] / (double)k);
        for (size_t j = 0; j < m.d; j++) {
            double centre = j == 0 ? cos(angle) : j == 1 ? sin(angle) : 0;
            moment_add(&scatter, m.x[i * m.d + j] - centre);
            if (spread == 0)
                assert_near(m.x[i * m.d + j], centre, 1e-6);
        }
    }
    if (spread > 0)
        assert_moments(&scatter, 0, spread);
    for (size_t c = 0; c < k; c++)
        assert_share(share_of(&m, (int32_t)c), 1 / (double)k, m.n);
    drop(&m);
}

static void test_drift_moves_its_centres_around_the_circle(void **state) {
    (void)state;
    check_drift("spread=0", 2, 10000, false, 0);
    check_drift("", 2, 10000, false, 0.4);
    check_drift("spread=0 period=700 classes=5 dims=4", 5, 700, false, 0);
    check_drift("period=700 classes=5 dims=4 spread=0.1", 5, 700, false, 0.1);
    check_drift("spread=0 mode=abrupt", 2, 10000, true, 0);
    check_drift("mode=abrupt period=8 classes=3 spread=0", 3, 8, true, 0);
    check_drift("mode=abrupt period=1 spread=0", 2, 1, true, 0);
}

/* ---- every generator ---- */

static void test_the_table_is_whole_and_found_by_name(void **state) {
    (void)state;
    assert_true(limn_synth_count() >= 10);
    assert_null(limn_synth_at(limn_synth_count()));
    assert_null(limn_synth_find("nothing"));
    assert_null(limn_synth_find(NULL));
    for (size_t t = 0; t < limn_synth_count(); t++) {
        const limn_synth_info *info = limn_synth_at(t);
        assert_ptr_equal(limn_synth_find(info->name), info);
        assert_true(info->summary && info->paper && info->params && info->param_count);
        made m = make(1, info->name, "", 1);
        assert_int_equal(m.k == 0, info->task == LIMN_REGRESS);
        drop(&m);
    }
}

static void test_a_longer_set_begins_with_a_shorter_one(void **state) {
    (void)state;
    for (size_t t = 0; t < limn_synth_count(); t++) {
        made few = make(1, limn_synth_at(t)->name, "", 100);
        made many = make(1, limn_synth_at(t)->name, "", 1000);
        assert_true(same(&few, &many, 100));
        drop(&few);
        drop(&many);
    }
}

static void test_a_seed_gives_the_same_rows_again_and_another_seed_others(void **state) {
    (void)state;
    for (size_t t = 0; t < limn_synth_count(); t++) {
        const char *name = limn_synth_at(t)->name;
        made one = make(1, name, "", 50), again = make(1, name, "", 50),
             two = make(2, name, "", 50);
        assert_true(same(&one, &again, 50));
        size_t equal = 0;
        for (size_t i = 0; i < 50; i++)
            equal += memcmp(one.x + i * one.d, two.x + i * one.d, one.d * sizeof *one.x) == 0;
        assert_int_equal(equal, 0);
        drop(&one);
        drop(&again);
        drop(&two);
    }
}

/* A value in range other than the default. */
static void other_value(const limn_param *param, char *text) {
    if (param->type == LIMN_PARAM_CHOICE) {
        const char *bar = strchr(param->choices, '|');
        assert_non_null(bar);
        snprintf(text, TEXT, "%s=%.*s", param->key, (int)strcspn(bar + 1, "|"), bar + 1);
    } else if (param->can_be_auto) {
        snprintf(text, TEXT, "%s=0.3", param->key);
    } else {
        double value = strtod(param->default_value, NULL);
        value += param->type == LIMN_PARAM_INT ? 1 : (param->max - value) / 16;
        snprintf(text, TEXT, "%s=%.17g", param->key, value);
    }
}

static void test_every_parameter_changes_the_rows_and_its_default_does_not(void **state) {
    (void)state;
    for (size_t t = 0; t < limn_synth_count(); t++) {
        const limn_synth_info *info = limn_synth_at(t);
        made plain = make(1, info->name, "", 300);
        for (size_t p = 0; p < info->param_count; p++) {
            /* Not more than 300 rows: an abrupt drift must have happened by then. */
            const char *soon = strcmp(info->params[p].key, "mode") == 0 ? "period=100" : "";
            char text[TEXT], params[3 * TEXT];
            other_value(&info->params[p], text);
            snprintf(params, sizeof params, "%s %s", soon, text);
            made base = make(1, info->name, soon, 300), changed = make(1, info->name, params, 300);
            if (same(&base, &changed, 300))
                fail_msg("%s: %s changes nothing", info->name, params);
            snprintf(params, sizeof params, "%s=%s", info->params[p].key,
                     info->params[p].default_value);
            made usual = make(1, info->name, params, 300);
            assert_true(same(&plain, &usual, 300));
            drop(&base);
            drop(&changed);
            drop(&usual);
        }
        drop(&plain);
    }
}

static void refuse(const char *name, const char *param, const char *part_of_sentence) {
    lm_synth_run run;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_status status = lm_synth_start(ctx, name, &param, 1, &run);
    if (status != LIMN_E_USAGE || !strstr(limn_error(ctx), part_of_sentence))
        fail_msg("%s %s: status %d, %s", name, param, (int)status, limn_error(ctx));
    lm_synth_stop(&run);
    limn_context_free(ctx);
}

static void test_values_out_of_range_and_unknown_keys_are_refused(void **state) {
    (void)state;
    for (size_t t = 0; t < limn_synth_count(); t++) {
        const limn_synth_info *info = limn_synth_at(t);
        for (size_t p = 0; p < info->param_count; p++) {
            const limn_param *param = &info->params[p];
            char text[TEXT];
            snprintf(text, sizeof text, "%s=what", param->key);
            refuse(info->name, text, "cannot be 'what'");
            if (param->type != LIMN_PARAM_INT && param->type != LIMN_PARAM_REAL)
                continue;
            double step = param->type == LIMN_PARAM_INT ? 1 : 1e-6;
            snprintf(text, sizeof text, "%s=%.17g", param->key, param->min - step);
            refuse(info->name, text, "cannot be");
            snprintf(text, sizeof text, "%s=%.17g", param->key, param->max + step);
            refuse(info->name, text, "cannot be");
        }
        refuse(info->name, "nonsense=1", "has no parameter 'nonsense'");
        refuse(info->name, "noise", "write key=value");
    }
    refuse("nothing", "", "there is no generator 'nothing'; choose from linear, wave");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_are_uniform_in_the_square_and_lie_on_the_side_of_their_class),
        cmocka_unit_test(test_share_draws_the_class_first_and_keeps_the_sides),
        cmocka_unit_test(test_with_share_the_points_of_a_class_are_uniform_in_its_part),
        cmocka_unit_test(test_noise_replaces_labels_evenly_and_leaves_the_points),
        cmocka_unit_test(test_disks_fill_unit_balls_that_are_compressed_in_their_flat_dimensions),
        cmocka_unit_test(test_disks_of_other_sizes_are_filled_evenly),
        cmocka_unit_test(test_hypercube_is_uniform_and_cut_by_the_plane_of_its_seed),
        cmocka_unit_test(test_mixture_has_its_clusters_evenly_and_normal_around_their_centres),
        cmocka_unit_test(test_mixture_centres_are_those_of_the_documented_indices),
        cmocka_unit_test(test_friedman_is_its_function_and_normal_noise),
        cmocka_unit_test(test_curved_classes_have_the_documented_probability),
        cmocka_unit_test(test_curved_classes_without_overlap_lie_on_their_curves),
        cmocka_unit_test(test_the_best_error_on_curved_classes_is_as_documented),
        cmocka_unit_test(test_drift_moves_its_centres_around_the_circle),
        cmocka_unit_test(test_the_table_is_whole_and_found_by_name),
        cmocka_unit_test(test_a_longer_set_begins_with_a_shorter_one),
        cmocka_unit_test(test_a_seed_gives_the_same_rows_again_and_another_seed_others),
        cmocka_unit_test(test_every_parameter_changes_the_rows_and_its_default_does_not),
        cmocka_unit_test(test_values_out_of_range_and_unknown_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
