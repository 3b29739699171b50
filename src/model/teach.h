/* teach.h: a model, a method or a function of the caller's as the teacher of another model.
 *
 * A teacher speaks of rows as the new method sees them. A model as teacher lends the new one its
 * scaling, so these are the rows that it sees itself. A function of the caller's knows the features
 * of the data: rows are scaled back before it is asked. */
#ifndef LIMN_MODEL_TEACH_H
#define LIMN_MODEL_TEACH_H

#include "model/model.h"

typedef struct lm_teaching {
    lm_teacher teacher;
    const limn_model *model;   /* that teaches; NULL: a function does */
    limn_model *trained;       /* the same, when it was trained for this */
    limn_predictor *predictor; /* of model */
    limn_teach *teach;
    void *user;
    const lm_scaler *scaler; /* of the new model */
    const float *usual;      /* a row of the data, for features that are not scaled but dropped */
    float *rows;             /* function: CHUNK rows as it knows them */
    const limn_allocator *mem;
} lm_teaching;

/* Whether the options ask for a teacher at all. */
bool lm_teaching_wanted(const limn_train_options *options);
/* What is wrong with the teacher without looking at data: LIMN_E_USAGE. */
limn_status lm_teaching_check(limn_context *ctx, const lm_method *method, limn_task task,
                              const limn_train_options *options);
/* The model that teaches, trained first if it is given by its method; none for a function. After
 * it t->model lends columns, labels and scaling to the new model. */
limn_status lm_teaching_begin(limn_context *ctx, const limn_data *data,
                              const limn_train_options *options, lm_teaching *t);
/* Makes t->teacher for rows that scaler has scaled. */
limn_status lm_teaching_make(limn_context *ctx, const limn_data *data, const lm_scaler *scaler,
                             lm_teaching *t);
void lm_teaching_free(lm_teaching *t);

#endif
