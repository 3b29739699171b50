/* session.c: the context of one command; turns failures into exit codes. */
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_fail(int code, const char *format, ...) {
    va_list args;
    fputs("limn: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

static void on_log(void *user, limn_log_level level, const char *sentence) {
    cli_session *session = user;
    if (session->quiet)
        return;
    cli_progress_clear(&session->progress);
    fprintf(stderr, "limn: %s%s\n", level == LIMN_LOG_WARNING ? "warning: " : "", sentence);
}

static int on_progress(void *user, const limn_progress *news) {
    cli_session *session = user;
    if (session->saving)
        return 0;
    return session->own ? cli_interrupted() : cli_progress_tell(&session->progress, news);
}

int cli_session_open(cli_session *session, const cli_args *args) {
    *session = (cli_session){.quiet = args->quiet};
    cli_progress_init(&session->progress, !args->quiet);
    limn_context_options options;
    limn_context_options_init(&options);
    options.log = on_log;
    options.progress = on_progress;
    options.user = session;
    options.seed = args->seed;
    options.threads = (int)args->threads;
    limn_status status = limn_context_new(&options, &session->context);
    if (status == LIMN_OK)
        return EXIT_DONE;
    const char *isa = getenv("LIMN_ISA");
    if (status == LIMN_E_USAGE && isa)
        return cli_fail(EXIT_USAGE,
                        "LIMN_ISA=%s is not an instruction set of this machine; unset it or set it "
                        "to baseline, avx2, avx512 or neon",
                        isa);
    return cli_fail(EXIT_FAILED, "%s", limn_status_string(status));
}

void cli_session_close(cli_session *session) {
    cli_progress_clear(&session->progress);
    limn_context_free(session->context);
    session->context = NULL;
}

static int exit_code(limn_status status) {
    switch (status) {
    case LIMN_OK:
        return EXIT_DONE;
    case LIMN_E_USAGE:
        return EXIT_USAGE;
    case LIMN_E_DATA:
        return EXIT_DATA;
    case LIMN_E_MODEL:
        return EXIT_MODEL;
    case LIMN_E_CANCELLED:
        return EXIT_INTERRUPTED;
    default:
        return EXIT_FAILED;
    }
}

static bool stdout_is_broken(void) {
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

int cli_check_interrupt(cli_session *session) {
    if (!cli_interrupted())
        return EXIT_DONE;
    cli_progress_clear(&session->progress);
    return session->own ? EXIT_INTERRUPTED : cli_fail(EXIT_INTERRUPTED, "interrupted");
}

int cli_check(cli_session *session, limn_status status) {
    if (status == LIMN_OK)
        return EXIT_DONE;
    cli_progress_clear(&session->progress);
    /* An interrupted system call may look like any failure. */
    if (cli_interrupted())
        return cli_check_interrupt(session);
    if (status == LIMN_E_IO && session->to_stdout && stdout_is_broken())
        return EXIT_PIPE_CLOSED;
    const char *sentence = limn_error(session->context);
    return cli_fail(exit_code(status), "%s", *sentence ? sentence : limn_status_string(status));
}

int cli_open_model(cli_session *session, const char *path, const char *ranges, limn_model **out) {
    *out = NULL;
    if (strcmp(path, "-") == 0)
        return cli_fail(EXIT_USAGE, "a model cannot be read from standard input; only DATA may be "
                                    "\"-\"; save the model to a file first");
    return cli_check(session, limn_model_open_ranges(session->context, path, ranges, out));
}

void cli_read_options(const cli_args *args, limn_task task, limn_read_options *out) {
    limn_read_options_init(out);
    out->format = (limn_format)args->format;
    out->header = (limn_header)args->header;
    out->delimiter = args->delimiter;
    out->task = task;
    out->label = args->label;
    out->no_label = args->no_label;
    out->label_file = args->label_file;
    out->weights = args->weights;
    out->categorical = args->categorical;
    out->missing = (limn_missing)args->missing;
    out->unknown = (limn_unknown)args->unknown;
}

int cli_open_predictor(cli_session *session, const limn_model *model, const cli_args *args,
                       size_t neighbors, limn_predictor **out) {
    limn_predictor_options options;
    limn_predictor_options_init(&options);
    options.threads = (int)args->threads;
    options.neighbors = neighbors;
    options.vote = args->vote;
    return cli_check(session, limn_predictor_new(session->context, model, &options, out));
}

bool cli_same_file(const char *first, const char *second) {
    struct stat a, b;
    if (strcmp(first, "-") == 0 || strcmp(second, "-") == 0)
        return false;
    if (stat(first, &a) != 0 || stat(second, &b) != 0 || !S_ISREG(a.st_mode))
        return false;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cli_refuse_overwrite(const char *output, const char *input) {
    if (!cli_same_file(output, input))
        return EXIT_DONE;
    return cli_fail(EXIT_USAGE, "%s: the output would replace the input file; choose another name",
                    output);
}

int cli_refuse_ranges(const char *output, const char *ranges) {
    char first[4096];
    if (!ranges)
        return EXIT_DONE;
    const char *comma = strchr(ranges, ',');
    int code = cli_refuse_overwrite(output, ranges);
    if (code || !comma || (size_t)(comma - ranges) >= sizeof first)
        return code;
    memcpy(first, ranges, (size_t)(comma - ranges));
    first[comma - ranges] = '\0';
    code = cli_refuse_overwrite(output, first);
    return code ? code : cli_refuse_overwrite(output, comma + 1);
}

static int refuse_inputs(const cli_args *args) {
    int code = EXIT_DONE;
    for (size_t i = 0; args->output && i < args->positional_count && !code; i++)
        code = cli_refuse_overwrite(args->output, args->positionals[i]);
    return code || !args->output ? code : cli_refuse_ranges(args->output, args->ranges);
}

int cli_with_model(const cli_args *args, cli_model_work *work) {
    cli_session session;
    limn_model *model = NULL;
    int code = cli_session_open(&session, args);
    code = code ? code : refuse_inputs(args);
    code = code ? code : cli_open_model(&session, args->positionals[0], args->ranges, &model);
    code = code ? code : work(&session, args, model);
    limn_model_free(model);
    cli_session_close(&session);
    return code;
}

/* Only regular files are checked: opening and closing a pipe would signal the end of the data to
 * its reader. */
int cli_check_output(cli_session *session, const char *path) {
    struct stat info;
    limn_output *output = NULL;
    if (strcmp(path, "-") == 0)
        return EXIT_DONE;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return EXIT_DONE;
    int code = cli_check(session, limn_output_open(session->context, path, &output));
    limn_output_discard(output);
    return code;
}

int cli_open_output(cli_session *session, const char *path, limn_output **out) {
    session->to_stdout = strcmp(path, "-") == 0;
    /* Answers and a progress line on the same terminal would mix. */
    if (session->to_stdout && isatty(STDOUT_FILENO))
        session->progress.enabled = false;
    return cli_check(session, limn_output_open(session->context, path, out));
}

int cli_put(cli_session *session, limn_output *output, const char *text) {
    return cli_check(session, limn_output_write(output, text, strlen(text)));
}

int cli_close_output(cli_session *session, limn_output *output, int code) {
    if (code == EXIT_DONE)
        code = cli_check_interrupt(session);
    if (output && code == EXIT_DONE)
        return cli_check(session, limn_output_commit(output));
    limn_output_discard(output);
    return code;
}
