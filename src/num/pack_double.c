/* pack_double.c: calls the kernels of the instruction set in use. */
#include "num/pack_double.h"

#include "num/simd/simd.h"

void lm_pack_dots_double(const lm_pack *pack, size_t first, size_t count, const double *x,
                         double *out) {
    lm_simd_get()->in_double->dots(pack->data + first * LM_PANEL * pack->d, pack->d, count, x, out);
}

void lm_split_put(float *high, float *low, size_t d, size_t row, const double *values) {
    size_t at = row / LM_PANEL * LM_PANEL * d + row % LM_PANEL;
    for (size_t j = 0; j < d; j++) {
        float rounded = (float)values[j];
        high[at + j * LM_PANEL] = rounded;
        low[at + j * LM_PANEL] = (float)(values[j] - (double)rounded);
    }
}

void lm_split_dots(const lm_split *split, size_t first, size_t count, const double *x, double *out,
                   double *spare) {
    lm_pack_dots_double(&split->high, first, count, x, out);
    if (!split->low.data)
        return;
    lm_pack_dots_double(&split->low, first, count, x, spare);
    for (size_t i = 0; i < count * LM_PANEL; i++)
        out[i] += spare[i];
}
