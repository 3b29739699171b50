/* test_reader.c: tables (CSV, TSV, ...): the rules for separators, headers, labels and matching,
 * and the messages about bad files. */
#include "data_world.h"

/* ---- what a table looks like ---- */

static void test_the_separator_is_told_by_the_content(void **state) {
    (void)state;
    static const char *const texts[] = {
        "1,2.5,a\n3,-4,b\n",
        "1;2.5;a\n3;-4;b\n",
        "1\t2.5\ta\n3\t-4\tb\n",
        "1 2.5 a\n3 -4 b\n",
        "  1   2.5 a  \n 3 -4    b\n",
        "1 , 2.5 , a\n3 ,\t-4 , b\n",
        "1,2.5,a\r\n3,-4,b\r\n",
        "1;2.5;a\r\n3;-4;b",
        "1 2.5 a\r\n3 -4 b \r\n",
        "1,2.5,a\n3,-4,b",
        "\n\n1,2.5,a\n   \n\r\n3,-4,b\n\n\n",
        "\357\273\2771,2.5,a\n3,-4,b\n",
        "\"1\",\"2.5\",\"a\"\n\"3\",\"-4\",\"b\"\n",
        " \"1\" , \"2.5\" , \"a\" \n3,-4,b\n",
        "1,2.5,\"a\"\r\n3,-4,\"b\"\r\n",
        "\"1\" \"2.5\" \"a\"\n3 -4 b\n",
        "u v c\n1 2.5 a\n3 -4 b\n",
    };
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(texts); i++) {
        limn_data *data = must_read(&w, texts[i], NULL, NULL);
        assert_int_equal(limn_data_rows(data), 2);
        ASSERT_ROW(data, 0, 1, 2.5f);
        ASSERT_ROW(data, 1, 3, -4);
        assert_string_equal(class_of_row(data, 0), "a");
        assert_string_equal(class_of_row(data, 1), "b");
        limn_data_free(data);
    }
    world_close(&w);
}

static void test_a_steady_separator_beats_a_frequent_one(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1;2;a,b,c\n3;4;d\n", NULL, NULL);
    ASSERT_ROW(data, 1, 3, 4);
    assert_string_equal(class_of_row(data, 0), "a,b,c");
    limn_data_free(data);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.delimiter = '|';
    data = must_read(&w, "1|2|a,b\n3|4|c;d\n", &options, NULL);
    ASSERT_ROW(data, 1, 3, 4);
    assert_string_equal(class_of_row(data, 1), "c;d");
    limn_data_free(data);
    options.delimiter = ' ';
    data = must_read(&w, "\t1 2\ta,b \n3  \t 4 c\n", &options, NULL);
    assert_string_equal(class_of_row(data, 0), "a,b");
    limn_data_free(data);
    static const char refused[] = "\"\n\r.-+e5";
    for (size_t i = 0; refused[i]; i++) {
        options.delimiter = refused[i];
        assert_int_equal(read_text(&w, "1,2\n", &options, NULL, &data), LIMN_E_USAGE);
    }
    world_close(&w);
}

static void test_quotes_hold_separators_newlines_and_doubled_quotes(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w,
                                "x,\"the \"\"class\"\"\"\n1,\"a,b\"\n2,\"two\nlines\"\n"
                                "3,\"say \"\"hi\"\"\"\n4,\"\"\"\"\n5,5\" disk\n",
                                NULL, NULL);
    assert_int_equal(limn_data_rows(data), 5);
    assert_string_equal(data->schema.label_name, "the \"class\"");
    assert_string_equal(class_of_row(data, 0), "a,b");
    assert_string_equal(class_of_row(data, 1), "two\nlines");
    assert_string_equal(class_of_row(data, 2), "say \"hi\"");
    assert_string_equal(class_of_row(data, 3), "\"");
    assert_string_equal(class_of_row(data, 4), "5\" disk");
    limn_data_free(data);
    /* lines are counted inside quotes too */
    must_fail(&w, "x,y\n1,\"two\nlines\"\n\n3,a\noops,b\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 6, column 1 (x): 'oops' is not a number, but the column has held "
              "numbers since line 2; correct it, or name the column in --categorical");
    must_fail(&w, "x,\"a\nb\"\n1,c\noops,b\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 4, column 1 (x): 'oops' is not a number, but the column has held "
              "numbers since line 3; correct it, or name the column in --categorical");
    must_fail(&w, "1,a\n2,\"b\n3,c\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2, column 2: a quote opens here and is never closed; close it");
    must_fail(
        &w, "1,a\n2,\"b\"c\n", NULL, NULL, LIMN_E_DATA,
        "t.csv: line 2, column 2: text follows a closing quote; double the quotes inside a cell");
    must_fail(
        &w, "1,a\n2,b,\"c\"d\n", NULL, NULL, LIMN_E_DATA,
        "t.csv: line 2, column 3: text follows a closing quote; double the quotes inside a cell");
    must_fail(&w, "\"x,y\n1,2\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 1, column 1: a quote opens here and is never closed; close it");
    world_close(&w);
}

/* ---- header ---- */

static size_t rows_of(world *w, const char *text, limn_header header) {
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.header = header;
    limn_data *data = must_read(w, text, &options, NULL);
    size_t rows = limn_data_rows(data);
    assert_int_equal(data->schema.feature_names != NULL,
                     header == LIMN_HEADER_YES ||
                         (header == LIMN_HEADER_AUTO && strchr("xlp,", text[0])));
    limn_data_free(data);
    return rows;
}

static void test_the_header_is_found_by_itself(void **state) {
    (void)state;
    world w;
    world_open(&w);
    assert_int_equal(rows_of(&w, "x,y\n1,a\n2,b\n", LIMN_HEADER_AUTO), 2);
    assert_int_equal(rows_of(&w, "x,2000\n1,3\n2,4\n", LIMN_HEADER_AUTO), 2); /* one text cell */
    assert_int_equal(rows_of(&w, "1,a\n2,b\n", LIMN_HEADER_AUTO), 2);
    assert_int_equal(rows_of(&w, "1,a\n2,3\n", LIMN_HEADER_YES), 1);
    assert_int_equal(rows_of(&w, "1,2\n3,4\n", LIMN_HEADER_AUTO), 2);
    assert_int_equal(rows_of(&w, "1,2\n3,4\n", LIMN_HEADER_YES), 1);
    assert_int_equal(rows_of(&w, "1,2\n3,4\n", LIMN_HEADER_NO), 2);
    assert_int_equal(rows_of(&w, ",a,b\n0,1,2\n", LIMN_HEADER_AUTO), 1); /* an index column */
    assert_int_equal(rows_of(&w, "1,x\n", LIMN_HEADER_AUTO), 1);
    assert_int_equal(rows_of(&w, "label,x\na,1\n", LIMN_HEADER_AUTO), 1);
    /* infinity in the first row is a bad number, not a name */
    must_fail(&w, "inf,1\n2,1\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 1, column 1: 'inf' is infinite or too large for a 32-bit float; the "
              "largest value is 3.4e38");
    world_close(&w);
}

/* ---- label ---- */

static void check_label(world *w, const char *text, limn_task task, const char *label,
                        size_t column, float first) {
    limn_read_options options = with_task(task);
    options.label = label;
    limn_data *data = must_read(w, text, &options, NULL);
    assert_int_equal(data->schema.label_column, column);
    assert_true(limn_data_values(data)[0] == first);
    limn_data_free(data);
}

static void test_the_label_is_found_by_name_number_or_default(void **state) {
    (void)state;
    static const char *const table = "a,b,c\n1,2,3\n4,5,6\n";
    world w;
    world_open(&w);
    check_label(&w, table, LIMN_CLASSIFY, NULL, 2, 1);
    check_label(&w, table, LIMN_CLASSIFY, "a", 0, 2);
    check_label(&w, table, LIMN_CLASSIFY, "b", 1, 1);
    check_label(&w, table, LIMN_CLASSIFY, "1", 0, 2);
    check_label(&w, table, LIMN_CLASSIFY, "2", 1, 1);
    check_label(&w, table, LIMN_CLASSIFY, "first", 0, 2);
    check_label(&w, table, LIMN_CLASSIFY, "last", 2, 1);
    check_label(&w, "3,first,c\n1,2,3\n", LIMN_CLASSIFY, "3", 0, 2); /* a name comes first */
    check_label(&w, "3,first,c\n1,2,3\n", LIMN_CLASSIFY, "first", 1, 1);
    check_label(&w, "Class,b,c\n1,2,3\n", LIMN_CLASSIFY, NULL, 0, 2);
    check_label(&w, "b,TARGET,c\n1,2,3\n", LIMN_REGRESS, NULL, 1, 1);
    check_label(&w, "x,y,label\n1,2,3\n", LIMN_CLASSIFY, NULL, 2, 1); /* label before y */
    check_label(&w, "x,y,z\n1,2,3\n", LIMN_CLASSIFY, NULL, 1, 1);
    check_label(&w, "1,2,3\n4,5,6\n", LIMN_CLASSIFY, "first", 0, 2);
    check_label(&w, "x,y,z\n1,2,3\n", LIMN_SEARCH, NULL, 1, 1);
    check_label(&w, "a,b,c\n1,2,3\n", LIMN_SEARCH, NULL, LM_NO_COLUMN, 1);
    check_label(&w, "a,b,c\n1,2,3\n", LIMN_SEARCH, "a", 0, 2);
    world_close(&w);
}

static void test_a_label_that_is_not_there_is_explained(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "kind";
    must_fail(&w, "a,b,c\n1,2,3\n", &options, NULL, LIMN_E_DATA,
              "t.csv: no column is named 'kind'; the columns are a, b, c");
    must_fail(
        &w, "a,b,c,d,e,f,g,h,i,j,k,l\n1,2,3,4,5,6,7,8,9,10,11,12\n", &options, NULL, LIMN_E_DATA,
        "t.csv: no column is named 'kind'; the columns are a, b, c, d, e, f, g, h, i, j, ...");
    must_fail(&w, "1,2,3\n", &options, NULL, LIMN_E_DATA,
              "t.csv: no column is named 'kind', because the file has no header; give the number "
              "of the label column, or first or last");
    options.label = "4";
    must_fail(&w, "1,2,3\n", &options, NULL, LIMN_E_DATA,
              "t.csv: the label should be column 4, but the file has 3 columns, counted from 1");
    options.label = "0";
    must_fail(&w, "1,2,3\n", &options, NULL, LIMN_E_DATA,
              "t.csv: the label should be column 0, but the file has 3 columns, counted from 1");
    options.label = "99999999999999999999999999";
    must_fail(&w, "1,2,3\n", &options, NULL, LIMN_E_DATA,
              "t.csv: the label should be column 99999999999999999999, but the file has 3 columns, "
              "counted from 1");
    options.label = "a";
    options.no_label = 1;
    must_fail(&w, "1,2,3\n", &options, NULL, LIMN_E_USAGE,
              "a label column is named, but the label is also switched off; choose one");
    world_close(&w);
}

static void test_tasks_decide_what_the_label_becomes(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_REGRESS);
    limn_data *data = must_read(&w, "1,0.1\n2,-3e300\n3,12345678901234567890\n", &options, NULL);
    assert_null(limn_data_classes(data));
    assert_true(limn_data_targets(data)[0] == 0.1);
    assert_true(limn_data_targets(data)[1] == -3e300);
    assert_true(limn_data_targets(data)[2] == 12345678901234567890.0);
    assert_int_equal(limn_data_class_count(data), 0);
    limn_data_free(data);
    must_fail(&w, "x,y\n1,2\n2,high\n", &options, NULL, LIMN_E_DATA,
              "t.csv: line 3, column 2 (y): 'high' is not a finite number, as a regression target "
              "must be; correct it or choose another label");
    must_fail(&w, "1,2\n2,1e999\n", &options, NULL, LIMN_E_DATA,
              "t.csv: line 2, column 2: '1e999' is not a finite number, as a regression target "
              "must be; correct it or choose another label");
    options = with_task(LIMN_SEARCH);
    data = must_read(&w, "x,y,z\n1,what,2\n", &options, NULL);
    ASSERT_ROW(data, 0, 1, 2);
    assert_null(limn_data_classes(data));
    assert_null(limn_data_targets(data));
    limn_data_free(data);
    options = with_task(LIMN_CLASSIFY);
    options.no_label = 1;
    data = must_read(&w, "x,y,z\n1,2,3\n", &options, NULL);
    ASSERT_ROW(data, 0, 1, 2, 3);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    options.task = (limn_task)7;
    assert_int_equal(read_text(&w, "1,2\n", &options, NULL, &data), LIMN_E_USAGE);
    world_close(&w);
}

static void test_labels_are_sorted_and_equal_numbers_are_one(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,10\n2,9\n3,9.0\n4,+10\n5,-1\n", NULL, NULL);
    assert_int_equal(limn_data_class_count(data), 3);
    assert_string_equal(limn_data_class_name(data, 0), "-1");
    assert_string_equal(limn_data_class_name(data, 1), "9");
    assert_string_equal(limn_data_class_name(data, 2), "10");
    const int32_t expected[] = {2, 1, 1, 2, 0};
    assert_memory_equal(limn_data_classes(data), expected, sizeof expected);
    limn_data_free(data);
    data = must_read(&w, "1,dog\n2,a label longer than eight\n3,dog\n4,a label longer than nine\n",
                     NULL, NULL);
    assert_string_equal(class_of_row(data, 1), "a label longer than eight");
    assert_string_equal(class_of_row(data, 3), "a label longer than nine");
    assert_string_equal(class_of_row(data, 2), "dog");
    limn_data_free(data);
    world_close(&w);
}

/* ---- bad cells and rows ---- */

static void test_bad_cells_are_named_with_their_place(void **state) {
    (void)state;
    world w;
    world_open(&w);
    must_fail(&w, "x,width,y\n1,2,a\n1,abc,b\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 3, column 2 (width): 'abc' is not a number, but the column has held "
              "numbers since line 2; correct it, or name the column in --categorical");
    must_fail(
        &w, "1,2,a\n1,0x10,b\n", NULL, NULL, LIMN_E_DATA,
        "t.csv: line 2, column 2: '0x10' is not a number, but the column has held numbers since "
        "line 1; correct it, or name the column in --categorical");
    must_fail(&w, "1,2,a\n1,1e39,b\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2, column 2: '1e39' is infinite or too large for a 32-bit float; the "
              "largest value is 3.4e38");
    must_fail(&w, "1,2,a\n1,-inf,b\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2, column 2: '-inf' is infinite or too large for a 32-bit float; the "
              "largest value is 3.4e38");
    must_fail(&w, "1,2,a\n1,2,\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2, column 3: the label is missing; fill it or remove the row");
    must_fail(&w, "y,x\na,1\n ? ,2\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 3, column 1 (y): the label is missing; fill it or remove the row");
    must_fail(
        &w, "1,2,a\n1,0123456789012345678901234567890123456789012345678901234567890x,b\n", NULL,
        NULL, LIMN_E_DATA,
        "t.csv: line 2, column 2: '0123456789012345678901234567890123456...' is not a "
        "number, but the column has held numbers since line 1; correct it, or name the column "
        "in --categorical");
    world_close(&w);
}

static void test_missing_cells_are_counted_over_the_whole_file(void **state) {
    (void)state;
    world w;
    world_open(&w);
    must_fail(&w, "a,b,y\n1,2,u\n3,,v\nNA,?,w\n5,NaN,u\nnan,\"\",v\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: 6 missing cells, the first in line 3, column 2 (b); fill them, remove the "
              "rows or impute with --missing median");
    must_fail(&w, "1,2,u\n3,4,v\n 	,6,w\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: 1 missing cell, in line 3, column 1; fill it, remove the row or impute with "
              "--missing median");
    /* the count does not depend on where the pieces of a file end */
    static const char text[] = "a,b,y\n1,2,u\n3,,v\nNA,?,w\n5,NaN,u\nnan,\"\",v\n";
    for (size_t chunk = 1; chunk < sizeof text; chunk++) {
        limn_data *data;
        assert_int_equal(read_bytes(&w, text, sizeof text - 1, chunk, NULL, NULL, &data),
                         LIMN_E_DATA);
        assert_string_equal(limn_error(w.ctx), "t.csv: 6 missing cells, the first in line 3, "
                                               "column 2 (b); fill them, remove the rows or "
                                               "impute with --missing median");
    }
    world_close(&w);
}

static void test_ragged_rows_are_counted(void **state) {
    (void)state;
    world w;
    world_open(&w);
    must_fail(&w, "1,2,3,4,5,6\n1,2,3,4,5\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2: 5 cells, but the first row has 6; check for a missing or extra "
              "separator");
    must_fail(&w, "1,2\n1,2,3,\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2: 4 cells, but the first row has 2; check for a missing or extra "
              "separator");
    must_fail(&w, "a,b,y\n1,2,u\n\n7\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 4: 1 cell, but the first row has 3; check for a missing or extra "
              "separator");
    must_fail(&w, "1 2 a\n1 a \n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2: 2 cells, but the first row has 3; check for a missing or extra "
              "separator");
    must_fail(&w, "1 2 3\n1 2  \r\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2: 2 cells, but the first row has 3; check for a missing or extra "
              "separator");
    /* text where a number should be, because the row lacks a cell before it */
    must_fail(&w, "1,2,a\n1,b\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2: 2 cells, but the first row has 3; check for a missing or extra "
              "separator");
    must_fail(&w, "1,2,\"a\"\n1,2,\"b\nc\",4\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 2: 4 cells, but the first row has 3; check for a missing or extra "
              "separator");
    world_close(&w);
}

static void test_files_without_rows_or_features_are_refused(void **state) {
    (void)state;
    world w;
    world_open(&w);
    static const char *const empty[] = {"",    "\n",    "\r\n \n",      "x,y\n",
                                        "x,y", "x\n\n", "\xef\xbb\xbf", "\xef\xbb\xbf\n"};
    for (size_t i = 0; i < LM_COUNT(empty); i++) {
        limn_read_options options = with_task(LIMN_CLASSIFY);
        options.no_label = 1;
        must_fail(&w, empty[i], &options, NULL, LIMN_E_DATA, "t.csv: no rows");
    }
    must_fail(&w, "1\n2\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: the only column is the label; add features or check the separator");
    limn_data *data;
    assert_int_equal(read_bytes(&w, "1,2\n3\0,4\n", 9, 0, NULL, NULL, &data), LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx), "t.csv: byte 6 is zero, so this is not text; convert "
                                           "it to CSV or LIBSVM in UTF-8");
    assert_int_equal(read_bytes(&w, "1,2\n3\0,4\n", 9, 1, NULL, NULL, &data), LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx), "t.csv: byte 6 is zero, so this is not text; convert "
                                           "it to CSV or LIBSVM in UTF-8");
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.format = (limn_format)9;
    assert_int_equal(read_text(&w, "1,2\n", &options, NULL, &data), LIMN_E_USAGE);
    world_close(&w);
}

static void test_one_column_is_a_feature_when_no_label_is_wanted(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_SEARCH);
    limn_data *data = must_read(&w, "x\n1\n\n2\n3", &options, NULL);
    assert_int_equal(limn_data_rows(data), 3);
    ASSERT_ROW(data, 2, 3);
    assert_string_equal(data->schema.feature_names[0], "x");
    limn_data_free(data);
    world_close(&w);
}

/* ---- matching a model ---- */

static limn_data *model_data(world *w, const char *text) {
    return must_read(w, text, NULL, NULL);
}

static void test_columns_are_matched_by_name_in_any_order(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *model = model_data(&w, "a,b,kind\n1,2,u\n3,4,v\n");
    limn_data *data = must_read(&w, "kind,b,a\nv,6,5\nnew,8,7\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 5, 6);
    ASSERT_ROW(data, 1, 7, 8);
    assert_int_equal(limn_data_classes(data)[0], 1);
    assert_int_equal(limn_data_classes(data)[1], 2); /* unknown: after those of the model */
    assert_string_equal(limn_data_class_name(data, 2), "new");
    assert_int_equal(w.warnings, 0);
    limn_data_free(data);
    data = must_read(&w, "b,a\n6,5\n", NULL, &model->schema); /* no label */
    ASSERT_ROW(data, 0, 5, 6);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    data = must_read(&w, "x1,b,Class,a,x2\nfoo,6,v,5,\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 5, 6);
    assert_string_equal(class_of_row(data, 0), "v");
    assert_int_equal(w.warnings, 1);
    assert_string_equal(w.warning,
                        "t.csv: 2 columns that the model does not know are ignored: x1, x2");
    limn_data_free(data);
    must_fail(&w, "a,x\n1,2\n", NULL, &model->schema, LIMN_E_DATA,
              "t.csv: 1 column of the model is missing: b");
    must_fail(&w, "u,x\n1,2\n", NULL, &model->schema, LIMN_E_DATA,
              "t.csv: 2 columns of the model are missing: a, b");
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "c";
    data = must_read(&w, "a,b,c,kind\n1,2,u,z\n", &options, &model->schema);
    assert_string_equal(class_of_row(data, 0), "u");
    limn_data_free(data);
    must_fail(&w, "a,b,kind\n1,2,u\n", &options, &model->schema, LIMN_E_DATA,
              "t.csv: no column is named 'c'; the columns are a, b, kind");
    options.label = NULL;
    options.no_label = 1;
    data = must_read(&w, "a,b,kind\n1,2,u\n", &options, &model->schema);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

static void test_equal_names_are_matched_in_their_order(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *model = model_data(&w, "a,a,b,label\n1,2,3,u\n");
    limn_data *data = must_read(&w, "b,a,label,a\n3,1,u,2\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 1, 2, 3);
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

static void test_a_feature_named_y_is_not_taken_for_the_label(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *model = model_data(&w, "x,y,class\n1,2,u\n");
    limn_data *data = must_read(&w, "y,x\n2,1\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 1, 2);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

static void test_columns_are_matched_by_place_without_a_header(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options first = with_task(LIMN_CLASSIFY);
    first.label = "first";
    limn_data *model = must_read(&w, "u,1,2\nv,3,4\n", &first, NULL);
    limn_data *data = must_read(&w, "v,7,8\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 7, 8);
    assert_string_equal(class_of_row(data, 0), "v");
    limn_data_free(data);
    data = must_read(&w, "7,8\n9,10\n", NULL, &model->schema);
    ASSERT_ROW(data, 1, 9, 10);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    limn_read_options last = with_task(LIMN_CLASSIFY);
    last.label = "last";
    data = must_read(&w, "7,8,v\n", &last, &model->schema);
    ASSERT_ROW(data, 0, 7, 8);
    limn_data_free(data);
    data = must_read(&w, "p,q,r\nv,7,8\n", NULL, &model->schema); /* names on one side only */
    ASSERT_ROW(data, 0, 7, 8);
    limn_data_free(data);
    must_fail(&w, "7,8,9,10\n", NULL, &model->schema, LIMN_E_DATA,
              "t.csv: 4 columns, but the model has 2 features: 2 columns without a label or 3 with "
              "one are expected");
    must_fail(&w, "7\n", NULL, &model->schema, LIMN_E_DATA,
              "t.csv: 1 column, but the model has 2 features: 2 columns without a label or 3 with "
              "one are expected");
    must_fail(&w, "7,8\n", &last, &model->schema, LIMN_E_DATA,
              "t.csv: 2 columns, but the model has 2 features, so 3 are expected with the label");
    last.label = NULL;
    last.no_label = 1;
    must_fail(&w, "7,8,9\n", &last, &model->schema, LIMN_E_DATA,
              "t.csv: 3 columns, but the model has 2 features");
    limn_data_free(model);
    world_close(&w);
}

/* A model from memory has no label column: the default place is the last one. */
static void test_a_model_without_a_label_column_takes_the_last(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *model = NULL;
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_CLASSIFY, (const float[]){1, 2}, 1, 2,
                                           (const double[]){3}, &model),
                     LIMN_OK);
    limn_data *data = must_read(&w, "7,8,3\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 7, 8);
    assert_int_equal(limn_data_classes(data)[0], 0);
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

static void test_with_a_model_the_first_line_alone_tells_the_header(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *named = model_data(&w, "a,b,kind\n1,2,u\n");
    limn_data *numbered = model_data(&w, "0,1,y\n5,6,7\n");
    limn_data *plain = model_data(&w, "1,2,u\n");
    static const struct {
        int model;
        const char *text;
        size_t rows;
    } cases[] = {
        {0, "a,b\n1,2\n", 1},     {0, "b,a,7\n1,2,3\n", 1},    {0, "1,2\n3,4\n", 2},
        {0, "1,2,u\n", 1},        {0, "1,2,kind\n3,4,u\n", 0}, /* no column a: an error */
        {1, "0,1,y\n5,6,7\n", 1}, {1, "0,1\n5,6\n", 1},        {1, "0,0,1\n5,6,7\n", 2},
        {1, "1,1\n0,1.5\n", 2},   {2, "p,q,r\n1,2,u\n", 1},    {2, "1,2,u\n", 1},
    };
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        const lm_schema *match = cases[i].model == 0   ? &named->schema
                                 : cases[i].model == 1 ? &numbered->schema
                                                       : &plain->schema;
        limn_data *data = NULL;
        limn_status status = read_text(&w, cases[i].text, NULL, match, &data);
        assert_int_equal(status, cases[i].rows ? LIMN_OK : LIMN_E_DATA);
        if (data)
            assert_int_equal(limn_data_rows(data), cases[i].rows);
        limn_data_free(data);
    }
    limn_data_free(named);
    limn_data_free(numbered);
    limn_data_free(plain);
    world_close(&w);
}

static void test_the_task_of_the_model_counts(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_REGRESS);
    limn_data *model = must_read(&w, "a,b,y\n1,2,3\n", &options, NULL);
    limn_data *data = must_read(&w, "a,b,y\n1,2,0.5\n", NULL, &model->schema);
    assert_true(limn_data_targets(data)[0] == 0.5);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    limn_data_free(model);
    options = with_task(LIMN_SEARCH);
    model = must_read(&w, "a,class,b\n1,u,3\n", &options, NULL);
    data = must_read(&w, "1,u,3\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 1, 3);
    limn_data_free(data);
    data = must_read(&w, "b,class,a\n1,u,3\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 3, 1);
    assert_int_equal(w.warnings, 0);
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

/* ---- streams ---- */

static limn_reader *open_stream(world *w, const char *text, size_t chunk, const lm_schema *match) {
    lm_source *source = NULL;
    limn_reader *reader = NULL;
    assert_int_equal(lm_source_memory(w->ctx, "t.csv", text, strlen(text), chunk, &source),
                     LIMN_OK);
    if (lm_reader_open_source(w->ctx, source, NULL, match, &reader) != LIMN_OK)
        fail_msg("not opened: %s", limn_error(w->ctx));
    return reader;
}

static void test_rows_stream_in_pieces_of_any_size(void **state) {
    (void)state;
    static const char text[] = "a,b,y\n1,2,u\n3,4,v\n\n5,6,\"u\"\n7,8,w";
    world w;
    world_open(&w);
    for (size_t chunk = 0; chunk < 12; chunk++)
        for (size_t most = 1; most < 6; most++) {
            limn_reader *reader = open_stream(&w, text, chunk, NULL);
            assert_int_equal(lm_reader_schema(reader)->features, 2);
            assert_string_equal(lm_reader_schema(reader)->column[1].name, "b");
            limn_rows rows = {.size = sizeof rows};
            size_t seen = 0;
            for (;;) {
                assert_int_equal(limn_reader_next(reader, most, &rows), LIMN_OK);
                assert_true(rows.n <= most);
                if (!rows.n)
                    break;
                for (size_t i = 0; i < rows.n; i++, seen++) {
                    assert_true(rows.x[2 * i] == (float)(2 * seen + 1));
                    assert_true(rows.x[2 * i + 1] == (float)(2 * seen + 2));
                    const char *name = lm_reader_schema(reader)->labels.names[rows.classes[i]];
                    assert_string_equal(name, seen == 1 ? "v" : seen == 3 ? "w" : "u");
                }
            }
            assert_int_equal(seen, 4);
            assert_int_equal(limn_reader_next(reader, most, &rows), LIMN_OK); /* still the end */
            assert_int_equal(rows.n, 0);
            assert_int_equal(limn_reader_next(reader, 0, &rows), LIMN_E_USAGE);
            limn_reader_free(reader);
        }
    limn_reader_free(NULL);
    world_close(&w);
}

static void test_rows_before_a_bad_one_are_handed_out_first(void **state) {
    (void)state;
    world w;
    world_open(&w);
    for (size_t chunk = 0; chunk < 12; chunk++) {
        limn_reader *reader = open_stream(&w, "1,2,u\n3,4,v\n5,,w\n7,8,u\n", chunk, NULL);
        limn_rows rows = {.size = sizeof rows};
        size_t seen = 0;
        limn_status status;
        while ((status = limn_reader_next(reader, 100, &rows)) == LIMN_OK)
            seen += rows.n;
        assert_int_equal(status, LIMN_E_DATA);
        assert_int_equal(rows.n, 0);
        assert_int_equal(seen, 2);
        assert_string_equal(
            limn_error(w.ctx),
            "t.csv: line 3, column 2: the cell is missing; fill it or remove the row");
        assert_int_equal(limn_reader_next(reader, 100, &rows), LIMN_E_DATA);
        limn_reader_free(reader);
    }
    world_close(&w);
}

/* Any text gives the same set or the same message, however its bytes arrive. */
static void test_the_result_does_not_depend_on_how_the_bytes_arrive(void **state) {
    (void)state;
    static const char *const texts[] = {
        "x,\"a \"\"b\"\"\"\r\n1,\"u\r\nv\"\r\n\r\n2,\"\"\"\"\r\n",
        "1 2 a \n 3 4\tb\n5 6 c",
        "a;b\n1.5;2\n-1e3;3\n",
        "1,2\n3,4\n5",
        "1,2\n3,4,\n",
        "\"1\",\"2\n3\",\"4\",5\n",
        "1,2,3\r\n\r4,5,6\r\n",
        "\xef\xbb\xbfx,y\n1,2\n",
        "1,12345678.12345678e-5,a\n1,.5,b\n1,5.,c\n1,123456789012345678901,d\n",
        "x,y\n1,\"open\n2,3\n",
        "1:2 3:4\n2:5 7:1e3 # c\n\n5:5",
        "+1 1:0.5\n-1 3:2 4:1\n",
        "1\n2\n3\n1 5:2\n",
        "a b c\n1 2 3\n",
        "1,2,u\n3,4,v,\"w\"x\n",
        "1,2,u\n3,x\n",
        "1,2,u\n3,x,\"w\"x\n",
        "1,2,u\n3,4,v,\"w",
    };
    world w;
    world_open(&w);
    for (size_t t = 0; t < LM_COUNT(texts); t++) {
        limn_data *whole = NULL;
        limn_status expected = read_text(&w, texts[t], NULL, NULL, &whole);
        char sentence[1024];
        snprintf(sentence, sizeof sentence, "%s", limn_error(w.ctx));
        for (size_t chunk = 1; chunk <= strlen(texts[t]); chunk++) {
            limn_data *data = NULL;
            limn_status status =
                read_bytes(&w, texts[t], strlen(texts[t]), chunk, NULL, NULL, &data);
            assert_int_equal(status, expected);
            if (status != LIMN_OK) {
                assert_string_equal(limn_error(w.ctx), sentence);
                continue;
            }
            assert_int_equal(limn_data_rows(data), limn_data_rows(whole));
            assert_int_equal(limn_data_features(data), limn_data_features(whole));
            for (size_t i = 0; i < limn_data_rows(data); i++) {
                assert_row(data, i, whole->x + i * limn_data_features(whole));
                if (whole->label)
                    assert_string_equal(class_of_row(data, i), class_of_row(whole, i));
            }
            limn_data_free(data);
        }
        limn_data_free(whole);
    }
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_separator_is_told_by_the_content),
        cmocka_unit_test(test_a_steady_separator_beats_a_frequent_one),
        cmocka_unit_test(test_quotes_hold_separators_newlines_and_doubled_quotes),
        cmocka_unit_test(test_the_header_is_found_by_itself),
        cmocka_unit_test(test_the_label_is_found_by_name_number_or_default),
        cmocka_unit_test(test_a_label_that_is_not_there_is_explained),
        cmocka_unit_test(test_tasks_decide_what_the_label_becomes),
        cmocka_unit_test(test_labels_are_sorted_and_equal_numbers_are_one),
        cmocka_unit_test(test_bad_cells_are_named_with_their_place),
        cmocka_unit_test(test_missing_cells_are_counted_over_the_whole_file),
        cmocka_unit_test(test_ragged_rows_are_counted),
        cmocka_unit_test(test_files_without_rows_or_features_are_refused),
        cmocka_unit_test(test_one_column_is_a_feature_when_no_label_is_wanted),
        cmocka_unit_test(test_columns_are_matched_by_name_in_any_order),
        cmocka_unit_test(test_equal_names_are_matched_in_their_order),
        cmocka_unit_test(test_a_feature_named_y_is_not_taken_for_the_label),
        cmocka_unit_test(test_columns_are_matched_by_place_without_a_header),
        cmocka_unit_test(test_a_model_without_a_label_column_takes_the_last),
        cmocka_unit_test(test_with_a_model_the_first_line_alone_tells_the_header),
        cmocka_unit_test(test_the_task_of_the_model_counts),
        cmocka_unit_test(test_rows_stream_in_pieces_of_any_size),
        cmocka_unit_test(test_rows_before_a_bad_one_are_handed_out_first),
        cmocka_unit_test(test_the_result_does_not_depend_on_how_the_bytes_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
