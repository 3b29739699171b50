/* nearest.h: the k nearest rows of a packed set, exactly.
 *
 * Answers are those of double precision: the k rows with the smallest keys, ties to the lower row,
 * regardless of the instruction set and the number of queries per call. A float scan of the packed
 * set proposes candidates inside a proven error bound; candidates are measured again in double. See
 * nearest.c.
 *
 * All of these functions are pure except for the scratch, which belongs to one thread at a time.
 * They allocate nothing and cannot fail; rows and queries must be finite. */
#ifndef LIMN_NUM_NEAREST_H
#define LIMN_NUM_NEAREST_H

#include "base/base.h"
#include "base/heap.h"
#include "base/scratch.h"
#include "num/pack.h"

#include <math.h>

typedef enum lm_nearest_metric {
    LM_NEAREST_L2,    /* key: squared distance */
    LM_NEAREST_L1,    /* key: sum of absolute differences */
    LM_NEAREST_COSINE /* key: 1 - cosine, at least 0; 1 where a vector is zero */
} lm_nearest_metric;

/* What is searched. Borrows the rows and their norms. */
typedef struct lm_nearest_set {
    lm_pack pack;       /* may be a view of some panels of a larger pack; may be empty */
    const float *norms; /* squared norms of its rows, by lm_pack_norms; not used for l1 */
    lm_nearest_metric metric;
    double min_norm, max_norm; /* smallest non-zero and largest of norms */
} lm_nearest_set;

/* Sets min_norm and max_norm from the rest. Call once, before the first search. */
void lm_nearest_prepare(lm_nearest_set *set);

/* What was found for a query: count rows of the set (numbered from the start of its pack) with
 * their keys, ordered by (key, row). It is in the scratch and valid until the next search. */
typedef struct lm_nearest_found {
    const lm_ranked *items;
    size_t count;
} lm_nearest_found;

/* The weight of the i-th neighbour's vote: 1, or 1/distance, where neighbours at distance 0 are the
 * only ones that count. */
static inline double lm_nearest_vote(const lm_nearest_found *near, size_t i,
                                     lm_nearest_metric metric, bool by_distance) {
    double key = near->items[i].key;
    if (!by_distance)
        return 1;
    if (near->items[0].key == 0)
        return key == 0;
    return 1 / (metric == LM_NEAREST_L2 ? sqrt(key) : key);
}

/* Bytes of scratch (64-byte aligned) for up to rows queries at once and up to k neighbours each, of
 * any set; false on overflow. A k beyond the rows of the largest set is not needed. */
bool lm_nearest_scratch(size_t rows, size_t k, size_t *bytes);

/* Searches for as many of the n queries (n x d at x; n > 0, at most the rows of the scratch) as the
 * scratch holds at once: all of them unless k is large. Returns their number, at least 1, and sets
 * *found to an array of what was found for each. */
size_t lm_nearest_many(const lm_nearest_set *set, const float *x, size_t n, size_t k, void *scratch,
                       const lm_nearest_found **found);

/* One query. Row exclude is never found (for leave-one-out); SIZE_MAX excludes none. Scratch for 1
 * row is enough. The answer is bit for bit that of lm_nearest_many. */
lm_nearest_found lm_nearest_one(const lm_nearest_set *set, const float *x, size_t k, size_t exclude,
                                void *scratch);

#endif
