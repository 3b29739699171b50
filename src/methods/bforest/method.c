/* method.c: the table of bforest. */
#include "methods/bforest/bforest.h"

static const limn_param params[] = {
    {.key = "preset",
     .help = "sets trees=auto: 100 trees, or 50 with preset=fast",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "default",
     .choices = "default|fast"},
    {.key = "style",
     .help = "less similar trees and a hash of stored rows, or the paper's forest; changes what "
             "auto means below",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "forest",
     .choices = "forest|paper"},
    {.key = "trees",
     .help = "number of trees; auto: set by preset, or 50 for style=paper",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 1,
     .max = 10000,
     .can_be_auto = 1},
    {.key = "children",
     .help = "most children per node, at least 2; 0: no limit",
     .type = LIMN_PARAM_INT,
     .default_value = "50",
     .min = 0,
     .max = 1e9},
    {.key = "rho",
     .help = "share of the rows that each tree learns; auto: 0.7, or 1 for style=paper",
     .type = LIMN_PARAM_REAL,
     .default_value = "auto",
     .min = 0,
     .max = 1,
     .can_be_auto = 1,
     .above_min = 1},
    {.key = "warmup",
     .help = "how many of the first rows each tree learns in its own order; auto: 1000, or the "
             "number of trees for style=paper",
     .type = LIMN_PARAM_INT,
     .default_value = "auto",
     .min = 1,
     .max = 1e9,
     .can_be_auto = 1},
    {.key = "refresh",
     .help =
         "whether trees are rebuilt in turn from the stored rows; auto: yes, or no for style=paper",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "auto",
     .choices = "auto|yes|no"},
    {.key = "early_stop",
     .help = "classify: stop asking trees once the lead exceeds this share of the votes left; "
             "0: ask all; auto: 0.5, or 0 for style=paper",
     .type = LIMN_PARAM_REAL,
     .default_value = "auto",
     .min = 0,
     .max = 1000,
     .can_be_auto = 1},
    {.key = "eps",
     .help = "regress: a tree learns a row if it is off by more than this; auto: 0.4 times the "
             "standard deviation of the targets in the warm-up",
     .type = LIMN_PARAM_REAL,
     .default_value = "auto",
     .min = 0,
     .max = 1e300,
     .can_be_auto = 1},
    {.key = "metric",
     .help = "distance between rows; caller: a function supplied by a C program",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "l2",
     .choices = "l2|l1|cosine|caller"},
    {.key = "max_points",
     .help = "most rows stored; the oldest are forgotten; 0: no limit",
     .type = LIMN_PARAM_INT,
     .default_value = "0",
     .min = 0,
     .max = 4e9},
};

static const lm_online online = {
    .learn = bf_learn, .widen = bf_widen, .forget = bf_forget, .compact = bf_compact};

extern const lm_method lm_method_bforest;

const lm_method lm_method_bforest = {
    .info =
        {
            .name = "bforest",
            .summary = "boundary forest: trees of examples that learn one row at a time",
            .paper = "Mathy, Derbinsky, Bento, Rosenthal and Yedidia 2015, The boundary forest "
                     "algorithm for online supervised and unsupervised learning",
            .default_scale = LIMN_SCALE_AUTO,
            .params = params,
            .param_count = LM_COUNT(params),
        },
    .can = LIMN_CAN_CLASSIFY | LIMN_CAN_REGRESS,
    .brief = "trees=7 warmup=40",
    .train = bf_train,
    .destroy = bf_destroy,
    .save = bf_save,
    .load = bf_load,
    .scratch = bf_scratch,
    .predict = bf_predict,
    .proba = bf_proba,
    .values = bf_values,
    .stats = bf_stats,
    .touched = bf_touched,
    .online = &online,
};
