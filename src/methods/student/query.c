/* query.c: the first network answers a tile of rows; those of which it is not sure go to the second
 * network, and from there to the teacher's machine, if the model has it. */
#include "base/argmax.h"
#include "methods/student/student.h"
#include "num/platt.h"

#include <math.h>
#include <string.h>

enum { TILE = LM_LAYERS_TILE };

typedef struct layout {
    float *z;       /* tile x stride: outputs */
    float *x;       /* tile x d: shifted, or gathered for the next stage */
    void *layers;   /* of the network that needs more */
    double *f;      /* tile x pairs: decision values of the teacher's machine */
    int32_t *votes; /* classes */
    void *machine;
} layout;

/* ---- scratch ---- */

static inline layout lay_out(const st_model *m, size_t rows, lm_cursor *at) {
    size_t tile = rows < TILE ? rows : TILE, bytes = 0;
    layout l = {.x = NULL};
    if (m->nets == 0)
        return l;
    l.z = lm_take_cells(at, tile, lm_layers_stride(&m->net[0]), sizeof *l.z);
    l.x = lm_take_cells(at, tile, m->d, sizeof *l.x);
    l.layers = lm_here(at);
    /* The networks take turns. */
    lm_layers_scratch(&m->net[m->nets > 1 && m->net[1].room > m->net[0].room], tile, at);
    if (!m->last)
        return l;
    l.f = lm_take_cells(at, tile, lm_svm_functions(&m->svm), sizeof *l.f);
    l.votes = lm_take(at, m->classes, sizeof *l.votes);
    l.machine = lm_take(at, lm_machine_scratch(&m->machine, tile, &bytes) ? bytes : SIZE_MAX, 1);
    return l;
}

void st_scratch(const void *opaque, size_t rows, size_t neighbors, lm_cursor *at) {
    (void)neighbors;
    (void)lay_out(opaque, rows, at);
}

/* ---- one row ---- */

/* Without a gap if the network never hands over. */
static inline lm_best best_of(const st_model *m, size_t net, const float *z) {
    if (m->classes == 2)
        return (lm_best){!(z[0] > 0), fabsf(z[0])};
    return m->gap[net] > 0 ? lm_layers_best(z, m->classes)
                           : (lm_best){lm_layers_largest(z, m->classes), 0};
}

static void soften(const st_model *m, size_t net, const float *z, double *p) {
    double tau = m->tau[net], sum = 0;
    if (m->classes == 2) {
        double small = exp(-fabs((double)z[0]) / tau);
        double less = small >= 0 ? small / (1 + small) : 0.5; /* NaN */
        p[0] = z[0] > 0 ? 1 - less : less;
        p[1] = 1 - p[0];
        return;
    }
    double most = (double)z[lm_argmax_float(z, m->classes)];
    for (size_t c = 0; c < m->classes; c++)
        sum += p[c] = exp(((double)z[c] - most) / tau);
    bool sound = sum >= 1 && sum < INFINITY; /* the sums of a damaged file may overflow */
    for (size_t c = 0; c < m->classes; c++)
        p[c] = sound ? p[c] / sum : 1 / (double)m->classes;
}

/* ---- a tile of rows ---- */

/* Where the answers of a tile go, and what the query did. */
typedef struct answers {
    int32_t *classes; /* or NULL */
    double *proba;    /* or NULL */
    size_t passed[ST_NETS];
    double *work; /* or NULL: multiply-adds are not counted */
} answers;

static void answer_row(const st_model *m, size_t net, size_t class, const float *z, size_t row,
                       answers *to) {
    if (to->classes)
        to->classes[row] = (int32_t) class;
    if (!to->proba)
        return;
    soften(m, net, z, to->proba + row * m->classes);
    lm_prefer(class, m->classes, to->proba + row * m->classes);
}

/* Runs a network over n <= TILE rows. Those that it hands over are listed in `again`; returns their
 * number. */
static size_t run(const st_model *m, size_t net, const float *x, const uint32_t *row, size_t n,
                  layout *l, answers *to, uint32_t *again) {
    size_t width = lm_layers_stride(&m->net[net]), left = 0;
    bool last = net + 1 == m->nets;
    lm_layers_run(&m->net[net], x, m->d, n, l->z, to->work, l->layers);
    for (size_t i = 0; i < n; i++) {
        const float *z = l->z + i * width;
        lm_best best = best_of(m, net, z);
        bool passes = (double)best.gap < m->gap[net];
        if (passes)
            again[left++] = row[i];
        if (!passes || last) /* the teacher gives no probabilities */
            answer_row(m, net, best.index, z, row[i], to);
    }
    to->passed[net] += left;
    return left;
}

/* The rows listed, one after the other. In place if they are there already: a row moves to an
 * earlier place, or stays. */
static void gather(const st_model *m, const float *x, const uint32_t *row, size_t n, float *to) {
    for (size_t i = 0; i < n; i++)
        memmove(to + i * m->d, x + row[i] * m->d, m->d * sizeof *x);
}

static void ask_teacher(const st_model *m, const float *x, const uint32_t *row, size_t n, layout *l,
                        answers *to) {
    size_t pairs = lm_svm_functions(&m->svm);
    gather(m, x, row, n, l->x);
    lm_machine_values(&m->machine, l->x, m->d, n, l->f, l->machine);
    for (size_t i = 0; i < n; i++) {
        int32_t class = lm_vote_pairs(m->classes, l->f + i * pairs, l->votes);
        if (to->classes)
            to->classes[row[i]] = class;
        if (to->proba)
            lm_prefer((size_t) class, m->classes, to->proba + row[i] * m->classes);
    }
}

static const float *shift_tile(const st_model *m, const float *x, size_t n, layout *l) {
    if (!m->shifted)
        return x;
    for (size_t i = 0; i < n; i++)
        lm_layers_shift(x + i * m->d, m->centre, m->unit, m->d, l->x + i * m->d);
    return l->x;
}

static void answer_tile(const st_model *m, const float *x, size_t n, layout *l, answers *to) {
    uint32_t row[TILE], again[TILE];
    const float *in = shift_tile(m, x, n, l);
    for (size_t i = 0; i < n; i++)
        row[i] = (uint32_t)i;
    size_t left = run(m, 0, in, row, n, l, to, again);
    if (left && m->nets > 1) {
        if (n > 1)
            gather(m, in, again, left, l->x);
        memcpy(row, again, left * sizeof *row);
        left = run(m, 1, n > 1 ? l->x : in, row, left, l, to, again);
    }
    if (left && m->last)
        ask_teacher(m, x, again, left, l, to);
}

static void answer_all(const st_model *m, const float *x, size_t n, answers *to, void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    for (size_t i = 0; i < n; i += TILE) {
        size_t some = n - i < TILE ? n - i : TILE;
        answer_tile(m, x + i * m->d, some, &l, to);
        to->classes = to->classes ? to->classes + some : NULL;
        to->proba = to->proba ? to->proba + some * m->classes : NULL;
    }
}

void st_predict(const void *opaque, const float *x, size_t n, int32_t *classes, void *scratch) {
    const st_model *m = opaque;
    answers to = {.classes = classes};
    if (m->nets)
        answer_all(m, x, n, &to, scratch);
    else
        memset(classes, 0, n * sizeof *classes);
}

void st_proba(const void *opaque, const float *x, size_t n, double *proba, void *scratch) {
    const st_model *m = opaque;
    answers to = {.proba = proba};
    if (m->nets)
        answer_all(m, x, n, &to, scratch);
    for (size_t i = 0; i < n && !m->nets; i++)
        proba[i] = 1;
}

/* work: multiply-adds are added to it; or NULL. */
static void find_values(const st_model *m, const float *x, size_t n, double *values, double *work,
                        void *scratch) {
    lm_cursor at = lm_cursor_at(scratch);
    layout l = lay_out(m, n, &at);
    for (size_t i = 0; i < n; i += TILE) {
        size_t some = n - i < TILE ? n - i : TILE, stride = lm_layers_stride(&m->net[0]);
        const float *in = shift_tile(m, x + i * m->d, some, &l);
        lm_layers_run(&m->net[0], in, m->d, some, l.z, work, l.layers);
        for (size_t q = 0; q < some && values; q++)
            values[i + q] = m->mean + m->spread * (double)l.z[q * stride];
    }
}

void st_values(const void *opaque, const float *x, size_t n, double *values, void *scratch) {
    const st_model *m = opaque;
    if (m->nets)
        find_values(m, x, n, values, NULL, scratch);
    for (size_t i = 0; i < n && !m->nets; i++)
        values[i] = m->mean;
}

/* ---- figures ---- */

static double units_of(const st_model *m, size_t net) {
    double units = 0;
    for (size_t l = 0; l < m->net[net].count; l++)
        units += (double)m->net[net].layer[l].outputs;
    return units;
}

/* A vector is a unit of a network, or a support vector of the teacher's machine. */
static lm_touched touched_by(const st_model *m, double rows, const double *passed, double work) {
    lm_touched t = {m->nets ? 0 : rows, 0};
    double reached = rows;
    for (size_t i = 0; i < m->nets; i++) {
        t.vectors += reached * units_of(m, i);
        reached = passed[i];
    }
    t.bytes = (work + t.vectors) * (double)sizeof(float); /* weights, and a bias per unit */
    if (m->last) {
        double vectors = reached * (double)m->svm.n;
        t.vectors += vectors;
        t.bytes += vectors * (double)m->d * (double)sizeof(float);
    }
    return t;
}

void st_touched(const void *opaque, const float *x, size_t n, lm_touched *sum, void *scratch) {
    const st_model *m = opaque;
    int32_t classes[LM_BATCH];
    double work = 0;
    answers to = {.classes = classes, .work = &work};
    if (m->nets && m->task == LIMN_REGRESS)
        find_values(m, x, n, NULL, &work, scratch);
    else if (m->nets)
        answer_all(m, x, n, &to, scratch);
    double passed[ST_NETS] = {(double)to.passed[0], (double)to.passed[1]};
    lm_touched own = touched_by(m, (double)n, passed, work);
    sum->vectors += own.vectors;
    sum->bytes += own.bytes;
}

void st_passed(const st_model *m, const float *x, size_t n, size_t passed[ST_NETS], double *work,
               int32_t *classes, void *scratch) {
    answers to = {.classes = classes, .work = work};
    if (m->task == LIMN_REGRESS)
        find_values(m, x, n, NULL, work, scratch);
    else
        answer_all(m, x, n, &to, scratch);
    for (size_t i = 0; i < ST_NETS; i++)
        passed[i] += to.passed[i];
}

void st_stats(const void *opaque, lm_stats *stats) {
    const st_model *m = opaque;
    const struct {
        const char *name;
        double value;
        bool shown;
    } list[] = {
        {"hidden units", m->nets ? units_of(m, 0) - (double)lm_layers_outputs(&m->net[0]) : 0,
         true},
        {"units of the second network",
         m->nets > 1 ? units_of(m, 1) - (double)lm_layers_outputs(&m->net[1]) : 0, m->nets > 1},
        {"% of queries handed over", 100 * m->passed[0], m->nets > 1},
        {"% that ask the teacher", m->nets ? 100 * m->passed[m->nets - 1] : 0, m->last},
        {"multiply-adds per query", m->work, true},
        {m->task == LIMN_REGRESS ? "R2 against the teacher" : "% agreement with the teacher",
         m->task == LIMN_REGRESS ? m->agreement : 100 * m->agreement, true},
        {m->task == LIMN_REGRESS ? "R2 on rows held out" : "% errors on rows held out",
         m->task == LIMN_REGRESS ? 1 - m->error : 100 * m->error, true},
        {"points asked of the teacher", m->asked, true},
        {"sharpness", m->sharpness, m->task == LIMN_CLASSIFY},
        {"learning rate", m->rate, true},
        {"visits", m->visits, true},
    };
    *stats = (lm_stats){.touched = touched_by(m, 1, m->passed, m->work)};
    for (size_t i = 0; i < LM_COUNT(list); i++)
        if (list[i].shown) {
            stats->list[stats->count].name = list[i].name;
            stats->list[stats->count++].value = list[i].value;
        }
}
