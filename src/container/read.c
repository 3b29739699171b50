/* read.c: opens a model file and checks every byte of it before anything is handed out.
 *
 * A regular file is mapped; pipes, standard input and bytes in memory are copied to aligned memory.
 * The checks are the same for both and go from the outside in: magic, version, header hash, length,
 * table hash, the table itself, then the hash and the padding of each section. No allocation relies
 * on a size that the file claims.
 *
 * The mapping uses no madvise: MAP_POPULATE, MADV_SEQUENTIAL, MADV_WILLNEED and MADV_POPULATE_READ
 * change a warm open of 100 MB by less than the noise, and populating makes a cold open slower,
 * since hashing then waits for the last page.
 *
 * limn replaces model files by renaming, which leaves a mapping of the old file valid. A program
 * that truncates a model file in place while it is open removes pages from under the mapping; no
 * check can prevent that. */
#include "container/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { STREAM_BYTES = 1 << 16 };

struct lm_file {
    limn_allocator mem;
    char *name;
    unsigned char *bytes;
    size_t size;
    bool mapped;
    size_t sections;
};

static limn_status file_new(limn_context *ctx, const char *name, lm_file **out) {
    lm_file *file = lm_alloc_zero(&ctx->mem, 1, sizeof *file);
    if (!file)
        return lm_fail_memory(ctx);
    file->mem = ctx->mem;
    file->name = lm_strdup(&file->mem, name);
    if (!file->name) {
        lm_file_close(file);
        return lm_fail_memory(ctx);
    }
    *out = file;
    return LIMN_OK;
}

void lm_file_close(lm_file *file) {
    if (!file)
        return;
    limn_allocator mem = file->mem;
    if (file->mapped)
        munmap(file->bytes, file->size);
    else
        lm_free_aligned(&mem, file->bytes);
    lm_free(&mem, file->name);
    lm_free(&mem, file);
}

const char *lm_file_name(const lm_file *file) {
    return file->name;
}

size_t lm_file_size(const lm_file *file) {
    return file->size;
}

limn_status lm_file_bad(limn_context *ctx, const lm_file *file, const char *format, ...) {
    char sentence[LM_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return lm_fail(ctx, LIMN_E_MODEL, "%s: %s; the file is damaged or was not written by limn",
                   file->name, sentence);
}

/* ---- checks ---- */

static bool all_zero(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

static lm_entry entry_at(const lm_file *file, size_t index) {
    lm_entry entry;
    memcpy(&entry, file->bytes + LM_HEADER_BYTES + index * LM_ENTRY_BYTES, sizeof entry);
    return entry;
}

static const char *entry_name(const lm_file *file, size_t index) {
    return (const char *)file->bytes + LM_HEADER_BYTES + index * LM_ENTRY_BYTES;
}

static limn_status check_magic(limn_context *ctx, const lm_file *file) {
    size_t seen = file->size < sizeof LM_MAGIC - 1 ? file->size : sizeof LM_MAGIC - 1;
    if (seen == 0)
        return lm_fail(ctx, LIMN_E_MODEL, "%s: the file is empty, not a limn model", file->name);
    if (memcmp(file->bytes, LM_MAGIC, seen) == 0)
        return LIMN_OK;
    if (seen > 4 && memcmp(file->bytes, LM_MAGIC, 4) == 0)
        return lm_fail(
            ctx, LIMN_E_MODEL,
            "%s: a limn model damaged by a text-mode transfer; copy it again in binary mode",
            file->name);
    return lm_fail(ctx, LIMN_E_MODEL, "%s: not a limn model; check the file name", file->name);
}

/* Looks at the first LM_HEADER_BYTES only, so that a bad stream is refused before the rest is
 * read. */
static limn_status check_header(limn_context *ctx, const lm_file *file, lm_header *out) {
    limn_status status = check_magic(ctx, file);
    if (status != LIMN_OK)
        return status;
    if (file->size < LM_HEADER_BYTES)
        return lm_fail(ctx, LIMN_E_MODEL,
                       "%s: the file is truncated: it has %zu of the %d bytes of the header; copy "
                       "or download it again",
                       file->name, file->size, LM_HEADER_BYTES);
    lm_header header;
    memcpy(&header, file->bytes, sizeof header);
    if (header.version > LM_CONTAINER_VERSION)
        return lm_fail(ctx, LIMN_E_MODEL,
                       "%s: written by a newer limn (container version %" PRIu32
                       ", this limn reads up to %d); update limn",
                       file->name, header.version, LM_CONTAINER_VERSION);
    if (header.hash != XXH3_64bits(file->bytes, offsetof(lm_header, hash)))
        return lm_file_bad(ctx, file, "the header does not match its checksum");
    if (header.version == 0)
        return lm_file_bad(ctx, file, "the container version is 0");
    if (!all_zero(header.zero, sizeof header.zero))
        return lm_file_bad(ctx, file, "reserved bytes of the header are not zero");
    *out = header;
    return LIMN_OK;
}

static limn_status check_length(limn_context *ctx, const lm_file *file, uint64_t claimed) {
    if (file->size < claimed)
        return lm_fail(ctx, LIMN_E_MODEL,
                       "%s: the file is truncated: it has %zu of %" PRIu64
                       " bytes; copy or download it again",
                       file->name, file->size, claimed);
    if (file->size > claimed)
        return lm_file_bad(ctx, file, "bytes follow the end of the model at byte %" PRIu64,
                           claimed);
    return LIMN_OK;
}

/* The parts of a table entry that do not depend on the others. */
static limn_status check_entry(limn_context *ctx, const lm_file *file, size_t index) {
    lm_entry entry = entry_at(file, index);
    size_t length = strnlen(entry.name, sizeof entry.name);
    if (!lm_section_name_ok(entry.name, length) ||
        !all_zero((unsigned char *)entry.name + length, sizeof entry.name - length))
        return lm_file_bad(ctx, file, "section %zu has an invalid name", index + 1);
    if (entry.flags || !all_zero(entry.zero, sizeof entry.zero))
        return lm_file_bad(ctx, file, "reserved bytes of section '%s' are not zero", entry.name);
    for (size_t i = 0; i < index; i++)
        if (memcmp(entry_name(file, i), entry.name, sizeof entry.name) == 0)
            return lm_file_bad(ctx, file, "two sections are named '%s'", entry.name);
    return LIMN_OK;
}

/* Payloads follow each other in the order of the table and fill the file. */
static limn_status check_places(limn_context *ctx, const lm_file *file) {
    size_t at = LM_HEADER_BYTES + file->sections * LM_ENTRY_BYTES;
    for (size_t i = 0; i < file->sections; i++) {
        lm_entry entry = entry_at(file, i);
        if (entry.offset != at)
            return lm_file_bad(ctx, file,
                               "section '%s' claims to start at byte %" PRIu64 " instead of %zu",
                               entry.name, entry.offset, at);
        if (entry.size > file->size - at)
            return lm_file_bad(ctx, file,
                               "section '%s' claims %" PRIu64 " bytes, but only %zu are left",
                               entry.name, entry.size, file->size - at);
        size_t padded;
        if (!lm_pad((size_t)entry.size, &padded) || padded > file->size - at)
            return lm_file_bad(ctx, file, "section '%s' lacks its padding", entry.name);
        at += padded;
    }
    if (at != file->size)
        return lm_file_bad(ctx, file, "%zu bytes belong to no section", file->size - at);
    return LIMN_OK;
}

static limn_status check_payload(limn_context *ctx, const lm_file *file, size_t index) {
    lm_entry entry = entry_at(file, index);
    const unsigned char *data = file->bytes + entry.offset;
    size_t size = (size_t)entry.size, padded = 0;
    if (XXH3_64bits(data, size) != entry.hash)
        return lm_file_bad(ctx, file, "section '%s' does not match its checksum", entry.name);
    (void)lm_pad(size, &padded);
    if (!all_zero(data + size, padded - size))
        return lm_file_bad(ctx, file, "the padding after section '%s' is not zero", entry.name);
    return LIMN_OK;
}

static limn_status check_table(limn_context *ctx, lm_file *file, const lm_header *header) {
    size_t room = (file->size - LM_HEADER_BYTES) / LM_ENTRY_BYTES;
    if (header->sections > LM_MAX_SECTIONS || header->sections > room)
        return lm_file_bad(ctx, file, "%" PRIu32 " sections do not fit in a file of %zu bytes",
                           header->sections, file->size);
    file->sections = header->sections;
    if (XXH3_64bits(file->bytes + LM_HEADER_BYTES, file->sections * LM_ENTRY_BYTES) !=
        header->table_hash)
        return lm_file_bad(ctx, file, "the table of sections does not match its checksum");
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < file->sections && status == LIMN_OK; i++)
        status = check_entry(ctx, file, i);
    return status;
}

static limn_status check_file(limn_context *ctx, lm_file *file) {
    lm_header header;
    limn_status status = check_header(ctx, file, &header);
    if (status == LIMN_OK)
        status = check_length(ctx, file, header.file_size);
    if (status == LIMN_OK)
        status = check_table(ctx, file, &header);
    if (status == LIMN_OK)
        status = check_places(ctx, file);
    for (size_t i = 0; i < file->sections && status == LIMN_OK; i++)
        status = check_payload(ctx, file, i);
    return status;
}

/* ---- opening ---- */

static limn_status map_file(limn_context *ctx, lm_file *file, int fd, const struct stat *info) {
    if (info->st_size == 0)
        return LIMN_OK;
    if ((uint64_t)info->st_size > SIZE_MAX)
        return lm_fail(ctx, LIMN_E_MEMORY, "%s: %jd bytes are more than this machine can address",
                       file->name, (intmax_t)info->st_size);
    void *bytes = mmap(NULL, (size_t)info->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return lm_fail(ctx, errno == ENOMEM ? LIMN_E_MEMORY : LIMN_E_IO, "%s: cannot map it: %s",
                       file->name, strerror(errno));
    file->bytes = bytes;
    file->size = (size_t)info->st_size;
    file->mapped = true;
    return LIMN_OK;
}

/* Doubles the memory of a stream, up to the limit of the context. */
static limn_status grow(limn_context *ctx, lm_file *file, size_t *capacity) {
    size_t limit = ctx->memory_limit < SIZE_MAX ? (size_t)ctx->memory_limit : SIZE_MAX;
    size_t wanted = *capacity == 0              ? STREAM_BYTES
                    : *capacity <= SIZE_MAX / 2 ? *capacity * 2
                                                : SIZE_MAX;
    if (wanted > limit)
        wanted = limit;
    if (wanted <= *capacity)
        return lm_fail(ctx, LIMN_E_MEMORY,
                       "%s: the model is larger than the memory limit of %zu bytes; save it as a "
                       "file and give its name",
                       file->name, limit);
    unsigned char *bytes = lm_alloc_aligned(&file->mem, wanted, 1);
    if (!bytes)
        return lm_fail_memory(ctx);
    if (file->size)
        memcpy(bytes, file->bytes, file->size);
    lm_free_aligned(&file->mem, file->bytes);
    file->bytes = bytes;
    *capacity = wanted;
    return LIMN_OK;
}

/* Reads to the end of the stream; stops early if the header is refused or the stream is too
 * long. */
static limn_status read_stream(limn_context *ctx, lm_file *file, int fd) {
    size_t capacity = 0;
    lm_header header = {.file_size = UINT64_MAX};
    bool known = false;
    while (file->size <= header.file_size) {
        limn_status status = file->size < capacity ? LIMN_OK : grow(ctx, file, &capacity);
        if (status != LIMN_OK)
            return status;
        ssize_t got = read(fd, file->bytes + file->size, capacity - file->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lm_fail(ctx, LIMN_E_IO, "%s: cannot read: %s", file->name, strerror(errno));
        if (got == 0)
            break;
        file->size += (size_t)got;
        if (!known && file->size >= LM_HEADER_BYTES) {
            status = check_header(ctx, file, &header);
            if (status != LIMN_OK)
                return status;
            known = true;
        }
    }
    return LIMN_OK;
}

static limn_status take_bytes(limn_context *ctx, lm_file *file, int fd, bool is_stdin) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return lm_fail(ctx, LIMN_E_IO, "%s: cannot read: %s", file->name, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return lm_fail(ctx, LIMN_E_IO, "%s: this is a directory; give the name of a model file",
                       file->name);
    /* standard input may be positioned inside a file, which a mapping would ignore */
    if (S_ISREG(info.st_mode) && !is_stdin)
        return map_file(ctx, file, fd, &info);
    return read_stream(ctx, file, fd);
}

bool lm_file_is_model(const void *bytes, size_t size) {
    return size >= strlen(LM_MAGIC) && memcmp(bytes, LM_MAGIC, strlen(LM_MAGIC)) == 0;
}

limn_status lm_file_open(limn_context *ctx, const char *path, lm_file **out) {
    *out = NULL;
    if (!path || !*path)
        return lm_fail(ctx, LIMN_E_USAGE, "the name of a model file is empty");
    lm_file *file = NULL;
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = -1;
    limn_status status = file_new(ctx, is_stdin ? "standard input" : path, &file);
    if (status != LIMN_OK)
        goto done;
    fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        status = lm_fail(ctx, LIMN_E_IO, "%s: cannot open the model: %s", path, strerror(errno));
        goto done;
    }
    status = take_bytes(ctx, file, fd, is_stdin);
    if (status == LIMN_OK)
        status = check_file(ctx, file);
    if (status == LIMN_OK) {
        *out = file;
        file = NULL;
    }
done:
    if (fd >= 0 && !is_stdin)
        close(fd);
    lm_file_close(file);
    return status;
}

limn_status lm_file_from_memory(limn_context *ctx, const void *bytes, size_t size, const char *name,
                                lm_file **out) {
    *out = NULL;
    lm_file *file = NULL;
    limn_status status = file_new(ctx, name, &file);
    if (status != LIMN_OK)
        return status;
    file->bytes = lm_alloc_aligned(&file->mem, size, 1);
    if (!file->bytes) {
        status = lm_fail_memory(ctx);
        goto done;
    }
    if (size)
        memcpy(file->bytes, bytes, size);
    file->size = size;
    status = check_file(ctx, file);
    if (status == LIMN_OK) {
        *out = file;
        file = NULL;
    }
done:
    lm_file_close(file);
    return status;
}

/* ---- sections ---- */

size_t lm_file_section_count(const lm_file *file) {
    return file->sections;
}

lm_section lm_file_section_at(const lm_file *file, size_t index) {
    lm_entry entry = entry_at(file, index);
    return (lm_section){.name = entry_name(file, index),
                        .version = entry.version,
                        .data = file->bytes + entry.offset,
                        .size = (size_t)entry.size};
}

bool lm_file_has(const lm_file *file, const char *name) {
    for (size_t i = 0; i < file->sections; i++)
        if (strcmp(entry_name(file, i), name) == 0)
            return true;
    return false;
}

limn_status lm_file_section(limn_context *ctx, const lm_file *file, const char *name,
                            uint32_t max_version, lm_section *out) {
    for (size_t i = 0; i < file->sections; i++) {
        if (strcmp(entry_name(file, i), name) != 0)
            continue;
        lm_section section = lm_file_section_at(file, i);
        if (section.version > max_version)
            return lm_fail(ctx, LIMN_E_MODEL,
                           "%s: section '%s' was written by a newer limn (version %" PRIu32
                           ", this limn reads up to %" PRIu32 "); update limn",
                           file->name, name, section.version, max_version);
        *out = section;
        return LIMN_OK;
    }
    return lm_file_bad(ctx, file, "section '%s' is missing", name);
}

limn_status lm_file_array(limn_context *ctx, const lm_file *file, const char *name,
                          uint32_t max_version, size_t count, size_t size, const void **out) {
    lm_section section = {0};
    limn_status status = lm_file_section(ctx, file, name, max_version, &section);
    if (status != LIMN_OK)
        return status;
    size_t bytes;
    if (!lm_mul(count, size, &bytes) || section.size != bytes)
        return lm_file_bad(ctx, file, "section '%s' has %zu bytes, not %zu values of %zu bytes",
                           name, section.size, count, size);
    *out = section.data;
    return LIMN_OK;
}
