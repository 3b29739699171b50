/* test_convert.c: writing and converting when something is wrong or changes: refusals, files
 * that are whole or absent, converting in pieces or through memory. */
#include "write_world.h"

/* ---- what is refused ---- */

static void refuse(world *w, const limn_data *data, const char *name,
                   const limn_write_options *options, limn_status status, const char *sentence) {
    size_t before = files_in_folder();
    assert_int_equal(write_set(w, data, name, options), status);
    const char *said = limn_error(w->ctx);
    if (strncmp(said, folder, strlen(folder)) == 0)
        said += strlen(folder) + 1;
    assert_string_equal(said, sentence);
    assert_int_equal(files_in_folder(), before);
}

static void test_names_that_a_format_cannot_hold(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,a b\n2,c\n", NULL, NULL);
    refuse(&w, data, "n.svm", NULL, LIMN_E_DATA,
           "n.svm: the label 'a b' holds a blank, ':' or '#', which a LIBSVM label cannot; write "
           "CSV, NPY or ARFF");
    refuse(&w, data, "n.idx", NULL, LIMN_E_DATA,
           "n.idx: the label 'a b' is not a 32-bit whole number, as IDX labels must be; write NPY, "
           "CSV or ARFF");
    strcpy(data->schema.labels.names[0], "NA");
    refuse(&w, data, "n.csv", NULL, LIMN_E_DATA,
           "n.csv: the label 'NA' would read as a missing cell; rename it, or write ARFF");
    assert_int_equal(write_set(&w, data, "n.arff", NULL), LIMN_OK);
    strcpy(data->schema.labels.names[0], "");
    refuse(&w, data, "m.arff", NULL, LIMN_E_DATA,
           "m.arff: the label '' would read as a missing cell; name it");
    strcpy(data->schema.labels.names[0], "\xe9");
    assert_int_equal(write_set(&w, data, "n.npy", NULL), LIMN_E_DATA);
    strcpy(data->schema.labels.names[0], "01");
    assert_int_equal(write_set(&w, data, "n.idx", NULL), LIMN_E_DATA);
    limn_data_free(data);
    data = must_read(&w, "x,y\nred,1\n?!,2\n", NULL, NULL);
    data->schema.column[0].categories.names[0][1] = '\0';
    refuse(&w, data, "n.csv", NULL, LIMN_E_DATA,
           "n.csv: the category '?' would read as a missing cell; rename it, or write ARFF");
    limn_data_free(data);
    forget("n.arff");
    world_close(&w);
}

static void test_options_that_do_not_fit(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,2\n", NULL, NULL);
    limn_write_options options = as(LIMN_FORMAT_AUTO);
    refuse(&w, data, "o.xlsx", NULL, LIMN_E_USAGE,
           "o.xlsx: the format cannot be detected from the name; use .csv, .tsv, .libsvm, .npy, "
           ".idx or .arff, or name the format");
    options.format = (limn_format)17;
    refuse(&w, data, "o", &options, LIMN_E_USAGE, "there is no file format number 17");
    options = as(LIMN_FORMAT_LIBSVM);
    options.delimiter = ';';
    refuse(&w, data, "o", &options, LIMN_E_USAGE,
           "o: only CSV takes a separator; leave it out for libsvm");
    options = as(LIMN_FORMAT_CSV);
    options.delimiter = '5';
    refuse(&w, data, "o", &options, LIMN_E_USAGE, "'5' cannot separate cells; use , ; or a tab");
    options.delimiter = 0;
    options.label_file = "labels";
    refuse(&w, data, "o", &options, LIMN_E_USAGE,
           "o: the format csv stores labels with the rows; leave the label file out");
    options.label_file = "";
    refuse(&w, data, "o", &options, LIMN_E_USAGE, "the name of an output file is empty");
    lm_table_out *table = NULL;
    lm_table_shape shape = {&data->schema, 1, true, true};
    options = as(LIMN_FORMAT_NPY);
    assert_int_equal(lm_table_open(w.ctx, "-", &options, &shape, &table), LIMN_E_USAGE);
    assert_string_equal(limn_error(w.ctx),
                        "standard output: the format npy stores labels in a separate file; name "
                        "that file too, or leave out the labels");
    char path[PATH];
    options.label_file = in_folder("o", path);
    refuse(&w, data, "o", &options, LIMN_E_USAGE,
           "o: rows and labels cannot go to the same file; give another name");
    lm_free(&data->mem, data->label);
    data->label = NULL;
    refuse(&w, data, "o.npy", &options, LIMN_E_USAGE,
           "o: there are no labels to write; leave it out");
    limn_data_free(data);
    world_close(&w);
}

static void test_labels_of_an_earlier_run_are_warned_of(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,2\n", NULL, NULL);
    assert_int_equal(write_set(&w, data, "e.npy", NULL), LIMN_OK);
    assert_int_equal(w.warnings, 0);
    lm_free(&data->mem, data->label);
    data->label = NULL;
    assert_int_equal(write_set(&w, data, "e.npy", NULL), LIMN_OK);
    assert_int_equal(w.warnings, 1);
    assert_non_null(strstr(w.warning, "e-labels.npy would be read as the labels of"));
    limn_data_free(data);
    forget("e.npy");
    forget("e-labels.npy");
    world_close(&w);
}

static void test_a_first_row_that_looks_like_a_header_is_warned_of(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int warnings;
    } cases[] = {{"a,b\nc,d\n", 1}, {"1,a\n2,3\n", 1}, {"1,a\n2,b\n", 0}, {"1,2\n3,a\n", 0}};
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.header = LIMN_HEADER_NO;
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        world w;
        world_open(&w);
        limn_data *data = must_read(&w, cases[i].text, &options, NULL);
        lm_table_out *table = NULL;
        assert_int_equal(begin_set(&w, data, "f.csv", NULL, &table), LIMN_OK);
        assert_int_equal(put_rows(table, data, 0, 2), LIMN_OK);
        assert_int_equal(lm_table_commit(table), LIMN_OK);
        assert_int_equal(w.warnings, cases[i].warnings);
        limn_data_free(data);
        forget("f.csv");
        world_close(&w);
    }
}

/* ---- whole or absent ---- */

static void test_rows_that_were_not_announced(void **state) {
    (void)state;
    char path[PATH];
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,2,a\n3,4,b\n5,6,a\n", NULL, NULL);
    store("w.csv", "w", "old");
    for (int fault = 0; fault < 5; fault++) {
        lm_table_out *table = NULL;
        limn_rows rows = {.size = sizeof rows, .n = 3, .x = data->x, .classes = data->label};
        int32_t strange[] = {0, 1, fault == 2 ? 2 : -1};
        assert_int_equal(begin_set(&w, data, "w.csv", NULL, &table), LIMN_OK);
        limn_status status = LIMN_OK;
        if (fault == 0)
            rows.n = 2; /* too few */
        else if (fault == 1)
            status = lm_table_put(table, &rows); /* too many */
        else if (fault < 4)
            rows.classes = strange;
        else
            rows.classes = NULL;
        assert_int_equal(status, LIMN_OK);
        status = lm_table_put(table, &rows);
        assert_int_equal(status, fault ? LIMN_E_DATA : LIMN_OK);
        if (fault) {
            lm_table_discard(table);
        } else {
            assert_int_equal(lm_table_commit(table), LIMN_E_DATA);
        }
        char sentence[300];
        snprintf(sentence, sizeof sentence,
                 "%s was not written, because the input changed while it was read; try again",
                 in_folder("w.csv", path));
        assert_string_equal(limn_error(w.ctx), sentence);
        assert_text("w.csv", "old");
        assert_int_equal(files_in_folder(), 1);
    }
    limn_data_free(data);
    forget("w.csv");
    world_close(&w);
}

static void test_bytes_that_are_none(void **state) {
    (void)state;
    static const float values[] = {256, -1, 0.5f, 1e30f};
    char path[PATH];
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,2\n", NULL, NULL);
    lm_table_shape shape = {&data->schema, 1, false, true};
    for (size_t i = 0; i < LM_COUNT(values); i++) {
        lm_table_out *table = NULL;
        limn_rows rows = {.size = sizeof rows, .n = 1, .x = &values[i]};
        assert_int_equal(lm_table_open(w.ctx, in_folder("b.idx", path), NULL, &shape, &table),
                         LIMN_OK);
        assert_int_equal(lm_table_put(table, &rows), LIMN_E_DATA);
        lm_table_discard(table);
    }
    assert_int_equal(files_in_folder(), 0);
    lm_table_discard(NULL);
    limn_data_free(data);
    world_close(&w);
}

static void test_both_files_or_none(void **state) {
    (void)state;
    char path[PATH];
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,2\n", NULL, NULL);
    /* the labels cannot be written: neither are the rows */
    assert_int_equal(mkdir(in_folder("p-labels.npy", path), 0700), 0);
    assert_int_equal(write_set(&w, data, "p.npy", NULL), LIMN_E_IO);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(rmdir(path), 0);
    /* the rows cannot be renamed at the very end: this is reported */
    lm_table_out *table = NULL;
    assert_int_equal(begin_set(&w, data, "p.npy", NULL, &table), LIMN_OK);
    assert_int_equal(put_rows(table, data, 0, 1), LIMN_OK);
    assert_int_equal(mkdir(in_folder("p.npy", path), 0700), 0);
    assert_int_equal(lm_table_commit(table), LIMN_E_IO);
    assert_non_null(strstr(limn_error(w.ctx), "p.npy: cannot rename the finished file to it: "));
    assert_non_null(strstr(limn_error(w.ctx), "p-labels.npy have already been written"));
    assert_int_equal(rmdir(path), 0);
    forget("p-labels.npy");
    assert_int_equal(files_in_folder(), 0);
    limn_data_free(data);
    world_close(&w);
}

static const char *const outputs[] = {"t.csv",        "t.tsv.gz",  "t.svm",
                                      "t.npy",        "t.npy.gz",  "t.arff",
                                      "t-images.idx", "t.arff.gz", "t.libsvm.gz"};

static void forget_outputs(const char *name) {
    forget(name);
    forget("t-labels.npy");
    forget("t-labels.npy.gz");
    forget("t-labels.idx");
}

static void test_failing_allocations_leave_no_file(void **state) {
    (void)state;
    for (size_t f = 0; f < LM_COUNT(outputs); f++)
        for (unsigned n = 1, done = 0; !done; n++) {
            world w;
            world_open(&w);
            limn_data *data = must_read(&w, "a,b,y\n1.5,red,3\n2,blue,4\n", NULL, NULL);
            w.count.fail_at = n;
            limn_status status = write_set(&w, data, outputs[f], NULL);
            done = w.count.fail_at != 0;
            w.count.fail_at = 0;
            assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
            if (!done)
                assert_int_equal(files_in_folder(), 0);
            limn_data_free(data);
            world_close(&w);
            assert_true(n < 100);
            forget_outputs(outputs[f]);
        }
}

/* ---- converting ---- */

static limn_status convert(world *w, const char *from, const limn_read_options *reading,
                           const char *to, const limn_write_options *writing,
                           limn_convert_info *info) {
    char in[PATH], out[PATH];
    return limn_convert(w->ctx, in_folder(from, in), reading, in_folder(to, out), writing, info);
}

static void must_convert(world *w, const char *from, const limn_read_options *reading,
                         const char *to) {
    if (convert(w, from, reading, to, NULL, NULL) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
}

static void test_in_pieces_and_through_memory_alike(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
    } inputs[] = {
        {"i.csv", "a,color,y\n1.5,red,u\n-2,blue,v\n0,red,u\n"},
        {"i.tsv", "1\t2\t3\n4\t5\t6\n"},
        {"i.txt", "1;2;7,8,9\n3;4;6\n"}, /* detected from several lines, not from the first alone */
        {"i.svm", "2 3:1\n-1 1:0.5 5:2\n10\n"},
        {"i.arff",
         "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@attribute class {7,8,9}\n"
         "@data\ny,3,9\nx,4,7\n"},
    };
    static const char *const formats[] = {"o.csv", "o.svm", "o.npy", "o.idx", "o.arff"};
    char bytes[TEXT], labels[TEXT], again[TEXT];
    for (size_t i = 0; i < LM_COUNT(inputs); i++) {
        world w;
        world_open(&w);
        store(inputs[i].name, "w", inputs[i].text);
        for (size_t f = 0; f < LM_COUNT(formats); f++) {
            limn_read_options whole = with_task(LIMN_CLASSIFY);
            whole.missing = LIMN_MISSING_MEDIAN; /* needs the whole set, even if there are none */
            if (f == 3 && (i == 0 || i == 2))
                continue; /* text labels */
            bool apart = f == 2 || f == 3;
            const char *label_file = f == 2 ? "o-labels.npy" : "o-labels.idx";
            must_convert(&w, inputs[i].name, NULL, formats[f]);
            size_t size = load(formats[f], bytes),
                   label_size = apart ? load(label_file, labels) : 0;
            must_convert(&w, inputs[i].name, &whole, formats[f]);
            assert_int_equal(load(formats[f], again), size);
            assert_memory_equal(bytes, again, size);
            if (apart) {
                assert_int_equal(load(label_file, again), label_size);
                assert_memory_equal(labels, again, label_size);
                forget(label_file);
            }
            forget(formats[f]);
        }
        forget(inputs[i].name);
        world_close(&w);
    }
}

static void test_missing_cells_are_refused_or_filled(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    store("m.csv", "w", "a,color,y\n1,red,u\n,blue,v\n3,?,u\n8,red,v\n");
    assert_int_equal(convert(&w, "m.csv", NULL, "o.csv", NULL, NULL), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(w.ctx), "2 missing cells"));
    assert_int_equal(files_in_folder(), 1);
    options.missing = LIMN_MISSING_MEDIAN;
    must_convert(&w, "m.csv", &options, "o.csv");
    assert_text("o.csv", "a,color,y\n1,red,u\n3,blue,v\n3,red,u\n8,red,v\n");
    forget("m.csv");
    forget("o.csv");
    world_close(&w);
}

static void test_the_label_moves_to_the_end_and_columns_keep_their_order(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_convert_info info = {.size = sizeof info};
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "b";
    options.weights = "c"; /* no format has them: an ordinary column */
    store("l.csv", "w", "c,b,a,a\n1,2,3,4\n5,6,7,8\n");
    assert_int_equal(convert(&w, "l.csv", &options, "o.csv", NULL, &info), LIMN_OK);
    assert_text("o.csv", "c,a,a,b\n1,3,4,2\n5,7,8,6\n");
    assert_int_equal(info.rows, 2);
    assert_int_equal(info.features, 3);
    assert_int_equal(info.from, LIMN_FORMAT_CSV);
    assert_int_equal(info.to, LIMN_FORMAT_CSV);
    options = with_task(LIMN_CLASSIFY);
    options.no_label = 1;
    must_convert(&w, "l.csv", &options, "o.csv");
    assert_text("o.csv", "c,b,a,a\n1,2,3,4\n5,6,7,8\n");
    forget("l.csv");
    forget("o.csv");
    world_close(&w);
}

static void test_inputs_are_never_replaced(void **state) {
    (void)state;
    char bytes[TEXT], path[PATH], other[PATH];
    world w;
    world_open(&w);
    store("a.csv", "w", "1,2\n3,4\n");
    must_convert(&w, "a.csv", NULL, "a.npy");
    assert_int_equal(symlink(in_folder("a.npy", path), in_folder("link.npy", other)), 0);
    static const char *const outputs_of_a[] = {"a.npy", "a-labels.npy", "link.npy"};
    for (size_t i = 0; i < LM_COUNT(outputs_of_a); i++) {
        assert_int_equal(convert(&w, "a.npy", NULL, outputs_of_a[i], NULL, NULL), LIMN_E_USAGE);
        assert_non_null(strstr(limn_error(w.ctx), "the output would replace the input file"));
    }
    limn_write_options writing = as(LIMN_FORMAT_NPY);
    writing.label_file = path;
    in_folder("a.csv", path);
    assert_int_equal(convert(&w, "a.csv", NULL, "b.npy", &writing, NULL), LIMN_E_USAGE);
    assert_int_equal(load("a.npy", bytes), 128 + 8);
    assert_text("a.csv", "1,2\n3,4\n");
    assert_int_equal(files_in_folder(), 4);
    forget("a.csv");
    forget("a.npy");
    forget("a-labels.npy");
    forget("link.npy");
    world_close(&w);
}

static void test_models_are_not_data(void **state) {
    (void)state;
    world w;
    world_open(&w);
    store("m.limn", "w", "limn\r\n\x1a\nrest");
    store("m.model", "w", "svm_type c_svc\nkernel_type rbf\n");
    assert_int_equal(convert(&w, "m.limn", NULL, "o.csv", NULL, NULL), LIMN_E_USAGE);
    assert_non_null(strstr(limn_error(w.ctx), "a model, not data"));
    assert_int_equal(convert(&w, "m.model", NULL, "o.csv", NULL, NULL), LIMN_E_USAGE);
    assert_int_equal(convert(&w, "absent", NULL, "o.csv", NULL, NULL), LIMN_E_IO);
    assert_int_equal(limn_convert(w.ctx, "", NULL, "o.csv", NULL, NULL), LIMN_E_USAGE);
    forget("m.limn");
    forget("m.model");
    assert_int_equal(files_in_folder(), 0);
    world_close(&w);
}

static void store_many(const char *name, int rows) {
    char path[PATH];
    FILE *file = fopen(in_folder(name, path), "w");
    assert_non_null(file);
    for (int i = 0; i < rows; i++)
        fprintf(file, "%d,%d,c%d\n", i, i % 7, i % 3);
    fclose(file);
}

/* A progress function that adds a row while the file is read for the second time. */
static int add_row(void *user, const limn_progress *progress) {
    world *w = user;
    if (strcmp(progress->stage, "writing") == 0 && w->reports++ == 0)
        store("c.csv", "a", w->warning);
    return 0;
}

static void test_a_file_that_changes_in_between(void **state) {
    (void)state;
    static const char *const added[] = {"5,6,c1\n", "5,6,new\n", "5,6\n"};
    for (size_t i = 0; i < LM_COUNT(added); i++) {
        world w;
        world_open(&w);
        store_many("c.csv", 100000);
        store("o.csv", "w", "old");
        strcpy(w.warning, added[i]);
        w.ctx->progress = add_row;
        assert_int_equal(convert(&w, "c.csv", NULL, "o.csv", NULL, NULL), LIMN_E_DATA);
        assert_true(w.reports > 0);
        if (i < 2)
            assert_non_null(strstr(limn_error(w.ctx), "the input changed while it was read"));
        assert_text("o.csv", "old");
        assert_int_equal(files_in_folder(), 2);
        forget("c.csv");
        forget("o.csv");
        world_close(&w);
    }
}

static int keep_stages(void *user, const limn_progress *progress) {
    world *w = user;
    w->last = *progress;
    w->reports += strcmp(progress->stage, "writing") == 0;
    return w->cancel_at && w->reports == w->cancel_at;
}

static void test_writing_is_reported_and_can_be_cancelled(void **state) {
    (void)state;
    store_many("big.csv", 100000);
    for (int whole = 0; whole < 2; whole++) {
        world w;
        world_open(&w);
        limn_read_options options = with_task(LIMN_CLASSIFY);
        options.missing = whole ? LIMN_MISSING_MEDIAN : LIMN_MISSING_ERROR;
        w.ctx->progress = keep_stages;
        must_convert(&w, "big.csv", &options, "o.csv");
        assert_true(w.reports > 1);
        assert_string_equal(w.last.stage, "writing");
        assert_int_equal(w.last.rows_total, 100000);
        assert_ptr_equal(w.ctx->progress, keep_stages);
        assert_ptr_equal(w.ctx->user, &w);
        store("o.csv", "w", "old");
        w.reports = 0;
        w.cancel_at = 2;
        assert_int_equal(convert(&w, "big.csv", &options, "o.csv", NULL, NULL), LIMN_E_CANCELLED);
        assert_text("o.csv", "old");
        assert_int_equal(files_in_folder(), 2);
        assert_ptr_equal(w.ctx->user, &w);
        world_close(&w);
    }
    forget("big.csv");
    forget("o.csv");
}

static void test_failing_allocations_while_converting(void **state) {
    (void)state;
    store("i.csv", "w", "a,b,y\n1.5,red,3\n2,blue,4\n");
    for (size_t f = 0; f < LM_COUNT(outputs); f++)
        for (unsigned n = 1, done = 0; !done; n++) {
            world w;
            world_open(&w);
            limn_read_options options = with_task(LIMN_CLASSIFY);
            options.missing = f % 2 ? LIMN_MISSING_MEDIAN : LIMN_MISSING_ERROR;
            w.count.fail_at = n;
            limn_status status = convert(&w, "i.csv", &options, outputs[f], NULL, NULL);
            done = w.count.fail_at != 0;
            w.count.fail_at = 0;
            assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
            assert_int_equal(files_in_folder() > 1, done);
            world_close(&w);
            assert_true(n < 1000);
            forget_outputs(outputs[f]);
        }
    forget("i.csv");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names_that_a_format_cannot_hold),
    cmocka_unit_test(test_options_that_do_not_fit),
    cmocka_unit_test(test_labels_of_an_earlier_run_are_warned_of),
    cmocka_unit_test(test_a_first_row_that_looks_like_a_header_is_warned_of),
    cmocka_unit_test(test_rows_that_were_not_announced),
    cmocka_unit_test(test_bytes_that_are_none),
    cmocka_unit_test(test_both_files_or_none),
    cmocka_unit_test(test_failing_allocations_leave_no_file),
    cmocka_unit_test(test_in_pieces_and_through_memory_alike),
    cmocka_unit_test(test_missing_cells_are_refused_or_filled),
    cmocka_unit_test(test_the_label_moves_to_the_end_and_columns_keep_their_order),
    cmocka_unit_test(test_inputs_are_never_replaced),
    cmocka_unit_test(test_models_are_not_data),
    cmocka_unit_test(test_a_file_that_changes_in_between),
    cmocka_unit_test(test_writing_is_reported_and_can_be_cancelled),
    cmocka_unit_test(test_failing_allocations_while_converting),
};

int main(void) {
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
