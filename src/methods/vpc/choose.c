/* choose.c: gamma and radius by inner validation, at the cost of one forest per fold.
 *
 * Splits do not depend on gamma: a tree grown with gamma = 0 whose nodes keep their discriminants
 * contains every pruning of itself (the leaves are the nodes whose error is at most gamma). A leaf
 * votes exactly when R is at least its r (in a forest: greater than r). So one walk over a tree
 * gives the votes of a row for every gamma and every radius. */
#include "methods/vpc/build.h"

#include "data/split.h"

#include <math.h>
#include <string.h>

enum { FOLDS = 5, HOLDOUT_ROWS = 20000, GAMMAS = 7, RADII = 5 };

/* The grid: a fixed value is a grid of one point. */
typedef struct grid {
    double gamma[GAMMAS], rho[RADII];
    size_t gammas, radii;
    size_t wrong[GAMMAS][RADII];
} grid;

/* The votes of one row. */
typedef struct ballot {
    limn_context *ctx;
    const vpc_plan *plan;
    const grid *g;
    double *votes; /* gammas x radii x classes */
    double *scores;
    lm_buffer stack;
} ballot;

/* A node on the path: r so far, and how many gammas have not reached their leaf yet. */
typedef struct place {
    const vpc_grown *node;
    double r;
    size_t open;
} place;

/* ---- votes ---- */

/* The vote of a node: its posterior (forest), or its rows for its class. */
static void vote_of(ballot *b, const vpc_grown *node, const float *x) {
    const vpc_fit *fit = &node->fit;
    size_t d = b->plan->d, best = 0;
    double top = -INFINITY, sum = 0;
    for (size_t c = 0; c < fit->classes; c++) {
        double score = fit->classes > 1 ? (double)fit->bias[c] : 0;
        for (size_t j = 0; j < d && fit->classes > 1; j++)
            score += (double)fit->weights[c * d + j] * (double)x[j];
        b->scores[c] = score;
        best = score > top ? c : best;
        top = score > top ? score : top;
    }
    for (size_t c = 0; c < fit->classes; c++) {
        b->scores[c] = exp(b->scores[c] - top);
        sum += b->scores[c];
    }
    bool paper = b->plan->style == VPC_PAPER;
    for (size_t c = 0; c < fit->classes; c++)
        b->scores[c] = paper ? (c == best ? (double)node->n : 0) : b->scores[c] / sum;
}

/* Adds the vote for gammas from .. to - 1 and every radius that reaches r. */
static void cast(ballot *b, const vpc_grown *node, const float *x, double r, double mu, size_t from,
                 size_t to) {
    size_t classes = b->plan->set->classes;
    vote_of(b, node, x);
    for (size_t k = 0; k < b->g->radii; k++) {
        double radius = b->g->rho[k] * mu;
        bool paper = b->plan->style == VPC_PAPER;
        double weight = paper || !(radius > 0) ? (r <= radius ? 1 : 0) : 1 - r / radius;
        for (size_t g = from; g < to && weight > 0; g++) {
            double *votes = b->votes + (g * b->g->radii + k) * classes;
            for (size_t c = 0; c < node->fit.classes; c++)
                votes[node->fit.name[c]] += weight * b->scores[c];
        }
    }
}

static bool push(ballot *b, const vpc_grown *node, double r, size_t open) {
    place p = {node, r, open};
    return lm_buffer_append(&b->stack, &p, sizeof p);
}

/* One tree; gammas ascend, so those for which a node is a leaf are the last of the open ones. */
static limn_status ask_tree(ballot *b, const vpc_grown *root, const float *x) {
    const vpc_plan *plan = b->plan;
    double limit = b->g->rho[b->g->radii - 1] * root->mu;
    bool fine = push(b, root, 0, b->g->gammas);
    while (b->stack.size && fine) {
        place at;
        b->stack.size -= sizeof at;
        memcpy(&at, b->stack.data + b->stack.size, sizeof at);
        size_t first = at.open;
        while (first > 0 && b->g->gamma[first - 1] >= at.node->fit.error)
            first--;
        bool leaf = !at.node->near;
        first = leaf ? 0 : first;
        if (first < at.open)
            cast(b, at.node, x, at.r, root->mu, first, at.open);
        if (leaf || first == 0)
            continue;
        const float *pivot = plan->set->x + at.node->pivot * plan->d;
        float distance = vpc_rounded(plan->pair(x, pivot, plan->d));
        double length = plan->distance == VPC_L1 ? (double)distance : sqrt((double)distance);
        double gap = length - at.node->mu, near = fmax(at.r, gap), far = fmax(at.r, -gap);
        if (near <= limit || gap <= 0)
            fine = push(b, at.node->near, near, first);
        if (fine && (far <= limit || gap >= 0))
            fine = push(b, at.node->far, far, first);
    }
    return fine ? LIMN_OK : lm_fail_memory(b->ctx);
}

static limn_status judge_row(ballot *b, vpc_grown **roots, size_t trees, uint32_t row, grid *g) {
    size_t classes = b->plan->set->classes;
    limn_status status = LIMN_OK;
    memset(b->votes, 0, g->gammas * g->radii * classes * sizeof *b->votes);
    for (size_t t = 0; t < trees && status == LIMN_OK; t++)
        status = ask_tree(b, roots[t], b->plan->set->x + row * b->plan->d);
    for (size_t i = 0; i < g->gammas * g->radii && status == LIMN_OK; i++) {
        const double *votes = b->votes + i * classes;
        size_t best = 0;
        for (size_t c = 1; c < classes; c++)
            best = votes[c] > votes[best] ? c : best;
        g->wrong[i / g->radii][i % g->radii] += (int32_t)best != b->plan->set->label[row];
    }
    return status;
}

/* ---- folds ---- */

/* Grows on the rows outside the fold and judges on those inside it. */
static limn_status judge_fold(limn_context *ctx, const vpc_plan *plan, size_t trees,
                              const uint32_t *fold, size_t number, grid *g) {
    const lm_train_set *set = plan->set;
    size_t cells, n = 0;
    ballot b = {.ctx = ctx, .plan = plan, .g = g, .stack.mem = &ctx->mem};
    vpc_grown **roots = NULL;
    uint32_t *rows = lm_alloc(&ctx->mem, set->n, sizeof *rows);
    b.votes = lm_mul(GAMMAS * RADII, set->classes, &cells)
                  ? lm_alloc(&ctx->mem, cells, sizeof *b.votes)
                  : NULL;
    b.scores = lm_alloc(&ctx->mem, set->classes, sizeof *b.scores);
    limn_status status = rows && b.votes && b.scores ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < set->n && status == LIMN_OK; i++)
        if (fold[i] != number)
            rows[n++] = (uint32_t)i;
    if (status == LIMN_OK)
        status = vpc_grow(ctx, plan, trees, rows, n, &roots);
    for (size_t i = 0; i < set->n && status == LIMN_OK; i++)
        if (fold[i] == number)
            status = judge_row(&b, roots, trees, (uint32_t)i, g);
    for (size_t t = 0; roots && t < trees; t++)
        vpc_grown_free(&ctx->mem, roots[t]);
    lm_free(&ctx->mem, roots);
    lm_free(&ctx->mem, rows);
    lm_free(&ctx->mem, b.votes);
    lm_free(&ctx->mem, b.scores);
    lm_buffer_free(&b.stack);
    return status;
}

/* The fewest errors; ties go to the cheapest: few leaves, a small radius. */
static void pick(const grid *g, double *gamma, double *rho) {
    size_t best_g = g->gammas - 1, best_k = 0;
    for (size_t i = g->gammas; i-- > 0;)
        for (size_t k = 0; k < g->radii; k++)
            if (g->wrong[i][k] < g->wrong[best_g][best_k]) {
                best_g = i;
                best_k = k;
            }
    *gamma = g->gamma[best_g];
    *rho = g->rho[best_k];
}

limn_status vpc_choose(limn_context *ctx, const vpc_plan *plan, size_t trees, bool auto_gamma,
                       bool auto_radius, double *gamma, double *rho) {
    static const double gammas[GAMMAS] = {0, .01, .02, .05, .1, .2, .4};
    static const double radii[RADII] = {0, .01, .02, .04, .08};
    grid g = {.gamma = {*gamma}, .rho = {*rho}, .gammas = 1, .radii = 1};
    vpc_plan whole = *plan;
    size_t n = plan->set->n, folds = n < FOLDS ? n : FOLDS;
    if (auto_gamma) {
        memcpy(g.gamma, gammas, sizeof gammas);
        g.gammas = GAMMAS;
    }
    if (auto_radius) {
        memcpy(g.rho, radii, sizeof radii);
        g.radii = RADII;
    }
    if (n < 2) {
        pick(&g, gamma, rho);
        return LIMN_OK;
    }
    whole.gamma = auto_gamma ? 0 : *gamma;
    whole.keep_all = true;
    uint32_t *fold = lm_alloc(&ctx->mem, n, sizeof *fold);
    limn_status status = fold ? lm_split_folds(ctx, plan->set->label, n, folds,
                                               lm_hash(ctx->seed, LM_STREAM_FOLDS, 5), fold)
                              : lm_fail_memory(ctx);
    size_t judged = n > HOLDOUT_ROWS ? 1 : folds;
    for (size_t f = 0; f < judged && status == LIMN_OK; f++)
        status = judge_fold(ctx, &whole, trees, fold, f, &g);
    lm_free(&ctx->mem, fold);
    if (status == LIMN_OK)
        pick(&g, gamma, rho);
    return status;
}
