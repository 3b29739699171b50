/* test_array_labels.c: the labels of NPY and IDX: columns of the array, and files of their own. */
#include "array_world.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

/* ---- labels in columns ---- */

static void test_label_and_weight_can_be_columns_of_the_array(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    npy_floats(b, 3, 4);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "last";
    limn_data *data = must_take(&w, b, 0, &options, NULL);
    ASSERT_ROW(data, 2, 8, 9, 10);
    assert_string_equal(class_of_row(data, 2), "11");
    assert_int_equal(data->schema.label_column, 3);
    assert_int_equal(data->schema.columns, 3);
    limn_data_free(data);
    for (size_t chunk = 0; chunk < 50; chunk += 7)
        for (unsigned swapped = 0; swapped < 2; swapped++) {
            options.label = swapped ? "3" : "first";
            options.weights = swapped ? "1" : "3";
            data = must_take(&w, b, chunk, &options, NULL);
            ASSERT_ROW(data, 0, 1, 3);
            ASSERT_ROW(data, 2, 9, 11);
            assert_string_equal(class_of_row(data, 1), swapped ? "6" : "4");
            assert_true(limn_data_weights(data)[1] == (swapped ? 4 : 6));
            assert_int_equal(data->schema.weight_column, swapped ? 0 : 2);
            limn_data_free(data);
        }
    options = with_task(LIMN_REGRESS);
    options.label = "2";
    data = must_take(&w, b, 0, &options, NULL);
    assert_true(limn_data_targets(data)[2] == 9);
    limn_data_free(data);
    options = with_task(LIMN_SEARCH);
    options.label = "2"; /* left out and not read */
    data = must_take(&w, b, 0, &options, NULL);
    ASSERT_ROW(data, 2, 8, 10, 11);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    world_close(&w);
    free(b);
}

static void test_bad_choices_of_columns_are_explained(void **state) {
    (void)state;
    static const struct {
        const char *label, *weights, *categorical, *label_file;
        int no_label;
        limn_status status;
        const char *sentence;
    } cases[] = {
        {"y", NULL, NULL, NULL, 0, LIMN_E_DATA,
         "t.csv: no column is named 'y', because an array has no names; give the number of the "
         "label column, or first or last"},
        {"5", NULL, NULL, NULL, 0, LIMN_E_DATA,
         "t.csv: the label should be column 5, but the file has 4 columns, counted from 1"},
        {NULL, "0", NULL, NULL, 0, LIMN_E_DATA,
         "t.csv: the weight should be column 0, but the file has 4 columns, counted from 1"},
        {"4", "last", NULL, NULL, 0, LIMN_E_DATA,
         "t.csv: column 4 cannot be both the label and the weights; choose another"},
        {NULL, NULL, "1", NULL, 0, LIMN_E_USAGE,
         "t.csv: an array holds numbers only; convert it to CSV to have categorical columns"},
        {"1", NULL, NULL, "l.npy", 0, LIMN_E_USAGE,
         "t.csv: a label file is given together with a label column; leave out one of them"},
        {NULL, NULL, NULL, "l.npy", 1, LIMN_E_USAGE,
         "t.csv: a label file is given together with --no-label; leave out one of them"},
    };
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    npy_floats(b, 3, 4);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        limn_read_options options = with_task(LIMN_CLASSIFY);
        options.label = cases[i].label;
        options.weights = cases[i].weights;
        options.categorical = cases[i].categorical;
        options.label_file = cases[i].label_file;
        options.no_label = cases[i].no_label;
        must_refuse(&w, b, &options, NULL, cases[i].status, cases[i].sentence);
    }
    limn_read_options options = with_task(LIMN_CLASSIFY);
    npy_floats(b, 3, 1);
    options.label = "1";
    must_refuse(&w, b, &options, NULL, LIMN_E_DATA,
                "t.csv: no column is left for features; save them next to the label");
    npy(b, "<f4", false, "(2, 2)");
    for (int i = 0; i < 4; i++)
        put_float(b, (float)-i, false);
    options.label = NULL;
    options.weights = "2";
    must_refuse(&w, b, &options, NULL, LIMN_E_DATA,
                "t.csv: row 1, column 2: '-1' is not a weight: a finite number, 0 or more; correct "
                "it or remove the row");
    world_close(&w);
    free(b);
}

/* ---- labels in files ---- */

typedef struct folder {
    char path[32], data[64], labels[64];
} folder;

static void folder_open(folder *f) {
    strcpy(f->path, "/tmp/limn_array_XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->data, sizeof f->data, "%s/x.npy", f->path);
    snprintf(f->labels, sizeof f->labels, "%s/x-labels.npy", f->path);
}

static void folder_close(folder *f) {
    unlink(f->data);
    unlink(f->labels);
    assert_int_equal(rmdir(f->path), 0);
}

static void save(const char *path, const bytes *b) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->data, 1, b->size, file), b->size);
    fclose(file);
}

static void save_gzip(const char *path, const bytes *b) {
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, b->data, (unsigned)b->size), b->size);
    gzclose(file);
}

static limn_data *must_open(world *w, const char *path, const limn_read_options *options) {
    limn_data *data = NULL;
    if (lm_data_read(w->ctx, path, options, NULL, &data) != LIMN_OK)
        fail_msg("not read: %s", limn_error(w->ctx));
    return data;
}

static void must_not_open(world *w, const folder *f, const limn_read_options *options,
                          limn_status status, const char *sentence) {
    limn_data *data = NULL;
    char expected[512], *out = expected;
    for (const char *p = sentence; *p; p++) /* % is the folder */
        out += *p == '%' ? sprintf(out, "%s", f->path) : sprintf(out, "%c", *p);
    limn_status got = lm_data_read(w->ctx, f->data, options, NULL, &data);
    assert_null(data);
    assert_string_equal(limn_error(w->ctx), expected);
    assert_int_equal(got, status);
}

/* A label file with the elements given as bits, for three rows. */
static void labels_of(bytes *b, const char *descr, size_t size, bool big, const uint64_t *bits) {
    npy(b, descr, false, "(3,)");
    for (int i = 0; i < 3; i++)
        put_bits(b, bits[i], size, big);
}

static void test_labels_come_from_the_companion_file(void **state) {
    (void)state;
    static const struct {
        const char *descr;
        size_t size;
        bool big;
        uint64_t bits[3];
        const char *names[3];
    } cases[] = {
        {"|u1", 1, false, {7, 255, 0}, {"7", "255", "0"}},
        {"|i1", 1, false, {7, 255, 128}, {"7", "-1", "-128"}},
        {"|b1", 1, false, {1, 0, 1}, {"1", "0", "1"}},
        {">i2", 2, true, {0x8000, 5, 300}, {"-32768", "5", "300"}},
        {"<i8",
         8,
         false,
         {UINT64_C(1) << 63, INT64_MAX, INT64_MAX - 1},
         {"-9223372036854775808", "9223372036854775807", "9223372036854775806"}},
        {"<u8",
         8,
         false,
         {UINT64_MAX, UINT64_MAX - 1, 0},
         {"18446744073709551615", "18446744073709551614", "0"}},
        {"<f4", 4, false, {0x3fc00000, 0xc0400000, 0x80000000}, {"1.5", "-3", "0"}},
        {">f8",
         8,
         true,
         {UINT64_C(0x3fb999999999999a), UINT64_C(0x4415af1d78b58c40), UINT64_C(0x4014000000000000)},
         {"0.1", "1e+20", "5"}},
        {"<f2", 2, false, {0x3c00, 0x3e00, 0xc000}, {"1", "1.5", "-2"}},
        {"|S3", 3, false, {0x746163, 0x676f64, 0x6f64}, {"cat", "dog", "do"}},
    };
    bytes *b = malloc(sizeof *b);
    world w;
    folder f;
    world_open(&w);
    folder_open(&f);
    npy_floats(b, 3, 2);
    save(f.data, b);
    limn_data *data = must_open(&w, f.data, NULL); /* no companion: no labels */
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        labels_of(b, cases[i].descr, cases[i].size, cases[i].big, cases[i].bits);
        save(f.labels, b);
        data = must_open(&w, f.data, NULL);
        ASSERT_ROW(data, 2, 4, 5);
        for (size_t row = 0; row < 3; row++)
            assert_string_equal(class_of_row(data, row), cases[i].names[row]);
        assert_int_equal(data->schema.label_column, LM_NO_COLUMN);
        limn_data_free(data);
    }
    folder_close(&f);
    world_close(&w);
    free(b);
}

static void test_text_labels_become_utf8(void **state) {
    (void)state;
    static const uint32_t text[3][4] = {
        {'a', 0xe9, 0x20ac, 0x1f600}, {'b', 0, 0, 0}, {0x10ffff, 'c', 0, 0}};
    bytes *b = malloc(sizeof *b);
    world w;
    folder f;
    world_open(&w);
    folder_open(&f);
    npy_floats(b, 3, 2);
    save(f.data, b);
    for (unsigned big = 0; big < 2; big++) {
        npy(b, big ? ">U4" : "<U4", false, "(3, 1)");
        for (int i = 0; i < 12; i++)
            put_bits(b, text[i / 4][i % 4], 4, big);
        save_gzip(f.labels, b);
        limn_data *data = must_open(&w, f.data, NULL);
        assert_string_equal(class_of_row(data, 0), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
        assert_string_equal(class_of_row(data, 1), "b");
        assert_string_equal(class_of_row(data, 2), "\xf4\x8f\xbf\xbf"
                                                   "c");
        limn_data_free(data);
    }
    npy(b, "<U2", false, "(3,)");
    for (int i = 0; i < 6; i++)
        put_bits(b, i == 3 ? 0xd800 : 'x', 4, false);
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: row 2: the label holds an invalid Unicode character; correct "
                  "it");
    npy(b, "|S3", false, "(3,)");
    put(b, "abca\0cabc", 9);
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: row 2: the label holds a zero byte; correct it");
    npy(b, "|S3", false, "(3,)");
    put(b, "abc\0\0\0abc", 9);
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x.npy: row 2: the label is missing; fill it or remove the row");
    folder_close(&f);
    world_close(&w);
    free(b);
}

static void test_mnist_files_belong_together_by_name(void **state) {
    (void)state;
    static const uint32_t shape[] = {3, 2, 2}, count[] = {3};
    char images[96], labels[96], path[] = "/tmp/limn_array_XXXXXX";
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    assert_non_null(mkdtemp(path));
    snprintf(images, sizeof images, "%s/t10k-images-idx3-ubyte.gz", path);
    snprintf(labels, sizeof labels, "%s/t10k-labels-idx1-ubyte.gz", path);
    idx(b, 0x08, 3, shape);
    put(b, "\0\1\2\3\4\5\6\7\x08\x09\xfe\xff", 12);
    save_gzip(images, b);
    idx(b, 0x08, 1, count);
    put(b, "\7\0\7", 3);
    save_gzip(labels, b);
    limn_data *data = must_open(&w, images, NULL);
    ASSERT_ROW(data, 2, 8, 9, 254, 255);
    assert_int_equal(limn_data_class_count(data), 2);
    assert_string_equal(class_of_row(data, 0), "7");
    assert_string_equal(class_of_row(data, 1), "0");
    limn_data_free(data);
    limn_read_options options = with_task(LIMN_REGRESS);
    data = must_open(&w, images, &options);
    assert_true(limn_data_targets(data)[2] == 7);
    limn_data_free(data);
    unlink(images);
    unlink(labels);
    assert_int_equal(rmdir(path), 0);
    world_close(&w);
    free(b);
}

static void test_label_files_are_opened_only_when_wanted(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    folder f;
    world_open(&w);
    folder_open(&f);
    npy_floats(b, 3, 2);
    save(f.data, b);
    b->size = 5; /* a companion that cannot be read */
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: the file ends inside its header; copy or save it again");
    for (int i = 0; i < 4; i++) {
        limn_read_options options = with_task(i == 0 ? LIMN_SEARCH : LIMN_CLASSIFY);
        options.no_label = i == 1;
        options.skip_label = i == 2;
        options.label = i == 3 ? "1" : NULL;
        limn_data *data = must_open(&w, f.data, &options);
        assert_int_equal(!limn_data_classes(data), i != 3);
        limn_data_free(data);
    }
    limn_read_options options = with_task(LIMN_CLASSIFY);
    char other[64];
    snprintf(other, sizeof other, "%s/nowhere.npy", f.path);
    options.label_file = other;
    must_not_open(&w, &f, &options, LIMN_E_IO,
                  "%/nowhere.npy: cannot open it: No such file or directory");
    options.label_file = f.path;
    must_not_open(&w, &f, &options, LIMN_E_IO, "%: this is a directory; name a file in it");
    folder_close(&f);
    world_close(&w);
    free(b);
}

static void test_label_files_that_do_not_fit_are_explained(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    folder f;
    world_open(&w);
    folder_open(&f);
    npy_floats(b, 3, 2);
    save(f.data, b);
    npy(b, "|u1", false, "(2,)");
    put(b, "ab", 2);
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: 2 labels, but %/x.npy has 3 rows; name the right label file "
                  "with --label-file, or use --no-label");
    npy(b, "|u1", false, "(3, 2)");
    save(f.labels, b);
    must_not_open(
        &w, &f, NULL, LIMN_E_DATA,
        "%/x-labels.npy: this is not a label file: it has several numbers per row; save one label "
        "per row, or use --no-label");
    npy(b, "|u1", false, "()");
    save(f.labels, b);
    must_not_open(
        &w, &f, NULL, LIMN_E_DATA,
        "%/x-labels.npy: this is not a label file: it has no dimension; save one label per row, or "
        "use --no-label");
    npy(b, "|u1", false, "(3,)");
    put(b, "ab", 2);
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: the file ends after 2 of 3 labels; copy or save it again");
    put(b, "cd", 2);
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: the file continues after its 3 labels; save one array per file");
    b->size = 0;
    put(b, "1\n2\n3\n", 6);
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: labels of an array must be an NPY or IDX file; save them with "
                  "numpy.save");
    b->size = 0;
    save(f.labels, b);
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: labels of an array must be an NPY or IDX file; save them with "
                  "numpy.save");
    npy(b, "|S999999999", false, "(3,)");
    save(f.labels, b);
    w.ctx->memory_limit = 1 << 20;
    must_not_open(&w, &f, NULL, LIMN_E_DATA,
                  "%/x-labels.npy: the data would need 2.7 GB of memory, but the limit is 1.0 MB; "
                  "use fewer rows or features");
    folder_close(&f);
    world_close(&w);
    free(b);
}

/* ---- with a model ---- */

static void test_with_a_model_the_columns_are_its_features(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    limn_data *model = must_read(&w, "y,a,b\n7,1,2\n2,5,6\n", NULL, NULL);
    const lm_schema *match = &model->schema;
    npy_floats(b, 2, 2);
    limn_data *data = must_take(&w, b, 0, NULL, match);
    ASSERT_ROW(data, 1, 2, 3);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    npy_floats(b, 2, 3);
    data = must_take(&w, b, 5, NULL, match); /* the label is where it was in training */
    ASSERT_ROW(data, 1, 4, 5);
    assert_string_equal(class_of_row(data, 0), "0");
    limn_data_free(data);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "2";
    data = must_take(&w, b, 5, &options, match);
    ASSERT_ROW(data, 1, 3, 5);
    assert_string_equal(class_of_row(data, 0), "1");
    limn_data_free(data);
    options.label = NULL;
    options.skip_label = 1;
    data = must_take(&w, b, 5, &options, match);
    ASSERT_ROW(data, 1, 4, 5);
    assert_null(limn_data_classes(data));
    limn_data_free(data);
    options.skip_label = 0;
    options.no_label = 1;
    must_refuse(&w, b, &options, match, LIMN_E_DATA,
                "t.csv: 3 columns, but the model has 2 features");
    npy_floats(b, 2, 4);
    must_refuse(&w, b, NULL, match, LIMN_E_DATA,
                "t.csv: 4 columns, but the model has 2 features: 2 columns without a label or 3 "
                "with one are expected");
    options.no_label = 0;
    options.label = "1";
    must_refuse(&w, b, &options, match, LIMN_E_DATA,
                "t.csv: 4 columns, but the model has 2 features, so 3 are expected with the label");
    limn_data_free(model);
    world_close(&w);
    free(b);
}

static void test_with_a_model_of_weights_their_column_may_be_there_or_not(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "3";
    options.weights = "1";
    npy_floats(b, 2, 4);
    limn_data *model = must_take(&w, b, 0, &options, NULL);
    limn_data *data = must_take(&w, b, 0, NULL, &model->schema);
    ASSERT_ROW(data, 1, 5, 7);
    assert_string_equal(class_of_row(data, 1), "6");
    assert_null(limn_data_weights(data));
    limn_data_free(data);
    npy_floats(b, 2, 3);
    data = must_take(&w, b, 0, NULL, &model->schema);
    ASSERT_ROW(data, 1, 3, 5);
    assert_string_equal(class_of_row(data, 1), "4");
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
    free(b);
}

static void test_with_a_model_of_categories_the_array_holds_the_features(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.missing = LIMN_MISSING_MEDIAN;
    limn_data *model = must_read(&w, "c,a,y\nred,1,u\nblue,,v\nred,3,u\n", &options, NULL);
    assert_int_equal(model->schema.features, 3);
    npy(b, "<f4", false, "(2, 3)");
    const float values[] = {0, 1, 9, 1, 0, NAN};
    for (int i = 0; i < 6; i++)
        put_float(b, values[i], false);
    limn_data *data = must_take(&w, b, 0, NULL, &model->schema);
    ASSERT_ROW(data, 0, 0, 1, 9);
    ASSERT_ROW(data, 1, 1, 0, 2); /* what the model remembers for column a */
    limn_data_free(data);
    limn_data_free(model);
    world_close(&w);
    free(b);
}

/* ---- memory ---- */

static void test_every_failing_allocation_is_reported(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    folder f;
    world_open(&w);
    folder_open(&f);
    for (unsigned fortran = 0; fortran < 2; fortran++) {
        npy(b, "<f4", fortran, "(40, 3)");
        for (int i = 0; i < 120; i++)
            put_float(b, (float)i, false);
        save(f.data, b);
        npy(b, "<U20", false, "(40,)");
        for (uint32_t i = 0; i < 40 * 20; i++)
            put_bits(b, i % 20 < 15 ? 'a' + i / 20 % 9 : 0, 4, false);
        save(f.labels, b);
        bool done = false;
        for (unsigned n = 1; !done; n++) {
            limn_data *data = NULL;
            w.count.fail_at = n;
            limn_status status = lm_data_read(w.ctx, f.data, NULL, NULL, &data);
            done = w.count.fail_at != 0; /* fewer requests than n */
            w.count.fail_at = 0;
            assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
            assert_int_equal(!data, !done);
            limn_data_free(data);
            assert_true(n > 10 || !done);
        }
    }
    folder_close(&f);
    world_close(&w);
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label_and_weight_can_be_columns_of_the_array),
        cmocka_unit_test(test_bad_choices_of_columns_are_explained),
        cmocka_unit_test(test_labels_come_from_the_companion_file),
        cmocka_unit_test(test_text_labels_become_utf8),
        cmocka_unit_test(test_mnist_files_belong_together_by_name),
        cmocka_unit_test(test_label_files_are_opened_only_when_wanted),
        cmocka_unit_test(test_label_files_that_do_not_fit_are_explained),
        cmocka_unit_test(test_with_a_model_the_columns_are_its_features),
        cmocka_unit_test(test_with_a_model_of_weights_their_column_may_be_there_or_not),
        cmocka_unit_test(test_with_a_model_of_categories_the_array_holds_the_features),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
