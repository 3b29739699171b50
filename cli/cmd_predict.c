/* cmd_predict.c: limn predict MODEL DATA: answers row by row, in constant memory.
 *
 * Answers are flushed after every chunk, so that a line typed or piped in is answered at once. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct answers {
    limn_model_info info;
    limn_predictor *predictor;
    limn_output *output;
    bool with_proba, with_scores, vote;
    size_t width;     /* numbers after the label */
    char **names;     /* of the classes, as printed */
    char *line;       /* one row of output */
    int32_t *classes; /* of one chunk */
    double *values;   /* of one chunk: values, probabilities or scores */
} answers;

static int check_usage(const cli_args *args, const limn_model *model, const limn_model_info *info) {
    if (info->task == LIMN_SEARCH)
        return cli_fail(EXIT_USAGE,
                        "%s was trained with --task search and gives no labels; use: "
                        "limn search %s %s -k K",
                        args->positionals[0], args->positionals[0], args->positionals[1]);
    if (args->proba && args->scores)
        return cli_fail(EXIT_USAGE,
                        "--proba and --scores cannot be used together; give one of them");
    if (args->scores && info->scores == 0)
        return cli_fail(EXIT_USAGE, "--scores: %s has no decision values; leave it out",
                        limn_method_capabilities(info->method) & LIMN_CAN_SCORES
                            ? args->positionals[0]
                            : info->method);
    size_t first, second;
    if (args->vote && !limn_model_score_pair(model, 0, &first, &second))
        return cli_fail(EXIT_USAGE, "--vote: %s has no pairwise votes; leave it out",
                        args->positionals[0]);
    if (!args->proba)
        return EXIT_DONE;
    if (info->task != LIMN_CLASSIFY)
        return cli_fail(EXIT_USAGE, "--proba: %s %s, not classes; leave it out",
                        args->positionals[0],
                        info->task == LIMN_DENSITY ? "gives log densities" : "predicts numbers");
    if (!(info->capabilities & LIMN_CAN_PROBA) &&
        limn_method_capabilities(info->method) & LIMN_CAN_PROBA)
        return cli_fail(EXIT_USAGE,
                        "--proba: %s was trained without probabilities; train it with "
                        "-p probability=yes (svm-train: -b 1)",
                        args->positionals[0]);
    if (!(info->capabilities & LIMN_CAN_PROBA))
        return cli_fail(EXIT_USAGE, "--proba: method %s gives no probabilities; leave it out",
                        info->method);
    return EXIT_DONE;
}

/* A CSV cell, or a plain line, where line breaks inside the name become blanks. */
static char *printed_name(const char *name, bool csv) {
    char *text = csv ? cli_csv_cell("", name) : strdup(name);
    for (char *p = text; !csv && text && *p; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    return text;
}

static int allocate(answers *a, const limn_model *model) {
    size_t count = a->info.classes, width, longest = sizeof LIMN_UNKNOWN;
    bool csv = a->with_proba || a->with_scores;
    a->width = a->with_proba ? count : a->with_scores ? a->info.scores : 0;
    width = a->width ? a->width : 1;
    a->names = calloc(count + 1, sizeof *a->names);
    a->classes = malloc(CLI_CHUNK_ROWS * sizeof *a->classes);
    a->values = width > SIZE_MAX / sizeof *a->values / CLI_CHUNK_ROWS
                    ? NULL
                    : malloc((width + 1) * CLI_CHUNK_ROWS * sizeof *a->values);
    if (!a->names || !a->classes || !a->values)
        return cli_fail(EXIT_FAILED, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (!(a->names[i] = printed_name(limn_model_class_name(model, i), csv)))
            return cli_fail(EXIT_FAILED, "out of memory");
        longest = strlen(a->names[i]) > longest ? strlen(a->names[i]) : longest;
    }
    a->line = malloc(longest + (width + 1) * (CLI_NUMBER_BYTES + 1) + 1);
    return a->line ? EXIT_DONE : cli_fail(EXIT_FAILED, "out of memory");
}

static void release(answers *a) {
    for (size_t i = 0; a->names && i < a->info.classes; i++)
        free(a->names[i]);
    free(a->names);
    free(a->line);
    free(a->classes);
    free(a->values);
    limn_predictor_free(a->predictor);
}

/* "p_a" or the distance "d_a" of class a, or "f_a_b" of the decision between a and b; NULL when
 * out of memory. */
static char *column_name(const answers *a, const limn_model *model, size_t i) {
    size_t first, second;
    if (a->with_proba)
        return cli_csv_cell("p_", limn_model_class_name(model, i));
    if (limn_model_score_class(model, i, &first))
        return cli_csv_cell("d_", limn_model_class_name(model, first));
    if (!limn_model_score_pair(model, i, &first, &second))
        return strdup("f");
    const char *one = limn_model_class_name(model, first);
    const char *other = limn_model_class_name(model, second);
    char *both = malloc(strlen(one) + strlen(other) + 2);
    if (!both)
        return NULL;
    sprintf(both, "%s_%s", one, other);
    char *cell = cli_csv_cell("f_", both);
    free(both);
    return cell;
}

static int put_header(cli_session *session, answers *a, const limn_model *model) {
    int code = cli_put(session, a->output, "label");
    for (size_t i = 0; i < a->width && !code; i++) {
        char *cell = column_name(a, model, i);
        if (!cell)
            return cli_fail(EXIT_FAILED, "out of memory");
        code = cli_put(session, a->output, ",");
        code = code ? code : cli_put(session, a->output, cell);
        free(cell);
    }
    return code ? code : cli_put(session, a->output, "\n");
}

/* Sets each label to the most probable class as printed: a method that stops early when only the
 * class is wanted may give another one. Rejected rows stay unknown. */
static void most_probable(answers *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double *p = a->values + i * a->width;
        if (a->info.capabilities & LIMN_CAN_REJECT && a->classes[i] < 0)
            continue;
        a->classes[i] = 0;
        for (size_t c = 1; c < a->width; c++)
            if (p[c] > p[a->classes[i]])
                a->classes[i] = (int32_t)c;
    }
}

/* Whether the answer to a row is a number. */
static bool gives_values(const answers *a) {
    return a->info.task == LIMN_REGRESS || a->info.task == LIMN_DENSITY;
}

static limn_status ask(answers *a, limn_answer answer, const limn_rows *rows, void *out) {
    return limn_predict_rows(a->predictor, answer, rows->x, rows->n, rows->width, out);
}

static limn_status compute(answers *a, const limn_rows *rows) {
    limn_status status = LIMN_OK;
    if (gives_values(a))
        return ask(a, LIMN_ANSWER_VALUES, rows, a->values);
    if (!a->with_proba || a->vote || a->info.capabilities & LIMN_CAN_REJECT)
        status = ask(a, LIMN_ANSWER_CLASSES, rows, a->classes);
    if (status == LIMN_OK && a->with_proba)
        status = ask(a, LIMN_ANSWER_PROBA, rows, a->values);
    if (status == LIMN_OK && a->with_proba && !a->vote)
        most_probable(a, rows->n);
    if (status == LIMN_OK && a->with_scores)
        status = ask(a, LIMN_ANSWER_SCORES, rows, a->values);
    return status;
}

/* Writes row i as one line, in one call. */
static int put_row(cli_session *session, answers *a, size_t i) {
    const double *values = a->values + i * (a->width ? a->width : 1);
    char *end = a->line;
    if (gives_values(a))
        cli_text_double(a->values[i], a->line);
    else
        strcpy(a->line, a->classes[i] < 0 ? LIMN_UNKNOWN : a->names[a->classes[i]]);
    end += strlen(end);
    /* All digits: with fewer, two classes could tie in print, and the label would not be the
     * argmax of the printed values. */
    for (size_t c = 0; c < a->width; c++) {
        *end++ = ',';
        cli_text_double(values[c], end);
        end += strlen(end);
    }
    *end++ = '\n';
    return cli_check(session, limn_output_write(a->output, a->line, (size_t)(end - a->line)));
}

static int put_rows(cli_session *session, answers *a, size_t n) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < n && !code; i++)
        code = put_row(session, a, i);
    return code ? code : cli_check(session, limn_output_flush(a->output));
}

/* Fewer rows where queries are expensive, so that an interrupt takes effect within about a second.
 */
static size_t chunk_rows(const limn_model_info *info) {
    double fit = 2e9 / (1 + info->touched_bytes);
    return fit >= CLI_CHUNK_ROWS ? CLI_CHUNK_ROWS : fit <= 256 ? 256 : (size_t)fit;
}

static int answer_all(cli_session *session, answers *a, limn_reader *reader) {
    size_t chunk = chunk_rows(&a->info);
    for (;;) {
        limn_rows rows;
        limn_rows_init(&rows);
        int code = cli_check(session, limn_reader_next(reader, chunk, &rows));
        if (code || rows.n == 0)
            return code;
        if ((code = cli_check_interrupt(session)) ||
            (code = cli_check(session, compute(a, &rows))) || (code = put_rows(session, a, rows.n)))
            return code;
    }
}

static int predict(cli_session *session, const cli_args *args, const limn_model *model) {
    const char *path = args->output ? args->output : "-";
    limn_read_options options;
    limn_reader *reader = NULL;
    answers a = {.with_proba = args->proba, .with_scores = args->scores, .vote = args->vote};
    limn_model_info_init(&a.info);
    limn_model_describe(model, &a.info);
    int code = check_usage(args, model, &a.info);
    if (code || (code = allocate(&a, model)) ||
        (code = cli_open_predictor(session, model, args, 0, &a.predictor)) ||
        (code = cli_open_output(session, path, &a.output)))
        goto done;
    session->progress.file = args->positionals[1];
    cli_read_options(args, a.info.task, &options);
    options.skip_label = 1;
    code = cli_check(session, limn_reader_open(session->context, args->positionals[1], &options,
                                               model, &reader));
    if (!code && (a.with_proba || a.with_scores))
        code = put_header(session, &a, model);
    code = code ? code : answer_all(session, &a, reader);
    code = cli_close_output(session, a.output, code);
done:
    limn_reader_free(reader);
    release(&a);
    return code;
}

int cmd_predict(const cli_args *args) {
    return cli_with_model(args, predict);
}
