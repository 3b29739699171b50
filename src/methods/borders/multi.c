/* multi.c: from pairs to classes: all pairs, or a decision graph that asks k - 1 of them.
 *
 * J. Platt, N. Cristianini and J. Shawe-Taylor, "Large margin DAGs for multiclass classification",
 * 2000: of the classes that are left, the first and the last are compared, and the loser goes. The
 * graph is taken if it gives rows held out the class that the teacher gives them as often as the
 * votes of all pairs do, but for TOLERATED. */
#include "base/argmax.h"
#include "methods/borders/borders.h"

#include <math.h>
#include <string.h>

enum { JUDGED = 4000 };
#define TOLERATED 0.005 /* of the rows */

limn_status bd_find_places(limn_context *ctx, bd_model *m) {
    size_t at = 0;
    m->longest = 0;
    m->first = lm_alloc(&ctx->mem, m->pairs + 1, sizeof *m->first);
    if (!m->first)
        return lm_fail_memory(ctx);
    for (size_t p = 0; p < m->pairs; p++) {
        size_t count = bd_count(m, p), panels = (count + LM_PANEL - 1) / LM_PANEL;
        m->first[p] = (uint32_t)at;
        at += m->dag ? panels * LM_PANEL : count;
        if (at > UINT32_MAX)
            return lm_fail(ctx, LIMN_E_USAGE, "borders: too many border vectors; choose fewer");
        m->longest = count > 1 && panels > m->longest ? panels : m->longest;
    }
    m->first[m->pairs] = (uint32_t)at;
    return LIMN_OK;
}

/* ---- judging ---- */

typedef struct judging {
    const bd_model *m;
    const lm_teacher *teacher;
    size_t judged;
    size_t agreed[2]; /* votes of all pairs; the graph */
    double visited;
    double *g, *answers; /* LM_BATCH x pairs; LM_BATCH x width */
    double asked;
    float *x;
    int32_t *votes;
    void *scratch;
} judging;

/* The class that a teacher gives a row. */
static size_t class_of(const lm_teacher *teacher, const double *answer, int32_t *votes) {
    size_t best = 0;
    if (teacher->kind == LM_TEACHES_PAIRS)
        return (size_t)lm_vote_pairs(teacher->classes, answer, votes);
    if (teacher->kind == LM_TEACHES_PROBA)
        return lm_argmax(answer, teacher->classes);
    for (size_t c = 1; c < teacher->classes; c++)
        best = answer[c] < answer[best] ? c : best;
    return best;
}

static void judge_row(judging *w, const double *g, size_t class) {
    const bd_model *m = w->m;
    bd_descent at = bd_descent_begin(m->classes);
    while (at.low < at.high) {
        size_t pair = lm_pair_index(m->classes, at.low, at.high);
        w->visited += (double)bd_pair_touched(m, pair);
        (void)bd_descend(&at, g[pair]);
    }
    w->judged++;
    w->agreed[0] += (size_t)lm_vote_pairs(m->classes, g, w->votes) == class;
    w->agreed[1] += at.low == class;
}

/* What the teacher says of n rows, unless that is known. */
static limn_status judge_rows(limn_context *ctx, judging *w, size_t n, bool known) {
    limn_status status = known ? LIMN_OK : w->teacher->answer(w->teacher, ctx, w->x, n, w->answers);
    if (status != LIMN_OK)
        return status;
    w->asked += known ? 0 : (double)n;
    bd_scores(w->m, w->x, n, w->g, w->scratch);
    for (size_t i = 0; i < n; i++)
        judge_row(w, w->g + i * w->m->pairs,
                  class_of(w->teacher, w->answers + i * w->teacher->width, w->votes));
    return lm_progress(ctx, "choosing how classes are found", 0, 0, -1);
}

/* All classes' rows that are held out, but no more than JUDGED in all. */
static limn_status judge_all(limn_context *ctx, const bd_rows *rows, judging *w) {
    const lm_train_set *set = rows->set;
    limn_status status = LIMN_OK;
    size_t all = 0, n = 0, width = set->teacher->width;
    for (size_t c = 0; c < set->classes; c++)
        all += bd_held_rows(rows, c);
    for (size_t c = 0; c < set->classes && status == LIMN_OK; c++) {
        size_t held = bd_held_rows(rows, c), most = held;
        if (all > JUDGED)
            most = (size_t)ceil((double)held * JUDGED / (double)all);
        for (size_t i = 0; i < most && status == LIMN_OK; i++) {
            uint32_t row = rows->row[rows->start[c + 1] - 1 - i];
            memcpy(w->x + n * set->d, set->x + row * set->d, set->d * sizeof *w->x);
            if (rows->answers)
                memcpy(w->answers + n * width, rows->answers + row * width,
                       width * sizeof *w->answers);
            if (++n < LM_BATCH)
                continue;
            status = judge_rows(ctx, w, n, rows->answers);
            n = 0;
        }
    }
    return n && status == LIMN_OK ? judge_rows(ctx, w, n, rows->answers) : status;
}

limn_status bd_judge_multi(limn_context *ctx, const bd_rows *rows, bd_multi multi, bd_model *m,
                           bool *dag) {
    const limn_allocator *mem = &ctx->mem;
    lm_cursor at = lm_cursor_at(NULL);
    *dag = multi == BD_DAG && m->classes > 2;
    if (m->classes < 3 || multi == BD_OVO)
        return LIMN_OK;
    judging w = {.m = m, .teacher = rows->set->teacher};
    bd_scratch(m, LM_BATCH, 0, &at);
    w.scratch = lm_alloc_measured(mem, &at);
    w.g = lm_alloc(mem, LM_BATCH * sizeof *w.g, m->pairs);
    w.answers = lm_alloc(mem, LM_BATCH * sizeof *w.answers, w.teacher->width);
    w.x = lm_alloc(mem, LM_BATCH * sizeof *w.x, m->d);
    w.votes = lm_alloc(mem, m->classes, sizeof *w.votes);
    bool fine = w.scratch && w.g && w.answers && w.x && w.votes;
    limn_status status = fine ? judge_all(ctx, rows, &w) : lm_fail_memory(ctx);
    double tolerated = TOLERATED * (double)w.judged;
    *dag |= (double)w.agreed[1] + tolerated >= (double)w.agreed[0];
    m->asked += w.asked;
    m->visited = w.judged ? w.visited / (double)w.judged : 0;
    lm_free_aligned(mem, w.scratch);
    lm_free(mem, w.g);
    lm_free(mem, w.answers);
    lm_free(mem, w.x);
    lm_free(mem, w.votes);
    return status;
}

/* ---- what is worth racing ---- */

typedef struct raced {
    const char *params;
    double vectors; /* per pair */
    bool dag;
} raced;

/* Neighbours in the list differ only in multi: their borders are drawn once. Planes need few
 * points.
 */
static const raced of_many[] = {
    {"form=plane multi=dag pool=2000", 1, true}, {"form=plane multi=ovo pool=2000", 1, false},
    {"borders=20 multi=dag", 20, true},          {"borders=20 multi=ovo", 20, false},
    {"borders=75 multi=dag", 75, true},          {"borders=75 multi=ovo", 75, false},
};
static const raced of_two[] = {
    {"form=plane", 1, true},
    {"borders=20", 20, true},
    {"borders=100", 100, true},
    {"borders=500", 500, true},
};

bool bd_candidate(const lm_shape *shape, size_t index, lm_candidate *out) {
    bool two = shape->classes <= 2;
    const raced *list = two ? of_two : of_many;
    if (index >= (two ? LM_COUNT(of_two) : LM_COUNT(of_many)))
        return false;
    double asked =
        list[index].dag ? (double)shape->classes - 1 : (double)bd_pair_count(shape->classes);
    out->params = list[index].params;
    out->needs = LM_NEEDS_TEACHER;
    out->cost = asked * list[index].vectors * (double)(shape->d + 1);
    return true;
}
