/* text.c: numbers to and from text, regardless of the locale, and quoting for error messages. */
#include "base/base.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 1200 }; /* enough for any double written out in full */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* [+-]digits[.digits][e[+-]digits] with at least one digit before the exponent. */
static bool is_decimal(const char *s, const char *end) {
    size_t digits = 0;
    if (s < end && (*s == '+' || *s == '-'))
        s++;
    for (; s < end && *s >= '0' && *s <= '9'; s++)
        digits++;
    if (s < end && *s == '.')
        for (s++; s < end && *s >= '0' && *s <= '9'; s++)
            digits++;
    if (!digits)
        return false;
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        if (s < end && (*s == '+' || *s == '-'))
            s++;
        if (s == end)
            return false;
        while (s < end && *s >= '0' && *s <= '9')
            s++;
    }
    return s == end;
}

bool lm_parse_double(const char *text, size_t length, double *value) {
    const char *end = text + length;
    while (text < end && is_blank(*text))
        text++;
    while (end > text && is_blank(end[-1]))
        end--;
    if (!is_decimal(text, end) || end - text >= NUMBER_BYTES)
        return false;
    char copy[NUMBER_BYTES];
    memcpy(copy, text, (size_t)(end - text));
    copy[end - text] = '\0';
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant in glibc and musl */
    if (!c)
        return false;
    *value = strtod_l(copy, NULL, c);
    freelocale(c);
    return true;
}

size_t lm_format_double(double value, char *text) {
    int length = 0;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = c ? uselocale(c) : (locale_t)0;
    /* below the normal range fewer than 15 digits can be enough */
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        length = snprintf(text, 32, "%.*g", digits, value);
        if (value != value || strtod(text, NULL) == value)
            break;
    }
    if (c) {
        uselocale(before);
        freelocale(c);
    }
    return length > 0 ? (size_t)length : 0;
}

const char *lm_quote(const char *text, size_t length, char *out) {
    size_t shown = length > 40 ? 37 : length;
    if (length > 40) /* do not cut inside a multi-byte character */
        while (shown > 34 && ((unsigned char)text[shown] & 0xc0) == 0x80)
            shown--;
    for (size_t i = 0; i < shown; i++)
        out[i] = (unsigned char)text[i] < 32 || text[i] == 127 ? '?' : text[i];
    memcpy(out + shown, length > 40 ? "..." : "", length > 40 ? 4 : 1);
    return out;
}
