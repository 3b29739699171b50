/* hull_slow.h: the distances of the hull methods by their definitions, in plain loops.
 *
 * In any space, the samples of a class become points of a Euclidean space with the query at its
 * origin: differences from the query or, with a kernel, the rows of a pivoted Cholesky factor of
 * k(x_i, x_j) - k(x_i, x) - k(x, x_j) + k(x, x). One reference then covers both: singular values by
 * one-sided Jacobi rotations, weights by growing sets or projected gradients (either way with the
 * gap from its definition), radii as quantiles of distances. Kernels that are not positive definite
 * (sigmoid) have no such points, so there the paper's formulas are evaluated literally. Local sets
 * are the first of the sorted samples.
 *
 * Where rounding may decide (a singular value at the cut, two drops of the same size), the result
 * is marked as unclear. */
#ifndef LIMN_TESTS_HULL_SLOW_H
#define LIMN_TESTS_HULL_SLOW_H

#include "methods/hull/hull.h"
#include "qp_world.h"

typedef struct slow_set {
    hull_kind kind;
    bool curved; /* with the kernel below */
    lm_kernel kernel;
    hull_dim rule; /* FULL, GAP, GIVEN */
    size_t dim;
    double cut, nu, rho;
    size_t neighbors;
} slow_set;

typedef struct slow_answer {
    double d2;
    double mean;  /* squared distance from the mean */
    double scale; /* the largest squared distance of a sample: rounding errors are relative to it */
    double norm;  /* with a kernel, the largest k(x, x): rounding errors are relative to it */
    double gap;   /* nch: proven bound on how much too large d2/2 is */
    bool unclear;
} slow_answer;

static inline bool slow_positive(const slow_set *s) {
    return !s->curved || s->kernel.type != LM_SIGMOID;
}

static inline long double slow_kernel(const lm_kernel *k, const float *a, const float *b,
                                      size_t d) {
    long double dot = 0, square = 0;
    for (size_t j = 0; j < d; j++) {
        long double difference = (long double)a[j] - (long double)b[j];
        dot += (long double)a[j] * (long double)b[j];
        square += difference * difference;
    }
    if (k->type == LM_RBF)
        return expl(-(long double)k->gamma * square);
    long double value = (long double)k->gamma * dot + (long double)k->coef0, power = 1;
    if (k->type == LM_SIGMOID)
        return tanhl(value);
    for (int i = 0; i < k->degree; i++)
        power *= value;
    return power;
}

/* ---- points ---- */

/* Rows of a class around a query. */
typedef struct slow_points {
    size_t n, d;
    double *at;     /* n x d, the query is 0 */
    double largest; /* length of a sample in its own space, for the floor */
} slow_points;

static inline slow_points slow_flat(const float *x, size_t n, size_t d, const float *query) {
    slow_points p = {.n = n, .d = d, .at = calloc(n * d, sizeof(double))};
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < d; j++) {
            p.at[i * d + j] = (double)x[i * d + j] - (double)query[j];
            sum += (double)x[i * d + j] * (double)x[i * d + j];
        }
        p.largest = fmax(p.largest, sqrt(sum));
    }
    return p;
}

static inline slow_points slow_embed(const lm_kernel *k, const float *x, size_t n, size_t d,
                                     const float *query) {
    slow_points p = {.n = n, .d = n, .at = calloc(n * n, sizeof(double))};
    long double *gram = calloc(n * n, sizeof *gram), *factor = calloc(n * n, sizeof *factor);
    long double *left = calloc(n, sizeof *left), top = 0;
    long double self = slow_kernel(k, query, query, d);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            long double value = slow_kernel(k, x + i * d, x + j * d, d);
            gram[i * n + j] = value - slow_kernel(k, x + i * d, query, d) -
                              slow_kernel(k, x + j * d, query, d) + self;
            top = fmaxl(top, fabsl(value));
            left[i] = gram[i * n + i];
            if (i == j)
                p.largest = fmax(p.largest, sqrt((double)value));
        }
    for (size_t step = 0; step < n; step++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            best = left[i] > left[best] ? i : best;
        if (!(left[best] > 1e-18L * top))
            break;
        long double pivot = sqrtl(left[best]);
        for (size_t i = 0; i < n; i++) {
            long double sum = gram[i * n + best];
            for (size_t j = 0; j < step; j++)
                sum -= factor[i * n + j] * factor[best * n + j];
            factor[i * n + step] = sum / pivot;
            left[i] -= factor[i * n + step] * factor[i * n + step];
        }
        left[best] = 0;
    }
    for (size_t i = 0; i < n * n; i++)
        p.at[i] = (double)factor[i];
    free(gram);
    free(factor);
    free(left);
    return p;
}

/* ---- the hull: coordinates of the samples and of the query ---- */

typedef struct slow_hull {
    size_t n, count; /* directions, before any cut */
    double *s;       /* descending */
    double *coord;   /* n x count */
    double *t;       /* of the query */
    double w2;       /* squared distance of the query from the mean */
    double trace;    /* sum of s^2 (of the matrix, where it is not positive) */
    double *rest;    /* squared distance of the query from the hull of the first p directions */
} slow_hull;

static inline void slow_hull_free(slow_hull *h) {
    free(h->s);
    free(h->coord);
    free(h->t);
    free(h->rest);
}

/* Rotates rows a and b until they are orthogonal; returns whether a rotation was needed. */
static inline bool slow_rotate(double *a, double *b, size_t d, double least) {
    double aa = 0, bb = 0, ab = 0;
    for (size_t j = 0; j < d; j++) {
        aa += a[j] * a[j];
        bb += b[j] * b[j];
        ab += a[j] * b[j];
    }
    if (!(fabs(ab) > 1e-16 * sqrt(aa * bb)) || !(fabs(ab) > least))
        return false;
    double angle = 0.5 * atan2(2 * ab, aa - bb), c = cos(angle), s = sin(angle);
    for (size_t j = 0; j < d; j++) {
        double u = a[j], v = b[j];
        a[j] = c * u + s * v;
        b[j] = c * v - s * u;
    }
    return true;
}

static inline double slow_square(const double *v, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += v[j] * v[j];
    return sum;
}

/* Makes the rows orthogonal, longest first. */
static inline void slow_orthogonal(double *y, size_t n, size_t d) {
    double top = 0;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, slow_square(y + i * d, d));
    bool turned = true;
    for (int sweep = 0; sweep < 40 && turned; sweep++) {
        turned = false;
        for (size_t i = 0; i < n; i++)
            for (size_t k = i + 1; k < n; k++)
                turned = slow_rotate(y + i * d, y + k * d, d, 1e-30 * top) || turned;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (slow_square(y + k * d, d) > slow_square(y + i * d, d))
                for (size_t j = 0; j < d; j++) {
                    double held = y[i * d + j];
                    y[i * d + j] = y[k * d + j];
                    y[k * d + j] = held;
                }
}

static inline slow_hull slow_hull_of(const slow_points *p) {
    size_t n = p->n, d = p->d, most = n < d ? n : d;
    slow_hull h = {.n = n, .count = most};
    double *mean = calloc(d, sizeof *mean), *y = calloc(n * d, sizeof *y);
    double *turned = calloc(n * d, sizeof *turned), *left = calloc(d, sizeof *left);
    h.s = calloc(most + 1, sizeof *h.s);
    h.t = calloc(most + 1, sizeof *h.t);
    h.coord = calloc(n * most + 1, sizeof *h.coord);
    h.rest = calloc(most + 1, sizeof *h.rest);
    for (size_t i = 0; i < n * d; i++)
        mean[i % d] += p->at[i] / (double)n;
    for (size_t i = 0; i < n * d; i++)
        turned[i] = y[i] = p->at[i] - mean[i % d];
    slow_orthogonal(turned, n, d);
    for (size_t j = 0; j < d; j++)
        left[j] = -mean[j];
    h.w2 = h.rest[0] = slow_square(mean, d);
    for (size_t r = 0; r < most; r++) {
        double *q = turned + r * d;
        h.s[r] = sqrt(slow_square(q, d));
        if (h.s[r] <= 1e-13 * h.s[0]) { /* rounding, in any direction */
            h.s[r] = 0;
            memset(q, 0, d * sizeof *q);
        }
        h.trace += h.s[r] * h.s[r];
        for (size_t j = 0; j < d && h.s[r] > 0; j++)
            q[j] /= h.s[r];
        for (size_t j = 0; j < d; j++)
            h.t[r] -= q[j] * mean[j];
        for (size_t j = 0; j < d; j++)
            left[j] -= h.t[r] * q[j];
        h.rest[r + 1] = slow_square(left, d);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < d; j++)
                h.coord[i * most + r] += y[i * d + j] * q[j];
    }
    free(mean);
    free(y);
    free(turned);
    free(left);
    return h;
}

/* Eigenvalues (descending) and vectors (rows) of a symmetric matrix, by Jacobi's rotations. */
static inline void slow_eigen(double *a, size_t n, double *vectors) {
    for (size_t i = 0; i < n * n; i++)
        vectors[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 30; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (a[p * n + q] == 0)
                    continue;
                double angle = 0.5 * atan2(2 * a[p * n + q], a[p * n + p] - a[q * n + q]);
                double c = cos(angle), s = sin(angle);
                for (size_t j = 0; j < n; j++) {
                    double u = a[p * n + j], v = a[q * n + j];
                    a[p * n + j] = c * u + s * v;
                    a[q * n + j] = c * v - s * u;
                }
                for (size_t j = 0; j < n; j++) {
                    double u = a[j * n + p], v = a[j * n + q];
                    a[j * n + p] = c * u + s * v;
                    a[j * n + q] = c * v - s * u;
                    u = vectors[p * n + j], v = vectors[q * n + j];
                    vectors[p * n + j] = c * u + s * v;
                    vectors[q * n + j] = c * v - s * u;
                }
            }
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (a[k * n + k] > a[i * n + i]) {
                double held = a[i * n + i];
                a[i * n + i] = a[k * n + k];
                a[k * n + k] = held;
                for (size_t j = 0; j < n; j++) {
                    held = vectors[i * n + j];
                    vectors[i * n + j] = vectors[k * n + j];
                    vectors[k * n + j] = held;
                }
            }
}

/* The paper's Eq. 7, literally; largest: as in slow_points. */
static inline slow_hull slow_hull_by_kernel(const lm_kernel *k, const float *x, size_t n, size_t d,
                                            const float *query, double *largest) {
    slow_hull h = {.n = n, .count = n};
    double *centred = calloc(n * n, sizeof *centred), *v = calloc(n * n, sizeof *v);
    double *row = calloc(n, sizeof *row), *b = calloc(n, sizeof *b), all = 0, mean = 0;
    h.s = calloc(n + 1, sizeof *h.s);
    h.t = calloc(n + 1, sizeof *h.t);
    h.coord = calloc(n * n, sizeof *h.coord);
    h.rest = calloc(n + 1, sizeof *h.rest);
    *largest = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            centred[i * n + j] = (double)slow_kernel(k, x + i * d, x + j * d, d);
            row[i] += centred[i * n + j] / (double)n;
        }
        *largest = fmax(*largest, sqrt(fmax(centred[i * n + i], 0)));
        all += row[i] / (double)n;
        b[i] = (double)slow_kernel(k, x + i * d, query, d);
        mean += b[i] / (double)n;
    }
    h.w2 = (double)slow_kernel(k, query, query, d) - 2 * mean + all;
    for (size_t i = 0; i < n; i++) {
        b[i] += all - row[i] - mean;
        for (size_t j = 0; j < n; j++)
            centred[i * n + j] += all - row[i] - row[j];
        h.trace += centred[i * n + i];
    }
    slow_eigen(centred, n, v);
    double left = h.w2;
    h.rest[0] = fmax(left, 0);
    for (size_t r = 0; r < n; r++) {
        h.s[r] = sqrt(fmax(centred[r * n + r], 0));
        for (size_t i = 0; i < n && h.s[r] > 0; i++) {
            h.t[r] += v[r * n + i] * b[i] / h.s[r];
            h.coord[i * n + r] = v[r * n + i] * h.s[r];
        }
        left -= h.t[r] * h.t[r];
        h.rest[r + 1] = fmax(left, 0);
    }
    free(centred);
    free(v);
    free(row);
    free(b);
    return h;
}

/* ---- rank and dimension ---- */

static inline bool slow_close(double a, double b, double share) {
    return fabs(a - b) <= share * fmax(fabs(a), fabs(b));
}

static inline size_t slow_dim(const slow_set *set, const slow_hull *h, double largest,
                              bool *unclear) {
    double least = h->count ? fmax(set->cut * h->s[0], 1e-8 * sqrt((double)h->n) * largest) : 0;
    size_t rank = 0;
    for (size_t j = 0; j < h->count; j++) {
        rank += h->s[j] > least;
        *unclear = *unclear || (h->s[j] > 0 && slow_close(h->s[j], least, 0.02));
    }
    size_t p = rank;
    if (set->rule == HULL_DIM_GIVEN && set->dim < rank)
        p = set->dim;
    if (set->rule == HULL_DIM_GAP) {
        double best = 0, second = 0;
        for (size_t i = 1; i < rank && (double)i <= 0.9 * (double)rank; i++) {
            double ratio = h->s[i - 1] / h->s[i];
            second = ratio > best ? best : fmax(second, ratio);
            if (ratio > best) {
                best = ratio;
                p = i;
            }
        }
        *unclear = *unclear || (second > 0 && slow_close(best, second, 1e-6));
    }
    if (p > 0 && p < rank && h->s[p - 1] - h->s[p] <= 1e-5 * h->s[0])
        *unclear = true;
    return p;
}

/* ---- weights ---- */

static inline int slow_descending(const void *a, const void *b) {
    double u = *(const double *)a, v = *(const double *)b;
    return (u < v) - (u > v);
}

/* Solves the k x k system m (by rows, k + 1 columns) in place; false where it is singular. */
static inline bool slow_solve(long double *m, size_t k) {
    size_t wide = k + 1;
    for (size_t c = 0; c < k; c++) {
        size_t best = c;
        for (size_t r = c; r < k; r++)
            best = fabsl(m[r * wide + c]) > fabsl(m[best * wide + c]) ? r : best;
        if (fabsl(m[best * wide + c]) < 1e-17L)
            return false;
        for (size_t j = 0; j < wide; j++) {
            long double held = m[c * wide + j];
            m[c * wide + j] = m[best * wide + j];
            m[best * wide + j] = held;
        }
        for (size_t r = 0; r < k; r++)
            for (size_t j = wide; r != c && j-- > c;)
                m[r * wide + j] -= m[r * wide + c] / m[c * wide + c] * m[c * wide + j];
    }
    for (size_t r = 0; r < k; r++)
        m[r * wide + k] /= m[r * wide + r];
    return true;
}

/* The best weights of the points of a set when all others are 0; negative ones mean that the set
 * is too large. */
static inline bool slow_best_of(const program *w, const size_t *set, size_t k, long double *a) {
    size_t wide = k + 2;
    long double *m = calloc((k + 1) * wide, sizeof *m);
    for (size_t r = 0; r < k; r++) {
        for (size_t c = 0; c < k; c++)
            for (size_t j = 0; j < w->p; j++)
                m[r * wide + c] += (long double)w->x[set[r] * w->p + j] *
                                   (long double)w->x[set[c] * w->p + j] / w->top;
        m[r * wide + k] = m[k * wide + r] = 1;
        m[r * wide + k + 1] = (long double)w->q[set[r]] / w->top;
    }
    m[k * wide + k + 1] = 1;
    bool fine = slow_solve(m, k + 1);
    for (size_t r = 0; r < k && fine; r++)
        a[r] = m[r * wide + k + 1];
    free(m);
    return fine;
}

/* Without a bound on the weights: adds and removes points until the gap, from its definition,
 * vanishes. Returns the gap that was reached. */
static inline merit slow_by_sets(const program *w, double *a) {
    size_t n = w->n, *set = calloc(n, sizeof *set), k = 0;
    long double *g = calloc(n, sizeof *g), *next = calloc(n, sizeof *next);
    for (size_t i = 1; i < n; i++)
        set[0] = w->diagonal[i] / 2 - w->q[i] < w->diagonal[set[0]] / 2 - w->q[set[0]] ? i : set[0];
    memset(a, 0, n * sizeof *a);
    a[set[k++]] = 1;
    merit m = merit_of(w, a);
    for (int step = 0; step < 500 && m.gap > 1e-16L * w->top; step++) {
        size_t best = 0;
        gradient_of(w, a, g);
        for (size_t i = 1; i < n; i++)
            best = g[i] < g[best] ? i : best;
        if (a[best] > 0)
            break;
        set[k++] = best;
        bool fine;
        while ((fine = slow_best_of(w, set, k, next))) {
            /* Moves towards the best weights as far as all stay positive. */
            long double part = 1;
            size_t out = k;
            for (size_t r = 0; r < k; r++) {
                long double now = a[set[r]];
                if (next[r] <= 0 && now / (now - next[r]) < part) {
                    part = now / (now - next[r]);
                    out = r;
                }
            }
            for (size_t r = 0; r < k; r++)
                a[set[r]] = (double)(a[set[r]] + part * (next[r] - a[set[r]]));
            if (out == k)
                break;
            a[set[out]] = 0;
            set[out] = set[--k];
        }
        m = merit_of(w, a);
        if (!fine)
            break;
    }
    free(set);
    free(g);
    free(next);
    return m;
}

/* min 1/2 a'Ga - q'a for the rows of x (n x p, p up to 60), 0 <= a <= bound; returns how far
 * from the minimum the result may be. */
static inline double slow_weights(const double *x, size_t n, size_t p, bool sphere, double bound,
                                  double *a) {
    double *q = calloc(n, sizeof *q), *diagonal = calloc(n, sizeof *diagonal);
    double *cells = calloc(n * n, sizeof *cells);
    program w = {.n = n,
                 .p = p,
                 .bound = bound,
                 .x = (double *)(uintptr_t)x,
                 .q = q,
                 .diagonal = diagonal,
                 .cells = cells,
                 .constant = -1};
    merit m = {0};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < p; j++)
                cells[i * n + k] += x[i * p + j] * x[k * p + j];
        diagonal[i] = cells[i * n + i];
        q[i] = sphere ? diagonal[i] / 2 : 0;
        w.top = fmax(w.top, diagonal[i]);
        a[i] = 1 / (double)n;
    }
    if (w.top > 0) {
        m.gap = (long double)w.top;
        if (!(bound < 1))
            m = slow_by_sets(&w, a);
        if (m.gap > 1e-11L * w.top)
            m = least_by_gradients(&w, a);
    }
    free(q);
    free(diagonal);
    free(cells);
    return fmax((double)m.gap, 0);
}

/* The centre of the sphere of the rows of x and its radius, a quantile of the distances: with the
 * centre given, r^2 + 1/(nu n) sum max(d_i^2 - r^2, 0) is least where nu n points are outside. */
static inline double slow_sphere(const double *x, size_t n, size_t p, double nu, double *a,
                                 double *centre) {
    double *d2 = calloc(n, sizeof *d2);
    bool hard = !(nu * (double)n > 1);
    slow_weights(x, n, p, true, hard ? 1 : 1 / (nu * (double)n), a);
    memset(centre, 0, p * sizeof *centre);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++)
            centre[j] += a[i] * x[i * p + j];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++)
            d2[i] += (x[i * p + j] - centre[j]) * (x[i * p + j] - centre[j]);
    qsort(d2, n, sizeof *d2, slow_descending);
    double outside = hard ? 0 : nu * (double)n, whole = floor(outside + 1e-9);
    size_t m = (size_t)whole;
    double r2 = m < n ? d2[m] : d2[n - 1];
    if (!hard && fabs(outside - whole) < 1e-9 && m > 0 && m < n)
        r2 = (d2[m - 1] + d2[m]) / 2;
    free(d2);
    return sqrt(r2);
}

/* ---- distances ---- */

static inline double slow_disk(const slow_set *set, const slow_hull *h, size_t p) {
    double *x = calloc(h->n * p + 1, sizeof *x), *a = calloc(h->n, sizeof *a);
    double *centre = calloc(p + 1, sizeof *centre), rho = 0;
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j < p; j++)
            x[i * p + j] = h->coord[i * h->count + j];
    double r = p ? slow_sphere(x, h->n, p, set->nu, a, centre) : 0;
    for (size_t j = 0; j < p; j++)
        rho += (h->t[j] - centre[j]) * (h->t[j] - centre[j]);
    double over = fmax(sqrt(rho) - r, 0);
    free(x);
    free(a);
    free(centre);
    return h->rest[p] + over * over;
}

static inline double slow_ridge(const slow_set *set, const slow_hull *h, size_t p, size_t d) {
    size_t possible = h->n - 1;
    if (!set->curved && d < possible)
        possible = d;
    double lambda = possible ? set->rho * h->trace / (double)possible : 0, d2 = h->rest[p];
    for (size_t j = 0; j < p; j++)
        d2 += h->t[j] * h->t[j] * lambda / (h->s[j] * h->s[j] + lambda);
    return d2;
}

/* The nearest point of the convex hull, or the sphere's centre, in the coordinates of the hull. */
static inline double slow_point(const slow_set *set, const slow_hull *h, double *gap) {
    size_t n = h->n, p = h->count;
    double *z = calloc(n * p, sizeof *z), *a = calloc(n, sizeof *a);
    double *centre = calloc(p + 1, sizeof *centre);
    for (size_t i = 0; i < n * p; i++)
        z[i] = h->coord[i] - (set->kind == HULL_NCH ? h->t[i % p] : 0);
    if (set->kind == HULL_NSC) {
        slow_sphere(z, n, p, set->nu, a, centre);
        for (size_t j = 0; j < p; j++)
            centre[j] -= h->t[j];
    } else {
        *gap = slow_weights(z, n, p, false, 1, a);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < p; j++)
                centre[j] += a[i] * z[i * p + j];
    }
    double d2 = slow_square(centre, p) + h->rest[p];
    free(z);
    free(a);
    free(centre);
    return d2;
}

/* The k rows nearest to the query; ties go to the first. */
static inline size_t slow_nearest(const float *x, size_t n, size_t d, const float *query, size_t k,
                                  float *out) {
    bool *taken = calloc(n, sizeof *taken);
    k = k < n ? k : n;
    for (size_t step = 0; step < k; step++) {
        size_t best = n;
        double least = INFINITY;
        for (size_t i = 0; i < n; i++) {
            double d2 = 0;
            for (size_t j = 0; j < d; j++) {
                double difference = (double)x[i * d + j] - (double)query[j];
                d2 += difference * difference;
            }
            if (!taken[i] && (best == n || d2 < least)) {
                least = d2;
                best = i;
            }
        }
        taken[best] = true;
        memcpy(out + step * d, x + best * d, d * sizeof *out);
    }
    free(taken);
    return k;
}

/* The distance of the query from the set of the n rows x (d floats each) of one class. */
static inline slow_answer slow_distance(const slow_set *set, const float *x, size_t n, size_t d,
                                        const float *query) {
    slow_answer out = {0};
    float *near = calloc(n * d, sizeof *near);
    if (set->neighbors) {
        n = slow_nearest(x, n, d, query, set->neighbors, near);
        x = near;
    }
    slow_points p = {0};
    slow_hull h;
    if (slow_positive(set)) {
        p = set->curved ? slow_embed(&set->kernel, x, n, d, query) : slow_flat(x, n, d, query);
        h = slow_hull_of(&p);
        for (size_t i = 0; i < n; i++)
            out.scale = fmax(out.scale, slow_square(p.at + i * p.d, p.d));
    } else {
        h = slow_hull_by_kernel(&set->kernel, x, n, d, query, &p.largest);
    }
    size_t dim = slow_dim(set, &h, p.largest, &out.unclear);
    if (set->curved)
        out.norm =
            fmax(p.largest * p.largest, fabs((double)slow_kernel(&set->kernel, query, query, d)));
    out.mean = h.w2;
    out.d2 = set->kind == HULL_NAH   ? h.rest[dim]
             : set->kind == HULL_NHD ? slow_disk(set, &h, dim)
             : set->kind == HULL_NRH ? slow_ridge(set, &h, dim, d)
                                     : slow_point(set, &h, &out.gap);
    if (!slow_positive(set)) /* t = v'b / s */
        out.scale = 4 + (dim ? out.d2 * 1e-4 / (h.s[dim - 1] * h.s[dim - 1]) : 0);
    if (set->kind == HULL_NRH || set->kind == HULL_NSC || set->kind == HULL_NCH)
        out.unclear = false; /* one direction more or less changes almost nothing */
    if (out.norm * 1e-16 > 1e-11 * out.scale && out.scale > 0)
        out.unclear = true; /* differences of kernel values mean little */
    slow_hull_free(&h);
    free(p.at);
    free(near);
    return out;
}

#endif
