/* shrink.c: a tree drawn from a support vector machine with two classes.
 *
 * Tests divide the rows (branch.c). Then each leaf chooses B support vectors whose kernels
 * reproduce the machine's f on its rows (omp.c) and fits their coefficients and a constant to f by
 * a ridge. Its lambda, one for all leaves, is the one with which the tree agrees best with the
 * machine on a fifth of the rows, which are left out at first (ties: the one nearest to f there);
 * the last fit is to all rows. (1e-4 would ruin ijcnn1, and below 1e-8 outliers may get a large
 * f.) */
#include "methods/ptree/shrink.h"

#include "base/work.h"

#include <math.h>
#include <string.h>

enum {
    ROWS_MOST = 60000, /* that f is reproduced on */
    SAMPLE = 2000,     /* rows that the vectors of a leaf are chosen by */
    CANDIDATES = 4000, /* of a leaf */
    HELD = 5,          /* one row of so many is left out */
    ASKED = 1024       /* rows between two reports of progress */
};

static const double lambdas[] = {1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2};
enum { LAMBDAS = LM_COUNT(lambdas) };

static bool is_held(size_t place) {
    return place % HELD == HELD - 1;
}

/* ---- the teacher ---- */

void pt_unshare(const limn_allocator *mem, void *opaque) {
    pt_shared *s = opaque;
    if (!s)
        return;
    lm_free(mem, s->order);
    lm_free(mem, s->f);
    lm_free(mem, s);
}

/* Refuses what would be ignored. */
static limn_status check_unused(limn_context *ctx, const lm_params *params) {
    static const char rows[] = "the tree is fitted to its answers, and no row is learned",
                      kernel[] = "the kernel is the teacher's";
    static const struct {
        const char *key, *why;
    } unused[] = {{"style", rows},   {"select", rows},   {"finish", rows},
                  {"epochs", rows},  {"order", rows},    {"kernel", kernel},
                  {"gamma", kernel}, {"degree", kernel}, {"coef0", kernel}};
    for (size_t i = 0; i < params->count; i++)
        for (size_t k = 0; k < LM_COUNT(unused); k++)
            if (strcmp(params->table[i].key, unused[k].key) == 0 &&
                strcmp(params->values[i].text, params->table[i].default_value) != 0)
                return lm_fail(ctx, LIMN_E_USAGE,
                               "ptree: with a teacher, %s has no effect: %s; leave %s out",
                               unused[k].key, unused[k].why, unused[k].key);
    return LIMN_OK;
}

static limn_status check(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                         const pt_model *m) {
    const struct lm_machine *machine = set->teacher->machine;
    if (set->classes != 2 || !machine || !lm_svm_is_svc(machine->svm->type) || !machine->svm->n)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                       "ptree: a tree can be drawn from an svm with two classes and from nothing "
                       "else; leave the teacher out, or choose student or borders");
    if (m->o.split != PT_WPQ && m->o.split != PT_PCA)
        return lm_fail(ctx, LIMN_E_UNSUPPORTED,
                       "ptree: with a teacher, split is wpq or pca; no other is supported");
    return check_unused(ctx, params);
}

static limn_status ask(limn_context *ctx, const lm_train_set *set, pt_shared *s) {
    size_t d = set->d;
    float *x = lm_alloc(&ctx->mem, ASKED, d * sizeof *x);
    limn_status status = x ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < s->n && status == LIMN_OK; i += ASKED) {
        size_t some = s->n - i < ASKED ? s->n - i : ASKED;
        for (size_t q = 0; q < some; q++)
            memcpy(x + q * d, set->x + s->order[i + q] * d, d * sizeof *x);
        status = set->teacher->answer(set->teacher, ctx, x, some, s->f + i);
        if (status == LIMN_OK)
            status = lm_progress(ctx, "asking the teacher", i + some, s->n,
                                 (double)(i + some) / (double)s->n);
    }
    lm_free(&ctx->mem, x);
    return status;
}

static limn_status make_shared(limn_context *ctx, const lm_train_set *set, const pt_model *m,
                               pt_shared **out) {
    pt_shared *s = lm_alloc_zero(&ctx->mem, 1, sizeof *s);
    if (!s)
        return lm_fail_memory(ctx);
    s->n = set->n < ROWS_MOST ? set->n : ROWS_MOST;
    s->order = lm_alloc(&ctx->mem, set->n, sizeof *s->order);
    s->f = lm_alloc(&ctx->mem, s->n, sizeof *s->f);
    limn_status status = s->order && s->f ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        lm_rng rng = pt_random(m, PT_ORDER, 0);
        for (size_t i = 0; i < set->n; i++)
            s->order[i] = i;
        lm_rng_shuffle(&rng, s->order, set->n);
        status = ask(ctx, set, s);
    }
    if (status != LIMN_OK)
        pt_unshare(&ctx->mem, s);
    else
        *out = s;
    return status;
}

/* ---- the vectors of a leaf ---- */

/* Up to CANDIDATES support vectors, in a random order, those in the leaf first. */
static size_t list_candidates(const pt_draft *t, size_t leaf, size_t *list) {
    const lm_svm *svm = t->svm;
    lm_rng rng = pt_random(t->m, PT_SAMPLE, 1 + leaf);
    size_t own = 0;
    for (size_t j = 0; j < svm->n; j++)
        list[j] = j;
    lm_rng_shuffle(&rng, list, svm->n);
    for (size_t j = 0; j < svm->n; j++) {
        if (t->home[list[j]] != leaf)
            continue;
        size_t kept = list[own];
        list[own++] = list[j];
        list[j] = kept;
    }
    return svm->n < CANDIDATES ? svm->n : CANDIDATES;
}

/* Rows of the leaf that are not left out, and their f. */
static size_t list_rows(const pt_draft *t, size_t leaf, size_t *place, double *f) {
    size_t n = 0;
    for (size_t i = t->start[leaf]; i < t->start[leaf + 1] && n < SAMPLE; i++)
        if (!is_held(t->place[i])) {
            f[n] = t->rows->f[t->place[i]];
            place[n++] = t->place[i];
        }
    return n;
}

/* phi: the kernel of each candidate with each of the rows. */
static limn_status fill_phi(limn_context *ctx, const pt_draft *t, const size_t *list, size_t count,
                            const size_t *place, size_t n, double *phi) {
    lm_expansion rows = {.kernel = t->m->o.kernel, .outputs = 1};
    rows.pack.d = t->m->d;
    limn_status status = lm_expansion_reserve(ctx, &rows, n);
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        lm_expansion_put(&rows, pt_draft_row(t, place[i]), NULL);
    for (size_t j = 0; j < count && status == LIMN_OK; j++) {
        lm_expansion_values(&rows, t->svm->sv + list[j] * t->m->d, rows.values);
        for (size_t i = 0; i < n; i++)
            phi[j * n + i] = (double)rows.values[i];
    }
    lm_expansion_free(&ctx->mem, &rows);
    return status;
}

static limn_status choose_vectors(limn_context *ctx, const pt_draft *t, size_t leaf) {
    const limn_allocator *mem = &ctx->mem;
    const pt_model *m = t->m;
    lm_expansion *e = &m->leaf[leaf].e;
    size_t n = 0, count = 0, taken = 0, cells;
    size_t *list = lm_alloc(mem, t->svm->n, sizeof *list);
    size_t most = pt_draft_vectors(t), *chosen = lm_alloc(mem, most, sizeof *chosen);
    size_t *place = lm_alloc(mem, SAMPLE, sizeof *place);
    double *f = lm_alloc(mem, SAMPLE, sizeof *f), *phi = NULL;
    limn_status status = list && chosen && place && f ? LIMN_OK : lm_fail_memory(ctx);
    if (status == LIMN_OK) {
        n = list_rows(t, leaf, place, f);
        count = list_candidates(t, leaf, list);
        phi = lm_mul(count, n + 1, &cells) ? lm_alloc(mem, cells, sizeof *phi) : NULL;
        status = phi ? fill_phi(ctx, t, list, count, place, n, phi) : lm_fail_memory(ctx);
    }
    if (status == LIMN_OK)
        status = pt_greedy(ctx, phi, count, n, f, most, chosen, &taken);
    for (size_t j = 0; j < taken && status == LIMN_OK; j++)
        lm_expansion_put(e, t->svm->sv + list[chosen[j]] * m->d, NULL);
    lm_free(mem, list);
    lm_free(mem, chosen);
    lm_free(mem, place);
    lm_free(mem, f);
    lm_free(mem, phi);
    return status;
}

/* ---- the coefficients of a leaf ---- */

/* For each lambda, without the rows that are left out [0] and with them [1]. */
typedef struct leaf_fit {
    double *coef; /* 2 x LAMBDAS x n */
    double bias[2][LAMBDAS];
    bool fine[LAMBDAS];
    size_t agree[LAMBDAS];
    double off[LAMBDAS]; /* sum of the squared differences from f, of the rows left out */
} leaf_fit;

typedef struct fitting {
    const pt_draft *t;
    leaf_fit *leaf; /* of each */
} fitting;

static double *coef_of(const leaf_fit *fit, size_t n, int with, size_t lambda) {
    return fit->coef + ((size_t)with * LAMBDAS + lambda) * n;
}

static void solve(const pt_normal normal[2], leaf_fit *fit, double *room) {
    size_t n = normal[0].n;
    for (size_t l = 0; l < LAMBDAS; l++) {
        fit->fine[l] = true;
        for (int with = 0; with < 2; with++)
            fit->fine[l] = pt_normal_solve(&normal[with], lambdas[l], room,
                                           coef_of(fit, n, with, l), &fit->bias[with][l]) &&
                           fabs(fit->bias[with][l]) <= LM_COEF_MOST && fit->fine[l];
    }
}

static void kernel_row(const pt_draft *t, const lm_expansion *e, size_t place, double *row) {
    lm_expansion_values(e, pt_draft_row(t, place), e->values);
    for (size_t j = 0; j < e->pack.n; j++)
        row[j] = (double)e->values[j];
}

/* Counts the rows left out on which the fits agree with the machine. */
static void compare(const pt_draft *t, size_t leaf, leaf_fit *fit, double *row) {
    const lm_expansion *e = &t->m->leaf[leaf].e;
    const lm_simd_dense *dense = lm_simd_get()->dense;
    for (size_t i = t->start[leaf]; i < t->start[leaf + 1]; i++) {
        size_t place = t->place[i];
        if (!is_held(place))
            continue;
        kernel_row(t, e, place, row);
        for (size_t l = 0; l < LAMBDAS; l++) {
            double f = dense->dot(row, coef_of(fit, e->pack.n, 0, l), e->pack.n);
            double off = f + fit->bias[0][l] - t->rows->f[place];
            fit->agree[l] += (f + fit->bias[0][l] > 0) == (t->rows->f[place] > 0);
            fit->off[l] += off * off;
        }
    }
}

static limn_status fit_coefs(limn_context *ctx, const pt_draft *t, size_t leaf, leaf_fit *fit) {
    const lm_expansion *e = &t->m->leaf[leaf].e;
    size_t n = e->pack.n;
    pt_normal normal[2] = {{.n = 0}};
    double *room = lm_alloc(&ctx->mem, n * n + n + 1, sizeof *room);
    fit->coef = lm_alloc_zero(&ctx->mem, 2 * LAMBDAS * n + 1, sizeof *fit->coef);
    limn_status status = room && fit->coef ? LIMN_OK : lm_fail_memory(ctx);
    for (int with = 0; with < 2 && status == LIMN_OK; with++)
        status = pt_normal_make(ctx, n, &normal[with]);
    for (size_t i = t->start[leaf]; i < t->start[leaf + 1] && status == LIMN_OK; i++) {
        size_t place = t->place[i];
        kernel_row(t, e, place, room);
        for (int with = is_held(place); with < 2; with++)
            pt_normal_add(&normal[with], room, t->rows->f[place]);
    }
    if (status == LIMN_OK) {
        solve(normal, fit, room);
        compare(t, leaf, fit, room);
    }
    pt_normal_free(&ctx->mem, &normal[0]);
    pt_normal_free(&ctx->mem, &normal[1]);
    lm_free(&ctx->mem, room);
    return status;
}

static limn_status fit_leaf(limn_context *ctx, void *user, size_t leaf) {
    fitting *f = user;
    limn_status status = choose_vectors(ctx, f->t, leaf);
    return status == LIMN_OK ? fit_coefs(ctx, f->t, leaf, &f->leaf[leaf]) : status;
}

/* ---- the whole ---- */

/* The lambda that agrees best; LAMBDAS: none can be solved. */
static size_t best_lambda(const pt_draft *t, const leaf_fit *fit, double *share) {
    size_t best = LAMBDAS, most = 0, held = t->rows->n / HELD;
    double least = INFINITY;
    for (size_t l = 0; l < LAMBDAS; l++) {
        size_t agree = 0;
        double off = 0;
        bool fine = true;
        for (size_t i = 0; i < t->m->leaves; i++) {
            agree += fit[i].agree[l];
            off += fit[i].off[l];
            fine = fine && fit[i].fine[l];
        }
        if (fine && (best == LAMBDAS || agree > most || (agree == most && off <= least))) {
            best = l;
            most = agree;
            least = off;
        }
    }
    *share = held ? (double)most / (double)held : 1;
    return best;
}

static void take_coefs(pt_draft *t, const leaf_fit *fit, size_t lambda) {
    for (size_t i = 0; i < t->m->leaves; i++) {
        pt_leaf *leaf = &t->m->leaf[i];
        size_t n = leaf->e.pack.n;
        if (n)
            memcpy(leaf->e.coef, coef_of(&fit[i], n, 1, lambda), n * sizeof *leaf->e.coef);
        leaf->bias[0] = fit[i].bias[1][lambda];
        pt_leaf_restart(t->m, leaf);
        pt_fit_width(leaf->e.pack.panels, &t->m->width);
    }
}

/* What leaves know of their rows, and how sure outputs are, by the rows left out. */
static limn_status take_rows(limn_context *ctx, const pt_draft *t) {
    pt_model *m = t->m;
    limn_status status = LIMN_OK;
    for (size_t k = 0; k < m->leaves && status == LIMN_OK; k++) {
        pt_leaf *leaf = &m->leaf[k];
        for (size_t i = t->start[k]; i < t->start[k + 1] && status == LIMN_OK; i++) {
            size_t row = t->rows->order[t->place[i]];
            float f;
            status = pt_leaf_reserve_row(ctx, m, leaf);
            if (status != LIMN_OK)
                break;
            pt_leaf_remember(m, leaf, t->set->x + row * m->d, t->set->label[row]);
            m->steps++;
            if (!is_held(t->place[i]))
                continue;
            lm_expansion_values(&leaf->e, t->set->x + row * m->d, leaf->e.values);
            pt_outputs(m, leaf, false, leaf->e.values, &f);
            pt_fit_slope(m, &f, !(f > 0), (size_t)t->set->label[row]);
        }
    }
    return status;
}

static limn_status fit_leaves(limn_context *ctx, pt_draft *t) {
    size_t leaves = t->m->leaves;
    leaf_fit *fit = lm_alloc_zero(&ctx->mem, leaves, sizeof *fit);
    if (!fit)
        return lm_fail_memory(ctx);
    fitting f = {t, fit};
    lm_job job = {.stage = "choosing vectors", .count = leaves, .task = fit_leaf, .user = &f};
    limn_status status = lm_work(ctx, &job);
    if (status == LIMN_OK) {
        size_t lambda = best_lambda(t, fit, &t->m->agreement);
        if (lambda == LAMBDAS)
            status = lm_fail(ctx, LIMN_E_DATA,
                             "ptree: the teacher's kernel takes values that nothing can be fitted "
                             "to; scale the features");
        else
            take_coefs(t, fit, lambda);
    }
    for (size_t i = 0; i < leaves; i++)
        lm_free(&ctx->mem, fit[i].coef);
    lm_free(&ctx->mem, fit);
    return status == LIMN_OK ? take_rows(ctx, t) : status;
}

static limn_status find_homes(limn_context *ctx, pt_draft *t) {
    const lm_svm *svm = t->svm;
    float *padded = lm_alloc_aligned(&ctx->mem, t->m->stride, sizeof *padded);
    t->home = lm_alloc(&ctx->mem, svm->n, sizeof *t->home);
    bool fine = padded && t->home;
    for (size_t j = 0; fine && j < svm->n; j++) {
        pt_take_row(t->m, svm->sv + j * svm->d, padded);
        t->home[j] = pt_route(t->m, padded, NULL, NULL);
    }
    lm_free_aligned(&ctx->mem, padded);
    return fine ? LIMN_OK : lm_fail_memory(ctx);
}

static limn_status draw(limn_context *ctx, pt_draft *t) {
    size_t n = t->rows->n;
    t->place = lm_alloc(&ctx->mem, n, sizeof *t->place);
    t->start = lm_alloc(&ctx->mem, n + 2, sizeof *t->start);
    limn_status status = t->place && t->start ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < n && status == LIMN_OK; i++)
        t->place[i] = i;
    if (status == LIMN_OK)
        status = pt_branch(ctx, t);
    if (status == LIMN_OK)
        status = find_homes(ctx, t);
    if (status == LIMN_OK)
        status = fit_leaves(ctx, t);
    lm_free(&ctx->mem, t->home);
    lm_free(&ctx->mem, t->place);
    lm_free(&ctx->mem, t->start);
    return status;
}

limn_status pt_shrink(limn_context *ctx, const lm_train_set *set, const lm_params *params,
                      pt_model *m) {
    pt_shared *own = NULL, *rows;
    limn_status status = check(ctx, set, params, m);
    if (status != LIMN_OK)
        return status;
    rows = set->shared ? *set->shared : NULL;
    m->o.kernel = set->teacher->machine->svm->kernel;
    pt_leaf_free(&ctx->mem, &m->leaf[0]);
    m->leaves = 0;
    if (!rows) {
        status = make_shared(ctx, set, m, &own);
        rows = own;
    }
    if (status == LIMN_OK && set->shared) {
        *set->shared = rows;
        own = NULL;
    }
    pt_draft t = {.set = set, .svm = set->teacher->machine->svm, .rows = rows, .m = m};
    if (status == LIMN_OK)
        status = draw(ctx, &t);
    m->steps = 0; /* of these rows none was asked before it was known */
    pt_unshare(&ctx->mem, own);
    return status;
}

/* ---- the race ---- */

/* Budgets that fill panels of sixteen. */
bool pt_candidate(const lm_shape *shape, size_t index, lm_candidate *out) {
    static const struct {
        const char *params;
        double budget, depth;
    } list[] = {{"budget=32 depth=3 split=pca", 32, 3},
                {"budget=96 depth=4 split=pca", 96, 4},
                {"budget=240 depth=4 split=pca", 240, 4}};
    if (shape->task != LIMN_CLASSIFY || index >= LM_COUNT(list) || (shape->classes != 2 && index))
        return false;
    double d = (double)shape->d;
    *out = (lm_candidate){.params = list[index].params,
                          .needs = LM_NEEDS_MACHINE,
                          .cost = list[index].depth * d + list[index].budget * (d + 8)};
    if (shape->classes != 2)
        out->unsupported = "only an svm with two classes can be its teacher";
    return true;
}
