/* kernels.c: how near the kernels of src/num come to the machine's limits.
 *
 * For each instruction set: the peak rate of multiply-adds (registers only), then dot products,
 * squared distances, chi2 distances and sums of minima for one query and for a block of queries,
 * with the packed set in the first-level cache, the second-level cache and memory, as a share of
 * that peak and as bytes of the set read per second; then the transforms and reductions, as time
 * per value.
 *
 * A squared distance takes a subtraction besides the multiply-add, so its share is at most 50 %
 * where both go to the same two ports (AVX-512), 75 % where a third port takes subtractions (AVX2)
 * and 67 % where the multiply-add is two instructions. One panel of 784 features is larger than a
 * first-level cache of 48 KB; its row says so by its size.
 *
 * Every case is run for at least 20 ms, in turn with all others, and the best of the rounds counts.
 * Time is that of the thread's own processor use, so that other programs disturb less; they still
 * share caches and memory, so measure on a quiet machine.
 *
 *     kernels [--json] [--rounds N] [--isa NAME] */
#include "num/kernel.h"
#include "num/pack.h"
#include "peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_CASES = 96, ROUNDS = 5, QUERIES_MAX = 48, D_MAX = 784 };
#define MIN_SECONDS 0.02

typedef struct bench_case {
    const char *name, *place;
    lm_metric metric;
    size_t d, panels, m, range; /* range: panels a call, so that out stays in cache */
    size_t values;              /* for transforms and reductions */
    double seconds;             /* of one run, the best so far */
    void (*run)(const struct bench_case *self);
} bench_case;

/* Inputs and outputs of all cases. */
static struct {
    float *set, *x, *out;
    uint32_t *index;
    size_t set_floats;
    peak_loop *peak;
    volatile float sink;
} io;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_set(const bench_case *c) {
    lm_pack pack;
    lm_pack_view(io.set, c->panels * LM_PANEL, c->d, &pack);
    for (size_t p = 0; p < c->panels; p += c->range) {
        size_t count = c->panels - p < c->range ? c->panels - p : c->range;
        if (c->m == 1)
            lm_pack_query(&pack, c->metric, p, count, io.x, io.out);
        else
            lm_pack_block(&pack, c->metric, p, count, io.x, c->d, c->m, io.out,
                          c->range * LM_PANEL);
    }
}

enum { PEAK_ROUNDS = 100000 };

static void run_peak(const bench_case *c) {
    (void)c;
    float result;
    io.peak(PEAK_ROUNDS, &result);
    io.sink = result;
}

static void run_exp(const bench_case *c) {
    for (size_t i = 0; i < c->values; i++)
        io.out[i] = -(float)(i % 64);
    lm_exp(io.out, c->values);
}

static void run_fill(const bench_case *c) {
    for (size_t i = 0; i < c->values; i++)
        io.out[i] = -(float)(i % 64);
    __asm__ volatile("" ::: "memory");
}

static void run_sigmoid(const bench_case *c) {
    for (size_t i = 0; i < c->values; i++)
        io.out[i] = -(float)(i % 64);
    lm_sigmoid(io.out, c->values, 0.1f, 0.f);
}

static void run_argmin(const bench_case *c) {
    io.sink = (float)lm_argmin(io.set, c->values);
}

static void run_below(const bench_case *c) {
    io.sink = (float)lm_below(io.set, c->values, -0.9999f, io.index);
}

static void run_smallest(const bench_case *c) {
    lm_smallest(io.set, c->values, 10, io.index, io.index + c->values);
    io.sink = (float)io.index[0];
}

static void measure(bench_case *c) {
    size_t repeats = 1;
    for (;; repeats *= 2) {
        double start = now();
        for (size_t i = 0; i < repeats; i++)
            c->run(c);
        double seconds = now() - start;
        if (seconds >= MIN_SECONDS || repeats > (size_t)1 << 40) {
            double one = seconds / (double)repeats;
            if (c->seconds == 0 || one < c->seconds)
                c->seconds = one;
            return;
        }
    }
}

static size_t add_set_cases(bench_case *cases, size_t count) {
    static const struct {
        const char *name;
        size_t bytes, m, range;
    } places[] = {{"L1", 24u << 10, 12, 8},
                  {"L2", 1u << 20, QUERIES_MAX, 16},
                  {"memory", 256u << 20, QUERIES_MAX, 16}};
    static const size_t widths[] = {16, 64, D_MAX};
    static const struct {
        const char *name;
        lm_metric metric;
    } metrics[] = {{"dot", LM_DOT}, {"l2", LM_L2}, {"chi2", LM_CHI2}, {"min", LM_MIN}};
    for (size_t k = 0; k < LM_COUNT(metrics); k++)
        for (size_t p = 0; p < LM_COUNT(places); p++)
            for (size_t w = 0; w < LM_COUNT(widths); w++)
                for (int batch = 0; batch < 2; batch++) {
                    size_t panel = widths[w] * LM_PANEL * sizeof(float);
                    size_t panels = places[p].bytes / panel ? places[p].bytes / panel : 1;
                    cases[count++] = (bench_case){.name = metrics[k].name,
                                                  .place = places[p].name,
                                                  .metric = metrics[k].metric,
                                                  .d = widths[w],
                                                  .panels = panels,
                                                  .m = batch ? places[p].m : 1,
                                                  .range = batch ? places[p].range : 256,
                                                  .run = run_set};
                }
    return count;
}

static size_t add_cases(bench_case *cases) {
    enum { VALUES = 8192 };
    cases[0] = (bench_case){.name = "peak", .run = run_peak};
    cases[1] = (bench_case){.name = "fill", .values = VALUES, .run = run_fill};
    cases[2] = (bench_case){.name = "exp", .values = VALUES, .run = run_exp};
    cases[3] = (bench_case){.name = "sigmoid", .values = VALUES, .run = run_sigmoid};
    cases[4] = (bench_case){.name = "argmin", .values = VALUES, .run = run_argmin};
    cases[5] = (bench_case){.name = "below", .values = VALUES, .run = run_below};
    cases[6] = (bench_case){.name = "smallest10", .values = VALUES, .run = run_smallest};
    return add_set_cases(cases, 7);
}

static void print_set(const char *isa, const bench_case *c, double peak, int json) {
    double size = (double)(c->panels * LM_PANEL * c->d) * sizeof(float);
    double rate = size / sizeof(float) * (double)c->m / c->seconds;
    double share = rate / peak, bytes = size / c->seconds * 1e-9;
    if (json)
        printf("{\"isa\":\"%s\",\"op\":\"%s\",\"place\":\"%s\",\"d\":%zu,\"rows\":%zu,"
               "\"queries\":%zu,\"share_of_peak\":%.4f,\"gb_per_s\":%.2f,\"seconds\":%.9g}\n",
               isa, c->name, c->place, c->d, c->panels * LM_PANEL, c->m, share, bytes, c->seconds);
    else
        printf("%-9s %-4s %-7s %5zu %8zu %9.0f %7zu %8.1f %% %9.1f\n", isa, c->name, c->place, c->d,
               c->panels * LM_PANEL, size / 1024, c->m, 100 * share, bytes);
}

static void print_value(const char *isa, const bench_case *c, double fill, int json) {
    double seconds = c->run == run_exp || c->run == run_sigmoid ? c->seconds - fill : c->seconds;
    double ns = seconds / (double)c->values * 1e9;
    if (json)
        printf("{\"isa\":\"%s\",\"op\":\"%s\",\"n\":%zu,\"ns_per_value\":%.4f}\n", isa, c->name,
               c->values, ns);
    else
        printf("%-9s %-10s %28.3f ns per value, %zu values\n", isa, c->name, ns, c->values);
}

static peak_loop *peak_of(const char *isa) {
#if defined(LM_HAVE_X86)
    if (!strcmp(isa, "avx512"))
        return peak_avx512;
    if (!strcmp(isa, "avx2"))
        return peak_avx2;
#elif defined(LM_HAVE_NEON)
    if (!strcmp(isa, "neon"))
        return peak_neon;
#endif
#if !defined(LM_HAVE_NEON)
    if (!strcmp(isa, "baseline"))
        return peak_baseline;
#endif
    return NULL;
}

static void bench_isa(const char *isa, int rounds, int json) {
    bench_case cases[MAX_CASES];
    size_t count = add_cases(cases);
    io.peak = peak_of(isa);
    lm_isa_use(isa);
    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < count; i++)
            measure(&cases[i]);
    float result;
    double peak = (double)io.peak(PEAK_ROUNDS, &result) / cases[0].seconds;
    if (json)
        printf("{\"isa\":\"%s\",\"op\":\"peak\",\"gflops\":%.2f}\n", isa, 2e-9 * peak);
    else
        printf("%-9s peak %.1f GFLOP/s\n", isa, 2e-9 * peak);
    for (size_t i = 1; i < count; i++)
        if (cases[i].run == run_set)
            print_set(isa, &cases[i], peak, json);
        else if (cases[i].run != run_fill)
            print_value(isa, &cases[i], cases[1].seconds, json);
}

static int make_inputs(const limn_allocator *mem) {
    io.set_floats = (256u << 20) / sizeof(float);
    io.set = lm_alloc_aligned(mem, io.set_floats, sizeof *io.set);
    io.x = lm_alloc_aligned(mem, QUERIES_MAX * D_MAX, sizeof *io.x);
    io.out = lm_alloc_aligned(mem, 1 << 18, sizeof *io.out);
    io.index = lm_alloc_aligned(mem, 1 << 16, sizeof *io.index);
    if (!io.set || !io.x || !io.out || !io.index)
        return 0;
    lm_rng rng = lm_rng_at(1, 1, 1);
    for (size_t i = 0; i < io.set_floats; i++)
        io.set[i] = (float)(int64_t)lm_rng_next(&rng) * 0x1p-63f;
    for (size_t i = 0; i < QUERIES_MAX * D_MAX; i++)
        io.x[i] = (float)(int64_t)lm_rng_next(&rng) * 0x1p-63f;
    return 1;
}

int main(int argc, char **argv) {
    int json = 0, rounds = ROUNDS;
    const char *only = NULL;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json"))
            json = 1;
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--isa") && i + 1 < argc)
            only = argv[++i];
    limn_context *ctx = NULL;
    if (lm_context_make(NULL, &ctx) || !make_inputs(&ctx->mem)) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    if (!json)
        printf("%-9s %-4s %-7s %5s %8s %9s %7s %10s %9s\n", "isa", "op", "place", "d", "rows", "KB",
               "queries", "of peak", "GB/s");
    const char *isa;
    for (size_t i = 0; (isa = lm_isa_at(i)); i++)
        if (!only || !strcmp(only, isa))
            bench_isa(isa, rounds, json);
    lm_free_aligned(&ctx->mem, io.set);
    lm_free_aligned(&ctx->mem, io.x);
    lm_free_aligned(&ctx->mem, io.out);
    lm_free_aligned(&ctx->mem, io.index);
    limn_context_free(ctx);
    return 0;
}
