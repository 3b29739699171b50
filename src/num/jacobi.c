/* jacobi.c: Jacobi's eigenvalue algorithm in its cyclic form.
 *
 * A rotation in the plane (p, q) with tan 2t = 2 a_pq / (a_qq - a_pp) makes a_pq zero. Repeated
 * sweeps over all pairs make the matrix diagonal, with quadratic convergence at the end. */
#include "num/jacobi.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { SWEEPS_MAX = 60 }; /* eight usually suffice */

/* Rows p and q of m (n numbers each) turned by the angle of sine s and cosine c. */
static void turn_rows(double *m, size_t n, size_t p, size_t q, double s, double c) {
    double *one = m + p * n, *other = m + q * n;
    for (size_t j = 0; j < n; j++) {
        double x = one[j], y = other[j];
        one[j] = c * x - s * y;
        other[j] = s * x + c * y;
    }
}

static void turn_columns(double *m, size_t n, size_t p, size_t q, double s, double c) {
    for (size_t i = 0; i < n; i++) {
        double x = m[i * n + p], y = m[i * n + q];
        m[i * n + p] = c * x - s * y;
        m[i * n + q] = s * x + c * y;
    }
}

/* Returns whether there was anything to rotate. */
static bool rotate(double *a, size_t n, size_t p, size_t q, double least, double *vectors) {
    double off = a[p * n + q];
    if (!(fabs(off) > least))
        return false;
    double slope = (a[q * n + q] - a[p * n + p]) / (2 * off);
    double t = 1 / (fabs(slope) + hypot(slope, 1));
    t = slope < 0 ? -t : t;
    double c = 1 / sqrt(t * t + 1), s = t * c;
    turn_rows(a, n, p, q, s, c);
    turn_columns(a, n, p, q, s, c);
    a[p * n + q] = a[q * n + p] = 0;
    turn_rows(vectors, n, p, q, s, c);
    return true;
}

static void swap_rows(double *m, size_t n, size_t i, size_t k) {
    for (size_t j = 0; j < n; j++) {
        double held = m[i * n + j];
        m[i * n + j] = m[k * n + j];
        m[k * n + j] = held;
    }
}

static void sort_descending(double *values, size_t n, double *vectors) {
    for (size_t i = 0; i + 1 < n; i++) {
        size_t best = i;
        for (size_t k = i + 1; k < n; k++)
            best = values[k] > values[best] ? k : best;
        if (best == i)
            continue;
        double held = values[i];
        values[i] = values[best];
        values[best] = held;
        swap_rows(vectors, n, i, best);
    }
}

void lm_jacobi(double *a, size_t n, double *values, double *vectors) {
    double largest = 0;
    memset(vectors, 0, n * n * sizeof *vectors);
    for (size_t i = 0; i < n; i++) {
        vectors[i * n + i] = 1;
        for (size_t j = 0; j < n; j++)
            largest = fmax(largest, fabs(a[i * n + j]));
    }
    double least = largest * DBL_EPSILON / 16;
    bool turned = true;
    for (int sweep = 0; turned && sweep < SWEEPS_MAX; sweep++) {
        turned = false;
        for (size_t p = 0; p + 1 < n; p++)
            for (size_t q = p + 1; q < n; q++)
                turned = rotate(a, n, p, q, least, vectors) || turned;
    }
    for (size_t i = 0; i < n; i++)
        values[i] = a[i * n + i];
    sort_descending(values, n, vectors);
}
