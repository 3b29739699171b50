/* ranges.c: how other software has scaled data: the range file of LIBSVM's svm-scale, and the two
 * scale files of write.svm in R's package e1071.
 *
 * svm-scale -s writes, y only if the target was scaled (-y), and no constant features:
 *
 *   y                      v' = lower + (upper - lower) (v - min) / (max - min)
 *   lower upper
 *   min max
 *   x
 *   lower upper
 *   index min max          once per feature, from 1; min = max: the feature is always 0
 *
 * e1071 writes one line "center scale" per scaled feature and the same for the target to another
 * file: v' = (v - center) / scale. A name in double quotes may come first.
 *
 * Both become (v - offset) factor. As in svm-scale, features that are not named are 0. Lines end in
 * LF or CRLF; blank lines do not count; only decimal and finite numbers. Unlike svm-scale, indices
 * may come in any order, and a line that cannot be read is an error, not the end.
 *
 * Memory is in proportion to the file: an index far beyond the lines of the file is refused by
 * lm_ranges_match, before a model gets that many features. */
#include "scale/ranges.h"

#include "data/number.h"
#include "data/read/source.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FORMS                                                                              \
    "give the range file that svm-scale -s wrote (its first line is x or y) or the scale " \
    "file that e1071's write.svm wrote (center scale on every line)"
#define AGAIN "the file is damaged: write or copy it again"

enum { WORDS_MAX = 4, READ_BYTES = 1 << 16, SPARE = 1 << 16, GAPS = 64 };

typedef struct word {
    const char *p;
    size_t size;
} word;

/* One line cut into words; count goes on after WORDS_MAX. */
typedef struct line {
    word words[WORDS_MAX];
    size_t count;
    bool named; /* the first word is in quotes */
} line;

typedef struct parser {
    limn_context *ctx;
    const char *p, *end;
    uint64_t number; /* of the line, from 1 */
    lm_ranges *r;
} parser;

static limn_status fail(parser *ps, const char *format, ...) LM_PRINTF(2, 3);

static limn_status fail(parser *ps, const char *format, ...) {
    char what[LM_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return lm_fail(ps->ctx, LIMN_E_MODEL, "%s: line %llu: %s", ps->r->name,
                   (unsigned long long)(ps->number ? ps->number : 1), what);
}

/* ---- lines and words ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The end of the word at p; a name in quotes ends at its last one, \" does not count. */
static const char *word_end(const char *p, const char *end) {
    const char *q = p + 1;
    if (*p == '"') {
        while (q < end && *q != '"')
            q += *q == '\\' && q + 1 < end ? 2 : 1;
        return q < end ? q + 1 : end;
    }
    while (q < end && !is_blank(*q))
        q++;
    return q;
}

static void cut(const char *p, const char *end, line *out) {
    *out = (line){.count = 0};
    for (;;) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end)
            break;
        const char *next = word_end(p, end);
        if (out->count < WORDS_MAX)
            out->words[out->count] = (word){p, (size_t)(next - p)};
        out->count++;
        p = next;
    }
    out->named = out->count && out->words[0].p[0] == '"';
}

/* The next line with something on it. */
static bool next_line(parser *ps, line *out) {
    while (ps->p < ps->end) {
        const char *newline = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));
        const char *end = newline ? newline : ps->end;
        cut(ps->p, end, out);
        ps->p = newline ? newline + 1 : ps->end;
        ps->number++;
        if (out->count)
            return true;
    }
    return false;
}

static bool is_letter(const line *l, char letter) {
    return l->count == 1 && l->words[0].size == 1 && l->words[0].p[0] == letter;
}

/* count numbers from the words after the first `skip`. */
static limn_status get_numbers(parser *ps, const line *l, size_t skip, size_t count,
                               double *values) {
    char shown[48];
    for (size_t i = 0; i < count; i++) {
        const word *w = &l->words[skip + i];
        if (!lm_parse_double(w->p, w->size, &values[i]) || !isfinite(values[i]))
            return fail(ps, "'%s' is not a finite number; %s", lm_quote(w->p, w->size, shown),
                        ps->r->dense ? FORMS : AGAIN);
    }
    return LIMN_OK;
}

/* ---- features ---- */

static limn_status add(parser *ps, uint32_t index, double offset, double factor) {
    lm_ranges *r = ps->r;
    if (r->count == r->capacity) {
        size_t more = r->capacity ? 2 * r->capacity : 16;
        lm_range *list = lm_resize(&ps->ctx->mem, r->list, more, sizeof *list);
        if (!list)
            return lm_fail_memory(ps->ctx);
        r->list = list;
        r->capacity = more;
    }
    r->list[r->count++] = (lm_range){index, ps->number, offset, factor};
    r->features = index >= r->features ? (size_t)index + 1 : r->features;
    return LIMN_OK;
}

static int by_index(const void *a, const void *b) {
    const lm_range *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Ascending, each once. */
static limn_status sort(parser *ps) {
    lm_ranges *r = ps->r;
    size_t i = 1;
    while (i < r->count && r->list[i - 1].index < r->list[i].index)
        i++;
    if (i < r->count)
        qsort(r->list, r->count, sizeof *r->list, by_index);
    for (i = 1; i < r->count; i++)
        if (r->list[i - 1].index == r->list[i].index) {
            ps->number = r->list[i].line;
            return fail(ps, "feature %lu appears twice, first in line %llu; remove one",
                        (unsigned long)r->list[i].index + 1,
                        (unsigned long long)r->list[i - 1].line);
        }
    return LIMN_OK;
}

/* ---- svm-scale ---- */

/* The next line as two numbers. */
static limn_status get_pair(parser *ps, const char *what, double *pair) {
    line l;
    if (!next_line(ps, &l))
        return fail(ps, "the file ends before %s; it is truncated: write or copy it again", what);
    if (l.count != 2)
        return fail(ps, "%zu word%s instead of %s; " AGAIN, l.count, l.count == 1 ? "" : "s", what);
    return get_numbers(ps, &l, 0, 2, pair);
}

static limn_status get_bounds(parser *ps, double *bounds) {
    limn_status status = get_pair(ps, "the lower and the upper end", bounds);
    if (status == LIMN_OK && !(bounds[0] < bounds[1]))
        status = fail(ps, "the lower end, %g, is not below the upper end, %g; correct them",
                      bounds[0], bounds[1]);
    return status;
}

/* (v - offset) factor maps from[0..1] to to[0..1]; an empty range gives 0. */
static limn_status get_map(parser *ps, const double *from, const double *to, double *offset,
                           double *factor) {
    *offset = from[0];
    *factor = 0;
    if (from[0] > from[1])
        return fail(ps, "min, %g, is larger than max, %g; correct them", from[0], from[1]);
    if (from[0] == from[1])
        return LIMN_OK;
    *factor = (to[1] - to[0]) / (from[1] - from[0]);
    *offset = from[0] - to[0] / *factor;
    if (*factor > 0 && isfinite(*factor) && isfinite(*offset))
        return LIMN_OK;
    return fail(ps, "the range from %g to %g is too large or too small to scale with; correct it",
                from[0], from[1]);
}

/* Unlike the features, a constant target keeps its value: value * 0 + min. */
static limn_status get_target(parser *ps) {
    lm_ranges *r = ps->r;
    double bounds[2], pair[2], offset = 0, factor = 0;
    limn_status status = get_bounds(ps, bounds);
    if (status == LIMN_OK)
        status = get_pair(ps, "min and max of y", pair);
    if (status == LIMN_OK)
        status = get_map(ps, pair, bounds, &offset, &factor);
    if (status != LIMN_OK)
        return status;
    r->target = true;
    r->target_offset = offset;
    r->target_factor = factor > 0 ? 1 / factor : 0;
    if (isfinite(r->target_factor))
        return LIMN_OK;
    return fail(ps, "the range of y from %g to %g is too large to scale with; correct it", pair[0],
                pair[1]);
}

static limn_status get_index(parser *ps, const word *w, uint32_t *index) {
    double value;
    char shown[48];
    size_t digits = 0;
    while (digits < w->size && w->p[digits] >= '0' && w->p[digits] <= '9')
        digits++;
    if (digits == w->size && lm_parse_double(w->p, w->size, &value) && value >= 1 &&
        value <= INT32_MAX) {
        *index = (uint32_t)value - 1;
        return LIMN_OK;
    }
    return fail(ps, "'%s' is not the number of a feature, which is a whole number from 1 to %d",
                lm_quote(w->p, w->size, shown), INT32_MAX);
}

static limn_status get_feature(parser *ps, const line *l, const double *bounds) {
    uint32_t index = 0;
    double pair[2], offset = 0, factor = 0;
    if (l->count != 3)
        return fail(ps, "%zu word%s instead of index, min and max; " AGAIN, l->count,
                    l->count == 1 ? "" : "s");
    limn_status status = get_index(ps, &l->words[0], &index);
    if (status == LIMN_OK)
        status = get_numbers(ps, l, 1, 2, pair);
    if (status == LIMN_OK)
        status = get_map(ps, pair, bounds, &offset, &factor);
    return status == LIMN_OK ? add(ps, index, offset, factor) : status;
}

/* first: the line x or y. */
static limn_status parse_ranges(parser *ps, line first) {
    double bounds[2];
    limn_status status = LIMN_OK;
    if (is_letter(&first, 'y')) {
        status = get_target(ps);
        if (status == LIMN_OK && !next_line(ps, &first))
            status = fail(ps, "the file ends before the line x; it is truncated: write or copy it "
                              "again");
        if (status == LIMN_OK && !is_letter(&first, 'x'))
            status = fail(ps, "the line after the range of y must be x; " AGAIN);
    }
    if (status == LIMN_OK)
        status = get_bounds(ps, bounds);
    for (line l; status == LIMN_OK && next_line(ps, &l);)
        status = get_feature(ps, &l, bounds);
    if (status == LIMN_OK && !ps->r->count)
        status = fail(ps, "the file ends before the first feature; it is truncated: write or copy "
                          "it again");
    return status == LIMN_OK ? sort(ps) : status;
}

/* ---- e1071 ---- */

static limn_status parse_centers(parser *ps, line l) {
    limn_status status = LIMN_OK;
    ps->r->dense = true;
    do {
        double pair[2];
        size_t skip = l.named;
        if (l.count != skip + 2)
            return fail(ps, "%zu word%s instead of center and scale; " FORMS, l.count,
                        l.count == 1 ? "" : "s");
        status = get_numbers(ps, &l, skip, 2, pair);
        if (status == LIMN_OK && !(pair[1] > 0 && isfinite(1 / pair[1])))
            status = fail(ps,
                          "the scale, %g, is not above 0; write 1 for a feature that was not "
                          "scaled",
                          pair[1]);
        if (status == LIMN_OK && ps->r->count == INT32_MAX)
            status = fail(ps, "there are more than %d lines; " FORMS, INT32_MAX);
        if (status == LIMN_OK)
            status = add(ps, (uint32_t)ps->r->count, pair[0], 1 / pair[1]);
    } while (status == LIMN_OK && next_line(ps, &l));
    return status;
}

/* ---- files ---- */

limn_status lm_ranges_parse(limn_context *ctx, const char *name, const char *bytes, size_t size,
                            lm_ranges *ranges) {
    line first;
    *ranges = (lm_ranges){.name = lm_strdup(&ctx->mem, name)};
    if (!ranges->name)
        return lm_fail_memory(ctx);
    if (size && memchr(bytes, '\0', size))
        return lm_fail(ctx, LIMN_E_MODEL, "%s: line 1: this is not text; " FORMS, name);
    const char *p = size ? bytes : "";
    parser ps = {.ctx = ctx, .p = p, .end = p + size, .r = ranges};
    if (!next_line(&ps, &first))
        return lm_fail(ctx, LIMN_E_MODEL, "%s: line 1: the file is empty; " FORMS, name);
    bool letter = is_letter(&first, 'x') || is_letter(&first, 'y');
    return letter ? parse_ranges(&ps, first) : parse_centers(&ps, first);
}

/* Stops at the first byte that is not text, so that an endless file of zeros ends, too. */
static limn_status read_all(limn_context *ctx, lm_source *source, lm_buffer *bytes) {
    limn_status status = LIMN_OK;
    size_t got = 1;
    char *block = lm_alloc(&ctx->mem, READ_BYTES, 1);
    if (!block)
        return lm_fail_memory(ctx);
    for (bool text = true; status == LIMN_OK && got && text;) {
        status = lm_source_read(source, block, READ_BYTES, &got);
        if (status == LIMN_OK && bytes->size + got > ctx->memory_limit)
            status = lm_fail(ctx, LIMN_E_MODEL, "%s: the file is larger than the memory limit",
                             lm_source_name(source));
        if (status == LIMN_OK && !lm_buffer_append(bytes, block, got))
            status = lm_fail_memory(ctx);
        text = status == LIMN_OK && !(got && memchr(block, '\0', got));
    }
    lm_free(&ctx->mem, block);
    return status;
}

static limn_status read_file(limn_context *ctx, const char *path, lm_ranges *ranges) {
    lm_source *source;
    lm_buffer bytes = {.mem = &ctx->mem};
    *ranges = (lm_ranges){.name = NULL};
    if (!*path || strcmp(path, "-") == 0)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "the scaling must be in a file: name it, or two of them as X,Y");
    limn_status status = lm_source_open(ctx, path, &source);
    if (status != LIMN_OK)
        return status;
    status = read_all(ctx, source, &bytes);
    if (status == LIMN_OK)
        status = lm_ranges_parse(ctx, path, (const char *)bytes.data, bytes.size, ranges);
    lm_source_free(source);
    lm_buffer_free(&bytes);
    return status;
}

/* The second file is e1071's, with the one line of the target. */
static limn_status read_target(limn_context *ctx, const char *path, lm_ranges *x) {
    lm_ranges y;
    if (!x->dense)
        return lm_fail(ctx, LIMN_E_USAGE,
                       "%s is a range file of svm-scale, which holds the scaling of the target, "
                       "too; leave out ,%s",
                       x->name, path);
    limn_status status = read_file(ctx, path, &y);
    if (status == LIMN_OK && (!y.dense || y.count != 1))
        status = lm_fail(ctx, LIMN_E_MODEL,
                         "%s: the scaling of the target is one line, center and scale; give the "
                         "yscale file of e1071's write.svm",
                         path);
    if (status == LIMN_OK) {
        x->target = true;
        x->target_offset = y.list[0].offset;
        x->target_factor = 1 / y.list[0].factor;
    }
    lm_ranges_free(&ctx->mem, &y);
    return status;
}

limn_status lm_ranges_read(limn_context *ctx, const char *paths, lm_ranges *ranges) {
    struct stat info;
    const char *comma = strchr(paths, ',');
    *ranges = (lm_ranges){.name = NULL};
    if (!comma || stat(paths, &info) == 0)
        return read_file(ctx, paths, ranges);
    char *first = lm_strndup(&ctx->mem, paths, (size_t)(comma - paths));
    if (!first)
        return lm_fail_memory(ctx);
    limn_status status = read_file(ctx, first, ranges);
    if (status == LIMN_OK)
        status = read_target(ctx, comma + 1, ranges);
    lm_free(&ctx->mem, first);
    return status;
}

void lm_ranges_free(const limn_allocator *mem, lm_ranges *ranges) {
    lm_free(mem, ranges->name);
    lm_free(mem, ranges->list);
    *ranges = (lm_ranges){.name = NULL};
}

/* ---- as a scaling ---- */

limn_status lm_ranges_match(limn_context *ctx, const lm_ranges *r, size_t d, size_t *features) {
    *features = r->features > d ? r->features : d;
    if (r->dense && r->count != d)
        return lm_fail(ctx, LIMN_E_MODEL, "%s: %zu line%s, but the model has %zu feature%s; %s",
                       r->name, r->count, r->count == 1 ? "" : "s", d, d == 1 ? "" : "s",
                       r->count < d
                           ? "write.svm leaves out features that were not scaled: insert a "
                             "line '0 1' for each of them"
                           : "give the scale file that was written with this model");
    if (r->features > d && r->features / GAPS > r->count + SPARE / GAPS)
        return lm_fail(
            ctx, LIMN_E_MODEL,
            "%s: line %llu: feature %zu is far beyond the %zu feature%s of the model and "
            "the %zu that the file names; remove the line or number the features without "
            "gaps",
            r->name, (unsigned long long)r->list[r->count - 1].line, r->features, d,
            d == 1 ? "" : "s", r->count);
    return LIMN_OK;
}

limn_status lm_ranges_scaler(limn_context *ctx, const lm_ranges *r, size_t features, lm_scaler *s) {
    *s = (lm_scaler){.kind = LIMN_SCALE_RANGES,
                     .in = features,
                     .kept = features,
                     .out = features,
                     .target = r->target,
                     .target_offset = r->target_offset,
                     .target_factor = r->target_factor};
    if (!lm_scaler_take(&ctx->mem, features, true, s)) {
        lm_scaler_free(&ctx->mem, s);
        return lm_fail_memory(ctx);
    }
    for (size_t j = 0; j < features; j++) {
        s->keep[j] = (uint32_t)j;
        s->offset[j] = s->factor[j] = 0;
    }
    for (size_t i = 0; i < r->count && r->list[i].index < features; i++) {
        s->offset[r->list[i].index] = r->list[i].offset;
        s->factor[r->list[i].index] = r->list[i].factor;
    }
    return LIMN_OK;
}

/* ---- writing ---- */

typedef struct writer {
    limn_context *ctx;
    limn_output *out;
    limn_status status; /* of the first failure */
} writer;

static void put(writer *w, const char *text) {
    if (w->status == LIMN_OK)
        w->status = limn_output_write(w->out, text, strlen(text));
}

static void put_pair(writer *w, double a, double b) {
    char first[LM_NUMBER_BYTES], second[LM_NUMBER_BYTES];
    if (w->status == LIMN_OK && !(isfinite(a) && isfinite(b)))
        w->status = lm_fail(w->ctx, LIMN_E_MODEL,
                            "the model scales with numbers that a range file cannot hold");
    lm_format_double(a, first);
    lm_format_double(b, second);
    put(w, first);
    put(w, " ");
    put(w, second);
    put(w, "\n");
}

static void put_feature(writer *w, size_t index, double min, double max) {
    char text[LM_NUMBER_BYTES];
    snprintf(text, sizeof text, "%zu ", index + 1);
    put(w, text);
    put_pair(w, min, max);
}

/* The last feature is named even if it is always 0: the file then says how many there are. */
limn_status lm_ranges_put(limn_context *ctx, const lm_scaler *s, limn_output *output) {
    writer w = {.ctx = ctx, .out = output};
    double lower = s->kind == LIMN_SCALE_MINMAX ? 0 : -1;
    if (s->target) {
        put(&w, "y\n-1 1\n");
        put_pair(&w, s->target_offset - s->target_factor, s->target_offset + s->target_factor);
    }
    put(&w, "x\n");
    put_pair(&w, lower, 1);
    size_t named = 0;
    for (size_t j = 0; j < s->kept; j++) {
        double unit = s->factor[j] > 0 ? 1 / s->factor[j] : 0;
        if (s->factor[j] > 0)
            put_feature(&w, s->keep[j], s->offset[j] + lower * unit, s->offset[j] + unit);
        named = s->factor[j] > 0 ? (size_t)s->keep[j] + 1 : named;
    }
    if (named < s->in)
        put_feature(&w, s->in - 1, 0, 0);
    return w.status;
}
