/* peak.h: what peak.c makes, once per instruction set. */
#ifndef LIMN_BENCH_PEAK_H
#define LIMN_BENCH_PEAK_H

#include <stddef.h>

/* Runs the loop; returns the number of scalar multiply-adds it made. */
typedef size_t peak_loop(size_t rounds, float *result);
peak_loop peak_baseline, peak_avx2, peak_avx512, peak_neon;

#if defined(__aarch64__)
#define VEC_REGISTER "w"
#else
#define VEC_REGISTER "x"
#endif

#endif
