/* expansion.c: scikit-learn's approximations of a kernel machine by a linear one, in plain C.
 *
 * Both are two layers with a function between them. x is the scaled row, (row - low) * factor.
 * Nystroem: a sum over basis vectors b of exp(-gamma |x - b|^2), with
 *   -gamma |x - b|^2 = 2 gamma b x - gamma |b|^2 - gamma |x|^2,
 * of which the first two terms are the first layer. RBFSampler: a sum of cos(w x + offset). The
 * second layer has one score per class; of two classes it has only that of the second, which wins
 * above 0. Otherwise the largest score wins, ties go to the first class.
 *
 * Scores are computed in floats, the originals' in doubles. Where the two best scores (with one: it
 * and 0) are closer than rounding may matter, they are computed once more in doubles, so that the
 * class is the original's. What rounding may do is measured when the model is opened: LEEWAY times
 * the largest difference of floats and doubles over SAMPLE of the rows. How many answers needed
 * doubles is counted.
 *
 * File: int32 features, units, outputs, classes; doubles gamma, low[features], factor[features],
 * bias[units], weight[units][features], bias[outputs], weight[outputs][units]; int32
 * labels[classes]; floats of the two layers (layer.h), the inputs of the second being the padded
 * units of the first. */
#include "layer.h"
#include "peer.h"
#include "waves.h"

#include <math.h>
#include <stdbool.h>

enum { SAMPLE = 1000, LEEWAY = 4 };

typedef struct exact {
    double gamma;
    const double *low, *factor, *bias, *weight, *bias2, *weight2;
} exact;

typedef struct expansion {
    int32_t features, units, outputs;
    bool waves; /* cosines, not kernels */
    const int32_t *labels;
    exact exact;
    layer first, second;
    block *one; /* weights of a single output by blocks of units */
    float gamma, *low, *factor, *x;
    int32_t *used, *every;
    double *x2, *h2, *out2;
    float narrow; /* rounding may matter below */
    size_t asked, settled;
} expansion;

/* ---- in doubles ---- */

static void score_exactly(const expansion *e, const float *row) {
    const exact *m = &e->exact;
    double norm = 0;
    for (int32_t i = 0; i < e->features; i++) {
        e->x2[i] = ((double)row[i] - m->low[i]) * m->factor[i];
        norm += e->x2[i] * e->x2[i];
    }
    for (int32_t j = 0; j < e->units; j++) {
        const double *w = m->weight + (size_t)j * (size_t)e->features;
        double sum = m->bias[j];
        for (int32_t i = 0; i < e->features; i++)
            sum += w[i] * e->x2[i];
        e->h2[j] = e->waves ? cos(sum) : exp(sum - m->gamma * norm);
    }
    for (int32_t c = 0; c < e->outputs; c++) {
        const double *w = m->weight2 + (size_t)c * (size_t)e->units;
        double sum = m->bias2[c];
        for (int32_t j = 0; j < e->units; j++)
            sum += w[j] * e->h2[j];
        e->out2[c] = sum;
    }
}

static int32_t settle(const expansion *e, const float *row) {
    int32_t best = 0;
    score_exactly(e, row);
    if (e->outputs == 1)
        return e->out2[0] > 0;
    for (int32_t c = 1; c < e->outputs; c++)
        best = e->out2[c] > e->out2[best] ? c : best;
    return best;
}

/* ---- in floats ---- */

static float scale_row(const expansion *e, const float *row) {
    float norm = 0;
    for (int32_t i = 0; i < e->features; i++) {
        e->x[i] = (row[i] - e->low[i]) * e->factor[i];
        norm += e->x[i] * e->x[i];
    }
    return norm;
}

/* The score of a single output. */
static float sum_one(const expansion *e) {
    block s[4] = {{0}};
    const block *h = e->first.out;
    float sum = ((const float *)e->second.bias)[0];
    int32_t b = 0;
    for (; b + 4 <= e->first.blocks; b += 4)
        for (int32_t k = 0; k < 4; k++)
            s[k] += h[b + k] * e->one[b + k];
    for (; b < e->first.blocks; b++)
        s[0] += h[b] * e->one[b];
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    for (int32_t k = 0; k < LANES; k++)
        sum += s[0][k];
    return sum;
}

static const float *score(const expansion *e, const float *row) {
    float norm = scale_row(e, row), *h = (float *)e->first.out, *out = (float *)e->second.out;
    layer_run(&e->first, e->x, e->used, list_used(e->x, e->features, e->used));
    if (e->waves)
        cos_all(h, e->second.inputs);
    else
        exp_all(h, e->second.inputs, e->gamma * norm);
    if (e->outputs == 1)
        out[0] = sum_one(e);
    else
        layer_run(&e->second, h, e->every, e->second.inputs);
    return out;
}

static int32_t expansion_answer(void *state, size_t index, const float *row) {
    expansion *e = state;
    const float *out = score(e, row);
    float first = out[0], next = 0;
    int32_t best = first > 0;
    (void)index;
    if (e->outputs > 1) {
        best = 0;
        next = -INFINITY;
        for (int32_t c = 1; c < e->outputs; c++) {
            bool more = out[c] > first;
            next = more ? first : out[c] > next ? out[c] : next;
            first = more ? out[c] : first;
            best = more ? c : best;
        }
    }
    e->asked++;
    if (fabsf(first - next) < e->narrow) {
        e->settled++;
        best = settle(e, row);
    }
    return e->labels[best];
}

static double settled_share(void *state) {
    const expansion *e = state;
    return (double)e->settled / (double)e->asked;
}

/* ---- opening ---- */

static void measure_rounding(expansion *e, const table *rows) {
    double most = 0;
    int32_t step = rows->n / SAMPLE + 1;
    for (int32_t r = 0; r < rows->n; r += step) {
        const float *row = rows->x + (size_t)r * (size_t)rows->d, *out = score(e, row);
        score_exactly(e, row);
        for (int32_t c = 0; c < e->outputs; c++)
            most = fmax(most, fabs((double)out[c] - e->out2[c]));
    }
    e->narrow = (float)(LEEWAY * most);
}

static const double *take_doubles(const char **cursor, size_t count) {
    const double *doubles = (const double *)*cursor;
    *cursor += count * sizeof *doubles;
    return doubles;
}

static void take_exact(expansion *e, const char **cursor) {
    exact *m = &e->exact;
    size_t d = (size_t)e->features, units = (size_t)e->units, outputs = (size_t)e->outputs;
    m->gamma = *take_doubles(cursor, 1);
    m->low = take_doubles(cursor, d);
    m->factor = take_doubles(cursor, d);
    m->bias = take_doubles(cursor, units);
    m->weight = take_doubles(cursor, units * d);
    m->bias2 = take_doubles(cursor, outputs);
    m->weight2 = take_doubles(cursor, outputs * units);
}

static float *floats_of(const double *from, int32_t count) {
    float *to = need((size_t)count, sizeof *to);
    for (int32_t i = 0; i < count; i++)
        to[i] = (float)from[i];
    return to;
}

static void prepare(expansion *e) {
    size_t padded = (size_t)e->first.blocks * sizeof(block);
    e->gamma = (float)e->exact.gamma;
    e->low = floats_of(e->exact.low, e->features);
    e->factor = floats_of(e->exact.factor, e->features);
    e->x = need((size_t)e->features, sizeof *e->x);
    e->used = need((size_t)e->features + 1, sizeof *e->used);
    e->every = list_every(e->second.inputs);
    e->x2 = need((size_t)e->features, sizeof *e->x2);
    e->h2 = need((size_t)e->units, sizeof *e->h2);
    e->out2 = need((size_t)e->outputs, sizeof *e->out2);
    e->one = aligned(padded);
    for (int32_t j = 0; j < e->second.inputs; j++)
        ((float *)e->one)[j] = e->second.weight[j][0];
}

static peer open_either(const char *path, const table *rows, bool waves) {
    size_t size;
    const int32_t *head = slurp(path, &size);
    const char *cursor = (const char *)(head + 4);
    expansion *e = need(1, sizeof *e);
    e->waves = waves;
    e->features = head[0];
    e->units = head[1];
    e->outputs = head[2];
    take_exact(e, &cursor);
    e->labels = (const int32_t *)cursor;
    size_t before = (size_t)(cursor - (const char *)head);
    cursor += (size_t)head[3] * sizeof *e->labels;
    e->first = layer_take(&cursor, e->features, e->units);
    e->second = layer_take(&cursor, e->first.blocks * LANES, e->outputs);
    if (cursor != (const char *)head + size || head[0] != rows->d)
        die("%s: not an expansion for these rows", path);
    prepare(e);
    measure_rounding(e, rows);
    return (peer){
        .state = e, .answer = expansion_answer, .settled = settled_share, .bytes = size - before};
}

peer expansion_open(const char *path, const table *rows) {
    return open_either(path, rows, false);
}

peer fourier_open(const char *path, const table *rows) {
    return open_either(path, rows, true);
}
