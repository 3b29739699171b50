/* test_hull_prune.c: prune=yes skips work but answers as prune=no does, row by row and in
 * blocks, even where the distances of classes agree to the last digits. */
#include "hull_world.h"

typedef struct pair {
    limn_context *ctx;
    limn_data *data;
    limn_model *model[2]; /* prune=no, prune=yes */
} pair;

static pair make_pair(const slow_set *s, const float *x, const double *y, size_t n, size_t d) {
    pair p = {.ctx = make_context(NULL, 1, 2)};
    assert_int_equal(limn_data_from_values(p.ctx, LIMN_CLASSIFY, x, n, d, y, &p.data), LIMN_OK);
    p.model[0] = hull_trained(p.ctx, p.data, s, "prune=no");
    p.model[1] = hull_trained(p.ctx, p.data, s, "prune=yes");
    return p;
}

static void pair_free(pair *p) {
    limn_model_free(p->model[0]);
    limn_model_free(p->model[1]);
    limn_data_free(p->data);
    limn_context_free(p->ctx);
}

static void ask_singly(limn_context *ctx, const limn_model *model, const float *x, size_t n,
                       size_t d, int32_t *classes) {
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(limn_predict(p, x + i * d, 1, classes + i), LIMN_OK);
    limn_predictor_free(p);
}

/* All four ways give the same classes; what they are is in classes. */
static void assert_same(const pair *p, const float *x, size_t n, int32_t *classes,
                        const char *where) {
    size_t d = p->data->schema.features;
    int32_t *other = malloc(n * sizeof *other);
    hull_ask(p->ctx, p->model[0], x, n, classes, NULL);
    for (int way = 1; way < 4; way++) {
        if (way < 2)
            hull_ask(p->ctx, p->model[1], x, n, other, NULL);
        else
            ask_singly(p->ctx, p->model[way - 2], x, n, d, other);
        for (size_t i = 0; i < n; i++)
            if (classes[i] != other[i])
                fail_msg("%s, way %d, query %zu: class %d instead of %d", where, way, i,
                         (int)other[i], (int)classes[i]);
    }
    free(other);
}

/* Both models answer half of these queries with unknown. */
static void reject_half(const pair *p, const float *x, size_t n) {
    size_t k = p->data->schema.labels.count;
    double *far = malloc(n * k * sizeof *far);
    hull_ask(p->ctx, p->model[0], x, n, NULL, far);
    for (size_t i = 0; i < n; i++) {
        double least = INFINITY;
        for (size_t c = 0; c < k; c++)
            least = fmin(least, far[i * k + c]);
        far[i] = least * least;
    }
    qsort(far, n, sizeof *far, slow_descending);
    for (int i = 0; i < 2; i++)
        ((hull_model *)p->model[i]->body)->limit = far[n / 2];
    free(far);
}

/* Moves each query of the first half towards one of the second until the class is about to change:
 * near-ties. */
static void squeeze(const pair *p, float *x, size_t n) {
    size_t d = p->data->schema.features, half = n / 2;
    int32_t *a = malloc(half * sizeof *a), *b = malloc(half * sizeof *b);
    float *middle = malloc(half * d * sizeof *middle);
    hull_ask(p->ctx, p->model[0], x, half, a, NULL);
    for (int step = 0; step < 24; step++) {
        for (size_t i = 0; i < half * d; i++)
            middle[i] = x[i] / 2 + x[half * d + i] / 2;
        hull_ask(p->ctx, p->model[0], middle, half, b, NULL);
        for (size_t i = 0; i < half; i++)
            memcpy(x + (a[i] == b[i] ? i : half + i) * d, middle + i * d, d * sizeof *x);
    }
    free(a);
    free(b);
    free(middle);
}

static void fill(lm_rng *rng, const float *x, size_t n, size_t d, double spread, float *out,
                 size_t count) {
    for (size_t i = 0; i < count; i++) {
        const float *near = x + lm_rng_below(rng, n) * d;
        for (size_t j = 0; j < d; j++)
            out[i * d + j] = (float)((double)near[j] + spread * lm_rng_normal(rng));
    }
}

/* Low-dimensional classes in d features, with a little noise. */
static void draw(lm_rng *rng, size_t n, size_t d, size_t k, float *x, double *y) {
    double *axes = malloc(k * 4 * d * sizeof *axes);
    for (size_t i = 0; i < k * 4 * d; i++)
        axes[i] = lm_rng_normal(rng);
    for (size_t i = 0; i < n; i++) {
        size_t c = i % k;
        double t[4] = {lm_rng_normal(rng), lm_rng_normal(rng), lm_rng_normal(rng), 1};
        y[i] = (double)c;
        for (size_t j = 0; j < d; j++) {
            double v = .3 * lm_rng_normal(rng);
            for (size_t a = 0; a < 4; a++)
                v += t[a] * axes[(c * 4 + a) * d + j];
            x[i * d + j] = (float)v;
        }
    }
    free(axes);
}

static void test_the_head_changes_no_class(void **state) {
    (void)state;
    enum { N = 700, D = 128, K = 20, MOST = 800 };
    const size_t asked = MOST / every(3);
    static const slow_set sets[] = {
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 32, .cut = 1e-6},
        {.kind = HULL_NHD, .rule = HULL_DIM_GIVEN, .dim = 32, .cut = 1e-6, .nu = .1}};
    float *x = malloc(N * D * sizeof *x), *q = malloc(MOST * D * sizeof *q);
    double *y = malloc(N * sizeof *y);
    int32_t classes[MOST];
    lm_rng rng = lm_rng_at(1, 41, 0);
    draw(&rng, N, D, K, x, y);
    for (size_t s = 0; s < LM_COUNT(sets); s += every(2)) {
        pair p = make_pair(&sets[s], x, y, N, D);
        const hull_model *m = p.model[1]->body;
        assert_true(m->flat.axes > 0 && m->options.prune);
        fill(&rng, x, N, D, 1, q, asked);
        assert_same(&p, q, asked, classes, "random");
        squeeze(&p, q, asked);
        assert_same(&p, q, asked, classes, "near-ties");
        fill(&rng, x, N, D, 0, q, asked);
        assert_same(&p, q, asked, classes, "rows");
        for (size_t i = 0; i < asked * D; i++)
            q[i] *= i / D % 2 ? 1e15f : 1e3f;
        assert_same(&p, q, asked, classes, "far");
        fill(&rng, x, N, D, 1, q, asked);
        reject_half(&p, q, asked);
        assert_same(&p, q, asked, classes, "unknown");
        size_t unknown = 0;
        for (size_t i = 0; i < asked; i++)
            unknown += classes[i] == -1;
        assert_in_range(unknown, asked / 2 - 4, asked / 2 + 4);
        pair_free(&p);
    }
    free(x);
    free(q);
    free(y);
}

static void test_pruned_programs_change_no_class(void **state) {
    (void)state;
    enum { K = 4, ASKED = 200 };
    static const struct {
        size_t n, d;
        slow_set set;
    } cases[] = {
        {40, 20, {.kind = HULL_NCH}},
        {100, 6, {.kind = HULL_NCH}},
        {40, 8, {.kind = HULL_NCH, .curved = true, .kernel = {.type = LM_RBF, .gamma = .05}}},
        {60,
         5,
         {.kind = HULL_NCH,
          .curved = true,
          .kernel = {.type = LM_POLYNOMIAL, .gamma = .1, .coef0 = 1, .degree = 3}}},
        {40,
         6,
         {.kind = HULL_NCH,
          .curved = true,
          .kernel = {.type = LM_POLYNOMIAL, .gamma = .1, .coef0 = -2, .degree = 3}}},
        {40, 6, {.kind = HULL_NCH, .curved = true, .kernel = {.type = LM_SIGMOID, .gamma = .05}}},
        {40,
         6,
         {.kind = HULL_NCH,
          .curved = true,
          .kernel = {.type = LM_SIGMOID, .gamma = .3, .coef0 = -1}}},
    };
    for (size_t of = 0; of < LM_COUNT(cases); of++)
        for (uint64_t seed = 1; seed <= 2; seed += every(2)) {
            size_t n = cases[of].n, d = cases[of].d;
            float x[100 * 20], q[ASKED * 20];
            double y[100];
            int32_t classes[ASKED];
            char where[40];
            lm_rng rng = lm_rng_at(seed, 42, of);
            draw(&rng, n, d, K, x, y);
            pair p = make_pair(&cases[of].set, x, y, n, d);
            snprintf(where, sizeof where, "case %zu", of);
            fill(&rng, x, n, d, 1.5, q, ASKED);
            assert_same(&p, q, ASKED, classes, where);
            squeeze(&p, q, ASKED);
            assert_same(&p, q, ASKED, classes, where);
            fill(&rng, x, n, d, 1.5, q, ASKED);
            reject_half(&p, q, ASKED);
            assert_same(&p, q, ASKED, classes, where);
            pair_free(&p);
        }
}

/* Samples that lie up to 1e-6 of the class's size away from the directions that are kept: a
 * bound computed from the kept directions alone would be too high. */
static void test_bounds_know_what_the_cut_left_out(void **state) {
    (void)state;
    enum { D = 6, N = 12, K = 3, ASKED = 200 };
    slow_set s = {.kind = HULL_NCH};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        float x[N * D], q[ASKED * D];
        double y[N];
        int32_t classes[ASKED];
        lm_rng rng = lm_rng_at(seed, 43, 0);
        for (size_t i = 0; i < N; i++) {
            y[i] = (double)(i % K);
            for (size_t j = 1; j < D; j++)
                x[i * D + j] = (float)(.05 * lm_rng_normal(&rng));
            x[i * D] = (i / K % 2 ? -1e5f : 1e5f) / (float)(1 + i / K / 2);
        }
        for (size_t i = 0; i < ASKED; i++) {
            q[i * D] = 0;
            for (size_t j = 1; j < D; j++)
                q[i * D + j] = (float)lm_rng_normal(&rng);
        }
        pair p = make_pair(&s, x, y, N, D);
        assert_same(&p, q, ASKED, classes, "cut");
        pair_free(&p);
    }
}

/* A wide class does not cost narrow ones any precision. */
static void test_noise_is_that_of_the_class(void **state) {
    (void)state;
    static const float x[] = {1e5f, 0, 0,     -1e5f, 0,  .1f, 0, 5,  0,
                              0,    5, 1e-3f, 0,     -5, 0,   0, -5, 1e-3f};
    static const double y[] = {0, 0, 1, 1, 2, 2};
    static const float q[] = {0, 5.1f, 0, 0, -5.05f, 0};
    slow_set s = {.kind = HULL_NCH};
    pair p = make_pair(&s, x, y, 6, 3);
    double far[6];
    int32_t classes[2];
    assert_same(&p, q, 2, classes, "wide");
    hull_ask(p.ctx, p.model[0], q, 2, NULL, far);
    assert_true(classes[0] == 1 && classes[1] == 2);
    if (fabs(far[1] - .1) > 1e-5 || fabs(far[5] - .05) > 1e-5)
        fail_msg("distances %g and %g instead of .1 and .05", far[1], far[5]);
    pair_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_head_changes_no_class),
        cmocka_unit_test(test_pruned_programs_change_no_class),
        cmocka_unit_test(test_bounds_know_what_the_cut_left_out),
        cmocka_unit_test(test_noise_is_that_of_the_class),
    };
    return cmocka_run_group_tests_name("hull_prune", tests, NULL, NULL);
}
