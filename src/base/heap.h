/* heap.h: ranked items, ordered by (key, row), without allocating. */
#ifndef LIMN_BASE_BASE_HEAP_H
#define LIMN_BASE_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lm_ranked {
    double key;
    uint64_t row;
} lm_ranked;

static inline bool lm_ranked_before(lm_ranked a, lm_ranked b) {
    return a.key < b.key || (a.key == b.key && a.row < b.row);
}

/* Turns the n items into a heap: items[0] is the last in order. */
void lm_heap_make(lm_ranked *items, size_t n);
/* Replaces items[0] by item and restores the heap. */
void lm_heap_replace(lm_ranked *items, size_t n, lm_ranked item);
/* Moves the k first in order to the front, sorted; the rest is left in any order. k <= n. */
void lm_ranked_first(lm_ranked *items, size_t n, size_t k);

#endif
