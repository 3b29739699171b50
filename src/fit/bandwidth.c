/* bandwidth.c: the bandwidth of an adaptive Gaussian filter.
 *
 * P. Mills, "Accelerating kernel classifiers through borders mapping", 2017, Eq. 7. With
 * beta = 1/(2 s^2), L(beta) = log sum_i exp(-beta d_i^2) falls from log n to the log of the number
 * m of rows at distance 0, and is convex. Its root L = log W, m < W < n, lies between
 *
 *   log(n/W) / d_max^2        where even the farthest row would give enough, and
 *   log((n-m)/(W-m)) / d_1^2  where even the nearest row (of those not at 0) gives too little.
 *
 * Newton's steps from the left of a convex function do not overshoot; a step that leaves the
 * bracket (rounding) or shrinks it too slowly is replaced by the geometric mean of its ends. */
#include "fit/bandwidth.h"

#include <math.h>

enum { STEPS = 200 };
#define TOLERANCE 1e-13

/* The sums of exp(-beta d^2) and of d^2 exp(-beta d^2). */
static void sums_at(const lm_ranked *near, size_t count, double beta, double *sum, double *slope) {
    *sum = *slope = 0;
    for (size_t i = 0; i < count; i++) {
        double e = exp(-beta * near[i].key);
        *sum += e;
        *slope += near[i].key * e;
    }
}

static double solve(const lm_ranked *near, size_t count, size_t zeros, double w) {
    double n = (double)count, m = (double)zeros;
    double low = log(n / w) / near[count - 1].key;
    double high = log((n - m) / (w - m)) / near[zeros].key;
    double beta = low, before = INFINITY;
    for (int step = 0; step < STEPS; step++) {
        double sum, slope;
        sums_at(near, count, beta, &sum, &slope);
        *(sum > w ? &low : &high) = beta;
        if (fabs(sum - w) <= TOLERANCE * w || !(high > low * (1 + TOLERANCE)))
            break;
        double next = beta + log(sum / w) * sum / slope;
        bool slow = high / low > before / 2 && step % 4 == 3;
        if (!(next > low && next < high) || slow)
            next = sqrt(low) * sqrt(high);
        if (step % 4 == 3)
            before = high / low;
        beta = next;
    }
    return beta;
}

double lm_agf_weights(const lm_ranked *near, size_t count, double w, double *weight) {
    size_t zeros = 0;
    w = lm_agf_w(w, count);
    while (zeros < count && near[zeros].key == 0)
        zeros++;
    if ((double)zeros >= w || !(near[zeros].key > 0)) {
        for (size_t i = 0; i < count; i++)
            weight[i] = i < zeros;
        return 0;
    }
    double beta = solve(near, count, zeros, w);
    for (size_t i = 0; i < count; i++)
        weight[i] = exp(-beta * near[i].key);
    return 0.5 / beta;
}
