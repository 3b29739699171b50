/* query.c: one test per level, then one row of kernel values and their weighted sums. */
#include "base/argmax.h"
#include "methods/ptree/ptree.h"
#include "num/platt.h"

#include <math.h>
#include <string.h>

/* Outputs are cut to this size, since the bias of one may be larger than a float. */
#define F_MOST 1e38

/* ---- one row ---- */

void pt_take_row(const pt_model *m, const float *x, float *padded) {
    lm_kernel_type type = m->o.kernel.type;
    bool positive = type == LM_CHI2_KERNEL || type == LM_INTERSECTION;
    memcpy(padded, x, m->d * sizeof *x);
    for (size_t j = m->d; j < m->stride; j++)
        padded[j] = 0;
    for (size_t j = 0; j < m->d && positive; j++)
        padded[j] = padded[j] > 0 ? padded[j] : 0;
}

double pt_length(const float *x, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += (double)x[j] * (double)x[j];
    return sum > 0 ? sqrt(sum) : 1;
}

int pt_side(const lm_kernel *kernel, const pt_node *node, const float *x, size_t stride,
            double length, float *values) {
    const uint32_t first = 0;
    double dot;
    if (node->w) {
        lm_gather_kernel(LM_DOT)(x, node->w, stride, &first, 1, &dot);
        /* Rounded as when the test was found, and not divided where that changes nothing. */
        return !((length < 1 || length > 1 ? dot / length : dot) > node->threshold);
    }
    if (node->side) {
        lm_pack_query(&node->pack, LM_L2, 0, node->pack.panels, x, values);
        return node->side[lm_argmin(values, node->pack.n)];
    }
    lm_pack_query(&node->pack, lm_kernel_metric(kernel), 0, 1, x, values);
    lm_kernel_apply(kernel, values, LM_PANEL);
    /* As lm_expansion_values has it, from which the test was found: NaN is 0. */
    double value = values[0] == values[0] ? (double)values[0] : 0;
    return !(value <= node->threshold);
}

/* The vectors that a test compares a row with. */
static size_t read_by(const pt_node *node) {
    return node->side ? node->pack.n : 1;
}

size_t pt_route(const pt_model *m, const float *x, float *values, size_t *read) {
    double length = m->o.paper && m->nodes ? pt_length(x, m->d) : 1;
    int32_t at = m->nodes ? 0 : -1;
    size_t count = 0;
    while (at >= 0) {
        const pt_node *node = &m->node[at];
        count += read_by(node);
        at = node->child[pt_side(&m->o.kernel, node, x, m->stride, length, values)];
    }
    if (read)
        *read = count;
    return (size_t)(-1 - at);
}

void pt_outputs(const pt_model *m, const pt_leaf *leaf, bool mean, const float *values, float *f) {
    lm_expansion_sums(&leaf->e, mean, values, f);
    for (size_t o = 0; o < m->outputs; o++) {
        double sum = (double)f[o] + leaf->bias[o];
        f[o] = (float)(sum > F_MOST ? F_MOST : sum < -F_MOST ? -F_MOST : sum);
    }
}

int32_t pt_winner(const pt_model *m, const pt_leaf *leaf, const float *f) {
    if (m->classes < 2)
        return 0;
    if (m->outputs == 1)
        return f[0] > 0 ? 0 : f[0] < 0 ? 1 : leaf->majority;
    size_t best = lm_argmax_float(f, m->outputs);
    for (size_t o = 0; o < m->outputs; o++)
        if (f[o] != 0)
            return (int32_t)best;
    return leaf->majority;
}

void pt_fit_width(size_t panels, size_t *width) {
    size_t floats = (panels ? panels : 1) * LM_PANEL;
    *width = floats > *width ? floats : *width;
}

/* ---- many rows ---- */

typedef struct layout {
    float *x, *values, *f;
} layout;

static layout lay_out(const pt_model *m, lm_cursor *at) {
    layout l;
    l.x = lm_take(at, m->stride, sizeof *l.x);
    l.values = lm_take(at, m->width, sizeof *l.values);
    l.f = lm_take(at, m->outputs, sizeof *l.f);
    return l;
}

void pt_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)rows;
    (void)neighbors;
    (void)lay_out(opaque, at);
}

/* Leaves f in the layout. */
static const pt_leaf *ask(const pt_model *m, const float *x, const layout *l) {
    pt_take_row(m, x, l->x);
    const pt_leaf *leaf = &m->leaf[pt_route(m, l->x, l->values, NULL)];
    lm_expansion_values(&leaf->e, l->x, l->values);
    pt_outputs(m, leaf, pt_averages(m), l->values, l->f);
    return leaf;
}

void pt_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const pt_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, &at);
    for (size_t i = 0; i < n; i++) {
        const pt_leaf *leaf = ask(m, x + i * m->d, &l);
        classes[i] = pt_winner(m, leaf, l.f);
    }
}

static double score_of(const pt_model *m, const float *f, size_t class) {
    return m->outputs > 1 ? (double)f[class] : class == 0 ? (double)f[0] / 2 : -(double)f[0] / 2;
}

static void soften(const pt_model *m, const float *f, size_t class, double *p) {
    double slope = m->slope[class], sum = 0, top = score_of(m, f, class);
    for (size_t c = 0; c < m->classes; c++)
        sum += p[c] = exp(slope * (score_of(m, f, c) - top));
    bool sound = sum >= 1 && sum < INFINITY;
    for (size_t c = 0; c < m->classes; c++)
        p[c] = sound ? p[c] / sum : 1 / (double)m->classes;
    lm_prefer(class, m->classes, p);
}

void pt_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const pt_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, &at);
    for (size_t i = 0; i < n; i++) {
        const pt_leaf *leaf = ask(m, x + i * m->d, &l);
        soften(m, l.f, (size_t)pt_winner(m, leaf, l.f), proba + i * m->classes);
    }
}

size_t pt_score_count(const void *opaque) {
    const pt_model *m = opaque;
    return m->classes < 2 ? 0 : m->classes * (m->classes - 1) / 2;
}

/* Of the pair (a, b): f_a - f_b; of two classes f itself. */
void pt_scores(const void *opaque, const float *x, size_t n, double *scores, void *scratch) {
    const pt_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, &at);
    for (size_t i = 0; i < n; i++) {
        (void)ask(m, x + i * m->d, &l);
        for (size_t a = 0; a < m->classes; a++)
            for (size_t b = a + 1; b < m->classes; b++)
                *scores++ = score_of(m, l.f, a) - score_of(m, l.f, b);
    }
}

/* ---- figures ---- */

/* read: by the tests above the leaf. */
static lm_touched touched_by(const pt_model *m, const pt_leaf *leaf, size_t read) {
    double n = (double)leaf->e.pack.n, d = (double)m->d, tests = (double)read;
    return (lm_touched){tests + n, (tests * d + n * (d + (double)m->outputs)) * sizeof(float)};
}

void pt_touched(const void *opaque, const float *x, size_t n, lm_touched *sum, void *scratch) {
    const pt_model *m = opaque;
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, &at);
    for (size_t i = 0; i < n; i++) {
        size_t read;
        pt_take_row(m, x + i * m->d, l.x);
        size_t leaf = pt_route(m, l.x, l.values, &read);
        lm_touched own = touched_by(m, &m->leaf[leaf], read);
        sum->vectors += own.vectors;
        sum->bytes += own.bytes;
    }
}

/* Adds what the rows that came to the leaves below a node or leaf touched; returns how many rows.
 */
static double add_below(const pt_model *m, int32_t at, size_t read, lm_touched *sum) {
    if (at >= 0) {
        const pt_node *node = &m->node[at];
        read += read_by(node);
        return add_below(m, node->child[0], read, sum) + add_below(m, node->child[1], read, sum);
    }
    const pt_leaf *leaf = &m->leaf[-1 - at];
    lm_touched own = touched_by(m, leaf, read);
    double rows = (double)leaf->seen;
    sum->vectors += rows * own.vectors;
    sum->bytes += rows * own.bytes;
    return rows;
}

/* On average over the rows that came to the leaves. */
static lm_touched mean_touched(const pt_model *m) {
    lm_touched sum = {0, 0};
    double all = add_below(m, m->nodes ? 0 : -1, 0, &sum), by = all > 0 ? 1 / all : 0;
    return (lm_touched){sum.vectors * by, sum.bytes * by};
}

void pt_stats(const void *opaque, lm_stats *stats) {
    const pt_model *m = opaque;
    size_t vectors = 0, depth = 0, most = 0;
    for (size_t i = 0; i < m->leaves; i++) {
        size_t n = m->leaf[i].e.pack.n, level = m->leaf[i].level;
        vectors += n;
        most = n > most ? n : most;
        depth = level > depth ? level : depth;
    }
    bool tree = m->o.rule == PT_TREE, drawn = m->agreement >= 0;
    lm_kernel_type type = m->o.kernel.type;
    const struct {
        const char *name;
        double value;
        bool shown;
    } list[] = {
        {"leaves", (double)m->leaves, tree},
        {"depth", (double)depth, tree},
        {"vectors in all leaves", (double)vectors, tree},
        {"vectors of the largest leaf", (double)most, tree},
        {"vectors", (double)vectors, !tree},
        {"gamma", m->o.kernel.gamma, type != LM_LINEAR && type != LM_INTERSECTION},
        {"% errors before learning", 100 * m->wrong[pt_averages(m)], m->steps > 0},
        {"% agreement with the teacher", 100 * m->agreement, drawn},
    };
    *stats = (lm_stats){.touched = mean_touched(m)};
    for (size_t i = 0; i < LM_COUNT(list); i++)
        if (list[i].shown) {
            stats->list[stats->count].name = list[i].name;
            stats->list[stats->count++].value = list[i].value;
        }
}
