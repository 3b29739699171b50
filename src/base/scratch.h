/* scratch.h: a cursor that lays out scratch memory, array after array.
 *
 * The same code measures and places, so the two cannot disagree: without memory (base NULL) the
 * cursor only counts; over a block of the size it counted, it returns pointers.
 *
 *   static layout lay_out(const model *m, size_t rows, lm_cursor *at) {
 *       layout l;
 *       l.votes = lm_take(at, m->classes, sizeof *l.votes);
 *       l.x = lm_take(at, rows * m->d, sizeof *l.x);
 *       return l;
 *   }
 *
 * Inline, because queries that take a tenth of a microsecond place their scratch too. */
#ifndef LIMN_BASE_SCRATCH_H
#define LIMN_BASE_SCRATCH_H

#include "base/base.h"

enum { LM_SCRATCH_ALIGN = 64 };

typedef struct lm_cursor {
    unsigned char *base; /* NULL: measuring */
    size_t used;         /* SIZE_MAX: more than can be addressed */
} lm_cursor;

/* A cursor at the start of a block; NULL measures. */
static inline lm_cursor lm_cursor_at(void *base) {
    return (lm_cursor){base, 0};
}

/* count items of size bytes, a multiple of LM_SCRATCH_ALIGN from the base; NULL while measuring. */
static inline void *lm_take(lm_cursor *at, size_t count, size_t size) {
    size_t bytes, from = at->used;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, LM_SCRATCH_ALIGN - 1, &bytes) ||
        __builtin_add_overflow(from, bytes / LM_SCRATCH_ALIGN * LM_SCRATCH_ALIGN, &at->used))
        at->used = SIZE_MAX;
    return at->base ? at->base + from : NULL;
}

/* The same for a x b items. */
static inline void *lm_take_cells(lm_cursor *at, size_t a, size_t b, size_t size) {
    size_t count;
    return lm_take(at, __builtin_mul_overflow(a, b, &count) ? SIZE_MAX : count, size);
}

/* Where the cursor is: the scratch of a part that is laid out with the same cursor next. */
static inline void *lm_here(const lm_cursor *at) {
    return at->base ? at->base + at->used : NULL;
}

/* Bytes that the cursor has passed; false: more than can be addressed. */
static inline bool lm_measured(const lm_cursor *at, size_t *bytes) {
    *bytes = at->used;
    return at->used != SIZE_MAX;
}

/* Memory for all that the cursor has measured; NULL when out of memory. Free with
 * lm_free_aligned. */
static inline void *lm_alloc_measured(const limn_allocator *mem, const lm_cursor *at) {
    size_t bytes;
    return lm_measured(at, &bytes) ? lm_alloc_aligned(mem, bytes, 1) : NULL;
}

#endif
