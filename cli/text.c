/* text.c: formats numbers and names for people and for CSV readers. */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The command never calls setlocale, so the decimal separator is a point. */
const char *cli_text_double(double value, char *text) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, CLI_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

/* Three significant digits before the unit, in steps of 1000. */
static const char *with_unit(double value, const char *const *units, size_t count, char *text) {
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < count) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(text, CLI_NUMBER_BYTES, "%.*f%s", decimals, value, units[unit]);
    return text;
}

const char *cli_text_bytes(double bytes, char *text) {
    static const char *const units[] = {" bytes", " kB", " MB", " GB", " TB"};
    return with_unit(bytes, units, CLI_COUNT(units), text);
}

const char *cli_text_count(double count, char *text) {
    static const char *const units[] = {"", "k", "M", "G", "T"};
    return with_unit(count, units, CLI_COUNT(units), text);
}

const char *cli_text_touched(const limn_model_info *info, char *text, size_t size) {
    char count[CLI_NUMBER_BYTES], bytes[CLI_NUMBER_BYTES];
    cli_text_count(info->touched_vectors, count);
    snprintf(text, size, "%s vector%s (%s), mean over training rows", count,
             strcmp(count, "1") == 0 ? "" : "s", cli_text_bytes(info->touched_bytes, bytes));
    return text;
}

const char *cli_text_default_scale(limn_scale scale) {
    return scale == LIMN_SCALE_AUTO ? "chosen by evidence" : limn_scale_name(scale);
}

/* Names of up to three letters, such as lda and svm, are spelled out when spoken; longer ones are
 * words. */
const char *cli_article(const char *method) {
    const char *vowels = strlen(method) <= 3 ? "aefhilmnorsx" : "aeiou";
    return *method && strchr(vowels, *method) ? "an" : "a";
}

const char *cli_text_seconds(double seconds, char *text) {
    if (seconds < 60) {
        snprintf(text, CLI_NUMBER_BYTES, "%.2f s", seconds);
    } else {
        long whole = lround(seconds);
        snprintf(text, CLI_NUMBER_BYTES, "%ld min %ld s", whole / 60, whole % 60);
    }
    return text;
}

static bool continues_character(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t cli_text_width(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += !continues_character(*text);
    return width;
}

const char *cli_text_name(const char *name, size_t columns, char *text) {
    size_t used = 0, width = 0;
    bool cut = cli_text_width(name) > columns;
    for (; *name && used + 2 < CLI_NAME_BYTES; name++) {
        width += !continues_character(*name);
        if (width > columns - cut)
            break;
        text[used++] = iscntrl((unsigned char)*name) ? '?' : *name;
    }
    if (cut)
        text[used++] = '~';
    text[used] = '\0';
    return text;
}

static bool needs_quotes(const char *text) {
    size_t length = strlen(text);
    return strpbrk(text, ",\"\r\n") || length == 0 || text[0] == ' ' || text[length - 1] == ' ';
}

char *cli_csv_cell(const char *prefix, const char *name) {
    size_t size = strlen(prefix) + 2 * strlen(name) + 3;
    char *cell = malloc(size);
    if (!cell)
        return NULL;
    snprintf(cell, size, "%s%s", prefix, name);
    if (!needs_quotes(cell))
        return cell;
    char *to = cell;
    *to++ = '"';
    to = stpcpy(to, prefix);
    for (; *name; name++) {
        if (*name == '"')
            *to++ = '"';
        *to++ = *name;
    }
    *to++ = '"';
    *to = '\0';
    return cell;
}

void cli_wrap(FILE *file, size_t column, size_t indent, const char *text) {
    bool first = true;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (!first && column + 1 + length > CLI_COLUMNS) {
            fprintf(file, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', file);
            column++;
        }
        fwrite(text, 1, length, file);
        column += length;
        text += length;
        text += strspn(text, " ");
        first = false;
    }
    fputc('\n', file);
}

const char *cli_text_capabilities(unsigned bits, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (unsigned shift = 0; shift < 32; shift++) {
        const char *name = bits & (1u << shift) ? limn_capability_name(1u << shift) : NULL;
        if (name && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
    }
    return text;
}

int cli_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (int place = 0;; place++) {
        size_t size = strcspn(choices, "|");
        if (size == length && memcmp(choices, text, size) == 0)
            return place;
        if (!choices[size])
            return -1;
        choices += size + 1;
    }
}
