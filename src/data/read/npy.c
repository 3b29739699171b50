/* npy.c: the header of NPY, the format of numpy.save, versions 1 to 3:
 *
 *   93 "NUMPY", two bytes of version, the length of the text (2 bytes, from version 2 on 4; lowest
 *   first), the text of a Python dictionary, blanks and a newline; then the elements:
 *
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (150, 4), }
 *
 * descr is byte order (< lowest byte first, > highest first, | or = as it comes), kind and bytes.
 */
#include "data/read/array.h"

#include <string.h>

static const char magic[] = "\x93NUMPY";
enum {
    MAGIC_BYTES = 6,
    LENGTH_AT = 8,
    LAST_VERSION = 3,
    MOST_HEADER_BYTES = 1 << 16 /* plain arrays need far less */
};

lm_guess lm_npy_guess(const lm_text *text) {
    size_t held = text->end - text->begin;
    if (memcmp(text->data + text->begin, magic, held < MAGIC_BYTES ? held : MAGIC_BYTES) != 0)
        return LM_GUESS_NO;
    if (held >= MAGIC_BYTES)
        return LM_GUESS_YES;
    if (!text->eof)
        return LM_GUESS_UNSURE;
    return held ? LM_GUESS_YES : LM_GUESS_NO; /* no UTF-8 text begins like this */
}

/* ---- the dictionary ---- */

/* p is the first byte not yet read. Functions return false when they do not find what they
 * expect. */
typedef struct cursor {
    const char *p, *end;
} cursor;

typedef struct span {
    const char *text; /* NULL: none */
    size_t length;
} span;

/* The values as written in the text. */
typedef struct header {
    span descr, order, shape;
} header;

static void skip_space(cursor *c) {
    while (c->p < c->end && memchr(" \t\r\n", *c->p, 4))
        c->p++;
}

static bool take(cursor *c, char wanted) {
    skip_space(c);
    bool there = c->p < c->end && *c->p == wanted;
    c->p += there;
    return there;
}

static bool take_string(cursor *c, span *out) {
    char quote = take(c, '\'') ? '\'' : take(c, '"') ? '"' : 0;
    const char *stop = quote ? memchr(c->p, quote, (size_t)(c->end - c->p)) : NULL;
    if (!stop || memchr(c->p, '\\', (size_t)(stop - c->p)))
        return false;
    *out = (span){c->p, (size_t)(stop - c->p)};
    c->p = stop + 1;
    return true;
}

/* Steps over a value: a string, brackets and all inside, or a word. */
static bool take_value(cursor *c, span *out) {
    size_t depth = 0;
    span inside;
    skip_space(c);
    out->text = c->p;
    while (c->p < c->end && (depth || !memchr(",}", *c->p, 2))) {
        if (*c->p == '\'' || *c->p == '"') {
            if (!take_string(c, &inside))
                return false;
            continue;
        }
        if (memchr(")]}", *c->p, 3) && depth-- == 0)
            return false;
        depth += memchr("([{", *c->p, 3) != NULL;
        c->p++;
    }
    out->length = (size_t)(c->p - out->text);
    while (out->length && memchr(" \t\r\n", out->text[out->length - 1], 4))
        out->length--;
    return depth == 0 && out->length > 0;
}

static bool span_is(span s, const char *text) {
    return s.length == strlen(text) && memcmp(s.text, text, s.length) == 0;
}

/* False: c->p is where the text stops making sense. */
static bool parse_dictionary(cursor *c, header *h) {
    *h = (header){.descr = {NULL, 0}};
    if (!take(c, '{'))
        return false;
    while (!take(c, '}')) {
        span key, value;
        cursor at = *c;
        if (!take_string(c, &key) || !take(c, ':') || !take_value(c, &value))
            return false;
        if (span_is(key, "descr"))
            h->descr = value;
        else if (span_is(key, "fortran_order"))
            h->order = value;
        else if (span_is(key, "shape"))
            h->shape = value;
        else {
            *c = at;
            return false;
        }
        if (!take(c, ',')) {
            if (!take(c, '}'))
                return false;
            break;
        }
    }
    skip_space(c);
    return c->p == c->end && h->descr.text && h->order.text && h->shape.text;
}

typedef enum shape_result { SHAPE_DONE, SHAPE_BAD, SHAPE_TOO_LARGE } shape_result;

/* (), (5,), (5, 4), (5L, 4L) as Python 2 wrote it. */
static shape_result parse_shape(span text, lm_array *array) {
    cursor c = {text.text, text.text + text.length};
    if (!take(&c, '('))
        return SHAPE_BAD;
    for (bool comma = true; !take(&c, ')'); comma = take(&c, ',')) {
        size_t value = 0, digits = 0;
        skip_space(&c);
        for (; c.p < c.end && *c.p >= '0' && *c.p <= '9'; c.p++, digits++)
            if (!lm_mul(value, 10, &value) || !lm_add(value, (size_t)(*c.p - '0'), &value))
                return SHAPE_TOO_LARGE;
        if (!comma || !digits)
            return SHAPE_BAD;
        c.p += c.p < c.end && *c.p == 'L';
        if (array->dims == LM_ARRAY_DIMS)
            return SHAPE_TOO_LARGE;
        array->shape[array->dims++] = value;
    }
    return c.p == c.end ? SHAPE_DONE : SHAPE_BAD;
}

/* ---- the type of the elements ---- */

static limn_status refuse_type(const lm_array_file *file, span descr) {
    const char *name = lm_source_name(file->text->source);
    char shown[48], kind = 0;
    if (descr.length && !memchr("'\"", *descr.text, 2))
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: the array is structured, with named fields; save its numbers as a "
                       "plain array of two dimensions",
                       name);
    if (descr.length > 2) /* after the quote and the byte order */
        kind = descr.text[memchr("<>|=", descr.text[1], 4) ? 2 : 1];
    switch (kind) {
    case 'O':
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: the array holds Python objects; save plain numbers, for example "
                       "x.astype('float32')",
                       name);
    case 'c':
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: the array holds complex numbers; save their parts as columns", name);
    case 'M':
    case 'm':
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: the array holds dates or times; save them as numbers, for example "
                       "x.astype('int64')",
                       name);
    default:
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: elements of type %s cannot be read; save the array as float32, for "
                       "example x.astype('float32')",
                       name, lm_quote(descr.text, descr.length, shown));
    }
}

static const struct {
    char kind;
    size_t size; /* 0: any */
    lm_element element;
} types[] = {
    {'b', 1, LM_BOOL},   {'i', 1, LM_INT8},    {'u', 1, LM_UINT8},   {'i', 2, LM_INT16},
    {'u', 2, LM_UINT16}, {'i', 4, LM_INT32},   {'u', 4, LM_UINT32},  {'i', 8, LM_INT64},
    {'u', 8, LM_UINT64}, {'f', 2, LM_FLOAT16}, {'f', 4, LM_FLOAT32}, {'f', 8, LM_FLOAT64},
    {'S', 0, LM_BYTES},  {'a', 0, LM_BYTES},   {'U', 0, LM_UTF32},
};

/* descr as a string: [<>|=]kind bytes. */
static bool parse_descr(span descr, lm_array *array) {
    cursor c = {descr.text, descr.text + descr.length};
    span s;
    char order = '=';
    size_t number = 0;
    if (!take_string(&c, &s) || c.p != c.end)
        return false;
    if (s.length && memchr("<>|=", *s.text, 4)) {
        order = *s.text++;
        s.length--;
    }
    if (s.length < 2)
        return false;
    for (size_t i = 1; i < s.length; i++)
        if (s.text[i] < '0' || s.text[i] > '9' || !lm_mul(number, 10, &number) ||
            !lm_add(number, (size_t)(s.text[i] - '0'), &number))
            return false;
    array->big = order == '>' || (order != '<' && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    for (size_t i = 0; i < LM_COUNT(types); i++)
        if (types[i].kind == *s.text && number > 0 &&
            (types[i].size == number || types[i].size == 0)) {
            array->element = types[i].element;
            return lm_mul(number, types[i].element == LM_UTF32 ? 4 : 1, &array->size);
        }
    return false;
}

/* ---- the header ---- */

static limn_status damaged(const lm_array_file *file, const cursor *c) {
    return lm_fail(file->ctx, LIMN_E_DATA,
                   "%s: byte %zu: the header cannot be understood; save the array again",
                   lm_source_name(file->text->source),
                   (size_t)(c->p - (file->text->data + file->text->begin)) + 1);
}

static limn_status interpret(const lm_array_file *file, cursor *c, lm_array *array) {
    header h;
    *array = (lm_array){0};
    if (!parse_dictionary(c, &h))
        return damaged(file, c);
    array->fortran = span_is(h.order, "True");
    if (!array->fortran && !span_is(h.order, "False")) {
        c->p = h.order.text;
        return damaged(file, c);
    }
    if (!parse_descr(h.descr, array))
        return refuse_type(file, h.descr);
    switch (parse_shape(h.shape, array)) {
    case SHAPE_DONE:
        break;
    case SHAPE_BAD:
        c->p = h.shape.text;
        return damaged(file, c);
    case SHAPE_TOO_LARGE: {
        char shown[48];
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: an array of shape %s is too large; save fewer rows or features",
                       lm_source_name(file->text->source),
                       lm_quote(h.shape.text, h.shape.length, shown));
    }
    }
    return LIMN_OK;
}

limn_status lm_npy_header(const lm_array_file *file, lm_array *array) {
    lm_text *t = file->text;
    const char *name = lm_source_name(t->source);
    limn_status status = lm_array_await(file, LENGTH_AT);
    if (status != LIMN_OK)
        return status;
    const unsigned char *p = (const unsigned char *)t->data + t->begin;
    if (p[6] < 1 || p[6] > LAST_VERSION || p[7] != 0)
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: NPY version %d.%d is not known; save the array in version 1.0, 2.0 or "
                       "3.0",
                       name, p[6], p[7]);
    size_t start = LENGTH_AT + (p[6] == 1 ? 2 : 4);
    status = lm_array_await(file, start);
    if (status != LIMN_OK)
        return status;
    p = (const unsigned char *)t->data + t->begin;
    size_t length = p[8] | (size_t)p[9] << 8;
    if (start == LENGTH_AT + 4)
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (length > MOST_HEADER_BYTES)
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: a header of %zu bytes is too long for a plain array of numbers; save "
                       "the array again",
                       name, length);
    status = lm_array_await(file, start + length);
    if (status != LIMN_OK)
        return status;
    cursor c = {t->data + t->begin + start, t->data + t->begin + start + length};
    status = interpret(file, &c, array);
    if (status == LIMN_OK)
        t->begin += start + length;
    return status;
}

static limn_status npy_open(limn_reader *r) {
    lm_array array;
    lm_array_file file = {r->ctx, r, &r->text};
    limn_status status = lm_npy_header(&file, &array);
    if (status != LIMN_OK)
        return status;
    if (array.element >= LM_BYTES)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: the array holds text; save numbers, or save the table as CSV, where "
                       "text becomes categories",
                       lm_reader_name(r));
    if (array.dims < 2)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: the array has %s, but rows and features need two; save "
                       "x.reshape(-1, 1) for rows of one feature, or name it with --label-file if "
                       "it holds the labels",
                       lm_reader_name(r), array.dims ? "only one dimension" : "no dimension");
    return lm_array_open(r, &array);
}

static lm_guess npy_detect(const limn_reader *r) {
    return lm_npy_guess(&r->text);
}

const lm_format lm_npy_format = {
    LIMN_FORMAT_NPY, true, npy_detect, npy_open, lm_array_rows, lm_array_complete, lm_array_close};
