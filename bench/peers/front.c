/* front.c: single-call latency of several models on the same rows, in one process. Driven by
 * front.py, which prepares the models and prints the tables.
 *
 *   bench_front answers ROWS SPEC
 *
 *   bench_front latency ROWS SECONDS ROUNDS SPEC...
 *
 *   bench_front reduce ROWS LIBSVM-MODEL VECTORS MODEL
 *
 *   bench_front dlib
 *
 * SPEC is KIND:FILE[@NUMBER][,ROWS2]. KIND is limn, libsvm, forest, network, expansion, fourier or
 * dlib with a model, or hnsw or flann with a table of training rows and ef or checks as NUMBER.
 * ROWS2 are the same rows, scaled for a model that does not scale.
 *
 * answers writes the labels to FILE[@NUMBER].answers as int32 and prints the microseconds per row,
 * in one call for all rows or, where the software has none in C, in a plain loop. latency times the
 * models in turn, ROUNDS times, with SECONDS for each turn, as lm_latency defines latency; the turn
 * with the lowest mean counts. reduce has dlib replace a machine by so many vectors; dlib prints
 * its version, or nothing if bench_front was built without it. All others print one line of JSON
 * per model. */
#include "peer.h"

#include "eval/evaluate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_SECONDS 0.3 /* shorter loops are repeated, the best counts */

typedef struct contender {
    peer p;
    table rows;
    char path[4096];
    int32_t *labels;
    double loop_us;
    lm_timing best;
} contender;

void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("bench_front: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void *need(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block)
        die("out of memory");
    return block;
}

void *aligned(size_t size) {
    void *block = aligned_alloc(64, size);
    if (!block)
        die("out of memory");
    return block;
}

double seconds_now(void) {
    return lm_clock();
}

void *slurp(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    long end = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        end = ftell(file);
    if (end < 0)
        die("%s cannot be read", path);
    rewind(file);
    *size = (size_t)end;
    void *bytes = need(*size, 1);
    if (fread(bytes, 1, *size, file) != *size)
        die("%s cannot be read", path);
    fclose(file);
    return bytes;
}

table table_read(const char *path) {
    size_t size;
    int32_t *head = slurp(path, &size);
    table t = {.n = head[0], .d = head[1], .x = (float *)(head + 2)};
    size_t cells = (size_t)t.n * (size_t)t.d;
    if (size != 4 * (2 + cells + (size_t)t.n))
        die("%s is not a table", path);
    t.label = head + 2 + cells;
    return t;
}

/* ---- limn ---- */

typedef struct own {
    limn_context *ctx;
    limn_predictor *predictor;
    int32_t *labels; /* of the classes */
} own;

static void check(const own *o, limn_status status) {
    if (status != LIMN_OK)
        die("%s", limn_error(o->ctx));
}

static int32_t own_answer(void *state, size_t index, const float *x) {
    const own *o = state;
    int32_t found = 0;
    (void)index;
    if (limn_predict(o->predictor, x, 1, &found) != LIMN_OK)
        die("%s", limn_error(o->ctx));
    return o->labels[found];
}

static void own_answer_all(void *state, const table *rows, int32_t *labels) {
    const own *o = state;
    check(o, limn_predict(o->predictor, rows->x, (size_t)rows->n, labels));
    for (int32_t i = 0; i < rows->n; i++)
        labels[i] = o->labels[labels[i]];
}

peer limn_open(const char *path, const table *rows) {
    own *o = need(1, sizeof *o);
    limn_model *model;
    limn_model_info info;
    limn_model_info_init(&info);
    if (limn_context_new(NULL, &o->ctx) != LIMN_OK)
        die("this machine lacks the instruction set of LIMN_ISA");
    check(o, limn_model_open(o->ctx, path, &model));
    check(o, limn_predictor_new(o->ctx, model, NULL, &o->predictor));
    limn_model_describe(model, &info);
    if (info.features != (size_t)rows->d)
        die("%s has %zu features, the rows %d", path, info.features, rows->d);
    o->labels = need(info.classes, sizeof *o->labels);
    for (size_t c = 0; c < info.classes; c++)
        o->labels[c] = (int32_t)strtod(limn_model_class_name(model, c), NULL);
    return (peer){
        .state = o, .answer = own_answer, .answer_all = own_answer_all, .bytes = info.bytes};
}

/* ---- dlib, which is optional ---- */

#ifdef HAVE_DLIB
static const char *dlib_version(void) {
    return dlib_release();
}

static int reduce(const table *rows, char **args) {
    double start = lm_clock();
    size_t vectors = dlib_reduce(args[0], rows, strtoul(args[1], NULL, 10), args[2]);
    printf("{\"train\":%.6g,\"vectors\":%zu}\n", lm_clock() - start, vectors);
    return 0;
}
#else
static const char *dlib_version(void) {
    return "";
}

static peer dlib_open(const char *path, const table *rows) {
    (void)rows;
    die("%s: built without dlib", path);
}

static int reduce(const table *rows, char **args) {
    (void)rows;
    die("%s: built without dlib", args[0]);
}
#endif

/* ---- contenders ---- */

static contender open_contender(char *text, const table *rows) {
    contender c = {.rows = *rows};
    char *file = strchr(text, ':'), *more = strchr(text, ','), *number = strchr(text, '@');
    size_t value = number ? strtoul(number + 1, NULL, 10) : 0;
    if (!file)
        die("%s is not KIND:FILE", text);
    if (more)
        c.rows = table_read(more + 1);
    *file++ = 0;
    snprintf(c.path, sizeof c.path, "%.*s", (int)strcspn(file, ","), file);
    file[strcspn(file, number ? "@" : ",")] = 0;
    c.p = !strcmp(text, "limn")        ? limn_open(file, &c.rows)
          : !strcmp(text, "libsvm")    ? libsvm_open(file, &c.rows)
          : !strcmp(text, "forest")    ? forest_open(file, &c.rows)
          : !strcmp(text, "network")   ? network_open(file, &c.rows)
          : !strcmp(text, "expansion") ? expansion_open(file, &c.rows)
          : !strcmp(text, "fourier")   ? fourier_open(file, &c.rows)
          : !strcmp(text, "dlib")      ? dlib_open(file, &c.rows)
          : !strcmp(text, "hnsw")      ? hnsw_open(file, value)
          : !strcmp(text, "flann")     ? flann_open(file, value)
                                       : (peer){0};
    if (!c.p.answer)
        die("there is no kind %s", text);
    if (c.rows.n != rows->n)
        die("%d rows and %d scaled ones", rows->n, c.rows.n);
    c.labels = need((size_t)rows->n, sizeof *c.labels);
    return c;
}

static const float *row_of(const contender *c, size_t index) {
    return c->rows.x + index * (size_t)c->rows.d;
}

static void answer_all(contender *c) {
    if (c->p.answer_all)
        c->p.answer_all(c->p.state, &c->rows, c->labels);
    else
        for (size_t i = 0; i < (size_t)c->rows.n; i++)
            c->labels[i] = c->p.answer(c->p.state, i, row_of(c, i));
}

static void time_loop(contender *c) {
    double total = 0;
    c->loop_us = 1e30;
    do {
        double start = lm_clock();
        answer_all(c);
        double took = lm_clock() - start, us = 1e6 * took / c->rows.n;
        c->loop_us = us < c->loop_us ? us : c->loop_us;
        total += took;
    } while (total < LOOP_SECONDS);
}

static void write_answers(const contender *c) {
    char path[sizeof c->path + 16];
    snprintf(path, sizeof path, "%s.answers", c->path);
    FILE *file = fopen(path, "wb");
    if (!file ||
        fwrite(c->labels, sizeof *c->labels, (size_t)c->rows.n, file) != (size_t)c->rows.n ||
        fclose(file) != 0)
        die("%s cannot be written", path);
}

static int print_answers(contender *c) {
    time_loop(c);
    write_answers(c);
    printf("{\"all\":%.6g,\"bytes\":%zu,\"build\":%.6g,\"settled\":%.6g}\n", c->loop_us, c->p.bytes,
           c->p.build_seconds, c->p.settled ? c->p.settled(c->p.state) : 0);
    return 0;
}

static limn_status single_call(void *user, size_t row) {
    contender *c = user;
    c->labels[row] = c->p.answer(c->p.state, row, row_of(c, row));
    return LIMN_OK;
}

static void time_turns(limn_context *ctx, contender *all, size_t count, double seconds,
                       int rounds) {
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++) {
            lm_timing timing;
            if (lm_latency(ctx, (size_t)all[i].rows.n, seconds, single_call, &all[i], &timing))
                die("%s", limn_error(ctx));
            if (round == 0 || timing.mean_us < all[i].best.mean_us)
                all[i].best = timing;
        }
}

static int print_latency(const table *rows, double seconds, int rounds, char **specs,
                         size_t count) {
    limn_context *ctx;
    contender *all = need(count, sizeof *all);
    if (limn_context_new(NULL, &ctx) != LIMN_OK)
        die("this machine lacks the instruction set of LIMN_ISA");
    for (size_t i = 0; i < count; i++)
        all[i] = open_contender(specs[i], rows);
    time_turns(ctx, all, count, seconds, rounds);
    for (size_t i = 0; i < count; i++)
        printf("{\"mean\":%.6g,\"p50\":%.6g,\"p99\":%.6g,\"rows\":%zu}\n", all[i].best.mean_us,
               all[i].best.p50_us, all[i].best.p99_us, all[i].best.rows);
    return 0;
}

int main(int argc, char **argv) {
    table rows = {0};
    if (argc >= 4)
        rows = table_read(argv[2]);
    if (argc == 4 && strcmp(argv[1], "answers") == 0) {
        contender c = open_contender(argv[3], &rows);
        return print_answers(&c);
    }
    if (argc >= 6 && strcmp(argv[1], "latency") == 0)
        return print_latency(&rows, strtod(argv[3], NULL), atoi(argv[4]), argv + 5,
                             (size_t)argc - 5);
    if (argc == 6 && strcmp(argv[1], "reduce") == 0)
        return reduce(&rows, argv + 3);
    if (argc == 2 && strcmp(argv[1], "dlib") == 0)
        return puts(dlib_version()) < 0;
    fprintf(stderr, "usage: bench_front answers ROWS SPEC | latency ROWS SECONDS ROUNDS SPEC... |\n"
                    "       reduce ROWS LIBSVM-MODEL VECTORS MODEL | dlib\n");
    return 2;
}
