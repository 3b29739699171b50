/* scale.h: scaling of features, which is stored in the model. Every kind has the same interface:
 * fit, apply, save, load.
 *
 *   scaled[j] = (float)((x[keep[j]] - offset[j]) * factor[j])      computed in double, kept finite
 *
 * minmax maps the training range to 0..1 (values outside are not clipped); zscore gives mean 0 and
 * standard deviation 1 (divisor n). Constant features are dropped, or kept with factor 1 when the
 * caller asks for that or when nothing else would be left. */
#ifndef LIMN_SCALE_SCALE_H
#define LIMN_SCALE_SCALE_H

#include "container/container.h"

typedef struct lm_scaler {
    limn_scale kind; /* never LIMN_SCALE_AUTO */
    size_t in, out;  /* features before and after */
    uint32_t *keep;  /* out of them, ascending; NULL for LIMN_SCALE_NONE */
    double *offset, *factor;
} lm_scaler;

limn_status lm_scaler_fit(limn_context *ctx, limn_scale kind, bool keep_constant, const float *x,
                          size_t n, size_t d, lm_scaler *scaler);
limn_status lm_scaler_copy(limn_context *ctx, const lm_scaler *from, lm_scaler *to);
void lm_scaler_free(const limn_allocator *mem, lm_scaler *scaler);
/* x: n x in; scaled: n x out. LIMN_SCALE_NONE copies. */
void lm_scaler_apply(const lm_scaler *scaler, const float *x, size_t n, float *scaled);
/* The inverse, up to rounding: x: n x in; dropped features are taken from the row `usual`. */
void lm_scaler_undo(const lm_scaler *scaler, const float *scaled, size_t n, const float *usual,
                    float *x);
/* The log of the volume that scaling gives a unit cube of the features it keeps: the sum of the
 * logs of the factors. The log density of an unscaled row is that of the scaled row plus this. */
double lm_scaler_log_volume(const lm_scaler *scaler);

/* The section "scaler" of a model file. Loading checks that it fits rows of `features`
 * and that its factors are positive. */
limn_status lm_scaler_save(limn_context *ctx, const lm_scaler *scaler, lm_writer *writer);
limn_status lm_scaler_load(limn_context *ctx, const lm_file *file, size_t features,
                           lm_scaler *scaler);

#endif
