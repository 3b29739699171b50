/* kernel.c: single values by definition; rows of values with the instruction set in use. */
#include "num/kernel.h"

#include "num/simd/simd.h"

#include <float.h>
#include <math.h>

const char *lm_kernel_name(lm_kernel_type type) {
    static const char *const names[] = {"linear",  "polynomial", "rbf",
                                        "sigmoid", "chi2",       "intersection"};
    return (size_t)type < LM_COUNT(names) ? names[type] : NULL;
}

lm_metric lm_kernel_metric(const lm_kernel *kernel) {
    lm_kernel_type type = kernel->type;
    return type == LM_RBF            ? LM_L2
           : type == LM_CHI2_KERNEL  ? LM_CHI2
           : type == LM_INTERSECTION ? LM_MIN
                                     : LM_DOT;
}

/* ---- one value ---- */

static double power_of(double base, int degree) {
    double power = 1;
    for (; degree > 0; degree /= 2, base *= base)
        if (degree % 2)
            power *= base;
    return power;
}

static inline double value_of(const lm_kernel *kernel, double dot, double distance) {
    switch (kernel->type) {
    case LM_LINEAR:
    case LM_INTERSECTION:
        return dot;
    case LM_POLYNOMIAL:
        return power_of(kernel->gamma * dot + kernel->coef0, kernel->degree);
    case LM_RBF:
    case LM_CHI2_KERNEL:
        return exp(-kernel->gamma * distance);
    case LM_SIGMOID:
        return tanh(kernel->gamma * dot + kernel->coef0);
    }
    return 0;
}

static inline double distance_of(double dot, double u2, double v2) {
    double distance = u2 + v2 - 2 * dot;
    return distance > 64 * DBL_EPSILON * (u2 + v2) ? distance : 0;
}

double lm_kernel_value(const lm_kernel *kernel, double dot, double distance) {
    return value_of(kernel, dot, distance);
}

double lm_kernel_slope(const lm_kernel *kernel, double dot, double distance) {
    double inner = kernel->gamma * dot + kernel->coef0, value;
    switch (kernel->type) {
    case LM_LINEAR:
    case LM_INTERSECTION:
        return 1;
    case LM_POLYNOMIAL:
        return kernel->degree ? kernel->degree * kernel->gamma * power_of(inner, kernel->degree - 1)
                              : 0;
    case LM_RBF:
    case LM_CHI2_KERNEL:
        return -kernel->gamma * exp(-kernel->gamma * distance);
    case LM_SIGMOID:
        value = tanh(inner);
        return kernel->gamma * (1 - value * value);
    }
    return 0;
}

/* One feature's share of a metric. */
static inline double term_of(lm_metric metric, double a, double b) {
    double diff = a - b, total = a + b;
    switch (metric) {
    case LM_DOT:
        return a * b;
    case LM_L2:
        return diff * diff;
    case LM_L1:
        return fabs(diff);
    case LM_CHI2:
        return total > 0 ? diff * diff / total : 0;
    case LM_MIN:
        return a < b ? a : b;
    }
    return 0;
}

double lm_kernel_of_rows(const lm_kernel *kernel, const float *a, const float *b, size_t d) {
    lm_metric metric = lm_kernel_metric(kernel);
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += term_of(metric, (double)a[j], (double)b[j]);
    return value_of(kernel, sum, sum);
}

static inline bool has_products(const lm_kernel *kernel) {
    return kernel->type != LM_CHI2_KERNEL && kernel->type != LM_INTERSECTION;
}

double lm_kernel_of_dots(const lm_kernel *kernel, double dot, double u2, double v2) {
    return has_products(kernel) ? value_of(kernel, dot, distance_of(dot, u2, v2)) : NAN;
}

void lm_kernel_of_many(const lm_kernel *kernel, double *values, size_t n, double shift, double u2,
                       const double *v2) {
    double gamma = kernel->gamma;
    for (size_t i = 0; i < n && kernel->type == LM_RBF; i++)
        values[i] = exp(-gamma * distance_of(values[i] - shift, u2, v2[i]));
    for (size_t i = 0; i < n && kernel->type != LM_RBF; i++)
        values[i] = has_products(kernel) ? value_of(kernel, values[i] - shift, 0) : NAN;
}

/* ---- many values ---- */

void lm_kernel_apply(const lm_kernel *kernel, float *values, size_t n) {
    float gamma = (float)kernel->gamma, coef0 = (float)kernel->coef0;
    if (kernel->type == LM_RBF || kernel->type == LM_CHI2_KERNEL)
        lm_rbf(values, n, gamma);
    else if (kernel->type == LM_POLYNOMIAL)
        lm_poly(values, n, gamma, coef0, (unsigned)kernel->degree);
    else if (kernel->type == LM_SIGMOID)
        lm_sigmoid(values, n, gamma, coef0);
}

void lm_exp(float *values, size_t n) {
    lm_simd_get()->exp(values, n);
}

void lm_rbf(float *values, size_t n, float gamma) {
    lm_simd_get()->rbf(values, n, gamma);
}

void lm_poly(float *values, size_t n, float gamma, float coef0, unsigned degree) {
    lm_simd_get()->poly(values, n, gamma, coef0, degree);
}

void lm_sigmoid(float *values, size_t n, float gamma, float coef0) {
    lm_simd_get()->sigmoid(values, n, gamma, coef0);
}
