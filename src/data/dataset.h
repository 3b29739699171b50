/* dataset.h: a dense table in memory, and the schema that matches later files to it.
 *
 * Features are float32, row by row. In a classification set each row has a class number of
 * schema.labels; in a regression set it has a target. A set without labels has neither. */
#ifndef LIMN_DATA_DATASET_H
#define LIMN_DATA_DATASET_H

#include "base/base.h"
#include "data/labels.h"

#define LM_NO_COLUMN SIZE_MAX

/* What a model remembers of the data it was trained on. */
typedef struct lm_schema {
    const limn_allocator *mem;
    limn_task task;
    size_t features;      /* feature columns of the file, before scaling */
    char **feature_names; /* features of them, or NULL when the file had no header */
    char *label_name;     /* or NULL */
    size_t label_column;  /* 0-based place of the label among all columns, or LM_NO_COLUMN */
    lm_labels labels;
} lm_schema;

void lm_schema_init(lm_schema *schema, const limn_allocator *mem);
void lm_schema_free(lm_schema *schema);
/* to has been initialised; what it held is freed. On failure it is empty. */
limn_status lm_schema_copy(limn_context *ctx, const lm_schema *from, lm_schema *to);

/* Whether labels are to be read where there are any. */
static inline bool lm_label_wanted(const limn_read_options *options, limn_task task) {
    return task != LIMN_SEARCH && !options->skip_label;
}

struct limn_data {
    limn_allocator mem;
    lm_schema schema; /* its mem points at the mem above */
    size_t n;
    float *x;       /* n x schema.features */
    int32_t *label; /* classify: n, or NULL */
    double *target; /* regress: n, or NULL */
};

/* An empty set whose schema has the task; free with limn_data_free. */
limn_status lm_data_new(limn_context *ctx, limn_task task, limn_data **out);
/* A copy of the chosen rows (in the order given), with the whole schema. */
limn_status lm_data_take(limn_context *ctx, const limn_data *data, const size_t *rows, size_t count,
                         limn_data **out);
/* Numbers the classes of data as labels does; those that it does not know come after. */
limn_status lm_data_relabel(limn_context *ctx, limn_data *data, const lm_labels *labels);
/* LIMN_E_DATA that names row and column (1-based; the column by its name if it has one) if any of
 * the n x d values is not finite. names may be NULL. */
limn_status lm_check_finite(limn_context *ctx, const float *x, size_t n, size_t d,
                            char *const *names);

#endif
