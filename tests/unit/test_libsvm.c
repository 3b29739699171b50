/* test_libsvm.c: the sparse format: detection, labels, growing rows, and its messages. */
#include "data_world.h"

#include <stdlib.h>

static void test_pairs_are_told_from_tables(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t rows, features; /* 0 rows: a table that cannot be read with these options */
    } cases[] = {
        {"+1 1:0.5 3:2\n-1 2:1\n", 2, 3},
        {"1 1:0.5\n", 1, 1},
        {"1:0.5 4:1\n2:1\n", 2, 4}, /* no labels */
        {"\n# a comment\n  \n1 2:3 # another 5:6\n", 1, 2},
        {"1\n2\n3 2:1\n", 3, 2}, /* rows without a single feature first */
        {"1\t1:2\t2:3\r\n2 1:1\r\n", 2, 2},
        {"\357\273\2771 1:2 2:3\n", 1, 2},
        {"cat 1:2\ndog 1:3", 2, 1},
        {"1,2\n3,4\n", 2, 1},
        {"5.1,2020-01-01 12:30\n5.2,x\n", 2, 1}, /* a comma: a table */
        {"1 2 3\n4 5 6\n", 2, 2},
    };
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        limn_data *data = must_read(&w, cases[i].text, NULL, NULL);
        assert_int_equal(limn_data_rows(data), cases[i].rows);
        assert_int_equal(limn_data_features(data), cases[i].features);
        limn_data_free(data);
    }
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.format = LIMN_FORMAT_LIBSVM;
    must_fail(&w, "1,2\n", &options, NULL, LIMN_E_DATA, "t.csv: no row has a feature");
    options.format = LIMN_FORMAT_AUTO;
    options.delimiter = '|'; /* only a table has one */
    must_fail(&w, "1 1:2\n", &options, NULL, LIMN_E_DATA,
              "t.csv: the only column is the label; add features or check the separator");
    options.delimiter = 0;
    options.format = LIMN_FORMAT_CSV;
    must_fail(&w, "1 1:2\n", &options, NULL, LIMN_E_DATA,
              "t.csv: the only column is the label; add features or check the separator");
    world_close(&w);
}

static void test_features_that_do_not_appear_are_0(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "+1 1:0.5 3:-2\n-1 2:1e3\n1.0\n-1 5:7 # 6:8\n", NULL, NULL);
    assert_int_equal(limn_data_rows(data), 4);
    ASSERT_ROW(data, 0, 0.5f, 0, -2, 0, 0);
    ASSERT_ROW(data, 1, 0, 1000, 0, 0, 0);
    ASSERT_ROW(data, 2, 0, 0, 0, 0, 0);
    ASSERT_ROW(data, 3, 0, 0, 0, 0, 7);
    assert_int_equal(limn_data_class_count(data), 2);
    assert_string_equal(class_of_row(data, 0), "+1");
    assert_string_equal(class_of_row(data, 2), "+1");
    assert_string_equal(class_of_row(data, 3), "-1");
    assert_int_equal(data->schema.label_column, 0);
    limn_data_free(data);
    world_close(&w);
}

/* Against a dense reference, with the largest index appearing late and often. */
static void test_rows_survive_every_growth_of_the_stride(void **state) {
    (void)state;
    enum { N = 300, D = 400 };
    static float expected[N][D];
    static char text[N * 20 * 16];
    world w;
    world_open(&w);
    for (uint64_t trial = 0; trial < 10; trial++) {
        lm_rng rng = lm_rng_at(trial, 1, 2);
        size_t length = 0, d = 0;
        memset(expected, 0, sizeof expected);
        for (size_t i = 0; i < N; i++) {
            length += (size_t)sprintf(text + length, "%zu", i % 3);
            size_t reach = 1 + i * D / N, index = 0;
            while ((index += 1 + lm_rng_below(&rng, 1 + reach / 3)) <= reach) {
                expected[i][index - 1] = (float)(i + index);
                length += (size_t)sprintf(text + length, " %zu:%zu", index, i + index);
                d = index > d ? index : d;
            }
            text[length++] = '\n';
        }
        text[length] = '\0';
        limn_data *data = must_read(&w, text, NULL, NULL);
        assert_int_equal(limn_data_rows(data), N);
        assert_int_equal(limn_data_features(data), d);
        for (size_t i = 0; i < N; i++)
            assert_row(data, i, expected[i]);
        limn_data_free(data);
    }
    world_close(&w);
}

static void test_rows_may_lack_the_label_but_all_of_them(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1:2\n2:3\n", NULL, NULL);
    assert_null(limn_data_classes(data));
    assert_int_equal(data->schema.label_column, LM_NO_COLUMN);
    limn_data_free(data);
    must_fail(&w, "1 1:2\n2:3\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2: the label is missing, but the first row has one; fill it or remove "
              "the row");
    must_fail(&w, "1:2\n\n1 2:3\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 3: there is a label, but the first row has none; label all rows or "
              "none");
    limn_read_options options = with_task(LIMN_REGRESS);
    data = must_read(&w, "0.25 1:2\n-3 1:3\n", &options, NULL);
    assert_true(limn_data_targets(data)[0] == 0.25 && limn_data_targets(data)[1] == -3);
    limn_data_free(data);
    must_fail(&w, "0.25 1:2\nx 1:3\n", &options, NULL, LIMN_E_DATA,
              "t.csv: line 2: 'x' is not a finite number, as a regression target must be; correct "
              "it or choose another label");
    options = with_task(LIMN_SEARCH);
    data = must_read(&w, "7 1:2\n2:3\n", &options, NULL); /* labels do not matter here */
    assert_null(limn_data_classes(data));
    assert_int_equal(limn_data_rows(data), 2);
    limn_data_free(data);
    options = with_task(LIMN_CLASSIFY);
    options.no_label = 1;
    data = must_read(&w, "7 1:2\n8 2:3\n", &options, NULL);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    options.no_label = 0;
    options.label = "last";
    must_fail(&w, "7 1:2\n", &options, NULL, LIMN_E_USAGE,
              "t.csv: the label of a LIBSVM row is always its first token; leave the label out");
    options.label = "first";
    data = must_read(&w, "7 1:2\n", &options, NULL);
    limn_data_free(data);
    world_close(&w);
}

static void test_bad_pairs_are_explained(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"1 0:2\n", "t.csv: line 1: index 0; indices start at 1"},
        {"1 1:1\n1 3:2 2:1\n",
         "t.csv: line 2: index 2 comes after 3; indices must ascend within a row"},
        {"1 1:1\n1 3:2 3:1\n",
         "t.csv: line 2: index 3 comes after 3; indices must ascend within a row"},
        {"3 qid:1 1:2\n", "t.csv: line 1: 'qid:1': ranking data is not supported; remove the qid"},
        {"1 1:1\n1 2:x\n", "t.csv: line 2: '2:x' is not index:value; correct it or remove the row"},
        {"1 1:1\n1 2:\n", "t.csv: line 2: '2:' is not index:value; correct it or remove the row"},
        {"1 1:1\n1 -2:1\n",
         "t.csv: line 2: '-2:1' is not index:value; correct it or remove the row"},
        {"1 1:1\n1 2\n", "t.csv: line 2: '2' is not index:value; correct it or remove the row"},
        {"1 1:1\n1 2:3:4\n",
         "t.csv: line 2: '2:3:4' has text after its value; separate pairs by blanks"},
        {"1 1:1\n1 2:nan\n",
         "t.csv: line 2: '2:nan' is not index:value; correct it or remove the row"},
        {"1 1:1\n1 2:-inf\n", "t.csv: line 2: '2:-inf' is infinite or too large for a 32-bit "
                              "float; the largest value is 3.4e38"},
        {"1 1:1\n1 2:1e39\n", "t.csv: line 2: '2:1e39' is infinite or too large for a 32-bit "
                              "float; the largest value is 3.4e38"},
        {"1 1:1\n1 99999999999999999999999:1\n",
         "t.csv: line 2: '99999999999999999999999:1' has an index that is too large"},
        {"? 1:1\n", "t.csv: line 1: the label is missing; fill it or remove the row"},
    };
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        must_fail(&w, cases[i][0], NULL, NULL, LIMN_E_DATA, cases[i][1]);
    world_close(&w);
}

static void test_what_would_not_fit_is_refused_before_memory_is_taken(void **state) {
    (void)state;
    world w;
    world_open(&w);
    w.ctx->memory_limit = 1000000;
    must_fail(&w, "1 1:1\n1 2000000000:1\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: the data would need about 16.0 GB of memory, but the limit is 1.0 MB; use "
              "fewer rows or features");
    must_fail(&w, "1 999999999999:1\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: the data would need about 4.0 TB of memory, but the limit is 1.0 MB; use "
              "fewer rows or features");
    world_close(&w);
}

/* Rows are stored with room for more features; the limit counts only those that came. */
static void test_the_limit_can_be_used_up_to_the_last_byte(void **state) {
    (void)state;
    static const char *const starts[] = {"1 2:1\n2 9999:1\n", "1 8000:1\n2 9999:1\n"};
    enum { ROWS = 30 };
    char text[400];
    world w;
    world_open(&w);
    for (size_t s = 0; s < LM_COUNT(starts); s++) {
        size_t length = (size_t)sprintf(text, "%s", starts[s]);
        for (int i = 2; i < ROWS; i++)
            length += (size_t)sprintf(text + length, "%d 1:%d\n", i % 2 + 1, i);
        for (size_t chunk = 0; chunk < 50; chunk += 7) {
            limn_data *data = NULL;
            w.ctx->memory_limit = ROWS * (9999 * 4 + 4);
            assert_int_equal(read_bytes(&w, text, length, chunk, NULL, NULL, &data), LIMN_OK);
            assert_int_equal(limn_data_features(data), 9999);
            assert_int_equal(limn_data_rows(data), ROWS);
            for (size_t i = 2; i < ROWS; i++)
                assert_true(data->x[i * 9999] == (float)i && data->x[i * 9999 + 1] == 0);
            assert_true(data->x[9999 + 9998] == 1);
            limn_data_free(data);
            w.ctx->memory_limit--;
            assert_int_equal(read_bytes(&w, text, length, chunk, NULL, NULL, &data), LIMN_E_DATA);
        }
    }
    world_close(&w);
}

static void test_with_a_model_rows_have_its_features(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *model = must_read(&w, "a,b,c,y\n1,2,3,u\n4,5,6,v\n", NULL, NULL);
    limn_data *data = must_read(&w, "v 2:7\nz 1:1\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 0, 7, 0);
    assert_int_equal(limn_data_classes(data)[0], 1);
    assert_int_equal(limn_data_classes(data)[1], 2);
    assert_string_equal(limn_data_class_name(data, 2), "z");
    limn_data_free(data);
    must_fail(&w, "v 2:7\nu 4:1\n", NULL, &model->schema, LIMN_E_DATA,
              "t.csv: line 2: index 4, but the model has 3 features");
    data = must_read(&w, "u\nv\n\nu 1:1\n", NULL, &model->schema); /* all-zero rows first */
    assert_int_equal(limn_data_rows(data), 3);
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

static limn_status open_text(world *w, const char *text, size_t chunk, const lm_schema *match,
                             limn_reader **reader) {
    lm_source *source = NULL;
    assert_int_equal(lm_source_memory(w->ctx, "t.csv", text, strlen(text), chunk, &source),
                     LIMN_OK);
    return lm_reader_open_source(w->ctx, source, NULL, match, reader);
}

static void test_streams_need_a_model(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_reader *reader = NULL;
    assert_int_equal(open_text(&w, "1 1:2\n", 0, NULL, &reader), LIMN_E_USAGE);
    assert_null(reader);
    assert_string_equal(limn_error(w.ctx), "t.csv: the number of features in a LIBSVM file is "
                                           "known only at its end; read it as a whole");
    limn_data *model = must_read(&w, "1,2,u\n", NULL, NULL);
    for (size_t chunk = 0; chunk < 9; chunk++) {
        assert_int_equal(
            open_text(&w, "u 1:2 # c\n\nv 2:3\n1:4 2:5\n", chunk, &model->schema, &reader),
            LIMN_OK);
        limn_rows rows = {.size = sizeof rows};
        size_t seen = 0;
        limn_status status;
        while ((status = limn_reader_next(reader, 2, &rows)) == LIMN_OK) {
            assert_true(rows.n > 0 && rows.classes[0] == (int32_t)seen);
            assert_true(rows.x[0] == (seen ? 0.0f : 2.0f));
            seen += rows.n;
        }
        assert_int_equal(seen, 2);
        assert_int_equal(status, LIMN_E_DATA); /* the row without a label */
        limn_reader_free(reader);
    }
    limn_data_free(model);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_are_told_from_tables),
        cmocka_unit_test(test_features_that_do_not_appear_are_0),
        cmocka_unit_test(test_rows_survive_every_growth_of_the_stride),
        cmocka_unit_test(test_rows_may_lack_the_label_but_all_of_them),
        cmocka_unit_test(test_bad_pairs_are_explained),
        cmocka_unit_test(test_what_would_not_fit_is_refused_before_memory_is_taken),
        cmocka_unit_test(test_the_limit_can_be_used_up_to_the_last_byte),
        cmocka_unit_test(test_with_a_model_rows_have_its_features),
        cmocka_unit_test(test_streams_need_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
