/* io.c: the sections of lda: packed weights, biases, the centre. */
#include "methods/lda/lda.h"

limn_status lda_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    (void)ctx;
    const lda_model *m = opaque;
    size_t floats = m->weights.panels * LM_PANEL * m->d;
    limn_status status = lm_writer_section(writer, "lda.weights", LDA_FILE_VERSION, m->weights.data,
                                           floats * sizeof(float));
    if (status == LIMN_OK)
        status = lm_writer_section(writer, "lda.bias", LDA_FILE_VERSION, m->bias,
                                   m->classes * sizeof *m->bias);
    if (status == LIMN_OK)
        status = lm_writer_section(writer, "lda.centre", LDA_FILE_VERSION, m->centre,
                                   m->d * sizeof *m->centre);
    return status;
}

static limn_status take(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                        lda_model *model) {
    size_t floats;
    const void *weights, *bias, *centre;
    if (!lm_pack_floats(shape->classes, shape->d, &floats))
        return lm_file_bad(ctx, file, "its numbers of classes, %zu, and features, %zu, are invalid",
                           shape->classes, shape->d);
    limn_status status =
        lm_file_array(ctx, file, "lda.weights", LDA_FILE_VERSION, floats, sizeof(float), &weights);
    if (status == LIMN_OK)
        status = lm_file_array(ctx, file, "lda.bias", LDA_FILE_VERSION, shape->classes,
                               sizeof(double), &bias);
    if (status == LIMN_OK)
        status = lm_file_array(ctx, file, "lda.centre", LDA_FILE_VERSION, shape->d, sizeof(float),
                               &centre);
    if (status != LIMN_OK)
        return status;
    lm_pack_view(weights, shape->classes, shape->d, &model->weights);
    model->bias = bias;
    model->centre = centre;
    return LIMN_OK;
}

limn_status lda_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                     const lm_params *params, void **out) {
    (void)params;
    lda_model *model = lm_alloc_zero(&ctx->mem, 1, sizeof *model);
    if (!model)
        return lm_fail_memory(ctx);
    model->d = shape->d;
    model->classes = shape->classes;
    limn_status status = take(ctx, file, shape, model);
    if (status != LIMN_OK)
        lda_destroy(&ctx->mem, model);
    else
        *out = model;
    return status;
}
