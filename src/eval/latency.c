/* latency.c: the latency of a stream of different queries.
 *
 * The rows are shuffled with the context's seed and asked one per call, pass after pass in the same
 * order, so that between two calls for a row the caches and the branch predictor have seen all the
 * others. A row's time is its best over the passes: interrupts and other programs only ever add.
 * Reading the clock costs a quarter of what the fastest models need for a query, so the cost of an
 * empty interval is measured and subtracted. */
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { LEAST_PASSES = 5, MOST_PASSES = 20, LEAST_ROWS = 20, EMPTY_INTERVALS = 1000 };

#define PROGRESS_SECONDS 0.1

typedef struct stream {
    limn_context *ctx;
    lm_single_call call;
    void *user;
    size_t *order; /* of all rows; the first `rows` are measured */
    double *best;  /* seconds, by place in order */
    size_t rows;
    double begun, given, told; /* seconds */
    double clock_cost;
} stream;

double lm_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double cost_of_clock(void) {
    double least = 1;
    for (int i = 0; i < EMPTY_INTERVALS; i++) {
        double start = lm_clock(), took = lm_clock() - start;
        least = took < least ? took : least;
    }
    return least;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The smallest value that at least share of the sorted values do not exceed. */
static double quantile(const double *sorted, size_t n, double share) {
    size_t place = (size_t)ceil(share * (double)n);
    return sorted[place ? place - 1 : 0];
}

/* Reports rarely: what the callback does would be felt by the next query. */
static limn_status report(stream *s, double now) {
    if (now - s->told < PROGRESS_SECONDS)
        return LIMN_OK;
    s->told = now;
    double share = s->given > 0 ? (now - s->begun) / s->given : 1;
    return lm_progress(s->ctx, "timing", 0, 0, share < 1 ? share : 1);
}

/* One call per row. The first pass ends early when it has used its share of the time: later passes
 * then ask the same rows. */
static limn_status run_pass(stream *s, bool first) {
    for (size_t i = 0; i < s->rows; i++) {
        double start = lm_clock();
        limn_status status = s->call(s->user, s->order[i]);
        double now = lm_clock(), took = now - start - s->clock_cost;
        s->best[i] = took < s->best[i] ? took : s->best[i];
        if (status == LIMN_OK)
            status = report(s, now);
        if (status != LIMN_OK)
            return status;
        if (first && i + 1 >= LEAST_ROWS && now - s->begun >= s->given / LEAST_PASSES)
            s->rows = i + 1;
    }
    return LIMN_OK;
}

static limn_status run_passes(stream *s) {
    limn_status status = LIMN_OK;
    s->begun = s->told = lm_clock();
    for (int pass = 0; pass < MOST_PASSES && status == LIMN_OK; pass++) {
        if (pass >= LEAST_PASSES && lm_clock() - s->begun >= s->given)
            break;
        status = run_pass(s, pass == 0);
    }
    return status;
}

/* Sorts the times. */
static lm_timing summarise(double *times, size_t rows) {
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        times[i] = times[i] > 1e-9 ? times[i] : 1e-9;
        sum += times[i];
    }
    qsort(times, rows, sizeof *times, ascending);
    return (lm_timing){1e6 * sum / (double)rows, 1e6 * quantile(times, rows, 0.5),
                       1e6 * quantile(times, rows, 0.99), rows};
}

limn_status lm_latency(limn_context *ctx, size_t n, double seconds, lm_single_call call, void *user,
                       lm_timing *out) {
    if (n == 0)
        return LIMN_OK;
    limn_status status = LIMN_OK;
    stream s = {.ctx = ctx, .call = call, .user = user, .rows = n, .given = seconds};
    s.order = lm_alloc(&ctx->mem, n, sizeof *s.order);
    s.best = lm_alloc(&ctx->mem, n, sizeof *s.best);
    if (!s.order || !s.best) {
        status = lm_fail_memory(ctx);
        goto done;
    }
    lm_rng rng = lm_rng_at(ctx->seed, LM_STREAM_LATENCY, 0);
    for (size_t i = 0; i < n; i++) {
        s.order[i] = i;
        s.best[i] = (double)INFINITY;
    }
    lm_rng_shuffle(&rng, s.order, n);
    s.clock_cost = cost_of_clock();
    status = run_passes(&s);
    if (status == LIMN_OK)
        *out = summarise(s.best, s.rows);
done:
    lm_free(&ctx->mem, s.order);
    lm_free(&ctx->mem, s.best);
    return status;
}
