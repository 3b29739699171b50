/* query.c: the kernel sums of a query, and classes, probabilities, values and densities from
 * them. */
#include "base/argmax.h"
#include "fit/bandwidth.h"
#include "methods/agf/agf.h"
#include "num/kernel.h"
#include "num/pack_double.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256 }; /* rows whose exponentials are computed together */
#define LOG_2_PI 1.8378770664093453

typedef struct layout {
    double *votes;  /* classes */
    double *weight; /* agf: of the k nearest; kde: of all rows, first their squared distances */
    double *spare;  /* kde: d */
    void *search;   /* agf */
} layout;

static layout lay_out(const agf_model *m, size_t rows, lm_cursor *at) {
    const lm_pack *pack = &m->set.pack;
    size_t bytes = 0;
    layout l;
    l.votes = lm_take(at, m->classes, sizeof *l.votes);
    l.weight = lm_take(at, m->fixed ? pack->panels * LM_PANEL : m->k, sizeof *l.weight);
    l.spare = lm_take(at, pack->d, sizeof *l.spare);
    if (!m->fixed)
        (void)lm_nearest_scratch(rows, m->k, &bytes);
    l.search = lm_take(at, bytes, 1);
    return l;
}

void agf_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)neighbors;
    (void)lay_out(opaque, rows, at);
}

/* ---- what a query finds: rows and their weights ---- */

typedef struct found {
    const lm_ranked *items; /* NULL: rows 0 .. count - 1 */
    size_t count;
    const double *weight;
    double s2;
    double log_sum; /* log of the sum of the K_i */
} found;

static size_t row_of(const found *f, size_t i) {
    return f->items ? (size_t)f->items[i].row : i;
}

/* Squared distances into exp(-(d^2 - least) * narrow). */
static void exponentials(double *value, size_t n, double least, double narrow) {
    float some[CHUNK];
    for (size_t first = 0; first < n; first += CHUNK) {
        size_t count = n - first < CHUNK ? n - first : CHUNK;
        for (size_t i = 0; i < count; i++)
            some[i] = (float)fmax((least - value[first + i]) * narrow, -100);
        lm_exp(some, count);
        for (size_t i = 0; i < count; i++)
            value[first + i] = (double)some[i];
    }
}

/* All rows, with weights relative to that of the nearest, so that they cannot all vanish. */
static found find_all(const agf_model *m, const float *x, layout *l) {
    const lm_pack *pack = &m->set.pack;
    double *value = l->weight, least = INFINITY, sum = 0, s2 = m->bandwidth * m->bandwidth;
    lm_pack_distances_double(pack, m->centre, m->norm, 0, pack->panels, x, value, l->spare);
    for (size_t i = 0; i < pack->n; i++)
        least = value[i] < least ? value[i] : least;
    exponentials(value, pack->n, least, 0.5 / s2);
    for (size_t i = 0; i < pack->n; i++)
        sum += value[i];
    return (found){
        .count = pack->n, .weight = value, .s2 = s2, .log_sum = log(sum) - least * 0.5 / s2};
}

static found weigh(const agf_model *m, const lm_nearest_found *near, layout *l) {
    double s2 = lm_agf_weights(near->items, near->count, m->w, l->weight), sum = 0;
    for (size_t i = 0; i < near->count; i++)
        sum += l->weight[i];
    return (found){near->items, near->count, l->weight, s2, log(sum)};
}

/* ---- answers ---- */

static double own_weight(const agf_model *m, size_t row) {
    return m->weight ? m->weight[row] : 1;
}

static double cast_votes(const agf_model *m, const found *f, double *votes) {
    double total = 0;
    memset(votes, 0, m->classes * sizeof *votes);
    for (size_t i = 0; i < f->count; i++) {
        size_t row = row_of(f, i);
        double vote = f->weight[i] * own_weight(m, row);
        votes[m->label[row]] += vote;
        total += vote;
    }
    return total;
}

/* Computed so that large targets cannot overflow. */
static double mean_target(const agf_model *m, const found *f) {
    double mean = 0, total = 0;
    for (size_t i = 0; i < f->count; i++) {
        size_t row = row_of(f, i);
        double weight = f->weight[i] * own_weight(m, row);
        total += weight;
        if (weight > 0)
            mean += (m->target[row] / 2 - mean / 2) * (2 * weight / total);
    }
    return mean;
}

double agf_log_density(const agf_model *m, double log_sum, double s2, size_t rows) {
    double d = (double)m->set.pack.d;
    s2 = m->fixed || s2 > m->least_s2 ? s2 : m->least_s2;
    return log_sum - log((double)rows) - d / 2 * (LOG_2_PI + log(s2));
}

typedef enum wanted { CLASSES, PROBA, VALUES } wanted;

static void answer_one(const agf_model *m, const found *f, layout *l, wanted what, size_t q,
                       void *out) {
    if (what == VALUES) {
        double *values = out;
        values[q] = m->task == LIMN_DENSITY ? agf_log_density(m, f->log_sum, f->s2, m->set.pack.n)
                                            : mean_target(m, f);
    } else if (what == CLASSES) {
        int32_t *classes = out;
        cast_votes(m, f, l->votes);
        classes[q] = (int32_t)lm_argmax(l->votes, m->classes);
    } else {
        double *p = (double *)out + q * m->classes, total = cast_votes(m, f, p);
        for (size_t c = 0; c < m->classes; c++)
            p[c] /= total;
    }
}

static void answer(const agf_model *m, const float *x, size_t n, wanted what, void *out,
                   void *scratch) {
    size_t d = m->set.pack.d;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    for (size_t q = 0; q < n && m->fixed; q++) {
        found f = find_all(m, x + q * d, &l);
        answer_one(m, &f, &l, what, q, out);
    }
    for (size_t done = 0, some; done < n && !m->fixed; done += some) {
        const lm_nearest_found *near;
        some = lm_nearest_many(&m->set, x + done * d, n - done, m->k, l.search, &near);
        for (size_t q = 0; q < some; q++) {
            found f = weigh(m, &near[q], &l);
            answer_one(m, &f, &l, what, done + q, out);
        }
    }
}

void agf_predict(const void *model, const float *x, size_t n, int32_t *classes, void *scratch) {
    answer(model, x, n, CLASSES, classes, scratch);
}

void agf_proba(const void *model, const float *x, size_t n, double *proba, void *scratch) {
    answer(model, x, n, PROBA, proba, scratch);
}

void agf_values(const void *model, const float *x, size_t n, double *values, void *scratch) {
    answer(model, x, n, VALUES, values, scratch);
}

void agf_stats(const void *opaque, lm_stats *stats) {
    const agf_model *m = opaque;
    double n = (double)m->set.pack.n;
    *stats = (lm_stats){.touched = {n, n * (double)m->set.pack.d * (double)sizeof(float)}};
    stats->list[stats->count].name = "vectors";
    stats->list[stats->count++].value = n;
    stats->list[stats->count].name = m->fixed ? "bandwidth" : "W";
    stats->list[stats->count++].value = m->fixed ? m->bandwidth : m->w;
    if (!m->fixed) {
        stats->list[stats->count].name = "nearest rows used";
        stats->list[stats->count++].value = (double)m->k;
    }
}

/* ---- the decision between two classes ---- */

limn_status agf_field(limn_context *ctx, const void *opaque, size_t first, size_t second,
                      lm_field *out) {
    const agf_model *m = opaque;
    lm_field_set set;
    limn_status status = lm_field_set_take(ctx, &m->set.pack, m->label, m->weight, (int32_t)first,
                                           (int32_t)second, &set);
    if (status != LIMN_OK)
        return status;
    status = m->fixed ? lm_field_kde(ctx, &set, m->bandwidth, out)
                      : lm_field_agf(ctx, &set, m->w, m->k, out);
    lm_field_set_free(&ctx->mem, &set);
    return status;
}
