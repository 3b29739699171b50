/* method.c: the table of lda. */
#include "methods/lda/lda.h"

static const limn_param params[] = {
    {"shrinkage",
     "how far the covariance is drawn to a multiple of the identity; auto: Ledoit-Wolf",
     LIMN_PARAM_REAL, "0", 0, 1, NULL, 1},
    {"priors", "class frequencies of the training data, or all alike", LIMN_PARAM_CHOICE, "data", 0,
     0, "data|uniform", 0},
};

extern const lm_method lm_method_lda;

const lm_method lm_method_lda = {
    .info =
        {
            .name = "lda",
            .summary = "linear discriminant analysis, one linear score a class",
            .paper = "Fisher 1936; Ledoit and Wolf 2004",
            .capabilities = LIMN_CAN_CLASSIFY | LIMN_CAN_PROBA,
            .default_scale = LIMN_SCALE_ZSCORE,
            .params = params,
            .param_count = LM_COUNT(params),
        },
    .train = lda_train,
    .destroy = lda_destroy,
    .save = lda_save,
    .load = lda_load,
    .scratch_size = lda_scratch_size,
    .predict = lda_predict,
    .proba = lda_proba,
    .stats = lda_stats,
};
