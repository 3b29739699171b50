/* latency.c: best of 5 single calls a row, then the median and the 99th percentile over rows. */
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 5, LEAST_ROWS = 20 };

double lm_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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

static limn_status best_of_calls(lm_single_call call, void *user, size_t row, double *seconds) {
    *seconds = 1e30;
    for (int i = 0; i < CALLS; i++) {
        double start = lm_clock();
        limn_status status = call(user, row);
        double took = lm_clock() - start;
        if (status != LIMN_OK)
            return status;
        *seconds = took < *seconds ? took : *seconds;
    }
    return LIMN_OK;
}

/* How many of n rows fit into the time, judged by the first one. */
static limn_status affordable_rows(size_t n, double seconds, lm_single_call call, void *user,
                                   size_t *rows) {
    double one;
    limn_status status = best_of_calls(call, user, 0, &one);
    if (status != LIMN_OK)
        return status;
    double fit = seconds > 0 ? seconds / (CALLS * (one > 1e-9 ? one : 1e-9)) : 0;
    *rows = fit < (double)n ? (size_t)fit : n;
    if (*rows < LEAST_ROWS)
        *rows = n < LEAST_ROWS ? n : LEAST_ROWS;
    return LIMN_OK;
}

limn_status lm_latency(limn_context *ctx, size_t n, double seconds, lm_single_call call, void *user,
                       lm_timing *out) {
    size_t rows = 0;
    limn_status status = n ? affordable_rows(n, seconds, call, user, &rows) : LIMN_OK;
    if (status != LIMN_OK || rows == 0)
        return status;
    double *times = lm_alloc(&ctx->mem, rows, sizeof *times);
    if (!times)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < rows && status == LIMN_OK; i++) {
        size_t row = i * (n / rows) + i * (n % rows) / rows;
        status = best_of_calls(call, user, row, &times[i]);
        if (status == LIMN_OK && i % 16 == 0)
            status = lm_progress(ctx, "timing", i, rows, (double)i / (double)rows);
    }
    if (status == LIMN_OK) {
        qsort(times, rows, sizeof *times, ascending);
        *out =
            (lm_timing){1e6 * quantile(times, rows, 0.5), 1e6 * quantile(times, rows, 0.99), rows};
    }
    lm_free(&ctx->mem, times);
    return status;
}
