/* Files of borders that were tampered with, with valid checksums: every wrong number is refused. */
#include "borders_world.h"
#include "reseal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct world {
    limn_context *ctx;
    unsigned char *bytes, *damaged;
    size_t size;
} world;

static void begin(world *w) {
    w->ctx = make_context(NULL, 1, 3);
    limn_data *data = make_data(w->ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 60, 3);
    limn_model *model = NULL;
    asking a = {.params = "borders=5"};
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

static const char *const names[] = {"borders.about",    "borders.centre", "borders.start",
                                    "borders.constant", "borders.steep",  "borders.vectors",
                                    "borders.normals",  "borders.slopes"};

static void test_a_missing_or_short_section_is_refused(void **state) {
    (void)state;
    world w;
    uint64_t place[2];
    begin(&w);
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
    begin(&w);
    spoil(&w, "borders.centre", 8, wild, 3);
    spoil(&w, "borders.constant", 8, wild, 3);
    spoil(&w, "borders.steep", 8, above, 3);
    spoil(&w, "borders.slopes", 8, below, 3);
    spoil(&w, "borders.vectors", 4, wild, 3);
    spoil(&w, "borders.normals", 4, wild, 3);
    end(&w);
}

static void test_starts_that_are_not_in_order_are_refused(void **state) {
    static const uint32_t bad[][4] = {
        {1, 5, 10, 15}, {0, 5, 10, 14}, {0, 11, 10, 15}, {0, 5, 10, 16}, {0, 5, UINT32_MAX, 15}};
    (void)state;
    world w;
    uint64_t place[2];
    begin(&w);
    for (size_t i = 0; i < LM_COUNT(bad); i++) {
        (void)entry_of(&w, "borders.start", place);
        assert_int_equal(place[1], sizeof bad[i]);
        memcpy(w.damaged + place[0], bad[i], sizeof bad[i]);
        assert_int_equal(load(&w), LIMN_E_MODEL);
    }
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_or_short_section_is_refused),
        cmocka_unit_test(test_numbers_out_of_range_are_refused),
        cmocka_unit_test(test_starts_that_are_not_in_order_are_refused),
    };
    return cmocka_run_group_tests_name("borders_hostile", tests, NULL, NULL);
}
