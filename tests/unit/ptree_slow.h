/* ptree_slow.h: perceptron trees by their definitions, in plain doubles: kernels, tests, the sums
 * of leaves, linear equations. Nothing here calls the library's arithmetic. */
#ifndef LIMN_TESTS_PTREE_SLOW_H
#define LIMN_TESTS_PTREE_SLOW_H

#include "ptree_world.h"

/* ---- linear equations ---- */

/* x <- M^-1 x by elimination with row pivots; M (n x n) is used up. False: it is singular. */
static inline bool slow_solve(double *m, size_t n, double *x) {
    for (size_t c = 0; c < n; c++) {
        size_t top = c;
        for (size_t i = c + 1; i < n; i++)
            top = fabs(m[i * n + c]) > fabs(m[top * n + c]) ? i : top;
        if (!(fabs(m[top * n + c]) > 0))
            return false;
        for (size_t j = 0; j < n; j++) {
            double kept = m[c * n + j];
            m[c * n + j] = m[top * n + j];
            m[top * n + j] = kept;
        }
        double kept = x[c];
        x[c] = x[top];
        x[top] = kept;
        for (size_t i = 0; i < n; i++) {
            double by = m[i * n + c] / m[c * n + c];
            for (size_t j = c; j < n && i != c; j++)
                m[i * n + j] -= by * m[c * n + j];
            if (i != c)
                x[i] -= by * x[c];
        }
    }
    for (size_t c = 0; c < n; c++)
        x[c] /= m[c * n + c];
    return true;
}

/* ---- kernels ---- */

/* Features below 0 count as 0 for the kernels that are for numbers of 0 or more. */
static inline double slow_kernel(const lm_kernel *k, const float *a, const float *b, size_t d) {
    bool positive = k->type == LM_CHI2_KERNEL || k->type == LM_INTERSECTION;
    double dot = 0, l2 = 0, chi2 = 0, least = 0;
    for (size_t j = 0; j < d; j++) {
        double u = (double)a[j], v = (double)b[j];
        u = positive ? fmax(u, 0) : u;
        v = positive ? fmax(v, 0) : v;
        dot += u * v;
        l2 += (u - v) * (u - v);
        chi2 += u + v > 0 ? (u - v) * (u - v) / (u + v) : 0;
        least += fmin(u, v);
    }
    switch (k->type) {
    case LM_RBF:
        return exp(-k->gamma * l2);
    case LM_POLYNOMIAL:
        return pow(k->gamma * dot + k->coef0, k->degree);
    case LM_CHI2_KERNEL:
        return exp(-k->gamma * chi2);
    case LM_INTERSECTION:
        return least;
    default:
        return dot;
    }
}

/* The vector of a pack. */
static inline void slow_vector(const lm_pack *pack, size_t index, float *x) {
    for (size_t j = 0; j < pack->d; j++)
        x[j] = pack->data[(index / LM_PANEL * pack->d + j) * LM_PANEL + index % LM_PANEL];
}

enum { SLOW_FEATURES = 64, SLOW_OUTPUTS = 8 };

/* ---- tests ---- */

static inline double slow_length(const float *x, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += (double)x[j] * (double)x[j];
    return sum > 0 ? sqrt(sum) : 1;
}

/* The side of the nearest row of the test, the first of equals. *clear false: a row of the other
 * side is as near, up to rounding. */
static inline int slow_nearest(const pt_node *node, const float *x, bool *clear) {
    double least[2] = {INFINITY, INFINITY};
    size_t first[2] = {0, 0};
    for (size_t i = 0; i < node->pack.n; i++) {
        float row[SLOW_FEATURES];
        double sum = 0;
        slow_vector(&node->pack, i, row);
        for (size_t j = 0; j < node->pack.d; j++)
            sum += ((double)x[j] - (double)row[j]) * ((double)x[j] - (double)row[j]);
        int side = node->side[i];
        if (sum < least[side]) {
            least[side] = sum;
            first[side] = i;
        }
    }
    double off = least[0] - least[1];
    *clear = off == 0 || fabs(off) > 1e-5 * (least[0] + least[1]);
    return off == 0 ? first[1] < first[0] : off > 0;
}

/* 0: left. *clear false: the row is so near the border that rounding may decide. */
static inline int slow_side(const pt_model *m, const pt_node *node, const float *x, bool *clear) {
    float row[SLOW_FEATURES];
    if (node->side)
        return slow_nearest(node, x, clear);
    double value = 0, size = 0;
    for (size_t j = 0; j < m->d && node->w; j++) {
        double term = (double)node->w[j] * (double)x[j] / (m->o.paper ? slow_length(x, m->d) : 1);
        value += term;
        size += fabs(term);
    }
    if (!node->w) {
        slow_vector(&node->pack, 0, row);
        size = value = slow_kernel(&m->o.kernel, x, row, m->d);
    }
    *clear = fabs(value - node->threshold) > 1e-5 * fmax(fabs(size), 1e-30);
    return node->w ? !(value > node->threshold) : !(value <= node->threshold);
}

static inline size_t slow_route(const pt_model *m, const float *x, bool *clear, size_t *levels) {
    bool positive = m->o.kernel.type == LM_CHI2_KERNEL || m->o.kernel.type == LM_INTERSECTION;
    float row[SLOW_FEATURES];
    int32_t at = m->nodes ? 0 : -1;
    *clear = true;
    *levels = 0;
    for (size_t j = 0; j < m->d; j++)
        row[j] = positive ? fmaxf(x[j], 0) : x[j];
    for (bool one; at >= 0; ++*levels) {
        at = m->node[at].child[slow_side(m, &m->node[at], row, &one)];
        *clear = *clear && one;
    }
    return (size_t)(-1 - at);
}

/* ---- leaves ---- */

/* f (outputs) by A or by A - U / t, and the sum of the sizes of its terms. */
static inline double slow_outputs(const pt_model *m, const pt_leaf *leaf, bool mean, const float *x,
                                  double *f) {
    const lm_expansion *e = &leaf->e;
    double size = 0;
    for (size_t o = 0; o < m->outputs; o++)
        size += fabs(f[o] = leaf->bias[o]);
    for (size_t j = 0; j < e->pack.n; j++) {
        float b[SLOW_FEATURES];
        slow_vector(&e->pack, j, b);
        double k = slow_kernel(&m->o.kernel, x, b, m->d);
        for (size_t o = 0; o < m->outputs; o++) {
            double a = e->coef[j * m->outputs + o];
            if (mean && e->steps > 0)
                a -= e->drift[j * m->outputs + o] / e->steps;
            f[o] += a * k;
            size += fabs(a * k);
        }
    }
    return size;
}

/* The class with the largest output, ties to the lowest; where all are 0 the majority. gap: by how
 * much it wins. */
static inline int32_t slow_winner(const double *f, size_t outputs, int32_t majority, double *gap) {
    size_t best = 0;
    bool zero = true;
    double next = -INFINITY;
    for (size_t o = 0; o < outputs; o++) {
        best = f[o] > f[best] ? o : best;
        zero = zero && f[o] == 0;
    }
    for (size_t o = 0; o < outputs; o++)
        next = o != best ? fmax(next, f[o]) : next;
    *gap = zero ? INFINITY : outputs == 1 ? fabs(f[0]) : f[best] - next;
    return zero ? majority : outputs == 1 ? f[0] < 0 : (int32_t)best;
}

#endif
