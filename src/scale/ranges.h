/* ranges.h: the files in which other software keeps how it scaled data, read and written. */
#ifndef LIMN_SCALE_RANGES_H
#define LIMN_SCALE_RANGES_H

#include "scale/scale.h"

/* How one feature is scaled: (x - offset) * factor. */
typedef struct lm_range {
    uint32_t index; /* from 0 */
    uint64_t line;  /* of the file */
    double offset, factor;
} lm_range;

typedef struct lm_ranges {
    char *name;     /* of the file, for messages */
    lm_range *list; /* count of them, ascending */
    size_t count, capacity;
    size_t features; /* the largest index, counted from 1 */
    bool dense;      /* e1071: exactly one line per feature */
    bool target;     /* the next two hold, as in lm_scaler */
    double target_offset, target_factor;
} lm_ranges;

/* Reads "X" or "X,Y" (the scale files of e1071 for features and target); a file whose name has a
 * comma is found as well. LIMN_E_MODEL with file and line when a file is not valid. To be freed
 * after a failure too. */
limn_status lm_ranges_read(limn_context *ctx, const char *paths, lm_ranges *ranges);
/* One file in memory. */
limn_status lm_ranges_parse(limn_context *ctx, const char *name, const char *bytes, size_t size,
                            lm_ranges *ranges);
void lm_ranges_free(const limn_allocator *mem, lm_ranges *ranges);

/* How many features a model of d features must have for these ranges: d or more. LIMN_E_MODEL when
 * the two cannot belong together. */
limn_status lm_ranges_match(limn_context *ctx, const lm_ranges *ranges, size_t d, size_t *features);
/* The scaling of that many features; those that are not named become 0. */
limn_status lm_ranges_scaler(limn_context *ctx, const lm_ranges *ranges, size_t features,
                             lm_scaler *scaler);

/* Any scaling but none as a range file of svm-scale; it is not committed. */
limn_status lm_ranges_put(limn_context *ctx, const lm_scaler *scaler, limn_output *output);

#endif
