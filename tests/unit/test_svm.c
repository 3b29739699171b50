/* test_svm.c: training the method svm, against libsvm itself: the same machines from the same
 * rows; probabilities, chosen parameters, cancelling. */
#include "svm_peer.h"

#include <time.h>

/* What libsvm had allocated for a problem that was abandoned is never freed; see svm/solve.c. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libsvm.so\n";
}

/* ---- training ---- */

static void check_training(const struct svm_parameter *options, size_t k, const char *more) {
    counting count = {0};
    char params[256];
    limn_context *ctx = make_context(&count, 1, 1);
    table t = table_make(task_of(options->svm_type), 90, FEATURES, k, 1, k);
    params_of(options, params);
    snprintf(params + strlen(params), sizeof params - strlen(params), "%s", more);
    limn_model *model = must_train(ctx, &t, params);
    struct svm_model *peer = peer_train(&t, options);
    assert_same_machine(ctx, model, peer);
    assert_clear(ctx, model, peer, &t);
    svm_free_and_destroy_model(&peer);
    limn_model_free(model);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    table_free(&t);
}

static void test_training_gives_the_machine_of_libsvm_for_every_type_and_kernel(void **state) {
    (void)state;
    for (int type = C_SVC; type <= NU_SVR; type++)
        for (int kernel = LINEAR; kernel <= SIGMOID; kernel++)
            for (size_t k = 2; k <= (type <= NU_SVC ? CLASSES_MAX : 2); k++) {
                struct svm_parameter options = peer_options(type, kernel);
                check_training(&options, k, "");
            }
}

static void test_tolerance_and_shrinking_reach_libsvm(void **state) {
    (void)state;
    struct svm_parameter options = peer_options(C_SVC, RBF);
    options.eps = 0.1;
    options.C = 50;
    check_training(&options, 3, "");
    options.eps = 1e-5;
    options.shrinking = 0;
    check_training(&options, 3, " cache=1");
}

static void test_defaults_are_those_of_svm_train(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 2, 1);
    table t = table_make(LIMN_CLASSIFY, 120, FEATURES, 3, 1, 4);
    struct svm_parameter options = peer_options(C_SVC, RBF);
    options.C = 1;
    options.gamma = 1.0 / FEATURES;
    limn_model *model = must_train(ctx, &t, "");
    struct svm_model *peer = peer_train(&t, &options);
    assert_same_machine(ctx, model, peer);
    svm_free_and_destroy_model(&peer);
    limn_model_free(model);
    limn_context_free(ctx);
    table_free(&t);
}

static void test_class_weight_multiplies_the_cost_of_a_class(void **state) {
    (void)state;
    int labels[] = {0, 2};
    double weights[] = {5, 0.25};
    struct svm_parameter options = peer_options(C_SVC, RBF);
    options.nr_weight = 2;
    options.weight_label = labels;
    options.weight = weights;
    check_training(&options, 3, " class_weight=0:5,2:0.25");
}

static void test_rows_in_any_order_give_classes_their_names(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    table t = table_make(LIMN_CLASSIFY, 120, FEATURES, 3, 3, 4);
    static const double names[] = {7, -3, 2};
    for (size_t i = 0; i < t.n; i++)
        t.y[i] = names[(size_t)t.y[i]];
    for (size_t i = 0; i + 50 < t.n; i += 2) { /* rows of different classes change places */
        double y = t.y[i];
        struct svm_node *row = t.row[i];
        t.y[i] = t.y[i + 50];
        t.y[i + 50] = y;
        t.row[i] = t.row[i + 50];
        t.row[i + 50] = row;
        for (size_t j = 0; j < t.d; j++) {
            float x = t.x[i * t.d + j];
            t.x[i * t.d + j] = t.x[(i + 50) * t.d + j];
            t.x[(i + 50) * t.d + j] = x;
        }
    }
    struct svm_parameter options = peer_options(C_SVC, RBF);
    options.eps = 1e-8; /* another order converges to the same machine */
    char params[256];
    limn_model *model = must_train(ctx, &t, params_of(&options, params));
    struct svm_model *peer = peer_train(&t, &options);
    static int32_t classes[ROWS_MAX];
    limn_predictor *p = must_predict(ctx, model, 1, 0);
    assert_int_equal(limn_predict(p, t.x, t.n, classes), LIMN_OK);
    for (size_t i = 0; i < t.n; i++) {
        double f[PAIRS_MAX], answer = svm_predict_values(peer, t.row[i], f);
        assert_true(atof(limn_model_class_name(model, (size_t)classes[i])) == answer);
    }
    limn_predictor_free(p);
    svm_free_and_destroy_model(&peer);
    limn_model_free(model);
    limn_context_free(ctx);
    table_free(&t);
}

/* ---- probabilities ---- */

static void check_proba(size_t k, const char *type) {
    static double proba[ROWS_MAX * CLASSES_MAX];
    static int32_t classes[ROWS_MAX];
    char params[64];
    limn_context *ctx = make_context(NULL, 1, 1);
    table t = table_make(LIMN_CLASSIFY, 200, FEATURES, k, 1, 10 + k);
    snprintf(params, sizeof params, "probability=yes nu=0.3 type=%s", type);
    limn_model *model = must_train(ctx, &t, params);
    limn_predictor *p = must_predict(ctx, model, 1, 0);
    double sure = 0;
    assert_int_equal(limn_predict_proba(p, t.x, t.n, proba), LIMN_OK);
    assert_int_equal(limn_predict(p, t.x, t.n, classes), LIMN_OK);
    for (size_t i = 0; i < t.n; i++) {
        const double *row = proba + i * k;
        double sum = 0;
        size_t best = 0;
        for (size_t c = 0; c < k; c++) {
            assert_true(row[c] > 0 && row[c] < 1);
            sum += row[c];
            best = row[c] > row[best] ? c : best;
        }
        assert_true(fabs(sum - 1) < 1e-9);
        assert_int_equal(classes[i], best);
        sure += log(row[(size_t)t.y[i]]) / (double)t.n;
    }
    assert_true(sure > 0.8 * log(1 / (double)k)); /* they say something about the classes */
    limn_predictor_free(p);
    limn_model_free(model);
    limn_context_free(ctx);
    table_free(&t);
}

static void test_the_answer_is_the_most_probable_class(void **state) {
    (void)state;
    for (size_t k = 2; k <= CLASSES_MAX; k++) {
        check_proba(k, "c_svc");
        check_proba(k, "nu_svc");
    }
}

static void test_probabilities_are_near_those_of_libsvm(void **state) {
    (void)state;
    for (size_t k = 2; k <= CLASSES_MAX; k++) {
        static double proba[ROWS_MAX * CLASSES_MAX];
        double theirs[CLASSES_MAX], gap = 0;
        char params[256];
        limn_context *ctx = make_context(NULL, 2, 1);
        table t = table_make(LIMN_CLASSIFY, 300, FEATURES, k, 1, 20 + k);
        struct svm_parameter options = peer_options(C_SVC, RBF);
        params_of(&options, params);
        strcat(params, " probability=yes");
        limn_model *model = must_train(ctx, &t, params);
        options.probability = 1;
        struct svm_model *peer = peer_train(&t, &options);
        limn_predictor *p = must_predict(ctx, model, 1, 0);
        assert_int_equal(limn_predict_proba(p, t.x, t.n, proba), LIMN_OK);
        for (size_t i = 0; i < t.n; i++) {
            svm_predict_probability(peer, t.row[i], theirs);
            for (size_t c = 0; c < k; c++)
                gap += fabs(proba[i * k + c] - theirs[c]) / (double)(t.n * k);
        }
        assert_true(gap < 0.03); /* the folds are not the same */
        limn_predictor_free(p);
        svm_free_and_destroy_model(&peer);
        limn_model_free(model);
        limn_context_free(ctx);
        table_free(&t);
    }
}

static void test_probabilities_depend_on_the_seed_and_not_on_threads(void **state) {
    (void)state;
    table t = table_make(LIMN_CLASSIFY, 150, FEATURES, 4, 1, 30);
    limn_context *one = make_context(NULL, 1, 1), *four = make_context(NULL, 4, 1);
    limn_context *other = make_context(NULL, 4, 2);
    limn_model *a = must_train(one, &t, "probability=yes");
    limn_model *b = must_train(four, &t, "probability=yes");
    limn_model *c = must_train(other, &t, "probability=yes");
    assert_same_bytes(one, a, b, true);
    assert_same_bytes(one, a, c, false);
    taken first, second;
    take_machine(one, a, &first);
    take_machine(one, c, &second);
    assert_memory_equal(first.svm.rho, second.svm.rho, 6 * sizeof(double));
    assert_true(memcmp(first.svm.prob_a, second.svm.prob_a, 6 * sizeof(double)) != 0);
    taken_free(one, &first);
    taken_free(one, &second);
    limn_model_free(a);
    limn_model_free(b);
    limn_model_free(c);
    limn_context_free(one);
    limn_context_free(four);
    limn_context_free(other);
    table_free(&t);
}

/* ---- parameters by cross-validation ---- */

static size_t errors_of(limn_context *ctx, const limn_model *model, const table *t) {
    static int32_t classes[ROWS_MAX];
    size_t wrong = 0;
    limn_predictor *p = must_predict(ctx, model, 1, 0);
    assert_int_equal(limn_predict(p, t->x, t->n, classes), LIMN_OK);
    for (size_t i = 0; i < t->n; i++)
        wrong += classes[i] != (int32_t)t->y[i];
    limn_predictor_free(p);
    return wrong;
}

static void test_chosen_parameters_are_deterministic_and_no_worse_than_the_default(void **state) {
    (void)state;
    table t = table_make(LIMN_CLASSIFY, 90, FEATURES, 3, 2, 40);
    table fresh = table_make(LIMN_CLASSIFY, 600, FEATURES, 3, 2, 40); /* the same centres */
    limn_context *one = make_context(NULL, 1, 1), *four = make_context(NULL, 4, 1);
    limn_model *a = must_train(one, &t, "C=auto gamma=auto");
    limn_model *b = must_train(four, &t, "C=auto gamma=auto");
    limn_model *plain = must_train(one, &t, "");
    assert_same_bytes(one, a, b, true);
    assert_true(errors_of(one, a, &fresh) <= errors_of(one, plain, &fresh) + 6);
    /* Choosing C and gamma corrects a bad gamma; choosing C alone does not. */
    limn_model *bad = must_train(one, &t, "gamma=1000"), *c = must_train(one, &t, "gamma=auto");
    assert_true(errors_of(one, c, &fresh) + 60 < errors_of(one, bad, &fresh));
    limn_model_free(a);
    limn_model_free(b);
    limn_model_free(c);
    limn_model_free(bad);
    limn_model_free(plain);
    limn_context_free(one);
    limn_context_free(four);
    table_free(&t);
    table_free(&fresh);
}

static void test_chosen_parameters_of_a_regression_beat_a_bad_choice(void **state) {
    (void)state;
    static double values[ROWS_MAX];
    table t = table_make(LIMN_REGRESS, 100, 1, 2, 2, 41);
    limn_context *ctx = make_context(NULL, 2, 1);
    double loss[2] = {0, 0};
    for (int chosen = 0; chosen < 2; chosen++) {
        limn_model *model =
            must_train(ctx, &t, chosen ? "C=auto gamma=auto epsilon=0.01" : "C=0.01 gamma=0.001");
        limn_predictor *p = must_predict(ctx, model, 1, 0);
        assert_int_equal(limn_predict_values(p, t.x, t.n, values), LIMN_OK);
        for (size_t i = 0; i < t.n; i++)
            loss[chosen] += (values[i] - t.y[i]) * (values[i] - t.y[i]);
        limn_predictor_free(p);
        limn_model_free(model);
    }
    assert_true(loss[1] < 0.2 * loss[0]);
    limn_context_free(ctx);
    table_free(&t);
}

/* ---- what is refused ---- */

static void check_refused(const table *t, const char *params, limn_status status,
                          const char *sentence) {
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    limn_model *model = NULL;
    limn_status got = try_train(ctx, t, params, &model);
    assert_string_equal(limn_error(ctx), sentence);
    assert_int_equal(got, status);
    assert_null(model);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
}

static void test_what_cannot_be_trained_is_said_in_a_sentence(void **state) {
    (void)state;
    table t = table_make(LIMN_CLASSIFY, 60, FEATURES, 2, 1, 50);
    for (size_t i = 3; i < t.n; i++)
        t.y[i] = 1;
    check_refused(&t, "type=nu_svc nu=0.5", LIMN_E_DATA,
                  "svm: nu=0.5 is too large for classes of such different sizes; use a smaller nu "
                  "or type=c_svc");
    check_refused(&t, "type=one_class", LIMN_E_USAGE,
                  "svm: type=one_class is for the task outlier, not classify");
    check_refused(&t, "type=nu_svr", LIMN_E_USAGE,
                  "svm: type=nu_svr is for the task regress, not classify");
    t.task = LIMN_OUTLIER;
    check_refused(&t, "C=auto", LIMN_E_USAGE,
                  "svm: the task outlier has no labels to choose C by; give it a value");
    check_refused(&t, "gamma=auto", LIMN_E_USAGE,
                  "svm: the task outlier has no labels to choose gamma by; give it a value");
    t.task = LIMN_REGRESS;
    check_refused(&t, "class_weight=balanced", LIMN_E_USAGE,
                  "class_weight: the task regress has no classes; leave it out");
    table_free(&t);
}

/* Trained on the first `kept` of four known classes. */
static void check_absent(const table *all, size_t kept, const char *param) {
    limn_context *ctx = make_context(NULL, 1, 1);
    table part = *all;
    limn_train_options options;
    limn_model *whole = must_train(ctx, all, ""), *model = NULL;
    int32_t classes[ROWS_MAX];
    limn_train_options_init(&options);
    options.method = "svm";
    options.params = &param;
    options.param_count = param[0] != '\0';
    part.n = kept * all->n / 4;
    limn_data *data = table_data(ctx, &part);
    assert_int_equal(limn_data_match(ctx, data, whole), LIMN_OK);
    assert_int_equal(limn_data_class_count(data), 4);
    if (limn_train(ctx, data, &options, &model) != LIMN_OK)
        fail_msg("%zu of 4 classes, %s: %s", kept, param, limn_error(ctx));
    limn_predictor *p = must_predict(ctx, model, 1, 0);
    assert_int_equal(limn_predict(p, all->x, all->n, classes), LIMN_OK);
    for (size_t q = 0; q < all->n; q++)
        assert_in_range(classes[q], 0, kept - 1);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_model_free(whole);
    limn_data_free(data);
    limn_context_free(ctx);
}

static void test_a_class_without_rows_is_never_the_answer(void **state) {
    (void)state;
    table all = table_make(LIMN_CLASSIFY, 120, FEATURES, 4, 2, 51);
    for (size_t kept = 1; kept <= 4; kept++) {
        check_absent(&all, kept, "");
        check_absent(&all, kept, "probability=yes");
        check_absent(&all, kept, "C=auto");
        check_absent(&all, kept, "class_weight=balanced");
    }
    table_free(&all);
}

static void test_one_class_only_is_a_constant(void **state) {
    (void)state;
    static const char *const params[] = {"", "probability=yes", "C=auto gamma=auto",
                                         "type=nu_svc probability=yes"};
    char path[PATH];
    table t = table_make(LIMN_CLASSIFY, 30, FEATURES, 1, 1, 52);
    for (size_t i = 0; i < LM_COUNT(params); i++) {
        limn_context *ctx = make_context(NULL, 2, 1);
        limn_model *model = must_train(ctx, &t, params[i]);
        assert_int_equal(limn_model_save(ctx, model, in_folder("one.limn", path)), LIMN_OK);
        limn_model_free(model);
        model = must_open(ctx, path);
        double proba[30];
        assert_int_equal(errors_of(ctx, model, &t), 0);
        limn_predictor *p = must_predict(ctx, model, 1, 1);
        assert_int_equal(limn_predict_proba(p, t.x, t.n, proba), LIMN_OK);
        for (size_t q = 0; q < t.n; q++)
            assert_true(proba[q] == 1);
        limn_predictor_free(p);
        limn_model_free(model);
        limn_context_free(ctx);
    }
    table_free(&t);
}

/* ---- cancelling ---- */

typedef struct canceller {
    const char *stage;
    int heard;
} canceller;

static int cancel_in(void *user, const limn_progress *progress) {
    canceller *c = user;
    bool here = strcmp(progress->stage, c->stage) == 0;
    c->heard += here;
    return here;
}

static size_t thread_count(void) {
    size_t count = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

static void check_cancel(const table *t, const char *params, const char *stage) {
    counting count = {0};
    canceller c = {stage, 0};
    limn_context *ctx = make_context(&count, 1, 1);
    limn_model *model = NULL;
    size_t threads = thread_count();
    ctx->progress = cancel_in;
    ctx->user = &c;
    assert_int_equal(try_train(ctx, t, params, &model), LIMN_E_CANCELLED);
    assert_null(model);
    assert_true(c.heard > 0);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    /* The solver, which might run for hours, also stops, sooner or later. */
    for (int patience = 12000; thread_count() > threads; patience--) {
        assert_true(patience > 0);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

static void test_cancelling_ends_calibration_and_selection(void **state) {
    (void)state;
    table t = table_make(LIMN_CLASSIFY, 90, FEATURES, 3, 1, 60);
    check_cancel(&t, "probability=yes", "calibrating");
    check_cancel(&t, "C=auto", "selecting");
    table_free(&t);
}

static void test_cancelling_ends_training_without_waiting_for_libsvm(void **state) {
    (void)state;
    static const char endless[] = "kernel=linear C=1e12 tolerance=1e-14";
    table t = table_make(LIMN_CLASSIFY, 700, FEATURES, 2, 0, 61); /* nothing to tell apart */
    check_cancel(&t, endless, "training");
    t.task = LIMN_REGRESS;
    check_cancel(&t, endless, "training");
    table_free(&t);
}

/* ---- many rows, many classes, little memory ---- */

static void test_two_threads_give_the_answers_of_one(void **state) {
    (void)state;
    static double proba[2][ROWS_MAX * 4], scores[2][ROWS_MAX * 6];
    static int32_t classes[4][ROWS_MAX];
    limn_context *ctx = make_context(NULL, 2, 1);
    table t = table_make(LIMN_CLASSIFY, 700, FEATURES, 4, 1, 110);
    limn_model *model = must_train(ctx, &t, "probability=yes");
    for (int threads = 1; threads <= 2; threads++)
        for (int vote = 0; vote < 2; vote++) {
            limn_predictor *p = must_predict(ctx, model, threads, vote);
            int at = threads - 1;
            assert_int_equal(limn_predict(p, t.x, t.n, classes[2 * vote + at]), LIMN_OK);
            assert_int_equal(limn_predict_proba(p, t.x, t.n, proba[at]), LIMN_OK);
            assert_int_equal(limn_predict_scores(p, t.x, t.n, scores[at]), LIMN_OK);
            limn_predictor_free(p);
        }
    assert_memory_equal(classes[0], classes[1], sizeof classes[0]);
    assert_memory_equal(classes[2], classes[3], sizeof classes[0]);
    assert_memory_equal(proba[0], proba[1], sizeof proba[0]);
    assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
    limn_model_free(model);
    limn_context_free(ctx);
    table_free(&t);
}

/* More classes than the vote counters have room for: three hundred points on a circle. */
static void test_three_hundred_classes_vote(void **state) {
    (void)state;
    enum { K = 300, PAIRS = K * (K - 1) / 2, ASKED = 20 };
    limn_context *ctx = make_context(NULL, 2, 1);
    table t = table_make(LIMN_CLASSIFY, K, 2, K, 1, 120);
    for (size_t i = 0; i < K; i++) {
        t.x[2 * i] = (float)cos(6.2831853 * (double)i / K);
        t.x[2 * i + 1] = (float)sin(6.2831853 * (double)i / K);
    }
    limn_model *model = must_train(ctx, &t, "C=1000 cache=1");
    limn_predictor *p = must_predict(ctx, model, 1, 1);
    double *scores = malloc(ASKED * PAIRS * sizeof *scores);
    int32_t classes[ASKED];
    assert_int_equal(limn_predict(p, t.x + 200, ASKED, classes), LIMN_OK);
    assert_int_equal(limn_predict_scores(p, t.x + 200, ASKED, scores), LIMN_OK);
    for (size_t q = 0; q < ASKED; q++) {
        size_t votes[K] = {0}, best = 0;
        for (size_t s = 0; s < PAIRS; s++) {
            size_t first, second;
            assert_true(limn_model_score_pair(model, s, &first, &second));
            votes[scores[q * PAIRS + s] > 0 ? first : second]++;
        }
        for (size_t c = 0; c < K; c++)
            best = votes[c] > votes[best] ? c : best;
        assert_int_equal(classes[q], best);
        assert_int_equal(best, 100 + q); /* each row is nearest to itself */
    }
    free(scores);
    limn_predictor_free(p);
    limn_model_free(model);
    limn_context_free(ctx);
    table_free(&t);
}

static limn_status train_once(limn_context *ctx, const table *t) {
    limn_model *model = NULL;
    limn_status status = try_train(ctx, t, "probability=yes class_weight=0:2", &model);
    limn_model_free(model);
    return status;
}

static void test_failing_allocations_are_reported(void **state) {
    (void)state;
    table t = table_make(LIMN_CLASSIFY, 24, 2, 3, 1, 130);
    check_memory(train_once, &t);
    table_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_gives_the_machine_of_libsvm_for_every_type_and_kernel),
        cmocka_unit_test(test_tolerance_and_shrinking_reach_libsvm),
        cmocka_unit_test(test_defaults_are_those_of_svm_train),
        cmocka_unit_test(test_class_weight_multiplies_the_cost_of_a_class),
        cmocka_unit_test(test_rows_in_any_order_give_classes_their_names),
        cmocka_unit_test(test_the_answer_is_the_most_probable_class),
        cmocka_unit_test(test_probabilities_are_near_those_of_libsvm),
        cmocka_unit_test(test_probabilities_depend_on_the_seed_and_not_on_threads),
        cmocka_unit_test(test_chosen_parameters_are_deterministic_and_no_worse_than_the_default),
        cmocka_unit_test(test_chosen_parameters_of_a_regression_beat_a_bad_choice),
        cmocka_unit_test(test_what_cannot_be_trained_is_said_in_a_sentence),
        cmocka_unit_test(test_a_class_without_rows_is_never_the_answer),
        cmocka_unit_test(test_one_class_only_is_a_constant),
        cmocka_unit_test(test_cancelling_ends_calibration_and_selection),
        cmocka_unit_test(test_cancelling_ends_training_without_waiting_for_libsvm),
        cmocka_unit_test(test_two_threads_give_the_answers_of_one),
        cmocka_unit_test(test_three_hundred_classes_vote),
        cmocka_unit_test(test_failing_allocations_are_reported),
    };
    svm_set_print_string_function(quiet);
    return cmocka_run_group_tests_name("svm", tests, make_folder, remove_folder);
}
