/* test_scale_curves.c: sorting floats; the curves of rank and gauss against a slow statement of
 * what they are (scale_curves_slow.h). */
#include "data_world.h"
#include "num/pack.h"
#include "scale/scale.h"
#include "scale_curves_slow.h"
#include "support.h"

#include "base/sort.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- sorting ---- */

typedef float draw(lm_rng *rng);

static float any_finite(lm_rng *rng) {
    float value;
    do
        value = from_bits((uint32_t)lm_rng_next(rng));
    while (!isfinite(value));
    return value;
}

static float few_values(lm_rng *rng) {
    return (float)lm_rng_below(rng, 5) - 2;
}

static float one_value(lm_rng *rng) {
    (void)rng;
    return -1.5e-7f;
}

static float zeros(lm_rng *rng) {
    return lm_rng_below(rng, 2) ? -0.0f : 0.0f;
}

static float tiny(lm_rng *rng) {
    return from_bits((uint32_t)lm_rng_next(rng) & 0x807fffffu);
}

static float huge(lm_rng *rng) {
    return from_bits(((uint32_t)lm_rng_next(rng) & 0x807fffffu) | 0x7f000000u);
}

static float negative(lm_rng *rng) {
    return (float)-lm_rng_unit(rng) * 100;
}

static float lowest_byte(lm_rng *rng) {
    return from_bits(0x3f800000u | (uint32_t)lm_rng_below(rng, 256));
}

static float third_byte(lm_rng *rng) {
    return from_bits(0xbf000000u | (uint32_t)lm_rng_below(rng, 256) << 16);
}

static float highest_byte(lm_rng *rng) {
    return from_bits((uint32_t)lm_rng_below(rng, 256) << 24);
}

static draw *const draws[] = {any_finite, few_values, one_value,   zeros,      tiny,
                              huge,       negative,   lowest_byte, third_byte, highest_byte};

static const float UNTOUCHED = -12345.5f;

/* The places past n are watched. */
static void check_sort(const float *v, size_t n) {
    float *got = malloc((n + 1) * sizeof *got), *spare = malloc((n + 1) * sizeof *spare);
    float *expected = sorted_copy(v, n);
    for (size_t i = 0; i < n; i++)
        got[i] = v[i];
    got[n] = spare[n] = UNTOUCHED;
    lm_sort_floats(got, n, spare);
    assert_true(same_bits(got, expected, n));
    assert_true(got[n] == UNTOUCHED && spare[n] == UNTOUCHED);
    free(got);
    free(spare);
    free(expected);
}

static void test_sorted_floats_are_bit_for_bit_those_of_qsort(void **state) {
    (void)state;
    static const size_t ns[] = {0, 1, 2, 3, 4, 17, 255, 256, 257, 3000};
    static float v[3000];
    for (size_t k = 0; k < LM_COUNT(draws); k++)
        for (size_t a = 0; a < LM_COUNT(ns); a++) {
            lm_rng rng = lm_rng_at(1, k, a);
            for (size_t i = 0; i < ns[a]; i++)
                v[i] = draws[k](&rng);
            check_sort(v, ns[a]);
        }
}

static void test_the_ends_of_the_range_of_floats_are_sorted(void **state) {
    (void)state;
    static const float v[] = {0.0f,   FLT_MAX, -1e-45f,  1,  -FLT_MAX, FLT_MIN,
                              1e-45f, -0.0f,   -FLT_MIN, -1, 0.0f,     FLT_MAX};
    for (size_t n = 0; n <= LM_COUNT(v); n++)
        check_sort(v, n);
}

static void identity(uint32_t *keep, size_t d) {
    for (size_t j = 0; j < d; j++)
        keep[j] = (uint32_t)j;
}

/* Every column is asked for v. */
static void answers_at(const lm_curves *c, float v, float *y) {
    static const uint32_t keep[COLUMNS];
    lm_curves_apply(c, keep, &v, y);
}

static float answer_at(const lm_curves *c, size_t j, float v) {
    float y[COLUMNS];
    answers_at(c, v, y);
    return y[j];
}

/* ---- the curves are what they should be ---- */

/* rank is rounded to 2^-23, then to a float; gauss to floats three times. */
static void assert_near(double got, double expected, bool gauss, size_t j, double at) {
    double most = (gauss ? 0x1p-22 : 0x1p-23) * (1 + fabs(expected));
    if (!(fabs(got - expected) <= most))
        fail_msg("%s, column %zu at %.9g: %.9g instead of %.9g", gauss ? "gauss" : "rank", j, at,
                 got, expected);
}

static void check_knots(const slow_curve *slow, const lm_curves *c, size_t j, bool gauss) {
    assert_int_equal(c->start[j + 1] - c->start[j], slow->knots);
    for (size_t k = 0; k < slow->knots; k++) {
        assert_true(c->x[c->start[j] + k] == slow->x[k]);
        assert_near((double)c->y[c->start[j] + k], slow->y[k], gauss, j, (double)slow->x[k]);
    }
}

static void check_answer(const slow_curve *slow, const lm_curves *c, size_t j, bool gauss,
                         double at) {
    float v = (float)fmax(-(double)FLT_MAX, fmin((double)FLT_MAX, at));
    assert_near((double)answer_at(c, j, v), slow_at(slow, (double)v), gauss, j, (double)v);
}

/* At the values, between them and beyond them. */
static void check_answers(const slow_curve *slow, const lm_curves *c, size_t j, bool gauss,
                          const float *v, size_t n) {
    lm_rng rng = lm_rng_at(3, j, n);
    double low = (double)slow->x[0], high = (double)slow->x[slow->knots - 1];
    for (size_t i = 0; i < n; i++) {
        double a = (double)v[i], b = (double)v[lm_rng_below(&rng, n)], t = lm_rng_unit(&rng);
        check_answer(slow, c, j, gauss, a);
        check_answer(slow, c, j, gauss, a + t * (b - a));
        check_answer(slow, c, j, gauss, low + t * (high - low));
    }
    const double beyond[] = {0, -1, 1, low - 1, high + 1, low * 3, high * 3, -1e308, 1e308, 1e-45};
    for (size_t i = 0; i < LM_COUNT(beyond); i++)
        check_answer(slow, c, j, gauss, beyond[i]);
}

static void check_table(limn_context *ctx, size_t n, bool gauss) {
    float *x = make_table(n), *v = malloc(n * sizeof *v);
    uint32_t keep[COLUMNS];
    lm_curves c;
    identity(keep, COLUMNS);
    assert_int_equal(lm_curves_fit(ctx, gauss, x, n, COLUMNS, keep, COLUMNS, &c), LIMN_OK);
    assert_int_equal(c.columns, COLUMNS);
    assert_int_equal(c.start[0], 0);
    for (size_t j = 0; j < COLUMNS; j++) {
        column_of(x, n, COLUMNS, j, v);
        slow_curve slow = slow_fit(v, n, gauss);
        check_knots(&slow, &c, j, gauss);
        check_answers(&slow, &c, j, gauss, v, n);
    }
    lm_curves_free(&ctx->mem, &c);
    free(x);
    free(v);
}

static const size_t sizes[] = {1, 2, 3, 15, 16, 17, 33, 241, 255, 256, 257, 258, 512, 1100};

static void test_rank_is_the_mid_rank_distribution_function(void **state) {
    (void)state;
    world w;
    world_open(&w);
    for (size_t a = 0; a < LM_COUNT(sizes); a++)
        check_table(w.ctx, sizes[a], false);
    world_close(&w);
}

static void test_gauss_is_its_normal_quantile_with_unit_variance(void **state) {
    (void)state;
    world w;
    world_open(&w);
    for (size_t a = 0; a < LM_COUNT(sizes); a++)
        check_table(w.ctx, sizes[a], true);
    world_close(&w);
}

/* All different; F of the i-th is (i + 1/2) / n. */
static void test_rank_is_within_1_of_255_at_20000_different_values(void **state) {
    (void)state;
    enum { N = 20000 };
    static float x[N], y[N];
    world w;
    world_open(&w);
    for (size_t i = 0; i < N; i++) {
        double place = (double)(i * 7919 % N);
        x[i] = (float)(place * place);
    }
    lm_scaler s = must_fit(w.ctx, LIMN_SCALE_RANK, false, x, N, 1);
    assert_int_equal(s.curves.start[1], LM_KNOTS_MAX);
    lm_scaler_apply(&s, x, N, y, NULL);
    for (size_t i = 0; i < N; i++) {
        double exact = ((double)(i * 7919 % N) + 0.5) / N;
        assert_true(fabs((double)y[i] - exact) <= 1.0 / 255);
    }
    lm_scaler_free(&w.ctx->mem, &s);
    world_close(&w);
}

/* Column j has j + 1 rows with the lower value. */
static void test_two_values_are_exactly_one_half_apart_in_rank(void **state) {
    (void)state;
    static const size_t ns[] = {2, 3, 5, 7, 10, 33, 64, 100, 257, 600};
    world w;
    world_open(&w);
    for (size_t a = 0; a < LM_COUNT(ns); a++) {
        size_t n = ns[a], d = n - 1;
        float *x = malloc(n * d * sizeof *x), *y = malloc(n * d * sizeof *y);
        for (size_t i = 0; i < n * d; i++)
            x[i] = i / d <= i % d ? -0.3f : (float)(i % d);
        lm_scaler s = must_fit(w.ctx, LIMN_SCALE_RANK, false, x, n, d);
        lm_scaler_apply(&s, x, n, y, NULL);
        for (size_t j = 0; j < d; j++)
            assert_true(y[(n - 1) * d + j] - y[j] == 0.5f);
        lm_scaler_free(&w.ctx->mem, &s);
        free(x);
        free(y);
    }
    world_close(&w);
}

static void check_constants(world *w, limn_scale kind, bool keep) {
    const float x[] = {0.1f, 1, -7e37f, 0.1f, 2, -7e37f, 0.1f, 9, -7e37f};
    const float query[] = {5, 2, FLT_MAX}, below[] = {-5, 0, -FLT_MAX};
    float y[3], back[3];
    lm_scaler s = must_fit(w->ctx, kind, keep, x, 3, 3);
    size_t at = keep ? 1 : 0;
    assert_int_equal(s.kept, keep ? 3 : 1);
    assert_int_equal(s.out, s.kept);
    assert_int_equal(s.keep[at], 1);
    lm_scaler_apply(&s, query, 1, y, NULL);
    assert_true(fabsf(y[at] - (kind == LIMN_SCALE_RANK ? 0.5f : 0)) < 1e-6f);
    assert_true(!keep || (y[0] == 5 - 0.1f && y[2] == FLT_MAX));
    assert_int_equal(lm_scaler_undo(w->ctx, &s, NULL, y, 1, query, back), LIMN_OK);
    assert_true(fabsf(back[0] - 5) < 1e-6f && back[1] == 2);
    lm_scaler_apply(&s, below, 1, y, NULL);
    assert_true(!keep || (y[0] == -5 - 0.1f && isfinite(y[2]) && y[2] < -2e38f));
    lm_scaler_apply(&s, x, 1, y, NULL);
    assert_true(!keep || (y[0] == 0 && y[2] == 0));
    lm_scaler_free(&w->ctx->mem, &s);
}

static void test_constant_columns_are_dropped_or_kept_as_x_minus_value(void **state) {
    (void)state;
    world w;
    world_open(&w);
    for (size_t k = 0; k < LM_COUNT(kinds); k++) {
        check_constants(&w, kinds[k], false);
        check_constants(&w, kinds[k], true);
    }
    world_close(&w);
}

static void test_one_row_and_equal_rows_keep_all_columns_as_x_minus_value(void **state) {
    (void)state;
    const float x[] = {4, -0.0f, 4, 0.0f, 4, -0.0f}, query[] = {5.5f, -2};
    float y[2];
    world w;
    world_open(&w);
    for (size_t k = 0; k < LM_COUNT(kinds); k++)
        for (size_t n = 1; n <= 3; n++) {
            lm_scaler s = must_fit(w.ctx, kinds[k], false, x, n, 2);
            assert_int_equal(s.out, 2);
            lm_scaler_apply(&s, query, 1, y, NULL);
            assert_true(y[0] == 1.5f && y[1] == -2);
            lm_scaler_free(&w.ctx->mem, &s);
        }
    world_close(&w);
}

/* A coarse ladder over all floats, and the knots with their neighbours, in ascending order. */
static size_t ladder(const lm_curves *c, float *v) {
    size_t n = 0;
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 0x54321u) {
        v[n++] = from_bits(bits);
        v[n++] = from_bits(bits | 0x80000000u);
    }
    for (size_t k = 0; k < c->start[c->columns]; k++) {
        v[n++] = c->x[k];
        v[n++] = c->x[k] < FLT_MAX ? nextafterf(c->x[k], FLT_MAX) : FLT_MAX;
        v[n++] = c->x[k] > -FLT_MAX ? nextafterf(c->x[k], -FLT_MAX) : -FLT_MAX;
    }
    qsort(v, n, sizeof *v, by_value);
    return n;
}

static void check_rise(const lm_curves *c, float *v) {
    float y[COLUMNS], before[COLUMNS];
    size_t n = ladder(c, v);
    answers_at(c, -FLT_MAX, before);
    for (size_t i = 0; i < n; i++) {
        answers_at(c, v[i], y);
        for (size_t j = 0; j < COLUMNS; j++)
            assert_true(isfinite(y[j]) && y[j] >= before[j]);
        memcpy(before, y, sizeof y);
    }
    for (size_t j = 0; j < c->columns; j++)
        for (size_t k = c->start[j]; k < c->start[j + 1]; k++) {
            assert_true(isfinite(c->x[k]) && answer_at(c, j, c->x[k]) == c->y[k]);
            assert_true(k == c->start[j] || (c->x[k] > c->x[k - 1] && c->y[k] > c->y[k - 1]));
        }
}

static void test_every_answer_is_finite_and_the_curves_rise_through_their_knots(void **state) {
    (void)state;
    float *v = malloc(60000 * sizeof *v);
    world w;
    world_open(&w);
    for (size_t k = 0; k < LM_COUNT(kinds); k++)
        for (size_t n = 3; n <= 600; n += 199) {
            float *x = make_table(n);
            lm_scaler s = must_fit(w.ctx, kinds[k], true, x, n, COLUMNS);
            check_rise(&s.curves, v);
            lm_scaler_free(&w.ctx->mem, &s);
            free(x);
        }
    free(v);
    world_close(&w);
}

/* How far back may be from x: what the rounding of the answer makes of it. */
static double may_be_off(const lm_curves *c, size_t j, double x) {
    size_t k = c->start[j], last = c->start[j + 1] - 1;
    if (k == last)
        return 0x1p-22 * (fabs(x) + fabs((double)c->x[k]));
    while (k + 1 < last && x >= (double)c->x[k + 1])
        k++;
    double reach = fmax(fabs((double)c->y[k]), fabs((double)c->y[k + 1]));
    double slope =
        ((double)c->y[k + 1] - (double)c->y[k]) / ((double)c->x[k + 1] - (double)c->x[k]);
    return 0x1p-23 * reach / slope + 0x1p-22 * fabs(x) + 3e-45;
}

static void check_undo(world *w, const lm_scaler *s, const float *x, size_t n) {
    float query[COLUMNS], y[COLUMNS], back[COLUMNS];
    lm_rng rng = lm_rng_at(4, n, 0);
    for (size_t i = 0; i < 2 * n; i++) {
        const float *a = x + i / 2 * COLUMNS, *b = x + lm_rng_below(&rng, n) * COLUMNS;
        double t = i % 2 ? lm_rng_unit(&rng) : 0;
        for (size_t j = 0; j < COLUMNS; j++)
            query[j] = (float)((double)a[j] + t * ((double)b[j] - (double)a[j]));
        lm_scaler_apply(s, query, 1, y, NULL);
        assert_int_equal(lm_scaler_undo(w->ctx, s, NULL, y, 1, x, back), LIMN_OK);
        for (size_t j = 0; j < s->kept; j++) {
            double from = (double)query[s->keep[j]], to = (double)back[s->keep[j]];
            if (!(fabs(to - from) <= may_be_off(&s->curves, j, from)))
                fail_msg("column %u: %.9g became %.9g", s->keep[j], from, to);
        }
    }
}

static void test_undoing_gives_back_the_row_inside_the_range_and_the_ends_outside(void **state) {
    (void)state;
    world w;
    world_open(&w);
    for (size_t k = 0; k < LM_COUNT(kinds); k++)
        for (size_t n = 2; n <= 800; n *= 20) {
            float *x = make_table(n);
            lm_scaler s = must_fit(w.ctx, kinds[k], n < 100, x, n, COLUMNS);
            check_undo(&w, &s, x, n);
            for (size_t j = 0; j < s.kept; j++) {
                size_t first = s.curves.start[j], last = s.curves.start[j + 1] - 1;
                if (first == last)
                    continue;
                assert_true(lm_curves_undo(&s.curves, j, -FLT_MAX) == s.curves.x[first]);
                assert_true(lm_curves_undo(&s.curves, j, FLT_MAX) == s.curves.x[last]);
            }
            lm_scaler_free(&w.ctx->mem, &s);
            free(x);
        }
    world_close(&w);
}

static void test_rows_at_once_are_answered_like_rows_alone(void **state) {
    (void)state;
    enum { N = 300 };
    static float many[N * COLUMNS];
    float alone[COLUMNS];
    float *x = make_table(N);
    world w;
    world_open(&w);
    lm_scaler s = must_fit(w.ctx, LIMN_SCALE_GAUSS, false, x, N, COLUMNS);
    assert_int_equal(s.kept, COLUMNS - 1); /* the constant column is the last */
    lm_scaler_apply(&s, x, N, many, NULL);
    for (size_t i = 0; i < N; i++) {
        lm_scaler_apply(&s, x + i * COLUMNS, 1, alone, NULL);
        assert_true(same_bits(alone, many + i * s.kept, s.kept));
        for (size_t j = 0; j < s.kept; j++)
            assert_true(alone[j] == answer_at(&s.curves, j, x[i * COLUMNS + j]));
    }
    lm_scaler_free(&w.ctx->mem, &s);
    free(x);
    world_close(&w);
}

/* More columns than are searched at once, in which those of the table repeat. */
static void test_every_instruction_set_gives_the_same_bits(void **state) {
    (void)state;
    enum { N = 300, WIDE = 10 * COLUMNS + 3 };
    float *x = make_table(N), first[WIDE], y[WIDE];
    uint32_t keep[WIDE];
    lm_curves c;
    world w;
    world_open(&w);
    for (size_t j = 0; j < WIDE; j++)
        keep[j] = (uint32_t)(j % COLUMNS);
    assert_int_equal(lm_curves_fit(w.ctx, true, x, N, COLUMNS, keep, WIDE, &c), LIMN_OK);
    for (size_t i = 0; i < N; i++)
        for (size_t isa = 0; lm_isa_at(isa); isa++) {
            assert_true(lm_isa_use(lm_isa_at(isa)));
            lm_curves_apply(&c, keep, x + i * COLUMNS, isa ? y : first);
            assert_true(isa == 0 || same_bits(y, first, WIDE));
            for (size_t j = 0; j < WIDE && isa == 0; j++)
                assert_true(first[j] == first[j % COLUMNS]);
        }
    lm_isa_use(lm_isa_at(0));
    lm_curves_free(&w.ctx->mem, &c);
    free(x);
    world_close(&w);
}

/* ---- threads and memory ---- */

static void test_the_curves_are_the_same_bytes_for_any_number_of_threads(void **state) {
    (void)state;
    enum { N = 700 };
    float *x = make_table(N);
    uint32_t keep[COLUMNS];
    identity(keep, COLUMNS);
    for (int gauss = 0; gauss < 2; gauss++) {
        lm_curves c[3];
        counting count = {0};
        limn_context *ctx[3];
        for (int t = 0; t < 3; t++) {
            ctx[t] = make_context(&count, t + 1, 1);
            assert_int_equal(lm_curves_fit(ctx[t], gauss, x, N, COLUMNS, keep, COLUMNS, &c[t]),
                             LIMN_OK);
            assert_true(same_curves(&c[0], &c[t]));
        }
        for (int t = 0; t < 3; t++) {
            lm_curves_free(&ctx[t]->mem, &c[t]);
            limn_context_free(ctx[t]);
        }
        assert_int_equal(count.live, 0);
    }
    free(x);
}

typedef struct meter {
    size_t now, peak; /* bytes */
} meter;

enum { HEAD = 16 }; /* bytes before a block, which hold its size */

static void *meter_resize(void *user, void *block, size_t size) {
    meter *m = user;
    size_t before = 0;
    if (block)
        memcpy(&before, (char *)block - HEAD, sizeof before);
    char *moved = realloc(block ? (char *)block - HEAD : NULL, size + HEAD);
    assert_non_null(moved);
    memcpy(moved, &size, sizeof size);
    m->now += size - before;
    m->peak = m->now > m->peak ? m->now : m->peak;
    return moved + HEAD;
}

static void *meter_allocate(void *user, size_t size) {
    return meter_resize(user, NULL, size);
}

static void meter_release(void *user, void *block) {
    meter *m = user;
    size_t size;
    memcpy(&size, (char *)block - HEAD, sizeof size);
    m->now -= size;
    free((char *)block - HEAD);
}

/* Besides some kilobytes: two copies of one column. */
static void test_fitting_takes_two_copies_of_a_column_per_thread(void **state) {
    (void)state;
    static const struct { size_t n, d; } tables[] = {{1000000, 1}, {250000, 4}};
    float *x = malloc(1000000 * sizeof *x);
    limn_context_options options;
    for (size_t i = 0; i < 1000000; i++)
        x[i] = (float)(i * 7 % 1000003);
    for (size_t t = 0; t < LM_COUNT(tables); t++)
        for (size_t k = 0; k < LM_COUNT(kinds); k++) {
            meter m = {0};
            limn_context *ctx = NULL;
            limn_context_options_init(&options);
            options.threads = 1;
            options.allocator = (limn_allocator){meter_allocate, meter_resize, meter_release, &m};
            assert_int_equal(lm_context_make(&options, &ctx), LIMN_OK);
            lm_scaler s = must_fit(ctx, kinds[k], false, x, tables[t].n, tables[t].d);
            assert_true(m.peak <= 2 * tables[t].n * sizeof *x + 65536);
            lm_scaler_free(&ctx->mem, &s);
            limn_context_free(ctx);
            assert_int_equal(m.now, 0);
        }
    free(x);
}

static void test_a_fit_or_copy_that_lacks_memory_leaves_nothing_behind(void **state) {
    (void)state;
    enum { N = 40 };
    float *x = make_table(N);
    for (size_t k = 0; k < LM_COUNT(kinds); k++)
        for (int threads = 1; threads <= 2; threads++) {
            size_t failed = 0;
            counting count = {0};
            limn_context *ctx = make_context(&count, threads, 1);
            long before = count.live;
            for (unsigned n = 1, done = 0; !done; n++) {
                lm_scaler s, copy = {.kind = LIMN_SCALE_NONE};
                lm_scaler_rows rows = {.x = x, .n = N, .d = COLUMNS};
                count.fail_at = n;
                limn_status status = lm_scaler_fit_columns(ctx, kinds[k], false, &rows, &s);
                if (status == LIMN_OK)
                    status = lm_scaler_copy(ctx, &s, &copy);
                done = count.fail_at != 0;
                count.fail_at = 0;
                assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
                assert_true(!done || same_curves(&s.curves, &copy.curves));
                failed += !done;
                lm_scaler_free(&ctx->mem, &copy);
                lm_scaler_free(&ctx->mem, &s);
                assert_int_equal(count.live, before);
            }
            assert_true(failed > 10 && failed < 100);
            limn_context_free(ctx);
            assert_int_equal(count.live, 0);
        }
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted_floats_are_bit_for_bit_those_of_qsort),
        cmocka_unit_test(test_the_ends_of_the_range_of_floats_are_sorted),
        cmocka_unit_test(test_rank_is_the_mid_rank_distribution_function),
        cmocka_unit_test(test_gauss_is_its_normal_quantile_with_unit_variance),
        cmocka_unit_test(test_rank_is_within_1_of_255_at_20000_different_values),
        cmocka_unit_test(test_two_values_are_exactly_one_half_apart_in_rank),
        cmocka_unit_test(test_constant_columns_are_dropped_or_kept_as_x_minus_value),
        cmocka_unit_test(test_one_row_and_equal_rows_keep_all_columns_as_x_minus_value),
        cmocka_unit_test(test_every_answer_is_finite_and_the_curves_rise_through_their_knots),
        cmocka_unit_test(test_undoing_gives_back_the_row_inside_the_range_and_the_ends_outside),
        cmocka_unit_test(test_rows_at_once_are_answered_like_rows_alone),
        cmocka_unit_test(test_every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(test_the_curves_are_the_same_bytes_for_any_number_of_threads),
        cmocka_unit_test(test_fitting_takes_two_copies_of_a_column_per_thread),
        cmocka_unit_test(test_a_fit_or_copy_that_lacks_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("curves of columns", tests, NULL, NULL);
}
