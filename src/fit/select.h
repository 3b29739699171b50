/* select.h: parameters chosen by cross-validation, from a coarse grid to a fine one. */
#ifndef LIMN_FIT_SELECT_H
#define LIMN_FIT_SELECT_H

#include "base/base.h"

enum { LM_AXES_MAX = 3, LM_SELECT_POINTS_MAX = 4096 /* in the coarse grid */ };

/* One parameter: the coarse grid is low, low * step, low * step^2, ... up to high. The fine one has
 * step^(1/8) between its points and stays inside the same range. */
typedef struct lm_axis {
    double low, high; /* 0 < low <= high */
    double step;      /* above 1 */
    bool fixed;       /* not searched: always `value`, whatever the range says */
    double value;
} lm_axis;

/* Trains with `values` on the rows `train`, judges on the rows `test` and gives the loss: 0 or
 * more, smaller is better, NaN counts as infinite. Rows are in no particular order. Called from
 * several threads at once with the same user, but each thread has its own ctx: one thread, no log,
 * the caller's seed. lm_progress on it shows nothing but does notice when the user cancels. The
 * result must depend only on the arguments. LIMN_E_DATA: these values cannot be used; any other
 * failure ends the search. */
typedef limn_status lm_select_judge(limn_context *ctx, void *user, const double *values,
                                    const size_t *train, size_t train_count, const size_t *test,
                                    size_t test_count, double *loss);

/* best (axis_count values): the point of least loss, summed over seeded, stratified folds. Ties go
 * to the smallest first value, then the smallest second value, and so on.
 *
 * label: classes of the n rows, or NULL. folds: at least 2; reduced to the number of rows if there
 * are fewer. rows_max: if n is larger, the search runs on a seeded, stratified sample of about this
 * many rows; 0: no limit. Uses ctx->threads threads; the result does not depend on their number.
 * Progress ("selecting": folds judged, of the most there may be) is reported only from the calling
 * thread. If every axis is fixed, nothing is judged.
 *
 * LIMN_E_USAGE for invalid axes or folds; LIMN_E_DATA with fewer than 2 rows, and, with the judge's
 * last message, if it refused every point. On failure best is unchanged. */
limn_status lm_select(limn_context *ctx, const lm_axis *axes, size_t axis_count,
                      const int32_t *label, size_t n, size_t folds, size_t rows_max,
                      lm_select_judge *judge, void *user, double *best);

#endif
