/* synth.h: seeded synthetic data sets of the papers, one row at a time.
 *
 * Row i depends on the seed, the parameters and i alone: its random numbers come from
 * lm_rng_at(seed, LM_STREAM_SYNTH, i), so a longer set begins with the rows of a shorter one. What
 * all rows share (the centres of a mixture, the hyperplane of the hypercube) comes from indices
 * that no row reaches: UINT64_MAX - k, k = 0, 1, ... */
#ifndef LIMN_DATA_SYNTH_SYNTH_H
#define LIMN_DATA_SYNTH_SYNTH_H

#include "base/params.h"
#include "data/dataset.h"

typedef struct lm_synth_run lm_synth_run;

/* A generator: its table entry and what makes its rows. */
typedef struct lm_synth {
    limn_synth_info info;
    /* The number of features, and of classes (0: regression). */
    void (*shape)(const lm_params *params, size_t *features, size_t *classes);
    /* What does not depend on the row, kept in run->state; NULL: nothing. */
    limn_status (*prepare)(limn_context *ctx, lm_synth_run *run);
    /* The features of a row and its class number or target. rng is the row's own. */
    void (*row)(const lm_synth_run *run, uint64_t row, lm_rng *rng, float *x, double *y);
} lm_synth;

/* A generator with its parameters, ready to make rows. */
struct lm_synth_run {
    limn_allocator mem;
    const lm_synth *generator;
    lm_params params;
    uint64_t seed;
    size_t features, classes; /* classes 0: regression */
    void *state;              /* of prepare */
};

const lm_synth *lm_synth_find(const char *name); /* NULL if there is none with that name */
/* params: "key=value", count of them. Stop the run even on failure. */
limn_status lm_synth_start(limn_context *ctx, const char *name, const char *const *params,
                           size_t count, lm_synth_run *run);
void lm_synth_stop(lm_synth_run *run);
/* Rows first to first + n - 1: n x features, and a class or a target each (the other is not
 * touched and may be NULL). */
void lm_synth_rows(const lm_synth_run *run, uint64_t first, size_t n, float *x, int32_t *classes,
                   double *targets);

/* ---- for the generators ---- */

/* The tables of plane.c and space.c. */
extern const lm_synth lm_synth_linear, lm_synth_wave, lm_synth_islands, lm_synth_checker,
    lm_synth_curved, lm_synth_drift, lm_synth_disks, lm_synth_hypercube, lm_synth_mixture,
    lm_synth_friedman;

/* The parameter that every set of classes has. */
#define LM_SYNTH_NOISE                                                                    \
    {                                                                                     \
        .key = "noise", .help = "share of rows whose label is replaced by another class", \
        .type = LIMN_PARAM_REAL, .default_value = "0", .min = 0, .max = 1                 \
    }
enum { LM_SYNTH_MAX_DIMS = 100000 };

/* Uniform in [0, 1), a multiple of 2^-24: exact in a float, so that a label computed from the float
 * belongs to the point that is written. */
static inline float lm_synth_unit(lm_rng *rng) {
    return (float)(lm_rng_next(rng) >> 40) * 0x1p-24f;
}
/* The label after noise: with that probability one of the other classes, all equally likely. Call
 * it last for a row, so that noise changes only labels. */
double lm_synth_label(const lm_synth_run *run, lm_rng *rng, uint64_t label);

#endif
