/* peer.c: a machine in LIBSVM's own structures: sparse vectors of doubles. */
#include "svm/peer.h"

#include <libsvm/svm.h>
#include <limits.h>
#include <string.h>

struct lm_svm_peer {
    limn_allocator mem;
    struct svm_model model;
    struct svm_node *nodes;    /* of the vectors, then of the rows */
    struct svm_node **vectors; /* pointers to those of the vectors, then of the rows */
    double *coef;
    double **coef_rows;
    int *label, *count;
    size_t rows_from; /* in vectors */
};

void lm_svm_peer_free(lm_svm_peer *p) {
    if (!p)
        return;
    limn_allocator mem = p->mem;
    lm_free(&mem, p->nodes);
    lm_free(&mem, p->vectors);
    lm_free(&mem, p->coef);
    lm_free(&mem, p->coef_rows);
    lm_free(&mem, p->label);
    lm_free(&mem, p->count);
    lm_free(&mem, p);
}

static bool is_zero(float value) {
    return value >= 0 && value <= 0;
}

/* Nodes that n rows need, with one at the end of each. */
static size_t count_nodes(const float *x, size_t stride, size_t n, size_t d) {
    size_t count = n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            count += !is_zero(x[i * stride + j]);
    return count;
}

static struct svm_node *put_rows(const float *x, size_t stride, size_t n, size_t d,
                                 struct svm_node *at, struct svm_node **vectors) {
    for (size_t i = 0; i < n; i++) {
        vectors[i] = at;
        for (size_t j = 0; j < d; j++)
            if (!is_zero(x[i * stride + j]))
                *at++ = (struct svm_node){(int)j + 1, (double)x[i * stride + j]};
        *at++ = (struct svm_node){-1, 0};
    }
    return at;
}

static void describe(const lm_svm *svm, lm_svm_peer *p) {
    struct svm_model *m = &p->model;
    m->param.svm_type = (int)svm->type;
    m->param.kernel_type = (int)svm->kernel.type; /* in the same order */
    m->param.degree = svm->kernel.degree;
    m->param.gamma = svm->kernel.gamma;
    m->param.coef0 = svm->kernel.coef0;
    m->nr_class = (int)svm->classes;
    m->l = (int)svm->n;
    m->SV = p->vectors;
    m->sv_coef = p->coef_rows;
    m->rho = (double *)(uintptr_t)svm->rho;
    m->label = p->label;
    m->nSV = p->count;
    for (size_t r = 0; r + 1 < svm->classes; r++)
        p->coef_rows[r] = p->coef + r * svm->n;
    for (size_t c = 0; c < svm->classes; c++) {
        p->label[c] = (int)c;
        p->count[c] = svm->count ? (int)svm->count[c] : 0;
    }
}

limn_status lm_svm_peer_make(limn_context *ctx, const lm_svm *svm, const float *x, size_t stride,
                             size_t n, lm_svm_peer **out) {
    *out = NULL;
    lm_svm_peer *p = lm_alloc_zero(&ctx->mem, 1, sizeof *p);
    if (!p)
        return lm_fail_memory(ctx);
    p->mem = ctx->mem;
    size_t nodes = count_nodes(svm->sv, svm->d, svm->n, svm->d) + count_nodes(x, stride, n, svm->d);
    size_t coefs = (svm->classes - 1) * svm->n;
    p->nodes = lm_alloc(&ctx->mem, nodes + 1, sizeof *p->nodes);
    p->vectors = lm_alloc(&ctx->mem, svm->n + n + 1, sizeof(struct svm_node *));
    p->coef = lm_alloc(&ctx->mem, coefs + 1, sizeof *p->coef);
    p->coef_rows = lm_alloc(&ctx->mem, svm->classes, sizeof(double *));
    p->label = lm_alloc(&ctx->mem, svm->classes, sizeof *p->label);
    p->count = lm_alloc(&ctx->mem, svm->classes, sizeof *p->count);
    if (!p->nodes || !p->vectors || !p->coef || !p->coef_rows || !p->label || !p->count ||
        svm->n > INT_MAX) {
        lm_svm_peer_free(p);
        return lm_fail_memory(ctx);
    }
    if (coefs)
        memcpy(p->coef, svm->coef, coefs * sizeof *p->coef);
    p->rows_from = svm->n;
    struct svm_node *at = put_rows(svm->sv, svm->d, svm->n, svm->d, p->nodes, p->vectors);
    (void)put_rows(x, stride, n, svm->d, at, p->vectors + svm->n);
    describe(svm, p);
    *out = p;
    return LIMN_OK;
}

double lm_svm_peer_answer(const lm_svm_peer *p, size_t row) {
    return svm_predict(&p->model, p->vectors[p->rows_from + row]);
}
