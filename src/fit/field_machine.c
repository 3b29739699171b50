/* field_machine.c: one function of a support vector machine as a field, from the vectors of that
 * function only.
 *
 *   f = sum_s c_s K(s, x) - rho
 *   rbf:     grad f = sum_s 2 c_s K' (x - s),  K' = dK / d|x - s|^2
 *   others:  grad f = sum_s c_s K' s,          K' = dK / d(x.s)
 *
 * Everything is summed in double, from packed dot products: the fast machine's floats are right for
 * labels, but a border is where f is 0, and the floats' error there is that of the largest terms.
 * */
#include "fit/field.h"
#include "num/pack_double.h"

#include <string.h>

typedef struct state {
    lm_kernel kernel;
    double rho;
    lm_pack pack;
    double *coef;
    double *norm, *centre; /* rbf: of lm_pack_centre */
} state;

typedef struct layout {
    double *x;     /* the point in double, or room for the distances */
    double *value; /* per place: x.s or |x - s|^2, then coefficient times slope */
} layout;

static layout lay_out(const lm_field *field, lm_cursor *at) {
    const state *s = field->state;
    layout l;
    l.x = lm_take(at, field->d, sizeof *l.x);
    l.value = lm_take(at, s->pack.panels * LM_PANEL, sizeof *l.value);
    return l;
}

static void scratch(const lm_field *field, lm_cursor *at) {
    (void)lay_out(field, at);
}

/* x.s or |x - s|^2 of all vectors. */
static void compare(const state *s, const float *x, layout *l) {
    const lm_pack *pack = &s->pack;
    if (s->kernel.type == LM_RBF) {
        lm_pack_distances_double(pack, s->centre, s->norm, 0, pack->panels, x, l->value, l->x);
        return;
    }
    for (size_t j = 0; j < pack->d; j++)
        l->x[j] = (double)x[j];
    lm_pack_dots_double(pack, 0, pack->panels, l->x, l->value);
}

/* f; and, in place of the values, coefficient times slope. */
static double sum_up(const state *s, double *value) {
    double f = -s->rho;
    for (size_t i = 0; i < s->pack.n; i++) {
        double v = value[i]; /* the kernel uses the one that it is */
        f += s->coef[i] * lm_kernel_value(&s->kernel, v, v);
        value[i] = s->coef[i] * lm_kernel_slope(&s->kernel, v, v);
    }
    for (size_t i = s->pack.n; i < s->pack.panels * LM_PANEL; i++)
        value[i] = 0;
    return f;
}

static void slopes(const state *s, const float *x, const double *weight, double *gradient) {
    double all = 0;
    lm_pack_sum_double(&s->pack, weight, gradient);
    if (s->kernel.type != LM_RBF)
        return;
    for (size_t i = 0; i < s->pack.n; i++)
        all += weight[i];
    for (size_t j = 0; j < s->pack.d; j++)
        gradient[j] = 2 * (all * (double)x[j] - gradient[j]);
}

static void piece(const lm_field *field, const float *x, size_t n, double *f, double *gradient,
                  void *memory) {
    const state *s = field->state;
    lm_cursor at = lm_cursor_at(memory);
    layout l = lay_out(field, &at);
    for (size_t q = 0; q < n; q++, x += field->d) {
        compare(s, x, &l);
        f[q] = sum_up(s, l.value);
        if (gradient)
            slopes(s, x, l.value, gradient + q * field->d);
    }
}

/* ---- making it ---- */

static void state_free(const limn_allocator *mem, void *opaque) {
    state *s = opaque;
    lm_pack_free(mem, &s->pack);
    lm_free(mem, s->coef);
    lm_free(mem, s->norm);
    lm_free(mem, s->centre);
    lm_free(mem, s);
}

static limn_status fill(limn_context *ctx, const lm_machine *machine, size_t function, state *s) {
    const lm_svm *svm = machine->svm;
    size_t first = machine->pair_start[function], n = machine->pair_start[function + 1] - first;
    size_t d = svm->d, cells = 0;
    float *sv = lm_mul(n, d, &cells) ? lm_alloc(&ctx->mem, cells + 1, sizeof *sv) : NULL;
    s->coef = lm_alloc(&ctx->mem, n + 1, sizeof *s->coef);
    s->norm = lm_alloc(&ctx->mem, n + 1, sizeof *s->norm);
    s->centre = lm_alloc_zero(&ctx->mem, d, sizeof *s->centre);
    limn_status status = sv && s->coef && s->norm && s->centre ? LIMN_OK : lm_fail_memory(ctx);
    for (size_t i = 0; i < n && status == LIMN_OK; i++) {
        memcpy(sv + i * d, svm->sv + machine->pair_vector[first + i] * d, d * sizeof *sv);
        s->coef[i] = machine->pair_coef[first + i];
    }
    if (status == LIMN_OK)
        status = lm_pack_build(ctx, sv, n, d, d, &s->pack);
    if (status == LIMN_OK && s->kernel.type == LM_RBF)
        lm_pack_centre(&s->pack, s->centre, s->norm);
    lm_free(&ctx->mem, sv);
    return status;
}

limn_status lm_field_machine(limn_context *ctx, const lm_machine *machine, size_t function,
                             lm_field *out) {
    const lm_svm *svm = machine->svm;
    *out = (lm_field){.d = 0};
    state *s = lm_alloc_zero(&ctx->mem, 1, sizeof *s);
    if (!s)
        return lm_fail_memory(ctx);
    s->kernel = svm->kernel;
    s->rho = svm->rho[function];
    limn_status status = fill(ctx, machine, function, s);
    if (status != LIMN_OK) {
        state_free(&ctx->mem, s);
        return status;
    }
    *out = (lm_field){.d = svm->d,
                      .smooth = true,
                      .piece = piece,
                      .scratch = scratch,
                      .state = s,
                      .destroy = state_free};
    if (svm->prob_a && svm->prob_b)
        out->sigmoid = (lm_sigmoid_fit){svm->prob_a[function], svm->prob_b[function]};
    return LIMN_OK;
}
