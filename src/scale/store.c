/* store.c: the scaling in a model file: the kind, what it keeps of each feature, and how it was
 * chosen. */
#include "scale/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Readers of version 1 know lines only. */
enum { LINES_VERSION = 1, SCALER_VERSION = 2 };

/* ---- saving ---- */

static void put_lines(const lm_scaler *s, lm_kv_out *kv) {
    lm_kv_put_reals(kv, "offset", s->offset, s->kept);
    lm_kv_put_reals(kv, "factor", s->factor, s->kept);
}

/* The knots themselves are a section of their own. */
static limn_status put_counts(limn_context *ctx, const lm_curves *c, lm_kv_out *kv) {
    double *count = lm_alloc(&ctx->mem, c->columns, sizeof *count);
    if (!count)
        return lm_fail_memory(ctx);
    for (size_t j = 0; j < c->columns; j++)
        count[j] = (double)(c->start[j + 1] - c->start[j]);
    lm_kv_put_reals(kv, "knots", count, c->columns);
    lm_free(&ctx->mem, count);
    return LIMN_OK;
}

static limn_status save_knots(const lm_curves *c, lm_writer *writer) {
    return lm_writer_section(writer, "scaler.knots", SCALER_VERSION, c->x,
                             2 * (size_t)c->start[c->columns] * sizeof *c->x);
}

static limn_status put_columns(limn_context *ctx, const lm_scaler *s, lm_kv_out *kv) {
    double *keep = lm_alloc(&ctx->mem, s->kept, sizeof *keep);
    if (!keep)
        return lm_fail_memory(ctx);
    for (size_t j = 0; j < s->kept; j++)
        keep[j] = s->keep[j];
    lm_kv_put_reals(kv, "keep", keep, s->kept);
    lm_free(&ctx->mem, keep);
    if (!s->offset)
        return put_counts(ctx, &s->curves, kv);
    put_lines(s, kv);
    return LIMN_OK;
}

enum { TRIAL_NUMBERS = 4, KEY_BYTES = 32 };

/* "PREFIX_rows", "PREFIX_names" and, four to a name, "PREFIX_trials". */
static void put_trials(const lm_trials *t, const char *prefix, lm_kv_out *kv) {
    char key[KEY_BYTES];
    char *names[LM_TRIALS_MAX];
    double numbers[LM_TRIALS_MAX * TRIAL_NUMBERS];
    if (!t->rows)
        return;
    for (size_t i = 0; i < t->count; i++) {
        names[i] = (char *)(uintptr_t)t->list[i].name;
        numbers[i * TRIAL_NUMBERS] = (double)t->list[i].wrong;
        numbers[i * TRIAL_NUMBERS + 1] = (double)t->list[i].mends;
        numbers[i * TRIAL_NUMBERS + 2] = (double)t->list[i].breaks;
        numbers[i * TRIAL_NUMBERS + 3] = t->list[i].taken;
    }
    snprintf(key, sizeof key, "%s_rows", prefix);
    lm_kv_put_int(kv, key, (int64_t)t->rows);
    snprintf(key, sizeof key, "%s_names", prefix);
    lm_kv_put_texts(kv, key, names, t->count);
    snprintf(key, sizeof key, "%s_trials", prefix);
    lm_kv_put_reals(kv, key, numbers, t->count * TRIAL_NUMBERS);
}

limn_status lm_scaler_save(limn_context *ctx, const lm_scaler *s, lm_writer *writer) {
    bool lines = lm_scale_is_line(s->kind) && !s->map;
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, "scaler", lines ? LINES_VERSION : SCALER_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_text(kv, "kind", limn_scale_name(s->kind));
    lm_kv_put_int(kv, "features", (int64_t)s->kept);
    if (s->learned)
        lm_kv_put_int(kv, "learned", 1);
    if (s->kind != LIMN_SCALE_NONE)
        status = put_columns(ctx, s, kv);
    if (s->target)
        lm_kv_put_reals(kv, "target", (const double[]){s->target_offset, s->target_factor}, 2);
    put_trials(&s->chosen, "chosen", kv);
    put_trials(&s->gate, "gate", kv);
    if (status == LIMN_OK && s->map)
        status = lm_map_put(ctx, s->map, kv);
    if (status == LIMN_OK)
        status = lm_kv_end(kv);
    if (status == LIMN_OK && s->curves.columns)
        status = save_knots(&s->curves, writer);
    return status == LIMN_OK && s->map ? lm_map_save(s->map, writer) : status;
}

/* ---- loading ---- */

/* Only ranges may have a factor of 0. */
static bool is_factor(const lm_scaler *s, double factor) {
    return isfinite(factor) && (factor > 0 || (factor == 0 && s->kind == LIMN_SCALE_RANGES));
}

static limn_status get_target(limn_context *ctx, const lm_kv *kv, lm_scaler *s) {
    double target[2] = {0, 1};
    if (!lm_kv_has(kv, "target"))
        return LIMN_OK;
    limn_status status = lm_kv_reals(kv, "target", 2, target);
    if (status == LIMN_OK && (s->kind != LIMN_SCALE_RANGES || !isfinite(target[0]) ||
                              !isfinite(target[1]) || target[1] < 0))
        status = lm_file_bad(ctx, kv->file, "the scaling of its target is not valid");
    s->target = status == LIMN_OK;
    s->target_offset = target[0];
    s->target_factor = target[1];
    return status;
}

static limn_status get_lines(limn_context *ctx, const lm_kv *kv, lm_scaler *s) {
    limn_status status = lm_kv_reals(kv, "offset", s->kept, s->offset);
    if (status == LIMN_OK)
        status = lm_kv_reals(kv, "factor", s->kept, s->factor);
    for (size_t j = 0; j < s->kept && status == LIMN_OK; j++) {
        if (!is_factor(s, s->factor[j]))
            status = lm_file_bad(ctx, kv->file, "the scaling factor of feature %zu is not positive",
                                 j + 1);
        else if (!isfinite(s->offset[j]))
            status = lm_file_bad(ctx, kv->file, "the scaling offset of feature %zu is not finite",
                                 j + 1);
    }
    return status;
}

/* Each above the one before it within its column. */
static limn_status check_rising(const lm_kv *kv, const lm_curves *c, const float *list) {
    for (size_t j = 0; j < c->columns; j++)
        for (size_t k = c->start[j]; k < c->start[j + 1]; k++)
            if (!isfinite(list[k]) || (k > c->start[j] && !(list[k] > list[k - 1])))
                return lm_file_bad(kv->ctx, kv->file,
                                   "the curve of scaled feature %zu does not rise", j + 1);
    return LIMN_OK;
}

static limn_status get_starts(const lm_kv *kv, size_t columns, const double *knots,
                              uint32_t *start) {
    start[0] = 0;
    for (size_t j = 0; j < columns; j++) {
        if (!(knots[j] >= 1 && knots[j] <= LM_KNOTS_MAX && knots[j] == floor(knots[j])))
            return lm_file_bad(kv->ctx, kv->file,
                               "the number of knots of scaled feature %zu is "
                               "not valid",
                               j + 1);
        start[j + 1] = start[j] + (uint32_t)knots[j];
    }
    return LIMN_OK;
}

static limn_status get_knots(limn_context *ctx, const lm_kv *kv, const uint32_t *start,
                             lm_scaler *s) {
    size_t knots = start[s->kept];
    const void *data = NULL;
    limn_status status = lm_file_array(ctx, kv->file, "scaler.knots", SCALER_VERSION, 2 * knots,
                                       sizeof(float), &data);
    if (status == LIMN_OK && !lm_curves_take(&ctx->mem, s->kept, knots, &s->curves))
        status = lm_fail_memory(ctx);
    if (status != LIMN_OK)
        return status;
    memcpy(s->curves.start, start, (s->kept + 1) * sizeof *start);
    memcpy(s->curves.x, data, 2 * knots * sizeof *s->curves.x);
    status = check_rising(kv, &s->curves, s->curves.x);
    if (status == LIMN_OK)
        status = check_rising(kv, &s->curves, s->curves.y);
    if (status == LIMN_OK)
        lm_curves_finish(&s->curves);
    return status;
}

static limn_status get_curves(limn_context *ctx, const lm_kv *kv, lm_scaler *s) {
    if (s->kept > UINT32_MAX / LM_KNOTS_MAX)
        return lm_file_bad(ctx, kv->file, "its scaling has curves for too many features");
    double *count = lm_alloc(&ctx->mem, s->kept, sizeof *count);
    uint32_t *start = lm_alloc(&ctx->mem, s->kept + 1, sizeof *start);
    limn_status status =
        count && start ? lm_kv_reals(kv, "knots", s->kept, count) : lm_fail_memory(ctx);
    if (status == LIMN_OK)
        status = get_starts(kv, s->kept, count, start);
    if (status == LIMN_OK)
        status = get_knots(ctx, kv, start, s);
    lm_free(&ctx->mem, count);
    lm_free(&ctx->mem, start);
    return status;
}

static limn_status get_columns(limn_context *ctx, const lm_kv *kv, lm_scaler *s) {
    bool lines = lm_scale_is_line(s->kind);
    /* These lists must fit in the section before memory is allocated. */
    size_t lists = lines ? 3 : 2;
    if (s->kept > kv->section.size / (lists * sizeof(double)))
        return lm_file_bad(ctx, kv->file, "the scaling of %zu features is truncated", s->kept);
    limn_status status = LIMN_OK;
    double *keep = lm_alloc(&ctx->mem, s->kept, sizeof *keep);
    if (!lm_scaler_take(&ctx->mem, s->kept, lines, s) || !keep)
        status = lm_fail_memory(ctx);
    else
        status = lm_kv_reals(kv, "keep", s->kept, keep);
    for (size_t j = 0; j < s->kept && status == LIMN_OK; j++) {
        bool ascending = j == 0 || keep[j] > keep[j - 1];
        if (!(keep[j] >= 0 && keep[j] < (double)s->in && keep[j] == floor(keep[j]) && ascending))
            status = lm_file_bad(ctx, kv->file, "scaled feature %zu does not exist", j + 1);
        else
            s->keep[j] = (uint32_t)keep[j];
    }
    lm_free(&ctx->mem, keep);
    if (status == LIMN_OK)
        status = lines ? get_lines(ctx, kv, s) : get_curves(ctx, kv, s);
    return status == LIMN_OK ? get_target(ctx, kv, s) : status;
}

static const char *known_trial(const char *name) {
    static const char *const names[] = {"none",     "minmax", "zscore", "rank", "gauss",
                                        "identity", "soft",   "d1f",    "d2f",  "d4f"};
    for (size_t i = 0; name && i < LM_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    return NULL;
}

static bool is_count(double value, uint64_t most) {
    return value >= 0 && value <= (double)most && value == floor(value);
}

static bool get_trial(const double *numbers, uint64_t rows, lm_trial *trial) {
    for (size_t i = 0; i < TRIAL_NUMBERS - 1; i++)
        if (!is_count(numbers[i], LM_JUDGES * rows))
            return false;
    trial->wrong = (uint64_t)numbers[0];
    trial->mends = (uint64_t)numbers[1];
    trial->breaks = (uint64_t)numbers[2];
    trial->taken = numbers[3] == 1;
    return numbers[3] == 0 || numbers[3] == 1;
}

static limn_status get_trials(const lm_kv *kv, const char *prefix, lm_trials *t) {
    char key[KEY_BYTES];
    int64_t rows = 0;
    lm_texts names;
    double numbers[LM_TRIALS_MAX * TRIAL_NUMBERS];
    snprintf(key, sizeof key, "%s_rows", prefix);
    if (!lm_kv_has(kv, key))
        return LIMN_OK;
    limn_status status = lm_kv_int(kv, key, 1, INT64_MAX / LM_JUDGES, &rows);
    snprintf(key, sizeof key, "%s_names", prefix);
    if (status == LIMN_OK)
        status = lm_kv_texts(kv, key, &names);
    if (status == LIMN_OK && !(names.left >= 1 && names.left <= LM_TRIALS_MAX))
        status = lm_file_bad(kv->ctx, kv->file, "the trials of its scaling are not valid");
    snprintf(key, sizeof key, "%s_trials", prefix);
    size_t count = status == LIMN_OK ? names.left : 0;
    if (status == LIMN_OK)
        status = lm_kv_reals(kv, key, count * TRIAL_NUMBERS, numbers);
    for (size_t i = 0; i < count && status == LIMN_OK; i++) {
        t->list[i].name = known_trial(lm_texts_next(&names));
        if (!t->list[i].name ||
            !get_trial(numbers + i * TRIAL_NUMBERS, (uint64_t)rows, &t->list[i]))
            status = lm_file_bad(kv->ctx, kv->file, "a trial of its scaling is not valid");
    }
    t->rows = (uint64_t)rows;
    t->count = count;
    return status;
}

static limn_status get_choice(limn_context *ctx, const lm_kv *kv, lm_scaler *s) {
    int64_t learned = 0;
    limn_status status = LIMN_OK;
    if (lm_kv_has(kv, "learned"))
        status = lm_kv_int(kv, "learned", 0, 1, &learned);
    s->learned = learned != 0;
    if (status == LIMN_OK)
        status = get_trials(kv, "chosen", &s->chosen);
    if (status == LIMN_OK)
        status = get_trials(kv, "gate", &s->gate);
    if (status == LIMN_OK && s->learned && lm_kv_has(kv, "axes"))
        status = lm_map_load(ctx, kv, s->kept, &s->map);
    if (status == LIMN_OK && lm_file_has(kv->file, "scaler.map") != (s->map != NULL))
        status = lm_file_bad(ctx, kv->file, "its scaling does not mention the map that it has");
    if (status == LIMN_OK && s->map)
        s->out = s->map->out;
    return status;
}

limn_status lm_scaler_load(limn_context *ctx, const lm_file *file, size_t features, lm_scaler *s) {
    static const limn_scale kinds[] = {LIMN_SCALE_NONE, LIMN_SCALE_MINMAX, LIMN_SCALE_ZSCORE,
                                       LIMN_SCALE_RANK, LIMN_SCALE_GAUSS,  LIMN_SCALE_RANGES};
    lm_kv kv;
    const char *name = "";
    int64_t kept = 0;
    size_t kind = 0;
    limn_status status = lm_kv_open(ctx, file, "scaler", SCALER_VERSION, &kv);
    if (status == LIMN_OK)
        status = lm_kv_text(&kv, "kind", &name);
    if (status == LIMN_OK)
        status = lm_kv_int(&kv, "features", 1, (int64_t)features, &kept);
    if (status != LIMN_OK)
        return status;
    while (kind < LM_COUNT(kinds) && strcmp(limn_scale_name(kinds[kind]), name) != 0)
        kind++;
    s->in = features;
    s->out = s->kept = (size_t)kept;
    if (kind == LM_COUNT(kinds) || (kinds[kind] == LIMN_SCALE_NONE && s->in != s->kept))
        return lm_file_bad(ctx, file, "the scaling '%.40s' of %zu features is not valid", name,
                           s->kept);
    s->kind = kinds[kind];
    if (s->kind != LIMN_SCALE_NONE)
        status = get_columns(ctx, &kv, s);
    return status == LIMN_OK ? get_choice(ctx, &kv, s) : status;
}
