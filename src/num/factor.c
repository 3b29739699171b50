/* factor.c: the factor is kept by rows, so that solving runs along rows in both directions.
 *
 * Without row k, the rows behind it have one entry too many: rotations of neighbouring columns push
 * these entries off the diagonal, one after the other. They leave LL' as it is, and turn L^-1 1
 * along. */
#include "num/factor.h"

#include <math.h>
#include <string.h>

double lm_factor_try(lm_factor *f, const double *row, double diagonal) {
    double *to = f->l + f->size * f->capacity;
    if (f->size > 0)
        memcpy(to, row, f->size * sizeof *to);
    lm_factor_forward(f, to);
    return diagonal - f->kernels->dot(to, to, f->size);
}

void lm_factor_append(lm_factor *f, double pivot) {
    double *row = f->l + f->size * f->capacity;
    row[f->size] = sqrt(pivot);
    f->ones[f->size] = (1 - f->kernels->dot(row, f->ones, f->size)) / row[f->size];
    f->size++;
}

void lm_factor_drop(lm_factor *f, size_t k) {
    size_t c = f->capacity, last = --f->size;
    for (size_t i = k; i < last; i++) /* row i was row i + 1 */
        memmove(f->l + i * c, f->l + (i + 1) * c, (i + 2) * sizeof *f->l);
    for (size_t j = k; j < last; j++) { /* columns j and j + 1 */
        double *diagonal = f->l + j * c + j;
        double length = sqrt(diagonal[0] * diagonal[0] + diagonal[1] * diagonal[1]);
        double cosine = diagonal[0] / length, sine = diagonal[1] / length;
        for (size_t i = j; i < last; i++) {
            double *at = f->l + i * c + j, kept = at[0];
            at[0] = cosine * kept + sine * at[1];
            at[1] = cosine * at[1] - sine * kept;
        }
        double kept = f->ones[j];
        f->ones[j] = cosine * kept + sine * f->ones[j + 1];
        f->ones[j + 1] = cosine * f->ones[j + 1] - sine * kept;
    }
}

void lm_factor_forward(const lm_factor *f, double *x) {
    for (size_t i = 0; i < f->size; i++) {
        const double *row = f->l + i * f->capacity;
        x[i] = (x[i] - f->kernels->dot(row, x, i)) / row[i];
    }
}

void lm_factor_backward(const lm_factor *f, double *x) {
    for (size_t i = f->size; i-- > 0;) {
        const double *row = f->l + i * f->capacity;
        x[i] /= row[i];
        f->kernels->axpy(-x[i], row, x, i);
    }
}
