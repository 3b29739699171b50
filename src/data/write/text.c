/* text.c: rows as CSV, LIBSVM and ARFF text.
 *
 * CSV: RFC 4180 with LF. A header when the columns have names. Categories become one column again.
 * Cells are quoted if they would otherwise be split, cut or taken for another format; this includes
 * cells with separators that are not in use, because the reader guesses among them.
 *
 * LIBSVM: zeros are left out, except for the last feature of the first row, so that the number of
 * features survives.
 *
 * ARFF: dense rows; names and nominal values in single quotes where needed, with a backslash before
 * quotes, percent signs and backslashes, and \n, \r and \t for control characters. */
#include "data/number.h"
#include "data/write/write_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static limn_status put_text(lm_stream *s, const char *text) {
    return lm_stream_put(s, text, strlen(text));
}

static limn_status put_char(lm_stream *s, char c) {
    char *p = lm_stream_room(s, 1);
    if (!p)
        return s->status;
    *p = c;
    lm_stream_took(s, 1);
    return LIMN_OK;
}

static limn_status put_double(lm_stream *s, double value) {
    char *p = lm_stream_room(s, LM_NUMBER_BYTES);
    if (!p)
        return s->status;
    lm_stream_took(s, lm_format_double(value, p));
    return LIMN_OK;
}

/* ---- names that a format cannot hold ---- */

typedef const char *name_problem(const char *name); /* NULL: none */

static limn_status check_names(lm_table_out *t, const lm_labels *names, const char *what,
                               name_problem *problem) {
    char shown[48];
    for (size_t i = 0; i < names->count; i++) {
        const char *why = problem(names->names[i]);
        if (why)
            return lm_fail(t->ctx, LIMN_E_DATA, "%s: the %s '%s' %s", t->path, what,
                           lm_quote(names->names[i], strlen(names->names[i]), shown), why);
    }
    return LIMN_OK;
}

static limn_status check_classes(lm_table_out *t, name_problem *problem) {
    if (!t->shape.labelled || lm_table_targets(t))
        return LIMN_OK;
    return check_names(t, &t->shape.schema->labels, "label", problem);
}

static limn_status check_categories(lm_table_out *t, name_problem *problem) {
    limn_status status = LIMN_OK;
    for (size_t c = 0; t->categories && c < t->shape.schema->columns && status == LIMN_OK; c++)
        status = check_names(t, &t->shape.schema->column[c].categories, "category", problem);
    return status;
}

static const char *reads_as_missing(const char *name) {
    return lm_cell_missing(name, strlen(name))
               ? "would read as a missing cell; rename it, or write ARFF"
               : NULL;
}

static limn_status csv_check(lm_table_out *t) {
    limn_status status = check_classes(t, reads_as_missing);
    return status == LIMN_OK ? check_categories(t, reads_as_missing) : status;
}

/* ---- CSV ---- */

/* One cell per line: only quotes preserve blanks and empty cells. */
static bool is_narrow(const lm_table_out *t) {
    return t->shape.schema->columns + t->shape.labelled == 1;
}

static bool needs_quotes(const lm_table_out *t, const char *text, size_t length) {
    if (!length)
        return is_narrow(t) || t->delimiter == ' ';
    bool blanks = is_narrow(t) || t->delimiter == ' ';
    bool colons = blanks || t->delimiter == '\t'; /* index:value between blanks is LIBSVM */
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == t->delimiter || (c < ' ' && c >= 0) || c == '"' || c == ',' || c == ';' ||
            (c == ' ' && blanks) || (c == ':' && colons))
            return true;
    }
    /* @ and % begin the lines of ARFF. */
    return strchr(" @%", text[0]) || text[length - 1] == ' ' ||
           strncmp(text, "\xef\xbb\xbf", 3) == 0;
}

static limn_status put_cell(lm_table_out *t, const char *text) {
    lm_stream *s = &t->data;
    size_t length = strlen(text);
    if (!needs_quotes(t, text, length))
        return lm_stream_put(s, text, length);
    put_char(s, '"');
    for (const char *p = text; *p;) {
        size_t plain = strcspn(p, "\"");
        lm_stream_put(s, p, plain);
        p += plain;
        if (*p) {
            put_text(s, "\"\"");
            p++;
        }
    }
    return put_char(s, '"');
}

static limn_status csv_begin(lm_table_out *t) {
    const lm_schema *schema = t->shape.schema;
    if (!lm_schema_named(schema))
        return LIMN_OK;
    for (size_t c = 0; c < schema->columns; c++) {
        const char *name = lm_schema_column_name(schema, c);
        if (c)
            put_char(&t->data, t->delimiter);
        put_cell(t, name ? name : "");
    }
    if (t->shape.labelled) {
        char *label = lm_table_label_name(t);
        if (!label)
            return lm_fail_memory(t->ctx);
        put_char(&t->data, t->delimiter);
        put_cell(t, label);
        lm_free(&t->mem, label);
    }
    return put_char(&t->data, '\n');
}

/* Features without categories, with a separator before each but the first. */
static limn_status put_numbers(lm_stream *s, const float *row, size_t count, char delimiter) {
    for (size_t j = 0; j < count; j++) {
        char *p = lm_stream_room(s, LM_NUMBER_BYTES);
        if (!p)
            return s->status;
        *p = delimiter;
        size_t gap = j > 0;
        lm_stream_took(s, gap + lm_format_float(row[j], p + gap));
    }
    return LIMN_OK;
}

typedef limn_status cell_writer(lm_table_out *t, const char *text);

/* One cell per column; none is written where there is no category. */
static limn_status put_columns(lm_table_out *t, const float *row, char delimiter, const char *none,
                               cell_writer *put) {
    const lm_schema *schema = t->shape.schema;
    if (!t->categories)
        return put_numbers(&t->data, row, schema->features, delimiter);
    limn_status status = LIMN_OK;
    for (size_t c = 0; c < schema->columns && status == LIMN_OK; c++) {
        const lm_column *column = &schema->column[c];
        if (c)
            put_char(&t->data, delimiter);
        if (!column->categories.count) {
            status = put_numbers(&t->data, row + column->first, 1, delimiter);
            continue;
        }
        size_t k = lm_table_category(t, c, row);
        status = k == LM_NO_COLUMN && none
                     ? put_text(&t->data, none)
                     : put(t, k == LM_NO_COLUMN ? "" : column->categories.names[k]);
    }
    return status;
}

static limn_status put_label(lm_table_out *t, const limn_rows *rows, size_t i, cell_writer *put) {
    if (lm_table_targets(t))
        return put_double(&t->data, rows->targets[i]);
    return put(t, t->shape.schema->labels.names[rows->classes[i]]);
}

static bool is_number(const lm_table_out *t, const limn_rows *rows, size_t i, size_t c) {
    const lm_schema *schema = t->shape.schema;
    if (c == schema->columns)
        return lm_table_targets(t) || !isnan(schema->labels.values[rows->classes[i]]);
    if (!lm_schema_categories(schema, c))
        return true;
    size_t k = lm_table_category(t, c, rows->x + i * schema->features);
    return k != LM_NO_COLUMN && !isnan(schema->column[c].categories.values[k]);
}

/* A table without a header may begin with a row that looks like one: all text, or text above a
 * number. Reading it back then needs an option. */
static void warn_of_header(lm_table_out *t, const limn_rows *rows) {
    size_t count = t->shape.schema->columns + t->shape.labelled;
    bool number = false, above = false;
    for (size_t c = 0; c < count; c++) {
        bool is = is_number(t, rows, 0, c);
        number = number || is;
        above = above || (!is && rows->n > 1 && is_number(t, rows, 1, c));
    }
    if (above || !number)
        lm_warn(t->ctx, "%s: the first row looks like a header; read it with --header no",
                strcmp(t->path, "-") == 0 ? "standard output" : t->path);
}

static limn_status csv_put(lm_table_out *t, const limn_rows *rows) {
    const lm_schema *schema = t->shape.schema;
    if (!t->rows && rows->n && !lm_schema_named(schema))
        warn_of_header(t, rows);
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < rows->n && status == LIMN_OK; i++) {
        status = put_columns(t, rows->x + i * schema->features, t->delimiter, NULL, put_cell);
        if (t->shape.labelled && status == LIMN_OK) {
            put_char(&t->data, t->delimiter);
            status = put_label(t, rows, i, put_cell);
        }
        if (status == LIMN_OK)
            status = put_char(&t->data, '\n');
    }
    return status;
}

const lm_table_kind lm_csv_kind = {LIMN_FORMAT_CSV, false, csv_check, csv_begin, csv_put};

/* ---- LIBSVM ---- */

static const char *no_token(const char *name) {
    if (reads_as_missing(name))
        return reads_as_missing(name);
    return name[strcspn(name, " \t\r\n:#")]
               ? "holds a blank, ':' or '#', which a LIBSVM label cannot; write CSV, NPY or ARFF"
               : NULL;
}

static limn_status libsvm_check(lm_table_out *t) {
    if (t->shape.schema->features > UINT32_MAX)
        return lm_fail(t->ctx, LIMN_E_DATA, "%s: %zu features are too many", t->path,
                       t->shape.schema->features);
    return check_classes(t, no_token);
}

static limn_status libsvm_begin(lm_table_out *t) {
    (void)t;
    return LIMN_OK;
}

static limn_status put_token(lm_table_out *t, const char *text) {
    return put_text(&t->data, text);
}

/* bare: nothing is on the line yet. */
static limn_status put_pair(lm_stream *s, size_t j, float value, bool *bare) {
    char *p = lm_stream_room(s, (size_t)2 * LM_NUMBER_BYTES), *start = p;
    if (!p)
        return s->status;
    if (!*bare)
        *p++ = ' ';
    p += lm_format_whole((uint32_t)j + 1, p);
    *p++ = ':';
    p += lm_format_float(value, p);
    lm_stream_took(s, (size_t)(p - start));
    *bare = false;
    return LIMN_OK;
}

static limn_status put_pairs(lm_table_out *t, const float *row, bool first) {
    size_t d = t->shape.schema->features;
    bool bare = !t->shape.labelled;
    limn_status status = LIMN_OK;
    for (size_t j = 0; j < d && status == LIMN_OK; j++)
        if (row[j] != 0.0f || signbit(row[j]) || (first && j + 1 == d))
            status = put_pair(&t->data, j, row[j], &bare);
    if (bare && status == LIMN_OK) /* a blank line would not be a row */
        status = put_pair(&t->data, 0, 0.0f, &bare);
    return status == LIMN_OK ? put_char(&t->data, '\n') : status;
}

static limn_status libsvm_put(lm_table_out *t, const limn_rows *rows) {
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < rows->n && status == LIMN_OK; i++) {
        if (t->shape.labelled)
            status = put_label(t, rows, i, put_token);
        if (status == LIMN_OK)
            status = put_pairs(t, rows->x + i * t->shape.schema->features, t->rows + i == 0);
    }
    return status;
}

const lm_table_kind lm_libsvm_kind = {LIMN_FORMAT_LIBSVM, false, libsvm_check, libsvm_begin,
                                      libsvm_put};

/* ---- ARFF ---- */

static const char *is_empty(const char *name) {
    return *name ? NULL : "would read as a missing cell; name it";
}

static limn_status arff_check(lm_table_out *t) {
    limn_status status = check_classes(t, is_empty);
    return status == LIMN_OK ? check_categories(t, is_empty) : status;
}

static limn_status put_quoted(lm_table_out *t, const char *text) {
    lm_stream *s = &t->data;
    static const char special[] = "'\"%\\\n\r\t", shown[] = "'\"%\\nrt";
    bool plain = *text && strcmp(text, "?") != 0;
    for (const char *p = text; *p && plain; p++)
        plain = (unsigned char)*p > ' ' && !strchr("'\"%\\,{}", *p);
    if (plain)
        return put_text(s, text);
    put_char(s, '\'');
    while (*text) {
        size_t free_of = strcspn(text, special);
        lm_stream_put(s, text, free_of);
        text += free_of;
        if (*text) {
            put_char(s, '\\');
            put_char(s, shown[strchr(special, *text++) - special]);
        }
    }
    return put_char(s, '\'');
}

static limn_status put_attribute(lm_table_out *t, const char *name, const lm_labels *values) {
    put_text(&t->data, "@attribute ");
    put_quoted(t, name);
    if (!values)
        return put_text(&t->data, " numeric\n");
    put_text(&t->data, " {");
    for (size_t i = 0; i < values->count; i++) {
        if (i)
            put_char(&t->data, ',');
        put_quoted(t, values->names[i]);
    }
    return put_text(&t->data, "}\n");
}

static limn_status put_relation(lm_table_out *t) {
    const char *slash = strrchr(t->path, '/'), *name = slash ? slash + 1 : t->path;
    const char *dot = strchr(*name ? name + 1 : name, '.');
    char *base = strcmp(t->path, "-") == 0
                     ? lm_strdup(&t->mem, "data")
                     : lm_strndup(&t->mem, name, dot ? (size_t)(dot - name) : strlen(name));
    if (!base)
        return lm_fail_memory(t->ctx);
    put_text(&t->data, "@relation ");
    put_quoted(t, base);
    lm_free(&t->mem, base);
    return put_text(&t->data, "\n\n");
}

static limn_status arff_begin(lm_table_out *t) {
    const lm_schema *schema = t->shape.schema;
    limn_status status = put_relation(t);
    for (size_t c = 0; c < schema->columns && status == LIMN_OK; c++) {
        char made[32];
        const char *name = lm_schema_column_name(schema, c);
        snprintf(made, sizeof made, "x%zu", c + 1);
        status =
            put_attribute(t, name && *name ? name : made,
                          lm_schema_categories(schema, c) ? &schema->column[c].categories : NULL);
    }
    if (t->shape.labelled && status == LIMN_OK) {
        char *label = lm_table_label_name(t);
        if (!label)
            return lm_fail_memory(t->ctx);
        status = put_attribute(t, label, lm_table_targets(t) ? NULL : &schema->labels);
        lm_free(&t->mem, label);
    }
    return status == LIMN_OK ? put_text(&t->data, "\n@data\n") : status;
}

static limn_status arff_put(lm_table_out *t, const limn_rows *rows) {
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < rows->n && status == LIMN_OK; i++) {
        status = put_columns(t, rows->x + i * t->shape.schema->features, ',', "?", put_quoted);
        if (t->shape.labelled && status == LIMN_OK) {
            put_char(&t->data, ',');
            status = put_label(t, rows, i, put_quoted);
        }
        if (status == LIMN_OK)
            status = put_char(&t->data, '\n');
    }
    return status;
}

const lm_table_kind lm_arff_kind = {LIMN_FORMAT_ARFF, false, arff_check, arff_begin, arff_put};
