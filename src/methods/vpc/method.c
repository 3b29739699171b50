/* method.c: the table of vpc. */
#include "methods/vpc/vpc.h"

static const limn_param params[] = {
    {.key = "style",
     .help = "the better method, several trees with soft votes, or the paper's tree",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "forest",
     .choices = "forest|paper"},
    {.key = "trees",
     .help = "trees of style=forest",
     .type = LIMN_PARAM_INT,
     .default_value = "16",
     .min = 1,
     .max = 10000},
    {.key = "gamma",
     .help =
         "a node whose discriminant errs on no more than this share of its rows is a leaf; auto: "
         "by inner validation, for noisy data",
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
     .help = "style=forest asks no more trees once the leader leads by this share of the votes; "
             "above 1: asks them all",
     .type = LIMN_PARAM_REAL,
     .default_value = "0.8",
     .min = 0,
     .max = 2},
    {.key = "candidates",
     .help = "pivots that are tried at a node; 0: 16, style=paper 64",
     .type = LIMN_PARAM_INT,
     .default_value = "0",
     .min = 0,
     .max = 1e6},
    {.key = "samples",
     .help = "rows that a pivot is judged by; 0: 300, style=paper 1000",
     .type = LIMN_PARAM_INT,
     .default_value = "0",
     .min = 0,
     .max = 1e9},
    {.key = "vote",
     .help = "style=paper: a leaf votes by its rows, or by rows over squared distance to its mean",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "count",
     .choices = "count|centroid"},
    {.key = "metric",
     .help = "style=paper: discriminant space, whitened or with directions of unit length",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "mahalanobis",
     .choices = "mahalanobis|unit"},
    {.key = "distance",
     .help = "of rows to pivots",
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
            .default_scale = LIMN_SCALE_MINMAX,
            .params = params,
            .param_count = LM_COUNT(params),
        },
    .can = LIMN_CAN_CLASSIFY,
    .brief = "trees=3",
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
