/* scan.c: the exact 1-NN scan of one query beside a plain row-major loop, in one run, interleaved.
 *
 *   bench_scan ROWS FEATURES            random data of that shape
 *   bench_scan --data TRAIN TEST        any files that limn reads, for example letter
 *
 * The plain loop is what a C programmer writes first, compiled with -O3 for the same baseline as
 * the library. Latency as lm_latency defines it, of the round with the lowest mean. */
#include "data/read/reader.h"
#include "eval/evaluate.h"
#include "model/model.h"
#include "num/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = 8 };
#define SECONDS 4.0 /* of a turn: 20 rows of the slowest, all rows of most */

size_t plain_nearest(const float *rows, size_t n, size_t d, const float *x, float *distance);

typedef struct bench {
    const limn_data *train, *test;
    limn_predictor *predictor;
    int64_t row;
    double distance;
} bench;

static limn_status packed_call(void *user, size_t row) {
    bench *b = user;
    return limn_search(b->predictor, b->test->x + row * b->test->schema.features, 1, 1, &b->row,
                       &b->distance);
}

static limn_status plain_call(void *user, size_t row) {
    bench *b = user;
    float distance;
    b->row = (int64_t)plain_nearest(b->train->x, b->train->n, b->train->schema.features,
                                    b->test->x + row * b->test->schema.features, &distance);
    return LIMN_OK;
}

static limn_data *random_data(limn_context *ctx, size_t n, size_t d, uint64_t stream) {
    float *x = malloc(n * d * sizeof *x);
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(1, stream, 0);
    for (size_t i = 0; x && i < n * d; i++)
        x[i] = (float)lm_rng_below(&rng, 16);
    if (!x || limn_data_from_values(ctx, LIMN_SEARCH, x, n, d, NULL, &data) != LIMN_OK)
        exit(1);
    free(x);
    return data;
}

static limn_data *read_data(limn_context *ctx, const char *path) {
    limn_read_options options;
    limn_data *data = NULL;
    limn_read_options_init(&options);
    options.task = LIMN_CLASSIFY;
    if (limn_data_read(ctx, path, &options, NULL, &data) != LIMN_OK) {
        fprintf(stderr, "%s\n", limn_error(ctx));
        exit(1);
    }
    return data;
}

/* Another round: the best so far. */
static void time_again(limn_context *ctx, bench *b, lm_single_call call, lm_timing *best) {
    lm_timing timing = {0};
    if (lm_latency(ctx, b->test->n, SECONDS, call, b, &timing) != LIMN_OK)
        exit(1);
    if (best->rows == 0 || timing.mean_us < best->mean_us)
        *best = timing;
}

static void report(limn_context *ctx, bench *b) {
    double bytes = (double)b->train->n * (double)b->train->schema.features * sizeof(float);
    lm_timing plain = {0}, packed[MOST_SETS] = {{0}};
    size_t sets = 0;
    while (sets < MOST_SETS && lm_isa_at(sets))
        sets++;
    for (int round = 0; round < 3; round++) {
        time_again(ctx, b, plain_call, &plain);
        for (size_t isa = 0; isa < sets; isa++) {
            lm_isa_use(lm_isa_at(isa));
            time_again(ctx, b, packed_call, &packed[isa]);
        }
    }
    printf("%zu rows x %zu features, %.2f MB, us per query\n  %-22s %9s %9s %6s\n", b->train->n,
           b->train->schema.features, bytes / 1e6, "", "mean", "p99", "rows");
    printf("  %-22s %9.2f %9.2f %6zu\n", "plain row-major -O3", plain.mean_us, plain.p99_us,
           plain.rows);
    for (size_t isa = 0; isa < sets; isa++) {
        const lm_timing *t = &packed[isa];
        printf("  limn %-17s %9.2f %9.2f %6zu   %5.1fx   %6.1f GB/s   %6.2f G multiply-adds/s\n",
               lm_isa_at(isa), t->mean_us, t->p99_us, t->rows, plain.mean_us / t->mean_us,
               bytes / t->mean_us / 1e3, bytes / 4 / t->mean_us / 1e3);
    }
}

int main(int argc, char **argv) {
    limn_context *ctx = NULL;
    bench b = {0};
    limn_model *model = NULL;
    limn_train_options options;
    limn_predictor_options search;
    limn_predictor_options_init(&search);
    search.neighbors = 1;
    if (limn_context_new(NULL, &ctx) != LIMN_OK)
        return 1;
    if (argc == 4 && strcmp(argv[1], "--data") == 0) {
        b.train = read_data(ctx, argv[2]);
        b.test = read_data(ctx, argv[3]);
    } else if (argc == 3) {
        size_t n = strtoul(argv[1], NULL, 10), d = strtoul(argv[2], NULL, 10);
        b.train = random_data(ctx, n, d, 1);
        b.test = random_data(ctx, 1000, d, 2);
    } else {
        fprintf(stderr, "usage: bench_scan ROWS FEATURES | --data TRAIN TEST\n");
        return 2;
    }
    limn_train_options_init(&options);
    options.method = "knn";
    if (limn_train(ctx, b.train, &options, &model) != LIMN_OK ||
        limn_predictor_new(ctx, model, &search, &b.predictor) != LIMN_OK)
        return 1;
    report(ctx, &b);
    return 0;
}
