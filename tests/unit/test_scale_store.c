/* test_scale_store.c: what a model file keeps of rank and gauss, of how they were chosen and
 * whether a map follows; and damaged files, resealed so that their checksums are right. */
#include "data_world.h"
#include "reseal.h"
#include "scale_curves_slow.h"
#include "scale_evidence_slow.h"

enum { FEATURES = 4, TABLE_AT = 64, ENTRY = 64, ENTRY_OFFSET = 32 };

typedef struct bytes {
    unsigned char *at;
    size_t size;
} bytes;

/* Three columns with 2, 5 and 3 knots, one that is constant, and two lists of trials, with counts
 * up to three per row. */
static lm_scaler sample(world *w, limn_scale kind) {
    static const char *const names[] = {"minmax", "none", "zscore", "rank", "gauss"};
    float x[7 * FEATURES];
    for (size_t i = 0; i < 7; i++) {
        x[i * FEATURES] = i < 3;
        x[i * FEATURES + 1] = 8;
        x[i * FEATURES + 2] = (float)(i % 5) - 20;
        x[i * FEATURES + 3] = (float)(i % 3) * 1e30f;
    }
    lm_scaler s = must_fit(w->ctx, kind, false, x, 7, FEATURES);
    assert_int_equal(s.kept, 3);
    s.chosen = (lm_trials){.rows = 60, .count = 5};
    for (size_t c = 0; c < 5; c++)
        s.chosen.list[c] = (lm_trial){names[c], 20 - c, 3 * c, 180 - c, c % 2 == 0};
    s.gate = (lm_trials){.rows = 1, .count = 1, .list = {{"identity", 3, 0, 0, true}}};
    return s;
}

static bytes saved(world *w, const lm_scaler *s) {
    bytes b;
    lm_writer *writer = NULL, *measuring = NULL;
    assert_int_equal(lm_writer_new(w->ctx, &writer), LIMN_OK);
    assert_int_equal(lm_scaler_save(w->ctx, s, writer), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &b.at, &b.size), LIMN_OK);
    assert_int_equal(lm_writer_new_measuring(w->ctx, &measuring), LIMN_OK);
    assert_int_equal(lm_scaler_save(w->ctx, s, measuring), LIMN_OK);
    assert_int_equal(lm_writer_size(measuring), b.size);
    lm_writer_free(writer);
    lm_writer_free(measuring);
    return b;
}

/* The caller frees s, also after a failure; nothing of the file is used any more. */
static limn_status load(world *w, bytes b, size_t features, lm_scaler *s) {
    lm_file *file = NULL;
    *s = (lm_scaler){.kind = LIMN_SCALE_NONE};
    limn_status status = lm_file_from_memory(w->ctx, b.at, b.size, "m.limn", &file);
    if (status == LIMN_OK)
        status = lm_scaler_load(w->ctx, file, features, s);
    lm_file_close(file);
    return status;
}

static void check_round_trip(world *w, const lm_scaler *s, const float *x, size_t n) {
    float first[COLUMNS], second[COLUMNS];
    lm_scaler loaded;
    bytes b = saved(w, s);
    assert_int_equal(load(w, b, s->in, &loaded), LIMN_OK);
    bytes again = saved(w, &loaded);
    assert_true(again.size == b.size && memcmp(again.at, b.at, b.size) == 0);
    assert_true(loaded.kind == s->kind && loaded.in == s->in && loaded.kept == s->kept &&
                loaded.out == s->out && !loaded.learned && !loaded.map && !loaded.target);
    assert_true(same_curves(&loaded.curves, &s->curves));
    assert_same_trials(&loaded.chosen, &s->chosen);
    assert_same_trials(&loaded.gate, &s->gate);
    for (size_t i = 0; i < n; i++) {
        lm_scaler_apply(s, x + i * s->in, 1, first, NULL);
        lm_scaler_apply(&loaded, x + i * s->in, 1, second, NULL);
        assert_true(same_bits(first, second, s->out));
    }
    lm_scaler_free(&w->ctx->mem, &loaded);
    lm_free(&w->ctx->mem, b.at);
    lm_free(&w->ctx->mem, again.at);
}

static void test_a_loaded_scaling_gives_the_same_bits(void **state) {
    (void)state;
    world w;
    world_open(&w);
    for (size_t k = 0; k < LM_COUNT(kinds); k++) {
        lm_scaler s = sample(&w, kinds[k]);
        check_round_trip(&w, &s, (const float[]){0.3f, 8, -17.7f, 4e29f}, 1);
        lm_scaler_free(&w.ctx->mem, &s);
        for (size_t n = 1; n <= 400; n += 57) {
            float *x = make_table(n);
            s = must_fit(w.ctx, kinds[k], n % 2, x, n, COLUMNS);
            check_round_trip(&w, &s, x, n);
            lm_scaler_free(&w.ctx->mem, &s);
            free(x);
        }
    }
    world_close(&w);
}

static void test_saving_or_loading_that_lacks_memory_leaves_nothing_behind(void **state) {
    (void)state;
    world w;
    world_open(&w);
    lm_scaler s = sample(&w, LIMN_SCALE_GAUSS), loaded;
    bytes b = saved(&w, &s);
    long before = w.count.live;
    for (unsigned n = 1, done = 0; !done; n++) {
        lm_writer *writer = NULL;
        w.count.fail_at = n;
        limn_status status = lm_writer_new(w.ctx, &writer);
        if (status == LIMN_OK)
            status = lm_scaler_save(w.ctx, &s, writer);
        lm_writer_free(writer);
        done = w.count.fail_at != 0;
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        assert_true(w.count.live == before && n < 100);
    }
    for (unsigned n = 1, done = 0; !done; n++) {
        w.count.fail_at = n;
        limn_status status = load(&w, b, FEATURES, &loaded);
        done = w.count.fail_at != 0;
        w.count.fail_at = 0;
        assert_int_equal(status, done ? LIMN_OK : LIMN_E_MEMORY);
        lm_scaler_free(&w.ctx->mem, &loaded);
        assert_true(w.count.live == before && n < 100);
    }
    lm_scaler_free(&w.ctx->mem, &s);
    lm_free(&w.ctx->mem, b.at);
    world_close(&w);
}

/* ---- damaged files ---- */

/* The value of a key: its name is before it, and the length of that 12 bytes before the name. */
static unsigned char *value_of(bytes b, const char *key) {
    uint32_t length = (uint32_t)strlen(key) + 1, found;
    for (size_t i = 16; i + length < b.size; i++) {
        memcpy(&found, b.at + i - 12, sizeof found);
        if (found == length && memcmp(b.at + i, key, length) == 0)
            return b.at + i + length;
    }
    fail_msg("the file lacks '%s'", key);
    return NULL;
}

/* The knots are the second section: all x, then all y. */
static unsigned char *knots_of(bytes b) {
    uint64_t offset;
    const unsigned char *entry = b.at + TABLE_AT + ENTRY;
    assert_string_equal((const char *)entry, "scaler.knots");
    memcpy(&offset, entry + ENTRY_OFFSET, sizeof offset);
    return b.at + offset;
}

/* words NULL: accepted. Nothing may stay allocated. */
static void must_refuse(world *w, bytes b, size_t features, const char *words) {
    lm_scaler s;
    long before = w->count.live;
    reseal(b.at, b.size);
    limn_status status = load(w, b, features, &s);
    lm_scaler_free(&w->ctx->mem, &s);
    assert_int_equal(w->count.live, before);
    assert_int_equal(status, words ? LIMN_E_MODEL : LIMN_OK);
    if (words &&
        (strncmp(limn_error(w->ctx), "m.limn: ", 8) != 0 || !strstr(limn_error(w->ctx), words) ||
         !strstr(limn_error(w->ctx), "the file is damaged or was not written by limn")))
        fail_msg("'%s' lacks '%s'", limn_error(w->ctx), words);
}

/* A saved sample with `size` bytes replaced. */
static void check_damage(const char *key, size_t at, const void *with, size_t size, bool before,
                         const char *words) {
    world w;
    world_open(&w);
    lm_scaler s = sample(&w, LIMN_SCALE_RANK);
    bytes b = saved(&w, &s);
    unsigned char *place = key ? value_of(b, key) : knots_of(b);
    memcpy(before ? place - strlen(key) - 1 : place + at, with, size);
    must_refuse(&w, b, FEATURES, words);
    lm_scaler_free(&w.ctx->mem, &s);
    lm_free(&w.ctx->mem, b.at);
    world_close(&w);
}

static void test_numbers_that_cannot_be_true_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *key;
        size_t at;
        double value;
        const char *words;
    } cases[] = {
        {"knots", 1, 0, "number of knots of scaled feature 2 is not valid"},
        {"knots", 1, 257, "number of knots of scaled feature 2 is not valid"},
        {"knots", 1, 2.5, "number of knots of scaled feature 2 is not valid"},
        {"knots", 2, -1, "number of knots of scaled feature 3 is not valid"},
        {"knots", 0, 1e300, "number of knots of scaled feature 1 is not valid"},
        {"knots", 0, (double)NAN, "invalid value"},
        {"knots", 0, 256, "has 80 bytes, not 528 values"},
        {"knots", 1, 6, "has 80 bytes, not 22 values"},
        {"knots", 1, 4, "has 80 bytes, not 18 values"},
        {"keep", 0, -1, "scaled feature 1 does not exist"},
        {"keep", 0, 0.5, "scaled feature 1 does not exist"},
        {"keep", 1, 0, "scaled feature 2 does not exist"},
        {"keep", 1, 3, "scaled feature 3 does not exist"},
        {"keep", 2, 4, "scaled feature 3 does not exist"},
        {"keep", 2, (double)INFINITY, "invalid value"},
        {"chosen_trials", 0, 180, NULL},
        {"chosen_trials", 0, 181, "a trial of its scaling is not valid"},
        {"chosen_trials", 5, 180, NULL},
        {"chosen_trials", 5, 181, "a trial of its scaling is not valid"},
        {"chosen_trials", 18, 180, NULL},
        {"chosen_trials", 18, 181, "a trial of its scaling is not valid"},
        {"chosen_trials", 5, -1, "a trial of its scaling is not valid"},
        {"chosen_trials", 18, 0.5, "a trial of its scaling is not valid"},
        {"chosen_trials", 18, 1e300, "a trial of its scaling is not valid"},
        {"chosen_trials", 19, 2, "a trial of its scaling is not valid"},
        {"chosen_trials", 19, 0.5, "a trial of its scaling is not valid"},
        {"gate_trials", 1, 3, NULL},
        {"gate_trials", 0, 4, "a trial of its scaling is not valid"},
    };
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        check_damage(cases[i].key, cases[i].at * sizeof(double), &cases[i].value, sizeof(double),
                     false, cases[i].words);
}

static void test_whole_numbers_that_cannot_be_true_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *key;
        int64_t value;
        const char *words;
    } cases[] = {{"features", 0, "outside 1 to 4"},
                 {"features", 5, "outside 1 to 4"},
                 {"features", -1, "outside 1 to 4"},
                 {"features", 4, "'keep' in section 'scaler' has 3 values, not 4"},
                 {"features", 2, "'keep' in section 'scaler' has 3 values, not 2"},
                 {"chosen_rows", 0, "outside 1 to"},
                 {"chosen_rows", -60, "outside 1 to"},
                 {"chosen_rows", 59, "a trial of its scaling is not valid"},
                 {"chosen_rows", INT64_MAX / 3, NULL},
                 {"chosen_rows", INT64_MAX / 3 + 1, "outside 1 to 3074457345618258602"},
                 {"chosen_rows", INT64_MAX, "outside 1 to"},
                 {"gate_rows", INT64_MAX / 3, NULL},
                 {"gate_rows", INT64_MAX / 3 + 1, "outside 1 to"},
                 {"gate_rows", 0, "outside 1 to"}};
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        check_damage(cases[i].key, 0, &cases[i].value, sizeof cases[i].value, false,
                     cases[i].words);
}

/* The x of the columns: 0 1, -20 -19 -18 -17 -16, 0 1e30 2e30; then as many y. */
static void test_curves_that_do_not_rise_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        float value;
        const char *words;
    } cases[] = {
        {1, 0, "curve of scaled feature 1 does not rise"},
        {1, -0.0f, "curve of scaled feature 1 does not rise"},
        {1, -3, "curve of scaled feature 1 does not rise"},
        {1, 1e-45f, NULL},
        {2, -100, NULL}, /* another column begins */
        {6, -17, "curve of scaled feature 2 does not rise"},
        {6, FLT_MAX, NULL},
        {9, 1e30f, "curve of scaled feature 3 does not rise"},
        {0, (float)NAN, "curve of scaled feature 1 does not rise"},
        {0, (float)-INFINITY, "curve of scaled feature 1 does not rise"},
        {9, (float)INFINITY, "curve of scaled feature 3 does not rise"},
        {11, 0.1f, "curve of scaled feature 1 does not rise"},
        {14, 0, "curve of scaled feature 2 does not rise"},
        {16, (float)INFINITY, "curve of scaled feature 2 does not rise"},
        {18, (float)NAN, "curve of scaled feature 3 does not rise"},
        {19, -FLT_MAX, "curve of scaled feature 3 does not rise"},
        {19, FLT_MAX, NULL},
    };
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        check_damage(NULL, cases[i].at * sizeof(float), &cases[i].value, sizeof(float), false,
                     cases[i].words);
}

static void test_missing_keys_and_unknown_names_are_refused(void **state) {
    (void)state;
    static const char *const keys[] = {"kind",       "features",     "keep",
                                       "knots",      "chosen_names", "chosen_trials",
                                       "gate_names", "gate_trials"};
    static const struct {
        const char *key;
        size_t at;
        const char *text, *words;
    } cases[] = {{"kind", 0, "sank", "the scaling 'sank' of 3 features is not valid"},
                 {"kind", 0, "auto", "the scaling 'auto' of 3 features is not valid"},
                 {"kind", 0, "none", "the scaling 'none' of 3 features is not valid"},
                 {"chosen_names", 8, "maxmin", "a trial of its scaling is not valid"},
                 {"chosen_names", 22, "tank", "a trial of its scaling is not valid"},
                 {"chosen_names", 8, "zscore", NULL}};
    for (size_t i = 0; i < LM_COUNT(keys); i++) {
        char words[64];
        snprintf(words, sizeof words, "section 'scaler' lacks '%s'", keys[i]);
        check_damage(keys[i], 0, "Q", 1, true, words);
    }
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        check_damage(cases[i].key, cases[i].at, cases[i].text, strlen(cases[i].text), false,
                     cases[i].words);
}

/* ---- maps ---- */

/* A saved sample whose kept features are mapped to two axes. */
static bytes saved_with_map(world *w) {
    static const double rows[] = {1, 0, 2, 0, 3, 1}, share[] = {0.25, 0.5, 0.25};
    static const float mean[] = {0.5f, 0.25f, 0.75f};
    lm_scaler s = sample(w, LIMN_SCALE_RANK);
    assert_int_equal(lm_map_make(w->ctx, rows, mean, share, 3, 2, &s.map), LIMN_OK);
    s.learned = true;
    s.out = 2;
    bytes b = saved(w, &s);
    lm_scaler_free(&w->ctx->mem, &s);
    return b;
}

/* The map is the third section. */
static void hide_section(bytes b) {
    char *name = (char *)b.at + TABLE_AT + 2 * ENTRY;
    assert_string_equal(name, "scaler.map");
    name[0] = 'q';
}

static void hide_key(bytes b, const char *key) {
    *(value_of(b, key) - strlen(key) - 1) = 'Q';
}

/* The section is there if and only if the scaling is a learned one and says how many axes. */
static void test_a_map_and_the_mention_of_it_come_together(void **state) {
    (void)state;
    static const char alone[] = "its scaling does not mention the map that it has";
    static const struct {
        bool learned, axes, section;
        const char *words;
    } cases[] = {{true, true, true, NULL},   {true, false, true, alone},
                 {false, true, true, alone}, {false, false, true, alone},
                 {true, false, false, NULL}, {true, true, false, "scaler.map"},
                 {false, true, false, NULL}, {false, false, false, NULL}};
    world w;
    world_open(&w);
    for (size_t i = 0; i < 2 * LM_COUNT(cases); i++) {
        bytes b = saved_with_map(&w);
        if (!cases[i / 2].learned && i % 2) /* it may also be said that it is not learned */
            memset(value_of(b, "learned"), 0, sizeof(int64_t));
        else if (!cases[i / 2].learned)
            hide_key(b, "learned");
        if (!cases[i / 2].axes)
            hide_key(b, "axes");
        if (!cases[i / 2].section)
            hide_section(b);
        must_refuse(&w, b, FEATURES, cases[i / 2].words);
        lm_free(&w.ctx->mem, b.at);
    }
    world_close(&w);
}

/* ---- forged files ---- */

/* A file of one column with a list of trials. */
static bytes forge(world *w, size_t names, size_t numbers, const float *knots, size_t knot_bytes) {
    static char *const known[] = {"none", "minmax", "zscore", "rank", "gauss", "soft"};
    static const double zeros[24];
    bytes b;
    lm_writer *writer = NULL;
    lm_kv_out *kv = NULL;
    assert_int_equal(lm_writer_new(w->ctx, &writer), LIMN_OK);
    assert_int_equal(lm_kv_begin(writer, "scaler", 2, &kv), LIMN_OK);
    lm_kv_put_text(kv, "kind", "rank");
    lm_kv_put_int(kv, "features", 1);
    lm_kv_put_reals(kv, "keep", zeros, 1);
    lm_kv_put_reals(kv, "knots", (const double[]){2}, 1);
    lm_kv_put_int(kv, "chosen_rows", 30);
    lm_kv_put_texts(kv, "chosen_names", known, names);
    lm_kv_put_reals(kv, "chosen_trials", zeros, numbers);
    assert_int_equal(lm_kv_end(kv), LIMN_OK);
    if (knots)
        assert_int_equal(lm_writer_section(writer, "scaler.knots", 2, knots, knot_bytes), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &b.at, &b.size), LIMN_OK);
    lm_writer_free(writer);
    return b;
}

static void test_lists_of_the_wrong_length_are_refused(void **state) {
    (void)state;
    static const float knots[] = {-1, 1, 0.25f, 0.75f, 1};
    static const struct {
        size_t names, numbers, bytes;
        const char *words;
    } cases[] = {
        {5, 20, 16, NULL},
        {1, 4, 16, NULL},
        {0, 0, 16, "the trials of its scaling are not valid"},
        {6, 24, 16, "the trials of its scaling are not valid"},
        {5, 19, 16, "'chosen_trials' in section 'scaler' has 19 values, not 20"},
        {4, 20, 16, "'chosen_trials' in section 'scaler' has 20 values, not 16"},
        {5, 20, 12, "section 'scaler.knots' has 12 bytes, not 4 values"},
        {5, 20, 15, "section 'scaler.knots' has 15 bytes, not 4 values"},
        {5, 20, 20, "section 'scaler.knots' has 20 bytes, not 4 values"},
        {5, 20, 0, "scaler.knots"},
    };
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        bytes b = forge(&w, cases[i].names, cases[i].numbers, cases[i].bytes ? knots : NULL,
                        cases[i].bytes);
        must_refuse(&w, b, 1, cases[i].words);
        lm_free(&w.ctx->mem, b.at);
    }
    world_close(&w);
}

static void test_a_huge_number_of_features_takes_no_memory(void **state) {
    (void)state;
    const int64_t features = 1 << 30;
    world w;
    world_open(&w);
    lm_scaler s = sample(&w, LIMN_SCALE_GAUSS);
    bytes b = saved(&w, &s);
    memcpy(value_of(b, "features"), &features, sizeof features);
    size_t before = w.count.bytes;
    must_refuse(&w, b, (size_t)features, "the scaling of 1073741824 features is truncated");
    assert_true(w.count.bytes - before < 100000);
    lm_scaler_free(&w.ctx->mem, &s);
    lm_free(&w.ctx->mem, b.at);
    world_close(&w);
}

/* Whatever is accepted answers with finite numbers. */
static void test_a_random_change_is_refused_or_harmless(void **state) {
    (void)state;
    static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff};
    const float x[FEATURES] = {0.5f, 3, -18.5f, -FLT_MAX};
    float y[FEATURES];
    size_t refused = 0, accepted = 0;
    world w;
    world_open(&w);
    lm_rng rng = lm_rng_at(1, 2, 3);
    lm_scaler s = sample(&w, LIMN_SCALE_GAUSS), loaded;
    bytes b = saved(&w, &s), copy = {malloc(b.size), b.size};
    long before = w.count.live;
    for (int round = 0; round < 10000; round++) {
        memcpy(copy.at, b.at, b.size);
        size_t at = TABLE_AT + 2 * ENTRY + lm_rng_below(&rng, b.size - TABLE_AT - 2 * ENTRY);
        copy.at[at] = lm_rng_below(&rng, 2) ? telling[lm_rng_below(&rng, LM_COUNT(telling))]
                                            : (unsigned char)lm_rng_next(&rng);
        reseal(copy.at, copy.size);
        limn_status status = load(&w, copy, FEATURES, &loaded);
        assert_true(status == LIMN_OK || status == LIMN_E_MODEL);
        refused += status != LIMN_OK;
        accepted += status == LIMN_OK;
        if (status == LIMN_OK)
            lm_scaler_apply(&loaded, x, 1, y, NULL);
        for (size_t j = 0; j < loaded.out && status == LIMN_OK; j++)
            assert_true(isfinite(y[j]));
        lm_scaler_free(&w.ctx->mem, &loaded);
        assert_int_equal(w.count.live, before);
    }
    assert_true(refused > 500 && accepted > 500); /* both sides were tried */
    free(copy.at);
    lm_scaler_free(&w.ctx->mem, &s);
    lm_free(&w.ctx->mem, b.at);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loaded_scaling_gives_the_same_bits),
        cmocka_unit_test(test_saving_or_loading_that_lacks_memory_leaves_nothing_behind),
        cmocka_unit_test(test_numbers_that_cannot_be_true_are_refused),
        cmocka_unit_test(test_whole_numbers_that_cannot_be_true_are_refused),
        cmocka_unit_test(test_curves_that_do_not_rise_are_refused),
        cmocka_unit_test(test_missing_keys_and_unknown_names_are_refused),
        cmocka_unit_test(test_a_map_and_the_mention_of_it_come_together),
        cmocka_unit_test(test_lists_of_the_wrong_length_are_refused),
        cmocka_unit_test(test_a_huge_number_of_features_takes_no_memory),
        cmocka_unit_test(test_a_random_change_is_refused_or_harmless),
    };
    return cmocka_run_group_tests_name("scalings in a model file", tests, NULL, NULL);
}
