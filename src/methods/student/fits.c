/* fits.c: fitting networks to the lessons, and judging them on what is held out. */
#include "base/argmax.h"
#include "base/work.h"
#include "methods/student/student.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- judging ---- */

lm_best st_best(const st_lessons *l, const float *out) {
    size_t first[2];
    if (l->outputs == 1)
        return (lm_best){out[0] <= 0, fabsf(out[0])};
    (void)lm_largest_float(out, l->outputs, 2, first);
    return (lm_best){first[0], out[first[0]] - out[first[1]]};
}

static double share_that_differs(const st_lessons *l, const float *out, const int32_t *class,
                                 size_t n) {
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += (int32_t)st_best(l, out + i * l->outputs).index != class[i];
    return n ? (double)differ / (double)n : 0;
}

#define CONSTANT 1e-12 /* variance of standardised values that rounding can give */

/* The share of the variance that is not explained. */
static double share_unexplained(const float *out, const double *value, size_t n) {
    double squares = 0, mean = 0, around = 0;
    for (size_t i = 0; i < n; i++)
        mean += value[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += ((double)out[i] - value[i]) * ((double)out[i] - value[i]);
        around += (value[i] - mean) * (value[i] - mean);
    }
    return around > CONSTANT * (double)n ? squares / around : squares > 1e-6 * (double)n;
}

static limn_status judge(limn_context *ctx, const st_lessons *l, const lm_network *net,
                         const st_judges *by, float **out) {
    size_t cells;
    if (!*out && lm_mul(by->n, l->outputs, &cells))
        *out = lm_alloc(&ctx->mem, cells + 1, sizeof **out);
    return *out ? lm_network_answer(ctx, net, by->x, by->n, *out) : lm_fail_memory(ctx);
}

/* On rows held out, from the network's last answers to them. */
static double error_of(const st_lessons *l, const st_fit *fit) {
    return l->classes ? share_that_differs(l, fit->held, l->held.label, l->held.n)
                      : share_unexplained(fit->held, l->held.target, l->held.n);
}

static double differs_on(const st_lessons *l, const float *out, const st_judges *by) {
    return l->classes ? share_that_differs(l, out, by->teacher, by->n)
                      : share_unexplained(out, by->value, by->n);
}

static limn_status judge_fit(limn_context *ctx, const st_lessons *l, st_fit *fit) {
    limn_status status = judge(ctx, l, &fit->net, &l->held, &fit->held);
    if (status == LIMN_OK)
        status = judge(ctx, l, &fit->net, &l->fresh, &fit->fresh);
    if (status != LIMN_OK)
        return status;
    fit->differs = differs_on(l, fit->held, &l->held);
    fit->points = differs_on(l, fit->fresh, &l->fresh);
    fit->error = error_of(l, fit);
    return LIMN_OK;
}

/* ---- fitting ---- */

typedef struct job {
    const st_lessons *lessons;
    uint64_t seed;
    const char *stage;
    st_fit **fits;
    size_t count;
    bool alone;      /* the fits follow each other, each on all threads */
    uint64_t visits; /* of all fits of the stage */
    atomic_uint_least64_t visited;
    atomic_uint_least64_t least; /* error so far, in millionths; UINT64_MAX: none is known */
    char detail[64];
} job;

static const char *say_error(job *j) {
    uint64_t least = atomic_load(&j->least);
    double error = (double)least / 1e6;
    if (least == UINT64_MAX)
        return NULL;
    if (j->lessons->classes)
        snprintf(j->detail, sizeof j->detail, "%.2f %% errors on rows held out", 100 * error);
    else
        snprintf(j->detail, sizeof j->detail, "R2 %.4f on rows held out", 1 - error);
    return j->detail;
}

static const char *detail_of(void *user) {
    return say_error(user);
}

static void record_error(job *j, double error) {
    uint64_t own = (uint64_t)(fmin(error, 1e6) * 1e6 + 0.5), least = atomic_load(&j->least);
    while (own < least && !atomic_compare_exchange_weak(&j->least, &least, own))
        ;
}

typedef struct report {
    job *job;
    st_fit *fit;
    size_t seen;
    size_t judged; /* percents of the visits */
} report;

static limn_status tell(limn_context *ctx, void *user, const lm_network *net, size_t visited,
                        size_t visits) {
    report *r = user;
    job *j = r->job;
    const st_lessons *l = j->lessons;
    uint64_t done = atomic_fetch_add(&j->visited, visited - r->seen) + visited - r->seen;
    r->seen = visited;
    if (r->judged != 100 * visited / visits) {
        limn_status status = judge(ctx, l, net, &l->held, &r->fit->held);
        if (status != LIMN_OK)
            return status;
        record_error(j, error_of(l, r->fit));
        r->judged = 100 * visited / visits;
    }
    if (!j->alone) /* the job reports */
        return lm_progress(ctx, j->stage, 0, 0, -1);
    return lm_progress_tell(ctx, &(limn_progress){.stage = j->stage,
                                                  .rows = done,
                                                  .rows_total = j->visits,
                                                  .fraction = (double)done / (double)j->visits,
                                                  .detail = say_error(j)});
}

static limn_status fit_one(limn_context *ctx, void *user, size_t index) {
    job *j = user;
    st_fit *fit = j->fits[index];
    const st_lessons *l = j->lessons;
    size_t sizes[LM_LAYERS_MAX + 1] = {l->d}, layers = fit->size.layers;
    memcpy(sizes + 1, fit->size.units, layers * sizeof *sizes);
    sizes[layers + 1] = l->outputs;
    report r = {.job = j, .fit = fit};
    lm_examples examples = {.x = l->x,
                            .target = l->target[fit->sharp],
                            .classes = l->classes,
                            .row = l->order,
                            .count = l->count};
    lm_network_plan plan = {.visits = fit->visits,
                            .rate = fit->rate,
                            .seed = lm_hash(j->seed, fit->size.units[0], layers),
                            .news = tell,
                            .user = &r};
    limn_status status = lm_network_begin(ctx, sizes, layers + 1, &examples, plan.seed, &fit->net);
    if (status == LIMN_OK)
        status = lm_network_fit(ctx, &examples, &plan, &fit->net);
    return status == LIMN_OK ? judge_fit(ctx, l, fit) : status;
}

static void count_visits(void *user, uint64_t *done, uint64_t *total) {
    job *j = user;
    *done = atomic_load(&j->visited);
    *total = j->visits;
}

static bool is_large(const st_lessons *l, const st_fit *fit) {
    return st_size_work(&fit->size, l->d, l->outputs) >= LM_NETWORK_LARGE;
}

/* The fits that are large, or those that are not; the last one is the largest of its kind, as a
 * rule, and begins. */
static void list_fits(job *j, st_fit *fits, size_t count, bool large) {
    j->count = 0;
    for (size_t i = count; i-- > 0;)
        if (is_large(j->lessons, &fits[i]) == large)
            j->fits[j->count++] = &fits[i];
}

static limn_status fit_small(limn_context *ctx, job *j) {
    lm_job work = {.stage = j->stage,
                   .count = j->count,
                   .task = fit_one,
                   .user = j,
                   .done = count_visits,
                   .detail = detail_of};
    j->alone = j->count == 1;
    return j->alone ? fit_one(ctx, j, 0) : lm_work(ctx, &work);
}

/* A large network keeps all threads busy; small ones are fitted beside each other. */
limn_status st_fit_all(limn_context *ctx, const st_lessons *lessons, uint64_t seed,
                       const char *stage, st_fit *fits, size_t count) {
    st_fit *list[ST_FITS_MAX];
    job j = {.lessons = lessons, .seed = seed, .stage = stage, .fits = list};
    atomic_store(&j.least, UINT64_MAX);
    for (size_t i = 0; i < count; i++) /* in whole batches */
        j.visits += (fits[i].visits + LM_NETWORK_BATCH - 1) / LM_NETWORK_BATCH * LM_NETWORK_BATCH;
    list_fits(&j, fits, count, false);
    limn_status status = j.count ? fit_small(ctx, &j) : LIMN_OK;
    list_fits(&j, fits, count, true);
    j.alone = true;
    for (size_t i = 0; i < j.count && status == LIMN_OK; i++)
        status = fit_one(ctx, &j, i);
    return status;
}

void st_fits_free(const limn_allocator *mem, st_fit *fits, size_t count) {
    for (size_t i = 0; i < count; i++) {
        lm_network_free(mem, &fits[i].net);
        lm_free(mem, fits[i].held);
        lm_free(mem, fits[i].fresh);
        fits[i].held = fits[i].fresh = NULL;
    }
}

/* ---- rate and sharpness ---- */

enum { RATES = 2, TRIED = RATES * ST_SHARPS };

/* Faster rates do as well on what is held out, but worse on rows outside the range of the data. */
double st_rate(const st_lessons *l, const st_size *size, size_t kind) {
    double rate = fmin(0.01, 2.5 / (double)size->units[0]);
    return rate * (l->outputs == 1 ? 0.5 : 1) * (kind ? 0.25 : 1);
}

#define VISITS_PER_ROW 2000.0
#define VISITS_LEAST 4e6 /* of a network that is large, */
#define VISITS_MOST 1e7  /* and of one that is small */
#define VISITS_WORK 2e11 /* multiply-adds between these */

size_t st_visits(const st_lessons *l, const st_options *o, const st_size *size) {
    double most = VISITS_WORK / st_size_work(size, l->d, l->outputs);
    most = fmin(fmax(most, VISITS_LEAST), VISITS_MOST);
    return o->visits ? o->visits : (size_t)fmin(most, VISITS_PER_ROW * (double)l->rows);
}

/* What is tried: each rate with each sharpness. */
static size_t list_tries(const st_lessons *l, const st_options *o, const st_size *size,
                         st_fit *tries) {
    size_t count = 0;
    for (size_t kind = 0; kind < RATES; kind++)
        for (size_t s = 0; s < l->sharps; s++) {
            if (o->rate > 0 && kind > 0)
                continue;
            tries[count++] = (st_fit){.size = *size,
                                      .kind = kind,
                                      .rate = o->rate > 0 ? o->rate : st_rate(l, size, kind),
                                      .sharp = s,
                                      .visits = st_visits(l, o, size) / 4 + 1};
        }
    return count;
}

/* Points and rows count alike: there are more points, but rows are what will be asked. */
static size_t best_of(const st_fit *tries, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (tries[i].differs + tries[i].points < tries[best].differs + tries[best].points)
            best = i;
    return best;
}

limn_status st_try(limn_context *ctx, const st_lessons *lessons, const st_options *options,
                   const st_size *size, size_t *kind, size_t *sharp) {
    st_fit tries[TRIED];
    size_t count = list_tries(lessons, options, size, tries);
    limn_status status = LIMN_OK;
    *kind = *sharp = 0;
    if (count > 1)
        status = st_fit_all(ctx, lessons, options->seed, "trying rates", tries, count);
    if (count > 1 && status == LIMN_OK) {
        size_t best = best_of(tries, count);
        *kind = tries[best].kind;
        *sharp = tries[best].sharp;
    }
    st_fits_free(&ctx->mem, tries, count);
    return status;
}
