/* test_field.c: fields of machines and of teachers that only answer (fit/field, field_machine,
 * gradient), f and r. References are plain sums in long double, after LIBSVM's rule; gradients are
 * compared with their differences. test_field_rows.c: fields made of rows. */
#include "field_world.h"

/* ---- machines ---- */

enum { CLASSES = 4, EACH = 13, SVS = CLASSES * EACH, PAIRS = CLASSES * (CLASSES - 1) / 2 };

typedef struct drawn {
    lm_svm svm;
    uint64_t count[CLASSES];
    float sv[SVS * D_MAX];
    double coef[(CLASSES - 1) * SVS], rho[PAIRS], a[PAIRS], b[PAIRS];
} drawn;

static const lm_kernel kernels[] = {
    {LM_LINEAR, 0, 0, 0},       {LM_POLYNOMIAL, 3, 0.2, 1}, {LM_POLYNOMIAL, 1, -0.5, 2},
    {LM_POLYNOMIAL, 0, 0.2, 1}, {LM_RBF, 0, 0.3, 0},        {LM_RBF, 0, 8, 0},
    {LM_SIGMOID, 0, 0.1, -0.5},
};

static void draw_machine(drawn *m, lm_kernel kernel, size_t classes, size_t d, double offset,
                         bool calibrated, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 311, d);
    m->svm = (lm_svm){.kernel = kernel, .classes = classes, .d = d, .n = classes * EACH};
    for (size_t c = 0; c < classes; c++)
        m->count[c] = EACH;
    for (size_t i = 0; i < m->svm.n * d; i++)
        m->sv[i] = (float)(offset + lm_rng_normal(&rng));
    for (size_t i = 0; i < (classes - 1) * m->svm.n; i++)
        m->coef[i] = lm_rng_below(&rng, 4) ? lm_rng_normal(&rng) : 0;
    for (size_t i = 0; i < PAIRS; i++) {
        m->rho[i] = lm_rng_normal(&rng);
        m->a[i] = -1 - lm_rng_unit(&rng);
        m->b[i] = lm_rng_normal(&rng);
    }
    m->svm.count = m->count;
    m->svm.sv = m->sv;
    m->svm.coef = m->coef;
    m->svm.rho = m->rho;
    m->svm.prob_a = calibrated ? m->a : NULL;
    m->svm.prob_b = calibrated ? m->b : NULL;
}

typedef struct slow_pair {
    const lm_svm *svm;
    size_t first, second, at;
} slow_pair;

static long double slow_kernel(const lm_svm *svm, const float *s, const long double *x) {
    long double dot = 0, distance = 0, power = 1;
    for (size_t j = 0; j < svm->d; j++) {
        dot += s[j] * x[j];
        distance += (s[j] - x[j]) * (s[j] - x[j]);
    }
    if (svm->kernel.type == LM_LINEAR)
        return dot;
    if (svm->kernel.type == LM_RBF)
        return expl(-svm->kernel.gamma * distance);
    long double inner = svm->kernel.gamma * dot + svm->kernel.coef0;
    for (int i = 0; i < svm->kernel.degree; i++)
        power *= inner;
    return svm->kernel.type == LM_SIGMOID ? tanhl(inner) : power;
}

/* Of the pair (i, j), a vector of class i uses row j - 1 and one of class j row i. */
static long double slow_sum(const slow_pair *p, const long double *x, long double *size) {
    const lm_svm *svm = p->svm;
    long double f = -svm->rho[p->at];
    size_t from = 0;
    *size = fabsl(f);
    for (size_t c = 0; c < svm->classes; from += (size_t)svm->count[c++])
        for (size_t i = from; i < from + svm->count[c]; i++) {
            size_t row = c == p->first ? p->second - 1 : p->first;
            if (c != p->first && c != p->second)
                continue;
            long double term =
                svm->coef[row * svm->n + i] * slow_kernel(svm, svm->sv + i * svm->d, x);
            f += term;
            *size += fabsl(term);
        }
    return f;
}

static long double slow_f(const void *user, const long double *x) {
    long double size;
    return slow_sum(user, x, &size);
}

static void check_pair(limn_context *ctx, const drawn *m, const lm_machine *machine, slow_pair p,
                       double offset) {
    enum { POINTS = 7 };
    size_t d = m->svm.d;
    lm_field field;
    lm_rng rng = lm_rng_at(p.at, 312, d);
    assert_int_equal(lm_field_machine(ctx, machine, p.at, &field), LIMN_OK);
    assert_true(field.smooth && !field.is_r && field.d == d);
    assert_true(field.sigmoid.a == (m->svm.prob_a ? m->a[p.at] : 0));
    assert_true(field.sigmoid.b == (m->svm.prob_b ? m->b[p.at] : 0));
    for (size_t q = 0; q < POINTS; q++) {
        float x[D_MAX];
        double gradient[D_MAX];
        long double at[D_MAX], expected[D_MAX], size;
        for (size_t j = 0; j < d; j++)
            x[j] = q == 0 ? m->sv[j] : (float)(offset + lm_rng_normal(&rng));
        widen(x, d, at);
        double f = value_at(ctx, &field, x, gradient);
        long double want = slow_sum(&p, at, &size);
        if (!(fabsl(f - want) <= 1e-10L * size))
            fail_msg("%s, d %zu, pair %zu: %.15g instead of %.15Lg",
                     lm_kernel_name(m->svm.kernel.type), d, p.at, f, want);
        slow_gradient(slow_f, &p, at, d, 1e-5L, expected);
        assert_vector(gradient, expected, d, 1e-7L, 1e-7L * size,
                      lm_kernel_name(m->svm.kernel.type));
        double alone = value_at(ctx, &field, x, NULL);
        assert_true(alone == f);
    }
    lm_field_free(&ctx->mem, &field);
}

static void check_machine(limn_context *ctx, size_t classes, size_t d, double offset,
                          size_t kernel) {
    static drawn m;
    lm_machine machine;
    size_t at = 0;
    draw_machine(&m, kernels[kernel], classes, d, offset, kernel % 2, d);
    assert_int_equal(lm_machine_build(ctx, &m.svm, &machine), LIMN_OK);
    for (size_t i = 0; i < classes; i++)
        for (size_t j = i + 1; j < classes; j++, at++)
            check_pair(ctx, &m, &machine, (slow_pair){&m.svm, i, j, at}, offset);
    lm_machine_free(&ctx->mem, &machine);
}

static void test_machines_and_their_gradients_equal_plain_sums(void **state) {
    (void)state;
    static const size_t dims[] = {1, 2, 5, 16};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t kernel = 0; kernel < LM_COUNT(kernels); kernel++)
        for (size_t of = 0; of < LM_COUNT(dims); of++)
            for (size_t classes = 2; classes <= CLASSES; classes += 2) {
                check_machine(ctx, classes, dims[of], 0, kernel);
                if (kernels[kernel].type == LM_RBF || kernels[kernel].type == LM_LINEAR)
                    check_machine(ctx, classes, dims[of], 1e4, kernel);
            }
    limn_context_free(ctx);
}

/* A function without vectors is -rho everywhere. */
static void test_a_machine_without_vectors_is_flat(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t kernel = 0; kernel < LM_COUNT(kernels); kernel++) {
        static drawn m;
        lm_machine machine;
        lm_field field;
        const float x[3] = {1, 2, 3};
        double gradient[3];
        draw_machine(&m, kernels[kernel], 2, 3, 0, true, 1);
        memset(m.coef, 0, sizeof m.coef);
        assert_int_equal(lm_machine_build(ctx, &m.svm, &machine), LIMN_OK);
        assert_int_equal(lm_field_machine(ctx, &machine, 0, &field), LIMN_OK);
        assert_true(value_at(ctx, &field, x, gradient) == -m.rho[0]);
        for (size_t j = 0; j < 3; j++)
            assert_true(gradient[j] == 0);
        lm_field_free(&ctx->mem, &field);
        lm_machine_free(&ctx->mem, &machine);
    }
    limn_context_free(ctx);
}

/* ---- f and r ---- */

static void test_r_is_the_difference_of_the_two_probabilities(void **state) {
    (void)state;
    static const double as[] = {-1, -0.01, -30, -2.5}, bs[] = {0, 1, -3};
    for (size_t i = 0; i < LM_COUNT(as) * LM_COUNT(bs); i++) {
        lm_field field = {.sigmoid = {as[i % 4], bs[i / 4]}};
        for (double f = -8; f <= 8; f += 0.37) {
            long double z = as[i % 4] * (long double)f + bs[i / 4], step = 1e-5L;
            long double p = 1 / (1 + expl(z)), up = 1 / (1 + expl(z + as[i % 4] * step));
            long double down = 1 / (1 + expl(z - as[i % 4] * step));
            double slope, r = lm_field_r(&field, f, &slope);
            assert_true(fabsl(r - (2 * p - 1)) <= 1e-14L);
            /* p(1) - p(-1) = 2 p - 1; 1 - r^2 cancels where r is near 1 */
            assert_true(fabsl(slope - (up - down) / step) <=
                        1e-6L * fabsl(slope) + 1e-14L * fabs(as[i % 4]));
            if (fabs(r) < 0.999)
                assert_true(fabs(lm_field_level(&field, r) - f) <= 1e-9 * (1 + fabs(f)));
        }
    }
    lm_field same = {.is_r = true, .sigmoid = {-5, 2}};
    for (double f = -1; f <= 1; f += 0.125) {
        double slope, r = lm_field_r(&same, f, &slope);
        assert_true(r == f && slope == 1 && lm_field_level(&same, f) == f);
    }
}

/* ---- teachers ---- */

enum { D = 3, K = 3 };
static const double spread[D] = {1, 100, 0.01};

typedef enum form { WAVES, STEP, FLAT, PLANE } form;

typedef struct toy {
    lm_teacher teacher;
    form of;
    size_t calls, rows, fail_at;
} toy;

/* Numbers of the classes; the features in units of their spread. */
static long double score_of(form of, size_t class, const long double *x) {
    long double a = x[0] / spread[0], b = x[1] / spread[1], c = x[2] / spread[2];
    if (of == FLAT)
        return (long double)class;
    if (of == PLANE)
        return (long double)class * (a - 2 * b + 0.5L * c);
    if (of == STEP)
        return (long double)class * (a - 2 * b + 0.5L * c > 0.25L ? 1 : -1);
    return sinl(a + (long double)class * b) + 0.3L * c * c + c * (long double)class;
}

static void answer_of(const toy *t, const long double *x, long double *out) {
    long double sum = 0;
    size_t at = 0;
    for (size_t i = 0; i < K; i++)
        sum += expl(score_of(t->of, i, x));
    for (size_t i = 0; i < K && t->teacher.kind == LM_TEACHES_PAIRS; i++)
        for (size_t j = i + 1; j < K; j++)
            out[at++] = score_of(t->of, i, x) - score_of(t->of, j, x);
    for (size_t i = 0; i < K && t->teacher.kind != LM_TEACHES_PAIRS; i++)
        out[i] = t->teacher.kind == LM_TEACHES_PROBA ? expl(score_of(t->of, i, x)) / sum
                                                     : expl(-score_of(t->of, i, x));
}

static limn_status toy_answer(const lm_teacher *teacher, limn_context *ctx, const float *x,
                              size_t n, double *out) {
    toy *t = teacher->user;
    t->calls++;
    t->rows += n;
    if (t->calls == t->fail_at)
        return lm_fail(ctx, LIMN_E_DATA, "the teacher is asleep");
    for (size_t i = 0; i < n; i++) {
        long double at[D], answer[K];
        widen(x + i * D, D, at);
        answer_of(t, at, answer);
        for (size_t c = 0; c < K; c++)
            out[i * K + c] = (double)answer[c];
    }
    return LIMN_OK;
}

static void toy_make(toy *t, int kind, form of) {
    *t = (toy){.teacher = {.task = LIMN_CLASSIFY,
                           .d = D,
                           .classes = K,
                           .width = K, /* three classes, three pairs */
                           .answer = toy_answer,
                           .user = t},
               .of = of};
    t->teacher.kind = kind == LM_TEACHES_PAIRS   ? LM_TEACHES_PAIRS
                      : kind == LM_TEACHES_PROBA ? LM_TEACHES_PROBA
                                                 : LM_TEACHES_DISTANCE;
}

typedef struct slow_answer {
    const toy *t;
    size_t first, second;
} slow_answer;

/* The decision value of the pair, or r from the odds of the two classes. */
static long double slow_toy(const void *user, const long double *x) {
    const slow_answer *s = user;
    long double a = score_of(s->t->of, s->first, x), b = score_of(s->t->of, s->second, x);
    return s->t->teacher.kind == LM_TEACHES_PAIRS ? a - b : tanhl((a - b) / 2);
}

static void draw_point(lm_rng *rng, float *x) {
    for (size_t j = 0; j < D; j++)
        x[j] = (float)(spread[j] * lm_rng_normal(rng));
}

static void check_teacher(limn_context *ctx, toy *t, size_t first, size_t second) {
    enum { POINTS = 30 };
    slow_answer slow = {t, first, second};
    lm_field field;
    lm_rng rng = lm_rng_at(1, 313, first);
    assert_int_equal(lm_field_teacher(ctx, &t->teacher, first, second, spread, &field), LIMN_OK);
    assert_true(!field.smooth && field.is_r == (t->teacher.kind != LM_TEACHES_PAIRS));
    for (size_t q = 0; q < POINTS; q++) {
        float x[D];
        double gradient[D];
        long double at[D], scaled[D], unscaled[D], expected[D];
        draw_point(&rng, x);
        widen(x, D, at);
        double f = value_at(ctx, &field, x, gradient);
        assert_true(fabsl(f - slow_toy(&slow, at)) <= 1e-13L);
        for (size_t j = 0; j < D; j++) {
            memcpy(unscaled, at, sizeof at);
            unscaled[j] += 1e-6L * spread[j];
            scaled[j] = slow_toy(&slow, unscaled);
            unscaled[j] -= 2e-6L * spread[j];
            expected[j] = (scaled[j] - slow_toy(&slow, unscaled)) / 2e-6L;
            gradient[j] *= spread[j];
        }
        assert_vector(gradient, expected, D, 1e-3L, 1e-6L, "teacher");
    }
    lm_field_free(&ctx->mem, &field);
}

static void test_the_gradient_of_a_smooth_teacher_equals_differences(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int kind = LM_TEACHES_PAIRS; kind <= LM_TEACHES_DISTANCE; kind++)
        for (size_t first = 0; first < K; first++)
            for (size_t second = first + 1; second < K; second++) {
                toy t;
                toy_make(&t, kind, WAVES);
                check_teacher(ctx, &t, first, second);
                toy_make(&t, kind, PLANE);
                check_teacher(ctx, &t, first, second);
            }
    limn_context_free(ctx);
}

/* At points on the step and a little beside it. */
static void test_the_gradient_at_a_step_is_its_normal(void **state) {
    (void)state;
    static const double normal[D] = {1, -2, 0.5};
    limn_context *ctx = make_context(NULL, 1, 1);
    lm_rng rng = lm_rng_at(1, 314, 0);
    for (int kind = LM_TEACHES_PAIRS; kind <= LM_TEACHES_DISTANCE; kind++)
        for (int q = 0; q < 30; q++) {
            double at[D], side = -0.25, gradient[D];
            float x[D];
            toy t;
            lm_field field;
            toy_make(&t, kind, STEP);
            assert_int_equal(lm_field_teacher(ctx, &t.teacher, 0, 1, spread, &field), LIMN_OK);
            for (size_t j = 0; j < D; j++)
                side += (at[j] = lm_rng_normal(&rng)) * normal[j];
            double by = q % 3 == 0 ? 0 : q % 3 == 1 ? 0.1 : 1.5; /* from the step */
            for (size_t j = 0; j < D; j++)
                x[j] = (float)(spread[j] * (at[j] + (by - side) * normal[j] / 5.25));
            value_at(ctx, &field, x, gradient);
            for (size_t j = 0; j < D; j++)
                gradient[j] *= -spread[j]; /* the first class is the one of the lower side */
            double angle = angle_of(gradient, normal, D);
            if (!(angle < (by < 1 ? 20 : 60))) /* few of the ball's points cross a far step */
                fail_msg("kind %d, %g from the step: %g degrees off", kind, by, angle);
            lm_field_free(&ctx->mem, &field);
        }
    limn_context_free(ctx);
}

static void test_a_constant_teacher_has_no_gradient(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int kind = LM_TEACHES_PAIRS; kind <= LM_TEACHES_DISTANCE; kind++) {
        toy t;
        lm_field field;
        const float x[D] = {1, -2, 3e-3f};
        double gradient[D];
        toy_make(&t, kind, FLAT);
        assert_int_equal(lm_field_teacher(ctx, &t.teacher, 0, 2, spread, &field), LIMN_OK);
        assert_true(value_at(ctx, &field, x, gradient) < -0.5);
        for (size_t j = 0; j < D; j++)
            assert_true(gradient[j] == 0);
        lm_field_free(&ctx->mem, &field);
    }
    limn_context_free(ctx);
}

/* A feature that does not vary has spread 0. */
static void test_a_feature_without_spread_has_no_gradient(void **state) {
    (void)state;
    static const double some[D] = {1, 0, 0.01};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int of = WAVES; of <= PLANE; of++) {
        toy t;
        lm_field field;
        const float x[D] = {0.25f, 0, 0};
        double gradient[D];
        toy_make(&t, LM_TEACHES_PROBA, (form)of);
        assert_int_equal(lm_field_teacher(ctx, &t.teacher, 0, 2, some, &field), LIMN_OK);
        value_at(ctx, &field, x, gradient);
        assert_true(gradient[1] == 0 && isfinite(gradient[0]) && isfinite(gradient[2]));
        assert_true((gradient[2] != 0) == (of != FLAT));
        lm_field_free(&ctx->mem, &field);
    }
    limn_context_free(ctx);
}

/* Whichever question it fails at. */
static void test_a_failing_teacher_is_passed_on(void **state) {
    (void)state;
    for (int of = WAVES; of <= STEP; of++) {
        limn_status status = LIMN_E_DATA;
        for (size_t at = 1; status != LIMN_OK; at++) {
            counting count = {0};
            limn_context *ctx = make_context(&count, 1, 1);
            toy t;
            lm_field field;
            const float x[D] = {0.25f, 0, 0};
            double f, gradient[D];
            toy_make(&t, LM_TEACHES_PROBA, (form)of);
            t.fail_at = at;
            assert_int_equal(lm_field_teacher(ctx, &t.teacher, 0, 2, spread, &field), LIMN_OK);
            status = lm_field_values(ctx, &field, x, 1, &f, gradient);
            if (status != LIMN_OK) {
                assert_int_equal(status, LIMN_E_DATA);
                assert_string_equal(limn_error(ctx), "the teacher is asleep");
                assert_int_equal(t.calls, at);
            } else {
                assert_int_equal(t.calls, at - 1);
                assert_true(at == (of == WAVES ? 4 : 5)); /* f, axes, closer; and a ball */
            }
            lm_field_free(&ctx->mem, &field);
            limn_context_free(ctx);
            assert_int_equal(count.live, 0);
        }
    }
}

static void test_impossible_classes_give_no_decision(void **state) {
    (void)state;
    lm_teacher teacher = {.classes = 3, .kind = LM_TEACHES_PROBA};
    const double none[3] = {0, 0, 1}, one[3] = {0, 0.5, 0.5}, both[3] = {0.1, 0.3, 0.6};
    assert_true(lm_field_of_answer(&teacher, 0, 1, none) == 0);
    assert_true(lm_field_of_answer(&teacher, 0, 1, one) == -1);
    assert_true(fabs(lm_field_of_answer(&teacher, 0, 1, both) + 0.5) < 1e-15);
    teacher.kind = LM_TEACHES_DISTANCE;
    assert_true(lm_field_of_answer(&teacher, 0, 1, none) == 0);
    assert_true(lm_field_of_answer(&teacher, 0, 1, one) == 1);
    assert_true(fabs(lm_field_of_answer(&teacher, 0, 1, both) - 0.5) < 1e-15);
    teacher.kind = LM_TEACHES_PAIRS;
    assert_true(lm_field_of_answer(&teacher, 0, 2, both) == 0.3);
    assert_true(lm_field_of_answer(&teacher, 1, 2, both) == 0.6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines_and_their_gradients_equal_plain_sums),
        cmocka_unit_test(test_a_machine_without_vectors_is_flat),
        cmocka_unit_test(test_r_is_the_difference_of_the_two_probabilities),
        cmocka_unit_test(test_the_gradient_of_a_smooth_teacher_equals_differences),
        cmocka_unit_test(test_the_gradient_at_a_step_is_its_normal),
        cmocka_unit_test(test_a_constant_teacher_has_no_gradient),
        cmocka_unit_test(test_a_feature_without_spread_has_no_gradient),
        cmocka_unit_test(test_a_failing_teacher_is_passed_on),
        cmocka_unit_test(test_impossible_classes_give_no_decision),
    };
    return cmocka_run_group_tests_name("field", tests, NULL, NULL);
}
