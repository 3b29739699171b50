/* student.h: a small relu network taught by a slow classifier.
 *
 * The paper on borders (P. Mills, "Accelerating kernel classifiers through borders mapping", 2017)
 * replaces a kernel classifier by a piecewise linear one, and leaves it to later work to place the
 * pieces so that they make the fewest errors. A network with a relu layer is a piecewise linear
 * classifier, and fitting it to a teacher's soft answers on a pool of points does just that, for
 * all pieces at once.
 *
 *   1. A pool of points is sampled around the rows and between them (fit/pool.h), and the teacher
 *      answers all of them: lessons.c. Decision values f_ij of pairs become
 *      p_i ~ 1 / (1 + sum over j of exp(-a f_ij)), a the sharpness; probabilities are raised to the
 *      power a. Rows are visited too, with the mean of p and their label.
 *   2. Networks are fitted to p (fit/network.h), at the rate and the sharpness that rows held out
 *      like best: fits.c.
 *   3. A small network may hand over to a large one where its two best scores are near: choose.c.
 *      Below another gap, the teacher's own machine may be asked.
 *   4. Probabilities are softmax(z / tau), tau fitted to the labels of rows held out.
 *
 * Features are standardised inside, and that is folded into the first layer: train.c. So the query
 * takes rows as they are, and zeros cost nothing (num/layers.h).
 *
 * Regression: the same, with values, squares and no second network. */
#ifndef LIMN_METHODS_STUDENT_STUDENT_H
#define LIMN_METHODS_STUDENT_STUDENT_H

#include "fit/network.h"
#include "fit/pool.h"
#include "method.h"
#include "svm/machine.h"

enum { STUDENT_FILE_VERSION = 1, ST_NETS = 2, ST_LAYERS = LM_LAYERS_MAX - 1, ST_UNITS = 4096 };
/* From here on sizes of two layers are worth trying. */
enum { ST_MANY_FEATURES = 300 };

/* ---- sizes ---- */

/* The hidden layers of a network. */
typedef struct st_size {
    size_t layers;
    size_t units[ST_LAYERS];
} st_size;

/* "64", "256x128", "64+256x128": one or two networks; 0: it is none of these. */
size_t st_size_parse(const char *text, st_size out[ST_NETS]);
enum { ST_SIZE_TEXT = 64 };
void st_size_format(const st_size *sizes, size_t nets, char text[ST_SIZE_TEXT]);
/* Multiply-adds of a query. */
double st_size_work(const st_size *size, size_t d, size_t outputs);

/* ---- the model ---- */

typedef struct st_model {
    limn_task task;
    size_t d, classes;
    size_t nets; /* 0: a constant */
    st_size size[ST_NETS];
    const float *data[ST_NETS]; /* of the layers */
    lm_layers net[ST_NETS];
    /* A network hands over to the next (or to the teacher) below this gap; 0: never. */
    double gap[ST_NETS];
    double tau[ST_NETS];
    bool shifted;               /* queries are (x - centre) * unit first */
    const float *centre, *unit; /* d each */
    double mean, spread;        /* regress: value = mean + spread z; a constant: mean */
    bool last;                  /* the teacher is asked at last */
    lm_svm svm;
    lm_machine machine;
    /* what training found, on rows held out */
    double agreement;       /* with the teacher; regress: R2 */
    double error;           /* classify: share of labels that differ; regress: of the variance */
    double passed[ST_NETS]; /* share of rows that each network hands over */
    double work;            /* multiply-adds per query */
    double asked;           /* points that the teacher was asked about */
    double sharpness, rate, visits;
    bool owned;
} st_model;

static inline size_t st_outputs(limn_task task, size_t classes) {
    return task == LIMN_REGRESS || classes == 2 ? 1 : classes;
}

/* ---- what is learned, and what it is judged by ---- */

enum { ST_SHARPS = 2 };

typedef struct st_options {
    size_t nets; /* 0: auto */
    st_size size[ST_NETS];
    bool last;
    double sharpness, rate; /* 0: auto */
    size_t pool, visits;    /* 0: auto */
    double work;            /* 0: no limit */
    double max_loss;        /* below 0: auto */
    uint64_t stream, seed;
} st_options;

/* Rows that the teacher has answered, to judge by; standardised. */
typedef struct st_judges {
    size_t n;
    float *x;
    float *raw;             /* x before it was standardised; NULL for points */
    int32_t *label;         /* 0 for points, which have none */
    int32_t *teacher;       /* the class that the teacher gives */
    double *target, *value; /* regress: of the row, of the teacher; standardised */
} st_judges;

typedef struct st_lessons {
    limn_task task;
    size_t d, classes, width; /* width: of a target */
    size_t outputs;
    lm_pool_features features;
    double *centre, *divisor; /* d each: standardised = (x - centre) / divisor */
    double *at_end[2];        /* d each: share of rows with the lowest value, with the highest */
    double mean, spread;      /* regress: of the teacher's values */
    bool constant;            /* regress: these are all equal */
    size_t points, rows;      /* points of the pool, and the rows after them */
    float *x;                 /* (points + rows) x d, standardised */
    size_t sharps;
    double sharpness[ST_SHARPS];
    float *target[ST_SHARPS]; /* (points + rows) x width */
    uint32_t *order;          /* the rows of x to visit */
    size_t count;
    st_judges held, fresh;        /* rows held out; points around them */
    size_t compared, fresh_count; /* of the pool; points that judge */
    double unit;                  /* of distances (soften_distances) */
    double asked, to_ask;
} st_lessons;

limn_status st_lessons_make(limn_context *ctx, const lm_train_set *set, const st_options *options,
                            st_lessons *out);
void st_lessons_free(const limn_allocator *mem, st_lessons *lessons);

/* ---- fits.c: networks ---- */

typedef struct st_fit {
    st_size size;
    size_t kind; /* of the rate */
    double rate;
    size_t sharp; /* which of the lessons' */
    size_t visits;
    lm_network net;
    float *held, *fresh; /* outputs for what is held out */
    /* How often the class is not the teacher's, of rows and of points, or not the label. Regress:
     * shares of the variance that are not explained. */
    double differs, points, error;
} st_fit;

/* The class that the outputs of a row say. */
lm_best st_best(const st_lessons *lessons, const float *out);

enum { ST_FITS_MAX = 8 };

/* Fits count <= ST_FITS_MAX of them, on several threads. */
limn_status st_fit_all(limn_context *ctx, const st_lessons *lessons, uint64_t seed,
                       const char *stage, st_fit *fits, size_t count);
void st_fits_free(const limn_allocator *mem, st_fit *fits, size_t count);
/* A rate for networks of this size; kind: 0 is the faster one. */
double st_rate(const st_lessons *lessons, const st_size *size, size_t kind);
/* How many points they are fitted to. */
size_t st_visits(const st_lessons *lessons, const st_options *options, const st_size *size);
/* The rate and the sharpness that suit a network of this size best. */
limn_status st_try(limn_context *ctx, const st_lessons *lessons, const st_options *options,
                   const st_size *size, size_t *kind, size_t *sharp);

/* ---- choose.c: which networks, and when one hands over to the next ---- */

typedef struct st_choice {
    size_t nets;
    size_t fit[ST_NETS]; /* which of the fits */
    double gap[ST_NETS];
    double tau[ST_NETS];
} st_choice;

limn_status st_choose(limn_context *ctx, const st_lessons *lessons, const st_options *options,
                      const st_fit *fits, size_t count, st_choice *choice);

/* ---- shared.c: what the students of one teacher share ---- */

enum { ST_KEPT = 8 };

/* Lessons, and the networks that were fitted to them. */
typedef struct st_shared {
    bool raced; /* other students will follow */
    bool made;
    st_options options; /* of the first student */
    st_lessons lessons;
    size_t kind, sharp; /* that suit these lessons */
    size_t count;
    st_fit fits[ST_KEPT];
} st_shared;

/* What set->shared holds, made if it is empty. NULL with LIMN_OK: it does not fit these options, or
 * there is none. */
limn_status st_shared_find(limn_context *ctx, const lm_train_set *set, const st_options *options,
                           st_shared **out);
/* Lessons, and how to learn them: trial is the size that rates are tried with. */
limn_status st_shared_make(limn_context *ctx, const lm_train_set *set, const st_options *options,
                           const st_size *trial, st_shared *out);
/* Fits the networks of these sizes, unless they are there; fits (count) borrows them. */
limn_status st_shared_fit(limn_context *ctx, st_shared *shared, const st_options *options,
                          const st_size *sizes, size_t count, st_fit *fits);
void st_shared_free(const limn_allocator *mem, st_shared *shared);
void st_unshare(const limn_allocator *mem, void *shared);

/* ---- query.c, io.c, train.c ---- */

bool st_candidate(const lm_shape *shape, size_t index, lm_candidate *out);

/* Adds what each network hands over of n <= LM_BATCH rows, and multiply-adds; classes: of the rows
 * (unless a model regresses). */
void st_passed(const st_model *m, const float *x, size_t n, size_t passed[ST_NETS], double *work,
               int32_t *classes, void *scratch);
void st_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at);
void st_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
void st_proba(const void *model, const float *x, size_t n, double *proba, void *scratch);
void st_values(const void *model, const float *x, size_t n, double *values, void *scratch);
void st_stats(const void *model, lm_stats *stats);
void st_touched(const void *model, const float *x, size_t n, lm_touched *sum, void *scratch);
limn_status st_save(limn_context *ctx, const void *model, lm_writer *writer);
limn_status st_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **model);
limn_status st_check(limn_context *ctx, limn_task task, const lm_params *params);
limn_status st_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **model);
void st_destroy(const limn_allocator *mem, void *model);

#endif
