/* pack.h: the packed set, which queries are compared with.
 *
 * Rows are stored in panels of 16: for panel p and feature j, the sixteen floats at
 * data + (p * d + j) * 16 hold feature j of rows 16p .. 16p+15. A query broadcasts x[j] and
 * multiplies: no horizontal sums, no wasted lanes at small d, sequential memory at large d. Rows
 * past the last one in the last panel are zero. The bytes are the same in memory and in a model
 * file, so a pack can be a view of a mapped file.
 *
 * Results of one query are one float per row, in row order; the output must hold panels * LM_PANEL
 * floats (the places past n are written too and mean nothing).
 *
 * All of these functions are pure and may be called from any number of threads. */
#ifndef LIMN_NUM_PACK_H
#define LIMN_NUM_PACK_H

#include "base/base.h"

enum { LM_PANEL = 16 };

typedef struct lm_pack {
    size_t n, d;
    size_t panels;          /* in use: ceil(n / LM_PANEL) */
    size_t capacity_panels; /* 0 for a view */
    float *data;            /* aligned to 64 bytes */
} lm_pack;

/* Copies n rows of d floats (row i at rows + i * stride). n may be 0; d may not. */
limn_status lm_pack_build(limn_context *ctx, const float *rows, size_t n, size_t d, size_t stride,
                          lm_pack *pack);
/* A view of n rows of a pack laid out elsewhere (64-byte aligned; never written through the
 * view). */
void lm_pack_view(const float *data, size_t n, size_t d, lm_pack *pack);
void lm_pack_free(const limn_allocator *mem, lm_pack *pack);
/* Adds a row after the others, which keep their index and their place in the layout; grows
 * geometrically. A view is copied first. */
limn_status lm_pack_append(limn_context *ctx, lm_pack *pack, const float *row);
/* Room for n rows in all, in memory that the pack owns: a view is copied first. Appending up to n
 * rows then cannot fail, and does not use ctx, which may be NULL. A failure changes nothing. */
limn_status lm_pack_reserve(limn_context *ctx, lm_pack *pack, size_t n);
/* Removes a row of a pack that is not a view; those after it move up by one place. The memory is
 * kept. */
void lm_pack_remove(lm_pack *pack, size_t index);
/* floats of the payload: panels * LM_PANEL * d; false on overflow. */
bool lm_pack_floats(size_t n, size_t d, size_t *floats);
void lm_pack_row(const lm_pack *pack, size_t index, float *row);

/* ---- one query ---- */

/* LM_DOT x . b, LM_L2 sum (x_j - b_j)^2, LM_L1 sum |x_j - b_j|,
 * LM_CHI2 sum (x_j - b_j)^2 / (x_j + b_j), LM_MIN sum min(x_j, b_j).
 *
 * A term of LM_CHI2 is 0 where x_j + b_j is not above 0; it may also be 0 below FLT_MIN and after
 * an overflow. LM_CHI2 and LM_MIN are for features that are 0 or more; with others LM_CHI2 is no
 * distance, but it is never NaN where all are finite. */
typedef enum lm_metric { LM_DOT, LM_L2, LM_L1, LM_CHI2, LM_MIN } lm_metric;

/* out[i] for the rows of panels first .. first+count-1, out[0] belonging to row first * LM_PANEL.
 * LM_L2 and LM_L1 sum differences directly: their relative error is at most (d + 2) * 2^-24 while
 * nothing under- or overflows; LM_CHI2, for features that are 0 or more: (d + 5) * 2^-24. LM_DOT:
 * at most d * 2^-24 * sum |x_j b_j|; LM_MIN: d * 2^-24 * sum |min(x_j, b_j)|. */
void lm_pack_query(const lm_pack *pack, lm_metric metric, size_t first, size_t count,
                   const float *x, float *out);

/* ---- many queries: register-blocked ---- */

/* out[q * out_stride + i], q < m, for the same rows; query q is at x + q * x_stride. Does its own
 * cache blocking over panels and queries; the caller limits out to what it can use at once. On one
 * instruction set each value is bit for bit that of lm_pack_query, and neither depends on first,
 * count or m, since the order of summation depends only on d. */
void lm_pack_block(const lm_pack *pack, lm_metric metric, size_t first, size_t count,
                   const float *x, size_t x_stride, size_t m, float *out, size_t out_stride);

/* ---- reductions of a row of results ---- */

/* The lowest index of the smallest value; n > 0; NaN never wins unless all are NaN (then 0). */
size_t lm_argmin(const float *values, size_t n);
/* Indices (ascending) of values[i] <= bound into index (n entries); returns their number. */
size_t lm_below(const float *values, size_t n, float bound, uint32_t *index);
/* The same for norms[i] - 2 dots[i] <= bound: squared distances, less the query's squared norm. */
size_t lm_below_expanded(const float *dots, const float *norms, size_t n, float bound,
                         uint32_t *index);
/* The k smallest (k <= n) in ascending order, ties to the lower index, NaN after infinity. scratch:
 * n entries. One fast pass over the values, and O(k log k) for sorting. */
void lm_smallest(const float *values, size_t n, size_t k, uint32_t *index, uint32_t *scratch);
/* For each segment s < count: the argmin of values[start[s] .. start[s+1]), as an absolute index;
 * an empty segment gives UINT32_MAX. start has count + 1 ascending entries. */
void lm_segment_argmin(const float *values, const uint32_t *start, size_t count, uint32_t *index);

/* Squared norms of the rows, summed in double, rounded once, 0 only for a row of zeros; out holds
 * n. */
void lm_pack_norms(const lm_pack *pack, float *out);
/* values[i] (dot products with x) <- cosine distance 1 - dot / (|x| |b_i|), 1 where a norm is 0.
 * norms: squared norms of the rows; x_norm: squared norm of x. */
void lm_cosine(float *values, size_t n, const float *norms, float x_norm);

/* ---- the instruction set ---- */

/* "baseline", "avx2", "avx512", "neon": chosen once, by CPUID and the OS, or by LIMN_ISA. */
const char *lm_isa_name(void);
/* false when LIMN_ISA names a set that this machine or this build lacks. */
bool lm_isa_valid(void);
/* For tests and benchmarks: the sets that this machine has (NULL past the end), and switching. */
const char *lm_isa_at(size_t index);
bool lm_isa_use(const char *name);

#endif
