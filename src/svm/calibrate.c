/* calibrate.c: probabilities of a machine: for each pair of classes, a sigmoid fitted to decision
 * values of rows left out of training. Where a fold leaves only one of the two classes to train on,
 * its rows get that class's sign as their value, as in LIBSVM; so do all rows of a pair where one
 * class is empty. */
#include "data/split.h"
#include "num/platt.h"
#include "svm/machine.h"
#include "svm/solve.h"

#include <string.h>

enum { FOLDS = 5, EVALUATED = 256 };

/* One pair of classes: its rows, those of the first class first. */
typedef struct pair {
    size_t n, first; /* rows; rows of the first class */
    uint32_t *row, *fold;
    int32_t *label; /* 0 or 1 */
    bool *positive;
    double *f, *scratch;
} pair;

static void pair_free(const limn_allocator *mem, pair *p) {
    lm_free(mem, p->row);
    lm_free(mem, p->fold);
    lm_free(mem, p->label);
    lm_free(mem, p->positive);
    lm_free(mem, p->f);
    lm_free(mem, p->scratch);
}

static limn_status pair_take(limn_context *ctx, const lm_svm_problem *problem, size_t i, size_t j,
                             pair *p) {
    *p = (pair){.n = 0};
    for (size_t r = 0; r < problem->n; r++)
        p->n += (size_t)problem->label[r] == i || (size_t)problem->label[r] == j;
    p->row = lm_alloc(&ctx->mem, p->n, sizeof *p->row);
    p->fold = lm_alloc(&ctx->mem, p->n, sizeof *p->fold);
    p->label = lm_alloc(&ctx->mem, p->n, sizeof *p->label);
    p->positive = lm_alloc(&ctx->mem, p->n, sizeof *p->positive);
    p->f = lm_alloc(&ctx->mem, p->n, sizeof *p->f);
    p->scratch = lm_alloc(&ctx->mem, p->n, sizeof *p->scratch);
    if (!p->row || !p->fold || !p->label || !p->positive || !p->f || !p->scratch)
        return lm_fail_memory(ctx);
    size_t at = 0;
    for (int second = 0; second < 2; second++) {
        for (size_t r = 0; r < problem->n; r++)
            if ((size_t)problem->label[r] == (second ? j : i)) {
                p->row[at] = (uint32_t)r;
                p->label[at] = second;
                p->positive[at++] = !second;
            }
        p->first = second ? p->first : at;
    }
    return LIMN_OK;
}

/* ---- one fold ---- */

typedef struct fold {
    lm_svm_part part; /* its row, y and coef are owned here */
    uint32_t *row;
    double *y;
    size_t first; /* rows of the first class */
} fold;

static void fold_free(const limn_allocator *mem, fold *f) {
    lm_free(mem, f->row);
    lm_free(mem, f->y);
    lm_free(mem, f->part.coef);
}

/* The rows of the pair that are not in fold number. */
static limn_status fold_take(limn_context *ctx, const pair *p, size_t number, const double *weight,
                             fold *f) {
    *f = (fold){.row = lm_alloc(&ctx->mem, p->n, sizeof *f->row),
                .y = lm_alloc(&ctx->mem, p->n, sizeof *f->y)};
    f->part.coef = lm_alloc(&ctx->mem, p->n, sizeof *f->part.coef);
    if (!f->row || !f->y || !f->part.coef)
        return lm_fail_memory(ctx);
    size_t n = 0;
    for (size_t r = 0; r < p->n; r++)
        if (p->fold[r] != number) {
            f->row[n] = p->row[r];
            f->y[n++] = p->positive[r] ? 1 : -1;
            f->first += p->positive[r];
        }
    f->part.row = f->row;
    f->part.y = f->y;
    f->part.n = n;
    f->part.weight[0] = weight[0];
    f->part.weight[1] = weight[1];
    return LIMN_OK;
}

static bool has_both(const fold *f) {
    return f->first > 0 && f->first < f->part.n;
}

/* ---- decision values ---- */

/* A machine with the fold's support vectors. */
static limn_status fold_machine(limn_context *ctx, const lm_svm_problem *problem,
                                const lm_svm_options *options, const fold *f, lm_svm *svm) {
    size_t d = problem->d, n = 0, cells;
    for (size_t r = 0; r < f->part.n; r++)
        n += f->part.coef[r] != 0;
    *svm = (lm_svm){.type = LM_EPSILON_SVR, /* one function, no classes */
                    .kernel = options->kernel,
                    .classes = 2,
                    .d = d,
                    .n = n,
                    .owned = true};
    float *sv = lm_mul(n, d, &cells) ? lm_alloc(&ctx->mem, cells + 1, sizeof *sv) : NULL;
    double *coef = lm_alloc(&ctx->mem, n + 1, sizeof *coef);
    double *rho = lm_alloc(&ctx->mem, 1, sizeof *rho);
    svm->sv = sv;
    svm->coef = coef;
    svm->rho = rho;
    if (!sv || !coef || !rho)
        return lm_fail_memory(ctx);
    for (size_t r = 0, at = 0; r < f->part.n; r++)
        if (f->part.coef[r] != 0) {
            memcpy(sv + at * d, problem->x + f->part.row[r] * d, d * sizeof *sv);
            coef[at++] = f->part.coef[r];
        }
    rho[0] = f->part.rho;
    return LIMN_OK;
}

static limn_status evaluate(limn_context *ctx, const lm_svm_problem *problem,
                            const lm_machine *machine, size_t number, pair *p) {
    size_t d = problem->d, bytes, held = 0, cells;
    uint32_t place[EVALUATED];
    double f[EVALUATED];
    bool fits = lm_machine_scratch(machine, EVALUATED, &bytes) && lm_mul(EVALUATED, d, &cells);
    void *scratch = fits ? lm_alloc_aligned(&ctx->mem, bytes, 1) : NULL;
    float *x = fits ? lm_alloc(&ctx->mem, cells, sizeof *x) : NULL;
    for (size_t r = 0; r <= p->n && scratch && x; r++) {
        if (held == EVALUATED || (r == p->n && held)) {
            lm_machine_values(machine, x, d, held, f, scratch);
            while (held--)
                p->f[place[held]] = f[held];
            held = 0;
        }
        if (r < p->n && p->fold[r] == number) {
            memcpy(x + held * d, problem->x + p->row[r] * d, d * sizeof *x);
            place[held++] = (uint32_t)r;
        }
    }
    lm_free_aligned(&ctx->mem, scratch);
    lm_free(&ctx->mem, x);
    return scratch && x ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status fold_values(limn_context *ctx, const lm_svm_problem *problem,
                               const lm_svm_options *options, const fold *f, size_t number,
                               pair *p) {
    lm_svm svm;
    lm_machine machine;
    if (!has_both(f)) {
        double value = f->part.n == 0 ? 0 : f->first ? 1 : -1;
        for (size_t r = 0; r < p->n; r++)
            if (p->fold[r] == number)
                p->f[r] = value;
        return LIMN_OK;
    }
    limn_status status = fold_machine(ctx, problem, options, f, &svm);
    if (status == LIMN_OK)
        status = lm_machine_build(ctx, &svm, &machine);
    if (status == LIMN_OK) {
        status = evaluate(ctx, problem, &machine, number, p);
        lm_machine_free(&ctx->mem, &machine);
    }
    lm_svm_free(&ctx->mem, &svm);
    return status;
}

/* ---- a pair ---- */

static limn_status cross_values(limn_context *ctx, const lm_svm_problem *problem,
                                const lm_svm_rows *rows, const lm_svm_options *options,
                                const double *weight, uint64_t seed, pair *p) {
    fold folds[FOLDS] = {{.row = NULL}};
    lm_svm_part parts[FOLDS];
    size_t count = p->n < FOLDS ? p->n : FOLDS, solved = 0;
    if (p->first == 0 || p->first == p->n) {
        for (size_t r = 0; r < p->n; r++)
            p->f[r] = p->first ? 1 : -1;
        return LIMN_OK;
    }
    limn_status status = lm_split_folds(ctx, p->label, p->n, count, seed, p->fold);
    for (size_t k = 0; k < count && status == LIMN_OK; k++) {
        status = fold_take(ctx, p, k, weight, &folds[k]);
        if (status == LIMN_OK && has_both(&folds[k]))
            parts[solved++] = folds[k].part;
    }
    if (status == LIMN_OK && solved)
        status = lm_svm_solve(ctx, rows, options, parts, solved, "calibrating");
    for (size_t k = 0, at = 0; k < count && status == LIMN_OK; k++) {
        if (has_both(&folds[k]))
            folds[k].part.rho = parts[at++].rho;
        status = fold_values(ctx, problem, options, &folds[k], k, p);
    }
    for (size_t k = 0; k < count; k++)
        fold_free(&ctx->mem, &folds[k]);
    return status;
}

limn_status lm_svm_calibrate(limn_context *ctx, const lm_svm_problem *problem,
                             const lm_svm_options *options, lm_svm *svm) {
    size_t k = svm->classes, functions = lm_svm_functions(svm), at = 0;
    lm_svm_rows *rows = NULL;
    double *a = lm_alloc(&ctx->mem, functions + 1, sizeof *a);
    double *b = lm_alloc(&ctx->mem, functions + 1, sizeof *b);
    limn_status status = a && b ? lm_svm_rows_new(ctx, problem->x, problem->n, problem->d, &rows)
                                : lm_fail_memory(ctx);
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k && status == LIMN_OK; j++, at++) {
            pair p;
            const double *w = problem->class_weight;
            double weight[2] = {w ? w[i] : 1, w ? w[j] : 1};
            status = pair_take(ctx, problem, i, j, &p);
            if (status == LIMN_OK)
                status = cross_values(ctx, problem, rows, options, weight,
                                      lm_hash(ctx->seed, LM_STREAM_FOLDS, at), &p);
            if (status == LIMN_OK) {
                lm_sigmoid_fit fit = lm_platt_fit(p.f, p.positive, p.n, p.scratch);
                a[at] = fit.a;
                b[at] = fit.b;
                status =
                    lm_progress(ctx, "calibrating", 0, 0, (double)(at + 1) / (double)functions);
            }
            pair_free(&ctx->mem, &p);
        }
    lm_svm_rows_free(rows);
    svm->prob_a = a; /* owned by the machine from here on, also after a failure */
    svm->prob_b = b;
    return status;
}
