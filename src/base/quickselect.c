/* quickselect.c: Hoare's selection, for floats and doubles. */
#include "base/quickselect.h"

#define SELECT_KTH(name, number)                                             \
    void name(lm_rng *rng, number *v, size_t n, size_t k) {                  \
        size_t low = 0, high = n - 1;                                        \
        while (low < high) {                                                 \
            /* Never the last one, or the lower part could be everything. */ \
            number pivot = v[low + (size_t)lm_rng_below(rng, high - low)];   \
            size_t i = low, j = high;                                        \
            for (;; i++, j--) {                                              \
                while (v[i] < pivot)                                         \
                    i++;                                                     \
                while (v[j] > pivot)                                         \
                    j--;                                                     \
                if (i >= j)                                                  \
                    break;                                                   \
                number swap = v[i];                                          \
                v[i] = v[j];                                                 \
                v[j] = swap;                                                 \
            }                                                                \
            if (k <= j)                                                      \
                high = j;                                                    \
            else                                                             \
                low = j + 1;                                                 \
        }                                                                    \
    }

SELECT_KTH(lm_select_kth, float)
SELECT_KTH(lm_select_kth_double, double)
