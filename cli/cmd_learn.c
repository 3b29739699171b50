/* cmd_learn.c: limn learn MODEL [DATA]: an online model learns rows one by one.
 *
 * The order is: forget the rows of --forget, learn the rows of DATA, --compact, write the model.
 * Pieces of rows end where a report or a checkpoint is due, so what is written does not depend on
 * how the bytes arrive.
 *
 * Every model that is written carries a mark: how many rows of DATA it has read. A command that is
 * killed leaves the last checkpoint, and --resume continues from its mark. The result is the same
 * model, because a checkpoint holds everything that learning depends on. The first checkpoint is
 * written before the first row, so that the file records from the start which DATA it belongs to.
 */
#include "cli.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits of one piece: no more floats than a reader returns at once, and few enough rows that
 * interrupts and the progress line are handled in time when a model learns slowly. */
enum { PIECE_FLOATS = 1 << 18, PIECE_ROWS = 1024 };

/* So many rows of the same class in succession look like data that is sorted by class. */
enum { LONG_RUN = 1000 };

typedef struct learning {
    cli_session *session;
    const cli_args *args;
    const char *data;   /* NULL: none */
    const char *output; /* where the model goes */
    limn_model *model;
    limn_model_info before;
    limn_reader *reader;
    limn_mark mark; /* its rows: those read so far, including skipped ones */
    uint64_t skipped, learned, ids, forgotten;
    size_t piece;     /* rows learned in one call */
    bool may_wait;    /* no more rows had arrived when the last piece was read */
    int32_t *classes; /* answers for one piece, before it is learned */
    double *values;
    int32_t run_class; /* of the last rows: their class ... */
    uint64_t run;      /* ... and their number */
    cli_report report;
    bool checkpoints, begun; /* begun: an interrupt may write a checkpoint */
    uint64_t saved_rows;
    double saved_at, seconds;
} learning;

static bool is(const char *path, const char *other) {
    return strcmp(path, other) == 0;
}

static const char *shown(const char *path) {
    return is(path, "-") ? "standard input" : path;
}

static bool wants_checkpoints(const cli_args *args) {
    return args->checkpoint_every.rows || args->checkpoint_every.seconds;
}

/* ---- checks before any work ---- */

static int check_data_options(const cli_args *args, const char *data) {
    static const char needs[] = "%s needs DATA to learn from: limn learn %s DATA";
    const char *model = args->positionals[0];
    if (!data && !args->forget && !args->compact)
        return cli_fail(EXIT_USAGE,
                        "limn learn needs DATA to learn from (or --forget FILE, --compact), such "
                        "as: limn learn %s more.csv",
                        model);
    if (!data && args->resume)
        return cli_fail(EXIT_USAGE, needs, "--resume", model);
    if (!data && wants_checkpoints(args))
        return cli_fail(EXIT_USAGE, needs, "--checkpoint-every", model);
    if (!data && args->report_every)
        return cli_fail(EXIT_USAGE, needs, "--report-every", model);
    if (data && args->resume && is(data, "-"))
        return cli_fail(EXIT_USAGE, "--resume cannot skip rows of standard input, because it "
                                    "cannot check that they are the same rows; name a file, or "
                                    "leave --resume out and send only new rows");
    if (data && args->forget && is(data, "-") && is(args->forget, "-"))
        return cli_fail(EXIT_USAGE,
                        "--forget - and DATA - both read standard input; name a file for one");
    return EXIT_DONE;
}

static int check_output_options(const cli_args *args, const char *data) {
    struct stat info;
    const char *model = args->positionals[0], *output = args->output;
    if (!output && stat(model, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return cli_fail(EXIT_USAGE,
                        "%s is not a regular file and cannot be replaced; name a file with -o",
                        model);
    if (!output)
        return EXIT_DONE;
    if (is(output, "-") && isatty(STDOUT_FILENO))
        return cli_fail(EXIT_USAGE, "-o -: a model is binary and standard output is a terminal; "
                                    "name a file or use a pipe");
    if (is(output, "-") && wants_checkpoints(args))
        return cli_fail(EXIT_USAGE, "--checkpoint-every needs a file to write, not -o -");
    if (is(output, "-") && args->report_every && !args->json)
        return cli_fail(EXIT_USAGE, "--report-every and -o - both write to standard output; name a "
                                    "file for the model");
    int code = data ? cli_refuse_overwrite(output, data) : EXIT_DONE;
    return code || !args->forget ? code : cli_refuse_overwrite(output, args->forget);
}

static int check_model(const learning *l) {
    const cli_args *args = l->args;
    const limn_model_info *info = &l->before;
    if (l->data && !(info->capabilities & LIMN_CAN_LEARN))
        return cli_fail(
            EXIT_USAGE,
            "%s: %s %s model cannot learn row by row; train a new model on all rows, or "
            "use a method that can learn (limn methods lists them)",
            args->positionals[0], cli_article(info->method), info->method);
    if ((args->forget || args->compact) && !(info->capabilities & LIMN_CAN_FORGET))
        return cli_fail(
            EXIT_USAGE,
            "%s: %s %s model cannot forget rows; train a new model without them, or use "
            "a method that can forget (limn methods lists them)",
            args->positionals[0], cli_article(info->method), info->method);
    bool labels = info->task == LIMN_CLASSIFY || info->task == LIMN_REGRESS;
    if (l->data && args->no_label && labels)
        return cli_fail(EXIT_USAGE, "--no-label: %s needs labels to learn; leave --no-label out",
                        args->positionals[0]);
    if (args->report_every && !labels)
        return cli_fail(EXIT_USAGE, "--report-every: %s predicts no labels to check; leave it out",
                        args->positionals[0]);
    return EXIT_DONE;
}

/* ---- marks ---- */

/* If an earlier command that wrote to MODEL2 was stopped, its state is there. */
static int open_start(learning *l) {
    const cli_args *args = l->args;
    struct stat info;
    limn_mark mark;
    if (args->resume && !is(l->output, "-") && stat(l->output, &info) == 0) {
        int code = cli_open_model(l->session, l->output, NULL, &l->model);
        if (code || limn_model_mark(l->model, &mark))
            return code;
        limn_model_free(l->model);
        l->model = NULL;
    }
    return cli_open_model(l->session, args->positionals[0], NULL, &l->model);
}

/* Whether the model's mark belongs to this DATA, which may have grown since. */
static int same_data(learning *l, const limn_mark *mark, bool *same) {
    limn_mark now;
    int code =
        cli_check(l->session, limn_mark_file(l->session->context, l->data, mark->bytes, &now));
    *same = !code && mark->bytes && now.bytes == mark->bytes && now.hash == mark->hash;
    return code;
}

static int refuse_resume(const learning *l, const limn_mark *mark) {
    if (!mark->bytes)
        return cli_fail(EXIT_DATA,
                        "%s: --resume: the model last learned from a stream, not from this file; "
                        "leave --resume out to learn all of it",
                        l->data);
    return cli_fail(EXIT_DATA,
                    "%s: --resume: this is not the file from which the model learned %" PRIu64
                    " row%s (the first %" PRIu64 " bytes differ); name that file, or leave "
                    "--resume out to learn all of this one",
                    l->data, mark->rows, mark->rows == 1 ? "" : "s", mark->bytes);
}

/* Sets the mark of DATA and finds the row to start at. */
static int find_start(learning *l) {
    limn_mark mark;
    bool same = false;
    int code = cli_check(l->session,
                         limn_mark_file(l->session->context, l->data, LIMN_MARK_BYTES, &l->mark));
    if (!code && l->args->resume && !l->mark.bytes)
        return cli_fail(EXIT_USAGE, "%s: --resume needs a regular file that is not empty", l->data);
    if (code)
        return code;
    if (!limn_model_mark(l->model, &mark)) {
        /* A command that was killed before its first checkpoint resumes at the first row. */
        if (l->args->resume && !l->session->quiet)
            fprintf(stderr, "limn: the model has not learned from a file yet; --resume starts at "
                            "the first row\n");
        return EXIT_DONE;
    }
    if ((code = same_data(l, &mark, &same)))
        return code;
    if (l->args->resume && !same)
        return refuse_resume(l, &mark);
    if (l->args->resume)
        l->skipped = mark.rows;
    else if (same && mark.rows && !l->session->quiet)
        fprintf(stderr,
                "limn: warning: the model has already learned %" PRIu64 " row%s of %s and learns "
                "them again (--resume skips them)\n",
                mark.rows, mark.rows == 1 ? "" : "s", l->data);
    return EXIT_DONE;
}

/* ---- writing the model ---- */

/* Interrupts wait until it is done. */
static limn_status save(learning *l) {
    if (l->data)
        limn_model_set_mark(l->model, &l->mark);
    l->session->to_stdout = is(l->output, "-") || l->report.output;
    l->session->saving = true;
    limn_status status = limn_model_save(l->session->context, l->model, l->output);
    l->session->saving = false;
    if (status == LIMN_OK) {
        l->saved_rows = l->mark.rows;
        l->saved_at = cli_now();
    }
    return status;
}

static int checkpoint(learning *l) {
    limn_status status = save(l);
    return status == LIMN_OK ? EXIT_DONE
                             : cli_fail(EXIT_FAILED, "%s", limn_error(l->session->context));
}

/* ---- learning ---- */

static void draw(learning *l, const char *stage) {
    limn_progress news = {
        .stage = stage, .rows = l->mark.rows, .fraction = limn_reader_fraction(l->reader)};
    (void)cli_progress_tell(&l->session->progress, &news);
}

/* An interrupt is reported at the end, when it is known what was saved. */
static int check(learning *l, limn_status status) {
    if (cli_interrupted())
        return EXIT_INTERRUPTED;
    return cli_check(l->session, status);
}

static int open_data(learning *l) {
    limn_read_options options;
    cli_read_options(l->args, l->before.task, &options);
    l->session->progress.file = l->data;
    int code = cli_check(
        l->session, limn_reader_open(l->session->context, l->data, &options, l->model, &l->reader));
    size_t most = PIECE_FLOATS / (l->before.features ? l->before.features : 1);
    l->piece = most < 1 ? 1 : most < PIECE_ROWS ? most : PIECE_ROWS;
    l->classes = malloc(l->piece * sizeof *l->classes);
    l->values = malloc(l->piece * sizeof *l->values);
    if (!code && (!l->classes || !l->values))
        code = cli_fail(EXIT_FAILED, "out of memory");
    return code;
}

static int forget(learning *l) {
    uint64_t *ids = NULL;
    size_t count = 0;
    int code = cli_read_ids(l->session, l->args->forget, l->before.rows, &ids, &count);
    if (!code)
        code = cli_check(l->session,
                         limn_forget(l->session->context, l->model, ids, count, &l->forgotten));
    l->ids = count;
    free(ids);
    return code;
}

static int skip(learning *l) {
    while (l->mark.rows < l->skipped) {
        uint64_t left = l->skipped - l->mark.rows;
        limn_rows rows;
        limn_rows_init(&rows);
        limn_status status =
            limn_reader_next(l->reader, left < l->piece ? (size_t)left : l->piece, &rows);
        int code = check(l, status);
        if (code)
            return code;
        if (!rows.n)
            return cli_fail(EXIT_DATA,
                            "%s: --resume: the model has read %" PRIu64
                            " row%s of this file, but it "
                            "has only %" PRIu64 "; leave --resume out to learn all of it",
                            l->data, l->skipped, l->skipped == 1 ? "" : "s", l->mark.rows);
        l->mark.rows += rows.n;
        draw(l, "skipping");
    }
    return EXIT_DONE;
}

/* Adds the classes that are new in these rows, in the order in which the reader numbered them. */
static int add_classes(learning *l, const limn_rows *rows) {
    int32_t most = -1;
    for (size_t i = 0; rows->classes && i < rows->n; i++)
        most = rows->classes[i] > most ? rows->classes[i] : most;
    /* Model and reader number classes alike, so only those after the model's are added. */
    for (size_t i = l->before.classes; most >= 0 && i <= (size_t)most; i++) {
        int32_t index;
        if (limn_model_class_name(l->model, i))
            continue;
        int code = check(l, limn_model_add_class(l->session->context, l->model,
                                                 limn_reader_class_name(l->reader, i), &index));
        if (code)
            return code;
    }
    return EXIT_DONE;
}

static void warn_of_run(const learning *l) {
    char name[CLI_NAME_BYTES];
    if (l->session->quiet || !limn_model_class_name(l->model, 1))
        return;
    cli_progress_clear(&l->session->progress);
    fprintf(stderr,
            "limn: warning: the last %d rows are all of class %s, although the model knows others; "
            "rows sorted by class make a worse model: shuffle them, or train on all of them "
            "(limn train)\n",
            LONG_RUN,
            cli_text_name(limn_model_class_name(l->model, (size_t)l->run_class), 30, name));
}

/* Says once per run that it is long. */
static void watch_order(learning *l, const limn_rows *rows) {
    for (size_t i = 0; rows->classes && i < rows->n; i++) {
        l->run = l->run && rows->classes[i] == l->run_class ? l->run + 1 : 1;
        l->run_class = rows->classes[i];
        if (l->run == LONG_RUN)
            warn_of_run(l);
    }
}

static int learn_rows(learning *l, const limn_rows *rows) {
    limn_lesson lesson;
    size_t learned = 0;
    limn_lesson_init(&lesson);
    lesson.n = rows->n;
    lesson.x = rows->x;
    lesson.classes = rows->classes;
    lesson.targets = rows->targets;
    if (l->report.wanted && l->before.task == LIMN_REGRESS)
        lesson.answered_values = l->values;
    else if (l->report.wanted)
        lesson.answered_classes = l->classes;
    int code = add_classes(l, rows);
    if (code)
        return code;
    limn_status status = limn_learn(l->session->context, l->model, &lesson, &learned);
    cli_report_add(&l->report, &lesson, learned);
    l->mark.rows += learned;
    l->learned += learned;
    watch_order(l, rows);
    return check(l, status);
}

/* How many rows to read now: up to the next report or checkpoint. */
static size_t rows_due(const learning *l) {
    uint64_t most = l->piece, at = l->mark.rows;
    uint64_t every[] = {l->args->report_every, l->args->checkpoint_every.rows};
    for (size_t i = 0; i < CLI_COUNT(every); i++)
        if (every[i] && every[i] - at % every[i] < most)
            most = every[i] - at % every[i];
    return (size_t)most;
}

static bool checkpoint_due(const learning *l) {
    const cli_every *every = &l->args->checkpoint_every;
    if (l->mark.rows == l->saved_rows)
        return false;
    return (every->rows && l->mark.rows % every->rows == 0) ||
           (every->seconds && cli_now() - l->saved_at >= (double)every->seconds);
}

/* A checkpoint of rows already learned must not wait until more rows arrive. */
static int wait_for_rows(learning *l) {
    const cli_every *every = &l->args->checkpoint_every;
    while (every->seconds && is(l->data, "-") && l->may_wait && l->mark.rows != l->saved_rows) {
        double left = l->saved_at + (double)every->seconds - cli_now();
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        int milliseconds = left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
        int ready = poll(&in, 1, milliseconds);
        if (cli_interrupted())
            return EXIT_INTERRUPTED;
        if (ready > 0)
            return EXIT_DONE;
        int code = checkpoint_due(l) ? checkpoint(l) : EXIT_DONE;
        if (code)
            return code;
    }
    return EXIT_DONE;
}

static int learn_all(learning *l) {
    for (;;) {
        limn_rows rows;
        limn_rows_init(&rows);
        size_t due = rows_due(l);
        int code = wait_for_rows(l);
        if (code || (code = check(l, limn_reader_next(l->reader, due, &rows))) || !rows.n)
            return code;
        l->may_wait = rows.n < due;
        if ((code = learn_rows(l, &rows)))
            return code;
        draw(l, "learning");
        if (l->args->report_every && l->mark.rows % l->args->report_every == 0 &&
            (code = cli_report_block(l->session, &l->report, l->mark.rows)))
            return code;
        if (checkpoint_due(l) && (code = checkpoint(l)))
            return code;
    }
}

static int learn_data(learning *l) {
    double start = cli_now();
    l->session->own = true;
    int code = skip(l);
    l->saved_rows = l->mark.rows;
    l->saved_at = cli_now();
    /* A resumed model already has its mark. */
    if (!code && l->checkpoints && l->mark.bytes && !l->skipped)
        code = checkpoint(l);
    l->begun = !code;
    code = code ? code : learn_all(l);
    code = code ? code : cli_report_block(l->session, &l->report, l->mark.rows);
    l->session->own = false;
    cli_progress_clear(&l->session->progress);
    l->seconds = cli_now() - start;
    return code;
}

/* ---- the end ---- */

static void print_learned(const learning *l, const limn_model_info *info, FILE *file) {
    char number[CLI_NUMBER_BYTES], name[CLI_NAME_BYTES];
    size_t before = l->before.classes;
    fprintf(file, "%s: learned %" PRIu64 " row%s of %s", info->method, l->learned,
            l->learned == 1 ? "" : "s", shown(l->data));
    if (l->skipped)
        fprintf(file, " after skipping %" PRIu64 " already read", l->skipped);
    fprintf(file, ", %" PRIu64 " in all", info->rows);
    if (info->classes != before)
        fprintf(file, "; %zu new class%s", info->classes - before,
                info->classes - before == 1 ? "" : "es");
    for (size_t i = before; i < info->classes && i < before + 8; i++)
        fprintf(file, "%s %s", i == before ? ":" : ",",
                cli_text_name(limn_model_class_name(l->model, i), 30, name));
    fprintf(file, "%s\nlearning took %s\n", info->classes > before + 8 ? ", ..." : "",
            cli_text_seconds(l->seconds, number));
}

static void print_words(const learning *l, const limn_model_info *info, FILE *file) {
    char bytes[CLI_NUMBER_BYTES], text[256];
    if (l->args->forget)
        fprintf(file, "forgot %" PRIu64 " of %" PRIu64 " row%s%s\n", l->forgotten, l->ids,
                l->ids == 1 ? "" : "s",
                l->forgotten < l->ids ? "; the others are not in the model" : "");
    if (l->data)
        print_learned(l, info, file);
    if (cli_report_words(&l->report, text, sizeof text))
        fprintf(file, "%s, each row tested before it was learned\n", text);
    fprintf(file, "%s: %s; a query touches %s\n", is(l->output, "-") ? "model" : l->output,
            cli_text_bytes((double)info->bytes, bytes), cli_text_touched(info, text, sizeof text));
}

static int print_json(const learning *l, const limn_model_info *info, FILE *file) {
    bool classify = info->task == LIMN_CLASSIFY;
    json_t *added = json_array();
    for (size_t i = l->before.classes; i < info->classes; i++)
        json_array_append_new(added, cli_json_text(limn_model_class_name(l->model, i)));
    json_t *object = json_pack(
        "{s:o, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:I}", "method", cli_json_text(info->method),
        "rows", (json_int_t)info->rows, "learned", (json_int_t)l->learned, "skipped",
        (json_int_t)l->skipped, "forgotten",
        l->args->forget ? json_integer((json_int_t)l->forgotten) : json_null(), "features",
        (json_int_t)info->features, "classes",
        classify ? json_integer((json_int_t)info->classes) : json_null(), "new_classes", added,
        "seconds", cli_json_real(l->seconds), "model_bytes", (json_int_t)info->bytes);
    cli_report_json(&l->report, object);
    return cli_json_print(object, file);
}

static int print_summary(const learning *l) {
    limn_model_info info;
    limn_model_info_init(&info);
    limn_model_describe(l->model, &info);
    bool model_there = is(l->output, "-");
    if (l->args->json)
        return print_json(l, &info, model_there ? stderr : stdout);
    if (!l->args->quiet)
        print_words(l, &info, model_there || l->report.output ? stderr : stdout);
    return EXIT_DONE;
}

/* With checkpoints, what was learned before the interrupt is saved. */
static int end_interrupted(learning *l) {
    const char *file = l->output;
    cli_progress_clear(&l->session->progress);
    if (!l->checkpoints || !l->begun)
        return cli_fail(EXIT_INTERRUPTED, "interrupted");
    if (l->mark.rows != l->saved_rows && save(l) != LIMN_OK)
        return cli_fail(EXIT_INTERRUPTED, "interrupted, and the checkpoint failed: %s",
                        limn_error(l->session->context));
    return cli_fail(EXIT_INTERRUPTED,
                    "interrupted; %s has learned the first %" PRIu64 " row%s of %s%s", file,
                    l->mark.rows, l->mark.rows == 1 ? "" : "s", shown(l->data),
                    l->mark.bytes ? "; --resume continues from there" : "");
}

static int finish(learning *l) {
    int code = EXIT_DONE;
    /* If compacting is interrupted, the file has all rows and nothing half rebuilt. */
    if (l->args->compact && l->checkpoints && l->mark.rows != l->saved_rows)
        code = checkpoint(l);
    if (!code && l->args->compact)
        code = check(l, limn_compact(l->session->context, l->model));
    code = code ? code : check(l, LIMN_OK);
    return code ? code : cli_check(l->session, save(l));
}

static int run(learning *l) {
    const cli_args *args = l->args;
    int code = open_start(l);
    if (code)
        return code;
    limn_model_info_init(&l->before);
    limn_model_describe(l->model, &l->before);
    if ((code = check_model(l)) || (code = cli_check_output(l->session, l->output)) ||
        (l->data && ((code = find_start(l)) || (code = open_data(l)))) ||
        (args->forget && (code = forget(l))) ||
        (code = cli_report_open(l->session, args, l->before.task, &l->report)))
        return code;
    code = l->data ? learn_data(l) : EXIT_DONE;
    code = code ? code : finish(l);
    return code == EXIT_INTERRUPTED ? end_interrupted(l) : code ? code : print_summary(l);
}

int cmd_learn(const cli_args *args) {
    cli_session session;
    learning l = {.session = &session,
                  .args = args,
                  .data = args->positional_count > 1 ? args->positionals[1] : NULL,
                  .output = args->output ? args->output : args->positionals[0],
                  .checkpoints = wants_checkpoints(args)};
    int code = check_data_options(args, l.data);
    if (code || (code = check_output_options(args, l.data)))
        return code;
    code = cli_session_open(&session, args);
    code = code ? code : run(&l);
    code = cli_report_close(&session, &l.report, code);
    limn_reader_free(l.reader);
    limn_model_free(l.model);
    free(l.classes);
    free(l.values);
    cli_session_close(&session);
    return code;
}
