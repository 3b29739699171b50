/* pair.c: how one pair of classes is decided: how many borders there are, which form the decision
 * has, and the slope of the probability.
 *
 * The pool of points around the rows held out chooses the form: borders, one plane, or cells with a
 * plane each (form.c), by the weight of its mistakes, that is of points where the teacher
 * disagrees. The slope of the probability is fitted to the labels of the rows held out, with
 * Platt's targets for the size of the whole class (those for the few rows held out make every
 * answer too modest).
 *
 * borders=auto begins with 25 borders and doubles their number until that fails twice to mend 3 %
 * of the mistakes and 3 in 10,000 of all weight; the smallest number that is as good as the best,
 * to that measure, is kept. Borders from random lines are judged by the number of mistakes
 * among all rows of the pair (one in a thousand instead of 3 in 10,000): they follow the teacher,
 * not the rows that their lines join. */
#include "methods/borders/borders.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LITTLE_SHARE 0.001 /* of the rows */
#define LITTLE_WEIGHT 0.0003
enum { FIRST_SIZE = 25, SIZES = 6, CELLS_FEW = 16, CELLS_MANY = 64 };

limn_status bd_tell(limn_context *ctx, const bd_news *news) {
    limn_progress progress = {.stage = "drawing borders",
                              .fraction = news->from + news->share * news->inside,
                              .detail = news->agreement[0] ? news->agreement : NULL};
    return lm_progress_tell(ctx, &progress);
}

void bd_say_agreement(size_t held, size_t agreed, char text[48]) {
    text[0] = '\0';
    if (held)
        snprintf(text, 48, "%.1f %% agreement", 100 * (double)agreed / (double)held);
}

typedef struct making {
    limn_context *ctx;
    const bd_rows *rows;
    const bd_options *options;
    size_t pair[2];
    double own[2]; /* rows of the two classes in the training set */
    bool sampled;  /* the pools have points around their rows */
    lm_field field;
    bd_pool pool, held;
    uint32_t *side; /* room for the ends */
    double *g;      /* of the rows held out, or of all points */
    double *plane;  /* of the pair, d + 1; NULL: not fitted yet */
    bd_search search;
    bd_news *news;
    bd_pair *out;
} making;

static void making_free(making *m) {
    const limn_allocator *mem = &m->ctx->mem;
    lm_field_free(mem, &m->field);
    bd_pool_free(mem, &m->pool);
    bd_pool_free(mem, &m->held);
    lm_free(mem, m->side);
    lm_free(mem, m->g);
    lm_free(mem, m->plane);
}

/* ---- the rows, the level and the points ---- */

/* A decision value without a sigmoid gets one from the labels; r = tanh f where that fails. */
static limn_status fit_sigmoid(making *m) {
    size_t n = m->pool.rows + m->held.rows;
    lm_field *field = &m->field;
    if (!field->is_r && field->sigmoid.a == 0) {
        double *f = lm_alloc(&m->ctx->mem, 2 * n + 1, sizeof *f);
        bool *first = lm_alloc(&m->ctx->mem, n + 1, sizeof *first);
        if (f && first) {
            memcpy(f, m->pool.f, m->pool.rows * sizeof *f);
            memcpy(f + m->pool.rows, m->held.f, m->held.rows * sizeof *f);
            for (size_t i = 0; i < n; i++)
                first[i] =
                    i < m->pool.rows ? i < m->pool.firsts : i - m->pool.rows < m->held.firsts;
            field->sigmoid = lm_platt_fit(f, first, n, f + n);
            m->out->fitted = true;
        }
        lm_free(&m->ctx->mem, f);
        lm_free(&m->ctx->mem, first);
        if (!m->out->fitted)
            return lm_fail_memory(m->ctx);
    }
    if (!field->is_r && !(field->sigmoid.a < -1e-9 && field->sigmoid.a > -1e9))
        field->sigmoid = (lm_sigmoid_fit){-2, 0};
    return LIMN_OK;
}

static double find_level(const making *m) {
    const bd_options *o = m->options;
    bool moved = o->calibrate || o->threshold != 0;
    double level = moved || m->field.is_r ? lm_field_level(&m->field, o->threshold) : 0;
    return isfinite(level) ? level : 0;
}

static void sort_ends(making *m) {
    const bd_pool *pool = &m->pool;
    uint32_t *at = m->side;
    bd_ends *e = &m->search.ends;
    *e = (bd_ends){.x = pool->x, .d = pool->d};
    for (int c = 0; c < 2; c++)
        for (int side = 0; side < 2; side++) {
            e->row[c][side] = at;
            for (size_t i = c ? pool->firsts : 0; i < (c ? pool->rows : pool->firsts); i++)
                if ((pool->f[i] > 0) == (side == 0))
                    *at++ = (uint32_t)i;
            e->count[c][side] = (size_t)(at - e->row[c][side]);
        }
}

static limn_status prepare(making *m) {
    limn_context *ctx = m->ctx;
    size_t wanted = m->sampled ? m->options->pool : BD_NO_POINTS;
    limn_status status = bd_pool_take(ctx, m->rows, m->pair, false, wanted, &m->field, &m->pool);
    if (status == LIMN_OK)
        status = bd_pool_take(ctx, m->rows, m->pair, true, wanted, &m->field, &m->held);
    if (status == LIMN_OK)
        status = fit_sigmoid(m);
    if (status != LIMN_OK)
        return status;
    m->search.level = find_level(m);
    status = bd_pool_fill(ctx, m->rows, m->pair, false, &m->search, BD_ANSWERED, &m->pool);
    if (status == LIMN_OK)
        status = bd_pool_fill(ctx, m->rows, m->pair, true, &m->search, BD_ANSWERED, &m->held);
    size_t most = m->pool.rows > m->held.n ? m->pool.rows : m->held.n;
    m->side = lm_alloc(&ctx->mem, m->pool.rows + 1, sizeof *m->side);
    m->g = lm_alloc(&ctx->mem, most + 1, sizeof *m->g);
    if (status == LIMN_OK && (!m->side || !m->g))
        status = lm_fail_memory(ctx);
    if (status == LIMN_OK)
        sort_ends(m);
    return status;
}

/* g where there is no border: the log odds of the classes if they agree with the teacher. */
static double constant_of(const making *m) {
    double above = 0, odds = log((m->own[0] + 1) / (m->own[1] + 1));
    for (size_t i = 0; i < m->pool.rows; i++)
        above += m->pool.f[i] > 0 ? 1 : -1;
    if (m->own[0] == 0 || m->own[1] == 0)
        above = odds;
    return (odds > 0) == (above > 0) && odds != 0 ? odds : above > 0 ? 0.01 : -0.01;
}

static bool has_both_sides(const bd_pool *pool) {
    size_t above = 0;
    for (size_t i = 0; i < pool->n; i++)
        above += pool->f[i] > 0;
    return above > 0 && above < pool->n;
}

/* ---- how good points are ---- */

/* g of n rows. */
static limn_status judge(const making *m, const bd_points *p, const float *x, size_t n, double *g) {
    size_t d = m->pool.d;
    lm_pack pack;
    limn_status status = lm_pack_build(m->ctx, p->b, p->count, d, d, &pack);
    if (status != LIMN_OK)
        return status;
    float *distance = lm_alloc_aligned(&m->ctx->mem, pack.panels * LM_PANEL, sizeof *distance);
    for (size_t i = 0; i < n && distance; i++) {
        lm_pack_query(&pack, LM_L2, 0, pack.panels, x + i * d, distance);
        g[i] = bd_decide(p, d, lm_argmin(distance, p->count), x + i * d);
    }
    lm_free_aligned(&m->ctx->mem, distance);
    lm_pack_free(&m->ctx->mem, &pack);
    return distance ? LIMN_OK : lm_fail_memory(m->ctx);
}

/* The weight of the mistakes: of all points held out, or, if there are only rows, their number
 * among all rows. */
static limn_status find_mistakes(making *m, const bd_points *p, double *mistakes) {
    const bd_pool *held = &m->held;
    limn_status status = judge(m, p, held->x, held->n, m->g);
    size_t agreed = 0;
    *mistakes = 0;
    for (size_t i = 0; i < held->n && status == LIMN_OK; i++) {
        bool right = (held->f[i] > 0) == (m->g[i] > 0);
        *mistakes += right ? 0 : m->sampled ? held->weight[i] : 1;
        agreed += right && i < held->rows;
    }
    bd_say_agreement(m->news->held + held->rows, m->news->agreed + agreed, m->news->agreement);
    if (status != LIMN_OK || m->sampled)
        return status;
    status = judge(m, p, m->pool.x, m->pool.rows, m->g);
    for (size_t i = 0; i < m->pool.rows && status == LIMN_OK; i++)
        *mistakes += (m->pool.f[i] > 0) != (m->g[i] > 0);
    return status;
}

/* Fewer mistakes than this make no difference. */
static double slack(const making *m, double mistakes) {
    double all = m->sampled ? 0 : (double)(m->pool.rows + m->held.rows);
    for (size_t i = 0; i < m->held.n && m->sampled; i++)
        all += m->held.weight[i];
    return fmax(0.03 * mistakes, (m->sampled ? LITTLE_WEIGHT : LITTLE_SHARE) * all);
}

/* ---- borders ---- */

/* Draws up to `wanted` borders, at random or (adapting) where they mend mistakes. */
static limn_status draw_to(making *m, bd_adapting *adapting, size_t wanted, bd_points *points) {
    return adapting ? bd_adapt_to(adapting, wanted) : bd_draw(m->ctx, &m->search, wanted, points);
}

/* Draws and judges sizes of 25, 50, ... and keeps the smallest that is as good as the best. */
static limn_status draw_auto(making *m, bd_adapting *adapting, bd_points *points) {
    bd_points kept[SIZES] = {{.count = 0}};
    double wrong[SIZES];
    size_t sizes = 0, best = 0, failed = 0, d = m->pool.d;
    limn_status status = LIMN_OK;
    for (size_t wanted = FIRST_SIZE; sizes < SIZES && status == LIMN_OK; wanted *= 2) {
        status = draw_to(m, adapting, wanted, points);
        if (status != LIMN_OK || points->count == 0)
            break;
        status = find_mistakes(m, points, &wrong[sizes]);
        if (status == LIMN_OK)
            status = bd_points_copy(m->ctx, d, points, &kept[sizes]);
        failed = sizes && wrong[best] - wrong[sizes] < slack(m, wrong[best]) ? failed + 1 : 0;
        best = wrong[sizes] < wrong[best] ? sizes : best;
        bd_advance(m->news, BD_ANSWERED + (1 - BD_ANSWERED) * (double)(sizes + 1) / SIZES);
        if (wrong[sizes++] == 0 || (!adapting && points->count < wanted) || failed == 2)
            break;
    }
    for (size_t i = 0; i <= best && i < sizes && status == LIMN_OK; i++)
        if (wrong[i] <= wrong[best] + slack(m, wrong[best])) {
            status = bd_points_copy(m->ctx, d, &kept[i], points);
            break;
        }
    for (size_t i = 0; i < SIZES; i++)
        bd_points_free(&m->ctx->mem, &kept[i]);
    return status;
}

static limn_status draw_borders(making *m, bd_points *points) {
    bd_adapting *adapting = NULL;
    size_t most = m->options->borders ? m->options->borders : (size_t)FIRST_SIZE << (SIZES - 1);
    limn_status status = LIMN_OK;
    if (!m->options->random)
        status = bd_adapt_begin(m->ctx, &m->search, &m->pool, most, points, &adapting);
    if (status == LIMN_OK)
        status = m->options->borders ? draw_to(m, adapting, most, points)
                                     : draw_auto(m, adapting, points);
    bd_adapt_end(adapting);
    return status;
}

/* ---- the form ---- */

static limn_status make_planes(making *m, size_t cells, bd_points *points) {
    limn_status status = LIMN_OK;
    if (!m->plane) {
        m->plane = lm_alloc(&m->ctx->mem, m->pool.d + 1, sizeof *m->plane);
        status = m->plane ? bd_plane_fit(m->ctx, &m->search, &m->pool, m->plane)
                          : lm_fail_memory(m->ctx);
    }
    return status == LIMN_OK ? bd_planes(m->ctx, &m->search, &m->pool, m->plane, cells, points)
                             : status;
}

/* Makes one form and keeps it if it is the best so far. */
static limn_status try_form(making *m, bd_form form, size_t cells, double *least) {
    bd_points points = {.count = 0};
    double mistakes = 0;
    limn_status status =
        form == BD_BORDERS ? draw_borders(m, &points) : make_planes(m, cells, &points);
    if (status == LIMN_OK && points.count)
        status = find_mistakes(m, &points, &mistakes);
    if (status == LIMN_OK && points.count && mistakes < *least) {
        bd_points before = m->out->points;
        m->out->points = points;
        m->out->form = form;
        *least = mistakes;
        points = before;
    }
    bd_points_free(&m->ctx->mem, &points);
    return status;
}

/* Cells in one of two sizes, neither of which exceeds the number of borders, if one is given. */
static limn_status try_cells(making *m, double *least) {
    size_t most = m->options->borders ? m->options->borders : CELLS_MANY;
    limn_status status = try_form(m, BD_CELLS, most < CELLS_FEW ? most : CELLS_FEW, least);
    if (status == LIMN_OK && most >= CELLS_MANY)
        status = try_form(m, BD_CELLS, CELLS_MANY, least);
    return status;
}

/* From the smallest to the largest, so that ties go to the smaller. */
static limn_status choose_form(making *m) {
    bd_form form = m->options->form;
    double least = INFINITY;
    limn_status status = LIMN_OK;
    if (form == BD_AUTO && m->options->random)
        form = BD_BORDERS;
    if (form == BD_AUTO || form == BD_PLANE)
        status = try_form(m, BD_PLANE, 0, &least);
    if (status == LIMN_OK && (form == BD_AUTO || form == BD_CELLS))
        status = try_cells(m, &least);
    if (status == LIMN_OK && (form == BD_AUTO || form == BD_BORDERS))
        status = try_form(m, BD_BORDERS, 0, &least);
    return status;
}

/* ---- all of it ---- */

/* Agreement with the teacher, and the slope of the probability, on the rows held out. */
static limn_status finish(making *m) {
    const bd_pool *held = &m->held;
    bd_pair *out = m->out;
    if (out->points.count == 0)
        return LIMN_OK;
    double *spare = lm_alloc(&m->ctx->mem, held->rows + 1, sizeof *spare);
    bool *first = lm_alloc(&m->ctx->mem, held->rows + 1, sizeof *first);
    limn_status status =
        spare && first ? judge(m, &out->points, held->x, held->rows, m->g) : lm_fail_memory(m->ctx);
    for (size_t i = 0; i < held->rows && status == LIMN_OK; i++) {
        first[i] = i < held->firsts;
        out->agreed += (held->f[i] > 0) == (m->g[i] > 0);
    }
    out->held = held->rows;
    if (status == LIMN_OK)
        out->a = lm_slope_fit(m->g, first, held->rows, m->own[0], m->own[1], spare);
    lm_free(&m->ctx->mem, spare);
    lm_free(&m->ctx->mem, first);
    return status;
}

static limn_status make(making *m) {
    limn_status status = prepare(m);
    if (status != LIMN_OK)
        return status;
    m->out->constant = constant_of(m);
    m->out->a = -1;
    bool crossed = m->sampled ? has_both_sides(&m->pool) : bd_line_count(&m->search.ends) > 0;
    if (m->pool.rows && crossed)
        status = choose_form(m);
    return status == LIMN_OK ? finish(m) : status;
}

limn_status bd_pair_make(limn_context *ctx, const bd_rows *rows, const bd_options *options,
                         size_t first, size_t second, bd_news *news, bd_pair *out) {
    making m = {.ctx = ctx,
                .rows = rows,
                .options = options,
                .pair = {first, second},
                .sampled = !options->random || options->form > BD_BORDERS,
                .news = news,
                .out = out};
    for (int c = 0; c < 2; c++)
        m.own[c] = (double)(rows->start[m.pair[c] + 1] - rows->start[m.pair[c]]);
    m.search.field = &m.field;
    m.search.news = news;
    m.search.seed =
        lm_hash(ctx->seed, options->stream, lm_pair_index(rows->set->classes, first, second));
    limn_status status =
        lm_field_teacher(ctx, rows->set->teacher, first, second, rows->features.spread, &m.field);
    m.field.asked = &out->asked;
    if (status == LIMN_OK)
        status = make(&m);
    making_free(&m);
    return status;
}
