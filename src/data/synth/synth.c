/* synth.c: the table of generators, and their rows streamed into a file.
 *
 * Rows are made and written in blocks, so memory does not grow with their number. Columns are named
 * x1, x2, ...; the last one is "label" with the classes 0, 1, ..., or "y" with the target. */
#include "data/synth/synth.h"

#include "base/sized.h"

#include "data/write/write.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_ROWS = 4096, BLOCK_VALUES = 1 << 18 };

/* ---- the table ---- */

static const lm_synth *const generators[] = {
    &lm_synth_linear, &lm_synth_wave,      &lm_synth_islands, &lm_synth_checker,  &lm_synth_disks,
    &lm_synth_curved, &lm_synth_hypercube, &lm_synth_mixture, &lm_synth_friedman, &lm_synth_drift,
};

size_t limn_synth_count(void) {
    return LM_COUNT(generators);
}

const limn_synth_info *limn_synth_at(size_t index) {
    return index < LM_COUNT(generators) ? &generators[index]->info : NULL;
}

const lm_synth *lm_synth_find(const char *name) {
    for (size_t i = 0; name && i < LM_COUNT(generators); i++)
        if (strcmp(generators[i]->info.name, name) == 0)
            return generators[i];
    return NULL;
}

const limn_synth_info *limn_synth_find(const char *name) {
    const lm_synth *generator = lm_synth_find(name);
    return generator ? &generator->info : NULL;
}

static limn_status fail_unknown(limn_context *ctx, const char *name) {
    char quoted[48], known[256] = "";
    for (size_t i = 0; i < LM_COUNT(generators); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 generators[i]->info.name);
    }
    return lm_fail(ctx, LIMN_E_USAGE, "there is no generator '%s'; choose from %s",
                   lm_quote(name, strlen(name), quoted), known);
}

/* ---- rows ---- */

limn_status lm_synth_start(limn_context *ctx, const char *name, const char *const *params,
                           size_t count, lm_synth_run *run) {
    memset(run, 0, sizeof *run);
    run->mem = ctx->mem;
    run->seed = ctx->seed;
    if (!name)
        return lm_fail(ctx, LIMN_E_USAGE, "no generator is named; limn_synth_at lists them");
    run->generator = lm_synth_find(name);
    if (!run->generator)
        return fail_unknown(ctx, name);
    const limn_synth_info *info = &run->generator->info;
    lm_params_init(info->name, info->params, info->param_count, &run->params);
    for (size_t i = 0; i < count; i++) {
        limn_status status = lm_params_set(ctx, &run->params, params[i]);
        if (status)
            return status;
    }
    run->generator->shape(&run->params, &run->features, &run->classes);
    return run->generator->prepare ? run->generator->prepare(ctx, run) : LIMN_OK;
}

void lm_synth_stop(lm_synth_run *run) {
    lm_free(&run->mem, run->state);
    run->state = NULL;
}

double lm_synth_label(const lm_synth_run *run, lm_rng *rng, uint64_t label) {
    if (lm_rng_unit(rng) < lm_param_real(&run->params, "noise"))
        label = (label + 1 + lm_rng_below(rng, run->classes - 1)) % run->classes;
    return (double)label;
}

void lm_synth_rows(const lm_synth_run *run, uint64_t first, size_t n, float *x, int32_t *classes,
                   double *targets) {
    for (size_t i = 0; i < n; i++) {
        double y = 0;
        lm_rng rng = lm_rng_at(run->seed, LM_STREAM_SYNTH, first + i);
        run->generator->row(run, first + i, &rng, x + i * run->features, &y);
        if (run->classes)
            classes[i] = (int32_t)y;
        else
            targets[i] = y;
    }
}

/* ---- into a file ---- */

static limn_status name_columns(limn_context *ctx, lm_schema *schema) {
    char name[32];
    limn_status status = lm_schema_add_columns(ctx, schema);
    for (size_t c = 0; c < schema->columns && !status; c++) {
        snprintf(name, sizeof name, "x%zu", c + 1);
        schema->column[c].name = lm_strdup(schema->mem, name);
        if (!schema->column[c].name)
            status = lm_fail_memory(ctx);
    }
    return status;
}

static limn_status name_classes(limn_context *ctx, lm_schema *schema, size_t classes) {
    char name[32];
    int32_t id;
    limn_status status = LIMN_OK;
    for (size_t c = 0; c < classes && !status; c++) {
        int length = snprintf(name, sizeof name, "%zu", c);
        status = lm_labels_add(ctx, &schema->labels, name, (size_t)length, &id);
    }
    return status;
}

static limn_status make_schema(limn_context *ctx, const lm_synth_run *run, lm_schema *schema) {
    schema->task = run->generator->info.task;
    schema->columns = run->features;
    schema->label_column = run->features;
    schema->label_name = lm_strdup(schema->mem, run->classes ? "label" : "y");
    if (!schema->label_name)
        return lm_fail_memory(ctx);
    limn_status status = name_columns(ctx, schema);
    status = status ? status : lm_schema_settle(ctx, schema);
    return status ? status : name_classes(ctx, schema, run->classes);
}

static size_t block_rows(size_t features, uint64_t rows) {
    size_t most = BLOCK_VALUES / features;
    most = most < 1 ? 1 : most > BLOCK_ROWS ? BLOCK_ROWS : most;
    return rows < most ? (size_t)rows : most;
}

static limn_status stream(limn_context *ctx, const lm_synth_run *run, uint64_t rows,
                          lm_table_out *table) {
    limn_status status = LIMN_OK;
    size_t block = block_rows(run->features, rows), values;
    float *x =
        lm_mul(block, run->features, &values) ? lm_alloc(&ctx->mem, values, sizeof *x) : NULL;
    int32_t *classes = lm_alloc(&ctx->mem, block, sizeof *classes);
    double *targets = lm_alloc(&ctx->mem, block, sizeof *targets);
    if (!x || !classes || !targets)
        status = lm_fail_memory(ctx);
    for (uint64_t first = 0; first < rows && !status; first += block) {
        size_t n = rows - first < block ? (size_t)(rows - first) : block;
        lm_synth_rows(run, first, n, x, classes, targets);
        const limn_rows made = {.n = n,
                                .x = x,
                                .classes = run->classes ? classes : NULL,
                                .targets = run->classes ? NULL : targets};
        status = lm_table_put(table, &made);
        if (!status)
            status = lm_progress(ctx, "writing", first + n, rows, -1);
    }
    lm_free(&ctx->mem, x);
    lm_free(&ctx->mem, classes);
    lm_free(&ctx->mem, targets);
    return status;
}

static limn_status write_rows(limn_context *ctx, const lm_synth_run *run, uint64_t rows,
                              const char *path, const limn_write_options *writing) {
    lm_schema schema;
    lm_table_out *table = NULL;
    lm_schema_init(&schema, &ctx->mem);
    const lm_table_shape shape = {.schema = &schema, .rows = rows, .labelled = true};
    limn_status status = make_schema(ctx, run, &schema);
    status = status ? status : lm_table_open(ctx, path, writing, &shape, &table);
    if (status)
        goto done;
    status = stream(ctx, run, rows, table);
    if (status)
        goto done;
    status = lm_table_commit(table);
    table = NULL;
done:
    lm_table_discard(table);
    lm_schema_free(&schema);
    return status;
}

void limn_synth_options_init(limn_synth_options *options) {
    LM_SIZED_INIT(options);
}

limn_status limn_synth(limn_context *context, const limn_synth_options *options, const char *path,
                       const limn_write_options *writing) {
    lm_synth_run run;
    limn_synth_options own;
    limn_write_options format;
    limn_synth_options_init(&own);
    limn_write_options_init(&format);
    limn_status status = lm_options_take(context, "synth_options", options, &own, sizeof own);
    if (!status)
        status = lm_options_take(context, "write_options", writing, &format, sizeof format);
    if (status)
        return status;
    status = lm_synth_start(context, own.name, own.params, own.param_count, &run);
    if (!status && own.rows == 0)
        status =
            lm_fail(context, LIMN_E_USAGE, "%s: cannot make 0 rows; ask for at least 1", own.name);
    if (!status)
        status = write_rows(context, &run, own.rows, path, &format);
    lm_synth_stop(&run);
    return status;
}
