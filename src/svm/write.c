/* write.c: writes a support vector machine as LIBSVM's text model.
 *
 * The form, the order of the keys and the blanks are those of svm_save_model. Numbers are the
 * shortest text that reads back as the same double or float. Zeros of the vectors are left out, and
 * with them trailing features that are zero in all vectors: the format does not store the number of
 * features. prob_density_marks are read only by LIBSVM 3.30 and later. */
#include "data/number.h"
#include "svm/svm.h"

#include <math.h>
#include <string.h>

typedef struct writer {
    limn_context *ctx;
    const char *path;
    const uint32_t *keep; /* of each feature; NULL: its own number */
    limn_output *out;
    limn_status status; /* of the first failure; nothing is written after it */
} writer;

static void put(writer *w, const void *bytes, size_t size) {
    if (w->status == LIMN_OK)
        w->status = limn_output_write(w->out, bytes, size);
}

static void put_text(writer *w, const char *text) {
    put(w, text, strlen(text));
}

/* No reader accepts "nan". */
static bool holds(writer *w, bool finite) {
    if (!finite && w->status == LIMN_OK)
        w->status = lm_fail(w->ctx, LIMN_E_MODEL,
                            "%s: the model has a number that is not finite and cannot be written; "
                            "train it again",
                            w->path);
    return w->status == LIMN_OK;
}

static void put_whole(writer *w, int64_t value) {
    char text[LM_NUMBER_BYTES], *p = text + sizeof text;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--p = '-';
    put(w, p, (size_t)(text + sizeof text - p));
}

/* Coefficients at a bound are usually whole numbers, and with several classes most are 0. */
static void put_double(writer *w, double value) {
    char text[LM_NUMBER_BYTES];
    if (!holds(w, isfinite(value)))
        return;
    if (fabs(value) < 1e9 && value == (double)(int64_t)value && (value != 0 || !signbit(value)))
        put_whole(w, (int64_t)value);
    else
        put(w, text, lm_format_double(value, text));
}

static void put_key_name(writer *w, const char *key, const char *name) {
    put_text(w, key);
    put_text(w, " ");
    put_text(w, name);
    put_text(w, "\n");
}

static void put_key_whole(writer *w, const char *key, uint64_t value) {
    put_text(w, key);
    put_text(w, " ");
    put_whole(w, (int64_t)value);
    put_text(w, "\n");
}

static void put_key_doubles(writer *w, const char *key, const double *value, size_t count) {
    put_text(w, key);
    for (size_t i = 0; i < count; i++) {
        put_text(w, " ");
        put_double(w, value[i]);
    }
    put_text(w, "\n");
}

static void put_kernel(writer *w, const lm_kernel *kernel) {
    put_key_name(w, "kernel_type", lm_kernel_name(kernel->type));
    if (kernel->type == LM_POLYNOMIAL)
        put_key_whole(w, "degree", (uint64_t)kernel->degree);
    if (kernel->type != LM_LINEAR)
        put_key_doubles(w, "gamma", &kernel->gamma, 1);
    if (kernel->type == LM_POLYNOMIAL || kernel->type == LM_SIGMOID)
        put_key_doubles(w, "coef0", &kernel->coef0, 1);
}

static void put_header(writer *w, const lm_svm *svm, const int32_t *labels) {
    size_t functions = lm_svm_functions(svm);
    bool svc = lm_svm_is_svc(svm->type);
    put_key_name(w, "svm_type", lm_svm_type_name(svm->type));
    put_kernel(w, &svm->kernel);
    put_key_whole(w, "nr_class", svm->classes);
    put_key_whole(w, "total_sv", svm->n);
    put_key_doubles(w, "rho", svm->rho, functions);
    if (svc) {
        put_text(w, "label");
        for (size_t c = 0; c < svm->classes; c++) {
            put_text(w, " ");
            put_whole(w, labels ? labels[c] : (int64_t)c);
        }
        put_text(w, "\n");
    }
    if (svm->prob_a)
        put_key_doubles(w, "probA", svm->prob_a, functions);
    if (svm->prob_b)
        put_key_doubles(w, "probB", svm->prob_b, functions);
    if (svm->marks)
        put_key_doubles(w, "prob_density_marks", svm->marks, LM_SVM_MARKS);
    if (svc) {
        put_text(w, "nr_sv");
        for (size_t c = 0; c < svm->classes; c++) {
            put_text(w, " ");
            put_whole(w, (int64_t)svm->count[c]);
        }
        put_text(w, "\n");
    }
    put_text(w, "SV\n");
}

static void put_vector(writer *w, const lm_svm *svm, size_t i) {
    const float *x = svm->sv + i * svm->d;
    for (size_t c = 0; c + 1 < svm->classes; c++) {
        put_double(w, svm->coef[c * svm->n + i]);
        put_text(w, " ");
    }
    for (size_t j = 0; j < svm->d; j++) {
        char text[2 * LM_NUMBER_BYTES];
        if (x[j] == 0 || !holds(w, isfinite(x[j])))
            continue;
        size_t size = lm_format_whole((w->keep ? w->keep[j] : (uint32_t)j) + 1, text);
        text[size++] = ':';
        size += lm_format_float(x[j], text + size);
        text[size++] = ' ';
        put(w, text, size);
    }
    put_text(w, "\n");
}

limn_status lm_svm_put(limn_context *ctx, const lm_svm *svm, const int32_t *labels,
                       const uint32_t *keep, const char *path, limn_output *output) {
    writer w = {.ctx = ctx, .path = path, .keep = keep, .out = output};
    put_header(&w, svm, labels);
    for (size_t i = 0; i < svm->n && w.status == LIMN_OK; i++)
        put_vector(&w, svm, i);
    return w.status;
}

limn_status lm_svm_write(limn_context *ctx, const lm_svm *svm, const int32_t *labels,
                         const char *path) {
    limn_output *output;
    limn_status status = limn_output_open(ctx, path, &output);
    if (status != LIMN_OK)
        return status;
    status = lm_svm_put(ctx, svm, labels, NULL, path, output);
    if (status == LIMN_OK)
        return limn_output_commit(output);
    limn_output_discard(output);
    return status;
}
