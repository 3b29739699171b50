/* layers.h: evaluating a small network of relu layers.
 *
 * Each layer is a linear function of its inputs, relu(h) = max(h, 0) between two layers:
 *
 *   h_1 = W_1 x + b_1,  h_2 = W_2 relu(h_1) + b_2,  ...
 *
 * Inputs that are 0 cost nothing: a query lists the others, and a layer adds up the columns of W
 * that are listed. So W is stored by inputs, the outputs beside each other in blocks of
 * LM_LAYER_BLOCK, which stay in registers while the list is walked. A single output of the last
 * layer is a dot product instead, unless it is the only layer.
 *
 * One query and many give the same result bit for bit: each block is summed by the same code, in
 * an order that depends only on the query. Of many queries, all pass a block before the next. */
#ifndef LIMN_NUM_LAYERS_H
#define LIMN_NUM_LAYERS_H

#include "base/scratch.h"

enum {
    LM_LAYERS_MAX = 4,
    LM_LAYER_BLOCK = 128,
    LM_LAYER_PANEL = 16, /* outputs are padded to a multiple of this */
    LM_LAYERS_TILE = 16  /* queries at once */
};
/* Inputs are cut to -LM_LAYER_FAR .. LM_LAYER_FAR, so that no sum overflows. */
#define LM_LAYER_FAR 1e12f

typedef struct lm_layer {
    size_t inputs, outputs;
    size_t width;        /* outputs, padded */
    bool single;         /* its only output is a dot product */
    const float *bias;   /* width; of padding: 0, or -FLT_MAX in the last layer */
    const float *weight; /* by blocks: inputs x (outputs of the block); 0 for padding. A single
                            output: inputs, padded with 0 */
} lm_layer;

typedef struct lm_layers {
    size_t count; /* at most LM_LAYERS_MAX */
    size_t room;  /* floats that the list of a query, or a hidden layer, takes of scratch */
    lm_layer layer[LM_LAYERS_MAX];
} lm_layers;

static inline size_t lm_layer_width(size_t outputs) {
    return (outputs + LM_LAYER_PANEL - 1) / LM_LAYER_PANEL * LM_LAYER_PANEL;
}

/* sizes: inputs of the network, then the outputs of each of count layers. How many floats its
 * layers have, a multiple of LM_LAYER_PANEL; false on overflow. */
bool lm_layers_floats(const size_t *sizes, size_t count, size_t *floats);
/* Points into data, which holds so many floats, layer by layer, each bias before its weights. */
void lm_layers_view(const size_t *sizes, size_t count, const float *data, lm_layers *out);
/* Writes one layer of a view: weight[i * outputs + o], bias[o]. last: it is the last one. */
void lm_layer_pack(const lm_layer *layer, const float *weight, const float *bias, bool last,
                   float *data);
/* Whether padding is as lm_layer_pack writes it. */
bool lm_layer_padded(const lm_layer *layer, bool last);

/* What a query multiplies and adds if nothing is 0. */
double lm_layers_work(const lm_layers *net);

static inline size_t lm_layers_inputs(const lm_layers *net) {
    return net->layer[0].inputs;
}

static inline size_t lm_layers_outputs(const lm_layers *net) {
    return net->layer[net->count - 1].outputs;
}

/* Floats between the outputs of two queries. */
static inline size_t lm_layers_stride(const lm_layers *net) {
    return net->layer[net->count - 1].width;
}

/* Moves the cursor past the scratch for m <= LM_LAYERS_TILE queries at once. */
void lm_layers_scratch(const lm_layers *net, size_t m, lm_cursor *at);
/* The outputs of m <= LM_LAYERS_TILE queries: out[q * stride + o], padded with -FLT_MAX. work, if
 * it is not NULL: what was multiplied and added is added to it. */
void lm_layers_run(const lm_layers *net, const float *x, size_t x_stride, size_t m, float *out,
                   double *work, void *scratch);

typedef struct lm_best {
    size_t index; /* of the largest output, the lowest on ties */
    float gap;    /* between it and the second; 0 if there is only one */
} lm_best;

/* The largest of n outputs of a query, which are padded with -FLT_MAX. */
lm_best lm_layers_best(const float *out, size_t n);
/* Only its index. */
size_t lm_layers_largest(const float *out, size_t n);

/* out <- (x - centre) * unit, for the n numbers of a row. */
void lm_layers_shift(const float *x, const float *centre, const float *unit, size_t n, float *out);

#endif
