/* team.h: threads that wait for the next round of work, for rounds too short to start threads for:
 * some microseconds each. Otherwise parallel.h is the simpler choice. */
#ifndef LIMN_BASE_TEAM_H
#define LIMN_BASE_TEAM_H

#include "base/base.h"
#include "base/parallel.h"

typedef struct lm_team lm_team;

/* The caller and up to threads - 1 others; those that cannot be created are done without. */
limn_status lm_team_start(limn_context *ctx, int threads, lm_team **out);
/* Ends the threads. NULL is allowed. */
void lm_team_end(const limn_allocator *mem, lm_team *team);
/* How many there are, the caller included: 1 or more. */
int lm_team_size(const lm_team *team);
/* As lm_parallel: pieces 0..count-1, each once, in any order; returns when all are done. Call it
 * from the thread that started the team. */
void lm_team_run(lm_team *team, size_t count, lm_piece *piece, void *user);

#endif
