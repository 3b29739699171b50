/* scale_learned_slow.h: the gate of a learned scaling (learned.c) by its definition in plain loops,
 * with the losses and the walk of scale_evidence_slow.h; and what the tests share: rows that are
 * known, and models trained on them. Which rows are drawn and the fitting of maps are the
 * library's.
 */
#ifndef LIMN_TESTS_SCALE_LEARNED_SLOW_H
#define LIMN_TESTS_SCALE_LEARNED_SLOW_H

#include "data/split.h"
#include "model/model.h"
#include "scale_evidence_slow.h"
#include "scale_map_slow.h"

/* ---- rows ---- */

typedef enum scene {
    GOOD,  /* classes, or values, of the two features below; all others are noise */
    NOISE, /* classes, or values, of nothing */
    BLOBS  /* round classes far apart */
} scene;

enum { FIRST_GOOD = 1 };

static inline size_t second_good(size_t d) {
    return d - 1;
}

/* Of the scene GOOD: sectors of the plane. */
static inline size_t class_of(double u, double v, size_t classes) {
    return (size_t)((atan2(v, u) + 3.1416) / 6.2833 * (double)classes) % classes;
}

/* classes 0: targets. Every row is in the list. */
static inline sample scene_make(scene kind, size_t n, size_t d, size_t classes, uint64_t seed) {
    lm_rng rng = lm_rng_at(seed, n, d);
    sample s = {calloc(n * d, sizeof *s.x), calloc(n, sizeof *s.label), doubles(n),
                calloc(n, sizeof *s.row),   {.n = n, .d = d},           {.n = n}};
    for (size_t i = 0; i < n; i++) {
        float *x = s.x + i * d;
        size_t class = classes ? i % classes : 0;
        for (size_t j = 0; j < d; j++)
            x[j] = (float)lm_rng_normal(&rng);
        double u = (double)x[FIRST_GOOD % d], v = (double)x[second_good(d)];
        if (kind == GOOD && classes)
            class = class_of(u, v, classes);
        if (kind == NOISE && classes)
            class = lm_rng_below(&rng, classes);
        x[class % d] += kind == BLOBS ? 12 : 0;
        s.label[i] = (int32_t) class;
        s.target[i] = kind == NOISE ? lm_rng_normal(&rng) : 2 * u + sin(2 * v);
        s.row[i] = i;
    }
    s.fit.row = s.row;
    s.rows.x = s.x;
    s.rows.label = classes ? s.label : NULL;
    s.rows.classes = classes;
    s.rows.target = classes ? NULL : s.target;
    return s;
}

/* Whole numbers: ties and duplicates. */
static inline void round_rows(sample *s) {
    for (size_t k = 0; k < s->rows.n * s->rows.d; k++)
        s->x[k] = roundf(s->x[k]);
}

/* All other rows are alike, so that there is no map for the fold in which this one is held out. */
static inline void single_out(sample *s, size_t row) {
    for (size_t i = 0; i < s->rows.n; i++) {
        s->label[i] = i == row;
        s->target[i] = i == row;
    }
}

/* LIMN_SCALE_LEARNED: the scaling of the columns is chosen, too. Else it is this one. */
static inline limn_status try_learn(world *w, const sample *s, limn_scale kind, lm_scaler *scaler) {
    if (kind == LIMN_SCALE_LEARNED)
        return lm_scaler_fit(w->ctx, kind, false, &s->rows, scaler);
    limn_status status = lm_scaler_fit_columns(w->ctx, kind, false, &s->rows, scaler);
    if (status != LIMN_OK)
        return status;
    status = lm_scaler_learn(w->ctx, &s->rows, scaler);
    if (status != LIMN_OK)
        lm_scaler_free(&w->ctx->mem, scaler);
    return status;
}

static inline lm_scaler learn(world *w, const sample *s, limn_scale kind) {
    lm_scaler scaler;
    if (try_learn(w, s, kind, &scaler) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    return scaler;
}

/* ---- the gate ---- */

enum { CANDIDATES = LM_MAPS + 1 };

typedef struct slow_gate {
    world *w;
    const sample *s;
    const lm_scaler *plain; /* the scaling of the columns */
    size_t most_fit, judged, done;
    size_t *drawn; /* in the order of the draw: the rows held out, those fitted to, the others */
    double *loss;  /* CANDIDATES x judged x JUDGES */
    lm_map *maps[LM_MAPS];
} slow_gate;

static inline lm_row_list thinned(lm_row_list list, size_t most, size_t *row) {
    size_t n = list.n < most ? list.n : most;
    for (size_t i = 0; i < n; i++)
        row[i] = list.row[i * list.n / n];
    return (lm_row_list){row, n};
}

static inline void judge_slowly(slow_gate *g, lm_row_list stored, lm_row_list asked) {
    for (size_t c = 0; c < CANDIDATES; c++) {
        lm_scaler scaler = *g->plain;
        scaler.map = c ? g->maps[c - 1] : NULL;
        scaler.out = scaler.map ? scaler.map->out : scaler.kept;
        slow_losses(g->w->ctx, &scaler, &g->s->rows, stored, asked, false,
                    g->loss + (c * g->judged + g->done) * JUDGES);
    }
    g->done += asked.n;
}

static inline void fit_slowly(slow_gate *g, lm_row_list fit, unsigned wanted) {
    for (size_t i = 0; i < LM_MAPS; i++)
        lm_map_free(&g->w->ctx->mem, g->maps[i]);
    assert_int_equal(lm_maps_fit(g->w->ctx, g->plain, &g->s->rows, fit, wanted, g->maps), LIMN_OK);
}

/* The rows whose mark is one of these, in order. */
static inline lm_row_list marked(const uint32_t *mark, size_t n, bool same, uint32_t as,
                                 size_t *row) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if ((mark[i] == as) == same)
            row[count++] = i;
    return (lm_row_list){row, count};
}

/* In folds, or with the rows of mark 0 held out. */
static inline void judge_all(slow_gate *g, const uint32_t *mark, size_t folds) {
    size_t n = g->s->rows.n, *list = calloc(3 * n, sizeof *list);
    for (uint32_t f = 0; f < folds; f++) {
        lm_row_list asked = marked(mark, n, true, f, list);
        lm_row_list stored = marked(mark, n, false, f, list + n);
        lm_row_list fit = folds == 1 ? (lm_row_list){g->drawn + asked.n, g->most_fit}
                                     : thinned(stored, g->most_fit, list + 2 * n);
        fit_slowly(g, fit, 15);
        judge_slowly(g, stored, asked);
    }
    free(list);
}

/* The fold of each row, or whether it is not held out; returns the number of folds. */
static inline size_t mark_rows(const slow_gate *g, uint32_t *mark) {
    const lm_scaler_rows *rows = &g->s->rows;
    size_t n = rows->n, folds = n < 1000 ? 5 : 3, asked = n / 3 < 4000 ? n / 3 : 4000;
    if (n < 3000) {
        assert_int_equal(lm_split_folds(g->w->ctx, rows->label, n, folds, g->w->ctx->seed, mark),
                         LIMN_OK);
        return folds;
    }
    size_t counts[] = {asked, g->most_fit};
    assert_int_equal(lm_split_spread(g->w->ctx, rows->label, n, counts, 2, g->w->ctx->seed,
                                     lm_stream_of("scale map"), g->drawn),
                     LIMN_OK);
    for (size_t i = 0; i < n; i++)
        mark[g->drawn[i]] = i >= asked;
    return 1;
}

/* The map that the walk ends with, or NULL. */
static inline lm_map *choose_slowly(slow_gate *g, lm_trials *t) {
    static const char *const names[] = {"identity", "soft", "d1f", "d2f", "d4f"};
    static const int64_t z[] = {0, 1, 1, 1, 1};
    size_t n = g->s->rows.n, *row = calloc(n, sizeof *row);
    uint32_t *mark = calloc(n, sizeof *mark);
    g->drawn = calloc(n, sizeof *g->drawn);
    size_t folds = mark_rows(g, mark);
    g->judged = folds > 1 ? n : marked(mark, n, true, 0, row).n;
    g->loss = doubles(CANDIDATES * g->judged * JUDGES);
    judge_all(g, mark, folds);
    assert_int_equal(g->done, g->judged);
    size_t choice = slow_walk(names, z, CANDIDATES, !g->s->rows.label, g->loss, g->judged, t);
    if (choice && folds > 1)
        fit_slowly(g, thinned(g->s->fit, g->most_fit, row), 1u << (choice - 1));
    lm_map *map = choice ? g->maps[choice - 1] : NULL;
    for (size_t i = 0; i < LM_MAPS; i++)
        if (i + 1 != choice)
            lm_map_free(&g->w->ctx->mem, g->maps[i]);
    free(g->loss);
    free(g->drawn);
    free(mark);
    free(row);
    return map;
}

/* ---- models ---- */

typedef struct asking {
    const char *method, *params;
    limn_scale scale;
    const limn_model *teacher;
    limn_teach *teach;
    void *user;
} asking;

static inline limn_data *data_of(limn_context *ctx, const sample *s, limn_task task) {
    limn_data *data = NULL;
    double *y = doubles(s->rows.n);
    for (size_t i = 0; i < s->rows.n; i++)
        y[i] = s->rows.label ? (double)s->label[i] : s->target[i];
    (void)limn_data_from_values(ctx, task, s->x, s->rows.n, s->rows.d, y, &data);
    free(y);
    return data;
}

static inline limn_task task_of(const sample *s) {
    return s->rows.label ? LIMN_CLASSIFY : LIMN_REGRESS;
}

static inline limn_status try_train(limn_context *ctx, const sample *s, const asking *a,
                                    limn_model **model) {
    limn_train_options options;
    param_list params = {.count = 0};
    limn_data *data = data_of(ctx, s, task_of(s));
    limn_train_options_init(&options);
    add_params(&params, a->params);
    options.method = a->method;
    options.params = params.list;
    options.param_count = params.count;
    options.scale = a->scale;
    options.teacher = a->teacher;
    options.teach = a->teach;
    options.teach_user = a->user;
    *model = NULL;
    limn_status status = data ? limn_train(ctx, data, &options, model) : LIMN_E_MEMORY;
    limn_data_free(data);
    return status;
}

static inline limn_model *train(limn_context *ctx, const sample *s, const asking *a) {
    limn_model *model = NULL;
    if (try_train(ctx, s, a, &model) != LIMN_OK)
        fail_msg("%s: %s", a->method, limn_error(ctx));
    return model;
}

/* The classes or values that the model answers, as numbers; step rows per call. */
static inline double *answers(limn_context *ctx, const limn_model *model, const float *x, size_t n,
                              size_t step) {
    double *out = doubles(n);
    int32_t *class = calloc(n, sizeof *class);
    limn_predictor *p = NULL;
    bool regress = model->schema.task == LIMN_REGRESS;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    for (size_t i = 0; i < n; i += step) {
        const float *at = x + i * model->schema.features;
        assert_int_equal(regress ? limn_predict_values(p, at, step, out + i)
                                 : limn_predict(p, at, step, class + i),
                         LIMN_OK);
    }
    for (size_t i = 0; i < n && !regress; i++)
        out[i] = strtod(limn_model_class_name(model, (size_t) class[i]), NULL);
    limn_predictor_free(p);
    free(class);
    return out;
}

#endif
