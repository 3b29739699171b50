/* list.c: who takes part in a race: the model itself, and every set of parameters that a method
 * which can be taught offers for it. Nothing here knows a method by name. */
#include "choose/race.h"

#include <math.h>
#include <stdlib.h>

static bool takes_part(const lm_method *method, const limn_model *model) {
    unsigned can = lm_method_capabilities(method);
    return (can & LIMN_CAN_BE_TAUGHT) && (can & lm_task_capability(model->schema.task));
}

/* The index-th offer of a method; without a list, its defaults. */
static bool offer(const lm_method *method, const lm_shape *shape, size_t index, lm_candidate *out) {
    *out = (lm_candidate){.params = "", .needs = LM_NEEDS_TEACHER, .cost = INFINITY};
    return method->candidate ? method->candidate(shape, index, out) : index == 0;
}

static lm_entry entry_of(const lm_method *method, const lm_candidate *c, size_t place) {
    double none = (double)NAN;
    return (lm_entry){.method = method,
                      .cost = c->cost,
                      .place = place,
                      .public = {.size = sizeof(limn_entry),
                                 .method = method->info.name,
                                 .params = c->params,
                                 .state = LIMN_ENTRY_NOT_TRIED,
                                 .seconds = none,
                                 .latency_us_mean = none,
                                 .latency_us_p50 = none,
                                 .latency_us_p99 = none,
                                 .speedup_libsvm = none,
                                 .speedup_exact = none,
                                 .accuracy = none,
                                 .uncertainty_coefficient = none,
                                 .agreement = none,
                                 .r2 = none,
                                 .loss = none}};
}

/* The methods that can draw nothing from this model are listed once, with the reason. */
static lm_entry refused(const lm_method *method, const char *why, size_t place) {
    lm_candidate none = {.params = "", .cost = INFINITY};
    lm_entry entry = entry_of(method, &none, place);
    entry.public.state = LIMN_ENTRY_UNSUPPORTED;
    entry.public.why = why;
    return entry;
}

/* Counts the offers of one method, and puts them into list, in which there are `place` before,
 * unless it is NULL. */
static size_t gather_from(const lm_method *method, const lm_shape *shape, bool machine,
                          size_t place, lm_entry *list) {
    const char *why = NULL;
    size_t count = 0;
    lm_candidate c;
    for (size_t i = 0; offer(method, shape, i, &c); i++) {
        if (c.unsupported) {
            why = c.unsupported;
        } else if (c.needs == LM_NEEDS_TEACHER || (c.needs == LM_NEEDS_MACHINE && machine)) {
            if (list)
                list[place + count] = entry_of(method, &c, place + count);
            count++;
        } else if (c.needs == LM_NEEDS_MACHINE) {
            why = "only an svm can be its teacher";
        }
    }
    if (count || !why)
        return count;
    if (list)
        list[place] = refused(method, why, place);
    return 1;
}

/* The same of all methods. */
static size_t gather(const limn_model *model, bool machine, lm_entry *list) {
    lm_shape shape = {.task = model->schema.task,
                      .d = model->scaler.out,
                      .classes = model->schema.labels.count,
                      .rows = model->rows};
    const lm_method *method;
    size_t count = 0;
    for (size_t m = 0; (method = lm_method_at(m)); m++)
        if (takes_part(method, model))
            count += gather_from(method, &shape, machine, count, list);
    return count;
}

/* Ties by place, so that the order does not depend on the sort. */
static int by_cost(const void *a, const void *b) {
    const lm_entry *x = a, *y = b;
    if (x->cost < y->cost || x->cost > y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

limn_status lm_race_list(limn_context *ctx, limn_race *race) {
    const limn_model *model = race->model;
    bool machine = lm_race_svm(model) != NULL;
    size_t count = gather(model, machine, NULL);
    race->entries = lm_alloc(&ctx->mem, count + 1, sizeof *race->entries);
    if (!race->entries)
        return lm_fail_memory(ctx);
    lm_candidate itself = {.params = ""};
    race->entries[0] = entry_of(model->method, &itself, 0);
    race->entries[0].model = model;
    (void)gather(model, machine, race->entries + 1);
    qsort(race->entries + 1, count, sizeof *race->entries, by_cost);
    race->info.entries = count + 1;
    return LIMN_OK;
}
