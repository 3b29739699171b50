/* layout.h: the bytes of a model file. docs/format.md is the specification; this is its C form.
 *
 *   offset        what
 *   0             header, 64 bytes
 *   64            table: one entry of 64 bytes per section
 *   64 + 64 n     payload of the first section, then zeros up to a multiple of 64
 *   ...           payload of each further section, in the order of the table, padded the same way
 *   file size     nothing follows
 *
 * Every byte is covered: the header by its own hash, the table by a hash in the header, each
 * payload by a hash in its table entry, and whatever is left must be zero. Hashes are XXH3 with 64
 * bits and no seed. Each payload has exactly one valid place, so sections cannot overlap or leave
 * gaps.
 *
 * A key-value section is a count followed by entries without padding between them: the fixed part
 * below, the key with its final zero, the value. */
#ifndef LIMN_CONTAINER_LAYOUT_H
#define LIMN_CONTAINER_LAYOUT_H

#include "container/container.h"

#include <assert.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "model files are little-endian and are used in place: this machine cannot map them"
#endif

/* As in PNG: a transfer that rewrites line ends or stops at a control-Z changes these bytes. */
#define LM_MAGIC "limn\r\n\x1a\n"

enum {
    LM_HEADER_BYTES = 64,
    LM_ENTRY_BYTES = 64,
    LM_MAX_SECTIONS =
        4096, /* checking for equal names is quadratic: bounds the cost of a hostile file */
    LM_MAX_KEYS = 4096, /* for the same reason */
    LM_MAX_KEY = 255    /* bytes of a key without its final zero */
};

typedef struct lm_header {
    unsigned char magic[8];
    uint32_t version;
    uint32_t sections;
    uint64_t file_size;
    uint64_t table_hash;
    unsigned char zero[24];
    uint64_t hash; /* of the bytes before it */
} lm_header;

typedef struct lm_entry {
    char name[LM_SECTION_NAME];
    uint32_t version;
    uint32_t flags; /* 0 */
    uint64_t offset;
    uint64_t size; /* of the payload without its padding */
    uint64_t hash; /* of the payload without its padding */
    unsigned char zero[8];
} lm_entry;

static_assert(sizeof(lm_header) == LM_HEADER_BYTES, "the header has no hidden padding");
static_assert(sizeof(lm_entry) == LM_ENTRY_BYTES, "a table entry has no hidden padding");

typedef enum lm_kv_type {
    LM_KV_INT = 1,
    LM_KV_REAL = 2,
    LM_KV_TEXT = 3,
    LM_KV_TEXTS = 4,
    LM_KV_REALS = 5
} lm_kv_type;

typedef struct lm_kv_head {
    uint32_t type;
    uint32_t key_size; /* with the final zero */
    uint64_t value_size;
} lm_kv_head;

static_assert(sizeof(lm_kv_head) == 16, "the fixed part of a key-value has no hidden padding");

/* A key-value section under construction; the writer owns it. */
struct lm_kv_out {
    struct lm_kv_out *next; /* of the writer */
    lm_writer *writer;
    char section[LM_SECTION_NAME];
    uint32_t version;
    uint64_t count;
    lm_buffer bytes;     /* the payload so far; empty when the writer measures */
    size_t size;         /* of the payload so far */
    limn_status status;  /* of the first failure */
    const char *problem; /* what was wrong with bad_key */
    char bad_key[48];
    bool ended;
};

/* size rounded up to LM_ALIGN; false when that overflows. */
bool lm_pad(size_t size, size_t *padded);
/* Whether name is 1..LM_SECTION_NAME-1 bytes of [a-z0-9._-]; length excludes the final zero. */
bool lm_section_name_ok(const char *name, size_t length);

/* LIMN_E_USAGE when name is not a valid section name or is taken. */
limn_status lm_writer_check_name(const lm_writer *writer, const char *name);
limn_context *lm_writer_context(const lm_writer *writer);
void lm_writer_adopt(lm_writer *writer, struct lm_kv_out *kv);

#endif
