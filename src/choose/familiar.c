/* familiar.c: whether rows are those that a support vector machine was trained on: then its vectors
 * are among them.
 *
 * A text model keeps eight digits of a number, and scaling may round otherwise, so rows are
 * compared on a grid: a ten-thousandth of each feature's range among the vectors. A row is reduced
 * to a hash of its places on the grid. */
#include "choose/race.h"
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>

#define GRID 1e-4

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
        unit[j] = high > low ? GRID * ((double)high - (double)low) : 1;
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

limn_status lm_race_familiar(limn_context *ctx, const lm_svm *svm, const float *x, size_t stride,
                             size_t n, size_t *found) {
    *found = 0;
    if (!svm->n || !n)
        return LIMN_OK;
    double *unit = lm_alloc(&ctx->mem, svm->d, sizeof *unit);
    uint64_t *hash = lm_alloc(&ctx->mem, n, sizeof *hash);
    limn_status status = unit && hash ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        find_units(svm, unit);
        hash_rows(x, stride, n, unit, svm->d, hash);
        for (size_t i = 0; i < svm->n; i++) {
            uint64_t key = hash_row(svm->sv + i * svm->d, unit, svm->d);
            *found += bsearch(&key, hash, n, sizeof key, ascending) != NULL;
        }
    }
    lm_free(&ctx->mem, unit);
    lm_free(&ctx->mem, hash);
    return status;
}
