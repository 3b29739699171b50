/* cmd_train.c: limn train DATA -m METHOD -o MODEL.
 *
 * Errors that show without reading the data (method, parameter names, a folder that cannot be
 * written to) are reported first. */
#include "cli.h"
#include "methods.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct timing {
    double reading, training;
} timing;

/* The values of -p: for the method, and with the prefix "teacher." for its teacher. */
typedef struct parameters {
    cli_args own; /* a copy of the arguments with the params of the method only */
    const char **list;
    size_t teacher_count; /* at the end of list, without the prefix */
} parameters;

static bool is_teachers(const char *param) {
    return strncmp(param, "teacher.", strlen("teacher.")) == 0;
}

static int split_parameters(const cli_args *args, parameters *out) {
    size_t used = 0;
    *out = (parameters){.own = *args, .list = malloc((args->param_count + 1) * sizeof *out->list)};
    if (!out->list)
        return cli_fail(EXIT_FAILED, "out of memory");
    for (size_t i = 0; i < args->param_count; i++)
        if (!is_teachers(args->params[i]))
            out->list[used++] = args->params[i];
    out->own.params = out->list;
    out->own.param_count = used;
    for (size_t i = 0; i < args->param_count; i++)
        if (is_teachers(args->params[i]))
            out->list[used++] = args->params[i] + strlen("teacher.");
    out->teacher_count = used - out->own.param_count;
    return EXIT_DONE;
}

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
        return cli_fail(
            EXIT_USAGE,
            "--no-label: --task %s needs labels; leave --no-label out or choose another "
            "task",
            limn_task_name(task));
    if (args->subsample_rule >= 0 && args->subsample <= 0)
        return cli_fail(EXIT_USAGE, "--subsample-rule says how --subsample draws rows; give "
                                    "--subsample F too, or leave the rule out");
    if (strcmp(args->output, "-") == 0 && isatty(STDOUT_FILENO))
        return cli_fail(EXIT_USAGE, "-o -: a model is binary and standard output is a terminal; "
                                    "name a file or use a pipe");
    int code = cli_refuse_overwrite(args->output, data);
    return code || !args->teacher ? code : cli_refuse_overwrite(args->output, args->teacher);
}

/* --teacher, or the teacher that the method has without it; NULL: none. */
static const char *teacher_of(const cli_args *args) {
    return args->teacher ? args->teacher : cli_method_find(args->method)->default_teacher;
}

static int check_parameters(const parameters *p) {
    const char *teacher = teacher_of(&p->own);
    int code = cli_check_keys(cli_method_find(p->own.method), &p->own);
    if (!code && p->teacher_count && !teacher)
        code = cli_fail(EXIT_USAGE,
                        "-p teacher.%s: there is no teacher; name its method with --teacher METHOD",
                        p->list[p->own.param_count]);
    if (!code && p->teacher_count && !limn_method_find(teacher))
        code = cli_fail(EXIT_USAGE,
                        "-p teacher.%s: %s is not a method but a model file, which is already "
                        "trained; leave the parameter out",
                        p->list[p->own.param_count], teacher);
    return code;
}

/* match: the teacher, whose columns and classes the new model takes over; or NULL. */
static int read_data(cli_session *session, const cli_args *args, const limn_model *match,
                     limn_data **out) {
    limn_read_options options;
    limn_data *all = NULL;
    session->progress.file = args->positionals[0];
    cli_read_options(args, (limn_task)args->task, &options);
    int code = cli_check(
        session, limn_data_read(session->context, args->positionals[0], &options, match, &all));
    if (code == EXIT_DONE && args->subsample > 0 && args->subsample < 1) {
        limn_subsample rule =
            args->subsample_rule < 0 ? LIMN_SUBSAMPLE_EQUAL : (limn_subsample)args->subsample_rule;
        code = cli_check(session,
                         limn_data_subsample_by(session->context, all, args->subsample, rule, out));
        limn_data_free(all);
    } else {
        *out = all;
    }
    return code;
}

static limn_train_options train_options(const parameters *p, const limn_model *teacher) {
    limn_train_options options;
    limn_train_options_init(&options);
    options.method = p->own.method;
    options.params = p->list;
    options.param_count = p->own.param_count;
    options.scale = (limn_scale)p->own.scale;
    options.teacher = teacher;
    if (p->own.teacher && !teacher)
        options.teacher_method = p->own.teacher;
    options.teacher_params = p->list + p->own.param_count;
    options.teacher_param_count = p->teacher_count;
    return options;
}

/* Columns, classes and task come from the teacher. */
static int check_teacher(const cli_args *args, const limn_model *teacher) {
    limn_model_info info;
    const char *given = args->weights       ? "--weights"
                        : args->categorical ? "--categorical"
                        : args->missing     ? "--missing"
                                            : NULL;
    if (given)
        return cli_fail(EXIT_USAGE, "%s: the teacher %s decides how columns are read; leave it out",
                        given, args->teacher);
    limn_model_info_init(&info);
    limn_model_describe(teacher, &info);
    if ((int)info.task != args->task)
        return cli_fail(EXIT_USAGE, "the task of teacher %s is %s; add --task %s", args->teacher,
                        limn_task_name(info.task), limn_task_name(info.task));
    return EXIT_DONE;
}

/* --teacher names a method, or else a file. */
static int open_teacher(cli_session *session, const cli_args *args, limn_model **out) {
    if (!args->teacher || limn_method_find(args->teacher))
        return EXIT_DONE;
    int code = cli_open_model(session, args->teacher, NULL, out);
    return code ? code : check_teacher(args, *out);
}

static int print_json(const limn_model *model, const timing *time, FILE *file) {
    limn_model_info info;
    limn_model_info_init(&info);
    limn_model_describe(model, &info);
    json_t *classes =
        info.task == LIMN_CLASSIFY ? json_integer((json_int_t)info.classes) : json_null();
    return cli_json_print(json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:I, s:o}", "method",
                                    cli_json_text(info.method), "params", cli_json_params(model),
                                    "rows", (json_int_t)info.rows, "features",
                                    (json_int_t)info.features, "classes", classes, "seconds",
                                    cli_json_real(time->training), "model_bytes",
                                    (json_int_t)info.bytes, "scaling", cli_json_scaling(model)),
                          file);
}

/* What was chosen by evidence. */
static void print_scaling(const limn_model *model, FILE *file) {
    char text[CLI_SCALING_BYTES];
    limn_scaling_trial trial;
    limn_scaling_trial_init(&trial);
    if (limn_model_scaling_trial(model, 0, 0, &trial)) {
        fputs("scaling: ", file);
        cli_wrap(file, 9, 9, cli_text_scaling(model, text, sizeof text));
    }
    if (*cli_text_map(model, text, sizeof text)) {
        fputs("learned map: ", file);
        cli_wrap(file, 13, 13, text);
    }
}

static void print_words(const cli_args *args, const limn_model *model, const timing *time,
                        FILE *file) {
    limn_model_info info;
    limn_model_info_init(&info);
    char a[CLI_NUMBER_BYTES], b[CLI_NUMBER_BYTES], touched[128];
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
    if (teacher_of(args))
        fprintf(file, "\ndrawn from %s", info.teacher ? info.teacher : teacher_of(args));
    fputc('\n', file);
    print_scaling(model, file);
    fprintf(file, "reading took %s, training %s\n", cli_text_seconds(time->reading, a),
            cli_text_seconds(time->training, b));
    fprintf(file, "%s: %s; a query touches %s\n",
            strcmp(args->output, "-") == 0 ? "model" : args->output,
            cli_text_bytes((double)info.bytes, a),
            cli_text_touched(&info, touched, sizeof touched));
}

static int print_summary(const cli_args *args, const limn_model *model, const timing *time) {
    FILE *file = strcmp(args->output, "-") == 0 ? stderr : stdout;
    if (args->json)
        return print_json(model, time, file);
    if (!args->quiet)
        print_words(args, model, time, file);
    return EXIT_DONE;
}

static int train(cli_session *session, const parameters *p) {
    const cli_args *args = &p->own;
    limn_data *data = NULL;
    limn_model *model = NULL, *teacher = NULL;
    timing time = {0, 0};
    int code = open_teacher(session, args, &teacher);
    if (code)
        goto done;
    limn_train_options options = train_options(p, teacher);
    code = cli_check(session, limn_train_check(session->context, &options, (limn_task)args->task));
    /* A long training must not fail at its end because the folder does not exist. */
    if (code || (code = cli_check_output(session, args->output)))
        goto done;
    double start = cli_now();
    if ((code = read_data(session, args, teacher, &data)))
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
    limn_model_free(teacher);
    limn_data_free(data);
    return code;
}

int cmd_train(const cli_args *args) {
    cli_session session;
    parameters p;
    int code = check_usage(args);
    if (code || (code = split_parameters(args, &p)))
        return code;
    code = check_parameters(&p);
    if (!code) {
        code = cli_session_open(&session, args);
        code = code ? code : train(&session, &p);
        cli_session_close(&session);
    }
    free(p.list);
    return code;
}
