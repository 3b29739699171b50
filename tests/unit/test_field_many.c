/* test_field_many.c: many points at once, on any number of threads, have the bits of one point
 * alone; failing allocations are reported and leak nothing. For every kind of field. */
#include "field_world.h"

enum { N = 60, D = 3, POINTS = 1000, KINDS = 8 };
static const double spread[D] = {1, 1, 2};
static const char *const names[KINDS] = {"rbf",         "poly", "agf",    "kde",
                                         "knn uniform", "knn",  "smooth", "steps"};

/* What fields are made of. */
typedef struct world {
    lm_field_set set;
    double coef[N], rho;
    uint64_t count[2];
    lm_svm svm;
    lm_teacher teacher;
} world;

static limn_status answer(const lm_teacher *teacher, limn_context *ctx, const float *x, size_t n,
                          double *out) {
    (void)ctx;
    for (size_t i = 0; i < n; i++, x += D) {
        double f = sin((double)x[0]) + (double)x[1] * (double)x[2];
        out[i] = teacher->user ? f : f > 0 ? 1 : -1;
    }
    return LIMN_OK;
}

static void world_make(world *w, int kind) {
    lm_rng rng = lm_rng_at(1, 321, 0);
    *w = (world){.set = draw_set(N, 25, D, 0, true, 4), .rho = 0.1, .count = {25, N - 25}};
    for (size_t i = 0; i < N; i++)
        w->coef[i] = lm_rng_normal(&rng);
    w->svm = (lm_svm){.kernel = {kind ? LM_POLYNOMIAL : LM_RBF, 3, 0.4, 1},
                      .classes = 2,
                      .d = D,
                      .n = N,
                      .count = w->count,
                      .sv = w->set.x,
                      .coef = w->coef,
                      .rho = &w->rho};
    w->teacher = (lm_teacher){.task = LIMN_CLASSIFY,
                              .d = D,
                              .classes = 2,
                              .kind = LM_TEACHES_PAIRS,
                              .width = 1,
                              .answer = answer,
                              .user = kind == 6 ? w : NULL};
}

static limn_status open_field(limn_context *ctx, world *w, int kind, lm_machine *machine,
                              lm_field *field) {
    limn_status status = LIMN_OK;
    memset(machine, 0, sizeof *machine);
    *field = (lm_field){.d = 0};
    if (kind < 2)
        status = lm_machine_build(ctx, &w->svm, machine);
    if (status == LIMN_OK && kind < 2)
        status = lm_field_machine(ctx, machine, 0, field);
    else if (kind == 2)
        status = lm_field_agf(ctx, &w->set, 5, 40, field);
    else if (kind == 3)
        status = lm_field_kde(ctx, &w->set, 0.5, field);
    else if (kind == 4 || kind == 5)
        status = lm_field_knn(ctx, &w->set, 7, LM_NEAREST_L2, kind == 5, field);
    else if (kind > 5)
        status = lm_field_teacher(ctx, &w->teacher, 0, 1, spread, field);
    field->spread = spread;
    return status;
}

static void close_field(limn_context *ctx, lm_machine *machine, lm_field *field) {
    lm_field_free(&ctx->mem, field);
    lm_machine_free(&ctx->mem, machine);
}

static float *draw_points(size_t n) {
    float *x = malloc(n * D * sizeof *x);
    lm_rng rng = lm_rng_at(1, 322, 0);
    for (size_t i = 0; i < n * D; i++)
        x[i] = (float)(0.5 + lm_rng_normal(&rng));
    return x;
}

/* The first n points, step of them at a time. */
static void evaluate(int kind, int threads, const float *x, size_t n, size_t step, double *f,
                     double *gradient) {
    limn_context *ctx = make_context(NULL, threads, 1);
    world w;
    lm_machine machine;
    lm_field field;
    world_make(&w, kind);
    assert_int_equal(open_field(ctx, &w, kind, &machine, &field), LIMN_OK);
    for (size_t i = 0; i < n; i += step) {
        size_t some = n - i < step ? n - i : step;
        assert_int_equal(lm_field_values(ctx, &field, x + i * D, some, f + i, gradient + i * D),
                         LIMN_OK);
        /* without gradients the values are the same */
        double *plain = malloc(some * sizeof *plain);
        assert_int_equal(lm_field_values(ctx, &field, x + i * D, some, plain, NULL), LIMN_OK);
        assert_memory_equal(plain, f + i, some * sizeof *plain);
        free(plain);
    }
    close_field(ctx, &machine, &field);
    release_set(&w.set);
    limn_context_free(ctx);
}

static void test_a_point_has_the_same_bits_in_any_company(void **state) {
    (void)state;
    static const size_t steps[] = {1, 15, 16, 17, POINTS};
    float *x = draw_points(POINTS);
    for (int kind = 0; kind < KINDS; kind++) {
        size_t n = POINTS / every(4);
        double *f[2], *gradient[2];
        for (int i = 0; i < 2; i++) {
            f[i] = malloc(n * sizeof *f[i]);
            gradient[i] = malloc(n * D * sizeof *gradient[i]);
        }
        evaluate(kind, 1, x, n, n, f[0], gradient[0]);
        for (int threads = 1; threads <= 4; threads *= 2)
            for (size_t s = threads == 1 ? 0 : 3; s < LM_COUNT(steps); s++) {
                /* a point alone is slow where a ball is drawn for it */
                size_t some = steps[s] == 1 || (steps[s] < n && kind > 3) ? n / 10 : n;
                evaluate(kind, threads, x, some, steps[s], f[1], gradient[1]);
                if (memcmp(f[0], f[1], some * sizeof *f[0]) != 0 ||
                    memcmp(gradient[0], gradient[1], some * D * sizeof *gradient[0]) != 0)
                    fail_msg("%s: %d threads, %zu points at a time: other bits", names[kind],
                             threads, steps[s]);
            }
        for (int i = 0; i < 2; i++) {
            free(f[i]);
            free(gradient[i]);
        }
    }
    free(x);
}

static void test_no_points_are_no_work(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        world w;
        lm_machine machine;
        lm_field field;
        double f = 7, gradient = 8;
        world_make(&w, kind);
        assert_int_equal(open_field(ctx, &w, kind, &machine, &field), LIMN_OK);
        assert_int_equal(lm_field_values(ctx, &field, NULL, 0, &f, &gradient), LIMN_OK);
        assert_true(f == 7 && gradient == 8);
        close_field(ctx, &machine, &field);
        release_set(&w.set);
    }
    limn_context_free(ctx);
}

static void test_every_failing_allocation_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    enum { SOME = 20 };
    float *x = draw_points(SOME);
    for (int kind = 0; kind < KINDS; kind++) {
        limn_status status = LIMN_E_MEMORY;
        unsigned at = 1;
        for (; status != LIMN_OK; at++) {
            counting count = {0};
            limn_context *ctx = make_context(&count, 1, 1);
            world w;
            lm_machine machine;
            lm_field field;
            double f[SOME], gradient[SOME * D];
            world_make(&w, kind);
            count.fail_at = at;
            status = open_field(ctx, &w, kind, &machine, &field);
            if (status == LIMN_OK)
                status = lm_field_values(ctx, &field, x, SOME, f, gradient);
            if (status != LIMN_OK) {
                assert_int_equal(status, LIMN_E_MEMORY);
                assert_string_not_equal(limn_error(ctx), "");
            }
            close_field(ctx, &machine, &field);
            release_set(&w.set);
            limn_context_free(ctx);
            assert_int_equal(count.live, 0);
        }
        assert_true(at > 4);
    }
    free(x);
}

static void test_taking_rows_without_memory_leaks_nothing(void **state) {
    (void)state;
    lm_field_set all = draw_set(N, 0, D, 0, true, 1), two;
    int32_t label[N];
    limn_status status = LIMN_E_MEMORY;
    for (size_t i = 0; i < N; i++)
        label[i] = (int32_t)(i % 3);
    for (unsigned at = 1; status != LIMN_OK; at++) {
        counting count = {0};
        limn_context *ctx = make_context(&count, 1, 1);
        lm_pack pack;
        assert_int_equal(lm_pack_build(ctx, all.x, N, D, D, &pack), LIMN_OK);
        count.fail_at = at;
        status = lm_field_set_take(ctx, &pack, label, all.weight, 0, 2, &two);
        assert_true(status == LIMN_OK || (status == LIMN_E_MEMORY && at < 3));
        if (status == LIMN_OK)
            lm_field_set_free(&ctx->mem, &two);
        lm_pack_free(&ctx->mem, &pack);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
    }
    release_set(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_point_has_the_same_bits_in_any_company),
        cmocka_unit_test(test_no_points_are_no_work),
        cmocka_unit_test(test_every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(test_taking_rows_without_memory_leaks_nothing),
    };
    return cmocka_run_group_tests_name("field_many", tests, NULL, NULL);
}
