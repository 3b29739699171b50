/* write.c: collects sections and writes them as one model file.
 *
 * The layout is a function of the sections and their order alone, so equal sections give equal
 * bytes. Section data is borrowed; key-value sections are owned. */
#include "container/layout.h"

#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* a state of the checksum without an allocation */
#include <xxhash.h>

typedef struct part {
    char name[LM_SECTION_NAME];
    uint32_t version;
    const void *data; /* or what produce is called with */
    size_t size;
    lm_produce *produce; /* NULL: data holds the bytes */
} part;

/* Memory that holds the data of sections. */
typedef struct memory {
    struct memory *next;
    max_align_t data[];
} memory;

struct lm_writer {
    limn_context *ctx;
    limn_allocator mem;
    part *parts;
    size_t count, capacity;
    size_t payload; /* bytes of all payloads with their padding */
    bool measures;
    lm_kv_out *kvs;
    memory *memory;
};

bool lm_pad(size_t size, size_t *padded) {
    if (!lm_add(size, LM_ALIGN - 1, padded))
        return false;
    *padded -= *padded % LM_ALIGN;
    return true;
}

bool lm_section_name_ok(const char *name, size_t length) {
    if (length < 1 || length >= LM_SECTION_NAME)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool fine =
            (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        if (!fine)
            return false;
    }
    return true;
}

limn_status lm_writer_new(limn_context *ctx, lm_writer **out) {
    *out = NULL;
    lm_writer *writer = lm_alloc_zero(&ctx->mem, 1, sizeof *writer);
    if (!writer)
        return lm_fail_memory(ctx);
    writer->ctx = ctx;
    writer->mem = ctx->mem;
    *out = writer;
    return LIMN_OK;
}

limn_status lm_writer_new_measuring(limn_context *ctx, lm_writer **out) {
    limn_status status = lm_writer_new(ctx, out);
    if (status == LIMN_OK)
        (*out)->measures = true;
    return status;
}

bool lm_writer_measures(const lm_writer *writer) {
    return writer->measures;
}

void lm_writer_free(lm_writer *writer) {
    if (!writer)
        return;
    limn_allocator mem = writer->mem;
    for (lm_kv_out *kv = writer->kvs; kv;) {
        lm_kv_out *next = kv->next;
        lm_buffer_free(&kv->bytes);
        lm_free(&mem, kv);
        kv = next;
    }
    for (memory *m = writer->memory; m;) {
        memory *next = m->next;
        lm_free(&mem, m);
        m = next;
    }
    lm_free(&mem, writer->parts);
    lm_free(&mem, writer);
}

void *lm_writer_memory(lm_writer *writer, size_t count, size_t size) {
    size_t bytes;
    if (!lm_mul(count, size, &bytes) || !lm_add(bytes, sizeof(memory), &bytes))
        return NULL;
    memory *m = lm_alloc(&writer->mem, bytes, 1);
    if (!m)
        return NULL;
    m->next = writer->memory;
    writer->memory = m;
    return m->data;
}

void lm_writer_adopt(lm_writer *writer, lm_kv_out *kv) {
    kv->writer = writer;
    kv->bytes.mem = &writer->mem;
    kv->next = writer->kvs;
    writer->kvs = kv;
}

limn_context *lm_writer_context(const lm_writer *writer) {
    return writer->ctx;
}

limn_status lm_writer_check_name(const lm_writer *writer, const char *name) {
    char shown[48];
    size_t length = strlen(name);
    if (!lm_section_name_ok(name, length))
        return lm_fail(writer->ctx, LIMN_E_USAGE,
                       "'%s' is not a valid section name; use 1 to %d characters of a-z 0-9 . _ -",
                       lm_quote(name, length, shown), LM_SECTION_NAME - 1);
    for (size_t i = 0; i < writer->count; i++)
        if (strcmp(writer->parts[i].name, name) == 0)
            return lm_fail(writer->ctx, LIMN_E_USAGE,
                           "a model file cannot hold two sections named '%s'", name);
    return LIMN_OK;
}

static bool make_room(lm_writer *writer) {
    if (writer->count < writer->capacity)
        return true;
    size_t capacity = writer->capacity ? writer->capacity * 2 : 16;
    part *parts = lm_resize(&writer->mem, writer->parts, capacity, sizeof *parts);
    if (!parts)
        return false;
    writer->parts = parts;
    writer->capacity = capacity;
    return true;
}

limn_status lm_writer_section(lm_writer *writer, const char *name, uint32_t version,
                              const void *data, size_t size) {
    return lm_writer_stream(writer, name, version, size, NULL, data);
}

limn_status lm_writer_stream(lm_writer *writer, const char *name, uint32_t version, size_t size,
                             lm_produce *produce, const void *user) {
    limn_status status = lm_writer_check_name(writer, name);
    if (status != LIMN_OK)
        return status;
    if (writer->count == LM_MAX_SECTIONS)
        return lm_fail(writer->ctx, LIMN_E_USAGE, "a model file holds at most %d sections",
                       LM_MAX_SECTIONS);
    size_t padded, payload, total;
    if (!lm_pad(size, &padded) || !lm_add(writer->payload, padded, &payload) ||
        !lm_add(payload, LM_HEADER_BYTES + LM_MAX_SECTIONS * (size_t)LM_ENTRY_BYTES, &total))
        return lm_fail(writer->ctx, LIMN_E_MEMORY,
                       "section '%s' of %zu bytes makes the model file larger than this machine "
                       "can address",
                       name, size);
    if (!make_room(writer))
        return lm_fail_memory(writer->ctx);
    part *p = &writer->parts[writer->count++];
    *p = (part){.version = version, .data = user, .size = size, .produce = produce};
    memcpy(p->name, name, strlen(name));
    writer->payload = payload;
    return LIMN_OK;
}

static size_t head_size(const lm_writer *writer) {
    return LM_HEADER_BYTES + writer->count * LM_ENTRY_BYTES;
}

size_t lm_writer_size(const lm_writer *writer) {
    return head_size(writer) +
           writer->payload; /* cannot overflow: checked as sections were added */
}

static limn_status put_part(const part *p, lm_put *put, void *to) {
    return p->produce ? p->produce(p->data, put, to) : put(to, p->data, p->size);
}

static limn_status put_in_checksum(void *to, const void *bytes, size_t size) {
    (void)XXH3_64bits_update(to, bytes, size);
    return LIMN_OK;
}

static uint64_t checksum_of(const part *p) {
    XXH3_state_t state;
    if (!p->produce)
        return XXH3_64bits(p->data, p->size);
    XXH3_INITSTATE(&state);
    (void)XXH3_64bits_reset(&state);
    (void)put_part(p, put_in_checksum, &state);
    return XXH3_64bits_digest(&state);
}

/* Header and table, filled in completely. NULL when out of memory. */
static unsigned char *make_head(const lm_writer *writer) {
    unsigned char *head = lm_alloc_zero(&writer->mem, head_size(writer), 1);
    if (!head)
        return NULL;
    unsigned char *table = head + LM_HEADER_BYTES;
    size_t offset = head_size(writer);
    for (size_t i = 0; i < writer->count; i++) {
        const part *p = &writer->parts[i];
        lm_entry entry = {.version = p->version, .offset = offset, .size = p->size};
        memcpy(entry.name, p->name, sizeof entry.name);
        entry.hash = checksum_of(p);
        memcpy(table + i * LM_ENTRY_BYTES, &entry, sizeof entry);
        size_t padded;
        (void)lm_pad(p->size, &padded);
        offset += padded;
    }
    lm_header header = {.version = LM_CONTAINER_VERSION, .sections = (uint32_t)writer->count};
    memcpy(header.magic, LM_MAGIC, sizeof header.magic);
    header.file_size = offset;
    header.table_hash = XXH3_64bits(table, writer->count * LM_ENTRY_BYTES);
    header.hash = XXH3_64bits(&header, offsetof(lm_header, hash));
    memcpy(head, &header, sizeof header);
    return head;
}

/* Puts the bytes of the file in order. */
static limn_status emit(const lm_writer *writer, lm_put *put, void *to) {
    static const unsigned char zeros[LM_ALIGN];
    unsigned char *head = make_head(writer);
    if (!head)
        return lm_fail_memory(writer->ctx);
    limn_status status = put(to, head, head_size(writer));
    for (size_t i = 0; i < writer->count && status == LIMN_OK; i++) {
        const part *p = &writer->parts[i];
        size_t padded;
        (void)lm_pad(p->size, &padded);
        status = put_part(p, put, to);
        if (status == LIMN_OK)
            status = put(to, zeros, padded - p->size);
    }
    lm_free(&writer->mem, head);
    return status;
}

static limn_status put_in_output(void *to, const void *bytes, size_t size) {
    return limn_output_write(to, bytes, size);
}

static limn_status check_whole(const lm_writer *writer) {
    return writer->measures
               ? lm_fail(writer->ctx, LIMN_E_USAGE, "a measuring writer has no data to save")
               : LIMN_OK;
}

limn_status lm_writer_save(lm_writer *writer, const char *path) {
    limn_output *output = NULL;
    if (check_whole(writer) != LIMN_OK)
        return LIMN_E_USAGE;
    limn_status status = limn_output_open(writer->ctx, path, &output);
    if (status != LIMN_OK)
        return status;
    status = emit(writer, put_in_output, output);
    if (status == LIMN_OK)
        return limn_output_commit(output);
    limn_output_discard(output);
    return status;
}

static limn_status put_in_memory(void *to, const void *bytes, size_t size) {
    unsigned char **next = to;
    if (size)
        memcpy(*next, bytes, size);
    *next += size;
    return LIMN_OK;
}

limn_status lm_writer_bytes(lm_writer *writer, unsigned char **bytes, size_t *size) {
    *bytes = NULL;
    *size = 0;
    if (check_whole(writer) != LIMN_OK)
        return LIMN_E_USAGE;
    unsigned char *block = lm_alloc(&writer->mem, lm_writer_size(writer), 1);
    if (!block)
        return lm_fail_memory(writer->ctx);
    unsigned char *next = block;
    limn_status status = emit(writer, put_in_memory, &next);
    if (status != LIMN_OK) {
        lm_free(&writer->mem, block);
        return status;
    }
    *bytes = block;
    *size = lm_writer_size(writer);
    return LIMN_OK;
}
