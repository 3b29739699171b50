/* cli.h: declarations shared by the files of the command-line program.
 *
 * The flow of every command: main.c finds the verb in the table of verbs.c, options.c parses the
 * arguments using the verb's option tables, and the verb's function (cmd_<verb>.c) opens a session
 * (context, progress line, interrupts), calls <limn/limn.h> and returns an exit code.
 * Help texts come from the same tables. */
#ifndef LIMN_CLI_H
#define LIMN_CLI_H

#include <jansson.h>
#include <limn/limn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Exit codes that scripts may rely on. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_DATA = 3,
    EXIT_MODEL = 4,
    EXIT_BUDGET = 5,
    EXIT_INTERRUPTED = 130,
    EXIT_PIPE_CLOSED = 141 /* main raises SIGPIPE instead, as other filters do */
};

enum { CLI_COLUMNS = 80, CLI_CHUNK_ROWS = 4096, CLI_MAX_POSITIONALS = 2, CLI_MAX_ALIASES = 64 };

/* ---- options and verbs ---- */

typedef enum cli_kind {
    CLI_FLAG,      /* int: 1 when given */
    CLI_TEXT,      /* const char * */
    CLI_PARAM,     /* appended to params */
    CLI_ALIAS,     /* an svm-train option for -m svm: translated and appended to params */
    CLI_WHOLE,     /* uint64_t in min..max */
    CLI_REAL,      /* double in (min, max] */
    CLI_CHOICE,    /* int: the index in argument, which reads "a|b|c" */
    CLI_DELIMITER, /* char */
    CLI_EVERY,     /* cli_every: "1000" rows or "30s" */
    CLI_DURATION   /* double, in seconds: "20us", "3m"; in min..max. Without a unit: seconds if min
                    * is at least one, else it is refused */
} cli_kind;

typedef struct cli_every {
    uint64_t rows, seconds; /* 0: not used */
} cli_every;

typedef struct cli_option {
    const char *name;     /* without the dashes */
    char letter;          /* of the short form, or 0 */
    const char *argument; /* how help names the value; NULL: takes none */
    const char *help;
    cli_kind kind;
    size_t offset; /* of its field in cli_args */
    double min, max;
} cli_option;

typedef struct cli_group {
    const char *title;
    const cli_option *options;
    size_t count;
} cli_group;

/* The arguments of all verbs; a verb's tables say which of them it takes. */
typedef struct cli_args {
    const char *positionals[CLI_MAX_POSITIONALS];
    size_t positional_count;
    int help, quiet, json, proba, scores, vote, no_label, no_speed;
    int help_as; /* cli_help_as */
    /* Values of the enumerations of limn.h. */
    int format, header, task, scale, missing, unknown, to;
    char delimiter, to_delimiter;
    const char *label, *method, *output, *label_file, *weights, *categorical, *to_labels, *teacher;
    const char *ranges;  /* files of the scaling before MODEL */
    const char **params; /* including the svm-train options, translated */
    size_t param_count;
    char *alias_text[CLI_MAX_ALIASES]; /* those of params that were allocated here */
    size_t alias_count;
    uint64_t seed, threads, neighbors, rows; /* threads 0: all cores */
    double subsample;                        /* 0: not given, all rows */
    int subsample_rule;                      /* limn_subsample; -1: not given */
    const char *data, *test;                 /* of accelerate */
    double max_loss, budget, time_limit;     /* max_loss below 0: the default; seconds */
    int resume, compact;
    const char *forget; /* file of ids */
    uint64_t report_every;
    cli_every checkpoint_every;
} cli_args;

typedef struct cli_verb {
    const char *name;
    const char *usage; /* what follows "limn NAME " */
    const char *summary;
    const char *details;         /* a paragraph for --help, or NULL */
    const char *const *examples; /* whole commands, NULL at the end */
    const cli_group *const *groups;
    size_t group_count;
    size_t min_positionals, max_positionals;
    uint64_t default_threads;
    int (*run)(const cli_args *args);
} cli_verb;

/* verbs.c */
extern const cli_verb cli_verbs[];
extern const size_t cli_verb_count;
const cli_verb *cli_verb_find(const char *name); /* NULL if unknown */
int cli_verb_unknown(const char *name);          /* prints an error; EXIT_USAGE */

/* options.c: arguments after the verb. EXIT_DONE, or EXIT_USAGE after printing an error. Stops at
 * --help. Call cli_args_free in either case. */
int cli_parse(const cli_verb *verb, int argc, char **argv, cli_args *args);
void cli_args_free(cli_args *args);

/* cmd_help.c: help as text, and the texts about the whole program. */
typedef enum cli_help_as {
    CLI_AS_TEXT,
    CLI_AS_MAN,
    CLI_AS_MARKDOWN,
    CLI_AS_BASH,
    CLI_AS_ZSH
} cli_help_as;

typedef struct cli_note {
    const char *name, *text; /* NULL at the end of a list */
} cli_note;

extern const char cli_tagline[];
extern const char *const cli_first_examples[]; /* NULL at the end */
extern const cli_note cli_program_options[], cli_exit_codes[], cli_environment[];

void cli_print_overview(FILE *file);
void cli_print_verb_help(const cli_verb *verb, FILE *file);

/* manual.c: verb NULL means the whole program. */
void cli_print_man(const cli_verb *verb, FILE *file);
void cli_print_markdown(const cli_verb *verb, FILE *file);
void cli_print_markdown_method(const limn_method_info *method, FILE *file);
void cli_print_markdown_synth(const limn_synth_info *synth, FILE *file);

/* completion.c: whole scripts for the shells. */
void cli_print_bash(FILE *file);
void cli_print_zsh(FILE *file);

int cmd_accelerate(const cli_args *args);
int cmd_convert(const cli_args *args);
int cmd_eval(const cli_args *args);
int cmd_help(const cli_args *args);
int cmd_info(const cli_args *args);
int cmd_learn(const cli_args *args);
int cmd_methods(const cli_args *args);
int cmd_predict(const cli_args *args);
int cmd_search(const cli_args *args);
int cmd_synth(const cli_args *args);
int cmd_train(const cli_args *args);

/* ---- progress.c: the progress line and interrupts ---- */

typedef struct cli_progress {
    bool enabled, shown;
    const char *file; /* named while reading */
    char stage[64];
    double begun, stage_begun, drawn; /* seconds of a steady clock */
    uint64_t stage_rows;
} cli_progress;

double cli_now(void);
void cli_progress_init(cli_progress *progress, bool enabled);
/* For limn_context_options: draws the line; returns non-zero (cancel) after an interrupt. */
int cli_progress_tell(cli_progress *progress, const limn_progress *news);
void cli_progress_clear(cli_progress *progress);

/* From now on SIGINT, SIGTERM and SIGHUP set a flag and interrupt system calls. */
void cli_catch_interrupts(void);
bool cli_interrupted(void);

/* ---- session.c: the context of one command, errors as exit codes ---- */

typedef struct cli_session {
    limn_context *context;
    cli_progress progress;
    bool quiet;
    bool to_stdout; /* answers are streamed to standard output */
    bool own;       /* the command draws the progress line and reports interrupts itself */
    bool saving;    /* interrupts wait until saving is done */
} cli_session;

/* EXIT_DONE, or an exit code after printing an error. Close in either case. */
int cli_session_open(cli_session *session, const cli_args *args);
void cli_session_close(cli_session *session);
/* The exit code of a status; prints its error sentence unless it is LIMN_OK. */
int cli_check(cli_session *session, limn_status status);
/* EXIT_INTERRUPTED, reported on stderr, after an interrupt; else EXIT_DONE. */
int cli_check_interrupt(cli_session *session);
/* "limn: SENTENCE" on stderr; returns code. */
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs a command on the model that its first argument names: opens session and model, calls work,
 * closes both. First refuses an output that would replace an input. */
typedef int cli_model_work(cli_session *session, const cli_args *args, const limn_model *model);
int cli_with_model(const cli_args *args, cli_model_work *work);
/* ranges: of --ranges, or NULL. */
int cli_open_model(cli_session *session, const char *path, const char *ranges, limn_model **out);
void cli_read_options(const cli_args *args, limn_task task, limn_read_options *out);
int cli_open_predictor(cli_session *session, const limn_model *model, const cli_args *args,
                       size_t neighbors, limn_predictor **out);
/* Whether both are the same regular file. */
bool cli_same_file(const char *first, const char *second);
/* EXIT_USAGE when writing to output would replace the input file. */
int cli_refuse_overwrite(const char *output, const char *input);
/* The same for the files of --ranges. */
int cli_refuse_ranges(const char *output, const char *ranges);
/* Checks that path can be written to before the work starts. */
int cli_check_output(cli_session *session, const char *path);
int cli_open_output(cli_session *session, const char *path, limn_output **out);
int cli_put(cli_session *session, limn_output *output, const char *text);
/* Commits if code is EXIT_DONE, discards otherwise; returns the final exit code. */
int cli_close_output(cli_session *session, limn_output *output, int code);

/* ---- learn_ids.c: the file of --forget ---- */

/* Row ids, one per line, each below limit (the number of rows the model has seen). Free *ids. */
int cli_read_ids(cli_session *session, const char *path, uint64_t limit, uint64_t **ids,
                 size_t *count);

/* ---- learn_report.c: the error of a stream, each row tested before it is learned ---- */

typedef struct cli_tally {
    uint64_t rows, wrong;     /* classify */
    double absolute, squared; /* regress: sums of errors */
    uint64_t answered;        /* regress: rows that got an answer */
} cli_tally;

typedef struct cli_report {
    limn_task task;
    bool wanted;
    cli_tally block, overall;
    limn_output *output; /* CSV, or NULL: blocks are collected for JSON */
    json_t *blocks;
} cli_report;

int cli_report_open(cli_session *session, const cli_args *args, limn_task task, cli_report *out);
/* Counts the first learned rows of a lesson. */
void cli_report_add(cli_report *report, const limn_lesson *lesson, size_t learned);
/* Ends a block, unless it is empty; rows: rows of the data read so far. */
int cli_report_block(cli_session *session, cli_report *report, uint64_t rows);
/* "error 3.20 %"; false when nothing was measured. */
bool cli_report_words(const cli_report *report, char *text, size_t size);
void cli_report_json(const cli_report *report, json_t *object);
int cli_report_close(cli_session *session, cli_report *report, int code);

/* ---- scaling.c: how a model scales ---- */

enum { CLI_SCALING_BYTES = 1024 };

/* Each fills text. "rank; wrong answers of the nearest 1, 5 and 9 other rows to 2000: minmax 12,
 * ...". */
const char *cli_text_scaling(const limn_model *model, char *text, size_t size);
/* Of a learned scaling: "60 axes with 98.1 % of the variance; ..."; empty without one. */
const char *cli_text_map(const limn_model *model, char *text, size_t size);
/* The features that count most in it; empty if there is no map. */
const char *cli_text_heaviest(const limn_model *model, char *text, size_t size);
json_t *cli_json_scaling(const limn_model *model);

/* ---- suggest.c ---- */

/* The candidate that text is most likely a misspelling of; NULL: none is close. */
const char *cli_nearest(const char *text, const char *const *candidates, size_t count);

/* ---- text.c ---- */

enum { CLI_NUMBER_BYTES = 40, CLI_NAME_BYTES = 128 };

/* Each fills text (CLI_NUMBER_BYTES bytes) and returns it. */
const char *cli_text_double(double value, char *text); /* reads back as the same double */
const char *cli_text_bytes(double bytes, char *text);  /* "12.3 kB" */
const char *cli_text_count(double count, char *text);  /* "850k" */
const char *cli_text_seconds(double seconds, char *text);
/* name made printable: control bytes as '?', cut to columns (at most 30) characters. */
const char *cli_text_name(const char *name, size_t columns, char *text);
size_t cli_text_width(const char *text); /* in characters */
/* prefix + name as a CSV cell, quoted if needed. NULL when out of memory; free it. */
char *cli_csv_cell(const char *prefix, const char *name);
/* Prints text wrapped between indent and CLI_COLUMNS; the first line starts at column. */
void cli_wrap(FILE *file, size_t column, size_t indent, const char *text);
/* "12 vectors (1.5 kB), mean over training rows". Fills text. */
const char *cli_text_touched(const limn_model_info *info, char *text, size_t size);
/* The scaling that a method has without --scale, in words. */
const char *cli_text_default_scale(limn_scale scale);
/* "a" or "an", as the name of a method needs it: "an lda model". */
const char *cli_article(const char *method);
/* The names of the capabilities in bits: "classify, search". Fills text. */
const char *cli_text_capabilities(unsigned bits, char *text, size_t size);

/* The index of text in "a|b|c", from 0; -1 if it is not one of them. */
int cli_choice(const char *choices, const char *text);

/* ---- json.c ---- */

json_t *cli_json_real(double value);     /* null unless finite */
json_t *cli_json_text(const char *text); /* null for NULL; bytes that are not UTF-8 become U+FFFD */
json_t *cli_json_params(const limn_model *model);
json_t *cli_json_capabilities(unsigned bits);
/* Prints object as one line and releases it; NULL means that memory ran out. */
int cli_json_print(json_t *object, FILE *file);

#endif
