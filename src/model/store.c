/* store.c: the sections that every model has; the method adds its own. See docs/format.md.
 *
 *   model    what it is: method, task, rows, seed, version of limn
 *   params   the parameters in force, as "key=value"
 *   schema   the columns and labels of the data
 *   scaler   how features are scaled, and how that was chosen (scale/store.c)
 *   learning what came after training (mark.c); absent when nothing did */
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STORE_VERSION = 1 };

/* ---- saving ---- */

static limn_status put_model(const limn_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "model", STORE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_text(kv, "method", m->method->info.name);
    lm_kv_put_text(kv, "task", limn_task_name(m->schema.task));
    lm_kv_put_int(kv, "rows", (int64_t)m->rows);
    lm_kv_put_int(kv, "seed", (int64_t)m->seed);
    lm_kv_put_text(kv, "written_by", m->written_by);
    if (m->schema.beyond)
        lm_kv_put_int(kv, "beyond", 1);
    if (m->teacher)
        lm_kv_put_text(kv, "teacher", m->teacher);
    return lm_kv_end(kv);
}

static limn_status put_params(const limn_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "params", STORE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    for (size_t i = 0; i < m->method->info.param_count; i++)
        lm_kv_put_text(kv, m->method->info.params[i].key, m->params.values[i].text);
    return lm_kv_end(kv);
}

/* Columns of text: which they are, how many categories each has, and all categories in sequence. */
static limn_status put_categories(limn_context *ctx, const lm_schema *s, lm_kv_out *kv) {
    size_t columns = 0, total = 0;
    for (size_t c = 0; c < s->columns; c++) {
        columns += lm_schema_categories(s, c) > 0;
        total += lm_schema_categories(s, c);
    }
    if (!total)
        return LIMN_OK;
    double *numbers = lm_alloc(&ctx->mem, 2 * columns, sizeof *numbers);
    char **names = lm_alloc(&ctx->mem, total, sizeof *names);
    limn_status status = numbers && names ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t c = 0, column = 0, name = 0; status == LIMN_OK && c < s->columns; c++) {
        size_t count = lm_schema_categories(s, c);
        for (size_t i = 0; i < count; i++)
            names[name++] = s->column[c].categories.names[i];
        if (count) {
            numbers[column] = (double)c;
            numbers[columns + column++] = (double)count;
        }
    }
    if (status == LIMN_OK) {
        lm_kv_put_int(kv, "text_columns", (int64_t)columns);
        lm_kv_put_reals(kv, "text_column_places", numbers, columns);
        lm_kv_put_reals(kv, "text_column_sizes", numbers + columns, columns);
        lm_kv_put_texts(kv, "categories", names, total);
    }
    lm_free(&ctx->mem, numbers);
    lm_free(&ctx->mem, names);
    return status;
}

static limn_status put_columns(limn_context *ctx, const lm_schema *s, lm_kv_out *kv) {
    lm_kv_put_int(kv, "columns", (int64_t)s->columns);
    if (!s->column)
        return LIMN_OK;
    char **names = lm_alloc(&ctx->mem, s->columns, sizeof *names);
    double *fill = lm_alloc(&ctx->mem, s->columns, sizeof *fill);
    limn_status status = names && fill ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t c = 0; c < s->columns && status == LIMN_OK; c++) {
        names[c] = s->column[c].name;
        fill[c] = s->column[c].fill;
    }
    if (status == LIMN_OK && lm_schema_named(s))
        lm_kv_put_texts(kv, "column_names", names, s->columns);
    if (status == LIMN_OK && !isnan(fill[0]))
        lm_kv_put_reals(kv, "fill", fill, s->columns);
    lm_free(&ctx->mem, names);
    lm_free(&ctx->mem, fill);
    return status == LIMN_OK ? put_categories(ctx, s, kv) : status;
}

static limn_status put_schema(limn_context *ctx, const limn_model *m, lm_writer *writer) {
    const lm_schema *s = &m->schema;
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "schema", STORE_VERSION, &kv);
    if (status == LIMN_OK)
        status = put_columns(ctx, s, kv);
    if (status != LIMN_OK)
        return status;
    if (s->label_name)
        lm_kv_put_text(kv, "label_name", s->label_name);
    if (s->label_column != LM_NO_COLUMN)
        lm_kv_put_int(kv, "label_column", (int64_t)s->label_column);
    if (s->weight_name)
        lm_kv_put_text(kv, "weight_name", s->weight_name);
    if (s->weight_column != LM_NO_COLUMN)
        lm_kv_put_int(kv, "weight_column", (int64_t)s->weight_column);
    lm_kv_put_texts(kv, "labels", s->labels.names, s->labels.count);
    return lm_kv_end(kv);
}

static limn_status collect(limn_context *ctx, const limn_model *model, lm_writer *writer) {
    limn_status status = put_model(model, writer);
    if (status == LIMN_OK)
        status = put_params(model, writer);
    if (status == LIMN_OK)
        status = put_schema(ctx, model, writer);
    if (status == LIMN_OK)
        status = lm_scaler_save(ctx, &model->scaler, writer);
    if (status == LIMN_OK)
        status = lm_learning_put(model, writer);
    if (status == LIMN_OK)
        status = model->method->save(ctx, model->body, writer);
    return status;
}

/* A writer with all sections of the model; if it only measures, with just their sizes. */
static limn_status writer_for(limn_context *ctx, const limn_model *model, bool measuring,
                              lm_writer **out) {
    lm_writer *writer;
    limn_status status =
        measuring ? lm_writer_new_measuring(ctx, &writer) : lm_writer_new(ctx, &writer);
    if (status != LIMN_OK)
        return status;
    status = collect(ctx, model, writer);
    if (status != LIMN_OK) {
        lm_writer_free(writer);
        return status;
    }
    *out = writer;
    return LIMN_OK;
}

limn_status lm_model_measure(limn_context *ctx, const limn_model *model, size_t *bytes) {
    lm_writer *writer;
    limn_status status = writer_for(ctx, model, true, &writer);
    if (status != LIMN_OK)
        return status;
    *bytes = lm_writer_size(writer);
    lm_writer_free(writer);
    return LIMN_OK;
}

limn_status lm_model_save(limn_context *ctx, const limn_model *model, const char *path) {
    lm_writer *writer;
    limn_status status = writer_for(ctx, model, false, &writer);
    if (status != LIMN_OK)
        return status;
    status = lm_writer_save(writer, path);
    lm_writer_free(writer);
    return status;
}

limn_status lm_model_bytes(limn_context *ctx, const limn_model *model, unsigned char **bytes,
                           size_t *size) {
    lm_writer *writer;
    limn_status status = writer_for(ctx, model, false, &writer);
    if (status != LIMN_OK)
        return status;
    status = lm_writer_bytes(writer, bytes, size);
    lm_writer_free(writer);
    return status;
}

/* ---- loading ---- */

static limn_status get_task(const lm_kv *kv, limn_task *task) {
    const char *name;
    limn_status status = lm_kv_text(kv, "task", &name);
    if (status != LIMN_OK)
        return status;
    static const limn_task tasks[] = {LIMN_CLASSIFY, LIMN_REGRESS, LIMN_SEARCH, LIMN_OUTLIER,
                                      LIMN_DENSITY};
    for (size_t i = 0; i < LM_COUNT(tasks); i++)
        if (strcmp(limn_task_name(tasks[i]), name) == 0) {
            *task = tasks[i];
            return LIMN_OK;
        }
    return lm_file_bad(kv->ctx, kv->file, "this version of limn does not know the task '%.40s'",
                       name);
}

/* It is shown as it is. */
static limn_status get_teacher(limn_context *ctx, const lm_file *file, const lm_kv *kv,
                               const char **teacher) {
    limn_status status = lm_kv_text(kv, "teacher", teacher);
    for (const char *at = *teacher; status == LIMN_OK && *at; at++)
        if (*at < ' ' || *at > '~')
            return lm_file_bad(ctx, file, "the name of its teacher is invalid");
    return status;
}

static limn_status get_model(limn_context *ctx, const lm_file *file, limn_model **out) {
    lm_kv kv;
    const char *name, *version, *teacher = NULL;
    limn_task task = LIMN_CLASSIFY;
    int64_t rows, seed, beyond = 0;
    limn_status status = lm_kv_open(ctx, file, "model", STORE_VERSION, &kv);
    if (status == LIMN_OK)
        status = lm_kv_text(&kv, "method", &name);
    if (status == LIMN_OK)
        status = get_task(&kv, &task);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "rows", 0, INT64_MAX, &rows);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "seed", INT64_MIN, INT64_MAX, &seed);
    if (status == LIMN_OK)
        status = lm_kv_text(&kv, "written_by", &version);
    if (status == LIMN_OK && lm_kv_has(&kv, "beyond"))
        status = lm_kv_int(&kv, "beyond", 0, 1, &beyond);
    if (status == LIMN_OK && lm_kv_has(&kv, "teacher"))
        status = get_teacher(ctx, file, &kv, &teacher);
    if (status != LIMN_OK)
        return status;
    const lm_method *method = lm_method_find(name);
    if (!method)
        return lm_fail(ctx, LIMN_E_MODEL,
                       "%s: its method '%.40s' is unknown to limn %s; use the version that wrote "
                       "it (%.20s)",
                       lm_file_name(file), name, limn_version(), version);
    if (beyond && !method->foreign)
        return lm_file_bad(ctx, file, "%s models are never imported", name);
    if (!(lm_method_capabilities(method) & lm_task_capability(task)))
        return lm_file_bad(ctx, file, "%s does not support the task %s", name,
                           limn_task_name(task));
    status = lm_model_new(ctx, method, out);
    if (status != LIMN_OK)
        return status;
    (*out)->schema.task = task;
    (*out)->rows = (uint64_t)rows;
    (*out)->seed = (uint64_t)seed;
    (*out)->schema.beyond = beyond;
    (*out)->written_by = lm_strdup(&ctx->mem, version);
    if (teacher && !((*out)->teacher = lm_strdup(&ctx->mem, teacher)))
        return lm_fail_memory(ctx);
    return (*out)->written_by ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status get_params(limn_context *ctx, const lm_file *file, limn_model *model) {
    lm_kv kv;
    const limn_method_info *info = &model->method->info;
    limn_status status = lm_kv_open(ctx, file, "params", STORE_VERSION, &kv);
    for (size_t i = 0; i < info->param_count && status == LIMN_OK; i++) {
        const char *value;
        char assignment[2 * LM_PARAM_TEXT + 2];
        if (!lm_kv_has(&kv, info->params[i].key))
            continue; /* a parameter newer than the file: its default is the old behaviour
                       */
        status = lm_kv_text(&kv, info->params[i].key, &value);
        if (status != LIMN_OK)
            break;
        snprintf(assignment, sizeof assignment, "%s=%.*s", info->params[i].key, LM_PARAM_TEXT,
                 value);
        if (lm_params_set(ctx, &model->params, assignment) != LIMN_OK)
            status = lm_file_bad(ctx, file, "the parameter %s is invalid", info->params[i].key);
    }
    return status;
}

static limn_status get_names(const lm_kv *kv, lm_schema *schema) {
    lm_texts texts;
    limn_status status = lm_kv_texts(kv, "column_names", &texts);
    if (status == LIMN_OK && texts.left != schema->columns)
        status = lm_file_bad(kv->ctx, kv->file,
                             "the number of names, %zu, is not the number of columns, %zu",
                             texts.left, schema->columns);
    if (status == LIMN_OK)
        status = lm_schema_add_columns(kv->ctx, schema);
    for (size_t c = 0; c < schema->columns && status == LIMN_OK; c++)
        if (!(schema->column[c].name = lm_strdup(schema->mem, lm_texts_next(&texts))))
            status = lm_fail_memory(kv->ctx);
    return status;
}

/* A list of count whole numbers; the section must hold as many doubles. */
static limn_status get_numbers(const lm_kv *kv, const char *key, size_t count, double **out) {
    *out = NULL;
    if (count > kv->section.size / sizeof **out)
        return lm_file_bad(kv->ctx, kv->file, "the list %s is incomplete", key);
    *out = lm_alloc(&kv->ctx->mem, count, sizeof **out);
    return *out ? lm_kv_reals(kv, key, count, *out) : lm_fail_memory(kv->ctx);
}

static limn_status get_column_categories(const lm_kv *kv, lm_column *column, double count,
                                         lm_texts *texts) {
    limn_status status = LIMN_OK;
    if (!(count >= 1 && count <= (double)texts->left && count == floor(count)) ||
        column->categories.count)
        return lm_file_bad(kv->ctx, kv->file, "the categories of a column are invalid");
    for (size_t i = 0; i < (size_t)count && status == LIMN_OK; i++) {
        const char *name = lm_texts_next(texts);
        int32_t id;
        status = lm_labels_add(kv->ctx, &column->categories, name, strlen(name), &id);
        if (status == LIMN_OK && (size_t)id != i)
            status = lm_file_bad(kv->ctx, kv->file, "the category '%.40s' appears twice", name);
    }
    return status;
}

static limn_status get_categories(const lm_kv *kv, lm_schema *schema) {
    lm_texts texts;
    int64_t count = 0;
    double *columns = NULL, *counts = NULL;
    limn_status status = lm_kv_int(kv, "text_columns", 1, (int64_t)schema->columns, &count);
    /* Without names, one number is all that says how many columns there are. */
    if (status == LIMN_OK && !schema->column &&
        schema->columns > kv->ctx->memory_limit / sizeof(lm_column) / 4)
        status = lm_file_bad(kv->ctx, kv->file, "%zu columns need more memory than the limit",
                             schema->columns);
    if (status == LIMN_OK)
        status = lm_schema_add_columns(kv->ctx, schema);
    if (status == LIMN_OK)
        status = lm_kv_texts(kv, "categories", &texts);
    if (status == LIMN_OK)
        status = get_numbers(kv, "text_column_places", (size_t)count, &columns);
    if (status == LIMN_OK)
        status = get_numbers(kv, "text_column_sizes", (size_t)count, &counts);
    for (size_t i = 0; i < (size_t)count && status == LIMN_OK; i++) {
        double c = columns[i];
        if (!(c >= 0 && c < (double)schema->columns && c == floor(c)))
            status =
                lm_file_bad(kv->ctx, kv->file, "categories belong to a column that does not exist");
        else
            status = get_column_categories(kv, &schema->column[(size_t)c], counts[i], &texts);
    }
    if (status == LIMN_OK && texts.left)
        status =
            lm_file_bad(kv->ctx, kv->file, "categories that belong to no column: %zu", texts.left);
    lm_free(&kv->ctx->mem, columns);
    lm_free(&kv->ctx->mem, counts);
    return status;
}

static limn_status get_fill(const lm_kv *kv, lm_schema *schema) {
    double *fill = NULL;
    limn_status status = get_numbers(kv, "fill", schema->columns, &fill);
    if (status == LIMN_OK)
        status = lm_schema_add_columns(kv->ctx, schema);
    for (size_t c = 0; c < schema->columns && status == LIMN_OK; c++) {
        size_t categories = lm_schema_categories(schema, c);
        if (categories
                ? !(fill[c] >= 0 && fill[c] < (double)categories && fill[c] == floor(fill[c]))
                : fabs(fill[c]) > (double)FLT_MAX)
            status = lm_file_bad(kv->ctx, kv->file,
                                 "the replacement for missing cells in column %zu is "
                                 "invalid",
                                 c + 1);
        schema->column[c].fill = fill[c];
    }
    lm_free(&kv->ctx->mem, fill);
    return status;
}

static limn_status get_columns(const lm_kv *kv, lm_schema *schema) {
    int64_t columns = 0;
    limn_status status = lm_kv_int(kv, "columns", 1, INT32_MAX, &columns);
    schema->columns = (size_t)columns;
    if (status == LIMN_OK && lm_kv_has(kv, "column_names"))
        status = get_names(kv, schema);
    if (status == LIMN_OK && lm_kv_has(kv, "categories"))
        status = get_categories(kv, schema);
    if (status == LIMN_OK && lm_kv_has(kv, "fill"))
        status = get_fill(kv, schema);
    return status == LIMN_OK ? lm_schema_settle(kv->ctx, schema) : status;
}

/* The position and name of a column other than a feature; either may be absent. */
static limn_status get_place(const lm_kv *kv, const char *name_key, const char *column_key,
                             const limn_allocator *mem, char **name, size_t *column) {
    const char *text;
    int64_t place;
    limn_status status = LIMN_OK;
    if (lm_kv_has(kv, name_key)) {
        status = lm_kv_text(kv, name_key, &text);
        if (status == LIMN_OK && !(*name = lm_strdup(mem, text)))
            status = lm_fail_memory(kv->ctx);
    }
    if (status == LIMN_OK && lm_kv_has(kv, column_key)) {
        status = lm_kv_int(kv, column_key, 0, INT32_MAX, &place);
        if (status == LIMN_OK)
            *column = (size_t)place;
    }
    return status;
}

static limn_status get_labels(const lm_kv *kv, lm_schema *schema) {
    lm_texts texts;
    limn_status status = lm_kv_texts(kv, "labels", &texts);
    if (status != LIMN_OK)
        return status;
    size_t least = schema->task == LIMN_CLASSIFY ? 1 : schema->task == LIMN_OUTLIER ? 2 : 0;
    if (texts.left < least || (schema->task != LIMN_CLASSIFY && texts.left > least))
        return lm_file_bad(kv->ctx, kv->file,
                           "the number of classes, %zu, is invalid for the task %s", texts.left,
                           limn_task_name(schema->task));
    for (size_t i = 0; texts.left && status == LIMN_OK; i++) {
        const char *name = lm_texts_next(&texts);
        int32_t id;
        status = lm_labels_add(kv->ctx, &schema->labels, name, strlen(name), &id);
        if (status == LIMN_OK && (size_t)id != i)
            status = lm_file_bad(kv->ctx, kv->file, "the class '%.40s' appears twice", name);
    }
    return status;
}

static limn_status get_schema(limn_context *ctx, const lm_file *file, lm_schema *schema) {
    lm_kv kv;
    limn_status status = lm_kv_open(ctx, file, "schema", STORE_VERSION, &kv);
    if (status == LIMN_OK)
        status = get_columns(&kv, schema);
    if (status == LIMN_OK)
        status = get_place(&kv, "label_name", "label_column", schema->mem, &schema->label_name,
                           &schema->label_column);
    if (status == LIMN_OK)
        status = get_place(&kv, "weight_name", "weight_column", schema->mem, &schema->weight_name,
                           &schema->weight_column);
    return status == LIMN_OK ? get_labels(&kv, schema) : status;
}

static limn_status get_scaler(limn_context *ctx, const lm_file *file, limn_model *model) {
    limn_status status = lm_scaler_load(ctx, file, model->schema.features, &model->scaler);
    limn_scale kind = model->scaler.kind;
    limn_task task = model->schema.task;
    if (status != LIMN_OK)
        return status;
    if (model->schema.beyond &&
        (model->scaler.map || (kind != LIMN_SCALE_NONE && kind != LIMN_SCALE_RANGES)))
        status = lm_file_bad(ctx, file, "an imported model cannot be scaled by limn");
    bool bends = kind == LIMN_SCALE_RANGES || !lm_scale_is_line(kind) || model->scaler.map;
    if (bends && task == LIMN_DENSITY)
        status = lm_file_bad(ctx, file, "a density model cannot be scaled like this");
    if (model->scaler.target && task != LIMN_REGRESS)
        status = lm_file_bad(ctx, file, "only the target of a regression can be scaled");
    return status;
}

static limn_status get_body(limn_context *ctx, const lm_file *file, limn_model *model) {
    lm_shape shape = {.task = model->schema.task,
                      .d = lm_model_width(model),
                      .classes = model->schema.labels.count,
                      .rows = model->rows,
                      .beyond = model->schema.beyond};
    return model->method->load(ctx, file, &shape, &model->params, &model->body);
}

limn_status lm_model_load(limn_context *ctx, lm_file *file, limn_model **out) {
    limn_model *model = NULL;
    *out = NULL;
    limn_status status = get_model(ctx, file, &model);
    if (status == LIMN_OK)
        status = get_params(ctx, file, model);
    if (status == LIMN_OK)
        status = get_schema(ctx, file, &model->schema);
    if (status == LIMN_OK)
        status = get_scaler(ctx, file, model);
    if (status == LIMN_OK)
        status = lm_learning_get(ctx, file, model);
    if (status == LIMN_OK)
        status = get_body(ctx, file, model);
    if (status != LIMN_OK) {
        limn_model_free(model);
        lm_file_close(file);
        return status;
    }
    model->file = file;
    model->bytes = lm_file_size(file);
    model->method->stats(model->body, &model->stats);
    *out = model;
    return LIMN_OK;
}
