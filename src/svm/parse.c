/* parse.c: parses LIBSVM's text models into an lm_svm.
 *
 * Before the line "SV" there is one key per line, in any order, followed by its values:
 *
 *   svm_type, kernel_type, nr_class (k), total_sv (n), rho      all machines
 *   degree (else 3), gamma, coef0 (else 0)                      if the kernel uses them
 *   label (k), nr_sv (k), probA and probB (both or none)        c_svc, nu_svc
 *   probA (1: sigma of the noise)                               epsilon_svr, nu_svr
 *   prob_density_marks (10)                                     one_class
 *
 * After it come n lines of k - 1 coefficients (1 for all but the SVCs) and index:value pairs with
 * ascending indices from 1. Lines end in LF or CRLF; blank lines and blanks around words do not
 * count. Keys that the machine does not use are skipped.
 *
 * Nothing in the file is trusted: a list is checked for the right number of words before memory is
 * allocated for it, and the lines of the vectors are counted and their largest index found before
 * the matrix is allocated, so a false count cannot cost more than the file itself. The matrix is
 * dense, so it may be far larger than a sparse file; the context's limit applies.
 *
 * Departures from svm_load_model: values of one key stay on its line; a polynomial of degree 0,
 * which is 1 everywhere, becomes (0 u.v + 1)^1; only decimal and finite numbers. */
#include "data/number.h"
#include "svm/svm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DAMAGED "the file is damaged: copy it again or save the model again"

/* Text on one line without surrounding blanks. *end is readable and is a blank or a newline, so
 * that numbers end there. */
typedef struct span {
    const char *p, *end;
    uint64_t line;
} span;

/* The remaining lines. A last line without a newline is copied to get one. */
typedef struct lines {
    const char *p, *end;
    const char *tail; /* NULL: none, or read */
    size_t tail_size; /* without its newline */
    uint64_t line;    /* number of the last line read, from 1 */
} lines;

enum key {
    KEY_SVM_TYPE,
    KEY_KERNEL_TYPE,
    KEY_DEGREE,
    KEY_GAMMA,
    KEY_COEF0,
    KEY_NR_CLASS,
    KEY_TOTAL_SV,
    KEY_RHO,
    KEY_LABEL,
    KEY_PROB_A,
    KEY_PROB_B,
    KEY_MARKS,
    KEY_NR_SV,
    KEY_COUNT
};
static const char *const key_names[KEY_COUNT] = {
    "svm_type", "kernel_type",        "degree", "gamma", "coef0",
    "nr_class", "total_sv",           "rho",    "label", "probA",
    "probB",    "prob_density_marks", "nr_sv",
};

enum { UNKNOWN_SHOWN = 5, UNKNOWN_BYTES = UNKNOWN_SHOWN * 52 + 32 };

typedef struct parser {
    limn_context *ctx;
    const char *name;
    lines at;
    span value[KEY_COUNT]; /* p NULL: the key is not there */
    char unknown[UNKNOWN_BYTES];
    size_t unknown_size, unknown_count;
    lm_svm *svm;
    int32_t *labels;
} parser;

static limn_status fail(parser *ps, uint64_t line, const char *format, ...) LM_PRINTF(3, 4);

static limn_status fail(parser *ps, uint64_t line, const char *format, ...) {
    char what[LM_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return lm_fail(ps->ctx, LIMN_E_MODEL, "%s: line %llu: %s", ps->name, (unsigned long long)line,
                   what);
}

/* ---- lines and words ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static bool ends(char c) {
    return is_blank(c) || c == '\n';
}

/* The next line with something on it. */
static bool next_line(lines *at, span *line) {
    while (at->p < at->end || at->tail) {
        const char *p = at->p, *end;
        if (p < at->end) {
            end = memchr(p, '\n', (size_t)(at->end - p));
            at->p = end + 1;
        } else {
            p = at->tail;
            end = p + at->tail_size;
            at->tail = NULL;
        }
        at->line++;
        while (p < end && is_blank(*p))
            p++;
        while (end > p && is_blank(end[-1]))
            end--;
        *line = (span){p, end, at->line};
        if (p < end)
            return true;
    }
    return false;
}

static size_t bytes_left(const lines *at) {
    return (size_t)(at->end - at->p) + (at->tail ? at->tail_size : 0);
}

/* Takes the first word off the rest. */
static bool next_word(span *rest, span *word) {
    const char *p = rest->p;
    while (p < rest->end && is_blank(*p))
        p++;
    *word = (span){p, p, rest->line};
    while (word->end < rest->end && !is_blank(*word->end))
        word->end++;
    rest->p = word->end;
    return word->end > p;
}

static size_t count_words(span rest) {
    size_t count = 0;
    for (span word; next_word(&rest, &word);)
        count++;
    return count;
}

static bool is_word(span word, const char *text) {
    size_t length = (size_t)(word.end - word.p);
    return length == strlen(text) && memcmp(word.p, text, length) == 0;
}

static const char *quote(span word, char *shown) {
    return lm_quote(word.p, (size_t)(word.end - word.p), shown);
}

static enum key find_key(span word) {
    int key = 0;
    while (key < KEY_COUNT && !is_word(word, key_names[key]))
        key++;
    return (enum key)key;
}

/* ---- detection ---- */

enum { DETECT_LINES = 16 };

/* A table may have a column of that name, so only the type may follow the key. */
bool lm_svm_is_text(const void *bytes, size_t size) {
    const char *p = size ? bytes : "", *end = p + size;
    for (int i = 0; i < DETECT_LINES && p < end; i++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        span rest = {p, newline ? newline : end, 0}, word;
        if (next_word(&rest, &word) && is_word(word, key_names[KEY_SVM_TYPE]))
            return count_words(rest) == 1;
        if (is_word(word, "SV") || !newline)
            return false;
        p = newline + 1;
    }
    return false;
}

/* ---- the keys ---- */

static void note_unknown(parser *ps, span word) {
    char shown[48];
    if (++ps->unknown_count > UNKNOWN_SHOWN)
        return;
    int size = snprintf(ps->unknown + ps->unknown_size, UNKNOWN_BYTES - ps->unknown_size, "%s'%s'",
                        ps->unknown_count > 1 ? ", " : "", quote(word, shown));
    ps->unknown_size += size > 0 ? (size_t)size : 0;
}

static void warn_unknown(parser *ps) {
    char more[48] = "";
    if (ps->unknown_count > UNKNOWN_SHOWN)
        snprintf(more, sizeof more, " and %zu more", ps->unknown_count - UNKNOWN_SHOWN);
    if (ps->unknown_count)
        lm_warn(ps->ctx, "%s: skipped unknown key%s %s%s", ps->name,
                ps->unknown_count > 1 ? "s" : "", ps->unknown, more);
}

/* Up to the line "SV". */
static limn_status find_values(parser *ps) {
    span rest, word;
    char shown[48];
    while (next_line(&ps->at, &rest)) {
        next_word(&rest, &word);
        if (is_word(word, "SV")) {
            if (rest.p < rest.end)
                return fail(ps, rest.line,
                            "'%s' follows SV on the same line; the vectors begin on the next line",
                            quote((span){rest.p + 1, rest.end, 0}, shown));
            warn_unknown(ps);
            return LIMN_OK;
        }
        enum key key = find_key(word);
        if (key == KEY_COUNT)
            note_unknown(ps, word);
        else if (ps->value[key].p)
            return fail(ps, rest.line, "%s appears twice, first in line %llu; remove one",
                        key_names[key], (unsigned long long)ps->value[key].line);
        else
            ps->value[key] = rest;
    }
    return fail(ps, ps->at.line ? ps->at.line : 1,
                "the file ends without a line SV; it is truncated or not a LIBSVM model");
}

static limn_status check_words(parser *ps, enum key key, uint64_t count, const char *why) {
    size_t words = count_words(ps->value[key]);
    if (words == count)
        return LIMN_OK;
    return fail(ps, ps->value[key].line, "%s has %zu value%s instead of %llu%s; " DAMAGED,
                key_names[key], words, words == 1 ? "" : "s", (unsigned long long)count, why);
}

static limn_status read_name(parser *ps, enum key key, span *word) {
    limn_status status = check_words(ps, key, 1, "");
    if (status == LIMN_OK)
        next_word(&ps->value[key], word);
    return status;
}

static bool scan_whole(span word, int64_t *value) {
    enum { DIGITS = 18 };
    const char *p = word.p;
    bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    int64_t v = 0;
    if (p == word.end || word.end - p > DIGITS)
        return false;
    for (; p < word.end; p++) {
        if (*p < '0' || *p > '9')
            return false;
        v = v * 10 + (*p - '0');
    }
    *value = negative ? -v : v;
    return true;
}

/* The next whole number of a key; there is one. */
static limn_status read_whole(parser *ps, enum key key, int64_t least, int64_t *value) {
    span word;
    char shown[48];
    next_word(&ps->value[key], &word);
    if (scan_whole(word, value) && *value >= least && *value <= INT32_MAX)
        return LIMN_OK;
    return fail(ps, word.line, "%s is '%s', but must be a whole number from %lld to %d; " DAMAGED,
                key_names[key], quote(word, shown), (long long)least, INT32_MAX);
}

static limn_status read_count(parser *ps, enum key key, int64_t least, size_t *count) {
    int64_t value = 0;
    limn_status status = check_words(ps, key, 1, "");
    if (status == LIMN_OK)
        status = read_whole(ps, key, least, &value);
    *count = (size_t)value;
    return status;
}

static limn_status read_double(parser *ps, enum key key, double *value) {
    span word;
    char shown[48];
    next_word(&ps->value[key], &word);
    if (lm_scan_double(word.p, value) == word.end)
        return LIMN_OK;
    return fail(ps, word.line, "%s has '%s', which is not a finite number; " DAMAGED,
                key_names[key], quote(word, shown));
}

static limn_status read_parameter(parser *ps, enum key key, double *value) {
    limn_status status = check_words(ps, key, 1, "");
    return status == LIMN_OK ? read_double(ps, key, value) : status;
}

/* A key that is not there gives no numbers. */
static limn_status read_doubles(parser *ps, enum key key, size_t count, const char *why,
                                const double **out) {
    if (!ps->value[key].p && count)
        return LIMN_OK;
    limn_status status = check_words(ps, key, count, why);
    if (status != LIMN_OK)
        return status;
    double *value = lm_alloc(&ps->ctx->mem, count, sizeof *value);
    if (!value)
        return lm_fail_memory(ps->ctx);
    *out = value;
    for (size_t i = 0; i < count && status == LIMN_OK; i++)
        status = read_double(ps, key, &value[i]);
    return status;
}

static limn_status read_svm_type(parser *ps) {
    span word;
    char shown[48];
    if (!ps->value[KEY_SVM_TYPE].p)
        return LIMN_OK;
    limn_status status = read_name(ps, KEY_SVM_TYPE, &word);
    if (status != LIMN_OK)
        return status;
    for (int type = 0; lm_svm_type_name((lm_svm_type)type); type++)
        if (is_word(word, lm_svm_type_name((lm_svm_type)type))) {
            ps->svm->type = (lm_svm_type)type;
            return LIMN_OK;
        }
    return fail(ps, word.line,
                "'%s' is not an svm_type; it must be c_svc, nu_svc, one_class, epsilon_svr or "
                "nu_svr",
                quote(word, shown));
}

static limn_status read_kernel_type(parser *ps) {
    span word;
    char shown[48];
    if (!ps->value[KEY_KERNEL_TYPE].p)
        return LIMN_OK;
    limn_status status = read_name(ps, KEY_KERNEL_TYPE, &word);
    if (status != LIMN_OK)
        return status;
    for (int type = LM_LINEAR; type <= LM_SIGMOID; type++) /* LIBSVM has no others */
        if (is_word(word, lm_kernel_name((lm_kernel_type)type))) {
            ps->svm->kernel.type = (lm_kernel_type)type;
            return LIMN_OK;
        }
    if (is_word(word, "precomputed"))
        return fail(ps, word.line,
                    "the kernel is precomputed, so the file has row numbers instead of support "
                    "vectors and cannot be applied to new data; train with a linear, polynomial, "
                    "rbf or sigmoid kernel");
    return fail(ps, word.line,
                "'%s' is not a kernel_type; it must be linear, polynomial, rbf or sigmoid",
                quote(word, shown));
}

static bool is_one_class_svc(const lm_svm *svm) {
    return lm_svm_is_svc(svm->type) && svm->classes == 1;
}

/* The types, if present, have been read. */
static limn_status check_missing(parser *ps) {
    const lm_svm *svm = ps->svm;
    bool svc = ps->value[KEY_SVM_TYPE].p && lm_svm_is_svc(svm->type);
    bool needed[KEY_COUNT] = {
        [KEY_SVM_TYPE] = true, [KEY_KERNEL_TYPE] = true,
        [KEY_NR_CLASS] = true, [KEY_TOTAL_SV] = true,
        [KEY_LABEL] = svc,     [KEY_RHO] = !is_one_class_svc(svm),
        [KEY_NR_SV] = svc,     [KEY_GAMMA] = svm->kernel.type != LM_LINEAR,
    };
    char list[256] = "";
    size_t used = 0;
    for (int key = 0; key < KEY_COUNT; key++)
        if (needed[key] && !ps->value[key].p)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     key_names[key]);
    return used ? fail(ps, ps->at.line, "missing before SV: %s; " DAMAGED, list) : LIMN_OK;
}

static limn_status read_counts(parser *ps) {
    lm_svm *svm = ps->svm;
    bool svc = lm_svm_is_svc(svm->type);
    limn_status status = LIMN_OK;
    if (ps->value[KEY_NR_CLASS].p)
        status = read_count(ps, KEY_NR_CLASS, 1, &svm->classes);
    if (status == LIMN_OK && ps->value[KEY_TOTAL_SV].p)
        status = read_count(ps, KEY_TOTAL_SV, 0, &svm->n);
    if (status != LIMN_OK)
        return status;
    status = check_missing(ps);
    if (status != LIMN_OK)
        return status;
    if (!svc && svm->classes != 2)
        return fail(ps, ps->value[KEY_NR_CLASS].line,
                    "nr_class is %zu, but must be 2 for %s; " DAMAGED, svm->classes,
                    lm_svm_type_name(svm->type));
    if (svm->classes == 1 && svm->n)
        return fail(ps, ps->value[KEY_TOTAL_SV].line,
                    "total_sv is %zu, but one class has no support vectors; " DAMAGED, svm->n);
    /* A coefficient has at least one digit and is followed by a blank or a newline. */
    uint64_t least = (uint64_t)svm->n * 2 * (svm->classes - 1);
    if (least > (uint64_t)bytes_left(&ps->at) + 1)
        return fail(ps, ps->value[KEY_TOTAL_SV].line,
                    "total_sv is %zu with %zu classes, which does not fit in the %zu bytes after "
                    "SV; the file is truncated: copy it again",
                    svm->n, svm->classes, bytes_left(&ps->at));
    return LIMN_OK;
}

static limn_status read_kernel(parser *ps) {
    lm_kernel *kernel = &ps->svm->kernel;
    size_t degree = 3;
    limn_status status = LIMN_OK;
    if (kernel->type == LM_POLYNOMIAL && ps->value[KEY_DEGREE].p)
        status = read_count(ps, KEY_DEGREE, 0, &degree);
    if (status == LIMN_OK && kernel->type != LM_LINEAR)
        status = read_parameter(ps, KEY_GAMMA, &kernel->gamma);
    if (status == LIMN_OK && (kernel->type == LM_POLYNOMIAL || kernel->type == LM_SIGMOID) &&
        ps->value[KEY_COEF0].p)
        status = read_parameter(ps, KEY_COEF0, &kernel->coef0);
    if (status != LIMN_OK)
        return status;
    if (kernel->type == LM_RBF && kernel->gamma < 0)
        return fail(ps, ps->value[KEY_GAMMA].line,
                    "gamma is below 0, which is not valid for an rbf kernel; train again");
    kernel->degree = (int)degree;
    if (!degree)
        *kernel = (lm_kernel){.type = LM_POLYNOMIAL, .degree = 1, .gamma = 0, .coef0 = 1};
    return LIMN_OK;
}

static limn_status read_functions(parser *ps) {
    lm_svm *svm = ps->svm;
    bool svc = lm_svm_is_svc(svm->type), svr = !svc && svm->type != LM_ONE_CLASS;
    size_t functions = lm_svm_functions(svm);
    const char *why = svc ? " (nr_class (nr_class - 1) / 2)" : "";
    limn_status status = read_doubles(ps, KEY_RHO, functions, why, &svm->rho);
    if (status == LIMN_OK && svc && !ps->value[KEY_PROB_A].p != !ps->value[KEY_PROB_B].p) {
        bool a = ps->value[KEY_PROB_A].p != NULL;
        return fail(ps, ps->value[a ? KEY_PROB_A : KEY_PROB_B].line,
                    "there is %s but no %s; remove it or save the model again",
                    a ? "probA" : "probB", a ? "probB" : "probA");
    }
    if (status == LIMN_OK && ps->value[KEY_PROB_A].p && (svc || svr))
        status = read_doubles(ps, KEY_PROB_A, functions, why, &svm->prob_a);
    if (status == LIMN_OK && ps->value[KEY_PROB_B].p && svc)
        status = read_doubles(ps, KEY_PROB_B, functions, why, &svm->prob_b);
    if (status == LIMN_OK && svm->type == LM_ONE_CLASS)
        status = read_doubles(ps, KEY_MARKS, LM_SVM_MARKS, "", &svm->marks);
    return status;
}

static limn_status read_labels(parser *ps) {
    size_t k = ps->svm->classes;
    limn_status status = check_words(ps, KEY_LABEL, k, " (nr_class)");
    if (status != LIMN_OK)
        return status;
    ps->labels = lm_alloc(&ps->ctx->mem, k, sizeof *ps->labels);
    if (!ps->labels)
        return lm_fail_memory(ps->ctx);
    for (size_t i = 0; i < k; i++) {
        int64_t label = 0;
        status = read_whole(ps, KEY_LABEL, INT32_MIN, &label);
        if (status != LIMN_OK)
            return status;
        /* There were k (k - 1) / 2 values of rho, so this makes no more comparisons than the file
         * has bytes. */
        for (size_t j = 0; j < i; j++)
            if (ps->labels[j] == label)
                return fail(ps, ps->value[KEY_LABEL].line,
                            "two classes have the label %lld; " DAMAGED, (long long)label);
        ps->labels[i] = (int32_t)label;
    }
    return LIMN_OK;
}

static limn_status read_class_counts(parser *ps) {
    lm_svm *svm = ps->svm;
    uint64_t sum = 0;
    limn_status status = check_words(ps, KEY_NR_SV, svm->classes, " (nr_class)");
    if (status != LIMN_OK)
        return status;
    uint64_t *count = lm_alloc(&ps->ctx->mem, svm->classes, sizeof *count);
    if (!count)
        return lm_fail_memory(ps->ctx);
    svm->count = count;
    for (size_t i = 0; i < svm->classes; i++) {
        int64_t value = 0;
        status = read_whole(ps, KEY_NR_SV, 0, &value);
        if (status != LIMN_OK)
            return status;
        count[i] = (uint64_t)value;
        sum += count[i];
    }
    if (sum != svm->n)
        return fail(ps, ps->value[KEY_NR_SV].line,
                    "the values of nr_sv sum to %llu, but total_sv is %zu; " DAMAGED,
                    (unsigned long long)sum, svm->n);
    return LIMN_OK;
}

static limn_status read_header(parser *ps) {
    limn_status status = find_values(ps);
    if (status == LIMN_OK)
        status = read_svm_type(ps);
    if (status == LIMN_OK)
        status = read_kernel_type(ps);
    if (status == LIMN_OK)
        status = read_counts(ps);
    if (status == LIMN_OK)
        status = read_kernel(ps);
    if (status == LIMN_OK)
        status = read_functions(ps);
    if (status == LIMN_OK && lm_svm_is_svc(ps->svm->type))
        status = read_labels(ps);
    if (status == LIMN_OK && lm_svm_is_svc(ps->svm->type))
        status = read_class_counts(ps);
    return status;
}

/* ---- the vectors ---- */

/* The first byte after the digits at p; values beyond INT32_MAX stay beyond it. */
static const char *scan_index(const char *p, uint64_t *index) {
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (v <= INT32_MAX)
            v = v * 10 + (uint64_t)(*p - '0');
    *index = v;
    return p;
}

/* The index of the last pair of a line, which is the largest in a valid line. */
static uint64_t last_index(span line) {
    const char *colon = memrchr(line.p, ':', (size_t)(line.end - line.p)), *p = colon;
    uint64_t index = 0;
    if (!colon)
        return 0;
    while (p > line.p && p[-1] >= '0' && p[-1] <= '9')
        p--;
    scan_index(p, &index);
    return index;
}

static limn_status check_memory(parser *ps, uint64_t line) {
    const lm_svm *svm = ps->svm;
    size_t cells, matrix, numbers, total;
    uint64_t limit = ps->ctx->memory_limit;
    if (lm_mul(svm->n, svm->d, &cells) && lm_mul(cells, sizeof *svm->sv, &matrix) &&
        lm_mul(svm->n, (svm->classes - 1) * sizeof *svm->coef, &numbers) &&
        lm_add(matrix, numbers, &total) && total <= limit)
        return LIMN_OK;
    double need = (double)svm->n * ((double)svm->d * sizeof *svm->sv +
                                    (double)(svm->classes - 1) * sizeof *svm->coef);
    return fail(
        ps, line,
        "a matrix of %zu support vectors x %zu features (the largest index) needs %llu MB of "
        "memory, but the limit is %llu MB; renumber the features without gaps or use fewer",
        svm->n, svm->d, (unsigned long long)(need / 1e6) + 1,
        (unsigned long long)(limit / 1000000));
}

/* Counts the lines and finds d; errors inside a line are left to read_vector. */
static limn_status measure_vectors(parser *ps) {
    lm_svm *svm = ps->svm;
    lines at = ps->at;
    size_t n = 0;
    uint64_t largest = 1, where = at.line;
    for (span line; next_line(&at, &line); n++) {
        if (n == svm->n)
            return fail(ps, line.line,
                        "there are more lines after SV than total_sv, which is %zu; " DAMAGED,
                        svm->n);
        uint64_t index = last_index(line);
        if (index > INT32_MAX)
            return fail(ps, line.line, "an index is larger than %d; " DAMAGED, INT32_MAX);
        where = index > largest ? line.line : where;
        largest = index > largest ? index : largest;
    }
    if (n < svm->n)
        return fail(
            ps, at.line,
            "the file ends after %zu of %zu support vectors; it is truncated: copy it again", n,
            svm->n);
    svm->d = (size_t)largest;
    return check_memory(ps, where);
}

static span word_at(span line, const char *p) {
    span word;
    line.p = p;
    next_word(&line, &word);
    return word;
}

static limn_status bad_coefficient(parser *ps, span line, const char *p, size_t c) {
    char shown[48];
    span word = word_at(line, p);
    size_t count = ps->svm->classes - 1;
    if (word.p == word.end || memchr(word.p, ':', (size_t)(word.end - word.p)))
        return fail(ps, line.line, "%zu coefficient%s instead of %zu; " DAMAGED, c,
                    c == 1 ? "" : "s", count);
    return fail(ps, line.line, "the coefficient '%s' is not a finite number; " DAMAGED,
                quote(word, shown));
}

static limn_status bad_pair(parser *ps, span line, const char *p) {
    char shown[48];
    lm_decimal number;
    uint64_t index;
    span word = word_at(line, p);
    const char *colon = scan_index(word.p, &index);
    bool pair = colon > word.p && *colon == ':';
    quote(word, shown);
    if (pair && lm_decimal_scan(colon + 1, &number) == word.end)
        return fail(ps, line.line,
                    "'%s' is too large for a 32-bit float, the largest is 3.4e38; scale the data "
                    "and train again",
                    shown);
    if (pair)
        return fail(ps, line.line, "the value of '%s' is not a finite number; " DAMAGED, shown);
    return fail(ps, line.line, "'%s' is not index:value; " DAMAGED, shown);
}

static limn_status bad_index(parser *ps, span line, uint64_t index, uint64_t before) {
    if (index == 0)
        return fail(ps, line.line, "index 0, but indices start at 1; " DAMAGED);
    return fail(ps, line.line, "index %llu comes after %llu, but indices must ascend; " DAMAGED,
                (unsigned long long)index, (unsigned long long)before);
}

/* coef: of the first function; the others follow n apart. x: d zeros. */
static limn_status read_vector(parser *ps, span line, double *coef, float *x) {
    const lm_svm *svm = ps->svm;
    const char *p = line.p, *next;
    for (size_t c = 0; c + 1 < svm->classes; c++) {
        while (is_blank(*p) && p < line.end)
            p++;
        next = p < line.end ? lm_scan_double(p, &coef[c * svm->n]) : NULL;
        if (!next || !ends(*next))
            return bad_coefficient(ps, line, p, c);
        p = next;
    }
    for (uint64_t before = 0, index;; before = index) {
        while (p < line.end && is_blank(*p))
            p++;
        if (p == line.end)
            return LIMN_OK;
        float value;
        next = scan_index(p, &index);
        next = next > p && *next == ':' ? lm_scan_float(next + 1, &value) : NULL;
        if (!next || !ends(*next))
            return bad_pair(ps, line, p);
        if (index <= before)
            return bad_index(ps, line, index, before);
        if (index <= svm->d) /* else the line has an error, which is reported below */
            x[index - 1] = value;
        p = next;
    }
}

static limn_status read_vectors(parser *ps) {
    lm_svm *svm = ps->svm;
    limn_status status = measure_vectors(ps);
    if (status != LIMN_OK)
        return status;
    double *coef = lm_alloc(&ps->ctx->mem, svm->n, (svm->classes - 1) * sizeof *coef);
    float *sv = lm_alloc_zero(&ps->ctx->mem, svm->n * svm->d, sizeof *sv);
    svm->coef = coef;
    svm->sv = sv;
    if (!coef || !sv)
        return lm_fail_memory(ps->ctx);
    for (size_t i = 0; i < svm->n && status == LIMN_OK; i++) {
        span line;
        next_line(&ps->at, &line);
        status = read_vector(ps, line, coef + i, sv + i * svm->d);
    }
    return status;
}

/* ---- the whole ---- */

static limn_status open_lines(limn_context *ctx, const char *bytes, size_t size, lines *at,
                              char **tail) {
    if (!size) /* no pointer arithmetic on NULL */
        bytes = "";
    const char *newline = memrchr(bytes, '\n', size);
    size_t whole = newline ? (size_t)(newline + 1 - bytes) : 0;
    *at = (lines){.p = bytes, .end = bytes + whole};
    if (whole == size)
        return LIMN_OK;
    *tail = lm_alloc(&ctx->mem, size - whole + 1, 1);
    if (!*tail)
        return lm_fail_memory(ctx);
    memcpy(*tail, bytes + whole, size - whole);
    (*tail)[size - whole] = '\n';
    at->tail = *tail;
    at->tail_size = size - whole;
    return LIMN_OK;
}

limn_status lm_svm_parse(limn_context *ctx, const char *name, const char *bytes, size_t size,
                         lm_svm *svm, int32_t **labels) {
    parser ps = {.ctx = ctx, .name = name, .svm = svm};
    char *tail = NULL;
    *svm = (lm_svm){.owned = true};
    *labels = NULL;
    limn_status status = open_lines(ctx, bytes, size, &ps.at, &tail);
    if (status == LIMN_OK)
        status = read_header(&ps);
    if (status == LIMN_OK)
        status = read_vectors(&ps);
    lm_free(&ctx->mem, tail);
    if (status != LIMN_OK) {
        lm_free(&ctx->mem, ps.labels);
        lm_svm_free(&ctx->mem, svm);
        return status;
    }
    *labels = ps.labels;
    return LIMN_OK;
}
