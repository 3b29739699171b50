/* json.c: helpers around jansson for the output of --json. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *cli_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* Every byte outside ASCII as U+FFFD. */
static json_t *replaced(const char *text) {
    char *copy = malloc(3 * strlen(text) + 1);
    if (!copy)
        return NULL;
    char *to = copy;
    for (; *text; text++) {
        if ((unsigned char)*text < 0x80)
            *to++ = *text;
        else
            to = stpcpy(to, "\xef\xbf\xbd");
    }
    *to = '\0';
    json_t *value = json_string(copy);
    free(copy);
    return value;
}

json_t *cli_json_text(const char *text) {
    if (!text)
        return json_null();
    json_t *value = json_string(text);
    return value ? value : replaced(text);
}

static const limn_param *find_param(const limn_method_info *method, const char *key) {
    for (size_t i = 0; method && i < method->param_count; i++)
        if (strcmp(method->params[i].key, key) == 0)
            return &method->params[i];
    return NULL;
}

/* Numbers as numbers; choices, texts, "auto" and parameters unknown to this version as text. */
static json_t *param_value(const limn_param *param, const char *text) {
    char *end = NULL;
    if (param && param->type == LIMN_PARAM_INT) {
        long long whole = strtoll(text, &end, 10);
        if (*text && !*end)
            return json_integer(whole);
    }
    if (param && param->type != LIMN_PARAM_CHOICE && param->type != LIMN_PARAM_TEXT) {
        double real = strtod(text, &end);
        if (*text && !*end && isfinite(real))
            return json_real(real);
    }
    return cli_json_text(text);
}

json_t *cli_json_params(const limn_model *model) {
    limn_model_info info;
    limn_model_info_init(&info);
    limn_model_describe(model, &info);
    const limn_method_info *method = limn_method_find(info.method);
    json_t *object = json_object();
    for (size_t i = 0; i < info.param_count; i++) {
        const char *key = NULL, *value = limn_model_param(model, i, &key);
        if (value && key)
            json_object_set_new(object, key, param_value(find_param(method, key), value));
    }
    return object;
}

json_t *cli_json_capabilities(unsigned bits) {
    json_t *list = json_array();
    for (unsigned shift = 0; shift < 32; shift++) {
        const char *name = bits & (1u << shift) ? limn_capability_name(1u << shift) : NULL;
        if (name)
            json_array_append_new(list, json_string(name));
    }
    return list;
}

int cli_json_print(json_t *object, FILE *file) {
    if (!object)
        return cli_fail(EXIT_FAILED, "out of memory");
    /* A failed write is noticed by the final flush in main. */
    (void)json_dumpf(object, file, JSON_REAL_PRECISION(15));
    fputc('\n', file);
    json_decref(object);
    return EXIT_DONE;
}
