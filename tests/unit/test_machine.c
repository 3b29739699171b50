/* test_machine.c: powers of two and packed machines, against plain loops in double, on every
 * instruction set (test_kernel_sums.c: the sums). */
#include "num/kernel_sums.h"
#include "support.h"
#include "svm/machine.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CLASSES_MAX = 13, QUERIES = 256 };
#define BOUND 1e-5        /* of sum |coef| K + |rho| */
#define SMALLEST 0x1p-125 /* smaller powers count as 0 */

/* Runs what follows once for each instruction set, and leaves the best one selected. */
typedef void on_isa(void);

static void each_isa(on_isa *run) {
    const char *best = lm_isa_at(0), *name;
    for (size_t i = 0; (name = lm_isa_at(i)); i += every(2)) {
        assert_true(lm_isa_use(name));
        run();
    }
    lm_isa_use(best);
}

/* ---- lm_exp2_biased ---- */

static void check_powers(float first, float step, size_t count) {
    enum { BLOCK = 16 * LM_PANEL };
    float values[BLOCK], bias[BLOCK] = {0};
    for (size_t done = 0; done < count; done += BLOCK) {
        float t[BLOCK];
        for (size_t i = 0; i < BLOCK; i++)
            values[i] = t[i] = fmaf((float)(done + i), step, first);
        lm_exp2_biased(values, bias, BLOCK, 0);
        for (size_t i = 0; i < BLOCK; i++) {
            double want = exp2((double)t[i]);
            if (!(fabs((double)values[i] - want) <= LM_EXP2_ERROR * want))
                fail_msg("%s: 2^%.9g is %.9g, not %.17g", lm_isa_name(), (double)t[i],
                         (double)values[i], want);
        }
    }
}

static void check_dense_powers(void) {
    check_powers(-125, 0x1p-11f, (125 + 126) << 11);
    check_powers(-1.5f, 0x1p-18f, 3 << 18); /* every rounding to the next whole number */
    check_powers(-0x1p-10f, 0x1p-28f, 1 << 19);
}

static void test_powers_of_two_are_inside_their_bound(void **state) {
    (void)state;
    each_isa(check_dense_powers);
}

static void check_whole_powers(void) {
    float values[LM_PANEL], bias[LM_PANEL];
    for (int n = -125; n <= 126; n++) {
        for (int i = 0; i < LM_PANEL; i++) {
            values[i] = (float)(n - 3 * i) + 0.5f;
            bias[i] = (float)(i + 7) + 0.25f;
        }
        /* value + bias + start = n, each sum of them exact */
        for (int i = 0; i < LM_PANEL; i++)
            bias[i] += (float)(2 * i);
        lm_exp2_biased(values, bias, LM_PANEL, -7.75f);
        for (int i = 0; i < LM_PANEL; i++)
            if (values[i] != ldexpf(1, n))
                fail_msg("%s: 2^%d is %a", lm_isa_name(), n, (double)values[i]);
    }
}

static void test_whole_powers_are_exact_and_the_three_parts_are_added(void **state) {
    (void)state;
    each_isa(check_whole_powers);
}

static void check_underflow(void) {
    static const float low[] = {-125.0001f, -126,   -149,     -150,     -1000,
                                -1e10f,     -1e30f, -FLT_MAX, -INFINITY};
    for (size_t i = 0; i < LM_COUNT(low); i++) {
        float values[2 * LM_PANEL] = {0}, bias[2 * LM_PANEL] = {0};
        values[3] = low[i];
        bias[17] = low[i];
        lm_exp2_biased(values, bias, 2 * LM_PANEL, 0);
        for (int j = 0; j < 2 * LM_PANEL; j++)
            assert_true(values[j] == (j == 3 || j == 17 ? 0.f : 1.f));
        lm_exp2_biased(values, bias, LM_PANEL, low[i] - 1);
        for (int j = 0; j < LM_PANEL; j++)
            assert_true(values[j] == 0);
    }
}

static void test_small_powers_are_zero(void **state) {
    (void)state;
    each_isa(check_underflow);
}

/* ---- random machines, and f by plain loops ---- */

typedef struct plan {
    lm_svm_type type;
    lm_kernel kernel;
    size_t classes, d;
    uint64_t count[CLASSES_MAX]; /* of the first only, unless SVC */
    double offset, spread;       /* of all values; spread 0: 1 */
    double zeros;                /* share of coefficients that are 0 */
    bool beyond;
} plan;

typedef struct drawn {
    lm_svm svm;
    float *sv;
    double *coef, *rho;
    float *x, *beyond; /* QUERIES of them */
} drawn;

static double spread_of(const plan *p) {
    return p->spread > 0 ? p->spread : 1;
}

static void draw_queries(const plan *p, lm_rng *rng, drawn *m) {
    size_t d = p->d;
    for (size_t q = 0; q < QUERIES; q++) {
        /* a vector, one near it, anything, and anything further away */
        double near = q % 4 == 0 ? 0 : q % 4 == 1 ? 0.3 : q % 4 == 2 ? 1 : 1.5;
        size_t i = m->svm.n ? (size_t)lm_rng_below(rng, m->svm.n) : 0;
        for (size_t j = 0; j < d; j++) {
            double from = m->svm.n && q % 4 < 2 ? (double)m->sv[i * d + j] : p->offset;
            double scale = q % 4 < 2 ? near : near * spread_of(p);
            m->x[q * d + j] = (float)(from + scale * lm_rng_normal(rng));
        }
        m->beyond[q] = q % 3 ? (float)(lm_rng_unit(rng) * (double)d) : 0;
    }
}

static drawn draw(const plan *p, uint64_t seed) {
    bool svc = lm_svm_is_svc(p->type);
    lm_rng rng = lm_rng_at(seed, 2, p->d);
    drawn m = {.svm = {.type = p->type,
                       .kernel = p->kernel,
                       .classes = p->classes,
                       .d = p->d,
                       .count = svc ? p->count : NULL}};
    for (size_t c = 0; c < (svc ? p->classes : 1); c++)
        m.svm.n += (size_t)p->count[c];
    size_t coefs = (p->classes - 1) * m.svm.n, functions = lm_svm_functions(&m.svm);
    m.sv = malloc(m.svm.n * p->d * sizeof *m.sv + 1);
    m.coef = malloc(coefs * sizeof *m.coef + 1);
    m.rho = malloc(functions * sizeof *m.rho + 1);
    m.x = malloc(QUERIES * p->d * sizeof *m.x);
    m.beyond = malloc(QUERIES * sizeof *m.beyond);
    for (size_t i = 0; i < m.svm.n * p->d; i++)
        m.sv[i] = (float)(p->offset + spread_of(p) * lm_rng_normal(&rng));
    for (size_t i = 0; i < coefs; i++)
        m.coef[i] = lm_rng_unit(&rng) < p->zeros ? 0 : lm_rng_normal(&rng);
    for (size_t i = 0; i < functions; i++)
        m.rho[i] = lm_rng_normal(&rng);
    m.svm.sv = m.sv;
    m.svm.coef = m.coef;
    m.svm.rho = m.rho;
    draw_queries(p, &rng, &m);
    return m;
}

static void drawn_free(drawn *m) {
    free(m->sv);
    free(m->coef);
    free(m->rho);
    free(m->x);
    free(m->beyond);
}

static double slow_kernel(const lm_svm *svm, const float *s, const float *x, double beyond) {
    double dot = 0, distance = beyond;
    for (size_t j = 0; j < svm->d; j++) {
        dot += (double)s[j] * (double)x[j];
        distance += ((double)s[j] - (double)x[j]) * ((double)s[j] - (double)x[j]);
    }
    if (svm->kernel.type == LM_LINEAR)
        return dot;
    if (svm->kernel.type == LM_RBF)
        return exp(-svm->kernel.gamma * distance);
    double inner = svm->kernel.gamma * dot + svm->kernel.coef0;
    return svm->kernel.type == LM_SIGMOID ? tanh(inner) : pow(inner, svm->kernel.degree);
}

/* f, and the magnitude that its error is relative to. */
typedef struct slow_value {
    double f, size, underflow;
} slow_value;

static void slow_add(const lm_svm *svm, const double *kernel, size_t row, size_t from, size_t count,
                     slow_value *v) {
    for (size_t i = from; i < from + count; i++) {
        double a = svm->coef[row * svm->n + i];
        v->f += a * kernel[i];
        v->size += fabs(a * kernel[i]);
        v->underflow += fabs(a) * SMALLEST;
    }
}

/* All functions of one query. */
static void slow_values(const lm_svm *svm, const float *x, double beyond, slow_value *out) {
    size_t n = svm->n, at = 0, start_i = 0;
    double *kernel = malloc(n * sizeof *kernel + 1);
    for (size_t i = 0; i < n; i++)
        kernel[i] = slow_kernel(svm, svm->sv + i * svm->d, x, beyond);
    for (size_t i = 0; svm->count && i < svm->classes; start_i += (size_t)svm->count[i++]) {
        size_t start_j = start_i + (size_t)svm->count[i];
        for (size_t j = i + 1; j < svm->classes; start_j += (size_t)svm->count[j++]) {
            out[at] = (slow_value){-svm->rho[at], fabs(svm->rho[at]), 0};
            slow_add(svm, kernel, j - 1, start_i, (size_t)svm->count[i], &out[at]);
            slow_add(svm, kernel, i, start_j, (size_t)svm->count[j], &out[at++]);
        }
    }
    if (!svm->count) {
        *out = (slow_value){-svm->rho[0], fabs(svm->rho[0]), 0};
        slow_add(svm, kernel, 0, 0, n, out);
    }
    free(kernel);
}

/* ---- one machine against them ---- */

typedef struct subject {
    const plan *p;
    drawn m;
    lm_machine machine;
    size_t functions;
    void *scratch;
    double *f; /* QUERIES x functions, asked one at a time */
} subject;

static void ask(const subject *s, size_t first, size_t n, double *f) {
    size_t d = s->p->d, stride = d + s->p->beyond;
    float *x = malloc((n * stride + 1) * sizeof *x);
    for (size_t q = 0; q < n; q++) {
        memcpy(x + q * stride, s->m.x + (first + q) * d, d * sizeof *x);
        if (s->p->beyond)
            x[q * stride + d] = s->m.beyond[first + q];
    }
    lm_machine_values(&s->machine, x, stride, n, f, s->scratch);
    free(x);
}

/* With scratch of exactly its size, filled with values that must not matter. */
static void take_scratch(limn_context *ctx, subject *s, size_t n) {
    size_t bytes;
    lm_free_aligned(&ctx->mem, s->scratch);
    assert_true(lm_machine_scratch(&s->machine, n, &bytes));
    s->scratch = lm_alloc_aligned(&ctx->mem, bytes, 1);
    memset(s->scratch, 0xff, bytes);
}

static void check_bits(limn_context *ctx, subject *s) {
    static const size_t steps[] = {2, 24, 25, 31, 33, QUERIES};
    size_t bytes = QUERIES * s->functions * sizeof(double);
    double *f = malloc(bytes + 1);
    for (size_t i = 0; i < LM_COUNT(steps); i++) {
        take_scratch(ctx, s, steps[i]);
        for (size_t q = 0; q < QUERIES; q += steps[i])
            ask(s, q, QUERIES - q < steps[i] ? QUERIES - q : steps[i], f + q * s->functions);
        for (size_t q = 0; q < QUERIES; q++)
            if (memcmp(f + q * s->functions, s->f + q * s->functions, s->functions * sizeof *f) !=
                0)
                fail_msg("%s: query %zu has other bits among %zu", lm_isa_name(), q, steps[i]);
    }
    free(f);
}

static void check_values(const subject *s) {
    const plan *p = s->p;
    slow_value *want = malloc((s->functions + 1) * sizeof *want);
    for (size_t q = 0; q < QUERIES; q++) {
        float beyond = p->beyond ? s->m.beyond[q] : 0;
        const float *x = s->m.x + q * p->d;
        slow_values(&s->m.svm, x, (double)beyond, want);
        for (size_t i = 0; i < s->functions; i++) {
            double got = s->f[q * s->functions + i], error = fabs(got - want[i].f);
            if (!(error <= BOUND * want[i].size + want[i].underflow))
                fail_msg("%s: %s %s gamma %g d %zu k %zu n %zu: f %zu of query %zu is %.9g, not "
                         "%.9g: error %.3g of the size",
                         lm_isa_name(), lm_svm_type_name(p->type), lm_kernel_name(p->kernel.type),
                         p->kernel.gamma, p->d, p->classes, s->m.svm.n, i, q, got, want[i].f,
                         error / want[i].size);
            double alone = q % 8 ? want[i].f : lm_machine_value(&s->machine, i, x, beyond);
            if (!(fabs(alone - want[i].f) <= 1e-7 * want[i].size))
                fail_msg("f %zu of query %zu alone is %.9g, not %.9g", i, q, alone, want[i].f);
        }
    }
    free(want);
}

/* A single function reads only its non-zero coefficients. */
static void check_lists(const subject *s) {
    const lm_svm *svm = &s->m.svm;
    size_t others = 0, from = 0;
    for (size_t i = 0; i < (svm->classes - 1) * svm->n; i++)
        others += svm->coef[i] != 0;
    assert_int_equal(s->machine.pair_start[0], 0);
    assert_int_equal(s->machine.pair_start[s->functions], others);
    for (size_t i = 0; i < others; i++) {
        assert_true(s->machine.pair_coef[i] != 0);
        assert_true(s->machine.pair_vector[i] < svm->n);
    }
    for (size_t i = 0; i < s->functions; i++) {
        assert_true(s->machine.pair_start[i] >= from);
        from = s->machine.pair_start[i];
    }
    if (svm->kernel.type == LM_LINEAR)
        assert_int_equal(s->machine.pack.n, s->functions);
}

/* Returns whether distances were summed directly. */
static bool check_plan(const plan *p, uint64_t seed) {
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    subject s = {.p = p, .m = draw(p, seed)};
    s.functions = lm_svm_functions(&s.m.svm);
    assert_int_equal(lm_machine_build(ctx, &s.m.svm, &s.machine), LIMN_OK);
    s.f = malloc(QUERIES * s.functions * sizeof *s.f + 1);
    take_scratch(ctx, &s, 1);
    for (size_t q = 0; q < QUERIES; q++)
        ask(&s, q, 1, s.f + q * s.functions);
    check_values(&s);
    check_bits(ctx, &s);
    check_lists(&s);
    bool direct = s.machine.direct;
    lm_free_aligned(&ctx->mem, s.scratch);
    lm_machine_free(&ctx->mem, &s.machine);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    free(s.f);
    drawn_free(&s.m);
    return direct;
}

/* ---- which machines ---- */

static lm_kernel kernel_of(lm_kernel_type type, size_t d) {
    double unit = 1 / (double)d;
    return (lm_kernel){.type = type,
                       .degree = 3,
                       .gamma = type == LM_RBF ? unit : unit / 2,
                       .coef0 = type == LM_POLYNOMIAL ? 1
                                : type == LM_SIGMOID  ? -0.3
                                                      : 0};
}

static void check_types(void) {
    for (int type = LM_C_SVC; type <= LM_NU_SVR; type++)
        for (int kernel = LM_LINEAR; kernel <= LM_SIGMOID; kernel++) {
            plan p = {.type = (lm_svm_type)type,
                      .kernel = kernel_of((lm_kernel_type)kernel, 5),
                      .classes = lm_svm_is_svc((lm_svm_type)type) ? 3 : 2,
                      .d = 5,
                      .count = {37, 16, 20},
                      .zeros = 0.3};
            check_plan(&p, (uint64_t)(type * 10 + kernel));
        }
}

static void test_every_type_and_kernel_equals_plain_loops(void **state) {
    (void)state;
    each_isa(check_types);
}

static void check_classes(void) {
    for (size_t k = 2; k < CLASSES_MAX; k++)
        for (int kernel = LM_LINEAR; kernel <= LM_SIGMOID; kernel++) {
            plan p = {.type = LM_C_SVC,
                      .kernel = kernel_of((lm_kernel_type)kernel, 4),
                      .classes = k,
                      .d = 4,
                      .zeros = 0.5};
            for (size_t c = 0; c < k; c++)
                p.count[c] = (c * 7 + k) % 5 * 9; /* 0, 9, ..., 36 */
            check_plan(&p, k);
        }
}

static void test_two_to_twelve_classes_some_without_vectors(void **state) {
    (void)state;
    each_isa(check_classes);
}

static void check_widths(void) {
    static const size_t widths[] = {1, 5, 47, 48, 300};
    for (size_t i = 0; i < LM_COUNT(widths); i++)
        for (int kernel = LM_LINEAR; kernel <= LM_SIGMOID; kernel++) {
            plan p = {.type = LM_NU_SVC,
                      .kernel = kernel_of((lm_kernel_type)kernel, widths[i]),
                      .classes = 4,
                      .d = widths[i],
                      .count = {33, 40, 1, 16}};
            check_plan(&p, i);
        }
}

static void test_one_to_three_hundred_features(void **state) {
    (void)state;
    each_isa(check_widths);
}

static void check_sizes(void) {
    static const uint64_t sizes[] = {0,   1,   15,  16,  17,   31,   32,   33,
                                     383, 384, 385, 800, 1023, 1024, 1025, 2049};
    for (size_t i = 0; i < LM_COUNT(sizes); i++) {
        plan p = {.type = LM_C_SVC,
                  .kernel = kernel_of(LM_RBF, 3),
                  .classes = 3,
                  .d = 3,
                  .count = {sizes[i], sizes[(i + 5) % LM_COUNT(sizes)], sizes[i] / 2},
                  .zeros = 0.2};
        check_plan(&p, i);
        p.type = LM_EPSILON_SVR;
        p.classes = 2;
        check_plan(&p, i);
    }
}

static void test_classes_of_any_size_also_those_cut_in_segments(void **state) {
    (void)state;
    each_isa(check_sizes);
}

static void check_gammas(void) {
    static const double gammas[] = {0, 1e-6, 1e-3, 0.1, 1, 10, 1000};
    static const double offsets[] = {0, 100, -1e4};
    size_t direct = 0;
    for (size_t i = 0; i < LM_COUNT(gammas); i++)
        for (size_t o = 0; o < LM_COUNT(offsets); o++)
            for (size_t d = 2; d <= 20; d += 18) {
                plan p = {.type = LM_C_SVC,
                          .kernel = {.type = LM_RBF, .gamma = gammas[i]},
                          .classes = 3,
                          .d = d,
                          .count = {50, 33, 8},
                          .offset = offsets[o]};
                direct += check_plan(&p, i);
                p.beyond = true;
                check_plan(&p, i);
            }
    assert_in_range(direct, 1, LM_COUNT(gammas) * LM_COUNT(offsets) * 2 - 1); /* both ways */
}

static void test_small_and_large_gamma_offsets_and_unknown_features(void **state) {
    (void)state;
    each_isa(check_gammas);
}

/* Where gamma |s|^2 is large, the error must be relative to the distance, not to |s|. */
static void check_far_vectors(void) {
    static const double spreads[] = {10, 1000, 1e5};
    for (size_t i = 0; i < LM_COUNT(spreads); i++)
        for (size_t d = 2; d <= 20; d += 18) {
            plan p = {.type = LM_C_SVC,
                      .kernel = {.type = LM_RBF, .gamma = 2},
                      .classes = 3,
                      .d = d,
                      .count = {50, 33, 8},
                      .spread = spreads[i]};
            assert_true(check_plan(&p, i));
        }
}

static void test_vectors_far_from_each_other_compared_with_the_kernel(void **state) {
    (void)state;
    each_isa(check_far_vectors);
}

static void check_dots_beyond(void) {
    static const lm_kernel_type types[] = {LM_LINEAR, LM_POLYNOMIAL, LM_SIGMOID};
    for (size_t i = 0; i < LM_COUNT(types); i++) {
        plan p = {.type = LM_C_SVC,
                  .kernel = kernel_of(types[i], 6),
                  .classes = 3,
                  .d = 6,
                  .count = {20, 5, 17},
                  .beyond = true};
        check_plan(&p, i); /* the plain loops count them in distances only */
    }
}

static void test_unknown_features_are_nothing_to_dot_products(void **state) {
    (void)state;
    each_isa(check_dots_beyond);
}

static void check_degrees(void) {
    for (int degree = 1; degree <= 7; degree++) {
        plan p = {.type = LM_C_SVC,
                  .kernel = {.type = LM_POLYNOMIAL, .degree = degree, .gamma = 0.2, .coef0 = 0.5},
                  .classes = 2,
                  .d = 5,
                  .count = {40, 30}};
        check_plan(&p, (uint64_t)degree);
    }
}

static void test_polynomials_of_degree_one_to_seven(void **state) {
    (void)state;
    each_isa(check_degrees);
}

static void test_no_vectors_leave_the_threshold(void **state) {
    (void)state;
    for (int type = LM_C_SVC; type <= LM_NU_SVR; type++)
        for (int kernel = LM_LINEAR; kernel <= LM_SIGMOID; kernel++) {
            plan p = {.type = (lm_svm_type)type,
                      .kernel = kernel_of((lm_kernel_type)kernel, 3),
                      .classes = lm_svm_is_svc((lm_svm_type)type) ? 4 : 2,
                      .d = 3};
            check_plan(&p, 1);
        }
}

static void test_one_class_has_no_functions(void **state) {
    (void)state;
    for (int kernel = LM_LINEAR; kernel <= LM_SIGMOID; kernel++) {
        plan p = {
            .type = LM_C_SVC, .kernel = kernel_of((lm_kernel_type)kernel, 3), .classes = 1, .d = 3};
        check_plan(&p, 1);
        p.count[0] = 5; /* vectors without a coefficient */
        check_plan(&p, 1);
    }
}

/* ---- memory ---- */

static void test_failing_allocations_are_reported(void **state) {
    (void)state;
    for (int kernel = LM_LINEAR; kernel <= LM_SIGMOID; kernel++) {
        plan p = {.type = LM_C_SVC,
                  .kernel = kernel_of((lm_kernel_type)kernel, 3),
                  .classes = 3,
                  .d = 3,
                  .count = {20, 1, 16}};
        drawn m = draw(&p, 1);
        limn_status status = LIMN_E_MEMORY;
        unsigned at = 1;
        for (; status == LIMN_E_MEMORY; at++) {
            counting count = {0};
            limn_context *ctx = make_context(&count, 1, 1);
            long before = count.live;
            lm_machine machine;
            count.fail_at = at;
            status = lm_machine_build(ctx, &m.svm, &machine);
            if (status == LIMN_OK)
                lm_machine_free(&ctx->mem, &machine);
            else
                assert_true(limn_error(ctx)[0]);
            assert_int_equal(count.live, before);
            limn_context_free(ctx);
        }
        assert_int_equal(status, LIMN_OK);
        assert_true(at > 4);
        drawn_free(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers_of_two_are_inside_their_bound),
        cmocka_unit_test(test_whole_powers_are_exact_and_the_three_parts_are_added),
        cmocka_unit_test(test_small_powers_are_zero),
        cmocka_unit_test(test_every_type_and_kernel_equals_plain_loops),
        cmocka_unit_test(test_two_to_twelve_classes_some_without_vectors),
        cmocka_unit_test(test_one_to_three_hundred_features),
        cmocka_unit_test(test_classes_of_any_size_also_those_cut_in_segments),
        cmocka_unit_test(test_small_and_large_gamma_offsets_and_unknown_features),
        cmocka_unit_test(test_vectors_far_from_each_other_compared_with_the_kernel),
        cmocka_unit_test(test_unknown_features_are_nothing_to_dot_products),
        cmocka_unit_test(test_polynomials_of_degree_one_to_seven),
        cmocka_unit_test(test_no_vectors_leave_the_threshold),
        cmocka_unit_test(test_one_class_has_no_functions),
        cmocka_unit_test(test_failing_allocations_are_reported),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
