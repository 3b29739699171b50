/* gamma.c: gamma=auto: the one with the fewest errors on rows before they are learned.
 *
 * Candidates are powers of two for which gamma times the mean squared distance D of two rows (chi2
 * for that kernel, |x|^2 for dot products) lies between 1/16 and 128. Each learns some rows; the
 * three best learn more. The errors are those of the mean of the coefficients, which wavers less
 * than the last ones, or of the last ones where these are better. Counts that differ by less than
 * half of their standard deviation, about their root, are ties: the smaller gamma is smoother. */
#include "base/work.h"
#include "methods/ptree/ptree.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 1000, FIRST_ROWS = 3000, MORE_ROWS = 15000, TRIED = 12, BEST = 3 };
#define SMALLEST (1.0 / 16)
#define TIE 0.5

typedef struct search {
    const lm_train_set *set;
    const size_t *order;
    const pt_options *o;
    size_t rows;
    double gamma[TRIED], error[TRIED]; /* error: how many */
} search;

/* D. */
static double spread(const lm_train_set *set, const pt_options *o, uint64_t seed) {
    lm_rng rng = lm_rng_at(lm_hash(seed, o->stream, PT_SAMPLE), 0, 0);
    lm_kernel_type type = o->kernel.type;
    double sum = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        const float *a = set->x + (size_t)lm_rng_below(&rng, set->n) * set->d;
        const float *b = set->x + (size_t)lm_rng_below(&rng, set->n) * set->d;
        for (size_t j = 0; j < set->d; j++) {
            double u = (double)a[j], v = (double)b[j], off = u - v;
            double chi2 = u + v > 0 ? off * off / (u + v) : 0;
            sum += type == LM_RBF ? off * off : type == LM_CHI2_KERNEL ? chi2 : u * u;
        }
    }
    return sum / PAIRS;
}

static limn_status try_one(limn_context *ctx, void *user, size_t index) {
    search *s = user;
    pt_options o = *s->o;
    pt_model *m = NULL;
    double wrong[2] = {0, 0};
    o.kernel.gamma = s->gamma[index];
    limn_status status = pt_new(ctx, &o, s->set->d, s->set->classes, &m);
    if (status == LIMN_OK)
        status = pt_pass(ctx, m, s->set, s->order, s->rows, "finding gamma", wrong);
    s->error[index] = fmin(wrong[0], wrong[1]);
    pt_destroy(&ctx->mem, m);
    return status;
}

static limn_status try_some(limn_context *ctx, search *s, size_t count) {
    lm_job job = {.stage = "finding gamma", .count = count, .task = try_one, .user = s};
    return lm_work(ctx, &job);
}

/* The best first, ties by the smaller gamma. */
static void sort(search *s, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = i;
             j > 0 && (s->error[j] < s->error[j - 1] ||
                       (s->error[j] <= s->error[j - 1] && s->gamma[j] < s->gamma[j - 1]));
             j--) {
            double gamma = s->gamma[j], error = s->error[j];
            s->gamma[j] = s->gamma[j - 1];
            s->error[j] = s->error[j - 1];
            s->gamma[j - 1] = gamma;
            s->error[j - 1] = error;
        }
}

/* Of the first `count`, sorted. */
static double smallest_of_ties(const search *s, size_t count) {
    double best = s->gamma[0], most = s->error[0] + TIE * sqrt(s->error[0]);
    for (size_t i = 1; i < count && s->error[i] <= most; i++)
        best = fmin(best, s->gamma[i]);
    return best;
}

limn_status pt_find_gamma(limn_context *ctx, const lm_train_set *set, const size_t *order,
                          pt_options *o) {
    search s = {.set = set, .order = order, .o = o};
    double d = spread(set, o, ctx->seed);
    double low = d > 0 && isfinite(d) ? ceil(log2(SMALLEST / d)) : 0;
    low = fmax(-60, fmin(low, 60));
    for (size_t i = 0; i < TRIED; i++)
        s.gamma[i] = ldexp(1, (int)low + (int)i);
    s.rows = set->n < FIRST_ROWS ? set->n : FIRST_ROWS;
    size_t left = TRIED;
    limn_status status = try_some(ctx, &s, left);
    sort(&s, left);
    if (status == LIMN_OK && set->n > FIRST_ROWS) {
        s.rows = set->n < MORE_ROWS ? set->n : MORE_ROWS;
        left = BEST;
        status = try_some(ctx, &s, left);
        sort(&s, left);
    }
    o->kernel.gamma = smallest_of_ties(&s, left);
    return status;
}
