/* argmax.h: the index of the largest of n values (n > 0), the lowest index on ties; NaN never wins
 * unless it comes first. And the indices of the `most` largest (or all n, if there are fewer), the
 * largest first, the lower index first on ties; returns how many these are. */
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

#define LM_DEFINE_LARGEST(name, type)                                                     \
    static inline size_t name(const type *values, size_t n, size_t most, size_t *index) { \
        size_t count = 0;                                                                 \
        for (size_t i = 0; i < n; i++) {                                                  \
            size_t at = count < most ? count++ : most;                                    \
            for (; at > 0 && values[i] > values[index[at - 1]]; at--)                     \
                if (at < most)                                                            \
                    index[at] = index[at - 1];                                            \
            if (at < most)                                                                \
                index[at] = i;                                                            \
        }                                                                                 \
        return count;                                                                     \
    }

LM_DEFINE_LARGEST(lm_largest, double)
LM_DEFINE_LARGEST(lm_largest_float, float)

#undef LM_DEFINE_LARGEST
#undef LM_DEFINE_ARGMAX

#endif
