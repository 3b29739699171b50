/* options.c: parses the arguments of a verb using its option tables.
 *
 * Accepted: --name value, --name=value, -n value, -nvalue, combined flags (-qh), options and
 * positionals in any order; "--" ends the options, "-" alone is a positional. A repeated option
 * replaces its earlier value, except -p, whose values are collected. The svm-train options
 * (-c -g -t ...) are translated to -p with limn's parameter names. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const cli_verb *verb;
    int argc, next;
    char **argv;
    cli_args *args;
} parser;

static const cli_option *option_at(const cli_verb *verb, size_t index) {
    for (size_t g = 0; g < verb->group_count; g++) {
        if (index < verb->groups[g]->count)
            return &verb->groups[g]->options[index];
        index -= verb->groups[g]->count;
    }
    return NULL;
}

static const cli_option *find_long(const cli_verb *verb, const char *name, size_t length) {
    const cli_option *option;
    for (size_t i = 0; (option = option_at(verb, i)); i++)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const cli_option *find_short(const cli_verb *verb, char letter) {
    const cli_option *option;
    for (size_t i = 0; (option = option_at(verb, i)); i++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static int unknown_option(const cli_verb *verb, const char *shown, const char *name) {
    enum { MOST = 64 };
    const char *names[MOST];
    const cli_option *option;
    size_t count = 0;
    while (count < MOST && (option = option_at(verb, count)))
        names[count++] = option->name;
    const char *nearest = cli_nearest(name, names, count);
    if (nearest)
        return cli_fail(EXIT_USAGE, "limn %s has no option %s; did you mean --%s?", verb->name,
                        shown, nearest);
    return cli_fail(EXIT_USAGE, "limn %s has no option %s; limn %s --help lists its options",
                    verb->name, shown, verb->name);
}

/* ---- values ---- */

static int bad_value(const cli_option *option, const char *value, const char *wanted) {
    return cli_fail(EXIT_USAGE, "--%s %s: expected %s", option->name, value, wanted);
}

static int set_whole(const cli_option *option, const char *value, void *field) {
    char *end = NULL, wanted[96];
    errno = 0;
    unsigned long long whole = strtoull(value, &end, 10);
    if (isdigit((unsigned char)*value) && !*end && !errno && (double)whole >= option->min &&
        (double)whole <= option->max) {
        *(uint64_t *)field = whole;
        return EXIT_DONE;
    }
    snprintf(wanted, sizeof wanted, "a whole number from %.0f to %.0f", option->min, option->max);
    return bad_value(option, value, wanted);
}

static int set_real(const cli_option *option, const char *value, void *field) {
    char *end = NULL, wanted[96];
    double real = strtod(value, &end);
    if (*value && !*end && real > option->min && real <= option->max) {
        *(double *)field = real;
        return EXIT_DONE;
    }
    if (option->min < 0 && option->min > -1e-100)
        snprintf(wanted, sizeof wanted, "a number from 0 to %g", option->max);
    else
        snprintf(wanted, sizeof wanted, "a number above %g and at most %g", option->min,
                 option->max);
    return bad_value(option, value, wanted);
}

static int set_choice(const cli_option *option, const char *value, void *field) {
    int place = cli_choice(option->argument, value);
    if (place >= 0) {
        *(int *)field = place;
        return EXIT_DONE;
    }
    char wanted[96];
    snprintf(wanted, sizeof wanted, "one of %s", option->argument);
    return bad_value(option, value, wanted);
}

static int set_delimiter(const cli_option *option, const char *value, void *field) {
    char delimiter = value[0];
    if (strcmp(value, "\\t") == 0 || strcmp(value, "tab") == 0)
        delimiter = '\t';
    else if (strlen(value) != 1 || isalnum((unsigned char)*value) || strchr("\"\r\n.+-", *value) ||
             (unsigned char)*value >= 0x80)
        return bad_value(option, value, "one character that cannot be part of a number, or tab");
    *(char *)field = delimiter;
    return EXIT_DONE;
}

static int set_every(const cli_option *option, const char *value, void *field) {
    char *end = NULL;
    errno = 0;
    unsigned long long whole = isdigit((unsigned char)*value) ? strtoull(value, &end, 10) : 0;
    bool seconds = end && end[0] == 's' && !end[1];
    if (whole < 1 || errno || whole > (seconds ? 1000000000ULL : 1000000000000000ULL) ||
        (*end && !seconds))
        return bad_value(option, value, "a number of rows such as 1000, or of seconds such as 30s");
    *(cli_every *)field = seconds ? (cli_every){.seconds = whole} : (cli_every){.rows = whole};
    return EXIT_DONE;
}

static int set_duration(const cli_option *option, const char *value, void *field) {
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
    bool plain = option->min >= 1;
    char *end = NULL;
    double number = isdigit((unsigned char)*value) || *value == '.' ? strtod(value, &end) : 0;
    double unit = end && !*end && plain ? 1 : 0;
    for (size_t i = 0; end && i < CLI_COUNT(units); i++)
        if (strcmp(end, units[i].unit) == 0)
            unit = units[i].seconds;
    number *= unit;
    if (!(number >= option->min && number <= option->max))
        return bad_value(option, value,
                         plain ? "a time such as 90s, 5m or 2h, at least 1s"
                               : "a time such as 500ns, 20us or 1ms");
    *(double *)field = number;
    return EXIT_DONE;
}

static int set(const cli_option *option, const char *value, cli_args *args) {
    void *field = (char *)args + option->offset;
    switch (option->kind) {
    case CLI_FLAG:
        *(int *)field = 1;
        return EXIT_DONE;
    case CLI_TEXT:
        *(const char **)field = value;
        return *value ? EXIT_DONE : bad_value(option, "\"\"", "a value that is not empty");
    case CLI_PARAM:
        args->params[args->param_count++] = value;
        return EXIT_DONE;
    case CLI_ALIAS:
        return EXIT_FAILED; /* handled by add_alias */
    case CLI_WHOLE:
        return set_whole(option, value, field);
    case CLI_REAL:
        return set_real(option, value, field);
    case CLI_CHOICE:
        return set_choice(option, value, field);
    case CLI_DELIMITER:
        return set_delimiter(option, value, field);
    case CLI_EVERY:
        return set_every(option, value, field);
    case CLI_DURATION:
        return set_duration(option, value, field);
    }
    return EXIT_FAILED;
}

/* ---- arguments ---- */

static int missing_value(const cli_option *option) {
    return cli_fail(EXIT_USAGE, "--%s needs a value: --%s %s", option->name, option->name,
                    option->argument);
}

/* ---- aliases: svm-train options ---- */

static int keep_alias(cli_args *args, const char *key, const char *value) {
    size_t size = strlen(key) + strlen(value) + 2;
    if (args->alias_count == CLI_MAX_ALIASES)
        return cli_fail(EXIT_USAGE, "too many svm-train options; use -p %s=...", key);
    char *text = malloc(size);
    if (!text)
        return cli_fail(EXIT_FAILED, "out of memory");
    snprintf(text, size, "%s=%s", key, value);
    args->alias_text[args->alias_count++] = text;
    args->params[args->param_count++] = text;
    return EXIT_DONE;
}

/* -w1 2 -w2 3 become class_weight=1:2,2:3: each new list replaces the one before. */
static int keep_weight(cli_args *args, const char *label, const char *weight) {
    const char *before = NULL;
    for (size_t i = 0; i < args->param_count; i++)
        if (strncmp(args->params[i], "class_weight=", 13) == 0)
            before = args->params[i] + 13;
    char *list = malloc((before ? strlen(before) : 0) + strlen(label) + strlen(weight) + 3);
    if (!list)
        return cli_fail(EXIT_FAILED, "out of memory");
    sprintf(list, "%s%s%s:%s", before ? before : "", before ? "," : "", label, weight);
    int code = keep_alias(args, "class_weight", list);
    free(list);
    return code;
}

static const char *next_word(parser *p) {
    return p->next < p->argc ? p->argv[p->next++] : NULL;
}

/* attached: the text directly after the letter, or NULL. */
static int add_alias(parser *p, const cli_option *option, const char *attached) {
    static const char *const types[] = {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"};
    static const char *const kernels[] = {"linear", "poly", "rbf", "sigmoid"};
    static const char *const yes_no[] = {"no", "yes"};
    static const struct {
        char letter;
        const char *key;
        const char *const *names; /* of the values 0, 1, ...; NULL: the value is used as it is */
        size_t count;
    } keys[] = {
        {'s', "type", types, 5},        {'t', "kernel", kernels, 4}, {'c', "C", NULL, 0},
        {'g', "gamma", NULL, 0},        {'d', "degree", NULL, 0},    {'r', "coef0", NULL, 0},
        {'b', "probability", yes_no, 2}};
    const char *value = attached ? attached : next_word(p);
    if (!value || !*value)
        return missing_value(option);
    if (option->letter == 'w') { /* -w1 2, as in svm-train, or --svm-weight 1=2 */
        char label[64];
        const char *weight = strrchr(value, '=');
        snprintf(label, sizeof label, "%.*s", weight ? (int)(weight - value) : 60, value);
        weight = weight ? weight + 1 : next_word(p);
        return weight ? keep_weight(p->args, label, weight) : missing_value(option);
    }
    size_t k = 0;
    while (keys[k].letter != option->letter)
        k++;
    if (!keys[k].names)
        return keep_alias(p->args, keys[k].key, value);
    size_t number = (size_t)(value[0] - '0');
    if (value[1] || value[0] < '0' || number >= keys[k].count)
        return bad_value(option, value, option->argument);
    return keep_alias(p->args, keys[k].key, keys[k].names[number]);
}

static int parse_long(parser *p, const char *word) {
    char shown[64];
    const char *name = word + 2, *value = strchr(name, '=');
    size_t length = value ? (size_t)(value - name) : strlen(name);
    const cli_option *option = find_long(p->verb, name, length);
    if (!option) {
        snprintf(shown, sizeof shown, "--%.*s", (int)(length < 50 ? length : 50), name);
        return unknown_option(p->verb, shown, shown + 2);
    }
    if (!option->argument)
        return value ? cli_fail(EXIT_USAGE, "--%s takes no value", option->name)
                     : set(option, NULL, p->args);
    if (option->kind == CLI_ALIAS)
        return add_alias(p, option, value ? value + 1 : NULL);
    if (value)
        return set(option, value + 1, p->args);
    if (p->next >= p->argc)
        return missing_value(option);
    return set(option, p->argv[p->next++], p->args);
}

static int parse_short(parser *p, const char *word) {
    for (const char *letter = word + 1; *letter; letter++) {
        const cli_option *option = find_short(p->verb, *letter);
        if (!option) {
            char shown[64];
            snprintf(shown, sizeof shown, "%.50s", word);
            return unknown_option(p->verb, shown, shown + 1);
        }
        if (option->kind == CLI_ALIAS)
            return add_alias(p, option, letter[1] ? letter + 1 : NULL);
        if (option->argument) {
            if (letter[1])
                return set(option, letter + 1, p->args);
            if (p->next >= p->argc)
                return missing_value(option);
            return set(option, p->argv[p->next++], p->args);
        }
        set(option, NULL, p->args);
    }
    return EXIT_DONE;
}

static int add_positional(parser *p, const char *word) {
    cli_args *args = p->args;
    if (args->positional_count >= p->verb->max_positionals)
        return cli_fail(EXIT_USAGE, "unexpected argument %s; usage: limn %s %s", word,
                        p->verb->name, p->verb->usage);
    args->positionals[args->positional_count++] = word;
    return EXIT_DONE;
}

static int parse_words(parser *p) {
    bool options_ended = false;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && p->next < p->argc && !p->args->help) {
        const char *word = p->argv[p->next++];
        if (options_ended || word[0] != '-' || !word[1])
            code = add_positional(p, word);
        else if (strcmp(word, "--") == 0)
            options_ended = true;
        else
            code = word[1] == '-' ? parse_long(p, word) : parse_short(p, word);
    }
    return code;
}

int cli_parse(const cli_verb *verb, int argc, char **argv, cli_args *args) {
    *args = (cli_args){
        .seed = 1, .threads = verb->default_threads, .subsample_rule = -1, .max_loss = -1};
    /* Each -p or alias takes at least one word, so there are never more than argc. */
    args->params = calloc((size_t)argc + 1, sizeof *args->params);
    if (!args->params)
        return cli_fail(EXIT_FAILED, "out of memory");
    parser p = {.verb = verb, .argc = argc, .argv = argv, .args = args};
    int code = parse_words(&p);
    if (code != EXIT_DONE || args->help)
        return code;
    if (args->positional_count < verb->min_positionals)
        return cli_fail(EXIT_USAGE, "an argument is missing; usage: limn %s %s", verb->name,
                        verb->usage);
    if (args->label && args->no_label)
        return cli_fail(EXIT_USAGE,
                        "--label and --no-label cannot be used together; give one of them");
    return EXIT_DONE;
}

void cli_args_free(cli_args *args) {
    for (size_t i = 0; i < args->alias_count; i++)
        free(args->alias_text[i]);
    free(args->params);
    args->params = NULL;
}
