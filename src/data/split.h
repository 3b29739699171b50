/* split.h: seeded, stratified folds and samples. label may be NULL: one stratum. */
#ifndef LIMN_DATA_SPLIT_H
#define LIMN_DATA_SPLIT_H

#include "base/base.h"

/* fold[i] in 0..folds-1 for each row, each class spread over the folds as evenly as possible, and
 * fold sizes differing by at most one. 2 <= folds <= n, else LIMN_E_USAGE. */
limn_status lm_split_folds(limn_context *ctx, const int32_t *label, size_t n, size_t folds,
                           uint64_t seed, uint32_t *fold);
/* Chooses round(fraction * rows) rows of each class, at least one; rows (n entries) receives them
 * in ascending order, *count their number. 0 < fraction <= 1, else LIMN_E_USAGE. */
limn_status lm_split_sample(limn_context *ctx, const int32_t *label, size_t n, double fraction,
                            uint64_t seed, size_t *rows, size_t *count);
/* The same by a rule. LIMN_SUBSAMPLE_POWER: of a class of n rows C n^(1 - zeta), rounded, at least
 * one; zeta is solved so that fraction of all rows remain, and the smallest class stays whole. If
 * that leaves too many rows even with as many of each class, the classes share the rows equally. */
limn_status lm_split_sample_by(limn_context *ctx, const int32_t *label, size_t n, double fraction,
                               limn_subsample rule, uint64_t seed, size_t *rows, size_t *count);

/* Draws parts one after the other, count[p] rows each, every class in its share: rows (n entries)
 * receives the rows of the first part, of the second, ..., then all others, each ordered by class.
 * The counts sum to at most n, which is below 2^32. */
limn_status lm_split_spread(limn_context *ctx, const int32_t *label, size_t n, const size_t *count,
                            size_t parts, uint64_t seed, uint64_t stream, size_t *rows);

/* The rows by class, each class in a seeded order: row (n), start (classes + 2, of which classes +
 * 1 are the places where classes begin). label: 0..classes-1. n is below 2^32. */
void lm_split_classes(const int32_t *label, size_t n, size_t classes, uint64_t seed,
                      uint64_t stream, uint32_t *row, size_t *start);

#endif
