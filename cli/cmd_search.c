/* cmd_search.c: limn search MODEL DATA -k K: prints the nearest training rows of each row as CSV.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct search {
    limn_predictor *predictor;
    limn_output *output;
    size_t k, chunk; /* chunk: queries at a time */
    uint64_t done;   /* queries answered */
    int64_t *rows;
    double *distances;
} search;

static int check_usage(const cli_args *args, const limn_model_info *info) {
    if (info->capabilities & LIMN_CAN_SEARCH)
        return EXIT_DONE;
    return cli_fail(EXIT_USAGE,
                    "%s: %s %s model cannot search; limn methods lists the methods that can",
                    args->positionals[0], cli_article(info->method), info->method);
}

static int allocate(search *s) {
    s->rows = calloc(s->chunk * s->k, sizeof *s->rows);
    s->distances = calloc(s->chunk * s->k, sizeof *s->distances);
    return s->rows && s->distances ? EXIT_DONE : cli_fail(EXIT_FAILED, "out of memory");
}

static int put_rows(cli_session *session, search *s, size_t n) {
    char line[128], number[CLI_NUMBER_BYTES];
    int code = EXIT_DONE;
    for (size_t i = 0; i < n; i++, s->done++) {
        for (size_t r = 0; r < s->k && s->rows[i * s->k + r] >= 0 && !code; r++) {
            snprintf(line, sizeof line, "%" PRIu64 ",%zu,%" PRId64 ",%s\n", s->done, r + 1,
                     s->rows[i * s->k + r], cli_text_double(s->distances[i * s->k + r], number));
            code = cli_put(session, s->output, line);
        }
    }
    return code ? code : cli_check(session, limn_output_flush(s->output));
}

static int answer_all(cli_session *session, search *s, limn_reader *reader) {
    for (;;) {
        limn_rows rows;
        limn_rows_init(&rows);
        int code = cli_check(session, limn_reader_next(reader, s->chunk, &rows));
        if (code || rows.n == 0)
            return code;
        if ((code = cli_check_interrupt(session)) ||
            (code = cli_check(session, limn_search(s->predictor, rows.x, rows.n, s->k, s->rows,
                                                   s->distances))) ||
            (code = put_rows(session, s, rows.n)))
            return code;
    }
}

/* At most as many neighbours as training rows, and chunks whose answers fit in little memory. */
static void set_sizes(search *s, const cli_args *args, const limn_model_info *info) {
    const size_t most_answers = (size_t)1 << 20;
    s->k = args->neighbors < info->rows ? (size_t)args->neighbors : (size_t)info->rows;
    if (s->k == 0)
        s->k = 1;
    s->chunk = most_answers / s->k;
    s->chunk = s->chunk < 1 ? 1 : s->chunk > CLI_CHUNK_ROWS ? CLI_CHUNK_ROWS : s->chunk;
}

static int search_all(cli_session *session, const cli_args *args, const limn_model *model) {
    limn_model_info info;
    limn_model_info_init(&info);
    limn_read_options options;
    limn_reader *reader = NULL;
    search s = {.k = 0};
    limn_model_describe(model, &info);
    int code = check_usage(args, &info);
    if (code)
        return code;
    set_sizes(&s, args, &info);
    if ((code = allocate(&s)) ||
        (code = cli_open_predictor(session, model, args, s.k, &s.predictor)) ||
        (code = cli_open_output(session, args->output ? args->output : "-", &s.output)))
        goto done;
    session->progress.file = args->positionals[1];
    cli_read_options(args, info.task, &options);
    options.skip_label = 1;
    code = cli_check(session, limn_reader_open(session->context, args->positionals[1], &options,
                                               model, &reader));
    code = code ? code : cli_put(session, s.output, "query,rank,row,distance\n");
    code = code ? code : answer_all(session, &s, reader);
    code = cli_close_output(session, s.output, code);
done:
    limn_reader_free(reader);
    limn_predictor_free(s.predictor);
    free(s.rows);
    free(s.distances);
    return code;
}

int cmd_search(const cli_args *args) {
    if (args->neighbors == 0)
        return cli_fail(EXIT_USAGE,
                        "limn search needs -k K, the number of neighbours, such as: "
                        "limn search %s %s -k 10",
                        args->positionals[0], args->positionals[1]);
    return cli_with_model(args, search_all);
}
