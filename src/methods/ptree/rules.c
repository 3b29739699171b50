/* rules.c: what the perceptrons that are never split do with a row.
 *
 *   perceptron  (Rosenblatt 1958; Freund and Schapire 1999): every mistake becomes a vector
 *   stoptron    stops when it has B vectors
 *   forgetron   (Dekel, Shalev-Shwartz and Singer 2008): the oldest vector makes room, after all
 *               coefficients were shrunk by the largest phi <= 1 that keeps
 *               Q + Psi <= 15 M / 32,  Psi = lambda^2 + 2 lambda - 2 lambda mu,
 *               lambda = phi times the coefficient of the vector that goes, mu = phi times how far
 *               the outputs are right about that vector, M mistakes so far, Q the sum of all Psi
 *   projectron  (Orabona, Keshet and Caputo 2009): a mistake becomes a vector only if the vectors
 *               that are there leave over more than eta K(x, x) of it; else it is projected
 *   plus=1      also rows that are right by less than 1 are projected, where that pays
 *
 * With several classes, how far outputs are right is half the lead over the best of the others, the
 * coefficient of a vector is that of its own class, and both the class and its rival change. */
#include "methods/ptree/ptree.h"

#include <math.h>

#define FORGETRON_SHARE (15.0 / 32.0)

/* ---- forgetron ---- */

/* The largest phi in 0..1 with q + (phi s)^2 + 2 phi s - 2 phi^2 s f <= most. */
static double shrink_by(double s, double f, double q, double most) {
    double a = s * s - 2 * s * f, b = 2 * s, c = q - most;
    if (a + b + c <= 0)
        return 1;
    if (c >= 0) /* rounding: q never exceeds most */
        return 0;
    /* a phi^2 + b phi + c is below 0 at 0 and above 0 at 1: one root lies between. */
    double root = sqrt(fmax(b * b - 4 * a * c, 0));
    double phi = -2 * c / (b + root);
    return fmax(0, fmin(1, phi));
}

/* The output in which the vector's coefficient is largest: its own class (up), or, with one output,
 * the sign. */
static double weight_of(const lm_expansion *e, size_t vector, size_t *label) {
    const double *coef = e->coef + vector * e->outputs;
    *label = 0;
    if (e->outputs == 1) {
        *label = coef[0] < 0;
        return fabs(coef[0]);
    }
    for (size_t o = 1; o < e->outputs; o++)
        *label = coef[o] > coef[*label] ? o : *label;
    return fmax(coef[*label], 0);
}

/* Shrinks, and drops the oldest vector. f: outputs floats of room. */
static void forget_oldest(pt_model *m, lm_expansion *e, float *f) {
    size_t label;
    lm_step unused;
    float *x = e->values + e->room;
    double s = weight_of(e, 0, &label);
    lm_pack_row(&e->pack, 0, x);
    lm_expansion_values(e, x, e->values);
    lm_expansion_sums(e, false, e->values, f);
    double right = lm_expansion_margin(f, e->outputs, label, &unused);
    double most = FORGETRON_SHARE * m->mistakes, phi = shrink_by(s, right, m->forgot, most);
    double lambda = phi * s, mu = phi * right;
    lm_expansion_shrink(e, phi);
    lm_expansion_remove(e, 0);
    m->forgot = fmin(m->forgot + lambda * lambda + 2 * lambda - 2 * lambda * mu, most);
}

static void step_forgetron(pt_model *m, pt_leaf *leaf, const pt_row *row) {
    lm_expansion *e = &leaf->e;
    lm_expansion_add(e, row->x, row->values, &row->step);
    m->mistakes += 1;
    if (e->pack.n <= m->o.budget)
        return;
    lm_expansion_refresh(e);
    forget_oldest(m, e, row->room);
}

/* ---- projectron ---- */

/* How strongly a row that is right, but by less than 1, is projected; 0: not at all. left: the
 * share of K(x, x) that lies outside the vectors' span. */
static double small_step(const pt_model *m, double margin, double left, double self) {
    double loss = 1 - margin, inside = (1 - left) * self;
    double gain = loss - left / m->o.project;
    if (!(gain > 0) || !(inside > 0))
        return 0;
    return fmin(1, fmin(loss / inside, 2 * gain / inside));
}

static void step_projectron(pt_model *m, pt_leaf *leaf, const pt_row *row, bool *changed) {
    lm_expansion *e = &leaf->e;
    lm_step step = row->step;
    bool wrong = row->margin <= 0, full = e->pack.n >= m->o.budget;
    double self = lm_expansion_self(e, row->x);
    double left = lm_expansion_project(e, row->values, self);
    if (!wrong)
        step.by *= small_step(m, row->margin, left, self);
    *changed = step.by != 0;
    if (wrong && left > m->o.project && !full)
        lm_expansion_add(e, row->x, row->values, &step);
    else if (*changed)
        lm_expansion_move(e, &step);
}

limn_status pt_step_single(limn_context *ctx, pt_model *m, pt_leaf *leaf, const pt_row *row,
                           bool *changed) {
    lm_expansion *e = &leaf->e;
    bool close = m->o.plus && row->margin < 1;
    *changed = false;
    if (row->margin > m->o.margin && !close)
        return LIMN_OK;
    limn_status status = lm_expansion_reserve(ctx, e, e->pack.n + 1);
    if (status != LIMN_OK)
        return status;
    *changed = true;
    if (m->o.rule == PT_FORGETRON)
        step_forgetron(m, leaf, row);
    else if (m->o.rule == PT_PROJECTRON)
        step_projectron(m, leaf, row, changed);
    else if (e->pack.n < m->o.budget)
        lm_expansion_add(e, row->x, row->values, &row->step);
    else
        *changed = false;
    return LIMN_OK;
}
