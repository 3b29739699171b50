/* rows.c: the rows of a race.
 *
 * Three fifths of the data are fitted to and the rest judges (stratified, seeded), or all of it is
 * fitted to and other rows judge; without data, points.c makes rows. New models see the columns and
 * classes of the model given, so rows whose class it does not know, or which have none, are given
 * its answer to be fitted to; they do not judge. A slow model is asked about a part of the rows, so
 * that time is left for the race. */
#include "choose/race.h"

#include "data/split.h"
#include "svm/machine.h"

#include <math.h>
#include <string.h>

enum { FOLDS = 5, FITTED_FOLDS = 3, LEAST_ROWS = 20 };

const lm_svm *lm_race_svm(const limn_model *model) {
    const lm_machine *machine = model->method->machine ? model->method->machine(model->body) : NULL;
    return machine ? machine->svm : NULL;
}

void lm_race_rows_free(const limn_allocator *mem, lm_race_rows *r) {
    limn_data_free(r->fit);
    limn_data_free(r->judge);
    limn_data_free(r->wide);
    lm_free(mem, r->classes);
    lm_free(mem, r->values);
    *r = (lm_race_rows){.fit = NULL};
}

/* ---- what the model answers ---- */

enum { FIRST_STEP = 32, LAST_STEP = 4096 };
#define STEP_SECONDS 0.05 /* between two chances to cancel */

static size_t next_step(size_t step, double took) {
    if (took < STEP_SECONDS / 2)
        return 2 * step < LAST_STEP ? 2 * step : LAST_STEP;
    return took > 2 * STEP_SECONDS && step > 1 ? step / 2 : step;
}

limn_status lm_race_answer(limn_context *ctx, const limn_model *model, const limn_data *data,
                           int32_t *classes, double *values) {
    size_t width = lm_schema_width(&data->schema), step = FIRST_STEP;
    limn_predictor *predictor = NULL;
    limn_predictor_options options;
    limn_predictor_options_init(&options);
    options.threads = 0;
    limn_status status = limn_predictor_new(ctx, model, &options, &predictor);
    for (size_t i = 0, n; i < data->n && status == LIMN_OK; i += n) {
        double begun = lm_clock();
        n = data->n - i < step ? data->n - i : step;
        lm_query query = {.x = data->x + i * width,
                          .n = n,
                          .width = width,
                          .kind = classes ? LM_ASK_CLASSES : LM_ASK_VALUES,
                          .out = classes ? (void *)(classes + i) : (void *)(values + i)};
        status = lm_predictor_run(predictor, &query);
        if (status == LIMN_OK)
            status = lm_progress(ctx, "asking the model", i + n, data->n,
                                 (double)(i + n) / (double)data->n);
        step = next_step(step, lm_clock() - begun);
    }
    limn_predictor_free(predictor);
    return status;
}

enum { PROBED = 64 };

/* Twice, because the first answers may be slow. */
limn_status lm_race_affordable(limn_context *ctx, const limn_model *model, const limn_data *data,
                               double seconds, size_t *rows) {
    limn_data few = *data;
    double value[PROBED], took = INFINITY;
    int32_t class[PROBED];
    bool regress = model->schema.task == LIMN_REGRESS;
    limn_status status = LIMN_OK;
    few.n = data->n < PROBED ? data->n : PROBED;
    for (int i = 0; i < 2 && status == LIMN_OK; i++) {
        double begun = lm_clock();
        status = lm_race_answer(ctx, model, &few, regress ? NULL : class, regress ? value : NULL);
        took = fmin(took, lm_clock() - begun);
    }
    double count = fmax(LM_RACE_ASKED_LEAST, seconds / fmax(took, 1e-9) * (double)few.n);
    *rows = (size_t)fmin(count, 1e15);
    return status;
}

limn_status lm_race_answers(limn_context *ctx, const limn_model *model, const limn_data *data,
                            int32_t **classes, double **values) {
    bool regress = model->schema.task == LIMN_REGRESS;
    if (regress)
        *values = lm_alloc(&ctx->mem, data->n, sizeof **values);
    else
        *classes = lm_alloc(&ctx->mem, data->n, sizeof **classes);
    if (!*values && !*classes)
        return lm_fail_memory(ctx);
    return lm_race_answer(ctx, model, data, *classes, *values);
}

/* ---- rows that are fitted to ---- */

/* Gives the rows labels that the model knows: its own answers where there are no others. A
 * regression is judged by the old answers, so it is fitted to them. */
static limn_status complete(limn_context *ctx, const limn_model *model, limn_data *data,
                            const int32_t *classes, const double *values) {
    int32_t known = (int32_t)model->schema.labels.count;
    if (values && !data->target)
        data->target = lm_alloc(&data->mem, data->n, sizeof *data->target);
    if (classes && !data->label) {
        data->label = lm_alloc(&data->mem, data->n, sizeof *data->label);
        if (data->label)
            memcpy(data->label, classes, data->n * sizeof *classes);
    }
    if (values ? !data->target : !data->label)
        return lm_fail_memory(ctx);
    if (values)
        memcpy(data->target, values, data->n * sizeof *values);
    for (size_t i = 0; classes && i < data->n; i++)
        if (data->label[i] >= known)
            data->label[i] = classes[i];
    data->schema.task = model->schema.task;
    lm_labels_free(&data->schema.labels);
    return classes ? lm_labels_copy(ctx, &model->schema.labels, &data->schema.labels) : LIMN_OK;
}

/* Without weights; *narrow: also without the hidden feature, NULL if there is none. */
static limn_status strip(limn_context *ctx, limn_data *data, limn_data **narrow) {
    lm_free(&data->mem, data->weight);
    data->weight = NULL;
    return lm_data_narrow(ctx, data, narrow);
}

/* Takes the rows over. */
static limn_status take_fit(limn_context *ctx, const limn_model *model, limn_data *data,
                            lm_race_rows *r) {
    int32_t *classes = NULL;
    double *values = NULL;
    limn_data *narrow = NULL;
    limn_status status = lm_race_answers(ctx, model, data, &classes, &values);
    if (status == LIMN_OK)
        status = strip(ctx, data, &narrow);
    r->fit = narrow ? narrow : data;
    if (narrow)
        limn_data_free(data);
    if (status == LIMN_OK)
        status = complete(ctx, model, r->fit, classes, values);
    lm_free(&ctx->mem, classes);
    lm_free(&ctx->mem, values);
    return status;
}

/* ---- rows that judge ---- */

/* The rows for which choose is true. */
static limn_status take_rows(limn_context *ctx, const limn_data *data,
                             bool (*choose)(const void *user, size_t row), const void *user,
                             limn_data **out) {
    size_t count = 0, *rows = lm_alloc(&ctx->mem, data->n, sizeof *rows);
    if (!rows)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < data->n; i++)
        if (choose(user, i))
            rows[count++] = i;
    limn_status status = lm_data_take(ctx, data, rows, count, out);
    lm_free(&ctx->mem, rows);
    return status;
}

static bool any(const void *user, size_t row) {
    (void)user;
    (void)row;
    return true;
}

limn_status lm_race_copy(limn_context *ctx, const limn_data *data, limn_data **out) {
    return take_rows(ctx, data, any, NULL, out);
}

typedef struct known {
    const int32_t *label;
    int32_t classes;
} known;

static bool is_known(const void *user, size_t row) {
    const known *k = user;
    return k->label[row] < k->classes;
}

/* Leaves out rows that the model cannot get right. If few are left, the labels are of no use. */
static limn_status keep_known(limn_context *ctx, const limn_model *model, limn_data **data) {
    limn_data *some = NULL;
    known k = {(*data)->label, (int32_t)model->schema.labels.count};
    size_t count = 0, n = (*data)->n;
    for (size_t i = 0; i < n && k.label; i++)
        count += is_known(&k, i);
    if (!k.label || count == n)
        return LIMN_OK;
    if (count < LEAST_ROWS) {
        lm_warn(ctx,
                "%zu of the %zu rows that judge have a label that the model knows: too few, so the "
                "labels are not used; is it the right label column (--label)?",
                count, n);
        lm_free(&(*data)->mem, (*data)->label);
        (*data)->label = NULL;
        return LIMN_OK;
    }
    lm_warn(ctx,
            "%zu of the %zu rows that judge have labels that the model does not know, and are left "
            "out",
            n - count, n);
    limn_status status = take_rows(ctx, *data, is_known, &k, &some);
    if (status == LIMN_OK) {
        limn_data_free(*data);
        *data = some;
    }
    return status;
}

/* Takes the rows over. */
static limn_status take_judge(limn_context *ctx, const limn_model *model, limn_data *data,
                              lm_race_rows *r) {
    limn_data *narrow = NULL;
    limn_status status = keep_known(ctx, model, &data);
    if (status == LIMN_OK)
        status = strip(ctx, data, &narrow);
    r->judge = narrow ? narrow : data;
    r->wide = narrow ? data : NULL;
    r->labelled = model->schema.task == LIMN_REGRESS ? data->target != NULL : data->label != NULL;
    return status == LIMN_OK ? lm_race_answers(ctx, model, data, &r->classes, &r->values) : status;
}

/* ---- both ---- */

limn_status lm_race_take(limn_context *ctx, const limn_model *model, limn_data *fit,
                         limn_data *judge, lm_race_rows *r) {
    limn_status status = take_fit(ctx, model, fit, r);
    if (status == LIMN_OK)
        return take_judge(ctx, model, judge, r);
    limn_data_free(judge);
    return status;
}

typedef struct part {
    const uint32_t *fold;
    bool fitted;
} part;

static bool is_in_part(const void *user, size_t row) {
    const part *p = user;
    return (p->fold[row] < FITTED_FOLDS) == p->fitted;
}

static limn_status split(limn_context *ctx, const limn_data *data, limn_data **first,
                         limn_data **second) {
    uint32_t *fold = lm_alloc(&ctx->mem, data->n, sizeof *fold);
    limn_status status = fold ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_split_folds(ctx, data->label, data->n, FOLDS, ctx->seed, fold);
    if (status == LIMN_OK)
        status = take_rows(ctx, data, is_in_part, &(part){fold, true}, first);
    if (status == LIMN_OK)
        status = take_rows(ctx, data, is_in_part, &(part){fold, false}, second);
    lm_free(&ctx->mem, fold);
    return status;
}

limn_status lm_race_count_familiar(limn_context *ctx, const limn_model *model,
                                   const limn_data *data, lm_familiar *out) {
    const lm_svm *svm = lm_race_svm(model);
    size_t cells, width = lm_schema_width(&data->schema), d = model->scaler.out;
    if (!svm)
        return LIMN_OK;
    if (lm_scaler_is_none(&model->scaler))
        return lm_race_familiar(ctx, svm, data->x, width, data->n, out);
    void *spare = NULL;
    float *scaled = lm_mul(data->n, d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *scaled) : NULL;
    limn_status status =
        scaled ? lm_scaler_spare(ctx, &model->scaler, &spare) : lm_fail_memory(ctx);
    for (size_t i = 0; i < data->n && status == LIMN_OK; i++)
        lm_scaler_apply(&model->scaler, data->x + i * width, 1, scaled + i * d, spare);
    if (status == LIMN_OK)
        status = lm_race_familiar(ctx, svm, scaled, d, data->n, out);
    lm_free_aligned(&ctx->mem, spare);
    lm_free(&ctx->mem, scaled);
    return status;
}

/* A part of the rows, of each class alike, or all. */
static limn_status thin(limn_context *ctx, const limn_data *data, double share, limn_data **out) {
    size_t count, *rows;
    share = fmax(share, (double)LEAST_ROWS / (double)data->n);
    if (!(share < 1))
        return lm_race_copy(ctx, data, out);
    rows = lm_alloc(&ctx->mem, data->n, sizeof *rows);
    if (!rows)
        return lm_fail_memory(ctx);
    limn_status status = lm_split_sample(ctx, data->label, data->n, share, ctx->seed, rows, &count);
    if (status == LIMN_OK)
        status = lm_data_take(ctx, data, rows, count, out);
    lm_free(&ctx->mem, rows);
    return status;
}

/* Copies of both, with as many rows as can be asked about in this time. */
static limn_status copy(limn_context *ctx, const limn_model *model, const limn_data *data,
                        const limn_data *test, double seconds, limn_data **first,
                        limn_data **second) {
    size_t all = data->n + (test ? test->n : 0), most = 0;
    limn_status status = lm_race_affordable(ctx, model, data, seconds, &most);
    double share = (double)most / (double)all;
    if (status == LIMN_OK)
        status = thin(ctx, data, share, first);
    if (status == LIMN_OK && test)
        status = thin(ctx, test, share, second);
    if (status == LIMN_OK && share < 1)
        lm_warn(ctx,
                "the model is slow, so %zu of the %zu rows are used; a longer --time-limit allows "
                "more",
                (*first)->n + (test ? (*second)->n : 0), all);
    return status;
}

/* Faster models take the model's own features only. */
static void tell_beyond(limn_context *ctx, const limn_data *data) {
    size_t width = lm_schema_width(&data->schema), count = 0;
    for (size_t i = 0; i < data->n && data->schema.beyond; i++)
        count += data->x[(i + 1) * width - 1] > 0;
    if (count)
        lm_warn(ctx,
                "%zu rows have features beyond the %zu of the model; this SVM takes them, but "
                "faster models do not know them, and limn will refuse such rows",
                count, data->schema.features);
}

static limn_status check_count(limn_context *ctx, const char *what, const limn_data *data) {
    if (!data || data->n >= LEAST_ROWS)
        return LIMN_OK;
    return lm_fail(ctx, LIMN_E_DATA, "%zu row%s too few to %s; give at least %d", data->n,
                   data->n == 1 ? " is" : "s are", what, LEAST_ROWS);
}

limn_status lm_race_rows_make(limn_context *ctx, const limn_model *model, const limn_data *data,
                              const limn_data *test, double seconds, lm_race_rows *r) {
    limn_data *first = NULL, *second = NULL;
    *r = (lm_race_rows){.fit = NULL};
    limn_status status = check_count(ctx, "judge by", test);
    if (status == LIMN_OK)
        status = check_count(ctx, test ? "fit to" : "fit to and to judge by", data);
    if (status != LIMN_OK)
        return status;
    if (!data)
        return lm_race_rows_sample(ctx, model, test, seconds, r);
    tell_beyond(ctx, test ? test : data);
    status = copy(ctx, model, data, test, seconds, &first, &second);
    if (status == LIMN_OK)
        status = lm_race_count_familiar(ctx, model, test ? second : first, &r->familiar);
    if (status == LIMN_OK && !test) {
        limn_data *whole = first;
        first = NULL;
        status = split(ctx, whole, &first, &second);
        limn_data_free(whole);
    }
    if (status == LIMN_OK)
        return lm_race_take(ctx, model, first, second, r);
    limn_data_free(first);
    limn_data_free(second);
    return status;
}
