/* memory.c: checked allocation over the caller's allocator, and the growing buffer. */
#include "base/base.h"

#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64 };
#define HUGE_PAGE ((size_t)2 << 20)

bool lm_mul(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

bool lm_add(size_t a, size_t b, size_t *sum) {
    return !__builtin_add_overflow(a, b, sum);
}

void *lm_alloc(const limn_allocator *mem, size_t count, size_t size) {
    size_t bytes;
    if (!lm_mul(count, size, &bytes))
        return NULL;
    return mem->allocate(mem->user, bytes ? bytes : 1);
}

void *lm_alloc_zero(const limn_allocator *mem, size_t count, size_t size) {
    void *block = lm_alloc(mem, count, size);
    if (block)
        memset(block, 0, count * size);
    return block;
}

void *lm_resize(const limn_allocator *mem, void *block, size_t count, size_t size) {
    size_t bytes;
    if (!lm_mul(count, size, &bytes))
        return NULL;
    return mem->resize(mem->user, block, bytes ? bytes : 1);
}

void lm_free(const limn_allocator *mem, void *block) {
    if (block)
        mem->release(mem->user, block);
}

char *lm_strndup(const limn_allocator *mem, const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? lm_alloc(mem, length + 1, 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *lm_strdup(const limn_allocator *mem, const char *text) {
    return lm_strndup(mem, text, strlen(text));
}

/* The allocator's pointer is kept just before the aligned block. Blocks of a quarter of a huge page
 * or more take whole huge pages: with small pages, a scan of a megabyte spends up to half of its
 * time on address translation. */
void *lm_alloc_aligned(const limn_allocator *mem, size_t count, size_t size) {
    size_t bytes, total;
    if (!lm_mul(count, size, &bytes))
        return NULL;
    size_t align = bytes >= HUGE_PAGE / 8 ? HUGE_PAGE : ALIGNMENT;
    if (!lm_add(bytes, 2 * align + ALIGNMENT, &total))
        return NULL;
    size_t whole = (bytes + align - 1) / align * align;
    unsigned char *raw = mem->allocate(mem->user, whole + align + ALIGNMENT);
    if (!raw)
        return NULL;
    size_t shift = ALIGNMENT + (align - ((uintptr_t)raw + ALIGNMENT) % align) % align;
    unsigned char *block = raw + shift;
    memcpy(block - sizeof raw, &raw, sizeof raw);
#ifdef MADV_HUGEPAGE
    if (align == HUGE_PAGE)
        (void)madvise(block, whole, MADV_HUGEPAGE); /* failure only costs speed */
#endif
    return block;
}

/* Where the allocator moves a block by a multiple of 64 bytes, nothing is copied here: malloc moves
 * large blocks by changing the page table, which takes microseconds for small pages (and a tenth
 * of a second for huge ones, which must be split if they land elsewhere in theirs). */
void *lm_resize_aligned(const limn_allocator *mem, void *block, size_t kept, size_t bytes) {
    unsigned char *raw = NULL;
    size_t total, before = 0;
    if (block)
        memcpy(&raw, (unsigned char *)block - sizeof raw, sizeof raw);
    if (block)
        before = (size_t)((unsigned char *)block - raw);
    if (!lm_add(bytes, before + 2 * ALIGNMENT, &total))
        return NULL;
    raw = mem->resize(mem->user, raw, total);
    if (!raw)
        return NULL;
    size_t shift = before;
    if (!block || ((uintptr_t)raw + shift) % ALIGNMENT) {
        shift = ALIGNMENT + (ALIGNMENT - (uintptr_t)raw % ALIGNMENT) % ALIGNMENT;
        if (kept)
            memmove(raw + shift, raw + before, kept);
    }
    memcpy(raw + shift - sizeof raw, &raw, sizeof raw);
    return raw + shift;
}

void lm_free_aligned(const limn_allocator *mem, void *block) {
    if (!block)
        return;
    unsigned char *raw;
    memcpy(&raw, (unsigned char *)block - sizeof raw, sizeof raw);
    mem->release(mem->user, raw);
}

bool lm_buffer_append(lm_buffer *buffer, const void *bytes, size_t size) {
    size_t needed;
    if (!lm_add(buffer->size, size, &needed))
        return false;
    if (needed > buffer->capacity) {
        size_t capacity = needed > SIZE_MAX / 2 ? needed : needed * 2;
        unsigned char *data = lm_resize(buffer->mem, buffer->data, capacity, 1);
        if (!data)
            return false;
        buffer->data = data;
        buffer->capacity = capacity;
    }
    if (size)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size = needed;
    return true;
}

void lm_buffer_free(lm_buffer *buffer) {
    lm_free(buffer->mem, buffer->data);
    buffer->data = NULL;
    buffer->size = buffer->capacity = 0;
}
