/* smo.c: Platt's sequential minimal optimisation with the second-order choice of pairs of Fan, Chen
 * and Lin (2005): of the weights that may grow, i has the smallest gradient; of those that may
 * shrink, j promises the largest decrease of the value, (g_j - g_i)^2 / (2 (G_ii + G_jj - 2 G_ij)).
 * Weight moves from j to i until their gradients are equal or one of them is at an end.
 *
 * With v the largest gradient of those that may shrink minus the smallest of those that may grow,
 * the gap is at most v, because a feasible change moves a total weight of at most 1. The gradient
 * is updated in each step and recomputed before the result is accepted. */
#include "num/qp/smo.h"

#include "num/qp/corral.h"

#include <math.h>
#include <string.h>

typedef struct smo {
    const lm_smo_task *task;
    size_t n;
    double *a, *g;
    double *one, *other; /* columns of G */
    size_t *list;
    double scale; /* max G_ii */
} smo;

static void column(const smo *s, size_t i, double *out) {
    const double whole = 1;
    s->task->gram->product(s->task->gram->user, &i, &whole, 1, out);
}

/* Computes the gradient from a. */
static void find_gradient(smo *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->a[i] > 0) {
            s->list[count] = i;
            s->one[count++] = s->a[i];
        }
    s->task->gram->product(s->task->gram->user, s->list, s->one, count, s->g);
    for (size_t i = 0; i < s->n; i++)
        s->g[i] -= s->task->q[i];
}

/* The violation, and the weight that should grow. */
static double violation(const smo *s, size_t *grows) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        if (s->a[i] < s->task->bound && s->g[i] < least) {
            least = s->g[i];
            *grows = i;
        }
        if (s->a[i] > 0)
            most = fmax(most, s->g[i]);
    }
    return most - least;
}

static double curvature(const smo *s, size_t i, size_t j) {
    const double *diagonal = s->task->gram->diagonal;
    return fmax(diagonal[i] + diagonal[j] - 2 * s->one[j], 1e-14 * s->scale);
}

/* The weight that should shrink; one holds column i. n: none. */
static size_t partner(const smo *s, size_t i) {
    size_t best = s->n;
    double most = 0;
    for (size_t j = 0; j < s->n; j++) {
        double slope = s->g[j] - s->g[i];
        if (!(s->a[j] > 0) || !(slope > 0))
            continue;
        double gain =
            slope / s->scale * (slope / curvature(s, i, j)); /* no overflow at any scale */
        if (gain > most) {
            most = gain;
            best = j;
        }
    }
    return best;
}

/* False when there is nothing to gain. */
static bool step(smo *s, size_t i) {
    column(s, i, s->one);
    size_t j = partner(s, i);
    if (j == s->n)
        return false;
    double move = (s->g[j] - s->g[i]) / curvature(s, i, j), room = s->task->bound - s->a[i];
    bool empties = move >= s->a[j];
    move = fmin(move, s->a[j]);
    bool fills = move >= room;
    move = fmin(move, room);
    column(s, j, s->other);
    for (size_t k = 0; k < s->n; k++)
        s->g[k] += move * (s->one[k] - s->other[k]);
    s->a[j] = empties && !fills ? 0 : s->a[j] - move;
    s->a[i] = fills ? s->task->bound : s->a[i] + move;
    return move > 0;
}

static void report(const smo *s, size_t steps, double least, lm_qp_result *result) {
    double value = 0, linear = 0;
    *result = (lm_qp_result){.iterations = steps, .passes = 2 * steps};
    for (size_t i = 0; i < s->n; i++) {
        value += s->a[i] * (s->g[i] - s->task->q[i]) / 2;
        linear += s->a[i] * s->g[i];
        result->support += s->a[i] > 0;
    }
    result->value = value;
    result->gap = fmax(linear - lm_qp_least(s->g, s->n, s->task->bound, s->one), 0);
    result->lower = value - result->gap;
    result->converged = result->gap <= least;
}

bool lm_smo_run(const lm_smo_task *task, double *a, double *gradient, double *room, size_t *list,
                lm_qp_result *result) {
    size_t n = task->gram->n, i = 0, steps = 0;
    smo s = {task, n, a, gradient, room, room + n, list, 0};
    for (size_t k = 0; k < n; k++)
        s.scale = fmax(s.scale, task->gram->diagonal[k]);
    double least = task->tolerance * s.scale;
    bool exact = false, goes_on = true;
    while (goes_on) {
        if (steps % 1024 == 0 && !exact) { /* rounding errors accumulate in the updates */
            find_gradient(&s);
            exact = true;
            goes_on = !task->go_on || task->go_on(task->user, violation(&s, &i));
        }
        double off = violation(&s, &i);
        if (off <= least && exact)
            break;
        if (off <= least) {
            find_gradient(&s);
            exact = true;
            continue;
        }
        exact = false;
        goes_on = goes_on && steps < task->most && step(&s, i);
        steps++;
    }
    find_gradient(&s);
    report(&s, steps, least, result);
    return result->converged;
}
