/* check_num_values.c: what src/num does to a list of values, against plain references in double:
 * reductions, exponentials, kernels.
 *
 * With CHECK_LONG=1 in the environment the checks of exp and tanh go through every float. */
#include "check_num_world.h"
#include "num/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The step between the floats that are tried: 1 in a long run, more for a sample. */
static uint32_t usual_step(uint32_t step) {
    const char *text = getenv("CHECK_LONG");
    if (text && !strcmp(text, "1"))
        return 1;
    return getenv("LIMN_SAMPLE") ? 8 * step + 1 : step;
}

/* ---- reductions ---- */

/* Values with many ties and, by kind, NaN, infinities and both zeros. */
static void fill_difficult(lm_rng *rng, float *values, size_t n, unsigned kind) {
    static const float special[] = {NAN, INFINITY, -INFINITY, 0.f, -0.f, -NAN, FLT_MAX, 1e-40f};
    for (size_t i = 0; i < n; i++) {
        uint64_t r = lm_rng_next(rng);
        values[i] = (float)(int)(r % (kind % 2 ? 7 : 100000)) - 3.f;
        if (kind & 2 && r >> 32 & 1)
            values[i] = special[(r >> 40) % LM_COUNT(special)];
        if (kind & 4)
            values[i] = NAN;
        if (kind == 10 && i < n / 4 * 3)
            values[i] = NAN;
        if (kind < 10 && kind & 8)
            values[i] = kind & 1 ? (float)i : -(float)i;
    }
}

static size_t plain_argmin(const float *values, size_t n) {
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i]) && (best == n || values[i] < values[best]))
            best = i;
    return best == n ? 0 : best;
}

int argmin_takes_the_first_and_no_nan(void) {
    failures = 0;
    float buffer[401];
    for (size_t n = 1; n <= 400; n += n < 150 ? 1 : 17)
        for (unsigned kind = 0; kind <= 10; kind++) {
            lm_rng rng = lm_rng_at(12, n, kind);
            float *values = buffer + n % 2;
            fill_difficult(&rng, values, n, kind);
            size_t got = lm_argmin(values, n), want = plain_argmin(values, n);
            EXPECT(got == want, "n %zu kind %u: %zu, not %zu", n, kind, got, want);
        }
    return failures;
}

int argmin_finds_each_place(void) {
    failures = 0;
    float values[200];
    for (size_t n = 1; n <= 200; n += 3)
        for (size_t at = 0; at < n; at++) {
            for (size_t i = 0; i < n; i++)
                values[i] = i < at ? 1.f : NAN;
            values[at] = -1.f;
            if (at + 1 < n)
                values[n - 1] = -1.f;
            EXPECT(lm_argmin(values, n) == at, "n %zu place %zu", n, at);
        }
    return failures;
}

int below_lists_what_is_not_above(void) {
    failures = 0;
    float values[400];
    uint32_t index[401];
    static const float bounds[] = {-4.f, 0.f, 2.f, 1e9f, -INFINITY, INFINITY, NAN};
    for (size_t n = 0; n <= 400; n += n < 150 ? 1 : 17)
        for (unsigned kind = 0; kind <= 10; kind++)
            for (size_t b = 0; b < LM_COUNT(bounds); b++) {
                lm_rng rng = lm_rng_at(13, n, kind);
                fill_difficult(&rng, values, n, kind);
                index[n] = 77;
                size_t count = lm_below(values, n, bounds[b], index), at = 0;
                for (size_t i = 0; i < n; i++)
                    if (values[i] <= bounds[b])
                        EXPECT(at < count && index[at++] == i, "n %zu kind %u place %zu", n, kind,
                               i);
                EXPECT(at == count, "n %zu kind %u: %zu, not %zu", n, kind, count, at);
                EXPECT(index[n] == 77, "written past n");
            }
    return failures;
}

int below_expanded_compares_the_expanded_form(void) {
    failures = 0;
    float dots[400], norms[400];
    uint32_t index[401];
    for (size_t n = 0; n <= 400; n += n < 150 ? 1 : 17)
        for (float bound = -3; bound <= 6; bound += 1.5f) {
            lm_rng rng = lm_rng_at(18, n, 0);
            fill_normal(&rng, dots, n);
            for (size_t i = 0; i < n; i++)
                norms[i] = i % 3 ? dots[i] * dots[i] : 2 * dots[i] + bound; /* ties with it too */
            index[n] = 77;
            size_t count = lm_below_expanded(dots, norms, n, bound, index), at = 0;
            for (size_t i = 0; i < n; i++)
                if (norms[i] - 2 * dots[i] <= bound)
                    EXPECT(at < count && index[at++] == i, "n %zu place %zu", n, i);
            EXPECT(at == count, "n %zu: %zu, not %zu", n, count, at);
            EXPECT(index[n] == 77, "written past n");
        }
    return failures;
}

static bool before(const float *values, uint32_t a, uint32_t b) {
    bool a_nan = isnan(values[a]), b_nan = isnan(values[b]);
    if (a_nan != b_nan)
        return b_nan;
    return a_nan || values[a] == values[b] ? a < b : values[a] < values[b];
}

/* The first k of a plain insertion sort. */
static void plain_smallest(const float *values, size_t n, size_t k, uint32_t *index) {
    size_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = count;
        while (at && before(values, i, index[at - 1])) {
            if (at < k)
                index[at] = index[at - 1];
            at--;
        }
        if (at < k)
            index[at] = i;
        count += count < k;
    }
}

int smallest_is_a_sorted_prefix(void) {
    failures = 0;
    enum { MAX = 6000 };
    static float values[MAX];
    static uint32_t got[MAX + 1], want[MAX], scratch[MAX + 1];
    static const size_t sizes[] = {1, 2, 3, 17, 63, 64, 65, 255, 256, 257, 300, 777, 1500, MAX};
    for (size_t s = 0; s < LM_COUNT(sizes); s++)
        for (unsigned kind = 0; kind <= 10; kind++) {
            size_t n = sizes[s], ks[] = {0, 1, 2, 10, n / 8, n / 4, n / 2, n};
            lm_rng rng = lm_rng_at(14, n, kind);
            fill_difficult(&rng, values, n, kind);
            for (size_t i = 0; i < LM_COUNT(ks); i++) {
                size_t k = ks[i] < n ? ks[i] : n;
                if (n == MAX && k > 10 && k != n / 8)
                    continue;
                got[k] = scratch[n] = 77;
                lm_smallest(values, n, k, got, scratch);
                plain_smallest(values, n, k, want);
                EXPECT(!memcmp(got, want, k * sizeof *got), "n %zu k %zu kind %u", n, k, kind);
                EXPECT(got[k] == 77 && scratch[n] == 77, "written past the end");
            }
        }
    return failures;
}

int segments_have_their_own_argmin(void) {
    failures = 0;
    enum { SEGMENTS = 60 };
    for (unsigned kind = 0; kind <= 10; kind++) {
        lm_rng rng = lm_rng_at(15, kind, 0);
        uint32_t start[SEGMENTS + 1] = {3}, index[SEGMENTS + 1];
        for (size_t s = 0; s < SEGMENTS; s++)
            start[s + 1] = start[s] + (uint32_t)(s % 5 == 2 ? 0 : lm_rng_below(&rng, 40));
        float *values = make_floats(start[SEGMENTS]);
        fill_difficult(&rng, values, start[SEGMENTS], kind);
        index[SEGMENTS] = 77;
        lm_segment_argmin(values, start, SEGMENTS, index);
        EXPECT(index[SEGMENTS] == 77, "written past the end");
        for (size_t s = 0; s < SEGMENTS; s++) {
            size_t n = start[s + 1] - start[s];
            uint32_t want = UINT32_MAX;
            if (n)
                want = start[s] + (uint32_t)plain_argmin(values + start[s], n);
            EXPECT(index[s] == want, "kind %u segment %zu: %u, not %u", kind, s, index[s], want);
        }
        lm_segment_argmin(values, start, 0, index);
        free(values);
    }
    return failures;
}

/* ---- transforms ---- */

enum { CHUNK = 4096 };

/* Applies f to every step-th float of bits first..last and returns the largest of
 * (|f - exact| - slack) / |exact|. */
static double worst_error(uint32_t first, uint32_t last, uint32_t step, void (*f)(float *, size_t),
                          double (*exact)(double), double slack, float *where) {
    static float in[CHUNK], out[CHUNK];
    double worst = 0;
    for (uint64_t bits = first; bits <= last;) {
        size_t count = 0;
        for (; count < CHUNK && bits <= last; bits += step)
            in[count++] = float_of((uint32_t)bits);
        memcpy(out, in, count * sizeof *in);
        f(out, count);
        for (size_t i = 0; i < count; i++) {
            double want = exact((double)in[i]), off = fabs((double)out[i] - want) - slack;
            double error = off <= 0 ? 0 : off / fabs(want);
            if (!(error <= worst)) {
                worst = isnan(error) ? INFINITY : error;
                *where = in[i];
            }
        }
    }
    return worst;
}

static void say(const char *what, double worst, float where) {
    if (getenv("CHECK_VERBOSE"))
        printf("  [%s] %s: %.4g at %a\n", lm_isa_name(), what, worst, (double)where);
}

int exp_keeps_its_bound(void) {
    failures = 0;
    uint32_t step = usual_step(61), minus = 0x80000000u;
    float where = 0;
    double worst = worst_error(minus, minus | bits_of(87.3f), step, lm_exp, exp, 0, &where);
    say("exp, negative", worst, where);
    EXPECT(worst <= LM_EXP_ERROR, "%g at %a", worst, (double)where);
    worst = worst_error(0, bits_of(88.7228317f), step, lm_exp, exp, 0, &where);
    say("exp, positive", worst, where);
    EXPECT(worst <= LM_EXP_ERROR, "%g at %a", worst, (double)where);
    worst = worst_error(minus | bits_of(87.3f), minus | bits_of(FLT_MAX), step, lm_exp, exp, 2e-38,
                        &where);
    EXPECT(worst <= LM_EXP_ERROR, "underflow at %a", (double)where);
    float values[] = {0.f,
                      -0.f,
                      INFINITY,
                      -INFINITY,
                      0x1.62e430p+6f,
                      89.f,
                      FLT_MAX,
                      -FLT_MAX,
                      NAN,
                      float_of(0x7fc12345),
                      float_of(0xffc00001),
                      1e-45f,
                      -1e-45f,
                      0x1.62e42ep+6f};
    lm_exp(values, LM_COUNT(values));
    EXPECT(values[0] == 1 && values[1] == 1, "exp(0) = %g", (double)values[0]);
    EXPECT(values[2] == INFINITY && values[3] == 0, "infinities");
    EXPECT(values[4] == INFINITY && values[5] == INFINITY && values[6] == INFINITY, "overflow");
    EXPECT(values[7] == 0, "underflow");
    EXPECT(isnan(values[8]) && isnan(values[9]) && isnan(values[10]), "NaN");
    EXPECT(values[11] == 1 && values[12] == 1, "denormals");
    EXPECT(isfinite(values[13]), "the last finite exponential: %g", (double)values[13]);
    return failures;
}

static void plain_tanh(float *values, size_t n) {
    lm_sigmoid(values, n, 1.f, 0.f);
}

int tanh_keeps_its_bound(void) {
    failures = 0;
    uint32_t step = usual_step(121);
    float where = 0;
    double worst = worst_error(1, bits_of(100.f), step, plain_tanh, tanh, 0, &where);
    say("tanh", worst, where);
    EXPECT(worst <= LM_TANH_ERROR, "%g at %a", worst, (double)where);
    worst =
        worst_error(0x80000001u, 0x80000000u | bits_of(100.f), step, plain_tanh, tanh, 0, &where);
    EXPECT(worst <= LM_TANH_ERROR, "%g at %a", worst, (double)where);
    float values[] = {0.f, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 50.f, -50.f, NAN};
    plain_tanh(values, LM_COUNT(values));
    EXPECT(values[0] == 0 && values[1] == 1 && values[2] == -1 && values[3] == 1 &&
               values[4] == -1 && values[5] == 1 && values[6] == -1 && isnan(values[7]),
           "saturation");
    return failures;
}

/* The error of the argument t carries over as |t| roundings. */
static void check_kernels(const float *in, size_t n, float gamma, float coef0, unsigned degree) {
    float rbf[100], poly[100], sigmoid[100];
    memcpy(rbf, in, n * sizeof *in);
    memcpy(poly, in, n * sizeof *in);
    memcpy(sigmoid, in, n * sizeof *in);
    rbf[n] = poly[n] = sigmoid[n] = GUARD;
    lm_rbf(rbf, n, gamma);
    lm_poly(poly, n, gamma, coef0, degree);
    lm_sigmoid(sigmoid, n, gamma, coef0);
    EXPECT(rbf[n] == GUARD && poly[n] == GUARD && sigmoid[n] == GUARD, "written past n %zu", n);
    for (size_t i = 0; i < n; i++) {
        double t = (double)gamma * (double)in[i], size = fabs(t) + fabs((double)coef0);
        double want = exp(-t), allowed = want * (LM_EXP_ERROR + 1.01 * EPS * fabs(t)) + 2e-38;
        EXPECT(fabs((double)rbf[i] - want) <= allowed, "rbf(%g): %g", t, (double)rbf[i]);
        want = pow(t + (double)coef0, degree);
        allowed = 4.0 * degree * EPS * pow(size, degree);
        EXPECT(fabs((double)poly[i] - want) <= allowed, "poly(%g): %g", t, (double)poly[i]);
        want = tanh(t + (double)coef0);
        allowed = LM_TANH_ERROR * fabs(want) + 2 * EPS * size;
        EXPECT(fabs((double)sigmoid[i] - want) <= allowed, "sigmoid(%g): %g", t,
               (double)sigmoid[i]);
    }
}

int kernels_match_reference(void) {
    failures = 0;
    for (size_t n = 0; n < 70; n++) {
        lm_rng rng = lm_rng_at(16, n, 0);
        float in[100];
        fill_normal(&rng, in, n);
        for (unsigned degree = 0; degree < 9; degree++)
            check_kernels(in, n, 0.25f + (float)degree, (float)(degree % 3) - 0.5f, degree);
    }
    float far[] = {INFINITY, FLT_MAX, 1e38f, 0.f}, flat[] = {INFINITY, 1.f};
    lm_rbf(far, 4, 1e10f);
    EXPECT(far[0] == 0 && far[1] == 0 && far[2] == 0 && far[3] == 1, "huge distances give 0");
    lm_rbf(flat, 2, 0.f);
    EXPECT(flat[0] == 1 && flat[1] == 1, "gamma 0 gives 1");
    return failures;
}

/* By definition, in long double. */
static long double exact_kernel(const lm_kernel *kernel, long double value) {
    long double inner = kernel->gamma * value + kernel->coef0, power = 1;
    for (int i = 0; i < kernel->degree; i++)
        power *= inner;
    switch (kernel->type) {
    case LM_LINEAR:
        return value;
    case LM_POLYNOMIAL:
        return power;
    case LM_INTERSECTION:
        return value;
    case LM_RBF:
    case LM_CHI2_KERNEL:
        return expl(-kernel->gamma * value);
    default:
        return tanhl(inner);
    }
}

int slopes_of_kernels_match_differences(void) {
    failures = 0;
    lm_rng rng = lm_rng_at(18, 0, 0);
    for (int i = 0; i < 4000; i++) {
        lm_kernel kernel = {(lm_kernel_type)(i % 6), i / 6 % 6, lm_rng_normal(&rng),
                            lm_rng_normal(&rng)};
        /* each kernel reads only the one that it is */
        bool rbf = kernel.type == LM_RBF || kernel.type == LM_CHI2_KERNEL;
        if (rbf)
            kernel.gamma = fabs(kernel.gamma);
        double value = fabs(3 * lm_rng_normal(&rng)), other = NAN;
        if (!rbf && i % 4 == 0)
            value = -value;
        double got = lm_kernel_value(&kernel, rbf ? other : value, rbf ? value : other);
        double slope = lm_kernel_slope(&kernel, rbf ? other : value, rbf ? value : other);
        long double step = 1e-6L, size = 1 + fabsl(exact_kernel(&kernel, value));
        long double want =
            (exact_kernel(&kernel, value + step) - exact_kernel(&kernel, value - step)) /
            (2 * step);
        EXPECT(fabsl(got - exact_kernel(&kernel, value)) <= 1e-13L * size, "%g", got);
        EXPECT(fabsl(slope - want) <= 1e-8L * (fabsl(want) + size),
               "type %d, degree %d: %g, not %Lg", (int)kernel.type, kernel.degree, slope, want);
    }
    return failures;
}

int cosine_matches_reference(void) {
    failures = 0;
    for (size_t n = 0; n < 70; n++) {
        lm_rng rng = lm_rng_at(17, n, 0);
        float dots[71], norms[70], got[71];
        for (size_t i = 0; i < n; i++) {
            norms[i] = i % 9 == 4 ? 0.f : (float)lm_rng_unit(&rng) * 9 + 0.1f;
            dots[i] = (float)lm_rng_normal(&rng);
        }
        for (int zero = 0; zero < 2; zero++) {
            float x_norm = zero ? 0.f : 2.5f;
            memcpy(got, dots, n * sizeof *got);
            got[n] = GUARD;
            lm_cosine(got, n, norms, x_norm);
            EXPECT(got[n] == GUARD, "written past n %zu", n);
            for (size_t i = 0; i < n; i++) {
                double size = sqrt((double)norms[i]) * sqrt((double)x_norm);
                double want = size > 0 ? 1 - (double)dots[i] / size : 1;
                double allowed = size > 0 ? EPS * (4 * fabs(want - 1) + 1) : 0;
                EXPECT(fabs((double)got[i] - want) <= allowed, "%g, not %g", (double)got[i], want);
            }
        }
    }
    return failures;
}
