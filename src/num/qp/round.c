/* round.c: sets for the program of box.h, from its solution p.
 *
 * By swap descent: from the largest p, the single best of adding an item, dropping one and
 * exchanging one for another, until none improves. For the 0/1 vector of the set and its gradient
 * g = Qp - w, adding i changes the value by g_i + Q_ii/2, dropping j by -g_j + Q_jj/2, and
 * exchanging j for i by the sum of both less Q_ij. A round costs O(n^2) for the exchanges.
 *
 * An improvement counts if it is more than 1e-12 of the sum of Q_ii + |w_i| over the set, which
 * bounds the rounding errors of the changes: so no set comes twice, and the descent ends.
 *
 * A set that ends above 0, which is the value of the empty set, is given up for what descent finds
 * from the empty set.
 *
 * By draws: item i is in the set with probability p_i, independently of the others, as in
 * randomised rounding (Raghavan & Thompson 1987). */
#include "num/qp/box.h"

#include "num/simd/simd.h"

#include <math.h>
#include <string.h>

#define IMPROVES 1e-12

typedef struct set {
    const lm_box_task *task;
    size_t n, count, limit;
    const lm_simd_dense *dense;
    uint8_t *chosen;
    double *g;
} set;

/* n: no item. */
typedef struct move {
    size_t in, out;
    double change;
} move;

static const double *row(const set *s, size_t i) {
    return s->task->q + i * s->n;
}

static size_t limit_of(const lm_box_task *task) {
    return task->most >= (double)task->n ? task->n : (size_t)task->most;
}

/* Returns how many. */
static size_t choose_largest(const lm_box_task *task, const double *p, uint8_t *chosen) {
    size_t limit = limit_of(task), count = 0, best = 0;
    memset(chosen, 0, task->n);
    while (count < limit && best < task->n) {
        double most = 0;
        best = task->n;
        for (size_t i = 0; i < task->n; i++)
            if (!chosen[i] && p[i] > most) {
                most = p[i];
                best = i;
            }
        if (best < task->n) {
            chosen[best] = 1;
            count++;
        }
    }
    return count;
}

/* Computes the gradient from the set. */
static void refresh(set *s) {
    for (size_t i = 0; i < s->n; i++)
        s->g[i] = -s->task->w[i];
    for (size_t i = 0; i < s->n; i++)
        if (s->chosen[i])
            s->dense->axpy(1, row(s, i), s->g, s->n);
}

static void consider(move *best, size_t in, size_t out, double change) {
    if (change < best->change)
        *best = (move){in, out, change};
}

/* The best way to drop out, with another item instead or without. */
static void consider_without(const set *s, size_t out, move *best) {
    const double *q = row(s, out);
    double drop = q[out] / 2 - s->g[out];
    consider(best, s->n, out, drop);
    for (size_t i = 0; i < s->n; i++)
        if (!s->chosen[i])
            consider(best, i, out, s->g[i] + row(s, i)[i] / 2 + drop - q[i]);
}

static move best_move(const set *s) {
    double size = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->chosen[i])
            size += row(s, i)[i] + fabs(s->task->w[i]);
    move best = {s->n, s->n, -IMPROVES * size};
    for (size_t i = 0; i < s->n; i++)
        if (!s->chosen[i] && s->count < s->limit)
            consider(&best, i, s->n, s->g[i] + row(s, i)[i] / 2);
    for (size_t j = 0; j < s->n; j++)
        if (s->chosen[j])
            consider_without(s, j, &best);
    return best;
}

/* False: no move improves. */
static bool improve(set *s) {
    move best = best_move(s);
    if (best.in < s->n) {
        s->chosen[best.in] = 1;
        s->count++;
        s->dense->axpy(1, row(s, best.in), s->g, s->n);
    }
    if (best.out < s->n) {
        s->chosen[best.out] = 0;
        s->count--;
        s->dense->axpy(-1, row(s, best.out), s->g, s->n);
    }
    return best.in < s->n || best.out < s->n;
}

/* Returns the value. */
static double descend(set *s) {
    double value = 0;
    refresh(s);
    while (improve(s)) {
        while (improve(s)) {
        }
        refresh(s); /* rounding errors accumulate in the updates */
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->chosen[i])
            value += (s->g[i] - s->task->w[i]) / 2;
    return value;
}

double lm_box_round(const lm_box_task *task, const double *p, uint8_t *chosen, double *gradient) {
    set s = {task, task->n, 0, limit_of(task), lm_simd_get()->dense, chosen, gradient};
    s.count = choose_largest(task, p, chosen);
    double value = descend(&s);
    if (value <= 0)
        return value;
    memset(chosen, 0, s.n);
    s.count = 0;
    return descend(&s);
}

/* The value of the 0/1 vector p. */
static double value_of(const lm_box_task *task, const double *p) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    double value = 0;
    for (size_t i = 0; i < task->n; i++)
        if (p[i] > 0)
            value += dense->dot(task->q + i * task->n, p, task->n) / 2 - task->w[i];
    return value;
}

double lm_box_draw(const lm_box_task *task, const double *p, size_t draws, lm_rng *rng,
                   uint8_t *chosen, double *room) {
    size_t limit = limit_of(task);
    double best = INFINITY;
    choose_largest(task, p, chosen);
    for (size_t draw = 0; draw < draws; draw++) {
        size_t count = 0;
        for (size_t i = 0; i < task->n; i++) {
            room[i] = lm_rng_unit(rng) < p[i];
            count += room[i] > 0;
        }
        double value = count <= limit ? value_of(task, room) : INFINITY;
        for (size_t i = 0; i < task->n && value < best; i++)
            chosen[i] = room[i] > 0;
        best = fmin(best, value);
    }
    return best;
}
