/* expansion.c: see expansion.h.
 *
 * Kernel values are floats, also where learning uses them, so that learning sees what a query sees.
 * Coefficients are doubles; queries sum them as floats, sixteen at a time (num/kernel_sums.h). */
#include "fit/expansion.h"

#include "num/kernel_sums.h"

#include <math.h>
#include <string.h>

/* A row of which vectors leave over no more than this share of K(x, x) is spanned by them. Spanned
 * vectors are left out of projections: their row of the factor is 0 but for a pivot so large that
 * they get no part. Otherwise the rounding of kernel values, divided by small pivots, would grow
 * from row to row. */
#define SPANNED 1e-4
#define SPANNED_PIVOT 1e200

/* ---- memory ---- */

static void free_sum(const limn_allocator *mem, lm_expansion_sum *s) {
    lm_free_aligned(mem, s->last);
    lm_free_aligned(mem, s->mean);
    lm_free(mem, s->start);
    lm_free(mem, s->panel);
    *s = (lm_expansion_sum){.blocks = 0};
}

static bool make_sum(const limn_allocator *mem, size_t panels, size_t outputs,
                     lm_expansion_sum *s) {
    size_t cells;
    *s = (lm_expansion_sum){.blocks = 0};
    if (!lm_mul(panels, outputs, &s->blocks) || !lm_mul(s->blocks, LM_PANEL, &cells))
        return false;
    s->last = lm_alloc_aligned(mem, cells, sizeof *s->last);
    s->mean = lm_alloc_aligned(mem, cells, sizeof *s->mean);
    s->start = lm_alloc(mem, outputs + 1, sizeof *s->start);
    s->panel = lm_alloc(mem, s->blocks, sizeof *s->panel);
    return s->last && s->mean && s->start && s->panel;
}

/* All but the pack and what queries sum. */
static void free_own(const limn_allocator *mem, lm_expansion *e) {
    if (!e->room)
        return;
    lm_free(mem, e->coef);
    lm_free(mem, e->drift);
    lm_free(mem, e->row);
    lm_free(mem, e->alpha);
    lm_free(mem, e->factor.l);
    lm_free(mem, e->factor.ones);
    lm_free_aligned(mem, e->values);
}

void lm_expansion_free(const limn_allocator *mem, lm_expansion *e) {
    free_own(mem, e);
    lm_pack_free(mem, &e->pack);
    free_sum(mem, &e->sum);
    *e = (lm_expansion){.room = 0};
}

static bool make_factor(const limn_allocator *mem, const lm_expansion *e, size_t room,
                        lm_cholesky *out) {
    const lm_cholesky *old = &e->factor;
    size_t cells;
    *out = (lm_cholesky){.capacity = room, .kernels = lm_simd_get()->dense};
    if (!e->factored)
        return true;
    out->l = lm_mul(room, room, &cells) ? lm_alloc(mem, cells, sizeof *out->l) : NULL;
    out->ones = lm_alloc(mem, room, sizeof *out->ones);
    if (!out->l || !out->ones)
        return false;
    out->size = old->size;
    for (size_t i = 0; i < out->size; i++)
        memcpy(out->l + i * room, old->l + i * old->capacity, (i + 1) * sizeof *out->l);
    if (out->size)
        memcpy(out->ones, old->ones, out->size * sizeof *out->ones);
    return true;
}

/* Zeros where there is nothing to copy. */
static double *copy_cells(const limn_allocator *mem, const double *from, size_t n, size_t room,
                          size_t outputs) {
    size_t cells;
    double *to = lm_mul(room, outputs, &cells) ? lm_alloc_zero(mem, cells, sizeof *to) : NULL;
    if (to && from && n)
        memcpy(to, from, n * outputs * sizeof *to);
    return to;
}

/* Memory for room vectors, with what e has in it; the pack is left as it is. */
static bool make_own(const limn_allocator *mem, const lm_expansion *e, size_t room,
                     lm_expansion *out) {
    *out = *e;
    out->room = room;
    out->coef = copy_cells(mem, e->coef, e->pack.n, room, e->outputs);
    out->drift = copy_cells(mem, e->drift, e->pack.n, room, e->outputs);
    out->row = lm_alloc(mem, room, sizeof *out->row);
    out->alpha = lm_alloc(mem, room, sizeof *out->alpha);
    out->values = lm_alloc_aligned(mem, room + e->pack.d, sizeof *out->values);
    bool factor = make_factor(mem, e, room, &out->factor);
    bool sum = make_sum(mem, room / LM_PANEL, e->outputs, &out->sum);
    return factor && sum && out->coef && out->drift && out->row && out->alpha && out->values;
}

limn_status lm_expansion_reserve(limn_context *ctx, lm_expansion *e, size_t n) {
    const limn_allocator *mem = &ctx->mem;
    lm_expansion next;
    if (e->room && n <= e->room)
        return LIMN_OK;
    if (n > LM_EXPANSION_MOST)
        return lm_fail(ctx, LIMN_E_DATA,
                       "the model would have more than %d vectors; use a method with a budget",
                       LM_EXPANSION_MOST);
    size_t room = n < 2 * e->room ? 2 * e->room : n;
    room = (room + LM_PANEL - 1) / LM_PANEL * LM_PANEL + LM_PANEL;
    limn_status status = lm_pack_reserve(ctx, &e->pack, room);
    if (status != LIMN_OK)
        return status;
    if (!make_own(mem, e, room, &next)) {
        free_own(mem, &next);
        free_sum(mem, &next.sum);
        return lm_fail_memory(ctx);
    }
    bool borrowed = !e->room;
    free_own(mem, e);
    free_sum(mem, &e->sum);
    *e = next;
    if (borrowed && e->factored && e->factor.size < e->pack.n)
        lm_expansion_factorise(e);
    lm_expansion_refresh(e);
    return LIMN_OK;
}

limn_status lm_expansion_settle(limn_context *ctx, lm_expansion *e) {
    free_sum(&ctx->mem, &e->sum);
    if (!make_sum(&ctx->mem, e->pack.panels, e->outputs, &e->sum))
        return lm_fail_memory(ctx);
    lm_expansion_refresh(e);
    return LIMN_OK;
}

limn_status lm_expansion_copy(limn_context *ctx, const lm_expansion *from, size_t n,
                              lm_expansion *to) {
    *to = *from;
    to->room = 0; /* all is borrowed, the factor too if there is one: making it costs n^3 */
    to->sum = (lm_expansion_sum){.blocks = 0};
    to->row = to->alpha = NULL;
    to->values = NULL;
    lm_pack_view(from->pack.data, from->pack.n, from->pack.d, &to->pack);
    limn_status status = lm_expansion_reserve(ctx, to, n > to->pack.n ? n : to->pack.n);
    if (status != LIMN_OK)
        lm_expansion_free(&ctx->mem, to);
    return status;
}

limn_status lm_expansion_widen(limn_context *ctx, lm_expansion *e, size_t outputs) {
    lm_expansion next;
    lm_expansion from = *e;
    size_t old = e->outputs;
    from.outputs = outputs;
    from.pack.n = 0; /* nothing is copied */
    if (!make_own(&ctx->mem, &from, e->room, &next)) {
        free_own(&ctx->mem, &next);
        free_sum(&ctx->mem, &next.sum);
        return lm_fail_memory(ctx);
    }
    next.pack = e->pack;
    for (size_t j = 0; j < e->pack.n; j++)
        for (size_t o = 0; o < outputs; o++) {
            size_t at = j * outputs + o;
            bool second = old == 1 && o == 1;
            size_t source = j * old + (second ? 0 : o);
            next.coef[at] = second ? -e->coef[source] : o < old ? e->coef[source] : 0;
            next.drift[at] = second ? -e->drift[source] : o < old ? e->drift[source] : 0;
        }
    free_own(&ctx->mem, e);
    free_sum(&ctx->mem, &e->sum);
    *e = next;
    lm_expansion_refresh(e);
    return LIMN_OK;
}

/* ---- queries ---- */

static void cut(const lm_expansion *e, float *values, size_t n) {
    lm_kernel_type type = e->kernel.type;
    if (type == LM_RBF || type == LM_CHI2_KERNEL || type == LM_SIGMOID)
        return; /* within -1 .. 1 */
    for (size_t i = 0; i < n; i++) {
        float value = values[i] == values[i] ? values[i] : 0;
        value = value > LM_KERNEL_MOST ? LM_KERNEL_MOST : value;
        values[i] = value < -LM_KERNEL_MOST ? -LM_KERNEL_MOST : value;
    }
}

void lm_expansion_values(const lm_expansion *e, const float *x, float *values) {
    lm_pack_query(&e->pack, lm_kernel_metric(&e->kernel), 0, e->pack.panels, x, values);
    lm_kernel_apply(&e->kernel, values, lm_expansion_width(e));
    cut(e, values, lm_expansion_width(e));
}

void lm_expansion_sums(const lm_expansion *e, bool mean, const float *values, float *f) {
    lm_sum_lists lists = {e->sum.start, e->sum.panel, mean ? e->sum.mean : e->sum.last};
    if (!e->pack.n) {
        memset(f, 0, e->outputs * sizeof *f);
        return;
    }
    lm_kernel_sums(values, 0, 1, &lists, e->outputs, e->outputs <= LM_SUMS_NARROW, f, 0);
    for (size_t o = 0; o < e->outputs; o++)
        f[o] = isfinite(f[o]) ? f[o] : 0;
}

double lm_expansion_self(const lm_expansion *e, const float *x) {
    double most = (double)LM_KERNEL_MOST, self = lm_kernel_of_rows(&e->kernel, x, x, e->pack.d);
    return self < most ? self : most;
}

/* ---- steps ---- */

double lm_expansion_margin(const float *f, size_t outputs, size_t label, lm_step *step) {
    size_t rival = label ? 0 : 1;
    if (outputs == 1) {
        *step = (lm_step){0, LM_NO_OUTPUT, label ? -1 : 1};
        return label ? -(double)f[0] : (double)f[0];
    }
    for (size_t o = 0; o < outputs; o++)
        if (o != label && f[o] > f[rival])
            rival = o;
    *step = (lm_step){label, rival, 1};
    return ((double)f[label] - (double)f[rival]) / 2;
}

static double within(double value, double most) {
    return value > most ? most : value < -most ? -most : value == value ? value : 0;
}

static void change(lm_expansion *e, size_t vector, size_t output, double by) {
    double *coef = e->coef + vector * e->outputs + output, before = *coef;
    *coef = within(before + by, LM_COEF_MOST);
    if (e->averaged)
        e->drift[vector * e->outputs + output] += (*coef - before) * e->steps;
}

static void change_both(lm_expansion *e, size_t vector, const lm_step *step, double by) {
    change(e, vector, step->up, by);
    if (step->down != LM_NO_OUTPUT)
        change(e, vector, step->down, -by);
}

double lm_expansion_project(lm_expansion *e, const float *values, double self) {
    size_t n = e->factor.size;
    for (size_t j = 0; j < n; j++)
        e->row[j] = (double)values[j];
    double left = lm_cholesky_try(&e->factor, e->row, self);
    if (n)
        memcpy(e->alpha, e->factor.l + n * e->factor.capacity, n * sizeof *e->alpha);
    lm_cholesky_backward(&e->factor, e->alpha);
    left = self > 0 ? left / self : self < 0 ? 1 : 0; /* below 0: no kernel, nothing is spanned */
    return left > SPANNED ? (left < 1 ? left : 1) : 0;
}

void lm_expansion_move(lm_expansion *e, const lm_step *step) {
    for (size_t j = 0; j < e->pack.n; j++)
        change_both(e, j, step, e->alpha[j] * step->by);
}

static void extend_factor(lm_expansion *e, const float *x, const float *values) {
    double self = lm_expansion_self(e, x);
    for (size_t j = 0; j < e->factor.size; j++)
        e->row[j] = (double)values[j];
    double pivot = lm_cholesky_try(&e->factor, e->row, self);
    if (!(pivot > SPANNED * self)) {
        memset(e->factor.l + e->factor.size * e->factor.capacity, 0,
               e->factor.size * sizeof *e->factor.l);
        pivot = SPANNED_PIVOT;
    }
    lm_cholesky_append(&e->factor, pivot);
}

void lm_expansion_add(lm_expansion *e, const float *x, const float *values, const lm_step *step) {
    size_t at = e->pack.n;
    if (e->factored)
        extend_factor(e, x, values);
    (void)lm_pack_append(NULL, &e->pack, x); /* there is room: it cannot fail */
    memset(e->coef + at * e->outputs, 0, e->outputs * sizeof *e->coef);
    memset(e->drift + at * e->outputs, 0, e->outputs * sizeof *e->drift);
    change_both(e, at, step, step->by);
}

void lm_expansion_put(lm_expansion *e, const float *x, const double *coef) {
    lm_step none = {0, LM_NO_OUTPUT, 0};
    size_t at = e->pack.n;
    if (e->factored)
        lm_expansion_values(e, x, e->values);
    lm_expansion_add(e, x, e->values, &none);
    if (coef)
        memcpy(e->coef + at * e->outputs, coef, e->outputs * sizeof *coef);
}

void lm_expansion_shrink(lm_expansion *e, double factor) {
    for (size_t i = 0; i < e->pack.n * e->outputs; i++) {
        double by = (factor - 1) * e->coef[i];
        e->coef[i] += by;
        if (e->averaged)
            e->drift[i] += by * e->steps;
    }
}

void lm_expansion_remove(lm_expansion *e, size_t index) {
    size_t k = e->outputs, after = (e->pack.n - index - 1) * k;
    double *coef = e->coef + index * k, *drift = e->drift + index * k;
    memmove(coef, coef + k, after * sizeof *coef);
    memmove(drift, drift + k, after * sizeof *drift);
    lm_pack_remove(&e->pack, index);
    if (e->factored)
        lm_expansion_factorise(e);
}

void lm_expansion_factorise(lm_expansion *e) {
    lm_pack whole = e->pack;
    float *x = e->values + e->room;
    e->factor.size = 0;
    for (size_t i = 0; i < whole.n; i++) {
        lm_pack_row(&whole, i, x);
        lm_pack_view(whole.data, i, whole.d, &e->pack);
        lm_expansion_values(e, x, e->values);
        extend_factor(e, x, e->values);
    }
    e->pack = whole;
}

/* ---- what queries sum ---- */

static void list_blocks(lm_expansion *e, size_t panels) {
    for (size_t o = 0; o <= e->outputs; o++)
        e->sum.start[o] = (uint32_t)(o * panels);
    for (size_t b = 0; b < panels * e->outputs; b++)
        e->sum.panel[b] = (uint16_t)(b % panels);
}

static float to_float(double value) {
    double most = 1e38;
    return (float)(value > most ? most : value < -most ? -most : value);
}

static void refresh_last(lm_expansion *e) {
    size_t n = e->pack.n, k = e->outputs, panels = e->pack.panels;
    list_blocks(e, panels);
    for (size_t o = 0; o < k; o++) {
        float *last = e->sum.last + o * panels * LM_PANEL;
        for (size_t j = 0; j < n; j++)
            last[j] = to_float(e->coef[j * k + o]);
        for (size_t j = n; j < panels * LM_PANEL; j++)
            last[j] = 0;
    }
}

static void refresh_mean(lm_expansion *e) {
    size_t n = e->pack.n, k = e->outputs, panels = e->pack.panels;
    double share = e->steps > 0 ? 1 / e->steps : 0;
    for (size_t o = 0; o < k; o++) {
        float *mean = e->sum.mean + o * panels * LM_PANEL;
        for (size_t j = 0; j < n && e->averaged; j++)
            mean[j] = to_float(e->coef[j * k + o] - e->drift[j * k + o] * share);
        for (size_t j = n; j < panels * LM_PANEL; j++)
            mean[j] = 0;
    }
}

void lm_expansion_refresh(lm_expansion *e) {
    refresh_last(e);
    refresh_mean(e);
}

void lm_expansion_tick(lm_expansion *e, bool changed) {
    e->steps += 1;
    if (changed)
        refresh_last(e);
    if (e->averaged || changed)
        refresh_mean(e);
}

void lm_expansion_restart(lm_expansion *e) {
    e->steps = 0;
    for (size_t i = 0; i < e->pack.n * e->outputs; i++) {
        e->coef[i] = within(e->coef[i], LM_COEF_MOST);
        e->drift[i] = 0;
    }
    lm_expansion_refresh(e);
}
