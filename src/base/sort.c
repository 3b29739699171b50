/* sort.c: radix sort, byte after byte from the lowest. As unsigned numbers, positive floats ascend
 * like their values and negative ones descend: with the sign bit turned, and all bits of negative
 * ones, the numbers ascend like the values. */
#include "base/sort.h"

#include <stdint.h>
#include <string.h>

enum { BYTES = 4, VALUES = 256 };

static uint32_t key_of(float value) {
    uint32_t bits;
    value += 0.0f; /* -0 + 0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static float value_of(uint32_t key) {
    uint32_t bits = key >> 31 ? key & 0x7fffffffu : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t get(const float *at) {
    uint32_t key;
    memcpy(&key, at, sizeof key);
    return key;
}

/* Moves the keys to the places that start gives for their byte. */
static void deal(const float *from, size_t n, unsigned shift, size_t *start, float *to) {
    for (size_t i = 0; i < n; i++) {
        uint32_t key = get(from + i);
        memcpy(to + start[key >> shift & (VALUES - 1)]++, &key, sizeof key);
    }
}

static void turn_counts_into_starts(size_t *count) {
    for (size_t b = 0, sum = 0; b < VALUES; b++) {
        size_t own = count[b];
        count[b] = sum;
        sum += own;
    }
}

void lm_sort_floats(float *v, size_t n, float *spare) {
    size_t count[BYTES][VALUES] = {{0}};
    float *from = v, *to = spare;
    for (size_t i = 0; i < n; i++) {
        uint32_t key = key_of(v[i]);
        memcpy(v + i, &key, sizeof key);
        for (unsigned b = 0; b < BYTES; b++)
            count[b][key >> 8 * b & (VALUES - 1)]++;
    }
    for (unsigned b = 0; b < BYTES && n; b++) {
        if (count[b][get(v) >> 8 * b & (VALUES - 1)] == n)
            continue; /* all the same */
        turn_counts_into_starts(count[b]);
        deal(from, n, 8 * b, count[b], to);
        float *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = value_of(get(from + i));
}
