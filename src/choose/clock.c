/* clock.c: the latencies of a race, the models in turn on the same rows, one thread. */
#include "choose/race.h"

#include "svm/peer.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 20000, TURNS = 2, PEER_CELLS = 1 << 22 };

#define GLANCE_SECONDS 0.05
#define SECONDS 0.2
#define LIBSVM_SECONDS 1.0

/* Rows that are asked, spread over all that judge. */
typedef struct asked {
    limn_predictor *predictor;
    const limn_data *data;
    size_t step;
    const lm_svm_peer *peer;
} asked;

static size_t step_of(const limn_data *data) {
    return (data->n + MOST_ROWS - 1) / MOST_ROWS;
}

static size_t rows_of(const limn_data *data) {
    return data->n / step_of(data);
}

static limn_status ask(void *user, size_t row) {
    const asked *a = user;
    size_t width = lm_schema_width(&a->data->schema);
    const float *x = a->data->x + row * a->step * width;
    int32_t class;
    double value;
    bool regress = a->data->schema.task == LIMN_REGRESS;
    return limn_predict_rows(a->predictor, regress ? LIMN_ANSWER_VALUES : LIMN_ANSWER_CLASSES, x, 1,
                             width, regress ? (void *)&value : (void *)&class);
}

static limn_status time_model(limn_context *ctx, const limn_race *race, const limn_model *model,
                              double seconds, lm_timing *out) {
    const limn_data *data =
        model == race->model && race->rows.wide ? race->rows.wide : race->rows.judge;
    asked a = {.data = data, .step = step_of(data)};
    limn_status status = limn_predictor_new(ctx, model, NULL, &a.predictor);
    if (status == LIMN_OK)
        status = lm_latency(ctx, rows_of(data), seconds, ask, &a, out);
    limn_predictor_free(a.predictor);
    return status;
}

static void put(lm_entry *entry, const lm_timing *t) {
    entry->public.latency_us_mean = t->mean_us;
    entry->public.latency_us_p50 = t->p50_us;
    entry->public.latency_us_p99 = t->p99_us;
}

limn_status lm_race_glance(limn_context *ctx, const limn_race *race, lm_entry *entry) {
    lm_timing timing;
    limn_status status = time_model(ctx, race, entry->model, GLANCE_SECONDS, &timing);
    if (status == LIMN_OK)
        put(entry, &timing);
    return status;
}

/* ---- LIBSVM ---- */

static limn_status ask_peer(void *user, size_t row) {
    const asked *a = user;
    volatile double answer = lm_svm_peer_answer(a->peer, row); /* must not be left out */
    (void)answer;
    return LIMN_OK;
}

/* Its rows are sparse vectors of doubles: with many features, fewer of them. */
static size_t peer_rows(const limn_race *race) {
    size_t n = rows_of(race->rows.judge), most = PEER_CELLS / (race->model->scaler.out + 1) + 1;
    return n < most ? n : most;
}

/* The rows that are asked, as the machine sees them: rows x features of the method. */
static limn_status scaled_rows(limn_context *ctx, const limn_race *race, float **x) {
    const limn_data *data = race->rows.judge;
    const lm_scaler *scaler = &race->model->scaler;
    size_t n = peer_rows(race), step = step_of(data), cells;
    void *spare = NULL;
    *x = lm_mul(n, scaler->out, &cells) ? lm_alloc(&ctx->mem, cells, sizeof **x) : NULL;
    limn_status status = *x ? lm_scaler_spare(ctx, scaler, &spare) : lm_fail_memory(ctx);
    for (size_t i = 0; status == LIMN_OK && i < n; i++)
        lm_scaler_apply(scaler, data->x + i * step * data->schema.features, 1, *x + i * scaler->out,
                        spare);
    lm_free_aligned(&ctx->mem, spare);
    return status;
}

static limn_status time_libsvm(limn_context *ctx, limn_race *race) {
    const lm_svm *svm = lm_race_svm(race->model);
    lm_svm_peer *peer = NULL;
    lm_timing timing = {0, 0, 0, 0};
    if (!svm || !lm_svm_functions(svm))
        return LIMN_OK;
    float *x = NULL;
    limn_status status = scaled_rows(ctx, race, &x);
    if (status == LIMN_OK)
        status = lm_svm_peer_make(ctx, svm, x, race->model->scaler.out, peer_rows(race), &peer);
    if (status == LIMN_OK) {
        asked a = {.peer = peer};
        status = lm_latency(ctx, peer_rows(race), LIBSVM_SECONDS, ask_peer, &a, &timing);
    }
    if (status == LIMN_OK) {
        race->info.libsvm_us_mean = timing.mean_us;
        race->info.libsvm_us_p50 = timing.p50_us;
        race->info.libsvm_us_p99 = timing.p99_us;
    }
    lm_svm_peer_free(peer);
    lm_free(&ctx->mem, x);
    return status;
}

/* One after the other; of several turns, the one with the lowest mean counts. */
static limn_status take_turn(limn_context *ctx, limn_race *race, bool first) {
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < race->info.entries && status == LIMN_OK; i++) {
        lm_entry *entry = &race->entries[i];
        lm_timing timing;
        if (!entry->model)
            continue;
        status = time_model(ctx, race, entry->model, SECONDS, &timing);
        if (status == LIMN_OK && (first || timing.mean_us < entry->public.latency_us_mean))
            put(entry, &timing);
    }
    return status;
}

limn_status lm_race_time(limn_context *ctx, limn_race *race) {
    limn_status status = time_libsvm(ctx, race);
    for (int turn = 0; turn < TURNS && status == LIMN_OK; turn++)
        status = take_turn(ctx, race, turn == 0);
    for (size_t i = 0; i < race->info.entries && status == LIMN_OK; i++) {
        limn_entry *e = &race->entries[i].public;
        e->speedup_libsvm = race->info.libsvm_us_mean / e->latency_us_mean;
        e->speedup_exact = race->entries[0].public.latency_us_mean / e->latency_us_mean;
    }
    return status;
}
