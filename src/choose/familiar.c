/* familiar.c: whether rows are those that a support vector machine was trained on: then many of
 * them are its vectors.
 *
 * A text model keeps eight digits of a number, and scaling may round otherwise, so rows are
 * compared on a grid: a ten-thousandth of each feature's range among the vectors. A row is reduced
 * to a hash of its places on the grid.
 *
 * With few different values rows meet by chance (I. J. Good, "The population frequencies of
 * species", 1953). If u of n rows occur once, any other row is among the n with probability 1 -
 * u/n: so of vectors that have nothing to do with the rows, at least the share u/n is missing. And
 * if p values occur twice, about 2p of the u rows meet another n by chance: so part of the training
 * rows are there if more of those u rows are vectors. */
#include "choose/race.h"
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>

#define GRID 1e-4
#define SHARE 0.05  /* of the rows or of the vectors, whichever are fewer, must meet, */
enum { LEAST = 3 }; /* and at least so many */

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void find_units(const lm_svm *svm, double *unit) {
    for (size_t j = 0; j < svm->d; j++) {
        float low = svm->sv[j], high = svm->sv[j];
        for (size_t i = 1; i < svm->n; i++) {
            float v = svm->sv[i * svm->d + j];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        unit[j] = GRID * (high > low ? (double)high - (double)low : fabs((double)low));
        unit[j] = unit[j] > 0 ? unit[j] : 1e-30; /* nothing else is near 0 */
    }
}

static uint64_t hash_row(const float *row, const double *unit, size_t d) {
    uint64_t hash = 0;
    for (size_t j = 0; j < d; j++) {
        double place = fmin(fmax(floor((double)row[j] / unit[j] + 0.5), -9e15), 9e15);
        hash = lm_hash(hash, (uint64_t)(int64_t)place, j);
    }
    return hash;
}

/* The rows' hashes, sorted. */
static void hash_rows(const float *x, size_t stride, size_t n, const double *unit, size_t d,
                      uint64_t *hash) {
    for (size_t i = 0; i < n; i++)
        hash[i] = hash_row(x + i * stride, unit, d);
    qsort(hash, n, sizeof *hash, ascending);
}

static bool holds(const uint64_t *hash, size_t n, uint64_t key) {
    return bsearch(&key, hash, n, sizeof key, ascending) != NULL;
}

/* Of rows that occur once: how many there are, and how many are vectors. Of those that occur twice:
 * how many different ones there are. */
typedef struct meetings {
    size_t once, met, twice;
} meetings;

static meetings count_meetings(const uint64_t *rows, size_t n, const uint64_t *vectors, size_t m) {
    meetings seen = {0, 0, 0};
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && rows[next] == rows[i]; next++)
            ;
        seen.once += next - i == 1;
        seen.twice += next - i == 2;
        seen.met += next - i == 1 && holds(vectors, m, rows[i]);
    }
    return seen;
}

/* Most vectors that should be missing are there. */
static bool is_whole(const meetings *seen, size_t rows, size_t vectors, size_t found) {
    double missing = (double)vectors * (double)seen->once / (double)rows;
    return missing >= LEAST && (double)(vectors - found) < missing / 2;
}

static bool is_part(const meetings *seen, size_t rows, size_t vectors) {
    double fewer = fmin((double)seen->once, (double)vectors);
    double chance = 2 * (double)seen->twice * fmax(1, (double)vectors / (double)rows);
    return (double)seen->met >= fmax(SHARE * fewer, LEAST) && (double)seen->met > chance;
}

limn_status lm_race_familiar(limn_context *ctx, const lm_svm *svm, const float *x, size_t stride,
                             size_t n, lm_familiar *out) {
    *out = (lm_familiar){.found = 0};
    if (!svm->n || !n)
        return LIMN_OK;
    double *unit = lm_alloc(&ctx->mem, svm->d, sizeof *unit);
    uint64_t *rows = lm_alloc(&ctx->mem, n, sizeof *rows);
    uint64_t *vectors = lm_alloc(&ctx->mem, svm->n, sizeof *vectors);
    limn_status status = unit && rows && vectors ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        find_units(svm, unit);
        hash_rows(x, stride, n, unit, svm->d, rows);
        hash_rows(svm->sv, svm->d, svm->n, unit, svm->d, vectors);
        for (size_t i = 0; i < svm->n; i++)
            out->found += holds(rows, n, vectors[i]);
        meetings seen = count_meetings(rows, n, vectors, svm->n);
        out->trained = is_whole(&seen, n, svm->n, out->found) || is_part(&seen, n, svm->n);
    }
    lm_free(&ctx->mem, unit);
    lm_free(&ctx->mem, rows);
    lm_free(&ctx->mem, vectors);
    return status;
}
