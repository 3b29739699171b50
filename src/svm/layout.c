/* layout.c: a machine laid out for evaluation; see machine.h.
 *
 * Most coefficients of a machine with several classes are 0 (a support vector for one pair of
 * classes is not one for most others). The vectors of a class are ordered so that whole blocks of a
 * panel's coefficients are 0: each panel begins with the remaining vector that has the fewest
 * non-zero coefficients, and then takes those that add the fewest new ones. That halves the blocks
 * (letter: 48 % of them remain, with 22 % of the coefficients not 0). */
#include "svm/machine.h"

#include <math.h>
#include <string.h>

/* ---- shape ---- */

static size_t panels_of(size_t vectors) {
    return (vectors + LM_PANEL - 1) / LM_PANEL;
}

static size_t group_vectors(const lm_svm *svm, size_t group) {
    return svm->count ? (size_t)svm->count[group] : svm->n;
}

/* The index of function (i, j), i < j, among k classes. */
static size_t function_of(size_t k, size_t i, size_t j) {
    return i * (2 * k - i - 1) / 2 + (j - i - 1);
}

static limn_status cut_segments(limn_context *ctx, lm_machine *m) {
    size_t count = 0, first = 0, at = 0;
    for (size_t g = 0; g < m->groups; g++)
        count += panels_of(group_vectors(m->svm, g)) / LM_MACHINE_SEGMENT + 1;
    m->segment = lm_alloc(&ctx->mem, count, sizeof *m->segment);
    if (!m->segment)
        return lm_fail_memory(ctx);
    for (size_t g = 0; g < m->groups; g++) {
        size_t panels = panels_of(group_vectors(m->svm, g));
        size_t parts = (panels + LM_MACHINE_SEGMENT - 1) / LM_MACHINE_SEGMENT;
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

/* Vectors ordered together, at most: the time grows with the square. */
enum { ORDERED = 1024 };

typedef uint64_t bits;

/* What ordering needs: which coefficients of each vector of the group are not 0. */
typedef struct ordering {
    size_t words; /* of bits per vector */
    bits *pattern, *taken;
    bool *used;
} ordering;

static unsigned popcount(const bits *a, const bits *without, size_t words) {
    unsigned count = 0;
    for (size_t w = 0; w < words; w++)
        count += (unsigned)__builtin_popcountll(a[w] & ~without[w]);
    return count;
}

/* The unused vector that adds the fewest new coefficients to taken, ties to the one with the most
 * coefficients; SIZE_MAX when none is left. */
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

/* Assigns places to the vectors first .. first + n - 1 of the machine, from place on. */
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

/* Where each vector is in the panels; each group begins a new panel. */
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
    double factor = scaled ? 2 * svm->kernel.gamma * LM_LOG2_E : 1;
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
        m->bias[place] = scaled ? (float)(-svm->kernel.gamma * LM_LOG2_E * squared_norm(m, i)) : 0;
    }
    limn_status status = lm_pack_build(ctx, rows, places, svm->d, svm->d, &m->pack);
    lm_free(&ctx->mem, rows);
    return status;
}

/* ---- coefficients ---- */

/* The coefficients of one segment in the order of its panels: panels x rows x 16. */
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

/* Memory for the blocks and their index. */
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
    float *block = lm_mul(LM_MACHINE_SEGMENT * LM_PANEL, m->rows, &cells)
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

/* Called for each coefficient that is not 0, with its function, vector and value. */
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

/* w_p = sum of coef s: one vector per function. */
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
                m->svm->kernel.gamma * LM_LOG2_E * largest_norm(m) > LM_MACHINE_DIRECT;
    if (m->direct) { /* subtracting the centre would round the vectors once more */
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
