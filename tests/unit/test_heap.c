/* The heap of ranked items against qsort. */
#include "base/base.h"
#include "base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 70 };

static int in_order(const void *a, const void *b) {
    const lm_ranked *p = a, *q = b;
    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

/* Few different keys, so that ties are common. */
static void draw(lm_ranked *items, size_t n, lm_rng *rng) {
    for (size_t i = 0; i < n; i++)
        items[i] = (lm_ranked){(double)lm_rng_below(rng, 9), lm_rng_below(rng, 1000) * MOST + i};
}

static void test_first_k_equal_the_sorted_ones_and_nothing_is_lost(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(1, 2, 3);
    for (size_t n = 0; n <= MOST; n++)
        for (size_t k = 0; k <= n; k++) {
            lm_ranked items[MOST], sorted[MOST];
            draw(items, n, &rng);
            memcpy(sorted, items, sizeof items);
            qsort(sorted, n, sizeof *sorted, in_order);
            lm_ranked_first(items, n, k);
            assert_memory_equal(items, sorted, k * sizeof *items);
            qsort(items, n, sizeof *items, in_order);
            assert_memory_equal(items, sorted, n * sizeof *items);
        }
}

static void test_a_heap_that_replaces_its_last_keeps_the_first_k(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(4, 5, 6);
    for (size_t k = 1; k <= MOST; k++) {
        lm_ranked items[MOST], sorted[MOST];
        draw(items, MOST, &rng);
        memcpy(sorted, items, sizeof items);
        qsort(sorted, MOST, sizeof *sorted, in_order);
        lm_heap_make(items, k);
        for (size_t i = k; i < MOST; i++)
            if (lm_ranked_before(items[i], items[0]))
                lm_heap_replace(items, k, items[i]);
        assert_memory_equal(&items[0], &sorted[k - 1], sizeof *items);
        qsort(items, k, sizeof *items, in_order);
        assert_memory_equal(items, sorted, k * sizeof *items);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_k_equal_the_sorted_ones_and_nothing_is_lost),
        cmocka_unit_test(test_a_heap_that_replaces_its_last_keeps_the_first_k),
    };
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
