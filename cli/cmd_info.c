/* cmd_info.c: limn info MODEL: everything the file holds, as text or JSON. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { VALUE_COLUMN = 18, NAME_COLUMNS = 30 };

/* ---- text ---- */

static void print_line(const char *what, const char *value) {
    printf("  %-*s", VALUE_COLUMN - 2, what);
    cli_wrap(stdout, VALUE_COLUMN, VALUE_COLUMN, value);
}

typedef const char *(*name_of)(const limn_model *model, size_t index);

/* "3: a, b, c", wrapped; only the count when the names are not known. */
static void print_names(const char *what, const limn_model *model, size_t count, name_of name_at) {
    char head[64], name[CLI_NAME_BYTES];
    int used = snprintf(head, sizeof head, "%zu", count);
    bool named = count && name_at(model, 0);
    printf("  %-*s%s%s", VALUE_COLUMN - 2, what, head, named ? ":" : "");
    size_t column = VALUE_COLUMN + (size_t)used + named;
    for (size_t i = 0; named && i < count; i++) {
        const char *full = name_at(model, i);
        cli_text_name(full ? full : "?", NAME_COLUMNS, name);
        size_t width = cli_text_width(name) + (i + 1 < count);
        if (column + 1 + width > CLI_COLUMNS) {
            printf("\n%*s", VALUE_COLUMN - 1, "");
            column = VALUE_COLUMN - 1;
        }
        printf(" %s%s", name, i + 1 < count ? "," : "");
        column += 1 + width;
    }
    putchar('\n');
}

/* Seven digits are enough: fills are medians of 32-bit floats. */
static const char *text_float(double value, char *text) {
    snprintf(text, CLI_NUMBER_BYTES, "%.7g", value);
    return text;
}

/* "color: blue, green, red; missing cells become red": one line for each column that has categories
 * or a fill. */
static void print_columns(const limn_model *model, const limn_model_info *info) {
    limn_column_info column;
    limn_column_info_init(&column);
    size_t shown = 0;
    for (size_t c = 0; c < info->columns && limn_model_column(model, c, &column); c++) {
        if (!column.categories && !column.has_fill)
            continue;
        char name[CLI_NAME_BYTES], number[CLI_NUMBER_BYTES], text[4 * CLI_NAME_BYTES];
        int used = column.name
                       ? snprintf(text, sizeof text, "%s:", cli_text_name(column.name, 30, name))
                       : snprintf(text, sizeof text, "%zu:", c + 1);
        size_t i = 0;
        for (; i < column.categories && (size_t)used < sizeof text - 200; i++)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s %s", i ? "," : "",
                             cli_text_name(limn_model_category(model, c, i), 20, name));
        if (i < column.categories)
            used += snprintf(text + used, sizeof text - (size_t)used, ", and %zu more",
                             column.categories - i);
        if (column.has_fill)
            snprintf(
                text + used, sizeof text - (size_t)used, "%s missing cells become %s",
                column.categories ? ";" : "",
                column.categories
                    ? cli_text_name(limn_model_category(model, c, (size_t)column.fill), 20, name)
                    : text_float(column.fill, number));
        print_line(shown++ ? "" : "columns", text);
    }
}

static void print_params(const limn_model *model, const limn_model_info *info) {
    for (size_t i = 0; i < info->param_count; i++) {
        char text[2 * CLI_NAME_BYTES + 2], a[CLI_NAME_BYTES], b[CLI_NAME_BYTES];
        const char *key = NULL, *value = limn_model_param(model, i, &key);
        if (!key || !value)
            break;
        snprintf(text, sizeof text, "%s=%s", cli_text_name(key, NAME_COLUMNS, a),
                 cli_text_name(value, NAME_COLUMNS, b));
        print_line(i ? "" : "parameters", text);
    }
}

/* Whole numbers in full, others to four digits. */
static const char *text_stat(double value, char *text) {
    if (value == floor(value))
        return cli_text_double(value, text);
    snprintf(text, CLI_NUMBER_BYTES, "%.4g", value);
    return text;
}

static void print_stats(const limn_model *model, const limn_model_info *info) {
    for (size_t i = 0; i < info->stat_count; i++) {
        char name[CLI_NAME_BYTES], number[CLI_NUMBER_BYTES];
        double value = 0;
        const char *stat = limn_model_stat(model, i, &value);
        if (!stat)
            break;
        /* The blank separates a long name from its value. */
        printf("  %-*s %s\n", VALUE_COLUMN - 3, cli_text_name(stat, NAME_COLUMNS, name),
               text_stat(value, number));
    }
}

/* Rows learned after training, and how far the model has got in its data. */
static void print_learning(const limn_model *model, const limn_model_info *info) {
    char text[256];
    limn_mark mark;
    if (info->learned) {
        snprintf(text, sizeof text, "%" PRIu64 " row%s since training, %" PRIu64 " in all",
                 info->learned, info->learned == 1 ? "" : "s", info->rows);
        print_line("learned", text);
    }
    if (!limn_model_mark(model, &mark))
        return;
    if (mark.bytes)
        snprintf(text, sizeof text,
                 "%" PRIu64 " row%s read from the file whose first %" PRIu64
                 " bytes have the XXH3 hash %016" PRIx64,
                 mark.rows, mark.rows == 1 ? "" : "s", mark.bytes, mark.hash);
    else
        snprintf(text, sizeof text, "%" PRIu64 " row%s read from a stream", mark.rows,
                 mark.rows == 1 ? "" : "s");
    print_line("last data", text);
}

static void print_scaling(const limn_model *model) {
    char text[CLI_SCALING_BYTES];
    print_line("scaling", cli_text_scaling(model, text, sizeof text));
    if (*cli_text_map(model, text, sizeof text))
        print_line("learned map", text);
    if (*cli_text_heaviest(model, text, sizeof text))
        print_line("heaviest", text);
}

static int print_words(const limn_model *model, const limn_model_info *info, const char *path) {
    char text[256], number[CLI_NUMBER_BYTES], name[CLI_NAME_BYTES];
    printf("%s: %s %s model, written by limn %s\n", path, cli_article(info->method), info->method,
           cli_text_name(info->written_by ? info->written_by : "?", NAME_COLUMNS, name));
    print_line("task", limn_task_name(info->task));
    snprintf(text, sizeof text, "%" PRIu64 " row%s, seed %" PRIu64, info->rows - info->learned,
             info->rows - info->learned == 1 ? "" : "s", info->seed);
    print_line("trained on", text);
    if (info->teacher)
        print_line("drawn from", info->teacher);
    print_learning(model, info);
    print_names("features", model, info->features, limn_model_feature_name);
    print_columns(model, info);
    if (info->used_features != info->features) {
        snprintf(text, sizeof text, "%zu (the others were constant)", info->used_features);
        print_line("features used", text);
    }
    if (info->task == LIMN_CLASSIFY)
        print_names("classes", model, info->classes, limn_model_class_name);
    if (limn_model_label_name(model))
        print_line("label column", cli_text_name(limn_model_label_name(model), 30, name));
    print_scaling(model);
    print_params(model, info);
    print_line("can", cli_text_capabilities(info->capabilities, text, sizeof text));
    print_line("size", cli_text_bytes((double)info->bytes, number));
    print_line("a query touches", cli_text_touched(info, text, sizeof text));
    print_stats(model, info);
    return EXIT_DONE;
}

/* ---- JSON ---- */

static json_t *names_json(const limn_model *model, size_t count, name_of name_at) {
    if (!count || !name_at(model, 0))
        return json_null();
    json_t *names = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(names, cli_json_text(name_at(model, i)));
    return names;
}

static json_t *column_json(const limn_model *model, size_t c, const limn_column_info *column) {
    json_t *categories = column->categories ? json_array() : json_null();
    for (size_t i = 0; i < column->categories; i++)
        json_array_append_new(categories, cli_json_text(limn_model_category(model, c, i)));
    json_t *fill = !column->has_fill ? json_null()
                   : column->categories
                       ? cli_json_text(limn_model_category(model, c, (size_t)column->fill))
                       : cli_json_real(column->fill);
    return json_pack("{s:o, s:o, s:o}", "name", cli_json_text(column->name), "categories",
                     categories, "fill", fill);
}

static json_t *columns_json(const limn_model *model) {
    limn_column_info column;
    limn_column_info_init(&column);
    json_t *columns = json_array();
    for (size_t c = 0; limn_model_column(model, c, &column); c++)
        json_array_append_new(columns, column_json(model, c, &column));
    return columns;
}

static json_t *stats_json(const limn_model *model, const limn_model_info *info) {
    json_t *stats = json_object();
    for (size_t i = 0; i < info->stat_count; i++) {
        double value = 0;
        const char *name = limn_model_stat(model, i, &value);
        if (name)
            json_object_set_new(stats, name, cli_json_real(value));
    }
    return stats;
}

static json_t *mark_json(const limn_model *model) {
    limn_mark mark;
    char hash[32];
    if (!limn_model_mark(model, &mark))
        return json_null();
    snprintf(hash, sizeof hash, "%016" PRIx64, mark.hash);
    return json_pack("{s:I, s:I, s:o}", "rows", (json_int_t)mark.rows, "bytes",
                     (json_int_t)mark.bytes, "hash",
                     mark.bytes ? cli_json_text(hash) : json_null());
}

static int print_json(const limn_model *model, const limn_model_info *info) {
    json_t *classes =
        info->task == LIMN_CLASSIFY ? json_integer((json_int_t)info->classes) : json_null();
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:I}", "method", cli_json_text(info->method),
                  "task", cli_json_text(limn_task_name(info->task)), "params",
                  cli_json_params(model), "rows", (json_int_t)info->rows, "features",
                  (json_int_t)info->features, "used_features", (json_int_t)info->used_features,
                  "classes", classes, "model_bytes", (json_int_t)info->bytes);
    json_object_set_new(object, "learned", json_integer((json_int_t)info->learned));
    json_object_set_new(object, "mark", mark_json(model));
    json_object_set_new(object, "feature_names",
                        names_json(model, info->features, limn_model_feature_name));
    json_object_set_new(object, "columns", columns_json(model));
    json_object_set_new(object, "labels", names_json(model, info->classes, limn_model_class_name));
    json_object_set_new(object, "label_column", cli_json_text(limn_model_label_name(model)));
    json_object_set_new(object, "scale", cli_json_text(limn_scale_name(info->scale)));
    json_object_set_new(object, "scaling", cli_json_scaling(model));
    json_object_set_new(object, "scaled_target", json_boolean(info->scaled_target));
    json_object_set_new(object, "seed", json_integer((json_int_t)info->seed));
    json_object_set_new(object, "capabilities", cli_json_capabilities(info->capabilities));
    json_object_set_new(object, "touched_vectors", cli_json_real(info->touched_vectors));
    json_object_set_new(object, "touched_bytes", cli_json_real(info->touched_bytes));
    json_object_set_new(object, "teacher", cli_json_text(info->teacher));
    json_object_set_new(object, "written_by", cli_json_text(info->written_by));
    json_object_set_new(object, "stats", stats_json(model, info));
    return cli_json_print(object, stdout);
}

static int tell(cli_session *session, const cli_args *args, const limn_model *model) {
    limn_model_info info;
    limn_model_info_init(&info);
    (void)session;
    limn_model_describe(model, &info);
    return args->json ? print_json(model, &info) : print_words(model, &info, args->positionals[0]);
}

int cmd_info(const cli_args *args) {
    return cli_with_model(args, tell);
}
