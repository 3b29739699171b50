/* reader_impl.h: what the reader and the file formats share. Private to src/data.
 *
 * To add a format: one file that defines an lm_format, one line in the table of reader.c. */
#ifndef LIMN_DATA_READ_READER_IMPL_H
#define LIMN_DATA_READ_READER_IMPL_H

#include "data/read/reader.h"

typedef struct lm_place {
    uint64_t line;    /* of a binary file: the row */
    size_t column;    /* 1-based; 0: none */
    const char *name; /* of the column, or NULL */
} lm_place;

/* Where rows go. Row i starts at x + i * stride; label, target or weight is NULL when there is
 * none. Without match, a row holds one float per column: the number, the number of the category, or
 * NaN for a missing cell; with match it holds the features. */
typedef struct lm_sink {
    float *x;
    int32_t *label;
    double *target, *weight;
    size_t n, capacity, stride;
    uint64_t missing; /* cells of row n so far */
    lm_place first_missing;
} lm_sink;

typedef enum lm_guess { LM_GUESS_NO, LM_GUESS_YES, LM_GUESS_UNSURE } lm_guess;

typedef struct lm_format {
    limn_format id;
    bool binary; /* detected from its first bytes; else the text must hold no zero byte */
    /* Looks at reader->text, which holds at least one line or everything; for a binary format, what
     * has arrived so far (UNSURE: too little, but it fits so far). */
    lm_guess (*detect)(const limn_reader *reader);
    /* Reads what comes before the rows; fills reader->schema, has_label and state. */
    limn_status (*open)(limn_reader *reader);
    /* Appends the complete rows of reader->text to the sink and moves text.begin past them, until
     * the sink is full or the text ends inside a row. A row with bad data after good ones is left
     * for the next call, so that the answers do not depend on how the bytes arrive. */
    limn_status (*rows)(limn_reader *reader, lm_sink *sink);
    /* True when there is a whole row at text.begin. Called after each fill, so it should remember
     * how far it has looked. */
    bool (*complete)(limn_reader *reader);
    void (*close)(limn_reader *reader);
} lm_format;

extern const lm_format lm_csv_format;
extern const lm_format lm_libsvm_format;
extern const lm_format lm_npy_format;
extern const lm_format lm_idx_format;
extern const lm_format lm_arff_format;

/* What a feature column holds, found out cell by cell without match. */
typedef enum lm_column_kind {
    LM_COLUMN_OPEN, /* only missing cells so far */
    LM_COLUMN_NUMBER,
    LM_COLUMN_CATEGORY, /* by its first cell: no number may follow */
    LM_COLUMN_CHOSEN    /* category by the options or the format: numbers are categories too */
} lm_column_kind;

enum { LM_LABEL_CACHE = 64 };

struct limn_reader {
    limn_context *ctx;
    limn_allocator mem;
    limn_read_options options; /* its label only while opening */
    const lm_schema *match;
    const lm_format *format;
    void *state; /* of the format */
    lm_text text;
    lm_schema schema;
    lm_column_kind
        *kind; /* of each column; NULL with match, and for formats that hold numbers only */
    uint64_t *kind_line; /* where the kind of each column was decided */
    bool has_label, has_weight;
    bool is_text;   /* not a binary format: zero bytes are refused */
    bool whole;     /* the whole file is wanted: features may grow, missing cells are counted */
    size_t scanned; /* bytes after text.begin in which LIBSVM found no newline */
    uint64_t rows;  /* handed out */
    uint64_t rows_told, bytes_told; /* at the last report of progress */
    uint64_t bytes;                 /* of text that has been read */
    uint64_t missing;               /* cells */
    lm_place first_missing;
    lm_sink block; /* of limn_reader_next */
    struct {
        uint64_t key; /* the bytes of a label of at most 8 */
        int32_t id;   /* -1: free */
    } cache[LM_LABEL_CACHE];
};

static inline const char *lm_reader_name(const limn_reader *r) {
    return lm_source_name(r->text.source);
}

/* Reads on once, refusing bytes that are not text. */
limn_status lm_reader_fill(limn_reader *r);
/* LIMN_E_DATA: more memory than the limit. about: "", "about" or "more than". */
limn_status lm_too_large(limn_context *ctx, const char *name, const char *about, double bytes);
/* LIMN_E_DATA: "FILE: line 7, column 3 (width): " before the rest of the message. */
limn_status lm_reader_fail(limn_reader *r, const lm_place *place, const char *format, ...)
    LM_PRINTF(3, 4);
/* Gives r->kind its memory (r->schema.columns, all open) and chooses the columns that the options
 * name as categorical. Without match, for formats whose cells may be text. */
limn_status lm_reader_open_columns(limn_reader *r);
/* Stores the cell of feature column c (0-based, as in the schema) in row sink->n: a number, a
 * category or a missing cell. text is followed by a byte that cannot be part of a number. */
limn_status lm_reader_cell(limn_reader *r, const lm_place *place, size_t c, const char *text,
                           size_t length, lm_sink *sink);
/* The same for formats that hold numbers only, by feature: NaN is a missing cell. */
limn_status lm_reader_number(limn_reader *r, const lm_place *place, size_t feature, double value,
                             lm_sink *sink);
/* Stores the sample weight of row sink->n. */
limn_status lm_reader_weight(limn_reader *r, const lm_place *place, const char *text, size_t length,
                             lm_sink *sink);
/* After the last row, without match: sorts the categories (and renumbers the cells), fills missing
 * cells if the options ask for it, and completes the schema. */
limn_status lm_reader_settle_columns(limn_reader *r, lm_sink *sink);
/* Then turns cells into features. The sink's rows become schema.features wide. */
limn_status lm_reader_spread(limn_reader *r, lm_sink *sink);
/* Ends row sink->n, whose cells, label and weight have been stored. */
void lm_reader_accept(limn_reader *r, lm_sink *sink);
/* Stores the label (or target) of row sink->n. text is followed by a byte that cannot be part of a
 * number. */
limn_status lm_reader_label(limn_reader *r, const lm_place *place, const char *text, size_t length,
                            lm_sink *sink);
/* Makes room for more features in every row, including the one being written. */
limn_status lm_reader_widen(limn_reader *r, lm_sink *sink, size_t features);

#endif
