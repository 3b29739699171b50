/* lm_parallel: every piece runs once, even where no threads can be started. Also run under TSan. */
#include "base/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 500 };

typedef struct seen {
    atomic_int times[MOST];
    atomic_int busy[LM_THREADS_MAX];
    atomic_int wrong;
    int threads;
} seen;

static void look(void *user, size_t index, int thread) {
    seen *s = user;
    if (thread < 0 || thread >= s->threads || atomic_fetch_add(&s->busy[thread], 1) != 0)
        atomic_fetch_add(&s->wrong, 1);
    atomic_fetch_add(&s->times[index], 1);
    atomic_fetch_sub(&s->busy[thread], 1);
}

static int each_once(int threads, size_t count) {
    static seen s;
    s = (seen){.threads = threads};
    lm_parallel(threads, count, look, &s);
    for (size_t i = 0; i < MOST; i++)
        if (s.times[i] != (i < count))
            return 0;
    return s.wrong == 0;
}

static void test_every_piece_is_done_once(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 16, LM_THREADS_MAX};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
        for (size_t count = 0; count <= MOST; count += count < 4 ? 1 : 31)
            assert_true(each_once(threads[t], count));
}

static void test_threads_that_cannot_be_created_are_done_without(void **state) {
    (void)state;
#ifdef LIMN_SANITIZED
    skip(); /* sanitizers need the address space */
#endif
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {96 << 20, 96 << 20}; /* room for a few stacks, not for 200 */
        setrlimit(RLIMIT_AS, &limit);
        _exit(each_once(200, MOST) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_piece_is_done_once),
        cmocka_unit_test(test_threads_that_cannot_be_created_are_done_without),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
