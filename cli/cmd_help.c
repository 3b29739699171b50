/* cmd_help.c: limn help [VERB|METHOD|GENERATOR] [--as FORMAT], limn VERB --help and the overview,
 * all generated from the tables of verbs, methods and generators. */
#include "cli.h"
#include "methods.h"

#include <string.h>

enum { HELP_COLUMN = 26 };

const char cli_tagline[] = "classification that answers in microseconds";

const char *const cli_first_examples[] = {"limn train iris.csv -m knn -o iris.limn",
                                          "limn eval iris.limn test.csv",
                                          "limn predict iris.limn new.csv", NULL};

const cli_note cli_program_options[] = {
    {"--help", "print the overview"}, {"--version", "print the version"}, {NULL, NULL}};

const cli_note cli_exit_codes[] = {{"0", "done"},           {"1", "failed while running"},
                                   {"2", "usage error"},    {"3", "bad data"},
                                   {"4", "bad model file"}, {"5", "nothing met the budget"},
                                   {"130", "interrupted"},  {NULL, NULL}};
_Static_assert(EXIT_DONE == 0 && EXIT_FAILED == 1 && EXIT_USAGE == 2 && EXIT_DATA == 3 &&
                   EXIT_MODEL == 4 && EXIT_BUDGET == 5 && EXIT_INTERRUPTED == 130,
               "exit codes");

const cli_note cli_environment[] = {
    {"LIMN_ISA", "the instruction set to use: baseline, avx2, avx512 or neon (default: the best "
                 "that this machine has)"},
    {"NO_COLOR", "has no effect: limn never prints colours"},
    {NULL, NULL}};

/* ---- text ---- */

static void print_exit_codes(FILE *file) {
    char text[512];
    size_t used = 0;
    for (const cli_note *note = cli_exit_codes; note->name && used < sizeof text; note++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s%s",
                                 used ? " " : "Exit codes: ", note->name, note->text,
                                 note[1].name ? "," : ".");
    cli_wrap(file, 0, 0, text);
}

void cli_print_overview(FILE *file) {
    fprintf(file, "limn: %s\n\nusage: limn VERB [arguments]\n\nStart with:\n", cli_tagline);
    for (const char *const *example = cli_first_examples; *example; example++)
        fprintf(file, "  %s\n", *example);
    fputs("\nVerbs:\n", file);
    for (size_t i = 0; i < cli_verb_count; i++) {
        fprintf(file, "  %-9s ", cli_verbs[i].name);
        cli_wrap(file, 12, 12, cli_verbs[i].summary);
    }
    fputs("\nlimn help VERB explains a verb, limn --version prints the version.\n", file);
    print_exit_codes(file);
}

static void print_option(const cli_option *option, FILE *file) {
    char head[96];
    int used = option->letter
                   ? snprintf(head, sizeof head, "  -%c, --%s", option->letter, option->name)
                   : snprintf(head, sizeof head, "      --%s", option->name);
    if (option->argument && used > 0)
        snprintf(head + used, sizeof head - (size_t)used, " %s", option->argument);
    size_t width = strlen(head);
    fputs(head, file);
    if (width + 1 < HELP_COLUMN)
        fprintf(file, "%*s", (int)(HELP_COLUMN - width), "");
    else
        fprintf(file, "\n%*s", HELP_COLUMN, "");
    cli_wrap(file, HELP_COLUMN, HELP_COLUMN, option->help);
}

void cli_print_verb_help(const cli_verb *verb, FILE *file) {
    fprintf(file, "limn %s: %s\n\nExamples:\n", verb->name, verb->summary);
    for (const char *const *example = verb->examples; *example; example++)
        fprintf(file, "  %s\n", *example);
    fprintf(file, "\nusage: limn %s %s\n", verb->name, verb->usage);
    if (verb->details) {
        fputc('\n', file);
        cli_wrap(file, 0, 0, verb->details);
    }
    for (size_t g = 0; g < verb->group_count; g++) {
        fprintf(file, "\n%s:\n", verb->groups[g]->title);
        for (size_t i = 0; i < verb->groups[g]->count; i++)
            print_option(&verb->groups[g]->options[i], file);
    }
}

/* ---- the command ---- */

static int help_of_all(int as) {
    switch ((cli_help_as)as) {
    case CLI_AS_TEXT:
        cli_print_overview(stdout);
        break;
    case CLI_AS_MAN:
        cli_print_man(NULL, stdout);
        break;
    case CLI_AS_MARKDOWN:
        cli_print_markdown(NULL, stdout);
        break;
    case CLI_AS_BASH:
        cli_print_bash(stdout);
        break;
    case CLI_AS_ZSH:
        cli_print_zsh(stdout);
        break;
    }
    return EXIT_DONE;
}

static int help_of_verb(const cli_verb *verb, int as) {
    if (as == CLI_AS_TEXT)
        cli_print_verb_help(verb, stdout);
    else if (as == CLI_AS_MAN)
        cli_print_man(verb, stdout);
    else
        cli_print_markdown(verb, stdout);
    return EXIT_DONE;
}

/* Methods and generators are described on the page of the verb that lists them. */
static int no_page(const char *name, const char *verb) {
    return cli_fail(EXIT_USAGE, "%s has no manual page; limn help %s --as man describes it", name,
                    verb);
}

static int help_of_method(const limn_method_info *method, const cli_args *args) {
    if (args->help_as == CLI_AS_TEXT)
        return cmd_methods(args);
    if (args->help_as == CLI_AS_MAN)
        return no_page(method->name, "methods");
    cli_print_markdown_method(method, stdout);
    return EXIT_DONE;
}

static int help_of_synth(const limn_synth_info *synth, const cli_args *args) {
    if (args->help_as == CLI_AS_TEXT)
        return cmd_synth(args);
    if (args->help_as == CLI_AS_MAN)
        return no_page(synth->name, "synth");
    cli_print_markdown_synth(synth, stdout);
    return EXIT_DONE;
}

int cmd_help(const cli_args *args) {
    if (args->positional_count == 0)
        return help_of_all(args->help_as);
    const char *name = args->positionals[0];
    if (args->help_as == CLI_AS_BASH || args->help_as == CLI_AS_ZSH)
        return cli_fail(EXIT_USAGE, "a completion script covers the whole program; leave out %s",
                        name);
    const cli_verb *verb = cli_verb_find(name);
    if (verb)
        return help_of_verb(verb, args->help_as);
    const limn_method_info *method = limn_method_find(name);
    if (method)
        return help_of_method(method, args);
    const limn_synth_info *synth = limn_synth_find(name);
    return synth ? help_of_synth(synth, args) : cli_verb_unknown(name);
}
