/* metrics.c: the definitions are in the header. Sums are in double precision. */
#include "eval/metrics.h"

#include <math.h>
#include <stdbool.h>
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

static void add_row(lm_proba_sums *sums, size_t truth, const double *p, size_t classes) {
    size_t best = 0;
    double likely = truth < classes ? p[truth] : 0;
    for (size_t c = 0; c < classes; c++) {
        double miss = p[c] - (c == truth ? 1 : 0);
        sums->brier += miss * miss;
        best = p[c] > p[best] ? c : best;
    }
    sums->brier += truth >= classes ? 1 : 0;
    sums->log -= log(likely > 1e-15 ? likely : 1e-15);
    /* The bins are (0, 1/15] ... (14/15, 1]. */
    double place = ceil(p[best] * LM_ECE_BINS) - 1;
    size_t bin = !(place > 0) ? 0 : place >= LM_ECE_BINS ? LM_ECE_BINS - 1 : (size_t)place;
    sums->confidence[bin] += p[best];
    sums->right[bin] += best == truth ? 1 : 0;
}

void lm_proba_add(lm_proba_sums *sums, const int32_t *truth, const double *p, size_t n,
                  size_t model_classes) {
    for (size_t i = 0; i < n; i++)
        add_row(sums, (size_t)truth[i], p + i * model_classes, model_classes);
    sums->n += n;
}

static double per_row(double sum, size_t n) {
    return n ? sum / (double)n : (double)NAN;
}

double lm_log_loss(const lm_proba_sums *sums) {
    return per_row(sums->log, sums->n);
}

double lm_brier(const lm_proba_sums *sums) {
    return per_row(sums->brier, sums->n);
}

double lm_ece(const lm_proba_sums *sums) {
    double error = 0;
    for (size_t b = 0; b < LM_ECE_BINS; b++)
        error += fabs(sums->right[b] - sums->confidence[b]);
    return per_row(error, sums->n);
}

double lm_mean(const double *values, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

double lm_mae(const double *truth, const double *answer, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(truth[i] - answer[i]);
    return per_row(sum, n);
}

static double squares(const double *truth, const double *answer, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (truth[i] - answer[i]) * (truth[i] - answer[i]);
    return sum;
}

double lm_rmse(const double *truth, const double *answer, size_t n) {
    return sqrt(per_row(squares(truth, answer, n), n));
}

double lm_r2(const double *truth, const double *answer, size_t n) {
    double mean = 0, total = 0;
    bool constant = true;
    for (size_t i = 0; i < n; i++) {
        mean += truth[i] / (double)n;
        constant = constant && truth[i] == truth[0];
    }
    for (size_t i = 0; i < n; i++)
        total += (truth[i] - mean) * (truth[i] - mean);
    /* Rounding can leave a total above 0 even if all values are equal. */
    return constant ? (double)NAN : 1 - squares(truth, answer, n) / total;
}
