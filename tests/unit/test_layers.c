/* Networks of relu layers (num/layers) on every instruction set against plain loops in double: what
 * they answer, how they are stored, how much they multiply, and which output is the largest. */
#include "num/layers.h"
#include "num/pack.h"
#include "support.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = LM_LAYERS_TILE };

/* ---- networks ---- */

typedef struct world {
    size_t count;
    size_t size[LM_LAYERS_MAX + 1];
    float *weight[LM_LAYERS_MAX], *bias[LM_LAYERS_MAX]; /* as lm_layer_pack takes them */
    size_t floats;
    float *data;
    lm_layers net;
    void *scratch;
    limn_context *ctx;
} world;

static void draw_layer(world *w, size_t l, bool whole, lm_rng *rng) {
    size_t in = w->size[l], out = w->size[l + 1];
    w->weight[l] = malloc(in * out * sizeof(float));
    w->bias[l] = malloc(out * sizeof(float));
    double spread = sqrt(2.0 / (double)in);
    for (size_t i = 0; i < in * out; i++)
        w->weight[l][i] =
            whole ? (float)lm_rng_below(rng, 5) - 2.f : (float)(spread * lm_rng_normal(rng));
    for (size_t o = 0; o < out; o++)
        w->bias[l][o] = whole ? (float)lm_rng_below(rng, 5) - 2.f : (float)lm_rng_normal(rng);
}

/* whole: of small whole numbers, whose sums are not rounded. */
static void world_open(world *w, const size_t *sizes, size_t count, bool whole) {
    *w = (world){.count = count, .ctx = make_context(NULL, 1, 1)};
    memcpy(w->size, sizes, (count + 1) * sizeof *sizes);
    lm_rng rng = lm_rng_at(sizes[0], sizes[1], sizes[count] + 100 * count);
    assert_true(lm_layers_floats(sizes, count, &w->floats));
    assert_int_equal(w->floats % LM_LAYER_PANEL, 0);
    w->data = malloc(w->floats * sizeof *w->data);
    lm_layers_view(sizes, count, w->data, &w->net);
    for (size_t l = 0; l < count; l++) {
        const lm_layer *layer = &w->net.layer[l];
        draw_layer(w, l, whole, &rng);
        lm_layer_pack(layer, w->weight[l], w->bias[l], l + 1 == count,
                      w->data + (layer->bias - w->data));
    }
    lm_cursor at = lm_cursor_at(NULL);
    lm_layers_scratch(&w->net, ROWS, &at);
    w->scratch = lm_alloc_measured(&w->ctx->mem, &at);
    assert_non_null(w->scratch);
}

static void world_close(world *w) {
    for (size_t l = 0; l < w->count; l++) {
        free(w->weight[l]);
        free(w->bias[l]);
    }
    free(w->data);
    lm_free_aligned(&w->ctx->mem, w->scratch);
    limn_context_free(w->ctx);
}

/* What plain loops find. */
typedef struct slow {
    double out[512];   /* outputs */
    double size[512];  /* what their terms add up to if all are positive */
    double least_work; /* multiply-adds of inputs that are not 0, */
    double most_work;  /* and if lists are rounded up to multiples of eight */
} slow;

static void slow_layer(const world *w, size_t l, const double *in, const double *in_size,
                       slow *to) {
    size_t inputs = w->size[l], outputs = w->size[l + 1], listed = 0;
    for (size_t i = 0; i < inputs; i++)
        listed += in[i] != 0;
    for (size_t o = 0; o < outputs; o++) {
        to->out[o] = (double)w->bias[l][o];
        to->size[o] = fabs(to->out[o]);
        for (size_t i = 0; i < inputs; i++) {
            double weight = (double)w->weight[l][i * outputs + o];
            to->out[o] += weight * in[i];
            to->size[o] += fabs(weight) * in_size[i];
        }
    }
    bool single = l > 0 && l + 1 == w->count && outputs == 1;
    to->least_work += (double)(listed * outputs);
    to->most_work += (double)((single ? inputs : (listed + 7) / 8 * 8) * outputs);
}

static void slow_run(const world *w, const float *x, slow *to) {
    double in[512], size[512];
    to->least_work = to->most_work = 0;
    for (size_t i = 0; i < w->size[0]; i++) {
        in[i] = fmin(fmax((double)x[i], -(double)LM_LAYER_FAR), (double)LM_LAYER_FAR);
        size[i] = fabs(in[i]);
    }
    for (size_t l = 0; l < w->count; l++) {
        slow_layer(w, l, in, size, to);
        for (size_t o = 0; o < w->size[l + 1]; o++) {
            in[o] = fmax(to->out[o], 0);
            size[o] = to->size[o];
        }
    }
}

/* ---- answers ---- */

static void use_isa(size_t index) {
    assert_true(lm_isa_use(lm_isa_at(index)));
}

static void check_padding(const world *w, const float *out, size_t m) {
    size_t stride = lm_layers_stride(&w->net), outputs = lm_layers_outputs(&w->net);
    bool written = !w->net.layer[w->count - 1].single;
    for (size_t q = 0; q < m && written; q++)
        for (size_t o = outputs; o < stride; o++)
            assert_true(out[q * stride + o] == -FLT_MAX);
}

/* One row at a time, in memory of exactly its size, against loops; then m rows at once against
 * single ones, bit for bit. x: ROWS rows, `stride` floats apart. */
static void check_rows(const world *w, const float *x, size_t x_stride, double tolerance) {
    size_t stride = lm_layers_stride(&w->net), outputs = w->size[w->count];
    float *one = calloc(ROWS * stride, sizeof *one);
    for (size_t q = 0; q < ROWS; q++) {
        static slow expected;
        float *row = malloc(w->size[0] * sizeof *row);
        memcpy(row, x + q * x_stride, w->size[0] * sizeof *row);
        lm_layers_run(&w->net, row, 0, 1, one + q * stride, NULL, w->scratch);
        slow_run(w, row, &expected);
        for (size_t o = 0; o < outputs; o++)
            if (!(fabs((double)one[q * stride + o] - expected.out[o]) <=
                  tolerance * expected.size[o]))
                fail_msg("%s, inputs %zu, layers %zu, output %zu of %zu: %g, not %g", lm_isa_name(),
                         w->size[0], w->count, o, outputs, (double)one[q * stride + o],
                         expected.out[o]);
        free(row);
    }
    check_padding(w, one, ROWS);
    for (size_t m = 1; m <= ROWS; m++) {
        float *many = calloc(m * stride, sizeof *many);
        lm_layers_run(&w->net, x, x_stride, m, many, NULL, w->scratch);
        assert_memory_equal(many, one, m * stride * sizeof *many);
        free(many);
    }
    free(one);
}

typedef enum filling { NORMAL, MANY_ZEROS, ALL_ZEROS, HUGE_ONES, FILLINGS } filling;

static float draw_input(filling how, lm_rng *rng) {
    float value = (float)lm_rng_normal(rng);
    uint64_t kind = lm_rng_below(rng, 10);
    if (how == ALL_ZEROS || (how == MANY_ZEROS && kind < 8))
        return kind % 2 ? -0.f : 0.f;
    if (how == HUGE_ONES && kind < 3)
        return value < 0 ? -1e38f : 1e38f;
    return value;
}

static float *draw_inputs(size_t n, filling how) {
    lm_rng rng = lm_rng_at(n, 5, how);
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = draw_input(how, &rng);
    return x;
}

static void check_net(const size_t *sizes, size_t count) {
    world w;
    world_open(&w, sizes, count, false);
    assert_int_equal(lm_layers_inputs(&w.net), sizes[0]);
    assert_int_equal(lm_layers_outputs(&w.net), sizes[count]);
    size_t x_stride = sizes[0] + 3;
    for (filling how = 0; how < FILLINGS; how++) {
        float *x = draw_inputs(ROWS * x_stride, how);
        for (size_t i = 0; lm_isa_at(i); i++) {
            use_isa(i);
            check_rows(&w, x, x_stride, 1e-6 * (double)count);
        }
        free(x);
    }
    use_isa(0);
    world_close(&w);
}

static const size_t hidden_sizes[] = {1,  2,  7,   8,   9,   15,  16,  17,  32,  33,  47, 48,
                                      49, 64, 100, 112, 127, 128, 129, 144, 200, 256, 300};
static const size_t output_sizes[] = {1, 2, 3, 16, 17, 40};

static void test_every_width_of_one_hidden_layer_equals_loops(void **state) {
    (void)state;
    for (size_t h = 0; h < LM_COUNT(hidden_sizes); h++) {
        size_t sizes[] = {1 + 7 * h % 70, hidden_sizes[h], output_sizes[h % 6]};
        check_net(sizes, 2);
    }
}

static void test_random_networks_equal_loops(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(3, 1, 1);
    for (size_t i = 0; i < 32; i++) {
        size_t sizes[LM_LAYERS_MAX + 1], count = 1 + i % LM_LAYERS_MAX;
        sizes[0] = 1 + lm_rng_below(&rng, 70);
        for (size_t l = 1; l < count; l++)
            sizes[l] = l % 2 ? hidden_sizes[lm_rng_below(&rng, LM_COUNT(hidden_sizes))]
                             : 1 + lm_rng_below(&rng, 60);
        sizes[count] = output_sizes[i % 6];
        check_net(sizes, count);
    }
}

/* A hidden layer of one unit is not the single output of the network. */
static void test_hidden_layers_of_one_unit_equal_loops(void **state) {
    static const size_t sizes[][4] = {
        {5, 1, 1, 1}, {5, 1, 3, 2}, {20, 8, 1, 17}, {20, 130, 1, 1}, {3, 1, 1, 40}};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(sizes); i++)
        for (size_t count = 1; count <= 3; count++)
            check_net(sizes[i], count);
}

/* Of whole numbers nothing is rounded, so that every instruction set gives the same; multiply-adds
 * are counted of what is listed, and lists are rounded up to eight. */
static void test_networks_of_whole_numbers_are_exact_and_their_work_is_counted(void **state) {
    static const size_t sizes[][4] = {
        {9, 20, 3, 0}, {64, 129, 1, 0}, {17, 30, 8, 5}, {40, 16, 0, 0}};
    static const size_t counts[] = {2, 2, 3, 1};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(sizes) * 4; i++) {
        world w;
        static slow expected;
        float x[64], out[64];
        lm_rng rng = lm_rng_at(7, i, 1);
        world_open(&w, sizes[i / 4], counts[i / 4], true);
        for (size_t j = 0; j < 64; j++)
            x[j] = lm_rng_below(&rng, 4) >= i % 4 ? 0.f : (float)lm_rng_below(&rng, 7) - 3.f;
        slow_run(&w, x, &expected);
        for (size_t isa = 0; lm_isa_at(isa); isa++) {
            double work = 1000;
            use_isa(isa);
            lm_layers_run(&w.net, x, 64, 1, out, &work, w.scratch);
            for (size_t o = 0; o < w.size[w.count]; o++)
                assert_true((double)out[o] == expected.out[o]);
            assert_true(work >= 1000 + expected.least_work && work <= 1000 + expected.most_work);
        }
        use_isa(0);
        world_close(&w);
    }
}

static void test_the_work_of_many_is_that_of_each(void **state) {
    static const size_t sizes[] = {30, 40, 20, 3};
    (void)state;
    world w;
    float *x = draw_inputs((size_t)ROWS * 30, MANY_ZEROS), out[ROWS * 16];
    world_open(&w, sizes, 3, false);
    assert_true(lm_layers_work(&w.net) == 30 * 40 + 40 * 20 + 20 * 3);
    for (size_t isa = 0; lm_isa_at(isa); isa++) {
        double all = 0, each = 0;
        use_isa(isa);
        lm_layers_run(&w.net, x, 30, ROWS, out, &all, w.scratch);
        for (size_t q = 0; q < ROWS; q++)
            lm_layers_run(&w.net, x + q * 30, 30, 1, out, &each, w.scratch);
        assert_true(all == each && all > 0);
    }
    use_isa(0);
    world_close(&w);
    free(x);
}

/* -0 is 0, and what is beyond LM_LAYER_FAR is there. */
static void test_inputs_are_cut_and_minus_zero_is_zero(void **state) {
    static const float given[] = {1, -0.f, 1e38f, -1e38f, INFINITY, -INFINITY, 2e12f, 0.5f};
    static const float taken[] = {1, 0, 1e12f, -1e12f, 1e12f, -1e12f, 1e12f, 0.5f};
    static const size_t sizes[][3] = {{8, 20, 3}, {8, 200, 1}};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(sizes); i++) {
        world w;
        world_open(&w, sizes[i], 2, false);
        for (size_t isa = 0; lm_isa_at(isa); isa++) {
            float a[16] = {0}, b[16] = {0};
            use_isa(isa);
            lm_layers_run(&w.net, given, 8, 1, a, NULL, w.scratch);
            lm_layers_run(&w.net, taken, 8, 1, b, NULL, w.scratch);
            assert_memory_equal(a, b, sizeof a);
            assert_true(isfinite(a[0]));
        }
        use_isa(0);
        world_close(&w);
    }
}

/* ---- storage ---- */

/* Every float is a weight or a bias, or padding whose damage is seen. */
static void test_damaged_padding_is_found(void **state) {
    static const size_t sizes[][4] = {{3, 17, 1, 0}, {5, 130, 3, 0}, {20, 16, 1, 9}, {2, 1, 0, 0}};
    static const size_t counts[] = {2, 2, 3, 1};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(sizes); i++) {
        world w;
        size_t used = 0, found = 0;
        world_open(&w, sizes[i], counts[i], false);
        for (size_t l = 0; l < w.count; l++)
            used += (w.size[l] + 1) * w.size[l + 1];
        for (size_t f = 0; f < w.floats; f++) {
            float kept = w.data[f];
            bool fine = true;
            w.data[f] = 3;
            for (size_t l = 0; l < w.count; l++)
                fine &= lm_layer_padded(&w.net.layer[l], l + 1 == w.count);
            found += !fine;
            w.data[f] = kept;
        }
        assert_int_equal(found, w.floats - used);
        for (size_t l = 0; l < w.count; l++)
            assert_true(lm_layer_padded(&w.net.layer[l], l + 1 == w.count));
        world_close(&w);
    }
}

static void test_sizes_that_overflow_are_refused(void **state) {
    static const size_t sizes[][3] = {{SIZE_MAX, 2, 2},     {2, SIZE_MAX, 2},
                                      {2, 2, SIZE_MAX},     {SIZE_MAX / 16, 17, 2},
                                      {2, SIZE_MAX - 3, 1}, {SIZE_MAX / 32 + 1, 32, 1},
                                      {1, SIZE_MAX / 2, 1}, {SIZE_MAX / 16, 16, SIZE_MAX / 32}};
    (void)state;
    size_t floats;
    for (size_t i = 0; i < LM_COUNT(sizes); i++)
        assert_false(lm_layers_floats(sizes[i], 2, &floats));
    size_t fits[] = {SIZE_MAX / 64, 16, 1};
    assert_true(lm_layers_floats(fits, 2, &floats));
    assert_true(floats == SIZE_MAX / 64 * 16 + 16 + 16 + 16);
}

/* ---- the largest ---- */

static lm_best slow_best(const float *out, size_t n) {
    float second = -FLT_MAX;
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (out[i] >= -FLT_MAX && (best == n || out[i] > out[best]))
            best = i;
    if (best == n || n < 2)
        return (lm_best){0, 0};
    for (size_t i = 0; i < n; i++)
        if (i != best && out[i] > second)
            second = out[i];
    return (lm_best){best, out[best] - second};
}

static void check_best(const float *values, size_t n) {
    size_t width = lm_layer_width(n);
    float *out = malloc(width * sizeof *out);
    for (size_t i = 0; i < width; i++)
        out[i] = i < n ? values[i] : -FLT_MAX;
    lm_best expected = slow_best(values, n);
    for (size_t isa = 0; lm_isa_at(isa); isa++) {
        use_isa(isa);
        lm_best found = lm_layers_best(out, n);
        if (found.index != expected.index || found.gap != expected.gap)
            fail_msg("%s, %zu outputs: %zu by %g, not %zu by %g", lm_isa_name(), n, found.index,
                     (double)found.gap, expected.index, (double)expected.gap);
    }
    use_isa(0);
    free(out);
}

static void test_the_largest_of_random_outputs_is_found(void **state) {
    (void)state;
    float out[70];
    lm_rng rng = lm_rng_at(4, 1, 1);
    for (size_t n = 1; n <= 70; n++)
        for (size_t i = 0; i < 60; i++) {
            for (size_t o = 0; o < n; o++) /* every other time with many ties */
                out[o] = i % 2 ? (float)lm_rng_normal(&rng) : (float)lm_rng_below(&rng, 1 + i / 2);
            check_best(out, n);
        }
}

static void test_the_largest_among_numbers_that_are_not_finite_is_found(void **state) {
    static const float odd[] = {NAN, -FLT_MAX, FLT_MAX, 0, -0.f, 1, -1, INFINITY};
    (void)state;
    float out[40];
    lm_rng rng = lm_rng_at(5, 1, 1);
    for (size_t n = 1; n <= 40; n++)
        for (size_t i = 0; i < 80; i++) {
            size_t kinds = 1 + i % LM_COUNT(odd);
            for (size_t o = 0; o < n; o++)
                out[o] = odd[lm_rng_below(&rng, kinds)];
            lm_best two = slow_best(out, n);
            if (isnan(two.gap)) /* of two infinities */
                out[two.index] = 3;
            if (!isnan(slow_best(out, n).gap))
                check_best(out, n);
        }
}

/* ---- scaling ---- */

static void test_shifted_rows_are_those_of_a_loop(void **state) {
    (void)state;
    for (size_t n = 1; n <= 40; n++) {
        float x[40], centre[40], unit[40];
        lm_rng rng = lm_rng_at(6, n, 1);
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)(1e6 * lm_rng_normal(&rng));
            centre[i] = (float)(1e6 * lm_rng_normal(&rng));
            unit[i] = (float)lm_rng_normal(&rng);
        }
        for (size_t isa = 0; lm_isa_at(isa); isa++) {
            float *out = malloc(n * sizeof *out);
            use_isa(isa);
            lm_layers_shift(x, centre, unit, n, out);
            for (size_t i = 0; i < n; i++)
                assert_true(out[i] == (x[i] - centre[i]) * unit[i]);
            free(out);
        }
    }
    use_isa(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_width_of_one_hidden_layer_equals_loops),
        cmocka_unit_test(test_random_networks_equal_loops),
        cmocka_unit_test(test_hidden_layers_of_one_unit_equal_loops),
        cmocka_unit_test(test_networks_of_whole_numbers_are_exact_and_their_work_is_counted),
        cmocka_unit_test(test_the_work_of_many_is_that_of_each),
        cmocka_unit_test(test_inputs_are_cut_and_minus_zero_is_zero),
        cmocka_unit_test(test_damaged_padding_is_found),
        cmocka_unit_test(test_sizes_that_overflow_are_refused),
        cmocka_unit_test(test_the_largest_of_random_outputs_is_found),
        cmocka_unit_test(test_the_largest_among_numbers_that_are_not_finite_is_found),
        cmocka_unit_test(test_shifted_rows_are_those_of_a_loop),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
