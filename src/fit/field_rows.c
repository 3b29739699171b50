/* field_rows.c: fields that the rows of two classes make: an adaptive Gaussian filter, kernel
 * densities, and the votes of neighbours. y_i is +1 for rows of the first class, -1 for the others,
 * w_i the weight of a row.
 *
 * agf: K_i = exp(-d_i^2 / (2 s^2)) over the k nearest rows, s such that sum K_i = W
 *      (fit/bandwidth.h); S = sum w_i K_i, r = sum y_i w_i K_i / S, and, with m = sum_k K_k (x_k -
 * x) / sum_k K_k d_k^2, which is how log s changes,
 *
 *        grad r = 1/(s^2 S) sum_i (y_i - r) w_i K_i [x_i - x - d_i^2 m].
 *
 *      With equal weights S = W, r drops out of the sum, and this is Eq. 28 of the paper (Mills
 *      2017), which prints 1/d_k^2 for d_k^2. If at least W rows are at distance 0, r is their mean
 *      and the gradient 0.
 * kde: f = log A - log B, A and B the sums of w_i exp(-d_i^2 / (2 h^2)) over the rows of the first
 *      and second class; grad f = (mean_A(x_i) - mean_B(x_i)) / h^2, the means with these weights.
 * knn: the share of the votes of the first class less that of the second. */
#include "fit/bandwidth.h"
#include "fit/field.h"
#include "num/pack_double.h"

#include <math.h>
#include <string.h>

typedef struct state {
    lm_nearest_set set;
    float *norms;
    double *weight;        /* NULL: all 1 */
    double *norm, *centre; /* kde: of lm_pack_centre */
    size_t first;          /* rows of the first class */
    size_t k;
    double w, bandwidth;
    bool by_distance;
} state;

static void state_free(const limn_allocator *mem, void *opaque) {
    state *s = opaque;
    lm_pack_free(mem, &s->set.pack);
    lm_free(mem, s->norms);
    lm_free(mem, s->weight);
    lm_free(mem, s->norm);
    lm_free(mem, s->centre);
    lm_free(mem, s);
}

static double sign_of(const state *s, uint64_t row) {
    return row < s->first ? 1 : -1;
}

static double weight_of(const state *s, uint64_t row) {
    return s->weight ? s->weight[row] : 1;
}

static float feature(const lm_pack *pack, size_t row, size_t j) {
    return pack->data[(row / LM_PANEL * pack->d + j) * LM_PANEL + row % LM_PANEL];
}

/* ---- neighbours ---- */

typedef struct layout {
    double *weight; /* of the k nearest, or of all rows */
    double *shift;  /* d */
    void *search;
} layout;

static layout lay_out(const lm_field *field, lm_cursor *at) {
    const state *s = field->state;
    size_t bytes;
    layout l;
    l.weight = lm_take(at, s->k, sizeof *l.weight);
    l.shift = lm_take(at, field->d, sizeof *l.shift);
    (void)lm_nearest_scratch(1, s->k, &bytes);
    l.search = lm_take(at, bytes, 1);
    return l;
}

static void near_scratch(const lm_field *field, lm_cursor *at) {
    (void)lay_out(field, at);
}

static void knn_piece(const lm_field *field, const float *x, size_t n, double *f, double *gradient,
                      void *memory) {
    const state *s = field->state;
    lm_cursor at = lm_cursor_at(memory);
    layout l = lay_out(field, &at);
    (void)gradient;
    for (size_t q = 0; q < n; q++) {
        lm_nearest_found near = lm_nearest_one(&s->set, x + q * field->d, s->k, SIZE_MAX, l.search);
        double sum = 0, total = 0;
        for (size_t i = 0; i < near.count; i++) {
            double vote = weight_of(s, near.items[i].row) *
                          lm_nearest_vote(&near, i, s->set.metric, s->by_distance);
            sum += sign_of(s, near.items[i].row) * vote;
            total += vote;
        }
        f[q] = sum / total;
    }
}

/* ---- the filter ---- */

/* shift = how log s changes with x. */
static void shift_of(const state *s, const float *x, const lm_nearest_found *near,
                     const double *weight, double *shift) {
    size_t d = s->set.pack.d;
    double squares = 0;
    memset(shift, 0, d * sizeof *shift);
    for (size_t i = 0; i < near->count; i++) {
        squares += weight[i] * near->items[i].key;
        for (size_t j = 0; j < d; j++)
            shift[j] +=
                weight[i] * ((double)feature(&s->set.pack, near->items[i].row, j) - (double)x[j]);
    }
    for (size_t j = 0; j < d; j++)
        shift[j] /= squares;
}

static void filter_gradient(const state *s, const float *x, const lm_nearest_found *near,
                            const double *weight, double r, double scale, double *shift,
                            double *gradient) {
    size_t d = s->set.pack.d;
    shift_of(s, x, near, weight, shift);
    for (size_t i = 0; i < near->count; i++) {
        uint64_t row = near->items[i].row;
        double pull = (sign_of(s, row) - r) * weight_of(s, row) * weight[i] * scale;
        for (size_t j = 0; j < d; j++)
            gradient[j] += pull * ((double)feature(&s->set.pack, row, j) - (double)x[j] -
                                   near->items[i].key * shift[j]);
    }
}

static void agf_piece(const lm_field *field, const float *x, size_t n, double *f, double *gradient,
                      void *memory) {
    const state *s = field->state;
    size_t d = field->d;
    lm_cursor at = lm_cursor_at(memory);
    layout l = lay_out(field, &at);
    for (size_t q = 0; q < n; q++, x += d) {
        lm_nearest_found near = lm_nearest_one(&s->set, x, s->k, SIZE_MAX, l.search);
        double s2 = lm_agf_weights(near.items, near.count, s->w, l.weight), sum = 0, total = 0;
        for (size_t i = 0; i < near.count; i++) {
            double share = weight_of(s, near.items[i].row) * l.weight[i];
            sum += sign_of(s, near.items[i].row) * share;
            total += share;
        }
        f[q] = sum / total;
        if (gradient)
            memset(gradient + q * d, 0, d * sizeof *gradient);
        if (gradient && s2 > 0)
            filter_gradient(s, x, &near, l.weight, f[q], 1 / (s2 * total), l.shift,
                            gradient + q * d);
    }
}

/* ---- kernel densities ---- */

/* A sum over no rows: as if there were one row far away. */
#define LOG_NONE -1e30

/* The log of the sum over rows from .. to - 1, relative to the nearest of them so that it cannot
 * vanish. value: squared distances, replaced by sign times the row's share of the sum. */
static double log_sum(const state *s, size_t from, size_t to, double sign, double *value) {
    double least = INFINITY, sum = 0, narrow = 0.5 / (s->bandwidth * s->bandwidth);
    for (size_t i = from; i < to; i++)
        least = fmin(least, value[i]);
    for (size_t i = from; i < to; i++)
        sum += value[i] = weight_of(s, i) * exp(-(value[i] - least) * narrow);
    for (size_t i = from; i < to; i++)
        value[i] *= sign / sum;
    return from < to ? log(sum) - least * narrow : LOG_NONE;
}

typedef struct room {
    double *value, *spare;
} room;

static room make_room(const lm_field *field, lm_cursor *at) {
    const state *s = field->state;
    room r;
    r.value = lm_take(at, s->set.pack.panels * LM_PANEL, sizeof *r.value);
    r.spare = lm_take(at, field->d, sizeof *r.spare);
    return r;
}

static void kde_scratch(const lm_field *field, lm_cursor *at) {
    (void)make_room(field, at);
}

static void kde_piece(const lm_field *field, const float *x, size_t n, double *f, double *gradient,
                      void *memory) {
    const state *s = field->state;
    const lm_pack *pack = &s->set.pack;
    size_t d = field->d;
    /* x itself cancels between the means of two classes, but not if there is only one */
    double alone = (s->first > 0) - (s->first < pack->n), h2 = s->bandwidth * s->bandwidth;
    lm_cursor at = lm_cursor_at(memory);
    room r = make_room(field, &at);
    for (size_t q = 0; q < n; q++) {
        lm_pack_distances_double(pack, s->centre, s->norm, 0, pack->panels, x + q * d, r.value,
                                 r.spare);
        for (size_t i = pack->n; i < pack->panels * LM_PANEL; i++)
            r.value[i] = 0;
        f[q] = log_sum(s, 0, s->first, 1, r.value) - log_sum(s, s->first, pack->n, -1, r.value);
        if (!gradient)
            continue;
        lm_pack_sum_double(pack, r.value, gradient + q * d);
        for (size_t j = 0; j < d; j++)
            gradient[q * d + j] = (gradient[q * d + j] - alone * (double)x[q * d + j]) / h2;
    }
}

/* ---- the rows ---- */

void lm_field_set_free(const limn_allocator *mem, lm_field_set *set) {
    lm_free(mem, set->x);
    lm_free(mem, set->weight);
}

limn_status lm_field_set_take(limn_context *ctx, const lm_pack *pack, const int32_t *label,
                              const double *weight, int32_t first, int32_t second,
                              lm_field_set *out) {
    size_t cells, at = 0;
    *out = (lm_field_set){.d = pack->d};
    for (size_t i = 0; i < pack->n; i++) {
        out->first += label[i] == first;
        out->n += label[i] == first || label[i] == second;
    }
    if (lm_mul(out->n, pack->d, &cells))
        out->x = lm_alloc(&ctx->mem, cells + 1, sizeof *out->x);
    if (weight)
        out->weight = lm_alloc(&ctx->mem, out->n + 1, sizeof *out->weight);
    if (!out->x || (weight && !out->weight)) {
        lm_field_set_free(&ctx->mem, out);
        return lm_fail_memory(ctx);
    }
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < pack->n; i++)
            if (label[i] == (round ? second : first)) {
                lm_pack_row(pack, i, out->x + at * pack->d);
                if (weight)
                    out->weight[at] = weight[i];
                at++;
            }
    return LIMN_OK;
}

/* ---- making them ---- */

static limn_status make(limn_context *ctx, const lm_field_set *set, lm_nearest_metric metric,
                        size_t k, state **out) {
    state *s = lm_alloc_zero(&ctx->mem, 1, sizeof *s);
    if (!s)
        return lm_fail_memory(ctx);
    *out = s;
    s->first = set->first;
    s->k = k < set->n ? k : set->n;
    s->norms = lm_alloc(&ctx->mem, set->n, sizeof *s->norms);
    s->weight = set->weight ? lm_alloc(&ctx->mem, set->n, sizeof *s->weight) : NULL;
    if (!s->norms || (set->weight && !s->weight))
        return lm_fail_memory(ctx);
    if (set->weight)
        memcpy(s->weight, set->weight, set->n * sizeof *s->weight);
    limn_status status = lm_pack_build(ctx, set->x, set->n, set->d, set->d, &s->set.pack);
    if (status != LIMN_OK)
        return status;
    lm_pack_norms(&s->set.pack, s->norms);
    s->set.norms = s->norms;
    s->set.metric = metric;
    lm_nearest_prepare(&s->set);
    return LIMN_OK;
}

static limn_status finish(limn_context *ctx, limn_status status, state *s, lm_field *out) {
    if (status == LIMN_OK)
        out->state = s;
    else if (s)
        state_free(&ctx->mem, s);
    if (status != LIMN_OK)
        *out = (lm_field){.d = 0};
    return status;
}

limn_status lm_field_agf(limn_context *ctx, const lm_field_set *set, double w, size_t k,
                         lm_field *out) {
    state *s = NULL;
    limn_status status = make(ctx, set, LM_NEAREST_L2, k, &s);
    *out = (lm_field){.d = set->d,
                      .is_r = true,
                      .smooth = true,
                      .piece = agf_piece,
                      .scratch = near_scratch,
                      .destroy = state_free};
    if (s)
        s->w = w;
    return finish(ctx, status, s, out);
}

limn_status lm_field_kde(limn_context *ctx, const lm_field_set *set, double bandwidth,
                         lm_field *out) {
    state *s = NULL;
    limn_status status = make(ctx, set, LM_NEAREST_L2, 1, &s);
    if (status == LIMN_OK) {
        s->centre = lm_alloc(&ctx->mem, set->d, sizeof *s->centre);
        s->norm = lm_alloc(&ctx->mem, set->n, sizeof *s->norm);
        status = s->centre && s->norm ? LIMN_OK : lm_fail_memory(ctx);
    }
    if (status == LIMN_OK)
        lm_pack_centre(&s->set.pack, s->centre, s->norm);
    *out = (lm_field){.d = set->d,
                      .sigmoid = {-1, 0},
                      .smooth = true,
                      .piece = kde_piece,
                      .scratch = kde_scratch,
                      .destroy = state_free};
    if (s)
        s->bandwidth = bandwidth;
    return finish(ctx, status, s, out);
}

limn_status lm_field_knn(limn_context *ctx, const lm_field_set *set, size_t k,
                         lm_nearest_metric metric, bool by_distance, lm_field *out) {
    state *s = NULL;
    limn_status status = make(ctx, set, metric, k, &s);
    *out = (lm_field){.d = set->d,
                      .is_r = true,
                      .steps = true,
                      .piece = knn_piece,
                      .scratch = near_scratch,
                      .destroy = state_free};
    if (s)
        s->by_distance = by_distance;
    return finish(ctx, status, s, out);
}
