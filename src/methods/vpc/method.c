/* method.c: the table of vpc. */
#include "methods/vpc/vpc.h"

static const limn_param params[] = {
    {.key = "style",
     .help = "several trees with soft votes (more accurate), or the paper's single tree",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "forest",
     .choices = "forest|paper"},
    {.key = "trees",
     .help = "number of trees for style=forest",
     .type = LIMN_PARAM_INT,
     .default_value = "16",
     .min = 1,
     .max = 10000},
    {.key = "gamma",
     .help =
         "a node becomes a leaf if its discriminant misclassifies at most this share of its rows; "
         "auto: by inner validation, for noisy data",
     .type = LIMN_PARAM_REAL,
     .default_value = "0",
     .min = 0,
     .max = 1,
     .can_be_auto = 1},
    {.key = "radius",
     .help =
         "tolerance of a query, as a multiple of the median distance at the root; auto: by inner "
         "validation",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.02",
     .min = 0,
     .max = 1000,
     .can_be_auto = 1},
    {.key = "stop",
     .help = "style=forest: stop asking trees once the leader leads by this share of the votes; "
             "above 1: ask all",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.8",
     .min = 0,
     .max = 2},
    {.key = "candidates",
     .help = "pivots tried per node; 0: 16, or 64 for style=paper",
     .type = LIMN_PARAM_INT,
     .default_value = "0",
     .min = 0,
     .max = 1e6},
    {.key = "samples",
     .help = "rows to judge a pivot by; 0: 300, or 1000 for style=paper",
     .type = LIMN_PARAM_INT,
     .default_value = "0",
     .min = 0,
     .max = 1e9},
    {.key = "vote",
     .help = "style=paper: a leaf votes with its number of rows, or that divided by the squared "
             "distance to its mean",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "count",
     .choices = "count|centroid"},
    {.key = "metric",
     .help = "style=paper: discriminant space, whitened or with directions of unit length",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "mahalanobis",
     .choices = "mahalanobis|unit"},
    {.key = "distance",
     .help = "distance between rows and pivots",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "l2",
     .choices = "l2|l1"},
};

extern const lm_method lm_method_vpc;

const lm_method lm_method_vpc = {
    .info =
        {
            .name = "vpc",
            .summary = "vantage-point classification: trees of pivots, linear discriminants in the "
                       "leaves",
            .paper = "Proenca and Neves, vantage-point classification",
            .default_scale = LIMN_SCALE_AUTO,
            .params = params,
            .param_count = LM_COUNT(params),
        },
    .can = LIMN_CAN_CLASSIFY,
    .brief = "trees=3",
    .scaling = vpc_scaling,
    .train = vpc_train,
    .destroy = vpc_destroy,
    .save = vpc_save,
    .load = vpc_load,
    .scratch = vpc_scratch,
    .predict = vpc_predict,
    .proba = vpc_proba,
    .stats = vpc_stats,
    .touched = vpc_touched,
};
