/* kmeans.c: Lloyd's iteration from the seeds of D. Arthur and S. Vassilvitskii (k-means++, 2007):
 * each next seed is a row drawn with a probability in proportion to its squared distance from the
 * seeds so far. The rows are packed, so that one centre is compared with all of them at once. */
#include "num/kmeans.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 20 };

typedef struct cells {
    const lm_pack *rows;
    size_t k, d;
    float *centre;
    uint32_t *cell;
    float *distance; /* of all rows to one centre */
    float *least;    /* n: to the nearest centre so far */
    double *sum;     /* k x d */
    size_t *count;   /* k */
} cells;

/* Rows that are nearer to centre c than to those before it become its own. */
static void claim(cells *w, size_t c) {
    lm_pack_query(w->rows, LM_L2, 0, w->rows->panels, w->centre + c * w->d, w->distance);
    for (size_t i = 0; i < w->rows->n; i++)
        if (c == 0 || w->distance[i] < w->least[i]) {
            w->least[i] = w->distance[i];
            w->cell[i] = (uint32_t)c;
        }
}

/* A row in proportion to its distance; n: all are 0. */
static size_t draw(const cells *w, lm_rng *rng) {
    double all = 0, at;
    size_t last = w->rows->n;
    for (size_t i = 0; i < w->rows->n; i++)
        all += (double)w->least[i];
    at = lm_rng_unit(rng) * all;
    for (size_t i = 0; i < w->rows->n && at >= 0; i++)
        if (w->least[i] > 0) {
            at -= (double)w->least[i];
            last = i;
        }
    return last;
}

static void seed(cells *w, size_t most, lm_rng *rng) {
    size_t row = lm_rng_below(rng, w->rows->n);
    for (w->k = 0; w->k < most && row < w->rows->n;) {
        lm_pack_row(w->rows, row, w->centre + w->k * w->d);
        claim(w, w->k++);
        row = draw(w, rng);
    }
}

static void add_up(cells *w) {
    const lm_pack *rows = w->rows;
    memset(w->sum, 0, w->k * w->d * sizeof *w->sum);
    memset(w->count, 0, w->k * sizeof *w->count);
    for (size_t i = 0; i < rows->n; i++) {
        const float *row = rows->data + i / LM_PANEL * LM_PANEL * w->d + i % LM_PANEL;
        double *sum = w->sum + w->cell[i] * w->d;
        w->count[w->cell[i]]++;
        for (size_t j = 0; j < w->d; j++)
            sum[j] += (double)row[j * LM_PANEL];
    }
}

/* The means of the cells; cells without rows are closed. */
static void move(cells *w) {
    size_t kept = 0;
    for (size_t c = 0; c < w->k; c++) {
        for (size_t j = 0; j < w->d && w->count[c]; j++)
            w->centre[kept * w->d + j] = (float)(w->sum[c * w->d + j] / (double)w->count[c]);
        kept += w->count[c] > 0;
    }
    w->k = kept;
}

/* Whether a row changed its cell, or a cell was closed. */
static bool assign(cells *w, uint32_t *before) {
    memcpy(before, w->cell, w->rows->n * sizeof *before);
    for (size_t c = 0; c < w->k; c++)
        claim(w, c);
    return memcmp(before, w->cell, w->rows->n * sizeof *before) != 0;
}

/* Cells are closed until every one has a row. */
static void settle(cells *w, uint32_t *before) {
    for (size_t open = w->k + 1; open != w->k;) {
        open = w->k;
        add_up(w);
        for (size_t c = 0, kept = 0; c < open; c++)
            if (w->count[c]) {
                memmove(w->centre + kept * w->d, w->centre + c * w->d, w->d * sizeof *w->centre);
                w->k = ++kept;
            }
        if (w->k != open)
            (void)assign(w, before);
    }
}

limn_status lm_kmeans(limn_context *ctx, const lm_pack *rows, size_t k, lm_rng *rng, float *centre,
                      uint32_t *cell, size_t *found) {
    size_t cells_count = 0, d = rows->d;
    cells w = {.rows = rows, .d = d, .centre = centre, .cell = cell};
    uint32_t *before = lm_alloc(&ctx->mem, rows->n, sizeof *before);
    w.distance = lm_alloc_aligned(&ctx->mem, rows->panels * LM_PANEL, sizeof *w.distance);
    w.least = lm_alloc(&ctx->mem, rows->n, sizeof *w.least);
    w.sum = lm_mul(k, d, &cells_count) ? lm_alloc(&ctx->mem, cells_count, sizeof *w.sum) : NULL;
    w.count = lm_alloc(&ctx->mem, k, sizeof *w.count);
    bool fine = before && w.distance && w.least && w.sum && w.count, changed = fine;
    if (fine)
        seed(&w, k, rng);
    for (int round = 0; round < ROUNDS && changed; round++) {
        add_up(&w);
        move(&w);
        changed = assign(&w, before);
    }
    if (fine)
        settle(&w, before);
    *found = w.k;
    lm_free(&ctx->mem, before);
    lm_free_aligned(&ctx->mem, w.distance);
    lm_free(&ctx->mem, w.least);
    lm_free(&ctx->mem, w.sum);
    lm_free(&ctx->mem, w.count);
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}
