/* train.c: the borders of every pair of classes, gathered into one packed set. */
#include "methods/borders/borders.h"

#include <math.h>
#include <string.h>

void bd_destroy(const limn_allocator *mem, void *opaque) {
    bd_model *m = opaque;
    if (!m)
        return;
    lm_free(mem, (void *)(uintptr_t)m->shift);
    if (m->owned) {
        lm_pack_free(mem, &m->pack);
        lm_free_aligned(mem, (void *)(uintptr_t)m->normal);
        lm_free(mem, (void *)(uintptr_t)m->slope);
        lm_free(mem, (void *)(uintptr_t)m->start);
        lm_free(mem, (void *)(uintptr_t)m->constant);
        lm_free(mem, (void *)(uintptr_t)m->steep);
        lm_free(mem, (void *)(uintptr_t)m->centre);
    }
    lm_free(mem, m);
}

/* ---- the rows ---- */

static void rows_free(const limn_allocator *mem, bd_rows *r) {
    lm_free(mem, r->row);
    lm_free(mem, r->start);
    lm_free(mem, r->spread);
    lm_free(mem, r->answers);
}

static void sort_rows(const lm_train_set *set, bd_rows *r) {
    for (size_t i = 0; i < set->n; i++)
        r->start[set->label[i] + 2]++;
    for (size_t c = 0; c < set->classes; c++)
        r->start[c + 2] += r->start[c + 1];
    for (size_t i = 0; i < set->n; i++)
        r->row[r->start[set->label[i] + 1]++] = (uint32_t)i;
}

/* The standard deviation of each feature. */
static void measure_spread(const lm_train_set *set, double *spread) {
    double n = (double)set->n;
    for (size_t j = 0; j < set->d; j++) {
        double mean = 0, sum = 0;
        for (size_t i = 0; i < set->n; i++)
            mean += (double)set->x[i * set->d + j] / n;
        for (size_t i = 0; i < set->n; i++) {
            double off = (double)set->x[i * set->d + j] - mean;
            sum += off * off / n;
        }
        spread[j] = sqrt(sum);
    }
}

enum { ASKED = 1024 }; /* rows between two reports of progress */

/* What a teacher without fields says of every row. */
static limn_status ask_all(limn_context *ctx, const lm_train_set *set, bd_rows *r) {
    const lm_teacher *teacher = set->teacher;
    limn_status status = LIMN_OK;
    size_t cells;
    if (lm_mul(set->n, teacher->width, &cells))
        r->answers = lm_alloc(&ctx->mem, cells, sizeof *r->answers);
    if (!r->answers)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < set->n && status == LIMN_OK; i += ASKED) {
        size_t some = set->n - i < ASKED ? set->n - i : ASKED;
        status = teacher->answer(teacher, ctx, set->x + i * set->d, some,
                                 r->answers + i * teacher->width);
        if (status == LIMN_OK)
            status = lm_progress(ctx, "asking the teacher", i + some, set->n,
                                 (double)(i + some) / (double)set->n);
    }
    return status;
}

static limn_status rows_take(limn_context *ctx, const lm_train_set *set, bd_rows *r) {
    *r = (bd_rows){.set = set};
    if (set->n > UINT32_MAX / 2)
        return lm_fail(ctx, LIMN_E_DATA, "%zu rows are more than borders can handle", set->n);
    r->row = lm_alloc(&ctx->mem, set->n, sizeof *r->row);
    r->start = lm_alloc_zero(&ctx->mem, set->classes + 2, sizeof *r->start);
    r->spread = lm_alloc(&ctx->mem, set->d, sizeof *r->spread);
    if (!r->row || !r->start || !r->spread)
        return lm_fail_memory(ctx);
    sort_rows(set, r);
    measure_spread(set, r->spread);
    return set->teacher->field || set->classes < 2 ? LIMN_OK : ask_all(ctx, set, r);
}

/* ---- the model ---- */

/* The mean of all points, and the power of two that brings them into -1 .. 1. */
static void find_frame(const bd_pair *pairs, bd_model *m, double *centre) {
    double count = (double)m->pack.n, largest = 0;
    int exponent = 0;
    for (size_t p = 0; p < m->pairs; p++)
        for (size_t i = 0; i < pairs[p].points.count * m->d; i++)
            centre[i % m->d] += (double)pairs[p].points.b[i] / count;
    for (size_t p = 0; p < m->pairs; p++)
        for (size_t i = 0; i < pairs[p].points.count * m->d; i++)
            largest = fmax(largest, fabs((double)pairs[p].points.b[i] - centre[i % m->d]));
    if (largest > 0)
        (void)frexp(largest, &exponent);
    m->scale = ldexp(1, -exponent);
}

/* Border i of the model from border k of a pair. */
static void place(const bd_model *m, const bd_points *points, size_t k, size_t i, float *vector,
                  float *normal, double *slope) {
    double half = 0, offset = 0;
    for (size_t j = 0; j < m->d; j++) {
        double b = ((double)points->b[k * m->d + j] - m->centre[j]) * m->scale;
        vector[j] = (float)-b;
        half += (double)vector[j] * (double)vector[j] / 2;
        normal[i * m->stride + j] = (float)points->u[k * m->d + j];
        offset -= points->u[k * m->d + j] * b;
    }
    vector[m->d] = (float)half;
    normal[i * m->stride + m->d] = (float)offset;
    slope[i] = points->slope[k] / m->scale;
}

static limn_status fill(limn_context *ctx, const bd_pair *pairs, bd_model *m) {
    size_t n = m->start[m->pairs], cells = 0, rows = 0;
    double *centre = lm_alloc_zero(&ctx->mem, m->d, sizeof *centre);
    double *slope = lm_alloc(&ctx->mem, n + 1, sizeof *slope);
    float *vector =
        lm_mul(n, m->d + 1, &cells) ? lm_alloc(&ctx->mem, cells + 1, sizeof *vector) : NULL;
    float *normal =
        lm_mul(n, m->stride, &rows) ? lm_alloc_aligned(&ctx->mem, rows + 1, sizeof *normal) : NULL;
    limn_status status = centre && slope && vector && normal ? LIMN_OK : lm_fail_memory(ctx);
    m->centre = centre;
    m->slope = slope;
    m->normal = normal;
    if (status == LIMN_OK) {
        memset(normal, 0, rows * sizeof *normal);
        m->pack.n = n;
        find_frame(pairs, m, centre);
    }
    for (size_t p = 0; p < m->pairs && status == LIMN_OK; p++)
        for (size_t k = 0, i = m->start[p]; k < pairs[p].points.count; k++, i++)
            place(m, &pairs[p].points, k, i, vector + i * (m->d + 1), normal, slope);
    if (status == LIMN_OK)
        status = lm_pack_build(ctx, vector, n, m->d + 1, m->d + 1, &m->pack);
    lm_free(&ctx->mem, vector);
    return status;
}

static limn_status gather(limn_context *ctx, const bd_pair *pairs, bd_model *m) {
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
        if (pairs[p].points.count > UINT32_MAX / 2 - start[p])
            return lm_fail(ctx, LIMN_E_USAGE, "borders: too many border vectors; choose fewer");
        start[p + 1] = start[p] + (uint32_t)pairs[p].points.count;
        constant[p] = pairs[p].points.count ? 0 : pairs[p].constant;
        steep[p] = pairs[p].a;
        held += (double)pairs[p].held;
        agreed += (double)pairs[p].agreed;
        m->asked += pairs[p].asked;
        m->fitted += pairs[p].fitted;
    }
    m->agreement = held > 0 ? agreed / held : 1;
    return fill(ctx, pairs, m);
}

/* ---- training ---- */

static void tell(limn_context *ctx, const bd_pair *pairs, size_t count, const bd_options *o) {
    size_t none = 0, fewer = 0;
    for (size_t p = 0; p < count; p++) {
        none += pairs[p].points.count == 0;
        fewer += pairs[p].points.count > 0 && pairs[p].points.count < o->borders;
    }
    if (none)
        lm_warn(ctx,
                "borders: %zu of %zu pair%s of classes %s no border, because the teacher gives all "
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
    double own = (double)m->pack.n * (double)(m->d + 1);
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
            m->pack.n, vectors);
}

static limn_status make_pairs(limn_context *ctx, const bd_rows *rows, bd_options *options,
                              bd_pair *pairs) {
    size_t k = rows->set->classes, p = 0, count = bd_pair_count(k);
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < k && status == LIMN_OK; i++)
        for (size_t j = i + 1; j < k && status == LIMN_OK; j++) {
            options->progress = (double)p / (double)count;
            status = bd_pair_make(ctx, rows, options, i, j, &pairs[p++]);
            if (status == LIMN_OK)
                status = lm_progress(ctx, "drawing borders", 0, 0, (double)p / (double)count);
        }
    if (status == LIMN_OK)
        tell(ctx, pairs, count, options);
    return status;
}

static bd_options options_of(const lm_params *params) {
    bool chosen = lm_param_is_auto(params, "borders");
    return (bd_options){.borders = chosen ? 0 : (size_t)lm_param_int(params, "borders"),
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

limn_status bd_train(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                     void **out) {
    bd_options options = options_of(params);
    bd_rows rows = {.set = set};
    bd_pair *pairs = NULL;
    bd_model *m = NULL;
    limn_status status = check(ctx, set, &options);
    if (status == LIMN_OK)
        status = rows_take(ctx, set, &rows);
    if (status == LIMN_OK) {
        m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
        pairs = lm_alloc_zero(&ctx->mem, bd_pair_count(set->classes) + 1, sizeof *pairs);
        status = m && pairs ? LIMN_OK : lm_fail_memory(ctx);
    }
    if (status == LIMN_OK) {
        *m = (bd_model){.d = set->d,
                        .classes = set->classes,
                        .pairs = bd_pair_count(set->classes),
                        .stride = bd_stride(set->d),
                        .owned = true};
        m->asked = rows.answers ? (double)set->n : 0;
        status = make_pairs(ctx, &rows, &options, pairs);
    }
    if (status == LIMN_OK)
        status = gather(ctx, pairs, m);
    if (status == LIMN_OK)
        tell_use(ctx, m, set->teacher->machine);
    for (size_t p = 0; pairs && p < bd_pair_count(set->classes); p++)
        bd_points_free(&ctx->mem, &pairs[p].points);
    lm_free(&ctx->mem, pairs);
    rows_free(&ctx->mem, &rows);
    if (status != LIMN_OK)
        bd_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
