/* race.h: the race of accelerate: a model, faster models drawn from it, and the rows that they are
 * fitted to and judged by. */
#ifndef LIMN_CHOOSE_RACE_H
#define LIMN_CHOOSE_RACE_H

#include "eval/evaluate.h"

/* ---- rows.c: what is fitted to, and what judges ---- */

typedef struct lm_race_rows {
    limn_data *fit;   /* labelled, if need be by the model's answers */
    limn_data *judge; /* as the new models take it */
    limn_data *wide;  /* the same as the model itself takes it, if that is another; or NULL */
    bool labelled;    /* judge has labels (targets) of its own */
    bool sampled;     /* no data: support vectors, and points around them */
    size_t found;     /* support vectors among the rows that judge */
    int32_t *classes; /* the model's answers to judge; regress: NULL */
    double *values;   /* the same of regress */
} lm_race_rows;

/* To be freed after a failure too. */
limn_status lm_race_rows_make(limn_context *ctx, const limn_model *model, const limn_data *data,
                              const limn_data *test, lm_race_rows *out);
void lm_race_rows_free(const limn_allocator *mem, lm_race_rows *rows);

/* The support vector machine that the model is, or NULL. */
const struct lm_svm *lm_race_svm(const limn_model *model);
/* The model's answers to all rows of data: classes, or values of regress. */
limn_status lm_race_answer(limn_context *ctx, const limn_model *model, const limn_data *data,
                           int32_t *classes, double *values);

/* ---- familiar.c: rows that the model was trained on ---- */

/* How many support vectors are among the rows (scaled, stride floats apart). */
limn_status lm_race_familiar(limn_context *ctx, const struct lm_svm *svm, const float *x,
                             size_t stride, size_t n, size_t *found);

/* ---- race.c ---- */

typedef struct lm_entry {
    limn_entry public;
    const lm_method *method;
    limn_model *own;         /* what was trained; NULL for the model given */
    const limn_model *model; /* NULL: not raced */
    double cost;             /* as the method expects it */
    char *why;
} lm_entry;

struct limn_race {
    limn_allocator mem;
    const limn_model *model;
    limn_accelerate_options options;
    limn_race_info info;
    lm_race_rows rows;
    lm_entry *entries;
    double accuracy, uc; /* of the model given, on the rows that judge */
    double deadline;     /* by lm_clock */
};

/* ---- list.c: who takes part ---- */

/* The entries of race: the model, then what the registry offers, cheapest first. */
limn_status lm_race_list(limn_context *ctx, limn_race *race);

/* ---- clock.c: how fast they are ---- */

/* The latencies of all entries that have a model, and of LIBSVM. */
limn_status lm_race_time(limn_context *ctx, limn_race *race);
/* A first impression of one entry. */
limn_status lm_race_glance(limn_context *ctx, const limn_race *race, lm_entry *entry);

#endif
