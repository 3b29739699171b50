/* base.h: what every layer uses: the context, checked memory, errors, random numbers.
 *
 * Internal symbols carry the prefix lm_, public ones limn_. */
#ifndef LIMN_BASE_BASE_H
#define LIMN_BASE_BASE_H

#include <limn/limn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LM_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define LM_PRINTF(format_index, first)
#endif

#define LM_COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { LM_ERROR_BYTES = 1024 };

struct limn_context {
    limn_allocator mem;
    void (*log)(void *user, limn_log_level level, const char *sentence);
    int (*progress)(void *user, const limn_progress *progress);
    limn_distance *metric;
    void *user;
    uint64_t seed;
    int threads; /* at least 1 */
    uint64_t memory_limit;
    char error[LM_ERROR_BYTES];
};

/* limn_context_new without the check of the instruction set, which this layer cannot do. */
limn_status lm_context_make(const limn_context_options *options, limn_context **out);

/* ---- errors ---- */

/* Records an error message (without a final full stop) and returns status. */
limn_status lm_fail(limn_context *ctx, limn_status status, const char *format, ...) LM_PRINTF(3, 4);
/* LIMN_E_MEMORY with its message. */
limn_status lm_fail_memory(limn_context *ctx);
void lm_warn(limn_context *ctx, const char *format, ...) LM_PRINTF(2, 3);
void lm_info(limn_context *ctx, const char *format, ...) LM_PRINTF(2, 3);
/* Reports progress; LIMN_E_CANCELLED (with its message) when the callback asks for it. Call it from
 * one thread only. rows_total 0 and fraction -1 mean "not known". */
limn_status lm_progress(limn_context *ctx, const char *stage, uint64_t rows, uint64_t rows_total,
                        double fraction);
/* The same with all that there is to say. */
limn_status lm_progress_tell(limn_context *ctx, const limn_progress *progress);

/* ---- memory: every size is a checked product; NULL on overflow or out of memory ---- */

bool lm_mul(size_t a, size_t b, size_t *product); /* false on overflow */
bool lm_add(size_t a, size_t b, size_t *sum);

void *lm_alloc(const limn_allocator *mem, size_t count, size_t size);
void *lm_alloc_zero(const limn_allocator *mem, size_t count, size_t size);
void *lm_resize(const limn_allocator *mem, void *block, size_t count, size_t size);
void lm_free(const limn_allocator *mem, void *block); /* NULL is allowed */
char *lm_strdup(const limn_allocator *mem, const char *text);
char *lm_strndup(const limn_allocator *mem, const char *text, size_t length);

/* Like lm_alloc, aligned to 64 bytes and advised to huge pages when large. A large block (a quarter
 * of a huge page or more) starts on a huge page boundary. Free with lm_free_aligned. */
void *lm_alloc_aligned(const limn_allocator *mem, size_t count, size_t size);
/* For blocks that grow: resizes one, keeping its first `kept` bytes, or makes a new one (NULL).
 * They are not advised to huge pages, which would make moving them slow. */
void *lm_resize_aligned(const limn_allocator *mem, void *block, size_t kept, size_t bytes);
void lm_free_aligned(const limn_allocator *mem, void *block);

/* A growing byte buffer. Zero-initialise; mem is set by the owner. */
typedef struct lm_buffer {
    const limn_allocator *mem;
    unsigned char *data;
    size_t size, capacity;
} lm_buffer;

bool lm_buffer_append(lm_buffer *buffer, const void *bytes, size_t size); /* false: no memory */
void lm_buffer_free(lm_buffer *buffer);

/* ---- random numbers: counter-based splitting, so results do not depend on threads ---- */

/* xoshiro256**. Split by index: lm_rng_at(seed, stream, index) is independent of every other. */
typedef struct lm_rng {
    uint64_t s[4];
} lm_rng;

lm_rng lm_rng_at(uint64_t seed, uint64_t stream, uint64_t index);
uint64_t lm_rng_next(lm_rng *rng);
uint64_t lm_rng_below(lm_rng *rng, uint64_t bound); /* unbiased; bound > 0 */
double lm_rng_unit(lm_rng *rng);                    /* [0, 1), 53 bits */
double lm_rng_normal(lm_rng *rng);                  /* mean 0, standard deviation 1 */
uint64_t lm_hash(uint64_t a, uint64_t b, uint64_t c);
void lm_rng_shuffle(lm_rng *rng, size_t *items, size_t count);

/* The streams in use, so that no two purposes share one. Each method draws from streams of its
 * own. */
enum { LM_STREAM_SPLIT = 1, LM_STREAM_FOLDS = 2, LM_STREAM_SYNTH = 3, LM_STREAM_LATENCY = 4 };
uint64_t lm_stream_of(const char *name);

/* ---- text ---- */

/* Parses one decimal number that fills text[0..length) (surrounding blanks allowed), regardless of
 * the locale. "nan", "inf" and hexadecimal are not numbers. Overflow gives infinity. */
bool lm_parse_double(const char *text, size_t length, double *value);
/* Writes the shortest decimal text that reads back as the same double (at most 32 bytes with the
 * final zero), regardless of the locale; returns its length. */
size_t lm_format_double(double value, char *text);

/* text as error messages show it: cut at 40 bytes, control bytes as '?'. out holds 48. */
const char *lm_quote(const char *text, size_t length, char *out);

#endif
