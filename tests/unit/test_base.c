/* test_base.c: src/base: random numbers, memory, text, buffers, the context. */
#include "base/argmax.h"
#include "base/base.h"
#include "base/scratch.h"
#include "counting.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the two above */
#include <cmocka.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static limn_context *plain_context(void) {
    limn_context *ctx = NULL;
    assert_int_equal(lm_context_make(NULL, &ctx), LIMN_OK);
    return ctx;
}

/* ---- random numbers ---- */

/* splitmix64 as published, with its own state. */
static uint64_t splitmix(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t splitmix_of(uint64_t x) {
    return splitmix(&x);
}

static void test_rng_gives_the_published_sequence_of_xoshiro256starstar(void **state) {
    (void)state;
    static const uint64_t published[] = {11520u,
                                         0u,
                                         1509978240u,
                                         1215971899390074240u,
                                         1216172134540287360u,
                                         607988272756665600u,
                                         16172922978634559625u,
                                         8476171486693032832u,
                                         10595114339597558777u,
                                         2904607092377533576u};
    lm_rng rng = {{1, 2, 3, 4}};
    for (size_t i = 0; i < LM_COUNT(published); i++)
        assert_true(lm_rng_next(&rng) == published[i]);
}

static void test_hash_is_three_nested_splitmix_steps(void **state) {
    (void)state;
    assert_true(splitmix_of(1234567) == 6457827717110365317u); /* the published first value */
    for (uint64_t a = 0; a < 50; a++) {
        uint64_t b = a * 77, c = UINT64_MAX - a;
        assert_true(lm_hash(a, b, c) == splitmix_of(splitmix_of(splitmix_of(a) ^ b) ^ c));
    }
}

static void test_rng_streams_differ_in_every_coordinate_and_repeat(void **state) {
    (void)state;
    enum { SIDE = 8, ALL = SIDE * SIDE * SIDE };
    uint64_t first[ALL];
    size_t n = 0;
    for (uint64_t seed = 0; seed < SIDE; seed++)
        for (uint64_t stream = 0; stream < SIDE; stream++)
            for (uint64_t index = 0; index < SIDE; index++) {
                lm_rng rng = lm_rng_at(seed, stream, index), again = lm_rng_at(seed, stream, index);
                first[n] = lm_rng_next(&rng);
                assert_true(first[n] == lm_rng_next(&again));
                for (size_t i = 0; i < n; i++)
                    assert_true(first[i] != first[n]);
                n++;
            }
}

static void test_rng_below_stays_below_and_reaches_every_value_evenly(void **state) {
    (void)state;
    enum { DRAWS = 70000 };
    size_t seen[7] = {0};
    lm_rng rng = lm_rng_at(1, 2, 3);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = lm_rng_below(&rng, 7);
        assert_true(x < 7);
        seen[x]++;
    }
    double chi2 = 0;
    for (int v = 0; v < 7; v++)
        chi2 += pow((double)seen[v] - DRAWS / 7.0, 2) / (DRAWS / 7.0);
    assert_true(chi2 < 32); /* 6 degrees of freedom: one chance in 60,000 */
}

static void test_rng_below_is_unbiased_at_extreme_bounds(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(1, 1, 1);
    const uint64_t bound = (uint64_t)3 << 62; /* a plain remainder would give half of the draws */
    size_t low = 0;                           /* to the lowest third */
    for (int i = 0; i < 10000; i++) {
        assert_true(lm_rng_below(&rng, 1) == 0);
        assert_true(lm_rng_below(&rng, UINT64_MAX) < UINT64_MAX);
        uint64_t x = lm_rng_below(&rng, bound);
        assert_true(x < bound);
        low += x < bound / 3;
    }
    assert_in_range(low, 3098, 3569); /* five standard deviations */
}

static void test_rng_unit_and_normal_have_their_moments(void **state) {
    (void)state;
    enum { N = 200000 };
    lm_rng rng = lm_rng_at(7, 0, 0);
    double sum = 0, square = 0, unit = 0;
    size_t within = 0;
    for (int i = 0; i < N; i++) {
        double u = lm_rng_unit(&rng), z = lm_rng_normal(&rng);
        assert_true(u >= 0 && u < 1);
        assert_true(isfinite(z));
        unit += u;
        sum += z;
        square += z * z;
        within += fabs(z) < 1;
    }
    assert_true(fabs(unit / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(sum / N) < 5 / sqrt(N));
    assert_true(fabs(square / N - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs((double)within / N - 0.682689) < 5 * sqrt(0.682689 * 0.317311 / N));
}

static void test_shuffle_permutes_and_every_order_is_equally_likely(void **state) {
    (void)state;
    enum { DRAWS = 24000 };
    size_t seen[256] = {0};
    lm_rng rng = lm_rng_at(3, 3, 3);
    for (int i = 0; i < DRAWS; i++) {
        size_t items[4] = {0, 1, 2, 3};
        lm_rng_shuffle(&rng, items, 4);
        unsigned mask = 0, code = 0;
        for (int k = 0; k < 4; k++) {
            mask |= 1u << items[k];
            code = code * 4 + (unsigned)items[k];
        }
        assert_int_equal(mask, 15);
        seen[code]++;
    }
    size_t orders = 0;
    for (int code = 0; code < 256; code++)
        if (seen[code]) {
            orders++;
            assert_in_range(seen[code], 845, 1155); /* 1000, five standard deviations */
        }
    assert_int_equal(orders, 24);
    lm_rng_shuffle(&rng, NULL, 0);
}

/* ---- memory ---- */

static void test_products_and_sums_tell_overflow(void **state) {
    (void)state;
    size_t out = 0;
    assert_true(lm_mul(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    assert_true(lm_mul(0, SIZE_MAX, &out) && out == 0);
    assert_false(lm_mul(SIZE_MAX / 2 + 1, 2, &out));
    assert_true(lm_add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    assert_false(lm_add(SIZE_MAX, 1, &out));
}

static void test_requests_that_overflow_give_null_and_never_reach_the_allocator(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    assert_non_null(ctx);
    unsigned before = count.requests;
    assert_null(lm_alloc(&ctx->mem, SIZE_MAX, 2));
    assert_null(lm_alloc_zero(&ctx->mem, SIZE_MAX / 8 + 1, 8));
    assert_null(lm_resize(&ctx->mem, NULL, SIZE_MAX, SIZE_MAX));
    assert_null(lm_alloc_aligned(&ctx->mem, SIZE_MAX, 2));
    for (size_t short_of = 0; short_of < 256; short_of++)
        assert_null(lm_alloc_aligned(&ctx->mem, SIZE_MAX - short_of, 1));
    assert_null(lm_strndup(&ctx->mem, "x", SIZE_MAX));
    assert_int_equal(count.requests, before);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_requests_of_nothing_give_a_block(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    void *a = lm_alloc(&ctx->mem, 0, 8), *b = lm_alloc_zero(&ctx->mem, 8, 0);
    void *c = lm_alloc_aligned(&ctx->mem, 0, 0), *d = lm_resize(&ctx->mem, NULL, 0, 1);
    assert_true(a && b && c && d);
    lm_free(&ctx->mem, a);
    lm_free(&ctx->mem, b);
    lm_free_aligned(&ctx->mem, c);
    lm_free(&ctx->mem, d);
    lm_free(&ctx->mem, NULL);
    lm_free_aligned(&ctx->mem, NULL);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_zeroed_memory_is_zero(void **state) {
    (void)state;
    limn_context *ctx = plain_context();
    unsigned char *dirty = lm_alloc(&ctx->mem, 5000, 1);
    memset(dirty, 0xa5, 5000);
    lm_free(&ctx->mem, dirty);
    unsigned char *block = lm_alloc_zero(&ctx->mem, 1000, 5);
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(block[i], 0);
    lm_free(&ctx->mem, block);
    limn_context_free(ctx);
}

static void test_aligned_blocks_are_aligned_writable_and_freed(void **state) {
    (void)state;
    static const size_t sizes[] = {1,       7,       63,      64,      65,     4096,
                                   1 << 19, 1048575, 1 << 20, 1048577, 5000000};
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    for (size_t i = 0; i < LM_COUNT(sizes); i++) {
        unsigned char *block = lm_alloc_aligned(&ctx->mem, sizes[i], 1);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        if (sizes[i] >= 1 << 20)
            assert_int_equal((uintptr_t)block % (2u << 20), 0);
        memset(block, 0x5a, sizes[i]);
        lm_free_aligned(&ctx->mem, block);
        assert_int_equal(count.live, 1); /* the context */
    }
    count.fail_at = 1;
    assert_null(lm_alloc_aligned(&ctx->mem, 100, 1));
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* One block that moves to another multiple of 16 whenever it is resized, as malloc's may. */
typedef struct askew {
    unsigned char *start; /* of the memory that it is in */
    size_t shift, size;
    unsigned calls;
} askew;

static void *resize_askew(void *user, void *block, size_t size) {
    static const size_t shifts[] = {0, 16, 48, 32};
    askew *a = user;
    size_t shift = shifts[++a->calls % LM_COUNT(shifts)];
    unsigned char *start = aligned_alloc(64, (size / 64 + 3) * 64);
    if (block)
        memcpy(start + shift, block, a->size < size ? a->size : size);
    free(a->start);
    *a = (askew){start, shift, size, a->calls};
    return start + shift;
}

static void test_aligned_blocks_keep_their_bytes_when_they_grow(void **state) {
    askew only = {.start = NULL};
    limn_allocator mem = {.resize = resize_askew, .user = &only};
    unsigned char *block = NULL;
    size_t before = 0;
    (void)state;
    for (size_t size = 700; size < 100000; size += size / 3) {
        block = lm_resize_aligned(&mem, block, before, size);
        assert_int_equal((uintptr_t)block % 64, 0);
        for (size_t i = 0; i < before; i++)
            assert_int_equal(block[i], (unsigned char)(i * 7));
        for (size_t i = before; i < size; i++)
            block[i] = (unsigned char)(i * 7);
        before = size;
    }
    assert_null(lm_resize_aligned(&mem, block, before, SIZE_MAX));
    free(only.start);
}

static void test_text_is_copied_with_its_final_zero(void **state) {
    (void)state;
    limn_context *ctx = plain_context();
    char *whole = lm_strdup(&ctx->mem, "border"), *part = lm_strndup(&ctx->mem, "border", 4);
    char *none = lm_strndup(&ctx->mem, "border", 0);
    assert_string_equal(whole, "border");
    assert_string_equal(part, "bord");
    assert_string_equal(none, "");
    lm_free(&ctx->mem, whole);
    lm_free(&ctx->mem, part);
    lm_free(&ctx->mem, none);
    limn_context_free(ctx);
}

static void test_buffer_keeps_what_was_appended_and_survives_a_failed_append(void **state) {
    (void)state;
    counting count = {0};
    limn_context *ctx = counting_context(&count);
    lm_buffer buffer = {.mem = &ctx->mem};
    assert_true(lm_buffer_append(&buffer, NULL, 0));
    for (unsigned i = 0; i < 1000; i++) {
        unsigned char piece[3] = {(unsigned char)i, (unsigned char)(i >> 8), 7};
        assert_true(lm_buffer_append(&buffer, piece, i % 4));
    }
    size_t size = buffer.size;
    unsigned char *big = calloc(1, 1 << 16);
    count.fail_at = 1;
    assert_false(lm_buffer_append(&buffer, big, 1 << 16));
    assert_false(lm_buffer_append(&buffer, big, SIZE_MAX));
    free(big);
    assert_int_equal(buffer.size, size);
    size_t at = 0;
    for (unsigned i = 0; i < 1000; i++)
        for (unsigned k = 0; k < i % 4; k++, at++)
            assert_int_equal(buffer.data[at], k == 0 ? i & 255 : k == 1 ? i >> 8 : 7);
    assert_int_equal(at, size);
    lm_buffer_free(&buffer);
    assert_null(buffer.data);
    lm_buffer_free(&buffer);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

/* ---- text ---- */

static void test_decimal_numbers_are_read_and_nothing_else(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},           {"-0", -0.0},        {"1.5", 1.5},          {"+.5", 0.5},
                {"5.", 5},          {" \t7\r\n", 7},     {"1e3", 1000},         {"1E-2", 0.01},
                {"-2.5e+1", -25},   {"1e400", HUGE_VAL}, {"-1e400", -HUGE_VAL}, {"1e-400", 0},
                {"5e-324", 5e-324}, {"007", 7},          {"0.1", 0.1}};
    static const char *const bad[] = {"",     " ",        ".",   "+",     "-",     "e5",
                                      ".e5",  "1e",       "1e+", "nan",   "inf",   "NaN",
                                      "0x10", "1,5",      "1 2", "--1",   "1.2.3", "1e5.",
                                      "1f",   "infinity", "+-1", "1e--5", "\v1"};
    for (size_t i = 0; i < LM_COUNT(good); i++) {
        double value = 99;
        assert_true(lm_parse_double(good[i].text, strlen(good[i].text), &value));
        assert_true(value == good[i].value && signbit(value) == signbit(good[i].value));
    }
    for (size_t i = 0; i < LM_COUNT(bad); i++) {
        double value = 99;
        assert_false(lm_parse_double(bad[i], strlen(bad[i]), &value));
        assert_true(value == 99);
    }
    double value;
    assert_false(lm_parse_double("1\0002", 3, &value));
    assert_true(lm_parse_double("123", 2, &value) && value == 12); /* only what length covers */
}

static void test_every_double_written_out_in_full_is_read(void **state) {
    (void)state;
    static const struct {
        double value;
        int decimals; /* enough to write the value exactly */
    } cases[] = {{DBL_MAX, 1},    {-DBL_MAX, 1},   {5e-324, 1074},
                 {-5e-324, 1074}, {DBL_MIN, 1074}, {DBL_TRUE_MIN * 3, 1074},
                 {0.1, 60}};
    char text[2000];
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        double value = 0;
        int length = snprintf(text, sizeof text, "%.*f", cases[i].decimals, cases[i].value);
        assert_true(lm_parse_double(text, (size_t)length, &value));
        assert_true(value == cases[i].value);
    }
    memset(text, '1', sizeof text);
    double untouched = 99;
    assert_false(lm_parse_double(text, sizeof text, &untouched));
    assert_true(untouched == 99);
}

static double random_double(lm_rng *rng) {
    for (;;) {
        uint64_t bits = lm_rng_next(rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            return value;
    }
}

static void test_doubles_read_back_from_their_text_as_the_same_double(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(1, 0, 0);
    for (int i = 0; i < 20000; i++) {
        double value = random_double(&rng), back = 0;
        char text[32];
        size_t length = lm_format_double(value, text);
        assert_int_equal(length, strlen(text));
        assert_true(length < 32);
        assert_true(lm_parse_double(text, length, &back));
        assert_true(back == value);
    }
}

static void test_doubles_are_written_with_the_fewest_digits(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "-0"},
                 {0.1, "0.1"},
                 {-2.5, "-2.5"},
                 {1.0 / 3, "0.3333333333333333"},
                 {1e22, "1e+22"},
                 {5e-324, "5e-324"},
                 {100, "100"},
                 {0.1 + 0.2, "0.30000000000000004"}};
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        char text[32];
        lm_format_double(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
    char text[32];
    assert_true(lm_format_double(HUGE_VAL, text) == 3 && strcmp(text, "inf") == 0);
    assert_true(lm_format_double((double)NAN, text) > 0 && strstr(text, "nan"));
    assert_true(lm_format_double(-DBL_MAX, text) < 32);
}

static void test_numbers_ignore_the_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    const char *set = NULL;
    for (size_t i = 0; i < LM_COUNT(names) && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    if (!set)
        skip(); /* no locale with a decimal comma on this machine */
    char text[32];
    double value = 0;
    lm_format_double(2.5, text);
    bool read = lm_parse_double("2.5", 3, &value);
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "2.5");
    assert_true(read && value == 2.5);
}

static void test_quoting_cuts_and_hides_control_bytes(void **state) {
    (void)state;
    char out[48], text[101];
    assert_string_equal(lm_quote("a\tb\n\x7f", 5, out), "a?b??");
    assert_string_equal(lm_quote("", 0, out), "");
    assert_string_equal(lm_quote("gr\xc3\xbcn", 5, out), "gr\xc3\xbcn");
    memset(text, 'x', sizeof text);
    assert_int_equal(strlen(lm_quote(text, 40, out)), 40);
    assert_int_equal(strlen(lm_quote(text, 41, out)), 40);
    assert_string_equal(lm_quote(text, 100, out) + 37, "...");
    assert_string_equal(lm_quote("a\0b", 3, out), "a?b");
}

static void test_quoting_never_cuts_inside_a_character(void **state) {
    (void)state;
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8c\x8d"};
    for (size_t c = 0; c < LM_COUNT(characters); c++)
        for (size_t lead = 0; lead < 4; lead++) {
            char text[200] = "", out[48];
            memset(text, 'a', lead);
            while (strlen(text) < 100)
                strcat(text, characters[c]);
            lm_quote(text, strlen(text), out);
            size_t kept = strlen(out) - 3;
            assert_string_equal(out + kept, "...");
            assert_int_equal((kept - lead) % strlen(characters[c]), 0);
            assert_true(kept >= 34);
        }
}

/* ---- the context ---- */

static void test_error_sentences_may_quote_the_sentence_before(void **state) {
    (void)state;
    limn_context *ctx = plain_context();
    assert_string_equal(limn_error(ctx), "");
    assert_int_equal(lm_fail(ctx, LIMN_E_DATA, "row %d is bad", 3), LIMN_E_DATA);
    assert_int_equal(lm_fail(ctx, LIMN_E_MODEL, "fold 2: %s; try again", limn_error(ctx)),
                     LIMN_E_MODEL);
    assert_string_equal(limn_error(ctx), "fold 2: row 3 is bad; try again");
    char *long_text = malloc(5000);
    memset(long_text, 'x', 4999);
    long_text[4999] = '\0';
    lm_fail(ctx, LIMN_E_DATA, "%s", long_text);
    assert_int_equal(strlen(limn_error(ctx)), LM_ERROR_BYTES - 1);
    free(long_text);
    assert_int_equal(lm_fail_memory(ctx), LIMN_E_MEMORY);
    assert_string_equal(limn_error(ctx), "out of memory");
    assert_string_equal(limn_error(NULL), "");
    limn_context_free(ctx);
    limn_context_free(NULL);
}

static int cancel_at_ten(void *user, const limn_progress *progress) {
    *(limn_progress *)user = *progress;
    return progress->rows >= 10;
}

static void keep_sentence(void *user, limn_log_level level, const char *sentence) {
    snprintf(user, 100, "%d %s", (int)level, sentence);
}

static void test_progress_is_told_and_can_cancel(void **state) {
    (void)state;
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_progress seen = {0};
    limn_context_options_init(&options);
    options.progress = cancel_at_ten;
    options.user = &seen;
    assert_int_equal(lm_context_make(&options, &ctx), LIMN_OK);
    assert_int_equal(lm_progress(ctx, "reading", 9, 20, 0.45), LIMN_OK);
    assert_string_equal(seen.stage, "reading");
    assert_true(seen.rows == 9 && seen.rows_total == 20 && seen.fraction == 0.45);
    assert_int_equal(lm_progress(ctx, "reading", 10, 20, 0.5), LIMN_E_CANCELLED);
    assert_non_null(strstr(limn_error(ctx), "reading"));
    limn_context_free(ctx);
    ctx = plain_context();
    assert_int_equal(lm_progress(ctx, "reading", 10, 20, 0.5), LIMN_OK);
    limn_context_free(ctx);
}

static void test_log_gets_sentences_with_their_level(void **state) {
    (void)state;
    char kept[100] = "";
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    options.log = keep_sentence;
    options.user = kept;
    assert_int_equal(lm_context_make(&options, &ctx), LIMN_OK);
    lm_warn(ctx, "%d columns ignored", 3);
    assert_string_equal(kept, "1 3 columns ignored");
    lm_info(ctx, "read %s", "it");
    assert_string_equal(kept, "0 read it");
    limn_context_free(ctx);
    ctx = plain_context();
    lm_warn(ctx, "to nobody");
    limn_context_free(ctx);
}

static void test_context_defaults_and_failure_to_make_one(void **state) {
    (void)state;
    limn_context *ctx = plain_context();
    assert_true(ctx->seed == 1 && ctx->threads >= 1 && ctx->memory_limit > 0);
    limn_context_free(ctx);
    counting count = {.fail_at = 1};
    assert_null(counting_context(&count));
    assert_int_equal(count.live, 0);
    assert_string_equal(limn_status_string(LIMN_E_MODEL), "bad model file");
    assert_string_equal(limn_status_string((limn_status)99), "unknown status");
}

/* ---- scratch, argmax ---- */

typedef struct parts {
    char *a;
    double *b;
    float *c;
    void *rest;
} parts;

static parts lay_out(size_t n, lm_cursor *at) {
    parts p;
    p.a = lm_take(at, 3, 1);
    p.b = lm_take(at, n, sizeof *p.b);
    p.c = lm_take_cells(at, n, n, sizeof *p.c);
    p.rest = lm_here(at);
    return p;
}

static void test_a_cursor_measures_what_it_places(void **state) {
    (void)state;
    for (size_t n = 0; n < 40; n += 13) {
        size_t bytes = 0;
        lm_cursor at = lm_cursor_at(NULL);
        parts none = lay_out(n, &at);
        assert_true(!none.a && !none.b && !none.c && !none.rest);
        assert_true(lm_measured(&at, &bytes));
        unsigned char *block = aligned_alloc(LM_SCRATCH_ALIGN, bytes);
        at = lm_cursor_at(block);
        parts p = lay_out(n, &at);
        assert_ptr_equal(p.a, block);
        assert_int_equal((uintptr_t)p.b % LM_SCRATCH_ALIGN, 0);
        assert_int_equal((uintptr_t)p.c % LM_SCRATCH_ALIGN, 0);
        assert_true((char *)p.b >= p.a + 3 && (char *)p.c >= (char *)(p.b + n));
        assert_true((char *)p.rest >= (char *)(p.c + n * n));
        assert_ptr_equal(p.rest, block + bytes);
        free(block);
    }
}

static void test_a_cursor_says_when_there_is_too_much(void **state) {
    (void)state;
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 8 + 1, SIZE_MAX / 8 - 3};
    limn_context *ctx = plain_context();
    size_t bytes;
    for (size_t i = 0; i < LM_COUNT(counts); i++) {
        lm_cursor at = lm_cursor_at(NULL);
        (void)lm_take(&at, 100, 1);
        (void)lm_take(&at, counts[i], 8);
        assert_false(lm_measured(&at, &bytes));
        (void)lm_take(&at, 1, 1); /* it stays that way */
        assert_false(lm_measured(&at, &bytes));
        assert_null(lm_alloc_measured(&ctx->mem, &at));
    }
    lm_cursor cells = lm_cursor_at(NULL);
    (void)lm_take_cells(&cells, (size_t)1 << 40, (size_t)1 << 40, 1);
    assert_false(lm_measured(&cells, &bytes));
    limn_context_free(ctx);
}

static void test_argmax_is_the_first_of_the_largest(void **state) {
    (void)state;
    const double d[] = {1, 7, NAN, 7, 3};
    const float f[] = {-2, -1, -1};
    const int32_t i[] = {5, 5, 4};
    assert_int_equal(lm_argmax(d, 5), 1);
    assert_int_equal(lm_argmax(d, 1), 0);
    assert_int_equal(lm_argmax_float(f, 3), 1);
    assert_int_equal(lm_argmax_int(i, 3), 0);
}

static void test_names_have_streams_of_their_own(void **state) {
    (void)state;
    static const char *const names[] = {"", "a", "b", "ab", "ba", "vpc", "bforest"};
    for (size_t i = 0; i < LM_COUNT(names); i++) {
        assert_true(lm_stream_of(names[i]) == lm_stream_of(names[i]));
        for (size_t j = 0; j < i; j++)
            assert_true(lm_stream_of(names[i]) != lm_stream_of(names[j]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rng_gives_the_published_sequence_of_xoshiro256starstar),
        cmocka_unit_test(test_hash_is_three_nested_splitmix_steps),
        cmocka_unit_test(test_rng_streams_differ_in_every_coordinate_and_repeat),
        cmocka_unit_test(test_rng_below_stays_below_and_reaches_every_value_evenly),
        cmocka_unit_test(test_rng_below_is_unbiased_at_extreme_bounds),
        cmocka_unit_test(test_rng_unit_and_normal_have_their_moments),
        cmocka_unit_test(test_shuffle_permutes_and_every_order_is_equally_likely),
        cmocka_unit_test(test_products_and_sums_tell_overflow),
        cmocka_unit_test(test_requests_that_overflow_give_null_and_never_reach_the_allocator),
        cmocka_unit_test(test_requests_of_nothing_give_a_block),
        cmocka_unit_test(test_zeroed_memory_is_zero),
        cmocka_unit_test(test_aligned_blocks_keep_their_bytes_when_they_grow),
        cmocka_unit_test(test_aligned_blocks_are_aligned_writable_and_freed),
        cmocka_unit_test(test_text_is_copied_with_its_final_zero),
        cmocka_unit_test(test_buffer_keeps_what_was_appended_and_survives_a_failed_append),
        cmocka_unit_test(test_decimal_numbers_are_read_and_nothing_else),
        cmocka_unit_test(test_every_double_written_out_in_full_is_read),
        cmocka_unit_test(test_doubles_read_back_from_their_text_as_the_same_double),
        cmocka_unit_test(test_doubles_are_written_with_the_fewest_digits),
        cmocka_unit_test(test_numbers_ignore_the_locale),
        cmocka_unit_test(test_quoting_cuts_and_hides_control_bytes),
        cmocka_unit_test(test_quoting_never_cuts_inside_a_character),
        cmocka_unit_test(test_error_sentences_may_quote_the_sentence_before),
        cmocka_unit_test(test_progress_is_told_and_can_cancel),
        cmocka_unit_test(test_log_gets_sentences_with_their_level),
        cmocka_unit_test(test_a_cursor_measures_what_it_places),
        cmocka_unit_test(test_a_cursor_says_when_there_is_too_much),
        cmocka_unit_test(test_argmax_is_the_first_of_the_largest),
        cmocka_unit_test(test_names_have_streams_of_their_own),
        cmocka_unit_test(test_context_defaults_and_failure_to_make_one),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
