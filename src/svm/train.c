/* train.c: builds machines of several classes from two-class problems.
 *
 * Every pair of classes is a separate problem, so they are solved on all threads; the result is
 * what libsvm gives for all classes at once in the order 0, 1, 2, ... */
#include "svm/solve.h"

#include <string.h>

enum { SOLVED_ROWS = 1 << 22 /* rows of the problems solved in one batch */ };

/* ---- classes ---- */

/* The rows of each class, in their order: row[start[c]] .. row[start[c + 1] - 1]. */
typedef struct by_class {
    uint32_t *row;
    size_t *start;
} by_class;

static void by_class_free(const limn_allocator *mem, by_class *b) {
    lm_free(mem, b->row);
    lm_free(mem, b->start);
}

static limn_status sort_by_class(limn_context *ctx, const lm_svm_problem *p, by_class *out) {
    *out = (by_class){lm_alloc(&ctx->mem, p->n, sizeof(uint32_t)),
                      lm_alloc_zero(&ctx->mem, p->classes + 2, sizeof(size_t))};
    if (!out->row || !out->start)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < p->n; i++)
        out->start[p->label[i] + 2]++;
    for (size_t c = 0; c < p->classes; c++)
        out->start[c + 2] += out->start[c + 1];
    for (size_t i = 0; i < p->n; i++)
        out->row[out->start[p->label[i] + 1]++] = (uint32_t)i;
    return LIMN_OK;
}

static size_t class_rows(const by_class *b, size_t c) {
    return b->start[c + 1] - b->start[c];
}

/* ---- problems of two classes ---- */

/* A problem with its memory. */
typedef struct pair {
    size_t i, j, function;
    uint32_t *row;
    double *y, *coef;
    size_t n;
} pair;

static void pair_free(const limn_allocator *mem, pair *p) {
    lm_free(mem, p->row);
    lm_free(mem, p->y);
    lm_free(mem, p->coef);
    *p = (pair){.n = 0};
}

static limn_status pair_take(limn_context *ctx, size_t n, pair *p) {
    p->n = n;
    p->row = lm_alloc(&ctx->mem, n, sizeof *p->row);
    p->y = lm_alloc(&ctx->mem, n, sizeof *p->y);
    p->coef = lm_alloc(&ctx->mem, n, sizeof *p->coef);
    return p->row && p->y && p->coef ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status pair_fill(limn_context *ctx, const by_class *b, size_t i, size_t j, pair *p) {
    size_t first = class_rows(b, i), second = class_rows(b, j);
    limn_status status = pair_take(ctx, first + second, p);
    if (status != LIMN_OK)
        return status;
    p->i = i;
    p->j = j;
    memcpy(p->row, b->row + b->start[i], first * sizeof *p->row);
    memcpy(p->row + first, b->row + b->start[j], second * sizeof *p->row);
    for (size_t r = 0; r < p->n; r++)
        p->y[r] = r < first ? 1 : -1;
    return LIMN_OK;
}

static double weight_of(const lm_svm_problem *p, size_t c) {
    return p->class_weight ? p->class_weight[c] : 1;
}

static lm_svm_part part_of(const lm_svm_problem *problem, const pair *p) {
    return (lm_svm_part){.row = p->row,
                         .y = p->y,
                         .n = p->n,
                         .weight = {weight_of(problem, p->i), weight_of(problem, p->j)},
                         .coef = p->coef};
}

/* A coefficient of a support vector. */
typedef struct entry {
    uint32_t row, function;
    double value;
} entry;

/* The results of a batch of solved pairs. */
typedef struct outcome {
    lm_buffer entries; /* entry each */
    double *rho;       /* one per function */
} outcome;

static limn_status keep(limn_context *ctx, const pair *p, const lm_svm_part *part, outcome *out) {
    out->rho[p->function] = part->rho;
    for (size_t r = 0; r < p->n; r++) {
        entry e = {p->row[r], (uint32_t)p->function, part->coef[r]};
        if (e.value != 0 && !lm_buffer_append(&out->entries, &e, sizeof e))
            return lm_fail_memory(ctx);
    }
    return LIMN_OK;
}

/* Solves count pairs and keeps the results. */
static limn_status solve_batch(limn_context *ctx, const lm_svm_problem *problem,
                               const lm_svm_rows *rows, const lm_svm_options *options, pair *pairs,
                               size_t count, outcome *out) {
    lm_svm_part *parts = lm_alloc(&ctx->mem, count, sizeof *parts);
    if (!parts)
        return lm_fail_memory(ctx);
    for (size_t p = 0; p < count; p++)
        parts[p] = part_of(problem, &pairs[p]);
    limn_status status = lm_svm_solve(ctx, rows, options, parts, count, "training");
    for (size_t p = 0; p < count && status == LIMN_OK; p++)
        status = keep(ctx, &pairs[p], &parts[p], out);
    lm_free(&ctx->mem, parts);
    return status;
}

static void free_pairs(const limn_allocator *mem, pair *pairs, size_t *held) {
    while (*held)
        pair_free(mem, &pairs[--*held]);
}

static limn_status solve_pairs(limn_context *ctx, const lm_svm_problem *problem,
                               const lm_svm_rows *rows, const lm_svm_options *options,
                               const by_class *b, outcome *out) {
    size_t k = problem->classes, functions = k * (k - 1) / 2, held = 0, n = 0, at = 0;
    limn_status status = LIMN_OK;
    pair *pairs = lm_alloc_zero(&ctx->mem, functions + 1, sizeof *pairs);
    if (!pairs)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k && status == LIMN_OK; j++, at++) {
            if (!class_rows(b, i) || !class_rows(b, j)) { /* the other one wins */
                out->rho[at] = class_rows(b, j) ? 1 : -1;
                continue;
            }
            status = pair_fill(ctx, b, i, j, &pairs[held]);
            pairs[held].function = at;
            n += pairs[held++].n;
            if (status == LIMN_OK && n >= SOLVED_ROWS) {
                status = solve_batch(ctx, problem, rows, options, pairs, held, out);
                free_pairs(&ctx->mem, pairs, &held);
                n = 0;
            }
        }
    if (status == LIMN_OK && held)
        status = solve_batch(ctx, problem, rows, options, pairs, held, out);
    free_pairs(&ctx->mem, pairs, &held);
    lm_free(&ctx->mem, pairs);
    return status;
}

/* ---- the machine of all pairs ---- */

/* Arrays of the machine while they are being written. */
typedef struct arrays {
    uint64_t *count;
    float *sv;
    double *coef, *rho;
} arrays;

static limn_status take_arrays(limn_context *ctx, lm_svm *svm, arrays *a) {
    size_t cells, coefs, functions = lm_svm_functions(svm);
    *a = (arrays){.rho = lm_alloc_zero(&ctx->mem, functions + 1, sizeof *a->rho)};
    if (lm_svm_is_svc(svm->type))
        a->count = lm_alloc_zero(&ctx->mem, svm->classes, sizeof *a->count);
    if (lm_mul(svm->n, svm->d, &cells) && lm_mul(svm->n, svm->classes - 1, &coefs)) {
        a->sv = lm_alloc(&ctx->mem, cells + 1, sizeof *a->sv);
        a->coef = lm_alloc_zero(&ctx->mem, coefs + 1, sizeof *a->coef);
    }
    svm->owned = true;
    svm->count = a->count;
    svm->sv = a->sv;
    svm->coef = a->coef;
    svm->rho = a->rho;
    bool there = a->rho && a->sv && a->coef && (a->count || !lm_svm_is_svc(svm->type));
    return there ? LIMN_OK : lm_fail_memory(ctx);
}

/* place[row] = number of the support vector, counted by class; UINT32_MAX for other rows. */
static size_t number_vectors(const lm_svm_problem *problem, const by_class *b, const entry *e,
                             size_t entries, uint32_t *place) {
    uint32_t next = 0;
    for (size_t i = 0; i < problem->n; i++)
        place[i] = UINT32_MAX;
    for (size_t i = 0; i < entries; i++)
        place[e[i].row] = 0;
    for (size_t r = 0; r < problem->n; r++)
        if (place[b->row[r]] != UINT32_MAX)
            place[b->row[r]] = next++;
    return next;
}

/* The class that a function compares the class of its row with. */
static size_t row_of_coefficient(size_t k, size_t function, size_t own) {
    size_t i = 0, left = function;
    while (left >= k - 1 - i)
        left -= k - 1 - i++;
    size_t j = i + 1 + left, other = own == i ? j : i;
    return other - (other > own);
}

static limn_status assemble(limn_context *ctx, const lm_svm_problem *problem, const by_class *b,
                            const outcome *out, lm_svm *svm) {
    const entry *e = (const entry *)(const void *)out->entries.data;
    size_t entries = out->entries.size / sizeof *e;
    uint32_t *place = lm_alloc(&ctx->mem, problem->n, sizeof *place);
    arrays a;
    if (!place)
        return lm_fail_memory(ctx);
    svm->n = number_vectors(problem, b, e, entries, place);
    limn_status status = take_arrays(ctx, svm, &a);
    if (status == LIMN_OK) {
        for (size_t r = 0; r < problem->n; r++)
            if (place[r] != UINT32_MAX) {
                memcpy(a.sv + place[r] * svm->d, problem->x + r * svm->d, svm->d * sizeof *a.sv);
                a.count[problem->label[r]]++;
            }
        for (size_t i = 0; i < entries; i++) {
            size_t own = (size_t)problem->label[e[i].row];
            size_t row = row_of_coefficient(svm->classes, e[i].function, own);
            a.coef[row * svm->n + place[e[i].row]] = e[i].value;
        }
        memcpy(a.rho, out->rho, lm_svm_functions(svm) * sizeof *a.rho);
    }
    lm_free(&ctx->mem, place);
    return status;
}

static limn_status train_classes(limn_context *ctx, const lm_svm_problem *problem,
                                 const lm_svm_rows *rows, const lm_svm_options *options,
                                 lm_svm *svm) {
    by_class b = {NULL, NULL};
    outcome out = {.entries.mem = &ctx->mem};
    size_t functions = lm_svm_functions(svm);
    out.rho = lm_alloc_zero(&ctx->mem, functions + 1, sizeof *out.rho);
    limn_status status = out.rho ? sort_by_class(ctx, problem, &b) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = solve_pairs(ctx, problem, rows, options, &b, &out);
    if (status == LIMN_OK)
        status = assemble(ctx, problem, &b, &out, svm);
    lm_buffer_free(&out.entries);
    lm_free(&ctx->mem, out.rho);
    by_class_free(&ctx->mem, &b);
    return status;
}

/* ---- regression and one class: one problem of all rows ---- */

static limn_status keep_single(limn_context *ctx, const lm_svm_problem *problem, const pair *p,
                               const lm_svm_part *part, lm_svm *svm) {
    arrays a;
    for (size_t r = 0; r < p->n; r++)
        svm->n += part->coef[r] != 0;
    limn_status status = take_arrays(ctx, svm, &a);
    for (size_t r = 0, at = 0; r < p->n && status == LIMN_OK; r++)
        if (part->coef[r] != 0) {
            memcpy(a.sv + at * svm->d, problem->x + r * svm->d, svm->d * sizeof *a.sv);
            a.coef[at++] = part->coef[r];
        }
    if (status == LIMN_OK)
        a.rho[0] = part->rho;
    return status;
}

static limn_status train_single(limn_context *ctx, const lm_svm_problem *problem,
                                const lm_svm_rows *rows, const lm_svm_options *options,
                                lm_svm *svm) {
    pair p = {.n = 0};
    limn_status status = pair_take(ctx, problem->n, &p);
    for (size_t i = 0; i < problem->n && status == LIMN_OK; i++) {
        p.row[i] = (uint32_t)i;
        p.y[i] = problem->target ? problem->target[i] : 1;
    }
    lm_svm_part part = {.row = p.row, .y = p.y, .n = p.n, .weight = {1, 1}, .coef = p.coef};
    if (status == LIMN_OK)
        status = lm_svm_solve(ctx, rows, options, &part, 1, "training");
    if (status == LIMN_OK)
        status = keep_single(ctx, problem, &p, &part, svm);
    pair_free(&ctx->mem, &p);
    return status;
}

limn_status lm_svm_train(limn_context *ctx, const lm_svm_problem *problem,
                         const lm_svm_options *options, lm_svm *svm) {
    lm_svm_rows *rows;
    bool svc = lm_svm_is_svc(options->type);
    *svm = (lm_svm){.type = options->type,
                    .kernel = options->kernel,
                    .classes = svc ? problem->classes : 2,
                    .d = problem->d};
    limn_status status = lm_svm_rows_new(ctx, problem->x, problem->n, problem->d, &rows);
    if (status != LIMN_OK)
        return status;
    if (svc)
        status = train_classes(ctx, problem, rows, options, svm);
    else
        status = train_single(ctx, problem, rows, options, svm);
    lm_svm_rows_free(rows);
    if (status != LIMN_OK)
        lm_svm_free(&ctx->mem, svm);
    return status;
}
