/* work.c: threads that take the next piece of work until none is left; and the same with a context
 * per thread, the first failure reported, and cancelling.
 *
 * Not OpenMP: its runtimes print and end the process when a thread cannot be created. */
#include "base/work.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* ---- pieces that cannot fail ---- */

typedef struct share {
    atomic_size_t next;
    size_t count;
    lm_piece *piece;
    void *user;
} share;

typedef struct seat {
    share *of;
    int thread;
    pthread_t id;
} seat;

static void *sit_down(void *argument) {
    seat *s = argument;
    share *j = s->of;
    for (size_t i; (i = atomic_fetch_add(&j->next, 1)) < j->count;)
        j->piece(j->user, i, s->thread);
    return NULL;
}

void lm_parallel(int threads, size_t count, lm_piece *piece, void *user) {
    share shared = {.count = count, .piece = piece, .user = user};
    seat seats[LM_THREADS_MAX];
    sigset_t all, before;
    int wanted = threads < LM_THREADS_MAX ? threads : LM_THREADS_MAX, started = 1;
    if ((size_t)wanted > count)
        wanted = (int)count;
    /* Signals go to the calling thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; started < wanted; started++) {
        seats[started] = (seat){.of = &shared, .thread = started};
        if (pthread_create(&seats[started].id, NULL, sit_down, &seats[started]) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    seats[0] = (seat){.of = &shared, .thread = 0};
    sit_down(&seats[0]);
    for (int t = 1; t < started; t++)
        pthread_join(seats[t].id, NULL);
}

/* ---- pieces that may fail ---- */

typedef struct crew crew;

typedef struct worker {
    crew *of;
    limn_context *ctx;
    bool calling; /* the caller's own thread: it alone reports progress */
    size_t failed_piece;
    limn_status failed;
    char sentence[LM_ERROR_BYTES];
} worker;

struct crew {
    limn_context *ctx;
    const lm_job *job;
    worker *workers;
    int threads;
    atomic_size_t done;
    atomic_size_t limit; /* the lowest piece that failed: later ones are not needed */
    atomic_bool cancelled;
};

static limn_status tell(crew *c) {
    uint64_t done = atomic_load(&c->done), total = c->job->count;
    if (c->job->done)
        c->job->done(c->job->user, &done, &total);
    bool rows = c->job->done != NULL; /* pieces are not rows */
    limn_progress progress = {.stage = c->job->stage,
                              .rows = rows ? done : 0,
                              .rows_total = rows ? total : 0,
                              .fraction = (double)done / (double)total,
                              .detail = c->job->detail ? c->job->detail(c->job->user) : NULL};
    limn_status status = lm_progress_tell(c->ctx, &progress);
    if (status != LIMN_OK)
        atomic_store(&c->cancelled, true);
    return status;
}

/* The progress callback of the threads' contexts. */
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
    limn_status status = c->job->task(w->ctx, c->job->user, index);
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
        return LIMN_E_CANCELLED; /* tell() has recorded the message */
    if (first)
        return lm_fail(c->ctx, first->failed, "%s", first->sentence);
    return tell(c);
}

int lm_work_threads(const limn_context *ctx, size_t count) {
    int threads = ctx->threads < LM_THREADS_MAX ? ctx->threads : LM_THREADS_MAX;
    return (size_t)threads < count ? threads : (int)count;
}

limn_status lm_work(limn_context *ctx, const lm_job *job) {
    if (job->count == 0)
        return LIMN_OK;
    int threads = lm_work_threads(ctx, job->count);
    crew c = {.ctx = ctx,
              .job = job,
              .threads = threads,
              .workers = lm_alloc_zero(&ctx->mem, (size_t)threads, sizeof(worker))};
    atomic_store(&c.limit, SIZE_MAX);
    limn_status status = c.workers ? hire(&c) : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        lm_parallel(threads, job->count, do_piece, &c);
        status = outcome(&c);
    }
    for (int t = 0; c.workers && t < threads; t++)
        limn_context_free(c.workers[t].ctx);
    lm_free(&ctx->mem, c.workers);
    return status;
}
