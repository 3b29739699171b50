/* pool_world.h: rows, points sampled around them, and slow statements of where points lie.
 *
 * In a small set 200 random rows are all rows (a given one of twelve is missing with a probability
 * of 3e-8), so that the row that a point is drawn towards is known. */
#ifndef LIMN_TESTS_POOL_WORLD_H
#define LIMN_TESTS_POOL_WORLD_H

#include "fit/pool.h"
#include "num/pack.h"
#include "support.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    counting count;
    limn_context *ctx;
    size_t n, d;
    const float *x;
    const int32_t *label; /* may be NULL */
    lm_pool_features f;
    lm_pool_rows rows;
    size_t points;
    float *point;
    int32_t *class;
    size_t compared; /* of lm_pool_way */
} world;

static inline void world_open(world *w, const float *x, const int32_t *label, size_t n, size_t d,
                              size_t classes) {
    memset(w, 0, sizeof *w);
    w->ctx = make_context(&w->count, 1, 1);
    w->n = n;
    w->d = d;
    w->x = x;
    w->label = label;
    assert_int_equal(lm_pool_features_find(w->ctx, x, n, d, &w->f), LIMN_OK);
    assert_int_equal(lm_pool_rows_take(w->ctx, &w->f, x, label, n, classes, &w->rows), LIMN_OK);
}

/* The points stay until the next call. */
static inline void sample(world *w, size_t points, double noise) {
    free(w->point);
    free(w->class);
    lm_pool_way way = {.seed = 5, .noise = noise, .compared = w->compared};
    w->points = points;
    w->point = malloc(points * w->d * sizeof *w->point);
    w->class = malloc(points * sizeof *w->class);
    lm_pool_sample(w->ctx, &w->rows, &way, 0, points, w->point, w->d, w->class);
}

static inline void world_close(world *w) {
    free(w->point);
    free(w->class);
    lm_pool_rows_free(&w->ctx->mem, &w->rows);
    lm_pool_features_free(&w->ctx->mem, &w->f);
    assert_true(!w->f.spread && !w->f.low && !w->f.high && !w->f.category && !w->rows.x &&
                !w->rows.start);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

static inline float *normal_rows(size_t n, size_t d, uint64_t seed) {
    float *x = malloc(n * d * sizeof *x);
    lm_rng rng = lm_rng_at(seed, 31, n * 1000 + d);
    for (size_t i = 0; i < n * d; i++)
        x[i] = (float)lm_rng_normal(&rng);
    return x;
}

static inline int32_t class_of_row(const world *w, size_t row) {
    return w->label ? w->label[row] : 0;
}

/* Class c has the values c, c + 1 and c + 2, modulo 5. */
static inline void draw_categories(size_t n, size_t d, size_t first, size_t classes, float *x,
                                   int32_t *label) {
    lm_rng rng = lm_rng_at(n, 34, d);
    for (size_t i = 0; i < n; i++) {
        label[i] = (int32_t)(i % classes);
        for (size_t j = first; j < d; j++)
            x[i * d + j] = (float)((i % classes + lm_rng_below(&rng, 3)) % 5);
    }
}

static inline double squared(const float *a, const float *b, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    return sum;
}

/* Whether p is between a and b in the features that are no categories. */
static inline bool on_segment(const lm_pool_features *f, const float *p, const float *a,
                              const float *b) {
    double dot = 0, square = 0, size = 0;
    bool on = true;
    for (size_t j = 0; j < f->d; j++)
        if (!f->category[j]) {
            double step = (double)b[j] - (double)a[j];
            dot += step * ((double)p[j] - (double)a[j]);
            square += step * step;
            size = fmax(size, fmax(fabs((double)f->low[j]), fabs((double)f->high[j])));
        }
    double t = square > 0 ? fmin(fmax(dot / square, 0), 1) : 0;
    for (size_t j = 0; j < f->d; j++)
        if (!f->category[j]) {
            double at = (double)a[j] + t * ((double)b[j] - (double)a[j]);
            on &= fabs((double)p[j] - at) <= 1e-6 * size;
        }
    return on;
}

/* The least distance above 0 of the row to rows of its own class, of others or of both (bits 1 and
 * 2); 0: none. */
static inline double least_distance(const world *w, size_t row, int of) {
    double least = INFINITY;
    for (size_t i = 0; i < w->n; i++) {
        double distance = squared(w->x + i * w->d, w->x + row * w->d, w->d);
        int kind = class_of_row(w, i) == class_of_row(w, row) ? 1 : 2;
        if ((of & kind) && distance > 0 && distance < least)
            least = distance;
    }
    return least < INFINITY ? least : 0;
}

/* Whether the point is between a row of its class and the nearest row (1), or the nearest of
 * another class (2): bits; drawn: adds to the rows that it may be drawn from. */
static inline int kinds_of(const world *w, size_t point, size_t *drawn) {
    const float *p = w->point + point * w->d;
    int kinds = 0;
    for (size_t a = 0; a < w->n; a++) {
        int found = 0;
        for (size_t b = 0; b < w->n && class_of_row(w, a) == w->class[point]; b++) {
            double distance = squared(w->x + a * w->d, w->x + b * w->d, w->d);
            bool apart = class_of_row(w, b) != class_of_row(w, a);
            if (b == a || !on_segment(&w->f, p, w->x + a * w->d, w->x + b * w->d))
                continue;
            found |= distance <= least_distance(w, a, 3) ? 1 : 0;
            found |= apart && distance <= least_distance(w, a, 2) ? 2 : 0;
        }
        drawn[a] += found != 0;
        kinds |= found;
    }
    return kinds;
}

static inline void check_range(const world *w) {
    for (size_t i = 0; i < w->points * w->d; i++)
        if (!(w->point[i] >= w->f.low[i % w->d] && w->point[i] <= w->f.high[i % w->d]))
            fail_msg("feature %zu of point %zu: %g", i % w->d, i / w->d, (double)w->point[i]);
}

#endif
