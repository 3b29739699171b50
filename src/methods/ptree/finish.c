/* finish.c: after the last pass over the training rows, the coefficients of each leaf are fitted to
 * the labels of all rows that come to it. Perceptron steps have found where the leaves and their
 * vectors lie; coefficients can be had better in batch.
 *
 * With phi_i = (K(x_i, b_1) / u .. K(x_i, b_n) / u, 1), u the mean K(x, x) of the leaf's rows (so
 * that lambda means the same for all kernels; 1 for rbf and chi2), y_io = 1 for the row's class,
 * else -1, and f = phi a, each output o minimises
 *
 *   sum_i max(0, 1 - y_io f_io)^2 + lambda (n + 1) |a_o|^2
 *
 * by steps that solve a ridge: a row that is right by more than 1 is content with its own f, so its
 * target is t = y max(1, y f), and a <- (phi'phi + lambda (n + 1) I)^-1 phi't. No step makes the
 * sum larger, since |f - t|^2 is nowhere below the loss and equals it where t was made; all steps
 * and outputs share one factor.
 *
 * lambda is the one with the fewest errors, over all leaves, on a fifth of the rows that is left
 * out at first. On the other rows, which both know, the coefficients of the steps may be better by
 * more than chance would have it (linear kernels and many classes): then they stay. The new ones
 * are scaled so that outputs are as large as they were, and those of several outputs add up to 0:
 * the model can go on learning.
 *
 * How sure outputs are is learned from the rows left out, by coefficients that were fitted without
 * them. */
#include "base/argmax.h"
#include "base/work.h"
#include "methods/ptree/ptree.h"

#include <math.h>
#include <string.h>

/* PER_VECTOR: with fewer rows per vector the coefficients stay: those of perceptron steps,
 * averaged, are then better. */
enum {
    ROWS_MOST = 20000 /* of a leaf */,
    PER_VECTOR = 10,
    HELD = 5,
    STEPS = 30,
    MORE_STEPS = 10,
    PASSES = 2
};

static const double lambdas[] = {10, 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
/* The last choice: the coefficients stay. */
enum { LAMBDAS = LM_COUNT(lambdas), CHOICES = LAMBDAS + 1 };

/* The rows, leaf by leaf. */
typedef struct finishing {
    const lm_train_set *set;
    pt_model *m;
    size_t *row, *start; /* start: leaves + 1 */
    size_t lambda;       /* of the last fit; LAMBDAS: not known yet, or none */
    size_t *wrong;       /* leaves x LAMBDAS: errors on the rows left out */
    size_t *known_wrong; /* leaves x CHOICES: on the others */
    float *held;         /* rows x outputs: f of the rows left out; else, and of vectors, NaN */
} finishing;

/* What one leaf is fitted with: c = n + 1 columns, k outputs. */
typedef struct room {
    size_t n, c, k;
    double *phi;    /* rows x c */
    double *gram;   /* c x c */
    double *factor; /* c x c */
    double *right;  /* k x c */
    double *coef;   /* k x c */
    double *f;      /* k */
    double unit;    /* u */
    bool *known;    /* rows: it is one of the vectors */
    const size_t *row;
    const int32_t *label;
} room;

static limn_status room_make(limn_context *ctx, const finishing *t, size_t leaf, room *r) {
    size_t all = t->start[leaf + 1] - t->start[leaf], cells;
    *r = (room){.n = all < ROWS_MOST ? all : ROWS_MOST,
                .c = t->m->leaf[leaf].e.pack.n + 1,
                .k = t->m->outputs,
                .row = t->row + t->start[leaf],
                .label = t->set->label};
    if (!lm_mul(r->n + 1, r->c, &cells))
        return lm_fail_memory(ctx);
    r->phi = lm_alloc(&ctx->mem, cells, sizeof *r->phi);
    r->gram = lm_alloc_zero(&ctx->mem, r->c, r->c * sizeof *r->gram);
    r->factor = lm_alloc(&ctx->mem, r->c, r->c * sizeof *r->factor);
    r->right = lm_alloc_zero(&ctx->mem, r->k, r->c * sizeof *r->right);
    r->coef = lm_alloc_zero(&ctx->mem, r->k, r->c * sizeof *r->coef);
    r->f = lm_alloc(&ctx->mem, r->k, sizeof *r->f);
    r->known = lm_alloc_zero(&ctx->mem, r->n + 1, sizeof *r->known);
    bool fine = r->known && r->phi && r->gram && r->factor && r->right && r->coef && r->f;
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}

static void room_free(const limn_allocator *mem, room *r) {
    lm_free(mem, r->phi);
    lm_free(mem, r->gram);
    lm_free(mem, r->factor);
    lm_free(mem, r->right);
    lm_free(mem, r->coef);
    lm_free(mem, r->f);
    lm_free(mem, r->known);
}

static bool is_held(size_t i) {
    return i % HELD == HELD - 1;
}

/* Adds the products of the rows that are left out, or of the others, to gram. */
static void add_products(room *r, bool held) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    for (size_t i = 0; i < r->n; i++) {
        const double *phi = r->phi + i * r->c;
        for (size_t j = 0; j < r->c && is_held(i) == held; j++)
            dense->axpy(phi[j], phi, r->gram + j * r->c, j + 1);
    }
}

/* Whether a vector is equal to the row. other: d floats of room. */
static bool is_vector(const lm_pack *pack, const float *x, float *other) {
    for (size_t j = 0; j < pack->n; j++) {
        lm_pack_row(pack, j, other);
        if (memcmp(other, x, pack->d * sizeof *x) == 0)
            return true;
    }
    return false;
}

/* phi times u, and u. */
static limn_status fill(limn_context *ctx, const finishing *t, size_t leaf, room *r) {
    const pt_model *m = t->m;
    const lm_expansion *e = &m->leaf[leaf].e;
    size_t width = lm_expansion_width(e);
    float *x = lm_alloc_aligned(&ctx->mem, 2 * m->stride + width, sizeof *x);
    if (!x)
        return lm_fail_memory(ctx);
    float *other = x + m->stride, *values = other + m->stride;
    for (size_t i = 0; i < r->n; i++) {
        pt_take_row(m, t->set->x + r->row[i] * m->d, x);
        lm_expansion_values(e, x, values);
        for (size_t j = 0; j + 1 < r->c; j++)
            r->phi[i * r->c + j] = (double)values[j];
        r->unit += lm_expansion_self(e, x);
        r->known[i] = is_held(i) && is_vector(&e->pack, x, other);
    }
    r->unit /= (double)r->n;
    if (!(r->unit > 0) || !isfinite(r->unit))
        r->unit = 1;
    lm_free_aligned(&ctx->mem, x);
    return LIMN_OK;
}

/* phi, and its products over the rows that are not left out. */
static void prepare(room *r) {
    for (size_t i = 0; i < r->n; i++) {
        double *phi = r->phi + i * r->c;
        for (size_t j = 0; j + 1 < r->c; j++)
            phi[j] /= r->unit;
        phi[r->c - 1] = 1;
    }
    add_products(r, false);
}

/* +1 or -1. */
static double target_of(const room *r, size_t i, size_t o) {
    size_t label = (size_t)r->label[r->row[i]];
    return label == o ? 1 : -1;
}

static void step(room *r, bool all) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    const lm_cholesky f = {.l = r->factor, .size = r->c, .capacity = r->c, .kernels = dense};
    memset(r->right, 0, r->k * r->c * sizeof *r->right);
    for (size_t i = 0; i < r->n; i++) {
        const double *phi = r->phi + i * r->c;
        if (!all && is_held(i))
            continue;
        dense->rows_times(r->coef, r->k, r->c, phi, r->f);
        for (size_t o = 0; o < r->k; o++) {
            double y = target_of(r, i, o);
            dense->axpy(y * fmax(1, y * r->f[o]), phi, r->right + o * r->c, r->c);
        }
    }
    for (size_t o = 0; o < r->k; o++) {
        lm_cholesky_forward(&f, r->right + o * r->c);
        lm_cholesky_backward(&f, r->right + o * r->c);
    }
    memcpy(r->coef, r->right, r->k * r->c * sizeof *r->coef);
}

/* Starts from what is in coef. False: nothing can be said with this lambda. */
static bool fit(room *r, double lambda, bool all, int steps) {
    memcpy(r->factor, r->gram, r->c * r->c * sizeof *r->factor);
    if (!lm_cholesky_solve(r->factor, r->c, lambda * (double)(r->n + 1), r->right, 0))
        return false;
    for (int s = 0; s < steps; s++)
        step(r, all);
    for (size_t i = 0; i < r->k * r->c; i++)
        if (!isfinite(r->coef[i]))
            return false;
    return true;
}

/* On the rows left out or the others. Rows that became vectors tell little about others. */
static size_t errors(const room *r, bool held) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    size_t wrong = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (is_held(i) != held || r->known[i])
            continue;
        size_t label = (size_t)r->label[r->row[i]], best = 0;
        dense->rows_times(r->coef, r->k, r->c, r->phi + i * r->c, r->f);
        for (size_t o = 1; o < r->k; o++)
            best = r->f[o] > r->f[best] ? o : best;
        wrong += (r->k > 1 ? best : !(r->f[0] > 0)) != label;
    }
    return wrong;
}

/* ---- one leaf ---- */

static double size_of(const room *r, const double *coef) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    double sum = 0;
    for (size_t i = 0; i < r->n; i++) {
        dense->rows_times(coef, r->k, r->c, r->phi + i * r->c, r->f);
        sum += dense->dot(r->f, r->f, r->k);
    }
    return sum;
}

/* The leaf's own coefficients or their mean, as rows of outputs. */
static void put_own(const pt_leaf *leaf, bool mean, const room *r, double *rows) {
    const lm_expansion *e = &leaf->e;
    double share = mean && e->steps > 0 ? 1 / e->steps : 0;
    for (size_t o = 0; o < r->k; o++) {
        for (size_t j = 0; j + 1 < r->c; j++) {
            size_t at = j * r->k + o;
            rows[o * r->c + j] = (e->coef[at] - share * e->drift[at]) * r->unit;
        }
        rows[o * r->c + r->c - 1] = leaf->bias[o];
    }
}

/* Several outputs add up to 0, as those of perceptron steps do: it changes no answer, and a class
 * that appears later, whose output begins at 0, is not answered because all others are below. */
static void centre(room *r) {
    for (size_t j = 0; j < r->c && r->k > 1; j++) {
        double mean = 0;
        for (size_t o = 0; o < r->k; o++)
            mean += r->coef[o * r->c + j] / (double)r->k;
        for (size_t o = 0; o < r->k; o++)
            r->coef[o * r->c + j] -= mean;
    }
}

/* f of the rows left out. */
static void foretell(const finishing *t, room *r) {
    const lm_simd_dense *dense = lm_simd_get()->dense;
    for (size_t i = HELD - 1; i < r->n; i += HELD) {
        if (r->known[i])
            continue;
        dense->rows_times(r->coef, r->k, r->c, r->phi + i * r->c, r->f);
        for (size_t o = 0; o < r->k; o++)
            t->held[r->row[i] * r->k + o] = (float)r->f[o];
    }
}

/* By what the new outputs are as large as the old ones. */
static double scale_of(room *r, const pt_leaf *leaf) {
    put_own(leaf, false, r, r->right);
    double before = size_of(r, r->right), after = size_of(r, r->coef);
    return before > 0 && after > 0 ? sqrt(before / after) : 1;
}

static void take(const finishing *t, room *r, pt_leaf *leaf) {
    centre(r);
    double by = scale_of(r, leaf);
    for (size_t i = HELD - 1; i < r->n; i += HELD)
        for (size_t o = 0; o < r->k; o++)
            t->held[r->row[i] * r->k + o] *= (float)by;
    for (size_t o = 0; o < r->k; o++) {
        for (size_t j = 0; j + 1 < r->c; j++)
            leaf->e.coef[j * r->k + o] = by * r->coef[o * r->c + j] / r->unit;
        leaf->bias[o] = by * r->coef[o * r->c + r->c - 1];
    }
    /* As if they had been so all the time: the mean is what they are. */
    double steps = leaf->e.steps;
    pt_leaf_restart(t->m, leaf);
    leaf->e.steps = steps;
    lm_expansion_refresh(&leaf->e);
}

/* Tries all lambdas on the rows that are not left out, and the coefficients as they are. */
static limn_status try_all(limn_context *ctx, finishing *t, size_t leaf, room *r) {
    limn_status status = LIMN_OK;
    size_t *known = t->known_wrong + leaf * CHOICES;
    put_own(&t->m->leaf[leaf], pt_averages(t->m), r, r->coef);
    known[LAMBDAS] = errors(r, false);
    memset(r->coef, 0, r->k * r->c * sizeof *r->coef);
    for (size_t l = 0; l < LAMBDAS && status == LIMN_OK; l++) {
        bool fine = fit(r, lambdas[l], false, l ? MORE_STEPS : STEPS);
        t->wrong[leaf * LAMBDAS + l] = fine ? errors(r, true) : r->n;
        known[l] = fine ? errors(r, false) : r->n;
        status = lm_progress(ctx, "finishing", l, LAMBDAS, -1);
    }
    return status;
}

static void fit_last(const finishing *t, size_t leaf, room *r) {
    double lambda = lambdas[t->lambda];
    if (fit(r, lambda, false, STEPS))
        foretell(t, r);
    add_products(r, true);
    if (fit(r, lambda, true, STEPS))
        take(t, r, &t->m->leaf[leaf]);
}

static limn_status finish_leaf(limn_context *ctx, void *user, size_t leaf) {
    finishing *t = user;
    bool last = t->lambda < LAMBDAS;
    room r;
    limn_status status = room_make(ctx, t, leaf, &r);
    if (status == LIMN_OK)
        status = fill(ctx, t, leaf, &r);
    if (status == LIMN_OK)
        prepare(&r);
    if (status == LIMN_OK && !last)
        status = try_all(ctx, t, leaf, &r);
    if (status == LIMN_OK && last)
        fit_last(t, leaf, &r);
    room_free(&ctx->mem, &r);
    return status;
}

/* ---- all leaves ---- */

/* Sorts the rows by leaf; their order within a leaf is random. */
static limn_status sort_rows(limn_context *ctx, finishing *t) {
    const lm_train_set *set = t->set;
    pt_model *m = t->m;
    size_t *leaf = lm_alloc(&ctx->mem, set->n, sizeof *leaf);
    size_t *order = lm_alloc(&ctx->mem, set->n, sizeof *order);
    float *x = lm_alloc_aligned(&ctx->mem, m->stride + m->width, sizeof *x);
    limn_status status = leaf && order && x ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        lm_rng rng = pt_random(m, PT_SAMPLE, 1);
        for (size_t i = 0; i < set->n; i++) {
            pt_take_row(m, set->x + i * set->d, x);
            leaf[i] = pt_route(m, x, x + m->stride, NULL);
            order[i] = i;
            t->start[leaf[i] + 1]++;
        }
        lm_rng_shuffle(&rng, order, set->n);
        for (size_t l = 0; l < m->leaves; l++)
            t->start[l + 1] += t->start[l];
        for (size_t i = set->n; i-- > 0;)
            t->row[--t->start[leaf[order[i]] + 1]] = order[i];
        for (size_t l = 0; l < m->leaves; l++) /* each is where its leaf begins, one place off */
            t->start[l] = t->start[l + 1];
        t->start[m->leaves] = set->n;
    }
    lm_free(&ctx->mem, leaf);
    lm_free(&ctx->mem, order);
    lm_free_aligned(&ctx->mem, x);
    return status;
}

/* Of all leaves, a column of a table. */
static size_t sum_of(const finishing *t, const size_t *table, size_t columns, size_t column) {
    size_t sum = 0;
    for (size_t i = 0; i < t->m->leaves; i++)
        sum += table[i * columns + column];
    return sum;
}

/* Ties to the larger lambda. */
static size_t best_choice(const finishing *t) {
    size_t best = 0;
    for (size_t l = 1; l < LAMBDAS; l++)
        if (sum_of(t, t->wrong, LAMBDAS, l) < sum_of(t, t->wrong, LAMBDAS, best))
            best = l;
    double own = (double)sum_of(t, t->known_wrong, CHOICES, LAMBDAS);
    double fitted = (double)sum_of(t, t->known_wrong, CHOICES, best);
    return own + sqrt(own) < fitted ? (size_t)LAMBDAS : best;
}

/* The class that f of a row left out answers; classes: it was not left out. */
static size_t foretold(const finishing *t, size_t row) {
    size_t k = t->m->outputs;
    const float *f = t->held + row * k;
    return !isfinite(f[0]) ? t->m->classes : k > 1 ? lm_argmax_float(f, k) : !(f[0] > 0);
}

/* How sure outputs are, from the start again for classes that are answered at all. The first
 * passes find the size. */
static void fit_slopes(const finishing *t) {
    pt_model *m = t->m;
    for (size_t i = 0; i < t->set->n; i++)
        if (foretold(t, i) < m->classes)
            m->slope[foretold(t, i)] = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        memset(m->bend, 0, m->classes * sizeof *m->bend);
        for (size_t i = 0; i < t->set->n; i++) {
            size_t class = foretold(t, i);
            if (class < m->classes)
                pt_fit_slope(m, t->held + i * m->outputs, class, (size_t)t->set->label[i]);
        }
    }
}

static size_t count_vectors(const pt_model *m) {
    size_t vectors = 0;
    for (size_t i = 0; i < m->leaves; i++)
        vectors += m->leaf[i].e.pack.n;
    return vectors;
}

limn_status pt_finish(limn_context *ctx, const lm_train_set *set, pt_model *m) {
    const limn_allocator *mem = &ctx->mem;
    finishing t = {.set = set, .m = m, .lambda = LAMBDAS};
    size_t cells;
    if (set->n < PER_VECTOR * count_vectors(m))
        return LIMN_OK;
    lm_job job = {.stage = "finishing", .count = m->leaves, .task = finish_leaf, .user = &t};
    t.row = lm_alloc(mem, set->n, sizeof *t.row);
    t.start = lm_alloc_zero(mem, m->leaves + 1, sizeof *t.start);
    t.wrong = lm_alloc_zero(mem, m->leaves, LAMBDAS * sizeof *t.wrong);
    t.held = lm_mul(set->n, m->outputs, &cells) ? lm_alloc(mem, cells, sizeof *t.held) : NULL;
    t.known_wrong = lm_alloc_zero(mem, m->leaves, CHOICES * sizeof *t.known_wrong);
    bool fine = t.row && t.start && t.wrong && t.known_wrong && t.held;
    for (size_t i = 0; fine && i < cells; i++)
        t.held[i] = NAN;
    limn_status status = fine ? sort_rows(ctx, &t) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_work(ctx, &job);
    if (status == LIMN_OK)
        t.lambda = best_choice(&t);
    bool better = status == LIMN_OK && t.lambda < LAMBDAS;
    if (better)
        status = lm_work(ctx, &job);
    if (better && status == LIMN_OK)
        fit_slopes(&t);
    lm_free(mem, t.held);
    lm_free(mem, t.known_wrong);
    lm_free(mem, t.row);
    lm_free(mem, t.start);
    lm_free(mem, t.wrong);
    return status;
}
