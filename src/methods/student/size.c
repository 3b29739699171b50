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
