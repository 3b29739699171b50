/* evaluate.h: how well and how fast a model answers. */
#ifndef LIMN_EVAL_EVALUATE_H
#define LIMN_EVAL_EVALUATE_H

#include "model/model.h"

/* A monotonic clock in seconds. */
double lm_clock(void);

typedef struct lm_timing {
    double p50_us, p99_us;
    size_t rows; /* measured */
} lm_timing;

/* Latency as the project defines it: for each row the best of 5 single calls, in process, one
 * thread, warm, scaling included; median and 99th percentile over rows. When all rows would take
 * longer than seconds, evenly spaced ones are measured, at least 20 of them. call runs the
 * single query of one row. */
typedef limn_status (*lm_single_call)(void *user, size_t row);
limn_status lm_latency(limn_context *ctx, size_t n, double seconds, lm_single_call call, void *user,
                       lm_timing *out);

/* The share of answers (n x k distances, ascending) that are no farther than the k-th nearest of
 * the rows that the model holds, found by an exact scan. */
limn_status lm_recall(limn_context *ctx, const limn_model *model, const limn_data *data, size_t k,
                      const double *distances, double *recall);

#endif
