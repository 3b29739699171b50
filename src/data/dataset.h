/* dataset.h: a dense table in memory, and the schema that matches later files to it.
 *
 * Features are float32, row by row. In a classification set each row has a class number of
 * schema.labels; in a regression set it has a target. A set without labels has neither.
 *
 * A file has columns; a column of numbers is one feature, a column of text one feature for each of
 * its categories (1 in a row that has it, else 0). */
#ifndef LIMN_DATA_DATASET_H
#define LIMN_DATA_DATASET_H

#include "base/base.h"
#include "data/labels.h"

#define LM_NO_COLUMN SIZE_MAX

/* One feature column of a file, so neither the label nor the weights. */
typedef struct lm_column {
    char *name;           /* or NULL when the file had no header */
    size_t first;         /* its first feature */
    lm_labels categories; /* sorted; none: a column of numbers */
    double fill;          /* for a missing cell: a number or the number of a category; NaN: none */
} lm_column;

/* What a model remembers of the data it was trained on. */
typedef struct lm_schema {
    const limn_allocator *mem;
    limn_task task;
    size_t columns;       /* feature columns of the file */
    lm_column *column;    /* columns of them, or NULL: numbers without names and fills */
    size_t features;      /* what the columns become, before scaling */
    char **feature_names; /* features of them, or NULL when the file had no header */
    char *label_name;     /* or NULL */
    size_t label_column;  /* 0-based place of the label among all columns, or LM_NO_COLUMN */
    char *weight_name;    /* the same for the weights */
    size_t weight_column;
    /* Rows have one more float after their features, hidden from the user: the sum of squares of
     * features that the model does not have (LIBSVM files for an imported model may have some). */
    bool beyond;
    lm_labels labels;
} lm_schema;

void lm_schema_init(lm_schema *schema, const limn_allocator *mem);
void lm_schema_free(lm_schema *schema);
/* to has been initialised; what it held is freed. On failure it is empty. */
limn_status lm_schema_copy(limn_context *ctx, const lm_schema *from, lm_schema *to);
/* to need not be initialised; its memory functions become mem, from becomes empty. */
void lm_schema_move(lm_schema *from, lm_schema *to, const limn_allocator *mem);
/* Gives the schema its column array (schema->columns of numbers without names) unless it has one.
 */
limn_status lm_schema_add_columns(limn_context *ctx, lm_schema *schema);
/* Call when the columns are known: numbers the features (first, features) and names them: "width",
 * "color=red". */
limn_status lm_schema_settle(limn_context *ctx, lm_schema *schema);
/* Categories of column c; 0 for a column of numbers. */
static inline size_t lm_schema_categories(const lm_schema *schema, size_t c) {
    return schema->column ? schema->column[c].categories.count : 0;
}
/* The name of column c, or NULL. */
static inline const char *lm_schema_column_name(const lm_schema *schema, size_t c) {
    return schema->column ? schema->column[c].name : NULL;
}
static inline bool lm_schema_named(const lm_schema *schema) {
    return schema->columns && lm_schema_column_name(schema, 0);
}

/* Floats per row. */
static inline size_t lm_schema_width(const lm_schema *schema) {
    return schema->features + schema->beyond;
}

/* Whether labels should be read if there are any. */
static inline bool lm_label_wanted(const limn_read_options *options, limn_task task) {
    return (task == LIMN_CLASSIFY || task == LIMN_REGRESS || task == LIMN_OUTLIER) &&
           !options->skip_label;
}

struct limn_data {
    limn_allocator mem;
    lm_schema schema;   /* its mem points at the mem above */
    limn_format format; /* of the file that it came from; AUTO: none */
    size_t n;
    float *x;       /* n x lm_schema_width(&schema) */
    int32_t *label; /* classify: n, or NULL */
    double *target; /* regress: n, or NULL */
    double *weight; /* n, positive or zero, or NULL: all alike */
};

/* An empty set whose schema has the task; free with limn_data_free. */
limn_status lm_data_new(limn_context *ctx, limn_task task, limn_data **out);
/* A copy of the chosen rows (in the order given), with the whole schema. */
limn_status lm_data_take(limn_context *ctx, const limn_data *data, const size_t *rows, size_t count,
                         limn_data **out);
/* A copy without the extra float after the features; NULL when there is none. */
limn_status lm_data_narrow(limn_context *ctx, const limn_data *data, limn_data **out);
/* Numbers the classes of data as labels does; classes that are not in labels come after. */
limn_status lm_data_relabel(limn_context *ctx, limn_data *data, const lm_labels *labels);
/* Whether all are whole numbers from 0 to 255 (and none is -0). */
bool lm_only_bytes(const float *x, size_t count);
/* LIMN_E_DATA if any of the n x width values is not finite; the message gives row and column
 * (1-based, and the column's name if it has one). */
limn_status lm_check_finite(limn_context *ctx, const lm_schema *schema, const float *x, size_t n,
                            size_t width);

#endif
