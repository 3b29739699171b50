/* schema.c: what a model remembers of the columns and labels of its data. */
#include "data/dataset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void lm_schema_init(lm_schema *schema, const limn_allocator *mem) {
    memset(schema, 0, sizeof *schema);
    schema->mem = mem;
    schema->label_column = schema->weight_column = LM_NO_COLUMN;
    lm_labels_init(&schema->labels, mem);
}

static void free_names(const limn_allocator *mem, char **names, size_t count) {
    for (size_t i = 0; names && i < count; i++)
        lm_free(mem, names[i]);
    lm_free(mem, names);
}

void lm_schema_free(lm_schema *schema) {
    for (size_t c = 0; schema->column && c < schema->columns; c++) {
        lm_free(schema->mem, schema->column[c].name);
        lm_labels_free(&schema->column[c].categories);
    }
    lm_free(schema->mem, schema->column);
    free_names(schema->mem, schema->feature_names, schema->features);
    lm_free(schema->mem, schema->label_name);
    lm_free(schema->mem, schema->weight_name);
    lm_labels_free(&schema->labels);
    lm_schema_init(schema, schema->mem);
}

void lm_schema_move(lm_schema *from, lm_schema *to, const limn_allocator *mem) {
    const limn_allocator *old = from->mem;
    *to = *from;
    to->mem = to->labels.mem = mem;
    for (size_t c = 0; to->column && c < to->columns; c++)
        to->column[c].categories.mem = mem;
    lm_schema_init(from, old);
}

limn_status lm_schema_add_columns(limn_context *ctx, lm_schema *schema) {
    if (schema->column)
        return LIMN_OK;
    schema->column = lm_alloc_zero(schema->mem, schema->columns, sizeof *schema->column);
    if (!schema->column)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < schema->columns; c++) {
        lm_labels_init(&schema->column[c].categories, schema->mem);
        schema->column[c].first = c;
        schema->column[c].fill = (double)NAN;
    }
    return LIMN_OK;
}

/* "width", or "color=red" for a category. */
static char *feature_name(const lm_schema *schema, const lm_column *column, size_t category) {
    if (!column->categories.count)
        return lm_strdup(schema->mem, column->name);
    const char *value = column->categories.names[category];
    size_t size = strlen(column->name) + strlen(value) + 2;
    char *name = lm_alloc(schema->mem, size, 1);
    if (name)
        snprintf(name, size, "%s=%s", column->name, value);
    return name;
}

static limn_status name_features(limn_context *ctx, lm_schema *schema) {
    schema->feature_names = lm_alloc_zero(schema->mem, schema->features, sizeof(char *));
    if (!schema->feature_names)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < schema->columns; c++) {
        const lm_column *column = &schema->column[c];
        size_t width = column->categories.count ? column->categories.count : 1;
        for (size_t i = 0; i < width; i++) {
            char *name = feature_name(schema, column, i);
            if (!name)
                return lm_fail_memory(ctx);
            schema->feature_names[column->first + i] = name;
        }
    }
    return LIMN_OK;
}

limn_status lm_schema_settle(limn_context *ctx, lm_schema *schema) {
    free_names(schema->mem, schema->feature_names, schema->features);
    schema->feature_names = NULL;
    schema->features = schema->columns;
    if (!schema->column)
        return LIMN_OK;
    size_t features = 0;
    for (size_t c = 0; c < schema->columns; c++) {
        size_t width = schema->column[c].categories.count;
        schema->column[c].first = features;
        if (!lm_add(features, width ? width : 1, &features))
            return lm_fail_memory(ctx);
    }
    schema->features = features;
    return lm_schema_named(schema) ? name_features(ctx, schema) : LIMN_OK;
}

static limn_status copy_text(limn_context *ctx, const limn_allocator *mem, const char *from,
                             char **to) {
    *to = from ? lm_strdup(mem, from) : NULL;
    return *to || !from ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status copy_columns(limn_context *ctx, const lm_schema *from, lm_schema *to) {
    limn_status status = from->column ? lm_schema_add_columns(ctx, to) : LIMN_OK;
    for (size_t c = 0; from->column && c < from->columns && status == LIMN_OK; c++) {
        status = copy_text(ctx, to->mem, from->column[c].name, &to->column[c].name);
        if (status == LIMN_OK)
            status = lm_labels_copy(ctx, &from->column[c].categories, &to->column[c].categories);
        to->column[c].fill = from->column[c].fill;
    }
    return status == LIMN_OK ? lm_schema_settle(ctx, to) : status;
}

limn_status lm_schema_copy(limn_context *ctx, const lm_schema *from, lm_schema *to) {
    lm_schema_free(to);
    to->task = from->task;
    to->columns = from->columns;
    to->label_column = from->label_column;
    to->weight_column = from->weight_column;
    to->beyond = from->beyond;
    limn_status status = copy_columns(ctx, from, to);
    if (status == LIMN_OK)
        status = copy_text(ctx, to->mem, from->label_name, &to->label_name);
    if (status == LIMN_OK)
        status = copy_text(ctx, to->mem, from->weight_name, &to->weight_name);
    if (status == LIMN_OK)
        status = lm_labels_copy(ctx, &from->labels, &to->labels);
    if (status != LIMN_OK)
        lm_schema_free(to);
    return status;
}
