/* io.c: the sections of student; networks are used where they lie in the file. */
#include "methods/student/student.h"
#include "svm/store.h"

#include <float.h>
#include <math.h>

static const char *const net_name[ST_NETS] = {"student.net", "student.second"};
static const lm_svm_sections machine_at = {"student.svm", STUDENT_FILE_VERSION, NULL};

/* ---- saving ---- */

static limn_status put_about(const st_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    char size[ST_SIZE_TEXT];
    limn_status status = lm_kv_begin(writer, "student.about", STUDENT_FILE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    st_size_format(m->size, m->nets, size);
    lm_kv_put_text(kv, "size", size);
    lm_kv_put_int(kv, "last", m->last);
    lm_kv_put_int(kv, "shifted", m->shifted);
    lm_kv_put_reals(kv, "gap", m->gap, ST_NETS);
    lm_kv_put_reals(kv, "tau", m->tau, ST_NETS);
    lm_kv_put_reals(kv, "passed", m->passed, ST_NETS);
    lm_kv_put_real(kv, "mean", m->mean);
    lm_kv_put_real(kv, "spread", m->spread);
    lm_kv_put_real(kv, "agreement", m->agreement);
    lm_kv_put_real(kv, "error", m->error);
    lm_kv_put_real(kv, "work", m->work);
    lm_kv_put_real(kv, "asked", m->asked);
    lm_kv_put_real(kv, "sharpness", m->sharpness);
    lm_kv_put_real(kv, "rate", m->rate);
    lm_kv_put_real(kv, "visits", m->visits);
    return lm_kv_end(kv);
}

/* Sizes of the layers of a network: inputs, hidden ones, outputs. */
static size_t layer_sizes(const st_model *m, size_t net, size_t *sizes) {
    sizes[0] = m->d;
    for (size_t l = 0; l < m->size[net].layers; l++)
        sizes[l + 1] = m->size[net].units[l];
    sizes[m->size[net].layers + 1] = st_outputs(m->task, m->classes);
    return m->size[net].layers + 1;
}

limn_status st_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    const st_model *m = opaque;
    (void)ctx;
    limn_status status = put_about(m, writer);
    for (size_t i = 0; i < m->nets && status == LIMN_OK; i++) {
        size_t sizes[LM_LAYERS_MAX + 1], floats, layers = layer_sizes(m, i, sizes);
        (void)lm_layers_floats(sizes, layers, &floats);
        status = lm_writer_section(writer, net_name[i], STUDENT_FILE_VERSION, m->data[i],
                                   floats * sizeof(float));
    }
    if (status == LIMN_OK && m->shifted)
        status = lm_writer_section(writer, "student.centre", STUDENT_FILE_VERSION, m->centre,
                                   m->d * sizeof(float));
    if (status == LIMN_OK && m->shifted)
        status = lm_writer_section(writer, "student.unit", STUDENT_FILE_VERSION, m->unit,
                                   m->d * sizeof(float));
    return status == LIMN_OK && m->last ? lm_svm_save(&m->svm, &machine_at, false, writer) : status;
}

/* ---- loading ---- */

static limn_status get_size(limn_context *ctx, const lm_kv *kv, const lm_file *file, st_model *m) {
    const char *text = "";
    limn_status status = lm_kv_text(kv, "size", &text);
    if (status != LIMN_OK)
        return status;
    m->nets = *text ? st_size_parse(text, m->size) : 0;
    bool regress = m->task == LIMN_REGRESS;
    if ((*text && !m->nets) || (!regress && (m->nets == 0) != (m->classes == 1)) ||
        (regress && m->nets > 1))
        return lm_file_bad(ctx, file, "its size, '%.40s', is invalid", text);
    return LIMN_OK;
}

/* A list of numbers within limits, one per network. */
static limn_status get_list(limn_context *ctx, const lm_kv *kv, const lm_file *file,
                            const char *key, double least, double most, double *list) {
    limn_status status = lm_kv_reals(kv, key, ST_NETS, list);
    for (size_t i = 0; i < ST_NETS && status == LIMN_OK; i++)
        if (!(list[i] >= least && list[i] <= most))
            status = lm_file_bad(ctx, file, "%s is out of range", key);
    return status;
}

static limn_status get_figures(const lm_kv *kv, st_model *m) {
    const struct {
        const char *key;
        double least, most;
        double *to;
    } list[] = {
        {"mean", -1e300, 1e300, &m->mean},
        {"spread", 0, 1e300, &m->spread},
        {"agreement", -1e300, 1, &m->agreement},
        {"error", 0, 1e300, &m->error},
        {"work", 0, 1e300, &m->work},
        {"asked", 0, 1e300, &m->asked},
        {"sharpness", 0, 1e300, &m->sharpness},
        {"rate", 0, 1e300, &m->rate},
        {"visits", 0, 1e300, &m->visits},
    };
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < LM_COUNT(list) && status == LIMN_OK; i++)
        status = lm_kv_real(kv, list[i].key, list[i].least, list[i].most, list[i].to);
    return status;
}

static limn_status get_about(limn_context *ctx, const lm_file *file, st_model *m) {
    lm_kv kv;
    int64_t last = 0, shifted = 0;
    limn_status status = lm_kv_open(ctx, file, "student.about", STUDENT_FILE_VERSION, &kv);
    if (status == LIMN_OK)
        status = get_size(ctx, &kv, file, m);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "last", 0, m->nets && m->task == LIMN_CLASSIFY, &last);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "shifted", 0, m->nets > 0, &shifted);
    if (status == LIMN_OK)
        status = get_list(ctx, &kv, file, "gap", 0, 1e300, m->gap);
    if (status == LIMN_OK)
        status = get_list(ctx, &kv, file, "tau", 1e-3, 1e3, m->tau);
    if (status == LIMN_OK)
        status = get_list(ctx, &kv, file, "passed", 0, 1, m->passed);
    m->last = last;
    m->shifted = shifted;
    return status == LIMN_OK ? get_figures(&kv, m) : status;
}

static limn_status get_floats(limn_context *ctx, const lm_file *file, const char *name,
                              size_t count, const float **out) {
    const void *data;
    limn_status status =
        lm_file_array(ctx, file, name, STUDENT_FILE_VERSION, count, sizeof **out, &data);
    if (status != LIMN_OK)
        return status;
    *out = data;
    for (size_t i = 0; i < count; i++)
        if (!isfinite((*out)[i]))
            return lm_file_bad(ctx, file, "number %zu of section '%s' is invalid", i, name);
    return LIMN_OK;
}

static limn_status get_net(limn_context *ctx, const lm_file *file, size_t net, st_model *m) {
    size_t sizes[LM_LAYERS_MAX + 1], floats, layers = layer_sizes(m, net, sizes);
    if (!lm_layers_floats(sizes, layers, &floats))
        return lm_file_bad(ctx, file, "the number of features, %zu, is invalid", m->d);
    limn_status status = get_floats(ctx, file, net_name[net], floats, &m->data[net]);
    if (status != LIMN_OK)
        return status;
    lm_layers_view(sizes, layers, m->data[net], &m->net[net]);
    for (size_t l = 0; l < layers; l++)
        if (!lm_layer_padded(&m->net[net].layer[l], l + 1 == layers))
            return lm_file_bad(ctx, file, "the padding of section '%s' is invalid", net_name[net]);
    return LIMN_OK;
}

static limn_status get_machine(limn_context *ctx, const lm_file *file, st_model *m) {
    limn_status status = lm_svm_load_about(ctx, file, &machine_at, &m->svm, NULL);
    if (status == LIMN_OK && (!lm_svm_is_svc(m->svm.type) || m->svm.d != m->d))
        status = lm_file_bad(ctx, file,
                             "the type of its machine, %s, or its number of features, %zu, does "
                             "not match the model",
                             lm_svm_type_name(m->svm.type), m->svm.d);
    if (status == LIMN_OK)
        status = lm_svm_load_arrays(ctx, file, &machine_at, m->classes, &m->svm);
    return status == LIMN_OK ? lm_machine_build(ctx, &m->svm, &m->machine) : status;
}

static limn_status get_all(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                           st_model *m) {
    bool fits = shape->task == LIMN_REGRESS || (shape->task == LIMN_CLASSIFY && shape->classes);
    if (!fits || shape->classes > 1 << 20 || shape->d == 0 || shape->d > UINT32_MAX / 2)
        return lm_file_bad(ctx, file, "its task, number of classes, %zu, or of features is invalid",
                           shape->classes);
    m->task = shape->task;
    m->d = shape->d;
    m->classes = shape->classes;
    limn_status status = get_about(ctx, file, m);
    for (size_t i = 0; i < m->nets && status == LIMN_OK; i++)
        status = get_net(ctx, file, i, m);
    if (status == LIMN_OK && m->shifted)
        status = get_floats(ctx, file, "student.centre", m->d, &m->centre);
    if (status == LIMN_OK && m->shifted)
        status = get_floats(ctx, file, "student.unit", m->d, &m->unit);
    return status == LIMN_OK && m->last ? get_machine(ctx, file, m) : status;
}

limn_status st_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **out) {
    (void)params;
    st_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    limn_status status = get_all(ctx, file, shape, m);
    if (status != LIMN_OK)
        st_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
