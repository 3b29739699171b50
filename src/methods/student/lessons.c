/* lessons.c: the pool and the rows, with the teacher's soft answers as targets; and rows held out,
 * with points around them, to judge by. */
#include "base/argmax.h"
#include "base/work.h"
#include "data/split.h"
#include "methods/student/student.h"
#include "num/platt.h"

#include <math.h>
#include <string.h>

enum {
    HELD_MOST = 2000,   /* rows held out */
    FRESH = 12000,      /* points to judge by */
    STRAYING = 10,      /* one point in so many strays */
    MANY_FEATURES = 300 /* with more, a pool of fewer points does */
};
#define NOISE 0.1        /* of the pool's points, as a share of each feature's spread */
#define FRESH_NOISE 0.05 /* of those that judge */
#define POOL_CELLS 1.5e8 /* floats of the pool, at most */
#define BOUNDED 0.005    /* a feature has an end where more rows are than this */
#define STRAY 0.4        /* noise of points that stray, as a share of each feature's spread */
#define RARE 0.9         /* share of rows in which a feature has its lowest or highest value */

enum { HOLD, POOL, JUDGE, STRAYED }; /* streams of random numbers */

/* ---- rows held out ---- */

/* The rows by class, each class in a seeded order; of each class, the last are held out. */
typedef struct parts {
    uint32_t *row;
    size_t learned, held; /* row: those learned from, then those held out */
} parts;

static size_t held_of(size_t in_class, size_t n) {
    size_t fifth = in_class / 5, share = (size_t)((double)in_class * HELD_MOST / (double)n);
    return fifth < share ? fifth : share;
}

/* So few rows that none is held out are all used for both. */
static limn_status part_rows(limn_context *ctx, const lm_train_set *set, uint64_t stream,
                             parts *p) {
    size_t classes = set->label ? set->classes : 1, front = 0, back = set->n;
    uint32_t *row = lm_alloc(&ctx->mem, set->n, sizeof *row);
    size_t *start = lm_alloc(&ctx->mem, classes + 2, sizeof *start);
    p->row = lm_alloc(&ctx->mem, set->n, sizeof *p->row);
    bool all = row && start && p->row;
    if (all)
        lm_split_classes(set->label, set->n, classes, ctx->seed, stream, row, start);
    for (size_t c = 0; c < classes && all; c++) {
        size_t count = start[c + 1] - start[c], held = held_of(count, set->n);
        memcpy(p->row + front, row + start[c], (count - held) * sizeof *row);
        memcpy(p->row + back - held, row + start[c + 1] - held, held * sizeof *row);
        front += count - held;
        back -= held;
    }
    lm_free(&ctx->mem, row);
    lm_free(&ctx->mem, start);
    p->learned = front;
    p->held = set->n - front;
    return all ? LIMN_OK : lm_fail_memory(ctx);
}

/* ---- scaling ---- */

/* The share of rows in which each feature has its lowest value, and its highest. */
static void count_ends(const lm_train_set *set, const lm_pool_features *f, double *share[2]) {
    for (size_t i = 0; i < set->n; i++)
        for (size_t j = 0; j < set->d; j++) {
            share[0][j] += (set->x[i * set->d + j] == f->low[j]) / (double)set->n;
            share[1][j] += (set->x[i * set->d + j] == f->high[j]) / (double)set->n;
        }
}

/* A feature that is nearly always the same would have huge values where it is not. */
static double divisor_of(const lm_pool_features *f, size_t j, double share) {
    double spread = f->spread[j], range = (double)f->high[j] - (double)f->low[j];
    if (share > RARE)
        spread = fmax(spread, range / 4);
    return spread > 0 ? spread : 1;
}

static limn_status find_scale(limn_context *ctx, const lm_train_set *set, st_lessons *l) {
    l->centre = lm_alloc_zero(&ctx->mem, set->d, sizeof *l->centre);
    l->divisor = lm_alloc_zero(&ctx->mem, set->d, sizeof *l->divisor);
    for (int end = 0; end < 2; end++)
        l->at_end[end] = lm_alloc_zero(&ctx->mem, set->d, sizeof *l->at_end[end]);
    if (!l->centre || !l->divisor || !l->at_end[0] || !l->at_end[1])
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < set->n; i++)
        for (size_t j = 0; j < set->d; j++)
            l->centre[j] += (double)set->x[i * set->d + j] / (double)set->n;
    count_ends(set, &l->features, l->at_end);
    for (size_t j = 0; j < set->d; j++) {
        if (l->features.spread[j] <= 0) /* the mean is rounded */
            l->centre[j] = (double)l->features.low[j];
        l->divisor[j] = divisor_of(&l->features, j, fmax(l->at_end[0][j], l->at_end[1][j]));
    }
    return LIMN_OK;
}

static void standardise(const st_lessons *l, float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < l->d; j++)
            x[i * l->d + j] = (float)(((double)x[i * l->d + j] - l->centre[j]) / l->divisor[j]);
}

/* ---- what the teacher says ---- */

/* The class that the teacher's answer says: of pairs, by their votes. votes: classes. */
static int32_t class_of(const lm_teacher *t, const double *answer, int32_t *votes) {
    if (t->kind == LM_TEACHES_PAIRS)
        return lm_vote_pairs(t->classes, answer, votes);
    size_t best = 0;
    for (size_t c = 1; c < t->classes && t->kind == LM_TEACHES_DISTANCE; c++)
        best = answer[c] < answer[best] ? c : best;
    return t->kind == LM_TEACHES_DISTANCE ? (int32_t)best : (int32_t)lm_argmax(answer, t->classes);
}

#define FARTHEST 80.0 /* exp stays in the range of doubles, and sums above 0 */

static double exp_within(double value) {
    return exp(value < FARTHEST ? value > -FARTHEST ? value : -FARTHEST : FARTHEST);
}

/* p_i before it is normalised: 1 / (1 + sum of exp(-a f_ij)); p holds the sums at first. */
static void soften_pairs(size_t k, const double *f, double a, double *p) {
    for (size_t c = 0; c < k; c++)
        p[c] = 1;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++) {
            double against = exp_within(-a * *f++);
            p[i] += against;
            p[j] += 1 / against;
        }
    for (size_t c = 0; c < k; c++)
        p[c] = 1 / p[c];
}

/* unit: what distances of the two nearest classes usually differ by. */
static void soften_distances(size_t k, const double *distance, double a, double unit, double *p) {
    double least = distance[0];
    for (size_t c = 1; c < k; c++)
        least = distance[c] < least ? distance[c] : least;
    for (size_t c = 0; c < k; c++)
        p[c] = exp_within(-a * (distance[c] - least) / unit);
}

static void soften_proba(size_t k, const double *proba, double a, double *p) {
    for (size_t c = 0; c < k; c++)
        p[c] = pow(proba[c] > 0 ? proba[c] : 0, a);
}

/* Answers of a caller's function may be all 0. */
static void normalise(double *p, size_t k, float *target) {
    double sum = 0;
    for (size_t c = 0; c < k; c++)
        sum += p[c];
    for (size_t c = 0; c < k; c++)
        target[c] = (float)(sum > 0 && sum < INFINITY ? p[c] / sum : 1 / (double)k);
}

static void soften(const lm_teacher *t, const double *answer, double a, double unit, double *p,
                   float *target) {
    if (t->kind == LM_TEACHES_PAIRS)
        soften_pairs(t->classes, answer, a, p);
    else if (t->kind == LM_TEACHES_DISTANCE)
        soften_distances(t->classes, answer, a, unit, p);
    else
        soften_proba(t->classes, answer, a, p);
    normalise(p, t->classes, target);
}

/* ---- asking ---- */

enum { CHUNK = 1024, CHUNK_CELLS = 1 << 21, PIECE = 64 };

/* What becomes of the answers: room for each of the rows, or NULL. */
typedef struct answers {
    float *target[ST_SHARPS];
    int32_t *class;
    double *value;
} answers;

typedef struct asking {
    const lm_teacher *teacher;
    const st_lessons *lessons;
    size_t some;    /* rows of this chunk */
    double *answer; /* some x width */
    double *p;      /* some x classes */
    answers to;     /* of this chunk */
} asking;

static void take_answers(void *user, size_t index, int thread) {
    const asking *a = user;
    const lm_teacher *t = a->teacher;
    const st_lessons *l = a->lessons;
    size_t first = index * PIECE, last = first + PIECE < a->some ? first + PIECE : a->some;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        const double *answer = a->answer + i * t->width;
        double *p = a->p + i * t->classes;
        if (a->to.class)
            a->to.class[i] = class_of(t, answer, (int32_t *)(void *)p);
        if (a->to.value)
            a->to.value[i] = *answer;
        for (size_t s = 0; s < l->sharps && a->to.target[s] && t->kind != LM_TEACHES_VALUE; s++)
            soften(t, answer, l->sharpness[s], l->unit, p, a->to.target[s] + i * l->width);
    }
}

static answers answers_at(const answers *all, size_t row, size_t width) {
    answers at = *all;
    for (size_t s = 0; s < ST_SHARPS; s++)
        at.target[s] = all->target[s] ? all->target[s] + row * width : NULL;
    at.class = all->class ? all->class + row : NULL;
    at.value = all->value ? all->value + row : NULL;
    return at;
}

static limn_status ask(limn_context *ctx, const lm_teacher *teacher, st_lessons *l, const float *x,
                       size_t n, const answers *to) {
    size_t chunk = CHUNK_CELLS / teacher->width;
    chunk = chunk < 16 ? 16 : chunk < CHUNK ? chunk : CHUNK;
    asking a = {.teacher = teacher, .lessons = l};
    size_t cells;
    a.answer =
        lm_mul(chunk, teacher->width, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *a.answer) : NULL;
    a.p = lm_mul(chunk, teacher->classes + 1, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *a.p)
                                                      : NULL;
    limn_status status = a.answer && a.p ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < n && status == LIMN_OK; i += a.some) {
        a.some = n - i < chunk ? n - i : chunk;
        a.to = answers_at(to, i, l->width);
        status = teacher->answer(teacher, ctx, x + i * l->d, a.some, a.answer);
        if (status != LIMN_OK)
            break;
        lm_parallel(ctx->threads, (a.some + PIECE - 1) / PIECE, take_answers, &a);
        l->asked += (double)a.some;
        status = lm_progress(ctx, "asking the teacher", (uint64_t)l->asked, (uint64_t)l->to_ask,
                             l->asked / l->to_ask);
    }
    lm_free(&ctx->mem, a.answer);
    lm_free(&ctx->mem, a.p);
    return status;
}

/* ---- points ---- */

/* Beyond the range of a feature, unless many rows are at its end: then there is nothing beyond. */
static float stray(const st_lessons *l, size_t j, double by, float value) {
    const lm_pool_features *f = &l->features;
    float moved = (float)((double)value + by * f->spread[j]);
    bool below = moved < f->low[j] && l->at_end[0][j] > BOUNDED;
    bool above = moved > f->high[j] && l->at_end[1][j] > BOUNDED;
    return f->category[j] || below || above || !isfinite(moved) ? value : moved;
}

/* Some points stray: rows to come may lie outside the range of those that are known, and a network
 * that has seen nothing there answers anything. */
static void let_stray(uint64_t seed, const st_lessons *l, size_t first, size_t n, float *x) {
    for (size_t i = 0; i < n; i++) {
        if ((first + i) % STRAYING)
            continue;
        lm_rng rng = lm_rng_at(seed, lm_hash(STRAYED, 0, 0), first + i);
        for (size_t j = 0; j < l->d; j++)
            x[i * l->d + j] = stray(l, j, STRAY * lm_rng_normal(&rng), x[i * l->d + j]);
    }
}

enum { SAMPLED = 4096 }; /* points between two reports of progress */

static limn_status sample(limn_context *ctx, const st_lessons *l, const lm_pool_rows *rows,
                          const lm_pool_way *way, size_t n, float *x) {
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < n && status == LIMN_OK; i += SAMPLED) {
        size_t some = n - i < SAMPLED ? n - i : SAMPLED;
        lm_pool_sample(ctx, rows, way, i, some, x + i * l->d, l->d, NULL);
        let_stray(way->seed, l, i, some, x + i * l->d);
        status = lm_progress(ctx, "sampling points", i + some, n, (double)(i + some) / (double)n);
    }
    return status;
}

/* ---- judges ---- */

static void judges_free(const limn_allocator *mem, st_judges *j) {
    lm_free(mem, j->x);
    lm_free(mem, j->raw);
    lm_free(mem, j->label);
    lm_free(mem, j->teacher);
    lm_free(mem, j->target);
    lm_free(mem, j->value);
}

static limn_status judges_allot(limn_context *ctx, const st_lessons *l, size_t n, st_judges *j) {
    size_t cells;
    *j = (st_judges){.n = n};
    if (lm_mul(n, l->d, &cells))
        j->x = lm_alloc(&ctx->mem, cells + 1, sizeof *j->x);
    j->label = lm_alloc_zero(&ctx->mem, n + 1, sizeof *j->label);
    j->teacher = lm_alloc_zero(&ctx->mem, n + 1, sizeof *j->teacher);
    j->target = lm_alloc_zero(&ctx->mem, n + 1, sizeof *j->target);
    j->value = lm_alloc_zero(&ctx->mem, n + 1, sizeof *j->value);
    return j->x && j->label && j->teacher && j->target && j->value ? LIMN_OK : lm_fail_memory(ctx);
}

static void copy_row(const lm_train_set *set, uint32_t row, float *to) {
    memcpy(to, set->x + (size_t)row * set->d, set->d * sizeof *to);
}

static limn_status judge_by_rows(limn_context *ctx, const lm_train_set *set, const uint32_t *row,
                                 size_t n, st_lessons *l) {
    limn_status status = judges_allot(ctx, l, n, &l->held);
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        copy_row(set, row[i], l->held.x + i * l->d);
        l->held.label[i] = set->label ? set->label[row[i]] : 0;
        l->held.target[i] = set->target ? set->target[row[i]] : 0;
    }
    answers to = {.class = set->label ? l->held.teacher : NULL,
                  .value = set->label ? NULL : l->held.value};
    return status == LIMN_OK ? ask(ctx, set->teacher, l, l->held.x, n, &to) : status;
}

static limn_status judge_by_points(limn_context *ctx, const lm_train_set *set,
                                   const lm_pool_rows *rows, uint64_t seed, st_lessons *l) {
    lm_pool_way way = {.seed = seed, .noise = FRESH_NOISE, .compared = l->compared};
    limn_status status = judges_allot(ctx, l, l->fresh_count, &l->fresh);
    if (status != LIMN_OK)
        return status;
    status = sample(ctx, l, rows, &way, l->fresh_count, l->fresh.x);
    answers to = {.class = set->label ? l->fresh.teacher : NULL,
                  .value = set->label ? NULL : l->fresh.value};
    return status == LIMN_OK ? ask(ctx, set->teacher, l, l->fresh.x, l->fresh_count, &to) : status;
}

/* ---- the pool ---- */

/* Points per row: about 400,000 in all. */
static size_t times_of(const lm_train_set *set, const st_options *o, size_t learned) {
    size_t n = learned ? learned : 1;
    size_t times = 400000 / n, least = 4, most = 60;
    if (set->d > MANY_FEATURES) {
        least = 3;
        most = 10;
    }
    times = times < least ? least : times < most ? times : most;
    size_t width = set->d + 2 * (set->label ? set->classes : 1);
    double cells = (double)times * (double)n * (double)width;
    if (!o->pool && cells > POOL_CELLS)
        times = (size_t)(POOL_CELLS / ((double)n * (double)width));
    return times ? times : 1;
}

/* Every row is visited as often as a third of its points. */
static limn_status list_visits(limn_context *ctx, st_lessons *l) {
    size_t each = l->rows ? l->points / l->rows / 3 : 1;
    each = each ? each : 1;
    l->count = l->points + each * l->rows;
    l->order = lm_alloc(&ctx->mem, l->count, sizeof *l->order);
    if (!l->order)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < l->count; i++)
        l->order[i] = (uint32_t)(i < l->points ? i : l->points + (i - l->points) / each);
    return LIMN_OK;
}

static limn_status pool_allot(limn_context *ctx, st_lessons *l) {
    size_t n, cells;
    if (!lm_add(l->points, l->rows, &n) || n > UINT32_MAX || !lm_mul(n, l->d, &cells))
        return lm_fail_memory(ctx);
    l->x = lm_alloc_aligned(&ctx->mem, cells, sizeof *l->x);
    bool all = l->x != NULL;
    for (size_t s = 0; s < l->sharps && all; s++) {
        l->target[s] = lm_mul(n, l->width, &cells)
                           ? lm_alloc_aligned(&ctx->mem, cells, sizeof *l->target[s])
                           : NULL;
        all = l->target[s] != NULL;
    }
    return all ? LIMN_OK : lm_fail_memory(ctx);
}

/* The target of a row is half its label. */
static void mix_labels(const lm_train_set *set, const parts *p, st_lessons *l) {
    for (size_t s = 0; s < l->sharps; s++)
        for (size_t i = 0; i < l->rows; i++) {
            float *target = l->target[s] + (l->points + i) * l->width;
            for (size_t c = 0; c < l->width; c++)
                target[c] /= 2;
            target[set->label[p->row[i]]] += 0.5f;
        }
}

/* The mean and the spread of values of any size; true: all are equal. */
static bool measure(const double *value, size_t n, double *mean, double *spread) {
    double low = value[0], high = value[0], squares = 0;
    *mean = 0;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, value[i]);
        high = fmax(high, value[i]);
        *mean += value[i] / (double)n;
    }
    double farthest = fmax(high - *mean, *mean - low);
    if (low == high) {
        *mean = low;
        *spread = 1;
        return true;
    }
    for (size_t i = 0; i < n; i++)
        squares += pow((value[i] - *mean) / farthest, 2) / (double)n;
    *spread = farthest * sqrt(squares);
    return false;
}

/* Standardised values of the teacher, and of rows half their own. value: points + rows. */
static void take_values(const lm_train_set *set, const parts *p, const double *value,
                        st_lessons *l) {
    l->constant = measure(value, l->points + l->rows, &l->mean, &l->spread);
    for (size_t i = 0; i < l->points + l->rows; i++) {
        double own = i < l->points ? value[i] : (value[i] + set->target[p->row[i - l->points]]) / 2;
        l->target[0][i] = (float)((own - l->mean) / l->spread);
    }
    for (size_t i = 0; i < l->held.n; i++) {
        l->held.target[i] = (l->held.target[i] - l->mean) / l->spread;
        l->held.value[i] = (l->held.value[i] - l->mean) / l->spread;
    }
    for (size_t i = 0; i < l->fresh.n; i++)
        l->fresh.value[i] = (l->fresh.value[i] - l->mean) / l->spread;
}

#define LARGEST 1e290

static limn_status check_values(limn_context *ctx, const double *value, size_t n,
                                const char *whose) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(value[i]) <= LARGEST))
            return lm_fail(ctx, LIMN_E_DATA,
                           "student: %s have values beyond %g; divide the targets by a number",
                           whose, LARGEST);
    return LIMN_OK;
}

/* What the distances of the two nearest classes differ by on the rows held out, on average. */
static limn_status find_unit(limn_context *ctx, const lm_train_set *set, const uint32_t *row,
                             size_t n, st_lessons *l) {
    const lm_teacher *t = set->teacher;
    double *answer = lm_alloc(&ctx->mem, t->width, sizeof *answer), sum = 0;
    limn_status status = answer ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < n && i < 200 && status == LIMN_OK; i++) {
        status = t->answer(t, ctx, set->x + (size_t)row[i] * set->d, 1, answer);
        double first = INFINITY, second = INFINITY;
        for (size_t c = 0; c < t->classes && status == LIMN_OK; c++) {
            second = fmin(second, fmax(first, answer[c]));
            first = fmin(first, answer[c]);
        }
        sum += status == LIMN_OK && t->classes > 1 ? (second - first) / (double)(n < 200 ? n : 200)
                                                   : 0;
    }
    lm_free(&ctx->mem, answer);
    l->unit = sum > 0 && sum < INFINITY ? sum : 1;
    return status;
}

static limn_status learn_pool(limn_context *ctx, const lm_train_set *set, const parts *p,
                              const lm_pool_rows *rows, uint64_t seed, st_lessons *l) {
    lm_pool_way way = {.seed = seed, .noise = NOISE, .compared = l->compared};
    size_t n = l->points + l->rows;
    double *value = set->label ? NULL : lm_alloc(&ctx->mem, n, sizeof *value);
    limn_status status = set->label || value ? pool_allot(ctx, l) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = sample(ctx, l, rows, &way, l->points, l->x);
    if (status == LIMN_OK) {
        for (size_t i = 0; i < l->rows; i++)
            copy_row(set, p->row[i], l->x + (l->points + i) * l->d);
        answers to = {.value = value};
        memcpy(to.target, l->target, sizeof to.target);
        status = ask(ctx, set->teacher, l, l->x, n, &to);
    }
    if (status == LIMN_OK && !set->label)
        status = check_values(ctx, value, n, "the teacher's answers");
    if (status == LIMN_OK && set->label)
        mix_labels(set, p, l);
    else if (status == LIMN_OK)
        take_values(set, p, value, l);
    lm_free(&ctx->mem, value);
    return status == LIMN_OK ? list_visits(ctx, l) : status;
}

/* ---- all together ---- */

void st_lessons_free(const limn_allocator *mem, st_lessons *l) {
    lm_pool_features_free(mem, &l->features);
    lm_free(mem, l->centre);
    lm_free(mem, l->divisor);
    lm_free(mem, l->at_end[0]);
    lm_free(mem, l->at_end[1]);
    lm_free_aligned(mem, l->x);
    for (size_t s = 0; s < ST_SHARPS; s++)
        lm_free_aligned(mem, l->target[s]);
    lm_free(mem, l->order);
    judges_free(mem, &l->held);
    judges_free(mem, &l->fresh);
    *l = (st_lessons){.d = 0};
}

static void plan_sharpness(const lm_train_set *set, const st_options *o, st_lessons *l) {
    bool powers = set->teacher->kind == LM_TEACHES_PROBA;
    l->sharps = o->sharpness > 0 || !set->label || !powers ? 1 : ST_SHARPS;
    l->sharpness[0] = o->sharpness > 0 ? o->sharpness : powers ? 1 : 8;
    l->sharpness[1] = 3;
}

/* The rows that points are sampled from. */
static limn_status take_rows(limn_context *ctx, const lm_train_set *set, const st_lessons *l,
                             const uint32_t *row, size_t n, lm_pool_rows *out) {
    size_t cells;
    float *x = lm_mul(n, set->d, &cells) ? lm_alloc(&ctx->mem, cells, sizeof *x) : NULL;
    int32_t *label = lm_alloc_zero(&ctx->mem, n, sizeof *label);
    limn_status status = x && label ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        copy_row(set, row[i], x + i * set->d);
        label[i] = set->label ? set->label[row[i]] : 0;
    }
    if (status == LIMN_OK)
        status = lm_pool_rows_take(ctx, &l->features, x, set->label ? label : NULL, n,
                                   set->label ? set->classes : 1, out);
    lm_free(&ctx->mem, x);
    lm_free(&ctx->mem, label);
    return status;
}

static limn_status fill(limn_context *ctx, const lm_train_set *set, const st_options *o, parts *p,
                        st_lessons *l) {
    lm_pool_rows learned = {.n = 0}, held = {.n = 0};
    const uint32_t *judged = p->held ? p->row + p->learned : p->row;
    size_t judges = p->held ? p->held : p->learned;
    judges = judges < HELD_MOST ? judges : HELD_MOST;
    l->rows = p->learned;
    l->points = o->pool ? o->pool : times_of(set, o, p->learned) * p->learned;
    l->compared = p->learned / 10;
    l->compared = l->compared < 5                  ? 5
                  : l->compared < LM_POOL_COMPARED ? l->compared
                                                   : LM_POOL_COMPARED;
    l->fresh_count = l->points / 5 < FRESH ? l->points / 5 + 1 : FRESH;
    l->to_ask = (double)(l->points + l->rows + l->fresh_count + judges);
    limn_status status =
        find_unit(ctx, set, judged, set->teacher->kind == LM_TEACHES_DISTANCE ? judges : 0, l);
    if (status == LIMN_OK)
        status = take_rows(ctx, set, l, p->row, p->learned, &learned);
    if (status == LIMN_OK)
        status = take_rows(ctx, set, l, judged, judges, &held);
    if (status == LIMN_OK)
        status = judge_by_rows(ctx, set, judged, judges, l);
    if (status == LIMN_OK)
        status = judge_by_points(ctx, set, &held, lm_hash(ctx->seed, o->stream, JUDGE), l);
    if (status == LIMN_OK)
        status = learn_pool(ctx, set, p, &learned, lm_hash(ctx->seed, o->stream, POOL), l);
    lm_pool_rows_free(&ctx->mem, &learned);
    lm_pool_rows_free(&ctx->mem, &held);
    return status;
}

limn_status st_lessons_make(limn_context *ctx, const lm_train_set *set, const st_options *options,
                            st_lessons *l) {
    parts p = {.row = NULL};
    *l = (st_lessons){.task = set->task,
                      .d = set->d,
                      .classes = set->label ? set->classes : 0,
                      .width = set->label ? set->classes : 1,
                      .outputs = st_outputs(set->task, set->classes)};
    plan_sharpness(set, options, l);
    limn_status status = set->target && !set->label
                             ? check_values(ctx, set->target, set->n, "the targets")
                             : LIMN_OK;
    if (status == LIMN_OK)
        status = lm_pool_features_find(ctx, set->x, set->n, set->d, &l->features);
    if (status == LIMN_OK)
        status = find_scale(ctx, set, l);
    if (status == LIMN_OK)
        status = part_rows(ctx, set, lm_hash(options->stream, HOLD, 0), &p);
    if (status == LIMN_OK)
        status = fill(ctx, set, options, &p, l);
    lm_free(&ctx->mem, p.row);
    if (status == LIMN_OK) {
        standardise(l, l->x, l->points + l->rows);
        l->held.raw = lm_alloc(&ctx->mem, l->held.n * l->d, sizeof(float));
        if (!l->held.raw)
            return lm_fail_memory(ctx);
        memcpy(l->held.raw, l->held.x, l->held.n * l->d * sizeof(float));
        standardise(l, l->held.x, l->held.n);
        standardise(l, l->fresh.x, l->fresh.n);
    }
    return status;
}
