/* expand.c: sums of kernel values, compiled once per instruction set like body.c.
 *
 * A kernel machine has support vectors in panels of sixteen, all of one class in a panel, and for
 * each of them `width` coefficients (at most LM_EXPAND_WIDTH; more are several calls). Their layout
 * is that of the panels: sixteen coefficients of one sum, then those of the next sum, then the next
 * panel. A query's kernel values k[panel * 16 + lane] are multiplied by them:
 *
 *   out[m] = sum over panels and lanes of k[panel * 16 + lane] * coef[panel][m][lane]
 *
 * Each sum keeps its lanes apart to the end, where they are added once. Narrow sums, which could
 * not keep the multipliers busy, take every second or fourth panel into an accumulator of its own
 * (splits). The order of summation depends on the width only, so one query and a tile of queries
 * give the same bits.
 *
 * 2^t = 2^n (1 + r q(r)), n = round(t), r = t - n exactly, q of degree 4 fitted to the smallest
 * relative error (9.4e-8, with rounding 1.6e-7) on |r| <= 1/2; q(0) times 0 keeps 2^0 = 1. */
#include "num/simd/simd.h"
#include "num/simd/vec.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

enum { PANEL = 16, P = PANEL / W };

#if defined(__AVX512F__)
enum { SUMS = 24 }; /* accumulators that leave registers for the rest */
#elif defined(__ARM_NEON)
enum { SUMS = 20 };
#else
enum { SUMS = 12 };
#endif

/* ---- sums ---- */

INLINE float v_total(vec v) {
#if defined(__AVX512F__) || defined(__AVX2__)
#if defined(__AVX512F__)
    __m256 half =
        _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
#else
    __m256 half = (__m256)v;
#endif
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
#else
    return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}

/* The totals of four vectors at once: halves of them are interleaved and added until one lane of
 * each is left, which is the order of v_total: far halves first. */
INLINE void v_totals(vec a, vec b, vec c, vec d, float *out) {
#if defined(__AVX512F__) || defined(__AVX2__)
#if defined(__AVX512F__)
    __m256 a2 =
        _mm256_add_ps(_mm512_castps512_ps256((__m512)a), _mm512_extractf32x8_ps((__m512)a, 1));
    __m256 b2 =
        _mm256_add_ps(_mm512_castps512_ps256((__m512)b), _mm512_extractf32x8_ps((__m512)b, 1));
    __m256 c2 =
        _mm256_add_ps(_mm512_castps512_ps256((__m512)c), _mm512_extractf32x8_ps((__m512)c, 1));
    __m256 d2 =
        _mm256_add_ps(_mm512_castps512_ps256((__m512)d), _mm512_extractf32x8_ps((__m512)d, 1));
#else
    __m256 a2 = (__m256)a, b2 = (__m256)b, c2 = (__m256)c, d2 = (__m256)d;
#endif
    /* ac: far and near halves of a and c side by side, summed; the same for b and d. */
    __m256 ac =
        _mm256_add_ps(_mm256_permute2f128_ps(a2, c2, 0x20), _mm256_permute2f128_ps(a2, c2, 0x31));
    __m256 bd =
        _mm256_add_ps(_mm256_permute2f128_ps(b2, d2, 0x20), _mm256_permute2f128_ps(b2, d2, 0x31));
    __m256 low = _mm256_unpacklo_ps(ac, bd), high = _mm256_unpackhi_ps(ac, bd);
    __m256 pairs = _mm256_add_ps(low, high); /* a0+a2 b0+b2 a1+a3 b1+b3 | the same of c, d */
    __m256 sums = _mm256_add_ps(pairs, _mm256_permute_ps(pairs, 0x4e));
    _mm_storel_pi((__m64 *)(void *)out, _mm256_castps256_ps128(sums));
    _mm_storel_pi((__m64 *)(void *)(out + 2), _mm256_extractf128_ps(sums, 1));
#else
    out[0] = (a[0] + a[2]) + (a[1] + a[3]);
    out[1] = (b[0] + b[2]) + (b[1] + b[3]);
    out[2] = (c[0] + c[2]) + (c[1] + c[3]);
    out[3] = (d[0] + d[2]) + (d[1] + d[3]);
#endif
}

INLINE int split_of(int width) {
    return width == 1 ? 4 : width <= 3 ? 2 : 1;
}

INLINE int queries_of(int width) {
    int queries = SUMS / (width * split_of(width));
    return queries > 6 ? 6 : queries < 1 ? 1 : queries;
}

/* `count` panels into the first `count` of `splits` accumulators of each sum. */
INLINE void add_panels(int width, int queries, int splits, int count, const float *k,
                       size_t k_stride, const float *coef, vec *sum) {
    UNROLL
    for (int u = 0; u < count; u++) {
        vec kernel[6];
        UNROLL
        for (int q = 0; q < queries; q++)
            kernel[q] = v_load(k + (size_t)q * k_stride + u * PANEL);
        UNROLL
        for (int m = 0; m < width; m++) {
            vec c = v_load(coef + (u * width + m) * PANEL);
            UNROLL
            for (int q = 0; q < queries; q++) {
                vec *s = &sum[(q * width + m) * splits + u];
                *s = v_fma(kernel[q], c, *s);
            }
        }
    }
}

/* One tile of queries. Wide panels are taken W lanes at a time, one pass each. */
INLINE void expand_tile(int width, int queries, const float *k, size_t k_stride, const float *coef,
                        size_t panels, float *out, size_t out_stride) {
    const int splits = split_of(width), sums = width * queries;
    vec total[SUMS];
    UNROLL
    for (int part = 0; part < P; part++) {
        const float *kp = k + part * W, *cp = coef + part * W;
        vec sum[SUMS];
        UNROLL
        for (int i = 0; i < sums * splits; i++)
            sum[i] = (vec){0};
        size_t p = 0;
        for (; p + (size_t)splits <= panels; p += (size_t)splits)
            add_panels(width, queries, splits, splits, kp + p * PANEL, k_stride,
                       cp + p * PANEL * (size_t)width, sum);
        const float *k_left = kp + p * PANEL, *c_left = cp + p * PANEL * (size_t)width;
        size_t left = panels - p;
        if (splits > 1 && left == 1)
            add_panels(width, queries, splits, 1, k_left, k_stride, c_left, sum);
        if (splits > 2 && left == 2)
            add_panels(width, queries, splits, 2, k_left, k_stride, c_left, sum);
        if (splits > 2 && left == 3)
            add_panels(width, queries, splits, 3, k_left, k_stride, c_left, sum);
        UNROLL
        for (int i = 0; i < sums; i++) {
            vec s = sum[i * splits];
            UNROLL
            for (int u = 1; u < splits; u++)
                s += sum[i * splits + u];
            total[i] = part ? total[i] + s : s;
        }
    }
    UNROLL
    for (int q = 0; q < queries; q++) {
        float *row = out + (size_t)q * out_stride;
        const vec *t = total + q * width;
        const int rest = width % 4;
        UNROLL
        for (int m = 0; m + 4 <= width; m += 4)
            v_totals(t[m], t[m + 1], t[m + 2], t[m + 3], row + m);
        if (rest == 1) {
            row[width - 1] = v_total(t[width - 1]);
        } else if (rest) {
            float last[4];
            v_totals(t[width - rest], t[width - rest + 1], rest > 2 ? t[width - 1] : (vec){0},
                     (vec){0}, last);
            UNROLL
            for (int m = 0; m < rest; m++)
                row[width - rest + m] = last[m];
        }
    }
}

#define DEFINE_EXPAND(width)                                                                      \
    static __attribute__((noinline)) void expand_##width(                                         \
        const float *k, size_t k_stride, size_t queries, const float *coef, size_t panels,        \
        float *out, size_t out_stride) {                                                          \
        const size_t many = (size_t)queries_of(width);                                            \
        size_t q = 0;                                                                             \
        for (; many > 1 && q + many <= queries; q += many)                                        \
            expand_tile(width, queries_of(width), k + q * k_stride, k_stride, coef, panels,       \
                        out + q * out_stride, out_stride);                                        \
        for (; q < queries; q++)                                                                  \
            expand_tile(width, 1, k + q * k_stride, k_stride, coef, panels, out + q * out_stride, \
                        out_stride);                                                              \
    }

DEFINE_EXPAND(1)
DEFINE_EXPAND(2)
DEFINE_EXPAND(3)
DEFINE_EXPAND(4)
DEFINE_EXPAND(5)
DEFINE_EXPAND(6)
DEFINE_EXPAND(7)
DEFINE_EXPAND(8)
DEFINE_EXPAND(9)
DEFINE_EXPAND(10)
DEFINE_EXPAND(11)
DEFINE_EXPAND(12)

static void expand(const float *k, size_t k_stride, size_t queries, const float *coef,
                   size_t panels, size_t width, float *out, size_t out_stride) {
    typedef void run(const float *, size_t, size_t, const float *, size_t, float *, size_t);
    static run *const by_width[] = {expand_1, expand_2, expand_3, expand_4,  expand_5,  expand_6,
                                    expand_7, expand_8, expand_9, expand_10, expand_11, expand_12};
    by_width[width - 1](k, k_stride, queries, coef, panels, out, out_stride);
}

/* ---- exponentials ---- */

#define ROUND 0x1.8p+23f
#define EXP2_LOW -125.f /* below, the result is taken as 0 */

INLINE vec exp2_of(vec t) {
    vec shifted = t + ROUND;
    vec r = t - (shifted - ROUND);
    vec q = v_fma(v_set(0x1.5bda40p-10f), r, v_set(0x1.3ce8acp-7f));
    q = v_fma(q, r, v_set(0x1.c6b6d8p-5f));
    q = v_fma(q, r, v_set(0x1.ebf9c2p-3f));
    q = v_fma(q, r, v_set(0x1.62e42ap-1f));
    vec p = v_fma(q, r, v_set(1));
    p = (vec)((vecu)p + ((vecu)shifted << 23));
    return v_if_less(t, v_set(EXP2_LOW), v_set(0), p);
}

/* n is a multiple of 16. */
static void exp2_biased(float *values, const float *bias, size_t n, float start) {
    const vec s = v_set(start);
    for (size_t i = 0; i < n; i += W)
        v_store(values + i, exp2_of(v_load(values + i) + (v_load(bias + i) + s)));
}

const lm_simd_expand GLUE(lm_simd_expand_, LM_ISA) = {
    .expand = expand,
    .exp2_biased = exp2_biased,
};
