/* size.c: sizes as text. */
#include "methods/student/student.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "256x128", up to a plus or the end; the rest, or NULL. */
static const char *parse_one(const char *text, st_size *size) {
    *size = (st_size){.layers = 0};
    for (;;) {
        char *end;
        if (*text < '1' || *text > '9' || size->layers == ST_LAYERS)
            return NULL;
        unsigned long units = strtoul(text, &end, 10);
        if (units > ST_UNITS)
            return NULL;
        size->units[size->layers++] = units;
        if (*end != 'x')
            return *end == '+' || *end == '\0' ? end : NULL;
        text = end + 1;
    }
}

size_t st_size_parse(const char *text, st_size out[ST_NETS]) {
    for (size_t nets = 1; nets <= ST_NETS; nets++) {
        text = parse_one(text, &out[nets - 1]);
        if (!text)
            return 0;
        if (*text == '\0')
            return nets;
        text++;
    }
    return 0;
}

void st_size_format(const st_size *sizes, size_t nets, char text[ST_SIZE_TEXT]) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < nets; i++)
        for (size_t l = 0; l < sizes[i].layers; l++)
            used += (size_t)snprintf(text + used, ST_SIZE_TEXT - used, "%s%zu",
                                     l   ? "x"
                                     : i ? "+"
                                         : "",
                                     sizes[i].units[l]);
}

double st_size_work(const st_size *size, size_t d, size_t outputs) {
    double work = 0, inputs = (double)d;
    for (size_t l = 0; l < size->layers; l++) {
        work += inputs * (double)size->units[l];
        inputs = (double)size->units[l];
    }
    return work + inputs * (double)outputs;
}

/* ---- what is worth racing ---- */

/* Share of the rows that the first of two networks hands over, as a rule. */
#define HANDED_OVER 0.2

typedef struct raced {
    const char *params;
    bool machine;
} raced;

static const raced narrow[] = {
    {"size=16", false},
    {"size=32", false},
    {"size=64", false},
    {"size=16+64", false},
    {"size=128", false},
    {"size=32+128", false},
    {"size=64+256", false},
    {"size=256", false},
    {"size=128+512", false},
    {"size=32+128 last=teacher", true},
    {"size=64+256 last=teacher", true},
};
/* Many features: a second layer costs little beside the first. */
static const raced wide[] = {
    {"size=16", false},         {"size=32", false},     {"size=16+128", false},
    {"size=64", false},         {"size=32+256", false}, {"size=128", false},
    {"size=64+256x128", false}, {"size=256", false},    {"size=32+256 last=teacher", true},
};

bool st_candidate(const lm_shape *shape, size_t index, lm_candidate *out) {
    bool many = shape->d > ST_MANY_FEATURES, regress = shape->task == LIMN_REGRESS;
    const raced *list = many ? wide : narrow;
    size_t count = many ? LM_COUNT(wide) : LM_COUNT(narrow), outputs;
    st_size sizes[ST_NETS];
    const raced *found = NULL;
    for (size_t i = 0; i < count && !found; i++)
        if (!regress || (!list[i].machine && !strchr(list[i].params, '+')))
            found = index-- == 0 ? &list[i] : NULL;
    if (!found)
        return false;
    outputs = st_outputs(shape->task, shape->classes);
    char text[ST_SIZE_TEXT];
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(found->params + 5, " "),
                   found->params + 5);
    size_t nets = st_size_parse(text, sizes);
    out->params = found->params;
    out->needs = found->machine ? LM_NEEDS_MACHINE : LM_NEEDS_TEACHER;
    out->cost = st_size_work(&sizes[0], shape->d, outputs);
    if (nets > 1)
        out->cost += HANDED_OVER * st_size_work(&sizes[1], shape->d, outputs);
    if (found->machine) /* what the machine costs is not known here */
        out->cost *= 4;
    return true;
}
