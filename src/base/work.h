/* work.h: pieces of work that may fail, over the threads of a context. */
#ifndef LIMN_BASE_WORK_H
#define LIMN_BASE_WORK_H

#include "base/base.h"

/* Piece index. ctx belongs to the thread: one thread, no log, the seed of the caller's context;
 * lm_progress on it shows nothing, but hears when the user cancels. */
typedef limn_status lm_task(limn_context *ctx, void *user, size_t index);

/* Does the pieces 0..count-1 on ctx->threads threads and tells progress ("stage": pieces done) from
 * the calling thread only, at least once, when all are done. Returns the failure of the piece with
 * the lowest number, whatever the threads; pieces behind it may be left out. */
limn_status lm_work(limn_context *ctx, const char *stage, size_t count, lm_task *task, void *user);

#endif
