/* registry.c: the one list of methods. */
#include "method.h"

#include <string.h>

extern const lm_method lm_method_knn, lm_method_lda, lm_method_svm, lm_method_vpc, lm_method_nah,
    lm_method_nhd, lm_method_nch, lm_method_nsc, lm_method_nrh, lm_method_bforest;

static const lm_method *const methods[] = {
    &lm_method_knn, &lm_method_lda, &lm_method_svm, &lm_method_vpc, &lm_method_nah,
    &lm_method_nhd, &lm_method_nch, &lm_method_nsc, &lm_method_nrh, &lm_method_bforest,
};

const lm_method *lm_method_at(size_t index) {
    return index < LM_COUNT(methods) ? methods[index] : NULL;
}

const lm_method *lm_method_find(const char *name) {
    for (size_t i = 0; name && i < LM_COUNT(methods); i++)
        if (strcmp(methods[i]->info.name, name) == 0)
            return methods[i];
    return NULL;
}

size_t limn_method_count(void) {
    return LM_COUNT(methods);
}

const limn_method_info *limn_method_at(size_t index) {
    const lm_method *method = lm_method_at(index);
    return method ? &method->info : NULL;
}

const limn_method_info *limn_method_find(const char *name) {
    const lm_method *method = lm_method_find(name);
    return method ? &method->info : NULL;
}

const char *limn_capability_name(unsigned bit) {
    switch (bit) {
    case LIMN_CAN_CLASSIFY:
        return "classify";
    case LIMN_CAN_REGRESS:
        return "regress";
    case LIMN_CAN_SEARCH:
        return "search";
    case LIMN_CAN_PROBA:
        return "proba";
    case LIMN_CAN_SCORES:
        return "scores";
    case LIMN_CAN_LEARN:
        return "learn";
    case LIMN_CAN_FORGET:
        return "forget";
    case LIMN_CAN_KERNEL:
        return "kernel";
    case LIMN_CAN_IMPORT:
        return "import";
    case LIMN_CAN_OUTLIER:
        return "outlier";
    case LIMN_CAN_DENSITY:
        return "density";
    case LIMN_CAN_WEIGHT:
        return "weights";
    case LIMN_CAN_REJECT:
        return "reject";
    default:
        return NULL;
    }
}
