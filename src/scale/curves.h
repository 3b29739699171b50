/* curves.h: rank and gauss: each column has a rising curve, linear between knots, which queries
 * follow and which is level beyond its ends. */
#ifndef LIMN_SCALE_CURVES_H
#define LIMN_SCALE_CURVES_H

#include "base/base.h"
#include "num/simd/simd.h"

enum { LM_KNOTS_MAX = 256 }; /* of a column */

/* Numbers that lie together in memory: y + (v - x) factor. */
typedef struct lm_slope {
    float x, y;
    double factor;
} lm_slope;

typedef struct lm_curves {
    size_t columns;
    uint32_t *start; /* columns + 1: the knots of column j are start[j] .. start[j + 1] - 1 */
    float *x, *y;    /* of the knots, one block; both ascend within a column */
    lm_slope *slope; /* of the line from a knot to the next; of a lone knot: factor 1 */
    /* The x once more, for queries; a lone knot is at -infinity. */
    float *search;
    lm_knots *column;
} lm_curves;

/* The curves of the columns keep[0..columns) of n rows of d floats. gauss: else rank. */
limn_status lm_curves_fit(limn_context *ctx, bool gauss, const float *x, size_t n, size_t d,
                          const uint32_t *keep, size_t columns, lm_curves *curves);
/* Memory for so many; what was taken is freed by lm_curves_free also after a failure. */
bool lm_curves_take(const limn_allocator *mem, size_t columns, size_t knots, lm_curves *curves);
/* Computes the last three from the rest. */
void lm_curves_finish(lm_curves *curves);
limn_status lm_curves_copy(limn_context *ctx, const lm_curves *from, lm_curves *to);
void lm_curves_free(const limn_allocator *mem, lm_curves *curves);

/* One row: y[j] from x[keep[j]]. */
void lm_curves_apply(const lm_curves *curves, const uint32_t *keep, const float *x, float *y);
/* The x of column j at which its curve has the value y; of a value beyond its ends, the end's. */
float lm_curves_undo(const lm_curves *curves, size_t j, float y);

#endif
