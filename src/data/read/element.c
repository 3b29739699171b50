/* element.c: one element of an array: a number, or text of a fixed size padded with zeros. Numbers
 * may have any byte order and alignment. */
#include "data/number.h"
#include "data/read/array.h"

#include <endian.h>
#include <math.h>
#include <string.h>

static float half_value(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff, bits;
    if (rest < 0x0400) { /* zero, or below the normal range */
        float small = (float)rest * 0x1p-24f;
        return sign ? -small : small;
    }
    bits = sign | (rest >= 0x7c00 ? 0x7f800000 | rest << 13 : (rest << 13) + (112u << 23));
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define DEFINE_DECODER(name, bits, order, type, convert)                        \
    static void decode_##name(const unsigned char *restrict from, size_t count, \
                              float *restrict to) {                             \
        for (size_t i = 0; i < count; i++) {                                    \
            uint##bits##_t raw;                                                 \
            type value;                                                         \
            memcpy(&raw, from + i * sizeof raw, sizeof raw);                    \
            raw = order(raw);                                                   \
            memcpy(&value, &raw, sizeof value);                                 \
            to[i] = (float)convert(value);                                      \
        }                                                                       \
    }
#define DEFINE_DECODERS(name, bits, type, convert)                    \
    DEFINE_DECODER(name##_little, bits, le##bits##toh, type, convert) \
    DEFINE_DECODER(name##_big, bits, be##bits##toh, type, convert)
#define SAME(value) (value)
#define TRUTH(value) ((value) != 0)

DEFINE_DECODER(bool, 8, SAME, uint8_t, TRUTH)
DEFINE_DECODER(int8, 8, SAME, int8_t, SAME)
DEFINE_DECODER(uint8, 8, SAME, uint8_t, SAME)
DEFINE_DECODERS(int16, 16, int16_t, SAME)
DEFINE_DECODERS(uint16, 16, uint16_t, SAME)
DEFINE_DECODERS(int32, 32, int32_t, SAME)
DEFINE_DECODERS(uint32, 32, uint32_t, SAME)
DEFINE_DECODERS(int64, 64, int64_t, SAME)
DEFINE_DECODERS(uint64, 64, uint64_t, SAME)
DEFINE_DECODERS(float16, 16, uint16_t, half_value)
DEFINE_DECODERS(float32, 32, float, SAME)
DEFINE_DECODERS(float64, 64, double, SAME)

/* By element; then lowest byte first, highest byte first. */
static lm_decoder *const decoders[][2] = {
    {decode_bool, decode_bool},
    {decode_int8, decode_int8},
    {decode_uint8, decode_uint8},
    {decode_int16_little, decode_int16_big},
    {decode_uint16_little, decode_uint16_big},
    {decode_int32_little, decode_int32_big},
    {decode_uint32_little, decode_uint32_big},
    {decode_int64_little, decode_int64_big},
    {decode_uint64_little, decode_uint64_big},
    {decode_float16_little, decode_float16_big},
    {decode_float32_little, decode_float32_big},
    {decode_float64_little, decode_float64_big},
};

lm_decoder *lm_element_decoder(const lm_array *array) {
    return decoders[array->element][array->big];
}

/* The bits of the number at p. */
static uint64_t raw_bits(const lm_array *array, const unsigned char *p) {
    uint64_t bits = 0;
    for (size_t i = 0; i < array->size; i++)
        bits = bits << 8 | p[array->big ? i : array->size - 1 - i];
    return bits;
}

static bool is_float(const lm_array *array) {
    return array->element >= LM_FLOAT16 && array->element <= LM_FLOAT64;
}

static double float_value(const lm_array *array, const unsigned char *p) {
    uint64_t bits = raw_bits(array, p);
    uint32_t low = (uint32_t)bits;
    float single;
    double value;
    if (array->element == LM_FLOAT16)
        return (double)half_value((uint16_t)bits);
    if (array->element == LM_FLOAT32) {
        memcpy(&single, &low, sizeof single);
        return (double)single;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A whole number as sign and magnitude, for all 64 bits of both kinds. */
static uint64_t whole_value(const lm_array *array, const unsigned char *p, bool *negative) {
    uint64_t bits = raw_bits(array, p);
    bool has_sign = array->element == LM_INT8 || array->element == LM_INT16 ||
                    array->element == LM_INT32 || array->element == LM_INT64;
    size_t unused = 64 - 8 * array->size;
    *negative = has_sign && bits << unused >> 63;
    if (array->element == LM_BOOL)
        return bits != 0;
    return *negative ? (UINT64_C(0) - bits) << unused >> unused : bits;
}

double lm_element_number(const lm_array *array, const unsigned char *p) {
    bool negative;
    if (is_float(array))
        return float_value(array, p);
    double magnitude = (double)whole_value(array, p, &negative);
    return negative ? -magnitude : magnitude;
}

static size_t whole_text(uint64_t magnitude, bool negative, char *text) {
    char digits[20];
    size_t count = 0, length = 0;
    do
        digits[count++] = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (negative)
        text[length++] = '-';
    while (count)
        text[length++] = digits[--count];
    text[length] = '\0';
    return length;
}

size_t lm_element_text(const lm_array *array, const unsigned char *p, char *text) {
    bool negative;
    if (!is_float(array)) {
        uint64_t magnitude = whole_value(array, p, &negative);
        return whole_text(magnitude, negative, text);
    }
    double value = float_value(array, p);
    if (isnan(value)) {
        memcpy(text, "nan", 4); /* C may print a sign */
        return 3;
    }
    if (fabs(value) < 0x1p53 && value == trunc(value))
        return whole_text((uint64_t)fabs(value), value < 0, text);
    if (array->size <= sizeof(float)) /* 0.1 stays 0.1 */
        return lm_format_float((float)value, text);
    return lm_format_double(value, text);
}

static bool append_utf8(lm_buffer *out, uint32_t c) {
    unsigned char bytes[4];
    size_t count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = count; i-- > 1; c >>= 6)
        bytes[i] = (unsigned char)(0x80 | (c & 0x3f));
    bytes[0] = (unsigned char)(first[count] | c);
    return lm_buffer_append(out, bytes, count);
}

lm_string_result lm_element_string(const lm_array *array, const unsigned char *p, lm_buffer *out) {
    static const unsigned char zeros[4] = {0};
    lm_array character = {.element = LM_UINT32, .size = 4, .big = array->big};
    size_t unit = array->element == LM_UTF32 ? 4 : 1, size = array->size;
    while (size && memcmp(p + size - unit, zeros, unit) == 0)
        size -= unit;
    out->size = 0;
    for (size_t i = 0; i < size; i += unit) {
        uint32_t c = unit == 1 ? p[i] : (uint32_t)raw_bits(&character, p + i);
        if (c == 0)
            return LM_STRING_ZERO;
        if (unit == 4 && (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
            return LM_STRING_NO_CHARACTER;
        if (!(unit == 1 ? lm_buffer_append(out, p + i, 1) : append_utf8(out, c)))
            return LM_STRING_MEMORY;
    }
    if (!lm_buffer_append(out, "", 1))
        return LM_STRING_MEMORY;
    out->size--;
    return LM_STRING_DONE;
}
