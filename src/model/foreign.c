/* foreign.c: text models of other software, read and written by the methods that know them. */
#include "data/read/source.h"
#include "model/model.h"
#include "scale/ranges.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_BYTES = 1 << 12, READ_BYTES = 1 << 20 };

/* ---- reading ---- */

static limn_status read_on(limn_context *ctx, lm_source *source, lm_buffer *bytes, size_t until) {
    limn_status status = LIMN_OK;
    size_t got = 1;
    char *block = lm_alloc(&ctx->mem, READ_BYTES, 1);
    if (!block)
        return lm_fail_memory(ctx);
    while (status == LIMN_OK && got && bytes->size < until) {
        size_t most = until - bytes->size < READ_BYTES ? until - bytes->size : READ_BYTES;
        status = lm_source_read(source, block, most, &got);
        if (status == LIMN_OK && bytes->size + got > ctx->memory_limit)
            status = lm_fail(ctx, LIMN_E_MODEL, "%s: the model is larger than the memory limit",
                             lm_source_name(source));
        if (status == LIMN_OK && !lm_buffer_append(bytes, block, got))
            status = lm_fail_memory(ctx);
        if (status == LIMN_OK && bytes->size > FIRST_BYTES)
            status = lm_progress(ctx, "reading", 0, 0, lm_source_fraction(source));
    }
    lm_free(&ctx->mem, block);
    return status;
}

static const lm_method *find_method(const lm_buffer *bytes) {
    const lm_method *method;
    for (size_t i = 0; (method = lm_method_at(i)); i++)
        if (method->foreign && method->foreign->recognise(bytes->data, bytes->size))
            return method;
    return NULL;
}

/* ---- making a model ---- */

typedef struct foreign_file {
    const char *name;
    lm_buffer bytes;
    const lm_ranges *ranges; /* or NULL */
} foreign_file;

static limn_status set_params(limn_context *ctx, limn_model *model, const char *text) {
    limn_status status = LIMN_OK;
    while (*text && status == LIMN_OK) {
        char line[LM_PARAM_TEXT + 64];
        size_t length = strcspn(text, "\n"), most = length < sizeof line ? length : sizeof line - 1;
        memcpy(line, text, most);
        line[most] = '\0';
        /* A value that limn would not train with is still kept in the body. */
        if (lm_params_set(ctx, &model->params, line) != LIMN_OK)
            ctx->error[0] = '\0';
        text += length;
        text += *text == '\n';
    }
    return status;
}

static limn_status set_schema(limn_context *ctx, const lm_foreign *about, lm_schema *schema) {
    limn_status status = LIMN_OK;
    schema->task = about->task;
    schema->columns = schema->features = about->features;
    schema->beyond = true;
    for (size_t c = 0; c < about->classes && status == LIMN_OK; c++) {
        int32_t id;
        status = lm_labels_add(ctx, &schema->labels, about->names[c], strlen(about->names[c]), &id);
    }
    return status;
}

/* The scaling that stood before the model. It may name features that the model has not seen: their
 * squares count in some kernels, so the model gets them. */
static limn_status set_ranges(limn_context *ctx, const lm_ranges *ranges, lm_foreign *about,
                              limn_model *model) {
    size_t features;
    const lm_foreign_text *text = model->method->foreign;
    limn_status status = lm_ranges_match(ctx, ranges, about->features, &features);
    if (status == LIMN_OK && ranges->target && about->task != LIMN_REGRESS)
        status = lm_fail(ctx, LIMN_E_MODEL,
                         "%s: the file scales a target (y), but the model does not predict "
                         "numbers; remove that part of the file, or leave the second file out",
                         ranges->name);
    if (status == LIMN_OK && features > about->features)
        status = text->widen(ctx, model->body, features);
    about->features = features;
    return status == LIMN_OK ? lm_ranges_scaler(ctx, ranges, features, &model->scaler) : status;
}

static limn_status build(limn_context *ctx, const lm_method *method, const foreign_file *from,
                         limn_model *model) {
    lm_foreign about = {.names = NULL};
    limn_status status = method->foreign->import(ctx, from->name, (const char *)from->bytes.data,
                                                 from->bytes.size, &about, &model->body);
    if (status == LIMN_OK && from->ranges)
        status = set_ranges(ctx, from->ranges, &about, model);
    if (status == LIMN_OK)
        status = set_schema(ctx, &about, &model->schema);
    if (status == LIMN_OK)
        status = set_params(ctx, model, about.params);
    if (status == LIMN_OK && !from->ranges)
        status = lm_scaler_fit(ctx, LIMN_SCALE_NONE, true, &(lm_scaler_rows){.d = about.features},
                               &model->scaler);
    for (size_t c = 0; about.names && c < about.classes; c++)
        lm_free(&ctx->mem, about.names[c]);
    lm_free(&ctx->mem, about.names);
    return status;
}

static limn_status make_model(limn_context *ctx, const lm_method *method, const foreign_file *from,
                              limn_model **out) {
    limn_model *model = NULL;
    limn_status status = lm_model_new(ctx, method, &model);
    if (status != LIMN_OK)
        return status;
    model->written_by = lm_strdup(&ctx->mem, limn_version());
    status = model->written_by ? build(ctx, method, from, model) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_model_measure(ctx, model, &model->bytes);
    if (status != LIMN_OK) {
        limn_model_free(model);
        return status;
    }
    method->stats(model->body, &model->stats);
    *out = model;
    return LIMN_OK;
}

/* Anything that can be read only once, or not at all, is not inspected. */
static bool can_look(const char *path) {
    struct stat info;
    return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* ---- what a file is ---- */

limn_status limn_file_kind(limn_context *context, const char *path, limn_kind *kind) {
    lm_source *source;
    lm_buffer bytes = {.mem = &context->mem};
    *kind = LIMN_KIND_DATA;
    if (!can_look(path))
        return LIMN_OK;
    limn_status status = lm_source_open(context, path, &source);
    if (status != LIMN_OK)
        return status;
    status = read_on(context, source, &bytes, FIRST_BYTES);
    if (status == LIMN_OK && lm_file_is_model(bytes.data, bytes.size))
        *kind = LIMN_KIND_MODEL;
    else if (status == LIMN_OK && find_method(&bytes))
        *kind = LIMN_KIND_FOREIGN;
    if (status == LIMN_E_DATA) /* a file that only looks like gzip: its reader refuses it */
        status = LIMN_OK;
    lm_source_free(source);
    lm_buffer_free(&bytes);
    return status;
}

/* ---- opening ---- */

static limn_status make_with(limn_context *ctx, const lm_method *method, foreign_file *from,
                             const char *ranges, limn_model **out) {
    lm_ranges read = {.name = NULL};
    limn_status status = ranges ? lm_ranges_read(ctx, ranges, &read) : LIMN_OK;
    from->ranges = ranges ? &read : NULL;
    if (status == LIMN_OK)
        status = make_model(ctx, method, from, out);
    lm_ranges_free(&ctx->mem, &read);
    return status;
}

limn_status lm_model_import(limn_context *ctx, const char *path, const char *ranges,
                            limn_model **out) {
    lm_source *source;
    foreign_file from = {.name = path, .bytes = {.mem = &ctx->mem}};
    *out = NULL;
    if (!can_look(path))
        return LIMN_OK;
    limn_status status = lm_source_open(ctx, path, &source);
    if (status != LIMN_OK)
        return status;
    status = read_on(ctx, source, &from.bytes, FIRST_BYTES);
    const lm_method *method = status == LIMN_OK ? find_method(&from.bytes) : NULL;
    if (method)
        status = read_on(ctx, source, &from.bytes, SIZE_MAX);
    if (method && status == LIMN_OK)
        status = make_with(ctx, method, &from, ranges, out);
    /* A file that is not foreign text may fail here, too: a limn model that begins like gzip. */
    if (!method && status == LIMN_E_DATA)
        status = LIMN_OK;
    lm_source_free(source);
    lm_buffer_free(&from.bytes);
    return status;
}

/* ---- writing ---- */

/* The class names as whole numbers, the only ones that foreign formats allow. */
static bool whole_labels(const lm_labels *labels, int32_t *numbers) {
    for (size_t c = 0; c < labels->count; c++) {
        double value = labels->values[c];
        if (!(value >= INT32_MIN && value <= INT32_MAX) || value != (double)(int32_t)value)
            return false;
        numbers[c] = (int32_t)value;
    }
    return true;
}

/* The text model, and the range file if the model scales. */
typedef struct outputs {
    limn_output *text, *ranges;
    char *name; /* of the range file */
} outputs;

static limn_status open_outputs(limn_context *ctx, const limn_model *model, const char *path,
                                outputs *o) {
    struct stat info;
    bool scales = !lm_scaler_is_none(&model->scaler);
    bool special = strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
    if (scales && special)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "the model scales its features (%s), and the range file for that is written "
                       "beside the text model; name a file instead of %s",
                       limn_scale_name(model->scaler.kind), path);
    limn_status status = limn_output_open(ctx, path, &o->text);
    if (status != LIMN_OK || !scales)
        return status;
    size_t size = strlen(path) + sizeof ".range";
    o->name = lm_alloc(&ctx->mem, size, 1);
    if (!o->name)
        return lm_fail_memory(ctx);
    snprintf(o->name, size, "%s.range", path);
    return limn_output_open(ctx, o->name, &o->ranges);
}

/* Nothing is renamed before all is written. The range file comes first: without it the text model
 * would give wrong answers. */
static limn_status close_outputs(limn_context *ctx, outputs *o, limn_status status) {
    if (status == LIMN_OK && o->ranges)
        status = limn_output_flush(o->ranges);
    if (status == LIMN_OK)
        status = limn_output_flush(o->text);
    if (status == LIMN_OK && o->ranges) {
        status = limn_output_commit(o->ranges);
        o->ranges = NULL;
    }
    if (status == LIMN_OK) {
        status = limn_output_commit(o->text);
        o->text = NULL;
    }
    limn_output_discard(o->ranges);
    limn_output_discard(o->text);
    lm_free(&ctx->mem, o->name);
    return status;
}

static limn_status write_all(limn_context *ctx, const limn_model *model, const int32_t *labels,
                             const char *path) {
    outputs o = {.text = NULL};
    limn_status status = open_outputs(ctx, model, path, &o);
    if (status == LIMN_OK && o.ranges)
        status = lm_ranges_put(ctx, &model->scaler, o.ranges);
    if (status == LIMN_OK)
        status = model->method->foreign->export(ctx, model->body, labels, model->scaler.keep, path,
                                                o.text);
    return close_outputs(ctx, &o, status);
}

limn_status lm_model_export(limn_context *ctx, const limn_model *model, const char *path) {
    const lm_labels *labels = &model->schema.labels;
    const lm_method *method = model->method;
    if (!method->foreign || !method->foreign->export)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                       "%s models cannot be exported as text for other programs",
                       method->info.name);
    if (!lm_scale_is_line(model->scaler.kind) || model->scaler.map)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                       "the model scales its features by %s, which no range file can express; "
                       "train it with --scale zscore, minmax or none to export it",
                       limn_scale_name(lm_scaler_kind(&model->scaler)));
    int32_t *numbers = lm_alloc(&ctx->mem, labels->count + 1, sizeof *numbers);
    if (!numbers)
        return lm_fail_memory(ctx);
    if (!whole_labels(labels, numbers)) {
        for (size_t c = 0; c < labels->count; c++)
            numbers[c] = (int32_t)c;
        lm_warn(ctx,
                "the class names are not whole numbers, so they are written as 0 to %zu, in the "
                "order that 'limn info' shows",
                labels->count - 1);
    }
    limn_status status = write_all(ctx, model, numbers, path);
    lm_free(&ctx->mem, numbers);
    return status;
}
