/* scale_map_slow.h: references for the map of a learned scaling: kernel ridge regression by
 * elimination, gradients by plain loops in double, eigenvectors by Jacobi's rotations; and the rows
 * that maps are fitted to. */
#ifndef LIMN_TESTS_SCALE_MAP_SLOW_H
#define LIMN_TESTS_SCALE_MAP_SLOW_H

#include "num/linalg.h"
#include "scale/gradients.h"
#include "scale/maps.h"
#include "scale/scale.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    counting count;
    limn_context *ctx;
    int blas;
} world;

static inline void world_open(world *w, int threads) {
    memset(w, 0, sizeof *w);
    w->ctx = make_context(&w->count, threads, 3);
    w->blas = lm_blas_single();
}

static inline void world_close(world *w) {
    lm_blas_restore(w->blas);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

/* Cancels at a report; cancel_at 0: never. */
typedef struct listener {
    int warnings, heard, cancel_at;
    char warning[300];
} listener;

static inline int hear_progress(void *user, const limn_progress *progress) {
    listener *l = user;
    (void)progress;
    return ++l->heard == l->cancel_at;
}

static inline double *doubles(size_t n) {
    return calloc(n ? n : 1, sizeof(double));
}

/* Relative to the largest of the expected numbers. */
static inline void assert_near(const double *got, const double *expected, size_t n,
                               double tolerance) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(expected[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - expected[i]) <= tolerance * most))
            fail_msg("%zu of %zu: %.9g instead of %.9g (largest: %.9g)", i, n, got[i], expected[i],
                     most);
}

/* ---- plain algebra ---- */

/* b (count rows of n) <- the solutions of a x = b; a (n x n, any) is destroyed. */
static inline void eliminate(double *a, size_t n, double *b, size_t count) {
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        for (size_t j = 0; j < n; j++) {
            double held = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = held;
        }
        for (size_t c = 0; c < count; c++) {
            double held = b[c * n + k];
            b[c * n + k] = b[c * n + pivot];
            b[c * n + pivot] = held;
        }
        for (size_t i = k + 1; i < n; i++) {
            double by = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++)
                a[i * n + j] -= by * a[k * n + j];
            for (size_t c = 0; c < count; c++)
                b[c * n + i] -= by * b[c * n + k];
        }
    }
    for (size_t c = 0; c < count; c++)
        for (size_t k = n; k-- > 0;) {
            for (size_t j = k + 1; j < n; j++)
                b[c * n + k] -= a[k * n + j] * b[c * n + j];
            b[c * n + k] /= a[k * n + k];
        }
}

/* Jacobi's rotation of the axes p and q. */
static inline void rotate(double *a, double *v, size_t d, size_t p, size_t q) {
    double theta = (a[q * d + q] - a[p * d + p]) / (2 * a[p * d + q]);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t k = 0; k < d; k++) {
        double x = a[k * d + p], y = a[k * d + q], vx = v[k * d + p], vy = v[k * d + q];
        a[k * d + p] = c * x - s * y;
        a[k * d + q] = s * x + c * y;
        v[k * d + p] = c * vx - s * vy;
        v[k * d + q] = s * vx + c * vy;
    }
    for (size_t k = 0; k < d; k++) {
        double x = a[p * d + k], y = a[q * d + k];
        a[p * d + k] = c * x - s * y;
        a[q * d + k] = s * x + c * y;
    }
}

/* The symmetric a becomes diagonal; the columns of v are its eigenvectors. */
static inline void jacobi(double *a, size_t d, double *v) {
    for (size_t i = 0; i < d * d; i++)
        v[i] = i % (d + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0, all = 0;
        for (size_t i = 0; i < d * d; i++) {
            all += a[i] * a[i];
            off += i % (d + 1) ? a[i] * a[i] : 0;
        }
        if (off <= 1e-30 * all)
            return;
        for (size_t p = 0; p < d; p++)
            for (size_t q = p + 1; q < d; q++)
                if (a[p * d + q] != 0)
                    rotate(a, v, d, p, q);
    }
}

/* The symmetric a (positive semi-definite up to rounding) to a power. */
static inline void raise_slowly(double *a, size_t d, double power) {
    double *v = doubles(d * d), *sum = doubles(d * d);
    jacobi(a, d, v);
    for (size_t e = 0; e < d; e++)
        for (size_t i = 0; i < d * d; i++)
            sum[i] += pow(fmax(a[e * d + e], 0), power) * v[i / d * d + e] * v[i % d * d + e];
    memcpy(a, sum, d * d * sizeof *a);
    free(v);
    free(sum);
}

/* out (n x m) = a (n x d) b (d x m), or a times the transpose of b (m x d). */
static inline void times(const double *a, size_t n, const double *b, bool turned, size_t m,
                         size_t d, double *out) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) {
            out[i * m + k] = 0;
            for (size_t j = 0; j < d; j++)
                out[i * m + k] += a[i * d + j] * (turned ? b[k * d + j] : b[j * m + k]);
        }
}

/* ---- the regression, slowly ---- */

typedef struct slow {
    size_t n, d, count;
    double *z, *weight, *distance, *alpha;
    double h;
} slow;

static inline int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void find_width(slow *s) {
    size_t cells = s->n * s->n;
    double *sorted = doubles(cells), sum = 0;
    memcpy(sorted, s->distance, cells * sizeof *sorted);
    qsort(sorted, cells, sizeof *sorted, ascending);
    for (size_t i = 0; i < cells; i++)
        sum += sorted[i];
    s->h = sorted[cells / 2] > 0 ? sorted[cells / 2] : sum / (double)cells;
    free(sorted);
}

static inline void regression_free(lm_regression *r) {
    free((void *)(uintptr_t)r->x);
    free((void *)(uintptr_t)r->y);
}

static inline slow slow_fit(const lm_regression *r, const double *weight) {
    size_t n = r->n, d = r->d;
    slow s = {n, d, r->count, doubles(n * d), doubles(d), doubles(n * n), doubles(r->count * n), 0};
    double *kernel = doubles(n * n);
    for (size_t j = 0; j < d; j++)
        s.weight[j] = weight ? weight[j] : 1;
    for (size_t i = 0; i < n * d; i++)
        s.z[i] = (double)(float)((double)r->x[i] * s.weight[i % d]);
    for (size_t i = 0; i < n * n; i++) {
        for (size_t k = 0; k < d; k++)
            s.distance[i] += pow(s.z[i / n * d + k] - s.z[i % n * d + k], 2);
        s.distance[i] = sqrt(s.distance[i]);
    }
    find_width(&s);
    for (size_t i = 0; i < n * n; i++)
        kernel[i] = exp(-s.distance[i] / s.h) + (i % (n + 1) ? 0 : 0.01);
    memcpy(s.alpha, r->y, r->count * n * sizeof *s.alpha);
    eliminate(kernel, n, s.alpha, r->count);
    free(kernel);
    return s;
}

static inline void slow_free(slow *s) {
    free(s->z);
    free(s->weight);
    free(s->distance);
    free(s->alpha);
}

/* The regression of y number c, without the rows that are at the place of row i. */
static inline double slow_value(const slow *s, size_t c, size_t i, const double *z) {
    double value = 0;
    for (size_t j = 0; j < s->n; j++) {
        double square = 0;
        for (size_t k = 0; k < s->d; k++)
            square += (z[k] - s->z[j * s->d + k]) * (z[k] - s->z[j * s->d + k]);
        if (s->distance[i * s->n + j] >= 1e-9 * s->h)
            value += s->alpha[c * s->n + j] * exp(-sqrt(square) / s->h);
    }
    return value;
}

/* Its gradient at row i, by the features before weighting. */
static inline void slow_gradient(const slow *s, size_t c, size_t i, double *g) {
    memset(g, 0, s->d * sizeof *g);
    for (size_t j = 0; j < s->n; j++) {
        double distance = s->distance[i * s->n + j];
        if (distance < 1e-9 * s->h)
            continue;
        double by = s->alpha[c * s->n + j] * exp(-distance / s->h) / (s->h * distance);
        for (size_t k = 0; k < s->d; k++)
            g[k] += by * (s->z[j * s->d + k] - s->z[i * s->d + k]) * s->weight[k];
    }
}

static inline void slow_products(const lm_regression *r, const double *weight, bool diagonal,
                                 double *m) {
    size_t d = r->d, size = diagonal ? d : d * d, step = diagonal ? 1 : d + 1;
    slow s = slow_fit(r, weight);
    double *g = doubles(d), trace = 0;
    memset(m, 0, size * sizeof *m);
    for (size_t c = 0; c < r->count; c++)
        for (size_t i = 0; i < r->n; i++) {
            slow_gradient(&s, c, i, g);
            for (size_t k = 0; k < size; k++)
                m[k] += diagonal ? g[k] * g[k] : g[k / d] * g[k % d];
        }
    for (size_t k = 0; k < d; k++)
        trace += m[k * step];
    for (size_t k = 0; k < size; k++)
        m[k] *= (double)d / trace;
    slow_free(&s);
    free(g);
}

/* ---- maps, slowly ---- */

typedef struct sample {
    float *x;
    int32_t *label;
    double *target;
    size_t *row;
    lm_scaler_rows rows;
    lm_row_list fit; /* two of three rows, the last ones first */
} sample;

/* classes 0: targets. They depend on the first and the last feature. */
static inline sample sample_make(size_t n, size_t d, size_t classes, double size) {
    lm_rng rng = lm_rng_at(n, d, classes);
    sample s = {calloc(n * d, sizeof *s.x), calloc(n, sizeof *s.label), doubles(n),
                calloc(n, sizeof *s.row),   {.n = n, .d = d},           {.n = 0}};
    for (size_t i = 0; i < n * d; i++)
        s.x[i] = (float)(size * (double)(i % d % 3 + 1) * (lm_rng_normal(&rng) + 1));
    for (size_t i = 0; i < n; i++) {
        double u = (double)s.x[i * d] / size + sin((double)s.x[i * d + d - 1] / size);
        s.target[i] = 3e5 + u + 0.1 * lm_rng_normal(&rng);
        s.label[i] = classes ? (int32_t)((size_t)fabs(floor(u)) % classes) : 0;
        if (i % 3)
            s.row[s.fit.n++] = n - i;
    }
    s.fit.row = s.row;
    s.rows.x = s.x;
    s.rows.label = classes ? s.label : NULL;
    s.rows.classes = classes;
    s.rows.target = classes ? NULL : s.target;
    return s;
}

static inline void sample_free(sample *s) {
    free(s->x);
    free(s->label);
    free(s->target);
    free(s->row);
}

/* The rows named, as the scaler scales them, of mean 0 and mean squared deviation 1 (divided by
 * unit), and what is regressed on. */
typedef struct prepared {
    lm_regression r;
    double *mean, *covariance, unit;
} prepared;

static inline void prepare_y(const sample *s, double *y, size_t *count) {
    size_t n = s->fit.n, columns = s->rows.classes > 2 ? s->rows.classes : 1;
    *count = 0;
    for (size_t c = 0; c < columns; c++) {
        double *at = y + *count * n, sum = 0, most = 0;
        for (size_t i = 0; i < n; i++) {
            size_t row = s->fit.row[i];
            at[i] = s->rows.label ? s->label[row] == (int32_t)c : s->target[row];
            sum += at[i];
        }
        for (size_t i = 0; i < n; i++) {
            at[i] -= sum / (double)n;
            most = fmax(most, fabs(at[i]));
        }
        *count += most > 0; /* no row of this class */
    }
}

static inline prepared prepare(const lm_scaler *scaler, const sample *s) {
    size_t n = s->fit.n, d = scaler->kept;
    float *x = calloc(n * d, sizeof *x);
    double *y = doubles(n * (s->rows.classes + 1));
    prepared p = {{x, n, d, y, 0}, doubles(d), doubles(d * d), 0};
    for (size_t i = 0; i < n; i++)
        lm_scaler_apply(scaler, s->x + s->fit.row[i] * s->rows.d, 1, x + i * d, NULL);
    for (size_t i = 0; i < n * d; i++)
        p.mean[i % d] += (double)x[i] / (double)n;
    for (size_t i = 0; i < n * d; i++)
        p.unit += pow((double)x[i] - p.mean[i % d], 2) / (double)(n * d);
    p.unit = sqrt(p.unit);
    for (size_t i = 0; i < n * d; i++)
        x[i] = (float)(((double)x[i] - p.mean[i % d]) / p.unit);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d * d; k++)
            p.covariance[k] += (double)x[i * d + k / d] * (double)x[i * d + k % d] / (double)n;
    prepare_y(s, y, &p.r.count);
    return p;
}

static inline void prepared_free(prepared *p) {
    regression_free(&p->r);
    free(p->mean);
    free(p->covariance);
}

/* L (d x d) as the head of maps.c has it. */
static inline void slow_candidate(const lm_regression *r, size_t which, double *l) {
    static const int rounds[LM_MAPS] = {0, 1, 2, 4};
    size_t d = r->d;
    double *w = doubles(d), mean = 0;
    for (size_t k = 0; k < d; k++)
        w[k] = 1;
    for (int i = 0; i < rounds[which]; i++) {
        double *next = doubles(d);
        slow_products(r, w, true, next);
        for (size_t k = 0; k < d; k++)
            w[k] = sqrt(next[k]);
        free(next);
    }
    for (size_t k = 0; k < d; k++)
        mean += w[k] * w[k] / (double)d;
    slow_products(r, w, false, l);
    for (size_t i = 0; i < d * d && which != LM_MAP_SOFT; i++)
        l[i] = 0.8 * l[i] + (i % (d + 1) ? 0 : 0.2 * w[i % d] * w[i % d] / mean);
    raise_slowly(l, d, which == LM_MAP_SOFT ? 0.25 : 0.5);
    free(w);
}

/* What a map does to distances: metric = R'R. */
typedef struct bend {
    double *metric, *share, variance;
    size_t out;
} bend;

/* The projection p on the fewest principal axes of covariance that have 99.5 % of the variance. */
static inline void slow_axes(double *covariance, size_t d, double *p, bend *e) {
    double *v = doubles(d * d), total = 0, sum = 0;
    jacobi(covariance, d, v);
    for (size_t k = 0; k < d; k++)
        total += covariance[k * (d + 1)];
    for (e->out = 0; sum < 0.995 * total; e->out++) {
        size_t best = 0;
        for (size_t k = 1; k < d; k++)
            best = covariance[k * (d + 1)] > covariance[best * (d + 1)] ? k : best;
        sum += covariance[best * (d + 1)];
        covariance[best * (d + 1)] = -1;
        for (size_t i = 0; i < d * d; i++)
            p[i] += v[i / d * d + best] * v[i % d * d + best];
    }
    e->variance = sum / total;
    free(v);
}

static inline bend slow_map(const prepared *p, size_t which) {
    size_t d = p->r.d;
    bend e = {doubles(d * d), doubles(d), 1, d};
    double *l = doubles(d * d), *a = doubles(d * d), *b = doubles(d * d), sum = 0, heavy = 0;
    slow_candidate(&p->r, which, l);
    if (d > 32) {
        times(l, d, p->covariance, false, d, d, a);
        times(a, d, l, false, d, d, b);
        memset(a, 0, d * d * sizeof *a);
        slow_axes(b, d, a, &e);
        times(l, d, a, false, d, d, b);
        times(b, d, l, false, d, d, e.metric);
    } else {
        times(l, d, l, false, d, d, e.metric);
    }
    for (size_t i = 0; i < d * d; i++)
        sum += e.metric[i] * p->covariance[i];
    for (size_t k = 0; k < d; k++)
        heavy += e.share[k] = e.metric[k * (d + 1)] * p->covariance[k * (d + 1)];
    for (size_t k = 0; k < d; k++)
        e.share[k] /= heavy;
    for (size_t i = 0; i < d * d; i++)
        e.metric[i] *= (double)e.out / (sum * p->unit * p->unit);
    free(l);
    free(a);
    free(b);
    return e;
}

static inline void bend_free(bend *e) {
    free(e->metric);
    free(e->share);
}

/* ---- rows to regress on ---- */

typedef enum mix {
    APART,
    TWINS,      /* every row twice */
    TWO_PLACES, /* most distances are 0: h is their mean */
    NEAR,       /* two rows at the same place up to 1e-12, one at 1e-6 from them */
    MIXES
} mix;

static inline lm_regression draw(mix kind, size_t n, size_t d, size_t count) {
    lm_rng rng = lm_rng_at(n, d, (uint64_t)kind);
    float *x = calloc(n * d, sizeof *x);
    double *y = doubles(count * n);
    for (size_t i = 0; i < n * d; i++)
        x[i] = (float)lm_rng_normal(&rng);
    for (size_t i = 1; i < n; i++)
        if ((kind == TWINS && i % 2) || (kind == TWO_PLACES && i > 1))
            memcpy(x + i * d, x + (kind == TWINS ? i - 1 : i % 5 == 0) * d, d * sizeof *x);
    for (size_t i = 0; i < 3 * d && kind == NEAR && n > 3; i++)
        x[i] = i < d ? 0 : i < 2 * d ? 1e-12f : 1e-6f;
    for (size_t c = 0; c < count; c++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double u = (double)x[i * d] * (double)(c + 1) + (double)x[i * d + d - 1] / 2;
            sum += y[c * n + i] = sin(u) + 0.2 * lm_rng_normal(&rng);
        }
        for (size_t i = 0; i < n; i++)
            y[c * n + i] -= sum / (double)n;
    }
    return (lm_regression){x, n, d, y, count};
}

/* ---- maps of the library ---- */

static inline double *rows_of(const lm_map *map) {
    float *row = calloc(map->in, sizeof *row);
    double *r = doubles(map->out * map->in);
    for (size_t i = 0; i < map->out; i++) {
        lm_pack_row(&map->rows, i, row);
        for (size_t j = 0; j < map->in; j++)
            r[i * map->in + j] = (double)row[j];
    }
    free(row);
    return r;
}

typedef struct fitted {
    lm_scaler scaler;
    lm_map *maps[LM_MAPS];
} fitted;

static inline fitted fit_maps(world *w, const sample *s, limn_scale kind, unsigned wanted) {
    fitted f;
    assert_int_equal(lm_scaler_fit_columns(w->ctx, kind, false, &s->rows, &f.scaler), LIMN_OK);
    if (lm_maps_fit(w->ctx, &f.scaler, &s->rows, s->fit, wanted, f.maps) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    return f;
}

static inline void fitted_free(world *w, fitted *f) {
    for (size_t i = 0; i < LM_MAPS; i++)
        lm_map_free(&w->ctx->mem, f->maps[i]);
    lm_scaler_free(&w->ctx->mem, &f->scaler);
}

static inline void *spare_of(world *w, const lm_map *map) {
    lm_cursor at = lm_cursor_at(NULL);
    lm_map_scratch(map, &at);
    return lm_alloc_measured(&w->ctx->mem, &at);
}

/* n rows that the scaler has scaled or that are as they are. */
static inline float *mapped(world *w, const lm_map *map, const float *x, size_t n) {
    void *spare = spare_of(w, map);
    float *y = calloc(n * map->out, sizeof *y);
    for (size_t i = 0; i < n; i++)
        lm_map_apply(map, x + i * map->in, y + i * map->out, spare);
    lm_free_aligned(&w->ctx->mem, spare);
    return y;
}

static inline void assert_same_map(const lm_map *a, const lm_map *b) {
    assert_int_equal(a->in, b->in);
    assert_int_equal(a->out, b->out);
    assert_true(a->variance == b->variance);
    assert_memory_equal(a->mean, b->mean, a->in * sizeof *a->mean);
    assert_memory_equal(a->heavy, b->heavy, a->in * sizeof *a->heavy);
    assert_memory_equal(a->rows.data, b->rows.data,
                        a->rows.panels * LM_PANEL * a->in * sizeof(float));
}

/* A map of random rows, the last `copies` of which are sums of the others. */
static inline lm_map *random_map(world *w, size_t in, size_t out, size_t copies, double size) {
    lm_rng rng = lm_rng_at(in, out, copies);
    double *rows = doubles(out * in), *share = doubles(in);
    float *mean = calloc(in, sizeof *mean);
    lm_map *map = NULL;
    for (size_t i = 0; i < out * in; i++)
        rows[i] = size * (double)(float)lm_rng_normal(&rng);
    for (size_t i = (out - copies) * in; i < out * in; i++) {
        rows[i] = 0;
        for (size_t r = 0; r < out - copies; r++)
            rows[i] += rows[r * in + i % in];
    }
    for (size_t j = 0; j < in; j++) {
        mean[j] = (float)(lm_rng_normal(&rng) * 3);
        share[j] = 1 / (double)in;
    }
    assert_int_equal(lm_map_make(w->ctx, rows, mean, share, in, out, &map), LIMN_OK);
    map->variance = 0.75;
    free(rows);
    free(share);
    free(mean);
    return map;
}

/* The part of v that is at a right angle to all rows of r (out x in): by Gram and Schmidt, twice.
 */
static inline void leave_rows(const double *r, size_t out, size_t in, double *v) {
    double *base = doubles(out * in);
    size_t count = 0;
    for (size_t i = 0; i <= out; i++) {
        double *u = base + count * in, before = 0, after = 0;
        if (i == out)
            u = v;
        else
            memcpy(u, r + i * in, in * sizeof *u);
        for (size_t j = 0; j < in; j++)
            before += u[j] * u[j];
        for (size_t k = 0; k < 2 * count; k++) {
            double dot = 0;
            for (size_t j = 0; j < in; j++)
                dot += u[j] * base[k % count * in + j];
            for (size_t j = 0; j < in; j++)
                u[j] -= dot * base[k % count * in + j];
        }
        for (size_t j = 0; j < in; j++)
            after += u[j] * u[j];
        for (size_t j = 0; j < in && i < out; j++)
            u[j] /= sqrt(after);
        count += i < out && after > 1e-10 * before;
    }
    free(base);
}

static inline double mean_variance(const float *y, size_t n, size_t out) {
    double all = 0;
    for (size_t k = 0; k < out; k++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)y[i * out + k] / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += pow((double)y[i * out + k] - sum, 2) / (double)n;
        all += squares / (double)out;
    }
    return all;
}

static inline void check_finite(world *w, const lm_map *map, const float *x, size_t n) {
    for (size_t i = 0; i < map->rows.panels * LM_PANEL * map->in; i++)
        assert_true(isfinite(map->rows.data[i]));
    for (size_t j = 0; j < map->in; j++)
        assert_true(isfinite(map->mean[j]) && map->heavy[j].key <= 0 && map->heavy[j].key >= -1);
    float *y = mapped(w, map, x, n);
    for (size_t i = 0; i < n * map->out; i++)
        assert_true(isfinite(y[i]));
    free(y);
}

/* A scaler of four features, one of which is dropped, with a map to two axes. */
static inline void make_scaler(world *w, lm_scaler *s) {
    const float x[] = {1, 7, -5, 0, 3, 7, 5, 1, 2, 7, 0, 4};
    assert_int_equal(lm_scaler_fit_columns(w->ctx, LIMN_SCALE_ZSCORE, false,
                                           &(lm_scaler_rows){.x = x, .n = 3, .d = 4}, s),
                     LIMN_OK);
    s->learned = true;
    s->map = random_map(w, 3, 2, 0, 1);
    s->out = 2;
}

static inline lm_file *file_of(world *w, lm_writer *writer) {
    unsigned char *bytes = NULL;
    size_t size;
    lm_file *file = NULL;
    assert_int_equal(lm_writer_bytes(writer, &bytes, &size), LIMN_OK);
    lm_writer_free(writer);
    assert_int_equal(lm_file_from_memory(w->ctx, bytes, size, "m", &file), LIMN_OK);
    lm_free(&w->ctx->mem, bytes);
    return file;
}

static inline lm_writer *saved(world *w, const lm_scaler *s) {
    lm_writer *writer = NULL;
    assert_int_equal(lm_writer_new(w->ctx, &writer), LIMN_OK);
    assert_int_equal(lm_scaler_save(w->ctx, s, writer), LIMN_OK);
    return writer;
}

#endif
