/* omp.c: a few vectors whose kernels reproduce given values: orthogonal least squares, and a ridge.
 *
 * Of the candidates, the one is taken whose part that is orthogonal to all taken so far explains
 * most of what is left (S. Chen, S. A. Billings and W. Luo 1989). With q that part, of length 1,
 * and c_j = phi_j . rest, taking it changes
 *
 *   c_j -= (phi_j . q) (q . rest)     |phi_j|^2 -= (phi_j . q)^2
 *
 * so one product with all candidates does both. A constant is taken first. */
#include "methods/ptree/shrink.h"

#include "num/simd/simd.h"

#include <math.h>
#include <string.h>

/* Candidates of which less than this is left are spanned by those that were taken. */
#define SPANNED 1e-7

typedef struct greedy {
    size_t n, m;       /* rows, candidates */
    const double *phi; /* m x n */
    double *rest;      /* n */
    double *basis;     /* most + 1 times n */
    double *pull;      /* m: c */
    double *square;    /* m: |phi|^2 of what is left */
    double *whole;     /* m: |phi|^2 at first */
    double *product;   /* m */
    size_t taken;      /* vectors of the basis */
} greedy;

static bool take_memory(const limn_allocator *mem, size_t most, greedy *g) {
    size_t cells;
    g->rest = lm_alloc(mem, g->n, sizeof *g->rest);
    g->basis = lm_mul(most + 1, g->n, &cells) ? lm_alloc(mem, cells, sizeof *g->basis) : NULL;
    g->pull = lm_alloc(mem, g->m, sizeof *g->pull);
    g->square = lm_alloc(mem, g->m, sizeof *g->square);
    g->whole = lm_alloc(mem, g->m, sizeof *g->whole);
    g->product = lm_alloc(mem, g->m, sizeof *g->product);
    return g->rest && g->basis && g->pull && g->square && g->whole && g->product;
}

static void give_back(const limn_allocator *mem, greedy *g) {
    lm_free(mem, g->rest);
    lm_free(mem, g->basis);
    lm_free(mem, g->pull);
    lm_free(mem, g->square);
    lm_free(mem, g->whole);
    lm_free(mem, g->product);
}

/* Takes the direction at basis[taken], which is of length 1 and orthogonal to the others. */
static void take(greedy *g) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    const double *q = g->basis + g->taken++ * g->n;
    double share = dense->dot(q, g->rest, g->n);
    dense->rows_times(g->phi, g->m, g->n, q, g->product);
    for (size_t j = 0; j < g->m; j++) {
        g->pull[j] -= g->product[j] * share;
        g->square[j] -= g->product[j] * g->product[j];
    }
    dense->axpy(-share, q, g->rest, g->n);
}

/* Puts the part of candidate j that is orthogonal to the basis after it; false: there is none. */
static bool orthogonalise(greedy *g, size_t j) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    double *q = g->basis + g->taken * g->n;
    memcpy(q, g->phi + j * g->n, g->n * sizeof *q);
    for (int twice = 0; twice < 2; twice++)
        for (size_t b = 0; b < g->taken; b++) {
            const double *other = g->basis + b * g->n;
            dense->axpy(-dense->dot(q, other, g->n), other, q, g->n);
        }
    double square = dense->dot(q, q, g->n);
    if (!(square > SPANNED * g->whole[j]))
        return false;
    for (size_t i = 0; i < g->n; i++)
        q[i] /= sqrt(square);
    return true;
}

/* The candidate that explains most; m: none. */
static size_t best_of(const greedy *g) {
    double most = 0;
    size_t best = g->m;
    for (size_t j = 0; j < g->m; j++) {
        double gain =
            g->square[j] > SPANNED * g->whole[j] ? g->pull[j] * g->pull[j] / g->square[j] : 0;
        if (gain > most) {
            most = gain;
            best = j;
        }
    }
    return best;
}

static size_t run(greedy *g, const double *target, size_t most, size_t *chosen) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    size_t count = 0, j;
    memcpy(g->rest, target, g->n * sizeof *g->rest);
    dense->rows_times(g->phi, g->m, g->n, g->rest, g->pull);
    for (size_t i = 0; i < g->m; i++)
        g->square[i] = g->whole[i] = dense->dot(g->phi + i * g->n, g->phi + i * g->n, g->n);
    for (size_t i = 0; i < g->n; i++)
        g->basis[i] = 1 / sqrt((double)g->n);
    take(g);
    while (count < most && (j = best_of(g)) < g->m) {
        if (orthogonalise(g, j)) {
            take(g);
            chosen[count++] = j;
        }
        g->square[j] = 0; /* not again */
    }
    return count;
}

limn_status pt_greedy(limn_context *ctx, const double *phi, size_t m, size_t n,
                      const double *target, size_t most, size_t *chosen, size_t *count) {
    greedy g = {.n = n, .m = m, .phi = phi};
    limn_status status = take_memory(&ctx->mem, most, &g) ? LIMN_OK : lm_fail_memory(ctx);
    *count = 0;
    if (status == LIMN_OK && n)
        *count = run(&g, target, most, chosen);
    give_back(&ctx->mem, &g);
    return status;
}

/* ---- ridges ---- */

limn_status pt_normal_make(limn_context *ctx, size_t n, pt_normal *e) {
    size_t cells;
    *e = (pt_normal){.n = n};
    e->gram = lm_mul(n, n, &cells) ? lm_alloc_zero(&ctx->mem, cells + 1, sizeof *e->gram) : NULL;
    e->right = lm_alloc_zero(&ctx->mem, 2 * n + 1, sizeof *e->right);
    e->mean = e->right ? e->right + n : NULL;
    return e->gram && e->right ? LIMN_OK : lm_fail_memory(ctx);
}

void pt_normal_free(const limn_allocator *mem, pt_normal *e) {
    lm_free(mem, e->gram);
    lm_free(mem, e->right);
}

void pt_normal_add(pt_normal *e, const double *row, double target) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    for (size_t j = 0; j < e->n; j++)
        dense->axpy(row[j], row, e->gram + j * e->n, j + 1);
    dense->axpy(target, row, e->right, e->n);
    dense->axpy(1, row, e->mean, e->n);
    e->rows += 1;
    e->sum += target;
}

bool pt_normal_solve(const pt_normal *e, double lambda, double *room, double *coef, double *bias) {
    size_t n = e->n;
    double rows = e->rows > 0 ? e->rows : 1, mean = e->sum / rows;
    for (size_t j = 0; j < n; j++) {
        for (size_t h = 0; h <= j; h++)
            room[j * n + h] = e->gram[j * n + h] - e->mean[j] * e->mean[h] / rows;
        coef[j] = e->right[j] - e->mean[j] * mean;
    }
    *bias = mean;
    if (!lm_cholesky_solve(room, n, lambda * (rows + 1), coef, 1))
        return false;
    for (size_t j = 0; j < n; j++)
        *bias -= coef[j] * e->mean[j] / rows;
    return true;
}
