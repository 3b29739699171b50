/* cmd_synth.c: limn synth [NAME -n N -o DATA]: generates a synthetic data set; without -n and -o,
 * lists the generators or the parameters of one. */
#include "cli.h"
#include "methods.h"

#include <string.h>
#include <unistd.h>

/* ---- text ---- */

static int print_list(void) {
    for (size_t i = 0; i < limn_synth_count(); i++) {
        const limn_synth_info *generator = limn_synth_at(i);
        printf("%-12s", generator->name);
        cli_wrap(stdout, 12, 12, generator->summary);
    }
    printf("\nlimn synth NAME lists the parameters of a generator.\n");
    return EXIT_DONE;
}

static void print_param(const limn_param *param) {
    char values[256];
    printf("  %s=%s\n      ", param->key, param->default_value);
    cli_wrap(stdout, 6, 6, param->help);
    printf("      ");
    cli_wrap(stdout, 6, 6, cli_param_values(param, values, sizeof values));
}

static int print_generator(const limn_synth_info *generator) {
    printf("%s: ", generator->name);
    cli_wrap(stdout, strlen(generator->name) + 2, 2, generator->summary);
    printf("  from:    ");
    cli_wrap(stdout, 11, 11, generator->paper);
    printf("  task:    %s\n", limn_task_name(generator->task));
    printf("\nParameters, with their defaults (-p KEY=VALUE):\n");
    for (size_t i = 0; i < generator->param_count; i++)
        print_param(&generator->params[i]);
    printf("\nlimn synth %s -n 1000 -o %s.csv makes 1000 rows.\n", generator->name,
           generator->name);
    return EXIT_DONE;
}

/* ---- usage ---- */

/* NULL after printing an error if there is no such generator. */
static const limn_synth_info *find_generator(const char *name) {
    enum { MOST = 64 };
    const char *names[MOST];
    const limn_synth_info *generator = limn_synth_find(name);
    size_t count = 0;
    if (generator)
        return generator;
    for (; count < MOST && count < limn_synth_count(); count++)
        names[count] = limn_synth_at(count)->name;
    const char *nearest = cli_nearest(name, names, count);
    if (nearest)
        cli_fail(EXIT_USAGE, "there is no generator %s; did you mean %s?", name, nearest);
    else
        cli_fail(EXIT_USAGE, "there is no generator %s; limn synth lists them", name);
    return NULL;
}

/* Anything more than limn synth [NAME] asks for rows. */
static bool rows_are_asked_for(const cli_args *args) {
    return args->rows || args->output || args->param_count || args->to || args->to_labels ||
           args->to_delimiter;
}

static int check_usage(const cli_args *args) {
    if (args->positional_count == 0)
        return cli_fail(EXIT_USAGE, "limn synth needs the NAME of a generator (limn synth lists "
                                    "them), such as: limn synth mixture -n 1000 -o mixture.csv");
    const char *name = args->positionals[0];
    if (!args->rows)
        return cli_fail(EXIT_USAGE,
                        "limn synth needs -n N, the number of rows, such as: "
                        "limn synth %s -n 1000 -o %s",
                        name, args->output ? args->output : "data.csv");
    if (!args->output)
        return cli_fail(EXIT_USAGE,
                        "limn synth needs -o DATA, the file to write (- for standard output), such "
                        "as: limn synth %s -n %llu -o %s.csv",
                        name, (unsigned long long)args->rows, name);
    return EXIT_DONE;
}

/* ---- rows ---- */

static int run(cli_session *session, const cli_args *args) {
    limn_write_options writing;
    limn_write_options_init(&writing);
    writing.format = (limn_format)args->to;
    writing.delimiter = args->to_delimiter;
    writing.label_file = args->to_labels;
    limn_synth_options options;
    limn_synth_options_init(&options);
    options.name = args->positionals[0];
    options.rows = args->rows;
    options.params = args->params;
    options.param_count = args->param_count;
    session->to_stdout = strcmp(args->output, "-") == 0;
    /* Rows and a progress line on the same terminal would mix. */
    if (session->to_stdout && isatty(STDOUT_FILENO))
        session->progress.enabled = false;
    return cli_check(session, limn_synth(session->context, &options, args->output, &writing));
}

int cmd_synth(const cli_args *args) {
    cli_session session;
    const limn_synth_info *generator = NULL;
    if (args->positional_count && !(generator = find_generator(args->positionals[0])))
        return EXIT_USAGE;
    if (!rows_are_asked_for(args))
        return generator ? print_generator(generator) : print_list();
    int code = check_usage(args);
    if (code)
        return code;
    code = cli_session_open(&session, args);
    if (code == EXIT_DONE)
        code = run(&session, args);
    cli_session_close(&session);
    return code;
}
