/* evaluate.c: the decision values of a machine that layout.c has laid out; see machine.h.
 *
 * Queries are processed in tiles, and for each tile the panels in runs, so that the kernel values
 * of a run stay in cache until they have been summed. */
#include "svm/machine.h"

#include <math.h>
#include <string.h>

enum {
    TILE = 24, /* queries at once, at most */
    TILE_SUMS =
        1 << 20, /* floats of sums per tile; a tile has fewer queries if it would need more */
    ONE_RUN_PANELS = 256 /* panels of a run for one query: 64 KB of kernel values */
};

/* Where the parts of a tile are in the scratch. */
typedef struct tile {
    size_t queries; /* at once */
    const float *x; /* the queries: the caller's own, or centred ones */
    size_t x_stride;
    size_t run_panels; /* whose kernel values are held at once */
    size_t k_stride;   /* from one query's kernel values to the next */
    size_t sums;       /* per query */
    float *centred, *kernel, *part, *start;
    float *sum;
    /* The same in double for narrow machines, which have many segments and large sums: floats would
     * lose the last digits. */
    double *narrow_sum;
    float *rest;   /* of each query: squares beyond the vectors' features */
    float *scaled; /* one query */
} tile;

static size_t round16(size_t n) {
    return (n + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
}

/* For up to n queries. */
static tile lay_out(const lm_machine *m, size_t n, lm_cursor *at) {
    bool linear = m->svm->kernel.type == LM_LINEAR;
    tile t = {.sums = round16(linear || !m->rows ? 1 : m->groups * m->rows)};
    size_t most = TILE_SUMS / t.sums;
    t.queries = n < TILE ? n : TILE;
    t.queries = t.queries > most ? most ? most : 1 : t.queries;
    t.run_panels = t.queries == 1 ? ONE_RUN_PANELS : LM_MACHINE_SEGMENT;
    if (linear || t.run_panels > m->pack.panels)
        t.run_panels = m->pack.panels;
    /* One extra panel, so that the queries' values do not fall on the same cache lines. */
    t.k_stride = (t.run_panels + 1) * LM_PANEL;
    t.centred = lm_take_cells(at, m->centre ? t.queries : 0, round16(m->svm->d), sizeof *t.centred);
    t.kernel = lm_take_cells(at, t.queries, t.k_stride, sizeof *t.kernel);
    t.narrow_sum = lm_take_cells(at, t.queries, t.sums, sizeof *t.narrow_sum);
    t.sum = (float *)(void *)t.narrow_sum;
    t.part = lm_take_cells(at, t.queries, m->rows, sizeof *t.part);
    t.start = lm_take(at, t.queries, sizeof *t.start);
    t.rest = lm_take(at, t.queries, sizeof *t.rest);
    t.scaled = lm_take(at, m->svm->d, sizeof *t.scaled);
    return t;
}

bool lm_machine_scratch(const lm_machine *m, size_t n, size_t *bytes) {
    lm_cursor many = lm_cursor_at(NULL), one = lm_cursor_at(NULL);
    (void)lay_out(m, n, &many);
    (void)lay_out(m, 1, &one);
    return lm_measured(many.used > one.used ? &many : &one, bytes);
}

/* Takes the queries, relative to the centre where there is one, and computes their part of the
 * exponent. */
static void take_queries(const lm_machine *m, const float *x, size_t x_stride, size_t n, tile *t) {
    size_t d = m->svm->d;
    bool beyond = x_stride > d;
    t->x = m->centre ? t->centred : x;
    t->x_stride = m->centre ? round16(d) : x_stride;
    for (size_t q = 0; q < n && m->centre; q++)
        for (size_t j = 0; j < d; j++)
            t->centred[q * t->x_stride + j] = x[q * x_stride + j] - m->centre[j];
    for (size_t q = 0; q < n; q++) {
        const float *row = t->x + q * t->x_stride;
        t->rest[q] = beyond ? x[q * x_stride + d] : 0;
        double norm = (double)t->rest[q];
        for (size_t j = 0; j < d && m->svm->kernel.type == LM_RBF; j++)
            norm += (double)row[j] * (double)row[j];
        t->start[q] = (float)fmax(-m->svm->kernel.gamma * LM_LOG2_E * norm, -1e30);
    }
}

/* Whether the distances of query q are summed directly. */
static bool is_far(const lm_machine *m, const tile *t, size_t q) {
    return m->direct || (m->svm->kernel.type == LM_RBF && t->start[q] < (float)-LM_MACHINE_DIRECT);
}

/* Squared distances, times f^2, into rbf. */
static void from_distances(const lm_machine *m, size_t count, double f, float rest, float *k) {
    float more = (float)(f * f * (double)rest);
    for (size_t i = 0; i < count && more > 0; i++)
        k[i] += more;
    lm_rbf(k, count, (float)(m->svm->kernel.gamma / (f * f)));
}

/* rbf of a far query, where the vectors are not far: they are scaled by f = 2 gamma log2(e), so the
 * query is too: exp(-gamma |x - s|^2) = exp(-gamma / f^2 |f x - f s|^2). */
static void far_values(const lm_machine *m, size_t first, size_t count, size_t q, tile *t) {
    double f = 2 * m->svm->kernel.gamma * LM_LOG2_E;
    float *k = t->kernel + q * t->k_stride;
    for (size_t j = 0; j < m->svm->d; j++)
        t->scaled[j] = (float)(f * (double)t->x[q * t->x_stride + j]);
    lm_pack_query(&m->pack, LM_L2, first, count, t->scaled, k);
    from_distances(m, count * LM_PANEL, f, t->rest[q], k);
}

static void transform(const lm_machine *m, size_t first, size_t count, float start, float *k) {
    if (m->svm->kernel.type == LM_RBF)
        lm_exp2_biased(k, m->bias + first, count, start);
    else
        lm_kernel_apply(&m->svm->kernel, k, count);
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
    return m->rows <= LM_SUMS_NARROW;
}

/* The sums of one segment, whose kernel values begin at offset within each query's. */
static void sum_segment(const lm_machine *m, size_t number, bool fresh, size_t offset, size_t n,
                        tile *t) {
    const lm_machine_segment *s = &m->segment[number];
    bool narrow = is_narrow(m), straight = fresh && !narrow;
    float *sum = t->sum + s->group * m->rows, *out = straight ? sum : t->part;
    double *narrow_sum = t->narrow_sum + s->group * m->rows;
    lm_sum_lists lists = {m->start + number * (m->rows + 1), m->panel + s->blocks,
                          m->list + s->blocks * LM_PANEL};
    lm_kernel_sums(t->kernel + offset, t->k_stride, n, &lists, m->rows, narrow, out,
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

/* Computes f from the sums of the classes. */
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

void lm_machine_values(const lm_machine *m, const float *x, size_t x_stride, size_t n, double *f,
                       void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    tile t = lay_out(m, n, &at);
    for (size_t done = 0; done < n; done += t.queries) {
        size_t count = n - done < t.queries ? n - done : t.queries;
        double *out = f + done * m->functions;
        take_queries(m, x + done * x_stride, x_stride, count, &t);
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

static double kernel_value(const lm_svm *svm, size_t i, const float *x, double beyond) {
    const float *s = svm->sv + i * svm->d;
    double dot = 0, distance = beyond;
    for (size_t j = 0; j < svm->d; j++) {
        double difference = (double)x[j] - (double)s[j];
        dot += (double)x[j] * (double)s[j];
        distance += difference * difference;
    }
    return lm_kernel_value(&svm->kernel, dot, distance);
}

double lm_machine_value(const lm_machine *m, size_t function, const float *x, float beyond) {
    double sum = 0;
    for (size_t i = m->pair_start[function]; i < m->pair_start[function + 1]; i++)
        sum += m->pair_coef[i] * kernel_value(m->svm, m->pair_vector[i], x, (double)beyond);
    return sum - m->svm->rho[function];
}
