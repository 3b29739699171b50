/* query.c: votes, probabilities, means and searches from the exact neighbours that num/nearest
 * finds. */
#include "base/argmax.h"
#include "methods/knn/knn.h"

#include <math.h>

typedef struct layout {
    double *votes; /* classes */
    void *search;
} layout;

/* k: at most what the scratch was made for. */
static layout lay_out(const knn_model *m, size_t rows, size_t k, lm_cursor *at) {
    size_t bytes;
    layout l = {.votes = lm_take(at, m->classes, sizeof *l.votes)};
    (void)lm_nearest_scratch(rows, k < m->set.pack.n ? k : m->set.pack.n, &bytes);
    l.search = lm_take(at, bytes, 1);
    return l;
}

void knn_scratch(const void *model, size_t rows, size_t neighbors, lm_cursor *at) {
    const knn_model *m = model;
    (void)lay_out(m, rows, neighbors > m->k ? neighbors : m->k, at);
}

static double distance_of(const knn_model *model, double key) {
    return model->set.metric == LM_NEAREST_L2 ? sqrt(key) : key;
}

/* ---- answers ---- */

static double weight_of(const knn_model *model, const lm_nearest_found *near, size_t i) {
    double own = model->weight ? model->weight[near->items[i].row] : 1;
    return own * lm_nearest_vote(near, i, model->set.metric, model->weights == KNN_DISTANCE);
}

static double cast_votes(const knn_model *model, const lm_nearest_found *near, double *votes) {
    double total = 0;
    for (size_t c = 0; c < model->classes; c++)
        votes[c] = 0;
    for (size_t i = 0; i < near->count; i++) {
        double weight = weight_of(model, near, i);
        votes[model->label[near->items[i].row]] += weight;
        total += weight;
    }
    return total;
}

void knn_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const knn_model *model = opaque;
    const lm_nearest_found *near;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(model, n, model->k, &at);
    for (size_t done = 0, found; done < n; done += found) {
        found = lm_nearest_many(&model->set, x + done * model->set.pack.d, n - done, model->k,
                                l.search, &near);
        for (size_t q = 0; q < found; q++) {
            cast_votes(model, &near[q], l.votes);
            classes[done + q] = (int32_t)lm_argmax(l.votes, model->classes);
        }
    }
}

void knn_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const knn_model *model = opaque;
    const lm_nearest_found *near;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(model, n, model->k, &at);
    for (size_t done = 0, found; done < n; done += found) {
        found = lm_nearest_many(&model->set, x + done * model->set.pack.d, n - done, model->k,
                                l.search, &near);
        for (size_t q = 0; q < found; q++) {
            double *p = proba + (done + q) * model->classes;
            double total = cast_votes(model, &near[q], p);
            for (size_t c = 0; c < model->classes; c++)
                p[c] /= total;
        }
    }
}

/* The weighted mean of the neighbours' targets, computed so that large ones cannot overflow. */
static double mean_target(const knn_model *model, const lm_nearest_found *near) {
    double mean = 0, total = 0;
    for (size_t i = 0; i < near->count; i++) {
        double weight = weight_of(model, near, i);
        total += weight;
        if (weight > 0)
            mean += (model->target[near->items[i].row] / 2 - mean / 2) * (2 * weight / total);
    }
    return mean;
}

void knn_values(const void *opaque, const float *x, size_t n, double *values, void *scratch) {
    const knn_model *model = opaque;
    const lm_nearest_found *near;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(model, n, model->k, &at);
    for (size_t done = 0, found; done < n; done += found) {
        found = lm_nearest_many(&model->set, x + done * model->set.pack.d, n - done, model->k,
                                l.search, &near);
        for (size_t q = 0; q < found; q++)
            values[done + q] = mean_target(model, &near[q]);
    }
}

void knn_search(const void *opaque, const float *x, size_t n, size_t k, int64_t *rows,
                double *distances, void *scratch) {
    const knn_model *model = opaque;
    const lm_nearest_found *near;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(model, n, k, &at);
    for (size_t done = 0, found; done < n; done += found) {
        found = lm_nearest_many(&model->set, x + done * model->set.pack.d, n - done, k, l.search,
                                &near);
        for (size_t i = 0; i < found * k; i++) {
            const lm_nearest_found *one = &near[i / k];
            bool there = i % k < one->count;
            rows[done * k + i] = there ? (int64_t)one->items[i % k].row : -1;
            distances[done * k + i] =
                there ? distance_of(model, one->items[i % k].key) : (double)INFINITY;
        }
    }
}

void knn_stats(const void *opaque, lm_stats *stats) {
    const knn_model *model = opaque;
    *stats = (lm_stats){
        .touched = {(double)model->set.pack.n,
                    (double)model->set.pack.n * (double)model->set.pack.d * (double)sizeof(float)},
        .count = 1};
    stats->list[0].name = "vectors";
    stats->list[0].value = (double)model->set.pack.n;
}

void knn_stored(const void *opaque, size_t first, size_t n, float *x) {
    const knn_model *model = opaque;
    for (size_t i = 0; i < n; i++)
        lm_pack_row(&model->set.pack, first + i, x + i * model->set.pack.d);
}

limn_status knn_field(limn_context *ctx, const void *opaque, size_t first, size_t second,
                      lm_field *out) {
    const knn_model *model = opaque;
    lm_field_set set;
    limn_status status = lm_field_set_take(ctx, &model->set.pack, model->label, model->weight,
                                           (int32_t)first, (int32_t)second, &set);
    if (status != LIMN_OK)
        return status;
    status =
        lm_field_knn(ctx, &set, model->k, model->set.metric, model->weights == KNN_DISTANCE, out);
    lm_field_set_free(&ctx->mem, &set);
    return status;
}
