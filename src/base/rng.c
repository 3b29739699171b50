/* rng.c: the one random number generator: xoshiro256** (Blackman and Vigna 2018), seeded through
 * the splitmix64 finaliser so that any (seed, stream, index) gives an unrelated sequence. */
#include "base/base.h"

#include <math.h>

static uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t lm_hash(uint64_t a, uint64_t b, uint64_t c) {
    return mix(mix(mix(a) ^ b) ^ c);
}

uint64_t lm_stream_of(const char *name) {
    uint64_t stream = 0;
    for (; *name; name++)
        stream = lm_hash(stream, (unsigned char)*name, 1);
    return stream;
}

lm_rng lm_rng_at(uint64_t seed, uint64_t stream, uint64_t index) {
    lm_rng rng;
    uint64_t h = lm_hash(seed, stream, index);
    for (int i = 0; i < 4; i++) {
        h = mix(h);
        rng.s[i] = h;
    }
    rng.s[0] |= 1; /* the all-zero state would stay zero */
    return rng;
}

static uint64_t rotate(uint64_t x, int by) {
    return (x << by) | (x >> (64 - by));
}

uint64_t lm_rng_next(lm_rng *rng) {
    uint64_t *s = rng->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t lm_rng_below(lm_rng *rng, uint64_t bound) {
    uint64_t reject = (0 - bound) % bound; /* 2^64 mod bound: smaller draws would cause bias */
    for (;;) {
        uint64_t x = lm_rng_next(rng);
        if (x >= reject)
            return x % bound;
    }
}

double lm_rng_unit(lm_rng *rng) {
    return (double)(lm_rng_next(rng) >> 11) * 0x1p-53;
}

/* Box-Muller; the second value is thrown away so that the generator has no hidden state. */
double lm_rng_normal(lm_rng *rng) {
    double u = 1.0 - lm_rng_unit(rng);
    double angle = 6.283185307179586 * lm_rng_unit(rng);
    return sqrt(-2.0 * log(u)) * cos(angle);
}

void lm_rng_shuffle(lm_rng *rng, size_t *items, size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)lm_rng_below(rng, i);
        size_t swap = items[i - 1];
        items[i - 1] = items[j];
        items[j] = swap;
    }
}
