/* io.c: the sections of knn: the packed rows, their squared norms, their labels or targets, and, if
 * there are any, the weights of their votes. */
#include "methods/knn/knn.h"

#include <math.h>

limn_status knn_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    (void)ctx;
    const knn_model *m = opaque;
    size_t n = m->set.pack.n, floats = m->set.pack.panels * LM_PANEL * m->set.pack.d;
    limn_status status = lm_writer_section(writer, "knn.rows", KNN_FILE_VERSION, m->set.pack.data,
                                           floats * sizeof(float));
    if (status == LIMN_OK && m->set.norms)
        status = lm_writer_section(writer, "knn.norms", KNN_FILE_VERSION, m->set.norms,
                                   n * sizeof *m->set.norms);
    if (status == LIMN_OK && m->label)
        status = lm_writer_section(writer, "knn.labels", KNN_FILE_VERSION, m->label,
                                   n * sizeof *m->label);
    if (status == LIMN_OK && m->target)
        status = lm_writer_section(writer, "knn.targets", KNN_FILE_VERSION, m->target,
                                   n * sizeof *m->target);
    if (status == LIMN_OK && m->weight)
        status = lm_writer_section(writer, "knn.weights", KNN_FILE_VERSION, m->weight,
                                   n * sizeof *m->weight);
    return status;
}

static limn_status load_rows(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                             knn_model *model) {
    size_t floats;
    const void *data;
    if (shape->rows == 0 || shape->rows > SIZE_MAX ||
        !lm_pack_floats((size_t)shape->rows, shape->d, &floats))
        return lm_file_bad(ctx, file, "its numbers of rows, %llu, and features, %zu, are invalid",
                           (unsigned long long)shape->rows, shape->d);
    limn_status status =
        lm_file_array(ctx, file, "knn.rows", KNN_FILE_VERSION, floats, sizeof(float), &data);
    if (status == LIMN_OK)
        lm_pack_view(data, (size_t)shape->rows, shape->d, &model->set.pack);
    return status;
}

static limn_status load_norms(limn_context *ctx, const lm_file *file, knn_model *model) {
    const void *data;
    limn_status status = lm_file_array(ctx, file, "knn.norms", KNN_FILE_VERSION, model->set.pack.n,
                                       sizeof(float), &data);
    if (status != LIMN_OK)
        return status;
    model->set.norms = data;
    for (size_t i = 0; i < model->set.pack.n; i++)
        if (!(model->set.norms[i] >= 0)) /* infinite if the square is too large for a float */
            return lm_file_bad(ctx, file, "the norm of row %zu is invalid", i);
    return LIMN_OK;
}

static limn_status load_labels(limn_context *ctx, const lm_file *file, knn_model *model) {
    const void *data;
    limn_status status = lm_file_array(ctx, file, "knn.labels", KNN_FILE_VERSION, model->set.pack.n,
                                       sizeof(int32_t), &data);
    if (status != LIMN_OK)
        return status;
    model->label = data;
    for (size_t i = 0; i < model->set.pack.n; i++)
        if (model->label[i] < 0 || (size_t)model->label[i] >= model->classes)
            return lm_file_bad(ctx, file, "row %zu has class %ld, but the number of classes is %zu",
                               i, (long)model->label[i], model->classes);
    return LIMN_OK;
}

static limn_status load_targets(limn_context *ctx, const lm_file *file, knn_model *model) {
    const void *data;
    limn_status status = lm_file_array(ctx, file, "knn.targets", KNN_FILE_VERSION,
                                       model->set.pack.n, sizeof(double), &data);
    if (status != LIMN_OK)
        return status;
    model->target = data;
    for (size_t i = 0; i < model->set.pack.n; i++)
        if (!isfinite(model->target[i]))
            return lm_file_bad(ctx, file, "the target of row %zu is not finite", i);
    return LIMN_OK;
}

static limn_status load_weights(limn_context *ctx, const lm_file *file, knn_model *model) {
    const void *data;
    limn_status status = lm_file_array(ctx, file, "knn.weights", KNN_FILE_VERSION,
                                       model->set.pack.n, sizeof(double), &data);
    if (status != LIMN_OK)
        return status;
    model->weight = data;
    for (size_t i = 0; i < model->set.pack.n; i++)
        if (!(model->weight[i] >= LM_WEIGHT_MIN && model->weight[i] <= LM_WEIGHT_MAX))
            return lm_file_bad(ctx, file, "the weight of row %zu is invalid", i);
    return LIMN_OK;
}

limn_status knn_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                     const lm_params *params, void **out) {
    knn_model *model = lm_alloc_zero(&ctx->mem, 1, sizeof *model);
    if (!model)
        return lm_fail_memory(ctx);
    model->task = shape->task;
    model->classes = shape->classes;
    limn_status status = load_rows(ctx, file, shape, model);
    if (status == LIMN_OK && lm_param_choice(params, "metric") != LM_NEAREST_L1)
        status = load_norms(ctx, file, model);
    if (status == LIMN_OK && shape->task == LIMN_CLASSIFY)
        status = load_labels(ctx, file, model);
    if (status == LIMN_OK && shape->task == LIMN_REGRESS)
        status = load_targets(ctx, file, model);
    if (status == LIMN_OK && shape->task != LIMN_SEARCH && lm_file_has(file, "knn.weights"))
        status = load_weights(ctx, file, model);
    if (status != LIMN_OK) {
        knn_destroy(&ctx->mem, model);
        return status;
    }
    knn_configure(model, params);
    *out = model;
    return LIMN_OK;
}
