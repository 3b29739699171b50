/* Files of perceptron trees, and of the perceptrons that are never split, that were tampered with,
 * with valid checksums: wrong numbers are refused, and whatever loads answers with its classes and
 * finite numbers and can go on learning. */
#include "ptree_hostile.h"

extern const lm_method lm_method_perceptron;

/* ---- any change ---- */

static void test_a_file_with_any_byte_changed_answers_and_learns_or_is_refused(void **state) {
    static const unsigned char changes[] = {0xff, 0x01, 0x80};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        begin(&w, &forms[f]);
        restore(&w);
        assert_int_equal(load_part(&w, w.size, ROWS), LIMN_OK);
        for (size_t i = 0; i < w.size; i += every(5))
            for (size_t c = 0; c < LM_COUNT(changes); c++) {
                restore(&w);
                w.damaged[i] ^= changes[c];
                (void)load_part(&w, w.size, 4 + i % 5);
            }
        end(&w);
    }
}

static void test_no_part_of_a_file_is_a_model(void **state) {
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        begin(&w, &forms[f]);
        restore(&w);
        for (size_t size = 0; size < w.size; size += every(5))
            assert_int_not_equal(load_part(&w, size, 0), LIMN_OK);
        end(&w);
    }
}

/* Sections of each form, besides those that all have. */
static const char *const common[] = {".about", ".leaves", ".vectors",
                                     ".coefs", ".biases", ".class_rows"};
static const char *const more[][6] = {
    {".nodes", ".tests", ".drifts", ".remembered", ".labels", NULL},
    {".nodes", ".test_rows", ".test_sides", ".drifts", ".remembered", ".labels"},
    {".nodes", ".test_rows", ".drifts", ".remembered", ".labels", NULL},
    {".nodes", ".test_rows", ".remembered", ".labels", NULL},
    {NULL},
    {".drifts", NULL}};

static void check_section(world *w, const char *part) {
    uint64_t place[2], shorter;
    entry_of(w, part, place)[0] = 'x';
    refuse(w, part);
    for (uint64_t less = 1; less <= 8 && less <= place[1]; less += 7) {
        unsigned char *entry = entry_of(w, part, place);
        shorter = place[1] - less;
        memcpy(entry + 40, &shorter, sizeof shorter);
        refuse(w, part);
    }
}

static void test_a_missing_or_short_section_is_refused(void **state) {
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        begin(&w, &forms[f]);
        for (size_t i = 0; i < LM_COUNT(common); i++)
            check_section(&w, common[i]);
        for (size_t i = 0; i < 6 && more[f][i]; i++)
            check_section(&w, more[f][i]);
        end(&w);
    }
}

/* ---- numbers ---- */

/* Every number of a section in turn is replaced by each of these: doubles, or floats. */
static void spoil(world *w, const char *part, size_t size, const double *bad, size_t count) {
    size_t room, some = every(3);
    (void)section_of(w, part, &room);
    for (size_t at = 0; at + size <= room; at += some * size)
        for (size_t i = 0; i < count; i++) {
            float narrow = (float)bad[i];
            refuse_at(w, part, at, size == 4 ? (const void *)&narrow : (const void *)&bad[i], size);
        }
}

static void test_numbers_that_are_not_finite_are_refused(void **state) {
    static const double wild[] = {NAN, INFINITY, -INFINITY};
    static const char *const floats[] = {".tests", ".test_rows", ".vectors", ".remembered"};
    static const char *const doubles[] = {".coefs", ".drifts", ".biases"};
    static const size_t has[][2] = {{W, 0}, {Z, 1}, {B, 1}, {W, 2}, {J, 2}, {W, 3}, {P, 3}};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(has); i++) {
        world w;
        begin(&w, &forms[has[i][0]]);
        spoil(&w, floats[has[i][1]], sizeof(float), wild, LM_COUNT(wild));
        end(&w);
    }
    for (size_t i = 0; i < LM_COUNT(doubles); i++) {
        world w;
        begin(&w, &forms[i % 2 ? J : W]);
        spoil(&w, doubles[i], sizeof(double), wild, LM_COUNT(wild));
        end(&w);
    }
}

static void test_coefficients_drifts_and_biases_that_are_too_large_are_refused(void **state) {
    static const double large[] = {1.001e100, -1e101}, larger[] = {1.001e160, -1e161};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        begin(&w, &forms[f]);
        spoil(&w, ".coefs", sizeof(double), large, LM_COUNT(large));
        spoil(&w, ".biases", sizeof(double), large, LM_COUNT(large));
        if (f != P && f != F)
            spoil(&w, ".drifts", sizeof(double), larger, LM_COUNT(larger));
        end(&w);
    }
}

static void test_the_largest_coefficients_drifts_and_biases_give_finite_answers(void **state) {
    static const double sign[] = {1, -1};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        size_t room;
        begin(&w, &forms[f]);
        for (int s = 0; s < 2; s++) {
            const double most = sign[s] * 1e100, drift = sign[s] * 1e160;
            (void)section_of(&w, ".biases", &room);
            for (size_t at = 0; at < room; at += 8)
                take_at(&w, ".biases", at, &most, sizeof most);
            take_at(&w, ".coefs", 0, &most, sizeof most);
            if (f != P && f != F)
                take_at(&w, ".drifts", 0, &drift, sizeof drift);
        }
        end(&w);
    }
}

static void test_rows_below_0_are_refused_where_the_kernel_is_for_positive_ones(void **state) {
    static const char *const parts[] = {".vectors", ".remembered", ".test_rows"};
    const float below = -1e-3f;
    (void)state;
    for (size_t i = 0; i < LM_COUNT(parts); i++) {
        world w;
        begin(&w, &forms[P]);
        refuse_at(&w, parts[i], 0, &below, sizeof below);
        end(&w);
        begin(&w, &forms[B]);
        take_at(&w, parts[i], 0, &below, sizeof below);
        end(&w);
    }
}

/* How many floats of a section may be 3; the others are padding. */
static size_t count_free(world *w, const char *part) {
    const float other = 3;
    size_t room, taken = 0;
    (void)section_of(w, part, &room);
    for (size_t at = 0; at + sizeof other <= room; at += sizeof other) {
        memcpy(section_of(w, part, &room) + at, &other, sizeof other);
        taken += load(w) == LIMN_OK;
    }
    return taken;
}

static void test_padding_that_is_not_0_is_refused(void **state) {
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        size_t vectors, nodes = 0;
        begin(&w, &forms[f]);
        (void)section_of(&w, ".coefs", &vectors);
        vectors /= sizeof(double) * (forms[f].classes > 2 ? forms[f].classes : 1);
        assert_int_equal(count_free(&w, ".vectors"), vectors * D);
        if (f < F)
            (void)section_of(&w, ".nodes", &nodes);
        if (f == W)
            assert_int_equal(count_free(&w, ".tests"), nodes / 24 * D);
        if (f == B || f == P)
            assert_int_equal(count_free(&w, ".test_rows"), nodes / 24 * D);
        if (f == Z) {
            (void)section_of(&w, ".test_sides", &nodes);
            assert_int_equal(count_free(&w, ".test_rows"), nodes * D);
        }
        end(&w);
    }
}

/* ---- the tree ---- */

enum { NODE = 24, NODE_THRESHOLD = 8, NODE_ROWS = 16 };

static size_t nodes_of(world *w) {
    size_t room;
    (void)section_of(w, ".nodes", &room);
    return room / NODE;
}

/* Sets all children: pairs of left and right, as many as there are nodes. */
static limn_status load_links(world *w, const int32_t (*child)[2], size_t nodes) {
    size_t room;
    unsigned char *section = section_of(w, ".nodes", &room);
    assert_int_equal(room, nodes * NODE);
    for (size_t i = 0; i < nodes; i++)
        memcpy(section + i * NODE, child[i], sizeof child[i]);
    return load(w);
}

static void test_links_that_are_no_tree_are_refused(void **state) {
    /* Of a tree with three nodes and four leaves, all at level 2. */
    static const int32_t fine[][2] = {{1, 2}, {-1, -2}, {-3, -4}};
    static const struct {
        const char *what;
        int32_t child[3][2];
    } bad[] = {{"a node that is a child twice", {{1, 1}, {-1, -2}, {-3, -4}}},
               {"a node that is a child twice while a leaf is none", {{1, 1}, {2, -1}, {-2, -3}}},
               {"a leaf that is a child twice", {{1, 2}, {-1, -1}, {-3, -4}}},
               {"a leaf below two nodes", {{1, 2}, {-1, -2}, {-2, -4}}},
               {"a cycle with the first node", {{1, 2}, {-1, -2}, {-3, 0}}},
               {"a node below itself", {{1, 2}, {1, -2}, {-3, -4}}},
               {"two nodes below each other", {{-1, -2}, {2, -3}, {1, -4}}},
               {"a node above its parent", {{2, -1}, {-2, -3}, {1, -4}}},
               {"a node that is missing", {{1, 3}, {-1, -2}, {-3, -4}}},
               {"a node far away", {{1, INT32_MAX}, {-1, -2}, {-3, -4}}},
               {"a leaf that is missing", {{1, 2}, {-1, -2}, {-3, -5}}},
               {"a leaf far away", {{1, 2}, {-1, -2}, {-3, INT32_MIN}}}};
    static const form small = {"ptree", "gamma=0.5 budget=4 patience=1 reservoir=9 depth=2", 2,
                               CURVED};
    (void)state;
    world w;
    begin(&w, &small);
    assert_int_equal(load_links(&w, fine, LM_COUNT(fine)), LIMN_OK);
    for (size_t i = 0; i < LM_COUNT(bad); i++)
        if (load_links(&w, bad[i].child, 3) != LIMN_E_MODEL)
            fail_msg("%s was taken", bad[i].what);
    end(&w);
}

/* A tree of so many nodes one below the other, without rows, that a method may have saved. */
static pt_model *make_chain(limn_context *ctx, size_t nodes) {
    pt_model *m = new_model(ctx, "gamma=0.5 depth=64", D, 2);
    for (size_t i = 0; i < nodes; i++) {
        assert_int_equal(pt_reserve_leaf(ctx, m), LIMN_OK);
        assert_int_equal(pt_leaf_make(ctx, m, 0, 1, 0, &m->leaf[m->leaves]), LIMN_OK);
        pt_node *node = &m->node[m->nodes++];
        *node = (pt_node){.child = {-1 - (int32_t)i, (int32_t)i + 1}, .owned = true};
        node->w = lm_alloc_aligned(&ctx->mem, m->stride, sizeof *node->w);
        memset(node->w, 0, m->stride * sizeof *node->w);
        m->leaves++;
    }
    if (nodes)
        m->node[nodes - 1].child[1] = -1 - (int32_t)nodes;
    return m;
}

/* one: an assignment, or NULL. */
static limn_status try_load(limn_context *ctx, const pt_model *m, const limn_method_info *info,
                            const char *one) {
    static lm_params params;
    size_t size;
    unsigned char *bytes = bytes_of(ctx, m, &size);
    lm_file *file = NULL;
    void *loaded = NULL;
    lm_shape about = {.task = LIMN_CLASSIFY, .d = m->d, .classes = m->classes, .rows = m->seen};
    lm_params_init(info->name, info->params, info->param_count, &params);
    assert_true(!one || lm_params_set(ctx, &params, one) == LIMN_OK);
    assert_int_equal(lm_file_from_memory(ctx, bytes, size, "test.limn", &file), LIMN_OK);
    limn_status status = pt_load(ctx, file, &about, &params, &loaded);
    pt_destroy(&ctx->mem, status == LIMN_OK ? loaded : NULL);
    lm_free(&ctx->mem, bytes);
    lm_file_close(file);
    return status;
}

static void test_trees_deeper_than_the_limit_are_refused(void **state) {
    static const size_t nodes[] = {0, 1, PT_DEPTH_MOST, PT_DEPTH_MOST + 1, 200};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(nodes); i++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        pt_model *m = make_chain(ctx, nodes[i]);
        assert_int_equal(try_load(ctx, m, &lm_method_ptree.info, NULL),
                         nodes[i] > PT_DEPTH_MOST ? LIMN_E_MODEL : LIMN_OK);
        pt_destroy(&ctx->mem, m);
        limn_context_free(ctx);
    }
}

static void test_a_perceptron_that_was_split_is_refused(void **state) {
    (void)state;
    for (size_t nodes = 0; nodes < 2; nodes++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        pt_model *m = make_chain(ctx, nodes);
        m->o.rule = PT_PERCEPTRON;
        m->o.average = false;
        assert_int_equal(try_load(ctx, m, &lm_method_perceptron.info, NULL),
                         nodes ? LIMN_E_MODEL : LIMN_OK);
        pt_destroy(&ctx->mem, m);
        limn_context_free(ctx);
    }
}

static void test_numbers_of_classes_and_features_out_of_range_are_refused(void **state) {
    static const struct {
        size_t d, classes;
    } of[] = {{D, 2}, {0, 2}, {D, 0}, {D, 1 << 20}, {D, (1 << 20) + 1}};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(of); i++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        pt_model *m = new_model(ctx, "gamma=0.5", D, of[i].classes ? of[i].classes : 1);
        m->d = m->leaf[0].e.pack.d = of[i].d;
        m->classes = of[i].classes;
        assert_int_equal(try_load(ctx, m, &lm_method_ptree.info, NULL),
                         i == 0 || i == 3 ? LIMN_OK : LIMN_E_MODEL);
        pt_destroy(&ctx->mem, m);
        limn_context_free(ctx);
    }
}

static void test_a_test_by_the_nearest_of_no_rows_is_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    pt_model *m = make_chain(ctx, 1);
    m->o.split = PT_ZPQ;
    lm_pack_view(NULL, 0, D, &m->node[0].pack);
    assert_int_equal(try_load(ctx, m, &lm_method_ptree.info, "split=zpq"), LIMN_E_MODEL);
    pt_destroy(&ctx->mem, m);
    limn_context_free(ctx);
}

static void test_tests_of_nodes_that_are_invalid_are_refused(void **state) {
    static const double wild[] = {NAN, INFINITY, -INFINITY};
    static const uint64_t count[] = {0, 1, 2, UINT32_MAX, (uint64_t)1 << 32, UINT64_MAX};
    const uint8_t side = 2;
    (void)state;
    for (size_t f = W; f <= P; f++) {
        world w;
        uint64_t own;
        size_t room;
        begin(&w, &forms[f]);
        memcpy(&own, section_of(&w, ".nodes", &room) + NODE_ROWS, sizeof own);
        for (size_t i = 0; i < nodes_of(&w); i++) {
            for (size_t b = 0; b < LM_COUNT(wild); b++)
                refuse_at(&w, ".nodes", i * NODE + NODE_THRESHOLD, &wild[b], sizeof *wild);
            for (size_t b = 0; b < LM_COUNT(count); b++)
                if (f == Z || count[b] != own)
                    refuse_at(&w, ".nodes", i * NODE + NODE_ROWS, &count[b], sizeof *count);
        }
        if (f == Z)
            (void)section_of(&w, ".test_sides", &room);
        for (size_t i = 0; f == Z && i < room; i++)
            refuse_at(&w, ".test_sides", i, &side, sizeof side);
        end(&w);
    }
}

/* ---- leaves ---- */

enum { LEAF = 40, VECTORS = 0, SEEN = 8, WAIT = 16, KEPT = 24, STEPS = 32 };
#define HALF ((uint64_t)INT64_MAX / 2)

static void test_counts_of_a_leaf_that_do_not_fit_are_refused(void **state) {
    static const uint64_t more_than[] = {1, 2, 1 << 20, (uint64_t)1 << 32, (uint64_t)1 << 62};
    static const int fields[] = {VECTORS, KEPT};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        size_t room;
        begin(&w, &forms[f]);
        (void)section_of(&w, ".leaves", &room);
        for (size_t at = 0; at < room; at += LEAF)
            for (size_t i = 0; i < LM_COUNT(more_than) * LM_COUNT(fields); i++) {
                size_t field = at + (size_t)fields[i % 2];
                uint64_t count;
                memcpy(&count, section_of(&w, ".leaves", &room) + field, sizeof count);
                count += more_than[i / 2];
                refuse_at(&w, ".leaves", field, &count, sizeof count);
                count = 0 - more_than[i / 2];
                refuse_at(&w, ".leaves", field, &count, sizeof count);
            }
        end(&w);
    }
}

/* Parameters of the file that its leaves do not keep to: all of them have one digit. */
static void test_leaves_beyond_their_parameters_are_refused(void **state) {
    static const struct {
        size_t form;
        const char *key;
        char less;
    } bad[] = {{W, "budget", '3'}, {Z, "budget", '2'},    {P, "budget", '3'},
               {F, "budget", '4'}, {J, "budget", '8'},    {W, "reservoir", '3'},
               {W, "depth", '1'},  {Z, "reservoir", '4'}, {P, "depth", '1'}};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(bad); i++) {
        world w;
        begin(&w, &forms[bad[i].form]);
        unsigned char *value = value_of(&w, "params", bad[i].key);
        assert_true(value[0] > (unsigned char)bad[i].less && value[1] == 0);
        *value = (unsigned char)bad[i].less;
        refuse(&w, bad[i].key);
        end(&w);
    }
}

static void test_counters_of_a_leaf_out_of_range_are_refused(void **state) {
    static const struct {
        size_t at;
        uint64_t whole;
    } bad[] = {
        {SEEN, HALF + 1}, {SEEN, UINT64_MAX}, {WAIT, (uint64_t)INT64_MAX + 1}, {WAIT, UINT64_MAX}};
    static const double steps[] = {NAN, INFINITY, -1, 0.5, 5e-324, 0x1p53 + 2, 1e300};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        size_t room;
        begin(&w, &forms[f]);
        (void)section_of(&w, ".leaves", &room);
        for (size_t at = 0; at < room; at += LEAF) {
            for (size_t i = 0; i < LM_COUNT(bad); i++)
                refuse_at(&w, ".leaves", at + bad[i].at, &bad[i].whole, sizeof bad[i].whole);
            for (size_t i = 0; i < LM_COUNT(steps); i++)
                refuse_at(&w, ".leaves", at + STEPS, &steps[i], sizeof *steps);
        }
        end(&w);
    }
}

static void test_a_leaf_that_remembers_more_rows_than_it_saw_is_refused(void **state) {
    (void)state;
    world w;
    size_t room, checked = 0;
    begin(&w, &forms[W]);
    (void)section_of(&w, ".leaves", &room);
    for (size_t at = 0; at < room; at += LEAF) {
        uint64_t kept, seen;
        memcpy(&kept, section_of(&w, ".leaves", &room) + at + KEPT, sizeof kept);
        seen = kept - 1;
        if (kept)
            refuse_at(&w, ".leaves", at + SEEN, &seen, sizeof seen);
        checked += kept > 0;
    }
    assert_true(checked > 0);
    end(&w);
}

static void test_labels_and_numbers_of_rows_out_of_range_are_refused(void **state) {
    const uint64_t rows_most[] = {HALF + 1, UINT64_MAX};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        size_t room = 0;
        begin(&w, &forms[f]);
        const int32_t label[] = {-1, (int32_t)forms[f].classes, INT32_MAX, INT32_MIN};
        if (f <= P)
            (void)section_of(&w, ".labels", &room);
        for (size_t at = 0; at < room; at += sizeof *label)
            for (size_t i = 0; i < LM_COUNT(label); i++)
                refuse_at(&w, ".labels", at, &label[i], sizeof *label);
        (void)section_of(&w, ".class_rows", &room);
        for (size_t at = 0; at < room; at += sizeof *rows_most)
            for (size_t i = 0; i < LM_COUNT(rows_most); i++)
                refuse_at(&w, ".class_rows", at, &rows_most[i], sizeof *rows_most);
        end(&w);
    }
}

/* Without a budget, a perceptron has up to LM_EXPANSION_MOST vectors. */
static void test_a_perceptron_with_more_vectors_than_can_be_numbered_is_refused(void **state) {
    size_t room = LM_EXPANSION_MOST + LM_PANEL;
    float *x = aligned_alloc(64, room * D * sizeof *x);
    double *coef = calloc(room, sizeof *coef);
    (void)state;
    memset(x, 0, room * D * sizeof *x);
    for (size_t extra = 0; extra < 2; extra++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        pt_model *m = make_chain(ctx, 0);
        m->o.rule = PT_PERCEPTRON;
        m->o.average = false;
        lm_expansion own = m->leaf[0].e, view = own;
        lm_pack_view(x, LM_EXPANSION_MOST + extra, D, &view.pack);
        view.coef = coef;
        m->leaf[0].e = view;
        assert_int_equal(try_load(ctx, m, &lm_method_perceptron.info, NULL),
                         extra ? LIMN_E_MODEL : LIMN_OK);
        m->leaf[0].e = own;
        pt_destroy(&ctx->mem, m);
        limn_context_free(ctx);
    }
    free(x);
    free(coef);
}

/* ---- keys ---- */

typedef struct wrong_key {
    const char *key;
    bool real;
    int64_t whole;
    double value;
} wrong_key;

static void refuse_keys(const form *f, const wrong_key *bad, size_t count) {
    world w;
    begin(&w, f);
    for (size_t i = 0; i < count; i++) {
        unsigned char *value = value_of(&w, ".about", bad[i].key);
        memcpy(value, bad[i].real ? (const void *)&bad[i].value : (const void *)&bad[i].whole, 8);
        refuse(&w, bad[i].key);
    }
    end(&w);
}

static void test_keys_out_of_range_are_refused(void **state) {
    static const wrong_key bad[] = {
        {"kernel", false, -1, 0},        {"kernel", false, 6, 0},
        {"kernel", false, INT64_MAX, 0}, {"degree", false, -1, 0},
        {"degree", false, INT64_MAX, 0}, {"gamma", true, 0, NAN},
        {"gamma", true, 0, INFINITY},    {"gamma", true, 0, -INFINITY},
        {"coef0", true, 0, NAN},         {"coef0", true, 0, INFINITY},
        {"leaves", false, 0, 0},         {"leaves", false, -1, 0},
        {"leaves", false, 1000, 0},      {"leaves", false, INT32_MAX, 0},
        {"leaves", false, INT64_MAX, 0}, {"steps", false, -1, 0},
        {"steps", false, INT64_MAX, 0},  {"seen", false, -1, 0},
        {"seen", false, ROWS + 1, 0},    {"seen", false, INT64_MAX, 0},
        {"wrong_last", true, 0, -0.1},   {"wrong_last", true, 0, 1.5},
        {"wrong_last", true, 0, NAN},    {"wrong_mean", true, 0, -0.1},
        {"wrong_mean", true, 0, 1.5},    {"wrong_mean", true, 0, NAN},
        {"forgot", true, 0, NAN},        {"forgot", true, 0, INFINITY},
        {"forgot", true, 0, -INFINITY},  {"mistakes", true, 0, -1},
        {"mistakes", true, 0, NAN},      {"mistakes", true, 0, INFINITY},
        {"agreement", true, 0, -2},      {"agreement", true, 0, 1.5},
        {"agreement", true, 0, NAN},     {"slopes", true, 0, -1},
        {"slopes", true, 0, NAN},        {"slopes", true, 0, INFINITY},
        {"slopes", true, 0, 1.001e100},  {"bends", true, 0, -1},
        {"bends", true, 0, NAN},         {"bends", true, 0, INFINITY},
        {"bends", true, 0, 1.001e100}};
    static const wrong_key negative[] = {{"gamma", true, 0, -0.5}};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++)
        refuse_keys(&forms[f], bad, LM_COUNT(bad));
    refuse_keys(&forms[W], negative, 1);
    refuse_keys(&forms[P], negative, 1);
}

/* The number of rows is there twice: what the model has and what the method has seen. */
static void test_a_number_of_rows_near_the_limit_is_refused_or_learned_on_from(void **state) {
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        begin(&w, &forms[f]);
        for (int64_t off = 0; off < 2; off++) {
            int64_t count = (int64_t)HALF + off;
            unsigned char *seen = value_of(&w, ".about", "seen");
            size_t place = (size_t)(seen - w.damaged);
            memcpy(value_of(&w, "model", "rows"), &count, sizeof count);
            memcpy(w.damaged + place, &count, sizeof count);
            assert_int_equal(load_part(&w, w.size, 20), off ? LIMN_E_MODEL : LIMN_OK);
        }
        end(&w);
    }
}

static void test_the_largest_counters_can_be_learned_on_from(void **state) {
    static const double steps = 0x1p53, zero = 0;
    static const uint64_t half = HALF, all = INT64_MAX;
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        size_t room, classes = forms[f].classes;
        begin(&w, &forms[f]);
        (void)section_of(&w, ".leaves", &room);
        for (size_t at = 0; at < room; at += LEAF) {
            take_at(&w, ".leaves", at + SEEN, &half, sizeof half);
            take_at(&w, ".leaves", at + WAIT, &all, sizeof all);
            take_at(&w, ".leaves", at + STEPS, &steps, sizeof steps);
            take_at(&w, ".leaves", at + STEPS, &zero, sizeof zero);
            take_at(&w, ".class_rows", at / LEAF * classes * 8, &half, sizeof half);
        }
        memcpy(value_of(&w, ".about", "steps"), &half, sizeof half);
        assert_int_equal(load_part(&w, w.size, 40), LIMN_OK);
        end(&w);
    }
}

/* A machine that a tree is drawn from may have it, if its kernel is of dot products. */
static void test_gamma_below_0_is_taken_where_it_is_multiplied_with_a_dot_product(void **state) {
    static const int64_t kernels[] = {LM_LINEAR, LM_POLYNOMIAL, LM_SIGMOID, LM_RBF, LM_CHI2_KERNEL};
    const double gamma = -0.5;
    (void)state;
    world w;
    begin(&w, &forms[W]);
    for (size_t i = 0; i < LM_COUNT(kernels); i++) {
        unsigned char *value = value_of(&w, ".about", "gamma");
        size_t place = (size_t)(value - w.damaged);
        memcpy(value_of(&w, ".about", "kernel"), &kernels[i], sizeof *kernels);
        memcpy(w.damaged + place, &gamma, sizeof gamma);
        assert_int_equal(load_part(&w, w.size, 40), i < 3 ? LIMN_OK : LIMN_E_MODEL);
    }
    end(&w);
}

static void test_the_largest_numbers_of_the_keys_can_be_learned_on_from(void **state) {
    static const struct {
        const char *key;
        double value;
    } most[] = {{"gamma", 1e300},   {"coef0", 1e300},    {"coef0", -1e300}, {"forgot", 1e300},
                {"forgot", -1e300}, {"mistakes", 1e300}, {"slopes", 1e100}, {"bends", 1e100},
                {"gamma", 0},       {"slopes", 0}};
    (void)state;
    for (size_t f = 0; f < LM_COUNT(forms); f++) {
        world w;
        begin(&w, &forms[f]);
        for (size_t i = 0; i < LM_COUNT(most); i++) {
            memcpy(value_of(&w, ".about", most[i].key), &most[i].value, 8);
            assert_int_equal(load_part(&w, w.size, 40), LIMN_OK);
        }
        int64_t degree = INT32_MAX;
        memcpy(value_of(&w, ".about", "degree"), &degree, sizeof degree);
        assert_int_equal(load_part(&w, w.size, 40), LIMN_OK);
        for (int64_t kernel = LM_LINEAR; kernel <= LM_SIGMOID; kernel++) {
            memcpy(value_of(&w, ".about", "kernel"), &kernel, sizeof kernel);
            assert_int_equal(load_part(&w, w.size, 40), LIMN_OK);
        }
        end(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_with_any_byte_changed_answers_and_learns_or_is_refused),
        cmocka_unit_test(test_no_part_of_a_file_is_a_model),
        cmocka_unit_test(test_a_missing_or_short_section_is_refused),
        cmocka_unit_test(test_numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(test_coefficients_drifts_and_biases_that_are_too_large_are_refused),
        cmocka_unit_test(test_the_largest_coefficients_drifts_and_biases_give_finite_answers),
        cmocka_unit_test(test_rows_below_0_are_refused_where_the_kernel_is_for_positive_ones),
        cmocka_unit_test(test_padding_that_is_not_0_is_refused),
        cmocka_unit_test(test_links_that_are_no_tree_are_refused),
        cmocka_unit_test(test_trees_deeper_than_the_limit_are_refused),
        cmocka_unit_test(test_a_perceptron_that_was_split_is_refused),
        cmocka_unit_test(test_numbers_of_classes_and_features_out_of_range_are_refused),
        cmocka_unit_test(test_a_test_by_the_nearest_of_no_rows_is_refused),
        cmocka_unit_test(test_tests_of_nodes_that_are_invalid_are_refused),
        cmocka_unit_test(test_counts_of_a_leaf_that_do_not_fit_are_refused),
        cmocka_unit_test(test_leaves_beyond_their_parameters_are_refused),
        cmocka_unit_test(test_counters_of_a_leaf_out_of_range_are_refused),
        cmocka_unit_test(test_a_leaf_that_remembers_more_rows_than_it_saw_is_refused),
        cmocka_unit_test(test_labels_and_numbers_of_rows_out_of_range_are_refused),
        cmocka_unit_test(test_a_perceptron_with_more_vectors_than_can_be_numbered_is_refused),
        cmocka_unit_test(test_keys_out_of_range_are_refused),
        cmocka_unit_test(test_a_number_of_rows_near_the_limit_is_refused_or_learned_on_from),
        cmocka_unit_test(test_the_largest_counters_can_be_learned_on_from),
        cmocka_unit_test(test_gamma_below_0_is_taken_where_it_is_multiplied_with_a_dot_product),
        cmocka_unit_test(test_the_largest_numbers_of_the_keys_can_be_learned_on_from),
    };
    return cmocka_run_group_tests_name("ptree_hostile", tests, NULL, NULL);
}
