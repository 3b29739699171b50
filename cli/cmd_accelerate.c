/* cmd_accelerate.c: limn accelerate MODEL: the race as a table or JSON, and the winner as a file.
 */
#include "cli.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- JSON ---- */

static json_t *timing_json(double mean, double p50, double p99) {
    json_t *object = json_object();
    json_object_set_new(object, "latency_us_mean", cli_json_real(mean));
    json_object_set_new(object, "latency_us_p50", cli_json_real(p50));
    json_object_set_new(object, "latency_us_p99", cli_json_real(p99));
    return object;
}

static json_t *entry_json(const limn_entry *e) {
    static const char *const states[] = {"raced", "not tried", "failed", "not supported"};
    const struct {
        const char *key;
        double value;
    } figures[] = {{"speedup_libsvm", e->speedup_libsvm},
                   {"speedup_exact", e->speedup_exact},
                   {"accuracy", e->accuracy},
                   {"uc", e->uncertainty_coefficient},
                   {"agreement", e->agreement},
                   {"r2", e->r2},
                   {"loss", e->loss},
                   {"seconds", e->seconds}};
    json_t *object = timing_json(e->latency_us_mean, e->latency_us_p50, e->latency_us_p99);
    json_object_set_new(object, "method", cli_json_text(e->method));
    json_object_set_new(object, "params", cli_json_text(e->params));
    json_object_set_new(object, "state", json_string(states[e->state]));
    json_object_set_new(object, "why", cli_json_text(e->why));
    for (size_t i = 0; i < CLI_COUNT(figures); i++)
        json_object_set_new(object, figures[i].key, cli_json_real(figures[i].value));
    json_object_set_new(object, "model_bytes",
                        e->bytes ? json_integer((json_int_t)e->bytes) : json_null());
    json_object_set_new(object, "fits", json_boolean(e->fits));
    return object;
}

static int print_json(const limn_race *race, const limn_race_info *info, FILE *file) {
    static const char *const judges[] = {"accuracy", "agreement", "values"};
    limn_entry e;
    limn_entry_init(&e);
    (void)limn_race_entry(race, 0, &e);
    json_t *object = json_object(), *list = json_array(), *before = entry_json(&e);
    json_object_set_new(
        before, "libsvm",
        timing_json(info->libsvm_us_mean, info->libsvm_us_p50, info->libsvm_us_p99));
    json_object_set_new(object, "before", before);
    json_object_set_new(object, "chosen", json_null());
    for (size_t i = 0; limn_race_entry(race, i, &e); i++) {
        json_array_append_new(list, entry_json(&e));
        if (i == info->chosen)
            json_object_set_new(object, "chosen", entry_json(&e));
    }
    json_object_set_new(object, "candidates", list);
    json_object_set_new(object, "judged_by", json_string(judges[info->judge]));
    json_object_set_new(object, "max_loss", cli_json_real(info->max_loss));
    json_object_set_new(object, "max_uc_loss", cli_json_real(info->max_uc_loss));
    json_object_set_new(object, "budget_us",
                        info->budget_us > 0 ? json_real(info->budget_us) : json_null());
    json_object_set_new(object, "rows_fitted", json_integer((json_int_t)info->fitted));
    json_object_set_new(object, "rows_judged", json_integer((json_int_t)info->judged));
    json_object_set_new(object, "sampled", json_boolean(info->sampled));
    json_object_set_new(object, "vectors", json_integer((json_int_t)info->vectors));
    json_object_set_new(object, "vectors_found", json_integer((json_int_t)info->found));
    json_object_set_new(object, "familiar", json_boolean(info->familiar));
    return cli_json_print(object, file);
}

/* ---- words ---- */

/* Three digits. */
static const char *short_number(double value, const char *after, char *text) {
    snprintf(text, CLI_NUMBER_BYTES, value < 99.95 ? "%.3g%s" : "%.0f%s", value, after);
    if (!isfinite(value))
        strcpy(text, "-");
    return text;
}

static const char *rate(double value, char *text) {
    snprintf(text, CLI_NUMBER_BYTES, "%.2f", 100 * value);
    if (!isfinite(value))
        strcpy(text, "-");
    return text;
}

static void print_entry(const limn_entry *e, bool chosen, bool first, bool regress, FILE *file) {
    char a[CLI_NUMBER_BYTES], b[CLI_NUMBER_BYTES], c[CLI_NUMBER_BYTES], l[CLI_NUMBER_BYTES],
        x[CLI_NUMBER_BYTES], acc[CLI_NUMBER_BYTES], uc[CLI_NUMBER_BYTES] = "-",
                                                    agree[CLI_NUMBER_BYTES], size[CLI_NUMBER_BYTES];
    if (isfinite(e->uncertainty_coefficient))
        snprintf(uc, sizeof uc, "%.4f", e->uncertainty_coefficient);
    fprintf(file, "%c%6s %6s %6s %6s %6s %6s %6s %6s %8s  %s%s%s%s\n", chosen ? '>' : ' ',
            short_number(e->latency_us_mean, "", a), short_number(e->latency_us_p50, "", b),
            short_number(e->latency_us_p99, "", c), short_number(e->speedup_libsvm, "x", l),
            short_number(e->speedup_exact, "x", x), rate(regress ? e->r2 : e->accuracy, acc), uc,
            rate(e->agreement, agree), cli_text_bytes((double)e->bytes, size), e->method,
            *e->params ? " " : "", e->params, first ? " (exact)" : "");
}

static void print_table(const limn_race *race, const limn_race_info *info, FILE *file) {
    char a[CLI_NUMBER_BYTES], b[CLI_NUMBER_BYTES], c[CLI_NUMBER_BYTES];
    bool regress = info->judge == LIMN_JUDGE_VALUES;
    limn_entry e;
    limn_entry_init(&e);
    fprintf(file, "      us per query      faster than\n");
    fprintf(file, " %6s %6s %6s %6s %6s %6s %6s %6s %8s  %s\n", "mean", "p50", "p99", "LIBSVM",
            "exact", regress ? "R2 %" : "acc %", "UC", regress ? "R2 old" : "agree%", "size",
            "model");
    if (isfinite(info->libsvm_us_mean))
        fprintf(file, " %6s %6s %6s %42s  %s\n", short_number(info->libsvm_us_mean, "", a),
                short_number(info->libsvm_us_p50, "", b), short_number(info->libsvm_us_p99, "", c),
                "", "LIBSVM");
    for (size_t i = 0; limn_race_entry(race, i, &e); i++)
        if (e.state == LIMN_ENTRY_RACED)
            print_entry(&e, i == info->chosen, i == 0, regress, file);
}

/* "not tried within the time limit: borders borders=75, ..." */
static void print_others(const limn_race *race, FILE *file) {
    limn_entry e;
    limn_entry_init(&e);
    bool any = false;
    for (size_t i = 0; limn_race_entry(race, i, &e); i++) {
        if (e.state == LIMN_ENTRY_NOT_TRIED)
            fprintf(file, "%s%s %s", any ? ", " : "not tried within --time-limit: ", e.method,
                    e.params);
        any = any || e.state == LIMN_ENTRY_NOT_TRIED;
    }
    if (any)
        fputc('\n', file);
    for (size_t i = 0; limn_race_entry(race, i, &e); i++)
        if (e.state == LIMN_ENTRY_FAILED)
            fprintf(file, "failed: %s %s: %s\n", e.method, e.params, e.why);
    for (size_t i = 0; limn_race_entry(race, i, &e); i++)
        if (e.state == LIMN_ENTRY_UNSUPPORTED)
            fprintf(file, "not supported: %s: %s\n", e.method, e.why);
}

/* "allowed loss: 0.5 % of accuracy, 0.01 of UC", or the budget */
static void print_limit(const limn_race_info *info, FILE *file) {
    if (info->budget_us > 0)
        fprintf(file, "budget: %.4g us", info->budget_us);
    if (!isfinite(info->max_loss)) {
        fputc('\n', file);
        return;
    }
    fprintf(file, "%sallowed loss: %.4g %%", info->budget_us > 0 ? "; " : "", 100 * info->max_loss);
    if (info->judge == LIMN_JUDGE_ACCURACY)
        fprintf(file, " of accuracy, %.4g of UC\n", info->max_uc_loss);
    else
        fprintf(file, " of %s\n",
                info->judge == LIMN_JUDGE_VALUES ? "the variance of the old answers" : "agreement");
}

/* How the loss was measured. */
static void print_judge(const limn_race_info *info, FILE *file) {
    bool points = info->sampled && !info->vectors, accuracy = info->judge == LIMN_JUDGE_ACCURACY;
    fprintf(file, "fitted to %zu %s, judged on %zu other %s; ", info->fitted,
            info->sampled ? "support vectors and points around them" : "rows", info->judged,
            points ? "sampled points" : "rows");
    print_limit(info, file);
    if (isfinite(info->max_loss) && info->max_loss > 0 && accuracy &&
        info->max_loss * (double)info->judged < 1)
        fprintf(file,
                "one row of those that judge is %.2g %% of accuracy; more rows judge better\n",
                100 / (double)info->judged);
    if (info->familiar && info->judge != LIMN_JUDGE_VALUES)
        fprintf(file,
                "%zu of the %zu support vectors are among these rows, so the SVM was trained on "
                "such rows: it is right about them more often than about new ones, and a loss of "
                "accuracy would be overstated. Models are judged by agreement with it; to judge by "
                "accuracy, give rows that are new to it (--test FILE).\n",
                info->found, info->vectors);
}

/* Why the model given is kept. */
static void print_kept(const limn_race *race, const limn_race_info *info, FILE *file) {
    limn_entry e;
    size_t tried = 0;
    limn_entry_init(&e);
    for (size_t i = 1; limn_race_entry(race, i, &e); i++)
        tried += e.state == LIMN_ENTRY_RACED;
    if (!tried)
        fputs("no faster model could be tried", file);
    else if (info->budget_us > 0)
        fputs("every faster model loses something", file);
    else
        fputs("no faster model is close enough", file);
}

/* "18x faster than LIBSVM" */
static void print_speed(double speedup, FILE *file) {
    char text[CLI_NUMBER_BYTES];
    bool faster = speedup >= 1;
    fprintf(file, "%s %s than LIBSVM", short_number(faster ? speedup : 1 / speedup, "x", text),
            faster ? "faster" : "slower");
}

static void print_result(const limn_race *race, const limn_race_info *info, FILE *file) {
    limn_entry e, before;
    char a[CLI_NUMBER_BYTES], b[CLI_NUMBER_BYTES];
    limn_entry_init(&e);
    limn_entry_init(&before);
    (void)limn_race_entry(race, 0, &before);
    if (!limn_race_entry(race, info->chosen, &e))
        return;
    if (info->chosen == 0) {
        print_kept(race, info, file);
        fprintf(file, ": the model itself is kept, at %s us",
                short_number(e.latency_us_mean, "", a));
        if (isfinite(e.speedup_libsvm)) {
            fputs(", ", file);
            print_speed(e.speedup_libsvm, file);
        }
        fputc('\n', file);
        return;
    }
    fprintf(file, "chosen: %s %s: %s us instead of %s, ", e.method, e.params,
            short_number(e.latency_us_mean, "", a), short_number(before.latency_us_mean, "", b));
    if (isfinite(e.speedup_libsvm)) {
        print_speed(e.speedup_libsvm, file);
        fputs(", ", file);
    }
    if (info->judge == LIMN_JUDGE_ACCURACY)
        fprintf(file, "accuracy %.2f %% instead of %.2f %%\n", 100 * e.accuracy,
                100 * before.accuracy);
    else
        fprintf(file, "%.2f %% %s\n", 100 * e.agreement,
                info->judge == LIMN_JUDGE_VALUES ? "of the variance explained" : "agreement");
}

/* Regression is judged by the old answers, and the fastest model that is nearer to the targets than
 * they are may differ too much from them. */
static void print_nearer(const limn_race *race, const limn_race_info *info, FILE *file) {
    limn_entry e, best, before;
    char us[CLI_NUMBER_BYTES];
    limn_entry_init(&e);
    limn_entry_init(&best);
    limn_entry_init(&before);
    (void)limn_race_entry(race, 0, &before);
    best = before;
    for (size_t i = 1; limn_race_entry(race, i, &e); i++)
        if (e.r2 > before.r2 && e.latency_us_mean < best.latency_us_mean)
            best = e;
    if (best.latency_us_mean < before.latency_us_mean && !best.fits && !(info->budget_us > 0))
        fprintf(file,
                "%s %s (%s us) is nearer to the targets than the old model, R2 %.2f %% instead of "
                "%.2f %%: --max-loss %g allows it\n",
                best.method, best.params, short_number(best.latency_us_mean, "", us), 100 * best.r2,
                100 * before.r2, ceil(1e4 * best.loss) / 1e4);
}

static void print_words(const limn_race *race, const limn_race_info *info, FILE *file) {
    print_table(race, info, file);
    print_others(race, file);
    print_judge(info, file);
    print_result(race, info, file);
    print_nearer(race, info, file);
}

/* ---- work ---- */

static int check_usage(const cli_args *args) {
    if (!args->output)
        return cli_fail(EXIT_USAGE,
                        "limn accelerate needs -o MODEL2, the file to write, such as: "
                        "limn accelerate %s -o fast.limn",
                        args->positionals[0]);
    if (strcmp(args->output, "-") == 0 && isatty(STDOUT_FILENO))
        return cli_fail(EXIT_USAGE, "-o -: a model is binary and standard output is a terminal; "
                                    "name a file or use a pipe");
    if (args->data && args->test && strcmp(args->data, "-") == 0 && strcmp(args->test, "-") == 0)
        return cli_fail(EXIT_USAGE, "--data and --test cannot both be standard input");
    if (args->data && args->test && cli_same_file(args->data, args->test))
        return cli_fail(EXIT_USAGE,
                        "--data and --test are the same file: models would be judged by "
                        "rows that they were fitted to; leave --test out, and 40 %% of "
                        "the rows judge");
    int code = args->data ? cli_refuse_overwrite(args->output, args->data) : EXIT_DONE;
    return code || !args->test ? code : cli_refuse_overwrite(args->output, args->test);
}

static int read_rows(cli_session *session, const cli_args *args, const limn_model *model,
                     const char *path, limn_data **out) {
    limn_read_options reading;
    limn_model_info info;
    limn_model_info_init(&info);
    *out = NULL;
    if (!path)
        return EXIT_DONE;
    limn_model_describe(model, &info);
    cli_read_options(args, info.task, &reading);
    session->progress.file = path;
    return cli_check(session, limn_data_read(session->context, path, &reading, model, out));
}

static int fail_budget(const limn_race *race, const limn_race_info *info, const cli_args *args) {
    limn_entry e, best;
    char loss[64] = "";
    limn_entry_init(&e);
    limn_entry_init(&best);
    (void)limn_race_entry(race, 0, &best);
    for (size_t i = 0; limn_race_entry(race, i, &e); i++)
        if (e.latency_us_mean < best.latency_us_mean)
            best = e;
    if (isfinite(info->max_loss))
        snprintf(loss, sizeof loss, " and loses at most %.4g", info->max_loss);
    return cli_fail(EXIT_BUDGET,
                    "nothing answers within %.4g us%s; the fastest is %s%s%s with %.4g us; %s was "
                    "not written",
                    info->budget_us, loss, best.method, *best.params ? " " : "", best.params,
                    best.latency_us_mean, args->output);
}

static int finish(cli_session *session, const cli_args *args, const limn_race *race) {
    FILE *file = strcmp(args->output, "-") == 0 ? stderr : stdout;
    limn_race_info info;
    limn_race_info_init(&info);
    limn_race_describe(race, &info);
    const limn_model *chosen = limn_race_model(race);
    int code = cli_check_interrupt(session);
    session->to_stdout = file == stderr;
    if (!code && chosen)
        code = cli_check(session, limn_model_save(session->context, chosen, args->output));
    cli_progress_clear(&session->progress);
    if (!code && args->json)
        code = print_json(race, &info, file);
    else if (!code && !args->quiet)
        print_words(race, &info, file);
    return code || chosen ? code : fail_budget(race, &info, args);
}

static int accelerate(cli_session *session, const cli_args *args, const limn_model *model) {
    limn_data *data = NULL, *test = NULL;
    limn_race *race = NULL;
    limn_accelerate_options options;
    limn_accelerate_options_init(&options);
    options.max_loss = args->max_loss;
    options.budget_us = 1e6 * args->budget;
    if (args->time_limit > 0)
        options.time_limit = args->time_limit;
    /* A long race must not fail at its end because the folder does not exist. */
    int code = cli_check_output(session, args->output);
    code = code ? code : read_rows(session, args, model, args->data, &data);
    code = code ? code : read_rows(session, args, model, args->test, &test);
    options.test = test;
    if (!code)
        code = cli_check(session, limn_accelerate(session->context, model, data, &options, &race));
    if (!code)
        code = finish(session, args, race);
    limn_race_free(race);
    limn_data_free(data);
    limn_data_free(test);
    return code;
}

int cmd_accelerate(const cli_args *args) {
    int code = check_usage(args);
    return code ? code : cli_with_model(args, accelerate);
}
