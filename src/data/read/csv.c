/* csv.c: tables of cells: comma, semicolon, tab or blanks between them, quotes as in RFC 4180 (a
 * doubled quote inside quotes is one; separators and newlines inside quotes belong to the cell),
 * lines ending in LF or CRLF, blank lines skipped, blanks around cells dropped.
 *
 * Numbers are parsed straight out of the text window. Nothing checks bounds inside a row: a newline
 * follows the window, and a row that ends there while more may come is parsed again when more has
 * arrived. scan_rows() finds the end of such a row without looking at any byte twice. */
#include "data/number.h"
#include "data/read/columns.h"
#include "data/read/reader_impl.h"

#include <string.h>

/* How much is looked at to find the separator; a first line longer than HEAD_LINE_BYTES is cut. */
enum { HEAD_LINES = 10, HEAD_BYTES = 1 << 16, HEAD_LINE_BYTES = 1 << 22 };

#define SLOW UINT32_MAX

/* How far the rows at text.begin have been scanned. */
typedef struct row_scan {
    enum { AT_START, IN_PLAIN, IN_QUOTES, BEHIND_QUOTE } state;
    bool content; /* the line is not blank */
    size_t at;    /* offset from text.begin */
    size_t rows;  /* that are complete */
} row_scan;

typedef struct csv_state {
    char delimiter;
    bool blanks; /* runs of blanks separate; delimiter is ' ' */
    lm_columns columns;
    uint32_t
        *direct; /* the float of a row that a column's number goes to; SLOW for all other cells */
    lm_buffer scratch; /* a quoted cell without its doubled quotes */
    row_scan scan;
} csv_state;

static csv_state *state_of(const limn_reader *r) {
    return r->state;
}

/* ---- cells ---- */

typedef struct cell {
    const char *text;
    size_t length, newlines;
    const char *stop; /* the newline, or where next_cell goes on */
} cell;

typedef enum cell_result {
    CELL_DONE,
    CELL_PARTIAL,
    CELL_UNCLOSED,
    CELL_TAIL,
    CELL_MEMORY
} cell_result;

static bool is_blank(const csv_state *csv, char c) {
    return c == ' ' || (c == '\t' && csv->delimiter != '\t');
}

static const char *skip_blanks(const csv_state *csv, const char *p) {
    while (is_blank(csv, *p))
        p++;
    return p;
}

static bool separates(const csv_state *csv, char c) {
    return c == csv->delimiter || (csv->blanks && c == '\t');
}

static bool at_newline(const char *p) {
    return *p == '\n' || (*p == '\r' && p[1] == '\n');
}

static const char *next_cell(const csv_state *csv, const cell *at) {
    return csv->blanks ? at->stop : at->stop + 1;
}

/* Copies a quoted text whose quotes are doubled; a zero byte ends it. */
static bool undouble(lm_buffer *scratch, cell *at) {
    scratch->size = 0;
    const char *p = at->text, *end = p + at->length;
    while (p < end) {
        const char *quote = memchr(p, '"', (size_t)(end - p));
        const char *stop = quote ? quote + 1 : end;
        if (!lm_buffer_append(scratch, p, (size_t)(stop - p)))
            return false;
        p = quote ? quote + 2 : end;
    }
    at->length = scratch->size;
    if (!lm_buffer_append(scratch, "", 1))
        return false;
    at->text = (const char *)scratch->data;
    return true;
}

/* p is after the opening quote. */
static cell_result quoted_cell(csv_state *csv, const lm_text *t, const char *p, cell *at) {
    const char *end = t->data + t->end;
    bool doubled = false;
    at->text = p;
    for (;; p += 2) {
        p = memchr(p, '"', (size_t)(end - p));
        if (!p)
            return t->eof ? CELL_UNCLOSED : CELL_PARTIAL;
        if (p[1] != '"' || p + 1 == end)
            break;
        doubled = true;
    }
    at->length = (size_t)(p - at->text);
    const char *inside = at->text;
    while ((inside = memchr(inside, '\n', (size_t)(p - inside)))) {
        at->newlines++;
        inside++;
    }
    p = skip_blanks(csv, p + 1);
    if (*p == '\r' && p[1] == '\n')
        p++;
    if (p == end && !t->eof)
        return CELL_PARTIAL;
    at->stop = p;
    if (doubled && !undouble(&csv->scratch, at))
        return CELL_MEMORY;
    bool clean = *p == '\n' || separates(csv, *p) || (csv->blanks && is_blank(csv, p[-1]));
    return clean ? CELL_DONE : CELL_TAIL;
}

static cell_result plain_cell(const csv_state *csv, const lm_text *t, const char *p, cell *at) {
    const char *end = t->data + t->end;
    at->text = p;
    while (!separates(csv, *p) && *p != '\n')
        p++;
    at->stop = csv->blanks ? skip_blanks(csv, p) : p;
    if (csv->blanks && *at->stop == '\r' && at->stop[1] == '\n')
        at->stop++;
    if (at->stop == end && !t->eof)
        return CELL_PARTIAL;
    if (*p == '\n' && p > at->text && p[-1] == '\r')
        p--;
    while (p > at->text && is_blank(csv, p[-1]))
        p--;
    at->length = (size_t)(p - at->text);
    return CELL_DONE;
}

/* The cell at p; CELL_PARTIAL when the text ends before the byte after it. */
static cell_result scan_cell(csv_state *csv, const lm_text *t, const char *p, cell *at) {
    at->newlines = 0;
    p = skip_blanks(csv, p);
    return *p == '"' ? quoted_cell(csv, t, p + 1, at) : plain_cell(csv, t, p, at);
}

static limn_status cell_failure(limn_reader *r, cell_result result, uint64_t line, size_t column) {
    lm_place place = {line, column, NULL};
    if (result == CELL_UNCLOSED || result == CELL_PARTIAL)
        return lm_reader_fail(r, &place, "a quote opens here and is never closed; close it");
    if (result == CELL_TAIL)
        return lm_reader_fail(r, &place,
                              "text follows a closing quote; double the quotes inside a cell");
    return lm_fail_memory(r->ctx);
}

/* ---- the ends of rows ---- */

/* Continues until the given number of rows is complete, or to the end of the text. */
static void scan_rows(csv_state *csv, const lm_text *t, size_t wanted) {
    row_scan *s = &csv->scan;
    const char *p = t->data + t->begin + s->at, *end = t->data + t->end;
    for (; p < end && s->rows < wanted; p++) {
        if (s->state == IN_QUOTES) {
            const char *quote = memchr(p, '"', (size_t)(end - p));
            p = quote ? quote : end - 1;
            if (!quote)
                continue;
            s->state = BEHIND_QUOTE;
        } else if (*p == '\n') {
            s->rows += s->content;
            s->content = false;
            s->state = AT_START;
        } else if (separates(csv, *p)) {
            s->content = s->content || !csv->blanks;
            s->state = AT_START;
        } else if (*p == '"' && s->state != IN_PLAIN) {
            s->content = true;
            s->state = IN_QUOTES;
        } else if (!is_blank(csv, *p)) {
            s->content = s->content || *p != '\r';
            s->state = IN_PLAIN;
        }
    }
    s->at = (size_t)(p - (t->data + t->begin));
}

static void restart_scan(csv_state *csv) {
    csv->scan = (row_scan){.state = AT_START};
}

static bool csv_complete(limn_reader *r) {
    scan_rows(state_of(r), &r->text, 1);
    return state_of(r)->scan.rows > 0;
}

/* ---- rows ---- */

typedef struct row_run {
    limn_reader *r;
    csv_state *csv;
    lm_sink *sink;
    const char *start, *p;
    uint64_t newlines; /* inside quoted cells of this row */
    bool partial;
} row_run;

static lm_place place_of(const row_run *run, size_t column) {
    const lm_schema *schema = &run->r->schema;
    uint32_t role = run->csv->columns.role[column];
    const char *name = NULL;
    if (role == LM_ROLE_LABEL)
        name = schema->label_name;
    else if (role == LM_ROLE_WEIGHT)
        name = schema->weight_name;
    else if (role < LM_ROLE_SKIP)
        name = lm_schema_column_name(schema, role);
    return (lm_place){run->r->text.line + run->newlines, column + 1, name};
}

/* Counts the cells of the row; unless CELL_DONE, those before the cell that has no end. */
static cell_result count_cells(const row_run *run, size_t *count) {
    const char *p = run->start;
    for (*count = 0;; ++*count) {
        cell at;
        cell_result result = scan_cell(run->csv, &run->r->text, p, &at);
        if (result != CELL_DONE)
            return result;
        if (*at.stop == '\n') {
            ++*count;
            return CELL_DONE;
        }
        p = next_cell(run->csv, &at);
    }
}

static limn_status ragged(row_run *run, size_t count) {
    lm_place place = {run->r->text.line, 0, NULL};
    return lm_reader_fail(run->r, &place,
                          "%zu cell%s, but the first row has %zu; check for a missing or extra "
                          "separator",
                          count, count == 1 ? "" : "s", run->csv->columns.count);
}

/* The row ends too early or too late, as far as is known. */
static limn_status wrong_length(row_run *run) {
    size_t count;
    cell_result result = count_cells(run, &count);
    run->partial = result == CELL_PARTIAL;
    if (run->partial)
        return LIMN_OK;
    return result == CELL_DONE ? ragged(run, count)
                               : cell_failure(run->r, result, run->r->text.line, count + 1);
}

/* A cell that cannot be used is often one that has slipped into the wrong column, and what is wrong
 * may depend on the rest of the row. */
static limn_status bad_cell(row_run *run, limn_status status) {
    size_t count;
    cell_result result = count_cells(run, &count);
    run->partial = result == CELL_PARTIAL;
    if (run->partial)
        return LIMN_OK;
    return result == CELL_DONE && count != run->csv->columns.count ? ragged(run, count) : status;
}

static limn_status feature_cell(row_run *run, size_t column, const cell *at) {
    limn_reader *r = run->r;
    lm_place place = place_of(run, column);
    size_t feature = run->csv->columns.role[column];
    limn_status status = lm_reader_cell(r, &place, feature, at->text, at->length, run->sink);
    if (status == LIMN_OK && r->kind && r->kind[feature] == LM_COLUMN_NUMBER)
        run->csv->direct[column] = (uint32_t)feature;
    return status == LIMN_E_DATA ? bad_cell(run, status) : status;
}

/* Reads the cell at run->p by the full rules; run->p moves to where it stops. */
static limn_status any_cell(row_run *run, size_t column, cell *at) {
    limn_reader *r = run->r;
    uint32_t role = run->csv->columns.role[column];
    cell_result result = scan_cell(run->csv, &r->text, run->p, at);
    run->partial = result == CELL_PARTIAL;
    if (run->partial)
        return LIMN_OK;
    if (result != CELL_DONE)
        return cell_failure(r, result, r->text.line + run->newlines, column + 1);
    run->p = at->stop;
    limn_status status = LIMN_OK;
    lm_place place = place_of(run, column);
    if (role < LM_ROLE_SKIP)
        status = feature_cell(run, column, at);
    else if (role == LM_ROLE_LABEL)
        status = lm_reader_label(r, &place, at->text, at->length, run->sink);
    else if (role == LM_ROLE_WEIGHT)
        status = lm_reader_weight(r, &place, at->text, at->length, run->sink);
    run->newlines += at->newlines;
    return status;
}

/* One row from run->p, which is not blank, to its newline. */
static limn_status parse_row(row_run *run) {
    const csv_state *csv = run->csv;
    const lm_text *t = &run->r->text;
    const char *end = t->data + t->end;
    const uint32_t *direct = csv->direct;
    const size_t count = csv->columns.count;
    const char delimiter = csv->delimiter;
    float *row = run->sink->x + run->sink->n * run->sink->stride;
    for (size_t c = 0;; c++) {
        if (direct[c] != SLOW) {
            const char *q = lm_scan_float_padded(run->p, &row[direct[c]]);
            if (q && *q == delimiter && c + 1 < count) {
                run->p = csv->blanks ? skip_blanks(csv, q) : q + 1;
                continue;
            }
            if (q && c + 1 == count && at_newline(q)) {
                run->p = q + (*q == '\r');
                run->partial = run->p == end && !t->eof;
                return LIMN_OK;
            }
        }
        if (csv->blanks && at_newline(run->p)) { /* blanks at the end of the line, not a cell */
            run->partial = run->p + (*run->p == '\r') == end && !t->eof;
            return run->partial ? LIMN_OK : ragged(run, c);
        }
        cell at;
        limn_status status = any_cell(run, c, &at);
        if (status != LIMN_OK || run->partial)
            return status;
        bool last = *run->p == '\n';
        if (last && c + 1 == count)
            return LIMN_OK;
        if (last || c + 1 == count)
            return wrong_length(run);
        run->p = next_cell(csv, &at);
    }
}

/* Skips blank lines; false when the text ends before a row. */
static bool find_row(const csv_state *csv, lm_text *t) {
    while (t->begin < t->end) {
        const char *p = skip_blanks(csv, t->data + t->begin);
        const char *newline = *p == '\r' ? p + 1 : p;
        if (*newline != '\n')
            return true;
        size_t at = (size_t)(newline - t->data);
        if (at >= t->end) { /* the newline is not part of the text: a row may follow */
            if (t->eof)
                t->begin = t->end;
            return false;
        }
        t->begin = at + 1;
        t->line++;
    }
    return false;
}

static void accept_row(row_run *run) {
    limn_reader *r = run->r;
    lm_text *t = &r->text;
    size_t stop = (size_t)(run->p - t->data);
    t->begin = stop < t->end ? stop + 1 : t->end;
    t->line += 1 + run->newlines;
    lm_reader_accept(r, run->sink);
    restart_scan(run->csv);
}

static limn_status csv_rows(limn_reader *r, lm_sink *sink) {
    csv_state *csv = state_of(r);
    size_t before = sink->n;
    row_run run = {.r = r, .csv = csv, .sink = sink};
    while (sink->n < sink->capacity) {
        size_t begin = r->text.begin;
        bool found = find_row(csv, &r->text);
        if (r->text.begin != begin)
            restart_scan(csv);
        if (!found)
            break;
        run.start = r->text.data + r->text.begin;
        run.p = csv->blanks ? skip_blanks(csv, run.start) : run.start;
        run.newlines = sink->missing = 0;
        run.partial = false;
        limn_status status = parse_row(&run);
        if (status != LIMN_OK)
            return status == LIMN_E_DATA && sink->n > before ? LIMN_OK : status;
        if (run.partial)
            break;
        accept_row(&run);
    }
    return LIMN_OK;
}

/* ---- the separator ---- */

static const char separators[] = ",;\t";
enum { SEPARATORS = 3 };

typedef struct line_counts {
    size_t each[SEPARATORS];
    size_t words, numbers; /* between blanks */
} line_counts;

/* Counts outside quotes, up to the newline that ends the row; NULL when there is none. */
static const char *count_line(const char *p, const char *end, line_counts *counts) {
    bool quoted = false, in_word = false, last_separator = true;
    *counts = (line_counts){0};
    for (; p < end && (quoted || *p != '\n'); p++) {
        const char *which = *p ? strchr(separators, *p) : NULL;
        if (!quoted && which)
            counts->each[which - separators]++;
        bool blank = *p == ' ' || *p == '\t' || *p == '\r';
        if (!in_word && !blank) {
            float value;
            const char *stop = quoted ? NULL : lm_scan_float(p, &value);
            counts->words++;
            counts->numbers += stop && strchr(" \t\r\n", *stop) != NULL;
        }
        /* A quote opens at the start of a cell only; doubled ones inside do not close. */
        if (quoted && *p == '"' && p + 1 < end && p[1] == '"')
            p++;
        else if (*p == '"')
            quoted = !quoted && (!in_word || last_separator);
        in_word = !blank;
        last_separator = which != NULL;
    }
    return p < end ? p + 1 : NULL;
}

/* With match the first line decides: the separator that gives the right number of columns, else the
 * most frequent one. Without match, a separator that is equally frequent in each of the first lines
 * wins. */
static size_t pick_separator(const limn_reader *r, const line_counts *lines, size_t count) {
    size_t best = 0, best_score = 0;
    for (size_t s = 0; s < SEPARATORS; s++) {
        size_t cells = lines[0].each[s];
        bool steady = cells > 0;
        for (size_t i = 1; i < count; i++)
            steady = steady && lines[i].each[s] == cells;
        if (r->match)
            steady = cells > 0 && (cells + 1 == r->match->columns || cells == r->match->columns);
        size_t score = cells * 2 + (steady ? SIZE_MAX / 2 : 0);
        if (score > best_score) {
            best = s;
            best_score = score;
        }
    }
    return best_score ? best : SEPARATORS;
}

static bool blanks_separate(const limn_reader *r, const line_counts *lines, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (lines[i].numbers >= 2)
            return true;
    size_t words = count ? lines[0].words : 0;
    return r->match && words >= 2 && (words == r->match->columns || words == r->match->columns + 1);
}

static limn_status find_separator(limn_reader *r) {
    csv_state *csv = state_of(r);
    lm_text *t = &r->text;
    line_counts lines[HEAD_LINES];
    size_t wanted = r->match ? 1 : HEAD_LINES, count;
    csv->delimiter = r->options.delimiter;
    csv->blanks = csv->delimiter == ' ';
    if (csv->delimiter)
        return LIMN_OK;
    for (;;) {
        const char *p = t->data + t->begin, *end = t->data + t->end;
        for (count = 0; p && p < end && count < wanted;) {
            p = count_line(p, end, &lines[count]);
            count += lines[count].words > 0 && (p || t->eof);
        }
        size_t held = t->end - t->begin;
        if (count == wanted || t->eof || (count && held >= HEAD_BYTES))
            break;
        if (!count && held >= HEAD_LINE_BYTES) {
            count = 1;
            break;
        }
        limn_status status = lm_reader_fill(r);
        if (status != LIMN_OK)
            return status;
    }
    size_t best = count ? pick_separator(r, lines, count) : SEPARATORS;
    csv->blanks = best == SEPARATORS && blanks_separate(r, lines, count);
    csv->delimiter = csv->blanks ? ' ' : separators[best < SEPARATORS ? best : 0];
    r->options.delimiter = csv->delimiter; /* for a second reading */
    return LIMN_OK;
}

/* ---- opening ---- */

static limn_status split_row(limn_reader *r, const char **p, uint64_t line, uint64_t *newlines,
                             lm_cells *cells) {
    csv_state *csv = state_of(r);
    *newlines = 0;
    for (;;) {
        cell at;
        cell_result result = scan_cell(csv, &r->text, *p, &at);
        if (result != CELL_DONE)
            return cell_failure(r, result, line + *newlines, cells->count + 1);
        *newlines += at.newlines;
        if (!lm_cells_add(cells, at.text, at.length))
            return lm_fail_memory(r->ctx);
        *p = at.stop;
        if (*at.stop == '\n')
            return LIMN_OK;
        *p = next_cell(csv, &at);
    }
}

/* Waits until the given number of rows has arrived, or the end. */
static limn_status await_rows(limn_reader *r, size_t rows) {
    csv_state *csv = state_of(r);
    limn_status status = LIMN_OK;
    scan_rows(csv, &r->text, rows);
    while (csv->scan.rows < rows && !r->text.eof && status == LIMN_OK) {
        status = lm_reader_fill(r);
        scan_rows(csv, &r->text, rows);
    }
    return status;
}

/* Steps over the newline at p and blank lines after it; NULL at the end. */
static const char *row_behind(limn_reader *r, const char *p, uint64_t *line) {
    lm_text ahead = r->text;
    ahead.begin = (size_t)(p - ahead.data);
    ahead.begin += ahead.begin < ahead.end;
    ahead.line = *line;
    if (!find_row(state_of(r), &ahead))
        return NULL;
    *line = ahead.line;
    return ahead.data + ahead.begin;
}

static limn_status read_head(limn_reader *r, lm_cells *first, lm_cells *second) {
    csv_state *csv = state_of(r);
    lm_text *t = &r->text;
    bool two = !r->match && r->options.header == LIMN_HEADER_AUTO;
    limn_status status = await_rows(r, two ? 2 : 1);
    if (status != LIMN_OK)
        return status;
    if (!find_row(csv, t))
        return lm_fail(r->ctx, LIMN_E_DATA, "%s: no rows", lm_reader_name(r));
    const char *p = t->data + t->begin;
    uint64_t newlines, line;
    status = split_row(r, &p, t->line, &newlines, first);
    if (status != LIMN_OK)
        return status;
    size_t stop = (size_t)(p - t->data);
    uint64_t next_line = line = t->line + newlines + 1;
    const char *behind = two ? row_behind(r, p, &line) : NULL;
    if (behind)
        status = split_row(r, &behind, line, &newlines, second);
    if (status != LIMN_OK)
        return status;
    lm_column_request request = {lm_reader_name(r), &r->options, r->match, first,
                                 second->count ? second : NULL};
    bool header;
    status = lm_columns_header(r->ctx, &request, &header);
    if (status == LIMN_OK)
        status = lm_columns_resolve(r->ctx, &request, header, &csv->columns, &r->schema);
    if (status == LIMN_OK && header) {
        t->line = next_line;
        t->begin = stop < t->end ? stop + 1 : t->end;
    }
    return status;
}

/* Finds the cells that only need a number parsed; without match, none is known yet. */
static limn_status find_direct(limn_reader *r) {
    csv_state *csv = state_of(r);
    const lm_schema *s = &r->schema;
    csv->direct = lm_alloc(&r->mem, csv->columns.count, sizeof *csv->direct);
    if (!csv->direct)
        return lm_fail_memory(r->ctx);
    for (size_t c = 0; c < csv->columns.count; c++) {
        uint32_t role = csv->columns.role[c];
        bool number = r->match && role < LM_ROLE_SKIP && !lm_schema_categories(s, role);
        csv->direct[c] = !number ? SLOW : s->column ? (uint32_t)s->column[role].first : role;
    }
    return r->match ? LIMN_OK : lm_reader_open_columns(r);
}

static limn_status csv_open(limn_reader *r) {
    csv_state *csv = lm_alloc_zero(&r->mem, 1, sizeof *csv);
    if (!csv)
        return lm_fail_memory(r->ctx);
    r->state = csv;
    csv->scratch.mem = &r->mem;
    lm_cells first, second;
    lm_cells_init(&first, &r->mem);
    lm_cells_init(&second, &r->mem);
    limn_status status = find_separator(r);
    if (status == LIMN_OK)
        status = read_head(r, &first, &second);
    if (status == LIMN_OK)
        status = find_direct(r);
    r->has_label = csv->columns.has_label;
    r->has_weight = csv->columns.has_weight;
    restart_scan(csv);
    lm_cells_free(&first);
    lm_cells_free(&second);
    return status;
}

static void csv_close(limn_reader *r) {
    csv_state *csv = state_of(r);
    if (!csv)
        return;
    lm_free(&r->mem, csv->columns.role);
    lm_free(&r->mem, csv->direct);
    lm_buffer_free(&csv->scratch);
    lm_free(&r->mem, csv);
    r->state = NULL;
}

static lm_guess csv_detect(const limn_reader *r) {
    (void)r;
    return LM_GUESS_YES;
}

const lm_format lm_csv_format = {LIMN_FORMAT_CSV, false,        csv_detect, csv_open,
                                 csv_rows,        csv_complete, csv_close};
