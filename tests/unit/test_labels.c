/* test_labels.c: the label map, the schema, and sets made from memory. */
#include "data_world.h"

#include "data/labels.h"

#include <math.h>
#include <stdlib.h>

static int32_t add(world *w, lm_labels *labels, const char *text) {
    int32_t id = -7;
    assert_int_equal(lm_labels_add(w->ctx, labels, text, strlen(text), &id), LIMN_OK);
    return id;
}

static int32_t find(const lm_labels *labels, const char *text) {
    return lm_labels_find(labels, text, strlen(text));
}

/* ---- labels ---- */

static void test_equal_numbers_are_one_class_named_as_first_seen(void **state) {
    (void)state;
    world w;
    world_open(&w);
    lm_labels labels;
    lm_labels_init(&labels, &w.ctx->mem);
    assert_int_equal(find(&labels, "1"), -1);
    assert_int_equal(add(&w, &labels, "+1"), 0);
    assert_int_equal(add(&w, &labels, "1"), 0);
    assert_int_equal(add(&w, &labels, "1.0"), 0);
    assert_int_equal(add(&w, &labels, "10e-1"), 0);
    assert_int_equal(add(&w, &labels, "-1"), 1);
    assert_int_equal(add(&w, &labels, "-0"), 2);
    assert_int_equal(add(&w, &labels, "0"), 2);
    assert_int_equal(add(&w, &labels, "one"), 3);
    assert_int_equal(add(&w, &labels, "One"), 4);
    assert_int_equal(add(&w, &labels, ""), 5);
    assert_int_equal(add(&w, &labels, "1e999"), 6); /* not a finite number: text */
    assert_int_equal(add(&w, &labels, "2e999"), 7);
    assert_int_equal(labels.count, 8);
    assert_string_equal(labels.names[0], "+1");
    assert_string_equal(labels.names[2], "-0");
    assert_int_equal(find(&labels, "1.00"), 0);
    assert_int_equal(find(&labels, "on"), -1);
    assert_int_equal(find(&labels, "2"), -1);
    lm_labels_free(&labels);
    lm_labels_free(&labels);
    world_close(&w);
}

/* Against a linear search through all that was added. */
static void test_thousands_of_labels_are_found_again(void **state) {
    (void)state;
    enum { MANY = 3000 };
    world w;
    world_open(&w);
    lm_labels labels, copy;
    lm_labels_init(&labels, &w.ctx->mem);
    lm_labels_init(&copy, &w.ctx->mem);
    char text[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, i % 2 ? "%d" : "class %d", i);
        assert_int_equal(add(&w, &labels, text), i);
    }
    assert_int_equal(add(&w, &copy, "something else"), 0);
    assert_int_equal(lm_labels_copy(w.ctx, &labels, &copy), LIMN_OK);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, i % 2 ? "%d.00" : "class %d", i);
        assert_int_equal(find(&labels, text), i);
        assert_int_equal(find(&copy, text), i);
        assert_string_equal(copy.names[i], labels.names[i]);
    }
    assert_int_equal(find(&copy, "something else"), -1);
    lm_labels_free(&labels);
    lm_labels_free(&copy);
    world_close(&w);
}

static void check_sort(const char *const *given, const char *const *sorted, size_t count) {
    world w;
    world_open(&w);
    lm_labels labels;
    lm_labels_init(&labels, &w.ctx->mem);
    int32_t remap[16];
    for (size_t i = 0; i < count; i++)
        assert_int_equal(add(&w, &labels, given[i]), i);
    assert_int_equal(lm_labels_sort(w.ctx, &labels, remap), LIMN_OK);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(labels.names[i], sorted[i]);
        assert_string_equal(labels.names[remap[i]], given[i]);
        assert_int_equal(find(&labels, sorted[i]), i);
    }
    lm_labels_free(&labels);
    world_close(&w);
}

static void test_numbers_sort_by_value_and_everything_else_by_bytes(void **state) {
    (void)state;
    check_sort((const char *[]){"10", "9", "-1", "+2"}, (const char *[]){"-1", "+2", "9", "10"}, 4);
    check_sort((const char *[]){"10", "9", "b", "B", "\xc3\xa9"},
               (const char *[]){"10", "9", "B", "b", "\xc3\xa9"}, 5);
    check_sort((const char *[]){"x"}, (const char *[]){"x"}, 1);
    check_sort(NULL, NULL, 0);
}

/* ---- schema ---- */

static void test_a_schema_copy_stands_on_its_own(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "a,b,y\n1,2,u\n3,4,v\n", NULL, NULL);
    lm_schema copy;
    lm_schema_init(&copy, &w.ctx->mem);
    assert_int_equal(copy.label_column, LM_NO_COLUMN);
    assert_int_equal(lm_schema_copy(w.ctx, &data->schema, &copy), LIMN_OK);
    assert_int_equal(lm_schema_copy(w.ctx, &data->schema, &copy), LIMN_OK); /* over an old one */
    limn_data_free(data);
    assert_int_equal(copy.features, 2);
    assert_string_equal(copy.feature_names[0], "a");
    assert_string_equal(copy.feature_names[1], "b");
    assert_string_equal(copy.label_name, "y");
    assert_int_equal(copy.label_column, 2);
    assert_int_equal(copy.labels.count, 2);
    assert_string_equal(copy.labels.names[1], "v");
    lm_schema_free(&copy);
    world_close(&w);
}

/* ---- sets from memory ---- */

static void test_values_become_classes_in_order_of_value(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const double y[] = {2.5, -1, 2.5, 10};
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, 4, 2, y, &data), LIMN_OK);
    assert_int_equal(limn_data_rows(data), 4);
    ASSERT_ROW(data, 3, 7, 8);
    assert_int_equal(limn_data_class_count(data), 3);
    assert_string_equal(limn_data_class_name(data, 0), "-1");
    assert_string_equal(class_of_row(data, 0), "2.5");
    assert_string_equal(class_of_row(data, 2), "2.5");
    assert_string_equal(class_of_row(data, 3), "10");
    assert_null(limn_data_class_name(data, 3));
    assert_null(limn_data_targets(data));
    limn_data_free(data);

    const double zeros[] = {-0.0, 0.0, 0.0, -0.0};
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, 4, 2, zeros, &data), LIMN_OK);
    assert_int_equal(limn_data_class_count(data), 1);
    assert_string_equal(limn_data_class_name(data, 0), "0");
    limn_data_free(data);
    world_close(&w);
}

static void test_codes_and_long_numbers_are_texts(void **state) {
    (void)state;
    world w;
    world_open(&w);
    static const char *const texts[] = {
        "12345678901234567", "12345678901234568", "01234", "1234", "1234.0", "+1234"};
    static const int32_t expected[] = {0, 1, 2, 3, 3, 3};
    lm_labels labels;
    lm_labels_init(&labels, &w.ctx->mem);
    for (size_t i = 0; i < LM_COUNT(texts); i++) {
        int32_t id;
        assert_int_equal(lm_labels_add(w.ctx, &labels, texts[i], strlen(texts[i]), &id), LIMN_OK);
        assert_int_equal(id, expected[i]);
    }
    lm_labels_free(&labels);
    world_close(&w);
}

static void test_thousands_of_values_keep_their_classes(void **state) {
    (void)state;
    enum { MANY = 5000 };
    world w;
    world_open(&w);
    static float x[MANY];
    static double y[MANY];
    lm_rng rng = lm_rng_at(5, 5, 5);
    for (size_t i = 0; i < MANY; i++)
        y[i] = (double)lm_rng_below(&rng, 1000) / 7;
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, MANY, 1, y, &data), LIMN_OK);
    for (size_t i = 0; i < MANY; i++)
        assert_true(strtod(class_of_row(data, i), NULL) == y[i]);
    for (size_t i = 1; i < limn_data_class_count(data); i++)
        assert_true(strtod(limn_data_class_name(data, i - 1), NULL) <
                    strtod(limn_data_class_name(data, i), NULL));
    limn_data_free(data);
    world_close(&w);
}

static void test_other_tasks_keep_targets_or_nothing(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const float x[] = {1, 2};
    const double y[] = {0.1, -1e300};
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_REGRESS, x, 2, 1, y, &data), LIMN_OK);
    assert_true(limn_data_targets(data)[0] == 0.1 && limn_data_targets(data)[1] == -1e300);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_SEARCH, x, 2, 1, y, &data), LIMN_OK);
    assert_null(limn_data_targets(data));
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, 2, 1, NULL, &data), LIMN_OK);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    limn_data_free(NULL);
    world_close(&w);
}

static void test_text_labels_come_back_as_they_were_written(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const float x[] = {1, 2, 3};
    const char *const labels[] = {"dog", "cat", "dog"};
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_labels(w.ctx, x, 3, 1, labels, &data), LIMN_OK);
    assert_string_equal(class_of_row(data, 0), "dog");
    assert_string_equal(class_of_row(data, 1), "cat");
    assert_int_equal(limn_data_classes(data)[1], 0);
    limn_data_free(data);
    world_close(&w);
}

static void test_bad_values_are_refused_with_their_row(void **state) {
    (void)state;
    world w;
    world_open(&w);
    float x[] = {1, 2, 3, NAN, 5, 6};
    const double y[] = {1, INFINITY, 3}, good[] = {1, 2, 3};
    limn_data *data = (limn_data *)x;
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, 3, 2, good, &data),
                     LIMN_E_DATA);
    assert_null(data);
    assert_string_equal(limn_error(w.ctx),
                        "row 2, column 2: the value is NaN; fill it or remove the row");
    x[3] = -INFINITY;
    char *names[] = {(char *)"height", (char *)"width"};
    const lm_schema schema = {.features = 2, .feature_names = names};
    assert_int_equal(lm_check_finite(w.ctx, &schema, x, 3, 2), LIMN_E_DATA);
    assert_string_equal(
        limn_error(w.ctx),
        "row 2, column 2 (width): the value is infinite; fill it or remove the row");
    x[3] = 3.4028234e38f;
    assert_int_equal(lm_check_finite(w.ctx, &schema, x, 3, 2), LIMN_OK);
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_REGRESS, x, 3, 2, y, &data), LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx),
                        "row 2: the label is infinite; fill it or remove the row");
    const char *const labels[] = {"a", "b", NULL};
    assert_int_equal(limn_data_from_labels(w.ctx, x, 3, 2, labels, &data), LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx),
                        "row 3: the label is missing; fill it or remove the row");
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, 3, 0, good, &data),
                     LIMN_E_USAGE);
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, 0, 2, good, &data),
                     LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx), "no rows");
    assert_int_equal(limn_data_from_values(w.ctx, (limn_task)9, x, 3, 2, good, &data),
                     LIMN_E_USAGE);
    assert_int_equal(
        limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, SIZE_MAX / 2, SIZE_MAX / 2, good, &data),
        LIMN_E_DATA);
    w.ctx->memory_limit = 23;
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, 3, 2, good, &data),
                     LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx),
                        "a table of 3 x 2 values needs more memory than the limit of 23 bytes");
    world_close(&w);
}

static void test_taking_rows_keeps_the_order_and_the_whole_schema(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *part = NULL, *data = must_read(&w, "a,b,y\n1,2,u\n3,4,v\n5,6,w\n", NULL, NULL);
    const size_t rows[] = {2, 0, 2};
    assert_int_equal(lm_data_take(w.ctx, data, rows, 3, &part), LIMN_OK);
    limn_data_free(data);
    assert_int_equal(limn_data_rows(part), 3);
    ASSERT_ROW(part, 0, 5, 6);
    ASSERT_ROW(part, 1, 1, 2);
    assert_string_equal(class_of_row(part, 0), "w");
    assert_string_equal(class_of_row(part, 1), "u");
    assert_int_equal(limn_data_class_count(part), 3);
    assert_string_equal(part->schema.feature_names[1], "b");
    limn_data_free(part);
    world_close(&w);
}

static void test_a_subsample_has_its_share_of_each_class(void **state) {
    (void)state;
    enum { N = 200 };
    world w;
    world_open(&w);
    float x[N];
    double y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = i < 150 ? 0 : i < 199 ? 1 : 2;
    }
    limn_data *data = NULL, *part = NULL, *again = NULL;
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, N, 1, y, &data), LIMN_OK);
    assert_int_equal(limn_data_subsample(w.ctx, data, 0.1, &part), LIMN_OK);
    size_t count[3] = {0};
    for (size_t i = 0; i < part->n; i++) {
        count[part->label[i]]++;
        assert_true(y[(size_t)part->x[i]] == part->label[i]);
    }
    assert_int_equal(count[0], 15);
    assert_int_equal(count[1], 5);
    assert_int_equal(count[2], 1);
    assert_int_equal(limn_data_subsample(w.ctx, data, 0.1, &again), LIMN_OK);
    assert_memory_equal(again->x, part->x, part->n * sizeof(float));
    limn_data_free(again);
    assert_int_equal(limn_data_subsample(w.ctx, data, 0.0, &again), LIMN_E_USAGE);
    assert_null(again);
    assert_int_equal(limn_data_subsample(w.ctx, data, 1.0, &again), LIMN_OK);
    assert_int_equal(again->n, N);
    limn_data_free(again);
    limn_data_free(part);
    assert_int_equal(limn_data_subsample_by(w.ctx, data, 0.1, LIMN_SUBSAMPLE_POWER, &part),
                     LIMN_OK);
    size_t of_power[3] = {0};
    for (size_t i = 0; i < part->n; i++) {
        of_power[part->label[i]]++;
        assert_true(y[(size_t)part->x[i]] == part->label[i]);
    }
    /* 150^(1 - z) + 49^(1 - z) + 1 = 20 at z = .5028: 12.08, 6.92, 1. */
    assert_int_equal(of_power[0], 12);
    assert_int_equal(of_power[1], 7);
    assert_int_equal(of_power[2], 1);
    limn_data_free(part);
    limn_data_free(data);
    world_close(&w);
}

static void test_failing_allocations_release_everything(void **state) {
    (void)state;
    const float x[] = {1, 2, 3, 4};
    const double y[] = {3, 1, 2, 1};
    const char *const labels[] = {"a", "b", "c", "d"};
    for (unsigned n = 1, done = 0; !done; n++) {
        world w;
        world_open(&w);
        limn_data *a = NULL, *b = NULL, *c = NULL;
        w.count.fail_at = n;
        limn_status status = limn_data_from_values(w.ctx, LIMN_CLASSIFY, x, 4, 1, y, &a);
        if (status == LIMN_OK)
            status = limn_data_from_labels(w.ctx, x, 4, 1, labels, &b);
        if (status == LIMN_OK)
            status = limn_data_subsample_by(w.ctx, b, 0.5, LIMN_SUBSAMPLE_POWER, &c);
        done = w.count.fail_at != 0; /* fewer requests than n */
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        limn_data_free(a);
        limn_data_free(b);
        limn_data_free(c);
        world_close(&w);
        assert_true(n < 1000);
    }
}

static void test_enumerators_have_names(void **state) {
    (void)state;
    assert_string_equal(limn_scale_name(LIMN_SCALE_AUTO), "auto");
    assert_string_equal(limn_scale_name(LIMN_SCALE_NONE), "none");
    assert_string_equal(limn_scale_name(LIMN_SCALE_MINMAX), "minmax");
    assert_string_equal(limn_scale_name(LIMN_SCALE_ZSCORE), "zscore");
    assert_string_equal(limn_scale_name(LIMN_SCALE_RANK), "rank");
    assert_string_equal(limn_scale_name(LIMN_SCALE_GAUSS), "gauss");
    assert_string_equal(limn_scale_name(LIMN_SCALE_LEARNED), "learned");
    assert_string_equal(limn_scale_name(LIMN_SCALE_RANGES), "ranges");
    assert_null(limn_scale_name((limn_scale)8));
    assert_null(limn_scale_name((limn_scale)-1));
    assert_string_equal(limn_task_name(LIMN_CLASSIFY), "classify");
    assert_string_equal(limn_task_name(LIMN_REGRESS), "regress");
    assert_string_equal(limn_task_name(LIMN_SEARCH), "search");
    assert_null(limn_task_name((limn_task)5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_numbers_are_one_class_named_as_first_seen),
        cmocka_unit_test(test_thousands_of_labels_are_found_again),
        cmocka_unit_test(test_numbers_sort_by_value_and_everything_else_by_bytes),
        cmocka_unit_test(test_a_schema_copy_stands_on_its_own),
        cmocka_unit_test(test_values_become_classes_in_order_of_value),
        cmocka_unit_test(test_codes_and_long_numbers_are_texts),
        cmocka_unit_test(test_thousands_of_values_keep_their_classes),
        cmocka_unit_test(test_other_tasks_keep_targets_or_nothing),
        cmocka_unit_test(test_text_labels_come_back_as_they_were_written),
        cmocka_unit_test(test_bad_values_are_refused_with_their_row),
        cmocka_unit_test(test_taking_rows_keeps_the_order_and_the_whole_schema),
        cmocka_unit_test(test_a_subsample_has_its_share_of_each_class),
        cmocka_unit_test(test_failing_allocations_release_everything),
        cmocka_unit_test(test_enumerators_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
