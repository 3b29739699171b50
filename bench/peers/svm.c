/* svm.c: limn's exact evaluation of a LIBSVM model beside LIBSVM's own, in one process. Driven by
 * svm.py, which prepares the data and prints the tables.
 *
 *   bench_svm train TRAIN MODEL C GAMMA   trains an rbf C-SVC with libsvm, writes LIBSVM's text
 *   bench_svm check TEST MODEL ROWS       compares the answers; one line for each instruction set
 *   bench_svm serve TEST MODEL            measures one round for each line of standard input
 *
 * TRAIN and TEST are files that limn reads, scaled already, with numbers as labels. Both sides open
 * the same text. Lines of output are JSON.
 *
 * check: the bound of a decision value is b = 1e-5 (sum |coef| K + |rho|), with K from a direct
 * sum in double. A row is "near" when its class would change if every f with |f| <= b went the
 * other way; labels must agree on all others. Every row is asked alone and in a batch.
 *
 * serve: a round times LIBSVM (svm_predict_values on nodes made beforehand) and limn's single calls
 * (limn_predict by votes) as lm_latency defines latency, limn's calls with BATCH rows, then the
 * machine's limits: multiply-adds in registers, and reading as many bytes as a query touches. The
 * caller takes the best of the rounds. */
#include "../micro/peak.h"
#include "eval/evaluate.h"
#include "model/model.h"
#include "num/pack.h"
#include "read.h"

#include <libsvm/svm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 512, CHUNK = 256, PEAK_ROUNDS = 20000 };
#define SLICE 0.05
#define LATENCY 2.0
#define BOUND 1e-5
#define HUGE_ERROR 1e30 /* in place of NaN, which JSON lacks */

typedef struct bench {
    limn_context *ctx;
    limn_model *model;
    limn_model_info info;
    limn_predictor *predictor;
    struct svm_model *peer;
    size_t n, k, functions;
    float *x;      /* n x (info.features + 1): the rows, the squares of the rest at last */
    double *truth; /* n: labels; NaN: none */
    struct svm_node **nodes;
    int32_t *classes; /* BATCH */
    double *f;        /* of one row, for LIBSVM */
} bench;

static void die(const char *sentence) {
    fprintf(stderr, "bench_svm: %s\n", sentence);
    exit(1);
}

static void *need(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block)
        die("out of memory");
    return block;
}

static void check(limn_context *ctx, limn_status status) {
    if (status != LIMN_OK)
        die(limn_error(ctx));
}

/* ---- data ---- */

static limn_data *read_data(limn_context *ctx, const char *path) {
    limn_data *data = NULL;
    check(ctx, limn_data_read(ctx, path, NULL, NULL, &data));
    if (!data->n || !data->label)
        die("the data has no labels");
    return data;
}

static double label_of(const limn_data *data, size_t row) {
    return strtod(data->schema.labels.names[data->label[row]], NULL);
}

/* LIBSVM's form of a row: zeros are left out. */
static struct svm_node *nodes_of(const float *x, size_t d) {
    struct svm_node *nodes = need(d + 1, sizeof *nodes);
    size_t count = 0;
    for (size_t j = 0; j < d; j++)
        if (x[j] != 0)
            nodes[count++] = (struct svm_node){(int)j + 1, (double)x[j]};
    nodes[count].index = -1;
    return nodes;
}

/* ---- training ---- */

static void quiet(const char *text) {
    (void)text;
}

static int train(limn_context *ctx, char **argv) {
    limn_data *data = read_data(ctx, argv[0]);
    size_t d = data->schema.features, n = data->n;
    struct svm_problem problem = {(int)n, need(n, sizeof *problem.y), need(n, sizeof *problem.x)};
    struct svm_parameter parameter = {.svm_type = C_SVC,
                                      .kernel_type = RBF,
                                      .C = strtod(argv[2], NULL),
                                      .gamma = strtod(argv[3], NULL),
                                      .cache_size = 500,
                                      .eps = 1e-3,
                                      .shrinking = 1};
    for (size_t i = 0; i < n; i++) {
        problem.y[i] = label_of(data, i);
        problem.x[i] = nodes_of(data->x + i * d, d);
    }
    const char *wrong = svm_check_parameter(&problem, &parameter);
    if (wrong)
        die(wrong);
    double start = lm_clock();
    struct svm_model *model = svm_train(&problem, &parameter);
    if (svm_save_model(argv[1], model) != 0)
        die("the model cannot be written");
    printf("{\"seconds\":%.1f}\n", lm_clock() - start);
    return 0;
}

/* ---- opening ---- */

static void split_row(bench *b, const float *row, size_t d, size_t at) {
    size_t known = b->info.features;
    float *x = b->x + at * (known + 1);
    for (size_t j = 0; j < d && j < known; j++)
        x[j] = row[j];
    for (size_t j = known; j < d; j++)
        x[known] += row[j] * row[j];
}

/* At most the given number of rows of the file, evenly spaced. */
static void take_rows(bench *b, const char *path, size_t rows) {
    limn_data *data = read_data(b->ctx, path);
    size_t d = data->schema.features;
    b->n = data->n < rows ? data->n : rows;
    b->x = need(b->n * (b->info.features + 1), sizeof *b->x);
    b->truth = need(b->n, sizeof *b->truth);
    b->nodes = need(b->n, sizeof *b->nodes);
    for (size_t i = 0; i < b->n; i++) {
        size_t row = i * data->n / b->n;
        split_row(b, data->x + row * d, d, i);
        b->nodes[i] = nodes_of(data->x + row * d, d);
        b->truth[i] = label_of(data, row);
    }
    limn_data_free(data);
}

/* Both sides must number the classes and the decision values alike. */
static void check_order(const bench *b) {
    size_t p = 0, first, second;
    if (b->info.classes != b->k || b->info.scores != b->functions)
        die("the numbers of classes differ");
    for (size_t i = 0; i < b->k; i++)
        if (atoi(limn_model_class_name(b->model, i)) != b->peer->label[i])
            die("the classes are in another order");
    for (size_t i = 0; i < b->k; i++)
        for (size_t j = i + 1; j < b->k; j++, p++)
            if (!limn_model_score_pair(b->model, p, &first, &second) || first != i || second != j)
                die("the decision values are in another order");
}

static void open_both(bench *b, const char *path) {
    limn_predictor_options options;
    limn_predictor_options_init(&options);
    options.threads = 1;
    options.vote = 1;
    check(b->ctx, limn_model_open(b->ctx, path, &b->model));
    check(b->ctx, limn_predictor_new(b->ctx, b->model, &options, &b->predictor));
    limn_model_info_init(&b->info);
    limn_model_describe(b->model, &b->info);
    b->peer = svm_load_model(path);
    if (!b->peer || b->peer->param.kernel_type != RBF || b->peer->param.svm_type != C_SVC)
        die("libsvm cannot read the model, or it is no rbf C-SVC");
    b->k = (size_t)b->peer->nr_class;
    b->functions = b->k * (b->k - 1) / 2;
    b->classes = need(BATCH, sizeof *b->classes);
    b->f = need(b->functions, sizeof *b->f);
    check_order(b);
}

static limn_status ask(bench *b, size_t row, size_t count, int32_t *classes) {
    size_t width = b->info.features + 1;
    return limn_predict_rows(b->predictor, LIMN_ANSWER_CLASSES, b->x + row * width, count, width,
                             classes);
}

static limn_status ask_scores(bench *b, size_t row, size_t count, double *scores) {
    size_t width = b->info.features + 1;
    return limn_predict_rows(b->predictor, LIMN_ANSWER_SCORES, b->x + row * width, count, width,
                             scores);
}

/* ---- checking ---- */

/* The support vectors by feature, and |coefficients| by vector: what the bounds need. */
typedef struct exact {
    size_t n, d;
    double *sv;    /* d x n */
    double *coef;  /* n x (k - 1) */
    double *value; /* n: distances, then kernel values */
    double *part;  /* k x (k - 1): sums over the vectors of a class */
    double *row;   /* d: the query */
} exact;

static exact exact_of(const bench *b) {
    const struct svm_model *m = b->peer;
    exact e = {.n = (size_t)m->l};
    for (size_t i = 0; i < e.n; i++)
        for (const struct svm_node *v = m->SV[i]; v->index > 0; v++)
            e.d = (size_t)v->index > e.d ? (size_t)v->index : e.d;
    e.sv = need(e.n * e.d, sizeof *e.sv);
    e.coef = need(e.n * (b->k - 1), sizeof *e.coef);
    e.value = need(e.n, sizeof *e.value);
    e.part = need(b->k * (b->k - 1), sizeof *e.part);
    e.row = need(e.d, sizeof *e.row);
    for (size_t i = 0; i < e.n; i++) {
        for (const struct svm_node *v = m->SV[i]; v->index > 0; v++)
            e.sv[(size_t)(v->index - 1) * e.n + i] = v->value;
        for (size_t r = 0; r < b->k - 1; r++)
            e.coef[i * (b->k - 1) + r] = fabs(m->sv_coef[r][i]);
    }
    return e;
}

static void kernel_values(const bench *b, exact *e, size_t row) {
    double *restrict value = e->value;
    memset(e->row, 0, e->d * sizeof *e->row);
    for (size_t i = 0; i < e->n; i++)
        value[i] = (double)b->x[row * (b->info.features + 1) + b->info.features];
    for (const struct svm_node *v = b->nodes[row]; v->index > 0; v++)
        if ((size_t)v->index <= e->d)
            e->row[v->index - 1] = v->value;
    for (size_t j = 0; j < e->d; j++) {
        const double *restrict sv = e->sv + j * e->n;
        double x = e->row[j];
        for (size_t i = 0; i < e->n; i++)
            value[i] += (x - sv[i]) * (x - sv[i]);
    }
    for (size_t i = 0; i < e->n; i++)
        value[i] = exp(-b->peer->param.gamma * value[i]);
}

static void bounds_of(const bench *b, exact *e, size_t row, double *bound) {
    size_t rows = b->k - 1, at = 0;
    kernel_values(b, e, row);
    memset(e->part, 0, b->k * rows * sizeof *e->part);
    for (size_t c = 0; c < b->k; c++)
        for (int s = 0; s < b->peer->nSV[c]; s++, at++) {
            double *restrict part = e->part + c * rows;
            for (size_t r = 0; r < rows; r++)
                part[r] += e->coef[at * rows + r] * e->value[at];
        }
    for (size_t i = 0, p = 0; i < b->k; i++)
        for (size_t j = i + 1; j < b->k; j++, p++)
            bound[p] =
                BOUND * (e->part[i * rows + j - 1] + e->part[j * rows + i] + fabs(b->peer->rho[p]));
}

/* Whether another class could win when each f within its bound may have either sign. */
static int is_near(const bench *b, const double *f, const double *bound, size_t won) {
    size_t *least = need(2 * b->k, sizeof *least), *most = least + b->k;
    int near = 0;
    for (size_t i = 0, p = 0; i < b->k; i++)
        for (size_t j = i + 1; j < b->k; j++, p++) {
            int open = fabs(f[p]) <= bound[p];
            least[i] += f[p] > 0 && !open;
            least[j] += f[p] <= 0 && !open;
            most[i] += f[p] > 0 || open;
            most[j] += f[p] <= 0 || open;
        }
    for (size_t c = 0; c < b->k; c++)
        near |= c != won && (c < won ? most[c] >= least[won] : most[c] > least[won]);
    free(least);
    return near;
}

/* LIBSVM's answers for a chunk of rows, and the bounds. */
typedef struct reference {
    double *f, *bound; /* CHUNK x functions */
    size_t *label;     /* CHUNK: places of the classes */
    char *near;        /* CHUNK */
} reference;

/* What one instruction set made of all rows. */
typedef struct verdict {
    double worst; /* |f - f_libsvm| / bound */
    size_t near, differ, differ_outside, bits, right;
} verdict;

static size_t place_of(const bench *b, double label) {
    for (size_t c = 0; c < b->k; c++)
        if ((double)b->peer->label[c] == label)
            return c;
    return SIZE_MAX;
}

static void refer(bench *b, exact *e, size_t first, size_t count, reference *r) {
    for (size_t i = 0; i < count; i++) {
        double *f = r->f + i * b->functions, *bound = r->bound + i * b->functions;
        r->label[i] = place_of(b, svm_predict_values(b->peer, b->nodes[first + i], f));
        bounds_of(b, e, first + i, bound);
        r->near[i] = (char)is_near(b, f, bound, r->label[i]);
    }
}

static void judge_row(const bench *b, const reference *r, size_t i, const double *scores,
                      verdict *v) {
    for (size_t p = 0; p < b->functions; p++) {
        size_t at = i * b->functions + p;
        double error = fabs(scores[p] - r->f[at]), share = error > 0 ? error / r->bound[at] : 0;
        share = isnan(error) ? HUGE_ERROR : share;
        v->worst = share > v->worst ? share : v->worst;
    }
}

static void judge(bench *b, size_t first, size_t count, const reference *r, double *scores,
                  verdict *v) {
    int32_t many[CHUNK], one;
    double *alone = b->f;
    check(b->ctx, ask_scores(b, first, count, scores));
    check(b->ctx, ask(b, first, count, many));
    for (size_t i = 0; i < count; i++) {
        check(b->ctx, ask_scores(b, first + i, 1, alone));
        check(b->ctx, ask(b, first + i, 1, &one));
        judge_row(b, r, i, alone, v);
        judge_row(b, r, i, scores + i * b->functions, v);
        int differ = (size_t)one != r->label[i] || (size_t)many[i] != r->label[i];
        v->near += (size_t)r->near[i];
        v->differ += (size_t)differ;
        v->differ_outside += (size_t)(differ && !r->near[i]);
        v->bits += memcmp(alone, scores + i * b->functions, b->functions * sizeof *alone) != 0;
        v->right += (double)b->peer->label[one] == b->truth[first + i];
    }
}

static int compare(bench *b) {
    enum { MOST_SETS = 8 };
    verdict verdicts[MOST_SETS] = {{0}};
    size_t cells = CHUNK * b->functions, right = 0;
    exact e = exact_of(b);
    reference r = {need(cells, sizeof *r.f), need(cells, sizeof *r.bound),
                   need(CHUNK, sizeof *r.label), need(CHUNK, sizeof *r.near)};
    double *scores = need(cells, sizeof *scores);
    for (size_t first = 0; first < b->n; first += CHUNK) {
        size_t count = b->n - first < CHUNK ? b->n - first : CHUNK;
        refer(b, &e, first, count, &r);
        for (size_t i = 0; i < count; i++)
            right += (double)b->peer->label[r.label[i]] == b->truth[first + i];
        for (size_t s = 0; s < MOST_SETS && lm_isa_at(s); s++) {
            lm_isa_use(lm_isa_at(s));
            judge(b, first, count, &r, scores, &verdicts[s]);
        }
    }
    for (size_t s = 0; s < MOST_SETS && lm_isa_at(s); s++) {
        const verdict *v = &verdicts[s];
        printf("{\"isa\":\"%s\",\"rows\":%zu,\"worst\":%.6g,\"near\":%zu,\"differ\":%zu,"
               "\"differ_outside\":%zu,\"bits\":%zu,\"accuracy\":%.6f,\"peer_accuracy\":%.6f}\n",
               lm_isa_at(s), b->n, v->worst, v->near, v->differ, v->differ_outside, v->bits,
               (double)v->right / (double)b->n, (double)right / (double)b->n);
    }
    return 0;
}

/* ---- measuring ---- */

static limn_status peer_call(void *user, size_t row) {
    bench *b = user;
    svm_predict_values(b->peer, b->nodes[row], b->f);
    return LIMN_OK;
}

static limn_status single_call(void *user, size_t row) {
    bench *b = user;
    return ask(b, row, 1, b->classes);
}

/* Seconds per row of calls with all rows. */
static double time_batch(bench *b) {
    double start = lm_clock(), took;
    size_t calls = 0;
    do {
        check(b->ctx, ask(b, 0, b->n, b->classes));
        calls++;
        took = lm_clock() - start;
    } while (took < SLICE);
    return took / (double)(calls * b->n);
}

static lm_timing latency(bench *b, lm_single_call call) {
    lm_timing timing = {0};
    check(b->ctx, lm_latency(b->ctx, b->n, LATENCY, call, b, &timing));
    return timing;
}

typedef struct limits {
    peak_loop *peak;
    read_loop *read;
    float *block; /* of as many bytes as a query touches */
    size_t floats;
} limits;

static limits limits_of(const bench *b) {
    static const struct {
        const char *isa;
        peak_loop *peak;
        read_loop *read;
    } known[] = {
#if defined(LM_HAVE_X86)
        {"avx512", peak_avx512, read_avx512},
        {"avx2", peak_avx2, read_avx2},
#endif
#if defined(LM_HAVE_NEON)
        {"neon", peak_neon, read_neon},
#else
        {"baseline", peak_baseline, read_baseline},
#endif
    };
    limits l = {.floats = (size_t)b->info.touched_bytes / sizeof(float)};
    for (size_t i = 0; i < LM_COUNT(known); i++)
        if (strcmp(known[i].isa, limn_isa()) == 0) {
            l.peak = known[i].peak;
            l.read = known[i].read;
        }
    l.block = lm_alloc_aligned(&b->ctx->mem, l.floats, sizeof *l.block);
    if (!l.peak || !l.block)
        die("the limits of this instruction set cannot be measured");
    for (size_t i = 0; i < l.floats; i++)
        l.block[i] = (float)(i % 16);
    return l;
}

/* Multiply-adds per second. */
static double peak_rate(const limits *l) {
    float result;
    double start = lm_clock();
    size_t made = l->peak(PEAK_ROUNDS, &result);
    return (double)made / (lm_clock() - start);
}

/* Bytes per second, warm. */
static double read_rate(const limits *l) {
    static volatile float sink;
    float result;
    size_t read = 0;
    double start = lm_clock(), took;
    do {
        read += l->read(l->block, l->floats, &result);
        sink = result;
        took = lm_clock() - start;
    } while (took < SLICE / 2);
    (void)sink;
    return (double)(read * sizeof(float)) / took;
}

static int serve(bench *b) {
    limits l = limits_of(b);
    char line[64];
    printf("{\"isa\":\"%s\",\"vectors\":%d,\"classes\":%zu,\"features\":%zu,\"touched_bytes\":%.0f,"
           "\"batch\":%zu,\"libsvm\":%d}\n",
           limn_isa(), b->peer->l, b->k, b->info.features, b->info.touched_bytes, b->n,
           libsvm_version);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        lm_timing peer = latency(b, peer_call), own = latency(b, single_call);
        printf("{\"peer_mean\":%.6g,\"peer_p50\":%.6g,\"peer_p99\":%.6g,\"mean\":%.6g,"
               "\"p50\":%.6g,\"p99\":%.6g,\"rows\":%zu,\"peer_rows\":%zu,\"batch\":%.6g,\"read\":%."
               "6g,\"peak\":%.6g}\n",
               peer.mean_us, peer.p50_us, peer.p99_us, own.mean_us, own.p50_us, own.p99_us,
               own.rows, peer.rows, 1e6 * time_batch(b), read_rate(&l), peak_rate(&l));
        fflush(stdout);
    }
    lm_free_aligned(&b->ctx->mem, l.block);
    return 0;
}

int main(int argc, char **argv) {
    bench b = {0};
    if (limn_context_new(NULL, &b.ctx) != LIMN_OK)
        die("this machine lacks the instruction set of LIMN_ISA");
    svm_set_print_string_function(quiet);
    if (argc == 6 && strcmp(argv[1], "train") == 0)
        return train(b.ctx, argv + 2);
    int checking = argc == 5 && strcmp(argv[1], "check") == 0;
    if (!checking && !(argc == 4 && strcmp(argv[1], "serve") == 0)) {
        fprintf(stderr, "usage: bench_svm train TRAIN MODEL C GAMMA | check TEST MODEL ROWS | "
                        "serve TEST MODEL\n");
        return 2;
    }
    open_both(&b, argv[3]);
    take_rows(&b, argv[2], checking ? strtoul(argv[4], NULL, 10) : BATCH);
    return checking ? compare(&b) : serve(&b);
}
