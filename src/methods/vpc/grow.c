/* grow.c: trees, node by node. Nodes that are still to be grown wait on a stack that all threads
 * share, so that few trees keep many threads busy, and a tree of any depth needs no stack of C's.
 * What a node becomes depends on its rows and its path alone, so the threads change nothing. */
#include "base/parallel.h"
#include "methods/vpc/build.h"

#include <pthread.h>
#include <string.h>

/* A node that is still to be grown. */
typedef struct task {
    vpc_grown **link;
    uint32_t *rows;
    size_t count;
    uint64_t path;
    vpc_parent parent; /* a copy of its own; empty at the root */
} task;

typedef struct pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    lm_buffer tasks;
    size_t pending; /* tasks that wait or are being worked on */
    limn_status failed;
    limn_context *ctx;    /* the caller's: progress */
    limn_context **child; /* one a thread */
    const vpc_plan *plan;
    double total, done; /* rows in leaves */
} pool;

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

/* ---- a node ---- */

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

/* The halves of a node as tasks; own goes to one of them. */
static limn_status make_halves(limn_context *ctx, const vpc_plan *plan, const task *t,
                               vpc_grown *node, size_t near, vpc_parent *own, task *halves) {
    halves[0] = (task){.link = &node->far,
                       .rows = t->rows + near,
                       .count = t->count - near,
                       .path = lm_hash(t->path, 2, 0)};
    halves[1] =
        (task){.link = &node->near, .rows = t->rows, .count = near, .path = lm_hash(t->path, 1, 0)};
    limn_status status = copy_parent(ctx, plan, own, &halves[0].parent);
    if (status != LIMN_OK)
        return status;
    halves[1].parent = *own;
    *own = (vpc_parent){NULL, NULL};
    return LIMN_OK;
}

static limn_status set_centre(limn_context *ctx, const vpc_plan *plan, const task *t,
                              vpc_grown *node) {
    size_t d = plan->d;
    node->centre = lm_alloc(&ctx->mem, d, sizeof *node->centre);
    if (!node->centre)
        return lm_fail_memory(ctx);
    for (size_t j = 0; j < d; j++) {
        double sum = 0;
        for (size_t i = 0; i < t->count; i++)
            sum += (double)plan->set->x[t->rows[i] * d + j];
        node->centre[j] = (float)(sum / (double)t->count);
    }
    return LIMN_OK;
}

/* *count: 2 halves, or 0 for a leaf. */
static limn_status grow_node(limn_context *ctx, const vpc_plan *plan, const task *t, task *halves,
                             size_t *count) {
    vpc_parent own = {NULL, NULL};
    bool root = t->parent.covariance == NULL, forest = plan->style == VPC_FOREST;
    size_t near = 0;
    *count = 0;
    vpc_grown *node = lm_alloc_zero(&ctx->mem, 1, sizeof *node);
    if (!node)
        return lm_fail_memory(ctx);
    *t->link = node;
    node->n = t->count;
    limn_status status = vpc_fit_node(ctx, plan, t->rows, t->count, root ? NULL : &t->parent,
                                      forest ? &own : NULL, &node->fit);
    bool leaf = node->fit.classes <= 1 || t->count < 3 || node->fit.error <= plan->gamma;
    if (status == LIMN_OK && !leaf)
        status = vpc_split(ctx, plan, t->path, t->rows, t->count, &node->pivot, &node->mu, &near);
    if (status == LIMN_OK && near) {
        status = make_halves(ctx, plan, t, node, near, &own, halves);
        *count = status == LIMN_OK ? 2 : 0;
        if (!plan->keep_all)
            vpc_fit_free(&ctx->mem, &node->fit);
    } else if (status == LIMN_OK && plan->centres) {
        status = set_centre(ctx, plan, t, node);
    }
    vpc_parent_free(&ctx->mem, &own);
    return status;
}

/* ---- the pool ---- */

/* Waits for a task; false when there will be none. The lock is held before and after. */
static bool take(pool *p, task *t) {
    while (!p->tasks.size && p->pending)
        pthread_cond_wait(&p->changed, &p->lock);
    if (!p->tasks.size)
        return false;
    p->tasks.size -= sizeof *t;
    memcpy(t, p->tasks.data + p->tasks.size, sizeof *t);
    return true;
}

/* What a task has come to: its halves wait, or it is done. The lock is held. */
static void give_back(pool *p, const task *t, task *halves, size_t count, limn_status status) {
    if (p->failed == LIMN_OK)
        p->failed = status;
    for (size_t i = 0; i < count; i++) {
        if (p->failed == LIMN_OK && !lm_buffer_append(&p->tasks, &halves[i], sizeof halves[i]))
            p->failed = LIMN_E_MEMORY;
        if (p->failed != LIMN_OK)
            vpc_parent_free(&p->ctx->mem, &halves[i].parent);
        else
            p->pending++;
    }
    p->done += count ? 0 : (double)t->count;
    p->pending--;
    pthread_cond_broadcast(&p->changed);
}

static void work(void *user, size_t index, int thread) {
    pool *p = user;
    task t, halves[2];
    (void)index;
    pthread_mutex_lock(&p->lock);
    while (take(p, &t)) {
        bool failed = p->failed != LIMN_OK;
        double fraction = p->done / p->total;
        size_t count = 0;
        pthread_mutex_unlock(&p->lock);
        limn_status status = LIMN_OK;
        if (!failed && thread == 0) /* the calling thread */
            status = lm_progress(p->ctx, "training", 0, 0, fraction);
        if (!failed && status == LIMN_OK)
            status = grow_node(p->child[thread], p->plan, &t, halves, &count);
        vpc_parent_free(&p->ctx->mem, &t.parent);
        pthread_mutex_lock(&p->lock);
        give_back(p, &t, halves, count, status);
    }
    pthread_mutex_unlock(&p->lock);
}

/* ---- all trees ---- */

static limn_status make_children(limn_context *ctx, limn_context **child, int threads) {
    limn_context_options options;
    limn_context_options_init(&options);
    options.allocator = ctx->mem;
    options.seed = ctx->seed;
    options.threads = 1;
    options.memory_limit = ctx->memory_limit;
    for (int t = 0; t < threads; t++)
        if (lm_context_make(&options, &child[t]) != LIMN_OK)
            return lm_fail_memory(ctx);
    return LIMN_OK;
}

/* The sentence of whichever thread failed. */
static limn_status outcome(const pool *p, int threads) {
    if (p->failed == LIMN_OK || p->failed == LIMN_E_CANCELLED)
        return p->failed;
    for (int t = 0; t < threads; t++)
        if (p->child[t]->error[0])
            return lm_fail(p->ctx, p->failed, "%s", p->child[t]->error);
    return lm_fail_memory(p->ctx);
}

/* Trees first .. first + count - 1 at once. memory: count x rows. */
static limn_status grow_some(pool *p, size_t first, size_t count, const uint32_t *rows, size_t n,
                             uint32_t *memory, vpc_grown **roots, int threads) {
    for (size_t t = 0; t < count; t++) {
        task root = {.link = &roots[first + t],
                     .rows = memory + t * n,
                     .count = n,
                     .path = lm_hash(first + t, 0, 0)};
        memcpy(root.rows, rows, n * sizeof *rows);
        if (!lm_buffer_append(&p->tasks, &root, sizeof root)) {
            p->tasks.size = 0;
            return lm_fail_memory(p->ctx);
        }
    }
    p->pending = count;
    lm_parallel(threads, (size_t)threads, work, p);
    return outcome(p, threads);
}

limn_status vpc_grow(limn_context *ctx, const vpc_plan *plan, size_t trees, const uint32_t *rows,
                     size_t count, vpc_grown ***out) {
    int threads = ctx->threads < LM_THREADS_MAX ? ctx->threads : LM_THREADS_MAX;
    size_t together = (size_t)threads < trees ? (size_t)threads : trees, cells;
    pool p = {.ctx = ctx, .plan = plan, .tasks.mem = &ctx->mem};
    uint32_t *memory =
        lm_mul(together, count, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *memory) : NULL;
    vpc_grown **roots = lm_alloc_zero(&ctx->mem, trees, sizeof *roots);
    p.total = (double)trees * (double)count;
    p.child = lm_alloc_zero(&ctx->mem, (size_t)threads, sizeof(limn_context *));
    limn_status status =
        memory && roots && p.child ? make_children(ctx, p.child, threads) : lm_fail_memory(ctx);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    for (size_t t = 0; t < trees && status == LIMN_OK; t += together) {
        size_t some = trees - t < together ? trees - t : together;
        status = grow_some(&p, t, some, rows, count, memory, roots, threads);
    }
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    for (int t = 0; p.child && t < threads; t++)
        limn_context_free(p.child[t]);
    lm_free(&ctx->mem, p.child);
    lm_buffer_free(&p.tasks);
    lm_free(&ctx->mem, memory);
    *out = roots; /* some trees may be there after a failure, too */
    return status;
}
