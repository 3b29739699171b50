/* quickselect.c: Hoare's selection. */
#include "base/quickselect.h"

void lm_select_kth(lm_rng *rng, float *v, size_t n, size_t k) {
    size_t low = 0, high = n - 1;
    while (low < high) {
        /* Never the last one: the lower part would be all of it. */
        float pivot = v[low + (size_t)lm_rng_below(rng, high - low)];
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            float swap = v[i];
            v[i] = v[j];
            v[j] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}

void lm_select_kth_double(lm_rng *rng, double *v, size_t n, size_t k) {
    size_t low = 0, high = n - 1;
    while (low < high) {
        /* Never the last one: the lower part would be all of it. */
        double pivot = v[low + (size_t)lm_rng_below(rng, high - low)];
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            double swap = v[i];
            v[i] = v[j];
            v[j] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}
