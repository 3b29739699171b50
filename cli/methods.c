/* methods.c: checks -m and -p against the method tables and suggests corrections. */
#include "methods.h"

#include <string.h>

const limn_method_info *cli_method_find(const char *name) {
    enum { MOST = 64 };
    const char *names[MOST];
    const limn_method_info *method = limn_method_find(name);
    size_t count = 0;
    if (method)
        return method;
    for (; count < MOST && count < limn_method_count(); count++)
        names[count] = limn_method_at(count)->name;
    const char *nearest = cli_nearest(name, names, count);
    if (nearest)
        cli_fail(EXIT_USAGE, "there is no method %s; did you mean %s?", name, nearest);
    else
        cli_fail(EXIT_USAGE, "there is no method %s; limn methods lists them", name);
    return NULL;
}

static int unknown_key(const limn_method_info *method, const char *key) {
    enum { MOST = 64 };
    const char *keys[MOST];
    size_t count = 0;
    for (; count < MOST && count < method->param_count; count++)
        keys[count] = method->params[count].key;
    const char *nearest = cli_nearest(key, keys, count);
    if (nearest)
        return cli_fail(EXIT_USAGE, "method %s has no parameter %s; did you mean %s?", method->name,
                        key, nearest);
    return cli_fail(EXIT_USAGE, "method %s has no parameter %s; limn methods %s lists them",
                    method->name, key, method->name);
}

const char *cli_param_values(const limn_param *param, char *text, size_t size) {
    char low[CLI_NUMBER_BYTES], high[CLI_NUMBER_BYTES];
    const char *or_auto = param->can_be_auto ? " or auto" : "";
    if (param->type == LIMN_PARAM_CHOICE)
        snprintf(text, size, "one of %s%s", param->choices, or_auto);
    else if (param->type == LIMN_PARAM_TEXT)
        snprintf(text, size, "%s%s", param->choices, or_auto);
    else
        snprintf(text, size, "a %s %s %s %s %s%s%s%s",
                 param->type == LIMN_PARAM_INT ? "whole number" : "number",
                 param->above_min ? "above" : "from", cli_text_double(param->min, low),
                 param->above_min ? "and at most" : "to", cli_text_double(param->max, high),
                 param->choices ? " or one of " : "", param->choices ? param->choices : "",
                 or_auto);
    return text;
}

int cli_check_keys(const limn_method_info *method, const cli_args *args) {
    for (size_t i = 0; i < args->param_count; i++) {
        char key[64];
        size_t length = strcspn(args->params[i], "="), known = 0;
        if (args->params[i][length] != '=' || length == 0)
            return cli_fail(EXIT_USAGE, "-p %s: expected KEY=VALUE; limn methods %s lists the keys",
                            args->params[i], method->name);
        snprintf(key, sizeof key, "%.*s", (int)(length < 60 ? length : 60), args->params[i]);
        while (known < method->param_count && strcmp(method->params[known].key, key) != 0)
            known++;
        if (known == method->param_count)
            return unknown_key(method, key);
    }
    return EXIT_DONE;
}
