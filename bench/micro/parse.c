/* parse.c: how fast files are read, in MB of text a second on one thread.
 *
 *   parse            writes three files of its own to $TMPDIR and reads them
 *   parse FILE...    reads these
 *
 * Prints one line a file: the best of 5 reads into memory and through the streaming reader, and
 * beside them `wc -l`, which does nothing but look for newlines. bench/peers/parse.py does the same
 * with numpy and pandas. */
#include "base/base.h"
#include "data/read/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 5, ROWS = 400000, COLUMNS = 16 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(limn_context *ctx, const char *path) {
    fprintf(stderr, "parse: %s: %s\n", path, limn_error(ctx));
    return 1;
}

static int read_whole(limn_context *ctx, const char *path, size_t *rows, size_t *features) {
    limn_data *data;
    if (lm_data_read(ctx, path, NULL, NULL, &data) != LIMN_OK)
        return fail(ctx, path);
    *rows = limn_data_rows(data);
    *features = limn_data_features(data);
    limn_data_free(data);
    return 0;
}

static int read_stream(limn_context *ctx, const char *path) {
    limn_reader *reader;
    limn_rows rows;
    limn_rows_init(&rows);
    if (lm_reader_open(ctx, path, NULL, NULL, &reader) != LIMN_OK)
        return 1; /* LIBSVM has no stream without a model */
    limn_status status;
    do
        status = limn_reader_next(reader, 1024, &rows);
    while (status == LIMN_OK && rows.n);
    limn_reader_free(reader);
    return status != LIMN_OK;
}

static double count_lines(const char *path) {
    char command[4200];
    snprintf(command, sizeof command, "wc -l < '%s' > /dev/null", path);
    double start = now();
    return system(command) == 0 ? now() - start : 0;
}

static int measure(limn_context *ctx, const char *path, const char *name) {
    struct stat info;
    size_t rows = 0, features = 0;
    double whole = 1e300, stream = 1e300, lines = 1e300;
    if (stat(path, &info) != 0) {
        perror(path);
        return 1;
    }
    for (int i = 0; i < REPEATS; i++) { /* interleaved, so that all meet the same machine */
        double start = now();
        if (read_whole(ctx, path, &rows, &features))
            return 1;
        double mid = now();
        bool streamed = read_stream(ctx, path) == 0;
        double end = now();
        double wc = count_lines(path);
        whole = mid - start < whole ? mid - start : whole;
        stream = streamed && end - mid < stream ? end - mid : stream;
        lines = wc < lines ? wc : lines;
    }
    double mb = (double)info.st_size / 1e6;
    printf("%-14s %7zu x %-4zu %6.1f MB  whole %5.0f MB/s  ", name, rows, features, mb, mb / whole);
    if (stream < 1e300)
        printf("stream %5.0f MB/s  ", mb / stream);
    printf("wc -l %5.0f MB/s\n", mb / lines);
    return 0;
}

/* kind: 0 = CSV as printed from float32, 1 = CSV with 4 decimals, 2 = LIBSVM */
static int write_file(const char *path, int kind) {
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        return 1;
    }
    for (size_t i = 0; i < ROWS; i++) {
        lm_rng rng = lm_rng_at(1, (uint64_t)kind, i);
        if (kind == 2)
            fprintf(file, "%d", (int)lm_rng_below(&rng, 10));
        for (int j = 0; j < COLUMNS; j++) {
            double value = lm_rng_normal(&rng);
            if (kind == 2)
                fprintf(file, " %d:%.6g", j + 1, value);
            else
                fprintf(file, kind ? "%.4f," : "%.9g,", (double)(float)value);
        }
        if (kind == 2)
            fputc('\n', file);
        else
            fprintf(file, "%d\n", (int)lm_rng_below(&rng, 10));
    }
    return fclose(file) != 0;
}

static int measure_own(limn_context *ctx) {
    static const char *const names[] = {"float32.csv", "decimals.csv", "pairs.libsvm"};
    const char *folder = getenv("TMPDIR");
    int failed = 0;
    for (int kind = 0; kind < 3 && !failed; kind++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/limn-%ld-%s", folder ? folder : "/tmp", (long)getpid(),
                 names[kind]);
        failed = write_file(path, kind) || measure(ctx, path, names[kind]);
        remove(path);
    }
    return failed;
}

int main(int argc, char **argv) {
    limn_context *ctx;
    if (lm_context_make(NULL, &ctx) != LIMN_OK)
        return 1;
    int failed = argc < 2 ? measure_own(ctx) : 0;
    for (int i = 1; i < argc && !failed; i++)
        failed = measure(ctx, argv[i], strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i]);
    limn_context_free(ctx);
    return failed;
}
