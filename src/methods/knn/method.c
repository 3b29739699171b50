/* method.c: the table of knn. */
#include "methods/knn/knn.h"

static const limn_param params[] = {
    {"k", "neighbours that vote", LIMN_PARAM_INT, "5", 1, 1e6, NULL, 0},
    {"weights", "votes count alike, or by 1/distance", LIMN_PARAM_CHOICE, "uniform", 0, 0,
     "uniform|distance", 0},
    {"metric", "distance between rows", LIMN_PARAM_CHOICE, "l2", 0, 0, "l2|l1|cosine", 0},
};

extern const lm_method lm_method_knn;

const lm_method lm_method_knn = {
    .info =
        {
            .name = "knn",
            .summary = "k nearest neighbours, exact scan of all training rows",
            .paper = "Fix and Hodges 1951; Cover and Hart 1967",
            .capabilities = LIMN_CAN_CLASSIFY | LIMN_CAN_REGRESS | LIMN_CAN_SEARCH | LIMN_CAN_PROBA,
            .default_scale = LIMN_SCALE_NONE,
            .params = params,
            .param_count = LM_COUNT(params),
        },
    .train = knn_train,
    .destroy = knn_destroy,
    .save = knn_save,
    .load = knn_load,
    .scratch_size = knn_scratch_size,
    .predict = knn_predict,
    .proba = knn_proba,
    .values = knn_values,
    .search = knn_search,
    .stats = knn_stats,
};
