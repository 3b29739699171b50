/* test_hull_local.c: hulls of the nearest samples against their definitions (hull_slow.h). */
#include "hull_world.h"

#define RBF(g) .curved = true, .kernel = {.type = LM_RBF, .gamma = (g)}
#define POLY(g, c, e) \
    .curved = true, .kernel = {.type = LM_POLYNOMIAL, .gamma = (g), .coef0 = (c), .degree = (e)}

static void test_linear_sets_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {
        {.kind = HULL_NAH, .rule = HULL_DIM_FULL, .cut = 1e-6, .neighbors = 4},
        {.kind = HULL_NAH, .rule = HULL_DIM_GIVEN, .dim = 2, .cut = 1e-6, .neighbors = 7},
        {.kind = HULL_NAH, .rule = HULL_DIM_GAP, .cut = 1e-6, .neighbors = 5},
        {.kind = HULL_NHD, .rule = HULL_DIM_FULL, .cut = 1e-6, .neighbors = 4},
        {.kind = HULL_NHD, .rule = HULL_DIM_GIVEN, .dim = 3, .cut = 1e-6, .nu = .3, .neighbors = 7},
        {.kind = HULL_NCH, .neighbors = 1},
        {.kind = HULL_NCH, .neighbors = 6},
        {.kind = HULL_NSC, .neighbors = 5},
        {.kind = HULL_NSC, .nu = .5, .neighbors = 6},
        {.kind = HULL_NRH, .cut = 1e-6, .rho = .1, .neighbors = 5},
        {.kind = HULL_NRH, .cut = 1e-6, .rho = 1e-3, .neighbors = 9},
    };
    compare_all(sets, LM_COUNT(sets), true);
}

static void test_sets_in_feature_space_equal_slow_ones(void **state) {
    (void)state;
    static const slow_set sets[] = {
        {.kind = HULL_NAH, RBF(.1), .rule = HULL_DIM_FULL, .cut = 1e-3, .neighbors = 5},
        {.kind = HULL_NHD, RBF(1), .rule = HULL_DIM_FULL, .cut = 1e-3, .nu = .3, .neighbors = 6},
        {.kind = HULL_NHD,
         POLY(.1, 1, 2),
         .rule = HULL_DIM_GIVEN,
         .dim = 2,
         .cut = 1e-3,
         .neighbors = 6},
        {.kind = HULL_NCH, RBF(.3), .neighbors = 6},
        {.kind = HULL_NCH, POLY(.1, 1, 2), .neighbors = 6},
        {.kind = HULL_NSC, RBF(.3), .nu = .1, .neighbors = 6},
        {.kind = HULL_NRH, RBF(.3), .cut = 1e-6, .rho = .1, .neighbors = 6},
        {.kind = HULL_NRH, POLY(.1, 1, 2), .cut = 1e-6, .rho = 1, .neighbors = 8},
    };
    compare_all(sets, LM_COUNT(sets), false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_sets_equal_slow_ones),
        cmocka_unit_test(test_sets_in_feature_space_equal_slow_ones),
    };
    return cmocka_run_group_tests_name("hull_local", tests, NULL, NULL);
}
