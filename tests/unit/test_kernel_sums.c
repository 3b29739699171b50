/* Sums of kernel values and powers of two, on every instruction set, against loops in double. */
#include "num/kernel_sums.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PANELS = 9, WIDTH = 11, QUERIES = 29, STRIDE = PANELS * LM_PANEL + 16 };

typedef struct world {
    float k[QUERIES * STRIDE];
    float coef[WIDTH * PANELS * LM_PANEL];
    uint16_t panel[WIDTH * PANELS];
    uint32_t start[WIDTH + 1];
} world;

/* Lists of 0 to PANELS blocks, ascending by panel. */
static void draw(world *w, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, 1, 1);
    uint32_t at = 0;
    for (size_t i = 0; i < QUERIES * STRIDE; i++)
        w->k[i] = (float)lm_rng_unit(&rng);
    for (size_t m = 0; m < WIDTH; m++) {
        w->start[m] = at;
        for (size_t p = 0; p < PANELS; p++)
            if (m == 1 || lm_rng_below(&rng, 3))
                w->panel[at++] = (uint16_t)p;
    }
    w->start[WIDTH] = at;
    for (size_t i = 0; i < at * LM_PANEL; i++)
        w->coef[i] = (float)lm_rng_normal(&rng);
}

/* Within the rounding of a float sum of its terms' magnitudes. */
static void check_sum(const world *w, size_t q, size_t m, float got) {
    double sum = 0, size = 0;
    for (uint32_t b = w->start[m]; b < w->start[m + 1]; b++)
        for (size_t lane = 0; lane < LM_PANEL; lane++) {
            double term = (double)w->k[q * STRIDE + w->panel[b] * LM_PANEL + lane] *
                          (double)w->coef[b * LM_PANEL + lane];
            sum += term;
            size += fabs(term);
        }
    assert_true(fabs((double)got - sum) <= size * 16 * 0x1p-24);
}

static void check_expand(bool narrow) {
    world *w = malloc(sizeof *w);
    float *one = malloc(WIDTH * sizeof *one), *many = malloc(QUERIES * WIDTH * sizeof *many);
    const char *isa;
    for (size_t i = 0; (isa = lm_isa_at(i)); i++) {
        assert_true(lm_isa_use(isa));
        for (uint64_t seed = 1; seed <= 5; seed++) {
            draw(w, seed);
            lm_sum_lists lists = {w->start, w->panel, w->coef};
            for (size_t n = 1; n <= QUERIES; n++) {
                lm_kernel_sums(w->k, STRIDE, n, &lists, WIDTH, narrow, many, WIDTH);
                for (size_t q = 0; q < n; q++) {
                    lm_kernel_sums(w->k + q * STRIDE, STRIDE, 1, &lists, WIDTH, narrow, one, WIDTH);
                    assert_memory_equal(one, many + q * WIDTH, WIDTH * sizeof *one);
                    for (size_t m = 0; m < WIDTH && n == QUERIES; m++)
                        check_sum(w, q, m, many[q * WIDTH + m]);
                }
            }
        }
    }
    lm_isa_use(lm_isa_at(0));
    free(one);
    free(many);
    free(w);
}

static void test_sums_equal_loops_and_do_not_depend_on_the_number_of_queries(void **state) {
    (void)state;
    check_expand(false);
}

static void test_narrow_sums_as_well(void **state) {
    (void)state;
    check_expand(true);
}

static void test_powers_keep_their_error_bound_and_end_at_zero(void **state) {
    (void)state;
    enum { N = 1 << 16 };
    float *t = malloc(N * sizeof *t), *v = malloc(N * sizeof *v), *bias = calloc(N, sizeof *bias);
    const char *isa;
    for (size_t i = 0; (isa = lm_isa_at(i)); i++) {
        assert_true(lm_isa_use(isa));
        for (size_t j = 0; j < N; j++)
            v[j] = t[j] = j == 0 ? 0 : (float)(-124.999 + 130.0 * (double)j / N);
        lm_exp2_biased(v, bias, N, 0);
        assert_true(v[0] == 1);
        for (size_t j = 0; j < N; j++)
            assert_true(fabs((double)v[j] / exp2((double)t[j]) - 1) <= LM_EXP2_ERROR);
        for (size_t j = 0; j < N; j++)
            v[j] = -125.01f - (float)j * 1e30f;
        lm_exp2_biased(v, bias, N, 0);
        for (size_t j = 0; j < N; j++)
            assert_true(v[j] == 0);
        v[0] = 1;
        bias[0] = -3;
        lm_exp2_biased(v, bias, LM_PANEL, 4);
        assert_true(v[0] == 4);
        bias[0] = 0;
    }
    lm_isa_use(lm_isa_at(0));
    free(t);
    free(v);
    free(bias);
}

static void test_dots_and_powers_in_one_have_the_bits_of_both(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    lm_rng rng = lm_rng_at(2, 1, 1);
    const char *isa;
    for (size_t d = 1; d < LM_DOT_EXP2_D; d += d < 8 ? 1 : 13)
        for (size_t panels = 1; panels <= 19; panels += 3) {
            size_t n = panels * LM_PANEL;
            float *rows = malloc(n * d * sizeof *rows), *x = malloc(d * sizeof *x);
            float *bias = malloc(n * sizeof *bias), *a = malloc(n * sizeof *a);
            float *b = malloc(n * sizeof *b);
            lm_pack pack;
            for (size_t i = 0; i < n * d; i++)
                rows[i] = (float)lm_rng_normal(&rng);
            for (size_t j = 0; j < d; j++)
                x[j] = (float)lm_rng_normal(&rng);
            for (size_t i = 0; i < n; i++)
                bias[i] = (float)-lm_rng_unit(&rng);
            assert_int_equal(lm_pack_build(ctx, rows, n, d, d, &pack), LIMN_OK);
            for (size_t i = 0; (isa = lm_isa_at(i)); i++) {
                assert_true(lm_isa_use(isa));
                lm_pack_query(&pack, LM_DOT, 0, panels, x, a);
                lm_exp2_biased(a, bias, n, -0.5f);
                lm_dot_exp2(&pack, 0, panels, bias, x, -0.5f, b);
                assert_memory_equal(a, b, n * sizeof *a);
            }
            lm_isa_use(lm_isa_at(0));
            lm_pack_free(&ctx->mem, &pack);
            free(rows);
            free(x);
            free(bias);
            free(a);
            free(b);
        }
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_equal_loops_and_do_not_depend_on_the_number_of_queries),
        cmocka_unit_test(test_narrow_sums_as_well),
        cmocka_unit_test(test_powers_keep_their_error_bound_and_end_at_zero),
        cmocka_unit_test(test_dots_and_powers_in_one_have_the_bits_of_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
