/* evidence.h: comparing scalings by the mistakes that nearest neighbours make after each. */
#ifndef LIMN_SCALE_EVIDENCE_H
#define LIMN_SCALE_EVIDENCE_H

#include "scale/rows.h"

struct lm_scaler;

enum { LM_TRIALS_MAX = 5, LM_JUDGES = 3 /* 1, 5 and 9 neighbours */ };

typedef struct lm_trial {
    const char *name; /* static text */
    uint64_t wrong, mends, breaks;
    bool taken;
} lm_trial;

/* Candidates in the order in which they were tried; mends and breaks are against the one in force
 * at that time. They count answers, LM_JUDGES to a row. */
typedef struct lm_trials {
    uint64_t rows; /* judged; 0: nothing was */
    size_t count;
    lm_trial list[LM_TRIALS_MAX];
} lm_trials;

/* The candidate in force at the end; 0 if nothing was judged. */
size_t lm_trials_choice(const lm_trials *trials);

/* Rows by their numbers. */
typedef struct lm_row_list {
    const size_t *row;
    size_t n;
} lm_row_list;

/* loss[i * LM_JUDGES + k]: what the nearest of the stored rows answer for the i-th row asked, by
 * majority (ties to the lower class) or mean: 1 for another class, else 0; of targets, the absolute
 * difference. Neighbours are exact, ties to the first stored. A row that is in both lists at the
 * same place does not answer for itself if leave_out is set. stored has 2 rows or more. */
limn_status lm_evidence_losses(limn_context *ctx, const struct lm_scaler *scaler,
                               const lm_scaler_rows *rows, lm_row_list stored, lm_row_list asked,
                               bool leave_out, double *loss);

/* loss: those of candidate c for n rows at loss + c * n * LM_JUDGES; count is at most
 * LM_TRIALS_MAX. The first is in force; each other one takes its place if the sum of its gains is
 * above z[c] times its standard error, the root of the sum of their squares. The gain of a row is
 * how many of its answers become right, less how many become wrong. Of targets, a loss above the
 * median of all losses of that judge counts as wrong. */
limn_status lm_evidence_walk(limn_context *ctx, const char *const *names, const double *z,
                             size_t count, bool targets, const double *loss, size_t n,
                             lm_trials *trials);

/* auto.c: the scaling that the evidence is for: none, minmax, zscore, rank or gauss. */
limn_status lm_scaler_choose(limn_context *ctx, bool keep_constant, const lm_scaler_rows *rows,
                             limn_scale *kind, lm_trials *trials);
/* learned.c: puts a map after the scaling, if the evidence is for one. */
limn_status lm_scaler_learn(limn_context *ctx, const lm_scaler_rows *rows,
                            struct lm_scaler *scaler);

#endif
