/* body.c: the kernels, written once with W-wide vectors and compiled once per instruction set.
 *
 * Distances and dot products. A tile is `queries` rows of x against `panels` panels, with all sums
 * in registers; per feature it loads each panel's sixteen floats once and broadcasts each query's
 * feature once. The tile sizes (below) keep at least eight sums in flight, which hides the latency
 * of a multiply-add on two ports, and fit in the registers.
 *
 * The order of summation depends only on d, so one query and a block of queries give the same
 * result bit for bit. The features are cut into S equal chunks (the remainder goes to the last
 * one); each chunk is summed in feature order in its own accumulator; the chunks are added in
 * order:
 *
 *     ((c_0 + c_1) + c_2) + c_3 ...      S = 1 for d < SPLIT_FROM, else 4, 8, ... (chunk_count)
 *
 * A tile of many rows processes the chunks one after the other. A tile of few rows processes two or
 * four at once, to keep eight sums in flight.
 *
 * Exponentials. exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 in two steps (the high
 * part of ln 2 has few bits, so the first step is exact), exp(r) = 1 + r + r^2 q(r) with q of
 * degree 4 fitted to the smallest relative error (3e-9) on |r| <= ln(2) / 2.
 * tanh(x) = x + x^3 q(x^2), q of degree 4 (4e-9), below 0.625 in magnitude, and
 * 1 - 2 / (exp(2x) + 1) above.
 *
 * Notation: P vectors make a panel; W floats make a vector. */
#include "num/simd/simd.h"
#include "num/simd/vec.h"

#include <float.h>
#include <math.h>

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

enum { PANEL = 16, P = PANEL / W };
enum { DOT, L2, L1, CHI2, MIN }; /* in the order of lm_metric */

/* SPLIT_FROM: shorter sums are one chunk. CHUNK_MAX: with chunks no longer than this, the panels of
 * a tile stay in the second-level cache for any d. RESIDENT: bytes of panels that all queries of a
 * block pass over before the next panels are touched. */
enum { SPLIT_FROM = 48, SPLIT = 4, CHUNK_MAX = 2048, RESIDENT = 128 << 10 };

/* ACCUMULATORS: how many sums a small tile aims for. X(op, queries, panels): ONE_QUERY by
 * decreasing panels without a gap; MANY_QUERIES by decreasing queries, then decreasing panels down
 * to 1. */
/* clang-format off */
#if defined(__AVX512F__)
enum { ACCUMULATORS = 8 };
#define ONE_QUERY(X, op) \
    X(op, 1, 8) X(op, 1, 7) X(op, 1, 6) X(op, 1, 5) X(op, 1, 4) X(op, 1, 3) X(op, 1, 2) X(op, 1, 1)
#define MANY_QUERIES(X, op) \
    X(op, 6, 4) X(op, 6, 2) X(op, 6, 1) X(op, 3, 4) X(op, 3, 1) X(op, 2, 4) X(op, 2, 1)
#elif defined(__AVX2__)
enum { ACCUMULATORS = 8 };
#define ONE_QUERY(X, op) X(op, 1, 4) X(op, 1, 3) X(op, 1, 2) X(op, 1, 1)
#define MANY_QUERIES(X, op) X(op, 6, 1) X(op, 3, 1) X(op, 2, 1)
#elif defined(__ARM_NEON)
enum { ACCUMULATORS = 16 };
#define ONE_QUERY(X, op) X(op, 1, 4) X(op, 1, 3) X(op, 1, 2) X(op, 1, 1)
#define MANY_QUERIES(X, op) X(op, 6, 1) X(op, 3, 1) X(op, 2, 1)
#else
enum { ACCUMULATORS = 8 };
#define ONE_QUERY(X, op) X(op, 1, 2) X(op, 1, 1)
#define MANY_QUERIES(X, op) X(op, 3, 1) X(op, 2, 1)
#endif
/* clang-format on */

/* ---- tiles ---- */

/* What the tiles of one sweep share. */
typedef struct plan {
    size_t step; /* floats from one panel to the next */
    size_t x_stride, out_stride;
    size_t chunk;       /* features per chunk */
    size_t first, last; /* chunks to sum; the sums of those before first are in out */
    size_t rest;        /* features of the last chunk beyond `chunk`, when it is among these */
    size_t ahead; /* floats from a panel to one of the next pass, which large tiles prefetch */
    bool fetch;   /* there is a next pass */
} plan;

/* sum + diff (diff / total): the square could overflow. AVX-512 divides by an estimate of 14 bits
 * and one correction, in half the time, and leaves a term out where the total is not above 0 or the
 * ratio is NaN, which it is after an overflow and near subnormal numbers. The others add 0 / 1
 * where the total is not above 0. */
#if defined(__AVX512F__)
INLINE vec add_chi2(vec b, vec p, vec sum) {
    __m512 diff = (__m512)(b - p), total = (__m512)(b + p), inverse = _mm512_rcp14_ps(total);
    __m512 ratio = _mm512_mul_ps(diff, inverse);
    __m512 rest = _mm512_fnmadd_ps(total, ratio, diff);
    ratio = _mm512_fmadd_ps(rest, inverse, ratio);
    __mmask16 counts = _mm512_cmp_ps_mask(ratio, ratio, _CMP_ORD_Q);
    counts = _mm512_mask_cmp_ps_mask(counts, total, _mm512_setzero_ps(), _CMP_GT_OQ);
    return (vec)_mm512_mask3_fmadd_ps(diff, ratio, (__m512)sum, counts);
}
#else
INLINE vec add_chi2(vec b, vec p, vec sum) {
    vec diff = b - p, total = b + p, zero = {0};
    diff = v_if_less(zero, total, diff, zero);
    return v_fma(diff, diff / v_if_less(zero, total, total, v_set(1)), sum);
}
#endif

INLINE vec accumulate(int op, vec b, vec p, vec sum) {
    if (op == DOT)
        return v_fma(b, p, sum);
    if (op == CHI2)
        return add_chi2(b, p, sum);
    if (op == MIN)
        return sum + v_min(b, p);
    vec diff = b - p;
    return op == L2 ? v_fma(diff, diff, sum) : sum + v_abs(diff);
}

/* Adds feature j of every (query, panel) to sum[0..queries * panels * P). */
INLINE void add_feature(int op, int queries, int panels, const plan *k, const float *data,
                        const float *x, size_t j, vec *sum) {
    vec p[16];
    if (queries > 1 && queries * panels * P >= 12) /* smaller tiles have no load slots to spare */
        __builtin_prefetch(data + k->ahead + j * PANEL, 0, 2);
    UNROLL
    for (int g = 0; g < panels; g++) {
        UNROLL
        for (int v = 0; v < P; v++)
            p[g * P + v] = v_load(data + (size_t)g * k->step + j * PANEL + v * W);
    }
    UNROLL
    for (int q = 0; q < queries; q++) {
        vec b = v_set(x[(size_t)q * k->x_stride + j]);
        UNROLL
        for (int i = 0; i < panels * P; i++)
            sum[q * panels * P + i] = accumulate(op, b, p[i], sum[q * panels * P + i]);
    }
}

/* Stores the sums of `together` chunks, added in order to what out holds (nothing when fresh). */
INLINE void finish(int queries, int panels, int together, const plan *k, float *out, const vec *sum,
                   bool fresh) {
    const int width = panels * P;
    UNROLL
    for (int q = 0; q < queries; q++) {
        UNROLL
        for (int i = 0; i < width; i++) {
            float *target = out + (size_t)q * k->out_stride + i * W;
            vec total = sum[q * width + i];
            if (!fresh)
                total = v_load(target) + total;
            UNROLL
            for (int c = 1; c < together; c++)
                total += sum[(c * queries + q) * width + i];
            v_store(target, total);
        }
    }
}

/* One tile, all features in one chunk. The two counts and op are constants. */
INLINE void whole_tile(int op, int queries, int panels, const plan *k, const float *data,
                       const float *x, float *out) {
    vec sum[32];
    UNROLL
    for (int i = 0; i < queries * panels * P; i++)
        sum[i] = (vec){0};
    for (size_t j = 0; j < k->chunk; j++)
        add_feature(op, queries, panels, k, data, x, j, sum);
    finish(queries, panels, 1, k, out, sum, true);
}

/* One tile, `together` chunks at once. */
INLINE void split_tile(int op, int queries, int panels, int together, const plan *k,
                       const float *data, const float *x, float *out) {
    const int sums = queries * panels * P;
    for (size_t s = k->first; s < k->last; s += (size_t)together) {
        vec sum[32];
        UNROLL
        for (int i = 0; i < sums * together; i++)
            sum[i] = (vec){0};
        size_t j = s * k->chunk;
        for (size_t end = j + k->chunk; j < end; j++) {
            UNROLL
            for (int c = 0; c < together; c++)
                add_feature(op, queries, panels, k, data, x, j + (size_t)c * k->chunk,
                            sum + c * sums);
        }
        if (s + (size_t)together == k->last) {
            j += (size_t)(together - 1) * k->chunk;
            for (size_t end = j + k->rest; j < end; j++)
                add_feature(op, queries, panels, k, data, x, j, sum + (together - 1) * sums);
        }
        finish(queries, panels, together, k, out, sum, s == 0);
    }
}

/* How many chunks a tile processes at once to keep ACCUMULATORS sums in flight. */
INLINE int chunks_together(int sums) {
    return sums >= ACCUMULATORS ? 1 : 2 * sums >= ACCUMULATORS ? 2 : 4;
}

/* Runs tiles of one shape while there are enough panels; returns the panels left. */
typedef size_t tile_runner(const plan *k, const float *data, const float *x, float *out,
                           size_t left);

typedef struct shape {
    size_t queries, panels;
    tile_runner *whole, *split;
} shape;

/* A separate function for each shape and operation: each needs all registers. */
#define DEFINE_RUNNER(name, panels, call)                                                   \
    static __attribute__((noinline)) size_t name(const plan *shared, const float *data,     \
                                                 const float *x, float *out, size_t left) { \
        const plan k = *shared;                                                             \
        for (; left >= panels; left -= panels) {                                            \
            call;                                                                           \
            data += panels * k.step;                                                        \
            out += panels * PANEL;                                                          \
        }                                                                                   \
        return left;                                                                        \
    }
#define DEFINE_TILES(op, queries, panels)                            \
    DEFINE_RUNNER(whole_##op##_##queries##_##panels, panels,         \
                  whole_tile(op, queries, panels, &k, data, x, out)) \
    DEFINE_RUNNER(                                                   \
        split_##op##_##queries##_##panels, panels,                   \
        split_tile(op, queries, panels, chunks_together(queries *panels *P), &k, data, x, out))
#define LIST_TILES(op, queries, panels) \
    {queries, panels, whole_##op##_##queries##_##panels, split_##op##_##queries##_##panels},

#define DEFINE_OPERATION(op)                                         \
    ONE_QUERY(DEFINE_TILES, op)                                      \
    MANY_QUERIES(DEFINE_TILES, op)                                   \
    static const shape one_##op[] = {ONE_QUERY(LIST_TILES, op)};     \
    static const shape many_##op[] = {MANY_QUERIES(LIST_TILES, op)}; \
    static const operation op##_tiles = {one_##op, many_##op};

typedef struct operation {
    const shape *one, *many;
} operation;

DEFINE_OPERATION(DOT)
DEFINE_OPERATION(L2)
DEFINE_OPERATION(L1)
DEFINE_OPERATION(CHI2)
DEFINE_OPERATION(MIN)

/* One query over `panels` panels: the widest tiles, then one tile for the rest. */
static void sweep_one(const shape *widest, const plan *k, const float *data, const float *x,
                      float *out, size_t panels) {
    size_t left = panels, wide = widest->panels;
    if (left >= wide) {
        left = (k->last > 1 ? widest->split : widest->whole)(k, data, x, out, left);
        data += (panels - left) * k->step;
        out += (panels - left) * PANEL;
    }
    if (left) {
        const shape *fit = widest + (wide - left);
        (k->last > 1 ? fit->split : fit->whole)(k, data, x, out, left);
    }
}

/* All queries over `panels` panels. */
static void sweep(const operation *op, plan *k, const float *data, const float *x, float *out,
                  size_t panels, size_t m) {
    size_t turn = 0; /* each row of tiles prefetches another panel of a tile's width */
    for (const shape *tall = op->many; m > 1; m -= tall->queries) {
        while (tall->queries > m)
            tall++;
        size_t left = panels;
        if (k->fetch)
            k->ahead = (panels + turn++ % tall->panels) * k->step;
        for (const shape *s = tall; left; s++) {
            size_t done = panels - left;
            tile_runner *run = k->last > 1 ? s->split : s->whole;
            if (left >= s->panels)
                left = run(k, data + done * k->step, x, out + done * PANEL, left);
        }
        x += tall->queries * k->x_stride;
        out += tall->queries * k->out_stride;
    }
    if (m)
        sweep_one(op->one, k, data, x, out, panels);
}

static size_t chunk_count(size_t d) {
    return d < SPLIT_FROM ? 1 : SPLIT * ((d - 1) / (SPLIT * CHUNK_MAX) + 1);
}

/* The panels that all queries pass over before the next ones are touched. */
static size_t resident_panels(const shape *tall, size_t d, size_t panels, size_t m) {
    if (m <= tall->queries)
        return panels;
    size_t wide = tall->panels, resident = RESIDENT / (d * PANEL * sizeof(float)) / wide * wide;
    return resident ? resident : wide;
}

static void all(const operation *op, const float *data, size_t d, size_t panels, const float *x,
                size_t x_stride, size_t m, float *out, size_t out_stride, bool more) {
    size_t chunks = chunk_count(d), chunk = chunks == SPLIT ? d / SPLIT : d / chunks;
    size_t rest = d - chunk * chunks, pass = resident_panels(op->many, d, panels, m);
    size_t together = m == 1 ? chunks : SPLIT;
    plan k = {d * PANEL, x_stride, out_stride, chunk, 0, 0, 0, 0, false};
    for (size_t p = 0; p < panels; p += pass) {
        for (k.first = 0; k.first < chunks; k.first = k.last) {
            k.last = k.first + together < chunks ? k.first + together : chunks;
            k.rest = k.last == chunks ? rest : 0;
            k.fetch = p + pass < panels || more;
            k.ahead = 0;
            size_t count = panels - p < pass ? panels - p : pass;
            sweep(op, &k, data + p * k.step, x, out + p * PANEL, count, m);
        }
    }
}

static void block_dot(const float *data, size_t d, size_t panels, const float *x, size_t x_stride,
                      size_t m, float *out, size_t out_stride, bool more) {
    all(&DOT_tiles, data, d, panels, x, x_stride, m, out, out_stride, more);
}

static void block_l2(const float *data, size_t d, size_t panels, const float *x, size_t x_stride,
                     size_t m, float *out, size_t out_stride, bool more) {
    all(&L2_tiles, data, d, panels, x, x_stride, m, out, out_stride, more);
}

static void block_l1(const float *data, size_t d, size_t panels, const float *x, size_t x_stride,
                     size_t m, float *out, size_t out_stride, bool more) {
    all(&L1_tiles, data, d, panels, x, x_stride, m, out, out_stride, more);
}

static void block_chi2(const float *data, size_t d, size_t panels, const float *x, size_t x_stride,
                       size_t m, float *out, size_t out_stride, bool more) {
    all(&CHI2_tiles, data, d, panels, x, x_stride, m, out, out_stride, more);
}

static void block_min(const float *data, size_t d, size_t panels, const float *x, size_t x_stride,
                      size_t m, float *out, size_t out_stride, bool more) {
    all(&MIN_tiles, data, d, panels, x, x_stride, m, out, out_stride, more);
}

/* ---- norms ---- */

/* A product of two floats is exact in double, so every instruction set gives the same norms. */
static void norms(const float *data, size_t d, size_t n, float *out) {
    for (size_t i = 0; i < n; i += PANEL, data += d * PANEL) {
        double sum[PANEL] = {0};
        for (size_t j = 0; j < d; j++)
            for (size_t r = 0; r < PANEL; r++)
                sum[r] += (double)data[j * PANEL + r] * (double)data[j * PANEL + r];
        for (size_t r = 0; r < PANEL && i + r < n; r++)
            out[i + r] = sum[r] > 0 && (float)sum[r] == 0 ? FLT_TRUE_MIN : (float)sum[r];
    }
}

/* ---- reductions ---- */

/* Two passes: the smallest value, then the first index with that value. */
INLINE size_t argmin_of(const float *values, size_t n) {
    if (n < W) {
        vec v = v_load_part(values, n, NAN);
        uint32_t bits = v_equal(v, v_set(v_least(v_min(v, v_set(INFINITY)))));
        return bits ? (size_t)__builtin_ctz(bits) : 0;
    }
    vec best[4] = {v_set(INFINITY), v_set(INFINITY), v_set(INFINITY), v_set(INFINITY)};
    size_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
        UNROLL
        for (int u = 0; u < 4; u++)
            best[u] = v_min(v_load(values + i + u * W), best[u]);
    }
    for (; i + W <= n; i += W)
        best[0] = v_min(v_load(values + i), best[0]);
    best[0] = v_min(v_load(values + n - W), best[0]);
    vec least = v_set(v_least(v_min(v_min(best[0], best[1]), v_min(best[2], best[3]))));
    for (i = 0; i < n; i += W) {
        size_t at = i + W <= n ? i : n - W;
        uint32_t bits = v_equal(v_load(values + at), least);
        if (bits)
            return at + (size_t)__builtin_ctz(bits);
    }
    return 0; /* all are NaN */
}

static size_t argmin(const float *values, size_t n) {
    return argmin_of(values, n);
}

static void segment_argmin(const float *values, const uint32_t *start, size_t count,
                           uint32_t *index) {
    for (size_t s = 0; s < count; s++) {
        size_t n = start[s + 1] - start[s];
        index[s] = n ? start[s] + (uint32_t)argmin_of(values + start[s], n) : UINT32_MAX;
    }
}

/* What is compared with the bound: values[i], or norms[i] - 2 values[i] where there are norms. */
INLINE vec candidate(const float *values, const float *norms, size_t i) {
    vec v = v_load(values + i);
    return norms ? v_fma(v_set(-2), v, v_load(norms + i)) : v;
}

/* 64 values at a time: usually none of them is below, which takes one test. */
INLINE size_t below_of(const float *values, const float *norms, size_t n, float bound,
                       uint32_t *index) {
    const vec limit = v_set(bound);
    size_t count = 0, i = 0;
    for (; i + 64 <= n; i += 64) {
        uint32_t lanes[64 / W], any = 0;
        UNROLL
        for (int v = 0; v < 64 / W; v++) {
            lanes[v] = v_not_above(candidate(values, norms, i + (size_t)v * W), limit);
            any |= lanes[v];
        }
        for (int v = 0; any && v < 64 / W; v++)
            for (uint32_t bits = lanes[v]; bits; bits &= bits - 1)
                index[count++] = (uint32_t)i + (uint32_t)(v * W + __builtin_ctz(bits));
    }
    for (; i < n; i++)
        if ((norms ? norms[i] - 2 * values[i] : values[i]) <= bound)
            index[count++] = (uint32_t)i;
    return count;
}

static size_t below(const float *values, size_t n, float bound, uint32_t *index) {
    return below_of(values, NULL, n, bound, index);
}

static size_t below_expanded(const float *dots, const float *norms, size_t n, float bound,
                             uint32_t *index) {
    return below_of(dots, norms, n, bound, index);
}

/* ---- transforms ---- */

/* values[i] <- f(values[i]) for whole vectors, then a partial one; f calls the old value v. */
#define TRANSFORM(values, n, f)                            \
    do {                                                   \
        size_t at = 0;                                     \
        for (; at + W <= (n); at += W) {                   \
            vec v = v_load((values) + at);                 \
            v_store((values) + at, f);                     \
        }                                                  \
        if (at < (n)) {                                    \
            vec v = v_load_part((values) + at, (n)-at, 0); \
            v_store_part((values) + at, (n)-at, f);        \
        }                                                  \
    } while (0)

/* EXP_LOW: just above ln 2^-126. EXP_HIGH: the first float whose exponential overflows. ROUND:
 * 1.5 * 2^23; adding it leaves the nearest integer in the low bits. */
#define EXP_LOW -87.3365f
#define EXP_HIGH 0x1.62e430p+6f
#define ROUND 0x1.8p+23f

INLINE vec exp_of(vec x) {
    vec shifted = v_fma(x, v_set(0x1.715476p+0f), v_set(ROUND));
    vec n = shifted - ROUND;
    vec r = v_fma(n, v_set(-0x1.63p-1f), x);
    r = v_fma(n, v_set(0x1.bd0106p-13f), r);
    vec q = v_fma(v_set(0x1.6a2432p-10f), r, v_set(0x1.1239e2p-7f));
    q = v_fma(q, r, v_set(0x1.5558f2p-5f));
    q = v_fma(q, r, v_set(0x1.555492p-3f));
    q = v_fma(q, r, v_set(0x1.fffffcp-2f));
    vec p = v_fma(r * r, q, r) + 1.f;
    /* p * 2^n by its exponent: inside the bounds the result is a normal number. */
    p = (vec)((vecu)p + ((vecu)shifted << 23));
    p = v_if_less(x, v_set(EXP_LOW), v_set(0), p);
    return v_if_less(x, v_set(EXP_HIGH), p, x + INFINITY); /* NaN stays NaN */
}

INLINE vec tanh_of(vec x) {
    vec a = v_abs(x), s = x * x;
    vec q = v_fma(v_set(-0x1.759218p-8f), s, v_set(0x1.52157ap-6f));
    q = v_fma(q, s, v_set(-0x1.b839d8p-5f));
    q = v_fma(q, s, v_set(0x1.110714p-3f));
    q = v_fma(q, s, v_set(-0x1.555532p-2f));
    vec near = v_fma(q * s, x, x);
    vec far = 1.f - 2.f / (exp_of(a + a) + 1.f);
    veci sign = (veci)x & INT32_MIN;
    return v_if_less(a, v_set(0.625f), near, (vec)((veci)far | sign));
}

INLINE vec power_of(vec base, unsigned degree) {
    vec power = v_set(1);
    for (;; base *= base) {
        if (degree & 1)
            power *= base;
        degree >>= 1;
        if (!degree)
            return power;
    }
}

static void exp_all(float *values, size_t n) {
    TRANSFORM(values, n, exp_of(v));
}

/* The minimum avoids infinity * 0. */
static void rbf(float *values, size_t n, float gamma) {
    TRANSFORM(values, n, exp_of(v_min(v, v_set(FLT_MAX)) * -gamma));
}

static void poly(float *values, size_t n, float gamma, float coef0, unsigned degree) {
    TRANSFORM(values, n, power_of(v_fma(v, v_set(gamma), v_set(coef0)), degree));
}

static void sigmoid(float *values, size_t n, float gamma, float coef0) {
    TRANSFORM(values, n, tanh_of(v_fma(v, v_set(gamma), v_set(coef0))));
}

INLINE vec cosine_of(vec dot, vec norm, vec x_length) {
    vec product = v_sqrt(norm) * x_length;
    return v_if_less(v_set(0), product, 1.f - dot / product, v_set(1));
}

static void cosine(float *values, size_t n, const float *norm, float x_norm) {
    vec x_length = v_sqrt(v_set(x_norm));
    size_t i = 0;
    for (; i + W <= n; i += W)
        v_store(values + i, cosine_of(v_load(values + i), v_load(norm + i), x_length));
    if (i < n) {
        vec dot = v_load_part(values + i, n - i, 0), part = v_load_part(norm + i, n - i, 0);
        v_store_part(values + i, n - i, cosine_of(dot, part, x_length));
    }
}

const lm_simd GLUE(lm_simd_, LM_ISA) = {
    .name = TEXT(LM_ISA),
    .block = {block_dot, block_l2, block_l1, block_chi2, block_min},
    .norms = norms,
    .argmin = argmin,
    .below = below,
    .below_expanded = below_expanded,
    .segment_argmin = segment_argmin,
    .exp = exp_all,
    .rbf = rbf,
    .poly = poly,
    .sigmoid = sigmoid,
    .cosine = cosine,
    .sums = &GLUE(lm_simd_sums_, LM_ISA),
    .rows = &GLUE(lm_simd_rows_, LM_ISA),
    .in_double = &GLUE(lm_simd_double_, LM_ISA),
    .dense = &GLUE(lm_simd_dense_, LM_ISA),
    .layers = &GLUE(lm_simd_layers_, LM_ISA),
};
