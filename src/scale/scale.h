/* scale.h: scaling of features, which is stored in the model. Every kind has the same interface:
 * fit (ranges: read, see ranges.h), apply, save, load.
 *
 * none, minmax, zscore, ranges: a line per feature,
 *
 *   scaled[j] = (float)((x[keep[j]] - offset[j]) * factor[j])      computed in double, kept finite
 *
 * minmax maps the training range to 0..1 (values outside are not clipped); zscore gives mean 0 and
 * standard deviation 1 (divisor n). rank, gauss: a curve per feature (curves.h). auto chooses among
 * these by evidence (auto.c); learned does the same and puts a linear map after it, if one helps
 * (learned.c). Constant features are dropped, or kept with factor 1 when the caller asks for that
 * or when nothing else would be left.
 *
 * ranges is what stood before a model of other software. A factor of 0 makes a feature 0. It may
 * also know how the target was scaled; the answers of such a model become
 *
 *   value * target_factor + target_offset */
#ifndef LIMN_SCALE_SCALE_H
#define LIMN_SCALE_SCALE_H

#include "base/scratch.h"
#include "container/container.h"
#include "scale/curves.h"
#include "scale/evidence.h"
#include "scale/map.h"
#include "scale/rows.h"

typedef struct lm_scaler {
    limn_scale kind;         /* of the features: never LIMN_SCALE_AUTO or LIMN_SCALE_LEARNED */
    bool learned;            /* LIMN_SCALE_LEARNED was asked for */
    size_t in, kept, out;    /* features before, those of them that are kept, those after */
    uint32_t *keep;          /* kept of them, ascending; NULL for LIMN_SCALE_NONE */
    double *offset, *factor; /* kept; NULL for none, rank and gauss */
    lm_curves curves;        /* of rank and gauss */
    lm_map *map;             /* from kept features to out; NULL: out = kept */
    lm_trials chosen, gate;  /* how kind and the map were chosen */
    bool target;             /* LIMN_SCALE_RANGES of a regression: the next two hold */
    double target_offset, target_factor;
} lm_scaler;

/* auto and learned need labels or targets: without them auto is none and learned LIMN_E_USAGE. */
limn_status lm_scaler_fit(limn_context *ctx, limn_scale kind, bool keep_constant,
                          const lm_scaler_rows *rows, lm_scaler *scaler);
/* The columns alone: none, minmax, zscore, rank or gauss. */
limn_status lm_scaler_fit_columns(limn_context *ctx, limn_scale kind, bool keep_constant,
                                  const lm_scaler_rows *rows, lm_scaler *scaler);
limn_status lm_scaler_copy(limn_context *ctx, const lm_scaler *from, lm_scaler *to);
void lm_scaler_free(const limn_allocator *mem, lm_scaler *scaler);
/* What was asked for: scaler->kind or LIMN_SCALE_LEARNED. */
limn_scale lm_scaler_kind(const lm_scaler *scaler);
/* Rows stay as they are. */
bool lm_scaler_is_none(const lm_scaler *scaler);

/* Moves the cursor past the scratch of lm_scaler_apply: nothing unless there is a map. */
void lm_scaler_scratch(const lm_scaler *scaler, lm_cursor *at);
/* The same as memory of its own, for those who are not in a hurry (free with lm_free_aligned).
 * LIMN_OK and NULL: none is needed. */
limn_status lm_scaler_spare(limn_context *ctx, const lm_scaler *scaler, void **scratch);
/* x: n x in; scaled: n x out. LIMN_SCALE_NONE copies. A row's result does not depend on n. */
void lm_scaler_apply(const lm_scaler *scaler, const float *x, size_t n, float *scaled,
                     void *scratch);
/* What lm_scaler_undo needs of a map; NULL without one. Free with lm_free. */
limn_status lm_scaler_invert(limn_context *ctx, const lm_scaler *scaler, double **inverse);
/* The inverse, up to rounding: x: n x in, rows that are scaled to these (where a map leaves a
 * choice, the nearest to the training rows' mean; rank and gauss: inside the training range);
 * features that are dropped or always 0 are taken from the row `usual`. */
limn_status lm_scaler_undo(limn_context *ctx, const lm_scaler *scaler, const double *inverse,
                           const float *scaled, size_t n, const float *usual, float *x);
/* Gives n answers the units of the original target. */
void lm_scaler_unscale(const lm_scaler *scaler, double *values, size_t n);
/* Memory for count features; what was taken is freed with the scaler also after a failure. lines:
 * for offset and factor, too. */
bool lm_scaler_take(const limn_allocator *mem, size_t count, bool lines, lm_scaler *scaler);
/* Whether it is a line per feature, which changes all volumes alike: what a density needs. */
bool lm_scale_is_line(limn_scale kind);
/* The log of the volume that a scaling by lines gives a unit cube of the features it keeps: the sum
 * of the logs of the factors. The log density of an unscaled row is that of the scaled row plus
 * this. */
double lm_scaler_log_volume(const lm_scaler *scaler);

/* The section "scaler" of a model file, and those of its parts. Loading fills a scaler of zeros,
 * which is to be freed after a failure, too. It checks that it fits rows of
 * `features`, that its factors are positive (ranges: or 0) and its curves rise. */
limn_status lm_scaler_save(limn_context *ctx, const lm_scaler *scaler, lm_writer *writer);
limn_status lm_scaler_load(limn_context *ctx, const lm_file *file, size_t features,
                           lm_scaler *scaler);

#endif
