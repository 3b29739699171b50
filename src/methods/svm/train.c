/* train.c: converting parameters to libsvm's, the search for C and gamma, probabilities. */
#include "fit/select.h"
#include "methods/svm/svm.h"

#include <math.h>
#include <string.h>

/* The search: five folds of at most this many rows; C from 2^-5 to 2^11, gamma from 2^-8 to 2^4
 * times 1/features, with a factor of 16 between coarse points. */
enum { FOLDS = 5, SEARCHED_ROWS = 2000 };

static void free_model(const limn_allocator *mem, sv_model *m) {
    lm_machine_free(mem, &m->machine);
    lm_svm_free(mem, &m->svm);
    lm_free(mem, m->labels);
    lm_free(mem, m);
}

void sv_destroy(const limn_allocator *mem, void *opaque) {
    if (opaque)
        free_model(mem, opaque);
}

/* ---- parameters ---- */

static limn_status choose_type(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                               lm_svm_type *type) {
    int choice = lm_param_choice(params, "type");
    if (choice == SVM_TYPE_AUTO)
        *type = set->task == LIMN_CLASSIFY  ? LM_C_SVC
                : set->task == LIMN_OUTLIER ? LM_ONE_CLASS
                                            : LM_EPSILON_SVR;
    else
        *type = (lm_svm_type)(choice - 1);
    limn_task task = lm_svm_is_svc(*type)    ? LIMN_CLASSIFY
                     : *type == LM_ONE_CLASS ? LIMN_OUTLIER
                                             : LIMN_REGRESS;
    if (task != set->task)
        return lm_fail(ctx, LIMN_E_USAGE, "svm: type=%s is for the task %s, not %s",
                       lm_svm_type_name(*type), limn_task_name(task), limn_task_name(set->task));
    return LIMN_OK;
}

static lm_svm_options options_of(const lm_train_set *set, const lm_params *params,
                                 lm_svm_type type) {
    double gamma = lm_param_real(params, "gamma");
    return (lm_svm_options){.type = type,
                            .kernel = {.type = (lm_kernel_type)lm_param_choice(params, "kernel"),
                                       .degree = (int)lm_param_int(params, "degree"),
                                       .gamma = gamma > 0 ? gamma : 1 / (double)set->d,
                                       .coef0 = lm_param_real(params, "coef0")},
                            .c = lm_param_real(params, "C"),
                            .nu = lm_param_real(params, "nu"),
                            .epsilon = lm_param_real(params, "epsilon"),
                            .tolerance = lm_param_real(params, "tolerance"),
                            .cache_mb = lm_param_real(params, "cache"),
                            .shrinking = lm_param_choice(params, "shrinking") == 0};
}

/* ---- the search ---- */

typedef struct search {
    const lm_train_set *set;
    lm_svm_options options;
} search;

/* A copy of some rows, with their labels or targets. */
typedef struct part {
    float *x;
    int32_t *label;
    double *target;
    size_t n;
} part;

static void part_free(const limn_allocator *mem, part *p) {
    lm_free(mem, p->x);
    lm_free(mem, p->label);
    lm_free(mem, p->target);
}

static limn_status part_take(limn_context *ctx, const lm_train_set *set, const size_t *rows,
                             size_t count, part *p) {
    size_t cells;
    *p = (part){.n = count};
    if (lm_mul(count, set->d, &cells))
        p->x = lm_alloc(&ctx->mem, cells, sizeof *p->x);
    p->label = lm_alloc(&ctx->mem, count, sizeof *p->label);
    p->target = lm_alloc(&ctx->mem, count, sizeof *p->target);
    if (!p->x || !p->label || !p->target)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < count; i++) {
        memcpy(p->x + i * set->d, set->x + rows[i] * set->d, set->d * sizeof *p->x);
        p->label[i] = set->label ? set->label[rows[i]] : 0;
        p->target[i] = set->target ? set->target[rows[i]] : 0;
    }
    return LIMN_OK;
}

/* Numbers the classes that occur 0, 1, ...; name[c] = the original number of class c. */
static size_t compact(part *p, size_t classes, int32_t *name, int32_t *number) {
    size_t count = 0;
    for (size_t c = 0; c < classes; c++)
        number[c] = -1;
    for (size_t i = 0; i < p->n; i++)
        number[p->label[i]] = 0;
    for (size_t c = 0; c < classes; c++)
        if (number[c] == 0) {
            name[count] = (int32_t)c;
            number[c] = (int32_t)count++;
        }
    for (size_t i = 0; i < p->n; i++)
        p->label[i] = number[p->label[i]];
    return count;
}

/* Errors of the machine on the rows: wrong classes, or squared errors. */
static limn_status count_errors(limn_context *ctx, sv_model *m, const part *test,
                                const int32_t *name, double *loss) {
    size_t d = m->svm.d;
    lm_cursor at = lm_cursor_at(NULL);
    limn_status status = sv_prepare(ctx, m);
    if (status != LIMN_OK)
        return status;
    sv_scratch(m, LM_BATCH, 0, &at);
    void *scratch = lm_alloc_measured(&ctx->mem, &at);
    if (!scratch)
        return lm_fail_memory(ctx);
    *loss = 0;
    for (size_t first = 0; first < test->n; first += LM_BATCH) {
        int32_t classes[LM_BATCH];
        double values[LM_BATCH];
        size_t n = test->n - first < LM_BATCH ? test->n - first : LM_BATCH;
        if (m->task == LIMN_CLASSIFY)
            sv_vote(m, test->x + first * d, n, classes, scratch);
        else
            sv_values(m, test->x + first * d, n, values, scratch);
        for (size_t i = 0; i < n; i++) {
            double gap = m->task == LIMN_CLASSIFY ? 0 : values[i] - test->target[first + i];
            *loss +=
                m->task == LIMN_CLASSIFY ? name[classes[i]] != test->label[first + i] : gap * gap;
        }
    }
    lm_free_aligned(&ctx->mem, scratch);
    return LIMN_OK;
}

static limn_status train_part(limn_context *ctx, const search *s, const double *values, part *train,
                              int32_t *name, int32_t *number, sv_model *m) {
    const lm_train_set *set = s->set;
    lm_svm_options options = s->options;
    options.c = values[0];
    options.kernel.gamma = values[1];
    size_t classes = set->label ? compact(train, set->classes, name, number) : 0;
    double *weight = NULL;
    if (set->class_weight) {
        weight = lm_alloc(&ctx->mem, set->classes, sizeof *weight);
        if (!weight)
            return lm_fail_memory(ctx);
        for (size_t c = 0; c < classes; c++)
            weight[c] = set->class_weight[name[c]];
    }
    lm_svm_problem problem = {.n = train->n,
                              .d = set->d,
                              .classes = classes,
                              .x = train->x,
                              .label = train->label,
                              .target = set->target ? train->target : NULL,
                              .class_weight = weight};
    limn_status status = lm_svm_train(ctx, &problem, &options, &m->svm);
    m->task = set->task;
    m->stride = set->d;
    lm_free(&ctx->mem, weight);
    return status;
}

static limn_status judge(limn_context *ctx, void *user, const double *values, const size_t *train,
                         size_t train_count, const size_t *test, size_t test_count, double *loss) {
    const search *s = user;
    part a = {.n = 0}, b = {.n = 0};
    size_t k = s->set->classes + 1;
    int32_t *name = lm_alloc_zero(&ctx->mem, k, sizeof *name);
    int32_t *number = lm_alloc_zero(&ctx->mem, k, sizeof *number);
    sv_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    limn_status status = name && number && m ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = part_take(ctx, s->set, train, train_count, &a);
    if (status == LIMN_OK)
        status = part_take(ctx, s->set, test, test_count, &b);
    if (status == LIMN_OK)
        status = train_part(ctx, s, values, &a, name, number, m);
    if (status == LIMN_OK)
        status = count_errors(ctx, m, &b, name, loss);
    sv_destroy(&ctx->mem, m);
    part_free(&ctx->mem, &a);
    part_free(&ctx->mem, &b);
    lm_free(&ctx->mem, name);
    lm_free(&ctx->mem, number);
    return status;
}

static limn_status choose(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                          lm_svm_options *options) {
    bool c = lm_param_is_auto(params, "C"), gamma = lm_param_is_auto(params, "gamma");
    if (options->kernel.type == LM_LINEAR)
        gamma = false;
    if (!c && !gamma)
        return LIMN_OK;
    if (set->task == LIMN_OUTLIER)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "svm: the task outlier has no labels to choose %s by; give it "
                       "a value",
                       c ? "C" : "gamma");
    double unit = 1 / (double)set->d, best[2] = {options->c, options->kernel.gamma};
    lm_axis axes[2] = {
        {.low = 0x1p-5, .high = 0x1p11, .step = 16, .fixed = !c, .value = options->c},
        {.low = unit * 0x1p-8,
         .high = unit * 0x1p4,
         .step = 16,
         .fixed = !gamma,
         .value = options->kernel.gamma}};
    if (options->c <= 0)
        options->c = 1;
    search s = {set, *options};
    limn_status status =
        lm_select(ctx, axes, 2, set->label, set->n, FOLDS, SEARCHED_ROWS, judge, &s, best);
    options->c = best[0];
    options->kernel.gamma = best[1];
    if (status == LIMN_OK)
        lm_info(ctx, "svm: chosen by cross-validation: C=%.6g gamma=%.6g", best[0], best[1]);
    return status;
}

/* ---- training ---- */

static limn_status fit(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                       sv_model *m) {
    lm_svm_type type;
    limn_status status = choose_type(ctx, set, params, &type);
    if (status != LIMN_OK)
        return status;
    lm_svm_options options = options_of(set, params, type);
    lm_svm_problem problem = {.n = set->n,
                              .d = set->d,
                              .classes = set->classes,
                              .x = set->x,
                              .label = set->label,
                              .target = set->target,
                              .class_weight = set->class_weight};
    bool one = lm_svm_is_svc(type) && set->classes == 1; /* nothing to separate */
    if (!one)
        status = choose(ctx, set, params, &options);
    if (status == LIMN_OK)
        status = lm_svm_train(ctx, &problem, &options, &m->svm);
    if (status == LIMN_OK && lm_param_choice(params, "probability") == 1) {
        if (lm_svm_is_svc(type))
            status = lm_svm_calibrate(ctx, &problem, &options, &m->svm);
        else
            lm_warn(ctx, "svm: type=%s has no probabilities", lm_svm_type_name(type));
    }
    return status;
}

limn_status sv_fit(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                   void **out) {
    sv_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->task = set->task;
    m->stride = set->d;
    limn_status status = fit(ctx, set, params, m);
    if (status == LIMN_OK)
        status = sv_prepare(ctx, m);
    if (status != LIMN_OK)
        sv_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
