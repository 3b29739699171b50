/* check_num.c: src/num against slow, plain references in double.
 *
 * CHECK_LONG=1 in the environment makes the checks of exp and tanh go through every float.
 * Compiled with -DCHECK_NUM_MAIN it is a program of its own. */
#include "check_num.h"

#include "num/kernel.h"
#include "num/pack.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EPS 0x1p-24 /* half an ulp of 1 */
#define GUARD 12345.5f

static int failures;

#define EXPECT(condition, ...)                                                          \
    do {                                                                                \
        if (!(condition) && failures++ < 10) {                                          \
            printf("  %s:%d [%s] %s: ", __FILE__, __LINE__, lm_isa_name(), #condition); \
            printf(__VA_ARGS__);                                                        \
            printf("\n");                                                               \
        }                                                                               \
    } while (0)

/* ---- helpers ---- */

static limn_context *make_context(const limn_context_options *options) {
    limn_context *ctx = NULL;
    if (lm_context_make(options, &ctx)) {
        printf("  no memory for a context\n");
        exit(1);
    }
    return ctx;
}

static float *make_floats(size_t count) {
    float *values = malloc((count ? count : 1) * sizeof *values);
    if (!values) {
        printf("  no memory\n");
        exit(1);
    }
    return values;
}

static void fill_normal(lm_rng *rng, float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] = (float)lm_rng_normal(rng);
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool long_run(void) {
    const char *text = getenv("CHECK_LONG");
    return text && !strcmp(text, "1");
}

/* The exact value and the error that pack.h allows. */
static double reference(lm_metric metric, const float *x, const float *b, size_t d,
                        double *allowed) {
    double sum = 0, size = 0;
    for (size_t j = 0; j < d; j++) {
        double diff = (double)x[j] - (double)b[j], product = (double)x[j] * (double)b[j];
        sum += metric == LM_DOT ? product : metric == LM_L2 ? diff * diff : fabs(diff);
        size += metric == LM_DOT ? fabs(product) : 0;
    }
    *allowed = metric == LM_DOT ? (double)d * EPS * size : (double)(d + 2) * EPS * sum;
    *allowed += (double)d * 1e-16 * (size + fabs(sum)); /* of this sum itself */
    return sum;
}

/* ---- queries ---- */

typedef struct set {
    size_t n, d, stride;
    float *rows;
    lm_pack pack;
} set;

static set make_set(limn_context *ctx, lm_rng *rng, size_t n, size_t d) {
    set s = {n, d, d + n % 3, NULL, {0}};
    s.rows = make_floats(n * s.stride);
    fill_normal(rng, s.rows, n * s.stride);
    EXPECT(!lm_pack_build(ctx, s.rows, n, d, s.stride, &s.pack), "n %zu d %zu", n, d);
    return s;
}

static void free_set(limn_context *ctx, set *s) {
    free(s->rows);
    lm_pack_free(&ctx->mem, &s->pack);
}

static void compare_query(const set *s, lm_metric metric, const float *x, float *out) {
    size_t room = s->pack.panels * LM_PANEL;
    out[room] = GUARD;
    lm_pack_query(&s->pack, metric, 0, s->pack.panels, x, out);
    EXPECT(out[room] == GUARD, "written past the end, n %zu d %zu", s->n, s->d);
    for (size_t i = 0; i < s->n; i++) {
        double allowed, exact = reference(metric, x, s->rows + i * s->stride, s->d, &allowed);
        EXPECT(fabs((double)out[i] - exact) <= allowed,
               "metric %d n %zu d %zu row %zu: %.9g, not %.9g", (int)metric, s->n, s->d, i,
               (double)out[i], exact);
    }
}

/* Block results, and those of a part of the panels, must have the bits of the single query. */
static void compare_block(const set *s, lm_metric metric, const float *x, size_t m) {
    size_t panels = s->pack.panels, first = panels / 3, count = panels - first;
    size_t x_stride = s->d + m % 2, out_stride = count * LM_PANEL + m % 3;
    float *single = make_floats(panels * LM_PANEL), *out = make_floats(m * out_stride + 1);
    for (size_t i = 0; i < m * out_stride + 1; i++)
        out[i] = GUARD;
    lm_pack_block(&s->pack, metric, first, count, x, x_stride, m, out, out_stride);
    for (size_t q = 0; q < m; q++) {
        lm_pack_query(&s->pack, metric, 0, panels, x + q * x_stride, single);
        const float *part = single + first * LM_PANEL, *row = out + q * out_stride;
        EXPECT(!memcmp(part, row, count * LM_PANEL * sizeof *row),
               "metric %d n %zu d %zu m %zu query %zu: block and single differ", (int)metric, s->n,
               s->d, m, q);
        for (size_t i = count * LM_PANEL; i < out_stride; i++)
            EXPECT(row[i] == GUARD, "written between rows, n %zu d %zu m %zu", s->n, s->d, m);
    }
    EXPECT(out[m * out_stride] == GUARD, "written past the end, n %zu d %zu m %zu", s->n, s->d, m);
    free(single);
    free(out);
}

static void check_shape(limn_context *ctx, size_t n, size_t d, size_t m) {
    lm_rng rng = lm_rng_at(7, n, d);
    set s = make_set(ctx, &rng, n, d);
    float *x = make_floats(m * (d + 1)), *out = make_floats(s.pack.panels * LM_PANEL + 1);
    fill_normal(&rng, x, m * (d + 1));
    for (int metric = LM_DOT; metric <= LM_L1; metric++) {
        compare_query(&s, (lm_metric)metric, x, out);
        compare_block(&s, (lm_metric)metric, x, m);
    }
    free(x);
    free(out);
    free_set(ctx, &s);
}

/* Every d of 1..300 and every n of 1..100 appear, with every m of 1..14. */
static int queries_match_reference(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t d = 1; d <= 300; d++)
        check_shape(ctx, d * 37 % 100 + 1, d, d % 14 + 1);
    for (size_t n = 1; n <= 100; n++)
        check_shape(ctx, n, n * 29 % 75 + 1, n % 14 + 1);
    limn_context_free(ctx);
    return failures;
}

/* Several passes over panels, more chunks than one round, many queries. */
static int large_shapes_match_reference(void) {
    static const size_t shapes[][3] = {{16, 784, 25},  {330, 784, 13}, {2100, 17, 31},
                                       {700, 64, 20},  {40, 8192, 8},  {70, 8193, 14},
                                       {33, 20001, 7}, {17, 20001, 1}, {1000, 128, 3},
                                       {1000, 300, 2}, {129, 2048, 9}};
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t i = 0; i < LM_COUNT(shapes); i++)
        check_shape(ctx, shapes[i][0], shapes[i][1], shapes[i][2]);
    limn_context_free(ctx);
    return failures;
}

/* 1e30 and the largest floats overflow to infinity at worst. */
static int huge_values_give_no_nan(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t d = 1; d <= 130; d += 7) {
        lm_rng rng = lm_rng_at(8, d, 0);
        set s = make_set(ctx, &rng, 37, d);
        float x[130], out[48], b[130];
        for (size_t i = 0; i < s.pack.panels * LM_PANEL * d; i++)
            s.pack.data[i] *= i % 3 ? 1e30f : FLT_MAX / 8;
        for (size_t j = 0; j < d; j++)
            x[j] = j % 2 ? -1e30f : FLT_MAX;
        for (int metric = LM_L2; metric <= LM_L1; metric++) {
            lm_pack_query(&s.pack, (lm_metric)metric, 0, s.pack.panels, x, out);
            for (size_t i = 0; i < s.n; i++)
                EXPECT(out[i] >= 0, "metric %d d %zu row %zu: %g", metric, d, i, (double)out[i]);
        }
        lm_pack_row(&s.pack, 3, b);
        lm_pack_query(&s.pack, LM_L2, 0, s.pack.panels, b, out);
        EXPECT(out[3] == 0, "a row is at distance 0 from itself, not %g", (double)out[3]);
        free_set(ctx, &s);
    }
    limn_context_free(ctx);
    return failures;
}

/* ---- the set ---- */

static int append_equals_build(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t d = 1; d < 70; d += 11) {
        lm_rng rng = lm_rng_at(9, d, 0);
        set s = make_set(ctx, &rng, 100, d);
        lm_pack grown, view;
        float *row = make_floats(d);
        EXPECT(!lm_pack_build(ctx, NULL, 0, d, d, &grown), "empty set");
        for (size_t i = 0; i < s.n; i++) {
            EXPECT(!lm_pack_append(ctx, &grown, s.rows + i * s.stride), "append %zu", i);
            EXPECT(grown.n == i + 1 && grown.panels == i / LM_PANEL + 1, "n %zu", grown.n);
            EXPECT((uintptr_t)grown.data % 64 == 0, "not aligned");
            lm_pack_row(&grown, i / 2, row);
            EXPECT(!memcmp(row, s.rows + i / 2 * s.stride, d * sizeof *row), "row %zu", i / 2);
        }
        size_t floats;
        EXPECT(lm_pack_floats(s.n, d, &floats), "d %zu", d);
        EXPECT(!memcmp(grown.data, s.pack.data, floats * sizeof(float)), "layouts differ");
        lm_pack_view(s.pack.data, 90, d, &view);
        EXPECT(!lm_pack_append(ctx, &view, s.rows + 95 * s.stride), "append to a view");
        EXPECT(view.data != s.pack.data && view.n == 91, "a view is copied");
        lm_pack_row(&view, 90, row);
        EXPECT(!memcmp(row, s.rows + 95 * s.stride, d * sizeof *row), "appended row");
        EXPECT(view.data[5 * d * LM_PANEL + 11] == 0, "places past the last row are zero");
        lm_pack_row(&view, 89, row);
        EXPECT(!memcmp(row, s.rows + 89 * s.stride, d * sizeof *row), "row before it");
        lm_pack_row(&s.pack, 90, row);
        EXPECT(!memcmp(row, s.rows + 90 * s.stride, d * sizeof *row),
               "the viewed set is untouched");
        lm_pack_free(&ctx->mem, &view);
        lm_pack_free(&ctx->mem, &grown);
        free(row);
        free_set(ctx, &s);
    }
    limn_context_free(ctx);
    return failures;
}

static int packing_places_every_value(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t n = 1; n < 70; n++)
        for (size_t d = 1; d < 40; d += n % 5 + 1) {
            lm_rng rng = lm_rng_at(10, n, d);
            set s = make_set(ctx, &rng, n, d);
            for (size_t i = 0; i < s.pack.panels * LM_PANEL; i++)
                for (size_t j = 0; j < d; j++) {
                    size_t at = (i / LM_PANEL * d + j) * LM_PANEL + i % LM_PANEL;
                    float want = i < n ? s.rows[i * s.stride + j] : 0;
                    EXPECT(s.pack.data[at] == want, "n %zu d %zu row %zu feature %zu", n, d, i, j);
                }
            free_set(ctx, &s);
        }
    limn_context_free(ctx);
    return failures;
}

static int norms_are_rounded_once(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t d = 1; d < 300; d += 13) {
        lm_rng rng = lm_rng_at(11, d, 0);
        set s = make_set(ctx, &rng, 41, d);
        float out[42];
        out[41] = GUARD;
        lm_pack_norms(&s.pack, out);
        EXPECT(out[41] == GUARD, "written past n");
        for (size_t i = 0; i < s.n; i++) {
            double sum = 0;
            for (size_t j = 0; j < d; j++) {
                double v = (double)s.rows[i * s.stride + j];
                sum += v * v;
            }
            EXPECT(out[i] == (float)sum, "d %zu row %zu", d, i);
        }
        free_set(ctx, &s);
    }
    limn_context_free(ctx);
    return failures;
}

static size_t allocations_left;

static void *counted_allocate(void *user, size_t size) {
    (void)user;
    return allocations_left-- ? malloc(size) : NULL;
}

static void *counted_resize(void *user, void *block, size_t size) {
    (void)user;
    return allocations_left-- ? realloc(block, size) : NULL;
}

static void counted_release(void *user, void *block) {
    (void)user;
    free(block);
}

static int failures_leave_the_set_as_it_was(void) {
    failures = 0;
    limn_context_options options;
    limn_context_options_init(&options);
    options.allocator = (limn_allocator){counted_allocate, counted_resize, counted_release, NULL};
    allocations_left = 2;
    limn_context *ctx = make_context(&options);
    float rows[16 * 3] = {1, 2, 3};
    lm_pack pack, other;
    size_t floats;
    EXPECT(lm_pack_build(ctx, rows, 16, 0, 0, &pack) == LIMN_E_USAGE, "d 0");
    EXPECT(limn_error(ctx)[0], "no sentence");
    EXPECT(lm_pack_build(ctx, rows, SIZE_MAX / 2, 64, 64, &pack) == LIMN_E_MEMORY, "overflow");
    EXPECT(!pack.data && !pack.n, "not empty");
    EXPECT(!lm_pack_floats(SIZE_MAX, 2, &floats) && !lm_pack_floats(17, SIZE_MAX / 16, &floats),
           "overflow not seen");
    EXPECT(!lm_pack_build(ctx, rows, 16, 3, 3, &pack), "build");
    float *data = pack.data;
    EXPECT(lm_pack_append(ctx, &pack, rows) == LIMN_E_MEMORY, "append without memory");
    EXPECT(pack.n == 16 && pack.panels == 1 && pack.data == data, "changed by a failed append");
    allocations_left = 0;
    EXPECT(lm_pack_build(ctx, rows, 16, 3, 3, &other) == LIMN_E_MEMORY, "build without memory");
    EXPECT(!other.data && !other.n, "not empty");
    lm_pack_free(&ctx->mem, &pack);
    lm_pack_free(&ctx->mem, &other);
    lm_pack_free(&ctx->mem, &other);
    limn_context_free(ctx);
    return failures;
}

static int aligned_memory_is_aligned(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t bytes = 0; bytes < 3u << 20; bytes = bytes * 3 / 2 + 1) {
        unsigned char *block = lm_alloc_aligned(&ctx->mem, bytes, 1);
        size_t align = bytes >= 1u << 20 ? 2u << 20 : 64;
        EXPECT(block && (uintptr_t)block % align == 0, "%zu bytes at %p", bytes, (void *)block);
        if (block)
            memset(block, 0xab, bytes);
        lm_free_aligned(&ctx->mem, block);
    }
    EXPECT(!lm_alloc_aligned(&ctx->mem, SIZE_MAX, 2), "overflow");
    EXPECT(!lm_alloc_aligned(&ctx->mem, SIZE_MAX - 8, 1), "overflow");
    lm_free_aligned(&ctx->mem, NULL);
    limn_context_free(ctx);
    return failures;
}

/* ---- reductions ---- */

/* Values with many ties and, by kind, NaN, infinities and both zeros. */
static void fill_difficult(lm_rng *rng, float *values, size_t n, unsigned kind) {
    static const float special[] = {NAN, INFINITY, -INFINITY, 0.f, -0.f, -NAN, FLT_MAX, 1e-40f};
    for (size_t i = 0; i < n; i++) {
        uint64_t r = lm_rng_next(rng);
        values[i] = (float)(int)(r % (kind % 2 ? 7 : 100000)) - 3.f;
        if (kind & 2 && r >> 32 & 1)
            values[i] = special[(r >> 40) % LM_COUNT(special)];
        if (kind & 4)
            values[i] = NAN;
        if (kind == 10 && i < n / 4 * 3)
            values[i] = NAN;
        if (kind < 10 && kind & 8)
            values[i] = kind & 1 ? (float)i : -(float)i;
    }
}

static size_t plain_argmin(const float *values, size_t n) {
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i]) && (best == n || values[i] < values[best]))
            best = i;
    return best == n ? 0 : best;
}

static int argmin_takes_the_first_and_no_nan(void) {
    failures = 0;
    float buffer[401];
    for (size_t n = 1; n <= 400; n += n < 150 ? 1 : 17)
        for (unsigned kind = 0; kind <= 10; kind++) {
            lm_rng rng = lm_rng_at(12, n, kind);
            float *values = buffer + n % 2;
            fill_difficult(&rng, values, n, kind);
            size_t got = lm_argmin(values, n), want = plain_argmin(values, n);
            EXPECT(got == want, "n %zu kind %u: %zu, not %zu", n, kind, got, want);
        }
    return failures;
}

static int argmin_finds_each_place(void) {
    failures = 0;
    float values[200];
    for (size_t n = 1; n <= 200; n += 3)
        for (size_t at = 0; at < n; at++) {
            for (size_t i = 0; i < n; i++)
                values[i] = i < at ? 1.f : NAN;
            values[at] = -1.f;
            if (at + 1 < n)
                values[n - 1] = -1.f;
            EXPECT(lm_argmin(values, n) == at, "n %zu place %zu", n, at);
        }
    return failures;
}

static int below_lists_what_is_not_above(void) {
    failures = 0;
    float values[400];
    uint32_t index[401];
    static const float bounds[] = {-4.f, 0.f, 2.f, 1e9f, -INFINITY, INFINITY, NAN};
    for (size_t n = 0; n <= 400; n += n < 150 ? 1 : 17)
        for (unsigned kind = 0; kind <= 10; kind++)
            for (size_t b = 0; b < LM_COUNT(bounds); b++) {
                lm_rng rng = lm_rng_at(13, n, kind);
                fill_difficult(&rng, values, n, kind);
                index[n] = 77;
                size_t count = lm_below(values, n, bounds[b], index), at = 0;
                for (size_t i = 0; i < n; i++)
                    if (values[i] <= bounds[b])
                        EXPECT(at < count && index[at++] == i, "n %zu kind %u place %zu", n, kind,
                               i);
                EXPECT(at == count, "n %zu kind %u: %zu, not %zu", n, kind, count, at);
                EXPECT(index[n] == 77, "written past n");
            }
    return failures;
}

static int below_expanded_compares_the_expanded_form(void) {
    failures = 0;
    float dots[400], norms[400];
    uint32_t index[401];
    for (size_t n = 0; n <= 400; n += n < 150 ? 1 : 17)
        for (float bound = -3; bound <= 6; bound += 1.5f) {
            lm_rng rng = lm_rng_at(18, n, 0);
            fill_normal(&rng, dots, n);
            for (size_t i = 0; i < n; i++)
                norms[i] = i % 3 ? dots[i] * dots[i] : 2 * dots[i] + bound; /* ties with it too */
            index[n] = 77;
            size_t count = lm_below_expanded(dots, norms, n, bound, index), at = 0;
            for (size_t i = 0; i < n; i++)
                if (norms[i] - 2 * dots[i] <= bound)
                    EXPECT(at < count && index[at++] == i, "n %zu place %zu", n, i);
            EXPECT(at == count, "n %zu: %zu, not %zu", n, count, at);
            EXPECT(index[n] == 77, "written past n");
        }
    return failures;
}

static bool before(const float *values, uint32_t a, uint32_t b) {
    bool a_nan = isnan(values[a]), b_nan = isnan(values[b]);
    if (a_nan != b_nan)
        return b_nan;
    return a_nan || values[a] == values[b] ? a < b : values[a] < values[b];
}

/* The first k of a plain insertion sort. */
static void plain_smallest(const float *values, size_t n, size_t k, uint32_t *index) {
    size_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = count;
        while (at && before(values, i, index[at - 1])) {
            if (at < k)
                index[at] = index[at - 1];
            at--;
        }
        if (at < k)
            index[at] = i;
        count += count < k;
    }
}

static int smallest_is_a_sorted_prefix(void) {
    failures = 0;
    enum { MAX = 6000 };
    static float values[MAX];
    static uint32_t got[MAX + 1], want[MAX], scratch[MAX + 1];
    static const size_t sizes[] = {1, 2, 3, 17, 63, 64, 65, 255, 256, 257, 300, 777, 1500, MAX};
    for (size_t s = 0; s < LM_COUNT(sizes); s++)
        for (unsigned kind = 0; kind <= 10; kind++) {
            size_t n = sizes[s], ks[] = {0, 1, 2, 10, n / 8, n / 4, n / 2, n};
            lm_rng rng = lm_rng_at(14, n, kind);
            fill_difficult(&rng, values, n, kind);
            for (size_t i = 0; i < LM_COUNT(ks); i++) {
                size_t k = ks[i] < n ? ks[i] : n;
                if (n == MAX && k > 10 && k != n / 8)
                    continue;
                got[k] = scratch[n] = 77;
                lm_smallest(values, n, k, got, scratch);
                plain_smallest(values, n, k, want);
                EXPECT(!memcmp(got, want, k * sizeof *got), "n %zu k %zu kind %u", n, k, kind);
                EXPECT(got[k] == 77 && scratch[n] == 77, "written past the end");
            }
        }
    return failures;
}

static int segments_have_their_own_argmin(void) {
    failures = 0;
    enum { SEGMENTS = 60 };
    for (unsigned kind = 0; kind <= 10; kind++) {
        lm_rng rng = lm_rng_at(15, kind, 0);
        uint32_t start[SEGMENTS + 1] = {3}, index[SEGMENTS + 1];
        for (size_t s = 0; s < SEGMENTS; s++)
            start[s + 1] = start[s] + (uint32_t)(s % 5 == 2 ? 0 : lm_rng_below(&rng, 40));
        float *values = make_floats(start[SEGMENTS]);
        fill_difficult(&rng, values, start[SEGMENTS], kind);
        index[SEGMENTS] = 77;
        lm_segment_argmin(values, start, SEGMENTS, index);
        EXPECT(index[SEGMENTS] == 77, "written past the end");
        for (size_t s = 0; s < SEGMENTS; s++) {
            size_t n = start[s + 1] - start[s];
            uint32_t want = UINT32_MAX;
            if (n)
                want = start[s] + (uint32_t)plain_argmin(values + start[s], n);
            EXPECT(index[s] == want, "kind %u segment %zu: %u, not %u", kind, s, index[s], want);
        }
        lm_segment_argmin(values, start, 0, index);
        free(values);
    }
    return failures;
}

/* ---- transforms ---- */

enum { CHUNK = 4096 };

/* Applies f to every step-th float of bits first..last and returns the largest of
 * (|f - exact| - slack) / |exact|. */
static double worst_error(uint32_t first, uint32_t last, uint32_t step, void (*f)(float *, size_t),
                          double (*exact)(double), double slack, float *where) {
    static float in[CHUNK], out[CHUNK];
    double worst = 0;
    for (uint64_t bits = first; bits <= last;) {
        size_t count = 0;
        for (; count < CHUNK && bits <= last; bits += step)
            in[count++] = float_of((uint32_t)bits);
        memcpy(out, in, count * sizeof *in);
        f(out, count);
        for (size_t i = 0; i < count; i++) {
            double want = exact((double)in[i]), off = fabs((double)out[i] - want) - slack;
            double error = off <= 0 ? 0 : off / fabs(want);
            if (!(error <= worst)) {
                worst = isnan(error) ? INFINITY : error;
                *where = in[i];
            }
        }
    }
    return worst;
}

static void say(const char *what, double worst, float where) {
    if (getenv("CHECK_VERBOSE"))
        printf("  [%s] %s: %.4g at %a\n", lm_isa_name(), what, worst, (double)where);
}

static int exp_keeps_its_bound(void) {
    failures = 0;
    uint32_t step = long_run() ? 1 : 61, minus = 0x80000000u;
    float where = 0;
    double worst = worst_error(minus, minus | bits_of(87.3f), step, lm_exp, exp, 0, &where);
    say("exp, negative", worst, where);
    EXPECT(worst <= LM_EXP_ERROR, "%g at %a", worst, (double)where);
    worst = worst_error(0, bits_of(88.7228317f), step, lm_exp, exp, 0, &where);
    say("exp, positive", worst, where);
    EXPECT(worst <= LM_EXP_ERROR, "%g at %a", worst, (double)where);
    worst = worst_error(minus | bits_of(87.3f), minus | bits_of(FLT_MAX), step, lm_exp, exp, 2e-38,
                        &where);
    EXPECT(worst <= LM_EXP_ERROR, "underflow at %a", (double)where);
    float values[] = {0.f,
                      -0.f,
                      INFINITY,
                      -INFINITY,
                      0x1.62e430p+6f,
                      89.f,
                      FLT_MAX,
                      -FLT_MAX,
                      NAN,
                      float_of(0x7fc12345),
                      float_of(0xffc00001),
                      1e-45f,
                      -1e-45f,
                      0x1.62e42ep+6f};
    lm_exp(values, LM_COUNT(values));
    EXPECT(values[0] == 1 && values[1] == 1, "exp(0) = %g", (double)values[0]);
    EXPECT(values[2] == INFINITY && values[3] == 0, "infinities");
    EXPECT(values[4] == INFINITY && values[5] == INFINITY && values[6] == INFINITY, "overflow");
    EXPECT(values[7] == 0, "underflow");
    EXPECT(isnan(values[8]) && isnan(values[9]) && isnan(values[10]), "NaN");
    EXPECT(values[11] == 1 && values[12] == 1, "denormals");
    EXPECT(isfinite(values[13]), "the last finite exponential: %g", (double)values[13]);
    return failures;
}

static void plain_tanh(float *values, size_t n) {
    lm_sigmoid(values, n, 1.f, 0.f);
}

static int tanh_keeps_its_bound(void) {
    failures = 0;
    uint32_t step = long_run() ? 1 : 121;
    float where = 0;
    double worst = worst_error(1, bits_of(100.f), step, plain_tanh, tanh, 0, &where);
    say("tanh", worst, where);
    EXPECT(worst <= LM_TANH_ERROR, "%g at %a", worst, (double)where);
    worst =
        worst_error(0x80000001u, 0x80000000u | bits_of(100.f), step, plain_tanh, tanh, 0, &where);
    EXPECT(worst <= LM_TANH_ERROR, "%g at %a", worst, (double)where);
    float values[] = {0.f, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 50.f, -50.f, NAN};
    plain_tanh(values, LM_COUNT(values));
    EXPECT(values[0] == 0 && values[1] == 1 && values[2] == -1 && values[3] == 1 &&
               values[4] == -1 && values[5] == 1 && values[6] == -1 && isnan(values[7]),
           "saturation");
    return failures;
}

/* The error of the argument t carries over as |t| roundings. */
static void check_kernels(const float *in, size_t n, float gamma, float coef0, unsigned degree) {
    float rbf[100], poly[100], sigmoid[100];
    memcpy(rbf, in, n * sizeof *in);
    memcpy(poly, in, n * sizeof *in);
    memcpy(sigmoid, in, n * sizeof *in);
    rbf[n] = poly[n] = sigmoid[n] = GUARD;
    lm_rbf(rbf, n, gamma);
    lm_poly(poly, n, gamma, coef0, degree);
    lm_sigmoid(sigmoid, n, gamma, coef0);
    EXPECT(rbf[n] == GUARD && poly[n] == GUARD && sigmoid[n] == GUARD, "written past n %zu", n);
    for (size_t i = 0; i < n; i++) {
        double t = (double)gamma * (double)in[i], size = fabs(t) + fabs((double)coef0);
        double want = exp(-t), allowed = want * (LM_EXP_ERROR + 1.01 * EPS * fabs(t)) + 2e-38;
        EXPECT(fabs((double)rbf[i] - want) <= allowed, "rbf(%g): %g", t, (double)rbf[i]);
        want = pow(t + (double)coef0, degree);
        allowed = 4.0 * degree * EPS * pow(size, degree);
        EXPECT(fabs((double)poly[i] - want) <= allowed, "poly(%g): %g", t, (double)poly[i]);
        want = tanh(t + (double)coef0);
        allowed = LM_TANH_ERROR * fabs(want) + 2 * EPS * size;
        EXPECT(fabs((double)sigmoid[i] - want) <= allowed, "sigmoid(%g): %g", t,
               (double)sigmoid[i]);
    }
}

static int kernels_match_reference(void) {
    failures = 0;
    for (size_t n = 0; n < 70; n++) {
        lm_rng rng = lm_rng_at(16, n, 0);
        float in[100];
        fill_normal(&rng, in, n);
        for (unsigned degree = 0; degree < 9; degree++)
            check_kernels(in, n, 0.25f + (float)degree, (float)(degree % 3) - 0.5f, degree);
    }
    float far[] = {INFINITY, FLT_MAX, 1e38f, 0.f}, flat[] = {INFINITY, 1.f};
    lm_rbf(far, 4, 1e10f);
    EXPECT(far[0] == 0 && far[1] == 0 && far[2] == 0 && far[3] == 1, "huge distances give 0");
    lm_rbf(flat, 2, 0.f);
    EXPECT(flat[0] == 1 && flat[1] == 1, "gamma 0 gives 1");
    return failures;
}

static int cosine_matches_reference(void) {
    failures = 0;
    for (size_t n = 0; n < 70; n++) {
        lm_rng rng = lm_rng_at(17, n, 0);
        float dots[71], norms[70], got[71];
        for (size_t i = 0; i < n; i++) {
            norms[i] = i % 9 == 4 ? 0.f : (float)lm_rng_unit(&rng) * 9 + 0.1f;
            dots[i] = (float)lm_rng_normal(&rng);
        }
        for (int zero = 0; zero < 2; zero++) {
            float x_norm = zero ? 0.f : 2.5f;
            memcpy(got, dots, n * sizeof *got);
            got[n] = GUARD;
            lm_cosine(got, n, norms, x_norm);
            EXPECT(got[n] == GUARD, "written past n %zu", n);
            for (size_t i = 0; i < n; i++) {
                double size = sqrt((double)norms[i]) * sqrt((double)x_norm);
                double want = size > 0 ? 1 - (double)dots[i] / size : 1;
                double allowed = size > 0 ? EPS * (4 * fabs(want - 1) + 1) : 0;
                EXPECT(fabs((double)got[i] - want) <= allowed, "%g, not %g", (double)got[i], want);
            }
        }
    }
    return failures;
}

/* ---- the instruction set ---- */

/* In a child process, since the choice is made once. */
static bool child_sees(const char *value, const char *name, bool valid) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (value)
            setenv("LIMN_ISA", value, 1);
        else
            unsetenv("LIMN_ISA");
        _exit(!strcmp(lm_isa_name(), name) && lm_isa_valid() == valid ? 0 : 1);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int environment_chooses_the_isa(void) {
    failures = 0;
    const char *best = lm_isa_at(0), *name, *last = best;
    EXPECT(child_sees(NULL, best, true), "the best one is the default");
    EXPECT(child_sees("", best, true), "empty is as unset");
    EXPECT(child_sees("sse9", best, false), "an unknown one is refused, the best one used");
    for (size_t i = 0; (name = lm_isa_at(i)); i++) {
        EXPECT(child_sees(name, name, true), "%s", name);
        last = name;
    }
    EXPECT(child_sees("baseline", last, true), "baseline is everywhere");
    EXPECT(!lm_isa_use("sse9"), "an unknown one is refused");
    return failures;
}

const check check_num[] = {
    {"environment_chooses_the_isa", environment_chooses_the_isa, 0},
    {"aligned_memory_is_aligned", aligned_memory_is_aligned, 0},
    {"packing_places_every_value", packing_places_every_value, 1},
    {"append_equals_build", append_equals_build, 1},
    {"failures_leave_the_set_as_it_was", failures_leave_the_set_as_it_was, 0},
    {"norms_are_rounded_once", norms_are_rounded_once, 1},
    {"queries_match_reference_and_blocks_match_queries", queries_match_reference, 1},
    {"large_shapes_match_reference", large_shapes_match_reference, 1},
    {"huge_values_give_no_nan", huge_values_give_no_nan, 1},
    {"argmin_takes_the_first_and_no_nan", argmin_takes_the_first_and_no_nan, 1},
    {"argmin_finds_each_place", argmin_finds_each_place, 1},
    {"below_lists_what_is_not_above", below_lists_what_is_not_above, 1},
    {"below_expanded_compares_the_expanded_form", below_expanded_compares_the_expanded_form, 1},
    {"smallest_is_a_sorted_prefix", smallest_is_a_sorted_prefix, 1},
    {"segments_have_their_own_argmin", segments_have_their_own_argmin, 1},
    {"exp_keeps_its_bound", exp_keeps_its_bound, 1},
    {"tanh_keeps_its_bound", tanh_keeps_its_bound, 1},
    {"kernels_match_reference", kernels_match_reference, 1},
    {"cosine_matches_reference", cosine_matches_reference, 1},
    {NULL, NULL, 0},
};

int check_num_run(const check *one) {
    if (!one->per_isa)
        return one->run();
    int total = 0;
    const char *before_it = lm_isa_name(), *name;
    for (size_t i = 0; (name = lm_isa_at(i)); i++)
        total += lm_isa_use(name) ? one->run() : 1;
    lm_isa_use(before_it);
    return total;
}

#ifdef CHECK_NUM_MAIN
int main(void) {
    int total = 0;
    for (const check *c = check_num; c->name; c++) {
        int count = check_num_run(c);
        printf("%s %s\n", count ? "FAILED" : "ok    ", c->name);
        total += count;
    }
    return total != 0;
}
#endif
