/* rows.c: calls the kernels of the instruction set in use. */
#include "num/rows.h"

#include "num/simd/simd.h"

lm_pair_distance *lm_pair_kernel(lm_metric metric) {
    const lm_simd_rows *rows = lm_simd_get()->rows;
    return metric == LM_L1 ? rows->pair_l1 : rows->pair_l2;
}

lm_gather *lm_gather_kernel(lm_metric metric) {
    return lm_simd_get()->rows->gather[metric];
}

lm_spread *lm_spread_kernel(lm_metric metric) {
    return lm_simd_get()->rows->spread[metric];
}

lm_keys *lm_keys_kernel(void) {
    return lm_simd_get()->rows->keys;
}

lm_gather_bytes *lm_gather_bytes_kernel(void) {
    return lm_simd_get()->rows->gather_bytes;
}

lm_scores *lm_scores_kernel(void) {
    return lm_simd_get()->rows->panel_scores;
}
