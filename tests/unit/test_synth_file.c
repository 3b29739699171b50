/* test_synth_file.c: the file of a generator: it holds the generated rows, under their column
 * names, and is written in constant memory; failing or cancelling leaves no file. */
#include "synth_world.h"

#include <stdio.h>
#include <unistd.h>

typedef struct folder {
    char path[64], file[128];
} folder;

static void folder_open(folder *f, const char *name) {
    strcpy(f->path, "/tmp/limn-synth-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->file, sizeof f->file, "%s/%s", f->path, name);
}

/* Nothing but the file itself may be left. */
static void folder_close(folder *f, bool has_file) {
    assert_int_equal(access(f->file, F_OK) == 0, has_file);
    unlink(f->file);
    assert_int_equal(rmdir(f->path), 0);
}

static void check_file(const char *name, const char *file_name, size_t n) {
    const limn_synth_options options = {.size = sizeof options, .name = name, .rows = n};
    limn_read_options reading;
    limn_data *data = NULL;
    folder f;
    made m = make(1, name, "", n);
    limn_context *ctx = make_context(NULL, 1, 1);
    folder_open(&f, file_name);
    if (limn_synth(ctx, &options, f.file, NULL) != LIMN_OK)
        fail_msg("%s: %s", name, limn_error(ctx));
    limn_read_options_init(&reading);
    reading.task = m.k ? LIMN_CLASSIFY : LIMN_REGRESS;
    if (limn_data_read(ctx, f.file, &reading, NULL, &data) != LIMN_OK)
        fail_msg("%s: %s", name, limn_error(ctx));
    assert_int_equal(limn_data_rows(data), n);
    assert_int_equal(limn_data_features(data), m.d);
    assert_memory_equal(limn_data_values(data), m.x, n * m.d * sizeof *m.x);
    for (size_t i = 0; i < n; i++) {
        if (m.k)
            assert_int_equal(atoi(limn_data_class_name(data, (size_t)limn_data_classes(data)[i])),
                             m.c[i]);
        else
            assert_true(limn_data_targets(data)[i] == m.y[i]);
    }
    limn_data_free(data);
    limn_context_free(ctx);
    folder_close(&f, true);
    drop(&m);
}

static void test_files_read_back_as_the_rows_that_were_made(void **state) {
    (void)state;
    for (size_t t = 0; t < limn_synth_count(); t++) {
        check_file(limn_synth_at(t)->name, "made.csv", 900);
        check_file(limn_synth_at(t)->name, "made.libsvm.gz", 60);
    }
    check_file("linear", "made.csv", 9000); /* several blocks */
}

static void test_columns_are_named(void **state) {
    (void)state;
    static const char *const expected[][2] = {{"drift", "x1,x2,label\n"},
                                              {"friedman", "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,y\n"}};
    for (size_t t = 0; t < LM_COUNT(expected); t++) {
        const limn_synth_options options = {
            .size = sizeof options, .name = expected[t][0], .rows = 2};
        char line[256] = "";
        folder f;
        limn_context *ctx = make_context(NULL, 1, 1);
        folder_open(&f, "named.csv");
        assert_int_equal(limn_synth(ctx, &options, f.file, NULL), LIMN_OK);
        FILE *file = fopen(f.file, "r");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, expected[t][1]);
        fclose(file);
        limn_context_free(ctx);
        folder_close(&f, true);
    }
}

static void test_no_name_and_no_rows_are_refused(void **state) {
    (void)state;
    folder f;
    limn_context *ctx = make_context(NULL, 1, 1);
    folder_open(&f, "none.csv");
    limn_synth_options options = {.size = sizeof options, .name = NULL, .rows = 1};
    assert_int_equal(limn_synth(ctx, &options, f.file, NULL), LIMN_E_USAGE);
    options = (limn_synth_options){.size = sizeof options, .name = "linear", .rows = 0};
    assert_int_equal(limn_synth(ctx, &options, f.file, NULL), LIMN_E_USAGE);
    assert_string_equal(limn_error(ctx), "linear: cannot make 0 rows; ask for at least 1");
    limn_context_free(ctx);
    folder_close(&f, false);
}

typedef struct watch {
    uint64_t rows, total;
    int reports, cancel_at;
} watch;

static int on_progress(void *user, const limn_progress *progress) {
    watch *w = user;
    assert_string_equal(progress->stage, "writing");
    assert_true(progress->rows > w->rows);
    w->rows = progress->rows;
    w->total = progress->rows_total;
    return ++w->reports == w->cancel_at;
}

static void test_progress_counts_to_the_end_and_cancelling_leaves_no_file(void **state) {
    (void)state;
    for (int cancel_at = 0; cancel_at < 4; cancel_at++) {
        const limn_synth_options options = {
            .size = sizeof options, .name = "linear", .rows = 10000};
        watch w = {.cancel_at = cancel_at};
        folder f;
        limn_context *ctx = make_context(NULL, 1, 1);
        ctx->progress = on_progress;
        ctx->user = &w;
        folder_open(&f, "watched.csv");
        assert_int_equal(limn_synth(ctx, &options, f.file, NULL),
                         cancel_at ? LIMN_E_CANCELLED : LIMN_OK);
        assert_int_equal(w.total, 10000);
        if (!cancel_at)
            assert_int_equal(w.rows, 10000);
        limn_context_free(ctx);
        folder_close(&f, !cancel_at);
    }
}

static void test_every_failing_allocation_is_reported_and_leaves_no_file(void **state) {
    (void)state;
    static const char *const names[] = {"hypercube", "friedman", "mixture"};
    for (size_t t = 0; t < LM_COUNT(names); t++) {
        const limn_synth_options options = {.size = sizeof options, .name = names[t], .rows = 20};
        limn_status status = LIMN_E_MEMORY;
        unsigned at = 1;
        for (; status != LIMN_OK; at++) {
            counting count = {0};
            folder f;
            limn_context *ctx = make_context(&count, 1, 1);
            folder_open(&f, "short.csv");
            count.fail_at = at;
            status = limn_synth(ctx, &options, f.file, NULL);
            if (status != LIMN_OK) {
                assert_int_equal(status, LIMN_E_MEMORY);
                assert_true(*limn_error(ctx));
            }
            limn_context_free(ctx);
            assert_int_equal(count.live, 0);
            folder_close(&f, status == LIMN_OK);
            assert_true(at < 10000);
        }
        assert_true(at > 5);
    }
}

/* An allocator that records the most bytes in use. Each block starts with its size. */
typedef struct meter {
    size_t now, most;
} meter;

enum { LEAD = 64 };

static void *meter_resize(void *user, void *block, size_t size) {
    meter *m = user;
    unsigned char *old = block ? (unsigned char *)block - LEAD : NULL;
    size_t before = 0;
    if (old)
        memcpy(&before, old, sizeof before);
    unsigned char *raw = realloc(old, size + LEAD);
    if (!raw)
        return NULL;
    memcpy(raw, &size, sizeof size);
    m->now = m->now - before + size;
    m->most = m->now > m->most ? m->now : m->most;
    return raw + LEAD;
}

static void *meter_allocate(void *user, size_t size) {
    return meter_resize(user, NULL, size);
}

static void meter_release(void *user, void *block) {
    meter *m = user;
    size_t size;
    if (!block)
        return;
    memcpy(&size, (unsigned char *)block - LEAD, sizeof size);
    m->now -= size;
    free((unsigned char *)block - LEAD);
}

static size_t memory_for(const char *name, const char *file_name, uint64_t rows) {
    const limn_synth_options options = {.size = sizeof options, .name = name, .rows = rows};
    limn_context_options with;
    limn_context *ctx = NULL;
    meter m = {0, 0};
    folder f;
    limn_context_options_init(&with);
    with.allocator = (limn_allocator){meter_allocate, meter_resize, meter_release, &m};
    assert_int_equal(lm_context_make(&with, &ctx), LIMN_OK);
    folder_open(&f, file_name);
    assert_int_equal(limn_synth(ctx, &options, f.file, NULL), LIMN_OK);
    limn_context_free(ctx);
    assert_int_equal(m.now, 0);
    folder_close(&f, true);
    return m.most;
}

static void test_memory_does_not_grow_with_the_rows(void **state) {
    (void)state;
    static const char *const names[] = {"checker", "friedman", "disks"};
    static const char *const files[] = {"rows.csv", "rows.libsvm", "rows.csv.gz"};
    for (size_t t = 0; t < LM_COUNT(names); t += every(3)) {
        size_t few = memory_for(names[t], files[t], 5000);
        assert_int_equal(memory_for(names[t], files[t], t == 2 ? 10000 : 100000 / every(5)), few);
        assert_true(few < 8000000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_read_back_as_the_rows_that_were_made),
        cmocka_unit_test(test_columns_are_named),
        cmocka_unit_test(test_no_name_and_no_rows_are_refused),
        cmocka_unit_test(test_progress_counts_to_the_end_and_cancelling_leaves_no_file),
        cmocka_unit_test(test_every_failing_allocation_is_reported_and_leaves_no_file),
        cmocka_unit_test(test_memory_does_not_grow_with_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
