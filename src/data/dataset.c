/* dataset.c: the table in memory, its schema, and the public functions that make and show it. */
#include "data/dataset.h"

#include "data/split.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- names of enumerators ---- */

const char *limn_task_name(limn_task task) {
    static const char *const names[] = {"classify", "regress", "search", "outlier", "density"};
    return (size_t)task < LM_COUNT(names) ? names[task] : NULL;
}

/* ---- making sets ---- */

limn_status lm_data_new(limn_context *ctx, limn_task task, limn_data **out) {
    *out = NULL;
    limn_data *data = lm_alloc_zero(&ctx->mem, 1, sizeof *data);
    if (!data)
        return lm_fail_memory(ctx);
    data->mem = ctx->mem;
    lm_schema_init(&data->schema, &data->mem);
    data->schema.task = task;
    *out = data;
    return LIMN_OK;
}

void limn_data_free(limn_data *data) {
    if (!data)
        return;
    limn_allocator mem = data->mem;
    lm_schema_free(&data->schema);
    lm_free(&mem, data->x);
    lm_free(&mem, data->label);
    lm_free(&mem, data->target);
    lm_free(&mem, data->weight);
    lm_free(&mem, data);
}

limn_status lm_data_take(limn_context *ctx, const limn_data *data, const size_t *rows, size_t count,
                         limn_data **out) {
    size_t d = lm_schema_width(&data->schema), size = 0;
    limn_data *part = NULL;
    *out = NULL;
    limn_status status = lm_data_new(ctx, data->schema.task, &part);
    if (status == LIMN_OK)
        status = lm_schema_copy(ctx, &data->schema, &part->schema);
    if (status != LIMN_OK)
        goto done;
    part->n = count;
    if (lm_mul(count, d, &size))
        part->x = lm_alloc(&part->mem, size, sizeof *part->x);
    if (data->label)
        part->label = lm_alloc(&part->mem, count, sizeof *part->label);
    if (data->target)
        part->target = lm_alloc(&part->mem, count, sizeof *part->target);
    if (data->weight)
        part->weight = lm_alloc(&part->mem, count, sizeof *part->weight);
    if (!part->x || (data->label && !part->label) || (data->target && !part->target) ||
        (data->weight && !part->weight)) {
        status = lm_fail_memory(ctx);
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(part->x + i * d, data->x + rows[i] * d, d * sizeof *part->x);
        if (part->label)
            part->label[i] = data->label[rows[i]];
        if (part->target)
            part->target[i] = data->target[rows[i]];
        if (part->weight)
            part->weight[i] = data->weight[rows[i]];
    }
    *out = part;
    part = NULL;
done:
    limn_data_free(part);
    return status;
}

bool lm_only_bytes(const float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(x[i] >= 0 && x[i] <= UINT8_MAX) || (float)(uint8_t)x[i] != x[i] || signbit(x[i]))
            return false;
    return true;
}

limn_status lm_check_finite(limn_context *ctx, const lm_schema *schema, const float *x, size_t n,
                            size_t width) {
    for (size_t i = 0; i < n; i++) {
        const float *row = x + i * width;
        unsigned bad = 0; /* no branch in the inner loop: it runs before every prediction */
        for (size_t j = 0; j < width; j++)
            bad |= !(fabsf(row[j]) <= FLT_MAX);
        if (!bad)
            continue;
        size_t j = 0;
        while (isfinite(row[j]))
            j++;
        char shown[48] = "";
        bool named = schema->feature_names && j < schema->features;
        if (named)
            lm_quote(schema->feature_names[j], strlen(schema->feature_names[j]), shown);
        return lm_fail(ctx, LIMN_E_DATA,
                       "row %zu, column %zu%s%s%s: the value is %s; fill it or remove the row",
                       i + 1, j + 1, named ? " (" : "", shown, named ? ")" : "",
                       isnan(row[j]) ? "NaN" : "infinite");
    }
    return LIMN_OK;
}

/* ---- from memory ---- */

/* A set that holds a checked copy of x. */
static limn_status from_features(limn_context *ctx, limn_task task, const float *x, size_t n,
                                 size_t d, limn_data **out) {
    size_t count, bytes;
    *out = NULL;
    if (!x || !d)
        return lm_fail(ctx, LIMN_E_USAGE, "data needs at least one feature");
    if (!n)
        return lm_fail(ctx, LIMN_E_DATA, "no rows");
    if (!limn_task_name(task))
        return lm_fail(ctx, LIMN_E_USAGE, "there is no task number %d", (int)task);
    if (!lm_mul(n, d, &count) || !lm_mul(count, sizeof *x, &bytes) || bytes > ctx->memory_limit)
        return lm_fail(ctx, LIMN_E_DATA,
                       "a table of %zu x %zu values needs more memory than the limit of %llu bytes",
                       n, d, (unsigned long long)ctx->memory_limit);
    const lm_schema nameless = {.features = d};
    limn_status status = lm_check_finite(ctx, &nameless, x, n, d);
    if (status != LIMN_OK)
        return status;
    limn_data *data;
    status = lm_data_new(ctx, task, &data);
    if (status != LIMN_OK)
        return status;
    data->n = n;
    data->schema.columns = data->schema.features = d;
    data->x = lm_alloc(&data->mem, count, sizeof *data->x);
    if (!data->x) {
        limn_data_free(data);
        return lm_fail_memory(ctx);
    }
    memcpy(data->x, x, bytes);
    *out = data;
    return LIMN_OK;
}

/* Sorts the classes as reading a file would. */
static limn_status sort_classes(limn_context *ctx, limn_data *data) {
    int32_t *remap = lm_alloc(&ctx->mem, data->schema.labels.count, sizeof *remap);
    if (!remap)
        return lm_fail_memory(ctx);
    limn_status status = lm_labels_sort(ctx, &data->schema.labels, remap);
    if (status == LIMN_OK)
        for (size_t i = 0; i < data->n; i++)
            data->label[i] = remap[data->label[i]];
    lm_free(&ctx->mem, remap);
    return status;
}

static limn_status add_number(limn_context *ctx, lm_labels *labels, double y, int32_t *id) {
    char text[32];
    return lm_labels_add(ctx, labels, text, lm_format_double(y + 0.0, text), id);
}

/* Formatting a double is slow; a small cache by value makes it a cost per class, not per row. */
static limn_status number_classes(limn_context *ctx, limn_data *data, const double *y) {
    enum { CACHE = 256 };
    double seen[CACHE];
    int32_t ids[CACHE];
    for (size_t i = 0; i < CACHE; i++)
        seen[i] = NAN;
    for (size_t i = 0; i < data->n; i++) {
        uint64_t bits;
        memcpy(&bits, &y[i], sizeof bits);
        size_t at = lm_hash(bits, 0, 0) % CACHE;
        if (seen[at] != y[i]) {
            limn_status status = add_number(ctx, &data->schema.labels, y[i], &ids[at]);
            if (status != LIMN_OK)
                return status;
            seen[at] = y[i];
        }
        data->label[i] = ids[at];
    }
    return sort_classes(ctx, data);
}

static limn_status set_numbers(limn_context *ctx, limn_data *data, const double *y) {
    for (size_t i = 0; i < data->n; i++)
        if (!isfinite(y[i]))
            return lm_fail(ctx, LIMN_E_DATA, "row %zu: the label is %s; fill it or remove the row",
                           i + 1, isnan(y[i]) ? "NaN" : "infinite");
    if (data->schema.task == LIMN_CLASSIFY) {
        data->label = lm_alloc(&data->mem, data->n, sizeof *data->label);
        return data->label ? number_classes(ctx, data, y) : lm_fail_memory(ctx);
    }
    data->target = lm_alloc(&data->mem, data->n, sizeof *data->target);
    if (!data->target)
        return lm_fail_memory(ctx);
    memcpy(data->target, y, data->n * sizeof *y);
    return LIMN_OK;
}

limn_status limn_data_from_values(limn_context *context, limn_task task, const float *x, size_t n,
                                  size_t d, const double *y, limn_data **out) {
    limn_data *data;
    *out = NULL;
    limn_status status = from_features(context, task, x, n, d, &data);
    if (status != LIMN_OK)
        return status;
    if (y && (task == LIMN_CLASSIFY || task == LIMN_REGRESS))
        status = set_numbers(context, data, y);
    if (status != LIMN_OK) {
        limn_data_free(data);
        return status;
    }
    *out = data;
    return LIMN_OK;
}

static limn_status set_texts(limn_context *ctx, limn_data *data, const char *const *labels) {
    data->label = lm_alloc(&data->mem, data->n, sizeof *data->label);
    if (!data->label)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < data->n; i++) {
        if (!labels[i] || !*labels[i])
            return lm_fail(ctx, LIMN_E_DATA,
                           "row %zu: the label is missing; fill it or remove the row", i + 1);
        limn_status status =
            lm_labels_add(ctx, &data->schema.labels, labels[i], strlen(labels[i]), &data->label[i]);
        if (status != LIMN_OK)
            return status;
    }
    return sort_classes(ctx, data);
}

limn_status limn_data_from_labels(limn_context *context, const float *x, size_t n, size_t d,
                                  const char *const *labels, limn_data **out) {
    limn_data *data;
    *out = NULL;
    limn_status status = from_features(context, LIMN_CLASSIFY, x, n, d, &data);
    if (status != LIMN_OK)
        return status;
    if (labels)
        status = set_texts(context, data, labels);
    if (status != LIMN_OK) {
        limn_data_free(data);
        return status;
    }
    *out = data;
    return LIMN_OK;
}

limn_status limn_data_set_weights(limn_context *context, limn_data *data, const double *weights) {
    for (size_t i = 0; i < data->n; i++)
        if (!(weights[i] >= 0) || isinf(weights[i]))
            return lm_fail(context, LIMN_E_DATA,
                           "row %zu: the weight must be a finite number, 0 or more", i + 1);
    double *copy = lm_alloc(&data->mem, data->n, sizeof *copy);
    if (!copy)
        return lm_fail_memory(context);
    memcpy(copy, weights, data->n * sizeof *copy);
    lm_free(&data->mem, data->weight);
    data->weight = copy;
    return LIMN_OK;
}

limn_status limn_data_subsample(limn_context *context, const limn_data *data, double fraction,
                                limn_data **out) {
    return limn_data_subsample_by(context, data, fraction, LIMN_SUBSAMPLE_EQUAL, out);
}

limn_status limn_data_subsample_by(limn_context *context, const limn_data *data, double fraction,
                                   limn_subsample rule, limn_data **out) {
    size_t count = 0;
    *out = NULL;
    size_t *rows = lm_alloc(&context->mem, data->n, sizeof *rows);
    if (!rows)
        return lm_fail_memory(context);
    limn_status status = lm_split_sample_by(context, data->label, data->n, fraction, rule,
                                            context->seed, rows, &count);
    if (status == LIMN_OK)
        status = lm_data_take(context, data, rows, count, out);
    lm_free(&context->mem, rows);
    return status;
}

/* ---- accessors ---- */

size_t limn_data_rows(const limn_data *data) {
    return data->n;
}

size_t limn_data_features(const limn_data *data) {
    return data->schema.features;
}

size_t limn_data_width(const limn_data *data) {
    return lm_schema_width(&data->schema);
}

const float *limn_data_values(const limn_data *data) {
    return data->x;
}

const int32_t *limn_data_classes(const limn_data *data) {
    return data->label;
}

const double *limn_data_targets(const limn_data *data) {
    return data->target;
}

const double *limn_data_weights(const limn_data *data) {
    return data->weight;
}

size_t limn_data_class_count(const limn_data *data) {
    return data->schema.labels.count;
}

const char *limn_data_class_name(const limn_data *data, size_t index) {
    return index < data->schema.labels.count ? data->schema.labels.names[index] : NULL;
}

limn_status lm_data_narrow(limn_context *ctx, const limn_data *data, limn_data **out) {
    size_t d = data->schema.features;
    *out = NULL;
    if (!data->schema.beyond)
        return LIMN_OK;
    size_t *rows = lm_alloc(&ctx->mem, data->n, sizeof *rows);
    if (!rows)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < data->n; i++)
        rows[i] = i;
    limn_status status = lm_data_take(ctx, data, rows, data->n, out);
    lm_free(&ctx->mem, rows);
    if (status != LIMN_OK)
        return status;
    (*out)->schema.beyond = false;
    for (size_t i = 0; i < data->n; i++)
        memmove((*out)->x + i * d, (*out)->x + i * (d + 1), d * sizeof *data->x);
    return LIMN_OK;
}

limn_status lm_data_relabel(limn_context *ctx, limn_data *data, const lm_labels *labels) {
    lm_labels *own = &data->schema.labels, merged;
    int32_t *renumber = lm_alloc(&ctx->mem, own->count, sizeof *renumber);
    if (!renumber)
        return lm_fail_memory(ctx);
    lm_labels_init(&merged, &data->mem);
    limn_status status = lm_labels_copy(ctx, labels, &merged);
    for (size_t c = 0; c < own->count && status == LIMN_OK; c++)
        status = lm_labels_add(ctx, &merged, own->names[c], strlen(own->names[c]), &renumber[c]);
    if (status == LIMN_OK) {
        for (size_t i = 0; data->label && i < data->n; i++)
            data->label[i] = renumber[data->label[i]];
        lm_labels_free(own);
        *own = merged;
    } else {
        lm_labels_free(&merged);
    }
    lm_free(&ctx->mem, renumber);
    return status;
}
