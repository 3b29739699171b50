/* heap.c: the k smallest by a bounded max-heap, then heapsort of those k: O(n log k), in place. */
#include "base/heap.h"

static void swap(lm_ranked *a, lm_ranked *b) {
    lm_ranked kept = *a;
    *a = *b;
    *b = kept;
}

/* Restores "no child comes after its parent" below root. */
static void sift_down(lm_ranked *heap, size_t n, size_t root) {
    for (;;) {
        size_t last = root, child = 2 * root + 1;
        for (size_t c = child; c < n && c < child + 2; c++)
            if (lm_ranked_before(heap[last], heap[c]))
                last = c;
        if (last == root)
            return;
        swap(&heap[root], &heap[last]);
        root = last;
    }
}

void lm_ranked_first(lm_ranked *items, size_t n, size_t k) {
    if (k == 0)
        return;
    for (size_t i = k / 2; i-- > 0;)
        sift_down(items, k, i);
    for (size_t i = k; i < n; i++) {
        if (lm_ranked_before(items[i], items[0])) {
            swap(&items[i], &items[0]);
            sift_down(items, k, 0);
        }
    }
    for (size_t end = k; end-- > 1;) {
        swap(&items[0], &items[end]);
        sift_down(items, end, 0);
    }
}
