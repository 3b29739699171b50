/* fuzz_data.h: shared by the fuzz targets of the readers: read hostile bytes as a whole, in
 * small pieces and as a stream, and stop when the three disagree or break a promise. */
#ifndef LIMN_TESTS_FUZZ_DATA_H
#define LIMN_TESTS_FUZZ_DATA_H

#include "data/read/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition) \
    do {                   \
        if (!(condition))  \
            abort();       \
    } while (0)

static inline limn_context *fuzz_context(void) {
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    options.threads = 1;
    options.memory_limit = (uint64_t)64 << 20;
    REQUIRE(lm_context_make(&options, &ctx) == LIMN_OK);
    return ctx;
}

static inline limn_status fuzz_read(limn_context *ctx, const void *bytes, size_t size, size_t chunk,
                                    const limn_read_options *options, const lm_schema *match,
                                    limn_data **out) {
    lm_source *source = NULL;
    *out = NULL;
    ctx->error[0] = '\0';
    limn_status status = lm_source_memory(ctx, "fuzz", bytes, size, chunk, &source);
    if (status == LIMN_OK)
        status = lm_data_read_source(ctx, source, options, match, out);
    REQUIRE((status == LIMN_OK) == (*out != NULL));
    REQUIRE(status == LIMN_OK || (ctx->error[0] && !strchr(ctx->error, '\n')));
    return status;
}

static inline void check_data(const limn_data *data, const limn_read_options *options,
                              const lm_schema *match) {
    size_t n = limn_data_rows(data), d = limn_data_features(data);
    REQUIRE(n > 0 && d > 0 && (!match || d == match->features));
    for (size_t i = 0; i < n * d; i++)
        REQUIRE(isfinite(limn_data_values(data)[i]));
    if (limn_data_classes(data))
        for (size_t i = 0; i < n; i++) {
            int32_t id = limn_data_classes(data)[i];
            REQUIRE(id >= 0 && (size_t)id < limn_data_class_count(data));
        }
    if (limn_data_targets(data))
        for (size_t i = 0; i < n; i++)
            REQUIRE(isfinite(limn_data_targets(data)[i]));
    limn_task task = match ? match->task : options->task;
    REQUIRE(!limn_data_classes(data) || task == LIMN_CLASSIFY);
    REQUIRE(!limn_data_targets(data) || task == LIMN_REGRESS);
    REQUIRE(!options->no_label || (!limn_data_classes(data) && !limn_data_targets(data)));
}

static inline void check_same(const limn_data *a, const limn_data *b) {
    size_t n = limn_data_rows(a), d = limn_data_features(a);
    REQUIRE(n == limn_data_rows(b) && d == limn_data_features(b));
    REQUIRE(memcmp(a->x, b->x, n * d * sizeof *a->x) == 0);
    REQUIRE(!a->label == !b->label && !a->target == !b->target);
    REQUIRE(!a->label || memcmp(a->label, b->label, n * sizeof *a->label) == 0);
    REQUIRE(!a->target || memcmp(a->target, b->target, n * sizeof *a->target) == 0);
    REQUIRE(a->schema.labels.count == b->schema.labels.count);
}

/* The rows of the stream are the first rows of whole (all of them, when whole is not NULL). */
static inline void check_stream(limn_context *ctx, const void *bytes, size_t size, size_t chunk,
                                const limn_read_options *options, const lm_schema *match,
                                const limn_data *whole) {
    lm_source *source = NULL;
    limn_reader *reader = NULL;
    if (lm_source_memory(ctx, "fuzz", bytes, size, chunk, &source) != LIMN_OK)
        return;
    limn_status status = lm_reader_open_source(ctx, source, options, match, &reader);
    REQUIRE(status == LIMN_OK || !reader);
    limn_rows rows = {.size = sizeof rows};
    size_t seen = 0;
    while (status == LIMN_OK && (status = limn_reader_next(reader, 3, &rows)) == LIMN_OK &&
           rows.n) {
        size_t d = lm_reader_schema(reader)->features;
        for (size_t i = 0; i < rows.n * d; i++)
            REQUIRE(isfinite(rows.x[i]));
        if (whole) {
            REQUIRE(seen + rows.n <= whole->n && d == whole->schema.features);
            REQUIRE(memcmp(rows.x, whole->x + seen * d, rows.n * d * sizeof *rows.x) == 0);
        }
        seen += rows.n;
    }
    /* Without a model, a stream cannot know what only the whole file shows: the features of
     * LIBSVM, categories, medians. */
    if (whole && match)
        REQUIRE(status == LIMN_OK && seen == whole->n);
    limn_reader_free(reader);
}

/* Skipping the labels changes no feature and refuses nothing that was accepted with labels. */
static inline void check_skipping(limn_context *ctx, const void *bytes, size_t size,
                                  limn_read_options options, const lm_schema *match,
                                  const limn_data *whole) {
    limn_data *bare = NULL;
    options.skip_label = 1;
    limn_status status = fuzz_read(ctx, bytes, size, 0, &options, match, &bare);
    if (whole) {
        REQUIRE(status == LIMN_OK && bare->n == whole->n && !bare->label && !bare->target);
        REQUIRE(bare->schema.features == whole->schema.features);
        REQUIRE(memcmp(bare->x, whole->x, whole->n * whole->schema.features * sizeof(float)) == 0);
    }
    limn_data_free(bare);
}

static inline void fuzz_all_ways(limn_context *ctx, const uint8_t *bytes, size_t size, size_t chunk,
                                 const limn_read_options *options, const lm_schema *match) {
    limn_data *whole = NULL, *pieces = NULL;
    limn_status status = fuzz_read(ctx, bytes, size, 0, options, match, &whole);
    limn_status again = fuzz_read(ctx, bytes, size, chunk, options, match, &pieces);
    REQUIRE(status == again);
    if (whole) {
        check_data(whole, options, match);
        check_same(whole, pieces);
    }
    check_stream(ctx, bytes, size, chunk, options, match, whole);
    check_skipping(ctx, bytes, size, *options, match, whole);
    limn_data_free(whole);
    limn_data_free(pieces);
}

#endif
