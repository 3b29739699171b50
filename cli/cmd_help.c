/* cmd_help.c: limn help [VERB], limn VERB --help, and the overview: all from the verb tables. */
#include "cli.h"

#include <string.h>

enum { HELP_COLUMN = 26 };

void cli_print_overview(FILE *file) {
    fputs("limn: classification that answers in microseconds\n\n"
          "usage: limn VERB [arguments]\n\n"
          "Start with:\n"
          "  limn train iris.csv -m knn -o iris.limn\n"
          "  limn eval iris.limn test.csv\n"
          "  limn predict iris.limn new.csv\n\n"
          "Verbs:\n",
          file);
    for (size_t i = 0; i < cli_verb_count; i++)
        fprintf(file, "  %-9s %s\n", cli_verbs[i].name, cli_verbs[i].summary);
    fputs("\nlimn help VERB explains a verb, limn --version tells the version.\n"
          "Exit codes: 0 done, 1 failed while running, 2 wrong usage, 3 bad data,\n"
          "4 bad model file, 130 interrupted.\n",
          file);
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

int cmd_help(const cli_args *args) {
    if (args->positional_count == 0) {
        cli_print_overview(stdout);
        return EXIT_DONE;
    }
    const cli_verb *verb = cli_verb_find(args->positionals[0]);
    if (!verb)
        return cli_verb_unknown(args->positionals[0]);
    cli_print_verb_help(verb, stdout);
    return EXIT_DONE;
}
