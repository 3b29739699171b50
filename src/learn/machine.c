/* machine.c: see machine.h. Queries are taken a tile at a time; for each tile the panels a run at a
 * time, so that the kernel values of a run stay in cache until they have been summed up. */
#include "learn/machine.h"

#include "num/expand.h"

#include <math.h>
#include <string.h>

enum {
    TILE = 32,            /* queries at once, at most */
    SEGMENT_PANELS = 64,  /* longer classes are cut */
    TILE_SUMS = 1 << 20,  /* floats of sums that a tile may need; fewer queries where it would */
    ONE_RUN_PANELS = 1024 /* panels of a run for one query: 64 KB of kernel values */
};

#define LOG2_E 1.4426950408889634
#define DIRECT_FROM 32.0 /* exponents (powers of 2) that would cancel more than 5 of 24 bits */

/* ---- shape ---- */

static size_t panels_of(size_t vectors) {
    return (vectors + LM_PANEL - 1) / LM_PANEL;
}

static size_t group_vectors(const lm_svm *svm, size_t group) {
    return svm->count ? (size_t)svm->count[group] : svm->n;
}

/* The place of function (i, j), i < j, among k classes. */
static size_t function_of(size_t k, size_t i, size_t j) {
    return i * (2 * k - i - 1) / 2 + (j - i - 1);
}

static limn_status cut_segments(limn_context *ctx, lm_machine *m) {
    size_t count = 0, first = 0, at = 0;
    for (size_t g = 0; g < m->groups; g++)
        count += panels_of(group_vectors(m->svm, g)) / SEGMENT_PANELS + 1;
    m->segment = lm_alloc(&ctx->mem, count, sizeof *m->segment);
    if (!m->segment)
        return lm_fail_memory(ctx);
    for (size_t g = 0; g < m->groups; g++) {
        size_t left = panels_of(group_vectors(m->svm, g));
        for (; left; at++) {
            size_t panels = left < SEGMENT_PANELS ? left : SEGMENT_PANELS;
            m->segment[at] = (lm_machine_segment){first, panels, g};
            first += panels;
            left -= panels;
        }
    }
    m->segments = at;
    return LIMN_OK;
}

/* ---- vectors ---- */

/* Place of each vector in the panels: vectors are counted by class, panels begin anew. */
typedef struct walk {
    const lm_svm *svm;
    size_t group, left; /* vectors of the group that are still to come */
    size_t place;
} walk;

static walk walk_begin(const lm_svm *svm) {
    return (walk){.svm = svm, .left = group_vectors(svm, 0)};
}

/* The place of the next vector; its group is in w->group. */
static size_t walk_next(walk *w) {
    while (!w->left) {
        w->left = group_vectors(w->svm, ++w->group);
        w->place = panels_of(w->place) * LM_PANEL;
    }
    w->left--;
    return w->place++;
}

static limn_status find_centre(limn_context *ctx, lm_machine *m) {
    const lm_svm *svm = m->svm;
    m->centre = lm_alloc(&ctx->mem, svm->d, sizeof *m->centre);
    if (!m->centre)
        return lm_fail_memory(ctx);
    for (size_t j = 0; j < svm->d; j++) {
        double sum = 0;
        for (size_t i = 0; i < svm->n; i++)
            sum += (double)svm->sv[i * svm->d + j];
        m->centre[j] = svm->n ? (float)(sum / (double)svm->n) : 0;
    }
    return LIMN_OK;
}

static double centred(const lm_machine *m, size_t i, size_t j) {
    double value = (double)m->svm->sv[i * m->svm->d + j];
    return m->centre ? value - (double)m->centre[j] : value;
}

static double squared_norm(const lm_machine *m, size_t i) {
    double sum = 0;
    for (size_t j = 0; j < m->svm->d; j++)
        sum += centred(m, i, j) * centred(m, i, j);
    return sum;
}

static double largest_norm(const lm_machine *m) {
    double largest = 0;
    for (size_t i = 0; i < m->svm->n; i++)
        largest = fmax(largest, squared_norm(m, i));
    return largest;
}

static limn_status pack_vectors(limn_context *ctx, lm_machine *m, size_t places) {
    const lm_svm *svm = m->svm;
    bool scaled = svm->kernel.type == LM_RBF && !m->direct;
    double factor = scaled ? 2 * svm->kernel.gamma * LOG2_E : 1;
    size_t cells;
    float *rows =
        lm_mul(places, svm->d, &cells) ? lm_alloc_zero(&ctx->mem, cells, sizeof *rows) : NULL;
    m->bias = lm_alloc_aligned(&ctx->mem, places, sizeof *m->bias);
    if (!rows || !m->bias) {
        lm_free(&ctx->mem, rows);
        return lm_fail_memory(ctx);
    }
    memset(m->bias, 0, places * sizeof *m->bias);
    walk w = walk_begin(svm);
    for (size_t i = 0; i < svm->n; i++) {
        size_t place = walk_next(&w);
        for (size_t j = 0; j < svm->d; j++)
            rows[place * svm->d + j] = (float)(centred(m, i, j) * factor);
        m->bias[place] = scaled ? (float)(-svm->kernel.gamma * LOG2_E * squared_norm(m, i)) : 0;
    }
    limn_status status = lm_pack_build(ctx, rows, places, svm->d, svm->d, &m->pack);
    lm_free(&ctx->mem, rows);
    return status;
}

/* ---- coefficients ---- */

/* Rows of coefficients are taken in blocks of nearly the same width. */
static size_t block_count(const lm_machine *m) {
    return (m->rows + LM_EXPAND_WIDTH - 1) / LM_EXPAND_WIDTH;
}

static size_t block_first(const lm_machine *m, size_t block) {
    return block * m->rows / block_count(m);
}

static limn_status lay_coefficients(limn_context *ctx, lm_machine *m) {
    const lm_svm *svm = m->svm;
    size_t cells;
    if (!lm_mul(m->pack.panels * LM_PANEL, m->rows, &cells) ||
        !(m->coef = lm_alloc_aligned(&ctx->mem, cells ? cells : 1, sizeof *m->coef)))
        return lm_fail_memory(ctx);
    memset(m->coef, 0, cells * sizeof *m->coef);
    walk w = walk_begin(svm);
    for (size_t i = 0, s = 0; i < svm->n; i++) {
        size_t place = walk_next(&w), panel = place / LM_PANEL;
        while (panel >= m->segment[s].first + m->segment[s].panels)
            s++;
        const lm_machine_segment *at = &m->segment[s];
        float *base = m->coef + at->first * LM_PANEL * m->rows;
        for (size_t b = 0; b < block_count(m); b++) {
            size_t from = block_first(m, b), width = block_first(m, b + 1) - from;
            float *block = base + at->panels * LM_PANEL * from +
                           (panel - at->first) * width * LM_PANEL + place % LM_PANEL;
            for (size_t row = 0; row < width; row++)
                block[row * LM_PANEL] = (float)svm->coef[(from + row) * svm->n + i];
        }
    }
    return LIMN_OK;
}

/* ---- functions alone ---- */

/* Calls with each coefficient that is not 0: its function, vector and value. */
typedef void on_coefficient(lm_machine *m, size_t function, size_t vector, double value);

static void each_coefficient(lm_machine *m, on_coefficient *call) {
    const lm_svm *svm = m->svm;
    size_t k = m->groups;
    walk w = walk_begin(svm);
    for (size_t i = 0; i < svm->n; i++) {
        walk_next(&w);
        for (size_t row = 0; row < m->rows; row++) {
            double value = svm->coef[row * svm->n + i];
            size_t other = row + (row >= w.group), a = other < w.group ? other : w.group;
            size_t b = other < w.group ? w.group : other;
            if (value != 0)
                call(m, svm->count ? function_of(k, a, b) : 0, i, value);
        }
    }
}

static void count_one(lm_machine *m, size_t function, size_t vector, double value) {
    (void)vector, (void)value;
    m->pair_start[function + 1]++;
}

static void store_one(lm_machine *m, size_t function, size_t vector, double value) {
    size_t at = m->pair_start[function]++;
    m->pair_vector[at] = (uint32_t)vector;
    m->pair_coef[at] = (float)value;
}

static limn_status list_pairs(limn_context *ctx, lm_machine *m) {
    if (m->svm->n > UINT32_MAX)
        return lm_fail(ctx, LIMN_E_DATA, "svm: more than 2^32 support vectors");
    m->pair_start = lm_alloc_zero(&ctx->mem, m->functions + 2, sizeof *m->pair_start);
    if (!m->pair_start)
        return lm_fail_memory(ctx);
    each_coefficient(m, count_one);
    for (size_t p = 0; p < m->functions; p++)
        m->pair_start[p + 1] += m->pair_start[p];
    size_t total = m->pair_start[m->functions];
    m->pair_vector = lm_alloc(&ctx->mem, total + 1, sizeof *m->pair_vector);
    m->pair_coef = lm_alloc(&ctx->mem, total + 1, sizeof *m->pair_coef);
    if (!m->pair_vector || !m->pair_coef)
        return lm_fail_memory(ctx);
    each_coefficient(m, store_one); /* leaves each start at its end */
    memmove(m->pair_start + 1, m->pair_start, m->functions * sizeof *m->pair_start);
    m->pair_start[0] = 0;
    return LIMN_OK;
}

/* w_p = sum of coef s: one vector a function. */
static limn_status collapse(limn_context *ctx, lm_machine *m) {
    const lm_svm *svm = m->svm;
    size_t cells;
    float *rows = NULL;
    double *sum = lm_alloc(&ctx->mem, svm->d, sizeof *sum);
    if (lm_mul(m->functions ? m->functions : 1, svm->d, &cells))
        rows = lm_alloc_zero(&ctx->mem, cells, sizeof *rows);
    limn_status status = sum && rows ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t p = 0; p < m->functions && status == LIMN_OK; p++) {
        memset(sum, 0, svm->d * sizeof *sum);
        for (size_t v = m->pair_start[p]; v < m->pair_start[p + 1]; v++)
            for (size_t j = 0; j < svm->d; j++)
                sum[j] += (double)m->pair_coef[v] * (double)svm->sv[m->pair_vector[v] * svm->d + j];
        for (size_t j = 0; j < svm->d; j++)
            rows[p * svm->d + j] = (float)sum[j];
    }
    if (status == LIMN_OK)
        status = lm_pack_build(ctx, rows, m->functions, svm->d, svm->d, &m->pack);
    lm_free(&ctx->mem, rows);
    lm_free(&ctx->mem, sum);
    return status;
}

/* ---- building ---- */

static limn_status lay_vectors(limn_context *ctx, lm_machine *m) {
    size_t panels = 0;
    limn_status status = cut_segments(ctx, m);
    for (size_t s = 0; s < m->segments; s++)
        panels += m->segment[s].panels;
    if (status == LIMN_OK && m->svm->kernel.type == LM_RBF)
        status = find_centre(ctx, m);
    if (status != LIMN_OK)
        return status;
    m->direct = m->svm->kernel.type == LM_RBF &&
                m->svm->kernel.gamma * LOG2_E * largest_norm(m) > DIRECT_FROM;
    status = pack_vectors(ctx, m, panels * LM_PANEL);
    return status == LIMN_OK ? lay_coefficients(ctx, m) : status;
}

limn_status lm_machine_build(limn_context *ctx, const lm_svm *svm, lm_machine *m) {
    *m = (lm_machine){.svm = svm,
                      .functions = lm_svm_functions(svm),
                      .groups = svm->count ? svm->classes : 1,
                      .rows = svm->classes - 1};
    limn_status status = list_pairs(ctx, m);
    if (status == LIMN_OK)
        status = svm->kernel.type == LM_LINEAR ? collapse(ctx, m) : lay_vectors(ctx, m);
    if (status != LIMN_OK)
        lm_machine_free(&ctx->mem, m);
    return status;
}

void lm_machine_free(const limn_allocator *mem, lm_machine *m) {
    lm_pack_free(mem, &m->pack);
    lm_free_aligned(mem, m->bias);
    lm_free(mem, m->centre);
    lm_free_aligned(mem, m->coef);
    lm_free(mem, m->segment);
    lm_free(mem, m->pair_vector);
    lm_free(mem, m->pair_coef);
    lm_free(mem, m->pair_start);
    *m = (lm_machine){.svm = NULL};
}

/* ---- evaluating ---- */

/* Where everything of a tile lies in the scratch. */
typedef struct tile {
    size_t queries;    /* at once */
    size_t x_stride;   /* of the centred queries */
    size_t run_panels; /* whose kernel values are held at once */
    size_t sums;       /* a query */
    float *x, *kernel, *sum, *part, *start;
} tile;

static size_t round16(size_t n) {
    return (n + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

/* Lays the tile out for up to n queries; false on overflow. */
static bool place(const lm_machine *m, size_t n, void *scratch, tile *t, size_t *bytes) {
    size_t sizes[5], at = 0, starts[5];
    bool linear = m->svm->kernel.type == LM_LINEAR;
    t->sums = round16(linear ? 1 : m->groups * m->rows);
    size_t most = TILE_SUMS / t->sums;
    t->queries = n < TILE ? n : TILE;
    t->queries = t->queries > most ? most ? most : 1 : t->queries;
    t->x_stride = round16(m->svm->d);
    t->run_panels = t->queries == 1 ? ONE_RUN_PANELS : SEGMENT_PANELS;
    if (linear || t->run_panels > m->pack.panels)
        t->run_panels = m->pack.panels;
    if (!lm_mul(t->queries, t->x_stride, &sizes[0]) ||
        !lm_mul(t->queries * LM_PANEL, t->run_panels, &sizes[1]) ||
        !lm_mul(t->queries, t->sums, &sizes[2]))
        return false;
    sizes[3] = t->queries * LM_PANEL;
    sizes[4] = round16(t->queries);
    for (int i = 0; i < 5; i++) {
        starts[i] = at;
        if (!lm_add(at, sizes[i], &at))
            return false;
    }
    float *base = scratch;
    if (base) {
        t->x = base + starts[0];
        t->kernel = base + starts[1];
        t->sum = base + starts[2];
        t->part = base + starts[3];
        t->start = base + starts[4];
    }
    return lm_mul(at, sizeof *base, bytes);
}

bool lm_machine_scratch(const lm_machine *m, size_t n, size_t *bytes) {
    tile many, one;
    size_t a, b;
    if (!place(m, n, NULL, &many, &a) || !place(m, 1, NULL, &one, &b))
        return false;
    *bytes = a > b ? a : b;
    return true;
}

/* Copies the queries, counted from the centre, and the part of the exponent that is theirs. */
static void take_queries(const lm_machine *m, const float *x, size_t x_stride, const float *beyond,
                         size_t n, tile *t) {
    size_t d = m->svm->d;
    for (size_t q = 0; q < n; q++) {
        double norm = beyond ? (double)beyond[q] : 0;
        float *row = t->x + q * t->x_stride;
        for (size_t j = 0; j < d; j++) {
            row[j] = m->centre ? x[q * x_stride + j] - m->centre[j] : x[q * x_stride + j];
            norm += (double)row[j] * (double)row[j];
        }
        double rest = beyond ? (double)beyond[q] : 0;
        double start = m->direct ? rest : -m->svm->kernel.gamma * LOG2_E * norm;
        t->start[q] = (float)fmin(fmax(start, -1e30), 1e30);
    }
}

static void transform(const lm_machine *m, size_t first, size_t count, float start, float *k) {
    const lm_kernel *kernel = &m->svm->kernel;
    if (kernel->type == LM_POLYNOMIAL) {
        lm_poly(k, count, (float)kernel->gamma, (float)kernel->coef0, (unsigned)kernel->degree);
    } else if (kernel->type == LM_SIGMOID) {
        lm_sigmoid(k, count, (float)kernel->gamma, (float)kernel->coef0);
    } else if (m->direct) {
        for (size_t i = 0; i < count && start != 0; i++)
            k[i] += start;
        lm_rbf(k, count, (float)kernel->gamma);
    } else {
        lm_exp2_biased(k, m->bias + first, count, start);
    }
}

/* Kernel values of n queries with panels first .. first + count - 1. */
static void kernel_values(const lm_machine *m, size_t first, size_t count, size_t n, tile *t) {
    lm_metric metric = m->direct ? LM_L2 : LM_DOT;
    size_t stride = t->run_panels * LM_PANEL;
    if (n == 1)
        lm_pack_query(&m->pack, metric, first, count, t->x, t->kernel);
    else
        lm_pack_block(&m->pack, metric, first, count, t->x, t->x_stride, n, t->kernel, stride);
    for (size_t q = 0; q < n; q++)
        transform(m, first * LM_PANEL, count * LM_PANEL, t->start[q], t->kernel + q * stride);
}

/* The sums of one segment, whose kernel values begin at offset of each query's. */
static void sum_segment(const lm_machine *m, const lm_machine_segment *s, bool fresh, size_t offset,
                        size_t n, tile *t) {
    size_t stride = t->run_panels * LM_PANEL;
    const float *coef = m->coef + s->first * LM_PANEL * m->rows;
    for (size_t b = 0; b < block_count(m); b++) {
        size_t from = block_first(m, b), width = block_first(m, b + 1) - from;
        float *sum = t->sum + s->group * m->rows + from;
        const float *block = coef + s->panels * LM_PANEL * from;
        if (fresh) {
            lm_expand(t->kernel + offset, stride, n, block, s->panels, width, sum, t->sums);
            continue;
        }
        lm_expand(t->kernel + offset, stride, n, block, s->panels, width, t->part, LM_PANEL);
        for (size_t q = 0; q < n; q++)
            for (size_t r = 0; r < width; r++)
                sum[q * t->sums + r] += t->part[q * LM_PANEL + r];
    }
}

static void sum_all(const lm_machine *m, size_t n, tile *t) {
    for (size_t q = 0; q < n; q++)
        memset(t->sum + q * t->sums, 0, m->groups * m->rows * sizeof *t->sum);
    for (size_t s = 0; s < m->segments;) {
        size_t first = m->segment[s].first, end = s, panels = 0;
        for (; end < m->segments && panels + m->segment[end].panels <= t->run_panels; end++)
            panels += m->segment[end].panels;
        kernel_values(m, first, panels, n, t);
        for (; s < end; s++) {
            bool fresh = s == 0 || m->segment[s].group != m->segment[s - 1].group;
            sum_segment(m, &m->segment[s], fresh, (m->segment[s].first - first) * LM_PANEL, n, t);
        }
    }
}

/* f from the sums of the classes. */
static void combine(const lm_machine *m, const float *sum, double *f) {
    const double *rho = m->svm->rho;
    size_t k = m->groups, p = 0;
    if (!m->svm->count) {
        f[0] = (double)sum[0] - rho[0];
        return;
    }
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, p++)
            f[p] = ((double)sum[i * m->rows + j - 1] + (double)sum[j * m->rows + i]) - rho[p];
}

static void linear_values(const lm_machine *m, size_t n, tile *t, double *f) {
    size_t stride = t->run_panels * LM_PANEL;
    if (!m->functions)
        return;
    if (n == 1)
        lm_pack_query(&m->pack, LM_DOT, 0, m->pack.panels, t->x, t->kernel);
    else
        lm_pack_block(&m->pack, LM_DOT, 0, m->pack.panels, t->x, t->x_stride, n, t->kernel, stride);
    for (size_t q = 0; q < n; q++)
        for (size_t p = 0; p < m->functions; p++)
            f[q * m->functions + p] = (double)t->kernel[q * stride + p] - m->svm->rho[p];
}

void lm_machine_values(const lm_machine *m, const float *x, size_t x_stride, const float *beyond,
                       size_t n, double *f, void *scratch) {
    tile t;
    size_t bytes;
    place(m, n, scratch, &t, &bytes);
    for (size_t done = 0; done < n; done += t.queries) {
        size_t count = n - done < t.queries ? n - done : t.queries;
        double *out = f + done * m->functions;
        take_queries(m, x + done * x_stride, x_stride, beyond ? beyond + done : NULL, count, &t);
        if (m->svm->kernel.type == LM_LINEAR) {
            linear_values(m, count, &t, out);
            continue;
        }
        sum_all(m, count, &t);
        for (size_t q = 0; q < count; q++)
            combine(m, t.sum + q * t.sums, out + q * m->functions);
    }
}

/* ---- one function ---- */

static double power_of(double base, int degree) {
    double power = 1;
    for (; degree > 0; degree /= 2, base *= base)
        if (degree % 2)
            power *= base;
    return power;
}

static double kernel_value(const lm_svm *svm, size_t i, const float *x, double beyond) {
    const float *s = svm->sv + i * svm->d;
    const lm_kernel *kernel = &svm->kernel;
    double dot = 0, distance = beyond;
    for (size_t j = 0; j < svm->d; j++) {
        double difference = (double)x[j] - (double)s[j];
        dot += (double)x[j] * (double)s[j];
        distance += difference * difference;
    }
    switch (kernel->type) {
    case LM_LINEAR:
        return dot;
    case LM_POLYNOMIAL:
        return power_of(kernel->gamma * dot + kernel->coef0, kernel->degree);
    case LM_RBF:
        return exp(-kernel->gamma * distance);
    case LM_SIGMOID:
        break;
    }
    return tanh(kernel->gamma * dot + kernel->coef0);
}

double lm_machine_value(const lm_machine *m, size_t function, const float *x, float beyond) {
    double sum = 0;
    for (size_t i = m->pair_start[function]; i < m->pair_start[function + 1]; i++)
        sum += (double)m->pair_coef[i] * kernel_value(m->svm, m->pair_vector[i], x, (double)beyond);
    return sum - m->svm->rho[function];
}
