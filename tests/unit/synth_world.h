/* synth_world.h: shared by the tests of src/data/synth: the rows of a generator, in memory. */
#ifndef LIMN_TESTS_SYNTH_WORLD_H
#define LIMN_TESTS_SYNTH_WORLD_H

#include "data/synth/synth.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the two above */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMS = 8, TEXT = 64, BLOCK = 97 };

typedef struct made {
    size_t n, d, k;
    float *x;
    int32_t *c;
    double *y;
} made;

typedef struct list {
    size_t count;
    const char *items[MOST_PARAMS];
    char text[MOST_PARAMS * TEXT];
} list;

/* "a=1 b=2" in pieces. */
static inline void split(const char *text, list *out) {
    out->count = 0;
    assert_true(strlen(text) < sizeof out->text);
    strcpy(out->text, text);
    for (char *word = strtok(out->text, " "); word; word = strtok(NULL, " "))
        out->items[out->count++] = word;
}

/* In blocks of an odd size: no row may depend on its neighbours. */
static inline made make(uint64_t seed, const char *name, const char *params, size_t n) {
    made m = {.n = n};
    list given;
    lm_synth_run run;
    limn_context *ctx = make_context(NULL, 1, seed);
    split(params, &given);
    if (lm_synth_start(ctx, name, given.items, given.count, &run) != LIMN_OK)
        fail_msg("%s %s: %s", name, params, limn_error(ctx));
    m.d = run.features;
    m.k = run.classes;
    m.x = malloc(n * m.d * sizeof *m.x);
    m.c = malloc(n * sizeof *m.c);
    m.y = malloc(n * sizeof *m.y);
    assert_true(m.x && m.c && m.y);
    for (size_t i = 0; i < n; i += BLOCK)
        lm_synth_rows(&run, i, n - i < BLOCK ? n - i : BLOCK, m.x + i * m.d, m.c + i, m.y + i);
    lm_synth_stop(&run);
    limn_context_free(ctx);
    return m;
}

static inline void drop(made *m) {
    free(m->x);
    free(m->c);
    free(m->y);
}

#endif
