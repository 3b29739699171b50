/* maps.c: four ways to turn average gradient outer products (gradients.h) into a map x -> L x.
 *
 *   soft  L = M^(1/4), M on the rows as they are: bends distances only a little
 *   d1f   w = the square roots of M's diagonal, then M on the rows times w, and
 *         L = (.8 M + .2 diag(w^2) / mean(w^2))^(1/2)
 *   d2f, d4f  the same with w from two or four rounds, each on the rows times the last w
 *
 * Rows are centred and divided by one number. With more than 32 features, L is followed by a
 * rotation to principal axes, of which those with 99.5 % of the variance are kept. The result is
 * divided by the root of the mean variance of what it makes. */
#include "scale/maps.h"

#include "num/linalg.h"
#include "scale/gradients.h"
#include "scale/scale.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FEW_FEATURES = 32 /* all axes are kept */ };
#define KEPT_VARIANCE 0.995
#define FULL_SHARE 0.8

typedef struct fitting {
    size_t n, d;
    float *x, *mean;    /* n x d, d */
    double unit;        /* that the rows were divided by */
    double *y;          /* regression.count x n */
    double *covariance; /* d x d */
    lm_regression regression;
    double *l, *spare, *axes;   /* d x d */
    double *lambda, *w, *share; /* d */
} fitting;

/* ---- the rows ---- */

static limn_status scale_rows(limn_context *ctx, const lm_scaler *scaler,
                              const lm_scaler_rows *rows, lm_row_list fit, fitting *f) {
    for (size_t i = 0; i < fit.n; i++)
        lm_scaler_apply(scaler, rows->x + fit.row[i] * rows->d, 1, f->x + i * f->d, NULL);
    return lm_progress(ctx, "learning a map", 0, 0, -1);
}

/* Takes off the mean, and divides by the root of the mean squared deviation. */
static void standardise(fitting *f) {
    size_t n = f->n, d = f->d;
    double squares = 0;
    for (size_t j = 0; j < d; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)f->x[i * d + j] / (double)n;
        f->mean[j] = (float)sum;
        for (size_t i = 0; i < n; i++) {
            double by = (double)f->x[i * d + j] - (double)f->mean[j];
            squares += by * by / (double)(n * d);
        }
    }
    f->unit = sqrt(squares);
    for (size_t i = 0; i < n * d && f->unit > 0; i++)
        f->x[i] = (float)(((double)f->x[i] - (double)f->mean[i % d]) / f->unit);
}

/* As many rows at once as there is spare memory for. */
static void find_covariance(fitting *f) {
    size_t n = f->n, d = f->d;
    memset(f->covariance, 0, d * d * sizeof *f->covariance);
    for (size_t i = 0; i < n; i += d) {
        size_t some = n - i < d ? n - i : d;
        for (size_t k = 0; k < some * d; k++)
            f->spare[k] = (double)f->x[i * d + k] / sqrt((double)n);
        lm_add_outer(f->covariance, d, f->spare, some);
    }
    lm_mirror(f->covariance, d);
}

/* ---- what is regressed on ---- */

/* The classes that are there, as columns; of two, one column says it all. */
static limn_status add_classes(limn_context *ctx, const lm_scaler_rows *rows, lm_row_list fit,
                               fitting *f) {
    size_t present = 0, cells;
    size_t *count = lm_alloc_zero(&ctx->mem, rows->classes, sizeof *count);
    if (!count)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < fit.n; i++)
        present += count[rows->label[fit.row[i]]]++ == 0;
    f->y = lm_mul(present, fit.n, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *f->y) : NULL;
    for (size_t c = 0, at = 0; c < rows->classes && f->y; c++) {
        if (!count[c] || (present == 2 && at == 1))
            continue;
        for (size_t i = 0; i < fit.n; i++)
            f->y[at * fit.n + i] =
                (rows->label[fit.row[i]] == (int32_t)c) - (double)count[c] / (double)fit.n;
        f->regression.count = ++at;
    }
    if (present < 2)
        f->regression.count = 0;
    lm_free(&ctx->mem, count);
    return f->y ? LIMN_OK : lm_fail_memory(ctx);
}

/* Divided first by the largest, so that no sum overflows. */
static limn_status add_targets(limn_context *ctx, const lm_scaler_rows *rows, lm_row_list fit,
                               fitting *f) {
    double largest = 0, mean = 0;
    f->y = lm_alloc(&ctx->mem, fit.n, sizeof *f->y);
    if (!f->y)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < fit.n; i++)
        largest = fmax(largest, fabs(rows->target[fit.row[i]]));
    for (size_t i = 0; i < fit.n; i++) {
        f->y[i] = largest > 0 ? rows->target[fit.row[i]] / largest : 0;
        mean += f->y[i] / (double)fit.n;
        if (f->y[i] != f->y[0])
            f->regression.count = 1;
    }
    for (size_t i = 0; i < fit.n; i++)
        f->y[i] -= mean;
    return LIMN_OK;
}

/* ---- maps ---- */

/* a (symmetric, d x d) <- its power, with eigenvalues below 0 taken as 0. */
static limn_status raise(limn_context *ctx, double *a, double power, fitting *f) {
    size_t d = f->d;
    limn_status status = lm_eigen(ctx, a, d, f->lambda);
    if (status != LIMN_OK)
        return status;
    memcpy(f->spare, a, d * d * sizeof *a);
    memset(a, 0, d * d * sizeof *a);
    for (size_t e = 0; e < d; e++)
        for (size_t j = 0; j < d; j++)
            f->spare[e * d + j] *= pow(fmax(f->lambda[e], 0), power / 2);
    lm_add_outer(a, d, f->spare, d);
    lm_mirror(a, d);
    return LIMN_OK;
}

/* The axes of the rows times L, as the last rows of f->axes: how many are kept. */
static limn_status find_axes(limn_context *ctx, fitting *f, size_t *kept, double *share) {
    size_t d = f->d;
    double total = 0, sum = 0;
    lm_row_products(f->l, d, f->covariance, d, d, f->spare);
    lm_row_products(f->spare, d, f->l, d, d, f->axes);
    limn_status status = lm_eigen(ctx, f->axes, d, f->lambda);
    for (size_t e = 0; e < d && status == LIMN_OK; e++)
        total += fmax(f->lambda[e], 0);
    *kept = 0;
    while (status == LIMN_OK && *kept < d && !(sum >= KEPT_VARIANCE * total && *kept > 0))
        sum += fmax(f->lambda[d - ++*kept], 0);
    *share = total > 0 ? fmin(sum / total, 1) : 1;
    return status;
}

/* Divides the rows of the map, so that what it makes has variance 1 on average; the share of each
 * feature in the squared distances. False: everything is mapped to one point, or the numbers are so
 * small that the map would not fit floats. */
static bool finish_rows(fitting *f, double *rows, size_t out) {
    size_t d = f->d;
    double sum = 0, heavy = 0;
    lm_row_products(rows, out, f->covariance, d, d, f->spare);
    for (size_t i = 0; i < out * d; i++)
        sum += f->spare[i] * rows[i];
    double unit = sqrt(sum / (double)out);
    if (!(unit > 0) || !isfinite(unit) || !isfinite(1 / (unit * f->unit)))
        return false;
    for (size_t j = 0; j < d; j++) {
        f->share[j] = 0;
        for (size_t r = 0; r < out; r++)
            f->share[j] += rows[r * d + j] * rows[r * d + j] * f->covariance[j * d + j];
        heavy += f->share[j];
    }
    for (size_t j = 0; j < d; j++)
        f->share[j] = fmin(f->share[j] / heavy, 1);
    bool fits = true;
    for (size_t i = 0; i < out * d; i++) {
        rows[i] /= unit * f->unit;
        fits = fits && fabs(rows[i]) <= (double)FLT_MAX;
    }
    return fits;
}

/* The map of f->l. */
static limn_status make_map(limn_context *ctx, fitting *f, lm_map **map) {
    size_t d = f->d, out = d;
    double variance = 1;
    limn_status status = LIMN_OK;
    if (d > FEW_FEATURES)
        status = find_axes(ctx, f, &out, &variance);
    if (status != LIMN_OK)
        return status;
    if (d > FEW_FEATURES) {
        lm_row_products(f->axes + (d - out) * d, out, f->l, d, d, f->spare);
        memcpy(f->axes, f->spare, out * d * sizeof *f->axes);
    } else {
        memcpy(f->axes, f->l, d * d * sizeof *f->axes);
    }
    if (!finish_rows(f, f->axes, out))
        return LIMN_OK;
    status = lm_map_make(ctx, f->axes, f->mean, f->share, d, out, map);
    if (status == LIMN_OK)
        (*map)->variance = variance;
    return status;
}

static limn_status make_soft(limn_context *ctx, fitting *f, lm_map **map) {
    limn_status status = lm_gradients(ctx, &f->regression, NULL, false, f->l);
    if (status == LIMN_OK)
        status = raise(ctx, f->l, 0.25, f);
    return status == LIMN_OK ? make_map(ctx, f, map) : status;
}

/* The map of the weights as they are. */
static limn_status make_weighted(limn_context *ctx, fitting *f, lm_map **map) {
    size_t d = f->d;
    double mean = 0;
    limn_status status = lm_gradients(ctx, &f->regression, f->w, false, f->l);
    for (size_t j = 0; j < d; j++)
        mean += f->w[j] * f->w[j] / (double)d;
    for (size_t i = 0; i < d * d && status == LIMN_OK; i++)
        f->l[i] *= FULL_SHARE;
    for (size_t j = 0; j < d && status == LIMN_OK && mean > 0; j++)
        f->l[j * (d + 1)] += (1 - FULL_SHARE) * f->w[j] * f->w[j] / mean;
    if (status == LIMN_OK)
        status = raise(ctx, f->l, 0.5, f);
    return status == LIMN_OK ? make_map(ctx, f, map) : status;
}

static limn_status renew_weights(limn_context *ctx, fitting *f) {
    limn_status status = lm_gradients(ctx, &f->regression, f->w, true, f->share);
    for (size_t j = 0; j < f->d && status == LIMN_OK; j++)
        f->w[j] = sqrt(f->share[j]);
    return status;
}

static limn_status make_all(limn_context *ctx, unsigned wanted, fitting *f, lm_map *maps[LM_MAPS]) {
    static const size_t rounds[LM_MAPS] = {0, 1, 2, 4};
    limn_status status = LIMN_OK;
    if (wanted & 1u << LM_MAP_SOFT)
        status = make_soft(ctx, f, &maps[LM_MAP_SOFT]);
    for (size_t j = 0; j < f->d; j++)
        f->w[j] = 1;
    for (size_t i = LM_MAP_D1F, round = 0; i < LM_MAPS && status == LIMN_OK; i++) {
        if (wanted >> i == 0)
            break;
        for (; round < rounds[i] && status == LIMN_OK; round++)
            status = renew_weights(ctx, f);
        if (status == LIMN_OK && wanted >> i & 1)
            status = make_weighted(ctx, f, &maps[i]);
    }
    return status;
}

static limn_status take_memory(limn_context *ctx, fitting *f) {
    size_t cells, square, d = f->d;
    if (!lm_mul(f->n, d, &cells) || !lm_mul(d, d, &square))
        return lm_fail_memory(ctx);
    f->x = lm_alloc(&ctx->mem, cells, sizeof *f->x);
    f->mean = lm_alloc(&ctx->mem, d, sizeof *f->mean);
    f->covariance = lm_alloc(&ctx->mem, square, sizeof *f->covariance);
    f->l = lm_alloc(&ctx->mem, square, sizeof *f->l);
    f->spare = lm_alloc(&ctx->mem, square, sizeof *f->spare);
    f->axes = lm_alloc(&ctx->mem, square, sizeof *f->axes);
    f->lambda = lm_alloc(&ctx->mem, d, 3 * sizeof *f->lambda);
    if (!(f->x && f->mean && f->covariance && f->l && f->spare && f->axes && f->lambda))
        return lm_fail_memory(ctx);
    f->w = f->lambda + d;
    f->share = f->w + d;
    return LIMN_OK;
}

static void free_memory(const limn_allocator *mem, fitting *f) {
    lm_free(mem, f->x);
    lm_free(mem, f->mean);
    lm_free(mem, f->y);
    lm_free(mem, f->covariance);
    lm_free(mem, f->l);
    lm_free(mem, f->spare);
    lm_free(mem, f->axes);
    lm_free(mem, f->lambda);
}

limn_status lm_maps_fit(limn_context *ctx, const lm_scaler *scaler, const lm_scaler_rows *rows,
                        lm_row_list fit, unsigned wanted, lm_map *maps[LM_MAPS]) {
    fitting f = {.n = fit.n, .d = scaler->kept};
    memset(maps, 0, LM_MAPS * sizeof *maps);
    limn_status status = take_memory(ctx, &f);
    if (status == LIMN_OK)
        status = scale_rows(ctx, scaler, rows, fit, &f);
    if (status == LIMN_OK)
        status = rows->label ? add_classes(ctx, rows, fit, &f) : add_targets(ctx, rows, fit, &f);
    if (status == LIMN_OK) {
        standardise(&f);
        find_covariance(&f);
    }
    f.regression.x = f.x;
    f.regression.n = f.n;
    f.regression.d = f.d;
    f.regression.y = f.y;
    if (status == LIMN_OK && f.unit > 0 && isfinite(f.unit) && f.regression.count)
        status = make_all(ctx, wanted, &f, maps);
    free_memory(&ctx->mem, &f);
    return status;
}
