/* source.c: sequential bytes, plain or gzip (RFC 1952, any number of members in sequence), and the
 * window of text over them.
 *
 * A read returns what one read(2) gave: on a pipe it never waits to fill a buffer. */
#include "data/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { RAW_BYTES = 1 << 16, WINDOW_BYTES = 1 << 18, GZIP_WINDOW = 15 + 16 };

struct lm_source {
    limn_context *ctx;
    limn_allocator mem;
    char *name;
    int fd;             /* -1: memory */
    bool own_fd;        /* to be closed */
    const char *memory; /* what is left of it */
    size_t memory_left, chunk;
    uint64_t size, taken; /* of the file as it is stored; size 0: not known */
    bool raw_end;
    bool gzip, member_open; /* member_open: inside a gzip member */
    z_stream z;
    size_t raw_begin, raw_end_at;
    unsigned char raw[RAW_BYTES];
};

static limn_status io_failure(lm_source *s, const char *what) {
    return lm_fail(s->ctx, LIMN_E_IO, "%s: cannot %s: %s", s->name, what, strerror(errno));
}

/* One read of the stored bytes; *got 0 at the end. */
static limn_status raw_read(lm_source *s, void *bytes, size_t capacity, size_t *got) {
    *got = 0;
    if (s->fd < 0) {
        size_t size = s->memory_left < capacity ? s->memory_left : capacity;
        if (s->chunk && size > s->chunk)
            size = s->chunk;
        if (size)
            memcpy(bytes, s->memory, size);
        s->memory += size;
        s->memory_left -= size;
        *got = size;
    } else {
        ssize_t done;
        while ((done = read(s->fd, bytes, capacity)) < 0 && errno == EINTR) {
            /* A signal: the user may want to cancel. */
            limn_status status = lm_progress(s->ctx, "reading", 0, 0, -1);
            if (status != LIMN_OK)
                return status;
        }
        if (done < 0)
            return io_failure(s, "read it");
        *got = (size_t)done;
    }
    s->taken += *got;
    s->raw_end = *got == 0;
    return LIMN_OK;
}

/* Adds to what is in the raw buffer, which has room. */
static limn_status raw_fill(lm_source *s) {
    if (s->raw_begin == s->raw_end_at)
        s->raw_begin = s->raw_end_at = 0;
    size_t got = 0;
    limn_status status = raw_read(s, s->raw + s->raw_end_at, sizeof s->raw - s->raw_end_at, &got);
    s->raw_end_at += got;
    return status;
}

static void *z_allocate(void *user, unsigned items, unsigned size) {
    return lm_alloc(user, items, size);
}

static void z_release(void *user, void *block) {
    lm_free(user, block);
}

/* Looks at the first bytes. A second byte is waited for only after the first byte of gzip. */
static limn_status detect_gzip(lm_source *s) {
    limn_status status = raw_fill(s);
    if (status == LIMN_OK && s->raw_end_at == 1 && s->raw[0] == 0x1f)
        status = raw_fill(s);
    if (status != LIMN_OK || s->raw_end_at < 2 || s->raw[0] != 0x1f || s->raw[1] != 0x8b)
        return status;
    s->z.zalloc = z_allocate;
    s->z.zfree = z_release;
    s->z.opaque = &s->mem;
    if (inflateInit2(&s->z, GZIP_WINDOW) != Z_OK)
        return lm_fail_memory(s->ctx);
    s->gzip = s->member_open = true;
    return LIMN_OK;
}

static limn_status source_new(limn_context *ctx, const char *name, lm_source **out) {
    *out = NULL;
    lm_source *s = lm_alloc(&ctx->mem, 1, sizeof *s);
    if (!s)
        return lm_fail_memory(ctx);
    memset(s, 0, offsetof(lm_source, raw));
    s->ctx = ctx;
    s->mem = ctx->mem;
    s->fd = -1;
    s->name = lm_strdup(&s->mem, name);
    if (!s->name) {
        lm_free(&ctx->mem, s);
        return lm_fail_memory(ctx);
    }
    *out = s;
    return LIMN_OK;
}

static limn_status open_path(lm_source *s, const char *path) {
    struct stat info;
    bool standard = strcmp(path, "-") == 0;
    s->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (s->fd < 0)
        return io_failure(s, "open it");
    s->own_fd = !standard;
    if (fstat(s->fd, &info) != 0)
        return io_failure(s, "open it");
    if (S_ISDIR(info.st_mode))
        return lm_fail(s->ctx, LIMN_E_IO, "%s: this is a directory; name a file in it", s->name);
    if (S_ISREG(info.st_mode)) {
        off_t at = lseek(s->fd, 0, SEEK_CUR); /* standard input may have been read from before */
        if (at >= 0 && info.st_size > at)
            s->size = (uint64_t)(info.st_size - at);
    }
    return LIMN_OK;
}

limn_status lm_source_open(limn_context *ctx, const char *path, lm_source **out) {
    *out = NULL;
    if (!path || !*path)
        return lm_fail(ctx, LIMN_E_USAGE, "the name of an input file is empty");
    lm_source *s;
    limn_status status = source_new(ctx, strcmp(path, "-") == 0 ? "standard input" : path, &s);
    if (status != LIMN_OK)
        return status;
    status = open_path(s, path);
    if (status == LIMN_OK)
        status = detect_gzip(s);
    if (status != LIMN_OK) {
        lm_source_free(s);
        return status;
    }
    *out = s;
    return LIMN_OK;
}

limn_status lm_source_memory(limn_context *ctx, const char *name, const void *bytes, size_t size,
                             size_t chunk, lm_source **out) {
    lm_source *s;
    *out = NULL;
    limn_status status = source_new(ctx, name, &s);
    if (status != LIMN_OK)
        return status;
    s->memory = bytes;
    s->memory_left = size;
    s->chunk = chunk;
    s->size = chunk ? 0 : size;
    status = detect_gzip(s);
    if (status != LIMN_OK) {
        lm_source_free(s);
        return status;
    }
    *out = s;
    return LIMN_OK;
}

void lm_source_free(lm_source *source) {
    if (!source)
        return;
    if (source->gzip)
        inflateEnd(&source->z);
    if (source->own_fd)
        close(source->fd);
    limn_allocator mem = source->mem;
    lm_free(&mem, source->name);
    lm_free(&mem, source);
}

static limn_status gzip_ends_early(lm_source *s) {
    return lm_fail(s->ctx, LIMN_E_DATA,
                   "%s: the gzip data ends early; download or compress it again", s->name);
}

/* Between two members: zero bytes are padding, anything else must be a member. */
static void next_member(lm_source *s) {
    while (s->raw_begin < s->raw_end_at && s->raw[s->raw_begin] == 0)
        s->raw_begin++;
    if (s->raw_begin < s->raw_end_at)
        s->member_open = inflateReset(&s->z) == Z_OK;
}

static limn_status inflate_once(lm_source *s, void *bytes, size_t capacity, size_t *got) {
    unsigned room = capacity > 1u << 30 ? 1u << 30 : (unsigned)capacity;
    s->z.next_in = s->raw + s->raw_begin;
    s->z.avail_in = (unsigned)(s->raw_end_at - s->raw_begin);
    s->z.next_out = bytes;
    s->z.avail_out = room;
    int result = inflate(&s->z, Z_NO_FLUSH);
    s->raw_begin = s->raw_end_at - s->z.avail_in;
    *got = room - s->z.avail_out;
    if (result == Z_STREAM_END)
        s->member_open = false;
    else if (result == Z_MEM_ERROR)
        return lm_fail_memory(s->ctx);
    else if (result != Z_OK && result != Z_BUF_ERROR)
        return lm_fail(s->ctx, LIMN_E_DATA,
                       "%s: the gzip data is damaged (%s); download or compress it again", s->name,
                       s->z.msg ? s->z.msg : "bad stream");
    return LIMN_OK;
}

static limn_status gzip_read(lm_source *s, void *bytes, size_t capacity, size_t *got) {
    limn_status status = LIMN_OK;
    *got = 0;
    while (status == LIMN_OK && *got == 0) {
        /* inflate may still hold output when all input is taken: ask it before reading on */
        if (s->member_open) {
            status = inflate_once(s, bytes, capacity, got);
            if (status != LIMN_OK || *got || !s->member_open)
                continue;
        } else {
            next_member(s);
            if (s->member_open)
                continue;
        }
        if (s->raw_end)
            return s->member_open ? gzip_ends_early(s) : LIMN_OK;
        status = raw_fill(s);
    }
    return status;
}

limn_status lm_source_read(lm_source *source, void *bytes, size_t capacity, size_t *got) {
    if (source->gzip)
        return gzip_read(source, bytes, capacity, got);
    *got = 0;
    size_t held = source->raw_end_at - source->raw_begin;
    if (held) {
        size_t size = held < capacity ? held : capacity;
        memcpy(bytes, source->raw + source->raw_begin, size);
        source->raw_begin += size;
        *got = size;
        return LIMN_OK;
    }
    return source->raw_end ? LIMN_OK : raw_read(source, bytes, capacity, got);
}

const char *lm_source_name(const lm_source *source) {
    return source->name;
}

double lm_source_fraction(const lm_source *source) {
    if (!source->size)
        return -1.0;
    uint64_t used = source->taken - (source->raw_end_at - source->raw_begin);
    double fraction = (double)used / (double)source->size;
    return fraction > 1.0 ? 1.0 : fraction; /* a file may grow while it is read */
}

uint64_t lm_source_text_size(const lm_source *source) {
    return source->gzip ? 0 : source->size;
}

/* ---- the window of text ---- */

static void put_sentinel(lm_text *text) {
    text->data[text->end] = '\n';
    memset(text->data + text->end + 1, 0, LM_TEXT_PADDING);
}

limn_status lm_text_init(limn_context *ctx, lm_text *text, lm_source *source) {
    *text = (lm_text){.source = source, .line = 1, .capacity = WINDOW_BYTES};
    text->data = lm_alloc(&ctx->mem, WINDOW_BYTES + LM_TEXT_PADDING + 1, 1);
    if (!text->data)
        return lm_fail_memory(ctx);
    put_sentinel(text);
    return LIMN_OK;
}

void lm_text_free(limn_allocator *mem, lm_text *text) {
    lm_free(mem, text->data);
    text->data = NULL;
    lm_source_free(text->source);
    text->source = NULL;
}

/* Makes room for at least a quarter of the window; a row longer than the window doubles it. */
static limn_status make_room(limn_context *ctx, lm_text *text) {
    size_t held = text->end - text->begin;
    if (text->begin) {
        memmove(text->data, text->data + text->begin, held);
        text->begin = 0;
        text->end = held;
    }
    if (text->capacity - held >= text->capacity / 4)
        return LIMN_OK;
    size_t capacity;
    if (!lm_mul(text->capacity, 2, &capacity) || capacity > SIZE_MAX / 2)
        return lm_fail_memory(ctx);
    if (capacity > ctx->memory_limit && capacity > 2 * (size_t)WINDOW_BYTES)
        return lm_fail(ctx, LIMN_E_DATA,
                       "%s: line %llu: a row of more than %zu bytes does not fit in memory; check "
                       "for a quote that is not closed",
                       lm_source_name(text->source), (unsigned long long)text->line, held);
    char *data = lm_resize(&ctx->mem, text->data, capacity + LM_TEXT_PADDING + 1, 1);
    if (!data)
        return lm_fail_memory(ctx);
    text->data = data;
    text->capacity = capacity;
    return LIMN_OK;
}

limn_status lm_text_fill(limn_context *ctx, lm_text *text) {
    if (text->eof)
        return LIMN_OK;
    limn_status status = make_room(ctx, text);
    if (status != LIMN_OK)
        return status;
    size_t got = 0;
    status = lm_source_read(text->source, text->data + text->end, text->capacity - text->end, &got);
    text->end += got;
    put_sentinel(text);
    text->eof = status == LIMN_OK && got == 0;
    return status;
}
