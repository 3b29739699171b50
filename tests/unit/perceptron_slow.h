/* perceptron_slow.h: the perceptrons that are never split, by their definitions in plain double,
 * for test_perceptrons.c.
 *
 * There is one output per class, also for two classes: a mistake adds 1 to the output of the row's
 * class and takes 1 from that of its rival. With two classes the outputs are f and -f. So a class
 * that appears late is only an output that was 0 so far. All kernels are computed anew for each
 * row, and for each projection a system of equations is solved; means are sums divided by rows.
 *
 * The library adds floats: where a decision hangs on rounding, each way it may go is tried, and one
 * of them must be what the library did. */
#ifndef LIMN_TESTS_PERCEPTRON_SLOW_H
#define LIMN_TESTS_PERCEPTRON_SLOW_H

#include "kernel_slow.h"
#include "methods/ptree/ptree.h"

enum { SLOW_VECTORS = 160, SLOW_D = 6, SLOW_CLASSES = 6, SLOW_WAYS = 4 * SLOW_CLASSES };

/* Of an output, as a share of its terms. */
#define SLOW_ROUNDING 2e-6

typedef struct slow_vector {
    float x[SLOW_D];
    size_t label;
    double a[SLOW_CLASSES];
    double sum[SLOW_CLASSES]; /* of a after each row */
} slow_vector;

typedef struct slow_model {
    pt_rule rule;
    lm_kernel kernel;
    size_t d, classes, budget;
    double eta;
    bool plus;
    double rounding; /* SLOW_ROUNDING; 0 where floats are exact */
    size_t n, rows, count[SLOW_CLASSES];
    bool used[SLOW_CLASSES]; /* outputs that have coefficients */
    double forgot, mistakes; /* Q and M */
    slow_vector v[SLOW_VECTORS];
} slow_model;

/* Outputs, and how far off they may be in the library. */
typedef struct slow_outputs {
    double f[SLOW_CLASSES], off[SLOW_CLASSES];
} slow_outputs;

static inline size_t slow_width(const slow_model *s) {
    return s->classes < 2 ? 2 : s->classes;
}

/* chi2 and intersection know no numbers below 0. */
static inline void slow_take(const slow_model *s, const float *x, float *row) {
    for (size_t j = 0; j < s->d; j++)
        row[j] = slow_positive(&s->kernel) ? fmaxf(x[j], 0) : x[j];
}

/* What the rounding of a kernel value is a share of: its terms may cancel. */
static inline double slow_size(const lm_kernel *k, const float *u, const float *v, size_t d) {
    float a[SLOW_D], b[SLOW_D];
    bool dots = k->type == LM_LINEAR || k->type == LM_POLYNOMIAL;
    for (size_t j = 0; j < d; j++) {
        a[j] = dots ? fabsf(u[j]) : u[j];
        b[j] = dots ? fabsf(v[j]) : v[j];
    }
    return slow_kernel(k, a, b, d);
}

static inline slow_outputs slow_ask(const slow_model *s, bool mean, const float *x) {
    slow_outputs out = {{0}, {0}};
    for (size_t j = 0; j < s->n; j++) {
        double value = slow_kernel(&s->kernel, s->v[j].x, x, s->d);
        double size = slow_size(&s->kernel, s->v[j].x, x, s->d);
        for (size_t c = 0; c < slow_width(s); c++) {
            bool by_mean = mean && s->rows > 0;
            double a = by_mean ? s->v[j].sum[c] / (double)s->rows : s->v[j].a[c];
            out.f[c] += a * value;
            bool rounds = by_mean || s->rule == PT_PROJECTRON; /* coefficients, too */
            out.off[c] += (by_mean ? SLOW_ROUNDING : s->rounding) * fabs(a) * size;
            out.off[c] += rounds && s->used[c] ? 1e-9 * size : 0;
        }
    }
    return out;
}

static inline size_t slow_majority(const slow_model *s) {
    size_t best = 0;
    for (size_t c = 1; c < s->classes; c++)
        best = s->count[c] > s->count[best] ? c : best;
    return best;
}

/* Whether the library may answer this class. */
static inline bool slow_may_say(const slow_model *s, const slow_outputs *out, size_t class) {
    bool silent = true;
    if (s->classes < 2)
        return class == 0;
    for (size_t c = 0; c < s->classes; c++)
        silent = silent && fabs(out->f[c]) <= out->off[c];
    if (silent && class == slow_majority(s))
        return true;
    bool loud = false, first = true;
    for (size_t c = 0; c < s->classes; c++) {
        double lead = out->f[class] - out->f[c], off = out->off[class] + out->off[c];
        loud = loud || out->f[c] != 0 || out->off[c] > 0;
        first = first && (c == class || lead > -off || (c > class && lead == 0));
    }
    return loud && first;
}

/* ---- the ways that a step may go ---- */

typedef struct slow_way {
    bool wrong;
    size_t rival;
    double margin;
    bool projects; /* of a mistake */
} slow_way;

/* The nearest combination of the vectors; returns the share of K(x, x) that is left over. */
static inline double slow_combine(const slow_model *s, const float *x, double *alpha) {
    double *matrix = malloc((s->n * s->n + 1) * sizeof *matrix), with_x[SLOW_VECTORS];
    double self = slow_kernel(&s->kernel, x, x, s->d);
    for (size_t i = 0; i < s->n; i++) {
        with_x[i] = slow_kernel(&s->kernel, s->v[i].x, x, s->d);
        for (size_t j = 0; j < s->n; j++)
            matrix[i * s->n + j] = slow_kernel(&s->kernel, s->v[i].x, s->v[j].x, s->d);
    }
    double left = slow_project(matrix, with_x, self, s->n, alpha);
    free(matrix);
    return left > 1e-4 ? left : 0; /* less counts as nothing */
}

/* Which of both a projectron may do with a mistake. */
static inline void slow_may_project(const slow_model *s, const float *x, bool *may, bool *may_not) {
    double alpha[SLOW_VECTORS], left;
    *may = false;
    *may_not = true;
    if (s->rule != PT_PROJECTRON)
        return;
    left = slow_combine(s, x, alpha);
    *may = s->n >= s->budget || left <= s->eta + 1e-5;
    *may_not = s->n < s->budget && left > s->eta - 1e-5 && left > 0;
}

static inline size_t slow_rival(const slow_model *s, const slow_outputs *out, size_t label) {
    size_t rival = label ? 0 : 1;
    for (size_t c = 0; c < slow_width(s); c++)
        if (c != label && out->f[c] > out->f[rival])
            rival = c;
    return rival;
}

/* The ways of one rival; returns how many. */
static inline size_t slow_ways_of(const slow_outputs *out, size_t label, size_t rival, bool may,
                                  bool may_not, slow_way *ways) {
    double margin = (out->f[label] - out->f[rival]) / 2;
    double off = (out->off[label] + out->off[rival]) / 2;
    size_t count = 0;
    if (margin <= off && may)
        ways[count++] = (slow_way){true, rival, margin, true};
    if (margin <= off && may_not)
        ways[count++] = (slow_way){true, rival, margin, false};
    if (margin > 0 || margin > -off)
        ways[count++] = (slow_way){false, rival, margin, false};
    return count;
}

static inline size_t slow_ways(const slow_model *s, const float *x, size_t label, slow_way *ways) {
    slow_outputs out = slow_ask(s, false, x);
    size_t best = slow_rival(s, &out, label), count = 0;
    bool may = false, may_not = false;
    if ((out.f[label] - out.f[best]) <= out.off[label] + out.off[best])
        slow_may_project(s, x, &may, &may_not);
    for (size_t c = 0; c < slow_width(s); c++) {
        double behind = out.f[best] - out.f[c], off = out.off[best] + out.off[c];
        if (c == best || (c != label && behind < off))
            count += slow_ways_of(&out, label, c, may, may_not, ways + count);
    }
    return count;
}

/* ---- steps ---- */

static inline void slow_move(slow_model *s, const double *alpha, size_t label, size_t rival,
                             double by) {
    s->used[label] = s->used[rival] = true;
    for (size_t j = 0; j < s->n; j++) {
        s->v[j].a[label] += by * alpha[j];
        s->v[j].a[rival] -= by * alpha[j];
    }
}

static inline void slow_add(slow_model *s, const float *x, size_t label, size_t rival) {
    slow_vector *v = &s->v[s->n++];
    *v = (slow_vector){.label = label};
    memcpy(v->x, x, s->d * sizeof *x);
    v->a[label] = 1;
    v->a[rival] = -1;
    s->used[label] = s->used[rival] = true;
}

/* The largest phi in 0..1 that keeps Q + Psi <= 15 M / 32, by halving: Psi is 0 at 0 and crosses
 * the bound once. weight: of the vector that goes, right: how far the outputs are right about it.
 */
static inline double slow_phi(const slow_model *s, double weight, double right, double *psi) {
    double low = 0, high = 1;
    for (int round = 0; round < 200; round++) {
        double phi = round ? (low + high) / 2 : 1, lambda = phi * weight, mu = phi * right;
        *psi = lambda * lambda + 2 * lambda - 2 * lambda * mu;
        if (s->forgot + *psi <= 15 * s->mistakes / 32)
            low = phi;
        else
            high = phi;
    }
    return low;
}

static inline void slow_forget(slow_model *s) {
    const slow_vector *oldest = &s->v[0];
    slow_outputs out = slow_ask(s, false, oldest->x);
    double psi, right = (out.f[oldest->label] - out.f[slow_rival(s, &out, oldest->label)]) / 2;
    double phi = slow_phi(s, oldest->a[oldest->label], right, &psi);
    s->forgot += psi;
    for (size_t j = 1; j < s->n; j++) {
        s->v[j - 1] = s->v[j];
        for (size_t c = 0; c < SLOW_CLASSES; c++)
            s->v[j - 1].a[c] *= phi;
    }
    s->n--;
}

/* projectron++: a row that is right by less than 1. */
static inline void slow_nudge(slow_model *s, const float *x, size_t label, const slow_way *way) {
    double alpha[SLOW_VECTORS], left = slow_combine(s, x, alpha);
    double inside = (1 - left) * slow_kernel(&s->kernel, x, x, s->d);
    double loss = 1 - way->margin, gain = loss - left / s->eta;
    if (gain <= 0 || inside <= 0)
        return;
    slow_move(s, alpha, label, way->rival, fmin(fmin(loss, 2 * gain) / inside, 1));
}

static inline void slow_correct(slow_model *s, const float *x, size_t label, const slow_way *way) {
    double alpha[SLOW_VECTORS];
    s->mistakes++;
    if (way->projects) {
        slow_combine(s, x, alpha);
        slow_move(s, alpha, label, way->rival, 1);
    } else if (s->rule == PT_FORGETRON || s->n < s->budget) {
        slow_add(s, x, label, way->rival);
        if (s->n > s->budget)
            slow_forget(s);
    }
}

static inline void slow_step(slow_model *s, const float *x, size_t label, const slow_way *way) {
    if (way->wrong)
        slow_correct(s, x, label, way);
    else if (s->plus && way->margin < 1)
        slow_nudge(s, x, label, way);
    s->rows++;
    s->count[label]++;
    for (size_t j = 0; j < s->n; j++)
        for (size_t c = 0; c < SLOW_CLASSES; c++)
            s->v[j].sum[c] += s->v[j].a[c];
}

/* ---- comparing ---- */

static inline bool slow_near(double value, double expected, double most) {
    return fabs(value - expected) <= most * (1 + fabs(expected));
}

/* Whether the library has the same vectors and coefficients. */
static inline bool slow_matches(const slow_model *s, const pt_model *m, double most) {
    const lm_expansion *e = &m->leaf[0].e;
    float x[SLOW_D];
    bool same = m->leaves == 1 && m->nodes == 0 && e->pack.n == s->n && m->steps == s->rows;
    for (size_t j = 0; j < s->n && same; j++) {
        lm_pack_row(&e->pack, j, x);
        same = memcmp(x, s->v[j].x, s->d * sizeof *x) == 0;
        for (size_t o = 0; o < m->outputs && same; o++)
            same = slow_near(e->coef[j * m->outputs + o], s->v[j].a[o], most);
    }
    if (s->rule == PT_FORGETRON)
        same = same && m->mistakes == s->mistakes && slow_near(m->forgot, s->forgot, most);
    return same;
}

/* The library has learned the row: so does s, by the way that leads there. Returns how many ways
 * there were; 0: none leads there. */
static inline size_t slow_follow(slow_model *s, const pt_model *m, const float *x, size_t label,
                                 double most) {
    static slow_model next; /* large */
    slow_way ways[SLOW_WAYS];
    size_t count = slow_ways(s, x, label, ways);
    for (size_t i = 0; i < count; i++) {
        next = *s;
        slow_step(&next, x, label, &ways[i]);
        if (slow_matches(&next, m, most)) {
            *s = next;
            return count;
        }
    }
    return 0;
}

#endif
