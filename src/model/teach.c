/* teach.c: see teach.h. A model answers through a predictor, which spreads batches over the threads
 * of the context; a function supplied by the caller is called only on the calling thread. */
#include "model/teach.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 1024 }; /* rows per call of the caller's function */

/* ---- what may teach ---- */

static int count_teachers(const limn_train_options *o) {
    return (o->teacher != NULL) + (o->teacher_method != NULL) + (o->teach != NULL);
}

lm_teaching_plan lm_teaching_resolve(const lm_method *method, const limn_train_options *options) {
    lm_teaching_plan plan = {.options = *options};
    plan.by_default = count_teachers(options) == 0 && method->info.default_teacher;
    if (plan.by_default)
        plan.options.teacher_method = method->info.default_teacher;
    plan.wanted = count_teachers(&plan.options) > 0;
    return plan;
}

enum { PARAMS_TEXT = 128, FEW_ROWS = 10 /* nothing can be chosen by fewer */ };

/* How the teaching method is trained: with the parameters that the new method wishes for, and then
 * with those that were given. */
typedef struct first_plan {
    limn_train_options options;
    const char *params[2 * LM_PARAMS_MAX];
    char wishes[PARAMS_TEXT];
} first_plan;

/* Whether a value is given for the key of a wish. */
static bool is_given(const char *wish, const limn_train_options *options) {
    size_t key = strcspn(wish, "=") + 1;
    for (size_t i = 0; i < options->teacher_param_count; i++)
        if (strncmp(options->teacher_params[i], wish, key) == 0)
            return true;
    return false;
}

/* Cuts "key=value key=value" into its parts, without those that are given; how many are left. */
static size_t cut(const char *wishes, const limn_train_options *options, first_plan *first) {
    size_t count = 0;
    char *at = first->wishes;
    (void)snprintf(at, PARAMS_TEXT, "%s", wishes);
    for (char *end; *at && count < LM_PARAMS_MAX; at = end) {
        end = at + strcspn(at, " ");
        if (*end)
            *end++ = '\0';
        if (!is_given(at, options))
            first->params[count++] = at;
    }
    return count;
}

static limn_status plan_first(limn_context *ctx, const lm_method *method, size_t rows,
                              const lm_teaching_plan *plan, first_plan *first) {
    const limn_train_options *options = &plan->options;
    limn_train_options_init(&first->options);
    first->options.method = options->teacher_method;
    first->options.scale = options->scale;
    first->options.params = first->params;
    bool wishes = plan->by_default && method->teacher_params && rows >= FEW_ROWS;
    size_t count = wishes ? cut(method->teacher_params, options, first) : 0;
    if (options->teacher_param_count > LM_PARAMS_MAX)
        return lm_fail(ctx, LIMN_E_USAGE, "%zu parameters for the teacher are too many",
                       options->teacher_param_count);
    for (size_t i = 0; i < options->teacher_param_count; i++)
        first->params[count++] = options->teacher_params[i];
    first->options.param_count = count;
    return LIMN_OK;
}

limn_status lm_teaching_check(limn_context *ctx, const lm_method *method, limn_task task,
                              const lm_teaching_plan *plan) {
    const limn_train_options *options = &plan->options;
    if (count_teachers(options) > 1)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "a model can have only one teacher: give a model, a method or a function");
    if (!options->teacher_method && options->teacher_param_count)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "parameters were given for the teacher but no method; name one (--teacher)");
    if (!plan->wanted)
        return LIMN_OK;
    if (!(lm_method_capabilities(method) & LIMN_CAN_BE_TAUGHT))
        return lm_fail(ctx, LIMN_E_USAGE,
                       "%s cannot learn from a teacher; see 'limn methods' for "
                       "methods that can (can: teacher)",
                       method->info.name);
    if (options->teacher && options->scale != LIMN_SCALE_AUTO)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "the new model takes over the teacher's scaling; leave out --scale %s",
                       limn_scale_name(options->scale));
    if (!options->teacher_method)
        return LIMN_OK;
    lm_params params;
    const lm_method *teacher;
    first_plan first;
    limn_status status = plan_first(ctx, method, SIZE_MAX, plan, &first);
    return status == LIMN_OK ? lm_model_plan(ctx, &first.options, task, &teacher, &params) : status;
}

/* The new model takes over the teacher's columns and labels, so the data must match them. */
static limn_status check_data(limn_context *ctx, const limn_model *model, const limn_data *data) {
    const lm_schema *own = &data->schema, *theirs = &model->schema;
    if (theirs->task != own->task)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "the teacher was trained for the task %s and cannot teach the task %s",
                       limn_task_name(theirs->task), limn_task_name(own->task));
    if (own->features != theirs->features)
        return lm_fail(ctx, LIMN_E_DATA, "the data has %zu feature%s, but the teacher has %zu",
                       own->features, own->features == 1 ? "" : "s", theirs->features);
    if (own->labels.count < theirs->labels.count)
        return lm_fail(
            ctx, LIMN_E_DATA,
            "the data has %zu class%s, but the teacher has %zu; read the data with match = the "
            "teacher",
            own->labels.count, own->labels.count == 1 ? "" : "es", theirs->labels.count);
    for (size_t c = 0; c < own->labels.count; c++)
        if (c >= theirs->labels.count ||
            strcmp(own->labels.names[c], theirs->labels.names[c]) != 0) {
            char shown[48];
            const char *name = own->labels.names[c];
            (void)lm_quote(name, strlen(name), shown);
            return lm_labels_find(&theirs->labels, name, strlen(name)) >= 0
                       ? lm_fail(ctx, LIMN_E_DATA,
                                 "the teacher numbers its classes otherwise: '%s' is not number "
                                 "%zu; read the data with match = the teacher",
                                 shown, c)
                       : lm_fail(ctx, LIMN_E_DATA,
                                 "the teacher has no class '%s'; remove its rows, or choose a "
                                 "teacher that knows it",
                                 shown);
        }
    return LIMN_OK;
}

/* Parameters may hold names of classes, in any letters. */
static void make_plain(char *text) {
    for (; *text; text++)
        *text = *text >= ' ' && *text <= '~' ? *text : '?';
}

/* In words: "svm (C=auto gamma=auto), trained first on 20000 of 60000 rows". */
static limn_status describe_first(limn_context *ctx, const first_plan *first, const limn_data *data,
                                  lm_teaching *t) {
    char text[512];
    int used = snprintf(text, sizeof text, "%s", first->options.method);
    for (size_t i = 0; i < first->options.param_count && used < (int)sizeof text; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i ? " " : " (",
                         first->options.params[i]);
    if (used < (int)sizeof text)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s, trained first",
                         first->options.param_count ? ")" : "");
    if (used < (int)sizeof text && t->trained->rows != data->n)
        (void)snprintf(text + used, sizeof text - (size_t)used, " on %llu of %zu rows",
                       (unsigned long long)t->trained->rows, data->n);
    make_plain(text);
    t->about = lm_strdup(&ctx->mem, text);
    return t->about ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status train_first(limn_context *ctx, const limn_data *data, const lm_method *method,
                               const lm_teaching_plan *plan, lm_teaching *t) {
    first_plan first;
    limn_data *part = NULL;
    size_t most = plan->by_default ? method->teacher_rows : 0;
    limn_status status = plan_first(ctx, method, data->n, plan, &first);
    if (status == LIMN_OK && most && data->n > most)
        status = limn_data_subsample(ctx, data, (double)most / (double)data->n, &part);
    if (status == LIMN_OK)
        status = lm_model_train(ctx, part ? part : data, &first.options, &t->trained);
    if (status == LIMN_OK)
        status = describe_first(ctx, &first, data, t);
    limn_data_free(part);
    t->model = t->trained;
    return status;
}

limn_status lm_teaching_begin(limn_context *ctx, const limn_data *data, const lm_method *method,
                              const lm_teaching_plan *plan, lm_teaching *t) {
    const limn_train_options *options = &plan->options;
    *t = (lm_teaching){.teach = options->teach,
                       .user = options->teach_user,
                       .model = options->teacher,
                       .mem = &ctx->mem};
    limn_status status = LIMN_OK;
    if (options->teacher_method)
        status = train_first(ctx, data, method, plan, t);
    return status == LIMN_OK && t->model ? check_data(ctx, t->model, data) : status;
}

/* Log densities are answered in the units of the data. The new model's method works in those of the
 * scaled rows, and its answers are turned back when it predicts. */
static void see_scaled(const lm_teacher *teacher, const lm_scaler *scaler, double *out, size_t n) {
    double by = teacher->task == LIMN_DENSITY ? lm_scaler_log_volume(scaler) : 0;
    for (size_t i = 0; i < n && by != 0; i++)
        out[i] -= by;
}

/* ---- a model teaches ---- */

static limn_status ask_model(const lm_teacher *teacher, limn_context *ctx, const float *x, size_t n,
                             double *out) {
    lm_teaching *t = teacher->user;
    lm_query query = {
        .x = x, .n = n, .width = teacher->d, .scaled = true, .kind = LM_ASK_VALUES, .out = out};
    (void)ctx;
    if (teacher->kind == LM_TEACHES_PROBA)
        query.kind = LM_ASK_PROBA;
    if (teacher->kind == LM_TEACHES_PAIRS || teacher->kind == LM_TEACHES_DISTANCE)
        query.kind = LM_ASK_SCORES;
    limn_status status = lm_predictor_run(t->predictor, &query);
    if (status == LIMN_OK)
        see_scaled(teacher, t->scaler, out, n);
    return status;
}

static limn_status model_field(const lm_teacher *teacher, limn_context *ctx, size_t first,
                               size_t second, struct lm_field *out) {
    const lm_teaching *t = teacher->user;
    return t->model->method->field(ctx, t->model->body, first, second, out);
}

/* Decision values of pairs are the most informative, then probabilities, then distances. */
static limn_status make_from_model(limn_context *ctx, lm_teaching *t) {
    const limn_model *m = t->model;
    const lm_method *method = m->method;
    unsigned can = lm_model_capabilities(m);
    limn_predictor_options options;
    t->teacher.d = m->scaler.out;
    t->teacher.answer = ask_model;
    t->teacher.field = method->field && m->schema.task == LIMN_CLASSIFY ? model_field : NULL;
    t->teacher.machine = method->machine ? method->machine(m->body) : NULL;
    t->teacher.width = 1;
    t->teacher.kind = LM_TEACHES_VALUE;
    if (m->schema.task == LIMN_CLASSIFY && method->scores && !method->class_scores) {
        t->teacher.kind = LM_TEACHES_PAIRS;
        t->teacher.width = method->score_count(m->body);
    } else if (m->schema.task == LIMN_CLASSIFY) {
        t->teacher.kind = can & LIMN_CAN_PROBA ? LM_TEACHES_PROBA : LM_TEACHES_DISTANCE;
        t->teacher.width = m->schema.labels.count;
    }
    bool silent = m->schema.task == LIMN_CLASSIFY ? !method->scores && !(can & LIMN_CAN_PROBA)
                                                  : !method->values;
    if (silent)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                       "%s gives neither probabilities nor decision values to teach with",
                       method->info.name);
    limn_predictor_options_init(&options);
    options.threads = 0;
    return limn_predictor_new(ctx, m, &options, &t->predictor);
}

/* ---- a function teaches ---- */

static limn_status check_answers(limn_context *ctx, const lm_teacher *teacher, const double *out,
                                 size_t n) {
    for (size_t i = 0; i < n * teacher->width; i++)
        if (!(out[i] >= -1e300 && out[i] <= 1e300))
            return lm_fail(ctx, LIMN_E_DATA, "the teacher's answer is not a finite number");
    return LIMN_OK;
}

static limn_status ask_function(const lm_teacher *teacher, limn_context *ctx, const float *x,
                                size_t n, double *out) {
    const lm_teaching *t = teacher->user;
    limn_status status = LIMN_OK;
    for (size_t first = 0; first < n && status == LIMN_OK; first += CHUNK) {
        size_t some = n - first < CHUNK ? n - first : CHUNK;
        double *answers = out + first * teacher->width;
        status = lm_scaler_undo(ctx, t->scaler, t->inverse, x + first * teacher->d, some, t->usual,
                                t->rows);
        if (status != LIMN_OK)
            return status;
        status = t->teach(t->user, t->rows, some, answers);
        if (status != LIMN_OK)
            return lm_fail(ctx, status, "the teacher failed: %s", limn_status_string(status));
        status = check_answers(ctx, teacher, answers, some);
        see_scaled(teacher, t->scaler, answers, some);
    }
    return status;
}

static limn_status make_from_function(limn_context *ctx, const limn_data *data, lm_teaching *t) {
    size_t cells;
    bool classify = data->schema.task == LIMN_CLASSIFY;
    t->teacher.d = t->scaler->out;
    t->teacher.answer = ask_function;
    t->teacher.kind = classify ? LM_TEACHES_PROBA : LM_TEACHES_VALUE;
    t->teacher.width = classify ? data->schema.labels.count : 1;
    t->usual = data->x;
    if (lm_mul(CHUNK, data->schema.features, &cells))
        t->rows = lm_alloc(&ctx->mem, cells, sizeof *t->rows);
    return t->rows ? lm_scaler_invert(ctx, t->scaler, &t->inverse) : lm_fail_memory(ctx);
}

limn_status lm_teaching_make(limn_context *ctx, const limn_data *data, const lm_scaler *scaler,
                             lm_teaching *t) {
    bool classify = data->schema.task == LIMN_CLASSIFY;
    t->scaler = scaler;
    t->teacher = (lm_teacher){.task = data->schema.task, .user = t};
    if (classify)
        t->teacher.classes = t->model ? t->model->schema.labels.count : data->schema.labels.count;
    return t->model ? make_from_model(ctx, t) : make_from_function(ctx, data, t);
}

void lm_teaching_free(lm_teaching *t) {
    limn_predictor_free(t->predictor);
    limn_model_free(t->trained);
    if (t->about)
        lm_free(t->mem, t->about);
    if (t->rows)
        lm_free(t->mem, t->rows);
    if (t->inverse)
        lm_free(t->mem, t->inverse);
    *t = (lm_teaching){.rows = NULL};
}
