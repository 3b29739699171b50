/* teach.h: a model, a method or a function supplied by the caller as the teacher of another model.
 *
 * A teacher is asked about rows as the new method sees them. If the teacher is a model, the new
 * model uses its scaling, so both see the same rows. If it is the caller's function, rows are
 * scaled back first, since the function expects the features of the data. */
#ifndef LIMN_MODEL_TEACH_H
#define LIMN_MODEL_TEACH_H

#include "model/model.h"

typedef struct lm_teaching {
    lm_teacher teacher;
    const limn_model *model;   /* the teaching model; NULL: a function teaches */
    limn_model *trained;       /* the same, if it was trained for this purpose */
    limn_predictor *predictor; /* of model */
    limn_teach *teach;
    void *user;
    const lm_scaler *scaler; /* of the new model */
    double *inverse;         /* for a function: of the scaler's map, or NULL */
    const float *usual;      /* a row of the data, for features that are not scaled but dropped */
    float *rows;             /* for a function: CHUNK rows, not scaled */
    char *about;             /* a method that was trained first, in words; or NULL */
    const limn_allocator *mem;
} lm_teaching;

/* Who teaches: what the options say, or else the method's default teacher. */
typedef struct lm_teaching_plan {
    limn_train_options options;
    bool wanted;     /* there is a teacher at all */
    bool by_default; /* the options name none */
} lm_teaching_plan;

lm_teaching_plan lm_teaching_resolve(const lm_method *method, const limn_train_options *options);
/* Checks the teacher without looking at data: LIMN_E_USAGE. */
limn_status lm_teaching_check(limn_context *ctx, const lm_method *method, limn_task task,
                              const lm_teaching_plan *plan);
/* The model that teaches, trained first if a method is given; none for a function. Afterwards the
 * new model takes columns, labels and scaling from t->model. */
limn_status lm_teaching_begin(limn_context *ctx, const limn_data *data, const lm_method *method,
                              const lm_teaching_plan *plan, lm_teaching *t);
/* Makes t->teacher for rows that scaler has scaled. */
limn_status lm_teaching_make(limn_context *ctx, const limn_data *data, const lm_scaler *scaler,
                             lm_teaching *t);
void lm_teaching_free(lm_teaching *t);

#endif
