/* learn_report.c: the output of limn learn --report-every: the error over each block of rows and
 * over all rows so far, each row tested before it is learned.
 *
 *     rows,error,overall_error                          classify: fractions of wrong answers
 *     rows,mae,rmse,overall_mae,overall_rmse            regress
 *
 * rows counts rows of the data, including skipped ones; the errors cover the rows that this command
 * has learned. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double error_of(const cli_tally *t) {
    return t->rows ? (double)t->wrong / (double)t->rows : NAN;
}

static double mae_of(const cli_tally *t) {
    return t->answered ? t->absolute / (double)t->answered : NAN;
}

static double rmse_of(const cli_tally *t) {
    return t->answered ? sqrt(t->squared / (double)t->answered) : NAN;
}

int cli_report_open(cli_session *session, const cli_args *args, limn_task task, cli_report *out) {
    *out = (cli_report){.task = task, .wanted = args->report_every};
    if (!out->wanted)
        return EXIT_DONE;
    if (args->json) {
        out->blocks = json_array();
        return out->blocks ? EXIT_DONE : cli_fail(EXIT_FAILED, "out of memory");
    }
    int code = cli_open_output(session, "-", &out->output);
    code = code ? code
                : cli_put(session, out->output,
                          task == LIMN_REGRESS ? "rows,mae,rmse,overall_mae,overall_rmse\n"
                                               : "rows,error,overall_error\n");
    return code ? code : cli_check(session, limn_output_flush(out->output));
}

static void add_row(cli_tally *t, const limn_lesson *lesson, size_t i) {
    t->rows++;
    if (lesson->answered_classes)
        t->wrong += lesson->answered_classes[i] != lesson->classes[i];
    if (!lesson->answered_values || isnan(lesson->answered_values[i]))
        return;
    double off = lesson->answered_values[i] - lesson->targets[i];
    t->answered++;
    t->absolute += fabs(off);
    t->squared += off * off;
}

void cli_report_add(cli_report *report, const limn_lesson *lesson, size_t learned) {
    for (size_t i = 0; report->wanted && i < learned; i++) {
        add_row(&report->block, lesson, i);
        add_row(&report->overall, lesson, i);
    }
}

static int put_line(cli_session *session, cli_report *report, uint64_t rows) {
    const cli_tally *block = &report->block, *all = &report->overall;
    char line[256];
    if (report->task == LIMN_REGRESS)
        snprintf(line, sizeof line, "%" PRIu64 ",%.6g,%.6g,%.6g,%.6g\n", rows, mae_of(block),
                 rmse_of(block), mae_of(all), rmse_of(all));
    else
        snprintf(line, sizeof line, "%" PRIu64 ",%.6g,%.6g\n", rows, error_of(block),
                 error_of(all));
    int code = cli_put(session, report->output, line);
    return code ? code : cli_check(session, limn_output_flush(report->output));
}

static void put_figures(const cli_tally *t, limn_task task, json_t *object) {
    if (task == LIMN_REGRESS) {
        json_object_set_new(object, "mae", cli_json_real(mae_of(t)));
        json_object_set_new(object, "rmse", cli_json_real(rmse_of(t)));
    } else {
        json_object_set_new(object, "error", cli_json_real(error_of(t)));
    }
}

int cli_report_block(cli_session *session, cli_report *report, uint64_t rows) {
    int code = EXIT_DONE;
    if (!report->wanted || !report->block.rows)
        return EXIT_DONE;
    if (report->output) {
        code = put_line(session, report, rows);
    } else {
        json_t *block = json_pack("{s:I}", "rows", (json_int_t)rows);
        put_figures(&report->block, report->task, block);
        if (json_array_append_new(report->blocks, block) != 0)
            code = cli_fail(EXIT_FAILED, "out of memory");
    }
    report->block = (cli_tally){.rows = 0};
    return code;
}

bool cli_report_words(const cli_report *report, char *text, size_t size) {
    const cli_tally *t = &report->overall;
    if (!report->wanted || !t->rows)
        return false;
    if (report->task == LIMN_REGRESS)
        snprintf(text, size, "mean absolute error %.4g, root mean square error %.4g", mae_of(t),
                 rmse_of(t));
    else
        snprintf(text, size, "error %.2f %%", 100 * error_of(t));
    return true;
}

void cli_report_json(const cli_report *report, json_t *object) {
    if (!report->wanted)
        return;
    put_figures(&report->overall, report->task, object);
    json_object_set(object, "blocks", report->blocks);
}

int cli_report_close(cli_session *session, cli_report *report, int code) {
    if (report->blocks)
        json_decref(report->blocks);
    if (report->output && code == EXIT_DONE)
        code = cli_check(session, limn_output_commit(report->output));
    else
        limn_output_discard(report->output);
    *report = (cli_report){.wanted = false};
    return code;
}
