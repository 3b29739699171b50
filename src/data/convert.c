/* convert.c: converts one data file into another.
 *
 * A file that can be read twice is read twice: the first pass only surveys it (columns, categories,
 * classes, rows, whether all values are bytes), the second writes each piece as it is read, so
 * memory does not grow with the file. Data from a pipe, and a file whose missing cells are filled
 * with medians, are held in memory. */
#include "data/convert.h"

#include "data/read/reader.h"
#include "data/write/write_impl.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_ROWS = 1 << 14 };

/* ---- what is refused before anything is read ---- */

static bool is_regular(const char *path) {
    struct stat info;
    return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return is_regular(a) && is_regular(b) && stat(a, &x) == 0 && stat(b, &y) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static limn_status refuse_overwrite(limn_context *ctx, const char *output, const char *input) {
    if (!output || !input || !same_file(output, input))
        return LIMN_OK;
    return lm_fail(ctx, LIMN_E_USAGE,
                   "%s: the output would replace the input file; give another name", output);
}

/* Rows and labels on both sides. */
static limn_status refuse_inputs(limn_context *ctx, const char *from,
                                 const limn_read_options *reading, const char *to,
                                 const char *label_file) {
    char *companion = reading->label_file ? lm_strdup(&ctx->mem, reading->label_file)
                                          : lm_companion_name(&ctx->mem, from);
    if (!companion)
        return lm_fail_memory(ctx);
    limn_status status = refuse_overwrite(ctx, to, from);
    if (status == LIMN_OK)
        status = refuse_overwrite(ctx, label_file, from);
    if (status == LIMN_OK)
        status = refuse_overwrite(ctx, to, companion);
    if (status == LIMN_OK)
        status = refuse_overwrite(ctx, label_file, companion);
    lm_free(&ctx->mem, companion);
    return status;
}

/* ---- progress: the second pass is reported as writing ---- */

typedef struct relay {
    limn_context *ctx;
    void (*log)(void *user, limn_log_level level, const char *sentence);
    int (*progress)(void *user, const limn_progress *progress);
    void *user;
    uint64_t rows, rows_total;
} relay;

static void relay_log(void *user, limn_log_level level, const char *sentence) {
    const relay *r = user;
    r->log(r->user, level, sentence);
}

static int relay_progress(void *user, const limn_progress *news) {
    const relay *r = user;
    limn_progress told = {"writing", r->rows, r->rows_total, news->fraction, news->detail};
    return r->progress(r->user, &told);
}

static void relay_begin(relay *r, limn_context *ctx, uint64_t rows_total) {
    *r = (relay){ctx, ctx->log, ctx->progress, ctx->user, 0, rows_total};
    ctx->log = ctx->log ? relay_log : NULL;
    ctx->progress = ctx->progress ? relay_progress : NULL;
    ctx->user = r;
}

static void relay_end(relay *r) {
    r->ctx->log = r->log;
    r->ctx->progress = r->progress;
    r->ctx->user = r->user;
}

/* ---- rows ---- */

static limn_status finish(lm_table_out *table, limn_status status) {
    if (status == LIMN_OK)
        return lm_table_commit(table);
    lm_table_discard(table);
    return status;
}

static limn_status copy_rows(limn_reader *reader, lm_table_out *table, relay *r) {
    for (;;) {
        limn_rows rows = {.size = sizeof rows};
        limn_status status = limn_reader_next(reader, PIECE_ROWS, &rows);
        if (status != LIMN_OK || rows.n == 0)
            return status;
        status = lm_table_put(table, &rows);
        if (status != LIMN_OK)
            return status;
        r->rows += rows.n;
    }
}

/* ARFF has weights at the end of its rows. */
static void warn_of_weights(limn_context *ctx, const char *from) {
    lm_warn(ctx, "%s: the row weights are left out; put them in a column to keep them", from);
}

/* What the first pass found (format, separator, columns) holds for the second. */
static limn_status stream(limn_context *ctx, const char *from, const limn_read_options *reading,
                          const char *to, const limn_write_options *writing,
                          limn_convert_info *info) {
    lm_survey survey;
    lm_table_out *table = NULL;
    limn_reader *reader = NULL;
    limn_read_options again = *reading;
    limn_status status = lm_data_survey(ctx, from, reading, &survey);
    if (status != LIMN_OK)
        goto done;
    if (survey.weighted)
        warn_of_weights(ctx, from);
    again.format = survey.format;
    again.delimiter = survey.delimiter;
    again.header = lm_schema_named(&survey.schema) ? LIMN_HEADER_YES : LIMN_HEADER_NO;
    again.categorical = NULL;
    info->rows = survey.rows;
    info->features = survey.schema.features;
    info->from = survey.format;
    lm_table_shape shape = {&survey.schema, survey.rows, survey.labelled, survey.bytes};
    relay r;
    relay_begin(&r, ctx, survey.rows);
    status = lm_table_open(ctx, to, writing, &shape, &table);
    if (status == LIMN_OK) {
        status = lm_reader_open(ctx, from, &again, &survey.schema, &reader);
        if (status == LIMN_OK)
            status = copy_rows(reader, table, &r);
        status = finish(table, status);
    }
    relay_end(&r);
done:
    limn_reader_free(reader);
    lm_schema_free(&survey.schema);
    return status;
}

static limn_status put_data(limn_context *ctx, const limn_data *data, lm_table_out *table) {
    size_t d = data->schema.features;
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < data->n && status == LIMN_OK; i += PIECE_ROWS) {
        limn_rows rows = {
            .n = data->n - i < PIECE_ROWS ? data->n - i : PIECE_ROWS,
            .x = data->x + i * d,
            .classes = data->label ? data->label + i : NULL,
            .targets = data->target ? data->target + i : NULL,
        };
        status = lm_table_put(table, &rows);
        if (status == LIMN_OK)
            status = lm_progress(ctx, "writing", i + rows.n, data->n,
                                 (double)(i + rows.n) / (double)data->n);
    }
    return status;
}

static limn_status through_memory(limn_context *ctx, const char *from,
                                  const limn_read_options *reading, const char *to,
                                  const limn_write_options *writing, limn_convert_info *info) {
    limn_data *data = NULL;
    lm_table_out *table = NULL;
    limn_status status = lm_data_read(ctx, from, reading, NULL, &data);
    if (status != LIMN_OK)
        return status;
    if (data->weight)
        warn_of_weights(ctx, from);
    info->rows = data->n;
    info->features = data->schema.features;
    info->from = data->format;
    lm_table_shape shape = {&data->schema, data->n, data->label || data->target,
                            lm_only_bytes(data->x, data->n * data->schema.features)};
    status = lm_table_open(ctx, to, writing, &shape, &table);
    if (status == LIMN_OK)
        status = finish(table, put_data(ctx, data, table));
    limn_data_free(data);
    return status;
}

limn_status lm_convert(limn_context *ctx, const char *from, const limn_read_options *reading,
                       const char *to, const limn_write_options *writing, limn_convert_info *info) {
    limn_read_options options = *reading;
    char *label_file = NULL;
    options.weights = NULL; /* a column like any other */
    limn_status status = lm_table_plan(ctx, to, writing, &info->to, &label_file);
    if (status == LIMN_OK)
        status = refuse_inputs(ctx, from, &options, to, label_file);
    bool twice = is_regular(from) && (!options.label_file || is_regular(options.label_file)) &&
                 options.missing == LIMN_MISSING_ERROR;
    if (status == LIMN_OK)
        status = (twice ? stream : through_memory)(ctx, from, &options, to, writing, info);
    lm_free(&ctx->mem, label_file);
    return status;
}
