/* data_world.h: for the tests of src/data: texts read as if they were files named t.csv; keeps
 * the warnings and progress reports. */
#ifndef LIMN_TESTS_DATA_WORLD_H
#define LIMN_TESTS_DATA_WORLD_H

#include "counting.h"
#include "data/read/reader.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the two above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

typedef struct world {
    limn_context *ctx;
    counting count;
    int warnings, reports;
    char warning[1024];
    limn_progress last;
    int cancel_at; /* the number of the report that cancels; 0: none */
} world;

static inline void world_log(void *user, limn_log_level level, const char *sentence) {
    world *w = user;
    assert_int_equal(level, LIMN_LOG_WARNING);
    w->warnings++;
    snprintf(w->warning, sizeof w->warning, "%s", sentence);
}

static inline int world_progress(void *user, const limn_progress *progress) {
    world *w = user;
    w->last = *progress;
    return ++w->reports == w->cancel_at;
}

static inline void world_open(world *w) {
    memset(w, 0, sizeof *w);
    w->ctx = counting_context(&w->count);
    assert_non_null(w->ctx);
    w->ctx->log = world_log;
    w->ctx->progress = world_progress;
    w->ctx->user = w;
}

/* Everything that was allocated must have been freed by now. */
static inline void world_close(world *w) {
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

static inline limn_status read_bytes(world *w, const void *bytes, size_t size, size_t chunk,
                                     const limn_read_options *options, const lm_schema *match,
                                     limn_data **out) {
    lm_source *source = NULL;
    *out = NULL;
    limn_status status = lm_source_memory(w->ctx, "t.csv", bytes, size, chunk, &source);
    return status == LIMN_OK ? lm_data_read_source(w->ctx, source, options, match, out) : status;
}

static inline limn_status read_text(world *w, const char *text, const limn_read_options *options,
                                    const lm_schema *match, limn_data **out) {
    return read_bytes(w, text, strlen(text), 0, options, match, out);
}

/* Reading text must succeed. */
static inline limn_data *must_read(world *w, const char *text, const limn_read_options *options,
                                   const lm_schema *match) {
    limn_data *data = NULL;
    limn_status status = read_text(w, text, options, match, &data);
    if (status != LIMN_OK)
        fail_msg("not read: %s", limn_error(w->ctx));
    return data;
}

/* Reading text must fail with this status and message. */
static inline void must_fail(world *w, const char *text, const limn_read_options *options,
                             const lm_schema *match, limn_status status, const char *sentence) {
    limn_data *data = NULL;
    limn_status got = read_text(w, text, options, match, &data);
    assert_null(data);
    assert_string_equal(limn_error(w->ctx), sentence);
    assert_int_equal(got, status);
}

static inline void assert_row(const limn_data *data, size_t row, const float *expected) {
    size_t d = limn_data_features(data);
    for (size_t j = 0; j < d; j++)
        if (limn_data_values(data)[row * d + j] != expected[j])
            fail_msg("row %zu, feature %zu: %g instead of %g", row, j,
                     (double)limn_data_values(data)[row * d + j], (double)expected[j]);
}

#define ASSERT_ROW(data, row, ...)                                          \
    do {                                                                    \
        const float expected_row[] = {__VA_ARGS__};                         \
        assert_int_equal(limn_data_features(data), LM_COUNT(expected_row)); \
        assert_row(data, row, expected_row);                                \
    } while (0)

static inline const char *class_of_row(const limn_data *data, size_t row) {
    return limn_data_class_name(data, (size_t)limn_data_classes(data)[row]);
}

static inline limn_read_options with_task(limn_task task) {
    limn_read_options options;
    limn_read_options_init(&options);
    options.task = task;
    return options;
}

#endif
