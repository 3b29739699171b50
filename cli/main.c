/* main.c: the limn command: finds the verb, parses its arguments, runs it. */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int run_verb(const cli_verb *verb, int argc, char **argv) {
    cli_args args;
    int code = cli_parse(verb, argc, argv, &args);
    if (code == EXIT_DONE) {
        if (args.help)
            cli_print_verb_help(verb, stdout);
        else
            code = verb->run(&args);
    }
    cli_args_free(&args);
    return code;
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        cli_print_overview(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        cli_print_overview(stdout);
        return EXIT_DONE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("limn %s\n", limn_version());
        return EXIT_DONE;
    }
    const cli_verb *verb = cli_verb_find(word);
    return verb ? run_verb(verb, argc - 2, argv + 2) : cli_verb_unknown(word);
}

/* Flushing what stdio still buffers may fail, and the exit code must say so. */
static int finish_stdout(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno == EPIPE)
        return EXIT_PIPE_CLOSED;
    return code ? code
                : cli_fail(EXIT_FAILED, "standard output: cannot write: %s", strerror(errno));
}

int main(int argc, char **argv) {
    /* A closed pipe or a limit on file sizes must not kill a command that still has files to
     * clean up: the write fails instead. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    cli_catch_interrupts();
    int code = finish_stdout(run(argc, argv));
    if (code == EXIT_PIPE_CLOSED) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return code;
}
