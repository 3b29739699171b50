/* network.h: fitting a small network of relu layers to examples by Adam (Kingma and Ba 2015).
 *
 * The examples are rows with targets: probabilities of classes, to which the softmax of the outputs
 * is fitted by cross-entropy (two classes have one output, the log-odds of the first), or values,
 * fitted by least squares. Rows are visited in batches of LM_NETWORK_BATCH, in a new order each
 * time round, while the rate falls to 0 along a cosine.
 *
 * A batch is cut into LM_NETWORK_SHARDS shards whose gradients are added in order, so the result
 * does not depend on how many threads share them. */
#ifndef LIMN_FIT_NETWORK_H
#define LIMN_FIT_NETWORK_H

#include "base/base.h"
#include "num/layers.h"

enum { LM_NETWORK_BATCH = 256, LM_NETWORK_SHARDS = 4 };
/* Multiply-adds of a network whose batches are spread over threads; with fewer, starting threads
 * takes longer. */
#define LM_NETWORK_LARGE 4e4

/* Weights as they are fitted: layer l has weight[l][i * outputs + o] and bias[l][o]. */
typedef struct lm_network {
    size_t layers;                  /* at least 1 */
    size_t size[LM_LAYERS_MAX + 1]; /* inputs, then the outputs of each layer */
    float *all;                     /* all of the arrays below, one after the other */
    size_t count;                   /* of all, padded */
    float *weight[LM_LAYERS_MAX], *bias[LM_LAYERS_MAX];
} lm_network;

typedef struct lm_examples {
    const float *x;      /* rows of the network's inputs */
    const float *target; /* rows of `classes` probabilities, or of one value */
    size_t classes;      /* 0: values */
    const uint32_t *row; /* count: the rows of x and target to visit, some perhaps several times */
    size_t count;        /* above 0 */
} lm_examples;

/* Told from time to time what has been visited; may cancel (any status but LIMN_OK). net: as it is
 * so far. */
typedef limn_status lm_network_news(limn_context *ctx, void *user, const lm_network *net,
                                    size_t visited, size_t visits);

typedef struct lm_network_plan {
    size_t visits; /* rows to visit */
    double rate;   /* at the beginning */
    uint64_t seed;
    lm_network_news *news;
    void *user;
    size_t reports; /* how often there is news, at least; 0: 100 times */
} lm_network_plan;

/* Random weights. sizes: inputs, then the outputs of each layer. The planes of the first layer pass
 * between the origin and rows of the examples. */
limn_status lm_network_begin(limn_context *ctx, const size_t *sizes, size_t layers,
                             const lm_examples *examples, uint64_t seed, lm_network *net);
limn_status lm_network_fit(limn_context *ctx, const lm_examples *examples,
                           const lm_network_plan *plan, lm_network *net);
void lm_network_free(const limn_allocator *mem, lm_network *net);

/* The outputs for n rows: n x outputs. */
limn_status lm_network_answer(limn_context *ctx, const lm_network *net, const float *x, size_t n,
                              float *out);
/* The loss of the batch `row` (count <= LM_NETWORK_BATCH of the examples), and its gradient with
 * respect to net->all. */
limn_status lm_network_gradient(limn_context *ctx, const lm_examples *examples, const uint32_t *row,
                                size_t count, const lm_network *net, double *loss, float *gradient);
/* What a visit multiplies and adds. */
double lm_network_work(const lm_network *net);

#endif
