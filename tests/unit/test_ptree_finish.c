/* test_ptree_finish.c: the last fit of a training against slow minimisation, and the choice of
 * gamma. */
#include "ptree_slow.h"

/* ---- the last fit ---- */

enum { COLUMNS = 24 };

/* The rows of one leaf: phi has the kernels of its vectors, divided by the unit, and 1. */
typedef struct squared {
    size_t n, c, k;
    bool part;   /* without the rows that are left out */
    double *phi; /* n x c */
    double unit; /* the mean K(x, x) */
    bool *known; /* the row is a vector */
    const int32_t **label;
    double ridge;
} squared;

/* In a random order: of each five, the last row is left out at first. */
static squared squared_of(limn_context *ctx, const pt_model *m, const rows *r, size_t leaf) {
    const pt_leaf *l = &m->leaf[leaf];
    squared s = {.c = l->e.pack.n + 1, .k = m->outputs};
    size_t *order = malloc(r->n * sizeof *order);
    lm_rng rng = pt_random(m, PT_SAMPLE, 1);
    assert_true(s.c <= COLUMNS);
    s.phi = malloc((r->n + 1) * s.c * sizeof *s.phi);
    s.label = malloc((r->n + 1) * sizeof *s.label);
    s.known = calloc(r->n + 1, sizeof *s.known);
    for (size_t i = 0; i < r->n; i++)
        order[i] = i;
    lm_rng_shuffle(&rng, order, r->n);
    for (size_t place = 0; place < r->n; place++) {
        size_t i = order[place];
        const float *x = r->x + i * r->d;
        if (leaf_of(ctx, m, x) != leaf)
            continue;
        for (size_t j = 0; j + 1 < s.c; j++) {
            float b[SLOW_FEATURES];
            slow_vector(&l->e.pack, j, b);
            s.phi[s.n * s.c + j] = slow_kernel(&m->o.kernel, x, b, r->d);
            s.known[s.n] |= memcmp(x, b, r->d * sizeof *b) == 0;
        }
        s.phi[s.n * s.c + s.c - 1] = 1;
        s.unit += slow_kernel(&m->o.kernel, x, x, r->d);
        s.label[s.n++] = &r->label[i];
    }
    s.unit /= (double)(s.n ? s.n : 1);
    for (size_t i = 0; i < s.n; i++)
        for (size_t j = 0; j + 1 < s.c; j++)
            s.phi[i * s.c + j] /= s.unit;
    free(order);
    return s;
}

static void squared_free(squared *s) {
    free(s->phi);
    free(s->label);
    free(s->known);
}

static double sign_of(const squared *s, size_t i, size_t o) {
    return (size_t)*s->label[i] == o ? 1 : -1;
}

static bool counts(const squared *s, size_t i) {
    return !s->part || i % 5 != 4;
}

static double f_of(const squared *s, size_t i, const double *a) {
    double f = 0;
    for (size_t j = 0; j < s->c; j++)
        f += s->phi[i * s->c + j] * a[j];
    return f;
}

/* sum_i max(0, 1 - y f)^2 + lambda (n + 1) |a|^2, of one output. */
static double loss_of(const squared *s, size_t o, const double *a) {
    double loss = 0;
    for (size_t j = 0; j < s->c; j++)
        loss += s->ridge * a[j] * a[j];
    for (size_t i = 0; i < s->n; i++) {
        double off = fmax(0, 1 - sign_of(s, i, o) * f_of(s, i, a));
        loss += counts(s, i) ? off * off : 0;
    }
    return loss;
}

/* Where the loss would be least if the same rows stayed within the margin. */
static void newton_target(const squared *s, size_t o, const double *a, double *to) {
    double gram[COLUMNS * COLUMNS] = {0};
    memset(to, 0, s->c * sizeof *to);
    for (size_t i = 0; i < s->n; i++) {
        const double *phi = s->phi + i * s->c;
        double y = sign_of(s, i, o);
        if (!counts(s, i) || y * f_of(s, i, a) >= 1)
            continue;
        for (size_t j = 0; j < s->c; j++) {
            to[j] += y * phi[j];
            for (size_t h = 0; h < s->c; h++)
                gram[j * s->c + h] += phi[j] * phi[h];
        }
    }
    for (size_t j = 0; j < s->c; j++)
        gram[j * s->c + j] += s->ridge;
    assert_true(slow_solve(gram, s->c, to));
}

/* Newton's steps, halved where they go uphill. */
static double least_loss(const squared *s, size_t o, double *a) {
    double to[COLUMNS], next[COLUMNS];
    memset(a, 0, COLUMNS * sizeof *a);
    double least = loss_of(s, o, a);
    for (int round = 0; round < 60; round++) {
        double before = least;
        newton_target(s, o, a, to);
        for (double by = 1; by > 1e-6; by /= 2) {
            for (size_t j = 0; j < s->c; j++)
                next[j] = a[j] + by * (to[j] - a[j]);
            if (loss_of(s, o, next) < least) {
                least = loss_of(s, o, next);
                memcpy(a, next, sizeof next);
                break;
            }
        }
        if (!(least < before * (1 - 1e-12)))
            break;
    }
    return least;
}

/* The leaf's coefficients of an output times a number. */
static void coefs_of(const squared *s, const pt_leaf *leaf, size_t o, double by, double *a) {
    for (size_t j = 0; j + 1 < s->c; j++)
        a[j] = by * leaf->e.coef[j * s->k + o] * s->unit;
    a[s->c - 1] = by * leaf->bias[o];
}

/* The loss of all outputs with them. */
static double scaled_loss(const squared *s, const pt_leaf *leaf, double by) {
    double sum = 0, a[COLUMNS];
    for (size_t o = 0; o < s->k; o++) {
        coefs_of(s, leaf, o, by, a);
        sum += loss_of(s, o, a);
    }
    return sum;
}

/* With the number for which it is least: outputs keep the size that they had before. */
static double own_loss(const squared *s, const pt_leaf *leaf) {
    double low = 0, high = 1;
    while (high < 1e6 && scaled_loss(s, leaf, 2 * high) < scaled_loss(s, leaf, high))
        high *= 2;
    high *= 2;
    for (int round = 0; round < 80; round++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (scaled_loss(s, leaf, a) < scaled_loss(s, leaf, b))
            high = b;
        else
            low = a;
    }
    return scaled_loss(s, leaf, low);
}

/* The same with one output, and with more, where the mean of all outputs was taken off, the share
 * of what is best that the leaf's outputs leave over. */
static double excess_of(const squared *s, const pt_leaf *leaf) {
    double least = 0, a[SLOW_OUTPUTS][COLUMNS], own[COLUMNS], both = 0, square = 0, best = 0;
    for (size_t o = 0; o < s->k; o++)
        least += least_loss(s, o, a[o]);
    if (s->k == 1)
        return own_loss(s, leaf) / (least + 1e-9 * (double)s->n) - 1;
    for (size_t j = 0; j < s->c; j++) {
        double mean = 0;
        for (size_t o = 0; o < s->k; o++)
            mean += a[o][j] / (double)s->k;
        for (size_t o = 0; o < s->k; o++)
            a[o][j] -= mean;
    }
    for (size_t o = 0; o < s->k; o++) {
        coefs_of(s, leaf, o, 1, own);
        for (size_t i = 0; i < s->n; i++) {
            double f = f_of(s, i, own), g = f_of(s, i, a[o]);
            both += f * g;
            square += f * f;
            best += g * g;
        }
    }
    return square > 0 ? 1 - both * both / (square * best) : 1;
}

static int compare_doubles(const void *a, const void *b) {
    double u = *(const double *)a, v = *(const double *)b;
    return (u > v) - (u < v);
}

/* How far leaves are from what is best for this lambda: the median, since the last steps are short
 * in a leaf whose rows are nearly all right, and do not always arrive. */
static double distance_of(const pt_model *m, squared *leaf, double lambda) {
    double excess[64];
    for (size_t i = 0; i < m->leaves; i++) {
        leaf[i].ridge = lambda * (double)(leaf[i].n + 1);
        excess[i] = excess_of(&leaf[i], &m->leaf[i]);
    }
    qsort(excess, m->leaves, sizeof *excess, compare_doubles);
    return excess[m->leaves / 2];
}

static double size_of(const squared *s, const pt_leaf *leaf) {
    double sum = 0, a[COLUMNS];
    for (size_t o = 0; o < s->k; o++) {
        coefs_of(s, leaf, o, 1, a);
        for (size_t i = 0; i < s->n; i++)
            sum += f_of(s, i, a) * f_of(s, i, a);
    }
    return sum;
}

/* Several outputs add up to 0 for every row. */
static void check_sums(const pt_model *m) {
    for (size_t i = 0; i < m->leaves && m->outputs > 1; i++)
        for (size_t j = 0; j <= m->leaf[i].e.pack.n; j++) {
            const pt_leaf *l = &m->leaf[i];
            const double *a = j < l->e.pack.n ? l->e.coef + j * m->outputs : l->bias;
            double sum = 0, size = 0;
            for (size_t o = 0; o < m->outputs; o++) {
                sum += a[o];
                size += fabs(a[o]);
            }
            assert_true(fabs(sum) <= 1e-12 * size);
        }
}

/* The mean of the coefficients is what they are now, after as many rows as before. */
static void compare_means(const pt_model *m, const pt_model *before) {
    for (size_t i = 0; i < m->leaves; i++)
        assert_true(m->leaf[i].e.steps == before->leaf[i].e.steps);
    for (size_t i = 0; i < m->leaves; i++)
        for (size_t j = 0; j < m->leaf[i].e.pack.n * m->outputs; j++)
            assert_true(m->leaf[i].e.drift[j] == 0);
}

/* How many of the rows left out (apart from vectors) or of the others coefficients are wrong
 * about. */
static size_t wrong_with(const squared *s, double a[SLOW_OUTPUTS][COLUMNS], bool held) {
    double f[SLOW_OUTPUTS], gap;
    size_t wrong = 0;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t o = 0; o < s->k; o++)
            f[o] = f_of(s, i, a[o]);
        if ((i % 5 == 4) == held && !(held && s->known[i]))
            wrong += slow_winner(f, s->k, 1, &gap) != *s->label[i];
    }
    return wrong;
}

/* The same of the fits to the rows that are not left out. */
static size_t errors_of_fits(squared *s, double lambda, bool held) {
    double a[SLOW_OUTPUTS][COLUMNS];
    s->part = true;
    s->ridge = lambda * (double)(s->n + 1);
    for (size_t o = 0; o < s->k; o++)
        (void)least_loss(s, o, a[o]);
    s->part = false;
    return wrong_with(s, a, held);
}

/* Of what the leaf answers with, on the rows that are not left out. */
static size_t errors_of_leaf(const squared *s, const pt_leaf *leaf, bool mean) {
    double a[SLOW_OUTPUTS][COLUMNS];
    for (size_t o = 0; o < s->k; o++) {
        coefs_of(s, leaf, o, 1, a[o]);
        for (size_t j = 0; j + 1 < s->c && mean && leaf->e.steps > 0; j++)
            a[o][j] -= leaf->e.drift[j * s->k + o] / leaf->e.steps * s->unit;
    }
    return wrong_with(s, a, false);
}

static const double lambdas[] = {10, 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};

/* Few errors of the rows left out speak for the lambda that explains the coefficients. Steps that
 * end early may differ in a row or two. */
static void check_lambda(const pt_model *m, squared *leaf, double lambda) {
    size_t own = 0, least = SIZE_MAX;
    for (size_t l = 0; l < LM_COUNT(lambdas); l++) {
        size_t wrong = 0;
        for (size_t i = 0; i < m->leaves; i++)
            wrong += errors_of_fits(&leaf[i], lambdas[l], true);
        least = wrong < least ? wrong : least;
        own = lambdas[l] == lambda ? wrong : own;
    }
    assert_true(own <= least + 1 + least / 20);
}

/* 0: no lambda does. */
static double explained_by(const pt_model *m, squared *leaf) {
    double nearest = 0.02, found = 0;
    for (size_t l = 0; l < LM_COUNT(lambdas); l++) {
        double off = distance_of(m, leaf, lambdas[l]);
        found = off < nearest ? lambdas[l] : found;
        nearest = fmin(nearest, off);
    }
    return found;
}

/* What was learned row by row stays if it is better than the best fit by more than chance would
 * have it, up to a few rows for steps that end early. */
static void check_choice(const pt_model *before, squared *leaf, bool stays) {
    double best = 0, own = 0, fitted = 0, least = INFINITY;
    for (size_t l = 0; l < LM_COUNT(lambdas); l++) {
        double wrong = 0;
        for (size_t i = 0; i < before->leaves; i++)
            wrong += (double)errors_of_fits(&leaf[i], lambdas[l], true);
        best = wrong < least ? lambdas[l] : best;
        least = fmin(least, wrong);
    }
    for (size_t i = 0; i < before->leaves; i++) {
        own += (double)errors_of_leaf(&leaf[i], &before->leaf[i], pt_averages(before));
        fitted += (double)errors_of_fits(&leaf[i], best, false);
    }
    assert_true(stays ? own + sqrt(own) < fitted + 5 : own + sqrt(own) > fitted - 5);
}

static bool same_coefs(const pt_model *a, const pt_model *b) {
    bool same = true;
    for (size_t i = 0; i < a->leaves; i++)
        same = same && memcmp(a->leaf[i].e.coef, b->leaf[i].e.coef,
                              a->leaf[i].e.pack.n * a->outputs * sizeof(double)) == 0;
    return same;
}

/* Returns whether the fit was better than what was learned row by row. */
static bool check_finish(kind of, size_t classes, const char *usually, uint64_t seed) {
    char text[160];
    limn_context *ctx = make_context(NULL, 2, seed);
    rows r = draw_rows(of, 500, 3, classes, seed);
    squared leaf[64];
    lm_train_set set = set_of(&r, r.n);
    (void)snprintf(text, sizeof text, "gamma=0.3 epochs=2 finish=no %s", usually);
    pt_model *before = train(ctx, &r, r.n, text), *m = train(ctx, &r, r.n, text);
    assert_int_equal(pt_finish(ctx, &set, m), LIMN_OK);
    for (size_t i = 0; i < m->leaves; i++) {
        leaf[i] = squared_of(ctx, m, &r, i);
        double a = size_of(&leaf[i], &before->leaf[i]), b = size_of(&leaf[i], &m->leaf[i]);
        assert_true(fabs(a - b) <= 1e-3 * a);
    }
    bool stays = same_coefs(m, before);
    check_choice(before, leaf, stays);
    double lambda = explained_by(m, leaf);
    if (!stays && !(lambda > 0))
        fail_msg("%s: no lambda explains the coefficients", text);
    if (!stays) {
        check_lambda(m, leaf, lambda);
        compare_means(m, before);
        check_sums(m);
    }
    for (size_t i = 0; i < m->leaves; i++)
        squared_free(&leaf[i]);
    pt_destroy(&ctx->mem, m);
    pt_destroy(&ctx->mem, before);
    free_rows(&r);
    limn_context_free(ctx);
    return !stays;
}

static void test_the_last_fit_minimises_the_squared_hinge_of_each_leaf(void **state) {
    static const char *const texts[] = {"budget=8 depth=2",
                                        "budget=20 depth=0",
                                        "budget=6 depth=3 split=zpq",
                                        "budget=10 depth=1 kernel=poly coef0=1 degree=2",
                                        "budget=10 depth=0 kernel=poly coef0=1 gamma=1e-2",
                                        "budget=8 depth=0 kernel=poly gamma=10"};
    static const kind kinds[] = {CURVED, FAR, NOISE};
    size_t fitted = 0, all = 0;
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++)
        for (size_t classes = 2; classes <= 3; classes++)
            for (size_t k = 0; k < LM_COUNT(kinds); k++) {
                fitted += check_finish(kinds[k], classes, texts[t], t);
                all++;
            }
    assert_true(fitted < all && fitted > all / 2); /* both happen */
}

static void test_few_rows_per_vector_leave_the_coefficients_as_they_are(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    rows r = draw_rows(NOISE, 100, 3, 2, 5);
    static const char text[] = "gamma=1 budget=30 depth=0 project=0 ";
    char other[128];
    (void)snprintf(other, sizeof other, "%s finish=no", text);
    pt_model *a = train(ctx, &r, r.n, text), *b = train(ctx, &r, r.n, other);
    assert_true(10 * a->leaf[0].e.pack.n > r.n);
    assert_same_bytes(ctx, a, b);
    pt_destroy(&ctx->mem, a);
    pt_destroy(&ctx->mem, b);
    free_rows(&r);
    limn_context_free(ctx);
}

/* Leaves and gammas are worked on at the same time. */
static void test_threads_change_no_byte(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 5);
    for (size_t classes = 2; classes <= 3; classes++) {
        rows r = draw_rows(CURVED, 600, 3, classes, 5);
        pt_model *one = train(ctx, &r, r.n, "budget=8 depth=3 project=0");
        assert_true(one->leaves > 2);
        for (int threads = 2; threads <= 3; threads++) {
            limn_context *other = make_context(NULL, threads, 5);
            pt_model *m = train(other, &r, r.n, "budget=8 depth=3 project=0");
            assert_same_bytes(ctx, one, m);
            pt_destroy(&other->mem, m);
            limn_context_free(other);
        }
        pt_destroy(&ctx->mem, one);
        free_rows(&r);
    }
    limn_context_free(ctx);
}

/* ---- gamma ---- */

/* The mean over all pairs of rows of what gamma is multiplied by. */
static double spread_of(const rows *r, lm_kernel_type type) {
    double sum = 0;
    for (size_t i = 0; i < r->n; i++)
        for (size_t h = 0; h < r->n; h++)
            for (size_t j = 0; j < r->d; j++) {
                double u = (double)r->x[i * r->d + j], v = (double)r->x[h * r->d + j];
                double off = (u - v) * (u - v), chi2 = u + v > 0 ? off / (u + v) : 0;
                sum += type == LM_RBF ? off : type == LM_CHI2_KERNEL ? chi2 : u * u;
            }
    return sum / (double)r->n / (double)r->n;
}

static double errors_with(limn_context *ctx, const rows *r, size_t n, const pt_options *options,
                          double gamma) {
    pt_options o = *options;
    pt_model *m = NULL;
    double wrong[2] = {0, 0};
    lm_train_set set = set_of(r, r->n);
    o.kernel.gamma = gamma;
    assert_int_equal(pt_new(ctx, &o, r->d, r->classes, &m), LIMN_OK);
    assert_int_equal(pt_pass(ctx, m, &set, NULL, n, "finding gamma", wrong), LIMN_OK);
    pt_destroy(&ctx->mem, m);
    return fmin(wrong[0], wrong[1]);
}

/* Counts of errors that differ by no more are ties. */
static double within_noise(double errors) {
    return errors + 0.5 * sqrt(errors);
}

/* No power of two that is tried for certain has fewer errors, apart from noise, or as many and is
 * smaller. */
static void check_gamma(const char *usually, kind of, size_t n, uint64_t seed) {
    char text[160];
    int exponent;
    limn_context *ctx = make_context(NULL, 2, seed);
    rows r = draw_rows(of, n, 3, 2 + seed % 2, seed);
    (void)snprintf(text, sizeof text, "%s order=file epochs=1 budget=10", usually);
    pt_options o = options_of(ctx, text);
    pt_model *m = train(ctx, &r, r.n, text);
    double gamma = m->o.kernel.gamma, spread = spread_of(&r, o.kernel.type);
    assert_true(frexp(gamma, &exponent) == 0.5);
    assert_true(gamma * spread >= 1.0 / 32 && gamma * spread <= 256);
    double own = errors_with(ctx, &r, r.n, &o, gamma);
    for (double other = ldexp(1, -20); other < 1e6; other *= 2) {
        if (other * spread < 1.0 / 8 || other * spread > 64)
            continue;
        double errors = errors_with(ctx, &r, r.n, &o, other);
        assert_true(own <= within_noise(errors));
        assert_true(other >= gamma || errors > own);
    }
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
}

static void test_gamma_is_the_power_of_two_with_the_fewest_errors(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        check_gamma("kernel=rbf", CURVED, 200 + 50 * seed, seed);
        check_gamma("kernel=rbf average=no", GRID, 150, seed);
        check_gamma("kernel=chi2 depth=2", POSITIVE, 150, seed);
        check_gamma("kernel=poly degree=2 coef0=1", CURVED, 150, seed);
    }
}

/* The best of TRIED by the first n rows among those that are marked; ties, also those within noise
 * if that counts, to the smaller gamma. */
static size_t best_gamma(limn_context *ctx, const rows *r, size_t n, const pt_options *o,
                         double first, const bool *marked, size_t tried, bool noise) {
    size_t best = 0;
    double errors[32], least = INFINITY;
    for (size_t g = 0; g < tried; g++) {
        errors[g] = marked[g] ? errors_with(ctx, r, n, o, ldexp(first, (int)g)) : INFINITY;
        least = fmin(errors[g], least);
    }
    double most = noise ? within_noise(least) : least;
    while (errors[best] > most)
        best++;
    return best;
}

enum { SECOND_ROWS = 4000, FIRST_ROWS = 3000, TRIED = 12 };

/* The best of 12 from low on: three of them are tried again. *other: another one is best then. */
static double gamma_from(limn_context *ctx, const rows *r, const pt_options *o, double low,
                         bool *other) {
    bool left[TRIED], again[TRIED] = {false};
    size_t first = TRIED;
    for (size_t g = 0; g < TRIED; g++)
        left[g] = true;
    for (size_t round = 0; round < 3; round++) {
        size_t best = best_gamma(ctx, r, FIRST_ROWS, o, low, left, TRIED, false);
        left[best] = false;
        again[best] = true;
        first = round ? first : best;
    }
    size_t best = best_gamma(ctx, r, SECOND_ROWS, o, low, again, TRIED, true);
    *other = best != first;
    return ldexp(low, (int)best);
}

/* Returns whether the second round changed the choice. */
static bool check_second_round(uint64_t seed) {
    limn_context *ctx = make_context(NULL, 2, seed);
    rows r = draw_rows(NOISE, SECOND_ROWS, 2, 2, seed);
    static const char text[] = "order=file epochs=1 budget=4 depth=1";
    pt_options o = options_of(ctx, text);
    pt_model *m = train(ctx, &r, SECOND_ROWS, text);
    /* D is 4, up to the noise of a sample of pairs: the smallest that is tried is 1/64 or 1/32. */
    bool other = false, found = false;
    for (double low = 1.0 / 64; low < 1.0 / 16 && !found; low *= 2)
        found = gamma_from(ctx, &r, &o, low, &other) == m->o.kernel.gamma;
    assert_true(found);
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
    return other;
}

static void test_the_best_three_gammas_are_tried_again_with_more_rows(void **state) {
    (void)state;
    size_t others = 0;
    for (uint64_t seed = 1; seed <= 8; seed++)
        others += check_second_round(seed);
    assert_true(others > 0);
}

static void test_gamma_of_equal_rows_is_1(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(NOISE, 50, 2, 2, 8);
    for (size_t j = 0; j < 100; j++)
        r.x[j] = 2;
    pt_model *m = train(ctx, &r, r.n, "");
    assert_true(m->o.kernel.gamma == 1);
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_fit_minimises_the_squared_hinge_of_each_leaf),
        cmocka_unit_test(test_threads_change_no_byte),
        cmocka_unit_test(test_few_rows_per_vector_leave_the_coefficients_as_they_are),
        cmocka_unit_test(test_gamma_is_the_power_of_two_with_the_fewest_errors),
        cmocka_unit_test(test_the_best_three_gammas_are_tried_again_with_more_rows),
        cmocka_unit_test(test_gamma_of_equal_rows_is_1),
    };
    return cmocka_run_group_tests_name("ptree_finish", tests, NULL, NULL);
}
