/* scaling.c: how a model scales its features, and by which counts that was chosen. */
#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { HEAVIEST = 10 };

/* Appends to text, as far as it fits. */
static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

static limn_scaling scaling_of(const limn_model *model) {
    limn_scaling scaling;
    limn_scaling_init(&scaling);
    limn_model_scaling(model, &scaling);
    return scaling;
}

static limn_model_info info_of(const limn_model *model) {
    limn_model_info info;
    limn_model_info_init(&info);
    limn_model_describe(model, &info);
    return info;
}

/* "; wrong answers of the nearest 1, 5 and 9 other rows to 90: minmax 12, none 40 (mends 2,
 * breaks 30), zscore 9 (mends 5, breaks 2) taken". */
static void append_trials(const limn_model *model, bool of_map, uint64_t rows, char *text,
                          size_t size) {
    bool regress = info_of(model).task == LIMN_REGRESS;
    limn_scaling_trial trial;
    limn_scaling_trial_init(&trial);
    append(text, size, "; %s answers of the nearest 1, 5 and 9 %srows to %" PRIu64 "%s:",
           regress ? "far" : "wrong", of_map ? "" : "other ", rows,
           of_map ? " not learned from" : "");
    for (size_t i = 0; limn_model_scaling_trial(model, of_map, i, &trial); i++) {
        append(text, size, "%s %s %" PRIu64, i ? "," : "", trial.name, trial.wrong);
        if (i)
            append(text, size, " (mends %" PRIu64 ", breaks %" PRIu64 ")%s", trial.mends,
                   trial.breaks, trial.taken ? " taken" : "");
    }
}

const char *cli_text_scaling(const limn_model *model, char *text, size_t size) {
    limn_scaling s = scaling_of(model);
    snprintf(text, size, "%s%s", limn_scale_name(s.base),
             info_of(model).scaled_target ? " of features and target" : "");
    if (s.rows)
        append_trials(model, false, s.rows, text, size);
    return text;
}

/* The name of a feature, or "feature 7". */
static const char *feature_name(const limn_model *model, size_t feature, char *text) {
    const char *name = limn_model_feature_name(model, feature);
    if (name)
        return cli_text_name(name, 30, text);
    snprintf(text, CLI_NAME_BYTES, "feature %zu", feature + 1);
    return text;
}

const char *cli_text_map(const limn_model *model, char *text, size_t size) {
    limn_scaling s = scaling_of(model);
    text[0] = '\0';
    if (s.kind != LIMN_SCALE_LEARNED)
        return text;
    if (s.axes)
        append(text, size, "%zu ax%s with %.1f %% of the variance", s.axes,
               s.axes == 1 ? "is" : "es", 100 * s.variance);
    else
        append(text, size, "none");
    if (s.map_rows)
        append_trials(model, true, s.map_rows, text, size);
    else
        append(text, size, " (too few rows or features, or too many features, to learn one)");
    return text;
}

const char *cli_text_heaviest(const limn_model *model, char *text, size_t size) {
    char name[CLI_NAME_BYTES];
    size_t feature;
    double share;
    text[0] = '\0';
    for (size_t i = 0; i < HEAVIEST && limn_model_heavy_feature(model, i, &feature, &share); i++)
        append(text, size, "%s%s %.1f %%", i ? ", " : "", feature_name(model, feature, name),
               100 * share);
    return text;
}

/* ---- JSON ---- */

static json_t *trials_json(const limn_model *model, bool of_map) {
    limn_scaling_trial trial;
    limn_scaling_trial_init(&trial);
    json_t *list = json_array();
    for (size_t i = 0; limn_model_scaling_trial(model, of_map, i, &trial); i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:I, s:I, s:b}", "name", trial.name, "wrong",
                                        (json_int_t)trial.wrong, "mends", (json_int_t)trial.mends,
                                        "breaks", (json_int_t)trial.breaks, "taken", trial.taken));
    return list;
}

static json_t *heaviest_json(const limn_model *model) {
    size_t feature;
    double share;
    json_t *list = json_array();
    for (size_t i = 0; i < HEAVIEST && limn_model_heavy_feature(model, i, &feature, &share); i++)
        json_array_append_new(
            list, json_pack("{s:I, s:o, s:o}", "feature", (json_int_t)feature + 1, "name",
                            cli_json_text(limn_model_feature_name(model, feature)), "share",
                            cli_json_real(share)));
    return list;
}

static json_t *map_json(const limn_model *model, const limn_scaling *s) {
    if (s->kind != LIMN_SCALE_LEARNED)
        return json_null();
    return json_pack("{s:I, s:o, s:I, s:o, s:o}", "axes", (json_int_t)s->axes, "variance",
                     s->axes ? cli_json_real(s->variance) : json_null(), "rows",
                     (json_int_t)s->map_rows, "trials", trials_json(model, true), "heaviest",
                     heaviest_json(model));
}

json_t *cli_json_scaling(const limn_model *model) {
    limn_scaling s = scaling_of(model);
    return json_pack("{s:s, s:s, s:I, s:o, s:o}", "kind", limn_scale_name(s.kind), "base",
                     limn_scale_name(s.base), "rows", (json_int_t)s.rows, "trials",
                     trials_json(model, false), "map", map_json(model, &s));
}
