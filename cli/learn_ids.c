/* learn_ids.c: reads the file of limn learn --forget: row ids, one per line. Blank lines and blanks
 * around a number are ignored. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct ids {
    const char *name;
    uint64_t limit;
    uint64_t *list;
    size_t count, capacity;
} ids;

static int append(ids *all, uint64_t id) {
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? all->capacity * 2 : 256;
        uint64_t *list =
            capacity > SIZE_MAX / sizeof *list ? NULL : realloc(all->list, capacity * sizeof *list);
        if (!list)
            return cli_fail(EXIT_FAILED, "out of memory");
        all->list = list;
        all->capacity = capacity;
    }
    all->list[all->count++] = id;
    return EXIT_DONE;
}

static int add_line(ids *all, char *line, size_t length, size_t number) {
    char shown[CLI_NAME_BYTES], *end = NULL;
    bool zero = memchr(line, '\0', length) != NULL;
    while (length && isspace((unsigned char)line[length - 1]))
        line[--length] = '\0';
    while (isspace((unsigned char)*line))
        line++;
    if (!*line && !zero)
        return EXIT_DONE;
    errno = 0;
    unsigned long long id = isdigit((unsigned char)*line) ? strtoull(line, &end, 10) : 0;
    if (!end || *end || errno || zero)
        return cli_fail(EXIT_DATA,
                        "%s: line %zu: '%s' is not a row id; ids are whole numbers from 0, one per "
                        "line",
                        all->name, number, cli_text_name(line, 30, shown));
    if (id >= all->limit)
        return cli_fail(EXIT_DATA,
                        "%s: line %zu: there is no row %llu: the model has seen %" PRIu64
                        " row%s, counted from 0",
                        all->name, number, id, all->limit, all->limit == 1 ? "" : "s");
    return append(all, id);
}

static int read_lines(cli_session *session, FILE *file, ids *all) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    int code = EXIT_DONE;
    for (size_t number = 1; !code && (length = getline(&line, &capacity, file)) >= 0; number++) {
        code = add_line(all, line, (size_t)length, number);
        code = code ? code : cli_check_interrupt(session);
    }
    int why = errno;
    code = code ? code : cli_check_interrupt(session);
    if (!code && ferror(file))
        code = cli_fail(EXIT_FAILED, "%s: cannot read it: %s", all->name, strerror(why));
    free(line);
    return code;
}

int cli_read_ids(cli_session *session, const char *path, uint64_t limit, uint64_t **list,
                 size_t *count) {
    bool standard = strcmp(path, "-") == 0;
    ids all = {.name = standard ? "standard input" : path, .limit = limit};
    FILE *file = standard ? stdin : fopen(path, "r");
    *list = NULL;
    *count = 0;
    if (!file)
        return cli_fail(EXIT_FAILED, "%s: cannot open it: %s", path, strerror(errno));
    int code = read_lines(session, file, &all);
    if (!standard)
        fclose(file);
    if (code) {
        free(all.list);
        return code;
    }
    *list = all.list;
    *count = all.count;
    return EXIT_DONE;
}
