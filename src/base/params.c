/* params.c: parsing and range checks of parameters, all driven by their table. */
#include "base/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t find_key(const lm_params *params, const char *key, size_t length) {
    for (size_t i = 0; i < params->count; i++)
        if (strlen(params->table[i].key) == length &&
            memcmp(params->table[i].key, key, length) == 0)
            return i;
    return SIZE_MAX;
}

/* The index of text in "a|b|c", or -1. */
static int find_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (int place = 0; *choices; place++) {
        size_t span = strcspn(choices, "|");
        if (span == length && memcmp(choices, text, length) == 0)
            return place;
        choices += span;
        choices += *choices == '|';
    }
    return -1;
}

/* What param accepts, for error messages. */
static const char *describe_range(const limn_param *param, char *out, size_t size) {
    const char *or_auto = param->can_be_auto ? " or auto" : "";
    const char *words = param->choices ? param->choices : "",
               *or_word = *words ? " or one of " : "";
    if (param->type == LIMN_PARAM_CHOICE || param->type == LIMN_PARAM_TEXT)
        snprintf(out, size, "%s%s%s", param->type == LIMN_PARAM_CHOICE ? "one of " : "",
                 param->choices, or_auto);
    else
        snprintf(out, size, "%s %s %.10g %s %.10g%s%s%s",
                 param->type == LIMN_PARAM_INT ? "a whole number" : "a number",
                 param->above_min ? "above" : "from", param->min,
                 param->above_min ? "and at most" : "to", param->max, or_word, words, or_auto);
    return out;
}

static bool parse_value(const limn_param *param, const char *text, lm_param_value *value) {
    memset(value, 0, sizeof *value);
    value->word = -1;
    if (strlen(text) >= sizeof value->text)
        return false;
    memcpy(value->text, text, strlen(text) + 1);
    if (param->can_be_auto && strcmp(text, "auto") == 0) {
        value->is_auto = true;
        return true;
    }
    if (param->type == LIMN_PARAM_TEXT)
        return *text != '\0';
    if (param->type == LIMN_PARAM_CHOICE) {
        value->integer = find_choice(param->choices, text);
        return value->integer >= 0;
    }
    value->word = param->choices ? find_choice(param->choices, text) : -1;
    if (value->word >= 0)
        return true;
    if (!lm_parse_double(text, strlen(text), &value->real) || !isfinite(value->real))
        return false;
    if (value->real < param->min || value->real > param->max ||
        (param->above_min && value->real == param->min))
        return false;
    if (param->type == LIMN_PARAM_INT) {
        if (value->real != floor(value->real) || fabs(value->real) > 9007199254740992.0)
            return false;
        value->integer = (int64_t)value->real;
        snprintf(value->text, sizeof value->text, "%lld", (long long)value->integer);
    }
    return true;
}

void lm_params_init(const char *owner, const limn_param *table, size_t count, lm_params *params) {
    memset(params, 0, sizeof *params);
    params->owner = owner;
    params->table = table;
    params->count = count < LM_PARAMS_MAX ? count : LM_PARAMS_MAX;
    for (size_t i = 0; i < params->count; i++)
        parse_value(&table[i], table[i].default_value, &params->values[i]);
}

static limn_status fail_unknown(limn_context *ctx, const lm_params *params, const char *key,
                                size_t length) {
    char quoted[48], known[512] = "";
    for (size_t i = 0; i < params->count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", params->table[i].key);
    }
    return lm_fail(ctx, LIMN_E_USAGE, "%s has no parameter '%s'; it has %s", params->owner,
                   lm_quote(key, length, quoted), params->count ? known : "none");
}

limn_status lm_params_set(limn_context *ctx, lm_params *params, const char *assignment) {
    char quoted[48], range[256];
    const char *equals = strchr(assignment, '=');
    if (!equals)
        return lm_fail(ctx, LIMN_E_USAGE, "parameter '%s' has no value; write key=value",
                       lm_quote(assignment, strlen(assignment), quoted));
    size_t length = (size_t)(equals - assignment);
    size_t place = find_key(params, assignment, length);
    if (place == SIZE_MAX)
        return fail_unknown(ctx, params, assignment, length);
    const limn_param *param = &params->table[place];
    lm_param_value value;
    if (!parse_value(param, equals + 1, &value))
        return lm_fail(ctx, LIMN_E_USAGE, "%s: %s cannot be '%s'; it is %s", params->owner,
                       param->key, lm_quote(equals + 1, strlen(equals + 1), quoted),
                       describe_range(param, range, sizeof range));
    params->values[place] = value;
    return LIMN_OK;
}

static const lm_param_value *value_of(const lm_params *params, const char *key) {
    static const lm_param_value none = {.word = -1};
    size_t place = find_key(params, key, strlen(key));
    return place == SIZE_MAX ? &none : &params->values[place];
}

bool lm_param_is_auto(const lm_params *params, const char *key) {
    return value_of(params, key)->is_auto;
}

int64_t lm_param_int(const lm_params *params, const char *key) {
    return value_of(params, key)->integer;
}

double lm_param_real(const lm_params *params, const char *key) {
    return value_of(params, key)->real;
}

int lm_param_word(const lm_params *params, const char *key) {
    return value_of(params, key)->word;
}

int lm_param_choice(const lm_params *params, const char *key) {
    return (int)value_of(params, key)->integer;
}

const char *lm_param_text(const lm_params *params, const char *key) {
    return value_of(params, key)->text;
}

bool lm_param_exists(const lm_params *params, const char *key) {
    return find_key(params, key, strlen(key)) != SIZE_MAX;
}
