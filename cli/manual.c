/* manual.c: manual pages (roff, man macros) and Markdown, from the tables of verbs, methods and
 * generators.
 *
 * Roff: all text from the tables is escaped. A hyphen is typeset as a hyphen only inside a word of
 * letters ("one-hot"); in options, file names and commands it is a minus that can be copied. Each
 * paragraph is one source line, so that only its first character could be taken for a request.
 * Markdown: GitHub's, with tables. */
#include "cli.h"
#include "methods.h"

#include <ctype.h>
#include <string.h>

enum { VALUES_BYTES = 512, CAPABILITIES_BYTES = 256 };

/* The first character of a sentence as a capital; a variable (the k of "k nearest") stays small. */
static int capital(const char *text) {
    return isalpha((unsigned char)text[1]) || text[1] == '\0' ? toupper((unsigned char)*text)
                                                              : *text;
}

/* ---- roff text ---- */

/* Returns the character at *text and moves *text past it; U+FFFD for bytes that are not UTF-8. */
static unsigned take_character(const char **text) {
    const unsigned char *byte = (const unsigned char *)*text;
    size_t more = *byte < 0xc0 ? 0 : *byte < 0xe0 ? 1 : *byte < 0xf0 ? 2 : 3;
    unsigned code = more == 0 ? *byte : *byte & (0x3fu >> more);
    bool good = *byte < 0x80 || (*byte >= 0xc2 && *byte <= 0xf4);
    (*text)++;
    for (size_t i = 1; good && i <= more; i++, (*text)++) {
        good = (byte[i] & 0xc0) == 0x80;
        if (!good)
            break;
        code = code << 6 | (byte[i] & 0x3fu);
    }
    return good ? code : 0xfffd;
}

static void roff_character(FILE *file, unsigned code) {
    static const char special[] = "\\-'\"`^~";
    static const char *const names[] = {"\\e", "\\-", "\\(aq", "\\(dq", "\\(ga", "\\(ha", "\\(ti"};
    const char *found = code && code < 0x80 ? strchr(special, (int)code) : NULL;
    if (found)
        fputs(names[found - special], file);
    else if (code >= 0x80)
        fprintf(file, "\\[u%04X]", code);
    else
        fputc((int)code, file);
}

/* Literal text, as it would be typed. */
static void roff_literal(FILE *file, const char *text) {
    if (*text == '.')
        fputs("\\&", file);
    while (*text)
        roff_character(file, take_character(&text));
}

/* Whether the word (length bytes) is letters joined by hyphens, ignoring punctuation. */
static bool is_compound(const char *word, size_t length) {
    while (length && strchr(".,;:)", word[length - 1]))
        length--;
    if (length && *word == '(') {
        word++;
        length--;
    }
    for (size_t i = 0; i < length; i++)
        if (!isalpha((unsigned char)word[i]) &&
            (word[i] != '-' || i == 0 || i + 1 == length || word[i - 1] == '-'))
            return false;
    return true;
}

/* As prose. */
static void roff_prose(FILE *file, const char *text) {
    if (*text == '.')
        fputs("\\&", file);
    while (*text) {
        const char *end = text + strcspn(text, " ");
        bool compound = is_compound(text, (size_t)(end - text));
        while (text < end) {
            unsigned code = take_character(&text);
            if (code == '-' && compound)
                fputc('-', file);
            else
                roff_character(file, code);
        }
        if (*text)
            fputc(*text++, file);
    }
}

static void roff_line(FILE *file, const char *text) {
    roff_prose(file, text);
    fputc('\n', file);
}

static void roff_sentence(FILE *file, const char *text) {
    fputc(capital(text), file);
    roff_prose(file, text + 1);
    fputs(".\n", file);
}

/* In bold ('B') or italics ('I'); never hyphenated, because it is typed as it is. */
static void roff_font(FILE *file, char font, const char *text) {
    fprintf(file, "\\f%c\\%%", font);
    roff_literal(file, text);
    fputs("\\fR", file);
}

/* Names of values ("DATA", "KEY=VALUE") in italics, options in bold, brackets as they are. */
static void roff_usage(FILE *file, const char *usage) {
    char part[64];
    while (*usage) {
        size_t upper = strspn(usage, "ABCDEFGHIJKLMNOPQRSTUVWXYZ=_");
        size_t option = *usage == '-' ? strspn(usage, "-abcdefghijklmnopqrstuvwxyz") : 0;
        size_t length = upper ? upper : option ? option : 1;
        snprintf(part, sizeof part, "%.*s", (int)length, usage);
        if (upper || option)
            roff_font(file, upper ? 'I' : 'B', part);
        else
            roff_literal(file, part);
        usage += length;
    }
    fputc('\n', file);
}

/* ---- parts of a manual page ---- */

static void man_head(FILE *file, const char *verb, const char *summary) {
    fputs(".TH LIMN", file);
    for (const char *c = verb; c && *c; c++)
        fprintf(file, "%s%c", c == verb ? "\\-" : "", toupper((unsigned char)*c));
    fprintf(file, " 1 \"\" \"limn %s\" \"limn manual\"\n.ad l\n.SH NAME\nlimn", limn_version());
    if (verb)
        fprintf(file, "\\-%s", verb);
    fputs(" \\- ", file);
    roff_line(file, summary);
}

static void man_examples(FILE *file, const char *const *examples) {
    fputs(".SH EXAMPLES\n.EX\n", file);
    for (; *examples; examples++) {
        roff_literal(file, *examples);
        fputc('\n', file);
    }
    fputs(".EE\n", file);
}

static void man_option(FILE *file, const cli_option *option) {
    char name[64];
    fputs(".TP\n", file);
    if (option->letter) {
        snprintf(name, sizeof name, "-%c", option->letter);
        roff_font(file, 'B', name);
        fputs(", ", file);
    }
    snprintf(name, sizeof name, "--%s", option->name);
    roff_font(file, 'B', name);
    if (option->argument) {
        fputc(' ', file);
        roff_font(file, option->kind == CLI_CHOICE ? 'B' : 'I', option->argument);
    }
    fputc('\n', file);
    roff_line(file, option->help);
}

static void man_options(FILE *file, const cli_verb *verb) {
    fputs(".SH OPTIONS\n", file);
    for (size_t g = 0; g < verb->group_count; g++) {
        const cli_group *group = verb->groups[g];
        if (strcmp(group->title, "Options") != 0) {
            fputs(".SS ", file);
            roff_line(file, group->title);
        }
        for (size_t i = 0; i < group->count; i++)
            man_option(file, &group->options[i]);
    }
}

static void man_notes(FILE *file, const char *title, const cli_note *note) {
    fprintf(file, ".SH %s\n", title);
    for (; note->name; note++) {
        fputs(".TP\n", file);
        roff_font(file, 'B', note->name);
        fputc('\n', file);
        roff_line(file, note->text);
    }
}

/* verb NULL: the page of the whole program. */
static void man_reference(FILE *file, const char *verb) {
    char name[64];
    snprintf(name, sizeof name, "limn%s%s", verb ? "-" : "", verb ? verb : "");
    roff_font(file, 'B', name);
    fputs("(1)", file);
}

static void man_see_also(FILE *file, const cli_verb *self) {
    const char *before = "";
    fputs(".SH SEE ALSO\n", file);
    if (self) {
        man_reference(file, NULL);
        before = ",\n";
    }
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (&cli_verbs[i] == self)
            continue;
        fputs(before, file);
        man_reference(file, cli_verbs[i].name);
        before = ",\n";
    }
    fputc('\n', file);
}

static void man_params(FILE *file, const limn_param *params, size_t count) {
    char values[VALUES_BYTES];
    if (count == 0)
        fputs(".PP\nIt has no parameters.\n", file);
    for (size_t i = 0; i < count; i++) {
        fputs(".TP\n", file);
        roff_font(file, 'B', params[i].key);
        fputc('=', file);
        roff_literal(file, params[i].default_value);
        fputc('\n', file);
        roff_prose(file, params[i].help);
        fputs(" (", file);
        roff_prose(file, cli_param_values(&params[i], values, sizeof values));
        fputs(")\n", file);
    }
}

static void man_entry(FILE *file, const char *name, const char *summary, const char *paper) {
    fputs(".SS ", file);
    roff_literal(file, name);
    fputc('\n', file);
    roff_sentence(file, summary);
    if (paper) {
        fputs("From: ", file);
        roff_prose(file, paper);
        fputs(".\n", file);
    }
}

static void man_methods(FILE *file) {
    char can[CAPABILITIES_BYTES];
    fputs(".SH METHODS\nEach parameter is shown with its default.\n", file);
    for (size_t i = 0; i < limn_method_count(); i++) {
        const limn_method_info *method = limn_method_at(i);
        man_entry(file, method->name, method->summary, method->paper);
        fputs("Can: ", file);
        roff_prose(file,
                   cli_text_capabilities(limn_method_capabilities(method->name), can, sizeof can));
        fprintf(file, ".\nScaling by default: %s.\n",
                cli_text_default_scale(method->default_scale));
        if (method->default_teacher)
            fprintf(file, "Teacher by default: %s.\n", method->default_teacher);
        man_params(file, method->params, method->param_count);
    }
}

static void man_generators(FILE *file) {
    fputs(".SH GENERATORS\nEach parameter is shown with its default.\n", file);
    for (size_t i = 0; i < limn_synth_count(); i++) {
        const limn_synth_info *synth = limn_synth_at(i);
        man_entry(file, synth->name, synth->summary, synth->paper);
        fprintf(file, "Task: %s.\n", limn_task_name(synth->task));
        man_params(file, synth->params, synth->param_count);
    }
}

/* ---- manual pages ---- */

static void man_program(FILE *file) {
    man_head(file, NULL, cli_tagline);
    fputs(".SH SYNOPSIS\n\\fBlimn\\fR \\fIVERB\\fR [arguments]\n", file);
    man_examples(file, cli_first_examples);
    fputs(".SH DESCRIPTION\nThe verb says what to do:\n", file);
    for (size_t i = 0; i < cli_verb_count; i++) {
        fputs(".TP\n", file);
        man_reference(file, cli_verbs[i].name);
        fputc('\n', file);
        roff_line(file, cli_verbs[i].summary);
    }
    man_notes(file, "OPTIONS", cli_program_options);
}

static void man_verb(const cli_verb *verb, FILE *file) {
    man_head(file, verb->name, verb->summary);
    fprintf(file, ".SH SYNOPSIS\n\\fBlimn %s\\fR ", verb->name);
    roff_usage(file, verb->usage);
    man_examples(file, verb->examples);
    fputs(".SH DESCRIPTION\n", file);
    roff_sentence(file, verb->summary);
    if (verb->details) {
        fputs(".PP\n", file);
        roff_line(file, verb->details);
    }
    man_options(file, verb);
    if (verb->run == cmd_methods)
        man_methods(file);
    if (verb->run == cmd_synth)
        man_generators(file);
}

void cli_print_man(const cli_verb *verb, FILE *file) {
    fputs(".\\\" Generated by limn help --as man.\n", file);
    if (verb)
        man_verb(verb, file);
    else
        man_program(file);
    man_notes(file, "EXIT STATUS", cli_exit_codes);
    man_notes(file, "ENVIRONMENT", cli_environment);
    man_see_also(file, verb);
}

/* ---- Markdown ---- */

/* As prose in a table cell. */
static void md_prose(FILE *file, const char *text) {
    for (; *text; text++) {
        if (strchr("\\*|<`[", *text))
            fputc('\\', file);
        fputc(*text, file);
    }
}

/* As code in a table cell, where a bar must be escaped even in code. */
static void md_code(FILE *file, const char *text) {
    fputc('`', file);
    for (; *text; text++)
        fprintf(file, "%s%c", *text == '|' ? "\\" : "", *text);
    fputc('`', file);
}

static void md_sentence(FILE *file, const char *text) {
    fputc(capital(text), file);
    md_prose(file, text + 1);
    fputs(".\n", file);
}

static void md_option(FILE *file, const cli_option *option) {
    char text[128];
    fputs("| ", file);
    if (option->letter)
        fprintf(file, "`-%c`, ", option->letter);
    snprintf(text, sizeof text, "--%s%s%s", option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    md_code(file, text);
    fputs(" | ", file);
    md_prose(file, option->help);
    fputs(" |\n", file);
}

static void md_options(FILE *file, const cli_verb *verb) {
    for (size_t g = 0; g < verb->group_count; g++) {
        const cli_group *group = verb->groups[g];
        fprintf(file, "\n| %s | |\n|---|---|\n", group->title);
        for (size_t i = 0; i < group->count; i++)
            md_option(file, &group->options[i]);
    }
}

static void md_params(FILE *file, const limn_param *params, size_t count) {
    char values[VALUES_BYTES];
    if (count == 0) {
        fputs("It has no parameters.\n", file);
        return;
    }
    fputs("| key | default | values | meaning |\n|---|---|---|---|\n", file);
    for (size_t i = 0; i < count; i++) {
        fputs("| ", file);
        md_code(file, params[i].key);
        fputs(" | ", file);
        md_prose(file, params[i].default_value);
        fputs(" | ", file);
        md_prose(file, cli_param_values(&params[i], values, sizeof values));
        fputs(" | ", file);
        md_prose(file, params[i].help);
        fputs(" |\n", file);
    }
}

void cli_print_markdown_method(const limn_method_info *method, FILE *file) {
    char can[CAPABILITIES_BYTES];
    md_params(file, method->params, method->param_count);
    fprintf(file, "\nCan: %s. Scaling by default: %s.",
            cli_text_capabilities(limn_method_capabilities(method->name), can, sizeof can),
            cli_text_default_scale(method->default_scale));
    if (method->default_teacher)
        fprintf(file, " Teacher by default: %s.", method->default_teacher);
    fputs("\n", file);
}

void cli_print_markdown_synth(const limn_synth_info *synth, FILE *file) {
    md_params(file, synth->params, synth->param_count);
    fprintf(file, "\nTask: %s.\n", limn_task_name(synth->task));
}

static void md_methods(FILE *file) {
    char can[CAPABILITIES_BYTES];
    fputs("\n| method | what it is | can |\n|---|---|---|\n", file);
    for (size_t i = 0; i < limn_method_count(); i++) {
        const limn_method_info *method = limn_method_at(i);
        fprintf(file, "| [`%s`](methods/%s.md) | ", method->name, method->name);
        md_prose(file, method->summary);
        fprintf(file, " | %s |\n",
                cli_text_capabilities(limn_method_capabilities(method->name), can, sizeof can));
    }
}

static void md_generators(FILE *file) {
    for (size_t i = 0; i < limn_synth_count(); i++) {
        const limn_synth_info *synth = limn_synth_at(i);
        fprintf(file, "\n### limn synth %s\n\n", synth->name);
        md_sentence(file, synth->summary);
        if (synth->paper) {
            fputs("From: ", file);
            md_prose(file, synth->paper);
            fputs(".\n", file);
        }
        fputc('\n', file);
        cli_print_markdown_synth(synth, file);
    }
}

static void md_verb(const cli_verb *verb, FILE *file) {
    fprintf(file, "## limn %s\n\n", verb->name);
    md_sentence(file, verb->summary);
    fprintf(file, "\n```text\nlimn %s %s\n```\n", verb->name, verb->usage);
    if (verb->details) {
        fputc('\n', file);
        md_prose(file, verb->details);
        fputc('\n', file);
    }
    fputs("\n```console\n", file);
    for (const char *const *example = verb->examples; *example; example++)
        fprintf(file, "$ %s\n", *example);
    fputs("```\n", file);
    md_options(file, verb);
    if (verb->run == cmd_methods)
        md_methods(file);
    if (verb->run == cmd_synth)
        md_generators(file);
}

static void md_notes(FILE *file, const char *title, const cli_note *note) {
    fprintf(file, "\n## %s\n\n| | |\n|---|---|\n", title);
    for (; note->name; note++) {
        fprintf(file, "| `%s` | ", note->name);
        md_prose(file, note->text);
        fputs(" |\n", file);
    }
}

void cli_print_markdown(const cli_verb *verb, FILE *file) {
    if (verb) {
        md_verb(verb, file);
        return;
    }
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (i)
            fputc('\n', file);
        md_verb(&cli_verbs[i], file);
    }
    md_notes(file, "Exit codes", cli_exit_codes);
    md_notes(file, "Environment", cli_environment);
}
