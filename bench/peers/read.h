/* read.h: what read.c makes, once per instruction set. */
#ifndef LIMN_BENCH_READ_H
#define LIMN_BENCH_READ_H

#include <stddef.h>

/* Loads n floats once; returns how many it loaded (the rest of the last round is left out). */
typedef size_t read_loop(const float *x, size_t n, float *result);
read_loop read_baseline, read_avx2, read_avx512, read_neon;

#endif
