/* scaling.c: what scaling costs a query.
 *
 *   bench_scaling [DATA]
 *
 * Nanoseconds of lm_scaler_apply per row and per column, one row at a time, rows in random order,
 * on one thread: columns of 10^5 rows of random numbers, all distinct (256 knots each), and then
 * the rows of DATA, a file that limn reads. Each scaling is fitted to the rows first. A learned map
 * is given as one of full rank where the evidence is for none. */
#include "data/dataset.h"
#include "num/pack.h"
#include "scale/maps.h"
#include "scale/scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 100000, PASSES = 7 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(limn_context *ctx, limn_status status) {
    if (status == LIMN_OK)
        return;
    fprintf(stderr, "%s\n", limn_error(ctx));
    exit(1);
}

static void *need(void *memory) {
    if (!memory)
        exit(1);
    return memory;
}

/* The best of some passes over all rows, in nanoseconds per row. */
static double time_rows(const lm_scaler *s, const lm_scaler_rows *rows, const size_t *order,
                        float *out, void *spare) {
    double best = 1e9;
    for (int pass = 0; pass < PASSES; pass++) {
        double start = now();
        for (size_t i = 0; i < rows->n; i++)
            lm_scaler_apply(s, rows->x + order[i] * rows->d, 1, out, spare);
        double took = (now() - start) / (double)rows->n * 1e9;
        best = took < best ? took : best;
    }
    return best;
}

/* A map, whatever the evidence says. */
static void force_map(limn_context *ctx, const lm_scaler_rows *rows, lm_scaler *s) {
    enum { FEW = 500 };
    size_t row[FEW], n = rows->n < FEW ? rows->n : FEW;
    lm_map *maps[LM_MAPS];
    for (size_t i = 0; i < n; i++)
        row[i] = i * rows->n / n;
    check(ctx, lm_maps_fit(ctx, s, rows, (lm_row_list){row, n}, 1u << LM_MAP_SOFT, maps));
    s->map = maps[LM_MAP_SOFT];
    s->out = s->map ? s->map->out : s->out;
}

static void show(limn_context *ctx, limn_scale kind, const lm_scaler_rows *rows,
                 const size_t *order) {
    lm_scaler s;
    void *spare;
    bool learned = kind == LIMN_SCALE_LEARNED;
    float *out = need(malloc(rows->d * sizeof *out));
    check(ctx, lm_scaler_fit(ctx, kind, false, rows, &s));
    if (learned && !s.map)
        force_map(ctx, rows, &s);
    check(ctx, lm_scaler_spare(ctx, &s, &spare));
    double row = time_rows(&s, rows, order, out, spare);
    printf("  %-8s %9.1f ns per row %7.2f ns per column", limn_scale_name(kind), row,
           row / (double)rows->d);
    if (s.map)
        printf("  (%s, then %zu axes of %zu columns)", limn_scale_name(s.kind), s.out, s.kept);
    putchar('\n');
    fflush(stdout);
    lm_free_aligned(&ctx->mem, spare);
    lm_scaler_free(&ctx->mem, &s);
    free(out);
}

static void show_all(limn_context *ctx, const char *what, const lm_scaler_rows *rows) {
    static const limn_scale kinds[] = {LIMN_SCALE_NONE, LIMN_SCALE_MINMAX, LIMN_SCALE_ZSCORE,
                                       LIMN_SCALE_RANK, LIMN_SCALE_GAUSS,  LIMN_SCALE_LEARNED};
    size_t *order = need(malloc(rows->n * sizeof *order));
    lm_rng rng = lm_rng_at(1, 1, 1);
    for (size_t i = 0; i < rows->n; i++)
        order[i] = i;
    lm_rng_shuffle(&rng, order, rows->n);
    printf("%s, %zu rows of %zu columns, %s\n", what, rows->n, rows->d, lm_isa_name());
    for (size_t k = 0; k < LM_COUNT(kinds); k++)
        show(ctx, kinds[k], rows, order);
    free(order);
}

static void show_random(limn_context *ctx, size_t d) {
    float *x = need(malloc(ROWS * d * sizeof *x));
    int32_t *label = need(malloc(ROWS * sizeof *label));
    lm_rng rng = lm_rng_at(1, 1, 2);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = (float)lm_rng_normal(&rng);
        label[i] = x[i * d] > 0;
    }
    lm_scaler_rows rows = {.x = x, .n = ROWS, .d = d, .label = label, .classes = 2};
    show_all(ctx, "random numbers", &rows);
    free(x);
    free(label);
}

static void show_file(limn_context *ctx, const char *path) {
    limn_data *data;
    check(ctx, limn_data_read(ctx, path, NULL, NULL, &data));
    lm_scaler_rows rows = {.x = data->x,
                           .n = data->n,
                           .d = data->schema.features,
                           .label = data->label,
                           .classes = data->schema.labels.count};
    const char *slash = strrchr(path, '/');
    show_all(ctx, slash ? slash + 1 : path, &rows);
    limn_data_free(data);
}

int main(int argc, char **argv) {
    limn_context *ctx;
    limn_context_options options;
    limn_context_options_init(&options);
    options.threads = 0;
    if (limn_context_new(&options, &ctx) != LIMN_OK)
        return 1;
    printf("what scaling costs a query\n");
    show_random(ctx, 8);
    show_random(ctx, 64);
    for (int i = 1; i < argc; i++)
        show_file(ctx, argv[i]);
    limn_context_free(ctx);
    return 0;
}
