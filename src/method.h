/* method.h: the contract that a method implements: one static table.
 *
 * To add a method: a folder src/methods/<name>/ with train.c, query.c, io.c and method.c (the
 * table), one line in src/registry.c, its files in src/meson.build, a page in docs/methods and its
 * tests. The contract tests run over it by themselves.
 *
 * A method sees classes 0..classes-1 and scaled float32 rows, all finite. Its model is immutable
 * while predicting. The query functions cannot fail: whatever could go wrong is refused when the
 * model is trained or loaded. They allocate nothing, lock nothing, print nothing.
 *
 * A NULL function means "not supported". The capabilities of a method follow from its functions and
 * sub-tables; only what no function shows is stated by hand (lm_method.can). */
#ifndef LIMN_METHOD_H
#define LIMN_METHOD_H

#include "base/base.h"
#include "base/params.h"
#include "base/scratch.h"
#include "container/container.h"

/* ---- what a method is trained on ---- */

struct lm_machine; /* svm/machine.h */

/* A model, or a function of the caller's, that the new model is drawn from. The method never sees
 * which: it asks. Rows are as the method sees its own, scaled. */
typedef struct lm_teacher {
    limn_task task;
    size_t d, classes;
    enum {
        LM_TEACHES_PAIRS,    /* decision values of pairs (0,1), (0,2), ...; above 0: the first */
        LM_TEACHES_PROBA,    /* probabilities of the classes */
        LM_TEACHES_DISTANCE, /* distances of the classes: the smaller, the nearer */
        LM_TEACHES_VALUE     /* a number */
    } kind;
    size_t width; /* numbers of an answer */
    /* The answers to n rows: n x width. From one thread at a time, that which trains; spreads many
     * rows over ctx->threads threads by itself. */
    limn_status (*answer)(const struct lm_teacher *teacher, limn_context *ctx, const float *x,
                          size_t n, double *out);
    /* The gradient of number `which` of the answer: n x d; NULL: not known. */
    limn_status (*gradient)(const struct lm_teacher *teacher, limn_context *ctx, const float *x,
                            size_t n, size_t which, double *out);
    const struct lm_machine *machine; /* the packed support vector machine behind it, or NULL */
    void *user;
} lm_teacher;

/* Borrowed: copy what the model keeps. */
typedef struct lm_train_set {
    limn_task task;
    size_t n, d;
    size_t classes;       /* classify: at least 1 */
    const float *x;       /* n x d */
    const int32_t *label; /* classify: n of 0..classes-1 */
    const double *target; /* regress: n, finite */
    const double *weight; /* n, positive, mean 1; NULL: all 1 (always, without LIMN_CAN_WEIGHT) */
    const double *class_weight; /* classes, as given (they are in weight too); NULL: all 1 */
    const lm_teacher *teacher;  /* NULL: none (always, without LIMN_CAN_BE_TAUGHT) */
} lm_train_set;

/* What a weight lies between: sums of them, divided by distances, stay in the range of doubles. */
#define LM_WEIGHT_MIN 1e-100
#define LM_WEIGHT_MAX 1e18

/* The row of a parameter table that every method with LIMN_CAN_WEIGHT for classes has. The model
 * reads it and multiplies it into the weights. */
#define LM_PARAM_CLASS_WEIGHT                                                                  \
    {                                                                                          \
        .key = "class_weight",                                                                 \
        .help = "weight of each class: none, balanced (by the inverse of "                     \
                "its share of the rows) or a list such as yes:2,no:1 (1 for those not named)", \
        .type = LIMN_PARAM_TEXT, .default_value = "none",                                      \
        .choices = "none, balanced or a list such as yes:2,no:1"                               \
    }

/* ---- what a model is ---- */

/* What the file has already proved when a method loads its part. */
typedef struct lm_shape {
    limn_task task;
    size_t d;
    size_t classes;
    uint64_t rows; /* trained on; 0: an imported model, which does not say */
    bool beyond;   /* the last of the d features is the sum of squares of unknown ones */
} lm_shape;

enum { LM_STATS_MAX = 16 };

/* What queries touched: vectors compared, and their bytes. */
typedef struct lm_touched {
    double vectors, bytes;
} lm_touched;

/* Figures that do not depend on the machine. */
typedef struct lm_stats {
    lm_touched touched; /* by one query: always, or in the mean over training rows */
    size_t count;
    struct {
        const char *name; /* static text */
        double value;
    } list[LM_STATS_MAX];
} lm_stats;

/* A set of parameters that is worth racing. */
typedef struct lm_candidate {
    const char *params; /* "key=value key=value", static text; "": the defaults */
    enum { LM_NEEDS_NOTHING, LM_NEEDS_TEACHER, LM_NEEDS_MACHINE } needs;
    double cost; /* multiply-adds of a query, as far as they are known before training */
} lm_candidate;

/* ---- groups of functions that few methods have ---- */

typedef struct lm_searching {
    void (*search)(const void *model, const float *x, size_t n, size_t k, int64_t *rows,
                   double *distances, void *scratch);
    /* The training rows first .. first+n-1 as the model holds them (scaled), n x d; for measuring
     * the recall of a search. */
    void (*stored)(const void *model, size_t first, size_t n, float *x);
} lm_searching;

/* What an online method is shown: rows in the order of their arrival, the first of which is the
 * first-th of the model's life. That number, counted from 0, is a row's id. */
typedef struct lm_lesson {
    uint64_t first;
    size_t n;
    const float *x;       /* n x d */
    const int32_t *label; /* classify: n of 0..classes-1 (see widen) */
    const double *target; /* regress: n, finite */
    /* Out: what the model said of each row before it learned it; -1 (NAN) while nothing had been
     * learned. NULL: not wanted. */
    int32_t *answer_class;
    double *answer_value;
} lm_lesson;

/* The model is not queried meanwhile, and it stays valid whatever happens. */
typedef struct lm_online {
    /* Under these parameters ("key=value key=value") the laws hold byte for byte: training on rows
     * gives the same model as training on the first of them and learning the rest. NULL: under
     * all. */
    const char *params;
    /* On failure (cancelled, out of memory) the first *learned rows of the lesson are in the model,
     * no others. Afterwards scratch may be larger. */
    limn_status (*learn)(limn_context *ctx, void *model, const lm_lesson *lesson, size_t *learned);
    /* There are that many classes from now on: more than before. */
    limn_status (*widen)(limn_context *ctx, void *model, size_t classes);
    /* Rows leave the model; ids that are not in it are no error. *forgotten: how many were. NULL
     * with compact: it cannot forget. */
    limn_status (*forget)(limn_context *ctx, void *model, const uint64_t *ids, size_t count,
                          uint64_t *forgotten);
    /* Nothing of a forgotten row remains in the model. */
    limn_status (*compact)(limn_context *ctx, void *model);
} lm_online;

/* What an imported model says of itself. Everything is the caller's to free. */
typedef struct lm_foreign {
    limn_task task;
    size_t features;
    size_t classes;
    char **names;      /* of the classes, in order */
    char params[1024]; /* "key=value" each, separated by newlines */
} lm_foreign;

/* Text models of other software. */
typedef struct lm_foreign_text {
    /* Whether bytes begin like one. */
    bool (*recognise)(const void *bytes, size_t size);
    limn_status (*import)(limn_context *ctx, const char *name, const char *bytes, size_t size,
                          lm_foreign *about, void **model);
    /* labels: a number for each class. */
    limn_status (*export)(limn_context *ctx, const void *model, const int32_t *labels,
                          const char *path);
} lm_foreign_text;

/* ---- the table ---- */

/* The most rows that a query function is given at once. */
enum { LM_BATCH = 256 };

typedef struct lm_method {
    limn_method_info info;
    /* What no function shows: tasks but search, and LIMN_CAN_WEIGHT, _KERNEL, _REJECT, _BE_TAUGHT.
     */
    unsigned can;
    /* For the contract tests: parameters that train in milliseconds; NULL: the defaults do. */
    const char *brief;
    /* The default scaling where it depends on the parameters; NULL: info.default_scale. */
    limn_scale (*scaling)(const lm_params *params);

    /* Training reports progress (which may cancel it) and is deterministic in ctx->seed, whatever
     * ctx->threads is. Its random numbers come from the stream of its name, lm_stream_of. On
     * failure *model stays NULL. */
    limn_status (*train)(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                         void **model);
    void (*destroy)(const limn_allocator *mem, void *model);

    /* Sections are named "<method>.<part>" and carry the method's file version. The writer borrows
     * from the model. One that only measures is given sizes (lm_writer_measures). */
    limn_status (*save)(limn_context *ctx, const void *model, lm_writer *writer);
    /* May point into file, which outlives the model. Every index is validated. */
    limn_status (*load)(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                        const lm_params *params, void **model);

    /* Moves the cursor over the scratch of queries of up to rows <= LM_BATCH rows at once and
     * searches of up to neighbors: query functions place the same things at scratch. */
    void (*scratch)(const void *model, size_t rows, size_t neighbors, lm_cursor *at);

    /* A class of -1 means "unknown": the model rejects the row. */
    void (*predict)(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
    /* Another rule for the class, where a method has two: the votes of pairs. */
    void (*vote)(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
    void (*proba)(const void *model, const float *x, size_t n, double *proba, void *scratch);
    void (*values)(const void *model, const float *x, size_t n, double *values, void *scratch);
    /* Decision values, score_count a row: of pairs of classes (0,1), (0,2), ..., or one; or, with
     * class_scores, one a class (the distance from it). */
    bool class_scores;
    size_t (*score_count)(const void *model);
    void (*scores)(const void *model, const float *x, size_t n, double *scores, void *scratch);

    void (*stats)(const void *model, lm_stats *stats);
    /* Adds what the answers to these rows (classes, values or neighbours, as the task says) touch
     * to *sum; NULL: each what stats says. */
    void (*touched)(const void *model, const float *x, size_t n, lm_touched *sum, void *scratch);
    /* Capabilities that this model lacks, though its method has them; NULL: none. */
    unsigned (*lacks)(const void *model);
    /* The packed support vector machine that the model is; NULL: it is none. */
    const struct lm_machine *(*machine)(const void *model);
    /* The index-th set of parameters worth racing on data of that shape; false past the end. NULL:
     * the defaults alone. */
    bool (*candidate)(const lm_shape *shape, size_t index, lm_candidate *out);

    const lm_searching *searching;
    const lm_online *online;
    const lm_foreign_text *foreign;
} lm_method;

/* ---- registry.c ---- */

/* NULL if there is none of that name. */
const lm_method *lm_method_find(const char *name);
const lm_method *lm_method_at(size_t index);
/* Bits LIMN_CAN_*. */
unsigned lm_method_capabilities(const lm_method *method);

#endif
