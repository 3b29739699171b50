/* part.c: tests that send about half of the rows each way. joint.c finds those that belong to a
 * choice of vectors.
 *
 *   rndw      w.x > theta, w at random
 *   pca       w.x > theta, w the direction in which the rows vary most
 *   bal, ent  K(x, b) <= theta for the best b of the leaf's vectors: that with the smallest error
 *             after each side has chosen its vectors; that where one side is purest, as
 *             min(H_left, H_right) of the labels' entropies
 *
 * theta lies between two different scores that are next to each other, as near to the middle as
 * can be, so that every row is on one side for certain. */
#include "methods/ptree/ptree.h"

#include <math.h>
#include <string.h>

/* ---- the cut ---- */

static void sift(const double *score, size_t *heap, size_t root, size_t n) {
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && score[heap[child]] < score[heap[child + 1]])
            child++;
        if (score[heap[child]] <= score[heap[root]])
            return;
        size_t kept = heap[root];
        heap[root] = heap[child];
        heap[child] = kept;
    }
}

/* Sorts indices by score; in place, since learning allocates as little as it can. */
static void sort(const double *score, size_t *order, size_t n) {
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n / 2; i-- > 0;)
        sift(score, order, i, n);
    for (size_t end = n; end-- > 1;) {
        size_t kept = order[0];
        order[0] = order[end];
        order[end] = kept;
        sift(score, order, 0, end);
    }
}

bool pt_cut(const double *score, size_t n, size_t *order, uint8_t *side, double *threshold) {
    size_t best = 0, least = n;
    sort(score, order, n);
    for (size_t i = 1; i < n; i++) { /* i rows below the cut */
        size_t off = 2 * i > n ? 2 * i - n : n - 2 * i;
        if (score[order[i - 1]] < score[order[i]] && off < least) {
            least = off;
            best = i;
        }
    }
    if (!best)
        return false;
    double low = score[order[best - 1]], high = score[order[best]];
    *threshold = low + (high - low) / 2;
    if (!(*threshold < high))
        *threshold = low; /* neighbouring numbers */
    for (size_t i = 0; i < n; i++)
        side[i] = score[i] > *threshold;
    return true;
}

/* ---- linear tests ---- */

static void set_direction(pt_cloud *c, double length) {
    const double *w = c->sum + c->k;
    for (size_t j = 0; j < c->d; j++)
        c->node.w[j] = (float)(w[j] / length);
}

bool pt_cut_linear(pt_cloud *c) {
    const uint32_t first = 0;
    const double *w = c->sum + c->k;
    double length = sqrt(lm_simd_get()->dense->dot(w, w, c->d));
    if (!(length > 0) || !isfinite(length))
        return false;
    set_direction(c, length);
    lm_gather *dot = lm_gather_kernel(LM_DOT);
    memset(c->padded, 0, c->stride * sizeof *c->padded);
    for (size_t i = 0; i < c->n; i++) {
        memcpy(c->padded, c->x + i * c->d, c->d * sizeof *c->padded);
        dot(c->padded, c->node.w, c->stride, &first, 1, &c->score[i]);
        c->score[i] /= c->paper ? pt_length(c->padded, c->d) : 1;
    }
    if (!pt_cut(c->score, c->n, c->order, c->side, &c->node.threshold))
        return false;
    for (size_t i = 0; i < c->n; i++)
        c->side[i] = !c->side[i]; /* above the threshold is left */
    return true;
}

enum { RANDOM_TRIES = 5 };

static bool cut_random(pt_cloud *c) {
    for (int i = 0; i < RANDOM_TRIES; i++) {
        for (size_t j = 0; j < c->d; j++)
            c->sum[c->k + j] = lm_rng_normal(&c->rng);
        if (pt_cut_linear(c))
            return true;
    }
    return false;
}

enum { POWER_STEPS = 30 };

bool pt_principal(const float *x, size_t n, size_t d, double *direction, double *room) {
    double *mean = room, *next = room + d;
    memset(mean, 0, d * sizeof *mean);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            mean[j] += (double)x[i * d + j] / (double)n;
    for (size_t j = 0; j < d; j++) /* a start that is orthogonal to nothing in particular */
        direction[j] = 1 + (double)(j * 7 % 11) / 11;
    for (int step = 0; step < POWER_STEPS; step++) {
        double length = 0;
        memset(next, 0, d * sizeof *next);
        for (size_t i = 0; i < n; i++) {
            double dot = 0;
            for (size_t j = 0; j < d; j++)
                dot += ((double)x[i * d + j] - mean[j]) * direction[j];
            for (size_t j = 0; j < d; j++)
                next[j] += dot * ((double)x[i * d + j] - mean[j]);
        }
        for (size_t j = 0; j < d; j++)
            length += next[j] * next[j];
        length = sqrt(length);
        if (!(length > 0) || !isfinite(length))
            return false;
        for (size_t j = 0; j < d; j++)
            direction[j] = next[j] / length;
    }
    return true;
}

static limn_status cut_principal(limn_context *ctx, pt_cloud *c, bool *found) {
    double *room = lm_alloc(&ctx->mem, c->d, 2 * sizeof *room);
    if (!room)
        return lm_fail_memory(ctx);
    *found = pt_principal(c->x, c->n, c->d, c->sum + c->k, room) && pt_cut_linear(c);
    lm_free(&ctx->mem, room);
    return LIMN_OK;
}

/* ---- tests by a vector ---- */

/* H of the labels on a side, in nats. */
static double entropy(pt_cloud *c, int s, double *count) {
    double rows = 0, sum = 0;
    memset(count, 0, c->classes * sizeof *count);
    for (size_t i = 0; i < c->n; i++)
        if (c->side[i] == s) {
            count[c->label[i]] += 1;
            rows += 1;
        }
    for (size_t k = 0; k < c->classes; k++)
        if (count[k] > 0)
            sum -= count[k] / rows * log(count[k] / rows);
    return sum;
}

/* The squared error after both sides have chosen; for opts before rounding, whose luck would
 * otherwise decide between tests. */
static double error_of_choice(pt_cloud *c) {
    double sum = 0;
    for (int s = 0; s < 2; s++) {
        if (c->select == PT_OPTS)
            pt_solve(c, s);
        else
            pt_choose(c, s);
        for (size_t j = 0; j < c->m; j++)
            c->w[j] = c->select == PT_OPTS ? c->p[s][j] : c->keeps[s][j];
        pt_costs(c, c->w, c->cost[s]);
    }
    for (size_t i = 0; i < c->n; i++)
        sum += c->cost[c->side[i]][i];
    return sum;
}

static bool cut_by_vector(pt_cloud *c, size_t j) {
    for (size_t i = 0; i < c->n; i++)
        c->score[i] = c->kernel[i * c->m + j];
    return pt_cut(c->score, c->n, c->order, c->side, &c->node.threshold);
}

static limn_status take_vector(limn_context *ctx, pt_cloud *c, size_t j) {
    lm_pack_free(&ctx->mem, &c->node.pack);
    lm_pack_row(c->pack, j, c->padded);
    return lm_pack_build(ctx, c->padded, 1, c->d, c->d, &c->node.pack);
}

static limn_status cut_by_best_vector(limn_context *ctx, pt_cloud *c, bool *found) {
    double least = INFINITY;
    size_t best = 0;
    limn_status status = LIMN_OK;
    double *count = lm_alloc(&ctx->mem, c->classes, sizeof *count);
    if (!count)
        return lm_fail_memory(ctx);
    for (size_t j = 0; j < c->m && status == LIMN_OK; j++) {
        status = pt_split_progress(ctx);
        if (status != LIMN_OK || !cut_by_vector(c, j))
            continue;
        if (c->split == PT_BAL)
            status = take_vector(ctx, c, j); /* a selection may ask the test */
        double error = c->split == PT_BAL ? error_of_choice(c)
                                          : fmin(entropy(c, 0, count), entropy(c, 1, count));
        if (status == LIMN_OK && (!*found || error < least)) {
            *found = true;
            least = error;
            best = j;
        }
    }
    lm_free(&ctx->mem, count);
    if (status == LIMN_OK && *found) {
        (void)cut_by_vector(c, best);
        status = take_vector(ctx, c, best);
    }
    return status;
}

/* ---- any ---- */

limn_status pt_partition(limn_context *ctx, pt_cloud *c, bool *found) {
    bool linear = c->split == PT_WPQ || c->split == PT_RNDW || c->split == PT_PCA;
    limn_status status = LIMN_OK;
    c->node.owned = true;
    *found = false;
    if (linear) {
        c->node.w = lm_alloc_aligned(&ctx->mem, c->stride, sizeof *c->node.w);
        if (!c->node.w)
            return lm_fail_memory(ctx);
        memset(c->node.w, 0, c->stride * sizeof *c->node.w);
    }
    if (c->split == PT_WPQ || c->split == PT_ZPQ)
        return pt_joint(ctx, c, found);
    if (c->split == PT_RNDW)
        *found = cut_random(c);
    else if (c->split == PT_PCA)
        status = cut_principal(ctx, c, found);
    else
        status = cut_by_best_vector(ctx, c, found);
    for (int s = 0; s < 2 && status == LIMN_OK && *found && c->select == PT_OPTS; s++) {
        memset(c->p[s], 0, c->m * sizeof *c->p[s]);
        pt_solve(c, s);
    }
    return status;
}
