/* map.h: the linear map of a learned scaling: columns that are scaled already become fewer or other
 * ones, in which distances say more about the classes. */
#ifndef LIMN_SCALE_MAP_H
#define LIMN_SCALE_MAP_H

#include "base/heap.h"
#include "base/scratch.h"
#include "container/container.h"
#include "num/pack.h"

typedef struct lm_map {
    size_t in, out;
    float *mean;     /* in: taken off first */
    lm_pack rows;    /* out rows of in features; a view if it was loaded from a file */
    double variance; /* the share of the variance of the mapped rows that is kept, up to 1 */
    /* in: the features by their share in the squared distances, the largest first: the share is
     * -key, the feature is row. */
    lm_ranked *heavy;
} lm_map;

/* Makes y = rows (x - mean), rows: out x in. share: of each feature, 0 or more. */
limn_status lm_map_make(limn_context *ctx, const double *rows, const float *mean,
                        const double *share, size_t in, size_t out, lm_map **map);
limn_status lm_map_copy(limn_context *ctx, const lm_map *from, lm_map **to);
void lm_map_free(const limn_allocator *mem, lm_map *map); /* NULL is allowed */

/* Moves the cursor past the scratch of lm_map_apply. */
void lm_map_scratch(const lm_map *map, lm_cursor *at);
/* One row: y (out) from x (in). All instruction sets give the same bits. */
void lm_map_apply(const lm_map *map, const float *x, float *y, void *scratch);
/* in x out numbers with which rows are mapped back; free with lm_free. */
limn_status lm_map_invert(limn_context *ctx, const lm_map *map, double **inverse);
/* n rows: the x (n x in) nearest to the mean whose image is nearest to y (n x out). */
void lm_map_undo(const lm_map *map, const double *inverse, const float *y, size_t n, float *x);

/* The section "scaler.map" holds the packed rows, the key-values of the scaler the rest. */
limn_status lm_map_put(limn_context *ctx, const lm_map *map, lm_kv_out *kv);
limn_status lm_map_save(const lm_map *map, lm_writer *writer);
limn_status lm_map_load(limn_context *ctx, const lm_kv *kv, size_t in, lm_map **map);

#endif
