/* test_container_hostile.c: src/container: files that were cut, changed or made to deceive are
 * refused. */
#include "container_world.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- damage ---- */

static void test_a_file_cut_at_any_byte_is_refused(void **state) {
    world *w = *state;
    char path[200];
    put_file(in(w, "m.limn", path), w->bytes, w->size);
    for (size_t size = w->size; size-- > 0;) {
        assert_refused(w, w->bytes, size, size == 0 ? "empty" : "truncated");
        lm_file *file = NULL;
        assert_int_equal(truncate(path, (off_t)size), 0);
        assert_int_equal(lm_file_open(w->ctx, path, &file), LIMN_E_MODEL);
        assert_null(file);
    }
}

static void test_any_byte_changed_to_any_value_is_refused(void **state) {
    world *w = *state;
    for (size_t i = 0; i < w->size; i++) {
        unsigned char before = w->bytes[i];
        for (unsigned change = 1; change < 256; change++) {
            w->bytes[i] = (unsigned char)(before ^ change);
            assert_refused(w, w->bytes, w->size, "");
        }
        w->bytes[i] = before;
    }
    lm_file_close(open_bytes(w, w->bytes, w->size));
}

static void test_appended_bytes_are_refused(void **state) {
    world *w = *state;
    unsigned char *longer = calloc(1, w->size + 200);
    memcpy(longer, w->bytes, w->size);
    for (size_t more = 1; more <= 200; more++)
        assert_refused(w, longer, w->size + more, "bytes follow the end");
    memcpy(longer + w->size, w->bytes, 200);
    assert_refused(w, longer, w->size + 200, "bytes follow the end");
    free(longer);
}

static void test_other_files_are_told_apart_from_damaged_models(void **state) {
    world *w = *state;
    assert_refused(w, (const unsigned char *)"svm_type c_svc\n", 15, "not a limn model");
    assert_refused(w, (const unsigned char *)"l", 1, "truncated");
    assert_refused(w, (const unsigned char *)"x", 1, "not a limn model");
    /* line ends rewritten: \r\n to \n, and \n to \r\n */
    assert_refused(w, (const unsigned char *)"limn\n\x1a\n....", 11, "text-mode transfer");
    assert_refused(w, (const unsigned char *)"limn\r\r\n\x1a\r\n..", 12, "text-mode transfer");
}

/* ---- hostile tables: every hash is right ---- */

static void test_hostile_tables_are_refused(void **state) {
    world *w = *state;
    static const struct {
        size_t entry; /* of the sample */
        size_t field;
        uint64_t value;
        const char *words;
    } cases[] = {
        {1, E_OFFSET, 64 + 5 * 64, "start at byte"},       /* on top of the first section */
        {1, E_OFFSET, 0, "start at byte"},                 /* on top of the header */
        {1, E_OFFSET, UINT64_MAX - 63, "start at byte"},   /* beyond the end */
        {1, E_OFFSET, 64 + 5 * 64 + 8, "start at byte"},   /* unaligned */
        {1, E_SIZE, UINT64_MAX, "bytes, but"},             /* offset + size wraps */
        {1, E_SIZE, UINT64_MAX - 63, "bytes, but"},        /* so does rounding up */
        {1, E_SIZE, UINT64_MAX / 2, "bytes, but"},         /* negative when signed */
        {1, E_SIZE, 100, "start at byte"},                 /* leaves a gap */
        {1, E_SIZE, 200, "start at byte"},                 /* reaches into the next one */
        {3, E_SIZE, 65, "bytes, but"},                     /* the last with bytes */
        {4, E_SIZE, 1, "bytes, but"},                      /* the empty one */
        {3, E_SIZE, 0, "start at byte"},                   /* leaves the end to nobody */
        {0, E_NAME, 0, "name"},                            /* no name */
        {1, E_NAME, 0x6174654d, "name"},                   /* a capital */
        {1, E_NAME, 0x002f2e2e, "name"},                   /* a slash */
        {1, E_NAME, 0x0062000000000061, "name"},           /* bytes after the final zero */
        {1, E_NAME, 0x6174656d, "two sections are named"}, /* "meta" again */
        {1, E_RESERVED, 1, "reserved"},
        {4, E_RESERVED, UINT64_MAX, "reserved"},
        {2, E_FLAGS, 1, ""}, /* overwrites half of the offset, too */
    };
    unsigned char *copy = malloc(w->size);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        memcpy(copy, w->bytes, w->size);
        put64(copy + HEADER + cases[i].entry * ENTRY + cases[i].field, cases[i].value);
        if (cases[i].field == E_NAME && (cases[i].value >> 56) == 0)
            memset(copy + HEADER + cases[i].entry * ENTRY + 8, 0, 16);
        reseal(copy, w->size);
        assert_refused(w, copy, w->size, cases[i].words);
    }
    memcpy(copy, w->bytes, w->size);
    memset(copy + HEADER + ENTRY, 'a', 24); /* a name without a final zero */
    reseal(copy, w->size);
    assert_refused(w, copy, w->size, "section 2 has an invalid name");
    memcpy(copy, w->bytes, w->size);
    put32(copy + HEADER + ENTRY + E_FLAGS, 0x80000000u);
    reseal(copy, w->size);
    assert_refused(w, copy, w->size, "reserved");
    free(copy);
}

static void test_hostile_headers_are_refused(void **state) {
    world *w = *state;
    static const uint32_t counts[] = {0, 1, 4, 6, 30, 4096, 4097, 1u << 26, UINT32_MAX};
    static const uint64_t sizes[] = {0, 63, 64, UINT64_MAX, 1, 1ull << 63};
    unsigned char *copy = malloc(w->size);
    for (size_t i = 0; i < LM_COUNT(counts); i++) {
        memcpy(copy, w->bytes, w->size);
        put32(copy + H_COUNT, counts[i]);
        reseal(copy, w->size);
        bool too_many = counts[i] > (w->size - HEADER) / ENTRY;
        assert_refused(w, copy, w->size, too_many ? "sections do not fit in" : "");
    }
    for (size_t i = 0; i < LM_COUNT(sizes); i++) {
        memcpy(copy, w->bytes, w->size);
        put64(copy + H_SIZE, sizes[i]);
        reseal(copy, w->size);
        assert_refused(w, copy, w->size, sizes[i] > w->size ? "truncated" : "bytes follow the end");
    }
    for (size_t i = H_RESERVED; i < 56; i++) {
        memcpy(copy, w->bytes, w->size);
        copy[i] = 1;
        reseal(copy, w->size);
        assert_refused(w, copy, w->size, "reserved");
    }
    free(copy);
}

static void test_more_sections_than_allowed_are_refused(void **state) {
    world *w = *state;
    enum { MANY = 4097, SIZE = HEADER + MANY * ENTRY };
    unsigned char *bytes = calloc(1, SIZE);
    for (uint32_t count = MANY - 1; count <= MANY; count++) {
        uint64_t size = HEADER + (uint64_t)count * ENTRY;
        memcpy(bytes, w->bytes, HEADER);
        put32(bytes + H_COUNT, count);
        put64(bytes + H_SIZE, size);
        for (uint32_t i = 0; i < count; i++) {
            snprintf((char *)bytes + HEADER + i * ENTRY, 24, "s%u", i);
            put64(bytes + HEADER + i * ENTRY + E_OFFSET, size);
        }
        reseal(bytes, size);
        if (count == MANY)
            assert_refused(w, bytes, size, "sections do not fit in");
        else
            lm_file_close(open_bytes(w, bytes, size));
    }
    free(bytes);
}

static void test_padding_must_be_zero_and_the_end_must_be_padded(void **state) {
    world *w = *state;
    unsigned char *copy = malloc(w->size);
    memcpy(copy, w->bytes, w->size);
    copy[w->size - 1] = 1;
    reseal(copy, w->size);
    assert_refused(w, copy, w->size, "padding");
    memcpy(copy, w->bytes, w->size);
    put64(copy + H_SIZE, w->size - 8); /* a file that stops inside its last padding */
    reseal(copy, w->size - 8);
    assert_refused(w, copy, w->size - 8, "lacks its padding");
    free(copy);
}

/* Touches every byte that is handed out; the sanitizers see what is outside. */
static unsigned walk(world *w, const lm_file *file) {
    unsigned sum = 0;
    for (size_t i = 0; i < lm_file_section_count(file); i++) {
        lm_section section = lm_file_section_at(file, i);
        for (size_t k = 0; k < section.size; k++)
            sum += section.data[k];
        lm_kv kv;
        if (lm_kv_open(w->ctx, file, section.name, UINT32_MAX, &kv) != LIMN_OK)
            continue;
        static const char *const keys[] = {"least", "k", "tiny", "method", "classes", "means"};
        for (size_t k = 0; k < LM_COUNT(keys); k++) {
            int64_t whole;
            double real, values[3];
            const char *text;
            lm_texts texts;
            sum += lm_kv_int(&kv, keys[k], INT64_MIN, INT64_MAX, &whole) == LIMN_OK;
            sum += lm_kv_real(&kv, keys[k], -1, 1, &real) == LIMN_OK;
            sum += lm_kv_reals(&kv, keys[k], 3, values) == LIMN_OK;
            if (lm_kv_text(&kv, keys[k], &text) == LIMN_OK)
                sum += (unsigned)strlen(text);
            if (lm_kv_texts(&kv, keys[k], &texts) == LIMN_OK)
                while ((text = lm_texts_next(&texts)))
                    sum += (unsigned)strlen(text);
        }
    }
    return sum;
}

static void test_random_changes_with_right_hashes_are_refused_or_harmless(void **state) {
    world *w = *state;
    unsigned char *copy = malloc(w->size);
    lm_rng rng = lm_rng_at(1, 2, 3);
    size_t opened = 0, refused = 0;
    static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff};
    for (int round = 0; round < 40000; round++) {
        memcpy(copy, w->bytes, w->size);
        for (uint64_t n = 1 + lm_rng_below(&rng, 3); n; n--) {
            size_t at = (size_t)lm_rng_below(&rng, w->size);
            copy[at] = lm_rng_below(&rng, 2) ? telling[lm_rng_below(&rng, LM_COUNT(telling))]
                                             : (unsigned char)lm_rng_next(&rng);
        }
        size_t size = lm_rng_below(&rng, 8) ? w->size : (size_t)lm_rng_below(&rng, w->size);
        reseal(copy, size);
        lm_file *file = NULL;
        if (lm_file_from_memory(w->ctx, copy, size, "m.limn", &file) == LIMN_OK) {
            opened++;
            walk(w, file);
            lm_file_close(file);
        } else {
            refused++;
        }
    }
    assert_true(opened > 1000 && refused > 1000); /* both sides were tried */
    free(copy);
}

/* ---- hostile key-values ---- */

typedef struct raw {
    unsigned char bytes[140000];
    size_t size;
} raw;

static void raw_start(raw *r, uint64_t count) {
    put64(r->bytes, count);
    r->size = 8;
}

/* An entry whose stated sizes may lie. */
static void raw_entry(raw *r, uint32_t type, const char *key, uint32_t key_stated, size_t key_size,
                      const void *value, uint64_t value_stated, size_t value_size) {
    unsigned char *at = r->bytes + r->size;
    put32(at, type);
    put32(at + 4, key_stated);
    put64(at + 8, value_stated);
    memcpy(at + 16, key, key_size);
    memcpy(at + 16 + key_size, value, value_size);
    r->size += 16 + key_size + value_size;
}

static limn_status open_raw(world *w, const raw *r) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    lm_kv kv;
    lm_writer *writer = new_writer(w->ctx);
    assert_int_equal(lm_writer_section(writer, "kv", 1, r->bytes, r->size), LIMN_OK);
    assert_int_equal(lm_writer_bytes(writer, &bytes, &size), LIMN_OK);
    lm_writer_free(writer);
    lm_file *file = open_bytes(w, bytes, size);
    limn_status status = lm_kv_open(w->ctx, file, "kv", 1, &kv);
    lm_file_close(file);
    lm_free(&w->ctx->mem, bytes);
    return status;
}

static void test_hostile_values_are_refused(void **state) {
    world *w = *state;
    static const unsigned char nan_bytes[8] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
    static const unsigned char inf_bytes[8] = {0, 0, 0, 0, 0, 0, 0xf0, 0xff};
    static const struct {
        uint32_t type;
        const void *value;
        uint64_t stated;
        size_t size;
        limn_status expected;
    } cases[] = {
        {KV_INT, "12345678", 8, 8, LIMN_OK},
        {KV_INT, "1234567", 7, 7, LIMN_E_MODEL},
        {KV_INT, "123456789", 9, 9, LIMN_E_MODEL},
        {KV_INT, "", 0, 0, LIMN_E_MODEL},
        {KV_INT, "12345678", 9, 8, LIMN_E_MODEL},
        {KV_INT, "12345678", UINT64_MAX, 8, LIMN_E_MODEL},
        {KV_INT, "12345678", UINT64_MAX - 15, 8, LIMN_E_MODEL}, /* comes out at the start */
        {KV_REAL, inf_bytes, 8, 8, LIMN_OK},
        {KV_REAL, nan_bytes, 8, 8, LIMN_E_MODEL},
        {KV_REAL, inf_bytes, 4, 4, LIMN_E_MODEL},
        {KV_TEXT, "abc", 4, 4, LIMN_OK},
        {KV_TEXT, "", 1, 1, LIMN_OK},
        {KV_TEXT, "abc", 3, 3, LIMN_E_MODEL},  /* not ended */
        {KV_TEXT, "a\0c", 4, 4, LIMN_E_MODEL}, /* ended twice */
        {KV_TEXT, "", 0, 0, LIMN_E_MODEL},
        {KV_TEXTS, "\2\0\0\0\0\0\0\0a\0b", 12, 12, LIMN_OK},
        {KV_TEXTS, "\0\0\0\0\0\0\0", 8, 8, LIMN_OK},
        {KV_TEXTS, "\1\0\0\0\0\0\0", 8, 8, LIMN_E_MODEL},         /* none of one */
        {KV_TEXTS, "\1\0\0\0\0\0\0\0a\0b", 12, 12, LIMN_E_MODEL}, /* one too many */
        {KV_TEXTS, "\3\0\0\0\0\0\0\0a\0b", 12, 12, LIMN_E_MODEL}, /* one missing */
        {KV_TEXTS, "\2\0\0\0\0\0\0\0a\0b", 11, 11, LIMN_E_MODEL}, /* not ended */
        {KV_TEXTS, "\377\377\377\377\377\377\377\377a", 10, 10, LIMN_E_MODEL},
        {KV_TEXTS, "\0\0\0\0\0\0", 7, 7, LIMN_E_MODEL},
        {KV_REALS, "1234567812345678", 16, 16, LIMN_OK},
        {KV_REALS, "", 0, 0, LIMN_OK},
        {KV_REALS, "123456781234", 12, 12, LIMN_E_MODEL},
        {KV_REALS, nan_bytes, 8, 8, LIMN_E_MODEL},
        {KV_REALS, inf_bytes, 8, 8, LIMN_E_MODEL},
        {0, "12345678", 8, 8, LIMN_E_MODEL},
        {6, "12345678", 8, 8, LIMN_E_MODEL},
        {UINT32_MAX, "12345678", 8, 8, LIMN_E_MODEL},
    };
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        raw r;
        raw_start(&r, 1);
        raw_entry(&r, cases[i].type, "a", 2, 2, cases[i].value, cases[i].stated, cases[i].size);
        limn_status status = open_raw(w, &r);
        if (status != cases[i].expected)
            fail_msg("case %zu: status %d", i, (int)status);
    }
}

static void test_hostile_keys_and_counts_are_refused(void **state) {
    world *w = *state;
    static const struct {
        const char *key;
        uint32_t stated;
        size_t size;
        limn_status expected;
    } keys[] = {{"a", 2, 2, LIMN_OK},        {"", 1, 1, LIMN_E_MODEL},
                {"", 0, 0, LIMN_E_MODEL},    {"a", 1, 1, LIMN_E_MODEL},
                {"ab", 2, 2, LIMN_E_MODEL},  {"a\0b", 4, 4, LIMN_E_MODEL},
                {"a b", 4, 4, LIMN_E_MODEL}, {"\x80", 2, 2, LIMN_E_MODEL},
                {"a\n", 3, 3, LIMN_E_MODEL}, {"a", UINT32_MAX, 2, LIMN_E_MODEL},
                {"~!/", 4, 4, LIMN_OK}};
    raw r;
    for (size_t i = 0; i < LM_COUNT(keys); i++) {
        raw_start(&r, 1);
        raw_entry(&r, KV_INT, keys[i].key, keys[i].stated, keys[i].size, "12345678", 8, 8);
        limn_status status = open_raw(w, &r);
        if (status != keys[i].expected)
            fail_msg("key %zu: status %d", i, (int)status);
    }
    static const uint64_t counts[] = {0, 1, 3, 4096, 4097, 1ull << 32, UINT64_MAX};
    for (size_t i = 0; i < LM_COUNT(counts); i++) { /* two entries are there */
        raw_start(&r, counts[i]);
        raw_entry(&r, KV_INT, "a", 2, 2, "12345678", 8, 8);
        raw_entry(&r, KV_INT, "b", 2, 2, "12345678", 8, 8);
        assert_int_equal(open_raw(w, &r), LIMN_E_MODEL);
    }
    raw_start(&r, 2);
    raw_entry(&r, KV_INT, "a", 2, 2, "12345678", 8, 8);
    raw_entry(&r, KV_TEXT, "a", 2, 2, "b", 2, 2);
    assert_int_equal(open_raw(w, &r), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(w->ctx), "entry 2 of section 'kv' repeats a key"));
    raw_start(&r, 0);
    assert_int_equal(open_raw(w, &r), LIMN_OK);
    for (size_t size = 0; size < 8; size++) {
        r.size = size;
        assert_int_equal(open_raw(w, &r), LIMN_E_MODEL);
        assert_non_null(strstr(limn_error(w->ctx), "section 'kv' is truncated"));
    }
}

static void test_more_keys_than_allowed_are_refused(void **state) {
    world *w = *state;
    raw r;
    for (uint64_t count = 4096; count <= 4097; count++) {
        raw_start(&r, count);
        for (uint64_t i = 0; i < count; i++) {
            char key[8];
            snprintf(key, sizeof key, "k%06u", (unsigned)i);
            raw_entry(&r, KV_INT, key, 8, 8, "12345678", 8, 8);
        }
        assert_int_equal(open_raw(w, &r), count == 4096 ? LIMN_OK : LIMN_E_MODEL);
    }
}

static void test_a_key_value_section_cut_anywhere_is_refused(void **state) {
    world *w = *state;
    raw r;
    raw_start(&r, 3);
    raw_entry(&r, KV_INT, "a", 2, 2, "12345678", 8, 8);
    raw_entry(&r, KV_TEXTS, "b", 2, 2, "\2\0\0\0\0\0\0\0x\0y", 12, 12);
    raw_entry(&r, KV_REALS, "c", 2, 2, "1234567812345678", 16, 16);
    assert_int_equal(open_raw(w, &r), LIMN_OK);
    for (size_t whole = r.size; r.size-- > 0;)
        if (r.size < whole)
            assert_int_equal(open_raw(w, &r), LIMN_E_MODEL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_a_file_cut_at_any_byte_is_refused),
        IN_WORLD(test_any_byte_changed_to_any_value_is_refused),
        IN_WORLD(test_appended_bytes_are_refused),
        IN_WORLD(test_other_files_are_told_apart_from_damaged_models),
        IN_WORLD(test_hostile_tables_are_refused),
        IN_WORLD(test_hostile_headers_are_refused),
        IN_WORLD(test_more_sections_than_allowed_are_refused),
        IN_WORLD(test_padding_must_be_zero_and_the_end_must_be_padded),
        IN_WORLD(test_random_changes_with_right_hashes_are_refused_or_harmless),
        IN_WORLD(test_hostile_values_are_refused),
        IN_WORLD(test_hostile_keys_and_counts_are_refused),
        IN_WORLD(test_more_keys_than_allowed_are_refused),
        IN_WORLD(test_a_key_value_section_cut_anywhere_is_refused),
    };
    return cmocka_run_group_tests_name("hostile models", tests, NULL, NULL);
}
