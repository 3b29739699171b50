/* layers.c: relu layers, compiled once per instruction set; num/layers.h says how they are stored.
 *
 * A block of outputs is summed in up to eight vectors, eight sums in flight altogether: a narrow
 * block has several sums per vector, which take turns along the list. Lists end with zeros (index
 * 0, value 0), up to a multiple of eight. */
#include "num/layers.h"
#include "num/simd/simd.h"
#include "num/simd/vec.h"

#include <float.h>

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

enum { PANEL = LM_LAYER_PANEL, BLOCK = LM_LAYER_BLOCK, FLIGHT = 8 };

INLINE vec v_positive(vec a) {
    return v_if_less(a, (vec){0}, (vec){0}, a);
}

/* ---- lists ---- */

/* Zeros after the last, up to a multiple of FLIGHT: all that may be needed, without a branch that
 * could be mispredicted. */
INLINE size_t end_list(size_t found, uint32_t *index, float *value) {
    memset(index + found, 0, FLIGHT * sizeof *index);
    memset(value + found, 0, FLIGHT * sizeof *value);
    return (found + FLIGHT - 1) / FLIGHT * FLIGHT;
}

#if defined(__AVX512F__)

INLINE size_t list(int inputs, const float *x, size_t n, uint32_t *index, float *value) {
    __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i step = _mm512_set1_epi32(W);
    const __m512 most = _mm512_set1_ps(LM_LAYER_FAR), least = _mm512_set1_ps(-LM_LAYER_FAR);
    size_t found = 0;
    for (size_t i = 0; i < n; i += W) {
        __mmask16 part = (__mmask16)(n - i < W ? (1u << (n - i)) - 1 : 0xffffu);
        __m512 v = _mm512_maskz_loadu_ps(part, x + i);
        if (inputs)
            v = _mm512_max_ps(_mm512_min_ps(v, most), least);
        __mmask16 kept = inputs ? _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ)
                                : _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ);
        _mm512_storeu_ps(value + found, _mm512_maskz_compress_ps(kept, v));
        _mm512_storeu_si512(index + found, _mm512_maskz_compress_epi32(kept, place));
        found += (size_t)__builtin_popcount(kept);
        place = _mm512_add_epi32(place, step);
    }
    return end_list(found, index, value);
}

#else

/* W numbers, those whose bit is set. Without a branch: which are kept is hard to predict. */
INLINE size_t keep(vec v, uint32_t bits, size_t first, size_t found, uint32_t *index,
                   float *value) {
    float lane[W];
    v_store(lane, v);
    UNROLL
    for (size_t k = 0; k < W; k++) {
        index[found] = (uint32_t)(first + k);
        value[found] = lane[k];
        found += bits >> k & 1;
    }
    return found;
}

INLINE size_t list(int inputs, const float *x, size_t n, uint32_t *index, float *value) {
    const vec most = v_set(LM_LAYER_FAR);
    const uint32_t all = (1u << W) - 1;
    size_t found = 0;
    for (size_t i = 0; i < n; i += W) {
        vec v = n - i < W ? v_load_part(x + i, n - i, 0) : v_load(x + i);
        if (inputs)
            v = v_if_less(v, -most, -most, v_min(v, most));
        uint32_t off = inputs ? v_equal(v, (vec){0}) : v_not_above(v, (vec){0});
        found = keep(v, ~off & all, i, found, index, value);
    }
    return end_list(found, index, value);
}

#endif

/* ---- sums ---- */

INLINE void join_half(const int count, vec *sum) {
    UNROLL
    for (int i = 0; i < count; i++)
        sum[i] += sum[i + count];
}

/* Adds up the sums of each vector. Written out, so that all stay in registers. */
INLINE void join(const int vecs, const int turns, vec *sum) {
    if (turns == 8)
        join_half(4 * vecs, sum);
    if (turns >= 4)
        join_half(2 * vecs, sum);
    if (turns >= 2)
        join_half(vecs, sum);
}

/* `vecs` vectors of outputs, each in `turns` sums: constants. */
INLINE void columns(const int vecs, const int turns, const float *weight, size_t stride,
                    const float *bias, const uint32_t *index, const float *value, size_t count,
                    float *out) {
    vec sum[FLIGHT];
    UNROLL
    for (int i = 0; i < vecs * turns; i++)
        sum[i] = i < vecs ? v_load(bias + i * W) : (vec){0};
    for (size_t k = 0; k < count; k += (size_t)turns) {
        UNROLL
        for (int t = 0; t < turns; t++) {
            const float *row = weight + (size_t)index[k + (size_t)t] * stride;
            vec x = v_set(value[k + (size_t)t]);
            UNROLL
            for (int v = 0; v < vecs; v++)
                sum[t * vecs + v] = v_fma(x, v_load(row + v * W), sum[t * vecs + v]);
        }
    }
    join(vecs, turns, sum);
    UNROLL
    for (int v = 0; v < vecs; v++)
        v_store(out + v * W, sum[v]);
}

typedef void columns_kernel(const float *weight, size_t stride, const float *bias,
                            const uint32_t *index, const float *value, size_t count, float *out);

#define COLUMNS(vecs, turns)                                                            \
    static void columns_##vecs(const float *weight, size_t stride, const float *bias,   \
                               const uint32_t *index, const float *value, size_t count, \
                               float *out) {                                            \
        columns(vecs, turns, weight, stride, bias, index, value, count, out);           \
    }

COLUMNS(1, 8)
COLUMNS(2, 4)
COLUMNS(3, 2)
COLUMNS(4, 2)
COLUMNS(5, 1)
COLUMNS(6, 1)
COLUMNS(7, 1)
COLUMNS(8, 1)

/* By the number of vectors. */
static columns_kernel *const kernels[FLIGHT + 1] = {
    NULL, columns_1, columns_2, columns_3, columns_4, columns_5, columns_6, columns_7, columns_8};

/* One block: `width` outputs, a multiple of W. */
static void block(const float *weight, size_t width, const float *bias, const uint32_t *index,
                  const float *value, size_t count, float *out) {
    for (size_t at = 0; at < width; at += FLIGHT * W) {
        size_t vecs = (width - at) / W;
        kernels[vecs < FLIGHT ? vecs : FLIGHT](weight + at, width, bias + at, index, value, count,
                                               out + at);
    }
}

INLINE float total(vec v) {
    float lane[W];
    v_store(lane, v);
    for (int half = W / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* n: a multiple of PANEL. */
static float dot_positive(const float *h, const float *weight, size_t n) {
    enum { LANES = PANEL / W > 2 ? PANEL / W : 2 };
    vec sum[LANES] = {{0}};
    size_t i = 0;
    for (; i + LANES * W <= n; i += LANES * W) {
        UNROLL
        for (int l = 0; l < LANES; l++)
            sum[l] = v_fma(v_positive(v_load(h + i + l * W)), v_load(weight + i + l * W), sum[l]);
    }
    for (; i < n; i += W)
        sum[0] = v_fma(v_positive(v_load(h + i)), v_load(weight + i), sum[0]);
    UNROLL
    for (int l = 1; l < LANES; l++)
        sum[0] += sum[l];
    return total(sum[0]);
}

/* ---- networks ---- */

/* What m queries have of scratch: lists, and the outputs of a hidden layer, `room` of each. */
typedef struct places {
    size_t room;
    uint32_t *index;
    float *value, *hidden;
    size_t count[LM_LAYERS_TILE];
} places;

/* The outputs of m queries from their lists. */
INLINE void run_listed(const lm_layer *l, const places *k, size_t m, float *out, size_t stride) {
    for (size_t first = 0; first < l->width; first += BLOCK) {
        size_t width = l->width - first < BLOCK ? l->width - first : BLOCK;
        for (size_t q = 0; q < m; q++)
            block(l->weight + first * l->inputs, width, l->bias + first, k->index + q * k->room,
                  k->value + q * k->room, k->count[q], out + q * stride + first);
    }
}

static void run_single(const lm_layer *l, const places *k, size_t m, float *out, size_t stride) {
    for (size_t q = 0; q < m; q++)
        out[q * stride] = l->bias[0] + dot_positive(k->hidden + q * k->room, l->weight,
                                                    lm_layer_width(l->inputs));
}

/* Without the zeros at the end. */
static double listed(const places *k, size_t m) {
    double count = 0;
    for (size_t q = 0; q < m; q++)
        for (size_t i = 0; i < k->count[q]; i++)
            count += k->value[q * k->room + i] != 0;
    return count;
}

static void run(const lm_layers *net, const float *x, size_t x_stride, size_t m, float *out,
                double *work, float *scratch) {
    places k;
    k.room = net->room;
    k.value = scratch;
    k.hidden = scratch + m * k.room;
    k.index = (uint32_t *)(void *)(scratch + 2 * m * k.room);
    size_t last = net->count - 1, stride = net->layer[last].width;
    for (size_t q = 0; q < m; q++)
        k.count[q] = list(1, x + q * x_stride, net->layer[0].inputs, k.index + q * k.room,
                          k.value + q * k.room);
    for (size_t i = 0; i <= last; i++) {
        const lm_layer *l = &net->layer[i];
        if (l->single) { /* the last one */
            run_single(l, &k, m, out, stride);
            if (work)
                *work += (double)(m * l->inputs);
            return;
        }
        for (size_t q = 0; q < m && i > 0; q++)
            k.count[q] = list(0, k.hidden + q * k.room, l->inputs, k.index + q * k.room,
                              k.value + q * k.room);
        if (work)
            *work += listed(&k, m) * (double)l->outputs;
        run_listed(l, &k, m, i < last ? k.hidden : out, i < last ? k.room : stride);
    }
}

/* ---- the largest ---- */

/* Where the value -best is first; n if it is nowhere. */
INLINE size_t find(const float *z, size_t n, float best) {
    for (size_t i = 0; i < n; i += W) {
        uint32_t found = v_equal(v_load(z + i), v_set(-best));
        if (found)
            return i + (size_t)__builtin_ctz(found);
    }
    return n;
}

/* n: a multiple of W. NaN, which sums of a damaged file can give, never wins. */
static size_t largest(const float *z, size_t n) {
    vec first = v_set(FLT_MAX); /* of -z */
    for (size_t i = 0; i < n; i += W)
        first = v_min(-v_load(z + i), first);
    return find(z, n, v_least(first));
}

/* The same, with the gap between the two largest. */
static size_t two_largest(const float *z, size_t n, float *gap) {
    vec first = v_set(FLT_MAX), second = first;
    for (size_t i = 0; i < n; i += W) {
        vec v = -v_load(z + i);
        second = v_min(v_if_less(v, first, first, v), second);
        first = v_min(v, first);
    }
    float best = v_least(first);
    uint32_t lanes = v_equal(first, v_set(best));
    float next = v_least(v_if_less(v_set(best), first, first, second));
    *gap = lanes & (lanes - 1) ? 0 : next - best;
    return find(z, n, best);
}

/* ---- scaling ---- */

static void shift(const float *x, const float *centre, const float *unit, size_t n, float *out) {
    for (size_t i = 0; i < n; i++)
        out[i] = (x[i] - centre[i]) * unit[i];
}

/* ---- fitting ---- */

/* Adam (Kingma and Ba 2015); grad: shards of n numbers, `stride` apart, which are added up. */
static void adam(float *weight, float *mean, float *square, const float *grad, size_t shards,
                 size_t stride, size_t n, float rate, float correction) {
    const vec keep1 = v_set(0.9f), new1 = v_set(0.1f), keep2 = v_set(0.999f), new2 = v_set(0.001f);
    const vec tiny = v_set(1e-8f), step = v_set(rate), c = v_set(correction);
    for (size_t i = 0; i < n; i += W) {
        vec g = v_load(grad + i);
        for (size_t s = 1; s < shards; s++)
            g += v_load(grad + s * stride + i);
        vec m = keep1 * v_load(mean + i) + new1 * g;
        vec q = keep2 * v_load(square + i) + new2 * g * g;
        v_store(mean + i, m);
        v_store(square + i, q);
        v_store(weight + i, v_load(weight + i) - step * m / (v_sqrt(q * c) + tiny));
    }
}

const lm_simd_layers GLUE(lm_simd_layers_, LM_ISA) = {
    .run = run,
    .largest = largest,
    .two_largest = two_largest,
    .shift = shift,
    .adam = adam,
};
