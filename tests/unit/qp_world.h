/* qp_world.h: programs of every kind, and independent results for them: values and gaps from
 * their definitions in long double, the minimum by trying every set of free weights, and by
 * projected gradients. */
#ifndef LIMN_TESTS_QP_WORLD_H
#define LIMN_TESTS_QP_WORLD_H

#include "num/qp/qp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum cloud {
    CLOUD_NORMAL,
    CLOUD_FLAT,       /* of rank 2 */
    CLOUD_DUPLICATES, /* three points, repeated */
    CLOUD_LINE,
    CLOUD_EQUAL,
    CLOUD_ZERO,
    CLOUD_GRID, /* small integers: ties everywhere */
    CLOUD_NEAR, /* two points, each with neighbours at 1e-7 */
    CLOUD_COUNT
} cloud;

typedef enum aim {
    AIM_INSIDE,
    AIM_NEAR,
    AIM_FAR,
    AIM_SPHERE, /* q = diag(G)/2 */
    AIM_ANY,    /* q does not come from a query */
    AIM_COUNT
} aim;

typedef struct program {
    int shape, kind; /* cloud, aim */
    size_t n, p;
    double bound; /* 1: none */
    double *x;    /* n x p */
    double *q;
    double *diagonal, *room, *cells;
    double constant; /* half the squared length of the query; -1: no query */
    double top;      /* max G_ii */
    lm_qp_rows rows;
    lm_qp_matrix matrix;
} program;

static inline double cloud_value(cloud kind, size_t i, size_t j, const double *base, lm_rng *rng) {
    switch (kind) {
    case CLOUD_FLAT:
        return sin((double)(i * 3)) * base[j] + cos((double)(i * 7)) * base[j + 1];
    case CLOUD_DUPLICATES:
        return base[j + i % 3];
    case CLOUD_LINE:
        return (double)((i * 5) % 7) * base[j] - 2;
    case CLOUD_EQUAL:
        return base[j];
    case CLOUD_ZERO:
        return 0;
    case CLOUD_GRID:
        return (double)lm_rng_below(rng, 3) - 1;
    case CLOUD_NEAR:
        return base[j + i % 2] + 1e-7 * lm_rng_normal(rng);
    default:
        return lm_rng_normal(rng);
    }
}

static inline void fill_q(program *w, aim kind, double scale, lm_rng *rng) {
    double query[64];
    static const double reach[] = {0.1, 1, 30};
    w->constant = 0;
    for (size_t j = 0; j < w->p && kind <= AIM_FAR; j++) {
        query[j] = scale * reach[kind] * lm_rng_normal(rng);
        w->constant += query[j] * query[j] / 2;
    }
    for (size_t i = 0; i < w->n; i++) {
        w->q[i] = kind == AIM_SPHERE ? w->diagonal[i] / 2 : scale * scale * lm_rng_normal(rng);
        if (kind <= AIM_FAR) {
            w->q[i] = 0;
            for (size_t j = 0; j < w->p; j++)
                w->q[i] += w->x[i * w->p + j] * query[j];
        }
    }
    if (kind > AIM_FAR)
        w->constant = -1;
}

/* p <= 60 */
static inline program program_make(cloud shape, aim kind, size_t n, size_t p, double bound,
                                   double scale, uint64_t seed) {
    program w = {.shape = (int)shape, .kind = (int)kind, .n = n, .p = p, .bound = bound};
    lm_rng rng = lm_rng_at(seed, 77, n * 64 + p);
    double base[64];
    for (size_t j = 0; j < 64; j++)
        base[j] = lm_rng_normal(&rng);
    w.x = calloc(n * p, sizeof(double));
    w.q = calloc(n, sizeof(double));
    w.diagonal = calloc(n, sizeof(double));
    w.room = calloc(p, sizeof(double));
    w.cells = calloc(n * n, sizeof(double));
    for (size_t i = 0; i < n * p; i++)
        w.x[i] = scale * cloud_value(shape, i / p, i % p, base, &rng);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < p; j++)
                w.cells[i * n + k] += w.x[i * p + j] * w.x[k * p + j];
    w.rows = (lm_qp_rows){w.x, n, p, w.room};
    w.matrix = (lm_qp_matrix){w.cells, n};
    lm_qp_rows_diagonal(&w.rows, w.diagonal);
    for (size_t i = 0; i < n; i++)
        w.top = fmax(w.top, w.diagonal[i]);
    fill_q(&w, kind, scale, &rng);
    return w;
}

static inline void program_free(program *w) {
    free(w->x);
    free(w->q);
    free(w->diagonal);
    free(w->room);
    free(w->cells);
}

/* ---- by definition ---- */

/* g = Ga - q from the rows. */
static inline void gradient_of(const program *w, const double *a, long double *g) {
    long double centre[64] = {0};
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < w->p; j++)
            centre[j] += (long double)a[i] * w->x[i * w->p + j];
    for (size_t i = 0; i < w->n; i++) {
        g[i] = -(long double)w->q[i];
        for (size_t j = 0; j < w->p; j++)
            g[i] += centre[j] * w->x[i * w->p + j];
    }
}

static inline int by_size(const void *a, const void *b) {
    long double u = *(const long double *)a, v = *(const long double *)b;
    return (u > v) - (u < v);
}

typedef struct merit {
    long double value, gap;
} merit;

static inline merit merit_of(const program *w, const double *a) {
    long double *g = calloc(w->n, sizeof *g), left = 1;
    merit m = {0, 0};
    gradient_of(w, a, g);
    for (size_t i = 0; i < w->n; i++) {
        m.value += a[i] * (g[i] - (long double)w->q[i]) / 2;
        m.gap += a[i] * g[i];
    }
    qsort(g, w->n, sizeof *g, by_size);
    for (size_t i = 0; i < w->n && left > 0; i++) {
        long double part = w->bound < left ? (long double)w->bound : left;
        m.gap -= part * g[i];
        left -= part;
    }
    free(g);
    return m;
}

/* ---- by trying all ---- */

enum { TRIED_MAX = 8 };

/* Solves the k x k system m (by rows, k + 1 columns); false where it is singular. */
static inline bool eliminate(long double m[TRIED_MAX + 1][TRIED_MAX + 2], size_t k) {
    for (size_t c = 0; c < k; c++) {
        size_t best = c;
        for (size_t r = c; r < k; r++)
            if (fabsl(m[r][c]) > fabsl(m[best][c]))
                best = r;
        if (fabsl(m[best][c]) < 1e-15L)
            return false;
        for (size_t j = 0; j <= k; j++) {
            long double kept = m[c][j];
            m[c][j] = m[best][j];
            m[best][j] = kept;
        }
        for (size_t r = 0; r < k; r++)
            if (r != c)
                for (size_t j = k + 1; j-- > c;)
                    m[r][j] -= m[r][c] / m[c][c] * m[c][j];
    }
    for (size_t r = 0; r < k; r++)
        m[r][k] /= m[r][r];
    return true;
}

/* kind[i]: 0 at 0, 1 at the bound, 2 free. The value at the best free weights, or INFINITY if
 * these are not feasible. Units: max G_ii = 1. */
static inline double value_with(const program *w, const int *kind) {
    long double m[TRIED_MAX + 1][TRIED_MAX + 2] = {{0}};
    long double unit = w->top > 0 ? (long double)w->top : 1, left = 1;
    size_t free[TRIED_MAX], k = 0, n = w->n;
    double a[TRIED_MAX];
    for (size_t i = 0; i < n; i++) {
        a[i] = kind[i] == 1 ? w->bound : 0;
        left -= a[i];
        if (kind[i] == 2)
            free[k++] = i;
    }
    if (k == 0 && fabsl(left) > 1e-12L)
        return INFINITY;
    for (size_t r = 0; r < k; r++) {
        for (size_t c = 0; c < k; c++)
            m[r][c] = w->cells[free[r] * n + free[c]] / unit;
        m[r][k] = m[k][r] = 1;
        m[r][k + 1] =
            ((long double)w->q[free[r]] - w->q[free[0]]) / unit; /* just as good, since sum a = 1 */
        for (size_t i = 0; i < n; i++)
            m[r][k + 1] -= a[i] * (w->cells[free[r] * n + i] / unit);
    }
    m[k][k + 1] = left;
    if (k > 0 && !eliminate(m, k + 1))
        return INFINITY;
    for (size_t r = 0; r < k; r++) {
        a[free[r]] = (double)m[r][k + 1];
        if (m[r][k + 1] < -1e-12L || m[r][k + 1] > w->bound + 1e-12L)
            return INFINITY;
    }
    return (double)merit_of(w, a).value;
}

/* n <= TRIED_MAX. A solution always exists whose free points are affinely independent. */
static inline double least_by_trying(const program *w) {
    int kind[TRIED_MAX] = {0};
    double least = INFINITY;
    for (;;) {
        least = fmin(least, value_with(w, kind));
        size_t i = 0;
        while (i < w->n && kind[i] == 2)
            kind[i++] = 0;
        if (i == w->n)
            return least;
        kind[i] = kind[i] == 0 && w->bound < 1 ? 1 : 2;
    }
}

/* ---- by projected gradients ---- */

/* The nearest feasible point to v: a_i = v_i - t within [0, bound], t by halving. */
static inline void project(double *v, size_t n, double bound) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, v[i] - 1);
        high = fmax(high, v[i]);
    }
    for (int step = 0; step < 100; step++) {
        double t = (low + high) / 2, sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += fmin(fmax(v[i] - t, 0), bound);
        if (sum > 1)
            low = t;
        else
            high = t;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = fmin(fmax(v[i] - high, 0), bound);
}

/* Accelerated, restarted whenever the value rises, until its own gap is small; the result is in
 * a. Units: max G_ii = 1. */
static inline merit least_by_gradients(const program *w, double *a) {
    size_t n = w->n;
    double *y = calloc(2 * n, sizeof *y), *next = y + n, momentum = 1;
    double trace = 0;
    for (size_t i = 0; i < n; i++) {
        trace += w->diagonal[i] / w->top;
        y[i] = a[i] = 1 / (double)n;
    }
    merit m = merit_of(w, a);
    for (int step = 0; step < 40000 && m.gap > 1e-11L * w->top; step++) {
        double uphill = 0;
        for (size_t i = 0; i < n; i++) {
            double g = -w->q[i] / w->top;
            for (size_t k = 0; k < n; k++)
                g += w->cells[i * n + k] / w->top * y[k];
            next[i] = y[i] - g / trace;
        }
        project(next, n, w->bound);
        for (size_t i = 0; i < n; i++)
            uphill += (y[i] - next[i]) * (next[i] - a[i]);
        double after = uphill > 0 ? 1 : (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        double push = uphill > 0 ? 0 : (momentum - 1) / after;
        for (size_t i = 0; i < n; i++) {
            y[i] = next[i] + push * (next[i] - a[i]);
            a[i] = next[i];
        }
        momentum = after;
        if (step % 50 == 0)
            m = merit_of(w, a);
    }
    m = merit_of(w, a);
    free(y);
    return m;
}

#endif
