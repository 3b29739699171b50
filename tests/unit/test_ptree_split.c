/* test_ptree_split.c: the parts of a split against slow references: the cut, the costs of rows, the
 * vectors that a side keeps, that rows go where their test sends them, and the leaves that come
 * out. test_ptree_part.c has which test is taken. */
#include "ptree_scene.h"

/* ---- the cut ---- */

static void check_cut(const double *score, size_t n) {
    size_t order[64], above = 0;
    uint8_t side[64];
    double threshold = NAN, low, high;
    size_t best = slow_cut(score, n, &low, &high);
    assert_int_equal(pt_cut(score, n, order, side, &threshold), best > 0);
    if (!best)
        return;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(side[i], score[i] > threshold);
        above += side[i];
    }
    assert_int_equal(above, n - best);
    assert_true(threshold >= low && threshold < high);
    if (isfinite(high - low) && high - low > 1e-300)
        assert_true(fabs(threshold - (low / 2 + high / 2)) <= 1e-15 * (fabs(low) + fabs(high)));
}

static void test_the_cut_lies_between_different_scores_nearest_the_middle(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(1, 193, 0);
    for (size_t n = 0; n <= 50; n++)
        for (size_t values = 1; values <= 60; values += values < 5 ? 1 : 11) {
            double score[64];
            for (size_t i = 0; i < n; i++)
                score[i] =
                    values > 50 ? lm_rng_normal(&rng) : (double)lm_rng_below(&rng, values) - 1;
            check_cut(score, n);
            for (size_t i = 0; i < n; i++) /* one value has nearly all rows */
                score[i] = i % 17 == 5 ? score[i] : 0.25;
            check_cut(score, n);
        }
}

static void test_the_cut_separates_neighbouring_and_extreme_numbers(void **state) {
    (void)state;
    const double one = nextafter(1, 2), two = nextafter(one, 2);
    const double lists[][5] = {{1, one, 1, one, one},
                               {two, one, 1, two, two},
                               {-1e308, 1e308, 1e308, -1e308, 1e308},
                               {0, 5e-324, 0, 5e-324, 5e-324},
                               {-0.0, 0.0, 0.0, -0.0, 0.0},
                               {-one, -1, -two, -1, -1}};
    for (size_t l = 0; l < LM_COUNT(lists); l++)
        for (size_t n = 0; n <= 5; n++)
            check_cut(lists[l], n);
}

/* ---- costs ---- */

static void test_kernels_outputs_and_costs_are_those_of_the_definition(void **state) {
    static const char *const texts[] = {"kernel=rbf gamma=0.5", "kernel=linear",
                                        "kernel=poly gamma=0.5 coef0=1", "kernel=chi2 gamma=1",
                                        "kernel=intersection"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++)
        for (size_t classes = 2; classes <= 4; classes++) {
            scene s;
            open_scene(&s, texts[t], draw_rows(POSITIVE, 30, 4, classes, t), 1 + 4 * t, t);
            double p[64], cost[64];
            for (size_t j = 0; j < s.v; j++)
                p[j] = j % 3 == 0 ? 0 : (double)(j % 5) / 4;
            pt_costs(&s.c, p, cost);
            for (size_t i = 0; i < s.n; i++) {
                double f[SLOW_OUTPUTS], scale = 1e-9;
                float b[SLOW_FEATURES];
                for (size_t j = 0; j < s.v; j++) {
                    slow_vector(&s.leaf.e.pack, j, b);
                    double k = slow_kernel(&s.m->o.kernel, s.r.x + i * 4, b, 4);
                    assert_true(fabs(s.c.kernel[i * s.v + j] - k) <= 1e-5 * (1 + fabs(k)));
                    scale += k * k;
                }
                (void)slow_outputs(s.m, &s.leaf, false, s.r.x + i * 4, f);
                for (size_t o = 0; o < s.k; o++)
                    assert_true(fabs(s.c.r[i * s.k + o] + s.leaf.bias[o] - f[o]) <=
                                1e-4 * (1 + scale));
                assert_true(fabs(cost[i] - slow_cost(&s, i, p)) <= 1e-9 * scale);
            }
            close_scene(&s);
        }
}

/* ---- what a side keeps ---- */

static void test_shares_of_vectors_minimise_the_error_of_a_side(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        char text[64];
        size_t vectors = 2 + seed % 19;
        (void)snprintf(text, sizeof text, "gamma=0.3 budget=50 kept=%zu", 1 + vectors / 2);
        scene s;
        open_scene(&s, text, draw_rows(seed % 5, 10 + 2 * seed, 3, 2 + seed % 3, seed), vectors,
                   seed);
        send_at_random(&s, seed);
        for (int side = 0; side < 2; side++) {
            pt_solve(&s.c, side);
            check_minimum(&s, side);
        }
        close_scene(&s);
    }
}

/* The error after vectors `out` and `in` have changed places; v: none. */
static double error_after(const scene *s, int side, size_t out, size_t in) {
    uint8_t keeps[64];
    memcpy(keeps, s->c.keeps[side], s->v);
    if (out < s->v)
        keeps[out] = 0;
    if (in < s->v)
        keeps[in] = 1;
    return slow_error_of_set(s, side, keeps);
}

/* No vector that is dropped, added or exchanged makes the error smaller. */
static void check_no_exchange_helps(const scene *s, int side) {
    const uint8_t *keeps = s->c.keeps[side];
    size_t count = count_of(keeps, s->v);
    double none[64] = {0}, own = slow_error_of_set(s, side, keeps);
    double rounding = 1e-9 * (slow_error(s, side, none) + 1e-12);
    assert_true(count <= s->c.most);
    for (size_t out = 0; out <= s->v; out++)
        for (size_t in = 0; in <= s->v; in++) {
            bool drops = out < s->v, adds = in < s->v;
            if ((drops && !keeps[out]) || (adds && keeps[in]) || (!drops && count == s->c.most))
                continue;
            assert_true(error_after(s, side, out, in) >= own - rounding);
        }
}

static double least_error(const scene *s, int side) {
    double least = INFINITY;
    for (unsigned set = 0; set < 1u << s->v; set++) {
        uint8_t keeps[16];
        for (size_t j = 0; j < s->v; j++)
            keeps[j] = set >> j & 1;
        if (count_of(keeps, s->v) <= s->c.most)
            least = fmin(least, slow_error_of_set(s, side, keeps));
    }
    return least;
}

static void check_opts(size_t vectors, size_t kept, size_t n, uint64_t seed, double *excess) {
    char text[64];
    (void)snprintf(text, sizeof text, "gamma=0.3 budget=50 kept=%zu", kept);
    rows r = draw_rows(seed % 5, n, 3, 2 + seed % 3, seed);
    scene s;
    open_scene(&s, text, r, vectors, seed);
    send_at_random(&s, seed);
    for (int side = 0; side < 2; side++) {
        double none[64] = {0}, all = slow_error(&s, side, none);
        pt_solve(&s.c, side);
        pt_choose(&s.c, side);
        check_no_exchange_helps(&s, side);
        double own = slow_error_of_set(&s, side, s.c.keeps[side]);
        if (vectors <= 10 && all > 0)
            *excess += (own - least_error(&s, side)) / all;
    }
    close_scene(&s);
}

static void test_opts_cannot_be_improved_by_one_vector_and_is_nearly_the_best_of_all(void **state) {
    (void)state;
    double excess = 0;
    for (uint64_t seed = 0; seed < 24; seed++)
        check_opts(2 + seed % 9, 1 + seed % 4, 8 + seed, seed, &excess);
    assert_true(excess / 48 < 0.01);
    for (uint64_t seed = 30; seed < 36; seed++)
        check_opts(20 + seed % 9, 10, 30, seed, &excess);
}

/* The paper's way: drawn at random, never more than C, and better than what chance alone finds. */
static void test_opts_in_the_papers_style_draws_sets_within_the_limit(void **state) {
    (void)state;
    double own = 0, others = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        scene s;
        open_scene(&s, "style=paper gamma=0.3 budget=50 kept=6", draw_rows(CURVED, 40, 3, 2, seed),
                   14, seed);
        double p[64];
        send_at_random(&s, seed);
        pt_solve(&s.c, 0);
        pt_choose(&s.c, 0);
        assert_true(count_of(s.c.keeps[0], s.v) <= 6);
        own += slow_error_of_set(&s, 0, s.c.keeps[0]);
        pt_draw(&s.c, p);
        others += slow_error(&s, 0, p);
        close_scene(&s);
    }
    assert_true(own < others / 2);
}

static void check_inds(const char *split, size_t kept, uint64_t seed) {
    char text[96];
    (void)snprintf(text, sizeof text, "%s select=inds gamma=0.5 budget=50 kept=%zu", split, kept);
    scene s;
    open_scene(&s, text, draw_rows(CURVED, 40, 3, 2, seed), 15, seed);
    bool found;
    assert_int_equal(pt_partition(s.ctx, &s.c, &found), LIMN_OK);
    assert_true(found);
    for (int side = 0; side < 2; side++) {
        size_t own = 0;
        pt_choose(&s.c, side);
        for (size_t j = 0; j < s.v; j++) {
            float b[SLOW_FEATURES];
            bool clear, here;
            slow_vector(&s.leaf.e.pack, j, b);
            here = slow_side(s.m, &s.c.node, b, &clear) == side;
            assert_true(clear && (here || !s.c.keeps[side][j]));
            own += here;
        }
        assert_int_equal(count_of(s.c.keeps[side], s.v), own < kept ? own : kept);
    }
    close_scene(&s);
}

static void test_inds_keeps_vectors_of_its_own_side_at_most_C(void **state) {
    static const char *const list[] = {"split=wpq", "split=zpq", "split=pca",
                                       "split=bal", "split=ent", "style=paper split=rndw"};
    (void)state;
    for (size_t l = 0; l < LM_COUNT(list); l++)
        for (size_t kept = 1; kept <= 16; kept += 5)
            check_inds(list[l], kept, l + kept);
}

static void test_rnds_keeps_C_different_vectors_all_equally_often(void **state) {
    (void)state;
    for (size_t vectors = 1; vectors <= 9; vectors += 4) {
        scene s;
        open_scene(&s, "select=rnds gamma=1 budget=50 kept=5", draw_rows(CURVED, 20, 3, 2, vectors),
                   vectors, vectors);
        size_t often[16] = {0}, most = vectors < 5 ? vectors : 5;
        for (int round = 0; round < 400; round++) {
            pt_choose(&s.c, round % 2);
            assert_int_equal(count_of(s.c.keeps[round % 2], vectors), most);
            for (size_t j = 0; j < vectors; j++)
                often[j] += s.c.keeps[round % 2][j];
        }
        for (size_t j = 0; j < vectors; j++) /* 5 standard deviations */
            assert_true(fabs((double)often[j] - 400.0 * (double)most / (double)vectors) < 50);
        close_scene(&s);
    }
}

/* ---- tests ---- */

static int side_of(const scene *s, const pt_node *node, const float *x) {
    float *padded = lm_alloc_aligned(&s->ctx->mem, s->m->stride + node->pack.panels * LM_PANEL + 16,
                                     sizeof *padded);
    pt_take_row(s->m, x, padded);
    double length = s->m->o.paper ? pt_length(padded, s->m->d) : 1;
    int side = pt_side(&s->m->o.kernel, node, padded, s->m->stride, length, padded + s->m->stride);
    lm_free_aligned(&s->ctx->mem, padded);
    return side;
}

static void check_sides(const scene *s, const pt_node *node) {
    for (size_t i = 0; i < s->n; i++) {
        const float *x = s->r.x + i * s->r.d;
        bool clear;
        if (slow_side(s->m, node, x, &clear) != side_of(s, node, x))
            assert_false(clear);
    }
}

/* The rows of the two leaves are those that the test sends there, in their order. */
static void check_halves(const scene *s, const pt_fork *fork) {
    size_t at[2] = {0, 0};
    uint64_t count[2][SLOW_OUTPUTS] = {{0}};
    for (size_t i = 0; i < s->n; i++) {
        const float *x = s->r.x + i * s->r.d;
        int side = side_of(s, &fork->node, x);
        const pt_leaf *leaf = &fork->leaf[side];
        assert_true(at[side] < leaf->kept);
        assert_memory_equal(leaf->kept_x + at[side] * s->r.d, x, s->r.d * sizeof *x);
        assert_int_equal(leaf->kept_label[at[side]++], s->r.label[i]);
        count[side][s->r.label[i]]++;
    }
    for (size_t side = 0; side < 2; side++) {
        assert_true(at[side] > 0);
        assert_int_equal(fork->leaf[side].kept, at[side]);
        assert_memory_equal(fork->leaf[side].count, count[side], s->r.classes * sizeof **count);
    }
}

/* What a linear test or the test of a vector cuts. */
static double slow_score(const scene *s, const pt_node *node, const float *x) {
    float b[SLOW_FEATURES];
    double sum = 0;
    for (size_t j = 0; j < s->r.d && node->w; j++)
        sum += (double)node->w[j] * (double)x[j];
    if (node->w)
        return sum / (s->m->o.paper ? slow_length(x, s->r.d) : 1);
    slow_vector(&node->pack, 0, b);
    return slow_kernel(&s->m->o.kernel, x, b, s->r.d);
}

/* No other cut between scores that differ for certain is nearer to the middle. */
static void check_balance(const scene *s, const pt_fork *fork) {
    double score[64], half = (double)s->n / 2, off = fabs((double)fork->leaf[0].kept - half);
    if (fork->node.side)
        return;
    for (size_t i = 0; i < s->n; i++)
        score[i] = slow_score(s, &fork->node, s->r.x + i * s->r.d);
    qsort(score, s->n, sizeof *score, compare_doubles);
    for (size_t i = 1; i < s->n; i++)
        if (score[i] - score[i - 1] > 1e-6 * (fabs(score[i]) + fabs(score[i - 1])))
            assert_true(fabs((double)i - half) >= off);
}

/* A direction of length 1, above the threshold left; vectors are the parent's, at most C. */
static void check_shape(const scene *s, const pt_fork *fork) {
    double square = 0;
    for (size_t j = 0; j < s->m->stride && fork->node.w; j++)
        square += (double)fork->node.w[j] * (double)fork->node.w[j];
    assert_true(!fork->node.w || fabs(square - 1) < 1e-5);
    for (size_t side = 0; side < 2; side++) {
        const pt_leaf *leaf = &fork->leaf[side];
        float a[SLOW_FEATURES], b[SLOW_FEATURES];
        size_t at = 0;
        assert_int_equal(leaf->level, 1);
        assert_true(leaf->e.steps == 0 && leaf->wait == 0 && leaf->e.pack.n <= s->m->o.kept);
        assert_true(leaf->seen >= leaf->kept && leaf->seen <= 3 * leaf->kept);
        assert_memory_equal(leaf->bias, s->leaf.bias, s->k * sizeof *leaf->bias);
        for (size_t j = 0; j < leaf->e.pack.n; j++, at++) {
            slow_vector(&leaf->e.pack, j, a);
            for (slow_vector(&s->leaf.e.pack, at, b); memcmp(a, b, s->r.d * sizeof *a);
                 slow_vector(&s->leaf.e.pack, at, b))
                assert_true(++at < s->v);
        }
    }
}

static const char *const splits[] = {"wpq", "zpq", "rndw", "pca", "bal", "ent"};

/* must: there is a way to divide the rows. */
static void check_split(const char *text, rows r, size_t vectors, uint64_t seed, bool must) {
    scene s;
    open_scene(&s, text, r, vectors, seed);
    pt_fork fork;
    assert_int_equal(pt_split_leaf(s.ctx, s.m, &s.leaf, &fork), LIMN_OK);
    if (must && !fork.valid)
        fail_msg("%s: %zu rows, %zu vectors: not split", text, r.n, vectors);
    if (fork.valid) {
        check_sides(&s, &fork.node);
        check_halves(&s, &fork);
        check_balance(&s, &fork);
        check_shape(&s, &fork);
        if (fork.node.side && must)
            assert_int_equal(fork.leaf[0].kept, s.n / 2);
    }
    pt_fork_free(&s.ctx->mem, &fork);
    close_scene(&s);
}

static void check_splits(kind of, size_t copies, bool must) {
    static const char *const selects[] = {"opts", "inds", "rnds"};
    static const size_t sizes[] = {4, 5, 9, 24, 40};
    for (size_t i = 0; i < 180; i++) {
        char text[128];
        size_t n = sizes[i % 5];
        rows r = draw_rows(of, n, 1 + i % 4, 2 + i % 3, i);
        for (size_t j = 0; j < n && copies; j++)
            memcpy(r.x + j * r.d, r.x + j % copies * r.d, r.d * sizeof *r.x);
        (void)snprintf(text, sizeof text,
                       "style=%s split=%s select=%s gamma=0.5 budget=20 kept=%zu",
                       i / 18 % 2 ? "paper" : "tree", splits[i % 6], selects[i / 6 % 3], 1 + i % 9);
        check_split(text, r, 2 + i % 13, i, must && (r.d > 1 || i / 18 % 2 == 0));
    }
}

static void test_each_split_sends_rows_both_ways_and_halves_them(void **state) {
    (void)state;
    check_splits(CURVED, 0, true);
    check_splits(NOISE, 0, true);
}

static void test_splits_of_rows_with_copies_agree_with_their_tests(void **state) {
    (void)state;
    check_splits(GRID, 0, false);
    check_splits(CURVED, 2, false);
    check_splits(CURVED, 3, false);
    check_splits(FAR, 7, false);
}

/* Rows in one direction differ, divided by their length, by rounding only. */
static void test_splits_of_rows_in_one_direction_agree_with_their_tests(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 240; i++) {
        char text[128];
        rows r = draw_rows(CURVED, 4 + i % 20, 3, 2, i);
        for (size_t j = 0; j < r.n; j++)
            for (size_t f = 0; f < 3; f++)
                r.x[j * 3 + f] = (float)(1 + j * j % 13) * (0.1f + 0.7f * (float)(f * i % 7));
        (void)snprintf(text, sizeof text, "style=%s split=%s gamma=0.01 budget=20 kept=4",
                       i / 6 % 2 ? "paper" : "tree", splits[i % 6]);
        check_split(text, r, 6, i, false);
    }
}

static void check_range(size_t i, float scale) {
    static const char *const list[] = {"linear", "poly gamma=1 degree=3", "rbf gamma=1e-30"};
    char text[128];
    rows r = draw_rows(CURVED, 5 + i % 30, 3, 2, i);
    scene s;
    pt_fork fork;
    for (size_t j = 0; j < r.n * 3; j++)
        r.x[j] *= scale;
    (void)snprintf(text, sizeof text, "style=%s split=%s kernel=%s budget=20 kept=4",
                   i / 18 % 2 ? "paper" : "tree", splits[i % 6], list[i / 6 % 3]);
    open_scene(&s, text, r, 6, i);
    assert_int_equal(pt_split_leaf(s.ctx, s.m, &s.leaf, &fork), LIMN_OK);
    if (fork.valid)
        check_halves(&s, &fork);
    pt_fork_free(&s.ctx->mem, &fork);
    close_scene(&s);
}

/* Kernel values and sums of such rows overflow, or are no numbers, depending on whether the
 * instruction set rounds products before it adds them. */
static void test_splits_of_huge_and_tiny_rows_agree_with_their_tests(void **state) {
    static const float scales[] = {1e36f, 1e18f, 1e12f, 1e-30f};
    const char *own = lm_isa_name();
    (void)state;
    for (size_t isa = 0; lm_isa_at(isa); isa++) {
        assert_true(lm_isa_use(lm_isa_at(isa)));
        for (size_t i = 0; i < 72; i++)
            for (size_t scale = 0; scale < LM_COUNT(scales); scale++)
                check_range(i, scales[scale]);
    }
    assert_true(lm_isa_use(own));
}

static void test_rows_that_cannot_be_divided_are_not(void **state) {
    (void)state;
    for (size_t i = 0; i < 72; i++) {
        char text[128];
        rows r = draw_rows(NOISE, i / 12 < 3 ? 20 : i / 12 % 3 + 1, 3, 2, i);
        for (size_t j = 0; j < 60 && i / 12 < 3; j++)
            r.x[j] = (float)(i / 12 % 3) * (float)(j % 3) * 0.7f;
        (void)snprintf(text, sizeof text, "style=%s split=%s gamma=0.5 budget=20",
                       i / 6 % 2 ? "paper" : "tree", splits[i % 6]);
        scene s;
        open_scene(&s, text, r, 9, i);
        pt_fork fork;
        assert_int_equal(pt_split_leaf(s.ctx, s.m, &s.leaf, &fork), LIMN_OK);
        assert_false(fork.valid);
        pt_fork_free(&s.ctx->mem, &fork);
        close_scene(&s);
    }
}

/* ---- the coefficients of the new leaves ---- */

/* plain: the same split without refitting. */
static void compare_refit(const scene *s, const pt_fork *fork, const pt_fork *plain) {
    for (size_t side = 0; side < 2; side++) {
        const pt_leaf *leaf = &fork->leaf[side];
        const double *start = plain->leaf[side].e.coef;
        double coef[16];
        assert_int_equal(plain->leaf[side].e.pack.n, leaf->e.pack.n);
        for (size_t o = 0; o < s->k; o++) {
            slow_refit(s, leaf, start, o, coef);
            for (size_t j = 0; j < leaf->e.pack.n; j++)
                assert_true(fabs(coef[j] - leaf->e.coef[j * s->k + o]) <= 1e-3);
        }
        for (size_t j = 0; j < leaf->e.pack.n * s->k; j++)
            assert_true(leaf->e.drift[j] == 0);
    }
}

/* Without refitting, the coefficients are those of the parent. */
static void check_inherited(const scene *s, const pt_fork *plain) {
    for (size_t side = 0; side < 2; side++)
        for (size_t j = 0; j < plain->leaf[side].e.pack.n; j++) {
            float a[SLOW_FEATURES], b[SLOW_FEATURES];
            bool found = false;
            slow_vector(&plain->leaf[side].e.pack, j, a);
            for (size_t h = 0; h < s->v; h++) {
                slow_vector(&s->leaf.e.pack, h, b);
                found |= memcmp(a, b, s->r.d * sizeof *a) == 0 &&
                         memcmp(plain->leaf[side].e.coef + j * s->k, s->leaf.e.coef + h * s->k,
                                s->k * sizeof(double)) == 0;
            }
            assert_true(found);
        }
}

static void test_coefficients_of_new_leaves_solve_their_ridge(void **state) {
    static const double ridges[] = {1, 0.1, 0.01, 1e-3};
    (void)state;
    for (uint64_t seed = 0; seed < 48; seed++) {
        char text[128];
        pt_fork fork, plain;
        (void)snprintf(text, sizeof text, "split=%s refit=%g gamma=0.5 budget=30 kept=%zu",
                       splits[seed % 6], ridges[seed % 4], (size_t)(1 + seed % 9));
        scene s;
        open_scene(&s, text, draw_rows(CURVED, 50, 3, 2 + seed % 3, seed), 15, seed);
        assert_int_equal(pt_split_leaf(s.ctx, s.m, &s.leaf, &fork), LIMN_OK);
        s.m->o.refit = 0;
        assert_int_equal(pt_split_leaf(s.ctx, s.m, &s.leaf, &plain), LIMN_OK);
        s.m->o.refit = ridges[seed % 4];
        assert_true(fork.valid && plain.valid);
        check_inherited(&s, &plain);
        compare_refit(&s, &fork, &plain);
        pt_fork_free(&s.ctx->mem, &fork);
        pt_fork_free(&s.ctx->mem, &plain);
        close_scene(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_cut_lies_between_different_scores_nearest_the_middle),
        cmocka_unit_test(test_the_cut_separates_neighbouring_and_extreme_numbers),
        cmocka_unit_test(test_kernels_outputs_and_costs_are_those_of_the_definition),
        cmocka_unit_test(test_shares_of_vectors_minimise_the_error_of_a_side),
        cmocka_unit_test(test_opts_cannot_be_improved_by_one_vector_and_is_nearly_the_best_of_all),
        cmocka_unit_test(test_opts_in_the_papers_style_draws_sets_within_the_limit),
        cmocka_unit_test(test_inds_keeps_vectors_of_its_own_side_at_most_C),
        cmocka_unit_test(test_rnds_keeps_C_different_vectors_all_equally_often),
        cmocka_unit_test(test_each_split_sends_rows_both_ways_and_halves_them),
        cmocka_unit_test(test_splits_of_rows_with_copies_agree_with_their_tests),
        cmocka_unit_test(test_splits_of_rows_in_one_direction_agree_with_their_tests),
        cmocka_unit_test(test_splits_of_huge_and_tiny_rows_agree_with_their_tests),
        cmocka_unit_test(test_rows_that_cannot_be_divided_are_not),
        cmocka_unit_test(test_coefficients_of_new_leaves_solve_their_ridge),
    };
    return cmocka_run_group_tests_name("ptree_split", tests, NULL, NULL);
}
