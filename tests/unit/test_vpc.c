/* vpc against its definition in plain loops: trees by recursion over lists of rows, discriminants
 * by Jacobi rotations, queries by asking every leaf for its own activation radius.
 *
 * The slow tree is built along the trained one. It decides everything itself, with two exceptions:
 * the pivots of a forest are drawn at random and are taken from the tree that grew, and where rows
 * lie within rounding of a discriminant's border, so that nobody can tell whether the node is a
 * leaf, the trained tree is followed (unclear counts these). Distances are rounded as the library
 * rounds them, so that ties are ties. */
#include "classifier/classifier.h"
#include "methods/vpc/build.h"
#include "reseal.h"
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_D = 8, MOST_K = 24, MOST_N = 320, MOST_DEPTH = 16, QUERIES = 120 };

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

/* What a forest's node hands on. */
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
    slow_tree *tree;         /* of each */
    size_t at_node, at_leaf; /* of the trained model, in the order of the walk */
    size_t nodes, unclear;   /* seen; decided by rounding */
    size_t asked, skipped;   /* queries */
    step path[MOST_DEPTH];
} trial;

/* ---- small matrices ---- */

/* Cyclic Jacobi rotations: a (destroyed) = sum of value_e v_e v_e', v_e the e-th row of v. */
static void jacobi(double *a, size_t d, double *value, double *v) {
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

static double largest_of(const double *value, size_t d) {
    double top = 0;
    for (size_t e = 0; e < d; e++)
        top = value[e] > top ? value[e] : top;
    return top;
}

/* out <- the pseudo-inverse of a to that power (1 or 1/2); the identity where a is 0. */
static void inverse(const double *a, size_t d, double power, double *out) {
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

static void times(const double *a, const double *b, size_t d, double *out) {
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = 0;
            for (size_t l = 0; l < d; l++)
                out[i * d + j] += a[i * d + l] * b[l * d + j];
        }
}

/* out <- V V', V the eigenvectors of the inverse of the within scatter times the one between, at
 * unit length: v = s^-1/2 q with q of s^-1/2 between s^-1/2. */
static void unit_metric(const double *s, const double *between, size_t d, size_t k, double *out) {
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
static void shrink(const trial *t, const handed *parent, size_t n, size_t k, double *s) {
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

static void slow_moments(const trial *t, const size_t *rows, size_t n, slow_fit *f,
                         double mean[MOST_K][MOST_D], double *all, double *s, double *between) {
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

static void slow_fit_rows(const trial *t, const size_t *rows, size_t n, const handed *parent,
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
        factor = n > f->k ? (double)(n - f->k) : 1; /* n = k: any positive factor answers alike */
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
static double score(const slow_fit *f, size_t c, const float *x, size_t d, double *magnitude) {
    double sum = f->b[c], size = fabs(f->b[c]);
    for (size_t j = 0; j < d; j++) {
        sum += f->w[c][j] * (double)x[j];
        size += fabs(f->w[c][j] * (double)x[j]);
    }
    *magnitude = size > *magnitude ? size : *magnitude;
    return sum;
}

/* The best class, and whether it is best by more than rounding. */
static size_t best_of(const slow_fit *f, const float *x, size_t d, bool *clear) {
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

static float slow_distance(const trial *t, const float *a, const float *b) {
    double sum = 0;
    for (size_t j = 0; j < t->d; j++) {
        double gap = (double)a[j] - (double)b[j];
        sum += t->set.distance == VPC_L2 ? gap * gap : fabs(gap);
    }
    return vpc_rounded(sum);
}

static double length(const trial *t, float distance) {
    return t->set.distance == VPC_L2 ? sqrt((double)distance) : (double)distance;
}

/* Of the rows but p, ranked by (distance, row), insertion by insertion; returns their number. */
static size_t rank_rows(const trial *t, size_t p, const size_t *rows, size_t n, size_t *ranked,
                        float *distance) {
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

static double median_length(const trial *t, const float *distance, size_t m) {
    double upper = length(t, distance[m / 2]);
    return m % 2 ? upper : (length(t, distance[m / 2 - 1]) + upper) / 2;
}

/* ---- pivots ---- */

static double entropy(const trial *t, const size_t *ranked, size_t m) {
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
static size_t paper_pivot(const trial *t, const size_t *rows, size_t n) {
    size_t p = t->set.candidates ? (size_t)t->set.candidates : 64;
    size_t s = t->set.samples ? (size_t)t->set.samples : 1000;
    size_t sample[MOST_N], ranked[MOST_N], best = rows[0];
    float distance[MOST_N];
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

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where all rows are candidates and all are the sample: the widest ring, ties to the lower row. */
static size_t forest_pivot(const trial *t, const size_t *rows, size_t n) {
    size_t ranked[MOST_N], best = rows[0];
    float distance[MOST_N];
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

static bool same(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance;
}

static bool all_equal(const trial *t, const size_t *rows, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (slow_distance(t, t->x + rows[0] * t->d, t->x + rows[i] * t->d) > 0)
            return false;
    return true;
}

/* Leaf or not: 1, 0, or -1 where rounding decides. */
static int is_leaf(const trial *t, const slow_fit *f, const size_t *rows, size_t n) {
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

/* The trained leaf has these rows, classes, scores and this mean. */
static void check_leaf(trial *t, const slow_leaf *s, const size_t *rows) {
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

static void put_leaf(trial *t, slow_tree *tree, const slow_fit *f, const size_t *rows, size_t n,
                     size_t depth) {
    slow_leaf *leaf = &tree->leaf[tree->leaves++];
    *leaf = (slow_leaf){.fit = *f, .n = n, .depth = depth};
    memcpy(leaf->path, t->path, sizeof t->path);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < t->d; j++)
            leaf->centre[j] += (double)t->x[rows[i] * t->d + j] / (double)n;
    check_leaf(t, leaf, rows);
}

static size_t find_pivot(const trial *t, const vpc_grown *g, const size_t *rows, size_t n) {
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

/* Splits ascending rows around p: both halves ascending too. Returns mu. */
static double halve(const trial *t, size_t p, const size_t *rows, size_t n, size_t *near,
                    size_t *nears, size_t *far, size_t *fars) {
    size_t ranked[MOST_N];
    float distance[MOST_N];
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

static void slow_node(trial *t, slow_tree *tree, int32_t link, const vpc_grown *g,
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

/* The trees that grew, for their pivots. */
static vpc_grown **grow_again(trial *t) {
    lm_train_set set = {
        .task = LIMN_CLASSIFY, .n = t->n, .d = t->d, .classes = t->k, .x = t->x, .label = t->label};
    vpc_plan plan = {.set = &set,
                     .d = t->d,
                     .seed = t->ctx->seed,
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

static void build_slowly(trial *t) {
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

static double activation(const trial *t, const slow_leaf *leaf, const float *x) {
    double r = 0;
    for (size_t i = 0; i < leaf->depth; i++) {
        const step *s = &leaf->path[i];
        double d = length(t, slow_distance(t, x, t->x + s->pivot * t->d));
        double own = s->near ? d - s->mu : s->mu - d;
        r = own > r ? own : r;
    }
    return r;
}

/* Returns the weight of a vote that rounding decides over. */
static double paper_vote(const trial *t, const slow_leaf *leaf, const float *x, double R,
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
    /* At a leaf's very centre the distance is all rounding. */
    return clear && !border && (t->set.vote == VPC_COUNT || sum > 1e-9) ? 0 : weight;
}

/* slack: grows to what rounding may change. */
static void forest_vote(const trial *t, const slow_leaf *leaf, const float *x, double R,
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

static void check_query(trial *t, const float *x, int32_t got, const double *proba) {
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

static void ask_all(trial *t, const float *x, size_t n) {
    limn_predictor *p = NULL;
    int32_t *classes = malloc(n * sizeof *classes);
    double *proba = malloc(n * t->k * sizeof *proba);
    assert_int_equal(limn_predictor_new(t->ctx, t->model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, x, n, classes), LIMN_OK);
    assert_int_equal(limn_predict_proba(p, x, n, proba), LIMN_OK);
    for (size_t i = 0; i < n; i++)
        check_query(t, x + i * t->d, classes[i], proba + i * t->k);
    limn_predictor_free(p);
    free(classes);
    free(proba);
}

/* ---- data and models ---- */

typedef enum kind { CONTINUOUS, INTEGERS, CONSTANT, WIDE, MANY_CLASSES, KINDS } kind;

static limn_data *draw_data(limn_context *ctx, kind of, uint64_t seed) {
    static const size_t sizes[KINDS][3] = {/* n, d, classes */
                                           {120, 4, 3},
                                           {150, 2, 3},
                                           {60, 3, 2},
                                           {7, 8, 3},
                                           {300, 3, 20}};
    size_t n = sizes[of][0], d = sizes[of][1], k = sizes[of][2];
    float x[MOST_N * MOST_D];
    double y[MOST_N];
    lm_rng rng = lm_rng_at(seed, (uint64_t)of, 77);
    limn_data *data = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t c = i < k ? i : (size_t)lm_rng_below(&rng, k);
        c = i >= k && c == 0 && of == CONTINUOUS && i % 4 ? 1 : c; /* one class is rare */
        y[i] = (double)c;
        for (size_t j = 0; j < d; j++) {
            double v = lm_rng_normal(&rng) + 1.2 * (double)((c >> j) % 4);
            if (of == INTEGERS)
                v = (double)lm_rng_below(&rng, 5) + (double)(c == j);
            else if (of == CONSTANT && j == 1)
                v = 0.7;
            x[i * d + j] = (float)v;
        }
    }
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, d, y, &data), LIMN_OK);
    return data;
}

static limn_status train(limn_context *ctx, const limn_data *data, const setting *s,
                         limn_model **model) {
    char text[10][40];
    const char *params[10];
    limn_train_options options;
    limn_train_options_init(&options);
    snprintf(text[0], 40, "style=%s", s->style == VPC_PAPER ? "paper" : "forest");
    snprintf(text[1], 40, "vote=%s", s->vote == VPC_COUNT ? "count" : "centroid");
    snprintf(text[2], 40, "metric=%s", s->metric == VPC_UNIT ? "unit" : "mahalanobis");
    snprintf(text[3], 40, "distance=%s", s->distance == VPC_L1 ? "l1" : "l2");
    snprintf(text[4], 40, "gamma=%.17g", s->gamma);
    snprintf(text[5], 40, "radius=%.17g", s->rho);
    snprintf(text[6], 40, "stop=%.17g", s->stop);
    snprintf(text[7], 40, "candidates=%d", s->candidates);
    snprintf(text[8], 40, "samples=%d", s->samples);
    snprintf(text[9], 40, "trees=%d", s->trees ? s->trees : 1);
    for (int i = 0; i < 10; i++)
        params[i] = text[i];
    options.method = "vpc";
    options.scale = LIMN_SCALE_NONE;
    options.params = params;
    options.param_count = 10;
    return limn_train(ctx, data, &options, model);
}

/* Takes data over. */
static trial begin(limn_context *ctx, limn_data *data, setting s) {
    trial t = {.set = s, .ctx = ctx, .data = data};
    t.n = limn_data_rows(data);
    t.d = limn_data_features(data);
    t.k = limn_data_class_count(data);
    t.x = limn_data_values(data);
    t.label = limn_data_classes(data);
    if (train(ctx, data, &s, &t.model) != LIMN_OK)
        fail_msg("not trained: %s", limn_error(ctx));
    t.m = t.model->body;
    return t;
}

static void end(trial *t) {
    limn_model_free(t->model);
    limn_data_free(t->data);
    free(t->tree);
}

/* Builds and asks slowly; adds what was left open to the sums. */
static void compare(limn_context *ctx, limn_data *data, setting s, uint64_t seed, trial *sums) {
    trial t = begin(ctx, data, s);
    float *x = make_queries(data, QUERIES, seed + 5);
    build_slowly(&t);
    ask_all(&t, x, QUERIES);
    ask_all(&t, t.x, t.n);
    sums->nodes += t.nodes;
    sums->unclear += t.unclear;
    sums->asked += t.asked;
    sums->skipped += t.skipped;
    free(x);
    end(&t);
}

static const double radii[] = {0, .02, .2, 5};

static void test_the_papers_tree_and_its_votes_equal_slow_ones(void **state) {
    (void)state;
    static const double gammas[] = {0, .1, .3};
    static const int choices[][2] = {{0, 0}, {7, 20}, {1, 1}, {30, 5}};
    trial sums = {.nodes = 0};
    for (uint64_t seed = 1; seed <= 2; seed++)
        for (int of = 0; of < KINDS; of++)
            for (int bits = 0; bits < 8; bits++)
                for (size_t r = 0; r < 12; r++) {
                    limn_context *ctx = make_context(NULL, 1, seed);
                    setting s = {.style = VPC_PAPER,
                                 .vote = (vpc_vote)(bits & 1),
                                 .metric = (vpc_metric)(bits >> 1 & 1),
                                 .distance = (vpc_distance)(bits >> 2 & 1),
                                 .gamma = gammas[r % 3],
                                 .rho = radii[r % 4],
                                 .stop = 2,
                                 .candidates = choices[(r / 2 + seed) % 4][0],
                                 .samples = choices[(r / 2 + seed) % 4][1]};
                    compare(ctx, draw_data(ctx, (kind)of, seed), s, seed, &sums);
                    limn_context_free(ctx);
                }
    if (sums.unclear * 20 > sums.nodes || sums.skipped * 20 > sums.asked)
        fail_msg("open: %zu of %zu nodes, %zu of %zu queries", sums.unclear, sums.nodes,
                 sums.skipped, sums.asked);
}

static void test_forests_and_their_probabilities_equal_slow_ones(void **state) {
    (void)state;
    trial sums = {.nodes = 0};
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int of = 0; of < KINDS; of++)
            for (size_t r = 0; r < 8; r++) {
                limn_context *ctx = make_context(NULL, 1, seed);
                setting s = {.distance = r < 4 ? VPC_L2 : VPC_L1,
                             .gamma = r % 3 ? 0 : .1,
                             .rho = radii[r % 4],
                             .stop = 2,
                             .candidates = r % 2 ? 5 : 0,
                             .samples = r % 2 ? 20 : 0,
                             .trees = 1 + (int)(r + seed) % 4};
                compare(ctx, draw_data(ctx, (kind)of, seed), s, seed, &sums);
                limn_context_free(ctx);
            }
    if (sums.unclear * 20 > sums.nodes || sums.skipped * 20 > sums.asked)
        fail_msg("open: %zu of %zu nodes, %zu of %zu queries", sums.unclear, sums.nodes,
                 sums.skipped, sums.asked);
}

static void test_of_all_rows_the_pivot_with_the_widest_ring_is_taken(void **state) {
    (void)state;
    trial sums = {.nodes = 0};
    for (int of = 0; of < KINDS; of++)
        for (int l1 = 0; l1 < 2; l1++) {
            limn_context *ctx = make_context(NULL, 1, 3);
            setting s = {.distance = l1 ? VPC_L1 : VPC_L2,
                         .rho = .1,
                         .stop = 2,
                         .candidates = MOST_N,
                         .samples = MOST_N,
                         .trees = 2};
            compare(ctx, draw_data(ctx, (kind)of, 9), s, 4, &sums);
            limn_context_free(ctx);
        }
    assert_true(sums.nodes > 100);
}

/* ---- threads, early stop ---- */

static void test_threads_change_no_byte_of_the_model(void **state) {
    (void)state;
    for (int style = 0; style < 2; style++) {
        unsigned char *bytes[2];
        size_t size[2];
        limn_context *ctx[2];
        for (int i = 0; i < 2; i++) {
            ctx[i] = make_context(NULL, i ? 4 : 1, 6);
            trial t =
                begin(ctx[i], draw_data(ctx[i], CONTINUOUS, 2),
                      (setting){.style = (vpc_style)style, .rho = .05, .stop = 1, .trees = 9});
            assert_int_equal(lm_model_bytes(ctx[i], t.model, &bytes[i], &size[i]), LIMN_OK);
            end(&t);
        }
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(bytes[0], bytes[1], size[0]);
        for (int i = 0; i < 2; i++) {
            lm_free(&ctx[i]->mem, bytes[i]);
            limn_context_free(ctx[i]);
        }
    }
}

static double stat_of(const limn_model *model, const char *name) {
    double value;
    const char *found;
    for (size_t i = 0; (found = limn_model_stat(model, i, &value)) != NULL; i++)
        if (strcmp(found, name) == 0)
            return value;
    fail_msg("no stat %s", name);
    return 0;
}

static void test_stopping_early_asks_less_and_changes_few_classes_but_no_probability(void **state) {
    (void)state;
    enum { N = 300 };
    limn_context *ctx = make_context(NULL, 1, 4);
    int32_t classes[2][N];
    static double proba[2][N * 3];
    double pivots[2], leaves[2];
    limn_data *data = draw_data(ctx, CONTINUOUS, 8);
    float *x = make_queries(data, N, 21);
    for (int i = 0; i < 2; i++) {
        setting s = {.rho = .02, .stop = i ? .8 : 2, .trees = 16};
        limn_model *model = NULL;
        limn_predictor *p = NULL;
        assert_int_equal(train(ctx, data, &s, &model), LIMN_OK);
        assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predict(p, x, N, classes[i]), LIMN_OK);
        assert_int_equal(limn_predict_proba(p, x, N, proba[i]), LIMN_OK);
        pivots[i] = stat_of(model, "pivots a query");
        leaves[i] = stat_of(model, "leaves a query");
        limn_predictor_free(p);
        limn_model_free(model);
    }
    int changed = 0;
    for (int i = 0; i < N; i++)
        changed += classes[0][i] != classes[1][i];
    assert_true(changed <= N / 20);
    assert_true(leaves[0] >= 16 && leaves[1] >= 2);
    printf("%g %g %g %g %d\n",leaves[0],leaves[1],pivots[0],pivots[1],changed);
    assert_memory_equal(proba[0], proba[1], sizeof proba[0]);
    free(x);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- degenerate sets ---- */

static void answers(limn_context *ctx, setting s, const float *x, const double *y, size_t n,
                    size_t d, const float *queries, size_t count, int32_t *classes, double *proba) {
    limn_data *data = NULL;
    limn_model *model = NULL;
    limn_predictor *p = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, d, y, &data), LIMN_OK);
    if (train(ctx, data, &s, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, queries, count, classes), LIMN_OK);
    assert_int_equal(limn_predict_proba(p, queries, count, proba), LIMN_OK);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
}

static void test_degenerate_sets_give_the_obvious_answers(void **state) {
    (void)state;
    static const float x[] = {1, 2, 5, 6, 1, 2, 9, 9}, far[] = {-1e6f, 3e6f, 1e9f, 1e9f};
    static const float equal[] = {3, 3, 3, 3, 3, 3, 3, 3}, pair[] = {1, 2, 5, 6};
    static const double ones[] = {1, 1, 1, 1}, two[] = {0, 1}, odd[] = {0, 1, 1, 1};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int bits = 0; bits < 8; bits++)
        for (size_t r = 0; r < 4; r++) {
            setting s = {.style = (vpc_style)(bits & 1),
                         .vote = (vpc_vote)(bits >> 1 & 1),
                         .metric = (vpc_metric)(bits >> 2 & 1),
                         .rho = radii[r],
                         .stop = .8,
                         .trees = 3};
            int32_t c[4];
            double p[8];
            answers(ctx, s, x, ones, 4, 2, far, 2, c, p); /* one class */
            assert_true(c[0] == 0 && c[1] == 0 && p[0] == 1 && p[1] == 1);
            answers(ctx, s, x, ones, 1, 2, far, 2, c, p); /* one row */
            assert_true(c[0] == 0 && c[1] == 0 && p[0] == 1 && p[1] == 1);
            answers(ctx, s, pair, two, 2, 2, pair, 2, c, p); /* a row a class */
            if (c[0] != 0 || c[1] != 1)
                fail_msg("two rows, two classes: %d, %d (style %d, metric %d)", (int)c[0],
                         (int)c[1], bits & 1, bits >> 2);
            answers(ctx, s, equal, odd, 4, 2, equal, 1, c, p); /* one place, two classes */
            assert_true(isfinite(p[0]) && same(p[0] + p[1], 1, 1e-9));
            if (s.style == VPC_FOREST) /* the priors alone: (1 + 2/4) / 6 and (3 + 6/4) / 6 */
                assert_true(c[0] == 1 && same(p[0], .25, 1e-6));
        }
    limn_context_free(ctx);
}

static void test_queries_far_away_are_answered(void **state) {
    (void)state;
    static const float scale[] = {1e3f, -1e8f, 1e19f, -3e38f};
    for (int bits = 0; bits < 8; bits++) {
        limn_context *ctx = make_context(NULL, 1, 1);
        setting s = {.style = (vpc_style)(bits & 1),
                     .vote = (vpc_vote)(bits >> 1 & 1),
                     .distance = (vpc_distance)(bits >> 2 & 1),
                     .rho = .02,
                     .stop = .8,
                     .trees = 4};
        trial t = begin(ctx, draw_data(ctx, CONTINUOUS, 5), s);
        limn_predictor *p = NULL;
        assert_int_equal(limn_predictor_new(ctx, t.model, NULL, &p), LIMN_OK);
        for (size_t i = 0; i < LM_COUNT(scale); i++) {
            float x[4] = {scale[i], scale[i] / 3, -scale[i] / 2, 1};
            double proba[3], sum = 0;
            int32_t c = -1;
            assert_int_equal(limn_predict(p, x, 1, &c), LIMN_OK);
            assert_in_range(c, 0, 2);
            assert_int_equal(limn_predict_proba(p, x, 1, proba), LIMN_OK);
            for (int k = 0; k < 3; k++)
                sum += proba[k];
            if (!same(sum, 1, 1e-9))
                fail_msg("x %g: probabilities sum to %g", (double)scale[i], sum);
        }
        limn_predictor_free(p);
        end(&t);
        limn_context_free(ctx);
    }
}

/* ---- 20,000 rows on a line, on a small stack ---- */

typedef struct line {
    vpc_style style;
    bool trained;
    double nodes, depth;
    size_t wrong;
} line;

/* Asserts nothing: cmocka cannot leave a thread. */
static void *train_on_a_line(void *out) {
    enum { N = 20000 };
    line *l = out;
    float *x = malloc(N * sizeof *x);
    double *y = malloc(N * sizeof *y);
    int32_t *classes = malloc(N * sizeof *classes);
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = NULL;
    limn_predictor *p = NULL;
    limn_model *model = NULL;
    setting s = {.style = l->style, .stop = 2, .candidates = 4, .samples = 50};
    for (size_t i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = (double)(i % 2);
    }
    if (limn_data_from_values(ctx, LIMN_CLASSIFY, x, N, 1, y, &data) == LIMN_OK &&
        train(ctx, data, &s, &model) == LIMN_OK &&
        limn_predictor_new(ctx, model, NULL, &p) == LIMN_OK) {
        l->trained = limn_predict(p, x, N, classes) == LIMN_OK;
        l->nodes = stat_of(model, "nodes");
        l->depth = stat_of(model, "depth");
        for (size_t i = 0; i < N; i++)
            l->wrong += classes[i] != (int32_t)(i % 2);
    }
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
    free(x);
    free(y);
    free(classes);
    return NULL;
}

static void test_many_alternating_rows_need_little_stack(void **state) {
    (void)state;
    for (int style = 0; style < 2; style++) {
        line l = {.style = (vpc_style)style};
        pthread_attr_t attributes;
        pthread_t thread;
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
        assert_int_equal(pthread_create(&thread, &attributes, train_on_a_line, &l), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&attributes);
        assert_true(l.trained);
        printf("%g %g %zu\n", l.nodes, l.depth, l.wrong);
        assert_true(l.nodes > 5000 && l.depth < 40);
        assert_true(l.wrong < 10000);
    }
}

/* ---- failing allocations ---- */

static limn_status load_bytes(limn_context *ctx, const unsigned char *bytes, size_t size,
                              limn_model **model) {
    lm_file *file = NULL;
    *model = NULL;
    limn_status status = lm_file_from_memory(ctx, bytes, size, "t.limn", &file);
    return status == LIMN_OK ? lm_model_load(ctx, file, model) : status;
}

static void test_every_failing_allocation_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    limn_context *plain = make_context(NULL, 1, 1);
    limn_data *data = draw_data(plain, CONSTANT, 4);
    static const setting sets[] = {
        {.rho = .02, .stop = .8, .trees = 2, .gamma = .1},
        {.style = VPC_PAPER, .rho = .02, .stop = .8, .vote = VPC_CENTROID, .metric = VPC_UNIT},
        {.style = VPC_PAPER, .rho = .02, .stop = .8, .gamma = .2}};
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        unsigned failures = 0;
        limn_status status = LIMN_E_MEMORY;
        for (unsigned at = 1; status != LIMN_OK; at++) {
            counting count = {0};
            limn_context *ctx = make_context(&count, 1, 1);
            limn_model *model = NULL, *loaded = NULL;
            unsigned char *bytes = NULL;
            size_t size = 0;
            count.fail_at = at;
            status = train(ctx, data, &sets[i], &model);
            if (status == LIMN_OK)
                status = lm_model_bytes(ctx, model, &bytes, &size);
            if (status == LIMN_OK)
                status = load_bytes(ctx, bytes, size, &loaded);
            if (status != LIMN_OK) {
                assert_int_equal(status, LIMN_E_MEMORY);
                assert_string_not_equal(limn_error(ctx), "");
                failures++;
            }
            lm_free(&ctx->mem, bytes);
            limn_model_free(loaded);
            limn_model_free(model);
            limn_context_free(ctx);
            assert_int_equal(count.live, 0);
        }
        assert_true(failures > 100);
    }
    limn_data_free(data);
    limn_context_free(plain);
}

/* ---- hostile files ---- */

static unsigned char *section(unsigned char *bytes, const char *name) {
    uint32_t count;
    memcpy(&count, bytes + 12, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        unsigned char *entry = bytes + 64 + i * 64;
        uint64_t offset;
        memcpy(&offset, entry + 32, sizeof offset);
        if (strncmp((const char *)entry, name, 24) == 0)
            return bytes + offset;
    }
    fail_msg("no section %s", name);
    return NULL;
}

/* Puts size bytes at that place of a section; the file must be refused. */
static void refused(limn_context *ctx, const limn_model *model, const char *name, size_t at,
                    const void *value, size_t size) {
    unsigned char *bytes;
    size_t total;
    limn_model *loaded;
    assert_int_equal(lm_model_bytes(ctx, model, &bytes, &total), LIMN_OK);
    assert_int_equal(load_bytes(ctx, bytes, total, &loaded), LIMN_OK);
    limn_model_free(loaded);
    memcpy(section(bytes, name) + at, value, size);
    reseal(bytes, total);
    if (load_bytes(ctx, bytes, total, &loaded) != LIMN_E_MODEL)
        fail_msg("%s changed at %zu is not refused", name, at);
    assert_null(loaded);
    assert_non_null(strstr(limn_error(ctx), "t.limn"));
    lm_free(&ctx->mem, bytes);
}

static void refused_int(const trial *t, const char *name, size_t at, int32_t value) {
    refused(t->ctx, t->model, name, at, &value, sizeof value);
}

static void test_impossible_links_leaves_and_classes_are_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    trial t =
        begin(ctx, draw_data(ctx, CONTINUOUS, 5), (setting){.rho = .1, .stop = 2, .trees = 2});
    const size_t near = offsetof(vpc_node, near), far = offsetof(vpc_node, far),
                 one = sizeof(vpc_node);
    size_t last = t.m->nodes - 1;
    const double bad[] = {NAN, INFINITY, -1};
    assert_true(last > 3 && t.m->node[0].near == 1);
    refused_int(&t, "vpc.nodes", near, 0);                                /* to itself */
    refused_int(&t, "vpc.nodes", last * one + far, 1);                    /* back */
    refused_int(&t, "vpc.nodes", near, t.m->node[0].far);                 /* both to one */
    refused_int(&t, "vpc.nodes", near, (int32_t)last + 1);                /* past the end */
    refused_int(&t, "vpc.nodes", last * one + near, t.m->node[last].far); /* a leaf twice */
    refused_int(&t, "vpc.nodes", last * one + near, ~(int32_t)t.m->leaves);
    refused_int(&t, "vpc.nodes", last * one + near, INT32_MIN);
    refused_int(&t, "vpc.roots", 0, t.m->root[1]); /* two trees, one root */
    refused_int(&t, "vpc.roots", 0, 1);            /* the root's child */
    refused_int(&t, "vpc.classes", 0, 3);
    refused_int(&t, "vpc.classes", 0, -1);
    refused_int(&t, "vpc.leaves", offsetof(vpc_leaf, classes), 0);
    refused_int(&t, "vpc.leaves", offsetof(vpc_leaf, classes), -1);
    refused_int(&t, "vpc.leaves", offsetof(vpc_leaf, first), 1);
    refused_int(&t, "vpc.leaves", offsetof(vpc_leaf, panel), 1 << 30);
    for (size_t i = 0; i < LM_COUNT(bad); i++)
        refused(ctx, t.model, "vpc.radius", 0, &bad[i], sizeof bad[i]);
    for (size_t i = 0; i < 2; i++)
        refused(ctx, t.model, "vpc.mu", 0, &bad[i], sizeof bad[i]);
    end(&t);
    limn_context_free(ctx);
}

static void test_two_trees_that_are_one_leaf_are_refused(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3};
    static const double y[] = {0, 0, 0};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 3, 1, y, &data), LIMN_OK);
    trial t = begin(ctx, data, (setting){.stop = 2, .trees = 2});
    refused_int(&t, "vpc.roots", sizeof(int32_t), ~0);
    end(&t);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_papers_tree_and_its_votes_equal_slow_ones),
        cmocka_unit_test(test_forests_and_their_probabilities_equal_slow_ones),
        cmocka_unit_test(test_of_all_rows_the_pivot_with_the_widest_ring_is_taken),
        cmocka_unit_test(test_threads_change_no_byte_of_the_model),
        cmocka_unit_test(test_stopping_early_asks_less_and_changes_few_classes_but_no_probability),
        cmocka_unit_test(test_degenerate_sets_give_the_obvious_answers),
        cmocka_unit_test(test_queries_far_away_are_answered),
        cmocka_unit_test(test_many_alternating_rows_need_little_stack),
        cmocka_unit_test(test_every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(test_impossible_links_leaves_and_classes_are_refused),
        cmocka_unit_test(test_two_trees_that_are_one_leaf_are_refused),
    };
    return cmocka_run_group_tests_name("vpc", tests, NULL, NULL);
}
