/* metrics.c: the definitions are in the header; sums are in double. */
#include "eval/metrics.h"

#include <math.h>
#include <string.h>

void lm_confusion(const int32_t *truth, const int32_t *answer, size_t n, size_t k,
                  uint64_t *confusion) {
    memset(confusion, 0, k * k * sizeof *confusion);
    for (size_t i = 0; i < n; i++)
        confusion[(size_t)truth[i] * k + (size_t)answer[i]]++;
}

double lm_accuracy(const uint64_t *confusion, size_t k) {
    uint64_t right = 0, all = 0;
    for (size_t t = 0; t < k; t++)
        for (size_t a = 0; a < k; a++) {
            all += confusion[t * k + a];
            right += t == a ? confusion[t * k + a] : 0;
        }
    return all ? (double)right / (double)all : (double)NAN;
}

double lm_balanced_accuracy(const uint64_t *confusion, size_t k) {
    double sum = 0;
    size_t present = 0;
    for (size_t t = 0; t < k; t++) {
        uint64_t rows = 0;
        for (size_t a = 0; a < k; a++)
            rows += confusion[t * k + a];
        if (rows) {
            sum += (double)confusion[t * k + t] / (double)rows;
            present++;
        }
    }
    return present ? sum / (double)present : (double)NAN;
}

static double entropy_term(uint64_t count, double all) {
    if (!count)
        return 0;
    double p = (double)count / all;
    return -p * log(p);
}

double lm_uncertainty_coefficient(const uint64_t *confusion, size_t k) {
    double all = 0, joint = 0, truth = 0, answer = 0;
    for (size_t i = 0; i < k * k; i++)
        all += (double)confusion[i];
    for (size_t i = 0; i < k; i++) {
        uint64_t row = 0, column = 0;
        for (size_t j = 0; j < k; j++) {
            row += confusion[i * k + j];
            column += confusion[j * k + i];
            joint += entropy_term(confusion[i * k + j], all);
        }
        truth += entropy_term(row, all);
        answer += entropy_term(column, all);
    }
    /* H(t | a) = H(t, a) - H(a) */
    return truth > 0 ? (truth - (joint - answer)) / truth : (double)NAN;
}

double lm_log_loss(const int32_t *truth, const double *p, size_t n, size_t model_classes) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t t = (size_t)truth[i];
        double q = t < model_classes ? p[i * model_classes + t] : 0;
        sum -= log(q > 1e-15 ? q : 1e-15);
    }
    return n ? sum / (double)n : (double)NAN;
}

double lm_brier(const int32_t *truth, const double *p, size_t n, size_t model_classes) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t t = (size_t)truth[i];
        for (size_t c = 0; c < model_classes; c++) {
            double miss = p[i * model_classes + c] - (c == t ? 1 : 0);
            sum += miss * miss;
        }
        sum += t >= model_classes ? 1 : 0;
    }
    return n ? sum / (double)n : (double)NAN;
}

double lm_ece(const int32_t *truth, const double *p, size_t n, size_t model_classes) {
    enum { BINS = 15 };
    double confidence[BINS] = {0}, right[BINS] = {0}, error = 0;
    for (size_t i = 0; i < n; i++) {
        const double *row = p + i * model_classes;
        size_t best = 0;
        for (size_t c = 1; c < model_classes; c++)
            best = row[c] > row[best] ? c : best;
        /* The bins are open below and closed above, as (0, 1/15] ... (14/15, 1]. */
        double place = ceil(row[best] * BINS) - 1;
        size_t bin = place < 0 ? 0 : place >= BINS ? BINS - 1 : (size_t)place;
        confidence[bin] += row[best];
        right[bin] += best == (size_t)truth[i] ? 1 : 0;
    }
    for (size_t b = 0; b < BINS; b++)
        error += fabs(right[b] - confidence[b]);
    return n ? error / (double)n : (double)NAN;
}

double lm_mae(const double *truth, const double *answer, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(truth[i] - answer[i]);
    return n ? sum / (double)n : (double)NAN;
}

static double squares(const double *truth, const double *answer, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (truth[i] - answer[i]) * (truth[i] - answer[i]);
    return sum;
}

double lm_rmse(const double *truth, const double *answer, size_t n) {
    return n ? sqrt(squares(truth, answer, n) / (double)n) : (double)NAN;
}

double lm_r2(const double *truth, const double *answer, size_t n) {
    double mean = 0, total = 0;
    for (size_t i = 0; i < n; i++)
        mean += truth[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        total += (truth[i] - mean) * (truth[i] - mean);
    return total > 0 ? 1 - squares(truth, answer, n) / total : (double)NAN;
}
