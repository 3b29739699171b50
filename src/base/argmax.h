/* argmax.h: the index of the largest of n values (n > 0), the lowest index on ties; NaN never wins
 * unless it comes first. */
#ifndef LIMN_BASE_ARGMAX_H
#define LIMN_BASE_ARGMAX_H

#include <stddef.h>
#include <stdint.h>

#define LM_DEFINE_ARGMAX(name, type)                          \
    static inline size_t name(const type *values, size_t n) { \
        size_t best = 0;                                      \
        for (size_t i = 1; i < n; i++)                        \
            best = values[i] > values[best] ? i : best;       \
        return best;                                          \
    }

LM_DEFINE_ARGMAX(lm_argmax, double)
LM_DEFINE_ARGMAX(lm_argmax_float, float)
LM_DEFINE_ARGMAX(lm_argmax_int, int32_t)

#undef LM_DEFINE_ARGMAX

#endif
