/* fits.c: fitting networks to the lessons, and judging them on what is held out. */
#include "base/argmax.h"
#include "base/work.h"
#include "methods/student/student.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- judging ---- */

/* The class that the outputs of a row say. */
static int32_t class_of(const st_lessons *l, const float *out) {
    return l->outputs == 1 ? out[0] <= 0 : (int32_t)lm_argmax_float(out, l->outputs);
}

static double share_that_differs(const st_lessons *l, const float *out, const int32_t *class,
                                 size_t n) {
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += class_of(l, out + i * l->outputs) != class[i];
    return n ? (double)differ / (double)n : 0;
}

/* The share of the variance that is not explained: values are standardised. */
static double share_unexplained(const float *out, const double *value, size_t n) {
    double squares = 0, mean = 0, around = 0;
    for (size_t i = 0; i < n; i++)
        mean += value[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += ((double)out[i] - value[i]) * ((double)out[i] - value[i]);
        around += (value[i] - mean) * (value[i] - mean);
    }
    return around > 0 ? squares / around : squares > 1e-6 * (double)n;
}

static limn_status judge(limn_context *ctx, const st_lessons *l, const lm_network *net,
                         const st_judges *by, float **out) {
    size_t cells;
    if (!*out && lm_mul(by->n, l->outputs, &cells))
        *out = lm_alloc(&ctx->mem, cells + 1, sizeof **out);
    return *out ? lm_network_answer(ctx, net, by->x, by->n, *out) : lm_fail_memory(ctx);
}

/* Points and rows count alike: there are more points, but rows are what will be asked. */
static limn_status judge_fit(limn_context *ctx, const st_lessons *l, st_fit *fit) {
    limn_status status = judge(ctx, l, &fit->net, &l->held, &fit->held);
    if (status == LIMN_OK)
        status = judge(ctx, l, &fit->net, &l->fresh, &fit->fresh);
    if (status != LIMN_OK)
        return status;
    bool classes = l->classes > 0;
    double rows = classes ? share_that_differs(l, fit->held, l->held.teacher, l->held.n)
                          : share_unexplained(fit->held, l->held.value, l->held.n);
    double points = classes ? share_that_differs(l, fit->fresh, l->fresh.teacher, l->fresh.n)
                            : share_unexplained(fit->fresh, l->fresh.value, l->fresh.n);
    fit->differs = rows;
    fit->points = points;
    fit->error = classes ? share_that_differs(l, fit->held, l->held.label, l->held.n)
                         : share_unexplained(fit->held, l->held.target, l->held.n);
    return LIMN_OK;
}

/* ---- fitting ---- */

typedef struct job {
    const st_lessons *lessons;
    uint64_t seed;
    st_fit *fits;
    size_t count;
    const char *stage;
    bool alone;              /* fits follow each other, each on all threads */
    size_t finished, visits; /* alone: visits of the fits before, and of all */
    atomic_uint_least64_t visited;
    char detail[64];
} job;

static void sizes_of(const st_lessons *l, const st_size *size, size_t *sizes) {
    sizes[0] = l->d;
    memcpy(sizes + 1, size->units, size->layers * sizeof *sizes);
    sizes[size->layers + 1] = l->outputs;
}

typedef struct report {
    job *job;
    st_fit *fit;
    size_t seen;
} report;

/* Alone, with the error on rows held out; else only the visits are counted. */
static limn_status tell(limn_context *ctx, void *user, const lm_network *net, size_t visited,
                        size_t visits) {
    report *r = user;
    job *j = r->job;
    const st_lessons *l = j->lessons;
    atomic_fetch_add(&j->visited, visited - r->seen);
    r->seen = visited;
    if (!j->alone)
        return lm_progress(ctx, j->stage, visited, visits, (double)visited / (double)visits);
    limn_status status = judge(ctx, l, net, &l->held, &r->fit->held);
    if (status != LIMN_OK)
        return status;
    if (l->classes)
        snprintf(j->detail, sizeof j->detail, "%.2f %% errors on rows held out",
                 100 * share_that_differs(l, r->fit->held, l->held.label, l->held.n));
    else
        snprintf(j->detail, sizeof j->detail, "R2 %.4f on rows held out",
                 1 - share_unexplained(r->fit->held, l->held.target, l->held.n));
    uint64_t done = atomic_load(&j->visited);
    return lm_progress_tell(ctx, &(limn_progress){.stage = j->stage,
                                                  .rows = done,
                                                  .rows_total = j->visits,
                                                  .fraction = (double)done / (double)j->visits,
                                                  .detail = j->detail});
}

static limn_status fit_one(limn_context *ctx, void *user, size_t index) {
    job *j = user;
    st_fit *fit = &j->fits[index];
    const st_lessons *l = j->lessons;
    size_t sizes[LM_LAYERS_MAX + 1];
    sizes_of(l, &fit->size, sizes);
    report r = {.job = j, .fit = fit};
    lm_examples examples = {.x = l->x,
                            .target = l->target[fit->sharp],
                            .classes = l->classes,
                            .row = l->order,
                            .count = l->count};
    lm_network_plan plan = {.visits = fit->visits,
                            .rate = fit->rate,
                            .seed = lm_hash(j->seed, fit->size.units[0], fit->size.layers),
                            .news = tell,
                            .user = &r};
    limn_status status =
        lm_network_begin(ctx, sizes, fit->size.layers + 1, &examples, plan.seed, &fit->net);
    if (status == LIMN_OK)
        status = lm_network_fit(ctx, &examples, &plan, &fit->net);
    return status == LIMN_OK ? judge_fit(ctx, l, fit) : status;
}

static void count_visits(void *user, uint64_t *done, uint64_t *total) {
    job *j = user;
    *done = atomic_load(&j->visited);
    *total = j->visits;
}

#define ALONE 4e4 /* multiply-adds: a batch of such a network is worth several threads */

limn_status st_fit_all(limn_context *ctx, const st_lessons *lessons, uint64_t seed,
                       const char *stage, st_fit *fits, size_t count) {
    job j = {.lessons = lessons,
             .seed = seed,
             .fits = fits,
             .count = count,
             .stage = stage,
             .alone = count == 1};
    for (size_t i = 0; i < count; i++) {
        j.visits += fits[i].visits;
        j.alone |= st_size_work(&fits[i].size, lessons->d, lessons->outputs) > ALONE;
    }
    lm_job work = {
        .stage = stage, .count = count, .task = fit_one, .user = &j, .done = count_visits};
    if (!j.alone)
        return lm_work(ctx, &work);
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < count && status == LIMN_OK; i++)
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

limn_status st_try(limn_context *ctx, const st_lessons *lessons, const st_options *options,
                   const st_size *size, size_t *kind, size_t *sharp) {
    st_fit tries[TRIED];
    size_t count = list_tries(lessons, options, size, tries), best = 0;
    limn_status status = LIMN_OK;
    if (count > 1)
        status = st_fit_all(ctx, lessons, options->seed, "trying rates", tries, count);
    for (size_t i = 0; i < count && status == LIMN_OK; i++) {
        lm_info(ctx, "student: rate %.4g sharpness %g: differs %.3f points %.3f error %.3f",
                tries[i].rate, lessons->sharpness[tries[i].sharp], 100 * tries[i].differs,
                100 * tries[i].points, 100 * tries[i].error);
        if (count > 1 &&
            tries[i].differs + tries[i].points < tries[best].differs + tries[best].points)
            best = i;
    }
    *kind = tries[best].kind;
    *sharp = tries[best].sharp;
    st_fits_free(&ctx->mem, tries, count);
    return status;
}
