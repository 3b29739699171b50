/* joint.c: a test and two choices of vectors that belong together (Algorithm 3 of the paper).
 *
 * p, q start as random choices. Then, in turn: with c_i = what row i costs on the left less what it
 * costs on the right, the rows with small c_i go left; the vectors of each side are chosen for its
 * rows. Until the sum of the costs falls by less than a thousandth.
 *
 *   wpq  left if w.x > theta with w = -d / |d|, d = sum c_i x_i; theta by the cut rule. The paper
 *        leaves out that the sides are to be of equal size when it finds w; c is therefore centred
 *        here, except in its own style, where x is divided by |x| as well.
 *   zpq  the half with the smallest c_i; a new row goes with the nearest row
 *
 * The sum may rise again: the best round counts. */
#include "methods/ptree/ptree.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 20 };
#define ENOUGH 1e-3

/* c_i, in c->score. */
static void compare_costs(pt_cloud *c) {
    double mean = 0;
    pt_costs(c, c->p[0], c->cost[0]);
    pt_costs(c, c->p[1], c->cost[1]);
    for (size_t i = 0; i < c->n; i++) {
        c->score[i] = c->cost[0][i] - c->cost[1][i];
        mean += c->score[i] / (double)c->n;
    }
    for (size_t i = 0; i < c->n && !c->paper; i++)
        c->score[i] -= mean;
}

/* w = -d, in c->sum + k; at random where d is 0. */
static void find_direction(pt_cloud *c) {
    double *w = c->sum + c->k, most = 0;
    memset(w, 0, c->d * sizeof *w);
    for (size_t i = 0; i < c->n; i++) {
        const float *x = c->x + i * c->d;
        double by = c->score[i] / (c->paper ? pt_length(x, c->d) : 1);
        for (size_t j = 0; j < c->d; j++)
            w[j] -= by * (double)x[j];
    }
    for (size_t j = 0; j < c->d; j++)
        most = fmax(most, fabs(w[j]));
    for (size_t j = 0; j < c->d; j++)
        w[j] = most > 0 && isfinite(most) ? w[j] / most : lm_rng_normal(&c->rng);
}

/* The half of the rows with the smallest c_i is left; by index if all are equal. */
static void halve(pt_cloud *c) {
    double threshold;
    if (!pt_cut(c->score, c->n, c->order, c->trial, &threshold))
        for (size_t i = 0; i < c->n; i++)
            c->order[i] = i;
    for (size_t i = 0; i < c->n; i++)
        c->side[c->order[i]] = i >= c->n / 2;
}

static double sum_of_costs(pt_cloud *c) {
    double sum = 0;
    pt_costs(c, c->p[0], c->cost[0]);
    pt_costs(c, c->p[1], c->cost[1]);
    for (size_t i = 0; i < c->n; i++)
        sum += c->cost[c->side[i]][i];
    return sum;
}

/* The best round so far. */
typedef struct best {
    uint8_t *side;
    double *p[2];
    float *w;
    double threshold, cost;
} best;

static limn_status best_make(limn_context *ctx, const pt_cloud *c, best *b) {
    *b = (best){.cost = INFINITY};
    b->side = lm_alloc(&ctx->mem, c->n, sizeof *b->side);
    b->w = lm_alloc(&ctx->mem, c->stride, sizeof *b->w);
    b->p[0] = lm_alloc(&ctx->mem, c->m, sizeof *b->p[0]);
    b->p[1] = lm_alloc(&ctx->mem, c->m, sizeof *b->p[1]);
    return b->side && b->w && b->p[0] && b->p[1] ? LIMN_OK : lm_fail_memory(ctx);
}

static void best_free(const limn_allocator *mem, best *b) {
    lm_free(mem, b->side);
    lm_free(mem, b->w);
    lm_free(mem, b->p[0]);
    lm_free(mem, b->p[1]);
}

static void best_put(const pt_cloud *c, double cost, best *b) {
    b->cost = cost;
    b->threshold = c->node.threshold;
    memcpy(b->side, c->side, c->n * sizeof *b->side);
    memcpy(b->p[0], c->p[0], c->m * sizeof *b->p[0]);
    memcpy(b->p[1], c->p[1], c->m * sizeof *b->p[1]);
    if (c->node.w)
        memcpy(b->w, c->node.w, c->stride * sizeof *b->w);
}

static void best_get(const best *b, pt_cloud *c) {
    c->node.threshold = b->threshold;
    memcpy(c->side, b->side, c->n * sizeof *b->side);
    memcpy(c->p[0], b->p[0], c->m * sizeof *b->p[0]);
    memcpy(c->p[1], b->p[1], c->m * sizeof *b->p[1]);
    if (c->node.w)
        memcpy(c->node.w, b->w, c->stride * sizeof *b->w);
}

static bool send(pt_cloud *c) {
    compare_costs(c);
    if (c->split == PT_ZPQ) {
        halve(c);
        return true;
    }
    find_direction(c);
    return pt_cut_linear(c);
}

/* Nothing is found if the first test divides nothing. */
static limn_status iterate(limn_context *ctx, pt_cloud *c, best *b) {
    double last = INFINITY;
    limn_status status = LIMN_OK;
    pt_draw(c, c->p[0]);
    pt_draw(c, c->p[1]);
    for (int round = 0; round < ROUNDS && status == LIMN_OK && send(c); round++) {
        pt_solve(c, 1);
        pt_solve(c, 0);
        double cost = sum_of_costs(c);
        if (cost < b->cost)
            best_put(c, cost, b);
        if (!(last - cost > ENOUGH * last) && round > 0)
            break;
        last = cost;
        status = pt_split_progress(ctx);
    }
    return status;
}

/* The rows themselves are the test. */
static limn_status take_rows(limn_context *ctx, pt_cloud *c) {
    c->node.side = lm_alloc(&ctx->mem, c->n, sizeof *c->node.side);
    if (!c->node.side)
        return lm_fail_memory(ctx);
    limn_status status = lm_pack_build(ctx, c->x, c->n, c->d, c->d, &c->node.pack);
    if (status != LIMN_OK)
        return status;
    memcpy(c->node.side, c->side, c->n * sizeof *c->node.side);
    for (size_t i = 0; i < c->n; i++) { /* copies of a row go with the first one */
        memset(c->padded, 0, c->stride * sizeof *c->padded);
        memcpy(c->padded, c->x + i * c->d, c->d * sizeof *c->padded);
        c->side[i] =
            (uint8_t)pt_side(c->metric, &c->node, c->padded, c->stride, 1, c->padded + c->stride);
    }
    return LIMN_OK;
}

static bool on_both_sides(const pt_cloud *c) {
    size_t right = 0;
    for (size_t i = 0; i < c->n; i++)
        right += c->side[i];
    return right > 0 && right < c->n;
}

limn_status pt_joint(limn_context *ctx, pt_cloud *c, bool *found) {
    best b;
    limn_status status = best_make(ctx, c, &b);
    if (status == LIMN_OK)
        status = iterate(ctx, c, &b);
    if (status == LIMN_OK && b.cost < INFINITY) {
        best_get(&b, c);
        if (c->split == PT_ZPQ)
            status = take_rows(ctx, c);
        *found = status == LIMN_OK && on_both_sides(c);
    }
    best_free(&ctx->mem, &b);
    return status;
}
