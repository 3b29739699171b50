/* test_hull.c: linear hulls against their definitions (hull_slow.h), on data of every shape. */
#include "hull_world.h"

enum { QUERIES = 8 };

static void compare_all(const slow_set *sets, size_t count, bool needs_room) {
    tally sums = {0};
    for (int of = 0; of < WORLD_COUNT; of++) {
        limn_context *ctx = make_context(NULL, 1, 5);
        limn_data *data = world_data(ctx, of, 11);
        float *x = make_queries(data, QUERIES, 3);
        for (size_t i = 0; i < count; i++) {
            const slow_set *s = &sets[i];
            limn_model *model = NULL;
            limn_status status = hull_train_set(ctx, data, s, NULL, &model);
            if (status != LIMN_OK) {
                /* The hulls fill the space, and only then. */
                if (!needs_room || !strstr(limn_error(ctx), "fill"))
                    fail_msg("%s: %s", world_name(of), limn_error(ctx));
                continue;
            }
            char where[80];
            snprintf(where, sizeof where, "%s, setting %zu", world_name(of), i);
            hull_compare(ctx, data, s, model, x, QUERIES, 0, where, &sums);
            limn_model_free(model);
        }
        free(x);
        limn_data_free(data);
        limn_context_free(ctx);
    }
    if (sums.unclear * 10 > sums.compared || sums.classes * 8 < sums.compared)
        fail_msg("compared %zu distances and %zu classes, %zu unclear", sums.compared, sums.classes,
                 sums.unclear);
    if (getenv("HULL_VERBOSE"))
        print_message("compared %zu, classes %zu, unclear %zu, worst %g\n", sums.compared,
                      sums.classes, sums.unclear, sums.worst);
}

static void test_affine_hulls_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {
        {.kind = HULL_NAH, .rule = HULL_DIM_FULL, .cut = 1e-6},
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 2, .cut = 1e-6},
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 0, .cut = 1e-6},
        {.kind = HULL_NAH, .rule = HULL_DIM_GAP, .cut = 1e-6},
        {.kind = HULL_NAH, .rule = HULL_DIM_FULL, .cut = .4},
    };
    compare_all(sets, LM_COUNT(sets), true);
}

static void test_disks_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {
        {.kind = HULL_NHD, .rule = HULL_DIM_FULL, .cut = 1e-6},
        {.kind = HULL_NHD, .rule = HULL_DIM_GIVEN, .dim = 2, .cut = 1e-6, .nu = .1},
        {.kind = HULL_NHD, .rule = HULL_DIM_GIVEN, .dim = 3, .cut = 1e-6, .nu = .25},
        {.kind = HULL_NHD, .rule = HULL_DIM_GAP, .cut = 1e-6, .nu = .5},
    };
    compare_all(sets, LM_COUNT(sets), true);
}

static void test_convex_hulls_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {{.kind = HULL_NCH}};
    compare_all(sets, LM_COUNT(sets), false);
}

static void test_centres_of_spheres_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {{.kind = HULL_NSC},
                                    {.kind = HULL_NSC, .nu = .1},
                                    {.kind = HULL_NSC, .nu = .37},
                                    {.kind = HULL_NSC, .nu = 1}};
    compare_all(sets, LM_COUNT(sets), false);
}

static void test_ridge_hulls_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {{.kind = HULL_NRH, .cut = 1e-6, .rho = 1e-6},
                                    {.kind = HULL_NRH, .cut = 1e-6, .rho = .01},
                                    {.kind = HULL_NRH, .cut = 1e-6, .rho = 1},
                                    {.kind = HULL_NRH, .cut = 1e-6, .rho = 1e6}};
    compare_all(sets, LM_COUNT(sets), false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affine_hulls_equal_slow_ones),
        cmocka_unit_test(test_disks_equal_slow_ones),
        cmocka_unit_test(test_convex_hulls_equal_slow_ones),
        cmocka_unit_test(test_centres_of_spheres_equal_slow_ones),
        cmocka_unit_test(test_ridge_hulls_equal_slow_ones),
    };
    return cmocka_run_group_tests_name("hull", tests, NULL, NULL);
}
