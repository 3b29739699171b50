/* completion.c: completion scripts for bash and zsh, from the tables of verbs, methods and
 * generators. The scripts are self-contained: completing never runs limn.
 *
 * How the value of an option is completed follows from its table entry (kind_of): the words of a
 * choice, method names where help calls the value METHOD, KEY=VALUE for a parameter, nothing for
 * numbers and columns, otherwise file names.
 *
 * bash: three functions made of case lists, which set variables of their caller, and fixed
 * functions that read the line. bash splits words at "=", so the line is joined again first, and
 * the text up to the last "=" is removed from the answers. It works with bash 3.2 and needs no
 * package. zsh: one function per verb, which passes the option table to _arguments. */
#include "cli.h"

#include <string.h>

/* ---- what completes what ---- */

typedef enum kind {
    KIND_FILES,
    KIND_NOTHING,
    KIND_WORDS,
    KIND_METHODS,
    KIND_GENERATORS,
    KIND_VERBS,
    KIND_PARAMS
} kind;

static kind kind_of(const cli_option *option) {
    switch (option->kind) {
    case CLI_CHOICE:
        return KIND_WORDS;
    case CLI_ALIAS:
        return strchr(option->argument, '|') ? KIND_WORDS : KIND_NOTHING;
    case CLI_PARAM:
        return KIND_PARAMS;
    case CLI_TEXT:
        if (strcmp(option->argument, "METHOD") == 0)
            return KIND_METHODS;
        return strncmp(option->argument, "COLUMN", 6) == 0 ? KIND_NOTHING : KIND_FILES;
    case CLI_FLAG:
    case CLI_WHOLE:
    case CLI_REAL:
    case CLI_DELIMITER:
    case CLI_EVERY:
    case CLI_DURATION:
        break;
    }
    return KIND_NOTHING;
}

/* The kind of the positional arguments. */
static kind kind_of_place(const cli_verb *verb) {
    return verb->run == cmd_methods ? KIND_METHODS
           : verb->run == cmd_synth ? KIND_GENERATORS
           : verb->run == cmd_help  ? KIND_VERBS
                                    : KIND_FILES;
}

/* Calls visit for each option of the verb. */
typedef void visit_option(FILE *file, const cli_verb *verb, const cli_option *option);

static void each_option(FILE *file, const cli_verb *verb, visit_option *visit) {
    for (size_t g = 0; g < verb->group_count; g++)
        for (size_t i = 0; i < verb->groups[g]->count; i++)
            visit(file, verb, &verb->groups[g]->options[i]);
}

/* Calls visit for each method ("method") and generator ("synth"). */
typedef void visit_owner(FILE *file, const char *sort, const char *name, const limn_param *params,
                         size_t count);

static void each_owner(FILE *file, visit_owner *visit) {
    for (size_t i = 0; i < limn_method_count(); i++) {
        const limn_method_info *method = limn_method_at(i);
        visit(file, "method", method->name, method->params, method->param_count);
    }
    for (size_t i = 0; i < limn_synth_count(); i++) {
        const limn_synth_info *synth = limn_synth_at(i);
        visit(file, "synth", synth->name, synth->params, synth->param_count);
    }
}

/* ---- shell text ---- */

/* "a|b|c" as "a b c". */
static void put_choices(FILE *file, const char *choices) {
    for (; *choices; choices++)
        fputc(*choices == '|' ? ' ' : *choices, file);
}

/* Whether the table lists words for the value; numbers may have some too, besides "auto". */
static bool has_choices(const limn_param *param) {
    return param->type != LIMN_PARAM_TEXT && param->choices;
}

static bool has_words(const limn_param *param) {
    return has_choices(param) || param->can_be_auto;
}

static void put_param_words(FILE *file, const limn_param *param) {
    if (has_choices(param))
        put_choices(file, param->choices);
    if (param->can_be_auto)
        fputs(has_choices(param) ? " auto" : "auto", file);
}

/* Text for inside single quotes, with a backslash before each character of special. */
static void put_quoted(FILE *file, const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", file);
            continue;
        }
        if (strchr(special, *text))
            fputc('\\', file);
        fputc(*text, file);
    }
}

/* ---- bash ---- */

static void bash_option_names(FILE *file, const cli_verb *verb, const cli_option *option) {
    (void)verb;
    if (option->letter)
        fprintf(file, " -%c", option->letter);
    fprintf(file, " --%s", option->name);
}

static void bash_valued_names(FILE *file, const cli_verb *verb, const cli_option *option) {
    if (option->argument)
        bash_option_names(file, verb, option);
}

static void bash_verbs(FILE *file) {
    static const char *const places[] = {[KIND_FILES] = "files",
                                         [KIND_METHODS] = "methods",
                                         [KIND_GENERATORS] = "generators",
                                         [KIND_VERBS] = "verbs"};
    fputs("# VERB: sets its options, those that take a value, and the kind of its other arguments\n"
          "_limn_verb()\n{\n    case $1 in\n",
          file);
    for (size_t i = 0; i < cli_verb_count; i++) {
        const cli_verb *verb = &cli_verbs[i];
        fprintf(file, "    %s)\n        options='", verb->name);
        each_option(file, verb, bash_option_names);
        fputs("'\n        valued='", file);
        each_option(file, verb, bash_valued_names);
        fprintf(file, " '\n        place=%s most=%zu\n        ;;\n", places[kind_of_place(verb)],
                verb->max_positionals);
    }
    fputs("    *)\n        return 1\n        ;;\n    esac\n}\n\n", file);
}

static void bash_value(FILE *file, const cli_verb *verb, const cli_option *option) {
    kind what = kind_of(option);
    if (!option->argument || what == KIND_FILES)
        return;
    fputs("    ", file);
    if (option->letter)
        fprintf(file, "%s:-%c | ", verb->name, option->letter);
    fprintf(file, "%s:--%s) ", verb->name, option->name);
    if (what == KIND_WORDS) {
        fputs("kind=words words='", file);
        put_choices(file, option->argument);
        fputc('\'', file);
    } else {
        fprintf(file, "kind=%s",
                what == KIND_METHODS  ? "methods"
                : what == KIND_PARAMS ? "params"
                                      : "nothing");
    }
    fputs(" ;;\n", file);
}

static void bash_values(FILE *file) {
    fputs("# VERB OPTION: sets the kind of the option's value\n"
          "_limn_value()\n{\n    kind=files\n    case $1:$2 in\n",
          file);
    for (size_t i = 0; i < cli_verb_count; i++)
        each_option(file, &cli_verbs[i], bash_value);
    fputs("    esac\n}\n\n", file);
}

static void bash_owner(FILE *file, const char *sort, const char *name, const limn_param *params,
                       size_t count) {
    fprintf(file, "    %s:%s:) words='", sort, name);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s%s=", i ? " " : "", params[i].key);
    fputs("' ;;\n", file);
    for (size_t i = 0; i < count; i++) {
        if (!has_words(&params[i]))
            continue;
        fprintf(file, "    %s:%s:%s) words='", sort, name, params[i].key);
        put_param_words(file, &params[i]);
        fputs("' ;;\n", file);
    }
}

static void bash_names(FILE *file) {
    fputs("    methods) words='", file);
    for (size_t i = 0; i < limn_method_count(); i++)
        fprintf(file, "%s%s", i ? " " : "", limn_method_at(i)->name);
    fputs("' ;;\n    generators) words='", file);
    for (size_t i = 0; i < limn_synth_count(); i++)
        fprintf(file, "%s%s", i ? " " : "", limn_synth_at(i)->name);
    fputs("' ;;\n    verbs) words='", file);
    for (size_t i = 0; i < cli_verb_count; i++)
        fprintf(file, "%s%s", i ? " " : "", cli_verbs[i].name);
    fputs("' ;;\n    program) words='", file);
    for (size_t i = 0; i < cli_verb_count; i++)
        fprintf(file, "%s ", cli_verbs[i].name);
    for (const cli_note *note = cli_program_options; note->name; note++)
        fprintf(file, "%s%s", note->name, note[1].name ? " " : "' ;;\n");
}

static void bash_words(FILE *file) {
    fputs("# LIST, or SORT:NAME:KEY: sets the words to choose from; with an empty KEY, the keys\n"
          "_limn_words()\n{\n    words=\n    case $1 in\n",
          file);
    bash_names(file);
    each_owner(file, bash_owner);
    fputs("    esac\n}\n\n", file);
}

/* Joins the words that bash split: sets line, and at, the index of the current word. */
static const char bash_line[] =
    "_limn_line()\n"
    "{\n"
    "    local i word glue=''\n"
    "    line=()\n"
    "    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ ${#line[@]} -gt 0 && ($word == =* || ($glue && $word)) ]]; then\n"
    "            line[${#line[@]}-1]+=$word\n"
    "        else\n"
    "            line+=(\"$word\")\n"
    "        fi\n"
    "        [[ $word == *= ]] && glue=1 || glue=\n"
    "        ((i != COMP_CWORD)) || at=$((${#line[@]} - 1))\n"
    "    done\n"
    "}\n\n";

/* Scans the line for the method or generator and for the role of the current word. */
static const char bash_scan[] =
    "_limn_scan()\n"
    "{\n"
    "    local i word ended='' seen=0\n"
    "    for ((i = 2; i < ${#line[@]}; i++)); do\n"
    "        word=${line[i]}\n"
    "        if [[ $i -lt $at && ! $ended && $word == -- ]]; then\n"
    "            ended=1\n"
    "        elif [[ ! $ended && $valued == *\" $word \"* && $word ]]; then\n"
    "            _limn_value \"$verb\" \"$word\"\n"
    "            [[ $kind != methods ]] || owner=method:${line[i + 1]}\n"
    "            ((i + 1 != at)) || option=$word\n"
    "            ((i == at)) || i=$((i + 1))\n"
    "        elif [[ ! $ended && $word == -?* ]]; then\n"
    "            _limn_value \"$verb\" \"${word%%=*}\"\n"
    "            [[ $kind != methods ]] || owner=method:${word#*=}\n"
    "            [[ $word != -[!-]?* ]] || _limn_value \"$verb\" \"${word:0:2}\"\n"
    "            [[ $word != -[!-]?* || $kind != methods ]] || owner=method:${word:2}\n"
    "        else\n"
    "            [[ $place != generators || $seen -gt 0 ]] || owner=synth:$word\n"
    "            ((seen += 1, i >= at)) || places=$((places + 1))\n"
    "        fi\n"
    "    done\n"
    "    [[ ! $ended ]] || options=\n"
    "}\n\n";

static const char bash_main[] =
    "# KIND PREFIX: answers for the current word, whose first part is PREFIX\n"
    "_limn_answer()\n"
    "{\n"
    "    local kind=$1 prefix=$2 rest cut\n"
    "    rest=${current#\"$prefix\"}\n"
    "    case $kind in\n"
    "    files) return ;;\n"
    "    nothing) words= ;;\n"
    "    params)\n"
    "        if [[ $rest == *=* ]]; then\n"
    "            _limn_words \"$owner:${rest%%=*}\"\n"
    "            prefix=$prefix${rest%%=*}=\n"
    "            rest=${rest#*=}\n"
    "        else\n"
    "            _limn_words \"$owner:\"\n"
    "            compopt -o nospace 2>/dev/null\n"
    "        fi\n"
    "        ;;\n"
    "    words) ;;\n"
    "    *) _limn_words \"$kind\" ;;\n"
    "    esac\n"
    "    # Without an answer bash would offer files.\n"
    "    compopt +o default 2>/dev/null\n"
    "    COMPREPLY=($(compgen -P \"$prefix\" -W \"$words\" -- \"$rest\"))\n"
    "    if [[ $COMP_WORDBREAKS == *=* && $current == *=* ]]; then\n"
    "        cut=${current%\"${current##*=}\"}\n"
    "        COMPREPLY=(\"${COMPREPLY[@]#\"$cut\"}\")\n"
    "    fi\n"
    "}\n\n"
    "_limn()\n"
    "{\n"
    "    local IFS=$' \\t\\n' line at=0 current verb kind=files words='' owner='' option='' "
    "places=0\n"
    "    local options='' valued='' place=files most=0\n"
    "    COMPREPLY=()\n"
    "    _limn_line\n"
    "    current=${line[at]} verb=${line[1]}\n"
    "    if ((at < 2)); then\n"
    "        _limn_answer program ''\n"
    "        return\n"
    "    fi\n"
    "    _limn_verb \"$verb\" || return\n"
    "    _limn_scan\n"
    "    if [[ $option ]]; then\n"
    "        _limn_value \"$verb\" \"$option\"\n"
    "        _limn_answer \"$kind\" ''\n"
    "    elif [[ $options && $current == --*=* ]]; then\n"
    "        _limn_value \"$verb\" \"${current%%=*}\"\n"
    "        _limn_answer \"$kind\" \"${current%%=*}=\"\n"
    "    elif [[ $options && $current == -* ]]; then\n"
    "        words=$options\n"
    "        _limn_answer words ''\n"
    "    elif ((places < most)); then\n"
    "        _limn_answer \"$place\" ''\n"
    "    else\n"
    "        _limn_answer nothing ''\n"
    "    fi\n"
    "}\n\n"
    "complete -o default -F _limn limn\n";

void cli_print_bash(FILE *file) {
    fprintf(file, "# bash completion for limn %s, generated by: limn help --as bash\n\n",
            limn_version());
    bash_verbs(file);
    bash_values(file);
    bash_words(file);
    fputs(bash_line, file);
    fputs(bash_scan, file);
    fputs(bash_main, file);
}

/* ---- zsh ---- */

static void zsh_item(FILE *file, const char *indent, const char *name, const char *text) {
    fprintf(file, "%s'%s:", indent, name);
    put_quoted(file, text, "\\");
    fputs("'\n", file);
}

static void zsh_list_begin(FILE *file, const char *name) {
    fprintf(file, "_limn_%s() {\n    local -a items\n    items=(\n", name);
}

static void zsh_list_end(FILE *file, const char *name, const char *one) {
    fprintf(file, "    )\n    _describe -t %s %s items\n}\n\n", name, one);
}

static void zsh_lists(FILE *file) {
    zsh_list_begin(file, "verbs");
    for (size_t i = 0; i < cli_verb_count; i++)
        zsh_item(file, "        ", cli_verbs[i].name, cli_verbs[i].summary);
    zsh_list_end(file, "verbs", "verb");
    zsh_list_begin(file, "methods");
    for (size_t i = 0; i < limn_method_count(); i++)
        zsh_item(file, "        ", limn_method_at(i)->name, limn_method_at(i)->summary);
    zsh_list_end(file, "methods", "method");
    zsh_list_begin(file, "generators");
    for (size_t i = 0; i < limn_synth_count(); i++)
        zsh_item(file, "        ", limn_synth_at(i)->name, limn_synth_at(i)->summary);
    zsh_list_end(file, "generators", "generator");
}

static void zsh_keys(FILE *file, const char *sort, const char *name, const limn_param *params,
                     size_t count) {
    fprintf(file, "    (%s:%s:) items=(\n", sort, name);
    for (size_t i = 0; i < count; i++)
        zsh_item(file, "        ", params[i].key, params[i].help);
    fputs("    ) ;;\n", file);
    for (size_t i = 0; i < count; i++) {
        if (!has_words(&params[i]))
            continue;
        fprintf(file, "    (%s:%s:%s) items=(", sort, name, params[i].key);
        put_param_words(file, &params[i]);
        fputs(") ;;\n", file);
    }
}

/* The patterns that recognise a method name on the line. */
static void zsh_method_option(FILE *file, const cli_verb *verb, const cli_option *option) {
    (void)verb;
    if (kind_of(option) != KIND_METHODS || !option->argument)
        return;
    fprintf(file,
            "            (--%s) owner=method:$words[i+1] ;;\n"
            "            (--%s=*) owner=method:${words[i]#*=} ;;\n",
            option->name, option->name);
    if (option->letter)
        fprintf(file,
                "            (-%c) owner=method:$words[i+1] ;;\n"
                "            (-%c?*) owner=method:${words[i]#-?} ;;\n",
                option->letter, option->letter);
}

static bool takes_params(const cli_verb *verb) {
    for (size_t g = 0; g < verb->group_count; g++)
        for (size_t i = 0; i < verb->groups[g]->count; i++)
            if (verb->groups[g]->options[i].kind == CLI_PARAM)
                return true;
    return false;
}

static void zsh_find_owner(FILE *file) {
    fputs("# VERB: sets owner to the method or generator that the line names\n"
          "_limn_owner() {\n"
          "    local -i i\n"
          "    for ((i = 2; i <= $#words; i++)); do\n"
          "        case $1 in\n",
          file);
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (!takes_params(&cli_verbs[i]))
            continue;
        fprintf(file, "        (%s) case $words[i] in\n", cli_verbs[i].name);
        each_option(file, &cli_verbs[i], zsh_method_option);
        if (kind_of_place(&cli_verbs[i]) == KIND_GENERATORS)
            for (size_t s = 0; s < limn_synth_count(); s++)
                fprintf(file, "            (%s) owner=synth:%s ;;\n", limn_synth_at(s)->name,
                        limn_synth_at(s)->name);
        fputs("            esac ;;\n", file);
    }
    fputs("        esac\n    done\n}\n\n", file);
}

static void zsh_params(FILE *file) {
    zsh_find_owner(file);
    fputs("# SORT:NAME:KEY: sets items to the values of the key; with an empty KEY, to the keys\n"
          "_limn_items() {\n    case $1 in\n",
          file);
    each_owner(file, zsh_keys);
    fputs("    esac\n}\n\n"
          "# VERB: KEY=VALUE of -p\n"
          "_limn_params() {\n"
          "    local owner key=${PREFIX%%=*}\n"
          "    local -a items\n"
          "    _limn_owner $1\n"
          "    if compset -P '*='; then\n"
          "        _limn_items $owner:$key\n"
          "        _describe -t values value items\n"
          "    else\n"
          "        _limn_items $owner:\n"
          "        _describe -t keys parameter items -S =\n"
          "    fi\n"
          "}\n\n",
          file);
}

static void zsh_action(FILE *file, const cli_verb *verb, const cli_option *option) {
    switch (kind_of(option)) {
    case KIND_WORDS:
        fputc('(', file);
        put_choices(file, option->argument);
        fputc(')', file);
        break;
    case KIND_METHODS:
        fputs("_limn_methods", file);
        break;
    case KIND_PARAMS:
        fprintf(file, "{_limn_params %s}", verb->name);
        break;
    case KIND_FILES:
        fputs("_files", file);
        break;
    case KIND_NOTHING:
    case KIND_GENERATORS:
    case KIND_VERBS:
        fputc(' ', file);
        break;
    }
}

/* '(-m --method)'{-m+,--method=}'[help]:METHOD:_limn_methods' */
static void zsh_option(FILE *file, const cli_verb *verb, const cli_option *option) {
    bool repeats = option->kind == CLI_PARAM;
    fputs(" \\\n        ", file);
    if (option->letter && repeats)
        fputs("'*'", file);
    else if (option->letter)
        fprintf(file, "'(-%c --%s)'", option->letter, option->name);
    if (option->letter)
        fprintf(file, "{-%c%s,--%s%s}'", option->letter, option->argument ? "+" : "", option->name,
                option->argument ? "=" : "");
    else
        fprintf(file, "'%s--%s%s", repeats ? "*" : "", option->name, option->argument ? "=" : "");
    fputc('[', file);
    put_quoted(file, option->help, "[]\\");
    fputc(']', file);
    if (option->argument) {
        fprintf(file, ":%s:", strchr(option->argument, '|') ? option->name : option->argument);
        zsh_action(file, verb, option);
    }
    fputc('\'', file);
}

static void zsh_verb(FILE *file, const cli_verb *verb) {
    static const char *const places[] = {[KIND_FILES] = "file:_files",
                                         [KIND_METHODS] = "method:_limn_methods",
                                         [KIND_GENERATORS] = "generator:_limn_generators",
                                         [KIND_VERBS] = "verb:_limn_verbs"};
    fprintf(file, "_limn_verb_%s() {\n    _arguments -s -S", verb->name);
    each_option(file, verb, zsh_option);
    for (size_t i = 1; i <= verb->max_positionals; i++)
        fprintf(file, " \\\n        '%zu%s:%s'", i, i > verb->min_positionals ? ":" : "",
                places[kind_of_place(verb)]);
    fputs("\n}\n\n", file);
}

void cli_print_zsh(FILE *file) {
    fprintf(file,
            "#compdef limn\n# zsh completion for limn %s, generated by: limn help --as zsh\n\n",
            limn_version());
    zsh_lists(file);
    zsh_params(file);
    for (size_t i = 0; i < cli_verb_count; i++)
        zsh_verb(file, &cli_verbs[i]);
    fputs("_limn() {\n"
          "    local curcontext=$curcontext state line\n"
          "    typeset -A opt_args\n"
          "    _arguments -C",
          file);
    for (const cli_note *note = cli_program_options; note->name; note++)
        fprintf(file, " \\\n        '(- *)%s[%s]'", note->name, note->text);
    fputs(" \\\n        '1:verb:_limn_verbs' '*::argument:->rest' && return\n"
          "    [[ $state != rest ]] || (( ! $+functions[_limn_verb_$line[1]] )) ||\n"
          "        _limn_verb_$line[1]\n"
          "}\n\n"
          "if [[ $funcstack[1] == _limn ]]; then\n    _limn \"$@\"\n"
          "else\n    compdef _limn limn\nfi\n",
          file);
}
