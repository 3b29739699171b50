/* heap_calls.h: counts every call of malloc, calloc and realloc, including those from the
 * library itself. For one file of a program that is linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc. */
#ifndef LIMN_TESTS_HEAP_CALLS_H
#define LIMN_TESTS_HEAP_CALLS_H

#include <stddef.h>

static long heap_calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size) {
    heap_calls++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    heap_calls++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *block, size_t size) {
    heap_calls++;
    return __real_realloc(block, size);
}

#endif
