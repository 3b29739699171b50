/* check_num_kernel.c: kernels of two rows by their definitions, and queries against them. */
#include "check_num_world.h"

#include "num/kernel.h"

#include <math.h>
#include <string.h>

static const lm_kernel kernels[] = {
    {LM_LINEAR, 0, 0, 0},      {LM_POLYNOMIAL, 3, 0.2, 1}, {LM_POLYNOMIAL, 0, 0.2, 1},
    {LM_RBF, 0, 0.3, 0},       {LM_SIGMOID, 0, 0.1, -0.5}, {LM_CHI2_KERNEL, 0, 0.7, 0},
    {LM_CHI2_KERNEL, 0, 0, 0}, {LM_INTERSECTION, 0, 0, 0}, {LM_INTERSECTION, 2, 3, 4},
};

/* No feature is below 0, and many are 0 in both rows. */
static void fill_histogram(lm_rng *rng, float *values, size_t count) {
    fill_normal(rng, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] > 0 && i % 5 ? values[i] / 4 : 0;
}

typedef struct sums {
    long double dot, l2, chi2, min;
} sums;

static sums sums_of(const float *a, const float *b, size_t d) {
    sums s = {0};
    for (size_t j = 0; j < d; j++) {
        long double u = a[j], v = b[j];
        s.dot += u * v;
        s.l2 += (u - v) * (u - v);
        s.chi2 += u + v > 0 ? (u - v) * (u - v) / (u + v) : 0;
        s.min += fminl(u, v);
    }
    return s;
}

static long double definition(const lm_kernel *k, const float *a, const float *b, size_t d) {
    sums s = sums_of(a, b, d);
    switch (k->type) {
    case LM_LINEAR:
        return s.dot;
    case LM_POLYNOMIAL:
        return powl(k->gamma * s.dot + k->coef0, k->degree);
    case LM_RBF:
        return expl(-k->gamma * s.l2);
    case LM_SIGMOID:
        return tanhl(k->gamma * s.dot + k->coef0);
    case LM_CHI2_KERNEL:
        return expl(-k->gamma * s.chi2);
    case LM_INTERSECTION:
        return s.min;
    }
    return NAN;
}

int kernels_of_rows_match_definition(void) {
    failures = 0;
    for (size_t d = 1; d < 200; d += 3)
        for (size_t i = 0; i < LM_COUNT(kernels); i++) {
            lm_rng rng = lm_rng_at(19, d, i);
            float a[200], b[200];
            for (int below = 0; below < 2; below++) { /* with features below 0 too */
                (below ? fill_normal : fill_histogram)(&rng, a, d);
                (below ? fill_normal : fill_histogram)(&rng, b, d);
                if (below && kernels[i].type == LM_CHI2_KERNEL)
                    continue;
                double got = lm_kernel_of_rows(&kernels[i], a, b, d);
                long double want = definition(&kernels[i], a, b, d);
                EXPECT(fabsl(got - want) <= 1e-12L * (fabsl(want) + 1), "kernel %zu d %zu: %g, %Lg",
                       i, d, got, want);
                EXPECT(got == lm_kernel_of_rows(&kernels[i], b, a, d), "kernel %zu", i);
            }
        }
    float zeros[9] = {0};
    EXPECT(lm_kernel_of_rows(&kernels[5], zeros, zeros, 9) == 1, "chi2 of zeros");
    EXPECT(lm_kernel_of_rows(&kernels[7], zeros, zeros, 9) == 0, "intersection of zeros");
    return failures;
}

/* What a packed set gives, one query and many, is the value of the two rows but for rounding. */
static void check_pack(limn_context *ctx, const lm_kernel *kernel, size_t n, size_t d) {
    lm_rng rng = lm_rng_at(20, n, d);
    float *rows = make_floats(n * d), *x = make_floats(d), *out = make_floats(n + LM_PANEL);
    lm_pack pack;
    fill_histogram(&rng, rows, n * d);
    fill_histogram(&rng, x, d);
    EXPECT(!lm_pack_build(ctx, rows, n, d, d, &pack), "no memory");
    lm_pack_query(&pack, lm_kernel_metric(kernel), 0, pack.panels, x, out);
    lm_kernel_apply(kernel, out, n);
    for (size_t i = 0; i < n; i++) {
        double want = lm_kernel_of_rows(kernel, x, rows + i * d, d);
        double allowed = 2e-6 * (double)(d + 16) * (fabs(want) + 1e-3);
        EXPECT(fabs((double)out[i] - want) <= allowed, "%s d %zu row %zu: %g, not %g",
               lm_kernel_name(kernel->type), d, i, (double)out[i], want);
    }
    lm_pack_free(&ctx->mem, &pack);
    free(rows);
    free(x);
    free(out);
}

int queries_and_kernels_of_rows_agree(void) {
    static const size_t widths[] = {1, 2, 47, 48, 49, 128};
    failures = 0;
    limn_context *ctx = make_context(NULL);
    for (size_t i = 0; i < LM_COUNT(kernels); i++)
        for (size_t w = 0; w < LM_COUNT(widths); w++)
            for (size_t n = 1; n < 40; n += 6)
                check_pack(ctx, &kernels[i], n, widths[w]);
    limn_context_free(ctx);
    return failures;
}

int dot_products_do_not_give_every_kernel(void) {
    failures = 0;
    for (size_t i = 0; i < LM_COUNT(kernels); i++) {
        bool known = kernels[i].type <= LM_SIGMOID;
        double values[] = {0.5}, v2[] = {2};
        lm_kernel_of_many(&kernels[i], values, 1, 0, 1, v2);
        EXPECT(isnan(values[0]) == !known, "kernel %zu: %g", i, values[0]);
        EXPECT(isnan(lm_kernel_of_dots(&kernels[i], 0.5, 1, 2)) == !known, "kernel %zu", i);
    }
    return failures;
}

int kernels_have_names_and_metrics(void) {
    static const struct {
        const char *name;
        lm_metric metric;
    } want[] = {{"linear", LM_DOT},  {"polynomial", LM_DOT}, {"rbf", LM_L2},
                {"sigmoid", LM_DOT}, {"chi2", LM_CHI2},      {"intersection", LM_MIN}};
    failures = 0;
    for (size_t i = 0; i < LM_COUNT(want); i++) {
        lm_kernel kernel = {.type = (lm_kernel_type)i};
        EXPECT(!strcmp(lm_kernel_name(kernel.type), want[i].name), "%zu", i);
        EXPECT(lm_kernel_metric(&kernel) == want[i].metric, "%s", want[i].name);
    }
    EXPECT(!lm_kernel_name((lm_kernel_type)LM_COUNT(want)), "no more");
    return failures;
}
