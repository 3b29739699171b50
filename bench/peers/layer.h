/* layer.h: sums of weighted inputs by blocks of 16 units, which the compiler keeps in vector
 * registers. What the walks of network.c and expansion.c share. */
#ifndef LIMN_BENCH_LAYER_H
#define LIMN_BENCH_LAYER_H

#include <stdint.h>

enum { LANES = 16 };
typedef float block __attribute__((vector_size(LANES * sizeof(float))));

typedef struct layer {
    int32_t inputs, blocks;
    const block *bias, *weight;
    block *out;
} layer;

/* In the file: bias[block][16] and weight[block][input][16]; moves the cursor past them. */
layer layer_take(const char **cursor, int32_t inputs, int32_t units);
/* Only the count inputs that are listed in used; the others are 0. */
void layer_run(const layer *l, const float *x, const int32_t *used, int32_t count);
/* Most features of pictures are 0. (So are half of the hidden units of a network, but listing those
 * costs more than it saves.) Returns how many are not; used has room for one more than count. */
int32_t list_used(const float *x, int32_t count, int32_t *used);
/* 0, 1, 2, .. */
int32_t *list_every(int32_t count);

#endif
