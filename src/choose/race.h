/* race.h: the race of accelerate: a model, faster models drawn from it, and the rows that they are
 * fitted to and judged by. */
#ifndef LIMN_CHOOSE_RACE_H
#define LIMN_CHOOSE_RACE_H

#include "eval/evaluate.h"

struct lm_svm;

/* ---- familiar.c: rows that the model was trained on ---- */

typedef struct lm_familiar {
    size_t found; /* support vectors among the rows */
    bool trained; /* more rows are vectors than chance would have it */
} lm_familiar;

/* Rows scaled, stride floats apart. */
limn_status lm_race_familiar(limn_context *ctx, const struct lm_svm *svm, const float *x,
                             size_t stride, size_t n, lm_familiar *out);

/* ---- rows.c, points.c: what is fitted to, and what judges ---- */

typedef struct lm_race_rows {
    limn_data *fit;       /* labelled, if need be by the model's answers */
    limn_data *judge;     /* as the new models take it */
    limn_data *wide;      /* the same as the model itself takes it, if that is another; or NULL */
    bool labelled;        /* judge has labels (targets) of its own */
    bool sampled;         /* no data: support vectors, and points around them */
    lm_familiar familiar; /* the rows that judge; with data alone, all of them */
    int32_t *classes;     /* the model's answers to judge; regress: NULL */
    double *values;       /* the same of regress */
} lm_race_rows;

/* seconds: so long the model may be asked about them. To be freed after a failure too. */
limn_status lm_race_rows_make(limn_context *ctx, const limn_model *model, const limn_data *data,
                              const limn_data *test, double seconds, lm_race_rows *out);
/* Without data. */
limn_status lm_race_rows_sample(limn_context *ctx, const limn_model *model, const limn_data *test,
                                double seconds, lm_race_rows *out);
void lm_race_rows_free(const limn_allocator *mem, lm_race_rows *rows);

limn_status lm_race_copy(limn_context *ctx, const limn_data *data, limn_data **out);
/* Takes both over, whatever happens. */
limn_status lm_race_take(limn_context *ctx, const limn_model *model, limn_data *fit,
                         limn_data *judge, lm_race_rows *rows);
limn_status lm_race_count_familiar(limn_context *ctx, const limn_model *model,
                                   const limn_data *data, lm_familiar *out);

/* The support vector machine that the model is, or NULL. */
const struct lm_svm *lm_race_svm(const limn_model *model);
/* The model's answers to all rows of data: classes, or values of regress. */
limn_status lm_race_answer(limn_context *ctx, const limn_model *model, const limn_data *data,
                           int32_t *classes, double *values);
/* The same in *classes or *values, to be freed. */
limn_status lm_race_answers(limn_context *ctx, const limn_model *model, const limn_data *data,
                            int32_t **classes, double **values);
enum { LM_RACE_ASKED_LEAST = 400 };
/* About how many rows like these the model can answer in this time; at least so many, however slow
 * it is. */
limn_status lm_race_affordable(limn_context *ctx, const limn_model *model, const limn_data *data,
                               double seconds, size_t *rows);

/* ---- race.c ---- */

typedef struct lm_entry {
    limn_entry public;
    const lm_method *method;
    limn_model *own;         /* what was trained; NULL for the model given */
    const limn_model *model; /* NULL: not raced */
    double cost;             /* as the method expects it */
    size_t place;            /* in the registry */
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
