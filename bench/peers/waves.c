/* waves.c: plain loops. With -ffast-math, which is why they have a file of their own, gcc takes
 * them from libmvec, 16 numbers per call with AVX-512, to 4 units in the last place. */
#include "waves.h"

#include <math.h>

void exp_all(float *x, int32_t count, float less) {
    for (int32_t i = 0; i < count; i++)
        x[i] = expf(x[i] - less);
}

void cos_all(float *x, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        x[i] = cosf(x[i]);
}
