/* test_number.c: decimal text to float and double against strtof and strtod in the C locale, and
 * the kinds of cells. */
#include "base/base.h"
#include "data/number.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the two above */
#include <cmocka.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text as both readers need it: followed by something that is not a number, then padding. */
typedef struct padded {
    char bytes[1200];
    size_t length;
} padded;

static padded pad(const char *text) {
    padded p = {{0}, strlen(text)};
    assert_true(p.length + 20 < sizeof p.bytes);
    memcpy(p.bytes, text, p.length);
    p.bytes[p.length] = ',';
    memset(p.bytes + p.length + 1, '7', 16); /* digits: reading too far would show */
    return p;
}

/* Both float readers agree with strtof bit for bit, or all refuse. */
static void check_float(const char *text) {
    padded p = pad(text);
    float expected = strtof(text, NULL), value = NAN, fast = NAN;
    const char *end = lm_scan_float(p.bytes, &value);
    const char *fast_end = lm_scan_float_padded(p.bytes, &fast);
    if (isinf(expected)) {
        if (end || fast_end)
            fail_msg("%s was not refused", text);
        return;
    }
    if (end != p.bytes + p.length || fast_end != end)
        fail_msg("%s was not read to its end", text);
    if (memcmp(&value, &expected, sizeof value) != 0 || memcmp(&fast, &expected, sizeof fast) != 0)
        fail_msg("%s: %.9g and %.9g instead of %.9g", text, (double)value, (double)fast,
                 (double)expected);
}

static void check_double(const char *text) {
    padded p = pad(text);
    double expected = strtod(text, NULL), value = NAN;
    const char *end = lm_scan_double(p.bytes, &value);
    if (isinf(expected)) {
        if (end)
            fail_msg("%s was not refused", text);
        return;
    }
    if (end != p.bytes + p.length || memcmp(&value, &expected, sizeof value) != 0)
        fail_msg("%s: %.17g instead of %.17g", text, value, expected);
}

static float random_float(lm_rng *rng) {
    for (;;) {
        uint32_t bits = (uint32_t)lm_rng_next(rng);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            return value;
    }
}

static void test_printed_floats_read_back_as_strtof_reads_them(void **state) {
    (void)state;
    static const char *const formats[] = {"%.9g", "%.6f", "%.17g", "%.4f", "%g", "%.1e", "%.25g"};
    lm_rng rng = lm_rng_at(1, 1, 1);
    char text[1000];
    for (int i = 0; i < 60000; i++) {
        double wide = random_float(&rng), near = lm_rng_normal(&rng) * 10;
        for (size_t f = 0; f < LM_COUNT(formats); f++) {
            snprintf(text, sizeof text, formats[f], wide);
            check_float(text);
            check_double(text);
            snprintf(text, sizeof text, formats[f], near);
            check_float(text);
            check_double(text);
        }
    }
}

/* Numbers halfway between two floats, and their neighbours just below and above, are where an
 * error of one unit in the last place of a double shows. */
static void test_midpoints_between_floats_round_as_strtof_rounds_them(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(2, 1, 1);
    char text[1000];
    for (int i = 0; i < 60000; i++) {
        float a = i % 2 ? random_float(&rng) : (float)lm_rng_normal(&rng);
        float b = nextafterf(a, INFINITY);
        if (!isfinite(b))
            continue;
        double middle = ((double)a + (double)b) / 2;   /* exact */
        snprintf(text, sizeof text, "%.160g", middle); /* all its digits */
        check_float(text);
        snprintf(text, sizeof text, "%.17g", nextafter(middle, INFINITY));
        check_float(text);
        snprintf(text, sizeof text, "%.17g", nextafter(middle, -INFINITY));
        check_float(text);
        snprintf(text, sizeof text, "%.17g", middle);
        check_float(text);
        snprintf(text, sizeof text, "%.18g", middle);
        check_float(text);
        snprintf(text, sizeof text, "%.19g", middle);
        check_float(text);
        snprintf(text, sizeof text, "%.20g", middle);
        check_float(text);
    }
}

static void test_every_short_decimal_is_rounded_once(void **state) {
    (void)state;
    char text[64];
    for (int whole = 0; whole < 3; whole++)
        for (int part = 0; part < 100000; part += 7) {
            snprintf(text, sizeof text, "%d.%05d", whole, part);
            check_float(text);
            check_double(text);
            snprintf(text, sizeof text, "-%d%05de-%d", whole, part, part % 60);
            check_float(text);
            check_double(text);
        }
}

static const char *const odd_forms[] = {
    "0",
    "-0",
    "+0",
    "-0.0",
    "+1",
    ".5",
    "5.",
    "-.5",
    "00000000000000000000000001",
    "0.00000000000000000000000000000000000000000000000000000000000000000000000000000001e80",
    "1e38",
    "3.4028234663852886e38",
    "3.4028235677973366e38", /* halfway to the float that does not exist: infinity */
    "3.4028235677973365e38",
    "1e39",
    "-1e39",
    "1e-50",
    "1e-45",
    "7.0064923216240853e-46", /* half the smallest float */
    "7.0064923216240854e-46",
    "1.1754943508222875e-38",
    "1.1754942807573643e-38",
    "1.17549435e-38",
    "2.3509887e-38",
    "0e999999999999",
    "1e-999999999999999999999",
    "1e999999999999999999999",
    "12345678",
    "123456789",
    "1234567.12345678",
    "1234567.123456789",
    "0.123456789012345",
    "0.1234567890123456",
    "0.12345678901234567",
    "0.123456789012345678",
    "0.1234567890123456789",
    "16777217",
    "16777217.0000000000000000000000000001",
    "9007199254740993",
    "9007199254740992.9999999999999999999",
    "1E5",
    "1e+5",
    "1e-05",
    "1.e2",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
};

static void test_odd_forms_and_extremes(void **state) {
    (void)state;
    for (size_t i = 0; i < LM_COUNT(odd_forms); i++) {
        check_float(odd_forms[i]);
        check_double(odd_forms[i]);
    }
    char text[1000] = "";
    memset(text, '9', 400);
    check_float(text); /* too large */
    check_double(text);
    memcpy(text + 400, "e-399", 6);
    check_float(text);
    check_double(text);
    memset(text, '0', 400);
    text[1] = '.';
    memcpy(text + 400, "1234567e400", 12);
    check_float(text);
    check_double(text);
}

static void test_subnormal_floats_are_exact(void **state) {
    (void)state;
    char text[1000];
    for (uint32_t bits = 1; bits < 0x00ffffff; bits += 1 + bits / 300) {
        float value;
        memcpy(&value, &bits, sizeof value);
        snprintf(text, sizeof text, "%.9g", (double)value);
        check_float(text);
        snprintf(text, sizeof text, "%.160g", (double)value * 1.5);
        check_float(text);
    }
}

static void test_what_is_no_number_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",     "-",   "+",   ".",   "-.", "e5",   "0x1",   "inf", "nan", "1e",    "1e+",
        "1..2", "1 2", "--1", "+-1", "1-", "1e5.", "1e5e5", "abc", "0b1", "1_000", "½"};
    for (size_t i = 0; i < LM_COUNT(texts); i++) {
        padded p = pad(texts[i]);
        float value;
        double number;
        if (lm_scan_float(p.bytes, &value) == p.bytes + p.length)
            fail_msg("lm_scan_float took '%s'", texts[i]);
        if (lm_scan_float_padded(p.bytes, &value) == p.bytes + p.length)
            fail_msg("lm_scan_float_padded took '%s'", texts[i]);
        if (lm_scan_double(p.bytes, &number) == p.bytes + p.length)
            fail_msg("lm_scan_double took '%s'", texts[i]);
    }
}

static void test_the_locale_does_not_matter(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    bool set = false;
    for (size_t i = 0; i < LM_COUNT(names) && !set; i++)
        set = setlocale(LC_ALL, names[i]) && localeconv()->decimal_point[0] == ',';
    padded p = pad("1.5000000596046448"); /* a midpoint: the slow path */
    float value = 0;
    double number = 0;
    assert_ptr_equal(lm_scan_float(p.bytes, &value), p.bytes + p.length);
    assert_ptr_equal(lm_scan_double(p.bytes, &number), p.bytes + p.length);
    setlocale(LC_ALL, "C");
    assert_true(value == strtof("1.5000000596046448", NULL));
    assert_true(number == strtod("1.5000000596046448", NULL));
    if (!set)
        print_message("no locale with a decimal comma is installed: only C was tried\n");
}

static void test_cells_are_numbers_missing_infinite_or_text(void **state) {
    (void)state;
    static const struct {
        const char *text;
        lm_cell_kind kind;
    } cells[] = {
        {"1", LM_CELL_NUMBER},        {"-1.5e3", LM_CELL_NUMBER},     {"1e-50", LM_CELL_NUMBER},
        {"", LM_CELL_MISSING},        {"NA", LM_CELL_MISSING},        {"NaN", LM_CELL_MISSING},
        {"nan", LM_CELL_MISSING},     {"?", LM_CELL_MISSING},         {"Na", LM_CELL_TEXT},
        {"NAN", LM_CELL_TEXT},        {"inf", LM_CELL_INFINITE},      {"-Inf", LM_CELL_INFINITE},
        {"+INF", LM_CELL_INFINITE},   {"Infinity", LM_CELL_INFINITE}, {"1e39", LM_CELL_INFINITE},
        {"-1e999", LM_CELL_INFINITE}, {"information", LM_CELL_TEXT},  {"x", LM_CELL_TEXT},
        {"1x", LM_CELL_TEXT},         {"0x10", LM_CELL_TEXT},         {"1e", LM_CELL_TEXT},
        {"-", LM_CELL_TEXT},
    };
    for (size_t i = 0; i < LM_COUNT(cells); i++) {
        float value;
        lm_cell_kind kind = lm_cell_classify(cells[i].text, strlen(cells[i].text), &value);
        if (kind != cells[i].kind)
            fail_msg("'%s' is kind %d instead of %d", cells[i].text, kind, cells[i].kind);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printed_floats_read_back_as_strtof_reads_them),
        cmocka_unit_test(test_midpoints_between_floats_round_as_strtof_rounds_them),
        cmocka_unit_test(test_every_short_decimal_is_rounded_once),
        cmocka_unit_test(test_odd_forms_and_extremes),
        cmocka_unit_test(test_subnormal_floats_are_exact),
        cmocka_unit_test(test_what_is_no_number_is_refused),
        cmocka_unit_test(test_the_locale_does_not_matter),
        cmocka_unit_test(test_cells_are_numbers_missing_infinite_or_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
