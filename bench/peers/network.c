/* network.c: a network of scikit-learn's with one hidden layer of relus, walked in plain C.
 *
 * Scaling of the features is part of the first layer. One output means two classes: above 0 the
 * second. Otherwise the largest output wins. Layers are padded with zeros to blocks of 16, which
 * the compiler keeps in vector registers; four sums per block hide the latency of a multiply-add.
 *
 * File: int32 inputs, hidden, outputs, classes; int32 labels[classes]; floats, by blocks of 16
 * hidden units or outputs: bias[block][16] and weight[block][input][16] of the first layer, then
 * of the second, whose inputs are the padded hidden units. */
#include "peer.h"

#include <string.h>

enum { LANES = 16 };
typedef float block __attribute__((vector_size(LANES * sizeof(float))));

typedef struct layer {
    int32_t inputs, blocks;
    const block *bias, *weight;
    block *out;
} layer;

typedef struct network {
    layer first, second;
    int32_t outputs;
    const int32_t *labels;
    int32_t *used;  /* features of the row that are not 0 */
    int32_t *every; /* 0, 1, 2, .. */
} network;

static void run_layer(const layer *l, const float *x, const int32_t *used, int32_t count) {
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

/* Most features of pictures are 0. (So are half of the hidden units, but listing those costs more
 * than it saves.) */
static int32_t list_used(const float *x, int32_t count, int32_t *used) {
    int32_t found = 0;
    for (int32_t i = 0; i < count; i++) {
        used[found] = i;
        found += x[i] != 0;
    }
    return found;
}

static int32_t network_answer(void *state, size_t index, const float *x) {
    const network *n = state;
    float *h = (float *)n->first.out;
    const float *out = (const float *)n->second.out;
    int32_t best = 0;
    (void)index;
    run_layer(&n->first, x, n->used, list_used(x, n->first.inputs, n->used));
    for (int32_t j = 0; j < n->second.inputs; j++)
        h[j] = h[j] > 0 ? h[j] : 0;
    run_layer(&n->second, h, n->every, n->second.inputs);
    if (n->outputs == 1)
        return n->labels[out[0] > 0];
    for (int32_t c = 1; c < n->outputs; c++)
        best = out[c] > out[best] ? c : best;
    return n->labels[best];
}

/* Aligned, since the file is not. */
static block *take_blocks(const char **cursor, size_t count) {
    block *blocks = aligned(count * sizeof *blocks);
    memcpy(blocks, *cursor, count * sizeof *blocks);
    *cursor += count * sizeof *blocks;
    return blocks;
}

static layer take_layer(const char **cursor, int32_t inputs, int32_t units) {
    layer l = {.inputs = inputs, .blocks = (units + LANES - 1) / LANES};
    l.bias = take_blocks(cursor, (size_t)l.blocks);
    l.weight = take_blocks(cursor, (size_t)l.blocks * (size_t)inputs);
    l.out = aligned((size_t)l.blocks * sizeof *l.out);
    return l;
}

peer network_open(const char *path, const table *rows) {
    size_t size;
    const int32_t *head = slurp(path, &size);
    network *n = need(1, sizeof *n);
    n->outputs = head[2];
    n->labels = head + 4;
    const char *cursor = (const char *)(n->labels + head[3]);
    n->first = take_layer(&cursor, head[0], head[1]);
    n->second = take_layer(&cursor, n->first.blocks * LANES, head[2]);
    n->used = need((size_t)head[0] + 1, sizeof *n->used);
    n->every = need((size_t)n->second.inputs, sizeof *n->every);
    for (int32_t j = 0; j < n->second.inputs; j++)
        n->every[j] = j;
    if (cursor != (const char *)head + size || head[0] != rows->d)
        die("%s: not a network for these rows", path);
    return (peer){.state = n, .answer = network_answer, .bytes = size};
}
