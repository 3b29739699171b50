/* select.c: cross-validated search on a logarithmic grid, coarse to fine.
 *
 * Points have whole-number coordinates on the finest grid (FINE steps between two coarse points),
 * so it is known exactly which points have been judged. Round 0 judges the coarse grid; each of the
 * ROUNDS rounds after it halves the distance and judges the neighbours of the best point, including
 * diagonal ones.
 *
 * A round works in waves of (point, fold) pieces: first fold 0 of all points; then all folds of the
 * leading point, which gives an early bound; then, fold by fold, the points whose sum does not
 * exceed the smallest complete one. Losses are at least 0 and are summed in fold order, so a sum
 * only grows and a dropped point could not have won. Which pieces are judged depends only on the
 * losses, never on the threads. */
#include "fit/select.h"

#include "base/work.h"
#include "data/split.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { ROUNDS = 3, FINE = 1 << ROUNDS };
#define NONE SIZE_MAX
#define SEED_PURPOSE 0x73656c656374u /* so that folds drawn elsewhere with the same seed differ */

typedef struct point {
    int32_t at[LM_AXES_MAX];
    size_t folds; /* judged and summed */
    double loss;  /* their sum */
    bool failed;
} point;

typedef struct piece {
    size_t point, fold;
} piece;

typedef struct search {
    limn_context *ctx;
    const lm_axis *axes;
    size_t axis_count;
    int32_t last[LM_AXES_MAX]; /* coordinate of the last fine point of each axis */
    lm_select_judge *judge;
    void *user;
    /* The rows, fold by fold, twice over: the rows of a fold are followed by those of all others.
     */
    size_t n, folds, *rows, *start;
    size_t point_count, best, capacity;
    point *points;
    double *losses; /* capacity x folds; NaN: LIMN_E_DATA */
    piece *pieces;  /* of one wave */
    size_t piece_count;
    piece refused;  /* the last piece that the judge refused, if any */
    uint64_t total; /* most folds that may be judged */
    atomic_uint_fast64_t done;
} search;

/* ---- the grid ---- */

/* Steps of the axis up to high; the slack allows for rounding when high is a grid point. */
static double axis_steps(const lm_axis *axis) {
    return log(axis->high / axis->low) / log(axis->step) + 1e-9;
}

static double axis_value(const lm_axis *axis, int32_t at) {
    if (axis->fixed)
        return axis->value;
    return fmin(axis->low * pow(axis->step, (double)at / FINE), axis->high);
}

static bool is_grid(const lm_axis *axis) {
    return axis->low > 0 && axis->high >= axis->low && isfinite(axis->high / axis->low) &&
           axis->step > 1 && isfinite(axis->step) && axis_steps(axis) < LM_SELECT_POINTS_MAX;
}

static limn_status check_axis(limn_context *ctx, const lm_axis *axis, size_t place) {
    char low[32], high[32], step[32];
    if (axis->fixed || is_grid(axis))
        return LIMN_OK;
    lm_format_double(axis->low, low);
    lm_format_double(axis->high, high);
    lm_format_double(axis->step, step);
    return lm_fail(ctx, LIMN_E_USAGE,
                   "axis %zu: from %s to %s by factors of %s is not a grid of 1 to %d points",
                   place + 1, low, high, step, LM_SELECT_POINTS_MAX);
}

/* How many points the coarse grid has, and the most neighbours that a point can have. */
static limn_status measure_grid(search *s, size_t *coarse, size_t *around) {
    size_t box = 1;
    *coarse = 1;
    if (s->axis_count < 1 || s->axis_count > LM_AXES_MAX)
        return lm_fail(s->ctx, LIMN_E_USAGE, "%zu axes given; the number must be from 1 to %d",
                       s->axis_count, LM_AXES_MAX);
    for (size_t a = 0; a < s->axis_count; a++) {
        const lm_axis *axis = &s->axes[a];
        limn_status status = check_axis(s->ctx, axis, a);
        if (status != LIMN_OK)
            return status;
        s->last[a] = axis->fixed ? 0 : (int32_t)(axis_steps(axis) * FINE);
        *coarse *= (size_t)(s->last[a] / FINE) + 1;
        box *= axis->fixed ? 1 : 3;
        if (*coarse > LM_SELECT_POINTS_MAX)
            return lm_fail(s->ctx, LIMN_E_USAGE,
                           "more than %d points in the coarse grid; use fewer or larger steps",
                           LM_SELECT_POINTS_MAX);
    }
    *around = box - 1;
    return LIMN_OK;
}

static bool is_known(const search *s, const point *p) {
    for (size_t i = 0; i < s->point_count; i++)
        if (memcmp(s->points[i].at, p->at, sizeof p->at) == 0)
            return true;
    return false;
}

/* Adds from[], from[] + step, ... up to to[] on all axes, except points already known. */
static void add_box(search *s, const int32_t *from, const int32_t *to, int32_t step) {
    point p = {.folds = 0};
    for (p.at[0] = from[0]; p.at[0] <= to[0]; p.at[0] += step)
        for (p.at[1] = from[1]; p.at[1] <= to[1]; p.at[1] += step)
            for (p.at[2] = from[2]; p.at[2] <= to[2]; p.at[2] += step)
                if (!is_known(s, &p))
                    s->points[s->point_count++] = p;
}

static void add_coarse(search *s) {
    const int32_t first[LM_AXES_MAX] = {0};
    add_box(s, first, s->last, FINE);
}

/* The neighbours of the best point at this distance, within the range. */
static void add_neighbours(search *s, int32_t distance) {
    int32_t from[LM_AXES_MAX], to[LM_AXES_MAX];
    for (size_t a = 0; a < LM_AXES_MAX; a++) {
        int32_t at = s->points[s->best].at[a];
        from[a] = at >= distance ? at - distance : at;
        to[a] = at + distance <= s->last[a] ? at + distance : at;
    }
    add_box(s, from, to, distance);
}

/* ---- the rows ---- */

/* rows[n * 2] and start[folds + 1] from the rows chosen[n]. */
static limn_status deal_rows(search *s, const size_t *chosen, const int32_t *label, uint64_t seed) {
    size_t n = s->n, filled = 0, twice;
    limn_status status = LIMN_OK;
    int32_t *classes = label ? lm_alloc(&s->ctx->mem, n, sizeof *classes) : NULL;
    uint32_t *fold = lm_alloc(&s->ctx->mem, n, sizeof *fold);
    if (lm_mul(n, 2, &twice))
        s->rows = lm_alloc(&s->ctx->mem, twice, sizeof *s->rows);
    s->start = lm_alloc(&s->ctx->mem, s->folds + 1, sizeof *s->start);
    if ((label && !classes) || !fold || !s->rows || !s->start) {
        status = lm_fail_memory(s->ctx);
        goto done;
    }
    for (size_t i = 0; i < n && label; i++)
        classes[i] = label[chosen[i]];
    status = lm_split_folds(s->ctx, classes, n, s->folds, seed, fold);
    if (status != LIMN_OK)
        goto done;
    for (size_t f = 0; f < s->folds; f++) {
        s->start[f] = filled;
        for (size_t i = 0; i < n; i++)
            if (fold[i] == f)
                s->rows[filled++] = chosen[i];
    }
    s->start[s->folds] = filled;
    memcpy(s->rows + n, s->rows, n * sizeof *s->rows);
done:
    lm_free(&s->ctx->mem, classes);
    lm_free(&s->ctx->mem, fold);
    return status;
}

static limn_status choose_rows(search *s, const int32_t *label, size_t n, size_t folds,
                               size_t rows_max) {
    uint64_t seed = lm_hash(s->ctx->seed, SEED_PURPOSE, 0);
    limn_status status = LIMN_OK;
    size_t *chosen = lm_alloc(&s->ctx->mem, n, sizeof *chosen);
    if (!chosen)
        return lm_fail_memory(s->ctx);
    s->n = n;
    if (rows_max && n > rows_max)
        status =
            lm_split_sample(s->ctx, label, n, (double)rows_max / (double)n, seed, chosen, &s->n);
    else
        for (size_t i = 0; i < n; i++)
            chosen[i] = i;
    if (status == LIMN_OK && s->n < 2)
        status = lm_fail(
            s->ctx, LIMN_E_DATA,
            "too few rows (%zu) to choose parameters by validation; set their values yourself",
            s->n);
    s->folds = folds < s->n ? folds : s->n;
    if (status == LIMN_OK)
        status = deal_rows(s, chosen, label, seed);
    lm_free(&s->ctx->mem, chosen);
    return status;
}

/* ---- judging ---- */

static void tell_done(void *user, uint64_t *done, uint64_t *total) {
    search *s = user;
    *done = atomic_load(&s->done);
    *total = s->total;
}

static limn_status judge_piece(const search *s, limn_context *ctx, const piece *p, double *loss) {
    double values[LM_AXES_MAX];
    for (size_t a = 0; a < s->axis_count; a++)
        values[a] = axis_value(&s->axes[a], s->points[p->point].at[a]);
    const size_t *test = s->rows + s->start[p->fold];
    size_t count = s->start[p->fold + 1] - s->start[p->fold];
    ctx->error[0] = '\0';
    *loss = INFINITY;
    limn_status status =
        s->judge(ctx, s->user, values, test + count, s->n - count, test, count, loss);
    if (isnan(*loss))
        *loss = INFINITY;
    return status;
}

/* LIMN_E_DATA is not a failure here: it rules the point out. */
static limn_status do_piece(limn_context *ctx, void *user, size_t index) {
    search *s = user;
    const piece *p = &s->pieces[index];
    double *loss = &s->losses[p->point * s->folds + p->fold];
    limn_status status = judge_piece(s, ctx, p, loss);
    if (status == LIMN_E_DATA)
        *loss = NAN;
    else if (status != LIMN_OK)
        return status;
    atomic_fetch_add(&s->done, 1);
    return LIMN_OK;
}

/* Judges the last refused piece again, for its error message. */
static limn_status say_again(limn_context *ctx, void *user, size_t index) {
    const search *s = user;
    double loss;
    (void)index;
    return judge_piece(s, ctx, &s->refused, &loss);
}

/* Judges the pieces. */
static limn_status run_wave(search *s) {
    lm_job job = {.stage = "selecting",
                  .count = s->piece_count,
                  .task = do_piece,
                  .user = s,
                  .done = tell_done};
    limn_status status = lm_work(s->ctx, &job);
    for (size_t k = 0; k < s->piece_count && status == LIMN_OK; k++)
        if (isnan(s->losses[s->pieces[k].point * s->folds + s->pieces[k].fold]))
            s->refused = s->pieces[k];
    return status;
}

/* ---- a round ---- */

static bool is_before(const search *s, size_t i, size_t j) {
    const point *a = &s->points[i], *b = &s->points[j];
    if (a->loss != b->loss)
        return a->loss < b->loss;
    for (size_t axis = 0; axis < LM_AXES_MAX; axis++)
        if (a->at[axis] != b->at[axis])
            return a->at[axis] < b->at[axis];
    return false;
}

/* Whether the point may still win. */
static bool is_open(const search *s, size_t i) {
    const point *p = &s->points[i];
    return !p->failed && p->folds < s->folds &&
           (s->best == NONE || p->loss <= s->points[s->best].loss);
}

/* Adds the losses of folds `first` up to `end` to the sum of point i. */
static void settle(search *s, size_t i, size_t first, size_t end) {
    point *p = &s->points[i];
    for (size_t f = first; f < end; f++) {
        double loss = s->losses[i * s->folds + f];
        p->failed = p->failed || isnan(loss);
        p->loss += loss;
    }
    p->folds = end;
    if (!p->failed && end == s->folds && (s->best == NONE || is_before(s, i, s->best)))
        s->best = i;
}

/* One fold of all open points from `first` on. */
static limn_status judge_fold(search *s, size_t first, size_t fold) {
    s->piece_count = 0;
    for (size_t i = first; i < s->point_count; i++)
        if (is_open(s, i))
            s->pieces[s->piece_count++] = (piece){i, fold};
    limn_status status = run_wave(s);
    if (status == LIMN_OK)
        for (size_t k = 0; k < s->piece_count; k++)
            settle(s, s->pieces[k].point, fold, fold + 1);
    return status;
}

/* The remaining folds of the leading point. */
static limn_status judge_leader(search *s, size_t first) {
    size_t leader = NONE;
    for (size_t i = first; i < s->point_count; i++)
        if (is_open(s, i) && (leader == NONE || is_before(s, i, leader)))
            leader = i;
    if (leader == NONE)
        return LIMN_OK;
    s->piece_count = 0;
    for (size_t f = 1; f < s->folds; f++)
        s->pieces[s->piece_count++] = (piece){leader, f};
    limn_status status = run_wave(s);
    if (status == LIMN_OK)
        settle(s, leader, 1, s->folds);
    return status;
}

/* Judges the points from `first` on. planned: the folds done once these are. */
static limn_status judge_round(search *s, size_t first, uint64_t planned) {
    limn_status status = judge_fold(s, first, 0);
    if (status == LIMN_OK)
        status = judge_leader(s, first);
    for (size_t f = 1; f < s->folds && status == LIMN_OK; f++)
        status = judge_fold(s, first, f);
    if (status != LIMN_OK)
        return status;
    atomic_store(&s->done, planned); /* dropped ones count as done */
    return lm_progress(s->ctx, "selecting", planned, s->total, (double)planned / (double)s->total);
}

/* ---- the search ---- */

static limn_status make_room(search *s, size_t coarse, size_t around) {
    size_t cells;
    s->capacity = coarse + ROUNDS * around;
    size_t most = s->capacity > s->folds ? s->capacity : s->folds;
    s->total = (uint64_t)s->capacity * s->folds;
    s->points = lm_alloc(&s->ctx->mem, s->capacity, sizeof *s->points);
    s->pieces = lm_alloc(&s->ctx->mem, most, sizeof *s->pieces);
    if (lm_mul(s->capacity, s->folds, &cells))
        s->losses = lm_alloc(&s->ctx->mem, cells, sizeof *s->losses);
    return s->points && s->pieces && s->losses ? LIMN_OK : lm_fail_memory(s->ctx);
}

static void search_free(search *s) {
    const limn_allocator *mem = &s->ctx->mem;
    lm_free(mem, s->points);
    lm_free(mem, s->pieces);
    lm_free(mem, s->losses);
    lm_free(mem, s->rows);
    lm_free(mem, s->start);
}

static limn_status run_rounds(search *s, size_t coarse, size_t around) {
    add_coarse(s);
    limn_status status = judge_round(s, 0, (uint64_t)coarse * s->folds);
    if (status == LIMN_OK && s->best == NONE) {
        lm_job again = {.stage = "selecting", .count = 1, .task = say_again, .user = s};
        return lm_work(s->ctx, &again);
    }
    for (size_t r = 1; r <= ROUNDS && status == LIMN_OK; r++) {
        size_t first = s->point_count;
        add_neighbours(s, FINE >> r);
        status = judge_round(s, first, (uint64_t)(coarse + r * around) * s->folds);
    }
    return status;
}

limn_status lm_select(limn_context *ctx, const lm_axis *axes, size_t axis_count,
                      const int32_t *label, size_t n, size_t folds, size_t rows_max,
                      lm_select_judge *judge, void *user, double *best) {
    search s = {.ctx = ctx, .axes = axes, .axis_count = axis_count, .judge = judge, .user = user};
    size_t coarse = 0, around = 0;
    const point only = {.folds = 0}, *found = &only;
    s.best = NONE;
    limn_status status = measure_grid(&s, &coarse, &around);
    if (status == LIMN_OK && around > 0) {
        status = choose_rows(&s, label, n, folds, rows_max);
        if (status == LIMN_OK)
            status = make_room(&s, coarse, around);
        if (status == LIMN_OK)
            status = run_rounds(&s, coarse, around);
        found = s.best == NONE ? &only : &s.points[s.best];
    }
    for (size_t a = 0; a < axis_count && status == LIMN_OK; a++)
        best[a] = axis_value(&axes[a], found->at[a]);
    search_free(&s);
    return status;
}
