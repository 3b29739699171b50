/* cholesky.c: the factor is kept by rows, so that solving runs along rows in both directions.
 *
 * When row k is removed, each later row has one entry too many, above the diagonal. Rotations of
 * neighbouring columns remove these entries one by one; they leave LL' unchanged, and L^-1 1 is
 * rotated with them. */
#include "num/cholesky.h"

#include <math.h>
#include <string.h>

double lm_cholesky_try(lm_cholesky *f, const double *row, double diagonal) {
    double *to = f->l + f->size * f->capacity;
    if (f->size > 0)
        memcpy(to, row, f->size * sizeof *to);
    lm_cholesky_forward(f, to);
    return diagonal - f->kernels->dot(to, to, f->size);
}

void lm_cholesky_append(lm_cholesky *f, double pivot) {
    double *row = f->l + f->size * f->capacity;
    row[f->size] = sqrt(pivot);
    f->ones[f->size] = (1 - f->kernels->dot(row, f->ones, f->size)) / row[f->size];
    f->size++;
}

void lm_cholesky_drop(lm_cholesky *f, size_t k) {
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

void lm_cholesky_forward(const lm_cholesky *f, double *x) {
    for (size_t i = 0; i < f->size; i++) {
        const double *row = f->l + i * f->capacity;
        x[i] = (x[i] - f->kernels->dot(row, x, i)) / row[i];
    }
}

void lm_cholesky_backward(const lm_cholesky *f, double *x) {
    for (size_t i = f->size; i-- > 0;) {
        const double *row = f->l + i * f->capacity;
        x[i] /= row[i];
        f->kernels->axpy(-x[i], row, x, i);
    }
}

/* ---- a whole matrix at once ---- */

bool lm_cholesky_whole(double *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = a + j * n;
            double sum = row[j];
            for (size_t k = 0; k < j; k++)
                sum -= row[k] * other[k];
            if (j < i)
                row[j] = sum / other[j];
            else if (sum > 0)
                row[i] = sqrt(sum);
            else
                return false;
        }
    }
    return true;
}

bool lm_cholesky_solve(double *a, size_t n, double ridge, double *x, size_t count) {
    lm_cholesky f = {.l = a, .capacity = n, .kernels = lm_simd_get()->dense};
    for (; f.size < n; f.size++) {
        double *row = a + f.size * n, diagonal = row[f.size] + ridge;
        lm_cholesky_forward(&f, row);
        double pivot = diagonal - f.kernels->dot(row, row, f.size);
        if (!(pivot > 0) || !isfinite(pivot))
            return false;
        row[f.size] = sqrt(pivot);
    }
    for (size_t c = 0; c < count; c++) {
        lm_cholesky_forward(&f, x + c * n);
        lm_cholesky_backward(&f, x + c * n);
    }
    for (size_t i = 0; i < n * count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

void lm_cholesky_whole_forward(const double *l, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) {
        double sum = x[i];
        for (size_t k = 0; k < i; k++)
            sum -= l[i * n + k] * x[k];
        x[i] = sum / l[i * n + i];
    }
}
