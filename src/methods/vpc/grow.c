/* grow.c: grows trees node by node. Nodes still to be grown wait on a stack shared by all threads,
 * so that few trees keep many threads busy, and depth is not limited by the C stack. What a node
 * becomes depends only on its rows and its path, so the number of threads does not matter. Each
 * piece of work of the pool is a worker that takes nodes from the stack until none are left. */
#include "base/work.h"
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
    const limn_allocator *mem;
    lm_buffer tasks;
    size_t pending; /* tasks that are waiting or in progress */
    bool failed;
    const vpc_plan *plan;
    uint64_t total, done; /* rows in leaves */
} pool;

void vpc_grown_free(const limn_allocator *mem, vpc_grown *root) {
    /* Without a stack: walk the near chain and append each far half at its end. */
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

/* The halves of a node as tasks; one of them takes over own. */
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

/* Waits for a task; false if there are no more. The lock is held before and after. */
static bool take(pool *p, task *t) {
    while (!p->tasks.size && p->pending)
        pthread_cond_wait(&p->changed, &p->lock);
    if (!p->tasks.size)
        return false;
    p->tasks.size -= sizeof *t;
    memcpy(t, p->tasks.data + p->tasks.size, sizeof *t);
    return true;
}

/* Finishes a task: queues its halves, or counts it as done. The lock is held. */
static limn_status give_back(limn_context *ctx, pool *p, const task *t, task *halves, size_t count,
                             limn_status status) {
    for (size_t i = 0; i < count; i++) {
        if (status == LIMN_OK && !lm_buffer_append(&p->tasks, &halves[i], sizeof halves[i]))
            status = lm_fail_memory(ctx);
        if (status != LIMN_OK)
            vpc_parent_free(p->mem, &halves[i].parent);
        else
            p->pending++;
    }
    p->failed = p->failed || status != LIMN_OK;
    p->done += count ? 0 : t->count;
    p->pending--;
    pthread_cond_broadcast(&p->changed);
    return status;
}

/* After a failure waiting tasks are just discarded. */
static limn_status work(limn_context *ctx, void *user, size_t index) {
    pool *p = user;
    task t, halves[2];
    limn_status status = LIMN_OK;
    (void)index;
    pthread_mutex_lock(&p->lock);
    while (take(p, &t)) {
        bool go_on = !p->failed && status == LIMN_OK;
        size_t count = 0;
        pthread_mutex_unlock(&p->lock);
        if (go_on)
            status = lm_progress(ctx, "training", 0, 0, -1);
        if (go_on && status == LIMN_OK)
            status = grow_node(ctx, p->plan, &t, halves, &count);
        vpc_parent_free(p->mem, &t.parent);
        pthread_mutex_lock(&p->lock);
        status = give_back(ctx, p, &t, halves, count, status);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

static void tell_done(void *user, uint64_t *done, uint64_t *total) {
    pool *p = user;
    pthread_mutex_lock(&p->lock);
    *done = p->done;
    *total = p->total;
    pthread_mutex_unlock(&p->lock);
}

/* ---- all trees ---- */

/* Trees first .. first + count - 1 at once. memory: count x rows. */
static limn_status grow_some(limn_context *ctx, pool *p, size_t first, size_t count,
                             const uint32_t *rows, size_t n, uint32_t *memory, vpc_grown **roots) {
    lm_job job = {.stage = "training",
                  .count = (size_t)lm_work_threads(ctx, SIZE_MAX),
                  .task = work,
                  .user = p,
                  .done = tell_done};
    for (size_t t = 0; t < count; t++) {
        task root = {.link = &roots[first + t],
                     .rows = memory + t * n,
                     .count = n,
                     .path = lm_hash(first + t, 0, 0)};
        memcpy(root.rows, rows, n * sizeof *rows);
        if (!lm_buffer_append(&p->tasks, &root, sizeof root)) {
            p->tasks.size = 0;
            return lm_fail_memory(ctx);
        }
    }
    p->pending = count;
    return lm_work(ctx, &job);
}

limn_status vpc_grow(limn_context *ctx, const vpc_plan *plan, size_t trees, const uint32_t *rows,
                     size_t count, vpc_grown ***out) {
    size_t together = (size_t)lm_work_threads(ctx, trees), cells;
    pool p = {
        .mem = &ctx->mem, .plan = plan, .tasks.mem = &ctx->mem, .total = (uint64_t)trees * count};
    uint32_t *memory =
        lm_mul(together, count, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *memory) : NULL;
    vpc_grown **roots = lm_alloc_zero(&ctx->mem, trees, sizeof *roots);
    limn_status status = memory && roots ? LIMN_OK : lm_fail_memory(ctx);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    for (size_t t = 0; t < trees && status == LIMN_OK; t += together) {
        size_t some = trees - t < together ? trees - t : together;
        status = grow_some(ctx, &p, t, some, rows, count, memory, roots);
    }
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    lm_buffer_free(&p.tasks);
    lm_free(&ctx->mem, memory);
    *out = roots; /* some trees may exist even after a failure */
    return status;
}
