/* weights.c: sample weights times class weights, in the form that methods expect.
 *
 * Only the ratios of weights matter: they are divided by their mean, so that a method sees mean 1
 * whatever their unit. Rows of weight 0 are left out. */
#include "model/weights.h"

#include "method.h"

#include <math.h>
#include <string.h>

/* ---- class_weight ---- */

static limn_status bad_list(limn_context *ctx, const char *item, size_t length, const char *why) {
    char shown[48];
    return lm_fail(ctx, LIMN_E_USAGE, "class_weight: '%s' %s; write label:weight,label:weight",
                   lm_quote(item, length, shown), why);
}

/* One "label:weight"; split at the last colon, since labels may contain colons. */
static limn_status set_item(limn_context *ctx, const lm_labels *labels, const char *item,
                            size_t length, double *weight) {
    size_t colon = length;
    double value;
    while (colon > 0 && item[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return bad_list(ctx, item, length, "has no weight");
    if (!lm_parse_double(item + colon, length - colon, &value) || !(value > 0) || isinf(value))
        return bad_list(ctx, item, length, "has a weight that is not a number above 0");
    int32_t id = lm_labels_find(labels, item, colon - 1);
    if (id < 0)
        return bad_list(ctx, item, colon - 1, "is not a class of the data");
    weight[id] = value;
    return LIMN_OK;
}

static limn_status set_list(limn_context *ctx, const lm_labels *labels, const char *text,
                            double *weight) {
    limn_status status = LIMN_OK;
    while (*text && status == LIMN_OK) {
        size_t length = strcspn(text, ",");
        status = set_item(ctx, labels, text, length, weight);
        text += length;
        text += *text == ',';
    }
    return status;
}

/* 1 if there are no weights. */
static double largest_of(const double *weight, size_t n) {
    double largest = weight ? 0 : 1;
    for (size_t i = 0; weight && i < n; i++)
        largest = weight[i] > largest ? weight[i] : largest;
    return largest;
}

/* Each class gets the same total: (all rows / classes) / (rows of the class), rows counted by
 * weight. */
static void balance(const limn_data *data, double *weight) {
    size_t k = data->schema.labels.count;
    double total = 0, largest = largest_of(data->weight, data->n);
    for (size_t c = 0; c < k; c++)
        weight[c] = 0;
    for (size_t i = 0; i < data->n; i++) {
        double own = data->weight ? data->weight[i] / largest : 1;
        weight[data->label[i]] += own;
        total += own;
    }
    for (size_t c = 0; c < k; c++)
        weight[c] = weight[c] > 0 ? total / ((double)k * weight[c]) : 1;
}

limn_status lm_weights_of_classes(limn_context *ctx, const limn_data *data, const lm_params *params,
                                  double **out) {
    const char *text = lm_param_text(params, "class_weight");
    size_t k = data->schema.labels.count;
    *out = NULL;
    if (!lm_param_exists(params, "class_weight") || strcmp(text, "none") == 0)
        return LIMN_OK;
    if (data->schema.task != LIMN_CLASSIFY)
        return lm_fail(ctx, LIMN_E_USAGE, "class_weight: the task %s has no classes; leave it out",
                       limn_task_name(data->schema.task));
    double *weight = lm_alloc(&ctx->mem, k, sizeof *weight);
    if (!weight)
        return lm_fail_memory(ctx);
    limn_status status = LIMN_OK;
    for (size_t c = 0; c < k; c++)
        weight[c] = 1;
    if (strcmp(text, "balanced") == 0)
        balance(data, weight);
    else
        status = set_list(ctx, &data->schema.labels, text, weight);
    if (status == LIMN_OK)
        *out = weight;
    else
        lm_free(&ctx->mem, weight);
    return status;
}

/* ---- rows of weight 0 ---- */

static limn_status check_classes(limn_context *ctx, const limn_data *part) {
    size_t k = part->schema.labels.count;
    limn_status status = LIMN_OK;
    bool *seen = lm_alloc_zero(&ctx->mem, k, sizeof *seen);
    if (!seen)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < part->n; i++)
        seen[part->label[i]] = true;
    for (size_t c = 0; c < k && status == LIMN_OK; c++) {
        char shown[48];
        const char *name = part->schema.labels.names[c];
        if (!seen[c])
            status = lm_fail(ctx, LIMN_E_DATA,
                             "no row of class '%s' has a weight above 0; remove the class or "
                             "correct the weights",
                             lm_quote(name, strlen(name), shown));
    }
    lm_free(&ctx->mem, seen);
    return status;
}

limn_status lm_weights_drop_zero(limn_context *ctx, const limn_data *data, limn_data **out) {
    size_t count = 0;
    *out = NULL;
    for (size_t i = 0; data->weight && i < data->n; i++)
        count += data->weight[i] > 0;
    if (!data->weight || count == data->n)
        return LIMN_OK;
    if (!count)
        return lm_fail(ctx, LIMN_E_DATA, "no row has a weight above 0; correct the weights");
    size_t *rows = lm_alloc(&ctx->mem, count, sizeof *rows);
    if (!rows)
        return lm_fail_memory(ctx);
    for (size_t i = 0, kept = 0; i < data->n; i++)
        if (data->weight[i] > 0)
            rows[kept++] = i;
    limn_status status = lm_data_take(ctx, data, rows, count, out);
    lm_free(&ctx->mem, rows);
    if (status == LIMN_OK && (*out)->label)
        status = check_classes(ctx, *out);
    if (status != LIMN_OK) {
        limn_data_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- sample and class weights ---- */

/* Scales to mean 1 within the range promised to methods. On entry the largest is at most 1. */
static void normalise(double *weight, size_t n) {
    double largest = largest_of(weight, n), sum = 0;
    for (size_t i = 0; i < n; i++) {
        weight[i] /= largest;
        sum += weight[i];
    }
    for (size_t i = 0; i < n; i++) {
        weight[i] *= (double)n / sum;
        weight[i] = weight[i] > LM_WEIGHT_MIN ? weight[i] : LM_WEIGHT_MIN;
    }
}

limn_status lm_weights_make(limn_context *ctx, const limn_data *data, const double *of_class,
                            double **out) {
    *out = NULL;
    if (!of_class && !data->weight)
        return LIMN_OK;
    double *weight = lm_alloc(&ctx->mem, data->n, sizeof *weight);
    if (!weight)
        return lm_fail_memory(ctx);
    /* Divide each by its largest first: no product overflows, and not all can underflow. */
    double most = largest_of(data->weight, data->n);
    double most_of_class = largest_of(of_class, data->schema.labels.count);
    for (size_t i = 0; i < data->n; i++)
        weight[i] = (data->weight ? data->weight[i] / most : 1) *
                    (of_class ? of_class[data->label[i]] / most_of_class : 1);
    normalise(weight, data->n);
    *out = weight;
    return LIMN_OK;
}
