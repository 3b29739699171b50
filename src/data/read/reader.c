/* reader.c: reads rows from a file, in pieces or as a whole; knows the formats only through their
 * table.
 *
 * Memory of a whole read grows by half at a time (a large realloc moves pages, not bytes) up to the
 * context's limit, which is checked first. */
#include "base/sized.h"
#include "data/read/reader_impl.h"

#include "data/number.h"
#include "data/read/array.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCK_BYTES = 1 << 20,    /* of features that limn_reader_next returns at a time */
    BLOCK_ROWS = 1 << 16,     /* at most */
    FIRST_BYTES = 1 << 16,    /* of features in a whole read */
    DETECT_BYTES = 1 << 20,   /* looked at before giving up on detecting the format */
    PROGRESS_ROWS = 1 << 15,  /* progress is reported after this many rows ... */
    PROGRESS_BYTES = 16 << 20 /* ... or bytes */
};

/* Tried in this order; the first that says yes is taken. CSV never says no. */
static const lm_format *const formats[] = {&lm_npy_format, &lm_idx_format, &lm_arff_format,
                                           &lm_libsvm_format, &lm_csv_format};

void limn_read_options_init(limn_read_options *options) {
    LM_SIZED_INIT(options);
}

/* ---- messages ---- */

limn_status lm_reader_fail(limn_reader *r, const lm_place *place, const char *format, ...) {
    char rest[512], column[96] = "", shown[48];
    va_list args;
    va_start(args, format);
    vsnprintf(rest, sizeof rest, format, args);
    va_end(args);
    if (place->column && place->name)
        snprintf(column, sizeof column, ", column %zu (%s)", place->column,
                 lm_quote(place->name, strlen(place->name), shown));
    else if (place->column)
        snprintf(column, sizeof column, ", column %zu", place->column);
    return lm_fail(r->ctx, LIMN_E_DATA, "%s: %s %llu%s: %s", lm_reader_name(r),
                   r->format && r->format->binary ? "row" : "line", (unsigned long long)place->line,
                   column, rest);
}

static const char *size_text(double bytes, char *out, size_t size) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < LM_COUNT(units)) {
        bytes /= 1000.0;
        unit++;
    }
    bytes = bytes < 1e15 ? bytes : 1e15;
    /* By hand, because the decimal separator of printf depends on the locale. */
    bool tenths = unit && bytes < 99.95;
    unsigned long long whole = (unsigned long long)round(tenths ? bytes * 10 : bytes);
    if (tenths)
        snprintf(out, size, "%llu.%llu %s", whole / 10, whole % 10, units[unit]);
    else
        snprintf(out, size, "%llu %s", whole, units[unit]);
    return out;
}

limn_status lm_too_large(limn_context *ctx, const char *name, const char *about, double bytes) {
    char need[48], limit[48];
    return lm_fail(ctx, LIMN_E_DATA,
                   "%s: the data would need %s%s%s of memory, but the limit is %s; use fewer rows "
                   "or features",
                   name, about, *about ? " " : "", size_text(bytes, need, sizeof need),
                   size_text((double)ctx->memory_limit, limit, sizeof limit));
}

static limn_status too_large(limn_reader *r, const char *about, double bytes) {
    return lm_too_large(r->ctx, lm_reader_name(r), about, bytes);
}

static limn_status no_rows(limn_reader *r) {
    return lm_fail(r->ctx, LIMN_E_DATA, "%s: no rows", lm_reader_name(r));
}

static limn_status missing_cells(limn_reader *r) {
    lm_place *first = &r->first_missing;
    char column[96] = "", shown[48];
    if (first->name)
        snprintf(column, sizeof column, " (%s)", lm_quote(first->name, strlen(first->name), shown));
    bool one = r->missing == 1;
    return lm_fail(r->ctx, LIMN_E_DATA,
                   "%s: %llu missing cell%s, %sin %s %llu, column %zu%s; fill %s, remove the "
                   "row%s or %s with --missing median",
                   lm_reader_name(r), (unsigned long long)r->missing, one ? "" : "s",
                   one ? "" : "the first ", r->format->binary ? "row" : "line",
                   (unsigned long long)first->line, first->column, column, one ? "it" : "them",
                   one ? "" : "s", r->match ? "train" : "impute");
}

/* ---- text ---- */

static limn_status refuse_zero_bytes(limn_reader *r, size_t from) {
    const char *zero = memchr(r->text.data + from, 0, r->text.end - from);
    if (!zero)
        return LIMN_OK;
    uint64_t offset = r->bytes - (r->text.end - (size_t)(zero - r->text.data));
    if (r->text.end >= 4 && memcmp(r->text.data, "PK\3\4", 4) == 0)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: this is a zip archive (such as numpy's .npz or a spreadsheet); save "
                       "the table as .npy or CSV",
                       lm_reader_name(r));
    return lm_fail(r->ctx, LIMN_E_DATA,
                   "%s: byte %llu is zero, so this is not text; convert it to CSV or LIBSVM in "
                   "UTF-8",
                   lm_reader_name(r), (unsigned long long)offset + 1);
}

limn_status lm_reader_fill(limn_reader *r) {
    size_t held = r->text.end - r->text.begin;
    limn_status status = lm_text_fill(r->ctx, &r->text);
    size_t got = r->text.end - r->text.begin - held;
    r->bytes += got;
    bool text = r->is_text || (r->format && !r->format->binary);
    return status == LIMN_OK && text ? refuse_zero_bytes(r, r->text.end - got) : status;
}

/* A byte order mark is not part of the first cell. More is read only while it could be one. */
static limn_status skip_mark(limn_reader *r) {
    static const char mark[] = "\xef\xbb\xbf";
    limn_status status = LIMN_OK;
    lm_text *t = &r->text;
    while (status == LIMN_OK && !t->eof &&
           (t->end == 0 || (t->end < 3 && memcmp(t->data, mark, t->end) == 0)))
        status = lm_reader_fill(r);
    if (status == LIMN_OK && t->end >= 3 && memcmp(t->data, mark, 3) == 0)
        t->begin = 3;
    return status;
}

static bool holds_line(const lm_text *t) {
    return t->eof || memchr(t->data + t->begin, '\n', t->end - t->begin);
}

static bool may_be(const limn_reader *r, const lm_format *format) {
    return r->options.format == LIMN_FORMAT_AUTO || r->options.format == format->id;
}

/* Binary formats are detected from their first bytes. More is read only while those fit, so that a
 * line of text is answered at once. */
static limn_status detect_binary(limn_reader *r) {
    lm_text *t = &r->text;
    limn_status status = LIMN_OK;
    bool unsure = true;
    while (status == LIMN_OK && unsure && !r->format) {
        unsure = t->end == 0 && !t->eof;
        for (size_t i = 0; i < LM_COUNT(formats) && !r->format && t->end; i++) {
            if (!formats[i]->binary || !may_be(r, formats[i]))
                continue;
            lm_guess guess = formats[i]->detect(r);
            if (guess == LM_GUESS_YES)
                r->format = formats[i];
            unsure = unsure || (guess == LM_GUESS_UNSURE && !t->eof);
        }
        if (unsure && !r->format)
            status = lm_reader_fill(r);
    }
    if (status != LIMN_OK || r->format)
        return status;
    for (size_t i = 0; i < LM_COUNT(formats); i++)
        if (formats[i]->binary && r->options.format == formats[i]->id)
            return lm_fail(r->ctx, LIMN_E_DATA,
                           "%s: the file does not begin like the format %s; leave out --format to "
                           "detect the format from the content",
                           lm_reader_name(r), limn_format_name(formats[i]->id));
    r->is_text = true;
    return refuse_zero_bytes(r, 0);
}

/* Reads until the first line has arrived and some format is sure of it. */
static limn_status detect_text(limn_reader *r) {
    lm_text *t = &r->text;
    for (;;) {
        limn_status status = LIMN_OK;
        while (status == LIMN_OK && !holds_line(t))
            status = lm_reader_fill(r);
        if (status != LIMN_OK)
            return status;
        bool last = t->eof || t->end - t->begin >= DETECT_BYTES, unsure = false;
        for (size_t i = 0; i < LM_COUNT(formats) && !r->format && !unsure; i++) {
            if (formats[i]->binary)
                continue;
            bool wanted = r->options.format == formats[i]->id;
            lm_guess guess = wanted                                  ? LM_GUESS_YES
                             : r->options.format != LIMN_FORMAT_AUTO ? LM_GUESS_NO
                                                                     : formats[i]->detect(r);
            if (guess == LM_GUESS_YES)
                r->format = formats[i];
            unsure = guess == LM_GUESS_UNSURE && !last;
        }
        if (r->format)
            return LIMN_OK;
        if (last)
            return lm_fail(r->ctx, LIMN_E_USAGE, "there is no file format number %d",
                           (int)r->options.format);
        status = lm_reader_fill(r);
        if (status != LIMN_OK)
            return status;
    }
}

/* ---- labels ---- */

static limn_status class_of(limn_reader *r, const char *text, size_t length, int32_t *id) {
    if (length > sizeof(uint64_t))
        return lm_labels_add(r->ctx, &r->schema.labels, text, length, id);
    uint64_t key = 0;
    memcpy(&key, text, length);
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 58);
    if (r->cache[at].key != key || r->cache[at].id < 0) {
        limn_status status = lm_labels_add(r->ctx, &r->schema.labels, text, length, id);
        if (status != LIMN_OK)
            return status;
        r->cache[at].key = key;
        r->cache[at].id = *id;
    }
    *id = r->cache[at].id;
    return LIMN_OK;
}

limn_status lm_reader_label(limn_reader *r, const lm_place *place, const char *text, size_t length,
                            lm_sink *sink) {
    char shown[48];
    if (lm_cell_missing(text, length))
        return lm_reader_fail(r, place, "the label is missing; fill it or remove the row");
    if (r->schema.task != LIMN_REGRESS)
        return class_of(r, text, length, &sink->label[sink->n]);
    if (lm_scan_double(text, &sink->target[sink->n]) == text + length)
        return LIMN_OK;
    return lm_reader_fail(r, place,
                          "'%s' is not a finite number, as a regression target must be; correct "
                          "it or choose another label",
                          lm_quote(text, length, shown));
}

/* ---- opening ---- */

static limn_status check_options(limn_context *ctx, const limn_read_options *o) {
    if (o->label && o->no_label)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "a label column is named, but the label is also switched off; choose one");
    if (o->label && !*o->label)
        return lm_fail(ctx, LIMN_E_USAGE, "the name of the label is empty");
    if (!limn_task_name(o->task))
        return lm_fail(ctx, LIMN_E_USAGE, "there is no task number %d", (int)o->task);
    if (o->delimiter && (strchr("\"\r\n.+-eE0123456789", o->delimiter)))
        return lm_fail(ctx, LIMN_E_USAGE, "'%c' cannot separate cells; use , ; or a tab",
                       o->delimiter == '\r' || o->delimiter == '\n' ? ' ' : o->delimiter);
    return LIMN_OK;
}

/* Refuses options that the format cannot use. */
static limn_status check_for_format(limn_reader *r) {
    if (r->options.label_file && !r->format->binary)
        return lm_fail(r->ctx, LIMN_E_USAGE,
                       "%s: only NPY and IDX data have a label file, and this is %s; name the "
                       "label column instead (--label)",
                       lm_reader_name(r), limn_format_name(r->format->id));
    return LIMN_OK;
}

static limn_status prepare(limn_reader *r) {
    limn_status status = check_options(r->ctx, &r->options);
    if (status == LIMN_OK && r->match)
        status = lm_schema_copy(r->ctx, r->match, &r->schema);
    if (status == LIMN_OK)
        status = detect_binary(r);
    if (status == LIMN_OK && !r->format)
        status = skip_mark(r);
    if (status == LIMN_OK && !r->format)
        status = detect_text(r);
    if (status == LIMN_OK)
        status = check_for_format(r);
    return status == LIMN_OK ? r->format->open(r) : status;
}

static limn_status open_source(limn_context *ctx, lm_source *source,
                               const limn_read_options *options, const lm_schema *match, bool whole,
                               limn_reader **out) {
    *out = NULL;
    limn_reader *r = lm_alloc_zero(&ctx->mem, 1, sizeof *r);
    if (!r) {
        lm_source_free(source);
        return lm_fail_memory(ctx);
    }
    r->ctx = ctx;
    r->mem = ctx->mem;
    r->match = match;
    r->whole = whole;
    limn_read_options_init(&r->options);
    if (options)
        r->options = *options;
    lm_schema_init(&r->schema, &r->mem);
    r->schema.task = r->options.task;
    for (size_t i = 0; i < LM_LABEL_CACHE; i++)
        r->cache[i].id = -1;
    limn_status status = lm_text_init(ctx, &r->text, source);
    if (status == LIMN_OK)
        status = prepare(r);
    r->options.label = r->options.label_file = r->options.weights = r->options.categorical = NULL;
    if (status != LIMN_OK) {
        limn_reader_free(r);
        return status;
    }
    *out = r;
    return LIMN_OK;
}

limn_status lm_reader_open_source(limn_context *ctx, lm_source *source,
                                  const limn_read_options *options, const lm_schema *match,
                                  limn_reader **out) {
    return open_source(ctx, source, options, match, false, out);
}

limn_status lm_reader_open(limn_context *ctx, const char *path, const limn_read_options *options,
                           const lm_schema *match, limn_reader **out) {
    lm_source *source;
    *out = NULL;
    limn_status status = lm_source_open(ctx, path, &source);
    return status == LIMN_OK ? open_source(ctx, source, options, match, false, out) : status;
}

const lm_schema *lm_reader_schema(const limn_reader *reader) {
    return &reader->schema;
}

size_t limn_reader_class_count(const limn_reader *reader) {
    return reader->schema.labels.count;
}

const char *limn_reader_class_name(const limn_reader *reader, size_t index) {
    const lm_labels *labels = &reader->schema.labels;
    return index < labels->count ? labels->names[index] : NULL;
}

double limn_reader_fraction(const limn_reader *reader) {
    return lm_source_fraction(reader->text.source);
}

static void sink_free(const limn_allocator *mem, lm_sink *sink) {
    lm_free(mem, sink->x);
    lm_free(mem, sink->label);
    lm_free(mem, sink->target);
    lm_free(mem, sink->weight);
    *sink = (lm_sink){0};
}

void limn_reader_free(limn_reader *reader) {
    if (!reader)
        return;
    limn_allocator mem = reader->mem;
    if (reader->format)
        reader->format->close(reader);
    lm_text_free(&mem, &reader->text);
    lm_schema_free(&reader->schema);
    lm_free(&mem, reader->kind);
    lm_free(&mem, reader->kind_line);
    sink_free(&mem, &reader->block);
    lm_free(&mem, reader);
}

/* ---- rows ---- */

static limn_status tell_progress(limn_reader *r, size_t rows) {
    r->rows += rows;
    uint64_t taken = r->bytes - (r->text.end - r->text.begin);
    if (r->rows - r->rows_told < PROGRESS_ROWS && taken - r->bytes_told < PROGRESS_BYTES)
        return LIMN_OK;
    r->rows_told = r->rows;
    r->bytes_told = taken;
    return lm_progress(r->ctx, "reading", r->rows, 0, lm_source_fraction(r->text.source));
}

/* Appends at least one row unless the file has ended. */
static limn_status read_rows(limn_reader *r, lm_sink *sink) {
    size_t before = sink->n;
    for (;;) {
        limn_status status = r->format->rows(r, sink);
        if (status != LIMN_OK)
            return status;
        if (sink->n > before)
            return tell_progress(r, sink->n - before);
        if (r->text.eof)
            return r->rows ? LIMN_OK : no_rows(r);
        do
            status = lm_reader_fill(r);
        while (status == LIMN_OK && !r->text.eof && !r->format->complete(r));
        if (status != LIMN_OK)
            return status;
    }
}

/* Gives the sink room for capacity rows and keeps its content; on failure it can still be freed. */
static limn_status sink_resize(limn_reader *r, lm_sink *sink, size_t capacity) {
    size_t count;
    if (!lm_mul(capacity, sink->stride, &count))
        return lm_fail_memory(r->ctx);
    float *x = lm_resize(&r->mem, sink->x, count, sizeof *x);
    if (!x)
        return lm_fail_memory(r->ctx);
    sink->x = x;
    if (r->has_label && r->schema.task != LIMN_REGRESS) {
        int32_t *label = lm_resize(&r->mem, sink->label, capacity, sizeof *label);
        if (!label)
            return lm_fail_memory(r->ctx);
        sink->label = label;
    } else if (r->has_label) {
        double *target = lm_resize(&r->mem, sink->target, capacity, sizeof *target);
        if (!target)
            return lm_fail_memory(r->ctx);
        sink->target = target;
    }
    if (r->has_weight) {
        double *weight = lm_resize(&r->mem, sink->weight, capacity, sizeof *weight);
        if (!weight)
            return lm_fail_memory(r->ctx);
        sink->weight = weight;
    }
    /* Formats without sparse rows do not write the float after the features. */
    for (size_t i = sink->capacity; i < capacity && r->schema.beyond; i++)
        x[i * sink->stride + r->schema.features] = 0;
    sink->capacity = capacity;
    return LIMN_OK;
}

void limn_rows_init(limn_rows *rows) {
    LM_SIZED_INIT(rows);
}

limn_status limn_reader_next(limn_reader *reader, size_t max_rows, limn_rows *rows) {
    lm_sink *block = &reader->block;
    limn_rows found = {.width = lm_schema_width(&reader->schema)};
    limn_status status = lm_result_check(reader->ctx, "rows", rows);
    if (status != LIMN_OK)
        return status;
    lm_sized_give(&found, rows, sizeof found);
    if (!max_rows)
        return lm_fail(reader->ctx, LIMN_E_USAGE, "a piece of 0 rows cannot be read");
    block->stride = lm_schema_width(&reader->schema);
    size_t most = BLOCK_BYTES / sizeof(float) / block->stride;
    most = most < 1 ? 1 : most > BLOCK_ROWS ? BLOCK_ROWS : most;
    most = most < max_rows ? most : max_rows;
    if (block->capacity < most)
        status = sink_resize(reader, block, most);
    size_t room = block->capacity;
    if (status == LIMN_OK) {
        block->n = 0;
        block->capacity = most; /* this piece may be smaller than the last one */
        status = read_rows(reader, block);
        block->capacity = room;
    }
    if (status == LIMN_OK) {
        found.n = block->n;
        found.x = block->x;
        found.classes = block->label;
        found.targets = block->target;
        found.weights = block->weight;
        lm_sized_give(&found, rows, sizeof found);
    }
    return status;
}

/* ---- whole files ---- */

static double row_bytes(const limn_reader *r, size_t features) {
    size_t label = !r->has_label                    ? 0
                   : r->schema.task != LIMN_REGRESS ? sizeof(int32_t)
                                                    : sizeof(double);
    size_t weight = r->has_weight ? sizeof(double) : 0;
    return (double)features * sizeof(float) + (double)(label + weight);
}

/* Estimates what reading will need, from the part that has been read; -1 when unknown. */
static double projected_bytes(const limn_reader *r, double bytes) {
    double fraction = lm_source_fraction(r->text.source);
    return fraction > 0.0 ? bytes / fraction : -1.0;
}

static limn_status check_limit(limn_reader *r, size_t rows) {
    double need = (double)rows * row_bytes(r, r->schema.features);
    if (need <= (double)r->ctx->memory_limit)
        return LIMN_OK;
    double all = projected_bytes(r, need);
    return all > need ? too_large(r, "about", all) : too_large(r, "more than", need);
}

/* Moves rows to a smaller stride, first row first. */
static void narrow_rows(lm_sink *sink, size_t stride) {
    for (size_t i = 1; i < sink->n; i++)
        memmove(sink->x + i * stride, sink->x + i * sink->stride, stride * sizeof *sink->x);
    sink->stride = stride;
}

/* Makes room for at least one more row: for one more than the limit allows, since only reading on
 * shows whether there is one. */
static limn_status sink_reserve(limn_reader *r, lm_sink *sink) {
    limn_status status = check_limit(r, sink->n ? sink->n : 1);
    if (status != LIMN_OK || sink->n < sink->capacity)
        return status;
    double next = ((double)sink->n + 1) * row_bytes(r, sink->stride);
    size_t width = lm_schema_width(&r->schema);
    if (next > (double)r->ctx->memory_limit && width && width < sink->stride)
        narrow_rows(sink, width); /* no room to spare for more features */
    double most = (double)r->ctx->memory_limit / row_bytes(r, sink->stride) + 1;
    size_t first = FIRST_BYTES / sizeof(float) / sink->stride + 1;
    size_t capacity = sink->capacity ? sink->capacity + sink->capacity / 2 + 1 : first;
    if ((double)capacity > most)
        capacity = (size_t)most;
    return sink_resize(r, sink, capacity > sink->n ? capacity : sink->n + 1);
}

/* Moves rows 0..n (the last one is being written) to a larger stride, last row first. */
static void spread_rows(lm_sink *sink, size_t stride) {
    size_t old = sink->stride;
    for (size_t i = sink->n + 1; i-- > 0;) {
        float *row = sink->x + i * stride;
        memmove(row, sink->x + i * old, old * sizeof *row);
        memset(row + old, 0, (stride - old) * sizeof *row);
    }
    sink->stride = stride;
}

limn_status lm_reader_widen(limn_reader *r, lm_sink *sink, size_t features) {
    double rows = (double)sink->n + 1, limit = (double)r->ctx->memory_limit;
    if (rows * row_bytes(r, features) > limit) {
        double all = projected_bytes(r, rows * row_bytes(r, features));
        return all > limit ? too_large(r, "about", all)
                           : too_large(r, "more than", rows * row_bytes(r, features));
    }
    size_t stride = sink->stride + sink->stride / 2;
    if (stride < features || rows * row_bytes(r, stride) > limit)
        stride = features;
    size_t capacity = sink->capacity * sink->stride / stride;
    if (capacity <= sink->n)
        capacity = sink->n + 1;
    size_t count;
    float *x =
        lm_mul(capacity, stride, &count) ? lm_resize(&r->mem, sink->x, count, sizeof *x) : NULL;
    if (!x)
        return lm_fail_memory(r->ctx);
    sink->x = x;
    sink->capacity = capacity;
    spread_rows(sink, stride);
    return LIMN_OK;
}

/* Refuses a plain file early when its size and its first block show that it cannot fit. The
 * estimate may be a little high, so the last tenth is left to the check while reading. */
static limn_status check_size(limn_reader *r) {
    const lm_text *t = &r->text;
    if (r->format->binary) {
        double known = lm_array_bytes_needed(r);
        return known > (double)r->ctx->memory_limit ? too_large(r, "about", known) : LIMN_OK;
    }
    uint64_t size = lm_source_text_size(t->source);
    if (!size || (r->format != &lm_csv_format && r->format != &lm_arff_format))
        return LIMN_OK;
    size_t lines = 0;
    const char *p = t->data + t->begin, *end = t->data + t->end, *last = p;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        lines++;
        last = ++p;
    }
    if (!lines)
        return LIMN_OK;
    double left = (double)size - (double)(r->bytes - (t->end - t->begin));
    double rows = left * (double)lines / (double)(last - (t->data + t->begin));
    double need = rows * row_bytes(r, r->schema.features);
    return need * 0.9 > (double)r->ctx->memory_limit ? too_large(r, "about", need) : LIMN_OK;
}

static limn_status sort_labels(limn_reader *r, lm_sink *sink) {
    if (r->match || !sink->label)
        return LIMN_OK;
    int32_t *remap = lm_alloc(&r->mem, r->schema.labels.count, sizeof *remap);
    if (!remap)
        return lm_fail_memory(r->ctx);
    limn_status status = lm_labels_sort(r->ctx, &r->schema.labels, remap);
    if (status == LIMN_OK)
        for (size_t i = 0; i < sink->n; i++)
            sink->label[i] = remap[sink->label[i]];
    lm_free(&r->mem, remap);
    return status;
}

/* What is known only when the last row has been read. */
static limn_status finish(limn_reader *r, lm_sink *sink) {
    limn_status status = LIMN_OK;
    if (r->missing && (r->match || r->options.missing == LIMN_MISSING_ERROR))
        return missing_cells(r);
    if (!r->schema.features)
        return lm_fail(r->ctx, LIMN_E_DATA, "%s: no row has a feature", lm_reader_name(r));
    if (!r->match)
        status = lm_reader_settle_columns(r, sink);
    if (status == LIMN_OK)
        status = check_limit(r, sink->n);
    return status;
}

static limn_status read_all(limn_reader *r, lm_sink *sink) {
    size_t width = lm_schema_width(&r->schema);
    sink->stride = width ? width : 1;
    limn_status status = check_size(r);
    for (size_t before = SIZE_MAX; status == LIMN_OK && sink->n != before;) {
        status = sink_reserve(r, sink);
        before = sink->n;
        if (status == LIMN_OK)
            status = read_rows(r, sink);
    }
    if (status == LIMN_OK && lm_schema_width(&r->schema) < sink->stride)
        narrow_rows(sink, lm_schema_width(&r->schema));
    if (status == LIMN_OK)
        status = finish(r, sink);
    if (status == LIMN_OK)
        status = sink_resize(r, sink, sink->n); /* returns unused memory */
    if (status == LIMN_OK && !r->match)
        status = lm_reader_spread(r, sink);
    if (status == LIMN_OK)
        status = sort_labels(r, sink);
    if (status == LIMN_OK)
        status = lm_progress(r->ctx, "reading", r->rows, r->rows, 1.0);
    return status;
}

/* Moves what was read into the set. */
static void move_into(limn_data *data, limn_reader *r, lm_sink *sink) {
    lm_schema_move(&r->schema, &data->schema, &data->mem);
    data->format = r->format->id;
    data->n = sink->n;
    data->x = sink->x;
    data->label = sink->label;
    data->target = sink->target;
    data->weight = sink->weight;
    *sink = (lm_sink){0};
}

limn_status lm_data_read_source(limn_context *ctx, lm_source *source,
                                const limn_read_options *options, const lm_schema *match,
                                limn_data **out) {
    limn_reader *r = NULL;
    limn_data *data = NULL;
    lm_sink sink = {0};
    *out = NULL;
    limn_status status = open_source(ctx, source, options, match, true, &r);
    if (status == LIMN_OK)
        status = read_all(r, &sink);
    if (status == LIMN_OK)
        status = lm_data_new(ctx, r->schema.task, &data);
    if (status == LIMN_OK) {
        move_into(data, r, &sink);
        *out = data;
    }
    sink_free(&ctx->mem, &sink);
    limn_reader_free(r);
    return status;
}

static limn_status survey_rows(limn_reader *r, lm_sink *sink, lm_survey *out) {
    limn_status status = LIMN_OK;
    sink->stride = r->schema.features ? r->schema.features : 1;
    out->bytes = true;
    while (status == LIMN_OK) {
        if (sink->capacity == 0)
            status = sink_reserve(r, sink);
        if (status == LIMN_OK)
            status = read_rows(r, sink);
        if (status != LIMN_OK || sink->n == 0)
            break;
        for (size_t i = 0; i < sink->n && out->bytes; i++)
            out->bytes = lm_only_bytes(sink->x + i * sink->stride, r->schema.features);
        sink->n = 0;
    }
    if (status == LIMN_OK)
        status = finish(r, sink);
    return status == LIMN_OK ? sort_labels(r, sink) : status;
}

limn_status lm_data_survey(limn_context *ctx, const char *path, const limn_read_options *options,
                           lm_survey *out) {
    limn_reader *r = NULL;
    lm_sink sink = {0};
    lm_source *source;
    *out = (lm_survey){.rows = 0};
    lm_schema_init(&out->schema, &ctx->mem);
    limn_status status = lm_source_open(ctx, path, &source);
    if (status == LIMN_OK)
        status = open_source(ctx, source, options, NULL, true, &r);
    if (status == LIMN_OK)
        status = survey_rows(r, &sink, out);
    if (status == LIMN_OK) {
        lm_schema_move(&r->schema, &out->schema, &ctx->mem);
        out->rows = r->rows;
        out->labelled = r->has_label;
        out->weighted = r->has_weight;
        out->format = r->format->id;
        out->delimiter = r->options.delimiter;
    }
    sink_free(&ctx->mem, &sink);
    limn_reader_free(r);
    return status;
}

limn_status lm_data_read(limn_context *ctx, const char *path, const limn_read_options *options,
                         const lm_schema *match, limn_data **out) {
    lm_source *source;
    *out = NULL;
    limn_status status = lm_source_open(ctx, path, &source);
    return status == LIMN_OK ? lm_data_read_source(ctx, source, options, match, out) : status;
}
