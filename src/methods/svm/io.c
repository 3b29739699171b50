/* io.c: the sections of svm, and LIBSVM's text models.
 *
 * The file stores the machine as LIBSVM does: rows of vectors, double coefficients, thresholds.
 * What queries need is laid out on loading, in large pages: mapped pages are small, and TLB misses
 * would double the time of a query. */
#include "methods/svm/svm.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- saving ---- */

static limn_status put_about(const sv_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "svm.about", SVM_FILE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_text(kv, "type", lm_svm_type_name(m->svm.type));
    lm_kv_put_text(kv, "kernel", lm_kernel_name(m->svm.kernel.type));
    lm_kv_put_int(kv, "degree", m->svm.kernel.degree);
    lm_kv_put_real(kv, "gamma", m->svm.kernel.gamma);
    lm_kv_put_real(kv, "coef0", m->svm.kernel.coef0);
    lm_kv_put_int(kv, "features", (int64_t)m->svm.d);
    lm_kv_put_int(kv, "vectors", (int64_t)m->svm.n);
    lm_kv_put_int(kv, "imported", m->imported);
    return lm_kv_end(kv);
}

static limn_status put(lm_writer *writer, const char *name, const void *data, size_t count,
                       size_t size) {
    return data ? lm_writer_section(writer, name, SVM_FILE_VERSION, data, count * size) : LIMN_OK;
}

limn_status sv_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    (void)ctx;
    const sv_model *m = opaque;
    const lm_svm *s = &m->svm;
    size_t functions = lm_svm_functions(s);
    limn_status status = put_about(m, writer);
    if (status == LIMN_OK)
        status = put(writer, "svm.counts", s->count, s->classes, sizeof *s->count);
    if (status == LIMN_OK && s->n)
        status = put(writer, "svm.vectors", s->sv, s->n * s->d, sizeof *s->sv);
    if (status == LIMN_OK && s->n)
        status = put(writer, "svm.coef", s->coef, (s->classes - 1) * s->n, sizeof *s->coef);
    if (status == LIMN_OK && functions)
        status = put(writer, "svm.rho", s->rho, functions, sizeof *s->rho);
    if (status == LIMN_OK)
        status = put(writer, "svm.prob_a", s->prob_a, functions, sizeof *s->prob_a);
    if (status == LIMN_OK)
        status = put(writer, "svm.prob_b", s->prob_b, functions, sizeof *s->prob_b);
    if (status == LIMN_OK)
        status = put(writer, "svm.marks", s->marks, LM_SVM_MARKS, sizeof *s->marks);
    if (status == LIMN_OK)
        status = put(writer, "svm.labels", m->labels, s->classes, sizeof *m->labels);
    return status;
}

/* ---- loading ---- */

static limn_status get_about(limn_context *ctx, const lm_file *file, sv_model *m) {
    lm_kv kv;
    lm_svm *s = &m->svm;
    const char *type = "", *kernel = "";
    int64_t degree = 0, features = 0, vectors = 0, imported = 0;
    int t = LM_NU_SVR, k = LM_SIGMOID;
    limn_status status = lm_kv_open(ctx, file, "svm.about", SVM_FILE_VERSION, &kv);
    if (status == LIMN_OK)
        status = lm_kv_text(&kv, "type", &type);
    if (status == LIMN_OK)
        status = lm_kv_text(&kv, "kernel", &kernel);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "degree", 0, INT_MAX, &degree);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "gamma", -1e300, 1e300, &s->kernel.gamma);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "coef0", -1e300, 1e300, &s->kernel.coef0);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "features", 1, INT32_MAX, &features);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "vectors", 0, INT32_MAX, &vectors);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "imported", 0, 1, &imported);
    if (status != LIMN_OK)
        return status;
    while (t >= 0 && strcmp(lm_svm_type_name((lm_svm_type)t), type) != 0)
        t--;
    while (k >= 0 && strcmp(lm_kernel_name((lm_kernel_type)k), kernel) != 0)
        k--;
    if (t < 0 || k < 0)
        return lm_file_bad(ctx, file, "the machine '%.20s' with kernel '%.20s' is unknown", type,
                           kernel);
    s->type = (lm_svm_type)t;
    s->kernel.type = (lm_kernel_type)k;
    s->kernel.degree = (int)degree;
    s->d = (size_t)features;
    s->n = (size_t)vectors;
    m->imported = imported;
    return LIMN_OK;
}

/* The type must match the task, and its features those of the file. */
static limn_status check_shape(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                               sv_model *m) {
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_CLASSIFY, LIMN_OUTLIER, LIMN_REGRESS,
                                      LIMN_REGRESS};
    m->task = shape->task;
    m->stride = shape->d;
    m->svm.classes = lm_svm_is_svc(m->svm.type) ? shape->classes : 2;
    if (tasks[m->svm.type] != shape->task || m->svm.d + shape->beyond != shape->d)
        return lm_file_bad(
            ctx, file, "its machine type, %s, or number of features, %zu, does not match the model",
            lm_svm_type_name(m->svm.type), m->svm.d);
    return LIMN_OK;
}

static limn_status get_doubles(limn_context *ctx, const lm_file *file, const char *name,
                               size_t count, bool needed, const double **out) {
    const void *data = NULL;
    if (!needed && !lm_file_has(file, name))
        return LIMN_OK;
    limn_status status =
        lm_file_array(ctx, file, name, SVM_FILE_VERSION, count, sizeof(double), &data);
    *out = data;
    for (size_t i = 0; i < count && status == LIMN_OK; i++)
        if (!isfinite((*out)[i]))
            status = lm_file_bad(ctx, file, "number %zu of section '%s' is not finite", i, name);
    return status;
}

static limn_status get_counts(limn_context *ctx, const lm_file *file, lm_svm *s) {
    const void *data;
    uint64_t left = s->n;
    limn_status status = lm_file_array(ctx, file, "svm.counts", SVM_FILE_VERSION, s->classes,
                                       sizeof(uint64_t), &data);
    if (status != LIMN_OK)
        return status;
    s->count = data;
    for (size_t c = 0; c < s->classes; c++) {
        if (s->count[c] > left)
            return lm_file_bad(ctx, file, "the classes have more than %zu support vectors", s->n);
        left -= s->count[c];
    }
    return left ? lm_file_bad(ctx, file, "support vectors without a class: %llu",
                              (unsigned long long)left)
                : LIMN_OK;
}

static limn_status get_vectors(limn_context *ctx, const lm_file *file, lm_svm *s) {
    size_t cells, coefs;
    const void *data;
    if (!lm_mul(s->n, s->d, &cells) || !lm_mul(s->n, s->classes - 1, &coefs))
        return lm_file_bad(ctx, file, "the number of support vectors, %zu, is invalid", s->n);
    limn_status status =
        lm_file_array(ctx, file, "svm.vectors", SVM_FILE_VERSION, cells, sizeof(float), &data);
    if (status != LIMN_OK)
        return status;
    s->sv = data;
    for (size_t i = 0; i < cells; i++)
        if (!isfinite(s->sv[i]))
            return lm_file_bad(ctx, file, "support vector %zu is not finite", i / s->d);
    return get_doubles(ctx, file, "svm.coef", coefs, true, &s->coef);
}

static limn_status get_machine(limn_context *ctx, const lm_file *file, sv_model *m) {
    lm_svm *s = &m->svm;
    size_t functions = lm_svm_functions(s);
    limn_status status = LIMN_OK;
    if (lm_svm_is_svc(s->type))
        status = get_counts(ctx, file, s);
    if (status == LIMN_OK && s->n)
        status = get_vectors(ctx, file, s);
    if (status == LIMN_OK && functions)
        status = get_doubles(ctx, file, "svm.rho", functions, true, &s->rho);
    if (status == LIMN_OK && functions)
        status = get_doubles(ctx, file, "svm.prob_a", functions, false, &s->prob_a);
    if (status == LIMN_OK && functions)
        status = get_doubles(ctx, file, "svm.prob_b", functions, false, &s->prob_b);
    if (status == LIMN_OK && s->type == LM_ONE_CLASS)
        status = get_doubles(ctx, file, "svm.marks", LM_SVM_MARKS, false, &s->marks);
    return status;
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
    limn_status status = get_about(ctx, file, m);
    if (status == LIMN_OK)
        status = check_shape(ctx, file, shape, m);
    if (status == LIMN_OK)
        status = get_machine(ctx, file, m);
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

limn_status sv_export(limn_context *ctx, const void *opaque, const int32_t *labels,
                      const char *path) {
    const sv_model *m = opaque;
    return lm_svm_write(ctx, &m->svm, m->labels ? m->labels : labels, path);
}
