/* vpc_slow.h: vpc by its definition in plain loops, for test_vpc.c: trees by recursion over
 * lists of rows, discriminants by Jacobi rotations, queries by asking every leaf for its own
 * activation radius.
 *
 * The slow tree is built alongside the trained one. It decides everything itself, with two
 * exceptions: the random pivots of a forest are taken from the trained trees, and where rows lie
 * within rounding of a discriminant's border, so that it is uncertain whether the node is a leaf,
 * the trained tree is followed (unclear counts these). Distances are rounded as the library rounds
 * them, so that ties are ties. */
#ifndef LIMN_TESTS_VPC_SLOW_H
#define LIMN_TESTS_VPC_SLOW_H

#include "methods/vpc/build.h"
#include "model/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_D = 8, MOST_K = 24, MOST_N = 320, MOST_DEPTH = 16 };

typedef struct setting {
    vpc_style style;
    vpc_vote vote;
    vpc_metric metric;
    vpc_distance distance;
    double gamma, rho, stop;
    int candidates, samples, trees;
} setting;

typedef struct slow_fit {
    size_t k, count[MOST_K];
    int32_t name[MOST_K];
    double w[MOST_K][MOST_D], b[MOST_K];
} slow_fit;

/* What a forest's node passes on. */
typedef struct handed {
    double s[MOST_D * MOST_D], prior[MOST_K];
} handed;

typedef struct step {
    size_t pivot;
    double mu;
    bool near;
} step;

typedef struct slow_leaf {
    slow_fit fit;
    size_t n, depth;
    double centre[MOST_D];
    step path[MOST_DEPTH];
} slow_leaf;

typedef struct slow_tree {
    size_t leaves;
    double radius;
    slow_leaf leaf[MOST_N];
} slow_tree;

typedef struct trial {
    setting set;
    limn_context *ctx;
    limn_data *data;
    size_t n, d, k;
    const float *x;
    const int32_t *label;
    limn_model *model;
    const vpc_model *m;
    slow_tree *tree;         /* one for each trained tree */
    size_t at_node, at_leaf; /* position in the trained model, in the order of the walk */
    size_t nodes, unclear;   /* seen; decided by rounding */
    size_t asked, skipped;   /* queries */
    step path[MOST_DEPTH];
} trial;

/* ---- small matrices ---- */

/* Cyclic Jacobi rotations: a (destroyed) = sum of value_e v_e v_e', v_e the e-th row of v. */
static inline void jacobi(double *a, size_t d, double *value, double *v) {
    for (size_t i = 0; i < d * d; i++)
        v[i] = i % (d + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++)
        for (size_t p = 0; p < d; p++)
            for (size_t q = p + 1; q < d; q++) {
                if (a[p * d + q] == 0)
                    continue;
                double theta = (a[q * d + q] - a[p * d + p]) / (2 * a[p * d + q]);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (size_t i = 0; i < d; i++) {
                    double ip = a[i * d + p], iq = a[i * d + q];
                    a[i * d + p] = c * ip - s * iq;
                    a[i * d + q] = s * ip + c * iq;
                }
                for (size_t i = 0; i < d; i++) {
                    double pi = a[p * d + i], qi = a[q * d + i];
                    a[p * d + i] = c * pi - s * qi;
                    a[q * d + i] = s * pi + c * qi;
                    pi = v[p * d + i], qi = v[q * d + i];
                    v[p * d + i] = c * pi - s * qi;
                    v[q * d + i] = s * pi + c * qi;
                }
            }
    for (size_t e = 0; e < d; e++)
        value[e] = a[e * d + e];
}

static inline double largest_of(const double *value, size_t d) {
    double top = 0;
    for (size_t e = 0; e < d; e++)
        top = value[e] > top ? value[e] : top;
    return top;
}

/* out <- the pseudo-inverse of a to that power (1 or 1/2); the identity where a is 0. */
static inline void inverse(const double *a, size_t d, double power, double *out) {
    double copy[MOST_D * MOST_D], value[MOST_D], v[MOST_D * MOST_D];
    memcpy(copy, a, d * d * sizeof *copy);
    jacobi(copy, d, value, v);
    double top = largest_of(value, d);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = top > 0 ? 0 : i == j;
            for (size_t e = 0; e < d && top > 0; e++)
                if (value[e] > 1e-10 * top)
                    out[i * d + j] += v[e * d + i] * v[e * d + j] / pow(value[e], power);
        }
}

static inline void times(const double *a, const double *b, size_t d, double *out) {
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = 0;
            for (size_t l = 0; l < d; l++)
                out[i * d + j] += a[i * d + l] * b[l * d + j];
        }
}

/* out <- V V', where V has the eigenvectors of the inverse of the within scatter times the
 * between scatter, at unit length: v = s^-1/2 q with q of s^-1/2 between s^-1/2. */
static inline void unit_metric(const double *s, const double *between, size_t d, size_t k,
                               double *out) {
    double root[MOST_D * MOST_D], half[MOST_D * MOST_D], both[MOST_D * MOST_D];
    double value[MOST_D], q[MOST_D * MOST_D], trace = 0;
    for (size_t j = 0; j < d; j++)
        trace += s[j * d + j];
    inverse(s, d, 0.5, root);
    if (!(trace > 0)) {
        memcpy(out, root, d * d * sizeof *out);
        return;
    }
    times(root, between, d, half);
    times(half, root, d, both);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            both[i * d + j] = both[j * d + i];
    jacobi(both, d, value, q);
    double top = largest_of(value, d);
    memset(out, 0, d * d * sizeof *out);
    bool used[MOST_D] = {false};
    for (size_t round = 0; round + 1 < k && round < d; round++) {
        double v[MOST_D] = {0}, length = 0;
        size_t best = d;
        for (size_t e = 0; e < d; e++)
            if (!used[e] && (best == d || value[e] > value[best]))
                best = e;
        used[best] = true;
        if (!(value[best] > 1e-10 * top))
            break;
        for (size_t i = 0; i < d; i++) {
            for (size_t j = 0; j < d; j++)
                v[i] += root[i * d + j] * q[best * d + j];
            length += v[i] * v[i];
        }
        for (size_t i = 0; i < d * d && length > 0; i++)
            out[i] += v[i / d] * v[i % d] / length;
    }
}

/* ---- discriminants ---- */

/* S of a forest's node from its within scatter. */
static inline void shrink(const trial *t, const handed *parent, size_t n, size_t k, double *s) {
    size_t d = t->d;
    double trace = 0, rest = n > k + 1 ? (double)(n - k) : 1;
    if (parent) {
        for (size_t i = 0; i < d * d; i++)
            s[i] = (s[i] + (double)d * parent->s[i]) / ((double)n - (double)k + (double)d);
        return;
    }
    for (size_t j = 0; j < d; j++)
        trace += s[j * d + j] / rest;
    for (size_t i = 0; i < d * d; i++)
        s[i] = trace > 0 ? s[i] / rest + (i % (d + 1) == 0 ? 1e-4 * trace / (double)d : 0)
                         : i % (d + 1) == 0;
}

static inline void slow_moments(const trial *t, const size_t *rows, size_t n, slow_fit *f,
                                double mean[MOST_K][MOST_D], double *all, double *s,
                                double *between) {
    size_t d = t->d, place[MOST_K], count[MOST_K] = {0};
    memset(f, 0, sizeof *f);
    memset(mean, 0, MOST_K * sizeof *mean);
    memset(all, 0, MOST_D * sizeof *all);
    memset(s, 0, MOST_D * MOST_D * sizeof *s);
    memset(between, 0, MOST_D * MOST_D * sizeof *between);
    for (size_t i = 0; i < n; i++)
        count[t->label[rows[i]]]++;
    for (size_t c = 0; c < t->k; c++)
        if (count[c]) {
            place[c] = f->k;
            f->count[f->k] = count[c];
            f->name[f->k++] = (int32_t)c;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            mean[place[t->label[rows[i]]]][j] += (double)t->x[rows[i] * d + j];
            all[j] += (double)t->x[rows[i] * d + j] / (double)n;
        }
    for (size_t c = 0; c < f->k; c++)
        for (size_t j = 0; j < d; j++)
            mean[c][j] /= (double)f->count[c];
    for (size_t i = 0; i < n; i++) {
        const double *m = mean[place[t->label[rows[i]]]];
        for (size_t a = 0; a < d; a++)
            for (size_t b = 0; b < d; b++)
                s[a * d + b] +=
                    ((double)t->x[rows[i] * d + a] - m[a]) * ((double)t->x[rows[i] * d + b] - m[b]);
    }
    for (size_t c = 0; c < f->k; c++)
        for (size_t i = 0; i < d * d; i++)
            between[i] +=
                (double)f->count[c] * (mean[c][i / d] - all[i / d]) * (mean[c][i % d] - all[i % d]);
}

static inline void slow_fit_rows(const trial *t, const size_t *rows, size_t n, const handed *parent,
                                 handed *own, slow_fit *f) {
    size_t d = t->d;
    double mean[MOST_K][MOST_D], all[MOST_D], s[MOST_D * MOST_D], between[MOST_D * MOST_D];
    double a[MOST_D * MOST_D], factor = 1;
    slow_moments(t, rows, n, f, mean, all, s, between);
    if (t->set.style == VPC_FOREST) {
        memset(own, 0, sizeof *own);
        shrink(t, parent, n, f->k, s);
        memcpy(own->s, s, sizeof s);
        inverse(s, d, 1, a);
    } else if (t->set.metric == VPC_UNIT) {
        unit_metric(s, between, d, f->k, a);
    } else {
        inverse(s, d, 1, a);
        factor = n > f->k ? (double)(n - f->k) : 1; /* n = k: any positive factor is fine */
    }
    for (size_t c = 0; c < f->k; c++) {
        for (size_t i = 0; i < d; i++) {
            for (size_t j = 0; j < d; j++)
                f->w[c][i] += factor * a[i * d + j] * (mean[c][j] - all[j]);
            f->b[c] -= f->w[c][i] * (mean[c][i] + all[i]) / 2;
        }
        if (t->set.style != VPC_FOREST)
            continue;
        double count = (double)f->count[c], k = (double)f->k;
        double before = parent ? parent->prior[f->name[c]] : count / (double)n;
        own->prior[f->name[c]] = (count + k * before) / ((double)n + k);
        f->b[c] += log(own->prior[f->name[c]]);
    }
}

/* magnitude: what rounding errors of the score are relative to. */
static inline double score(const slow_fit *f, size_t c, const float *x, size_t d,
                           double *magnitude) {
    double sum = f->b[c], size = fabs(f->b[c]);
    for (size_t j = 0; j < d; j++) {
        sum += f->w[c][j] * (double)x[j];
        size += fabs(f->w[c][j] * (double)x[j]);
    }
    *magnitude = size > *magnitude ? size : *magnitude;
    return sum;
}

/* The best class, and whether it is best by more than rounding. */
static inline size_t best_of(const slow_fit *f, const float *x, size_t d, bool *clear) {
    size_t best = 0;
    double top = 0, second = -INFINITY, magnitude = 0;
    for (size_t c = 0; c < f->k; c++) {
        double s = score(f, c, x, d, &magnitude);
        if (c == 0 || s > top) {
            second = c == 0 ? -INFINITY : top;
            top = s;
            best = c;
        } else if (s > second) {
            second = s;
        }
    }
    *clear = f->k == 1 || top - second > 1e-5 * magnitude + 1e-9;
    return best;
}

/* ---- distances ---- */

static inline float slow_distance(const trial *t, const float *a, const float *b) {
    double sum = 0;
    for (size_t j = 0; j < t->d; j++) {
        double gap = (double)a[j] - (double)b[j];
        sum += t->set.distance == VPC_L2 ? gap * gap : fabs(gap);
    }
    return vpc_rounded(sum);
}

static inline double length(const trial *t, float distance) {
    return t->set.distance == VPC_L2 ? sqrt((double)distance) : (double)distance;
}

/* The rows except p, ranked by (distance, row), by insertion; returns their number. */
static inline size_t rank_rows(const trial *t, size_t p, const size_t *rows, size_t n,
                               size_t *ranked, float *distance) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i] == p)
            continue;
        float own = slow_distance(t, t->x + p * t->d, t->x + rows[i] * t->d);
        size_t at = m++;
        for (; at > 0 &&
               (distance[at - 1] > own || (distance[at - 1] == own && ranked[at - 1] > rows[i]));
             at--) {
            distance[at] = distance[at - 1];
            ranked[at] = ranked[at - 1];
        }
        distance[at] = own;
        ranked[at] = rows[i];
    }
    return m;
}

static inline double median_length(const trial *t, const float *distance, size_t m) {
    double upper = length(t, distance[m / 2]);
    return m % 2 ? upper : (length(t, distance[m / 2 - 1]) + upper) / 2;
}

/* ---- pivots ---- */

static inline double entropy(const trial *t, const size_t *ranked, size_t m) {
    size_t count[2][MOST_K] = {{0}};
    double sum = 0;
    for (size_t i = 0; i < m; i++)
        count[i >= (m + 1) / 2][t->label[ranked[i]]]++;
    for (size_t c = 0; c < 2 * MOST_K; c++)
        if (count[c / MOST_K][c % MOST_K]) {
            double share = (double)count[c / MOST_K][c % MOST_K] / (double)m;
            sum -= share * log2(share);
        }
    return sum;
}

/* Entropies that differ by rounding only are equal. */
static inline size_t paper_pivot(const trial *t, const size_t *rows, size_t n) {
    size_t p = t->set.candidates ? (size_t)t->set.candidates : 64;
    size_t s = t->set.samples ? (size_t)t->set.samples : 1000;
    size_t sample[MOST_N], ranked[MOST_N], best = rows[0];
    float distance[MOST_N] = {0};
    double least = INFINITY;
    p = p < n ? p : n;
    s = s < n ? s : n;
    for (size_t j = 0; j < s; j++)
        sample[j] = rows[j * n / s];
    for (size_t i = 0; i < p; i++) {
        size_t row = rows[i * n / p], m = rank_rows(t, row, sample, s, ranked, distance);
        double e = entropy(t, ranked, m);
        if (e < least - 1e-12) {
            least = e;
            best = row;
        }
    }
    return best;
}

static inline int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where all rows are candidates and all are the sample: the widest ring, ties go to the lower
 * row. */
static inline size_t forest_pivot(const trial *t, const size_t *rows, size_t n) {
    size_t ranked[MOST_N], best = rows[0];
    float distance[MOST_N] = {0};
    double gap[MOST_N], widest = -1;
    for (size_t i = 0; i < n; i++) {
        size_t m = rank_rows(t, rows[i], rows, n, ranked, distance);
        double mu = median_length(t, distance, m);
        for (size_t j = 0; j < m; j++)
            gap[j] = fabs(length(t, distance[j]) - mu);
        qsort(gap, m, sizeof *gap, by_value);
        double spread = m % 2 ? gap[m / 2] : (gap[m / 2 - 1] + gap[m / 2]) / 2;
        if (spread > widest) {
            widest = spread;
            best = rows[i];
        }
    }
    return best;
}

/* ---- trees ---- */

static inline bool same(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance;
}

static inline bool all_equal(const trial *t, const size_t *rows, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (slow_distance(t, t->x + rows[0] * t->d, t->x + rows[i] * t->d) > 0)
            return false;
    return true;
}

/* Leaf or not: 1, 0, or -1 where rounding decides. */
static inline int is_leaf(const trial *t, const slow_fit *f, const size_t *rows, size_t n) {
    size_t wrong = 0, open = 0;
    if (f->k == 1 || n < 3 || all_equal(t, rows, n))
        return 1;
    for (size_t i = 0; i < n; i++) {
        bool clear;
        size_t c = best_of(f, t->x + rows[i] * t->d, t->d, &clear);
        open += !clear;
        wrong += clear && f->name[c] != t->label[rows[i]];
    }
    if ((double)(wrong + open) / (double)n <= t->set.gamma)
        return 1;
    return (double)wrong / (double)n > t->set.gamma ? 0 : -1;
}

/* The trained leaf has these rows, classes and scores, and this mean. */
static inline void check_leaf(trial *t, const slow_leaf *s, const size_t *rows) {
    const vpc_model *m = t->m;
    size_t number = t->at_leaf++, d = t->d;
    assert_true(number < m->leaves);
    const vpc_leaf *leaf = &m->leaf[number];
    assert_int_equal(leaf->n, s->n);
    assert_int_equal(leaf->classes, s->fit.k);
    for (size_t c = 0; c < s->fit.k; c++)
        assert_int_equal(m->listing[leaf->first + c], s->fit.name[c]);
    for (size_t i = 0; i < s->n && s->fit.k > 1; i++) {
        double want[MOST_K], magnitude = 0;
        const float *x = t->x + rows[i] * d;
        for (size_t c = 0; c < s->fit.k; c++)
            want[c] = score(&s->fit, c, x, d, &magnitude);
        for (size_t c = 0; c < s->fit.k && s->n > s->fit.k; c++) {
            size_t panel = leaf->panel + c / LM_PANEL;
            double got = (double)m->bias[panel * LM_PANEL + c % LM_PANEL];
            for (size_t j = 0; j < d; j++)
                got += (double)m->weights[(panel * d + j) * LM_PANEL + c % LM_PANEL] * (double)x[j];
            assert_true(same(got, want[c], 1e-4 * magnitude + 1e-9));
        }
    }
    for (size_t j = 0; j < d && m->centre; j++)
        assert_true(
            same((double)m->centre[number * d + j], s->centre[j], 1e-6 * (1 + fabs(s->centre[j]))));
}

static inline void put_leaf(trial *t, slow_tree *tree, const slow_fit *f, const size_t *rows,
                            size_t n, size_t depth) {
    slow_leaf *leaf = &tree->leaf[tree->leaves++];
    *leaf = (slow_leaf){.fit = *f, .n = n, .depth = depth};
    memcpy(leaf->path, t->path, sizeof t->path);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < t->d; j++)
            leaf->centre[j] += (double)t->x[rows[i] * t->d + j] / (double)n;
    check_leaf(t, leaf, rows);
}

static inline size_t find_pivot(const trial *t, const vpc_grown *g, const size_t *rows, size_t n) {
    if (t->set.style == VPC_PAPER)
        return paper_pivot(t, rows, n);
    if (t->set.candidates >= (int)n && t->set.samples >= (int)n)
        return forest_pivot(t, rows, n);
    for (size_t i = 0; i < n; i++)
        if (rows[i] == g->pivot)
            return rows[i];
    fail_msg("pivot %u is none of the node's rows", (unsigned)g->pivot);
    return 0;
}

/* Splits ascending rows around p; both halves stay ascending. Returns mu. */
static inline double halve(const trial *t, size_t p, const size_t *rows, size_t n, size_t *near,
                           size_t *nears, size_t *far, size_t *fars) {
    size_t ranked[MOST_N];
    float distance[MOST_N] = {0};
    size_t m = rank_rows(t, p, rows, n, ranked, distance);
    *nears = *fars = 0;
    for (size_t i = 0; i < n; i++) {
        size_t place = 0;
        while (place < m && ranked[place] != rows[i])
            place++;
        if (rows[i] == p || place < (m + 1) / 2)
            near[(*nears)++] = rows[i];
        else
            far[(*fars)++] = rows[i];
    }
    return median_length(t, distance, m);
}

static inline void slow_node(trial *t, slow_tree *tree, int32_t link, const vpc_grown *g,
                             const size_t *rows, size_t n, const handed *parent, size_t depth) {
    slow_fit f;
    handed own;
    size_t near[MOST_N], far[MOST_N], nears, fars, d = t->d;
    slow_fit_rows(t, rows, n, parent, &own, &f);
    int leaf = is_leaf(t, &f, rows, n);
    t->nodes++;
    t->unclear += leaf < 0;
    if (leaf >= 0 && leaf != (link < 0))
        fail_msg("%zu rows of %zu classes should%s be a leaf", n, f.k, leaf ? "" : " not");
    if (link < 0) {
        assert_int_equal(~link, t->at_leaf);
        put_leaf(t, tree, &f, rows, n, depth);
        return;
    }
    size_t number = t->at_node++, p = find_pivot(t, g, rows, n);
    assert_int_equal(link, number);
    double mu = halve(t, p, rows, n, near, &nears, far, &fars);
    if (memcmp(t->m->pivot + number * d, t->x + p * d, d * sizeof(float)) != 0)
        fail_msg("node %zu of %zu rows: another pivot than row %zu", number, n, p);
    assert_true(same(t->m->mu[number], mu, 1e-12 * mu));
    assert_true(depth < MOST_DEPTH);
    if (depth == 0)
        tree->radius = t->set.rho * mu;
    t->path[depth] = (step){p, mu, true};
    slow_node(t, tree, t->m->node[number].near, g ? g->near : NULL, near, nears, &own, depth + 1);
    t->path[depth] = (step){p, mu, false};
    slow_node(t, tree, t->m->node[number].far, g ? g->far : NULL, far, fars, &own, depth + 1);
}

/* The trained trees, for their pivots. */
static inline vpc_grown **grow_again(trial *t) {
    lm_train_set set = {
        .task = LIMN_CLASSIFY, .n = t->n, .d = t->d, .classes = t->k, .x = t->x, .label = t->label};
    vpc_plan plan = {.set = &set,
                     .d = t->d,
                     .seed = t->ctx->seed,
                     .stream = lm_stream_of("vpc"),
                     .style = t->set.style,
                     .distance = t->set.distance,
                     .gamma = t->set.gamma,
                     .candidates = t->set.candidates ? (size_t)t->set.candidates : 16,
                     .samples = t->set.samples ? (size_t)t->set.samples : 300,
                     .pair = lm_pair_kernel(t->set.distance == VPC_L1 ? LM_L1 : LM_L2)};
    uint32_t rows[MOST_N];
    vpc_grown **roots = NULL;
    for (size_t i = 0; i < t->n; i++)
        rows[i] = (uint32_t)i;
    assert_int_equal(vpc_grow(t->ctx, &plan, t->m->trees, rows, t->n, &roots), LIMN_OK);
    return roots;
}

static inline void build_slowly(trial *t) {
    size_t rows[MOST_N];
    t->tree = calloc(t->m->trees, sizeof *t->tree);
    for (size_t i = 0; i < t->n; i++)
        rows[i] = i;
    vpc_grown **roots = t->set.style == VPC_FOREST ? grow_again(t) : NULL;
    for (size_t tree = 0; tree < t->m->trees; tree++) {
        vpc_grown *root = roots ? roots[tree] : NULL;
        slow_node(t, &t->tree[tree], t->m->root[tree], root, rows, t->n, NULL, 0);
        assert_true(same(t->m->radius[tree], t->tree[tree].radius, 1e-12 * t->m->radius[tree]));
        vpc_grown_free(&t->ctx->mem, root);
    }
    lm_free(&t->ctx->mem, roots);
    assert_int_equal(t->at_leaf, t->m->leaves);
    assert_int_equal(t->at_node, t->m->nodes);
}

/* ---- queries ---- */

static inline double activation(const trial *t, const slow_leaf *leaf, const float *x) {
    double r = 0;
    for (size_t i = 0; i < leaf->depth; i++) {
        const step *s = &leaf->path[i];
        double d = length(t, slow_distance(t, x, t->x + s->pivot * t->d));
        double own = s->near ? d - s->mu : s->mu - d;
        r = own > r ? own : r;
    }
    return r;
}

/* Returns the weight of a vote that rounding decides. */
static inline double paper_vote(const trial *t, const slow_leaf *leaf, const float *x, double R,
                                double *votes) {
    double r = activation(t, leaf, x), weight = (double)leaf->n, sum = 0;
    bool clear, border = R > 0 && fabs(r - R) <= 1e-5 * R;
    if (r > R && !border)
        return 0;
    size_t best = best_of(&leaf->fit, x, t->d, &clear);
    for (size_t j = 0; j < t->d; j++) {
        double gap = (double)x[j] - (double)(float)leaf->centre[j];
        sum += t->set.distance == VPC_L2 ? gap * gap : fabs(gap);
    }
    if (t->set.vote == VPC_CENTROID)
        weight /= sum + 1e-12;
    votes[leaf->fit.name[best]] += weight;
    /* Close to a leaf's centre the distance is mostly rounding error. */
    return clear && !border && (t->set.vote == VPC_COUNT || sum == 0 || sum > 1e-9) ? 0 : weight;
}

/* slack: grows by what rounding may change. */
static inline void forest_vote(const trial *t, const slow_leaf *leaf, const float *x, double R,
                               double *votes, double *slack) {
    double r = activation(t, leaf, x), weight = R > 0 ? 1 - r / R : r <= 0, s[MOST_K];
    double magnitude = 0, top = -INFINITY, sum = 0;
    if (!(weight > 0))
        return;
    for (size_t c = 0; c < leaf->fit.k; c++) {
        s[c] = score(&leaf->fit, c, x, t->d, &magnitude);
        top = s[c] > top ? s[c] : top;
    }
    for (size_t c = 0; c < leaf->fit.k; c++)
        sum += exp(s[c] - top);
    for (size_t c = 0; c < leaf->fit.k; c++)
        votes[leaf->fit.name[c]] += weight * exp(s[c] - top) / sum;
    *slack = fmax(*slack, 1e-6 * magnitude);
}

static inline void check_query(trial *t, const float *x, int32_t got, const double *proba) {
    double votes[MOST_K] = {0}, sum = 0, slack = 1e-5, second = -1, open = 0;
    size_t best = 0;
    for (size_t tree = 0; tree < t->m->trees; tree++)
        for (size_t l = 0; l < t->tree[tree].leaves; l++) {
            const slow_leaf *leaf = &t->tree[tree].leaf[l];
            if (t->set.style == VPC_PAPER)
                open += paper_vote(t, leaf, x, t->tree[tree].radius, votes);
            else
                forest_vote(t, leaf, x, t->tree[tree].radius, votes, &slack);
        }
    for (size_t c = 0; c < t->k; c++) {
        sum += votes[c];
        best = votes[c] > votes[best] ? c : best;
    }
    assert_true(sum > 0);
    slack += 2 * open / sum;
    for (size_t c = 0; c < t->k; c++) {
        if (!same(proba[c], votes[c] / sum, slack))
            fail_msg("class %zu has %.9g instead of %.9g (%.3g)", c, proba[c], votes[c] / sum,
                     slack);
        second = c != best && votes[c] > second ? votes[c] : second;
    }
    /* Counts are whole numbers: their ties are true ones. */
    bool exact = t->set.style == VPC_PAPER && t->set.vote == VPC_COUNT && open == 0;
    t->asked++;
    if (exact || votes[best] - second > 2 * slack * sum)
        assert_int_equal(got, best);
    else
        t->skipped++;
}

#endif
