/* team.c: a round is announced by a counter that the waiting threads watch: some microseconds in a
 * loop, so that a round begins at once, then asleep, so that a long pause costs nothing.
 *
 * No announcement is lost: a thread says that it sleeps, then looks at the counter once more; the
 * caller changes the counter, then looks whether somebody sleeps. Both are in one order that all
 * threads agree on (sequentially consistent), so at least one of them sees the other. */
#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum { LOOKS = 4000, LOOKS_BEFORE_YIELD = 200 };

typedef struct seat {
    lm_team *team;
    int thread;
    pthread_t id;
} seat;

struct lm_team {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_uint round;
    atomic_int asleep;
    atomic_int busy; /* others that have not finished the round */
    atomic_size_t next;
    size_t count;
    lm_piece *piece;
    void *user;
    bool ends;
    int size; /* the caller included */
    seat seats[LM_THREADS_MAX];
};

static void pause_a_moment(unsigned look) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    if (look % LOOKS_BEFORE_YIELD == LOOKS_BEFORE_YIELD - 1)
        sched_yield();
}

static void do_pieces(lm_team *team, int thread) {
    for (size_t i; (i = atomic_fetch_add(&team->next, 1)) < team->count;)
        team->piece(team->user, i, thread);
}

/* Returns when the round is another one than `last`. */
static unsigned await_round(lm_team *team, unsigned last) {
    for (unsigned look = 0; look < LOOKS; look++) {
        unsigned round = atomic_load(&team->round);
        if (round != last)
            return round;
        pause_a_moment(look);
    }
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->asleep, 1);
    while (atomic_load(&team->round) == last)
        pthread_cond_wait(&team->wake, &team->lock);
    atomic_fetch_sub(&team->asleep, 1);
    pthread_mutex_unlock(&team->lock);
    return atomic_load(&team->round);
}

static void *work(void *argument) {
    seat *s = argument;
    lm_team *team = s->team;
    for (unsigned round = 0;;) {
        round = await_round(team, round);
        if (team->ends)
            return NULL;
        do_pieces(team, s->thread);
        atomic_fetch_sub(&team->busy, 1);
    }
}

static void announce(lm_team *team) {
    atomic_fetch_add(&team->round, 1);
    if (atomic_load(&team->asleep) == 0)
        return;
    pthread_mutex_lock(&team->lock);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
}

limn_status lm_team_start(limn_context *ctx, int threads, lm_team **out) {
    sigset_t all, before;
    lm_team *team = lm_alloc_zero(&ctx->mem, 1, sizeof *team);
    if (!team)
        return lm_fail_memory(ctx);
    int wanted = threads < LM_THREADS_MAX ? threads : LM_THREADS_MAX;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    /* Signals are for the thread that called. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (team->size = 1; team->size < wanted; team->size++) {
        seat *s = &team->seats[team->size];
        *s = (seat){.team = team, .thread = team->size};
        if (pthread_create(&s->id, NULL, work, s) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *out = team;
    return LIMN_OK;
}

void lm_team_end(const limn_allocator *mem, lm_team *team) {
    if (!team)
        return;
    team->ends = true;
    announce(team);
    for (int t = 1; t < team->size; t++)
        pthread_join(team->seats[t].id, NULL);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->lock);
    lm_free(mem, team);
}

int lm_team_size(const lm_team *team) {
    return team->size;
}

void lm_team_run(lm_team *team, size_t count, lm_piece *piece, void *user) {
    team->count = count;
    team->piece = piece;
    team->user = user;
    atomic_store(&team->next, 0);
    if (team->size > 1 && count > 1) {
        atomic_store(&team->busy, team->size - 1);
        announce(team);
    }
    do_pieces(team, 0);
    for (unsigned look = 0; atomic_load(&team->busy) > 0; look++)
        pause_a_moment(look);
}
