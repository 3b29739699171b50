/* cmd_eval.c: limn eval MODEL DATA: figures in words (rates as percent) or JSON (fractions). */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_TABLE_CLASSES = 30, NAME_COLUMNS = 16 };

/* The class after those of the data is that of the rejected rows. */
static const char *class_name(const limn_data *data, size_t index) {
    return index < limn_data_class_count(data) ? limn_data_class_name(data, index) : LIMN_UNKNOWN;
}

/* ---- JSON ---- */

static json_t *confusion_json(const limn_evaluation *e) {
    if (!e->confusion)
        return json_null();
    json_t *rows = json_array();
    for (size_t truth = 0; truth < e->classes; truth++) {
        json_t *row = json_array();
        for (size_t answer = 0; answer < e->classes; answer++)
            json_array_append_new(
                row, json_integer((json_int_t)e->confusion[truth * e->classes + answer]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *labels_json(const limn_evaluation *e, const limn_data *data) {
    if (!e->confusion)
        return json_null();
    json_t *labels = json_array();
    for (size_t i = 0; i < e->classes; i++)
        json_array_append_new(labels, cli_json_text(class_name(data, i)));
    return labels;
}

static int print_json(const limn_evaluation *e, const limn_data *data,
                      const limn_model_info *info) {
    const struct {
        const char *key;
        double value;
    } figures[] = {
        {"accuracy", e->accuracy},
        {"error", e->error},
        {"uc", e->uncertainty_coefficient},
        {"balanced_accuracy", e->balanced_accuracy},
        {"log_loss", e->log_loss},
        {"brier", e->brier},
        {"ece", e->ece},
        {"mae", e->mae},
        {"rmse", e->rmse},
        {"r2", e->r2},
        {"recall_at_k", e->recall_at_k},
        {"latency_us_mean", e->latency_us_mean},
        {"latency_us_p50", e->latency_us_p50},
        {"latency_us_p99", e->latency_us_p99},
        {"batch_rows_per_s", e->batch_rows_per_s},
        {"touched_vectors", e->touched_vectors},
        {"touched_bytes", e->touched_bytes},
        {"mean_log_density", e->mean_log_density},
    };
    json_t *object =
        json_pack("{s:o, s:I}", "method", cli_json_text(info->method), "n", (json_int_t)e->n);
    for (size_t i = 0; i < CLI_COUNT(figures); i++)
        json_object_set_new(object, figures[i].key, cli_json_real(figures[i].value));
    json_object_set_new(object, "latency_rows",
                        e->latency_rows ? json_integer((json_int_t)e->latency_rows) : json_null());
    json_object_set_new(object, "k", e->k ? json_integer((json_int_t)e->k) : json_null());
    json_object_set_new(object, "model_bytes", json_integer((json_int_t)info->bytes));
    json_object_set_new(object, "labels", labels_json(e, data));
    json_object_set_new(object, "confusion", confusion_json(e));
    return cli_json_print(object, stdout);
}

/* ---- words ---- */

static void print_percent(const char *what, double rate) {
    if (isfinite(rate))
        printf("  %-24s %8.2f %%\n", what, 100 * rate);
}

static void print_figure(const char *what, double value) {
    if (isfinite(value))
        printf("  %-24s %8.4g\n", what, value);
}

/* -infinity if there is a row where the density is 0. */
static void print_density(double mean) {
    print_figure("mean log density", mean);
    if (isinf(mean))
        printf("  %-24s %8s (the density of some rows is 0)\n", "mean log density", "-inf");
}

/* Three digits; thousands and more as whole numbers. */
static const char *us_text(double us, char *text) {
    snprintf(text, CLI_NUMBER_BYTES, us < 999.5 ? "%.3g" : "%.0f", us);
    return text;
}

static void print_speed(const limn_evaluation *e, const limn_model_info *info) {
    char a[CLI_NUMBER_BYTES], b[CLI_NUMBER_BYTES], c[CLI_NUMBER_BYTES];
    if (isfinite(e->latency_us_p50)) {
        printf("  %-24s %8s us mean, %s median, %s p99", "latency", us_text(e->latency_us_mean, a),
               us_text(e->latency_us_p50, b), us_text(e->latency_us_p99, c));
        if (e->latency_rows < e->n) /* there was no time for all */
            printf(" (%zu rows)", e->latency_rows);
        putchar('\n');
    }
    if (isfinite(e->batch_rows_per_s))
        printf("  %-24s %8s rows/s\n", "batch", cli_text_count(e->batch_rows_per_s, a));
    printf("  %-24s %8s vectors (%s), mean over these rows\n", "a query touches",
           cli_text_count(e->touched_vectors, a), cli_text_bytes(e->touched_bytes, b));
    printf("  %-24s %8s\n", "model size", cli_text_bytes((double)info->bytes, a));
}

/* Width of column i: its name and its largest count. */
static size_t column_width(const limn_evaluation *e, const limn_data *data, size_t i) {
    char name[CLI_NAME_BYTES], number[CLI_NUMBER_BYTES];
    size_t width = cli_text_width(cli_text_name(class_name(data, i), NAME_COLUMNS, name));
    for (size_t truth = 0; truth < e->classes; truth++) {
        snprintf(number, sizeof number, "%" PRIu64, e->confusion[truth * e->classes + i]);
        if (strlen(number) > width)
            width = strlen(number);
    }
    return width;
}

static void print_right(const char *text, size_t width) {
    size_t own = cli_text_width(text);
    printf("  %*s%s", (int)(width > own ? width - own : 0), "", text);
}

static void print_confusion(const limn_evaluation *e, const limn_data *data) {
    char name[CLI_NAME_BYTES], number[CLI_NUMBER_BYTES];
    size_t widths[MOST_TABLE_CLASSES], first = strlen("truth");
    for (size_t i = 0; i < e->classes; i++) {
        size_t own = cli_text_width(cli_text_name(class_name(data, i), NAME_COLUMNS, name));
        first = own > first ? own : first;
        widths[i] = column_width(e, data, i);
    }
    printf("\nconfusion matrix (truth in rows, answers in columns)\n");
    print_right("truth", first);
    for (size_t i = 0; i < e->classes; i++)
        print_right(cli_text_name(class_name(data, i), NAME_COLUMNS, name), widths[i]);
    putchar('\n');
    for (size_t truth = 0; truth < e->classes; truth++) {
        print_right(cli_text_name(class_name(data, truth), NAME_COLUMNS, name), first);
        for (size_t i = 0; i < e->classes; i++) {
            snprintf(number, sizeof number, "%" PRIu64, e->confusion[truth * e->classes + i]);
            print_right(number, widths[i]);
        }
        putchar('\n');
    }
}

static int print_words(const limn_evaluation *e, const limn_data *data, const limn_model_info *info,
                       const char *path) {
    printf("%s on %s: %zu row%s\n", info->method, strcmp(path, "-") ? path : "standard input", e->n,
           e->n == 1 ? "" : "s");
    print_percent("accuracy", e->accuracy);
    print_percent("error", e->error);
    print_percent("balanced accuracy", e->balanced_accuracy);
    print_figure("uncertainty coefficient", e->uncertainty_coefficient);
    print_figure("log loss", e->log_loss);
    print_figure("Brier score", e->brier);
    print_percent("calibration error", e->ece);
    print_figure("mean absolute error", e->mae);
    print_figure("root mean square error", e->rmse);
    print_figure("R squared", e->r2);
    print_density(e->mean_log_density);
    if (e->k) {
        char what[CLI_NUMBER_BYTES];
        snprintf(what, sizeof what, "recall at %zu", e->k);
        print_percent(what, e->recall_at_k);
    }
    print_speed(e, info);
    if (e->confusion && e->classes <= MOST_TABLE_CLASSES)
        print_confusion(e, data);
    else if (e->confusion)
        printf("\nthe confusion matrix of %zu classes is too wide to print; --json gives it\n",
               e->classes);
    return EXIT_DONE;
}

/* ---- work ---- */

static int check_labels(const limn_data *data, limn_task task, const char *path) {
    bool labelled =
        task == LIMN_REGRESS ? limn_data_targets(data) != NULL : limn_data_classes(data) != NULL;
    if (labelled || task == LIMN_SEARCH || task == LIMN_DENSITY)
        return EXIT_DONE;
    return cli_fail(EXIT_DATA,
                    "%s: it has no label column to compare the answers with; add one, or use "
                    "limn predict",
                    strcmp(path, "-") ? path : "standard input");
}

static int evaluate(cli_session *session, const cli_args *args, const limn_model *model) {
    const char *path = args->positionals[1];
    limn_data *data = NULL;
    limn_evaluation evaluation;
    limn_evaluation_init(&evaluation);
    limn_read_options reading;
    limn_eval_options options;
    limn_model_info info;
    limn_model_info_init(&info);
    limn_model_describe(model, &info);
    if (args->neighbors && info.task != LIMN_SEARCH)
        return cli_fail(EXIT_USAGE, "-k: the task of %s is %s; only a search model has neighbours",
                        args->positionals[0], limn_task_name(info.task));
    session->progress.file = path;
    cli_read_options(args, info.task, &reading);
    limn_eval_options_init(&options);
    options.measure_speed = !args->no_speed;
    options.threads = (int)args->threads;
    if (args->neighbors)
        options.neighbors = (size_t)args->neighbors;
    int code = cli_check(session, limn_data_read(session->context, path, &reading, model, &data));
    if (code || (code = check_labels(data, info.task, path)) ||
        (code = cli_check(session,
                          limn_evaluate(session->context, model, data, &options, &evaluation))))
        goto done;
    cli_progress_clear(&session->progress);
    code = args->json ? print_json(&evaluation, data, &info)
                      : print_words(&evaluation, data, &info, path);
done:
    limn_evaluation_free(&evaluation);
    limn_data_free(data);
    return code;
}

int cmd_eval(const cli_args *args) {
    return cli_with_model(args, evaluate);
}
