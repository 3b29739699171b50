/* split.c: seeded, stratified folds and samples.
 *
 * Rows are grouped by class in ascending order and each group is shuffled by a generator of its own
 * (seed, purpose, class), so the result depends only on the labels and the seed. The groups are
 * dealt to the folds in turn, one group after the other, so the folds differ by at most one row,
 * both per class and in total. */
#include "data/split.h"

#include <math.h>
#include <string.h>

typedef struct groups {
    size_t count;
    size_t *start; /* count + 1 */
    size_t *rows;  /* n, by class, each class shuffled */
} groups;

static void groups_free(limn_context *ctx, groups *g) {
    lm_free(&ctx->mem, g->start);
    lm_free(&ctx->mem, g->rows);
}

static limn_status count_classes(limn_context *ctx, const int32_t *label, size_t n, size_t *count) {
    int32_t largest = 0;
    for (size_t i = 0; label && i < n; i++) {
        if (label[i] < 0)
            return lm_fail(ctx, LIMN_E_USAGE, "row %zu: class %d is negative", i + 1, label[i]);
        if (label[i] > largest)
            largest = label[i];
    }
    *count = (size_t)largest + 1;
    return LIMN_OK;
}

/* The caller zeroes g and frees it, even on failure. */
static limn_status groups_make(limn_context *ctx, const int32_t *label, size_t n, uint64_t seed,
                               uint64_t stream, groups *g) {
    limn_status status = count_classes(ctx, label, n, &g->count);
    if (status != LIMN_OK)
        return status;
    g->start = lm_alloc_zero(&ctx->mem, g->count + 2, sizeof *g->start);
    g->rows = lm_alloc(&ctx->mem, n, sizeof *g->rows);
    if (!g->start || !g->rows)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < n; i++)
        g->start[(label ? (size_t)label[i] : 0) + 2]++;
    for (size_t c = 2; c <= g->count; c++)
        g->start[c] += g->start[c - 1];
    for (size_t i = 0; i < n; i++) /* start[c + 1] walks from the first row of c to its end */
        g->rows[g->start[(label ? (size_t)label[i] : 0) + 1]++] = i;
    for (size_t c = 0; c < g->count; c++) {
        lm_rng rng = lm_rng_at(seed, stream, c);
        lm_rng_shuffle(&rng, g->rows + g->start[c], g->start[c + 1] - g->start[c]);
    }
    return LIMN_OK;
}

limn_status lm_split_folds(limn_context *ctx, const int32_t *label, size_t n, size_t folds,
                           uint64_t seed, uint32_t *fold) {
    if (folds < 2 || folds > n || folds > UINT32_MAX)
        return lm_fail(
            ctx, LIMN_E_USAGE,
            "cannot split %zu row%s into %zu fold%s; use at least 2 folds and at most one per row",
            n, n == 1 ? "" : "s", folds, folds == 1 ? "" : "s");
    groups g = {0};
    limn_status status = groups_make(ctx, label, n, seed, LM_STREAM_FOLDS, &g);
    if (status == LIMN_OK)
        for (size_t i = 0; i < n; i++)
            fold[g.rows[i]] = (uint32_t)(i % folds);
    groups_free(ctx, &g);
    return status;
}

limn_status lm_split_sample(limn_context *ctx, const int32_t *label, size_t n, double fraction,
                            uint64_t seed, size_t *rows, size_t *count) {
    *count = 0;
    if (!(fraction > 0.0 && fraction <= 1.0))
        return lm_fail(ctx, LIMN_E_USAGE,
                       "the fraction of rows is %g; it must be above 0 and at most 1", fraction);
    groups g = {0};
    unsigned char *chosen = NULL;
    limn_status status = groups_make(ctx, label, n, seed, LM_STREAM_SPLIT, &g);
    if (status != LIMN_OK)
        goto done;
    chosen = lm_alloc_zero(&ctx->mem, n, 1);
    if (!chosen) {
        status = lm_fail_memory(ctx);
        goto done;
    }
    for (size_t c = 0; c < g.count; c++) {
        size_t size = g.start[c + 1] - g.start[c];
        size_t take = (size_t)floor(fraction * (double)size + 0.5);
        take = take > size ? size : take == 0 && size ? 1 : take;
        for (size_t i = 0; i < take; i++)
            chosen[g.rows[g.start[c] + i]] = 1;
    }
    for (size_t i = 0; i < n; i++)
        if (chosen[i])
            rows[(*count)++] = i;
done:
    groups_free(ctx, &g);
    lm_free(&ctx->mem, chosen);
    return status;
}

static void shuffle_rows(lm_rng rng, uint32_t *row, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t other = i + lm_rng_below(&rng, n - i);
        uint32_t kept = row[i];
        row[i] = row[other];
        row[other] = kept;
    }
}

void lm_split_classes(const int32_t *label, size_t n, size_t classes, uint64_t seed,
                      uint64_t stream, uint32_t *row, size_t *start) {
    memset(start, 0, (classes + 2) * sizeof *start);
    for (size_t i = 0; i < n; i++)
        start[(label ? label[i] : 0) + 2]++;
    for (size_t c = 0; c < classes; c++)
        start[c + 2] += start[c + 1];
    for (size_t i = 0; i < n; i++) /* start[c + 1] walks from the first row of c to its end */
        row[start[(label ? label[i] : 0) + 1]++] = (uint32_t)i;
    for (size_t c = 0; c < classes; c++)
        shuffle_rows(lm_rng_at(seed, stream, c), row + start[c], start[c + 1] - start[c]);
}
