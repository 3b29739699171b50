/* api.c: the public functions. They check arguments and dispatch. */
#include "base/sized.h"
#include "data/convert.h"
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

limn_status limn_data_read(limn_context *context, const char *path,
                           const limn_read_options *options, const limn_model *match,
                           limn_data **out) {
    limn_read_options own;
    limn_read_options_init(&own);
    *out = NULL;
    limn_status status = lm_options_take(context, "read_options", options, &own, sizeof own);
    return status == LIMN_OK ? lm_data_read(context, path, &own, match ? &match->schema : NULL, out)
                             : status;
}

limn_status limn_reader_open(limn_context *context, const char *path,
                             const limn_read_options *options, const limn_model *match,
                             limn_reader **out) {
    limn_read_options own;
    limn_read_options_init(&own);
    *out = NULL;
    limn_status status = lm_options_take(context, "read_options", options, &own, sizeof own);
    return status == LIMN_OK
               ? lm_reader_open(context, path, &own, match ? &match->schema : NULL, out)
               : status;
}

void limn_convert_info_init(limn_convert_info *info) {
    LM_SIZED_INIT(info);
}

static limn_status refuse_model(limn_context *context, const char *path) {
    limn_kind kind;
    if (!path || !*path)
        return lm_fail(context, LIMN_E_USAGE, "the name of an input file is empty");
    limn_status status = limn_file_kind(context, path, &kind);
    if (status == LIMN_OK && kind != LIMN_KIND_DATA)
        status = lm_fail(context, LIMN_E_USAGE,
                         "%s: this is a model, not data; open it as a model and save or export it",
                         path);
    return status;
}

limn_status limn_convert(limn_context *context, const char *from, const limn_read_options *reading,
                         const char *to, const limn_write_options *writing,
                         limn_convert_info *info) {
    limn_read_options read;
    limn_write_options write;
    limn_convert_info facts = {.rows = 0};
    limn_read_options_init(&read);
    limn_write_options_init(&write);
    limn_status status = lm_options_take(context, "read_options", reading, &read, sizeof read);
    if (status == LIMN_OK)
        status = lm_options_take(context, "write_options", writing, &write, sizeof write);
    if (status == LIMN_OK)
        status = lm_result_check(context, "convert_info", info);
    if (status == LIMN_OK)
        status = refuse_model(context, from);
    if (status == LIMN_OK)
        status = lm_convert(context, from, &read, to, &write, &facts);
    if (status == LIMN_OK && info)
        lm_sized_give(&facts, info, sizeof facts);
    return status;
}

limn_status limn_data_match(limn_context *context, limn_data *data, const limn_model *model) {
    if (data->schema.features != model->schema.features)
        return lm_fail(context, LIMN_E_DATA, "the data has %zu feature%s, but the model has %zu",
                       data->schema.features, data->schema.features == 1 ? "" : "s",
                       model->schema.features);
    return lm_data_relabel(context, data, &model->schema.labels);
}

/* ---- models ---- */

void limn_train_options_init(limn_train_options *options) {
    LM_SIZED_INIT(options);
    options->scale = LIMN_SCALE_AUTO;
}

limn_status limn_train_check(limn_context *context, const limn_train_options *options,
                             limn_task task) {
    lm_params params;
    const lm_method *method;
    limn_train_options own;
    limn_train_options_init(&own);
    limn_status status = lm_options_take(context, "train_options", options, &own, sizeof own);
    return status == LIMN_OK ? lm_model_plan(context, &own, task, &method, &params) : status;
}

limn_status limn_train(limn_context *context, const limn_data *data,
                       const limn_train_options *options, limn_model **out) {
    limn_train_options own;
    limn_train_options_init(&own);
    *out = NULL;
    limn_status status = lm_options_take(context, "train_options", options, &own, sizeof own);
    return status == LIMN_OK ? lm_model_train(context, data, &own, out) : status;
}

limn_status limn_model_save(limn_context *context, const limn_model *model, const char *path) {
    return lm_model_save(context, model, path);
}

limn_status limn_model_open(limn_context *context, const char *path, limn_model **out) {
    lm_file *file;
    limn_status status = lm_model_import(context, path, NULL, out);
    if (status != LIMN_OK || *out)
        return status;
    status = lm_file_open(context, path, &file);
    return status == LIMN_OK ? lm_model_load(context, file, out) : status;
}

limn_status limn_model_open_ranges(limn_context *context, const char *path, const char *ranges,
                                   limn_model **out) {
    lm_file *file;
    if (!ranges)
        return limn_model_open(context, path, out);
    limn_status status = lm_model_import(context, path, ranges, out);
    if (status != LIMN_OK || *out)
        return status;
    status = lm_file_open(context, path, &file);
    if (status != LIMN_OK)
        return status;
    lm_file_close(file);
    return lm_fail(context, LIMN_E_USAGE,
                   "%s: --ranges gives a LIBSVM text model its scaling, but this is a limn model, "
                   "which has its own; leave --ranges out",
                   path);
}

limn_status limn_model_export(limn_context *context, const limn_model *model, const char *path) {
    return lm_model_export(context, model, path);
}

void limn_model_info_init(limn_model_info *info) {
    LM_SIZED_INIT(info);
}

void limn_model_describe(const limn_model *model, limn_model_info *out) {
    lm_stats stats;
    size_t bytes;
    lm_model_figures(model, &stats, &bytes);
    limn_model_info info = {.method = model->method->info.name,
                            .task = model->schema.task,
                            .scale = lm_scaler_kind(&model->scaler),
                            .columns = model->schema.columns,
                            .features = model->schema.features,
                            .used_features = model->scaler.kept,
                            .classes = model->schema.labels.count,
                            .scores = lm_model_scores(model),
                            .rows = model->rows,
                            .learned = model->learned,
                            .seed = model->seed,
                            .capabilities = lm_model_capabilities(model),
                            .param_count = model->method->info.param_count,
                            .stat_count = stats.count,
                            .bytes = bytes,
                            .written_by = model->written_by,
                            .teacher = model->teacher,
                            .scaled_target = model->scaler.target,
                            .touched_vectors = stats.touched.vectors,
                            .touched_bytes = stats.touched.bytes};
    lm_sized_give(&info, out, sizeof info);
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
    if (!model->method->class_scores || index >= lm_model_scores(model))
        return 0;
    *of = index;
    return 1;
}

void limn_column_info_init(limn_column_info *info) {
    LM_SIZED_INIT(info);
}

int limn_model_column(const limn_model *model, size_t index, limn_column_info *out) {
    const lm_schema *s = &model->schema;
    if (index >= s->columns)
        return 0;
    limn_column_info info = {.first_feature = index};
    if (s->column) {
        const lm_column *column = &s->column[index];
        info.name = column->name;
        info.first_feature = column->first;
        info.categories = column->categories.count;
        info.has_fill = !isnan(column->fill);
        info.fill = info.has_fill ? column->fill : 0;
    }
    lm_sized_give(&info, out, sizeof info);
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

/* ---- how a model scales ---- */

void limn_scaling_init(limn_scaling *scaling) {
    LM_SIZED_INIT(scaling);
}

void limn_model_scaling(const limn_model *model, limn_scaling *out) {
    const lm_scaler *s = &model->scaler;
    limn_scaling scaling = {.kind = lm_scaler_kind(s),
                            .base = s->kind,
                            .rows = s->chosen.rows,
                            .trials = s->chosen.count,
                            .map_rows = s->gate.rows,
                            .map_trials = s->gate.count,
                            .axes = s->map ? s->map->out : 0,
                            .variance = s->map ? s->map->variance : 0};
    lm_sized_give(&scaling, out, sizeof scaling);
}

void limn_scaling_trial_init(limn_scaling_trial *trial) {
    LM_SIZED_INIT(trial);
}

int limn_model_scaling_trial(const limn_model *model, int of_map, size_t index,
                             limn_scaling_trial *out) {
    const lm_trials *trials = of_map ? &model->scaler.gate : &model->scaler.chosen;
    if (index >= trials->count)
        return 0;
    const lm_trial *from = &trials->list[index];
    limn_scaling_trial trial = {.name = from->name,
                                .wrong = from->wrong,
                                .mends = from->mends,
                                .breaks = from->breaks,
                                .taken = from->taken};
    lm_sized_give(&trial, out, sizeof trial);
    return 1;
}

int limn_model_heavy_feature(const limn_model *model, size_t index, size_t *feature,
                             double *share) {
    const lm_scaler *s = &model->scaler;
    if (!s->map || index >= s->kept)
        return 0;
    size_t kept = (size_t)s->map->heavy[index].row;
    *feature = s->keep ? s->keep[kept] : kept;
    *share = -s->map->heavy[index].key;
    return 1;
}

/* ---- learning: model/learn.c and model/mark.c ---- */

/* ---- predicting: limn_predictor_new and its like are in model/predict.c ---- */

/* Refuses a question that the model cannot answer. */
static limn_status check_task(limn_predictor *p, limn_task task, bool supported, const char *what) {
    const limn_model *model = p->model;
    if (model->schema.task != task)
        return lm_fail(p->ctx, LIMN_E_USAGE,
                       "the model was trained for the task %s and gives no %s",
                       limn_task_name(model->schema.task), what);
    if (!supported)
        return lm_fail(p->ctx, LIMN_E_UNSUPPORTED, "%s gives no %s", model->method->info.name,
                       what);
    return LIMN_OK;
}

static limn_status check_answer(limn_predictor *p, limn_answer answer) {
    const limn_model *model = p->model;
    const lm_method *method = model->method;
    limn_task task = model->schema.task;
    switch (answer) {
    case LIMN_ANSWER_CLASSES:
        return check_task(p, task == LIMN_OUTLIER ? LIMN_OUTLIER : LIMN_CLASSIFY, method->predict,
                          "classes");
    case LIMN_ANSWER_PROBA:
        return check_task(p, LIMN_CLASSIFY, lm_model_capabilities(model) & LIMN_CAN_PROBA,
                          "probabilities");
    case LIMN_ANSWER_VALUES:
        return check_task(p, task == LIMN_DENSITY ? LIMN_DENSITY : LIMN_REGRESS, method->values,
                          "values");
    case LIMN_ANSWER_SCORES:
        if (task == LIMN_DENSITY)
            return check_task(p, LIMN_CLASSIFY, false, "decision values");
        if (method->scores)
            return LIMN_OK;
        return lm_fail(p->ctx, LIMN_E_UNSUPPORTED, "%s gives no decision values",
                       method->info.name);
    }
    return lm_fail(p->ctx, LIMN_E_USAGE, "there is no answer number %d", (int)answer);
}

limn_status limn_predict_rows(limn_predictor *predictor, limn_answer answer, const float *x,
                              size_t n, size_t width, void *out) {
    limn_status status = check_answer(predictor, answer);
    if (status != LIMN_OK)
        return status;
    lm_query query = {.x = x, .n = n, .width = width, .kind = (lm_ask)answer, .out = out};
    return lm_predictor_run(predictor, &query);
}

limn_status limn_predict(limn_predictor *predictor, const float *x, size_t n, int32_t *classes) {
    return limn_predict_rows(predictor, LIMN_ANSWER_CLASSES, x, n,
                             predictor->model->schema.features, classes);
}

limn_status limn_predict_proba(limn_predictor *predictor, const float *x, size_t n, double *proba) {
    return limn_predict_rows(predictor, LIMN_ANSWER_PROBA, x, n, predictor->model->schema.features,
                             proba);
}

limn_status limn_predict_values(limn_predictor *predictor, const float *x, size_t n,
                                double *values) {
    return limn_predict_rows(predictor, LIMN_ANSWER_VALUES, x, n, predictor->model->schema.features,
                             values);
}

limn_status limn_predict_scores(limn_predictor *predictor, const float *x, size_t n,
                                double *scores) {
    return limn_predict_rows(predictor, LIMN_ANSWER_SCORES, x, n, predictor->model->schema.features,
                             scores);
}

limn_status limn_search(limn_predictor *predictor, const float *x, size_t n, size_t k,
                        int64_t *rows, double *distances) {
    const lm_method *method = predictor->model->method;
    if (!method->searching)
        return lm_fail(predictor->ctx, LIMN_E_UNSUPPORTED, "%s cannot search", method->info.name);
    if (k == 0 || k > predictor->neighbors)
        return lm_fail(predictor->ctx, LIMN_E_USAGE,
                       "k=%zu, but this predictor allows k from 1 to %zu", k, predictor->neighbors);
    lm_query query = {.x = x,
                      .n = n,
                      .width = predictor->model->schema.features,
                      .kind = LM_ASK_NEIGHBORS,
                      .out = rows,
                      .distances = distances,
                      .k = k};
    return lm_predictor_run(predictor, &query);
}
