/* io.c: the sections of agf and kde: what was chosen, the packed rows, their labels or targets, and
 * what queries need to measure distances. M stands for the method's name in "M.rows". */
#include "methods/agf/agf.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const char *section(const agf_model *m, const char *part, char *name) {
    snprintf(name, LM_SECTION_NAME, "%s.%s", m->fixed ? "kde" : "agf", part);
    return name;
}

static limn_status put_about(const agf_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    char name[LM_SECTION_NAME];
    limn_status status = lm_kv_begin(writer, section(m, "about", name), AGF_FILE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    if (m->fixed) {
        lm_kv_put_real(kv, "bandwidth", m->bandwidth);
    } else {
        lm_kv_put_real(kv, "w", m->w);
        lm_kv_put_int(kv, "k", (int64_t)m->k);
        lm_kv_put_real(kv, "least_s2", m->least_s2);
    }
    return lm_kv_end(kv);
}

static limn_status put(const agf_model *m, lm_writer *writer, const char *part, const void *data,
                       size_t bytes) {
    char name[LM_SECTION_NAME];
    return data ? lm_writer_section(writer, section(m, part, name), AGF_FILE_VERSION, data, bytes)
                : LIMN_OK;
}

limn_status agf_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    const agf_model *m = opaque;
    const lm_pack *pack = &m->set.pack;
    size_t n = pack->n;
    (void)ctx;
    limn_status status = put_about(m, writer);
    if (status == LIMN_OK)
        status =
            put(m, writer, "rows", pack->data, pack->panels * LM_PANEL * pack->d * sizeof(float));
    if (status == LIMN_OK && !m->fixed)
        status = put(m, writer, "norms", m->set.norms, n * sizeof *m->set.norms);
    if (status == LIMN_OK && m->fixed)
        status = put(m, writer, "centre", m->centre, pack->d * sizeof *m->centre);
    if (status == LIMN_OK && m->fixed)
        status = put(m, writer, "norms", m->norm, n * sizeof *m->norm);
    if (status == LIMN_OK)
        status = put(m, writer, "labels", m->label, n * sizeof *m->label);
    if (status == LIMN_OK)
        status = put(m, writer, "targets", m->target, n * sizeof *m->target);
    if (status == LIMN_OK)
        status = put(m, writer, "weights", m->weight, n * sizeof *m->weight);
    return status;
}

/* ---- loading ---- */

typedef struct source {
    limn_context *ctx;
    const lm_file *file;
    const lm_shape *shape;
    agf_model *m;
} source;

static limn_status get_about(const source *s) {
    agf_model *m = s->m;
    lm_kv kv;
    char name[LM_SECTION_NAME];
    int64_t k = 1;
    limn_status status =
        lm_kv_open(s->ctx, s->file, section(m, "about", name), AGF_FILE_VERSION, &kv);
    if (status == LIMN_OK && m->fixed)
        return lm_kv_real(&kv, "bandwidth", AGF_SMALLEST, AGF_MOST_BANDWIDTH, &m->bandwidth);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "w", AGF_SMALLEST, AGF_MOST_W, &m->w);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "k", 1, (int64_t)m->set.pack.n, &k);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "least_s2", 1e-300, 1e300, &m->least_s2);
    m->k = (size_t)k;
    return status;
}

static limn_status get(const source *s, const char *part, size_t count, size_t size,
                       const void **out) {
    char name[LM_SECTION_NAME];
    return lm_file_array(s->ctx, s->file, section(s->m, part, name), AGF_FILE_VERSION, count, size,
                         out);
}

static limn_status get_rows(const source *s) {
    const lm_shape *shape = s->shape;
    size_t floats;
    const void *data;
    if (shape->rows == 0 || shape->rows > INT64_MAX ||
        !lm_pack_floats((size_t)shape->rows, shape->d, &floats))
        return lm_file_bad(s->ctx, s->file,
                           "its numbers of rows, %llu, and features, %zu, are invalid",
                           (unsigned long long)shape->rows, shape->d);
    limn_status status = get(s, "rows", floats, sizeof(float), &data);
    if (status != LIMN_OK)
        return status;
    lm_pack_view(data, (size_t)shape->rows, shape->d, &s->m->set.pack);
    for (size_t i = 0; i < floats; i++)
        if (!isfinite(s->m->set.pack.data[i]))
            return lm_file_bad(s->ctx, s->file, "a training row is not finite");
    return LIMN_OK;
}

static limn_status get_doubles(const source *s, const char *part, size_t count, double least,
                               double most, const double **out) {
    const void *data;
    limn_status status = get(s, part, count, sizeof **out, &data);
    if (status != LIMN_OK)
        return status;
    *out = data;
    for (size_t i = 0; i < count; i++)
        if (!((*out)[i] >= least && (*out)[i] <= most))
            return lm_file_bad(s->ctx, s->file, "number %zu of section '%s' is invalid", i, part);
    return LIMN_OK;
}

static limn_status get_norms(const source *s) {
    agf_model *m = s->m;
    const void *data;
    if (m->fixed) {
        limn_status status = get_doubles(s, "centre", m->set.pack.d, -1e39, 1e39, &m->centre);
        return status == LIMN_OK ? get_doubles(s, "norms", m->set.pack.n, 0, 1e300, &m->norm)
                                 : status;
    }
    limn_status status = get(s, "norms", m->set.pack.n, sizeof(float), &data);
    if (status != LIMN_OK)
        return status;
    m->set.norms = data;
    for (size_t i = 0; i < m->set.pack.n; i++)
        if (!(m->set.norms[i] >= 0)) /* infinite if the square is too large for a float */
            return lm_file_bad(s->ctx, s->file, "the norm of row %zu is invalid", i);
    lm_nearest_prepare(&m->set);
    return LIMN_OK;
}

static limn_status get_labels(const source *s) {
    agf_model *m = s->m;
    const void *data;
    limn_status status = get(s, "labels", m->set.pack.n, sizeof *m->label, &data);
    if (status != LIMN_OK)
        return status;
    m->label = data;
    for (size_t i = 0; i < m->set.pack.n; i++)
        if (m->label[i] < 0 || (size_t)m->label[i] >= m->classes)
            return lm_file_bad(s->ctx, s->file,
                               "row %zu has class %ld, but the number of classes is %zu", i,
                               (long)m->label[i], m->classes);
    return LIMN_OK;
}

static limn_status get_all(const source *s) {
    agf_model *m = s->m;
    char name[LM_SECTION_NAME];
    limn_status status = get_rows(s);
    if (status == LIMN_OK)
        status = get_about(s);
    if (status == LIMN_OK)
        status = get_norms(s);
    if (status == LIMN_OK && m->task == LIMN_CLASSIFY)
        status = get_labels(s);
    if (status == LIMN_OK && m->task == LIMN_REGRESS)
        status = get_doubles(s, "targets", m->set.pack.n, -DBL_MAX, DBL_MAX, &m->target);
    if (status == LIMN_OK && lm_file_has(s->file, section(m, "weights", name)))
        status = get_doubles(s, "weights", m->set.pack.n, LM_WEIGHT_MIN, LM_WEIGHT_MAX, &m->weight);
    return status;
}

limn_status agf_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                     const lm_params *params, void **out) {
    agf_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->fixed = agf_is_fixed(params);
    m->task = shape->task;
    m->classes = shape->classes;
    source s = {ctx, file, shape, m};
    limn_status status = get_all(&s);
    if (status != LIMN_OK)
        agf_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
