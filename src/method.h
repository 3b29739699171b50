/* method.h: the contract that a method implements: one static table.
 *
 * To add a method, write a folder src/methods/<name>/ with train.c, query.c, io.c and method.c (the
 * table), and add one line to src/registry.c, its files to src/meson.build, a page to docs/methods
 * and its tests. The contract tests cover it automatically.
 *
 * A method sees classes 0..classes-1 and scaled float32 rows, all finite. Its model is immutable
 * while predicting. The query functions cannot fail: whatever could go wrong is refused when the
 * model is trained or loaded. They allocate nothing, lock nothing and print nothing.
 *
 * A NULL function means "not supported". The capabilities of a method follow from its functions and
 * sub-tables; only those that no function shows are stated by hand (lm_method.can). */
#ifndef LIMN_METHOD_H
#define LIMN_METHOD_H

#include "base/base.h"
#include "base/params.h"
#include "base/scratch.h"
#include "container/container.h"
#include "teacher.h"

/* ---- what a method is trained on ---- */

/* Borrowed: copy what the model keeps. */
typedef struct lm_train_set {
    limn_task task;
    size_t n, d;
    size_t classes;       /* classify: at least 1 */
    const float *x;       /* n x d */
    const int32_t *label; /* classify: n of 0..classes-1 */
    const double *target; /* regress: n, finite */
    const double *weight; /* n, positive, mean 1; NULL: all 1 (always, without LIMN_CAN_WEIGHT) */
    const double *class_weight; /* classes, as given (weight includes them); NULL: all 1 */
    const lm_teacher *teacher;  /* NULL: none (always, without LIMN_CAN_BE_TAUGHT) */
    /* Several models are trained on these rows with this teacher, one after the other: *shared,
     * NULL at first, is what the method keeps for the next ones, such as the teacher's answers
     * (lm_method.unshare frees it). NULL: one model is trained. */
    void **shared;
} lm_train_set;

/* The range of a weight: sums of weights divided by distances stay within the range of doubles. */
#define LM_WEIGHT_MIN 1e-100
#define LM_WEIGHT_MAX 1e18

/* The entry in the parameter table of every method that accepts class weights (LIMN_CAN_WEIGHT).
 * The model reads it and multiplies it into the weights. */
#define LM_PARAM_CLASS_WEIGHT                                                      \
    {                                                                              \
        .key = "class_weight",                                                     \
        .help = "weight of each class: none, balanced (the inverse of "            \
                "its share of the rows) or a list such as yes:2,no:1 (others: 1)", \
        .type = LIMN_PARAM_TEXT, .default_value = "none",                          \
        .choices = "none, balanced or a list such as yes:2,no:1"                   \
    }

/* ---- what a model is ---- */

/* What the file has already established when a method loads its part. */
typedef struct lm_shape {
    limn_task task;
    size_t d;
    size_t classes;
    uint64_t rows; /* trained on; 0: an imported model, where it is unknown */
    bool beyond;   /* the last of the d features is the sum of squares of unknown ones */
} lm_shape;

enum { LM_STATS_MAX = 16 };

/* What queries touched: how many vectors, and how many bytes. */
typedef struct lm_touched {
    double vectors, bytes;
} lm_touched;

/* Figures that do not depend on the machine. */
typedef struct lm_stats {
    lm_touched touched; /* per query: always, or on average over training rows */
    size_t count;
    struct {
        const char *name; /* static text */
        double value;
    } list[LM_STATS_MAX];
} lm_stats;

/* A set of parameters worth racing. */
typedef struct lm_candidate {
    const char *params; /* "key=value key=value", static text; "": the defaults */
    /* A teacher, or a support vector machine as the teacher. */
    enum { LM_NEEDS_NOTHING, LM_NEEDS_TEACHER, LM_NEEDS_MACHINE } needs;
    double cost; /* multiply-adds per query, as far as known before training */
    /* Why nothing can be drawn from a model of this shape; then it is the method's only candidate.
     * NULL: something can. Static text. */
    const char *unsupported;
} lm_candidate;

/* ---- groups of functions that few methods have ---- */

typedef struct lm_searching {
    void (*search)(const void *model, const float *x, size_t n, size_t k, int64_t *rows,
                   double *distances, void *scratch);
    /* The training rows first .. first+n-1 as the model stores them (scaled), n x d; used to
     * measure the recall of a search. */
    void (*stored)(const void *model, size_t first, size_t n, float *x);
} lm_searching;

/* What an online method is shown: rows in the order of arrival. `first` is the arrival number of
 * the first one, counted from 0 over the model's lifetime. A row's arrival number is its id. */
typedef struct lm_lesson {
    uint64_t first;
    size_t n;
    const float *x;       /* n x d */
    const int32_t *label; /* classify: n of 0..classes-1 (see widen) */
    const double *target; /* regress: n, finite */
    /* Out: what the model predicted for each row before learning it; -1 (NAN) if nothing had been
     * learned yet. NULL: not wanted. */
    int32_t *answer_class;
    double *answer_value;
} lm_lesson;

/* The model is not queried during these calls, and it stays valid whatever happens. */
typedef struct lm_online {
    /* With these parameters ("key=value key=value") training on some rows gives, byte for byte, the
     * same model as training on the first few and learning the rest. NULL: with any parameters. */
    const char *params;
    /* On failure (cancelled, out of memory) the model holds the first *learned rows of the lesson
     * and no others. Scratch may be larger afterwards. */
    limn_status (*learn)(limn_context *ctx, void *model, const lm_lesson *lesson, size_t *learned);
    /* From now on there are this many classes, more than before. */
    limn_status (*widen)(limn_context *ctx, void *model, size_t classes);
    /* Removes rows from the model; ids that are not in it are no error. *forgotten: how many were
     * removed. NULL, as is compact: the method cannot forget. */
    limn_status (*forget)(limn_context *ctx, void *model, const uint64_t *ids, size_t count,
                          uint64_t *forgotten);
    /* Afterwards nothing of a forgotten row remains in the model. */
    limn_status (*compact)(limn_context *ctx, void *model);
} lm_online;

/* What an imported model says about itself. The caller frees everything. */
typedef struct lm_foreign {
    limn_task task;
    size_t features;
    size_t classes;
    char **names;      /* of the classes, in order */
    char params[1024]; /* "key=value" each, separated by newlines */
} lm_foreign;

/* Text models of other software. */
typedef struct lm_foreign_text {
    /* Whether the bytes begin like such a model. */
    bool (*recognise)(const void *bytes, size_t size);
    limn_status (*import)(limn_context *ctx, const char *name, const char *bytes, size_t size,
                          lm_foreign *about, void **model);
    /* From now on the model has this many features, more than before: the new ones are 0 in all
     * that it stores. */
    limn_status (*widen)(limn_context *ctx, void *model, size_t features);
    /* Writes the text, without committing it. labels: one number per class; keep: the number, from
     * 0, of each feature in the file, NULL: as in the model. path is for messages. */
    limn_status (*export)(limn_context *ctx, const void *model, const int32_t *labels,
                          const uint32_t *keep, const char *path, limn_output *output);
} lm_foreign_text;

/* ---- the table ---- */

/* The most rows that a query function receives at once, unless the method wants more. */
enum { LM_BATCH = 256 };

typedef struct lm_method {
    limn_method_info info;
    /* What no function shows: the tasks except search, and LIMN_CAN_WEIGHT, _KERNEL, _REJECT,
     * _BE_TAUGHT. */
    unsigned can;
    /* For the contract tests: parameters that train in milliseconds; NULL: the defaults are fast
     * enough. */
    const char *brief;
    /* Of info.default_teacher: parameters ("key=value key=value", NULL: its defaults) and the most
     * rows that it is trained on (0: all). They do not count for a teacher that is named. */
    const char *teacher_params;
    size_t teacher_rows;
    /* The default scaling, if it depends on the parameters; NULL: info.default_scale.
     * LIMN_SCALE_AUTO is chosen by evidence to classify or regress, and none for other tasks. */
    limn_scale (*scaling)(const lm_params *params);

    /* Refuses parameters that do not go together or with the task (LIMN_E_USAGE), before data is
     * read or a teacher trained; NULL: all do. */
    limn_status (*check)(limn_context *ctx, limn_task task, const lm_params *params);
    /* Training reports progress (which may cancel it). The result depends on ctx->seed but not on
     * ctx->threads. Random numbers come from the stream of the method's name, lm_stream_of. On
     * failure *model stays NULL. */
    limn_status (*train)(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                         void **model);
    void (*destroy)(const limn_allocator *mem, void *model);
    /* Frees what train left in lm_train_set.shared; NULL: it leaves nothing. */
    void (*unshare)(const limn_allocator *mem, void *shared);

    /* Sections are named "<method>.<part>" and carry the method's file version. The writer borrows
     * from the model. A writer that only measures (lm_writer_measures) needs only sizes. */
    limn_status (*save)(limn_context *ctx, const void *model, lm_writer *writer);
    /* May point into file, which outlives the model. Validates every index. */
    limn_status (*load)(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                        const lm_params *params, void **model);

    /* The most rows that the query functions receive at once; NULL: LM_BATCH. For methods in which
     * many rows share what they touch. */
    size_t (*batch)(const void *model);
    /* Moves the cursor past the scratch needed for queries of up to that many rows at once and
     * searches for up to neighbors. The query functions lay out scratch in the same way. */
    void (*scratch)(const void *model, size_t rows, size_t neighbors, lm_cursor *at);

    /* Class -1 means "unknown": the model rejects the row. */
    void (*predict)(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
    /* A second rule for the class, if the method has one: the votes of pairs. */
    void (*vote)(const void *model, const float *x, size_t n, int32_t *classes, void *scratch);
    void (*proba)(const void *model, const float *x, size_t n, double *proba, void *scratch);
    /* Regress: the predicted targets. Density: the natural log of the density of the rows as they
     * are here, scaled (the model turns it into the units of the data); -INFINITY where the density
     * is 0, never NAN or INFINITY. */
    void (*values)(const void *model, const float *x, size_t n, double *values, void *scratch);
    /* Decision values, score_count per row: of pairs of classes (0,1), (0,2), ..., or just one; or,
     * with class_scores, one per class (the distance from it). Never asked of a density model. */
    bool class_scores;
    size_t (*score_count)(const void *model);
    void (*scores)(const void *model, const float *x, size_t n, double *scores, void *scratch);

    void (*stats)(const void *model, lm_stats *stats);
    /* Adds to *sum what the answers to these rows (classes, values or neighbours, depending on the
     * task) touch; NULL: what stats says, for each row. */
    void (*touched)(const void *model, const float *x, size_t n, lm_touched *sum, void *scratch);
    /* Capabilities that this model lacks although its method has them; NULL: none. */
    unsigned (*lacks)(const void *model);
    /* The packed support vector machine, if the model is one; NULL: it is not. */
    const struct lm_machine *(*machine)(const void *model);
    /* The decision between two classes as a field (fit/field.h), for methods that are drawn from
     * this model. It borrows the model. NULL: what the model answers has to do. */
    limn_status (*field)(limn_context *ctx, const void *model, size_t first, size_t second,
                         struct lm_field *out);
    /* The index-th set of parameters worth racing on data of this shape; false past the end. NULL:
     * only the defaults. */
    bool (*candidate)(const lm_shape *shape, size_t index, lm_candidate *out);

    const lm_searching *searching;
    const lm_online *online;
    const lm_foreign_text *foreign;
} lm_method;

/* ---- registry.c ---- */

/* NULL if there is no method of that name. */
const lm_method *lm_method_find(const char *name);
const lm_method *lm_method_at(size_t index);
/* Bits LIMN_CAN_*. */
unsigned lm_method_capabilities(const lm_method *method);

#endif
