/* array.c: rows of an array of numbers, for all formats that hold one.
 *
 * Rows in C order are converted straight out of the text window, as many at a time as have arrived:
 * one loop over the elements, then one that checks whether all floats are finite. Only if some are
 * not is each value of a row looked at.
 *
 * In Fortran order a row is spread over the whole file, so all of it is read at opening, and rows
 * are made in tiles: some rows of raw elements in C order, which are then converted the same way.
 *
 * Labels are in a column of the array, or in a separate file that is read along with it. */
#include "data/read/array.h"

#include "data/read/columns.h"
#include "data/write/write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TILE_BYTES = 1 << 18,
    TILE_ROWS = 16,          /* at least, so that a cache line of a column is used more than once */
    WIDE_ROW_BYTES = 3 << 16 /* a longer row makes the text window grow */
};
static const double WIDE_ROW_SHARE = 8.0 / 3; /* to this multiple of its length at most */

/* Columns of the array that become features side by side. */
typedef struct run {
    size_t first, count, feature;
} run;

typedef struct state {
    lm_array array;
    size_t rows, next; /* next: the number of the row at text.begin or in the tile */
    size_t width, row_bytes;
    size_t label_column, weight_column; /* to be read; LM_NO_COLUMN: none */
    lm_decoder *decode;
    run runs[3];
    size_t run_count;
    lm_buffer payload; /* Fortran order: all elements */
    unsigned char *tile;
    size_t tile_first, tile_rows, tile_capacity; /* rows */
    lm_array labels;
    lm_text label_text; /* its source is NULL when there is no label file */
    lm_buffer label_scratch;
} state;

static state *state_of(const limn_reader *r) {
    return r->state;
}

/* ---- labels ---- */

/* The text at p, into label_scratch. */
static limn_status text_label(limn_reader *r, state *s, const unsigned char *p) {
    lm_string_result result = lm_element_string(&s->labels, p, &s->label_scratch);
    if (result == LM_STRING_DONE)
        return LIMN_OK;
    if (result == LM_STRING_MEMORY)
        return lm_fail_memory(r->ctx);
    return lm_fail(r->ctx, LIMN_E_DATA, "%s: row %zu: the label holds %s; correct it",
                   lm_source_name(s->label_text.source), s->next + 1,
                   result == LM_STRING_ZERO ? "a zero byte" : "an invalid Unicode character");
}

static limn_status fill_text(const lm_array_file *file) {
    return file->reader ? lm_reader_fill(file->reader) : lm_text_fill(file->ctx, file->text);
}

/* Afterwards the label of row s->next is at the start of the label file's window. */
static limn_status await_label(limn_reader *r, state *s) {
    lm_text *t = &s->label_text;
    while (t->end - t->begin < s->labels.size) {
        if (t->eof)
            return lm_fail(r->ctx, LIMN_E_DATA,
                           "%s: the file ends after %zu of %zu labels; copy or save it again",
                           lm_source_name(t->source), s->next, s->rows);
        limn_status status = lm_text_fill(r->ctx, t);
        if (status != LIMN_OK)
            return status;
    }
    return LIMN_OK;
}

static limn_status put_label(limn_reader *r, state *s, const unsigned char *row, lm_sink *sink) {
    lm_place place = {s->next + 1, 0, NULL};
    const lm_array *array = &s->array;
    const unsigned char *p = NULL;
    char text[32];
    if (s->label_column != LM_NO_COLUMN) {
        place.column = s->label_column + 1;
        p = row + s->label_column * array->size;
    } else {
        limn_status status = await_label(r, s);
        if (status != LIMN_OK)
            return status;
        array = &s->labels;
        p = (const unsigned char *)s->label_text.data + s->label_text.begin;
    }
    if (array->element < LM_BYTES)
        return lm_reader_label(r, &place, text, lm_element_text(array, p, text), sink);
    limn_status status = text_label(r, s, p);
    if (status != LIMN_OK)
        return status;
    return lm_reader_label(r, &place, (const char *)s->label_scratch.data, s->label_scratch.size,
                           sink);
}

/* ---- rows ---- */

static bool all_finite(const float *x, size_t count) {
    uint32_t special = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        special |= (bits & 0x7f800000) == 0x7f800000;
    }
    return !special;
}

/* The column number in Fortran order of a feature in C order. */
static size_t fortran_column(const lm_array *array, size_t feature) {
    size_t column = 0;
    for (size_t k = array->dims - 1; k > 0; k--) {
        column = column * array->shape[k] + feature % array->shape[k];
        feature /= array->shape[k];
    }
    return column;
}

#define COPY_COLUMN(bytes)                    \
    for (size_t i = 0; i < s->tile_rows; i++) \
    memcpy(to + i * s->row_bytes, from + i * (size_t)(bytes), (bytes))

/* The rows from s->next on, rearranged to C order. */
static void fill_tile(state *s) {
    size_t left = s->rows - s->next, size = s->array.size;
    s->tile_first = s->next;
    s->tile_rows = left < s->tile_capacity ? left : s->tile_capacity;
    for (size_t j = 0; j < s->width; j++) {
        size_t column = fortran_column(&s->array, j);
        const unsigned char *from = s->payload.data + (column * s->rows + s->next) * size;
        unsigned char *to = s->tile + j * size;
        switch (size) {
        case 1:
            COPY_COLUMN(1);
            break;
        case 2:
            COPY_COLUMN(2);
            break;
        case 4:
            COPY_COLUMN(4);
            break;
        default:
            COPY_COLUMN(8);
        }
    }
}

/* How many rows are at *bytes. */
static size_t rows_at_hand(state *s, const lm_text *t, const unsigned char **bytes) {
    if (s->array.fortran) {
        if (s->next == s->tile_first + s->tile_rows)
            fill_tile(s);
        *bytes = s->tile + (s->next - s->tile_first) * s->row_bytes;
        return s->tile_first + s->tile_rows - s->next;
    }
    size_t left = s->rows - s->next, held = (t->end - t->begin) / s->row_bytes;
    *bytes = (const unsigned char *)t->data + t->begin;
    return held < left ? held : left;
}

static limn_status put_weight(limn_reader *r, state *s, const unsigned char *row, lm_sink *sink) {
    lm_place place = {s->next + 1, s->weight_column + 1, NULL};
    const unsigned char *p = row + s->weight_column * s->array.size;
    char text[32];
    double weight = lm_element_number(&s->array, p);
    if (isfinite(weight) && weight >= 0) {
        sink->weight[sink->n] = weight;
        return LIMN_OK;
    }
    return lm_reader_weight(r, &place, text, lm_element_text(&s->array, p, text), sink);
}

/* What is not finite in row sink->n: missing, or an error. */
static limn_status look_closer(limn_reader *r, state *s, const unsigned char *row, lm_sink *sink) {
    limn_status status = LIMN_OK;
    const float *x = sink->x + sink->n * sink->stride;
    for (size_t k = 0; k < s->run_count; k++)
        for (size_t i = 0; i < s->runs[k].count && status == LIMN_OK; i++) {
            size_t column = s->runs[k].first + i, feature = s->runs[k].feature + i;
            lm_place place = {s->next + 1, column + 1, NULL};
            if (!isfinite(x[feature]))
                status = lm_reader_number(
                    r, &place, feature, lm_element_number(&s->array, row + column * s->array.size),
                    sink);
        }
    return status;
}

/* Stores label and weight and ends row sink->n, whose features are already stored. */
static limn_status finish_row(limn_reader *r, state *s, const unsigned char *row, lm_sink *sink) {
    limn_status status = LIMN_OK;
    if (r->has_label)
        status = put_label(r, s, row, sink);
    if (status == LIMN_OK && s->weight_column != LM_NO_COLUMN)
        status = put_weight(r, s, row, sink);
    if (status != LIMN_OK)
        return status;
    lm_reader_accept(r, sink);
    s->next++;
    if (!s->array.fortran)
        r->text.begin += s->row_bytes;
    if (s->label_text.source)
        s->label_text.begin += s->labels.size;
    return LIMN_OK;
}

static limn_status put_row(limn_reader *r, state *s, const unsigned char *row, lm_sink *sink) {
    float *x = sink->x + sink->n * sink->stride;
    limn_status status = LIMN_OK;
    sink->missing = 0;
    for (size_t k = 0; k < s->run_count; k++)
        s->decode(row + s->runs[k].first * s->array.size, s->runs[k].count, x + s->runs[k].feature);
    if (!all_finite(x, r->schema.features))
        status = look_closer(r, s, row, sink);
    return status == LIMN_OK ? finish_row(r, s, row, sink) : status;
}

/* count rows at p, which the sink has room for. */
static limn_status put_rows(limn_reader *r, state *s, const unsigned char *p, size_t count,
                            lm_sink *sink) {
    float *x = sink->x + sink->n * sink->stride;
    bool clean = s->run_count == 1 && s->runs[0].count == s->width && s->width == sink->stride;
    if (clean) {
        s->decode(p, count * s->width, x);
        clean = all_finite(x, count * s->width);
    }
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < count && status == LIMN_OK; i++, p += s->row_bytes)
        status = clean ? finish_row(r, s, p, sink) : put_row(r, s, p, sink);
    return status;
}

/* Nothing may follow the last row, in either file. */
static limn_status check_end(limn_reader *r, state *s) {
    lm_text *labels = &s->label_text;
    if (r->text.begin < r->text.end)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: the file continues after its %zu row%s; save one array per file",
                       lm_reader_name(r), s->rows, s->rows == 1 ? "" : "s");
    limn_status status = LIMN_OK;
    while (labels->source && status == LIMN_OK && labels->begin == labels->end && !labels->eof)
        status = lm_text_fill(r->ctx, labels);
    if (status == LIMN_OK && labels->begin < labels->end)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: the file continues after its %zu label%s; save one array per file",
                       lm_source_name(labels->source), s->rows, s->rows == 1 ? "" : "s");
    return status;
}

limn_status lm_array_rows(limn_reader *r, lm_sink *sink) {
    state *s = state_of(r);
    lm_text *t = &r->text;
    size_t before = sink->n;
    while (sink->n < sink->capacity && s->next < s->rows) {
        const unsigned char *p;
        size_t count = rows_at_hand(s, t, &p);
        if (!count)
            break;
        if (count > sink->capacity - sink->n)
            count = sink->capacity - sink->n;
        limn_status status = put_rows(r, s, p, count, sink);
        if (status != LIMN_OK)
            return status == LIMN_E_DATA && sink->n > before ? LIMN_OK : status;
    }
    if (sink->n > before || sink->n == sink->capacity)
        return LIMN_OK;
    if (s->next == s->rows)
        return check_end(r, s);
    if (t->eof)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: the file ends after %zu of %zu rows; copy or save it again",
                       lm_reader_name(r), s->next, s->rows);
    return LIMN_OK;
}

bool lm_array_complete(limn_reader *r) {
    state *s = state_of(r);
    size_t held = r->text.end - r->text.begin;
    return s->next < s->rows ? held >= s->row_bytes : held > 0;
}

/* ---- sizes ---- */

/* In doubles, because no product of sizes overflows them. */
static double held_bytes(const limn_reader *r, const state *s) {
    double row = (double)s->row_bytes, need = (double)r->schema.features * sizeof(float);
    if (s->array.fortran)
        return need + row * (double)s->rows + row * (double)s->tile_capacity;
    return s->row_bytes > WIDE_ROW_BYTES ? need + row * WIDE_ROW_SHARE : need;
}

double lm_array_bytes_needed(const limn_reader *r) {
    const state *s = state_of(r);
    double row = (double)r->schema.features * sizeof(float);
    if (r->has_label)
        row += r->schema.task == LIMN_REGRESS ? sizeof(double) : sizeof(int32_t);
    if (r->has_weight)
        row += sizeof(double);
    double need = row * (double)s->rows, held = held_bytes(r, s);
    return s->array.fortran ? need + held : need > held ? need : held;
}

static limn_status count_columns(limn_reader *r, state *s) {
    const lm_array *a = &s->array;
    double bytes = (double)a->size;
    bool fits = true, empty = false;
    s->rows = a->shape[0];
    s->width = 1;
    if (!s->rows)
        return lm_fail(r->ctx, LIMN_E_DATA, "%s: no rows", lm_reader_name(r));
    for (size_t k = 1; k < a->dims; k++) {
        bytes *= (double)a->shape[k];
        empty = empty || a->shape[k] == 0;
        fits = lm_mul(s->width, a->shape[k], &s->width) && fits;
    }
    fits = lm_mul(s->width, a->size, &s->row_bytes) && fits;
    if (empty)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: the rows have no features; save an array with columns",
                       lm_reader_name(r));
    return fits ? LIMN_OK : lm_too_large(r->ctx, lm_reader_name(r), "", bytes);
}

/* ---- which column is what ---- */

static lm_table table_of(const limn_reader *r, size_t width) {
    return (lm_table){.file = lm_reader_name(r), .count = width, .array = true};
}

/* The columns that are not features, without match. */
static limn_status choose_columns(limn_reader *r, size_t width, size_t *label, size_t *weight) {
    const limn_read_options *o = &r->options;
    lm_schema *schema = &r->schema;
    lm_table table = table_of(r, width);
    limn_status status = LIMN_OK;
    if (o->categorical)
        return lm_fail(r->ctx, LIMN_E_USAGE,
                       "%s: an array holds numbers only; convert it to CSV to have categorical "
                       "columns",
                       lm_reader_name(r));
    if (o->label)
        status = lm_columns_named(r->ctx, &table, "label", o->label, label);
    if (status == LIMN_OK && o->weights)
        status = lm_columns_named(r->ctx, &table, "weight", o->weights, weight);
    if (status == LIMN_OK)
        status = lm_columns_apart(r->ctx, &table, *label, *weight);
    if (status != LIMN_OK)
        return status;
    schema->columns = width - (*label != LM_NO_COLUMN) - (*weight != LM_NO_COLUMN);
    schema->features = schema->columns;
    schema->label_column = *label;
    schema->weight_column = *weight;
    if (!schema->features)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: no column is left for features; save them next to the label",
                       lm_reader_name(r));
    r->has_weight = *weight != LM_NO_COLUMN;
    return LIMN_OK;
}

static void add_run(state *s, size_t first, size_t end) {
    size_t feature = 0;
    if (s->run_count) {
        const run *last = &s->runs[s->run_count - 1];
        feature = last->feature + last->count;
    }
    if (first < end)
        s->runs[s->run_count++] = (run){first, end - first, feature};
}

static limn_status resolve(limn_reader *r, state *s) {
    size_t label = LM_NO_COLUMN, weight = LM_NO_COLUMN;
    const limn_read_options *o = &r->options;
    if (o->label_file && (o->label || o->no_label))
        return lm_fail(r->ctx, LIMN_E_USAGE,
                       "%s: a label file is given together with %s; leave out one of them",
                       lm_reader_name(r), o->label ? "a label column" : "--no-label");
    lm_table table = table_of(r, s->width);
    limn_status status = r->match ? lm_columns_match(r->ctx, &table, r->match, o, &label, &weight)
                                  : choose_columns(r, s->width, &label, &weight);
    if (status != LIMN_OK)
        return status;
    if (label != LM_NO_COLUMN && lm_label_wanted(o, r->schema.task)) {
        r->has_label = true;
        s->label_column = label;
    }
    if (r->has_weight)
        s->weight_column = weight;
    size_t low = label < weight ? label : weight, high = label < weight ? weight : label;
    add_run(s, 0, low < s->width ? low : s->width);
    if (low < s->width)
        add_run(s, low + 1, high < s->width ? high : s->width);
    if (high < s->width)
        add_run(s, high + 1, s->width);
    return LIMN_OK;
}

/* ---- the label file ---- */

static limn_status label_header(limn_reader *r, state *s) {
    lm_text *t = &s->label_text;
    lm_array_file file = {r->ctx, NULL, t};
    limn_status status = LIMN_OK;
    while (status == LIMN_OK &&
           (lm_npy_guess(t) == LM_GUESS_UNSURE || lm_idx_guess(t) == LM_GUESS_UNSURE))
        status = lm_text_fill(r->ctx, t);
    if (status != LIMN_OK)
        return status;
    if (lm_npy_guess(t) == LM_GUESS_YES)
        return lm_npy_header(&file, &s->labels);
    if (lm_idx_guess(t) == LM_GUESS_YES)
        return lm_idx_header(&file, &s->labels);
    return lm_fail(r->ctx, LIMN_E_DATA,
                   "%s: labels of an array must be an NPY or IDX file; save them with numpy.save",
                   lm_source_name(t->source));
}

static limn_status check_labels(limn_reader *r, const state *s) {
    const lm_array *a = &s->labels;
    const char *name = lm_source_name(s->label_text.source);
    bool one = a->dims > 0;
    for (size_t k = 1; k < a->dims; k++)
        one = one && a->shape[k] == 1;
    if (!one)
        return lm_fail(
            r->ctx, LIMN_E_DATA,
            "%s: this is not a label file: it has %s; save one label per row, or use --no-label",
            name, a->dims ? "several numbers per row" : "no dimension");
    if (a->shape[0] != s->rows)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: %zu label%s, but %s has %zu row%s; name the right label file with "
                       "--label-file, or use --no-label",
                       name, a->shape[0], a->shape[0] == 1 ? "" : "s", lm_reader_name(r), s->rows,
                       s->rows == 1 ? "" : "s");
    double need = (double)a->size * WIDE_ROW_SHARE;
    if (a->size > WIDE_ROW_BYTES && need > (double)r->ctx->memory_limit)
        return lm_too_large(r->ctx, name, "", need);
    return LIMN_OK;
}

static limn_status open_labels(limn_reader *r, state *s, const char *path) {
    lm_source *source;
    limn_status status = lm_source_open(r->ctx, path, &source);
    if (status == LIMN_OK)
        status = lm_text_init(r->ctx, &s->label_text, source);
    if (status == LIMN_OK)
        status = label_header(r, s);
    if (status == LIMN_OK)
        status = check_labels(r, s);
    r->has_label = status == LIMN_OK;
    return status;
}

static bool is_standard_input(const char *name) {
    return strcmp(name, "standard input") == 0 || strcmp(name, "-") == 0;
}

static limn_status find_labels(limn_reader *r, state *s) {
    const char *name = lm_reader_name(r), *given = r->options.label_file;
    struct stat info;
    if (r->has_label || r->options.label || r->options.no_label ||
        !lm_label_wanted(&r->options, r->schema.task))
        return LIMN_OK;
    if (given && is_standard_input(given) && is_standard_input(name))
        return lm_fail(r->ctx, LIMN_E_USAGE,
                       "the data and its labels cannot both come from standard input; give one of "
                       "them as a file");
    if (given)
        return open_labels(r, s, given);
    if (is_standard_input(name))
        return LIMN_OK;
    char *companion = lm_companion_name(&r->mem, name);
    if (!companion)
        return lm_fail_memory(r->ctx);
    limn_status status = LIMN_OK;
    if (stat(companion, &info) == 0 && S_ISREG(info.st_mode))
        status = open_labels(r, s, companion);
    lm_free(&r->mem, companion);
    return status;
}

/* ---- opening ---- */

limn_status lm_array_await(const lm_array_file *file, size_t bytes) {
    lm_text *t = file->text;
    while (t->end - t->begin < bytes) {
        if (t->eof)
            return lm_fail(file->ctx, LIMN_E_DATA,
                           "%s: the file ends inside its header; copy or save it again",
                           lm_source_name(t->source));
        limn_status status = fill_text(file);
        if (status != LIMN_OK)
            return status;
    }
    return LIMN_OK;
}

/* Allocates as the bytes arrive, not as much as the header claims. */
static limn_status read_payload(limn_reader *r, state *s) {
    lm_text *t = &r->text;
    size_t total;
    if (!lm_mul(s->rows, s->row_bytes, &total))
        return lm_fail_memory(r->ctx);
    while (s->payload.size < total) {
        size_t left = total - s->payload.size, held = t->end - t->begin;
        size_t count = held < left ? held : left;
        if (!lm_buffer_append(&s->payload, t->data + t->begin, count))
            return lm_fail_memory(r->ctx);
        t->begin += count;
        if (count == left)
            break;
        if (t->eof)
            return lm_fail(r->ctx, LIMN_E_DATA,
                           "%s: the file ends after %zu of the %zu values of its %zu rows; copy "
                           "or save it again",
                           lm_reader_name(r), s->payload.size / s->array.size,
                           total / s->array.size, s->rows);
        limn_status status = lm_reader_fill(r);
        if (status == LIMN_OK)
            status = lm_progress(r->ctx, "reading", 0, 0, lm_source_fraction(t->source));
        if (status != LIMN_OK)
            return status;
    }
    s->tile = lm_alloc(&r->mem, s->tile_capacity, s->row_bytes);
    return s->tile ? LIMN_OK : lm_fail_memory(r->ctx);
}

static void size_tile(state *s) {
    size_t rows = TILE_BYTES / s->row_bytes;
    rows = rows < TILE_ROWS ? TILE_ROWS : rows;
    s->tile_capacity = rows < s->rows ? rows : s->rows;
}

limn_status lm_array_open(limn_reader *r, const lm_array *array) {
    state *s = lm_alloc_zero(&r->mem, 1, sizeof *s);
    if (!s)
        return lm_fail_memory(r->ctx);
    r->state = s;
    s->array = *array;
    s->label_column = s->weight_column = LM_NO_COLUMN;
    s->payload.mem = s->label_scratch.mem = &r->mem;
    s->decode = lm_element_decoder(array);
    limn_status status = count_columns(r, s);
    if (status == LIMN_OK)
        status = resolve(r, s);
    if (status == LIMN_OK)
        status = find_labels(r, s);
    if (status != LIMN_OK)
        return status;
    if (array->fortran)
        size_tile(s);
    if (held_bytes(r, s) > (double)r->ctx->memory_limit)
        return lm_too_large(r->ctx, lm_reader_name(r), "", held_bytes(r, s));
    return array->fortran ? read_payload(r, s) : LIMN_OK;
}

void lm_array_close(limn_reader *r) {
    state *s = state_of(r);
    if (!s)
        return;
    lm_buffer_free(&s->payload);
    lm_buffer_free(&s->label_scratch);
    lm_free(&r->mem, s->tile);
    lm_text_free(&r->mem, &s->label_text);
    lm_free(&r->mem, s);
    r->state = NULL;
}
