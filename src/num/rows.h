/* rows.h: what trees compute at a node and at a leaf. */
#ifndef LIMN_NUM_ROWS_H
#define LIMN_NUM_ROWS_H

#include "num/pack.h"

#include <string.h>

/* The distance of two rows of n floats: squared l2 or l1, summed in double. Rounded to float, equal
 * distances give equal numbers. */
typedef double lm_pair_distance(const float *a, const float *b, size_t n);
/* The function of the instruction set in use, for code that calls it often. metric: LM_L2 or
 * LM_L1. */
lm_pair_distance *lm_pair_kernel(lm_metric metric);

/* out[i] = the distance of x to row index[i] of rows (row r at rows + r * n), or their dot product.
 * n is a multiple of LM_PANEL; features that are missing are 0 in both. The same sums as
 * lm_pair_distance. */
typedef void lm_gather(const float *x, const float *rows, size_t n, const uint32_t *index,
                       size_t count, double *out);
/* metric: LM_DOT, LM_L2 or LM_L1. */
lm_gather *lm_gather_kernel(lm_metric metric);

/* The same sums, bit for bit, for rows of d features that lie side by side: feature j of row r at
 * columns[j * lanes + r]. d is a multiple of 4, lanes of LM_LANES; out holds lanes. Faster from a
 * few queries per set of rows on. */
enum { LM_LANES = 8 };
typedef void lm_spread(const double *x, size_t d, const double *columns, size_t lanes, double *out);
lm_spread *lm_spread_kernel(lm_metric metric);

/* The same for rows of whole numbers 0..255: squared l2, exact. n is at most LM_BYTES_MOST. */
enum { LM_BYTES_MOST = 32768 };
typedef void lm_gather_bytes(const uint8_t *x, const uint8_t *rows, size_t n, const uint32_t *index,
                             size_t count, double *out);
lm_gather_bytes *lm_gather_bytes_kernel(void);

/* A distance, not negative, in a form to be compared: rounded to 22 significant bits, so that
 * distances that differ only by rounding tie, whatever their size. Keys order as distances do. */
static inline uint32_t lm_key(double distance) {
    uint64_t bits;
    memcpy(&bits, &distance, sizeof bits);
    return (uint32_t)((bits + (UINT64_C(1) << 30)) >> 31);
}

/* The keys of 1 to LM_KEYS_MOST distances; returns the least. *which: a bit for each that is equal
 * to it. */
enum { LM_KEYS_MOST = 64 };
typedef uint32_t lm_keys(const double *distance, size_t n, uint32_t *keys, uint64_t *which);
lm_keys *lm_keys_kernel(void);

/* out[i] = bias[i] + x . row i for the rows of `panels` panels of d features each (lm_pack's
 * layout); out holds panels * LM_PANEL. */
typedef void lm_scores(const float *rows, const float *bias, size_t d, size_t panels,
                       const float *x, float *out);
lm_scores *lm_scores_kernel(void);

#endif
