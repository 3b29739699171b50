/* svm.c: type names, copying, widening and freeing of a support vector machine. */
#include "svm/svm.h"

#include <string.h>

void lm_svm_free(const limn_allocator *mem, lm_svm *svm) {
    if (svm->owned) {
        lm_free(mem, (void *)svm->count);
        lm_free(mem, (void *)svm->sv);
        lm_free(mem, (void *)svm->coef);
        lm_free(mem, (void *)svm->rho);
        lm_free(mem, (void *)svm->prob_a);
        lm_free(mem, (void *)svm->prob_b);
        lm_free(mem, (void *)svm->marks);
    }
    memset(svm, 0, sizeof *svm);
}

/* NULL where there is nothing to copy, or no memory. */
static void *copy(const limn_allocator *mem, const void *from, size_t count, size_t size) {
    void *to = from && count ? lm_alloc(mem, count, size) : NULL;
    return to ? memcpy(to, from, count * size) : NULL;
}

limn_status lm_svm_copy(limn_context *ctx, const lm_svm *from, lm_svm *to) {
    size_t functions = lm_svm_functions(from), rows = from->classes - 1;
    *to = *from;
    to->owned = true;
    to->prob_a = to->prob_b = to->marks = NULL;
    to->count = copy(&ctx->mem, from->count, from->classes, sizeof *to->count);
    to->sv = copy(&ctx->mem, from->sv, from->n * from->d, sizeof *to->sv);
    to->coef = copy(&ctx->mem, from->coef, rows * from->n, sizeof *to->coef);
    to->rho = copy(&ctx->mem, from->rho, functions, sizeof *to->rho);
    bool all = (to->count || !from->count) && (!from->n || (to->sv && (to->coef || !rows))) &&
               (to->rho || !functions);
    return all ? LIMN_OK : lm_fail_memory(ctx);
}

limn_status lm_svm_widen(limn_context *ctx, lm_svm *svm, size_t d) {
    size_t cells, bytes;
    if (!lm_mul(svm->n, d, &cells) || !lm_mul(cells, sizeof *svm->sv, &bytes) ||
        bytes > ctx->memory_limit)
        return lm_fail(ctx, LIMN_E_MODEL,
                       "a matrix of %zu support vectors x %zu features needs more memory than the "
                       "limit, which is %llu MB; renumber the features without gaps or use fewer",
                       svm->n, d, (unsigned long long)(ctx->memory_limit / 1000000));
    float *sv = lm_alloc_zero(&ctx->mem, cells, sizeof *sv);
    if (!sv)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < svm->n; i++)
        memcpy(sv + i * d, svm->sv + i * svm->d, svm->d * sizeof *sv);
    lm_free(&ctx->mem, (void *)svm->sv);
    svm->sv = sv;
    svm->d = d;
    return LIMN_OK;
}

const char *lm_svm_type_name(lm_svm_type type) {
    static const char *const names[] = {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"};
    return (size_t)type < LM_COUNT(names) ? names[type] : NULL;
}
