/* corral.c: Wolfe's nearest-point algorithm ("corral"), with bounds and a working set (the window).
 *
 * After P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11 (1976).
 * Each weight is at 0, at the bound, or free; the free ones are the corral. With g = Ga - q:
 *
 *   1. solve for the best move d of all free weights (sum d = 0): (G d)_free = lambda - g_free,
 *      from the Cholesky factor of G_free + c 11', which is positive definite where the free points
 *      are affinely independent; c 11' changes nothing, as 1'd = 0;
 *   2. if a weight would leave [0, bound], the move stops there, that weight is fixed at the
 *      end it reached and leaves the factor; back to 1;
 *   3. after the full move all free g equal lambda. A fixed weight at 0 with g < lambda, or at
 *      the bound with g > lambda, can be freed: the worst one is; back to 1. If none, done.
 *
 * A point that depends on the free ones (its pivot is rounding error) is not added directly: the
 * weights first move downhill along the null vector until one of them is fixed, which makes room.
 *
 * Departures from Wolfe. The bound makes soft spheres the same program: a few weights are free (at
 * most rank + 1), many are at the bound, and no pairs need to be balanced one by one. The window: a
 * product with G costs n p, so step 3 takes a few candidates from each product (those furthest on
 * the wrong side) and works through them with their own small matrix before the next product. Moves
 * are relative to the current weights, so the next move corrects the factor's errors.
 *
 * Numbers are scaled by a power of two so that max G_ii is about 1, and q is shifted, which changes
 * nothing as sum a = 1. Bounds: f(b) >= f(a) - gap, gap = g'a - min g'b over feasible b. With a
 * constant h such that f + h is half a squared distance, 2 (f(a) + h) = D, the hyperplane through
 * the nearest point gives (D - gap)^2 / D <= squared distance, which is tighter by gap^2 / D. */
#include "num/qp/corral.h"
#include "base/quickselect.h"
#include "num/cholesky.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { WINDOW_MAX = 64, NONE = -1 };
/* Relative to max G_ii: pivots that are certainly rounding error, and those that are certainly
 * not. */
#define PIVOT_LEAST 1e-13
#define PIVOT_SAFE 1e-6

typedef struct corral {
    const lm_corral_task *task;
    const lm_qp_gram *gram;
    const lm_simd_dense *kernels;
    size_t n, room, batch; /* room: of the window; batch: candidates per product */
    size_t free_max;       /* free weights at once */
    double bound;          /* INFINITY: none */
    double scale, shift;   /* the factor for G and q; what is subtracted from q (scaled) */
    double top, noise;     /* max G_ii (scaled, 1 where it is 0), rounding error of a gradient */
    double least;          /* violations up to this do not count */
    /* of all points */
    double *a, *g, *product, *weight;
    size_t *support;
    int32_t *slot; /* place in the window or NONE */
    double value, gap, lower, lambda;
    /* the window */
    size_t size;
    size_t *member;
    double *h;      /* G among its members, room x room */
    double *gw;     /* their g at the current a */
    double *moved;  /* G d of a move */
    double *before; /* their a at the last product */
    bool *free, *shunned;
    /* the free ones, in the order of the factor */
    lm_cholesky factor;
    size_t *order; /* slots */
    double *d, *row;
    bool full, exact; /* exact: g was computed from all weights, not updated */
    lm_qp_result *result;
} corral;

/* ---- memory ---- */

static size_t batch_of(size_t n) {
    size_t batch = 8 + n / 128;
    return batch < WINDOW_MAX ? batch : WINDOW_MAX;
}

static size_t capacity_of(size_t n, size_t support_max) {
    size_t capacity = support_max < n ? support_max : n;
    return capacity < 2 ? 2 : capacity;
}

static void lay_out(corral *c, size_t n, size_t support_max, lm_cursor *at) {
    size_t capacity = capacity_of(n, support_max), room = capacity + batch_of(n) + 1;
    c->n = n;
    c->room = room;
    c->batch = batch_of(n);
    c->free_max = capacity++; /* one extra row, for a point that depends on all others */
    c->factor.capacity = capacity;
    c->g = lm_take(at, n, sizeof *c->g);
    c->product = lm_take(at, n, sizeof *c->product);
    c->weight = lm_take(at, n, sizeof *c->weight);
    c->support = lm_take(at, n, sizeof *c->support);
    c->slot = lm_take(at, n, sizeof *c->slot);
    c->member = lm_take(at, room, sizeof *c->member);
    c->gw = lm_take(at, room, sizeof *c->gw);
    c->moved = lm_take(at, room, sizeof *c->moved);
    c->before = lm_take(at, room, sizeof *c->before);
    c->free = lm_take(at, room, sizeof *c->free);
    c->shunned = lm_take(at, room, sizeof *c->shunned);
    c->order = lm_take(at, capacity, sizeof *c->order);
    c->d = lm_take(at, capacity, sizeof *c->d);
    c->row = lm_take(at, capacity, sizeof *c->row);
    c->factor.ones = lm_take(at, capacity, sizeof *c->factor.ones);
    c->h = lm_take_cells(at, room, room, sizeof *c->h);
    c->factor.l = lm_take_cells(at, capacity, capacity, sizeof *c->factor.l);
}

bool lm_qp_scratch(size_t n, size_t support_max, size_t *bytes) {
    lm_cursor at = lm_cursor_at(NULL);
    corral c;
    lay_out(&c, n, support_max, &at);
    return lm_measured(&at, bytes) && n <= INT32_MAX;
}

/* ---- the window ---- */

/* Adds member i to the window, which has room; returns its slot. */
static size_t admit(corral *c, size_t i) {
    size_t s = c->size++;
    double *row = c->h + s * c->room;
    c->member[s] = i;
    c->slot[i] = (int32_t)s;
    c->free[s] = false;
    c->shunned[s] = false;
    c->gw[s] = c->g[i];
    c->before[s] = c->a[i];
    c->gram->column(c->gram->user, i, c->member, c->size, row);
    for (size_t k = 0; k <= s; k++) {
        row[k] *= c->scale;
        c->h[k * c->room + s] = row[k];
    }
    return s;
}

/* Removes slot s, which is not free; the last slot moves there. */
static void evict(corral *c, size_t s) {
    size_t last = --c->size, room = c->room;
    c->slot[c->member[s]] = NONE;
    if (s == last)
        return;
    memcpy(c->h + s * room, c->h + last * room, last * sizeof *c->h);
    for (size_t k = 0; k < last; k++)
        c->h[k * room + s] = c->h[s * room + k];
    c->h[s * room + s] = c->h[last * room + last];
    c->member[s] = c->member[last];
    c->slot[c->member[s]] = (int32_t)s;
    c->gw[s] = c->gw[last];
    c->before[s] = c->before[last];
    c->free[s] = c->free[last];
    c->shunned[s] = c->shunned[last];
    for (size_t f = 0; c->free[s] && f < c->factor.size; f++)
        if (c->order[f] == last)
            c->order[f] = s;
}

/* ---- the free ones ---- */

/* Prepares slot s as the next row of the factor; returns the square of its pivot. */
static double try_slot(corral *c, size_t s) {
    const double *h = c->h + s * c->room;
    for (size_t f = 0; f < c->factor.size; f++)
        c->row[f] = h[c->order[f]] + c->top;
    return lm_cholesky_try(&c->factor, c->row, h[s] + c->top);
}

static void set_free(corral *c, size_t s, double pivot) {
    c->order[c->factor.size] = s;
    c->free[s] = true;
    lm_cholesky_append(&c->factor, pivot);
}

/* Fixes the f-th free weight at the nearer end. */
static void fix(corral *c, size_t f) {
    size_t s = c->order[f];
    double *a = &c->a[c->member[s]];
    *a = *a > c->bound / 2 ? c->bound : 0;
    c->free[s] = false;
    lm_cholesky_drop(&c->factor, f);
    memmove(c->order + f, c->order + f + 1, (c->factor.size - f) * sizeof *c->order);
}

static double mean_free(const corral *c) {
    double sum = 0;
    for (size_t f = 0; f < c->factor.size; f++)
        sum += c->gw[c->order[f]];
    return sum / (double)c->factor.size;
}

/* ---- moves ---- */

/* A move: d of the free ones in order, and d[size] of the slot `extra`, unless that is NONE. */
typedef struct move {
    int32_t extra;
    size_t count;       /* of d */
    double slope, bend; /* g'd, d'Gd */
    double limit;       /* where the first weight reaches its end */
    size_t blocked;     /* that weight's index in d */
} move;

static size_t slot_of_move(const corral *c, const move *m, size_t k) {
    return k < c->factor.size ? c->order[k] : (size_t)m->extra;
}

static void measure(corral *c, move *m) {
    double lambda = mean_free(c); /* no effect except on rounding, as sum d = 0 */
    m->count = c->factor.size + (m->extra != NONE);
    memset(c->moved, 0, c->size * sizeof *c->moved);
    m->slope = m->bend = 0;
    for (size_t k = 0; k < m->count; k++) {
        size_t s = slot_of_move(c, m, k);
        c->kernels->axpy(c->d[k], c->h + s * c->room, c->moved, c->size);
        m->slope += c->d[k] * (c->gw[s] - lambda);
    }
    for (size_t k = 0; k < m->count; k++)
        m->bend += c->d[k] * c->moved[slot_of_move(c, m, k)];
}

static void find_limit(const corral *c, move *m) {
    m->limit = INFINITY;
    m->blocked = 0;
    for (size_t k = 0; k < m->count; k++) {
        double a = c->a[c->member[slot_of_move(c, m, k)]], d = c->d[k];
        double t = d < 0 ? a / -d : d > 0 ? (c->bound - a) / d : INFINITY;
        if (t < m->limit) {
            m->limit = fmax(t, 0);
            m->blocked = k;
        }
    }
}

static void make(corral *c, const move *m, double t) {
    for (size_t k = 0; k < m->count; k++) {
        double *a = &c->a[c->member[slot_of_move(c, m, k)]];
        *a = fmin(fmax(*a + t * c->d[k], 0), c->bound);
    }
    c->kernels->axpy(t, c->moved, c->gw, c->size);
}

/* Moves the free weights to where their g are equal, or as far as possible. True: all the way. */
static bool equalise(corral *c, size_t *dropped) {
    const lm_cholesky *f = &c->factor;
    move m = {.extra = NONE};
    for (size_t k = 0; k < f->size; k++)
        c->d[k] = -c->gw[c->order[k]];
    lm_cholesky_forward(f, c->d);
    double lambda =
        -c->kernels->dot(f->ones, c->d, f->size) / c->kernels->dot(f->ones, f->ones, f->size);
    c->kernels->axpy(lambda, f->ones, c->d, f->size);
    lm_cholesky_backward(f, c->d);
    c->result->iterations++;
    measure(c, &m);
    find_limit(c, &m);
    if (!(m.slope < 0)) /* only rounding is left */
        return true;
    /* 1 except for errors of the factor. */
    double t = m.bend > 0 ? -m.slope / m.bend : INFINITY;
    t = fabs(t - 1) < 0.5 ? 1 : t;
    bool there = t < m.limit;
    make(c, &m, there ? t : m.limit);
    if (!there) {
        *dropped = c->order[m.blocked];
        fix(c, m.blocked);
    }
    return there;
}

/* Slot s, which was tried last, depends on the free ones: moves downhill along the null vector
 * until a weight is fixed. False: the move has a minimum before that; s may be freed with this
 * pivot or, if not *useful, should be left alone. */
static bool slide(corral *c, size_t s, bool *useful, double *pivot) {
    lm_cholesky *f = &c->factor;
    move m = {.extra = (int32_t)s};
    const double *last = f->l + f->size * f->capacity;
    *useful = true;
    for (size_t k = 0; k < f->size; k++)
        c->d[k] = -last[k];
    /* The sum of the move is exactly 0 without rounding; the rounding error is removed along M^-1
     * 1. */
    double ones = c->kernels->dot(f->ones, f->ones, f->size);
    double excess = 1 + c->kernels->dot(f->ones, c->d, f->size); /* 1'd: 1'L'^-1 v = ones'v */
    c->kernels->axpy(-excess / ones, f->ones, c->d, f->size);
    lm_cholesky_backward(f, c->d);
    c->d[f->size] = 1;
    measure(c, &m);
    double a = c->a[c->member[s]];
    if (m.slope > 0 && a > 0) {
        for (size_t k = 0; k <= f->size; k++)
            c->d[k] = -c->d[k];
        measure(c, &m);
    }
    find_limit(c, &m);
    double change = m.limit * (m.slope + m.limit * m.bend / 2);
    bool rises = !isfinite(m.limit) || change > c->noise * 1e-3;
    if (rises) {
        *useful = m.slope < 0 || (a > 0 && a < c->bound);
        *pivot = fmax(m.bend, c->top * DBL_EPSILON);
        return false;
    }
    c->result->iterations++;
    make(c, &m, m.limit);
    if (m.blocked < f->size) {
        fix(c, m.blocked);
    } else {
        double *end = &c->a[c->member[s]];
        *end = *end > c->bound / 2 ? c->bound : 0;
        *useful = false;
    }
    return true;
}

/* Whether the point tried last depends on the free ones, as far as rounding allows: its pivot is
 * the square of its distance from their span, which is small against the rounding of G times the
 * nearest combination. */
static bool depends(corral *c, double pivot) {
    const lm_cholesky *f = &c->factor;
    double sum = 1;
    if (f->size == c->free_max || pivot <= PIVOT_LEAST * c->top)
        return true;
    if (pivot > PIVOT_SAFE * c->top)
        return false;
    memcpy(c->d, f->l + f->size * f->capacity, f->size * sizeof *c->d);
    lm_cholesky_backward(f, c->d);
    for (size_t k = 0; k < f->size; k++)
        sum += fabs(c->d[k]);
    return pivot <= 4 * DBL_EPSILON * sum * sum * c->top;
}

/* Frees slot s, after making room for it if it depends on the free ones. False: it was left
 * fixed. */
static bool liberate(corral *c, size_t s) {
    for (;;) {
        double pivot = try_slot(c, s);
        bool useful = true;
        if (!depends(c, pivot)) {
            set_free(c, s, pivot);
            return true;
        }
        if (!slide(c, s, &useful, &pivot)) {
            c->full = c->full || (useful && c->factor.size == c->free_max);
            if (useful && !c->full)
                set_free(c, s, pivot);
            return useful;
        }
        if (!useful)
            return false;
    }
}

/* ---- step 3 within the window ---- */

/* How far a fixed weight is on the wrong side of lambda. */
static double violation(const corral *c, double a, double g, double lambda) {
    return a > c->bound / 2 ? g - lambda : lambda - g;
}

/* The worst candidate of the window, or NONE. */
static int32_t worst(const corral *c, double least) {
    int32_t found = NONE;
    bool none_free = c->factor.size == 0;
    double lambda = none_free ? c->lambda : mean_free(c), most = least;
    for (size_t s = 0; s < c->size; s++) {
        if (c->free[s] || c->shunned[s])
            continue;
        double by = violation(c, c->a[c->member[s]], c->gw[s], lambda);
        if (by > most) {
            most = by;
            found = (int32_t)s;
        }
    }
    return found;
}

static bool equal_already(const corral *c) {
    double low = INFINITY, high = -INFINITY;
    for (size_t f = 0; f < c->factor.size; f++) {
        low = fmin(low, c->gw[c->order[f]]);
        high = fmax(high, c->gw[c->order[f]]);
    }
    return high - low <= c->noise / 8;
}

/* Steps 1 to 3 among the members of the window. A member that was freed without gain, or cannot be
 * freed, is left alone until the next product. */
static void solve_window(corral *c, double least) {
    size_t tries = 0, limit = 4 * c->room + 16;
    int32_t taken = NONE;
    while (tries++ < limit && !c->full) {
        size_t dropped;
        while (!equal_already(c) && !equalise(c, &dropped) && tries++ < limit)
            if (taken != NONE && dropped == (size_t)taken)
                c->shunned[dropped] = true;
        taken = worst(c, least);
        if (taken == NONE)
            return;
        if (!liberate(c, (size_t)taken))
            c->shunned[taken] = true;
    }
}

/* ---- products ---- */

/* Computes g from all weights, or updates it from those that changed where that is much cheaper. */
static void update_gradient(corral *c, bool exact) {
    size_t all = 0, changed = 0;
    const double *q = c->task->q;
    for (size_t s = 0; s < c->size; s++)
        changed += c->a[c->member[s]] != c->before[s];
    for (size_t i = 0; i < c->n; i++)
        all += c->a[i] > 0;
    c->exact = exact || all <= 2 * changed;
    size_t count = 0;
    if (c->exact) {
        for (size_t i = 0; i < c->n; i++)
            if (c->a[i] > 0) {
                c->support[count] = i;
                c->weight[count++] = c->a[i];
            }
    } else {
        for (size_t s = 0; s < c->size; s++)
            if (c->a[c->member[s]] != c->before[s]) {
                c->support[count] = c->member[s];
                c->weight[count++] = c->a[c->member[s]] - c->before[s];
            }
    }
    if (count == 0 && !c->exact)
        return;
    c->gram->product(c->gram->user, c->support, c->weight, count, c->product);
    c->result->passes++;
    for (size_t i = 0; i < c->n; i++)
        c->g[i] = c->product[i] * c->scale + (c->exact ? c->shift - q[i] * c->scale : c->g[i]);
    for (size_t s = 0; s < c->size; s++) {
        c->before[s] = c->a[c->member[s]];
        c->gw[s] = c->g[c->member[s]];
    }
}

double lm_qp_least(const double *g, size_t n, double bound, double *room) {
    double least = INFINITY, sum = 0;
    if (!(bound < 1)) {
        for (size_t i = 0; i < n; i++)
            least = fmin(least, g[i]);
        return least;
    }
    double whole = floor(1 / bound * (1 + 4 * DBL_EPSILON));
    size_t k = whole < (double)n ? (size_t)whole : n;
    memcpy(room, g, n * sizeof *g);
    if (k < n) {
        lm_rng rng = lm_rng_at(0, 0, n);
        lm_select_kth_double(&rng, room, n, k);
        sum = fmax(1 - (double)k * bound, 0) * room[k];
    }
    for (size_t i = 0; i < k; i++)
        sum += room[i] * bound;
    return sum;
}

/* lambda where none is free: the middle between the limits that the two ends give. */
static double middle(const corral *c) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < c->n; i++)
        if (c->a[i] > c->bound / 2)
            high = fmax(high, c->g[i]);
        else
            low = fmin(low, c->g[i]);
    return isfinite(low) && isfinite(high) ? (low + high) / 2 : isfinite(low) ? low : high;
}

/* Restores sum a = 1 after rounding. */
static void restore_sum(corral *c) {
    double sum = 0, lost = 0, most = 0, *widest = NULL;
    for (size_t i = 0; i < c->n; i++) { /* compensated summation, as rounding matters here */
        double part = c->a[i] - lost, next = sum + part;
        lost = (next - sum) - part;
        sum = next;
    }
    for (size_t i = 0; isinf(c->bound) && i < c->n; i++)
        c->a[i] /= sum;
    for (size_t f = 0; !isinf(c->bound) && f < c->factor.size; f++) {
        double *a = &c->a[c->member[c->order[f]]], width = fmin(*a, c->bound - *a);
        if (width > most) {
            most = width;
            widest = a;
        }
    }
    if (widest)
        *widest = fmin(fmax(*widest + (1 - sum + lost), 0), c->bound);
}

/* Value, gap and lower bound at the current weights. */
static void appraise(corral *c, bool exact) {
    const double *q = c->task->q;
    double linear = 0, curved = 0;
    restore_sum(c);
    update_gradient(c, exact);
    for (size_t i = 0; i < c->n; i++)
        if (c->a[i] > 0) {
            double shifted = q[i] * c->scale - c->shift;
            linear += c->a[i] * c->g[i];
            curved += c->a[i] * (c->g[i] - shifted);
        }
    c->value = curved / 2 - c->shift;
    c->gap = fmax(linear - lm_qp_least(c->g, c->n, c->bound, c->product), 0);
    double lower = c->value - c->gap, h = c->task->goal.constant * c->scale, noise = c->noise;
    double square = 2 * (c->value + h); /* a squared distance */
    if (h >= 0 && isfinite(h) && c->gap < square) {
        lower += c->gap * c->gap / (2 * square);
        noise += 4 * DBL_EPSILON * h;
    }
    c->lower = fmax(c->lower, lower - noise);
}

/* Moves the candidates of this product into the window, worst first; other fixed members leave
 * it. */
static double refill(corral *c) {
    double by[WINDOW_MAX];
    size_t chosen[WINDOW_MAX], count = 0;
    c->lambda = c->factor.size > 0 ? mean_free(c) : middle(c);
    for (size_t i = 0; i < c->n; i++) {
        if (c->slot[i] != NONE && c->free[c->slot[i]])
            continue;
        double v = violation(c, c->a[i], c->g[i], c->lambda);
        if (!(v > c->least) || (count == c->batch && v <= by[count - 1]))
            continue;
        size_t at = count < c->batch ? count++ : count - 1;
        for (; at > 0 && by[at - 1] < v; at--) {
            by[at] = by[at - 1];
            chosen[at] = chosen[at - 1];
        }
        by[at] = v;
        chosen[at] = i;
    }
    for (size_t s = c->size; s-- > 0;)
        c->shunned[s] = !c->free[s];
    for (size_t k = 0; k < count; k++)
        if (c->slot[chosen[k]] != NONE)
            c->shunned[c->slot[chosen[k]]] = false;
    for (size_t s = c->size; s-- > 0;)
        if (c->shunned[s])
            evict(c, s);
    for (size_t k = 0; k < count; k++)
        if (c->slot[chosen[k]] == NONE)
            admit(c, chosen[k]);
    return count > 0 ? by[0] : 0;
}

/* ---- starting point ---- */

static void find_scale(corral *c) {
    const double *q = c->task->q, *diagonal = c->gram->diagonal;
    double top = 0, low = INFINITY, high = -INFINITY;
    int exponent;
    for (size_t i = 0; i < c->n; i++) {
        top = fmax(top, diagonal[i]);
        low = fmin(low, q[i]);
        high = fmax(high, q[i]);
    }
    /* q may be so much larger than G that G does not matter; it must not overflow. */
    double range = high / 2 - low / 2, unit = fmax(top, ldexp(range, -200));
    frexp(unit > 0 ? unit : 1, &exponent);
    exponent = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
    c->scale = ldexp(1, -exponent);
    c->shift = (low / 2 + high / 2) * c->scale;
    c->top = top > 0 ? top * c->scale : 1;
    c->noise = 16 * DBL_EPSILON * (c->top + range * c->scale);
    c->least = fmax(c->task->goal.tolerance * c->top / 2, c->noise / 4);
}

/* Starts from the best single point, or with the largest diagonals at the bound. */
static void begin_plain(corral *c) {
    const double *q = c->task->q, *diagonal = c->gram->diagonal;
    memset(c->a, 0, c->n * sizeof *c->a);
    if (isinf(c->bound)) {
        size_t best = 0;
        double least = INFINITY;
        for (size_t i = 0; i < c->n; i++) {
            double value = diagonal[i] * c->scale / 2 - (q[i] * c->scale - c->shift);
            if (value < least || (value == least && diagonal[i] > diagonal[best])) {
                least = value;
                best = i;
            }
        }
        c->a[best] = 1;
        return;
    }
    double given = 0; /* weight given so far, in bounds; the next one gets the rest */
    size_t k = (size_t)fmin(floor(1 / c->bound), (double)(c->n - 1));
    memcpy(c->product, diagonal, c->n * sizeof *c->product);
    lm_rng rng = lm_rng_at(0, 0, c->n);
    lm_select_kth_double(&rng, c->product, c->n, c->n - 1 - k);
    double threshold = c->product[c->n - 1 - k];
    for (int equal = 0; equal < 2; equal++)
        for (size_t i = 0; i < c->n; i++)
            if (equal ? diagonal[i] == threshold : diagonal[i] > threshold) {
                double left = fma(-given++, c->bound, 1);
                c->a[i] = left > 4 * DBL_EPSILON ? fmin(left, c->bound) : 0;
            }
}

/* Starts from goal.start, made feasible; false: impossible. */
static bool begin_given(corral *c) {
    const double *start = c->task->goal.start;
    double sum = 0, most = 0;
    for (size_t i = 0; start && i < c->n; i++)
        most = fmax(most, start[i]);
    for (size_t i = 0; most > 0 && i < c->n; i++) {
        double part =
            isinf(c->bound) ? isinf(most) ? start[i] == INFINITY : start[i] / most : start[i];
        c->a[i] = part > 0 ? fmin(part, c->bound) : 0;
        sum += c->a[i];
    }
    if (!(sum > 0))
        return false;
    for (size_t i = 0; isinf(c->bound) && i < c->n; i++)
        c->a[i] /= sum;
    return isinf(c->bound) || fabs(sum - 1) < 1e-9;
}

/* Every weight that is not at an end becomes free or, if it depends on others, moves to an end. */
static void free_those_between(corral *c) {
    for (size_t i = 0; i < c->n && !c->full; i++) {
        if (!(c->a[i] > 0 && c->a[i] < c->bound) || c->slot[i] != NONE)
            continue;
        for (size_t s = c->size; s-- > 0 && c->size == c->room;)
            if (!c->free[s])
                evict(c, s);
        liberate(c, admit(c, i));
    }
}

static void begin(corral *c) {
    find_scale(c);
    for (size_t i = 0; i < c->n; i++)
        c->slot[i] = NONE;
    c->lower = -INFINITY;
    if (!begin_given(c))
        begin_plain(c);
    appraise(c, true);
    free_those_between(c);
    if (c->result->iterations > 0)
        appraise(c, true);
}

/* ---- the whole ---- */

static bool within(const corral *c) {
    return c->gap <= fmax(c->task->goal.tolerance * c->top, c->noise);
}

static bool finished(corral *c) {
    if (c->lower / c->scale > c->task->goal.abandon) {
        c->result->abandoned = true;
        return true;
    }
    if (within(c) && !c->exact)
        appraise(c, true);
    if (within(c))
        return true;
    if (c->task->go_on && !c->task->go_on(c->task->user, c->gap / c->scale)) {
        c->result->cancelled = true;
        return true;
    }
    return false;
}

static void iterate(corral *c) {
    /* Every window lowers the value, unless only rounding is left. */
    size_t idle = 0, limit = 100 + 10 * c->n;
    double best = INFINITY, least_gap = INFINITY;
    while (!finished(c) && !c->full && idle < 6 && limit-- > 0) {
        bool gained = c->value < best - c->noise / 16 || c->gap < least_gap * 0.9;
        idle = gained ? 0 : idle + 1;
        best = fmin(best, c->value);
        least_gap = fmin(least_gap, c->gap);
        double most = refill(c);
        solve_window(c, fmax(c->least, most * 0.05));
        appraise(c, idle > 0 || limit % 64 == 0);
    }
    if (!c->exact)
        appraise(c, true);
}

void lm_corral_run(const lm_corral_task *task, double *a, double *gradient, lm_qp_result *result,
                   void *scratch) {
    corral c = {.task = task, .gram = task->gram, .kernels = lm_simd_get()->dense};
    lm_cursor at = lm_cursor_at(scratch);
    memset(result, 0, sizeof *result);
    lay_out(&c, task->gram->n, task->goal.support_max, &at);
    c.a = a;
    c.bound = task->bound >= 1 ? INFINITY : fmax(task->bound, 1 / (double)c.n);
    c.result = result;
    c.factor.kernels = c.kernels;
    begin(&c);
    iterate(&c);
    result->value = c.value / c.scale;
    result->gap = c.gap / c.scale;
    result->lower = c.lower / c.scale;
    result->full = c.full;
    result->converged = within(&c);
    for (size_t i = 0; i < c.n; i++) {
        result->support += a[i] > 0;
        if (gradient)
            gradient[i] = (c.g[i] - c.shift) / c.scale;
    }
}

void lm_qp_simplex(const lm_qp_gram *gram, const double *q, const lm_qp_goal *goal, double *a,
                   lm_qp_result *result, void *scratch) {
    lm_corral_task task = {.gram = gram, .q = q, .bound = 1, .goal = *goal};
    lm_corral_run(&task, a, NULL, result, scratch);
}
