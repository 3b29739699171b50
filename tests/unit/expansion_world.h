/* expansion_world.h: an expansion next to a slow one: the same vectors, coefficients, and the sum
 * of the coefficients after each row, in plain arrays. */
#ifndef LIMN_TESTS_EXPANSION_WORLD_H
#define LIMN_TESTS_EXPANSION_WORLD_H

#include "fit/expansion.h"
#include "kernel_slow.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { D_MOST = 20, VECTORS_MOST = 80, OUTPUTS_MOST = 7 };

typedef struct slow {
    size_t n;
    double rows;
    float x[VECTORS_MOST][D_MOST];
    double a[VECTORS_MOST][OUTPUTS_MOST];
    double sum[VECTORS_MOST][OUTPUTS_MOST]; /* of a after each row */
} slow;

typedef struct kind {
    const lm_kernel *kernel;
    size_t d, outputs;
    bool averaged, factored;
} kind;

typedef struct world {
    counting count;
    limn_context *ctx;
    lm_expansion e;
    slow s;
    lm_rng rng;
    float values[VECTORS_MOST + LM_PANEL];
} world;

static inline void open_world(world *w, kind k, uint64_t seed) {
    memset(w, 0, sizeof *w);
    w->ctx = make_context(&w->count, 1, 1);
    w->rng = lm_rng_at(seed, 3, 1);
    w->e.kernel = *k.kernel;
    w->e.outputs = k.outputs;
    w->e.averaged = k.averaged;
    w->e.factored = k.factored;
    w->e.pack.d = k.d;
    assert_int_equal(lm_expansion_reserve(w->ctx, &w->e, 1), LIMN_OK);
}

static inline void close_world(world *w) {
    lm_expansion_free(&w->ctx->mem, &w->e);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

/* A row that suits the kernel. */
static inline void draw_row(world *w, float *x) {
    for (size_t j = 0; j < w->e.pack.d; j++) {
        x[j] = (float)(0.7 * lm_rng_normal(&w->rng));
        x[j] = slow_positive(&w->e.kernel) ? fabsf(x[j]) : x[j];
    }
}

static inline void draw_coef(world *w, double *coef) {
    for (size_t o = 0; o < w->e.outputs; o++)
        coef[o] = lm_rng_normal(&w->rng);
}

static inline lm_step draw_step(world *w) {
    size_t k = w->e.outputs, up = lm_rng_below(&w->rng, k);
    size_t down = k == 1 ? LM_NO_OUTPUT : (up + 1 + lm_rng_below(&w->rng, k - 1)) % k;
    return (lm_step){up, down, lm_rng_normal(&w->rng)};
}

/* ---- the same change on both sides ---- */

static inline void make_room(world *w) {
    assert_true(w->s.n < VECTORS_MOST);
    assert_int_equal(lm_expansion_reserve(w->ctx, &w->e, w->e.pack.n + 1), LIMN_OK);
}

/* With these coefficients, as if they had been there from the first row; NULL: 0. */
static inline void put(world *w, const float *x, const double *coef) {
    slow *s = &w->s;
    size_t at = s->n;
    make_room(w);
    lm_expansion_put(&w->e, x, coef);
    s->n++;
    memcpy(s->x[at], x, w->e.pack.d * sizeof *x);
    for (size_t o = 0; o < w->e.outputs; o++) {
        s->a[at][o] = coef ? coef[o] : 0;
        s->sum[at][o] = s->a[at][o] * s->rows;
    }
}

static inline void step_slow(slow *s, size_t j, const lm_step *step, double by) {
    s->a[j][step->up] += by;
    if (step->down != LM_NO_OUTPUT)
        s->a[j][step->down] -= by;
}

static inline void add(world *w, const float *x, const lm_step *step) {
    slow *s = &w->s;
    make_room(w);
    lm_expansion_values(&w->e, x, w->values);
    lm_expansion_add(&w->e, x, w->values, step);
    memcpy(s->x[s->n], x, w->e.pack.d * sizeof *x);
    memset(s->a[s->n], 0, sizeof s->a[s->n]);
    memset(s->sum[s->n], 0, sizeof s->sum[s->n]);
    step_slow(s, s->n, step, step->by);
    s->n++;
}

/* The factor's next row needs room too. */
static inline double project(world *w, const float *x) {
    make_room(w);
    lm_expansion_values(&w->e, x, w->values);
    return lm_expansion_project(&w->e, w->values, lm_expansion_self(&w->e, x));
}

static inline void move(world *w, const lm_step *step) {
    lm_expansion_move(&w->e, step);
    for (size_t j = 0; j < w->s.n; j++)
        step_slow(&w->s, j, step, w->e.alpha[j] * step->by);
}

static inline void shrink(world *w, double factor) {
    lm_expansion_shrink(&w->e, factor);
    for (size_t j = 0; j < w->s.n; j++)
        for (size_t o = 0; o < w->e.outputs; o++)
            w->s.a[j][o] *= factor;
}

static inline void drop(world *w, size_t index) {
    slow *s = &w->s;
    lm_expansion_remove(&w->e, index);
    s->n--;
    for (size_t j = index; j < s->n; j++) {
        memcpy(s->x[j], s->x[j + 1], sizeof s->x[j]);
        memcpy(s->a[j], s->a[j + 1], sizeof s->a[j]);
        memcpy(s->sum[j], s->sum[j + 1], sizeof s->sum[j]);
    }
}

static inline void widen(world *w, size_t outputs) {
    slow *s = &w->s;
    size_t old = w->e.outputs;
    assert_int_equal(lm_expansion_widen(w->ctx, &w->e, outputs), LIMN_OK);
    for (size_t j = 0; j < s->n; j++)
        for (size_t o = old; o < outputs; o++) {
            bool other = old == 1 && o == 1;
            s->a[j][o] = other ? -s->a[j][0] : 0;
            s->sum[j][o] = other ? -s->sum[j][0] : 0;
        }
}

static inline void tick(world *w, bool changed) {
    lm_expansion_tick(&w->e, changed);
    w->s.rows += 1;
    for (size_t j = 0; j < w->s.n; j++)
        for (size_t o = 0; o < w->e.outputs; o++)
            w->s.sum[j][o] += w->s.a[j][o];
}

static inline void restart(world *w) {
    lm_expansion_restart(&w->e);
    memset(w->s.sum, 0, sizeof w->s.sum);
    w->s.rows = 0;
}

/* ---- comparing ---- */

static inline void assert_near(double value, double expected, double most) {
    if (!(fabs(value - expected) <= most))
        fail_msg("%.17g instead of %.17g, more than %g away", value, expected, most);
}

static inline double slow_mean(const slow *s, size_t j, size_t o) {
    return s->rows > 0 ? s->sum[j][o] / s->rows : s->a[j][o];
}

static inline void compare_coefficients(const world *w) {
    const lm_expansion *e = &w->e;
    float x[D_MOST];
    assert_int_equal(e->pack.n, w->s.n);
    assert_true(e->steps == w->s.rows);
    for (size_t j = 0; j < w->s.n; j++) {
        lm_pack_row(&e->pack, j, x);
        assert_memory_equal(x, w->s.x[j], e->pack.d * sizeof *x);
        for (size_t o = 0; o < e->outputs; o++) {
            double a = w->s.a[j][o], coef = e->coef[j * e->outputs + o];
            double drift = e->steps > 0 ? e->drift[j * e->outputs + o] / e->steps : 0;
            assert_near(coef, a, 1e-12 * (1 + fabs(a)));
            if (e->averaged)
                assert_near(coef - drift, slow_mean(&w->s, j, o), 1e-11 * (1 + fabs(a)));
        }
    }
}

/* What a query sums, against sums in double. */
static inline void compare_sums(world *w, const float *x) {
    const lm_expansion *e = &w->e;
    float f[OUTPUTS_MOST];
    lm_expansion_values(e, x, w->values);
    for (int mean = 0; mean <= (int)e->averaged; mean++) {
        lm_expansion_sums(e, mean == 1, w->values, f);
        for (size_t o = 0; o < e->outputs; o++) {
            double sum = 0, size = 0;
            for (size_t j = 0; j < w->s.n; j++) {
                double a = mean ? slow_mean(&w->s, j, o) : w->s.a[j][o];
                double part = a * slow_kernel(&e->kernel, w->s.x[j], x, e->pack.d);
                sum += part;
                size += fabs(part) + fabs(a);
            }
            assert_near((double)f[o], sum, 1e-5 * size);
        }
    }
}

#endif
