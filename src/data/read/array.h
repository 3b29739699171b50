/* array.h: what the NPY and IDX readers share: the header as both give it, elements, rows, and the
 * labels in a separate file. Private to src/data. */
#ifndef LIMN_DATA_READ_ARRAY_H
#define LIMN_DATA_READ_ARRAY_H

#include "data/read/reader_impl.h"

typedef enum lm_element {
    LM_BOOL,
    LM_INT8,
    LM_UINT8,
    LM_INT16,
    LM_UINT16,
    LM_INT32,
    LM_UINT32,
    LM_INT64,
    LM_UINT64,
    LM_FLOAT16,
    LM_FLOAT32,
    LM_FLOAT64,
    LM_BYTES, /* text, filled up with zero bytes: labels only */
    LM_UTF32  /* the same in characters of 4 bytes */
} lm_element;

enum { LM_ARRAY_DIMS = 64 };

/* What a header says. */
typedef struct lm_array {
    lm_element element;
    size_t size;  /* of an element in bytes, at least 1 */
    bool big;     /* the first byte of a number is its highest */
    bool fortran; /* the first index runs fastest, not the last */
    size_t dims;  /* at most LM_ARRAY_DIMS */
    size_t shape[LM_ARRAY_DIMS];
} lm_array;

/* count numbers to floats; what a float cannot hold becomes infinite. */
typedef void lm_decoder(const unsigned char *from, size_t count, float *to);
/* Of an array of numbers. */
lm_decoder *lm_element_decoder(const lm_array *array);
/* The number at p. */
double lm_element_number(const lm_array *array, const unsigned char *p);
/* The number at p as text, which holds 32 bytes: whole numbers exactly, without a dot. Returns its
 * length. */
size_t lm_element_text(const lm_array *array, const unsigned char *p, char *text);

typedef enum lm_string_result {
    LM_STRING_DONE,
    LM_STRING_MEMORY,
    LM_STRING_ZERO,        /* inside the text */
    LM_STRING_NO_CHARACTER /* not one of Unicode */
} lm_string_result;
/* The text at p in UTF-8, without its zero padding; replaces what out held and ends in a zero
 * byte. */
lm_string_result lm_element_string(const lm_array *array, const unsigned char *p, lm_buffer *out);

/* A file that holds an array: the data of reader, or (reader is NULL) its labels. */
typedef struct lm_array_file {
    limn_context *ctx;
    limn_reader *reader;
    lm_text *text;
} lm_array_file;

/* Waits until at least this many bytes follow text->begin; LIMN_E_DATA when the file ends before
 * that, which is inside its header. */
limn_status lm_array_await(const lm_array_file *file, size_t bytes);

/* Whether a file begins as the format does; UNSURE only before its end. */
lm_guess lm_npy_guess(const lm_text *text);
lm_guess lm_idx_guess(const lm_text *text);
/* Reads the header of a file for which the guess is YES and moves text->begin past it. */
limn_status lm_npy_header(const lm_array_file *file, lm_array *array);
limn_status lm_idx_header(const lm_array_file *file, lm_array *array);

/* The rest of open for an array of at least two dimensions, and the other functions of lm_format,
 * the same for both. */
limn_status lm_array_open(limn_reader *r, const lm_array *array);
limn_status lm_array_rows(limn_reader *r, lm_sink *sink);
bool lm_array_complete(limn_reader *r);
void lm_array_close(limn_reader *r);
/* Memory that reading the whole file takes, once it is open. */
double lm_array_bytes_needed(const limn_reader *r);

#endif
