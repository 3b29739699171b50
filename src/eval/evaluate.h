/* evaluate.h: how well and how fast a model answers. */
#ifndef LIMN_EVAL_EVALUATE_H
#define LIMN_EVAL_EVALUATE_H

#include "model/model.h"

/* A monotonic clock in seconds. */
double lm_clock(void);

typedef struct lm_timing {
    double mean_us, p50_us, p99_us;
    size_t rows; /* measured */
} lm_timing;

/* Latency of a stream of different queries: the rows in a seeded shuffle, one call per row, the
 * whole pass repeated 5 to 20 times as the given seconds allow; a row's time is its best over the
 * passes; mean, median and 99th percentile over rows. When 5 passes over all rows would take
 * longer than seconds, only the first rows of the shuffle are asked, at least 20. call answers one
 * row. *out is left alone when n is 0. */
typedef limn_status (*lm_single_call)(void *user, size_t row);
limn_status lm_latency(limn_context *ctx, size_t n, double seconds, lm_single_call call, void *user,
                       lm_timing *out);

/* The share of answers (n x k distances, ascending) that are no farther than the k-th nearest of
 * the rows that the model holds, found by an exact scan. */
limn_status lm_recall(limn_context *ctx, const limn_model *model, const limn_data *data, size_t k,
                      const double *distances, double *recall);

#endif
