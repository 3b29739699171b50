/* train.c: the borders of every pair of classes, gathered into one packed set. */
#include "methods/borders/borders.h"

#include "base/quickselect.h"
#include "base/work.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static void release_points(const limn_allocator *mem, bd_model *m) {
    lm_pack_free(mem, &m->pack);
    lm_free_aligned(mem, (void *)(uintptr_t)m->normal);
    lm_free(mem, (void *)(uintptr_t)m->slope);
    lm_free(mem, (void *)(uintptr_t)m->centre);
    lm_free(mem, m->first);
    m->normal = NULL;
    m->slope = m->centre = NULL;
    m->first = NULL;
}

void bd_destroy(const limn_allocator *mem, void *opaque) {
    bd_model *m = opaque;
    if (!m)
        return;
    lm_free(mem, m->shift);
    if (m->owned) {
        release_points(mem, m);
        lm_free(mem, (void *)(uintptr_t)m->start);
        lm_free(mem, (void *)(uintptr_t)m->constant);
        lm_free(mem, (void *)(uintptr_t)m->steep);
    } else {
        lm_free(mem, m->first);
    }
    lm_free(mem, m);
}

/* ---- the model ---- */

/* The median of feature j of all points: a few far away do not move it, and so do not spoil the
 * floats of the others, as they would the mean. */
static double median_of(const bd_pair *pairs, const bd_model *m, size_t j, float *value) {
    lm_rng rng = lm_rng_at(0, 0, j);
    size_t n = 0;
    for (size_t p = 0; p < m->pairs; p++)
        for (size_t i = 0; i < pairs[p].points.count; i++)
            value[n++] = pairs[p].points.b[i * m->d + j];
    if (n == 0)
        return 0;
    lm_select_kth(&rng, value, n, n / 2);
    return (double)value[n / 2];
}

/* The power of two that brings all points, seen from the centre, and the spread of the features
 * into -1 .. 1. */
static double find_scale(const bd_pair *pairs, const bd_rows *rows, const bd_model *m) {
    double largest = 0;
    int exponent = 0;
    for (size_t p = 0; p < m->pairs; p++)
        for (size_t i = 0; i < pairs[p].points.count * m->d; i++)
            largest = fmax(largest, fabs((double)pairs[p].points.b[i] - m->centre[i % m->d]));
    for (size_t j = 0; j < m->d; j++)
        largest = fmax(largest, rows->features.spread[j]);
    if (largest > 0)
        (void)frexp(largest, &exponent);
    return ldexp(1, -exponent);
}

/* Point k of a pair as vector and normal i of the model. */
static void place(const bd_model *m, const bd_points *points, size_t k, size_t i, float *vector,
                  float *normal, double *slope) {
    double half = 0, offset = points->offset[k];
    for (size_t j = 0; j < m->d; j++) {
        double u = points->u[k * m->d + j];
        vector[j] = (float)-(((double)points->b[k * m->d + j] - m->centre[j]) * m->scale);
        half += (double)vector[j] * (double)vector[j] / 2;
        normal[i * m->stride + j] = (float)u;
        offset += u * m->centre[j];
    }
    vector[m->d] = (float)half;
    normal[i * m->stride + m->d] = (float)(offset * m->scale);
    slope[i] = points->slope[k] / m->scale;
}

/* Vectors, normals and slopes of all pairs; vector: places x (d + 1) zeros. */
static limn_status fill(limn_context *ctx, const bd_pair *pairs, const bd_rows *rows, bd_model *m,
                        float *vector) {
    size_t cells = 0;
    double *centre = lm_alloc_zero(&ctx->mem, m->d, sizeof *centre);
    double *slope = lm_alloc(&ctx->mem, m->n + 1, sizeof *slope);
    float *value = lm_alloc(&ctx->mem, m->n + 1, sizeof *value);
    float *normal = lm_mul(m->n, m->stride, &cells)
                        ? lm_alloc_aligned(&ctx->mem, cells + 1, sizeof *normal)
                        : NULL;
    m->centre = centre;
    m->slope = slope;
    m->normal = normal;
    for (size_t j = 0; j < m->d && centre && value; j++)
        centre[j] = median_of(pairs, m, j, value);
    lm_free(&ctx->mem, value);
    if (!centre || !slope || !normal || !value)
        return lm_fail_memory(ctx);
    memset(normal, 0, cells * sizeof *normal);
    m->scale = find_scale(pairs, rows, m);
    for (size_t p = 0; p < m->pairs; p++)
        for (size_t k = 0; k < pairs[p].points.count; k++)
            place(m, &pairs[p].points, k, m->start[p] + k, vector + (m->first[p] + k) * (m->d + 1),
                  normal, slope);
    return lm_pack_build(ctx, vector, m->first[m->pairs], m->d + 1, m->d + 1, &m->pack);
}

static limn_status gather_points(limn_context *ctx, const bd_pair *pairs, const bd_rows *rows,
                                 bd_model *m) {
    size_t cells = 0;
    limn_status status = bd_find_places(ctx, m);
    float *vector = status == LIMN_OK && lm_mul(m->first[m->pairs], m->d + 1, &cells)
                        ? lm_alloc_zero(&ctx->mem, cells + 1, sizeof *vector)
                        : NULL;
    if (status == LIMN_OK)
        status = vector ? fill(ctx, pairs, rows, m, vector) : lm_fail_memory(ctx);
    lm_free(&ctx->mem, vector);
    return status;
}

static limn_status gather(limn_context *ctx, const bd_pair *pairs, const bd_rows *rows,
                          bd_model *m) {
    uint32_t *start = lm_alloc(&ctx->mem, m->pairs + 1, sizeof *start);
    double *constant = lm_alloc(&ctx->mem, m->pairs + 1, sizeof *constant);
    double *steep = lm_alloc(&ctx->mem, m->pairs + 1, sizeof *steep);
    double held = 0, agreed = 0;
    m->shift = lm_alloc_zero(&ctx->mem, m->pairs + 1, sizeof *m->shift);
    m->start = start;
    m->constant = constant;
    m->steep = steep;
    if (!start || !constant || !steep || !m->shift)
        return lm_fail_memory(ctx);
    start[0] = 0;
    for (size_t p = 0; p < m->pairs; p++) {
        if (pairs[p].points.count > BD_MOST - start[p])
            return lm_fail(ctx, LIMN_E_USAGE, "borders: too many border vectors; choose fewer");
        start[p + 1] = start[p] + (uint32_t)pairs[p].points.count;
        constant[p] = pairs[p].points.count ? 0 : pairs[p].constant;
        steep[p] = pairs[p].a;
        held += (double)pairs[p].held;
        agreed += (double)pairs[p].agreed;
        m->asked += pairs[p].asked;
        m->fitted += pairs[p].fitted;
        m->forms[pairs[p].form]++;
    }
    m->n = start[m->pairs];
    m->agreement = held > 0 ? agreed / held : 1;
    return gather_points(ctx, pairs, rows, m);
}

/* A decision graph has another layout. */
static limn_status choose_multi(limn_context *ctx, const bd_rows *rows, const bd_options *o,
                                const bd_pair *pairs, bd_model *m) {
    bool dag = false;
    limn_status status = bd_judge_multi(ctx, rows, o->multi, m, &dag);
    if (status != LIMN_OK || !dag)
        return status;
    release_points(&ctx->mem, m);
    m->dag = true;
    return gather_points(ctx, pairs, rows, m);
}

/* ---- training ---- */

static void tell(limn_context *ctx, const bd_pair *pairs, size_t count, const bd_options *o) {
    size_t none = 0, fewer = 0;
    for (size_t p = 0; p < count; p++) {
        none += pairs[p].points.count == 0;
        fewer += o->random && pairs[p].form == BD_BORDERS && pairs[p].points.count < o->borders;
    }
    if (none)
        lm_warn(
            ctx,
            "borders: %zu of %zu pair%s of classes %s no border; most likely the teacher gives all "
            "their rows the same class",
            none, count, count == 1 ? "" : "s", none == 1 ? "has" : "have");
    if (fewer)
        lm_warn(
            ctx,
            "borders: %zu of %zu pair%s of classes %s fewer than %zu borders, because few lines "
            "between their rows cross the border",
            fewer, count, count == 1 ? "" : "s", fewer == 1 ? "has" : "have", o->borders);
}

#define POOR 0.95 /* agreement */

/* A model that disagrees with its teacher or is slower is good for little. */
static void tell_use(limn_context *ctx, const bd_model *m, const lm_machine *machine) {
    const lm_svm *svm = machine ? machine->svm : NULL;
    bool linear = svm && svm->kernel.type == LM_LINEAR;
    double own = (m->dag ? m->visited : (double)m->n) * (double)(m->d + 1);
    if (m->agreement < POOR)
        lm_warn(
            ctx,
            "borders: on rows held out, pairs of classes agree with the teacher in only %.1f %%; "
            "more borders or a smoother teacher may help",
            100 * m->agreement);
    if (!svm)
        return;
    double vectors = linear ? (double)m->pairs : (double)svm->n;
    if (own > vectors * (double)(m->d + (linear ? 0 : m->classes - 1)))
        lm_warn(
            ctx,
            "borders: %zu border vectors make a query slower than the teacher itself, which has "
            "%.0f vectors; give fewer (-p borders=N), or keep the teacher",
            m->n, vectors);
}

typedef struct drawing {
    const bd_rows *rows;
    const bd_options *options;
    bd_pair *pairs;
    size_t count;
    atomic_size_t held, agreed;
    char detail[48];
} drawing;

static void classes_of(size_t k, size_t pair, size_t *first, size_t *second) {
    *first = 0;
    for (size_t left = k - 1; pair >= left; left--) {
        pair -= left;
        ++*first;
    }
    *second = *first + 1 + pair;
}

static const char *say_agreement(void *user) {
    drawing *w = user;
    bd_say_agreement(atomic_load(&w->held), atomic_load(&w->agreed), w->detail);
    return w->detail[0] ? w->detail : NULL;
}

static limn_status make_pair(limn_context *ctx, void *user, size_t index) {
    drawing *w = user;
    bd_pair *pair = &w->pairs[index];
    double count = (double)w->count;
    bd_news news = {.from = (double)index / count,
                    .share = 1 / count,
                    .held = atomic_load(&w->held),
                    .agreed = atomic_load(&w->agreed)};
    size_t first, second;
    classes_of(w->rows->set->classes, index, &first, &second);
    limn_status status = bd_pair_make(ctx, w->rows, w->options, first, second, &news, pair);
    atomic_fetch_add(&w->held, pair->held);
    atomic_fetch_add(&w->agreed, pair->agreed);
    return status;
}

/* Pairs on several threads if their fields are functions; a teacher that must be asked is asked
 * from this thread only, and spreads the rows itself. So does the field of a single pair. */
limn_status bd_draw_pairs(limn_context *ctx, const bd_rows *rows, const bd_options *options,
                          bd_pair *pairs) {
    drawing w = {.rows = rows,
                 .options = options,
                 .pairs = pairs,
                 .count = bd_pair_count(rows->set->classes)};
    lm_job job = {.stage = "drawing borders",
                  .count = w.count,
                  .task = make_pair,
                  .user = &w,
                  .detail = say_agreement};
    limn_status status = LIMN_OK;
    if (rows->set->teacher->field && w.count > 1)
        status = lm_work(ctx, &job);
    else
        for (size_t p = 0; p < w.count && status == LIMN_OK; p++)
            status = make_pair(ctx, &w, p);
    if (status == LIMN_OK)
        tell(ctx, pairs, w.count, options);
    return status;
}

/* 0: auto */
static size_t number_of(const lm_params *params, const char *key) {
    return lm_param_is_auto(params, key) ? 0 : (size_t)lm_param_int(params, key);
}

static bd_options options_of(const lm_params *params) {
    return (bd_options){.borders = number_of(params, "borders"),
                        .pool = number_of(params, "pool"),
                        .random = lm_param_choice(params, "sampling") == 1,
                        .form = (bd_form)lm_param_choice(params, "form"),
                        .multi = (bd_multi)lm_param_choice(params, "multi"),
                        .threshold = lm_param_real(params, "threshold"),
                        .calibrate = lm_param_choice(params, "calibrate") == 1,
                        .stream = lm_stream_of(params->owner)};
}

static limn_status check(limn_context *ctx, const lm_train_set *set, const bd_options *o) {
    if (!set->teacher)
        return lm_fail(ctx, LIMN_E_USAGE, "borders: a teacher is needed (--teacher)");
    if (o->threshold != 0 && set->classes > 2)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "borders: threshold is for two classes, and the data has %zu; leave it out",
                       set->classes);
    return LIMN_OK;
}

/* ---- training ---- */

static limn_status make_model(limn_context *ctx, const bd_rows *rows, const bd_options *o,
                              const bd_pair *pairs, bd_model *m) {
    const lm_train_set *set = rows->set;
    *m = (bd_model){.d = set->d,
                    .classes = set->classes,
                    .pairs = bd_pair_count(set->classes),
                    .stride = bd_stride(set->d),
                    .owned = true};
    m->asked = rows->answers ? (double)set->n : 0;
    limn_status status = gather(ctx, pairs, rows, m);
    if (status == LIMN_OK)
        status = choose_multi(ctx, rows, o, pairs, m);
    if (status == LIMN_OK)
        tell_use(ctx, m, set->teacher->machine);
    return status;
}

limn_status bd_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **out) {
    bd_options options = options_of(params);
    bd_shared *shared = NULL;
    const bd_pair *pairs = NULL;
    bd_model *m = NULL;
    limn_status status = check(ctx, set, &options);
    if (status == LIMN_OK)
        status = bd_shared_find(ctx, set, &shared);
    if (status == LIMN_OK)
        status = bd_shared_draw(ctx, shared, set, &options, &pairs);
    if (status == LIMN_OK && !(m = lm_alloc_zero(&ctx->mem, 1, sizeof *m)))
        status = lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = make_model(ctx, bd_shared_rows(shared), &options, pairs, m);
    if (!set->shared)
        bd_unshare(&ctx->mem, shared);
    if (status != LIMN_OK)
        bd_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
