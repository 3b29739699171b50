/* layers.c: see layers.h; the sums are those of the instruction set in use. */
#include "num/layers.h"

#include "num/simd/simd.h"

#include <float.h>
#include <string.h>

enum { SLACK = 16 }; /* a list is written sixteen at a time */

/* ---- how layers are stored ---- */

/* Whether layer l of count has one output that is a dot product of a hidden layer. */
static bool is_single(const size_t *sizes, size_t l, size_t count) {
    return l > 0 && l + 1 == count && sizes[l + 1] == 1;
}

/* Floats of the weights of one layer. */
static bool weight_floats(size_t inputs, size_t outputs, bool single, size_t *floats) {
    if (single) {
        *floats = lm_layer_width(inputs);
        return *floats >= inputs;
    }
    size_t width = lm_layer_width(outputs);
    return width >= outputs && lm_mul(inputs, width, floats);
}

bool lm_layers_floats(const size_t *sizes, size_t count, size_t *floats) {
    *floats = 0;
    for (size_t l = 0; l < count; l++) {
        size_t weights;
        if (!weight_floats(sizes[l], sizes[l + 1], is_single(sizes, l, count), &weights) ||
            !lm_add(*floats, weights, floats) ||
            !lm_add(*floats, lm_layer_width(sizes[l + 1]), floats))
            return false;
    }
    return true;
}

void lm_layers_view(const size_t *sizes, size_t count, const float *data, lm_layers *out) {
    *out = (lm_layers){.count = count, .room = lm_layer_width(sizes[0])};
    for (size_t l = 0; l < count; l++) {
        size_t weights = 0, width = lm_layer_width(sizes[l + 1]);
        bool single = is_single(sizes, l, count);
        (void)weight_floats(sizes[l], sizes[l + 1], single, &weights);
        out->layer[l] = (lm_layer){.inputs = sizes[l],
                                   .outputs = sizes[l + 1],
                                   .width = width,
                                   .single = single,
                                   .bias = data,
                                   .weight = data + width};
        data += width + weights;
        if (l + 1 < count && width > out->room)
            out->room = width;
    }
    out->room += SLACK;
}

/* Where the weight of an input and an output (or padding) is. */
static size_t place_of(const lm_layer *l, size_t input, size_t output) {
    if (l->single)
        return input;
    size_t first = output / LM_LAYER_BLOCK * LM_LAYER_BLOCK;
    size_t width = l->width - first < LM_LAYER_BLOCK ? l->width - first : LM_LAYER_BLOCK;
    return first * l->inputs + input * width + output - first;
}

void lm_layer_pack(const lm_layer *l, const float *weight, const float *bias, bool last,
                   float *data) {
    float *to = data + l->width;
    size_t floats = 0;
    (void)weight_floats(l->inputs, l->outputs, l->single, &floats);
    memset(to, 0, floats * sizeof *to);
    for (size_t o = 0; o < l->width; o++)
        data[o] = o < l->outputs ? bias[o] : last ? -FLT_MAX : 0;
    for (size_t i = 0; i < l->inputs; i++)
        for (size_t o = 0; o < l->outputs; o++)
            to[place_of(l, i, o)] = weight[i * l->outputs + o];
}

bool lm_layer_padded(const lm_layer *l, bool last) {
    for (size_t o = l->outputs; o < l->width; o++) {
        if (l->bias[o] != (last ? -FLT_MAX : 0))
            return false;
        for (size_t i = 0; i < l->inputs && !l->single; i++)
            if (l->weight[place_of(l, i, o)] != 0)
                return false;
    }
    for (size_t i = l->inputs; i < lm_layer_width(l->inputs) && l->single; i++)
        if (l->weight[i] != 0)
            return false;
    return true;
}

double lm_layers_work(const lm_layers *net) {
    double work = 0;
    for (size_t l = 0; l < net->count; l++)
        work += (double)net->layer[l].inputs * (double)net->layer[l].outputs;
    return work;
}

/* ---- running ---- */

void lm_layers_scratch(const lm_layers *net, size_t m, lm_cursor *at) {
    (void)lm_take_cells(at, 3 * m, net->room, sizeof(float));
}

void lm_layers_run(const lm_layers *net, const float *x, size_t x_stride, size_t m, float *out,
                   double *work, void *scratch) {
    lm_simd_get()->layers->run(net, x, x_stride, m, out, work, scratch);
}

/* Padding never wins, nor what is found among NaN. */
lm_best lm_layers_best(const float *out, size_t n) {
    lm_best best;
    best.index = lm_simd_get()->layers->two_largest(out, lm_layer_width(n), &best.gap);
    return best.index < n && n > 1 ? best : (lm_best){0, 0};
}

size_t lm_layers_largest(const float *out, size_t n) {
    size_t index = lm_simd_get()->layers->largest(out, lm_layer_width(n));
    return index < n ? index : 0;
}

void lm_layers_shift(const float *x, const float *centre, const float *unit, size_t n, float *out) {
    lm_simd_get()->layers->shift(x, centre, unit, n, out);
}
