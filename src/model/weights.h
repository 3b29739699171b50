/* weights.h: the weight of each row, as passed to methods. */
#ifndef LIMN_MODEL_WEIGHTS_H
#define LIMN_MODEL_WEIGHTS_H

#include "base/params.h"
#include "data/dataset.h"

/* A copy of data without its rows of weight 0; NULL if it has none. */
limn_status lm_weights_drop_zero(limn_context *ctx, const limn_data *data, limn_data **out);
/* The weights of the classes as the parameter class_weight gives them; NULL: all 1. Free with
 * lm_free. */
limn_status lm_weights_of_classes(limn_context *ctx, const limn_data *data, const lm_params *params,
                                  double **out);
/* The weights of data (all above 0) times those of the classes (NULL: 1), divided by their mean;
 * free with lm_free. NULL if all rows have the same weight. */
limn_status lm_weights_make(limn_context *ctx, const limn_data *data, const double *of_class,
                            double **out);

#endif
