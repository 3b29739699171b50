/* test_models.c: models of released versions (tests/models): saved again and opened, they give
 * the same answers bit for bit; tests/cli/test_models.py compares the answers with the original
 * ones. */
#include "model/model.h"
#include "support.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { QUERIES = 200, MOST = 64 };

static void ask(limn_context *ctx, const limn_model *model, double *out) {
    size_t d = model->schema.features;
    limn_predictor *p = NULL;
    limn_predictor_options options;
    float *x = malloc(QUERIES * d * sizeof *x);
    int32_t classes[QUERIES];
    int64_t rows[QUERIES];
    lm_rng rng = lm_rng_at(3, 4, 5);
    for (size_t i = 0; i < QUERIES * d; i++) /* whole numbers: many equal distances */
        x[i] = (float)lm_rng_below(&rng, 8);
    limn_predictor_options_init(&options);
    options.neighbors = 1;
    assert_int_equal(limn_predictor_new(ctx, model, &options, &p), LIMN_OK);
    memset(out, 0, QUERIES * MOST * sizeof *out);
    if (model->schema.task == LIMN_REGRESS)
        assert_int_equal(limn_predict_values(p, x, QUERIES, out), LIMN_OK);
    else if (model->schema.task == LIMN_SEARCH)
        assert_int_equal(limn_search(p, x, QUERIES, 1, rows, out), LIMN_OK);
    else
        assert_int_equal(limn_predict(p, x, QUERIES, classes), LIMN_OK);
    for (size_t i = 0; i < QUERIES && model->schema.labels.count; i++)
        out[i] = classes[i];
    if (lm_model_capabilities(model) & LIMN_CAN_PROBA)
        assert_int_equal(limn_predict_proba(p, x, QUERIES, out + QUERIES), LIMN_OK);
    limn_predictor_free(p);
    free(x);
}

static limn_model *again(limn_context *ctx, const limn_model *model) {
    unsigned char *bytes;
    size_t size;
    lm_file *file = NULL;
    limn_model *loaded = NULL;
    assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
    assert_int_equal(lm_file_from_memory(ctx, bytes, size, "again", &file), LIMN_OK);
    if (lm_model_load(ctx, file, &loaded) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    lm_free(&ctx->mem, bytes);
    return loaded;
}

static void test_saving_an_old_model_changes_no_answer(void **state) {
    (void)state;
    char pattern[512];
    glob_t found;
    const char *root = getenv("LIMN_SOURCE_DIR");
    snprintf(pattern, sizeof pattern, "%s/tests/models/*/*.limn", root ? root : "..");
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 20);
    double *one = malloc(QUERIES * MOST * sizeof *one),
           *other = malloc(QUERIES * MOST * sizeof *one);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        limn_context *ctx = make_context(NULL, 1, 1);
        limn_model *model = NULL;
        if (limn_model_open(ctx, found.gl_pathv[i], &model) != LIMN_OK)
            fail_msg("%s", limn_error(ctx));
        limn_model *saved = again(ctx, model);
        ask(ctx, model, one);
        ask(ctx, saved, other);
        if (memcmp(one, other, QUERIES * MOST * sizeof *one) != 0)
            fail_msg("%s: answers differ after saving it again", found.gl_pathv[i]);
        limn_model_free(saved);
        limn_model_free(model);
        limn_context_free(ctx);
    }
    free(one);
    free(other);
    globfree(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saving_an_old_model_changes_no_answer),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
