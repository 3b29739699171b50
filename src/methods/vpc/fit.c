/* fit.c: linear discriminants of the rows of one node.
 *
 * Forest: S = (S_w + kappa S_parent) / (n - k + kappa), kappa = d, with S_parent the parent's own
 * S; at the root S_w / (n - k) + 1e-4 tr/d I. Scores w_c = S^-1 (m_c - m), b_c = -w_c (m_c + m) / 2
 * + log prior_c, prior_c = (n_c + k prior_parent,c) / (n + k), k the number of classes in the node.
 *
 * Paper: w_c = (n - k) A (m_c - m) (1 for n = k), b_c = -w_c (m_c + m) / 2, A the pseudo-inverse of
 * the within scatter S_w (eigenvalues up to 1e-10 of the largest dropped; S_w = 0: A = I).
 * metric=unit: A = V V' with V the discriminant directions at unit length. */
#include "methods/vpc/build.h"
#include "num/linalg.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ROWS = 128 };

/* Working memory of one fit. */
typedef struct work {
    size_t k;           /* classes of the node */
    size_t *count;      /* rows of each */
    size_t *place;      /* for each class of the set, its number here */
    double *mean, *all; /* k x d, d */
    double *scatter;    /* d x d */
    double *rows;       /* BLOCK_ROWS x d */
    double *w;          /* k x d */
} work;

static void work_free(const limn_allocator *mem, work *w) {
    lm_free(mem, w->count);
    lm_free(mem, w->place);
    lm_free(mem, w->mean);
    lm_free(mem, w->all);
    lm_free(mem, w->scatter);
    lm_free(mem, w->rows);
    lm_free(mem, w->w);
}

void vpc_fit_free(const limn_allocator *mem, vpc_fit *fit) {
    lm_free(mem, fit->name);
    lm_free(mem, fit->weights);
    lm_free(mem, fit->bias);
    *fit = (vpc_fit){.classes = 0};
}

void vpc_parent_free(const limn_allocator *mem, vpc_parent *parent) {
    lm_free(mem, parent->covariance);
    lm_free(mem, parent->prior);
    *parent = (vpc_parent){NULL, NULL};
}

/* ---- moments ---- */

static limn_status list_classes(limn_context *ctx, const vpc_plan *plan, const uint32_t *rows,
                                size_t count, work *w, vpc_fit *fit) {
    size_t classes = plan->set->classes;
    w->count = lm_alloc_zero(&ctx->mem, classes, sizeof *w->count);
    w->place = lm_alloc(&ctx->mem, classes, sizeof *w->place);
    if (!w->count || !w->place)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < count; i++)
        w->count[plan->set->label[rows[i]]]++;
    for (size_t c = 0; c < classes; c++)
        w->k += w->count[c] > 0;
    fit->classes = w->k;
    fit->name = lm_alloc(&ctx->mem, w->k, sizeof *fit->name);
    if (!fit->name)
        return lm_fail_memory(ctx);
    size_t at = 0;
    for (size_t c = 0; c < classes; c++) {
        w->place[c] = at;
        if (!w->count[c])
            continue;
        w->count[at] = w->count[c]; /* at <= c */
        fit->name[at++] = (int32_t)c;
    }
    return LIMN_OK;
}

static limn_status take(limn_context *ctx, const vpc_plan *plan, work *w, vpc_fit *fit) {
    size_t d = plan->d, cells, square;
    if (lm_mul(w->k, d, &cells) && lm_mul(d, d, &square)) {
        w->mean = lm_alloc_zero(&ctx->mem, cells, sizeof *w->mean);
        w->all = lm_alloc_zero(&ctx->mem, d, sizeof *w->all);
        w->scatter = lm_alloc_zero(&ctx->mem, square, sizeof *w->scatter);
        w->rows = lm_alloc(&ctx->mem, BLOCK_ROWS * sizeof *w->rows, d);
        w->w = lm_alloc(&ctx->mem, cells, sizeof *w->w);
        fit->weights = lm_alloc(&ctx->mem, cells, sizeof *fit->weights);
        fit->bias = lm_alloc(&ctx->mem, w->k, sizeof *fit->bias);
    }
    bool there = w->mean && w->all && w->scatter && w->rows && w->w && fit->weights && fit->bias;
    return there ? LIMN_OK : lm_fail_memory(ctx);
}

static void find_means(const vpc_plan *plan, const uint32_t *rows, size_t count, work *w) {
    size_t d = plan->d;
    for (size_t i = 0; i < count; i++) {
        const float *x = plan->set->x + rows[i] * d;
        double *mean = w->mean + w->place[plan->set->label[rows[i]]] * d;
        for (size_t j = 0; j < d; j++)
            mean[j] += (double)x[j];
    }
    for (size_t c = 0; c < w->k; c++)
        for (size_t j = 0; j < d; j++) {
            w->all[j] += w->mean[c * d + j] / (double)count;
            w->mean[c * d + j] /= (double)w->count[c];
        }
}

/* The lower triangle, mirrored. */
static void find_scatter(const vpc_plan *plan, const uint32_t *rows, size_t count, work *w) {
    size_t d = plan->d, filled = 0;
    for (size_t i = 0; i < count; i++) {
        const float *x = plan->set->x + rows[i] * d;
        const double *mean = w->mean + w->place[plan->set->label[rows[i]]] * d;
        double *row = w->rows + filled * d;
        for (size_t j = 0; j < d; j++)
            row[j] = (double)x[j] - mean[j];
        if (++filled == BLOCK_ROWS || i + 1 == count) {
            lm_add_outer(w->scatter, d, w->rows, filled);
            filled = 0;
        }
    }
    lm_mirror(w->scatter, d);
}

/* ---- covariances ---- */

/* S of a forest's node, in place of the scatter. */
static void shrink(const vpc_plan *plan, size_t count, const vpc_parent *parent, work *w) {
    size_t d = plan->d;
    double *s = w->scatter, free_rows = (double)count - (double)w->k, trace = 0;
    if (parent) {
        double kappa = (double)d;
        for (size_t i = 0; i < d * d; i++)
            s[i] = (s[i] + kappa * parent->covariance[i]) / (free_rows + kappa);
        return;
    }
    free_rows = free_rows > 1 ? free_rows : 1;
    for (size_t j = 0; j < d; j++)
        trace += s[j * d + j] / free_rows;
    for (size_t i = 0; i < d * d; i++)
        s[i] = s[i] / free_rows;
    for (size_t j = 0; j < d; j++)
        s[j * d + j] = trace > 0 ? s[j * d + j] + 1e-4 * trace / (double)d : 1;
}

static double prior_of(size_t count, const vpc_parent *parent, const work *w, const vpc_fit *fit,
                       size_t c) {
    double k = (double)w->k, n = (double)count;
    double before = parent ? parent->prior[fit->name[c]] : (double)w->count[c] / n;
    return ((double)w->count[c] + k * before) / (n + k);
}

/* What the halves shrink towards. */
static limn_status hand_on(limn_context *ctx, const vpc_plan *plan, size_t count,
                           const vpc_parent *parent, const work *w, const vpc_fit *fit,
                           vpc_parent *own) {
    size_t d = plan->d;
    own->covariance = lm_alloc(&ctx->mem, d * d, sizeof *own->covariance);
    own->prior = lm_alloc_zero(&ctx->mem, plan->set->classes, sizeof *own->prior);
    if (!own->covariance || !own->prior)
        return lm_fail_memory(ctx);
    memcpy(own->covariance, w->scatter, d * d * sizeof *own->covariance);
    for (size_t c = 0; c < w->k; c++)
        own->prior[fit->name[c]] = prior_of(count, parent, w, fit, c);
    return LIMN_OK;
}

/* ---- scores ---- */

static void set_scores(const vpc_plan *plan, const work *w, const double *log_prior, vpc_fit *fit) {
    size_t d = plan->d;
    for (size_t c = 0; c < w->k; c++) {
        double product = 0;
        for (size_t j = 0; j < d; j++) {
            double weight = w->w[c * d + j];
            product += weight * (w->mean[c * d + j] + w->all[j]);
            fit->weights[c * d + j] = (float)weight;
        }
        fit->bias[c] = (float)(-product / 2 + (log_prior ? log_prior[c] : 0));
    }
}

static void set_differences(const vpc_plan *plan, work *w, double factor) {
    size_t d = plan->d;
    for (size_t c = 0; c < w->k; c++)
        for (size_t j = 0; j < d; j++)
            w->w[c * d + j] = factor * (w->mean[c * d + j] - w->all[j]);
}

static limn_status fit_forest(limn_context *ctx, const vpc_plan *plan, size_t count,
                              const vpc_parent *parent, vpc_parent *own, work *w, vpc_fit *fit) {
    limn_status status = LIMN_OK;
    shrink(plan, count, parent, w);
    if (own)
        status = hand_on(ctx, plan, count, parent, w, fit, own);
    double *log_prior = lm_alloc(&ctx->mem, w->k, sizeof *log_prior);
    if (status == LIMN_OK && !log_prior)
        status = lm_fail_memory(ctx);
    set_differences(plan, w, 1);
    if (status == LIMN_OK)
        status = lm_solve_symmetric(ctx, w->scatter, plan->d, w->w, w->k);
    for (size_t c = 0; c < w->k && status == LIMN_OK; c++)
        log_prior[c] = log(prior_of(count, parent, w, fit, c));
    if (status == LIMN_OK)
        set_scores(plan, w, log_prior, fit);
    lm_free(&ctx->mem, log_prior);
    return status;
}

static limn_status fit_paper(limn_context *ctx, const vpc_plan *plan, size_t count, work *w,
                             vpc_fit *fit) {
    limn_status status;
    if (plan->metric == VPC_UNIT) {
        set_differences(plan, w, 1);
        status = lm_unit_directions(ctx, w->scatter, plan->d, w->w, w->count, w->k);
    } else {
        /* As many rows as classes: omit the factor, or every score would be 0. */
        set_differences(plan, w, count > w->k ? (double)count - (double)w->k : 1);
        status = lm_solve_dropping(ctx, w->scatter, plan->d, 1e-10, w->w, w->k);
    }
    if (status == LIMN_OK)
        set_scores(plan, w, NULL, fit);
    return status;
}

size_t vpc_fit_class(const vpc_fit *fit, size_t d, const float *x) {
    size_t best = 0;
    float top = 0;
    for (size_t c = 0; c < fit->classes && fit->classes > 1; c++) {
        const float *w = fit->weights + c * d;
        float score = fit->bias[c];
        for (size_t j = 0; j < d; j++)
            score += w[j] * x[j];
        if (c == 0 || score > top) {
            top = score;
            best = c;
        }
    }
    return best;
}

static double error_of(const vpc_plan *plan, const uint32_t *rows, size_t count,
                       const vpc_fit *fit) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        size_t c = vpc_fit_class(fit, plan->d, plan->set->x + rows[i] * plan->d);
        wrong += fit->name[c] != plan->set->label[rows[i]];
    }
    return (double)wrong / (double)count;
}

limn_status vpc_fit_node(limn_context *ctx, const vpc_plan *plan, const uint32_t *rows,
                         size_t count, const vpc_parent *parent, vpc_parent *own, vpc_fit *fit) {
    work w = {.k = 0};
    *fit = (vpc_fit){.classes = 0};
    limn_status status = list_classes(ctx, plan, rows, count, &w, fit);
    if (status == LIMN_OK && w.k > 1) {
        status = take(ctx, plan, &w, fit);
        if (status == LIMN_OK) {
            find_means(plan, rows, count, &w);
            find_scatter(plan, rows, count, &w);
            status = plan->style == VPC_PAPER ? fit_paper(ctx, plan, count, &w, fit)
                                              : fit_forest(ctx, plan, count, parent, own, &w, fit);
        }
        if (status == LIMN_OK)
            fit->error = error_of(plan, rows, count, fit);
    }
    work_free(&ctx->mem, &w);
    if (status != LIMN_OK)
        vpc_fit_free(&ctx->mem, fit);
    return status;
}
