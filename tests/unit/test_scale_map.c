/* test_scale_map.c: the map of a learned scaling. Gradient outer products (gradients.c) and the
 * maps made of them (maps.c) against references that solve by elimination, sum by plain loops in
 * double and find eigenvectors by Jacobi's rotations; applying, undoing, copying, saving and loading
 * a map (map.c); damaged files; failed allocations. Also for TSan. */
#include "num/linalg.h"
#include "reseal.h"
#include "scale/gradients.h"
#include "scale/maps.h"
#include "scale/scale.h"
#include "support.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    counting count;
    limn_context *ctx;
    int blas;
} world;

static void world_open(world *w, int threads) {
    memset(w, 0, sizeof *w);
    w->ctx = make_context(&w->count, threads, 3);
    w->blas = lm_blas_single();
}

static void world_close(world *w) {
    lm_blas_restore(w->blas);
    limn_context_free(w->ctx);
    assert_int_equal(w->count.live, 0);
}

static double *doubles(size_t n) {
    return calloc(n ? n : 1, sizeof(double));
}

/* Relative to the largest of the expected numbers. */
static void assert_near(const double *got, const double *expected, size_t n, double tolerance) {
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
static void eliminate(double *a, size_t n, double *b, size_t count) {
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
static void rotate(double *a, double *v, size_t d, size_t p, size_t q) {
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
static void jacobi(double *a, size_t d, double *v) {
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
static void raise_slowly(double *a, size_t d, double power) {
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
static void times(const double *a, size_t n, const double *b, bool turned, size_t m, size_t d,
                  double *out) {
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

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_width(slow *s) {
    size_t cells = s->n * s->n;
    double *sorted = doubles(cells), sum = 0;
    memcpy(sorted, s->distance, cells * sizeof *sorted);
    qsort(sorted, cells, sizeof *sorted, ascending);
    for (size_t i = 0; i < cells; i++)
        sum += sorted[i];
    s->h = sorted[cells / 2] > 0 ? sorted[cells / 2] : sum / (double)cells;
    free(sorted);
}

static slow slow_fit(const lm_regression *r, const double *weight) {
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

static void slow_free(slow *s) {
    free(s->z);
    free(s->weight);
    free(s->distance);
    free(s->alpha);
}

/* The regression of y number c, without the rows that are at the place of row i. */
static double slow_value(const slow *s, size_t c, size_t i, const double *z) {
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
static void slow_gradient(const slow *s, size_t c, size_t i, double *g) {
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

static void slow_products(const lm_regression *r, const double *weight, bool diagonal, double *m) {
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

/* ---- gradients ---- */

typedef enum mix {
    APART,
    TWINS,      /* every row twice */
    TWO_PLACES, /* most distances are 0: h is their mean */
    NEAR,       /* two rows at the same place up to 1e-12, one at 1e-6 from them */
    MIXES
} mix;

static lm_regression draw(mix kind, size_t n, size_t d, size_t count) {
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

static void draw_free(lm_regression *r) {
    free((void *)(uintptr_t)r->x);
    free((void *)(uintptr_t)r->y);
}

/* The second of them is left out altogether. */
static void set_weights(double *weight, size_t d) {
    for (size_t k = 0; k < d; k++)
        weight[k] = k == 1 ? 0 : 0.3 + (double)(k % 4);
}

static void check_trace(const double *m, size_t d, bool diagonal) {
    double trace = 0;
    for (size_t k = 0; k < d; k++)
        trace += m[diagonal ? k : k * (d + 1)];
    assert_true(fabs(trace / (double)d - 1) < 1e-12);
    for (size_t i = 0; i < d * d && !diagonal; i++)
        assert_true(m[i] == m[i % d * d + i / d]);
}

static void check_products(world *w, mix kind, size_t n, size_t d, size_t count) {
    lm_regression r = draw(kind, n, d, count);
    double *m = doubles(d * d), *expected = doubles(d * d), *weight = doubles(d);
    set_weights(weight, d);
    for (int i = 0; i < 4; i++) {
        const double *by = i / 2 ? weight : NULL;
        assert_int_equal(lm_gradients(w->ctx, &r, by, i % 2, m), LIMN_OK);
        slow_products(&r, by, i % 2, expected);
        assert_near(m, expected, i % 2 ? d : d * d, 2e-5);
        check_trace(m, d, i % 2);
    }
    draw_free(&r);
    free(m);
    free(expected);
    free(weight);
}

static void test_gradient_products_equal_plain_loops(void **state) {
    static const size_t sizes[][3] = {/* rows, features, y */
                                      {70, 3, 1}, {45, 7, 3}, {23, 1, 2}, {30, 40, 1},
                                      {5, 2, 2},  {3, 4, 1},  {2, 2, 1}};
    (void)state;
    world w;
    world_open(&w, 2);
    for (mix kind = 0; kind < MIXES; kind++)
        for (size_t i = 0; i < LM_COUNT(sizes); i++)
            if (kind == APART || sizes[i][0] > 4)
                check_products(&w, kind, sizes[i][0], sizes[i][1], sizes[i][2]);
    world_close(&w);
}

/* Of what the reference above sums, at every row: central differences of the regression without the
 * row's own term, which has a kink there. */
static void test_the_gradients_summed_are_those_of_the_regression(void **state) {
    enum { D = 3 };
    const double step = 1e-5, weight[D] = {0.5, 1, 2};
    (void)state;
    lm_regression r = draw(APART, 40, D, 2);
    for (int weighted = 0; weighted < 2; weighted++) {
        slow s = slow_fit(&r, weighted ? weight : NULL);
        for (size_t c = 0; c < s.count; c++)
            for (size_t i = 0; i < s.n; i++) {
                double g[D], expected[D], z[D];
                slow_gradient(&s, c, i, g);
                for (size_t k = 0; k < D; k++) {
                    memcpy(z, s.z + i * D, sizeof z);
                    z[k] = s.z[i * D + k] + step * s.weight[k];
                    expected[k] = slow_value(&s, c, i, z);
                    z[k] = s.z[i * D + k] - step * s.weight[k];
                    expected[k] = (expected[k] - slow_value(&s, c, i, z)) / (2 * step);
                }
                assert_near(g, expected, D, 1e-6);
            }
        slow_free(&s);
    }
    draw_free(&r);
}

static void test_equal_rows_and_weights_or_targets_of_0_give_zeros(void **state) {
    enum { N = 21, D = 3 };
    const double none[D] = {0};
    double m[D * D], y[N] = {0};
    (void)state;
    world w;
    world_open(&w, 1);
    lm_regression r = draw(APART, N, D, 1), flat = r, equal = r;
    float *same = calloc(N * D, sizeof *same);
    flat.y = y;
    for (size_t i = 0; i < N * D; i++)
        same[i] = 0.1f * (float)(i % D);
    equal.x = same;
    for (int i = 0; i < 8; i++) {
        size_t size = i % 2 ? D : D * D;
        const lm_regression *of = i < 4 ? &r : i < 6 ? &flat : &equal;
        memset(m, 0x55, sizeof m);
        if (i < 2)
            continue;
        assert_int_equal(lm_gradients(w.ctx, of, i < 4 ? none : NULL, i % 2, m), LIMN_OK);
        for (size_t k = 0; k < size; k++)
            assert_true(m[k] == 0);
    }
    free(same);
    draw_free(&r);
    world_close(&w);
}

static void test_gradient_products_do_not_depend_on_threads(void **state) {
    enum { D = 6 };
    (void)state;
    for (size_t n = 2; n < 120; n += 39) {
        double m[4][D * D] = {{0}};
        lm_regression r = draw(APART, n, D, 2);
        for (int threads = 1; threads <= 3; threads++) {
            world w;
            world_open(&w, threads);
            assert_int_equal(lm_gradients(w.ctx, &r, NULL, false, m[threads]), LIMN_OK);
            assert_memory_equal(m[threads], m[1], sizeof m[1]);
            world_close(&w);
        }
        draw_free(&r);
    }
}

/* ---- maps, slowly ---- */

typedef struct sample {
    lm_scaler_rows rows;
    lm_row_list fit; /* two of three rows, the last ones first */
} sample;

/* classes 0: targets. Labels say something about the first two features. */
static sample sample_make(size_t n, size_t d, size_t classes, double size) {
    lm_rng rng = lm_rng_at(n, d, classes);
    float *x = calloc(n * d, sizeof *x);
    int32_t *label = calloc(n, sizeof *label);
    double *target = doubles(n);
    size_t *row = calloc(n, sizeof *row), fit = 0;
    for (size_t i = 0; i < n * d; i++)
        x[i] = (float)(size * (double)(i % d % 3 + 1) * (lm_rng_normal(&rng) + 1));
    for (size_t i = 0; i < n; i++) {
        double u = (double)x[i * d] / size + sin((double)x[i * d + d - 1] / size);
        target[i] = 3e5 + u + 0.1 * lm_rng_normal(&rng);
        label[i] = classes ? (int32_t)((size_t)fabs(floor(u)) % classes) : 0;
        if (i % 3)
            row[fit++] = n - i;
    }
    return (sample){
        {x, n, d, classes ? label : NULL, classes, classes ? free(target), NULL : target},
        {row, fit}};
}

static void sample_free(sample *s) {
    free((void *)(uintptr_t)s->rows.x);
    free((void *)(uintptr_t)s->rows.label);
    free((void *)(uintptr_t)s->rows.target);
    free((void *)(uintptr_t)s->fit.row);
}
