/* platt.c: Platt's sigmoid, and the coupling of pairwise probabilities.
 *
 * The sigmoid P(f) = 1 / (1 + exp(z)), z = a f + b, minimises the cross entropy
 *
 *   sum_i  t_i z_i + log(1 + exp(-z_i))
 *
 * to the targets t = (N+ + 1) / (N+ + 2) of positive rows and 1 / (N- + 2) of the others, by Newton
 * steps (Hessian + RIDGE I) that are halved until the sum falls enough. Start, constants and order
 * of steps are those of the paper (see the header), and therefore of LIBSVM.
 *
 * The coupling minimises p'Qp over sum p = 1, where Q is symmetric with
 *
 *   Q_tt = sum over j != t of r_jt^2,   Q_tj = -r_jt r_tj,
 *   p'Qp = sum over i < j of (r_ji p_i - r_ij p_j)^2.
 *
 * At the minimum all entries of Qp are equal, and every p_t is positive.
 *
 * For two classes p is r, in LIBSVM 3.24 as here. For more, LM_COUPLE_LIBSVM repeats cyclic steps
 * to a loose tolerance. LM_COUPLE_EXACT solves the linear system instead: with E the matrix of
 * ones, (Q + E) p is constant too, so p is the solution of (Q + E) p = 1, made to sum to 1. Q
 * itself may be singular (it is when the r agree with some p), but Q + E is always positive
 * definite and well conditioned: a vector v with sum 0 has some v_i, v_j of opposite signs, so that
 * v'Qv >= (r_ji |v_i| + r_ij |v_j|)^2 >= min(v_i^2, v_j^2) for any r; and Q + E does not mix these
 * vectors with p. Elimination without pivoting therefore never fails. Its k^3 / 6 multiply-adds
 * take less time than LIBSVM's loose steps (2 k^2 divisions per sweep) up to about 200 classes. */
#include "num/platt.h"

#include "base/argmax.h"

#include <math.h>
#include <string.h>

enum { NEWTON_STEPS = 100, SWEEPS = 100 };
#define RIDGE 1e-12
#define SHORTEST_STEP 1e-10
#define GRADIENT_SMALL 1e-5
#define SUFFICIENT 1e-4 /* share of the predicted decrease that a step must reach */
#define COUPLE_LOOSE 0.005

/* ---- the sigmoid ---- */

static double sigmoid(double z) { /* 1 / (1 + exp(z)) */
    if (z < 0)
        return 1 / (1 + exp(z));
    double e = exp(-z);
    return e / (1 + e);
}

double lm_platt(lm_sigmoid_fit fit, double f) {
    double z = fit.a * f + fit.b;
    return sigmoid(isnan(z) ? fit.b : z);
}

static double cross_entropy(const double *f, const double *target, size_t n, lm_sigmoid_fit at) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double z = at.a * f[i] + at.b;
        sum += z >= 0 ? target[i] * z + log1p(exp(-z)) : (target[i] - 1) * z + log1p(exp(z));
    }
    return sum;
}

/* Gradient and Hessian. */
typedef struct slopes {
    double a, b, aa, ab, bb;
} slopes;

static slopes slopes_at(const double *f, const double *target, size_t n, lm_sigmoid_fit at) {
    slopes s = {.aa = RIDGE, .bb = RIDGE};
    for (size_t i = 0; i < n; i++) {
        double z = at.a * f[i] + at.b;
        double p = sigmoid(z), curve = p * sigmoid(-z), miss = target[i] - p;
        s.a += f[i] * miss;
        s.b += miss;
        s.aa += f[i] * f[i] * curve;
        s.ab += f[i] * curve;
        s.bb += curve;
    }
    return s;
}

/* Moves *at along the Newton direction; false when no step makes a difference. Overflow gives NaN
 * here, for which every comparison is false, so *at stays finite. */
static bool newton_step(const double *f, const double *target, size_t n, const slopes *s,
                        lm_sigmoid_fit *at, double *value) {
    double det = s->aa * s->bb - s->ab * s->ab;
    double da = -(s->bb * s->a - s->ab * s->b) / det;
    double db = -(s->aa * s->b - s->ab * s->a) / det;
    double slope = s->a * da + s->b * db;
    for (double step = 1; step >= SHORTEST_STEP; step /= 2) {
        lm_sigmoid_fit next = {at->a + step * da, at->b + step * db};
        double there = cross_entropy(f, target, n, next);
        if (there < *value + SUFFICIENT * step * slope) {
            *at = next;
            *value = there;
            return true;
        }
    }
    return false;
}

/* The targets t of rows that stand for yes positive and no other ones. */
static void make_targets(const bool *positive, size_t n, double yes, double no, double *target) {
    for (size_t i = 0; i < n; i++)
        target[i] = positive[i] ? (yes + 1) / (yes + 2) : 1 / (no + 2);
}

lm_sigmoid_fit lm_platt_fit(const double *f, const bool *positive, size_t n, double *scratch) {
    double *target = scratch, yes = 0, no = 0;
    for (size_t i = 0; i < n; i++)
        *(positive[i] ? &yes : &no) += 1;
    make_targets(positive, n, yes, no, target);
    lm_sigmoid_fit fit = {0, log((no + 1) / (yes + 1))};
    double value = cross_entropy(f, target, n, fit);
    for (int i = 0; i < NEWTON_STEPS; i++) {
        slopes s = slopes_at(f, target, n, fit);
        if (fabs(s.a) < GRADIENT_SMALL && fabs(s.b) < GRADIENT_SMALL)
            break;
        if (!newton_step(f, target, n, &s, &fit, &value))
            break;
    }
    return fit;
}

/* The cross entropy is convex in a, so the root of its slope is bracketed and bisected in units of
 * 1/|f|, root mean square: from FLATTEST to STEEPEST. */
#define FLATTEST 1e-6
#define STEEPEST 1e6
enum { BISECTIONS = 60 };

double lm_slope_fit(const double *f, const bool *positive, size_t n, double yes, double no,
                    double *scratch) {
    double largest = 0, sum = 0;
    make_targets(positive, n, yes, no, scratch);
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(f[i]));
    if (!(largest > 0 && largest < INFINITY))
        return -1;
    for (size_t i = 0; i < n; i++)
        sum += f[i] / largest * (f[i] / largest) / (double)n;
    double unit = 1 / (largest * sqrt(sum)), low = log(FLATTEST), high = log(STEEPEST);
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        slopes s = slopes_at(f, scratch, n, (lm_sigmoid_fit){-exp(middle) * unit, 0});
        *(s.a < 0 ? &high : &low) = middle; /* too steep: the sum falls towards a = 0 */
    }
    return fmax(-exp(low) * unit, -1e300);
}

/* ---- the coupling ---- */

static void fill(size_t k, double value, double *p) {
    for (size_t t = 0; t < k; t++)
        p[t] = value;
}

/* q = Q + shift in every entry. */
static void make_q(size_t k, const double *r, double shift, double *q) {
    for (size_t t = 0; t < k; t++) {
        double squares = 0;
        for (size_t j = 0; j < k; j++) {
            if (j == t)
                continue;
            squares += r[j * k + t] * r[j * k + t];
            q[t * k + j] = shift - r[j * k + t] * r[t * k + j];
        }
        q[t * k + t] = shift + squares;
    }
}

/* Makes all p at least 0 and their sum 1. */
static void make_shares(size_t k, double *p) {
    double sum = 0;
    for (size_t t = 0; t < k; t++) {
        if (p[t] < 0) /* by rounding */
            p[t] = 0;
        sum += p[t];
    }
    for (size_t t = 0; t < k; t++)
        p[t] /= sum;
}

/* p <- the solution of q p = p, q symmetric and positive definite. Uses the upper triangle only,
 * row by row, so that the inner loop reads memory sequentially. */
static void eliminate(size_t k, double *q, double *p) {
    for (size_t t = 0; t < k; t++) {
        const double *pivot = q + t * k;
        for (size_t i = t + 1; i < k; i++) {
            double factor = pivot[i] / pivot[t], *row = q + i * k;
            for (size_t j = i; j < k; j++)
                row[j] -= factor * pivot[j];
            p[i] -= factor * p[t];
        }
    }
    for (size_t t = k; t-- > 0;) {
        for (size_t j = t + 1; j < k; j++)
            p[t] -= q[t * k + j] * p[j];
        p[t] /= q[t * k + t];
    }
}

static void couple_exact(size_t k, const double *r, double *p, double *scratch) {
    make_q(k, r, 1, scratch);
    fill(k, 1, p);
    eliminate(k, scratch, p);
    make_shares(k, p);
}

/* qp = Qp; returns p'Qp. */
static double multiply(size_t k, const double *q, const double *p, double *qp) {
    double value = 0;
    for (size_t t = 0; t < k; t++) {
        qp[t] = 0;
        for (size_t j = 0; j < k; j++)
            qp[t] += q[t * k + j] * p[j];
        value += p[t] * qp[t];
    }
    return value;
}

/* Sets each p_t in turn to its best value and rescales, qp and value being kept up to date. */
static void sweep(size_t k, const double *q, double *p, double *qp, double value) {
    for (size_t t = 0; t < k; t++) {
        double own = q[t * k + t], change = (value - qp[t]) / own, scale = 1 + change;
        p[t] += change;
        value = (value + change * (change * own + 2 * qp[t])) / scale / scale;
        for (size_t j = 0; j < k; j++) {
            qp[j] = (qp[j] + change * q[t * k + j]) / scale;
            p[j] /= scale;
        }
    }
}

static void couple_libsvm(size_t k, const double *r, double *p, double *scratch) {
    double *q = scratch, *qp = scratch + k * k, tolerance = COUPLE_LOOSE / (double)k;
    size_t sweeps = k > SWEEPS ? k : SWEEPS;
    make_q(k, r, 0, q);
    fill(k, 1 / (double)k, p);
    for (size_t i = 0; i < sweeps; i++) {
        double value = multiply(k, q, p, qp), largest = 0;
        for (size_t t = 0; t < k; t++)
            largest = fmax(largest, fabs(qp[t] - value));
        if (largest < tolerance)
            break;
        sweep(k, q, p, qp, value);
    }
}

static bool all_finite(size_t k, const double *p) {
    for (size_t t = 0; t < k; t++)
        if (!isfinite(p[t]))
            return false;
    return true;
}

void lm_couple(size_t k, const double *r, lm_coupling how, double *p, double *scratch) {
    if (k == 2) {
        p[0] = r[1];
        p[1] = r[2];
    } else if (how == LM_COUPLE_LIBSVM) {
        couple_libsvm(k, r, p, scratch);
    }
    if ((k == 2 || how == LM_COUPLE_LIBSVM) && all_finite(k, p))
        return;
    couple_exact(k, r, p, scratch); /* also where LIBSVM's steps divide by 0 */
    if (!all_finite(k, p))          /* r did not hold probabilities */
        fill(k, 1 / (double)k, p);
}

/* ---- one-vs-one ---- */

#define CLIP 1e-7 /* as in LIBSVM */

int32_t lm_vote_pairs(size_t k, const double *f, int32_t *votes) {
    memset(votes, 0, k * sizeof *votes);
    for (size_t i = 0; i < k; i++) {
        int32_t won = 0; /* no branch, and no vote that depends on the one before */
        for (size_t j = i + 1; j < k; j++) {
            int32_t wins = *f++ > 0;
            won += wins;
            votes[j] += 1 - wins;
        }
        votes[i] += won;
    }
    return (int32_t)lm_argmax_int(votes, k);
}

void lm_couple_values(size_t k, const double *f, const double *a, const double *b, lm_coupling how,
                      double *p, double *scratch) {
    double *r = scratch;
    size_t at = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, at++) {
            double one = lm_platt((lm_sigmoid_fit){a[at], b[at]}, f[at]);
            one = one > CLIP ? one : CLIP;
            one = one < 1 - CLIP ? one : 1 - CLIP;
            r[i * k + j] = one;
            r[j * k + i] = 1 - one;
        }
    if (k == 1)
        p[0] = 1;
    else
        lm_couple(k, r, how, p, scratch + k * k);
}

void lm_prefer(size_t class, size_t k, double *p) {
    size_t most = lm_argmax(p, k);
    double kept = p[class];
    p[class] = most < class && kept == p[most] ? nextafter(kept, 2) : p[most];
    p[most] = kept;
}
