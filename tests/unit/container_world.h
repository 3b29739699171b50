/* container_world.h: shared by the tests of src/container: a folder, a context with a counting
 * allocator and a small model with every type in it. */
#ifndef LIMN_TESTS_CONTAINER_WORLD_H
#define LIMN_TESTS_CONTAINER_WORLD_H

#include "container/container.h"
#include "counting.h"
#include "reseal.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the two above */
#include <cmocka.h>

/* Offsets from docs/format.md, written out again so that a mistake in layout.h shows. */
enum { HEADER = 64, ENTRY = 64 };
enum { H_VERSION = 8, H_COUNT = 12, H_SIZE = 16, H_TABLE_HASH = 24, H_RESERVED = 32 };
enum { E_NAME = 0, E_VERSION = 24, E_FLAGS = 28, E_OFFSET = 32, E_SIZE = 40, E_RESERVED = 56 };
enum { KV_INT = 1, KV_REAL, KV_TEXT, KV_TEXTS, KV_REALS };

void put32(unsigned char *at, uint32_t value); /* little-endian */
void put64(unsigned char *at, uint64_t value);

typedef struct world {
    char folder[64];
    counting count;
    limn_context *ctx;
    unsigned char *bytes; /* the sample model */
    size_t size;
} world;

int make_world(void **state); /* for cmocka */
int end_world(void **state);  /* fails when memory was leaked */

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)

lm_writer *new_writer(limn_context *ctx);
limn_status add_sample(lm_writer *writer);
/* Everything that add_sample added must be there. */
void assert_sample(world *w, const lm_file *file);

const char *in(const world *w, const char *name, char *out); /* out holds 200 bytes */
size_t entries(const world *w);                              /* files in the folder */
void put_file(const char *path, const void *bytes, size_t size);
bool file_is(const char *path, const void *bytes, size_t size);

/* Bytes that must be refused, with a message that contains words. */
void assert_refused(world *w, const unsigned char *bytes, size_t size, const char *words);
/* Bytes that must be accepted. */
lm_file *open_bytes(world *w, const unsigned char *bytes, size_t size);

#endif
