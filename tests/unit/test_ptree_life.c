/* test_ptree_life.c: perceptron trees from lesson to lesson: files, new classes, shares of errors;
 * the last fit of a training against slow minimisation; the choice of gamma; and what is refused.
 */
#include "ptree_slow.h"

/* ---- lessons and files ---- */

static const char *const usual[] = {
    "budget=6",
    "budget=5 split=zpq project=0",
    "budget=8 split=bal select=inds reservoir=0",
    "budget=7 split=ent reservoir=25 depth=2",
    "budget=6 style=paper split=rndw",
    "budget=6 kernel=poly coef0=1 average=no split=pca",
    "budget=6 kernel=intersection select=rnds",
    "budget=4 kept=3 margin=0.5 refit=0",
};

#define ONLINE "order=file epochs=1 finish=no gamma=0.25 "

static void check_lessons(const char *usually, size_t classes, int threads) {
    static const size_t cuts[] = {3, 40, 41, 150, 400};
    char text[160];
    bool positive = strstr(usually, "intersection") != NULL;
    rows r = draw_rows(positive ? POSITIVE : GRID, 400, 3, classes, classes);
    limn_context *ctx = make_context(NULL, 1, 3), *other = make_context(NULL, threads, 3);
    (void)snprintf(text, sizeof text, ONLINE "%s", usually);
    pt_model *whole = train(ctx, &r, r.n, text), *m = train(other, &r, cuts[0], text);
    lm_file *file = NULL;
    for (size_t c = 1; c < LM_COUNT(cuts); c++) { /* through a file in between */
        lm_file *last = file;
        pt_model *loaded = reload(other, m, text, &file);
        pt_destroy(&other->mem, m);
        lm_file_close(last);
        m = loaded;
        learn(other, m, &r, cuts[c - 1], cuts[c] - cuts[c - 1], NULL);
    }
    assert_true(whole->leaves > 1);
    assert_same_bytes(ctx, whole, m);
    pt_destroy(&ctx->mem, whole);
    pt_destroy(&other->mem, m);
    lm_file_close(file);
    limn_context_free(ctx);
    limn_context_free(other);
    free_rows(&r);
}

static void test_training_on_all_equals_training_on_some_and_learning_the_rest(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++)
        for (size_t classes = 2; classes <= 4; classes++)
            check_lessons(usual[s], classes, 1 + (int)classes % 2);
}

static void test_saving_and_loading_change_no_answer(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        rows r = draw_rows(POSITIVE, 500, 4, 2 + s % 3, s);
        limn_context *ctx = make_context(NULL, 2, 3);
        lm_file *file = NULL;
        char text[160];
        (void)snprintf(text, sizeof text, "%s gamma=0.5 %s", usual[s], s % 2 ? "" : "finish=no");
        pt_model *m = train(ctx, &r, 400, text), *loaded = reload(ctx, m, text, &file);
        void *scratch[2] = {scratch_for(ctx, m), scratch_for(ctx, loaded)};
        for (size_t i = 0; i < r.n; i++) {
            double a[4], b[4], sum = 0;
            int32_t class = class_of(ctx, m, r.x + i * 4);
            pt_proba(m, r.x + i * 4, 1, a, scratch[0]);
            pt_proba(loaded, r.x + i * 4, 1, b, scratch[1]);
            assert_memory_equal(a, b, r.classes * sizeof *a);
            for (size_t c = 0; c < r.classes; c++) {
                sum += a[c];
                assert_true(a[c] <= a[class]);
            }
            assert_true(fabs(sum - 1) < 1e-9);
        }
        assert_same_bytes(ctx, m, loaded);
        for (size_t i = 0; i < 2; i++)
            lm_free_aligned(&ctx->mem, scratch[i]);
        pt_destroy(&ctx->mem, m);
        pt_destroy(&ctx->mem, loaded);
        lm_file_close(file);
        limn_context_free(ctx);
        free_rows(&r);
    }
}

/* ---- shares of errors ---- */

/* The mean over the first 2000 rows; from then on a row has a share of 1 / 2000, and all before it
 * the rest. */
static double faded(const uint8_t *off, size_t n) {
    double share = 0, rest = 1;
    size_t last = n < 2000 ? n : 2000;
    for (size_t i = n; i-- > last;) {
        share += rest / 2000 * off[i];
        rest *= 1 - 1.0 / 2000;
    }
    for (size_t i = 0; i < last; i++)
        share += rest / (double)last * off[i];
    return share;
}

static void test_shares_of_errors_are_those_before_each_row_and_fade(void **state) {
    (void)state;
    enum { N = 2600 };
    static uint8_t off[2][N];
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(CURVED, N, 2, 2, 4);
    pt_model *m = new_model(ctx, "gamma=1 budget=10 depth=1", 2, 2);
    lm_train_set set = set_of(&r, N);
    for (size_t i = 0; i < N; i++) {
        double wrong[2] = {0, 0};
        bool mean = m->wrong[1] <= m->wrong[0];
        int32_t said = class_of(ctx, m, r.x + 2 * i);
        assert_int_equal(pt_pass(ctx, m, &set, &i, 1, "learning", wrong), LIMN_OK);
        for (size_t k = 0; k < 2; k++)
            off[k][i] = wrong[k] > 0;
        assert_true(wrong[mean] == (said != r.label[i]));
        if (i % 100 == 99 || i < 10)
            for (size_t k = 0; k < 2; k++)
                assert_true(fabs(m->wrong[k] - faded(off[k], i + 1)) < 1e-9);
    }
    assert_true(m->wrong[0] > m->wrong[1] && m->wrong[1] > 0);
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
}

/* ---- more classes ---- */

static size_t errors_of(limn_context *ctx, const pt_model *m, const rows *r, size_t first) {
    size_t wrong = 0;
    for (size_t i = first; i < r->n; i++)
        wrong += class_of(ctx, m, r->x + i * r->d) != r->label[i];
    return wrong;
}

/* The score of the first two classes: f becomes f and -f, whose difference is 2 f. */
static void check_widening(const char *usually, size_t before, size_t after, uint64_t seed) {
    enum { QUERIES = 100 };
    char text[160];
    limn_context *ctx = make_context(NULL, 1, seed);
    rows r = draw_rows(POSITIVE, 300, 3, before, seed), q = draw_rows(POSITIVE, QUERIES, 3, 2, 99);
    int32_t old[QUERIES];
    double f[QUERIES], scores[SLOW_OUTPUTS * SLOW_OUTPUTS] = {0};
    /* Three outputs of which none is above 0 would give way to that of the new class, which is 0:
     * perceptron steps leave none, but the last fit does. */
    (void)snprintf(text, sizeof text, "gamma=0.5 %s %s", usually, before > 2 ? "finish=no" : "");
    pt_model *m = train(ctx, &r, r.n, text);
    for (size_t i = 0; i < QUERIES; i++) {
        old[i] = class_of(ctx, m, q.x + i * 3);
        scores_of(ctx, m, q.x + i * 3, scores);
        f[i] = scores[0];
    }
    assert_int_equal(pt_widen(ctx, m, after), LIMN_OK);
    assert_int_equal(m->outputs, after > 2 ? after : 1);
    for (size_t i = 0; i < QUERIES; i++) {
        double by = before == 2 && after > 2 ? 2 : 1;
        assert_int_equal(class_of(ctx, m, q.x + i * 3), old[i]);
        scores_of(ctx, m, q.x + i * 3, scores);
        assert_true(before == 1 || fabs(scores[0] - by * f[i]) <= 1e-6 * fabs(f[i]));
    }
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    free_rows(&q);
    limn_context_free(ctx);
}

static void test_more_classes_change_no_answer_about_the_first_ones(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        check_widening(usual[s], 1, 2, s);
        check_widening(usual[s], 1, 3, s);
        check_widening(usual[s], 2, 3, s);
        check_widening(usual[s], 2, 5, s);
        check_widening(usual[s], 3, 4, s);
    }
}

static void test_classes_that_come_late_are_learned(void **state) {
    (void)state;
    for (size_t s = 0; s < LM_COUNT(usual); s++) {
        char text[160];
        limn_context *ctx = make_context(NULL, 1, s);
        rows two = draw_rows(FAR, 300, 3, 2, s), four = draw_rows(FAR, 1200, 3, 4, s);
        lm_file *file = NULL;
        (void)snprintf(text, sizeof text, ONLINE "%s reservoir=100", usual[s]);
        if (strstr(text, "reservoir=0") || strstr(text, "reservoir=25"))
            (void)snprintf(text, sizeof text, ONLINE "%s", usual[s]);
        for (size_t j = 0; j < 3 * two.n; j++)
            two.x[j] += 10;
        for (size_t j = 0; j < 3 * four.n; j++)
            four.x[j] += 10;
        pt_model *m = train(ctx, &two, two.n, text);
        assert_int_equal(pt_widen(ctx, m, 4), LIMN_OK);
        learn(ctx, m, &four, 0, 900, NULL);
        size_t wrong = errors_of(ctx, m, &four, 900);
        if (strstr(text, "kernel") == NULL && wrong > 15)
            fail_msg("%s: %zu of 300 wrong", text, wrong);
        pt_model *loaded = reload(ctx, m, text, &file);
        assert_same_bytes(ctx, m, loaded);
        pt_destroy(&ctx->mem, loaded);
        lm_file_close(file);
        pt_destroy(&ctx->mem, m);
        free_rows(&two);
        free_rows(&four);
        limn_context_free(ctx);
    }
}

/* ---- the last fit ---- */

enum { COLUMNS = 24 };

/* The rows of one leaf: phi has the kernels of its vectors and 1. */
typedef struct squared {
    size_t n, c, k;
    bool part;   /* without the rows that are left out */
    double *phi; /* n x c */
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
        }
        s.phi[s.n * s.c + s.c - 1] = 1;
        s.label[s.n++] = &r->label[i];
    }
    free(order);
    return s;
}

static void squared_free(squared *s) {
    free(s->phi);
    free(s->label);
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

/* The loss of all outputs with the leaf's coefficients times a number. */
static double scaled_loss(const squared *s, const pt_leaf *leaf, double by) {
    double sum = 0, a[COLUMNS];
    for (size_t o = 0; o < s->k; o++) {
        for (size_t j = 0; j + 1 < s->c; j++)
            a[j] = by * leaf->e.coef[j * s->k + o];
        a[s->c - 1] = by * leaf->bias[o];
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

/* Whether all leaves have what is best for this lambda: to a thousandth, or where the last steps
 * are short, in one leaf of eight, to a twentieth. */
static bool is_fitted(const pt_model *m, squared *leaf, double lambda) {
    size_t far = 0, off = 0;
    for (size_t i = 0; i < m->leaves; i++) {
        squared *s = &leaf[i];
        double least = 0, a[COLUMNS];
        s->ridge = lambda * (double)(s->n + 1);
        for (size_t o = 0; o < s->k; o++)
            least += least_loss(s, o, a);
        double excess = own_loss(s, &m->leaf[i]) / (least + 1e-9 * (double)s->n) - 1;
        far += excess > 1e-3;
        off += excess > 0.05;
    }
    return !off && 8 * far <= m->leaves;
}

static double size_of(const squared *s, const pt_leaf *leaf) {
    double sum = 0, a[COLUMNS];
    for (size_t o = 0; o < s->k; o++) {
        for (size_t j = 0; j + 1 < s->c; j++)
            a[j] = leaf->e.coef[j * s->k + o];
        a[s->c - 1] = leaf->bias[o];
        for (size_t i = 0; i < s->n; i++)
            sum += f_of(s, i, a) * f_of(s, i, a);
    }
    return sum;
}

/* The mean of the coefficients is what they are now. */
static void compare_means(const pt_model *m) {
    for (size_t i = 0; i < m->leaves; i++)
        for (size_t j = 0; j < m->leaf[i].e.pack.n * m->outputs; j++)
            assert_true(m->leaf[i].e.drift[j] == 0);
}

/* How many of the rows left out, apart from vectors, the fits without them are wrong about. */
static size_t errors_left_out(squared *s, double lambda) {
    double a[SLOW_OUTPUTS][COLUMNS], f[SLOW_OUTPUTS], gap;
    size_t wrong = 0;
    s->part = true;
    s->ridge = lambda * (double)(s->n + 1);
    for (size_t o = 0; o < s->k; o++)
        (void)least_loss(s, o, a[o]);
    s->part = false;
    for (size_t i = 4; i < s->n; i += 5) {
        bool vector = false;
        for (size_t j = 0; j + 1 < s->c; j++) /* K(x, x) = 1 */
            vector |= s->phi[i * s->c + j] >= 1;
        for (size_t o = 0; o < s->k; o++)
            f[o] = f_of(s, i, a[o]);
        wrong += !vector && slow_winner(f, s->k, 1, &gap) != *s->label[i];
    }
    return wrong;
}

static const double lambdas[] = {10, 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};

/* Few errors of the rows left out speak for the lambda that explains the coefficients. Steps that
 * end early may differ in a row. */
static void check_lambda(const pt_model *m, squared *leaf, double lambda) {
    size_t own = 0, least = SIZE_MAX;
    for (size_t l = 0; l < LM_COUNT(lambdas); l++) {
        size_t wrong = 0;
        for (size_t i = 0; i < m->leaves; i++)
            wrong += errors_left_out(&leaf[i], lambdas[l]);
        least = wrong < least ? wrong : least;
        own = lambdas[l] == lambda ? wrong : own;
    }
    assert_true(own <= least + 1);
}

/* 0: no lambda does. */
static double explained_by(const pt_model *m, squared *leaf) {
    for (size_t l = 0; l < LM_COUNT(lambdas); l++)
        if (is_fitted(m, leaf, lambdas[l]))
            return lambdas[l];
    return 0;
}

static void check_finish(kind of, size_t classes, const char *usually, uint64_t seed) {
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
    double lambda = explained_by(m, leaf);
    if (!(lambda > 0))
        fail_msg("%s: no lambda explains the coefficients", text);
    if (m->o.kernel.type == LM_RBF)
        check_lambda(m, leaf, lambda);
    compare_means(m);
    for (size_t i = 0; i < m->leaves; i++)
        squared_free(&leaf[i]);
    pt_destroy(&ctx->mem, m);
    pt_destroy(&ctx->mem, before);
    free_rows(&r);
    limn_context_free(ctx);
}

static void test_the_last_fit_minimises_the_squared_hinge_of_each_leaf(void **state) {
    static const char *const texts[] = {"budget=8 depth=2", "budget=20 depth=0",
                                        "budget=6 depth=3 split=zpq",
                                        "budget=10 depth=1 kernel=poly coef0=1 degree=2"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++)
        for (size_t classes = 2; classes <= 3; classes++) {
            check_finish(CURVED, classes, texts[t], t);
            check_finish(FAR, classes, texts[t], t);
            check_finish(NOISE, classes, texts[t], t);
        }
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

/* No power of two that is tried for certain has fewer errors, or as many and is smaller. */
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
        assert_true(other < gamma ? errors > own : errors >= own);
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

/* Rows 0 and 3000 decide between the best three of the first 3000. */
static void test_gamma_is_chosen_again_with_more_rows(void **state) {
    (void)state;
    enum { N = 3400, FIRST = 3000, TRIED = 24 };
    limn_context *ctx = make_context(NULL, 2, 1);
    rows r = draw_rows(CURVED, N, 2, 2, 8);
    static const char text[] = "order=file epochs=1 budget=4 depth=2";
    pt_options o = options_of(ctx, text);
    pt_model *m = train(ctx, &r, N, text);
    double spread = spread_of(&(rows){.n = 500, .d = 2, .x = r.x}, LM_RBF);
    double own = errors_with(ctx, &r, N, &o, m->o.kernel.gamma);
    double first = errors_with(ctx, &r, FIRST, &o, m->o.kernel.gamma);
    size_t better = 0;
    for (double other = ldexp(1, -20); other < 1e6; other *= 2) {
        if (other * spread < 1.0 / 8 || other * spread > 64)
            continue;
        double errors = errors_with(ctx, &r, FIRST, &o, other);
        better += errors < first;
        if (errors < first) /* among the best three, too */
            assert_true(errors_with(ctx, &r, N, &o, other) >= own);
    }
    assert_true(better <= 2);
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
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

/* ---- what is refused ---- */

static limn_status try_model(limn_context *ctx, const limn_data *data, const char *text,
                             limn_scale scale, limn_model **model) {
    limn_train_options options;
    param_list list = {.count = 0};
    limn_train_options_init(&options);
    add_params(&list, text);
    options.method = "ptree";
    options.params = list.list;
    options.param_count = list.count;
    options.scale = scale;
    *model = NULL;
    return limn_train(ctx, data, &options, model);
}

static void refused(limn_context *ctx, const limn_data *data, const char *text, limn_scale scale,
                    limn_status status, const char *sentence) {
    limn_model *model;
    assert_int_equal(try_model(ctx, data, text, scale, &model), status);
    if (!strstr(limn_error(ctx), sentence))
        fail_msg("%s: %s", text, limn_error(ctx));
    assert_null(model);
}

static limn_data *data_of(limn_context *ctx, const rows *r) {
    limn_data *data = NULL;
    double *y = malloc(r->n * sizeof *y);
    for (size_t i = 0; i < r->n; i++)
        y[i] = r->label[i];
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, r->x, r->n, r->d, y, &data),
                     LIMN_OK);
    free(y);
    return data;
}

static void test_parameters_that_make_no_sense_are_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(CURVED, 60, 3, 2, 1);
    limn_data *data = data_of(ctx, &r);
    static const char *const texts[] = {"gamma=0",    "gamma=-1",    "budget=1",
                                        "budget=0",   "depth=65",    "split=best",
                                        "select=all", "project=1.5", "kept=0"};
    for (size_t t = 0; t < LM_COUNT(texts); t++) {
        char key[16];
        assert_int_equal(sscanf(texts[t], "%15[a-z]", key), 1);
        refused(ctx, data, texts[t], LIMN_SCALE_AUTO, LIMN_E_USAGE, key);
    }
    static const char *const kept[] = {"budget=5 kept=5", "budget=5 kept=6", "kept=100"};
    for (size_t t = 0; t < LM_COUNT(kept); t++)
        refused(ctx, data, kept[t], LIMN_SCALE_AUTO, LIMN_E_USAGE,
                "ptree: kept must be less than budget, so that a new leaf has room to learn");
    limn_model *model;
    assert_int_equal(try_model(ctx, data, "budget=2 gamma=1", LIMN_SCALE_AUTO, &model), LIMN_OK);
    limn_model_free(model);
    limn_data_free(data);
    free_rows(&r);
    limn_context_free(ctx);
}

static void check_scale(limn_context *ctx, const limn_data *data, const char *text,
                        limn_scale expected) {
    limn_model *model;
    assert_int_equal(try_model(ctx, data, text, LIMN_SCALE_AUTO, &model), LIMN_OK);
    assert_int_equal(model->scaler.kind, expected);
    limn_model_free(model);
}

static void test_kernels_for_numbers_above_0_scale_to_them_or_refuse_others(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(POSITIVE, 60, 3, 2, 1);
    limn_data *above = data_of(ctx, &r);
    r.x[17 * 3 + 1] = -0.25f;
    limn_data *data = data_of(ctx, &r);
    limn_model *model;
    check_scale(ctx, data, "kernel=chi2 gamma=1", LIMN_SCALE_MINMAX);
    check_scale(ctx, data, "kernel=intersection", LIMN_SCALE_MINMAX);
    check_scale(ctx, data, "kernel=chi2 gamma=1 style=paper", LIMN_SCALE_MINMAX);
    check_scale(ctx, data, "gamma=1", LIMN_SCALE_ZSCORE);
    check_scale(ctx, data, "gamma=1 style=paper", LIMN_SCALE_NONE);
    refused(ctx, data, "kernel=chi2 gamma=1", LIMN_SCALE_NONE, LIMN_E_DATA,
            "ptree: kernel=chi2 is for numbers that are 0 or more, but row 18 has one below 0");
    refused(ctx, data, "kernel=intersection", LIMN_SCALE_ZSCORE, LIMN_E_DATA,
            "ptree: kernel=intersection is for numbers that are 0 or more, but row 1 has one");
    assert_int_equal(try_model(ctx, above, "kernel=chi2 gamma=1", LIMN_SCALE_NONE, &model),
                     LIMN_OK);
    limn_model_free(model);
    limn_data_free(above);
    limn_data_free(data);
    free_rows(&r);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_on_all_equals_training_on_some_and_learning_the_rest),
        cmocka_unit_test(test_saving_and_loading_change_no_answer),
        cmocka_unit_test(test_shares_of_errors_are_those_before_each_row_and_fade),
        cmocka_unit_test(test_more_classes_change_no_answer_about_the_first_ones),
        cmocka_unit_test(test_classes_that_come_late_are_learned),
        cmocka_unit_test(test_the_last_fit_minimises_the_squared_hinge_of_each_leaf),
        cmocka_unit_test(test_few_rows_per_vector_leave_the_coefficients_as_they_are),
        cmocka_unit_test(test_gamma_is_the_power_of_two_with_the_fewest_errors),
        cmocka_unit_test(test_gamma_is_chosen_again_with_more_rows),
        cmocka_unit_test(test_gamma_of_equal_rows_is_1),
        cmocka_unit_test(test_parameters_that_make_no_sense_are_refused),
        cmocka_unit_test(test_kernels_for_numbers_above_0_scale_to_them_or_refuse_others),
    };
    return cmocka_run_group_tests_name("ptree_life", tests, NULL, NULL);
}
