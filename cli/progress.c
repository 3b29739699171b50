/* progress.c: the progress line on stderr, redrawn in place, and the interrupt flag.
 *
 * The line appears after one second of work and is redrawn at most ten times per second:
 *
 *     reading train.csv  1.2M rows  850k rows/s  ETA 0:12
 *     drawing borders  34 %  98.7 % agreement  ETA 0:05
 *
 * It has no colour, so NO_COLOR is irrelevant. */
#include "cli.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double first_draw = 1.0, redraw = 0.1;

double cli_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress_init(cli_progress *progress, bool enabled) {
    *progress = (cli_progress){.enabled = enabled && isatty(STDERR_FILENO), .begun = cli_now()};
    progress->stage_begun = progress->begun;
}

static size_t terminal_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return CLI_COLUMNS;
    return size.ws_col;
}

/* Appends at *used, cut to fit into line. */
static void append(char *line, size_t size, size_t *used, const char *text) {
    size_t length = strlen(text), room = size - 1 - *used;
    if (length > room)
        length = room;
    memcpy(line + *used, text, length);
    *used += length;
    line[*used] = '\0';
}

static void append_eta(char *line, size_t size, size_t *used, double seconds) {
    char text[64];
    long left = seconds > 1e7 ? 10000000L : (long)(seconds + 0.5);
    if (left >= 3600)
        snprintf(text, sizeof text, "  ETA %ld:%02ld:%02ld", left / 3600, left / 60 % 60,
                 left % 60);
    else
        snprintf(text, sizeof text, "  ETA %ld:%02ld", left / 60, left % 60);
    append(line, size, used, text);
}

static double fraction_done(const limn_progress *news) {
    if (news->fraction >= 0)
        return news->fraction;
    return news->rows_total ? (double)news->rows / (double)news->rows_total : -1;
}

static void compose(const cli_progress *progress, const limn_progress *news, double now, char *line,
                    size_t size) {
    char number[CLI_NUMBER_BYTES], name[CLI_NAME_BYTES];
    size_t used = 0;
    double spent = now - progress->stage_begun, fraction = fraction_done(news);
    append(line, size, &used, progress->stage);
    if (progress->file && strcmp(progress->stage, "reading") == 0) {
        const char *slash = strrchr(progress->file, '/');
        append(line, size, &used, " ");
        append(line, size, &used, cli_text_name(slash ? slash + 1 : progress->file, 30, name));
    }
    if (news->rows) {
        append(line, size, &used, "  ");
        append(line, size, &used, cli_text_count((double)news->rows, number));
        append(line, size, &used, " rows");
        if (spent > 0.5 && news->rows > progress->stage_rows) {
            double rate = (double)(news->rows - progress->stage_rows) / spent;
            append(line, size, &used, "  ");
            append(line, size, &used, cli_text_count(rate, number));
            append(line, size, &used, " rows/s");
        }
    } else if (fraction >= 0) {
        snprintf(number, sizeof number, "  %.0f %%", 100 * fraction);
        append(line, size, &used, number);
    }
    if (news->detail) {
        append(line, size, &used, "  ");
        append(line, size, &used, news->detail);
    }
    if (fraction > 0 && fraction <= 1 && spent > 0.5)
        append_eta(line, size, &used, spent * (1 - fraction) / fraction);
}

static void start_stage(cli_progress *progress, const limn_progress *news, double now) {
    const char *stage = news->stage ? news->stage : "working";
    if (strncmp(progress->stage, stage, sizeof progress->stage - 1) == 0)
        return;
    snprintf(progress->stage, sizeof progress->stage, "%s", stage);
    progress->stage_begun = now;
    progress->stage_rows = news->rows;
}

int cli_progress_tell(cli_progress *progress, const limn_progress *news) {
    if (!progress->enabled)
        return cli_interrupted();
    double now = cli_now();
    start_stage(progress, news, now);
    if (now - progress->begun >= first_draw && now - progress->drawn >= redraw) {
        char line[256];
        compose(progress, news, now, line, sizeof line);
        /* One column stays free: some terminals wrap a full line. */
        size_t columns = terminal_columns() - 1;
        while (cli_text_width(line) > columns)
            line[strlen(line) - 1] = '\0';
        fprintf(stderr, "\r\033[K%s", line);
        fflush(stderr);
        progress->shown = true;
        progress->drawn = now;
    }
    return cli_interrupted();
}

void cli_progress_clear(cli_progress *progress) {
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->shown = false;
    }
}

/* ---- interrupts ---- */

static volatile sig_atomic_t interrupted;

/* A signal that arrives between checking the flag and a blocking read would be lost. The alarm
 * interrupts that read, and any later one, a second afterwards. */
static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
    alarm(1);
}

static void catch_signal(int signal_number) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt; /* no SA_RESTART: blocking calls must return */
    sigemptyset(&action.sa_mask);
    /* A signal that the parent process ignored (nohup, background jobs) stays ignored. */
    if (sigaction(signal_number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(signal_number, &action, NULL);
}

void cli_catch_interrupts(void) {
    catch_signal(SIGALRM);
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    catch_signal(SIGHUP);
}

bool cli_interrupted(void) {
    return interrupted != 0;
}
