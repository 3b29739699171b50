/* write_world.h: for the tests of writing and converting: a temporary folder, and sets written
 * into it. */
#ifndef LIMN_TESTS_WRITE_WORLD_H
#define LIMN_TESTS_WRITE_WORLD_H

#include "data/write/write_impl.h"
#include "data_world.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a folder, and files in it ---- */

enum { PATH = 200, TEXT = 1 << 14 };

static char folder[64];

static inline int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/limn-write-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        remove(path);
    }
    if (dir)
        closedir(dir);
    return rmdir(folder);
}

static inline size_t files_in_folder(void) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

static inline const char *in_folder(const char *name, char *path) {
    snprintf(path, PATH, "%s/%s", folder, name);
    return path;
}

static inline void store(const char *name, const char *mode, const char *text) {
    char path[PATH];
    FILE *file = fopen(in_folder(name, path), mode);
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* The file's bytes followed by a zero byte. */
static inline size_t load(const char *name, char *bytes) {
    char path[PATH];
    FILE *file = fopen(in_folder(name, path), "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, TEXT - 1, file);
    bytes[size] = '\0';
    fclose(file);
    return size;
}

static inline void assert_text(const char *name, const char *expected) {
    char bytes[TEXT];
    load(name, bytes);
    assert_string_equal(bytes, expected);
}

static inline void forget(const char *name) {
    char path[PATH];
    unlink(in_folder(name, path));
}

/* ---- writing a set ---- */

static inline limn_status begin_set(world *w, const limn_data *data, const char *name,
                                    const limn_write_options *options, lm_table_out **table) {
    char path[PATH];
    size_t count = data->n * data->schema.features;
    lm_table_shape shape = {&data->schema, data->n, data->label || data->target, true};
    for (size_t i = 0; i < count; i++)
        shape.bytes = shape.bytes && data->x[i] >= 0 && data->x[i] <= 255 &&
                      floorf(data->x[i]) == data->x[i] && !signbit(data->x[i]);
    return lm_table_open(w->ctx, in_folder(name, path), options, &shape, table);
}

static inline limn_status put_rows(lm_table_out *table, const limn_data *data, size_t from,
                                   size_t n) {
    limn_rows rows = {.size = sizeof rows,
                      .n = n,
                      .x = data->x + from * data->schema.features,
                      .classes = data->label ? data->label + from : NULL,
                      .targets = data->target ? data->target + from : NULL};
    return lm_table_put(table, &rows);
}

static inline limn_status write_set(world *w, const limn_data *data, const char *name,
                                    const limn_write_options *options) {
    lm_table_out *table = NULL;
    limn_status status = begin_set(w, data, name, options, &table);
    if (status != LIMN_OK)
        assert_null(table);
    for (size_t i = 0, piece = 1; i < data->n && status == LIMN_OK; i += piece) {
        piece = i == 0 ? 1 : data->n - i < 7 ? data->n - i : 7;
        status = put_rows(table, data, i, piece);
    }
    if (status == LIMN_OK)
        return lm_table_commit(table);
    lm_table_discard(table);
    return status;
}

static inline limn_write_options as(limn_format format) {
    limn_write_options options;
    limn_write_options_init(&options);
    options.format = format;
    return options;
}

#endif
