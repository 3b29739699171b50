/* hull_world.h: data of every shape, hull models trained on them, and their comparison with
 * hull_slow.h. */
#ifndef LIMN_TESTS_HULL_WORLD_H
#define LIMN_TESTS_HULL_WORLD_H

#include "hull_slow.h"
#include "model/model.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { WORLD_QUERIES = 8 };

static const char *const kind_names[] = {"nah", "nhd", "nch", "nsc", "nrh"};

/* Those of support.h, and some more. */
typedef enum world {
    WORLD_NARROW = SHAPE_COUNT, /* n < d, in few features */
    WORLD_MIXED,                /* one feature with standard deviation 3000 among small ones */
    WORLD_LINE,                 /* one feature */
    WORLD_SINGLE,               /* one row per class */
    WORLD_TWINS,                /* every row twice */
    WORLD_COUNT
} world;

static inline limn_data *world_data(limn_context *ctx, int of, uint64_t seed) {
    enum { MOST = 48 * 40 };
    float x[MOST];
    double y[48];
    limn_data *data = NULL;
    if (of < SHAPE_COUNT)
        return make_data(ctx, LIMN_CLASSIFY, (enum shape)of, 30, seed);
    size_t d = of == WORLD_NARROW ? 14 : of == WORLD_LINE ? 1 : of == WORLD_SINGLE ? 4 : 6;
    size_t n = of == WORLD_SINGLE ? 3 : 30;
    lm_rng rng = lm_rng_at(seed, 3000 + (uint64_t)of, 0);
    for (size_t i = 0; i < n; i++) {
        size_t c = i % 3;
        y[i] = (double)c;
        for (size_t j = 0; j < d; j++) {
            double v = lm_rng_normal(&rng) + 1.5 * (double)c;
            v = of == WORLD_MIXED && j == 2 ? 3000 * v : v;
            x[i * d + j] = (float)v;
        }
        if (of == WORLD_TWINS && i % 6 >= 3)
            memcpy(x + i * d, x + (i - 3) * d, d * sizeof *x);
    }
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, d, y, &data), LIMN_OK);
    return data;
}

static inline const char *world_name(int of) {
    static const char *const names[] = {"n < d, few", "mixed", "line", "single", "twins"};
    return of < SHAPE_COUNT ? shape_name((enum shape)of) : names[of - SHAPE_COUNT];
}

/* The -p options for these settings; more: one more assignment, or NULL. */
static inline limn_status hull_train_set(limn_context *ctx, const limn_data *data,
                                         const slow_set *s, const char *more, limn_model **model) {
    static const char *const types[] = {"linear", "poly", "rbf", "sigmoid"};
    char text[12][64];
    const char *params[12];
    size_t count = 0;
    limn_train_options options;
    bool affine = s->kind == HULL_NAH || s->kind == HULL_NHD;
    snprintf(text[count++], 64, "neighbors=%zu", s->neighbors);
    if (affine && s->rule == HULL_DIM_GIVEN)
        snprintf(text[count++], 64, "dim=%zu", s->dim);
    else if (affine && s->rule != HULL_DIM_AUTO)
        snprintf(text[count++], 64, "dim=%s", s->rule == HULL_DIM_GAP ? "gap" : "full");
    if (affine)
        snprintf(text[count++], 64, "cut=%.17g", s->cut);
    if (s->kind == HULL_NHD || s->kind == HULL_NSC)
        snprintf(text[count++], 64, "nu=%.17g", s->nu);
    if (s->kind == HULL_NRH && s->rho > 0)
        snprintf(text[count++], 64, "rho=%.17g", s->rho);
    if (s->curved) {
        snprintf(text[count++], 64, "kernel=%s", types[s->kernel.type]);
        snprintf(text[count++], 64, "gamma=%.17g", s->kernel.gamma);
        snprintf(text[count++], 64, "coef0=%.17g", s->kernel.coef0);
        snprintf(text[count++], 64, "degree=%d", s->kernel.degree ? s->kernel.degree : 3);
    }
    if (more)
        snprintf(text[count++], 64, "%s", more);
    for (size_t i = 0; i < count; i++)
        params[i] = text[i];
    limn_train_options_init(&options);
    options.method = kind_names[s->kind];
    options.scale = LIMN_SCALE_NONE;
    options.params = params;
    options.param_count = count;
    return limn_train(ctx, data, &options, model);
}

static inline limn_model *hull_trained(limn_context *ctx, const limn_data *data, const slow_set *s,
                                       const char *more) {
    limn_model *model = NULL;
    if (hull_train_set(ctx, data, s, more, &model) != LIMN_OK)
        fail_msg("%s was not trained: %s", kind_names[s->kind], limn_error(ctx));
    return model;
}

/* Classes (unless NULL), and distances (unless NULL) of n rows. */
static inline void hull_ask(limn_context *ctx, const limn_model *model, const float *x, size_t n,
                            int32_t *classes, double *distances) {
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    if (classes)
        assert_int_equal(limn_predict(p, x, n, classes), LIMN_OK);
    if (distances)
        assert_int_equal(limn_predict_scores(p, x, n, distances), LIMN_OK);
    limn_predictor_free(p);
}

/* The rows of one class, in order. Free with free(). */
static inline float *class_rows(const limn_data *data, size_t c, size_t *count) {
    size_t d = data->schema.features;
    float *rows = malloc(data->n * d * sizeof *rows);
    const int32_t *label = limn_data_classes(data);
    *count = 0;
    for (size_t i = 0; i < data->n; i++)
        if ((size_t)label[i] == c)
            memcpy(rows + (*count)++ * d, data->x + i * d, d * sizeof *rows);
    return rows;
}

/* ---- tolerances ---- */

/* How far a squared distance may be from the slow one:
 *  - where floats are trusted (linear, global, not nch): 1e-3 of the value, which is what the
 *    methods promise, and 1e-5 of the squared size of the class and the query;
 *  - rounding: 1e-10 of that size, 1e-12 (nch 1e-11) of the norms in feature space;
 *  - the centre of a sphere: 1e-6 of its size (its program's gap of 1e-10 allows 1e-5). */
static inline double tolerance_of(const slow_set *s, const slow_answer *a) {
    bool flat = !s->curved && !s->neighbors && s->kind != HULL_NCH;
    bool sphere = s->kind == HULL_NHD || s->kind == HULL_NSC;
    double off = sphere ? 1e-6 : 0;
    double noise = (s->kind == HULL_NCH ? 1e-11 : 1e-12) * a->norm;
    return (flat ? fmin(1e-3 * a->d2, 1e-5 * a->scale) : 0) + 1e-10 * a->scale + noise +
           2 * a->gap + 2 * off * sqrt(a->d2 * a->scale) + off * off * a->scale;
}

typedef struct tally {
    size_t compared, unclear, classes;
} tally;

/* Compares distances and classes of n queries with the slow ones. */
static inline void hull_compare(limn_context *ctx, const limn_data *data, const slow_set *s,
                                const limn_model *model, const float *x, size_t n,
                                const char *where, tally *sums) {
    size_t d = data->schema.features, k = data->schema.labels.count;
    int32_t *classes = malloc(n * sizeof *classes);
    double *distances = malloc(n * k * sizeof *distances);
    slow_answer *slow = malloc(n * k * sizeof *slow);
    hull_ask(ctx, model, x, n, classes, distances);
    for (size_t c = 0; c < k; c++) {
        size_t rows;
        float *own = class_rows(data, c, &rows);
        for (size_t i = 0; i < n; i++)
            slow[i * k + c] = slow_distance(s, own, rows, d, x + i * d);
        free(own);
    }
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        bool clear = true;
        for (size_t c = 0; c < k; c++) {
            const slow_answer *a = &slow[i * k + c];
            double got = distances[i * k + c], off = fabs(got * got - a->d2);
            double most = tolerance_of(s, a);
            sums->unclear += a->unclear;
            clear = clear && !a->unclear;
            best = a->d2 < slow[i * k + best].d2 ? c : best;
            if (a->unclear)
                continue;
            sums->compared++;
            if (!(off <= most))
                fail_msg("%s: %s query %zu class %zu: %.17g instead of %.17g (scale %g)", where,
                         kind_names[s->kind], i, c, got, sqrt(a->d2), sqrt(a->scale));
        }
        for (size_t c = 0; c < k && clear; c++) {
            const slow_answer *a = &slow[i * k + c], *b = &slow[i * k + best];
            slow_set exact = *s;
            exact.neighbors = 1; /* floats decide nothing */
            if (c != best && a->d2 - b->d2 <= tolerance_of(&exact, a) + tolerance_of(&exact, b))
                clear = false;
        }
        sums->classes += clear;
        if (clear && classes[i] != (int32_t)best)
            fail_msg("%s: %s query %zu: class %d instead of %zu", where, kind_names[s->kind], i,
                     (int)classes[i], best);
    }
    free(classes);
    free(distances);
    free(slow);
}

/* Settings on data of all shapes. needs_room: hulls may fill the space, which is then refused. */
static inline void compare_all(const slow_set *sets, size_t count, bool needs_room) {
    tally sums = {0};
    for (int of = 0; of < WORLD_COUNT; of++) {
        limn_context *ctx = make_context(NULL, 1, 5);
        limn_data *data = world_data(ctx, of, 11);
        float *x = make_queries(data, WORLD_QUERIES, 3);
        for (size_t i = 0; i < count; i++) {
            const slow_set *s = &sets[i];
            limn_model *model = NULL;
            limn_status status = hull_train_set(ctx, data, s, NULL, &model);
            if (status != LIMN_OK) {
                bool fills = needs_room && strstr(limn_error(ctx), "fill");
                bool large = s->curved && of == SHAPE_HUGE && strstr(limn_error(ctx), "too large");
                if (!fills && !large)
                    fail_msg("%s: %s", world_name(of), limn_error(ctx));
                continue;
            }
            char where[80];
            snprintf(where, sizeof where, "%s, setting %zu", world_name(of), i);
            hull_compare(ctx, data, s, model, x, WORLD_QUERIES, where, &sums);
            limn_model_free(model);
        }
        free(x);
        limn_data_free(data);
        limn_context_free(ctx);
    }
    if (sums.unclear * 6 > sums.compared || sums.classes * 8 < sums.compared)
        fail_msg("compared %zu distances and %zu classes, %zu unclear", sums.compared, sums.classes,
                 sums.unclear);
}

#endif
