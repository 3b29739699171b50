/* Pieces of work over threads: each runs once, the first failure is returned, cancelling works. */
#include "base/work.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

enum { PIECES = 200 };

typedef struct world {
    atomic_int times[PIECES];
    size_t fail_from; /* every piece from here on fails */
} world;

static limn_status do_piece(limn_context *ctx, void *user, size_t index) {
    world *w = user;
    atomic_fetch_add(&w->times[index], 1);
    if (index >= w->fail_from)
        return lm_fail(ctx, LIMN_E_DATA, "piece %zu", index);
    return lm_progress(ctx, "inside", 0, 0, -1);
}

static void test_every_piece_is_done_once(void **state) {
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        world w = {.fail_from = SIZE_MAX};
        limn_context *ctx = make_context(NULL, threads, 1);
        assert_int_equal(
            lm_work(ctx,
                    &(lm_job){.stage = "testing", .count = PIECES, .task = do_piece, .user = &w}),
            LIMN_OK);
        assert_int_equal(
            lm_work(ctx, &(lm_job){.stage = "testing", .count = 0, .task = do_piece, .user = &w}),
            LIMN_OK);
        for (size_t i = 0; i < PIECES; i++)
            assert_int_equal(atomic_load(&w.times[i]), 1);
        limn_context_free(ctx);
    }
}

static void test_the_lowest_failure_is_told_whatever_the_threads(void **state) {
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        world w = {.fail_from = 57};
        limn_context *ctx = make_context(NULL, threads, 1);
        assert_int_equal(
            lm_work(ctx,
                    &(lm_job){.stage = "testing", .count = PIECES, .task = do_piece, .user = &w}),
            LIMN_E_DATA);
        assert_string_equal(limn_error(ctx), "piece 57");
        for (size_t i = 0; i <= 57; i++)
            assert_int_equal(atomic_load(&w.times[i]), 1);
        limn_context_free(ctx);
    }
}

static int cancel(void *user, const limn_progress *progress) {
    assert_string_equal(progress->stage, "testing");
    ++*(int *)user;
    return 1;
}

/* Progress is reported at least once, at the end, so that cancelling works even if other threads
 * did all the pieces. */
static void test_cancelling_at_the_first_call_is_always_heard(void **state) {
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        int calls = 0;
        world w = {.fail_from = SIZE_MAX};
        limn_context *ctx = NULL;
        limn_context_options options;
        limn_context_options_init(&options);
        options.threads = threads;
        options.progress = cancel;
        options.user = &calls;
        assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
        assert_int_equal(
            lm_work(ctx,
                    &(lm_job){.stage = "testing", .count = PIECES, .task = do_piece, .user = &w}),
            LIMN_E_CANCELLED);
        assert_int_equal(calls, 1);
        limn_context_free(ctx);
    }
}

static void test_failing_allocations_are_reported(void **state) {
    (void)state;
    bool passed = false;
    for (unsigned at = 1; at < 50 && !passed; at++) {
        world w = {.fail_from = SIZE_MAX};
        counting count = {0};
        limn_context *ctx = make_context(&count, 3, 1);
        count.fail_at = at;
        limn_status status = lm_work(
            ctx, &(lm_job){.stage = "testing", .count = PIECES, .task = do_piece, .user = &w});
        passed = status == LIMN_OK;
        if (!passed)
            assert_int_equal(status, LIMN_E_MEMORY);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
    }
    assert_true(passed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_piece_is_done_once),
        cmocka_unit_test(test_the_lowest_failure_is_told_whatever_the_threads),
        cmocka_unit_test(test_cancelling_at_the_first_call_is_always_heard),
        cmocka_unit_test(test_failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
