/* auto.c: the scaling that the evidence is for.
 *
 * On at most 8,000 rows (fewer with more than 68 features), a seeded sample with each class in its
 * share, every candidate is judged by its nearest neighbours, itself left out. minmax is in force;
 * none and zscore take the place of what is in force if they beat it by one standard error
 * (evidence.h), rank and gauss by two, because they change distances more. Below 30 rows nothing is
 * judged and minmax stays.
 *
 * none, minmax and zscore are fitted to all rows, as they will be in the model: a few far values
 * that the sample lacks may be what spoils minmax. rank and gauss, for which they do not matter,
 * are fitted to the sample. */
#include "data/split.h"
#include "scale/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 30, MOST_ROWS = 8000, FEWEST_ROWS = 100, CANDIDATES = 5 };

/* Multiply-adds of a candidate: with very many features, fewer rows are judged. */
#define MOST_WORK 4.4e9

static const limn_scale kinds[CANDIDATES] = {LIMN_SCALE_MINMAX, LIMN_SCALE_NONE, LIMN_SCALE_ZSCORE,
                                             LIMN_SCALE_RANK, LIMN_SCALE_GAUSS};
static const double needed[CANDIDATES] = {0, 1, 1, 2, 2};

static size_t rows_judged(const lm_scaler_rows *rows) {
    size_t affordable = (size_t)sqrt(MOST_WORK / (double)rows->d);
    size_t most = affordable < FEWEST_ROWS ? FEWEST_ROWS
                  : affordable < MOST_ROWS ? affordable
                                           : MOST_ROWS;
    return rows->n < most ? rows->n : most;
}

static int ascending(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The rows of the sample in the order of the data. */
static limn_status draw(limn_context *ctx, const lm_scaler_rows *rows, size_t m, size_t *row) {
    limn_status status =
        lm_split_spread(ctx, rows->label, rows->n, &m, 1, ctx->seed, lm_stream_of("scale"), row);
    if (status == LIMN_OK)
        qsort(row, m, sizeof *row, ascending);
    return status;
}

/* The rows of the sample, as rows of their own. */
static float *gather(limn_context *ctx, const lm_scaler_rows *rows, lm_row_list sample) {
    size_t cells;
    float *x = lm_mul(sample.n, rows->d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *x) : NULL;
    for (size_t i = 0; x && i < sample.n; i++)
        memcpy(x + i * rows->d, rows->x + sample.row[i] * rows->d, rows->d * sizeof *x);
    return x;
}

static limn_status judge(limn_context *ctx, limn_scale kind, bool keep_constant,
                         const lm_scaler_rows *rows, lm_row_list sample, double *loss) {
    lm_scaler scaler = {.kind = LIMN_SCALE_NONE};
    lm_scaler_rows part = {.x = rows->x, .n = rows->n, .d = rows->d};
    float *own = NULL;
    limn_status status = LIMN_OK;
    if (!lm_scale_is_line(kind)) {
        part.x = own = gather(ctx, rows, sample);
        part.n = sample.n;
        status = own ? LIMN_OK : lm_fail_memory(ctx);
    }
    if (status == LIMN_OK)
        status = lm_scaler_fit_columns(ctx, kind, keep_constant, &part, &scaler);
    lm_free(&ctx->mem, own);
    if (status == LIMN_OK)
        status = lm_evidence_losses(ctx, &scaler, rows, sample, sample, true, loss);
    lm_scaler_free(&ctx->mem, &scaler);
    return status;
}

static limn_status judge_all(limn_context *ctx, bool keep_constant, const lm_scaler_rows *rows,
                             lm_row_list sample, lm_trials *trials) {
    const char *names[CANDIDATES];
    double *loss = lm_alloc(&ctx->mem, sample.n, CANDIDATES * LM_JUDGES * sizeof *loss);
    limn_status status = loss ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t c = 0; c < CANDIDATES && status == LIMN_OK; c++) {
        names[c] = limn_scale_name(kinds[c]);
        status = judge(ctx, kinds[c], keep_constant, rows, sample, loss + c * sample.n * LM_JUDGES);
    }
    if (status == LIMN_OK)
        status =
            lm_evidence_walk(ctx, names, needed, CANDIDATES, !rows->label, loss, sample.n, trials);
    lm_free(&ctx->mem, loss);
    return status;
}

limn_status lm_scaler_choose(limn_context *ctx, bool keep_constant, const lm_scaler_rows *rows,
                             limn_scale *kind, lm_trials *trials) {
    *kind = LIMN_SCALE_MINMAX;
    *trials = (lm_trials){.rows = 0};
    if (rows->n < LEAST_ROWS)
        return LIMN_OK;
    size_t m = rows_judged(rows);
    size_t *row = lm_alloc(&ctx->mem, rows->n, sizeof *row);
    limn_status status = row ? draw(ctx, rows, m, row) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = judge_all(ctx, keep_constant, rows, (lm_row_list){row, m}, trials);
    if (status == LIMN_OK)
        *kind = kinds[lm_trials_choice(trials)];
    lm_free(&ctx->mem, row);
    return status;
}
