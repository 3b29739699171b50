/* number.c: the rarer parts of parsing decimal text, and the kinds of cells.
 *
 * Where the fast path of lm_scan_float cannot be sure of the rounding, strtof in the C locale
 * decides (a constant object in glibc and musl, so taking it costs nothing). */
#include "data/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* 10^i, each the nearest double. */
const double lm_pow10[LM_POW10_MAX - LM_POW10_MIN + 1] = {
    1e-64, 1e-63, 1e-62, 1e-61, 1e-60, 1e-59, 1e-58, 1e-57, 1e-56, 1e-55, 1e-54, 1e-53, 1e-52,
    1e-51, 1e-50, 1e-49, 1e-48, 1e-47, 1e-46, 1e-45, 1e-44, 1e-43, 1e-42, 1e-41, 1e-40, 1e-39,
    1e-38, 1e-37, 1e-36, 1e-35, 1e-34, 1e-33, 1e-32, 1e-31, 1e-30, 1e-29, 1e-28, 1e-27, 1e-26,
    1e-25, 1e-24, 1e-23, 1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13,
    1e-12, 1e-11, 1e-10, 1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,  1e0,
    1e1,   1e2,   1e3,   1e4,   1e5,   1e6,   1e7,   1e8,   1e9,   1e10,  1e11,  1e12,  1e13,
    1e14,  1e15,  1e16,  1e17,  1e18,  1e19,  1e20,  1e21,  1e22,  1e23,  1e24,  1e25,  1e26,
    1e27,  1e28,  1e29,  1e30,  1e31,  1e32,  1e33,  1e34,  1e35,  1e36,  1e37,  1e38,
};

/* Beyond it every number is 0 or too large, for any mantissa that fits in memory. */
#define EXPONENT_CAP (PTRDIFF_MAX / 32)

const char *lm_decimal_exponent(const char *p, lm_decimal *number) {
    bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    ptrdiff_t exponent = 0;
    const char *first = p;
    for (; *p >= '0' && *p <= '9'; p++)
        if (exponent < EXPONENT_CAP)
            exponent = exponent * 10 + (*p - '0');
    if (p == first)
        return NULL;
    number->exponent += negative ? -exponent : exponent;
    return p;
}

/* Keeps the first 18 significant digits of the mantissa p..end. */
void lm_decimal_recount(const char *p, const char *end, lm_decimal *number) {
    uint64_t digits = 0;
    ptrdiff_t exponent = 0;
    int count = 0;
    bool fraction = false;
    for (; p < end; p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (count < LM_DECIMAL_DIGITS) {
            digits = digits * 10 + (uint64_t)(*p - '0');
            count += digits != 0;
            exponent -= fraction;
        } else {
            exponent += !fraction;
        }
    }
    number->digits = digits;
    number->exponent = exponent;
}

const char *lm_float_slow(const char *text, const char *end, float *value) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return NULL;
    float v = strtof_l(text, NULL, c);
    freelocale(c);
    if (!isfinite(v))
        return NULL;
    *value = v;
    return end;
}

const char *lm_scan_double(const char *text, double *value) {
    enum { EXACT_POWER = 22 }; /* the largest power of ten that a double holds exactly */
    lm_decimal number;
    const char *end = lm_decimal_scan(text, &number);
    if (!end)
        return NULL;
    /* Both operands exact: one rounding. If the kept digits are below 2^53, none were dropped. */
    if (number.digits < UINT64_C(1) << 53 && number.exponent >= -EXACT_POWER &&
        number.exponent <= EXACT_POWER && end - text <= LM_DECIMAL_DIGITS) {
        double v = (double)number.digits;
        if (number.exponent < 0)
            v /= lm_pow10[-number.exponent - LM_POW10_MIN];
        else
            v *= lm_pow10[number.exponent - LM_POW10_MIN];
        *value = number.negative ? -v : v;
        return end;
    }
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return NULL;
    double v = strtod_l(text, NULL, c);
    freelocale(c);
    if (!isfinite(v))
        return NULL;
    *value = v;
    return end;
}

bool lm_cell_missing(const char *text, size_t length) {
    switch (length) {
    case 0:
        return true;
    case 1:
        return text[0] == '?';
    case 2:
        return memcmp(text, "NA", 2) == 0;
    case 3:
        return memcmp(text, "NaN", 3) == 0 || memcmp(text, "nan", 3) == 0;
    }
    return false;
}

static bool is_infinity(const char *text, size_t length) {
    if (length && (*text == '-' || *text == '+')) {
        text++;
        length--;
    }
    return (length == 3 && strncasecmp(text, "inf", 3) == 0) ||
           (length == 8 && strncasecmp(text, "infinity", 8) == 0);
}

lm_cell_kind lm_cell_classify(const char *text, size_t length, float *value) {
    if (lm_cell_missing(text, length))
        return LM_CELL_MISSING;
    if (lm_scan_float(text, value) == text + length)
        return LM_CELL_NUMBER;
    lm_decimal number;
    if (is_infinity(text, length) || lm_decimal_scan(text, &number) == text + length)
        return LM_CELL_INFINITE;
    return LM_CELL_TEXT;
}
