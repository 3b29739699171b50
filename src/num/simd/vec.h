/* vec.h: vectors of W floats, and the few operations for which compilers turn the vector extensions
 * into poor code. Included by body.c only, once per instruction set.
 *
 * Every helper is inlined. v_min(a, b) gives b when a is NaN; v_least is the smallest lane of a
 * vector without NaN. v_equal and v_not_above (<=) give one bit per lane, lane 0 lowest; v_if_less
 * picks lanes: a < b ? yes : no. v_fma rounds once where the machine can. */
#ifndef LIMN_NUM_SIMD_VEC_H
#define LIMN_NUM_SIMD_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define W 16
#elif defined(__AVX2__)
#define W 8
#else
#define W 4
#endif

#define INLINE static inline __attribute__((always_inline, unused))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

typedef float vec __attribute__((vector_size(W * 4)));
typedef int32_t veci __attribute__((vector_size(W * 4)));
typedef uint32_t vecu __attribute__((vector_size(W * 4)));
typedef float vec_any __attribute__((vector_size(W * 4), aligned(4), may_alias));

INLINE vec v_load(const float *p) {
    return *(const vec_any *)p;
}

INLINE void v_store(float *p, vec v) {
    *(vec_any *)p = v;
}

INLINE vec v_set(float value) {
    return value - (vec){0};
}

INLINE vec v_abs(vec v) {
    return (vec)((veci)v & 0x7fffffff);
}

#if defined(__AVX512F__)

INLINE vec v_fma(vec a, vec b, vec c) {
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

INLINE vec v_min(vec a, vec b) {
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
}

INLINE vec v_sqrt(vec a) {
    return (vec)_mm512_sqrt_ps((__m512)a);
}

INLINE float v_least(vec a) {
    return _mm512_reduce_min_ps((__m512)a);
}

INLINE uint32_t v_equal(vec a, vec b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ);
}

INLINE uint32_t v_not_above(vec a, vec b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
}

INLINE vec v_if_less(vec a, vec b, vec yes, vec no) {
    __mmask16 m = _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
    return (vec)_mm512_mask_blend_ps(m, (__m512)no, (__m512)yes);
}

INLINE vec v_load_part(const float *p, size_t count, float fill) {
    __mmask16 m = (__mmask16)((1u << count) - 1);
    return (vec)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), m, p);
}

INLINE void v_store_part(float *p, size_t count, vec v) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), (__m512)v);
}

#elif defined(__AVX2__)

INLINE vec v_fma(vec a, vec b, vec c) {
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

INLINE vec v_min(vec a, vec b) {
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
}

INLINE vec v_sqrt(vec a) {
    return (vec)_mm256_sqrt_ps((__m256)a);
}

INLINE float v_least(vec a) {
    __m128 m = _mm_min_ps(_mm256_castps256_ps128((__m256)a), _mm256_extractf128_ps((__m256)a, 1));
    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}

INLINE uint32_t v_bits(veci mask) {
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
}

#elif defined(__SSE2__)

INLINE vec v_fma(vec a, vec b, vec c) {
    return a * b + c;
}

INLINE vec v_min(vec a, vec b) {
    return (vec)_mm_min_ps((__m128)a, (__m128)b);
}

INLINE vec v_sqrt(vec a) {
    return (vec)_mm_sqrt_ps((__m128)a);
}

INLINE float v_least(vec a) {
    __m128 m = _mm_min_ps((__m128)a, _mm_movehl_ps((__m128)a, (__m128)a));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_shuffle_ps(m, m, 1)));
}

INLINE uint32_t v_bits(veci mask) {
    return (uint32_t)_mm_movemask_ps((__m128)mask);
}

#elif defined(__ARM_NEON)

INLINE vec v_fma(vec a, vec b, vec c) {
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

INLINE vec v_min(vec a, vec b) {
    return (vec)vminnmq_f32((float32x4_t)a, (float32x4_t)b);
}

INLINE vec v_sqrt(vec a) {
    return (vec)vsqrtq_f32((float32x4_t)a);
}

INLINE float v_least(vec a) {
    return vminvq_f32((float32x4_t)a);
}

INLINE uint32_t v_bits(veci mask) {
    return vaddvq_u32((uint32x4_t)(mask & (veci){1, 2, 4, 8}));
}

#else

INLINE vec v_fma(vec a, vec b, vec c) {
    return a * b + c;
}

INLINE vec v_min(vec a, vec b) {
    return (vec)(((veci)a & (a < b)) | ((veci)b & ~(a < b)));
}

INLINE vec v_sqrt(vec a) {
    for (int i = 0; i < W; i++)
        a[i] = __builtin_sqrtf(a[i]);
    return a;
}

INLINE float v_least(vec a) {
    float least = a[0];
    for (int i = 1; i < W; i++)
        least = a[i] < least ? a[i] : least;
    return least;
}

INLINE uint32_t v_bits(veci mask) {
    uint32_t bits = 0;
    for (int i = 0; i < W; i++)
        bits |= (uint32_t)(mask[i] & 1) << i;
    return bits;
}

#endif

#if !defined(__AVX512F__)

INLINE uint32_t v_equal(vec a, vec b) {
    return v_bits(a == b);
}

INLINE uint32_t v_not_above(vec a, vec b) {
    return v_bits(a <= b);
}

INLINE vec v_if_less(vec a, vec b, vec yes, vec no) {
    veci mask = a < b;
    return (vec)(((veci)yes & mask) | ((veci)no & ~mask));
}

INLINE vec v_load_part(const float *p, size_t count, float fill) {
    float part[W];
    for (size_t i = 0; i < W; i++)
        part[i] = i < count ? p[i] : fill;
    return v_load(part);
}

INLINE void v_store_part(float *p, size_t count, vec v) {
    float part[W];
    v_store(part, v);
    memcpy(p, part, count * sizeof *p);
}

#endif

/* ---- doubles ---- */

typedef double vecd __attribute__((vector_size(W * 4)));
/* Doubles per vector, and vectors for sixteen doubles. */
enum { D = W / 2, PARTS = 16 / D };

INLINE vecd d_load(const float *p) {
#if defined(__AVX512F__)
    return (vecd)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif defined(__AVX2__)
    return (vecd)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
    return (vecd){(double)p[0], (double)p[1]};
#endif
}

INLINE vecd d_load_double(const double *p) {
    typedef double vecd_any __attribute__((vector_size(W * 4), aligned(8), may_alias));
    return *(const vecd_any *)p;
}

INLINE void d_store_double(double *p, vecd v) {
    typedef double vecd_any __attribute__((vector_size(W * 4), aligned(8), may_alias));
    *(vecd_any *)p = v;
}

INLINE vecd d_fma(vecd a, vecd b, vecd c) {
#if defined(__AVX512F__)
    return (vecd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    return (vecd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return a * b + c;
#endif
}

INLINE vecd d_abs(vecd v) {
    typedef int64_t whole __attribute__((vector_size(W * 4)));
    return (vecd)((whole)v & INT64_MAX);
}

/* Adds the second half of the lanes to the first until one is left: so spread sums in rows.c can
 * add them in the same order. */
INLINE double d_total(vecd v) {
#if defined(__AVX512F__)
    __m256d h =
        _mm256_add_pd(_mm512_castpd512_pd256((__m512d)v), _mm512_extractf64x4_pd((__m512d)v, 1));
#elif defined(__AVX2__)
    __m256d h = (__m256d)v;
#endif
#if defined(__AVX512F__) || defined(__AVX2__)
    __m128d s = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
#else
    return v[0] + v[1];
#endif
}

#endif
