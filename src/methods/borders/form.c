/* form.c: pairs decided by planes instead of borders: one for the whole pair, or one per cell.
 *
 * The tangent planes of a curved field are a poor guide far from the border, and where features are
 * categories nothing is near it. A plane fitted to f itself on the pool does better there:
 *
 *   minimise  sum_i v_i (f_i - p.z_i)^2 + ridge |p - p0|^2,   v_i = 1 / (1 + f_i^2)^2,
 *
 * z being (x - mean) / spread and a 1. p0 is 0 for the one plane of the pair, and that plane for
 * the planes of cells, which are the cells of k-means. Solved by conjugate gradients: a step is two
 * passes over the rows, and the ridge makes few steps necessary. To a query a cell is a border: the
 * nearest centre decides which plane is used. */
#include "methods/borders/borders.h"
#include "num/kmeans.h"
#include "num/pack_double.h"

#include <math.h>
#include <string.h>

enum { STEPS = 200, STEPS_TOLD = 16 };
#define RIDGE_PLANE 1.0
#define RIDGE_CELL 5.0
#define DONE 1e-14 /* of the squared residual */
#define REMOTE 1e9 /* a plane this many spreads away from the rows is none */

/* ---- one plane ---- */

typedef struct plane_fit {
    const lm_pack *pack;
    const double *weight;          /* of the rows; 0 past the last */
    const double *centre, *spread; /* of the features */
    double ridge;
    double *row;    /* per place of the pack */
    double *factor; /* d */
} plane_fit;

/* row <- p.z of each row, p having d + 1 numbers. */
static void times(const plane_fit *w, const double *p) {
    size_t d = w->pack->d;
    double shift = p[d];
    for (size_t j = 0; j < d; j++) {
        w->factor[j] = w->spread[j] > 0 ? p[j] / w->spread[j] : 0;
        shift -= w->factor[j] * w->centre[j];
    }
    lm_pack_dots_double(w->pack, 0, w->pack->panels, w->factor, w->row);
    for (size_t i = 0; i < w->pack->n; i++)
        w->row[i] += shift;
}

/* out <- sum of weight_i row_i z_i. */
static void add_up(const plane_fit *w, double *out) {
    size_t d = w->pack->d;
    double all = 0;
    for (size_t i = 0; i < w->pack->panels * LM_PANEL; i++) {
        w->row[i] = i < w->pack->n ? w->row[i] * w->weight[i] : 0;
        all += w->row[i];
    }
    lm_pack_sum_double(w->pack, w->row, out);
    for (size_t j = 0; j < d; j++)
        out[j] = w->spread[j] > 0 ? (out[j] - w->centre[j] * all) / w->spread[j] : 0;
    out[d] = all;
}

static double product(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* p <- p + the change that fits f best; work: 4 x (d + 1). */
static limn_status solve(limn_context *ctx, const bd_news *news, const plane_fit *w,
                         const double *f, double *p, double *work) {
    size_t m = w->pack->d + 1;
    limn_status status = LIMN_OK;
    double *change = work, *residual = work + m, *along = work + 2 * m, *image = work + 3 * m;
    times(w, p);
    for (size_t i = 0; i < w->pack->n; i++)
        w->row[i] = f[i] - w->row[i];
    add_up(w, residual);
    memset(change, 0, m * sizeof *change);
    memcpy(along, residual, m * sizeof *along);
    double size = product(residual, residual, m), first = size;
    for (int k = 0; k < STEPS && size > DONE * first && status == LIMN_OK; k++) {
        times(w, along);
        add_up(w, image);
        for (size_t j = 0; j < m; j++)
            image[j] += w->ridge * along[j];
        double by = size / product(along, image, m), before = size;
        for (size_t j = 0; j < m; j++) {
            change[j] += by * along[j];
            residual[j] -= by * image[j];
        }
        size = product(residual, residual, m);
        for (size_t j = 0; j < m; j++)
            along[j] = residual[j] + size / before * along[j];
        if (k % STEPS_TOLD == 0)
            status = bd_tell(ctx, news);
    }
    for (size_t j = 0; j < m; j++)
        p[j] += isfinite(change[j]) ? change[j] : 0;
    return status;
}

/* ---- planes into points ---- */

typedef struct fitting {
    limn_context *ctx;
    const bd_search *search;
    const bd_pool *pool;
    double steep;
    double *centre, *weight; /* d; n */
    float *middle;           /* d: the centre */
    double *row, *work;      /* of plane_fit and solve */
    double *own;             /* d + 1: of a cell */
} fitting;

static void fitting_free(fitting *t) {
    const limn_allocator *mem = &t->ctx->mem;
    lm_free(mem, t->centre);
    lm_free(mem, t->weight);
    lm_free(mem, t->row);
    lm_free(mem, t->work);
    lm_free(mem, t->middle);
    lm_free(mem, t->own);
}

static limn_status fitting_new(limn_context *ctx, const bd_search *search, const bd_pool *pool,
                               fitting *t) {
    const limn_allocator *mem = &ctx->mem;
    size_t d = pool->d;
    *t = (fitting){.ctx = ctx, .search = search, .pool = pool};
    (void)lm_field_r(search->field, search->level, &t->steep);
    t->centre = lm_alloc_zero(mem, d, sizeof *t->centre);
    t->weight = lm_alloc(mem, pool->n, sizeof *t->weight);
    t->row = lm_alloc(mem, pool->pack.panels * LM_PANEL, sizeof *t->row);
    t->work = lm_alloc(mem, 5 * (d + 1), sizeof *t->work);
    t->middle = lm_alloc(mem, d, sizeof *t->middle);
    t->own = lm_alloc(mem, d + 1, sizeof *t->own);
    if (!t->centre || !t->weight || !t->row || !t->work || !t->middle || !t->own)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < pool->n * d; i++)
        t->centre[i % d] += (double)pool->x[i] / (double)pool->n;
    for (size_t j = 0; j < d; j++)
        t->middle[j] = (float)t->centre[j];
    for (size_t i = 0; i < pool->n; i++)
        t->weight[i] = 1 / ((1 + pool->f[i] * pool->f[i]) * (1 + pool->f[i] * pool->f[i]));
    return LIMN_OK;
}

static plane_fit fit_of(const fitting *t, const lm_pack *pack, const double *weight, double ridge) {
    return (plane_fit){.pack = pack,
                       .weight = weight,
                       .centre = t->centre,
                       .spread = t->pool->features->spread,
                       .ridge = ridge,
                       .row = t->row,
                       .factor = t->work + 4 * (pack->d + 1)};
}

/* The plane p as a point at b, unless it is flat or far from all rows. */
static limn_status add_plane(const fitting *t, const double *p, const float *b, bd_points *points) {
    const double *spread = t->pool->features->spread;
    size_t d = t->pool->d;
    double offset = p[d], size = 0, *w = t->work;
    for (size_t j = 0; j < d; j++) {
        w[j] = spread[j] > 0 ? p[j] / spread[j] : 0;
        offset -= w[j] * t->centre[j];
        size += p[j] * p[j];
    }
    if (!(fabs(p[d]) < REMOTE * sqrt(size)))
        return LIMN_OK;
    return bd_points_add(t->ctx, d, b, w, t->steep, &offset, points);
}

/* ---- cells ---- */

/* The rows of each cell together: order (n) by cell, start (cells + 1). */
static void sort_cells(const uint32_t *cell, size_t n, size_t cells, uint32_t *order,
                       size_t *start) {
    memset(start, 0, (cells + 2) * sizeof *start);
    for (size_t i = 0; i < n; i++)
        start[cell[i] + 2]++;
    for (size_t c = 0; c < cells; c++)
        start[c + 2] += start[c + 1];
    for (size_t i = 0; i < n; i++)
        order[start[cell[i] + 1]++] = (uint32_t)i;
}

/* A plane for count rows of the pool, drawn to that of the pair; room: (d floats and 2 doubles) per
 * row. */
static limn_status fit_cell(fitting *t, const double *plane, const uint32_t *rows, size_t count,
                            float *x, double *f, double *weight) {
    const bd_pool *pool = t->pool;
    size_t d = pool->d;
    lm_pack pack;
    for (size_t i = 0; i < count; i++) {
        memcpy(x + i * d, pool->x + rows[i] * d, d * sizeof *x);
        f[i] = pool->f[rows[i]];
        weight[i] = t->weight[rows[i]];
    }
    limn_status status = lm_pack_build(t->ctx, x, count, d, d, &pack);
    if (status != LIMN_OK)
        return status;
    plane_fit w = fit_of(t, &pack, weight, RIDGE_CELL);
    memcpy(t->own, plane, (d + 1) * sizeof *t->own);
    status = solve(t->ctx, t->search->news, &w, f, t->own, t->work);
    lm_pack_free(&t->ctx->mem, &pack);
    return status;
}

typedef struct cell_room {
    float *centre, *x;
    uint32_t *cell, *order;
    size_t *start;
    double *f, *weight;
} cell_room;

static limn_status fit_cells(fitting *t, const double *plane, size_t wanted, cell_room *r,
                             bd_points *points) {
    lm_rng rng = lm_rng_at(t->search->seed, 4, wanted);
    const bd_pool *pool = t->pool;
    size_t cells = 0;
    limn_status status = lm_kmeans(t->ctx, &pool->pack, wanted, &rng, r->centre, r->cell, &cells);
    if (status == LIMN_OK)
        sort_cells(r->cell, pool->n, cells, r->order, r->start);
    for (size_t c = 0; c < cells && status == LIMN_OK; c++) {
        status = fit_cell(t, plane, r->order + r->start[c], r->start[c + 1] - r->start[c], r->x,
                          r->f, r->weight);
        if (status == LIMN_OK)
            status = add_plane(t, t->own, r->centre + c * pool->d, points);
    }
    return status;
}

static limn_status make_cells(fitting *t, const double *plane, size_t wanted, bd_points *points) {
    const limn_allocator *mem = &t->ctx->mem;
    size_t n = t->pool->n, d = t->pool->d, k = wanted < n ? wanted : n;
    cell_room r = {.centre = lm_alloc(mem, k, d * sizeof *r.centre),
                   .x = lm_alloc(mem, n, d * sizeof *r.x),
                   .cell = lm_alloc(mem, n, sizeof *r.cell),
                   .order = lm_alloc(mem, n, sizeof *r.order),
                   .start = lm_alloc(mem, k + 2, sizeof *r.start),
                   .f = lm_alloc(mem, n, sizeof *r.f),
                   .weight = lm_alloc(mem, n, sizeof *r.weight)};
    bool fine = r.centre && r.x && r.cell && r.order && r.start && r.f && r.weight;
    limn_status status = fine ? fit_cells(t, plane, k, &r, points) : lm_fail_memory(t->ctx);
    lm_free(mem, r.centre);
    lm_free(mem, r.x);
    lm_free(mem, r.cell);
    lm_free(mem, r.order);
    lm_free(mem, r.start);
    lm_free(mem, r.f);
    lm_free(mem, r.weight);
    return status;
}

/* ---- both ---- */

limn_status bd_plane_fit(limn_context *ctx, const bd_search *search, const bd_pool *pool,
                         double *plane) {
    fitting t;
    limn_status status = fitting_new(ctx, search, pool, &t);
    memset(plane, 0, (pool->d + 1) * sizeof *plane);
    if (status == LIMN_OK) {
        plane_fit w = fit_of(&t, &pool->pack, t.weight, RIDGE_PLANE);
        status = solve(ctx, search->news, &w, pool->f, plane, t.work);
    }
    fitting_free(&t);
    return status;
}

limn_status bd_planes(limn_context *ctx, const bd_search *search, const bd_pool *pool,
                      const double *plane, size_t cells, bd_points *points) {
    fitting t;
    limn_status status = fitting_new(ctx, search, pool, &t);
    if (status == LIMN_OK)
        status =
            cells ? make_cells(&t, plane, cells, points) : add_plane(&t, plane, t.middle, points);
    fitting_free(&t);
    return status;
}
