/* svm.c: type names and freeing of a support vector machine. */
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

const char *lm_svm_type_name(lm_svm_type type) {
    static const char *const names[] = {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"};
    return (size_t)type < LM_COUNT(names) ? names[type] : NULL;
}
