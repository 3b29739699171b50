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
 * A NULL function means "not supported", and info.capabilities says the same. */
#ifndef LIMN_METHOD_H
#define LIMN_METHOD_H

#include "base/base.h"
#include "base/params.h"
#include "container/container.h"

/* What a method is trained on. Borrowed: copy what the model keeps. */
typedef struct lm_train_set {
    limn_task task;
    size_t n, d;
    size_t classes;       /* classify: at least 1 */
    const float *x;       /* n x d */
    const int32_t *label; /* classify: n of 0..classes-1 */
    const double *target; /* regress: n, finite */
    const double *weight; /* n, positive, mean 1; NULL: all 1 (always, without LIMN_CAN_WEIGHT) */
    const double *class_weight; /* classes, as given (they are in weight too); NULL: all 1 */
} lm_train_set;

/* What a weight lies between: sums of them, divided by distances, stay in the range of doubles. */
#define LM_WEIGHT_MIN 1e-100
#define LM_WEIGHT_MAX 1e18

/* The row of a parameter table that every method with LIMN_CAN_WEIGHT for classes has. The
 * classifier reads it and multiplies it into the weights. */
#define LM_PARAM_CLASS_WEIGHT                                                                  \
    {                                                                                          \
        .key = "class_weight",                                                                 \
        .help = "weight of each class: none, balanced (by the inverse of "                     \
                "its share of the rows) or a list such as yes:2,no:1 (1 for those not named)", \
        .type = LIMN_PARAM_TEXT, .default_value = "none",                                      \
        .choices = "none, balanced or a list such as yes:2,no:1"                               \
    }

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

/* What the file has already proved when a method loads its part. */
typedef struct lm_shape {
    limn_task task;
    size_t d;
    size_t classes;
    uint64_t rows; /* trained on; 0: an imported model, which does not say */
    bool beyond;   /* the last of the d features is the sum of squares of unknown ones */
} lm_shape;

/* What an imported model says of itself. Everything is the caller's to free. */
typedef struct lm_foreign {
    limn_task task;
    size_t features;
    size_t classes;
    char **names;      /* of the classes, in order */
    char params[1024]; /* "key=value" each, separated by newlines */
} lm_foreign;

enum { LM_STATS_MAX = 16 };

/* Figures that do not depend on the machine. */
typedef struct lm_stats {
    double touched_vectors, touched_bytes; /* by one query, mean */
    size_t count;
    struct {
        const char *name; /* static text */
        double value;
    } list[LM_STATS_MAX];
} lm_stats;

/* The most rows that a query function is given at once. */
enum { LM_BATCH = 256 };

typedef struct lm_method {
    limn_method_info info;
    /* The default scaling where it depends on the parameters; NULL: info.default_scale. */
    limn_scale (*scaling)(const lm_params *params);

    /* Training reports progress (which may cancel it) and is deterministic in ctx->seed, whatever
     * ctx->threads is. On failure *model stays NULL. */
    limn_status (*train)(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                         void **model);
    void (*destroy)(const limn_allocator *mem, void *model);

    /* Sections are named "<method>.<part>" and carry the method's file version. The writer borrows
     * from the model. */
    limn_status (*save)(limn_context *ctx, const void *model, lm_writer *writer);
    /* May point into file, which outlives the model. Every index is validated. */
    limn_status (*load)(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                        const lm_params *params, void **model);

    /* Bytes of scratch (64-byte aligned) for queries of up to rows <= LM_BATCH rows at once and
     * searches of up to neighbors; false on overflow. */
    bool (*scratch_size)(const void *model, size_t rows, size_t neighbors, size_t *bytes);

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
    void (*search)(const void *model, const float *x, size_t n, size_t k, int64_t *rows,
                   double *distances, void *scratch);
    void (*stats)(const void *model, lm_stats *stats);
    /* The training rows first .. first+n-1 as the model holds them (scaled), n x d; for measuring
     * the recall of a search. */
    void (*stored)(const void *model, size_t first, size_t n, float *x);
    /* Capabilities that this model lacks, though its method has them; NULL: none. */
    unsigned (*lacks)(const void *model);

    /* Online methods. The model is not queried meanwhile, and it stays valid whatever happens: on
     * failure (cancelled, out of memory) the first *learned rows of the lesson are in it, no
     * others. Training on rows gives the same model as training on the first of them and learning
     * the rest. Afterwards scratch_size may be larger. */
    limn_status (*learn)(limn_context *ctx, void *model, const lm_lesson *lesson, size_t *learned);
    /* There are that many classes from now on: more than before. */
    limn_status (*widen)(limn_context *ctx, void *model, size_t classes);
    /* Rows leave the model; ids that are not in it are no error. *forgotten: how many were. */
    limn_status (*forget)(limn_context *ctx, void *model, const uint64_t *ids, size_t count,
                          uint64_t *forgotten);
    /* Nothing of a forgotten row remains in the model. */
    limn_status (*compact)(limn_context *ctx, void *model);

    /* Foreign text models: whether bytes begin like one; the model in them; writing one (labels:
     * a number for each class). */
    bool (*recognise)(const void *bytes, size_t size);
    limn_status (*import)(limn_context *ctx, const char *name, const char *bytes, size_t size,
                          lm_foreign *about, void **model);
    limn_status (*export)(limn_context *ctx, const void *model, const int32_t *labels,
                          const char *path);
} lm_method;

/* NULL if there is none of that name. */
const lm_method *lm_method_find(const char *name);
const lm_method *lm_method_at(size_t index);

#endif
