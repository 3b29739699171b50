/* kernel.c: single values by definition; rows of values with the instruction set in use. */
#include "num/kernel.h"

#include "num/simd/simd.h"

#include <float.h>
#include <math.h>

const char *lm_kernel_name(lm_kernel_type type) {
    static const char *const names[] = {"linear", "polynomial", "rbf", "sigmoid"};
    return (size_t)type < LM_COUNT(names) ? names[type] : NULL;
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
        return dot;
    case LM_POLYNOMIAL:
        return power_of(kernel->gamma * dot + kernel->coef0, kernel->degree);
    case LM_RBF:
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
        return 1;
    case LM_POLYNOMIAL:
        return kernel->degree ? kernel->degree * kernel->gamma * power_of(inner, kernel->degree - 1)
                              : 0;
    case LM_RBF:
        return -kernel->gamma * exp(-kernel->gamma * distance);
    case LM_SIGMOID:
        value = tanh(inner);
        return kernel->gamma * (1 - value * value);
    }
    return 0;
}

double lm_kernel_of_dots(const lm_kernel *kernel, double dot, double u2, double v2) {
    return value_of(kernel, dot, distance_of(dot, u2, v2));
}

void lm_kernel_of_many(const lm_kernel *kernel, double *values, size_t n, double shift, double u2,
                       const double *v2) {
    double gamma = kernel->gamma;
    for (size_t i = 0; i < n && kernel->type == LM_RBF; i++)
        values[i] = exp(-gamma * distance_of(values[i] - shift, u2, v2[i]));
    for (size_t i = 0; i < n && kernel->type != LM_RBF; i++)
        values[i] = value_of(kernel, values[i] - shift, 0);
}

/* ---- many values ---- */

void lm_kernel_apply(const lm_kernel *kernel, float *values, size_t n) {
    float gamma = (float)kernel->gamma, coef0 = (float)kernel->coef0;
    if (kernel->type == LM_RBF)
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
