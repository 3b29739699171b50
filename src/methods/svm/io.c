/* io.c: the sections of svm, and LIBSVM's text models.
 *
 * The file stores the machine as LIBSVM does (svm/store.h). What queries need is laid out on
 * loading, in large pages: mapped pages are small, and TLB misses would double the time of a query.
 */
#include "methods/svm/svm.h"
#include "svm/store.h"

#include <stdio.h>
#include <string.h>

/* The machine's own sections; "svm.labels" follows them. */
static const lm_svm_sections sections = {"svm", SVM_FILE_VERSION, "imported"};

/* ---- saving ---- */

limn_status sv_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    (void)ctx;
    const sv_model *m = opaque;
    limn_status status = lm_svm_save(&m->svm, &sections, m->imported, writer);
    if (status == LIMN_OK && m->labels)
        status = lm_writer_section(writer, "svm.labels", SVM_FILE_VERSION, m->labels,
                                   m->svm.classes * sizeof *m->labels);
    return status;
}

/* ---- loading ---- */

/* The type must match the task, and its features those of the file. */
static limn_status check_shape(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                               sv_model *m) {
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_CLASSIFY, LIMN_OUTLIER, LIMN_REGRESS,
                                      LIMN_REGRESS};
    m->task = shape->task;
    m->stride = shape->d;
    if (tasks[m->svm.type] != shape->task || m->svm.d + shape->beyond != shape->d)
        return lm_file_bad(
            ctx, file, "its machine type, %s, or number of features, %zu, does not match the model",
            lm_svm_type_name(m->svm.type), m->svm.d);
    return LIMN_OK;
}

static limn_status get_labels(limn_context *ctx, const lm_file *file, sv_model *m) {
    const void *data;
    if (!lm_file_has(file, "svm.labels"))
        return LIMN_OK;
    limn_status status = lm_file_array(ctx, file, "svm.labels", SVM_FILE_VERSION, m->svm.classes,
                                       sizeof *m->labels, &data);
    if (status != LIMN_OK)
        return status;
    m->labels = lm_alloc(&ctx->mem, m->svm.classes, sizeof *m->labels);
    if (!m->labels)
        return lm_fail_memory(ctx);
    memcpy(m->labels, data, m->svm.classes * sizeof *m->labels);
    return LIMN_OK;
}

limn_status sv_prepare(limn_context *ctx, sv_model *m) {
    return lm_svm_functions(&m->svm) ? lm_machine_build(ctx, &m->svm, &m->machine) : LIMN_OK;
}

limn_status sv_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **out) {
    (void)params;
    sv_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    limn_status status = lm_svm_load_about(ctx, file, &sections, &m->svm, &m->imported);
    if (status == LIMN_OK)
        status = check_shape(ctx, file, shape, m);
    if (status == LIMN_OK)
        status = lm_svm_load_arrays(ctx, file, &sections, shape->classes, &m->svm);
    if (status == LIMN_OK)
        status = get_labels(ctx, file, m);
    if (status == LIMN_OK)
        status = sv_prepare(ctx, m);
    if (status != LIMN_OK)
        sv_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}

/* ---- LIBSVM's text ---- */

bool sv_recognise(const void *bytes, size_t size) {
    return lm_svm_is_text(bytes, size);
}

static void describe(const sv_model *m, lm_foreign *about) {
    static const char *const kernels[] = {"linear", "poly", "rbf", "sigmoid"};
    char gamma[32], coef0[32];
    const lm_kernel *k = &m->svm.kernel;
    lm_format_double(k->gamma, gamma);
    lm_format_double(k->coef0, coef0);
    snprintf(about->params, sizeof about->params,
             "type=%s\nkernel=%s\ngamma=%s\ncoef0=%s\ndegree=%d\nprobability=%s",
             lm_svm_type_name(m->svm.type), kernels[k->type], gamma, coef0, k->degree,
             sv_has_proba(m) ? "yes" : "no");
}

static limn_status name_classes(limn_context *ctx, const sv_model *m, lm_foreign *about) {
    static const int32_t sides[] = {-1, 1}; /* of a one-class machine: outside, inside */
    const int32_t *labels = m->task == LIMN_OUTLIER ? sides : m->labels;
    about->classes = m->task == LIMN_OUTLIER ? 2 : m->task == LIMN_CLASSIFY ? m->svm.classes : 0;
    about->names = lm_alloc_zero(&ctx->mem, about->classes + 1, sizeof *about->names);
    if (!about->names)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < about->classes; c++) {
        char text[16];
        snprintf(text, sizeof text, "%ld", (long)labels[c]);
        if (!(about->names[c] = lm_strdup(&ctx->mem, text)))
            return lm_fail_memory(ctx);
    }
    return LIMN_OK;
}

limn_status sv_import(limn_context *ctx, const char *name, const char *bytes, size_t size,
                      lm_foreign *about, void **out) {
    sv_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    limn_status status = lm_svm_parse(ctx, name, bytes, size, &m->svm, &m->labels);
    if (status == LIMN_OK) {
        m->imported = true;
        m->stride = m->svm.d + 1;
        m->task = lm_svm_is_svc(m->svm.type)    ? LIMN_CLASSIFY
                  : m->svm.type == LM_ONE_CLASS ? LIMN_OUTLIER
                                                : LIMN_REGRESS;
        about->task = m->task;
        about->features = m->svm.d;
        describe(m, about);
        status = name_classes(ctx, m, about);
    }
    if (status == LIMN_OK)
        status = sv_prepare(ctx, m);
    if (status != LIMN_OK)
        sv_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}

limn_status sv_widen(limn_context *ctx, void *opaque, size_t features) {
    sv_model *m = opaque;
    lm_machine_free(&ctx->mem, &m->machine);
    limn_status status = lm_svm_widen(ctx, &m->svm, features);
    m->stride = m->svm.d + 1;
    return status == LIMN_OK ? sv_prepare(ctx, m) : status;
}

limn_status sv_export(limn_context *ctx, const void *opaque, const int32_t *labels,
                      const uint32_t *keep, const char *path, limn_output *output) {
    const sv_model *m = opaque;
    return lm_svm_put(ctx, &m->svm, m->labels ? m->labels : labels, keep, path, output);
}
