/* rows.c: what a tree computes at its nodes and leaves, compiled once per instruction set.
 *
 * At a node one vector is compared with the query. The differences are summed in double, in sixteen
 * lanes that are added at the end, so that equal distances give equal numbers on every machine once
 * rounded to float.
 *
 * At a leaf a few linear scores are computed: weights in panels of sixteen rows as in a packed set,
 * with a bias per row (-FLT_MAX where a panel has no row). */
#include "num/rows.h"
#include "num/simd/simd.h"
#include "num/simd/vec.h"

#include <float.h>

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

enum { PANEL = 16, P = PANEL / W, FOUR = 4 };

/* ---- distances ---- */

INLINE double sum_differences(int squared, const float *a, const float *b, size_t n) {
    vecd sum[PARTS] = {{0}};
    size_t i = 0;
    for (; i + PANEL <= n; i += PANEL) {
        UNROLL
        for (int p = 0; p < PARTS; p++) {
            vecd diff = d_load(a + i + p * D) - d_load(b + i + p * D);
            sum[p] = squared ? d_fma(diff, diff, sum[p]) : sum[p] + d_abs(diff);
        }
    }
    if (i < n) { /* the rest, padded with zeros */
        float rest[2][PANEL] = {{0}, {0}};
        for (size_t j = 0; i + j < n; j++) {
            rest[0][j] = a[i + j];
            rest[1][j] = b[i + j];
        }
        UNROLL
        for (int p = 0; p < PARTS; p++) {
            vecd diff = d_load(rest[0] + p * D) - d_load(rest[1] + p * D);
            sum[p] = squared ? d_fma(diff, diff, sum[p]) : sum[p] + d_abs(diff);
        }
    }
    vecd all = sum[0];
    UNROLL
    for (int p = 1; p < PARTS; p++)
        all += sum[p];
    return d_total(all);
}

static double pair_l2(const float *a, const float *b, size_t n) {
    return sum_differences(1, a, b, n);
}

static double pair_l1(const float *a, const float *b, size_t n) {
    return sum_differences(0, a, b, n);
}

/* ---- distances to many rows ---- */

enum { GATHER_DOT, GATHER_L2, GATHER_L1, AHEAD = 4 }; /* in the order of lm_metric */

INLINE double sum_whole(int metric, const float *a, const float *b, size_t n) {
    vecd sum[PARTS] = {{0}};
    for (size_t i = 0; i < n; i += PANEL) {
        UNROLL
        for (int p = 0; p < PARTS; p++) {
            vecd u = d_load(a + i + p * D), v = d_load(b + i + p * D);
            sum[p] = metric == GATHER_DOT  ? d_fma(u, v, sum[p])
                     : metric == GATHER_L2 ? d_fma(u - v, u - v, sum[p])
                                           : sum[p] + d_abs(u - v);
        }
    }
    vecd all = sum[0];
    UNROLL
    for (int p = 1; p < PARTS; p++)
        all += sum[p];
    return d_total(all);
}

INLINE void gather(int metric, const float *x, const float *rows, size_t n, const uint32_t *index,
                   size_t count, double *out) {
    for (size_t i = 0; i < count && i < AHEAD; i++)
        __builtin_prefetch(rows + index[i] * n);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            __builtin_prefetch(rows + index[i + AHEAD] * n);
        out[i] = sum_whole(metric, x, rows + index[i] * n, n);
    }
}

#define GATHER(name, metric)                                                             \
    static void name(const float *x, const float *rows, size_t n, const uint32_t *index, \
                     size_t count, double *out) {                                        \
        if (n == PANEL)                                                                  \
            gather(metric, x, rows, PANEL, index, count, out);                           \
        else                                                                             \
            gather(metric, x, rows, n, index, count, out);                               \
    }

GATHER(gather_dot, GATHER_DOT)
GATHER(gather_l2, GATHER_L2)
GATHER(gather_l1, GATHER_L1)

/* ---- distances to rows that lie in columns ---- */

INLINE vecd add_term(int metric, double x, vecd rows, vecd sum) {
    vecd diff = (x - (vecd){0}) - rows;
    return metric == GATHER_DOT  ? d_fma(x - (vecd){0}, rows, sum)
           : metric == GATHER_L2 ? d_fma(diff, diff, sum)
                                 : sum + d_abs(diff);
}

/* The sixteen sums of sum_whole, added up in its order. */
INLINE vecd add_up(vecd *sum) {
    UNROLL
    for (int k = 0; k < D; k++)
        UNROLL
    for (int p = 1; p < PARTS; p++)
        sum[k] += sum[p * D + k];
    UNROLL
    for (int half = D / 2; half > 0; half /= 2)
        UNROLL
    for (int k = 0; k < half; k++)
        sum[k] += sum[k + half];
    return sum[0];
}

/* Four of the sixteen sums at a time, so that they stay in registers. */
INLINE void spread(int metric, const double *x, size_t d, const double *columns, size_t lanes,
                   double *out) {
    for (size_t c = 0; c < lanes; c += D) {
        vecd sum[PANEL];
        UNROLL
        for (int k = 0; k < PANEL; k += FOUR) {
            vecd some[FOUR] = {{0}};
            for (size_t j = (size_t)k; j < d; j += PANEL) {
                UNROLL
                for (int i = 0; i < FOUR; i++)
                    some[i] =
                        add_term(metric, x[j + (size_t)i],
                                 d_load_double(columns + (j + (size_t)i) * lanes + c), some[i]);
            }
            UNROLL
            for (int i = 0; i < FOUR; i++)
                sum[k + i] = some[i];
        }
        d_store_double(out + c, add_up(sum));
    }
}

#define SPREAD(name, metric)                                                         \
    static void name(const double *x, size_t d, const double *columns, size_t lanes, \
                     double *out) {                                                  \
        spread(metric, x, d, columns, lanes, out);                                   \
    }

SPREAD(spread_dot, GATHER_DOT)
SPREAD(spread_l2, GATHER_L2)
SPREAD(spread_l1, GATHER_L1)

/* ---- rows of bytes ---- */

/* Sums of squared differences of bytes: at most 2^31 for 2^15 of them. */
INLINE int32_t sum_bytes(const uint8_t *a, const uint8_t *b, size_t n) {
    size_t i = 0;
    int32_t sum = 0;
#if defined(__AVX2__)
    __m256i low = _mm256_setzero_si256();
#if defined(__AVX512BW__)
    __m512i all = _mm512_setzero_si512();
    for (; i + 32 <= n; i += 32) {
        __m512i u = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(a + i)));
        __m512i v = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(b + i)));
        u = _mm512_sub_epi16(u, v);
        all = _mm512_add_epi32(all, _mm512_madd_epi16(u, u));
    }
    if (n >= 32)
        low = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
#endif
    for (; i < n; i += 16) {
        __m256i u = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(a + i)));
        __m256i v = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(b + i)));
        u = _mm256_sub_epi16(u, v);
        low = _mm256_add_epi32(low, _mm256_madd_epi16(u, u));
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    sum = _mm_cvtsi128_si32(four);
#else
    for (; i < n; i++) {
        int32_t difference = (int32_t)a[i] - (int32_t)b[i];
        sum += difference * difference;
    }
#endif
    return sum;
}

INLINE void gather_squares(const uint8_t *x, const uint8_t *rows, size_t n, const uint32_t *index,
                           size_t count, double *out) {
    for (size_t i = 0; i < count && i < AHEAD; i++)
        __builtin_prefetch(rows + index[i] * n);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            __builtin_prefetch(rows + index[i + AHEAD] * n);
        out[i] = (double)sum_bytes(x, rows + index[i] * n, n);
    }
}

#if defined(__AVX512BW__)

/* The squares of two rows of sixteen bytes, eight sums each. */
INLINE __m512i two_rows(__m512i x, const uint8_t *a, const uint8_t *b) {
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)a)),
                                           _mm_loadu_si128((const void *)b), 1);
    __m512i u = _mm512_sub_epi16(_mm512_cvtepu8_epi16(both), x);
    return _mm512_madd_epi16(u, u);
}

/* Short rows, four at a time, so that their sums are added up together. */
INLINE size_t gather_short(const uint8_t *x, const uint8_t *rows, const uint32_t *index,
                           size_t count, double *out) {
    __m256i once = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)x));
    __m512i twice = _mm512_broadcast_i64x4(once);
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const uint32_t *at = index + i;
        __m512i a = two_rows(twice, rows + (size_t)at[0] * PANEL, rows + (size_t)at[1] * PANEL);
        __m512i b = two_rows(twice, rows + (size_t)at[2] * PANEL, rows + (size_t)at[3] * PANEL);
        __m512i s = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        s = _mm512_add_epi32(s, _mm512_shuffle_epi32(s, 0x4e));
        s = _mm512_add_epi32(s, _mm512_shuffle_i64x2(s, s, 0xb1));
        /* Rows 0 and 2 are at the beginning, 1 and 3 in the middle. */
        __m128i even = _mm512_castsi512_si128(s), odd = _mm512_extracti32x4_epi32(s, 2);
        _mm256_storeu_pd(out + i, _mm256_cvtepi32_pd(_mm_unpacklo_epi32(even, odd)));
    }
    return i;
}

#else

INLINE size_t gather_short(const uint8_t *x, const uint8_t *rows, const uint32_t *index,
                           size_t count, double *out) {
    (void)x, (void)rows, (void)index, (void)count, (void)out;
    return 0;
}

#endif

static void gather_bytes(const uint8_t *x, const uint8_t *rows, size_t n, const uint32_t *index,
                         size_t count, double *out) {
    size_t done = n == PANEL ? gather_short(x, rows, index, count, out) : 0;
    index += done;
    out += done;
    count -= done;
    if (n == PANEL)
        gather_squares(x, rows, PANEL, index, count, out);
    else
        gather_squares(x, rows, n, index, count, out);
}

/* ---- keys ---- */

/* As many whole numbers as there are doubles in a vector. They are stored and loaded in the same
 * pieces: a wider load would wait for the stores. */
typedef uint32_t vech __attribute__((vector_size(W * 2)));

INLINE vech h_load(const uint32_t *keys) {
    vech v;
    memcpy(&v, keys, sizeof v);
    return v;
}

/* Those of D distances, lm_key's. */
INLINE vech some_keys(const double *distance) {
    typedef uint64_t whole __attribute__((vector_size(W * 4)));
    return __builtin_convertvector(((whole)d_load_double(distance) + (UINT64_C(1) << 30)) >> 31,
                                   vech);
}

/* One bit per lane. */
INLINE uint32_t h_equal(vech a, vech b) {
    vech equal = (vech)(a == b);
#if defined(__AVX512F__) || defined(__AVX2__)
#if defined(__AVX512F__)
    return (uint32_t)_mm256_movemask_ps((__m256)equal);
#else
    return (uint32_t)_mm_movemask_ps((__m128)equal);
#endif
#else
    return (equal[0] & 1) | (equal[1] & 2);
#endif
}

static uint32_t keys_of(const double *distance, size_t n, uint32_t *keys, uint64_t *which) {
    vech best = (vech){0} - 1;
    size_t whole = n - n % D;
    uint32_t least = UINT32_MAX;
    uint64_t equal = 0;
    for (size_t i = 0; i < whole; i += D) {
        vech some = some_keys(distance + i), less = (vech)(some < best);
        memcpy(keys + i, &some, sizeof some);
        best = (some & less) | (best & ~less);
    }
    UNROLL
    for (int k = 0; k < D; k++)
        least = best[k] < least ? best[k] : least;
    for (size_t i = whole; i < n; i++) {
        keys[i] = lm_key(distance[i]);
        least = keys[i] < least ? keys[i] : least;
    }
    for (size_t i = 0; i < whole; i += D)
        equal |= (uint64_t)h_equal(h_load(keys + i), least - (vech){0}) << i;
    for (size_t i = whole; i < n; i++)
        equal |= (uint64_t)(keys[i] == least) << i;
    *which = equal;
    return least;
}

/* ---- scores ---- */

static void panel_scores(const float *rows, const float *bias, size_t d, size_t panels,
                         const float *x, float *out) {
    for (size_t k = 0; k < panels; k++, rows += d * PANEL) {
        vec even[P], odd[P];
        UNROLL
        for (int v = 0; v < P; v++) {
            even[v] = v_load(bias + k * PANEL + v * W);
            odd[v] = (vec){0};
        }
        size_t j = 0;
        for (; j + 2 <= d; j += 2) {
            UNROLL
            for (int v = 0; v < P; v++) {
                even[v] = v_fma(v_set(x[j]), v_load(rows + j * PANEL + v * W), even[v]);
                odd[v] = v_fma(v_set(x[j + 1]), v_load(rows + (j + 1) * PANEL + v * W), odd[v]);
            }
        }
        UNROLL
        for (int v = 0; v < P; v++) {
            if (j < d)
                even[v] = v_fma(v_set(x[j]), v_load(rows + j * PANEL + v * W), even[v]);
            v_store(out + k * PANEL + v * W, even[v] + odd[v]);
        }
    }
}

const lm_simd_rows GLUE(lm_simd_rows_, LM_ISA) = {
    .pair_l2 = pair_l2,
    .pair_l1 = pair_l1,
    .gather = {gather_dot, gather_l2, gather_l1},
    .spread = {spread_dot, spread_l2, spread_l1},
    .keys = keys_of,
    .gather_bytes = gather_bytes,
    .panel_scores = panel_scores,
};
