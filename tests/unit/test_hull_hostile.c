/* test_hull_hostile.c: hull models with tampered files and valid checksums: each is refused with
 * a message or answers, but never reads out of bounds. Also allocations that fail while training,
 * saving and loading. */
#include "hull_world.h"
#include "reseal.h"

#define RBF .curved = true, .kernel = {.type = LM_RBF, .gamma = .1}
#define POLY .curved = true, .kernel = {.type = LM_POLYNOMIAL, .gamma = .1, .coef0 = 1, .degree = 2}
#define TWO .rule = HULL_DIM_GIVEN, .dim = 2, .cut = 1e-6

/* One model for every combination of sections. */
static const slow_set sets[] = {
    {.kind = HULL_NAH, TWO},
    {.kind = HULL_NHD, TWO, .nu = .1},
    {.kind = HULL_NCH},
    {.kind = HULL_NSC},
    {.kind = HULL_NRH, .rho = .1},
    {.kind = HULL_NAH, TWO, RBF},
    {.kind = HULL_NHD, TWO, POLY, .nu = .1},
    {.kind = HULL_NCH, RBF},
    {.kind = HULL_NCH, POLY},
    {.kind = HULL_NSC, RBF, .nu = .1},
    {.kind = HULL_NRH, RBF, .rho = .1},
    {.kind = HULL_NAH, TWO, .neighbors = 5},
    {.kind = HULL_NHD, TWO, RBF, .neighbors = 5},
    {.kind = HULL_NCH, .neighbors = 5},
    {.kind = HULL_NSC, .nu = .3, .neighbors = 5},
    {.kind = HULL_NRH, .rho = .1, .neighbors = 5},
    {.kind = HULL_NRH, POLY, .rho = .1, .neighbors = 5},
};

static limn_status load_bytes(limn_context *ctx, const unsigned char *bytes, size_t size,
                              limn_model **model) {
    lm_file *file = NULL;
    *model = NULL;
    limn_status status = lm_file_from_memory(ctx, bytes, size, "t.limn", &file);
    return status == LIMN_OK ? lm_model_load(ctx, file, model) : status;
}

/* A model of 20 classes in 128 features has a head. */
static limn_data *wide_data(limn_context *ctx) {
    enum { N = 680, D = 128, K = 20 };
    float *x = malloc(N * D * sizeof *x);
    double *y = malloc(N * sizeof *y);
    limn_data *data = NULL;
    lm_rng rng = lm_rng_at(1, 81, 0);
    for (size_t i = 0; i < N * D; i++)
        x[i] = (float)lm_rng_normal(&rng);
    for (size_t i = 0; i < N; i++)
        y[i] = (double)(i % K);
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, N, D, y, &data), LIMN_OK);
    free(x);
    free(y);
    return data;
}

static void assert_answers(limn_context *ctx, const limn_model *model, const float *x, size_t n) {
    size_t k = model->schema.labels.count;
    int32_t *classes = malloc(n * sizeof *classes);
    double *numbers = malloc(n * k * sizeof *numbers);
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, x, n, classes), LIMN_OK);
    assert_int_equal(limn_predict(p, x, 1, classes), LIMN_OK);
    for (size_t i = 0; i < n; i++)
        assert_in_range(classes[i] + 1, 0, k);
    assert_int_equal(limn_predict_proba(p, x, n, numbers), LIMN_OK);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < k; c++)
            sum += numbers[i * k + c];
        if (!(fabs(sum - 1) < 1e-9))
            fail_msg("%s: probabilities sum to %g", model->method->info.name, sum);
    }
    assert_int_equal(limn_predict_scores(p, x, n, numbers), LIMN_OK);
    for (size_t i = 0; i < n * k; i++)
        if (!(numbers[i] >= 0))
            fail_msg("%s: a distance of %g", model->method->info.name, numbers[i]);
    limn_predictor_free(p);
    free(classes);
    free(numbers);
}

/* ---- changes ---- */

typedef struct span {
    size_t offset, size, entry;
    char name[25];
} span;

/* The sections of the method. */
static size_t sections(const unsigned char *bytes, const char *method, span *out, size_t most) {
    uint32_t count;
    size_t found = 0;
    memcpy(&count, bytes + 12, sizeof count);
    for (uint32_t i = 0; i < count && found < most; i++) {
        const unsigned char *entry = bytes + 64 + i * 64;
        uint64_t place[2];
        memcpy(place, entry + 32, sizeof place);
        if (strncmp((const char *)entry, method, 3) != 0 || entry[3] != '.')
            continue;
        span *s = &out[found++];
        *s = (span){.offset = (size_t)place[0], .size = (size_t)place[1], .entry = 64 + i * 64};
        memcpy(s->name, entry, 24);
    }
    return found;
}

static void change(lm_rng *rng, unsigned char *at, size_t size) {
    static const double doubles[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 1e-308, 0, -1, 1e30};
    static const float floats[] = {NAN, INFINITY, 3e38f, -3e38f, 1e-45f, 0, -1};
    static const uint64_t words[] = {0,          1,         2,          15,
                                     16,         17,        UINT64_MAX, 1ull << 63,
                                     1ull << 32, INT64_MAX, UINT32_MAX, 0x7fffffff7fffffff};
    size_t kind = (size_t)lm_rng_below(rng, 5), wide = kind == 1 || kind == 2 ? 4 : 8;
    if (kind == 4 || size < wide) {
        at[lm_rng_below(rng, size)] = (unsigned char)lm_rng_below(rng, 256);
        return;
    }
    unsigned char *place = at + lm_rng_below(rng, size / wide) * wide;
    if (kind == 0)
        memcpy(place, &doubles[lm_rng_below(rng, LM_COUNT(doubles))], 8);
    else if (kind == 1)
        memcpy(place, &floats[lm_rng_below(rng, LM_COUNT(floats))], 4);
    else
        memcpy(place, &words[lm_rng_below(rng, LM_COUNT(words))], wide);
}

typedef struct outcome {
    size_t refused, answered;
} outcome;

static void try_changes(limn_context *ctx, const limn_model *model, const float *x, size_t n,
                        int times, outcome *sums) {
    unsigned char *bytes = NULL;
    size_t size;
    span part[40];
    limn_model *loaded = NULL;
    assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
    assert_int_equal(load_bytes(ctx, bytes, size, &loaded), LIMN_OK);
    assert_answers(ctx, loaded, x, n);
    limn_model_free(loaded);
    unsigned char *copy = malloc(size);
    size_t count = sections(bytes, model->method->info.name, part, LM_COUNT(part));
    assert_true(count >= 4);
    lm_rng rng = lm_rng_at(7, 82, 0);
    for (size_t s = 0; s < count; s++)
        for (int time = 0; time < times && part[s].size; time += (int)every(3)) {
            memcpy(copy, bytes, size);
            for (uint64_t more = lm_rng_below(&rng, 3) + 1; more > 0; more--)
                change(&rng, copy + part[s].offset, part[s].size);
            reseal(copy, size);
            limn_status status = load_bytes(ctx, copy, size, &loaded);
            if (status == LIMN_OK) {
                assert_answers(ctx, loaded, x, n);
                sums->answered++;
            } else {
                if (status != LIMN_E_MODEL && status != LIMN_E_MEMORY)
                    fail_msg("%s: %s", part[s].name, limn_error(ctx));
                assert_string_not_equal(limn_error(ctx), "");
                sums->refused++;
            }
            limn_model_free(loaded);
        }
    free(copy);
    lm_free(&ctx->mem, bytes);
}

static void test_changed_sections_are_refused_or_answer(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = world_data(ctx, SHAPE_RANDOM, 3);
    float *x = make_queries(data, 9, 4);
    outcome sums = {0};
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        limn_model *model = hull_trained(ctx, data, &sets[i], i % 2 ? "reject=0.1" : NULL);
        try_changes(ctx, model, x, 9, 60, &sums);
        limn_model_free(model);
    }
    assert_true(sums.refused > 1000 && sums.answered > 1000);
    free(x);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_changed_heads_are_refused_or_answer(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = wide_data(ctx);
    float *x = make_queries(data, 3, 4);
    outcome sums = {0};
    slow_set s = {.kind = HULL_NHD, .rule = HULL_DIM_GIVEN, .dim = 32, .cut = 1e-6};
    limn_model *model = hull_trained(ctx, data, &s, NULL);
    assert_true(((const hull_model *)model->body)->flat.axes > 0);
    try_changes(ctx, model, x, 3, 10, &sums);
    assert_true(sums.refused > 20 && sums.answered > 20);
    limn_model_free(model);
    free(x);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- what must be refused ---- */

static void refused(limn_context *ctx, const limn_model *model, const char *name, size_t at,
                    const void *value, size_t size) {
    unsigned char *bytes = NULL;
    size_t total;
    span part[40];
    limn_model *loaded = NULL;
    assert_int_equal(lm_model_bytes(ctx, model, &bytes, &total), LIMN_OK);
    size_t count = sections(bytes, name, part, LM_COUNT(part)), s = 0;
    while (s < count && strcmp(part[s].name, name) != 0)
        s++;
    if (s == count || at + size > part[s].size)
        fail_msg("no section %s", name);
    memcpy(bytes + part[s].offset + at, value, size);
    reseal(bytes, total);
    if (load_bytes(ctx, bytes, total, &loaded) != LIMN_E_MODEL)
        fail_msg("%s changed at %zu is not refused", name, at);
    assert_non_null(strstr(limn_error(ctx), "t.limn"));
    lm_free(&ctx->mem, bytes);
}

static void test_impossible_numbers_are_refused(void **state) {
    (void)state;
    static const float nan_float = NAN, inf_float = INFINITY;
    static const double nan_double = NAN, inf_double = -INFINITY;
    static const uint32_t words[] = {UINT32_MAX, 1, 1000};
    static const uint64_t counts[] = {0, 17, UINT64_MAX, 1000};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = world_data(ctx, WORLD_MIXED, 3);
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        limn_model *model = hull_trained(ctx, data, &sets[i], NULL);
        const hull_model *m = model->body;
        hull_model copy = *m;
        hull_part parts[HULL_PARTS_MAX];
        size_t count;
        char name[40];
        assert_true(hull_list_parts(&copy, parts, &count));
        for (size_t p = 0; p < count; p++) {
            snprintf(name, sizeof name, "%s.%s", kind_names[sets[i].kind], parts[p].name);
            bool norms = strcmp(parts[p].name, "norms") == 0; /* may be infinite */
            if (parts[p].count && parts[p].type == HULL_FLOATS) {
                refused(ctx, model, name, 0, &nan_float, 4);
                if (!norms)
                    refused(ctx, model, name, parts[p].count * 4 - 4, &inf_float, 4);
            } else if (parts[p].count && parts[p].type == HULL_DOUBLES) {
                refused(ctx, model, name, 0, &nan_double, 8);
                refused(ctx, model, name, parts[p].count * 8 - 8, &inf_double, 8);
            }
        }
        snprintf(name, sizeof name, "%s.first", kind_names[sets[i].kind]);
        for (size_t w = 0; w < LM_COUNT(words) && m->count; w++)
            refused(ctx, model, name, w == 1 ? 0 : 4, &words[w], 4);
        snprintf(name, sizeof name, "%s.counts", kind_names[sets[i].kind]);
        for (size_t w = 0; w < LM_COUNT(counts) && m->count; w++)
            refused(ctx, model, name, 0, &counts[w], 8);
        snprintf(name, sizeof name, "%s.start", kind_names[sets[i].kind]);
        for (size_t w = 0; w < LM_COUNT(words) && (m->flat.start || m->curved.start); w++)
            refused(ctx, model, name, w == 1 ? 0 : 4, &words[w], 4);
        limn_model_free(model);
    }
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- threads and far queries ---- */

static void test_threads_change_no_byte_of_the_model(void **state) {
    (void)state;
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        unsigned char *bytes[2];
        size_t size[2];
        limn_context *ctx[2];
        for (int t = 0; t < 2; t++) {
            ctx[t] = make_context(NULL, t ? 4 : 1, 6);
            limn_data *data = world_data(ctx[t], WORLD_NARROW, 2);
            limn_model *model = hull_trained(ctx[t], data, &sets[i], "reject=0.1");
            assert_int_equal(lm_model_bytes(ctx[t], model, &bytes[t], &size[t]), LIMN_OK);
            limn_model_free(model);
            limn_data_free(data);
        }
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(bytes[0], bytes[1], size[0]);
        for (int t = 0; t < 2; t++) {
            lm_free(&ctx[t]->mem, bytes[t]);
            limn_context_free(ctx[t]);
        }
    }
}

static void test_queries_far_away_are_answered(void **state) {
    (void)state;
    static const float sizes[] = {1e3f, 1e8f, 1e19f, 3e38f, -3e38f, 1e-40f};
    static const int shapes[] = {SHAPE_RANDOM, SHAPE_TINY, SHAPE_OFFSET, SHAPE_EQUAL};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t of = 0; of < LM_COUNT(shapes); of++) {
        limn_data *data = world_data(ctx, shapes[of], 3);
        float x[LM_COUNT(sizes) * 5];
        for (size_t i = 0; i < LM_COUNT(x); i++)
            x[i] = sizes[i / 5] * (i % 3 == 0 ? -1.f : .7f);
        for (size_t i = 0; i < LM_COUNT(sets); i++) {
            limn_model *model = hull_trained(ctx, data, &sets[i], NULL);
            assert_answers(ctx, model, x, LM_COUNT(sizes));
            limn_model_free(model);
        }
        limn_data_free(data);
    }
    limn_context_free(ctx);
}

/* ---- failing allocations ---- */

static void test_every_failing_allocation_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    limn_context *plain = make_context(NULL, 1, 1);
    limn_data *data = world_data(plain, WORLD_NARROW, 4);
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        unsigned failures = 0;
        limn_status status = LIMN_E_MEMORY;
        for (unsigned at = 1; status != LIMN_OK; at += 1 + at / 60) {
            counting count = {0};
            limn_context *ctx = make_context(&count, 1, 1);
            limn_model *model = NULL, *loaded = NULL;
            unsigned char *bytes = NULL;
            size_t size = 0;
            count.fail_at = at;
            status = hull_train_set(ctx, data, &sets[i], i % 3 ? NULL : "reject=0.1", &model);
            if (status == LIMN_OK)
                status = lm_model_bytes(ctx, model, &bytes, &size);
            if (status == LIMN_OK)
                status = load_bytes(ctx, bytes, size, &loaded);
            if (status != LIMN_OK) {
                if (status != LIMN_E_MEMORY)
                    fail_msg("setting %zu, request %u: %s", i, at, limn_error(ctx));
                assert_string_not_equal(limn_error(ctx), "");
                failures++;
            }
            lm_free(&ctx->mem, bytes);
            limn_model_free(loaded);
            limn_model_free(model);
            limn_context_free(ctx);
            assert_int_equal(count.live, 0);
        }
        assert_true(failures > 40);
    }
    limn_data_free(data);
    limn_context_free(plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changed_sections_are_refused_or_answer),
        cmocka_unit_test(test_changed_heads_are_refused_or_answer),
        cmocka_unit_test(test_impossible_numbers_are_refused),
        cmocka_unit_test(test_threads_change_no_byte_of_the_model),
        cmocka_unit_test(test_queries_far_away_are_answered),
        cmocka_unit_test(test_every_failing_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests_name("hull_hostile", tests, NULL, NULL);
}
