/* vpc against its definition (vpc_slow.h), and what must hold for any definition: threads, early
 * stops, degenerate sets, far queries, small stacks, failing allocations, hostile files. */
#include "reseal.h"
#include "support.h"
#include "vpc_slow.h"

#include <pthread.h>
#include <stdio.h>

enum { QUERIES = 120 };

static void ask_all(trial *t, const float *x, size_t n) {
    limn_predictor *p = NULL;
    int32_t *classes = malloc(n * sizeof *classes);
    double *proba = malloc(n * t->k * sizeof *proba);
    assert_int_equal(limn_predictor_new(t->ctx, t->model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, x, n, classes), LIMN_OK);
    assert_int_equal(limn_predict_proba(p, x, n, proba), LIMN_OK);
    for (size_t i = 0; i < n; i++)
        check_query(t, x + i * t->d, classes[i], proba + i * t->k);
    limn_predictor_free(p);
    free(classes);
    free(proba);
}

/* ---- data and models ---- */

typedef enum kind { CONTINUOUS, INTEGERS, CONSTANT, WIDE, MANY_CLASSES, KINDS } kind;

static limn_data *draw_data(limn_context *ctx, kind of, uint64_t seed) {
    static const size_t sizes[KINDS][3] = {/* n, d, classes */
                                           {120, 4, 3},
                                           {150, 3, 3},
                                           {60, 3, 2},
                                           {7, 8, 3},
                                           {300, 3, 20}};
    size_t n = sizes[of][0], d = sizes[of][1], k = sizes[of][2];
    float x[MOST_N * MOST_D];
    double y[MOST_N];
    lm_rng rng = lm_rng_at(seed, (uint64_t)of, 77);
    limn_data *data = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t c = i < k ? i : (size_t)lm_rng_below(&rng, k);
        c = i >= k && c == 0 && of == CONTINUOUS && i % 4 ? 1 : c; /* one class is rare */
        y[i] = (double)c;
        for (size_t j = 0; j < d; j++) {
            double v = lm_rng_normal(&rng) + 1.2 * (double)((c >> j) % 4);
            if (of == INTEGERS)
                v = (double)(lm_rng_below(&rng, 6) + (c == j ? 4 : 0));
            else if (of == CONSTANT && j == 1)
                v = 0.7;
            x[i * d + j] = (float)v;
        }
    }
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, d, y, &data), LIMN_OK);
    return data;
}

static limn_status train(limn_context *ctx, const limn_data *data, const setting *s,
                         limn_model **model) {
    char text[10][40];
    const char *params[10];
    limn_train_options options;
    limn_train_options_init(&options);
    snprintf(text[0], 40, "style=%s", s->style == VPC_PAPER ? "paper" : "forest");
    snprintf(text[1], 40, "vote=%s", s->vote == VPC_COUNT ? "count" : "centroid");
    snprintf(text[2], 40, "metric=%s", s->metric == VPC_UNIT ? "unit" : "mahalanobis");
    snprintf(text[3], 40, "distance=%s", s->distance == VPC_L1 ? "l1" : "l2");
    snprintf(text[4], 40, "gamma=%.17g", s->gamma);
    snprintf(text[5], 40, "radius=%.17g", s->rho);
    snprintf(text[6], 40, "stop=%.17g", s->stop);
    snprintf(text[7], 40, "candidates=%d", s->candidates);
    snprintf(text[8], 40, "samples=%d", s->samples);
    snprintf(text[9], 40, "trees=%d", s->trees ? s->trees : 1);
    for (int i = 0; i < 10; i++)
        params[i] = text[i];
    options.method = "vpc";
    options.scale = LIMN_SCALE_NONE;
    options.params = params;
    options.param_count = 10;
    return limn_train(ctx, data, &options, model);
}

/* Takes ownership of data. */
static trial begin(limn_context *ctx, limn_data *data, setting s) {
    trial t = {.set = s, .ctx = ctx, .data = data};
    t.n = limn_data_rows(data);
    t.d = limn_data_features(data);
    t.k = limn_data_class_count(data);
    t.x = limn_data_values(data);
    t.label = limn_data_classes(data);
    if (train(ctx, data, &s, &t.model) != LIMN_OK)
        fail_msg("not trained: %s", limn_error(ctx));
    t.m = t.model->body;
    return t;
}

static void end(trial *t) {
    limn_model_free(t->model);
    limn_data_free(t->data);
    free(t->tree);
}

/* Builds the slow trees and queries them; adds the unclear cases to the sums. */
static void compare(limn_context *ctx, limn_data *data, setting s, uint64_t seed, trial *sums) {
    trial t = begin(ctx, data, s);
    float *x = make_queries(data, QUERIES, seed + 5);
    build_slowly(&t);
    ask_all(&t, x, QUERIES);
    ask_all(&t, t.x, t.n);
    sums->nodes += t.nodes;
    sums->unclear += t.unclear;
    sums->asked += t.asked;
    sums->skipped += t.skipped;
    free(x);
    end(&t);
}

static const double radii[] = {0, .02, .2, 5};

static void test_the_papers_tree_and_its_votes_equal_slow_ones(void **state) {
    (void)state;
    static const double gammas[] = {0, .1, .3};
    static const int choices[][2] = {{0, 0}, {7, 20}, {1, 1}, {30, 5}};
    trial sums = {.nodes = 0};
    for (uint64_t seed = 1; seed <= 2; seed += every(2))
        for (int of = 0; of < KINDS; of++)
            for (int bits = 0; bits < 8; bits++)
                for (size_t r = seed % 2; r < 12; r += 2 * every(2)) {
                    limn_context *ctx = make_context(NULL, 1, seed);
                    setting s = {.style = VPC_PAPER,
                                 .vote = (vpc_vote)(bits & 1),
                                 .metric = (vpc_metric)(bits >> 1 & 1),
                                 .distance = (vpc_distance)(bits >> 2 & 1),
                                 .gamma = gammas[r % 3],
                                 .rho = radii[r % 4],
                                 .stop = 2,
                                 .candidates = choices[(r / 2 + seed) % 4][0],
                                 .samples = choices[(r / 2 + seed) % 4][1]};
                    compare(ctx, draw_data(ctx, (kind)of, seed), s, seed, &sums);
                    limn_context_free(ctx);
                }
    if (sums.unclear * 20 > sums.nodes || sums.skipped * 20 > sums.asked)
        fail_msg("open: %zu of %zu nodes, %zu of %zu queries", sums.unclear, sums.nodes,
                 sums.skipped, sums.asked);
}

static void test_forests_and_their_probabilities_equal_slow_ones(void **state) {
    (void)state;
    trial sums = {.nodes = 0};
    for (uint64_t seed = 1; seed <= 3; seed += every(3))
        for (int of = 0; of < KINDS; of++)
            for (size_t r = 0; r < 8; r++) {
                limn_context *ctx = make_context(NULL, 1, seed);
                setting s = {.distance = r < 4 ? VPC_L2 : VPC_L1,
                             .gamma = r % 3 ? 0 : .1,
                             .rho = radii[r % 4],
                             .stop = 2,
                             .candidates = r % 2 ? 5 : 0,
                             .samples = r % 2 ? 20 : 0,
                             .trees = 1 + (int)(r + seed) % 4};
                compare(ctx, draw_data(ctx, (kind)of, seed), s, seed, &sums);
                limn_context_free(ctx);
            }
    if (sums.unclear * 20 > sums.nodes || sums.skipped * 20 > sums.asked)
        fail_msg("open: %zu of %zu nodes, %zu of %zu queries", sums.unclear, sums.nodes,
                 sums.skipped, sums.asked);
}

static void test_of_all_rows_the_pivot_with_the_widest_ring_is_taken(void **state) {
    (void)state;
    trial sums = {.nodes = 0};
    for (int of = 0; of < KINDS; of++)
        for (int l1 = 0; l1 < 2; l1++) {
            limn_context *ctx = make_context(NULL, 1, 3);
            setting s = {.distance = l1 ? VPC_L1 : VPC_L2,
                         .rho = .1,
                         .stop = 2,
                         .candidates = MOST_N,
                         .samples = MOST_N,
                         .trees = 2};
            compare(ctx, draw_data(ctx, (kind)of, 9), s, 4, &sums);
            limn_context_free(ctx);
        }
    assert_true(sums.nodes > 100);
}

/* ---- threads, early stop ---- */

static void test_threads_change_no_byte_of_the_model(void **state) {
    (void)state;
    for (int style = 0; style < 2; style++) {
        unsigned char *bytes[2];
        size_t size[2];
        limn_context *ctx[2];
        for (int i = 0; i < 2; i++) {
            ctx[i] = make_context(NULL, i ? 4 : 1, 6);
            trial t =
                begin(ctx[i], draw_data(ctx[i], CONTINUOUS, 2),
                      (setting){.style = (vpc_style)style, .rho = .05, .stop = 1, .trees = 9});
            assert_int_equal(lm_model_bytes(ctx[i], t.model, &bytes[i], &size[i]), LIMN_OK);
            end(&t);
        }
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(bytes[0], bytes[1], size[0]);
        for (int i = 0; i < 2; i++) {
            lm_free(&ctx[i]->mem, bytes[i]);
            limn_context_free(ctx[i]);
        }
    }
}

static double stat_of(const limn_model *model, const char *name) {
    double value;
    const char *found;
    for (size_t i = 0; (found = limn_model_stat(model, i, &value)) != NULL; i++)
        if (strcmp(found, name) == 0)
            return value;
    fail_msg("no stat %s", name);
    return 0;
}

static void test_stopping_early_asks_less_and_changes_few_classes_but_no_probability(void **state) {
    (void)state;
    enum { N = 300 };
    limn_context *ctx = make_context(NULL, 1, 4);
    int32_t classes[2][N];
    static double proba[2][N * 3];
    double pivots[2], leaves[2];
    limn_data *data = draw_data(ctx, CONTINUOUS, 8);
    float *x = make_queries(data, N, 21);
    for (int i = 0; i < 2; i++) {
        setting s = {.rho = .02, .stop = i ? .8 : 2, .trees = 16};
        limn_model *model = NULL;
        limn_predictor *p = NULL;
        assert_int_equal(train(ctx, data, &s, &model), LIMN_OK);
        assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predict(p, x, N, classes[i]), LIMN_OK);
        assert_int_equal(limn_predict_proba(p, x, N, proba[i]), LIMN_OK);
        pivots[i] = stat_of(model, "pivots per query");
        leaves[i] = stat_of(model, "leaves per query");
        limn_predictor_free(p);
        limn_model_free(model);
    }
    int changed = 0;
    for (int i = 0; i < N; i++)
        changed += classes[0][i] != classes[1][i];
    assert_true(changed <= N / 20);
    assert_true(leaves[0] >= 16 && leaves[1] >= 2);
    assert_true(leaves[1] < leaves[0] * .7 && pivots[1] < pivots[0] * .7);
    assert_memory_equal(proba[0], proba[1], sizeof proba[0]);
    free(x);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* stop=0 accepts any lead, but at least two trees always vote. */
static void test_the_earliest_stop_is_behind_the_second_tree(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 4);
    limn_data *data = draw_data(ctx, INTEGERS, 8);
    double leaves[2];
    for (int i = 0; i < 2; i++) {
        setting s = {.rho = .1, .stop = i ? 0 : 2, .trees = i ? 16 : 2};
        limn_model *model = NULL;
        assert_int_equal(train(ctx, data, &s, &model), LIMN_OK);
        leaves[i] = stat_of(model, "leaves per query");
        limn_model_free(model);
    }
    assert_true(leaves[0] == leaves[1]);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- degenerate sets ---- */

static void answers(limn_context *ctx, setting s, const float *x, const double *y, size_t n,
                    size_t d, const float *queries, size_t count, int32_t *classes, double *proba) {
    limn_data *data = NULL;
    limn_model *model = NULL;
    limn_predictor *p = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, n, d, y, &data), LIMN_OK);
    if (train(ctx, data, &s, &model) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    assert_int_equal(limn_predict(p, queries, count, classes), LIMN_OK);
    assert_int_equal(limn_predict_proba(p, queries, count, proba), LIMN_OK);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
}

static void test_degenerate_sets_give_the_obvious_answers(void **state) {
    (void)state;
    static const float x[] = {1, 2, 5, 6, 1, 2, 9, 9}, far[] = {-1e6f, 3e6f, 1e9f, 1e9f};
    static const float equal[] = {3, 3, 3, 3, 3, 3, 3, 3}, pair[] = {1, 2, 5, 6};
    static const double ones[] = {1, 1, 1, 1}, two[] = {0, 1}, odd[] = {0, 1, 1, 1};
    limn_context *ctx = make_context(NULL, 1, 1);
    for (int bits = 0; bits < 8; bits++)
        for (size_t r = 0; r < 4; r++) {
            setting s = {.style = (vpc_style)(bits & 1),
                         .vote = (vpc_vote)(bits >> 1 & 1),
                         .metric = (vpc_metric)(bits >> 2 & 1),
                         .rho = radii[r],
                         .stop = .8,
                         .trees = 3};
            int32_t c[4];
            double p[8];
            answers(ctx, s, x, ones, 4, 2, far, 2, c, p); /* one class */
            assert_true(c[0] == 0 && c[1] == 0 && p[0] == 1 && p[1] == 1);
            answers(ctx, s, x, ones, 1, 2, far, 2, c, p); /* one row */
            assert_true(c[0] == 0 && c[1] == 0 && p[0] == 1 && p[1] == 1);
            answers(ctx, s, pair, two, 2, 2, pair, 2, c, p); /* one row per class */
            if (c[0] != 0 || c[1] != 1)
                fail_msg("two rows, two classes: %d, %d (style %d, metric %d)", (int)c[0],
                         (int)c[1], bits & 1, bits >> 2);
            answers(ctx, s, equal, odd, 4, 2, equal, 1, c, p); /* one place, two classes */
            assert_true(isfinite(p[0]) && same(p[0] + p[1], 1, 1e-9));
            if (s.style == VPC_FOREST) /* the priors alone: (1 + 2/4) / 6 and (3 + 6/4) / 6 */
                assert_true(c[0] == 1 && same(p[0], .25, 1e-6));
        }
    limn_context_free(ctx);
}

static void test_queries_far_away_are_answered(void **state) {
    (void)state;
    static const float scale[] = {1e3f, -1e8f, 1e19f, -3e38f};
    for (int bits = 0; bits < 8; bits++) {
        limn_context *ctx = make_context(NULL, 1, 1);
        setting s = {.style = (vpc_style)(bits & 1),
                     .vote = (vpc_vote)(bits >> 1 & 1),
                     .distance = (vpc_distance)(bits >> 2 & 1),
                     .rho = .02,
                     .stop = .8,
                     .trees = 4};
        trial t = begin(ctx, draw_data(ctx, CONTINUOUS, 5), s);
        limn_predictor *p = NULL;
        assert_int_equal(limn_predictor_new(ctx, t.model, NULL, &p), LIMN_OK);
        for (size_t i = 0; i < LM_COUNT(scale); i++) {
            float x[4] = {scale[i], scale[i] / 3, -scale[i] / 2, 1};
            double proba[3], sum = 0;
            int32_t c = -1;
            assert_int_equal(limn_predict(p, x, 1, &c), LIMN_OK);
            assert_in_range(c, 0, 2);
            assert_int_equal(limn_predict_proba(p, x, 1, proba), LIMN_OK);
            for (int k = 0; k < 3; k++)
                sum += proba[k];
            if (!same(sum, 1, 1e-9))
                fail_msg("x %g: probabilities sum to %g", (double)scale[i], sum);
        }
        limn_predictor_free(p);
        end(&t);
        limn_context_free(ctx);
    }
}

/* ---- 20,000 rows on a line, on a small stack ---- */

typedef struct line {
    vpc_style style;
    bool trained;
    double nodes, depth;
    size_t wrong;
} line;

/* Asserts nothing: cmocka cannot leave a thread. */
static void *train_on_a_line(void *out) {
    enum { N = 20000 };
    line *l = out;
    float *x = malloc(N * sizeof *x);
    double *y = malloc(N * sizeof *y);
    int32_t *classes = malloc(N * sizeof *classes);
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = NULL;
    limn_predictor *p = NULL;
    limn_model *model = NULL;
    setting s = {.style = l->style, .stop = 2, .candidates = 4, .samples = 50};
    for (size_t i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = (double)(i % 2);
    }
    if (limn_data_from_values(ctx, LIMN_CLASSIFY, x, N, 1, y, &data) == LIMN_OK &&
        train(ctx, data, &s, &model) == LIMN_OK &&
        limn_predictor_new(ctx, model, NULL, &p) == LIMN_OK) {
        l->trained = limn_predict(p, x, N, classes) == LIMN_OK;
        l->nodes = stat_of(model, "nodes");
        l->depth = stat_of(model, "depth");
        for (size_t i = 0; i < N; i++)
            l->wrong += classes[i] != (int32_t)(i % 2);
    }
    limn_predictor_free(p);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
    free(x);
    free(y);
    free(classes);
    return NULL;
}

static void test_many_alternating_rows_need_little_stack(void **state) {
    (void)state;
    for (int style = 0; style < 2; style++) {
        line l = {.style = (vpc_style)style};
        pthread_attr_t attributes;
        pthread_t thread;
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
        assert_int_equal(pthread_create(&thread, &attributes, train_on_a_line, &l), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&attributes);
        assert_true(l.trained);
        assert_true(l.nodes > 5000 && l.depth < 40);
        assert_true(l.wrong < 10000);
    }
}

/* ---- failing allocations ---- */

static limn_status load_bytes(limn_context *ctx, const unsigned char *bytes, size_t size,
                              limn_model **model) {
    lm_file *file = NULL;
    *model = NULL;
    limn_status status = lm_file_from_memory(ctx, bytes, size, "t.limn", &file);
    return status == LIMN_OK ? lm_model_load(ctx, file, model) : status;
}

static void test_every_failing_allocation_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    limn_context *plain = make_context(NULL, 1, 1);
    limn_data *data = draw_data(plain, CONSTANT, 4);
    static const setting sets[] = {
        {.rho = .02, .stop = .8, .trees = 2, .gamma = .1},
        {.style = VPC_PAPER, .rho = .02, .stop = .8, .vote = VPC_CENTROID, .metric = VPC_UNIT},
        {.style = VPC_PAPER, .rho = .02, .stop = .8, .gamma = .2}};
    for (size_t i = 0; i < LM_COUNT(sets); i++) {
        unsigned failures = 0;
        limn_status status = LIMN_E_MEMORY;
        for (unsigned at = 1; status != LIMN_OK; at += every(5)) {
            counting count = {0};
            limn_context *ctx = make_context(&count, 1, 1);
            limn_model *model = NULL, *loaded = NULL;
            unsigned char *bytes = NULL;
            size_t size = 0;
            count.fail_at = at;
            status = train(ctx, data, &sets[i], &model);
            if (status == LIMN_OK)
                status = lm_model_bytes(ctx, model, &bytes, &size);
            if (status == LIMN_OK)
                status = load_bytes(ctx, bytes, size, &loaded);
            if (status != LIMN_OK) {
                assert_int_equal(status, LIMN_E_MEMORY);
                assert_string_not_equal(limn_error(ctx), "");
                failures++;
            }
            lm_free(&ctx->mem, bytes);
            limn_model_free(loaded);
            limn_model_free(model);
            limn_context_free(ctx);
            assert_int_equal(count.live, 0);
        }
        assert_true(failures * every(5) > 100);
    }
    limn_data_free(data);
    limn_context_free(plain);
}

/* ---- hostile files ---- */

static unsigned char *section(unsigned char *bytes, const char *name) {
    uint32_t count;
    memcpy(&count, bytes + 12, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        unsigned char *entry = bytes + 64 + i * 64;
        uint64_t offset;
        memcpy(&offset, entry + 32, sizeof offset);
        if (strncmp((const char *)entry, name, 24) == 0)
            return bytes + offset;
    }
    fail_msg("no section %s", name);
    return NULL;
}

/* Writes size bytes at that place of a section; the file must be refused. */
static void refused(limn_context *ctx, const limn_model *model, const char *name, size_t at,
                    const void *value, size_t size) {
    unsigned char *bytes;
    size_t total;
    limn_model *loaded;
    assert_int_equal(lm_model_bytes(ctx, model, &bytes, &total), LIMN_OK);
    assert_int_equal(load_bytes(ctx, bytes, total, &loaded), LIMN_OK);
    limn_model_free(loaded);
    memcpy(section(bytes, name) + at, value, size);
    reseal(bytes, total);
    if (load_bytes(ctx, bytes, total, &loaded) != LIMN_E_MODEL)
        fail_msg("%s changed at %zu is not refused", name, at);
    assert_null(loaded);
    assert_non_null(strstr(limn_error(ctx), "t.limn"));
    lm_free(&ctx->mem, bytes);
}

static void refused_int(const trial *t, const char *name, size_t at, int32_t value) {
    refused(t->ctx, t->model, name, at, &value, sizeof value);
}

static void test_impossible_links_leaves_and_classes_are_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    trial t =
        begin(ctx, draw_data(ctx, CONTINUOUS, 5), (setting){.rho = .1, .stop = 2, .trees = 2});
    const size_t near = offsetof(vpc_node, near), far = offsetof(vpc_node, far),
                 one = sizeof(vpc_node);
    size_t last = t.m->nodes - 1;
    const double bad[] = {NAN, INFINITY, -1};
    assert_true(last > 3 && t.m->node[0].near == 1);
    refused_int(&t, "vpc.nodes", near, 0);                                /* to itself */
    refused_int(&t, "vpc.nodes", last * one + far, 1);                    /* back */
    refused_int(&t, "vpc.nodes", near, t.m->node[0].far);                 /* both to one */
    refused_int(&t, "vpc.nodes", near, (int32_t)last + 1);                /* past the end */
    refused_int(&t, "vpc.nodes", last * one + near, t.m->node[last].far); /* a leaf twice */
    refused_int(&t, "vpc.nodes", last * one + near, ~(int32_t)t.m->leaves);
    refused_int(&t, "vpc.nodes", last * one + near, INT32_MIN);
    refused_int(&t, "vpc.roots", 0, t.m->root[1]); /* two trees, one root */
    refused_int(&t, "vpc.roots", 0, 1);            /* the root's child */
    refused_int(&t, "vpc.classes", 0, 3);
    refused_int(&t, "vpc.classes", 0, -1);
    refused_int(&t, "vpc.leaves", offsetof(vpc_leaf, classes), 0);
    refused_int(&t, "vpc.leaves", offsetof(vpc_leaf, classes), -1);
    refused_int(&t, "vpc.leaves", offsetof(vpc_leaf, first), 1);
    refused_int(&t, "vpc.leaves", offsetof(vpc_leaf, panel), 1 << 30);
    for (size_t i = 0; i < LM_COUNT(bad); i++)
        refused(ctx, t.model, "vpc.radius", 0, &bad[i], sizeof bad[i]);
    for (size_t i = 0; i < 2; i++)
        refused(ctx, t.model, "vpc.mu", 0, &bad[i], sizeof bad[i]);
    end(&t);
    limn_context_free(ctx);
}

static void test_two_trees_that_are_one_leaf_are_refused(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3};
    static const double y[] = {0, 0, 0};
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = NULL;
    assert_int_equal(limn_data_from_values(ctx, LIMN_CLASSIFY, x, 3, 1, y, &data), LIMN_OK);
    trial t = begin(ctx, data, (setting){.stop = 2, .trees = 2});
    refused_int(&t, "vpc.roots", sizeof(int32_t), ~0);
    end(&t);
    limn_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_papers_tree_and_its_votes_equal_slow_ones),
        cmocka_unit_test(test_forests_and_their_probabilities_equal_slow_ones),
        cmocka_unit_test(test_of_all_rows_the_pivot_with_the_widest_ring_is_taken),
        cmocka_unit_test(test_threads_change_no_byte_of_the_model),
        cmocka_unit_test(test_stopping_early_asks_less_and_changes_few_classes_but_no_probability),
        cmocka_unit_test(test_the_earliest_stop_is_behind_the_second_tree),
        cmocka_unit_test(test_degenerate_sets_give_the_obvious_answers),
        cmocka_unit_test(test_queries_far_away_are_answered),
        cmocka_unit_test(test_many_alternating_rows_need_little_stack),
        cmocka_unit_test(test_every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(test_impossible_links_leaves_and_classes_are_refused),
        cmocka_unit_test(test_two_trees_that_are_one_leaf_are_refused),
    };
    return cmocka_run_group_tests_name("vpc", tests, NULL, NULL);
}
