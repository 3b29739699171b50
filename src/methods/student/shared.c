/* shared.c: what the students of one teacher share: the lessons, for which the teacher is asked
 * about hundreds of thousands of points, and the networks fitted to them. A network of 64 units
 * serves alone, before a larger one and before the teacher. */
#include "methods/student/student.h"

#include <string.h>

/* ---- finding and freeing ---- */

void st_shared_free(const limn_allocator *mem, st_shared *s) {
    st_fits_free(mem, s->fits, s->count);
    if (s->made)
        st_lessons_free(mem, &s->lessons);
    *s = (st_shared){.raced = s->raced};
}

void st_unshare(const limn_allocator *mem, void *shared) {
    if (shared)
        st_shared_free(mem, shared);
    lm_free(mem, shared);
}

/* Whether the same lessons and networks serve both. */
static bool learn_alike(const st_options *a, const st_options *b) {
    return a->pool == b->pool && a->visits == b->visits && a->sharpness <= b->sharpness &&
           a->sharpness >= b->sharpness && a->rate <= b->rate && a->rate >= b->rate &&
           a->seed == b->seed;
}

limn_status st_shared_find(limn_context *ctx, const lm_train_set *set, const st_options *options,
                           st_shared **out) {
    *out = NULL;
    if (!set->shared)
        return LIMN_OK;
    if (!*set->shared && !(*set->shared = lm_alloc_zero(&ctx->mem, 1, sizeof(st_shared))))
        return lm_fail_memory(ctx);
    st_shared *s = *set->shared;
    if (!s->made || learn_alike(&s->options, options))
        *out = s;
    s->raced = true;
    return LIMN_OK;
}

/* ---- lessons ---- */

limn_status st_shared_make(limn_context *ctx, const lm_train_set *set, const st_options *options,
                           const st_size *trial, st_shared *s) {
    if (s->made)
        return LIMN_OK;
    s->made = true;
    s->options = *options;
    limn_status status = st_lessons_make(ctx, set, options, &s->lessons);
    if (status == LIMN_OK && !s->lessons.constant)
        status = st_try(ctx, &s->lessons, options, trial, &s->kind, &s->sharp);
    if (status != LIMN_OK)
        st_shared_free(&ctx->mem, s);
    return status;
}

/* ---- networks ---- */

static bool same_size(const st_size *a, const st_size *b) {
    return a->layers == b->layers && memcmp(a->units, b->units, a->layers * sizeof *a->units) == 0;
}

static const st_fit *find(const st_shared *s, const st_size *size) {
    for (size_t i = 0; i < s->count; i++)
        if (same_size(&s->fits[i].size, size))
            return &s->fits[i];
    return NULL;
}

enum { LOOKED_AHEAD = 256 }; /* units, at most */

/* The networks that are still to be fitted, in places of s->fits; all are fitted anew when there is
 * no room left. */
static size_t list_missing(st_shared *s, const st_options *o, const limn_allocator *mem,
                           const st_size *sizes, size_t count) {
    size_t missing = 0;
    for (size_t i = 0; i < count; i++)
        missing += !find(s, &sizes[i]);
    if (s->count + missing > ST_KEPT) {
        st_fits_free(mem, s->fits, s->count);
        s->count = 0;
    }
    missing = 0;
    for (size_t i = 0; i < count; i++)
        if (!find(s, &sizes[i]))
            s->fits[s->count + missing++] =
                (st_fit){.size = sizes[i],
                         .rate = o->rate > 0 ? o->rate : st_rate(&s->lessons, &sizes[i], s->kind),
                         .sharp = s->sharp,
                         .visits = st_visits(&s->lessons, o, &sizes[i])};
    return missing;
}

/* A small network keeps one thread busy: where others are free, the one of twice its size, which a
 * race will want next, is fitted beside it. It is the same network whenever it is fitted. */
static size_t look_ahead(const limn_context *ctx, const st_shared *s, const st_size *sizes,
                         size_t count, st_size *wanted) {
    memcpy(wanted, sizes, count * sizeof *sizes);
    st_size next = {.layers = 1, .units = {2 * sizes[0].units[0]}};
    bool alone = count == 1 && sizes[0].layers == 1 && !find(s, &sizes[0]);
    if (ctx->threads > 1 && alone && next.units[0] <= LOOKED_AHEAD && !find(s, &next))
        wanted[count++] = next;
    return count;
}

limn_status st_shared_fit(limn_context *ctx, st_shared *s, const st_options *options,
                          const st_size *sizes, size_t count, st_fit *fits) {
    st_size wanted[ST_KEPT];
    size_t all = count;
    if (s->raced)
        all = look_ahead(ctx, s, sizes, count, wanted);
    else
        memcpy(wanted, sizes, count * sizeof *sizes);
    size_t missing = list_missing(s, options, &ctx->mem, wanted, all);
    st_fit *added = s->fits + s->count;
    limn_status status = LIMN_OK;
    if (missing)
        status = st_fit_all(ctx, &s->lessons, options->seed, "fitting", added, missing);
    if (status != LIMN_OK) {
        st_fits_free(&ctx->mem, added, missing);
        return status;
    }
    s->count += missing;
    for (size_t i = 0; i < count; i++)
        fits[i] = *find(s, &sizes[i]);
    return LIMN_OK;
}
