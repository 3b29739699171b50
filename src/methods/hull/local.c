/* local.c: all five sets from the k samples of a class that are nearest to the query (in input
 * space, ties go to the lowest row), using the Gram matrix of the differences from the query,
 *
 *   K_ij = (x_i - x)'(x_j - x)    or    k(x_i, x_j) - k(x_i, x) - k(x_j, x) + k(x, x)
 *
 * which loses the fewest digits. With r = K1/k and m = mean r = |w|^2, the centred Gram matrix is
 * G = K - r1' - 1r' + m, and q_i = (x_i - mu)'(x - mu) = m - r_i:
 *
 *   nah, nhd  G = V S^2 V', t_j = v_j'q / s_j, samples at V S
 *   nrh       |w|^2 - q'(G + lambda I)^-1 q, by a Cholesky factorisation
 *   nch       min a'Ka on the simplex        nsc  a'Ka, a from the sphere of G */
#include "methods/hull/hull.h"
#include "num/cholesky.h"
#include "num/jacobi.h"
#include "num/qp/qp.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FLOOR 1e-8

typedef struct layout {
    double *wide;                          /* d */
    double *y;                             /* k x d */
    double *self;                          /* k: squares, or kernel values with themselves */
    double *cross;                         /* k: kernel values with the query */
    double *gram, *vectors, *work, *coord; /* k x k each */
    double *r, *q, *t, *values, *a;        /* k each */
    double *room, *diagonal;               /* k each */
    void *qp, *search;
} layout;

/* What is known about a neighbourhood. */
typedef struct patch {
    size_t n;
    double w2;      /* |w|^2 */
    double largest; /* of the samples' lengths */
    double trace;   /* of G */
} patch;

static size_t most_neighbors(const hull_model *m) {
    size_t k = m->options.neighbors;
    return k < m->most_samples ? k : m->most_samples;
}

static layout lay_out(const hull_model *m, lm_cursor *at) {
    size_t k = most_neighbors(m), qp, sphere, search;
    layout l;
    (void)lm_qp_scratch(k, k, &qp);
    (void)lm_qp_sphere_scratch(k, k, &sphere);
    (void)lm_nearest_scratch(1, k, &search);
    l.wide = lm_take(at, m->d, sizeof *l.wide);
    l.y = lm_take_cells(at, k, m->d, sizeof *l.y);
    double **const squares[] = {&l.gram, &l.vectors, &l.work, &l.coord};
    for (size_t i = 0; i < LM_COUNT(squares); i++)
        *squares[i] = lm_take_cells(at, k, k, sizeof(double));
    double **const lists[] = {&l.self,   &l.cross, &l.r,    &l.q,       &l.t,
                              &l.values, &l.a,     &l.room, &l.diagonal};
    for (size_t i = 0; i < LM_COUNT(lists); i++)
        *lists[i] = lm_take(at, k, sizeof(double));
    l.qp = lm_take(at, qp > sphere ? qp : sphere, 1);
    l.search = lm_take(at, search, 1);
    return l;
}

void hull_local_scratch(const hull_model *m, lm_cursor *at) {
    (void)lay_out(m, at);
}

limn_status hull_local_prepare(limn_context *ctx, hull_model *m) {
    m->near = lm_alloc_zero(&ctx->mem, m->classes, sizeof *m->near);
    if (!m->near)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < m->classes; c++) {
        lm_nearest_set *set = &m->near[c];
        size_t first = m->first[c];
        lm_pack_view(m->samples.data + first * LM_PANEL * m->d, (size_t)m->count[c], m->d,
                     &set->pack);
        set->norms = m->norms + first * LM_PANEL;
        set->metric = LM_NEAREST_L2;
        lm_nearest_prepare(set);
    }
    return LIMN_OK;
}

/* ---- the Gram matrix ---- */

static double dot(const double *a, const double *b, size_t d) {
    double lane[8] = {0};
    size_t j = 0;
    for (; j + 8 <= d; j += 8)
        for (size_t k = 0; k < 8; k++)
            lane[k] += a[j + k] * b[j + k];
    for (; j < d; j++)
        lane[j % 8] += a[j] * b[j];
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
           ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

/* The neighbours' rows, minus the query if linear or rbf, where only differences matter; the query
 * itself is then 0. */
static void gather(const hull_model *m, size_t c, const float *x, lm_nearest_found found,
                   layout *l) {
    const lm_pack *pack = &m->near[c].pack;
    bool moved = !m->options.kernel_space || m->options.kernel.type == LM_RBF;
    for (size_t j = 0; j < m->d; j++)
        l->wide[j] = moved ? 0 : (double)x[j];
    for (size_t i = 0; i < found.count; i++) {
        size_t row = (size_t)found.items[i].row;
        const float *sample = pack->data + row / LM_PANEL * LM_PANEL * m->d + row % LM_PANEL;
        double *y = l->y + i * m->d, square = 0;
        for (size_t j = 0; j < m->d; j++) {
            double value = (double)sample[j * LM_PANEL];
            y[j] = moved ? value - (double)x[j] : value;
            square += value * value;
        }
        l->self[i] = square; /* not from norms, which are floats and may be infinite */
    }
}

static void linear_gram(const hull_model *m, size_t n, layout *l) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            l->gram[i * n + j] = l->gram[j * n + i] = dot(l->y + i * m->d, l->y + j * m->d, m->d);
}

static void kernel_gram(const hull_model *m, size_t n, layout *l) {
    const lm_kernel *kernel = &m->options.kernel;
    double x2 = dot(l->wide, l->wide, m->d), self = lm_kernel_of_dots(kernel, x2, x2, x2);
    for (size_t i = 0; i < n; i++) {
        const double *y = l->y + i * m->d;
        l->self[i] = dot(y, y, m->d);
        l->cross[i] = lm_kernel_of_dots(kernel, dot(y, l->wide, m->d), l->self[i], x2);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double value = i == j ? l->self[i] : dot(l->y + i * m->d, l->y + j * m->d, m->d);
            value = lm_kernel_of_dots(kernel, value, l->self[i], l->self[j]);
            l->gram[i * n + j] = l->gram[j * n + i] = value - l->cross[i] - l->cross[j] + self;
        }
    for (size_t i = 0; i < n; i++)
        l->self[i] = lm_kernel_of_dots(kernel, l->self[i], l->self[i], l->self[i]);
}

/* work <- G, the centred matrix; r, q. */
static patch centre(size_t n, layout *l) {
    patch p = {.n = n};
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += l->gram[i * n + j];
        l->r[i] = sum / (double)n;
        p.w2 += l->r[i] / (double)n;
        p.largest = fmax(p.largest, sqrt(fmax(l->self[i], 0)));
    }
    for (size_t i = 0; i < n; i++) {
        l->q[i] = p.w2 - l->r[i];
        for (size_t j = 0; j < n; j++)
            l->work[i * n + j] = l->gram[i * n + j] - l->r[i] - l->r[j] + p.w2;
        p.trace += l->work[i * n + i];
    }
    return p;
}

/* ---- the sets ---- */

static double clipped(double value) {
    return value > 0 ? value : 0;
}

/* The directions of work = G: t, and for disks the samples' coordinates (coord: n x rank). */
static size_t find_directions(const hull_model *m, const patch *p, layout *l) {
    size_t n = p->n, rank = 0;
    lm_jacobi(l->work, n, l->values, l->vectors);
    double first = sqrt(clipped(l->values[0]));
    double least = fmax(m->options.cut * first, FLOOR * sqrt((double)n) * p->largest);
    while (rank + 1 < n && sqrt(clipped(l->values[rank])) > least)
        rank++;
    for (size_t j = 0; j < rank; j++) {
        double s = sqrt(l->values[j]), sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += l->vectors[j * n + i] * l->q[i];
            l->coord[i * rank + j] = l->vectors[j * n + i] * s;
        }
        l->t[j] = sum / s;
    }
    return rank;
}

/* The number of directions that the rule keeps. */
static size_t dim_of(const hull_model *m, double wanted, size_t rank, const double *values) {
    if (m->options.dim_rule == HULL_DIM_GAP)
        return hull_gap(values, rank, true);
    return wanted < (double)rank ? (size_t)wanted : rank;
}

static double bound_of(const hull_model *m, size_t n) {
    return m->options.nu > 0 ? 1 / (m->options.nu * (double)n) : 1;
}

/* What the disk adds to the affine hull of the first p directions. */
static double over_disk(const hull_model *m, size_t n, size_t rank, size_t p, layout *l) {
    lm_qp_ball ball;
    if (p == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        memcpy(l->work + i * p, l->coord + i * rank, p * sizeof *l->work);
    lm_qp_rows rows = {.x = l->work, .n = n, .p = p, .room = l->room};
    lm_qp_rows_diagonal(&rows, l->diagonal);
    lm_qp_gram gram = lm_qp_of_rows(&rows, l->diagonal);
    lm_qp_sphere_run(&gram, bound_of(m, n), HULL_SPHERE_GAP, n, l->a, &ball, l->qp);
    double rho = 0;
    for (size_t j = 0; j < p; j++) {
        double at = 0;
        for (size_t i = 0; i < n; i++)
            at += l->a[i] * l->work[i * p + j];
        rho += (l->t[j] - at) * (l->t[j] - at);
    }
    double over = clipped(sqrt(rho) - sqrt(ball.r2));
    return over * over;
}

static void affine(const hull_model *m, const patch *p, const double *grid, size_t count,
                   double *d2, layout *l) {
    size_t rank = find_directions(m, p, l);
    for (size_t g = 0; g < count; g++) {
        size_t dim = dim_of(m, grid[g], rank, l->values);
        double sum = 0;
        for (size_t j = 0; j < dim; j++)
            sum += l->t[j] * l->t[j];
        d2[g] = clipped(p->w2 - sum);
        if (m->options.kind == HULL_NHD)
            d2[g] += over_disk(m, p->n, rank, dim, l);
    }
}

static void ridge(const hull_model *m, const patch *p, const double *grid, size_t count, double *d2,
                  layout *l) {
    size_t n = p->n, possible = n - 1;
    if (!m->options.kernel_space && m->d < possible)
        possible = m->d;
    double unit = possible ? p->trace / (double)possible : 0;
    memcpy(l->vectors, l->work, n * n * sizeof *l->vectors);
    for (size_t g = 0; g < count; g++) {
        double lambda = grid[g] * unit;
        memcpy(l->work, l->vectors, n * n * sizeof *l->work);
        memcpy(l->t, l->q, n * sizeof *l->t);
        for (size_t i = 0; i < n; i++)
            l->work[i * n + i] += lambda;
        d2[g] = p->w2;
        if (!(lambda > 0) || !lm_cholesky_whole(l->work, n))
            continue;
        lm_cholesky_whole_forward(l->work, n, l->t);
        d2[g] = clipped(p->w2 - dot(l->t, l->t, n));
    }
}

static double least_form(const patch *p, layout *l) {
    size_t n = p->n;
    lm_qp_result result;
    lm_qp_matrix matrix = {.cells = l->gram, .n = n};
    lm_qp_matrix_diagonal(&matrix, l->diagonal);
    lm_qp_gram gram = lm_qp_of_matrix(&matrix, l->diagonal);
    double largest = 0;
    memset(l->t, 0, n * sizeof *l->t);
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, l->gram[i * n + i]);
    lm_qp_goal goal = {.tolerance = HULL_GAP, .abandon = INFINITY, .constant = 0, .support_max = n};
    lm_qp_simplex(&gram, l->t, &goal, l->a, &result, l->qp);
    return 2 * result.value > 4 * HULL_GAP * largest ? 2 * result.value : 0;
}

static double to_centre(const hull_model *m, const patch *p, layout *l) {
    size_t n = p->n;
    lm_qp_ball ball;
    lm_qp_matrix matrix = {.cells = l->work, .n = n};
    lm_qp_matrix_diagonal(&matrix, l->diagonal);
    lm_qp_gram gram = lm_qp_of_matrix(&matrix, l->diagonal);
    lm_qp_sphere_run(&gram, bound_of(m, n), HULL_SPHERE_GAP, n, l->a, &ball, l->qp);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += l->a[i] * dot(l->gram + i * n, l->a, n);
    return clipped(sum);
}

/* The neighbours of class c and their matrices; n 0: there are none. */
static patch look(const hull_model *m, const float *x, size_t c, size_t exclude, layout *l) {
    lm_nearest_found found = lm_nearest_one(&m->near[c], x, most_neighbors(m), exclude, l->search);
    if (found.count == 0)
        return (patch){.n = 0};
    gather(m, c, x, found, l);
    if (m->options.kernel_space)
        kernel_gram(m, found.count, l);
    else
        linear_gram(m, found.count, l);
    return centre(found.count, l);
}

/* Returns the squared distance from the mean. */
static double measure(const hull_model *m, const float *x, size_t c, size_t exclude,
                      const double *grid, size_t count, double *d2, layout *l) {
    patch p = look(m, x, c, exclude, l);
    size_t n = p.n;
    for (size_t g = 0; g < count; g++)
        d2[g] = INFINITY;
    if (n == 0)
        return INFINITY;
    switch (m->options.kind) {
    case HULL_NAH:
    case HULL_NHD:
        affine(m, &p, grid, count, d2, l);
        break;
    case HULL_NRH:
        ridge(m, &p, grid, count, d2, l);
        break;
    case HULL_NCH:
        d2[0] = least_form(&p, l);
        break;
    case HULL_NSC:
        d2[0] = to_centre(m, &p, l);
        break;
    }
    double scale = 0;
    for (size_t i = 0; i < n && m->options.kernel_space; i++)
        scale = fmax(scale, fabs(l->self[i]));
    for (size_t g = 0; g < count; g++)
        d2[g] = d2[g] > HULL_NOISE * scale ? d2[g] : 0;
    return p.w2;
}

void hull_local_grid(const hull_model *m, const float *x, size_t c, size_t exclude,
                     const double *grid, size_t count, double *d2, void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, &at);
    measure(m, x, c, exclude, grid, count, d2, &l);
}

/* The centre of a convex hull is that of the hard sphere, needed only if classes tie. */
static void find_centres(const hull_model *m, const float *x, hull_found *found, layout *l) {
    double least = INFINITY, scale = 0;
    size_t equal = 0;
    for (size_t c = 0; c < m->classes; c++) {
        least = fmin(least, found[c].d2);
        scale = fmax(scale, found[c].centre);
    }
    for (size_t c = 0; c < m->classes; c++)
        equal += found[c].d2 <= least + HULL_TIE * scale;
    for (size_t c = 0; c < m->classes && equal > 1; c++)
        if (found[c].d2 <= least + HULL_TIE * scale) {
            patch p = look(m, x, c, SIZE_MAX, l);
            found[c].centre = to_centre(m, &p, l);
        }
}

void hull_local_measure(const hull_model *m, const float *x, hull_found *found, void *scratch) {
    bool ridge_hull = m->options.kind == HULL_NRH;
    double grid = ridge_hull                         ? m->options.rho
                  : m->options.dim > m->most_samples ? (double)m->most_samples
                                                     : (double)m->options.dim;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, &at);
    for (size_t c = 0; c < m->classes; c++)
        found[c].centre = measure(m, x, c, SIZE_MAX, &grid, 1, &found[c].d2, &l);
    for (size_t c = 0; c < m->classes && m->options.kind == HULL_NSC; c++)
        found[c].centre = found[c].d2;
    if (m->options.kind == HULL_NCH)
        find_centres(m, x, found, &l);
}
