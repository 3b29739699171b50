/* convex.c: queries of nch: the nearest convex hull, one quadratic program per class (num/qp).
 *
 * Linear: rows and query are relative to the class's mean, G = XX', q = Xx. Kernel: G = K,
 * q = k_x. Either way d^2 = |x|^2 + 2 value.
 *
 * Which programs are solved: the distance of the nearest sample bounds that of a hull from above;
 * the distances of the untruncated hull's hyperdisk and of the hard sphere bound it from below
 * (kernel: only the sphere). Classes are visited in order of their nearest sample. A class whose
 * lower bound exceeds the best distance so far is skipped, and a program stops as soon as its dual
 * value does. Both are exact: a class that may be the nearest, or tie with it, is always solved
 * completely. */
#include "methods/hull/hull.h"
#include "num/qp/qp.h"
#include "num/rows.h"

#include <math.h>
#include <string.h>

/* An allowance for rounding. */
#define SAFETY 1e-9

enum { ROWS = 192 }; /* rows that are kept unpacked */

typedef struct layout {
    double *wide;                   /* d */
    double *values;                 /* places: kernel values, or products */
    double *room;                   /* places */
    double *q, *a;                  /* most samples */
    double *start;                  /* most samples */
    double *bound, *above, *centre; /* classes */
    size_t *nearest;                /* classes: the sample */
    uint32_t *order;                /* classes */
    float *near;                    /* places: squared distances of the samples */
    float *rows;                    /* ROWS + 1 rows of d */
    uint32_t *row_slot;             /* most samples */
    void *qp, *flat;
    size_t touched; /* in rows */
} layout;

static size_t support_of(const hull_model *m) {
    size_t most = m->most_samples;
    return m->options.kernel_space || most < m->d + 2 ? most : m->d + 2;
}

static layout lay_out(const hull_model *m, lm_cursor *at) {
    size_t places = m->samples.panels * LM_PANEL, most = m->most_samples, k = m->classes, qp;
    layout l = {.touched = 0};
    (void)lm_qp_scratch(most, support_of(m), &qp);
    l.wide = lm_take(at, m->d, sizeof *l.wide);
    l.values = lm_take(at, places, sizeof *l.values);
    l.room = lm_take(at, places, sizeof *l.room);
    l.q = lm_take(at, most, sizeof *l.q);
    l.a = lm_take(at, most, sizeof *l.a);
    l.start = lm_take(at, most, sizeof *l.start);
    l.bound = lm_take(at, k, sizeof *l.bound);
    l.above = lm_take(at, k, sizeof *l.above);
    l.centre = lm_take(at, k, sizeof *l.centre);
    l.nearest = lm_take(at, k, sizeof *l.nearest);
    l.order = lm_take(at, k, sizeof *l.order);
    l.near = lm_take(at, places, sizeof *l.near);
    l.qp = lm_take(at, qp, 1);
    l.rows = lm_take_cells(at, ROWS + 1, m->d, sizeof *l.rows);
    l.row_slot = lm_take(at, most, sizeof *l.row_slot);
    l.flat = lm_here(at);
    if (!m->options.kernel_space)
        hull_flat_scratch(m, 1, at);
    return l;
}

void hull_convex_scratch(const hull_model *m, lm_cursor *at) {
    (void)lay_out(m, at);
}

limn_status hull_convex_prepare(limn_context *ctx, hull_model *m) {
    m->noise = lm_alloc_zero(&ctx->mem, m->classes, sizeof *m->noise);
    if (!m->noise)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < m->classes; c++)
        for (size_t i = 0; i < m->count[c]; i++)
            m->noise[c] = fmax(
                m->noise[c], 4 * HULL_GAP * m->convex.diagonal[(size_t)m->first[c] * LM_PANEL + i]);
    return LIMN_OK;
}

/* ---- the matrix of a class ---- */

typedef struct matrix {
    const hull_model *m;
    size_t c;
    double *wide; /* d */
    double *room; /* places of the class */
    /* The rows that a program works with, unpacked once. */
    float *rows;        /* ROWS x d, and one more row */
    uint32_t *row_slot; /* per sample: its slot + 1, or 0 */
    size_t used;
    lm_pair_distance *distance;
} matrix;

static const float *sample_at(const hull_model *m, size_t c, size_t i) {
    return m->samples.data + ((size_t)m->first[c] + i / LM_PANEL) * LM_PANEL * m->d + i % LM_PANEL;
}

static void sample_of(const hull_model *m, size_t c, size_t i, double *out) {
    const float *row = sample_at(m, c, i);
    for (size_t j = 0; j < m->d; j++)
        out[j] = (double)row[j * LM_PANEL];
}

static void take_out(const hull_model *m, size_t c, size_t i, float *out) {
    const float *row = sample_at(m, c, i);
    for (size_t j = 0; j < m->d; j++)
        out[j] = row[j * LM_PANEL];
}

/* Sample i, until the next call. */
static const float *row_of(matrix *g, size_t i) {
    const hull_model *m = g->m;
    if (g->row_slot[i])
        return g->rows + (g->row_slot[i] - 1) * m->d;
    if (g->used == ROWS) { /* few programs need so many */
        memset(g->row_slot, 0, (size_t)m->count[g->c] * sizeof *g->row_slot);
        g->used = 0;
    }
    float *row = g->rows + g->used * m->d;
    take_out(m, g->c, i, row);
    g->row_slot[i] = (uint32_t)++g->used;
    return row;
}

/* room <- products of the class's samples with the vector in wide. */
static void multiply(const matrix *g) {
    const hull_model *m = g->m;
    lm_pack_dots_double(&m->samples, m->first[g->c], m->first[g->c + 1] - m->first[g->c], g->wide,
                        g->room);
}

/* The products of sample i with all samples, both less the shift (linear), or its kernel values,
 * into room. */
static void gram_row(const matrix *g, size_t i) {
    const hull_model *m = g->m;
    size_t at = (size_t)m->first[g->c] * LM_PANEL, n = (size_t)m->count[g->c];
    sample_of(m, g->c, i, g->wide);
    if (m->options.kernel_space) {
        double over = hull_kernel_shift(m, g->wide);
        multiply(g);
        lm_kernel_of_many(&m->options.kernel, g->room, n, over, m->square[at + i], m->square + at);
        return;
    }
    const float *shift = m->convex.shift + g->c * m->d;
    double constant = 0;
    for (size_t j = 0; j < m->d; j++) {
        g->wide[j] -= (double)shift[j];
        constant += g->wide[j] * (double)shift[j];
    }
    multiply(g);
    for (size_t j = 0; j < n; j++)
        g->room[j] -= constant;
}

/* From distances, which need only the rows of the subset: G_ik = (G_ii + G_kk - |x_i - x_k|^2) / 2,
 * or the rbf of the distance. */
static void column(void *user, size_t i, const size_t *subset, size_t count, double *out) {
    matrix *g = user;
    const hull_model *m = g->m;
    const double *diagonal = m->convex.diagonal + (size_t)m->first[g->c] * LM_PANEL;
    if (m->options.kernel_space && m->options.kernel.type != LM_RBF) {
        gram_row(g, i);
        for (size_t k = 0; k < count; k++)
            out[k] = g->room[subset[k]];
        return;
    }
    float *own = g->rows + (size_t)ROWS * m->d;
    memcpy(own, row_of(g, i), m->d * sizeof *own);
    for (size_t k = 0; k < count; k++) {
        double d2 = g->distance(own, row_of(g, subset[k]), m->d);
        out[k] = m->options.kernel_space ? exp(-m->options.kernel.gamma * d2)
                                         : (diagonal[i] + diagonal[subset[k]] - d2) / 2;
    }
}

static void product_linear(matrix *g, const size_t *support, const double *weight, size_t count,
                           double *out) {
    const hull_model *m = g->m;
    const float *shift = m->convex.shift + g->c * m->d;
    double constant = 0;
    memset(g->wide, 0, m->d * sizeof *g->wide);
    for (size_t k = 0; k < count; k++) {
        const float *row = row_of(g, support[k]);
        for (size_t j = 0; j < m->d; j++)
            g->wide[j] += weight[k] * ((double)row[j] - (double)shift[j]);
    }
    for (size_t j = 0; j < m->d; j++)
        constant += g->wide[j] * (double)shift[j];
    multiply(g);
    for (size_t j = 0; j < m->count[g->c]; j++)
        out[j] = g->room[j] - constant;
}

static void product(void *user, const size_t *support, const double *weight, size_t count,
                    double *out) {
    matrix *g = user;
    size_t n = (size_t)g->m->count[g->c];
    if (!g->m->options.kernel_space) {
        product_linear(g, support, weight, count, out);
        return;
    }
    memset(out, 0, n * sizeof *out);
    for (size_t k = 0; k < count; k++) {
        gram_row(g, support[k]);
        for (size_t j = 0; j < n; j++)
            out[j] += weight[k] * g->room[j];
    }
}

/* ---- one class ---- */

/* q and |x|^2 of the class's program. */
static double prepare(const hull_model *m, size_t c, const float *x, double self, layout *l) {
    size_t at = (size_t)m->first[c] * LM_PANEL, n = (size_t)m->count[c];
    if (m->options.kernel_space) {
        memcpy(l->q, l->values + at, n * sizeof *l->q);
        return self;
    }
    const float *shift = m->convex.shift + c * m->d;
    double square = 0, constant = 0;
    for (size_t j = 0; j < m->d; j++) {
        l->wide[j] = (double)x[j] - (double)shift[j];
        square += l->wide[j] * l->wide[j];
        constant += l->wide[j] * (double)shift[j];
    }
    matrix g = {.m = m, .c = c, .wide = l->wide, .room = l->room};
    multiply(&g);
    for (size_t i = 0; i < n; i++)
        l->q[i] = l->room[i] - constant;
    return square;
}

/* The squared distance from the hull of class c; INFINITY if it is certainly above limit. */
static double solve(const hull_model *m, size_t c, const float *x, double self, double limit,
                    layout *l) {
    size_t n = (size_t)m->count[c];
    double square = prepare(m, c, x, self, l);
    matrix g = {.m = m,
                .c = c,
                .wide = l->wide,
                .room = l->room,
                .rows = l->rows,
                .row_slot = l->row_slot,
                .distance = lm_pair_kernel(LM_L2)};
    memset(l->row_slot, 0, n * sizeof *l->row_slot);
    lm_qp_gram gram = {.n = n,
                       .diagonal = m->convex.diagonal + (size_t)m->first[c] * LM_PANEL,
                       .column = column,
                       .product = product,
                       .user = &g};
    memset(l->start, 0, n * sizeof *l->start);
    l->start[l->nearest[c]] = 1;
    lm_qp_goal goal = {.tolerance = HULL_GAP,
                       .abandon = (limit - square) / 2,
                       .constant = square / 2,
                       .start = l->start,
                       .support_max = n < support_of(m) ? n : support_of(m)};
    lm_qp_result result;
    lm_qp_simplex(&gram, l->q, &goal, l->a, &result, l->qp);
    l->touched += n * (1 + result.passes);
    if (result.abandoned)
        return INFINITY;
    double d2 = square + 2 * result.value;
    return d2 > m->noise[c] ? d2 : 0;
}

/* ---- bounds ---- */

static void look_linear(const hull_model *m, const float *x, layout *l) {
    lm_pack_query(&m->samples, LM_L2, 0, m->samples.panels, x, l->near);
    for (size_t c = 0; c < m->classes; c++) {
        const float *near = l->near + (size_t)m->first[c] * LM_PANEL;
        l->nearest[c] = lm_argmin(near, (size_t)m->count[c]);
        /* Floats: (d + 2) 2^-24 at most; infinite if they overflow. */
        l->above[c] = (double)near[l->nearest[c]] * (1 + ((double)m->d + 4) * 0x1p-23) + 1e-30;
    }
    hull_flat_bounds(m, x, l->bound, l->centre, l->flat);
}

static double look_kernel(const hull_model *m, const float *x, layout *l) {
    double self = hull_kernel_values(m, x, l->values, l->wide);
    for (size_t c = 0; c < m->classes; c++) {
        size_t at = (size_t)m->first[c] * LM_PANEL, best = 0;
        double least = INFINITY, dot = 0;
        for (size_t i = 0; i < m->count[c]; i++) {
            double d2 = self - 2 * l->values[at + i] + m->convex.diagonal[at + i];
            dot += m->convex.weight[at + i] * l->values[at + i];
            if (d2 < least) {
                least = d2;
                best = i;
            }
        }
        l->nearest[c] = best;
        double w2 = self - 2 * dot + m->convex.constant[c];
        w2 = w2 > 0 ? w2 : 0;
        double over = sqrt(w2) * (1 - SAFETY) - m->convex.radius[c] * (1 + SAFETY);
        double scale = fmax(fabs(self), fabs(m->convex.constant[c]));
        l->above[c] = (least > 0 ? least : 0) + SAFETY * scale;
        l->bound[c] = over > 0 ? over * over - SAFETY * scale : 0;
        l->centre[c] = w2;
    }
    return self;
}

/* Rows that every query touches: all samples once, plus directions and centres for the bounds. */
static size_t touched_always(const hull_model *m) {
    size_t rows = 0;
    for (size_t c = 0; c < m->classes; c++)
        rows += (size_t)m->count[c];
    return m->options.kernel_space ? rows : rows + m->directions + m->classes;
}

lm_touched hull_convex_measure(const hull_model *m, const float *x, bool prune, hull_found *found,
                               void *scratch) {
    double best = INFINITY, scale = 0, noise = 0, self = 0;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, &at);
    if (m->options.kernel_space)
        self = look_kernel(m, x, &l);
    else
        look_linear(m, x, &l);
    for (size_t c = 0; c < m->classes; c++) {
        scale = fmax(scale, l.centre[c]);
        noise = fmax(noise, m->noise[c]);
        best = prune ? fmin(best, l.above[c]) : INFINITY;
        size_t place = c;
        for (; place > 0 && l.above[c] < l.above[l.order[place - 1]]; place--)
            l.order[place] = l.order[place - 1];
        l.order[place] = (uint32_t)c;
    }
    double equal = 4 * HULL_TIE * scale + 2 * noise;
    for (size_t i = 0; i < m->classes; i++) {
        size_t c = l.order[i];
        double limit = best + equal;
        found[c] = (hull_found){INFINITY, l.centre[c]};
        if (l.bound[c] > limit)
            continue;
        found[c].d2 = solve(m, c, x, self, limit, &l);
        best = prune ? fmin(best, found[c].d2) : INFINITY;
    }
    double rows = (double)(l.touched + touched_always(m));
    return (lm_touched){rows, rows * (double)m->d * (double)sizeof(float)};
}
