/* test_array.c: NPY and IDX: headers, types and orders, rows in pieces, messages. */
#include "array_world.h"

#include <math.h>
#include <stdlib.h>

/* ---- types and orders ---- */

typedef struct type {
    const char *kind;
    size_t size;
} type;

static const type types[] = {{"b", 1}, {"i", 1}, {"u", 1}, {"i", 2}, {"u", 2}, {"i", 4},
                             {"u", 4}, {"i", 8}, {"u", 8}, {"f", 2}, {"f", 4}, {"f", 8}};

enum { ROWS = 7, COLUMNS = 3 };

/* Random bits as an element of the type, and the float they represent. Halves are made from
 * small whole numbers here; another test covers all of them. */
static float random_element(const type *t, lm_rng *rng, uint64_t *bits) {
    uint64_t random = lm_rng_next(rng);
    uint64_t kept = t->size == 8 ? random : random & ((UINT64_C(1) << 8 * t->size) - 1);
    *bits = kept;
    switch (*t->kind) {
    case 'b':
        *bits = kept & 1;
        return (float)*bits;
    case 'u':
        return (float)kept;
    case 'i':
        return t->size == 1   ? (float)(int8_t)kept
               : t->size == 2 ? (float)(int16_t)kept
               : t->size == 4 ? (float)(int32_t)kept
                              : (float)(int64_t)kept;
    default:
        break;
    }
    if (t->size == 2) { /* 1.m x 2^e */
        *bits = random & 0xc3ff;
        *bits |= 0x2000;
        float sign = *bits & 0x8000 ? -1.0f : 1.0f;
        return sign * ldexpf(1.0f + (float)(*bits & 0x3ff) / 1024.0f, (int)(*bits >> 10 & 31) - 15);
    }
    double value = ldexp((double)(int64_t)random, (int)(random % 100) - 90);
    float single = (float)value;
    uint32_t low;
    memcpy(&low, &single, sizeof low);
    *bits = low;
    if (t->size == 8)
        memcpy(bits, &value, sizeof value);
    return single;
}

static void test_every_type_in_every_order_gives_its_values(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    for (size_t t = 0; t < LM_COUNT(types); t++)
        for (unsigned order = 0; order < 4; order++)
            for (size_t chunk = 0; chunk < 30; chunk += 7) {
                bool big = order & 1, fortran = order & 2;
                uint64_t bits[ROWS][COLUMNS];
                float expected[ROWS][COLUMNS];
                char descr[8];
                lm_rng rng = lm_rng_at(t, order, chunk);
                for (size_t i = 0; i < ROWS * COLUMNS; i++)
                    (&expected[0][0])[i] = random_element(&types[t], &rng, &(&bits[0][0])[i]);
                snprintf(descr, sizeof descr, "%c%s%zu",
                         types[t].size == 1 ? '|'
                         : big              ? '>'
                                            : '<',
                         types[t].kind, types[t].size);
                npy(b, descr, fortran, "(7, 3)");
                for (size_t i = 0; i < ROWS * COLUMNS; i++) {
                    size_t row = fortran ? i % ROWS : i / COLUMNS;
                    size_t column = fortran ? i / ROWS : i % COLUMNS;
                    put_bits(b, bits[row][column], types[t].size, big);
                }
                limn_data *data = must_take(&w, b, chunk, NULL, NULL);
                assert_int_equal(limn_data_rows(data), ROWS);
                assert_int_equal(limn_data_features(data), COLUMNS);
                assert_null(limn_data_classes(data));
                for (size_t i = 0; i < ROWS; i++)
                    assert_row(data, i, expected[i]);
                limn_data_free(data);
            }
    world_close(&w);
    free(b);
}

static void test_every_finite_half_has_its_value(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    npy(b, "<f2", false, "(63488, 1)");
    for (uint32_t h = 0; h < 65536; h++)
        if ((h & 0x7c00) != 0x7c00)
            put_bits(b, h, 2, false);
    limn_data *data = must_take(&w, b, 0, NULL, NULL);
    const float *x = limn_data_values(data);
    for (uint32_t h = 0; h < 65536; h++) {
        if ((h & 0x7c00) == 0x7c00)
            continue;
        int exponent = (int)(h >> 10 & 31);
        double expected =
            ldexp((double)((h & 0x3ff) + (exponent ? 1024u : 0u)), (exponent ? exponent : 1) - 25);
        assert_true((double)*x == (h & 0x8000 ? -expected : expected));
        assert_true(!signbit(*x++) == !(h & 0x8000));
    }
    limn_data_free(data);
    world_close(&w);
    free(b);
}

static void test_idx_types_are_read_highest_byte_first(void **state) {
    (void)state;
    static const struct {
        int type;
        const char *kind;
        size_t size;
    } idx_types[] = {{0x08, "u", 1}, {0x09, "i", 1}, {0x0b, "i", 2},
                     {0x0c, "i", 4}, {0x0d, "f", 4}, {0x0e, "f", 8}};
    static const uint32_t shape[] = {ROWS, 1, COLUMNS};
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    for (size_t t = 0; t < LM_COUNT(idx_types); t++)
        for (size_t chunk = 0; chunk < 20; chunk += 3) {
            type element = {idx_types[t].kind, idx_types[t].size};
            float expected[ROWS][COLUMNS];
            lm_rng rng = lm_rng_at(t, chunk, 3);
            idx(b, idx_types[t].type, 3, shape);
            for (size_t i = 0; i < ROWS * COLUMNS; i++) {
                uint64_t bits;
                (&expected[0][0])[i] = random_element(&element, &rng, &bits);
                put_bits(b, bits, element.size, true);
            }
            limn_data *data = must_take(&w, b, chunk, NULL, NULL);
            assert_int_equal(limn_data_rows(data), ROWS);
            assert_int_equal(limn_data_features(data), COLUMNS);
            for (size_t i = 0; i < ROWS; i++)
                assert_row(data, i, expected[i]);
            limn_data_free(data);
        }
    world_close(&w);
    free(b);
}

static void test_further_dimensions_become_features_in_c_order(void **state) {
    (void)state;
    enum { N = 40, A = 2, B = 3, C = 4 };
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    for (unsigned fortran = 0; fortran < 2; fortran++) {
        npy(b, "<i4", fortran, "(40, 2, 3, 4)");
        for (uint32_t at = 0; at < N * A * B * C; at++) {
            uint32_t n, i, j, k;
            if (fortran) {
                n = at % N, i = at / N % A, j = at / N / A % B, k = at / N / A / B;
            } else {
                k = at % C, j = at / C % B, i = at / C / B % A, n = at / C / B / A;
            }
            put_bits(b, ((n * 10 + i) * 10 + j) * 10 + k, 4, false);
        }
        limn_data *data = must_take(&w, b, 0, NULL, NULL);
        assert_int_equal(limn_data_features(data), A * B * C);
        for (uint32_t n = 0; n < N; n++)
            for (uint32_t f = 0; f < A * B * C; f++)
                assert_true(limn_data_values(data)[n * A * B * C + f] ==
                            (float)(((n * 10 + f / (B * C)) * 10 + f / C % B) * 10 + f % C));
        limn_data_free(data);
    }
    world_close(&w);
    free(b);
}

/* More rows than a tile of the transposition, and than the text window, can hold. */
static void test_many_rows_in_fortran_order_are_those_of_c_order(void **state) {
    (void)state;
    enum { N = 30011, D = 4 };
    unsigned char *file = malloc(256 + N * D * 4);
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    for (unsigned fortran = 0; fortran < 2; fortran++) {
        npy(b, "<f4", fortran, "(30011, 4)");
        memcpy(file, b->data, b->size);
        for (size_t i = 0; i < N * D; i++) {
            float value = fortran ? (float)(i % N * D + i / N) : (float)i;
            memcpy(file + b->size + i * 4, &value, 4);
        }
        limn_data *data = NULL;
        assert_int_equal(read_bytes(&w, file, b->size + N * D * 4, 1001, NULL, NULL, &data),
                         LIMN_OK);
        assert_int_equal(limn_data_rows(data), N);
        for (size_t i = 0; i < N * D; i++)
            assert_true(limn_data_values(data)[i] == (float)i);
        limn_data_free(data);
    }
    world_close(&w);
    free(b);
    free(file);
}

/* ---- headers ---- */

static void test_headers_may_be_written_in_any_way_that_python_accepts(void **state) {
    (void)state;
    static const char *const good[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}",
        "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3,)}",
        "  { 'fortran_order' : False ,\n'shape' : ( 2L , 3L ) , 'descr' : '=f4' , }  \n",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 1, 3), }",
        "{'descr': '|f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
    };
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(good); i++)
        for (int version = 1; version <= 3; version++) {
            npy_version(b, version, good[i]);
            for (int v = 0; v < 6; v++)
                put_float(b, (float)v, false);
            limn_data *data = must_take(&w, b, i, NULL, NULL);
            ASSERT_ROW(data, 0, 0, 1, 2);
            ASSERT_ROW(data, 1, 3, 4, 5);
            limn_data_free(data);
        }
    world_close(&w);
    free(b);
}

static const char *const bad_headers[][2] = {
    {"", "t.csv: byte 65: the header cannot be understood; save the array again"},
    {"{", "t.csv: byte 65: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False}",
     "t.csv: byte 65: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x",
     "t.csv: byte 69: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False 'shape': (2, 3)}",
     "t.csv: byte 129: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
     "t.csv: byte 45: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}",
     "t.csv: byte 61: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
     "t.csv: byte 61: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
     "t.csv: byte 61: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, }",
     "t.csv: byte 129: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}",
     "t.csv: byte 69: the header cannot be understood; save the array again"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 99999999999999999999), }",
     "t.csv: an array of shape (2, 99999999999999999999) is too large; save fewer rows or "
     "features"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
     "t.csv: the array has only one dimension, but rows and features need two; save "
     "x.reshape(-1, 1) for rows of one feature, or name it with --label-file if it holds the "
     "labels"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
     "t.csv: the array has no dimension, but rows and features need two; save x.reshape(-1, 1) "
     "for rows of one feature, or name it with --label-file if it holds the labels"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", "t.csv: no rows"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }",
     "t.csv: the rows have no features; save an array with columns"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }",
     "t.csv: the array holds Python objects; save plain numbers, for example "
     "x.astype('float32')"},
    {"{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (2,), }",
     "t.csv: the array is structured, with named fields; save its numbers as a plain array of two "
     "dimensions"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }",
     "t.csv: the array holds complex numbers; save their parts as columns"},
    {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2, 3), }",
     "t.csv: the array holds dates or times; save them as numbers, for example "
     "x.astype('int64')"},
    {"{'descr': '<U5', 'fortran_order': False, 'shape': (2, 3), }",
     "t.csv: the array holds text; save numbers, or save the table as CSV, where text becomes "
     "categories"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (2, 3), }",
     "t.csv: elements of type '<f16' cannot be read; save the array as float32, for example "
     "x.astype('float32')"},
    {"{'descr': '', 'fortran_order': False, 'shape': (2, 3), }",
     "t.csv: elements of type '' cannot be read; save the array as float32, for example "
     "x.astype('float32')"},
};

static void test_bad_headers_are_explained(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(bad_headers); i++) {
        npy_version(b, 1, bad_headers[i][0]);
        must_refuse(&w, b, NULL, NULL, LIMN_E_DATA, bad_headers[i][1]);
    }
    npy_version(b, 4, "{}");
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: NPY version 4.0 is not known; save the array in version 1.0, 2.0 or 3.0");
    npy_version(b, 2, "{}");
    b->data[11] = 0x70;
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: a header of 1879048244 bytes is too long for a plain array of numbers; "
                "save the array again");
    world_close(&w);
    free(b);
}

static void test_bad_idx_headers_are_explained(void **state) {
    (void)state;
    static const uint32_t shape[64] = {3, 2};
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    idx(b, 0x08, 1, shape);
    put(b, "abc", 3);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: this looks like a label file, because it has only one dimension; name the "
                "feature file, and give this one with --label-file");
    idx(b, 0x08, 0, shape);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: 0 dimensions, but 1 to 64 are expected; the file is damaged");
    idx(b, 0x08, 0, shape);
    b->data[3] = 65;
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: 65 dimensions, but 1 to 64 are expected; the file is damaged");
    idx(b, 0x08, 3, shape);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: the rows have no features; save an array with columns");
    idx(b, 0x0a, 2, shape); /* not an IDX type: then it is text with zero bytes */
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: byte 1 is zero, so this is not text; convert it to CSV or LIBSVM in UTF-8");
    world_close(&w);
    free(b);
}

/* ---- sizes that do not fit ---- */

static void test_a_file_cut_at_any_byte_is_refused(void **state) {
    (void)state;
    static const uint32_t shape[] = {4, 2, 2};
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    for (int kind = 0; kind < 3; kind++) {
        if (kind < 2)
            npy(b, "<f4", kind == 1, "(4, 4)");
        else
            idx(b, 0x0d, 3, shape);
        for (int i = 0; i < 16; i++)
            put_float(b, 1.5f, kind == 2);
        for (size_t size = 0; size < b->size; size++)
            for (size_t chunk = 0; chunk < 6; chunk += 5) {
                limn_data *data = NULL;
                limn_read_options options = with_task(LIMN_SEARCH);
                unsigned char *exact = malloc(size ? size : 1); /* for the sanitizer */
                memcpy(exact, b->data, size);
                assert_int_equal(read_bytes(&w, exact, size, chunk, &options, NULL, &data),
                                 LIMN_E_DATA);
                assert_null(data);
                free(exact);
            }
        limn_data_free(must_take(&w, b, 0, NULL, NULL));
    }
    world_close(&w);
    free(b);
}

static void test_what_is_missing_or_too_much_is_counted(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    npy_floats(b, 4, 3);
    b->size -= 13;
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: the file ends after 2 of 4 rows; copy or save it again");
    npy_floats(b, 4, 3);
    put(b, "x", 1);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: the file continues after its 4 rows; save one array per file");
    npy(b, "<f4", true, "(4, 3)");
    for (int i = 0; i < 5; i++)
        put_float(b, 1, false);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: the file ends after 5 of the 12 values of its 4 rows; copy or save it "
                "again");
    for (int i = 0; i < 8; i++)
        put_float(b, 1, false);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: the file continues after its 4 rows; save one array per file");
    b->size = 20;
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: the file ends inside its header; copy or save it again");
    world_close(&w);
    free(b);
}

/* Headers can promise anything: no allocation may follow from that. */
static void *small_allocate(void *user, size_t size) {
    assert_true(size < 4 << 20);
    return counting_allocate(user, size);
}

static void *small_resize(void *user, void *block, size_t size) {
    assert_true(size < 4 << 20);
    return counting_resize(user, block, size);
}

static void test_promised_sizes_take_no_memory(void **state) {
    (void)state;
    static const char *const shapes[] = {
        "(1000000000000, 4)", "(1, 1000000000000000000)", "(1000000000000, 1000000000000)",
        "(9999999999999999999, 9999999999999999999, 99999999999)", "(18446744073709551615, 2)"};
    static const uint32_t large[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    w.ctx->mem.allocate = small_allocate;
    w.ctx->mem.resize = small_resize;
    w.ctx->memory_limit = 1 << 20;
    for (size_t i = 0; i < 2 * LM_COUNT(shapes) + 3; i++) {
        if (i < 2 * LM_COUNT(shapes))
            npy(b, "<f8", i % 2, shapes[i / 2]);
        else
            idx(b, 0x0e, i - 2 * LM_COUNT(shapes) + 2, large);
        for (int v = 0; v < 64; v++)
            put_double(b, 0, false);
        limn_data *data = NULL;
        assert_int_equal(read_bytes(&w, b->data, b->size, 0, NULL, NULL, &data), LIMN_E_DATA);
        limn_reader *reader = NULL;
        lm_source *source = NULL;
        limn_rows rows = {.size = sizeof rows};
        assert_int_equal(lm_source_memory(w.ctx, "t", b->data, b->size, 3, &source), LIMN_OK);
        limn_status status = lm_reader_open_source(w.ctx, source, NULL, NULL, &reader);
        while (status == LIMN_OK)
            status = limn_reader_next(reader, 5, &rows);
        assert_int_equal(status, LIMN_E_DATA);
        limn_reader_free(reader);
    }
    npy(b, "<f4", false, "(1, 1000000000000000000)");
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: the data would need 14.7 EB of memory, but the limit is 1.0 MB; use fewer "
                "rows or features");
    npy(b, "<f4", true, "(250000, 1)");
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: the data would need 1.3 MB of memory, but the limit is 1.0 MB; use fewer "
                "rows or features");
    world_close(&w);
    free(b);
}

static void test_the_memory_of_a_whole_read_is_known_from_the_header(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    for (unsigned fortran = 0; fortran < 2; fortran++)
        for (unsigned label = 0; label < 2; label++) {
            lm_source *source = NULL;
            limn_reader *reader = NULL;
            limn_read_options options = with_task(LIMN_CLASSIFY);
            options.label = label ? "last" : NULL;
            options.weights = label ? "first" : NULL;
            npy(b, "|u1", fortran, "(1000, 10)");
            for (int i = 0; i < 10000; i++)
                put(b, "x", 1);
            assert_int_equal(lm_source_memory(w.ctx, "t", b->data, b->size, 0, &source), LIMN_OK);
            assert_int_equal(lm_reader_open_source(w.ctx, source, &options, NULL, &reader),
                             LIMN_OK);
            double set = 1000 * (label ? 8 * 4 + 4 + 8 : 10 * 4);
            double need = lm_array_bytes_needed(reader);
            if (fortran)
                assert_true(need >= set + 10000 && need <= set + 2 * 10000 + 100);
            else
                assert_true(need == set);
            limn_reader_free(reader);
        }
    world_close(&w);
    free(b);
}

/* ---- values that are no features ---- */

static void test_missing_and_infinite_values_are_named_by_row_and_column(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    npy(b, "<f4", false, "(3, 4)");
    for (int i = 0; i < 12; i++)
        put_float(b, i == 6 || i == 9 ? NAN : (float)i, false);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: 2 missing cells, the first in row 2, column 3; fill them, remove the rows "
                "or impute with --missing median");
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.missing = LIMN_MISSING_MEDIAN;
    limn_data *data = must_take(&w, b, 5, &options, NULL);
    ASSERT_ROW(data, 1, 4, 5, 6, 7); /* the median of 2 and 10 */
    ASSERT_ROW(data, 2, 8, 3, 10, 11);
    limn_data_free(data);
    options.label = "3"; /* the columns keep their numbers next to a label */
    options.missing = LIMN_MISSING_ERROR;
    must_refuse(&w, b, &options, NULL, LIMN_E_DATA,
                "t.csv: row 2, column 3: the label is missing; fill it or remove the row");
    options.label = "1";
    must_refuse(&w, b, &options, NULL, LIMN_E_DATA,
                "t.csv: 2 missing cells, the first in row 2, column 3; fill them, remove the rows "
                "or impute with --missing median");
    npy(b, ">f8", true, "(2, 3)");
    for (int i = 0; i < 6; i++)
        put_double(b, i == 3 ? -1e39 : i == 5 ? INFINITY : 0.5, true);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: row 2, column 2: '-1e+39' is infinite or too large for a 32-bit float; the "
                "largest value is 3.4e38");
    npy(b, "<f2", false, "(2, 2)");
    put_bits(b, UINT64_C(0x7c003c003c003c00), 8, false);
    must_refuse(&w, b, NULL, NULL, LIMN_E_DATA,
                "t.csv: row 2, column 2: 'inf' is infinite or too large for a 32-bit float; the "
                "largest value is 3.4e38");
    world_close(&w);
    free(b);
}

static void test_the_largest_floats_and_the_smallest_survive(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    npy(b, "<f8", false, "(1, 4)");
    put_double(b, 0x1.fffffefffffffp127, false); /* rounds to the largest float */
    put_double(b, -0x1.fffffep127, false);
    put_double(b, 0x1p-149, false);
    put_double(b, 1e-300, false);
    limn_data *data = must_take(&w, b, 0, NULL, NULL);
    ASSERT_ROW(data, 0, 0x1.fffffep127f, -0x1.fffffep127f, 0x1p-149f, 0);
    limn_data_free(data);
    world_close(&w);
    free(b);
}

/* ---- streams ---- */

static void test_streams_give_the_rows_of_a_whole_read(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    for (unsigned way = 0; way < 8; way++) {
        npy(b, "<i2", way & 1, "(50, 4)");
        for (uint64_t i = 0; i < 200; i++)
            put_bits(b, i * 7 % 31, 2, false);
        options.label = way & 2 ? "2" : NULL;
        options.weights = way & 4 ? "4" : NULL;
        limn_data *whole = must_take(&w, b, 0, &options, NULL);
        size_t d = limn_data_features(whole);
        for (size_t chunk = 0; chunk < 60; chunk = chunk * 2 + 1)
            for (size_t most = 1; most < 90; most *= 4) {
                lm_source *source = NULL;
                limn_reader *reader = NULL;
                limn_rows rows = {.size = sizeof rows};
                size_t seen = 0;
                assert_int_equal(lm_source_memory(w.ctx, "t", b->data, b->size, chunk, &source),
                                 LIMN_OK);
                assert_int_equal(lm_reader_open_source(w.ctx, source, &options, NULL, &reader),
                                 LIMN_OK);
                for (;; seen += rows.n) {
                    assert_int_equal(limn_reader_next(reader, most, &rows), LIMN_OK);
                    if (!rows.n)
                        break;
                    assert_true(rows.n <= most && seen + rows.n <= 50);
                    assert_memory_equal(rows.x, whole->x + seen * d, rows.n * d * sizeof(float));
                    assert_int_equal(!rows.classes, !(way & 2));
                    assert_int_equal(!rows.weights, !(way & 4));
                    const lm_labels *labels = &lm_reader_schema(reader)->labels;
                    for (size_t i = 0; i < rows.n; i++) {
                        if (rows.classes)
                            assert_string_equal(labels->names[rows.classes[i]],
                                                class_of_row(whole, seen + i));
                        if (rows.weights)
                            assert_true(rows.weights[i] == whole->weight[seen + i]);
                    }
                }
                assert_int_equal(seen, 50);
                limn_reader_free(reader);
            }
        limn_data_free(whole);
    }
    world_close(&w);
    free(b);
}

static void test_good_rows_in_front_of_a_bad_one_are_handed_out(void **state) {
    (void)state;
    bytes *b = malloc(sizeof *b);
    world w;
    world_open(&w);
    npy(b, "<f4", false, "(6, 2)");
    for (int i = 0; i < 12; i++)
        put_float(b, i == 9 ? INFINITY : (float)i, false);
    for (size_t chunk = 0; chunk < 40; chunk += 3) {
        lm_source *source = NULL;
        limn_reader *reader = NULL;
        limn_rows rows = {.size = sizeof rows};
        size_t seen = 0;
        limn_status status;
        assert_int_equal(lm_source_memory(w.ctx, "t", b->data, b->size, chunk, &source), LIMN_OK);
        assert_int_equal(lm_reader_open_source(w.ctx, source, NULL, NULL, &reader), LIMN_OK);
        while ((status = limn_reader_next(reader, 100, &rows)) == LIMN_OK)
            seen += rows.n;
        assert_int_equal(status, LIMN_E_DATA);
        assert_int_equal(seen, 4);
        assert_string_equal(limn_error(w.ctx), "t: row 5, column 2: 'inf' is infinite or too large "
                                               "for a 32-bit float; the largest value is 3.4e38");
        limn_reader_free(reader);
    }
    world_close(&w);
    free(b);
}

/* The window of text grows for it. */
static void test_a_row_longer_than_the_window_is_read(void **state) {
    (void)state;
    enum { D = 200000 };
    bytes *b = malloc(sizeof *b);
    unsigned char *file = malloc(256 + 2 * D * 8);
    world w;
    world_open(&w);
    w.ctx->memory_limit = 5 * D * 8;
    npy(b, "<f8", false, "(2, 200000)");
    memcpy(file, b->data, b->size);
    for (size_t i = 0; i < 2 * D; i++) {
        double value = (double)i;
        memcpy(file + b->size + i * 8, &value, 8);
    }
    for (size_t chunk = 0; chunk < 5000; chunk += 4999) {
        limn_data *data = NULL;
        assert_int_equal(read_bytes(&w, file, b->size + 2 * D * 8, chunk, NULL, NULL, &data),
                         LIMN_OK);
        for (size_t i = 0; i < 2 * D; i++)
            assert_true(limn_data_values(data)[i] == (float)i);
        limn_data_free(data);
    }
    world_close(&w);
    free(b);
    free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_in_every_order_gives_its_values),
        cmocka_unit_test(test_every_finite_half_has_its_value),
        cmocka_unit_test(test_idx_types_are_read_highest_byte_first),
        cmocka_unit_test(test_further_dimensions_become_features_in_c_order),
        cmocka_unit_test(test_many_rows_in_fortran_order_are_those_of_c_order),
        cmocka_unit_test(test_headers_may_be_written_in_any_way_that_python_accepts),
        cmocka_unit_test(test_bad_headers_are_explained),
        cmocka_unit_test(test_bad_idx_headers_are_explained),
        cmocka_unit_test(test_a_file_cut_at_any_byte_is_refused),
        cmocka_unit_test(test_what_is_missing_or_too_much_is_counted),
        cmocka_unit_test(test_promised_sizes_take_no_memory),
        cmocka_unit_test(test_the_memory_of_a_whole_read_is_known_from_the_header),
        cmocka_unit_test(test_missing_and_infinite_values_are_named_by_row_and_column),
        cmocka_unit_test(test_the_largest_floats_and_the_smallest_survive),
        cmocka_unit_test(test_streams_give_the_rows_of_a_whole_read),
        cmocka_unit_test(test_good_rows_in_front_of_a_bad_one_are_handed_out),
        cmocka_unit_test(test_a_row_longer_than_the_window_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
