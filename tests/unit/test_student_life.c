/* student: answers of whole models: classes, probabilities, the teacher at last, values; files;
 * degenerate data and teachers; failed allocations, cancelling. */
#include "base/argmax.h"
#include "num/platt.h"
#include "student_world.h"

#define BRIEF "pool=300 visits=3000 rate=0.02 "

/* ---- answers ---- */

typedef struct said {
    size_t n, classes;
    int32_t *class;
    double *proba, *value;
} said;

static said said_by(limn_context *ctx, const limn_model *model, const float *x, size_t n,
                    size_t at_once) {
    said s = {.n = n, .classes = model->schema.labels.count};
    size_t d = model->schema.features, k = s.classes ? s.classes : 1;
    limn_predictor *p = NULL;
    s.class = calloc(n, sizeof *s.class);
    s.proba = calloc(n * k, sizeof *s.proba);
    s.value = calloc(n, sizeof *s.value);
    assert_int_equal(limn_predictor_new(ctx, model, NULL, &p), LIMN_OK);
    for (size_t i = 0; i < n; i += at_once) {
        size_t some = n - i < at_once ? n - i : at_once;
        if (s.classes) {
            assert_int_equal(limn_predict(p, x + i * d, some, s.class + i), LIMN_OK);
            assert_int_equal(limn_predict_proba(p, x + i * d, some, s.proba + i * k), LIMN_OK);
        } else {
            assert_int_equal(limn_predict_values(p, x + i * d, some, s.value + i), LIMN_OK);
        }
    }
    limn_predictor_free(p);
    return s;
}

static void said_free(said *s) {
    free(s->class);
    free(s->proba);
    free(s->value);
}

static void check_valid(const said *s) {
    for (size_t i = 0; i < s->n; i++) {
        double sum = 0;
        assert_true(isfinite(s->value[i]));
        for (size_t c = 0; c < s->classes; c++) {
            double p = s->proba[i * s->classes + c];
            assert_true(p >= 0 && p <= 1 + 1e-12);
            sum += p;
        }
        if (!s->classes)
            continue;
        assert_true(fabs(sum - 1) < 1e-9);
        assert_in_range(s->class[i], 0, s -> classes - 1);
        assert_int_equal(s->class[i], lm_argmax(s->proba + i * s->classes, s->classes));
    }
}

static void check_equal(const said *a, const said *b) {
    size_t k = a->classes ? a->classes : 1;
    assert_memory_equal(a->class, b->class, a->n * sizeof *a->class);
    assert_memory_equal(a->proba, b->proba, a->n * k * sizeof *a->proba);
    assert_memory_equal(a->value, b->value, a->n * sizeof *a->value);
}

/* The model as it is read from the bytes that it is saved in. */
static limn_model *read_again(limn_context *ctx, const limn_model *model) {
    unsigned char *bytes;
    size_t size;
    lm_file *file = NULL;
    limn_model *again = NULL;
    assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
    if (lm_file_from_memory(ctx, bytes, size, "t.limn", &file) != LIMN_OK ||
        lm_model_load(ctx, file, &again) != LIMN_OK)
        fail_msg("%s", limn_error(ctx));
    lm_free(&ctx->mem, bytes);
    return again;
}

/* All at once, one by one, in odd lots, and from a file: the same answers, which are valid. */
static void check_model(limn_context *ctx, const limn_model *model, const float *x, size_t n) {
    static const size_t lots[] = {1, 7, 17, 100};
    said all = said_by(ctx, model, x, n, n);
    limn_model *again = read_again(ctx, model);
    check_valid(&all);
    for (size_t i = 0; i < LM_COUNT(lots); i++) {
        said some = said_by(ctx, i % 2 ? again : model, x, n, lots[i]);
        check_equal(&some, &all);
        said_free(&some);
    }
    limn_model_free(again);
    said_free(&all);
}

static const char *const sizes[] = {BRIEF "size=4", BRIEF "size=4+12", BRIEF "size=7x1x5+20x3",
                                    BRIEF "size=6 last=teacher", BRIEF "size=1+9 last=teacher"};

static void test_single_rows_and_files_answer_as_batches_do(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= 5; classes++)
        for (size_t i = 0; i < LM_COUNT(sizes); i++) {
            limn_context *ctx = make_context(NULL, 1, 3);
            rows r = rows_make(120, 3, classes, 5), q = rows_make(150, 3, classes, 6);
            limn_data *data = data_of(ctx, &r);
            asking a = {.params = sizes[i], .teacher_method = "svm"};
            limn_model *model = must(ctx, data, &a);
            check_model(ctx, model, q.x, q.n);
            limn_model_free(model);
            limn_data_free(data);
            rows_free(&r);
            rows_free(&q);
            limn_context_free(ctx);
        }
}

/* Classes and probabilities from the outputs of the networks, in plain steps. */
static void check_row(limn_context *ctx, const st_model *m, const float *x, int32_t class,
                      const double *proba) {
    float z[16];
    size_t net = 0, n = m->classes, best;
    double p[CLASSES_MOST], sum = 0, gap;
    for (;; net++) {
        double order[CLASSES_MOST];
        outputs_of(ctx, m, net, x, z);
        for (size_t c = 0; c < n; c++)
            order[c] = n > 2 ? (double)z[c] : c ? 0 : (double)z[0];
        best = n > 2 ? best_of_scores(order, n) : z[0] > 0 ? 0 : 1;
        double first = order[best];
        order[best] = -INFINITY;
        gap = first - order[best_of_scores(order, n)];
        if (net + 1 == m->nets || gap >= m->gap[net])
            break;
    }
    for (size_t c = 0; c < n; c++)
        sum += p[c] = exp((n > 2 ? (double)z[c] : c ? 0 : (double)z[0]) / m->tau[net]);
    if (m->last && gap < m->gap[net] && net + 1 == m->nets) {
        double f[CLASSES_MOST * CLASSES_MOST];
        int32_t votes[CLASSES_MOST];
        for (size_t pair = 0; pair < n * (n - 1) / 2; pair++)
            f[pair] = lm_machine_value(&m->machine, pair, x, 0);
        size_t won = (size_t)lm_vote_pairs(n, f, votes), most = best_of_scores(p, n);
        double kept = p[won];
        p[won] = p[most];
        p[most] = kept;
        best = won;
    }
    assert_int_equal(class, best);
    for (size_t c = 0; c < n; c++)
        assert_true(fabs(proba[c] - p[c] / sum) < 1e-6);
}

/* gap: of the last stage, or below 0 as it was found. */
static void check_stages(const char *params, size_t classes, double gap) {
    limn_context *ctx = make_context(NULL, 1, 3);
    rows r = rows_make(150, 3, classes, 5), q = rows_make(200, 3, classes, 6);
    limn_data *data = data_of(ctx, &r);
    asking a = {.params = params, .teacher_method = "svm", .scale = LIMN_SCALE_NONE};
    limn_model *model = must(ctx, data, &a);
    st_model *m = model->body;
    for (size_t i = 0; i < m->nets && gap >= 0; i++)
        m->gap[i] = gap;
    said s = said_by(ctx, model, q.x, q.n, q.n);
    check_valid(&s);
    for (size_t i = 0; i < q.n; i++)
        check_row(ctx, m, q.x + i * 3, s.class[i], s.proba + i * classes);
    said_free(&s);
    limn_model_free(model);
    limn_data_free(data);
    rows_free(&r);
    rows_free(&q);
    limn_context_free(ctx);
}

static void test_answers_are_those_of_the_stage_that_is_sure(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= 5; classes++)
        for (size_t i = 0; i < LM_COUNT(sizes); i++) {
            check_stages(sizes[i], classes, -1);
            check_stages(sizes[i], classes, 1);
        }
}

/* Where no network is sure, the model is the teacher. */
static void test_with_a_huge_gap_the_teacher_answers(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= 4; classes++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        rows r = rows_make(150, 3, classes, 5), q = rows_make(200, 3, classes, 6);
        limn_data *data = data_of(ctx, &r);
        limn_train_options options;
        limn_model *teacher = NULL;
        limn_train_options_init(&options);
        options.method = "svm";
        assert_int_equal(limn_train(ctx, data, &options, &teacher), LIMN_OK);
        asking a = {.params = BRIEF "size=3+4 last=teacher", .teacher = teacher};
        limn_model *model = must(ctx, data, &a);
        st_model *m = model->body;
        m->gap[0] = m->gap[1] = 1e30;
        limn_predictor *p = NULL;
        int32_t theirs[200];
        said own = said_by(ctx, model, q.x, q.n, q.n);
        assert_int_equal(limn_predictor_new(ctx, teacher, NULL, &p), LIMN_OK);
        assert_int_equal(limn_predict(p, q.x, q.n, theirs), LIMN_OK);
        assert_memory_equal(own.class, theirs, sizeof theirs);
        check_valid(&own);
        limn_predictor_free(p);
        said_free(&own);
        limn_model_free(model);
        limn_model_free(teacher);
        limn_data_free(data);
        rows_free(&r);
        rows_free(&q);
        limn_context_free(ctx);
    }
}

/* Outputs that are all the same: the class that is answered is still the most probable one. */
static void test_classes_agree_with_probabilities_on_ties(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= 4; classes++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        rows r = rows_make(60, 3, classes, 5);
        limn_data *data = data_of(ctx, &r);
        asking a = {.params = BRIEF "size=3 last=teacher", .teacher_method = "svm"};
        limn_model *model = must(ctx, data, &a);
        st_model *m = model->body;
        const lm_layer *out = &m->net[0].layer[1];
        memset((void *)(uintptr_t)out->bias, 0, out->outputs * sizeof *out->bias);
        memset((void *)(uintptr_t)out->weight, 0, 3 * sizeof *out->weight * (classes > 2 ? 16 : 1));
        for (int asks = 0; asks < 2; asks++) {
            m->gap[0] = asks;
            said s = said_by(ctx, model, r.x, r.n, r.n);
            check_valid(&s);
            said_free(&s);
        }
        limn_model_free(model);
        limn_data_free(data);
        rows_free(&r);
        limn_context_free(ctx);
    }
}

/* ---- how good it is ---- */

static limn_status teach_rows(void *user, const float *x, size_t n, double *answers) {
    const rows *r = user;
    size_t k = r->classes ? r->classes : 1;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        scores_of(r, x + i * r->d, answers + i * k);
        for (size_t c = 0; c < r->classes; c++)
            sum += answers[i * k + c] = exp(answers[i * k + c]);
        for (size_t c = 0; c < r->classes; c++)
            answers[i * k + c] /= sum;
    }
    return LIMN_OK;
}

static void test_a_smooth_function_is_learned(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    rows r = rows_make(300, 2, 0, 5), q = rows_make(200, 2, 0, 6);
    limn_data *data = data_of(ctx, &r);
    asking a = {
        .params = "size=24 pool=3000 visits=60000 rate=0.02", .teach = teach_rows, .user = &r};
    limn_model *model = must(ctx, data, &a);
    said s = said_by(ctx, model, q.x, q.n, q.n);
    double mean = 0, around = 0, squares = 0;
    for (size_t i = 0; i < q.n; i++) {
        double truth;
        scores_of(&r, q.x + i * 2, &truth);
        mean += truth / (double)q.n;
        squares += (s.value[i] - truth) * (s.value[i] - truth);
    }
    for (size_t i = 0; i < q.n; i++) {
        double truth;
        scores_of(&r, q.x + i * 2, &truth);
        around += (truth - mean) * (truth - mean);
    }
    assert_true(1 - squares / around > 0.95);
    const st_model *m = model->body;
    assert_true(m->agreement > 0.9 && m->error < 0.1);
    check_model(ctx, model, q.x, q.n);
    said_free(&s);
    limn_model_free(model);
    limn_data_free(data);
    rows_free(&r);
    rows_free(&q);
    limn_context_free(ctx);
}

static void test_classes_of_a_function_are_learned(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= 4; classes++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        rows r = rows_make(300, 2, classes, 5), q = rows_make(300, 2, classes, 6);
        limn_data *data = data_of(ctx, &r);
        asking a = {.params = "size=8+48 pool=6000 visits=150000 rate=0.02 sharpness=3",
                    .teach = teach_rows,
                    .user = &r};
        limn_model *model = must(ctx, data, &a);
        said s = said_by(ctx, model, q.x, q.n, q.n);
        size_t same = 0;
        for (size_t i = 0; i < q.n; i++) {
            double scores[CLASSES_MOST];
            scores_of(&r, q.x + i * 2, scores);
            /* classes are numbered as they appear */
            size_t truth = best_of_scores(scores, classes), named = 0;
            while (atof(model->schema.labels.names[named]) != (double)truth)
                named++;
            same += s.class[i] == (int32_t)named;
        }
        const st_model *m = model->body;
        assert_true(m->agreement > 0.9 && m->passed[0] < 1 && same > 270);
        said_free(&s);
        limn_model_free(model);
        limn_data_free(data);
        rows_free(&r);
        rows_free(&q);
        limn_context_free(ctx);
    }
}

/* ---- degenerate data ---- */

/* A model that answers with one of its classes, or a sentence. */
static void check_data(limn_context *ctx, const float *x, const double *y, size_t n, size_t d,
                       limn_task task, const asking *a) {
    limn_data *data = NULL;
    limn_model *model = NULL;
    assert_int_equal(limn_data_from_values(ctx, task, x, n, d, y, &data), LIMN_OK);
    if (try_student(ctx, data, a, &model) == LIMN_OK) {
        check_model(ctx, model, x, n);
    } else {
        assert_null(model);
        assert_true(strlen(limn_error(ctx)) > 10);
    }
    limn_model_free(model);
    limn_data_free(data);
}

typedef enum odd {
    ONE_CLASS,
    TWO_ROWS,
    CONSTANT_COLUMN,
    CONSTANT_ROWS,
    BINARY,
    LONELY_CLASS, /* a class with one row */
    DUPLICATES,
    HUGE_VALUES,
    TINY_VALUES,
    ONE_ODD_VALUE,
    ODD_COUNT
} odd;

static float odd_value(odd how, size_t i, size_t j, lm_rng *rng) {
    double value = lm_rng_normal(rng) + (double)(i % 3);
    switch (how) {
    case CONSTANT_COLUMN:
        return j == 1 ? 4.f : (float)value;
    case CONSTANT_ROWS:
        return 2.5f * (float)j;
    case BINARY:
        return (float)(lm_rng_below(rng, 3) < 1 + i % 2);
    case DUPLICATES:
        return (float)((i + j) % 3);
    case HUGE_VALUES:
        return (float)(1e30 * value);
    case TINY_VALUES:
        return (float)(1e-38 * value);
    case ONE_ODD_VALUE:
        return i == 7 ? 1e20f : 1.f;
    default:
        return (float)value;
    }
}

static double odd_label(odd how, size_t i, size_t n) {
    if (how == ONE_CLASS)
        return 4;
    if (how == LONELY_CLASS)
        return i + 1 == n ? 9 : (double)(i % 2);
    return (double)(i % (how == BINARY || how == CONSTANT_ROWS ? 2 : 3));
}

static void check_odd(odd how, size_t n, limn_task task, const asking *a) {
    limn_context *ctx = make_context(NULL, 1, 3);
    lm_rng rng = lm_rng_at(8, how, n);
    float x[60 * 3];
    double y[60];
    for (size_t i = 0; i < n; i++) {
        y[i] = task == LIMN_REGRESS ? (double)(i % 5) : odd_label(how, i, n);
        for (size_t j = 0; j < 3; j++)
            x[i * 3 + j] = odd_value(how, i, j, &rng);
    }
    check_data(ctx, x, y, n, 3, task, a);
    limn_context_free(ctx);
}

static void test_degenerate_data_gives_a_model_or_a_sentence(void **state) {
    static const char *const params[] = {"size=3 pool=60 visits=600",
                                         "size=2+4 pool=60 visits=600 last=teacher",
                                         "size=3 pool=1 visits=1 sharpness=1000 rate=1"};
    static const limn_scale scales[] = {LIMN_SCALE_AUTO, LIMN_SCALE_NONE};
    (void)state;
    for (odd how = 0; how < ODD_COUNT; how++)
        for (size_t p = 0; p < LM_COUNT(params); p++)
            for (size_t s = 0; s < LM_COUNT(scales); s++) {
                asking a = {.params = params[p], .teacher_method = "svm", .scale = scales[s]};
                check_odd(how, how == TWO_ROWS ? 2 : 40, LIMN_CLASSIFY, &a);
                if (p != 1)
                    check_odd(how, how == TWO_ROWS ? 2 : 40, LIMN_REGRESS, &a);
            }
}

static void test_few_rows_give_a_model_or_a_sentence(void **state) {
    static const char *const teachers[] = {"svm", "knn", "kde", "nsc"};
    (void)state;
    for (size_t n = 1; n <= 19; n++)
        for (size_t t = 0; t < LM_COUNT(teachers); t++) {
            asking a = {.params = "size=3+4 pool=30 visits=300", .teacher_method = teachers[t]};
            check_odd(n % 2 ? LONELY_CLASS : DUPLICATES, n, LIMN_CLASSIFY, &a);
        }
}

/* Its parameters are chosen by validation, for which one row is too few. */
static void test_the_default_teacher_learns_from_few_rows(void **state) {
    (void)state;
    asking a = {.params = "size=3 pool=30 visits=300"};
    for (size_t n = 1; n <= 6; n++) {
        check_odd(DUPLICATES, n, LIMN_CLASSIFY, &a);
        check_odd(LONELY_CLASS, n, LIMN_CLASSIFY, &a);
        check_odd(DUPLICATES, n, LIMN_REGRESS, &a);
    }
}

static void test_targets_of_any_size_give_a_model_or_a_sentence(void **state) {
    static const double sizes_of[] = {0, 1e-300, 1e-30, 1e30, 1e150, 1e200, 1e299};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(sizes_of); i++) {
        limn_context *ctx = make_context(NULL, 1, 3);
        lm_rng rng = lm_rng_at(8, 1, i);
        float x[40];
        double y[40];
        asking a = {.params = "size=3 pool=60 visits=600", .teacher_method = "knn"};
        for (size_t r = 0; r < 40; r++) {
            x[r] = (float)lm_rng_normal(&rng);
            y[r] = sizes_of[i] * sin((double)x[r]);
        }
        check_data(ctx, x, y, 40, 1, LIMN_REGRESS, &a);
        limn_context_free(ctx);
    }
}

/* ---- teachers that are of no use ---- */

typedef struct stubborn {
    size_t classes;
    double share; /* of class 0; the others share the rest */
} stubborn;

static limn_status teach_one(void *user, const float *x, size_t n, double *answers) {
    const stubborn *s = user;
    size_t k = s->classes ? s->classes : 1;
    (void)x;
    for (size_t i = 0; i < n * k; i++)
        answers[i] = i % k == 0 ? s->share : k == 1 ? 0 : (1 - s->share) / (double)(k - 1);
    return LIMN_OK;
}

static void test_a_teacher_that_always_says_the_same_is_followed(void **state) {
    static const double shares[] = {1, 0.9, 0.5, 0};
    (void)state;
    for (size_t classes = 0; classes <= 3; classes++)
        for (size_t i = 0; i < LM_COUNT(shares) && classes != 1; i++) {
            limn_context *ctx = make_context(NULL, 1, 3);
            rows r = rows_make(60, 3, classes, 5);
            stubborn s = {classes, shares[i]};
            limn_data *data = data_of(ctx, &r);
            asking a = {.params = BRIEF "size=4", .teach = teach_one, .user = &s};
            limn_model *model = must(ctx, data, &a);
            check_model(ctx, model, r.x, r.n);
            limn_model_free(model);
            limn_data_free(data);
            rows_free(&r);
            limn_context_free(ctx);
        }
}

/* What a function says that is not a probability is taken for what it is worth. */
static limn_status teach_nonsense(void *user, const float *x, size_t n, double *answers) {
    static const double odd_ones[] = {0, -5, 1e300, -1e300, 1e-300, 3, 0, 0, 1};
    (void)user, (void)x;
    for (size_t i = 0; i < n * 3; i++)
        answers[i] = odd_ones[(i / 3 * 7 + i) % LM_COUNT(odd_ones)];
    return LIMN_OK;
}

static void test_a_teacher_of_nonsense_gives_a_model(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    rows r = rows_make(60, 3, 3, 5);
    limn_data *data = data_of(ctx, &r);
    asking a = {.params = "size=4+5 pool=200 visits=1000", .teach = teach_nonsense};
    limn_model *model = must(ctx, data, &a);
    check_model(ctx, model, r.x, r.n);
    limn_model_free(model);
    limn_data_free(data);
    rows_free(&r);
    limn_context_free(ctx);
}

typedef struct tired {
    const rows *rows;
    size_t left;
} tired;

static limn_status fail_later(void *user, const float *x, size_t n, double *answers) {
    tired *t = user;
    if (t->left < n)
        return LIMN_E_IO;
    t->left -= n;
    return teach_rows((void *)(uintptr_t)t->rows, x, n, answers);
}

static void test_a_failing_teacher_ends_training_with_its_status(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 3);
    rows r = rows_make(60, 3, 3, 5);
    limn_data *data = data_of(ctx, &r);
    bool done = false;
    for (size_t left = 0; !done; left += 13) {
        tired t = {&r, left};
        limn_model *model = NULL;
        asking a = {
            .params = "size=4 pool=80 visits=300 rate=0.1", .teach = fail_later, .user = &t};
        limn_status status = try_student(ctx, data, &a, &model);
        done = status == LIMN_OK;
        assert_true(done || (status == LIMN_E_IO && strstr(limn_error(ctx), "the teacher failed")));
        assert_int_equal(done, model != NULL);
        limn_model_free(model);
        assert_true(left < 10000);
    }
    limn_data_free(data);
    rows_free(&r);
    limn_context_free(ctx);
}

/* ---- refusals ---- */

static void refused(const char *params, const char *teacher, size_t classes, const char *sentence) {
    limn_context *ctx = make_context(NULL, 1, 3);
    rows r = rows_make(30, 3, classes, 5);
    limn_data *data = data_of(ctx, &r);
    limn_model *model = NULL;
    asking a = {.params = params, .teacher_method = teacher};
    assert_int_equal(try_student(ctx, data, &a, &model), LIMN_E_USAGE);
    if (!strstr(limn_error(ctx), sentence))
        fail_msg("%s: %s", params, limn_error(ctx));
    limn_data_free(data);
    rows_free(&r);
    limn_context_free(ctx);
}

static void test_what_does_not_fit_together_is_refused(void **state) {
    (void)state;
    refused("size=64y", "svm", 3, "size=64y is not a size");
    refused("size=5000", "svm", 3, "not a size");
    refused("size=8 work=100", "svm", 3, "leave them out");
    refused("size=8 max_loss=0.1", "svm", 3, "leave them out");
    refused("size=8+16", "svm", 0, "two networks are for classes");
    refused("size=8 last=teacher", "knn", 3, "needs a teacher that is an svm");
    refused("size=8 last=teacher", "svm", 0, "needs a teacher that is an svm and classifies");
}

/* ---- memory, progress ---- */

static void test_every_failed_allocation_is_reported(void **state) {
    static const char *const params[] = {"size=3+4 pool=40 visits=300 last=teacher",
                                         "size=auto pool=30 visits=10"};
    (void)state;
    rows r = rows_make(40, 2, 3, 5);
    for (size_t i = 0; i < LM_COUNT(params); i++) {
        counting count = {0};
        limn_context *ctx = make_context(&count, 1, 5);
        limn_data *data = data_of(ctx, &r);
        asking first = {.teacher_method = "svm", .params = params[0]};
        limn_train_options options;
        limn_model *teacher = NULL, *model = NULL;
        limn_train_options_init(&options);
        options.method = "svm";
        assert_int_equal(limn_train(ctx, data, &options, &teacher), LIMN_OK);
        first = (asking){.params = params[i], .teacher = teacher};
        limn_status status = LIMN_E_MEMORY;
        for (unsigned at = 1; status != LIMN_OK; at += every(3)) {
            count.fail_at = at;
            status = try_student(ctx, data, &first, &model);
            count.fail_at = 0;
            assert_true(status == LIMN_OK || status == LIMN_E_MEMORY);
            assert_int_equal(status == LIMN_OK, model != NULL);
            limn_model_free(model);
        }
        limn_model_free(teacher);
        limn_data_free(data);
        limn_context_free(ctx);
        assert_int_equal(count.live, 0);
    }
    rows_free(&r);
}

typedef struct listener {
    size_t heard, cancel_at;
    bool told_errors;
} listener;

static int listen(void *user, const limn_progress *p) {
    listener *l = user;
    l->heard++;
    if (p->fraction > 1 || (p->rows_total && p->rows > p->rows_total))
        fail_msg("%s: %llu of %llu, %g", p->stage, (unsigned long long)p->rows,
                 (unsigned long long)p->rows_total, p->fraction);
    l->told_errors |= p->detail && strstr(p->detail, "on rows held out");
    return l->heard == l->cancel_at;
}

static limn_status train_heard(listener *l, const char *params, size_t classes) {
    limn_context_options options;
    limn_context *ctx = NULL;
    limn_context_options_init(&options);
    options.threads = 1;
    options.progress = listen;
    options.user = l;
    assert_int_equal(limn_context_new(&options, &ctx), LIMN_OK);
    rows r = rows_make(60, 3, classes, 5);
    limn_data *data = data_of(ctx, &r);
    limn_model *model = NULL;
    asking a = {.params = params, .teach = teach_rows, .user = &r};
    limn_status status = try_student(ctx, data, &a, &model);
    assert_int_equal(status == LIMN_OK, model != NULL);
    limn_model_free(model);
    limn_data_free(data);
    rows_free(&r);
    limn_context_free(ctx);
    return status;
}

static void test_progress_is_told_and_can_cancel(void **state) {
    static const char *const params[] = {"size=4 pool=100 visits=1000",
                                         "size=4+6 pool=100 visits=1"};
    (void)state;
    for (size_t i = 0; i < LM_COUNT(params); i++)
        for (size_t classes = i ? 3 : 0; classes <= 3; classes += 3) {
            listener all = {0};
            assert_int_equal(train_heard(&all, params[i], classes), LIMN_OK);
            for (size_t at = 1; at <= all.heard; at += 1 + all.heard / 20) {
                listener one = {.cancel_at = at};
                assert_int_equal(train_heard(&one, params[i], classes), LIMN_E_CANCELLED);
                assert_int_equal(one.heard, at);
            }
            assert_true(i || all.told_errors);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_rows_and_files_answer_as_batches_do),
        cmocka_unit_test(test_answers_are_those_of_the_stage_that_is_sure),
        cmocka_unit_test(test_with_a_huge_gap_the_teacher_answers),
        cmocka_unit_test(test_classes_agree_with_probabilities_on_ties),
        cmocka_unit_test(test_a_smooth_function_is_learned),
        cmocka_unit_test(test_classes_of_a_function_are_learned),
        cmocka_unit_test(test_degenerate_data_gives_a_model_or_a_sentence),
        cmocka_unit_test(test_few_rows_give_a_model_or_a_sentence),
        cmocka_unit_test(test_the_default_teacher_learns_from_few_rows),
        cmocka_unit_test(test_targets_of_any_size_give_a_model_or_a_sentence),
        cmocka_unit_test(test_a_teacher_that_always_says_the_same_is_followed),
        cmocka_unit_test(test_a_teacher_of_nonsense_gives_a_model),
        cmocka_unit_test(test_a_failing_teacher_ends_training_with_its_status),
        cmocka_unit_test(test_what_does_not_fit_together_is_refused),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
        cmocka_unit_test(test_progress_is_told_and_can_cancel),
    };
    return cmocka_run_group_tests_name("student_life", tests, NULL, NULL);
}
