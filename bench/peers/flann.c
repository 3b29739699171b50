/* flann.c: the nearest neighbour by FLANN's C functions, 4 randomised kd-trees. */
#include "peer.h"

#include <flann/flann.h>

typedef struct trees {
    table train;
    flann_index_t index;
    struct FLANNParameters parameters;
} trees;

static int32_t flann_answer(void *state, size_t index, const float *x) {
    trees *t = state;
    int found = 0;
    float distance;
    (void)index;
    /* FLANN takes the query as writable and leaves it alone. */
    flann_find_nearest_neighbors_index_float(t->index, (float *)x, 1, &found, &distance, 1,
                                             &t->parameters);
    return t->train.label[found];
}

peer flann_open(const char *train_path, size_t checks) {
    trees *t = need(1, sizeof *t);
    float speedup;
    t->train = table_read(train_path);
    t->parameters = DEFAULT_FLANN_PARAMETERS;
    t->parameters.algorithm = FLANN_INDEX_KDTREE;
    t->parameters.trees = 4;
    t->parameters.checks = (int)checks;
    t->parameters.cores = 1;
    t->parameters.random_seed = 1;
    t->parameters.log_level = FLANN_LOG_NONE;
    flann_set_distance_type(FLANN_DIST_EUCLIDEAN, 0);
    double start = seconds_now();
    t->index =
        flann_build_index_float(t->train.x, t->train.n, t->train.d, &speedup, &t->parameters);
    if (!t->index)
        die("FLANN cannot build its index");
    return (peer){.state = t,
                  .answer = flann_answer,
                  .bytes = (size_t)flann_used_memory_float(t->index) +
                           (size_t)t->train.n * (size_t)t->train.d * sizeof(float),
                  .build_seconds = seconds_now() - start};
}
