/* cmd_convert.c: limn convert IN OUT: converts data, or an SVM between limn and LIBSVM. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static bool is_standard(const char *path) {
    return strcmp(path, "-") == 0;
}

static int check_usage(const cli_args *args) {
    bool binary = args->to == LIMN_FORMAT_NPY || args->to == LIMN_FORMAT_IDX;
    if (binary && is_standard(args->positionals[1]) && isatty(STDOUT_FILENO))
        return cli_fail(EXIT_USAGE,
                        "%s is binary and standard output is a terminal; name a file "
                        "or use a pipe",
                        limn_format_name((limn_format)args->to));
    return EXIT_DONE;
}

static void print_summary(const cli_args *args, const limn_convert_info *info) {
    const char *out = args->positionals[1];
    FILE *file = is_standard(out) ? stderr : stdout;
    fprintf(file, "%s: %" PRIu64 " row%s, %zu feature%s, %s",
            is_standard(out) ? "standard output" : out, info->rows, info->rows == 1 ? "" : "s",
            info->features, info->features == 1 ? "" : "s", limn_format_name(info->to));
    if (info->from != LIMN_FORMAT_AUTO)
        fprintf(file, " (from %s)", limn_format_name(info->from));
    fputc('\n', file);
}

static void print_model_summary(const cli_args *args, limn_kind from, const limn_model *model) {
    const char *out = args->positionals[1];
    limn_model_info info;
    limn_model_info_init(&info);
    limn_model_describe(model, &info);
    bool text = from == LIMN_KIND_MODEL;
    fprintf(is_standard(out) ? stderr : stdout, "%s: a %s (from %s)",
            is_standard(out) ? "standard output" : out, text ? "LIBSVM text model" : "limn model",
            text ? "limn" : "LIBSVM text");
    if (text && info.scale != LIMN_SCALE_NONE)
        printf("; scale data with svm-scale -r %s.range", out);
    fputc('\n', is_standard(out) ? stderr : stdout);
}

/* Neither of the two files that may be written replaces one that is read. */
static int refuse_overwrite(const cli_args *args) {
    char range[4096];
    const char *in = args->positionals[0], *out = args->positionals[1];
    int code = cli_refuse_overwrite(out, in);
    code = code ? code : cli_refuse_ranges(out, args->ranges);
    int size = snprintf(range, sizeof range, "%s.range", out);
    return code || size >= (int)sizeof range ? code : cli_refuse_overwrite(range, in);
}

static int convert_model(cli_session *session, const cli_args *args, limn_kind from) {
    const char *in = args->positionals[0], *out = args->positionals[1];
    limn_model *model = NULL;
    if (args->to != LIMN_FORMAT_AUTO)
        return cli_fail(
            EXIT_USAGE,
            "--to: %s is a model; leave --to out: LIBSVM text becomes a limn model, and "
            "a limn model becomes LIBSVM text",
            in);
    if (from == LIMN_KIND_FOREIGN && is_standard(out) && isatty(STDOUT_FILENO))
        return cli_fail(EXIT_USAGE, "a model is binary and standard output is a terminal; name a "
                                    "file or use a pipe");
    int code = refuse_overwrite(args);
    session->to_stdout = is_standard(out);
    code = code ? code : cli_open_model(session, in, args->ranges, &model);
    if (!code)
        code = cli_check(session, from == LIMN_KIND_FOREIGN
                                      ? limn_model_save(session->context, model, out)
                                      : limn_model_export(session->context, model, out));
    if (!code && !args->quiet)
        print_model_summary(args, from, model);
    limn_model_free(model);
    return code;
}

static int run(cli_session *session, const cli_args *args) {
    const char *from = args->positionals[0], *to = args->positionals[1];
    limn_read_options reading;
    limn_write_options writing;
    limn_convert_info info;
    limn_convert_info_init(&info);
    limn_kind kind;
    int code = cli_check(session, limn_file_kind(session->context, from, &kind));
    if (code || kind != LIMN_KIND_DATA)
        return code ? code : convert_model(session, args, kind);
    if (args->ranges)
        return cli_fail(EXIT_USAGE,
                        "--ranges: %s is not a LIBSVM text model, and only such a model can be "
                        "given its scaling; leave --ranges out",
                        from);
    cli_read_options(args, (limn_task)args->task, &reading);
    limn_write_options_init(&writing);
    writing.format = (limn_format)args->to;
    writing.delimiter = args->to_delimiter;
    writing.label_file = args->to_labels;
    session->progress.file = from;
    session->to_stdout = is_standard(to);
    /* Rows and a progress line on the same terminal would mix. */
    if (session->to_stdout && isatty(STDOUT_FILENO))
        session->progress.enabled = false;
    code = cli_check(session, limn_convert(session->context, from, &reading, to, &writing, &info));
    cli_progress_clear(&session->progress);
    if (!code && !args->quiet)
        print_summary(args, &info);
    return code;
}

int cmd_convert(const cli_args *args) {
    cli_session session;
    int code = check_usage(args);
    if (code)
        return code;
    code = cli_session_open(&session, args);
    code = code ? code : run(&session, args);
    cli_session_close(&session);
    return code;
}
