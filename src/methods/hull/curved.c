/* curved.c: queries of global sets in the feature space of a kernel, in double.
 *
 * With weights u of the samples that make the centre (1/n, or those of nsc's sphere), k_x the
 * kernel values of the query and b = k_x - Ku, less its mean:
 *
 *   |w|^2 = k(x, x) - 2 u'k_x + u'Ku,   t_j = v_j'b / s_j */
#include "methods/hull/hull.h"

#include <math.h>

/* A float, so that differences of floats from it are usually exact. */
static void find_origin(hull_model *m) {
    double all = 0;
    for (size_t c = 0; c < m->classes; c++)
        all += (double)m->count[c];
    for (size_t c = 0; c < m->classes; c++)
        for (size_t i = 0; i < m->count[c]; i++) {
            size_t place = (size_t)m->first[c] * LM_PANEL + i;
            const float *row =
                m->samples.data + place / LM_PANEL * LM_PANEL * m->d + place % LM_PANEL;
            for (size_t j = 0; j < m->d; j++)
                m->origin[j] += (double)row[j * LM_PANEL] / all;
        }
    for (size_t j = 0; j < m->d; j++)
        m->origin[j] = (double)(float)m->origin[j];
}

limn_status hull_curved_prepare(limn_context *ctx, hull_model *m) {
    size_t places = m->samples.panels * LM_PANEL;
    m->square = lm_alloc_zero(&ctx->mem, places, sizeof *m->square);
    m->origin = lm_alloc_zero(&ctx->mem, m->d, sizeof *m->origin);
    if (!m->square || !m->origin)
        return lm_fail_memory(ctx);
    if (m->options.kernel.type == LM_RBF)
        find_origin(m);
    for (size_t panel = 0; panel < m->samples.panels; panel++)
        for (size_t j = 0; j < m->d; j++)
            for (size_t i = 0; i < LM_PANEL; i++) {
                double value =
                    (double)m->samples.data[(panel * m->d + j) * LM_PANEL + i] - m->origin[j];
                m->square[panel * LM_PANEL + i] += value * value;
            }
    return LIMN_OK;
}

double hull_kernel_shift(const hull_model *m, double *wide) {
    double over = 0;
    for (size_t j = 0; j < m->d; j++) {
        wide[j] -= m->origin[j];
        over += wide[j] * m->origin[j];
    }
    return over;
}

double hull_kernel_values(const hull_model *m, const float *x, double *values, double *wide) {
    const lm_kernel *kernel = &m->options.kernel;
    double square = 0;
    for (size_t j = 0; j < m->d; j++)
        wide[j] = (double)x[j];
    double over = hull_kernel_shift(m, wide);
    for (size_t j = 0; j < m->d; j++)
        square += wide[j] * wide[j];
    lm_pack_dots_double(&m->samples, 0, m->samples.panels, wide, values);
    lm_kernel_of_many(kernel, values, m->samples.panels * LM_PANEL, over, square, m->square);
    return lm_kernel_of_dots(kernel, square, square, square);
}

/* Kernel values at all positions, the vector b of one class, its coordinates and room of that size.
 */
typedef struct layout {
    double *wide, *kernel, *b, *t, *spare;
} layout;

static layout lay_out(const hull_model *m, lm_cursor *at) {
    layout l;
    l.wide = lm_take(at, m->d, sizeof *l.wide);
    l.kernel = lm_take(at, m->samples.panels * LM_PANEL, sizeof *l.kernel);
    l.b = lm_take(at, m->most_samples, sizeof *l.b);
    l.t = lm_take(at, m->most_places, sizeof *l.t);
    l.spare = lm_take(at, m->most_places, sizeof *l.spare);
    return l;
}

void hull_curved_scratch(const hull_model *m, lm_cursor *at) {
    (void)lay_out(m, at);
}

/* The squared distance from the hull or disk of the class; w2: from its centre. */
static double in_directions(const hull_model *m, size_t c, double w2, layout *l) {
    const hull_curved *v = &m->curved;
    size_t panels = v->start[c + 1] - v->start[c], first = (size_t)v->start[c] * LM_PANEL;
    size_t n = (size_t)m->count[c];
    double sum = 0, rho = 0;
    lm_split part;
    lm_pack_view(v->high + v->offset[c], panels * LM_PANEL, n, &part.high);
    lm_pack_view(v->low + v->offset[c], panels * LM_PANEL, n, &part.low);
    lm_split_dots(&part, 0, panels, l->b, l->t, l->spare);
    for (size_t j = 0; j < panels * LM_PANEL; j++) {
        double t = l->t[j] * v->scale[first + j];
        sum += t * t;
        if (v->centre)
            rho += (t - v->centre[first + j]) * (t - v->centre[first + j]);
    }
    double e2 = w2 - sum > 0 ? w2 - sum : 0, over = v->radius ? sqrt(rho) - v->radius[c] : 0;
    return e2 + (over > 0 ? over * over : 0);
}

static hull_found measure_class(const hull_model *m, size_t c, double self, layout *l) {
    const hull_curved *v = &m->curved;
    size_t at = (size_t)m->first[c] * LM_PANEL, n = (size_t)m->count[c];
    double dot = 0, mean = 0;
    for (size_t i = 0; i < n; i++) {
        dot += v->weight[at + i] * l->kernel[at + i];
        l->b[i] = l->kernel[at + i] - v->shift[at + i];
        mean += l->b[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        l->b[i] -= mean;
    double w2 = self - 2 * dot + v->constant[c], d2 = w2;
    if (v->start[c + 1] > v->start[c])
        d2 = in_directions(m, c, w2, l);
    double noise = HULL_NOISE * fmax(fabs(self), fabs(v->constant[c]));
    return (hull_found){d2 > noise ? d2 : 0, w2 > noise ? w2 : 0};
}

void hull_curved_measure(const hull_model *m, const float *x, hull_found *found, void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, &at);
    double self = hull_kernel_values(m, x, l.kernel, l.wide);
    for (size_t c = 0; c < m->classes; c++)
        found[c] = measure_class(m, c, self, &l);
}
