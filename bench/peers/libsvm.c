/* libsvm.c: LIBSVM's own evaluation, svm_predict, on nodes made beforehand. */
#include "peer.h"

#include <libsvm/svm.h>
#include <stdio.h>

typedef struct machine {
    struct svm_model *model;
    struct svm_node **nodes; /* of every row; zeros are left out */
} machine;

static int32_t libsvm_answer(void *state, size_t index, const float *x) {
    const machine *m = state;
    (void)x;
    return (int32_t)svm_predict(m->model, m->nodes[index]);
}

static struct svm_node *nodes_of(const float *x, int32_t d) {
    struct svm_node *nodes = need((size_t)d + 1, sizeof *nodes);
    size_t count = 0;
    for (int32_t j = 0; j < d; j++)
        if (x[j] != 0)
            nodes[count++] = (struct svm_node){j + 1, (double)x[j]};
    nodes[count].index = -1;
    return nodes;
}

peer libsvm_open(const char *path, const table *rows) {
    machine *m = need(1, sizeof *m);
    size_t size;
    slurp(path, &size);
    m->model = svm_load_model(path);
    m->nodes = need((size_t)rows->n, sizeof *m->nodes);
    if (!m->model)
        die("%s: not a LIBSVM model", path);
    for (int32_t i = 0; i < rows->n; i++)
        m->nodes[i] = nodes_of(rows->x + (size_t)i * (size_t)rows->d, rows->d);
    return (peer){.state = m, .answer = libsvm_answer, .bytes = size};
}
