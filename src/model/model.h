/* model.h: a method's model together with its label map, feature names, scaling, parameters and
 * training summary. */
#ifndef LIMN_MODEL_MODEL_H
#define LIMN_MODEL_MODEL_H

#include "data/dataset.h"
#include "method.h"
#include "scale/scale.h"

struct limn_model {
    limn_allocator mem;
    const lm_method *method;
    lm_params params;
    lm_schema schema; /* its mem points to the mem above */
    lm_scaler scaler;
    uint64_t rows, seed;
    uint64_t learned; /* rows learned after training */
    uint64_t changes; /* since it was trained or loaded: older predictors are refused */
    bool has_mark;
    limn_mark mark;
    char *written_by;
    char *teacher;  /* the method that was trained first, in words; NULL: none, or not known */
    void *body;     /* the method's own */
    lm_file *file;  /* mapped, or NULL for a model trained in this process */
    size_t bytes;   /* of the file, before any change */
    lm_stats stats; /* also before any change */
};

/* ---- train.c ---- */

/* The method and its parameters, checked without data. */
limn_status lm_model_plan(limn_context *ctx, const limn_train_options *options, limn_task task,
                          const lm_method **method, lm_params *params);
limn_status lm_model_train(limn_context *ctx, const limn_data *data,
                           const limn_train_options *options, limn_model **out);
/* The same with a given plan: options->method and params are ignored. shared: lm_train_set.shared,
 * for models of one method on the same data with the same teacher; or NULL. */
limn_status lm_model_train_planned(limn_context *ctx, const limn_data *data,
                                   const lm_method *method, const lm_params *params,
                                   const limn_train_options *options, void **shared,
                                   limn_model **out);
/* Capabilities of this model: those of its method that apply to its task. */
unsigned lm_model_capabilities(const limn_model *model);
/* Decision values per row; 0: none. */
size_t lm_model_scores(const limn_model *model);
/* Floats per row as the method sees it. */
size_t lm_model_width(const limn_model *model);
/* The capability that a task needs. */
unsigned lm_task_capability(limn_task task);
/* An empty model; free with limn_model_free. */
limn_status lm_model_new(limn_context *ctx, const lm_method *method, limn_model **out);

/* ---- foreign.c: text models of other software ---- */

/* A foreign text model, detected from its content; LIMN_OK with *out NULL: it is not one. ranges:
 * the files of its scaling (scale/ranges.h), or NULL. */
limn_status lm_model_import(limn_context *ctx, const char *path, const char *ranges,
                            limn_model **out);
/* Writes a foreign text model, with a range file beside it if the model scales; LIMN_E_UNSUPPORTED
 * if the method has no such format. */
limn_status lm_model_export(limn_context *ctx, const limn_model *model, const char *path);

/* ---- store.c: the file ---- */

limn_status lm_model_save(limn_context *ctx, const limn_model *model, const char *path);
/* The size of the file that saving would write. */
limn_status lm_model_measure(limn_context *ctx, const limn_model *model, size_t *bytes);
/* The file's bytes (free with lm_free), for tests. */
limn_status lm_model_bytes(limn_context *ctx, const limn_model *model, unsigned char **bytes,
                           size_t *size);
/* Takes ownership of file, also on failure. */
limn_status lm_model_load(limn_context *ctx, lm_file *file, limn_model **out);

/* ---- learn.c: online learning ---- */

/* The model as it is now, changed or not. bytes is 0 if there is no memory for measuring. */
void lm_model_figures(const limn_model *model, lm_stats *stats, size_t *bytes);

/* ---- mark.c: what the file keeps of learning ---- */

limn_status lm_learning_put(const limn_model *model, lm_writer *writer);
limn_status lm_learning_get(limn_context *ctx, const lm_file *file, limn_model *model);

/* ---- predict.c: queries ---- */

struct limn_predictor {
    limn_context *ctx;
    limn_allocator mem;
    const limn_model *model;
    int threads;
    size_t neighbors;
    uint64_t changes;      /* model->changes when memory was allocated */
    size_t slice;          /* bytes per thread */
    bool vote;             /* classes by the votes of pairs */
    double log_volume;     /* added to values: of the scaling (density), else 0 */
    unsigned char *memory; /* threads slices, aligned */
};

/* What to compute; the first four match limn_answer. */
typedef enum lm_ask {
    LM_ASK_CLASSES = LIMN_ANSWER_CLASSES,
    LM_ASK_PROBA = LIMN_ANSWER_PROBA,
    LM_ASK_VALUES = LIMN_ANSWER_VALUES,
    LM_ASK_SCORES = LIMN_ANSWER_SCORES,
    LM_ASK_NEIGHBORS, /* out: int64_t, k per row */
    LM_ASK_TOUCHED    /* out: one lm_touched per thread, added to */
} lm_ask;

/* n rows of width floats each: model->schema.features, or lm_schema_width. */
typedef struct lm_query {
    const float *x;
    size_t n, width;
    bool scaled; /* rows are scaled already, scaler.out wide */
    lm_ask kind;
    void *out;
    size_t k;          /* of LM_ASK_NEIGHBORS */
    double *distances; /* the same: k per row */
} lm_query;

/* The model's method and task must support the query. */
limn_status lm_predictor_run(limn_predictor *predictor, const lm_query *query);

#endif
