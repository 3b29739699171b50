/* test_hull.c: linear hulls against their definitions (hull_slow.h), on data of every shape. */
#include "hull_world.h"

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
