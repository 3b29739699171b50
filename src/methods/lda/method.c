/* method.c: the table of lda. */
#include "methods/lda/lda.h"

static const limn_param params[] = {
    {.key = "shrinkage",
     .help =
         "how far the covariance is shrunk towards a multiple of the identity; auto: Ledoit-Wolf",
     .type = LIMN_PARAM_REAL,
     .default_value = "0",
     .min = 0,
     .max = 1,
     .can_be_auto = 1},
    {.key = "priors",
     .help = "class frequencies in the training data, or all equal",
     .type = LIMN_PARAM_CHOICE,
     .default_value = "data",
     .choices = "data|uniform"},
    LM_PARAM_CLASS_WEIGHT,
};

extern const lm_method lm_method_lda;

const lm_method lm_method_lda = {
    .info =
        {
            .name = "lda",
            .summary = "linear discriminant analysis, one linear score per class",
            .paper = "Fisher 1936; Ledoit and Wolf 2004",
            .default_scale = LIMN_SCALE_ZSCORE,
            .params = params,
            .param_count = LM_COUNT(params),
        },
    .can = LIMN_CAN_CLASSIFY | LIMN_CAN_WEIGHT,
    .train = lda_train,
    .destroy = lda_destroy,
    .save = lda_save,
    .load = lda_load,
    .scratch = lda_scratch,
    .predict = lda_predict,
    .proba = lda_proba,
    .stats = lda_stats,
};
