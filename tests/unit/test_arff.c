/* test_arff.c: ARFF files: header, quotes, nominal and sparse rows, weights, matching to a model;
 * test_arff_hostile.c has the bad ones. */
#include "data/read/reader_impl.h"
#include "data_world.h"

#include <math.h>

#define HEAD "@relation r\n@attribute a numeric\n@attribute b real\n@attribute class {u,v}\n@data\n"
#define COLORS                                                                      \
    "@relation r\n@attribute color {red,green,'dark blue'}\n@attribute a numeric\n" \
    "@attribute class {u,v}\n@data\n"

/* ---- what an ARFF file looks like ---- */

static void test_the_same_table_in_many_forms(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD "1,2.5,u\n3,-4,v\n",
        HEAD "1,2.5,u\n3,-4,v",
        HEAD " 1 , 2.5\t,\tu \n\t3,-4 , v\t\n",
        HEAD "1\t2.5\tu\n3\t\t-4\t v\n",
        HEAD "1\t2.5,u\n3,-4\tv\n",
        HEAD "% c\n\n1,2.5,u\n   \n \t% c\n3,-4,v\n\n% end",
        HEAD "1,2.5,u % c\n3,-4,v\t%c\n",
        HEAD "'1',\"2.5\",'u'\n3,'-4',\"v\" % c\n",
        HEAD "{0 1,1 2.5}\n{0 3, 1 -4, 2 v}\n",
        HEAD "{ 0 1 ,\t1\t2.5 , 2 'u' }\n3,-4,v\n",
        HEAD "{0 '1', 1 \"2.5\", 2 u,} % c\n{0 3, 1 -4, 2 v}\r\n",
        "\357\273\277" HEAD "1,2.5,u\n3,-4,v\n",
        "@relation r\r\n@attribute a numeric\r\n@attribute b real\r\n@attribute class "
        "{u,v}\r\n@data\r\n1,2.5,u\r\n\r\n3,-4,v\r\n",
        "% title\n%\n\n@RELATION 'a b'\n\n@Attribute a NUMERIC % c\n@ATTRIBUTE b Real\n% c\n"
        "@attribute class { u , \"v\" } % c\n@DATA\n1,2.5,u\n3,-4,v\n",
        "  @relation\n\t@attribute\ta\tinteger\n@attribute 'b' INTEGER\n@attribute "
        "class{'u','v',}\n"
        " @data % c\n1,2.5,u\n3,-4,v\n",
        "@attribute a numeric\n@relation late\n@attribute \"b\"\treal\n@attribute class string\n"
        "@data\n1,2.5,u\n3,-4,v\n",
    };
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(texts); i++) {
        limn_data *data = must_read(&w, texts[i], NULL, NULL);
        assert_int_equal(limn_data_rows(data), 2);
        ASSERT_ROW(data, 0, 1, 2.5f);
        ASSERT_ROW(data, 1, 3, -4);
        assert_string_equal(class_of_row(data, 0), "u");
        assert_string_equal(class_of_row(data, 1), "v");
        assert_string_equal(data->schema.feature_names[0], "a");
        assert_string_equal(data->schema.feature_names[1], "b");
        assert_string_equal(data->schema.label_name, "class");
        assert_null(limn_data_weights(data));
        limn_data_free(data);
    }
    assert_int_equal(w.warnings, 0);
    world_close(&w);
}

static void test_comments_in_front_decide_nothing(void **state) {
    (void)state;
    static const char *const tables[] = {"% c\n%\n1,2\n3,4\n",
                                         "% @relation x\nu,v\n",
                                         "@relations x\n1,2\n",
                                         "@relation,b\n1,2\n",
                                         "@relatio\n1\n",
                                         "@data\n1\n",
                                         "% only\n"};
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(tables); i++)
        for (size_t chunk = 0; chunk < 20; chunk++) {
            lm_source *source = NULL;
            limn_reader *reader = NULL;
            limn_read_options options = with_task(LIMN_SEARCH);
            options.header = LIMN_HEADER_NO;
            assert_int_equal(
                lm_source_memory(w.ctx, "t.csv", tables[i], strlen(tables[i]), chunk, &source),
                LIMN_OK);
            assert_int_equal(lm_reader_open_source(w.ctx, source, &options, NULL, &reader),
                             LIMN_OK);
            assert_int_equal(reader->format->id, LIMN_FORMAT_CSV);
            limn_reader_free(reader);
        }
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.format = LIMN_FORMAT_ARFF;
    must_fail(&w, "1,2\n", &options, NULL, LIMN_E_DATA,
              "t.csv: line 1: '1,2' is not a line of an ARFF header; expected @relation, "
              "@attribute or @data, such as @attribute width numeric");
    must_fail(&w, "% only\n", &options, NULL, LIMN_E_DATA,
              "t.csv: the file ends inside its header; put @data before the rows");
    must_fail(&w, "", &options, NULL, LIMN_E_DATA,
              "t.csv: the file ends inside its header; put @data before the rows");
    world_close(&w);
}

static void test_quotes_hold_separators_braces_and_escapes(void **state) {
    (void)state;
    static const char *const names[] = {
        "a,b",         "it's",      "say \"hi\"", "{x}",      "back\\slash", "tab\there",
        "line\nbreak", "50%",       "x\ry",       " blanks ", "%",           "odd escape: qz'",
        "don't",       "two words", "a\\b",       "a%b",
    };
    world w;
    world_open(&w);
    limn_data *data = must_read(&w,
                                "@relation r\n@attribute 'the \\'x\\', {or} \\\"so\\\"' real\n"
                                "@attribute \"my 'class'\" string\n@data\n"
                                "0,'a,b'\n1,'it\\'s'\n2,\"say \\\"hi\\\"\"\n3,'{x}'\n"
                                "4,'back\\\\slash'\n5,'tab\\there'\n6,\"line\\nbreak\"\n"
                                "7,'50\\%'\n8,'x\\ry'\n9,' blanks '\n10,'%'\n"
                                "11,'odd escape: \\q\\z\\''\n12,don't\n13,two words\n"
                                "14,a\\b\n15,a%b\n",
                                NULL, NULL);
    assert_int_equal(limn_data_rows(data), LM_COUNT(names));
    for (size_t i = 0; i < LM_COUNT(names); i++)
        assert_string_equal(class_of_row(data, i), names[i]);
    assert_string_equal(data->schema.column[0].name, "the 'x', {or} \"so\"");
    assert_string_equal(data->schema.label_name, "my 'class'");
    limn_data_free(data);
    world_close(&w);
}

static void test_numbers_are_those_of_strtof(void **state) {
    (void)state;
    enum { ROWS = 300, COLUMNS = 7 };
    static const char *const separators[] = {",", ", ", "\t", " ,\t", ",\t "};
    static char text[ROWS * COLUMNS * 40 + 1000];
    static float expected[ROWS][COLUMNS];
    lm_rng rng = lm_rng_at(1, 2, 3);
    char *p = text + sprintf(text, "@relation r\n");
    for (int j = 0; j < COLUMNS; j++)
        p += sprintf(p, "@attribute a%d numeric\n", j);
    p += sprintf(p, "@data\n");
    for (size_t i = 0; i < ROWS; i++) {
        const char *separator = separators[lm_rng_below(&rng, LM_COUNT(separators))];
        for (size_t j = 0; j < COLUMNS; j++) {
            double value = lm_rng_normal(&rng) * pow(10, (double)lm_rng_below(&rng, 30) - 15);
            char number[40];
            sprintf(number, "%.*g", (int)lm_rng_below(&rng, 17) + 1, value);
            expected[i][j] = strtof(number, NULL);
            p += sprintf(p, "%s%s", j ? separator : "", number);
        }
        p += sprintf(p, "\n");
    }
    limn_read_options options = with_task(LIMN_SEARCH);
    world w;
    world_open(&w);
    for (size_t chunk = 0; chunk < 3000; chunk = chunk * 5 + 1) {
        limn_data *data = NULL;
        assert_int_equal(read_bytes(&w, text, strlen(text), chunk, &options, NULL, &data), LIMN_OK);
        assert_int_equal(limn_data_rows(data), ROWS);
        for (size_t i = 0; i < ROWS; i++)
            assert_row(data, i, expected[i]);
        limn_data_free(data);
    }
    world_close(&w);
}

/* ---- types ---- */

static void test_nominal_attributes_are_categories_as_declared(void **state) {
    (void)state;
    world w;
    world_open(&w);
    /* in sorted order: dark blue, green, red; no row is green */
    limn_data *data =
        must_read(&w, COLORS "red,1,u\n'dark blue',2,v\n dark blue ,3,u\n", NULL, NULL);
    ASSERT_ROW(data, 0, 0, 0, 1, 1);
    ASSERT_ROW(data, 1, 1, 0, 0, 2);
    ASSERT_ROW(data, 2, 1, 0, 0, 3);
    assert_string_equal(data->schema.feature_names[0], "color=dark blue");
    assert_string_equal(data->schema.feature_names[1], "color=green");
    assert_string_equal(data->schema.feature_names[2], "color=red");
    assert_string_equal(data->schema.feature_names[3], "a");
    limn_data_free(data);
    /* numbers, and what would be missing elsewhere, are values too */
    data = must_read(&w,
                     "@relation r\n@attribute n {10,9,2}\n@attribute o {NA,'?'}\n"
                     "@attribute y numeric\n@data\n9,NA,1\n2.0,'?',2\n10,\"NA\",1\n",
                     NULL, NULL);
    ASSERT_ROW(data, 0, 0, 1, 0, 0, 1);
    ASSERT_ROW(data, 1, 1, 0, 0, 1, 0);
    ASSERT_ROW(data, 2, 0, 0, 1, 0, 1);
    limn_data_free(data);
    must_fail(&w, COLORS "red,1,u\nyellow,2,v\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 7, column 1 (color): 'yellow' is not one of the values that the header "
              "declares; correct it or declare it");
    must_fail(&w, COLORS "red,1,u\nRed,2,v\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 7, column 1 (color): 'Red' is not one of the values that the header "
              "declares; correct it or declare it");
    must_fail(&w, COLORS "red,1,u\n'?',2,v\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 7, column 1 (color): '?' is not one of the values that the header "
              "declares; correct it or declare it");
    world_close(&w);
}

static void test_labels_are_those_that_occur(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w,
                                "@relation r\n@attribute a real\n@attribute class {z,b,a}\n"
                                "@data\n1,z\n2,a\n3,z\n",
                                NULL, NULL);
    assert_int_equal(limn_data_class_count(data), 2);
    assert_string_equal(limn_data_class_name(data, 0), "a");
    assert_string_equal(limn_data_class_name(data, 1), "z");
    limn_data_free(data);
    must_fail(&w, HEAD "1,2,u\n1,2,w\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 7, column 3 (class): 'w' is not one of the values that the header "
              "declares; correct it or declare it");
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.skip_label = 1; /* the label may even be wrong */
    data = must_read(&w, HEAD "1,2,u\n1,2,w\n1,2,?\n", &options, NULL);
    assert_int_equal(limn_data_rows(data), 3);
    limn_data_free(data);
    world_close(&w);
}

static void test_string_attributes_are_categories_as_seen(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w,
                                "@relation r\n@attribute s string\n@attribute y {0,1}\n@data\n"
                                "'b c',0\n7,1\na,0\n7,1\n",
                                NULL, NULL);
    ASSERT_ROW(data, 0, 0, 0, 1);
    ASSERT_ROW(data, 1, 1, 0, 0);
    ASSERT_ROW(data, 2, 0, 1, 0);
    ASSERT_ROW(data, 3, 1, 0, 0);
    limn_data_free(data);
    world_close(&w);
}

static void test_numeric_attributes_can_be_chosen_as_categories(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.categorical = "b";
    limn_data *data = must_read(&w, HEAD "1,20,u\n2,3,v\n{0 5}\n", &options, NULL);
    ASSERT_ROW(data, 0, 1, 0, 0, 1);
    ASSERT_ROW(data, 1, 2, 0, 1, 0);
    ASSERT_ROW(data, 2, 5, 1, 0, 0);
    limn_data_free(data);
    must_fail(&w, HEAD "1,20,u\n2,x,v\n", &options, NULL, LIMN_E_DATA,
              "t.csv: line 7, column 2 (b): 'x' is not a number, but the attribute is numeric; "
              "correct it or declare the attribute as nominal");
    world_close(&w);
}

static void test_dates_may_be_labels_or_unused_but_not_features(void **state) {
    (void)state;
    static const char *const dated =
        "@relation r\n@attribute a real\n@attribute day DATE 'yyyy-MM-dd'\n@attribute b real\n"
        "@data\n1,'2020-01-31',2\n3,'2020-02-01',4\n";
    world w;
    world_open(&w);
    must_fail(&w, dated, NULL, NULL, LIMN_E_DATA,
              "t.csv: line 3, column 2 (day): a date cannot be a feature; write it as a number, "
              "such as a year or days since another, or remove the attribute");
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "day";
    limn_data *data = must_read(&w, dated, &options, NULL);
    ASSERT_ROW(data, 1, 3, 4);
    assert_string_equal(class_of_row(data, 1), "2020-02-01");
    limn_data_free(data);
    limn_data *model = must_read(&w, "b,a,y\n1,2,3\n", NULL, NULL);
    data = must_read(&w, dated, NULL, &model->schema);
    ASSERT_ROW(data, 1, 4, 3);
    assert_string_equal(w.warning, "t.csv: 1 column that the model does not know is ignored: day");
    limn_data_free(data);
    limn_data_free(model);
    model = must_read(&w, "day,a,y\n1,2,3\n", NULL, NULL);
    must_fail(&w, dated, NULL, &model->schema, LIMN_E_DATA,
              "t.csv: line 3, column 2 (day): a date cannot be a feature; write it as a number, "
              "such as a year or days since another, or remove the attribute");
    limn_data_free(model);
    world_close(&w);
}

/* ---- missing cells ---- */

static void test_missing_cells_are_counted_or_filled(void **state) {
    (void)state;
    static const char text[] = COLORS "red,?,u\n?,1,v\ngreen,,u\n{1 ?}\n green,3,v\nNA,NaN,v\n";
    world w;
    world_open(&w);
    for (size_t chunk = 0; chunk < sizeof text; chunk++) {
        limn_data *data;
        assert_int_equal(read_bytes(&w, text, sizeof text - 1, chunk, NULL, NULL, &data),
                         LIMN_E_DATA);
        assert_string_equal(limn_error(w.ctx),
                            "t.csv: 6 missing cells, the first in line 6, column 2 (a); fill them, "
                            "remove the rows or impute with --missing median");
    }
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.missing = LIMN_MISSING_MEDIAN;
    limn_data *data = must_read(&w, text, &options, NULL);
    ASSERT_ROW(data, 0, 0, 0, 1, 2);
    ASSERT_ROW(data, 1, 0, 1, 0, 1);
    ASSERT_ROW(data, 2, 0, 1, 0, 2);
    ASSERT_ROW(data, 3, 0, 0, 1, 2); /* the sparse row: red is the first value */
    ASSERT_ROW(data, 4, 0, 1, 0, 3);
    ASSERT_ROW(data, 5, 0, 1, 0, 2); /* green and red are equally frequent */
    limn_data_free(data);
    must_fail(&w, HEAD "1,2,?\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 6, column 3 (class): the label is missing; fill it or remove the row");
    must_fail(&w, HEAD "1,'?',u\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: line 6, column 2 (b): '?' is not a number, but the attribute is numeric; "
              "correct it or declare the attribute as nominal");
    world_close(&w);
}

/* ---- sparse rows ---- */

static void test_what_a_sparse_row_leaves_out_is_0_or_the_first_value(void **state) {
    (void)state;
    static const char *const head = "@relation r\n@attribute class {no,yes}\n@attribute a numeric\n"
                                    "@attribute n {x,b,'c d'}\n@attribute b numeric\n@data\n";
    char text[400];
    world w;
    world_open(&w);
    snprintf(text, sizeof text, "%s%s", head,
             "{}\n{ }\n{3 1.5}\n{0 yes, 2 'c d'}\n{1 -2e3, 2 b }\nyes,1,x,2\n{2 x}\n");
    limn_data *data = must_read(&w, text, NULL, NULL);
    assert_int_equal(limn_data_rows(data), 7); /* a, n=b, n=c d, n=x, b */
    ASSERT_ROW(data, 0, 0, 0, 0, 1, 0);
    ASSERT_ROW(data, 1, 0, 0, 0, 1, 0);
    ASSERT_ROW(data, 2, 0, 0, 0, 1, 1.5f);
    ASSERT_ROW(data, 3, 0, 0, 1, 0, 0);
    ASSERT_ROW(data, 4, -2e3f, 1, 0, 0, 0);
    ASSERT_ROW(data, 5, 1, 0, 0, 1, 2);
    ASSERT_ROW(data, 6, 0, 0, 0, 1, 0);
    static const char *const labels[] = {"no", "no", "no", "yes", "no", "yes", "no"};
    for (size_t i = 0; i < LM_COUNT(labels); i++)
        assert_string_equal(class_of_row(data, i), labels[i]);
    limn_data_free(data);
    limn_read_options options = with_task(LIMN_REGRESS);
    options.label = "a";
    data = must_read(&w, text, &options, NULL);
    assert_true(limn_data_targets(data)[0] == 0);
    assert_true(limn_data_targets(data)[4] == -2000);
    limn_data_free(data);
    /* a text column has no such value */
    must_fail(&w, "@relation r\n@attribute s string\n@attribute y numeric\n@data\na,1\n{1 2}\n",
              NULL, NULL, LIMN_E_DATA,
              "t.csv: 1 missing cell, in line 6, column 1 (s); fill it, remove the row or impute "
              "with --missing median");
    must_fail(&w, "@relation r\n@attribute x real\n@attribute y string\n@data\n1,a\n{0 2}\n", NULL,
              NULL, LIMN_E_DATA,
              "t.csv: line 6, column 2 (y): the label is missing; fill it or remove the row");
    world_close(&w);
}

/* ---- weights ---- */

static void test_a_brace_behind_a_row_is_its_weight(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD "1,2,u, {0.5}\n3,4,v\n5,6,u,{2}\n",
        HEAD "1,2,u,{ 0.5 } % c\n3,4,v, {1.0}\r\n{0 5, 1 6}, {2}\n",
        HEAD "{0 1, 1 2, 2 'u'} , {0.5}\n3\t4\tv\n5\t6\tu\t{2}\n",
    };
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(texts); i++)
        for (size_t chunk = 0; chunk < strlen(texts[i]); chunk++) {
            limn_data *data = NULL;
            assert_int_equal(read_bytes(&w, texts[i], strlen(texts[i]), chunk, NULL, NULL, &data),
                             LIMN_OK);
            const double *weights = limn_data_weights(data);
            assert_non_null(weights);
            assert_true(weights[0] == 0.5 && weights[1] == 1 && weights[2] == 2);
            ASSERT_ROW(data, 2, 5, 6);
            limn_data_free(data);
        }
    static const char *const bad[][2] = {
        {HEAD "1,2,u\n3,4,v,{2}\n", "t.csv: line 7: the row has a weight {2}, but the first row "
                                    "has none; give the first row a weight too, such as {1}"},
        {HEAD "1,2,u,{1}\n3,4,v,{-2}\n",
         "t.csv: line 7: '-2' is not a weight: a finite number, 0 or more; correct it or remove "
         "the row"},
        {HEAD "1,2,u,{1}\n3,4,v,{2\n",
         "t.csv: line 7: a brace at the end of a row holds its weight; write it as one number, "
         "such as {0.5}, or remove it"},
        {HEAD "1,2,u,{1},3\n",
         "t.csv: line 6: a brace at the end of a row holds its weight; write it as one number, "
         "such as {0.5}, or remove it"},
        {HEAD "{0 1},{1,2}\n",
         "t.csv: line 6: a brace at the end of a row holds its weight; write it as one number, "
         "such as {0.5}, or remove it"},
        {HEAD "1,2,u,{}\n",
         "t.csv: line 6: a brace at the end of a row holds its weight; write it as one number, "
         "such as {0.5}, or remove it"},
        {HEAD "1,2,{1}\n", "t.csv: line 6: 2 cells, but the header declares 3 attributes; check "
                           "for a missing or extra separator"},
    };
    for (size_t i = 0; i < LM_COUNT(bad); i++)
        must_fail(&w, bad[i][0], NULL, NULL, LIMN_E_DATA, bad[i][1]);
    world_close(&w);
}

static void test_weights_may_be_a_column(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.weights = "a";
    limn_data *data = must_read(&w, HEAD "1,2,u\n0.25,4,v\n{1 3}\n", &options, NULL);
    ASSERT_ROW(data, 1, 4);
    assert_true(limn_data_weights(data)[0] == 1 && limn_data_weights(data)[1] == 0.25);
    assert_true(limn_data_weights(data)[2] == 0);
    limn_data_free(data);
    must_fail(&w, HEAD "1,2,u,{2}\n", &options, NULL, LIMN_E_DATA,
              "t.csv: line 6: the row has a weight {2}, but weights are read from a column; remove "
              "one of the two");
    /* predicting does not need them */
    limn_data *model = must_read(&w, "a,b,class\n1,2,u\n", NULL, NULL);
    data = must_read(&w, HEAD "1,2,u\n3,4,v,{2}\n", NULL, &model->schema);
    assert_null(limn_data_weights(data));
    ASSERT_ROW(data, 1, 3, 4);
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

/* ---- the label ---- */

static void check_label(world *w, const char *names, limn_task task, const char *label,
                        size_t column, float first) {
    char text[300], *p = text;
    p += sprintf(p, "@relation r\n");
    for (; *names; names += strcspn(names, ","), names += *names == ',')
        p += sprintf(p, "@attribute %.*s numeric\n", (int)strcspn(names, ","), names);
    sprintf(p, "@data\n1,2,3\n4,5,6\n");
    limn_read_options options = with_task(task);
    options.label = label;
    limn_data *data = must_read(w, text, &options, NULL);
    assert_int_equal(data->schema.label_column, column);
    assert_true(limn_data_values(data)[0] == first);
    limn_data_free(data);
}

static void test_the_label_is_found_by_name_number_or_default(void **state) {
    (void)state;
    world w;
    world_open(&w);
    check_label(&w, "a,b,c", LIMN_CLASSIFY, NULL, 2, 1);
    check_label(&w, "a,b,c", LIMN_CLASSIFY, "a", 0, 2);
    check_label(&w, "a,b,c", LIMN_CLASSIFY, "2", 1, 1);
    check_label(&w, "a,b,c", LIMN_CLASSIFY, "first", 0, 2);
    check_label(&w, "a,b,c", LIMN_CLASSIFY, "last", 2, 1);
    check_label(&w, "Class,b,c", LIMN_CLASSIFY, NULL, 0, 2);
    check_label(&w, "b,'TARGET',c", LIMN_REGRESS, NULL, 1, 1);
    check_label(&w, "x,y,z", LIMN_CLASSIFY, NULL, 1, 1);
    check_label(&w, "a,b,c", LIMN_SEARCH, NULL, LM_NO_COLUMN, 1);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "kind";
    must_fail(&w, HEAD "1,2,u\n", &options, NULL, LIMN_E_DATA,
              "t.csv: no column is named 'kind'; the columns are a, b, class");
    options.label = NULL;
    options.no_label = 1;
    limn_data *data = must_read(&w, HEAD "1,2,v\n", &options, NULL);
    ASSERT_ROW(data, 0, 1, 2, 0, 1);
    limn_data_free(data);
    must_fail(&w, "@relation r\n@attribute a real\n@data\n1\n", NULL, NULL, LIMN_E_DATA,
              "t.csv: the only column is the label; add features or check the separator");
    options = with_task(LIMN_REGRESS);
    must_fail(&w, HEAD "1,2,u\n", &options, NULL, LIMN_E_DATA,
              "t.csv: line 6, column 3 (class): 'u' is not a finite number, as a regression target "
              "must be; correct it or choose another label");
    world_close(&w);
}

/* ---- with a model ---- */

static void test_attributes_are_matched_by_name(void **state) {
    (void)state;
    static const char *const file = "@relation r\n@attribute extra {p,q}\n@attribute b numeric\n"
                                    "@attribute class {v,new,u}\n@attribute a numeric\n@data\n"
                                    "p,2,v,1\n{0 q, 2 new, 3 5}\n{1 7}\n";
    static const char *const models[] = {HEAD "1,2,u\n3,4,v\n", "a,b,class\n1,2,u\n3,4,v\n"};
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(models); i++) {
        limn_data *model = must_read(&w, models[i], NULL, NULL);
        w.warnings = 0;
        limn_data *data = must_read(&w, file, NULL, &model->schema);
        assert_int_equal(w.warnings, 1);
        assert_string_equal(w.warning,
                            "t.csv: 1 column that the model does not know is ignored: extra");
        ASSERT_ROW(data, 0, 1, 2);
        ASSERT_ROW(data, 1, 5, 0);
        ASSERT_ROW(data, 2, 0, 7);
        assert_string_equal(class_of_row(data, 0), "v");
        assert_int_equal(limn_data_classes(data)[1], 2); /* new */
        assert_string_equal(class_of_row(data, 2), "v");
        limn_data_free(data);
        must_fail(&w, "@relation r\n@attribute b real\n@attribute c real\n@data\n1,2\n", NULL,
                  &model->schema, LIMN_E_DATA, "t.csv: 1 column of the model is missing: a");
        must_fail(&w, HEAD "1,2,u\n1,x,u\n", NULL, &model->schema, LIMN_E_DATA,
                  "t.csv: line 7, column 2 (b): 'x' is not a number; correct it or remove the row");
        must_fail(&w, HEAD "1,2,u\n1,x\n", NULL, &model->schema, LIMN_E_DATA,
                  "t.csv: line 7: 2 cells, but the header declares 3 attributes; check for a "
                  "missing or extra separator");
        limn_data_free(model);
    }
    /* a table with a header also works with a model from ARFF */
    limn_data *model = must_read(&w, HEAD "1,2,u\n3,4,v\n", NULL, NULL);
    limn_data *data = must_read(&w, "b,a\n2,1\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 1, 2);
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

static void test_attributes_are_matched_by_place_when_the_model_has_no_names(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *model = must_read(&w, "1,2,u\n3,4,v\n", NULL, NULL);
    limn_data *data = must_read(&w, HEAD "5,6,v\n", NULL, &model->schema);
    ASSERT_ROW(data, 0, 5, 6);
    assert_int_equal(limn_data_classes(data)[0], 1);
    limn_data_free(data);
    data = must_read(&w, "@relation r\n@attribute p {7,8}\n@attribute q real\n@data\n{1 2}\n8,1\n",
                     NULL, &model->schema);
    ASSERT_ROW(data, 0, 7, 2); /* the first value, not 0 */
    ASSERT_ROW(data, 1, 8, 1);
    limn_data_free(data);
    must_fail(&w, "@relation r\n@attribute a real\n@data\n1\n", NULL, &model->schema, LIMN_E_DATA,
              "t.csv: 1 column, but the model has 2 features: 2 columns without a label or 3 with "
              "one are expected");
    limn_data_free(model);
    world_close(&w);
}

static void test_categories_are_those_of_the_model(void **state) {
    (void)state;
    static const char *const file =
        "@relation r\n@attribute a numeric\n@attribute color {green,NA,grey}\n@data\n";
    char text[300];
    world w;
    world_open(&w);
    limn_data *model = must_read(&w,
                                 "@relation r\n@attribute color {red,green,NA}\n"
                                 "@attribute a numeric\n@attribute y {0,1}\n@data\n"
                                 "red,1,0\nNA,2,1\n",
                                 NULL, NULL);
    snprintf(text, sizeof text, "%s%s", file, "1,green\n2,NA\n3,'NA'\n{}\n4,red\n");
    limn_data *data = must_read(&w, text, NULL, &model->schema);
    ASSERT_ROW(data, 0, 0, 1, 0, 1); /* NA, green, red, a */
    ASSERT_ROW(data, 1, 1, 0, 0, 2);
    ASSERT_ROW(data, 2, 1, 0, 0, 3);
    ASSERT_ROW(data, 3, 0, 1, 0, 0);
    ASSERT_ROW(data, 4, 0, 0, 1, 4);
    limn_data_free(data);
    snprintf(text, sizeof text, "%s%s", file, "1,green\n2,grey\n");
    must_fail(
        &w, text, NULL, &model->schema, LIMN_E_DATA,
        "t.csv: line 6, column 2 (color): the model did not see the category 'grey' in training; "
        "correct it, or use --unknown-category zero to treat it as none of the known ones");
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.unknown = LIMN_UNKNOWN_ZERO;
    data = must_read(&w, text, &options, &model->schema);
    ASSERT_ROW(data, 1, 0, 0, 0, 2);
    limn_data_free(data);
    limn_data_free(model);
    /* a model from a table also knows categories; missing cells are filled with its values */
    options.missing = LIMN_MISSING_MEDIAN;
    model = must_read(&w, "color,a,y\nred,1,0\ngreen,5,1\nred,,1\n", &options, NULL);
    snprintf(text, sizeof text, "%s%s", file, "?,green\n2,?\n");
    data = must_read(&w, text, NULL, &model->schema);
    ASSERT_ROW(data, 0, 1, 0, 3);
    ASSERT_ROW(data, 1, 0, 1, 2);
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
}

/* ---- streams ---- */

static limn_status open_stream(world *w, const char *text, size_t chunk, const lm_schema *match,
                               limn_reader **reader) {
    lm_source *source = NULL;
    assert_int_equal(lm_source_memory(w->ctx, "t.csv", text, strlen(text), chunk, &source),
                     LIMN_OK);
    return lm_reader_open_source(w->ctx, source, NULL, match, reader);
}

static void test_rows_are_handed_out_when_their_line_is_there(void **state) {
    (void)state;
    static const char text[] = HEAD "1,2,u\n% c\n\n{1 4}\n5,6,v\n7,8,u";
    world w;
    world_open(&w);
    limn_data *model = must_read(&w, "b,a,class\n1,2,u\n", NULL, NULL);
    limn_reader *reader = NULL;
    assert_int_equal(open_stream(&w, text, 1, &model->schema, &reader), LIMN_OK);
    const char *line = strstr(text, "@data\n") + 6;
    static const float b[] = {2, 4, 6, 8}, a[] = {1, 0, 5, 7};
    for (size_t i = 0; i < LM_COUNT(b); i++) {
        limn_rows rows = {.size = sizeof rows};
        while (*line == '%' || *line == '\n')
            line = strchr(line, '\n') + 1;
        line += strcspn(line, "\n");
        line += *line == '\n';
        assert_int_equal(limn_reader_next(reader, 10, &rows), LIMN_OK);
        assert_int_equal(rows.n, 1);
        assert_true(rows.x[0] == b[i] && rows.x[1] == a[i]);
        assert_int_equal(reader->bytes, (uint64_t)(line - text));
    }
    limn_rows rows = {.size = sizeof rows};
    assert_int_equal(limn_reader_next(reader, 10, &rows), LIMN_OK);
    assert_int_equal(rows.n, 0);
    limn_reader_free(reader);
    limn_data_free(model);
    world_close(&w);
}

static void test_streams_without_a_model_hold_numbers_only(void **state) {
    (void)state;
    world w;
    world_open(&w);
    for (size_t chunk = 0; chunk < 30; chunk++) {
        limn_reader *reader = NULL;
        limn_rows rows = {.size = sizeof rows};
        size_t seen = 0;
        assert_int_equal(
            open_stream(&w, HEAD "1,2,u,{3}\n3,4,v\n5,?,u\n7,8,u\n", chunk, NULL, &reader),
            LIMN_OK);
        limn_status status;
        while ((status = limn_reader_next(reader, 100, &rows)) == LIMN_OK)
            for (size_t i = 0; i < rows.n; i++, seen++) {
                assert_true(rows.x[2 * i] == (float)(2 * seen + 1));
                assert_true(rows.weights[i] == (seen ? 1 : 3));
            }
        assert_int_equal(seen, 2);
        assert_int_equal(status, LIMN_E_DATA);
        assert_string_equal(limn_error(w.ctx), "t.csv: line 8, column 2 (b): the cell is missing; "
                                               "fill it or remove the row");
        assert_int_equal(limn_reader_next(reader, 100, &rows), LIMN_E_DATA);
        limn_reader_free(reader);
        assert_int_equal(open_stream(&w, COLORS "red,1,u\n", chunk, NULL, &reader), LIMN_E_USAGE);
        assert_null(reader);
        assert_string_equal(
            limn_error(w.ctx),
            "t.csv: the categories of an ARFF file are known only at its end; read it as a whole");
    }
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_table_in_many_forms),
        cmocka_unit_test(test_comments_in_front_decide_nothing),
        cmocka_unit_test(test_quotes_hold_separators_braces_and_escapes),
        cmocka_unit_test(test_numbers_are_those_of_strtof),
        cmocka_unit_test(test_nominal_attributes_are_categories_as_declared),
        cmocka_unit_test(test_labels_are_those_that_occur),
        cmocka_unit_test(test_string_attributes_are_categories_as_seen),
        cmocka_unit_test(test_numeric_attributes_can_be_chosen_as_categories),
        cmocka_unit_test(test_dates_may_be_labels_or_unused_but_not_features),
        cmocka_unit_test(test_missing_cells_are_counted_or_filled),
        cmocka_unit_test(test_what_a_sparse_row_leaves_out_is_0_or_the_first_value),
        cmocka_unit_test(test_a_brace_behind_a_row_is_its_weight),
        cmocka_unit_test(test_weights_may_be_a_column),
        cmocka_unit_test(test_the_label_is_found_by_name_number_or_default),
        cmocka_unit_test(test_attributes_are_matched_by_name),
        cmocka_unit_test(test_attributes_are_matched_by_place_when_the_model_has_no_names),
        cmocka_unit_test(test_categories_are_those_of_the_model),
        cmocka_unit_test(test_rows_are_handed_out_when_their_line_is_there),
        cmocka_unit_test(test_streams_without_a_model_hold_numbers_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
