/* select.h: parameters chosen by cross-validation, from a coarse grid to a fine one. */
#ifndef LIMN_FIT_SELECT_H
#define LIMN_FIT_SELECT_H

#include "base/base.h"

enum { LM_AXES_MAX = 3, LM_SELECT_POINTS_MAX = 4096 /* of the coarse grid */ };

/* One parameter: the coarse grid is low, low * step, low * step^2, ... up to high. The fine one has
 * step^(1/8) between its points and stays inside the same range. */
typedef struct lm_axis {
    double low, high; /* 0 < low <= high */
    double step;      /* above 1 */
    bool fixed;       /* not searched: always `value`, whatever the range says */
    double value;
} lm_axis;

/* The loss, 0 or more (the smaller, the better; NaN counts as infinite), of training with `values`
 * on the rows `train` and judging on the rows `test`, in no particular order. Called from several
 * threads at once with the same user, but each thread has a ctx of its own: one thread, no log, the
 * seed of the caller. lm_progress on it shows nothing, but hears when the user cancels. The answer
 * must depend on the arguments alone. LIMN_E_DATA: these values cannot be used; any other failure
 * ends the search. */
typedef limn_status lm_select_judge(limn_context *ctx, void *user, const double *values,
                                    const size_t *train, size_t train_count, const size_t *test,
                                    size_t test_count, double *loss);

/* best (axis_count values): the point of least loss, summed over seeded, stratified folds; of equal
 * ones that with the smallest first value, then the smallest second one, and so on.
 *
 * label: classes of the n rows, NULL if there are none. folds: 2 or more, as many as rows if there
 * are fewer of these. rows_max: where n is larger, the search runs on a seeded, stratified sample
 * of about so many rows; 0: no limit. Uses ctx->threads threads; the result does not depend on how
 * many there are. Progress ("selecting": folds judged, of how many at most) comes from the calling
 * thread only. Without an axis to search nothing is judged.
 *
 * LIMN_E_USAGE for wrong axes or folds; LIMN_E_DATA with fewer than 2 rows, and with the last
 * sentence of the judge when it refused every point. On failure best is untouched. */
limn_status lm_select(limn_context *ctx, const lm_axis *axes, size_t axis_count,
                      const int32_t *label, size_t n, size_t folds, size_t rows_max,
                      lm_select_judge *judge, void *user, double *best);

#endif
