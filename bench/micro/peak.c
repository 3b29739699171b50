/* peak.c: the rate of multiply-adds that the machine reaches when nothing leaves the registers.
 * Compiled once per instruction set, with the flags of src/num/simd/body.c. */
#include "peak.h"
#include "num/simd/vec.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

/* Twelve chains hide the latency of multiply-adds on two ports; with SSE2 they leave room for the
 * products. */
enum { CHAINS = 12 };

size_t GLUE(peak_, LM_ISA)(size_t rounds, float *result) {
    vec sum[CHAINS], factor = v_set(0.999f), term = v_set(1e-3f);
    __asm__ volatile("" : "+" VEC_REGISTER(factor), "+" VEC_REGISTER(term));
    UNROLL
    for (int i = 0; i < CHAINS; i++)
        sum[i] = v_set((float)i);
    for (size_t r = 0; r < rounds; r++) {
        UNROLL
        for (int i = 0; i < CHAINS; i++) {
            sum[i] = v_fma(sum[i], factor, term);
            __asm__ volatile("" : "+" VEC_REGISTER(sum[i]));
        }
    }
    vec total = sum[0];
    UNROLL
    for (int i = 1; i < CHAINS; i++)
        total += sum[i];
    *result = total[0];
    return rounds * CHAINS * W;
}
