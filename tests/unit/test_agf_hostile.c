/* test_agf_hostile.c: models of agf and kde with tampered files and valid checksums: each is
 * refused with a message or answers, but never reads out of bounds. Also threads, and allocations
 * that fail while training, saving and loading. */
#include "agf_slow.h"
#include "reseal.h"

enum { ROWS = 35, ASKED = 9 };

typedef struct kind {
    const char *method, *params;
    limn_task task;
    bool weighted;
} kind;

static const kind kinds[] = {
    {"agf", NULL, LIMN_CLASSIFY, false},
    {"agf", "W=auto k=12", LIMN_CLASSIFY, true},
    {"agf", NULL, LIMN_REGRESS, true},
    {"agf", "W=2", LIMN_DENSITY, false},
    {"kde", NULL, LIMN_CLASSIFY, true},
    {"kde", "bandwidth=0.5", LIMN_CLASSIFY, false},
    {"kde", "bandwidth=0.5", LIMN_DENSITY, false},
};

static limn_data *draw_data(limn_context *ctx, const kind *of) {
    limn_data *data = make_data(ctx, of->task, SHAPE_RANDOM, ROWS, 6);
    double weight[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        weight[i] = 1 + (double)(i % 4);
    if (data && of->weighted && limn_data_set_weights(ctx, data, weight) != LIMN_OK) {
        limn_data_free(data);
        data = NULL;
    }
    return data;
}

static limn_status load_bytes(limn_context *ctx, const unsigned char *bytes, size_t size,
                              limn_model **model) {
    lm_file *file = NULL;
    *model = NULL;
    limn_status status = lm_file_from_memory(ctx, bytes, size, "t.limn", &file);
    return status == LIMN_OK ? lm_model_load(ctx, file, model) : status;
}

/* A saved model. */
typedef struct saved {
    limn_context *ctx;
    unsigned char *bytes, *copy;
    size_t size, classes;
    float *x; /* ASKED queries */
} saved;

static saved save(limn_context *ctx, const kind *of) {
    saved s = {.ctx = ctx};
    limn_data *data = draw_data(ctx, of);
    limn_model *model = agf_trained(ctx, data, of->method, of->params, LIMN_SCALE_AUTO);
    assert_int_equal(lm_model_bytes(ctx, model, &s.bytes, &s.size), LIMN_OK);
    s.copy = malloc(s.size);
    memcpy(s.copy, s.bytes, s.size);
    s.x = make_queries(data, ASKED, 4);
    s.classes = data->schema.labels.count;
    limn_model_free(model);
    limn_data_free(data);
    return s;
}

static void saved_free(saved *s) {
    lm_free(&s->ctx->mem, s->bytes);
    free(s->copy);
    free(s->x);
}

typedef struct span {
    size_t offset, size, entry;
    char name[25];
} span;

/* The sections of the method. */
static size_t sections(const saved *s, const char *method, span *out) {
    uint32_t count;
    size_t found = 0;
    memcpy(&count, s->bytes + 12, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *entry = s->bytes + 64 + i * 64;
        uint64_t place[2];
        memcpy(place, entry + 32, sizeof place);
        if (strncmp((const char *)entry, method, 3) != 0 || entry[3] != '.')
            continue;
        span *one = &out[found++];
        *one = (span){.offset = (size_t)place[0], .size = (size_t)place[1], .entry = 64 + i * 64};
        memcpy(one->name, entry, 24);
    }
    return found;
}

/* The copy with valid checksums is refused; then it is whole again. */
static void refused(const saved *s, const char *section, const char *how) {
    limn_model *loaded = NULL;
    reseal(s->copy, s->size);
    limn_status status = load_bytes(s->ctx, s->copy, s->size, &loaded);
    if (status != LIMN_E_MODEL)
        fail_msg("section %s, %s: not refused but %d", section, how, status);
    assert_non_null(strstr(limn_error(s->ctx), "t.limn"));
    memcpy(s->copy, s->bytes, s->size);
}

static void test_missing_sections_and_wrong_sizes_are_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(kinds); i++) {
        saved s = save(ctx, &kinds[i]);
        span part[10];
        size_t count = sections(&s, kinds[i].method, part);
        assert_true(count >= 3);
        for (size_t p = 0; p < count; p++) {
            const uint64_t sizes[] = {
                0,          part[p].size - 4, part[p].size - 1, part[p].size + 4, part[p].size / 2,
                UINT64_MAX, 1ull << 62};
            for (size_t n = 0; n < LM_COUNT(sizes); n++) {
                memcpy(s.copy + part[p].entry + 40, &sizes[n], 8);
                refused(&s, part[p].name, "of another size");
            }
            if (strstr(part[p].name, "weights"))
                continue; /* there need not be any */
            s.copy[part[p].entry + 4] = 'x';
            refused(&s, part[p].name, "missing");
        }
        saved_free(&s);
    }
    limn_context_free(ctx);
}

static void put_everywhere(const saved *s, const span *part, const void *value, size_t size,
                           const char *how) {
    size_t places[] = {0, part->size / size / 2, part->size / size - 1};
    for (size_t i = 0; i < LM_COUNT(places); i++) {
        memcpy(s->copy + part->offset + places[i] * size, value, size);
        refused(s, part->name, how);
    }
}

static void check_numbers(const saved *s, const span *part) {
    static const float floats[] = {NAN, INFINITY, -INFINITY, -1};
    static const double doubles[] = {NAN, INFINITY, -INFINITY, -1, 0};
    static const int32_t labels[] = {-1, 3, INT32_MAX, INT32_MIN};
    const char *name = part->name + 4;
    bool kde = strncmp(part->name, "kde", 3) == 0;
    if (strcmp(name, "rows") == 0)
        for (size_t i = 0; i < 3; i++)
            put_everywhere(s, part, &floats[i], 4, "not finite");
    if (strcmp(name, "norms") == 0 && !kde)
        for (size_t i = 0; i < 4; i++) /* infinite: too large for a float */
            if (i != 1)
                put_everywhere(s, part, &floats[i], 4, "not a norm");
    if (strcmp(name, "norms") == 0 && kde)
        for (size_t i = 0; i < 4; i++)
            put_everywhere(s, part, &doubles[i], 8, "not a norm");
    if (strcmp(name, "targets") == 0 || strcmp(name, "centre") == 0)
        for (size_t i = 0; i < 3; i++)
            put_everywhere(s, part, &doubles[i], 8, "not finite");
    if (strcmp(name, "weights") == 0)
        for (size_t i = 0; i < 5; i++)
            put_everywhere(s, part, &doubles[i], 8, "not a weight");
    if (strcmp(name, "labels") == 0)
        for (size_t i = 0; i < LM_COUNT(labels); i++)
            put_everywhere(s, part, &labels[i], 4, "not a class");
}

static void test_impossible_numbers_are_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(kinds); i++) {
        saved s = save(ctx, &kinds[i]);
        span part[10];
        size_t count = sections(&s, kinds[i].method, part);
        for (size_t p = 0; p < count; p++)
            check_numbers(&s, &part[p]);
        saved_free(&s);
    }
    limn_context_free(ctx);
}

/* What was chosen: the bytes of its value, wherever they are. */
static void replace(const saved *s, const span *about, const void *from, const double *to,
                    size_t count, const char *how) {
    for (size_t n = 0; n < count; n++) {
        size_t found = 0;
        for (size_t at = about->offset; at + 8 <= about->offset + about->size; at++)
            if (memcmp(s->bytes + at, from, 8) == 0) {
                memcpy(s->copy + at, &to[n], 8);
                found++;
            }
        assert_true(found > 0);
        refused(s, about->name, how);
    }
}

static void test_an_impossible_w_k_or_bandwidth_is_refused(void **state) {
    (void)state;
    static const double wrong[] = {NAN, INFINITY, 0, -1, 1e-200, 1e200};
    static const struct {
        const char *method, *params;
        double value;
        int64_t k;
    } some[] = {{"agf", "W=2.125 k=23", 2.125, 23}, {"kde", "bandwidth=0.8125", 0.8125, 0}};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (size_t i = 0; i < LM_COUNT(some); i++) {
        kind of = {some[i].method, some[i].params, LIMN_CLASSIFY, false};
        saved s = save(ctx, &of);
        span part[10];
        size_t count = sections(&s, of.method, part), about = 0;
        while (about < count && strcmp(part[about].name + 4, "about") != 0)
            about++;
        assert_true(about < count);
        replace(&s, &part[about], &some[i].value, wrong, LM_COUNT(wrong), "out of range");
        const int64_t ks[] = {0, -1, ROWS + 1, INT64_MAX, INT64_MIN};
        double bits[LM_COUNT(ks)];
        memcpy(bits, ks, sizeof ks);
        if (some[i].k)
            replace(&s, &part[about], &some[i].k, bits, LM_COUNT(ks), "k out of range");
        saved_free(&s);
    }
    limn_context_free(ctx);
}

/* ---- any change ---- */

static void assert_answers(const saved *s, const limn_model *model) {
    double out[ASKED * SLOW_CLASSES];
    int32_t classes[ASKED];
    limn_predictor *p = NULL;
    assert_int_equal(limn_predictor_new(s->ctx, model, NULL, &p), LIMN_OK);
    if (s->classes == 0) {
        assert_int_equal(limn_predict_values(p, s->x, ASKED, out), LIMN_OK);
        for (size_t i = 0; i < ASKED; i++)
            assert_true(!isnan(out[i]));
    } else {
        assert_int_equal(limn_predict(p, s->x, ASKED, classes), LIMN_OK);
        assert_int_equal(limn_predict_proba(p, s->x, ASKED, out), LIMN_OK);
        for (size_t i = 0; i < ASKED; i++) {
            double sum = 0;
            for (size_t c = 0; c < s->classes; c++)
                sum += out[i * s->classes + c];
            if (!(fabs(sum - 1) < 1e-9))
                fail_msg("%s: probabilities sum to %g", model->method->info.name, sum);
            assert_in_range(classes[i], 0, s->classes - 1);
        }
    }
    limn_predictor_free(p);
}

static void change(lm_rng *rng, unsigned char *at, size_t size) {
    static const double doubles[] = {1e308, -1e308, 1e-308, 0, -1, 1e30, 1e39, 1e299, 1e-100, 1e18};
    static const float floats[] = {INFINITY, 3e38f, -3e38f, 1e-45f, 0, -1, 1e20f, 1e-20f};
    size_t kind_of = (size_t)lm_rng_below(rng, 3), wide = kind_of == 0 ? 8 : 4;
    if (kind_of == 2 || size < wide) {
        at[lm_rng_below(rng, size)] = (unsigned char)lm_rng_below(rng, 256);
        return;
    }
    unsigned char *place = at + lm_rng_below(rng, size / wide) * wide;
    if (kind_of == 0)
        memcpy(place, &doubles[lm_rng_below(rng, LM_COUNT(doubles))], 8);
    else
        memcpy(place, &floats[lm_rng_below(rng, LM_COUNT(floats))], 4);
}

static void test_changed_sections_are_refused_or_answer(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    size_t refusals = 0, answers = 0;
    for (size_t i = 0; i < LM_COUNT(kinds); i++) {
        saved s = save(ctx, &kinds[i]);
        span part[10];
        size_t count = sections(&s, kinds[i].method, part);
        lm_rng rng = lm_rng_at(7, 341, i);
        for (size_t p = 0; p < count; p++)
            for (unsigned time = 0; time < 300; time += every(3)) {
                limn_model *loaded = NULL;
                memcpy(s.copy, s.bytes, s.size);
                for (uint64_t more = lm_rng_below(&rng, 4) + 1; more > 0; more--)
                    change(&rng, s.copy + part[p].offset, part[p].size);
                reseal(s.copy, s.size);
                limn_status status = load_bytes(ctx, s.copy, s.size, &loaded);
                if (status == LIMN_OK)
                    assert_answers(&s, loaded);
                else
                    assert_int_equal(status, LIMN_E_MODEL);
                *(status == LIMN_OK ? &answers : &refusals) += 1;
                limn_model_free(loaded);
            }
        saved_free(&s);
    }
    assert_true(refusals > 500 && answers > 500);
    limn_context_free(ctx);
}

/* ---- threads and memory ---- */

static void test_threads_change_no_byte_of_the_model(void **state) {
    (void)state;
    for (size_t i = 0; i < LM_COUNT(kinds); i++) {
        limn_context *one = make_context(NULL, 1, 6), *four = make_context(NULL, 4, 6);
        saved a = save(one, &kinds[i]), b = save(four, &kinds[i]);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.bytes, b.bytes, a.size);
        saved_free(&a);
        saved_free(&b);
        limn_context_free(one);
        limn_context_free(four);
    }
}

static limn_status live(limn_context *ctx, const kind *of) {
    limn_model *model = NULL, *loaded = NULL;
    unsigned char *bytes = NULL;
    size_t size = 0;
    limn_data *data = draw_data(ctx, of);
    limn_status status =
        data ? agf_try(ctx, data, of->method, of->params, LIMN_SCALE_AUTO, &model) : LIMN_E_MEMORY;
    if (status == LIMN_OK)
        status = lm_model_bytes(ctx, model, &bytes, &size);
    if (status == LIMN_OK)
        status = load_bytes(ctx, bytes, size, &loaded);
    lm_free(&ctx->mem, bytes);
    limn_model_free(loaded);
    limn_model_free(model);
    limn_data_free(data);
    return status;
}

static void test_every_failing_allocation_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < LM_COUNT(kinds); i++) {
        limn_status status = LIMN_E_MEMORY;
        unsigned failures = 0;
        for (unsigned at = 1; status != LIMN_OK; at += 1 + at / 60) {
            counting count = {0};
            limn_context *ctx = make_context(&count, 1, 1);
            count.fail_at = at;
            status = live(ctx, &kinds[i]);
            assert_true(status == LIMN_OK || status == LIMN_E_MEMORY);
            assert_true(status == LIMN_OK || strcmp(limn_error(ctx), "") != 0);
            failures += status != LIMN_OK;
            limn_context_free(ctx);
            assert_int_equal(count.live, 0);
        }
        assert_true(failures > 30);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_sections_and_wrong_sizes_are_refused),
        cmocka_unit_test(test_impossible_numbers_are_refused),
        cmocka_unit_test(test_an_impossible_w_k_or_bandwidth_is_refused),
        cmocka_unit_test(test_changed_sections_are_refused_or_answer),
        cmocka_unit_test(test_threads_change_no_byte_of_the_model),
        cmocka_unit_test(test_every_failing_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests_name("agf_hostile", tests, NULL, NULL);
}
