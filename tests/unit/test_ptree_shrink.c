/* test_ptree_shrink.c: trees drawn from support vector machines: the greedy choice of vectors and
 * the ridge against full least squares, whole trees against naive fits on the rows of each leaf,
 * and teachers that are refused. */
#include "methods/ptree/shrink.h"
#include "ptree_slow.h"

/* ---- the greedy choice ---- */

enum { ROWS_MOST = 64, CHOICES = 24 };

/* Removes from x what the first `count` directions explain; twice, for rounding. */
static long double without(const long double basis[][ROWS_MOST], size_t count, size_t n,
                           long double *x) {
    long double square = 0;
    for (size_t twice = 0; twice < 2; twice++)
        for (size_t b = 0; b < count; b++) {
            long double dot = 0;
            for (size_t i = 0; i < n; i++)
                dot += basis[b][i] * x[i];
            for (size_t i = 0; i < n; i++)
                x[i] -= dot * basis[b][i];
        }
    for (size_t i = 0; i < n; i++)
        square += x[i] * x[i];
    return square;
}

/* |target - its least squares fit|^2 by a constant and the chosen candidates. *rank: how many of
 * them say something that those before do not. */
static double residual(const double *phi, size_t n, const double *target, const size_t *chosen,
                       size_t count, size_t *rank) {
    static long double basis[CHOICES + 1][ROWS_MOST];
    long double rest[ROWS_MOST];
    size_t used = 0;
    for (size_t c = 0; c <= count; c++) {
        long double *q = basis[used], size = 0;
        for (size_t i = 0; i < n; i++) {
            q[i] = c ? (long double)phi[chosen[c - 1] * n + i] : 1;
            size += q[i] * q[i];
        }
        long double square = without(basis, used, n, q);
        for (size_t i = 0; i < n; i++)
            q[i] /= sqrtl(square);
        used += square > 1e-7L * size;
    }
    for (size_t i = 0; i < n; i++)
        rest[i] = (long double)target[i];
    *rank = used - 1;
    return (double)without(basis, used, n, rest);
}

/* Each vector is the one after which least is left; none says what others say. */
static void check_greedy(limn_context *ctx, const double *phi, size_t m, size_t n,
                         const double *target, size_t most) {
    size_t chosen[CHOICES + 1] = {0}, count, rank;
    double start = residual(phi, n, target, chosen, 0, &rank);
    assert_int_equal(pt_greedy(ctx, phi, m, n, target, most, chosen, &count), LIMN_OK);
    assert_true(count <= most && count <= m);
    for (size_t c = 0; c < count; c++) {
        size_t own = chosen[c];
        double left = residual(phi, n, target, chosen, c + 1, &rank);
        assert_int_equal(rank, c + 1);
        if (left < 1e-9 * start)
            return; /* only rounding is left to explain */
        for (chosen[c] = 0; chosen[c] < m; chosen[c]++)
            assert_true(left <= residual(phi, n, target, chosen, c + 1, &rank) + 1e-9 * start);
        chosen[c] = own;
    }
    for (size_t j = 0; j < m && count < most; j++) {
        chosen[count] = j;
        (void)residual(phi, n, target, chosen, count + 1, &rank);
        assert_int_equal(rank, count);
    }
}

/* Candidates that lie close together; some are copies, constant or 0. */
static void draw_candidates(lm_rng *rng, double *phi, size_t m, size_t n, bool odd) {
    for (size_t j = 0; j < m; j++)
        for (size_t i = 0; i < n; i++) {
            double centre = (double)j / (double)m, off = (double)i / (double)n - centre;
            double v = exp(-20 * off * off) + 0.1 * lm_rng_normal(rng);
            v = odd && j % 5 == 4 ? 2.5 : v;
            phi[j * n + i] = odd && j % 7 == 6 ? 0 : v;
            if (odd && j % 3 == 2)
                phi[j * n + i] = 3 * phi[(j - 2) * n + i] - 1;
        }
}

static void test_each_vector_taken_is_the_one_that_leaves_least(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    double phi[CHOICES * ROWS_MOST], target[ROWS_MOST];
    for (uint64_t seed = 0; seed < 40; seed++) {
        lm_rng rng = lm_rng_at(seed, 197, 0);
        size_t m = seed % CHOICES + 1, n = 2 + seed * 7 % (ROWS_MOST - 1);
        draw_candidates(&rng, phi, m, n, seed % 2);
        for (size_t i = 0; i < n; i++)
            target[i] = 10 + sin((double)i / 3) + 0.3 * lm_rng_normal(&rng);
        check_greedy(ctx, phi, m, n, target, 1 + seed % 12);
        check_greedy(ctx, phi, m, n, target, CHOICES);
    }
    limn_context_free(ctx);
}

static void test_nothing_is_taken_where_there_is_nothing_to_take(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    double phi[3 * 4] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 5, 7}, target[4] = {4, 4, 4, 4};
    size_t chosen[4], count = 9;
    assert_int_equal(pt_greedy(ctx, phi, 3, 0, target, 3, chosen, &count), LIMN_OK);
    assert_int_equal(count, 0);
    assert_int_equal(pt_greedy(ctx, phi, 0, 4, target, 3, chosen, &count), LIMN_OK);
    assert_int_equal(count, 0);
    assert_int_equal(pt_greedy(ctx, phi, 2, 4, target, 3, chosen, &count), LIMN_OK);
    assert_int_equal(count, 0);
    target[0] = 1;
    assert_int_equal(pt_greedy(ctx, phi, 3, 4, target, 3, chosen, &count), LIMN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(chosen[0], 2);
    limn_context_free(ctx);
}

/* ---- the ridge ---- */

enum { UNKNOWNS = 160 };

/* sum_i (x_i.coef + bias - t_i)^2 + lambda (n + 1) |coef|^2, by one more unknown, the bias, that
 * costs nothing. */
typedef struct slow_normal {
    size_t v;
    double rows, gram[(UNKNOWNS + 1) * (UNKNOWNS + 1)], right[UNKNOWNS + 1];
} slow_normal;

static void slow_normal_add(slow_normal *e, const double *row, double target) {
    size_t c = e->v + 1;
    for (size_t j = 0; j < c; j++) {
        double own = j < e->v ? row[j] : 1;
        e->right[j] += own * target;
        for (size_t h = 0; h < c; h++)
            e->gram[j * c + h] += own * (h < e->v ? row[h] : 1);
    }
    e->rows += 1;
}

/* coef: v, and the bias. */
static void slow_normal_solve(const slow_normal *e, double lambda, double *coef) {
    static slow_normal room;
    room = *e;
    for (size_t j = 0; j < e->v; j++)
        room.gram[j * (e->v + 1) + j] += lambda * (e->rows + 1);
    memcpy(coef, e->right, (e->v + 1) * sizeof *coef);
    if (!(e->rows > 0) || !slow_solve(room.gram, e->v + 1, coef))
        memset(coef, 0, (e->v + 1) * sizeof *coef);
}

static void test_the_ridge_is_that_of_elimination(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (uint64_t seed = 0; seed < 40; seed++) {
        lm_rng rng = lm_rng_at(seed, 198, 0);
        static slow_normal slow;
        size_t v = seed % 13, n = 1 + seed * 3 % 50;
        double lambda = pow(10, -(double)(seed % 5)), row[16], coef[16], other[16], bias;
        double room[16 * 16];
        pt_normal e;
        slow = (slow_normal){.v = v};
        assert_int_equal(pt_normal_make(ctx, v, &e), LIMN_OK);
        for (size_t i = 0; i < n; i++) {
            double target = 100 + lm_rng_normal(&rng);
            for (size_t j = 0; j < v; j++)
                row[j] = lm_rng_normal(&rng) + (double)j;
            pt_normal_add(&e, row, target);
            slow_normal_add(&slow, row, target);
        }
        assert_true(pt_normal_solve(&e, lambda, room, coef, &bias));
        slow_normal_solve(&slow, lambda, other);
        for (size_t j = 0; j < v; j++)
            assert_true(fabs(coef[j] - other[j]) <= 1e-6 * (1 + fabs(other[j])));
        assert_true(fabs(bias - other[v]) <= 1e-6 * (1 + fabs(other[v])));
        pt_normal_free(&ctx->mem, &e);
    }
    limn_context_free(ctx);
}

/* ---- a teacher ---- */

typedef struct school {
    rows r;
    limn_context *ctx;
    lm_svm svm;
    lm_machine machine;
    lm_teacher teacher;
    size_t asked;
} school;

/* f of the machine in doubles. */
static double f_of(const lm_svm *svm, const float *x) {
    double f = -svm->rho[0];
    for (size_t j = 0; j < svm->n; j++)
        f += svm->coef[j] * slow_kernel(&svm->kernel, x, svm->sv + j * svm->d, svm->d);
    return f;
}

static limn_status answer(const lm_teacher *teacher, limn_context *ctx, const float *x, size_t n,
                          double *out) {
    school *s = teacher->user;
    (void)ctx;
    s->asked += n;
    for (size_t i = 0; i < n; i++)
        out[i] = f_of(&s->svm, x + i * s->r.d);
    return LIMN_OK;
}

/* svm and r are set before. */
static void appoint(school *s) {
    assert_int_equal(lm_machine_build(s->ctx, &s->svm, &s->machine), LIMN_OK);
    s->teacher = (lm_teacher){.task = LIMN_CLASSIFY,
                              .d = s->r.d,
                              .classes = 2,
                              .kind = LM_TEACHES_PAIRS,
                              .width = 1,
                              .answer = answer,
                              .machine = &s->machine,
                              .user = s};
}

static void open_school(school *s, kind of, size_t n, lm_kernel kernel) {
    *s = (school){.ctx = make_context(NULL, 1, 5), .r = draw_rows(of, n, 2, 2, n)};
    lm_svm_problem problem = {.n = n, .d = 2, .classes = 2, .x = s->r.x, .label = s->r.label};
    lm_svm_options options = {
        .type = LM_C_SVC, .kernel = kernel, .c = 1, .tolerance = 1e-3, .cache_mb = 10};
    assert_int_equal(lm_svm_train(s->ctx, &problem, &options, &s->svm), LIMN_OK);
    appoint(s);
}

static void close_school(school *s) {
    lm_machine_free(&s->ctx->mem, &s->machine);
    lm_svm_free(&s->ctx->mem, &s->svm);
    free_rows(&s->r);
    limn_context_free(s->ctx);
}

static lm_train_set taught_set(const school *s) {
    lm_train_set set = set_of(&s->r, s->r.n);
    set.teacher = &s->teacher;
    return set;
}

static pt_model *draw_tree(school *s, const char *text) {
    lm_train_set set = taught_set(s);
    return train_set(s->ctx, &set, text);
}

static const lm_kernel kernels[] = {{.type = LM_RBF, .gamma = 0.7},
                                    {.type = LM_POLYNOMIAL, .degree = 3, .gamma = 0.4, .coef0 = 1},
                                    {.type = LM_LINEAR}};

/* ---- whole trees ---- */

static void check_vectors(const school *s, const pt_model *m) {
    for (size_t i = 0; i < m->leaves; i++) {
        const pt_leaf *leaf = &m->leaf[i];
        assert_true(leaf->e.pack.n <= m->o.budget && leaf->level <= m->o.depth);
        for (size_t j = 0; j < leaf->e.pack.n; j++) {
            float x[SLOW_FEATURES];
            bool found = false;
            slow_vector(&leaf->e.pack, j, x);
            for (size_t v = 0; v < s->svm.n; v++)
                found |= memcmp(x, s->svm.sv + v * s->r.d, s->r.d * sizeof *x) == 0;
            assert_true(found);
        }
    }
}

/* Each test halves the rows that come to it; leaves know theirs, for learning later. */
static void check_rows(const school *s, const pt_model *m) {
    assert_int_equal(m->steps, 0); /* none was asked before it was known */
    for (size_t i = 0; i < m->leaves; i++) {
        const pt_leaf *leaf = &m->leaf[i];
        uint64_t count[2] = {0, 0};
        for (size_t row = 0; row < s->r.n; row++)
            count[s->r.label[row]] += leaf_of(s->ctx, m, s->r.x + row * s->r.d) == i;
        double share = (double)s->r.n / (double)((size_t)1 << leaf->level);
        assert_true(fabs((double)(count[0] + count[1]) - share) <= 1);
        assert_memory_equal(leaf->count, count, sizeof count);
        assert_int_equal(leaf->seen, count[0] + count[1]);
        assert_int_equal(leaf->kept, leaf->level < m->o.depth ? leaf->seen : 0);
    }
}

/* For one lambda: how many of the rows left out the naive fits without them agree on, and how far
 * the tree is from the naive fits with them. */
typedef struct fits {
    size_t agree, held;
    double off, square; /* square: of the differences from f on the rows left out */
} fits;

static size_t shuffled(const school *s, const pt_model *m, size_t *order) {
    lm_rng rng = pt_random(m, PT_ORDER, 0);
    for (size_t i = 0; i < s->r.n; i++)
        order[i] = i;
    lm_rng_shuffle(&rng, order, s->r.n);
    return s->r.n;
}

static void kernels_of(const pt_model *m, const pt_leaf *leaf, const float *x, double *row) {
    for (size_t j = 0; j < leaf->e.pack.n; j++) {
        float b[SLOW_FEATURES];
        slow_vector(&leaf->e.pack, j, b);
        row[j] = slow_kernel(&m->o.kernel, x, b, m->d);
    }
}

static double value_of(const double *row, const double *coef, size_t v) {
    double f = coef[v];
    for (size_t j = 0; j < v; j++)
        f += row[j] * coef[j];
    return f;
}

static void fit_leaf(const school *s, const pt_model *m, size_t index, const size_t *leaf,
                     const size_t *order, double lambda, fits *out) {
    static slow_normal normal[2];
    const pt_leaf *l = &m->leaf[index];
    double row[UNKNOWNS], coef[2][UNKNOWNS + 1], f;
    size_t v = l->e.pack.n;
    normal[0] = normal[1] = (slow_normal){.v = v};
    for (size_t place = 0; place < s->r.n; place++) {
        const float *x = s->r.x + order[place] * s->r.d;
        if (leaf[order[place]] != index)
            continue;
        kernels_of(m, l, x, row);
        if (place % 5 != 4)
            slow_normal_add(&normal[0], row, f_of(&s->svm, x));
        slow_normal_add(&normal[1], row, f_of(&s->svm, x));
    }
    for (size_t with = 0; with < 2; with++)
        slow_normal_solve(&normal[with], lambda, coef[with]);
    for (size_t place = 0; place < s->r.n; place++) {
        const float *x = s->r.x + order[place] * s->r.d;
        if (leaf[order[place]] != index)
            continue;
        kernels_of(m, l, x, row);
        (void)slow_outputs(m, l, false, x, &f);
        out->off = fmax(out->off, fabs(f - value_of(row, coef[1], v)));
        double differs = value_of(row, coef[0], v) - f_of(&s->svm, x);
        out->square += place % 5 == 4 ? differs * differs : 0;
        out->held += place % 5 == 4;
        out->agree += place % 5 == 4 && (value_of(row, coef[0], v) > 0) == (f_of(&s->svm, x) > 0);
    }
}

/* There is a lambda that the tree was fitted with; its agreement is the one reported, and hardly
 * any other has more. Returns whether it is the nearest to f of those with the most. */
static bool check_fits(school *s, const pt_model *m) {
    size_t n = s->r.n, *order = malloc(n * sizeof *order), *leaf = malloc(n * sizeof *leaf);
    fits best = {.off = INFINITY};
    size_t most = 0;
    int own = 0, nearest = 0;
    double size = 0, least = INFINITY;
    (void)shuffled(s, m, order);
    for (size_t i = 0; i < n; i++) {
        leaf[i] = leaf_of(s->ctx, m, s->r.x + i * s->r.d);
        size = fmax(size, fabs(f_of(&s->svm, s->r.x + i * s->r.d)));
    }
    for (int power = -10; power <= -2; power++) {
        fits one = {.agree = 0};
        for (size_t i = 0; i < m->leaves; i++)
            fit_leaf(s, m, i, leaf, order, pow(10, power), &one);
        own = one.off < best.off ? power : own;
        if (one.agree > most || (one.agree == most && one.square <= least)) {
            nearest = power;
            most = one.agree;
            least = one.square;
        }
        best = one.off < best.off ? one : best;
    }
    assert_int_equal(best.held, n / 5);
    assert_true(best.off <= 2e-3 * size);
    assert_true(fabs(m->agreement * (double)best.held - (double)best.agree) <= 1.5);
    assert_true(best.agree + 2 >= most);
    free(order);
    free(leaf);
    return own == nearest;
}

/* How many of a leaf's vectors are those that a greedy choice takes, on the rows that are not left
 * out. */
static size_t same_vectors(const school *s, const pt_model *m, size_t index, const size_t *order) {
    const lm_svm *svm = &s->svm;
    const pt_leaf *l = &m->leaf[index];
    double *phi = malloc(svm->n * s->r.n * sizeof *phi), *f = malloc(s->r.n * sizeof *f);
    size_t *row = malloc(s->r.n * sizeof *row), *chosen = malloc(m->o.budget * sizeof *chosen);
    size_t n = 0, count, same = 0;
    for (size_t place = 0; place < s->r.n; place++)
        if (place % 5 != 4 && leaf_of(s->ctx, m, s->r.x + order[place] * 2) == index)
            row[n++] = order[place];
    for (size_t i = 0; i < n; i++)
        f[i] = f_of(svm, s->r.x + row[i] * 2);
    for (size_t j = 0; j < svm->n; j++)
        for (size_t i = 0; i < n; i++)
            phi[j * n + i] =
                slow_kernel(&svm->kernel, s->r.x + row[i] * 2, svm->sv + j * 2, svm->d);
    assert_int_equal(pt_greedy(s->ctx, phi, svm->n, n, f, m->o.budget, chosen, &count), LIMN_OK);
    for (size_t j = 0; j < l->e.pack.n && j < count; j++) {
        float x[SLOW_FEATURES];
        slow_vector(&l->e.pack, j, x);
        same += memcmp(x, svm->sv + chosen[j] * 2, 2 * sizeof *x) == 0;
    }
    free(phi);
    free(f);
    free(row);
    free(chosen);
    return same;
}

/* Kernels that differ in rounding may lead to other vectors once. */
static void test_vectors_are_chosen_by_the_rows_that_are_not_left_out(void **state) {
    (void)state;
    school s;
    size_t order[250], same = 0, all = 0;
    open_school(&s, CURVED, 250, kernels[0]);
    pt_model *m = draw_tree(&s, "budget=6 depth=2 split=pca");
    (void)shuffled(&s, m, order);
    for (size_t i = 0; i < m->leaves; i++) {
        same += same_vectors(&s, m, i, order);
        all += m->leaf[i].e.pack.n;
    }
    assert_true(same + 2 >= all && all == 6 * m->leaves);
    pt_destroy(&s.ctx->mem, m);
    close_school(&s);
}

static void test_leaves_have_support_vectors_with_coefficients_of_a_ridge(void **state) {
    static const char *const texts[] = {"budget=6 depth=2 split=pca", "budget=12 depth=3 split=wpq",
                                        "budget=10 depth=0", "budget=4 depth=4 split=pca"};
    size_t nearest = 0;
    (void)state;
    for (size_t k = 0; k < LM_COUNT(kernels); k++)
        for (size_t t = 0; t < LM_COUNT(texts); t++) {
            school s;
            open_school(&s, CURVED, 250, kernels[k]);
            pt_model *m = draw_tree(&s, texts[t]);
            assert_true((m->leaves > 1) == (m->o.depth > 0));
            assert_true(m->agreement > 0.8);
            check_vectors(&s, m);
            check_rows(&s, m);
            nearest += check_fits(&s, m);
            pt_destroy(&s.ctx->mem, m);
            close_school(&s);
        }
    assert_true(nearest >= 10); /* of 12: rounding may count a row more or less */
}

static void test_with_room_for_all_vectors_the_tree_answers_as_the_machine(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        school s;
        double off = 0, size = 0;
        size_t same = 0;
        open_school(&s, CURVED, 300, kernels[k]);
        pt_model *m = draw_tree(&s, "budget=1000 depth=0");
        for (size_t i = 0; i < s.r.n; i++) {
            double f = f_of(&s.svm, s.r.x + i * 2), own;
            scores_of(s.ctx, m, s.r.x + i * 2, &own);
            off += (f - own) * (f - own);
            size += f * f;
            same += class_of(s.ctx, m, s.r.x + i * 2) == (f < 0);
        }
        assert_true(off < 1e-3 * size);
        assert_true(m->agreement > 0.95 && same >= 291);
        (void)check_fits(&s, m);
        pt_destroy(&s.ctx->mem, m);
        close_school(&s);
    }
}

/* ---- threads, shared answers, files ---- */

static void test_threads_and_shared_answers_change_no_byte(void **state) {
    static const char *const texts[] = {"budget=6 depth=3 split=pca", "budget=8 depth=3 split=wpq"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++) {
        school s;
        open_school(&s, CURVED, 300, kernels[0]);
        pt_model *first = draw_tree(&s, texts[t]);
        void *shared = NULL;
        for (int round = 0; round < 4; round++) {
            limn_context *ctx = make_context(NULL, 1 + round % 2, 5);
            lm_train_set set = taught_set(&s);
            set.shared = round < 2 ? NULL : &shared;
            s.asked = 0;
            pt_model *m = train_set(ctx, &set, texts[t]);
            assert_int_equal(s.asked, round == 3 ? 0 : s.r.n); /* the second one need not ask */
            assert_same_bytes(ctx, first, m);
            pt_destroy(&ctx->mem, m);
            limn_context_free(ctx);
        }
        pt_unshare(&s.ctx->mem, shared);
        pt_destroy(&s.ctx->mem, first);
        close_school(&s);
    }
}

/* Straight on, and after a file. */
static void test_a_drawn_tree_goes_on_learning(void **state) {
    (void)state;
    static const char text[] = "budget=6 depth=2 split=pca";
    school s;
    lm_file *file = NULL;
    open_school(&s, CURVED, 250, kernels[0]);
    rows more = draw_rows(CURVED, 300, 2, 2, 77);
    pt_model *m = draw_tree(&s, text);
    pt_model *other = reload(s.ctx, m, text, &file);
    assert_same_bytes(s.ctx, m, other);
    int32_t answers[300];
    learn(s.ctx, m, &more, 0, 300, answers);
    assert_true(answers[0] >= 0); /* it knew something before its first row */
    learn(s.ctx, other, &more, 0, 300, NULL);
    assert_same_bytes(s.ctx, m, other);
    for (size_t i = 0; i < m->leaves; i++)
        assert_true(m->leaf[i].e.pack.n <= 6);
    pt_destroy(&s.ctx->mem, m);
    pt_destroy(&s.ctx->mem, other);
    lm_file_close(file);
    free_rows(&more);
    close_school(&s);
}

/* ---- degenerate ---- */

/* A machine made by hand, with vectors (1, 2), (3, 4) and so on. */
static void open_small(school *s, size_t vectors, rows r) {
    static const uint64_t counts[3][2] = {{0, 0}, {1, 0}, {1, 1}};
    static const float sv[] = {1, 2, 3, 4};
    static const double coef[] = {1, -1}, rho[] = {0.25};
    *s = (school){.ctx = make_context(NULL, 1, 5), .r = r};
    s->svm = (lm_svm){.type = LM_C_SVC,
                      .kernel = kernels[0],
                      .classes = 2,
                      .d = 2,
                      .n = vectors,
                      .count = counts[vectors],
                      .sv = sv,
                      .coef = coef,
                      .rho = rho};
    appoint(s);
}

static void check_small(size_t vectors, rows r, const char *text, double most) {
    school s;
    open_small(&s, vectors, r);
    pt_model *m = draw_tree(&s, text);
    check_vectors(&s, m);
    assert_true(m->agreement >= 0 && m->agreement <= 1);
    for (size_t i = 0; i < r.n; i++) {
        double f = f_of(&s.svm, r.x + i * 2), own;
        scores_of(s.ctx, m, r.x + i * 2, &own);
        assert_true(fabs(f - own) <= most);
    }
    pt_destroy(&s.ctx->mem, m);
    close_school(&s);
}

static void test_small_machines_and_few_rows_are_drawn_from(void **state) {
    static const char *const texts[] = {"budget=2 depth=2 split=pca", "budget=2 depth=2 split=wpq",
                                        "budget=5 depth=0", "budget=1000000"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++)
        for (size_t vectors = 1; vectors <= 2; vectors++) {
            check_small(vectors, draw_rows(CURVED, 100, 2, 2, 3), texts[t], 0.2);
            for (size_t n = 1; n <= 7; n++)
                check_small(vectors, draw_rows(CURVED, n, 2, 2, n), texts[t], INFINITY);
            rows equal = draw_rows(CURVED, 50, 2, 2, 3);
            for (size_t j = 0; j < 100; j++)
                equal.x[j] = j % 2 ? 1.5f : 0.5f;
            check_small(vectors, equal, texts[t], 1e-3);
        }
}

static void test_a_machine_without_vectors_is_refused(void **state) {
    (void)state;
    school s;
    static lm_params params;
    void *model = NULL;
    open_small(&s, 0, draw_rows(CURVED, 20, 2, 2, 1));
    lm_train_set set = taught_set(&s);
    set_params(s.ctx, "", &params);
    assert_int_equal(pt_train(s.ctx, &set, &params, &model), LIMN_E_UNSUPPORTED);
    assert_null(model);
    close_school(&s);
}

/* Its f is finite, but too large for the bias of a leaf, which a file keeps to 1e100. */
static void test_a_machine_whose_answers_are_too_large_is_refused(void **state) {
    static const double rho[] = {1e90, -1e101, 1e300};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(rho); i++) {
        school s;
        static lm_params params;
        void *model = NULL;
        open_small(&s, 2, draw_rows(CURVED, 100, 2, 2, 1));
        s.svm.rho = &rho[i];
        lm_train_set set = taught_set(&s);
        set_params(s.ctx, "", &params);
        assert_int_equal(pt_train(s.ctx, &set, &params, &model), i ? LIMN_E_DATA : LIMN_OK);
        assert_int_equal(model == NULL, i > 0);
        pt_destroy(&s.ctx->mem, model);
        close_school(&s);
    }
}

/* ---- what is refused ---- */

static limn_data *data_of(limn_context *ctx, const rows *r, limn_task task) {
    limn_data *data = NULL;
    double *y = malloc(r->n * sizeof *y);
    for (size_t i = 0; i < r->n; i++)
        y[i] = r->label[i];
    assert_int_equal(limn_data_from_values(ctx, task, r->x, r->n, r->d, y, &data), LIMN_OK);
    free(y);
    return data;
}

static limn_status try_teacher(limn_context *ctx, const limn_data *data, const char *teacher,
                               const char *param, limn_model **model) {
    limn_train_options options;
    limn_train_options_init(&options);
    options.method = "ptree";
    options.teacher_method = teacher;
    options.params = &param;
    options.param_count = param != NULL;
    *model = NULL;
    return limn_train(ctx, data, &options, model);
}

static void refused(limn_task task, size_t classes, const char *teacher, const char *param,
                    limn_status status, const char *sentence) {
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(CURVED, 80, 2, classes, 1);
    limn_data *data = data_of(ctx, &r, task);
    limn_model *model;
    assert_int_equal(try_teacher(ctx, data, teacher, param, &model), status);
    if (!strstr(limn_error(ctx), sentence))
        fail_msg("%s", limn_error(ctx));
    assert_null(model);
    limn_data_free(data);
    free_rows(&r);
    limn_context_free(ctx);
}

static void test_other_teachers_and_splits_are_refused(void **state) {
    static const char teachers[] =
        "ptree: a tree can be drawn from an svm with two classes and from nothing else";
    static const char *const splits[] = {"split=zpq", "split=rndw", "split=bal", "split=ent"};
    (void)state;
    refused(LIMN_CLASSIFY, 3, "svm", NULL, LIMN_E_UNSUPPORTED, teachers);
    refused(LIMN_CLASSIFY, 2, "knn", NULL, LIMN_E_UNSUPPORTED, teachers);
    refused(LIMN_CLASSIFY, 2, "lda", NULL, LIMN_E_UNSUPPORTED, teachers);
    for (size_t t = 0; t < LM_COUNT(splits); t++)
        refused(LIMN_CLASSIFY, 2, "svm", splits[t], LIMN_E_UNSUPPORTED,
                "ptree: with a teacher, split is wpq or pca; no other is supported");
    refused(LIMN_REGRESS, 2, "svm", NULL, LIMN_E_USAGE, "ptree does not support the task regress");
}

static void test_a_model_that_teaches_gives_its_scaling_and_agrees(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    rows r = draw_rows(CURVED, 300, 2, 2, 1);
    limn_data *data = data_of(ctx, &r, LIMN_CLASSIFY);
    limn_model *model;
    if (try_teacher(ctx, data, "svm", "budget=20", &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    const pt_model *m = model->body;
    assert_int_equal(m->o.kernel.type, LM_RBF);
    assert_true(m->agreement > 0.9 && model->teacher != NULL);
    limn_model_free(model);
    limn_data_free(data);
    free_rows(&r);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_vector_taken_is_the_one_that_leaves_least),
        cmocka_unit_test(test_nothing_is_taken_where_there_is_nothing_to_take),
        cmocka_unit_test(test_the_ridge_is_that_of_elimination),
        cmocka_unit_test(test_vectors_are_chosen_by_the_rows_that_are_not_left_out),
        cmocka_unit_test(test_leaves_have_support_vectors_with_coefficients_of_a_ridge),
        cmocka_unit_test(test_with_room_for_all_vectors_the_tree_answers_as_the_machine),
        cmocka_unit_test(test_threads_and_shared_answers_change_no_byte),
        cmocka_unit_test(test_a_drawn_tree_goes_on_learning),
        cmocka_unit_test(test_small_machines_and_few_rows_are_drawn_from),
        cmocka_unit_test(test_a_machine_without_vectors_is_refused),
        cmocka_unit_test(test_a_machine_whose_answers_are_too_large_is_refused),
        cmocka_unit_test(test_other_teachers_and_splits_are_refused),
        cmocka_unit_test(test_a_model_that_teaches_gives_its_scaling_and_agrees),
    };
    return cmocka_run_group_tests_name("ptree_shrink", tests, NULL, NULL);
}
