/* registry.c: the one list of methods. */
#include "method.h"

#include <string.h>

extern const lm_method lm_method_knn, lm_method_lda, lm_method_svm, lm_method_vpc, lm_method_nah,
    lm_method_nhd, lm_method_nch, lm_method_nsc, lm_method_nrh, lm_method_bforest, lm_method_agf,
    lm_method_kde, lm_method_borders, lm_method_student, lm_method_ptree, lm_method_perceptron,
    lm_method_stoptron, lm_method_forgetron, lm_method_projectron;

static const lm_method *const methods[] = {
    &lm_method_knn,      &lm_method_lda,       &lm_method_svm,        &lm_method_vpc,
    &lm_method_nah,      &lm_method_nhd,       &lm_method_nch,        &lm_method_nsc,
    &lm_method_nrh,      &lm_method_bforest,   &lm_method_agf,        &lm_method_kde,
    &lm_method_borders,  &lm_method_student,   &lm_method_ptree,      &lm_method_perceptron,
    &lm_method_stoptron, &lm_method_forgetron, &lm_method_projectron,
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

unsigned lm_method_capabilities(const lm_method *m) {
    unsigned can = m->can;
    can |= m->proba ? LIMN_CAN_PROBA : 0;
    can |= m->scores ? LIMN_CAN_SCORES : 0;
    can |= m->searching ? LIMN_CAN_SEARCH : 0;
    can |= m->online ? LIMN_CAN_LEARN : 0;
    can |= m->online && m->online->forget ? LIMN_CAN_FORGET : 0;
    can |= m->foreign ? LIMN_CAN_IMPORT : 0;
    return can;
}

unsigned limn_method_capabilities(const char *name) {
    const lm_method *method = lm_method_find(name);
    return method ? lm_method_capabilities(method) : 0;
}

const char *limn_capability_name(unsigned bit) {
    static const char *const names[] = {"classify", "regress", "search", "proba",  "scores",
                                        "learn",    "forget",  "kernel", "import", "outlier",
                                        "density",  "weights", "reject", "teacher"};
    for (size_t i = 0; i < LM_COUNT(names); i++)
        if (bit == 1u << i)
            return names[i];
    return NULL;
}
