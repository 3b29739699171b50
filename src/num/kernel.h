/* kernel.h: kernels, in one place: one value in double, and rows of values in float.
 *
 *   linear u.v   polynomial (gamma u.v + coef0)^degree   rbf exp(-gamma |u-v|^2)
 *   sigmoid tanh(gamma u.v + coef0) */
#ifndef LIMN_NUM_KERNEL_H
#define LIMN_NUM_KERNEL_H

#include "base/base.h"

/* In LIBSVM's order. */
typedef enum lm_kernel_type { LM_LINEAR, LM_POLYNOMIAL, LM_RBF, LM_SIGMOID } lm_kernel_type;

typedef struct lm_kernel {
    lm_kernel_type type;
    int degree; /* of polynomial, 0 or more */
    double gamma, coef0;
} lm_kernel;

/* "linear", "polynomial", "rbf", "sigmoid", as in LIBSVM's files; NULL outside the enumeration. */
const char *lm_kernel_name(lm_kernel_type type);

/* ---- one value ---- */

/* From u.v and |u-v|^2; rbf uses the second, the others the first. */
double lm_kernel_value(const lm_kernel *kernel, double dot, double distance);
/* The derivative of that value with respect to |u-v|^2 for rbf, to u.v for the others. */
double lm_kernel_slope(const lm_kernel *kernel, double dot, double distance);
/* From u.v, |u|^2 and |v|^2. A distance small enough to be rounding error counts as 0. */
double lm_kernel_of_dots(const lm_kernel *kernel, double dot, double u2, double v2);

/* The same for n rows v, in double: values[i] <- from u.v = values[i] - shift, |u|^2 and v2[i]. */
void lm_kernel_of_many(const lm_kernel *kernel, double *values, size_t n, double shift, double u2,
                       const double *v2);

/* ---- many values in float, in place ---- */

/* values[i] (squared distances for rbf, else dot products) <- the kernel's value. */
void lm_kernel_apply(const lm_kernel *kernel, float *values, size_t n);

/* values[i] <- exp(values[i]): relative error at most LM_EXP_ERROR over the whole range; below
 * -87.3365, where the result would not be a normal number, it is 0; overflow gives infinity. */
#define LM_EXP_ERROR 8.6e-8
void lm_exp(float *values, size_t n);
/* values[i] (squared distances) <- exp(-gamma * values[i]); infinity gives 0 (1 for gamma 0). */
void lm_rbf(float *values, size_t n, float gamma);
/* values[i] (dot products) <- (gamma * values[i] + coef0)^degree. */
void lm_poly(float *values, size_t n, float gamma, float coef0, unsigned degree);
/* values[i] (dot products) <- tanh(gamma * values[i] + coef0); the relative error of the tanh
 * itself is at most LM_TANH_ERROR. */
#define LM_TANH_ERROR 1.45e-7
void lm_sigmoid(float *values, size_t n, float gamma, float coef0);

#endif
