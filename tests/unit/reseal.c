/* reseal.c: written from docs/format.md alone, without the headers of src/container, so that it is
 * a second reading of the specification. */
#include "reseal.h"

#include <stdint.h>
#include <string.h>
#include <xxhash.h>

enum { HEADER = 64, ENTRY = 64 };
enum { HEADER_COUNT = 12, HEADER_TABLE_HASH = 24, HEADER_HASH = 56 };
enum { ENTRY_OFFSET = 32, ENTRY_SIZE = 40, ENTRY_HASH = 48 };

static uint64_t load(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static void store(unsigned char *at, uint64_t value) {
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

void reseal(unsigned char *bytes, size_t size) {
    if (size < HEADER)
        return;
    uint64_t count = load(bytes + HEADER_COUNT, 4);
    if (count <= (size - HEADER) / ENTRY) {
        uint64_t budget = 16 * (uint64_t)size; /* entries may all claim the whole file */
        for (uint64_t i = 0; i < count; i++) {
            unsigned char *entry = bytes + HEADER + i * ENTRY;
            uint64_t offset = load(entry + ENTRY_OFFSET, 8);
            uint64_t length = load(entry + ENTRY_SIZE, 8);
            if (offset > size || length > size - offset || length > budget)
                continue;
            budget -= length;
            store(entry + ENTRY_HASH, XXH3_64bits(bytes + offset, (size_t)length));
        }
        store(bytes + HEADER_TABLE_HASH, XXH3_64bits(bytes + HEADER, (size_t)count * ENTRY));
    }
    store(bytes + HEADER_HASH, XXH3_64bits(bytes, HEADER_HASH));
}
