/* gamma=auto and radius=auto: one walk over unpruned trees chooses what training anew with every
 * pair of values on every fold would choose. */
#include "data/split.h"
#include "model/model.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 90, FOLDS = 5, GAMMAS = 7, RADII = 5 };

static const double gammas[GAMMAS] = {0, .01, .02, .05, .1, .2, .4};
static const double radii[RADII] = {0, .01, .02, .04, .08};

typedef struct told {
    double gamma, radius;
    int count;
} told;

static void on_log(void *user, limn_log_level level, const char *sentence) {
    told *t = user;
    (void)level;
    t->count += sscanf(sentence, "vpc: chosen by inner validation: gamma=%lf radius=%lf", &t->gamma,
                       &t->radius) == 2;
}

/* Three classes that overlap, with some labels drawn at random. */
static limn_data *noisy(limn_context *ctx, uint64_t seed) {
    float x[ROWS * 2];
    double y[ROWS];
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(seed, 77, 0);
    for (size_t i = 0; i < ROWS; i++) {
        size_t c = i % 3;
        x[2 * i] = (float)(lm_rng_normal(&rng) + 1.5 * (double)c);
        x[2 * i + 1] = (float)(lm_rng_normal(&rng) + (c == 1));
        y[i] = lm_rng_below(&rng, 8) ? (double)c : (double)lm_rng_below(&rng, 3);
    }
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, ROWS, 2, y, &data), LIMN_OK);
    return data;
}

static limn_model *train(limn_context *ctx, const limn_data *data, const char *style,
                         const char *gamma, const char *radius) {
    char a[64], b[64], c[64];
    const char *params[] = {a, b, c, "trees=3", "stop=2"};
    limn_train_options options;
    limn_model *model = NULL;
    snprintf(a, sizeof a, "style=%s", style);
    snprintf(b, sizeof b, "gamma=%s", gamma);
    snprintf(c, sizeof c, "radius=%s", radius);
    limn_train_options_init(&options);
    options.method = "vpc";
    options.scale = LIMN_SCALE_NONE;
    options.params = params;
    options.param_count = LM_COUNT(params);
    if (limn_train(ctx, data, &options, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    return model;
}

/* Wrong answers on the rows of one fold, of a model trained on the others. */
static size_t wrong_in_fold(limn_context *ctx, const limn_data *data, const uint32_t *fold,
                            uint32_t number, const char *style, double gamma, double radius) {
    size_t rows[ROWS], n = 0, wrong = 0;
    char g[32], r[32];
    limn_data *part = NULL;
    limn_predictor *p = NULL;
    for (size_t i = 0; i < ROWS; i++)
        if (fold[i] != number)
            rows[n++] = i;
    assert_int_equal(lm_data_take(ctx, data, rows, n, &part), LIMN_OK);
    snprintf(g, sizeof g, "%.17g", gamma);
    snprintf(r, sizeof r, "%.17g", radius);
    limn_model *model = train(ctx, part, style, g, r);
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    for (size_t i = 0; i < ROWS; i++) {
        int32_t class;
        if (fold[i] != number)
            continue;
        assert_int_equal(limn_predict(p, data->x + 2 * i, 1, &class), LIMN_OK);
        wrong += class != data->label[i];
    }
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(part);
    return wrong;
}

static void check_choice(const char *style, uint64_t seed) {
    told t = {0, 0, 0};
    limn_context *ctx = make_context(NULL, 1, seed);
    limn_data *data = noisy(ctx, seed);
    uint32_t fold[ROWS];
    size_t wrong[GAMMAS][RADII] = {{0}}, best_g = GAMMAS - 1, best_r = 0;
    assert_int_equal(
        lm_split_folds(ctx, data->label, ROWS, FOLDS, lm_hash(ctx->seed, LM_STREAM_FOLDS, 5), fold),
        LIMN_OK);
    for (size_t g = 0; g < GAMMAS; g++)
        for (size_t r = 0; r < RADII; r++)
            for (uint32_t f = 0; f < FOLDS; f++)
                wrong[g][r] += wrong_in_fold(ctx, data, fold, f, style, gammas[g], radii[r]);
    for (size_t g = GAMMAS; g-- > 0;)
        for (size_t r = 0; r < RADII; r++)
            if (wrong[g][r] < wrong[best_g][best_r]) {
                best_g = g;
                best_r = r;
            }
    ctx->log = on_log;
    ctx->user = &t;
    limn_model *model = train(ctx, data, style, "auto", "auto");
    assert_int_equal(t.count, 1);
    assert_true(t.gamma == gammas[best_g] && t.radius == radii[best_r]);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_a_forest_chooses_what_training_anew_would(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed += every(3))
        check_choice("forest", seed);
}

static void test_the_papers_tree_chooses_what_training_anew_would(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed += every(3))
        check_choice("paper", seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_forest_chooses_what_training_anew_would),
        cmocka_unit_test(test_the_papers_tree_chooses_what_training_anew_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
