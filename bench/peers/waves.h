/* waves.h: functions of many numbers at once, compiled by flags that let the compiler use vector
 * instructions for them. */
#ifndef LIMN_BENCH_WAVES_H
#define LIMN_BENCH_WAVES_H

#include <stdint.h>

void exp_all(float *x, int32_t count, float less); /* x = exp(x - less) */
void cos_all(float *x, int32_t count);

#endif
