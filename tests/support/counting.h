/* counting.h: an allocator for tests that counts its live blocks and can fail the n-th request.
 *
 *   counting count = {0};
 *   limn_context *ctx = counting_context(&count);
 *   count.fail_at = 3;   // the third request from here on fails; 0: none
 *   ...
 *   assert_int_equal(count.live, 0);
 */
#ifndef LIMN_TESTS_COUNTING_H
#define LIMN_TESTS_COUNTING_H

#include "base/base.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Several threads may allocate at once. */
typedef struct counting {
    atomic_long live;     /* blocks not released yet */
    atomic_uint fail_at;  /* requests until one fails; 0: none does */
    atomic_uint requests; /* so far */
    atomic_size_t bytes;  /* requested in all */
} counting;

static inline int counting_refuses(counting *count) {
    unsigned left = atomic_load(&count->fail_at);
    atomic_fetch_add(&count->requests, 1);
    while (left && !atomic_compare_exchange_weak(&count->fail_at, &left, left - 1))
        ;
    return left == 1;
}

static inline void *counting_allocate(void *user, size_t size) {
    counting *count = user;
    atomic_fetch_add(&count->bytes, size);
    void *block = counting_refuses(count) ? NULL : malloc(size);
    count->live += block != NULL;
    return block;
}

static inline void *counting_resize(void *user, void *block, size_t size) {
    counting *count = user;
    atomic_fetch_add(&count->bytes, size);
    void *moved = counting_refuses(count) ? NULL : realloc(block, size);
    count->live += moved && !block;
    return moved;
}

static inline void counting_release(void *user, void *block) {
    counting *count = user;
    count->live--;
    free(block);
}

static inline limn_allocator counting_allocator(counting *count) {
    return (limn_allocator){counting_allocate, counting_resize, counting_release, count};
}

/* NULL when the context itself could not be made. */
static inline limn_context *counting_context(counting *count) {
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    options.threads = 1;
    options.allocator = counting_allocator(count);
    return lm_context_make(&options, &ctx) == LIMN_OK ? ctx : NULL;
}

#endif
