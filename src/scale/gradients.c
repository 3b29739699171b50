/* gradients.c: the average gradient outer product (AGOP) of Radhakrishnan, Beaglehole, Pandit and
 * Belkin (2024, Mechanism for feature learning in neural networks and backpropagation-free machine
 * learning models).
 *
 *   Z = X L, D_ij = |z_i - z_j|, h = the median of D (its mean if that is 0)
 *   K = exp(-D / h),  (K + .01 I) alpha = y,  f(x) = sum_j alpha_j K(x, x_j)
 *   grad f(x_i) = L sum_j G_ij alpha_j (z_j - z_i),  G = K / (h D), 0 where D < 1e-9 h
 *   M = the mean over i, and the sum over the y, of grad f(x_i) grad f(x_i)', divided by tr M / d
 *
 * Distances are summed from differences, not expanded, so that equal rows are at distance 0 and
 * those of near ones are right. Rows are done in a fixed number of blocks, each with a sum of its
 * own, so that the result does not depend on the number of threads. */
#include "scale/gradients.h"

#include "base/quickselect.h"
#include "base/work.h"
#include "num/linalg.h"
#include "num/pack.h"

#include <math.h>
#include <string.h>

enum { BLOCKS = 4 };
#define RIDGE 0.01
#define NEAREST 1e-9 /* of h: closer rows are the same */

typedef struct fitting {
    const lm_regression *r;
    const double *weight;
    bool diagonal;
    float *z;        /* n x d */
    double *turned;  /* d x n: the same by columns */
    lm_pack pack;    /* the same */
    float *distance; /* n x n */
    double h;
    double *kernel; /* n x n: K + ridge, then G */
    double *alpha;  /* count x n */
    double *sums;   /* BLOCKS times d x d or d */
} fitting;

static size_t first_row(const fitting *f, size_t block) {
    return f->r->n * block / BLOCKS;
}

static size_t sum_size(const fitting *f) {
    return f->diagonal ? f->r->d : f->r->d * f->r->d;
}

/* ---- distances ---- */

static void weigh(fitting *f) {
    size_t n = f->r->n, d = f->r->d;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            float x = f->r->x[i * d + j];
            float z = f->weight ? (float)((double)x * f->weight[j]) : x;
            f->z[i * d + j] = z;
            f->turned[j * n + i] = (double)z;
        }
}

static limn_status measure(limn_context *ctx, void *user, size_t block) {
    const fitting *f = user;
    size_t n = f->r->n, d = f->r->d, room = f->pack.panels * LM_PANEL;
    float *row = lm_alloc(&ctx->mem, room, sizeof *row);
    if (!row)
        return lm_fail_memory(ctx);
    for (size_t i = first_row(f, block); i < first_row(f, block + 1); i++) {
        lm_pack_query(&f->pack, LM_L2, 0, f->pack.panels, f->z + i * d, row);
        for (size_t j = 0; j < n; j++)
            f->distance[i * n + j] = sqrtf(row[j]);
    }
    lm_free(&ctx->mem, row);
    return LIMN_OK;
}

static limn_status find_width(limn_context *ctx, fitting *f) {
    size_t cells = f->r->n * f->r->n;
    double sum = 0;
    float *sorted = lm_alloc(&ctx->mem, cells, sizeof *sorted);
    if (!sorted)
        return lm_fail_memory(ctx);
    memcpy(sorted, f->distance, cells * sizeof *sorted);
    lm_rng rng = lm_rng_at(ctx->seed, lm_stream_of("scale width"), 0);
    lm_select_kth(&rng, sorted, cells, cells / 2);
    f->h = (double)sorted[cells / 2];
    for (size_t i = 0; i < cells && !(f->h > 0); i++)
        sum += (double)f->distance[i];
    if (!(f->h > 0))
        f->h = sum / (double)cells;
    lm_free(&ctx->mem, sorted);
    return LIMN_OK;
}

/* ---- the regression ---- */

static limn_status fill_kernel(limn_context *ctx, void *user, size_t block) {
    const fitting *f = user;
    size_t n = f->r->n;
    (void)ctx;
    for (size_t i = first_row(f, block); i < first_row(f, block + 1); i++) {
        for (size_t j = 0; j < n; j++)
            f->kernel[i * n + j] = exp(-(double)f->distance[i * n + j] / f->h);
        f->kernel[i * n + i] = 1 + RIDGE;
    }
    return LIMN_OK;
}

/* G takes the place of what solving has left of the kernel. */
static void fill_slopes(const fitting *f, size_t block) {
    size_t n = f->r->n;
    for (size_t i = first_row(f, block); i < first_row(f, block + 1); i++)
        for (size_t j = 0; j < n; j++) {
            double distance = (double)f->distance[i * n + j];
            f->kernel[i * n + j] =
                distance < NEAREST * f->h ? 0 : exp(-distance / f->h) / (f->h * distance);
        }
}

static limn_status in_blocks(limn_context *ctx, fitting *f, lm_task *task) {
    return lm_work(ctx,
                   &(lm_job){.stage = "learning a map", .count = BLOCKS, .task = task, .user = f});
}

static limn_status regress(limn_context *ctx, fitting *f) {
    const lm_regression *r = f->r;
    limn_status status = in_blocks(ctx, f, fill_kernel);
    memcpy(f->alpha, r->y, r->count * r->n * sizeof *f->alpha);
    return status == LIMN_OK ? lm_solve_symmetric(ctx, f->kernel, r->n, f->alpha, r->count)
                             : status;
}

/* ---- gradients ---- */

/* Of one y in the rows of one block: row by row, and the sum of what G says of a row itself. */
typedef struct slopes {
    double *rows; /* (d + 1) x n: alpha_j z_j by features, then alpha_j */
    double *out;  /* rows of the block x (d + 1) */
} slopes;

static void multiply(const fitting *f, const double *alpha, size_t first, size_t rows, slopes *s) {
    size_t n = f->r->n, d = f->r->d;
    for (size_t k = 0; k < d; k++)
        for (size_t j = 0; j < n; j++)
            s->rows[k * n + j] = alpha[j] * f->turned[k * n + j];
    memcpy(s->rows + d * n, alpha, n * sizeof *alpha);
    lm_row_products(f->kernel + first * n, rows, s->rows, d + 1, n, s->out);
}

/* out (rows x d) <- the gradients. */
static void finish_gradients(const fitting *f, size_t first, size_t rows, double *out) {
    size_t d = f->r->d;
    for (size_t i = 0; i < rows; i++) {
        double own = out[i * (d + 1) + d];
        for (size_t k = 0; k < d; k++) {
            double g = out[i * (d + 1) + k] - own * (double)f->z[(first + i) * d + k];
            out[i * d + k] = f->weight ? g * f->weight[k] : g;
        }
    }
}

static void add(const fitting *f, const double *g, size_t rows, double *sum) {
    size_t d = f->r->d;
    if (!f->diagonal) {
        lm_add_outer(sum, d, g, rows);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < d; k++)
            sum[k] += g[i * d + k] * g[i * d + k];
}

static limn_status sum_block(limn_context *ctx, void *user, size_t block) {
    const fitting *f = user;
    size_t n = f->r->n, d = f->r->d, first = first_row(f, block);
    size_t rows = first_row(f, block + 1) - first;
    slopes s = {lm_alloc(&ctx->mem, (d + 1) * n, sizeof *s.rows),
                lm_alloc(&ctx->mem, (d + 1) * rows, sizeof *s.out)};
    limn_status status = s.rows && (s.out || !rows) ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        fill_slopes(f, block);
    for (size_t c = 0; c < f->r->count && rows && status == LIMN_OK; c++) {
        multiply(f, f->alpha + c * n, first, rows, &s);
        finish_gradients(f, first, rows, s.out);
        add(f, s.out, rows, f->sums + block * sum_size(f));
        status = lm_progress(ctx, "learning a map", 0, 0, -1);
    }
    lm_free(&ctx->mem, s.rows);
    lm_free(&ctx->mem, s.out);
    return status;
}

/* Adds up the blocks and divides by the mean of the diagonal. */
static void total(const fitting *f, double *m) {
    size_t d = f->r->d, size = sum_size(f), step = f->diagonal ? 1 : d + 1;
    double trace = 0;
    for (size_t i = 0; i < size; i++) {
        m[i] = 0;
        for (size_t block = 0; block < BLOCKS; block++)
            m[i] += f->sums[block * size + i];
    }
    if (!f->diagonal)
        lm_mirror(m, d);
    for (size_t j = 0; j < d; j++)
        trace += m[j * step];
    bool there = trace > 0 && isfinite(trace);
    for (size_t i = 0; i < size; i++)
        m[i] = there ? m[i] * ((double)d / trace) : 0;
}

static limn_status take_memory(limn_context *ctx, fitting *f) {
    size_t n = f->r->n, d = f->r->d, cells, square, sums, list;
    bool fits = lm_mul(n, d, &cells) && lm_mul(n, n, &square) && lm_mul(d, d, &sums) &&
                lm_mul(n, f->r->count, &list);
    if (!fits)
        return lm_fail_memory(ctx);
    f->z = lm_alloc(&ctx->mem, cells, sizeof *f->z);
    f->turned = lm_alloc(&ctx->mem, cells, sizeof *f->turned);
    f->distance = lm_alloc(&ctx->mem, square, sizeof *f->distance);
    f->kernel = lm_alloc(&ctx->mem, square, sizeof *f->kernel);
    f->alpha = lm_alloc(&ctx->mem, list, sizeof *f->alpha);
    f->sums = lm_alloc_zero(&ctx->mem, sum_size(f), BLOCKS * sizeof *f->sums);
    bool there = f->z && f->turned && f->distance && f->kernel && f->alpha && f->sums;
    return there ? LIMN_OK : lm_fail_memory(ctx);
}

static void free_memory(const limn_allocator *mem, fitting *f) {
    lm_pack_free(mem, &f->pack);
    lm_free(mem, f->z);
    lm_free(mem, f->turned);
    lm_free(mem, f->distance);
    lm_free(mem, f->kernel);
    lm_free(mem, f->alpha);
    lm_free(mem, f->sums);
}

limn_status lm_gradients(limn_context *ctx, const lm_regression *r, const double *weight,
                         bool diagonal, double *m) {
    fitting f = {.r = r, .weight = weight, .diagonal = diagonal};
    limn_status status = take_memory(ctx, &f);
    if (status == LIMN_OK) {
        weigh(&f);
        status = lm_pack_build(ctx, f.z, r->n, r->d, r->d, &f.pack);
    }
    if (status == LIMN_OK)
        status = in_blocks(ctx, &f, measure);
    if (status == LIMN_OK)
        status = find_width(ctx, &f);
    if (status == LIMN_OK && f.h > 0 && isfinite(f.h)) {
        status = regress(ctx, &f);
        if (status == LIMN_OK)
            status = in_blocks(ctx, &f, sum_block);
    }
    if (status == LIMN_OK)
        total(&f, m);
    free_memory(&ctx->mem, &f);
    return status;
}
