/* map.c: y = R (x - mean), R the rows.
 *
 * x - mean is rounded to float. The product of two floats is exact in double, so a sum of products
 * in the order of the features has the same bits whether or not the machine rounds between product
 * and sum: every instruction set maps a vector to the same floats. */
#include "scale/map.h"

#include "num/linalg.h"
#include "num/pack_double.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAP_VERSION = 2 };

/* Without the rows. */
static limn_status map_alloc(limn_context *ctx, size_t in, size_t out, lm_map **result) {
    lm_map *map = lm_alloc_zero(&ctx->mem, 1, sizeof *map);
    *result = map;
    if (!map)
        return lm_fail_memory(ctx);
    map->in = in;
    map->out = out;
    map->variance = 1;
    map->mean = lm_alloc(&ctx->mem, in, sizeof *map->mean);
    map->heavy = lm_alloc(&ctx->mem, in, sizeof *map->heavy);
    return map->mean && map->heavy ? LIMN_OK : lm_fail_memory(ctx);
}

void lm_map_free(const limn_allocator *mem, lm_map *map) {
    if (!map)
        return;
    lm_pack_free(mem, &map->rows);
    lm_free(mem, map->mean);
    lm_free(mem, map->heavy);
    lm_free(mem, map);
}

static limn_status done(limn_context *ctx, limn_status status, lm_map **map) {
    if (status != LIMN_OK) {
        lm_map_free(&ctx->mem, *map);
        *map = NULL;
    }
    return status;
}

static float cut(double value) {
    return (float)(value > (double)FLT_MAX    ? (double)FLT_MAX
                   : value < -(double)FLT_MAX ? -(double)FLT_MAX
                                              : value);
}

limn_status lm_map_make(limn_context *ctx, const double *rows, const float *mean,
                        const double *share, size_t in, size_t out, lm_map **map) {
    float *row = lm_alloc(&ctx->mem, in, sizeof *row);
    limn_status status = map_alloc(ctx, in, out, map);
    if (status == LIMN_OK && !row)
        status = lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_pack_build(ctx, NULL, 0, in, in, &(*map)->rows);
    for (size_t r = 0; r < out && status == LIMN_OK; r++) {
        for (size_t j = 0; j < in; j++)
            row[j] = cut(rows[r * in + j]);
        status = lm_pack_append(ctx, &(*map)->rows, row);
    }
    for (size_t j = 0; j < in && status == LIMN_OK; j++) {
        (*map)->mean[j] = mean[j];
        (*map)->heavy[j] = (lm_ranked){.key = -share[j], .row = j};
    }
    if (status == LIMN_OK)
        lm_ranked_first((*map)->heavy, in, in);
    lm_free(&ctx->mem, row);
    return done(ctx, status, map);
}

limn_status lm_map_copy(limn_context *ctx, const lm_map *from, lm_map **to) {
    limn_status status = map_alloc(ctx, from->in, from->out, to);
    if (status == LIMN_OK) {
        memcpy((*to)->mean, from->mean, from->in * sizeof *from->mean);
        memcpy((*to)->heavy, from->heavy, from->in * sizeof *from->heavy);
        (*to)->variance = from->variance;
        (*to)->rows = from->rows;
        (*to)->rows.capacity_panels = 0; /* a view, of which reserving makes a copy */
        status = lm_pack_reserve(ctx, &(*to)->rows, from->out);
    }
    return done(ctx, status, to);
}

/* ---- applying ---- */

typedef struct layout {
    double *x, *y;
} layout;

static layout lay_out(const lm_map *map, lm_cursor *at) {
    layout l;
    l.x = lm_take(at, map->in, sizeof *l.x);
    l.y = lm_take_cells(at, map->rows.panels, LM_PANEL, sizeof *l.y);
    return l;
}

void lm_map_scratch(const lm_map *map, lm_cursor *at) {
    (void)lay_out(map, at);
}

void lm_map_apply(const lm_map *map, const float *x, float *y, void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(map, &at);
    for (size_t j = 0; j < map->in; j++)
        l.x[j] = (double)cut((double)x[j] - (double)map->mean[j]);
    lm_pack_dots_double(&map->rows, 0, map->rows.panels, l.x, l.y);
    for (size_t r = 0; r < map->out; r++)
        y[r] = cut(l.y[r]);
}

/* ---- the inverse ---- */

/* q (in x out) <- the transpose of Q = (R R')^+ R: x = mean + Q' y. */
static limn_status fill_inverse(limn_context *ctx, const lm_map *map, double *q) {
    size_t in = map->in, out = map->out, cells;
    float *row = lm_alloc(&ctx->mem, in, sizeof *row);
    double *r = lm_mul(in, out, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *r) : NULL;
    double *square = lm_mul(out, out, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *square) : NULL;
    limn_status status = row && r && square ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < out && status == LIMN_OK; i++) {
        lm_pack_row(&map->rows, i, row);
        for (size_t j = 0; j < in; j++)
            r[i * in + j] = q[j * out + i] = (double)row[j];
    }
    if (status == LIMN_OK) {
        lm_row_products(r, out, r, out, in, square);
        /* What rounding to float left of an axis of no length is none. */
        status = lm_solve_dropping(ctx, square, out, 1e-12, q, in); /* a row per feature */
    }
    lm_free(&ctx->mem, row);
    lm_free(&ctx->mem, r);
    lm_free(&ctx->mem, square);
    return status;
}

limn_status lm_map_invert(limn_context *ctx, const lm_map *map, double **inverse) {
    size_t cells;
    *inverse =
        lm_mul(map->in, map->out, &cells) ? lm_alloc(&ctx->mem, cells, sizeof **inverse) : NULL;
    limn_status status = *inverse ? fill_inverse(ctx, map, *inverse) : lm_fail_memory(ctx);
    if (status != LIMN_OK) {
        lm_free(&ctx->mem, *inverse);
        *inverse = NULL;
    }
    return status;
}

void lm_map_undo(const lm_map *map, const double *inverse, const float *y, size_t n, float *x) {
    size_t in = map->in, out = map->out;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < in; j++) {
            double sum = (double)map->mean[j];
            for (size_t r = 0; r < out; r++)
                sum += inverse[j * out + r] * (double)y[i * out + r];
            x[i * in + j] = cut(sum);
        }
}

/* ---- the file ---- */

limn_status lm_map_put(limn_context *ctx, const lm_map *map, lm_kv_out *kv) {
    double *list = lm_alloc(&ctx->mem, map->in, sizeof *list);
    if (!list)
        return lm_fail_memory(ctx);
    lm_kv_put_int(kv, "axes", (int64_t)map->out);
    lm_kv_put_real(kv, "variance", map->variance);
    for (size_t j = 0; j < map->in; j++)
        list[j] = (double)map->mean[j];
    lm_kv_put_reals(kv, "mean", list, map->in);
    for (size_t j = 0; j < map->in; j++)
        list[map->heavy[j].row] = -map->heavy[j].key;
    lm_kv_put_reals(kv, "share", list, map->in);
    lm_free(&ctx->mem, list);
    return LIMN_OK;
}

limn_status lm_map_save(const lm_map *map, lm_writer *writer) {
    return lm_writer_section(writer, "scaler.map", MAP_VERSION, map->rows.data,
                             map->rows.panels * LM_PANEL * map->in * sizeof(float));
}

static limn_status get_lists(const lm_kv *kv, lm_map *map) {
    const limn_allocator *mem = &kv->ctx->mem;
    double *list = lm_alloc(mem, map->in, sizeof *list);
    limn_status status = list ? lm_kv_reals(kv, "mean", map->in, list) : lm_fail_memory(kv->ctx);
    for (size_t j = 0; j < map->in && status == LIMN_OK; j++)
        map->mean[j] = cut(list[j]);
    if (status == LIMN_OK)
        status = lm_kv_reals(kv, "share", map->in, list);
    for (size_t j = 0; j < map->in && status == LIMN_OK; j++) {
        map->heavy[j] = (lm_ranked){.key = -list[j], .row = j};
        if (!(list[j] >= 0 && list[j] <= 1))
            status = lm_file_bad(kv->ctx, kv->file, "the share of feature %zu is not valid", j + 1);
    }
    if (status == LIMN_OK)
        lm_ranked_first(map->heavy, map->in, map->in);
    lm_free(mem, list);
    return status;
}

static limn_status get_rows(const lm_kv *kv, lm_map *map) {
    size_t floats;
    const void *data = NULL;
    if (!lm_pack_floats(map->out, map->in, &floats))
        return lm_fail_memory(kv->ctx);
    limn_status status =
        lm_file_array(kv->ctx, kv->file, "scaler.map", MAP_VERSION, floats, sizeof(float), &data);
    const float *value = data;
    for (size_t i = 0; i < floats && status == LIMN_OK; i++)
        if (!isfinite(value[i]))
            status = lm_file_bad(kv->ctx, kv->file, "the map of its scaling is not finite");
    if (status == LIMN_OK)
        lm_pack_view(value, map->out, map->in, &map->rows);
    return status;
}

limn_status lm_map_load(limn_context *ctx, const lm_kv *kv, size_t in, lm_map **map) {
    int64_t axes = 0;
    *map = NULL;
    limn_status status = lm_kv_int(kv, "axes", 1, (int64_t)in, &axes);
    if (status == LIMN_OK && in > kv->section.size / (2 * sizeof(double)))
        status = lm_file_bad(ctx, kv->file, "the map of its scaling is truncated");
    if (status == LIMN_OK)
        status = map_alloc(ctx, in, (size_t)axes, map);
    if (status == LIMN_OK)
        status = lm_kv_real(kv, "variance", 0, 1, &(*map)->variance);
    if (status == LIMN_OK)
        status = get_lists(kv, *map);
    if (status == LIMN_OK)
        status = get_rows(kv, *map);
    return status == LIMN_OK || !*map ? status : done(ctx, status, map);
}
