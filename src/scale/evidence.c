/* evidence.c: losses of a nearest neighbour, and the walk from one candidate to the next. */
#include "scale/evidence.h"

#include "base/quickselect.h"
#include "base/work.h"
#include "num/nearest.h"
#include "scale/scale.h"

#include <math.h>
#include <string.h>

enum { PIECE = 64 /* rows asked at once */ };

size_t lm_trials_choice(const lm_trials *trials) {
    size_t choice = 0;
    for (size_t i = 1; i < trials->count; i++)
        if (trials->list[i].taken)
            choice = i;
    return choice;
}

/* ---- losses ---- */

typedef struct hearing {
    const lm_scaler *scaler;
    const lm_scaler_rows *rows;
    lm_row_list stored, asked;
    bool leave_out;
    lm_nearest_set set;
    float *norms;
    double *loss;
} hearing;

static limn_status store_rows(limn_context *ctx, hearing *h) {
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

static limn_status prepare(limn_context *ctx, hearing *h) {
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

static double loss_of(const hearing *h, size_t asked, const lm_nearest_found *near) {
    size_t found = (size_t)near->items[0].row;
    if (h->leave_out && found == asked)
        found = (size_t)near->items[1].row;
    size_t row = h->asked.row[asked], other = h->stored.row[found];
    return h->rows->label ? h->rows->label[row] != h->rows->label[other]
                          : fabs(h->rows->target[row] - h->rows->target[other]);
}

typedef struct memory {
    float *x; /* PIECE rows, scaled */
    void *spare, *scratch;
} memory;

static limn_status take_memory(limn_context *ctx, const lm_scaler *scaler, memory *m) {
    size_t bytes;
    m->x = lm_alloc(&ctx->mem, scaler->out, PIECE * sizeof *m->x);
    if (lm_nearest_scratch(PIECE, 2, &bytes))
        m->scratch = lm_alloc_aligned(&ctx->mem, bytes, 1);
    return m->x && m->scratch ? lm_scaler_spare(ctx, scaler, &m->spare) : lm_fail_memory(ctx);
}

static void ask(const hearing *h, size_t first, size_t n, const memory *m) {
    const lm_nearest_found *near;
    for (size_t i = 0; i < n; i++)
        lm_scaler_apply(h->scaler, h->rows->x + h->asked.row[first + i] * h->rows->d, 1,
                        m->x + i * h->scaler->out, m->spare);
    for (size_t done = 0, some; done < n; done += some) {
        some = lm_nearest_many(&h->set, m->x + done * h->scaler->out, n - done,
                               h->leave_out ? 2 : 1, m->scratch, &near);
        for (size_t i = 0; i < some; i++)
            h->loss[first + done + i] = loss_of(h, first + done + i, &near[i]);
    }
}

static limn_status ask_piece(limn_context *ctx, void *user, size_t piece) {
    const hearing *h = user;
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
    hearing h = {.scaler = scaler,
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

/* The loss above which a row counts as wrong. */
static limn_status find_limit(limn_context *ctx, bool targets, const double *loss, size_t n,
                              double *limit) {
    *limit = 0.5;
    if (!targets)
        return LIMN_OK;
    double *sorted = lm_alloc(&ctx->mem, n, sizeof *sorted);
    if (!sorted)
        return lm_fail_memory(ctx);
    memcpy(sorted, loss, n * sizeof *sorted);
    lm_rng rng = lm_rng_at(ctx->seed, lm_stream_of("scale median"), 0);
    lm_select_kth_double(&rng, sorted, n, (n - 1) / 2);
    *limit = sorted[(n - 1) / 2];
    lm_free(&ctx->mem, sorted);
    return LIMN_OK;
}

static void try(const double *loss, const double *in_force, size_t n, double limit, double z,
                lm_trial *trial) {
    for (size_t i = 0; i < n; i++) {
        bool wrong = loss[i] > limit, before = in_force[i] > limit;
        trial->wrong += wrong;
        trial->mends += before && !wrong;
        trial->breaks += wrong && !before;
    }
    double b = (double)trial->mends, a = (double)trial->breaks;
    trial->taken = b - a > z * sqrt(a + b);
}

limn_status lm_evidence_walk(limn_context *ctx, const char *const *names, const double *z,
                             size_t count, bool targets, const double *loss, size_t n,
                             lm_trials *trials) {
    double limit;
    size_t in_force = 0;
    limn_status status = find_limit(ctx, targets, loss, count * n, &limit);
    if (status != LIMN_OK)
        return status;
    *trials = (lm_trials){.rows = n, .count = count};
    for (size_t c = 0; c < count; c++) {
        trials->list[c].name = names[c];
        try(loss + c * n, loss + in_force * n, n, limit, z[c], &trials->list[c]);
        if (trials->list[c].taken)
            in_force = c;
    }
    trials->list[0].taken = true;
    return LIMN_OK;
}
