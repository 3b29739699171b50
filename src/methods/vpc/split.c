/* split.c: choosing a pivot, and which rows are near it.
 *
 * Rows are ranked by (distance, row). Distances are the floats that queries will compare, so a
 * query with a training row goes to that row's half. The first ceil((n - 1) / 2) of the others are
 * near.
 *
 * Forest: of `candidates` rows drawn without replacement, the one with the largest median of
 * |d - mu| over one sample of rows: if few rows lie near the border, most turns are certain. Paper:
 * of `candidates` rows at equal steps, the one with the smallest entropy of its two halves (Eq. 6),
 * over a sample at equal steps. */
#include "base/quickselect.h"
#include "methods/vpc/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    float distance;
    uint32_t row;
} ranked;

static int by_rank(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static float distance_of(const vpc_plan *plan, uint32_t a, uint32_t b) {
    const float *x = plan->set->x;
    return vpc_rounded(plan->pair(x + a * plan->d, x + b * plan->d, plan->d));
}

/* As a length rather than its square. */
static double length_of(const vpc_plan *plan, float distance) {
    return plan->distance == VPC_L2 ? sqrt((double)distance) : (double)distance;
}

/* The middle of count values in rank order; the mean of two for an even count. */
static double median_of(const vpc_plan *plan, const ranked *r, size_t count) {
    double upper = length_of(plan, r[count / 2].distance);
    return count % 2 ? upper : (length_of(plan, r[count / 2 - 1].distance) + upper) / 2;
}

/* ---- pivots of the forest ---- */

/* Draws `count` of n rows without replacement (Floyd's algorithm, which needs no list of all rows).
 */
static void draw(lm_rng *rng, const uint32_t *rows, size_t n, size_t count, uint32_t *pick) {
    for (size_t i = 0; i < count; i++) {
        size_t last = n - count + i;
        uint32_t row = rows[lm_rng_below(rng, last + 1)];
        for (size_t j = 0; j < i; j++)
            if (pick[j] == row) {
                row = rows[last];
                break;
            }
        pick[i] = row;
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of |d - mu| over the sample. */
static double spread_of(const vpc_plan *plan, uint32_t candidate, const uint32_t *sample,
                        size_t count, ranked *r, double *gaps) {
    size_t m = 0;
    for (size_t i = 0; i < count; i++)
        if (sample[i] != candidate)
            r[m++] = (ranked){distance_of(plan, candidate, sample[i]), sample[i]};
    if (!m)
        return 0;
    qsort(r, m, sizeof *r, by_rank);
    double mu = median_of(plan, r, m);
    for (size_t i = 0; i < m; i++)
        gaps[i] = fabs(length_of(plan, r[i].distance) - mu);
    qsort(gaps, m, sizeof *gaps, by_value);
    return m % 2 ? gaps[m / 2] : (gaps[m / 2 - 1] + gaps[m / 2]) / 2;
}

static uint32_t spread_pivot(const vpc_plan *plan, uint64_t path, const uint32_t *rows, size_t n,
                             uint32_t *pick, ranked *r, double *gaps) {
    lm_rng rng = lm_rng_at(plan->seed, plan->stream, path);
    size_t candidates = plan->candidates < n ? plan->candidates : n;
    size_t samples = plan->samples < n ? plan->samples : n;
    uint32_t *sample = pick + candidates, best = 0;
    double widest = -1;
    draw(&rng, rows, n, candidates, pick);
    draw(&rng, rows, n, samples, sample);
    for (size_t i = 0; i < candidates; i++) {
        double spread = spread_of(plan, pick[i], sample, samples, r, gaps);
        if (spread > widest || (spread == widest && pick[i] < best)) {
            widest = spread;
            best = pick[i];
        }
    }
    return best;
}

/* ---- pivots of the paper ---- */

/* - sum over halves and classes of (c / m) log2(c / m). counts: 2 x classes. */
static double entropy_of(const vpc_plan *plan, const ranked *r, size_t m, size_t *counts) {
    size_t classes = plan->set->classes, near = (m + 1) / 2;
    double sum = 0;
    memset(counts, 0, 2 * classes * sizeof *counts);
    for (size_t i = 0; i < m; i++)
        counts[(i >= near) * classes + (size_t)plan->set->label[r[i].row]]++;
    for (size_t c = 0; c < 2 * classes; c++)
        if (counts[c]) {
            double share = (double)counts[c] / (double)m;
            sum -= share * log2(share);
        }
    return sum;
}

static uint32_t entropy_pivot(const vpc_plan *plan, const uint32_t *rows, size_t n, ranked *r,
                              size_t *counts) {
    size_t candidates = plan->candidates < n ? plan->candidates : n;
    size_t samples = plan->samples < n ? plan->samples : n;
    uint32_t best = rows[0];
    double least = INFINITY;
    for (size_t i = 0; i < candidates; i++) {
        uint32_t candidate = rows[i * n / candidates];
        size_t m = 0;
        for (size_t j = 0; j < samples; j++) {
            uint32_t row = rows[j * n / samples];
            if (row != candidate)
                r[m++] = (ranked){distance_of(plan, candidate, row), row};
        }
        qsort(r, m, sizeof *r, by_rank);
        double entropy = entropy_of(plan, r, m, counts);
        if (entropy < least - 1e-12) { /* the same counts in another order must tie */
            least = entropy;
            best = candidate;
        }
    }
    return best;
}

/* ---- halves ---- */

/* How the other rows are split: distances below the limit are near, and the first of those at it.
 */
typedef struct halves {
    float limit;
    size_t at_limit; /* how many of those at the limit are near */
} halves;

/* Finds the limit and mu. copy: the distances of the m rows other than the pivot; they are
 * reordered. */
static halves find_halves(const vpc_plan *plan, uint64_t path, float *copy, size_t m, double *mu) {
    lm_rng rng = lm_rng_at(plan->seed, plan->stream, ~path);
    size_t near = (m + 1) / 2, below = 0;
    lm_select_kth(&rng, copy, m, near - 1);
    halves h = {.limit = copy[near - 1]};
    float beyond = INFINITY; /* the smallest of the far ones */
    for (size_t i = 0; i < m; i++)
        below += copy[i] < h.limit;
    for (size_t i = near; i < m; i++)
        beyond = copy[i] < beyond ? copy[i] : beyond;
    h.at_limit = near - below;
    *mu = length_of(plan, h.limit);
    if (m % 2 == 0)
        *mu = (*mu + length_of(plan, beyond)) / 2;
    return h;
}

/* Near rows, then far ones, each in their original order. far: room for half of them. */
static size_t part(const float *distance, size_t n, uint32_t pivot, halves h, uint32_t *rows,
                   uint32_t *far) {
    size_t near = 0, away = 0;
    for (size_t i = 0; i < n; i++) {
        bool at_limit = rows[i] != pivot && distance[i] == h.limit && h.at_limit > 0;
        h.at_limit -= at_limit;
        if (rows[i] == pivot || distance[i] < h.limit || at_limit)
            rows[near++] = rows[i];
        else
            far[away++] = rows[i];
    }
    memcpy(rows + near, far, away * sizeof *rows);
    return near;
}

/* Distances of all rows to the pivot, and a copy without its own. False: all are 0. */
static bool measure(const vpc_plan *plan, const uint32_t *rows, size_t n, uint32_t pivot,
                    float *distance, float *copy) {
    size_t at = 0;
    bool apart = false;
    for (size_t i = 0; i < n; i++) {
        distance[i] = distance_of(plan, pivot, rows[i]);
        apart = apart || distance[i] > 0;
        if (rows[i] != pivot)
            copy[at++] = distance[i];
    }
    return apart;
}

static limn_status choose_pivot(limn_context *ctx, const vpc_plan *plan, uint64_t path,
                                const uint32_t *rows, size_t n, uint32_t *pivot) {
    size_t samples = plan->samples < n ? plan->samples : n;
    size_t candidates = plan->candidates < n ? plan->candidates : n;
    ranked *r = lm_alloc(&ctx->mem, samples, sizeof *r);
    uint32_t *pick = lm_alloc(&ctx->mem, samples + candidates, sizeof *pick);
    double *gaps = lm_alloc(&ctx->mem, samples, sizeof *gaps);
    size_t *counts = lm_alloc(&ctx->mem, 2 * plan->set->classes, sizeof *counts);
    bool there = r && pick && gaps && counts;
    if (there)
        *pivot = plan->style == VPC_PAPER ? entropy_pivot(plan, rows, n, r, counts)
                                          : spread_pivot(plan, path, rows, n, pick, r, gaps);
    lm_free(&ctx->mem, r);
    lm_free(&ctx->mem, pick);
    lm_free(&ctx->mem, gaps);
    lm_free(&ctx->mem, counts);
    return there ? LIMN_OK : lm_fail_memory(ctx);
}

limn_status vpc_split(limn_context *ctx, const vpc_plan *plan, uint64_t path, uint32_t *rows,
                      size_t count, uint32_t *pivot, double *mu, size_t *near) {
    *near = 0;
    limn_status status = choose_pivot(ctx, plan, path, rows, count, pivot);
    if (status != LIMN_OK)
        return status;
    float *distance = lm_alloc(&ctx->mem, count, sizeof *distance);
    float *copy = lm_alloc(&ctx->mem, count, sizeof *copy);
    if (!distance || !copy) {
        status = lm_fail_memory(ctx);
    } else if (measure(plan, rows, count, *pivot, distance, copy)) {
        halves h = find_halves(plan, path, copy, count - 1, mu);
        *near = part(distance, count, *pivot, h, rows, (uint32_t *)(void *)copy);
    }
    lm_free(&ctx->mem, distance);
    lm_free(&ctx->mem, copy);
    return status;
}
