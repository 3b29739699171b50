/* check_num_world.h: shared by the files that check src/num, and the list of checks. */
#ifndef LIMN_TESTS_CHECK_NUM_WORLD_H
#define LIMN_TESTS_CHECK_NUM_WORLD_H

#include "num/pack.h"

#include <stdio.h>
#include <stdlib.h>

#define EPS 0x1p-24 /* half an ulp of 1 */
#define GUARD 12345.5f

/* Failures of the running check: each check starts at 0 and returns it. */
static int failures;

#define EXPECT(condition, ...)                                                          \
    do {                                                                                \
        if (!(condition) && failures++ < 10) {                                          \
            printf("  %s:%d [%s] %s: ", __FILE__, __LINE__, lm_isa_name(), #condition); \
            printf(__VA_ARGS__);                                                        \
            printf("\n");                                                               \
        }                                                                               \
    } while (0)

static inline limn_context *make_context(const limn_context_options *options) {
    limn_context *ctx = NULL;
    if (lm_context_make(options, &ctx)) {
        printf("  no memory for a context\n");
        exit(1);
    }
    return ctx;
}

static inline float *make_floats(size_t count) {
    float *values = malloc((count ? count : 1) * sizeof *values);
    if (!values) {
        printf("  no memory\n");
        exit(1);
    }
    return values;
}

static inline void fill_normal(lm_rng *rng, float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] = (float)lm_rng_normal(rng);
}

/* check_num_pack.c */
int queries_match_reference(void);
int large_shapes_match_reference(void);
int huge_values_give_no_nan(void);
int chi2_divides_by_no_0(void);
int equal_and_disjoint_histograms(void);
int append_equals_build(void);
int remove_equals_build(void);
int reserved_rows_are_appended_without_allocation(void);
int packing_places_every_value(void);
int norms_are_rounded_once(void);
int failures_leave_the_set_as_it_was(void);
int failed_reserves_leave_the_set_as_it_was(void);
int aligned_memory_is_aligned(void);

/* check_num_values.c */
int argmin_takes_the_first_and_no_nan(void);
int argmin_finds_each_place(void);
int below_lists_what_is_not_above(void);
int below_expanded_compares_the_expanded_form(void);
int smallest_is_a_sorted_prefix(void);
int segments_have_their_own_argmin(void);
int exp_keeps_its_bound(void);
int tanh_keeps_its_bound(void);
int kernels_match_reference(void);
int slopes_of_kernels_match_differences(void);
int cosine_matches_reference(void);

/* check_num_kernel.c */
int kernels_of_rows_match_definition(void);
int queries_and_kernels_of_rows_agree(void);
int dot_products_do_not_give_every_kernel(void);
int kernels_have_names_and_metrics(void);

#endif
