/* method.c: the table of knn. */
#include "methods/knn/knn.h"

static const limn_param params[] = {
    {.key = "k",
     .help = "neighbours that vote",
     .type = LIMN_PARAM_INT,
     .default_value = "5",
     .min = 1,
     .max = 1e6},
    {.key = "weights",
     .help = "votes count alike, or by 1/distance",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "uniform",
     .choices = "uniform|distance"},
    {.key = "metric",
     .help = "distance between rows",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "l2",
     .choices = "l2|l1|cosine"},
    LM_PARAM_CLASS_WEIGHT,
};

extern const lm_method lm_method_knn;

const lm_method lm_method_knn = {
    .info =
        {
            .name = "knn",
            .summary = "k nearest neighbours, exact scan of all training rows",
            .paper = "Fix and Hodges 1951; Cover and Hart 1967",
            .capabilities = LIMN_CAN_CLASSIFY | LIMN_CAN_REGRESS | LIMN_CAN_SEARCH |
                            LIMN_CAN_PROBA | LIMN_CAN_WEIGHT,
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
    .stored = knn_stored,
};
