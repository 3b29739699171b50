/* number.h: decimal text to binary and back, regardless of the locale, and what a cell of a table
 * holds.
 *
 * A number is [+-]digits[.digits][e[+-]digits] with at least one digit before the exponent. The
 * functions read until the number ends, so a byte that cannot be part of a number must follow the
 * text. Nothing after that byte is read, unless the name says "padded". */
#ifndef LIMN_DATA_NUMBER_H
#define LIMN_DATA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number is (-1)^negative * digits * 10^exponent, except for digits after the 18th. */
typedef struct lm_decimal {
    uint64_t digits;
    ptrdiff_t exponent;
    bool negative;
} lm_decimal;

enum { LM_DECIMAL_DIGITS = 18, LM_POW10_MIN = -64, LM_POW10_MAX = 38 };
extern const double lm_pow10[LM_POW10_MAX - LM_POW10_MIN + 1];

/* The rarer parts of the functions below. */
const char *lm_decimal_exponent(const char *p, lm_decimal *number);
void lm_decimal_recount(const char *p, const char *end, lm_decimal *number);
const char *lm_float_slow(const char *text, const char *end, float *value);

/* The first byte after the number at p, or NULL when there is no number. */
static inline const char *lm_decimal_scan(const char *p, lm_decimal *number) {
    number->negative = *p == '-';
    p += *p == '-' || *p == '+';
    const char *first = p;
    uint64_t digits = 0;
    unsigned digit;
    for (; (digit = (unsigned)(unsigned char)*p - '0') <= 9; p++)
        digits = digits * 10 + digit;
    ptrdiff_t count = p - first;
    number->exponent = 0;
    if (*p == '.') {
        const char *dot = p++;
        for (; (digit = (unsigned)(unsigned char)*p - '0') <= 9; p++)
            digits = digits * 10 + digit;
        number->exponent = dot + 1 - p;
        count = p - first - 1;
    }
    if (count == 0)
        return NULL;
    number->digits = digits;
    if (__builtin_expect(count > LM_DECIMAL_DIGITS, 0))
        lm_decimal_recount(first, p, number);
    if ((*p | 0x20) == 'e')
        return lm_decimal_exponent(p + 1, number);
    return p;
}

/* How many of the 8 bytes at p are digits, counted from the first, and their value: 8 at a time and
 * without a branch on the length, which is unpredictable. */
static inline unsigned lm_digits8(const char *p, uint64_t *value) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    v ^= 0x3030303030303030; /* digits become 0..9, all other bytes more */
    uint64_t other = (v | (v + 0x7676767676767676)) & 0x8080808080808080;
    unsigned count = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    v = count ? v << (64 - 8 * count) : 0; /* leading zeros, the last digit in the top byte */
    v = (v * 10 + (v >> 8)) & 0x00ff00ff00ff00ff;
    v = (v * 100 + (v >> 16)) & 0x0000ffff0000ffff;
    *value = (v * 10000 + (v >> 32)) & 0xffffffff;
    return count;
}

/* lm_decimal_scan for text followed by 16 readable bytes. */
static inline const char *lm_decimal_scan_padded(const char *p, lm_decimal *number) {
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const char *text = p;
    uint64_t part, digits;
    number->negative = *p == '-';
    p += (*p == '-') | (*p == '+');
    unsigned whole = lm_digits8(p, &digits), places = 0;
    p += whole;
    if (*p == '.') {
        places = lm_digits8(++p, &part);
        p += places;
        digits = digits * power[places] + part;
        if (places == 8) {
            unsigned more = lm_digits8(p, &part);
            p += more;
            digits = digits * power[more] + part;
            places += more;
        }
    }
    if (__builtin_expect(whole == 8 || whole + places > 15, 0)) /* there may be more digits */
        return lm_decimal_scan(text, number);
    if (whole + places == 0)
        return NULL;
    number->digits = digits;
    number->exponent = -(ptrdiff_t)places;
    if ((*p | 0x20) == 'e')
        return lm_decimal_exponent(p + 1, number);
    return p;
}

/* The nearest float; end is what the scan of text returned.
 *
 * digits, the power of ten and their product each carry at most half a unit in the last place of a
 * double, dropped digits a tenth: v is within 4 units, and the float nearest to v is the float
 * nearest to the number unless v lies that close to the midpoint of two floats. */
static inline const char *lm_decimal_float(const char *text, const char *end,
                                           const lm_decimal *number, float *value) {
    if (number->exponent >= LM_POW10_MIN && number->exponent <= LM_POW10_MAX) {
        double v = (double)(int64_t)number->digits * lm_pow10[number->exponent - LM_POW10_MIN];
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        uint64_t from_middle = (bits & 0x1fffffff) - (0x10000000 - 8);
        bool sure = (v >= 0x1p-125) & (v <= 0x1.fffffp127) & (from_middle > 16);
        if (sure | (number->digits == 0)) {
            bits |= (uint64_t)number->negative << 63;
            memcpy(&v, &bits, sizeof v);
            *value = (float)v;
            return end;
        }
    }
    return lm_float_slow(text, end, value);
}

/* The float at text, rounded once to nearest; returns the byte after it, or NULL when there is no
 * number or it is too large for a float. */
static inline const char *lm_scan_float(const char *text, float *value) {
    lm_decimal number;
    const char *end = lm_decimal_scan(text, &number);
    return end ? lm_decimal_float(text, end, &number, value) : NULL;
}

/* The same, faster, for text followed by 16 readable bytes. */
static inline const char *lm_scan_float_padded(const char *text, float *value) {
    lm_decimal number;
    const char *end = lm_decimal_scan_padded(text, &number);
    return end ? lm_decimal_float(text, end, &number, value) : NULL;
}

/* The same for a double. */
const char *lm_scan_double(const char *text, double *value);

typedef enum lm_cell_kind {
    LM_CELL_NUMBER,
    LM_CELL_INFINITE, /* "inf", or too large for a float */
    LM_CELL_MISSING,  /* "", NA, NaN, nan, ? */
    LM_CELL_TEXT
} lm_cell_kind;

bool lm_cell_missing(const char *text, size_t length);
/* What text[0..length) is, without blanks around it; *value only for a number. */
lm_cell_kind lm_cell_classify(const char *text, size_t length, float *value);

/* ---- write/number.c: binary to text ---- */

enum { LM_NUMBER_BYTES = 32 };

/* The shortest decimal text that reads back as the same float, including -0 and subnormal numbers;
 * value is finite. Returns its length, below LM_NUMBER_BYTES; no zero byte is added. */
size_t lm_format_float(float value, char *text);
size_t lm_format_whole(uint32_t value, char *text);

#endif
