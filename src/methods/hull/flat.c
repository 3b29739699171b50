/* flat.c: queries of linear, global sets: affine hulls, hyperdisks, ridge hulls, sphere centres.
 *
 * With o the origin and x' = x - o, one packed product gives t = Qx' - Q(mu - o) for all classes
 * and another |x' - (mu - o)|^2: (sum p + C) d multiply-adds. Error bounds, u = 2^-24, g = (d + 4)
 * u:
 *
 *   |t - t_exact|      <= T = sqrt(p) (g + 2u) |x'|
 *   ||w|^2 - exact|    <= (g + 4u) |w|^2 + 4u |w| (|x'| + |mu - o|)
 *   |e^2 - exact|      <= that + 2 |t| T + T^2, and so on for the disk
 *
 * The nearest class is certain if no other lies within the error bounds. Those that do are measured
 * again in double, from the split basis. Values beyond the range of floats make the bounds
 * infinite, so such queries are measured in double, too.
 *
 * The head (predict, few queries at once): the hulls projected onto the first principal axes H of
 * all data. Since |Hv| <= |v|, the distance there is a lower bound. Classes are visited by
 * increasing bound until it exceeds the best distance: exact, at half the work or less. */
#include "methods/hull/hull.h"

#include <float.h>
#include <math.h>

#define UNIT 0x1p-24

/* Floats of products that are held at once; from this many rows on a block beats the head. */
enum { MOST_PRODUCTS = 1 << 17, BLOCK_FROM = 8 };

/* A distance computed in floats, and a bound on its error. */
typedef struct guess {
    double d2, error, centre;
} guess;

typedef struct layout {
    size_t group;           /* rows at once */
    float *x;               /* group x d: relative to the origin */
    float *t;               /* group x places */
    float *w2;              /* group x places of the means */
    float *head;            /* axes, then products with the bases, then distances from the means */
    guess *guesses;         /* classes */
    hull_found *found;      /* classes */
    double *bound;          /* classes */
    uint32_t *order;        /* classes */
    double *wide;           /* d, then 2 * most_places */
    size_t rows, head_rows; /* touched: rows of d floats, rows of axes floats */
} layout;

static size_t places_of(const hull_model *m) {
    return (size_t)m->flat.start[m->classes] * LM_PANEL;
}

static size_t mean_places(const hull_model *m) {
    return (m->classes + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

/* ---- scratch ---- */

static layout lay_out(const hull_model *m, size_t rows, lm_cursor *at) {
    size_t places = places_of(m), means = mean_places(m), group = MOST_PRODUCTS / (places + means);
    size_t axes = (m->flat.axes + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
    layout l = {.group = group < 1 ? 1 : group < rows ? group : rows};
    l.x = lm_take_cells(at, l.group, m->d, sizeof *l.x);
    l.t = lm_take_cells(at, l.group, places ? places : 1, sizeof *l.t);
    l.w2 = lm_take_cells(at, l.group, means, sizeof *l.w2);
    l.head = lm_take(at, axes ? axes + places + means : 0, sizeof *l.head);
    l.guesses = lm_take(at, m->classes, sizeof *l.guesses);
    l.bound = lm_take(at, m->classes, sizeof *l.bound);
    l.order = lm_take(at, m->classes, sizeof *l.order);
    l.wide = lm_take(at, m->d + 2 * m->most_places, sizeof *l.wide);
    l.found = lm_take(at, m->classes, sizeof *l.found);
    return l;
}

void hull_flat_scratch(const hull_model *m, size_t rows, lm_cursor *at) {
    (void)lay_out(m, rows, at);
}

limn_status hull_flat_prepare(limn_context *ctx, hull_model *m) {
    hull_flat *f = &m->flat;
    f->mean_norm = lm_alloc(&ctx->mem, m->classes, sizeof *f->mean_norm);
    if (!f->mean_norm)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < m->classes; c++) {
        double sum = 0;
        for (size_t j = 0; j < m->d; j++) {
            double value = f->mean[c * m->d + j] - (double)f->origin[j];
            sum += value * value;
        }
        f->mean_norm[c] = sqrt(sum);
        size_t places = (size_t)(f->start[c + 1] - f->start[c]) * LM_PANEL;
        m->most_places = places > m->most_places ? places : m->most_places;
    }
    return LIMN_OK;
}

/* ---- one class ---- */

/* The distance from the products of a query (t, before the offset) and its squared distance from
 * the mean. */
static guess guess_of(const hull_model *m, size_t c, const float *t, double w2, double size) {
    const hull_flat *f = &m->flat;
    size_t first = (size_t)f->start[c] * LM_PANEL,
           count = (size_t)f->start[c + 1] * LM_PANEL - first;
    const double *offset = f->offset + first;
    double g = ((double)m->d + 4) * UNIT, sum = 0, rho = 0;
    for (size_t j = 0; j < count; j++) {
        double value = (double)t[j] - offset[j];
        sum += value * value;
    }
    double length = sqrt(w2), off = sqrt((double)count) * (g + 2 * UNIT) * size;
    guess out = {.d2 = w2 - sum, .centre = w2};
    out.error = (g + 4 * UNIT) * w2 + 4 * UNIT * length * (size + f->mean_norm[c]) +
                2 * sqrt(sum) * off + off * off;
    out.d2 = out.d2 > 0 ? out.d2 : 0;
    if (f->centre) {
        for (size_t j = 0; j < count; j++) {
            double value = (double)t[j] - offset[j] - f->centre[first + j];
            rho += value * value;
        }
        double over = sqrt(rho) - f->radius[c];
        over = over > 0 ? over : 0;
        out.d2 += over * over;
        out.error += 2 * over * off + off * off;
    }
    /* Squares that underflow, and products that overflow. */
    out.error += (double)m->d * (double)FLT_MIN;
    if (!(out.d2 <= (double)FLT_MAX) || !(out.error <= (double)FLT_MAX))
        out.error = INFINITY;
    return out;
}

/* The same in double. */
static guess measure_again(const hull_model *m, size_t c, const float *x, double *wide) {
    const hull_flat *f = &m->flat;
    size_t panels = f->start[c + 1] - f->start[c], count = panels * LM_PANEL;
    double *w = wide, *t = wide + m->d, w2 = 0, sum = 0, rho = 0;
    for (size_t j = 0; j < m->d; j++) {
        w[j] = (double)x[j] - f->mean[c * m->d + j];
        w2 += w[j] * w[j];
    }
    lm_split_dots(&f->basis, f->start[c], panels, w, t, t + m->most_places);
    for (size_t j = 0; j < count; j++)
        sum += t[j] * t[j];
    guess out = {.d2 = w2 - sum > 0 ? w2 - sum : 0, .centre = w2};
    if (f->centre) {
        const double *centre = f->centre + (size_t)f->start[c] * LM_PANEL;
        for (size_t j = 0; j < count; j++)
            rho += (t[j] - centre[j]) * (t[j] - centre[j]);
        double over = sqrt(rho) - f->radius[c];
        out.d2 += over > 0 ? over * over : 0;
    }
    return out;
}

/* If more than one class may be the nearest, those are measured again. If some of them tie, all
 * classes are, since the tie rules look at all centres. Returns the nearest. */
static size_t settle(const hull_model *m, const float *x, guess *g, double *wide) {
    double least = INFINITY, scale = 0;
    size_t open = 0, best = 0, equal = 0;
    for (size_t c = 0; c < m->classes; c++) {
        least = fmin(least, g[c].d2 + g[c].error);
        scale = fmax(scale, g[c].centre);
    }
    for (size_t c = 0; c < m->classes; c++)
        open += !(g[c].d2 - g[c].error > least);
    for (size_t c = 0; c < m->classes && open > 1; c++)
        if (!(g[c].d2 - g[c].error > least) && g[c].error > 0)
            g[c] = measure_again(m, c, x, wide);
    for (size_t c = 0; c < m->classes; c++)
        best = g[c].d2 < g[best].d2 ? c : best;
    /* The scale from floats is right to a few digits, which is enough here. */
    for (size_t c = 0; c < m->classes; c++)
        equal += c == best || !(g[c].d2 - g[c].error > g[best].d2 + 2 * HULL_TIE * scale);
    for (size_t c = 0; c < m->classes && equal > 1; c++)
        g[c] = measure_again(m, c, x, wide);
    return equal > 1 ? m->classes : best;
}

/* ---- many rows ---- */

/* Rows relative to the origin. */
static void shift_rows(const hull_model *m, const float *x, size_t n, float *out) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m->d; j++)
            out[i * m->d + j] = x[i * m->d + j] - m->flat.origin[j];
}

static double size_of(const float *x, size_t d) {
    float sum[LM_PANEL] = {0};
    size_t j = 0;
    double all = 0;
    for (; j + LM_PANEL <= d; j += LM_PANEL)
        for (size_t k = 0; k < LM_PANEL; k++)
            sum[k] += x[j + k] * x[j + k];
    for (; j < d; j++)
        sum[j % LM_PANEL] += x[j] * x[j];
    for (size_t k = 0; k < LM_PANEL; k++)
        all += (double)sum[k];
    return sqrt(all) * (1 + 1e-3);
}

static void multiply(const hull_model *m, const float *x, size_t n, layout *l) {
    const hull_flat *f = &m->flat;
    size_t places = places_of(m), means = mean_places(m);
    shift_rows(m, x, n, l->x);
    l->rows += n * (m->directions + m->classes);
    if (places)
        lm_pack_block(&f->basis.high, LM_DOT, 0, f->basis.high.panels, l->x, m->d, n, l->t, places);
    lm_pack_block(&f->near_mean, LM_L2, 0, f->near_mean.panels, l->x, m->d, n, l->w2, means);
}

/* Makes and settles the guesses for row i of the block. Returns what settle does. */
static size_t settle_row(const hull_model *m, const float *x, size_t i, layout *l) {
    size_t places = places_of(m), means = mean_places(m);
    double size = size_of(l->x + i * m->d, m->d);
    for (size_t c = 0; c < m->classes; c++)
        l->guesses[c] = guess_of(m, c, l->t + i * places + (size_t)m->flat.start[c] * LM_PANEL,
                                 (double)l->w2[i * means + c], size);
    return settle(m, x + i * m->d, l->guesses, l->wide);
}

void hull_flat_measure(const hull_model *m, const float *x, size_t n, hull_found *found,
                       void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    for (size_t first = 0; first < n; first += l.group) {
        size_t some = n - first < l.group ? n - first : l.group;
        multiply(m, x + first * m->d, some, &l);
        for (size_t i = 0; i < some; i++) {
            settle_row(m, x + first * m->d, i, &l);
            for (size_t c = 0; c < m->classes; c++) {
                guess g = l.guesses[c];
                if (!(g.error <= 1e-3 * g.d2)) /* it will be printed, not only compared */
                    g = measure_again(m, c, x + (first + i) * m->d, l.wide);
                found[(first + i) * m->classes + c] = (hull_found){g.d2, g.centre};
            }
        }
    }
}

/* ---- classes ---- */

/* Whether the nearest class is too far to be known. */
static bool is_unknown(const hull_model *m, const float *x, guess *nearest, size_t c,
                       double *wide) {
    if (m->limit == INFINITY)
        return false;
    if (nearest->error > 0 && !(fabs(nearest->d2 - m->limit) > nearest->error))
        *nearest = measure_again(m, c, x, wide);
    return nearest->d2 > m->limit;
}

/* The class from settled guesses; best: as settle returned it (the number of classes: some tie). */
static int32_t pick(const hull_model *m, const float *x, size_t best, layout *l) {
    if (best == m->classes) {
        for (size_t c = 0; c < m->classes; c++)
            l->found[c] = (hull_found){l->guesses[c].d2, l->guesses[c].centre};
        best = hull_nearest(l->found, m->classes);
    }
    return is_unknown(m, x, &l->guesses[best], best, l->wide) ? -1 : (int32_t)best;
}

/* Lower bounds of all classes from the head, and their order. */
static void bound_classes(const hull_model *m, double size, layout *l) {
    const hull_flat *f = &m->flat;
    size_t places = places_of(m), axes = f->head.panels * LM_PANEL;
    float *y = l->head, *t = y + axes, *w2 = t + places;
    double g = ((double)m->d + 4) * UNIT, h = ((double)f->axes + 4) * UNIT;
    l->rows += f->axes;
    l->head_rows += m->directions + m->classes;
    lm_pack_query(&f->head, LM_DOT, 0, f->head.panels, l->x, y);
    lm_pack_query(&f->head_basis, LM_DOT, 0, f->head_basis.panels, y, t);
    lm_pack_query(&f->head_mean, LM_L2, 0, f->head_mean.panels, y, w2);
    for (size_t c = 0; c < m->classes; c++) {
        size_t first = (size_t)f->start[c] * LM_PANEL, end = (size_t)f->start[c + 1] * LM_PANEL;
        double sum = 0, reach = size + f->mean_norm[c];
        for (size_t j = first; j < end; j++) {
            double value = (double)t[j] - f->head_offset[j];
            sum += value * value;
        }
        double off = sqrt((double)f->axes) * g + sqrt((double)(end - first)) * h + 16 * UNIT;
        l->bound[c] = (double)w2[c] - sum - 8 * off * reach * reach;
        size_t at = c;
        for (; at > 0 && l->bound[c] < l->bound[l->order[at - 1]]; at--)
            l->order[at] = l->order[at - 1];
        l->order[at] = (uint32_t)c;
    }
}

/* One query: classes by increasing bound, until the next bound exceeds the best distance. */
static int32_t predict_by_head(const hull_model *m, const float *x, layout *l) {
    const hull_flat *f = &m->flat;
    double best = INFINITY, scale = 0;
    shift_rows(m, x, 1, l->x);
    double size = size_of(l->x, m->d);
    bound_classes(m, size, l);
    lm_pack_query(&f->near_mean, LM_L2, 0, f->near_mean.panels, l->x, l->w2);
    l->rows += m->classes;
    for (size_t c = 0; c < m->classes; c++)
        scale = fmax(scale, (double)l->w2[c]);
    for (size_t i = 0; i < m->classes; i++) {
        uint32_t c = l->order[i];
        double w2 = (double)l->w2[c];
        if (l->bound[c] > best) {
            l->guesses[c] = (guess){.d2 = INFINITY, .error = 0, .centre = w2};
            continue;
        }
        size_t panels = f->start[c + 1] - f->start[c];
        float *t = l->t + (size_t)f->start[c] * LM_PANEL;
        l->rows += panels * LM_PANEL;
        if (panels)
            lm_pack_query(&f->basis.high, LM_DOT, f->start[c], panels, l->x, t);
        l->guesses[c] = guess_of(m, c, t, w2, size);
        /* A little more, so that ties are never cut off. */
        best = fmin(best, l->guesses[c].d2 + l->guesses[c].error + 4 * HULL_TIE * scale);
    }
    return pick(m, x, settle(m, x, l->guesses, l->wide), l);
}

static lm_touched touched_by(const hull_model *m, const layout *l) {
    double floats = (double)l->rows * (double)m->d + (double)l->head_rows * (double)m->flat.axes;
    return (lm_touched){(double)(l->rows + l->head_rows), floats * (double)sizeof(float)};
}

lm_touched hull_flat_predict(const hull_model *m, const float *x, size_t n, int32_t *classes,
                             void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    if (m->flat.axes && m->options.prune && n < BLOCK_FROM) {
        for (size_t i = 0; i < n; i++)
            classes[i] = predict_by_head(m, x + i * m->d, &l);
        return touched_by(m, &l);
    }
    for (size_t first = 0; first < n; first += l.group) {
        size_t some = n - first < l.group ? n - first : l.group;
        multiply(m, x + first * m->d, some, &l);
        for (size_t i = 0; i < some; i++) {
            const float *row = x + (first + i) * m->d;
            size_t best = settle_row(m, x + first * m->d, i, &l);
            classes[first + i] = pick(m, row, best, &l);
        }
    }
    return touched_by(m, &l);
}

/* With s, the centre of the hard sphere (which lies in the hull), in place of the mean: the hull is
 * at e^2 = |x - s|^2 - |t|^2, the disk's centre at |t|. Samples may lie outside the span of the
 * kept directions, by up to the slack. Without directions there is only the sphere. */
void hull_flat_bounds(const hull_model *m, const float *x, double *bounds, double *centres,
                      void *scratch) {
    const hull_flat *f = &m->flat;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, 1, &at);
    multiply(m, x, 1, &l);
    double size = size_of(l.x, m->d);
    for (size_t c = 0; c < m->classes; c++) {
        const float *t = l.t + (size_t)f->start[c] * LM_PANEL;
        guess g = guess_of(m, c, t, (double)l.w2[c], size);
        double e2 = f->start[c + 1] > f->start[c] ? g.d2 : 0, rho2 = g.centre - e2;
        double error = g.error + g.error, over = 0;
        if (rho2 > error)
            over = sqrt(rho2 - error) * (1 - 1e-9) - f->radius[c] * (1 + 1e-9);
        double e = e2 > g.error ? sqrt(e2 - g.error) * (1 - 1e-9) - f->slack[c] : 0;
        bounds[c] = (e > 0 ? e * e : 0) + (over > 0 ? over * over : 0);
        centres[c] = 0;
        for (size_t j = 0; j < m->d; j++) {
            double w = (double)x[j] - f->mean[c * m->d + j];
            centres[c] += w * w;
        }
    }
}
