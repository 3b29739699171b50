/* scales.h: the scalings that the contract tests try, and the tasks that each goes with. */
#ifndef LIMN_TESTS_SCALES_H
#define LIMN_TESTS_SCALES_H

#include <limn/limn.h>
#include <stdbool.h>

static const limn_scale scales[] = {LIMN_SCALE_AUTO,   LIMN_SCALE_NONE, LIMN_SCALE_MINMAX,
                                    LIMN_SCALE_ZSCORE, LIMN_SCALE_RANK, LIMN_SCALE_LEARNED};

/* Maps are learned from labels or targets, and densities need lines. */
static inline bool goes_with(limn_scale scale, limn_task task) {
    if (scale == LIMN_SCALE_LEARNED)
        return task == LIMN_CLASSIFY || task == LIMN_REGRESS;
    return scale != LIMN_SCALE_RANK || task != LIMN_DENSITY;
}

#endif
