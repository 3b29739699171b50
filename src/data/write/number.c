/* number.c: floats as the shortest decimal text that reads back as the same float.
 *
 * Notation: every real number between lo and hi, the middles between value and its neighbours,
 * reads back as value. Scaled by a power of ten, so that value has nine digits before the point, lo
 * and hi are at least 5 apart. So a whole number of nine digits is always enough, and the one
 * between lo and hi with the most trailing zeros is shortest.
 *
 * The scaling is done in doubles: three roundings of 2^-53 each on numbers below 1.5e9, so less
 * than SLACK. The bounds are widened by SLACK; a candidate that close to a bound is read back, and
 * rejected if it gives another float. So the result is always correct and the shortest possible. */
#include "data/number.h"
#include "data/write/write_impl.h"

#include <string.h>

#define SLACK 1e-6

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

static size_t digit_count(uint32_t value) {
    static const uint32_t bound[] = {10,      100,      1000,      10000,     100000,
                                     1000000, 10000000, 100000000, 1000000000};
    size_t count = 1;
    while (count <= LM_COUNT(bound) && value >= bound[count - 1])
        count++;
    return count;
}

size_t lm_format_whole(uint32_t value, char *text) {
    size_t count = digit_count(value);
    char *p = text + count;
    while (value >= 100) {
        p -= 2;
        memcpy(p, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(text, pairs + value * 2, 2);
    else
        *text = (char)('0' + value);
    return count;
}

/* digits * 10^exponent as text: plain from 0.0001 to nine digits, else with an exponent. */
static size_t lay_out(uint32_t digits, int exponent, char *text) {
    char d[16];
    size_t count = lm_format_whole(digits, d);
    int point = exponent + (int)count; /* digits before the point */
    char *p = text;
    if (point > -4 && point <= 0) {
        memcpy(p, "0.000", 5);
        p += 2 - point;
        memcpy(p, d, count);
        return (size_t)(p - text) + count;
    }
    if (point > 0 && point <= 9) {
        size_t whole = (size_t)point < count ? (size_t)point : count;
        memset(p, '0', (size_t)point);
        memcpy(p, d, whole);
        p += point;
        if (count > whole) {
            *p++ = '.';
            memcpy(p, d + whole, count - whole);
            p += count - whole;
        }
        return (size_t)(p - text);
    }
    *p++ = d[0];
    if (count > 1) {
        *p++ = '.';
        memcpy(p, d + 1, count - 1);
        p += count - 1;
    }
    *p++ = 'e';
    int power = point - 1;
    if (power < 0)
        *p++ = '-';
    p += lm_format_whole((uint32_t)(power < 0 ? -power : power), p);
    return (size_t)(p - text);
}

static bool reads_back(uint32_t digits, int exponent, float value) {
    char text[LM_NUMBER_BYTES];
    float back;
    text[lay_out(digits, exponent, text)] = '\0';
    return lm_scan_float(text, &back) && back == value;
}

typedef struct scaled {
    double at, lo, hi;
    int exponent; /* value = at * 10^exponent */
} scaled;

static scaled scale(float value) {
    uint32_t bits;
    float below;
    memcpy(&bits, &value, sizeof bits);
    uint32_t less = bits - 1;
    memcpy(&below, &less, sizeof below);
    double v = value, gap = v - (double)below;
    /* The neighbour above is as far away as the one below, or twice as far for powers of two. */
    bool power = (bits & 0x7fffff) == 0 && bits > 0x800000;
    double lo = v - gap / 2, hi = v + (power ? gap : gap / 2);
    uint64_t wide;
    memcpy(&wide, &v, sizeof wide);
    int binary = (int)(wide >> 52) - 1023;
    int ten = (binary * 1233) >> 12; /* floor(log10(2^binary)), or one less */
    double unit = lm_pow10[ten - LM_POW10_MIN];
    if (v >= unit * 10)
        ten++;
    int shift = 8 - ten;
    double factor = shift <= LM_POW10_MAX ? lm_pow10[shift - LM_POW10_MIN]
                                          : 1.0 / lm_pow10[-shift - LM_POW10_MIN];
    return (scaled){v * factor, lo * factor, hi * factor, -shift};
}

/* The multiple of unit nearest to value, if one between lo and hi is sure to read back as it. */
static bool try_unit(const scaled *s, uint32_t unit, int zeros, float value, uint32_t *digits) {
    uint32_t nearest = (uint32_t)(s->at / unit + 0.5);
    uint32_t first = nearest ? nearest - 1 : 0;
    uint32_t order[] = {nearest, nearest + 1, first};
    for (size_t i = 0; i < LM_COUNT(order); i++) {
        double at = (double)order[i] * unit;
        if (at < s->lo - SLACK || at > s->hi + SLACK || !order[i])
            continue;
        bool sure = at > s->lo + SLACK && at < s->hi - SLACK;
        *digits = order[i];
        if (sure || reads_back(order[i], s->exponent + zeros, value))
            return true;
    }
    return false;
}

/* value is positive. */
static size_t shortest(float value, char *text) {
    scaled s = scale(value);
    uint64_t low = (uint64_t)(s.lo - SLACK) + 1, high = (uint64_t)(s.hi + SLACK), unit = 1;
    int zeros = 0;
    for (uint64_t rest = high / 10; rest * unit * 10 >= low && rest; rest /= 10) {
        unit *= 10;
        zeros++;
    }
    uint32_t digits = 0;
    while (!try_unit(&s, (uint32_t)unit, zeros, value, &digits) && zeros) {
        unit /= 10;
        zeros--;
    }
    return lay_out(digits, s.exponent + zeros, text);
}

size_t lm_format_float(float value, char *text) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    size_t sign = bits >> 31;
    *text = '-';
    float size = sign ? -value : value;
    if (size < 0x1p24f) {
        uint32_t whole = (uint32_t)size;
        if ((float)whole == size)
            return sign + lm_format_whole(whole, text + sign);
    }
    return sign + shortest(size, text + sign);
}
