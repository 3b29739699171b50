/* ptree_hostile.h: models of several kinds as bytes, which a test damages: where things are in
 * them, and what a model that is read from them must do. */
#ifndef LIMN_TESTS_PTREE_HOSTILE_H
#define LIMN_TESTS_PTREE_HOSTILE_H

#include "ptree_world.h"
#include "reseal.h"

typedef struct form {
    const char *method, *params;
    size_t classes;
    kind rows;
} form;

enum { D = 2, ROWS = 60, ASKED = 6, CLASSES_MOST = 8 };
#define TREE "gamma=0.5 budget=4 patience=1 reservoir=9 finish=no "

/* W, Z, B, P, F, J: the places of forms. */
enum { W, Z, B, P, F, J };
static const form forms[] = {
    {"ptree", TREE "depth=4", 2, CURVED},
    {"ptree", TREE "split=zpq depth=4", 3, CURVED},
    {"ptree", TREE "split=bal kernel=poly coef0=1 degree=2 depth=5 reservoir=0", 2, CURVED},
    {"ptree", "style=paper kernel=chi2 gamma=1 split=ent budget=4 reservoir=9 depth=5", 3,
     POSITIVE},
    {"forgetron", "gamma=0.5 budget=5", 2, CURVED},
    {"projectron", "gamma=0.5 average=yes plus=1 budget=9", 3, CURVED}};

typedef struct world {
    const form *form;
    limn_context *ctx;
    rows rows;
    unsigned char *bytes, *damaged;
    size_t size;
} world;

static inline limn_model *train_form(limn_context *ctx, const form *f, const rows *r) {
    limn_train_options options;
    limn_model *model = NULL;
    limn_data *data = NULL;
    double y[ROWS];
    param_list own = {.count = 0};
    for (size_t i = 0; i < ROWS; i++)
        y[i] = (double)r->label[i];
    limn_train_options_init(&options);
    add_params(&own, f->params);
    options.method = f->method;
    options.params = own.list;
    options.param_count = own.count;
    options.scale = LIMN_SCALE_NONE;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, r->x, ROWS, D, y, &data), LIMN_OK);
    if (limn_train(ctx, data, &options, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    limn_data_free(data);
    return model;
}

static inline void begin(world *w, const form *f) {
    *w = (world){.form = f, .ctx = make_context(NULL, 1, 3)};
    w->rows = draw_rows(f->rows, ROWS, D, f->classes, 4);
    limn_model *model = train_form(w->ctx, f, &w->rows);
    const pt_model *m = model->body;
    assert_true(strcmp(f->method, "ptree") != 0 || m->leaves >= 4);
    assert_int_equal(m->classes, f->classes);
    assert_int_equal(lm_model_bytes(w->ctx, model, &w->bytes, &w->size), LIMN_OK);
    w->damaged = malloc(w->size);
    limn_model_free(model);
}

static inline void end(world *w) {
    lm_free(&w->ctx->mem, w->bytes);
    free(w->damaged);
    free_rows(&w->rows);
    limn_context_free(w->ctx);
}

/* ---- what a model that was read must do ---- */

static inline void check_numbers(const world *w, limn_predictor *p, size_t k) {
    int32_t class[ASKED];
    double proba[ASKED * CLASSES_MOST], scores[ASKED * CLASSES_MOST * CLASSES_MOST];
    size_t pairs = k * (k - 1) / 2;
    assert_int_equal(limn_predict(p, w->rows.x, ASKED, class), LIMN_OK);
    assert_int_equal(limn_predict_proba(p, w->rows.x, ASKED, proba), LIMN_OK);
    if (pairs)
        assert_int_equal(limn_predict_scores(p, w->rows.x, ASKED, scores), LIMN_OK);
    for (size_t i = 0; i < ASKED; i++) {
        double sum = 0;
        assert_true(class[i] >= 0 && (size_t) class[i] < k);
        for (size_t c = 0; c < k; c++) {
            assert_true(proba[i * k + c] >= 0 &&
                        proba[i * k + c] <= proba[i * k + (size_t) class[i]]);
            sum += proba[i * k + c];
        }
        assert_true(fabs(sum - 1) < 1e-9);
    }
    for (size_t i = 0; i < ASKED * pairs; i++)
        assert_true(isfinite(scores[i]));
}

static inline void ask(world *w, const limn_model *model) {
    limn_predictor *p = NULL;
    size_t k = model->schema.labels.count;
    if (model->schema.features != D || k > CLASSES_MOST)
        return;
    assert_int_equal(limn_predictor_new(w->ctx, model, NULL, &p), LIMN_OK);
    check_numbers(w, p, k);
    limn_predictor_free(p);
}

/* The first n rows, the last of them of a class that is new. */
static inline void learn_on(world *w, limn_model *model, size_t n) {
    int32_t label[ROWS], fresh = 0;
    size_t learned = 0, k = model->schema.labels.count;
    uint64_t before = model->rows;
    if (model->schema.features != D || k + 1 > CLASSES_MOST)
        return;
    for (size_t i = 0; i < n; i++)
        label[i] = w->rows.label[i] < (int32_t)k ? (int32_t)(k - 1) - w->rows.label[i] : 0;
    limn_lesson lesson = {.size = sizeof lesson, .n = n - 1, .x = w->rows.x, .classes = label};
    (void)limn_learn(w->ctx, model, &lesson, &learned);
    assert_int_equal(model->rows - before, learned);
    if (limn_model_add_class(w->ctx, model, "a class that is new", &fresh) == LIMN_OK) {
        label[0] = fresh;
        lesson.n = 1;
        (void)limn_learn(w->ctx, model, &lesson, NULL);
    }
    ask(w, model);
}

/* The first `size` bytes of the damaged copy; then learns `rows` rows if there are any. */
static inline limn_status load_part(world *w, size_t size, size_t rows_to_learn) {
    lm_file *file = NULL;
    limn_model *model = NULL;
    unsigned char *exact = malloc(size + 1);
    memcpy(exact, w->damaged, size);
    reseal(exact, size);
    limn_status status = lm_file_from_memory(w->ctx, exact, size, "t.limn", &file);
    free(exact);
    if (status == LIMN_OK)
        status = lm_model_load(w->ctx, file, &model);
    assert_int_equal(status == LIMN_OK, model != NULL);
    assert_true(model || *limn_error(w->ctx));
    if (model)
        ask(w, model);
    if (model && rows_to_learn)
        learn_on(w, model, rows_to_learn);
    limn_model_free(model);
    return status;
}

static inline limn_status load(world *w) {
    return load_part(w, w->size, 0);
}

/* ---- places in the file ---- */

static inline void restore(world *w) {
    memcpy(w->damaged, w->bytes, w->size);
}

/* The table entry of a section in the damaged copy, which is restored; its place and size. A name
 * that begins with a dot is that of a part of the method. */
static inline unsigned char *entry_of(world *w, const char *part, uint64_t place[2]) {
    char name[24];
    uint32_t count;
    (void)snprintf(name, sizeof name, "%s%s", *part == '.' ? w->form->method : "", part);
    restore(w);
    memcpy(&count, w->damaged + 12, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        unsigned char *entry = w->damaged + 64 + i * 64;
        memcpy(place, entry + 32, 2 * sizeof *place);
        if (strncmp((const char *)entry, name, 24) == 0)
            return entry;
    }
    fail_msg("there is no section %s", name);
    return NULL;
}

static inline unsigned char *section_of(world *w, const char *part, size_t *size) {
    uint64_t place[2];
    (void)entry_of(w, part, place);
    *size = (size_t)place[1];
    return w->damaged + place[0];
}

/* The value of a key, which follows its final zero. */
static inline unsigned char *value_of(world *w, const char *part, const char *key) {
    size_t size, length = strlen(key) + 1;
    unsigned char *section = section_of(w, part, &size);
    for (size_t i = 16; i + length + 1 <= size; i++)
        if (memcmp(section + i, key, length) == 0)
            return section + i + length;
    fail_msg("there is no key %s", key);
    return NULL;
}

static inline void refuse(world *w, const char *what) {
    if (load(w) != LIMN_E_MODEL)
        fail_msg("%s: %s was taken", w->form->method, what);
}

/* Writes `size` bytes at an offset of a restored section, and expects a refusal. */
static inline void refuse_at(world *w, const char *part, size_t at, const void *bytes,
                             size_t size) {
    char what[64];
    size_t room;
    unsigned char *section = section_of(w, part, &room);
    assert_true(at + size <= room);
    memcpy(section + at, bytes, size);
    (void)snprintf(what, sizeof what, "%s at %zu", part, at);
    refuse(w, what);
}

/* The same bytes, but the file is to be taken, and to learn. */
static inline void take_at(world *w, const char *part, size_t at, const void *bytes, size_t size) {
    size_t room;
    unsigned char *section = section_of(w, part, &room);
    memcpy(section + at, bytes, size);
    if (load_part(w, w->size, 40) != LIMN_OK)
        fail_msg("%s at %zu: %s", part, at, limn_error(w->ctx));
}

#endif
