/* io.c: the sections of borders; all of them are used where they lie in the file. */
#include "methods/borders/borders.h"

#include <float.h>
#include <math.h>

static const char *const form_key[BD_FORMS] = {"none", "drawn", "planes", "cells"};

/* ---- saving ---- */

static limn_status put_about(const bd_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "borders.about", BORDERS_FILE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_int(kv, "borders", (int64_t)m->n);
    lm_kv_put_int(kv, "dag", m->dag);
    lm_kv_put_real(kv, "scale", m->scale);
    lm_kv_put_real(kv, "agreement", m->agreement);
    lm_kv_put_real(kv, "asked", m->asked);
    lm_kv_put_int(kv, "fitted", (int64_t)m->fitted);
    lm_kv_put_real(kv, "visited", m->visited);
    for (size_t f = 0; f < BD_FORMS; f++)
        lm_kv_put_int(kv, form_key[f], (int64_t)m->forms[f]);
    return lm_kv_end(kv);
}

limn_status bd_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    const bd_model *m = opaque;
    size_t n = m->n, pairs = m->pairs;
    const struct {
        const char *name;
        const void *data;
        size_t bytes;
    } parts[] = {
        {"borders.centre", m->centre, m->d * sizeof *m->centre},
        {"borders.start", m->start, (pairs + 1) * sizeof *m->start},
        {"borders.constant", m->constant, pairs * sizeof *m->constant},
        {"borders.steep", m->steep, pairs * sizeof *m->steep},
        {"borders.vectors", m->pack.data, m->pack.panels * LM_PANEL * (m->d + 1) * sizeof(float)},
        {"borders.normals", m->normal, n * m->stride * sizeof *m->normal},
        {"borders.slopes", m->slope, n * sizeof *m->slope},
    };
    (void)ctx;
    limn_status status = put_about(m, writer);
    for (size_t i = 0; i < LM_COUNT(parts) && status == LIMN_OK; i++)
        if (parts[i].bytes)
            status = lm_writer_section(writer, parts[i].name, BORDERS_FILE_VERSION, parts[i].data,
                                       parts[i].bytes);
    return status;
}

/* ---- loading ---- */

static limn_status get_about(limn_context *ctx, const lm_file *file, bd_model *m) {
    lm_kv kv;
    int64_t borders = 0, fitted = 0, dag = 0;
    limn_status status = lm_kv_open(ctx, file, "borders.about", BORDERS_FILE_VERSION, &kv);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "borders", 0, BD_MOST, &borders);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "dag", 0, 1, &dag);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "scale", 1e-300, 1e300, &m->scale);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "agreement", 0, 1, &m->agreement);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "asked", 0, 1e300, &m->asked);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "fitted", 0, INT64_MAX, &fitted);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "visited", 0, 1e300, &m->visited);
    for (size_t f = 0; f < BD_FORMS && status == LIMN_OK; f++) {
        int64_t count = 0;
        status = lm_kv_int(&kv, form_key[f], 0, INT64_MAX, &count);
        m->forms[f] = (uint64_t)count;
    }
    m->fitted = (uint64_t)fitted;
    m->dag = dag;
    m->n = (size_t)borders;
    return status;
}

static limn_status get_floats(limn_context *ctx, const lm_file *file, const char *name,
                              size_t count, const float **out) {
    const void *data;
    limn_status status =
        lm_file_array(ctx, file, name, BORDERS_FILE_VERSION, count, sizeof **out, &data);
    if (status != LIMN_OK)
        return status;
    *out = data;
    for (size_t i = 0; i < count; i++)
        if (!((*out)[i] >= -1e18f && (*out)[i] <= 1e18f))
            return lm_file_bad(ctx, file, "number %zu of section '%s' is invalid", i, name);
    return LIMN_OK;
}

static limn_status get_doubles(limn_context *ctx, const lm_file *file, const char *name,
                               size_t count, double least, double most, const double **out) {
    const void *data;
    limn_status status =
        lm_file_array(ctx, file, name, BORDERS_FILE_VERSION, count, sizeof **out, &data);
    if (status != LIMN_OK)
        return status;
    *out = data;
    for (size_t i = 0; i < count; i++)
        if (!((*out)[i] >= least && (*out)[i] <= most))
            return lm_file_bad(ctx, file, "number %zu of section '%s' is invalid", i, name);
    return LIMN_OK;
}

static limn_status get_starts(limn_context *ctx, const lm_file *file, bd_model *m) {
    const void *data;
    limn_status status = lm_file_array(ctx, file, "borders.start", BORDERS_FILE_VERSION,
                                       m->pairs + 1, sizeof *m->start, &data);
    if (status != LIMN_OK)
        return status;
    m->start = data;
    bool ordered = m->start[0] == 0 && m->start[m->pairs] == m->n;
    for (size_t p = 0; p < m->pairs; p++)
        ordered &= m->start[p] <= m->start[p + 1];
    return ordered ? LIMN_OK
                   : lm_file_bad(ctx, file, "the borders of the pairs of classes are not in order");
}

static limn_status get_borders(limn_context *ctx, const lm_file *file, bd_model *m) {
    size_t floats, cells, n = m->n, places = m->first[m->pairs];
    const float *vectors = NULL;
    if (!lm_pack_floats(places, m->d + 1, &floats) || !lm_mul(n, m->stride, &cells))
        return lm_file_bad(ctx, file, "the number of borders, %zu, is invalid", n);
    limn_status status = get_floats(ctx, file, "borders.vectors", floats, &vectors);
    if (status == LIMN_OK)
        status = get_floats(ctx, file, "borders.normals", cells, &m->normal);
    if (status == LIMN_OK)
        status = get_doubles(ctx, file, "borders.slopes", n, 0, DBL_MAX, &m->slope);
    if (status == LIMN_OK)
        lm_pack_view(vectors, places, m->d + 1, &m->pack);
    return status;
}

static limn_status get_pairs(limn_context *ctx, const lm_file *file, bd_model *m) {
    limn_status status = LIMN_OK;
    if (m->pairs)
        status = get_doubles(ctx, file, "borders.constant", m->pairs, -1e300, 1e300, &m->constant);
    if (m->pairs && status == LIMN_OK)
        status = get_doubles(ctx, file, "borders.steep", m->pairs, -DBL_MAX, 0, &m->steep);
    if (status != LIMN_OK)
        return status;
    m->shift = lm_alloc_zero(&ctx->mem, m->pairs + 1, sizeof *m->shift);
    return m->shift ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status get_all(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                           bd_model *m) {
    if (shape->task != LIMN_CLASSIFY || shape->classes == 0 || shape->classes > 1 << 20 ||
        shape->d > SIZE_MAX / 64)
        return lm_file_bad(ctx, file, "its task or number of classes, %zu, is invalid",
                           shape->classes);
    m->d = shape->d;
    m->classes = shape->classes;
    m->pairs = bd_pair_count(shape->classes);
    m->stride = bd_stride(shape->d);
    limn_status status = get_about(ctx, file, m);
    if (status == LIMN_OK)
        status = get_doubles(ctx, file, "borders.centre", m->d, -1e39, 1e39, &m->centre);
    if (status == LIMN_OK)
        status = get_starts(ctx, file, m);
    if (status == LIMN_OK)
        status = get_pairs(ctx, file, m);
    if (status == LIMN_OK)
        status = bd_find_places(ctx, m);
    if (status == LIMN_E_USAGE)
        return lm_file_bad(ctx, file, "the number of borders, %zu, is invalid", m->n);
    if (status == LIMN_OK && m->n)
        status = get_borders(ctx, file, m);
    return status;
}

limn_status bd_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **out) {
    (void)params;
    bd_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    limn_status status = get_all(ctx, file, shape, m);
    if (status != LIMN_OK)
        bd_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
