/* pool.c: see pool.h. The random rows are compared by one gathered distance, so that a point costs
 * 200 x d multiply-adds, or twice that where both a row of another class and one of the same are
 * needed. */
#include "fit/pool.h"

#include "base/work.h"
#include "num/rows.h"

#include <math.h>
#include <string.h>

enum {
    LEVELS = 5,          /* values of a category, at most, and */
    ROWS_PER_LEVEL = 10, /* as many rows for each, at least */
    PIECE = 64           /* points */
};

/* ---- features ---- */

void lm_pool_features_free(const limn_allocator *mem, lm_pool_features *f) {
    lm_free(mem, f->spread);
    lm_free(mem, f->low);
    lm_free(mem, f->high);
    lm_free(mem, f->category);
    *f = (lm_pool_features){.d = 0};
}

/* Whether column j has few different values. */
static bool is_category(const float *x, size_t n, size_t d, size_t j) {
    float seen[LEVELS];
    size_t levels = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < levels && seen[k] != x[i * d + j])
            k++;
        if (k == LEVELS)
            return false;
        if (k == levels)
            seen[levels++] = x[i * d + j];
    }
    return levels * ROWS_PER_LEVEL <= n;
}

/* Row by row, so that long rows are read in order. The spread of a constant feature is exactly 0,
 * which the mean, being rounded, would not give. */
static void measure(const float *x, size_t n, size_t d, double *mean, lm_pool_features *f) {
    memcpy(f->low, x, d * sizeof *x);
    memcpy(f->high, x, d * sizeof *x);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            float value = x[i * d + j];
            mean[j] += (double)value / (double)n;
            f->low[j] = value < f->low[j] ? value : f->low[j];
            f->high[j] = value > f->high[j] ? value : f->high[j];
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            double off = (double)x[i * d + j] - mean[j];
            f->spread[j] += off * off / (double)n;
        }
    for (size_t j = 0; j < d; j++)
        f->spread[j] = f->low[j] < f->high[j] ? sqrt(f->spread[j]) : 0;
}

limn_status lm_pool_features_find(limn_context *ctx, const float *x, size_t n, size_t d,
                                  lm_pool_features *f) {
    *f = (lm_pool_features){.d = d};
    f->spread = lm_alloc_zero(&ctx->mem, d, sizeof *f->spread);
    f->low = lm_alloc(&ctx->mem, d, sizeof *f->low);
    f->high = lm_alloc(&ctx->mem, d, sizeof *f->high);
    f->category = lm_alloc(&ctx->mem, d, sizeof *f->category);
    double *mean = lm_alloc_zero(&ctx->mem, d, sizeof *mean);
    bool fine = f->spread && f->low && f->high && f->category && mean;
    if (fine)
        measure(x, n, d, mean, f);
    for (size_t j = 0; j < d && fine; j++) {
        f->category[j] = is_category(x, n, d, j);
        f->categories += f->category[j];
    }
    lm_free(&ctx->mem, mean);
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}

/* ---- rows ---- */

void lm_pool_rows_free(const limn_allocator *mem, lm_pool_rows *r) {
    lm_free_aligned(mem, r->x);
    lm_free(mem, r->start);
    *r = (lm_pool_rows){.n = 0};
}

limn_status lm_pool_rows_take(limn_context *ctx, const lm_pool_features *features, const float *x,
                              const int32_t *label, size_t n, size_t classes, lm_pool_rows *r) {
    size_t d = features->d, cells = 0;
    *r = (lm_pool_rows){.features = features, .n = n, .classes = label ? classes : 1};
    r->stride = (d + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
    r->start = lm_alloc_zero(&ctx->mem, r->classes + 2, sizeof *r->start);
    r->x = lm_mul(n, r->stride, &cells) ? lm_alloc_aligned(&ctx->mem, cells, sizeof *r->x) : NULL;
    if (!r->start || !r->x)
        return lm_fail_memory(ctx);
    memset(r->x, 0, cells * sizeof *r->x);
    for (size_t i = 0; i < n; i++)
        r->start[(label ? label[i] : 0) + 2]++;
    for (size_t c = 0; c < r->classes; c++)
        r->start[c + 2] += r->start[c + 1];
    for (size_t i = 0; i < n; i++)
        memcpy(r->x + r->start[(label ? label[i] : 0) + 1]++ * r->stride, x + i * d, d * sizeof *x);
    return LIMN_OK;
}

/* ---- points ---- */

typedef struct sampling {
    const lm_pool_rows *rows;
    lm_gather *distances;
    lm_pool_way way;
    size_t first, count, stride;
    float *out;
    int32_t *class;
} sampling;

static size_t class_of(const lm_pool_rows *r, size_t row) {
    size_t low = 0, high = r->classes;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(r->start[middle] <= row ? &low : &high) = middle;
    }
    return low;
}

/* The nearest of some random rows among the rows first .. first+count-1 and, counted on, those
 * from 0; a row equal to x is left out. x itself if there is no other. */
static size_t nearest(const sampling *s, lm_rng *rng, size_t x, size_t first, size_t count) {
    const lm_pool_rows *r = s->rows;
    uint32_t index[LM_POOL_COMPARED];
    double distance[LM_POOL_COMPARED], least = INFINITY;
    size_t best = x;
    if (count == 0)
        return x;
    for (size_t i = 0; i < s->way.compared; i++)
        index[i] = (uint32_t)((first + lm_rng_below(rng, count)) % r->n);
    s->distances(r->x + x * r->stride, r->x, r->stride, index, s->way.compared, distance);
    for (size_t i = 0; i < s->way.compared; i++)
        if (distance[i] > 0 && distance[i] < least) {
            least = distance[i];
            best = index[i];
        }
    return best;
}

static void mix(const sampling *s, lm_rng *rng, const float *x, const float *other, float *out) {
    const lm_pool_features *f = s->rows->features;
    double t = lm_rng_unit(rng), noise = lm_rng_below(rng, 2) ? s->way.noise : 0;
    for (size_t j = 0; j < f->d; j++) {
        double value = (double)x[j] + t * ((double)other[j] - (double)x[j]);
        if (noise > 0)
            value += noise * f->spread[j] * lm_rng_normal(rng);
        value = fmin(fmax(value, (double)f->low[j]), (double)f->high[j]);
        out[j] = (float)value;
    }
}

static void cross(const sampling *s, lm_rng *rng, const float *x, const float *other, float *out) {
    const lm_pool_features *f = s->rows->features;
    double keep = 0.5 + 0.5 * lm_rng_unit(rng);
    for (size_t j = 0; j < f->d; j++)
        if (f->category[j])
            out[j] = lm_rng_unit(rng) < keep ? x[j] : other[j];
}

static void sample_one(const sampling *s, size_t index) {
    const lm_pool_rows *r = s->rows;
    const lm_pool_features *f = r->features;
    lm_rng rng = lm_rng_at(s->way.seed, 0, s->first + index);
    size_t row = lm_rng_below(&rng, r->n), class = class_of(r, row), other;
    size_t begin = r->start[class], own = r->start[class + 1] - begin;
    const float *x = r->x + row * r->stride;
    float *out = s->out + index * s->stride;
    if (f->categories < f->d) {
        bool apart = lm_rng_below(&rng, 2) && own < r->n;
        other =
            apart ? nearest(s, &rng, row, begin + own, r->n - own) : nearest(s, &rng, row, 0, r->n);
        mix(s, &rng, x, r->x + other * r->stride, out);
    }
    if (f->categories) {
        other = nearest(s, &rng, row, begin, own);
        cross(s, &rng, x, r->x + other * r->stride, out);
    }
    if (s->class)
        s->class[index] = (int32_t) class;
}

static void sample_piece(void *user, size_t index, int thread) {
    const sampling *s = user;
    (void)thread;
    for (size_t i = index * PIECE; i < s->count && i < (index + 1) * PIECE; i++)
        sample_one(s, i);
}

void lm_pool_sample(limn_context *ctx, const lm_pool_rows *rows, const lm_pool_way *way,
                    size_t first, size_t count, float *out, size_t out_stride, int32_t *class) {
    sampling s = {.rows = rows,
                  .distances = lm_gather_kernel(LM_L2),
                  .way = *way,
                  .first = first,
                  .count = count,
                  .stride = out_stride,
                  .out = out,
                  .class = class};
    size_t pieces = count / PIECE + (count % PIECE != 0);
    if (!way->compared || way->compared > LM_POOL_COMPARED)
        s.way.compared = LM_POOL_COMPARED;
    lm_parallel(lm_work_threads(ctx, pieces), pieces, sample_piece, &s);
}
