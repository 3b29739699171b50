/* scale_evidence_slow.h: for the tests of scaling by evidence: the losses and the walk of
 * evidence.h by their definition, in plain loops.
 *
 * Neighbours are found by measuring every row in double after the scaling, ties to the first
 * stored. Votes are counted class by class from 0 up, and another class wins with more votes only.
 * The walk counts with whole numbers and takes a candidate where the sum of the gains is positive
 * and its square above z^2 times the sum of their squares. How a row is scaled is the library's
 * (scale.h, which has tests of its own). */
#ifndef LIMN_TESTS_SCALE_EVIDENCE_SLOW_H
#define LIMN_TESTS_SCALE_EVIDENCE_SLOW_H

#include "scale/scale.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JUDGES = 3, NEAREST = 9 };

/* All rows. */
static inline float *scale_all(limn_context *ctx, const lm_scaler *s, const lm_scaler_rows *rows) {
    float *scaled = malloc(rows->n * s->out * sizeof *scaled);
    void *spare;
    assert_int_equal(lm_scaler_spare(ctx, s, &spare), LIMN_OK);
    lm_scaler_apply(s, rows->x, rows->n, scaled, spare);
    lm_free_aligned(&ctx->mem, spare);
    return scaled;
}

/* ---- losses ---- */

static inline double squared(const float *a, const float *b, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++) {
        double difference = (double)a[j] - (double)b[j];
        sum += difference * difference;
    }
    return sum;
}

typedef struct slow_near {
    double key[NEAREST];
    size_t row[NEAREST], n;
} slow_near;

/* Of rows with equal keys, those that come first stay in front. */
static inline void slow_meet(slow_near *near, double key, size_t row) {
    size_t at = near->n;
    while (at > 0 && key < near->key[at - 1])
        at--;
    if (at == NEAREST)
        return;
    near->n += near->n < NEAREST;
    for (size_t k = near->n - 1; k > at; k--) {
        near->key[k] = near->key[k - 1];
        near->row[k] = near->row[k - 1];
    }
    near->key[at] = key;
    near->row[at] = row;
}

static inline int32_t slow_vote(const int32_t *label, const size_t *row, size_t n) {
    size_t seen = 0, most = 0;
    int32_t best = 0;
    for (int32_t c = 0; seen < n; c++) {
        size_t votes = 0;
        for (size_t i = 0; i < n; i++)
            votes += label[row[i]] == c;
        best = votes > most ? c : best;
        most = votes > most ? votes : most;
        seen += votes;
    }
    return best;
}

static inline void slow_judge(const lm_scaler_rows *rows, const slow_near *near, size_t truth,
                              double *loss) {
    static const size_t most[JUDGES] = {1, 5, 9};
    for (size_t k = 0; k < JUDGES; k++) {
        size_t n = near->n < most[k] ? near->n : most[k];
        double mean = 0;
        for (size_t i = 0; i < n && rows->target; i++)
            mean += rows->target[near->row[i]] / (double)n;
        loss[k] = rows->label ? slow_vote(rows->label, near->row, n) != rows->label[truth]
                              : fabs(mean - rows->target[truth]);
    }
}

static inline void slow_losses(limn_context *ctx, const lm_scaler *s, const lm_scaler_rows *rows,
                               lm_row_list stored, lm_row_list asked, bool leave_out,
                               double *loss) {
    size_t d = s->out;
    float *x = scale_all(ctx, s, rows);
    for (size_t i = 0; i < asked.n; i++) {
        slow_near near = {.n = 0};
        for (size_t k = 0; k < stored.n; k++)
            if (!leave_out || k != i)
                slow_meet(&near, squared(x + asked.row[i] * d, x + stored.row[k] * d, d),
                          stored.row[k]);
        slow_judge(rows, &near, asked.row[i], loss + i * JUDGES);
    }
    free(x);
}

/* ---- the walk ---- */

static inline int by_loss(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The lower median of all losses of a judge. */
static inline double slow_limit(const double *loss, size_t n, size_t judge) {
    double *sorted = malloc(n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = loss[i * JUDGES + judge];
    qsort(sorted, n, sizeof *sorted, by_loss);
    double median = sorted[(n - 1) / 2];
    free(sorted);
    return median;
}

/* Answers that become right, less those that become wrong. */
static inline int64_t slow_gain(const double *loss, const double *in_force, const double *limit,
                                lm_trial *t) {
    int64_t gain = 0;
    for (size_t k = 0; k < JUDGES; k++) {
        bool wrong = loss[k] > limit[k], before = in_force[k] > limit[k];
        t->wrong += wrong;
        t->mends += !wrong && before;
        t->breaks += wrong && !before;
        gain += before ? !wrong : -(int)wrong;
    }
    return gain;
}

/* Returns the choice. */
static inline size_t slow_walk(const char *const *names, const int64_t *z, size_t count,
                               bool targets, const double *loss, size_t n, lm_trials *trials) {
    double limit[JUDGES] = {0};
    size_t choice = 0;
    for (size_t k = 0; k < JUDGES && targets; k++)
        limit[k] = slow_limit(loss, count * n, k);
    *trials = (lm_trials){.rows = n, .count = count};
    for (size_t c = 0; c < count; c++) {
        lm_trial *t = &trials->list[c];
        int64_t sum = 0, squares = 0;
        t->name = names[c];
        for (size_t i = 0; i < n; i++) {
            int64_t gain =
                slow_gain(loss + (c * n + i) * JUDGES, loss + (choice * n + i) * JUDGES, limit, t);
            sum += gain;
            squares += gain * gain;
        }
        t->taken = c == 0 || (sum > 0 && sum * sum > z[c] * z[c] * squares);
        choice = t->taken ? c : choice;
    }
    return choice;
}

static inline void assert_same_trials(const lm_trials *got, const lm_trials *expected) {
    assert_int_equal(got->rows, expected->rows);
    assert_int_equal(got->count, expected->count);
    for (size_t c = 0; c < expected->count; c++) {
        const lm_trial *a = &got->list[c], *b = &expected->list[c];
        assert_string_equal(a->name, b->name);
        if (a->wrong != b->wrong || a->mends != b->mends || a->breaks != b->breaks ||
            a->taken != b->taken)
            fail_msg("%d rows, %s: %d wrong, mends %d, breaks %d, taken %d; not %d, %d, %d, %d",
                     (int)got->rows, a->name, (int)a->wrong, (int)a->mends, (int)a->breaks,
                     a->taken, (int)b->wrong, (int)b->mends, (int)b->breaks, b->taken);
    }
}

#endif
