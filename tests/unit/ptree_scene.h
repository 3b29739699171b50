/* ptree_scene.h: for the tests of splits: a leaf with rows and vectors, and what selections of its
 * vectors cost, from the definitions. */
#ifndef LIMN_TESTS_PTREE_SCENE_H
#define LIMN_TESTS_PTREE_SCENE_H

#include "ptree_slow.h"

/* ---- cuts ---- */

static inline int compare_doubles(const void *a, const void *b) {
    double u = *(const double *)a, v = *(const double *)b;
    return (u > v) - (u < v);
}

/* How many rows lie below the best of all cuts between different scores; 0: there is none. */
static inline size_t slow_cut(const double *score, size_t n, double *low, double *high) {
    double sorted[64];
    size_t best = 0;
    memcpy(sorted, score, n * sizeof *score);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    for (size_t i = 1; i < n; i++) {
        double half = (double)n / 2, off = fabs((double)i - half);
        if (sorted[i - 1] < sorted[i] && (!best || off < fabs((double)best - half)))
            best = i;
    }
    *low = best ? sorted[best - 1] : 0;
    *high = best ? sorted[best] : 0;
    return best;
}

/* ---- a leaf with rows ---- */

typedef struct scene {
    limn_context *ctx;
    pt_model *m;
    rows r;
    pt_leaf leaf;
    pt_cloud c;
    size_t n, v, k; /* rows, vectors, outputs */
} scene;

/* The vectors are some of the rows, with coefficients at random. To be made where it stays. */
static inline void open_scene(scene *s, const char *text, rows r, size_t vectors, uint64_t seed) {
    *s = (scene){.ctx = make_context(NULL, 1, seed), .r = r, .n = r.n, .v = vectors};
    lm_rng rng = lm_rng_at(seed, 194, 0);
    s->m = new_model(s->ctx, text, r.d, r.classes);
    s->m->steps = seed;
    s->k = s->m->outputs;
    assert_int_equal(pt_leaf_make(s->ctx, s->m, 0, vectors, r.n, &s->leaf), LIMN_OK);
    for (size_t j = 0; j < vectors; j++) {
        double coef[SLOW_OUTPUTS];
        for (size_t o = 0; o < s->k; o++)
            coef[o] = lm_rng_normal(&rng);
        lm_expansion_put(&s->leaf.e, r.x + j * 3 % r.n * r.d, coef);
    }
    for (size_t i = 0; i < r.n; i++)
        pt_leaf_keep(s->m, &s->leaf, r.x + i * r.d, r.label[i]);
    for (size_t o = 0; o < s->k; o++)
        s->leaf.bias[o] = lm_rng_normal(&rng);
    s->leaf.seen = 3 * r.n;
    assert_int_equal(
        pt_cloud_make(s->ctx, s->m, &s->leaf.e, s->leaf.kept_x, s->leaf.kept_label, r.n, &s->c),
        LIMN_OK);
}

static inline void close_scene(scene *s) {
    pt_cloud_free(&s->ctx->mem, &s->c);
    pt_leaf_free(&s->ctx->mem, &s->leaf);
    pt_destroy(&s->ctx->mem, s->m);
    free_rows(&s->r);
    limn_context_free(s->ctx);
}

static inline double coef_of(const scene *s, size_t j, size_t o) {
    return s->leaf.e.coef[j * s->k + o];
}

/* |sum_j p_j K_ij A_j - r_i|^2, r_i being the same sum with all p = 1. */
static inline double slow_cost(const scene *s, size_t i, const double *p) {
    double cost = 0;
    for (size_t o = 0; o < s->k; o++) {
        double off = 0;
        for (size_t j = 0; j < s->v; j++)
            off += (p[j] - 1) * s->c.kernel[i * s->v + j] * coef_of(s, j, o);
        cost += off * off;
    }
    return cost;
}

static inline double slow_error(const scene *s, int side, const double *p) {
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->c.side[i] == side ? slow_cost(s, i, p) : 0;
    return sum;
}

static inline double slow_error_of_set(const scene *s, int side, const uint8_t *keeps) {
    double p[64];
    for (size_t j = 0; j < s->v; j++)
        p[j] = keeps[j];
    return slow_error(s, side, p);
}

static inline size_t count_of(const uint8_t *flags, size_t n) {
    size_t count = 0;
    for (size_t j = 0; j < n; j++) {
        assert_true(flags[j] <= 1);
        count += flags[j];
    }
    return count;
}

static inline void send_at_random(scene *s, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 195, 0);
    for (size_t i = 0; i < s->n; i++)
        s->c.side[i] = (uint8_t)lm_rng_below(&rng, 2);
}

/* ---- the least error ---- */

/* Half the slope of the error with respect to p_j. */
static inline double slow_slope(const scene *s, int side, const double *p, size_t j) {
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t o = 0; o < s->k && s->c.side[i] == side; o++) {
            double off = 0;
            for (size_t h = 0; h < s->v; h++)
                off += (p[h] - 1) * s->c.kernel[i * s->v + h] * coef_of(s, h, o);
            sum += off * s->c.kernel[i * s->v + j] * coef_of(s, j, o);
        }
    return sum;
}

/* No two shares can be moved so that the error falls by more than the tolerance says. */
static inline void check_minimum(const scene *s, int side) {
    const double *p = s->c.p[side];
    double sum = 0, size = 0, grow = -INFINITY, shrink = INFINITY, r2 = 0;
    for (size_t i = 0; i < s->n * s->k; i++)
        r2 += s->c.r[i] * s->c.r[i];
    for (size_t j = 0; j < s->v; j++) {
        assert_true(p[j] >= 0 && p[j] <= 1);
        sum += p[j];
    }
    bool full = sum >= (double)s->c.most * (1 - 1e-9);
    assert_true(sum <= (double)s->c.most * (1 + 1e-9));
    for (size_t j = 0; j < s->v; j++) {
        double gain = -slow_slope(s, side, p, j);
        size = fmax(size, fabs(gain));
        grow = p[j] < 1 ? fmax(grow, gain) : grow;
        shrink = p[j] > 0 ? fmin(shrink, gain) : shrink;
    }
    double most = 0.005 * r2 / (double)s->v + 1e-9 * (1 + size);
    assert_true(grow - (full ? fmin(shrink, INFINITY) : 0) <= most);
    assert_true(shrink >= -most);
}

/* ---- coefficients ---- */

/* A + dA with (K'K + lambda (n + 1) I) dA = K'(r - K A), for one output of a leaf. */
static inline void slow_refit(const scene *s, const pt_leaf *leaf, const double *start, size_t o,
                              double *coef) {
    size_t v = leaf->e.pack.n;
    double gram[16 * 16] = {0}, k[16], f[SLOW_OUTPUTS];
    memset(coef, 0, v * sizeof *coef);
    for (size_t i = 0; i < leaf->kept; i++) {
        const float *x = leaf->kept_x + i * s->r.d;
        float b[SLOW_FEATURES];
        (void)slow_outputs(s->m, &s->leaf, false, x, f);
        double rest = f[o] - s->leaf.bias[o];
        for (size_t j = 0; j < v; j++) {
            slow_vector(&leaf->e.pack, j, b);
            k[j] = slow_kernel(&s->m->o.kernel, x, b, s->r.d);
            rest -= k[j] * start[j * s->k + o];
        }
        for (size_t j = 0; j < v; j++) {
            coef[j] += k[j] * rest;
            for (size_t h = 0; h < v; h++)
                gram[j * v + h] += k[j] * k[h];
        }
    }
    for (size_t j = 0; j < v; j++)
        gram[j * v + j] += s->m->o.refit * (double)(leaf->kept + 1);
    assert_true(slow_solve(gram, v, coef));
    for (size_t j = 0; j < v; j++)
        coef[j] += start[j * s->k + o];
}

#endif
