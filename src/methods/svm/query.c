/* query.c: decision values from the packed machine, and classes, probabilities and scores from
 * them. */
#include "base/argmax.h"
#include "methods/svm/svm.h"
#include "num/platt.h"

typedef struct layout {
    double *f;      /* rows x functions */
    double *couple; /* of lm_couple_values, then p (k); or just votes (k) */
    void *machine;
} layout;

static layout lay_out(const sv_model *m, size_t rows, lm_cursor *at) {
    size_t functions = lm_svm_functions(&m->svm), k = m->svm.classes, bytes = 0;
    layout l;
    l.f = lm_take_cells(at, rows, functions, sizeof *l.f);
    l.couple = lm_take(at, sv_has_proba(m) ? lm_couple_scratch(k) + k : k, sizeof *l.couple);
    if (functions)
        (void)lm_machine_scratch(&m->machine, rows, &bytes);
    l.machine = lm_take(at, bytes, 1);
    return l;
}

void sv_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)neighbors;
    (void)lay_out(opaque, rows, at);
}

/* A single class is certain. */
bool sv_has_proba(const sv_model *m) {
    return lm_svm_is_svc(m->svm.type) && (m->svm.classes == 1 || (m->svm.prob_a && m->svm.prob_b));
}

unsigned sv_lacks(const void *opaque) {
    const sv_model *m = opaque;
    return sv_has_proba(m) ? 0 : LIMN_CAN_PROBA;
}

/* f of n rows. */
static layout decide(const sv_model *m, const float *x, size_t n, void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    if (lm_svm_functions(&m->svm))
        lm_machine_values(&m->machine, x, m->stride, n, l.f, l.machine);
    return l;
}

/* ---- classes ---- */

void sv_vote(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const sv_model *m = opaque;
    layout l = decide(m, x, n, scratch);
    size_t functions = lm_svm_functions(&m->svm);
    for (size_t q = 0; q < n; q++)
        classes[q] = m->task == LIMN_OUTLIER ? l.f[q] > 0
                                             : lm_vote_pairs(m->svm.classes, l.f + q * functions,
                                                             (int32_t *)(void *)l.couple);
}

/* ---- probabilities ---- */

static void row_proba(const sv_model *m, const double *f, double *scratch, double *p) {
    lm_couple_values(m->svm.classes, f, m->svm.prob_a, m->svm.prob_b,
                     m->imported ? LM_COUPLE_LIBSVM : LM_COUPLE_EXACT, p, scratch);
}

void sv_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const sv_model *m = opaque;
    layout l = decide(m, x, n, scratch);
    size_t functions = lm_svm_functions(&m->svm), k = m->svm.classes;
    for (size_t q = 0; q < n; q++)
        row_proba(m, l.f + q * functions, l.couple, proba + q * k);
}

void sv_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const sv_model *m = opaque;
    if (!sv_has_proba(m)) {
        sv_vote(m, x, n, classes, scratch);
        return;
    }
    layout l = decide(m, x, n, scratch);
    size_t functions = lm_svm_functions(&m->svm), k = m->svm.classes;
    double *p = l.couple + lm_couple_scratch(k);
    for (size_t q = 0; q < n; q++) {
        row_proba(m, l.f + q * functions, l.couple, p);
        classes[q] = (int32_t)lm_argmax(p, k);
    }
}

/* ---- values ---- */

void sv_values(const void *opaque, const float *x, size_t n, double *values, void *scratch) {
    sv_scores(opaque, x, n, values, scratch); /* one function */
}

size_t sv_score_count(const void *opaque) {
    const sv_model *m = opaque;
    return lm_svm_functions(&m->svm);
}

void sv_scores(const void *opaque, const float *x, size_t n, double *scores, void *scratch) {
    const sv_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    if (lm_svm_functions(&m->svm))
        lm_machine_values(&m->machine, x, m->stride, n, scores, l.machine);
}

void sv_stats(const void *opaque, lm_stats *stats) {
    const sv_model *m = opaque;
    bool linear = m->svm.kernel.type == LM_LINEAR;
    double vectors = linear ? (double)lm_svm_functions(&m->svm) : (double)m->svm.n;
    double width = (double)m->svm.d + (linear ? 0 : (double)(m->svm.classes - 1));
    *stats = (lm_stats){.touched = {vectors, vectors * width * (double)sizeof(float)}, .count = 2};
    stats->list[0].name = "support vectors";
    stats->list[0].value = (double)m->svm.n;
    stats->list[1].name = "decision functions";
    stats->list[1].value = (double)lm_svm_functions(&m->svm);
}

const struct lm_machine *sv_machine(const void *opaque) {
    const sv_model *m = opaque;
    return lm_svm_functions(&m->svm) ? &m->machine : NULL;
}

limn_status sv_field(limn_context *ctx, const void *opaque, size_t first, size_t second,
                     lm_field *out) {
    const sv_model *m = opaque;
    return lm_field_machine(ctx, &m->machine, lm_pair_index(m->svm.classes, first, second), out);
}
