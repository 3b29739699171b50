/* test_ptree_part.c: which test a split takes: the best vector for ent and bal, the search of wpq
 * and zpq for a test and two choices of vectors, and the direction of pca. */
#include "ptree_scene.h"

#include "num/qp/box.h"

/* ---- which test is taken ---- */

static double slow_entropy(const scene *s, const uint8_t *above, int side) {
    double count[SLOW_OUTPUTS] = {0}, all = 0, sum = 0;
    for (size_t i = 0; i < s->n; i++)
        if (above[i] == side) {
            count[s->r.label[i]] += 1;
            all += 1;
        }
    for (size_t c = 0; c < s->r.classes; c++)
        sum -= count[c] > 0 ? count[c] / all * log(count[c] / all) : 0;
    return sum;
}

/* With all vectors of its own side kept: what the other side's vectors said is lost. */
static double slow_loss(const scene *s, const uint8_t *above, const double *own) {
    double sum = 0, p[64];
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j < s->v; j++)
            p[j] = own[j] == above[i];
        sum += slow_cost(s, i, p);
    }
    return sum;
}

/* K_ij A_j of row i for all outputs, times p, is what the row gets. The least error of a side over
 * 0 <= p <= 1, sum p <= C, to more digits than the library asks for. */
static double slow_relaxed(const scene *s, const uint8_t *above, int side) {
    double q[16 * 16] = {0}, w[16] = {0}, p[16] = {0}, gradient[16], sum = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t o = 0; o < s->k && above[i] == side; o++)
            for (size_t j = 0; j < s->v; j++)
                for (size_t h = 0; h < s->v; h++) {
                    double part = s->c.kernel[i * s->v + j] * coef_of(s, j, o) *
                                  s->c.kernel[i * s->v + h] * coef_of(s, h, o);
                    q[j * s->v + h] += part;
                    w[j] += part; /* r is the sum with all p = 1 */
                }
    lm_box_task task = {s->v, q, w, (double)s->m->o.kept, 1e-10, 1000000};
    (void)lm_box_solve(&task, p, gradient, NULL);
    for (size_t i = 0; i < s->n; i++)
        sum += above[i] == side ? slow_cost(s, i, p) : 0;
    return sum;
}

/* What taking vector j as test comes to. False: it divides nothing. */
static bool slow_value(const scene *s, size_t j, double *threshold, double *value) {
    double score[64], own[64], low, high;
    uint8_t above[64];
    float b[SLOW_FEATURES], other[SLOW_FEATURES];
    for (size_t i = 0; i < s->n; i++)
        score[i] = s->c.kernel[i * s->v + j];
    if (!slow_cut(score, s->n, &low, &high))
        return false;
    *threshold = (low + high) / 2;
    for (size_t i = 0; i < s->n; i++)
        above[i] = score[i] > *threshold;
    slow_vector(&s->leaf.e.pack, j, b);
    for (size_t h = 0; h < s->v; h++) {
        slow_vector(&s->leaf.e.pack, h, other);
        own[h] = slow_kernel(&s->m->o.kernel, other, b, s->r.d) > *threshold;
    }
    if (s->c.split == PT_ENT)
        *value = fmin(slow_entropy(s, above, 0), slow_entropy(s, above, 1));
    else if (s->c.select == PT_OPTS)
        *value = slow_relaxed(s, above, 0) + slow_relaxed(s, above, 1);
    else
        *value = slow_loss(s, above, own);
    return true;
}

static void check_best_vector(const char *text, uint64_t seed) {
    scene s;
    open_scene(&s, text, draw_rows(seed % 2 ? CURVED : NOISE, 20 + seed, 3, 2 + seed % 3, seed),
               4 + seed % 9, seed);
    double least = INFINITY, own = INFINITY, threshold, value;
    bool found;
    assert_int_equal(pt_partition(s.ctx, &s.c, &found), LIMN_OK);
    assert_true(found);
    for (size_t j = 0; j < s.v; j++) {
        float a[SLOW_FEATURES], b[SLOW_FEATURES];
        slow_vector(&s.c.node.pack, 0, a);
        slow_vector(&s.leaf.e.pack, j, b);
        if (!slow_value(&s, j, &threshold, &value))
            continue;
        least = fmin(least, value);
        if (memcmp(a, b, s.r.d * sizeof *a) == 0) {
            own = value;
            assert_true(fabs(threshold - s.c.node.threshold) <= 1e-9);
        }
    }
    /* The library stops at 0.005 |r|^2 / m per side. */
    bool loose = s.c.split == PT_BAL && s.c.select == PT_OPTS;
    assert_true(own <= least * (1 + 1e-9) + (loose ? 2 * s.c.tolerance : 1e-12));
    close_scene(&s);
}

static void test_ent_and_bal_take_the_best_vector(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        check_best_vector("split=ent gamma=0.5 budget=30", seed);
        check_best_vector("split=bal select=inds gamma=0.5 budget=30 kept=20", seed);
        check_best_vector("split=bal gamma=0.5 budget=9 kept=3", seed);
        check_best_vector("style=paper split=bal gamma=0.5 budget=9 kept=3", seed);
        check_best_vector("style=paper split=bal select=inds gamma=0.5 budget=30 kept=20", seed);
    }
}

/* ---- a test and two choices that belong together ---- */

/* c_i less its mean, which the paper leaves in. */
static void compare_sides(const scene *s, double p[2][64], double *score) {
    double mean = 0;
    for (size_t i = 0; i < s->n; i++) {
        score[i] = slow_cost(s, i, p[0]) - slow_cost(s, i, p[1]);
        mean += score[i] / (double)s->n;
    }
    for (size_t i = 0; i < s->n && !s->m->o.paper; i++)
        score[i] -= mean;
}

/* Rows go left where w.x is large, w = - sum c_i x_i. */
static void send_by_plane(const scene *s, const double *c, uint8_t *side) {
    double w[SLOW_FEATURES] = {0}, score[64], low, high;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->r.d; j++)
            w[j] -= c[i] * (double)s->r.x[i * s->r.d + j] /
                    (s->m->o.paper ? slow_length(s->r.x + i * s->r.d, s->r.d) : 1);
    for (size_t i = 0; i < s->n; i++) {
        score[i] = 0;
        for (size_t j = 0; j < s->r.d; j++)
            score[i] += w[j] * (double)s->r.x[i * s->r.d + j];
        score[i] /= s->m->o.paper ? slow_length(s->r.x + i * s->r.d, s->r.d) : 1;
    }
    assert_true(slow_cut(score, s->n, &low, &high) > 0);
    for (size_t i = 0; i < s->n; i++)
        side[i] = !(score[i] > (low + high) / 2);
}

/* The half with the smallest c_i goes left; no two are equal here. */
static void send_by_half(const scene *s, const double *c, uint8_t *side) {
    for (size_t i = 0; i < s->n; i++) {
        size_t before = 0;
        for (size_t h = 0; h < s->n; h++)
            before += c[h] < c[i];
        side[i] = before >= s->n / 2;
    }
}

static double cost_of_sides(const scene *s, double p[2][64], const uint8_t *side) {
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += slow_cost(s, i, p[side[i]]);
    return sum;
}

/* In turn the sides and the choices, until the cost falls by less than a thousandth; returns the
 * least cost. *start: that of the random choices on their own sides. */
static double slow_joint(const scene *s, pt_cloud *c, double *start) {
    double p[2][64], score[64], least = INFINITY, last = INFINITY;
    pt_draw(c, p[0]);
    pt_draw(c, p[1]);
    for (int round = 0; round < 20; round++) {
        for (size_t side = 0; side < 2; side++)
            memcpy(c->p[side], p[side], s->v * sizeof(double));
        compare_sides(s, p, score);
        (s->c.split == PT_ZPQ ? send_by_half : send_by_plane)(s, score, c->side);
        *start = round ? *start : cost_of_sides(s, p, c->side);
        for (int side = 1; side >= 0; side--) {
            pt_solve(c, side);
            memcpy(p[side], c->p[side], s->v * sizeof(double));
        }
        double cost = cost_of_sides(s, p, c->side);
        least = fmin(least, cost);
        if (round && cost > last * (1 - 1e-3))
            break;
        last = cost;
    }
    return least;
}

/* The sides and the shares that are returned belong together and cost what the slow search found.
 * Returns whether they do: near the border of a cut rounding may lead elsewhere. */
static bool check_joint(const char *text, uint64_t seed, double *start, double *end) {
    scene s;
    open_scene(&s, text, draw_rows(CURVED, 50, 3, 2 + seed % 2, seed), 16, seed);
    pt_cloud other;
    bool found, clear;
    double before = 0, after = 0, slow;
    assert_int_equal(
        pt_cloud_make(s.ctx, s.m, &s.leaf.e, s.leaf.kept_x, s.leaf.kept_label, s.n, &other),
        LIMN_OK);
    slow = slow_joint(&s, &other, &before);
    assert_int_equal(pt_partition(s.ctx, &s.c, &found), LIMN_OK);
    assert_true(found);
    for (size_t i = 0; i < s.n; i++) {
        after += slow_cost(&s, i, s.c.p[s.c.side[i]]);
        assert_int_equal(slow_side(s.m, &s.c.node, s.r.x + i * s.r.d, &clear), s.c.side[i]);
    }
    for (int side = 0; side < 2; side++)
        check_minimum(&s, side);
    assert_true(after <= before);
    *start += before;
    *end += after;
    pt_cloud_free(&s.ctx->mem, &other);
    close_scene(&s);
    return fabs(after - slow) <= 1e-6 * slow;
}

static void test_wpq_and_zpq_end_where_a_slow_search_does(void **state) {
    static const char *const texts[] = {"split=wpq gamma=0.5 budget=30 kept=6",
                                        "split=zpq gamma=0.5 budget=30 kept=6",
                                        "style=paper split=wpq gamma=0.5 budget=30 kept=6"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++) {
        double start = 0, end = 0;
        size_t same = 0;
        for (uint64_t seed = 0; seed < 20; seed++)
            same += check_joint(texts[t], seed, &start, &end);
        assert_true(same >= 18);
        assert_true(end < start / 4);
    }
}

static void test_wpq_costs_less_than_a_random_plane_with_its_best_vectors(void **state) {
    (void)state;
    double joint = 0, random = 0, start = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        (void)check_joint("split=wpq gamma=0.5 budget=30 kept=6", seed, &start, &joint);
        (void)check_joint("split=rndw gamma=0.5 budget=30 kept=6", seed, &start, &random);
    }
    assert_true(joint < 0.9 * random);
}

/* ---- principal directions ---- */

static double variance_along(const rows *r, const double *w) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < r->n; i++) {
        double sum = 0;
        for (size_t j = 0; j < r->d; j++)
            sum += w[j] * (double)r->x[i * r->d + j];
        mean += sum / (double)r->n;
        square += sum * sum / (double)r->n;
    }
    return square - mean * mean;
}

static void test_pca_cuts_across_the_direction_in_which_rows_vary_most(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(3, 196, 0);
    for (size_t d = 1; d <= 6; d++) {
        rows r = draw_rows(CURVED, 200, d, 2, d);
        double own[8], room[16], length = 0;
        for (size_t i = 0; i < r.n * d; i++)
            r.x[i] =
                r.x[i] * (i % d == d / 2 ? 2.0f : 1.0f) + 50 + (i % d ? 0 : r.x[i / d * d + d - 1]);
        assert_true(pt_principal(r.x, r.n, d, own, room));
        for (size_t j = 0; j < d; j++)
            length += own[j] * own[j];
        assert_true(fabs(length - 1) < 1e-9);
        for (int other = 0; other < 300; other++) {
            double w[8], size = 0, near = other % 2 ? 1 : 0.1;
            for (size_t j = 0; j < d; j++)
                w[j] = (other % 2 ? 0 : own[j]) + near * lm_rng_normal(&rng);
            for (size_t j = 0; j < d; j++)
                size += w[j] * w[j];
            assert_true(variance_along(&r, w) / size <= variance_along(&r, own) * (1 + 1e-4));
        }
        free_rows(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ent_and_bal_take_the_best_vector),
        cmocka_unit_test(test_wpq_and_zpq_end_where_a_slow_search_does),
        cmocka_unit_test(test_wpq_costs_less_than_a_random_plane_with_its_best_vectors),
        cmocka_unit_test(test_pca_cuts_across_the_direction_in_which_rows_vary_most),
    };
    return cmocka_run_group_tests_name("ptree_part", tests, NULL, NULL);
}
