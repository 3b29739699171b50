/* test_svm_text.c: LIBSVM's text models: read as LIBSVM reads them, written so that LIBSVM reads
 * the same machine. The reference is LIBSVM itself: it trains, saves, loads and evaluates. */
#include "svm_world.h"

#include <libsvm/svm.h>

/* ---- machines trained by LIBSVM ---- */

enum { ROWS = 48, FEATURES = 6, MOST_CLASSES = 5 };

/* Rows that the models of LIBSVM point into. */
typedef struct rows {
    struct svm_node node[ROWS][FEATURES + 1], *row[ROWS];
    double y[ROWS];
} rows;

static void say_nothing(const char *text) {
    (void)text;
}

/* Multiples of 1/64, so that "%.8g" and floats hold them exactly; about a third are left out, and
 * feature 3 always is. Labels 7, 4, 1, ... in blocks; targets are real. */
static void make_rows(rows *r, size_t classes, bool target, uint64_t seed) {
    for (size_t i = 0; i < ROWS; i++) {
        lm_rng rng = lm_rng_at(seed, 1, i);
        struct svm_node *node = r->node[i];
        size_t class = i % classes;
        double sum = 0;
        for (int j = 1; j <= FEATURES; j++) {
            double value = round(64 * (lm_rng_normal(&rng) + (double)class)) / 64;
            if (j == 3 || value == 0 || lm_rng_below(&rng, 3) == 0)
                continue;
            *node++ = (struct svm_node){j, value};
            sum += value;
        }
        *node = (struct svm_node){-1, 0};
        r->row[i] = r->node[i];
        r->y[i] = target ? sum + lm_rng_normal(&rng) : 7 - 3 * (double)class;
    }
}

static struct svm_parameter parameters(int type, int kernel, int probability) {
    return (struct svm_parameter){
        .svm_type = type,
        .kernel_type = kernel,
        .degree = 2,
        .gamma = kernel == SIGMOID ? 0.03 : 0.3,
        .coef0 = 0.7,
        .cache_size = 1,
        .eps = 1e-3,
        .C = 1.7,
        .nu = 0.3,
        .p = 0.1,
        .shrinking = 1,
        .probability = probability,
    };
}

static struct svm_model *train(rows *r, struct svm_parameter parameter) {
    struct svm_problem problem = {ROWS, r->y, r->row};
    svm_set_print_string_function(say_nothing);
    assert_null(svm_check_parameter(&problem, &parameter));
    struct svm_model *model = svm_train(&problem, &parameter);
    assert_non_null(model);
    return model;
}

static bool is_svc(int type) {
    return type == C_SVC || type == NU_SVC;
}

/* ---- comparisons ---- */

static void same_doubles(const double *a, const double *b, size_t count) {
    assert_int_equal(!a, !b);
    if (a && count)
        assert_memory_equal(a, b, count * sizeof *a);
}

static void same_vectors(const lm_svm *svm, struct svm_node **rows_of_model) {
    int largest = 1;
    for (size_t i = 0; i < svm->n; i++) {
        const struct svm_node *node = rows_of_model[i];
        for (size_t j = 0; j < svm->d; j++) {
            while (node->index != -1 && node->index < (int)j + 1)
                node++;
            double expected = node->index == (int)j + 1 ? node->value : 0;
            assert_true(svm->sv[i * svm->d + j] == (float)expected);
        }
        for (node = rows_of_model[i]; node->index != -1; node++)
            largest = node->index > largest ? node->index : largest;
    }
    assert_int_equal(svm->d, largest);
}

static void same_as_libsvm(const lm_svm *svm, const int32_t *labels,
                           const struct svm_model *model) {
    const struct svm_parameter *p = &model->param;
    assert_int_equal(svm->type, p->svm_type);
    assert_int_equal(svm->kernel.type, p->kernel_type);
    if (p->kernel_type == POLY)
        assert_int_equal(svm->kernel.degree, p->degree);
    if (p->kernel_type != LINEAR)
        assert_true(svm->kernel.gamma == p->gamma);
    if (p->kernel_type == POLY || p->kernel_type == SIGMOID)
        assert_true(svm->kernel.coef0 == p->coef0);
    assert_int_equal(svm->classes, model->nr_class);
    assert_int_equal(svm->n, model->l);
    bool svc = is_svc(p->svm_type);
    size_t functions = lm_svm_functions(svm);
    same_doubles(svm->rho, model->rho, functions);
    same_doubles(svm->prob_a, model->probA, functions);
    same_doubles(svm->prob_b, svc ? model->probB : NULL, functions);
    assert_null(svm->marks);
    assert_int_equal(!labels, !svc);
    assert_int_equal(!svm->count, !svc);
    for (size_t c = 0; svc && c < svm->classes; c++) {
        assert_int_equal(labels[c], model->label[c]);
        assert_int_equal(svm->count[c], model->nSV[c]);
    }
    for (size_t c = 0; c + 1 < svm->classes; c++)
        same_doubles(svm->coef + c * svm->n, model->sv_coef[c], svm->n);
    same_vectors(svm, model->SV);
    assert_true(svm->owned);
}

static void same_machine(const lm_svm *a, const int32_t *a_labels, const lm_svm *b,
                         const int32_t *b_labels) {
    assert_int_equal(a->type, b->type);
    assert_memory_equal(&a->kernel.type, &b->kernel.type, sizeof a->kernel.type);
    assert_int_equal(a->kernel.degree, b->kernel.degree);
    same_doubles(&a->kernel.gamma, &b->kernel.gamma, 1);
    same_doubles(&a->kernel.coef0, &b->kernel.coef0, 1);
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(a->d, b->d);
    assert_int_equal(a->n, b->n);
    size_t functions = lm_svm_functions(a);
    same_doubles(a->rho, b->rho, functions);
    same_doubles(a->prob_a, b->prob_a, functions);
    same_doubles(a->prob_b, b->prob_b, functions);
    same_doubles(a->marks, b->marks, LM_SVM_MARKS);
    same_doubles(a->coef, b->coef, a->n * (a->classes - 1));
    if (a->n)
        assert_memory_equal(a->sv, b->sv, a->n * a->d * sizeof *a->sv);
    assert_int_equal(!a->count, !b->count);
    if (a->count)
        assert_memory_equal(a->count, b->count, a->classes * sizeof *a->count);
    assert_int_equal(!a_labels, !b_labels);
    if (a_labels)
        assert_memory_equal(a_labels, b_labels, a->classes * sizeof *a_labels);
}

/* ---- the definition, in plain loops ---- */

static double kernel_of(const lm_kernel *kernel, const float *u, const double *v, size_t d) {
    double dot = 0, square = 0, power = 1;
    for (size_t j = 0; j < d; j++) {
        dot += (double)u[j] * v[j];
        square += ((double)u[j] - v[j]) * ((double)u[j] - v[j]);
    }
    switch (kernel->type) {
    case LM_LINEAR:
        return dot;
    case LM_POLYNOMIAL:
        for (int i = 0; i < kernel->degree; i++)
            power *= kernel->gamma * dot + kernel->coef0;
        return power;
    case LM_RBF:
        return exp(-kernel->gamma * square);
    case LM_SIGMOID:
        return tanh(kernel->gamma * dot + kernel->coef0);
    default: /* LIBSVM has no others */
        return NAN;
    }
}

/* f of the pair (a, b), or the only one; size: magnitude of the terms, for the tolerance. */
static double decision(const lm_svm *svm, const double *x, size_t a, size_t b, double rho,
                       double *size) {
    double f = -rho;
    size_t i = 0;
    *size = fabs(rho);
    for (size_t c = 0; c < (svm->count ? svm->classes : 1); c++)
        for (size_t end = i + (svm->count ? svm->count[c] : svm->n); i < end; i++) {
            if (svm->count && c != a && c != b)
                continue;
            size_t row = !svm->count ? 0 : c == a ? b - 1 : a;
            double term = svm->coef[row * svm->n + i] *
                          kernel_of(&svm->kernel, svm->sv + i * svm->d, x, svm->d);
            f += term;
            *size += fabs(term);
        }
    return f;
}

static void same_decisions(const lm_svm *svm, const struct svm_model *model, const rows *r) {
    double values[MOST_CLASSES * MOST_CLASSES];
    for (size_t i = 0; i < ROWS; i++) {
        double x[FEATURES] = {0}, size;
        for (const struct svm_node *node = r->row[i]; node->index != -1; node++)
            x[node->index - 1] = node->value;
        svm_predict_values(model, r->row[i], values);
        size_t pair = 0;
        for (size_t a = 0; a < (svm->count ? svm->classes : 1); a++)
            for (size_t b = a + 1; b < (svm->count ? svm->classes : 2); b++, pair++) {
                double f = decision(svm, x, a, b, svm->rho[pair], &size);
                assert_true(fabs(f - values[pair]) <= 1e-12 * size);
            }
        assert_int_equal(pair, lm_svm_functions(svm));
    }
}

/* Two texts with the same words and blanks; numbers may be written differently. */
static void same_form(const char *a, const char *b) {
    while (*a || *b) {
        size_t la = strcspn(a, " \n:"), lb = strcspn(b, " \n:");
        char *a_end, *b_end;
        if (la != lb || memcmp(a, b, la) != 0) {
            double va = strtod(a, &a_end), vb = strtod(b, &b_end);
            assert_true(a_end == a + la && b_end == b + lb);
            assert_true(va == vb || (float)va == (float)vb);
        }
        a += la;
        b += lb;
        assert_int_equal(*a, *b);
        a += *a != '\0';
        b += *b != '\0';
    }
}

/* ---- LIBSVM's models ---- */

/* Saved by LIBSVM and parsed; written and loaded by LIBSVM. */
static void check_model(world *w, const struct svm_model *model, const rows *r) {
    char path[PATH], written[PATH];
    size_t size, written_size;
    lm_svm svm, again;
    int32_t *labels, *again_labels;
    assert_int_equal(svm_save_model(in_folder("saved", path), model), 0);
    char *saved = slurp(path, &size);
    assert_true(lm_svm_is_text(saved, size));
    must_parse(w, saved, &svm, &labels);
    same_as_libsvm(&svm, labels, model);
    same_decisions(&svm, model, r);

    assert_int_equal(lm_svm_write(w->ctx, &svm, labels, in_folder("written", written)), LIMN_OK);
    char *text = slurp(written, &written_size);
    same_form(text, saved);
    must_parse(w, text, &again, &again_labels);
    same_machine(&svm, labels, &again, again_labels);
    struct svm_model *loaded = svm_load_model(written);
    assert_non_null(loaded);
    same_as_libsvm(&svm, labels, loaded);
    same_decisions(&svm, loaded, r);

    svm_free_and_destroy_model(&loaded);
    release(w, &svm, labels);
    release(w, &again, again_labels);
    free(saved);
    free(text);
    assert_int_equal(w->warnings, 0);
}

static void test_every_type_and_kernel_goes_both_ways_with_equal_fields_and_decisions(void **s) {
    (void)s;
    world w;
    world_open(&w);
    for (int type = C_SVC; type <= NU_SVR; type++)
        for (int kernel = LINEAR; kernel <= SIGMOID; kernel++)
            for (size_t classes = 2; classes <= (is_svc(type) ? MOST_CLASSES : 2); classes++)
                for (int probability = 0; probability <= (type != ONE_CLASS); probability++) {
                    rows r;
                    make_rows(&r, classes, !is_svc(type), (uint64_t)(type * 4 + kernel));
                    struct svm_model *model = train(&r, parameters(type, kernel, probability));
                    assert_true(model->l > 0);
                    check_model(&w, model, &r);
                    svm_free_and_destroy_model(&model);
                }
    world_close(&w);
}

static void test_a_model_of_one_class_goes_both_ways(void **s) {
    (void)s;
    world w;
    world_open(&w);
    for (int probability = 0; probability <= 1; probability++) {
        rows r;
        make_rows(&r, 1, false, 3);
        struct svm_model *model = train(&r, parameters(C_SVC, RBF, probability));
        assert_int_equal(model->nr_class, 1);
        assert_int_equal(model->l, 0);
        check_model(&w, model, &r);
        svm_free_and_destroy_model(&model);
    }
    lm_svm svm;
    int32_t *labels;
    must_parse(&w,
               "svm_type c_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nlabel -5\nnr_sv 0\nSV",
               &svm, &labels);
    assert_int_equal(svm.d, 1);
    assert_int_equal(labels[0], -5);
    release(&w, &svm, labels);
    world_close(&w);
}

static void test_a_polynomial_of_degree_0_is_the_constant_1(void **s) {
    (void)s;
    world w;
    world_open(&w);
    rows r;
    make_rows(&r, 3, false, 5);
    struct svm_parameter parameter = parameters(C_SVC, POLY, 0);
    parameter.degree = 0;
    struct svm_model *model = train(&r, parameter);
    char path[PATH];
    size_t size;
    assert_int_equal(svm_save_model(in_folder("constant", path), model), 0);
    char *text = slurp(path, &size);
    lm_svm svm;
    int32_t *labels;
    must_parse(&w, text, &svm, &labels);
    assert_true(svm.kernel.degree >= 1);
    same_decisions(&svm, model, &r);
    release(&w, &svm, labels);
    svm_free_and_destroy_model(&model);
    free(text);
    world_close(&w);
}

/* ---- texts made by hand ---- */

static void test_a_text_in_its_shortest_form_comes_back_byte_for_byte(void **s) {
    (void)s;
    world w;
    world_open(&w);
    for (size_t i = 0; i < LM_COUNT(good); i++) {
        char path[PATH];
        size_t size;
        lm_svm svm;
        int32_t *labels;
        must_parse(&w, good[i], &svm, &labels);
        assert_int_equal(lm_svm_write(w.ctx, &svm, labels, in_folder("same", path)), LIMN_OK);
        char *text = slurp(path, &size);
        assert_string_equal(text, good[i]);
        free(text);
        release(&w, &svm, labels);
    }
    world_close(&w);
}

static void test_the_numbers_of_a_text_are_where_the_format_says(void **s) {
    (void)s;
    world w;
    world_open(&w);
    lm_svm svm;
    int32_t *labels;
    must_parse(&w, good[0], &svm, &labels);
    static const float sv[] = {0.25f, 0, -7, 0, 0, 1e-5f, 0, 1.5f, 0, 0, 0, 0, 3.4e38f, 0, 0, 0};
    static const double coef[] = {1, -0.125, 2, 1e-7, 0.5, 0, -1, 1};
    assert_int_equal(svm.d, 4);
    assert_memory_equal(svm.sv, sv, sizeof sv);
    same_doubles(svm.coef, coef, 8);
    same_doubles(svm.rho, (const double[]){0.25, -1, 3e-5}, 3);
    same_doubles(svm.prob_a, (const double[]){-1.5, -2, -0.1}, 3);
    same_doubles(svm.prob_b, (const double[]){0, 1, 1e20}, 3);
    assert_int_equal(svm.count[0], 2);
    assert_int_equal(svm.count[1], 0);
    assert_int_equal(svm.kernel.degree, 2);
    assert_true(svm.kernel.gamma == 0.5 && svm.kernel.coef0 == -1);
    release(&w, &svm, labels);

    must_parse(&w, good[3], &svm, &labels);
    assert_null(labels);
    assert_int_equal(svm.d, 1);
    assert_true(svm.marks[0] == 1 && svm.marks[9] == 10);
    release(&w, &svm, labels);
    must_parse(&w, good[4], &svm, &labels);
    assert_int_equal(svm.d, 1);
    assert_true(svm.prob_a[0] == 0.5 && !svm.prob_b && !svm.count);
    release(&w, &svm, labels);
    world_close(&w);
}

static void test_degree_and_coef0_have_the_defaults_of_training(void **s) {
    (void)s;
    world w;
    world_open(&w);
    lm_svm svm;
    int32_t *labels;
    must_parse(&w, with(good[0], "degree 2\ngamma 0.5\ncoef0 -1\n", "gamma 0.5\n"), &svm, &labels);
    assert_int_equal(svm.kernel.degree, 3);
    assert_true(svm.kernel.coef0 == 0);
    release(&w, &svm, labels);
    world_close(&w);
}

/* Each is good[0] written differently. */
static void test_blanks_line_ends_and_number_forms_do_not_matter(void **s) {
    (void)s;
    world w;
    world_open(&w);
    lm_svm plain, svm;
    int32_t *plain_labels, *labels;
    must_parse(&w, good[0], &plain, &plain_labels);
    char crlf[TEXT], *p = crlf;
    for (const char *q = good[0]; *q; *p++ = *q++)
        if (*q == '\n')
            *p++ = '\r';
    *p = '\0';
    char cut[TEXT];
    snprintf(cut, sizeof cut, "%.*s", (int)strlen(good[0]) - 2, good[0]); /* after the last digit */
    static const char *const changes[][2] = {
        {"3.4e38 \n", "3.4e38 \n\n  \n\r\n"},
        {"svm_type", "\n \t\nsvm_type"},
        {"\ngamma 0.5\n", "\n  gamma\t  0.5 \t \n"},
        {"SV\n", "SV \t\r\n\n"},
        {"-0.125 0 ", " -1.25E-1\t+0.0\t\t"},
        {"2 -1 \n", "+2 -1\n"},
        {"3:-7", "2:0 03:-.7e1"},
        {"label 3 -1 2", "label +3 -01 2"},
        {"0.25 -1 3e-05", "0.25000000000000000000000 -1. 0.00003"},
    };
    for (size_t i = 0; i < LM_COUNT(changes) + 2; i++) {
        must_parse(&w,
                   i == 0   ? crlf
                   : i == 1 ? cut
                            : with(good[0], changes[i - 2][0], changes[i - 2][1]),
                   &svm, &labels);
        same_machine(&plain, plain_labels, &svm, labels);
        release(&w, &svm, labels);
    }
    release(&w, &plain, plain_labels);
    assert_int_equal(w.warnings, 0);
    world_close(&w);
}

static void test_the_order_of_the_keys_does_not_matter(void **s) {
    (void)s;
    world w;
    world_open(&w);
    lm_svm plain, svm;
    int32_t *plain_labels, *labels;
    must_parse(&w, good[0], &plain, &plain_labels);
    const char *line[16], *sv = strstr(good[0], "SV\n");
    size_t count = 0, order[16];
    for (const char *p = good[0]; p < sv; p = strchr(p, '\n') + 1) {
        order[count] = count;
        line[count++] = p;
    }
    assert_int_equal(count, 12);
    lm_rng rng = lm_rng_at(1, 2, 3);
    for (int round = 0; round < 100; round++) {
        char text[TEXT] = "";
        lm_rng_shuffle(&rng, order, count);
        for (size_t i = 0; i < count; i++)
            strncat(text, line[order[i]], strcspn(line[order[i]], "\n") + 1);
        strcat(text, sv);
        must_parse(&w, text, &svm, &labels);
        same_machine(&plain, plain_labels, &svm, labels);
        assert_true(lm_svm_is_text(text, strlen(text)));
        release(&w, &svm, labels);
    }
    release(&w, &plain, plain_labels);
    world_close(&w);
}

static void test_unknown_keys_are_skipped_with_one_warning_that_names_them(void **s) {
    (void)s;
    world w;
    world_open(&w);
    lm_svm svm;
    int32_t *labels;
    must_parse(&w, with(good[0], "nr_class", "colour red green\nnr_class"), &svm, &labels);
    assert_int_equal(w.warnings, 1);
    assert_string_equal(w.warning, "m: skipped unknown key 'colour'");
    release(&w, &svm, labels);
    must_parse(&w, with(good[0], "nr_class", "a\nb 1\nc\nd\ne\nf\ng\nnr_class"), &svm, &labels);
    assert_int_equal(w.warnings, 2);
    assert_string_equal(w.warning, "m: skipped unknown keys 'a', 'b', 'c', 'd', 'e' and 2 more");
    release(&w, &svm, labels);
    world_close(&w);
}

/* Keys of other machines, wherever they occur, need not even be well-formed. */
static void test_keys_that_the_machine_does_not_use_are_passed_over(void **s) {
    (void)s;
    world w;
    world_open(&w);
    lm_svm plain, svm;
    int32_t *labels;
    must_parse(&w, good[4], &plain, &labels);
    must_parse(&w,
               with(good[4], "probA",
                    "label 1 2\nnr_sv 7 8\nprobB 3 4\ndegree x\nprob_density_marks 1\nprobA"),
               &svm, &labels);
    same_machine(&plain, NULL, &svm, labels);
    release(&w, &plain, NULL);
    release(&w, &svm, NULL);
    assert_int_equal(w.warnings, 0);
    world_close(&w);
}

static void test_a_model_is_told_by_its_first_lines(void **s) {
    (void)s;
    static const char *const no[] = {
        "",
        "\n",
        "1 1:2 2:3\n",
        "svm_type",
        "svm_type\n",
        "svm_type kernel_type accuracy\nc_svc rbf 0.5\n",
        "svm_type,kernel_type\n",
        "svm_types c_svc\n",
        "SV\nsvm_type c_svc\n",
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\nsvm_type c_svc\n",
    };
    static const char *const yes[] = {
        "svm_type c_svc",
        "svm_type c_svc\r\n",
        "\n \nnr_class 2\nsvm_type nu_svr\n",
        "colour red\n\tsvm_type what\n",
    };
    for (size_t i = 0; i < LM_COUNT(no); i++)
        assert_false(lm_svm_is_text(no[i], strlen(no[i])));
    for (size_t i = 0; i < LM_COUNT(yes); i++)
        assert_true(lm_svm_is_text(yes[i], strlen(yes[i])));
}

/* ---- writing ---- */

static void random_machine(lm_svm *svm, size_t n, size_t d, float *sv, double *coef, double *rho) {
    lm_rng rng = lm_rng_at(9, 9, 9);
    for (size_t i = 0; i < n * d; i++) {
        uint32_t bits = (uint32_t)lm_rng_next(&rng);
        memcpy(&sv[i], &bits, sizeof bits); /* floats of every size */
        if (!isfinite(sv[i]) || i % 7 == 0)
            sv[i] = 0;
    }
    sv[n * d - 1] = 1.0f / 3; /* keeps the number of features */
    for (size_t i = 0; i < n; i++)
        coef[i] = lm_rng_normal(&rng) * pow(10, (double)(i % 40) - 20);
    *rho = lm_rng_normal(&rng);
    *svm = (lm_svm){.type = LM_ONE_CLASS,
                    .kernel = {LM_RBF, 1, 1.0 / 3, 0},
                    .classes = 2,
                    .d = d,
                    .n = n,
                    .sv = sv,
                    .coef = coef,
                    .rho = rho};
}

static void test_floats_of_every_size_come_back_bit_for_bit(void **s) {
    (void)s;
    enum { N = 300, D = 11 };
    static float sv[N * D];
    static double coef[N];
    double rho;
    world w;
    world_open(&w);
    lm_svm svm, again;
    int32_t *labels;
    char path[PATH];
    size_t size;
    random_machine(&svm, N, D, sv, coef, &rho);
    assert_int_equal(lm_svm_write(w.ctx, &svm, NULL, in_folder("floats", path)), LIMN_OK);
    char *text = slurp(path, &size);
    must_parse(&w, text, &again, &labels);
    svm.kernel.degree = again.kernel.degree; /* not kept for this kernel */
    same_machine(&svm, NULL, &again, labels);
    struct svm_model *loaded = svm_load_model(path);
    assert_non_null(loaded);
    same_as_libsvm(&again, NULL, loaded);
    svm_free_and_destroy_model(&loaded);
    release(&w, &again, labels);
    lm_svm_free(&w.ctx->mem, &svm); /* owns nothing: must not free the arrays */
    free(text);
    world_close(&w);
}

static void test_classes_without_labels_are_numbered_from_0(void **s) {
    (void)s;
    world w;
    world_open(&w);
    char path[PATH];
    size_t size;
    lm_svm svm;
    int32_t *labels;
    must_parse(&w, good[0], &svm, &labels);
    assert_int_equal(lm_svm_write(w.ctx, &svm, NULL, in_folder("numbered", path)), LIMN_OK);
    char *text = slurp(path, &size);
    assert_string_equal(text, with(good[0], "label 3 -1 2", "label 0 1 2"));
    free(text);
    release(&w, &svm, labels);
    world_close(&w);
}

static void test_what_cannot_be_written_leaves_no_file(void **s) {
    (void)s;
    world w;
    world_open(&w);
    float sv[] = {1, 2};
    double coef[] = {1, 2}, rho = 0;
    lm_svm svm = {.type = LM_NU_SVR, .classes = 2, .d = 1, .n = 2, .sv = sv, .coef = coef};
    char path[PATH], sentence[2 * PATH];
    svm.rho = &rho;
    size_t files = files_in_folder();
    in_folder("bad", path);
    snprintf(sentence, sizeof sentence,
             "%s: the model has a number that is not finite and cannot be written; train it again",
             path);
    sv[1] = NAN;
    assert_int_equal(lm_svm_write(w.ctx, &svm, NULL, path), LIMN_E_MODEL);
    assert_string_equal(limn_error(w.ctx), sentence);
    sv[1] = 2;
    coef[0] = INFINITY;
    assert_int_equal(lm_svm_write(w.ctx, &svm, NULL, path), LIMN_E_MODEL);
    assert_string_equal(limn_error(w.ctx), sentence);
    assert_int_equal(files_in_folder(), files);
    coef[0] = 1;
    assert_int_equal(lm_svm_write(w.ctx, &svm, NULL, "/nonexistent/m"), LIMN_E_IO);
    assert_int_equal(lm_svm_write(w.ctx, &svm, NULL, path), LIMN_OK);
    world_close(&w);
}

static void test_names_are_those_of_libsvm(void **s) {
    (void)s;
    assert_string_equal(lm_svm_type_name(LM_EPSILON_SVR), "epsilon_svr");
    assert_string_equal(lm_kernel_name(LM_SIGMOID), "sigmoid");
    assert_null(lm_svm_type_name((lm_svm_type)5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_and_kernel_goes_both_ways_with_equal_fields_and_decisions),
        cmocka_unit_test(test_a_model_of_one_class_goes_both_ways),
        cmocka_unit_test(test_a_polynomial_of_degree_0_is_the_constant_1),
        cmocka_unit_test(test_a_text_in_its_shortest_form_comes_back_byte_for_byte),
        cmocka_unit_test(test_the_numbers_of_a_text_are_where_the_format_says),
        cmocka_unit_test(test_degree_and_coef0_have_the_defaults_of_training),
        cmocka_unit_test(test_blanks_line_ends_and_number_forms_do_not_matter),
        cmocka_unit_test(test_the_order_of_the_keys_does_not_matter),
        cmocka_unit_test(test_unknown_keys_are_skipped_with_one_warning_that_names_them),
        cmocka_unit_test(test_keys_that_the_machine_does_not_use_are_passed_over),
        cmocka_unit_test(test_a_model_is_told_by_its_first_lines),
        cmocka_unit_test(test_floats_of_every_size_come_back_bit_for_bit),
        cmocka_unit_test(test_classes_without_labels_are_numbered_from_0),
        cmocka_unit_test(test_what_cannot_be_written_leaves_no_file),
        cmocka_unit_test(test_names_are_those_of_libsvm),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
