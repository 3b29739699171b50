/* field.c: fields evaluated in pieces over the threads, f into r, and the fields of teachers that
 * only answer; see field.h. */
#include "fit/field.h"

#include "base/work.h"

#include <math.h>
#include <string.h>

void lm_field_free(const limn_allocator *mem, lm_field *field) {
    if (field->destroy)
        field->destroy(mem, field->state);
    *field = (lm_field){.d = 0};
}

/* ---- many points ---- */

typedef struct run {
    const lm_field *field;
    const float *x;
    size_t n, slice; /* points; bytes of scratch per thread */
    double *f, *gradient;
    unsigned char *memory;
} run;

static void do_piece(void *user, size_t index, int thread) {
    const run *r = user;
    size_t first = index * LM_FIELD_ROWS, left = r->n - first, d = r->field->d;
    r->field->piece(r->field, r->x + first * d, left < LM_FIELD_ROWS ? left : LM_FIELD_ROWS,
                    r->f + first, r->gradient ? r->gradient + first * d : NULL,
                    r->memory + (size_t)thread * r->slice);
}

static limn_status do_pieces(limn_context *ctx, run *r) {
    size_t pieces = r->n / LM_FIELD_ROWS + (r->n % LM_FIELD_ROWS != 0);
    int threads = lm_work_threads(ctx, pieces);
    lm_cursor at = lm_cursor_at(NULL);
    r->field->scratch(r->field, &at);
    if (!lm_measured(&at, &r->slice) ||
        !(r->memory = lm_alloc_aligned(&ctx->mem, (size_t)threads, r->slice + LM_SCRATCH_ALIGN)))
        return lm_fail_memory(ctx);
    lm_parallel(threads, pieces, do_piece, r);
    lm_free_aligned(&ctx->mem, r->memory);
    return LIMN_OK;
}

limn_status lm_field_values(limn_context *ctx, const lm_field *field, const float *x, size_t n,
                            double *f, double *gradient) {
    run r = {.field = field, .x = x, .n = n, .f = f, .gradient = field->smooth ? gradient : NULL};
    if (n == 0)
        return LIMN_OK;
    if (field->asked)
        *field->asked += (double)n;
    limn_status status = field->piece ? do_pieces(ctx, &r) : field->ask(field, ctx, x, n, f);
    if (status == LIMN_OK && gradient && !field->smooth)
        status = lm_field_differences(ctx, field, x, n, gradient);
    return status;
}

/* ---- f and r ---- */

double lm_field_r(const lm_field *field, double f, double *slope) {
    if (field->is_r) {
        *slope = 1;
        return f;
    }
    double r = -tanh((field->sigmoid.a * f + field->sigmoid.b) / 2);
    *slope = -(1 - r * r) * field->sigmoid.a / 2;
    return r;
}

double lm_field_level(const lm_field *field, double r0) {
    return field->is_r ? r0 : (-2 * atanh(r0) - field->sigmoid.b) / field->sigmoid.a;
}

/* ---- teachers ---- */

typedef struct answers {
    const lm_teacher *teacher;
    size_t first, second;
} answers;

/* (a - b) / (a + b): r for two probabilities, and 0 where both classes are out of the question. */
static double share(double a, double b) {
    double sum = a + b;
    return sum > 1e-200 ? (a - b) / sum : 0;
}

double lm_field_of_answer(const lm_teacher *teacher, size_t first, size_t second,
                          const double *answer) {
    if (teacher->kind == LM_TEACHES_PAIRS)
        return answer[lm_pair_index(teacher->classes, first, second)];
    double a = answer[first], b = answer[second];
    return teacher->kind == LM_TEACHES_PROBA ? share(a, b) : share(b, a);
}

static limn_status ask(const lm_field *field, limn_context *ctx, const float *x, size_t n,
                       double *f) {
    const answers *a = field->state;
    size_t width = a->teacher->width, step = 4096;
    limn_status status = LIMN_OK;
    double *out = lm_alloc(&ctx->mem, (n < step ? n : step) * sizeof *out, width);
    if (!out)
        return lm_fail_memory(ctx);
    for (size_t first = 0; first < n && status == LIMN_OK; first += step) {
        size_t some = n - first < step ? n - first : step;
        status = a->teacher->answer(a->teacher, ctx, x + first * field->d, some, out);
        for (size_t i = 0; i < some && status == LIMN_OK; i++)
            f[first + i] = lm_field_of_answer(a->teacher, a->first, a->second, out + i * width);
    }
    lm_free(&ctx->mem, out);
    return status;
}

static void answers_free(const limn_allocator *mem, void *state) {
    lm_free(mem, state);
}

limn_status lm_field_teacher(limn_context *ctx, const lm_teacher *teacher, size_t first,
                             size_t second, const double *spread, lm_field *out) {
    *out = (lm_field){.d = 0};
    if (teacher->field) {
        limn_status status = teacher->field(teacher, ctx, first, second, out);
        out->spread = spread;
        return status;
    }
    answers *a = lm_alloc(&ctx->mem, 1, sizeof *a);
    if (!a)
        return lm_fail_memory(ctx);
    *a = (answers){teacher, first, second};
    *out = (lm_field){.d = teacher->d,
                      .is_r = teacher->kind != LM_TEACHES_PAIRS,
                      .ask = ask,
                      .spread = spread,
                      .state = a,
                      .destroy = answers_free};
    return LIMN_OK;
}
