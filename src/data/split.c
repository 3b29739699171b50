/* split.c: seeded, stratified folds and samples.
 *
 * Rows are grouped by class in ascending order and each group is shuffled by a generator of its own
 * (seed, purpose, class), so the result depends only on the labels and the seed. The groups are
 * dealt to the folds in turn, one group after the other, so the folds differ by at most one row,
 * both per class and in total.
 *
 * Samples by a power of the class size are those of Mills (2017), Appendix A: of a class of n rows
 * the share rho(n) = C n^-zeta is kept, 0 <= zeta <= 1, C = m^zeta with m the size of the smallest
 * class, which is therefore kept whole. The rows kept, m^zeta n^(1 - zeta) summed over the classes,
 * fall from all of them at zeta = 0 to m of each class at zeta = 1, and zeta is the root in
 * between. The paper does not say what to do with fewer rows than that. Here zeta stays at 1 and C
 * falls below m: the classes share the rows equally, and at least one row of each is kept. */
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

/* ---- samples ---- */

/* Of a class of n rows keep C n^-zeta. */
typedef struct power {
    double c, zeta;
} power;

static size_t group_size(const groups *g, size_t c) {
    return g->start[c + 1] - g->start[c];
}

/* The rows of a class of size rows that remain where the smallest has least, which stays whole. */
static double kept(double size, double least, double zeta) {
    return size * pow(least / size, zeta);
}

static double kept_of_all(const groups *g, double least, double zeta) {
    double sum = 0;
    for (size_t c = 0; c < g->count; c++)
        if (group_size(g, c))
            sum += kept((double)group_size(g, c), least, zeta);
    return sum;
}

/* The zeta at which total rows remain: fewer than all rows, more than least of each class. */
static double solve_zeta(const groups *g, double least, double total) {
    double low = 0, high = 1;
    for (;;) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            return middle;
        if (kept_of_all(g, least, middle) > total)
            low = middle;
        else
            high = middle;
    }
}

static power fit_power(const groups *g, double total) {
    double least = INFINITY, classes = 0;
    for (size_t c = 0; c < g->count; c++)
        if (group_size(g, c)) {
            least = fmin(least, (double)group_size(g, c));
            classes++;
        }
    if (total <= classes * least)
        return (power){.c = total / classes, .zeta = 1};
    double zeta = solve_zeta(g, least, total);
    return (power){.c = pow(least, zeta), .zeta = zeta};
}

/* Rounded; never more than the class has, and at least one unless it is empty. */
static size_t whole_rows(double rows, size_t size) {
    double whole = floor(rows + 0.5);
    return whole >= (double)size ? size : whole < 1 ? (size > 0) : (size_t)whole;
}

static void choose(const groups *g, size_t n, double fraction, limn_subsample rule,
                   unsigned char *chosen) {
    /* All rows need no root, and rounding may not cost one of them. */
    bool by_power = rule == LIMN_SUBSAMPLE_POWER && fraction < 1;
    power p = by_power ? fit_power(g, fraction * (double)n) : (power){.c = fraction, .zeta = 0};
    for (size_t c = 0; c < g->count; c++) {
        size_t size = group_size(g, c);
        double rows = size ? p.c * pow((double)size, 1 - p.zeta) : 0;
        size_t take = whole_rows(rows, size);
        for (size_t i = 0; i < take; i++)
            chosen[g->rows[g->start[c] + i]] = 1;
    }
}

limn_status lm_split_sample(limn_context *ctx, const int32_t *label, size_t n, double fraction,
                            uint64_t seed, size_t *rows, size_t *count) {
    return lm_split_sample_by(ctx, label, n, fraction, LIMN_SUBSAMPLE_EQUAL, seed, rows, count);
}

limn_status lm_split_sample_by(limn_context *ctx, const int32_t *label, size_t n, double fraction,
                               limn_subsample rule, uint64_t seed, size_t *rows, size_t *count) {
    *count = 0;
    if (rule != LIMN_SUBSAMPLE_EQUAL && rule != LIMN_SUBSAMPLE_POWER)
        return lm_fail(ctx, LIMN_E_USAGE, "there is no rule %d for a subsample", (int)rule);
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
    choose(&g, n, fraction, rule, chosen);
    for (size_t i = 0; i < n; i++)
        if (chosen[i])
            rows[(*count)++] = i;
done:
    groups_free(ctx, &g);
    lm_free(&ctx->mem, chosen);
    return status;
}

/* floor((i count + start) / n); n is below 2^32. */
static uint64_t share_of(uint64_t i, uint64_t count, uint64_t start, uint64_t n) {
    return (i * count + start) / n;
}

/* Moves count of the n rows, evenly spaced from a random start, to the front; both parts keep their
 * order. */
static void spread(lm_rng *rng, size_t *rows, size_t n, size_t count, size_t *spare) {
    size_t drawn = 0, others = 0;
    uint64_t start = n ? lm_rng_below(rng, n) : 0; /* the share grows by one at count places */
    for (size_t i = 0; i < n; i++)
        if (share_of(i + 1, count, start, n) > share_of(i, count, start, n))
            rows[drawn++] = rows[i];
        else
            spare[others++] = rows[i];
    memcpy(rows + drawn, spare, others * sizeof *rows);
}

limn_status lm_split_spread(limn_context *ctx, const int32_t *label, size_t n, const size_t *count,
                            size_t parts, uint64_t seed, uint64_t stream, size_t *rows) {
    groups g = {0};
    size_t *spare = lm_alloc(&ctx->mem, n, sizeof *spare);
    limn_status status = spare ? groups_make(ctx, label, n, seed, stream, &g) : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        lm_rng rng = lm_rng_at(seed, stream, g.count); /* the classes have those before */
        memcpy(rows, g.rows, n * sizeof *rows);
        for (size_t p = 0, at = 0; p < parts; at += count[p++])
            spread(&rng, rows + at, n - at, count[p], spare);
    }
    groups_free(ctx, &g);
    lm_free(&ctx->mem, spare);
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
