/* test_output.c: output files of src/base: they are written in full or not at all, with the
 * permissions of the file they replace, and every failure leaves the old file. */
#include "base/base.h"
#include "counting.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the two above */
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct folder {
    char path[64];
    limn_context *ctx;
} folder;

static int folder_make(void **state) {
    folder *f = calloc(1, sizeof *f);
    strcpy(f->path, "/tmp/limn-test-output-XXXXXX");
    if (!mkdtemp(f->path))
        return -1;
    if (lm_context_make(NULL, &f->ctx) != LIMN_OK)
        return -1;
    *state = f;
    return 0;
}

static int folder_remove(void **state) {
    folder *f = *state;
    DIR *dir = opendir(f->path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char name[400];
        snprintf(name, sizeof name, "%s/%s", f->path, entry->d_name);
        unlink(name); /* fails for . and .. */
    }
    closedir(dir);
    rmdir(f->path);
    limn_context_free(f->ctx);
    free(f);
    return 0;
}

static const char *in(const folder *f, const char *name, char *out) {
    snprintf(out, 200, "%s/%s", f->path, name);
    return out;
}

static size_t entries(const folder *f) {
    size_t count = 0;
    DIR *dir = opendir(f->path);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static void put_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_file_is(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *found = malloc(size + 1);
    size_t got = fread(found, 1, size + 1, file);
    fclose(file);
    assert_int_equal(got, size);
    assert_memory_equal(found, bytes, size);
    free(found);
}

static void test_output_appears_only_when_committed(void **state) {
    folder *f = *state;
    char path[200];
    limn_output *out = NULL;
    struct stat info;
    assert_int_equal(limn_output_open(f->ctx, in(f, "new", path), &out), LIMN_OK);
    assert_int_equal(limn_output_write(out, "abc", 3), LIMN_OK);
    assert_int_equal(limn_output_flush(out), LIMN_OK);
    assert_int_equal(stat(path, &info), -1);
    assert_int_equal(limn_output_write(out, "def", 3), LIMN_OK);
    assert_int_equal(limn_output_commit(out), LIMN_OK);
    assert_file_is(path, "abcdef", 6);
    assert_int_equal(entries(f), 1);
}

static void test_output_of_many_sizes_arrives_whole(void **state) {
    folder *f = *state;
    char path[200];
    limn_output *out = NULL;
    enum { ALL = 400000 };
    unsigned char *bytes = malloc(ALL);
    for (size_t i = 0; i < ALL; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 11);
    static const size_t pieces[] = {1, 65535, 0, 65536, 65537, 1, 100000, 3, 65532};
    size_t at = 0;
    assert_int_equal(limn_output_open(f->ctx, in(f, "big", path), &out), LIMN_OK);
    for (size_t i = 0; i < LM_COUNT(pieces); i++) {
        assert_int_equal(limn_output_write(out, bytes + at, pieces[i]), LIMN_OK);
        at += pieces[i];
    }
    assert_int_equal(limn_output_commit(out), LIMN_OK);
    assert_file_is(path, bytes, at);
    free(bytes);
}

static void test_discarded_output_leaves_the_old_file_and_nothing_else(void **state) {
    folder *f = *state;
    char path[200];
    limn_output *out = NULL;
    put_file(in(f, "old", path), "before");
    assert_int_equal(limn_output_open(f->ctx, path, &out), LIMN_OK);
    assert_int_equal(limn_output_write(out, "after", 5), LIMN_OK);
    limn_output_discard(out);
    limn_output_discard(NULL);
    assert_file_is(path, "before", 6);
    assert_int_equal(entries(f), 1);
}

static void test_replaced_file_keeps_its_permissions(void **state) {
    folder *f = *state;
    static const mode_t modes[] = {0600, 0664, 0777};
    for (size_t i = 0; i < LM_COUNT(modes); i++) {
        char path[200];
        limn_output *out = NULL;
        struct stat info;
        put_file(in(f, "old", path), "before");
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(limn_output_open(f->ctx, path, &out), LIMN_OK);
        assert_int_equal(limn_output_write(out, "after", 5), LIMN_OK);
        assert_int_equal(limn_output_commit(out), LIMN_OK);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, modes[i]);
        assert_file_is(path, "after", 5);
    }
}

static void test_output_to_a_link_replaces_what_it_points_to(void **state) {
    folder *f = *state;
    char path[200], link_path[200];
    limn_output *out = NULL;
    struct stat info;
    put_file(in(f, "old", path), "before");
    assert_int_equal(symlink("old", in(f, "link", link_path)), 0);
    assert_int_equal(limn_output_open(f->ctx, link_path, &out), LIMN_OK);
    assert_int_equal(limn_output_write(out, "after", 5), LIMN_OK);
    assert_int_equal(limn_output_commit(out), LIMN_OK);
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_file_is(path, "after", 5);
    assert_int_equal(entries(f), 2);
}

static void test_output_that_cannot_be_opened_says_why(void **state) {
    folder *f = *state;
    char path[200];
    limn_output *out = (limn_output *)f;
    assert_int_equal(limn_output_open(f->ctx, in(f, "no/such", path), &out), LIMN_E_IO);
    assert_null(out);
    assert_non_null(strstr(limn_error(f->ctx), path));
    assert_int_equal(limn_output_open(f->ctx, f->path, &out), LIMN_E_IO);
    assert_non_null(strstr(limn_error(f->ctx), "directory"));
    assert_int_equal(limn_output_open(f->ctx, "", &out), LIMN_E_USAGE);
    assert_int_equal(limn_output_open(f->ctx, NULL, &out), LIMN_E_USAGE);
    assert_int_equal(entries(f), 0);
}

static void test_a_failed_write_sticks_and_commits_nothing(void **state) {
    folder *f = *state;
    char path[200];
    limn_output *out = NULL;
    unsigned char *bytes = calloc(1, 100000);
    put_file(in(f, "old", path), "before");
    assert_int_equal(limn_output_open(f->ctx, path, &out), LIMN_OK);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    limn_status first = limn_output_write(out, bytes, 100000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    /* there is room again, but the file has a hole */
    limn_status second = limn_output_write(out, "more", 4), third = limn_output_flush(out);
    limn_status last = limn_output_commit(out);
    free(bytes);
    assert_int_equal(first, LIMN_E_IO);
    assert_int_equal(second, LIMN_E_IO);
    assert_int_equal(third, LIMN_E_IO);
    assert_int_equal(last, LIMN_E_IO);
    assert_non_null(strstr(limn_error(f->ctx), path));
    assert_file_is(path, "before", 6);
    assert_int_equal(entries(f), 1);
}

static void test_devices_are_written_through_and_a_full_one_fails(void **state) {
    folder *f = *state;
    limn_output *out = NULL;
    struct stat info;
    assert_int_equal(limn_output_open(f->ctx, "/dev/null", &out), LIMN_OK);
    assert_int_equal(limn_output_write(out, "abc", 3), LIMN_OK);
    assert_int_equal(limn_output_commit(out), LIMN_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(limn_output_open(f->ctx, "/dev/full", &out), LIMN_OK);
    assert_int_equal(limn_output_write(out, "abc", 3), LIMN_OK); /* buffered until the flush */
    assert_int_equal(limn_output_commit(out), LIMN_E_IO);
    assert_non_null(strstr(limn_error(f->ctx), "/dev/full"));
}

static void test_standard_output_is_written_in_order_and_stays_open(void **state) {
    folder *f = *state;
    char path[200];
    limn_output *out = NULL;
    int saved = dup(STDOUT_FILENO);
    fflush(stdout);
    int fd = open(in(f, "stdout", path), O_WRONLY | O_CREAT, 0600);
    assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    close(fd);
    limn_status opened = limn_output_open(f->ctx, "-", &out);
    limn_status wrote = limn_output_write(out, "line\n", 5), flushed = limn_output_flush(out);
    struct stat info = {0};
    stat(path, &info);
    limn_status committed = limn_output_commit(out);
    bool still_open = write(STDOUT_FILENO, "!", 1) == 1;
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_int_equal(opened, LIMN_OK);
    assert_int_equal(wrote, LIMN_OK);
    assert_int_equal(flushed, LIMN_OK);
    assert_int_equal(info.st_size, 5);
    assert_int_equal(committed, LIMN_OK);
    assert_true(still_open);
    assert_file_is(path, "line\n!", 6);
}

static void test_output_survives_every_failing_allocation(void **state) {
    folder *f = *state;
    char path[200];
    put_file(in(f, "old", path), "before");
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    limn_status status = LIMN_E_MEMORY;
    unsigned n = 0;
    while (status != LIMN_OK) {
        limn_output *out = NULL;
        count.fail_at = ++n;
        status = limn_output_open(ctx, path, &out);
        if (status == LIMN_OK) {
            count.fail_at = 0;
            assert_int_equal(limn_output_commit(out), LIMN_OK);
        } else {
            assert_int_equal(status, LIMN_E_MEMORY);
            assert_null(out);
            assert_file_is(path, "before", 6);
        }
        assert_int_equal(count.live, 1);
        assert_int_equal(entries(f), 1);
    }
    assert_true(n > 3);
    limn_context_free(ctx);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_output_appears_only_when_committed),
        IN_FOLDER(test_output_of_many_sizes_arrives_whole),
        IN_FOLDER(test_discarded_output_leaves_the_old_file_and_nothing_else),
        IN_FOLDER(test_replaced_file_keeps_its_permissions),
        IN_FOLDER(test_output_to_a_link_replaces_what_it_points_to),
        IN_FOLDER(test_output_that_cannot_be_opened_says_why),
        IN_FOLDER(test_a_failed_write_sticks_and_commits_nothing),
        IN_FOLDER(test_devices_are_written_through_and_a_full_one_fails),
        IN_FOLDER(test_standard_output_is_written_in_order_and_stays_open),
        IN_FOLDER(test_output_survives_every_failing_allocation),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
