/* container_world.c: see container_world.h. */
#include "container_world.h"

#include <dirent.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void put32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

void put64(unsigned char *at, uint64_t value) {
    put32(at, (uint32_t)value);
    put32(at + 4, (uint32_t)(value >> 32));
}

static const float rows[37] = {1, 2, 3, -4.5f, 0.25f};
static const unsigned char full_block[64] = {9, 8, 7};
static const double means[3] = {0.1, -DBL_MAX, 5e-324};
static char *const species[] = {"setosa", "", "gr\xc3\xbcn", "a b"};

static limn_status add_sample_kv(lm_writer *writer) {
    lm_kv_out *kv = NULL;
    limn_status status = lm_kv_begin(writer, "meta", 3, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_int(kv, "least", INT64_MIN);
    lm_kv_put_int(kv, "k", 5);
    lm_kv_put_real(kv, "tiny", -5e-324);
    lm_kv_put_real(kv, "endless", HUGE_VAL);
    lm_kv_put_text(kv, "method", "knn");
    lm_kv_put_text(kv, "nothing", "");
    lm_kv_put_texts(kv, "classes", species, LM_COUNT(species));
    lm_kv_put_texts(kv, "no-classes", NULL, 0);
    lm_kv_put_reals(kv, "means", means, LM_COUNT(means));
    lm_kv_put_reals(kv, "no-means", NULL, 0);
    return lm_kv_end(kv);
}

limn_status add_sample(lm_writer *writer) {
    limn_status status = add_sample_kv(writer);
    if (status == LIMN_OK)
        status = lm_writer_section(writer, "knn.rows", 1, rows, sizeof rows);
    if (status == LIMN_OK)
        status = lm_writer_section(writer, "full_block", 2, full_block, sizeof full_block);
    if (status == LIMN_OK)
        status = lm_writer_section(writer, "one-byte", 7, "x", 1);
    if (status == LIMN_OK)
        status = lm_writer_section(writer, "a-name-of-23-characters", 1, NULL, 0);
    return status;
}

lm_writer *new_writer(limn_context *ctx) {
    lm_writer *writer = NULL;
    assert_int_equal(lm_writer_new(ctx, &writer), LIMN_OK);
    return writer;
}

int make_world(void **state) {
    world *w = calloc(1, sizeof *w);
    strcpy(w->folder, "/tmp/limn-test-model-XXXXXX");
    if (!mkdtemp(w->folder))
        return -1;
    w->ctx = counting_context(&w->count);
    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(add_sample(writer), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &w->bytes, &w->size), LIMN_OK);
    lm_writer_free(writer);
    *state = w;
    return 0;
}

int end_world(void **state) {
    world *w = *state;
    DIR *dir = opendir(w->folder);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char name[400];
        snprintf(name, sizeof name, "%s/%s", w->folder, entry->d_name);
        unlink(name); /* fails for . and .. */
    }
    closedir(dir);
    rmdir(w->folder);
    lm_free(&w->ctx->mem, w->bytes);
    limn_context_free(w->ctx);
    long live = w->count.live;
    free(w);
    return live ? -1 : 0;
}

const char *in(const world *w, const char *name, char *out) {
    snprintf(out, 200, "%s/%s", w->folder, name);
    return out;
}

size_t entries(const world *w) {
    size_t count = 0;
    DIR *dir = opendir(w->folder);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

void put_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

bool file_is(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *found = malloc(size + 1);
    bool same = fread(found, 1, size + 1, file) == size && memcmp(found, bytes, size) == 0;
    fclose(file);
    free(found);
    return same;
}

/* A changed sample must be refused with a message that contains words. */
void assert_refused(world *w, const unsigned char *bytes, size_t size, const char *words) {
    lm_file *file = (lm_file *)w;
    limn_status status = lm_file_from_memory(w->ctx, bytes, size, "m.limn", &file);
    assert_int_equal(status, LIMN_E_MODEL);
    assert_null(file);
    if (!strstr(limn_error(w->ctx), words))
        fail_msg("'%s' lacks '%s'", limn_error(w->ctx), words);
    assert_int_equal(strncmp(limn_error(w->ctx), "m.limn: ", 8), 0);
}

lm_file *open_bytes(world *w, const unsigned char *bytes, size_t size) {
    lm_file *file = NULL;
    limn_status status = lm_file_from_memory(w->ctx, bytes, size, "m.limn", &file);
    if (status != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    return file;
}

static void assert_sample_kv(world *w, const lm_file *file) {
    lm_kv kv;
    int64_t whole = 0;
    double real = 0, values[3] = {0};
    const char *text = NULL;
    lm_texts texts;
    assert_int_equal(lm_kv_open(w->ctx, file, "meta", 3, &kv), LIMN_OK);
    assert_int_equal(lm_kv_int(&kv, "least", INT64_MIN, -1, &whole), LIMN_OK);
    assert_true(whole == INT64_MIN);
    assert_int_equal(lm_kv_int(&kv, "k", 5, 5, &whole), LIMN_OK);
    assert_true(whole == 5);
    assert_int_equal(lm_kv_real(&kv, "tiny", -1, 0, &real), LIMN_OK);
    assert_true(real == -5e-324);
    assert_int_equal(lm_kv_real(&kv, "endless", 0, HUGE_VAL, &real), LIMN_OK);
    assert_true(real == HUGE_VAL);
    assert_int_equal(lm_kv_text(&kv, "method", &text), LIMN_OK);
    assert_string_equal(text, "knn");
    assert_int_equal(lm_kv_text(&kv, "nothing", &text), LIMN_OK);
    assert_string_equal(text, "");
    assert_int_equal(lm_kv_texts(&kv, "classes", &texts), LIMN_OK);
    assert_int_equal(texts.left, LM_COUNT(species));
    for (size_t i = 0; i < LM_COUNT(species); i++)
        assert_string_equal(lm_texts_next(&texts), species[i]);
    assert_null(lm_texts_next(&texts));
    assert_int_equal(lm_kv_texts(&kv, "no-classes", &texts), LIMN_OK);
    assert_null(lm_texts_next(&texts));
    assert_int_equal(lm_kv_reals(&kv, "means", 3, values), LIMN_OK);
    assert_memory_equal(values, means, sizeof means);
    assert_int_equal(lm_kv_reals(&kv, "no-means", 0, NULL), LIMN_OK);
    assert_true(lm_kv_has(&kv, "k") && lm_kv_has(&kv, "no-means"));
    assert_false(lm_kv_has(&kv, "K") || lm_kv_has(&kv, "") || lm_kv_has(&kv, "mean"));
}

void assert_sample(world *w, const lm_file *file) {
    static const char *const names[] = {"meta", "knn.rows", "full_block", "one-byte",
                                        "a-name-of-23-characters"};
    assert_int_equal(lm_file_section_count(file), LM_COUNT(names));
    for (size_t i = 0; i < LM_COUNT(names); i++) {
        lm_section section = lm_file_section_at(file, i);
        assert_string_equal(section.name, names[i]);
        assert_int_equal((uintptr_t)section.data % LM_ALIGN, 0);
    }
    const void *data = NULL;
    assert_int_equal(lm_file_array(w->ctx, file, "knn.rows", 1, 37, 4, &data), LIMN_OK);
    assert_memory_equal(data, rows, sizeof rows);
    lm_section section;
    assert_int_equal(lm_file_section(w->ctx, file, "full_block", 2, &section), LIMN_OK);
    assert_int_equal(section.version, 2);
    assert_int_equal(section.size, 64);
    assert_memory_equal(section.data, full_block, 64);
    assert_int_equal(lm_file_section(w->ctx, file, names[4], 9, &section), LIMN_OK);
    assert_int_equal(section.size, 0);
    assert_sample_kv(w, file);
}
