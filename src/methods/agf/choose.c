/* choose.c: W and the bandwidth by leaving rows out.
 *
 * Each row of a seeded, stratified sample is asked about as if it were not in the training set, for
 * every value of a grid: W from 1 to 50, or bandwidths around Silverman's
 *
 *   h = spread (4 / ((d + 2) n))^(1 / (d + 4)),   spread^2 = mean |x - centre|^2 / d,
 *
 * in steps of sqrt(2) from h/16 to 4 h. The value with the least sum of -log P(class), squared
 * error or -log density is chosen, ties to the smaller one. The sums are those of the whole
 * training set, so nothing has to be corrected for its size. */
#include "base/work.h"
#include "data/split.h"
#include "fit/bandwidth.h"
#include "methods/agf/agf.h"
#include "num/pack_double.h"

#include <math.h>

enum { ASKED = 1000, FEWEST = 3, MOST_VALUES = 16, WS = 11, BANDWIDTHS = 13 };
#define LEAST_P 1e-15

static const double w_grid[WS] = {1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50};

typedef struct search {
    const agf_model *m;
    const lm_params *params;
    size_t *rows; /* that are asked about */
    size_t count, values;
    double value[MOST_VALUES];
    double *loss; /* count x values */
} search;

/* ---- the loss of one row ---- */

/* weight: of the rows, 0 for the row itself. */
static double loss_of(const agf_model *m, size_t row, const lm_ranked *items, size_t count,
                      const double *weight, double log_sum, double s2) {
    double right = 0, total = 0, sum = 0;
    if (m->task == LIMN_DENSITY)
        return -agf_log_density(m, log_sum, s2, m->set.pack.n - 1);
    for (size_t i = 0; i < count; i++) {
        size_t other = items ? (size_t)items[i].row : i;
        double w = weight[i] * (m->weight ? m->weight[other] : 1);
        total += w;
        if (m->task == LIMN_CLASSIFY)
            right += m->label[other] == m->label[row] ? w : 0;
        else
            sum += w * m->target[other];
    }
    double miss = m->task == LIMN_REGRESS ? sum / total - m->target[row] : 0;
    return m->task == LIMN_REGRESS ? miss * miss : -log(fmax(right / total, LEAST_P));
}

static void judge_adaptive(const search *s, size_t row, const lm_nearest_found *near,
                           double *weight, double *loss) {
    const agf_model *m = s->m;
    for (size_t v = 0; v < s->values; v++) {
        size_t k = agf_neighbors(s->params, s->value[v], near->count);
        double s2 = lm_agf_weights(near->items, k, s->value[v], weight);
        double sum = 0;
        for (size_t i = 0; i < k; i++)
            sum += weight[i];
        loss[v] = loss_of(m, row, near->items, k, weight, log(sum), s2);
    }
}

static void judge_fixed(const search *s, size_t row, const double *distance, double *weight,
                        double *loss) {
    const agf_model *m = s->m;
    size_t n = m->set.pack.n;
    double least = INFINITY;
    for (size_t i = 0; i < n; i++)
        least = i != row && distance[i] < least ? distance[i] : least;
    for (size_t v = 0; v < s->values; v++) {
        double sum = 0, s2 = s->value[v] * s->value[v];
        for (size_t i = 0; i < n; i++) {
            double power = (least - distance[i]) * 0.5 / s2;
            weight[i] = i == row || power < -40 ? 0 : exp(power);
            sum += weight[i];
        }
        loss[v] = loss_of(m, row, NULL, n, weight, log(sum) - least * 0.5 / s2, s2);
    }
}

typedef struct room {
    float *x;
    double *weight, *distance, *spare;
    void *near;
} room;

static room lay_out(const search *s, size_t k, lm_cursor *at) {
    const lm_pack *pack = &s->m->set.pack;
    size_t places = pack->panels * LM_PANEL, bytes = 0;
    room r;
    r.x = lm_take(at, pack->d, sizeof *r.x);
    r.spare = lm_take(at, pack->d, sizeof *r.spare);
    r.weight = lm_take(at, places, sizeof *r.weight);
    r.distance = lm_take(at, s->m->fixed ? places : 0, sizeof *r.distance);
    if (!s->m->fixed)
        (void)lm_nearest_scratch(1, k, &bytes);
    r.near = lm_take(at, bytes, 1);
    return r;
}

static limn_status judge(limn_context *ctx, void *user, size_t index) {
    const search *s = user;
    const agf_model *m = s->m;
    const lm_pack *pack = &m->set.pack;
    size_t row = s->rows[index];
    double *loss = s->loss + index * s->values;
    size_t k = m->fixed ? 0 : agf_neighbors(s->params, s->value[s->values - 1], pack->n - 1);
    lm_cursor at = lm_cursor_at(NULL);
    (void)lay_out(s, k, &at);
    void *memory = lm_alloc_measured(&ctx->mem, &at);
    if (!memory)
        return lm_fail_memory(ctx);
    at = lm_cursor_at(memory);
    room r = lay_out(s, k, &at);
    lm_pack_row(pack, row, r.x);
    if (m->fixed) {
        lm_pack_distances_double(pack, m->centre, m->norm, 0, pack->panels, r.x, r.distance,
                                 r.spare);
        judge_fixed(s, row, r.distance, r.weight, loss);
    } else {
        lm_nearest_found near = lm_nearest_one(&m->set, r.x, k, row, r.near);
        judge_adaptive(s, row, &near, r.weight, loss);
    }
    lm_free_aligned(&ctx->mem, memory);
    return LIMN_OK;
}

/* ---- the search ---- */

static double silverman(const agf_model *m) {
    const lm_pack *pack = &m->set.pack;
    double d = (double)pack->d, n = (double)pack->n, sum = 0;
    for (size_t i = 0; i < pack->n; i++)
        sum += m->norm[i] / n / d;
    return (sum > 0 ? sqrt(sum) : 1) * pow(4 / ((d + 2) * n), 1 / (d + 4));
}

static void make_grid(search *s) {
    s->values = s->m->fixed ? BANDWIDTHS : WS;
    double middle = s->m->fixed ? silverman(s->m) : 0;
    for (size_t v = 0; v < s->values; v++)
        s->value[v] = s->m->fixed ? middle * exp2((double)v / 2 - 4) : w_grid[v];
}

static limn_status search_all(limn_context *ctx, search *s, double *best) {
    const agf_model *m = s->m;
    size_t n = m->set.pack.n;
    double fraction = n > ASKED ? (double)ASKED / (double)n : 1;
    s->rows = lm_alloc(&ctx->mem, n, sizeof *s->rows);
    limn_status status =
        s->rows ? lm_split_sample(ctx, m->label, n, fraction,
                                  lm_hash(ctx->seed, LM_STREAM_SPLIT, n), s->rows, &s->count)
                : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        s->loss = lm_alloc(&ctx->mem, s->count * s->values, sizeof *s->loss);
        status = s->loss ? LIMN_OK : lm_fail_memory(ctx);
    }
    lm_job job = {.stage = "choosing", .count = s->count, .task = judge, .user = s};
    if (status == LIMN_OK)
        status = lm_work(ctx, &job);
    double least = INFINITY;
    for (size_t v = 0; v < s->values && status == LIMN_OK; v++) {
        double sum = 0;
        for (size_t i = 0; i < s->count; i++)
            sum += s->loss[i * s->values + v];
        if (sum < least) {
            least = sum;
            *best = s->value[v];
        }
    }
    lm_free(&ctx->mem, s->rows);
    lm_free(&ctx->mem, s->loss);
    return status;
}

limn_status agf_choose(limn_context *ctx, const lm_params *params, agf_model *m) {
    const char *key = m->fixed ? "bandwidth" : "W";
    double *chosen = m->fixed ? &m->bandwidth : &m->w;
    search s = {.m = m, .params = params};
    if (!lm_param_is_auto(params, key)) {
        *chosen = lm_param_real(params, key);
        return LIMN_OK;
    }
    *chosen = m->fixed ? silverman(m) : 5;
    if (m->set.pack.n < FEWEST)
        return LIMN_OK;
    make_grid(&s);
    limn_status status = search_all(ctx, &s, chosen);
    if (status == LIMN_OK)
        lm_info(ctx, "%s: chosen by leaving rows out: %s=%.6g", params->owner, key, *chosen);
    return status;
}
