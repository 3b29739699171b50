/* predict.c: the query path: check, scale, pass to the method in batches, on several threads if
 * requested.
 *
 * All memory is allocated when the predictor is made: per thread, the prepared rows of one batch
 * and the method's scratch. */
#include "base/sized.h"
#include "base/work.h"
#include "model/model.h"

#include <string.h>

/* One thread's memory. */
typedef struct layout {
    float *x; /* a batch of rows as the method sees them, unless the caller's rows can be used */
    void *scaler; /* the scratch of scaling */
    void *scratch;
} layout;

/* The most rows of a batch. */
static size_t most_rows(const limn_model *m) {
    return m->method->batch ? m->method->batch(m->body) : LM_BATCH;
}

static layout lay_out(const limn_model *m, lm_cursor *at) {
    bool own = !lm_scaler_is_none(&m->scaler) || m->schema.beyond;
    layout l;
    l.x = lm_take_cells(at, own ? most_rows(m) : 0, lm_model_width(m), sizeof *l.x);
    l.scaler = lm_here(at);
    lm_scaler_scratch(&m->scaler, at);
    l.scratch = lm_here(at);
    return l;
}

static bool slice_size(const limn_predictor *p, size_t *slice) {
    const limn_model *m = p->model;
    lm_cursor at = lm_cursor_at(NULL);
    (void)lay_out(m, &at);
    m->method->scratch(m->body, most_rows(m), p->neighbors, &at);
    return lm_measured(&at, slice);
}

void limn_predictor_options_init(limn_predictor_options *options) {
    LM_SIZED_INIT(options);
    options->threads = 1;
}

limn_status limn_predictor_new(limn_context *context, const limn_model *model,
                               const limn_predictor_options *options, limn_predictor **out) {
    *out = NULL;
    limn_predictor_options own;
    limn_predictor_options_init(&own);
    limn_status status = lm_options_take(context, "predictor_options", options, &own, sizeof own);
    if (status != LIMN_OK)
        return status;
    limn_predictor *p = lm_alloc_zero(&context->mem, 1, sizeof *p);
    if (!p)
        return lm_fail_memory(context);
    p->ctx = context;
    p->mem = context->mem;
    p->model = model;
    p->threads = own.threads > 0 ? own.threads : context->threads;
    p->threads = p->threads < LM_THREADS_MAX ? p->threads : LM_THREADS_MAX;
    p->neighbors = own.neighbors;
    p->vote = own.vote && model->method->vote;
    status = limn_predictor_renew(p);
    if (status != LIMN_OK) {
        limn_predictor_free(p);
        return status;
    }
    *out = p;
    return LIMN_OK;
}

limn_status limn_predictor_renew(limn_predictor *p) {
    size_t slice;
    if (!slice_size(p, &slice))
        return lm_fail_memory(p->ctx);
    if (!p->memory || slice > p->slice) {
        void *memory = lm_alloc_aligned(&p->mem, (size_t)p->threads, slice);
        if (!memory)
            return lm_fail_memory(p->ctx);
        lm_free_aligned(&p->mem, p->memory);
        p->memory = memory;
        p->slice = slice;
    }
    if (p->model->schema.task == LIMN_DENSITY)
        p->log_volume = lm_scaler_log_volume(&p->model->scaler);
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

/* Rows as the method sees them: the caller's own if possible, else a copy in room. */
static const float *prepare(const limn_model *m, const lm_query *q, size_t first, size_t n,
                            const layout *l) {
    const float *x = q->x + first * q->width;
    float *room = l->x;
    size_t d = m->scaler.out;
    bool as_it_is = q->scaled || lm_scaler_is_none(&m->scaler);
    if (as_it_is && q->width == lm_model_width(m))
        return x;
    if (!m->schema.beyond) {
        lm_scaler_apply(&m->scaler, x, n, room, l->scaler);
        return room;
    }
    /* The hidden feature is 0: not known, or, if the model scales, to be ignored. */
    for (size_t i = 0; i < n; i++) {
        float *to = room + i * (d + 1);
        if (as_it_is)
            memcpy(to, x + i * q->width, d * sizeof *to);
        else
            lm_scaler_apply(&m->scaler, x + i * q->width, 1, to, l->scaler);
        to[d] = 0;
    }
    return room;
}

/* A method gives the log density of the rows it sees; the answer is in the units of the data. */
static void shift(double *values, size_t n, double by) {
    for (size_t i = 0; i < n && by != 0; i++)
        values[i] += by;
}

/* Rows first .. first+n-1 of the query, no more than a batch. */
static void run_batch(const limn_predictor *p, const lm_query *q, size_t first, size_t n,
                      int thread) {
    const limn_model *m = p->model;
    const lm_method *method = m->method;
    lm_cursor at = lm_cursor_at(p->memory + (size_t)thread * p->slice);
    layout l = lay_out(m, &at);
    const float *x = prepare(m, q, first, n, &l);
    int32_t *classes = q->out;
    double *numbers = q->out;
    int64_t *rows = q->out;
    lm_touched *touched = q->out;
    switch (q->kind) {
    case LM_ASK_CLASSES:
        (p->vote ? method->vote : method->predict)(m->body, x, n, classes + first, l.scratch);
        return;
    case LM_ASK_PROBA:
        method->proba(m->body, x, n, numbers + first * m->schema.labels.count, l.scratch);
        return;
    case LM_ASK_VALUES:
        method->values(m->body, x, n, numbers + first, l.scratch);
        shift(numbers + first, n, p->log_volume);
        lm_scaler_unscale(&m->scaler, numbers + first, n);
        return;
    case LM_ASK_SCORES:
        method->scores(m->body, x, n, numbers + first * method->score_count(m->body), l.scratch);
        return;
    case LM_ASK_NEIGHBORS:
        method->searching->search(m->body, x, n, q->k, rows + first * q->k,
                                  q->distances + first * q->k, l.scratch);
        return;
    case LM_ASK_TOUCHED:
        method->touched(m->body, x, n, touched + thread, l.scratch);
        return;
    }
}

typedef struct whole_run {
    const limn_predictor *p;
    const lm_query *q;
    size_t batch; /* rows of each but the last */
} whole_run;

static void run_nth(void *user, size_t batch, int thread) {
    const whole_run *run = user;
    size_t first = batch * run->batch, left = run->q->n - first;
    run_batch(run->p, run->q, first, left < run->batch ? left : run->batch, thread);
}

/* As many rows as the method wants, but few enough that all threads have work. */
static size_t batch_rows(const limn_predictor *p, size_t n) {
    size_t most = most_rows(p->model), share = n / (size_t)p->threads + 1;
    share = share > LM_BATCH ? share : LM_BATCH;
    return share < most ? share : most;
}

static limn_status check(const limn_predictor *p, const lm_query *q) {
    const lm_schema *schema = &p->model->schema;
    if (p->changes != p->model->changes)
        return lm_fail(p->ctx, LIMN_E_USAGE,
                       "the model has changed since this predictor was made; renew it first "
                       "(limn_predictor_renew)");
    if (q->width != schema->features && q->width != lm_schema_width(schema) && !q->scaled)
        return lm_fail(
            p->ctx, LIMN_E_USAGE,
            "rows of %zu float%s, but the model has %zu feature%s; read them with match = "
            "the model",
            q->width, q->width == 1 ? "" : "s", schema->features, schema->features == 1 ? "" : "s");
    return lm_check_finite(p->ctx, schema, q->x, q->n, q->width);
}

limn_status lm_predictor_run(limn_predictor *p, const lm_query *q) {
    limn_status status = check(p, q);
    if (status != LIMN_OK)
        return status;
    whole_run run = {p, q, batch_rows(p, q->n)};
    size_t batches = q->n / run.batch + (q->n % run.batch != 0);
    if (p->threads > 1 && batches > 1)
        lm_parallel(p->threads, batches, run_nth, &run);
    else
        for (size_t b = 0; b < batches; b++)
            run_nth(&run, b, 0);
    return LIMN_OK;
}
