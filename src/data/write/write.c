/* write.c: opening, filling and finishing a data file of any format; and the names of files and
 * formats. The formats themselves are in text.c and binary.c.
 *
 * A table with separate labels has two files. Both are written completely, so that lack of space
 * can no longer matter, before either gets its final name; the label file is renamed first, so that
 * rows never exist without their labels. */
#include "data/write/write_impl.h"

#include "base/sized.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const lm_table_kind *const kinds[] = {&lm_csv_kind, &lm_libsvm_kind, &lm_npy_kind,
                                             &lm_idx_kind, &lm_arff_kind};

/* ---- names ---- */

const char *limn_format_name(limn_format format) {
    static const char *const names[] = {"auto", "csv", "libsvm", "npy", "idx", "arff"};
    return (size_t)format < LM_COUNT(names) ? names[format] : NULL;
}

void limn_write_options_init(limn_write_options *options) {
    LM_SIZED_INIT(options);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_packed(const char *path) {
    size_t length = strlen(path);
    return length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
}

/* The extension, not counting a final ".gz": its dot and its length, 0 when there is none. */
static const char *extension(const char *path, size_t *length) {
    const char *name = last_part(path), *end = name + strlen(name) - (is_packed(name) ? 3 : 0);
    for (const char *p = end; p > name + 1;)
        if (*--p == '.') {
            *length = (size_t)(end - p);
            return p;
        }
    *length = 0;
    return end;
}

static bool is_extension(const char *path, const char *wanted) {
    size_t length;
    const char *found = extension(path, &length);
    return length == strlen(wanted) && strncasecmp(found, wanted, length) == 0;
}

limn_format lm_format_of_name(const char *path) {
    static const struct {
        const char *extension;
        limn_format format;
    } known[] = {
        {".csv", LIMN_FORMAT_CSV},        {".tsv", LIMN_FORMAT_CSV},
        {".tab", LIMN_FORMAT_CSV},        {".libsvm", LIMN_FORMAT_LIBSVM},
        {".svm", LIMN_FORMAT_LIBSVM},     {".svmlight", LIMN_FORMAT_LIBSVM},
        {".npy", LIMN_FORMAT_NPY},        {".idx", LIMN_FORMAT_IDX},
        {".idx1-ubyte", LIMN_FORMAT_IDX}, {".idx2-ubyte", LIMN_FORMAT_IDX},
        {".idx3-ubyte", LIMN_FORMAT_IDX}, {".arff", LIMN_FORMAT_ARFF},
    };
    for (size_t i = 0; i < LM_COUNT(known); i++)
        if (is_extension(path, known[i].extension))
            return known[i].format;
    const char *name = last_part(path); /* train-images-idx3-ubyte */
    for (const char *p = name; (p = strstr(p, "-idx")); p++)
        if (p[4] >= '1' && p[4] <= '9' && p[5] == '-')
            return LIMN_FORMAT_IDX;
    return LIMN_FORMAT_AUTO;
}

char *lm_companion_name(const limn_allocator *mem, const char *path) {
    static const char added[] = "-labels";
    size_t ignored;
    char *name = lm_alloc(mem, strlen(path) + sizeof added, 1);
    if (!name)
        return NULL;
    strcpy(name, path);
    char *images = strstr(name + (last_part(path) - path), "images");
    if (images) {
        memcpy(images, "labels", 6);
    } else {
        char *at = name + (extension(path, &ignored) - path);
        memmove(at + strlen(added), at, strlen(at) + 1);
        memcpy(at, added, strlen(added));
    }
    char *idx3 = strstr(name + (last_part(path) - path), "idx3");
    if (idx3)
        idx3[3] = '1';
    return name;
}

/* ---- streams ---- */

static void *z_allocate(void *user, unsigned items, unsigned size) {
    return lm_alloc(user, items, size);
}

static void z_release(void *user, void *block) {
    lm_free(user, block);
}

static limn_status open_gzip(lm_stream *s) {
    enum { GZIP_WINDOW = 15 + 16, MEMORY = 8, LEVEL = 6 };
    s->packed = lm_alloc(&s->ctx->mem, LM_STREAM_BYTES, 1);
    if (!s->packed)
        return lm_fail_memory(s->ctx);
    s->z.zalloc = z_allocate;
    s->z.zfree = z_release;
    s->z.opaque = &s->ctx->mem;
    if (deflateInit2(&s->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return lm_fail_memory(s->ctx);
    s->gzip = true;
    return LIMN_OK;
}

limn_status lm_stream_open(limn_context *ctx, const char *path, lm_stream *stream) {
    stream->ctx = ctx;
    limn_status status = limn_output_open(ctx, path, &stream->output);
    if (status != LIMN_OK)
        return status;
    stream->bytes = lm_alloc(&ctx->mem, LM_STREAM_BYTES, 1);
    if (!stream->bytes)
        return lm_fail_memory(ctx);
    return is_packed(path) ? open_gzip(stream) : LIMN_OK;
}

static limn_status deflate_all(lm_stream *s, const void *bytes, size_t size, int flush) {
    limn_status status = LIMN_OK;
    int result = Z_OK;
    s->z.next_in = (unsigned char *)(uintptr_t)bytes; /* zlib does not write to it */
    s->z.avail_in = (unsigned)size;
    do {
        s->z.next_out = s->packed;
        s->z.avail_out = LM_STREAM_BYTES;
        result = deflate(&s->z, flush);
        status = limn_output_write(s->output, s->packed, LM_STREAM_BYTES - s->z.avail_out);
    } while (status == LIMN_OK &&
             (flush == Z_FINISH ? result == Z_OK || result == Z_BUF_ERROR : s->z.avail_out == 0));
    return status;
}

static limn_status pass_on(lm_stream *s, const void *bytes, size_t size) {
    if (!s->gzip)
        return limn_output_write(s->output, bytes, size);
    limn_status status = LIMN_OK;
    for (const unsigned char *p = bytes; size && status == LIMN_OK;) {
        size_t piece = size < LM_STREAM_BYTES ? size : LM_STREAM_BYTES;
        status = deflate_all(s, p, piece, Z_NO_FLUSH);
        p += piece;
        size -= piece;
    }
    return status;
}

limn_status lm_stream_drain(lm_stream *stream) {
    if (stream->status == LIMN_OK)
        stream->status = pass_on(stream, stream->bytes, stream->used);
    stream->used = 0;
    return stream->status;
}

limn_status lm_stream_put(lm_stream *stream, const void *bytes, size_t size) {
    bool large = size > LM_STREAM_BYTES / 2;
    if ((large || size > LM_STREAM_BYTES - stream->used) && lm_stream_drain(stream) != LIMN_OK)
        return stream->status;
    if (large)
        return stream->status = pass_on(stream, bytes, size);
    if (size)
        memcpy(stream->bytes + stream->used, bytes, size);
    stream->used += size;
    return stream->status;
}

limn_status lm_stream_finish(lm_stream *stream) {
    limn_status status = lm_stream_drain(stream);
    if (status == LIMN_OK && stream->gzip)
        status = deflate_all(stream, stream->bytes, 0, Z_FINISH);
    return status == LIMN_OK ? limn_output_flush(stream->output) : status;
}

static void stream_close(lm_stream *s) {
    if (s->gzip)
        deflateEnd(&s->z);
    if (s->ctx) {
        lm_free(&s->ctx->mem, s->bytes);
        lm_free(&s->ctx->mem, s->packed);
    }
    memset(s, 0, sizeof *s);
}

limn_status lm_stream_commit(lm_stream *stream) {
    limn_status status = limn_output_commit(stream->output);
    stream_close(stream);
    return status;
}

void lm_stream_discard(lm_stream *stream) {
    limn_output_discard(stream->output);
    stream_close(stream);
}

/* ---- what the formats share ---- */

size_t lm_table_category(const lm_table_out *table, size_t column, const float *row) {
    const lm_column *c = &table->shape.schema->column[column];
    for (size_t k = 0; k < c->categories.count; k++)
        if (row[c->first + k] != 0.0f)
            return k;
    return LM_NO_COLUMN;
}

static bool is_column_name(const lm_schema *schema, const char *name) {
    for (size_t c = 0; c < schema->columns; c++) {
        const char *other = lm_schema_column_name(schema, c);
        if (other && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

char *lm_table_label_name(const lm_table_out *table) {
    const lm_schema *schema = table->shape.schema;
    char name[48] = "label";
    if (schema->label_name && *schema->label_name)
        return lm_strdup(&table->mem, schema->label_name);
    for (unsigned i = 2; is_column_name(schema, name); i++)
        snprintf(name, sizeof name, "label_%u", i);
    return lm_strdup(&table->mem, name);
}

limn_status lm_table_changed(lm_table_out *table) {
    return lm_fail(table->ctx, LIMN_E_DATA,
                   "%s was not written, because the input changed while it was read; try again",
                   table->path);
}

/* ---- opening ---- */

/* A pipe, a terminal, ...: no second file can be next to it. */
static bool has_no_folder(const char *path) {
    struct stat info;
    return strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
}

static limn_status choose_format(lm_table_out *t, limn_format format) {
    size_t length;
    if (format == LIMN_FORMAT_AUTO)
        format = lm_format_of_name(t->path);
    extension(t->path, &length);
    if (format == LIMN_FORMAT_AUTO && length && !has_no_folder(t->path))
        return lm_fail(t->ctx, LIMN_E_USAGE,
                       "%s: the format cannot be detected from the name; use .csv, .tsv, "
                       ".libsvm, .npy, .idx or .arff, or name the format",
                       t->path);
    if (format == LIMN_FORMAT_AUTO)
        format = LIMN_FORMAT_CSV;
    for (size_t i = 0; i < LM_COUNT(kinds); i++)
        if (kinds[i]->id == format)
            t->kind = kinds[i];
    return t->kind
               ? LIMN_OK
               : lm_fail(t->ctx, LIMN_E_USAGE, "there is no file format number %d", (int)format);
}

static limn_status choose_delimiter(lm_table_out *t, char delimiter) {
    bool tabs = is_extension(t->path, ".tsv") || is_extension(t->path, ".tab");
    t->delimiter = delimiter ? delimiter : tabs ? '\t' : ',';
    if (delimiter && t->kind->id != LIMN_FORMAT_CSV)
        return lm_fail(t->ctx, LIMN_E_USAGE, "%s: only CSV takes a separator; leave it out for %s",
                       t->path, limn_format_name(t->kind->id));
    if (strchr("\"\r\n.+-eE0123456789", t->delimiter))
        return lm_fail(t->ctx, LIMN_E_USAGE, "'%c' cannot separate cells; use , ; or a tab",
                       t->delimiter == '\r' || t->delimiter == '\n' ? ' ' : t->delimiter);
    return LIMN_OK;
}

/* Whether two paths name the same file, existing or not: the same last part in the same folder. */
static bool same_place(const char *a, const char *b) {
    char folders[2][PATH_MAX];
    const char *paths[] = {a, b}, *last[2];
    struct stat info[2];
    for (int i = 0; i < 2; i++) {
        const char *slash = strrchr(paths[i], '/');
        size_t length = slash ? (size_t)(slash - paths[i]) : 0;
        last[i] = slash ? slash + 1 : paths[i];
        if (length >= PATH_MAX)
            return false;
        memcpy(folders[i], paths[i], length);
        strcpy(folders[i] + length, slash ? "/" : ".");
        if (stat(folders[i], &info[i]) != 0)
            return strcmp(a, b) == 0;
    }
    return strcmp(last[0], last[1]) == 0 && info[0].st_dev == info[1].st_dev &&
           info[0].st_ino == info[1].st_ino;
}

/* The file that labels would go to, if there are any. */
static limn_status choose_label_file(lm_table_out *t, const char *label_file) {
    if (label_file && !t->kind->apart)
        return lm_fail(t->ctx, LIMN_E_USAGE,
                       "%s: the format %s stores labels with the rows; leave the label file "
                       "out",
                       t->path, limn_format_name(t->kind->id));
    if (label_file && same_place(label_file, t->path))
        return lm_fail(t->ctx, LIMN_E_USAGE,
                       "%s: rows and labels cannot go to the same file; give another name",
                       t->path);
    if (!t->kind->apart || (!label_file && has_no_folder(t->path)))
        return LIMN_OK;
    t->label_path =
        label_file ? lm_strdup(&t->mem, label_file) : lm_companion_name(&t->mem, t->path);
    return t->label_path ? LIMN_OK : lm_fail_memory(t->ctx);
}

static limn_status choose(lm_table_out *t, const limn_write_options *options) {
    limn_status status = choose_format(t, options->format);
    if (status == LIMN_OK)
        status = choose_delimiter(t, options->delimiter);
    return status == LIMN_OK ? choose_label_file(t, options->label_file) : status;
}

static limn_status table_new(limn_context *ctx, const char *path, const limn_write_options *options,
                             lm_table_out **out) {
    limn_write_options defaults;
    limn_write_options_init(&defaults);
    options = options ? options : &defaults;
    *out = NULL;
    if (!path || !*path || (options->label_file && !*options->label_file))
        return lm_fail(ctx, LIMN_E_USAGE, "the name of an output file is empty");
    lm_table_out *t = lm_alloc_zero(&ctx->mem, 1, sizeof *t);
    if (!t)
        return lm_fail_memory(ctx);
    t->ctx = ctx;
    t->mem = ctx->mem;
    t->path = lm_strdup(&t->mem, path);
    limn_status status = t->path ? choose(t, options) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        *out = t;
    else
        lm_table_discard(t);
    return status;
}

/* Only regular files are tried: opening and closing a pipe would look like the end of the data to
 * its reader. */
static limn_status try_path(limn_context *ctx, const char *path) {
    struct stat info;
    limn_output *output = NULL;
    if (has_no_folder(path) && (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)))
        return LIMN_OK;
    limn_status status = limn_output_open(ctx, path, &output);
    limn_output_discard(output);
    return status;
}

limn_status lm_table_plan(limn_context *ctx, const char *path, const limn_write_options *options,
                          limn_format *format, char **label_file) {
    lm_table_out *t;
    *label_file = NULL;
    limn_status status = table_new(ctx, path, options, &t);
    if (status != LIMN_OK)
        return status;
    status = try_path(ctx, t->path);
    if (status == LIMN_OK && options && options->label_file)
        status = try_path(ctx, t->label_path);
    if (status == LIMN_OK) {
        *format = t->kind->id;
        *label_file = t->label_path;
        t->label_path = NULL;
    }
    lm_table_discard(t);
    return status;
}

static limn_status settle_labels(lm_table_out *t, bool named) {
    if (!t->shape.labelled && named)
        return lm_fail(t->ctx, LIMN_E_USAGE, "%s: there are no labels to write; leave it out",
                       t->label_path);
    if (t->shape.labelled && t->kind->apart && !t->label_path)
        return lm_fail(t->ctx, LIMN_E_USAGE,
                       "%s: the format %s stores labels in a separate file; name that file too, or "
                       "leave out the labels",
                       strcmp(t->path, "-") == 0 ? "standard output" : t->path,
                       limn_format_name(t->kind->id));
    if (!t->shape.labelled) {
        lm_free(&t->mem, t->label_path);
        t->label_path = NULL;
    }
    return LIMN_OK;
}

static limn_status prepare(lm_table_out *t) {
    const lm_schema *schema = t->shape.schema;
    for (size_t c = 0; c < schema->columns && !t->categories; c++)
        t->categories = lm_schema_categories(schema, c) > 0;
    if (!schema->features)
        return lm_fail(t->ctx, LIMN_E_USAGE, "%s: a table without features cannot be written",
                       t->path);
    limn_status status = t->kind->check(t);
    if (status == LIMN_OK)
        status = lm_stream_open(t->ctx, t->path, &t->data);
    if (status == LIMN_OK && t->label_path)
        status = lm_stream_open(t->ctx, t->label_path, &t->labels);
    return status == LIMN_OK ? t->kind->begin(t) : status;
}

limn_status lm_table_open(limn_context *ctx, const char *path, const limn_write_options *options,
                          const lm_table_shape *shape, lm_table_out **out) {
    lm_table_out *t;
    *out = NULL;
    limn_status status = table_new(ctx, path, options, &t);
    if (status != LIMN_OK)
        return status;
    t->shape = *shape;
    status = settle_labels(t, options && options->label_file);
    if (status == LIMN_OK)
        status = prepare(t);
    if (status == LIMN_OK)
        *out = t;
    else
        lm_table_discard(t);
    return status;
}

/* ---- rows ---- */

static limn_status check_rows(lm_table_out *t, const limn_rows *rows) {
    if (rows->n > t->shape.rows - t->rows)
        return lm_table_changed(t);
    if (!t->shape.labelled)
        return LIMN_OK;
    if (lm_table_targets(t))
        return rows->targets ? LIMN_OK : lm_table_changed(t);
    size_t classes = t->shape.schema->labels.count;
    if (!rows->classes)
        return lm_table_changed(t);
    for (size_t i = 0; i < rows->n; i++)
        if (rows->classes[i] < 0 || (size_t)rows->classes[i] >= classes)
            return lm_table_changed(t);
    return LIMN_OK;
}

limn_status lm_table_put(lm_table_out *table, const limn_rows *rows) {
    limn_status status = check_rows(table, rows);
    if (status == LIMN_OK)
        status = table->kind->put(table, rows);
    table->rows += status == LIMN_OK ? rows->n : 0;
    return status;
}

/* ---- finishing ---- */

void lm_table_discard(lm_table_out *table) {
    if (!table)
        return;
    limn_allocator mem = table->mem;
    lm_stream_discard(&table->data);
    lm_stream_discard(&table->labels);
    lm_free(&mem, table->path);
    lm_free(&mem, table->label_path);
    lm_free(&mem, table);
}

/* A label file left by an earlier run would be taken for the labels of a file that now has none. */
static void warn_of_stale_labels(lm_table_out *t) {
    struct stat info;
    if (!t->kind->apart || t->label_path || has_no_folder(t->path))
        return;
    char *name = lm_companion_name(&t->mem, t->path);
    if (name && stat(name, &info) == 0)
        lm_warn(t->ctx, "%s would be read as the labels of %s, which has none; remove it", name,
                t->path);
    lm_free(&t->mem, name);
}

static limn_status commit_both(lm_table_out *t) {
    limn_status status = lm_stream_finish(&t->data);
    if (status == LIMN_OK && t->label_path)
        status = lm_stream_finish(&t->labels);
    if (status == LIMN_OK && t->label_path)
        status = lm_stream_commit(&t->labels);
    if (status != LIMN_OK)
        return status;
    status = lm_stream_commit(&t->data);
    if (status != LIMN_OK && t->label_path) {
        char why[LM_ERROR_BYTES];
        snprintf(why, sizeof why, "%s", limn_error(t->ctx));
        return lm_fail(t->ctx, status, "%s; the labels in %s have already been written", why,
                       t->label_path);
    }
    return status;
}

limn_status lm_table_commit(lm_table_out *table) {
    limn_status status =
        table->rows == table->shape.rows ? commit_both(table) : lm_table_changed(table);
    if (status == LIMN_OK)
        warn_of_stale_labels(table);
    lm_table_discard(table);
    return status;
}
