/* test_ptree.c: perceptron trees as a whole: answers against the definitions (ptree_slow.h), a
 * learner of one row at a time that is written anew, and what must hold for every tree: leaves keep
 * within the budget, the depth and the rows that they may remember. */
#include "ptree_slow.h"

/* ---- answers ---- */

static const char *const kernels[] = {"rbf gamma=0.5", "poly gamma=0.3 coef0=1 degree=3",
                                      "linear project=0", "chi2 gamma=0.7", "intersection"};
static const char *const splits[] = {"wpq", "zpq", "rndw", "pca", "bal", "ent"};
static const char *const styles[] = {"tree depth=3", "paper depth=5"};

/* Float kernels against doubles: shares of the sum of all terms. */
#define NEAR 1e-4

/* The vectors of the leaf, one for each test above it, and for zpq all rows of the test. */
static double vectors_read(const pt_model *m, size_t leaf) {
    size_t read = m->leaf[leaf].e.pack.n;
    int32_t at = -1 - (int32_t)leaf;
    for (size_t i = m->nodes; i-- > 0;) /* children have larger numbers */
        if (m->node[i].child[0] == at || m->node[i].child[1] == at) {
            read += m->o.split == PT_ZPQ ? m->node[i].pack.n : 1;
            at = (int32_t)i;
        }
    return (double)read;
}

static double vectors_touched(limn_context *ctx, const pt_model *m, const float *x) {
    lm_touched sum = {0, 0};
    void *scratch = scratch_for(ctx, m);
    pt_touched(m, x, 1, &sum, scratch);
    lm_free_aligned(&ctx->mem, scratch);
    return sum.vectors;
}

/* Compares the scores of one row; false: which leaf it belongs to is up to rounding. */
static bool compare_answer(limn_context *ctx, const pt_model *m, const float *x) {
    double f[SLOW_OUTPUTS], scores[SLOW_OUTPUTS * SLOW_OUTPUTS], gap;
    bool clear, mean = m->o.average && m->wrong[1] <= m->wrong[0];
    size_t levels, at = 0, leaf = slow_route(m, x, &clear, &levels);
    if (!clear)
        return false;
    assert_int_equal(leaf_of(ctx, m, x), leaf);
    assert_int_equal(m->leaf[leaf].level, levels);
    assert_true(vectors_touched(ctx, m, x) == vectors_read(m, leaf));
    double size = slow_outputs(m, &m->leaf[leaf], mean, x, f);
    scores_of(ctx, m, x, scores);
    for (size_t a = 0; a < m->classes; a++)
        for (size_t b = a + 1; b < m->classes; b++, at++) {
            double expected = m->outputs == 1 ? f[0] : f[a] - f[b];
            if (!(fabs(scores[at] - expected) <= NEAR * size + 1e-30))
                fail_msg("a score is %g, not %g", scores[at], expected);
        }
    int32_t winner = slow_winner(f, m->outputs, m->leaf[leaf].majority, &gap);
    if (gap > NEAR * size)
        assert_int_equal(class_of(ctx, m, x), winner);
    return true;
}

static void compare_answers(limn_context *ctx, const pt_model *m, const rows *r, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 192, 0);
    size_t count = 0;
    for (size_t q = 0; q < 60; q++) {
        float x[SLOW_FEATURES];
        for (size_t j = 0; j < r->d; j++)
            x[j] = (float)(2 * lm_rng_normal(&rng));
        count += compare_answer(ctx, m, q % 2 ? x : r->x + lm_rng_below(&rng, r->n) * r->d);
    }
    assert_true(count >= 40);
}

static void check_answers(const char *kernel, const char *split, const char *style, size_t classes,
                          const char *more) {
    char text[256];
    size_t k = (size_t)(kernel[0] == 'c' || kernel[0] == 'i'), d = 2 + classes;
    rows r = draw_rows(k ? POSITIVE : classes == 2 ? CURVED : GRID, 160, d, classes, d + k);
    limn_context *ctx = make_context(NULL, 1, classes);
    (void)snprintf(text, sizeof text, "kernel=%s split=%s style=%s budget=8 epochs=1 %s", kernel,
                   split, style, more);
    pt_model *m = train(ctx, &r, r.n, text);
    compare_answers(ctx, m, &r, d);
    if (m->leaves < 2)
        fail_msg("%s: nothing was split", text);
    pt_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static void
test_answers_are_those_of_the_definition_for_all_kernels_splits_and_styles(void **state) {
    (void)state;
    for (size_t k = 0; k < LM_COUNT(kernels); k++)
        for (size_t s = 0; s < LM_COUNT(splits); s++)
            for (size_t style = 0; style < 2; style++)
                for (size_t classes = 2; classes <= 3; classes++)
                    check_answers(kernels[k], splits[s], styles[style], classes,
                                  s % 2 ? "" : "select=inds");
}

static void test_answers_follow_the_mean_only_where_it_errs_less(void **state) {
    static const char *const texts[] = {
        "finish=no",  "finish=no order=file",           "finish=no average=no",
        "finish=yes", "finish=no project=0 margin=0.5", "finish=no select=rnds"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++)
        for (size_t classes = 2; classes <= 4; classes++)
            check_answers(kernels[0], "wpq", styles[0], classes, texts[t]);
}

/* Without a vote of the mean: its errors are many on rows in an unlucky order. */
static void test_rows_in_an_unlucky_order_are_answered_by_the_last_coefficients(void **state) {
    (void)state;
    rows r = draw_rows(FAR, 600, 3, 2, 5);
    for (size_t i = 0; i < r.n; i++) /* the classes change places half-way */
        r.label[i] = i < 300 ? r.label[i] : 1 - r.label[i];
    limn_context *ctx = make_context(NULL, 1, 3);
    pt_model *m = train(ctx, &r, r.n, "gamma=0.2 budget=20 depth=0 order=file finish=no epochs=1");
    assert_true(m->wrong[1] > m->wrong[0]);
    for (size_t i = 590; i < 600; i++)
        assert_int_equal(class_of(ctx, m, r.x + i * r.d), r.label[i]);
    compare_answers(ctx, m, &r, 3);
    pt_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    free_rows(&r);
}

static void check_majority(const char *text, size_t classes, uint64_t seed) {
    limn_context *ctx = make_context(NULL, 1, seed);
    rows r = draw_rows(NOISE, 150, 3, classes, seed);
    size_t *leaf = malloc(r.n * sizeof *leaf);
    pt_model *m = train(ctx, &r, r.n, text);
    for (size_t i = 0; i < r.n; i++)
        leaf[i] = leaf_of(ctx, m, r.x + i * r.d);
    for (size_t q = 0; q < 20; q++) { /* so far away that all kernels are 0 */
        const float x[3] = {q % 2 ? 1e4f : -1e4f, q % 3 ? 2e4f : -1e4f, (float)q * 3e3f - 3e4f};
        size_t count[SLOW_OUTPUTS] = {0}, most = 0, own = leaf_of(ctx, m, x);
        for (size_t i = 0; i < r.n; i++)
            count[r.label[i]] += leaf[i] == own;
        for (size_t c = 1; c < classes; c++)
            most = count[c] > count[most] ? c : most;
        assert_int_equal(class_of(ctx, m, x), most);
    }
    pt_destroy(&ctx->mem, m);
    free(leaf);
    free_rows(&r);
    limn_context_free(ctx);
}

static void test_where_f_is_0_the_class_of_most_rows_of_the_leaf_answers(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++)
        for (size_t classes = 1; classes <= 4; classes++) {
            check_majority("gamma=1 budget=9 reservoir=0 epochs=1 finish=no", classes, seed);
            check_majority("gamma=1 budget=9 depth=0 epochs=1 finish=no", classes, seed);
        }
}

static void test_a_model_without_rows_answers_class_0(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    const float x[2] = {1, 2};
    for (size_t classes = 1; classes <= 3; classes++) {
        pt_model *m = new_model(ctx, "gamma=1", 2, classes);
        double scores[3] = {1, 1, 1};
        assert_int_equal(class_of(ctx, m, x), 0);
        scores_of(ctx, m, x, scores);
        assert_true(classes < 2 || scores[0] == 0);
        pt_destroy(&ctx->mem, m);
    }
    limn_context_free(ctx);
}

/* ---- limits ---- */

/* The levels of the leaves below a node; also that each leaf is reached once. */
static void walk(const pt_model *m, int32_t at, uint32_t level, size_t *reached) {
    if (at < 0) {
        assert_int_equal(m->leaf[-1 - at].level, level);
        ++*reached;
        return;
    }
    walk(m, m->node[at].child[0], level + 1, reached);
    walk(m, m->node[at].child[1], level + 1, reached);
}

/* The rows that came to a leaf are those that it remembers, in their order. */
static void check_remembered(const pt_model *m, const rows *r, size_t n, const size_t *leaf,
                             size_t index) {
    const pt_leaf *l = &m->leaf[index];
    uint64_t count[SLOW_OUTPUTS] = {0};
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (leaf[i] != index)
            continue;
        count[r->label[i]]++;
        if (l->level < m->o.depth) {
            assert_true(at < l->kept);
            assert_memory_equal(l->kept_x + at * r->d, r->x + i * r->d, r->d * sizeof(float));
            assert_int_equal(l->kept_label[at], r->label[i]);
        }
        at++;
    }
    assert_int_equal(l->kept, l->level < m->o.depth ? at : 0);
    assert_int_equal(l->seen, at);
    assert_memory_equal(l->count, count, m->classes * sizeof *count);
}

static void check_limits(limn_context *ctx, const pt_model *m, const rows *r, size_t n) {
    size_t reached = 0, *leaf = malloc((n + 1) * sizeof *leaf);
    walk(m, m->nodes ? 0 : -1, 0, &reached);
    assert_int_equal(reached, m->leaves);
    assert_int_equal(m->leaves, m->nodes + 1);
    for (size_t i = 0; i < n; i++)
        leaf[i] = leaf_of(ctx, m, r->x + i * r->d);
    for (size_t i = 0; i < m->leaves; i++) {
        const pt_leaf *l = &m->leaf[i];
        assert_true(l->e.pack.n <= m->o.budget);
        assert_true(l->level <= m->o.depth);
        assert_true(l->kept <= m->o.reservoir && l->kept <= l->seen);
        if (m->o.reservoir == SIZE_MAX)
            check_remembered(m, r, n, leaf, i);
    }
    free(leaf);
}

static void test_no_leaf_exceeds_the_budget_the_depth_or_what_it_may_remember(void **state) {
    static const char *const texts[] = {"budget=2 depth=3 reservoir=0",
                                        "budget=5 depth=2 reservoir=0 split=zpq",
                                        "budget=7 depth=6 reservoir=0 project=0",
                                        "budget=4 depth=0 reservoir=0",
                                        "budget=8 kept=1 depth=4 reservoir=20",
                                        "budget=8 kept=7 depth=64 reservoir=10 split=bal",
                                        "budget=3 depth=1 reservoir=4",
                                        "budget=16 depth=5 reservoir=0 split=ent",
                                        "style=paper budget=6 split=rndw",
                                        "style=paper budget=6 depth=3 split=zpq",
                                        "budget=6 depth=5 reservoir=0 split=pca select=inds"};
    (void)state;
    for (size_t t = 0; t < LM_COUNT(texts); t++)
        for (size_t k = 0; k < 2; k++) {
            char text[128];
            rows r = draw_rows(k ? GRID : CURVED, 360, 3, 2 + t % 2, t);
            limn_context *ctx = make_context(NULL, 1, 3);
            (void)snprintf(text, sizeof text, "%s gamma=0.5 margin=0.3", texts[t]);
            pt_model *m = new_model(ctx, text, 3, r.classes);
            for (size_t i = 0; i < r.n; i += 40) {
                learn(ctx, m, &r, i, 40, NULL);
                check_limits(ctx, m, &r, i + 40);
            }
            assert_true(m->leaves > 1 || m->o.depth == 0);
            pt_destroy(&ctx->mem, m);
            limn_context_free(ctx);
            free_rows(&r);
        }
}

/* Each row is as likely to be remembered as any other. */
static void test_remembered_rows_are_a_fair_sample(void **state) {
    (void)state;
    rows r = draw_rows(NOISE, 1000, 1, 2, 1);
    double mean = 0, early = 0;
    for (size_t i = 0; i < r.n; i++)
        r.x[i] = (float)i;
    for (uint64_t seed = 0; seed < 40; seed++) {
        limn_context *ctx = make_context(NULL, 1, seed);
        pt_model *m = new_model(ctx, "kernel=linear project=1 reservoir=50", 1, 2);
        learn(ctx, m, &r, 0, r.n, NULL);
        assert_int_equal(m->leaf[0].kept, 50);
        for (size_t i = 0; i < 50; i++) {
            size_t row = (size_t)m->leaf[0].kept_x[i];
            assert_int_equal(m->leaf[0].kept_label[i], r.label[row]);
            mean += (double)row / 2000;
            early += row < 100;
        }
        pt_destroy(&ctx->mem, m);
        limn_context_free(ctx);
    }
    assert_true(fabs(mean - 499.5) < 25); /* 4 standard deviations */
    assert_true(fabs(early - 200) < 54);
    free_rows(&r);
}

/* ---- a learner written anew ---- */

enum { SLOW_LEAVES = 64, SLOW_VECTORS = 32 };

/* sum: of A after each of the t rows since the leaf began; A in its mean is sum / t. */
typedef struct slow_leaf {
    size_t n, wait, level;
    float *x; /* SLOW_VECTORS x d */
    double a[SLOW_VECTORS * SLOW_OUTPUTS], sum[SLOW_VECTORS * SLOW_OUTPUTS], t;
} slow_leaf;

typedef struct slow_tree {
    pt_model like; /* options, and the tests with links of its own */
    slow_leaf leaf[SLOW_LEAVES];
    pt_node node[SLOW_LEAVES];
    size_t leaves, off[2], rows;
} slow_tree;

/* One row on its way. */
typedef struct slow_row {
    const float *x;
    size_t label, rival, leaf;
    double k[SLOW_VECTORS], self, alpha[SLOW_VECTORS], left, f[2][SLOW_OUTPUTS], size, margin;
    int32_t said[2];
    bool clear;  /* no decision so far was up to rounding, */
    double near; /* which is less than this share of the sum of all terms */
} slow_row;

static void slow_begin(const pt_model *m, slow_tree *t) {
    memset(t, 0, sizeof *t);
    t->like = *m;
    t->like.node = t->node;
    t->leaves = 1;
    for (size_t i = 0; i < SLOW_LEAVES; i++)
        t->leaf[i].x = malloc(SLOW_VECTORS * m->d * sizeof(float));
}

static void slow_end(const limn_allocator *mem, slow_tree *t) {
    for (size_t i = 0; i < SLOW_LEAVES; i++)
        free(t->leaf[i].x);
    for (size_t i = 0; i < t->like.nodes; i++)
        pt_node_free(mem, &t->node[i]);
}

static void certain(slow_row *row, double off, double size) {
    row->clear = row->clear && (off == 0 || fabs(off) > row->near * size);
}

/* Kernels, f by A and by its mean, the answers, and how far A is right. */
static void slow_look(const slow_tree *t, slow_row *row) {
    const pt_model *m = &t->like;
    const slow_leaf *l = &t->leaf[row->leaf];
    for (size_t j = 0; j < l->n; j++)
        row->k[j] = slow_kernel(&m->o.kernel, row->x, l->x + j * m->d, m->d);
    row->self = slow_kernel(&m->o.kernel, row->x, row->x, m->d);
    for (size_t s = 0; s < 2; s++)
        for (size_t o = 0; o < m->outputs; o++) {
            row->f[s][o] = 0;
            for (size_t j = 0; j < l->n; j++) {
                size_t at = j * m->outputs + o;
                bool mean = s && m->o.average && l->t > 0;
                double a = mean ? l->sum[at] / l->t : l->a[at];
                row->f[s][o] += a * row->k[j];
                row->size += fabs(a * row->k[j]);
            }
        }
}

static void slow_judge(const slow_tree *t, slow_row *row, int32_t majority) {
    const pt_model *m = &t->like;
    const double *f = row->f[0];
    for (size_t s = 0; s < 2; s++) {
        double gap;
        row->said[s] = slow_winner(row->f[s], m->outputs, majority, &gap);
        certain(row, gap, row->size);
    }
    row->margin = row->label ? -f[0] : f[0];
    row->rival = row->label == 0;
    if (m->outputs == 1)
        return;
    for (size_t o = 0; o < m->outputs; o++)
        if (o != row->label && f[o] > f[row->rival])
            row->rival = o;
    for (size_t o = 0; o < m->outputs; o++)
        if (o != row->label)
            certain(row, f[o] - f[row->rival], row->size);
    row->margin = (f[row->label] - f[row->rival]) / 2;
}

/* The combination of vectors that is nearest to x, and the share of K(x, x) that it leaves. */
static void slow_project(const slow_tree *t, slow_row *row) {
    const slow_leaf *l = &t->leaf[row->leaf];
    const pt_model *m = &t->like;
    double gram[SLOW_VECTORS * SLOW_VECTORS], rest = row->self;
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < l->n; j++)
            gram[i * l->n + j] = slow_kernel(&m->o.kernel, l->x + i * m->d, l->x + j * m->d, m->d);
    memcpy(row->alpha, row->k, l->n * sizeof *row->k);
    if (!slow_solve(gram, l->n, row->alpha))
        row->clear = false;
    for (size_t j = 0; j < l->n; j++)
        rest -= row->alpha[j] * row->k[j];
    row->left = row->self > 0 ? fmin(fmax(rest / row->self, 0), 1) : 0;
    certain(row, row->left - m->o.project, 1);
}

static void slow_change(const slow_tree *t, slow_leaf *l, const slow_row *row, size_t j,
                        double by) {
    double *a = l->a + j * t->like.outputs;
    if (t->like.outputs == 1) {
        a[0] += row->label ? -by : by;
        return;
    }
    a[row->label] += by;
    a[row->rival] -= by;
}

static void slow_drop_oldest(slow_leaf *l, size_t d, size_t k) {
    l->n--;
    memmove(l->x, l->x + d, l->n * d * sizeof *l->x);
    memmove(l->a, l->a + k, l->n * k * sizeof *l->a);
    memmove(l->sum, l->sum + k, l->n * k * sizeof *l->sum);
}

static void slow_add(const slow_tree *t, slow_leaf *l, const slow_row *row) {
    size_t d = t->like.d, k = t->like.outputs;
    memcpy(l->x + l->n * d, row->x, d * sizeof *l->x);
    memset(l->a + l->n * k, 0, k * sizeof *l->a);
    memset(l->sum + l->n * k, 0, k * sizeof *l->sum);
    slow_change(t, l, row, l->n++, 1);
    if (l->n > t->like.o.budget)
        slow_drop_oldest(l, d, k);
}

/* When a full leaf is split, apart from its level and earlier attempts. m: before the row. */
static bool is_ready(const pt_model *m, const slow_row *row) {
    return !(m->o.project > 0) || m->leaf[row->leaf].seen >= m->o.patience * m->o.budget;
}

/* What the library makes of the model's own leaf with the row in it. */
static pt_fork fork_of(limn_context *ctx, const pt_model *m, const slow_row *row) {
    pt_leaf copy;
    pt_fork fork;
    lm_step step = {row->label, row->rival, 1};
    if (m->outputs == 1)
        step = (lm_step){0, LM_NO_OUTPUT, row->label ? -1 : 1};
    float *x = lm_alloc_aligned(&ctx->mem, m->stride + 2 * m->width, sizeof *x);
    pt_take_row(m, row->x, x);
    assert_int_equal(pt_leaf_copy(ctx, m, &m->leaf[row->leaf], &copy), LIMN_OK);
    lm_expansion_values(&copy.e, x, x + m->stride);
    lm_expansion_add(&copy.e, x, x + m->stride, &step);
    lm_expansion_tick(&copy.e, true);
    pt_leaf_remember(m, &copy, x, (int32_t)row->label);
    assert_int_equal(pt_split_leaf(ctx, m, &copy, &fork), LIMN_OK);
    pt_leaf_free(&ctx->mem, &copy);
    lm_free_aligned(&ctx->mem, x);
    return fork;
}

static void slow_adopt(slow_tree *t, const pt_leaf *from, size_t index) {
    slow_leaf *l = &t->leaf[index];
    l->n = from->e.pack.n;
    l->t = 0;
    l->wait = 0;
    l->level = from->level;
    for (size_t j = 0; j < l->n; j++)
        slow_vector(&from->e.pack, j, l->x + j * t->like.d);
    memcpy(l->a, from->e.coef, l->n * t->like.outputs * sizeof *l->a);
    memset(l->sum, 0, sizeof l->sum);
}

/* The left leaf keeps the number of the one that is split, the right one has the next. */
static void slow_graft(limn_context *ctx, slow_tree *t, size_t leaf, pt_fork *fork) {
    size_t node = t->like.nodes++;
    for (size_t i = 0; i < node; i++)
        for (int s = 0; s < 2; s++)
            if (t->node[i].child[s] == -1 - (int32_t)leaf)
                t->node[i].child[s] = (int32_t)node;
    t->node[node] = fork->node;
    t->node[node].child[0] = -1 - (int32_t)leaf;
    t->node[node].child[1] = -1 - (int32_t)t->leaves;
    slow_adopt(t, &fork->leaf[0], leaf);
    slow_adopt(t, &fork->leaf[1], t->leaves++);
    assert_true(t->leaves < SLOW_LEAVES);
    fork->node = (pt_node){.w = NULL};
    pt_fork_free(&ctx->mem, fork);
}

/* What a row that is wrong does to its leaf. True: it was split. */
static bool slow_correct(limn_context *ctx, const pt_model *m, slow_tree *t, slow_row *row) {
    const pt_options *o = &t->like.o;
    slow_leaf *l = &t->leaf[row->leaf];
    bool full = l->n >= o->budget, inside = o->project > 0;
    row->left = 1;
    if (inside)
        slow_project(t, row);
    if (row->left > o->project && full && l->level < o->depth && !l->wait && row->clear &&
        is_ready(m, row)) {
        pt_fork fork = fork_of(ctx, m, row);
        if (fork.valid) {
            slow_graft(ctx, t, row->leaf, &fork);
            return true;
        }
        l->wait = o->kept + 1; /* this mistake counts */
    }
    l->wait -= l->wait > 0;
    if (inside && (full || row->left <= o->project))
        for (size_t j = 0; j < l->n; j++)
            slow_change(t, l, row, j, row->alpha[j]);
    else
        slow_add(t, l, row);
    return false;
}

static void slow_finish_row(slow_tree *t, const slow_row *row, bool gone) {
    slow_leaf *l = &t->leaf[row->leaf];
    t->rows++;
    for (size_t s = 0; s < 2; s++)
        t->off[s] += row->said[s] != (int32_t)row->label;
    if (gone)
        return;
    l->t += 1;
    for (size_t i = 0; i < l->n * t->like.outputs; i++)
        l->sum[i] += l->a[i];
}

/* ---- the library and the slow learner side by side ---- */

static void compare_coef(const slow_tree *t, const lm_expansion *e, const slow_leaf *l) {
    double most = 1;
    size_t cells = l->n * t->like.outputs;
    for (size_t i = 0; i < cells; i++)
        most = fmax(most, fabs(l->a[i]));
    for (size_t i = 0; i < cells; i++) {
        assert_true(fabs(e->coef[i] - l->a[i]) <= 2e-4 * most);
        if (t->like.o.average && l->t > 0)
            assert_true(fabs(e->coef[i] - e->drift[i] / e->steps - l->sum[i] / l->t) <=
                        2e-4 * most);
    }
}

static void compare_leaf(const pt_model *m, const slow_tree *t, size_t leaf) {
    const pt_leaf *a = &m->leaf[leaf];
    const slow_leaf *l = &t->leaf[leaf];
    assert_int_equal(a->e.pack.n, l->n);
    assert_int_equal(a->wait, l->wait);
    assert_true(a->e.steps == l->t);
    for (size_t j = 0; j < l->n; j++) {
        float x[SLOW_FEATURES];
        slow_vector(&a->e.pack, j, x);
        assert_memory_equal(x, l->x + j * m->d, m->d * sizeof *x);
    }
    compare_coef(t, &a->e, l);
}

/* While at most 2000 rows were learned, nothing has faded. */
static void compare_shares(const pt_model *m, const slow_tree *t) {
    for (size_t s = 0; s < 2; s++)
        assert_true(fabs(m->wrong[s] - (double)t->off[s] / (double)t->rows) < 1e-9);
}

/* False: a decision was up to rounding. */
static bool follow_row(limn_context *ctx, pt_model *m, slow_tree *t, const rows *r, size_t i) {
    size_t levels;
    int32_t answer = -7;
    slow_row row = {.x = r->x + i * r->d, .label = (size_t)r->label[i], .clear = true};
    /* Where both were wrong equally often, rounding decides which of them answers. */
    bool gone = false, tie = t->off[1] == t->off[0],
         mean = m->o.average && m->wrong[1] <= m->wrong[0];
    assert_true(tie || !m->o.average || mean == (t->off[1] < t->off[0]));
    row.leaf = slow_route(&t->like, row.x, &row.clear, &levels);
    row.near = m->o.project > 0 ? NEAR : 2e-6; /* a projection multiplies what is rounded */
    slow_look(t, &row);
    slow_judge(t, &row, m->leaf[row.leaf].majority);
    bool one = m->o.kernel.type == LM_RBF || m->o.kernel.type == LM_CHI2_KERNEL;
    double needed = m->o.margin * (one ? 1 : row.self);
    certain(&row, row.margin - needed, row.size + needed);
    if (row.clear && row.margin <= needed)
        gone = slow_correct(ctx, m, t, &row);
    if (!row.clear)
        return false;
    slow_finish_row(t, &row, gone);
    learn(ctx, m, r, i, 1, &answer);
    assert_int_equal(answer, i ? row.said[mean] : -1);
    assert_int_equal(m->leaves, t->leaves);
    compare_leaf(m, t, row.leaf);
    if (gone)
        compare_leaf(m, t, t->leaves - 1);
    compare_shares(m, t);
    return true;
}

/* Returns how many of the rows were followed. */
static size_t follow(const rows *r, const char *text, uint64_t seed, size_t *grown) {
    limn_context *ctx = make_context(NULL, 1, seed);
    pt_model *m = new_model(ctx, text, r->d, r->classes);
    slow_tree *t = malloc(sizeof *t);
    size_t i = 0;
    slow_begin(m, t);
    while (i < r->n && follow_row(ctx, m, t, r, i))
        i++;
    *grown += t->leaves;
    slow_end(&ctx->mem, t);
    free(t);
    pt_destroy(&ctx->mem, m);
    limn_context_free(ctx);
    return i;
}

static void follow_all(const char *const *texts, size_t count, kind of, size_t classes) {
    size_t rows_followed = 0, all = 0, grown = 0;
    for (size_t s = 0; s < count; s++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            rows r = draw_rows(of, 220, 2 + seed, classes, seed);
            rows_followed += follow(&r, texts[s], seed, &grown);
            all += r.n;
            free_rows(&r);
        }
    if (4 * rows_followed < 3 * all || grown < 8 * count)
        fail_msg("%zu of %zu rows, %zu leaves", rows_followed, all, grown);
}

static void test_trees_learn_row_by_row_as_defined(void **state) {
    static const char *const texts[] = {
        "gamma=0.5 budget=8",
        "gamma=0.3 budget=6 project=0.3 margin=0 split=pca",
        "gamma=0.5 budget=8 project=0 margin=0.4 split=zpq select=inds",
        "gamma=0.5 budget=5 kept=4 average=no split=bal",
        "gamma=1 budget=8 kept=1 refit=0 split=ent depth=3",
        "gamma=0.5 budget=7 depth=2 project=0 split=rndw",
        "kernel=poly gamma=0.2 coef0=1 degree=2 budget=6 project=0 refit=0",
        "gamma=0.5 budget=8 reservoir=20 margin=0.1"};
    (void)state;
    for (size_t classes = 2; classes <= 3; classes++)
        follow_all(texts, LM_COUNT(texts), CURVED, classes);
}

static void test_trees_in_the_papers_style_learn_row_by_row_as_defined(void **state) {
    static const char *const texts[] = {
        "style=paper gamma=0.5 budget=8", "style=paper gamma=0.5 budget=6 split=zpq select=rnds",
        "style=paper kernel=poly gamma=0.3 coef0=1 degree=2 budget=8 split=rndw select=inds",
        "style=paper gamma=0.5 budget=9 split=ent average=yes",
        "style=paper gamma=0.5 budget=9 split=bal margin=0.2 select=inds"};
    (void)state;
    for (size_t classes = 2; classes <= 4; classes++)
        follow_all(texts, LM_COUNT(texts), CURVED, classes);
}

static void test_trees_of_numbers_above_0_learn_row_by_row_as_defined(void **state) {
    static const char *const texts[] = {"kernel=chi2 gamma=0.8 budget=6",
                                        "kernel=intersection budget=6 project=0",
                                        "kernel=intersection budget=6 style=paper split=ent"};
    (void)state;
    follow_all(texts, LM_COUNT(texts), POSITIVE, 2);
}

/* ---- rows that cannot be divided ---- */

/* Rows are all the same, labels take turns: every row is a mistake. */
static void check_equal_rows(float value, const char *text) {
    enum { N = 200 };
    limn_context *ctx = make_context(NULL, 1, 2);
    rows r = draw_rows(NOISE, N, 3, 2, 1);
    pt_model *m = new_model(ctx, text, 3, 2);
    size_t budget = m->o.budget, kept = m->o.kept, after = 0;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < 3; j++)
            r.x[i * 3 + j] = value;
        r.label[i] = i % 2;
        learn(ctx, m, &r, i, 1, NULL);
        const pt_leaf *l = &m->leaf[0];
        assert_int_equal(m->leaves, 1);
        assert_int_equal(l->e.pack.n, i + 1 < budget ? i + 1 : budget);
        /* An attempt, once the leaf is full, then C mistakes without one. */
        after += after || l->wait;
        assert_int_equal(l->wait, after ? kept - (after - 1) % (kept + 1) : 0);
        assert_true(!after || i >= budget);
        for (size_t v = 0; v < l->e.pack.n; v++) /* the oldest has gone */
            assert_true(l->e.coef[v] == ((i + 1 - l->e.pack.n + v) % 2 ? -1 : 1));
    }
    assert_true(after > kept + 1);
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
}

static void test_equal_rows_drop_the_oldest_vector_and_wait_for_more_mistakes(void **state) {
    static const char *const texts[] = {"split=wpq", "split=zpq", "split=rndw",
                                        "split=pca", "split=bal", "split=ent"};
    (void)state;
    for (size_t s = 0; s < LM_COUNT(texts); s++)
        for (size_t paper = 0; paper < 2; paper++) {
            char text[128];
            (void)snprintf(text, sizeof text, "%s %s gamma=1 budget=6 kept=4 project=0 margin=100",
                           texts[s], paper ? "style=paper" : "");
            check_equal_rows(1.5f, text);
            check_equal_rows(0, text);
        }
}

static void test_fewer_than_4_rows_are_not_divided(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 2);
    rows r = draw_rows(CURVED, 10, 3, 2, 1);
    pt_model *m = new_model(ctx, "gamma=1 budget=2 kept=1 project=0 margin=100 reservoir=3", 3, 2);
    learn(ctx, m, &r, 0, 10, NULL);
    assert_int_equal(m->leaves, 1);
    assert_int_equal(m->leaf[0].e.pack.n, 2);
    pt_destroy(&ctx->mem, m);
    free_rows(&r);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_answers_are_those_of_the_definition_for_all_kernels_splits_and_styles),
        cmocka_unit_test(test_answers_follow_the_mean_only_where_it_errs_less),
        cmocka_unit_test(test_rows_in_an_unlucky_order_are_answered_by_the_last_coefficients),
        cmocka_unit_test(test_where_f_is_0_the_class_of_most_rows_of_the_leaf_answers),
        cmocka_unit_test(test_a_model_without_rows_answers_class_0),
        cmocka_unit_test(test_no_leaf_exceeds_the_budget_the_depth_or_what_it_may_remember),
        cmocka_unit_test(test_remembered_rows_are_a_fair_sample),
        cmocka_unit_test(test_trees_learn_row_by_row_as_defined),
        cmocka_unit_test(test_trees_in_the_papers_style_learn_row_by_row_as_defined),
        cmocka_unit_test(test_trees_of_numbers_above_0_learn_row_by_row_as_defined),
        cmocka_unit_test(test_equal_rows_drop_the_oldest_vector_and_wait_for_more_mistakes),
        cmocka_unit_test(test_fewer_than_4_rows_are_not_divided),
    };
    return cmocka_run_group_tests_name("ptree", tests, NULL, NULL);
}
