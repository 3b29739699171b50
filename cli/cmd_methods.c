/* cmd_methods.c: limn methods [METHOD]: lists the methods with their capabilities, or the
 * parameters of one. */
#include "cli.h"
#include "methods.h"

#include <string.h>

/* ---- text ---- */

static void print_list(void) {
    char can[256];
    for (size_t i = 0; i < limn_method_count(); i++) {
        const limn_method_info *method = limn_method_at(i);
        printf("%-12s", method->name);
        cli_wrap(stdout, 12, 12, method->summary);
        printf("%12scan: ", "");
        cli_wrap(stdout, 17, 17,
                 cli_text_capabilities(limn_method_capabilities(method->name), can, sizeof can));
    }
    printf("\nlimn methods METHOD lists the parameters of a method.\n");
}

static void print_param(const limn_param *param) {
    char values[256];
    printf("  %s=%s\n      ", param->key, param->default_value);
    cli_wrap(stdout, 6, 6, param->help);
    printf("      ");
    cli_wrap(stdout, 6, 6, cli_param_values(param, values, sizeof values));
}

static void print_method(const limn_method_info *method) {
    char can[256];
    printf("%s: ", method->name);
    cli_wrap(stdout, strlen(method->name) + 2, 2, method->summary);
    if (method->paper) {
        printf("  from:    ");
        cli_wrap(stdout, 11, 11, method->paper);
    }
    printf("  can:     ");
    cli_wrap(stdout, 11, 11,
             cli_text_capabilities(limn_method_capabilities(method->name), can, sizeof can));
    printf("  scaling: %s unless --scale says otherwise\n",
           cli_text_default_scale(method->default_scale));
    if (method->default_teacher)
        printf("  teacher: %s unless --teacher names another\n", method->default_teacher);
    printf("\n%s\n", method->param_count ? "Parameters, with their defaults (-p KEY=VALUE):"
                                         : "It has no parameters.");
    for (size_t i = 0; i < method->param_count; i++)
        print_param(&method->params[i]);
}

/* ---- JSON ---- */

static json_t *param_json(const limn_param *param) {
    static const char *const types[] = {"int", "real", "choice", "text"};
    bool words = param->type == LIMN_PARAM_CHOICE || param->type == LIMN_PARAM_TEXT;
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:b, s:o}", "key", cli_json_text(param->key),
                     "type", types[param->type], "default", cli_json_text(param->default_value),
                     "min", words ? json_null() : cli_json_real(param->min), "max",
                     words ? json_null() : cli_json_real(param->max), "choices",
                     cli_json_text(param->type == LIMN_PARAM_TEXT ? NULL : param->choices), "auto",
                     param->can_be_auto ? 1 : 0, "help", cli_json_text(param->help));
}

static json_t *method_json(const limn_method_info *method) {
    json_t *params = json_array();
    for (size_t i = 0; i < method->param_count; i++)
        json_array_append_new(params, param_json(&method->params[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", cli_json_text(method->name),
                     "summary", cli_json_text(method->summary), "paper",
                     cli_json_text(method->paper), "capabilities",
                     cli_json_capabilities(limn_method_capabilities(method->name)), "default_scale",
                     cli_json_text(limn_scale_name(method->default_scale)), "default_teacher",
                     cli_json_text(method->default_teacher), "params", params);
}

static json_t *list_json(void) {
    json_t *list = json_array();
    for (size_t i = 0; i < limn_method_count(); i++)
        json_array_append_new(list, method_json(limn_method_at(i)));
    return json_pack("{s:o}", "methods", list);
}

int cmd_methods(const cli_args *args) {
    if (args->positional_count == 0) {
        if (args->json)
            return cli_json_print(list_json(), stdout);
        print_list();
        return EXIT_DONE;
    }
    const limn_method_info *method = cli_method_find(args->positionals[0]);
    if (!method)
        return EXIT_USAGE;
    if (args->json)
        return cli_json_print(method_json(method), stdout);
    print_method(method);
    return EXIT_DONE;
}
