/* method.c: the table of knn. */
#include "methods/knn/knn.h"

static const limn_param params[] = {
    {.key = "k",
     .help = "number of neighbours that vote",
     .type = LIMN_PARAM_INT,
     .default_value = "5",
     .min = 1,
     .max = 1e6},
    {.key = "weights",
     .help = "votes count equally, or by 1/distance",
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

static const lm_searching searching = {.search = knn_search, .stored = knn_stored};

extern const lm_method lm_method_knn;

const lm_method lm_method_knn = {
    .info =
        {
            .name = "knn",
            .summary = "k nearest neighbours by an exact scan of all training rows",
            .paper = "Fix and Hodges 1951; Cover and Hart 1967",
            .default_scale = LIMN_SCALE_AUTO,
            .params = params,
            .param_count = LM_COUNT(params),
        },
    .can = LIMN_CAN_CLASSIFY | LIMN_CAN_REGRESS | LIMN_CAN_WEIGHT,
    .scaling = knn_scaling,
    .train = knn_train,
    .destroy = knn_destroy,
    .save = knn_save,
    .load = knn_load,
    .scratch = knn_scratch,
    .predict = knn_predict,
    .proba = knn_proba,
    .values = knn_values,
    .stats = knn_stats,
    .field = knn_field,
    .searching = &searching,
};
