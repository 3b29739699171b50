/* check_num.c: the list of the checks of src/num against slow, plain references, the code that
 * runs them on every instruction set, and the test of choosing that set.
 *
 * Compiled with -DCHECK_NUM_MAIN it is a program of its own, with check_num_pack.c,
 * check_num_values.c and check_num_kernel.c. */
#include "check_num.h"
#include "check_num_world.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child process, since the choice is made once. */
static bool child_sees(const char *value, const char *name, bool valid) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (value)
            setenv("LIMN_ISA", value, 1);
        else
            unsetenv("LIMN_ISA");
        _exit(!strcmp(lm_isa_name(), name) && lm_isa_valid() == valid ? 0 : 1);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int environment_chooses_the_isa(void) {
    failures = 0;
    const char *best = lm_isa_at(0), *name, *last = best;
    EXPECT(child_sees(NULL, best, true), "the best one is the default");
    EXPECT(child_sees("", best, true), "empty is as unset");
    EXPECT(child_sees("sse9", best, false), "an unknown one is refused, the best one used");
    for (size_t i = 0; (name = lm_isa_at(i)); i++) {
        EXPECT(child_sees(name, name, true), "%s", name);
        last = name;
    }
    EXPECT(child_sees("baseline", last, true), "baseline is everywhere");
    EXPECT(!lm_isa_use("sse9"), "an unknown one is refused");
    return failures;
}

const check check_num[] = {
    {"environment_chooses_the_isa", environment_chooses_the_isa, 0},
    {"aligned_memory_is_aligned", aligned_memory_is_aligned, 0},
    {"packing_places_every_value", packing_places_every_value, 1},
    {"append_equals_build", append_equals_build, 1},
    {"remove_equals_build", remove_equals_build, 0},
    {"reserved_rows_are_appended_without_allocation", reserved_rows_are_appended_without_allocation,
     0},
    {"failures_leave_the_set_as_it_was", failures_leave_the_set_as_it_was, 0},
    {"failed_reserves_leave_the_set_as_it_was", failed_reserves_leave_the_set_as_it_was, 0},
    {"norms_are_rounded_once", norms_are_rounded_once, 1},
    {"queries_match_reference_and_blocks_match_queries", queries_match_reference, 1},
    {"large_shapes_match_reference", large_shapes_match_reference, 1},
    {"huge_values_give_no_nan", huge_values_give_no_nan, 1},
    {"chi2_divides_by_no_0", chi2_divides_by_no_0, 1},
    {"equal_and_disjoint_histograms_have_known_values", equal_and_disjoint_histograms, 1},
    {"argmin_takes_the_first_and_no_nan", argmin_takes_the_first_and_no_nan, 1},
    {"argmin_finds_each_place", argmin_finds_each_place, 1},
    {"below_lists_what_is_not_above", below_lists_what_is_not_above, 1},
    {"below_expanded_compares_the_expanded_form", below_expanded_compares_the_expanded_form, 1},
    {"smallest_is_a_sorted_prefix", smallest_is_a_sorted_prefix, 1},
    {"segments_have_their_own_argmin", segments_have_their_own_argmin, 1},
    {"exp_keeps_its_bound", exp_keeps_its_bound, 1},
    {"tanh_keeps_its_bound", tanh_keeps_its_bound, 1},
    {"kernels_match_reference", kernels_match_reference, 1},
    {"slopes_of_kernels_match_differences", slopes_of_kernels_match_differences, 0},
    {"kernels_of_rows_match_definition", kernels_of_rows_match_definition, 0},
    {"queries_and_kernels_of_rows_agree", queries_and_kernels_of_rows_agree, 1},
    {"dot_products_do_not_give_every_kernel", dot_products_do_not_give_every_kernel, 0},
    {"kernels_have_names_and_metrics", kernels_have_names_and_metrics, 0},
    {"cosine_matches_reference", cosine_matches_reference, 1},
    {NULL, NULL, 0},
};

int check_num_run(const check *one) {
    if (!one->per_isa)
        return one->run();
    int total = 0;
    const char *before_it = lm_isa_name(), *name;
    for (size_t i = 0; (name = lm_isa_at(i)); i++)
        total += lm_isa_use(name) ? one->run() : 1;
    lm_isa_use(before_it);
    return total;
}

#ifdef CHECK_NUM_MAIN
int main(void) {
    int total = 0;
    for (const check *c = check_num; c->name; c++) {
        int count = check_num_run(c);
        printf("%s %s\n", count ? "FAILED" : "ok    ", c->name);
        total += count;
    }
    return total != 0;
}
#endif
