/* Threads that wait for rounds of work: every piece once, in round after round, awake or asleep. */
#include "base/team.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { PIECES = 50 };

typedef struct world {
    int times[PIECES]; /* each piece is one thread's at a time */
    atomic_int wrong_thread;
    int size;
} world;

static void do_piece(void *user, size_t index, int thread) {
    world *w = user;
    w->times[index]++;
    if (thread < 0 || thread >= w->size)
        atomic_fetch_add(&w->wrong_thread, 1);
}

static void check_rounds(int threads, int rounds, bool pauses) {
    world w = {.size = 0};
    lm_team *team = NULL;
    limn_context *ctx = make_context(NULL, threads, 1);
    assert_int_equal(lm_team_start(ctx, threads, &team), LIMN_OK);
    w.size = lm_team_size(team);
    assert_true(w.size >= 1 && w.size <= threads);
    for (int round = 0; round < rounds; round++) {
        size_t count = round % 7 == 0 ? (size_t)(round / 7 % 3) : PIECES;
        memset(w.times, 0, sizeof w.times);
        lm_team_run(team, count, do_piece, &w);
        for (size_t i = 0; i < PIECES; i++)
            assert_int_equal(w.times[i], i < count);
        if (pauses) /* long enough for the others to fall asleep */
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    assert_int_equal(atomic_load(&w.wrong_thread), 0);
    lm_team_end(&ctx->mem, team);
    limn_context_free(ctx);
}

static void test_every_piece_of_every_round_is_done_once(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads++)
        check_rounds(threads, 2000, false);
}

static void test_a_team_that_sleeps_wakes_up(void **state) {
    (void)state;
    check_rounds(3, 60, true);
}

static void test_a_team_without_work_ends(void **state) {
    (void)state;
    check_rounds(3, 0, false);
    check_rounds(3, 0, true);
    lm_team_end(NULL, NULL);
}

static void test_a_failing_allocation_is_reported(void **state) {
    (void)state;
    counting count = {0};
    lm_team *team = NULL;
    limn_context *ctx = make_context(&count, 2, 1);
    count.fail_at = 1;
    assert_int_equal(lm_team_start(ctx, 2, &team), LIMN_E_MEMORY);
    assert_null(team);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_piece_of_every_round_is_done_once),
        cmocka_unit_test(test_a_team_that_sleeps_wakes_up),
        cmocka_unit_test(test_a_team_without_work_ends),
        cmocka_unit_test(test_a_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
