/* work.c: lm_parallel with a context for each thread, failures kept in order, and cancelling. */
#include "base/work.h"

#include "base/parallel.h"

#include <stdatomic.h>
#include <string.h>

typedef struct crew crew;

typedef struct worker {
    crew *of;
    limn_context *ctx;
    bool calling; /* the caller's own thread: it alone may tell progress */
    size_t failed_piece;
    limn_status failed;
    char sentence[LM_ERROR_BYTES];
} worker;

struct crew {
    limn_context *ctx;
    const char *stage;
    size_t count;
    lm_task *task;
    void *user;
    worker *workers;
    int threads;
    atomic_size_t done;
    atomic_size_t limit; /* the lowest piece that failed: those behind it are not wanted */
    atomic_bool cancelled;
};

static limn_status tell(crew *c) {
    size_t done = atomic_load(&c->done);
    limn_status status =
        lm_progress(c->ctx, c->stage, done, c->count, (double)done / (double)c->count);
    if (status != LIMN_OK)
        atomic_store(&c->cancelled, true);
    return status;
}

/* The progress of the threads' contexts. */
static int hear(void *user, const limn_progress *progress) {
    worker *w = user;
    (void)progress;
    if (w->calling && !atomic_load(&w->of->cancelled))
        (void)tell(w->of);
    return atomic_load(&w->of->cancelled);
}

static void do_piece(void *user, size_t index, int thread) {
    crew *c = user;
    worker *w = &c->workers[thread];
    if (atomic_load(&c->cancelled) || index > atomic_load(&c->limit))
        return;
    w->ctx->error[0] = '\0';
    limn_status status = c->task(w->ctx, c->user, index);
    if (status != LIMN_OK && !atomic_load(&c->cancelled)) {
        if (index < w->failed_piece) {
            w->failed_piece = index;
            w->failed = status;
            memcpy(w->sentence, w->ctx->error, sizeof w->sentence);
        }
        size_t limit = atomic_load(&c->limit);
        while (index < limit && !atomic_compare_exchange_weak(&c->limit, &limit, index))
            ;
        return;
    }
    atomic_fetch_add(&c->done, 1);
    if (w->calling && !atomic_load(&c->cancelled))
        (void)tell(c);
}

static limn_status hire(crew *c) {
    limn_context_options options;
    limn_context_options_init(&options);
    options.allocator = c->ctx->mem;
    options.seed = c->ctx->seed;
    options.threads = 1;
    options.memory_limit = c->ctx->memory_limit;
    options.progress = hear;
    for (int t = 0; t < c->threads; t++) {
        worker *w = &c->workers[t];
        w->of = c;
        w->calling = t == 0;
        w->failed_piece = SIZE_MAX;
        options.user = w;
        if (lm_context_make(&options, &w->ctx) != LIMN_OK)
            return lm_fail_memory(c->ctx);
    }
    return LIMN_OK;
}

static limn_status outcome(crew *c) {
    const worker *first = NULL;
    for (int t = 0; t < c->threads; t++)
        if (c->workers[t].failed != LIMN_OK &&
            (!first || c->workers[t].failed_piece < first->failed_piece))
            first = &c->workers[t];
    if (atomic_load(&c->cancelled))
        return LIMN_E_CANCELLED; /* tell() has recorded the sentence */
    if (first)
        return lm_fail(c->ctx, first->failed, "%s", first->sentence);
    return tell(c);
}

limn_status lm_work(limn_context *ctx, const char *stage, size_t count, lm_task *task, void *user) {
    if (count == 0)
        return LIMN_OK;
    int threads = ctx->threads < LM_THREADS_MAX ? ctx->threads : LM_THREADS_MAX;
    threads = (size_t)threads < count ? threads : (int)count;
    crew c = {.ctx = ctx,
              .stage = stage,
              .count = count,
              .task = task,
              .user = user,
              .threads = threads,
              .workers = lm_alloc_zero(&ctx->mem, (size_t)threads, sizeof(worker))};
    atomic_store(&c.limit, SIZE_MAX);
    limn_status status = c.workers ? hire(&c) : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        lm_parallel(threads, count, do_piece, &c);
        status = outcome(&c);
    }
    for (int t = 0; c.workers && t < threads; t++)
        limn_context_free(c.workers[t].ctx);
    lm_free(&ctx->mem, c.workers);
    return status;
}
