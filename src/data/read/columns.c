/* columns.c: header, label and feature rules of tables with columns.
 *
 * Training: the file decides. With match (prediction): columns are found by name when the file has
 * a header and the model has names, else by place; the header is detected from the first row alone,
 * so that a stream can be answered line by line. */
#include "data/read/columns.h"

#include "data/number.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- cells ---- */

void lm_cells_init(lm_cells *cells, const limn_allocator *mem) {
    *cells = (lm_cells){.text.mem = mem, .starts.mem = mem};
}

void lm_cells_free(lm_cells *cells) {
    lm_buffer_free(&cells->text);
    lm_buffer_free(&cells->starts);
    cells->count = 0;
}

bool lm_cells_add(lm_cells *cells, const char *text, size_t length) {
    size_t start = cells->text.size;
    if (!lm_buffer_append(&cells->starts, &start, sizeof start) ||
        !lm_buffer_append(&cells->text, text, length) || !lm_buffer_append(&cells->text, "", 1))
        return false;
    cells->count++;
    return true;
}

const char *lm_cells_at(const lm_cells *cells, size_t index) {
    size_t start;
    memcpy(&start, cells->starts.data + index * sizeof start, sizeof start);
    return (const char *)cells->text.data + start;
}

static lm_cell_kind cell_kind(const lm_cells *cells, size_t index) {
    float value;
    const char *text = lm_cells_at(cells, index);
    lm_cell_kind kind = lm_cell_classify(text, strlen(text), &value);
    return kind == LM_CELL_INFINITE ? LM_CELL_NUMBER : kind; /* no header is called "inf" */
}

/* ---- lists of names in messages ---- */

typedef struct name_list {
    size_t used, count;
    char text[600];
} name_list;

enum { LISTED_NAMES = 10 };

static void list_add(name_list *list, const char *name) {
    char shown[48];
    if (list->count > LISTED_NAMES)
        return;
    const char *text = list->count < LISTED_NAMES ? lm_quote(name, strlen(name), shown) : "...";
    const char *gap = list->count ? ", " : "";
    size_t gap_size = strlen(gap), size = strlen(text);
    memcpy(list->text + list->used, gap, gap_size);
    memcpy(list->text + list->used + gap_size, text, size + 1);
    list->used += gap_size + size;
    list->count++;
}

/* ---- matching by name ---- */

typedef struct named {
    const char *name;
    size_t index;
} named;

static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Gives each column the feature of its name, the others LM_ROLE_SKIP; the k-th column of a name is
 * the k-th feature of that name. *matched: features that were found. */
static limn_status match_names(limn_context *ctx, const lm_cells *cells, size_t except,
                               const lm_schema *match, uint32_t *role, size_t *matched) {
    size_t count = 0, d = match->columns;
    named *columns = lm_alloc(&ctx->mem, cells->count, sizeof *columns);
    named *features = lm_alloc(&ctx->mem, d, sizeof *features);
    limn_status status = columns && features ? LIMN_OK : lm_fail_memory(ctx);
    *matched = 0;
    if (status != LIMN_OK)
        goto done;
    for (size_t c = 0; c < cells->count; c++) {
        role[c] = LM_ROLE_SKIP;
        if (c != except)
            columns[count++] = (named){lm_cells_at(cells, c), c};
    }
    for (size_t j = 0; j < d; j++)
        features[j] = (named){match->column[j].name, j};
    qsort(columns, count, sizeof *columns, by_name);
    qsort(features, d, sizeof *features, by_name);
    for (size_t c = 0, j = 0; c < count && j < d;) {
        int order = strcmp(columns[c].name, features[j].name);
        if (order == 0) {
            role[columns[c].index] = (uint32_t)features[j].index;
            ++*matched;
        }
        c += order <= 0;
        j += order >= 0;
    }
done:
    lm_free(&ctx->mem, columns);
    lm_free(&ctx->mem, features);
    return status;
}

/* ---- header ---- */

/* label, class, target or y among the columns that role leaves free (all when role is NULL). */
static size_t find_default(const lm_cells *header, const uint32_t *role) {
    static const char *const names[] = {"label", "class", "target", "y"};
    for (size_t i = 0; i < LM_COUNT(names); i++)
        for (size_t c = 0; c < header->count; c++)
            if ((!role || role[c] == LM_ROLE_SKIP) &&
                strcasecmp(lm_cells_at(header, c), names[i]) == 0)
                return c;
    return LM_NO_COLUMN;
}

/* The header that a table without column names often gets: 0, 1, 2, ... and the name of the
 * label. */
static bool is_numbered_header(const lm_cells *first) {
    size_t label = find_default(first, NULL);
    if (label == LM_NO_COLUMN || first->count < 3)
        return false;
    double value, before = 0;
    bool started = false;
    for (size_t c = 0; c < first->count; c++) {
        const char *text = lm_cells_at(first, c);
        if (c == label)
            continue;
        if (!lm_parse_double(text, strlen(text), &value))
            return false;
        if (started ? value != before + 1 : value != 0 && value != 1)
            return false;
        before = value;
        started = true;
    }
    return true;
}

/* NA, NaN and ? are missing values, not names; a header has at most one empty cell, above an
 * index. */
static bool may_be_header(const lm_cells *first) {
    size_t empty = 0;
    for (size_t c = 0; c < first->count; c++) {
        bool missing = cell_kind(first, c) == LM_CELL_MISSING, blank = !*lm_cells_at(first, c);
        if (missing && !blank)
            return false;
        empty += blank;
    }
    return empty <= 1 && empty < first->count;
}

static bool header_from_two_rows(const lm_cells *first, const lm_cells *second) {
    bool text = false, number = false;
    if (!may_be_header(first))
        return false;
    for (size_t c = 0; c < first->count; c++) {
        lm_cell_kind kind = cell_kind(first, c);
        text = text || *lm_cells_at(first, c);
        number = number || kind == LM_CELL_NUMBER;
        if (kind == LM_CELL_TEXT && second && c < second->count &&
            cell_kind(second, c) == LM_CELL_NUMBER)
            return true;
    }
    return (text && !number) || is_numbered_header(first);
}

/* A cell that is one of the model's names makes a header. Names may look like numbers ("0", "1",
 * ...), and then so does a row of data: such names count only when all of them are present, alone
 * or with a text that is not one of the model's labels. */
static limn_status header_from_names(limn_context *ctx, const lm_cells *first,
                                     const lm_schema *match, bool *header) {
    size_t matched, known = 0;
    bool foreign = false;
    uint32_t *role = lm_alloc(&ctx->mem, first->count, sizeof *role);
    if (!role)
        return lm_fail_memory(ctx);
    limn_status status = match_names(ctx, first, LM_NO_COLUMN, match, role, &matched);
    *header = false;
    for (size_t c = 0; status == LIMN_OK && c < first->count; c++) {
        const char *text = lm_cells_at(first, c);
        foreign = foreign || (cell_kind(first, c) != LM_CELL_NUMBER &&
                              lm_labels_find(&match->labels, text, strlen(text)) < 0);
        if (role[c] == LM_ROLE_SKIP && (!match->label_name || strcmp(text, match->label_name) != 0))
            continue;
        known++;
        *header = *header || cell_kind(first, c) != LM_CELL_NUMBER;
    }
    bool all_there = status == LIMN_OK && matched == match->columns;
    if (all_there && (foreign || (matched >= 2 && known == first->count)))
        *header = true;
    lm_free(&ctx->mem, role);
    return status;
}

static bool has_categories(const lm_schema *schema) {
    for (size_t c = 0; c < schema->columns; c++)
        if (lm_schema_categories(schema, c))
            return true;
    return false;
}

static bool is_category(const lm_schema *schema, const char *text) {
    for (size_t c = 0; c < schema->columns; c++)
        if (lm_schema_categories(schema, c) &&
            lm_labels_find(&schema->column[c].categories, text, strlen(text)) >= 0)
            return true;
    return false;
}

limn_status lm_columns_header(limn_context *ctx, const lm_column_request *request, bool *header) {
    const lm_cells *first = request->first;
    *header = request->options->header == LIMN_HEADER_YES;
    if (request->options->header != LIMN_HEADER_AUTO)
        return LIMN_OK;
    if (!request->match) {
        *header = header_from_two_rows(first, request->second);
        return LIMN_OK;
    }
    bool number = false;
    for (size_t c = 0; c < first->count && !number; c++)
        number = cell_kind(first, c) == LM_CELL_NUMBER;
    *header = !number && may_be_header(first);
    bool categories = has_categories(request->match);
    if ((number || categories) && lm_schema_named(request->match))
        return header_from_names(ctx, first, request->match, header);
    for (size_t c = 0; categories && c < first->count && *header; c++)
        *header = !is_category(request->match, lm_cells_at(first, c));
    return LIMN_OK;
}

/* ---- the label ---- */

static limn_status unknown_column(limn_context *ctx, const lm_table *table, const char *what,
                                  const char *text) {
    char shown[48];
    lm_quote(text, strlen(text), shown);
    if (text[strspn(text, "0123456789")] == '\0')
        return lm_fail(
            ctx, LIMN_E_DATA,
            "%s: the %s should be column %.20s, but the file has %zu column%s, counted from 1",
            table->file, what, text, table->count, table->count == 1 ? "" : "s");
    if (!table->header)
        return lm_fail(ctx, LIMN_E_DATA,
                       "%s: no column is named '%s', because %s; give the number of the %s column, "
                       "or first or last",
                       table->file, shown,
                       table->array ? "an array has no names" : "the file has no header", what);
    name_list list = {0};
    for (size_t c = 0; c < table->count; c++)
        list_add(&list, lm_cells_at(table->header, c));
    return lm_fail(ctx, LIMN_E_DATA, "%s: no column is named '%s'; the columns are %s", table->file,
                   shown, list.text);
}

size_t lm_columns_find(const lm_cells *header, size_t count, const char *text, size_t length) {
    for (size_t c = 0; header && c < header->count; c++) {
        const char *name = lm_cells_at(header, c);
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return c;
    }
    if (length == 5 && memcmp(text, "first", 5) == 0)
        return 0;
    if (length == 4 && memcmp(text, "last", 4) == 0)
        return count - 1;
    size_t number = 0;
    for (size_t i = 0; i < length && number <= count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return LM_NO_COLUMN;
        number = number * 10 + (size_t)(text[i] - '0');
    }
    return number >= 1 && number <= count ? number - 1 : LM_NO_COLUMN;
}

limn_status lm_columns_named(limn_context *ctx, const lm_table *table, const char *what,
                             const char *text, size_t *column) {
    *column = lm_columns_find(table->header, table->count, text, strlen(text));
    return *column != LM_NO_COLUMN ? LIMN_OK : unknown_column(ctx, table, what, text);
}

limn_status lm_columns_apart(limn_context *ctx, const lm_table *table, size_t label,
                             size_t weight) {
    if (label != weight || label == LM_NO_COLUMN)
        return LIMN_OK;
    return lm_fail(ctx, LIMN_E_DATA,
                   "%s: column %zu cannot be both the label and the weights; choose another",
                   table->file, weight + 1);
}

static lm_table table_of(const lm_column_request *request, bool header) {
    return (lm_table){.file = request->file,
                      .header = header ? request->first : NULL,
                      .count = request->first->count};
}

/* ---- roles ---- */

static void set_label(lm_columns *columns, size_t column, bool wanted) {
    if (column == LM_NO_COLUMN)
        return;
    columns->has_label = wanted;
    columns->role[column] = columns->has_label ? LM_ROLE_LABEL : LM_ROLE_SKIP;
}

/* Feature columns in the order of the file. */
static void number_features(lm_columns *columns, size_t label, size_t weight, bool wanted) {
    uint32_t feature = 0;
    for (size_t c = 0; c < columns->count; c++)
        if (c != label && c != weight)
            columns->role[c] = feature++;
    set_label(columns, label, wanted);
    if (weight != LM_NO_COLUMN)
        columns->role[weight] = LM_ROLE_SKIP;
}

static limn_status keep_names(limn_context *ctx, const lm_cells *header, lm_schema *schema) {
    limn_status status = lm_schema_add_columns(ctx, schema);
    for (size_t c = 0, feature = 0; c < header->count && status == LIMN_OK; c++) {
        char *name = lm_strdup(schema->mem, lm_cells_at(header, c));
        if (!name)
            status = lm_fail_memory(ctx);
        else if (c == schema->label_column)
            schema->label_name = name;
        else if (c == schema->weight_column)
            schema->weight_name = name;
        else
            schema->column[feature++].name = name;
    }
    return status;
}

/* Which columns are label and weights, without match. */
static limn_status choose_columns(limn_context *ctx, const lm_column_request *request, bool header,
                                  size_t count, lm_schema *schema) {
    const limn_read_options *options = request->options;
    size_t label = LM_NO_COLUMN, weight = LM_NO_COLUMN;
    lm_table table = table_of(request, header);
    limn_status status = LIMN_OK;
    if (options->weights)
        status = lm_columns_named(ctx, &table, "weight", options->weights, &weight);
    if (status == LIMN_OK && options->label)
        status = lm_columns_named(ctx, &table, "label", options->label, &label);
    if (status != LIMN_OK)
        return status;
    if (!options->label && !options->no_label) {
        label = header ? find_default(request->first, NULL) : LM_NO_COLUMN;
        bool needed = schema->task == LIMN_CLASSIFY || schema->task == LIMN_REGRESS;
        if ((label == LM_NO_COLUMN || label == weight) && needed)
            label = weight == count - 1 && count > 1 ? count - 2 : count - 1;
    }
    schema->label_column = label;
    schema->weight_column = weight;
    return lm_columns_apart(ctx, &table, label, weight);
}

static limn_status resolve_training(limn_context *ctx, const lm_column_request *request,
                                    bool header, lm_columns *columns, lm_schema *schema) {
    limn_status status = choose_columns(ctx, request, header, columns->count, schema);
    if (status != LIMN_OK)
        return status;
    bool with_label = schema->label_column != LM_NO_COLUMN;
    bool with_weight = schema->weight_column != LM_NO_COLUMN;
    schema->columns = schema->features = columns->count - with_label - with_weight;
    if (!schema->columns)
        return lm_fail(ctx, LIMN_E_DATA,
                       "%s: the only column is the label; add features or check the separator",
                       request->file);
    number_features(columns, schema->label_column, schema->weight_column,
                    lm_label_wanted(request->options, schema->task));
    if (with_weight) {
        columns->role[schema->weight_column] = LM_ROLE_WEIGHT;
        columns->has_weight = true;
    }
    return header ? keep_names(ctx, request->first, schema) : LIMN_OK;
}

static limn_status missing_columns(limn_context *ctx, const lm_column_request *request,
                                   const lm_columns *columns, size_t count) {
    const lm_schema *match = request->match;
    name_list list = {0};
    bool *found = lm_alloc_zero(&ctx->mem, match->columns, sizeof *found);
    if (!found)
        return lm_fail_memory(ctx);
    for (size_t c = 0; c < columns->count; c++)
        if (columns->role[c] < LM_ROLE_SKIP)
            found[columns->role[c]] = true;
    for (size_t j = 0; j < match->columns; j++)
        if (!found[j])
            list_add(&list, match->column[j].name);
    lm_free(&ctx->mem, found);
    return lm_fail(ctx, LIMN_E_DATA, "%s: %zu column%s of the model %s missing: %s", request->file,
                   count, count == 1 ? "" : "s", count == 1 ? "is" : "are", list.text);
}

static bool is_weight(const lm_column_request *request, size_t c) {
    const char *name = request->match->weight_name;
    return name && strcmp(lm_cells_at(request->first, c), name) == 0;
}

static void warn_of_extra(limn_context *ctx, const lm_column_request *request,
                          const lm_columns *columns, size_t label) {
    name_list list = {0};
    size_t extra = 0;
    for (size_t c = 0; c < columns->count; c++)
        if (columns->role[c] == LM_ROLE_SKIP && c != label && !is_weight(request, c)) {
            extra++;
            list_add(&list, lm_cells_at(request->first, c));
        }
    if (extra)
        lm_warn(ctx, "%s: %zu column%s that the model does not know %s ignored: %s", request->file,
                extra, extra == 1 ? "" : "s", extra == 1 ? "is" : "are", list.text);
}

/* A feature may have the label's name as well. If the file has that name as often as the training
 * data, label included, the label is the same one of them as in training. */
static size_t repeated_label(const lm_column_request *request) {
    const lm_schema *match = request->match;
    const lm_cells *header = request->first;
    size_t features = 0, columns = 0, before = 0, found = LM_NO_COLUMN;
    if (!match->label_name)
        return LM_NO_COLUMN;
    for (size_t c = 0; c < match->columns; c++) {
        if (strcmp(match->column[c].name, match->label_name) != 0)
            continue;
        features++;
        /* Columns before the label keep their place, those after it move by one. */
        before += c < match->label_column - (match->weight_column < match->label_column);
    }
    for (size_t c = 0; c < header->count; c++)
        if (strcmp(lm_cells_at(header, c), match->label_name) == 0 && columns++ == before)
            found = c;
    return features && columns == features + 1 ? found : LM_NO_COLUMN;
}

static limn_status resolve_by_name(limn_context *ctx, const lm_column_request *request,
                                   lm_columns *columns) {
    const lm_schema *match = request->match;
    const lm_cells *header = request->first;
    size_t label = LM_NO_COLUMN, matched;
    limn_status status = LIMN_OK;
    lm_table table = table_of(request, true);
    if (request->options->label)
        status = lm_columns_named(ctx, &table, "label", request->options->label, &label);
    else if (!request->options->no_label)
        label = repeated_label(request);
    if (status == LIMN_OK)
        status = match_names(ctx, header, label, match, columns->role, &matched);
    if (status != LIMN_OK)
        return status;
    if (matched < match->columns)
        return missing_columns(ctx, request, columns, match->columns - matched);
    if (label == LM_NO_COLUMN && !request->options->no_label) {
        for (size_t c = 0; match->label_name && c < columns->count && label == LM_NO_COLUMN; c++)
            if (columns->role[c] == LM_ROLE_SKIP &&
                strcmp(lm_cells_at(header, c), match->label_name) == 0)
                label = c;
        if (label == LM_NO_COLUMN)
            label = find_default(header, columns->role);
    }
    set_label(columns, label, lm_label_wanted(request->options, match->task));
    warn_of_extra(ctx, request, columns, label);
    return LIMN_OK;
}

static limn_status wrong_count(limn_context *ctx, const lm_table *table, size_t d,
                               const limn_read_options *options) {
    size_t count = table->count;
    const char *file = table->file, *plural = count == 1 ? "" : "s";
    if (options->no_label || options->label_file)
        return lm_fail(ctx, LIMN_E_DATA, "%s: %zu column%s, but the model has %zu feature%s", file,
                       count, plural, d, d == 1 ? "" : "s");
    if (options->label)
        return lm_fail(
            ctx, LIMN_E_DATA,
            "%s: %zu column%s, but the model has %zu feature%s, so %zu are expected with the label",
            file, count, plural, d, d == 1 ? "" : "s", d + 1);
    return lm_fail(ctx, LIMN_E_DATA,
                   "%s: %zu column%s, but the model has %zu feature%s: %zu columns without a label "
                   "or %zu with one are expected",
                   file, count, plural, d, d == 1 ? "" : "s", d, d + 1);
}

/* Where the label was in training, in a table that may lack the weights. */
static size_t usual_label(const lm_table *table, const lm_schema *match, size_t weight) {
    size_t label = match->label_column, count = table->count;
    bool shifted = weight == LM_NO_COLUMN && match->weight_column != LM_NO_COLUMN;
    if (label != LM_NO_COLUMN && shifted && match->weight_column < label)
        label--;
    if (label >= count || label == weight)
        label = weight == count - 1 ? count - 2 : count - 1;
    return label;
}

limn_status lm_columns_match(limn_context *ctx, const lm_table *table, const lm_schema *match,
                             const limn_read_options *options, size_t *label, size_t *weight) {
    size_t d = table->array ? match->features : match->columns, count = table->count;
    bool weighted = match->weight_column != LM_NO_COLUMN;
    bool no_label = options->no_label || options->label_file;
    /* One extra column is the label, unless the training table had weights and no label. */
    bool only_weight = count == d + 1 && weighted && !options->label &&
                       (no_label || match->label_column == LM_NO_COLUMN);
    bool both = count == d + 2 && weighted && !no_label;
    bool only_label = count == d + 1 && !only_weight && !no_label;
    *label = *weight = LM_NO_COLUMN;
    if (!only_weight && !both && !only_label && (count != d || options->label))
        return wrong_count(ctx, table, d, options);
    if (only_weight || both) {
        *weight = match->weight_column;
        if (only_weight && match->label_column != LM_NO_COLUMN &&
            match->label_column < match->weight_column)
            --*weight; /* the label before them has been left out */
        *weight = *weight < count ? *weight : count - 1;
    }
    if (!both && !only_label)
        return LIMN_OK;
    if (!options->label) {
        *label = usual_label(table, match, *weight);
        return LIMN_OK;
    }
    limn_status status = lm_columns_named(ctx, table, "label", options->label, label);
    return status == LIMN_OK ? lm_columns_apart(ctx, table, *label, *weight) : status;
}

static limn_status resolve_by_place(limn_context *ctx, const lm_column_request *request,
                                    bool header, lm_columns *columns) {
    size_t label, weight;
    lm_table table = table_of(request, header);
    limn_status status =
        lm_columns_match(ctx, &table, request->match, request->options, &label, &weight);
    if (status == LIMN_OK)
        number_features(columns, label, weight,
                        lm_label_wanted(request->options, request->match->task));
    return status;
}

limn_status lm_columns_resolve(limn_context *ctx, const lm_column_request *request, bool header,
                               lm_columns *columns, lm_schema *schema) {
    columns->count = request->first->count;
    columns->has_label = columns->has_weight = false;
    if (columns->count >= LM_ROLE_SKIP)
        return lm_fail(ctx, LIMN_E_DATA, "%s: %zu columns are too many", request->file,
                       columns->count);
    columns->role = lm_alloc(&ctx->mem, columns->count, sizeof *columns->role);
    if (!columns->role)
        return lm_fail_memory(ctx);
    if (!request->match)
        return resolve_training(ctx, request, header, columns, schema);
    if (header && lm_schema_named(request->match))
        return resolve_by_name(ctx, request, columns);
    return resolve_by_place(ctx, request, header, columns);
}
