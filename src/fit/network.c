/* network.c: see network.h. Forward and backward passes are matrix products over a shard of the
 * batch; what they need is laid out once per fit.
 *
 * Notation: a layer's activations are act[l + 1] (rows x outputs), those of the inputs act[0];
 * delta[l] is the gradient of the loss with respect to the outputs of layer l before relu. */
#include "fit/network.h"

#include "base/work.h"
#include "num/kernel.h"
#include "num/linalg.h"
#include "num/simd/simd.h"

#include <math.h>
#include <string.h>

enum { SHARD = LM_NETWORK_BATCH / LM_NETWORK_SHARDS, REPORTS = 100 };
#define REPORT_WORK 1e10 /* multiply-adds between two reports, at most: a fraction of a second */
/* ---- networks ---- */

/* Sizes are padded, so that each array begins a cache line. */
static limn_status allot(limn_context *ctx, lm_network *net) {
    size_t count = 0, cells;
    bool fits = true;
    for (size_t l = 0; l < net->layers; l++)
        fits = fits && lm_mul(net->size[l], net->size[l + 1], &cells) &&
               cells < SIZE_MAX / 64 - net->size[l + 1] &&
               lm_add(count, lm_layer_width(cells) + lm_layer_width(net->size[l + 1]), &count);
    net->count = count;
    net->all = fits ? lm_alloc_aligned(&ctx->mem, count, sizeof *net->all) : NULL;
    if (!net->all)
        return lm_fail_memory(ctx);
    memset(net->all, 0, count * sizeof *net->all);
    float *at = net->all;
    for (size_t l = 0; l < net->layers; l++) {
        net->weight[l] = at;
        net->bias[l] = at + lm_layer_width(net->size[l] * net->size[l + 1]);
        at = net->bias[l] + lm_layer_width(net->size[l + 1]);
    }
    return LIMN_OK;
}

void lm_network_free(const limn_allocator *mem, lm_network *net) {
    lm_free_aligned(mem, net->all);
    *net = (lm_network){.layers = 0};
}

double lm_network_work(const lm_network *net) {
    double work = 0;
    for (size_t l = 0; l < net->layers; l++)
        work += (double)net->size[l] * (double)net->size[l + 1];
    return work;
}

/* Each unit of the first layer is 0 half-way to a row. */
static void place_planes(const lm_examples *e, lm_rng *rng, lm_network *net) {
    size_t inputs = net->size[0], units = net->size[1];
    for (size_t o = 0; o < units; o++) {
        const float *x = e->x + (size_t)e->row[lm_rng_below(rng, e->count)] * inputs;
        double sum = 0;
        for (size_t i = 0; i < inputs; i++)
            sum += (double)x[i] * (double)net->weight[0][i * units + o];
        net->bias[0][o] = (float)(-0.5 * sum);
    }
}

limn_status lm_network_begin(limn_context *ctx, const size_t *sizes, size_t layers,
                             const lm_examples *examples, uint64_t seed, lm_network *net) {
    *net = (lm_network){.layers = layers};
    memcpy(net->size, sizes, (layers + 1) * sizeof *sizes);
    limn_status status = allot(ctx, net);
    if (status != LIMN_OK)
        return status;
    for (size_t l = 0; l < layers; l++) {
        lm_rng rng = lm_rng_at(seed, 0, l);
        double spread = sqrt((l + 1 < layers ? 2.0 : 1.0) / (double)sizes[l]);
        for (size_t i = 0; i < sizes[l] * sizes[l + 1]; i++)
            net->weight[l][i] = (float)(spread * lm_rng_normal(&rng));
        if (l == 0 && layers > 1)
            place_planes(examples, &rng, net);
    }
    return LIMN_OK;
}

/* ---- one batch ---- */

typedef struct batch {
    const lm_network *net;
    size_t classes; /* of the examples; 0: values */
    size_t rows;    /* of the batch */
    float *act[LM_LAYERS_MAX + 1];
    float *delta[LM_LAYERS_MAX];
    float *target;
    float *grad;                    /* shards x net->count */
    double loss[LM_NETWORK_SHARDS]; /* sums */
    bool with_loss;
    void *memory;
} batch;

static size_t target_width(size_t classes) {
    return classes ? classes : 1;
}

/* learns: with what the backward pass needs. */
static void lay_out(batch *b, size_t rows, bool learns, lm_cursor *at) {
    const lm_network *net = b->net;
    for (size_t l = 0; l <= net->layers; l++)
        b->act[l] = lm_take_cells(at, rows, net->size[l], sizeof(float));
    for (size_t l = 0; l < net->layers && learns; l++)
        b->delta[l] = lm_take_cells(at, rows, net->size[l + 1], sizeof(float));
    if (!learns)
        return;
    b->target = lm_take_cells(at, rows, target_width(b->classes), sizeof(float));
    b->grad = lm_take_cells(at, LM_NETWORK_SHARDS, net->count, sizeof(float));
}

static limn_status batch_make(limn_context *ctx, const lm_network *net, size_t classes, bool learns,
                              batch *b) {
    *b = (batch){.net = net, .classes = classes, .rows = LM_NETWORK_BATCH};
    lm_cursor measure = lm_cursor_at(NULL);
    lay_out(b, LM_NETWORK_BATCH, learns, &measure);
    b->memory = lm_alloc_measured(&ctx->mem, &measure);
    if (!b->memory)
        return lm_fail_memory(ctx);
    lm_cursor at = lm_cursor_at(b->memory);
    lay_out(b, LM_NETWORK_BATCH, learns, &at);
    return LIMN_OK;
}

static void batch_free(const limn_allocator *mem, batch *b) {
    lm_free_aligned(mem, b->memory);
}

static void take_row(const lm_examples *e, uint32_t row, size_t place, batch *b) {
    size_t inputs = b->net->size[0], width = target_width(e->classes);
    memcpy(b->act[0] + place * inputs, e->x + (size_t)row * inputs, inputs * sizeof(float));
    memcpy(b->target + place * width, e->target + (size_t)row * width, width * sizeof(float));
}

static void forward(const batch *b, size_t first, size_t rows) {
    const lm_network *net = b->net;
    for (size_t l = 0; l < net->layers; l++) {
        size_t in = net->size[l], out = net->size[l + 1];
        float *to = b->act[l + 1] + first * out;
        for (size_t r = 0; r < rows; r++)
            memcpy(to + r * out, net->bias[l], out * sizeof *to);
        lm_add_products(LM_PLAIN, LM_PLAIN, rows, out, in, b->act[l] + first * in, net->weight[l],
                        to);
        for (size_t i = 0; i < rows * out && l + 1 < net->layers; i++)
            to[i] = to[i] > 0 ? to[i] : 0;
    }
}

/* ---- losses: delta of the last layer from its outputs and the targets ---- */

/* log(1 + exp(z)) */
static double softplus(double z) {
    return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

static double lose_values(const float *z, const float *t, size_t rows, float *delta) {
    double loss = 0;
    for (size_t r = 0; r < rows; r++) {
        delta[r] = z[r] - t[r];
        loss += (double)delta[r] * (double)delta[r] / 2;
    }
    return loss;
}

static double lose_odds(const float *z, const float *t, size_t rows, bool with_loss, float *delta) {
    double loss = 0;
    for (size_t r = 0; r < rows; r++)
        delta[r] = -z[r];
    lm_exp(delta, rows);
    for (size_t r = 0; r < rows; r++) {
        delta[r] = 1 / (1 + delta[r]) - t[2 * r];
        if (with_loss)
            loss += softplus((double)z[r]) - (double)t[2 * r] * (double)z[r];
    }
    return loss;
}

static double lose_classes(const float *z, const float *t, size_t rows, size_t k, bool with_loss,
                           float *delta) {
    double loss = 0;
    for (size_t r = 0; r < rows; r++) {
        float most = z[r * k];
        for (size_t c = 1; c < k; c++)
            most = z[r * k + c] > most ? z[r * k + c] : most;
        for (size_t c = 0; c < k; c++)
            delta[r * k + c] = z[r * k + c] - most;
        for (size_t c = 0; c < k && with_loss; c++)
            loss -= (double)t[r * k + c] * (double)delta[r * k + c];
    }
    lm_exp(delta, rows * k);
    for (size_t r = 0; r < rows; r++) {
        float sum = 0, whole = 0;
        for (size_t c = 0; c < k; c++) {
            sum += delta[r * k + c];
            whole += t[r * k + c];
        }
        for (size_t c = 0; c < k; c++)
            delta[r * k + c] = delta[r * k + c] / sum - t[r * k + c];
        if (with_loss)
            loss += (double)whole * log((double)sum);
    }
    return loss;
}

static double lose(const batch *b, size_t first, size_t rows) {
    size_t last = b->net->layers, out = b->net->size[last], width = target_width(b->classes);
    const float *z = b->act[last] + first * out, *t = b->target + first * width;
    float *delta = b->delta[last - 1] + first * out;
    double loss = b->classes == 0   ? lose_values(z, t, rows, delta)
                  : b->classes == 2 ? lose_odds(z, t, rows, b->with_loss, delta)
                                    : lose_classes(z, t, rows, out, b->with_loss, delta);
    for (size_t i = 0; i < rows * out; i++)
        delta[i] /= (float)b->rows;
    return loss;
}

/* ---- backward ---- */

static void sum_rows(const float *delta, size_t rows, size_t out, float *sum) {
    memset(sum, 0, out * sizeof *sum);
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++)
            sum[o] += delta[r * out + o];
}

/* delta of the layer before: what reaches it where its units are above 0. */
static void pass_back(const batch *b, size_t l, size_t first, size_t rows) {
    const lm_network *net = b->net;
    size_t in = net->size[l], out = net->size[l + 1];
    float *to = b->delta[l - 1] + first * in;
    const float *act = b->act[l] + first * in;
    memset(to, 0, rows * in * sizeof *to);
    lm_add_products(LM_PLAIN, LM_TURNED, rows, in, out, b->delta[l] + first * out, net->weight[l],
                    to);
    for (size_t i = 0; i < rows * in; i++)
        to[i] = act[i] > 0 ? to[i] : 0;
}

static void backward(const batch *b, size_t first, size_t rows, float *grad) {
    const lm_network *net = b->net;
    memset(grad, 0, net->count * sizeof *grad);
    for (size_t l = net->layers; l-- > 0;) {
        size_t in = net->size[l], out = net->size[l + 1];
        const float *delta = b->delta[l] + first * out;
        lm_add_products(LM_TURNED, LM_PLAIN, in, out, rows, b->act[l] + first * in, delta,
                        grad + (net->weight[l] - net->all));
        sum_rows(delta, rows, out, grad + (net->bias[l] - net->all));
        if (l > 0)
            pass_back(b, l, first, rows);
    }
}

static void do_shard(void *user, size_t shard, int thread) {
    batch *b = user;
    (void)thread;
    size_t first = shard * SHARD;
    size_t rows = first >= b->rows ? 0 : b->rows - first < SHARD ? b->rows - first : SHARD;
    forward(b, first, rows);
    b->loss[shard] = lose(b, first, rows);
    backward(b, first, rows, b->grad + shard * b->net->count);
}

limn_status lm_network_gradient(limn_context *ctx, const lm_examples *e, const uint32_t *row,
                                size_t count, const lm_network *net, double *loss,
                                float *gradient) {
    batch b;
    limn_status status = batch_make(ctx, net, e->classes, true, &b);
    if (status != LIMN_OK)
        return status;
    b.rows = count;
    b.with_loss = true;
    for (size_t i = 0; i < count; i++)
        take_row(e, row[i], i, &b);
    *loss = 0;
    memset(gradient, 0, net->count * sizeof *gradient);
    for (size_t s = 0; s < LM_NETWORK_SHARDS; s++) {
        do_shard(&b, s, 0);
        *loss += b.loss[s] / (double)count;
        for (size_t i = 0; i < net->count; i++)
            gradient[i] += b.grad[s * net->count + i];
    }
    batch_free(&ctx->mem, &b);
    return LIMN_OK;
}

/* ---- fitting ---- */

typedef struct fitting {
    const lm_examples *examples;
    const lm_network_plan *plan;
    lm_network *net;
    batch batch;
    uint32_t *order; /* the rows to visit, shuffled each time round */
    size_t at, round;
    float *mean, *square; /* of the gradient, as Adam keeps them */
    size_t steps;
} fitting;

static void shuffle(fitting *f) {
    lm_rng rng = lm_rng_at(f->plan->seed, 1, f->round++);
    for (size_t i = f->examples->count; i > 1; i--) {
        size_t other = lm_rng_below(&rng, i);
        uint32_t kept = f->order[i - 1];
        f->order[i - 1] = f->order[other];
        f->order[other] = kept;
    }
    f->at = 0;
}

static void take_batch(fitting *f) {
    for (size_t i = 0; i < LM_NETWORK_BATCH; i++) {
        if (f->at == f->examples->count)
            shuffle(f);
        take_row(f->examples, f->order[f->at++], i, &f->batch);
    }
}

static void step(limn_context *ctx, fitting *f, size_t index) {
    const double pi = 3.14159265358979323846;
    double t = (double)index + 1;
    double rate = f->plan->rate * (1 + cos(pi * (double)index / (double)f->steps)) / 2;
    bool spread = lm_network_work(f->net) >= LM_NETWORK_LARGE;
    take_batch(f);
    lm_parallel(spread ? ctx->threads : 1, LM_NETWORK_SHARDS, do_shard, &f->batch);
    lm_simd_get()->layers->adam(f->net->all, f->mean, f->square, f->batch.grad, LM_NETWORK_SHARDS,
                                f->net->count, f->net->count, (float)(rate / (1 - pow(0.9, t))),
                                (float)(1 / (1 - pow(0.999, t))));
}

static limn_status run(limn_context *ctx, fitting *f) {
    double work = 3 * lm_network_work(f->net) * LM_NETWORK_BATCH * (double)f->steps;
    size_t reports = f->plan->reports ? f->plan->reports : REPORTS;
    reports = work / REPORT_WORK > (double)reports ? (size_t)(work / REPORT_WORK) : reports;
    limn_status status = LIMN_OK;
    for (size_t s = 0; s < f->steps && status == LIMN_OK; s++) {
        step(ctx, f, s);
        bool due = reports >= f->steps || (s + 1) * reports / f->steps > s * reports / f->steps;
        if (due && f->plan->news)
            status = f->plan->news(ctx, f->plan->user, f->net, (s + 1) * LM_NETWORK_BATCH,
                                   f->steps * LM_NETWORK_BATCH);
    }
    return status;
}

limn_status lm_network_fit(limn_context *ctx, const lm_examples *examples,
                           const lm_network_plan *plan, lm_network *net) {
    fitting f = {.examples = examples, .plan = plan, .net = net};
    f.steps = (plan->visits + LM_NETWORK_BATCH - 1) / LM_NETWORK_BATCH;
    f.order = lm_alloc(&ctx->mem, examples->count, sizeof *f.order);
    f.mean = lm_alloc_zero(&ctx->mem, net->count, sizeof *f.mean);
    f.square = lm_alloc_zero(&ctx->mem, net->count, sizeof *f.square);
    limn_status status = batch_make(ctx, net, examples->classes, true, &f.batch);
    if (status == LIMN_OK && (!f.order || !f.mean || !f.square))
        status = lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        memcpy(f.order, examples->row, examples->count * sizeof *f.order);
        shuffle(&f);
        status = run(ctx, &f);
    }
    batch_free(&ctx->mem, &f.batch);
    lm_free(&ctx->mem, f.order);
    lm_free(&ctx->mem, f.mean);
    lm_free(&ctx->mem, f.square);
    return status;
}

/* ---- answers ---- */

limn_status lm_network_answer(limn_context *ctx, const lm_network *net, const float *x, size_t n,
                              float *out) {
    batch b;
    size_t in = net->size[0], outputs = net->size[net->layers];
    limn_status status = batch_make(ctx, net, 0, false, &b);
    for (size_t i = 0; i < n && status == LIMN_OK; i += LM_NETWORK_BATCH) {
        size_t some = n - i < LM_NETWORK_BATCH ? n - i : LM_NETWORK_BATCH;
        memcpy(b.act[0], x + i * in, some * in * sizeof *x);
        forward(&b, 0, some);
        memcpy(out + i * outputs, b.act[net->layers], some * outputs * sizeof *out);
    }
    batch_free(&ctx->mem, &b);
    return status;
}
