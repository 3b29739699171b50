/* write.h: rows into a file of any format, in constant memory: for limn convert and limn synth. */
#ifndef LIMN_DATA_WRITE_WRITE_H
#define LIMN_DATA_WRITE_WRITE_H

#include "data/dataset.h"

/* What must be known before the first row is written. */
typedef struct lm_table_shape {
    const lm_schema *schema; /* outlives the writing; labels are complete */
    uint64_t rows;
    bool labelled; /* rows have classes or targets, as schema->task says */
    bool bytes;    /* every feature is a whole number from 0 to 255 */
} lm_table_shape;

typedef struct lm_table_out lm_table_out;

/* Nothing appears under path (or the name of the label file) before lm_table_commit. options may be
 * NULL. */
limn_status lm_table_open(limn_context *ctx, const char *path, const limn_write_options *options,
                          const lm_table_shape *shape, lm_table_out **out);
/* rows->x: n x schema->features. In total there must be shape->rows of them. */
limn_status lm_table_put(lm_table_out *table, const limn_rows *rows);
/* Syncs and renames. Frees table, even on failure. */
limn_status lm_table_commit(lm_table_out *table);
void lm_table_discard(lm_table_out *table); /* NULL is allowed */

/* The format that a path's extension names (a final ".gz" does not count); LIMN_FORMAT_AUTO when it
 * names none. */
limn_format lm_format_of_name(const char *path);
/* The file that holds the labels of an NPY or IDX file by convention: "images" becomes "labels" and
 * "idx3" "idx1" in the last part of the path; where there is no "images", "-labels" is put before
 * the extension: train-images-idx3-ubyte.gz -> train-labels-idx1-ubyte.gz, x.npy -> x-labels.npy.
 * NULL when out of memory; free with lm_free. */
char *lm_companion_name(const limn_allocator *mem, const char *path);

#endif
