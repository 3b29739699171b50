/* test_svm_store.c: a machine in the sections of any method: what was saved under one name is
 * loaded again number for number, and a file whose checksums hold but whose numbers cannot be true
 * is refused with a message that names them. */
#include "reseal.h"
#include "svm/store.h"
#include "svm_world.h"

enum { HEADER = 64, ENTRY = 64, E_OFFSET = 32 }; /* of docs/format.md */

static const lm_svm_sections guest = {"student.svm", 3, NULL};
static const lm_svm_sections flagged = {"student.svm", 3, "borrowed"};

/* ---- files in memory ---- */

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

static bytes save(world *w, const lm_svm *svm, const lm_svm_sections *sections, bool flag) {
    bytes b;
    lm_writer *writer;
    assert_int_equal(lm_writer_new(w->ctx, &writer), LIMN_OK);
    assert_int_equal(lm_svm_save(svm, sections, flag, writer), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &b.data, &b.size), LIMN_OK);
    lm_writer_free(writer);
    return b;
}

static lm_file *open_file(world *w, bytes b) {
    lm_file *file;
    if (lm_file_from_memory(w->ctx, b.data, b.size, "m", &file) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    return file;
}

static limn_status load_whole(world *w, const lm_file *file, const lm_svm_sections *sections,
                              size_t classes, lm_svm *svm) {
    bool flag;
    limn_status status = lm_svm_load_about(w->ctx, file, sections, svm, &flag);
    return status == LIMN_OK ? lm_svm_load_arrays(w->ctx, file, sections, classes, svm) : status;
}

/* Overwrites the payload of a section from byte `at` on. */
static void damage(bytes b, const char *section, size_t at, const void *with, size_t size) {
    const unsigned char *entry = b.data + HEADER;
    uint64_t offset;
    while (strcmp((const char *)entry, section) != 0) {
        entry += ENTRY;
        assert_true(entry + ENTRY <= b.data + b.size);
    }
    memcpy(&offset, entry + E_OFFSET, sizeof offset);
    memcpy(b.data + offset + at, with, size);
    reseal(b.data, b.size);
}

/* ---- what comes back ---- */

static void same_array(const void *a, const void *b, size_t size) {
    assert_int_equal(!a, !b);
    if (a && size)
        assert_memory_equal(a, b, size);
}

static void same_machine(const lm_svm *a, const lm_svm *b) {
    size_t functions = lm_svm_functions(a) * sizeof(double);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->kernel.type, b->kernel.type);
    assert_int_equal(a->kernel.degree, b->kernel.degree);
    assert_true(a->kernel.gamma == b->kernel.gamma && a->kernel.coef0 == b->kernel.coef0);
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(a->d, b->d);
    assert_int_equal(a->n, b->n);
    same_array(a->count, b->count, a->classes * sizeof *a->count);
    if (a->n) {
        same_array(a->sv, b->sv, a->n * a->d * sizeof *a->sv);
        same_array(a->coef, b->coef, (a->classes - 1) * a->n * sizeof *a->coef);
    }
    if (functions) {
        same_array(a->rho, b->rho, functions);
        same_array(a->prob_a, b->prob_a, functions);
        same_array(a->prob_b, b->prob_b, functions);
    }
    same_array(a->marks, b->marks, LM_SVM_MARKS * sizeof *a->marks);
}

static void test_every_type_comes_back_from_sections_of_another_name(void **s) {
    (void)s;
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(good); i++) {
        lm_svm svm, back;
        int32_t *labels;
        must_parse(&w, good[i], &svm, &labels);
        bytes b = save(&w, &svm, &guest, true);
        lm_file *file = open_file(&w, b);
        assert_int_equal(load_whole(&w, file, &guest, svm.classes, &back), LIMN_OK);
        same_machine(&svm, &back);
        assert_false(back.owned);
        lm_file_close(file);
        lm_free(&w.ctx->mem, b.data);
        release(&w, &svm, labels);
    }
    world_close(&w);
}

/* Kernels that only other parts of the library have. */
static void test_kernels_that_libsvm_does_not_have_are_refused(void **s) {
    (void)s;
    static const lm_kernel_type types[] = {LM_CHI2_KERNEL, LM_INTERSECTION};
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(types); i++) {
        lm_svm svm, back;
        int32_t *labels;
        char sentence[128];
        must_parse(&w, good[0], &svm, &labels);
        svm.kernel.type = types[i];
        bytes b = save(&w, &svm, &guest, true);
        lm_file *file = open_file(&w, b);
        snprintf(sentence, sizeof sentence, "the machine 'c_svc' with kernel '%s' is unknown",
                 lm_kernel_name(types[i]));
        assert_int_equal(load_whole(&w, file, &guest, svm.classes, &back), LIMN_E_MODEL);
        assert_non_null(strstr(limn_error(w.ctx), sentence));
        lm_file_close(file);
        lm_free(&w.ctx->mem, b.data);
        release(&w, &svm, labels);
    }
    world_close(&w);
}

/* Without probabilities and marks, in memory of its own; every failed allocation is reported. */
static void test_a_copy_has_what_decisions_need(void **s) {
    (void)s;
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(good); i++) {
        lm_svm svm, copy;
        int32_t *labels;
        limn_status status = LIMN_E_MEMORY;
        must_parse(&w, good[i], &svm, &labels);
        lm_svm bare = svm;
        bare.prob_a = bare.prob_b = bare.marks = NULL;
        for (unsigned at = 1; status != LIMN_OK; at++) {
            w.count.fail_at = at;
            status = lm_svm_copy(w.ctx, &svm, &copy);
            w.count.fail_at = 0;
            assert_true(status == LIMN_OK || status == LIMN_E_MEMORY);
            if (status != LIMN_OK)
                lm_svm_free(&w.ctx->mem, &copy);
        }
        same_machine(&bare, &copy);
        assert_true(copy.owned && (!svm.n || copy.sv != svm.sv) &&
                    (!svm.n || copy.coef != svm.coef));
        lm_svm_free(&w.ctx->mem, &copy);
        release(&w, &svm, labels);
    }
    world_close(&w);
}

static void test_sections_have_the_prefix_and_version_of_the_caller(void **s) {
    (void)s;
    static const char *const names[] = {
        "student.svm.about", "student.svm.counts", "student.svm.vectors", "student.svm.coef",
        "student.svm.rho",   "student.svm.prob_a", "student.svm.prob_b"};
    world w;
    lm_svm svm;
    int32_t *labels;
    world_open(&w);
    must_parse(&w, good[0], &svm, &labels);
    bytes b = save(&w, &svm, &guest, false);
    lm_file *file = open_file(&w, b);
    assert_int_equal(lm_file_section_count(file), LM_COUNT(names));
    for (size_t i = 0; i < LM_COUNT(names); i++) {
        assert_string_equal(lm_file_section_at(file, i).name, names[i]);
        assert_int_equal(lm_file_section_at(file, i).version, 3);
    }
    lm_file_close(file);
    lm_free(&w.ctx->mem, b.data);
    release(&w, &svm, labels);
    world_close(&w);
}

static void test_two_machines_share_a_file(void **s) {
    (void)s;
    static const lm_svm_sections other = {"svm", 1, NULL};
    world w;
    lm_svm one, two, back;
    int32_t *labels, *none;
    lm_writer *writer;
    bytes b;
    world_open(&w);
    must_parse(&w, good[0], &one, &labels);
    must_parse(&w, good[4], &two, &none);
    assert_int_equal(lm_writer_new(w.ctx, &writer), LIMN_OK);
    assert_int_equal(lm_svm_save(&one, &guest, false, writer), LIMN_OK);
    assert_int_equal(lm_svm_save(&two, &other, false, writer), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &b.data, &b.size), LIMN_OK);
    lm_file *file = open_file(&w, b);
    assert_int_equal(load_whole(&w, file, &guest, one.classes, &back), LIMN_OK);
    same_machine(&one, &back);
    assert_int_equal(load_whole(&w, file, &other, 0, &back), LIMN_OK);
    same_machine(&two, &back);
    lm_file_close(file);
    lm_writer_free(writer);
    lm_free(&w.ctx->mem, b.data);
    release(&w, &one, labels);
    release(&w, &two, none);
    world_close(&w);
}

static void test_the_flag_of_the_caller_comes_back(void **s) {
    (void)s;
    world w;
    lm_svm svm, back;
    int32_t *labels;
    world_open(&w);
    must_parse(&w, good[0], &svm, &labels);
    for (int value = 0; value < 2; value++) {
        bool flag = !value;
        bytes b = save(&w, &svm, &flagged, value);
        lm_file *file = open_file(&w, b);
        assert_int_equal(lm_svm_load_about(w.ctx, file, &flagged, &back, &flag), LIMN_OK);
        assert_int_equal(flag, value);
        assert_int_equal(lm_svm_load_about(w.ctx, file, &guest, &back, NULL), LIMN_OK);
        lm_file_close(file);
        lm_free(&w.ctx->mem, b.data);
    }
    release(&w, &svm, labels);
    world_close(&w);
}

/* ---- what is refused ---- */

#define NOT_LIMN "; the file is damaged or was not written by limn"

/* good[0] loaded by `sections` as a machine of so many classes. */
static void check_refused(world *w, bytes b, const lm_svm_sections *sections, size_t classes,
                          const char *sentence) {
    lm_svm svm;
    lm_file *file = open_file(w, b);
    limn_status status = load_whole(w, file, sections, classes, &svm);
    assert_string_equal(limn_error(w->ctx), sentence);
    assert_int_equal(status, LIMN_E_MODEL);
    lm_file_close(file);
}

static void test_damaged_numbers_are_refused(void **s) {
    (void)s;
    const uint64_t more = 3, fewer = 1, huge = UINT64_MAX;
    const float nan32 = NAN;
    const double nan64 = NAN, infinite = -INFINITY;
    const struct {
        const char *section;
        size_t at;
        const void *with;
        size_t size;
        const char *sentence;
    } cases[] = {
        {"student.svm.counts", 0, &more, 8,
         "m: the classes have more than 4 support vectors" NOT_LIMN},
        {"student.svm.counts", 8, &huge, 8,
         "m: the classes have more than 4 support vectors" NOT_LIMN},
        {"student.svm.counts", 16, &fewer, 8, "m: support vectors without a class: 1" NOT_LIMN},
        {"student.svm.vectors", 9 * 4, &nan32, 4, "m: support vector 2 is not finite" NOT_LIMN},
        {"student.svm.coef", 7 * 8, &nan64, 8,
         "m: number 7 of section 'student.svm.coef' is not finite" NOT_LIMN},
        {"student.svm.rho", 2 * 8, &infinite, 8,
         "m: number 2 of section 'student.svm.rho' is not finite" NOT_LIMN},
        {"student.svm.prob_a", 0, &nan64, 8,
         "m: number 0 of section 'student.svm.prob_a' is not finite" NOT_LIMN},
        {"student.svm.prob_b", 8, &infinite, 8,
         "m: number 1 of section 'student.svm.prob_b' is not finite" NOT_LIMN},
    };
    world w;
    lm_svm svm;
    int32_t *labels;
    world_open(&w);
    must_parse(&w, good[0], &svm, &labels);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        bytes b = save(&w, &svm, &guest, false);
        damage(b, cases[i].section, cases[i].at, cases[i].with, cases[i].size);
        check_refused(&w, b, &guest, svm.classes, cases[i].sentence);
        lm_free(&w.ctx->mem, b.data);
    }
    release(&w, &svm, labels);
    world_close(&w);
}

static void test_a_file_that_holds_something_else_is_refused(void **s) {
    (void)s;
    static const lm_svm_sections elsewhere = {"svm", 3, NULL}, older = {"student.svm", 2, NULL};
    world w;
    lm_svm svm;
    int32_t *labels;
    world_open(&w);
    must_parse(&w, good[0], &svm, &labels);
    bytes b = save(&w, &svm, &guest, false);
    check_refused(&w, b, &elsewhere, 3, "m: section 'svm.about' is missing" NOT_LIMN);
    check_refused(&w, b, &flagged, 3, "m: section 'student.svm.about' lacks 'borrowed'" NOT_LIMN);
    check_refused(&w, b, &older, 3,
                  "m: section 'student.svm.about' was written by a newer limn (version 3, this "
                  "limn reads up to 2); update limn");
    check_refused(&w, b, &guest, 4,
                  "m: section 'student.svm.counts' has 24 bytes, not 4 values of 8 bytes" NOT_LIMN);
    lm_free(&w.ctx->mem, b.data);
    release(&w, &svm, labels);
    world_close(&w);
}

static void test_a_prefix_that_is_too_long_is_refused(void **s) {
    (void)s;
    static const char *const prefixes[] = {"a-prefix-of-sixt",
                                           "a-prefix-that-is-longer-than-two-names-of-sections"};
    world w;
    lm_svm svm;
    int32_t *labels;
    world_open(&w);
    must_parse(&w, good[0], &svm, &labels);
    for (size_t i = 0; i < LM_COUNT(prefixes); i++) {
        lm_svm_sections sections = {prefixes[i], 1, NULL};
        lm_writer *writer;
        assert_int_equal(lm_writer_new(w.ctx, &writer), LIMN_OK);
        assert_int_equal(lm_svm_save(&svm, &sections, false, writer), LIMN_E_USAGE);
        assert_non_null(strstr(limn_error(w.ctx), "is not a valid section name"));
        lm_writer_free(writer);
    }
    release(&w, &svm, labels);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_comes_back_from_sections_of_another_name),
        cmocka_unit_test(test_kernels_that_libsvm_does_not_have_are_refused),
        cmocka_unit_test(test_a_copy_has_what_decisions_need),
        cmocka_unit_test(test_sections_have_the_prefix_and_version_of_the_caller),
        cmocka_unit_test(test_two_machines_share_a_file),
        cmocka_unit_test(test_the_flag_of_the_caller_comes_back),
        cmocka_unit_test(test_damaged_numbers_are_refused),
        cmocka_unit_test(test_a_file_that_holds_something_else_is_refused),
        cmocka_unit_test(test_a_prefix_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
