/* The exact neighbours of a packed set against a plain loop: all keys in double, sorted by (key,
 * row). Scratch is allocated to the byte, so that the address sanitizer notices a step beyond it.
 */
#include "num/nearest.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { D_MAX = 64 };

static const char *const metric_names[] = {"l2", "l1", "cosine"};

/* ---- the reference ---- */

typedef struct ranked {
    double key;
    size_t row;
} ranked;

static int by_key(const void *a, const void *b) {
    const ranked *p = a, *q = b;
    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static double slow_key(lm_nearest_metric metric, const float *x, const float *b, size_t d) {
    double squares = 0, sum = 0, dot = 0, nx = 0, nb = 0;
    for (size_t j = 0; j < d; j++) {
        double u = x[j], v = b[j];
        squares += (u - v) * (u - v);
        sum += fabs(u - v);
        dot += u * v;
        nx += u * u;
        nb += v * v;
    }
    if (metric != LM_NEAREST_COSINE)
        return metric == LM_NEAREST_L2 ? squares : sum;
    return nx == 0 || nb == 0 ? 1 : fmax(0, 1 - dot / (sqrt(nx) * sqrt(nb)));
}

/* All rows but exclude, in order; sets *count. */
static ranked *slow_nearest(lm_nearest_metric metric, const float *rows, size_t n, size_t d,
                            const float *x, size_t exclude, size_t *count) {
    ranked *all = malloc((n + 1) * sizeof *all);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (i != exclude)
            all[(*count)++] = (ranked){slow_key(metric, x, rows + i * d, d), i};
    qsort(all, *count, sizeof *all, by_key);
    return all;
}

/* ---- a set under test ---- */

typedef struct world {
    limn_context *ctx;
    lm_pack pack;
    float *norms;
    const float *rows; /* those of set, row-major */
    size_t d;
    bool exact; /* small integers: no l2 or l1 key is rounded, so that every tie is a true one */
    lm_nearest_set set;
} world;

/* Packs total rows; the set is a view of n of them, starting at panel first. */
static void world_begin(world *w, const float *rows, size_t total, size_t d, size_t first, size_t n,
                        lm_nearest_metric metric) {
    memset(w, 0, sizeof *w);
    w->ctx = make_context(NULL, 1, 1);
    assert_int_equal(lm_pack_build(w->ctx, rows, total, d, d, &w->pack), LIMN_OK);
    w->norms = malloc((total + 1) * sizeof *w->norms);
    lm_pack_norms(&w->pack, w->norms);
    w->rows = rows + first * LM_PANEL * d;
    w->d = d;
    w->exact = true;
    for (size_t i = 0; i < total * d; i++)
        w->exact = w->exact && rows[i] == floorf(rows[i]) && fabsf(rows[i]) < 1000;
    lm_pack_view(w->pack.data + first * d * LM_PANEL, n, d, &w->set.pack);
    w->set.norms = metric == LM_NEAREST_L1 ? NULL : w->norms + first * LM_PANEL;
    w->set.metric = metric;
    lm_nearest_prepare(&w->set);
}

static void world_end(world *w) {
    lm_pack_free(&w->ctx->mem, &w->pack);
    limn_context_free(w->ctx);
    free(w->norms);
}

static void *scratch_for(size_t rows, size_t k) {
    size_t bytes;
    assert_true(lm_nearest_scratch(rows, k, &bytes));
    assert_int_equal(bytes % 64, 0);
    void *scratch = aligned_alloc(64, bytes);
    memset(scratch, 0x5a, bytes);
    return scratch;
}

static bool integers(const float *x, size_t d) {
    for (size_t j = 0; j < d; j++)
        if (x[j] != floorf(x[j]) || fabsf(x[j]) >= 1000)
            return false;
    return true;
}

/* Keys agree to rounding; rows agree exactly, except where two keys are equal to rounding. The
 * returned keys are exactly in order. */
static void check_found(const world *w, const float *x, size_t k, size_t exclude,
                        lm_nearest_found found) {
    size_t count;
    lm_nearest_metric metric = w->set.metric;
    ranked *slow = slow_nearest(metric, w->rows, w->set.pack.n, w->d, x, exclude, &count);
    bool exact = w->exact && integers(x, w->d) && metric != LM_NEAREST_COSINE;
    assert_int_equal(found.count, k < count ? k : count);
    for (size_t i = 0; i < found.count; i++) {
        double key = found.items[i].key, scale = metric == LM_NEAREST_COSINE ? 1 : slow[i].key;
        size_t row = (size_t)found.items[i].row;
        assert_true(row < w->set.pack.n && row != exclude);
        if (i)
            assert_true(lm_ranked_before(found.items[i - 1], found.items[i]));
        double own = slow_key(metric, x, w->rows + row * w->d, w->d), room = 2e-14 * scale;
        if (!(fabs(key - slow[i].key) <= room && fabs(key - own) <= room) ||
            (exact && (row != slow[i].row || key != slow[i].key)))
            fail_msg("%s n=%zu k=%zu rank %zu: row %zu at %.17g, not %zu at %.17g",
                     metric_names[metric], w->set.pack.n, k, i, row, key, slow[i].row, slow[i].key);
    }
    free(slow);
}

static void check_same(lm_nearest_found a, const lm_ranked *b, size_t count) {
    assert_int_equal(a.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(a.items[i].row == b[i].row);
        assert_memory_equal(&a.items[i].key, &b[i].key, sizeof b[i].key);
    }
}

/* n queries at once, and each alone: both correct, and equal bit for bit. */
static void check_queries(const world *w, const float *x, size_t n, size_t k) {
    void *many = scratch_for(n, k), *one = scratch_for(1, k);
    lm_ranked *kept = malloc((k + 1) * sizeof *kept);
    for (size_t done = 0, step; done < n; done += step) {
        const lm_nearest_found *found;
        step = lm_nearest_many(&w->set, x + done * w->d, n - done, k, many, &found);
        assert_true(step >= 1 && step <= n - done);
        for (size_t q = 0; q < step; q++) {
            const float *own = x + (done + q) * w->d;
            check_found(w, own, k, SIZE_MAX, found[q]);
            memcpy(kept, found[q].items, found[q].count * sizeof *kept);
            check_same(lm_nearest_one(&w->set, own, k, SIZE_MAX, one), kept, found[q].count);
        }
    }
    free(kept);
    free(many);
    free(one);
}

static void check_excluded(const world *w, const float *x, size_t n, size_t k) {
    void *scratch = scratch_for(1, k);
    size_t rows = w->set.pack.n;
    for (size_t q = 0; q < n; q++) {
        const float *own = x + q * w->d;
        lm_nearest_found all = lm_nearest_one(&w->set, own, k, SIZE_MAX, scratch);
        size_t best = (size_t)all.items[0].row, last = (size_t)all.items[all.count - 1].row;
        const size_t excluded[] = {best, last, 0, rows - 1, q % rows, rows};
        for (size_t i = 0; i < LM_COUNT(excluded); i++)
            check_found(w, own, k, excluded[i],
                        lm_nearest_one(&w->set, own, k, excluded[i], scratch));
    }
    free(scratch);
}

/* ---- data ---- */

enum { FAR = SHAPE_COUNT, MIXED, UNEVEN, KIND_COUNT }; /* beyond the shapes of support.h */

/* FAR: values that overflow in float when squared or subtracted, next to ones that underflow.
 * MIXED: small integers and zero rows. Both have many equal rows. UNEVEN: rows of one size next to
 * rows whose squared norms are subnormal or 0 in float. */
static float odd_value(int kind, size_t row, lm_rng *rng) {
    static const float far[] = {3e38f, -3e38f, 1e19f, -1e19f, 1e-23f, 1e-40f, 0, 1};
    static const double scale[] = {1, 1e-20, 3e-22, 1e-38};
    if (kind == FAR)
        return far[lm_rng_below(rng, LM_COUNT(far))];
    if (kind == MIXED)
        return (float)lm_rng_below(rng, 5) * (float)lm_rng_below(rng, 2) - 1;
    return (float)(lm_rng_normal(rng) * scale[row % LM_COUNT(scale)]);
}

/* n rows, then queries queries of the same kind; *d features. Free with free(). */
static float *make_rows(int kind, size_t n, size_t queries, size_t *d) {
    *d = 3;
    if (kind < SHAPE_COUNT) {
        limn_context *ctx = make_context(NULL, 1, 1);
        limn_data *data = make_data(ctx, LIMN_SEARCH, (shape)kind, n, (uint64_t)kind + 1);
        *d = data->schema.features < D_MAX ? data->schema.features : D_MAX;
        float *x = malloc((n + queries) * *d * sizeof *x);
        float *near = make_queries(data, queries, 17);
        for (size_t i = 0; i < n + queries; i++)
            memcpy(x + i * *d,
                   i < n ? data->x + i % data->n * data->schema.features
                         : near + (i - n) * data->schema.features,
                   *d * sizeof *x);
        limn_data_free(data);
        limn_context_free(ctx);
        free(near);
        return x;
    }
    lm_rng rng = lm_rng_at(1, 3000 + (uint64_t)kind, 0);
    float *x = malloc((n + queries) * *d * sizeof *x);
    for (size_t i = 0; i < (n + queries) * *d; i++)
        x[i] = odd_value(kind, i / *d, &rng);
    return x;
}

/* ---- tests ---- */

static void test_found_rows_equal_a_plain_loop_on_every_kind_metric_and_isa(void **state) {
    (void)state;
    enum { N = 150, QUERIES = 12 };
    const char *before = lm_isa_name();
    for (size_t isa = 0; lm_isa_at(isa); isa++) {
        assert_true(lm_isa_use(lm_isa_at(isa)));
        for (int kind = 0; kind < KIND_COUNT; kind++)
            for (int metric = 0; metric < 3; metric++) {
                size_t d;
                world w;
                float *x = make_rows(kind, N, QUERIES, &d);
                world_begin(&w, x, N, d, 0, N, (lm_nearest_metric)metric);
                for (size_t k = 1; k <= 202; k = k * 3 + 1) /* the last beyond N */
                    for (size_t n = 1; n <= QUERIES; n += 1 + n / 5)
                        check_queries(&w, x + N * d, n, k);
                world_end(&w);
                free(x);
            }
    }
    assert_true(lm_isa_use(before));
}

/* Many blocks, in which the bound changes often and the candidates overflow their buffer. */
static void test_found_rows_equal_a_plain_loop_on_thousands_of_rows(void **state) {
    (void)state;
    enum { N = 4001, QUERIES = 9 };
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int metric = 0; metric < 3; metric++) {
            size_t d;
            world w;
            if (kind == SHAPE_WIDE)
                continue;
            float *x = make_rows(kind, N, QUERIES, &d);
            world_begin(&w, x, N, d, 0, N, (lm_nearest_metric)metric);
            check_queries(&w, x + N * d, QUERIES, 1);
            check_queries(&w, x + N * d, QUERIES, 30);
            check_excluded(&w, x + N * d, 2, 30);
            world_end(&w);
            free(x);
        }
}

static void test_an_excluded_row_is_not_found_and_all_others_are(void **state) {
    (void)state;
    enum { N = 90 };
    static const size_t ks[] = {1, 7, N - 1, N, 3 * N};
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int metric = 0; metric < 3; metric++) {
            size_t d;
            world w;
            float *x = make_rows(kind, N, 4, &d);
            world_begin(&w, x, N, d, 0, N, (lm_nearest_metric)metric);
            for (size_t i = 0; i < LM_COUNT(ks); i++) {
                check_excluded(&w, x, 4, ks[i]); /* rows themselves: leaving one out */
                check_excluded(&w, x + N * d, 4, ks[i]);
            }
            world_end(&w);
            free(x);
        }
}

/* Row 0 has one large feature and many small ones that are lost when added to it one by one in
 * float. Row 40 is nearer by less than the loss. */
static void test_a_row_that_rounding_alone_brings_near_is_not_preferred(void **state) {
    (void)state;
    enum { D = 47, N = 50, QUERIES = 5 };
    static const float zero[QUERIES * D];
    for (int metric = LM_NEAREST_L2; metric <= LM_NEAREST_L1; metric++) {
        const double lost = 0.9 * 0x1p-24, gain = metric == LM_NEAREST_L2 ? 0x1p-20 : 0x1p-19;
        float x[N * D];
        for (size_t i = 0; i < N * D; i++)
            x[i] = i < D ? (float)(metric == LM_NEAREST_L2 ? sqrt(lost) : lost) : 9;
        x[0] = 1;
        memset(x + 40 * D, 0, D * sizeof *x);
        x[40 * D] = (float)(1 + gain);
        world w;
        world_begin(&w, x, N, D, 0, N, (lm_nearest_metric)metric);
        void *scratch = scratch_for(1, 1);
        lm_nearest_found found = lm_nearest_one(&w.set, zero, 1, SIZE_MAX, scratch);
        assert_int_equal(found.items[0].row, 40);
        free(scratch);
        check_queries(&w, zero, QUERIES, 1);
        check_queries(&w, zero, QUERIES, 2);
        world_end(&w);
    }
}

/* The rows around a view are nearer than its own, and must not be found. */
static void test_a_view_finds_its_own_rows_only(void **state) {
    (void)state;
    enum { TOTAL = 20 * LM_PANEL + 3, QUERIES = 6 };
    static const size_t views[][2] = {{0, 5},   {3, 1},  {3, 16}, {4, 17},
                                      {7, 200}, {20, 3}, {1, 0},  {2, 18 * LM_PANEL + 3}};
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int metric = 0; metric < 3; metric++)
            for (size_t v = 0; v < LM_COUNT(views); v++) {
                size_t d, first = views[v][0], n = views[v][1];
                world w;
                float *x = make_rows(kind, TOTAL, 0, &d);
                world_begin(&w, x, TOTAL, d, first, n, (lm_nearest_metric)metric);
                size_t behind = first * LM_PANEL + n;
                behind = behind + QUERIES < TOTAL ? behind : 0;
                check_queries(&w, x + behind * d, QUERIES, 4);
                check_queries(&w, x + behind * d, QUERIES, 250);
                if (n)
                    check_excluded(&w, x + behind * d, 2, 4);
                world_end(&w);
                free(x);
            }
}

static void test_the_norms_of_a_set_are_those_of_its_rows(void **state) {
    (void)state;
    float x[40 * 2] = {0};
    for (int i = 0; i < 40; i++)
        x[2 * i] = (float)(i - 16);
    world w;
    world_begin(&w, x, 40, 2, 1, 20, LM_NEAREST_COSINE); /* rows 16 .. 35: 0 .. 19 */
    assert_true(w.set.min_norm == 1 && w.set.max_norm == 19 * 19);
    world_end(&w);
    world_begin(&w, x, 40, 2, 1, 1, LM_NEAREST_L2);
    assert_true(w.set.min_norm == 0 && w.set.max_norm == 0);
    world_end(&w);
}

static void test_no_neighbours_of_nothing_or_for_k_0(void **state) {
    (void)state;
    const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int metric = 0; metric < 3; metric++)
        for (size_t n = 0; n <= 8; n += 8) {
            world w;
            world_begin(&w, x, 8, 1, 0, n, (lm_nearest_metric)metric);
            check_queries(&w, x, 8, 0);
            if (!n)
                check_queries(&w, x, 8, 5);
            world_end(&w);
        }
}

/* Scratch for the most rows and the largest k is enough for all smaller ones, in any order, and
 * nothing is written past its end. */
static void test_scratch_for_the_most_serves_all_and_is_not_overrun(void **state) {
    (void)state;
    enum { N = 3000, ROWS = 64, MOST = 2900, GUARD = 4096 };
    static const size_t ks[] = {MOST, 1, 2900, 40, 1000}, rows[] = {ROWS, 1, 3, 4, 5, 17, ROWS};
    size_t d, bytes;
    world w;
    float *x = make_rows(SHAPE_RANDOM, N, ROWS, &d);
    world_begin(&w, x, N, d, 0, N, LM_NEAREST_L2);
    assert_true(lm_nearest_scratch(ROWS, MOST, &bytes));
    unsigned char *scratch = aligned_alloc(64, bytes + GUARD);
    memset(scratch, 0xa5, bytes + GUARD);
    for (size_t i = 0; i < LM_COUNT(ks); i++)
        for (size_t r = 0; r < LM_COUNT(rows); r++) {
            const lm_nearest_found *found;
            size_t n = lm_nearest_many(&w.set, x + N * d, rows[r], ks[i], scratch, &found), need;
            assert_true(n >= 1 && n <= rows[r]);
            check_found(&w, x + N * d, ks[i], SIZE_MAX, found[0]);
            check_found(&w, x + (N + n - 1) * d, ks[i], SIZE_MAX, found[n - 1]);
            assert_true(lm_nearest_scratch(rows[r], ks[i], &need) && need <= bytes);
        }
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(scratch[bytes + i], 0xa5);
    world_end(&w);
    free(scratch);
    free(x);
}

static void test_scratch_is_small_for_one_query_and_its_size_is_checked(void **state) {
    (void)state;
    size_t bytes;
    assert_true(lm_nearest_scratch(1, 10, &bytes) && bytes <= 10 << 10);
    assert_true(lm_nearest_scratch(1, 1000, &bytes) && bytes <= 50 << 10);
    assert_false(lm_nearest_scratch(1, SIZE_MAX, &bytes));
    assert_false(lm_nearest_scratch(1, SIZE_MAX / 2, &bytes));
    assert_false(lm_nearest_scratch(1, SIZE_MAX / 32, &bytes));
    assert_false(lm_nearest_scratch(256, SIZE_MAX / 64, &bytes));
    assert_false(lm_nearest_scratch(SIZE_MAX / 4, 1, &bytes));
}

/* If more neighbours than rows are requested, scratch for all rows is enough. */
static void test_scratch_for_all_rows_serves_any_k(void **state) {
    (void)state;
    enum { N = 100, QUERIES = 6 };
    static const size_t ks[] = {N, N + 1, 100 * N, SIZE_MAX};
    size_t d;
    world w;
    float *x = make_rows(SHAPE_RANDOM, N, QUERIES, &d);
    world_begin(&w, x, N, d, 0, N, LM_NEAREST_L2);
    for (size_t i = 0; i < LM_COUNT(ks); i++) {
        void *scratch = scratch_for(1, N), *many = scratch_for(QUERIES, N);
        const lm_nearest_found *found;
        check_found(&w, x, ks[i], SIZE_MAX, lm_nearest_one(&w.set, x, ks[i], SIZE_MAX, scratch));
        assert_int_equal(lm_nearest_many(&w.set, x, QUERIES, ks[i], many, &found), QUERIES);
        for (size_t q = 0; q < QUERIES; q++)
            check_found(&w, x + q * d, ks[i], SIZE_MAX, found[q]);
        free(scratch);
        free(many);
    }
    world_end(&w);
    free(x);
}

/* With so many candidates the queries are answered in parts: none is lost. */
static void test_queries_that_do_not_fit_at_once_are_answered_in_parts(void **state) {
    (void)state;
    enum { N = 30000, QUERIES = 7, K = 20000 };
    size_t d;
    world w;
    float *x = make_rows(SHAPE_DUPLICATES, N, QUERIES, &d);
    world_begin(&w, x, N, d, 0, N, LM_NEAREST_L2);
    void *scratch = scratch_for(QUERIES, K);
    const lm_nearest_found *found;
    assert_true(lm_nearest_many(&w.set, x + N * d, QUERIES, K, scratch, &found) < QUERIES);
    free(scratch);
    check_queries(&w, x + N * d, QUERIES, K);
    world_end(&w);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_rows_equal_a_plain_loop_on_every_kind_metric_and_isa),
        cmocka_unit_test(test_found_rows_equal_a_plain_loop_on_thousands_of_rows),
        cmocka_unit_test(test_an_excluded_row_is_not_found_and_all_others_are),
        cmocka_unit_test(test_a_row_that_rounding_alone_brings_near_is_not_preferred),
        cmocka_unit_test(test_a_view_finds_its_own_rows_only),
        cmocka_unit_test(test_the_norms_of_a_set_are_those_of_its_rows),
        cmocka_unit_test(test_no_neighbours_of_nothing_or_for_k_0),
        cmocka_unit_test(test_scratch_for_the_most_serves_all_and_is_not_overrun),
        cmocka_unit_test(test_scratch_is_small_for_one_query_and_its_size_is_checked),
        cmocka_unit_test(test_scratch_for_all_rows_serves_any_k),
        cmocka_unit_test(test_queries_that_do_not_fit_at_once_are_answered_in_parts),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
