/* fuzz_svm.c: LIBSVM's text models as hostile bytes. A model that parses must be sound, and it
 * must be possible to write it. */
#include "fuzz_data.h"
#include "svm/svm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void all_finite(const double *value, size_t count) {
    for (size_t i = 0; value && i < count; i++)
        REQUIRE(isfinite(value[i]));
}

static void check_classes(const lm_svm *svm, const int32_t *labels) {
    uint64_t sum = 0;
    REQUIRE(svm->classes >= 1 && svm->count && labels && !svm->marks);
    REQUIRE(!svm->prob_a == !svm->prob_b);
    for (size_t c = 0; c < svm->classes; c++) {
        sum += svm->count[c];
        for (size_t b = 0; b < c; b++)
            REQUIRE(labels[b] != labels[c]);
    }
    REQUIRE(sum == svm->n);
}

static void check_svm(const lm_svm *svm, const int32_t *labels) {
    size_t functions = lm_svm_functions(svm);
    REQUIRE(lm_svm_type_name(svm->type) && svm->kernel.type <= LM_SIGMOID);
    REQUIRE(svm->kernel.degree >= 1 && isfinite(svm->kernel.gamma) && isfinite(svm->kernel.coef0));
    REQUIRE(svm->d >= 1 && svm->sv && svm->coef && svm->rho && svm->owned);
    REQUIRE(svm->n * svm->d * sizeof(float) <= (size_t)64 << 20);
    if (lm_svm_is_svc(svm->type))
        check_classes(svm, labels);
    else
        REQUIRE(svm->classes == 2 && !svm->count && !labels && !svm->prob_b);
    all_finite(svm->rho, functions);
    all_finite(svm->prob_a, functions);
    all_finite(svm->prob_b, functions);
    all_finite(svm->marks, LM_SVM_MARKS);
    all_finite(svm->coef, svm->n * (svm->classes - 1));
    for (size_t i = 0; i < svm->n * svm->d; i++)
        REQUIRE(isfinite(svm->sv[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lm_svm svm;
    int32_t *labels = NULL;
    limn_context *ctx = fuzz_context();
    (void)lm_svm_is_text(data, size);
    limn_status status = lm_svm_parse(ctx, "fuzz", (const char *)data, size, &svm, &labels);
    if (status == LIMN_OK) {
        check_svm(&svm, labels);
        REQUIRE(lm_svm_write(ctx, &svm, labels, "/dev/null") == LIMN_OK);
    } else {
        REQUIRE(status == LIMN_E_MODEL && !labels && !svm.sv);
        REQUIRE(strncmp(ctx->error, "fuzz: line ", 11) == 0 && !strchr(ctx->error, '\n'));
    }
    lm_svm_free(&ctx->mem, &svm);
    lm_free(&ctx->mem, labels);
    limn_context_free(ctx);
    return 0;
}
