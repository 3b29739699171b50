/* keyvalue.c: typed key-values in a section of a model file, docs/format.md.
 *
 * Entries are packed without alignment and are read with memcpy. Opening a section checks every
 * entry; the getters then walk it again without checks. Sections hold tens of keys, so a search
 * from the start costs less than an index would. */
#include "container/layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { COUNT_BYTES = sizeof(uint64_t), TEXTS_COUNT_BYTES = sizeof(uint64_t) };

typedef struct item {
    uint32_t type;
    const char *key;
    const unsigned char *value;
    size_t value_size;
} item;

static bool key_ok(const char *key, size_t length) {
    if (length < 1 || length > LM_MAX_KEY)
        return false;
    for (size_t i = 0; i < length; i++)
        if (key[i] <= ' ' || key[i] > '~')
            return false;
    return true;
}

/* Reads the entry at a place that is known to be well-formed; returns the place of the next one. */
static const unsigned char *step(const unsigned char *at, item *out) {
    lm_kv_head head;
    memcpy(&head, at, sizeof head);
    out->type = head.type;
    out->key = (const char *)at + sizeof head;
    out->value = at + sizeof head + head.key_size;
    out->value_size = (size_t)head.value_size;
    return out->value + out->value_size;
}

static bool find(const unsigned char *at, uint64_t count, const char *key, item *out) {
    for (; count; count--) {
        at = step(at, out);
        if (strcmp(out->key, key) == 0)
            return true;
    }
    return false;
}

/* ---- writing ---- */

static void append(lm_kv_out *kv, const void *bytes, size_t size) {
    if (kv->status != LIMN_OK)
        return;
    bool there = lm_writer_measures(kv->writer) || lm_buffer_append(&kv->bytes, bytes, size);
    if (!there || !lm_add(kv->size, size, &kv->size))
        kv->status = LIMN_E_MEMORY;
}

limn_status lm_kv_begin(lm_writer *writer, const char *section, uint32_t version, lm_kv_out **out) {
    *out = NULL;
    limn_context *ctx = lm_writer_context(writer);
    limn_status status = lm_writer_check_name(writer, section);
    if (status != LIMN_OK)
        return status;
    lm_kv_out *kv = lm_alloc_zero(&ctx->mem, 1, sizeof *kv);
    if (!kv)
        return lm_fail_memory(ctx);
    lm_writer_adopt(writer, kv);
    memcpy(kv->section, section, strlen(section));
    kv->version = version;
    uint64_t count = 0;
    append(kv, &count, sizeof count);
    *out = kv;
    return kv->status == LIMN_OK ? LIMN_OK : lm_fail_memory(ctx);
}

static void refuse(lm_kv_out *kv, const char *key, const char *problem) {
    if (kv->status != LIMN_OK)
        return;
    kv->status = LIMN_E_USAGE;
    kv->problem = problem;
    lm_quote(key, strlen(key), kv->bad_key);
}

/* An entry without its value. */
static void put_key(lm_kv_out *kv, const char *key, lm_kv_type type, size_t value_size) {
    size_t length = strlen(key);
    item other;
    if (kv->status != LIMN_OK)
        return;
    if (kv->ended)
        refuse(kv, key, "came after the end of its section");
    else if (!key_ok(key, length))
        refuse(kv, key, "is not a key; use 1 to 255 printable characters without blanks");
    else if (kv->count == LM_MAX_KEYS)
        refuse(kv, key, "exceeds the limit on the number of keys");
    else if (!lm_writer_measures(kv->writer) &&
             find(kv->bytes.data + COUNT_BYTES, kv->count, key, &other))
        refuse(kv, key, "already exists");
    lm_kv_head head = {type, (uint32_t)length + 1, value_size};
    append(kv, &head, sizeof head);
    append(kv, key, length + 1);
    kv->count++;
}

void lm_kv_put_int(lm_kv_out *kv, const char *key, int64_t value) {
    put_key(kv, key, LM_KV_INT, sizeof value);
    append(kv, &value, sizeof value);
}

void lm_kv_put_real(lm_kv_out *kv, const char *key, double value) {
    if (isnan(value))
        refuse(kv, key, "is not a number");
    put_key(kv, key, LM_KV_REAL, sizeof value);
    append(kv, &value, sizeof value);
}

void lm_kv_put_text(lm_kv_out *kv, const char *key, const char *value) {
    size_t size = strlen(value) + 1;
    put_key(kv, key, LM_KV_TEXT, size);
    append(kv, value, size);
}

void lm_kv_put_texts(lm_kv_out *kv, const char *key, char *const *values, size_t count) {
    size_t size = TEXTS_COUNT_BYTES;
    for (size_t i = 0; i < count; i++)
        if (!lm_add(size, strlen(values[i]) + 1, &size) && kv->status == LIMN_OK)
            kv->status = LIMN_E_MEMORY;
    uint64_t count64 = count;
    put_key(kv, key, LM_KV_TEXTS, size);
    append(kv, &count64, sizeof count64);
    for (size_t i = 0; i < count; i++)
        append(kv, values[i], strlen(values[i]) + 1);
}

void lm_kv_put_reals(lm_kv_out *kv, const char *key, const double *values, size_t count) {
    size_t size;
    if (!lm_mul(count, sizeof *values, &size)) {
        if (kv->status == LIMN_OK)
            kv->status = LIMN_E_MEMORY;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            refuse(kv, key, "has a value that is not a finite number");
    put_key(kv, key, LM_KV_REALS, size);
    append(kv, values, size);
}

limn_status lm_kv_end(lm_kv_out *kv) {
    limn_context *ctx = lm_writer_context(kv->writer);
    if (kv->status == LIMN_E_MEMORY)
        return lm_fail_memory(ctx);
    if (kv->status != LIMN_OK)
        return lm_fail(ctx, kv->status, "section '%s' of the model: '%s' %s", kv->section,
                       kv->bad_key, kv->problem);
    if (kv->bytes.data)
        memcpy(kv->bytes.data, &kv->count, sizeof kv->count);
    kv->ended = true;
    return lm_writer_section(kv->writer, kv->section, kv->version, kv->bytes.data, kv->size);
}

/* ---- checking a section ---- */

/* A text is its bytes and one zero, at the end. */
static bool text_ok(const unsigned char *value, size_t size) {
    return size >= 1 && memchr(value, 0, size) == value + size - 1;
}

static bool texts_ok(const unsigned char *value, size_t size) {
    uint64_t count, found = 0;
    if (size < TEXTS_COUNT_BYTES)
        return false;
    memcpy(&count, value, sizeof count);
    const unsigned char *at = value + TEXTS_COUNT_BYTES, *end = value + size;
    for (; at < end; found++) {
        const unsigned char *zero = memchr(at, 0, (size_t)(end - at));
        if (!zero)
            return false;
        at = zero + 1;
    }
    return found == count;
}

static bool reals_ok(const unsigned char *value, size_t size) {
    if (size % sizeof(double))
        return false;
    for (size_t i = 0; i < size; i += sizeof(double)) {
        double x;
        memcpy(&x, value + i, sizeof x);
        if (!isfinite(x))
            return false;
    }
    return true;
}

static bool value_ok(const item *it) {
    double real;
    switch (it->type) {
    case LM_KV_INT:
        return it->value_size == sizeof(int64_t);
    case LM_KV_REAL:
        if (it->value_size != sizeof real)
            return false;
        memcpy(&real, it->value, sizeof real);
        return !isnan(real);
    case LM_KV_TEXT:
        return text_ok(it->value, it->value_size);
    case LM_KV_TEXTS:
        return texts_ok(it->value, it->value_size);
    case LM_KV_REALS:
        return reals_ok(it->value, it->value_size);
    default:
        return false;
    }
}

/* Checks the entry at a place with left bytes after it. NULL, or what is wrong with it. */
static const char *check_item(const unsigned char *at, size_t left, item *out) {
    lm_kv_head head;
    if (left < sizeof head)
        return "is truncated";
    memcpy(&head, at, sizeof head);
    left -= sizeof head;
    if (head.key_size > left || head.value_size > left - head.key_size)
        return "is larger than the section";
    (void)step(at, out);
    if (head.key_size < 2 || !key_ok(out->key, head.key_size - 1) || out->key[head.key_size - 1])
        return "has an invalid key";
    return value_ok(out) ? NULL : "has an invalid value";
}

static limn_status check_section(limn_context *ctx, const lm_file *file,
                                 const lm_section *section) {
    uint64_t count;
    if (section->size < COUNT_BYTES)
        return lm_file_bad(ctx, file, "section '%s' is truncated", section->name);
    memcpy(&count, section->data, sizeof count);
    if (count > LM_MAX_KEYS)
        return lm_file_bad(ctx, file, "section '%s' cannot have %" PRIu64 " keys", section->name,
                           count);
    const unsigned char *first = section->data + COUNT_BYTES, *at = first;
    const unsigned char *end = section->data + section->size;
    for (uint64_t i = 0; i < count; i++) {
        item it, other;
        const char *problem = check_item(at, (size_t)(end - at), &it);
        if (!problem && find(first, i, it.key, &other))
            problem = "repeats a key";
        if (problem)
            return lm_file_bad(ctx, file, "entry %" PRIu64 " of section '%s' %s", i + 1,
                               section->name, problem);
        at = it.value + it.value_size;
    }
    if (at != end)
        return lm_file_bad(ctx, file, "bytes follow the last key of section '%s'", section->name);
    return LIMN_OK;
}

/* ---- reading ---- */

limn_status lm_kv_open(limn_context *ctx, const lm_file *file, const char *section,
                       uint32_t max_version, lm_kv *out) {
    lm_kv kv = {.ctx = ctx, .file = file};
    limn_status status = lm_file_section(ctx, file, section, max_version, &kv.section);
    if (status == LIMN_OK)
        status = check_section(ctx, file, &kv.section);
    if (status == LIMN_OK)
        *out = kv;
    return status;
}

static bool look_up(const lm_kv *kv, const char *key, item *out) {
    uint64_t count;
    memcpy(&count, kv->section.data, sizeof count);
    return find(kv->section.data + COUNT_BYTES, count, key, out);
}

bool lm_kv_has(const lm_kv *kv, const char *key) {
    item it;
    return look_up(kv, key, &it);
}

static const char *type_name(uint32_t type) {
    static const char *const names[] = {"nothing", "an integer",      "a real",
                                        "a text",  "a list of texts", "a list of reals"};
    return type < LM_COUNT(names) ? names[type] : names[0];
}

static limn_status get(const lm_kv *kv, const char *key, lm_kv_type type, item *out) {
    if (!look_up(kv, key, out))
        return lm_file_bad(kv->ctx, kv->file, "section '%s' lacks '%s'", kv->section.name, key);
    if (out->type != (uint32_t)type)
        return lm_file_bad(kv->ctx, kv->file, "'%s' in section '%s' is %s, not %s", key,
                           kv->section.name, type_name(out->type), type_name(type));
    return LIMN_OK;
}

limn_status lm_kv_int(const lm_kv *kv, const char *key, int64_t min, int64_t max, int64_t *value) {
    item it;
    int64_t found;
    limn_status status = get(kv, key, LM_KV_INT, &it);
    if (status != LIMN_OK)
        return status;
    memcpy(&found, it.value, sizeof found);
    if (found < min || found > max)
        return lm_file_bad(kv->ctx, kv->file,
                           "'%s' in section '%s' is %" PRId64 ", outside %" PRId64 " to %" PRId64,
                           key, kv->section.name, found, min, max);
    *value = found;
    return LIMN_OK;
}

limn_status lm_kv_real(const lm_kv *kv, const char *key, double min, double max, double *value) {
    item it;
    double found;
    limn_status status = get(kv, key, LM_KV_REAL, &it);
    if (status != LIMN_OK)
        return status;
    memcpy(&found, it.value, sizeof found);
    if (!(found >= min && found <= max)) {
        char shown[32], low[32], high[32];
        lm_format_double(found, shown);
        lm_format_double(min, low);
        lm_format_double(max, high);
        return lm_file_bad(kv->ctx, kv->file, "'%s' in section '%s' is %s, outside %s to %s", key,
                           kv->section.name, shown, low, high);
    }
    *value = found;
    return LIMN_OK;
}

limn_status lm_kv_text(const lm_kv *kv, const char *key, const char **value) {
    item it;
    limn_status status = get(kv, key, LM_KV_TEXT, &it);
    if (status == LIMN_OK)
        *value = (const char *)it.value;
    return status;
}

limn_status lm_kv_texts(const lm_kv *kv, const char *key, lm_texts *out) {
    item it;
    uint64_t count;
    limn_status status = get(kv, key, LM_KV_TEXTS, &it);
    if (status != LIMN_OK)
        return status;
    memcpy(&count, it.value, sizeof count);
    *out = (lm_texts){.next = it.value + TEXTS_COUNT_BYTES, .left = (size_t)count};
    return LIMN_OK;
}

const char *lm_texts_next(lm_texts *texts) {
    if (!texts->left)
        return NULL;
    const char *text = (const char *)texts->next;
    texts->next += strlen(text) + 1;
    texts->left--;
    return text;
}

limn_status lm_kv_reals(const lm_kv *kv, const char *key, size_t count, double *values) {
    item it;
    limn_status status = get(kv, key, LM_KV_REALS, &it);
    if (status != LIMN_OK)
        return status;
    if (it.value_size / sizeof *values != count)
        return lm_file_bad(kv->ctx, kv->file, "'%s' in section '%s' has %zu values, not %zu", key,
                           kv->section.name, it.value_size / sizeof *values, count);
    if (count)
        memcpy(values, it.value, it.value_size);
    return LIMN_OK;
}
