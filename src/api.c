/* api.c: the public functions: they check arguments and dispatch. */
#include "data/read/reader.h"
#include "model/model.h"
#include "num/pack.h"

#include <math.h>
#include <string.h>

limn_status limn_context_new(const limn_context_options *options, limn_context **out) {
    *out = NULL;
    if (!lm_isa_valid())
        return LIMN_E_USAGE;
    return lm_context_make(options, out);
}

const char *limn_isa(void) {
    return lm_isa_name();
}

/* ---- data ---- */

static const limn_read_options *or_default(const limn_read_options *options,
                                           limn_read_options *defaults) {
    limn_read_options_init(defaults);
    return options ? options : defaults;
}

limn_status limn_data_read(limn_context *context, const char *path,
                           const limn_read_options *options, const limn_model *match,
                           limn_data **out) {
    limn_read_options defaults;
    *out = NULL;
    return lm_data_read(context, path, or_default(options, &defaults),
                        match ? &match->schema : NULL, out);
}

limn_status limn_reader_open(limn_context *context, const char *path,
                             const limn_read_options *options, const limn_model *match,
                             limn_reader **out) {
    limn_read_options defaults;
    *out = NULL;
    return lm_reader_open(context, path, or_default(options, &defaults),
                          match ? &match->schema : NULL, out);
}

limn_status limn_data_match(limn_context *context, limn_data *data, const limn_model *model) {
    if (data->schema.features != model->schema.features)
        return lm_fail(context, LIMN_E_DATA, "the data has %zu features, the model %zu",
                       data->schema.features, model->schema.features);
    return lm_data_relabel(context, data, &model->schema.labels);
}

/* ---- models ---- */

void limn_train_options_init(limn_train_options *options) {
    memset(options, 0, sizeof *options);
    options->scale = LIMN_SCALE_AUTO;
}

limn_status limn_train_check(limn_context *context, const limn_train_options *options,
                             limn_task task) {
    lm_params params;
    const lm_method *method;
    return lm_model_plan(context, options, task, &method, &params);
}

limn_status limn_train(limn_context *context, const limn_data *data,
                       const limn_train_options *options, limn_model **out) {
    return lm_model_train(context, data, options, out);
}

limn_status limn_model_save(limn_context *context, const limn_model *model, const char *path) {
    return lm_model_save(context, model, path);
}

limn_status limn_model_open(limn_context *context, const char *path, limn_model **out) {
    lm_file *file;
    limn_status status = lm_model_import(context, path, out);
    if (status != LIMN_OK || *out)
        return status;
    status = lm_file_open(context, path, &file);
    return status == LIMN_OK ? lm_model_load(context, file, out) : status;
}

limn_status limn_model_export(limn_context *context, const limn_model *model, const char *path) {
    return lm_model_export(context, model, path);
}

static unsigned model_capabilities(const limn_model *model) {
    unsigned capabilities = model->method->info.capabilities;
    if (model->method->lacks)
        capabilities &= ~model->method->lacks(model->body);
    if (model->schema.task != LIMN_CLASSIFY)
        capabilities &= ~(unsigned)(LIMN_CAN_CLASSIFY | LIMN_CAN_PROBA);
    if (model->schema.task != LIMN_REGRESS)
        capabilities &= ~(unsigned)LIMN_CAN_REGRESS;
    if (model->schema.task != LIMN_OUTLIER)
        capabilities &= ~(unsigned)LIMN_CAN_OUTLIER;
    if (model->schema.task != LIMN_DENSITY)
        capabilities &= ~(unsigned)LIMN_CAN_DENSITY;
    return capabilities;
}

void limn_model_describe(const limn_model *model, limn_model_info *out) {
    lm_stats stats;
    size_t bytes;
    lm_model_figures(model, &stats, &bytes);
    *out = (limn_model_info){
        .method = model->method->info.name,
        .task = model->schema.task,
        .scale = model->scaler.kind,
        .columns = model->schema.columns,
        .features = model->schema.features,
        .used_features = model->scaler.out,
        .classes = model->schema.labels.count,
        .scores = model->method->scores ? model->method->score_count(model->body) : 0,
        .rows = model->rows,
        .learned = model->learned,
        .seed = model->seed,
        .capabilities = model_capabilities(model),
        .param_count = model->method->info.param_count,
        .stat_count = stats.count,
        .bytes = bytes,
        .written_by = model->written_by,
        .touched_vectors = stats.touched_vectors,
        .touched_bytes = stats.touched_bytes};
}

const char *limn_model_class_name(const limn_model *model, size_t index) {
    return index < model->schema.labels.count ? model->schema.labels.names[index] : NULL;
}

const char *limn_model_feature_name(const limn_model *model, size_t index) {
    const lm_schema *s = &model->schema;
    return s->feature_names && index < s->features ? s->feature_names[index] : NULL;
}

const char *limn_model_label_name(const limn_model *model) {
    return model->schema.label_name;
}

int limn_model_score_pair(const limn_model *model, size_t index, size_t *first, size_t *second) {
    size_t k = model->schema.labels.count, i = 0;
    if (!model->method->scores || model->method->class_scores ||
        model->schema.task != LIMN_CLASSIFY || index >= model->method->score_count(model->body))
        return 0;
    while (index >= k - 1 - i)
        index -= k - 1 - i++;
    *first = i;
    *second = i + 1 + index;
    return 1;
}

int limn_model_score_class(const limn_model *model, size_t index, size_t *of) {
    if (!model->method->class_scores || index >= model->method->score_count(model->body))
        return 0;
    *of = index;
    return 1;
}

int limn_model_column(const limn_model *model, size_t index, limn_column_info *out) {
    const lm_schema *s = &model->schema;
    if (index >= s->columns)
        return 0;
    *out = (limn_column_info){.first_feature = index};
    if (!s->column)
        return 1;
    const lm_column *column = &s->column[index];
    out->name = column->name;
    out->first_feature = column->first;
    out->categories = column->categories.count;
    out->has_fill = !isnan(column->fill);
    out->fill = out->has_fill ? column->fill : 0;
    return 1;
}

const char *limn_model_category(const limn_model *model, size_t column, size_t index) {
    const lm_schema *s = &model->schema;
    bool there = column < s->columns && index < lm_schema_categories(s, column);
    return there ? s->column[column].categories.names[index] : NULL;
}

const char *limn_model_param(const limn_model *model, size_t index, const char **key) {
    const limn_method_info *info = &model->method->info;
    if (index >= info->param_count)
        return NULL;
    if (key)
        *key = info->params[index].key;
    return model->params.values[index].text;
}

const char *limn_model_stat(const limn_model *model, size_t index, double *value) {
    lm_stats stats;
    lm_model_figures(model, &stats, NULL);
    if (index >= stats.count)
        return NULL;
    if (value)
        *value = stats.list[index].value;
    return stats.list[index].name;
}

/* ---- learning: model/learn.c and model/mark.c ---- */

/* ---- predicting: limn_predictor_new and limn_predictor_free are in model/predict.c ---- */

void limn_predictor_options_init(limn_predictor_options *options) {
    memset(options, 0, sizeof *options);
    options->threads = 1;
}

void limn_predictor_beyond(limn_predictor *predictor, const float *beyond) {
    predictor->beyond = beyond;
}

/* Refuses a question that the model cannot answer. */
static limn_status check_task(limn_predictor *p, limn_task task, bool supported, const char *what) {
    const limn_model *model = p->model;
    if (model->schema.task != task)
        return lm_fail(p->ctx, LIMN_E_USAGE, "the model was trained to %s and gives no %s",
                       limn_task_name(model->schema.task), what);
    if (!supported)
        return lm_fail(p->ctx, LIMN_E_UNSUPPORTED, "%s gives no %s", model->method->info.name,
                       what);
    return LIMN_OK;
}

limn_status limn_predict(limn_predictor *predictor, const float *x, size_t n, int32_t *classes) {
    limn_task task = predictor->model->schema.task == LIMN_OUTLIER ? LIMN_OUTLIER : LIMN_CLASSIFY;
    limn_status status = check_task(predictor, task, predictor->model->method->predict, "classes");
    if (status != LIMN_OK)
        return status;
    lm_query query = {.x = x, .n = n, .classes = classes, .beyond = predictor->beyond};
    return lm_predictor_run(predictor, &query);
}

limn_status limn_predict_proba(limn_predictor *predictor, const float *x, size_t n, double *proba) {
    bool there = model_capabilities(predictor->model) & LIMN_CAN_PROBA;
    limn_status status = check_task(predictor, LIMN_CLASSIFY, there, "probabilities");
    if (status != LIMN_OK)
        return status;
    lm_query query = {.x = x, .n = n, .proba = proba, .beyond = predictor->beyond};
    return lm_predictor_run(predictor, &query);
}

limn_status limn_predict_values(limn_predictor *predictor, const float *x, size_t n,
                                double *values) {
    limn_status status =
        check_task(predictor, LIMN_REGRESS, predictor->model->method->values, "values");
    if (status != LIMN_OK)
        return status;
    lm_query query = {.x = x, .n = n, .values = values, .beyond = predictor->beyond};
    return lm_predictor_run(predictor, &query);
}

limn_status limn_predict_scores(limn_predictor *predictor, const float *x, size_t n,
                                double *scores) {
    const lm_method *method = predictor->model->method;
    if (!method->scores)
        return lm_fail(predictor->ctx, LIMN_E_UNSUPPORTED, "%s gives no decision values",
                       method->info.name);
    lm_query query = {.x = x, .n = n, .scores = scores, .beyond = predictor->beyond};
    return lm_predictor_run(predictor, &query);
}

limn_status limn_search(limn_predictor *predictor, const float *x, size_t n, size_t k,
                        int64_t *rows, double *distances) {
    const lm_method *method = predictor->model->method;
    if (!method->search)
        return lm_fail(predictor->ctx, LIMN_E_UNSUPPORTED, "%s cannot search", method->info.name);
    if (k == 0 || k > predictor->neighbors)
        return lm_fail(predictor->ctx, LIMN_E_USAGE,
                       "k=%zu, but the predictor was made for 1 to %zu neighbors", k,
                       predictor->neighbors);
    lm_query query = {.x = x, .n = n, .rows = rows, .distances = distances, .k = k};
    return lm_predictor_run(predictor, &query);
}
