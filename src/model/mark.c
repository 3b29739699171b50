/* mark.c: what a model remembers of its learning: how many rows came after training, and the mark,
 * which says how far it has got in a data file.
 *
 * A file is recognised by the hash of its first bytes, so a file that has grown since is still the
 * same file. The section "learning" is written only when it is not empty. */
#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { LEARNING_VERSION = 1 };

/* ---- marks ---- */

static limn_status hash_start(limn_context *ctx, const char *path, int fd, size_t most,
                              unsigned char *bytes, limn_mark *out) {
    size_t size = 0;
    while (size < most) {
        ssize_t got = read(fd, bytes + size, most - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lm_fail(ctx, LIMN_E_IO, "%s: cannot read it: %s", path, strerror(errno));
        if (got == 0)
            break;
        size += (size_t)got;
    }
    *out = (limn_mark){.bytes = size, .hash = size ? XXH3_64bits(bytes, size) : 0};
    return LIMN_OK;
}

limn_status limn_mark_file(limn_context *context, const char *path, uint64_t most, limn_mark *out) {
    struct stat info;
    *out = (limn_mark){.rows = 0};
    if (!path || !*path)
        return lm_fail(context, LIMN_E_USAGE, "the name of an input file is empty");
    /* Opening a pipe could wait for its writer, and reading would consume its data. */
    if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return LIMN_OK;
    size_t size = most < LIMN_MARK_BYTES ? (size_t)most : LIMN_MARK_BYTES;
    unsigned char *bytes = lm_alloc(&context->mem, LIMN_MARK_BYTES, 1);
    if (!bytes)
        return lm_fail_memory(context);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    limn_status status =
        fd < 0 ? lm_fail(context, LIMN_E_IO, "%s: cannot open it: %s", path, strerror(errno))
               : hash_start(context, path, fd, size, bytes, out);
    if (fd >= 0)
        close(fd);
    lm_free(&context->mem, bytes);
    return status;
}

int limn_model_mark(const limn_model *model, limn_mark *out) {
    if (model->has_mark)
        *out = model->mark;
    return model->has_mark;
}

void limn_model_set_mark(limn_model *model, const limn_mark *mark) {
    model->has_mark = mark != NULL;
    model->mark = mark ? *mark : (limn_mark){.rows = 0};
}

/* ---- the file ---- */

limn_status lm_learning_put(const limn_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    if (!m->learned && !m->has_mark)
        return LIMN_OK;
    limn_status status = lm_kv_begin(writer, "learning", LEARNING_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_int(kv, "learned", (int64_t)m->learned);
    if (m->has_mark) {
        lm_kv_put_int(kv, "mark_rows", (int64_t)m->mark.rows);
        lm_kv_put_int(kv, "mark_bytes", (int64_t)m->mark.bytes);
        lm_kv_put_int(kv, "mark_hash", (int64_t)m->mark.hash);
    }
    return lm_kv_end(kv);
}

static limn_status get_mark(const lm_kv *kv, limn_model *m) {
    int64_t rows = 0, bytes = 0, hash = 0;
    limn_status status = lm_kv_int(kv, "mark_rows", 0, INT64_MAX, &rows);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "mark_bytes", 0, LIMN_MARK_BYTES, &bytes);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "mark_hash", INT64_MIN, INT64_MAX, &hash);
    m->mark = (limn_mark){(uint64_t)rows, (uint64_t)bytes, (uint64_t)hash};
    m->has_mark = status == LIMN_OK;
    return status;
}

limn_status lm_learning_get(limn_context *ctx, const lm_file *file, limn_model *m) {
    lm_kv kv;
    int64_t learned = 0;
    if (!lm_file_has(file, "learning"))
        return LIMN_OK;
    limn_status status = lm_kv_open(ctx, file, "learning", LEARNING_VERSION, &kv);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "learned", 0, (int64_t)m->rows, &learned);
    m->learned = (uint64_t)learned;
    if (status == LIMN_OK && lm_kv_has(&kv, "mark_rows"))
        status = get_mark(&kv, m);
    return status;
}
