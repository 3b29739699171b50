/* arff.c: the attribute-relation format of Weka: a header that names the attributes and their
 * types, then one row per line.
 *
 *   % a comment; these and blank lines may appear anywhere
 *   @relation weather
 *   @attribute 'wind speed' numeric          (real, integer)
 *   @attribute outlook {sunny, 'very wet'}   nominal: the values that may occur
 *   @attribute remark string
 *   @attribute day date "yyyy-MM-dd"         only for a column that is not a feature
 *   @data
 *   5.1, sunny, ?, '2020-01-31'              cells separated by commas or tabs; ? is missing
 *   {0 5.1, 2 'fine'}                        sparse: attributes counted from 0, ascending; others
 *                                            are 0, or the first value of a nominal attribute
 *   5.1, sunny, ?, '2020-01-31', {0.5}       the weight of a row
 *
 * Keywords may be written in any case. Quotes are ' or ", and \ takes the next byte literally,
 * except for \t, \n and \r. Nothing spans lines, so a row is parsed when its newline has arrived.
 * The window ends with an extra newline, so nothing inside a line needs a bounds check.
 *
 * Departures from Weka: blanks alone do not separate cells (a value may contain them), an empty
 * cell is missing, a comment in a row must follow a blank, and the first row decides whether rows
 * have weights (Weka leaves out a weight of 1). */
#include "data/read/arff.h"

#include "data/number.h"

#include <string.h>

/* ---- cells ---- */

typedef struct row_run {
    limn_reader *r;
    arff_state *arff;
    lm_sink *sink;
} row_run;

static lm_place place_of(const row_run *run, size_t c) {
    return (lm_place){run->r->text.line, c + 1, lm_cells_at(&run->arff->names, c)};
}

static float *row_of(const row_run *run) {
    return run->sink->x + run->sink->n * run->sink->stride;
}

static limn_status undeclared(row_run *run, size_t c, const arff_cell *at) {
    char shown[48];
    lm_place place = place_of(run, c);
    return lm_reader_fail(
        run->r, &place,
        "'%s' is not one of the values that the header declares; correct it or declare it",
        lm_quote(at->text, at->length, shown));
}

static limn_status no_number(row_run *run, size_t c, const arff_cell *at) {
    char shown[48];
    lm_place place = place_of(run, c);
    return lm_reader_fail(run->r, &place,
                          "'%s' is not a number, but the attribute is numeric; correct it or "
                          "declare the attribute as nominal",
                          lm_quote(at->text, at->length, shown));
}

static bool is_text(const arff_cell *at) {
    float value;
    return (at->quoted && at->length == 1 && *at->text == '?') ||
           lm_cell_classify(at->text, at->length, &value) == LM_CELL_TEXT;
}

/* What means a missing cell in other formats may be a value here: 'NA', or a quoted '?'. */
static bool is_odd_value(const arff_cell *at) {
    bool question = at->length == 1 && *at->text == '?';
    return at->length && (at->quoted || !question) && lm_cell_missing(at->text, at->length);
}

static limn_status plain_cell(row_run *run, size_t c, const arff_cell *at) {
    lm_place place = place_of(run, c);
    return lm_reader_cell(run->r, &place, run->arff->columns.role[c], at->text, at->length,
                          run->sink);
}

static limn_status nominal_cell(row_run *run, size_t c, const arff_cell *at) {
    uint32_t role = run->arff->columns.role[c];
    if (!at->quoted && (!at->length || (at->length == 1 && *at->text == '?')))
        return plain_cell(run, c, at);
    int32_t id = lm_labels_find(&run->r->schema.column[role].categories, at->text, at->length);
    if (id < 0 && !at->quoted && lm_cell_missing(at->text, at->length))
        return plain_cell(run, c, at);
    if (id < 0)
        return undeclared(run, c, at);
    row_of(run)[role] = (float)id;
    return LIMN_OK;
}

static limn_status matched_cell(row_run *run, size_t c, const arff_cell *at) {
    const lm_schema *s = &run->r->schema;
    uint32_t role = run->arff->columns.role[c];
    size_t categories = lm_schema_categories(s, role);
    if (categories && is_odd_value(at)) {
        int32_t id = lm_labels_find(&s->column[role].categories, at->text, at->length);
        float *first = row_of(run) + s->column[role].first;
        if (id >= 0) {
            memset(first, 0, categories * sizeof *first);
            first[id] = 1;
            return LIMN_OK;
        }
    }
    return plain_cell(run, c, at);
}

static limn_status feature_cell(row_run *run, size_t c, const arff_cell *at) {
    if (run->r->match)
        return matched_cell(run, c, at);
    arff_type type = arff_at(run->arff, c)->type;
    if (type == ARFF_NOMINAL)
        return nominal_cell(run, c, at);
    if (type == ARFF_NUMERIC && is_text(at))
        return no_number(run, c, at);
    return plain_cell(run, c, at);
}

static limn_status label_cell(row_run *run, size_t c, const arff_cell *at) {
    lm_place place = place_of(run, c);
    if (!run->r->match && !lm_cell_missing(at->text, at->length)) {
        arff_type type = arff_at(run->arff, c)->type;
        if (type == ARFF_NUMERIC && is_text(at))
            return no_number(run, c, at);
        if (type == ARFF_NOMINAL && lm_labels_find(&run->arff->declared, at->text, at->length) < 0)
            return undeclared(run, c, at);
    }
    return lm_reader_label(run->r, &place, at->text, at->length, run->sink);
}

static limn_status store_cell(row_run *run, size_t c, const arff_cell *at) {
    lm_place place = place_of(run, c);
    switch (run->arff->columns.role[c]) {
    case LM_ROLE_SKIP:
        return LIMN_OK;
    case LM_ROLE_WEIGHT:
        return lm_reader_weight(run->r, &place, at->text, at->length, run->sink);
    case LM_ROLE_LABEL:
        return label_cell(run, c, at);
    default:
        return feature_cell(run, c, at);
    }
}

/* ---- the weight of a row ---- */

static limn_status store_weight(row_run *run, const char *text, size_t length) {
    limn_reader *r = run->r;
    lm_place place = arff_here(r);
    char shown[48];
    if (run->arff->row_weights)
        return lm_reader_weight(r, &place, text, length, run->sink);
    if (r->match || r->options.skip_label)
        return LIMN_OK;
    lm_quote(text, length, shown);
    if (r->has_weight)
        return lm_reader_fail(r, &place,
                              "the row has a weight {%s}, but weights are read from a column; "
                              "remove one of the two",
                              shown);
    return lm_reader_fail(r, &place,
                          "the row has a weight {%s}, but the first row has none; give the first "
                          "row a weight too, such as {1}",
                          shown);
}

/* p is after the last cell's comma and blanks. Weka leaves out weights that are 1. */
static limn_status row_weight(row_run *run, const char *p) {
    arff_cell at;
    lm_place place = arff_here(run->r);
    if (*p != '{')
        return run->arff->row_weights ? store_weight(run, "1", 1) : LIMN_OK;
    p = arff_skip(p + 1);
    lm_arff_plain(p, p + strcspn(p, ",}\n"), &at);
    if (at.length && *at.stop == '}' && arff_ends(*arff_skip(at.stop + 1)))
        return store_weight(run, at.text, at.length);
    return lm_reader_fail(run->r, &place,
                          "a brace at the end of a row holds its weight; write it as one number, "
                          "such as {0.5}, or remove it");
}

/* ---- dense rows ---- */

/* Steps from the end of a cell to the next one; *more is false when there is none. NULL when other
 * text follows the cell. */
static const char *next_cell(const char *p, bool *more) {
    bool tab = false;
    for (; arff_blank(*p); p++)
        tab = tab || *p == '\t';
    *more = *p == ',';
    if (*more)
        return arff_skip(p + 1);
    if (*p == '\n' || (*p == '%' && arff_blank(p[-1])))
        return p;
    *more = tab;
    return tab ? p : NULL;
}

/* Where the unquoted cell at p ends. */
static const char *plain_end(const char *p) {
    const char *start = p;
    while (*p != ',' && *p != '\t' && *p != '\n' &&
           (*p != '%' || (p > start && !arff_blank(p[-1]))))
        p++;
    return p;
}

/* The cell at p, which is not a blank; *next as next_cell gives it. */
static arff_result dense_cell(arff_state *arff, const char *p, arff_cell *at, const char **next,
                              bool *more) {
    arff_result result = ARFF_DONE;
    if (arff_opens_quote(*p))
        result = lm_arff_quoted(&arff->scratch, p, at);
    else
        lm_arff_plain(p, plain_end(p), at);
    if (result != ARFF_DONE)
        return result;
    *more = false;
    bool comment = !at->quoted && *at->stop == '%';
    *next = comment ? at->stop : next_cell(at->stop, more);
    return *next ? ARFF_DONE : ARFF_TAIL;
}

/* Counts the cells of the row at p, without its weight; *weight is where the weight begins, or
 * NULL. */
static arff_result count_cells(arff_state *arff, const char *p, size_t *count,
                               const char **weight) {
    bool more = true;
    *weight = NULL;
    for (*count = 0; more; ++*count) {
        arff_cell at;
        if (*p == '{') {
            *weight = p;
            return ARFF_DONE;
        }
        arff_result result = dense_cell(arff, p, &at, &p, &more);
        if (result != ARFF_DONE)
            return result;
    }
    return ARFF_DONE;
}

static limn_status ragged(row_run *run, size_t count) {
    lm_place place = arff_here(run->r);
    size_t wanted = run->arff->columns.count;
    return lm_reader_fail(run->r, &place,
                          "%zu cell%s, but the header declares %zu attribute%s; check for a "
                          "missing or extra separator",
                          count, count == 1 ? "" : "s", wanted, wanted == 1 ? "" : "s");
}

/* Reads the cell at p by the full rules. */
static limn_status any_cell(row_run *run, size_t c, const char *p, const char **next, bool *more) {
    arff_cell at;
    lm_place place = place_of(run, c);
    arff_result result = dense_cell(run->arff, p, &at, next, more);
    return result == ARFF_DONE ? store_cell(run, c, &at) : lm_arff_fail(run->r, &place, result);
}

static limn_status dense_cells(row_run *run, const char *p) {
    const arff_state *arff = run->arff;
    const uint32_t *direct = arff->direct;
    const size_t count = arff->columns.count;
    float *row = row_of(run);
    bool more = true;
    for (size_t c = 0; c < count && more; c++) {
        const char *next = NULL;
        if (direct[c] != ARFF_SLOW) {
            const char *q = lm_scan_float_padded(p, &row[direct[c]]);
            if (q && *q == ',' && !arff_blank(q[1])) {
                p = q + 1;
                continue;
            }
            next = q ? next_cell(q, &more) : NULL;
        }
        if (!next) {
            limn_status status = any_cell(run, c, p, &next, &more);
            if (status != LIMN_OK)
                return status;
        }
        p = next;
        if (!more && c + 1 < count)
            return ragged(run, c + 1);
    }
    if (more && *p != '{')
        return ragged(run, count + 1);
    return row_weight(run, p);
}

/* A cell that cannot be used is often one that has slipped into the wrong column. */
static limn_status dense_row(row_run *run, const char *p) {
    size_t count;
    const char *weight;
    limn_status status = dense_cells(run, p);
    if (status == LIMN_E_DATA && count_cells(run->arff, p, &count, &weight) == ARFF_DONE &&
        count != run->arff->columns.count)
        return ragged(run, count);
    return status;
}

/* ---- sparse rows ---- */

/* The attribute of the pair at *p, which moves to the value. */
static limn_status pair_index(row_run *run, const char **p, size_t least, size_t *index) {
    char shown[48];
    lm_place place = arff_here(run->r);
    const char *start = *p, *q = start;
    size_t value = 0, count = run->arff->columns.count;
    for (; *q >= '0' && *q <= '9'; q++)
        value = value < count ? value * 10 + (size_t)(*q - '0') : count;
    if (q != start && value < count && arff_blank(*q) && !strchr(",}\n", *arff_skip(q)) &&
        value >= least) { /* the usual case */
        *index = value;
        *p = arff_skip(q);
        return LIMN_OK;
    }
    lm_quote(start, strcspn(start, ",}\n"), shown);
    if (q == start || !arff_blank(*q) || strchr(",}\n", *arff_skip(q)))
        return lm_reader_fail(
            run->r, &place,
            "'%s' is not an attribute number and a value; write a sparse row as in {0 1.5, 3 red}",
            shown);
    if (value >= count)
        return lm_reader_fail(
            run->r, &place,
            "'%s' names an attribute that does not exist: the header declares %zu, counted from 0",
            shown, count);
    return lm_reader_fail(run->r, &place,
                          "attribute %zu comes after %zu; attributes must ascend within a row",
                          value, least - 1);
}

/* The values of attributes that do not appear. */
static limn_status default_cells(row_run *run, size_t from, size_t to) {
    const arff_state *arff = run->arff;
    float *row = row_of(run);
    for (size_t c = from; c < to; c++) {
        const arff_attribute *a = arff_at(arff, c);
        uint32_t role = arff->columns.role[c];
        limn_status status = LIMN_OK;
        if (arff->direct[c] != ARFF_SLOW && a->type == ARFF_NUMERIC) {
            row[arff->direct[c]] = 0;
        } else if (role < LM_ROLE_SKIP && a->type == ARFF_NOMINAL && !run->r->match) {
            row[role] = 0; /* the number of its first category */
        } else if (role != LM_ROLE_SKIP) {
            const char *text = a->type == ARFF_NOMINAL   ? lm_cells_at(&arff->values, a->first)
                               : a->type == ARFF_NUMERIC ? "0"
                                                         : "?";
            status =
                store_cell(run, c, &(arff_cell){text, strlen(text), a->type == ARFF_NOMINAL, NULL});
        }
        if (status != LIMN_OK)
            return status;
    }
    return LIMN_OK;
}

/* The value at *p, which moves past it. */
static limn_status pair_value(row_run *run, size_t c, const char **p) {
    arff_cell at;
    lm_place place = place_of(run, c);
    uint32_t direct = run->arff->direct[c];
    const char *q = direct != ARFF_SLOW ? lm_scan_float_padded(*p, &row_of(run)[direct]) : NULL;
    if (q && (*q == ',' || *q == '}')) {
        *p = q;
        return LIMN_OK;
    }
    arff_result result = lm_arff_braced(&run->arff->scratch, *p, &at);
    if (result != ARFF_DONE)
        return lm_arff_fail(run->r, &place, result);
    *p = at.stop;
    return store_cell(run, c, &at);
}

/* p is at the opening brace. */
static limn_status sparse_row(row_run *run, const char *p) {
    size_t next = 0, index = 0;
    limn_status status = LIMN_OK;
    lm_place place = arff_here(run->r);
    for (p = arff_skip(p + 1); *p != '}' && *p != '\n'; p = arff_skip(p + (*p == ','))) {
        status = pair_index(run, &p, next, &index);
        if (status == LIMN_OK)
            status = default_cells(run, next, index);
        if (status == LIMN_OK)
            status = pair_value(run, index, &p);
        if (status != LIMN_OK)
            return status;
        next = index + 1;
    }
    if (*p == '\n')
        return lm_reader_fail(
            run->r, &place,
            "a sparse row begins with { but is not closed on this line; close it with }");
    status = default_cells(run, next, run->arff->columns.count);
    p = arff_skip(p + 1);
    bool comma = *p == ',';
    p = comma ? arff_skip(p + 1) : p;
    if (status == LIMN_OK && !(comma && *p == '{') && !(!comma && arff_ends(*p)))
        return lm_reader_fail(run->r, &place, "text follows the closing }; remove it");
    return status == LIMN_OK ? row_weight(run, p) : status;
}

/* ---- rows ---- */

static limn_status arff_rows(limn_reader *r, lm_sink *sink) {
    lm_text *t = &r->text;
    size_t before = sink->n;
    row_run run = {r, arff_of(r), sink};
    while (sink->n < sink->capacity && t->begin < t->end) {
        const char *newline = memchr(t->data + t->begin, '\n', t->end - t->begin);
        if (!newline && !t->eof)
            break;
        const char *p = arff_skip(t->data + t->begin);
        if (!arff_ends(*p)) {
            sink->missing = 0;
            limn_status status = *p == '{' ? sparse_row(&run, p) : dense_row(&run, p);
            if (status != LIMN_OK)
                return status == LIMN_E_DATA && sink->n > before ? LIMN_OK : status;
            lm_reader_accept(r, sink);
        }
        lm_arff_step(r, newline);
    }
    return LIMN_OK;
}

/* ---- opening ---- */

/* The numbers of categories are held in floats while the file is read. */
enum { MOST_VALUES = 1 << 24 };

static limn_status refuse_dates(limn_reader *r) {
    const arff_state *arff = arff_of(r);
    for (size_t c = 0; c < arff->columns.count; c++) {
        const arff_attribute *a = arff_at(arff, c);
        lm_place place = {a->line, c + 1, lm_cells_at(&arff->names, c)};
        if (a->type == ARFF_DATE && arff->columns.role[c] < LM_ROLE_SKIP)
            return lm_reader_fail(r, &place,
                                  "a date cannot be a feature; write it as a number, such as a "
                                  "year or days since another, or remove the attribute");
    }
    return LIMN_OK;
}

static limn_status declare_values(limn_reader *r, const arff_attribute *a, lm_labels *labels) {
    limn_status status = LIMN_OK;
    for (size_t i = a->first; i < a->first + a->count && status == LIMN_OK; i++) {
        int32_t id;
        const char *text = lm_cells_at(&arff_of(r)->values, i);
        status = lm_labels_add(r->ctx, labels, text, strlen(text), &id);
    }
    return status;
}

static limn_status declare_column(limn_reader *r, size_t c) {
    const arff_state *arff = arff_of(r);
    const arff_attribute *a = arff_at(arff, c);
    uint32_t role = arff->columns.role[c];
    lm_column_kind *kind = &r->kind[role];
    lm_place place = {a->line, c + 1, lm_cells_at(&arff->names, c)};
    if (a->type != ARFF_NUMERIC)
        *kind = LM_COLUMN_CHOSEN;
    else if (*kind == LM_COLUMN_OPEN)
        *kind = LM_COLUMN_NUMBER;
    if (*kind == LM_COLUMN_CHOSEN && !r->whole)
        return lm_fail(
            r->ctx, LIMN_E_USAGE,
            "%s: the categories of an ARFF file are known only at its end; read it as a whole",
            lm_reader_name(r));
    if (a->count > MOST_VALUES)
        return lm_reader_fail(r, &place,
                              "%zu values are too many for a nominal attribute; remove the "
                              "attribute",
                              a->count);
    return declare_values(r, a, &r->schema.column[role].categories);
}

/* Without match: what the header says about the columns. */
static limn_status declare_columns(limn_reader *r) {
    arff_state *arff = arff_of(r);
    limn_status status = lm_reader_open_columns(r);
    for (size_t c = 0; c < arff->columns.count && status == LIMN_OK; c++) {
        if (arff->columns.role[c] == LM_ROLE_LABEL)
            status = declare_values(r, arff_at(arff, c), &arff->declared);
        else if (arff->columns.role[c] < LM_ROLE_SKIP)
            status = declare_column(r, c);
    }
    return status;
}

/* Finds the cells that only need a number parsed. */
static limn_status find_direct(limn_reader *r) {
    arff_state *arff = arff_of(r);
    const lm_schema *s = &r->schema;
    arff->direct = lm_alloc(&r->mem, arff->columns.count, sizeof *arff->direct);
    if (!arff->direct)
        return lm_fail_memory(r->ctx);
    for (size_t c = 0; c < arff->columns.count; c++) {
        uint32_t role = arff->columns.role[c];
        bool number = role < LM_ROLE_SKIP && (r->match ? !lm_schema_categories(s, role)
                                                       : r->kind[role] == LM_COLUMN_NUMBER);
        size_t place = !number ? ARFF_SLOW : r->match && s->column ? s->column[role].first : role;
        arff->direct[c] = place < ARFF_SLOW ? (uint32_t)place : ARFF_SLOW;
    }
    return LIMN_OK;
}

/* Where the weight of the row at p begins, or NULL. */
static const char *weight_of(arff_state *arff, const char *p) {
    size_t count;
    const char *weight = NULL;
    if (*p != '{')
        return count_cells(arff, p, &count, &weight) == ARFF_DONE ? weight : NULL;
    do {
        arff_cell at;
        p = arff_skip(p + 1);
        p = arff_skip(p + strspn(p, "0123456789"));
        if (lm_arff_braced(&arff->scratch, p, &at) != ARFF_DONE)
            return NULL;
        p = at.stop;
    } while (*p == ',');
    p = arff_skip(p + (*p == '}'));
    p = *p == ',' ? arff_skip(p + 1) : p;
    return *p == '{' ? p : NULL;
}

/* The first row decides whether rows have weights. Its errors are reported when it is read. */
static limn_status find_weights(limn_reader *r) {
    arff_state *arff = arff_of(r);
    const char *line;
    if (r->match || r->options.skip_label || arff->columns.has_weight)
        return LIMN_OK;
    limn_status status = lm_arff_line(r, &line);
    if (status == LIMN_OK && line)
        arff->row_weights = weight_of(arff, line) != NULL;
    r->has_weight = arff->row_weights;
    return status;
}

static limn_status arff_open(limn_reader *r) {
    arff_state *arff = lm_alloc_zero(&r->mem, 1, sizeof *arff);
    if (!arff)
        return lm_fail_memory(r->ctx);
    r->state = arff;
    arff->scratch.mem = arff->attributes.mem = &r->mem;
    lm_cells_init(&arff->names, &r->mem);
    lm_cells_init(&arff->values, &r->mem);
    lm_labels_init(&arff->declared, &r->mem);
    limn_status status = lm_arff_header(r);
    lm_column_request request = {lm_reader_name(r), &r->options, r->match, &arff->names, NULL};
    if (status == LIMN_OK)
        status = lm_columns_resolve(r->ctx, &request, true, &arff->columns, &r->schema);
    r->has_label = arff->columns.has_label;
    r->has_weight = arff->columns.has_weight;
    if (status == LIMN_OK)
        status = refuse_dates(r);
    if (status == LIMN_OK && !r->match)
        status = declare_columns(r);
    if (status == LIMN_OK)
        status = find_direct(r);
    return status == LIMN_OK ? find_weights(r) : status;
}

static void arff_close(limn_reader *r) {
    arff_state *arff = arff_of(r);
    if (!arff)
        return;
    lm_cells_free(&arff->names);
    lm_cells_free(&arff->values);
    lm_buffer_free(&arff->attributes);
    lm_free(&r->mem, arff->columns.role);
    lm_free(&r->mem, arff->direct);
    lm_labels_free(&arff->declared);
    lm_buffer_free(&arff->scratch);
    lm_free(&r->mem, arff);
    r->state = NULL;
}

/* ---- detection ---- */

/* Whether the line starts with word; whole: the line is complete. */
static lm_guess guess_word(const char *p, size_t length, bool whole, const char *word) {
    size_t size = strlen(word), known = length < size ? length : size;
    for (size_t i = 0; i < known; i++)
        if (arff_lower(p[i]) != word[i])
            return LM_GUESS_NO;
    if (length > size)
        return arff_blank(p[size]) ? LM_GUESS_YES : LM_GUESS_NO;
    return !whole ? LM_GUESS_UNSURE : length == size ? LM_GUESS_YES : LM_GUESS_NO;
}

static lm_guess arff_detect(const limn_reader *r) {
    const lm_text *t = &r->text;
    const char *p = t->data + t->begin, *end = t->data + t->end;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        p = arff_skip(p);
        if (!arff_ends(*p)) {
            bool whole = newline || t->eof;
            lm_guess guess = guess_word(p, (size_t)(stop - p), whole, "@relation");
            return guess != LM_GUESS_NO ? guess
                                        : guess_word(p, (size_t)(stop - p), whole, "@attribute");
        }
        p = newline ? newline + 1 : end;
    }
    return t->eof ? LM_GUESS_NO : LM_GUESS_UNSURE;
}

const lm_format lm_arff_format = {LIMN_FORMAT_ARFF, false,     arff_detect, arff_open, arff_rows,
                                  lm_arff_complete, arff_close};
