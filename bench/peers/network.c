/* network.c: a network of scikit-learn's with one hidden layer of relus, walked in plain C.
 *
 * Scaling of the features is part of the first layer. One output means two classes: above 0 the
 * second. Otherwise the largest output wins. Layers are padded with zeros to blocks of 16
 * (layer.h).
 *
 * File: int32 inputs, hidden, outputs, classes; int32 labels[classes]; floats of the first layer,
 * then of the second, whose inputs are the padded hidden units. */
#include "layer.h"
#include "peer.h"

typedef struct network {
    layer first, second;
    int32_t outputs;
    const int32_t *labels;
    int32_t *used; /* features of the row that are not 0 */
    int32_t *every;
} network;

static int32_t network_answer(void *state, size_t index, const float *x) {
    const network *n = state;
    float *h = (float *)n->first.out;
    const float *out = (const float *)n->second.out;
    int32_t best = 0;
    (void)index;
    layer_run(&n->first, x, n->used, list_used(x, n->first.inputs, n->used));
    for (int32_t j = 0; j < n->second.inputs; j++)
        h[j] = h[j] > 0 ? h[j] : 0;
    layer_run(&n->second, h, n->every, n->second.inputs);
    if (n->outputs == 1)
        return n->labels[out[0] > 0];
    for (int32_t c = 1; c < n->outputs; c++)
        best = out[c] > out[best] ? c : best;
    return n->labels[best];
}

peer network_open(const char *path, const table *rows) {
    size_t size;
    const int32_t *head = slurp(path, &size);
    network *n = need(1, sizeof *n);
    n->outputs = head[2];
    n->labels = head + 4;
    const char *cursor = (const char *)(n->labels + head[3]);
    n->first = layer_take(&cursor, head[0], head[1]);
    n->second = layer_take(&cursor, n->first.blocks * LANES, head[2]);
    n->used = need((size_t)head[0] + 1, sizeof *n->used);
    n->every = list_every(n->second.inputs);
    if (cursor != (const char *)head + size || head[0] != rows->d)
        die("%s: not a network for these rows", path);
    return (peer){.state = n, .answer = network_answer, .bytes = size};
}
