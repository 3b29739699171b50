/* train.c: training a method on data, and creating and freeing models. */
#include "model/model.h"
#include "model/teach.h"
#include "model/weights.h"
#include "num/linalg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

limn_status lm_model_new(limn_context *ctx, const lm_method *method, limn_model **out) {
    limn_model *model = lm_alloc_zero(&ctx->mem, 1, sizeof *model);
    if (!model)
        return lm_fail_memory(ctx);
    model->mem = ctx->mem;
    model->method = method;
    lm_params_init(method->info.name, method->info.params, method->info.param_count,
                   &model->params);
    lm_schema_init(&model->schema, &model->mem);
    *out = model;
    return LIMN_OK;
}

void limn_model_free(limn_model *model) {
    if (!model)
        return;
    limn_allocator mem = model->mem;
    if (model->body)
        model->method->destroy(&mem, model->body);
    lm_schema_free(&model->schema);
    lm_scaler_free(&mem, &model->scaler);
    lm_free(&mem, model->written_by);
    lm_free(&mem, model->teacher);
    lm_file_close(model->file);
    lm_free(&mem, model);
}

unsigned lm_task_capability(limn_task task) {
    switch (task) {
    case LIMN_CLASSIFY:
        return LIMN_CAN_CLASSIFY;
    case LIMN_REGRESS:
        return LIMN_CAN_REGRESS;
    case LIMN_SEARCH:
        return LIMN_CAN_SEARCH;
    case LIMN_OUTLIER:
        return LIMN_CAN_OUTLIER;
    case LIMN_DENSITY:
        return LIMN_CAN_DENSITY;
    }
    return 0;
}

static limn_status fail_method(limn_context *ctx, const char *name) {
    char known[512] = "";
    for (size_t i = 0; lm_method_at(i); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 lm_method_at(i)->info.name);
    }
    char quoted[48];
    return lm_fail(ctx, LIMN_E_USAGE, "there is no method '%s'; the methods are %s",
                   name ? lm_quote(name, strlen(name), quoted) : "", known);
}

/* Whether the scaling asked for goes with the task. */
static limn_status check_scale(limn_context *ctx, limn_scale scale, limn_task task) {
    if (scale == LIMN_SCALE_AUTO)
        return LIMN_OK;
    if (scale == LIMN_SCALE_LEARNED && task != LIMN_CLASSIFY && task != LIMN_REGRESS)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "--scale learned needs the tasks classify or regress: a map is learned from "
                       "labels; choose another scaling for the task %s",
                       limn_task_name(task));
    if (task == LIMN_DENSITY && !lm_scale_is_line(scale))
        return lm_fail(ctx, LIMN_E_USAGE,
                       "--scale %s bends the axes, so that a density has no unit; choose none, "
                       "minmax or zscore for the task density",
                       limn_scale_name(scale));
    return LIMN_OK;
}

limn_status lm_model_plan(limn_context *ctx, const limn_train_options *options, limn_task task,
                          const lm_method **method, lm_params *params) {
    *method = lm_method_find(options->method);
    if (!*method)
        return fail_method(ctx, options->method);
    const limn_method_info *info = &(*method)->info;
    if (!limn_task_name(task))
        return lm_fail(ctx, LIMN_E_USAGE, "there is no task number %d", (int)task);
    if (!(lm_method_capabilities(*method) & lm_task_capability(task)))
        return lm_fail(ctx, LIMN_E_USAGE,
                       "%s does not support the task %s; see 'limn methods' for methods that do",
                       info->name, limn_task_name(task));
    lm_params_init(info->name, info->params, info->param_count, params);
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < options->param_count && status == LIMN_OK; i++)
        status = lm_params_set(ctx, params, options->params[i]);
    if (status == LIMN_OK && (*method)->check)
        status = (*method)->check(ctx, task, params);
    if (status == LIMN_OK)
        status = check_scale(ctx, options->scale, task);
    lm_teaching_plan plan = lm_teaching_resolve(*method, options);
    return status == LIMN_OK ? lm_teaching_check(ctx, *method, task, &plan) : status;
}

static limn_status check_data(limn_context *ctx, const limn_data *data) {
    limn_task task = data->schema.task;
    if (data->n == 0 || data->schema.features == 0)
        return lm_fail(ctx, LIMN_E_DATA, "there is nothing to train on: %zu row%s of %zu feature%s",
                       data->n, data->n == 1 ? "" : "s", data->schema.features,
                       data->schema.features == 1 ? "" : "s");
    if ((task == LIMN_CLASSIFY && !data->label) || (task == LIMN_REGRESS && !data->target))
        return lm_fail(
            ctx, LIMN_E_DATA,
            "the rows have no labels to train on; name the label column (--label) or, for an "
            "array, its file of labels (--label-file)");
    for (size_t i = 0; data->target && i < data->n; i++)
        if (!isfinite(data->target[i]))
            return lm_fail(ctx, LIMN_E_DATA, "row %zu: the target is not a finite number", i + 1);
    return lm_check_finite(ctx, &data->schema, data->x, data->n, data->schema.features);
}

/* What the method sees: the data itself if nothing is scaled, else a scaled copy. */
static limn_status scale_rows(limn_context *ctx, const limn_model *model, const limn_data *data,
                              const float **x, float **owned) {
    *owned = NULL;
    *x = data->x;
    if (lm_scaler_is_none(&model->scaler))
        return LIMN_OK;
    size_t count;
    void *spare = NULL;
    if (!lm_mul(data->n, model->scaler.out, &count) ||
        !(*owned = lm_alloc(&ctx->mem, count, sizeof **owned)))
        return lm_fail_memory(ctx);
    limn_status status = lm_scaler_spare(ctx, &model->scaler, &spare);
    if (status == LIMN_OK)
        lm_scaler_apply(&model->scaler, data->x, data->n, *owned, spare);
    lm_free_aligned(&ctx->mem, spare);
    *x = *owned;
    return status;
}

size_t lm_model_width(const limn_model *model) {
    return model->scaler.out + model->schema.beyond;
}

unsigned lm_model_capabilities(const limn_model *model) {
    unsigned can = lm_method_capabilities(model->method);
    if (model->method->lacks)
        can &= ~model->method->lacks(model->body);
    if (model->schema.task != LIMN_CLASSIFY)
        can &= ~(unsigned)(LIMN_CAN_CLASSIFY | LIMN_CAN_PROBA);
    if (model->schema.task != LIMN_REGRESS)
        can &= ~(unsigned)LIMN_CAN_REGRESS;
    if (model->schema.task != LIMN_OUTLIER)
        can &= ~(unsigned)LIMN_CAN_OUTLIER;
    if (model->schema.task != LIMN_DENSITY)
        can &= ~(unsigned)LIMN_CAN_DENSITY;
    else
        can &= ~(unsigned)LIMN_CAN_SCORES;
    return can & ~(unsigned)LIMN_CAN_BE_TAUGHT; /* it has been taught already */
}

size_t lm_model_scores(const limn_model *model) {
    bool has = model->method->scores && model->schema.task != LIMN_DENSITY;
    return has ? model->method->score_count(model->body) : 0;
}

static limn_status train_body(limn_context *ctx, limn_model *model, const limn_data *data,
                              const lm_teacher *teacher, void **shared) {
    float *owned = NULL;
    double *weight = NULL, *of_class = NULL;
    bool weighs = model->method->can & LIMN_CAN_WEIGHT;
    lm_train_set set = {.task = data->schema.task,
                        .n = data->n,
                        .d = model->scaler.out,
                        .classes =
                            data->schema.task == LIMN_CLASSIFY ? model->schema.labels.count : 0,
                        .label = data->schema.task == LIMN_CLASSIFY ? data->label : NULL,
                        .target = data->target,
                        .teacher = teacher,
                        .shared = shared};
    limn_status status = lm_weights_of_classes(ctx, data, &model->params, &of_class);
    if (status == LIMN_OK && weighs)
        status = lm_weights_make(ctx, data, of_class, &weight);
    set.weight = weight;
    set.class_weight = of_class;
    if (status == LIMN_OK)
        status = scale_rows(ctx, model, data, &set.x, &owned);
    if (status == LIMN_OK) {
        int threads = lm_blas_single();
        status = model->method->train(ctx, &set, &model->params, &model->body);
        lm_blas_restore(threads);
    }
    lm_free(&ctx->mem, owned);
    lm_free(&ctx->mem, weight);
    lm_free(&ctx->mem, of_class);
    return status;
}

/* The classes of an outlier model, whatever labels its data had. */
static limn_status name_sides(limn_context *ctx, lm_labels *labels) {
    int32_t id;
    lm_labels_free(labels);
    limn_status status = lm_labels_add(ctx, labels, "-1", 2, &id);
    return status == LIMN_OK ? lm_labels_add(ctx, labels, "1", 1, &id) : status;
}

static limn_status prepare_scaler(limn_context *ctx, limn_model *model, const limn_data *data,
                                  const limn_train_options *options) {
    const lm_method *method = model->method;
    limn_task task = data->schema.task;
    limn_scale scale = options->scale;
    if (scale == LIMN_SCALE_AUTO)
        scale = method->scaling ? method->scaling(&model->params) : method->info.default_scale;
    lm_scaler_rows rows = {.x = data->x,
                           .n = data->n,
                           .d = data->schema.features,
                           .label = task == LIMN_CLASSIFY ? data->label : NULL,
                           .classes = model->schema.labels.count,
                           .target = task == LIMN_REGRESS ? data->target : NULL};
    if (scale == LIMN_SCALE_AUTO && !rows.label && !rows.target)
        scale = LIMN_SCALE_NONE; /* nothing says which is better */
    return lm_scaler_fit(ctx, scale, method->online != NULL, &rows, &model->scaler);
}

/* teacher: the model that lends its columns, labels and scaling, or NULL. */
static limn_status prepare(limn_context *ctx, limn_model *model, const limn_data *data,
                           const limn_train_options *options, const limn_model *teacher) {
    limn_status status = check_data(ctx, data);
    if (status == LIMN_OK)
        status = lm_schema_copy(ctx, teacher ? &teacher->schema : &data->schema, &model->schema);
    if (status == LIMN_OK && data->schema.task == LIMN_OUTLIER)
        status = name_sides(ctx, &model->schema.labels);
    model->schema.beyond = false;
    if (status != LIMN_OK)
        return status;
    if (!teacher)
        return prepare_scaler(ctx, model, data, options);
    status = lm_scaler_copy(ctx, &teacher->scaler, &model->scaler);
    model->scaler.target = false; /* the teacher answers in the units of the data */
    return status;
}

static limn_status check_weights(limn_context *ctx, const limn_data *data,
                                 const lm_method *method) {
    limn_task task = data->schema.task;
    if (!data->weight)
        return LIMN_OK;
    if (!(method->can & LIMN_CAN_WEIGHT))
        return lm_fail(ctx, LIMN_E_USAGE,
                       "%s cannot use sample weights; see 'limn methods' for methods that can",
                       method->info.name);
    if (task != LIMN_CLASSIFY && task != LIMN_REGRESS)
        return lm_fail(ctx, LIMN_E_USAGE, "the task %s does not use sample weights; leave them out",
                       limn_task_name(task));
    return LIMN_OK;
}

/* Everything after the plan. data has no rows of weight 0. */
static limn_status train_model(limn_context *ctx, const limn_data *data,
                               const limn_train_options *options, void **shared,
                               limn_model *model) {
    lm_teaching teaching = {.rows = NULL};
    lm_teaching_plan plan = lm_teaching_resolve(model->method, options);
    bool taught = plan.wanted;
    model->rows = data->n;
    model->seed = ctx->seed;
    model->written_by = lm_strdup(&model->mem, limn_version());
    limn_status status = model->written_by ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_teaching_check(ctx, model->method, data->schema.task, &plan);
    if (status == LIMN_OK && taught)
        status = lm_teaching_begin(ctx, data, model->method, &plan, &teaching);
    if (status == LIMN_OK)
        status = prepare(ctx, model, data, options, teaching.model);
    if (status == LIMN_OK && taught)
        status = lm_teaching_make(ctx, data, &model->scaler, &teaching);
    if (status == LIMN_OK)
        status = train_body(ctx, model, data, taught ? &teaching.teacher : NULL, shared);
    model->teacher = teaching.about;
    teaching.about = NULL;
    lm_teaching_free(&teaching);
    return status == LIMN_OK ? lm_model_measure(ctx, model, &model->bytes) : status;
}

limn_status lm_model_train_planned(limn_context *ctx, const limn_data *data,
                                   const lm_method *method, const lm_params *params,
                                   const limn_train_options *options, void **shared,
                                   limn_model **out) {
    limn_model *model = NULL;
    limn_data *narrow = NULL, *part = NULL;
    limn_status status = check_weights(ctx, data, method);
    if (status == LIMN_OK)
        status = lm_data_narrow(ctx, data, &narrow);
    data = narrow ? narrow : data;
    if (status == LIMN_OK)
        status = lm_weights_drop_zero(ctx, data, &part);
    if (status == LIMN_OK)
        status = lm_model_new(ctx, method, &model);
    if (status == LIMN_OK) {
        model->params = *params;
        status = train_model(ctx, part ? part : data, options, shared, model);
    }
    limn_data_free(part);
    limn_data_free(narrow);
    if (status != LIMN_OK) {
        limn_model_free(model);
        return status;
    }
    method->stats(model->body, &model->stats);
    *out = model;
    return LIMN_OK;
}

limn_status lm_model_train(limn_context *ctx, const limn_data *data,
                           const limn_train_options *options, limn_model **out) {
    *out = NULL;
    const lm_method *method;
    lm_params params;
    limn_status status = lm_model_plan(ctx, options, data->schema.task, &method, &params);
    return status == LIMN_OK
               ? lm_model_train_planned(ctx, data, method, &params, options, NULL, out)
               : status;
}
