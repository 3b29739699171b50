/* test_num.c: the checks of check_num.c as cmocka tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check_num.h"

static void run_check(void **state) {
    assert_int_equal(check_num_run(*state), 0);
}

int main(void) {
    enum { MAX_CHECKS = 64 };
    struct CMUnitTest tests[MAX_CHECKS];
    size_t count = 0;
    for (const check *c = check_num; c->name && count < MAX_CHECKS; c++)
        tests[count++] = (struct CMUnitTest){c->name, run_check, NULL, NULL, (void *)(uintptr_t)c};
    return _cmocka_run_group_tests("num", tests, count, NULL, NULL);
}
