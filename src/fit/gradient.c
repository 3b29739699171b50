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
enum { SHARE = 8, BALLS = 3, MOST_ROWS = 4096, MOST_DIRECTIONS = 1024, MOST_EVEN = 64 };
static const double radius[BALLS] = {0.1, 0.3, 1};

/* Points around points, evaluated together. */
typedef struct probes {
    limn_context *ctx;
    const lm_field *field;
    size_t d, balls; /* balls: directions of the average */
    float *x;
    double *f;
    double *direction; /* balls x d, standard normal, evened out */
} probes;

static void probes_free(probes *p) {
    lm_free(&p->ctx->mem, p->x);
    lm_free(&p->ctx->mem, p->f);
    lm_free(&p->ctx->mem, p->direction);
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

static limn_status probes_new(limn_context *ctx, const lm_field *field, probes *p) {
    size_t d = field->d, cells = 0, spots = 0;
    *p = (probes){.ctx = ctx, .field = field, .d = d, .balls = d > 8 ? 8 * d : 64};
    p->balls = p->balls < MOST_DIRECTIONS ? p->balls : MOST_DIRECTIONS;
    size_t most = 2 * d > MOST_ROWS ? 2 * d : MOST_ROWS;
    if (lm_mul(most, d, &cells) && lm_mul(p->balls, d, &spots)) {
        p->x = lm_alloc(&ctx->mem, cells, sizeof *p->x);
        p->f = lm_alloc(&ctx->mem, most, sizeof *p->f);
        p->direction = lm_alloc(&ctx->mem, spots, sizeof *p->direction);
    }
    if (!p->x || !p->f || !p->direction)
        return lm_fail_memory(ctx);
    lm_rng rng = lm_rng_at(ctx->seed, lm_stream_of("gradient"), 0);
    for (size_t i = 0; i < spots; i++)
        p->direction[i] = lm_rng_normal(&rng);
    return even_out(p);
}

/* Rows must be finite. */
static float moved(float x, double by) {
    return (float)fmax(fmin((double)x + by, (double)FLT_MAX), -(double)FLT_MAX);
}

/* ---- along the axes ---- */

static limn_status along_axes(probes *p, const float *x, size_t n, double *gradient) {
    size_t d = p->d, at = 0;
    const double *spread = p->field->spread;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < 2 * d; j++, at++) {
            float *point = p->x + at * d;
            memcpy(point, x + i * d, d * sizeof *point);
            point[j / 2] = moved(point[j / 2], (j % 2 ? -STEP : STEP) * spread[j / 2]);
        }
    limn_status status = lm_field_values(p->ctx, p->field, p->x, at, p->f, NULL);
    for (size_t k = 0; k < n * d && status == LIMN_OK; k++) {
        double up = (double)p->x[2 * k * d + k % d], down = (double)p->x[(2 * k + 1) * d + k % d];
        gradient[k] = up > down ? (p->f[2 * k] - p->f[2 * k + 1]) / (up - down) : 0;
    }
    return status;
}

/* ---- smooth or not ---- */

/* The step along the gradient that changes it by STEP in units of the spread; 0: no gradient. */
static double step_along(const probes *p, const double *gradient) {
    double sum = 0;
    for (size_t j = 0; j < p->d; j++)
        sum += gradient[j] * p->field->spread[j] * gradient[j] * p->field->spread[j];
    return sum > 0 ? STEP / SHARE / sqrt(sum) : 0;
}

/* Which of n points are smooth. Steps are taken in units of the spread. */
static limn_status look_closer(probes *p, const float *x, size_t n, const double *gradient,
                               bool *smooth) {
    size_t d = p->d;
    const double *spread = p->field->spread;
    for (size_t i = 0; i < n; i++) {
        const double *g = gradient + i * d;
        double step = step_along(p, g);
        for (size_t j = 0; j < d; j++) {
            double by = step * g[j] * spread[j] * spread[j];
            p->x[2 * i * d + j] = moved(x[i * d + j], by);
            p->x[(2 * i + 1) * d + j] = moved(x[i * d + j], -by);
        }
    }
    limn_status status = lm_field_values(p->ctx, p->field, p->x, 2 * n, p->f, NULL);
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        double expected = 0, found = p->f[2 * i] - p->f[2 * i + 1];
        for (size_t j = 0; j < d; j++)
            expected += gradient[i * d + j] *
                        ((double)p->x[2 * i * d + j] - (double)p->x[(2 * i + 1) * d + j]);
        smooth[i] = expected > 0 && found > expected / 2 && found < expected * 2;
    }
    return status;
}

/* ---- averaged ---- */

static limn_status average(probes *p, const float *x, double ball, double *gradient) {
    size_t d = p->d;
    const double *spread = p->field->spread;
    for (size_t k = 0; k < 2 * p->balls * d; k++) {
        double z = ball * spread[k % d] * p->direction[k / (2 * d) * d + k % d];
        p->x[k] = moved(x[k % d], k / d % 2 ? -z : z);
    }
    limn_status status = lm_field_values(p->ctx, p->field, p->x, 2 * p->balls, p->f, NULL);
    memset(gradient, 0, d * sizeof *gradient);
    for (size_t k = 0; k < p->balls * d && status == LIMN_OK; k++) {
        double half = (p->f[k / d * 2] - p->f[k / d * 2 + 1]) / 2, width = ball * spread[k % d];
        if (width > 0)
            gradient[k % d] += half * p->direction[k] / width / (double)p->balls;
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

static limn_status some_gradients(probes *p, const float *x, size_t n, double *gradient,
                                  bool *smooth) {
    limn_status status = LIMN_OK;
    memset(smooth, 0, n * sizeof *smooth);
    if (!p->field->steps)
        status = along_axes(p, x, n, gradient);
    if (!p->field->steps && status == LIMN_OK)
        status = look_closer(p, x, n, gradient, smooth);
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        if (!smooth[i])
            status = average_until_found(p, x + i * p->d, gradient + i * p->d);
    return status;
}

limn_status lm_field_differences(limn_context *ctx, const lm_field *field, const float *x, size_t n,
                                 double *gradient) {
    probes p;
    size_t d = field->d, together = MOST_ROWS / (2 * d) ? MOST_ROWS / (2 * d) : 1;
    bool *smooth = lm_alloc(&ctx->mem, together, sizeof *smooth);
    limn_status status = probes_new(ctx, field, &p);
    if (!smooth)
        status = lm_fail_memory(ctx);
    for (size_t i = 0; i < n && status == LIMN_OK; i += together) {
        size_t some = n - i < together ? n - i : together;
        status = some_gradients(&p, x + i * d, some, gradient + i * d, smooth);
    }
    lm_free(&ctx->mem, smooth);
    probes_free(&p);
    return status;
}
