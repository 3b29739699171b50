/* read.c: the rate at which the machine reads a block of memory when it does nothing else with it:
 * the limit of a query that touches every byte of a model once. Compiled once per instruction set,
 * as micro/peak.c. */
#include "read.h"
#include "num/simd/vec.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

/* Additions take up to four cycles and two start in each: eight sums keep them out of the way. */
enum { SUMS = 8 };

size_t GLUE(read_, LM_ISA)(const float *x, size_t n, float *result) {
    vec sum[SUMS];
    size_t i = 0;
    UNROLL
    for (int s = 0; s < SUMS; s++)
        sum[s] = v_set(0);
    for (; i + SUMS * W <= n; i += SUMS * W) {
        UNROLL
        for (int s = 0; s < SUMS; s++)
            sum[s] += v_load(x + i + (size_t)s * W);
    }
    UNROLL
    for (int s = 1; s < SUMS; s++)
        sum[0] += sum[s];
    *result = sum[0][0];
    return i;
}
