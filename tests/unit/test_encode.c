/* Categories, missing cells and weights: tables with text cells become features, and later files
 * are read as the first one defines. */
#include "data_world.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

static limn_read_options with_median(void) {
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.missing = LIMN_MISSING_MEDIAN;
    return options;
}

/* ---- categories ---- */

static void test_a_column_of_text_becomes_a_feature_a_category_in_sorted_order(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(
        &w, "color,x,size,y\nred,1,S,a\nblue,2,L,b\nred,3,S,a\ngreen,4,M,b\n", NULL, NULL);
    const lm_schema *s = &data->schema;
    assert_int_equal(s->columns, 3);
    assert_int_equal(s->features, 7);
    ASSERT_ROW(data, 0, 0, 0, 1, 1, 0, 0, 1);
    ASSERT_ROW(data, 1, 1, 0, 0, 2, 1, 0, 0);
    ASSERT_ROW(data, 2, 0, 0, 1, 3, 0, 0, 1);
    ASSERT_ROW(data, 3, 0, 1, 0, 4, 0, 1, 0);
    static const char *const names[] = {"color=blue", "color=green", "color=red", "x",
                                        "size=L",     "size=M",      "size=S"};
    for (size_t j = 0; j < 7; j++)
        assert_string_equal(s->feature_names[j], names[j]);
    assert_int_equal(s->column[0].first, 0);
    assert_int_equal(s->column[1].first, 3);
    assert_int_equal(s->column[2].first, 4);
    limn_data_free(data);
    world_close(&w);
}

static void test_a_single_category_is_one_feature_that_is_one(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,only,a\n2,only,b\n", NULL, NULL);
    ASSERT_ROW(data, 0, 1, 1);
    ASSERT_ROW(data, 1, 2, 1);
    assert_null(data->schema.feature_names);
    limn_data_free(data);
    world_close(&w);
}

static void test_text_and_numbers_in_one_column_are_refused_in_either_order(void **state) {
    (void)state;
    world w;
    world_open(&w);
    must_fail(&w, "x,y\n1.5,a\n2.5o,b\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 3, column 1 (x): '2.5o' is not a number, but the column has held "
              "numbers since line 2; correct it, or name the column in --categorical");
    must_fail(
        &w, "x,y\nred,a\n,a\n7,b\n", NULL, NULL, LIMN_E_DATA,
        "t.csv: line 4, column 1 (x): '7' is a number, but the column has held text since line "
        "2; correct it, or name the column in --categorical");
    world_close(&w);
}

static void test_chosen_columns_take_numbers_as_categories(void **state) {
    (void)state;
    static const char text[] = "zip,x,y\n10,1,a\n9,2,b\nB7,3,a\n10.0,4,b\n";
    static const char *const choices[] = {"zip", "1", " zip ", "first"};
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    for (size_t i = 0; i < LM_COUNT(choices); i++) {
        options.categorical = choices[i];
        limn_data *data = must_read(&w, text, &options, NULL);
        ASSERT_ROW(data, 0, 1, 0, 0, 1); /* sorted byte by byte: 10, 9, B7 */
        ASSERT_ROW(data, 1, 0, 1, 0, 2);
        ASSERT_ROW(data, 2, 0, 0, 1, 3);
        ASSERT_ROW(data, 3, 1, 0, 0, 4);
        limn_data_free(data);
    }
    options.categorical = "x,zip"; /* numbers only: sorted by value */
    limn_data *data = must_read(&w, "y,zip,x\na,10,1\nb,9,2\n", &options, NULL);
    ASSERT_ROW(data, 0, 0, 1, 1, 0);
    ASSERT_ROW(data, 1, 1, 0, 0, 1);
    limn_data_free(data);
    options.categorical = "zip,y";
    must_fail(&w, text, &options, NULL, LIMN_E_DATA,
              "t.csv: 'y' is not a feature column, so it cannot be categorical; give a name from "
              "the header or a column number counted from 1");
    options.categorical = "3";
    assert_int_equal(read_text(&w, text, &options, NULL, &data), LIMN_E_DATA);
    options.categorical = "zip";
    assert_int_equal(read_text(&w, "1 1:2\n", &options, NULL, &data), LIMN_E_USAGE);
    world_close(&w);
}

static void test_too_many_categories_are_no_categories(void **state) {
    (void)state;
    world w;
    world_open(&w);
    char *text = malloc(32 * 1100), *p = text;
    for (int i = 0; i < 1100; i++)
        p += sprintf(p, "name%d,%d,a\n", i, i);
    must_fail(&w, text, NULL, NULL, LIMN_E_DATA,
              "t.csv: line 1001, column 1: the column has more than 1000 different texts, too many "
              "for categories; remove the column");
    free(text);
    world_close(&w);
}

/* ---- matching ---- */

static void test_categories_are_matched_by_name_and_column_in_any_order(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *model = must_read(&w, "color,x,y\nred,1,a\nblue,2,b\n", NULL, NULL);
    const lm_schema *s = &model->schema;
    limn_data *data = must_read(&w, "x,extra,color\n5,9,blue\n6,9,red\n", NULL, s);
    assert_int_equal(w.warnings, 1);
    ASSERT_ROW(data, 0, 1, 0, 5);
    ASSERT_ROW(data, 1, 0, 1, 6);
    limn_data_free(data);
    data = must_read(&w, "red,7\nblue,8\n", NULL, s); /* no header: by place */
    ASSERT_ROW(data, 0, 0, 1, 7);
    ASSERT_ROW(data, 1, 1, 0, 8);
    limn_data_free(data);
    must_fail(
        &w, "x,color\n1,red\n2,pink\n", NULL, s, LIMN_E_DATA,
        "t.csv: line 3, column 2 (color): the model did not see the category 'pink' in training; "
        "correct it, or use --unknown-category zero to treat it as none of the known ones");
    limn_read_options zero = with_task(LIMN_CLASSIFY);
    zero.unknown = LIMN_UNKNOWN_ZERO;
    data = must_read(&w, "x,color\n1,red\n2,pink\n", &zero, s);
    ASSERT_ROW(data, 1, 0, 0, 2);
    limn_data_free(data);
    must_fail(
        &w, "x,color\n1,\n2,red\n", NULL, s, LIMN_E_DATA,
        "t.csv: 1 missing cell, in line 2, column 2 (color); fill it, remove the row or train "
        "with --missing median");
    limn_data_free(model);
    world_close(&w);
}

static void test_a_first_row_of_categories_is_no_header(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options plain = with_task(LIMN_CLASSIFY);
    plain.header = LIMN_HEADER_NO;
    limn_data *model = must_read(&w, "red,S,a\nblue,L,b\n", &plain, NULL);
    limn_data *data = must_read(&w, "blue,S\nred,L\n", NULL, &model->schema);
    assert_int_equal(limn_data_rows(data), 2);
    ASSERT_ROW(data, 0, 1, 0, 0, 1);
    limn_data_free(data);
    data = must_read(&w, "color,size\nred,L\n", NULL, &model->schema);
    assert_int_equal(limn_data_rows(data), 1);
    limn_data_free(data);
    limn_data_free(model);
    model = must_read(&w, "color,size,y\nred,S,a\nblue,L,b\n", NULL, NULL);
    data = must_read(&w, "blue,S\nred,L\n", NULL, &model->schema);
    assert_int_equal(limn_data_rows(data), 2);
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

/* ---- missing cells ---- */

static void test_missing_cells_become_the_median_or_the_most_frequent_category(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_median();
    limn_data *data = must_read(&w,
                                "x,z,color,y\n"
                                "4,1,red,a\n"
                                "?,NA,blue,b\n"
                                "1,2,,a\n"
                                "10,7,blue,b\n"
                                "2,,red,a\n"
                                "NaN,3,red,b\n",
                                &options, NULL);
    /* x: 1 2 4 10 -> 3; z: 1 2 3 7 -> 2.5; color: red */
    ASSERT_ROW(data, 1, 3, 2.5f, 1, 0);
    ASSERT_ROW(data, 2, 1, 2, 0, 1);
    ASSERT_ROW(data, 4, 2, 2.5f, 0, 1);
    ASSERT_ROW(data, 5, 3, 3, 0, 1);
    assert_true(data->schema.column[0].fill == 3 && data->schema.column[1].fill == 2.5);
    assert_true(data->schema.column[2].fill == 1);
    /* and in a later file, as a whole or as a stream */
    limn_data *later = must_read(&w, "color,z,x\n,,\nblue,1,\n", NULL, &data->schema);
    ASSERT_ROW(later, 0, 3, 2.5f, 0, 1);
    ASSERT_ROW(later, 1, 3, 1, 1, 0);
    limn_data_free(later);
    limn_data_free(data);
    must_fail(&w, "x,z,y\n1,,a\n2,?,b\n", &options, NULL, LIMN_E_DATA,
              "t.csv: every cell of feature column 2 (z) is missing; remove the column");
    world_close(&w);
}

/* The fill value of a column of n values, by sorting. */
static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void test_medians_equal_those_of_sorted_columns(void **state) {
    (void)state;
    world w;
    world_open(&w);
    lm_rng rng = lm_rng_at(3, 1, 1);
    for (size_t n = 1; n <= 64; n++)
        for (int kind = 0; kind < 4; kind++) {
            char text[4096] = "x,z,y\n", *p = text + strlen(text);
            float values[64];
            for (size_t i = 0; i < n; i++) {
                values[i] = kind == 0   ? (float)lm_rng_below(&rng, 1000)
                            : kind == 1 ? (float)lm_rng_below(&rng, 3)
                            : kind == 2 ? (float)i
                                        : (float)(n - i);
                p += sprintf(p, "%d,1,a\n", (int)values[i]);
            }
            sprintf(p, "NA,1,a\n");
            limn_read_options options = with_median();
            limn_data *data = must_read(&w, text, &options, NULL);
            qsort(values, n, sizeof *values, by_value);
            double median = n % 2 ? (double)values[n / 2]
                                  : ((double)values[n / 2 - 1] + (double)values[n / 2]) / 2;
            assert_true(data->schema.column[0].fill == median);
            assert_true(data->x[n * 2] == (float)median);
            limn_data_free(data);
        }
    world_close(&w);
}

/* ---- weights ---- */

static void test_weights_are_a_column_of_their_own(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.weights = "w";
    limn_data *data = must_read(&w, "x,w,z,y\n1,0.5,2,a\n3,0,4,b\n", &options, NULL);
    assert_int_equal(data->schema.columns, 2);
    ASSERT_ROW(data, 1, 3, 4);
    assert_true(limn_data_weights(data)[0] == 0.5 && limn_data_weights(data)[1] == 0);
    limn_data *later = must_read(&w, "z,w,x\n1,9,2\n", NULL, &data->schema);
    assert_int_equal(w.warnings, 0); /* the weight column is known, and not needed */
    ASSERT_ROW(later, 0, 2, 1);
    assert_null(limn_data_weights(later));
    limn_data_free(later);
    limn_data_free(data);
    options.weights = "3"; /* no header; the label moves to the last free column */
    options.header = LIMN_HEADER_NO;
    data = must_read(&w, "1,a,2\n3,b,4\n", &options, NULL);
    assert_string_equal(class_of_row(data, 1), "b");
    later = must_read(&w, "5,6\n", NULL, &data->schema); /* x and label */
    assert_int_equal(limn_data_rows(later), 1);
    assert_non_null(later->label);
    limn_data_free(later);
    later = must_read(&w, "5,a,6\n", NULL, &data->schema);
    ASSERT_ROW(later, 0, 5);
    assert_string_equal(class_of_row(later, 0), "a");
    limn_data_free(later);
    limn_data_free(data);
    limn_read_options clash = with_task(LIMN_CLASSIFY); /* with match, too */
    options.weights = "1";
    data = must_read(&w, "1,2,3,a\n4,5,6,b\n", &options, NULL);
    clash.label = "1";
    must_fail(&w, "1,2,3,a\n4,5,6,b\n", &clash, &data->schema, LIMN_E_DATA,
              "t.csv: column 1 cannot be both the label and the weights; choose another");
    limn_data_free(data);
    options.weights = "2";
    options.label = "2";
    must_fail(&w, "1,2,a\n", &options, NULL, LIMN_E_DATA,
              "t.csv: column 2 cannot be both the label and the weights; choose another");
    options.label = NULL;
    must_fail(&w, "1,-2,a\n", &options, NULL, LIMN_E_DATA,
              "t.csv: line 1, column 2: '-2' is not a weight: a finite number, 0 or more; correct "
              "it or remove the row");
    options.weights = "none";
    must_fail(&w, "1,-2,a\n", &options, NULL, LIMN_E_DATA,
              "t.csv: no column is named 'none', because the file has no header; give the number "
              "of the weight column, or first or last");
    world_close(&w);
}

/* ---- all of it ---- */

static const char table[] = "color,x,w,size,y\n"
                            "red,1,1,S,a\n\"light blue\",,2,L,b\n,3,1,S,a\nred,4,0.5,,b\n"
                            "green,5,1,M,\"a\"\n";

static void test_the_table_does_not_depend_on_how_the_bytes_arrive(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_median();
    options.weights = "w";
    limn_data *whole = must_read(&w, table, &options, NULL);
    for (size_t chunk = 1; chunk < sizeof table; chunk++) {
        limn_data *data = NULL;
        assert_int_equal(read_bytes(&w, table, sizeof table - 1, chunk, &options, NULL, &data),
                         LIMN_OK);
        assert_int_equal(data->schema.features, whole->schema.features);
        for (size_t i = 0; i < data->n; i++) {
            assert_row(data, i, whole->x + i * whole->schema.features);
            assert_true(data->weight[i] == whole->weight[i]);
        }
        limn_data_free(data);
    }
    limn_data_free(whole);
    world_close(&w);
}

static void test_every_failing_allocation_is_reported(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_median();
    options.weights = "w";
    options.categorical = "size";
    for (unsigned at = 1;; at++) {
        limn_data *data = NULL, *later = NULL;
        w.count.fail_at = at;
        limn_status status = read_text(&w, table, &options, NULL, &data);
        if (status == LIMN_OK)
            status = read_text(&w, "size,x,color\nM,,red\n", NULL, &data->schema, &later);
        bool failed = w.count.fail_at == 0;
        w.count.fail_at = 0;
        limn_data_free(later);
        limn_data_free(data);
        assert_int_equal(status, failed ? LIMN_E_MEMORY : LIMN_OK);
        if (!failed)
            break;
    }
    world_close(&w);
}

static void test_a_model_remembers_columns_categories_and_fills(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_median();
    options.weights = "w";
    limn_data *data = must_read(&w, table, &options, NULL);
    limn_train_options training;
    limn_train_options_init(&training);
    training.method = "knn";
    limn_model *model = NULL, *loaded = NULL;
    const char *params[] = {"k=1"};
    training.params = params;
    training.param_count = 1;
    assert_int_equal(limn_train(w.ctx, data, &training, &model), LIMN_OK);
    unsigned char *bytes = NULL;
    size_t size;
    lm_file *file = NULL;
    assert_int_equal(lm_model_bytes(w.ctx, model, &bytes, &size), LIMN_OK);
    assert_int_equal(lm_file_from_memory(w.ctx, bytes, size, "m", &file), LIMN_OK);
    assert_int_equal(lm_model_load(w.ctx, file, &loaded), LIMN_OK);
    limn_column_info a = {.size = sizeof a}, b = a;
    for (size_t c = 0; c < 3; c++) {
        assert_true(limn_model_column(model, c, &a) && limn_model_column(loaded, c, &b));
        assert_string_equal(a.name, b.name);
        assert_int_equal(a.categories, b.categories);
        assert_int_equal(a.first_feature, b.first_feature);
        assert_true(a.has_fill && b.has_fill && a.fill == b.fill);
        for (size_t i = 0; i < a.categories; i++)
            assert_string_equal(limn_model_category(model, c, i),
                                limn_model_category(loaded, c, i));
    }
    assert_false(limn_model_column(loaded, 3, &b));
    for (size_t j = 0; j < 7; j++)
        assert_string_equal(limn_model_feature_name(model, j), limn_model_feature_name(loaded, j));
    assert_string_equal(loaded->schema.weight_name, "w");
    assert_int_equal(loaded->schema.weight_column, 2);
    lm_free(&w.ctx->mem, bytes);
    limn_model_free(model);
    limn_model_free(loaded);
    limn_data_free(data);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_column_of_text_becomes_a_feature_a_category_in_sorted_order),
        cmocka_unit_test(test_a_single_category_is_one_feature_that_is_one),
        cmocka_unit_test(test_text_and_numbers_in_one_column_are_refused_in_either_order),
        cmocka_unit_test(test_chosen_columns_take_numbers_as_categories),
        cmocka_unit_test(test_too_many_categories_are_no_categories),
        cmocka_unit_test(test_categories_are_matched_by_name_and_column_in_any_order),
        cmocka_unit_test(test_a_first_row_of_categories_is_no_header),
        cmocka_unit_test(test_missing_cells_become_the_median_or_the_most_frequent_category),
        cmocka_unit_test(test_medians_equal_those_of_sorted_columns),
        cmocka_unit_test(test_weights_are_a_column_of_their_own),
        cmocka_unit_test(test_the_table_does_not_depend_on_how_the_bytes_arrive),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
        cmocka_unit_test(test_a_model_remembers_columns_categories_and_fills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
