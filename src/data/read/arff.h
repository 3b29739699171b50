/* arff.h: what the header and the rows of an ARFF file share. Private to src/data. */
#ifndef LIMN_DATA_READ_ARFF_H
#define LIMN_DATA_READ_ARFF_H

#include "data/read/columns.h"
#include "data/read/reader_impl.h"

typedef enum arff_type { ARFF_NUMERIC, ARFF_NOMINAL, ARFF_STRING, ARFF_DATE } arff_type;

typedef struct arff_attribute {
    arff_type type;
    size_t first, count; /* its values among those of all attributes */
    uint64_t line;
} arff_attribute;

#define ARFF_SLOW UINT32_MAX

typedef struct arff_state {
    lm_cells names, values;
    lm_buffer attributes; /* arff_attribute each, names.count of them */
    lm_columns columns;
    uint32_t *direct;   /* the float of a row that an attribute's number goes to, or ARFF_SLOW */
    lm_labels declared; /* the values of a nominal label, without match */
    lm_buffer scratch;  /* a quoted text without its backslashes */
    bool row_weights;   /* rows have weights, and they are wanted */
} arff_state;

static inline arff_state *arff_of(const limn_reader *r) {
    return r->state;
}

static inline const arff_attribute *arff_at(const arff_state *arff, size_t index) {
    return (const arff_attribute *)(const void *)arff->attributes.data + index;
}

/* ---- texts; they end at a newline at the latest ---- */

static inline bool arff_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static inline const char *arff_skip(const char *p) {
    while (arff_blank(*p))
        p++;
    return p;
}

/* Nothing or a comment. */
static inline bool arff_ends(char c) {
    return c == '\n' || c == '%';
}

static inline bool arff_opens_quote(char c) {
    return c == '\'' || c == '"';
}

static inline char arff_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

typedef struct arff_cell {
    const char *text; /* followed by a byte that cannot be part of a number */
    size_t length;
    bool quoted;
    const char *stop; /* after the text and its closing quote */
} arff_cell;

typedef enum arff_result { ARFF_DONE, ARFF_UNCLOSED, ARFF_TAIL, ARFF_MEMORY } arff_result;

/* p is at the opening quote. */
arff_result lm_arff_quoted(lm_buffer *scratch, const char *p, arff_cell *at);
/* The text from p to end, without trailing blanks. */
void lm_arff_plain(const char *p, const char *end, arff_cell *at);
/* A text in braces, quoted or not: stop is at the comma, the closing brace or the newline. */
arff_result lm_arff_braced(lm_buffer *scratch, const char *p, arff_cell *at);
/* The error message for a text that is not ARFF_DONE. */
limn_status lm_arff_fail(limn_reader *r, const lm_place *place, arff_result result);

/* ---- lines ---- */

/* The line at text.begin, for messages. */
static inline lm_place arff_here(const limn_reader *r) {
    return (lm_place){r->text.line, 0, NULL};
}

bool lm_arff_complete(limn_reader *r);
/* Steps to the next line. newline: that of the line at text.begin; NULL: it is the last line and
 * has none. */
void lm_arff_step(limn_reader *r, const char *newline);
/* Puts text.begin at a line that is neither blank nor a comment, and waits until it is whole.
 * *line is where its text begins, NULL at the end of the file. */
limn_status lm_arff_line(limn_reader *r, const char **line);
/* Reads up to the line after @data: names, values and attributes of the state. */
limn_status lm_arff_header(limn_reader *r);

#endif
