/* kernel_sums.c: sums of kernel values, compiled once per instruction set like body.c.
 *
 * A kernel machine has support vectors in panels of sixteen, each with several coefficients, one
 * per sum. Most coefficients are 0, and the vectors are ordered so that whole blocks of sixteen are
 * 0; only the other blocks are stored, each with the number of its panel. A sum is
 *
 *   out[m] = sum over its blocks b and lanes of k[panel_b * 16 + lane] * coef_b[lane]
 *
 * Its lanes stay separate until the end, where they are added once. A tile of queries goes through
 * the blocks sum by sum, with its sums in registers. Where there are few sums (narrow), each is
 * split over four accumulators, block by block, to keep the multipliers busy for one query. The
 * order of summation does not depend on the number of queries, so one and many give the same result
 * bit for bit.
 *
 * 2^t = 2^n (1 + r q(r)), n = round(t), r = t - n exactly, q of degree 4 fitted to the smallest
 * relative error (9.4e-8, with rounding 1.6e-7, without fused multiply-adds 2.4e-7) on |r| <= 1/2;
 * q(0) times 0 keeps 2^0 = 1. */
#include "num/simd/simd.h"
#include "num/simd/vec.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

enum { PANEL = 16, P = PANEL / W };

/* Queries per tile, wide and narrow, so that the sums and a block fit in the registers. */
#if defined(__AVX512F__)
enum { WIDE = 12, NARROW = 6 };
#elif defined(__AVX2__)
enum { WIDE = 6, NARROW = 1 };
#elif defined(__ARM_NEON)
enum { WIDE = 4, NARROW = 1 };
#else
enum { WIDE = 2, NARROW = 1 };
#endif
enum { SPLITS = 4 };

/* Loads a block once for several multiplications: compilers would load it for each of them, and
 * loads are the bottleneck here. */
#if defined(__AVX512F__)
#define KEEP(v) __asm__("" : "+v"(v))
#elif defined(__SSE2__)
#define KEEP(v) __asm__("" : "+x"(v))
#elif defined(__ARM_NEON)
#define KEEP(v) __asm__("" : "+w"(v))
#else
#define KEEP(v) (void)(v)
#endif

/* ---- the end of a sum ---- */

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

/* The totals of four vectors at once: halves are interleaved and added until one lane of each is
 * left, in the order of v_total: far halves first. */
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

/* The lanes of a panel's vectors, added up to one vector. */
INLINE vec join(const vec *parts) {
    vec all = parts[0];
    UNROLL
    for (int v = 1; v < P; v++)
        all += parts[v];
    return all;
}

/* ---- sums ---- */

/* Blocks i .. i + splits - 1, of which there are count, for `queries` queries. */
INLINE void add_blocks(int queries, int splits, int count, const float *k, size_t k_stride,
                       const uint16_t *panel, const float *coef, vec *sum) {
    UNROLL
    for (int u = 0; u < count; u++) {
        const float *values = k + (size_t)panel[u] * PANEL;
        UNROLL
        for (int v = 0; v < P; v++) {
            vec c = v_load(coef + u * PANEL + v * W);
            if (queries > 1)
                KEEP(c);
            UNROLL
            for (int q = 0; q < queries; q++) {
                vec *s = &sum[(q * splits + u) * P + v];
                *s = v_fma(c, v_load(values + (size_t)q * k_stride + v * W), *s);
            }
        }
    }
}

/* The lanes of one query's sum: the splits added in order, then the parts. */
INLINE vec collect(int splits, const vec *sum) {
    vec parts[P];
    UNROLL
    for (int v = 0; v < P; v++) {
        parts[v] = sum[v];
        UNROLL
        for (int u = 1; u < splits; u++)
            parts[v] += sum[u * P + v];
    }
    return join(parts);
}

INLINE void store_sums(int queries, int splits, const vec *sum, float *out, size_t out_stride) {
    const int each = splits * P;
    int q = 0;
    UNROLL
    for (; q + 4 <= queries; q += 4) {
        float four[4];
        v_totals(collect(splits, sum + q * each), collect(splits, sum + (q + 1) * each),
                 collect(splits, sum + (q + 2) * each), collect(splits, sum + (q + 3) * each),
                 four);
        UNROLL
        for (int i = 0; i < 4; i++)
            out[(size_t)(q + i) * out_stride] = four[i];
    }
    UNROLL
    for (; q < queries; q++)
        out[(size_t)q * out_stride] = v_total(collect(splits, sum + q * each));
}

INLINE void expand_tile(int queries, int splits, const float *k, size_t k_stride,
                        const lm_sum_lists *lists, size_t width, float *out, size_t out_stride) {
    for (size_t m = 0; m < width; m++) {
        vec sum[48];
        size_t i = lists->start[m], end = lists->start[m + 1];
        UNROLL
        for (int s = 0; s < queries * splits * P; s++)
            sum[s] = (vec){0};
        for (; i + (size_t)splits <= end; i += (size_t)splits)
            add_blocks(queries, splits, splits, k, k_stride, lists->panel + i,
                       lists->coef + i * PANEL, sum);
        for (size_t u = 0; i + u < end; u++) /* the last ones, if there are splits */
            for (int q = 0; q < queries; q++)
                for (int v = 0; v < P; v++) {
                    vec *s = &sum[(q * splits + (int)u) * P + v];
                    *s = v_fma(v_load(lists->coef + (i + u) * PANEL + v * W),
                               v_load(k + (size_t)lists->panel[i + u] * PANEL +
                                      (size_t)q * k_stride + v * W),
                               *s);
                }
        store_sums(queries, splits, sum, out + m, out_stride);
    }
}

#define DEFINE_TILE(name, queries, splits)                                              \
    static __attribute__((noinline)) void name(const float *k, size_t k_stride,         \
                                               const lm_sum_lists *lists, size_t width, \
                                               float *out, size_t out_stride) {         \
        expand_tile(queries, splits, k, k_stride, lists, width, out, out_stride);       \
    }

DEFINE_TILE(wide_tile, WIDE, 1)
DEFINE_TILE(wide_one, 1, 1)
DEFINE_TILE(narrow_tile, NARROW, SPLITS)
DEFINE_TILE(narrow_one, 1, SPLITS)

static void expand(const float *k, size_t k_stride, size_t queries, const lm_sum_lists *lists,
                   size_t width, bool narrow, float *out, size_t out_stride) {
    size_t many = narrow ? NARROW : WIDE, q = 0;
    for (; q + many <= queries; q += many)
        (narrow ? narrow_tile : wide_tile)(k + q * k_stride, k_stride, lists, width,
                                           out + q * out_stride, out_stride);
    for (; q < queries; q++)
        (narrow ? narrow_one : wide_one)(k + q * k_stride, k_stride, lists, width,
                                         out + q * out_stride, out_stride);
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
#if defined(__AVX512F__)
    __mmask16 normal = _mm512_cmp_ps_mask((__m512)t, _mm512_set1_ps(EXP2_LOW), _CMP_GE_OQ);
    return (vec)_mm512_maskz_scalef_ps(normal, (__m512)p, (__m512)(shifted - ROUND));
#else
    p = (vec)((vecu)p + ((vecu)shifted << 23));
    return v_if_less(t, v_set(EXP2_LOW), v_set(0), p);
#endif
}

/* n is a multiple of 16. */
static void exp2_biased(float *values, const float *bias, size_t n, float start) {
    const vec s = v_set(start);
    for (size_t i = 0; i < n; i += W)
        v_store(values + i, exp2_of(v_load(values + i) + (v_load(bias + i) + s)));
}

/* Dot products of one query and their powers in one pass: the exponentials of some panels are
 * computed while the next panels are loaded. The sums are those of body.c for d below its
 * SPLIT_FROM. */
INLINE void power_panels(int panels, const float *rows, const float *bias, size_t d, const float *x,
                         vec start, float *out) {
    vec sum[8 * P];
    UNROLL
    for (int i = 0; i < panels * P; i++)
        sum[i] = (vec){0};
    for (size_t j = 0; j < d; j++) {
        vec b = v_set(x[j]);
        UNROLL
        for (int i = 0; i < panels * P; i++)
            sum[i] = v_fma(b, v_load(rows + (size_t)(i / P) * d * PANEL + j * PANEL + i % P * W),
                           sum[i]);
    }
    UNROLL
    for (int i = 0; i < panels * P; i++)
        v_store(out + i * W, exp2_of(sum[i] + (v_load(bias + i * W) + start)));
}

static void dot_exp2(const float *rows, const float *bias, size_t d, size_t panels, const float *x,
                     float start, float *out) {
    enum { GROUP = 8 / P };
    const vec s = v_set(start);
    size_t p = 0;
    for (; p + GROUP <= panels; p += GROUP)
        power_panels(GROUP, rows + p * d * PANEL, bias + p * PANEL, d, x, s, out + p * PANEL);
    rows += p * d * PANEL;
    bias += p * PANEL;
    out += p * PANEL;
    switch (panels - p) { /* all remaining panels at once: each waits only for its own sums */
#define LEFT(count)                                        \
    case count:                                            \
        if (count < GROUP)                                 \
            power_panels(count, rows, bias, d, x, s, out); \
        break;
        LEFT(1)
        LEFT(2)
        LEFT(3)
        LEFT(4)
        LEFT(5)
        LEFT(6)
        LEFT(7)
#undef LEFT
    default:
        break;
    }
}

const lm_simd_sums GLUE(lm_simd_sums_, LM_ISA) = {
    .sum = expand,
    .exp2_biased = exp2_biased,
    .dot_exp2 = dot_exp2,
};
