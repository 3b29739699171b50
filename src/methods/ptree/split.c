/* split.c: splitting a leaf: what each side keeps, and the two new leaves.
 *
 * A side with the rows Z keeps the vectors p that change f least there:
 *
 *   minimise  sum over i in Z of |sum_j p_j K_ij A_j - r_i|^2,   p_j 0 or 1,  sum p <= C
 *
 * r_i = f of row i. Without the constant and with Q = (K_Z' K_Z) o (A A'), w_j = sum over Z of
 * K_ij (A_j.r_i) this is 1/2 p'Qp - w'p over 0 <= p <= 1 (num/qp/box.h), and then rounding: swap
 * descent, or in the paper's style the best of a hundred random draws.
 *
 * Then the coefficients of each side are fitted to r once more, with a ridge: A + dA,
 * (K'K + lambda (n + 1) I) dA = K'(r - K A). */
#include "methods/ptree/ptree.h"
#include "num/qp/box.h"

#include <math.h>
#include <string.h>

enum { LEAST_ROWS = 4, DRAWS = 100, STEPS = 100000 };
/* The program is solved to this share of |r|^2 / m: a hundred times looser makes worse trees. */
#define TOLERANCE 0.005

/* ---- the cloud ---- */

void pt_cloud_free(const limn_allocator *mem, pt_cloud *c) {
    double *const cells[] = {c->kernel,  c->r,       c->products, c->pull,     c->p[0],
                             c->p[1],    c->q,       c->w,        c->gradient, c->score,
                             c->cost[0], c->cost[1], c->sum};
    for (size_t i = 0; i < LM_COUNT(cells); i++)
        lm_free(mem, cells[i]);
    lm_free(mem, c->side);
    lm_free(mem, c->trial);
    lm_free(mem, c->keeps[0]);
    lm_free(mem, c->keeps[1]);
    lm_free(mem, c->order);
    lm_free_aligned(mem, c->padded);
    pt_node_free(mem, &c->node);
    *c = (pt_cloud){.n = 0};
}

static double *cells(const limn_allocator *mem, size_t a, size_t b) {
    size_t count;
    return lm_mul(a, b, &count) ? lm_alloc_zero(mem, count, sizeof(double)) : NULL;
}

static limn_status take_memory(limn_context *ctx, pt_cloud *c) {
    const limn_allocator *mem = &ctx->mem;
    size_t n = c->n, m = c->m;
    c->kernel = cells(mem, n, m);
    c->r = cells(mem, n, c->k);
    c->products = cells(mem, m, m);
    c->pull = cells(mem, n, m);
    c->q = cells(mem, m, m);
    c->score = cells(mem, n, 1);
    c->sum = cells(mem, c->k + c->d, 1);
    c->w = cells(mem, m, 1);
    c->gradient = cells(mem, m, 1);
    c->order = lm_alloc(mem, n + m, sizeof *c->order);
    c->side = lm_alloc_zero(mem, n, sizeof *c->side);
    c->trial = lm_alloc_zero(mem, n, sizeof *c->trial);
    c->padded = lm_alloc_aligned(mem, c->stride + (m > n ? m : n) + LM_PANEL, sizeof *c->padded);
    bool fine = c->kernel && c->r && c->products && c->pull && c->q && c->score && c->sum && c->w &&
                c->gradient && c->order && c->side && c->trial && c->padded;
    for (int s = 0; s < 2; s++) {
        c->p[s] = cells(mem, m, 1);
        c->cost[s] = cells(mem, n, 1);
        c->keeps[s] = lm_alloc_zero(mem, m, sizeof *c->keeps[s]);
        fine = fine && c->p[s] && c->cost[s] && c->keeps[s];
    }
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}

/* Kernel values, f, and the dot products of coefficients. */
static void fill(const lm_expansion *e, pt_cloud *c) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    float *values = c->padded + c->stride;
    for (size_t i = 0; i < c->n; i++) {
        double *row = c->kernel + i * c->m, *r = c->r + i * c->k;
        lm_expansion_values(e, c->x + i * c->d, values);
        for (size_t j = 0; j < c->m; j++) {
            row[j] = (double)values[j];
            dense->axpy(row[j], c->coef + j * c->k, r, c->k);
        }
    }
    for (size_t i = 0; i < c->m; i++)
        dense->rows_times(c->coef, c->m, c->k, c->coef + i * c->k, c->products + i * c->m);
}

void pt_cloud_aim(pt_cloud *c) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    double size = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double *row = c->kernel + i * c->m, *r = c->r + i * c->k;
        for (size_t j = 0; j < c->m; j++)
            c->pull[i * c->m + j] = row[j] * dense->dot(c->coef + j * c->k, r, c->k);
        size += dense->dot(r, r, c->k);
    }
    c->tolerance = TOLERANCE * size / (double)(c->m ? c->m : 1);
}

limn_status pt_cloud_make(limn_context *ctx, const pt_model *m, const lm_expansion *e,
                          const float *x, const int32_t *label, size_t n, pt_cloud *c) {
    *c = (pt_cloud){.n = n,
                    .m = e->pack.n,
                    .k = e->outputs,
                    .d = m->d,
                    .stride = m->stride,
                    .most = m->o.kept,
                    .paper = m->o.paper,
                    .split = m->o.split,
                    .select = m->o.select,
                    .metric = &e->kernel,
                    .pack = &e->pack,
                    .x = x,
                    .label = label,
                    .classes = m->classes,
                    .coef = e->coef,
                    .rng = pt_random(m, PT_SPLIT, m->steps)};
    limn_status status = take_memory(ctx, c);
    if (status == LIMN_OK) {
        fill(e, c);
        pt_cloud_aim(c);
    }
    return status;
}

/* ---- what a side keeps ---- */

static lm_box_task program(pt_cloud *c, int s) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    size_t m = c->m;
    memset(c->q, 0, m * m * sizeof *c->q);
    memset(c->w, 0, m * sizeof *c->w);
    for (size_t i = 0; i < c->n; i++) {
        const double *row = c->kernel + i * m;
        if (c->side[i] != s)
            continue;
        for (size_t j = 0; j < m; j++)
            dense->axpy(row[j], row, c->q + j * m, j + 1);
        dense->axpy(1, c->pull + i * m, c->w, m);
    }
    for (size_t j = 0; j < m; j++)
        for (size_t h = 0; h <= j; h++)
            c->q[h * m + j] = c->q[j * m + h] *= c->products[j * m + h];
    return (lm_box_task){.n = m,
                         .q = c->q,
                         .w = c->w,
                         .most = (double)c->most,
                         .tolerance = c->tolerance,
                         .steps = STEPS};
}

void pt_solve(pt_cloud *c, int s) {
    lm_box_task task = program(c, s);
    (void)lm_box_solve(&task, c->p[s], c->gradient, NULL);
}

void pt_draw(pt_cloud *c, double *p) {
    for (size_t j = 0; j < c->m; j++) {
        c->order[j] = j;
        p[j] = 0;
    }
    lm_rng_shuffle(&c->rng, c->order, c->m);
    for (size_t j = 0; j < c->most && j < c->m; j++)
        p[c->order[j]] = 1;
}

/* The vectors that the test sends to side s, at most C of them. */
static void choose_own(pt_cloud *c, int s) {
    float *values = c->padded + c->stride;
    size_t count = 0;
    for (size_t j = 0; j < c->m; j++) {
        memset(c->padded, 0, c->stride * sizeof *c->padded);
        lm_pack_row(c->pack, j, c->padded);
        double length = c->paper ? pt_length(c->padded, c->d) : 1;
        c->keeps[s][j] = 0;
        if (pt_side(c->metric, &c->node, c->padded, c->stride, length, values) == s)
            c->order[count++] = j;
    }
    lm_rng_shuffle(&c->rng, c->order, count);
    for (size_t j = 0; j < count && j < c->most; j++)
        c->keeps[s][c->order[j]] = 1;
}

void pt_choose(pt_cloud *c, int s) {
    if (c->select == PT_INDS) {
        choose_own(c, s);
        return;
    }
    if (c->select == PT_RNDS) {
        pt_draw(c, c->p[s]);
        for (size_t j = 0; j < c->m; j++)
            c->keeps[s][j] = c->p[s][j] > 0;
        return;
    }
    lm_box_task task = program(c, s);
    if (c->paper)
        (void)lm_box_draw(&task, c->p[s], DRAWS, &c->rng, c->keeps[s], c->gradient);
    else
        (void)lm_box_round(&task, c->p[s], c->keeps[s], c->gradient);
}

void pt_costs(const pt_cloud *c, const double *p, double *cost) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    for (size_t i = 0; i < c->n; i++) {
        const double *row = c->kernel + i * c->m;
        for (size_t o = 0; o < c->k; o++)
            c->sum[o] = -c->r[i * c->k + o];
        for (size_t j = 0; j < c->m; j++)
            if (p[j] != 0)
                dense->axpy(p[j] * row[j], c->coef + j * c->k, c->sum, c->k);
        cost[i] = dense->dot(c->sum, c->sum, c->k);
    }
}

/* ---- a new leaf ---- */

static void add_vectors(const pt_cloud *c, int s, pt_leaf *leaf) {
    for (size_t j = 0; j < c->m; j++)
        if (c->keeps[s][j]) {
            lm_pack_row(c->pack, j, c->padded);
            lm_expansion_put(&leaf->e, c->padded, c->coef + j * c->k);
        }
}

/* Adds the rows of the side to the normal equations: the lower triangle of gram, and right, one row
 * per output. row: n + k doubles of room. */
static void add_equations(const pt_cloud *c, int s, const pt_leaf *leaf, double *gram,
                          double *right, double *row) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    size_t n = leaf->e.pack.n, k = c->k;
    double *rest = row + n;
    for (size_t i = 0; i < c->n; i++) {
        size_t at = 0;
        if (c->side[i] != s)
            continue;
        memcpy(rest, c->r + i * k, k * sizeof *rest);
        for (size_t j = 0; j < c->m; j++)
            if (c->keeps[s][j])
                row[at++] = c->kernel[i * c->m + j];
        for (size_t j = 0; j < n; j++)
            dense->axpy(-row[j], leaf->e.coef + j * k, rest, k);
        for (size_t j = 0; j < n; j++)
            dense->axpy(row[j], row, gram + j * n, j + 1);
        for (size_t o = 0; o < k; o++)
            dense->axpy(rest[o], row, right + o * n, n);
    }
}

/* Moves the coefficients towards those that fit r best on the side's rows. */
static limn_status refit(limn_context *ctx, const pt_cloud *c, int s, double ridge, pt_leaf *leaf) {
    size_t n = leaf->e.pack.n, k = c->k;
    double *gram = cells(&ctx->mem, n, n), *right = cells(&ctx->mem, n, k);
    double *row = lm_alloc(&ctx->mem, n + k, sizeof *row);
    bool fine = gram && right && row;
    if (fine)
        add_equations(c, s, leaf, gram, right, row);
    if (fine && lm_cholesky_solve(gram, n, ridge, right, k))
        for (size_t i = 0; i < n * k; i++)
            leaf->e.coef[i] += right[i % k * n + i / k];
    lm_free(&ctx->mem, gram);
    lm_free(&ctx->mem, right);
    lm_free(&ctx->mem, row);
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status make_side(limn_context *ctx, const pt_model *m, const pt_leaf *from,
                             const pt_cloud *c, int s, pt_leaf *out) {
    size_t vectors = 0, rows = 0;
    for (size_t j = 0; j < c->m; j++)
        vectors += c->keeps[s][j];
    for (size_t i = 0; i < c->n; i++)
        rows += c->side[i] == s;
    bool keeps = pt_may_split(&m->o, from->level + 1);
    limn_status status = pt_leaf_make(ctx, m, from->level + 1, vectors + 1, keeps ? rows : 0, out);
    if (status != LIMN_OK)
        return status;
    add_vectors(c, s, out);
    for (size_t i = 0; i < c->n; i++)
        if (c->side[i] == s && keeps)
            pt_leaf_keep(m, out, c->x + i * c->d, c->label[i]);
        else if (c->side[i] == s)
            pt_leaf_count(out, c->label[i]);
    memcpy(out->bias, from->bias, m->outputs * sizeof *out->bias);
    out->seen = (uint64_t)((double)from->seen * (double)rows / (double)c->n);
    out->seen = out->seen < rows ? rows : out->seen;
    if (m->o.refit > 0 && vectors)
        status = refit(ctx, c, s, m->o.refit * (double)(rows + 1), out);
    pt_leaf_restart(m, out);
    return status;
}

void pt_fork_free(const limn_allocator *mem, pt_fork *fork) {
    pt_node_free(mem, &fork->node);
    pt_leaf_free(mem, &fork->leaf[0]);
    pt_leaf_free(mem, &fork->leaf[1]);
    fork->valid = false;
}

static limn_status split(limn_context *ctx, const pt_model *m, const pt_leaf *leaf, pt_cloud *c,
                         pt_fork *out) {
    bool found = false;
    limn_status status = pt_partition(ctx, c, &found);
    if (status != LIMN_OK || !found)
        return status;
    for (int s = 0; s < 2 && status == LIMN_OK; s++) {
        pt_choose(c, s);
        status = make_side(ctx, m, leaf, c, s, &out->leaf[s]);
    }
    out->node = c->node;
    c->node = (pt_node){.w = NULL};
    out->valid = status == LIMN_OK;
    return status;
}

limn_status pt_split_leaf(limn_context *ctx, const pt_model *m, const pt_leaf *leaf, pt_fork *out) {
    pt_cloud c;
    *out = (pt_fork){.valid = false};
    if (leaf->kept < LEAST_ROWS)
        return LIMN_OK;
    limn_status status =
        pt_cloud_make(ctx, m, &leaf->e, leaf->kept_x, leaf->kept_label, leaf->kept, &c);
    if (status == LIMN_OK)
        status = split(ctx, m, leaf, &c, out);
    pt_cloud_free(&ctx->mem, &c);
    return status;
}
