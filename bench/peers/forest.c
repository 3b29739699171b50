/* forest.c: trees of scikit-learn or xgboost, walked in plain C.
 *
 * A node is {threshold, feature, right}; x[feature] <= threshold goes to the next node, else to
 * `right`. Trees stand one after the other in depth-first order, so that a step to the left is a
 * step ahead in memory. A leaf has feature -1 and adds `threshold` to the sum of class `right`, or
 * feature -2 and adds list number `right`: leaves of scikit-learn with several classes. The class
 * with the largest sum wins, ties go to the first.
 *
 * File: int32 classes, trees, nodes, pairs, lists; int32 labels[classes]; double start[classes];
 * int32 roots[trees]; nodes; int32 first pair of each list and one past the last [lists + 1];
 * pairs {double value, int32 class, int32 0}. */
#include "peer.h"

#include <string.h>

typedef struct node {
    float threshold;
    int32_t feature, right;
} node;

typedef struct pair {
    double value;
    int32_t class, unused;
} pair;

typedef struct forest {
    int32_t classes, trees;
    const int32_t *labels, *roots, *lists;
    const double *start;
    const node *nodes;
    const pair *pairs;
    double *sums;
} forest;

static void add_leaf(const forest *f, const node *leaf) {
    if (leaf->feature == -1) {
        f->sums[leaf->right] += (double)leaf->threshold;
        return;
    }
    for (int32_t i = f->lists[leaf->right]; i < f->lists[leaf->right + 1]; i++)
        f->sums[f->pairs[i].class] += f->pairs[i].value;
}

static int32_t forest_answer(void *state, size_t index, const float *x) {
    const forest *f = state;
    (void)index;
    memcpy(f->sums, f->start, (size_t)f->classes * sizeof *f->sums);
    for (int32_t t = 0; t < f->trees; t++) {
        const node *at = f->nodes + f->roots[t];
        while (at->feature >= 0)
            at = x[at->feature] <= at->threshold ? at + 1 : f->nodes + at->right;
        add_leaf(f, at);
    }
    int32_t best = 0;
    for (int32_t c = 1; c < f->classes; c++)
        best = f->sums[c] > f->sums[best] ? c : best;
    return f->labels[best];
}

static const void *take(const unsigned char **cursor, size_t count, size_t size) {
    void *part = need(count, size);
    memcpy(part, *cursor, count * size);
    *cursor += count * size;
    return part;
}

peer forest_open(const char *path, const table *rows) {
    size_t size;
    unsigned char *bytes = slurp(path, &size);
    const unsigned char *cursor = bytes;
    const int32_t *head = take(&cursor, 5, sizeof *head);
    forest *f = need(1, sizeof *f);
    (void)rows;
    f->classes = head[0];
    f->trees = head[1];
    f->labels = take(&cursor, (size_t)f->classes, sizeof *f->labels);
    f->start = take(&cursor, (size_t)f->classes, sizeof *f->start);
    f->roots = take(&cursor, (size_t)f->trees, sizeof *f->roots);
    f->nodes = take(&cursor, (size_t)head[2], sizeof *f->nodes);
    f->lists = take(&cursor, (size_t)head[4] + 1, sizeof *f->lists);
    f->pairs = take(&cursor, (size_t)head[3], sizeof *f->pairs);
    f->sums = need((size_t)f->classes, sizeof *f->sums);
    if (cursor != bytes + size)
        die("%s: not a forest", path);
    return (peer){.state = f, .answer = forest_answer, .bytes = size};
}
