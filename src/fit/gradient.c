/* gradient.c: gradients of fields of which only values are known.
 *
 * Central differences along the features, with a step that is a small share of each feature's
 * spread, are the gradient of a smooth field. The answers of trees and neighbours are steps: flat,
 * or a jump, where differences along the axes show only the sign of each component of the normal.
 * One more pair of points along the gradient found shows which it is: with an eighth of the
 * distance, the difference of a smooth field is an eighth; that of a jump stays. Such points get
 * the gradient of the field averaged over a Gaussian ball instead,
 *
 *   grad_j = mean of (f(x + z) - f(x - z)) / 2 * z_j / (radius spread_j)^2,
 *   z_j = radius spread_j N(0, 1),
 *
 * whose direction is right for jumps too: the smallest of a few radii for which it is not 0. The
 * directions are the same for all points. Votes by distance are smooth between their jumps, but
 * their slope there says nothing about the border: such fields are always averaged. */
#include "fit/field.h"
#include "num/cholesky.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define STEP 1e-3 /* of the spread */
enum {
    SHARE = 8,
    BALLS = 3,
    MOST_PAIRS = 2048,
    MOST_DIRECTIONS = 1024,
    CELLS = 1 << 21,
    MOST_EVEN = 64
};
static const double radius[BALLS] = {0.1, 0.3, 1};

/* Pairs of points around points, evaluated together. */
typedef struct probes {
    limn_context *ctx;
    const lm_field *field;
    const double *spread;
    size_t d;
    size_t pairs; /* at most, at once */
    size_t balls; /* directions of the average */
    float *x;     /* 2 pairs x d */
    double *f;
    double *direction; /* balls x d, standard normal, evened out */
    bool *smooth;      /* pairs */
} probes;

static void probes_free(probes *p) {
    lm_free(&p->ctx->mem, p->x);
    lm_free(&p->ctx->mem, p->f);
    lm_free(&p->ctx->mem, p->direction);
    lm_free(&p->ctx->mem, p->smooth);
}

/* Makes the mean of z z' the identity, as it is of a normal distribution: then the average is exact
 * for a linear field, and that of a jump has less noise. */
static limn_status even_out(probes *p) {
    size_t d = p->d;
    if (d > MOST_EVEN)
        return LIMN_OK;
    double *l = lm_alloc_zero(&p->ctx->mem, d * d, sizeof *l);
    if (!l)
        return lm_fail_memory(p->ctx);
    for (size_t b = 0; b < p->balls; b++)
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j <= i; j++)
                l[i * d + j] +=
                    p->direction[b * d + i] * p->direction[b * d + j] / (double)p->balls;
    if (lm_cholesky_whole(l, d))
        for (size_t b = 0; b < p->balls; b++)
            lm_cholesky_whole_forward(l, d, p->direction + b * d);
    lm_free(&p->ctx->mem, l);
    return LIMN_OK;
}

/* As many as wanted, fewer where rows are long, but at least `least`. */
static size_t fitting(size_t wanted, size_t least, size_t d) {
    size_t most = CELLS / d > least ? CELLS / d : least;
    return wanted < most ? wanted : most;
}

static limn_status probes_new(limn_context *ctx, const lm_field *field, probes *p) {
    size_t d = field->d, cells = 0, spots = 0;
    *p = (probes){.ctx = ctx, .field = field, .spread = field->spread, .d = d};
    p->pairs = fitting(MOST_PAIRS, 16, d);
    p->balls = fitting(d > 8 && d < MOST_DIRECTIONS / 8 ? 8 * d
                       : d > 8                          ? MOST_DIRECTIONS
                                                        : 64,
                       64, d);
    if (lm_mul(2 * p->pairs, d, &cells) && lm_mul(p->balls, d, &spots)) {
        p->x = lm_alloc(&ctx->mem, cells, sizeof *p->x);
        p->direction = lm_alloc(&ctx->mem, spots, sizeof *p->direction);
    }
    p->f = lm_alloc(&ctx->mem, 2 * p->pairs, sizeof *p->f);
    p->smooth = lm_alloc(&ctx->mem, p->pairs, sizeof *p->smooth);
    if (!p->x || !p->f || !p->direction || !p->smooth)
        return lm_fail_memory(ctx);
    lm_rng rng = lm_rng_at(ctx->seed, lm_stream_of("gradient"), 0);
    for (size_t i = 0; i < spots; i++)
        p->direction[i] = lm_rng_normal(&rng);
    return even_out(p);
}

static size_t least_of(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Rows must be finite. */
static float moved(float x, double by) {
    return (float)fmax(fmin((double)x + by, (double)FLT_MAX), -(double)FLT_MAX);
}

static limn_status ask(probes *p, size_t pairs) {
    return lm_field_values(p->ctx, p->field, p->x, 2 * pairs, p->f, NULL);
}

/* The points of pair i: x moved by by_j and by -by_j along feature j. */
static void put(probes *p, size_t i, size_t j, float x, double by) {
    p->x[2 * i * p->d + j] = moved(x, by);
    p->x[(2 * i + 1) * p->d + j] = moved(x, -by);
}

static double apart(const probes *p, size_t i, size_t j) {
    return (double)p->x[2 * i * p->d + j] - (double)p->x[(2 * i + 1) * p->d + j];
}

static double difference(const probes *p, size_t i) {
    return p->f[2 * i] - p->f[2 * i + 1];
}

/* ---- along the axes ---- */

static limn_status along_axes(probes *p, const float *x, size_t n, double *gradient) {
    size_t d = p->d;
    limn_status status = LIMN_OK;
    for (size_t first = 0; first < n * d && status == LIMN_OK; first += p->pairs) {
        size_t some = least_of(p->pairs, n * d - first);
        for (size_t i = 0; i < some; i++) {
            size_t point = (first + i) / d, axis = (first + i) % d;
            for (size_t j = 0; j < d; j++)
                put(p, i, j, x[point * d + j], j == axis ? STEP * p->spread[j] : 0);
        }
        status = ask(p, some);
        for (size_t i = 0; i < some && status == LIMN_OK; i++) {
            double step = apart(p, i, (first + i) % d);
            gradient[first + i] = step > 0 ? difference(p, i) / step : 0;
        }
    }
    return status;
}

/* ---- smooth or not ---- */

/* The factor that makes the gradient a step of STEP / SHARE spreads; 0: there is no gradient. */
static double step_along(const probes *p, const double *gradient) {
    double sum = 0;
    for (size_t j = 0; j < p->d; j++)
        sum += gradient[j] * p->spread[j] * gradient[j] * p->spread[j];
    return sum > 0 ? STEP / SHARE / sqrt(sum) : 0;
}

/* Which of n <= pairs points are smooth. */
static limn_status look_closer(probes *p, const float *x, size_t n, const double *gradient) {
    size_t d = p->d;
    for (size_t i = 0; i < n; i++) {
        const double *g = gradient + i * d;
        double step = step_along(p, g);
        for (size_t j = 0; j < d; j++)
            put(p, i, j, x[i * d + j], step * g[j] * p->spread[j] * p->spread[j]);
    }
    limn_status status = ask(p, n);
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        double expected = 0, found = difference(p, i);
        for (size_t j = 0; j < d; j++)
            expected += gradient[i * d + j] * apart(p, i, j);
        p->smooth[i] = expected > 0 && found > expected / 2 && found < expected * 2;
    }
    return status;
}

/* ---- averaged ---- */

static limn_status average(probes *p, const float *x, double ball, double *gradient) {
    size_t d = p->d;
    limn_status status = LIMN_OK;
    memset(gradient, 0, d * sizeof *gradient);
    for (size_t first = 0; first < p->balls && status == LIMN_OK; first += p->pairs) {
        size_t some = least_of(p->pairs, p->balls - first);
        const double *direction = p->direction + first * d;
        for (size_t k = 0; k < some * d; k++)
            put(p, k / d, k % d, x[k % d], ball * p->spread[k % d] * direction[k]);
        status = ask(p, some);
        for (size_t k = 0; k < some * d && status == LIMN_OK; k++) {
            double width = ball * p->spread[k % d];
            if (width > 0)
                gradient[k % d] +=
                    difference(p, k / d) / 2 * direction[k] / width / (double)p->balls;
        }
    }
    return status;
}

static limn_status average_until_found(probes *p, const float *x, double *gradient) {
    limn_status status = LIMN_OK;
    double step = 0;
    for (int b = 0; b < BALLS && step == 0 && status == LIMN_OK; b++) {
        status = average(p, x, radius[b], gradient);
        step = step_along(p, gradient);
    }
    return status;
}

/* ---- both ---- */

static limn_status some_gradients(probes *p, const float *x, size_t n, double *gradient) {
    limn_status status = LIMN_OK;
    memset(p->smooth, 0, n * sizeof *p->smooth);
    if (!p->field->steps)
        status = along_axes(p, x, n, gradient);
    if (!p->field->steps && status == LIMN_OK)
        status = look_closer(p, x, n, gradient);
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        if (!p->smooth[i])
            status = average_until_found(p, x + i * p->d, gradient + i * p->d);
    return status;
}

limn_status lm_field_differences(limn_context *ctx, const lm_field *field, const float *x, size_t n,
                                 double *gradient) {
    probes p;
    size_t d = field->d;
    limn_status status = probes_new(ctx, field, &p);
    for (size_t i = 0; i < n && status == LIMN_OK; i += p.pairs)
        status = some_gradients(&p, x + i * d, least_of(n - i, p.pairs), gradient + i * d);
    probes_free(&p);
    return status;
}
