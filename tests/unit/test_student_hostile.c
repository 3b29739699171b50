/* Files of student that were tampered with, with valid checksums: every wrong number is refused,
 * and no change of a byte makes a load or a query fail otherwise than with a sentence. */
#include "reseal.h"
#include "student_world.h"

typedef struct world {
    limn_context *ctx;
    rows rows;
    unsigned char *bytes, *damaged;
    size_t size;
} world;

/* scale: of the first feature; with a large one, rows are shifted first. */
static void begin(world *w, size_t classes, const char *params, double scale) {
    memset(w, 0, sizeof *w);
    w->ctx = make_context(NULL, 1, 3);
    w->rows = (rows){.n = 24, .d = 2, .classes = classes, .scale = {scale, 1}};
    rows_fill(&w->rows, 4);
    limn_data *data = data_of(w->ctx, &w->rows);
    asking a = {.params = params, .teacher_method = "svm", .scale = LIMN_SCALE_NONE};
    limn_model *model = must(w->ctx, data, &a);
    const st_model *m = model->body;
    assert_int_equal(m->shifted, scale != 1);
    assert_int_equal(lm_model_bytes(w->ctx, model, &w->bytes, &w->size), LIMN_OK);
    w->damaged = malloc(w->size);
    limn_model_free(model);
    limn_data_free(data);
}

static void end(world *w) {
    lm_free(&w->ctx->mem, w->bytes);
    free(w->damaged);
    rows_free(&w->rows);
    limn_context_free(w->ctx);
}

/* A model that was read answers with its classes, whatever its numbers are. */
static void ask(world *w, const limn_model *model) {
    limn_predictor *p = NULL;
    int32_t class[24] = {0};
    double proba[24 * 64], value[24];
    size_t k = model->schema.labels.count;
    if (model->schema.features != 2 || k > 64 ||
        limn_predictor_new(w->ctx, model, NULL, &p) != LIMN_OK)
        return;
    if (model->schema.task == LIMN_CLASSIFY) {
        (void)limn_predict(p, w->rows.x, w->rows.n, class);
        (void)limn_predict_proba(p, w->rows.x, w->rows.n, proba);
        for (size_t i = 0; i < w->rows.n; i++)
            assert_true(class[i] >= 0 && (size_t) class[i] < k);
    } else if (model->schema.task == LIMN_REGRESS) {
        (void)limn_predict_values(p, w->rows.x, w->rows.n, value);
    }
    limn_predictor_free(p);
}

/* The first `size` bytes of the damaged copy. */
static limn_status load_part(world *w, size_t size) {
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
    if (model)
        ask(w, model);
    limn_model_free(model);
    return status;
}

static limn_status load(world *w) {
    return load_part(w, w->size);
}

static void restore(world *w) {
    memcpy(w->damaged, w->bytes, w->size);
}

/* The table entry of a section in the damaged copy; its place and size. */
static unsigned char *entry_of(world *w, const char *name, uint64_t place[2]) {
    uint32_t count;
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

/* What follows a key and its final zero. */
static unsigned char *after(unsigned char *section, size_t size, const char *key) {
    size_t length = strlen(key) + 1;
    for (size_t i = 16; i + length + 8 <= size; i++)
        if (memcmp(section + i, key, length) == 0)
            return section + i + length;
    fail_msg("there is no key %s", key);
    return NULL;
}

#define SMALL "pool=60 visits=300 rate=0.02 "

typedef struct form {
    const char *params;
    size_t classes;
    double scale;
} form;

static const form forms[] = {
    {SMALL "size=4+8 last=teacher", 3, 1}, {SMALL "size=5", 2, 1e-9}, {SMALL "size=3x2", 0, 1}};

static void test_every_byte_may_be_changed(void **state) {
    static const unsigned char changes[] = {0xff, 0x01, 0x80};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        begin(&w, forms[f].classes, forms[f].params, forms[f].scale);
        restore(&w);
        assert_int_equal(load(&w), LIMN_OK);
        for (size_t i = 0; i < w.size; i += every(3))
            for (size_t c = 0; c < LM_COUNT(changes); c++) {
                restore(&w);
                w.damaged[i] ^= changes[c];
                (void)load(&w);
            }
        end(&w);
    }
}

static void test_no_part_of_a_file_is_a_model(void **state) {
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        begin(&w, forms[f].classes, forms[f].params, forms[f].scale);
        restore(&w);
        for (size_t size = 0; size < w.size; size++)
            assert_int_not_equal(load_part(&w, size), LIMN_OK);
        end(&w);
    }
}

static void check_sections(const form *f, const char *const *names, size_t count) {
    world w;
    uint64_t place[2];
    begin(&w, f->classes, f->params, f->scale);
    for (size_t i = 0; i < count; i++) {
        entry_of(&w, names[i], place)[0] = 'x';
        assert_int_equal(load(&w), LIMN_E_MODEL);
        unsigned char *entry = entry_of(&w, names[i], place);
        place[1] -= 4;
        memcpy(entry + 40, &place[1], sizeof place[1]);
        assert_int_equal(load(&w), LIMN_E_MODEL);
    }
    end(&w);
}

static void test_a_missing_or_short_section_is_refused(void **state) {
    static const char *const two[] = {"student.about", "student.net", "student.second"};
    static const char *const moved[] = {"student.about", "student.net", "student.centre",
                                        "student.unit"};
    (void)state;
    check_sections(&forms[0], two, LM_COUNT(two));
    check_sections(&forms[1], moved, LM_COUNT(moved));
    check_sections(&forms[2], two, 2);
}

/* Every float of a section in turn is replaced by each of these. */
static void spoil(world *w, const char *name) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    uint64_t place[2];
    (void)entry_of(w, name, place);
    for (size_t at = 0; at + sizeof *bad <= place[1]; at += sizeof *bad)
        for (size_t i = 0; i < LM_COUNT(bad); i++) {
            restore(w);
            memcpy(w->damaged + place[0] + at, &bad[i], sizeof *bad);
            assert_int_equal(load(w), LIMN_E_MODEL);
        }
}

static void test_numbers_that_are_not_finite_are_refused(void **state) {
    (void)state;
    world w;
    begin(&w, forms[0].classes, forms[0].params, forms[0].scale);
    spoil(&w, "student.net");
    spoil(&w, "student.second");
    end(&w);
    begin(&w, forms[1].classes, forms[1].params, forms[1].scale);
    spoil(&w, "student.centre");
    spoil(&w, "student.unit");
    end(&w);
}

/* Any number where only padding may be; weights may have any finite value. */
static void test_damaged_padding_is_refused(void **state) {
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        uint64_t place[2];
        size_t taken = 0, used;
        const float other = 3;
        begin(&w, forms[f].classes, forms[f].params, forms[f].scale);
        (void)entry_of(&w, "student.net", place);
        for (size_t at = 0; at + sizeof other <= place[1]; at += sizeof other) {
            restore(&w);
            memcpy(w.damaged + place[0] + at, &other, sizeof other);
            taken += load(&w) == LIMN_OK;
        }
        used = f == 0 ? 3 * 4 + 5 * 3 : f == 1 ? 3 * 5 + 6 : 3 * 3 + 4 * 2 + 3;
        assert_int_equal(taken, used);
        end(&w);
    }
}

static void test_keys_out_of_range_are_refused(void **state) {
    static const struct {
        const char *key;
        bool real;
        int64_t whole;
        double value;
    } bad[] = {
        {"last", false, 2, 0},       {"last", false, -1, 0},   {"shifted", false, 2, 0},
        {"shifted", false, 1, 0},    {"gap", true, 0, -1},     {"gap", true, 0, NAN},
        {"gap", true, 0, INFINITY},  {"tau", true, 0, 0},      {"tau", true, 0, -1},
        {"tau", true, 0, 1e9},       {"passed", true, 0, 1.5}, {"passed", true, 0, -0.5},
        {"mean", true, 0, NAN},      {"spread", true, 0, -1},  {"spread", true, 0, INFINITY},
        {"agreement", true, 0, 1.5}, {"error", true, 0, -1},   {"work", true, 0, NAN},
        {"asked", true, 0, -1},      {"rate", true, 0, -1},    {"visits", true, 0, INFINITY}};
    (void)state;
    world w;
    uint64_t place[2];
    begin(&w, forms[0].classes, forms[0].params, forms[0].scale);
    for (size_t i = 0; i < LM_COUNT(bad); i++) {
        (void)entry_of(&w, "student.about", place);
        unsigned char *value = after(w.damaged + place[0], place[1], bad[i].key);
        memcpy(value, bad[i].real ? (const void *)&bad[i].value : (const void *)&bad[i].whole, 8);
        if (load(&w) != LIMN_E_MODEL)
            fail_msg("%s of %g was taken", bad[i].key, bad[i].real ? bad[i].value : 0);
    }
    end(&w);
}

/* Sizes of the same length as that in the file. */
static void test_sizes_that_do_not_match_are_refused(void **state) {
    static const char *const bad[] = {"4+9", "5+8", "4x8", "4+0", "0+8",
                                      "4  ", "   ", "444", "4+x"};
    (void)state;
    world w;
    uint64_t place[2];
    begin(&w, forms[0].classes, forms[0].params, forms[0].scale);
    for (size_t i = 0; i < LM_COUNT(bad); i++) {
        (void)entry_of(&w, "student.about", place);
        unsigned char *value = after(w.damaged + place[0], place[1], "size");
        assert_memory_equal(value, "4+8", 3);
        memcpy(value, bad[i], 3);
        if (load(&w) != LIMN_E_MODEL)
            fail_msg("size %s was taken", bad[i]);
    }
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_may_be_changed),
        cmocka_unit_test(test_no_part_of_a_file_is_a_model),
        cmocka_unit_test(test_a_missing_or_short_section_is_refused),
        cmocka_unit_test(test_numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(test_damaged_padding_is_refused),
        cmocka_unit_test(test_keys_out_of_range_are_refused),
        cmocka_unit_test(test_sizes_that_do_not_match_are_refused),
    };
    return cmocka_run_group_tests_name("student_hostile", tests, NULL, NULL);
}
