/* pools.c: the rows of a pair, points sampled around them, and what the teacher says of all of
 * them.
 *
 * There are two pools for a pair: one to learn from, and one, from the fifth of each class that is
 * held out, to judge by. Of a pair with very many rows a share of each class is used, the first
 * ones in the seeded order (all of a class with few). The teacher is asked about more points where
 * a pair is alone than where there are many pairs, and about fewer if it has no field of its own,
 * because then every question is answered for all classes. */
#include "methods/borders/borders.h"

#include <math.h>
#include <string.h>

enum {
    FEW = 10,             /* rows of a class, of which none can be spared */
    CLASS_LEAST = 400,    /* rows of a class are all used up to this */
    ROWS_LEAST = 6000,    /* of a pair are used, however many pairs there are, */
    ROWS_MOST = 60000,    /* and at most so many */
    TIMES = 20,           /* points per row, */
    POINTS_FEW = 4000,    /* but so many where there are few rows, */
    POINTS_LEAST = 16000, /* no more than this where there are many pairs, */
    POINTS_ALONE = 24000, /* or than this where there are few, unless there are so many rows */
    POINTS_MOST = 80000,  /* that twice as many points are more; and no more than this */
    ALL_POINTS = 400000,  /* of all pairs */
    ASKED_POINTS = 4000,  /* of a pair, if the teacher has no field */
    NUMBERS = 1 << 21,    /* of a pair, in all points, unless few points have more */
    ASKED = 2048,         /* points at once */
    ROWS_COMPARED = 10,   /* a point's other end is the nearest of a tenth of the rows, */
    COMPARED_LEAST = 5    /* or of so many */
};
#define NOISE 0.1   /* of a feature's standard deviation */
#define SURE 0.02   /* what the weight of a point is, beside |f| up to 1 */
#define SAMPLED 0.3 /* the weight of a sampled point, a row's being 1 */

static size_t own_rows(const bd_rows *rows, size_t class) {
    return rows->start[class + 1] - rows->start[class];
}

size_t bd_held_rows(const bd_rows *rows, size_t class) {
    size_t own = own_rows(rows, class);
    return own < FEW ? own : own / 5;
}

static size_t fit_rows(const bd_rows *rows, size_t class) {
    size_t own = own_rows(rows, class);
    return own < FEW ? own : own - own / 5;
}

/* ---- how many ---- */

static size_t between(size_t low, size_t value, size_t high) {
    return value < low ? low : value > high ? high : value;
}

static size_t row_limit(size_t pairs) {
    return between(ROWS_LEAST, ALL_POINTS / pairs, ROWS_MOST);
}

/* Points for n rows of a pair. */
static size_t point_count(const bd_rows *rows, size_t n) {
    size_t d = rows->set->d, pairs = bd_pair_count(rows->set->classes);
    size_t alone = between(POINTS_ALONE, 2 * n, POINTS_MOST);
    size_t most = between(POINTS_LEAST, ALL_POINTS / pairs, alone);
    if (!rows->set->teacher->field)
        most = ASKED_POINTS;
    most = between(most < POINTS_FEW ? most : POINTS_FEW, NUMBERS / d, most);
    return between(most < POINTS_FEW ? most : POINTS_FEW, TIMES * n, most);
}

/* Of own rows of a class, when there are `both` of the pair and at most `most` are used; small
 * classes are used whole. */
static size_t share_of(size_t own, size_t both, size_t most, size_t least) {
    double share = both > most ? (double)most / (double)both : 1;
    size_t count = (size_t)ceil(share * (double)own);
    return between(own < least ? own : least, count, own);
}

/* ---- rows ---- */

void bd_pool_free(const limn_allocator *mem, bd_pool *pool) {
    lm_pack_free(mem, &pool->pack);
    lm_free(mem, pool->x);
    lm_free(mem, pool->f);
    lm_free(mem, pool->weight);
    *pool = (bd_pool){.n = 0};
}

/* Copies rows, and what the teacher said of them already. */
static void take(const bd_rows *rows, const size_t pair[2], const uint32_t *row, size_t count,
                 float *x, double *f) {
    const lm_train_set *set = rows->set;
    for (size_t i = 0; i < count; i++) {
        memcpy(x + i * set->d, set->x + row[i] * set->d, set->d * sizeof *x);
        if (rows->answers)
            f[i] = lm_field_of_answer(set->teacher, pair[0], pair[1],
                                      rows->answers + row[i] * set->teacher->width);
    }
}

limn_status bd_pool_take(limn_context *ctx, const bd_rows *rows, const size_t pair[2], bool held,
                         size_t wanted, const lm_field *field, bd_pool *pool) {
    const limn_allocator *mem = &ctx->mem;
    size_t d = rows->set->d, pairs = bd_pair_count(rows->set->classes), part = held ? 5 : 1;
    size_t count[2], both = own_rows(rows, pair[0]) + own_rows(rows, pair[1]);
    size_t limit = wanted == BD_NO_POINTS ? ROWS_LEAST : row_limit(pairs);
    for (int c = 0; c < 2; c++)
        count[c] = share_of(held ? bd_held_rows(rows, pair[c]) : fit_rows(rows, pair[c]), both,
                            limit, CLASS_LEAST / part);
    size_t n = count[0] + count[1];
    *pool = (bd_pool){.n = n, .rows = n, .firsts = count[0], .d = d, .features = &rows->features};
    if (n)
        pool->n = between(n, (wanted ? wanted : point_count(rows, n * part)) / part, SIZE_MAX);
    pool->x = lm_alloc(mem, pool->n + 1, d * sizeof *pool->x);
    pool->f = lm_alloc(mem, pool->n + 1, sizeof *pool->f);
    pool->weight = lm_alloc(mem, pool->n + 1, sizeof *pool->weight);
    if (!pool->x || !pool->f || !pool->weight)
        return lm_fail_memory(ctx);
    for (size_t c = 0, at = 0; c < 2; at += count[c++])
        take(rows, pair,
             held ? rows->row + rows->start[pair[c] + 1] - count[c]
                  : rows->row + rows->start[pair[c]],
             count[c], pool->x + at * d, pool->f + at);
    return rows->answers ? LIMN_OK : lm_field_values(ctx, field, pool->x, n, pool->f, NULL);
}

/* ---- points ---- */

static limn_status sample(limn_context *ctx, bd_pool *pool, uint64_t seed, float *x) {
    lm_pool_rows from = {.n = 0};
    int32_t *label = lm_alloc(&ctx->mem, pool->rows, sizeof *label);
    for (size_t i = 0; i < pool->rows && label; i++)
        label[i] = i >= pool->firsts;
    limn_status status =
        label ? lm_pool_rows_take(ctx, pool->features, pool->x, label, pool->rows, 2, &from)
              : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        size_t compared = between(COMPARED_LEAST, pool->rows / ROWS_COMPARED, LM_POOL_COMPARED);
        lm_pool_way way = {.seed = seed, .noise = NOISE, .compared = compared};
        lm_pool_sample(ctx, &from, &way, 0, pool->n - pool->rows, x, pool->d, NULL);
    }
    lm_pool_rows_free(&ctx->mem, &from);
    lm_free(&ctx->mem, label);
    return status;
}

/* In steps, between which progress is reported. */
static limn_status ask(limn_context *ctx, const bd_search *search, double done, bd_pool *pool) {
    double from = search->news->inside;
    limn_status status = LIMN_OK;
    for (size_t i = pool->rows; i < pool->n && status == LIMN_OK; i += ASKED) {
        size_t some = pool->n - i < ASKED ? pool->n - i : ASKED;
        status =
            lm_field_values(ctx, search->field, pool->x + i * pool->d, some, pool->f + i, NULL);
        bd_advance(search->news, from + (done - from) * (double)(i + some) / (double)pool->n);
        if (status == LIMN_OK)
            status = bd_tell(ctx, search->news);
    }
    return status;
}

limn_status bd_pool_fill(limn_context *ctx, const bd_rows *rows, const size_t pair[2], bool held,
                         const bd_search *search, double done, bd_pool *pool) {
    double *f = pool->f + pool->rows;
    limn_status status = LIMN_OK;
    if (pool->n > pool->rows)
        status = sample(ctx, pool, search->seed + held, pool->x + pool->rows * pool->d);
    if (status == LIMN_OK && !bd_answers_recall(rows, pair, held, pool, f)) {
        status = ask(ctx, search, done, pool);
        if (status == LIMN_OK)
            bd_answers_keep(ctx, rows, pair, held, pool, f);
    } else if (status == LIMN_OK && search->field->asked) {
        *search->field->asked += (double)(pool->n - pool->rows);
    }
    for (size_t i = 0; i < pool->n && status == LIMN_OK; i++) {
        pool->f[i] -= search->level;
        pool->weight[i] = (fmin(1, fabs(pool->f[i])) + SURE) * (i < pool->rows ? 1 : SAMPLED);
    }
    return status == LIMN_OK ? lm_pack_build(ctx, pool->x, pool->n, pool->d, pool->d, &pool->pack)
                             : status;
}
