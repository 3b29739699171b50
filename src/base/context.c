/* context.c: the context, its error message, log and progress. */
#include "base/base.h"

#include "base/sized.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *limn_version(void) {
    return VERSION(LIMN_VERSION_MAJOR, LIMN_VERSION_MINOR, LIMN_VERSION_PATCH);
}

static void *default_allocate(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void *default_resize(void *user, void *block, size_t size) {
    (void)user;
    return realloc(block, size);
}

static void default_release(void *user, void *block) {
    (void)user;
    free(block);
}

void limn_context_options_init(limn_context_options *options) {
    LM_SIZED_INIT(options);
    options->seed = 1;
}

/* Memory available without swapping, where the system reports it; else all of it. */
static uint64_t available_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    unsigned long long kilobytes;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1 && kilobytes < memory / 1024)
            memory = (uint64_t)kilobytes * 1024;
    if (file)
        fclose(file);
    return memory;
}

static int core_count(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 1024 ? 1024 : (int)cores;
}

limn_status lm_context_make(const limn_context_options *options, limn_context **out) {
    *out = NULL;
    limn_context_options own;
    limn_context_options_init(&own);
    if (options && !lm_sized_take(options, &own, sizeof own))
        return LIMN_E_USAGE;
    options = &own;
    limn_allocator mem = options->allocator;
    if (!mem.allocate || !mem.resize || !mem.release)
        mem = (limn_allocator){default_allocate, default_resize, default_release, NULL};
    limn_context *ctx = lm_alloc_zero(&mem, 1, sizeof *ctx);
    if (!ctx)
        return LIMN_E_MEMORY;
    ctx->mem = mem;
    ctx->log = options->log;
    ctx->progress = options->progress;
    ctx->metric = options->metric;
    ctx->user = options->user;
    ctx->seed = options->seed;
    ctx->threads = options->threads > 0 ? options->threads : core_count();
    ctx->memory_limit = options->memory_limit ? options->memory_limit : available_memory();
    *out = ctx;
    return LIMN_OK;
}

void limn_context_free(limn_context *context) {
    if (context) {
        limn_allocator mem = context->mem;
        lm_free(&mem, context);
    }
}

const char *limn_error(const limn_context *context) {
    return context ? context->error : "";
}

const char *limn_status_string(limn_status status) {
    switch (status) {
#define STATUS_CASE(name, value, string) \
    case name:                           \
        return string;
        LIMN_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

limn_status lm_fail(limn_context *ctx, limn_status status, const char *format, ...) {
    char sentence[LM_ERROR_BYTES]; /* an argument may be the message of an earlier failure */
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    memcpy(ctx->error, sentence, strlen(sentence) + 1);
    return status;
}

limn_status lm_fail_memory(limn_context *ctx) {
    return lm_fail(ctx, LIMN_E_MEMORY, "out of memory");
}

static void log_sentence(limn_context *ctx, limn_log_level level, const char *format,
                         va_list args) {
    if (!ctx->log)
        return;
    char sentence[LM_ERROR_BYTES];
    vsnprintf(sentence, sizeof sentence, format, args);
    ctx->log(ctx->user, level, sentence);
}

void lm_warn(limn_context *ctx, const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_sentence(ctx, LIMN_LOG_WARNING, format, args);
    va_end(args);
}

void lm_info(limn_context *ctx, const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_sentence(ctx, LIMN_LOG_INFO, format, args);
    va_end(args);
}

limn_status lm_progress_tell(limn_context *ctx, const limn_progress *progress) {
    if (ctx->progress && ctx->progress(ctx->user, progress))
        return lm_fail(ctx, LIMN_E_CANCELLED, "cancelled while %s", progress->stage);
    return LIMN_OK;
}

limn_status lm_progress(limn_context *ctx, const char *stage, uint64_t rows, uint64_t rows_total,
                        double fraction) {
    limn_progress progress = {stage, rows, rows_total, fraction, NULL};
    return lm_progress_tell(ctx, &progress);
}
