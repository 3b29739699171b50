/* branch.c: the tests of a tree that is drawn from a machine.
 *
 * split=pca: across the direction in which the rows of a node vary most, in the middle.
 * split=wpq: the root has some support vectors as candidates, with coefficients fitted to the
 * machine's f by a ridge; the test and the half of the candidates that each side keeps are found
 * together (joint.c); a side fits its candidates' coefficients to f again, and so on. */
#include "methods/ptree/shrink.h"

#include <math.h>
#include <string.h>

enum {
    SAMPLE = 2000,       /* rows that a test is found from */
    CANDIDATES = 400,    /* of the root for wpq, at most */
    LEAST_PER_VECTOR = 2 /* a node is divided if it has more rows than so many per vector */
};
#define RIDGE 1e-7

/* A node to be divided, or a leaf to be. */
typedef struct branch {
    size_t first, last; /* of its places */
    uint32_t level;
    int32_t parent;
    int side;
    size_t *vector; /* candidates: numbers of support vectors */
    size_t vectors;
} branch;

/* ---- candidates ---- */

static limn_status gather(limn_context *ctx, const pt_draft *t, const branch *b, lm_expansion *e) {
    *e = (lm_expansion){.kernel = t->m->o.kernel, .outputs = 1};
    e->pack.d = t->m->d;
    limn_status status = lm_expansion_reserve(ctx, e, b->vectors);
    for (size_t j = 0; j < b->vectors && status == LIMN_OK; j++)
        lm_expansion_put(e, t->svm->sv + b->vector[j] * t->m->d, NULL);
    return status;
}

/* Fits the candidates' coefficients to f, which is c->r less a constant afterwards. */
static limn_status fit(limn_context *ctx, pt_cloud *c, lm_expansion *e) {
    pt_normal normal;
    size_t cells;
    double bias = 0;
    limn_status status = pt_normal_make(ctx, c->m, &normal);
    double *room = lm_mul(c->m, c->m, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *room) : NULL;
    if (status == LIMN_OK && !room)
        status = lm_fail_memory(ctx);
    for (size_t i = 0; i < c->n && status == LIMN_OK; i++)
        pt_normal_add(&normal, c->kernel + i * c->m, c->r[i]);
    if (status == LIMN_OK && !pt_normal_solve(&normal, RIDGE, room, e->coef, &bias))
        memset(e->coef, 0, c->m * sizeof *e->coef);
    for (size_t i = 0; i < c->n; i++)
        c->r[i] -= bias;
    for (size_t i = 0; i < c->m; i++)
        for (size_t j = 0; j < c->m; j++)
            c->products[i * c->m + j] = e->coef[i] * e->coef[j];
    pt_normal_free(&ctx->mem, &normal);
    lm_free(&ctx->mem, room);
    return status;
}

/* ---- one test ---- */

static limn_status find_test(limn_context *ctx, const pt_draft *t, const branch *b, pt_cloud *c,
                             lm_expansion *e, float *x, bool *found) {
    size_t n = b->last - b->first < SAMPLE ? b->last - b->first : SAMPLE;
    pt_model like = *t->m;
    like.o.kept = b->vectors / 2 ? b->vectors / 2 : 1;
    like.o.select = PT_OPTS;
    like.o.paper = false;
    like.steps = t->m->nodes;
    for (size_t i = 0; i < n; i++)
        memcpy(x + i * t->m->d, pt_draft_row(t, t->place[b->first + i]), t->m->d * sizeof *x);
    limn_status status = pt_cloud_make(ctx, &like, e, x, NULL, n, c);
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        c->r[i] = t->rows->f[t->place[b->first + i]];
    if (status == LIMN_OK && t->m->o.split == PT_WPQ)
        status = fit(ctx, c, e);
    if (status != LIMN_OK)
        return status;
    pt_cloud_aim(c);
    status = pt_partition(ctx, c, found);
    for (int s = 0; s < 2 && status == LIMN_OK && *found; s++)
        pt_choose(c, s);
    return status;
}

/* The candidates that a side keeps; all of them for pca. */
static limn_status inherit(limn_context *ctx, const pt_draft *t, const branch *b, const pt_cloud *c,
                           branch *sides) {
    for (int s = 0; s < 2; s++) {
        sides[s].vector = lm_alloc(&ctx->mem, b->vectors, sizeof *sides[s].vector);
        if (!sides[s].vector)
            return lm_fail_memory(ctx);
        for (size_t j = 0; j < b->vectors; j++)
            if (t->m->o.split == PT_PCA || c->keeps[s][j])
                sides[s].vector[sides[s].vectors++] = b->vector[j];
    }
    return LIMN_OK;
}

/* Sorts the places of a branch by the side that the test sends them to; returns where the right
 * ones begin. The order within the sides stays: the first rows of any branch are a sample. */
static size_t divide(const pt_draft *t, const branch *b, const pt_node *node, float *x,
                     size_t *room) {
    size_t left = b->first, right = 0;
    for (size_t i = b->first; i < b->last; i++) {
        pt_take_row(t->m, pt_draft_row(t, t->place[i]), x);
        if (pt_side(&t->m->o.kernel, node, x, t->m->stride, 1, NULL))
            room[right++] = t->place[i];
        else
            t->place[left++] = t->place[i];
    }
    memcpy(t->place + left, room, right * sizeof *room);
    return left;
}

/* *valid false: the branch is a leaf. */
static limn_status split(limn_context *ctx, pt_draft *t, const branch *b, branch *sides,
                         bool *valid) {
    const limn_allocator *mem = &ctx->mem;
    const pt_model *m = t->m;
    pt_cloud c = {.n = 0};
    lm_expansion e;
    float *x = lm_alloc_aligned(mem, SAMPLE, m->d * sizeof *x);
    float *padded = lm_alloc_aligned(mem, m->stride, sizeof *padded);
    size_t *room = lm_alloc(mem, b->last - b->first, sizeof *room);
    limn_status status = gather(ctx, t, b, &e);
    if (status == LIMN_OK && (!x || !padded || !room))
        status = lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = find_test(ctx, t, b, &c, &e, x, valid);
    if (status == LIMN_OK && *valid)
        status = pt_reserve_leaf(ctx, t->m);
    if (status == LIMN_OK && *valid)
        status = inherit(ctx, t, b, &c, sides);
    if (status == LIMN_OK && *valid) {
        sides[0].last = sides[1].first = divide(t, b, &c.node, padded, room);
        t->m->node[t->m->nodes++] = c.node;
        c.node = (pt_node){.w = NULL};
    }
    pt_cloud_free(mem, &c);
    lm_expansion_free(mem, &e);
    lm_free_aligned(mem, x);
    lm_free_aligned(mem, padded);
    lm_free(mem, room);
    return status;
}

/* ---- the tree ---- */

static limn_status end(limn_context *ctx, pt_draft *t, const branch *b) {
    pt_model *m = t->m;
    limn_status status = pt_reserve_leaf(ctx, m);
    if (status != LIMN_OK)
        return status;
    pt_leaf *leaf = &m->leaf[m->leaves];
    status = pt_leaf_make(ctx, m, b->level, pt_draft_vectors(t), 0, leaf);
    leaf->parent = b->parent;
    if (b->parent >= 0)
        m->node[b->parent].child[b->side] = -1 - (int32_t)m->leaves;
    t->start[m->leaves++] = b->first;
    t->start[m->leaves] = b->last;
    return status;
}

static limn_status grow(limn_context *ctx, pt_draft *t, const branch *b) {
    bool valid = b->level < t->m->o.depth && b->vectors > 1 &&
                 b->last - b->first > LEAST_PER_VECTOR * t->m->o.budget;
    int32_t node = (int32_t)t->m->nodes;
    branch sides[2] = {{.first = b->first, .level = b->level + 1, .parent = node},
                       {.last = b->last, .level = b->level + 1, .parent = node, .side = 1}};
    limn_status status = lm_progress(ctx, "dividing the rows", b->first, t->rows->n,
                                     (double)b->first / (double)t->rows->n);
    if (status == LIMN_OK && valid)
        status = split(ctx, t, b, sides, &valid);
    if (status == LIMN_OK && !valid)
        status = end(ctx, t, b);
    if (status == LIMN_OK && valid && b->parent >= 0)
        t->m->node[b->parent].child[b->side] = node;
    for (int s = 0; s < 2 && status == LIMN_OK && valid; s++)
        status = grow(ctx, t, &sides[s]);
    lm_free(&ctx->mem, sides[0].vector);
    lm_free(&ctx->mem, sides[1].vector);
    return status;
}

limn_status pt_branch(limn_context *ctx, pt_draft *t) {
    size_t most = t->m->o.split == PT_WPQ ? CANDIDATES : 2;
    branch root = {.last = t->rows->n, .parent = -1};
    root.vector = lm_alloc(&ctx->mem, t->svm->n, sizeof *root.vector);
    if (!root.vector)
        return lm_fail_memory(ctx);
    lm_rng rng = pt_random(t->m, PT_SAMPLE, 0);
    for (size_t j = 0; j < t->svm->n; j++)
        root.vector[j] = j;
    lm_rng_shuffle(&rng, root.vector, t->svm->n);
    root.vectors = t->svm->n < most ? t->svm->n : most;
    limn_status status = grow(ctx, t, &root);
    lm_free(&ctx->mem, root.vector);
    return status;
}
