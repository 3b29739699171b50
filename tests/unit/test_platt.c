/* test_platt.c: the sigmoid and the coupling, against LIBSVM itself and against plain solvers. */
#include "num/platt.h"

#include <libsvm/svm.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 240, FEATURES = 3, CLASSES_MAX = 10, K_MAX = 60 };
#define CLIP 1e-7

/* ---- LIBSVM ---- */

/* Overlapping classes, rows grouped by class, in LIBSVM's form. */
typedef struct world {
    struct svm_node nodes[ROWS][FEATURES + 1], *x[ROWS];
    double y[ROWS];
    struct svm_problem problem;
    struct svm_parameter options;
} world;

static void quiet(const char *text) {
    (void)text;
}

static double clipped(double p) {
    return fmin(fmax(p, CLIP), 1 - CLIP);
}

static void world_make(world *w, size_t classes, double spread, uint64_t seed) {
    double centre[CLASSES_MAX][FEATURES];
    lm_rng rng = lm_rng_at(seed, 1, classes);
    for (size_t i = 0; i < classes * FEATURES; i++)
        centre[i / FEATURES][i % FEATURES] = spread * lm_rng_normal(&rng);
    for (size_t i = 0; i < ROWS; i++) {
        size_t c = i * classes / ROWS;
        w->y[i] = (double)c + 1;
        w->x[i] = w->nodes[i];
        for (int j = 0; j < FEATURES; j++)
            w->nodes[i][j] = (struct svm_node){j + 1, centre[c][j] + lm_rng_normal(&rng)};
        w->nodes[i][FEATURES].index = -1;
    }
    w->problem = (struct svm_problem){ROWS, w->y, w->x};
    w->options = (struct svm_parameter){.svm_type = C_SVC,
                                        .kernel_type = RBF,
                                        .gamma = 0.5,
                                        .cache_size = 10,
                                        .eps = 1e-3,
                                        .C = 1,
                                        .shrinking = 1};
    svm_set_print_string_function(quiet);
}

static struct svm_model *world_train(world *w, int probability) {
    w->options.probability = probability;
    assert_null(svm_check_parameter(&w->problem, &w->options));
    struct svm_model *model = svm_train(&w->problem, &w->options);
    assert_non_null(model);
    return model;
}

/* f of the rows held out, fold by fold, as LIBSVM computes them (it draws its folds with
 * rand()). */
static void held_out_values(const world *w, int first, int count, int split, double *f) {
    enum { FOLDS = 5 };
    int order[ROWS];
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = 0; i < count; i++) {
        int j = i + rand() % (count - i), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (int fold = 0; fold < FOLDS; fold++) {
        int begin = fold * count / FOLDS, end = (fold + 1) * count / FOLDS, l = 0;
        struct svm_node *x[ROWS];
        double y[ROWS];
        for (int i = 0; i < count; i++)
            if (i < begin || i >= end) {
                x[l] = w->x[first + order[i]];
                y[l++] = order[i] < split ? 1 : -1;
            }
        struct svm_problem part = {l, y, x};
        struct svm_parameter options = w->options;
        options.probability = 0;
        struct svm_model *model = svm_train(&part, &options);
        for (int i = begin; i < end; i++) {
            svm_predict_values(model, w->x[first + order[i]], &f[order[i]]);
            f[order[i]] *= model->label[0];
        }
        svm_free_and_destroy_model(&model);
    }
}

static void test_the_fit_equals_that_of_libsvm(void **state) {
    (void)state;
    static world w;
    static const double spreads[] = {0, 0.3, 1, 4};
    for (size_t s = 0; s < LM_COUNT(spreads); s++) {
        double f[ROWS], scratch[ROWS];
        bool positive[ROWS];
        world_make(&w, 2, spreads[s], s);
        /* unequal classes: 120 against 20 to 120 rows */
        int split = ROWS / 2, count = split + 20 + 33 * (int)s;
        w.problem.l = count;
        srand(7);
        struct svm_model *model = world_train(&w, 1);
        srand(7);
        held_out_values(&w, 0, count, split, f);
        for (int i = 0; i < count; i++)
            positive[i] = i < split;
        lm_sigmoid_fit fit = lm_platt_fit(f, positive, (size_t)count, scratch);
        assert_true(fabs(fit.a - model->probA[0]) <= 1e-6 * fmax(1, fabs(fit.a)));
        assert_true(fabs(fit.b - model->probB[0]) <= 1e-6 * fmax(1, fabs(fit.b)));
        svm_free_and_destroy_model(&model);
    }
}

/* Every row of the training data, and one far away. */
static void check_probabilities(const world *w, const struct svm_model *model, size_t k) {
    struct svm_node far[] = {{1, 1e3}, {2, -1e3}, {-1, 0}};
    for (size_t row = 0; row <= ROWS; row++) {
        const struct svm_node *x = row < ROWS ? w->x[row] : far;
        double f[CLASSES_MAX * CLASSES_MAX], r[CLASSES_MAX * CLASSES_MAX] = {0};
        double expected[CLASSES_MAX], p[CLASSES_MAX], scratch[CLASSES_MAX * (CLASSES_MAX + 1)];
        svm_predict_values(model, x, f);
        svm_predict_probability(model, x, expected);
        for (size_t i = 0, pair = 0; i < k; i++)
            for (size_t j = i + 1; j < k; j++, pair++) {
                lm_sigmoid_fit fit = {model->probA[pair], model->probB[pair]};
                r[i * k + j] = clipped(lm_platt(fit, f[pair]));
                r[j * k + i] = 1 - r[i * k + j];
            }
        lm_couple(k, r, LM_COUPLE_LIBSVM, p, scratch);
        for (size_t c = 0; c < k; c++)
            assert_true(fabs(p[c] - expected[c]) <= 1e-12);
    }
}

static void test_the_coupling_repeats_libsvm(void **state) {
    (void)state;
    static world w;
    static const size_t classes[] = {2, 3, 5, CLASSES_MAX};
    for (size_t c = 0; c < LM_COUNT(classes); c++) {
        world_make(&w, classes[c], 1, 11);
        struct svm_model *model = world_train(&w, 1);
        check_probabilities(&w, model, classes[c]);
        /* steep sigmoids: nearly all pairs are clipped */
        for (size_t pair = 0; pair < classes[c] * (classes[c] - 1) / 2; pair++)
            model->probA[pair] = pair % 2 ? -300 : 300;
        check_probabilities(&w, model, classes[c]);
        svm_free_and_destroy_model(&model);
    }
}

/* ---- the sigmoid alone ---- */

/* The gradient at the fit, in long double, from the definition. */
static void gradient(const double *f, const bool *positive, size_t n, lm_sigmoid_fit fit,
                     long double out[2]) {
    long double yes = 0;
    for (size_t i = 0; i < n; i++)
        yes += positive[i];
    out[0] = out[1] = 0;
    for (size_t i = 0; i < n; i++) {
        long double target = positive[i] ? (yes + 1) / (yes + 2) : 1 / ((long double)n - yes + 2);
        long double p = 1 / (1 + expl((long double)fit.a * f[i] + fit.b));
        out[0] += f[i] * (target - p);
        out[1] += target - p;
    }
}

static void test_the_gradient_vanishes_at_the_fit(void **state) {
    (void)state;
    enum { N = 500 };
    static double f[N], scratch[N];
    static bool positive[N];
    lm_rng rng = lm_rng_at(3, 1, 0);
    for (int trial = 0; trial < 60; trial++) {
        double slope = pow(10, (double)(trial % 5) - 2), shift = lm_rng_normal(&rng);
        size_t n = 2 + (size_t)lm_rng_below(&rng, N - 1);
        for (size_t i = 0; i < n; i++) {
            f[i] = 3 * lm_rng_normal(&rng);
            positive[i] = lm_rng_unit(&rng) < 1 / (1 + exp(-slope * f[i] - shift));
        }
        long double g[2];
        gradient(f, positive, n, lm_platt_fit(f, positive, n, scratch), g);
        assert_true(fabsl(g[0]) < 1.01e-5L && fabsl(g[1]) < 1.01e-5L);
    }
}

static void test_degenerate_values_give_a_finite_fit(void **state) {
    (void)state;
    enum { N = 20 };
    static const double values[] = {0, 1, -1, 1e-300, 1e30, 1e200, -1.7e308, INFINITY, NAN};
    double f[N], scratch[N];
    bool positive[N];
    lm_sigmoid_fit none = lm_platt_fit(NULL, NULL, 0, NULL);
    assert_true(none.a == 0 && none.b == 0);
    for (size_t v = 0; v < LM_COUNT(values); v++)
        for (size_t yes = 0; yes <= N; yes += 5)
            for (int differ = 0; differ < 2; differ++) {
                for (size_t i = 0; i < N; i++) {
                    f[i] = differ && i % 2 ? -values[v] : values[v];
                    positive[i] = i < yes;
                }
                lm_sigmoid_fit fit = lm_platt_fit(f, positive, N, scratch);
                assert_true(isfinite(fit.a) && isfinite(fit.b));
                for (size_t u = 0; u < LM_COUNT(values); u++) {
                    double p = lm_platt(fit, values[u]);
                    assert_true(p >= 0 && p <= 1);
                }
            }
}

/* All rows of one kind: the prior's answer, (n + 1) / (n + 2), for any f. */
static void test_one_kind_of_rows_gives_its_target(void **state) {
    (void)state;
    enum { N = 9 };
    double scratch[N];
    const double f[N] = {-2, -1, 0, 1, 2, 3, 4, 5, 6};
    bool positive[N];
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < N; i++)
            positive[i] = kind;
        lm_sigmoid_fit fit = lm_platt_fit(f, positive, N, scratch);
        double expected = kind ? 10.0 / 11 : 1.0 / 11;
        for (size_t i = 0; i < N; i++)
            assert_true(fabs(lm_platt(fit, f[i]) - expected) < 1e-5);
    }
}

static void test_the_sigmoid_neither_overflows_nor_cancels(void **state) {
    (void)state;
    const lm_sigmoid_fit fit = {-2, 0.5};
    for (double f = -400; f <= 400; f += 0.37) {
        long double z = -2 * (long double)f + 0.5L, expected = 1 / (1 + expl(z));
        assert_true(fabsl(lm_platt(fit, f) - expected) <= 1e-13L * expected + 1e-320L);
    }
    assert_true(lm_platt(fit, 1e308) == 1 && lm_platt(fit, -1e308) == 0);
    assert_true(lm_platt(fit, INFINITY) == 1 && lm_platt(fit, -INFINITY) == 0);
}

/* ---- the slope alone ---- */

/* How many rows of each kind a set has of which these are one in `part`. */
static void count_kinds(const bool *positive, size_t n, double part, double *yes, double *no) {
    *yes = *no = 0;
    for (size_t i = 0; i < n; i++)
        *(positive[i] ? yes : no) += part;
}

static double fit_slope(const double *f, const bool *positive, size_t n, double part) {
    double yes, no, scratch[300];
    count_kinds(positive, n, part, &yes, &no);
    return lm_slope_fit(f, positive, n, yes, no, scratch);
}

/* The cross entropy of P = 1 / (1 + exp(a f)) to Platt's targets. */
static long double slope_loss(const double *f, const bool *positive, size_t n, double part,
                              long double a) {
    long double sum = 0;
    double yes, no;
    count_kinds(positive, n, part, &yes, &no);
    for (size_t i = 0; i < n; i++) {
        long double z = a * f[i], t = positive[i] ? (yes + 1.L) / (yes + 2.L) : 1 / (no + 2.L);
        sum += t * z + fmaxl(-z, 0) + log1pl(expl(-fabsl(z)));
    }
    return sum;
}

/* By golden sections in log(-a), from 1e-6 to 1e6 in units of 1 / (root mean square f). */
static long double slow_slope(const double *f, const bool *positive, size_t n, double part) {
    long double squares = 0, golden = 0.618033988749894848L;
    for (size_t i = 0; i < n; i++)
        squares += (long double)f[i] * f[i] / (long double)n;
    long double unit = 1 / sqrtl(squares), low = logl(1e-6L), high = logl(1e6L);
    while (high - low > 1e-12L) {
        long double left = high - golden * (high - low), right = low + golden * (high - low);
        if (slope_loss(f, positive, n, part, -expl(left) * unit) <
            slope_loss(f, positive, n, part, -expl(right) * unit))
            high = right;
        else
            low = left;
    }
    return -expl((low + high) / 2) * unit;
}

typedef enum rows_kind {
    NOISY,    /* the sign of f is right more often than not */
    PERFECT,  /* always right */
    REVERSED, /* always wrong */
    LUCKY,    /* says nothing */
    ONE_KIND, /* all positive */
    NO_KIND,  /* all negative */
    UNEVEN,   /* few positive rows, values of all sizes */
    ROWS_KINDS
} rows_kind;

static void draw_rows(rows_kind what, lm_rng *rng, size_t n, double *f, bool *positive) {
    for (size_t i = 0; i < n; i++) {
        bool right = lm_rng_unit(rng) < (what == LUCKY ? 0.5 : 0.85);
        f[i] = lm_rng_normal(rng) * (what == UNEVEN ? pow(10, 3 * lm_rng_unit(rng)) : 1);
        positive[i] = (f[i] > 0) == right;
        if (what == PERFECT || what == REVERSED)
            positive[i] = (f[i] > 0) == (what == PERFECT);
        else if (what == ONE_KIND || what == NO_KIND)
            positive[i] = what == ONE_KIND;
        else if (what == UNEVEN)
            positive[i] = f[i] > 0 && i % 5 == 0;
    }
}

static void test_the_slope_has_the_least_cross_entropy(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(1, 351, 0);
    for (int what = 0; what < ROWS_KINDS; what++)
        for (size_t n = 1; n <= 300; n = n * 3 + 1) {
            double f[300], scaled[300], part = n % 2 ? 1 : 5;
            bool positive[300];
            draw_rows((rows_kind)what, &rng, n, f, positive);
            double a = fit_slope(f, positive, n, part);
            long double want = slow_slope(f, positive, n, part);
            if (!(fabsl(a / want - 1) <= 1e-6L))
                fail_msg("rows %d, n %zu: %.12g instead of %.12Lg", what, n, a, want);
            assert_true(a < 0);
            for (int power = -20; power <= 20; power += 5) {
                for (size_t i = 0; i < n; i++)
                    scaled[i] = f[i] * pow(10, power);
                double other = fit_slope(scaled, positive, n, part);
                assert_true(fabs(other * pow(10, power) / a - 1) <= 1e-9);
            }
        }
}

/* P(positive) is above 1/2 where f is above 0 even where the rows say otherwise; then barely. */
static void test_rows_that_say_the_opposite_give_a_flat_slope(void **state) {
    (void)state;
    enum { N = 50 };
    double f[N];
    bool positive[N];
    lm_rng rng = lm_rng_at(1, 352, 0);
    draw_rows(REVERSED, &rng, N, f, positive);
    double a = fit_slope(f, positive, N, 1);
    assert_true(a < 0 && a > -1e-5);
    draw_rows(PERFECT, &rng, N, f, positive);
    a = fit_slope(f, positive, N, 1);
    assert_true(a < -1);
}

static void test_degenerate_values_give_a_finite_slope(void **state) {
    (void)state;
    static const double values[] = {0, 5e-324, 1e-310, 1e-200, 1e154, 1e200, 1e308, INFINITY, NAN};
    assert_true(lm_slope_fit(NULL, NULL, 0, 0, 0, NULL) < 0);
    for (size_t u = 0; u < LM_COUNT(values); u++)
        for (size_t v = 0; v < LM_COUNT(values); v++) {
            const double f[4] = {values[u], -values[v], values[v], 1};
            const bool positive[4] = {true, false, true, false};
            for (size_t n = 2; n <= 4; n++) {
                double a = fit_slope(f, positive, n, 1);
                assert_true(a < 0 && a > -INFINITY);
                for (size_t i = 0; i < 4; i++) {
                    double p = lm_platt((lm_sigmoid_fit){a, 0}, f[i]);
                    assert_true(p >= 0 && p <= 1);
                }
            }
        }
}

/* ---- the coupling alone ---- */

typedef struct pairs {
    size_t k;
    double r[K_MAX * K_MAX];
} pairs;

typedef enum kind {
    RANDOM,     /* any r */
    CONSISTENT, /* r_ij = p_i / (p_i + p_j): the matrix of the problem is singular */
    EXTREME,    /* each r at one of the bounds of clipping */
    ORDERED,    /* each class beats all later ones */
    CYCLE,      /* each class beats the next half of a circle */
    MIXED,      /* bounds and random values */
    EVEN,
    CERTAIN, /* 0 and 1, outside the contract */
    KINDS
} kind;

static double pair_value(kind what, size_t i, size_t j, size_t k, const double *share,
                         lm_rng *rng) {
    double unit = lm_rng_unit(rng);
    bool wins = what == ORDERED || (what == CYCLE ? j - i <= k / 2 : unit < 0.5);
    switch (what) {
    case RANDOM:
        return clipped(unit);
    case CONSISTENT:
        return share[i] / (share[i] + share[j]);
    case MIXED:
        return lm_rng_unit(rng) < 0.5 ? clipped(unit) : wins ? 1 - CLIP : CLIP;
    case EVEN:
        return 0.5;
    case CERTAIN:
        return wins ? 1 : 0;
    default:
        return wins ? 1 - CLIP : CLIP;
    }
}

static void pairs_make(pairs *out, kind what, size_t k, uint64_t seed) {
    double share[K_MAX];
    lm_rng rng = lm_rng_at(seed, (uint64_t)what, k);
    for (size_t i = 0; i < k; i++)
        share[i] = exp(3 * lm_rng_normal(&rng));
    out->k = k;
    memset(out->r, 0, sizeof out->r);
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++) {
            out->r[i * k + j] = pair_value(what, i, j, k, share, &rng);
            out->r[j * k + i] = 1 - out->r[i * k + j];
        }
}

/* The conditions of the minimum, Q p - b 1 = 0 and sum p = 1, by elimination with pivoting. */
static void solve_conditions(const pairs *in, long double *p) {
    enum { SIDE = K_MAX + 1 };
    static long double a[SIDE][SIDE + 1];
    size_t k = in->k, n = k + 1;
    memset(a, 0, sizeof a);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) {
            long double ij = in->r[i * k + j], ji = in->r[j * k + i];
            if (i != j) {
                a[i][i] += ji * ji;
                a[i][j] = -ij * ji;
            }
        }
    for (size_t i = 0; i < k; i++)
        a[i][k] = a[k][i] = 1;
    a[k][n] = 1;
    for (size_t c = 0; c < n; c++) {
        size_t best = c;
        for (size_t i = c; i < n; i++)
            best = fabsl(a[i][c]) > fabsl(a[best][c]) ? i : best;
        for (size_t j = 0; j <= n; j++) {
            long double kept = a[c][j];
            a[c][j] = a[best][j];
            a[best][j] = kept;
        }
        for (size_t i = 0; i < n; i++) {
            long double factor = i == c ? 0 : a[i][c] / a[c][c];
            for (size_t j = c; j <= n && factor != 0; j++)
                a[i][j] -= factor * a[c][j];
        }
    }
    for (size_t i = 0; i < k; i++)
        p[i] = a[i][n] / a[i][i];
}

static void check_shares(const double *p, size_t k, double tolerance) {
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        assert_true(p[i] >= 0 && p[i] <= 1 + tolerance);
        sum += p[i];
    }
    assert_true(fabs(sum - 1) <= tolerance);
}

static void test_the_exact_coupling_solves_the_conditions_of_the_minimum(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 10, 17, 26, 40, K_MAX};
    static pairs in;
    static double scratch[K_MAX * (K_MAX + 1)];
    double p[K_MAX];
    long double expected[K_MAX];
    for (size_t s = 0; s < LM_COUNT(sizes); s++)
        for (int what = 0; what < KINDS; what++)
            for (uint64_t seed = 0; seed < 3; seed++) {
                pairs_make(&in, (kind)what, sizes[s], seed);
                lm_couple(in.k, in.r, LM_COUPLE_EXACT, p, scratch);
                solve_conditions(&in, expected);
                check_shares(p, in.k, 1e-14);
                for (size_t i = 0; i < in.k; i++)
                    assert_true(fabsl(p[i] - expected[i]) <= 1e-12L);
            }
}

static double objective(const pairs *in, const double *p) {
    double sum = 0;
    for (size_t i = 0; i < in->k; i++)
        for (size_t j = i + 1; j < in->k; j++) {
            double term = in->r[j * in->k + i] * p[i] - in->r[i * in->k + j] * p[j];
            sum += term * term;
        }
    return sum;
}

/* From the definition: moving weight between any two classes never helps. */
static void test_the_exact_coupling_is_a_minimum(void **state) {
    (void)state;
    static pairs in;
    static double scratch[K_MAX * (K_MAX + 1)];
    double p[K_MAX];
    for (int what = 0; what < KINDS; what++) {
        pairs_make(&in, (kind)what, 8, 5);
        lm_couple(in.k, in.r, LM_COUPLE_EXACT, p, scratch);
        double least = objective(&in, p);
        for (size_t i = 0; i < in.k; i++)
            for (size_t j = 0; j < in.k; j++) {
                double moved[K_MAX];
                memcpy(moved, p, sizeof moved);
                moved[i] += 1e-3;
                moved[j] -= 1e-3;
                assert_true(i == j || objective(&in, moved) > least);
            }
    }
}

static void test_consistent_pairs_give_back_their_shares(void **state) {
    (void)state;
    enum { K = 12 };
    double share[K], sum = 0, r[K * K], p[K], scratch[K * (K + 1)];
    for (size_t i = 0; i < K; i++)
        sum += share[i] = pow(0.5, (double)i);
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++)
            r[i * K + j] = share[i] / (share[i] + share[j]);
    lm_couple(K, r, LM_COUPLE_EXACT, p, scratch);
    for (size_t i = 0; i < K; i++)
        assert_true(fabs(p[i] - share[i] / sum) <= 1e-14);
}

static void test_two_classes_need_no_coupling(void **state) {
    (void)state;
    static const double values[] = {CLIP, 0.25, 0.5, 0.7, 1 - CLIP};
    for (size_t v = 0; v < LM_COUNT(values); v++) {
        double r[4] = {0, values[v], 1 - values[v], 0}, p[2], scratch[6];
        lm_couple(2, r, LM_COUPLE_EXACT, p, scratch);
        assert_true(fabs(p[0] - values[v]) <= 1e-16 && fabs(p[1] - (1 - values[v])) <= 1e-16);
    }
}

static void test_neither_coupling_gives_nan(void **state) {
    (void)state;
    static pairs in;
    static double scratch[K_MAX * (K_MAX + 1)];
    double p[K_MAX];
    for (size_t k = 1; k <= 30; k++)
        for (int what = 0; what <= KINDS; what++)
            for (int how = LM_COUPLE_EXACT; how <= LM_COUPLE_LIBSVM; how++) {
                pairs_make(&in, what < KINDS ? (kind)what : EVEN, k, 9);
                for (size_t i = 0; i < k && what == KINDS; i++)
                    in.r[i] = NAN;
                lm_couple(k, in.r, (lm_coupling)how, p, scratch);
                check_shares(p, k, 1e-6); /* LIBSVM's steps let the sum drift */
            }
}

/* ---- one-vs-one ---- */

static void test_votes_are_counted_pair_by_pair(void **state) {
    (void)state;
    static const double special[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1e-300};
    lm_rng rng = lm_rng_at(1, 353, 0);
    for (size_t k = 1; k <= 40; k++)
        for (int round = 0; round < 20; round++) {
            double f[40 * 39 / 2];
            int32_t votes[40], expected[40] = {0}, best = 0;
            size_t at = 0;
            for (size_t i = 0; i < k * (k - 1) / 2; i++)
                f[i] = round % 4 == 0 ? special[lm_rng_below(&rng, LM_COUNT(special))]
                                      : lm_rng_normal(&rng);
            for (size_t i = 0; i < k; i++)
                for (size_t j = i + 1; j < k; j++, at++)
                    expected[f[at] > 0 ? i : j]++;
            for (size_t c = 1; c < k; c++)
                best = expected[c] > expected[best] ? (int32_t)c : best;
            assert_int_equal(lm_vote_pairs(k, f, votes), best);
            assert_memory_equal(votes, expected, k * sizeof *votes);
        }
}

static void test_values_of_pairs_are_clipped_and_coupled(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(1, 354, 0);
    for (size_t k = 1; k <= 20; k++)
        for (int round = 0; round < 8; round++) {
            enum { PAIRS = 20 * 19 / 2 };
            double f[PAIRS], a[PAIRS], b[PAIRS], p[20], expected[20], r[400] = {0};
            double *scratch = malloc(lm_couple_scratch(k) * sizeof *scratch), other[420];
            lm_coupling how = round % 2 ? LM_COUPLE_LIBSVM : LM_COUPLE_EXACT;
            size_t at = 0;
            for (size_t i = 0; i < k; i++)
                for (size_t j = i + 1; j < k; j++, at++) {
                    f[at] = lm_rng_normal(&rng) * (round < 4 ? 1 : 30); /* 30: beyond the bounds */
                    a[at] = -2 * lm_rng_unit(&rng);
                    b[at] = lm_rng_normal(&rng);
                    r[i * k + j] = clipped(1 / (1 + exp(a[at] * f[at] + b[at])));
                    r[j * k + i] = 1 - r[i * k + j];
                }
            lm_couple_values(k, f, a, b, how, p, scratch);
            expected[0] = 1;
            if (k > 1)
                lm_couple(k, r, how, expected, other);
            for (size_t c = 0; c < k; c++)
                assert_true(fabs(p[c] - expected[c]) <= 1e-9);
            free(scratch);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_fit_equals_that_of_libsvm),
        cmocka_unit_test(test_the_coupling_repeats_libsvm),
        cmocka_unit_test(test_the_gradient_vanishes_at_the_fit),
        cmocka_unit_test(test_degenerate_values_give_a_finite_fit),
        cmocka_unit_test(test_one_kind_of_rows_gives_its_target),
        cmocka_unit_test(test_the_sigmoid_neither_overflows_nor_cancels),
        cmocka_unit_test(test_the_slope_has_the_least_cross_entropy),
        cmocka_unit_test(test_rows_that_say_the_opposite_give_a_flat_slope),
        cmocka_unit_test(test_degenerate_values_give_a_finite_slope),
        cmocka_unit_test(test_votes_are_counted_pair_by_pair),
        cmocka_unit_test(test_values_of_pairs_are_clipped_and_coupled),
        cmocka_unit_test(test_the_exact_coupling_solves_the_conditions_of_the_minimum),
        cmocka_unit_test(test_the_exact_coupling_is_a_minimum),
        cmocka_unit_test(test_consistent_pairs_give_back_their_shares),
        cmocka_unit_test(test_two_classes_need_no_coupling),
        cmocka_unit_test(test_neither_coupling_gives_nan),
    };
    return cmocka_run_group_tests_name("platt", tests, NULL, NULL);
}
