/* test_write.c: sets read back as they were written, in every format; the texts themselves,
 * numbers and names. */
#include "sample.h"
#include "write_world.h"

#include <float.h>

/* ---- random sets ---- */

typedef enum label_kind {
    NO_LABELS,
    TEXTS,
    WORDS,    /* without blanks, ':' and '#' */
    BYTES,    /* 0..255 */
    INTS,     /* 32 bits */
    LONGS,    /* 64 bits */
    DECIMALS, /* as lm_format_double writes them */
    TARGETS,
    LABEL_KINDS
} label_kind;

typedef struct recipe {
    size_t n, columns;
    label_kind labels;
    bool named, categories, small;
} recipe;

static float random_value(lm_rng *rng, bool small) {
    uint32_t bits;
    float value;
    if (small)
        return (float)lm_rng_below(rng, 256);
    switch (lm_rng_below(rng, 8)) {
    case 0:
        return 0.0f;
    case 1:
        return -0.0f;
    case 2:
        return (float)lm_rng_below(rng, 100) - 50.0f;
    case 3:
        return (float)(lm_rng_normal(rng) * 100);
    case 4:
        return (float)lm_rng_below(rng, 10000) / 1000;
    case 5:
        return lm_rng_below(rng, 2) ? FLT_MAX : -FLT_MAX;
    case 6:
        bits = (uint32_t)lm_rng_below(rng, 0x800000); /* below the normal range */
        memcpy(&value, &bits, sizeof value);
        return value;
    default:
        bits = (uint32_t)lm_rng_next(rng);
        memcpy(&value, &bits, sizeof value);
        return isfinite(value) ? value : FLT_MIN;
    }
}

static void random_text(lm_rng *rng, bool word, char *text) {
    static const char *const parts[] = {"a",
                                        "B",
                                        "z9",
                                        "\303\251",
                                        "\346\227\245",
                                        "\360\237\230\200",
                                        "-",
                                        "_",
                                        "=",
                                        "|",
                                        "'",
                                        "\"",
                                        ",",
                                        ";",
                                        "%",
                                        "\\",
                                        "{",
                                        "}",
                                        "?",
                                        "1:2",
                                        "\t",
                                        " ",
                                        "\n",
                                        "\r",
                                        "#",
                                        ":",
                                        "1 ",
                                        " 2",
                                        "\"\""};
    enum { WORD_PARTS = 19 };
    size_t count = 1 + lm_rng_below(rng, 5);
    *text = '\0';
    for (size_t i = 0; i < count; i++)
        strcat(text, parts[lm_rng_below(rng, word ? WORD_PARTS : LM_COUNT(parts))]);
    if (strcmp(text, "?") == 0)
        strcat(text, "!");
}

static void random_label(lm_rng *rng, label_kind kind, char *text) {
    uint64_t bits = lm_rng_next(rng);
    double value;
    switch (kind) {
    case BYTES:
        sprintf(text, "%d", (int)(bits % 256));
        return;
    case INTS:
        sprintf(text, "%d", (int)(int32_t)(uint32_t)bits);
        return;
    case LONGS:
        sprintf(text, "%lld", (long long)(int64_t)bits);
        return;
    case DECIMALS:
        memcpy(&value, &bits, sizeof value);
        text[lm_format_double(isfinite(value) ? value : 0.25, text)] = '\0';
        return;
    default:
        random_text(rng, kind == WORDS, text);
    }
}

static void fill_names(world *w, limn_data *data, lm_rng *rng) {
    char name[80];
    for (size_t c = 0; c < data->schema.columns; c++) {
        strcpy(name, "x");
        random_text(rng, false, name + 1);
        data->schema.column[c].name = lm_strdup(&data->mem, name);
        assert_non_null(data->schema.column[c].name);
    }
    data->schema.label_name = lm_strdup(&data->mem, "the, \"label\"");
    (void)w;
}

static void fill_categories(world *w, limn_data *data, lm_rng *rng) {
    char text[80];
    int32_t id;
    for (size_t c = 0; c < data->schema.columns; c++) {
        lm_labels *categories = &data->schema.column[c].categories;
        size_t wanted = lm_rng_below(rng, 2) ? 1 + lm_rng_below(rng, 6) : 0;
        while (categories->count < wanted) {
            random_text(rng, false, text);
            assert_int_equal(lm_labels_add(w->ctx, categories, text, strlen(text), &id), LIMN_OK);
        }
    }
}

static void fill_rows(limn_data *data, lm_rng *rng, bool small) {
    const lm_schema *s = &data->schema;
    for (size_t i = 0; i < data->n; i++)
        for (size_t c = 0; c < s->columns; c++) {
            size_t count = s->column[c].categories.count;
            float *x = data->x + i * s->features + s->column[c].first;
            if (count)
                x[lm_rng_below(rng, count)] = 1;
            else
                *x = random_value(rng, small);
        }
}

static void fill_labels(world *w, limn_data *data, label_kind kind, lm_rng *rng) {
    size_t classes = lm_rng_below(rng, 10) ? 1 + lm_rng_below(rng, 9) : 1000;
    if (kind == TARGETS)
        data->target = lm_alloc_zero(&data->mem, data->n, sizeof *data->target);
    else if (kind != NO_LABELS)
        data->label = lm_alloc_zero(&data->mem, data->n, sizeof *data->label);
    for (size_t i = 0; i < data->n && data->target; i++) {
        uint64_t bits = lm_rng_next(rng);
        memcpy(&data->target[i], &bits, sizeof bits);
        if (i % 2 || !isfinite(data->target[i]))
            data->target[i] = lm_rng_normal(rng);
    }
    for (size_t i = 0; i < data->n && data->label; i++) {
        char text[80];
        size_t known = data->schema.labels.count;
        if (known && lm_rng_below(rng, classes) < known) {
            data->label[i] = (int32_t)lm_rng_below(rng, known);
            continue;
        }
        random_label(rng, kind, text);
        assert_int_equal(
            lm_labels_add(w->ctx, &data->schema.labels, text, strlen(text), &data->label[i]),
            LIMN_OK);
    }
}

static limn_data *make_set(world *w, const recipe *r, lm_rng *rng) {
    limn_data *data = NULL;
    limn_task task = r->labels == TARGETS ? LIMN_REGRESS : LIMN_CLASSIFY;
    assert_int_equal(lm_data_new(w->ctx, task, &data), LIMN_OK);
    data->n = r->n;
    data->schema.columns = r->columns;
    assert_int_equal(lm_schema_add_columns(w->ctx, &data->schema), LIMN_OK);
    if (r->named)
        fill_names(w, data, rng);
    if (r->categories)
        fill_categories(w, data, rng);
    assert_int_equal(lm_schema_settle(w->ctx, &data->schema), LIMN_OK);
    data->x = lm_alloc_zero(&data->mem, data->n * data->schema.features, sizeof *data->x);
    assert_non_null(data->x);
    fill_rows(data, rng, r->small);
    fill_labels(w, data, r->labels, rng);
    return data;
}

/* ---- reading back ---- */

typedef struct form {
    limn_format format;
    const char *name;
    char delimiter; /* 0: implied by the name */
    bool typed;     /* the format must be given */
} form;

static const form forms[] = {
    {LIMN_FORMAT_CSV, "t.csv", 0, false},        {LIMN_FORMAT_CSV, "t.tsv.gz", 0, false},
    {LIMN_FORMAT_CSV, "t.csv", ';', false},      {LIMN_FORMAT_CSV, "t.txt", ' ', true},
    {LIMN_FORMAT_LIBSVM, "t.svm", 0, true},      {LIMN_FORMAT_LIBSVM, "t.libsvm.gz", 0, true},
    {LIMN_FORMAT_NPY, "t.npy", 0, false},        {LIMN_FORMAT_NPY, "t.npy.gz", 0, false},
    {LIMN_FORMAT_IDX, "t-images.idx", 0, false}, {LIMN_FORMAT_ARFF, "t.arff", 0, false},
    {LIMN_FORMAT_ARFF, "t.arff.gz", 0, false},
};

static bool keeps_columns(limn_format format) {
    return format == LIMN_FORMAT_CSV || format == LIMN_FORMAT_ARFF;
}

static bool can_hold(const form *f, const recipe *r) {
    if (f->format == LIMN_FORMAT_LIBSVM)
        return r->labels != TEXTS;
    if (f->format == LIMN_FORMAT_IDX)
        return r->labels == NO_LABELS || r->labels == TARGETS || r->labels == BYTES ||
               r->labels == INTS;
    return true;
}

static limn_data *read_set(world *w, const form *f, const limn_data *like) {
    char path[PATH], numbers[200] = "";
    limn_data *data = NULL;
    limn_read_options options = with_task(like->schema.task);
    bool labelled = like->label || like->target;
    options.format = f->typed ? f->format : LIMN_FORMAT_AUTO;
    options.no_label = !labelled;
    if (f->format == LIMN_FORMAT_CSV) {
        options.header = lm_schema_named(&like->schema) ? LIMN_HEADER_YES : LIMN_HEADER_NO;
        options.delimiter = f->delimiter == ' ' ? ' ' : 0;
        for (size_t c = 0; c < like->schema.columns; c++) /* some categories are numbers */
            if (like->schema.column[c].categories.count)
                sprintf(numbers + strlen(numbers), "%s%zu", *numbers ? "," : "", c + 1);
        options.categorical = *numbers ? numbers : NULL;
    }
    if (labelled && keeps_columns(f->format))
        options.label = "last";
    if (lm_data_read(w->ctx, in_folder(f->name, path), &options, NULL, &data) != LIMN_OK)
        fail_msg("%s", limn_error(w->ctx));
    return data;
}

static const char *category(const limn_data *data, size_t row, size_t column) {
    const lm_column *c = &data->schema.column[column];
    const float *x = data->x + row * data->schema.features + c->first;
    for (size_t k = 0; k < c->categories.count; k++)
        if (x[k] == 1)
            return c->categories.names[k];
    return "(none)";
}

static void assert_same_bits(const float *a, const float *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0)
            fail_msg("value %zu: %a became %a", i, (double)a[i], (double)b[i]);
}

static void assert_same_columns(const limn_data *a, const limn_data *b, bool names) {
    assert_int_equal(a->schema.columns, b->schema.columns);
    for (size_t c = 0; c < a->schema.columns; c++) {
        const lm_column *x = &a->schema.column[c];
        if (names && x->name)
            assert_string_equal(x->name, b->schema.column[c].name);
        for (size_t i = 0; i < a->n; i++) {
            if (x->categories.count)
                assert_string_equal(category(a, i, c), category(b, i, c));
            else
                assert_same_bits(a->x + i * a->schema.features + x->first,
                                 b->x + i * b->schema.features +
                                     (b->schema.column ? b->schema.column[c].first : c),
                                 1);
        }
    }
}

static void assert_same_set(const limn_data *a, const limn_data *b, limn_format format) {
    assert_int_equal(a->n, b->n);
    if (keeps_columns(format)) {
        assert_same_columns(a, b, true);
    } else {
        assert_int_equal(a->schema.features, b->schema.features);
        assert_same_bits(a->x, b->x, a->n * a->schema.features);
    }
    assert_int_equal(a->label != NULL, b->label != NULL);
    assert_int_equal(a->target != NULL, b->target != NULL);
    for (size_t i = 0; i < a->n && a->label; i++)
        assert_string_equal(a->schema.labels.names[a->label[i]],
                            b->schema.labels.names[b->label[i]]);
    if (a->target)
        assert_memory_equal(a->target, b->target, a->n * sizeof *a->target);
}

static void check_form(world *w, const form *f, const recipe *r, const limn_data *data) {
    limn_write_options options = as(f->format);
    options.delimiter = f->delimiter;
    limn_status status = write_set(w, data, f->name, &options);
    if (!can_hold(f, r) && status != LIMN_OK) {
        assert_int_equal(status, LIMN_E_DATA);
        assert_int_equal(files_in_folder(), 0);
        return;
    }
    if (status != LIMN_OK)
        fail_msg("%s: %s", f->name, limn_error(w->ctx));
    limn_data *back = read_set(w, f, data);
    assert_same_set(data, back, f->format);
    limn_data_free(back);
    forget(f->name);
    forget("t-labels.npy");
    forget("t-labels.npy.gz");
    forget("t-labels.idx");
    assert_int_equal(files_in_folder(), 0);
}

static void test_random_sets_read_back_as_they_were_written(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed += every(7)) {
        world w;
        world_open(&w);
        lm_rng rng = lm_rng_at(seed, 99, 0);
        recipe r = {.n = lm_rng_below(&rng, 4) ? 1 + lm_rng_below(&rng, 40) : 1,
                    .columns = lm_rng_below(&rng, 4) ? 1 + lm_rng_below(&rng, 8) : 1,
                    .labels = (label_kind)(seed % LABEL_KINDS),
                    .named = lm_rng_below(&rng, 2),
                    .categories = lm_rng_below(&rng, 2),
                    .small = lm_rng_below(&rng, 3) == 0};
        if (seed % 50 == 7)
            r.n = 3000; /* with hundreds of classes */
        limn_data *data = make_set(&w, &r, &rng);
        for (size_t f = 0; f < LM_COUNT(forms); f++)
            check_form(&w, &forms[f], &r, data);
        limn_data_free(data);
        world_close(&w);
    }
}

static void test_rows_larger_than_every_buffer(void **state) {
    (void)state;
    static const size_t columns[] = {40000, 70000}; /* more than half a buffer, more than one */
    for (size_t i = 0; i < LM_COUNT(columns); i += every(2)) {
        world w;
        world_open(&w);
        lm_rng rng = lm_rng_at(5, 99, 0);
        recipe r = {.n = 3, .columns = columns[i], .labels = INTS};
        limn_data *data = make_set(&w, &r, &rng);
        for (size_t f = 0; f < LM_COUNT(forms); f++)
            check_form(&w, &forms[f], &r, data);
        limn_data_free(data);
        world_close(&w);
    }
}

/* ---- the texts themselves ---- */

static limn_data *sample(world *w) {
    return must_read(w,
                     "width,color,species\n1.5,red,Iris setosa\n0,\"light, blue\",it's\n"
                     "-0.25,red,it's\n",
                     NULL, NULL);
}

static void test_csv_text(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = sample(&w);
    assert_int_equal(write_set(&w, data, "s.csv", NULL), LIMN_OK);
    assert_text("s.csv", "width,color,species\n1.5,red,Iris setosa\n0,\"light, blue\",it's\n"
                         "-0.25,red,it's\n");
    assert_int_equal(write_set(&w, data, "s.TSV", NULL), LIMN_OK);
    assert_text("s.TSV", "width\tcolor\tspecies\n1.5\tred\tIris setosa\n0\t\"light, blue\"\tit's\n"
                         "-0.25\tred\tit's\n");
    limn_write_options options = as(LIMN_FORMAT_CSV);
    options.delimiter = '|';
    assert_int_equal(write_set(&w, data, "s", &options), LIMN_OK);
    assert_text("s", "width|color|species\n1.5|red|Iris setosa\n0|\"light, blue\"|it's\n"
                     "-0.25|red|it's\n");
    /* a row with none of the categories */
    memset(data->x + 3, 0, 3 * sizeof *data->x);
    assert_int_equal(write_set(&w, data, "s.csv", NULL), LIMN_OK);
    assert_text("s.csv", "width,color,species\n1.5,red,Iris setosa\n0,,it's\n-0.25,red,it's\n");
    limn_data_free(data);
    forget("s.csv");
    forget("s.TSV");
    forget("s");
    world_close(&w);
}

/* Cells that look like index:value would make the table LIBSVM text. */
static void test_csv_is_not_taken_for_libsvm(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.no_label = 1;
    options.header = LIMN_HEADER_NO;
    limn_data *data = must_read(&w, "\"1:2\"\n\"3:4 5\"\n", &options, NULL);
    assert_int_equal(write_set(&w, data, "c.csv", NULL), LIMN_OK);
    assert_text("c.csv", "\"1:2\"\n\"3:4 5\"\n");
    limn_data_free(data);
    data = must_read(&w, "1,2:3\n4,5:6\n", NULL, NULL);
    assert_int_equal(write_set(&w, data, "c.tsv", NULL), LIMN_OK);
    assert_text("c.tsv", "1\t\"2:3\"\n4\t\"5:6\"\n");
    assert_int_equal(write_set(&w, data, "c.csv", NULL), LIMN_OK);
    assert_text("c.csv", "1,2:3\n4,5:6\n");
    limn_data_free(data);
    forget("c.csv");
    forget("c.tsv");
    world_close(&w);
}

static void test_the_label_has_a_name_of_its_own(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"a,b,c\n1,2,3\n", "a,b,label\n1,2,x\n"},
        {"a,label,c\n1,2,3\n", "a,label,label_2\n1,2,x\n"},
        {"label,label_2,c\n1,2,3\n", "label,label_2,label_3\n1,2,x\n"},
    };
    world w;
    world_open(&w);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.label = "3";
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        limn_data *data = must_read(&w, cases[i].text, &options, NULL);
        lm_free(&data->mem, data->schema.label_name);
        data->schema.label_name = NULL;
        strcpy(data->schema.labels.names[0], "x");
        assert_int_equal(write_set(&w, data, "l.csv", NULL), LIMN_OK);
        assert_text("l.csv", cases[i].expected);
        limn_data_free(data);
    }
    forget("l.csv");
    world_close(&w);
}

static void test_libsvm_text(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "0,0.5,0,0,b\n0,0,0,0,a\n7,0,0,1e-30,a\n", NULL, NULL);
    assert_int_equal(write_set(&w, data, "s.svm", NULL), LIMN_OK);
    assert_text("s.svm", "b 2:0.5 4:0\na\na 1:7 4:1e-30\n");
    limn_data_free(data);
    limn_read_options options = with_task(LIMN_CLASSIFY);
    options.no_label = 1;
    data = must_read(&w, "0,0\n0,0\n0,3\n", &options, NULL);
    assert_int_equal(write_set(&w, data, "s.svm", NULL), LIMN_OK);
    assert_text("s.svm", "2:0\n1:0\n2:3\n");
    limn_data_free(data);
    options = with_task(LIMN_REGRESS);
    data = must_read(&w, "1,0.1\n2,-3\n", &options, NULL);
    assert_int_equal(write_set(&w, data, "s.svm", NULL), LIMN_OK);
    assert_text("s.svm", "0.1 1:1\n-3 1:2\n");
    limn_data_free(data);
    forget("s.svm");
    world_close(&w);
}

static void test_arff_text(void **state) {
    (void)state;
    world w;
    world_open(&w);
    limn_data *data = sample(&w);
    assert_int_equal(write_set(&w, data, "my data.arff", NULL), LIMN_OK);
    assert_text("my data.arff",
                "@relation 'my data'\n\n@attribute width numeric\n"
                "@attribute color {'light, blue',red}\n"
                "@attribute species {'Iris setosa','it\\'s'}\n\n@data\n"
                "1.5,red,'Iris setosa'\n0,'light, blue','it\\'s'\n-0.25,red,'it\\'s'\n");
    limn_data_free(data);
    limn_read_options options = with_task(LIMN_REGRESS);
    data = must_read(&w, "1,0.1\n2,-3\n", &options, NULL);
    assert_int_equal(write_set(&w, data, "r.arff", NULL), LIMN_OK);
    assert_text("r.arff", "@relation r\n\n@attribute x1 numeric\n@attribute label numeric\n\n"
                          "@data\n1,0.1\n2,-3\n");
    limn_data_free(data);
    forget("my data.arff");
    forget("r.arff");
    world_close(&w);
}

static void test_binary_headers(void **state) {
    (void)state;
    char bytes[TEXT];
    world w;
    world_open(&w);
    limn_data *data = must_read(&w, "1,2,-5\n3,255,7\n", NULL, NULL);
    assert_int_equal(write_set(&w, data, "h.npy", NULL), LIMN_OK);
    size_t size = load("h.npy", bytes);
    assert_int_equal(size, 128 + 16);
    assert_memory_equal(bytes,
                        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, "
                        "'shape': (2, 2), } ",
                        69);
    assert_int_equal(bytes[127], '\n');
    assert_int_equal(load("h-labels.npy", bytes), 128 + 16);
    assert_non_null(strstr(bytes + 10, "'<i8'"));
    assert_non_null(strstr(bytes + 10, "(2,)"));
    assert_int_equal(write_set(&w, data, "h-images-idx3-ubyte", NULL), LIMN_OK);
    assert_int_equal(load("h-images-idx3-ubyte", bytes), 16);
    assert_memory_equal(bytes, "\0\0\x08\x02\0\0\0\x02\0\0\0\x02\x01\x02\x03\xff", 16);
    assert_int_equal(load("h-labels-idx1-ubyte", bytes), 16);
    assert_memory_equal(bytes, "\0\0\x0c\x01\0\0\0\x02\xff\xff\xff\xfb\0\0\0\x07", 16);
    limn_data_free(data);
    forget("h.npy");
    forget("h-labels.npy");
    forget("h-images-idx3-ubyte");
    forget("h-labels-idx1-ubyte");
    world_close(&w);
}

/* ---- numbers ---- */

static const char *float_text(float value) {
    static char text[LM_NUMBER_BYTES];
    text[lm_format_float(value, text)] = '\0';
    return text;
}

static void test_numbers_as_people_write_them(void **state) {
    (void)state;
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0"},
        {-0.0f, "-0"},
        {7, "7"},
        {-10, "-10"},
        {99, "99"},
        {100, "100"},
        {16777215, "16777215"},
        {16777216, "16777216"},
        {-123456792, "-123456790"},
        {1e9f, "1e9"},
        {1e10f, "1e10"},
        {0.1f, "0.1"},
        {-2.5f, "-2.5"},
        {1234.5f, "1234.5"},
        {3.14159274f, "3.1415927"},
        {0.0001f, "0.0001"},
        {0.00012345f, "0.00012345"},
        {0.00001f, "1e-5"},
        {FLT_MAX, "3.4028235e38"},
        {-FLT_MAX, "-3.4028235e38"},
        {FLT_MIN, "1.1754944e-38"},
        {0x1p-149f, "1e-45"},
        {0x1p-148f, "3e-45"},
    };
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        assert_string_equal(float_text(cases[i].value), cases[i].text);
    char text[16];
    text[lm_format_whole(UINT32_MAX, text)] = '\0';
    assert_string_equal(text, "4294967295");
}

static size_t digits_of(const char *text) {
    size_t count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (!count && *text == '0'))
            continue;
        count++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return count - zeros;
}

static void check_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value) || value == 0)
        return;
    const char *text = float_text(value);
    float back = strtof(text, NULL);
    if (memcmp(&back, &value, sizeof back) != 0)
        fail_msg("%a became %s", (double)value, text);
    char slow[40];
    size_t digits = 0;
    do
        snprintf(slow, sizeof slow, "%.*e", (int)digits++, (double)value);
    while (strtof(slow, NULL) != value);
    if (digits_of(text) > digits)
        fail_msg("%s for %s is too long", text, slow);
}

static void test_floats_are_written_with_the_fewest_digits_that_read_back(void **state) {
    (void)state;
    lm_rng rng = lm_rng_at(1, 99, 1);
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (int near = -3; near <= 3; near++)
            check_float((exponent << 23) + (uint32_t)near); /* around each power of two */
    for (size_t i = 0; i < 200000; i++)
        check_float((uint32_t)lm_rng_next(&rng));
    for (uint32_t i = 1; i < 3000; i++) {
        float value = (float)i / 1000;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        check_float(bits);
    }
}

/* ---- names ---- */

static void test_formats_have_names_and_extensions(void **state) {
    (void)state;
    static const struct {
        const char *name;
        limn_format format;
    } cases[] = {
        {"a.csv", LIMN_FORMAT_CSV},
        {"a.tsv.gz", LIMN_FORMAT_CSV},
        {"dir.npy/a.CSV.GZ", LIMN_FORMAT_CSV},
        {"a.libsvm", LIMN_FORMAT_LIBSVM},
        {"a.svm", LIMN_FORMAT_LIBSVM},
        {"a.npy", LIMN_FORMAT_NPY},
        {"a.idx", LIMN_FORMAT_IDX},
        {"train-images-idx3-ubyte.gz", LIMN_FORMAT_IDX},
        {"t10k-labels.idx1-ubyte", LIMN_FORMAT_IDX},
        {"a.arff", LIMN_FORMAT_ARFF},
        {"a.gz", LIMN_FORMAT_AUTO},
        {"a", LIMN_FORMAT_AUTO},
        {".csv", LIMN_FORMAT_AUTO},
        {"a.csv.old", LIMN_FORMAT_AUTO},
        {"a.csv/b", LIMN_FORMAT_AUTO},
        {"-", LIMN_FORMAT_AUTO},
    };
    for (size_t i = 0; i < LM_COUNT(cases); i++)
        if (lm_format_of_name(cases[i].name) != cases[i].format)
            fail_msg("%s", cases[i].name);
    assert_string_equal(limn_format_name(LIMN_FORMAT_AUTO), "auto");
    assert_string_equal(limn_format_name(LIMN_FORMAT_ARFF), "arff");
    assert_null(limn_format_name((limn_format)6));
    assert_null(limn_format_name((limn_format)-1));
}

static void test_companions(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"},
        {"images/t10k-images.idx3-ubyte", "images/t10k-labels.idx1-ubyte"},
        {"x.npy", "x-labels.npy"},
        {"a.b/x.y.npy.gz", "a.b/x.y-labels.npy.gz"},
        {"images/x", "images/x-labels"},
        {"a.b/x", "a.b/x-labels"},
        {"x.gz", "x-labels.gz"},
        {"images.npy", "labels.npy"},
    };
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(cases); i++) {
        char *name = lm_companion_name(&w.ctx->mem, cases[i][0]);
        assert_string_equal(name, cases[i][1]);
        lm_free(&w.ctx->mem, name);
    }
    w.count.fail_at = 1;
    assert_null(lm_companion_name(&w.ctx->mem, "x"));
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_sets_read_back_as_they_were_written),
    cmocka_unit_test(test_rows_larger_than_every_buffer),
    cmocka_unit_test(test_csv_text),
    cmocka_unit_test(test_csv_is_not_taken_for_libsvm),
    cmocka_unit_test(test_the_label_has_a_name_of_its_own),
    cmocka_unit_test(test_libsvm_text),
    cmocka_unit_test(test_arff_text),
    cmocka_unit_test(test_binary_headers),
    cmocka_unit_test(test_numbers_as_people_write_them),
    cmocka_unit_test(test_floats_are_written_with_the_fewest_digits_that_read_back),
    cmocka_unit_test(test_formats_have_names_and_extensions),
    cmocka_unit_test(test_companions),
};

int main(void) {
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
