/* idx.c: the header of IDX, the format of the MNIST files:
 *
 *   00 00 TYPE DIMS, DIMS sizes of 4 bytes, the elements; everything big-endian.
 *
 * The first size counts the rows, the others become features: 28 x 28 pixels are 784. */
#include "data/read/array.h"

#include <string.h>

enum { MAGIC_BYTES = 3, SIZE_BYTES = 4 };

static const struct {
    unsigned char code;
    lm_element element;
    size_t size;
} types[] = {
    {0x08, LM_UINT8, 1}, {0x09, LM_INT8, 1},    {0x0b, LM_INT16, 2},
    {0x0c, LM_INT32, 4}, {0x0d, LM_FLOAT32, 4}, {0x0e, LM_FLOAT64, 8},
};

static size_t find_type(unsigned char code) {
    size_t i = 0;
    while (i < LM_COUNT(types) && types[i].code != code)
        i++;
    return i;
}

lm_guess lm_idx_guess(const lm_text *text) {
    const unsigned char *p = (const unsigned char *)text->data + text->begin;
    size_t held = text->end - text->begin;
    if ((held > 0 && p[0]) || (held > 1 && p[1]) ||
        (held > 2 && find_type(p[2]) == LM_COUNT(types)))
        return LM_GUESS_NO;
    if (held >= MAGIC_BYTES)
        return LM_GUESS_YES;
    if (!text->eof)
        return LM_GUESS_UNSURE;
    return held ? LM_GUESS_YES : LM_GUESS_NO; /* no text begins with a zero byte either */
}

limn_status lm_idx_header(const lm_array_file *file, lm_array *array) {
    lm_text *t = file->text;
    const char *name = lm_source_name(t->source);
    limn_status status = lm_array_await(file, MAGIC_BYTES + 1);
    if (status != LIMN_OK)
        return status;
    const unsigned char *p = (const unsigned char *)t->data + t->begin;
    size_t type = find_type(p[2]);
    *array = (lm_array){
        .element = types[type].element, .size = types[type].size, .big = true, .dims = p[3]};
    if (array->dims < 1 || array->dims > LM_ARRAY_DIMS)
        return lm_fail(file->ctx, LIMN_E_DATA,
                       "%s: %zu dimensions, but 1 to %d are expected; the file is damaged", name,
                       array->dims, LM_ARRAY_DIMS);
    size_t header = MAGIC_BYTES + 1 + array->dims * SIZE_BYTES;
    status = lm_array_await(file, header);
    if (status != LIMN_OK)
        return status;
    p = (const unsigned char *)t->data + t->begin + MAGIC_BYTES + 1;
    for (size_t i = 0; i < array->dims; i++, p += SIZE_BYTES)
        array->shape[i] = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
    t->begin += header;
    return LIMN_OK;
}

static limn_status idx_open(limn_reader *r) {
    lm_array array;
    lm_array_file file = {r->ctx, r, &r->text};
    limn_status status = lm_idx_header(&file, &array);
    if (status != LIMN_OK)
        return status;
    if (array.dims < 2)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: this looks like a label file, because it has only one dimension; name "
                       "the feature file, and give this one with --label-file",
                       lm_reader_name(r));
    return lm_array_open(r, &array);
}

static lm_guess idx_detect(const limn_reader *r) {
    return lm_idx_guess(&r->text);
}

const lm_format lm_idx_format = {
    LIMN_FORMAT_IDX, true, idx_detect, idx_open, lm_array_rows, lm_array_complete, lm_array_close};
