/* parallel.c: plain threads that take the next piece until there is none.
 *
 * Not OpenMP: its runtimes print and end the process when a thread cannot be created. */
#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

typedef struct job {
    atomic_size_t next;
    size_t count;
    lm_piece *piece;
    void *user;
} job;

typedef struct seat {
    job *shared;
    int thread;
    pthread_t id;
} seat;

static void *work(void *argument) {
    seat *s = argument;
    job *j = s->shared;
    for (size_t i; (i = atomic_fetch_add(&j->next, 1)) < j->count;)
        j->piece(j->user, i, s->thread);
    return NULL;
}

void lm_parallel(int threads, size_t count, lm_piece *piece, void *user) {
    job shared = {.count = count, .piece = piece, .user = user};
    seat seats[LM_THREADS_MAX];
    sigset_t all, before;
    int wanted = threads < LM_THREADS_MAX ? threads : LM_THREADS_MAX, started = 1;
    if ((size_t)wanted > count)
        wanted = (int)count;
    /* Signals are for the thread that called. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; started < wanted; started++) {
        seats[started] = (seat){.shared = &shared, .thread = started};
        if (pthread_create(&seats[started].id, NULL, work, &seats[started]) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    seats[0] = (seat){.shared = &shared, .thread = 0};
    work(&seats[0]);
    for (int t = 1; t < started; t++)
        pthread_join(seats[t].id, NULL);
}
