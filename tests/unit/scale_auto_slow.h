/* scale_auto_slow.h: for the tests of scaling by evidence: the candidates, and tables in different
 * units. */
#ifndef LIMN_TESTS_SCALE_AUTO_SLOW_H
#define LIMN_TESTS_SCALE_AUTO_SLOW_H

#include "scale_evidence_slow.h"
#include "support.h"

enum { CANDIDATES = 5 };

static const limn_scale kinds[CANDIDATES] = {LIMN_SCALE_MINMAX, LIMN_SCALE_NONE, LIMN_SCALE_ZSCORE,
                                             LIMN_SCALE_RANK, LIMN_SCALE_GAUSS};

/* ---- tables ---- */

typedef struct table {
    float *x;
    int32_t *label; /* NULL: targets */
    double *target;
    size_t n, d, classes;
} table;

/* classes 0: targets. All zeros. */
static inline table new_table(size_t n, size_t d, size_t classes) {
    table t = {.n = n, .d = d, .classes = classes, .x = calloc(n * d, sizeof *t.x)};
    if (classes)
        t.label = calloc(n, sizeof *t.label);
    else
        t.target = calloc(n, sizeof *t.target);
    return t;
}

static inline void table_free(table *t) {
    free(t->x);
    free(t->label);
    free(t->target);
}

static inline lm_scaler_rows rows_of(const table *t) {
    return (lm_scaler_rows){.x = t->x,
                            .n = t->n,
                            .d = t->d,
                            .label = t->label,
                            .classes = t->classes,
                            .target = t->target};
}

/* What the row is: its class, or a target near that number. */
static inline void name_row(table *t, size_t i, size_t what, lm_rng *rng) {
    if (t->label)
        t->label[i] = (int32_t)(what % t->classes);
    else
        t->target[i] = (double)what + 0.1 * lm_rng_normal(rng);
}

/* Columns in different units; grid: whole numbers, so that many rows are equally near. */
static inline table mixed_table(size_t n, size_t d, size_t classes, bool grid, uint64_t seed) {
    table t = new_table(n, d, classes);
    lm_rng rng = lm_rng_at(seed, n, d);
    for (size_t i = 0; i < n; i++) {
        size_t what = (size_t)lm_rng_below(&rng, 3);
        for (size_t j = 0; j < d; j++) {
            double v = lm_rng_normal(&rng) + (j % 2 ? 0 : (double)what);
            v = grid ? floor(2 * v) : j % 3 == 2 ? exp(3 * v) : v * pow(10, (double)(j % 4));
            t.x[i * d + j] = (float)v;
        }
        name_row(&t, i, what, &rng);
    }
    return t;
}

/* ---- lists and scalers ---- */

static inline void identity(size_t *row, size_t n) {
    for (size_t i = 0; i < n; i++)
        row[i] = i;
}

static inline lm_scaler must_fit(limn_context *ctx, limn_scale kind, const lm_scaler_rows *rows) {
    lm_scaler s;
    if (lm_scaler_fit_columns(ctx, kind, false, rows, &s) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return s;
}

#endif
