/* test_arff_hostile.c: ARFF files that are wrong, cut or arrive in pieces, and failing
 * allocations. */
#include "data_world.h"

#define HEAD "@relation r\n@attribute a numeric\n@attribute b real\n@attribute class {u,v}\n@data\n"
#define COLORS                                                                      \
    "@relation r\n@attribute color {red,green,'dark blue'}\n@attribute a numeric\n" \
    "@attribute class {u,v}\n@data\n"

/* ---- bad files ---- */

static const char *const bad_header_lines[][2] = {
    {"@relation r\n@atribute a real\n@data\n1\n",
     "t.csv: line 2: '@atribute a real' is not a line of an ARFF header; expected @relation, "
     "@attribute or @data, such as @attribute width numeric"},
    {"@relation r\n@attribute a real\n1,2\n",
     "t.csv: line 3: '1,2' is not a line of an ARFF header; expected @relation, @attribute or "
     "@data, such as @attribute width numeric"},
    {"@relation r\n@attribute\n@data\n",
     "t.csv: line 2: the attribute has no name; write it as in @attribute width numeric"},
    {"@relation r\n@attribute % c\n@data\n",
     "t.csv: line 2: the attribute has no name; write it as in @attribute width numeric"},
    {"@relation r\n@attribute {a,b}\n@data\n",
     "t.csv: line 2: the attribute has no name; write it as in @attribute width numeric"},
    {"@relation r\n\n@attribute width\n@data\n",
     "t.csv: line 3: attribute 'width' has no type; write it as in @attribute width numeric or "
     "@attribute color {red, green}"},
    {"@relation r\n@attribute width % c\n@data\n",
     "t.csv: line 2: attribute 'width' has no type; write it as in @attribute width numeric or "
     "@attribute color {red, green}"},
    {"@relation r\n@attribute width float\n@data\n",
     "t.csv: line 2: 'float' is not a type for attribute 'width'; use numeric, real, integer, "
     "string, date or a list of values as in @attribute color {red, green}"},
    {"@relation r\n@attribute width numerical\n@data\n",
     "t.csv: line 2: 'numerical' is not a type for attribute 'width'; use numeric, real, integer, "
     "string, date or a list of values as in @attribute color {red, green}"},
    {"@relation r\n@attribute bag Relational\n@data\n",
     "t.csv: line 2: attribute 'bag' is relational, a table in each cell, which is not "
     "supported; make its columns attributes of their own"},
    {"@relation r\n@attribute c {a,b\n@data\n",
     "t.csv: line 2: a list of values begins with { but is not closed on this line; write it as in "
     "@attribute color {red, green}"},
    {"@relation r\n@attribute c { ,, }\n@data\n", "t.csv: line 2: there is no value between { and "
                                                  "}; list the values as in @attribute color {red, "
                                                  "green}"},
    {"@relation r\n@attribute c {'a' b}\n@data\n",
     "t.csv: line 2: text follows a closing quote; write \\' or \\\" for a quote inside "
     "a quoted text"},
    {"@relation r\n@attribute 'c'd real\n@data\n",
     "t.csv: line 2: text follows a closing quote; write \\' or \\\" for a quote inside "
     "a quoted text"},
    {"@relation r\n@attribute 'c real\n@data\n",
     "t.csv: line 2: a quote opens here and is not closed on this line; close it"},
    {"@relation r\n@attribute c {'a,b}\n@data\n",
     "t.csv: line 2: a quote opens here and is not closed on this line; close it"},
    {"@relation r\n@attribute c date 'yyyy\n@data\n",
     "t.csv: line 2: a quote opens here and is not closed on this line; close it"},
    {"@relation r\n@attribute 'c\\\n@data\n",
     "t.csv: line 2: a quote opens here and is not closed on this line; close it"},
    {"@relation r\n@attribute c real x\n@data\n",
     "t.csv: line 2: 'x' is extra text at the end of the line; remove it, or put % before it to "
     "make it a comment"},
    {"@relation r\n@attribute c {a,b} {2}\n@data\n",
     "t.csv: line 2: '{2}' is extra text at the end of the line; remove it, or put % before it to "
     "make it a comment"},
    {"@relation r\n@attribute c real\n@data 1\n2\n",
     "t.csv: line 3: '1' is extra text at the end of the line; remove it, or put % before it to "
     "make it a comment"},
    {"@relation r\n@data\n1\n", "t.csv: line 2: there is no @attribute before @data; declare each "
                                "column as in @attribute width numeric"},
    {"@relation r\n@attribute a real\n",
     "t.csv: the file ends inside its header; put @data before the rows"},
    {HEAD, "t.csv: no rows"},
    {HEAD "% c\n\n", "t.csv: no rows"},
};

static void test_bad_header_lines_are_explained(void **state) {
    (void)state;
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(bad_header_lines); i++)
        must_fail(&w, bad_header_lines[i][0], NULL, NULL, LIMN_E_DATA, bad_header_lines[i][1]);
    world_close(&w);
}

#define RAGGED(cells)                                                       \
    "t.csv: line 7: " cells                                                 \
    ", but the header declares 3 attributes; check for a missing or extra " \
    "separator"
static const char *const bad_rows[][2] = {
    {"1,abc,u", "t.csv: line 7, column 2 (b): 'abc' is not a number, but the attribute is "
                "numeric; correct it or declare the attribute as nominal"},
    {"1,5%,u", "t.csv: line 7, column 2 (b): '5%' is not a number, but the attribute is "
               "numeric; correct it or declare the attribute as nominal"},
    {"1,1 2,u", "t.csv: line 7, column 2 (b): '1 2' is not a number, but the attribute is "
                "numeric; correct it or declare the attribute as nominal"},
    {"1,1e39,u", "t.csv: line 7, column 2 (b): '1e39' is infinite or too large for a 32-bit "
                 "float; the largest value is 3.4e38"},
    {"1,-inf,u", "t.csv: line 7, column 2 (b): '-inf' is infinite or too large for a 32-bit "
                 "float; the largest value is 3.4e38"},
    {"1", RAGGED("1 cell")},
    {"1 2 u", RAGGED("1 cell")},
    {"1,2", RAGGED("2 cells")},
    {"1,u", RAGGED("2 cells")},
    {"1,2,u,", RAGGED("4 cells")},
    {"1,x,2,3,u", RAGGED("5 cells")},
    {"1,2,3,4", RAGGED("4 cells")},
    {"1,% c", RAGGED("2 cells")},
    {"1,'2,u",
     "t.csv: line 7, column 2 (b): a quote opens here and is not closed on this line; close it"},
    {"1,2,\"u\\\"", "t.csv: line 7, column 3 (class): a quote opens here and is not closed on this "
                    "line; close it"},
    {"1,2,'u'v", "t.csv: line 7, column 3 (class): text follows a closing quote; write "
                 "\\' or \\\" for a quote inside a quoted text"},
    {"{0 1",
     "t.csv: line 7: a sparse row begins with { but is not closed on this line; close it with }"},
    {"{",
     "t.csv: line 7: a sparse row begins with { but is not closed on this line; close it with }"},
    {"{0 'x}",
     "t.csv: line 7, column 1 (a): a quote opens here and is not closed on this line; close it"},
    {"{2 'u'v}", "t.csv: line 7, column 3 (class): text follows a closing quote; write "
                 "\\' or \\\" for a quote inside a quoted text"},
    {"{0 x}", "t.csv: line 7, column 1 (a): 'x' is not a number, but the attribute is numeric; "
              "correct it or declare the attribute as nominal"},
    {"{0 1 1 2}", "t.csv: line 7, column 1 (a): '1 1 2' is not a number, but the attribute is "
                  "numeric; correct it or declare the attribute as nominal"},
    {"{0}", "t.csv: line 7: '0' is not an attribute number and a value; write a sparse row as in "
            "{0 1.5, 3 red}"},
    {"{0 , 1 2}", "t.csv: line 7: '0 ' is not an attribute number and a value; write a sparse row "
                  "as in {0 1.5, 3 red}"},
    {"{a 1}", "t.csv: line 7: 'a 1' is not an attribute number and a value; write a sparse row as "
              "in {0 1.5, 3 red}"},
    {"{-1 1}", "t.csv: line 7: '-1 1' is not an attribute number and a value; write a sparse row "
               "as in {0 1.5, 3 red}"},
    {"{0:1}", "t.csv: line 7: '0:1' is not an attribute number and a value; write a sparse row as "
              "in {0 1.5, 3 red}"},
    {"{3 1}", "t.csv: line 7: '3 1' names an attribute that does not exist: the header declares 3, "
              "counted from 0"},
    {"{99999999999999999999999 1}", "t.csv: line 7: '99999999999999999999999 1' names an attribute "
                                    "that does not exist: the header declares 3, counted from 0"},
    {"{1 1,0 2}", "t.csv: line 7: attribute 0 comes after 1; attributes must ascend within a row"},
    {"{1 1,1 2}", "t.csv: line 7: attribute 1 comes after 1; attributes must ascend within a row"},
    {"{0 1} x", "t.csv: line 7: text follows the closing }; remove it"},
    {"{0 1},", "t.csv: line 7: text follows the closing }; remove it"},
};

static void test_bad_rows_are_explained(void **state) {
    (void)state;
    char text[300];
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(bad_rows); i++)
        for (int newline = 0; newline < 2; newline++) {
            snprintf(text, sizeof text, "%s1,2,u\n%s%s", HEAD, bad_rows[i][0], newline ? "\n" : "");
            must_fail(&w, text, NULL, NULL, LIMN_E_DATA, bad_rows[i][1]);
        }
    world_close(&w);
}

static void test_what_would_not_fit_is_refused(void **state) {
    (void)state;
    char text[2000];
    size_t length = (size_t)sprintf(text, "%s", HEAD);
    for (int i = 0; i < 100; i++)
        length += (size_t)sprintf(text + length, "%d,2,u\n", i);
    world w;
    world_open(&w);
    for (size_t chunk = 0; chunk < 50; chunk += 7) {
        limn_data *data = NULL;
        w.ctx->memory_limit = 100 * 12;
        assert_int_equal(read_bytes(&w, text, length, chunk, NULL, NULL, &data), LIMN_OK);
        assert_int_equal(limn_data_rows(data), 100);
        limn_data_free(data);
        w.ctx->memory_limit--;
        assert_int_equal(read_bytes(&w, text, length, chunk, NULL, NULL, &data), LIMN_E_DATA);
    }
    world_close(&w);
}

/* ---- however the bytes arrive ---- */

static const char *const texts[] = {
    COLORS "red,1,u\n'dark blue',2,v,\n",
    COLORS "{0 green, 1 2}\r\n% c\r\n\r\n{1 1e3, 2 v} % c\r\nred,1,u",
    COLORS "red,1,u,{2}\ngreen\t2\tv\n{}, {0.5}\n",
    "% c\n\n@RELATION 'x y'\n@attribute \"it's\" integer\n@attribute s string\n@attribute y "
    "{'a\\'b',c}\n@data\n1,p,'a\\'b'\n2,q,c\n",
    HEAD "1,2,u\n3,4,'v\n",
    HEAD "1,2,u\n3,4\n",
    HEAD "1,2,u\n{0 3, 1 4, 2 'v'",
    HEAD "12345678.12345678e-5,.5,u\n5.,123456789012345678901,v\n",
    "@relation r\n@attribute a {x,y\n@data\n",
    "@relation r\n@attribute a real",
    "% c\n@attribute\n",
};

static void test_the_result_does_not_depend_on_how_the_bytes_arrive(void **state) {
    (void)state;
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
                assert_string_equal(class_of_row(data, i), class_of_row(whole, i));
            }
            limn_data_free(data);
        }
        limn_data_free(whole);
    }
    world_close(&w);
}

/* A file that was cut is refused, or all its rows but the last are those of the whole file. */
static void test_every_cut_gives_an_error_or_the_rows_in_front_of_it(void **state) {
    (void)state;
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.format = LIMN_FORMAT_ARFF;
    world w;
    world_open(&w);
    for (size_t t = 0; t < LM_COUNT(texts); t++) {
        limn_data *whole = NULL;
        size_t accepted = 0;
        if (read_text(&w, texts[t], &options, NULL, &whole) != LIMN_OK)
            continue;
        size_t d = limn_data_features(whole);
        for (size_t size = 0; size < strlen(texts[t]); size++) {
            char *cut = malloc(size + 1); /* so that a sanitizer notices any read past the end */
            assert_non_null(cut);
            memcpy(cut, texts[t], size);
            limn_data *data = NULL;
            limn_status status = read_bytes(&w, cut, size, 0, &options, NULL, &data);
            free(cut);
            assert_true(status == LIMN_OK || status == LIMN_E_DATA);
            if (!data)
                continue;
            accepted++;
            assert_true(limn_data_rows(data) <= limn_data_rows(whole));
            for (size_t i = 0; i + 1 < limn_data_rows(data); i++) {
                if (d == limn_data_features(data))
                    assert_row(data, i, whole->x + i * d);
                assert_string_equal(class_of_row(data, i), class_of_row(whole, i));
            }
            limn_data_free(data);
        }
        assert_true(accepted > 0);
        limn_data_free(whole);
    }
    world_close(&w);
}

static void test_every_failing_allocation_is_reported(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *model = must_read(&w, "color,a,class\nred,1,u\ngreen,2,v\n", NULL, NULL);
    for (size_t t = 0; t < LM_COUNT(texts); t++)
        for (int matched = 0; matched < 2; matched++) {
            const lm_schema *match = matched ? &model->schema : NULL;
            limn_data *data = NULL;
            limn_status expected = read_text(&w, texts[t], NULL, match, &data);
            limn_data_free(data);
            bool done = false;
            for (unsigned n = 1; !done; n++) {
                long live = w.count.live;
                w.count.fail_at = n;
                limn_status status = read_text(&w, texts[t], NULL, match, &data);
                done = w.count.fail_at != 0; /* fewer requests than n */
                w.count.fail_at = 0;
                assert_int_equal(status, done ? expected : LIMN_E_MEMORY);
                limn_data_free(data);
                assert_int_equal(w.count.live, live);
            }
        }
    limn_data_free(model);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_header_lines_are_explained),
        cmocka_unit_test(test_bad_rows_are_explained),
        cmocka_unit_test(test_what_would_not_fit_is_refused),
        cmocka_unit_test(test_the_result_does_not_depend_on_how_the_bytes_arrive),
        cmocka_unit_test(test_every_cut_gives_an_error_or_the_rows_in_front_of_it),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
