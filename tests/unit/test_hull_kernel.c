/* test_hull_kernel.c: hulls in feature spaces against their definitions (hull_slow.h). */
#include "hull_world.h"

#define RBF(g) .curved = true, .kernel = {.type = LM_RBF, .gamma = (g)}
#define POLY(g, c, e) \
    .curved = true, .kernel = {.type = LM_POLYNOMIAL, .gamma = (g), .coef0 = (c), .degree = (e)}
#define SIGMOID(g, c) .curved = true, .kernel = {.type = LM_SIGMOID, .gamma = (g), .coef0 = (c)}

static void test_affine_hulls_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {
        {.kind = HULL_NAH, RBF(.1), .rule = HULL_DIM_FULL, .cut = 1e-3},
        {.kind = HULL_NAH, RBF(2), .rule = HULL_DIM_GIVEN, .dim = 3, .cut = 1e-3},
        {.kind = HULL_NAH, POLY(.1, 1, 2), .rule = HULL_DIM_FULL, .cut = 1e-3},
        {.kind = HULL_NAH, POLY(.2, .5, 3), .rule = HULL_DIM_GAP, .cut = 1e-3},
        {.kind = HULL_NAH, SIGMOID(.05, 0), .rule = HULL_DIM_FULL, .cut = .05},
        {.kind = HULL_NAH, SIGMOID(.02, .1), .rule = HULL_DIM_GIVEN, .dim = 2, .cut = .05},
    };
    compare_all(sets, LM_COUNT(sets), false);
}

static void test_disks_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {
        {.kind = HULL_NHD, RBF(.1), .rule = HULL_DIM_FULL, .cut = 1e-3},
        {.kind = HULL_NHD, RBF(1), .rule = HULL_DIM_GIVEN, .dim = 3, .cut = 1e-3, .nu = .1},
        {.kind = HULL_NHD, POLY(.1, 1, 2), .rule = HULL_DIM_FULL, .cut = 1e-3, .nu = .5},
        {.kind = HULL_NHD, POLY(.2, .5, 3), .rule = HULL_DIM_GAP, .cut = 1e-3},
        {.kind = HULL_NHD, SIGMOID(.05, 0), .rule = HULL_DIM_FULL, .cut = .05, .nu = .25},
    };
    compare_all(sets, LM_COUNT(sets), false);
}

static void test_convex_hulls_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {{.kind = HULL_NCH, RBF(.1)},
                                    {.kind = HULL_NCH, RBF(3)},
                                    {.kind = HULL_NCH, POLY(.1, 1, 2)}};
    compare_all(sets, LM_COUNT(sets), false);
}

static void test_centres_of_spheres_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {{.kind = HULL_NSC, RBF(.1)},
                                    {.kind = HULL_NSC, RBF(1), .nu = .1},
                                    {.kind = HULL_NSC, POLY(.1, 1, 2), .nu = .5}};
    compare_all(sets, LM_COUNT(sets), false);
}

static void test_ridge_hulls_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {{.kind = HULL_NRH, RBF(.1), .cut = 1e-6, .rho = .01},
                                    {.kind = HULL_NRH, RBF(1), .cut = 1e-6, .rho = 1},
                                    {.kind = HULL_NRH, POLY(.1, 1, 2), .cut = 1e-6, .rho = .1}};
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
    return cmocka_run_group_tests_name("hull_kernel", tests, NULL, NULL);
}
