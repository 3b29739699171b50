/* query.c: decision values from the packed machine; from them classes, probabilities, scores.
 *
 * Scratch: the machine's own, then f of a batch, then the squares beyond, then what the coupling of
 * one row needs. */
#include "methods/svm/svm.h"
#include "num/platt.h"

#include <string.h>

#define CLIP 1e-7 /* as LIBSVM keeps pairwise probabilities away from 0 and 1 */

typedef struct layout {
    void *machine;
    double *f;      /* rows x functions */
    float *beyond;  /* rows */
    double *couple; /* r (k x k), then the coupling's own k x k + k, then p (k); or votes (k) */
} layout;

static size_t couple_doubles(size_t k) {
    return 2 * k * k + 2 * k;
}

static bool place(const sv_model *m, size_t rows, void *scratch, layout *l, size_t *bytes) {
    size_t machine = 0, f,
           couple = sv_has_proba(m) ? couple_doubles(m->svm.classes) : m->svm.classes;
    size_t functions = lm_svm_functions(&m->svm);
    if (functions && !lm_machine_scratch(&m->machine, rows, &machine))
        return false;
    machine = (machine + 63) / 64 * 64;
    if (!lm_mul(rows * sizeof(double), functions, &f))
        return false;
    f = (f + 63) / 64 * 64;
    size_t beyond = (rows * sizeof(float) + 63) / 64 * 64;
    char *base = scratch;
    if (base)
        *l = (layout){base, (double *)(void *)(base + machine),
                      (float *)(void *)(base + machine + f),
                      (double *)(void *)(base + machine + f + beyond)};
    return lm_add(machine, f, bytes) && lm_add(*bytes, beyond + couple * sizeof(double), bytes);
}

bool sv_scratch_size(const void *opaque, size_t rows, size_t neighbors, size_t *bytes) {
    (void)neighbors;
    return place(opaque, rows, NULL, NULL, bytes);
}

/* A single class is certain. */
bool sv_has_proba(const sv_model *m) {
    return lm_svm_is_svc(m->svm.type) && (m->svm.classes == 1 || (m->svm.prob_a && m->svm.prob_b));
}

unsigned sv_lacks(const void *opaque) {
    const sv_model *m = opaque;
    return sv_has_proba(m) ? 0 : LIMN_CAN_PROBA;
}

/* f of n rows, in the layout's own place. */
static const double *decide(const sv_model *m, const float *x, size_t n, void *scratch, layout *l) {
    size_t bytes;
    place(m, n, scratch, l, &bytes);
    if (!lm_svm_functions(&m->svm))
        return l->f;
    for (size_t q = 0; m->beyond && q < n; q++)
        l->beyond[q] = x[q * m->stride + m->stride - 1];
    lm_machine_values(&m->machine, x, m->stride, m->beyond ? l->beyond : NULL, n, l->f, l->machine);
    return l->f;
}

/* ---- classes ---- */

/* Most votes, ties to the lower class. votes: k. */
static int32_t winner(const double *f, size_t k, int32_t *votes) {
    size_t best = 0;
    memset(votes, 0, k * sizeof *votes);
    for (size_t i = 0; i < k; i++) {
        int32_t won = 0; /* no branch, and no vote that waits for the one before it */
        for (size_t j = i + 1; j < k; j++) {
            int32_t wins = *f++ > 0;
            won += wins;
            votes[j] += 1 - wins;
        }
        votes[i] += won;
    }
    for (size_t c = 1; c < k; c++)
        if (votes[c] > votes[best])
            best = c;
    return (int32_t)best;
}

void sv_vote(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const sv_model *m = opaque;
    layout l;
    const double *f = decide(m, x, n, scratch, &l);
    size_t functions = lm_svm_functions(&m->svm);
    for (size_t q = 0; q < n; q++)
        classes[q] = m->task == LIMN_OUTLIER
                         ? f[q] > 0
                         : winner(f + q * functions, m->svm.classes, (int32_t *)(void *)l.couple);
}

/* ---- probabilities ---- */

static void row_proba(const sv_model *m, const double *f, double *scratch, double *p) {
    size_t k = m->svm.classes, at = 0;
    double *r = scratch;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, at++) {
            lm_sigmoid_fit fit = {m->svm.prob_a[at], m->svm.prob_b[at]};
            double one = lm_platt(fit, f[at]);
            one = one > CLIP ? one : CLIP;
            one = one < 1 - CLIP ? one : 1 - CLIP;
            r[i * k + j] = one;
            r[j * k + i] = 1 - one;
        }
    if (k == 1)
        p[0] = 1;
    else
        lm_couple(k, r, m->imported ? LM_COUPLE_LIBSVM : LM_COUPLE_EXACT, p, scratch + k * k);
}

void sv_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const sv_model *m = opaque;
    layout l;
    const double *f = decide(m, x, n, scratch, &l);
    size_t functions = lm_svm_functions(&m->svm), k = m->svm.classes;
    for (size_t q = 0; q < n; q++)
        row_proba(m, f + q * functions, l.couple, proba + q * k);
}

void sv_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const sv_model *m = opaque;
    layout l;
    if (!sv_has_proba(m)) {
        sv_vote(m, x, n, classes, scratch);
        return;
    }
    const double *f = decide(m, x, n, scratch, &l);
    size_t functions = lm_svm_functions(&m->svm), k = m->svm.classes;
    double *p = l.couple + couple_doubles(k) - k;
    for (size_t q = 0; q < n; q++) {
        size_t best = 0;
        row_proba(m, f + q * functions, l.couple, p);
        for (size_t c = 1; c < k; c++)
            if (p[c] > p[best])
                best = c;
        classes[q] = (int32_t)best;
    }
}

/* ---- values ---- */

void sv_values(const void *opaque, const float *x, size_t n, double *values, void *scratch) {
    layout l;
    const double *f = decide(opaque, x, n, scratch, &l);
    memcpy(values, f, n * sizeof *values);
}

size_t sv_score_count(const void *opaque) {
    const sv_model *m = opaque;
    return lm_svm_functions(&m->svm);
}

void sv_scores(const void *opaque, const float *x, size_t n, double *scores, void *scratch) {
    const sv_model *m = opaque;
    layout l;
    const double *f = decide(m, x, n, scratch, &l);
    memcpy(scores, f, n * lm_svm_functions(&m->svm) * sizeof *scores);
}

void sv_stats(const void *opaque, lm_stats *stats) {
    const sv_model *m = opaque;
    bool linear = m->svm.kernel.type == LM_LINEAR;
    double vectors = linear ? (double)lm_svm_functions(&m->svm) : (double)m->svm.n;
    double width = (double)m->svm.d + (linear ? 0 : (double)(m->svm.classes - 1));
    *stats = (lm_stats){.touched_vectors = vectors,
                        .touched_bytes = vectors * width * (double)sizeof(float),
                        .count = 2};
    stats->list[0].name = "support vectors";
    stats->list[0].value = (double)m->svm.n;
    stats->list[1].name = "decision functions";
    stats->list[1].value = (double)lm_svm_functions(&m->svm);
}
