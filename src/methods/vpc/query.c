/* query.c: down the trees with a stack of nodes, then votes.
 *
 * A turn taken only because of the tolerance reduces the weight of the leaves below it: r grows by
 * how far the query is on the other side of mu. r can grow only where both halves are visited, so
 * only there is the square root of a squared distance taken. */
#include "base/argmax.h"
#include "methods/vpc/vpc.h"
#include "num/kernel.h"
#include "num/pack.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct turn {
    int32_t to;
    float r;
} turn;

/* One row's memory. */
typedef struct layout {
    double *votes; /* classes */
    float *scores; /* of a leaf */
    turn *stack;
} layout;

/* What a query cost. */
typedef struct cost {
    size_t pivots, leaves, rows;
} cost;

typedef struct run {
    const vpc_model *m;
    lm_pair_distance *pair;
    lm_scores *score;
    layout at;
    cost spent;
} run;

static layout lay_out(const vpc_model *m, lm_cursor *at) {
    layout l;
    l.votes = lm_take(at, m->classes, sizeof *l.votes);
    l.scores = lm_take(at, (m->widest + 1) * LM_PANEL, sizeof *l.scores);
    l.stack = lm_take(at, m->depth + 2, sizeof *l.stack);
    return l;
}

void vpc_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)rows, (void)neighbors;
    (void)lay_out(opaque, at);
}

static run begin(const vpc_model *m, void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    return (run){.m = m,
                 .pair = lm_pair_kernel(m->distance == VPC_L1 ? LM_L1 : LM_L2),
                 .score = lm_scores_kernel(),
                 .at = lay_out(m, &at)};
}

/* ---- leaves ---- */

static size_t panels_of(const vpc_leaf *leaf) {
    return (leaf->classes + LM_PANEL - 1) / LM_PANEL;
}

/* The scores of the leaf's classes, in r->at.scores. */
static void leaf_scores(run *r, const vpc_leaf *leaf, const float *x) {
    const vpc_model *m = r->m;
    r->score(m->weights + (size_t)leaf->panel * LM_PANEL * m->d, m->bias + leaf->panel * LM_PANEL,
             m->d, panels_of(leaf), x, r->at.scores);
}

/* The paper's vote: the leaf's rows for the class that it predicts. */
static void count_vote(run *r, size_t number, const float *x) {
    const vpc_model *m = r->m;
    const vpc_leaf *leaf = &m->leaf[number];
    size_t best = 0;
    if (leaf->classes > 1) {
        leaf_scores(r, leaf, x);
        best = lm_argmax_float(r->at.scores, leaf->classes);
    }
    double weight = (double)leaf->n;
    if (m->vote == VPC_CENTROID) {
        double distance = r->pair(x, m->centre + number * m->d, m->d);
        weight /= distance + 1e-12;
    }
    r->at.votes[m->listing[leaf->first + best]] += weight;
}

/* The forest's vote: weighted posteriors. */
static void soft_vote(run *r, size_t number, const float *x, double weight) {
    const vpc_model *m = r->m;
    const vpc_leaf *leaf = &m->leaf[number];
    const int32_t *name = m->listing + leaf->first;
    if (leaf->classes == 1) {
        r->at.votes[name[0]] += weight;
        return;
    }
    leaf_scores(r, leaf, x);
    float *s = r->at.scores, top = -FLT_MAX;
    double sum = 0;
    for (size_t c = 0; c < leaf->classes; c++) { /* a query near the limits of float overflows */
        s[c] = s[c] > FLT_MAX ? FLT_MAX : s[c] >= -FLT_MAX ? s[c] : -FLT_MAX;
        top = s[c] > top ? s[c] : top;
    }
    for (size_t c = 0; c < leaf->classes; c++)
        s[c] -= top;
    lm_exp(s, leaf->classes);
    for (size_t c = 0; c < leaf->classes; c++)
        sum += (double)s[c];
    for (size_t c = 0; c < leaf->classes; c++)
        r->at.votes[name[c]] += weight * (double)s[c] / sum;
}

static void vote(run *r, size_t leaf, const float *x, float radius_of, double radius) {
    r->spent.leaves++;
    r->spent.rows += r->m->leaf[leaf].classes > 1 ? r->m->leaf[leaf].classes : 0;
    if (r->m->style == VPC_PAPER)
        count_vote(r, leaf, x);
    else
        soft_vote(r, leaf, x, radius > 0 ? 1 - (double)radius_of / radius : 1);
}

/* ---- trees ---- */

static float distance_to(const run *r, const float *x, int32_t node) {
    const vpc_model *m = r->m;
    return vpc_rounded(r->pair(x, m->pivot + (size_t)node * m->d, m->d));
}

static float larger(float a, double b) {
    return (double)a > b ? a : (float)b;
}

/* From one node down to a leaf; other branches to visit go on the stack. */
static void descend(run *r, const float *x, double radius, turn at, size_t *waiting) {
    const vpc_model *m = r->m;
    while (at.to >= 0) {
        const vpc_node *node = &m->node[at.to];
        float distance = distance_to(r, x, at.to);
        bool near = distance <= node->near_max, far = distance >= node->far_min;
        r->spent.pivots++;
        if (near && far) {
            double length = m->distance == VPC_L1 ? (double)distance : sqrt((double)distance);
            double gap = length - m->mu[at.to];
            turn aside = {gap <= 0 ? node->far : node->near, larger(at.r, fabs(gap))};
            if (!(radius > 0) || (double)aside.r < radius || m->style == VPC_PAPER)
                r->at.stack[(*waiting)++] = aside;
            near = gap <= 0;
        }
        at.to = near ? node->near : node->far;
    }
    vote(r, (size_t)~at.to, x, at.r, radius);
}

static void ask_tree(run *r, const float *x, size_t tree) {
    const vpc_model *m = r->m;
    size_t waiting = 0;
    double radius = m->radius[tree];
    descend(r, x, radius, (turn){m->root[tree], 0}, &waiting);
    while (waiting) {
        turn aside = r->at.stack[--waiting];
        descend(r, x, radius, aside, &waiting);
    }
}

/* Whether the leader can no longer be caught, judging by the votes so far. */
static bool decided(const run *r) {
    const double *votes = r->at.votes;
    double top = 0, second = 0, sum = 0;
    for (size_t c = 0; c < r->m->classes; c++) {
        double v = votes[c];
        sum += v;
        second = v > top ? top : v > second ? v : second;
        top = v > top ? v : top;
    }
    return top - second >= r->m->stop * sum;
}

static void ask(run *r, const float *x, bool may_stop) {
    const vpc_model *m = r->m;
    memset(r->at.votes, 0, m->classes * sizeof *r->at.votes);
    for (size_t t = 0; t < m->trees; t++) {
        ask_tree(r, x, t);
        if (may_stop && t >= 1 && t + 1 < m->trees && decided(r))
            return;
    }
}

void vpc_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const vpc_model *m = opaque;
    run r = begin(m, scratch);
    for (size_t i = 0; i < n; i++) {
        ask(&r, x + i * m->d, m->stop <= 1);
        classes[i] = (int32_t)lm_argmax(r.at.votes, m->classes);
    }
}

void vpc_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const vpc_model *m = opaque;
    run r = begin(m, scratch);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        ask(&r, x + i * m->d, false);
        for (size_t c = 0; c < m->classes; c++)
            sum += r.at.votes[c];
        for (size_t c = 0; c < m->classes; c++)
            proba[i * m->classes + c] = r.at.votes[c] / sum;
    }
}

/* ---- what a query costs ---- */

enum { MEASURED = 1000 };

limn_status vpc_measure(limn_context *ctx, vpc_model *m, const float *x, size_t n) {
    lm_cursor at = lm_cursor_at(NULL);
    size_t rows = n < MEASURED ? n : MEASURED;
    (void)lay_out(m, &at);
    void *scratch = lm_alloc_measured(&ctx->mem, &at);
    if (!scratch)
        return lm_fail_memory(ctx);
    run r = begin(m, scratch);
    for (size_t i = 0; i < rows; i++)
        ask(&r, x + i * n / rows * m->d, m->stop <= 1);
    m->mean_pivots = (double)r.spent.pivots / (double)rows;
    m->mean_leaves = (double)r.spent.leaves / (double)rows;
    m->mean_rows = (double)r.spent.rows / (double)rows;
    lm_free_aligned(&ctx->mem, scratch);
    return LIMN_OK;
}

static lm_touched touched_by(const vpc_model *m, double vectors) {
    return (lm_touched){vectors, vectors * (double)m->d * (double)sizeof(float)};
}

void vpc_touched(const void *opaque, const float *x, size_t n, lm_touched *sum, void *scratch) {
    const vpc_model *m = opaque;
    run r = begin(m, scratch);
    for (size_t i = 0; i < n; i++)
        ask(&r, x + i * m->d, m->stop <= 1);
    lm_touched spent = touched_by(m, (double)(r.spent.pivots + r.spent.rows));
    sum->vectors += spent.vectors;
    sum->bytes += spent.bytes;
}

void vpc_stats(const void *opaque, lm_stats *stats) {
    const vpc_model *m = opaque;
    *stats = (lm_stats){.touched = touched_by(m, m->mean_pivots + m->mean_rows), .count = 6};
    const char *const names[] = {"trees",           "nodes", "leaves", "depth", "pivots per query",
                                 "leaves per query"};
    const double values[] = {(double)m->trees, (double)m->nodes, (double)m->leaves,
                             (double)m->depth, m->mean_pivots,   m->mean_leaves};
    for (size_t i = 0; i < 6; i++) {
        stats->list[i].name = names[i];
        stats->list[i].value = values[i];
    }
}
