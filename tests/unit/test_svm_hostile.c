/* test_svm_hostile.c: damaged and hostile LIBSVM models: each is refused with a message, or
 * gives a sound machine; no count in a file causes an allocation that the file's size does not
 * justify. */
#include "svm_world.h"

/* ---- damage ---- */

#define AGAIN "; the file is damaged: copy it again or save the model again"

static const struct {
    const char *from, *to, *sentence;
} wrong_keys[] = {
    {"c_svc", "svc",
     "m: line 1: 'svc' is not an svm_type; it must be c_svc, nu_svc, one_class, epsilon_svr or "
     "nu_svr"},
    {"c_svc", "c_svc rbf", "m: line 1: svm_type has 2 values instead of 1" AGAIN},
    {"polynomial", "precomputed",
     "m: line 2: the kernel is precomputed, so the file has row numbers instead of support "
     "vectors and cannot be applied to new data; train with a linear, polynomial, rbf or "
     "sigmoid kernel"},
    {"polynomial", "poly",
     "m: line 2: 'poly' is not a kernel_type; it must be linear, polynomial, rbf or sigmoid"},
    {"polynomial", "chi2",
     "m: line 2: 'chi2' is not a kernel_type; it must be linear, polynomial, rbf or sigmoid"},
    {"polynomial", "intersection",
     "m: line 2: 'intersection' is not a kernel_type; it must be linear, polynomial, rbf or "
     "sigmoid"},
    {"polynomial", "", "m: line 2: kernel_type has 0 values instead of 1" AGAIN},
    {"degree 2", "degree -1",
     "m: line 3: degree is '-1', but must be a whole number from 0 to 2147483647" AGAIN},
    {"degree 2", "degree 2.5",
     "m: line 3: degree is '2.5', but must be a whole number from 0 to 2147483647" AGAIN},
    {"polynomial\ndegree 2\ngamma 0.5", "rbf\ngamma -0.5",
     "m: line 3: gamma is below 0, which is not valid for an rbf kernel; train again"},
    {"gamma 0.5", "gamma nan", "m: line 4: gamma has 'nan', which is not a finite number" AGAIN},
    {"gamma 0.5", "gamma 1e999",
     "m: line 4: gamma has '1e999', which is not a finite number" AGAIN},
    {"coef0 -1", "coef0 0x1p3", "m: line 5: coef0 has '0x1p3', which is not a finite number" AGAIN},
    {"nr_class 3", "nr_class 0",
     "m: line 6: nr_class is '0', but must be a whole number from 1 to 2147483647" AGAIN},
    {"nr_class 3", "nr_class 4",
     "m: line 8: rho has 3 values instead of 6 (nr_class (nr_class - 1) / 2)" AGAIN},
    {"nr_class 3", "nr_class 1",
     "m: line 7: total_sv is 4, but one class has no support vectors" AGAIN},
    {"total_sv 4", "total_sv 5",
     "m: line 12: the values of nr_sv sum to 4, but total_sv is 5" AGAIN},
    {"total_sv 4", "total_sv 99999999999",
     "m: line 7: total_sv is '99999999999', but must be a whole number from 0 to "
     "2147483647" AGAIN},
    {"rho 0.25 -1 3e-05", "rho 0.25 -1",
     "m: line 8: rho has 2 values instead of 3 (nr_class (nr_class - 1) / 2)" AGAIN},
    {"rho 0.25 -1", "rho 0.25 inf", "m: line 8: rho has 'inf', which is not a finite number" AGAIN},
    {"label 3 -1 2", "label 3 -1 3", "m: line 9: two classes have the label 3" AGAIN},
    {"label 3 -1 2", "label 3 -1", "m: line 9: label has 2 values instead of 3 (nr_class)" AGAIN},
    {"label 3", "label 2147483648",
     "m: line 9: label is '2147483648', but must be a whole number from -2147483648 to "
     "2147483647" AGAIN},
    {"label 3", "label 1.5",
     "m: line 9: label is '1.5', but must be a whole number from -2147483648 to "
     "2147483647" AGAIN},
    {"probB 0 1 1e+20\n", "",
     "m: line 10: there is probA but no probB; remove it or save the model again"},
    {"probA -1.5 -2 -0.1\n", "",
     "m: line 10: there is probB but no probA; remove it or save the model again"},
    {"probA -1.5 -2", "probA -1.5 - 2",
     "m: line 10: probA has 4 values instead of 3 (nr_class (nr_class - 1) / 2)" AGAIN},
    {"nr_sv 2 0 2", "nr_sv 2 1 2",
     "m: line 12: the values of nr_sv sum to 5, but total_sv is 4" AGAIN},
    {"nr_sv 2 0 2", "nr_sv 5 -3 2",
     "m: line 12: nr_sv is '-3', but must be a whole number from 0 to 2147483647" AGAIN},
    {"nr_sv 2", "gamma 0.5\nnr_sv 2",
     "m: line 12: gamma appears twice, first in line 4; remove one"},
    {"SV\n", "SV 1\n",
     "m: line 13: '1' follows SV on the same line; the vectors begin on the next line"},
    {"\nSV\n", "\n",
     "m: line 16: the file ends without a line SV; it is truncated or not a LIBSVM model"},
    {"gamma 0.5\n", "", "m: line 12: missing before SV: gamma" AGAIN},
};

static void test_wrong_keys_are_named_with_line_and_remedy(void **s) {
    (void)s;
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(wrong_keys); i++)
        refused(&w, with(good[0], wrong_keys[i].from, wrong_keys[i].to), wrong_keys[i].sentence);
    refused(&w, "",
            "m: line 1: the file ends without a line SV; it is truncated or not a LIBSVM model");
    refused(&w, "SV",
            "m: line 1: missing before SV: svm_type, kernel_type, nr_class, total_sv, rho" AGAIN);
    refused(&w, "svm_type nu_svc\nkernel_type rbf\nnr_class 2\nSV\n",
            "m: line 4: missing before SV: gamma, total_sv, rho, label, nr_sv" AGAIN);
    refused(&w, with(good[4], "nr_class 2", "nr_class 3"),
            "m: line 5: nr_class is 3, but must be 2 for epsilon_svr" AGAIN);
    refused(&w, with(good[4], "rho -1.5", "rho -1.5 2"),
            "m: line 7: rho has 2 values instead of 1" AGAIN);
    refused(&w, with(good[3], " 10\n", "\n"),
            "m: line 7: prob_density_marks has 9 values instead of 10" AGAIN);
    refused(&w, with(good[5], "rho", "rho 1"),
            "m: line 5: rho has 1 value instead of 0 (nr_class (nr_class - 1) / 2)" AGAIN);
    world_close(&w);
}

static void test_wrong_vectors_are_named_with_line_and_remedy(void **s) {
    (void)s;
    world w;
    world_open(&w);
    const struct {
        const char *from, *to, *sentence;
    } cases[] = {
        {"1 0.5 1:0.25", "1 1:0.25", "m: line 14: 1 coefficient instead of 2" AGAIN},
        {"2 -1 \n", "2\n", "m: line 16: 1 coefficient instead of 2" AGAIN},
        {"1 0.5 1:0.25", "1 0.5 7 1:0.25", "m: line 14: '7' is not index:value" AGAIN},
        {"1 0.5 1:0.25", "nan 0.5 1:0.25",
         "m: line 14: the coefficient 'nan' is not a finite number" AGAIN},
        {"1 0.5 1:0.25", "1 -1e400 1:0.25",
         "m: line 14: the coefficient '-1e400' is not a finite number" AGAIN},
        {"1 0.5 1:0.25", "1 0.5x 1:0.25",
         "m: line 14: the coefficient '0.5x' is not a finite number" AGAIN},
        {"1:0.25 ", "0:0.25 ", "m: line 14: index 0, but indices start at 1" AGAIN},
        {"1:0.25 ", "-1:0.25 ", "m: line 14: '-1:0.25' is not index:value" AGAIN},
        {"1:0.25 ", "4:0.25 ", "m: line 14: index 3 comes after 4, but indices must ascend" AGAIN},
        {"1:0.25 ", "3:0.25 ", "m: line 14: index 3 comes after 3, but indices must ascend" AGAIN},
        {"1:0.25 ", "99999999999:0.25 ",
         "m: line 14: index 3 comes after 9999999999, but indices must ascend" AGAIN},
        {"3:-7", "99999999999:-7", "m: line 14: an index is larger than 2147483647" AGAIN},
        {"1:0.25 ", "1: 0.25 ", "m: line 14: the value of '1:' is not a finite number" AGAIN},
        {"1:0.25 ", "1:Inf ", "m: line 14: the value of '1:Inf' is not a finite number" AGAIN},
        {"1:0.25 ", "1:0.25,",
         "m: line 14: the value of '1:0.25,3:-7' is not a finite number" AGAIN},
        {"3.4e38", "3.5e38",
         "m: line 17: '1:3.5e38' is too large for a 32-bit float, the largest is 3.4e38; scale the "
         "data and train again"},
        {"3.4e38 \n", "3.4e38\n1 1 1:1\n",
         "m: line 18: there are more lines after SV than total_sv, which is 4" AGAIN},
        {"1e-07 1 1:3.4e38 \n", "",
         "m: line 16: the file ends after 3 of 4 support vectors; it is truncated: copy it again"},
    };
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        refused(&w, with(good[0], cases[i].from, cases[i].to), cases[i].sentence);
    world_close(&w);
}

/* What must hold for every machine that was parsed. */
static void check_sound(const lm_svm *svm, const int32_t *labels) {
    uint64_t sum = 0;
    assert_true(svm->classes >= 1 && svm->d >= 1 && svm->kernel.degree >= 1);
    for (size_t c = 0; svm->count && c < svm->classes; c++)
        sum += svm->count[c];
    assert_true(!svm->count || sum == svm->n);
    assert_int_equal(!labels, !svm->count);
    for (size_t i = 0; i < svm->n * svm->d; i++)
        assert_true(isfinite(svm->sv[i]));
    for (size_t i = 0; i < svm->n * (svm->classes - 1); i++)
        assert_true(isfinite(svm->coef[i]));
    for (size_t i = 0; i < lm_svm_functions(svm); i++)
        assert_true(isfinite(svm->rho[i]));
}

static limn_status survive(world *w, const char *bytes, size_t size) {
    lm_svm svm;
    int32_t *labels;
    w->ctx->error[0] = '\0';
    limn_status status = parse_bytes(w, bytes, size, &svm, &labels);
    if (status == LIMN_OK) {
        check_sound(&svm, labels);
        release(w, &svm, labels);
    } else {
        assert_int_equal(status, LIMN_E_MODEL);
        assert_true(strncmp(limn_error(w->ctx), "m: line ", 8) == 0);
    }
    return status;
}

static void test_a_file_cut_anywhere_is_refused_or_sound(void **s) {
    (void)s;
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(good); i++) {
        size_t size = strlen(good[i]), last = size - 1;
        while (good[i][last - 1] != '\n')
            last--;
        for (size_t cut = 0; cut <= size; cut++) {
            limn_status status = survive(&w, good[i], cut);
            assert_true(status != LIMN_OK || cut > last); /* only within the last line */
            assert_true(cut != size || status == LIMN_OK);
        }
    }
    world_close(&w);
}

static void test_nothing_at_all_is_refused(void **s) {
    (void)s;
    world w;
    world_open(&w);
    lm_svm svm;
    int32_t *labels;
    assert_int_equal(lm_svm_parse(w.ctx, "m", NULL, 0, &svm, &labels), LIMN_E_MODEL);
    assert_false(lm_svm_is_text(NULL, 0));
    world_close(&w);
}

static void test_a_file_with_one_byte_changed_is_refused_or_sound(void **s) {
    (void)s;
    static const char others[] = "\0 \n\r\t:-.09eES\xff#";
    world w;
    world_open(&w);
    w.ctx->memory_limit = 1 << 20;
    for (size_t i = 0; i < LM_COUNT(good); i++) {
        char text[TEXT];
        size_t size = strlen(good[i]);
        memcpy(text, good[i], size);
        for (size_t at = 0; at < size; at++) {
            for (size_t o = 0; o + 1 < sizeof others; o++) {
                text[at] = others[o];
                survive(&w, text, size);
            }
            text[at] = good[i][at];
        }
    }
    world_close(&w);
}

/* ---- hostile sizes ---- */

enum { MOST_BYTES = 1 << 16 };

static void *modest_allocate(void *user, size_t size) {
    assert_true(size <= MOST_BYTES);
    return counting_allocate(user, size);
}

static void test_huge_counts_take_no_memory(void **s) {
    (void)s;
    world w;
    world_open(&w);
    w.ctx->mem.allocate = modest_allocate;
    refused(&w, with(good[0], "total_sv 4", "total_sv 2147483647"),
            "m: line 7: total_sv is 2147483647 with 3 classes, which does not fit in the 66 bytes "
            "after SV; the file is truncated: copy it again");
    refused(&w, with(good[0], "nr_class 3\ntotal_sv 4", "nr_class 2147483647\ntotal_sv 0"),
            "m: line 8: rho has 3 values instead of 2305843005992468481 (nr_class (nr_class - 1) / "
            "2)" AGAIN);
    refused(&w, with(good[0], "nr_class 3", "nr_class 2147483647"),
            "m: line 7: total_sv is 4 with 2147483647 classes, which does not fit in the 66 bytes "
            "after SV; the file is truncated: copy it again");
    w.ctx->memory_limit = 64 << 20;
    refused(
        &w, with(good[0], "4:1.5", "2147483647:1.5"),
        "m: line 15: a matrix of 4 support vectors x 2147483647 features (the largest index) needs "
        "34360 MB of memory, but the limit is 67 MB; renumber the features without gaps or use "
        "fewer");
    w.ctx->memory_limit = 16 * sizeof(float) + 8 * sizeof(double);
    lm_svm svm;
    int32_t *labels;
    must_parse(&w, good[0], &svm, &labels);
    release(&w, &svm, labels);
    w.ctx->memory_limit--;
    assert_int_equal(survive(&w, good[0], strlen(good[0])), LIMN_E_MODEL);
    world_close(&w);
}

static void test_every_failing_allocation_is_reported(void **s) {
    (void)s;
    world w;
    world_open(&w);
    char path[PATH], text[TEXT];
    snprintf(text, sizeof text, "%.*s", (int)strlen(good[0]) - 1, good[0]); /* the tail is copied */
    in_folder("failing", path);
    size_t files = files_in_folder();
    unsigned failures = 0;
    limn_status status;
    do {
        lm_svm svm;
        int32_t *labels;
        w.count.fail_at = ++failures;
        status = parse_bytes(&w, text, strlen(text), &svm, &labels);
        if (status == LIMN_OK)
            status = lm_svm_write(w.ctx, &svm, labels, path);
        assert_int_equal(files_in_folder(), files + (status == LIMN_OK));
        w.count.fail_at = 0;
        release(&w, &svm, labels);
        assert_int_equal(w.count.live, 1); /* the context */
        assert_true(status == LIMN_OK || status == LIMN_E_MEMORY);
    } while (status != LIMN_OK);
    assert_true(failures > 12); /* tail, 4 lists, labels, counts, 2 matrices, 4 of the output */
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_keys_are_named_with_line_and_remedy),
        cmocka_unit_test(test_wrong_vectors_are_named_with_line_and_remedy),
        cmocka_unit_test(test_a_file_cut_anywhere_is_refused_or_sound),
        cmocka_unit_test(test_nothing_at_all_is_refused),
        cmocka_unit_test(test_a_file_with_one_byte_changed_is_refused_or_sound),
        cmocka_unit_test(test_huge_counts_take_no_memory),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
