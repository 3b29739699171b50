/* layer.c: sums of weighted inputs. Four sums per block hide the latency of a multiply-add. */
#include "layer.h"

#include "peer.h"

#include <string.h>

void layer_run(const layer *l, const float *x, const int32_t *used, int32_t count) {
    for (int32_t b = 0; b < l->blocks; b++) {
        const block *w = l->weight + (size_t)b * (size_t)l->inputs;
        block s0 = l->bias[b], s1 = {0}, s2 = {0}, s3 = {0};
        int32_t i = 0;
        for (; i + 4 <= count; i += 4) {
            s0 += x[used[i]] * w[used[i]];
            s1 += x[used[i + 1]] * w[used[i + 1]];
            s2 += x[used[i + 2]] * w[used[i + 2]];
            s3 += x[used[i + 3]] * w[used[i + 3]];
        }
        for (; i < count; i++)
            s0 += x[used[i]] * w[used[i]];
        l->out[b] = (s0 + s1) + (s2 + s3);
    }
}

int32_t list_used(const float *x, int32_t count, int32_t *used) {
    int32_t found = 0;
    for (int32_t i = 0; i < count; i++) {
        used[found] = i;
        found += x[i] != 0;
    }
    return found;
}

int32_t *list_every(int32_t count) {
    int32_t *every = need((size_t)count, sizeof *every);
    for (int32_t j = 0; j < count; j++)
        every[j] = j;
    return every;
}

/* Aligned, since the file is not. */
static block *take_blocks(const char **cursor, size_t count) {
    block *blocks = aligned(count * sizeof *blocks);
    memcpy(blocks, *cursor, count * sizeof *blocks);
    *cursor += count * sizeof *blocks;
    return blocks;
}

layer layer_take(const char **cursor, int32_t inputs, int32_t units) {
    layer l = {.inputs = inputs, .blocks = (units + LANES - 1) / LANES};
    l.bias = take_blocks(cursor, (size_t)l.blocks);
    l.weight = take_blocks(cursor, (size_t)l.blocks * (size_t)inputs);
    l.out = aligned((size_t)l.blocks * sizeof *l.out);
    return l;
}
