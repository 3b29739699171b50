/* rows.c: the kernels of the instruction set in use. */
#include "num/rows.h"

#include "num/simd/simd.h"

lm_pair_distance *lm_pair_kernel(lm_metric metric) {
    const lm_simd_rows *tree = lm_simd_get()->tree;
    return metric == LM_L1 ? tree->pair_l1 : tree->pair_l2;
}

lm_gather *lm_gather_kernel(lm_metric metric) {
    return lm_simd_get()->tree->gather[metric];
}

lm_gather_bytes *lm_gather_bytes_kernel(void) {
    return lm_simd_get()->tree->gather_bytes;
}

lm_scores *lm_scores_kernel(void) {
    return lm_simd_get()->tree->panel_scores;
}
