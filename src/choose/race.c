/* race.c: draws faster models from a model, cheapest first, judges each on rows that it was not
 * fitted to, times all, and chooses.
 *
 * The model itself takes part: it is the exact answer, and wins when nothing else is fast and close
 * enough. Models of one method share what they can (lm_train_set.shared): the teacher answers a
 * student's pool once for all sizes, and borders are drawn once for both ways to combine pairs. A
 * training that is still running at the deadline is cancelled and listed as not tried. */
#include "choose/race.h"

#include "base/sized.h"
#include "eval/metrics.h"
#include "svm/svm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOSS_ACCURACY 0.005
#define LOSS_AGREEMENT 0.02
#define LOSS_FAMILIAR                                                           \
    0.005 /* of agreement on rows of its training, of which a machine is surest \
           */
#define LOSS_VALUES 0.005
#define UC_PER_ACCURACY 2  /* of the loss */
#define TIMING_SECONDS 0.5 /* per entry, kept free before the deadline */
#define ASKING_SHARE 0.2   /* of the time, for the model's own answers to the rows */

void limn_accelerate_options_init(limn_accelerate_options *options) {
    LM_SIZED_INIT(options);
    options->max_loss = -1;
    options->time_limit = 150;
}

void limn_race_info_init(limn_race_info *info) {
    LM_SIZED_INIT(info);
}

void limn_entry_init(limn_entry *entry) {
    LM_SIZED_INIT(entry);
}

/* ---- judging ---- */

static void judge_classes(limn_race *race, const int32_t *classes, const uint64_t *confusion,
                          size_t k, limn_entry *e) {
    size_t n = race->rows.judge->n, agree = 0;
    for (size_t i = 0; i < n; i++)
        agree += classes[i] == race->rows.classes[i];
    e->agreement = (double)agree / (double)n;
    if (race->rows.labelled) {
        e->accuracy = lm_accuracy(confusion, k);
        e->uncertainty_coefficient = lm_uncertainty_coefficient(confusion, k);
    }
}

static limn_status judge_labels(limn_context *ctx, limn_race *race, const int32_t *classes,
                                limn_entry *e) {
    const limn_data *data = race->rows.judge;
    size_t k = data->schema.labels.count, cells;
    uint64_t *confusion =
        lm_mul(k, k, &cells) ? lm_alloc_zero(&ctx->mem, cells, sizeof *confusion) : NULL;
    if (!confusion)
        return lm_fail_memory(ctx);
    if (race->rows.labelled)
        lm_confusion(data->label, classes, data->n, k, confusion);
    judge_classes(race, classes, confusion, k, e);
    lm_free(&ctx->mem, confusion);
    return LIMN_OK;
}

/* 1 where both are constant and equal. */
static double r2_of(const double *truth, const double *values, size_t n) {
    double r2 = lm_r2(truth, values, n);
    return isnan(r2) ? (lm_rmse(truth, values, n) > 0 ? 0 : 1) : r2;
}

static void judge_values(limn_race *race, const double *values, limn_entry *e) {
    const limn_data *data = race->rows.judge;
    e->agreement = r2_of(race->rows.values, values, data->n);
    if (race->rows.labelled)
        e->r2 = r2_of(data->target, values, data->n);
}

static void weigh(limn_race *race, limn_entry *e) {
    const limn_race_info *info = &race->info;
    bool by_accuracy = info->judge == LIMN_JUDGE_ACCURACY;
    double uc = race->uc - e->uncertainty_coefficient;
    e->loss = by_accuracy ? race->accuracy - e->accuracy : 1 - e->agreement;
    e->within_loss = e->loss <= info->max_loss + 1e-12;
    if (by_accuracy && uc > info->max_uc_loss + 1e-12)
        e->within_loss = 0;
}

static limn_status judge(limn_context *ctx, limn_race *race, lm_entry *entry) {
    const limn_data *data = race->rows.judge;
    limn_entry *e = &entry->public;
    bool itself = entry->model == race->model;
    int32_t *classes = NULL;
    double *values = NULL;
    limn_status status = LIMN_OK;
    if (race->rows.classes && !itself)
        classes = lm_alloc(&ctx->mem, data->n, sizeof *classes);
    else if (!itself)
        values = lm_alloc(&ctx->mem, data->n, sizeof *values);
    if (!itself)
        status = classes || values ? lm_race_answer(ctx, entry->model, data, classes, values)
                                   : lm_fail_memory(ctx);
    if (status == LIMN_OK && race->rows.classes)
        status = judge_labels(ctx, race, itself ? race->rows.classes : classes, e);
    else if (status == LIMN_OK)
        judge_values(race, itself ? race->rows.values : values, e);
    lm_free(&ctx->mem, classes);
    lm_free(&ctx->mem, values);
    lm_stats stats;
    lm_model_figures(entry->model, &stats, &e->bytes);
    return status;
}

/* ---- training under a deadline ---- */

/* Stands between a training and the caller's callbacks. */
typedef struct watch {
    double deadline;
    int (*progress)(void *user, const limn_progress *progress);
    void *user;
    bool late, stopped;
    char stage[64], detail[64];
} watch;

static int watch_progress(void *user, const limn_progress *news) {
    watch *w = user;
    limn_progress shown = *news;
    shown.stage = w->stage;
    shown.detail = w->detail[0] ? w->detail : news->detail;
    shown.rows = shown.rows_total = 0;
    w->stopped = w->stopped || (w->progress && w->progress(w->user, &shown));
    w->late = w->late || lm_clock() > w->deadline;
    return w->stopped || w->late;
}

/* The fastest so far that is good enough. */
static const lm_entry *leader(const limn_race *race) {
    const lm_entry *best = &race->entries[0];
    for (size_t i = 1; i < race->info.entries; i++) {
        const lm_entry *e = &race->entries[i];
        if (e->model && e->public.within_loss &&
            e->public.latency_us_mean < best->public.latency_us_mean)
            best = e;
    }
    return best;
}

static void say_leader(const limn_race *race, watch *w) {
    const limn_entry *best = &leader(race)->public;
    if (isfinite(best->latency_us_mean))
        (void)snprintf(w->detail, sizeof w->detail, "best: %.3g us, %.2f %% %s",
                       best->latency_us_mean, 100 * best->agreement,
                       race->info.judge == LIMN_JUDGE_VALUES ? "of variance" : "agreement");
}

/* As if it had not been raced. */
static void withdraw(lm_entry *entry) {
    limn_entry *e = &entry->public;
    double none = (double)NAN;
    limn_model_free(entry->own);
    entry->own = NULL;
    entry->model = NULL;
    e->latency_us_mean = e->latency_us_p50 = e->latency_us_p99 = e->seconds = none;
    e->accuracy = e->uncertainty_coefficient = e->agreement = e->r2 = e->loss = none;
    e->bytes = 0;
}

/* A failure that concerns only this entry. */
static limn_status excuse(limn_context *ctx, limn_status status, const watch *w, lm_entry *entry) {
    if (status == LIMN_E_CANCELLED && w->late && !w->stopped)
        return LIMN_OK;
    if (status != LIMN_E_DATA && status != LIMN_E_USAGE && status != LIMN_E_UNSUPPORTED &&
        status != LIMN_E_MEMORY)
        return status;
    entry->public.state = LIMN_ENTRY_FAILED;
    entry->why = lm_strdup(&ctx->mem, ctx->error);
    entry->public.why = entry->why ? entry->why : "out of memory";
    return LIMN_OK;
}

enum { PARAMS_MOST = 8 };

/* Cuts a copy of "key=value key=value" in text. */
static size_t cut(char *text, const char **list) {
    size_t count = 0;
    for (char *end; *text && count < PARAMS_MOST; text = end) {
        end = text + strcspn(text, " ");
        if (*end)
            *end++ = '\0';
        list[count++] = text;
    }
    return count;
}

static limn_status train_planned(limn_context *ctx, const limn_race *race, lm_entry *entry,
                                 void **shared) {
    const char *list[PARAMS_MOST];
    char text[256];
    const lm_method *method;
    lm_params params;
    limn_train_options options;
    limn_train_options_init(&options);
    (void)snprintf(text, sizeof text, "%s", entry->public.params);
    options.method = entry->method->info.name;
    options.params = list;
    options.param_count = cut(text, list);
    options.teacher = race->model;
    limn_status status = lm_model_plan(ctx, &options, race->model->schema.task, &method, &params);
    return status == LIMN_OK ? lm_model_train_planned(ctx, race->rows.fit, method, &params,
                                                      &options, shared, &entry->own)
                             : status;
}

/* Trains one entry, until the deadline at most, and takes a first look at it. The log would speak
 * of models that nobody asked for. */
static limn_status enter(limn_context *ctx, limn_race *race, size_t index, double deadline,
                         void **shared) {
    lm_entry *entry = &race->entries[index];
    watch w = {.deadline = deadline, .progress = ctx->progress, .user = ctx->user};
    void (*log)(void *, limn_log_level, const char *) = ctx->log;
    double start = lm_clock();
    (void)snprintf(w.stage, sizeof w.stage, "%zu/%zu %s %s", index, race->info.entries - 1,
                   entry->public.method, entry->public.params);
    say_leader(race, &w);
    ctx->progress = watch_progress;
    ctx->user = &w;
    ctx->log = NULL;
    limn_status status = train_planned(ctx, race, entry, shared);
    entry->public.seconds = lm_clock() - start;
    entry->model = entry->own;
    if (status == LIMN_OK)
        status = judge(ctx, race, entry);
    if (status == LIMN_OK)
        status = lm_race_glance(ctx, race, entry);
    ctx->progress = w.progress;
    ctx->user = w.user;
    ctx->log = log;
    if (status == LIMN_OK) {
        entry->public.state = LIMN_ENTRY_RACED;
        weigh(race, &entry->public);
        return LIMN_OK;
    }
    withdraw(entry);
    return excuse(ctx, status, &w, entry);
}

/* What the entries of one method share. */
typedef struct share {
    const lm_method *method;
    void *kept;
} share;

static void **shared_of(share *shares, size_t count, const lm_method *method) {
    size_t i = 0;
    while (i + 1 < count && shares[i].method && shares[i].method != method)
        i++;
    shares[i].method = method;
    return &shares[i].kept;
}

/* Enters all that have not been tried, each in at most this part of the time left. The first one of
 * a method has all of it: what it finds out serves the others. */
static limn_status enter_all(limn_context *ctx, limn_race *race, double part, share *shares) {
    size_t count = race->info.entries;
    limn_status status = LIMN_OK;
    for (size_t i = 1; i < count && status == LIMN_OK; i++) {
        void **shared = shared_of(shares, count, race->entries[i].method);
        double now = lm_clock(), left = race->deadline - now;
        if (race->entries[i].public.state == LIMN_ENTRY_NOT_TRIED && left > 0)
            status = enter(ctx, race, i, now + (*shared ? part * left : left), shared);
    }
    return status;
}

#define MOST_OF_THE_TIME 0.5

/* An entry that takes too long is put off to the end: it must not keep out those after it. */
static limn_status run(limn_context *ctx, limn_race *race) {
    size_t count = race->info.entries;
    share *shares = lm_alloc_zero(&ctx->mem, count, sizeof *shares);
    if (!shares)
        return lm_fail_memory(ctx);
    limn_status status = enter_all(ctx, race, MOST_OF_THE_TIME, shares);
    if (status == LIMN_OK)
        status = enter_all(ctx, race, 1, shares);
    for (size_t i = 0; i < count; i++)
        if (shares[i].method && shares[i].method->unshare)
            shares[i].method->unshare(&ctx->mem, shares[i].kept);
    lm_free(&ctx->mem, shares);
    return status;
}

/* ---- choosing ---- */

/* Whether a comes before b. To be right more often than the model is luck, not less of a loss. */
static bool is_better(const limn_race_info *info, const limn_entry *a, const limn_entry *b) {
    double first = fmax(0, a->loss), second = fmax(0, b->loss);
    if (info->budget_us > 0 && (first < second || first > second))
        return first < second;
    return a->latency_us_mean < b->latency_us_mean;
}

static void choose(limn_race *race) {
    limn_race_info *info = &race->info;
    double most = race->entries[0].public.latency_us_mean;
    if (info->budget_us > 0 && info->budget_us < most)
        most = info->budget_us;
    info->chosen = info->entries;
    for (size_t i = 0; i < info->entries; i++) {
        limn_entry *e = &race->entries[i].public;
        e->fits = race->entries[i].model && e->latency_us_mean <= most && e->within_loss;
        if (e->fits && (info->chosen == info->entries ||
                        is_better(info, e, &race->entries[info->chosen].public)))
            info->chosen = i;
    }
}

/* ---- the whole ---- */

static limn_status check(limn_context *ctx, const limn_model *model,
                         const limn_accelerate_options *options) {
    limn_task task = model->schema.task;
    if (task != LIMN_CLASSIFY && task != LIMN_REGRESS)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                       "accelerate is for models that classify or regress, and the task of this "
                       "one is %s",
                       limn_task_name(task));
    if (lm_model_capabilities(model) & LIMN_CAN_REJECT)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                       "this %s model rejects rows as unknown, which a faster model drawn from it "
                       "could not do; train one with reject=0 to accelerate it",
                       model->method->info.name);
    if (task == LIMN_CLASSIFY && model->schema.labels.count < 2)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                       "the model knows one class only and cannot be made faster");
    if (!(options->time_limit > 0) || isnan(options->max_loss) || !(options->budget_us >= 0))
        return lm_fail(ctx, LIMN_E_USAGE,
                       "the time limit must be above 0, and loss and budget must be numbers");
    return LIMN_OK;
}

/* Whether a loss of accuracy can be measured: on rows that the machine was trained on, and on rows
 * of one class, anything may seem as good or as bad. */
static bool by_accuracy(const limn_race *race) {
    return race->rows.labelled && !race->rows.familiar.trained && isfinite(race->uc);
}

static void settle_loss(limn_race *race) {
    limn_race_info *info = &race->info;
    double given = race->options.max_loss;
    info->judge = LIMN_JUDGE_AGREEMENT;
    info->max_loss = info->familiar ? LOSS_FAMILIAR : LOSS_AGREEMENT;
    info->max_uc_loss = (double)NAN;
    if (race->model->schema.task == LIMN_REGRESS) {
        info->judge = LIMN_JUDGE_VALUES;
        info->max_loss = LOSS_VALUES;
    } else if (by_accuracy(race)) {
        info->judge = LIMN_JUDGE_ACCURACY;
        info->max_loss = LOSS_ACCURACY;
    }
    if (given >= 0)
        info->max_loss = given;
    else if (info->budget_us > 0)
        info->max_loss = (double)INFINITY;
    if (info->judge == LIMN_JUDGE_ACCURACY)
        info->max_uc_loss = UC_PER_ACCURACY * info->max_loss;
}

static void describe_rows(limn_race *race) {
    const lm_svm *svm = lm_race_svm(race->model);
    limn_race_info *info = &race->info;
    info->fitted = race->rows.fit->n;
    info->judged = race->rows.judge->n;
    info->sampled = race->rows.sampled;
    info->vectors = race->rows.sampled && !race->options.test ? 0 : svm ? svm->n : 0;
    info->found = race->rows.familiar.found;
    info->familiar = race->rows.familiar.trained;
}

/* A model that is no better than its most frequent class got rows of another kind. */
static limn_status check_sense(limn_context *ctx, const limn_race *race) {
    const limn_data *data = race->rows.judge;
    size_t k = data->schema.labels.count, most = 0;
    if (race->info.judge != LIMN_JUDGE_ACCURACY)
        return LIMN_OK;
    size_t *count = lm_alloc_zero(&ctx->mem, k + 1, sizeof *count);
    if (!count)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < data->n; i++) {
        size_t *own = &count[data->label[i]];
        most = ++*own > most ? *own : most;
    }
    lm_free(&ctx->mem, count);
    double frequent = (double)most / (double)data->n;
    if (race->accuracy < frequent)
        lm_warn(ctx,
                "the model is right about %.1f %% of the rows, and the most frequent class alone "
                "is %.1f %% of them; are the labels right (--label), and are the rows scaled as it "
                "needs them (--ranges)?",
                100 * race->accuracy, 100 * frequent);
    return LIMN_OK;
}

/* The model itself, by which all others are measured. */
static limn_status enter_first(limn_context *ctx, limn_race *race) {
    lm_entry *first = &race->entries[0];
    limn_status status = judge(ctx, race, first);
    race->accuracy = first->public.accuracy;
    race->uc = first->public.uncertainty_coefficient;
    first->public.state = LIMN_ENTRY_RACED;
    settle_loss(race);
    weigh(race, &first->public);
    if (status == LIMN_OK)
        status = check_sense(ctx, race);
    return status == LIMN_OK ? lm_race_glance(ctx, race, first) : status;
}

static limn_status race_all(limn_context *ctx, const limn_data *data, limn_race *race) {
    double begun = lm_clock(), limit = race->options.time_limit;
    limn_status status = lm_race_rows_make(ctx, race->model, data, race->options.test,
                                           ASKING_SHARE * limit, &race->rows);
    if (status == LIMN_OK)
        status = lm_race_list(ctx, race);
    if (status != LIMN_OK)
        return status;
    describe_rows(race);
    race->deadline = begun + limit - fmin(0.2 * limit, TIMING_SECONDS * (double)race->info.entries);
    status = enter_first(ctx, race);
    if (status == LIMN_OK)
        status = run(ctx, race);
    if (status == LIMN_OK)
        status = lm_race_time(ctx, race);
    if (status == LIMN_OK)
        choose(race);
    return status;
}

limn_status limn_accelerate(limn_context *context, const limn_model *model, const limn_data *data,
                            const limn_accelerate_options *options, limn_race **out) {
    limn_accelerate_options own;
    *out = NULL;
    limn_accelerate_options_init(&own);
    limn_status status = lm_options_take(context, "accelerate_options", options, &own, sizeof own);
    if (status == LIMN_OK)
        status = check(context, model, &own);
    if (status != LIMN_OK)
        return status;
    limn_race *race = lm_alloc_zero(&context->mem, 1, sizeof *race);
    if (!race)
        return lm_fail_memory(context);
    double none = (double)NAN;
    race->mem = context->mem;
    race->model = model;
    race->options = own;
    race->info = (limn_race_info){.budget_us = own.budget_us,
                                  .libsvm_us_mean = none,
                                  .libsvm_us_p50 = none,
                                  .libsvm_us_p99 = none};
    status = race_all(context, data, race);
    if (status != LIMN_OK)
        limn_race_free(race);
    else
        *out = race;
    return status;
}

void limn_race_free(limn_race *race) {
    if (!race)
        return;
    limn_allocator mem = race->mem;
    for (size_t i = 0; race->entries && i < race->info.entries; i++) {
        limn_model_free(race->entries[i].own);
        lm_free(&mem, race->entries[i].why);
    }
    lm_free(&mem, race->entries);
    lm_race_rows_free(&mem, &race->rows);
    lm_free(&mem, race);
}

/* ---- what came of it ---- */

void limn_race_describe(const limn_race *race, limn_race_info *out) {
    lm_sized_give(&race->info, out, sizeof race->info);
}

int limn_race_entry(const limn_race *race, size_t index, limn_entry *out) {
    if (index >= race->info.entries)
        return 0;
    lm_sized_give(&race->entries[index].public, out, sizeof(limn_entry));
    return 1;
}

const limn_model *limn_race_model(const limn_race *race) {
    size_t chosen = race->info.chosen;
    return chosen < race->info.entries ? race->entries[chosen].model : NULL;
}
