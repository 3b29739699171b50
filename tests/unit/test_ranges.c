/* test_ranges.c: range files of svm-scale and scale files of e1071: what they say, what is refused,
 * what a model file keeps of them, and what they do to a teacher. */
#include "data_world.h"
#include "model/model.h"
#include "reseal.h"
#include "scale/ranges.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- helpers ---- */

static limn_status parse(world *w, const char *text, lm_ranges *r) {
    return lm_ranges_parse(w->ctx, "r", text, strlen(text), r);
}

static void must_scale(world *w, const char *text, size_t features, lm_scaler *s) {
    lm_ranges r;
    size_t got;
    if (parse(w, text, &r) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    assert_int_equal(lm_ranges_match(w->ctx, &r, features, &got), LIMN_OK);
    assert_int_equal(lm_ranges_scaler(w->ctx, &r, got, s), LIMN_OK);
    lm_ranges_free(&w->ctx->mem, &r);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

static char folder[64];

static const char *in_folder(const char *name, char *path) {
    if (!*folder) {
        snprintf(folder, sizeof folder, "/tmp/limn-ranges-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

/* A regression with an rbf kernel: f(x) = 2 exp(-|x - (1, 0)|^2) - exp(-|x|^2) - 0.5. */
static const char machine[] = "svm_type epsilon_svr\nkernel_type rbf\ngamma 1\nnr_class 2\n"
                              "total_sv 2\nrho 0.5\nSV\n2 1:1\n-1\n";

static double f_of(const double *v, size_t d) {
    double first = 0, second = 0;
    for (size_t j = 0; j < d; j++) {
        double from = v[j] - (j == 0);
        first += from * from;
        second += v[j] * v[j];
    }
    return 2 * exp(-first) - exp(-second) - 0.5;
}

static limn_model *open_model(world *w, const char *ranges) {
    char path[128], range[128];
    limn_model *model = NULL;
    write_file(in_folder("m.model", path), machine);
    write_file(in_folder("m.range", range), ranges);
    if (limn_model_open_ranges(w->ctx, path, range, &model) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    return model;
}

static double ask(world *w, const limn_model *model, const float *x, size_t width) {
    double value = 0;
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(w->ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict_rows(p, LIMN_ANSWER_VALUES, x, 1, width, &value), LIMN_OK);
    limn_predictor_free(p);
    return value;
}

/* ---- what the files say ---- */

static void test_a_range_file_scales_as_svm_scale_does(void **state) {
    (void)state;
    world w;
    lm_scaler s;
    world_open(&w);
    /* out of order, one constant feature, feature 3 not named, CRLF, no newline at the end */
    must_scale(&w, "x\r\n-1 3\r\n\r\n4 5 5\r\n2 10 20\r\n1 0 2", 3, &s);
    assert_int_equal(s.kind, LIMN_SCALE_RANGES);
    assert_int_equal(s.in, 4);
    assert_int_equal(s.out, 4);
    assert_false(s.target);
    const float x[] = {0, 20, 7, 5, 1, 30, -7, 6};
    const float expected[] = {-1, 3, 0, 0, 1, 7, 0, 0};
    float scaled[8], back[8];
    lm_scaler_apply(&s, x, 2, scaled, NULL);
    for (size_t i = 0; i < 8; i++)
        assert_true(scaled[i] == expected[i]);
    assert_int_equal(lm_scaler_undo(w.ctx, &s, NULL, scaled, 2, (const float[]){9, 9, 8, 4}, back),
                     LIMN_OK);
    const float before[] = {0, 20, 8, 4, 1, 30, 8, 4};
    for (size_t i = 0; i < 8; i++)
        assert_true(fabsf(back[i] - before[i]) < 1e-5f);
    lm_scaler_free(&w.ctx->mem, &s);
    world_close(&w);
}

static void test_the_target_is_unscaled(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double in, out;
    } cases[] = {{"y\n-1 1\n100 200\nx\n0 1\n1 0 1\n", 0.5, 175},
                 {"y\n0 10\n-3 2\nx\n0 1\n1 0 1\n", 4, -1},
                 {"y\n0 1\n7 7\nx\n0 1\n1 0 1\n", 0.3, 7}};
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        lm_scaler s;
        double value = cases[i].in;
        must_scale(&w, cases[i].text, 1, &s);
        assert_true(s.target);
        lm_scaler_unscale(&s, &value, 1);
        assert_true(fabs(value - cases[i].out) < 1e-12);
        lm_scaler_free(&w.ctx->mem, &s);
    }
    world_close(&w);
}

static void test_e1071_centres_and_divides(void **state) {
    (void)state;
    world w;
    lm_scaler s;
    float scaled[2];
    world_open(&w);
    must_scale(&w, "\"Sepal \\\"x\\\" Length\" 5 0.5\n3 4\n", 2, &s);
    lm_scaler_apply(&s, (const float[]){6, -1}, 1, scaled, NULL);
    assert_true(scaled[0] == 2 && scaled[1] == -1);
    lm_scaler_free(&w.ctx->mem, &s);
    world_close(&w);
}

static void test_what_was_written_reads_back_as_the_same_scaling(void **state) {
    (void)state;
    enum { N = 50, D = 4 };
    static const limn_scale kinds[] = {LIMN_SCALE_MINMAX, LIMN_SCALE_ZSCORE, LIMN_SCALE_RANGES};
    float x[N * D], first[N * D] = {0}, second[N * D];
    char path[128];
    world w;
    world_open(&w);
    for (size_t i = 0; i < N * D; i++)
        x[i] = i % D == 1 || i % D == 3 ? 7 : sinf((float)i) * 100 + (float)(i % D);
    for (size_t k = 0; k < LM_COUNT(kinds); k++) {
        lm_scaler s, again;
        limn_output *out;
        lm_ranges r;
        size_t d;
        if (kinds[k] == LIMN_SCALE_RANGES)
            must_scale(&w, "y\n2 3\n0 9\nx\n0 5\n1 -50 70\n3 -9 1\n4 1 1\n", 4, &s);
        else
            assert_int_equal(lm_scaler_fit(w.ctx, kinds[k], false,
                                           &(lm_scaler_rows){.x = x, .n = N, .d = D}, &s),
                             LIMN_OK);
        assert_int_equal(limn_output_open(w.ctx, in_folder("out.range", path), &out), LIMN_OK);
        assert_int_equal(lm_ranges_put(w.ctx, &s, out), LIMN_OK);
        assert_int_equal(limn_output_commit(out), LIMN_OK);
        assert_int_equal(lm_ranges_read(w.ctx, path, &r), LIMN_OK);
        assert_int_equal(lm_ranges_match(w.ctx, &r, 1, &d), LIMN_OK);
        assert_int_equal(d, D); /* the last feature is constant, but named */
        assert_int_equal(lm_ranges_scaler(w.ctx, &r, d, &again), LIMN_OK);
        lm_scaler_apply(&s, x, N, first, NULL);
        lm_scaler_apply(&again, x, N, second, NULL);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < s.out; j++)
                assert_true(fabsf(first[i * s.out + j] - second[i * D + s.keep[j]]) < 1e-5f);
        assert_int_equal(again.target, s.target);
        if (s.target)
            assert_true(fabs(again.target_offset - s.target_offset) < 1e-12 &&
                        fabs(again.target_factor - s.target_factor) < 1e-12);
        lm_ranges_free(&w.ctx->mem, &r);
        lm_scaler_free(&w.ctx->mem, &s);
        lm_scaler_free(&w.ctx->mem, &again);
    }
    world_close(&w);
}

/* ---- what is refused ---- */

static void test_bad_files_are_refused_with_line_and_reason(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *reason;
    } bad[] = {
        {"", "line 1:", "empty"},
        {"\n \n", "line 1:", "empty"},
        {"hello\n", "line 1:", "svm-scale"},
        {"x\n", "line 1:", "truncated"},
        {"x\n0 1\n", "line 2:", "truncated"},
        {"y\n0 1\n", "line 2:", "truncated"},
        {"y\n0 1\n2 3\n", "line 3:", "before the line x"},
        {"y\n0 1\n2 3\n1 0 1\n", "line 4:", "must be x"},
        {"x\n1 0\n1 0 1\n", "line 2:", "not below"},
        {"x\n1 1\n1 0 1\n", "line 2:", "not below"},
        {"x\n0 1\n1 0\n", "line 3:", "2 words"},
        {"x\n0 1\n1 0 1 2\n", "line 3:", "4 words"},
        {"x\n0 1\n0 0 1\n", "line 3:", "'0'"},
        {"x\n0 1\n-1 0 1\n", "line 3:", "'-1'"},
        {"x\n0 1\n1.0 0 1\n", "line 3:", "'1.0'"},
        {"x\n0 1\n2147483648 0 1\n", "line 3:", "whole number"},
        {"x\n0 1\n1 0 nan\n", "line 3:", "'nan'"},
        {"x\n0 1\n1 -inf 0\n", "line 3:", "'-inf'"},
        {"x\n0 1\n1 0 1e999\n", "line 3:", "finite"},
        {"x\n0 1\n1 0 one\n", "line 3:", "'one'"},
        {"x\n0 1\n1 2 1\n", "line 3:", "larger than max"},
        {"x\n0 1\n1 -1e308 1e308\n", "line 3:", "too large"},
        {"x\n0 1\n1 0 5e-324\n", "line 3:", "too small"},
        {"x\n0 1\n2 0 1\n1 0 1\n2 5 6\n", "line 5:", "first in line 3"},
        {"y\n0 1\n3 2\nx\n0 1\n1 0 1\n", "line 3:", "larger than max"},
        {"1 0\n", "line 1:", "not above 0"},
        {"1 -2\n", "line 1:", "not above 0"},
        {"1 NA\n", "line 1:", "'NA'"},
        {"1 1\n1\n", "line 2:", "1 word"},
        {"\"center\" \"scale\"\n1 2\n", "line 1:", "center and scale"},
        {"\"open 1 2\n", "line 1:", "1 word"},
        {"\"open\\", "line 1:", "1 word"},
    };
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(bad); i++) {
        lm_ranges r;
        assert_int_equal(parse(&w, bad[i].text, &r), LIMN_E_MODEL);
        if (strncmp(limn_error(w.ctx), "r: ", 3) != 0 || !strstr(limn_error(w.ctx), bad[i].place) ||
            !strstr(limn_error(w.ctx), bad[i].reason))
            fail_msg("%s: %s", bad[i].text, limn_error(w.ctx));
        lm_ranges_free(&w.ctx->mem, &r);
    }
    world_close(&w);
}

static void test_a_number_of_lines_that_does_not_fit_is_refused(void **state) {
    (void)state;
    world w;
    lm_ranges r;
    size_t d;
    world_open(&w);
    assert_int_equal(parse(&w, "0 1\n0 1\n", &r), LIMN_OK);
    assert_int_equal(lm_ranges_match(w.ctx, &r, 3, &d), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w.ctx), "'0 1'"));
    assert_int_equal(lm_ranges_match(w.ctx, &r, 1, &d), LIMN_E_MODEL);
    assert_int_equal(lm_ranges_match(w.ctx, &r, 2, &d), LIMN_OK);
    lm_ranges_free(&w.ctx->mem, &r);
    world_close(&w);
}

static void test_a_huge_index_takes_no_memory(void **state) {
    (void)state;
    char path[128], range[128];
    limn_model *model = NULL;
    world w;
    world_open(&w);
    write_file(in_folder("m.model", path), machine);
    write_file(in_folder("m.range", range), "x\n0 1\n1 0 1\n2000000000 0 1\n");
    assert_int_equal(limn_model_open_ranges(w.ctx, path, range, &model), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w.ctx), "line 4: feature 2000000000"));
    assert_null(model);
    world_close(&w);
}

/* ---- models ---- */

static void check_answers(world *w, const limn_model *model) {
    /* 1: 0..4 -> -1..1; 2 is not named; 3: 10..20 -> -1..1, unknown to the machine; y: -1..1 of
     * 100..300 */
    const float rows[][4] = {{4, 5, 15, 9}, {0, 0, 20, 0}, {3, -100, 11, 1e9f}, {2, 1, 0, 0}};
    for (size_t i = 0; i < LM_COUNT(rows); i++) {
        double v[] = {(double)rows[i][0] / 2 - 1, 0, ((double)rows[i][2] - 15) / 5};
        double expected = 200 + 100 * f_of(v, 3);
        assert_true(fabs(ask(w, model, rows[i], 3) - expected) < 1e-3);
        assert_true(fabs(ask(w, model, rows[i], 4) - expected) <
                    1e-3); /* squares beyond: ignored */
    }
}

static const char ranges_of_machine[] = "y\n-1 1\n100 300\nx\n-1 1\n1 0 4\n3 10 20\n";

static void test_a_model_answers_in_original_units_before_and_after_saving(void **state) {
    (void)state;
    char path[128];
    limn_model_info info;
    limn_model *loaded = NULL;
    world w;
    world_open(&w);
    limn_model *model = open_model(&w, ranges_of_machine);
    check_answers(&w, model);
    assert_int_equal(limn_model_save(w.ctx, model, in_folder("m.limn", path)), LIMN_OK);
    assert_int_equal(limn_model_open(w.ctx, path, &loaded), LIMN_OK);
    check_answers(&w, loaded);
    limn_model_info_init(&info);
    limn_model_describe(loaded, &info);
    assert_int_equal(info.scale, LIMN_SCALE_RANGES);
    assert_int_equal(info.features, 3);
    assert_true(info.scaled_target);
    limn_model_free(model);
    model = NULL;
    assert_int_equal(limn_model_open_ranges(w.ctx, path, path, &model), LIMN_E_USAGE);
    limn_model_free(loaded);
    world_close(&w);
}

static void test_a_pupil_takes_over_the_features_but_not_the_target(void **state) {
    (void)state;
    enum { N = 300 };
    float *x = malloc(N * 3 * sizeof *x);
    double *y = malloc(N * sizeof *y), error = 0;
    limn_train_options options;
    limn_data *data = NULL;
    limn_model *pupil = NULL;
    world w;
    world_open(&w);
    limn_model *model = open_model(&w, ranges_of_machine);
    for (size_t i = 0; i < N; i++) {
        x[3 * i] = (float)(i % 17) / 4;
        x[3 * i + 1] = 5;
        x[3 * i + 2] = 10 + (float)(i % 11);
        y[i] = ask(&w, model, x + 3 * i, 3);
    }
    assert_int_equal(limn_data_from_values(w.ctx, LIMN_REGRESS, x, N, 3, y, &data), LIMN_OK);
    limn_train_options_init(&options);
    options.method = "student";
    options.params = (const char *const[]){"size=16"};
    options.param_count = 1;
    options.teacher = model;
    w.ctx->log = NULL;
    if (limn_train(w.ctx, data, &options, &pupil) != LIMN_OK)
        fail_msg("%s", limn_error(w.ctx));
    assert_int_equal(pupil->scaler.kind, LIMN_SCALE_RANGES);
    assert_false(pupil->scaler.target);
    for (size_t i = 0; i < N; i++)
        error += fabs(ask(&w, pupil, x + 3 * i, 3) - y[i]) / N;
    assert_true(error < 20); /* of values between 20 and 320 */
    limn_model_free(pupil);
    limn_model_free(model);
    limn_data_free(data);
    free(x);
    free(y);
    world_close(&w);
}

/* ---- hostile model files ---- */

/* Finds the doubles of a list in the file; there is one. */
static unsigned char *find_double(unsigned char *bytes, size_t size, double value) {
    unsigned char *found = NULL;
    for (size_t i = 0; i + sizeof value <= size; i++)
        if (memcmp(bytes + i, &value, sizeof value) == 0) {
            assert_null(found);
            found = bytes + i;
        }
    assert_non_null(found);
    return found;
}

static limn_status load_with(world *w, const limn_model *model, double value, double replaced) {
    unsigned char *bytes;
    size_t size;
    lm_file *file;
    limn_model *loaded = NULL;
    assert_int_equal(lm_model_bytes(w->ctx, model, &bytes, &size), LIMN_OK);
    memcpy(find_double(bytes, size, value), &replaced, sizeof replaced);
    reseal(bytes, size);
    assert_int_equal(lm_file_from_memory(w->ctx, bytes, size, "m", &file), LIMN_OK);
    limn_status status = lm_model_load(w->ctx, file, &loaded);
    limn_model_free(loaded);
    lm_free(&w->ctx->mem, bytes);
    return status;
}

static void test_numbers_that_cannot_be_true_are_refused_in_a_model_file(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_model *model = open_model(&w, "y\n0 1\n11 24\nx\n0 1\n1 17 36\n2 0 1\n");
    const double factor = model->scaler.factor[0], offset = 17, to = 11, by = 13;
    assert_int_equal(load_with(&w, model, factor, 0), LIMN_OK);
    assert_int_equal(load_with(&w, model, factor, -1), LIMN_E_MODEL);
    assert_int_equal(load_with(&w, model, factor, (double)NAN), LIMN_E_MODEL);
    assert_int_equal(load_with(&w, model, factor, (double)INFINITY), LIMN_E_MODEL);
    assert_int_equal(load_with(&w, model, offset, (double)NAN), LIMN_E_MODEL);
    assert_int_equal(load_with(&w, model, to, (double)INFINITY), LIMN_E_MODEL);
    assert_int_equal(load_with(&w, model, by, -13), LIMN_E_MODEL);
    assert_int_equal(load_with(&w, model, by, (double)NAN), LIMN_E_MODEL);
    assert_int_equal(load_with(&w, model, by, 0), LIMN_OK);
    limn_model_free(model);
    world_close(&w);
}

static void test_running_out_of_memory_leaves_nothing(void **state) {
    (void)state;
    char path[128], range[128];
    write_file(in_folder("m.model", path), machine);
    write_file(in_folder("m.range", range), ranges_of_machine);
    bool done = false;
    for (unsigned n = 1; !done; n++) {
        world w;
        limn_model *model = NULL;
        world_open(&w);
        w.count.fail_at = n;
        limn_status status = limn_model_open_ranges(w.ctx, path, range, &model);
        done = w.count.fail_at != 0;
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        limn_model_free(model);
        world_close(&w);
        assert_true(n < 1000);
    }
}

static int remove_folder(void **state) {
    static const char *const names[] = {"m.model", "m.range", "m.limn", "out.range"};
    char path[128];
    (void)state;
    for (size_t i = 0; i < LM_COUNT(names); i++)
        (void)unlink(in_folder(names[i], path));
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_range_file_scales_as_svm_scale_does),
        cmocka_unit_test(test_the_target_is_unscaled),
        cmocka_unit_test(test_e1071_centres_and_divides),
        cmocka_unit_test(test_what_was_written_reads_back_as_the_same_scaling),
        cmocka_unit_test(test_bad_files_are_refused_with_line_and_reason),
        cmocka_unit_test(test_a_number_of_lines_that_does_not_fit_is_refused),
        cmocka_unit_test(test_a_huge_index_takes_no_memory),
        cmocka_unit_test(test_a_model_answers_in_original_units_before_and_after_saving),
        cmocka_unit_test(test_a_pupil_takes_over_the_features_but_not_the_target),
        cmocka_unit_test(test_numbers_that_cannot_be_true_are_refused_in_a_model_file),
        cmocka_unit_test(test_running_out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
