/* write_impl.h: what the writers of the file formats share. Private to src/data.
 *
 * To add a format: one lm_table_kind in text.c, binary.c or its own file, and one line in the table
 * of write.c. */
#ifndef LIMN_DATA_WRITE_WRITE_IMPL_H
#define LIMN_DATA_WRITE_WRITE_IMPL_H

#include "data/number.h"
#include "data/write/write.h"

#include <zlib.h>

/* ---- streams: a buffered output file, compressed or not ---- */

enum { LM_STREAM_BYTES = 1 << 18 };

typedef struct lm_stream {
    limn_context *ctx;
    limn_output *output; /* NULL: not open */
    limn_status status;  /* of the first failure; every later call fails too */
    unsigned char *bytes, *packed;
    size_t used;
    bool gzip;
    z_stream z;
} lm_stream;

/* Compressed when path ends in ".gz". stream is zero-initialised. */
limn_status lm_stream_open(limn_context *ctx, const char *path, lm_stream *stream);
limn_status lm_stream_put(lm_stream *stream, const void *bytes, size_t size);
limn_status lm_stream_drain(lm_stream *stream);
/* Everything but the rename: what can fail for lack of space fails here. */
limn_status lm_stream_finish(lm_stream *stream);
limn_status lm_stream_commit(lm_stream *stream); /* after finish; closes it, even on failure */
void lm_stream_discard(lm_stream *stream);       /* need not be open */

/* Where size more bytes (at most LM_STREAM_BYTES) may be put, to be followed by lm_stream_took;
 * NULL after a failure. */
static inline char *lm_stream_room(lm_stream *stream, size_t size) {
    if (size > LM_STREAM_BYTES - stream->used && lm_stream_drain(stream) != LIMN_OK)
        return NULL;
    return (char *)stream->bytes + stream->used;
}

static inline void lm_stream_took(lm_stream *stream, size_t size) {
    stream->used += size;
}

/* ---- tables ---- */

typedef struct lm_table_kind {
    limn_format id;
    bool apart; /* labels have a separate file */
    /* Refuses what the format cannot hold, before any file is touched. */
    limn_status (*check)(lm_table_out *table);
    /* Writes what comes before the rows. */
    limn_status (*begin)(lm_table_out *table);
    limn_status (*put)(lm_table_out *table, const limn_rows *rows);
} lm_table_kind;

extern const lm_table_kind lm_csv_kind;
extern const lm_table_kind lm_libsvm_kind;
extern const lm_table_kind lm_npy_kind;
extern const lm_table_kind lm_idx_kind;
extern const lm_table_kind lm_arff_kind;

struct lm_table_out {
    limn_context *ctx;
    limn_allocator mem;
    const lm_table_kind *kind;
    lm_table_shape shape;
    char *path, *label_path; /* label_path: NULL unless there is such a file */
    lm_stream data, labels;
    uint64_t rows;      /* written */
    char delimiter;     /* of CSV */
    bool categories;    /* some column has them */
    char label_type;    /* of NPY and IDX: chosen by check */
    size_t label_chars; /* of NPY texts */
};

static inline bool lm_table_targets(const lm_table_out *table) {
    return table->shape.schema->task == LIMN_REGRESS;
}

/* What writing to path would do, and whether it can: the format, and the file for the labels (NULL:
 * never one; free with lm_free). options may be NULL. */
limn_status lm_table_plan(limn_context *ctx, const char *path, const limn_write_options *options,
                          limn_format *format, char **label_file);

/* Which of the categories of column a row has (LM_NO_COLUMN: none). */
size_t lm_table_category(const lm_table_out *table, size_t column, const float *row);
/* The name of the label column: that of the schema, else "label", and "label_2", ... where a
 * feature has it already. NULL when out of memory; free with lm_free. */
char *lm_table_label_name(const lm_table_out *table);
/* LIMN_E_DATA: the rows are not those that were announced. */
limn_status lm_table_changed(lm_table_out *table);

#endif
