/* shared.c: what the borders of one teacher share: the rows and the teacher's answers to them, its
 * answers to the pools of points, which are the same for any number of borders, and the borders of
 * all pairs, which do not depend on how the pairs are combined. A single model has all this for
 * itself. */
#include "methods/borders/borders.h"

#include "data/split.h"

#include <string.h>

/* ---- the rows ---- */

static void rows_free(const limn_allocator *mem, bd_rows *r) {
    lm_free(mem, r->row);
    lm_free(mem, r->start);
    lm_pool_features_free(mem, &r->features);
    lm_free(mem, r->answers);
    for (size_t i = 0; r->pools && i < r->pool_count; i++)
        lm_free(mem, r->pools[i].f);
    lm_free(mem, r->pools);
    *r = (bd_rows){.set = NULL};
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

static limn_status rows_take(limn_context *ctx, uint64_t stream, const lm_train_set *set,
                             bd_rows *r) {
    if (set->n > UINT32_MAX / 2)
        return lm_fail(ctx, LIMN_E_DATA, "%zu rows are more than borders can handle", set->n);
    r->row = lm_alloc(&ctx->mem, set->n, sizeof *r->row);
    r->start = lm_alloc_zero(&ctx->mem, set->classes + 2, sizeof *r->start);
    if (!r->row || !r->start)
        return lm_fail_memory(ctx);
    lm_split_classes(set->label, set->n, set->classes, ctx->seed, stream, r->row, r->start);
    limn_status status = lm_pool_features_find(ctx, set->x, set->n, set->d, &r->features);
    if (status != LIMN_OK)
        return status;
    return set->teacher->field || set->classes < 2 ? LIMN_OK : ask_all(ctx, set, r);
}

/* ---- the answers to pools ---- */

enum { ANSWERS_MOST = 1 << 23 }; /* kept, of all pairs */

/* The place of a pool, or NULL. */
static bd_answers *place_of(const bd_rows *rows, const size_t pair[2], bool held) {
    size_t k = rows->set->classes, before = pair[0] * (2 * k - pair[0] - 1) / 2;
    return rows->pools ? &rows->pools[2 * (before + pair[1] - pair[0] - 1) + held] : NULL;
}

bool bd_answers_recall(const bd_rows *rows, const size_t pair[2], bool held, const bd_pool *pool,
                       double *f) {
    const bd_answers *a = place_of(rows, pair, held);
    if (!a || !a->f || a->n != pool->n || a->rows != pool->rows)
        return false;
    memcpy(f, a->f, (a->n - a->rows) * sizeof *f);
    return true;
}

void bd_answers_keep(limn_context *ctx, const bd_rows *rows, const size_t pair[2], bool held,
                     const bd_pool *pool, const double *f) {
    bd_answers *a = place_of(rows, pair, held);
    size_t count = pool->n - pool->rows;
    if (!a || count > ANSWERS_MOST / bd_pair_count(rows->set->classes))
        return;
    lm_free(&ctx->mem, a->f);
    *a = (bd_answers){pool->n, pool->rows, lm_alloc(&ctx->mem, count + 1, sizeof *f)};
    if (a->f)
        memcpy(a->f, f, count * sizeof *f);
}

/* ---- the borders ---- */

typedef struct drawn {
    bd_options options;
    bd_pair *pairs; /* NULL: none */
    size_t count;
} drawn;

enum { KEPT = 4 };

struct bd_shared {
    bd_rows rows;
    drawn list[KEPT];
    size_t next; /* to be replaced */
};

static void drawn_free(const limn_allocator *mem, drawn *s) {
    for (size_t p = 0; s->pairs && p < s->count; p++)
        bd_points_free(mem, &s->pairs[p].points);
    lm_free(mem, s->pairs);
    *s = (drawn){.pairs = NULL};
}

void bd_unshare(const limn_allocator *mem, void *shared) {
    bd_shared *s = shared;
    for (size_t i = 0; s && i < KEPT; i++)
        drawn_free(mem, &s->list[i]);
    if (s)
        rows_free(mem, &s->rows);
    lm_free(mem, s);
}

limn_status bd_shared_find(limn_context *ctx, const lm_train_set *set, bd_shared **out) {
    *out = set->shared ? *set->shared : NULL;
    if (*out)
        return LIMN_OK;
    *out = lm_alloc_zero(&ctx->mem, 1, sizeof **out);
    if (set->shared)
        *set->shared = *out;
    return *out ? LIMN_OK : lm_fail_memory(ctx);
}

const bd_rows *bd_shared_rows(const bd_shared *shared) {
    return &shared->rows;
}

static bool draw_alike(const bd_options *a, const bd_options *b) {
    return a->borders == b->borders && a->pool == b->pool && a->random == b->random &&
           a->form == b->form && a->calibrate == b->calibrate && a->threshold <= b->threshold &&
           a->threshold >= b->threshold;
}

/* Takes the rows, unless they are there. */
static limn_status take_rows(limn_context *ctx, const lm_train_set *set, uint64_t stream,
                             bd_rows *rows) {
    bool taken = rows->row != NULL;
    size_t pairs = bd_pair_count(set->classes);
    rows->set = set;
    if (taken)
        return LIMN_OK;
    limn_status status = rows_take(ctx, stream, set, rows);
    if (status == LIMN_OK && set->shared) {
        rows->pools = lm_alloc_zero(&ctx->mem, 2 * pairs + 1, sizeof *rows->pools);
        rows->pool_count = 2 * pairs;
        status = rows->pools ? LIMN_OK : lm_fail_memory(ctx);
    }
    if (status != LIMN_OK)
        rows_free(&ctx->mem, rows);
    return status;
}

limn_status bd_shared_draw(limn_context *ctx, bd_shared *s, const lm_train_set *set,
                           const bd_options *options, const bd_pair **pairs) {
    limn_status status = take_rows(ctx, set, options->stream, &s->rows);
    if (status != LIMN_OK)
        return status;
    for (size_t i = 0; i < KEPT; i++)
        if (s->list[i].pairs && draw_alike(&s->list[i].options, options)) {
            *pairs = s->list[i].pairs;
            return LIMN_OK;
        }
    drawn *place = &s->list[s->next++ % KEPT];
    drawn_free(&ctx->mem, place);
    *place = (drawn){.options = *options, .count = bd_pair_count(set->classes)};
    place->pairs = lm_alloc_zero(&ctx->mem, place->count + 1, sizeof *place->pairs);
    status =
        place->pairs ? bd_draw_pairs(ctx, &s->rows, options, place->pairs) : lm_fail_memory(ctx);
    *pairs = place->pairs;
    if (status != LIMN_OK)
        drawn_free(&ctx->mem, place);
    return status;
}
