/* choose.c: when a network hands over to the next, its temperature, and which networks to take. */
#include "methods/student/student.h"

#include <math.h>
#include <stdlib.h>

#define WRONG_EXITS 0.0005 /* share of points that a network may answer otherwise than the next */

/* ---- handing over ---- */

typedef struct exit_row {
    float gap;
    bool differs;
} exit_row;

static int by_gap(const void *a, const void *b) {
    float x = ((const exit_row *)a)->gap, y = ((const exit_row *)b)->gap;
    return (x < y) - (x > y);
}

/* The smallest gap such that few rows above it differ from the next stage. */
static double find_gap(exit_row *rows, size_t n) {
    qsort(rows, n, sizeof *rows, by_gap);
    size_t differ = 0, most = (size_t)(WRONG_EXITS * (double)n);
    for (size_t i = 0; i < n; i++) {
        differ += rows[i].differs;
        if (differ > most)
            return nextafterf(rows[i].gap, INFINITY);
    }
    return 0;
}

/* next: the outputs of the next network, or NULL: the teacher's classes. */
static limn_status gap_between(limn_context *ctx, const st_lessons *l, const float *own,
                               const float *next, double *gap) {
    size_t n = l->fresh.n;
    exit_row *rows = lm_alloc(&ctx->mem, n + 1, sizeof *rows);
    if (!rows)
        return lm_fail_memory(ctx);
    for (size_t i = 0; i < n; i++) {
        lm_best best = st_best(l, own + i * l->outputs);
        size_t other = next ? st_best(l, next + i * l->outputs).index : (size_t)l->fresh.teacher[i];
        rows[i] = (exit_row){best.gap, best.index != other};
    }
    *gap = find_gap(rows, n);
    lm_free(&ctx->mem, rows);
    return LIMN_OK;
}

/* ---- temperature ---- */

/* The sum of -log P(label) over the rows held out. */
static double log_loss(const st_lessons *l, const float *out, double tau) {
    double sum = 0;
    for (size_t i = 0; i < l->held.n; i++) {
        const float *z = out + i * l->outputs;
        int32_t label = l->held.label[i];
        if (l->outputs == 1) {
            double odds = (label ? -1 : 1) * (double)z[0] / tau;
            sum += odds > 0 ? log1p(exp(-odds)) : log1p(exp(odds)) - odds;
            continue;
        }
        double own = (double)z[label], all = 0;
        for (size_t c = 0; c < l->outputs; c++)
            all += exp(fmin(((double)z[c] - own) / tau, 700));
        sum += log(all);
    }
    return sum;
}

/* The best of 1/4 .. 16, a twelfth of an octave fine. */
static double find_tau(const st_lessons *l, const float *out) {
    double best = 1, least = log_loss(l, out, 1);
    for (int i = -24; i <= 48; i++) {
        double tau = exp2(i / 12.0), loss = log_loss(l, out, tau);
        if (loss < least) {
            least = loss;
            best = tau;
        }
    }
    return best;
}

/* ---- choosing ---- */

/* A network or two of the fits, judged on rows held out. */
typedef struct candidate {
    st_choice choice;
    double work, differs;
} candidate;

static void judge(const st_lessons *l, const st_fit *fits, candidate *c) {
    const st_fit *own = &fits[c->choice.fit[0]], *next = &fits[c->choice.fit[c->choice.nets - 1]];
    size_t passed = 0, differ = 0;
    for (size_t i = 0; i < l->held.n; i++) {
        lm_best best = st_best(l, own->held + i * l->outputs);
        bool passes = c->choice.nets > 1 && (double)best.gap < c->choice.gap[0];
        if (passes)
            best = st_best(l, next->held + i * l->outputs);
        passed += passes;
        differ += best.index != (size_t)l->held.teacher[i];
    }
    double n = l->held.n ? (double)l->held.n : 1;
    c->work = st_size_work(&own->size, l->d, l->outputs);
    if (c->choice.nets > 1)
        c->work += (double)passed / n * st_size_work(&next->size, l->d, l->outputs);
    c->differs = (double)differ / n;
}

/* One network, or two of which the first is the smaller. */
static limn_status make_candidate(limn_context *ctx, const st_lessons *l, const st_fit *fits,
                                  size_t first, size_t second, candidate *c) {
    limn_status status = LIMN_OK;
    *c = (candidate){.choice = {.nets = first == second ? 1 : 2, .fit = {first, second}}};
    if (first != second)
        status = gap_between(ctx, l, fits[first].fresh, fits[second].fresh, &c->choice.gap[0]);
    if (status == LIMN_OK && l->classes)
        judge(l, fits, c);
    if (!l->classes) {
        c->work = st_size_work(&fits[first].size, l->d, l->outputs);
        c->differs = fits[first].differs;
    }
    return status;
}

#define HARDLY_MORE 0.001

/* The cheapest of those that differ from the teacher little enough; if there are none within the
 * limits, the one that differs least among the cheap ones, or the cheapest. */
static size_t pick(const candidate *list, size_t count, const st_options *o) {
    size_t best = 0, found = count;
    for (size_t i = 1; i < count; i++) {
        bool cheap = o->work <= 0 || list[i].work <= o->work;
        bool was = o->work <= 0 || list[best].work <= o->work;
        if (cheap != was ? cheap
            : cheap      ? list[i].differs < list[best].differs
                         : list[i].work < list[best].work)
            best = i;
    }
    double most = o->max_loss >= 0 ? o->max_loss : list[best].differs + HARDLY_MORE;
    for (size_t i = 0; i < count; i++)
        if ((o->work <= 0 || list[i].work <= o->work) && list[i].differs <= most &&
            (found == count || list[i].work < list[found].work))
            found = i;
    return found < count ? found : best;
}

/* What was chosen, and whether it is what was asked for. */
static void tell(limn_context *ctx, const st_fit *fits, const candidate *c, const st_options *o,
                 bool classes) {
    char text[ST_SIZE_TEXT];
    st_size sizes[ST_NETS] = {fits[c->choice.fit[0]].size, fits[c->choice.fit[1]].size};
    st_size_format(sizes, c->choice.nets, text);
    lm_info(ctx, "student: chosen on rows held out: size=%s", text);
    if (o->work > 0 && c->work > o->work)
        lm_warn(ctx, "student: no size keeps to work=%.0f; size=%s needs %.0f multiply-adds",
                o->work, text, c->work);
    if (o->max_loss >= 0 && c->differs > o->max_loss)
        lm_warn(ctx,
                "student: no size keeps to max_loss=%g; size=%s differs from the teacher in %.2f "
                "%% of the %s held out",
                o->max_loss, text, 100 * c->differs, classes ? "rows" : "variance of rows");
}

static bool is_smaller(const st_lessons *l, const st_fit *a, const st_fit *b) {
    return st_size_work(&a->size, l->d, l->outputs) < st_size_work(&b->size, l->d, l->outputs);
}

static limn_status choose_sizes(limn_context *ctx, const st_lessons *l, const st_options *o,
                                const st_fit *fits, size_t count, st_choice *choice) {
    size_t made = 0;
    candidate *list = lm_alloc(&ctx->mem, count * count, sizeof *list);
    limn_status status = list ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count && status == LIMN_OK; b++)
            if (a == b || (l->classes && is_smaller(l, &fits[a], &fits[b])))
                status = make_candidate(ctx, l, fits, a, b, &list[made++]);
    if (status == LIMN_OK) {
        const candidate *picked = &list[pick(list, made, o)];
        *choice = picked->choice;
        tell(ctx, fits, picked, o, l->classes > 0);
    }
    lm_free(&ctx->mem, list);
    return status;
}

limn_status st_choose(limn_context *ctx, const st_lessons *lessons, const st_options *options,
                      const st_fit *fits, size_t count, st_choice *choice) {
    limn_status status;
    if (options->nets) {
        candidate c;
        status = make_candidate(ctx, lessons, fits, 0, count - 1, &c);
        *choice = c.choice;
    } else {
        status = choose_sizes(ctx, lessons, options, fits, count, choice);
    }
    if (status != LIMN_OK || !lessons->classes)
        return status;
    size_t last = choice->nets - 1;
    for (size_t i = 0; i <= last; i++)
        choice->tau[i] = find_tau(lessons, fits[choice->fit[i]].held);
    return options->last
               ? gap_between(ctx, lessons, fits[choice->fit[last]].fresh, NULL, &choice->gap[last])
               : LIMN_OK;
}
