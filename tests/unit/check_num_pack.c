/* check_num_pack.c: packed sets of src/num against plain references in double: their layout, their
 * memory, and the distances and products of queries. */
#include "check_num_world.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The exact value and the error that pack.h allows. */
static double reference(lm_metric metric, const float *x, const float *b, size_t d,
                        double *allowed) {
    double sum = 0, size = 0;
    for (size_t j = 0; j < d; j++) {
        double diff = (double)x[j] - (double)b[j], total = (double)x[j] + (double)b[j];
        double terms[] = {(double)x[j] * (double)b[j], diff * diff, fabs(diff),
                          total > 0 ? diff * diff / total : 0, fmin((double)x[j], (double)b[j])};
        sum += terms[metric];
        size += fabs(terms[metric]);
    }
    size_t roundings[] = {d, d + 2, d + 2, d + 5, d};
    *allowed = (double)roundings[metric] * EPS * size;
    *allowed += (double)d * 1e-16 * (size + fabs(sum)); /* rounding of this sum itself */
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

/* Results in blocks, and of some of the panels, must equal the single query bit for bit. */
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

/* No feature is below 0, and half of them are 0. */
static void make_histograms(limn_context *ctx, set *s, float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = fmaxf(x[i], 0);
    for (size_t i = 0; i < s->n * s->stride; i++)
        s->rows[i] = fmaxf(s->rows[i], 0);
    lm_pack_free(&ctx->mem, &s->pack);
    EXPECT(!lm_pack_build(ctx, s->rows, s->n, s->d, s->stride, &s->pack), "n %zu", s->n);
}

static void check_shape(limn_context *ctx, size_t n, size_t d, size_t m) {
    lm_rng rng = lm_rng_at(7, n, d);
    set s = make_set(ctx, &rng, n, d);
    float *x = make_floats(m * (d + 1)), *out = make_floats(s.pack.panels * LM_PANEL + 1);
    fill_normal(&rng, x, m * (d + 1));
    for (int metric = LM_DOT; metric <= LM_MIN; metric++) {
        if (metric == LM_CHI2)
            make_histograms(ctx, &s, x, m * (d + 1));
        compare_query(&s, (lm_metric)metric, x, out);
        compare_block(&s, (lm_metric)metric, x, m);
    }
    free(x);
    free(out);
    free_set(ctx, &s);
}

/* Every d of 1..300 and every n of 1..100 appear, with every m of 1..14. */
int queries_match_reference(void) {
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
int large_shapes_match_reference(void) {
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
int huge_values_give_no_nan(void) {
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
        for (int metric = LM_L2; metric <= LM_CHI2; metric++) {
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

static float chi2_of(limn_context *ctx, float x, float b) {
    lm_pack pack;
    float out[LM_PANEL], block[2 * LM_PANEL], both[2] = {x, x};
    EXPECT(!lm_pack_build(ctx, &b, 1, 1, 1, &pack), "no memory");
    lm_pack_query(&pack, LM_CHI2, 0, 1, &x, out);
    lm_pack_block(&pack, LM_CHI2, 0, 1, both, 1, 2, block, LM_PANEL);
    EXPECT(!memcmp(out, block, sizeof out), "single and block differ for %g, %g", (double)x,
           (double)b);
    lm_pack_free(&ctx->mem, &pack);
    return out[0];
}

/* Features below 0, and those whose sum or difference overflows or is subnormal. */
int chi2_divides_by_no_0(void) {
    static const float values[] = {0,      -0.f,    1,         -1,        0x1p-149f, -0x1p-149f,
                                   3e-38f, -3e-38f, 0x1p-128f, 1.25e-38f, 3e38f,     -3e38f,
                                   1e38f,  -1e38f,  FLT_MAX,   -FLT_MAX,  0x1p126f,  -1.0000001f};
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t i = 0; i < LM_COUNT(values); i++)
        for (size_t k = 0; k < LM_COUNT(values); k++) {
            float x = values[i], b = values[k], got = chi2_of(ctx, x, b), total = x + b;
            double diff = (double)x - (double)b, want = diff * diff / ((double)x + (double)b);
            bool plain = total >= FLT_MIN && total <= FLT_MAX && want <= (double)FLT_MAX;
            EXPECT(got >= 0, "%g, %g: %g", (double)x, (double)b, (double)got);
            EXPECT(total > 0 || got == 0, "%g, %g: %g, not 0", (double)x, (double)b, (double)got);
            EXPECT(!plain || fabs((double)got - want) <= 6 * EPS * want + 1e-38,
                   "%g, %g: %g, not %g", (double)x, (double)b, (double)got, want);
        }
    limn_context_free(ctx);
    return failures;
}

int equal_and_disjoint_histograms(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t d = 1; d <= 130; d += 3) {
        float rows[2 * 130], x[130] = {0}, out[LM_PANEL];
        lm_pack pack;
        for (size_t j = 0; j < d; j++) { /* whole numbers, which sum exactly */
            rows[j] = j % 3 ? (float)j : 0;
            rows[d + j] = j % 3 ? 0 : (float)j;
        }
        EXPECT(!lm_pack_build(ctx, rows, 2, d, d, &pack), "d %zu", d);
        float size[2] = {0};
        for (size_t j = 0; j < 2 * d; j++)
            size[j / d] += rows[j];
        lm_pack_query(&pack, LM_CHI2, 0, 1, rows, out);
        EXPECT(out[0] == 0 && fabsf(out[1] - size[0] - size[1]) <= 1e-4f * out[1], "d %zu", d);
        lm_pack_query(&pack, LM_MIN, 0, 1, rows, out);
        EXPECT(out[0] == size[0] && out[1] == 0, "d %zu: %g, %g", d, (double)out[0],
               (double)out[1]);
        lm_pack_query(&pack, LM_CHI2, 0, 1, x, out);
        EXPECT(fabsf(out[0] - size[0]) <= 1e-4f * size[0] && out[2] == 0, "d %zu", d);
        lm_pack_free(&ctx->mem, &pack);
    }
    limn_context_free(ctx);
    return failures;
}

/* ---- the set ---- */

int append_equals_build(void) {
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

/* The same bytes as a pack that is built from the rows. */
static void same_as_built(limn_context *ctx, const lm_pack *pack, const float *rows) {
    lm_pack built;
    EXPECT(!lm_pack_build(ctx, rows, pack->n, pack->d, pack->d, &built), "n %zu", pack->n);
    EXPECT(pack->panels == built.panels, "n %zu: %zu panels", pack->n, pack->panels);
    EXPECT(!pack->n || !memcmp(pack->data, built.data,
                               built.panels * LM_PANEL * built.d * sizeof *built.data),
           "n %zu d %zu: another layout", pack->n, pack->d);
    lm_pack_free(&ctx->mem, &built);
}

/* From the first place, the last one and any other, down to none; then rows are added again. */
int remove_equals_build(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t n = 1; n < 70; n += 3)
        for (size_t way = 0; way < 3; way++) {
            size_t d = n % 7 + 1;
            lm_rng rng = lm_rng_at(12, n, way);
            float *rows = make_floats(n * d);
            fill_normal(&rng, rows, n * d);
            lm_pack pack;
            EXPECT(!lm_pack_build(ctx, rows, n, d, d, &pack), "n %zu", n);
            for (size_t left = n; left-- > 0;) {
                size_t at = way == 0 ? 0 : way == 1 ? left : (size_t)lm_rng_below(&rng, left + 1);
                lm_pack_remove(&pack, at);
                memmove(rows + at * d, rows + (at + 1) * d, (left - at) * d * sizeof *rows);
                EXPECT(pack.n == left, "n %zu", pack.n);
                same_as_built(ctx, &pack, rows);
            }
            fill_normal(&rng, rows, n * d);
            for (size_t i = 0; i < n; i++)
                EXPECT(!lm_pack_append(NULL, &pack, rows + i * d), "the memory is kept");
            same_as_built(ctx, &pack, rows);
            lm_pack_free(&ctx->mem, &pack);
            free(rows);
        }
    limn_context_free(ctx);
    return failures;
}

/* Appending without a context shows that nothing is allocated. */
static void fill_reserved(limn_context *ctx, lm_pack *pack, size_t n, const float *rows) {
    EXPECT(!lm_pack_reserve(ctx, pack, n), "reserve %zu", n);
    const float *data = pack->data;
    EXPECT(pack->capacity_panels * LM_PANEL >= n && (uintptr_t)data % 64 == 0, "n %zu", n);
    same_as_built(ctx, pack, rows);
    EXPECT(!lm_pack_reserve(ctx, pack, n / 2), "less than there is");
    for (size_t i = pack->n; i < n; i++)
        EXPECT(!lm_pack_append(NULL, pack, rows + i * pack->d), "append %zu", i);
    EXPECT(pack->data == data, "moved");
    same_as_built(ctx, pack, rows);
    lm_pack_free(&ctx->mem, pack);
}

int reserved_rows_are_appended_without_allocation(void) {
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t have = 0; have < 40; have++)
        for (size_t n = have ? have : 1; n < 90; n += 7) {
            enum { D = 3 };
            lm_rng rng = lm_rng_at(13, have, n);
            float rows[90 * D];
            fill_normal(&rng, rows, 90 * D);
            lm_pack owned, whole, view;
            EXPECT(!lm_pack_build(ctx, rows, have, D, D, &owned), "have %zu", have);
            EXPECT(!lm_pack_build(ctx, rows, 90, D, D, &whole), "90 rows");
            fill_reserved(ctx, &owned, n, rows);
            lm_pack_view(whole.data, have, D, &view); /* may end inside a panel */
            fill_reserved(ctx, &view, n, rows);
            same_as_built(ctx, &whole, rows);
            lm_pack_free(&ctx->mem, &whole);
        }
    limn_context_free(ctx);
    return failures;
}

int packing_places_every_value(void) {
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

int norms_are_rounded_once(void) {
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

int failures_leave_the_set_as_it_was(void) {
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

static void refuses_to_reserve(limn_context *ctx, lm_pack *pack, size_t n, limn_status why) {
    lm_pack before = *pack;
    allocations_left = 0;
    EXPECT(lm_pack_reserve(ctx, pack, n) == why, "%zu rows", n);
    EXPECT(limn_error(ctx)[0], "no sentence");
    EXPECT(pack->n == before.n && pack->panels == before.panels && pack->data == before.data &&
               pack->capacity_panels == before.capacity_panels,
           "changed by a failed reserve of %zu rows", n);
}

int failed_reserves_leave_the_set_as_it_was(void) {
    failures = 0;
    limn_context_options options;
    limn_context_options_init(&options);
    options.allocator = (limn_allocator){counted_allocate, counted_resize, counted_release, NULL};
    options.memory_limit = 1 << 20;
    allocations_left = SIZE_MAX;
    limn_context *ctx = make_context(&options);
    float rows[16 * 3] = {1, 2, 3};
    lm_pack pack, view, none = {0};
    EXPECT(!lm_pack_build(ctx, rows, 16, 3, 3, &pack), "build");
    lm_pack_view(pack.data, 16, 3, &view);
    refuses_to_reserve(ctx, &pack, 17, LIMN_E_MEMORY);
    refuses_to_reserve(ctx, &pack, SIZE_MAX, LIMN_E_MEMORY);
    refuses_to_reserve(ctx, &view, 0, LIMN_E_MEMORY);
    refuses_to_reserve(ctx, &none, 1, LIMN_E_USAGE);
    EXPECT(!lm_pack_reserve(ctx, &pack, 16), "there is room for 16");
    allocations_left = SIZE_MAX;
    EXPECT(lm_pack_reserve(ctx, &pack, 1 << 17) == LIMN_E_MEMORY, "more than the limit");
    EXPECT(!lm_pack_reserve(ctx, &pack, 1 << 15), "within the limit");
    lm_pack_free(&ctx->mem, &pack);
    limn_context_free(ctx);
    return failures;
}

int aligned_memory_is_aligned(void) {
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
