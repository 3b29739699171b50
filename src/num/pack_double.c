/* pack_double.c: calls the kernels of the instruction set in use. */
#include "num/pack_double.h"

#include "num/simd/simd.h"

#include <math.h>

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

/* ---- distances and sums ---- */

void lm_pack_centre(const lm_pack *pack, double *centre, double *norm) {
    for (size_t j = 0; j < pack->d; j++)
        centre[j] = 0;
    for (size_t i = 0; i < pack->n; i++)
        norm[i] = 0;
    for (size_t p = 0; p < pack->panels * pack->d; p++)
        for (size_t i = 0; i < LM_PANEL; i++) /* the places past n are 0 */
            centre[p % pack->d] += (double)pack->data[p * LM_PANEL + i] / (double)pack->n;
    for (size_t p = 0; p < pack->panels * pack->d; p++)
        for (size_t i = 0, row = p / pack->d * LM_PANEL; i < LM_PANEL && row + i < pack->n; i++) {
            double value = (double)pack->data[p * LM_PANEL + i] - centre[p % pack->d];
            norm[row + i] += value * value;
        }
}

/* Below this share of what they are the difference of, squared distances are summed directly: one
 * row far away moves the centre so far that little is left of the others' distances. */
#define CANCELLED 1e-7

static double direct_distance(const lm_pack *pack, size_t row, const float *x) {
    const float *at = pack->data + row / LM_PANEL * LM_PANEL * pack->d + row % LM_PANEL;
    double sum = 0;
    for (size_t j = 0; j < pack->d; j++) {
        double by = (double)at[j * LM_PANEL] - (double)x[j];
        sum += by * by;
    }
    return sum;
}

void lm_pack_distances_double(const lm_pack *pack, const double *centre, const double *norm,
                              size_t first, size_t count, const float *x, double *out,
                              double *spare) {
    double own = 0, shift = 0, size = 0;
    size_t row = first * LM_PANEL;
    for (size_t j = 0; j < pack->d; j++) {
        spare[j] = (double)x[j] - centre[j];
        own += spare[j] * spare[j];
        shift += spare[j] * centre[j];
        size += fabs(spare[j] * centre[j]);
    }
    lm_pack_dots_double(pack, first, count, spare, out);
    for (size_t i = 0; i < count * LM_PANEL && row + i < pack->n; i++) {
        double distance = own + norm[row + i] - 2 * (out[i] - shift);
        bool cancelled = !(distance > CANCELLED * (own + norm[row + i] + size));
        out[i] = cancelled ? direct_distance(pack, row + i, x) : distance;
    }
}

void lm_pack_sum_double(const lm_pack *pack, const double *weight, double *out) {
    lm_simd_get()->in_double->sums(pack->data, pack->d, pack->panels, weight, out);
}
