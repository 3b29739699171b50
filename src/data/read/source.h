/* source.h: bytes from a file, a pipe, standard input or memory, gzip or not; and a window of text
 * over them. Reading is sequential only, so any path may be a FIFO. */
#ifndef LIMN_DATA_READ_SOURCE_H
#define LIMN_DATA_READ_SOURCE_H

#include "base/base.h"

typedef struct lm_source lm_source;

/* path "-" is standard input. Gzip is detected from its first two bytes. */
limn_status lm_source_open(limn_context *ctx, const char *path, lm_source **out);
/* Bytes that the caller keeps until the source is freed, handed out at most chunk at a time
 * (0: all at once), as a pipe would. For tests. */
limn_status lm_source_memory(limn_context *ctx, const char *name, const void *bytes, size_t size,
                             size_t chunk, lm_source **out);
void lm_source_free(lm_source *source); /* NULL is allowed */

/* Reads what has arrived, at least one byte and at most capacity (which is > 0); 0 at the end. */
limn_status lm_source_read(lm_source *source, void *bytes, size_t capacity, size_t *got);
/* The name for error messages. */
const char *lm_source_name(const lm_source *source);
/* The part that has been read, 0..1; -1 unless the size is known. */
double lm_source_fraction(const lm_source *source);
/* Size of the text in bytes if known in advance (a regular file, not compressed), else 0. */
uint64_t lm_source_text_size(const lm_source *source);

/* The unread bytes are data[begin, end). They are followed by an extra newline and LM_TEXT_PADDING
 * readable bytes, so that a parser needs no bounds checks inside a line. */
enum { LM_TEXT_PADDING = 16 };

typedef struct lm_text {
    lm_source *source;
    char *data;
    size_t begin, end, capacity;
    bool eof;
    uint64_t line; /* number of the line at begin, from 1 */
} lm_text;

limn_status lm_text_init(limn_context *ctx, lm_text *text, lm_source *source);
void lm_text_free(limn_allocator *mem, lm_text *text); /* the source too */
/* Reads once more; eof is set when nothing is left. Moves the unread bytes. */
limn_status lm_text_fill(limn_context *ctx, lm_text *text);

#endif
