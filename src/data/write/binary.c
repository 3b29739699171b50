/* binary.c: rows as NPY and IDX, labels in a separate file.
 *
 * NPY 1.0: "\x93NUMPY", version, the length of a header that makes a multiple of 64 bytes, the
 * header as a Python dictionary, the values: float32, little-endian, row by row. Classes are int64
 * when each name is a whole number as int64 prints it, float64 when each is a number as
 * lm_format_double prints it, else UTF-32 text of the longest name's length.
 *
 * IDX: two zero bytes, the type, the number of dimensions, the dimensions, the values; all of it
 * big-endian. Features are bytes where all of them fit, else float32; classes are bytes or int32.
 *
 * In both, targets are float64. */
#include "data/write/write_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "NPY files are written straight from memory: this needs a little-endian machine"
#endif

enum { BIG_BYTES = 64 };

static limn_status put_raw(lm_stream *s, const void *value, size_t size) {
    char *p = lm_stream_room(s, BIG_BYTES);
    if (!p)
        return s->status;
    memcpy(p, value, size);
    lm_stream_took(s, size);
    return LIMN_OK;
}

static limn_status put_big32(lm_stream *s, uint32_t value) {
    uint32_t swapped = __builtin_bswap32(value);
    return put_raw(s, &swapped, sizeof swapped);
}

static limn_status put_big64(lm_stream *s, uint64_t value) {
    uint64_t swapped = __builtin_bswap64(value);
    return put_raw(s, &swapped, sizeof swapped);
}

/* ---- classes as numbers ---- */

/* The whole number that name is the canonical text of. */
static bool whole_name(const char *name, int64_t *value) {
    bool negative = *name == '-';
    const char *p = name + negative;
    uint64_t v = 0, most = (uint64_t)INT64_MAX + negative;
    if (*p < '0' || *p > '9' || (*p == '0' && (p[1] || negative)))
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (v > (most - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *value = (int64_t)(negative ? 0 - v : v);
    return !*p;
}

static bool number_name(const char *name, double *value) {
    char text[LM_NUMBER_BYTES];
    if (!lm_parse_double(name, strlen(name), value) || !isfinite(*value))
        return false;
    text[lm_format_double(*value, text)] = '\0';
    return strcmp(text, name) == 0;
}

static bool all_whole(const lm_labels *labels, int64_t least, int64_t most) {
    for (size_t i = 0; i < labels->count; i++) {
        int64_t value;
        if (!whole_name(labels->names[i], &value) || value < least || value > most)
            return false;
    }
    return true;
}

static bool all_numbers(const lm_labels *labels) {
    double value;
    for (size_t i = 0; i < labels->count; i++)
        if (!number_name(labels->names[i], &value))
            return false;
    return true;
}

static int64_t whole_class(const lm_table_out *t, int32_t id) {
    int64_t value = 0;
    whole_name(t->shape.schema->labels.names[id], &value);
    return value;
}

static double number_class(const lm_table_out *t, int32_t id) {
    double value = 0;
    number_name(t->shape.schema->labels.names[id], &value);
    return value;
}

/* ---- UTF-8 ---- */

/* The character at *p, which moves past it; UINT32_MAX when it is not valid. */
static uint32_t next_character(const char **p) {
    const unsigned char *s = (const unsigned char *)*p;
    unsigned more = s[0] < 0x80 ? 0 : s[0] < 0xc2 ? 9 : s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : 3;
    if (more == 9 || s[0] > 0xf4)
        return UINT32_MAX;
    uint32_t c = more ? s[0] & (0x3fu >> more) : s[0];
    for (unsigned i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return UINT32_MAX;
        c = c << 6 | (s[i] & 0x3f);
    }
    bool overlong = (more == 2 && c < 0x800) || (more == 3 && c < 0x10000);
    *p += 1 + more;
    return overlong || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? UINT32_MAX : c;
}

/* Characters of the longest name. */
static limn_status measure_names(lm_table_out *t) {
    const lm_labels *labels = &t->shape.schema->labels;
    char shown[48];
    t->label_chars = 1;
    for (size_t i = 0; i < labels->count; i++) {
        size_t count = 0;
        for (const char *p = labels->names[i]; *p; count++)
            if (next_character(&p) == UINT32_MAX)
                return lm_fail(t->ctx, LIMN_E_DATA,
                               "%s: the label '%s' is not UTF-8, as NPY text must be; rename it or "
                               "write CSV",
                               t->path,
                               lm_quote(labels->names[i], strlen(labels->names[i]), shown));
        t->label_chars = count > t->label_chars ? count : t->label_chars;
    }
    return LIMN_OK;
}

static limn_status put_utf32(lm_stream *s, const char *text, size_t characters) {
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < characters && status == LIMN_OK; i++) {
        uint32_t c = *text ? next_character(&text) : 0;
        status = put_raw(s, &c, sizeof c);
    }
    return status;
}

/* ---- NPY ---- */

enum { NPY_WHOLE = 'i', NPY_NUMBER = 'f', NPY_TEXT = 'U' };

static limn_status npy_check(lm_table_out *t) {
    const lm_labels *labels = &t->shape.schema->labels;
    t->label_type = NPY_NUMBER;
    if (!t->shape.labelled || lm_table_targets(t))
        return LIMN_OK;
    if (all_whole(labels, INT64_MIN, INT64_MAX)) {
        t->label_type = NPY_WHOLE;
    } else if (!all_numbers(labels)) {
        t->label_type = NPY_TEXT;
        return measure_names(t);
    }
    return LIMN_OK;
}

static limn_status npy_head(lm_stream *s, const char *type, const char *shape) {
    enum { ALIGNMENT = 64, FIXED = 10 };
    char head[4 * ALIGNMENT];
    int used = snprintf(head + FIXED, sizeof head - FIXED,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    size_t size = FIXED + (size_t)used + 1;
    size_t padded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(head + size - 1, ' ', padded - size);
    head[padded - 1] = '\n';
    memcpy(head, "\x93NUMPY\x01", 8); /* and the zero of version 1.0 */
    head[8] = (char)((padded - FIXED) & 0xff);
    head[9] = (char)((padded - FIXED) >> 8);
    return lm_stream_put(s, head, padded);
}

static limn_status npy_begin(lm_table_out *t) {
    char shape[64], type[32];
    unsigned long long rows = t->shape.rows;
    snprintf(shape, sizeof shape, "%llu, %zu", rows, t->shape.schema->features);
    limn_status status = npy_head(&t->data, "<f4", shape);
    if (status != LIMN_OK || !t->label_path)
        return status;
    if (t->label_type == NPY_TEXT)
        snprintf(type, sizeof type, "<U%zu", t->label_chars);
    else
        snprintf(type, sizeof type, "<%c8", t->label_type);
    snprintf(shape, sizeof shape, "%llu,", rows);
    return npy_head(&t->labels, type, shape);
}

static limn_status npy_class(lm_table_out *t, int32_t id) {
    if (t->label_type == NPY_TEXT)
        return put_utf32(&t->labels, t->shape.schema->labels.names[id], t->label_chars);
    if (t->label_type == NPY_WHOLE) {
        int64_t value = whole_class(t, id);
        return put_raw(&t->labels, &value, sizeof value);
    }
    double value = number_class(t, id);
    return put_raw(&t->labels, &value, sizeof value);
}

static limn_status npy_put(lm_table_out *t, const limn_rows *rows) {
    size_t count = rows->n * t->shape.schema->features;
    limn_status status = lm_stream_put(&t->data, rows->x, count * sizeof *rows->x);
    if (status != LIMN_OK || !t->label_path)
        return status;
    if (lm_table_targets(t))
        return lm_stream_put(&t->labels, rows->targets, rows->n * sizeof *rows->targets);
    for (size_t i = 0; i < rows->n && status == LIMN_OK; i++)
        status = npy_class(t, rows->classes[i]);
    return status;
}

const lm_table_kind lm_npy_kind = {LIMN_FORMAT_NPY, true, npy_check, npy_begin, npy_put};

/* ---- IDX ---- */

enum { IDX_BYTE = 0x08, IDX_INT = 0x0c, IDX_FLOAT = 0x0d, IDX_DOUBLE = 0x0e };

static limn_status idx_check(lm_table_out *t) {
    const lm_schema *schema = t->shape.schema;
    char shown[48];
    if (t->shape.rows > UINT32_MAX || schema->features > UINT32_MAX)
        return lm_fail(t->ctx, LIMN_E_DATA,
                       "%s: too many rows or features for IDX, which counts them in 32 bits; write "
                       "NPY",
                       t->path);
    t->label_type = IDX_DOUBLE;
    if (!t->shape.labelled || lm_table_targets(t))
        return LIMN_OK;
    t->label_type = all_whole(&schema->labels, 0, UINT8_MAX) ? IDX_BYTE : IDX_INT;
    for (size_t i = 0; i < schema->labels.count; i++) {
        const char *name = schema->labels.names[i];
        int64_t value;
        if (!whole_name(name, &value) || value < INT32_MIN || value > INT32_MAX)
            return lm_fail(t->ctx, LIMN_E_DATA,
                           "%s: the label '%s' is not a 32-bit whole number, as IDX labels must "
                           "be; write NPY, CSV or ARFF",
                           t->path, lm_quote(name, strlen(name), shown));
    }
    return LIMN_OK;
}

static limn_status idx_begin(lm_table_out *t) {
    unsigned type = t->shape.bytes ? IDX_BYTE : IDX_FLOAT;
    put_big32(&t->data, type << 8 | 2);
    put_big32(&t->data, (uint32_t)t->shape.rows);
    limn_status status = put_big32(&t->data, (uint32_t)t->shape.schema->features);
    if (status != LIMN_OK || !t->label_path)
        return status;
    put_big32(&t->labels, (unsigned)t->label_type << 8 | 1);
    return put_big32(&t->labels, (uint32_t)t->shape.rows);
}

static limn_status idx_bytes(lm_table_out *t, const float *x, size_t count) {
    for (size_t j = 0; j < count; j++) {
        unsigned char byte = x[j] >= 0 && x[j] <= UINT8_MAX ? (unsigned char)x[j] : 0;
        char *p = lm_stream_room(&t->data, 1);
        if (!p)
            return t->data.status;
        if ((float)byte != x[j])
            return lm_table_changed(t);
        *p = (char)byte;
        lm_stream_took(&t->data, 1);
    }
    return LIMN_OK;
}

static limn_status idx_floats(lm_table_out *t, const float *x, size_t count) {
    limn_status status = LIMN_OK;
    for (size_t j = 0; j < count && status == LIMN_OK; j++) {
        uint32_t bits;
        memcpy(&bits, &x[j], sizeof bits);
        status = put_big32(&t->data, bits);
    }
    return status;
}

static limn_status idx_label(lm_table_out *t, const limn_rows *rows, size_t i) {
    if (lm_table_targets(t)) {
        uint64_t bits;
        memcpy(&bits, &rows->targets[i], sizeof bits);
        return put_big64(&t->labels, bits);
    }
    int64_t value = whole_class(t, rows->classes[i]);
    unsigned char byte = (unsigned char)value;
    return t->label_type == IDX_BYTE ? put_raw(&t->labels, &byte, 1)
                                     : put_big32(&t->labels, (uint32_t)(int32_t)value);
}

static limn_status idx_put(lm_table_out *t, const limn_rows *rows) {
    size_t count = rows->n * t->shape.schema->features;
    limn_status status =
        t->shape.bytes ? idx_bytes(t, rows->x, count) : idx_floats(t, rows->x, count);
    for (size_t i = 0; t->label_path && i < rows->n && status == LIMN_OK; i++)
        status = idx_label(t, rows, i);
    return status;
}

const lm_table_kind lm_idx_kind = {LIMN_FORMAT_IDX, true, idx_check, idx_begin, idx_put};
