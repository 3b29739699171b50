/* scale.h: scaling of features, which is stored in the model. Every kind has the same interface:
 * fit (ranges: read, see ranges.h), apply, save, load.
 *
 *   scaled[j] = (float)((x[keep[j]] - offset[j]) * factor[j])      computed in double, kept finite
 *
 * minmax maps the training range to 0..1 (values outside are not clipped); zscore gives mean 0 and
 * standard deviation 1 (divisor n). Constant features are dropped, or kept with factor 1 when the
 * caller asks for that or when nothing else would be left.
 *
 * ranges is what stood before a model of other software. A factor of 0 makes a feature 0. It may
 * also know how the target was scaled; the answers of such a model become
 *
 *   value * target_factor + target_offset */
#ifndef LIMN_SCALE_SCALE_H
#define LIMN_SCALE_SCALE_H

#include "container/container.h"

typedef struct lm_scaler {
    limn_scale kind; /* never LIMN_SCALE_AUTO */
    size_t in, out;  /* features before and after */
    uint32_t *keep;  /* out of them, ascending; NULL for LIMN_SCALE_NONE */
    double *offset, *factor;
    bool target; /* LIMN_SCALE_RANGES of a regression: the next two hold */
    double target_offset, target_factor;
} lm_scaler;

limn_status lm_scaler_fit(limn_context *ctx, limn_scale kind, bool keep_constant, const float *x,
                          size_t n, size_t d, lm_scaler *scaler);
limn_status lm_scaler_copy(limn_context *ctx, const lm_scaler *from, lm_scaler *to);
void lm_scaler_free(const limn_allocator *mem, lm_scaler *scaler);
/* x: n x in; scaled: n x out. LIMN_SCALE_NONE copies. */
void lm_scaler_apply(const lm_scaler *scaler, const float *x, size_t n, float *scaled);
/* The inverse, up to rounding: x: n x in; features that are dropped or always 0 are taken from the
 * row `usual`. */
void lm_scaler_undo(const lm_scaler *scaler, const float *scaled, size_t n, const float *usual,
                    float *x);
/* Gives n answers the units of the original target. */
void lm_scaler_unscale(const lm_scaler *scaler, double *values, size_t n);
/* Memory for count features; what was taken is freed with the scaler also after a failure. */
bool lm_scaler_take(const limn_allocator *mem, size_t count, lm_scaler *scaler);
/* The log of the volume that scaling gives a unit cube of the features it keeps: the sum of the
 * logs of the factors. The log density of an unscaled row is that of the scaled row plus this. */
double lm_scaler_log_volume(const lm_scaler *scaler);

/* The section "scaler" of a model file. Loading checks that it fits rows of `features`
 * and that its factors are positive (ranges: or 0). */
limn_status lm_scaler_save(limn_context *ctx, const lm_scaler *scaler, lm_writer *writer);
limn_status lm_scaler_load(limn_context *ctx, const lm_file *file, size_t features,
                           lm_scaler *scaler);

#endif
