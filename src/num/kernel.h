/* kernel.h: kernels, in one place: one value in double, and rows of values in float.
 *
 *   linear u.v   polynomial (gamma u.v + coef0)^degree   rbf exp(-gamma |u-v|^2)
 *   sigmoid tanh(gamma u.v + coef0)
 *   chi2 exp(-gamma sum_j (u_j - v_j)^2 / (u_j + v_j))   intersection sum_j min(u_j, v_j)
 *
 * The last two are for features that are 0 or more. */
#ifndef LIMN_NUM_KERNEL_H
#define LIMN_NUM_KERNEL_H

#include "num/pack.h"

/* The first four in LIBSVM's order; its files, and the machines of src/svm, have only these. */
typedef enum lm_kernel_type {
    LM_LINEAR,
    LM_POLYNOMIAL,
    LM_RBF,
    LM_SIGMOID,
    LM_CHI2_KERNEL,
    LM_INTERSECTION
} lm_kernel_type;

typedef struct lm_kernel {
    lm_kernel_type type;
    int degree; /* of polynomial, 0 or more */
    double gamma, coef0;
} lm_kernel;

/* "linear", "polynomial", "rbf", "sigmoid", as in LIBSVM's files, "chi2", "intersection"; NULL
 * outside the enumeration. */
const char *lm_kernel_name(lm_kernel_type type);
/* What a query computes with each vector before the kernel is applied: LM_L2 for rbf, LM_CHI2 for
 * chi2, LM_MIN for intersection, LM_DOT for the others. */
lm_metric lm_kernel_metric(const lm_kernel *kernel);

/* ---- one value ---- */

/* From two rows of d floats; every kernel. */
double lm_kernel_of_rows(const lm_kernel *kernel, const float *a, const float *b, size_t d);
/* From u.v and |u-v|^2; rbf uses the second, the others the first. For chi2, distance is its own
 * sum; for intersection, dot is the sum of the minima. */
double lm_kernel_value(const lm_kernel *kernel, double dot, double distance);
/* The derivative of that value with respect to the one of the two that it uses. */
double lm_kernel_slope(const lm_kernel *kernel, double dot, double distance);
/* From u.v, |u|^2 and |v|^2. A distance small enough to be rounding error counts as 0. Dot products
 * do not determine chi2 and intersection: NaN. */
double lm_kernel_of_dots(const lm_kernel *kernel, double dot, double u2, double v2);

/* The same for n rows v, in double: values[i] <- from u.v = values[i] - shift, |u|^2 and v2[i]. */
void lm_kernel_of_many(const lm_kernel *kernel, double *values, size_t n, double shift, double u2,
                       const double *v2);

/* ---- many values in float, in place ---- */

/* values[i] (what lm_kernel_metric says) <- the kernel's value. */
void lm_kernel_apply(const lm_kernel *kernel, float *values, size_t n);

/* values[i] <- exp(values[i]): relative error at most LM_EXP_ERROR over the whole range; below
 * -87.3365, where the result would not be a normal number, it is 0; overflow gives infinity. */
#define LM_EXP_ERROR 8.6e-8
void lm_exp(float *values, size_t n);
/* values[i] (distances) <- exp(-gamma * values[i]); infinity gives 0 (1 for gamma 0). */
void lm_rbf(float *values, size_t n, float gamma);
/* values[i] (dot products) <- (gamma * values[i] + coef0)^degree. */
void lm_poly(float *values, size_t n, float gamma, float coef0, unsigned degree);
/* values[i] (dot products) <- tanh(gamma * values[i] + coef0); the relative error of the tanh
 * itself is at most LM_TANH_ERROR. */
#define LM_TANH_ERROR 1.45e-7
void lm_sigmoid(float *values, size_t n, float gamma, float coef0);

#endif
