/* learned.c: whether a map helps, and which.
 *
 * The candidates (maps.h) are judged by nearest neighbours like the scalings of auto.c: no map is
 * in force; each candidate takes the place of what is in force if it beats it by one standard
 * error. With 3,000 rows or more, 1,000 to 4,000 are held out; maps are fitted to up to 2,000
 * others, and neighbours are looked for among all others, because a map that helps where rows are
 * scarce may harm where they are dense. With fewer rows, in three folds, or five below 1,000, and
 * the map that was chosen is fitted once more, to all.
 *
 * Where there are so many classes and features that this would take too long, maps are fitted to
 * fewer rows; of very many rows, not all are neighbours; with more than 512 features d4f is left
 * out, with more than 1,000 d2f, too, and with more than 1,200 there is no map. */
#include "data/split.h"
#include "scale/maps.h"
#include "scale/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROWS = 30,
    MANY_FEATURES = 512,
    MORE_FEATURES = 1000,
    MOST_FEATURES = 1200,
    LEAST_HELD = 3000,
    LEAST_ASKED = 1000,
    MOST_ASKED = 4000,
    MOST_FIT = 2000,
    LEAST_FIT = 200,
    FEW_ROWS = 1000,
    CANDIDATES = LM_MAPS + 1
};

/* Multiply-adds per gradient of one fit, or of all folds, and of a search. */
#define MOST_FIT_WORK 4e10
#define MOST_SEARCH_WORK 4.5e10

static const char *const names[CANDIDATES] = {"identity", "soft", "d1f", "d2f", "d4f"};
static const double needed[CANDIDATES] = {0, 1, 1, 1, 1};

typedef struct gate {
    const lm_scaler *scaler;
    const lm_scaler_rows *rows;
    size_t count; /* of candidates */
    size_t *row;  /* all rows; what the lists below are made of */
    size_t judged;
    double *loss; /* count x judged x LM_JUDGES */
    lm_map *maps[LM_MAPS];
} gate;

static void free_maps(const limn_allocator *mem, gate *g) {
    for (size_t i = 0; i < LM_MAPS; i++)
        lm_map_free(mem, g->maps[i]);
    memset(g->maps, 0, sizeof g->maps);
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* 1: some rows are held out. */
static size_t folds_of(size_t n) {
    return n >= LEAST_HELD ? 1 : n >= FEW_ROWS ? 3 : 5;
}

static size_t most_fit(const gate *g) {
    double values = g->rows->label && g->rows->classes > 2 ? (double)g->rows->classes : 1;
    double work = MOST_FIT_WORK / (double)folds_of(g->rows->n);
    double most = sqrt(work / (values * (double)g->scaler->kept));
    return most >= MOST_FIT ? MOST_FIT : most <= LEAST_FIT ? LEAST_FIT : (size_t)most;
}

/* Of many rows a third, as long as all others can be searched for each; of few, all, in folds. */
static size_t rows_judged(const gate *g) {
    size_t n = g->rows->n;
    double most = MOST_SEARCH_WORK / ((double)g->scaler->kept * (double)n);
    if (n < LEAST_HELD)
        return n;
    size_t asked = most >= MOST_ASKED    ? MOST_ASKED
                   : most <= LEAST_ASKED ? LEAST_ASKED
                                         : (size_t)most;
    return smaller(asked, n / 3);
}

static unsigned all_of(const gate *g) {
    return (1u << (g->count - 1)) - 1;
}

/* The losses of the rows asked, from place `first` of the judged ones on. */
static limn_status judge(limn_context *ctx, gate *g, lm_row_list stored, lm_row_list asked,
                         size_t first) {
    limn_status status = LIMN_OK;
    for (size_t c = 0; c < g->count && status == LIMN_OK; c++) {
        lm_scaler scaler = *g->scaler;
        double *loss = g->loss + (c * g->judged + first) * LM_JUDGES;
        scaler.map = c ? g->maps[c - 1] : NULL;
        if (c && !scaler.map) { /* there is none */
            memcpy(loss, g->loss + first * LM_JUDGES, asked.n * LM_JUDGES * sizeof *loss);
            continue;
        }
        scaler.out = scaler.map ? scaler.map->out : scaler.kept;
        status = lm_evidence_losses(ctx, &scaler, g->rows, stored, asked, false, loss);
    }
    return status;
}

static limn_status walk(limn_context *ctx, gate *g, lm_trials *trials) {
    return lm_evidence_walk(ctx, names, needed, g->count, !g->rows->label, g->loss, g->judged,
                            trials);
}

/* ---- many rows: some are held out ---- */

static int ascending(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static limn_status judge_held_out(limn_context *ctx, gate *g, lm_trials *trials, lm_map **map) {
    size_t n = g->rows->n, asked = g->judged, fit = most_fit(g);
    double most = MOST_SEARCH_WORK / ((double)g->scaler->kept * (double)asked);
    size_t stored = most < (double)(n - asked) ? (size_t)most : n - asked;
    stored = stored < fit ? fit : stored;
    size_t counts[] = {asked, fit, stored - fit};
    limn_status status = lm_split_spread(ctx, g->rows->label, n, counts, LM_COUNT(counts),
                                         ctx->seed, lm_stream_of("scale map"), g->row);
    if (status == LIMN_OK)
        status = lm_maps_fit(ctx, g->scaler, g->rows, (lm_row_list){g->row + asked, fit}, all_of(g),
                             g->maps);
    if (status != LIMN_OK)
        return status;
    qsort(g->row + asked, stored, sizeof *g->row, ascending); /* ties go to the first of them */
    status = judge(ctx, g, (lm_row_list){g->row + asked, stored}, (lm_row_list){g->row, asked}, 0);
    if (status == LIMN_OK)
        status = walk(ctx, g, trials);
    size_t choice = status == LIMN_OK ? lm_trials_choice(trials) : 0;
    if (choice) {
        *map = g->maps[choice - 1];
        g->maps[choice - 1] = NULL;
    }
    return status;
}

/* ---- few rows: folds ---- */

/* Every so many-th of the rows. */
static void thin(lm_row_list *list, size_t most, size_t *row) {
    size_t n = smaller(list->n, most);
    for (size_t i = 0; i < n; i++)
        row[i] = list->row[i * list->n / n];
    *list = (lm_row_list){row, n};
}

/* The rows of one fold to the front, the others behind them; both in order. */
static size_t part(const uint32_t *fold, size_t n, size_t which, size_t *row) {
    size_t inside = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        inside += fold[i] == which;
    for (size_t i = 0, others = inside; i < n; i++)
        row[fold[i] == which ? at++ : others++] = i;
    return inside;
}

static limn_status judge_fold(limn_context *ctx, gate *g, const uint32_t *fold, size_t which,
                              size_t *spare, size_t *judged) {
    size_t n = g->rows->n, asked = part(fold, n, which, g->row);
    lm_row_list stored = {g->row + asked, n - asked}, fit = stored;
    thin(&fit, most_fit(g), spare);
    limn_status status = lm_maps_fit(ctx, g->scaler, g->rows, fit, all_of(g), g->maps);
    if (status == LIMN_OK)
        status = judge(ctx, g, stored, (lm_row_list){g->row, asked}, *judged);
    free_maps(&ctx->mem, g);
    *judged += asked;
    return status;
}

static limn_status fit_choice(limn_context *ctx, gate *g, size_t *spare, lm_trials *trials,
                              lm_map **map) {
    size_t choice = lm_trials_choice(trials);
    if (!choice)
        return LIMN_OK;
    for (size_t i = 0; i < g->rows->n; i++)
        g->row[i] = i;
    lm_row_list fit = {g->row, g->rows->n};
    thin(&fit, most_fit(g), spare);
    limn_status status = lm_maps_fit(ctx, g->scaler, g->rows, fit, 1u << (choice - 1), g->maps);
    if (status == LIMN_OK) {
        *map = g->maps[choice - 1];
        g->maps[choice - 1] = NULL;
    }
    return status;
}

static limn_status judge_folds(limn_context *ctx, gate *g, lm_trials *trials, lm_map **map) {
    size_t n = g->rows->n, folds = folds_of(n), judged = 0;
    uint32_t *fold = lm_alloc(&ctx->mem, n, sizeof *fold);
    size_t *spare = lm_alloc(&ctx->mem, n, sizeof *spare);
    limn_status status = fold && spare ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_split_folds(ctx, g->rows->label, n, folds, ctx->seed, fold);
    for (size_t which = 0; which < folds && status == LIMN_OK; which++)
        status = judge_fold(ctx, g, fold, which, spare, &judged);
    if (status == LIMN_OK)
        status = walk(ctx, g, trials);
    if (status == LIMN_OK)
        status = fit_choice(ctx, g, spare, trials, map);
    lm_free(&ctx->mem, fold);
    lm_free(&ctx->mem, spare);
    return status;
}

limn_status lm_scaler_learn(limn_context *ctx, const lm_scaler_rows *rows, lm_scaler *scaler) {
    gate g = {.scaler = scaler, .rows = rows};
    lm_map *map = NULL;
    scaler->gate = (lm_trials){.rows = 0};
    if (scaler->kept > MOST_FEATURES)
        lm_warn(ctx, "a map is learned for at most %d features; the %zu here are only scaled (%s)",
                MOST_FEATURES, scaler->kept, limn_scale_name(scaler->kind));
    if (rows->n < LEAST_ROWS || scaler->kept < 2 || scaler->kept > MOST_FEATURES)
        return LIMN_OK;
    g.count = scaler->kept > MORE_FEATURES   ? CANDIDATES - 2
              : scaler->kept > MANY_FEATURES ? CANDIDATES - 1
                                             : CANDIDATES;
    g.row = lm_alloc(&ctx->mem, rows->n, sizeof *g.row);
    g.judged = rows_judged(&g);
    g.loss = lm_alloc(&ctx->mem, g.judged, CANDIDATES * LM_JUDGES * sizeof *g.loss);
    limn_status status = g.row && g.loss ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = rows->n >= LEAST_HELD ? judge_held_out(ctx, &g, &scaler->gate, &map)
                                       : judge_folds(ctx, &g, &scaler->gate, &map);
    for (size_t i = 1; i < g.count && !map; i++) /* the last fit may have found nothing */
        scaler->gate.list[i].taken = false;
    if (map) {
        scaler->map = map;
        scaler->out = map->out;
    }
    free_maps(&ctx->mem, &g);
    lm_free(&ctx->mem, g.row);
    lm_free(&ctx->mem, g.loss);
    return status;
}
