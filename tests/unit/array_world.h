/* array_world.h: for the tests of NPY and IDX: files made by hand, byte by byte. */
#ifndef LIMN_TESTS_ARRAY_WORLD_H
#define LIMN_TESTS_ARRAY_WORLD_H

#include "data/read/array.h"
#include "data_world.h"

typedef struct bytes {
    size_t size;
    unsigned char data[1 << 18];
} bytes;

static inline void put(bytes *b, const void *data, size_t size) {
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* The low bytes of bits in the given byte order. */
static inline void put_bits(bytes *b, uint64_t bits, size_t size, bool big) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)(bits >> 8 * (big ? size - 1 - i : i));
        put(b, &byte, 1);
    }
}

static inline void put_float(bytes *b, float value, bool big) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_bits(b, bits, 4, big);
}

static inline void put_double(bytes *b, double value, bool big) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_bits(b, bits, 8, big);
}

static inline void npy_version(bytes *b, int version, const char *dictionary) {
    unsigned char head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    size_t fixed = version == 1 ? 10 : 12, length = strlen(dictionary) + 1;
    length += (64 - (fixed + length) % 64) % 64;
    b->size = 0;
    put(b, head, sizeof head);
    put_bits(b, length, version == 1 ? 2 : 4, false);
    put(b, dictionary, strlen(dictionary));
    while (b->size < fixed + length - 1)
        put(b, " ", 1);
    put(b, "\n", 1);
}

static inline void npy(bytes *b, const char *descr, bool fortran, const char *shape) {
    char text[256];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
             fortran ? "True" : "False", shape);
    npy_version(b, 1, text);
}

static inline void idx(bytes *b, int type, size_t dims, const uint32_t *shape) {
    unsigned char head[] = {0, 0, (unsigned char)type, (unsigned char)dims};
    b->size = 0;
    put(b, head, sizeof head);
    for (size_t k = 0; k < dims; k++)
        put_bits(b, shape[k], 4, true);
}

/* rows x columns floats 0, 1, 2, ... in C order. */
static inline void npy_floats(bytes *b, size_t rows, size_t columns) {
    char shape[64];
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, columns);
    npy(b, "<f4", false, shape);
    for (size_t i = 0; i < rows * columns; i++)
        put_float(b, (float)i, false);
}

static inline limn_data *must_take(world *w, const bytes *b, size_t chunk,
                                   const limn_read_options *options, const lm_schema *match) {
    limn_data *data = NULL;
    if (read_bytes(w, b->data, b->size, chunk, options, match, &data) != LIMN_OK)
        fail_msg("not read: %s", limn_error(w->ctx));
    return data;
}

static inline void must_refuse(world *w, const bytes *b, const limn_read_options *options,
                               const lm_schema *match, limn_status status, const char *sentence) {
    for (size_t chunk = 0; chunk < 3; chunk++) {
        limn_data *data = NULL;
        limn_status got = read_bytes(w, b->data, b->size, chunk, options, match, &data);
        assert_null(data);
        assert_string_equal(limn_error(w->ctx), sentence);
        assert_int_equal(got, status);
    }
}

#endif
