#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For metric=caller: the largest absolute difference. */
static double largest_difference(void *user, const float *a, const float *b, size_t n) {
    double largest = 0;
    (void)user;
    for (size_t j = 0; j < n; j++) {
        double difference = fabs((double)a[j] - (double)b[j]);
        largest = difference > largest ? difference : largest;
    }
    return largest;
}

limn_context *make_context(counting *count, int threads, uint64_t seed) {
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    if (count)
        options.allocator = counting_allocator(count);
    options.threads = threads;
    options.metric = largest_difference;
    options.seed = seed;
    if (limn_context_new(&options, &ctx) != LIMN_OK) {
        fprintf(stderr, "no context\n");
        exit(1);
    }
    return ctx;
}

static const char *const shape_names[SHAPE_COUNT] = {
    "random", "one row", "one class", "constant feature", "duplicates", "n < d", "equal",
    "huge",   "tiny",    "offset"};

const char *shape_name(shape s) {
    return shape_names[s];
}

static float value_of(shape s, lm_rng *rng, size_t row, size_t j, size_t class) {
    double v = lm_rng_normal(rng) + (double)class * 1.5;
    switch (s) {
    case SHAPE_CONSTANT:
        return j == 1 ? 7.25f : (float)v;
    case SHAPE_DUPLICATES:
        return (float)lm_rng_below(rng, 3);
    case SHAPE_EQUAL:
        return 0.5f * (float)j;
    case SHAPE_HUGE:
        return (float)(v * 1e30);
    case SHAPE_TINY:
        return (float)(v * 1e-30);
    case SHAPE_OFFSET:
        return (float)(1e6 + v);
    default:
        return row < SIZE_MAX ? (float)v : 0;
    }
}

limn_data *make_data(limn_context *ctx, limn_task task, shape s, size_t n, uint64_t seed) {
    size_t d = s == SHAPE_WIDE ? 3 * n + 5 : 5, classes = s == SHAPE_ONE_CLASS ? 1 : 3;
    if (s == SHAPE_ONE_ROW)
        n = 1;
    float *x = malloc(n * d * sizeof *x);
    double *y = malloc(n * sizeof *y);
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(seed, 1000 + (uint64_t)s, 0);
    for (size_t i = 0; i < n; i++) {
        size_t class = (size_t)lm_rng_below(&rng, classes);
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = value_of(s, &rng, i, j, class);
        y[i] = task == LIMN_REGRESS ? lm_rng_normal(&rng) + (double)class : (double)class * 2 - 1;
    }
    if (limn_data_from_values(ctx, task, x, n, d, task == LIMN_SEARCH ? NULL : y, &data) != LIMN_OK)
        data = NULL;
    free(x);
    free(y);
    return data;
}

float *make_queries(const limn_data *data, size_t n, uint64_t seed) {
    size_t d = data->schema.features;
    float *x = malloc(n * d * sizeof *x);
    lm_rng rng = lm_rng_at(seed, 2000, 0);
    for (size_t i = 0; i < n; i++) {
        const float *a = data->x + lm_rng_below(&rng, data->n) * d;
        const float *b = data->x + lm_rng_below(&rng, data->n) * d;
        double t = i % 2 ? lm_rng_unit(&rng) : 0;
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = (float)((1 - t) * (double)a[j] + t * (double)b[j]);
    }
    return x;
}

void add_params(param_list *p, const char *text) {
    while (text && *text) {
        size_t length = strcspn(text, " ");
        if (p->count == PARAMS_MOST || p->used + length + 1 > sizeof p->text) {
            fprintf(stderr, "too many parameters\n");
            exit(1);
        }
        p->list[p->count++] = memcpy(p->text + p->used, text, length);
        p->used += length;
        p->text[p->used++] = '\0';
        text += length;
        text += *text == ' ';
    }
}
