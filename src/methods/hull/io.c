/* io.c: the sections of the hulls, each "<method>.<part>". One list of arrays (hull_list_parts)
 * is used for training, saving, loading and freeing. */
#include "methods/hull/hull.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the list ---- */

typedef struct list {
    hull_part *parts;
    size_t count;
    bool fits;
} list;

/* a x b items. */
static void add(list *l, const char *name, const void *data, size_t a, size_t b, size_t size,
                int type) {
    hull_part *part = &l->parts[l->count++];
    *part = (hull_part){.name = name, .data = (const void **)(uintptr_t)data, .size = size};
    part->type = type == HULL_WHOLE ? HULL_WHOLE : type == HULL_FLOATS ? HULL_FLOATS : HULL_DOUBLES;
    l->fits = l->fits && lm_mul(a, b, &part->count);
}

#define WHOLE(name, member, a, b) add(l, name, &(member), a, b, sizeof *(member), HULL_WHOLE)
#define FLOATS(name, member, a, b) add(l, name, &(member), a, b, sizeof(float), HULL_FLOATS)
#define DOUBLES(name, member, a, b) add(l, name, &(member), a, b, sizeof(double), HULL_DOUBLES)

static size_t padded(size_t rows) {
    return (rows + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

static void list_flat(hull_model *m, list *l) {
    hull_flat *f = &m->flat;
    size_t places = m->panels * LM_PANEL, k = m->classes;
    WHOLE("start", f->start, k + 1, 1);
    FLOATS("origin", f->origin, m->d, 1);
    DOUBLES("means", f->mean, k, m->d);
    FLOATS("near_means", f->near_mean.data, padded(k), m->d);
    FLOATS("basis", f->basis.high.data, places, m->d);
    DOUBLES("offsets", f->offset, places, 1);
    if (m->options.kind != HULL_NCH)
        FLOATS("basis_rest", f->basis.low.data, places, m->d);
    if (m->options.kind == HULL_NHD)
        DOUBLES("centres", f->centre, places, 1);
    if (m->options.kind == HULL_NHD || m->options.kind == HULL_NCH)
        DOUBLES("radii", f->radius, k, 1);
    if (m->options.kind == HULL_NCH)
        DOUBLES("slacks", f->slack, k, 1);
    if (!f->axes)
        return;
    FLOATS("head", f->head.data, padded(f->axes), m->d);
    FLOATS("head_basis", f->head_basis.data, places, f->axes);
    FLOATS("head_means", f->head_mean.data, padded(k), f->axes);
    DOUBLES("head_offsets", f->head_offset, places, 1);
}

static void list_curved(hull_model *m, list *l) {
    hull_curved *v = &m->curved;
    size_t places = m->panels * LM_PANEL, samples = m->sample_panels * LM_PANEL, k = m->classes;
    WHOLE("start", v->start, k + 1, 1);
    WHOLE("vector_start", v->offset, k + 1, 1);
    FLOATS("vectors", v->high, m->vector_floats, 1);
    FLOATS("vectors_rest", v->low, m->vector_floats, 1);
    DOUBLES("scales", v->scale, places, 1);
    DOUBLES("weights", v->weight, samples, 1);
    DOUBLES("shifts", v->shift, samples, 1);
    DOUBLES("constants", v->constant, k, 1);
    if (m->options.kind != HULL_NHD)
        return;
    DOUBLES("centres", v->centre, places, 1);
    DOUBLES("radii", v->radius, k, 1);
}

static void list_convex(hull_model *m, list *l) {
    hull_convex *v = &m->convex;
    size_t samples = m->sample_panels * LM_PANEL, k = m->classes;
    DOUBLES("diagonal", v->diagonal, samples, 1);
    if (!m->options.kernel_space) {
        FLOATS("shifts", v->shift, k, m->d);
        return;
    }
    DOUBLES("weights", v->weight, samples, 1);
    DOUBLES("constants", v->constant, k, 1);
    DOUBLES("radii", v->radius, k, 1);
}

bool hull_list_parts(hull_model *m, hull_part *parts, size_t *count) {
    list all = {.parts = parts, .fits = true}, *l = &all;
    if (hull_has_flat(m))
        list_flat(m, l);
    if (hull_has_curved(m))
        list_curved(m, l);
    if (hull_has_convex(m))
        list_convex(m, l);
    if (m->sample_panels) {
        WHOLE("counts", m->count, m->classes, 1);
        WHOLE("first", m->first, m->classes + 1, 1);
        FLOATS("samples", m->samples.data, m->sample_panels * LM_PANEL, m->d);
        if (hull_is_local(m))
            FLOATS("norms", m->norms, m->sample_panels * LM_PANEL, 1);
    }
    *count = all.count;
    return all.fits;
}

/* ---- names ---- */

static const char *section(const hull_model *m, const char *part, char *name) {
    static const char *const kinds[] = {"nah", "nhd", "nch", "nsc", "nrh"};
    snprintf(name, LM_SECTION_NAME, "%s.%s", kinds[m->options.kind], part);
    return name;
}

/* ---- saving ---- */

static limn_status put_about(const hull_model *m, lm_writer *writer) {
    char name[LM_SECTION_NAME];
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, section(m, "about", name), HULL_FILE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_int(kv, "panels", (int64_t)m->panels);
    lm_kv_put_int(kv, "sample_panels", (int64_t)m->sample_panels);
    lm_kv_put_int(kv, "vector_floats", (int64_t)m->vector_floats);
    lm_kv_put_int(kv, "axes", (int64_t)m->flat.axes);
    lm_kv_put_int(kv, "directions", (int64_t)m->directions);
    lm_kv_put_int(kv, "dim", m->options.dim < INT32_MAX ? (int64_t)m->options.dim : INT32_MAX);
    lm_kv_put_real(kv, "gamma", m->options.kernel.gamma);
    lm_kv_put_real(kv, "rho", m->options.rho);
    lm_kv_put_real(kv, "beta", m->beta);
    if (m->limit < INFINITY)
        lm_kv_put_real(kv, "limit", m->limit);
    return lm_kv_end(kv);
}

limn_status hull_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    hull_model m = *(const hull_model *)opaque;
    hull_part parts[HULL_PARTS_MAX];
    char name[LM_SECTION_NAME];
    size_t count;
    limn_status status = put_about(&m, writer);
    if (status == LIMN_OK && !hull_list_parts(&m, parts, &count))
        return lm_fail_memory(ctx);
    for (size_t i = 0; status == LIMN_OK && i < count; i++)
        if (parts[i].count)
            status = lm_writer_section(writer, section(&m, parts[i].name, name), HULL_FILE_VERSION,
                                       *parts[i].data, parts[i].count * parts[i].size);
    return status;
}

/* ---- loading ---- */

static limn_status get_about(limn_context *ctx, const lm_file *file, hull_model *m) {
    static const char *const keys[] = {"panels", "sample_panels", "vector_floats",
                                       "axes",   "directions",    "dim"};
    size_t *const counts[] = {&m->panels,    &m->sample_panels, &m->vector_floats,
                              &m->flat.axes, &m->directions,    &m->options.dim};
    char name[LM_SECTION_NAME];
    lm_kv kv;
    limn_status status = lm_kv_open(ctx, file, section(m, "about", name), HULL_FILE_VERSION, &kv);
    for (size_t i = 0; i < LM_COUNT(keys) && status == LIMN_OK; i++) {
        int64_t value = 0, most = counts[i] == &m->vector_floats ? INT64_MAX / 64 : INT32_MAX;
        status = lm_kv_int(&kv, keys[i], 0, most, &value);
        *counts[i] = (size_t)value;
    }
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "gamma", 0, 1e300, &m->options.kernel.gamma);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "rho", 0, 1e300, &m->options.rho);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "beta", 0, 1e308, &m->beta);
    m->limit = INFINITY;
    if (status == LIMN_OK && lm_kv_has(&kv, "limit"))
        status = lm_kv_real(&kv, "limit", 0, 1e308, &m->limit);
    bool flat = hull_has_flat(m), keeps = hull_is_local(m) || !flat || hull_has_convex(m);
    if (status == LIMN_OK &&
        (keeps != (m->sample_panels > 0) || (!flat && m->flat.axes) || m->flat.axes > m->d))
        status = lm_file_bad(ctx, file, "its arrays are not those that %s needs", name);
    return status;
}

static limn_status check_numbers(limn_context *ctx, const lm_file *file, const hull_part *part) {
    const float *f = *part->data;
    const double *d = *part->data;
    bool fine = true;
    for (size_t i = 0; i < part->count && part->type == HULL_FLOATS; i++)
        fine = fine && isfinite(f[i]);
    for (size_t i = 0; i < part->count && part->type == HULL_DOUBLES; i++)
        fine = fine && isfinite(d[i]);
    return fine ? LIMN_OK
                : lm_file_bad(ctx, file, "%s has a number that is not finite", part->name);
}

static limn_status get_parts(limn_context *ctx, const lm_file *file, hull_model *m) {
    static const double nothing[8];
    hull_part parts[HULL_PARTS_MAX];
    char name[LM_SECTION_NAME];
    size_t count;
    limn_status status = LIMN_OK;
    if (!hull_list_parts(m, parts, &count))
        return lm_file_bad(ctx, file, "the number of panels, %zu, is invalid", m->panels);
    for (size_t i = 0; i < count && status == LIMN_OK; i++) {
        *parts[i].data = nothing; /* empty, but present */
        if (!parts[i].count)
            continue;
        status = lm_file_array(ctx, file, section(m, parts[i].name, name), HULL_FILE_VERSION,
                               parts[i].count, parts[i].size, parts[i].data);
        if (status == LIMN_OK && strcmp(parts[i].name, "norms") != 0) /* may be infinite */
            status = check_numbers(ctx, file, &parts[i]);
    }
    return status;
}

static bool rises(const uint32_t *start, size_t classes, size_t total) {
    bool fine = start[0] == 0 && start[classes] == total;
    for (size_t c = 0; c < classes; c++)
        fine = fine && start[c] <= start[c + 1];
    return fine;
}

static limn_status check_samples(limn_context *ctx, const lm_file *file, const hull_model *m) {
    bool fine = rises(m->first, m->classes, m->sample_panels);
    for (size_t c = 0; c < m->classes && fine; c++) {
        uint64_t panels = m->first[c + 1] - m->first[c];
        fine = m->count[c] > 0 && m->count[c] <= panels * LM_PANEL &&
               m->count[c] > (panels - 1) * LM_PANEL;
    }
    for (size_t i = 0; m->norms && i < m->sample_panels * LM_PANEL && fine; i++)
        fine = m->norms[i] >= 0;
    return fine ? LIMN_OK : lm_file_bad(ctx, file, "the samples of the classes do not add up");
}

static limn_status check_curved(limn_context *ctx, const lm_file *file, const hull_model *m) {
    const hull_curved *v = &m->curved;
    bool fine = rises(v->start, m->classes, m->panels) && v->offset[0] == 0 &&
                v->offset[m->classes] == m->vector_floats;
    for (size_t c = 0; c < m->classes && fine; c++) {
        size_t floats;
        fine = lm_mul((size_t)(v->start[c + 1] - v->start[c]) * LM_PANEL, (size_t)m->count[c],
                      &floats) &&
               v->offset[c + 1] >= v->offset[c] && v->offset[c + 1] - v->offset[c] == floats;
    }
    return fine ? LIMN_OK : lm_file_bad(ctx, file, "the directions of the classes do not add up");
}

limn_status hull_prepare(limn_context *ctx, hull_model *m) {
    hull_flat *f = &m->flat;
    limn_status status = LIMN_OK;
    size_t places = m->panels * LM_PANEL;
    for (size_t c = 0; m->count && c < m->classes; c++)
        m->most_samples = m->count[c] > m->most_samples ? (size_t)m->count[c] : m->most_samples;
    if (m->sample_panels)
        lm_pack_view(m->samples.data, m->sample_panels * LM_PANEL, m->d, &m->samples);
    if (hull_has_flat(m)) {
        lm_pack_view(f->basis.high.data, places, m->d, &f->basis.high);
        lm_pack_view(f->basis.low.data, places, m->d, &f->basis.low);
        lm_pack_view(f->near_mean.data, m->classes, m->d, &f->near_mean);
        if (f->axes) {
            lm_pack_view(f->head.data, f->axes, m->d, &f->head);
            lm_pack_view(f->head_basis.data, places, f->axes, &f->head_basis);
            lm_pack_view(f->head_mean.data, m->classes, f->axes, &f->head_mean);
        }
        status = hull_flat_prepare(ctx, m);
    }
    for (size_t c = 0; hull_has_curved(m) && c < m->classes; c++) {
        size_t own = (size_t)(m->curved.start[c + 1] - m->curved.start[c]) * LM_PANEL;
        m->most_places = own > m->most_places ? own : m->most_places;
    }
    if (status == LIMN_OK && m->options.kernel_space && !hull_is_local(m))
        status = hull_curved_prepare(ctx, m);
    if (status == LIMN_OK && hull_is_local(m))
        status = hull_local_prepare(ctx, m);
    if (status == LIMN_OK && hull_has_convex(m))
        status = hull_convex_prepare(ctx, m);
    return status;
}

limn_status hull_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                      const lm_params *params, void **out) {
    hull_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->d = shape->d;
    m->classes = shape->classes;
    hull_configure(params, &m->options);
    limn_status status = get_about(ctx, file, m);
    if (status == LIMN_OK)
        status = get_parts(ctx, file, m);
    if (status == LIMN_OK && m->sample_panels)
        status = check_samples(ctx, file, m);
    if (status == LIMN_OK && hull_has_flat(m) && !rises(m->flat.start, m->classes, m->panels))
        status = lm_file_bad(ctx, file, "the directions of the classes do not add up");
    if (status == LIMN_OK && hull_has_curved(m))
        status = check_curved(ctx, file, m);
    if (status == LIMN_OK)
        status = hull_prepare(ctx, m);
    if (status != LIMN_OK)
        hull_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
