/* kmeans.h: centres of the cells of a packed set. */
#ifndef LIMN_NUM_KMEANS_H
#define LIMN_NUM_KMEANS_H

#include "num/pack.h"

/* At most k > 0 centres (k x d floats) of the n > 0 rows of the pack, and the cell of each row:
 * that of its nearest centre, ties to the lower number. *found: how many; fewer than k where there
 * are fewer different rows, or where cells lost all of theirs on the way. Every cell has a row.
 * Squared distances are floats: all that overflow are equal, and so are rows where they vanish. */
limn_status lm_kmeans(limn_context *ctx, const lm_pack *rows, size_t k, lm_rng *rng, float *centre,
                      uint32_t *cell, size_t *found);

#endif
