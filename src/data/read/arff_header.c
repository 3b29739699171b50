/* arff_header.c: the texts and the header lines of an ARFF file; arff.c says what they look like.
 */
#include "data/read/arff.h"

#include <string.h>

/* ---- texts ---- */

static bool is_word(const char *text, size_t length, const char *word) {
    for (size_t i = 0; i < length; i++)
        if (!word[i] || arff_lower(text[i]) != word[i])
            return false;
    return !word[length];
}

static size_t word_length(const char *p) {
    const char *start = p;
    while (!arff_blank(*p) && *p != '\n' && *p != '{')
        p++;
    return (size_t)(p - start);
}

static bool unescape(lm_buffer *scratch, arff_cell *at) {
    const char *p = at->text, *end = p + at->length;
    scratch->size = 0;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        const char *stop = slash ? slash : end;
        if (!lm_buffer_append(scratch, p, (size_t)(stop - p)))
            return false;
        if (!slash)
            break;
        char c = slash[1] == 't'   ? '\t'
                 : slash[1] == 'n' ? '\n'
                 : slash[1] == 'r' ? '\r'
                                   : slash[1];
        if (!lm_buffer_append(scratch, &c, 1))
            return false;
        p = slash + 2;
    }
    at->length = scratch->size;
    if (!lm_buffer_append(scratch, "", 1))
        return false;
    at->text = (const char *)scratch->data;
    return true;
}

arff_result lm_arff_quoted(lm_buffer *scratch, const char *p, arff_cell *at) {
    const char quote = *p++;
    bool escaped = false;
    *at = (arff_cell){.text = p, .quoted = true};
    for (; *p != quote; p++) {
        if (*p == '\\' && p[1] != '\n') {
            escaped = true;
            p++;
        }
        if (*p == '\n')
            return ARFF_UNCLOSED;
    }
    at->length = (size_t)(p - at->text);
    at->stop = p + 1;
    return !escaped || unescape(scratch, at) ? ARFF_DONE : ARFF_MEMORY;
}

void lm_arff_plain(const char *p, const char *end, arff_cell *at) {
    *at = (arff_cell){.text = p, .stop = end};
    while (end > p && arff_blank(end[-1]))
        end--;
    at->length = (size_t)(end - p);
}

arff_result lm_arff_braced(lm_buffer *scratch, const char *p, arff_cell *at) {
    arff_result result = ARFF_DONE;
    if (arff_opens_quote(*p))
        result = lm_arff_quoted(scratch, p, at);
    else
        lm_arff_plain(p, p + strcspn(p, ",}\n"), at);
    if (result != ARFF_DONE)
        return result;
    at->stop = arff_skip(at->stop);
    return *at->stop == ',' || *at->stop == '}' || *at->stop == '\n' ? ARFF_DONE : ARFF_TAIL;
}

limn_status lm_arff_fail(limn_reader *r, const lm_place *place, arff_result result) {
    if (result == ARFF_UNCLOSED)
        return lm_reader_fail(r, place,
                              "a quote opens here and is not closed on this line; close it");
    if (result == ARFF_TAIL)
        return lm_reader_fail(r, place,
                              "text follows a closing quote; write \\' or \\\" for a quote "
                              "inside a quoted text");
    return lm_fail_memory(r->ctx);
}

/* ---- lines ---- */

static const char *newline_of(const lm_text *t) {
    return memchr(t->data + t->begin, '\n', t->end - t->begin);
}

bool lm_arff_complete(limn_reader *r) {
    const lm_text *t = &r->text;
    size_t from = t->begin + r->scanned;
    r->scanned = t->end - t->begin;
    return memchr(t->data + from, '\n', t->end - from) != NULL;
}

void lm_arff_step(limn_reader *r, const char *newline) {
    lm_text *t = &r->text;
    t->begin = newline ? (size_t)(newline + 1 - t->data) : t->end;
    t->line++;
    r->scanned = 0;
}

limn_status lm_arff_line(limn_reader *r, const char **line) {
    lm_text *t = &r->text;
    for (;;) {
        limn_status status = LIMN_OK;
        while (status == LIMN_OK && !lm_arff_complete(r) && !t->eof)
            status = lm_reader_fill(r);
        r->scanned = 0;
        *line = t->begin < t->end ? arff_skip(t->data + t->begin) : NULL;
        if (status != LIMN_OK || !*line || !arff_ends(**line))
            return status;
        lm_arff_step(r, newline_of(t));
    }
}

/* ---- the header ---- */

static limn_status bad_line(limn_reader *r, const char *line) {
    char shown[48];
    lm_place place = arff_here(r);
    arff_cell at;
    lm_arff_plain(line, line + strcspn(line, "\n"), &at);
    return lm_reader_fail(r, &place,
                          "'%s' is not a line of an ARFF header; expected @relation, @attribute or "
                          "@data, such as @attribute width numeric",
                          lm_quote(at.text, at.length, shown));
}

static limn_status bad_tail(limn_reader *r, const char *tail) {
    char shown[48];
    lm_place place = arff_here(r);
    arff_cell at;
    lm_arff_plain(tail, tail + strcspn(tail, "\n"), &at);
    return lm_reader_fail(r, &place,
                          "'%s' is extra text at the end of the line; remove it, or put %% before "
                          "it to make it a comment",
                          lm_quote(at.text, at.length, shown));
}

/* The name of an attribute; *p moves past it. */
static limn_status attribute_name(limn_reader *r, const char **p) {
    arff_state *arff = arff_of(r);
    lm_place place = arff_here(r);
    arff_cell at;
    arff_result result = ARFF_DONE;
    if (arff_opens_quote(**p))
        result = lm_arff_quoted(&arff->scratch, *p, &at);
    else
        lm_arff_plain(*p, *p + word_length(*p), &at);
    if (result != ARFF_DONE)
        return lm_arff_fail(r, &place, result);
    if (!at.quoted && (!at.length || arff_ends(*at.text)))
        return lm_reader_fail(r, &place,
                              "the attribute has no name; write it as in @attribute width numeric");
    if (!arff_blank(*at.stop) && *at.stop != '{' && *at.stop != '\n')
        return lm_arff_fail(r, &place, ARFF_TAIL);
    *p = arff_skip(at.stop);
    return lm_cells_add(&arff->names, at.text, at.length) ? LIMN_OK : lm_fail_memory(r->ctx);
}

/* {value, value, ...}; *p is at the opening brace and moves past the closing one. */
static limn_status nominal_values(limn_reader *r, const char **p, arff_attribute *a) {
    arff_state *arff = arff_of(r);
    lm_place place = arff_here(r);
    a->type = ARFF_NOMINAL;
    for (const char *q = arff_skip(*p + 1);; q = arff_skip(q + 1)) {
        if (*q != ',' && *q != '}' && *q != '\n') {
            arff_cell at;
            arff_result result = lm_arff_braced(&arff->scratch, q, &at);
            if (result != ARFF_DONE)
                return lm_arff_fail(r, &place, result);
            if (!lm_cells_add(&arff->values, at.text, at.length))
                return lm_fail_memory(r->ctx);
            q = at.stop;
        }
        if (*q == '\n')
            return lm_reader_fail(r, &place,
                                  "a list of values begins with { but is not closed on this line; "
                                  "write it as in @attribute color {red, green}");
        if (*q == '}') {
            *p = q + 1;
            break;
        }
    }
    a->count = arff->values.count - a->first;
    if (!a->count)
        return lm_reader_fail(r, &place,
                              "there is no value between { and }; list the values as in @attribute "
                              "color {red, green}");
    return LIMN_OK;
}

/* What may follow the word date. */
static limn_status skip_date_format(limn_reader *r, const char **p) {
    arff_cell at;
    lm_place place = arff_here(r);
    if (!arff_opens_quote(**p)) {
        *p += arff_ends(**p) ? 0 : word_length(*p);
        return LIMN_OK;
    }
    arff_result result = lm_arff_quoted(&arff_of(r)->scratch, *p, &at);
    *p = at.stop;
    return result == ARFF_DONE ? LIMN_OK : lm_arff_fail(r, &place, result);
}

static limn_status bad_type(limn_reader *r, const char *p, size_t length) {
    char shown[48], name[48];
    const lm_cells *names = &arff_of(r)->names;
    const char *text = lm_cells_at(names, names->count - 1);
    lm_place place = arff_here(r);
    lm_quote(text, strlen(text), name);
    if (arff_ends(*p))
        return lm_reader_fail(r, &place,
                              "attribute '%s' has no type; write it as in @attribute width numeric "
                              "or @attribute color {red, green}",
                              name);
    if (is_word(p, length, "relational"))
        return lm_reader_fail(r, &place,
                              "attribute '%s' is relational, a table in each cell, which is not "
                              "supported; make its columns attributes of their own",
                              name);
    return lm_reader_fail(
        r, &place,
        "'%s' is not a type for attribute '%s'; use numeric, real, integer, string, "
        "date or a list of values as in @attribute color {red, green}",
        lm_quote(p, length, shown), name);
}

static limn_status attribute_kind(limn_reader *r, const char **p, arff_attribute *a) {
    static const struct {
        const char *word;
        arff_type type;
    } types[] = {{"numeric", ARFF_NUMERIC},
                 {"real", ARFF_NUMERIC},
                 {"integer", ARFF_NUMERIC},
                 {"string", ARFF_STRING},
                 {"date", ARFF_DATE}};
    if (**p == '{')
        return nominal_values(r, p, a);
    size_t length = word_length(*p);
    for (size_t i = 0; i < LM_COUNT(types); i++)
        if (is_word(*p, length, types[i].word)) {
            a->type = types[i].type;
            *p = arff_skip(*p + length);
            return a->type == ARFF_DATE ? skip_date_format(r, p) : LIMN_OK;
        }
    return bad_type(r, *p, length);
}

static limn_status attribute_line(limn_reader *r, const char *p) {
    arff_state *arff = arff_of(r);
    arff_attribute a = {.first = arff->values.count, .line = r->text.line};
    limn_status status = attribute_name(r, &p);
    if (status == LIMN_OK)
        status = attribute_kind(r, &p, &a);
    if (status != LIMN_OK)
        return status;
    p = arff_skip(p);
    if (!arff_ends(*p))
        return bad_tail(r, p);
    return lm_buffer_append(&arff->attributes, &a, sizeof a) ? LIMN_OK : lm_fail_memory(r->ctx);
}

static limn_status data_line(limn_reader *r, const char *rest) {
    lm_place place = arff_here(r);
    if (!arff_ends(*rest))
        return bad_tail(r, rest);
    if (!arff_of(r)->names.count)
        return lm_reader_fail(r, &place,
                              "there is no @attribute before @data; declare each column as in "
                              "@attribute width numeric");
    return LIMN_OK;
}

limn_status lm_arff_header(limn_reader *r) {
    limn_status status = LIMN_OK;
    for (bool more = true; more && status == LIMN_OK;) {
        const char *line;
        status = lm_arff_line(r, &line);
        if (status != LIMN_OK)
            return status;
        if (!line)
            return lm_fail(r->ctx, LIMN_E_DATA,
                           "%s: the file ends inside its header; put @data before the rows",
                           lm_reader_name(r));
        size_t length = word_length(line);
        const char *rest = arff_skip(line + length);
        more = !is_word(line, length, "@data");
        if (!more)
            status = data_line(r, rest);
        else if (is_word(line, length, "@attribute"))
            status = attribute_line(r, rest);
        else if (!is_word(line, length, "@relation"))
            status = bad_line(r, line);
        if (status == LIMN_OK)
            lm_arff_step(r, newline_of(&r->text));
    }
    return status;
}
