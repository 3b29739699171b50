/* sample.c: lines between random rows, as in the paper.
 *
 * A line joins a row of each class that lie on opposite sides of the border. Lines are numbered,
 * and drawn in the order of a seeded permutation of these numbers, so that none is drawn twice. A
 * line that gives no point, because the field is flat, is replaced by the next. */
#include "methods/borders/borders.h"

enum { SPARE_DRAWS = 20, LEAST_DRAWS = 200, TOGETHER = 512 };

static uint64_t lines_of(const bd_ends *e, int side) {
    return (uint64_t)e->count[0][side] * e->count[1][1 - side];
}

uint64_t bd_line_count(const bd_ends *e) {
    return lines_of(e, 0) + lines_of(e, 1);
}

/* A permutation of 0 .. count-1 by index: a Feistel network on twice `half` bits, walked until it
 * lands inside. */
static uint64_t permuted(uint64_t index, uint64_t count, uint64_t seed) {
    unsigned half = 1;
    while (half < 32 && (uint64_t)1 << 2 * half < count)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = index >> half, right = index & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t kept = right;
            right = left ^ (lm_hash(seed, round, right) & mask);
            left = kept;
        }
        index = left << half | right;
    } while (index >= count);
    return index;
}

bd_line bd_random_line(const bd_search *s, uint64_t index) {
    const bd_ends *e = &s->ends;
    uint64_t number = permuted(index, bd_line_count(e), s->seed);
    int side = number >= lines_of(e, 0);
    number -= side ? lines_of(e, 0) : 0;
    uint64_t others = e->count[1][1 - side];
    const float *first = e->x + e->row[0][side][number / others] * e->d;
    const float *second = e->x + e->row[1][1 - side][number % others] * e->d;
    return (bd_line){.above = side ? second : first, .below = side ? first : second};
}

limn_status bd_draw(limn_context *ctx, bd_search *s, size_t wanted, bd_points *points) {
    bd_line lines[TOGETHER];
    uint64_t all = bd_line_count(&s->ends);
    uint64_t most = s->drawn + SPARE_DRAWS * (uint64_t)wanted + LEAST_DRAWS;
    limn_status status = LIMN_OK;
    most = most < all ? most : all;
    while (points->count < wanted && s->drawn < most && status == LIMN_OK) {
        size_t missing = wanted - points->count, n = 0;
        for (; n < missing && n < TOGETHER && s->drawn < most; s->drawn++)
            lines[n++] = bd_random_line(s, s->drawn);
        status = bd_roots(ctx, s, lines, n, points, NULL);
    }
    return status;
}
