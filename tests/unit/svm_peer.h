/* svm_peer.h: libsvm next to limn: the same rows for both, and answers compared within the bound
 * that limn promises. */
#ifndef LIMN_TESTS_SVM_PEER_H
#define LIMN_TESTS_SVM_PEER_H

#include "model/model.h"
#include "support.h"
#include "svm/machine.h"

#include <dirent.h>
#include <libsvm/svm.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs two of the above */
#include <cmocka.h>

enum { FEATURES = 4, ROWS_MAX = 700, CLASSES_MAX = 5, PAIRS_MAX = 10, PATH = 128 };
#define BOUND 1e-5 /* of sum |coef| K + |rho| */

/* ---- a folder for files ---- */

static char folder[64];

static inline const char *in_folder(const char *name, char *path) {
    snprintf(path, PATH, "%s/%s", folder, name);
    return path;
}

static inline int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/limn-svm-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[sizeof folder + sizeof e->d_name];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        remove(path);
    }
    if (dir)
        closedir(dir);
    return rmdir(folder);
}

/* ---- rows ---- */

typedef struct table {
    limn_task task;
    size_t n, d, k;
    float *x;
    double *y; /* class or target */
    struct svm_node *nodes, **row;
} table;

/* Overlapping classes, grouped (0, 1, 2, ...) so that libsvm numbers them in this order; or a
 * curve with noise. Some values are 0, which libsvm leaves out. */
static inline table table_make(limn_task task, size_t n, size_t d, size_t k, double apart,
                               uint64_t seed) {
    table t = {task, n, d, k, calloc(n * d, sizeof(float)), calloc(n, sizeof(double)), NULL, NULL};
    double *centre = calloc(k * d, sizeof *centre);
    lm_rng rng = lm_rng_at(seed, 3000, k);
    for (size_t i = 0; i < k * d; i++)
        centre[i] = apart * lm_rng_normal(&rng);
    for (size_t i = 0; i < n; i++) {
        size_t class = i * k / n;
        for (size_t j = 0; j < d; j++)
            if (lm_rng_below(&rng, 8))
                t.x[i * d + j] = (float)(centre[class * d + j] + lm_rng_normal(&rng));
        t.y[i] = task == LIMN_REGRESS ? sin((double)t.x[i * d]) + 0.1 * lm_rng_normal(&rng)
                                      : (double)class;
    }
    free(centre);
    t.nodes = calloc(n * (d + 1), sizeof *t.nodes);
    t.row = calloc(n, sizeof *t.row);
    struct svm_node *node = t.nodes;
    for (size_t i = 0; i < n; i++) {
        t.row[i] = node;
        for (size_t j = 0; j < d; j++)
            if (t.x[i * d + j] != 0)
                *node++ = (struct svm_node){(int)j + 1, (double)t.x[i * d + j]};
        *node++ = (struct svm_node){-1, 0};
    }
    return t;
}

static inline void table_free(table *t) {
    free(t->x);
    free(t->y);
    free(t->nodes);
    free(t->row);
}

static inline limn_task task_of(int type) {
    return type <= NU_SVC ? LIMN_CLASSIFY : type == ONE_CLASS ? LIMN_OUTLIER : LIMN_REGRESS;
}

/* ---- libsvm ---- */

static inline void quiet(const char *text) {
    (void)text;
}

static inline struct svm_parameter peer_options(int type, int kernel) {
    return (struct svm_parameter){.svm_type = type,
                                  .kernel_type = kernel,
                                  .degree = 3,
                                  .gamma = 0.3,
                                  .coef0 = kernel == POLY      ? 0.5
                                           : kernel == SIGMOID ? -0.25
                                                               : 0,
                                  .cache_size = 10,
                                  .eps = 1e-3,
                                  .C = 2,
                                  .nu = 0.25,
                                  .p = 0.2,
                                  .shrinking = 1};
}

/* The model points to the rows of the table. */
static inline struct svm_model *peer_train(const table *t, const struct svm_parameter *options) {
    struct svm_problem problem = {(int)t->n, t->y, t->row};
    const char *wrong = svm_check_parameter(&problem, options);
    if (wrong)
        fail_msg("libsvm: %s", wrong);
    struct svm_model *model = svm_train(&problem, options);
    assert_non_null(model);
    return model;
}

static inline double peer_kernel(const struct svm_parameter *p, const struct svm_node *a,
                                 const struct svm_node *b) {
    double dot = 0, distance = 0;
    while (a->index != -1 || b->index != -1) {
        bool from_a = b->index == -1 || (a->index != -1 && a->index <= b->index);
        bool from_b = a->index == -1 || (b->index != -1 && b->index <= a->index);
        double u = from_a ? a->value : 0, v = from_b ? b->value : 0;
        dot += u * v;
        distance += (u - v) * (u - v);
        a += from_a;
        b += from_b;
    }
    double inner = p->gamma * dot + p->coef0;
    return p->kernel_type == LINEAR ? dot
           : p->kernel_type == RBF  ? exp(-p->gamma * distance)
           : p->kernel_type == POLY ? pow(inner, p->degree)
                                    : tanh(inner);
}

static inline double peer_part(const struct svm_model *m, const double *coef, int first, int count,
                               const struct svm_node *x) {
    double sum = 0;
    for (int i = first; i < first + count; i++)
        sum += fabs(coef[i] * peer_kernel(&m->param, m->SV[i], x));
    return sum;
}

/* f as libsvm gives it, the magnitude that errors are relative to (sum |coef| K + |rho|), and
 * libsvm's answer. Returns the number of f. */
static inline size_t peer_values(const struct svm_model *m, const struct svm_node *x, double *f,
                                 double *size, double *answer) {
    size_t at = 0;
    *answer = svm_predict_values(m, x, f);
    if (m->param.svm_type > NU_SVC) {
        size[0] = peer_part(m, m->sv_coef[0], 0, m->l, x) + fabs(m->rho[0]);
        return 1;
    }
    for (int i = 0, first = 0; i < m->nr_class; first += m->nSV[i++])
        for (int j = i + 1, second = first + m->nSV[i]; j < m->nr_class; second += m->nSV[j++]) {
            size[at] = peer_part(m, m->sv_coef[j - 1], first, m->nSV[i], x) +
                       peer_part(m, m->sv_coef[i], second, m->nSV[j], x) + fabs(m->rho[at]);
            at++;
        }
    return at;
}

/* ---- limn ---- */

static inline limn_data *table_data(limn_context *ctx, const table *t) {
    limn_data *data = NULL;
    const double *y = t->task == LIMN_OUTLIER ? NULL : t->y;
    if (limn_data_from_values(ctx, t->task, t->x, t->n, t->d, y, &data) != LIMN_OK)
        return NULL;
    return data;
}

/* params: separated by blanks. */
static inline limn_status try_train(limn_context *ctx, const table *t, const char *params,
                                    limn_model **model) {
    char text[256];
    const char *list[16];
    limn_train_options options;
    limn_train_options_init(&options);
    options.method = "svm";
    options.scale = LIMN_SCALE_NONE;
    options.params = list;
    snprintf(text, sizeof text, "%s", params);
    for (char *at = strtok(text, " "); at; at = strtok(NULL, " "))
        list[options.param_count++] = at;
    *model = NULL;
    limn_data *data = table_data(ctx, t);
    limn_status status = data ? limn_train(ctx, data, &options, model) : LIMN_E_MEMORY;
    limn_data_free(data);
    return status;
}

static inline limn_model *must_train(limn_context *ctx, const table *t, const char *params) {
    limn_model *model = NULL;
    if (try_train(ctx, t, params, &model) != LIMN_OK)
        fail_msg("not trained: %s", limn_error(ctx));
    return model;
}

static inline limn_model *must_open(limn_context *ctx, const char *path) {
    limn_model *model = NULL;
    if (limn_model_open(ctx, path, &model) != LIMN_OK)
        fail_msg("not opened: %s", limn_error(ctx));
    return model;
}

static inline limn_predictor *must_predict(limn_context *ctx, const limn_model *model, int threads,
                                           int vote) {
    limn_predictor_options options;
    limn_predictor *p = NULL;
    limn_predictor_options_init(&options);
    options.threads = threads;
    options.vote = vote;
    assert_int_equal(limn_predictor_new(ctx, model, &options, &p), LIMN_OK);
    return p;
}

/* The parameters that train limn like libsvm with these options. */
static inline const char *params_of(const struct svm_parameter *p, char *text) {
    static const char *const types[] = {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"};
    static const char *const kernels[] = {"linear", "poly", "rbf", "sigmoid"};
    sprintf(text,
            "type=%s kernel=%s degree=%d gamma=%.17g coef0=%.17g C=%.17g nu=%.17g epsilon=%.17g "
            "tolerance=%.17g shrinking=%s",
            types[p->svm_type], kernels[p->kernel_type], p->degree, p->gamma, p->coef0, p->C, p->nu,
            p->p, p->eps, p->shrinking ? "yes" : "no");
    return text;
}

/* ---- both ---- */

/* The machine of a model, by way of its text, which keeps every bit: the names in libsvm's
 * header and in the method's cannot be included in one file. */
typedef struct taken {
    lm_svm svm;
    int32_t *labels;
    lm_machine machine;
} taken;

static inline void take_machine(limn_context *ctx, const limn_model *model, taken *t) {
    char path[PATH];
    assert_int_equal(limn_model_export(ctx, model, in_folder("taken.model", path)), LIMN_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    char *bytes = malloc(size);
    rewind(file);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    assert_int_equal(lm_svm_parse(ctx, path, bytes, size, &t->svm, &t->labels), LIMN_OK);
    assert_int_equal(lm_machine_build(ctx, &t->svm, &t->machine), LIMN_OK);
    free(bytes);
}

static inline void taken_free(limn_context *ctx, taken *t) {
    lm_machine_free(&ctx->mem, &t->machine);
    lm_svm_free(&ctx->mem, &t->svm);
    lm_free(&ctx->mem, t->labels);
}

/* Vectors, coefficients and thresholds are libsvm's to the last bits. */
static inline void assert_same_machine(limn_context *ctx, const limn_model *model,
                                       const struct svm_model *peer) {
    taken own;
    take_machine(ctx, model, &own);
    const lm_svm *svm = &own.svm;
    assert_int_equal(svm->n, peer->l);
    for (int c = 0; peer->nSV && c < peer->nr_class; c++)
        assert_int_equal(svm->count[c], peer->nSV[c]);
    for (size_t r = 0; r + 1 < svm->classes; r++)
        for (size_t i = 0; i < svm->n; i++) {
            double ours = svm->coef[r * svm->n + i], theirs = peer->sv_coef[r][i];
            assert_true(fabs(ours - theirs) <= 1e-12 * fabs(theirs));
        }
    for (size_t i = 0; i < lm_svm_functions(svm); i++)
        assert_true(fabs(svm->rho[i] - peer->rho[i]) <= 1e-12 * fabs(peer->rho[i]));
    for (size_t i = 0; i < svm->n; i++) {
        const struct svm_node *node = peer->SV[i];
        for (size_t j = 0; j < svm->d; j++) {
            bool there = node->index == (int)j + 1;
            assert_true(svm->sv[i * svm->d + j] == (there ? (float)node->value : 0.f));
            node += there;
        }
    }
    taken_free(ctx, &own);
}

/* Regressions agree to 1e-4. Polynomials may be sums of thousands that cancel: in floats only
 * the general bound holds for them. */
static inline double value_bound(const struct svm_model *peer, double size) {
    return peer->param.kernel_type == POLY ? fmax(1e-4, BOUND * size) : 1e-4;
}

/* For the rows of the table, decision values and the answers they imply are those of libsvm.
 * Returns the number of rows that are too close to a border to be compared. */
static inline size_t assert_same_answers(limn_context *ctx, const limn_model *model,
                                         const struct svm_model *peer, const table *t) {
    static double scores[ROWS_MAX * PAIRS_MAX], values[ROWS_MAX];
    static int32_t classes[ROWS_MAX];
    double f[PAIRS_MAX], size[PAIRS_MAX];
    limn_predictor *p = must_predict(ctx, model, 1, 1);
    limn_model_info info = {.size = sizeof info};
    taken own;
    size_t close = 0;
    take_machine(ctx, model, &own);
    limn_model_describe(model, &info);
    assert_int_equal(limn_predict_scores(p, t->x, t->n, scores), LIMN_OK);
    if (info.task == LIMN_REGRESS)
        assert_int_equal(limn_predict_values(p, t->x, t->n, values), LIMN_OK);
    else
        assert_int_equal(limn_predict(p, t->x, t->n, classes), LIMN_OK);
    for (size_t q = 0; q < t->n; q++) {
        bool clear = true;
        double answer;
        size_t functions = peer_values(peer, t->row[q], f, size, &answer);
        assert_int_equal(info.scores, functions);
        for (size_t i = 0; i < functions; i++) {
            double got = scores[q * functions + i];
            double alone = lm_machine_value(&own.machine, i, t->x + q * t->d, 0);
            if (!(fabs(got - f[i]) <= BOUND * size[i]) || !(fabs(alone - f[i]) <= 1e-6 * size[i]))
                fail_msg("row %zu, f %zu: %.9g, alone %.9g, libsvm %.9g", q, i, got, alone, f[i]);
            clear &= fabs(f[i]) > BOUND * size[i];
        }
        close += !clear;
        if (info.task == LIMN_REGRESS)
            assert_true(fabs(values[q] - answer) <= value_bound(peer, size[0]));
        else if (clear)
            assert_true(atof(limn_model_class_name(model, (size_t)classes[q])) == answer);
    }
    taken_free(ctx, &own);
    limn_predictor_free(p);
    return close;
}

/* The same, but only few rows may be too close, except for kernels other than rbf, where some
 * machines are flat. */
static inline void assert_clear(limn_context *ctx, const limn_model *model,
                                const struct svm_model *peer, const table *t) {
    size_t close = assert_same_answers(ctx, model, peer, t);
    if (peer->param.kernel_type == RBF)
        assert_in_range(close, 0, t->n / 10);
}

static inline void assert_same_bytes(limn_context *ctx, const limn_model *a, const limn_model *b,
                                     bool same) {
    unsigned char *bytes[2];
    size_t size[2];
    assert_int_equal(lm_model_bytes(ctx, a, &bytes[0], &size[0]), LIMN_OK);
    assert_int_equal(lm_model_bytes(ctx, b, &bytes[1], &size[1]), LIMN_OK);
    bool equal = size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0;
    assert_int_equal(equal, same);
    lm_free(&ctx->mem, bytes[0]);
    lm_free(&ctx->mem, bytes[1]);
}

/* Runs it with each allocation failing in turn, until a run succeeds. */
typedef limn_status action(limn_context *ctx, const table *t);

static inline void check_memory(action *run, const table *t) {
    limn_status status = LIMN_E_MEMORY;
    unsigned at = 1;
    for (; status != LIMN_OK; at++) {
        counting count = {0};
        limn_context *ctx = make_context(&count, 1, 1);
        long before = count.live;
        count.fail_at = at;
        status = run(ctx, t);
        if (status != LIMN_OK)
            assert_int_equal(status, LIMN_E_MEMORY);
        assert_int_equal(count.live, before);
        limn_context_free(ctx);
    }
    assert_true(at > 20);
}

#endif
