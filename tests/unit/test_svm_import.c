/* test_svm_import.c: LIBSVM's text models read and written by the method svm: the same answers
 * as libsvm's for the same files. */
#include "svm_peer.h"

#include <zlib.h>

/* ---- LIBSVM's text models ---- */

/* A libsvm model that libsvm wrote and read again; t.y are the labels. */
static struct svm_model *peer_file(const table *t, const struct svm_parameter *options,
                                   const char *path) {
    struct svm_model *trained = peer_train(t, options);
    assert_int_equal(svm_save_model(path, trained), 0);
    svm_free_and_destroy_model(&trained);
    struct svm_model *read = svm_load_model(path);
    assert_non_null(read);
    return read;
}

/* 1e-4, except for flat machines, whose sigmoids are so steep that the last bits of f show. */
static double proba_bound(const struct svm_model *peer, const struct svm_node *x) {
    double f[PAIRS_MAX], size[PAIRS_MAX], answer, steep = 0;
    size_t pairs = peer_values(peer, x, f, size, &answer);
    for (size_t i = 0; i < pairs; i++)
        steep = fmax(steep, 1e-6 * size[i] * fabs(peer->probA[i]));
    return steep > 1e-4 ? 1e-4 + steep : 1e-4;
}

/* Probabilities, and the answers they imply. Returns how many rows agree to 1e-4. */
static size_t assert_same_proba(limn_context *ctx, const limn_model *model,
                                const struct svm_model *peer, const table *t) {
    static double proba[ROWS_MAX * CLASSES_MAX];
    static int32_t classes[ROWS_MAX];
    double theirs[CLASSES_MAX];
    size_t k = (size_t)peer->nr_class, close = 0;
    limn_predictor *p = must_predict(ctx, model, 1, 0);
    assert_int_equal(limn_predict_proba(p, t->x, t->n, proba), LIMN_OK);
    assert_int_equal(limn_predict(p, t->x, t->n, classes), LIMN_OK);
    for (size_t q = 0; q < t->n; q++) {
        double answer = svm_predict_probability(peer, t->row[q], theirs), best = 0, next = 0;
        double bound = proba_bound(peer, t->row[q]), worst = 0;
        for (size_t c = 0; c < k; c++) {
            worst = fmax(worst, fabs(proba[q * k + c] - theirs[c]));
            next = fmax(next, fmin(best, theirs[c]));
            best = fmax(best, theirs[c]);
        }
        if (!(worst <= bound))
            fail_msg("row %zu: a probability is wrong by %.3g", q, worst);
        if (best - next > 2 * bound)
            assert_true(atof(limn_model_class_name(model, (size_t)classes[q])) == answer);
        close += worst <= 1e-4;
    }
    limn_predictor_free(p);
    return close;
}

static void assert_proba(limn_context *ctx, const limn_model *model, const struct svm_model *peer,
                         const table *t) {
    size_t close = assert_same_proba(ctx, model, peer, t);
    if (peer->param.kernel_type == RBF)
        assert_int_equal(close, t->n);
}

static void check_import(int type, int kernel, size_t k) {
    static const int names[CLASSES_MAX] = {7, -3, 12, 0, 2};
    counting count = {0};
    char path[PATH], kept[PATH];
    limn_context *ctx = make_context(&count, 1, 1);
    struct svm_parameter options = peer_options(type, kernel);
    table t = table_make(task_of(type), 150, FEATURES, k, 1, 70 + k);
    for (size_t i = 0; i < t.n && type <= NU_SVC; i++)
        t.y[i] = names[(size_t)t.y[i]];
    options.probability = type != ONE_CLASS;
    struct svm_model *peer = peer_file(&t, &options, in_folder("import.model", path));
    limn_model *model = must_open(ctx, path);
    for (int again = 0; again < 2; again++) {
        limn_model_info info = {.size = sizeof info};
        limn_model_describe(model, &info);
        assert_int_equal(info.task, t.task);
        assert_int_equal(info.rows, 0);
        assert_int_equal(info.features, FEATURES);
        assert_clear(ctx, model, peer, &t);
        if (type <= NU_SVC)
            assert_proba(ctx, model, peer, &t);
        for (size_t c = 0; c < k && type <= NU_SVC; c++)
            assert_int_equal(atoi(limn_model_class_name(model, c)), names[c]);
        /* and again after saving in limn's own format */
        assert_int_equal(limn_model_save(ctx, model, in_folder("kept.limn", kept)), LIMN_OK);
        limn_model_free(model);
        model = must_open(ctx, kept);
    }
    limn_model_free(model);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    svm_free_and_destroy_model(&peer);
    table_free(&t);
}

static void test_text_models_of_every_type_and_kernel_give_the_answers_of_libsvm(void **state) {
    (void)state;
    for (int type = C_SVC; type <= NU_SVR; type++)
        for (int kernel = LINEAR; kernel <= SIGMOID; kernel++)
            for (size_t k = 2; k <= (type <= NU_SVC ? CLASSES_MAX : 2); k++)
                check_import(type, kernel, k);
}

static void test_outliers_are_called_minus_one_and_one(void **state) {
    (void)state;
    char path[PATH];
    limn_context *ctx = make_context(NULL, 1, 1);
    table t = table_make(LIMN_OUTLIER, 100, FEATURES, 1, 1, 80);
    struct svm_parameter options = peer_options(ONE_CLASS, RBF);
    struct svm_model *peer = peer_file(&t, &options, in_folder("one_class.model", path));
    char params[256];
    limn_model *models[] = {must_train(ctx, &t, params_of(&options, params)), must_open(ctx, path)};
    for (size_t m = 0; m < 2; m++) {
        int32_t classes[100];
        size_t outside = 0, close = assert_same_answers(ctx, models[m], peer, &t);
        limn_predictor *p = must_predict(ctx, models[m], 1, 0);
        assert_int_equal(limn_predict(p, t.x, t.n, classes), LIMN_OK);
        assert_string_equal(limn_model_class_name(models[m], 0), "-1");
        assert_string_equal(limn_model_class_name(models[m], 1), "1");
        assert_null(limn_model_class_name(models[m], 2));
        for (size_t i = 0; i < t.n; i++)
            outside += classes[i] == 0;
        assert_true(close < 50 && outside > 10 && outside < 50); /* nu = 0.25 */
        limn_predictor_free(p);
        limn_model_free(models[m]);
    }
    svm_free_and_destroy_model(&peer);
    limn_context_free(ctx);
    table_free(&t);
}

/* ---- export ---- */

static void check_export(int type, int kernel, size_t k) {
    char params[256], path[PATH], again[PATH];
    counting count = {0};
    limn_context *ctx = make_context(&count, 1, 1);
    struct svm_parameter options = peer_options(type, kernel);
    table t = table_make(task_of(type), 100, FEATURES, k, 1, 90 + k);
    for (size_t i = 0; i < t.n && type <= NU_SVC; i++)
        t.y[i] = 10 - 3 * t.y[i];
    params_of(&options, params);
    strcat(params, type <= NU_SVC ? " probability=yes" : "");
    limn_model *model = must_train(ctx, &t, params);
    assert_int_equal(limn_model_export(ctx, model, in_folder("export.model", path)), LIMN_OK);
    struct svm_model *peer = svm_load_model(path);
    assert_non_null(peer);
    assert_clear(ctx, model, peer, &t);
    limn_model_free(model);
    /* Read back, it is a LIBSVM model, including the way it couples probabilities. */
    model = must_open(ctx, path);
    if (type <= NU_SVC)
        assert_proba(ctx, model, peer, &t);
    assert_int_equal(limn_model_export(ctx, model, in_folder("again.model", again)), LIMN_OK);
    limn_model *third = must_open(ctx, again);
    assert_same_bytes(ctx, model, third, true);
    limn_model_free(third);
    limn_model_free(model);
    svm_free_and_destroy_model(&peer);
    limn_context_free(ctx);
    assert_int_equal(count.live, 0);
    table_free(&t);
}

static void test_libsvm_reads_what_is_exported(void **state) {
    (void)state;
    for (int type = C_SVC; type <= NU_SVR; type++)
        for (int kernel = LINEAR; kernel <= SIGMOID; kernel++)
            for (size_t k = 2; k <= (type <= NU_SVC ? CLASSES_MAX : 2); k += 3)
                check_export(type, kernel, k);
}

/* ---- features that the model does not know ---- */

enum { WIDE = FEATURES + 3 };

static void write_libsvm(const table *t, const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < t->n; i++) {
        fprintf(file, "%d", (int)t->y[i]);
        for (const struct svm_node *node = t->row[i]; node->index != -1; node++)
            fprintf(file, " %d:%.9g", node->index, node->value);
        fputc('\n', file);
    }
    fclose(file);
}

/* A model of FEATURES features, and a file whose rows have more. */
typedef struct beyond {
    limn_context *ctx;
    limn_model *model;
    struct svm_model *peer;
    table wide;
    char rows[PATH];
    limn_read_options reading;
} beyond;

/* A piece of the file: with the features beyond the model, and without. Returns whether they
 * differ. */
static bool check_piece(const beyond *b, limn_predictor *p, const limn_rows *piece, size_t done) {
    double scores[33 * 3], bare[33 * 3], f[3], size[3], answer;
    float narrow[33 * FEATURES];
    assert_int_equal(piece->width, FEATURES + 1);
    for (size_t i = 0; i < piece->n; i++)
        memcpy(narrow + i * FEATURES, piece->x + i * piece->width, sizeof *narrow * FEATURES);
    assert_int_equal(limn_predict_scores(p, narrow, piece->n, bare), LIMN_OK);
    assert_int_equal(
        limn_predict_rows(p, LIMN_ANSWER_SCORES, piece->x, 1, piece->width + 1, scores),
        LIMN_E_USAGE);
    assert_int_equal(
        limn_predict_rows(p, LIMN_ANSWER_SCORES, piece->x, piece->n, piece->width, scores),
        LIMN_OK);
    for (size_t i = 0; i < piece->n; i++) {
        peer_values(b->peer, b->wide.row[done + i], f, size, &answer);
        for (size_t s = 0; s < 3; s++)
            assert_true(fabs(scores[i * 3 + s] - f[s]) <= BOUND * size[s]);
    }
    return memcmp(scores, bare, piece->n * 3 * sizeof *bare) != 0;
}

static void check_pieces(const beyond *b, bool rbf) {
    limn_predictor *p = must_predict(b->ctx, b->model, 1, 0);
    limn_reader *reader = NULL;
    limn_rows piece = {.size = sizeof piece};
    size_t done = 0, changed = 0;
    assert_int_equal(limn_reader_open(b->ctx, b->rows, &b->reading, b->model, &reader), LIMN_OK);
    for (; limn_reader_next(reader, 33, &piece) == LIMN_OK && piece.n; done += piece.n)
        changed += check_piece(b, p, &piece, done);
    assert_int_equal(done, b->wide.n);
    assert_int_equal(changed > 0, rbf);
    limn_reader_free(reader);
    limn_predictor_free(p);
}

/* The whole file at once, as limn eval reads it. */
static void check_whole(const beyond *b) {
    limn_data *data = NULL;
    limn_evaluation e = {.size = sizeof e};
    size_t right = 0;
    double values[3];
    limn_eval_options evaluating;
    limn_eval_options_init(&evaluating);
    evaluating.measure_speed = 0;
    assert_int_equal(limn_data_read(b->ctx, b->rows, &b->reading, b->model, &data), LIMN_OK);
    assert_int_equal(limn_data_features(data), FEATURES);
    assert_int_equal(limn_data_width(data), FEATURES + 1);
    assert_int_equal(limn_evaluate(b->ctx, b->model, data, &evaluating, &e), LIMN_OK);
    for (size_t i = 0; i < b->wide.n; i++)
        right += svm_predict_values(b->peer, b->wide.row[i], values) == b->wide.y[i];
    assert_true(fabs(e.accuracy - (double)right / (double)b->wide.n) < 1e-9);
    limn_evaluation_free(&e);
    limn_data_free(data);
}

/* Rows that were read for an imported model train another one with only their features. */
static void check_training(const beyond *b) {
    limn_data *data = NULL, *narrow = NULL;
    limn_model *models[2] = {NULL, NULL};
    double proba[2][120 * 3];
    limn_train_options options;
    float *x = malloc(b->wide.n * FEATURES * sizeof *x);
    double *y = malloc(b->wide.n * sizeof *y);
    assert_int_equal(limn_data_read(b->ctx, b->rows, &b->reading, b->model, &data), LIMN_OK);
    for (size_t i = 0; i < data->n; i++) {
        memcpy(x + i * FEATURES, data->x + i * (FEATURES + 1), FEATURES * sizeof *x);
        y[i] = atof(limn_data_class_name(data, (size_t)data->label[i]));
    }
    assert_int_equal(limn_data_from_values(b->ctx, LIMN_CLASSIFY, x, data->n, FEATURES, y, &narrow),
                     LIMN_OK);
    limn_train_options_init(&options);
    options.method = "lda";
    options.scale = LIMN_SCALE_ZSCORE;
    assert_int_equal(limn_train(b->ctx, data, &options, &models[0]), LIMN_OK);
    assert_int_equal(limn_train(b->ctx, narrow, &options, &models[1]), LIMN_OK);
    for (int m = 0; m < 2; m++) {
        limn_predictor *p = must_predict(b->ctx, models[m], 1, 0);
        assert_int_equal(limn_predict_proba(p, x, data->n, proba[m]), LIMN_OK);
        limn_predictor_free(p);
        limn_model_free(models[m]);
    }
    for (size_t i = 0; i < data->n; i++) /* classes may be numbered in another order */
        for (size_t c = 0; c < 3; c++) {
            size_t other = 0;
            while (strcmp(limn_data_class_name(narrow, other), limn_data_class_name(data, c)) != 0)
                other++;
            assert_true(fabs(proba[0][i * 3 + c] - proba[1][i * 3 + other]) < 1e-5);
        }
    limn_data_free(data);
    limn_data_free(narrow);
    free(x);
    free(y);
}

static void check_beyond(int kernel) {
    char path[PATH];
    struct svm_parameter options = peer_options(C_SVC, kernel);
    table t = table_make(LIMN_CLASSIFY, 120, FEATURES, 3, 1, 100);
    beyond b = {.ctx = make_context(NULL, 1, 1),
                .wide = table_make(LIMN_CLASSIFY, 120, WIDE, 3, 1, 101)};
    b.peer = peer_file(&t, &options, in_folder("narrow.model", path));
    write_libsvm(&b.wide, in_folder("wide.svm", b.rows));
    b.model = must_open(b.ctx, path);
    limn_read_options_init(&b.reading);
    check_pieces(&b, kernel == RBF);
    check_whole(&b);
    check_training(&b);
    limn_model_free(b.model);
    svm_free_and_destroy_model(&b.peer);
    limn_context_free(b.ctx);
    table_free(&t);
    table_free(&b.wide);
}

static void test_features_beyond_the_model_count_as_in_libsvm(void **state) {
    (void)state;
    for (int kernel = LINEAR; kernel <= SIGMOID; kernel++)
        check_beyond(kernel);
}

static void test_features_beyond_a_model_of_limn_are_refused(void **state) {
    (void)state;
    char path[PATH];
    limn_context *ctx = make_context(NULL, 1, 1);
    table t = table_make(LIMN_CLASSIFY, 60, FEATURES, 2, 1, 100);
    table wide = table_make(LIMN_CLASSIFY, 60, WIDE, 2, 1, 101);
    write_libsvm(&wide, in_folder("wide.svm", path));
    limn_model *model = must_train(ctx, &t, "");
    limn_read_options reading;
    limn_data *data = NULL;
    limn_read_options_init(&reading);
    assert_int_equal(limn_data_read(ctx, path, &reading, model, &data), LIMN_E_DATA);
    assert_null(data);
    limn_model_free(model);
    limn_context_free(ctx);
    table_free(&t);
    table_free(&wide);
}

/* ---- memory ---- */

static limn_status open_and_export(limn_context *ctx, const table *t) {
    (void)t;
    char path[PATH], out[PATH];
    limn_model *model = NULL;
    limn_status status = limn_model_open(ctx, in_folder("memory.model", path), &model);
    if (status == LIMN_OK)
        status = limn_model_export(ctx, model, in_folder("memory.out", out));
    limn_model_free(model);
    return status;
}

static void test_failing_allocations_of_import_and_export_are_reported(void **state) {
    (void)state;
    char path[PATH];
    table t = table_make(LIMN_CLASSIFY, 24, 2, 3, 1, 130);
    struct svm_parameter options = peer_options(C_SVC, RBF);
    options.probability = 1;
    struct svm_model *peer = peer_file(&t, &options, in_folder("memory.model", path));
    svm_free_and_destroy_model(&peer);
    check_memory(open_and_export, &t);
    table_free(&t);
}

static void test_a_file_of_limn_that_claims_to_be_imported_is_refused(void **state) {
    (void)state;
    limn_context *ctx = make_context(NULL, 1, 1);
    limn_data *data = make_data(ctx, LIMN_CLASSIFY, SHAPE_RANDOM, 30, 1);
    limn_model *model = NULL, *loaded = NULL;
    limn_train_options options;
    unsigned char *bytes;
    size_t size;
    lm_file *file = NULL;
    limn_train_options_init(&options);
    options.method = "knn";
    assert_int_equal(limn_train(ctx, data, &options, &model), LIMN_OK);
    model->schema.beyond = true; /* rows of one float more than it holds */
    assert_int_equal(lm_model_bytes(ctx, model, &bytes, &size), LIMN_OK);
    assert_int_equal(lm_file_from_memory(ctx, bytes, size, "x", &file), LIMN_OK);
    assert_int_equal(lm_model_load(ctx, file, &loaded), LIMN_E_MODEL);
    assert_non_null(strstr(limn_error(ctx), "knn models are never imported"));
    model->schema.beyond = false;
    lm_free(&ctx->mem, bytes);
    limn_model_free(model);
    limn_data_free(data);
    limn_context_free(ctx);
}

/* ---- what a file is ---- */

static limn_kind kind_of(limn_context *ctx, const char *path) {
    limn_kind kind = (limn_kind)-1;
    assert_int_equal(limn_file_kind(ctx, path, &kind), LIMN_OK);
    return kind;
}

static void write_bytes(const char *path, const void *bytes, size_t size, bool packed) {
    if (packed) {
        gzFile file = gzopen(path, "wb");
        assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
        gzclose(file);
        return;
    }
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void test_models_are_told_from_data(void **state) {
    (void)state;
    char path[PATH], own[PATH], other[PATH];
    limn_context *ctx = make_context(NULL, 1, 1);
    struct svm_parameter options = peer_options(C_SVC, RBF);
    table t = table_make(LIMN_CLASSIFY, 60, FEATURES, 3, 1, 100);
    struct svm_model *peer = peer_file(&t, &options, in_folder("kind.model", path));
    limn_model *model = must_open(ctx, path);
    assert_int_equal(limn_model_save(ctx, model, in_folder("kind.limn", own)), LIMN_OK);
    assert_int_equal(kind_of(ctx, path), LIMN_KIND_FOREIGN);
    assert_int_equal(kind_of(ctx, own), LIMN_KIND_MODEL);
    static const char text[] = "svm_type c_svc\nkernel_type linear\nnr_class 2\n";
    write_bytes(in_folder("a", other), text, sizeof text - 1, true);
    assert_int_equal(kind_of(ctx, other), LIMN_KIND_FOREIGN);
    write_bytes(other, "a,b,c\n1,2,3\n", 12, false);
    assert_int_equal(kind_of(ctx, other), LIMN_KIND_DATA);
    write_bytes(other, "limn\r\n", 6, false); /* too short to be one */
    assert_int_equal(kind_of(ctx, other), LIMN_KIND_DATA);
    write_bytes(other, "\x1f\x8b\x08 not gzip", 12, false);
    assert_int_equal(kind_of(ctx, other), LIMN_KIND_DATA);
    write_bytes(other, "", 0, false);
    assert_int_equal(kind_of(ctx, other), LIMN_KIND_DATA);
    assert_int_equal(kind_of(ctx, "-"), LIMN_KIND_DATA);
    assert_int_equal(kind_of(ctx, "/dev/null"), LIMN_KIND_DATA);
    assert_int_equal(kind_of(ctx, in_folder("nothing.there", other)), LIMN_KIND_DATA);
    limn_model_free(model);
    svm_free_and_destroy_model(&peer);
    limn_context_free(ctx);
    table_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_models_of_every_type_and_kernel_give_the_answers_of_libsvm),
        cmocka_unit_test(test_outliers_are_called_minus_one_and_one),
        cmocka_unit_test(test_libsvm_reads_what_is_exported),
        cmocka_unit_test(test_features_beyond_the_model_count_as_in_libsvm),
        cmocka_unit_test(test_features_beyond_a_model_of_limn_are_refused),
        cmocka_unit_test(test_a_file_of_limn_that_claims_to_be_imported_is_refused),
        cmocka_unit_test(test_models_are_told_from_data),
        cmocka_unit_test(test_failing_allocations_of_import_and_export_are_reported),
    };
    svm_set_print_string_function(quiet);
    return cmocka_run_group_tests_name("svm_import", tests, make_folder, remove_folder);
}
