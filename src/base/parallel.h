/* parallel.h: many pieces of work over some threads. */
#ifndef LIMN_BASE_PARALLEL_H
#define LIMN_BASE_PARALLEL_H

#include <stddef.h>

enum { LM_THREADS_MAX = 256 };

/* Piece index, done by thread 0..threads-1, of which none does two pieces at once. */
typedef void lm_piece(void *user, size_t index, int thread);

/* Does pieces 0..count-1, each once, in any order; returns when all are done. Where threads cannot
 * be created, those that could (at least the caller's own) do all the work. */
void lm_parallel(int threads, size_t count, lm_piece *piece, void *user);

#endif
