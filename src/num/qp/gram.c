/* gram.c: the matrices of the programs: given as a whole, or as the inner products of rows. */
#include "num/qp/qp.h"
#include "num/simd/simd.h"

#include <string.h>

/* ---- a whole matrix ---- */

static void matrix_column(void *user, size_t i, const size_t *subset, size_t count, double *out) {
    const lm_qp_matrix *m = user;
    for (size_t k = 0; k < count; k++)
        out[k] = m->cells[i * m->n + subset[k]];
}

static void matrix_product(void *user, const size_t *support, const double *weight, size_t count,
                           double *out) {
    const lm_qp_matrix *m = user;
    const lm_simd_dense *kernels = lm_simd_get()->dense;
    memset(out, 0, m->n * sizeof *out);
    for (size_t k = 0; k < count; k++)
        kernels->axpy(weight[k], m->cells + support[k] * m->n, out, m->n);
}

void lm_qp_matrix_diagonal(const lm_qp_matrix *matrix, double *diagonal) {
    for (size_t i = 0; i < matrix->n; i++)
        diagonal[i] = matrix->cells[i * matrix->n + i];
}

lm_qp_gram lm_qp_of_matrix(lm_qp_matrix *matrix, const double *diagonal) {
    return (lm_qp_gram){matrix->n, diagonal, matrix_column, matrix_product, matrix};
}

/* ---- rows ---- */

static void rows_column(void *user, size_t i, const size_t *subset, size_t count, double *out) {
    const lm_qp_rows *r = user;
    const lm_simd_dense *kernels = lm_simd_get()->dense;
    for (size_t k = 0; k < count; k++)
        out[k] = kernels->dot(r->x + i * r->p, r->x + subset[k] * r->p, r->p);
}

static void rows_product(void *user, const size_t *support, const double *weight, size_t count,
                         double *out) {
    const lm_qp_rows *r = user;
    const lm_simd_dense *kernels = lm_simd_get()->dense;
    memset(r->room, 0, r->p * sizeof *r->room);
    for (size_t k = 0; k < count; k++)
        kernels->axpy(weight[k], r->x + support[k] * r->p, r->room, r->p);
    kernels->rows_times(r->x, r->n, r->p, r->room, out);
}

void lm_qp_rows_diagonal(const lm_qp_rows *rows, double *diagonal) {
    const lm_simd_dense *kernels = lm_simd_get()->dense;
    for (size_t i = 0; i < rows->n; i++)
        diagonal[i] = kernels->dot(rows->x + i * rows->p, rows->x + i * rows->p, rows->p);
}

lm_qp_gram lm_qp_of_rows(lm_qp_rows *rows, const double *diagonal) {
    return (lm_qp_gram){rows->n, diagonal, rows_column, rows_product, rows};
}
