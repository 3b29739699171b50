/* kernel_slow.h: kernels, and the nearest combination of vectors in the space of a kernel, from
 * their definitions in plain double, for the tests of expansions and perceptrons. */
#ifndef LIMN_TESTS_KERNEL_SLOW_H
#define LIMN_TESTS_KERNEL_SLOW_H

#include "num/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kernels of these methods. */
static const lm_kernel slow_kernels[] = {
    {.type = LM_RBF, .gamma = 0.5},
    {.type = LM_POLYNOMIAL, .degree = 3, .gamma = 0.5, .coef0 = 1},
    {.type = LM_LINEAR},
    {.type = LM_CHI2_KERNEL, .gamma = 0.25},
    {.type = LM_INTERSECTION},
};

/* Whether a kernel is for features that are 0 or more. */
static inline bool slow_positive(const lm_kernel *k) {
    return k->type == LM_CHI2_KERNEL || k->type == LM_INTERSECTION;
}

static inline double slow_kernel(const lm_kernel *k, const float *u, const float *v, size_t d) {
    double dot = 0, distance = 0, chi2 = 0, least = 0;
    for (size_t j = 0; j < d; j++) {
        double a = (double)u[j], b = (double)v[j];
        dot += a * b;
        distance += (a - b) * (a - b);
        chi2 += a + b > 0 ? (a - b) * (a - b) / (a + b) : 0;
        least += fmin(a, b);
    }
    return k->type == LM_RBF           ? exp(-k->gamma * distance)
           : k->type == LM_CHI2_KERNEL ? exp(-k->gamma * chi2)
           : k->type == LM_POLYNOMIAL  ? pow(k->gamma * dot + k->coef0, k->degree)
           : k->type == LM_LINEAR      ? dot
                                       : least;
}

/* Takes row p out of all others of the system a alpha = b. */
static inline void slow_eliminate(long double *a, long double *b, size_t n, size_t p) {
    for (size_t i = 0; i < n; i++) {
        long double share = a[i * n + p] / a[p * n + p];
        if (i == p || share == 0)
            continue;
        for (size_t j = 0; j < n; j++)
            a[i * n + j] -= share * a[p * n + j];
        b[i] -= share * b[p];
    }
}

/* The combination alpha of n vectors that is nearest to x, given their kernel matrix (n x n), their
 * kernels with x, and K(x, x): the normal equations by Gauss-Jordan elimination, the largest pivot
 * first; vectors that the others span get 0. Returns the share of K(x, x) that is left over. */
static inline double slow_project(const double *matrix, const double *with_x, double self, size_t n,
                                  double *alpha) {
    long double *a = malloc((n * n + 1) * sizeof *a), *b = malloc((n + 1) * sizeof *b);
    bool *used = calloc(n + 1, sizeof *used);
    long double inside = 0;
    for (size_t i = 0; i < n * n; i++)
        a[i] = matrix[i];
    for (size_t i = 0; i < n; i++)
        b[i] = with_x[i];
    for (size_t round = 0; round < n; round++) {
        size_t p = n;
        for (size_t i = 0; i < n; i++)
            if (!used[i] && a[i * n + i] > 1e-11L * matrix[i * n + i] &&
                (p == n || a[i * n + i] > a[p * n + p]))
                p = i;
        if (p == n)
            break;
        used[p] = true;
        slow_eliminate(a, b, n, p);
    }
    for (size_t i = 0; i < n; i++) {
        alpha[i] = used[i] ? (double)(b[i] / a[i * n + i]) : 0;
        inside += alpha[i] * with_x[i];
    }
    free(a);
    free(b);
    free(used);
    return self > 0 ? fmin(fmax((self - (double)inside) / self, 0), 1) : 0;
}

#endif
