/* scale.c: fitting and applying.
 *
 * What auto and learned decide is in auto.c and learned.c, the curves of rank and gauss in
 * curves.c, the map in map.c.
 *
 * Statistics are computed in double, where neither sums nor squares of float32 values can overflow.
 * zscore takes two passes; the second corrects the mean by what the first one rounded away. A
 * feature is constant when its smallest and largest values are equal, not by its computed
 * deviation, which rounding could make larger than 0. */
#include "scale/scale.h"

#include "num/linalg.h"
#include "num/simd/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *limn_scale_name(limn_scale scale) {
    static const char *const names[] = {"auto", "none",  "minmax",  "zscore",
                                        "rank", "gauss", "learned", "ranges"};
    return (size_t)scale < LM_COUNT(names) ? names[scale] : NULL;
}

/* ---- fitting ---- */

typedef struct statistics {
    double *low, *high, *mean, *sd; /* one block */
} statistics;

static void range_pass(const float *x, size_t n, size_t d, statistics *s) {
    for (size_t j = 0; j < d; j++)
        s->low[j] = s->high[j] = x[j];
    for (size_t i = 1; i < n; i++) {
        const float *row = x + i * d;
        for (size_t j = 0; j < d; j++) {
            double v = row[j];
            s->low[j] = v < s->low[j] ? v : s->low[j];
            s->high[j] = v > s->high[j] ? v : s->high[j];
        }
    }
}

/* mean and sd must be zero; drift needs d doubles. */
static void moment_passes(const float *x, size_t n, size_t d, statistics *s, double *drift) {
    double count = (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            s->mean[j] += x[i * d + j];
    for (size_t j = 0; j < d; j++) {
        s->mean[j] /= count;
        drift[j] = 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            double off = x[i * d + j] - s->mean[j];
            drift[j] += off;
            s->sd[j] += off * off;
        }
    for (size_t j = 0; j < d; j++) {
        s->sd[j] = sqrt(fmax(0.0, s->sd[j] - drift[j] * drift[j] / count) / count);
        s->mean[j] += drift[j] / count;
    }
}

/* Which features stay; the statistics of these move to the front. */
static void keep_features(lm_scaler *scaler, statistics *s, bool keep_constant) {
    size_t constant = 0;
    for (size_t j = 0; j < scaler->in; j++)
        constant += s->low[j] == s->high[j];
    bool keep = keep_constant || constant == scaler->in;
    scaler->kept = 0;
    for (size_t j = 0; j < scaler->in; j++) {
        size_t at = scaler->kept;
        if (s->low[j] == s->high[j] && !keep)
            continue;
        s->low[at] = s->low[j];
        s->high[at] = s->high[j];
        s->mean[at] = s->mean[j];
        s->sd[at] = s->sd[j];
        scaler->keep[at] = (uint32_t)j;
        scaler->kept++;
    }
    scaler->out = scaler->kept;
}

static void set_lines(lm_scaler *scaler, const statistics *s) {
    for (size_t j = 0; j < scaler->kept; j++) {
        bool flat = s->low[j] == s->high[j], minmax = scaler->kind == LIMN_SCALE_MINMAX;
        double spread = minmax ? s->high[j] - s->low[j] : s->sd[j];
        scaler->offset[j] = minmax || flat ? s->low[j] : s->mean[j];
        scaler->factor[j] = flat || !(spread > 0.0) ? 1.0 : 1.0 / spread;
    }
}

bool lm_scaler_take(const limn_allocator *mem, size_t count, bool lines, lm_scaler *scaler) {
    scaler->keep = lm_alloc(mem, count, sizeof *scaler->keep);
    scaler->offset = lines ? lm_alloc(mem, count, sizeof *scaler->offset) : NULL;
    scaler->factor = lines ? lm_alloc(mem, count, sizeof *scaler->factor) : NULL;
    return scaler->keep && (!lines || (scaler->offset && scaler->factor));
}

static limn_status fit_statistics(limn_context *ctx, bool keep_constant, const lm_scaler_rows *rows,
                                  lm_scaler *scaler) {
    size_t d = rows->d, count;
    bool lines = lm_scale_is_line(scaler->kind);
    double *block = lm_mul(d, 5, &count) ? lm_alloc_zero(&ctx->mem, count, sizeof *block) : NULL;
    limn_status status = LIMN_OK;
    if (!lm_scaler_take(&ctx->mem, d, lines, scaler) || !block) {
        status = lm_fail_memory(ctx);
    } else {
        statistics s = {block, block + d, block + 2 * d, block + 3 * d};
        range_pass(rows->x, rows->n, d, &s);
        if (scaler->kind == LIMN_SCALE_ZSCORE)
            moment_passes(rows->x, rows->n, d, &s, block + 4 * d);
        keep_features(scaler, &s, keep_constant);
        if (lines)
            set_lines(scaler, &s);
    }
    lm_free(&ctx->mem, block);
    return status;
}

limn_status lm_scaler_fit_columns(limn_context *ctx, limn_scale kind, bool keep_constant,
                                  const lm_scaler_rows *rows, lm_scaler *scaler) {
    size_t d = rows->d;
    *scaler = (lm_scaler){.kind = LIMN_SCALE_NONE, .in = d, .kept = d, .out = d};
    if (kind == LIMN_SCALE_NONE)
        return LIMN_OK;
    if (kind < LIMN_SCALE_MINMAX || kind > LIMN_SCALE_GAUSS)
        return lm_fail(ctx, LIMN_E_USAGE, "there is no scaling number %d", (int)kind);
    if (!rows->n || !d || d > UINT32_MAX)
        return lm_fail(ctx, LIMN_E_USAGE, "a table of %zu x %zu values cannot be scaled", rows->n,
                       d);
    scaler->kind = kind;
    limn_status status = fit_statistics(ctx, keep_constant, rows, scaler);
    if (status == LIMN_OK && !lm_scale_is_line(kind))
        status = lm_curves_fit(ctx, kind == LIMN_SCALE_GAUSS, rows->x, rows->n, d, scaler->keep,
                               scaler->kept, &scaler->curves);
    if (status != LIMN_OK)
        lm_scaler_free(&ctx->mem, scaler);
    return status;
}

static limn_status fit_by_evidence(limn_context *ctx, bool learned, bool keep_constant,
                                   const lm_scaler_rows *rows, lm_scaler *scaler) {
    limn_scale kind;
    lm_trials chosen;
    limn_status status = lm_scaler_choose(ctx, keep_constant, rows, &kind, &chosen);
    if (status == LIMN_OK)
        status = lm_scaler_fit_columns(ctx, kind, keep_constant, rows, scaler);
    if (status != LIMN_OK)
        return status;
    scaler->chosen = chosen;
    scaler->learned = learned;
    if (learned)
        status = lm_scaler_learn(ctx, rows, scaler);
    if (status != LIMN_OK)
        lm_scaler_free(&ctx->mem, scaler);
    return status;
}

limn_status lm_scaler_fit(limn_context *ctx, limn_scale kind, bool keep_constant,
                          const lm_scaler_rows *rows, lm_scaler *scaler) {
    *scaler = (lm_scaler){.kind = LIMN_SCALE_NONE};
    bool learned = kind == LIMN_SCALE_LEARNED;
    bool evidence = (rows->label || rows->target) && rows->n && rows->d;
    if (kind == LIMN_SCALE_AUTO && !evidence)
        kind = LIMN_SCALE_NONE;
    if (learned && !evidence)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "a map is learned from labels or targets, and there are none; choose "
                       "another --scale");
    if (kind != LIMN_SCALE_AUTO && !learned)
        return lm_scaler_fit_columns(ctx, kind, keep_constant, rows, scaler);
    int threads = lm_blas_single();
    limn_status status = fit_by_evidence(ctx, learned, keep_constant, rows, scaler);
    lm_blas_restore(threads);
    return status;
}

/* The arrays of the columns. */
static limn_status copy_columns(limn_context *ctx, const lm_scaler *from, lm_scaler *to) {
    bool lines = from->offset != NULL;
    if (!lm_scaler_take(&ctx->mem, from->kept, lines, to))
        return lm_fail_memory(ctx);
    memcpy(to->keep, from->keep, from->kept * sizeof *to->keep);
    if (!lines)
        return lm_curves_copy(ctx, &from->curves, &to->curves);
    memcpy(to->offset, from->offset, from->kept * sizeof *to->offset);
    memcpy(to->factor, from->factor, from->kept * sizeof *to->factor);
    return LIMN_OK;
}

limn_status lm_scaler_copy(limn_context *ctx, const lm_scaler *from, lm_scaler *to) {
    limn_status status = LIMN_OK;
    *to = *from;
    to->keep = NULL;
    to->offset = to->factor = NULL;
    to->curves = (lm_curves){.columns = 0};
    to->map = NULL;
    if (from->keep)
        status = copy_columns(ctx, from, to);
    if (status == LIMN_OK && from->map)
        status = lm_map_copy(ctx, from->map, &to->map);
    if (status != LIMN_OK)
        lm_scaler_free(&ctx->mem, to);
    return status;
}

void lm_scaler_free(const limn_allocator *mem, lm_scaler *scaler) {
    lm_free(mem, scaler->keep);
    lm_free(mem, scaler->offset);
    lm_free(mem, scaler->factor);
    lm_curves_free(mem, &scaler->curves);
    lm_map_free(mem, scaler->map);
    *scaler = (lm_scaler){.kind = LIMN_SCALE_NONE};
}

limn_scale lm_scaler_kind(const lm_scaler *scaler) {
    return scaler->learned ? LIMN_SCALE_LEARNED : scaler->kind;
}

bool lm_scaler_is_none(const lm_scaler *scaler) {
    return scaler->kind == LIMN_SCALE_NONE && !scaler->map;
}

bool lm_scale_is_line(limn_scale kind) {
    return kind == LIMN_SCALE_NONE || kind == LIMN_SCALE_MINMAX || kind == LIMN_SCALE_ZSCORE ||
           kind == LIMN_SCALE_RANGES;
}

/* ---- applying ---- */

/* A query far outside the training range stays finite. */
static inline float clamp(double value) {
    return (float)(value > (double)FLT_MAX    ? (double)FLT_MAX
                   : value < -(double)FLT_MAX ? -(double)FLT_MAX
                                              : value);
}

/* One row by its columns. */
static void apply_columns(const lm_scaler *scaler, const float *x, float *scaled) {
    const double *offset = scaler->offset, *factor = scaler->factor;
    if (scaler->kind == LIMN_SCALE_NONE)
        memcpy(scaled, x, scaler->in * sizeof *x);
    else if (!offset)
        lm_curves_apply(&scaler->curves, scaler->keep, x, scaled);
    else if (scaler->in == scaler->kept) /* nothing dropped: no gather */
        lm_simd_get()->dense->scale(x, offset, factor, scaler->kept, scaled);
    else
        for (size_t j = 0; j < scaler->kept; j++)
            scaled[j] = clamp(((double)x[scaler->keep[j]] - offset[j]) * factor[j]);
}

typedef struct layout {
    float *row; /* of the kept features */
    void *map;
} layout;

static layout lay_out(const lm_scaler *scaler, lm_cursor *at) {
    layout l;
    l.row = lm_take(at, scaler->kept, sizeof *l.row);
    l.map = lm_here(at);
    lm_map_scratch(scaler->map, at);
    return l;
}

void lm_scaler_scratch(const lm_scaler *scaler, lm_cursor *at) {
    if (scaler->map)
        (void)lay_out(scaler, at);
}

limn_status lm_scaler_spare(limn_context *ctx, const lm_scaler *scaler, void **scratch) {
    lm_cursor at = lm_cursor_at(NULL);
    lm_scaler_scratch(scaler, &at);
    *scratch = scaler->map ? lm_alloc_measured(&ctx->mem, &at) : NULL;
    return *scratch || !scaler->map ? LIMN_OK : lm_fail_memory(ctx);
}

void lm_scaler_apply(const lm_scaler *scaler, const float *x, size_t n, float *scaled,
                     void *scratch) {
    size_t in = scaler->in, out = scaler->out;
    if (lm_scaler_is_none(scaler)) {
        if (n && in)
            memcpy(scaled, x, n * in * sizeof *x);
        return;
    }
    if (!scaler->map) {
        for (size_t i = 0; i < n; i++)
            apply_columns(scaler, x + i * in, scaled + i * out);
        return;
    }
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(scaler, &at);
    for (size_t i = 0; i < n; i++) {
        apply_columns(scaler, x + i * in, l.row);
        lm_map_apply(scaler->map, l.row, scaled + i * out, l.map);
    }
}

double lm_scaler_log_volume(const lm_scaler *scaler) {
    double sum = 0;
    for (size_t j = 0; j < scaler->kept && scaler->factor; j++)
        sum += log(scaler->factor[j]);
    return sum;
}

/* One row of kept features; to: a whole row, already filled with the usual one. */
static void undo_columns(const lm_scaler *scaler, const float *scaled, float *to) {
    if (scaler->kind == LIMN_SCALE_NONE)
        memcpy(to, scaled, scaler->in * sizeof *to);
    for (size_t j = 0; j < scaler->kept && scaler->keep; j++)
        if (!scaler->factor)
            to[scaler->keep[j]] = lm_curves_undo(&scaler->curves, j, scaled[j]);
        else if (scaler->factor[j] > 0)
            to[scaler->keep[j]] = clamp((double)scaled[j] / scaler->factor[j] + scaler->offset[j]);
}

limn_status lm_scaler_invert(limn_context *ctx, const lm_scaler *scaler, double **inverse) {
    *inverse = NULL;
    return scaler->map ? lm_map_invert(ctx, scaler->map, inverse) : LIMN_OK;
}

limn_status lm_scaler_undo(limn_context *ctx, const lm_scaler *scaler, const double *inverse,
                           const float *scaled, size_t n, const float *usual, float *x) {
    size_t in = scaler->in, kept = scaler->kept, cells;
    float *rows = NULL;
    limn_status status = LIMN_OK;
    if (scaler->map) {
        rows = lm_mul(n, kept, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *rows) : NULL;
        status = rows || !n ? LIMN_OK : lm_fail_memory(ctx);
        if (status == LIMN_OK)
            lm_map_undo(scaler->map, inverse, scaled, n, rows);
    }
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        memcpy(x + i * in, usual, in * sizeof *x);
        undo_columns(scaler, (rows ? rows : scaled) + i * kept, x + i * in);
    }
    lm_free(&ctx->mem, rows);
    return status;
}

void lm_scaler_unscale(const lm_scaler *scaler, double *values, size_t n) {
    for (size_t i = 0; i < n && scaler->target; i++)
        values[i] = values[i] * scaler->target_factor + scaler->target_offset;
}
