/* grow.c: one tree, node by node, with a stack of its own: a tree of equal rows may be as deep as
 * it likes. */
#include "methods/vpc/build.h"

#include <string.h>

/* A node that is still to be grown. */
typedef struct task {
    vpc_grown **link;
    uint32_t *rows;
    size_t count;
    uint64_t path;
    vpc_parent parent; /* a copy of its own; empty at the root */
} task;

typedef struct stack {
    limn_context *ctx;
    const vpc_plan *plan;
    lm_buffer tasks;
} stack;

void vpc_grown_free(const limn_allocator *mem, vpc_grown *root) {
    /* Without a stack: the near chain is walked, and each far half hung behind its end. */
    while (root) {
        vpc_grown *next = root->near, *far = root->far;
        if (next && far) {
            vpc_grown *end = next;
            while (end->near)
                end = end->near;
            end->near = far; /* it has no near half of its own */
        } else if (!next) {
            next = far;
        }
        vpc_fit_free(mem, &root->fit);
        lm_free(mem, root->centre);
        lm_free(mem, root);
        root = next;
    }
}

static bool push(stack *s, const task *t) {
    return lm_buffer_append(&s->tasks, t, sizeof *t);
}

static bool pop(stack *s, task *t) {
    if (!s->tasks.size)
        return false;
    s->tasks.size -= sizeof *t;
    memcpy(t, s->tasks.data + s->tasks.size, sizeof *t);
    return true;
}

static limn_status copy_parent(limn_context *ctx, const vpc_plan *plan, const vpc_parent *from,
                               vpc_parent *to) {
    size_t d = plan->d;
    *to = (vpc_parent){NULL, NULL};
    if (!from->covariance)
        return LIMN_OK;
    to->covariance = lm_alloc(&ctx->mem, d * d, sizeof *to->covariance);
    to->prior = lm_alloc(&ctx->mem, plan->set->classes, sizeof *to->prior);
    if (!to->covariance || !to->prior) {
        vpc_parent_free(&ctx->mem, to);
        return lm_fail_memory(ctx);
    }
    memcpy(to->covariance, from->covariance, d * d * sizeof *to->covariance);
    memcpy(to->prior, from->prior, plan->set->classes * sizeof *to->prior);
    return LIMN_OK;
}

/* The two halves of a node onto the stack; own goes to the first of them. */
static limn_status push_halves(stack *s, const task *t, vpc_grown *node, size_t near,
                               vpc_parent *own) {
    task halves[2] = {
        {.link = &node->far,
         .rows = t->rows + near,
         .count = t->count - near,
         .path = lm_hash(t->path, 2, 0)},
        {.link = &node->near, .rows = t->rows, .count = near, .path = lm_hash(t->path, 1, 0)}};
    limn_status status = copy_parent(s->ctx, s->plan, own, &halves[0].parent);
    if (status != LIMN_OK)
        return status;
    halves[1].parent = *own;
    *own = (vpc_parent){NULL, NULL};
    for (int i = 0; i < 2; i++)
        if (status != LIMN_OK || !push(s, &halves[i])) {
            vpc_parent_free(&s->ctx->mem, &halves[i].parent);
            status = status == LIMN_OK ? lm_fail_memory(s->ctx) : status;
        }
    return status;
}

static limn_status set_centre(stack *s, const task *t, vpc_grown *node) {
    size_t d = s->plan->d;
    node->centre = lm_alloc(&s->ctx->mem, d, sizeof *node->centre);
    if (!node->centre)
        return lm_fail_memory(s->ctx);
    for (size_t j = 0; j < d; j++) {
        double sum = 0;
        for (size_t i = 0; i < t->count; i++)
            sum += (double)s->plan->set->x[t->rows[i] * d + j];
        node->centre[j] = (float)(sum / (double)t->count);
    }
    return LIMN_OK;
}

static limn_status grow_node(stack *s, const task *t) {
    const vpc_plan *plan = s->plan;
    vpc_parent own = {NULL, NULL};
    bool root = t->parent.covariance == NULL, forest = plan->style == VPC_FOREST;
    size_t near = 0;
    vpc_grown *node = lm_alloc_zero(&s->ctx->mem, 1, sizeof *node);
    if (!node)
        return lm_fail_memory(s->ctx);
    *t->link = node;
    node->n = t->count;
    limn_status status = vpc_fit_node(s->ctx, plan, t->rows, t->count, root ? NULL : &t->parent,
                                      forest ? &own : NULL, &node->fit);
    bool leaf = node->fit.classes <= 1 || t->count < 3 || node->fit.error <= plan->gamma;
    if (status == LIMN_OK && !leaf)
        status =
            vpc_split(s->ctx, plan, t->path, t->rows, t->count, &node->pivot, &node->mu, &near);
    if (status == LIMN_OK && near) {
        status = push_halves(s, t, node, near, &own);
        if (!plan->keep_all)
            vpc_fit_free(&s->ctx->mem, &node->fit);
    } else if (status == LIMN_OK && plan->centres) {
        status = set_centre(s, t, node);
    }
    vpc_parent_free(&s->ctx->mem, &own);
    return status;
}

limn_status vpc_grow(limn_context *ctx, const vpc_plan *plan, size_t tree, uint32_t *rows,
                     size_t count, vpc_grown **out) {
    stack s = {ctx, plan, {.mem = &ctx->mem}};
    vpc_grown *root = NULL;
    task t = {.link = &root, .rows = rows, .count = count, .path = lm_hash(tree, 0, 0)};
    *out = NULL;
    limn_status status = push(&s, &t) ? LIMN_OK : lm_fail_memory(ctx);
    while (pop(&s, &t)) {
        if (status == LIMN_OK)
            status = grow_node(&s, &t);
        vpc_parent_free(&ctx->mem, &t.parent);
    }
    lm_buffer_free(&s.tasks);
    if (status != LIMN_OK)
        vpc_grown_free(&ctx->mem, root);
    else
        *out = root;
    return status;
}
