/* columns.h: which column of a file is which feature, and which is the label. */
#ifndef LIMN_DATA_READ_COLUMNS_H
#define LIMN_DATA_READ_COLUMNS_H

#include "data/dataset.h"

/* The cells of one row as text, each ending in a zero byte. */
typedef struct lm_cells {
    lm_buffer text;
    lm_buffer starts; /* size_t each */
    size_t count;
} lm_cells;

void lm_cells_init(lm_cells *cells, const limn_allocator *mem);
void lm_cells_free(lm_cells *cells);
bool lm_cells_add(lm_cells *cells, const char *text, size_t length); /* false: no memory */
const char *lm_cells_at(const lm_cells *cells, size_t index);

#define LM_ROLE_LABEL UINT32_MAX
#define LM_ROLE_WEIGHT (UINT32_MAX - 1)
#define LM_ROLE_SKIP (UINT32_MAX - 2) /* smaller numbers are feature columns */

typedef struct lm_columns {
    size_t count;
    uint32_t *role;  /* a column's place among the feature columns, or one of the above */
    bool has_label;  /* some role is LM_ROLE_LABEL */
    bool has_weight; /* some role is LM_ROLE_WEIGHT */
} lm_columns;

typedef struct lm_column_request {
    const char *file; /* for messages */
    const limn_read_options *options;
    const lm_schema *match; /* or NULL */
    const lm_cells *first;  /* the first row */
    const lm_cells *second; /* the row after it, or NULL; not used with match */
} lm_column_request;

/* The column that text[0..length) names: NAME (of the header, which may be NULL), a number from 1,
 * first or last; LM_NO_COLUMN when there is no such column. */
size_t lm_columns_find(const lm_cells *header, size_t count, const char *text, size_t length);
/* A table whose columns are identified by their place. */
typedef struct lm_table {
    const char *file;       /* for messages */
    const lm_cells *header; /* or NULL */
    size_t count;           /* columns */
    bool array;             /* numbers only: its columns are features, categories included */
} lm_table;

/* The column that an option names; LIMN_E_DATA that lists the columns when there is no such column.
 * what: "label" or "weight". */
limn_status lm_columns_named(limn_context *ctx, const lm_table *table, const char *what,
                             const char *text, size_t *column);
/* LIMN_E_DATA when both are the same column. */
limn_status lm_columns_apart(limn_context *ctx, const lm_table *table, size_t label, size_t weight);
/* Which columns are not features, with match and without names: the label is where it was in
 * training; so are the weights, unless they have been left out. */
limn_status lm_columns_match(limn_context *ctx, const lm_table *table, const lm_schema *match,
                             const limn_read_options *options, size_t *label, size_t *weight);

/* Whether the first row is a header. */
limn_status lm_columns_header(limn_context *ctx, const lm_column_request *request, bool *header);
/* Gives each column its role, and fills in schema (initialised; its task is set). */
limn_status lm_columns_resolve(limn_context *ctx, const lm_column_request *request, bool header,
                               lm_columns *columns, lm_schema *schema);

#endif
