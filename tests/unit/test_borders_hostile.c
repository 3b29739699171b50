/* Files of borders that were tampered with, with valid checksums: every wrong number is refused. */
#include "borders_world.h"
#include "reseal.h"

typedef struct world {
    limn_context *ctx;
    unsigned char *bytes, *damaged;
    size_t size;
} world;

/* How classes are found from pairs decides where vectors are. */
static const char *const layouts[] = {"borders=5 sampling=random multi=ovo",
                                      "borders=5 sampling=random multi=dag"};

static void begin(world *w, const char *params) {
    w->ctx = make_context(NULL, 1, 3);
    limn_data *data = make_data(w->ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 60, 3);
    limn_model *model = NULL;
    asking a = {.params = params};
    assert_int_equal(try_borders(w->ctx, data, &a, &model), LIMN_OK);
    assert_int_equal(lm_model_bytes(w->ctx, model, &w->bytes, &w->size), LIMN_OK);
    w->damaged = malloc(w->size);
    limn_model_free(model);
    limn_data_free(data);
}

static void end(world *w) {
    lm_free(&w->ctx->mem, w->bytes);
    free(w->damaged);
    limn_context_free(w->ctx);
}

static limn_status load(world *w) {
    lm_file *file = NULL;
    limn_model *model = NULL;
    reseal(w->damaged, w->size);
    limn_status status = lm_file_from_memory(w->ctx, w->damaged, w->size, "t.limn", &file);
    if (status == LIMN_OK)
        status = lm_model_load(w->ctx, file, &model);
    assert_int_equal(status == LIMN_OK, model != NULL);
    limn_model_free(model);
    return status;
}

/* The table entry of a section in the damaged copy; its place and size. */
static unsigned char *entry_of(world *w, const char *name, uint64_t place[2]) {
    uint32_t count;
    memcpy(w->damaged, w->bytes, w->size);
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

/* The value of an integer key: it follows the key and its final zero. */
static unsigned char *int_of(unsigned char *section, size_t size, const char *key) {
    size_t length = strlen(key) + 1;
    for (size_t i = 16; i + length + 8 <= size; i++)
        if (memcmp(section + i, key, length) == 0 && section[i - 16] == 1)
            return section + i + length;
    fail_msg("there is no key %s", key);
    return NULL;
}

static const char *const names[] = {"borders.about",    "borders.centre", "borders.start",
                                    "borders.constant", "borders.steep",  "borders.vectors",
                                    "borders.normals",  "borders.slopes"};

static void test_a_missing_or_short_section_is_refused(void **state) {
    (void)state;
    world w;
    uint64_t place[2];
    for (size_t l = 0; l < LM_COUNT(layouts); l++) {
        begin(&w, layouts[l]);
        for (size_t i = 0; i < LM_COUNT(names); i++) {
            entry_of(&w, names[i], place)[0] = 'x';
            assert_int_equal(load(&w), LIMN_E_MODEL);
            unsigned char *entry = entry_of(&w, names[i], place);
            place[1] -= 4;
            memcpy(entry + 40, &place[1], sizeof place[1]);
            assert_int_equal(load(&w), LIMN_E_MODEL);
        }
        memcpy(w.damaged, w.bytes, w.size);
        assert_int_equal(load(&w), LIMN_OK);
        end(&w);
    }
}

/* Every double, or float, of a section in turn is replaced by each of these. */
static void spoil(world *w, const char *name, size_t size, const double *bad, size_t count) {
    uint64_t place[2];
    (void)entry_of(w, name, place);
    for (size_t at = 0; at + size <= place[1]; at += size)
        for (size_t i = 0; i < count; i++) {
            float narrow = (float)bad[i];
            (void)entry_of(w, name, place);
            memcpy(w->damaged + place[0] + at, size == 4 ? (void *)&narrow : (void *)&bad[i], size);
            assert_int_equal(load(w), LIMN_E_MODEL);
        }
}

static void test_numbers_out_of_range_are_refused(void **state) {
    static const double wild[] = {NAN, INFINITY, -INFINITY}, below[] = {NAN, INFINITY, -1};
    static const double above[] = {NAN, -INFINITY, 1};
    (void)state;
    world w;
    for (size_t l = 0; l < LM_COUNT(layouts); l++) {
        begin(&w, layouts[l]);
        spoil(&w, "borders.centre", 8, wild, 3);
        spoil(&w, "borders.constant", 8, wild, 3);
        spoil(&w, "borders.steep", 8, above, 3);
        spoil(&w, "borders.slopes", 8, below, 3);
        spoil(&w, "borders.vectors", 4, wild, 3);
        spoil(&w, "borders.normals", 4, wild, 3);
        end(&w);
    }
}

static void test_starts_that_are_not_in_order_are_refused(void **state) {
    static const uint32_t bad[][4] = {
        {1, 5, 10, 15}, {0, 5, 10, 14}, {0, 11, 10, 15}, {0, 5, 10, 16}, {0, 5, UINT32_MAX, 15}};
    (void)state;
    world w;
    uint64_t place[2];
    for (size_t l = 0; l < LM_COUNT(layouts); l++) {
        begin(&w, layouts[l]);
        for (size_t i = 0; i < LM_COUNT(bad); i++) {
            (void)entry_of(&w, "borders.start", place);
            assert_int_equal(place[1], sizeof bad[i]);
            memcpy(w.damaged + place[0], bad[i], sizeof bad[i]);
            assert_int_equal(load(&w), LIMN_E_MODEL);
        }
        end(&w);
    }
}

/* A number of the key-values. */
static void test_keys_out_of_range_are_refused(void **state) {
    static const struct {
        const char *key;
        int64_t value;
    } bad[] = {{"borders", -1}, {"borders", 14}, {"borders", 16}, {"borders", INT64_MAX},
               {"dag", 2},      {"dag", -1},     {"planes", -1},  {"cells", INT64_MIN},
               {"none", -5},    {"drawn", -1},   {"fitted", -1}};
    (void)state;
    for (size_t l = 0; l < LM_COUNT(layouts); l++) {
        world w;
        uint64_t place[2];
        begin(&w, layouts[l]);
        for (size_t i = 0; i < LM_COUNT(bad); i++) {
            (void)entry_of(&w, "borders.about", place);
            unsigned char *value = int_of(w.damaged + place[0], place[1], bad[i].key);
            memcpy(value, &bad[i].value, sizeof bad[i].value);
            assert_int_equal(load(&w), LIMN_E_MODEL);
        }
        end(&w);
    }
}

/* Vectors in panels of their pairs do not fit where those of another layout are. */
static void test_a_file_that_claims_the_other_layout_is_refused(void **state) {
    (void)state;
    for (size_t l = 0; l < LM_COUNT(layouts); l++) {
        world w;
        uint64_t place[2];
        begin(&w, layouts[l]);
        (void)entry_of(&w, "borders.about", place);
        int64_t dag = l == 0;
        memcpy(int_of(w.damaged + place[0], place[1], "dag"), &dag, sizeof dag);
        assert_int_equal(load(&w), LIMN_E_MODEL);
        end(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_or_short_section_is_refused),
        cmocka_unit_test(test_numbers_out_of_range_are_refused),
        cmocka_unit_test(test_starts_that_are_not_in_order_are_refused),
        cmocka_unit_test(test_keys_out_of_range_are_refused),
        cmocka_unit_test(test_a_file_that_claims_the_other_layout_is_refused),
    };
    return cmocka_run_group_tests_name("borders_hostile", tests, NULL, NULL);
}
