/* output.c: files that appear under their name only when they are complete.
 *
 * Writing goes to a temporary name in the same folder; commit syncs the file, renames it and syncs
 * the folder. A file that is replaced keeps its permissions, and a link to it stays a link. A path
 * that is not a regular file (a pipe, /dev/null) is written directly, as standard output is. After
 * a failed write all later calls fail too, so that a file with a hole is never committed. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUTPUT_BYTES = 1 << 16 };

struct limn_output {
    limn_context *ctx;
    limn_allocator mem;
    int fd;
    bool through;       /* written straight to its destination */
    limn_status status; /* of the first failure */
    char *path;         /* as it was given */
    char *target;       /* where the finished file goes: path, or what it links to */
    char *temporary;
    size_t used;
    unsigned char bytes[OUTPUT_BYTES];
};

static void output_free(limn_output *out) {
    limn_allocator mem = out->mem;
    lm_free(&mem, out->path);
    lm_free(&mem, out->target);
    lm_free(&mem, out->temporary);
    lm_free(&mem, out);
}

static limn_status output_fail(limn_output *out, const char *what) {
    const char *name = out->path[0] == '-' && !out->path[1] ? "standard output" : out->path;
    out->status = LIMN_E_IO;
    return lm_fail(out->ctx, LIMN_E_IO, "%s: cannot %s: %s", name, what, strerror(errno));
}

/* Creates a new target + ".tmp-PID-N", with the permissions that open() would give for mode. */
static limn_status open_temporary(limn_output *out, mode_t mode) {
    size_t size = strlen(out->target) + 48;
    out->temporary = lm_alloc(&out->mem, size, 1);
    if (!out->temporary)
        return lm_fail_memory(out->ctx);
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        snprintf(out->temporary, size, "%s.tmp-%ld-%u", out->target, (long)getpid(), attempt);
        out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (out->fd >= 0)
            return LIMN_OK;
        if (errno != EEXIST)
            break;
    }
    limn_status status = output_fail(out, "write there");
    lm_free(&out->mem, out->temporary);
    out->temporary = NULL;
    return status;
}

/* A dangling link is replaced, as there is no file to keep. */
static limn_status find_target(limn_output *out) {
    struct stat info;
    char real[PATH_MAX];
    bool linked = lstat(out->path, &info) == 0 && S_ISLNK(info.st_mode);
    const char *target = linked && realpath(out->path, real) ? real : out->path;
    out->target = lm_strdup(&out->mem, target);
    return out->target ? LIMN_OK : lm_fail_memory(out->ctx);
}

static limn_status open_replacement(limn_output *out, mode_t mode) {
    if (access(out->path, W_OK) != 0)
        return output_fail(out, "overwrite it");
    limn_status status = open_temporary(out, mode);
    if (status == LIMN_OK)
        (void)fchmod(out->fd, mode); /* undoes the umask; some file systems have no modes */
    return status;
}

/* /dev/stdout and the like name the file that the shell has opened, perhaps to append. */
static bool is_standard_output(const struct stat *info) {
    struct stat standard;
    return fstat(STDOUT_FILENO, &standard) == 0 && standard.st_dev == info->st_dev &&
           standard.st_ino == info->st_ino;
}

static limn_status open_destination(limn_output *out) {
    struct stat info;
    if (strcmp(out->path, "-") == 0) {
        out->through = true;
        out->fd = STDOUT_FILENO;
        return LIMN_OK;
    }
    bool exists = stat(out->path, &info) == 0;
    if (exists) {
        if (S_ISDIR(info.st_mode)) {
            errno = EISDIR;
            return output_fail(out, "write there");
        }
        if (!S_ISREG(info.st_mode) || is_standard_output(&info)) {
            out->through = true;
            out->fd =
                is_standard_output(&info) ? STDOUT_FILENO : open(out->path, O_WRONLY | O_CLOEXEC);
            return out->fd < 0 ? output_fail(out, "write there") : LIMN_OK;
        }
    }
    limn_status status = find_target(out);
    if (status != LIMN_OK)
        return status;
    return exists ? open_replacement(out, info.st_mode & 0777) : open_temporary(out, 0666);
}

limn_status limn_output_open(limn_context *context, const char *path, limn_output **out) {
    *out = NULL;
    if (!path || !*path)
        return lm_fail(context, LIMN_E_USAGE, "the name of an output file is empty");
    limn_output *o = lm_alloc(&context->mem, 1, sizeof *o);
    if (!o)
        return lm_fail_memory(context);
    *o = (limn_output){.ctx = context, .mem = context->mem, .fd = -1};
    o->path = lm_strdup(&o->mem, path);
    limn_status status = o->path ? open_destination(o) : lm_fail_memory(context);
    if (status != LIMN_OK) {
        output_free(o);
        return status;
    }
    *out = o;
    return LIMN_OK;
}

static limn_status write_all(limn_output *out, const unsigned char *bytes, size_t size) {
    while (size) {
        ssize_t done = write(out->fd, bytes, size);
        if (done < 0) {
            if (errno != EINTR)
                return output_fail(out, "write");
            /* A signal: the user may want to cancel while a slow reader blocks us. */
            out->status = lm_progress(out->ctx, "writing", 0, 0, -1);
            if (out->status != LIMN_OK)
                return out->status;
            continue;
        }
        bytes += done;
        size -= (size_t)done;
    }
    return LIMN_OK;
}

limn_status limn_output_flush(limn_output *output) {
    if (output->status != LIMN_OK)
        return output->status;
    size_t used = output->used;
    output->used = 0;
    return write_all(output, output->bytes, used);
}

limn_status limn_output_write(limn_output *output, const void *bytes, size_t size) {
    if (output->status != LIMN_OK)
        return output->status;
    if (size > OUTPUT_BYTES - output->used) {
        limn_status status = limn_output_flush(output);
        if (status != LIMN_OK)
            return status;
        if (size >= OUTPUT_BYTES)
            return write_all(output, bytes, size);
    }
    if (size)
        memcpy(output->bytes + output->used, bytes, size);
    output->used += size;
    return LIMN_OK;
}

/* Makes the rename itself durable. Some file systems cannot sync a folder, which is not an
 * error. */
static void sync_folder(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof folder)
        return;
    memcpy(folder, path, length);
    folder[length] = '\0';
    int fd = open(!slash ? "." : length ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

static limn_status finish(limn_output *out) {
    limn_status status = limn_output_flush(out);
    if (status != LIMN_OK || out->through)
        return status;
    if (fsync(out->fd) != 0)
        return output_fail(out, "write");
    int failed = close(out->fd);
    out->fd = -1;
    if (failed)
        return output_fail(out, "write");
    if (rename(out->temporary, out->target) != 0)
        return output_fail(out, "rename the finished file to it");
    lm_free(&out->mem, out->temporary);
    out->temporary = NULL;
    sync_folder(out->target);
    return LIMN_OK;
}

void limn_output_discard(limn_output *output) {
    if (!output)
        return;
    if (output->fd >= 0 && output->fd != STDOUT_FILENO)
        close(output->fd);
    if (output->temporary)
        unlink(output->temporary);
    output_free(output);
}

limn_status limn_output_commit(limn_output *output) {
    limn_status status = finish(output);
    limn_output_discard(output);
    return status;
}
