/* encode.c: turns cells into features.
 *
 * With match the model says what each column is: a number becomes its feature, a category sets one
 * of its column's features to 1, a missing cell becomes the fill value that the model stores.
 *
 * Without match the file decides. The first cell of a column that is not missing decides whether it
 * holds numbers or categories. Both in one column are an error, as that is usually a mistake;
 * naming the column (options.categorical) allows it, and numbers are then categories as well. Rows
 * hold one float per column until all categories and all missing cells are known, when
 * lm_reader_spread turns them into features:
 *
 *   number    the value                     missing: the median (mean of the two in the middle)
 *   category  its number in sorted order    missing: the most frequent one, ties to the first */
#include "base/quickselect.h"
#include "data/number.h"
#include "data/read/columns.h"
#include "data/read/reader_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* More than that is text not meant as categories: names, identifiers, remarks. */
enum { MOST_CATEGORIES = 1000 };

/* ---- which columns ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* One name of options.categorical; only feature columns qualify. */
static limn_status choose_column(limn_reader *r, const char *text, size_t length) {
    char shown[48];
    const lm_schema *s = &r->schema;
    size_t found = LM_NO_COLUMN, place = 0;
    for (size_t c = 0; c < s->columns && found == LM_NO_COLUMN; c++) {
        const char *name = lm_schema_column_name(s, c);
        if (name && strlen(name) == length && memcmp(name, text, length) == 0)
            found = c;
    }
    bool label = s->label_column != LM_NO_COLUMN, weight = s->weight_column != LM_NO_COLUMN;
    if (found == LM_NO_COLUMN)
        place = lm_columns_find(NULL, s->columns + label + weight, text, length);
    if (found == LM_NO_COLUMN && place != LM_NO_COLUMN && place != s->label_column &&
        place != s->weight_column) {
        found = place - (s->label_column < place) - (s->weight_column < place);
    }
    if (found == LM_NO_COLUMN)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: '%s' is not a feature column, so it cannot be categorical; give a name "
                       "from the header or a column number counted from 1",
                       lm_reader_name(r), lm_quote(text, length, shown));
    r->kind[found] = LM_COLUMN_CHOSEN;
    return LIMN_OK;
}

limn_status lm_reader_open_columns(limn_reader *r) {
    if (r->options.categorical && !r->whole)
        return lm_fail(r->ctx, LIMN_E_USAGE,
                       "%s: the categories of a column are known only at the end of the file; read "
                       "it as a whole",
                       lm_reader_name(r));
    limn_status status = lm_schema_add_columns(r->ctx, &r->schema);
    if (status != LIMN_OK)
        return status;
    r->kind = lm_alloc_zero(&r->mem, r->schema.columns, sizeof *r->kind);
    r->kind_line = lm_alloc_zero(&r->mem, r->schema.columns, sizeof *r->kind_line);
    if (!r->kind || !r->kind_line)
        return lm_fail_memory(r->ctx);
    const char *p = r->options.categorical;
    while (p && *p && status == LIMN_OK) {
        size_t length = strcspn(p, ","), from = 0, to = length;
        while (from < to && is_blank(p[from]))
            from++;
        while (to > from && is_blank(p[to - 1]))
            to--;
        status = choose_column(r, p + from, to - from);
        p += length;
        p += *p == ',';
    }
    return status;
}

/* ---- cells with match ---- */

static limn_status unknown_category(limn_reader *r, const lm_place *place, const char *text,
                                    size_t length) {
    char shown[48];
    return lm_reader_fail(r, place,
                          "the model did not see the category '%s' in training; correct it, or use "
                          "--unknown-category zero to treat it as none of the known ones",
                          lm_quote(text, length, shown));
}

static void set_category(const lm_column *column, float *row, double category) {
    memset(row + column->first, 0, column->categories.count * sizeof *row);
    if (category >= 0)
        row[column->first + (size_t)category] = 1;
}

static limn_status match_missing(limn_reader *r, const lm_place *place, const lm_column *column,
                                 size_t feature, lm_sink *sink) {
    float *row = sink->x + sink->n * sink->stride;
    if (column && !isnan(column->fill)) {
        if (column->categories.count)
            set_category(column, row, column->fill);
        else
            row[feature] = (float)column->fill;
        return LIMN_OK;
    }
    if (!r->whole)
        return lm_reader_fail(r, place,
                              "the cell is missing, and the model was trained without --missing "
                              "median; fill it or remove the row");
    row[feature] = 0; /* counted, and refused at the end of the file */
    if (!sink->missing++)
        sink->first_missing = *place;
    return LIMN_OK;
}

static limn_status match_category(limn_reader *r, const lm_place *place, const lm_column *column,
                                  const char *text, size_t length, lm_sink *sink) {
    float *row = sink->x + sink->n * sink->stride;
    if (lm_cell_missing(text, length))
        return match_missing(r, place, column, column->first, sink);
    int32_t id = lm_labels_find(&column->categories, text, length);
    if (id < 0 && r->options.unknown != LIMN_UNKNOWN_ZERO)
        return unknown_category(r, place, text, length);
    set_category(column, row, id);
    return LIMN_OK;
}

/* ---- cells without match ---- */

static limn_status infinite(limn_reader *r, const lm_place *place, const char *shown) {
    return lm_reader_fail(r, place,
                          "'%s' is infinite or too large for a 32-bit float; the largest value is "
                          "3.4e38",
                          shown);
}

/* Digits, a comma, digits: how many countries write a number, so not a category. */
static bool has_decimal_comma(const char *text, size_t length) {
    size_t sign = length && (*text == '-' || *text == '+'), whole = 0, part = 0;
    const char *p = text + sign, *end = text + length;
    while (p + whole < end && p[whole] >= '0' && p[whole] <= '9')
        whole++;
    if (!whole || p + whole >= end || p[whole] != ',')
        return false;
    p += whole + 1;
    while (p + part < end && p[part] >= '0' && p[part] <= '9')
        part++;
    return part && p + part == end;
}

static limn_status mixed(limn_reader *r, const lm_place *place, size_t c, const char *shown) {
    bool number = r->kind[c] == LM_COLUMN_NUMBER;
    return lm_reader_fail(r, place,
                          "'%s' is %s number, but the column has held %s since line %llu; correct "
                          "it, or name the column in --categorical",
                          shown, number ? "not a" : "a", number ? "numbers" : "text",
                          (unsigned long long)r->kind_line[c]);
}

static limn_status add_category(limn_reader *r, const lm_place *place, size_t c, const char *text,
                                size_t length, float *value) {
    int32_t id;
    lm_labels *categories = &r->schema.column[c].categories;
    limn_status status = lm_labels_add(r->ctx, categories, text, length, &id);
    if (status != LIMN_OK)
        return status;
    if (categories->count > MOST_CATEGORIES)
        return lm_reader_fail(r, place,
                              "the column has more than %d different texts, too many for "
                              "categories; remove the column",
                              MOST_CATEGORIES);
    *value = (float)id;
    return LIMN_OK;
}

static void decide(limn_reader *r, const lm_place *place, size_t c, lm_column_kind kind) {
    if (r->kind[c] == LM_COLUMN_OPEN) {
        r->kind[c] = kind;
        r->kind_line[c] = place->line;
    }
}

static limn_status collect_missing(limn_reader *r, const lm_place *place, size_t c, lm_sink *sink) {
    if (!r->whole)
        return lm_reader_fail(r, place, "the cell is missing; fill it or remove the row");
    sink->x[sink->n * sink->stride + c] = NAN;
    if (!sink->missing++)
        sink->first_missing = *place;
    return LIMN_OK;
}

static limn_status collect_cell(limn_reader *r, const lm_place *place, size_t c, const char *text,
                                size_t length, lm_sink *sink) {
    char shown[48];
    float *value = &sink->x[sink->n * sink->stride + c];
    lm_cell_kind cell = lm_cell_classify(text, length, value);
    if (cell == LM_CELL_MISSING)
        return collect_missing(r, place, c, sink);
    if (!r->kind || (cell == LM_CELL_TEXT && !r->whole))
        return cell == LM_CELL_NUMBER     ? LIMN_OK
               : cell == LM_CELL_INFINITE ? infinite(r, place, lm_quote(text, length, shown))
                                          : lm_reader_fail(r, place,
                                                           "'%s' is not a number; correct it or "
                                                           "remove the column or the row",
                                                           lm_quote(text, length, shown));
    if (cell == LM_CELL_TEXT && r->kind[c] != LM_COLUMN_CHOSEN && has_decimal_comma(text, length))
        return lm_reader_fail(r, place,
                              "'%s' looks like a number with a decimal comma; write a point, or "
                              "name the column in --categorical if it is not a number",
                              lm_quote(text, length, shown));
    decide(r, place, c, cell == LM_CELL_TEXT ? LM_COLUMN_CATEGORY : LM_COLUMN_NUMBER);
    if (r->kind[c] == LM_COLUMN_CHOSEN ||
        (r->kind[c] == LM_COLUMN_CATEGORY && cell == LM_CELL_TEXT))
        return add_category(r, place, c, text, length, value);
    if (r->kind[c] == LM_COLUMN_CATEGORY || cell == LM_CELL_TEXT)
        return mixed(r, place, c, lm_quote(text, length, shown));
    return cell == LM_CELL_NUMBER ? LIMN_OK : infinite(r, place, lm_quote(text, length, shown));
}

/* ---- cells ---- */

limn_status lm_reader_cell(limn_reader *r, const lm_place *place, size_t c, const char *text,
                           size_t length, lm_sink *sink) {
    if (!r->match)
        return collect_cell(r, place, c, text, length, sink);
    const lm_column *column = r->schema.column ? &r->schema.column[c] : NULL;
    if (column && column->categories.count)
        return match_category(r, place, column, text, length, sink);
    char shown[48];
    size_t feature = column ? column->first : c;
    float *value = &sink->x[sink->n * sink->stride + feature];
    switch (lm_cell_classify(text, length, value)) {
    case LM_CELL_NUMBER:
        return LIMN_OK;
    case LM_CELL_MISSING:
        return match_missing(r, place, column, feature, sink);
    case LM_CELL_INFINITE:
        return infinite(r, place, lm_quote(text, length, shown));
    case LM_CELL_TEXT:
        break;
    }
    return lm_reader_fail(r, place, "'%s' is not a number; correct it or remove the row",
                          lm_quote(text, length, shown));
}

/* Binary search: the features of the columns ascend. */
static const lm_column *column_of_feature(const lm_schema *s, size_t feature) {
    size_t low = 0, high = s->columns;
    if (!s->column)
        return NULL;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->column[middle].first <= feature)
            low = middle;
        else
            high = middle;
    }
    return &s->column[low];
}

limn_status lm_reader_number(limn_reader *r, const lm_place *place, size_t feature, double value,
                             lm_sink *sink) {
    char text[32];
    float *cell = &sink->x[sink->n * sink->stride + feature];
    *cell = (float)value;
    if (isfinite(*cell))
        return LIMN_OK;
    if (!isnan(value)) {
        lm_format_double(value, text);
        return infinite(r, place, isinf(value) ? (value > 0 ? "inf" : "-inf") : text);
    }
    if (!r->match)
        return collect_missing(r, place, feature, sink);
    const lm_column *column = column_of_feature(&r->schema, feature);
    if (column && column->categories.count) /* one of its features says nothing about the others */
        column = NULL;
    return match_missing(r, place, column, feature, sink);
}

limn_status lm_reader_weight(limn_reader *r, const lm_place *place, const char *text, size_t length,
                             lm_sink *sink) {
    char shown[48];
    double *weight = &sink->weight[sink->n];
    if (lm_scan_double(text, weight) == text + length && *weight >= 0)
        return LIMN_OK;
    return lm_reader_fail(r, place,
                          "'%s' is not a weight: a finite number, 0 or more; correct it or remove "
                          "the row",
                          lm_quote(text, length, shown));
}

void lm_reader_accept(limn_reader *r, lm_sink *sink) {
    if (sink->missing && !r->missing)
        r->first_missing = sink->first_missing;
    r->missing += sink->missing;
    sink->missing = 0;
    sink->n++;
}

/* ---- the end: categories sorted, missing cells filled, rows spread ---- */

static limn_status sort_categories(limn_reader *r, size_t c, lm_sink *sink) {
    lm_labels *categories = &r->schema.column[c].categories;
    int32_t *remap = lm_alloc(&r->mem, categories->count, sizeof *remap);
    if (!remap)
        return lm_fail_memory(r->ctx);
    limn_status status = lm_labels_sort(r->ctx, categories, remap);
    for (size_t i = 0; i < sink->n && status == LIMN_OK; i++) {
        float *cell = &sink->x[i * sink->stride + c];
        if (!isnan(*cell))
            *cell = (float)remap[(size_t)*cell];
    }
    lm_free(&r->mem, remap);
    return status;
}

static double median_of(float *v, size_t n) {
    lm_rng rng = lm_rng_at(1, LM_STREAM_SPLIT, n);
    lm_select_kth(&rng, v, n, n / 2);
    double upper = (double)v[n / 2], lower = (double)v[0];
    if (n % 2)
        return upper;
    for (size_t i = 1; i < n / 2; i++)
        lower = (double)v[i] > lower ? (double)v[i] : lower;
    return (lower + upper) / 2;
}

/* The most frequent category; counts has room for all of them. */
static double mode_of(const float *v, size_t n, size_t categories, size_t *counts) {
    size_t best = 0;
    memset(counts, 0, categories * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[(size_t)v[i]]++;
    for (size_t k = 1; k < categories; k++)
        if (counts[k] > counts[best])
            best = k;
    return (double)best;
}

static limn_status find_fill(limn_reader *r, size_t c, const lm_sink *sink, float *values,
                             size_t *counts) {
    size_t n = 0;
    char shown[96] = "", quoted[48];
    lm_column *column = &r->schema.column[c];
    for (size_t i = 0; i < sink->n; i++) {
        float value = sink->x[i * sink->stride + c];
        if (!isnan(value) && !(sink->weight && sink->weight[i] == 0)) /* such rows are left out */
            values[n++] = value;
    }
    if (column->name)
        snprintf(shown, sizeof shown, " (%s)",
                 lm_quote(column->name, strlen(column->name), quoted));
    if (!n)
        return lm_fail(r->ctx, LIMN_E_DATA,
                       "%s: every cell of feature column %zu%s is missing; remove the column",
                       lm_reader_name(r), c + 1, shown);
    column->fill = column->categories.count ? mode_of(values, n, column->categories.count, counts)
                                            : median_of(values, n);
    return LIMN_OK;
}

static limn_status fill_missing(limn_reader *r, lm_sink *sink) {
    size_t most = 0;
    limn_status status = lm_schema_add_columns(r->ctx, &r->schema);
    if (status != LIMN_OK)
        return status;
    for (size_t c = 0; c < r->schema.columns; c++)
        most =
            lm_schema_categories(&r->schema, c) > most ? lm_schema_categories(&r->schema, c) : most;
    float *values = lm_alloc(&r->mem, sink->n, sizeof *values);
    size_t *counts = lm_alloc(&r->mem, most + 1, sizeof *counts);
    if (!values || !counts)
        status = lm_fail_memory(r->ctx);
    for (size_t c = 0; c < r->schema.columns && status == LIMN_OK; c++) {
        status = find_fill(r, c, sink, values, counts);
        for (size_t i = 0; i < sink->n && status == LIMN_OK && r->missing; i++) {
            float *cell = &sink->x[i * sink->stride + c];
            if (isnan(*cell))
                *cell = (float)r->schema.column[c].fill;
        }
    }
    lm_free(&r->mem, values);
    lm_free(&r->mem, counts);
    return status;
}

limn_status lm_reader_settle_columns(limn_reader *r, lm_sink *sink) {
    limn_status status = LIMN_OK;
    for (size_t c = 0; r->kind && c < r->schema.columns && status == LIMN_OK; c++)
        if (r->schema.column[c].categories.count)
            status = sort_categories(r, c, sink);
    if (status == LIMN_OK && r->options.missing == LIMN_MISSING_MEDIAN)
        status = fill_missing(r, sink);
    return status == LIMN_OK ? lm_schema_settle(r->ctx, &r->schema) : status;
}

static void spread_row(const lm_schema *s, const float *cells, float *row) {
    for (size_t c = 0; c < s->columns; c++) {
        const lm_column *column = &s->column[c];
        if (column->categories.count)
            set_category(column, row, (double)cells[c]);
        else
            row[column->first] = cells[c];
    }
}

/* From the last row backwards, so that no row is overwritten before it is read; via a copy of the
 * cells, because the first rows overlap themselves. */
limn_status lm_reader_spread(limn_reader *r, lm_sink *sink) {
    const lm_schema *s = &r->schema;
    size_t count, old = sink->stride;
    bool categories = false;
    for (size_t c = 0; r->kind && c < s->columns; c++)
        categories = categories || s->column[c].categories.count;
    if (!categories)
        return LIMN_OK;
    float *cells = lm_alloc(&r->mem, s->columns, sizeof *cells);
    float *x =
        lm_mul(sink->n, s->features, &count) ? lm_resize(&r->mem, sink->x, count, sizeof *x) : NULL;
    if (x) {
        sink->x = x;
        sink->stride = s->features;
        sink->capacity = sink->n;
    }
    for (size_t i = sink->n; cells && x && i-- > 0;) {
        memcpy(cells, x + i * old, s->columns * sizeof *cells);
        spread_row(s, cells, x + i * s->features);
    }
    lm_free(&r->mem, cells);
    return cells && x ? LIMN_OK : lm_fail_memory(r->ctx);
}
