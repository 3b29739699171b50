/* box.c: the program of box.h by steps on pairs, as in smo.c (Platt's sequential minimal
 * optimisation with the second-order choice of pairs of Fan, Chen and Lin 2005).
 *
 * The slack s = most - sum p, 0 <= s <= most, makes the limit an equality: item n, whose gradient
 * and row of Q are 0. With g = Qp - w, a step takes as i the item with the smallest gradient of
 * those that may grow (p_i < 1; the slack), and as j the one of those that may shrink (p_j > 0; the
 * slack where s > 0) that promises the largest decrease, (g_j - g_i)^2 / (Q_ii + Q_jj - 2 Q_ij).
 * Weight moves from j to i until their gradients are equal or one of them is at an end. The
 * violation is the largest g_j - g_i; where it is 0, -g of the free items is the multiplier of the
 * limit.
 *
 * The slack may count as one that grows even where s = most: then no item may shrink, and the
 * violation is 0 all the same. A slack within rounding of 0 counts as 0, so that a solution which
 * is used as a start stays a solution. Ties go to the lowest index, but no item without anything to
 * gain (g_i = 0) grows instead of the slack. The gradient is updated in each step, and computed
 * anew now and then and before a result is accepted. */
#include "num/qp/box.h"

#include "num/simd/simd.h"

#include <float.h>
#include <math.h>

enum { REFRESH = 1024 };      /* steps between gradients that are computed anew */
#define SUM_ROUNDING 1e-12    /* of most */
#define LEAST_CURVATURE 1e-14 /* of Q_ii + Q_jj: below is rounding */

typedef struct box {
    const lm_box_task *task;
    size_t n;
    const lm_simd_dense *dense;
    double *p, *g;
    double slack;
} box;

/* Item j may give weight to item i; n: the slack. */
typedef struct pair {
    size_t i, j;
    double slope;     /* g_j - g_i of this pair */
    double violation; /* the largest slope of all pairs */
    double gain;      /* twice the decrease that it promises */
} pair;

static const double *row(const box *b, size_t i) {
    return b->task->q + i * b->n;
}

static double diagonal(const box *b, size_t i) {
    return i < b->n ? row(b, i)[i] : 0;
}

/* fmax would be a call */
static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Computes the gradient and the slack from p. */
static void refresh(box *b) {
    const double *w = b->task->w;
    double sum = 0, most = b->task->most;
    for (size_t i = 0; i < b->n; i++)
        b->g[i] = -w[i];
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] > 0) {
            sum += b->p[i];
            b->dense->axpy(b->p[i], row(b, i), b->g, b->n);
        }
    b->slack = sum >= most * (1 - SUM_ROUNDING) ? 0 : most - sum;
}

static void make_feasible(const lm_box_task *task, double *p) {
    double sum = 0;
    for (size_t i = 0; i < task->n; i++) {
        p[i] = fmin(fmax(p[i], 0), 1);
        sum += p[i];
    }
    if (sum > task->most * (1 + SUM_ROUNDING))
        for (size_t i = 0; i < task->n; i++)
            p[i] *= task->most / sum;
}

/* The item that should grow; the slack where no other has a gradient below 0. */
static size_t grower(const box *b) {
    size_t best = b->n;
    double least = 0;
    for (size_t k = 0; k < b->n; k++)
        if (b->g[k] < least && b->p[k] < 1) {
            least = b->g[k];
            best = k;
        }
    return best;
}

static double curvature(double di, double dj, double between) {
    double sum = di + dj;
    return larger(sum - 2 * between, larger(LEAST_CURVATURE * sum, DBL_MIN));
}

static void consider(size_t j, double slope, double curved, pair *best) {
    double gain = slope * (slope / curved);
    best->violation = larger(best->violation, slope);
    if (gain > best->gain) {
        best->gain = gain;
        best->slope = slope;
        best->j = j;
    }
}

/* The pair of the next step; its violation is 0 if there is none. */
static pair choose(const box *b) {
    pair best = {.i = grower(b), .gain = -1}; /* any pair promises more */
    size_t i = best.i, n = b->n;
    double least = i < n ? b->g[i] : 0, di = diagonal(b, i);
    const double *q = i < n ? row(b, i) : NULL;
    for (size_t j = 0; j < n; j++)
        if (b->p[j] > 0 && b->g[j] > least)
            consider(j, b->g[j] - least, curvature(di, diagonal(b, j), q ? q[j] : 0), &best);
    if (b->slack > 0 && least < 0)
        consider(n, -least, curvature(di, 0, 0), &best);
    return best;
}

static double between(const box *b, size_t i, size_t j) {
    return i < b->n && j < b->n ? row(b, i)[j] : 0;
}

/* Moves weight; false: nothing changes. */
static bool step(box *b, const pair *at) {
    size_t i = at->i, j = at->j, n = b->n;
    double curved = curvature(diagonal(b, i), diagonal(b, j), between(b, i, j));
    double *from = j < n ? b->p + j : &b->slack, *to = i < n ? b->p + i : &b->slack;
    double room = i < n ? 1 - *to : INFINITY, had = *from, got = *to;
    double move = fmin(fmin(at->slope / curved, had), room);
    *from = had - move;
    *to = move == room ? 1 : got + move;
    if (i < n)
        b->dense->axpy(move, row(b, i), b->g, n);
    if (j < n)
        b->dense->axpy(-move, row(b, j), b->g, n);
    return *from != had || *to != got;
}

size_t lm_box_solve(const lm_box_task *task, double *p, double *gradient, double *violation) {
    box b = {task, task->n, lm_simd_get()->dense, p, gradient, 0};
    size_t steps = 0, since = 0; /* since the gradient was computed anew */
    make_feasible(task, p);
    refresh(&b);
    for (;;) {
        pair next = choose(&b);
        bool goes_on = next.violation > task->tolerance && steps < task->steps && step(&b, &next);
        if (!goes_on && since == 0) {
            if (violation)
                *violation = next.violation;
            return steps;
        }
        steps += goes_on;
        since = goes_on && since + 1 < REFRESH ? since + 1 : 0;
        if (since == 0)
            refresh(&b);
    }
}
