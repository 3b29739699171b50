/* train.c: lessons, networks, and the model made of those that were chosen. */
#include "methods/student/student.h"

#include <math.h>
#include <string.h>

void st_destroy(const limn_allocator *mem, void *opaque) {
    st_model *m = opaque;
    if (!m)
        return;
    lm_machine_free(mem, &m->machine);
    lm_svm_free(mem, &m->svm);
    if (m->owned) {
        for (size_t i = 0; i < ST_NETS; i++)
            lm_free_aligned(mem, (void *)(uintptr_t)m->data[i]);
        lm_free(mem, (void *)(uintptr_t)m->centre);
        lm_free(mem, (void *)(uintptr_t)m->unit);
    }
    lm_free(mem, m);
}

/* ---- options ---- */

static double real_or(const lm_params *params, const char *key, double otherwise) {
    return lm_param_is_auto(params, key) ? otherwise : lm_param_real(params, key);
}

static size_t count_or_auto(const lm_params *params, const char *key) {
    return lm_param_is_auto(params, key) ? 0 : (size_t)lm_param_int(params, key);
}

static st_options options_of(const limn_context *ctx, const lm_params *params) {
    st_options o = {.last = lm_param_choice(params, "last") == 1,
                    .sharpness = real_or(params, "sharpness", 0),
                    .rate = real_or(params, "rate", 0),
                    .pool = count_or_auto(params, "pool"),
                    .visits = count_or_auto(params, "visits"),
                    .work = (double)count_or_auto(params, "work"),
                    .max_loss = real_or(params, "max_loss", -1),
                    .stream = lm_stream_of(params->owner)};
    o.seed = lm_hash(ctx->seed, o.stream, 100);
    o.nets = st_size_parse(lm_param_text(params, "size"), o.size); /* 0: auto, as was checked */
    return o;
}

static limn_status fail_size(limn_context *ctx, const char *size) {
    char shown[48];
    return lm_fail(ctx, LIMN_E_USAGE,
                   "student: size=%s is not a size; give units such as 64 or 256x128 (at most %d "
                   "layers of %d), or two of these such as 64+256, or auto",
                   lm_quote(size, strlen(size), shown), ST_LAYERS, ST_UNITS);
}

static limn_status fail_last(limn_context *ctx) {
    return lm_fail(ctx, LIMN_E_USAGE,
                   "student: last=teacher needs a teacher that is an svm and classifies");
}

limn_status st_check(limn_context *ctx, limn_task task, const lm_params *params) {
    st_options o = options_of(ctx, params);
    const char *size = lm_param_text(params, "size");
    if (!o.nets && strcmp(size, "auto") != 0)
        return fail_size(ctx, size);
    if (o.nets && (o.work > 0 || o.max_loss >= 0))
        return lm_fail(
            ctx, LIMN_E_USAGE,
            "student: work and max_loss are what a size is chosen by; leave them out, or "
            "give size=auto");
    if (o.nets > 1 && task == LIMN_REGRESS)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "student: two networks are for classes; to regress, give one size");
    if (o.nets > 1 && st_size_work(&o.size[0], 16, 2) >= st_size_work(&o.size[1], 16, 2))
        return lm_fail(ctx, LIMN_E_USAGE,
                       "student: size=%s hands over to a network that is not larger; give the "
                       "smaller one first",
                       size);
    if (o.sharpness > 0 && task == LIMN_REGRESS)
        return lm_fail(ctx, LIMN_E_USAGE, "student: sharpness is for classes; leave it out");
    return o.last && task == LIMN_REGRESS ? fail_last(ctx) : LIMN_OK;
}

static limn_status check_set(limn_context *ctx, const lm_train_set *set, const st_options *o) {
    if (!set->teacher)
        return lm_fail(ctx, LIMN_E_USAGE, "student: a teacher is needed (--teacher)");
    if (set->n > UINT32_MAX / 2)
        return lm_fail(
            ctx, LIMN_E_DATA,
            "%zu rows are more than student can handle; train on a part of them (--subsample)",
            set->n);
    return o->last && set->classes > 1 && !set->teacher->machine ? fail_last(ctx) : LIMN_OK;
}

/* ---- the layers of the model ---- */

/* Beyond these, scaling is not folded into the first layer: its numbers would not fit or cancel. */
#define OFF_CENTRE 64.0
#define UNIT_MOST 1e6

static bool stands_off(const st_lessons *l, size_t j) {
    return fabs(l->centre[j]) > OFF_CENTRE * l->divisor[j] || l->divisor[j] > UNIT_MOST ||
           l->divisor[j] < 1 / UNIT_MOST;
}

static limn_status find_shift(limn_context *ctx, const st_lessons *l, st_model *m) {
    float *centre = lm_alloc_zero(&ctx->mem, l->d, sizeof *centre);
    float *unit = lm_alloc_zero(&ctx->mem, l->d, sizeof *unit);
    m->centre = centre;
    m->unit = unit;
    if (!centre || !unit)
        return lm_fail_memory(ctx);
    for (size_t j = 0; j < l->d; j++) {
        bool off = stands_off(l, j);
        double divisor = fmin(fmax(l->divisor[j], 1e-36), 1e36);
        centre[j] = off ? (float)l->centre[j] : 0;
        unit[j] = off ? (float)(1 / divisor) : 1;
        m->shifted |= off;
    }
    return LIMN_OK;
}

/* The network may serve other students as well. */
static limn_status copy_net(limn_context *ctx, const lm_network *from, lm_network *to) {
    *to = *from;
    to->all = lm_alloc(&ctx->mem, from->count, sizeof *to->all);
    if (!to->all)
        return lm_fail_memory(ctx);
    memcpy(to->all, from->all, from->count * sizeof *to->all);
    for (size_t k = 0; k < from->layers; k++) {
        to->weight[k] = to->all + (from->weight[k] - from->all);
        to->bias[k] = to->all + (from->bias[k] - from->all);
    }
    return LIMN_OK;
}

/* The first layer, for rows that are not standardised: w (x - centre) / divisor + b. */
static void fold(const st_lessons *l, const st_model *m, lm_network *net) {
    size_t units = net->size[1];
    for (size_t o = 0; o < units; o++) {
        double bias = (double)net->bias[0][o];
        for (size_t j = 0; j < l->d; j++) {
            double w = (double)net->weight[0][j * units + o] / l->divisor[j];
            bias -= w * (l->centre[j] - (double)m->centre[j]);
            net->weight[0][j * units + o] = (float)(w / (double)m->unit[j]);
        }
        net->bias[0][o] = (float)bias;
    }
}

static limn_status check_net(limn_context *ctx, const lm_network *net, double rate) {
    for (size_t k = 0; k < net->count; k++)
        if (!isfinite(net->all[k]))
            return lm_fail(ctx, LIMN_E_DATA,
                           "student: the weights of the network grew beyond all bounds; give a "
                           "smaller rate than %g",
                           rate);
    return LIMN_OK;
}

static limn_status pack_net(limn_context *ctx, const lm_network *net, size_t i, st_model *m) {
    size_t floats;
    if (!lm_layers_floats(net->size, net->layers, &floats))
        return lm_fail_memory(ctx);
    float *data = lm_alloc_aligned(&ctx->mem, floats, sizeof *data);
    if (!data)
        return lm_fail_memory(ctx);
    m->data[i] = data;
    lm_layers_view(net->size, net->layers, data, &m->net[i]);
    for (size_t k = 0; k < net->layers; k++) {
        const lm_layer *layer = &m->net[i].layer[k];
        lm_layer_pack(layer, net->weight[k], net->bias[k], k + 1 == net->layers,
                      data + (layer->bias - data));
    }
    return LIMN_OK;
}

static limn_status take_net(limn_context *ctx, const st_lessons *l, const st_fit *fit, size_t i,
                            st_model *m) {
    lm_network net = {.all = NULL};
    m->size[i] = fit->size;
    limn_status status = copy_net(ctx, &fit->net, &net);
    if (status == LIMN_OK) {
        fold(l, m, &net);
        status = check_net(ctx, &net, fit->rate);
    }
    if (status == LIMN_OK)
        status = pack_net(ctx, &net, i, m);
    lm_free(&ctx->mem, net.all);
    return status;
}

static limn_status take(limn_context *ctx, const st_lessons *l, const st_fit *fits,
                        const st_choice *choice, st_model *m) {
    limn_status status = find_shift(ctx, l, m);
    m->nets = choice->nets;
    for (size_t i = 0; i < m->nets && status == LIMN_OK; i++) {
        status = take_net(ctx, l, &fits[choice->fit[i]], i, m);
        m->gap[i] = choice->gap[i];
        m->tau[i] = l->classes ? choice->tau[i] : 1;
    }
    m->mean = l->mean;
    m->spread = l->spread;
    m->asked = l->asked;
    m->sharpness = l->sharpness[fits[0].sharp];
    m->rate = fits[choice->fit[m->nets - 1]].rate;
    m->visits = (double)fits[choice->fit[m->nets - 1]].visits;
    return status;
}

/* The teacher's machine, if it is asked at last. */
static limn_status take_machine(limn_context *ctx, const lm_train_set *set, st_model *m) {
    limn_status status = lm_svm_copy(ctx, set->teacher->machine->svm, &m->svm);
    m->last = true;
    return status == LIMN_OK ? lm_machine_build(ctx, &m->svm, &m->machine) : status;
}

/* ---- judging ---- */

static void judge_rows(const st_lessons *l, void *scratch, st_model *m) {
    const st_judges *held = &l->held;
    size_t passed[ST_NETS] = {0}, agree = 0, wrong = 0;
    double n = held->n ? (double)held->n : 1;
    for (size_t i = 0; i < held->n; i += LM_BATCH) {
        int32_t classes[LM_BATCH] = {0};
        size_t some = held->n - i < LM_BATCH ? held->n - i : LM_BATCH;
        st_passed(m, held->raw + i * l->d, some, passed, &m->work, classes, scratch);
        for (size_t q = 0; q < some; q++) {
            agree += classes[q] == held->teacher[i + q];
            wrong += classes[q] != held->label[i + q];
        }
    }
    for (size_t i = 0; i < ST_NETS; i++)
        m->passed[i] = (double)passed[i] / n;
    m->work /= n;
    m->agreement = (double)agree / n;
    m->error = (double)wrong / n;
}

static limn_status judge(limn_context *ctx, const st_lessons *l, const st_fit *fit, st_model *m) {
    lm_cursor at = lm_cursor_at(NULL);
    st_scratch(m, LM_BATCH, 0, &at);
    void *scratch = lm_alloc_measured(&ctx->mem, &at);
    if (!scratch)
        return lm_fail_memory(ctx);
    judge_rows(l, scratch, m);
    if (!l->classes) {
        m->agreement = 1 - fit->differs;
        m->error = fit->error;
    }
    lm_free_aligned(&ctx->mem, scratch);
    return LIMN_OK;
}

/* ---- training ---- */

enum { SIZES = 6, MODERATE = 3 };

/* Of size=auto, in ascending order; many features are better taken in by two layers. */
static size_t list_sizes(const lm_train_set *set, st_size *sizes) {
    static const st_size small[SIZES] = {{1, {16}},  {1, {32}},  {1, {64}},
                                         {1, {128}}, {1, {256}}, {1, {512}}};
    memcpy(sizes, small, sizeof small);
    if (set->d > ST_MANY_FEATURES)
        sizes[SIZES - 1] = (st_size){2, {256, 128}};
    return SIZES;
}

static limn_status fit(limn_context *ctx, const lm_train_set *set, const st_options *o,
                       const st_size *sizes, size_t count, st_shared *shared, st_model *m) {
    const st_lessons *l = &shared->lessons;
    st_fit fits[SIZES];
    st_choice choice;
    limn_status status = st_shared_fit(ctx, shared, o, sizes, count, fits);
    if (status == LIMN_OK)
        status = st_choose(ctx, l, o, fits, count, &choice);
    if (status == LIMN_OK)
        status = take(ctx, l, fits, &choice, m);
    if (status == LIMN_OK && o->last)
        status = take_machine(ctx, set, m);
    return status == LIMN_OK ? judge(ctx, l, &fits[choice.fit[0]], m) : status;
}

#define POOR 0.95

static void tell(limn_context *ctx, const st_model *m) {
    if (m->agreement < POOR)
        lm_warn(ctx,
                m->task == LIMN_REGRESS
                    ? "student: on rows held out it explains only %.1f %% of the teacher's "
                      "variance; a larger size or pool may help"
                    : "student: on rows held out it agrees with the teacher in only %.1f %%; "
                      "a larger size or pool may help",
                100 * fmax(m->agreement, 0));
}

static limn_status learn(limn_context *ctx, const lm_train_set *set, const st_options *o,
                         st_model *m) {
    st_shared own = {.made = false}, *shared = NULL;
    st_size sizes[SIZES], moderate;
    size_t count = list_sizes(set, sizes);
    moderate = sizes[MODERATE];
    if (o->nets) {
        memcpy(sizes, o->size, sizeof o->size);
        count = o->nets;
    }
    limn_status status = st_shared_find(ctx, set, o, &shared);
    const st_size *trial = shared || !o->nets ? &moderate : &sizes[count - 1];
    shared = shared ? shared : &own;
    if (status == LIMN_OK)
        status = st_shared_make(ctx, set, o, trial, shared);
    if (status == LIMN_OK && shared->lessons.constant)
        m->mean = shared->lessons.mean;
    else if (status == LIMN_OK)
        status = fit(ctx, set, o, sizes, count, shared, m);
    if (status == LIMN_OK)
        tell(ctx, m);
    st_shared_free(&ctx->mem, &own);
    return status;
}

limn_status st_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **out) {
    st_options options = options_of(ctx, params);
    limn_status status = check_set(ctx, set, &options);
    st_model *m = status == LIMN_OK ? lm_alloc_zero(&ctx->mem, 1, sizeof *m) : NULL;
    if (status == LIMN_OK && !m)
        status = lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        *m = (st_model){.task = set->task,
                        .d = set->d,
                        .classes = set->classes,
                        .tau = {1, 1},
                        .agreement = 1,
                        .owned = true}; /* agreement: of a constant */
        if (set->task == LIMN_REGRESS || set->classes > 1)
            status = learn(ctx, set, &options, m);
    }
    if (status != LIMN_OK)
        st_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
