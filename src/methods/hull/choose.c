/* choose.c: what training chooses by leaving rows out: the number of directions (nah, nhd) or rho
 * (nrh), the beta of the probabilities, and the distance beyond which a row is unknown.
 *
 * A row is judged by its distance from the other classes as they are, and from its own class
 * without it. The latter has a closed form for nrh; the other sets are fitted again without a part
 * of the class: without each row where a class has few (leave one out), else without each fifth,
 * and of large classes without one fifth only. Local methods just skip the row itself.
 *
 * beta minimises the log loss of softmax(-beta d^2), a convex function, with the truth counted as
 * 1 - 1/(n + 2) so that separable data does not drive it to infinity. */
#include "base/work.h"
#include "methods/hull/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID_MAX = 40,
    MOST_DIM = 300,     /* of those that are tried */
    FEW = 20,           /* up to so many rows of a class are left out one by one */
    PARTS = 5,          /* else so many parts */
    MANY = 1000,        /* from so many rows on one part is judged */
    JUDGED_ROWS = 5000, /* in all, about */
    DEAR_ROWS = 500,    /* where a distance is a quadratic program, or local */
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

/* Rows are few for the dimension: every direction is kept. */
static bool takes_all(size_t largest, size_t d) {
    return largest <= d / 8;
}

/* Hulls of d directions would fill the space, so that is not among the choices. */
size_t hull_most_dim(const hull_options *options, size_t d, size_t largest) {
    if (options->dim_rule == HULL_DIM_GIVEN)
        return options->dim;
    if (options->dim_rule == HULL_DIM_AUTO && !options->kernel_space && options->kind != HULL_NRH &&
        !takes_all(largest, d))
        return d - 1 < MOST_DIM ? d - 1 : MOST_DIM;
    return SIZE_MAX;
}

/* ---- judged rows ---- */

typedef struct judge {
    const lm_train_set *set;
    const hull_space *space;
    const hull_fit *fits; /* NULL: local */
    hull_model *m;
    size_t classes;
    hull_grid grid;
    double at[GRID_MAX];
    /* Judged rows, grouped by class and part. */
    uint32_t *rows;
    int32_t *label;
    size_t count;
    double *d2; /* count x classes x grid */
    /* Parts: of class `of`, rows `first` .. `first + count` are judged, and left out with others.
     */
    struct part {
        size_t of, first, count;
        uint32_t *kept; /* the rows of the class that stay */
        size_t kept_count;
    } * parts;
    size_t part_count;
    uint32_t *kept;    /* what the parts' kept point into */
    hull_ball *balls;  /* classes x grid (nhd), classes (nsc), or NULL */
    size_t ball_count; /* of a class */
} judge;

static double *cell(const judge *j, size_t row, size_t c) {
    return j->d2 + (row * j->classes + c) * j->grid.count;
}

static void judge_free(const limn_allocator *mem, judge *j) {
    lm_free(mem, j->rows);
    lm_free(mem, j->label);
    lm_free(mem, j->d2);
    lm_free(mem, j->parts);
    lm_free(mem, j->kept);
    for (size_t i = 0; j->balls && i < j->classes * j->ball_count; i++)
        hull_ball_free(mem, &j->balls[i]);
    lm_free(mem, j->balls);
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

/* How many parts the class is cut into, how many of them are judged, and with how many rows. */
static void plan_class(size_t n, size_t quota, size_t *parts, size_t *judged, size_t *rows) {
    *parts = n <= FEW ? n : PARTS;
    *judged = n >= MANY ? 1 : *parts;
    *rows = (n + *parts - 1) / *parts;
    size_t each = (quota + *judged - 1) / *judged;
    *rows = each < *rows ? each : *rows;
}

/* The closed form and the local methods need no refit: one part, nothing kept. */
static bool needs_refit(const judge *j) {
    return j->fits && j->space->options->kind != HULL_NRH;
}

/* Deals the rows of class c, shuffled, to its parts. */
static void deal(judge *j, limn_context *ctx, size_t c, size_t quota, size_t *order,
                 size_t *kept_used) {
    size_t n = rows_of(j, c), parts, judged, rows;
    lm_rng rng = lm_rng_at(ctx->seed, LM_STREAM_HULLS, c);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    lm_rng_shuffle(&rng, order, n);
    plan_class(n, quota, &parts, &judged, &rows);
    for (size_t p = 0; p < judged && n > 1; p++) {
        struct part *part = &j->parts[j->part_count++];
        *part = (struct part){.of = c, .first = j->count, .kept = j->kept + *kept_used};
        size_t from = p * n / parts, to = (p + 1) * n / parts;
        for (size_t i = 0; i < n; i++) {
            bool left_out = i >= from && i < to;
            if (left_out && part->count < rows) {
                j->rows[j->count] = j->fits ? j->fits[c].rows[order[i]] : (uint32_t)order[i];
                j->label[j->count++] = (int32_t)c;
                part->count++;
            } else if (!left_out && needs_refit(j)) {
                part->kept[part->kept_count++] = j->fits[c].rows[order[i]];
            }
        }
        *kept_used += part->kept_count;
    }
}

static limn_status choose_rows(limn_context *ctx, judge *j, size_t wanted) {
    size_t most = 0, kept = 0, parts_all = 0, rows_all = 0, cells;
    size_t quota = wanted / j->classes > FEW ? wanted / j->classes : FEW;
    for (size_t c = 0; c < j->classes; c++) {
        size_t parts, judged, rows, n = rows_of(j, c);
        plan_class(n, quota, &parts, &judged, &rows);
        most = n > most ? n : most;
        parts_all += judged;
        rows_all += judged * rows;
        kept += needs_refit(j) ? judged * n : 0;
    }
    size_t *order = lm_alloc(&ctx->mem, most, sizeof *order);
    j->parts = lm_alloc_zero(&ctx->mem, parts_all, sizeof *j->parts);
    j->kept = lm_alloc(&ctx->mem, kept ? kept : 1, sizeof *j->kept);
    j->rows = lm_alloc(&ctx->mem, rows_all, sizeof *j->rows);
    j->label = lm_alloc(&ctx->mem, rows_all, sizeof *j->label);
    limn_status status =
        order && j->parts && j->kept && j->rows && j->label ? LIMN_OK : lm_fail_memory(ctx);
    size_t used = 0;
    for (size_t c = 0; c < j->classes && status == LIMN_OK; c++)
        deal(j, ctx, c, quota, order, &used);
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

static limn_status make_class_balls(limn_context *ctx, void *user, size_t c) {
    judge *j = user;
    return make_balls(ctx, j, &j->fits[c], j->balls + c * j->ball_count);
}

/* Distances of a part's rows from its class without the part. */
static limn_status judge_own(limn_context *ctx, judge *j, const struct part *part) {
    size_t grid = j->grid.count;
    size_t most = hull_most_dim(j->space->options, j->space->d, largest_class(j));
    hull_fit fit = {0};
    hull_ball balls[GRID_MAX] = {{0}};
    double *d2 = NULL;
    limn_status status = hull_fit_make(ctx, j->space, part->kept, part->kept_count, most, &fit);
    if (status == LIMN_OK)
        status = make_balls(ctx, j, &fit, balls);
    if (status == LIMN_OK) {
        d2 = lm_alloc(&ctx->mem, part->count * grid, sizeof *d2);
        status = d2 ? hull_fit_measure(ctx, &fit, balls, &j->grid, j->rows + part->first,
                                       part->count, d2)
                    : lm_fail_memory(ctx);
    }
    for (size_t i = 0; i < part->count && status == LIMN_OK; i++)
        memcpy(cell(j, part->first + i, part->of), d2 + i * grid, grid * sizeof *d2);
    for (size_t g = 0; g < j->ball_count; g++)
        hull_ball_free(&ctx->mem, &balls[g]);
    hull_fit_free(&ctx->mem, &fit);
    lm_free(&ctx->mem, d2);
    return status;
}

/* nrh: the row's place in its class is needed. */
static limn_status judge_own_closed(const judge *j, const struct part *part) {
    const hull_fit *fit = &j->fits[part->of];
    for (size_t i = 0; i < part->count; i++) {
        size_t at = 0;
        while (fit->rows[at] != j->rows[part->first + i])
            at++;
        hull_fit_leave_one_out(fit, at, &j->grid, cell(j, part->first + i, part->of));
    }
    return LIMN_OK;
}

static limn_status judge_part(limn_context *ctx, void *user, size_t index) {
    judge *j = user;
    const struct part *part = &j->parts[index];
    size_t grid = j->grid.count;
    limn_status status = needs_refit(j) ? judge_own(ctx, j, part) : judge_own_closed(j, part);
    double *d2 = lm_alloc(&ctx->mem, BLOCK * grid, sizeof *d2);
    if (!d2 && status == LIMN_OK)
        status = lm_fail_memory(ctx);
    for (size_t c = 0; c < j->classes && status == LIMN_OK; c++)
        for (size_t i = 0; i < part->count && c != part->of && status == LIMN_OK; i += BLOCK) {
            size_t some = part->count - i < BLOCK ? part->count - i : BLOCK;
            status =
                hull_fit_measure(ctx, &j->fits[c], j->balls ? j->balls + c * j->ball_count : NULL,
                                 &j->grid, j->rows + part->first + i, some, d2);
            for (size_t k = 0; k < some && status == LIMN_OK; k++)
                memcpy(cell(j, part->first + i + k, c), d2 + k * grid, grid * sizeof *d2);
            if (status == LIMN_OK)
                status = lm_progress(ctx, "choosing", 0, 0, -1);
        }
    lm_free(&ctx->mem, d2);
    return status;
}

/* ---- what follows from them ---- */

/* The class that the distances for grid point g say. */
static size_t answer(const judge *j, size_t row, size_t g) {
    size_t best = 0;
    for (size_t c = 1; c < j->classes; c++)
        if (cell(j, row, c)[g] < cell(j, row, best)[g])
            best = c;
    return best;
}

/* The grid point with the fewest errors; of equal ones the first. */
static size_t best_point(const judge *j) {
    size_t best = 0, least = SIZE_MAX;
    for (size_t g = 0; g < j->grid.count; g++) {
        size_t wrong = 0;
        for (size_t i = 0; i < j->count; i++)
            wrong += answer(j, i, g) != (size_t)j->label[i];
        if (wrong < least) {
            least = wrong;
            best = g;
        }
    }
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
            others += c == (size_t)j->label[i] ? 0 : over;
        }
        sum += log(all) + keep * own;
        if (j->classes > 1)
            sum += (1 - keep) * others / (double)(j->classes - 1);
    }
    return sum;
}

/* By golden sections of log beta, about 1 / the mean distance. */
static double best_beta(const judge *j, size_t g) {
    double mean = 0, ratio = (sqrt(5) - 1) / 2;
    for (size_t i = 0; i < j->count; i++)
        for (size_t c = 0; c < j->classes; c++)
            mean += cell(j, i, c)[g] / (double)(j->count * j->classes);
    if (!(mean > 0) || !isfinite(mean) || j->classes < 2)
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
        lm_warn(ctx, "reject: no class has two rows, so no row will be called unknown");
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

limn_status hull_choose(limn_context *ctx, const lm_train_set *set, const hull_space *space,
                        const hull_fit *fits, hull_options *options, hull_model *m) {
    bool dear = options->kind == HULL_NCH;
    judge j = {.set = set, .space = space, .fits = fits, .m = m, .classes = set->classes};
    make_grid(&j, options);
    j.ball_count = options->kind == HULL_NHD ? j.grid.count : options->kind == HULL_NSC ? 1 : 0;
    limn_status status = choose_rows(ctx, &j, dear ? DEAR_ROWS : JUDGED_ROWS);
    if (status == LIMN_OK && j.ball_count) {
        j.balls = lm_alloc_zero(&ctx->mem, j.classes * j.ball_count, sizeof *j.balls);
        status = j.balls ? lm_work(ctx, "fitting spheres", j.classes, make_class_balls, &j)
                         : lm_fail_memory(ctx);
    }
    if (status == LIMN_OK)
        status = lm_work(ctx, "choosing", j.part_count, judge_part, &j);
    if (status == LIMN_OK)
        status = conclude(ctx, &j, options);
    judge_free(&ctx->mem, &j);
    return status;
}

/* ---- local ---- */

static limn_status judge_local(limn_context *ctx, void *user, size_t index) {
    judge *j = user;
    const hull_model *m = j->m;
    size_t bytes, row = j->rows[index], own = (size_t)j->label[index];
    void *scratch = hull_local_scratch(m, &bytes) ? lm_alloc_aligned(&ctx->mem, bytes, 1) : NULL;
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

limn_status hull_choose_local(limn_context *ctx, const lm_train_set *set, hull_model *m) {
    judge j = {.set = set, .m = m, .classes = m->classes};
    make_local_grid(&j, &m->options);
    double work = (double)set->n * (double)m->d;
    size_t wanted = work > 2e7 ? DEAR_ROWS : 4 * DEAR_ROWS;
    limn_status status = choose_rows(ctx, &j, wanted);
    if (status == LIMN_OK)
        status = lm_work(ctx, "choosing", j.count, judge_local, &j);
    if (status == LIMN_OK)
        status = conclude(ctx, &j, &m->options);
    judge_free(&ctx->mem, &j);
    return status;
}
