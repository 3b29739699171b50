/* libsvm.c: the sparse text format of LIBSVM: a row is
 *
 *   [label] index:value index:value ... [# comment]
 *
 * with ascending indices from 1, separated by blanks; features that do not appear are 0. Without
 * match the number of features is the largest index, so rows are stored at a stride that grows and
 * is cut at the end. The first row decides whether rows have labels; where labels are skipped, each
 * row may have one or not. */
#include "data/number.h"
#include "data/read/reader_impl.h"

#include <float.h>
#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *p) {
    while (is_blank(*p))
        p++;
    return p;
}

static bool ends(char c) {
    return c == '\n' || c == '#';
}

static const char *token_end(const char *p) {
    while (!is_blank(*p) && !ends(*p))
        p++;
    return p;
}

/* ---- detection ---- */

/* What follows "digits:", or NULL. */
static const char *behind_index(const char *p) {
    size_t digits = strspn(p, "0123456789");
    return digits && p[digits] == ':' ? p + digits + 1 : NULL;
}

static bool is_pair(const char *p, const char *end) {
    float value;
    const char *text = behind_index(p);
    return text && lm_scan_float(text, &value) == end;
}

/* Also index:nan and the like, so that the error message is about the value. */
static bool looks_like_pair(const char *p, const char *end) {
    float value;
    const char *text = behind_index(p);
    return text && text < end &&
           lm_cell_classify(text, (size_t)(end - text), &value) != LM_CELL_TEXT;
}

/* YES: nothing but pairs after the label. UNSURE: a blank line, or one token that may be either a
 * label without features or a cell. */
static lm_guess guess_line(const char *p) {
    size_t pairs = 0, tokens = 0;
    for (p = skip_blanks(p); !ends(*p); p = skip_blanks(p)) {
        const char *end = token_end(p);
        if (looks_like_pair(p, end) || (end - p > 4 && memcmp(p, "qid:", 4) == 0))
            pairs++;
        else if (tokens > 0 || memchr(p, ',', (size_t)(end - p)) ||
                 memchr(p, ';', (size_t)(end - p)))
            return LM_GUESS_NO;
        tokens++;
        p = end;
    }
    return pairs ? LM_GUESS_YES : LM_GUESS_UNSURE;
}

enum { UNSURE_LINES = 16 };

/* Lines of one token are skipped. With match a stream may be waiting for its answers, so there are
 * limits: a model of one feature takes such a line for a cell, and for others a few lines must
 * suffice. */
static lm_guess libsvm_detect(const limn_reader *r) {
    const lm_text *t = &r->text;
    const char *p = t->data + t->begin, *end = t->data + t->end;
    if (r->options.delimiter) /* only CSV has one */
        return LM_GUESS_NO;
    for (size_t lines = 0; p < end && (!r->match || lines < UNSURE_LINES); lines++) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        if (!line_end && !t->eof)
            return LM_GUESS_UNSURE;
        lm_guess guess = guess_line(p);
        if (guess != LM_GUESS_UNSURE)
            return guess;
        if (r->match && r->match->features == 1 && !ends(*skip_blanks(p)))
            return LM_GUESS_NO;
        p = line_end ? line_end + 1 : end;
    }
    return t->eof || p < end ? LM_GUESS_NO : LM_GUESS_UNSURE;
}

/* ---- rows ---- */

static limn_status row_label(limn_reader *r, const lm_place *place, const char **p, lm_sink *sink) {
    const char *end = token_end(*p);
    bool pair = memchr(*p, ':', (size_t)(end - *p)) != NULL;
    if (pair && r->has_label)
        return lm_reader_fail(r, place,
                              "the label is missing, but the first row has one; fill it or remove "
                              "the row");
    if (pair)
        return LIMN_OK;
    if (!r->has_label && !r->options.no_label && lm_label_wanted(&r->options, r->schema.task))
        return lm_reader_fail(r, place,
                              "there is a label, but the first row has none; label all rows or "
                              "none");
    limn_status status = LIMN_OK;
    if (r->has_label)
        status = lm_reader_label(r, place, *p, (size_t)(end - *p), sink);
    *p = end;
    return status;
}

static limn_status bad_pair(limn_reader *r, const lm_place *place, const char *p) {
    char shown[48];
    size_t length = (size_t)(token_end(p) - p);
    lm_quote(p, length, shown);
    if (length >= 4 && memcmp(p, "qid:", 4) == 0)
        return lm_reader_fail(r, place, "'%s': ranking data is not supported; remove the qid",
                              shown);
    if (is_pair(p, p + length))
        return lm_reader_fail(r, place, "'%s' has an index that is too large", shown);
    const char *colon = memchr(p, ':', length);
    if (colon && is_pair(p, colon + 1 + strspn(colon + 1, "+-.0123456789eE")))
        return lm_reader_fail(r, place, "'%s' has text after its value; separate pairs by blanks",
                              shown);
    float value;
    if (colon && strspn(p, "0123456789") == (size_t)(colon - p) && colon > p &&
        lm_cell_classify(colon + 1, length - (size_t)(colon + 1 - p), &value) == LM_CELL_INFINITE)
        return lm_reader_fail(r, place,
                              "'%s' is infinite or too large for a 32-bit float; the largest "
                              "value is 3.4e38",
                              shown);
    return lm_reader_fail(r, place, "'%s' is not index:value; correct it or remove the row", shown);
}

static limn_status bad_index(limn_reader *r, const lm_place *place, uint64_t index,
                             uint64_t before) {
    if (index == 0)
        return lm_reader_fail(r, place, "index 0; indices start at 1");
    return lm_reader_fail(r, place, "index %llu comes after %llu; indices must ascend within a row",
                          (unsigned long long)index, (unsigned long long)before);
}

/* The row may need more features than there are so far. */
static limn_status new_feature(limn_reader *r, const lm_place *place, lm_sink *sink,
                               uint64_t index) {
    if (r->schema.beyond)
        return LIMN_OK; /* added up by its square */
    if (r->match)
        return lm_reader_fail(r, place, "index %llu, but the model has %zu feature%s",
                              (unsigned long long)index, r->schema.features,
                              r->schema.features == 1 ? "" : "s");
    if (index > sink->stride) {
        limn_status status = lm_reader_widen(r, sink, (size_t)index);
        if (status != LIMN_OK)
            return status;
    }
    r->schema.columns = r->schema.features = (size_t)index;
    return LIMN_OK;
}

/* Keeps the sum of squares finite, like the features. */
static void add_beyond(float *sum, float value) {
    double more = (double)*sum + (double)value * (double)value;
    *sum = more < (double)FLT_MAX ? (float)more : FLT_MAX;
}

static limn_status row_pairs(limn_reader *r, const lm_place *place, const char *p, lm_sink *sink) {
    uint64_t before = 0;
    for (p = skip_blanks(p); !ends(*p); p = skip_blanks(p)) {
        const char *token = p;
        uint64_t index = 0;
        for (; *p >= '0' && *p <= '9' && index < UINT64_C(1) << 48; p++)
            index = index * 10 + (uint64_t)(*p - '0');
        float value;
        const char *end = p > token && *p == ':' ? lm_scan_float_padded(p + 1, &value) : NULL;
        if (!end || !(is_blank(*end) || ends(*end)))
            return bad_pair(r, place, token);
        if (index <= before)
            return bad_index(r, place, index, before);
        if (index > r->schema.features) {
            limn_status status = new_feature(r, place, sink, index);
            if (status != LIMN_OK)
                return status;
        }
        if (index <= r->schema.features)
            sink->x[sink->n * sink->stride + index - 1] = value;
        else
            add_beyond(&sink->x[sink->n * sink->stride + r->schema.features], value);
        before = index;
        p = end;
    }
    return LIMN_OK;
}

static limn_status parse_row(limn_reader *r, const char *p, lm_sink *sink) {
    lm_place place = {r->text.line, 0, NULL};
    memset(sink->x + sink->n * sink->stride, 0, sink->stride * sizeof *sink->x);
    limn_status status = row_label(r, &place, &p, sink);
    if (status == LIMN_OK)
        status = row_pairs(r, &place, p, sink);
    if (status == LIMN_OK)
        lm_reader_accept(r, sink);
    return status;
}

static limn_status libsvm_rows(limn_reader *r, lm_sink *sink) {
    lm_text *t = &r->text;
    size_t before = sink->n;
    while (sink->n < sink->capacity && t->begin < t->end) {
        const char *p = t->data + t->begin;
        const char *line_end = memchr(p, '\n', t->end - t->begin);
        if (!line_end && !t->eof)
            break;
        p = skip_blanks(p);
        if (!ends(*p)) {
            limn_status status = parse_row(r, p, sink);
            if (status != LIMN_OK)
                return status == LIMN_E_DATA && sink->n > before ? LIMN_OK : status;
        }
        t->begin = line_end ? (size_t)(line_end + 1 - t->data) : t->end;
        t->line++;
        r->scanned = 0;
    }
    return LIMN_OK;
}

static bool libsvm_complete(limn_reader *r) {
    const lm_text *t = &r->text;
    size_t from = t->begin + r->scanned;
    r->scanned = t->end - t->begin;
    return memchr(t->data + from, '\n', t->end - from) != NULL;
}

/* ---- opening ---- */

/* Puts text.begin at the first row and waits until it is whole. */
static limn_status first_row(limn_reader *r) {
    lm_text *t = &r->text;
    for (;;) {
        const char *p = t->data + t->begin;
        const char *line_end = memchr(p, '\n', t->end - t->begin);
        if (line_end || t->eof) {
            if (t->begin < t->end && !ends(*skip_blanks(p)))
                return LIMN_OK;
            if (!line_end)
                return lm_fail(r->ctx, LIMN_E_DATA, "%s: no rows", lm_reader_name(r));
            t->begin = (size_t)(line_end + 1 - t->data);
            t->line++;
            continue;
        }
        limn_status status = lm_reader_fill(r);
        if (status != LIMN_OK)
            return status;
    }
}

static limn_status libsvm_open(limn_reader *r) {
    const limn_read_options *o = &r->options;
    if (o->label && strcmp(o->label, "first") != 0 && strcmp(o->label, "1") != 0)
        return lm_fail(r->ctx, LIMN_E_USAGE,
                       "%s: the label of a LIBSVM row is always its first token; leave the label "
                       "out",
                       lm_reader_name(r));
    if (o->weights || o->categorical)
        return lm_fail(r->ctx, LIMN_E_USAGE,
                       "%s: a LIBSVM file has no column of %s; convert it to CSV (limn convert)",
                       lm_reader_name(r), o->weights ? "weights" : "categories");
    if (!r->match && !r->whole)
        return lm_fail(r->ctx, LIMN_E_USAGE,
                       "%s: the number of features in a LIBSVM file is known only at its end; read "
                       "it as a whole",
                       lm_reader_name(r));
    limn_status status = first_row(r);
    if (status != LIMN_OK)
        return status;
    const char *p = skip_blanks(r->text.data + r->text.begin);
    bool label = !memchr(p, ':', (size_t)(token_end(p) - p));
    r->has_label = label && !o->no_label && lm_label_wanted(o, r->schema.task);
    if (!r->match && label && !o->no_label)
        r->schema.label_column = 0;
    return LIMN_OK;
}

static void libsvm_close(limn_reader *r) {
    (void)r;
}

const lm_format lm_libsvm_format = {LIMN_FORMAT_LIBSVM, false,           libsvm_detect, libsvm_open,
                                    libsvm_rows,        libsvm_complete, libsvm_close};
