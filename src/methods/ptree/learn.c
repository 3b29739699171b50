/* learn.c: one row at a time.
 *
 * A row goes to its leaf, is answered, and changes the leaf if f was wrong about it (or right by no
 * more than the margin): it becomes a vector, or is projected onto the vectors that are there if
 * they nearly span it, or if the leaf is full and may not be split yet. A leaf that would have more
 * than B vectors is copied, changed and split; nothing of the model changes until all of that has
 * worked.
 *
 * Probabilities: the class that is answered, c, is right with the probability
 * exp(s_c f_c) / sum_k exp(s_c f_k), f_k the outputs (two classes: f / 2 and -f / 2). log s_c
 * follows the slope of the log-likelihood of the rows as they come, divided by its curvature over
 * the last thousands of rows. */
#include "methods/ptree/ptree.h"

#include <math.h>
#include <string.h>

/* Older rows count less: errors and slopes look back about so many rows. */
#define LOOKS_BACK 2000.0
/* Curvature of a slope before there is any: a few surprising rows do not turn it. */
#define FIRM 5.0
#define SLOPE_MOST 1e30

/* Memory of one lesson. */
typedef struct work {
    float *x;      /* stride */
    float *values; /* width */
    float *f[3];   /* outputs: by A, by its mean, and work space */
    size_t width;
} work;

static void work_free(const limn_allocator *mem, work *w) {
    lm_free_aligned(mem, w->x);
    lm_free_aligned(mem, w->values);
    for (int k = 0; k < 3; k++)
        lm_free(mem, w->f[k]);
}

static limn_status work_make(limn_context *ctx, const pt_model *m, work *w) {
    *w = (work){.width = 0};
    w->x = lm_alloc_aligned(&ctx->mem, m->stride, sizeof *w->x);
    for (int k = 0; k < 3; k++)
        w->f[k] = lm_alloc(&ctx->mem, m->outputs, sizeof *w->f[k]);
    return w->x && w->f[0] && w->f[1] && w->f[2] ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status work_fit(limn_context *ctx, const pt_model *m, work *w) {
    if (w->values && w->width >= m->width)
        return LIMN_OK;
    lm_free_aligned(&ctx->mem, w->values);
    w->width = 2 * m->width;
    w->values = lm_alloc_aligned(&ctx->mem, w->width, sizeof *w->values);
    return w->values ? LIMN_OK : lm_fail_memory(ctx);
}

/* ---- what is known before a row is learned ---- */

/* The share of the log-likelihood's slope and curvature, with respect to log s. */
static void likelihood(const pt_model *m, const float *f, double s, size_t class, size_t label,
                       double *slope, double *curve) {
    double sum = 0, mean = 0, square = 0, top = m->outputs > 1 ? (double)f[class] : 0;
    if (m->outputs == 1) {
        double z = s * fabs((double)f[0]), right = 1 / (1 + exp(-z));
        *slope = z * ((class == label) - right);
        *curve = z * z * right * (1 - right);
        return;
    }
    for (size_t k = 0; k < m->outputs; k++) {
        double z = s * ((double)f[k] - top), e = exp(z);
        sum += e;
        mean += e * z;
        square += e * z * z;
    }
    mean /= sum;
    *slope = s * ((double)f[label] - top) - mean;
    *curve = square / sum - mean * mean;
}

static double largest(const float *f, size_t n) {
    double most = 0;
    for (size_t k = 0; k < n; k++)
        most = fmax(most, fabs((double)f[k]));
    return most;
}

void pt_fit_slope(pt_model *m, const float *f, size_t class, size_t label) {
    double slope = 0, curve = 0, most = largest(f, m->outputs), *s = &m->slope[class];
    if (!(most > 0))
        return;
    if (!(*s > 0))
        *s = fmin(1 / most, SLOPE_MOST);
    likelihood(m, f, *s, class, label, &slope, &curve);
    if (!isfinite(slope) || !isfinite(curve))
        return;
    double *bend = &m->bend[class];
    *bend += fmax(curve, 0) - *bend / LOOKS_BACK;
    *s *= exp(fmax(-0.5, fmin(0.5, slope / (*bend + FIRM))));
    *s = fmax(1 / SLOPE_MOST, fmin(*s, SLOPE_MOST));
}

/* Learns from the answers that A and its mean gave how good they are. */
static void judge(pt_model *m, const pt_row *row, double *wrong) {
    double age = fmin((double)m->steps + 1, LOOKS_BACK);
    int mean = pt_averages(m);
    pt_fit_slope(m, row->f[mean], (size_t)row->said[mean], (size_t)row->label);
    for (int k = 0; k < 2; k++) {
        double off = row->said[k] != row->label;
        m->wrong[k] += (off - m->wrong[k]) / age;
        if (wrong)
            wrong[k] += off;
    }
}

static void look(const pt_model *m, work *w, const float *x, int32_t label, pt_row *row) {
    pt_take_row(m, x, w->x);
    row->x = w->x;
    row->values = w->values;
    row->label = label;
    row->leaf = pt_route(m, w->x, w->values, NULL);
    const pt_leaf *leaf = &m->leaf[row->leaf];
    lm_expansion_values(&leaf->e, w->x, w->values);
    for (int k = 0; k < 2; k++) {
        row->f[k] = w->f[m->o.average ? k : 0];
        if (k == 0 || m->o.average)
            pt_outputs(m, leaf, k == 1, w->values, w->f[k]);
        row->said[k] = pt_winner(m, leaf, row->f[k]);
    }
    row->room = w->f[2];
    row->margin = lm_expansion_margin(w->f[0], m->outputs, (size_t)label, &row->step);
}

/* ---- splitting ---- */

limn_status pt_reserve_leaf(limn_context *ctx, pt_model *m) {
    size_t room = 2 * m->room;
    if (m->leaves < m->room && m->nodes < m->room)
        return LIMN_OK;
    pt_leaf *leaf = lm_alloc(&ctx->mem, room, sizeof *leaf);
    pt_node *node = lm_alloc(&ctx->mem, room, sizeof *node);
    if (!leaf || !node) {
        lm_free(&ctx->mem, leaf);
        lm_free(&ctx->mem, node);
        return lm_fail_memory(ctx);
    }
    memcpy(leaf, m->leaf, m->leaves * sizeof *leaf);
    if (m->nodes)
        memcpy(node, m->node, m->nodes * sizeof *node);
    lm_free(&ctx->mem, m->leaf);
    lm_free(&ctx->mem, m->node);
    m->leaf = leaf;
    m->node = node;
    m->room = room;
    return LIMN_OK;
}

/* The left leaf takes the place of the one that was split. */
static void graft(limn_context *ctx, pt_model *m, size_t at, pt_fork *fork) {
    int32_t up = m->leaf[at].parent, node = (int32_t)m->nodes, own = -1 - (int32_t)at;
    pt_leaf_free(&ctx->mem, &m->leaf[at]);
    fork->node.child[0] = own;
    fork->node.child[1] = -1 - (int32_t)m->leaves;
    if (up >= 0)
        m->node[up].child[m->node[up].child[1] == own] = node;
    m->node[m->nodes++] = fork->node;
    for (int s = 0; s < 2; s++) {
        size_t place = s ? m->leaves : at;
        m->leaf[place] = fork->leaf[s];
        m->leaf[place].parent = node;
        pt_fit_width(fork->leaf[s].e.pack.panels, &m->width);
    }
    pt_fit_width(fork->node.pack.panels, &m->width);
    m->leaves++;
}

/* Adds the row to a copy of its leaf, which is split. *done false: it could not be, and nothing has
 * changed. */
static limn_status split(limn_context *ctx, pt_model *m, const pt_row *row, bool *done) {
    pt_leaf copy;
    pt_fork fork = {.valid = false};
    limn_status status = pt_leaf_copy(ctx, m, &m->leaf[row->leaf], &copy);
    if (status == LIMN_OK) {
        lm_expansion_add(&copy.e, row->x, row->values, &row->step);
        lm_expansion_tick(&copy.e, true);
        pt_leaf_remember(m, &copy, row->x, row->label);
        status = pt_reserve_leaf(ctx, m);
    }
    if (status == LIMN_OK)
        status = pt_split_leaf(ctx, m, &copy, &fork);
    if (status == LIMN_OK && fork.valid)
        graft(ctx, m, row->leaf, &fork);
    else
        pt_fork_free(&ctx->mem, &fork);
    *done = fork.valid;
    pt_leaf_free(&ctx->mem, &copy);
    return status;
}

/* ---- one row ---- */

/* Adds the row as a vector, in the place of the oldest one where there are B; there is room. */
static void add(const pt_model *m, pt_leaf *leaf, const pt_row *row) {
    lm_expansion_add(&leaf->e, row->x, row->values, &row->step);
    if (leaf->e.pack.n > m->o.budget)
        lm_expansion_remove(&leaf->e, 0);
}

/* Whether a full leaf is to be split. While it can project, it need not hurry: what it knows of its
 * rows decides how well they are divided, and halves begin with half of its vectors. */
static bool is_due(const pt_model *m, const pt_leaf *leaf) {
    bool enough = !(m->o.project > 0) || leaf->seen >= m->o.patience * m->o.budget;
    return enough && pt_may_split(&m->o, leaf->level) && !leaf->wait;
}

/* What a leaf of a tree does with a row that it is wrong about. *gone: it was split. */
static limn_status step_tree(limn_context *ctx, pt_model *m, const pt_row *row, bool *gone) {
    pt_leaf *leaf = &m->leaf[row->leaf];
    bool full = leaf->e.pack.n >= m->o.budget, projects = m->o.project > 0;
    double left = 1;
    limn_status status = lm_expansion_reserve(ctx, &leaf->e, leaf->e.pack.n + 1);
    if (status != LIMN_OK)
        return status;
    if (projects)
        left = lm_expansion_project(&leaf->e, row->values, lm_expansion_self(&leaf->e, row->x));
    if (left > m->o.project && full && is_due(m, leaf)) {
        status = split(ctx, m, row, gone);
        if (status != LIMN_OK || *gone)
            return status;
        leaf = &m->leaf[row->leaf];
        leaf->wait = m->o.kept + 1;
    }
    leaf->wait -= leaf->wait > 0;
    if (projects && (left <= m->o.project || full))
        lm_expansion_move(&leaf->e, &row->step);
    else
        add(m, leaf, row);
    return LIMN_OK;
}

/* The margin is a share of K(x, x), by which a step moves the output. */
static double needed_margin(const pt_model *m, const pt_row *row) {
    lm_kernel_type type = m->o.kernel.type;
    bool one = type == LM_RBF || type == LM_CHI2_KERNEL || !(m->o.margin > 0);
    return m->o.margin * (one ? 1 : fmax(0, lm_expansion_self(&m->leaf[row->leaf].e, row->x)));
}

/* *gone: the leaf was split, with the row in it. *changed: coefficients are others. */
static limn_status step(limn_context *ctx, pt_model *m, const pt_row *row, bool *gone,
                        bool *changed) {
    if (m->o.rule != PT_TREE)
        return pt_step_single(ctx, m, &m->leaf[row->leaf], row, changed);
    *changed = row->margin <= needed_margin(m, row);
    return *changed ? step_tree(ctx, m, row, gone) : LIMN_OK;
}

static limn_status learn_row(limn_context *ctx, pt_model *m, work *w, const float *x, int32_t label,
                             int32_t *answer, double *wrong) {
    pt_row row;
    bool gone = false, changed = false;
    limn_status status = work_fit(ctx, m, w);
    if (status != LIMN_OK)
        return status;
    look(m, w, x, label, &row);
    status = pt_leaf_reserve_row(ctx, m, &m->leaf[row.leaf]);
    if (status == LIMN_OK)
        status = step(ctx, m, &row, &gone, &changed);
    if (status != LIMN_OK)
        return status;
    if (!gone) {
        pt_leaf *leaf = &m->leaf[row.leaf];
        lm_expansion_tick(&leaf->e, changed);
        pt_leaf_remember(m, leaf, w->x, label);
        pt_fit_width(leaf->e.pack.panels, &m->width);
    }
    if (answer)
        *answer = m->seen || m->steps ? row.said[pt_averages(m)] : -1;
    judge(m, &row, wrong);
    m->steps++;
    return LIMN_OK;
}

limn_status pt_learn(limn_context *ctx, void *opaque, const lm_lesson *lesson, size_t *learned) {
    pt_model *m = opaque;
    work w;
    *learned = 0;
    limn_status status = work_make(ctx, m, &w);
    for (size_t i = 0; i < lesson->n && status == LIMN_OK; i++) {
        if (i % 256 == 0)
            status = lm_progress(ctx, "learning", i, lesson->n, (double)i / (double)lesson->n);
        if (status == LIMN_OK)
            status = learn_row(ctx, m, &w, lesson->x + i * m->d, lesson->label[i],
                               lesson->answer_class ? lesson->answer_class + i : NULL, NULL);
        if (status == LIMN_OK) {
            m->seen++;
            ++*learned;
        }
    }
    work_free(&ctx->mem, &w);
    return status;
}

limn_status pt_pass(limn_context *ctx, pt_model *m, const lm_train_set *set, const size_t *order,
                    size_t count, const char *stage, double wrong[2]) {
    work w;
    limn_status status = work_make(ctx, m, &w);
    for (size_t i = 0; i < count && status == LIMN_OK; i++) {
        size_t at = order ? order[i] : i;
        if (i % 256 == 0)
            status = lm_progress(ctx, stage, i, count, (double)i / (double)count);
        if (status == LIMN_OK)
            status = learn_row(ctx, m, &w, set->x + at * m->d, set->label[at], NULL, wrong);
    }
    work_free(&ctx->mem, &w);
    return status;
}

/* ---- more classes ---- */

static limn_status widen_leaf(limn_context *ctx, const pt_model *m, const pt_leaf *from,
                              size_t classes, size_t outputs, pt_leaf *to) {
    limn_status status = pt_leaf_copy(ctx, m, from, to);
    if (status != LIMN_OK)
        return status;
    uint64_t *count = lm_alloc_zero(&ctx->mem, classes, sizeof *count);
    double *bias = lm_alloc_zero(&ctx->mem, outputs, sizeof *bias);
    if (count)
        memcpy(count, to->count, m->classes * sizeof *count);
    if (bias)
        memcpy(bias, to->bias, m->outputs * sizeof *bias);
    if (bias && outputs > 1 && m->outputs == 1)
        bias[1] = -bias[0];
    lm_free(&ctx->mem, to->count);
    lm_free(&ctx->mem, to->bias);
    to->count = count;
    to->bias = bias;
    if (!count || !bias)
        return lm_fail_memory(ctx);
    return outputs > m->outputs ? lm_expansion_widen(ctx, &to->e, outputs) : LIMN_OK;
}

static bool widen_slopes(const limn_allocator *mem, const pt_model *m, size_t classes,
                         double *slopes[2]) {
    const double *old[2] = {m->slope, m->bend};
    for (int k = 0; k < 2; k++) {
        slopes[k] = lm_alloc_zero(mem, classes, sizeof *slopes[k]);
        if (slopes[k])
            memcpy(slopes[k], old[k], m->classes * sizeof *slopes[k]);
    }
    return slopes[0] && slopes[1];
}

limn_status pt_widen(limn_context *ctx, void *opaque, size_t classes) {
    pt_model *m = opaque;
    const limn_allocator *mem = &ctx->mem;
    size_t outputs = classes > 2 ? classes : 1;
    double *slopes[2];
    pt_leaf *leaf = lm_alloc_zero(mem, m->room, sizeof *leaf);
    limn_status status =
        widen_slopes(mem, m, classes, slopes) && leaf ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < m->leaves && status == LIMN_OK; i++)
        status = widen_leaf(ctx, m, &m->leaf[i], classes, outputs, &leaf[i]);
    if (status == LIMN_OK) {
        pt_leaf *old = m->leaf;
        double *old_slopes[2] = {m->slope, m->bend};
        m->leaf = leaf;
        leaf = old;
        m->slope = slopes[0];
        m->bend = slopes[1];
        for (size_t c = 0; c < m->classes && outputs > m->outputs && m->outputs == 1; c++)
            m->slope[c] /= 2; /* f and -f now, not f / 2 and -f / 2 */
        memcpy(slopes, old_slopes, sizeof slopes);
        m->classes = classes;
        m->outputs = outputs;
    }
    for (size_t i = 0; leaf && i < m->leaves; i++)
        pt_leaf_free(mem, &leaf[i]);
    lm_free(mem, leaf);
    lm_free(mem, slopes[0]);
    lm_free(mem, slopes[1]);
    return status;
}
