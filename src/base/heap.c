/* heap.c: a max-heap in an array; the k smallest by a bounded heap, then heapsort of those k:
 * O(n log k), in place. */
#include "base/heap.h"

/* Moves item down from root, a free place, to where it belongs. */
static void sift_down(lm_ranked *heap, size_t n, size_t root, lm_ranked item) {
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= n)
            break;
        if (child + 1 < n && lm_ranked_before(heap[child], heap[child + 1]))
            child++;
        if (!lm_ranked_before(item, heap[child]))
            break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = item;
}

void lm_heap_make(lm_ranked *items, size_t n) {
    for (size_t i = n / 2; i-- > 0;)
        sift_down(items, n, i, items[i]);
}

void lm_heap_replace(lm_ranked *items, size_t n, lm_ranked item) {
    sift_down(items, n, 0, item);
}

void lm_ranked_first(lm_ranked *items, size_t n, size_t k) {
    if (k == 0)
        return;
    lm_heap_make(items, k);
    for (size_t i = k; i < n; i++) {
        if (lm_ranked_before(items[i], items[0])) {
            lm_ranked last = items[0];
            sift_down(items, k, 0, items[i]);
            items[i] = last;
        }
    }
    for (size_t end = k; end-- > 1;) {
        lm_ranked last = items[0], item = items[end];
        sift_down(items, end, 0, item);
        items[end] = last;
    }
}
