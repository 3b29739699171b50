/* rows.h: the training rows that a scaling is fitted to. */
#ifndef LIMN_SCALE_ROWS_H
#define LIMN_SCALE_ROWS_H

#include "base/base.h"

typedef struct lm_scaler_rows {
    const float *x; /* n x d */
    size_t n, d;
    /* What auto and learned go by: classes 0..classes-1, or targets; both NULL: nothing. */
    const int32_t *label;
    size_t classes;
    const double *target;
} lm_scaler_rows;

#endif
