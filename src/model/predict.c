/* predict.c: the query path: check, scale, hand to the method in batches, over threads if asked.
 *
 * All memory is taken when the predictor is made: per thread the scaled rows of one batch and the
 * method's scratch. */
#include "base/work.h"
#include "model/model.h"

#include <string.h>

static bool slice_size(const limn_predictor *p, size_t *scaled, size_t *slice) {
    const limn_model *m = p->model;
    size_t method_bytes;
    *scaled = 0;
    if (m->scaler.kind != LIMN_SCALE_NONE || m->beyond) {
        if (!lm_mul(LM_BATCH * sizeof(float), lm_model_width(m), scaled))
            return false;
        *scaled = (*scaled + 63) / 64 * 64;
    }
    return m->method->scratch_size(m->body, LM_BATCH, p->neighbors, &method_bytes) &&
           lm_add(method_bytes, 63, &method_bytes) &&
           lm_add(*scaled, method_bytes / 64 * 64, slice);
}

limn_status limn_predictor_new(limn_context *context, const limn_model *model,
                               const limn_predictor_options *options, limn_predictor **out) {
    *out = NULL;
    limn_predictor_options defaults;
    limn_predictor_options_init(&defaults);
    if (!options)
        options = &defaults;
    limn_predictor *p = lm_alloc_zero(&context->mem, 1, sizeof *p);
    if (!p)
        return lm_fail_memory(context);
    p->ctx = context;
    p->mem = context->mem;
    p->model = model;
    p->threads = options->threads > 0 ? options->threads : context->threads;
    p->threads = p->threads < LM_THREADS_MAX ? p->threads : LM_THREADS_MAX;
    p->neighbors = options->neighbors;
    p->vote = options->vote && model->method->vote;
    limn_status status = limn_predictor_renew(p);
    if (status != LIMN_OK) {
        limn_predictor_free(p);
        return status;
    }
    *out = p;
    return LIMN_OK;
}

limn_status limn_predictor_renew(limn_predictor *p) {
    size_t scaled, slice;
    if (!slice_size(p, &scaled, &slice))
        return lm_fail_memory(p->ctx);
    if (!p->memory || slice > p->slice) {
        void *memory = lm_alloc_aligned(&p->mem, (size_t)p->threads, slice);
        if (!memory)
            return lm_fail_memory(p->ctx);
        lm_free_aligned(&p->mem, p->memory);
        p->memory = memory;
        p->slice = slice;
    }
    p->scaled_bytes = scaled;
    p->changes = p->model->changes;
    return LIMN_OK;
}

void limn_predictor_free(limn_predictor *predictor) {
    if (!predictor)
        return;
    limn_allocator mem = predictor->mem;
    lm_free_aligned(&mem, predictor->memory);
    lm_free(&mem, predictor);
}

/* Rows with the squares beyond behind each; such a model is never scaled. */
static void append_beyond(const limn_model *m, const float *x, const float *beyond, size_t n,
                          float *out) {
    size_t d = m->schema.features;
    for (size_t i = 0; i < n; i++) {
        memcpy(out + i * (d + 1), x + i * d, d * sizeof *out);
        out[i * (d + 1) + d] = beyond ? beyond[i] : 0;
    }
}

/* Rows first .. first+n-1 of the query, n <= LM_BATCH, with one thread's memory. */
static void run_batch(const limn_predictor *p, const lm_query *q, size_t first, size_t n,
                      unsigned char *memory) {
    const limn_model *m = p->model;
    const float *x = q->x + first * m->schema.features;
    void *scratch = memory + p->scaled_bytes;
    if (m->scaler.kind != LIMN_SCALE_NONE) {
        lm_scaler_apply(&m->scaler, x, n, (float *)(void *)memory);
        x = (const float *)(const void *)memory;
    } else if (m->beyond) {
        append_beyond(m, x, q->beyond ? q->beyond + first : NULL, n, (float *)(void *)memory);
        x = (const float *)(const void *)memory;
    }
    if (q->classes)
        (p->vote ? m->method->vote : m->method->predict)(m->body, x, n, q->classes + first,
                                                         scratch);
    else if (q->proba)
        m->method->proba(m->body, x, n, q->proba + first * m->schema.labels.count, scratch);
    else if (q->values)
        m->method->values(m->body, x, n, q->values + first, scratch);
    else if (q->scores)
        m->method->scores(m->body, x, n, q->scores + first * m->method->score_count(m->body),
                          scratch);
    else
        m->method->search(m->body, x, n, q->k, q->rows + first * q->k, q->distances + first * q->k,
                          scratch);
}

typedef struct whole_run {
    const limn_predictor *p;
    const lm_query *q;
} whole_run;

static void run_nth(void *user, size_t batch, int thread) {
    const whole_run *run = user;
    size_t first = batch * LM_BATCH, left = run->q->n - first;
    run_batch(run->p, run->q, first, left < LM_BATCH ? left : LM_BATCH,
              run->p->memory + (size_t)thread * run->p->slice);
}

limn_status lm_predictor_run(limn_predictor *p, const lm_query *q) {
    const limn_model *m = p->model;
    if (p->changes != m->changes)
        return lm_fail(p->ctx, LIMN_E_USAGE,
                       "the model has changed since this predictor was made; renew it first "
                       "(limn_predictor_renew)");
    limn_status status =
        lm_check_finite(p->ctx, q->x, q->n, m->schema.features, m->schema.feature_names);
    if (status != LIMN_OK)
        return status;
    size_t batches = q->n / LM_BATCH + (q->n % LM_BATCH != 0);
    whole_run run = {p, q};
    if (p->threads > 1 && batches > 1)
        lm_parallel(p->threads, batches, run_nth, &run);
    else
        for (size_t b = 0; b < batches; b++)
            run_nth(&run, b, 0);
    return LIMN_OK;
}
