/* work.h: the one worker pool: pieces of work over threads. Pieces that cannot fail go through
 * lm_parallel, which allocates nothing; those that may go through lm_work, which gives each thread
 * a context of its own, keeps the first failure, stops when the user cancels and reports
 * progress. */
#ifndef LIMN_BASE_WORK_H
#define LIMN_BASE_WORK_H

#include "base/base.h"

enum { LM_THREADS_MAX = 256 };

/* ---- pieces that cannot fail ---- */

/* Does piece index on thread 0..threads-1; a thread does one piece at a time. */
typedef void lm_piece(void *user, size_t index, int thread);

/* Does pieces 0..count-1, each once, in any order; returns when all are done. If some threads
 * cannot be created, the others (at least the caller's own) do all the work. */
void lm_parallel(int threads, size_t count, lm_piece *piece, void *user);

/* ---- pieces that may fail ---- */

/* Does piece index. ctx belongs to the thread: one thread, no log, the seed of the caller's
 * context; lm_progress on it shows nothing, but returns LIMN_E_CANCELLED when the user cancels. */
typedef limn_status lm_task(limn_context *ctx, void *user, size_t index);

typedef struct lm_job {
    const char *stage; /* of the progress */
    size_t count;      /* pieces */
    lm_task *task;
    void *user;
    /* Says how many rows are done, of how many; called from the calling thread only. NULL: only the
     * share of pieces is reported. */
    void (*done)(void *user, uint64_t *done, uint64_t *total);
    /* What has been reached so far (limn_progress); called from the calling thread only. NULL:
     * nothing to say. */
    const char *(*detail)(void *user);
} lm_job;

/* The number of threads for a job of count pieces. */
int lm_work_threads(const limn_context *ctx, size_t count);
/* Does the pieces on ctx->threads threads and reports progress from the calling thread only, at
 * least once, when all are done. Returns the failure of the lowest-numbered piece, regardless of
 * the number of threads; later pieces may be skipped. */
limn_status lm_work(limn_context *ctx, const lm_job *job);

#endif
