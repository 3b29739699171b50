/* cmd_train.c: limn train DATA -m METHOD -o MODEL.
 *
 * Everything that can be wrong without reading the data (method, parameter names, a folder that
 * cannot be written to) is found first. */
#include "cli.h"
#include "methods.h"

#include <string.h>
#include <unistd.h>

typedef struct timing {
    double reading, training;
} timing;

static int check_usage(const cli_args *args) {
    const char *data = args->positionals[0];
    limn_task task = (limn_task)args->task;
    if (!args->method)
        return cli_fail(EXIT_USAGE,
                        "limn train needs -m METHOD (limn methods lists them), such as: "
                        "limn train %s -m knn -o model.limn",
                        data);
    if (!args->output)
        return cli_fail(EXIT_USAGE,
                        "limn train needs -o MODEL, the file to write, such as: "
                        "limn train %s -m %s -o model.limn",
                        data, args->method);
    const limn_method_info *method = cli_method_find(args->method);
    if (!method)
        return EXIT_USAGE;
    if (args->no_label && (task == LIMN_CLASSIFY || task == LIMN_REGRESS))
        return cli_fail(EXIT_USAGE,
                        "--no-label: a label is needed to %s; the other tasks do without",
                        limn_task_name(task));
    if (strcmp(args->output, "-") == 0 && isatty(STDOUT_FILENO))
        return cli_fail(EXIT_USAGE, "-o -: a model is binary and standard output is a terminal; "
                                    "name a file or use a pipe");
    int code = cli_check_keys(method, args);
    return code ? code : cli_refuse_overwrite(args->output, data);
}

static int read_data(cli_session *session, const cli_args *args, limn_data **out) {
    limn_read_options options;
    limn_data *all = NULL;
    session->progress.file = args->positionals[0];
    cli_read_options(args, (limn_task)args->task, &options);
    int code = cli_check(
        session, limn_data_read(session->context, args->positionals[0], &options, NULL, &all));
    if (code == EXIT_DONE && args->subsample < 1) {
        code = cli_check(session, limn_data_subsample(session->context, all, args->subsample, out));
        limn_data_free(all);
    } else {
        *out = all;
    }
    return code;
}

static limn_train_options train_options(const cli_args *args) {
    limn_train_options options;
    limn_train_options_init(&options);
    options.method = args->method;
    options.params = args->params;
    options.param_count = args->param_count;
    options.scale = (limn_scale)args->scale;
    return options;
}

static int print_json(const limn_model *model, const timing *time, FILE *file) {
    limn_model_info info;
    limn_model_info_init(&info);
    limn_model_describe(model, &info);
    json_t *classes =
        info.task == LIMN_CLASSIFY ? json_integer((json_int_t)info.classes) : json_null();
    return cli_json_print(
        json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:I}", "method", cli_json_text(info.method),
                  "params", cli_json_params(model), "rows", (json_int_t)info.rows, "features",
                  (json_int_t)info.features, "classes", classes, "seconds",
                  cli_json_real(time->training), "model_bytes", (json_int_t)info.bytes),
        file);
}

static void print_words(const cli_args *args, const limn_model *model, const timing *time,
                        FILE *file) {
    limn_model_info info;
    limn_model_info_init(&info);
    char a[CLI_NUMBER_BYTES], b[CLI_NUMBER_BYTES], c[CLI_NUMBER_BYTES];
    limn_model_describe(model, &info);
    fprintf(file, "%s: trained on %llu row%s, %zu feature%s", info.method,
            (unsigned long long)info.rows, info.rows == 1 ? "" : "s", info.features,
            info.features == 1 ? "" : "s");
    if (info.columns != info.features)
        fprintf(file, " from %zu column%s", info.columns, info.columns == 1 ? "" : "s");
    if (info.used_features != info.features)
        fprintf(file, " (%zu used)", info.used_features);
    if (info.task == LIMN_CLASSIFY)
        fprintf(file, ", %zu class%s", info.classes, info.classes == 1 ? "" : "es");
    fprintf(file, "\nreading took %s, training %s\n", cli_text_seconds(time->reading, a),
            cli_text_seconds(time->training, b));
    fprintf(file, "%s: %s; a query touches %s vectors (%s), mean over training rows\n",
            strcmp(args->output, "-") == 0 ? "model" : args->output,
            cli_text_bytes((double)info.bytes, a), cli_text_count(info.touched_vectors, b),
            cli_text_bytes(info.touched_bytes, c));
}

static int print_summary(const cli_args *args, const limn_model *model, const timing *time) {
    FILE *file = strcmp(args->output, "-") == 0 ? stderr : stdout;
    if (args->json)
        return print_json(model, time, file);
    if (!args->quiet)
        print_words(args, model, time, file);
    return EXIT_DONE;
}

static int run(cli_session *session, const cli_args *args) {
    limn_data *data = NULL;
    limn_model *model = NULL;
    timing time = {0, 0};
    limn_train_options options = train_options(args);
    int code =
        cli_check(session, limn_train_check(session->context, &options, (limn_task)args->task));
    /* A long training must not end at a folder that does not exist. */
    if (code || (code = cli_check_output(session, args->output)))
        goto done;
    double start = cli_now();
    if ((code = read_data(session, args, &data)))
        goto done;
    time.reading = cli_now() - start;
    start = cli_now();
    if ((code = cli_check(session, limn_train(session->context, data, &options, &model))))
        goto done;
    time.training = cli_now() - start;
    session->to_stdout = strcmp(args->output, "-") == 0;
    if ((code = cli_check_interrupt(session)) ||
        (code = cli_check(session, limn_model_save(session->context, model, args->output))))
        goto done;
    cli_progress_clear(&session->progress);
    code = print_summary(args, model, &time);
done:
    limn_model_free(model);
    limn_data_free(data);
    return code;
}

int cmd_train(const cli_args *args) {
    cli_session session;
    int code = check_usage(args);
    if (code)
        return code;
    code = cli_session_open(&session, args);
    if (code == EXIT_DONE)
        code = run(&session, args);
    cli_session_close(&session);
    return code;
}
