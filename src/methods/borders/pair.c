/* pair.c: the borders of one pair of classes: which rows lines are drawn between, how many borders
 * there are, and the slope of the probability.
 *
 * At most SAMPLED rows of the pair are used (all of a class of LEAST or fewer), in a seeded order.
 * A fifth of each class is held out: no line begins there, and the slope of the probability is
 * fitted to the labels of these rows, with Platt's targets for the size of the whole class (those
 * for the few rows held out make every answer too modest). borders=auto draws 25 borders and
 * doubles their number until that fails twice to mend 3 % of the mistakes and one row in a
 * thousand; the smallest number that is as good as the best, to that measure, is kept. A mistake is
 * a row where the teacher disagrees, and all rows count: the borders follow the teacher, not the
 * rows that their lines join. */
#include "methods/borders/borders.h"

#include <math.h>
#include <string.h>

enum { SAMPLED = 6000, LEAST = 400, FEW = 10, FIRST_SIZE = 25, SIZES = 6 };

/* The rows of the pair that are used: those of the first class, then those of the second; in each
 * class, those that lines begin at, then those held out. */
typedef struct sample {
    size_t n, d;
    size_t begin[2], used[2]; /* per class: rows that lines begin at */
    size_t apart[2], held[2]; /* rows held out; all rows of a small class are both */
    uint32_t *row;            /* of the training set */
    float *x;                 /* n x d */
    double *f;                /* less the level */
    bool *first;
    double *scratch; /* n */
    uint32_t *side;  /* room for the ends: 2 n */
} sample;

static void sample_free(const limn_allocator *mem, sample *s) {
    lm_free(mem, s->row);
    lm_free(mem, s->x);
    lm_free(mem, s->f);
    lm_free(mem, s->first);
    lm_free(mem, s->scratch);
    lm_free(mem, s->side);
}

static size_t wanted_rows(size_t own, size_t both) {
    double share = both > SAMPLED ? (double)SAMPLED / (double)both : 1;
    size_t count = (size_t)ceil(share * (double)own), least = own < LEAST ? own : LEAST;
    return count > least ? count : least;
}

/* Moves count rows, drawn at random, to the front. */
static void shuffle_front(lm_rng *rng, uint32_t *row, size_t n, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t other = i + lm_rng_below(rng, n - i);
        uint32_t kept = row[i];
        row[i] = row[other];
        row[other] = kept;
    }
}

static limn_status sample_take(limn_context *ctx, const bd_rows *rows, const bd_options *o,
                               const size_t pair[2], sample *s) {
    size_t count[2], own[2], cells = 0, d = rows->set->d, at = 0, both = 0;
    for (int c = 0; c < 2; c++)
        both += own[c] = rows->start[pair[c] + 1] - rows->start[pair[c]];
    for (int c = 0; c < 2; c++)
        count[c] = wanted_rows(own[c], both);
    *s = (sample){.n = count[0] + count[1], .d = d};
    s->row = lm_alloc(&ctx->mem, both + 1, sizeof *s->row);
    s->x = lm_mul(s->n, d, &cells) ? lm_alloc(&ctx->mem, cells + 1, sizeof *s->x) : NULL;
    s->f = lm_alloc(&ctx->mem, s->n + 1, sizeof *s->f);
    s->first = lm_alloc(&ctx->mem, s->n + 1, sizeof *s->first);
    s->scratch = lm_alloc(&ctx->mem, s->n + 1, sizeof *s->scratch);
    s->side = lm_alloc(&ctx->mem, 2 * s->n + 1, sizeof *s->side);
    if (!s->row || !s->x || !s->f || !s->first || !s->scratch || !s->side)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < 2; c++) {
        lm_rng rng = lm_rng_at(ctx->seed, o->stream, pair[c]); /* the same rows in every pair */
        memcpy(s->row + at, rows->row + rows->start[pair[c]], own[c] * sizeof *s->row);
        shuffle_front(&rng, s->row + at, own[c], count[c]);
        s->held[c] = count[c] < FEW ? count[c] : count[c] / 5;
        s->used[c] = count[c] < FEW ? count[c] : count[c] - s->held[c];
        s->begin[c] = at;
        s->apart[c] = at + count[c] - s->held[c];
        for (size_t i = 0; i < count[c]; i++, at++) {
            memcpy(s->x + at * d, rows->set->x + s->row[at] * d, d * sizeof *s->x);
            s->first[at] = c == 0;
        }
    }
    return LIMN_OK;
}

/* ---- the level ---- */

/* f of the sampled rows: what the teacher said of them already, or from the field. */
static limn_status evaluate(limn_context *ctx, const bd_rows *rows, const lm_field *field,
                            const size_t pair[2], sample *s) {
    const lm_teacher *teacher = rows->set->teacher;
    if (!rows->answers)
        return lm_field_values(ctx, field, s->x, s->n, s->f, NULL);
    for (size_t i = 0; i < s->n; i++)
        s->f[i] = lm_field_of_answer(teacher, pair[0], pair[1],
                                     rows->answers + s->row[i] * teacher->width);
    return LIMN_OK;
}

/* A decision value without a sigmoid gets one from the labels; r = tanh f where that fails. */
static double find_level(const sample *s, const bd_options *o, lm_field *field, bd_pair *out) {
    if (!field->is_r && field->sigmoid.a == 0) {
        field->sigmoid = lm_platt_fit(s->f, s->first, s->n, s->scratch);
        out->fitted = true;
    }
    if (!field->is_r && !(field->sigmoid.a < -1e-9 && field->sigmoid.a > -1e9))
        field->sigmoid = (lm_sigmoid_fit){-2, 0};
    bool moved = o->calibrate || o->threshold != 0;
    double level = moved || field->is_r ? lm_field_level(field, o->threshold) : 0;
    return isfinite(level) ? level : 0;
}

/* ---- lines ---- */

static void sort_ends(const sample *s, bd_ends *e) {
    uint32_t *at = s->side;
    *e = (bd_ends){.x = s->x, .d = s->d};
    for (int c = 0; c < 2; c++)
        for (int side = 0; side < 2; side++) {
            e->row[c][side] = at;
            for (size_t i = s->begin[c]; i < s->begin[c] + s->used[c]; i++)
                if ((s->f[i] > 0) == (side == 0))
                    *at++ = (uint32_t)i;
            e->count[c][side] = (size_t)(at - e->row[c][side]);
        }
}

/* ---- how good they are ---- */

static double decide(const bd_points *p, size_t d, size_t i, const float *x) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += p->u[i * d + j] * ((double)x[j] - (double)p->b[i * d + j]);
    return p->slope[i] * sum;
}

/* g of all rows under the borders. */
static limn_status judge(limn_context *ctx, const sample *s, const bd_points *p, double *g) {
    size_t count = p->count;
    lm_pack pack;
    limn_status status = lm_pack_build(ctx, p->b, count, s->d, s->d, &pack);
    if (status != LIMN_OK)
        return status;
    float *distance = lm_alloc_aligned(&ctx->mem, pack.panels * LM_PANEL, sizeof *distance);
    for (size_t row = 0; row < s->n && distance; row++) {
        const float *x = s->x + row * s->d;
        lm_pack_query(&pack, LM_L2, 0, pack.panels, x, distance);
        g[row] = decide(p, s->d, lm_argmin(distance, count), x);
    }
    lm_free_aligned(&ctx->mem, distance);
    lm_pack_free(&ctx->mem, &pack);
    return distance ? LIMN_OK : lm_fail_memory(ctx);
}

/* Moves the held-out rows to the front of g, and says which are of the first class; counts those
 * where the teacher agrees. */
static size_t take_held(const sample *s, double *g, bool *first, size_t *agreed) {
    size_t n = 0;
    *agreed = 0;
    for (int c = 0; c < 2; c++)
        for (size_t i = 0, row = s->apart[c]; i < s->held[c]; i++, row++, n++) {
            *agreed += (s->f[row] > 0) == (g[row] > 0);
            g[n] = g[row];
            first[n] = c == 0;
        }
    return n;
}

static size_t mistakes(const double *f, const double *g, size_t n) {
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += (f[i] > 0) != (g[i] > 0);
    return wrong;
}

/* ---- how many ---- */

typedef struct making {
    const bd_options *options;
    const sample *s;
    bd_search search;
    double *g, *scratch; /* of the rows */
    bool *first;
    double own[2]; /* rows of the two classes in the training set */
    bd_pair *out;
} making;

/* Fewer mistakes than this make no difference. */
static double slack(const making *m, size_t wrong) {
    return fmax(0.03 * (double)wrong, 0.001 * (double)m->s->n);
}

/* Draws and judges sizes of 25, 50, ... and keeps the smallest that is as good as the best. */
static limn_status draw_auto(limn_context *ctx, making *m) {
    size_t size[SIZES], wrong[SIZES], sizes = 0, best = 0, failed = 0;
    limn_status status = LIMN_OK;
    for (size_t wanted = FIRST_SIZE; sizes < SIZES && status == LIMN_OK; wanted *= 2) {
        status = bd_draw(ctx, &m->search, wanted, &m->out->points);
        size_t count = m->out->points.count;
        if (status != LIMN_OK || count == 0)
            return status;
        status = judge(ctx, m->s, &m->out->points, m->g);
        size[sizes] = count;
        wrong[sizes] = mistakes(m->s->f, m->g, m->s->n);
        double mended = (double)wrong[best] - (double)wrong[sizes];
        failed = sizes && mended < slack(m, wrong[best]) ? failed + 1 : 0;
        best = wrong[sizes] < wrong[best] ? sizes : best;
        if (count < wanted || failed == 2 || wrong[sizes++] == 0)
            break;
    }
    for (size_t i = 0; i <= best && status == LIMN_OK; i++)
        if ((double)wrong[i] <= (double)wrong[best] + slack(m, wrong[best])) {
            m->out->points.count = size[i];
            break;
        }
    return status;
}

static limn_status draw_all(limn_context *ctx, making *m) {
    bd_pair *out = m->out;
    limn_status status = m->options->borders
                             ? bd_draw(ctx, &m->search, m->options->borders, &out->points)
                             : draw_auto(ctx, m);
    if (status != LIMN_OK || out->points.count == 0)
        return status;
    status = judge(ctx, m->s, &out->points, m->g);
    if (status == LIMN_OK) {
        out->held = take_held(m->s, m->g, m->first, &out->agreed);
        out->a = lm_slope_fit(m->g, m->first, out->held, m->own[0], m->own[1], m->scratch);
    }
    return status;
}

/* g where there is no border: the log odds of the classes if they agree with the teacher. */
static double constant_of(const sample *s, const double own[2]) {
    double above = 0, odds = log((own[0] + 1) / (own[1] + 1));
    for (size_t i = 0; i < s->n; i++)
        above += s->f[i] > 0 ? 1 : -1;
    if (s->used[0] == 0 || s->used[1] == 0)
        above = odds;
    return (odds > 0) == (above > 0) && odds != 0 ? odds : above > 0 ? 0.01 : -0.01;
}

/* Everything but the memory of m. */
static limn_status make(limn_context *ctx, const bd_rows *rows, const size_t pair[2],
                        lm_field *field, sample *s, making *m) {
    limn_status status = evaluate(ctx, rows, field, pair, s);
    if (status != LIMN_OK)
        return status;
    m->search.level = find_level(s, m->options, field, m->out);
    for (size_t i = 0; i < s->n; i++)
        s->f[i] -= m->search.level;
    m->out->constant = constant_of(s, m->own);
    m->out->a = -1;
    sort_ends(s, &m->search.ends);
    return bd_has_line(&m->search.ends) ? draw_all(ctx, m) : LIMN_OK;
}

limn_status bd_pair_make(limn_context *ctx, const bd_rows *rows, const bd_options *options,
                         size_t first, size_t second, bd_pair *out) {
    const size_t pair[2] = {first, second};
    sample s = {.n = 0};
    lm_field field = {.d = 0};
    making m = {.options = options, .s = &s, .out = out};
    for (int c = 0; c < 2; c++)
        m.own[c] = (double)(rows->start[pair[c] + 1] - rows->start[pair[c]]);
    m.search.field = &field;
    m.search.progress = options->progress;
    m.search.seed =
        lm_hash(ctx->seed, options->stream, lm_pair_index(rows->set->classes, first, second));
    limn_status status = sample_take(ctx, rows, options, pair, &s);
    m.g = lm_alloc(&ctx->mem, s.n + 1, sizeof *m.g);
    m.scratch = lm_alloc(&ctx->mem, s.n + 1, sizeof *m.scratch);
    m.first = lm_alloc(&ctx->mem, s.n + 1, sizeof *m.first);
    if (status == LIMN_OK && (!m.g || !m.scratch || !m.first))
        status = lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = lm_field_teacher(ctx, rows->set->teacher, first, second, rows->spread, &field);
    field.asked = &out->asked;
    if (status == LIMN_OK)
        status = make(ctx, rows, pair, &field, &s, &m);
    lm_field_free(&ctx->mem, &field);
    lm_free(&ctx->mem, m.g);
    lm_free(&ctx->mem, m.scratch);
    lm_free(&ctx->mem, m.first);
    sample_free(&ctx->mem, &s);
    return status;
}
