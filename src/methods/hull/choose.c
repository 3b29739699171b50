/* choose.c: what training chooses by leaving rows out: the number of directions (nah, nhd) or rho
 * (nrh), the beta of the probabilities, and the distance beyond which a row is unknown.
 *
 * nrh: a row is judged by its distance from the other classes as they are, and from its own class
 * without it, for which there is a closed form. For the other sets classes must be fitted again:
 * without the row itself if all classes have few rows, otherwise without a fifth of every class
 * (leaving out a part of just one class would put it at a disadvantage when n is near d), and if
 * classes are large, for one fifth only. Local methods just skip the row itself.
 *
 * beta minimises the log loss of softmax(-beta d^2), a convex function. The truth counts as
 * 1 - 1/(n + 2), so that separable data does not drive beta to infinity. */
#include "base/work.h"
#include "methods/hull/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID_MAX = 40,
    MOST_DIM = 300,     /* most directions that are tried */
    FEW = 20,           /* if no class has more rows than this, they are left out one by one */
    FOLDS = 5,          /* otherwise in this many folds */
    MANY = 1000,        /* if a class has this many rows, only one fold is judged */
    JUDGED_ROWS = 5000, /* in total, about */
    DEAR_ROWS = 500,    /* the same if a distance is a quadratic program, or local */
    BLOCK = 64
};

/* ---- the grid ---- */

static size_t dims_up_to(size_t most, double *at) {
    static const size_t dims[] = {1,  2,  3,  4,  6,  8,  10,  12,  15,  20,  25, 30,
                                  35, 40, 50, 60, 70, 80, 100, 120, 150, 200, 250};
    size_t count = 0;
    at[count++] = 0;
    for (size_t i = 0; i < LM_COUNT(dims) && dims[i] < most; i++)
        at[count++] = (double)dims[i];
    if (most > 0)
        at[count++] = (double)most;
    return count;
}

static size_t rhos(double *at) {
    size_t count = 0;
    for (double e = -4; e <= 2.01; e += 0.5)
        at[count++] = pow(10, e);
    return count;
}

/* Few rows for the dimension: every direction is kept. */
static bool takes_all(size_t largest, size_t d) {
    return largest <= d / 8;
}

/* Hulls of d directions would fill the space, so d is not among the choices. */
size_t hull_most_dim(const hull_options *options, size_t d, size_t largest) {
    if (options->dim_rule == HULL_DIM_GIVEN)
        return options->dim;
    if (options->dim_rule == HULL_DIM_AUTO && !options->kernel_space && options->kind != HULL_NRH &&
        !takes_all(largest, d))
        return d - 1 < MOST_DIM ? d - 1 : MOST_DIM;
    return SIZE_MAX;
}

/* ---- judged rows ---- */

/* Rows of class `of` that are judged together, and the rest of the class. */
typedef struct part {
    size_t of, first, count; /* judged: rows[first .. first + count - 1] */
    uint32_t *kept;
    size_t kept_count;
} part;

typedef struct judge {
    const hull_space *space;
    const hull_fit *fits; /* fits of whole classes; NULL: local */
    hull_model *m;
    size_t classes;
    hull_grid grid;
    double at[GRID_MAX];
    bool one_by_one; /* rows are left out one by one */
    size_t folds;    /* most parts per class */
    size_t judged;   /* how many of them are judged */
    part *parts;     /* classes x folds */
    uint32_t *kept;  /* the memory that kept in the parts points into */
    uint32_t *rows;
    int32_t *label;
    size_t count;
    double *d2; /* count x classes x grid */
    /* What distances are measured from: whole classes, or classes without one fold. */
    hull_ball *balls;  /* classes x ball_count */
    size_t ball_count; /* nhd: as in the grid; nsc: 1; else 0 */
    hull_fit *fold_fits;
    size_t fold;
} judge;

static double *cell(const judge *j, size_t row, size_t c) {
    return j->d2 + (row * j->classes + c) * j->grid.count;
}

static void free_balls(const limn_allocator *mem, judge *j) {
    for (size_t i = 0; j->balls && i < j->classes * j->ball_count; i++)
        hull_ball_free(mem, &j->balls[i]);
}

static void judge_free(const limn_allocator *mem, judge *j) {
    free_balls(mem, j);
    lm_free(mem, j->balls);
    lm_free(mem, j->rows);
    lm_free(mem, j->label);
    lm_free(mem, j->d2);
    lm_free(mem, j->parts);
    lm_free(mem, j->kept);
    lm_free(mem, j->fold_fits);
}

static size_t rows_of(const judge *j, size_t c) {
    return j->fits ? j->fits[c].n : (size_t)j->m->count[c];
}

static size_t largest_class(const judge *j) {
    size_t most = 0;
    for (size_t c = 0; c < j->classes; c++)
        most = rows_of(j, c) > most ? rows_of(j, c) : most;
    return most;
}

/* The closed form and the local methods need no refit: one part, nothing kept. */
static bool needs_refit(const judge *j) {
    return j->fits && j->space->options->kind != HULL_NRH;
}

static void plan_folds(judge *j) {
    size_t largest = largest_class(j);
    j->folds = j->judged = 1;
    if (!needs_refit(j))
        return;
    j->one_by_one = largest <= FEW;
    j->folds = j->one_by_one ? largest : FOLDS;
    j->judged = largest >= MANY ? 1 : j->folds;
}

/* Deals the shuffled rows of class c to its parts; at most `most` rows per part are judged. */
static void deal(judge *j, limn_context *ctx, size_t c, size_t most, size_t *order,
                 size_t *kept_used) {
    size_t n = rows_of(j, c), folds = j->one_by_one ? n : j->folds;
    lm_rng rng = lm_rng_at(ctx->seed, j->m->options.stream, c);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    lm_rng_shuffle(&rng, order, n);
    for (size_t p = 0; p < j->judged && p < folds; p++) {
        part *to = &j->parts[c * j->folds + p];
        *to = (part){.of = c, .first = j->count, .kept = j->kept + *kept_used};
        size_t from = p * n / folds, end = (p + 1) * n / folds;
        for (size_t i = 0; needs_refit(j) && i < n; i++)
            if (i < from || i >= end)
                to->kept[to->kept_count++] = j->fits[c].rows[order[i]];
        *kept_used += to->kept_count;
        /* A class of one row would be empty without it. */
        for (size_t i = from; i < end && n > 1 && to->count < most; i++, to->count++) {
            j->rows[j->count] = j->fits ? j->fits[c].rows[order[i]] : (uint32_t)order[i];
            j->label[j->count++] = (int32_t)c;
        }
    }
}

static limn_status choose_rows(limn_context *ctx, judge *j, size_t wanted) {
    size_t quota = wanted / j->classes > FEW ? wanted / j->classes : FEW;
    plan_folds(j);
    size_t each = (quota + j->judged - 1) / j->judged, kept = 0, used = 0, all = 0, cells;
    for (size_t c = 0; c < j->classes; c++) {
        kept += needs_refit(j) ? j->judged * rows_of(j, c) : 0;
        all += rows_of(j, c);
    }
    all = all < each * j->judged * j->classes ? all : each * j->judged * j->classes;
    size_t *order = lm_alloc(&ctx->mem, largest_class(j), sizeof *order);
    j->parts = lm_alloc_zero(&ctx->mem, j->classes * j->folds, sizeof *j->parts);
    j->kept = lm_alloc(&ctx->mem, kept ? kept : 1, sizeof *j->kept);
    j->rows = lm_alloc(&ctx->mem, all, sizeof *j->rows);
    j->label = lm_alloc(&ctx->mem, all, sizeof *j->label);
    limn_status status =
        order && j->parts && j->kept && j->rows && j->label ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t c = 0; c < j->classes && status == LIMN_OK; c++)
        deal(j, ctx, c, each, order, &used);
    if (status == LIMN_OK) {
        bool fits = lm_mul(j->count, j->classes, &cells) && lm_mul(cells, j->grid.count, &cells);
        j->d2 = fits ? lm_alloc(&ctx->mem, cells ? cells : 1, sizeof *j->d2) : NULL;
        status = j->d2 ? LIMN_OK : lm_fail_memory(ctx);
    }
    lm_free(&ctx->mem, order);
    return status;
}

/* ---- distances ---- */

static limn_status make_balls(limn_context *ctx, const judge *j, const hull_fit *fit,
                              hull_ball *balls) {
    limn_status status = LIMN_OK;
    for (size_t g = 0; g < j->ball_count && status == LIMN_OK; g++) {
        size_t p = j->space->options->kind == HULL_NHD ? (size_t)j->grid.at[g] : SIZE_MAX;
        status = hull_ball_make(ctx, fit, p, j->space->options->nu, &balls[g]);
    }
    return status;
}

/* Distances of a part's rows from class c, according to that fit. */
static limn_status measure_part(limn_context *ctx, judge *j, const part *rows, size_t c,
                                const hull_fit *fit, const hull_ball *balls) {
    size_t grid = j->grid.count;
    limn_status status = LIMN_OK;
    double *d2 = lm_alloc(&ctx->mem, BLOCK * grid, sizeof *d2);
    if (!d2)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < rows->count && status == LIMN_OK; i += BLOCK) {
        size_t some = rows->count - i < BLOCK ? rows->count - i : BLOCK;
        status = hull_fit_measure(ctx, fit, balls, &j->grid, j->rows + rows->first + i, some, d2);
        for (size_t k = 0; k < some && status == LIMN_OK; k++)
            memcpy(cell(j, rows->first + i + k, c), d2 + k * grid, grid * sizeof *d2);
        if (status == LIMN_OK)
            status = lm_progress(ctx, "choosing", 0, 0, -1);
    }
    lm_free(&ctx->mem, d2);
    return status;
}

static const hull_ball *balls_of(const judge *j, size_t c) {
    return j->balls ? j->balls + c * j->ball_count : NULL;
}

/* Whole classes, for rows that are left out one by one and for the closed form. */
static limn_status make_class_balls(limn_context *ctx, void *user, size_t c) {
    judge *j = user;
    return make_balls(ctx, j, &j->fits[c], j->balls + c * j->ball_count);
}

/* Distances of a part's rows from their own class without them. */
static limn_status judge_own(limn_context *ctx, judge *j, const part *rows) {
    size_t most = hull_most_dim(j->space->options, j->space->d, largest_class(j));
    hull_fit fit = {0};
    hull_ball balls[GRID_MAX] = {{0}};
    limn_status status = hull_fit_make(ctx, j->space, rows->kept, rows->kept_count, most, &fit);
    if (status == LIMN_OK)
        status = make_balls(ctx, j, &fit, balls);
    if (status == LIMN_OK)
        status = measure_part(ctx, j, rows, rows->of, &fit, balls);
    for (size_t g = 0; g < j->ball_count; g++)
        hull_ball_free(&ctx->mem, &balls[g]);
    hull_fit_free(&ctx->mem, &fit);
    return status;
}

/* nrh: needs the row's position in its class. */
static limn_status judge_own_closed(const judge *j, const part *rows) {
    const hull_fit *fit = &j->fits[rows->of];
    for (size_t i = 0; i < rows->count; i++) {
        size_t at = 0;
        while (fit->rows[at] != j->rows[rows->first + i])
            at++;
        hull_fit_leave_one_out(fit, at, &j->grid, cell(j, rows->first + i, rows->of));
    }
    return LIMN_OK;
}

static limn_status judge_part(limn_context *ctx, void *user, size_t index) {
    judge *j = user;
    const part *rows = &j->parts[index];
    if (!rows->count)
        return LIMN_OK;
    limn_status status = needs_refit(j) ? judge_own(ctx, j, rows) : judge_own_closed(j, rows);
    for (size_t c = 0; c < j->classes && status == LIMN_OK; c++)
        if (c != rows->of)
            status = measure_part(ctx, j, rows, c, &j->fits[c], balls_of(j, c));
    return status;
}

/* Otherwise: fit all classes without a fold, then measure the rows of that fold. */
static limn_status fit_fold_class(limn_context *ctx, void *user, size_t c) {
    judge *j = user;
    const part *p = &j->parts[c * j->folds + j->fold];
    size_t most = hull_most_dim(j->space->options, j->space->d, largest_class(j));
    if (!p->kept_count)
        return LIMN_OK;
    limn_status status =
        hull_fit_make(ctx, j->space, p->kept, p->kept_count, most, &j->fold_fits[c]);
    return status == LIMN_OK && j->ball_count
               ? make_balls(ctx, j, &j->fold_fits[c], j->balls + c * j->ball_count)
               : status;
}

static limn_status judge_fold_class(limn_context *ctx, void *user, size_t own) {
    judge *j = user;
    const part *rows = &j->parts[own * j->folds + j->fold];
    limn_status status = LIMN_OK;
    for (size_t c = 0; c < j->classes && status == LIMN_OK; c++) {
        if (j->fold_fits[c].n)
            status = measure_part(ctx, j, rows, c, &j->fold_fits[c], balls_of(j, c));
        else
            for (size_t i = 0; i < rows->count * j->grid.count; i++)
                cell(j, rows->first + i / j->grid.count, c)[i % j->grid.count] = INFINITY;
    }
    return status;
}

static limn_status judge_folds(limn_context *ctx, judge *j) {
    limn_status status = LIMN_OK;
    j->fold_fits = lm_alloc_zero(&ctx->mem, j->classes, sizeof *j->fold_fits);
    if (!j->fold_fits)
        return lm_fail_memory(ctx);
    for (j->fold = 0; j->fold < j->judged && status == LIMN_OK; j->fold++) {
        status = lm_work(
            ctx,
            &(lm_job){.stage = "choosing", .count = j->classes, .task = fit_fold_class, .user = j});
        if (status == LIMN_OK)
            status = lm_work(ctx, &(lm_job){.stage = "choosing",
                                            .count = j->classes,
                                            .task = judge_fold_class,
                                            .user = j});
        for (size_t c = 0; c < j->classes; c++)
            hull_fit_free(&ctx->mem, &j->fold_fits[c]);
        free_balls(&ctx->mem, j);
    }
    return status;
}

static limn_status judge_rows(limn_context *ctx, judge *j) {
    if (j->ball_count) {
        j->balls = lm_alloc_zero(&ctx->mem, j->classes * j->ball_count, sizeof *j->balls);
        if (!j->balls)
            return lm_fail_memory(ctx);
    }
    if (needs_refit(j) && !j->one_by_one)
        return judge_folds(ctx, j);
    limn_status status = j->ball_count ? lm_work(ctx, &(lm_job){.stage = "fitting spheres",
                                                                .count = j->classes,
                                                                .task = make_class_balls,
                                                                .user = j})
                                       : LIMN_OK;
    return status == LIMN_OK ? lm_work(ctx, &(lm_job){.stage = "choosing",
                                                      .count = j->classes * j->folds,
                                                      .task = judge_part,
                                                      .user = j})
                             : status;
}

/* ---- choices ---- */

/* The nearest class according to the distances for grid point g. */
static size_t answer(const judge *j, size_t row, size_t g) {
    size_t best = 0;
    for (size_t c = 1; c < j->classes; c++)
        if (cell(j, row, c)[g] < cell(j, row, best)[g])
            best = c;
    return best;
}

static double log_loss(const judge *j, size_t g, double beta) {
    double sum = 0, keep = 1 - 1 / ((double)j->count + 2);
    for (size_t i = 0; i < j->count; i++) {
        double least = cell(j, i, answer(j, i, g))[g], all = 0, others = 0;
        double own = beta * (cell(j, i, (size_t)j->label[i])[g] - least);
        for (size_t c = 0; c < j->classes; c++) {
            double over = beta * (cell(j, i, c)[g] - least);
            all += exp(-over);
            others += c == (size_t)j->label[i] || !isfinite(over) ? 0 : over;
        }
        sum += log(all) + keep * own;
        if (j->classes > 1)
            sum += (1 - keep) * others / (double)(j->classes - 1);
    }
    return sum;
}

/* Golden-section search over log beta, around 1 / the mean distance. */
static double best_beta(const judge *j, size_t g) {
    double mean = 0, count = 0, ratio = (sqrt(5) - 1) / 2;
    for (size_t i = 0; i < j->count; i++)
        for (size_t c = 0; c < j->classes; c++)
            if (isfinite(cell(j, i, c)[g])) { /* a fold may empty a small class */
                mean += (cell(j, i, c)[g] - mean) / (count + 1);
                count++;
            }
    if (!(mean > 0) || j->classes < 2)
        return 1;
    double low = log(1e-4 / mean), high = log(1e6 / mean);
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    double at_a = log_loss(j, g, exp(a)), at_b = log_loss(j, g, exp(b));
    for (int step = 0; step < 60; step++) {
        if (at_a <= at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            at_a = log_loss(j, g, exp(a));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            at_b = log_loss(j, g, exp(b));
        }
    }
    return exp((low + high) / 2);
}

/* The grid point with the fewest errors; ties go to the least log loss, then to the first. */
static size_t best_point(const judge *j) {
    size_t best = 0, least = SIZE_MAX;
    double loss = INFINITY;
    for (size_t g = 0; g < j->grid.count; g++) {
        size_t wrong = 0;
        for (size_t i = 0; i < j->count; i++)
            wrong += answer(j, i, g) != (size_t)j->label[i];
        if (wrong > least)
            continue;
        double own = j->grid.count > 1 ? log_loss(j, g, best_beta(j, g)) : 0;
        if (wrong < least || own < loss) {
            best = g;
            loss = own;
        }
        least = wrong;
    }
    return best;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The distance that a share `reject` of the judged rows exceed. */
static limn_status find_limit(limn_context *ctx, const judge *j, size_t g, double reject,
                              double *limit) {
    *limit = INFINITY;
    if (!(reject > 0))
        return LIMN_OK;
    if (!j->count) {
        lm_warn(ctx, "reject: no class has two rows, so no row will be answered unknown");
        return LIMN_OK;
    }
    double *least = lm_alloc(&ctx->mem, j->count, sizeof *least);
    if (!least)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < j->count; i++)
        least[i] = cell(j, i, answer(j, i, g))[g];
    qsort(least, j->count, sizeof *least, ascending);
    size_t place = (size_t)ceil((1 - reject) * (double)j->count);
    *limit = least[place ? place - 1 : 0];
    lm_free(&ctx->mem, least);
    return LIMN_OK;
}

static limn_status conclude(limn_context *ctx, judge *j, hull_options *options) {
    size_t g = best_point(j);
    hull_model *m = j->m;
    if (options->kind == HULL_NRH && options->auto_rho)
        options->rho = j->grid.at[g];
    else if ((options->kind == HULL_NAH || options->kind == HULL_NHD) && j->grid.count > 1)
        options->dim = (size_t)j->grid.at[g];
    m->beta = best_beta(j, g);
    return find_limit(ctx, j, g, options->reject, &m->limit);
}

/* ---- global ---- */

static void make_grid(judge *j, hull_options *options) {
    j->grid = (hull_grid){.count = 1, .at = j->at};
    j->at[0] = 0;
    if (options->kind == HULL_NRH) {
        j->at[0] = options->rho;
        j->grid.count = options->auto_rho ? rhos(j->at) : 1;
        return;
    }
    if (options->kind != HULL_NAH && options->kind != HULL_NHD)
        return;
    size_t most = 0;
    for (size_t c = 0; c < j->classes; c++)
        most = j->fits[c].rank > most ? j->fits[c].rank : most;
    if (options->dim_rule == HULL_DIM_AUTO && !options->kernel_space &&
        !takes_all(largest_class(j), j->space->d))
        j->grid.count = dims_up_to(most, j->at);
    else
        j->at[0] = (double)(options->dim < most ? options->dim : most);
}

limn_status hull_choose(limn_context *ctx, const hull_space *space, size_t classes,
                        const hull_fit *fits, hull_options *options, hull_model *m) {
    bool dear = options->kind == HULL_NCH;
    judge j = {.space = space, .fits = fits, .m = m, .classes = classes};
    make_grid(&j, options);
    j.ball_count = options->kind == HULL_NHD ? j.grid.count : options->kind == HULL_NSC ? 1 : 0;
    limn_status status = choose_rows(ctx, &j, dear ? DEAR_ROWS : JUDGED_ROWS);
    if (status == LIMN_OK)
        status = judge_rows(ctx, &j);
    if (status == LIMN_OK)
        status = conclude(ctx, &j, options);
    judge_free(&ctx->mem, &j);
    return status;
}

/* ---- local ---- */

static limn_status judge_local(limn_context *ctx, void *user, size_t index) {
    judge *j = user;
    const hull_model *m = j->m;
    size_t row = j->rows[index], own = (size_t)j->label[index];
    lm_cursor at = lm_cursor_at(NULL);
    hull_local_scratch(m, &at);
    void *scratch = lm_alloc_measured(&ctx->mem, &at);
    float *x = lm_alloc(&ctx->mem, m->d, sizeof *x);
    if (scratch && x) {
        lm_pack_row(&m->near[own].pack, row, x);
        for (size_t c = 0; c < j->classes; c++)
            hull_local_grid(m, x, c, c == own ? row : SIZE_MAX, j->at, j->grid.count,
                            cell(j, index, c), scratch);
    }
    limn_status status = scratch && x ? LIMN_OK : lm_fail_memory(ctx);
    lm_free_aligned(&ctx->mem, scratch);
    lm_free(&ctx->mem, x);
    return status;
}

static void make_local_grid(judge *j, hull_options *options) {
    size_t k = options->neighbors < j->m->most_samples ? options->neighbors : j->m->most_samples;
    size_t most = k > 1 ? k - 1 : 0;
    if (!options->kernel_space && most > j->m->d - 1)
        most = j->m->d - 1;
    j->grid = (hull_grid){.count = 1, .at = j->at};
    j->at[0] = options->rho;
    bool affine = options->kind == HULL_NAH || options->kind == HULL_NHD;
    if (options->kind == HULL_NRH && options->auto_rho)
        j->grid.count = rhos(j->at);
    else if (affine && options->dim_rule == HULL_DIM_AUTO && !options->kernel_space)
        j->grid.count = dims_up_to(most, j->at);
    else if (affine)
        j->at[0] = (double)(options->dim < k ? options->dim : k);
}

limn_status hull_choose_local(limn_context *ctx, hull_model *m) {
    judge j = {.m = m, .classes = m->classes};
    make_local_grid(&j, &m->options);
    double work = (double)m->samples.n * (double)m->d;
    size_t wanted = work > 2e7 ? DEAR_ROWS : 4 * DEAR_ROWS;
    limn_status status = choose_rows(ctx, &j, wanted);
    if (status == LIMN_OK)
        status = lm_work(
            ctx, &(lm_job){.stage = "choosing", .count = j.count, .task = judge_local, .user = &j});
    if (status == LIMN_OK)
        status = conclude(ctx, &j, &m->options);
    judge_free(&ctx->mem, &j);
    return status;
}
