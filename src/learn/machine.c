/* machine.c: see machine.h. Queries are taken a tile at a time; for each tile the panels a run at a
 * time, so that the kernel values of a run stay in cache until they have been summed up.
 *
 * Most coefficients of a machine with several classes are 0 (a vector that matters between two
 * classes is of no matter to most others). The vectors of a class are ordered so that whole blocks
 * of a panel's coefficients are: each panel begins with the vector that is left with the fewest,
 * and takes those that bring the fewest new ones with them. That halves the blocks (letter: 48 % of
 * them, with 22 % of the coefficients not 0). */
#include "learn/machine.h"

#include "num/expand.h"

#include <math.h>
#include <string.h>

enum {
    TILE = 24,           /* queries at once, at most */
    SEGMENT_PANELS = 24, /* longer classes are cut; a tile's kernel values of one stay in L1 */
    TILE_SUMS = 1 << 20, /* floats of sums that a tile may need; fewer queries where it would */
    ONE_RUN_PANELS = 256 /* panels of a run for one query: 64 KB of kernel values */
};

#define LOG2_E 1.4426950408889634
/* Where g |s|^2 or g |x|^2 is larger, too many of the 24 bits would cancel. */
#define DIRECT_FROM 24.0

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
        size_t panels = panels_of(group_vectors(m->svm, g));
        size_t parts = (panels + SEGMENT_PANELS - 1) / SEGMENT_PANELS;
        for (size_t p = 0; p < parts; p++, at++) {
            size_t size = (p + 1) * panels / parts - p * panels / parts;
            m->segment[at] = (lm_machine_segment){.first = first, .panels = size, .group = g};
            first += size;
        }
    }
    m->segments = at;
    return LIMN_OK;
}

/* ---- vectors ---- */

/* Vectors that are ordered together, at most: the time for it grows with the square. */
enum { ORDERED = 1024 };

typedef uint64_t bits;

/* What ordering needs: which coefficients of each vector of the group are not 0. */
typedef struct ordering {
    size_t words; /* of bits a vector */
    bits *pattern, *taken;
    bool *used;
} ordering;

static unsigned popcount(const bits *a, const bits *without, size_t words) {
    unsigned count = 0;
    for (size_t w = 0; w < words; w++)
        count += (unsigned)__builtin_popcountll(a[w] & ~without[w]);
    return count;
}

/* Of the vectors not used, the one that brings the fewest new coefficients to taken, of these the
 * one with the most; SIZE_MAX when none is left. */
static size_t cheapest(const ordering *o, size_t n) {
    static const bits none[1];
    size_t best = SIZE_MAX;
    unsigned best_new = 0, best_all = 0;
    for (size_t i = 0; i < n; i++) {
        if (o->used[i])
            continue;
        const bits *p = o->pattern + i * o->words;
        unsigned fresh = popcount(p, o->taken, o->words);
        if (best != SIZE_MAX && fresh > best_new)
            continue;
        unsigned all = 0;
        for (size_t w = 0; w < o->words; w++)
            all += popcount(p + w, none, 1);
        if (best == SIZE_MAX || fresh < best_new || all > best_all) {
            best = i;
            best_new = fresh;
            best_all = all;
        }
    }
    return best;
}

/* Places for the vectors first .. first + n - 1 of the machine, from place on. */
static void order_vectors(const lm_machine *m, ordering *o, size_t first, size_t n, size_t place) {
    const lm_svm *svm = m->svm;
    memset(o->pattern, 0, n * o->words * sizeof *o->pattern);
    memset(o->used, 0, n * sizeof *o->used);
    for (size_t row = 0; row < m->rows; row++)
        for (size_t i = 0; i < n; i++)
            if (svm->coef[row * svm->n + first + i] != 0)
                o->pattern[i * o->words + row / 64] |= (bits)1 << row % 64;
    for (size_t done = 0; done < n; done++) {
        if (done % LM_PANEL == 0)
            memset(o->taken, 0, o->words * sizeof *o->taken);
        size_t i = cheapest(o, n);
        for (size_t w = 0; w < o->words; w++)
            o->taken[w] |= o->pattern[i * o->words + w];
        o->used[i] = true;
        m->place[first + i] = (uint32_t)(place + done);
    }
}

/* Where each vector stands in the panels; a group begins a panel of its own. */
static limn_status place_vectors(limn_context *ctx, lm_machine *m) {
    ordering o = {.words = m->rows / 64 + 1};
    size_t cells, first = 0, place = 0;
    m->place = lm_alloc(&ctx->mem, m->svm->n + 1, sizeof *m->place);
    o.pattern =
        lm_mul(ORDERED, o.words, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *o.pattern) : NULL;
    o.taken = lm_alloc(&ctx->mem, o.words, sizeof *o.taken);
    o.used = lm_alloc(&ctx->mem, ORDERED, sizeof *o.used);
    bool there = m->place && o.pattern && o.taken && o.used;
    for (size_t g = 0; g < m->groups && there; g++) {
        size_t n = group_vectors(m->svm, g);
        for (size_t done = 0; done < n; done += ORDERED) {
            size_t part = n - done < ORDERED ? n - done : ORDERED;
            if (m->rows > 1)
                order_vectors(m, &o, first + done, part, place + done);
            for (size_t i = 0; m->rows <= 1 && i < part; i++)
                m->place[first + done + i] = (uint32_t)(place + done + i);
        }
        first += n;
        place += panels_of(n) * LM_PANEL;
    }
    lm_free(&ctx->mem, o.pattern);
    lm_free(&ctx->mem, o.taken);
    lm_free(&ctx->mem, o.used);
    return there ? LIMN_OK : lm_fail_memory(ctx);
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
    for (size_t i = 0; i < svm->n; i++) {
        size_t place = m->place[i];
        for (size_t j = 0; j < svm->d; j++)
            rows[place * svm->d + j] = (float)(centred(m, i, j) * factor);
        m->bias[place] = scaled ? (float)(-svm->kernel.gamma * LOG2_E * squared_norm(m, i)) : 0;
    }
    limn_status status = lm_pack_build(ctx, rows, places, svm->d, svm->d, &m->pack);
    lm_free(&ctx->mem, rows);
    return status;
}

/* ---- coefficients ---- */

/* The coefficients of one segment as they stand in its panels: panels x rows x 16. */
static void gather(const lm_machine *m, const lm_machine_segment *s, const uint32_t *vector,
                   float *block) {
    const lm_svm *svm = m->svm;
    memset(block, 0, s->panels * m->rows * LM_PANEL * sizeof *block);
    for (size_t lane = 0; lane < s->panels * LM_PANEL; lane++) {
        uint32_t i = vector[s->first * LM_PANEL + lane];
        for (size_t row = 0; i != UINT32_MAX && row < m->rows; row++)
            block[(lane / LM_PANEL * m->rows + row) * LM_PANEL + lane % LM_PANEL] =
                (float)svm->coef[row * svm->n + i];
    }
}

static bool is_zero(const float *block) {
    unsigned any = 0;
    for (size_t lane = 0; lane < LM_PANEL; lane++)
        any |= block[lane] != 0;
    return !any;
}

static size_t count_blocks(const lm_machine *m, const lm_machine_segment *s, const float *block) {
    size_t count = 0;
    for (size_t b = 0; b < s->panels * m->rows; b++)
        count += !is_zero(block + b * LM_PANEL);
    return count;
}

/* The blocks by row. */
static void lay_lists(lm_machine *m, const lm_machine_segment *s, const float *block,
                      uint32_t *start) {
    uint32_t at = 0;
    for (size_t row = 0; row < m->rows; row++) {
        for (size_t p = 0; p < s->panels; p++) {
            const float *b = block + (p * m->rows + row) * LM_PANEL;
            if (is_zero(b))
                continue;
            m->panel[s->blocks + at] = (uint16_t)p;
            memcpy(m->list + (s->blocks + at++) * LM_PANEL, b, LM_PANEL * sizeof *b);
        }
        start[row + 1] = at;
    }
}

/* Memory for so many blocks, and what says where they are. */
static limn_status take_blocks(limn_context *ctx, lm_machine *m, size_t blocks) {
    size_t starts, floats;
    if (!lm_mul(m->segments, m->rows + 1, &starts) || !lm_mul(blocks, LM_PANEL, &floats))
        return lm_fail_memory(ctx);
    m->start = lm_alloc_zero(&ctx->mem, starts + 1, sizeof *m->start);
    m->panel = lm_alloc(&ctx->mem, blocks + 1, sizeof *m->panel);
    m->list = lm_alloc_aligned(&ctx->mem, floats + 1, sizeof *m->list);
    return m->start && m->panel && m->list ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status lay_coefficients(limn_context *ctx, lm_machine *m) {
    size_t places = m->pack.panels * LM_PANEL, cells, blocks = 0;
    limn_status status = LIMN_OK;
    if (m->rows > UINT16_MAX)
        return lm_fail(ctx, LIMN_E_DATA, "svm: %zu classes are too many", m->rows + 1);
    uint32_t *vector = lm_alloc(&ctx->mem, places, sizeof *vector);
    float *block = lm_mul(SEGMENT_PANELS * LM_PANEL, m->rows, &cells)
                       ? lm_alloc(&ctx->mem, cells, sizeof *block)
                       : NULL;
    if (!vector || !block)
        status = lm_fail_memory(ctx);
    for (size_t i = 0; i < places && status == LIMN_OK; i++)
        vector[i] = UINT32_MAX;
    for (size_t i = 0; i < m->svm->n && status == LIMN_OK; i++)
        vector[m->place[i]] = (uint32_t)i;
    for (size_t s = 0; s < m->segments && status == LIMN_OK; s++) {
        m->segment[s].blocks = blocks;
        gather(m, &m->segment[s], vector, block);
        m->segment[s].count = count_blocks(m, &m->segment[s], block);
        blocks += m->segment[s].count;
    }
    if (status == LIMN_OK)
        status = take_blocks(ctx, m, blocks);
    for (size_t s = 0; s < m->segments && status == LIMN_OK; s++) {
        uint32_t *start = m->start + s * (m->rows + 1);
        gather(m, &m->segment[s], vector, block);
        lay_lists(m, &m->segment[s], block, start);
    }
    lm_free(&ctx->mem, vector);
    lm_free(&ctx->mem, block);
    return status;
}

/* ---- functions alone ---- */

/* Calls with each coefficient that is not 0: its function, vector and value. */
typedef void on_coefficient(lm_machine *m, size_t function, size_t vector, double value);

static void each_coefficient(lm_machine *m, on_coefficient *call) {
    const lm_svm *svm = m->svm;
    size_t k = m->groups, group = 0, left = group_vectors(svm, 0);
    for (size_t i = 0; i < svm->n; i++, left--) {
        while (!left)
            left = group_vectors(svm, ++group);
        for (size_t row = 0; row < m->rows; row++) {
            double value = svm->coef[row * svm->n + i];
            size_t other = row + (row >= group), a = other < group ? other : group;
            size_t b = other < group ? group : other;
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
    m->pair_coef[at] = value;
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
                sum[j] += m->pair_coef[v] * (double)svm->sv[m->pair_vector[v] * svm->d + j];
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
    status = place_vectors(ctx, m);
    if (status != LIMN_OK)
        return status;
    m->direct = m->svm->kernel.type == LM_RBF &&
                m->svm->kernel.gamma * LOG2_E * largest_norm(m) > DIRECT_FROM;
    if (m->direct) { /* to count from the centre would round the vectors once more */
        lm_free(&ctx->mem, m->centre);
        m->centre = NULL;
    }
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
    lm_free(mem, m->place);
    lm_free(mem, m->segment);
    lm_free(mem, m->start);
    lm_free(mem, m->panel);
    lm_free_aligned(mem, m->list);
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
    size_t k_stride;   /* of the kernel values of two queries */
    size_t sums;       /* a query */
    float *x, *kernel, *part, *start;
    float *sum;
    /* The same in double for narrow machines, whose segments are many and their sums large: in
     * float the ends would be lost. */
    double *narrow_sum;
    float *rest;   /* of each query: squares beyond the vectors' features */
    float *scaled; /* one query */
} tile;

static size_t round16(size_t n) {
    return (n + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

/* Lays the tile out for up to n queries; false on overflow. */
static bool place(const lm_machine *m, size_t n, void *scratch, tile *t, size_t *bytes) {
    size_t sizes[7], at = 0, starts[7];
    bool linear = m->svm->kernel.type == LM_LINEAR;
    t->sums = round16(linear || !m->rows ? 1 : m->groups * m->rows);
    size_t most = TILE_SUMS / t->sums;
    t->queries = n < TILE ? n : TILE;
    t->queries = t->queries > most ? most ? most : 1 : t->queries;
    t->x_stride = round16(m->svm->d);
    t->run_panels = t->queries == 1 ? ONE_RUN_PANELS : SEGMENT_PANELS;
    if (linear || t->run_panels > m->pack.panels)
        t->run_panels = m->pack.panels;
    /* One panel more, so that the queries' values do not fall on the same lines of the cache. */
    t->k_stride = (t->run_panels + 1) * LM_PANEL;
    if (!lm_mul(t->queries, t->x_stride, &sizes[0]) ||
        !lm_mul(t->queries, t->k_stride, &sizes[1]) ||
        !lm_mul(2 * t->queries, t->sums, &sizes[2])) /* doubles */
        return false;
    sizes[3] = round16(t->queries * m->rows);
    sizes[4] = sizes[5] = round16(t->queries);
    sizes[6] = t->x_stride;
    for (int i = 0; i < 7; i++) {
        starts[i] = at;
        if (!lm_add(at, sizes[i], &at))
            return false;
    }
    float *base = scratch;
    if (base) {
        t->x = base + starts[0];
        t->kernel = base + starts[1];
        t->sum = base + starts[2];
        t->narrow_sum = (double *)(void *)(base + starts[2]);
        t->part = base + starts[3];
        t->start = base + starts[4];
        t->rest = base + starts[5];
        t->scaled = base + starts[6];
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
        t->start[q] = (float)fmax(-m->svm->kernel.gamma * LOG2_E * norm, -1e30);
        t->rest[q] = beyond ? beyond[q] : 0;
    }
}

/* Whether the distances of query q are summed directly. */
static bool is_far(const lm_machine *m, const tile *t, size_t q) {
    return m->direct || (m->svm->kernel.type == LM_RBF && t->start[q] < (float)-DIRECT_FROM);
}

/* Squared distances, times f^2, into rbf. */
static void from_distances(const lm_machine *m, size_t count, double f, float rest, float *k) {
    float more = (float)(f * f * (double)rest);
    for (size_t i = 0; i < count && more > 0; i++)
        k[i] += more;
    lm_rbf(k, count, (float)(m->svm->kernel.gamma / (f * f)));
}

/* rbf of a query that is far from vectors which are not: they are scaled by f = 2 gamma log2(e), so
 * the query is as well: exp(-gamma |x - s|^2) = exp(-gamma / f^2 |f x - f s|^2). */
static void far_values(const lm_machine *m, size_t first, size_t count, size_t q, tile *t) {
    double f = 2 * m->svm->kernel.gamma * LOG2_E;
    float *k = t->kernel + q * t->k_stride;
    for (size_t j = 0; j < m->svm->d; j++)
        t->scaled[j] = (float)(f * (double)t->x[q * t->x_stride + j]);
    lm_pack_query(&m->pack, LM_L2, first, count, t->scaled, k);
    from_distances(m, count * LM_PANEL, f, t->rest[q], k);
}

static void transform(const lm_machine *m, size_t first, size_t count, float start, float *k) {
    const lm_kernel *kernel = &m->svm->kernel;
    if (kernel->type == LM_POLYNOMIAL)
        lm_poly(k, count, (float)kernel->gamma, (float)kernel->coef0, (unsigned)kernel->degree);
    else if (kernel->type == LM_SIGMOID)
        lm_sigmoid(k, count, (float)kernel->gamma, (float)kernel->coef0);
    else
        lm_exp2_biased(k, m->bias + first, count, start);
}

/* Kernel values of n queries with panels first .. first + count - 1. */
static void kernel_values(const lm_machine *m, size_t first, size_t count, size_t n, tile *t) {
    size_t stride = t->k_stride;
    lm_metric metric = m->direct ? LM_L2 : LM_DOT;
    bool rbf = m->svm->kernel.type == LM_RBF;
    if (n == 1 && rbf && !is_far(m, t, 0) && m->pack.d < LM_DOT_EXP2_D) {
        lm_dot_exp2(&m->pack, first, count, m->bias + first * LM_PANEL, t->x, t->start[0],
                    t->kernel);
        return;
    }
    if (n == 1)
        lm_pack_query(&m->pack, metric, first, count, t->x, t->kernel);
    else
        lm_pack_block(&m->pack, metric, first, count, t->x, t->x_stride, n, t->kernel, stride);
    for (size_t q = 0; q < n; q++) {
        if (m->direct)
            from_distances(m, count * LM_PANEL, 1, t->rest[q], t->kernel + q * stride);
        else if (is_far(m, t, q))
            far_values(m, first, count, q, t);
        else
            transform(m, first * LM_PANEL, count * LM_PANEL, t->start[q], t->kernel + q * stride);
    }
}

static bool is_narrow(const lm_machine *m) {
    return m->rows <= LM_EXPAND_NARROW;
}

/* The sums of one segment, whose kernel values begin at offset of each query's. */
static void sum_segment(const lm_machine *m, size_t number, bool fresh, size_t offset, size_t n,
                        tile *t) {
    const lm_machine_segment *s = &m->segment[number];
    bool narrow = is_narrow(m), straight = fresh && !narrow;
    float *sum = t->sum + s->group * m->rows, *out = straight ? sum : t->part;
    double *narrow_sum = t->narrow_sum + s->group * m->rows;
    lm_expand_lists lists = {m->start + number * (m->rows + 1), m->panel + s->blocks,
                             m->list + s->blocks * LM_PANEL};
    lm_expand(t->kernel + offset, t->k_stride, n, &lists, m->rows, narrow, out,
              straight ? t->sums : m->rows);
    for (size_t q = 0; q < n && !straight; q++)
        for (size_t r = 0; r < m->rows; r++) {
            if (narrow)
                narrow_sum[q * t->sums + r] += (double)t->part[q * m->rows + r];
            else
                sum[q * t->sums + r] += t->part[q * m->rows + r];
        }
}

static void sum_all(const lm_machine *m, size_t n, tile *t) {
    for (size_t q = 0; q < n; q++)
        memset(is_narrow(m) ? (void *)(t->narrow_sum + q * t->sums) : t->sum + q * t->sums, 0,
               m->groups * m->rows * (is_narrow(m) ? sizeof(double) : sizeof(float)));
    for (size_t s = 0; s < m->segments;) {
        size_t first = m->segment[s].first, end = s, panels = 0;
        for (; end < m->segments && panels + m->segment[end].panels <= t->run_panels; end++)
            panels += m->segment[end].panels;
        kernel_values(m, first, panels, n, t);
        for (; s < end; s++) {
            bool fresh = s == 0 || m->segment[s].group != m->segment[s - 1].group;
            sum_segment(m, s, fresh, (m->segment[s].first - first) * LM_PANEL, n, t);
        }
    }
}

/* f from the sums of the classes. */
static void combine(const lm_machine *m, const float *sum, double *f) {
    const double *rho = m->svm->rho;
    size_t k = m->groups, p = 0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, p++)
            f[p] = ((double)sum[i * m->rows + j - 1] + (double)sum[j * m->rows + i]) - rho[p];
}

static void combine_narrow(const lm_machine *m, const double *sum, double *f) {
    const double *rho = m->svm->rho;
    size_t k = m->groups, p = 0;
    if (!m->svm->count)
        f[0] = sum[0] - rho[0];
    for (size_t i = 0; i < k && m->svm->count; i++)
        for (size_t j = i + 1; j < k; j++, p++)
            f[p] = (sum[i * m->rows + j - 1] + sum[j * m->rows + i]) - rho[p];
}

static void linear_values(const lm_machine *m, size_t n, tile *t, double *f) {
    size_t stride = t->k_stride;
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
        for (size_t q = 0; q < count; q++) {
            if (is_narrow(m))
                combine_narrow(m, t.narrow_sum + q * t.sums, out + q * m->functions);
            else
                combine(m, t.sum + q * t.sums, out + q * m->functions);
        }
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
        sum += m->pair_coef[i] * kernel_value(m->svm, m->pair_vector[i], x, (double)beyond);
    return sum - m->svm->rho[function];
}
