/* svm_world.h: for the tests of LIBSVM's text models: texts parsed as if they were files named
 * m, and small models to modify. */
#ifndef LIMN_TESTS_SVM_WORLD_H
#define LIMN_TESTS_SVM_WORLD_H

#include "svm/svm.h"
#include "write_world.h"

/* ---- files and parsing ---- */

static inline char *slurp(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

/* In a block of exactly its size, so that reading beyond it is noticed. */
static inline limn_status parse_bytes(world *w, const char *bytes, size_t size, lm_svm *svm,
                                      int32_t **labels) {
    char *exact = malloc(size ? size : 1);
    memcpy(exact, bytes, size);
    limn_status status = lm_svm_parse(w->ctx, "m", exact, size, svm, labels);
    free(exact);
    return status;
}

static inline void must_parse(world *w, const char *text, lm_svm *svm, int32_t **labels) {
    if (parse_bytes(w, text, strlen(text), svm, labels) != LIMN_OK)
        fail_msg("not parsed: %s\n%s", limn_error(w->ctx), text);
}

static inline void refused(world *w, const char *text, const char *sentence) {
    lm_svm svm;
    int32_t *labels;
    limn_status status = parse_bytes(w, text, strlen(text), &svm, &labels);
    assert_string_equal(limn_error(w->ctx), sentence);
    assert_int_equal(status, LIMN_E_MODEL);
    assert_null(labels);
    assert_null(svm.sv);
}

static inline void release(world *w, lm_svm *svm, int32_t *labels) {
    lm_svm_free(&w->ctx->mem, svm);
    lm_free(&w->ctx->mem, labels);
}

/* ---- texts made by hand ---- */

#define HEAD                                                                  \
    "svm_type c_svc\nkernel_type polynomial\ndegree 2\ngamma 0.5\ncoef0 -1\n" \
    "nr_class 3\ntotal_sv 4\nrho 0.25 -1 3e-05\nlabel 3 -1 2\n"
#define PROB "probA -1.5 -2 -0.1\nprobB 0 1 1e+20\n"
#define TAIL                                                        \
    "nr_sv 2 0 2\nSV\n1 0.5 1:0.25 3:-7 \n-0.125 0 2:1e-5 4:1.5 \n" \
    "2 -1 \n1e-07 1 1:3.4e38 \n"

static const char *const good[] = {
    HEAD PROB TAIL,
    HEAD TAIL,
    "svm_type nu_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nlabel 2147483647 "
    "-2147483648\nnr_sv 0 1\nSV\n-1 1:1 2:0.1 3:16777216 4:1e-45 \n",
    "svm_type one_class\nkernel_type rbf\ngamma 0\nnr_class 2\ntotal_sv 0\nrho 1.5\n"
    "prob_density_marks 1 2 3 4 5 6 7 8 9 10\nSV\n",
    "svm_type epsilon_svr\nkernel_type sigmoid\ngamma -0.5\ncoef0 0\nnr_class 2\ntotal_sv 2\nrho "
    "-1.5\nprobA 0.5\nSV\n1 \n-1 \n",
    "svm_type c_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nrho\nlabel 1\nprobA\nprobB\nnr_sv "
    "0\nSV\n",
};

/* text with the first a replaced by b, valid until the next call; text must not be an earlier
 * result. */
static inline const char *with(const char *text, const char *a, const char *b) {
    static char out[TEXT];
    const char *at = strstr(text, a);
    assert_non_null(at);
    snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, b, at + strlen(a));
    return out;
}

#endif
