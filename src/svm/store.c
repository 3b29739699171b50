/* store.c: the sections of a support vector machine in a model file; see store.h. */
#include "svm/store.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A name that does not fit is too long for a section as well, so the container refuses what is left
 * of it. */
enum { NAME = 2 * LM_SECTION_NAME };

static const char *name_of(const lm_svm_sections *sections, const char *part, char *name) {
    snprintf(name, NAME, "%s.%s", sections->prefix, part);
    return name;
}

/* ---- saving ---- */

static limn_status put_about(const lm_svm *svm, const lm_svm_sections *sections, bool flag,
                             lm_writer *writer) {
    char name[NAME];
    lm_kv_out *kv;
    limn_status status =
        lm_kv_begin(writer, name_of(sections, "about", name), sections->version, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_text(kv, "type", lm_svm_type_name(svm->type));
    lm_kv_put_text(kv, "kernel", lm_kernel_name(svm->kernel.type));
    lm_kv_put_int(kv, "degree", svm->kernel.degree);
    lm_kv_put_real(kv, "gamma", svm->kernel.gamma);
    lm_kv_put_real(kv, "coef0", svm->kernel.coef0);
    lm_kv_put_int(kv, "features", (int64_t)svm->d);
    lm_kv_put_int(kv, "vectors", (int64_t)svm->n);
    if (sections->flag)
        lm_kv_put_int(kv, sections->flag, flag);
    return lm_kv_end(kv);
}

static limn_status put(lm_writer *writer, const lm_svm_sections *sections, const char *part,
                       const void *data, size_t count, size_t size) {
    char name[NAME];
    return data ? lm_writer_section(writer, name_of(sections, part, name), sections->version, data,
                                    count * size)
                : LIMN_OK;
}

limn_status lm_svm_save(const lm_svm *svm, const lm_svm_sections *sections, bool flag,
                        lm_writer *writer) {
    size_t functions = lm_svm_functions(svm), coefs = (svm->classes - 1) * svm->n;
    limn_status status = put_about(svm, sections, flag, writer);
    if (status == LIMN_OK)
        status = put(writer, sections, "counts", svm->count, svm->classes, sizeof *svm->count);
    if (status == LIMN_OK && svm->n)
        status = put(writer, sections, "vectors", svm->sv, svm->n * svm->d, sizeof *svm->sv);
    if (status == LIMN_OK && svm->n)
        status = put(writer, sections, "coef", svm->coef, coefs, sizeof *svm->coef);
    if (status == LIMN_OK && functions)
        status = put(writer, sections, "rho", svm->rho, functions, sizeof *svm->rho);
    if (status == LIMN_OK)
        status = put(writer, sections, "prob_a", svm->prob_a, functions, sizeof *svm->prob_a);
    if (status == LIMN_OK)
        status = put(writer, sections, "prob_b", svm->prob_b, functions, sizeof *svm->prob_b);
    if (status == LIMN_OK)
        status = put(writer, sections, "marks", svm->marks, LM_SVM_MARKS, sizeof *svm->marks);
    return status;
}

/* ---- loading ---- */

/* What about says, before it is believed. */
typedef struct about {
    const char *type, *kernel;
    int64_t degree, features, vectors, flag;
} about;

static limn_status get_keys(const lm_kv *kv, const char *flag, lm_kernel *kernel, about *a) {
    limn_status status = lm_kv_text(kv, "type", &a->type);
    if (status == LIMN_OK)
        status = lm_kv_text(kv, "kernel", &a->kernel);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "degree", 0, INT_MAX, &a->degree);
    if (status == LIMN_OK)
        status = lm_kv_real(kv, "gamma", -1e300, 1e300, &kernel->gamma);
    if (status == LIMN_OK)
        status = lm_kv_real(kv, "coef0", -1e300, 1e300, &kernel->coef0);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "features", 1, INT32_MAX, &a->features);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "vectors", 0, INT32_MAX, &a->vectors);
    if (status == LIMN_OK && flag)
        status = lm_kv_int(kv, flag, 0, 1, &a->flag);
    return status;
}

static limn_status take_names(const lm_kv *kv, const about *a, lm_svm *svm) {
    int t = LM_NU_SVR, k = LM_SIGMOID;
    while (t >= 0 && strcmp(lm_svm_type_name((lm_svm_type)t), a->type) != 0)
        t--;
    while (k >= 0 && strcmp(lm_kernel_name((lm_kernel_type)k), a->kernel) != 0)
        k--;
    if (t < 0 || k < 0)
        return lm_file_bad(kv->ctx, kv->file, "the machine '%.20s' with kernel '%.20s' is unknown",
                           a->type, a->kernel);
    svm->type = (lm_svm_type)t;
    svm->kernel.type = (lm_kernel_type)k;
    return LIMN_OK;
}

limn_status lm_svm_load_about(limn_context *ctx, const lm_file *file,
                              const lm_svm_sections *sections, lm_svm *svm, bool *flag) {
    char name[NAME];
    lm_kv kv;
    about a = {0};
    *svm = (lm_svm){0};
    limn_status status =
        lm_kv_open(ctx, file, name_of(sections, "about", name), sections->version, &kv);
    if (status == LIMN_OK)
        status = get_keys(&kv, sections->flag, &svm->kernel, &a);
    if (status == LIMN_OK)
        status = take_names(&kv, &a, svm);
    if (status != LIMN_OK)
        return status;
    svm->kernel.degree = (int)a.degree;
    svm->d = (size_t)a.features;
    svm->n = (size_t)a.vectors;
    if (sections->flag)
        *flag = a.flag;
    return LIMN_OK;
}

/* Where the arrays come from. */
typedef struct source {
    limn_context *ctx;
    const lm_file *file;
    const lm_svm_sections *sections;
} source;

static limn_status get(const source *from, const char *part, size_t count, size_t size,
                       const void **out) {
    char name[NAME];
    return lm_file_array(from->ctx, from->file, name_of(from->sections, part, name),
                         from->sections->version, count, size, out);
}

static limn_status get_doubles(const source *from, const char *part, size_t count,
                               const double **out) {
    char name[NAME];
    const void *data = NULL;
    limn_status status = get(from, part, count, sizeof(double), &data);
    *out = data;
    for (size_t i = 0; i < count && status == LIMN_OK; i++)
        if (!isfinite((*out)[i]))
            status = lm_file_bad(from->ctx, from->file, "number %zu of section '%s' is not finite",
                                 i, name_of(from->sections, part, name));
    return status;
}

static limn_status get_optional(const source *from, const char *part, size_t count,
                                const double **out) {
    char name[NAME];
    return lm_file_has(from->file, name_of(from->sections, part, name))
               ? get_doubles(from, part, count, out)
               : LIMN_OK;
}

static limn_status get_counts(const source *from, lm_svm *svm) {
    const void *data;
    uint64_t left = svm->n;
    limn_status status = get(from, "counts", svm->classes, sizeof *svm->count, &data);
    if (status != LIMN_OK)
        return status;
    svm->count = data;
    for (size_t c = 0; c < svm->classes; c++) {
        if (svm->count[c] > left)
            return lm_file_bad(from->ctx, from->file,
                               "the classes have more than %zu support vectors", svm->n);
        left -= svm->count[c];
    }
    return left ? lm_file_bad(from->ctx, from->file, "support vectors without a class: %llu",
                              (unsigned long long)left)
                : LIMN_OK;
}

static limn_status get_vectors(const source *from, lm_svm *svm) {
    size_t cells, coefs;
    const void *data;
    if (!lm_mul(svm->n, svm->d, &cells) || !lm_mul(svm->n, svm->classes - 1, &coefs))
        return lm_file_bad(from->ctx, from->file, "the number of support vectors, %zu, is invalid",
                           svm->n);
    limn_status status = get(from, "vectors", cells, sizeof *svm->sv, &data);
    if (status != LIMN_OK)
        return status;
    svm->sv = data;
    for (size_t i = 0; i < cells; i++)
        if (!isfinite(svm->sv[i]))
            return lm_file_bad(from->ctx, from->file, "support vector %zu is not finite",
                               i / svm->d);
    return get_doubles(from, "coef", coefs, &svm->coef);
}

limn_status lm_svm_load_arrays(limn_context *ctx, const lm_file *file,
                               const lm_svm_sections *sections, size_t classes, lm_svm *svm) {
    source from = {ctx, file, sections};
    limn_status status = LIMN_OK;
    svm->classes = lm_svm_is_svc(svm->type) ? classes : 2;
    size_t functions = lm_svm_functions(svm);
    if (lm_svm_is_svc(svm->type))
        status = get_counts(&from, svm);
    if (status == LIMN_OK && svm->n)
        status = get_vectors(&from, svm);
    if (status == LIMN_OK && functions)
        status = get_doubles(&from, "rho", functions, &svm->rho);
    if (status == LIMN_OK && functions)
        status = get_optional(&from, "prob_a", functions, &svm->prob_a);
    if (status == LIMN_OK && functions)
        status = get_optional(&from, "prob_b", functions, &svm->prob_b);
    if (status == LIMN_OK && svm->type == LM_ONE_CLASS)
        status = get_optional(&from, "marks", LM_SVM_MARKS, &svm->marks);
    return status;
}
