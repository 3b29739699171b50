/* reader_impl.h: what the reader and the file formats share. Private to src/data.
 *
 * To add a format: one file that defines an lm_format, one line in the table of reader.c. */
#ifndef LIMN_DATA_READER_IMPL_H
#define LIMN_DATA_READER_IMPL_H

#include "data/reader.h"

/* Where rows go. Row i starts at x + i * stride; label or target is NULL when there is none. */
typedef struct lm_sink {
    float *x;
    int32_t *label;
    double *target;
    size_t n, capacity, stride;
} lm_sink;

typedef enum lm_guess { LM_GUESS_NO, LM_GUESS_YES, LM_GUESS_UNSURE } lm_guess;

typedef struct lm_format {
    limn_format id;
    /* Looks at reader->text, which holds at least one line or everything. */
    lm_guess (*detect)(const limn_reader *reader);
    /* Reads what stands in front of the rows; fills reader->schema, has_label and state. */
    limn_status (*open)(limn_reader *reader);
    /* Appends the complete rows of reader->text to the sink and moves text.begin behind them, until
     * the sink is full or the text ends inside a row. A row with bad data behind good ones is left
     * for the next call, so that what is answered does not depend on how the bytes arrive. */
    limn_status (*rows)(limn_reader *reader, lm_sink *sink);
    /* True when a whole row stands at text.begin. Called after each fill, so it should remember how
     * far it has looked. */
    bool (*complete)(limn_reader *reader);
    void (*close)(limn_reader *reader);
} lm_format;

extern const lm_format lm_csv_format;
extern const lm_format lm_libsvm_format;

enum { LM_LABEL_CACHE = 64 };

typedef struct lm_place {
    uint64_t line;
    size_t column;    /* 1-based; 0: none */
    const char *name; /* of the column, or NULL */
} lm_place;

struct limn_reader {
    limn_context *ctx;
    limn_allocator mem;
    limn_read_options options; /* its label only while opening */
    const lm_schema *match;
    const lm_format *format;
    void *state; /* of the format */
    lm_text text;
    lm_schema schema;
    bool has_label;
    bool whole;     /* the whole file is wanted: features may grow, missing cells are counted */
    size_t scanned; /* bytes behind text.begin in which LIBSVM found no newline */
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
/* LIMN_E_DATA: "FILE: line 7, column 3 (width): " in front of the rest of the sentence. */
limn_status lm_reader_fail(limn_reader *r, const lm_place *place, const char *format, ...)
    LM_PRINTF(3, 4);
/* Stores the label (or target) of row sink->n. text is followed by a byte that cannot be part of a
 * number. */
limn_status lm_reader_label(limn_reader *r, const lm_place *place, const char *text, size_t length,
                            lm_sink *sink);
/* Makes room for more features in every row, the one that is being written too. */
limn_status lm_reader_widen(limn_reader *r, lm_sink *sink, size_t features);

#endif
