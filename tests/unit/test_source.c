/* test_source.c: files, pipes, gzip, memory limits, progress, and allocations that fail. */
#include "data_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/limn-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const void *bytes, size_t size) {
    const char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* One gzip member; returns its size. */
static size_t compress_text(const char *text, size_t size, unsigned char *out, size_t capacity) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (unsigned)size;
    z.next_out = out;
    z.avail_out = (unsigned)capacity;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

/* ---- files ---- */

static void check_missing(world *w, const char *path, const char *sentence) {
    limn_data *data = NULL;
    limn_reader *reader = NULL;
    assert_int_equal(lm_data_read(w->ctx, path, NULL, NULL, &data), LIMN_E_IO);
    assert_null(data);
    assert_string_equal(limn_error(w->ctx), sentence);
    assert_int_equal(lm_reader_open(w->ctx, path, NULL, NULL, &reader), LIMN_E_IO);
    assert_null(reader);
}

static void test_files_that_cannot_be_read_are_named(void **state) {
    (void)state;
    world w;
    world_open(&w);
    char sentence[200];
    check_missing(&w, "/nowhere/t.csv",
                  "/nowhere/t.csv: cannot open it: No such file or directory");
    snprintf(sentence, sizeof sentence, "%s: this is a directory; name a file in it", folder);
    check_missing(&w, folder, sentence);
    if (geteuid() != 0) {
        const char *path = write_file("secret.csv", "1,2\n", 4);
        assert_int_equal(chmod(path, 0), 0);
        snprintf(sentence, sizeof sentence, "%s: cannot open it: Permission denied", path);
        check_missing(&w, path, sentence);
        unlink(path);
    }
    limn_data *data = NULL;
    assert_int_equal(lm_data_read(w.ctx, "", NULL, NULL, &data), LIMN_E_USAGE);
    assert_int_equal(lm_data_read(w.ctx, NULL, NULL, NULL, &data), LIMN_E_USAGE);
    world_close(&w);
}

static void test_a_file_is_read_and_named_in_sentences(void **state) {
    (void)state;
    world w;
    world_open(&w);
    const char *path = write_file("a.csv", "1,2,u\n3,4,v\n", 12);
    limn_data *data = NULL;
    assert_int_equal(lm_data_read(w.ctx, path, NULL, NULL, &data), LIMN_OK);
    ASSERT_ROW(data, 1, 3, 4);
    limn_data_free(data);
    assert_true(w.last.fraction == 1.0 && w.last.rows == 2);
    path = write_file("a.csv", "1,2,u\n3,x,v\n", 12);
    assert_int_equal(lm_data_read(w.ctx, path, NULL, NULL, &data), LIMN_E_DATA);
    assert_memory_equal(limn_error(w.ctx), path, strlen(path));
    assert_non_null(strstr(limn_error(w.ctx), ": line 2, column 2: 'x' is not a number"));
    unlink(path);
    world_close(&w);
}

/* ---- pipes ---- */

/* Runs with both ends of a pipe as standard input and writes to it step by step. */
static void test_each_line_of_a_pipe_is_answered_before_the_next_is_written(void **state) {
    (void)state;
    static const struct {
        const char *model, *lines[3];
    } cases[] = {
        {"a,b,y\n1,2,u\n", {"3,4\n", "5,6\n", "7,8\n"}},
        {"a,b,y\n1,2,u\n", {"b,y,a\n4,u,3\n", "6,u,5\r\n", "8,u,7\n"}},
        {"a,b,y\n1,2,u\n", {"u 1:3 2:4\n", "\nu 1:5 2:6\n", "u 1:7 2:8\n"}},
        {"a,b,y\n1,2,u\n", {"3 4 u\n", "5 6 u\n", "7 8 u\n"}},
        {"1,2,u\n", {"3;4;\"u\"\n", "5;6;u\n", "7;8;u\n"}},
    };
    for (size_t c = 0; c < LM_COUNT(cases); c++) {
        world w;
        world_open(&w);
        limn_data *model = must_read(&w, cases[c].model, NULL, NULL);
        limn_reader *reader = NULL;
        int ends[2], saved = dup(STDIN_FILENO);
        assert_int_equal(pipe(ends), 0);
        assert_true(saved >= 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
        close(ends[0]);
        for (size_t i = 0; i < 3; i++) {
            size_t size = strlen(cases[c].lines[i]);
            assert_int_equal(write(ends[1], cases[c].lines[i], size), size);
            if (i == 0)
                assert_int_equal(lm_reader_open(w.ctx, "-", NULL, &model->schema, &reader),
                                 LIMN_OK);
            limn_rows rows = {.size = sizeof rows};
            assert_int_equal(limn_reader_next(reader, 1000, &rows), LIMN_OK);
            assert_int_equal(rows.n, 1);
            assert_true(rows.x[0] == (float)(3 + 2 * i) && rows.x[1] == (float)(4 + 2 * i));
        }
        assert_int_equal(write(ends[1], "bad row:\n", 9), 9);
        close(ends[1]);
        limn_rows rows = {.size = sizeof rows};
        assert_int_equal(limn_reader_next(reader, 1000, &rows), LIMN_E_DATA);
        assert_memory_equal(limn_error(w.ctx), "standard input: line ", 21);
        limn_reader_free(reader);
        assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
        close(saved);
        limn_data_free(model);
        world_close(&w);
    }
}

static void test_a_fifo_is_read_to_its_end(void **state) {
    (void)state;
    enum { ROWS = 30000 };
    const char *path = path_of("fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        FILE *file = fopen(path, "w");
        for (int i = 0; file && i < ROWS; i++)
            fprintf(file, "%d,%d,%d\n", i, i + 1, i % 5);
        _exit(!file || fclose(file) != 0);
    }
    world w;
    world_open(&w);
    limn_data *data = NULL;
    assert_int_equal(lm_data_read(w.ctx, path, NULL, NULL, &data), LIMN_OK);
    assert_int_equal(limn_data_rows(data), ROWS);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(data->x[2 * i] == (float)i && data->label[i] == (int32_t)(i % 5));
    limn_data_free(data);
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    unlink(path);
    world_close(&w);
}

/* ---- gzip ---- */

static void test_gzip_members_are_joined_and_padding_is_skipped(void **state) {
    (void)state;
    static unsigned char bytes[4096];
    world w;
    world_open(&w);
    size_t size = compress_text("1,2,u\n3,", 8, bytes, sizeof bytes);
    size += compress_text("4,v\n5,6,w", 9, bytes + size, sizeof bytes - size);
    size += compress_text("", 0, bytes + size, sizeof bytes - size);
    size_t padded = size + 100; /* the rest is zero */
    for (size_t chunk = 0; chunk < 40; chunk++) {
        limn_data *data = NULL;
        assert_int_equal(read_bytes(&w, bytes, chunk % 2 ? size : padded, chunk, NULL, NULL, &data),
                         LIMN_OK);
        assert_int_equal(limn_data_rows(data), 3);
        ASSERT_ROW(data, 1, 3, 4);
        ASSERT_ROW(data, 2, 5, 6);
        limn_data_free(data);
    }
    world_close(&w);
}

static void test_a_large_gzip_file_equals_the_plain_one(void **state) {
    (void)state;
    enum { ROWS = 40000 };
    char *text = malloc(ROWS * 40);
    unsigned char *packed = malloc(ROWS * 40);
    size_t length = 0;
    for (int i = 0; i < ROWS; i++)
        length += (size_t)sprintf(text + length, "%d.%03d,%d,%c\n", i, i % 1000, -i, 'a' + i % 7);
    size_t size = compress_text(text, length, packed, ROWS * 40);
    world w;
    world_open(&w);
    limn_data *plain = NULL, *data = NULL;
    assert_int_equal(read_bytes(&w, text, length, 0, NULL, NULL, &plain), LIMN_OK);
    const char *path = write_file("a.csv.gz", packed, size);
    assert_int_equal(lm_data_read(w.ctx, path, NULL, NULL, &data), LIMN_OK);
    assert_int_equal(data->n, ROWS);
    assert_memory_equal(data->x, plain->x, ROWS * 2 * sizeof(float));
    assert_memory_equal(data->label, plain->label, ROWS * sizeof(int32_t));
    limn_data_free(data);
    limn_data_free(plain);
    unlink(path);
    free(text);
    free(packed);
    world_close(&w);
}

static void test_damaged_gzip_is_refused_wherever_it_is_damaged(void **state) {
    (void)state;
    static unsigned char bytes[8192], broken[8192];
    static char text[20000];
    size_t length = 0;
    for (int i = 0; i < 600; i++)
        length += (size_t)sprintf(text + length, "%d,%d,u\n", i * 7919 % 1000, i);
    size_t size = compress_text(text, length, bytes, sizeof bytes);
    world w;
    world_open(&w);
    limn_data *data = NULL;
    for (size_t cut = 2; cut < size; cut += 1 + cut / 9) {
        assert_int_equal(read_bytes(&w, bytes, cut, 0, NULL, NULL, &data), LIMN_E_DATA);
        assert_null(data);
        assert_string_equal(limn_error(w.ctx),
                            "t.csv: the gzip data ends early; download or compress it again");
    }
    assert_int_equal(read_bytes(&w, bytes, size - 1, 0, NULL, NULL, &data), LIMN_E_DATA);
    memcpy(broken, bytes, size);
    broken[size - 6] ^= 1; /* the checksum */
    assert_int_equal(read_bytes(&w, broken, size, 0, NULL, NULL, &data), LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx), "t.csv: the gzip data is damaged (incorrect data "
                                           "check); download or compress it again");
    memcpy(broken, bytes, size);
    memcpy(broken + size, "tail", 4); /* neither a member nor padding */
    assert_int_equal(read_bytes(&w, broken, size + 4, 0, NULL, NULL, &data), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(w.ctx), "the gzip data is damaged"));
    world_close(&w);
}

/* ---- large inputs ---- */

static char *many_rows(size_t rows, size_t *length) {
    char *text = malloc(rows * 24);
    *length = 0;
    for (size_t i = 0; i < rows; i++)
        *length += (size_t)sprintf(text + *length, "%zu,%zu.5,%zu\n", i, i % 100, i % 3);
    return text;
}

static void test_progress_is_told_and_can_cancel(void **state) {
    (void)state;
    enum { ROWS = 200000 };
    size_t length;
    char *text = many_rows(ROWS, &length);
    world w;
    world_open(&w);
    limn_data *data = NULL;
    assert_int_equal(read_bytes(&w, text, length, 0, NULL, NULL, &data), LIMN_OK);
    assert_in_range(w.reports, 4, 12);
    assert_string_equal(w.last.stage, "reading");
    assert_true(w.last.rows == ROWS && w.last.fraction == 1.0);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(data->x[2 * i] == (float)i && data->label[i] == (int32_t)(i % 3));
    limn_data_free(data);
    w.reports = 0;
    w.cancel_at = 2;
    assert_int_equal(read_bytes(&w, text, length, 0, NULL, NULL, &data), LIMN_E_CANCELLED);
    assert_null(data);
    assert_true(w.last.rows > 0 && w.last.rows < ROWS);
    assert_true(w.last.fraction > 0 && w.last.fraction < 1);
    w.cancel_at = 0;
    assert_int_equal(read_bytes(&w, text, length, 5000, NULL, NULL, &data), LIMN_OK);
    limn_data_free(data); /* a pipe: its size is unknown until it ends */
    free(text);
    world_close(&w);
}

static void test_what_would_not_fit_is_refused(void **state) {
    (void)state;
    enum { ROWS = 100000 }; /* 12 bytes each: 1.2 MB */
    size_t length;
    char *text = many_rows(ROWS, &length);
    world w;
    world_open(&w);
    limn_data *data = NULL;
    w.ctx->memory_limit = 500000;
    w.count.requests = 0;
    assert_int_equal(read_bytes(&w, text, length, 0, NULL, NULL, &data), LIMN_E_DATA);
    assert_int_equal(w.reports, 0); /* before reading */
    assert_memory_equal(limn_error(w.ctx), "t.csv: the data would need about 1.", 35);
    assert_non_null(strstr(limn_error(w.ctx), " MB of memory, but the limit is 500 kB; use fewer "
                                              "rows or features"));
    /* from a pipe or a gzip file, it shows while reading */
    assert_int_equal(read_bytes(&w, text, length, 4096, NULL, NULL, &data), LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx),
                        "t.csv: the data would need more than 500 kB of memory, but the limit is "
                        "500 kB; use fewer rows or features");
    unsigned char *packed = malloc(length);
    size_t size = compress_text(text, length, packed, length);
    assert_int_equal(read_bytes(&w, packed, size, 0, NULL, NULL, &data), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(w.ctx), "the data would need "));
    w.ctx->memory_limit = ROWS * 12; /* exactly */
    assert_int_equal(read_bytes(&w, text, length, 4096, NULL, NULL, &data), LIMN_OK);
    limn_data_free(data);
    w.ctx->memory_limit = ROWS * 12 - 1;
    assert_int_equal(read_bytes(&w, text, length, 4096, NULL, NULL, &data), LIMN_E_DATA);
    free(packed);
    free(text);
    world_close(&w);
}

static void test_a_row_longer_than_the_window_is_read(void **state) {
    (void)state;
    enum { COLUMNS = 150000, ROWS = 3 };
    char *text = malloc((size_t)ROWS * COLUMNS * 8);
    size_t length = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            length += (size_t)sprintf(text + length, "%d%s", (i + j) % 1000,
                                      j + 1 < COLUMNS ? "\t" : "\n");
    world w;
    world_open(&w);
    static const size_t chunks[] = {0, 1000, 70000};
    for (size_t c = 0; c < LM_COUNT(chunks); c++) {
        limn_data *data = NULL;
        assert_int_equal(read_bytes(&w, text, length, chunks[c], NULL, NULL, &data), LIMN_OK);
        assert_int_equal(limn_data_rows(data), ROWS);
        assert_int_equal(limn_data_features(data), COLUMNS - 1);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j + 1 < COLUMNS; j++)
                assert_true(data->x[i * (COLUMNS - 1) + j] == (float)((i + j) % 1000));
        limn_data_free(data);
    }
    free(text);
    world_close(&w);
}

static void test_an_open_quote_does_not_swallow_more_than_the_limit(void **state) {
    (void)state;
    enum { SIZE = 8 << 20 };
    char *text = malloc(SIZE);
    memset(text, 'x', SIZE);
    for (size_t i = 100; i < SIZE; i += 100)
        text[i] = '\n';
    memcpy(text, "1,u\n2,\"v\n", 9);
    world w;
    world_open(&w);
    limn_data *data = NULL;
    w.ctx->memory_limit = 1 << 20;
    assert_int_equal(read_bytes(&w, text, SIZE, 65536, NULL, NULL, &data), LIMN_E_DATA);
    assert_non_null(strstr(limn_error(w.ctx), "does not fit in memory; check for a quote that is "
                                              "not closed"));
    w.ctx->memory_limit = (uint64_t)1 << 40;
    assert_int_equal(read_bytes(&w, text, SIZE, 65536, NULL, NULL, &data), LIMN_E_DATA);
    assert_string_equal(limn_error(w.ctx), "t.csv: line 2, column 2: a quote opens here and is "
                                           "never closed; close it");
    free(text);
    world_close(&w);
}

/* ---- allocations that fail ---- */

static void check_failing(const void *bytes, size_t size, const char *model_text) {
    for (unsigned n = 1, done = 0; !done; n++) {
        world w;
        world_open(&w);
        limn_data *model = model_text ? must_read(&w, model_text, NULL, NULL) : NULL;
        limn_data *data = NULL;
        w.count.fail_at = n;
        limn_status status =
            read_bytes(&w, bytes, size, 0, NULL, model ? &model->schema : NULL, &data);
        done = w.count.fail_at != 0; /* fewer requests than n */
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        assert_int_equal(data != NULL, done);
        w.count.fail_at = 0;
        limn_data_free(data);
        limn_data_free(model);
        world_close(&w);
        assert_true(n < 1000);
    }
}

static void test_failing_allocations_release_everything(void **state) {
    (void)state;
    static const char csv[] =
        "a,b,\"t\"\"y\"\n1,2,\"u\"\"u\"\n3,4,a label longer than eight\n5,6,w\n";
    static const char sparse[] = "1 1:2\n2 3:4\n3 70000:1\n4 70001:1\n5 200000:1\n";
    static unsigned char packed[1000];
    check_failing(csv, sizeof csv - 1, NULL);
    check_failing("b,z,a,class\n1,2,3,u\n", 20, "a,b,y\n1,2,u\n3,4,v\n");
    check_failing("1,2\n3,4\n", 8, "a,b,y\n1,2,u\n3,4,v\n");
    check_failing(sparse, sizeof sparse - 1, NULL);
    check_failing("u 1:2\n", 6, "a,b,y\n1,2,u\n3,4,v\n");
    check_failing(packed, compress_text(csv, sizeof csv - 1, packed, sizeof packed), NULL);
}

static void test_a_stream_survives_failing_allocations(void **state) {
    (void)state;
    static const char text[] = "1,2,u\n3,4,v\n5,6,w\n";
    for (unsigned n = 1, done = 0; !done; n++) {
        world w;
        world_open(&w);
        lm_source *source = NULL;
        limn_reader *reader = NULL;
        limn_rows rows = {.size = sizeof rows};
        w.count.fail_at = n;
        limn_status status = lm_source_memory(w.ctx, "t", text, sizeof text - 1, 7, &source);
        if (status == LIMN_OK)
            status = lm_reader_open_source(w.ctx, source, NULL, NULL, &reader);
        while (status == LIMN_OK && (status = limn_reader_next(reader, 2, &rows)) == LIMN_OK)
            if (!rows.n)
                break;
        done = w.count.fail_at != 0;
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        limn_reader_free(reader);
        world_close(&w);
        assert_true(n < 1000);
    }
}

static void test_a_reader_may_outlive_its_context(void **state) {
    (void)state;
    world w;
    world_open(&w);
    lm_source *source = NULL;
    limn_reader *reader = NULL;
    assert_int_equal(lm_source_memory(w.ctx, "t", "1,2\n3,4\n", 8, 0, &source), LIMN_OK);
    assert_int_equal(lm_reader_open_source(w.ctx, source, NULL, NULL, &reader), LIMN_OK);
    limn_data *data = must_read(&w, "1,2\n", NULL, NULL);
    limn_context_free(w.ctx);
    limn_reader_free(reader);
    limn_data_free(data);
    assert_int_equal(w.count.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_that_cannot_be_read_are_named),
        cmocka_unit_test(test_a_file_is_read_and_named_in_sentences),
        cmocka_unit_test(test_each_line_of_a_pipe_is_answered_before_the_next_is_written),
        cmocka_unit_test(test_a_fifo_is_read_to_its_end),
        cmocka_unit_test(test_gzip_members_are_joined_and_padding_is_skipped),
        cmocka_unit_test(test_a_large_gzip_file_equals_the_plain_one),
        cmocka_unit_test(test_damaged_gzip_is_refused_wherever_it_is_damaged),
        cmocka_unit_test(test_progress_is_told_and_can_cancel),
        cmocka_unit_test(test_what_would_not_fit_is_refused),
        cmocka_unit_test(test_a_row_longer_than_the_window_is_read),
        cmocka_unit_test(test_an_open_quote_does_not_swallow_more_than_the_limit),
        cmocka_unit_test(test_failing_allocations_release_everything),
        cmocka_unit_test(test_a_stream_survives_failing_allocations),
        cmocka_unit_test(test_a_reader_may_outlive_its_context),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
