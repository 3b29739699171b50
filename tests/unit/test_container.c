/* test_container.c: src/container: files read back as they were written, and failures leave
 * nothing half-built. test_container_hostile.c has the files that must be refused.
 *
 * `test_container --write-example FILE` writes the file that docs/format.md shows byte by byte. */
#include "container_world.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- round trips ---- */

static void test_all_types_come_back_from_memory_and_from_a_file(void **state) {
    world *w = *state;
    char path[200];
    lm_file *file = open_bytes(w, w->bytes, w->size);
    assert_string_equal(lm_file_name(file), "m.limn");
    assert_sample(w, file);
    lm_file_close(file);
    lm_file_close(NULL);

    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(add_sample(writer), LIMN_OK);
    assert_int_equal(lm_writer_size(writer), w->size);
    assert_int_equal(lm_writer_save(writer, in(w, "m", path)), LIMN_OK);
    lm_writer_free(writer);
    assert_true(file_is(path, w->bytes, w->size)); /* the same bytes each time */
    assert_int_equal(entries(w), 1);
    assert_int_equal(lm_file_open(w->ctx, path, &file), LIMN_OK);
    assert_string_equal(lm_file_name(file), path);
    assert_int_equal(lm_file_size(file), w->size);
    assert_sample(w, file);
    lm_file_close(file);
}

static void test_an_open_file_survives_its_context_and_its_replacement(void **state) {
    world *w = *state;
    char path[200];
    limn_context *other = counting_context(&w->count);
    lm_file *file = NULL;
    put_file(in(w, "m", path), w->bytes, w->size);
    assert_int_equal(lm_file_open(other, path, &file), LIMN_OK);
    limn_context_free(other);
    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(lm_writer_save(writer, path), LIMN_OK); /* an empty model in its place */
    lm_writer_free(writer);
    assert_sample(w, file);
    lm_file_close(file);
}

static void test_a_writer_frees_the_memory_that_it_gave(void **state) {
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    unsigned char *bytes = NULL;
    size_t size = 0;
    (void)state;
    lm_writer *writer = new_writer(ctx);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};
        uint64_t *numbers = lm_writer_memory(writer, 5, sizeof *numbers);
        for (size_t k = 0; k < 5; k++)
            numbers[k] = 10 * i + k;
        assert_int_equal(lm_writer_section(writer, names[i], 1, numbers, 5 * sizeof *numbers),
                         LIMN_OK);
    }
    assert_null(lm_writer_memory(writer, SIZE_MAX / 2, 4));
    assert_int_equal(lm_writer_bytes(writer, &bytes, &size), LIMN_OK);
    lm_writer_free(writer);
    lm_file *file = NULL;
    const void *numbers = NULL;
    assert_int_equal(lm_file_from_memory(ctx, bytes, size, "m.limn", &file), LIMN_OK);
    assert_int_equal(lm_file_array(ctx, file, "c", 1, 5, sizeof(uint64_t), &numbers), LIMN_OK);
    assert_int_equal(((const uint64_t *)numbers)[4], 24);
    lm_file_close(file);
    lm_free(&ctx->mem, bytes);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_a_model_without_sections_is_a_header(void **state) {
    world *w = *state;
    unsigned char *bytes = NULL;
    size_t size = 0;
    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(lm_writer_bytes(writer, &bytes, &size), LIMN_OK);
    assert_int_equal(size, HEADER);
    lm_file *file = open_bytes(w, bytes, size);
    assert_int_equal(lm_file_section_count(file), 0);
    lm_file_close(file);
    lm_free(&w->ctx->mem, bytes);
    lm_writer_free(writer);
}

/* ---- the bytes themselves ---- */

static lm_writer *example_writer(limn_context *ctx) {
    static const float x[3] = {1, 0.5f, -2};
    lm_kv_out *kv = NULL;
    lm_writer *writer = new_writer(ctx);
    assert_int_equal(lm_kv_begin(writer, "meta", 1, &kv), LIMN_OK);
    lm_kv_put_int(kv, "k", 3);
    lm_kv_put_text(kv, "name", "iris");
    assert_int_equal(lm_kv_end(kv), LIMN_OK);
    assert_int_equal(lm_writer_section(writer, "x", 2, x, sizeof x), LIMN_OK);
    return writer;
}

/* The example of docs/format.md, put together by hand. */
static void example_by_hand(unsigned char out[320]) {
    memset(out, 0, 320);
    memcpy(out, "\x6c\x69\x6d\x6e\x0d\x0a\x1a\x0a", 8);
    put32(out + H_VERSION, 1);
    put32(out + H_COUNT, 2);
    put64(out + H_SIZE, 320);
    unsigned char *entry = out + HEADER;
    memcpy(entry + E_NAME, "meta", 4);
    put32(entry + E_VERSION, 1);
    put64(entry + E_OFFSET, 192);
    put64(entry + E_SIZE, 60);
    entry += ENTRY;
    memcpy(entry + E_NAME, "x", 1);
    put32(entry + E_VERSION, 2);
    put64(entry + E_OFFSET, 256);
    put64(entry + E_SIZE, 12);
    unsigned char *kv = out + 192;
    put64(kv, 2);
    put32(kv + 8, KV_INT);
    put32(kv + 12, 2);
    put64(kv + 16, 8);
    memcpy(kv + 24, "k", 2);
    put64(kv + 26, 3);
    put32(kv + 34, KV_TEXT);
    put32(kv + 38, 5);
    put64(kv + 42, 5);
    memcpy(kv + 50, "name\0iris", 10);
    put32(out + 256, 0x3f800000);
    put32(out + 260, 0x3f000000);
    put32(out + 264, 0xc0000000);
    reseal(out, 320);
}

static void test_bytes_are_those_of_the_specification(void **state) {
    world *w = *state;
    unsigned char *bytes = NULL, expected[320];
    size_t size = 0;
    lm_writer *writer = example_writer(w->ctx);
    assert_int_equal(lm_writer_bytes(writer, &bytes, &size), LIMN_OK);
    example_by_hand(expected);
    assert_int_equal(size, sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    lm_free(&w->ctx->mem, bytes);
    lm_writer_free(writer);
}

/* Collects the lines that `od -A x -t x1z -v` printed into the document. */
static size_t bytes_of_dump(FILE *document, unsigned char *out, size_t room) {
    char line[300];
    size_t size = 0;
    while (fgets(line, sizeof line, document)) {
        unsigned offset, byte[16];
        char sign = 0;
        int got = sscanf(line,
                         "%6x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x "
                         "%2x %c",
                         &offset, byte, byte + 1, byte + 2, byte + 3, byte + 4, byte + 5, byte + 6,
                         byte + 7, byte + 8, byte + 9, byte + 10, byte + 11, byte + 12, byte + 13,
                         byte + 14, byte + 15, &sign);
        if (got != 18 || sign != '>' || offset != size || size + 16 > room)
            continue;
        for (int i = 0; i < 16; i++)
            out[size++] = (unsigned char)byte[i];
    }
    return size;
}

static void test_the_format_document_shows_these_bytes(void **state) {
    (void)state;
    const char *source = getenv("LIMN_SOURCE_DIR");
    char path[1000];
    unsigned char expected[320], shown[400];
    if (!source)
        skip(); /* the build sets it */
    snprintf(path, sizeof path, "%s/docs/format.md", source);
    FILE *document = fopen(path, "r");
    assert_non_null(document);
    size_t size = bytes_of_dump(document, shown, sizeof shown);
    fclose(document);
    example_by_hand(expected);
    assert_int_equal(size, sizeof expected);
    assert_memory_equal(shown, expected, sizeof expected);
}

/* ---- versions ---- */

static void test_newer_containers_and_sections_ask_for_an_update(void **state) {
    world *w = *state;
    put32(w->bytes + H_VERSION, 7);
    const char *words = "written by a newer limn (container version 7, this limn reads up to 1); "
                        "update limn";
    assert_refused(w, w->bytes, w->size, words); /* whatever the hash is */
    reseal(w->bytes, w->size);
    assert_refused(w, w->bytes, w->size, words);
    put32(w->bytes + H_VERSION, 0);
    reseal(w->bytes, w->size);
    assert_refused(w, w->bytes, w->size, "version is 0");
    put32(w->bytes + H_VERSION, 1);
    reseal(w->bytes, w->size);

    lm_file *file = open_bytes(w, w->bytes, w->size);
    lm_section section = {.size = 77};
    assert_int_equal(lm_file_section(w->ctx, file, "one-byte", 6, &section), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w->ctx), "m.limn: section 'one-byte' was written by a newer "
                                               "limn (version 7, this limn reads up to 6)"));
    assert_int_equal(section.size, 77);
    lm_kv kv;
    assert_int_equal(lm_kv_open(w->ctx, file, "meta", 2, &kv), LIMN_E_MODEL);
    lm_file_close(file);
}

/* ---- asking for what is not there ---- */

static void test_missing_sections_and_wrong_array_sizes_are_refused(void **state) {
    world *w = *state;
    lm_file *file = open_bytes(w, w->bytes, w->size);
    lm_section section;
    const void *data = NULL;
    lm_kv kv;
    assert_int_equal(lm_file_section(w->ctx, file, "rows", 9, &section), LIMN_E_MODEL);
    assert_string_equal(limn_error(w->ctx),
                        "m.limn: section 'rows' is missing; the file is damaged "
                        "or was not written by limn");
    assert_int_equal(lm_file_array(w->ctx, file, "rows", 9, 1, 1, &data), LIMN_E_MODEL);
    assert_int_equal(lm_file_array(w->ctx, file, "knn.rows", 0, 37, 4, &data), LIMN_E_MODEL);
    assert_int_equal(lm_file_array(w->ctx, file, "knn.rows", 1, 36, 4, &data), LIMN_E_MODEL);
    assert_int_equal(lm_file_array(w->ctx, file, "knn.rows", 1, 38, 4, &data), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w->ctx), "148 bytes, not 38 values of 4"));
    /* 148 modulo 2^64 */
    size_t wraps = SIZE_MAX / 4 + 1 + 37;
    assert_int_equal(lm_file_array(w->ctx, file, "knn.rows", 1, wraps, 4, &data), LIMN_E_MODEL);
    assert_null(data);
    assert_int_equal(lm_kv_open(w->ctx, file, "none", 9, &kv), LIMN_E_MODEL);
    lm_file_close(file);
}

static void test_keys_that_are_missing_mistyped_or_out_of_range_are_refused(void **state) {
    world *w = *state;
    lm_file *file = open_bytes(w, w->bytes, w->size);
    lm_kv kv;
    int64_t whole = 77;
    double real = 77, values[4] = {77};
    const char *text = NULL;
    lm_texts texts;
    assert_int_equal(lm_kv_open(w->ctx, file, "meta", 3, &kv), LIMN_OK);
    assert_int_equal(lm_kv_int(&kv, "none", 0, 9, &whole), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w->ctx), "m.limn: section 'meta' lacks 'none'"));
    assert_int_equal(lm_kv_int(&kv, "k", 6, 9, &whole), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w->ctx), "'k' in section 'meta' is 5, outside 6 to 9"));
    assert_int_equal(lm_kv_int(&kv, "k", 0, 4, &whole), LIMN_E_MODEL);
    assert_int_equal(lm_kv_int(&kv, "tiny", 0, 9, &whole), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w->ctx), "is a real, not an integer"));
    assert_int_equal(lm_kv_real(&kv, "k", 0, 9, &real), LIMN_E_MODEL);
    assert_int_equal(lm_kv_real(&kv, "tiny", 0, 9, &real), LIMN_E_MODEL);
    assert_int_equal(lm_kv_real(&kv, "endless", 0, DBL_MAX, &real), LIMN_E_MODEL);
    assert_int_equal(lm_kv_real(&kv, "tiny", (double)NAN, 1, &real), LIMN_E_MODEL);
    assert_int_equal(lm_kv_text(&kv, "classes", &text), LIMN_E_MODEL);
    assert_int_equal(lm_kv_texts(&kv, "method", &texts), LIMN_E_MODEL);
    assert_int_equal(lm_kv_reals(&kv, "tiny", 1, values), LIMN_E_MODEL);
    assert_int_equal(lm_kv_reals(&kv, "means", 2, values), LIMN_E_MODEL);
    assert_int_equal(lm_kv_reals(&kv, "means", 4, values), LIMN_E_MODEL);
    assert_true(whole == 77 && real == 77 && values[0] == 77 && !text);
    lm_file_close(file);
}

/* ---- wrong use of the writer ---- */

static void test_bad_and_repeated_section_names_are_refused(void **state) {
    world *w = *state;
    lm_writer *writer = new_writer(w->ctx);
    lm_kv_out *kv = NULL;
    static const char *const bad[] = {"",    "Meta",        "a b",
                                      "a/b", "gr\xc3\xbcn", "a-name-of-24-characters-"};
    for (size_t i = 0; i < LM_COUNT(bad); i++) {
        assert_int_equal(lm_writer_section(writer, bad[i], 1, "x", 1), LIMN_E_USAGE);
        assert_int_equal(lm_kv_begin(writer, bad[i], 1, &kv), LIMN_E_USAGE);
        assert_null(kv);
    }
    assert_int_equal(lm_writer_size(writer), HEADER);
    assert_int_equal(lm_writer_section(writer, "a", 1, "x", 1), LIMN_OK);
    assert_int_equal(lm_writer_section(writer, "a", 2, "y", 1), LIMN_E_USAGE);
    assert_int_equal(lm_kv_begin(writer, "a", 1, &kv), LIMN_E_USAGE);
    assert_int_equal(lm_kv_begin(writer, "b", 1, &kv), LIMN_OK);
    assert_int_equal(lm_writer_section(writer, "b", 2, "y", 1), LIMN_OK);
    assert_int_equal(lm_kv_end(kv), LIMN_E_USAGE); /* taken meanwhile */
    assert_int_equal(lm_writer_size(writer), HEADER + 2 * ENTRY + 2 * 64);
    lm_writer_free(writer);
    lm_writer_free(NULL);
}

static void test_sections_whose_sizes_add_up_to_an_overflow_are_refused(void **state) {
    world *w = *state;
    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(lm_writer_section(writer, "a", 1, "x", SIZE_MAX), LIMN_E_MEMORY);
    assert_int_equal(lm_writer_section(writer, "a", 1, "x", SIZE_MAX - 63), LIMN_E_MEMORY);
    assert_int_equal(lm_writer_section(writer, "a", 1, "x", SIZE_MAX / 2), LIMN_OK);
    assert_int_equal(lm_writer_section(writer, "b", 1, "x", SIZE_MAX / 2), LIMN_E_MEMORY);
    assert_int_equal(lm_writer_size(writer), HEADER + ENTRY + SIZE_MAX / 2 + 1);
    lm_writer_free(writer);
}

static void test_section_count_is_bounded_on_both_sides(void **state) {
    world *w = *state;
    lm_writer *writer = new_writer(w->ctx);
    char name[24];
    for (int i = 0; i < 4096; i++) {
        snprintf(name, sizeof name, "s%d", i);
        assert_int_equal(lm_writer_section(writer, name, 1, name, 1), LIMN_OK);
    }
    assert_int_equal(lm_writer_section(writer, "more", 1, name, 1), LIMN_E_USAGE);
    unsigned char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(lm_writer_bytes(writer, &bytes, &size), LIMN_OK);
    lm_file *file = open_bytes(w, bytes, size);
    assert_int_equal(lm_file_section_count(file), 4096);
    lm_file_close(file);
    lm_free(&w->ctx->mem, bytes);
    lm_writer_free(writer);
}

static void test_key_values_after_the_end_change_nothing(void **state) {
    world *w = *state;
    unsigned char *bytes[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    lm_kv_out *kv = NULL;
    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(lm_kv_begin(writer, "meta", 1, &kv), LIMN_OK);
    lm_kv_put_int(kv, "k", 3);
    assert_int_equal(lm_kv_end(kv), LIMN_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lm_writer_bytes(writer, &bytes[i], &size[i]), LIMN_OK);
        for (int k = 0; k < 100; k++)
            lm_kv_put_text(kv, "late", "a text that would move the section");
        assert_int_equal(lm_kv_end(kv), LIMN_E_USAGE);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    lm_free(&w->ctx->mem, bytes[0]);
    lm_free(&w->ctx->mem, bytes[1]);
    lm_writer_free(writer);
}

static limn_status end_after(world *w, void (*put)(lm_kv_out *kv)) {
    lm_writer *writer = new_writer(w->ctx);
    lm_kv_out *kv = NULL;
    assert_int_equal(lm_kv_begin(writer, "meta", 1, &kv), LIMN_OK);
    lm_kv_put_int(kv, "first", 1);
    put(kv);
    lm_kv_put_int(kv, "last", 2);
    lm_fail(w->ctx, LIMN_E_DATA, "something else"); /* must not hide the message */
    limn_status status = lm_kv_end(kv);
    if (status != LIMN_OK)
        assert_int_equal(lm_writer_size(writer), HEADER);
    lm_writer_free(writer);
    return status;
}

static void put_twice(lm_kv_out *kv) {
    lm_kv_put_text(kv, "first", "again");
}

static void put_nan(lm_kv_out *kv) {
    lm_kv_put_real(kv, "loss", (double)NAN);
}

static void put_infinity_in_list(lm_kv_out *kv) {
    lm_kv_put_reals(kv, "loss", (const double[]){1, HUGE_VAL}, 2);
}

static void put_blank_key(lm_kv_out *kv) {
    lm_kv_put_int(kv, "two words", 1);
}

static void put_empty_key(lm_kv_out *kv) {
    lm_kv_put_int(kv, "", 1);
}

static void put_long_key(lm_kv_out *kv) {
    char key[257];
    memset(key, 'k', 256);
    key[256] = '\0';
    lm_kv_put_int(kv, key + 1, 1); /* 255 are allowed */
    lm_kv_put_int(kv, key, 1);
}

static void put_too_many(lm_kv_out *kv) {
    char key[24];
    for (int i = 1; i < 4096; i++) {
        snprintf(key, sizeof key, "k%d", i);
        lm_kv_put_int(kv, key, i);
    }
}

static void put_nothing(lm_kv_out *kv) {
    (void)kv;
}

static void test_a_refused_key_value_sticks_until_the_end(void **state) {
    world *w = *state;
    static const struct {
        void (*put)(lm_kv_out *kv);
        const char *words;
    } cases[] = {{put_twice, "'first' already exists"},
                 {put_nan, "'loss' is not a number"},
                 {put_infinity_in_list, "'loss' has a value that is not a finite"},
                 {put_blank_key, "'two words' is not a key"},
                 {put_empty_key, "'' is not a key"},
                 {put_long_key, "is not a key"},
                 {put_too_many, "'last' exceeds the limit on the number of keys"}};
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        assert_int_equal(end_after(w, cases[i].put), LIMN_E_USAGE);
        if (!strstr(limn_error(w->ctx), cases[i].words))
            fail_msg("'%s' lacks '%s'", limn_error(w->ctx), cases[i].words);
        assert_non_null(strstr(limn_error(w->ctx), "section 'meta'"));
    }
    assert_int_equal(end_after(w, put_nothing), LIMN_OK);
}

/* ---- files that cannot be opened, streams ---- */

static void test_files_that_cannot_be_read_give_an_io_sentence(void **state) {
    world *w = *state;
    char path[200];
    lm_file *file = (lm_file *)w;
    assert_int_equal(lm_file_open(w->ctx, in(w, "none", path), &file), LIMN_E_IO);
    assert_null(file);
    assert_non_null(strstr(limn_error(w->ctx), path));
    assert_int_equal(lm_file_open(w->ctx, w->folder, &file), LIMN_E_IO);
    assert_non_null(strstr(limn_error(w->ctx), "directory"));
    assert_int_equal(lm_file_open(w->ctx, "", &file), LIMN_E_USAGE);
    assert_int_equal(lm_file_open(w->ctx, NULL, &file), LIMN_E_USAGE);
    put_file(in(w, "empty", path), "", 0);
    assert_int_equal(lm_file_open(w->ctx, path, &file), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w->ctx), "empty"));
    put_file(in(w, "secret", path), w->bytes, w->size);
    assert_int_equal(chmod(path, 0), 0);
    if (geteuid() != 0)
        assert_int_equal(lm_file_open(w->ctx, path, &file), LIMN_E_IO);
}

/* Opens what a child process writes to a pipe, as "-" or as a path. */
static limn_status open_piped(world *w, const unsigned char *bytes, size_t size, bool as_stdin,
                              lm_file **file) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    signal(SIGPIPE, SIG_IGN);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        while (size) {
            ssize_t done = write(ends[1], bytes, size < 1000 ? size : 1000);
            if (done < 0)
                _exit(0);
            bytes += done;
            size -= (size_t)done;
        }
        _exit(0);
    }
    close(ends[1]);
    char path[40];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    int saved = dup(STDIN_FILENO);
    if (as_stdin)
        dup2(ends[0], STDIN_FILENO);
    limn_status status = lm_file_open(w->ctx, as_stdin ? "-" : path, file);
    if (as_stdin)
        dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
    waitpid(child, NULL, 0);
    return status;
}

static void test_models_are_read_from_pipes_and_standard_input(void **state) {
    world *w = *state;
    lm_file *file = NULL;
    for (int as_stdin = 0; as_stdin < 2; as_stdin++) {
        assert_int_equal(open_piped(w, w->bytes, w->size, as_stdin, &file), LIMN_OK);
        assert_sample(w, file);
        if (as_stdin)
            assert_string_equal(lm_file_name(file), "standard input");
        lm_file_close(file);
        static const size_t cuts[] = {0, 1, 63, 64, 65, 500};
        for (size_t i = 0; i < LM_COUNT(cuts); i++)
            assert_int_equal(open_piped(w, w->bytes, cuts[i], as_stdin, &file), LIMN_E_MODEL);
    }
    enum { MORE = 1000000 };
    unsigned char *longer = calloc(1, w->size + MORE);
    uint64_t before = w->ctx->memory_limit;
    memcpy(longer, w->bytes, w->size);
    w->ctx->memory_limit = 100000; /* refused at the first byte too many, not at the limit */
    for (size_t more = 1; more <= MORE; more *= 1000) {
        assert_int_equal(open_piped(w, longer, w->size + more, true, &file), LIMN_E_MODEL);
        assert_non_null(strstr(limn_error(w->ctx), "standard input: bytes follow the end"));
    }
    w->ctx->memory_limit = before;
    free(longer);
}

static void test_streams_grow_and_stop_at_the_memory_limit(void **state) {
    world *w = *state;
    enum { BIG = 3000000 };
    unsigned char *data = malloc(BIG), *bytes = NULL;
    size_t size = 0;
    lm_file *file = NULL;
    lm_section section;
    for (size_t i = 0; i < BIG; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 13);
    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(lm_writer_section(writer, "big", 1, data, BIG), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &bytes, &size), LIMN_OK);
    lm_writer_free(writer);
    assert_int_equal(open_piped(w, bytes, size, true, &file), LIMN_OK);
    assert_int_equal(lm_file_section(w->ctx, file, "big", 1, &section), LIMN_OK);
    assert_memory_equal(section.data, data, BIG);
    lm_file_close(file);
    static const uint64_t limits[] = {1, 100, 65536, 2000000};
    uint64_t before = w->ctx->memory_limit;
    for (size_t i = 0; i < LM_COUNT(limits); i++) {
        w->ctx->memory_limit = limits[i];
        assert_int_equal(open_piped(w, bytes, size, true, &file), LIMN_E_MEMORY);
        assert_null(file);
    }
    w->ctx->memory_limit = before;
    /* endless, but refused at the first bytes */
    assert_int_equal(lm_file_open(w->ctx, "/dev/zero", &file), LIMN_E_MODEL);
    lm_free(&w->ctx->mem, bytes);
    free(data);
}

/* ---- nothing half-built ---- */

static limn_status save_sample(limn_context *ctx, const char *path) {
    lm_writer *writer = NULL;
    limn_status status = lm_writer_new(ctx, &writer);
    if (status == LIMN_OK)
        status = add_sample(writer);
    if (status == LIMN_OK)
        status = lm_writer_save(writer, path);
    lm_writer_free(writer);
    return status;
}

static limn_status make_bytes(limn_context *ctx, const char *path) {
    (void)path;
    lm_writer *writer = NULL;
    unsigned char *bytes = NULL;
    size_t size = 0;
    limn_status status = lm_writer_new(ctx, &writer);
    if (status == LIMN_OK)
        status = add_sample(writer);
    if (status == LIMN_OK)
        status = lm_writer_bytes(writer, &bytes, &size);
    assert_true((bytes != NULL) == (status == LIMN_OK));
    lm_free(&ctx->mem, bytes);
    lm_writer_free(writer);
    return status;
}

static limn_status open_and_close(limn_context *ctx, const char *path) {
    lm_file *file = NULL;
    limn_status status = lm_file_open(ctx, path, &file);
    assert_true((file != NULL) == (status == LIMN_OK));
    lm_file_close(file);
    return status;
}

static limn_status copy_and_close(limn_context *ctx, const char *path) {
    unsigned char bytes[4096];
    FILE *stream = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    lm_file *file = NULL;
    limn_status status = lm_file_from_memory(ctx, bytes, size, "m", &file);
    assert_true((file != NULL) == (status == LIMN_OK));
    lm_file_close(file);
    return status;
}

/* Runs with the first, second, ... allocation failing until none does; returns how many failed. */
static unsigned fail_each(world *w, limn_status (*run)(limn_context *ctx, const char *path),
                          const char *path, const char *text) {
    long live = w->count.live;
    for (unsigned n = 1;; n++) {
        w->count.fail_at = n;
        limn_status status = run(w->ctx, path);
        bool failed = w->count.fail_at == 0;
        w->count.fail_at = 0;
        assert_int_equal(w->count.live, live);
        assert_int_equal(entries(w), 1);
        if (!failed) {
            assert_int_equal(status, LIMN_OK);
            return n - 1;
        }
        assert_int_equal(status, LIMN_E_MEMORY);
        assert_string_equal(limn_error(w->ctx), "out of memory");
        if (text)
            assert_true(file_is(path, text, strlen(text)));
    }
}

static void test_every_failing_allocation_is_reported_and_leaks_nothing(void **state) {
    world *w = *state;
    char path[200];
    put_file(in(w, "m", path), "before", 6);
    assert_true(fail_each(w, save_sample, path, "before") >= 8);
    assert_true(file_is(path, w->bytes, w->size)); /* the run in which none failed */
    assert_int_equal(fail_each(w, open_and_close, path, NULL), 2);
    assert_int_equal(fail_each(w, copy_and_close, path, NULL), 3);
    assert_true(fail_each(w, make_bytes, path, NULL) >= 6);
}

static void test_a_full_disk_leaves_the_old_file_and_no_other(void **state) {
    world *w = *state;
    char path[200];
    unsigned char *data = calloc(1, 300000);
    put_file(in(w, "m", path), "before", 6);
    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(lm_writer_section(writer, "big", 1, data, 300000), LIMN_OK);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    static const rlim_t rooms[] = {0, 64, 65536, 299999, 300031};
    limn_status status[LM_COUNT(rooms)];
    for (size_t i = 0; i < LM_COUNT(rooms); i++) {
        small = before;
        small.rlim_cur = rooms[i];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        status[i] = lm_writer_save(writer, path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_true(file_is(path, "before", 6));
        assert_int_equal(entries(w), 1);
    }
    signal(SIGXFSZ, handler);
    for (size_t i = 0; i < LM_COUNT(rooms); i++)
        assert_int_equal(status[i], LIMN_E_IO);
    assert_non_null(strstr(limn_error(w->ctx), path));
    assert_int_equal(lm_writer_save(writer, path), LIMN_OK); /* there is room again */
    lm_writer_free(writer);
    lm_file *file = NULL;
    assert_int_equal(lm_file_open(w->ctx, path, &file), LIMN_OK);
    lm_file_close(file);
    assert_int_equal(entries(w), 1);
    free(data);
}

static int write_example(const char *path) {
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    lm_writer *writer = example_writer(ctx);
    limn_status status = lm_writer_save(writer, path);
    if (status != LIMN_OK)
        fprintf(stderr, "%s\n", limn_error(ctx));
    lm_writer_free(writer);
    limn_context_free(ctx);
    return status != LIMN_OK;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--write-example") == 0)
        return write_example(argv[2]);
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_all_types_come_back_from_memory_and_from_a_file),
        IN_WORLD(test_an_open_file_survives_its_context_and_its_replacement),
        IN_WORLD(test_a_writer_frees_the_memory_that_it_gave),
        IN_WORLD(test_a_model_without_sections_is_a_header),
        IN_WORLD(test_bytes_are_those_of_the_specification),
        IN_WORLD(test_the_format_document_shows_these_bytes),
        IN_WORLD(test_newer_containers_and_sections_ask_for_an_update),
        IN_WORLD(test_missing_sections_and_wrong_array_sizes_are_refused),
        IN_WORLD(test_keys_that_are_missing_mistyped_or_out_of_range_are_refused),
        IN_WORLD(test_bad_and_repeated_section_names_are_refused),
        IN_WORLD(test_sections_whose_sizes_add_up_to_an_overflow_are_refused),
        IN_WORLD(test_section_count_is_bounded_on_both_sides),
        IN_WORLD(test_key_values_after_the_end_change_nothing),
        IN_WORLD(test_a_refused_key_value_sticks_until_the_end),
        IN_WORLD(test_files_that_cannot_be_read_give_an_io_sentence),
        IN_WORLD(test_models_are_read_from_pipes_and_standard_input),
        IN_WORLD(test_streams_grow_and_stop_at_the_memory_limit),
        IN_WORLD(test_every_failing_allocation_is_reported_and_leaks_nothing),
        IN_WORLD(test_a_full_disk_leaves_the_old_file_and_no_other),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
