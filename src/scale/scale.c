/* scale.c: fitting and applying.
 *
 * Statistics are computed in double, where neither sums nor squares of float32 values can overflow.
 * zscore takes two passes; the second corrects the mean by what the first one rounded away. A
 * feature is constant when its smallest and largest values are equal, not by its computed
 * deviation, which rounding could make larger than 0. */
#include "scale/scale.h"

#include "num/simd/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *limn_scale_name(limn_scale scale) {
    static const char *const names[] = {"auto", "none", "minmax", "zscore", "ranges"};
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

/* Which features stay, and how they are scaled. */
static void choose(lm_scaler *scaler, const statistics *s, bool keep_constant) {
    size_t constant = 0;
    for (size_t j = 0; j < scaler->in; j++)
        constant += s->low[j] == s->high[j];
    bool keep = keep_constant || constant == scaler->in;
    scaler->out = 0;
    for (size_t j = 0; j < scaler->in; j++) {
        size_t at = scaler->out;
        bool flat = s->low[j] == s->high[j];
        if (flat && !keep)
            continue;
        bool minmax = scaler->kind == LIMN_SCALE_MINMAX;
        double spread = minmax ? s->high[j] - s->low[j] : s->sd[j];
        scaler->offset[at] = minmax || flat ? s->low[j] : s->mean[j];
        scaler->factor[at] = flat || !(spread > 0.0) ? 1.0 : 1.0 / spread;
        scaler->keep[at] = (uint32_t)j;
        scaler->out++;
    }
}

bool lm_scaler_take(const limn_allocator *mem, size_t count, lm_scaler *scaler) {
    scaler->keep = lm_alloc(mem, count, sizeof *scaler->keep);
    scaler->offset = lm_alloc(mem, count, sizeof *scaler->offset);
    scaler->factor = lm_alloc(mem, count, sizeof *scaler->factor);
    return scaler->keep && scaler->offset && scaler->factor;
}

limn_status lm_scaler_fit(limn_context *ctx, limn_scale kind, bool keep_constant, const float *x,
                          size_t n, size_t d, lm_scaler *scaler) {
    *scaler = (lm_scaler){.kind = LIMN_SCALE_NONE, .in = d, .out = d};
    if (kind == LIMN_SCALE_NONE)
        return LIMN_OK;
    if (kind != LIMN_SCALE_MINMAX && kind != LIMN_SCALE_ZSCORE)
        return lm_fail(ctx, LIMN_E_USAGE, "there is no scaling number %d", (int)kind);
    if (!n || !d || d > UINT32_MAX)
        return lm_fail(ctx, LIMN_E_USAGE, "a table of %zu x %zu values cannot be scaled", n, d);
    size_t count;
    double *block = lm_mul(d, 5, &count) ? lm_alloc_zero(&ctx->mem, count, sizeof *block) : NULL;
    scaler->kind = kind;
    if (!lm_scaler_take(&ctx->mem, d, scaler) || !block) {
        lm_free(&ctx->mem, block);
        lm_scaler_free(&ctx->mem, scaler);
        return lm_fail_memory(ctx);
    }
    statistics s = {block, block + d, block + 2 * d, block + 3 * d};
    range_pass(x, n, d, &s);
    if (kind == LIMN_SCALE_ZSCORE)
        moment_passes(x, n, d, &s, block + 4 * d);
    choose(scaler, &s, keep_constant);
    lm_free(&ctx->mem, block);
    return LIMN_OK;
}

limn_status lm_scaler_copy(limn_context *ctx, const lm_scaler *from, lm_scaler *to) {
    *to = *from;
    to->keep = NULL;
    to->offset = to->factor = NULL;
    if (from->kind == LIMN_SCALE_NONE)
        return LIMN_OK;
    if (!lm_scaler_take(&ctx->mem, from->out, to)) {
        lm_scaler_free(&ctx->mem, to);
        return lm_fail_memory(ctx);
    }
    memcpy(to->keep, from->keep, from->out * sizeof *to->keep);
    memcpy(to->offset, from->offset, from->out * sizeof *to->offset);
    memcpy(to->factor, from->factor, from->out * sizeof *to->factor);
    return LIMN_OK;
}

void lm_scaler_free(const limn_allocator *mem, lm_scaler *scaler) {
    lm_free(mem, scaler->keep);
    lm_free(mem, scaler->offset);
    lm_free(mem, scaler->factor);
    *scaler = (lm_scaler){.kind = LIMN_SCALE_NONE};
}

/* ---- applying ---- */

/* A query far outside the training range stays finite. */
static inline float clamp(double value) {
    return (float)(value > (double)FLT_MAX    ? (double)FLT_MAX
                   : value < -(double)FLT_MAX ? -(double)FLT_MAX
                                              : value);
}

void lm_scaler_apply(const lm_scaler *scaler, const float *x, size_t n, float *scaled) {
    size_t in = scaler->in, out = scaler->out;
    const double *offset = scaler->offset, *factor = scaler->factor;
    const lm_simd_dense *simd = lm_simd_get()->dense;
    if (scaler->kind == LIMN_SCALE_NONE) {
        if (n && in)
            memcpy(scaled, x, n * in * sizeof *x);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const float *from = x + i * in;
        float *to = scaled + i * out;
        if (in == out) /* nothing dropped: no gather */
            simd->scale(from, offset, factor, out, to);
        else
            for (size_t j = 0; j < out; j++)
                to[j] = clamp((from[scaler->keep[j]] - offset[j]) * factor[j]);
    }
}

double lm_scaler_log_volume(const lm_scaler *scaler) {
    double sum = 0;
    for (size_t j = 0; j < scaler->out && scaler->kind != LIMN_SCALE_NONE; j++)
        sum += log(scaler->factor[j]);
    return sum;
}

void lm_scaler_undo(const lm_scaler *scaler, const float *scaled, size_t n, const float *usual,
                    float *x) {
    size_t in = scaler->in, out = scaler->out;
    if (scaler->kind == LIMN_SCALE_NONE) {
        lm_scaler_apply(scaler, scaled, n, x);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float *to = x + i * in;
        memcpy(to, usual, in * sizeof *to);
        for (size_t j = 0; j < out; j++)
            if (scaler->factor[j] > 0)
                to[scaler->keep[j]] =
                    clamp((double)scaled[i * out + j] / scaler->factor[j] + scaler->offset[j]);
    }
}

void lm_scaler_unscale(const lm_scaler *scaler, double *values, size_t n) {
    for (size_t i = 0; i < n && scaler->target; i++)
        values[i] = values[i] * scaler->target_factor + scaler->target_offset;
}
