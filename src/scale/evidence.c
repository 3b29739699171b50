/* evidence.c: losses of nearest neighbours, and the walk from one candidate to the next.
 *
 * Each row is answered by its nearest row, by its five and by its nine nearest ones. These see more
 * than the nearest alone, whose mistakes are often luck, in sets of a few hundred rows or where
 * classes overlap. The three answers to a row depend on each other, so the error of a comparison is
 * that of the sum over its rows. */
#include "scale/evidence.h"

#include "base/quickselect.h"
#include "base/work.h"
#include "num/nearest.h"
#include "scale/scale.h"

#include <math.h>
#include <string.h>

enum { PIECE = 64 /* rows asked at once */, MOST = 9 /* neighbours */ };

static const size_t neighbors[LM_JUDGES] = {1, 5, MOST};

size_t lm_trials_choice(const lm_trials *trials) {
    size_t choice = 0;
    for (size_t i = 1; i < trials->count; i++)
        if (trials->list[i].taken)
            choice = i;
    return choice;
}

/* ---- losses ---- */

typedef struct comparison {
    const lm_scaler *scaler;
    const lm_scaler_rows *rows;
    lm_row_list stored, asked;
    bool leave_out;
    lm_nearest_set set;
    float *norms;
    double *loss;
} comparison;

static limn_status store_rows(limn_context *ctx, comparison *h) {
    void *spare = NULL;
    size_t d = h->scaler->out;
    float *row = lm_alloc(&ctx->mem, d, sizeof *row);
    limn_status status = row ? lm_scaler_spare(ctx, h->scaler, &spare) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_pack_build(ctx, NULL, 0, d, d, &h->set.pack);
    if (status == LIMN_OK)
        status = lm_pack_reserve(ctx, &h->set.pack, h->stored.n);
    for (size_t i = 0; i < h->stored.n && status == LIMN_OK; i++) {
        lm_scaler_apply(h->scaler, h->rows->x + h->stored.row[i] * h->rows->d, 1, row, spare);
        status = lm_pack_append(ctx, &h->set.pack, row);
    }
    lm_free(&ctx->mem, row);
    lm_free_aligned(&ctx->mem, spare);
    return status;
}

static limn_status prepare(limn_context *ctx, comparison *h) {
    limn_status status = store_rows(ctx, h);
    if (status != LIMN_OK)
        return status;
    h->norms = lm_alloc(&ctx->mem, h->stored.n, sizeof *h->norms);
    if (!h->norms)
        return lm_fail_memory(ctx);
    lm_pack_norms(&h->set.pack, h->norms);
    h->set.norms = h->norms;
    h->set.metric = LM_NEAREST_L2;
    lm_nearest_prepare(&h->set);
    return LIMN_OK;
}

/* The rows among which row number `own` of those stored is not, in place; returns their number. */
static size_t leave_out(const lm_nearest_found *near, size_t own, size_t *row) {
    size_t count = 0;
    for (size_t i = 0; i < near->count && count < MOST; i++)
        if ((size_t)near->items[i].row != own)
            row[count++] = (size_t)near->items[i].row;
    return count;
}

/* The class of most of the rows; ties go to the lower class. */
static int32_t vote(const comparison *h, const size_t *row, size_t n) {
    int32_t best = 0;
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t label = h->rows->label[h->stored.row[row[i]]];
        size_t votes = 0;
        for (size_t j = 0; j < n; j++)
            votes += h->rows->label[h->stored.row[row[j]]] == label;
        if (votes > most || (votes == most && label < best))
            best = label;
        most = votes > most ? votes : most;
    }
    return best;
}

static double mean(const comparison *h, const size_t *row, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += h->rows->target[h->stored.row[row[i]]] / (double)n;
    return sum;
}

static void judge(const comparison *h, size_t asked, const lm_nearest_found *near) {
    size_t row[MOST], truth = h->asked.row[asked];
    size_t count = leave_out(near, h->leave_out ? asked : SIZE_MAX, row);
    for (size_t k = 0; k < LM_JUDGES; k++) {
        size_t n = neighbors[k] < count ? neighbors[k] : count;
        h->loss[asked * LM_JUDGES + k] = h->rows->label
                                             ? vote(h, row, n) != h->rows->label[truth]
                                             : fabs(mean(h, row, n) - h->rows->target[truth]);
    }
}

typedef struct memory {
    float *x; /* PIECE rows, scaled */
    void *spare, *scratch;
} memory;

static limn_status take_memory(limn_context *ctx, const lm_scaler *scaler, memory *m) {
    size_t bytes;
    m->x = lm_alloc(&ctx->mem, scaler->out, PIECE * sizeof *m->x);
    if (lm_nearest_scratch(PIECE, MOST + 1, &bytes))
        m->scratch = lm_alloc_aligned(&ctx->mem, bytes, 1);
    return m->x && m->scratch ? lm_scaler_spare(ctx, scaler, &m->spare) : lm_fail_memory(ctx);
}

static void ask(const comparison *h, size_t first, size_t n, const memory *m) {
    const lm_nearest_found *near;
    for (size_t i = 0; i < n; i++)
        lm_scaler_apply(h->scaler, h->rows->x + h->asked.row[first + i] * h->rows->d, 1,
                        m->x + i * h->scaler->out, m->spare);
    for (size_t done = 0, some; done < n; done += some) {
        some = lm_nearest_many(&h->set, m->x + done * h->scaler->out, n - done, MOST + h->leave_out,
                               m->scratch, &near);
        for (size_t i = 0; i < some; i++)
            judge(h, first + done + i, &near[i]);
    }
}

static limn_status ask_piece(limn_context *ctx, void *user, size_t piece) {
    const comparison *h = user;
    memory m = {.x = NULL};
    size_t first = piece * PIECE, left = h->asked.n - first;
    limn_status status = take_memory(ctx, h->scaler, &m);
    if (status == LIMN_OK)
        ask(h, first, left < PIECE ? left : PIECE, &m);
    lm_free(&ctx->mem, m.x);
    lm_free_aligned(&ctx->mem, m.spare);
    lm_free_aligned(&ctx->mem, m.scratch);
    return status;
}

limn_status lm_evidence_losses(limn_context *ctx, const lm_scaler *scaler,
                               const lm_scaler_rows *rows, lm_row_list stored, lm_row_list asked,
                               bool leave_out, double *loss) {
    comparison h = {.scaler = scaler,
                    .rows = rows,
                    .stored = stored,
                    .asked = asked,
                    .leave_out = leave_out,
                    .loss = loss};
    limn_status status = prepare(ctx, &h);
    if (status == LIMN_OK)
        status = lm_work(ctx, &(lm_job){.stage = "comparing scalings",
                                        .count = (asked.n + PIECE - 1) / PIECE,
                                        .task = ask_piece,
                                        .user = &h});
    lm_pack_free(&ctx->mem, &h.set.pack);
    lm_free(&ctx->mem, h.norms);
    return status;
}

/* ---- the walk ---- */

/* The loss of judge k above which an answer counts as wrong; n: its answers, of all candidates. */
static limn_status find_limit(limn_context *ctx, bool targets, const double *loss, size_t n,
                              size_t k, double *limit) {
    *limit = 0.5;
    if (!targets)
        return LIMN_OK;
    double *own = lm_alloc(&ctx->mem, n, sizeof *own);
    if (!own)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < n; i++)
        own[i] = loss[i * LM_JUDGES + k];
    lm_rng rng = lm_rng_at(ctx->seed, lm_stream_of("scale median"), k);
    lm_select_kth_double(&rng, own, n, (n - 1) / 2);
    *limit = own[(n - 1) / 2];
    lm_free(&ctx->mem, own);
    return LIMN_OK;
}

static void try(const double *loss, const double *in_force, size_t n, const double *limit, double z,
                lm_trial *trial) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        int gain = 0;
        for (size_t k = 0; k < LM_JUDGES; k++) {
            bool wrong = loss[i * LM_JUDGES + k] > limit[k];
            bool before = in_force[i * LM_JUDGES + k] > limit[k];
            trial->wrong += wrong;
            trial->mends += before && !wrong;
            trial->breaks += wrong && !before;
            gain += before - wrong;
        }
        sum += gain;
        squares += gain * gain;
    }
    trial->taken = sum > z * sqrt(squares);
}

limn_status lm_evidence_walk(limn_context *ctx, const char *const *names, const double *z,
                             size_t count, bool targets, const double *loss, size_t n,
                             lm_trials *trials) {
    double limit[LM_JUDGES];
    size_t in_force = 0, size = n * LM_JUDGES;
    limn_status status = LIMN_OK;
    for (size_t k = 0; k < LM_JUDGES && status == LIMN_OK; k++)
        status = find_limit(ctx, targets, loss, count * n, k, &limit[k]);
    if (status != LIMN_OK)
        return status;
    *trials = (lm_trials){.rows = n, .count = count};
    for (size_t c = 0; c < count; c++) {
        trials->list[c].name = names[c];
        try(loss + c * size, loss + in_force * size, n, limit, z[c], &trials->list[c]);
        if (trials->list[c].taken)
            in_force = c;
    }
    trials->list[0].taken = true;
    return LIMN_OK;
}
